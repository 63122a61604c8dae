"""Forms of runs and judgements in text, which are known by the columns of their first line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..inputs.errors import InputValueError
from ..inputs.scores import exact_number, first_rounded
from .named_columns import RowColumns, find_columns
from .text import text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    Fault = tuple[int, str]  # a line of a block, from 0, and what is wrong with it

_RUN_FIELDS = "expected six fields: query, Q0, document, rank, score and tag"
_RUN_FORMS = (
    f"{_RUN_FIELDS} (TREC); four: query, document, rank and score (ColBERT); three: query, document"
    " and rank (MS MARCO); or columns below a header, such as query-id, corpus-id and score"
)
_QRELS_FIELDS = "expected four fields: query, iteration, document and relevance"
_QRELS_FORMS = f"{_QRELS_FIELDS}; or columns below a header, such as query-id, corpus-id and score"
_JSON = "this is JSON: the name of the file ends in .json or .jsonl, and read_json_lists reads it"
_JSON_BEGINS = ('{"', '["', "[{", "[[")
_NO_RELEVANCE = "expected an integer of at most 18 digits as the relevance"
_NO_SCORE = "expected a number as the score"
_NO_RANK = "expected an integer of at most 15 digits as the rank"
_THREE = (
    f"{_NO_RANK}: three fields are query, document and rank (MS MARCO), in order alone; scores have"
    " a rank before them (ColBERT), the six fields of TREC, or a header that says score"
)
_COMMENT = re.compile(r"^[ \t]*#", re.MULTILINE)
_HASH_ROW = (
    "a line that begins with # is a comment, and this one is a row otherwise: a blank after the # "
    "makes it a comment, and JSON has queries of any name"
)
_RANK = re.compile(r"[0-9]{1,15}")
_WHOLE = re.compile(r"(-?[0-9]{1,18})(?:\.0*)?")
_TYPED = re.compile(r"[^:\t]+:(token|token_seq|float|float_seq)")
_EXACT = 2.0**53
_BLANKS = re.compile("[ \t]+")


class LineForm(NamedTuple):
    """The form of the lines of a file.

    Attributes
    ----------
    name : str
        What a report calls it.
    judged : bool
        Whether these are judgements, and not lists.
    columns : RowColumns or None
        The positions of columns; None: those of TREC, which the core reads.
    width : int
        The number of fields of a line.
    header : bool
        Whether the first line names the columns.
    tabs : bool
        Whether tabs alone stand between fields; otherwise blanks, too.
    """

    name: str
    judged: bool
    columns: RowColumns | None = None
    width: int = 0
    header: bool = False
    tabs: bool = False

    @property
    def in_order(self) -> bool:
        """Whether ranks stand for scores, so that lists are in order alone."""
        return not self.judged and self.columns is not None and self.columns.value is None


TREC_RUN_FORM = LineForm("TREC run", judged=False)
TREC_QRELS_FORM = LineForm("TREC qrels", judged=True)
_COLBERT = "ColBERT ranking: query, document, rank, score"
_MSMARCO = "MS MARCO run: query, document, rank"
_RUN_FORMS_BY_WIDTH = {
    3: LineForm(_MSMARCO, False, RowColumns(0, 1, None, 2), 3),
    4: LineForm(_COLBERT, False, RowColumns(0, 1, 3, 2), 4),
    6: TREC_RUN_FORM,
}


def fields_of(line: str) -> list[str]:
    """Return the fields of a line, with blanks and tabs between them.

    Examples
    --------
    >>> fields_of(" q1 0\\td3  1")
    ['q1', '0', 'd3', '1']
    """
    return [field for field in _BLANKS.split(line) if field]


def is_comment(line: str) -> bool:
    """Return whether a line is a comment, or a row that could be taken for one."""
    return line.lstrip(" \t").startswith("#")


def data_lines(argument: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file that are neither blank nor a comment."""
    for number, line in text_lines(argument, path):
        if not is_comment(line):
            yield number, line


def line_of_row(path: str, form: LineForm, row: int) -> int:
    """Return the number of the line, from 1, of a row; the file is read again, for messages."""
    lines = data_lines(path, path)
    for _ in range(row + form.header):
        next(lines)
    return next(lines)[0]


