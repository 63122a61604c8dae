"""Forms of runs and judgements in text: by a header, by `columns=`, or by what lines leave open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..inputs.errors import InputValueError
from ..inputs.scores import first_rounded
from ..inputs.selection import indptr_of
from .column_roles import JUDGEMENTS, LISTS, Door, find_roles
from .text import text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    Fault = tuple[int, str]  # a line of a block, from 0, and what is wrong with it

_NAMED = 'or a header of names as query_id, doc_id and {}, or columns={{"query": 0, ...}}'
_FORMS = {
    LISTS.kind: (
        "expected six fields: query, Q0, document, rank, score and tag (TREC); four: query,"
        " document, rank and score; three: query, document and rank or score; "
        + _NAMED.format("score")
    ),
    JUDGEMENTS.kind: (
        "expected four fields: query, iteration, document and relevance (TREC); "
        + _NAMED.format("relevance")
    ),
}
_JSON = "this is JSON: the name of the file ends in .json or .jsonl, and read_json_lists reads it"
_JSON_BEGINS = ('{"', '["', "[{", "[[")
_COMMENT = re.compile(r"^[ \t]*#", re.MULTILINE)
_HASH_ROW = (
    "a line that begins with # is a comment, and this one is a row otherwise: a blank after the # "
    "makes it a comment, and JSON has queries of any name"
)
_BLANKS = re.compile("[ \t]+")
_WIDTH = "expected another number of fields"  # as the core says it
_NO_SCORE = "expected a number as the score"
_NO_GRADE = "expected a finite number as the relevance"
_RANK_OR_SCORE = (
    "whole numbers may be ranks or scores, and ranks would read 1, 2, 3, ... in the order of the"
    ' lines of each query: columns={"query": 0, "document": 1, "rank": 2} or {..., "score": 2} says'
    " which they are"
)
_RANK_AND_SCORE = (
    "four columns are query, document, rank and score where the ranks read 1, 2, 3, ... in the"
    " order of the lines of each query, and the scores never rise, or score and rank the other way"
    ' round: columns={"query": 0, "document": 1, "score": 2} says what these are'
)
_NOT_OF_TREC = (
    "four columns are those of TREC (query, iteration, document, relevance) where the second has"
    " one value, or fewer than the third: columns="
    '{"query": 0, "document": 2, "relevance": 3} or {"query": 0, "document": 1, "relevance": 2}'
    " says what these are"
)
_LEAST_TIME = 1000  # no grade of a test collection is as large, and any year or time is


class LineForm(NamedTuple):
    """The form of the lines of a file.

    Attributes
    ----------
    name : str
        What a report calls it.
    width : int
        The number of fields of a line.
    query, document : int
        Their fields.
    numbers : tuple of int
        The fields of numbers.
    role : str
        What the numbers are: relevance, score or rank; "order": there are none; "": nobody said it.
    expected : str
        What a line of another number of fields is told; "": it is said by the width and the name.
    header : bool
        Whether the first line names the columns.
    tabs : bool
        Whether tabs alone stand between fields; otherwise blanks, too.
    left_out : tuple of str
        The columns that are not read.
    """

    name: str
    width: int
    query: int = 0
    document: int = 1
    numbers: tuple[int, ...] = ()
    role: str = ""
    expected: str = ""
    header: bool = False
    tabs: bool = False
    left_out: tuple[str, ...] = ()

    def row_form(self, number: int | None) -> _core.RowForm:
        """Return what the core reads: names and one of the numbers, or none."""
        rank = None
        if self.role == "rank":
            number, rank = rank, number
        return _core.RowForm(self.width, self.query, self.document, number, rank, self.tabs)

    def fields(self, line: str) -> list[str]:
        """Return the fields of a line."""
        if self.tabs:
            return [field.strip(" ") for field in line.split("\t")]
        return fields_of(line)


_TREC_FIELDS = "expected six fields: query, Q0, document, rank, score and tag"
_QRELS_FIELDS = "expected four fields: query, iteration, document and relevance"
TREC_RUN_FORM = LineForm("TREC run", 6, 0, 2, (4,), "score", _TREC_FIELDS)
TREC_QRELS_FORM = LineForm("TREC qrels", 4, 0, 2, (3,), "relevance", _QRELS_FIELDS)
_ITERATIONS = _core.RowForm(4, 1, 1)
_BY_WIDTH = {
    LISTS.kind: {
        3: LineForm("run: query, document, number", 3, numbers=(2,)),
        4: LineForm("run: query, document, two numbers", 4, numbers=(2, 3)),
        6: TREC_RUN_FORM,
    },
    JUDGEMENTS.kind: {4: TREC_QRELS_FORM},
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


def form_of_file(
    argument: str, path: str, door: Door, columns: Mapping[str, str | int] | None = None
) -> LineForm:
    """Return the form of a file, by its first line that is no comment.

    Parameters
    ----------
    argument, path : str
    door : Door
        `JUDGEMENTS` or `LISTS`.
    columns : mapping of str to (str or int), optional
        The column of each role, as `check_columns` returns it.

    Raises
    ------
    InputValueError
        For a line of any other form; it says which line, and what would be right.
    """
    forms = _BY_WIDTH[door.kind]
    number, line = next(data_lines(argument, path), (0, ""))
    if not number:
        return forms[max(forms)]  # of a file without lines
    form = _form_of_columns(f"{argument}: {path}: line {number}", line, door, columns)
    width = len(fields_of(line))
    if door is LISTS and width > 6:  # the tag has blanks
        width = 6
    form = form or forms.get(width)
    is_json = width < 6 and line.lstrip().startswith(_JSON_BEGINS)
    if form is None or is_json:
        problem = _FORMS[door.kind]
        if is_json:
            problem = _JSON
        raise InputValueError(
            argument, f"line {number}: {problem}; it reads {shown(line)}", place=path
        )
    return form


def _form_of_columns(
    title: str, line: str, door: Door, columns: Mapping[str, str | int] | None
) -> LineForm | None:
    """Return the form that a header or the user says; None: neither does."""
    form = LineForm("", 0, tabs="\t" in line)
    fields = form.fields(line)
    said = (columns or {}).values()
    known = set(map(door.role_of, fields))
    has_names = known.issuperset(door.needed_roles) and not any(map(_is_number, fields))
    has_names |= any(isinstance(column, str) for column in said)
    if not has_names and columns is None:
        return None
    names = None
    if has_names:
        names = fields
    roles = find_roles(title, names, len(fields), door, columns)
    places = roles.places
    number = next((role for role in ("relevance", "score", "rank") if role in places), "")
    numbers: tuple[int, ...] = ()
    used = ["query", "document"]
    if number:
        numbers = (places[number],)
        used.append(number)
    if names is None:
        name = f"columns {', '.join(f'{role} {places[role]}' for role in used)}"
    else:
        name = f"a header: {', '.join(names[places[role]] for role in used)}"
    return form._replace(
        name=f"{_KINDS[door.kind]} with {name}",
        width=len(fields),
        query=places["query"],
        document=places["document"],
        numbers=numbers,
        role=number or "order",
        header=has_names,
        left_out=roles.left_out,
    )


_KINDS = {LISTS.kind: "run", JUDGEMENTS.kind: "qrels"}


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
        self._iterations = _core.ListReader()

    def read(self, text: str) -> tuple[Any, ...]:
        """Read a block of lines: the fault of one, or None; queries, documents, and numbers.

        Queries and documents are codes of names. Where there are no numbers, there are ones.
        """
        fault, text = self._without_comments(text)
        if fault is not None:
            return (fault,)
        form = self.form
        if form.role == "rank":
            return self._said(self._reader.ranked_rows(text, form.row_form(*form.numbers)))
        if not form.numbers:
            return self._said(self._reader.judged_rows(text, form.row_form(None)))
        if form.role == "relevance":
            judged = self._reader.judged_rows(text, form.row_form(*form.numbers))
            if form is TREC_QRELS_FORM:
                self._iterations.judged_rows(text, _ITERATIONS)
            if judged[0] is None:  # else one has a fraction
                return judged
        return self._numbers(text)

    def _numbers(self, text: str) -> tuple[Any, ...]:
        """Read lines of names and of one or two numbers, which may have fractions."""
        form = self.form
        columns: list[npt.NDArray[np.float64]] = []
        for number in form.numbers:
            rows = self._reader.run_rows(text, form.row_form(number))
            if rows[0] is not None and form is TREC_RUN_FORM:
                text = _with_plain_tags(text)
                rows = self._reader.run_rows(text, form.row_form(number))
            fault, queries, documents, values = rows
            if fault is None:
                fault = first_rounded(text, number, values, tabs=form.tabs)
            if fault is not None:
                return self._said((fault,))
            columns.append(values)
        return (None, queries, documents, *columns)

    def queries(self) -> tuple[str, ...]:
        """Return the names of queries in the order of their codes."""
        return tuple(self._reader.groups())

    def documents(self) -> tuple[str, ...]:
        """Return the names of documents in the order of their codes."""
        return tuple(self._reader.names())

    def iterations(self) -> tuple[str, ...]:
        """Return what stands in the second field of qrels of TREC, each once."""
        return tuple(self._iterations.names())

    def _said(self, rows: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return rows, whose fault is said in the words of the form."""
        fault = rows[0]
        if fault is None:
            return rows
        form = self.form
        line, problem = fault
        if problem == _WIDTH:
            problem = f"expected {form.width} fields, with a query and a document ({form.name})"
            problem = form.expected or problem
        elif problem == _NO_SCORE and form.role == "relevance":
            problem = _NO_GRADE
        return ((line, problem),)

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
        form = self.form
        fields = form.fields(line)
        if fields[0].startswith("# ") or fields[0] == "#":
            return False
        is_whole = len(fields) == form.width
        if form == TREC_RUN_FORM:
            is_whole = len(fields) >= form.width and fields[3].isdecimal()
        return is_whole and all(_is_number(fields[j]) for j in form.numbers)


