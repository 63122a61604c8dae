"""Forms of runs and judgements in text: by a header, by `columns=`, or by what lines leave open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isinf, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import InputValueError
from ..inputs.selection import indptr_of
from .column_roles import JUDGEMENTS, LISTS, Door, find_roles
from .text import fields_of, shown, text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    # A fault is the line's place in its block, from 0, and what is wrong with the line.
    Fault = tuple[int, str]

_FORMS = {
    LISTS.kind: "six fields (TREC: query, Q0, document, rank, score, tag); three or four (query, "
    "document, and rank, score or both); or a header of names as query_id, doc_id and score",
    JUDGEMENTS.kind: "four fields (TREC: query, iteration, document, relevance); or a header of "
    "names as query_id, doc_id and relevance",
}
_SAYS = 'or columns={"query": 0, "document": ...}, which says what they are'
_JSON = "this is JSON, which json.load reads: hand over the mapping"
_JSON_BEGINS = ('{"', '["', "[{", "[[")
_COMMENT = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_WIDTH = "expected another number of fields"  # The core says it in the same words.
_NO_NUMBER = "expected a number as the score"
_RANK_OR_SCORE = (
    "whole numbers may be ranks or scores, and ranks would read 1, 2, 3, ... in the order of the"
    ' lines of each query: columns={"query": 0, "document": 1, "rank": 2} says that they are ranks,'
    ' columns={"query": 0, "document": 1, "score": 2} that they are scores'
)
_RANK_AND_SCORE = (
    "four columns are query, document, rank and score where the ranks read 1, 2, 3, ... in the"
    " order of the lines of each query, and the scores never rise, or score and rank the other way"
    ' round: columns={"query": 0, "document": 1, "score": 2} says what these are'
)
NOT_OF_TREC = (
    "four columns are those of TREC (query, iteration, document, relevance) where the second has"
    " one value, or fewer than the third: columns="
    '{"query": 0, "document": 2, "relevance": 3} or columns='
    '{"query": 0, "document": 1, "relevance": 2}'
    " says what these are"
)
LEAST_TIME = 1000  # No grade of a test collection is as large, and any year or time is.
_UNSAID = "rank or score"  # Nobody said which of the two these numbers are.
_EXACT = 1 << 53  # Every integer below it is a float64.


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
        What the numbers are: "relevance", "score", "rank", or "rank or score"; "": there are none.
    header : int
        The number of the line that names the columns; 0: none does.
    between : {"blanks", "tabs"}
        What separates fields: blanks and tabs, or tabs alone.
    left_out : tuple of str
        The columns that are not read.
    rank : int, optional
        The field of ranks.
    """

    name: str
    width: int
    query: int = 0
    document: int = 1
    numbers: tuple[int, ...] = ()
    role: str = _UNSAID
    header: int = 0
    between: str = "blanks"
    left_out: tuple[str, ...] = ()
    rank: int | None = None


TREC_RUN_FORM = LineForm("TREC run", 6, 0, 2, (4,), "score", rank=3)
TREC_QRELS_FORM = LineForm("TREC qrels", 4, 0, 2, (3,), "relevance")
_ITERATIONS = _core.RowForm(4, 1, 1)  # Only the second field is read.
_BY_WIDTH = {
    LISTS.kind: {
        3: LineForm("run: query, document, number", 3, numbers=(2,)),
        4: LineForm("run: query, document, two numbers", 4, numbers=(2, 3)),
        6: TREC_RUN_FORM,
    },
    JUDGEMENTS.kind: {4: TREC_QRELS_FORM},
}


def is_comment(line: str) -> bool:
    """Return whether a line is a comment."""
    return line.lstrip(" \t").startswith("#")