def form_of_file(argument: str, path: str, judged: bool) -> LineForm:
    """Return the form of a file, by its first line that is no comment.

    Raises
    ------
    InputValueError
        For a line of any other form; it says which line, and what would be right.
    """
    for number, line in data_lines(argument, path):
        fields = fields_of(line)
        is_row = len(fields) >= 6 and _is_score(fields[4])
        is_json = not is_row and fields[0].startswith(_JSON_BEGINS)
        form = None
        if not is_json:
            form = _form_of_line(argument, line, judged)
        if form is not None:
            return form
        problem = _RUN_FORMS
        if judged:
            problem = _QRELS_FORMS
        if is_json:
            problem = _JSON
        problem = f"line {number}: {problem}; it reads {shown(line)}"
        raise InputValueError(argument, problem, place=path)
    if judged:  # of a file without lines
        return TREC_QRELS_FORM
    return TREC_RUN_FORM


def shown(line: str) -> str:
    """Return a line as messages show it.

    Examples
    --------
    >>> shown("q1\\td3")
    "'q1\\\\td3'"
    """
    if len(line) > 200:
        line = f"{line[:200]}..."
    return repr(line)


def _form_of_line(argument: str, line: str, judged: bool) -> LineForm | None:
    """Return the form of a first line; None where there is none."""
    if _TYPED.fullmatch(line.split("\t")[0]):
        return _form_of_interactions(argument, line, judged)
    form = _form_of_header(argument, line, judged)
    if form is not None:
        return form
    width = len(fields_of(line))
    forms = _RUN_FORMS_BY_WIDTH
    if judged:
        forms = {4: TREC_QRELS_FORM}
    elif width > 6:  # the tag has blanks
        width = 6
    return forms.get(width)


def _form_of_header(argument: str, line: str, judged: bool) -> LineForm | None:
    """Return the form that a header says, of three columns at least; None: it is none."""
    fields = fields_of(line)
    tabs = "\t" in line
    if tabs:
        fields = [field.strip(" ") for field in line.split("\t")]
    columns = find_columns(argument, fields, judged)
    if columns is None or len(columns.used) < 3:
        return None
    kind = "run"
    if judged:
        kind = "qrels"
    name = f"{kind} with a header: {', '.join(map(str, columns.used))}"
    places = RowColumns(*map(_place_in(fields), columns))
    return LineForm(name, judged, places, len(fields), True, tabs)


def _form_of_interactions(argument: str, line: str, judged: bool) -> LineForm | None:
    """Return the form of RecBole's atomic files, whose header has types; only labels are gains."""
    fields = [field.strip(" ") for field in line.split("\t")]
    columns = find_columns(argument, fields, judged)
    if columns is None or not judged:
        return None
    if columns.value is not None and not columns.value.startswith("label:"):
        columns = columns._replace(value=None)
    name = f"RecBole interactions: {', '.join(map(str, columns.used))}"
    places = RowColumns(*map(_place_in(fields), columns))
    return LineForm(name, judged, places, len(fields), True, True)


def _place_in(fields: Sequence[str]) -> Any:
    def place(name: str | None) -> int | None:
        if name is None:
            return None
        return fields.index(name)

    return place


class RowsOfLines(NamedTuple):
    """What is read of a block of lines.

    Attributes
    ----------
    fault : (int, str), or None
        The first wrong line, from 0, and what is wrong with it.
    queries, documents : ndarray of int
        Codes of names.
    values : ndarray
        Relevance, scores, or ranks.
    """

    fault: Fault | None
    queries: npt.NDArray[Any]
    documents: npt.NDArray[Any]
    values: npt.NDArray[Any]