def _with_plain_tags(text: str) -> str:
    """Return lines of TREC as the core reads them, whose tags have no blanks."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        fields = fields_of(line)
        if len(fields) > 6 and fields[3].isdecimal() and not _is_number(fields[5]):
            # a number in place of the tag: a name before it may have a blank
            lines[i] = " ".join(fields[:6])
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    """Return whether a text is a number, as the core reads them."""
    if "_" in text or not text.isascii():
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers_said(
    argument: str, path: str, form: LineForm, queries: npt.NDArray[Any], numbers: list[Any]
) -> LineForm:
    """Return the form of lines of which nobody said what their numbers are, by what they read.

    Raises
    ------
    InputValueError
        Where they may be ranks or scores.

    Examples
    --------
    >>> form = _BY_WIDTH["lists"][3]
    >>> queries = np.array([0, 1, 0])
    >>> numbers_said("path", "run", form, queries, [np.array([1, 1, 2])]).role
    'rank'
    >>> numbers_said("path", "run", form, queries, [np.array([1, 0.5, 2])]).role
    'score'
    """
    if form.role:
        return form
    rows = np.argsort(queries, kind="stable")
    indptr = indptr_of(np.bincount(queries))
    places = np.arange(len(rows)) - np.repeat(indptr[:-1], np.diff(indptr))
    ordered = [values[rows] for values in numbers]
    if len(ordered) == 1:
        values = ordered[0]
        if _are_ranks(values, places):
            return form._replace(name="run: query, document, rank", role="rank")
        if not (values == np.floor(values)).all() or np.isinf(values).any():
            return form._replace(name="run: query, document, score", role="score")
        raise InputValueError(argument, _RANK_OR_SCORE, place=path)
    first, second = ordered
    is_rank_first = _are_ranks(first, places) and _never_rise(second, places)
    is_score_first = _are_ranks(second, places) and _never_rise(first, places)
    if is_rank_first == is_score_first:
        raise InputValueError(argument, _RANK_AND_SCORE, place=path)
    if is_rank_first:
        return form._replace(name="run: query, document, rank, score", numbers=(3,), role="score")
    return form._replace(name="run: query, document, score, rank", numbers=(2,), role="score")


def _are_ranks(values: npt.NDArray[Any], places: npt.NDArray[Any]) -> bool:
    """Return whether values read 1, 2, 3, ... in each query, or in each 0, 1, 2, ..."""
    first = values[0]
    return bool(first in (0, 1) and (values - places == first).all())


def _never_rise(values: npt.NDArray[Any], places: npt.NDArray[Any]) -> bool:
    """Return whether no value is above the one before it, of the same query."""
    return not ((values[1:] > values[:-1]) & (places[1:] > 0)).any()


def check_relevance(
    argument: str, path: str, reader: LineReader, relevance: npt.NDArray[Any]
) -> None:
    """Refuse relevance that is not finite, and four columns that may not be those of TREC."""
    is_odd = ~np.isfinite(relevance)
    if is_odd.any():
        row = int(is_odd.argmax())
        problem = f"line {line_of_row(path, reader.form, row)}: {_NO_GRADE}, got {relevance[row]}"
        raise InputValueError(argument, problem, place=path)
    if reader.form is not TREC_QRELS_FORM or not len(relevance):
        return
    iterations = reader.iterations()
    if len(iterations) == 1:
        is_of_trec = len(relevance) > 1 or iterations[0] in ("0", "Q0")
    else:
        is_few = len(iterations) < len(reader.documents())
        is_of_trec = is_few and relevance.max() < _LEAST_TIME
    if not is_of_trec:
        raise InputValueError(argument, _NOT_OF_TREC, place=path)