def data_lines(argument: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file that are neither blank nor a comment."""
    for number, line in text_lines(argument, path):
        if not is_comment(line):
            yield number, line


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
        return forms[max(forms)]  # The file has no lines.
    place = f"{path}: line {number}"
    form = _form_of_columns(f"{argument}: {place}", number, line, door, columns)
    if form is not None:
        return form
    fields = fields_of(line, "blanks")
    form = forms.get(len(fields))
    is_row = form is not None and all(_is_number(fields[j]) for j in form.numbers)
    if not is_row and line.lstrip().startswith(_JSON_BEGINS):
        raise InputValueError(argument, f"{_JSON}; it reads {shown(line)}", place=place)
    if form is None:
        expected = f"{_FORMS[door.kind]}, {_SAYS}"
        raise InputValueError(argument, expected=expected, got=shown(line), place=place)
    return form


def _form_of_columns(
    title: str, number: int, line: str, door: Door, columns: Mapping[str, str | int] | None
) -> LineForm | None:
    """Return the form that a header or the user says; None: neither does."""
    between = "tabs" if "\t" in line else "blanks"
    fields = fields_of(line, between)
    said = (columns or {}).values()
    known = set(map(door.role_of, fields))
    has_names = known.issuperset(door.needed_roles) and not any(map(_is_number, fields))
    has_names |= any(isinstance(column, str) for column in said)
    if not has_names and columns is None:
        return None
    names = fields if has_names else None
    roles = find_roles(title, names, len(fields), door, columns)
    places = dict(roles.places)
    query = places.pop("query")
    document = places.pop("document")
    role = next((role for role in ("score", *places) if role in places), "")
    numbers = tuple(places[each] for each in places if each == role)
    used = (query, document, *numbers)
    if names is None:
        name = f"columns {', '.join(map(str, used))}"
    else:
        name = f"a header: {', '.join(names[place] for place in used)}"
    kind = {LISTS.kind: "run", JUDGEMENTS.kind: "qrels"}[door.kind]
    return LineForm(
        f"{kind} with {name}",
        len(fields),
        query,
        document,
        numbers,
        role,
        number if has_names else 0,
        between,
        roles.left_out,
        places.get("rank"),
    )


def exact_number(text: str) -> float | str:
    """Return a number in text as a float; the text, if a float64 does not hold it.

    A float64 rounds nearly every decimal, such as 0.1, and that is no error. It does not hold a
    number that it makes infinite, nor one from 2**53 on that it changes, if its digits go down to
    the units. The last digit of 1.2345678901234567e+19 stands for a thousand: floats of that size
    are written so, and it is rounded as 0.1 is.

    Examples
    --------
    >>> exact_number("0.1"), exact_number("-inf"), exact_number("9007199254740992")
    (0.1, -inf, 9007199254740992.0)
    >>> exact_number("1e400"), exact_number("9007199254740993.0")
    ('1e400', '9007199254740993.0')
    """
    value = float(text)
    if abs(value) < _EXACT or isnan(value):  # Nearly all values end here.
        return value
    if isinf(value):
        is_held = "inf" in text.lower()
    else:
        from decimal import Decimal

        number = Decimal(text)
        reaches_units = int(number.as_tuple().exponent) <= 0
        is_held = number == value or not reaches_units
    return value if is_held else text


def first_rounded(
    text: str, column: int, numbers: npt.NDArray[np.float64], between: str = "blanks"
) -> tuple[int, str] | None:
    """Return the first line whose number `exact_number` refuses, and what is wrong; or None.

    Parameters
    ----------
    text : str
        Lines of fields between blanks and tabs, some lines perhaps without any.
    column : int
        The field that is a number.
    numbers : ndarray of float64
        These fields, as they were read.
    between : {"blanks", "tabs"}
        What separates fields, as `fields_of` takes it.

    Examples
    --------
    >>> first_rounded("a 1 x\\nb 9007199254740993 x", 1, np.array([1, 9007199254740992.0]))
    (1, 'expected a score that a float64 holds, got 9007199254740993')
    """
    is_large = np.abs(numbers) >= _EXACT
    if not is_large.any():
        return None
    lines = text.split("\n")
    filled = [i for i, line in enumerate(lines) if line.strip(" \t")]
    for i in np.array(filled)[is_large].tolist():
        number = exact_number(fields_of(lines[i], between)[column])
        if isinstance(number, str):
            return i, f"expected a score that a float64 holds, got {number}"
    return None


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
        self._reader = _core.ListReader()
        self._iterations = _core.ListReader()

    def read(self, text: str) -> tuple[Any, ...]:
        """Read a block of lines: the fault of one, or None; queries, documents, and numbers.

        Queries and documents are codes of names. Where there are no numbers, there are ones.
        """
        text = self._without_comments(text)
        form = self.form
        if not form.numbers:
            fault, *columns = self._reader.judged_rows(text, self._row_form(None))
            return self._said(fault), *columns
        fault = None
        numbers: list[npt.NDArray[np.float64]] = []
        for number in form.numbers:
            wrong, queries, documents, values = self._reader.run_rows(text, self._row_form(number))
            fault = fault or self._said(wrong)
            fault = fault or first_rounded(text, number, values, form.between)
            numbers.append(values)
        if form is TREC_QRELS_FORM:
            self._iterations.judged_rows(text, _ITERATIONS)
        return fault, queries, documents, *numbers

    def queries(self) -> tuple[str, ...]:
        """Return the names of queries in the order of their codes."""
        return tuple(self._reader.groups())

    def documents(self) -> tuple[str, ...]:
        """Return the names of documents in the order of their codes."""
        return tuple(self._reader.names())

    def iterations(self) -> tuple[str, ...]:
        """Return what stands in the second field of judgements of TREC."""
        return tuple(self._iterations.names())

    def _row_form(self, number: int | None) -> _core.RowForm:
        form = self.form
        are_tabs = form.between == "tabs"
        return _core.RowForm(form.width, form.query, form.document, number, tabs=are_tabs)

    def _said(self, fault: Fault | None) -> Fault | None:
        """Return a fault in the words of the form."""
        if fault is None:
            return None
        words = {
            _WIDTH: f"expected {self.form.width} fields, with a query and a document",
            _NO_NUMBER: f"expected a number as the {self.form.role}",
        }
        line, problem = fault
        return line, f"{words.get(problem, problem)} ({self.form.name})"

    def _without_comments(self, text: str) -> str:
        """Return lines of which comments are empty."""
        if "#" not in text:  # This test is far faster than a regular expression.
            return text
        text, count = _COMMENT.subn("", text)
        self.comments += count
        return text


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
    if form.role != _UNSAID:
        return form
    rows = np.argsort(queries, kind="stable")
    indptr = indptr_of(np.bincount(queries))
    places = np.arange(len(rows)) - np.repeat(indptr[:-1], np.diff(indptr))
    ordered = [values[rows] for values in numbers]
    if len(ordered) == 1:
        values = ordered[0]
        if _are_ranks(values, places):
            return form._replace(name="run: query, document, rank", role="rank")
        if not are_whole(values):
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


def are_whole(values: npt.NDArray[Any]) -> bool:
    """Return whether all values are whole numbers.

    Examples
    --------
    >>> are_whole(np.array([1.0, 7.0])), are_whole(np.array([1.0, np.inf]))
    (True, False)
    """
    return bool((np.isfinite(values) & (values == np.floor(values))).all())