class LineReader:
    """Reads the lines of a file block by block, and numbers its names.

    Parameters
    ----------
    form : LineForm

    Attributes
    ----------
    comments : int
        How many lines were comments.
    """

    def __init__(self, form: LineForm) -> None:
        self.form = form
        self.comments = 0
        self._header_is_next = form.header
        self._reader = _core.ListReader()

    def read(self, text: str) -> RowsOfLines:
        """Read a block of lines."""
        fault, lines = self._without_comments(text)
        if fault is not None:
            return self._rows("")._replace(fault=fault)
        return self._rows(lines)

    def queries(self) -> tuple[str, ...]:
        """Return the names of queries in the order of their codes."""
        return tuple(self._reader.groups())

    def documents(self) -> tuple[str, ...]:
        """Return the names of documents in the order of their codes."""
        return tuple(self._reader.names())

    def _rows(self, text: str) -> RowsOfLines:
        raise NotImplementedError

    def _without_comments(self, text: str) -> tuple[Fault | None, str]:
        """Return lines of which comments, and a header, are empty; or a fault."""
        has_comments = "#" in text and _COMMENT.search(text) is not None
        if not has_comments and not self._header_is_next:
            return None, text
        lines = text.split("\n")
        for i, line in enumerate(lines):
            if is_comment(line):
                if self._is_row(line):
                    return (i, _HASH_ROW), text
                self.comments += 1
                lines[i] = ""
            elif self._header_is_next and line.strip(" \t"):
                self._header_is_next = False
                lines[i] = ""
        return None, "\n".join(lines)

    def _is_row(self, line: str) -> bool:
        """Return whether a line that begins with # would be a row without it."""
        fields = fields_of(line)
        if fields[0] == "#":
            return False
        if self.form.columns is not None:
            return len(fields) == self.form.width and "\t" in line
        if self.form.judged:
            return len(fields) == 4 and _WHOLE.fullmatch(fields[3]) is not None
        return len(fields) >= 6 and _is_rank(fields[3]) and _is_score(fields[4])


class TrecLines(LineReader):
    """Lines of TREC, whose tags may have blanks."""

    def _rows(self, text: str) -> RowsOfLines:
        rows = self._core_rows(text)
        if rows.fault is not None and not self.form.judged:
            plain = self._plain(text)
            if plain != text:
                text = plain
                rows = self._core_rows(text)
        if rows.fault is None and not self.form.judged:
            rows = rows._replace(fault=first_rounded(text, 4, rows.values))
        return rows

    def _core_rows(self, text: str) -> RowsOfLines:
        if self.form.judged:
            return RowsOfLines(*self._reader.judged_rows(text))
        return RowsOfLines(*self._reader.run_rows(text))

    def _plain(self, text: str) -> str:
        """Return lines as the core reads them, whose tags have no blanks."""
        lines = text.split("\n")
        for i, line in enumerate(lines):
            fields = fields_of(line)
            if len(fields) > 6 and _is_rank(fields[3]) and not _is_score(fields[5]):
                # a number in place of the tag: a name before it may have a blank
                lines[i] = " ".join(fields[:6])
        return "\n".join(lines)


class _SplitLines(NamedTuple):
    """The fields of lines by columns, and the numbers of the lines, from 0."""

    columns: Sequence[Sequence[str]]
    numbers: Sequence[int]
    fault: Fault | None = None


class ColumnLines(LineReader):
    """Lines of other columns than those of TREC.

    The core reads them as well. Where it finds a wrong line in a block, the block is read again in
    Python, which says what is wrong, or takes what is written in another way.
    """

    def __init__(self, form: LineForm) -> None:
        super().__init__(form)
        places: Any = form.columns
        self._named = (places.query, places.document)
        self._row_form = _core.RowForm(
            form.width, places.query, places.document, places.value, places.rank, form.tabs
        )

    def _rows(self, text: str) -> RowsOfLines:
        places: Any = self.form.columns
        if self.form.judged:
            rows = RowsOfLines(*self._reader.judged_rows(text, self._row_form))
        elif self.form.in_order:
            rows = RowsOfLines(*self._reader.ranked_rows(text, self._row_form))
        else:
            rows = RowsOfLines(*self._reader.run_rows(text, self._row_form))
            if rows.fault is None:
                rounded = first_rounded(text, places.value, rows.values, tabs=self.form.tabs)
                rows = rows._replace(fault=rounded)
        if rows.fault is not None:
            return self._rows_in_python(text)
        return rows

    def _rows_in_python(self, text: str) -> RowsOfLines:
        """Read a block of lines as the core does, and say what is wrong with a line."""
        places: Any = self.form.columns
        split = self._split_whole(text)
        if split is None:
            split = self._split_lines(text.split("\n"))
        value_fault, values = self._values(split.columns, split.numbers)
        return RowsOfLines(
            split.fault or value_fault,
            self._reader.group_codes(split.columns[places.query]),
            self._reader.name_codes(split.columns[places.document]),
            values,
        )

    def _split_whole(self, text: str) -> _SplitLines | None:
        """Split lines with tabs alone between fields at once; None where one is not like that."""
        body = text.removesuffix("\n")
        lines = body.split("\n")
        width = self.form.width
        if " " in body or {line.count("\t") for line in lines} != {width - 1}:
            return None
        fields = body.replace("\n", "\t").split("\t")
        columns = [fields[j::width] for j in range(width)]
        if any("" in columns[j] for j in self._named):
            return None
        return _SplitLines(columns, range(len(lines)))

    def _split_lines(self, lines: Sequence[str]) -> _SplitLines:
        """Split lines one by one; a wrong one is a fault."""
        columns: list[list[str]] = [[] for _ in range(self.form.width)]
        numbers = []
        for i, line in enumerate(lines):
            if not line.strip(" \t"):
                continue
            fields = self._fields(line)
            is_whole = len(fields) == self.form.width
            if not is_whole or not all(fields[j] for j in self._named):
                problem = f"expected {self.form.width} fields, with a query and a document"
                none: list[list[str]] = [[] for _ in columns]
                return _SplitLines(none, [], (i, f"{problem} ({self.form.name})"))
            numbers.append(i)
            for column, field in zip(columns, fields, strict=True):
                column.append(field)
        return _SplitLines(columns, numbers)

    def _fields(self, line: str) -> list[str]:
        if self.form.tabs:
            return [field.strip(" ") for field in line.split("\t")]
        return fields_of(line)

    def _values(
        self, fields: Sequence[Sequence[str]], numbers: Sequence[int]
    ) -> tuple[Fault | None, npt.NDArray[Any]]:
        """Return the relevance, scores or ranks of rows, and the first that is none."""
        columns: Any = self.form.columns
        if self.form.judged:
            if columns.value is None:
                return None, np.ones(len(numbers), np.int64)
            return _read_column(fields[columns.value], numbers, _as_relevance, np.int64)
        fault = None
        if columns.rank is not None:
            fault, ranks = _read_column(fields[columns.rank], numbers, self._as_rank, np.int64)
            if self.form.in_order:
                return fault, ranks
        other_fault, scores = _read_column(fields[columns.value], numbers, _as_score, np.float64)
        return fault or other_fault, scores

    def _as_rank(self, text: str) -> int | str:
        if _RANK.fullmatch(text):
            return int(text)
        if self.form.width == 3 and not self.form.header:
            return _THREE
        return _NO_RANK


def _read_column(
    fields: Sequence[str], numbers: Sequence[int], read: Any, dtype: Any
) -> tuple[Fault | None, npt.NDArray[Any]]:
    """Read the numbers of a column; the first text that is none is a fault."""
    values = [read(field) for field in fields]
    for i, value in enumerate(values):
        if isinstance(value, str):
            return (numbers[i], value), np.zeros(len(fields), dtype)
    return None, np.array(values, dtype)


def _as_relevance(text: str) -> int | str:
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return _NO_RELEVANCE
    return int(whole[1])


def _as_score(text: str) -> float | str:
    if not _is_score(text):
        return _NO_SCORE
    value = float(text)
    if value == 0 or abs(value) >= _EXACT:
        number = exact_number(text)
        if not isinstance(number, float):
            return f"expected a score that a float64 holds, got {number}"
    return value


def _is_rank(text: str) -> bool:
    return _RANK.fullmatch(text) is not None


def _is_score(text: str) -> bool:
    """Return whether a text is a number, as the core reads them."""
    if "_" in text or not text.isascii():
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def reader_of(form: LineForm) -> LineReader:
    """Return a reader of lines of a form."""
    if form.columns is None:
        return TrecLines(form)
    return ColumnLines(form)
