"""Judgements of documents, as test collections have them: which are right answers of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_array, read_only
from ..inputs.checks import instance, is_number, is_sparse
from ..inputs.frames import without_index
from ..naming import public
from .column_roles import JUDGEMENTS, check_columns
from .column_tables import is_column, read_table, table_of_rows
from .elements import checked_names, is_integer_text, joined_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from .elements import Names


_LARGEST_WHOLE = 2.0**53  # From here on not every whole number is a float64.


def plain_rows(value: Any) -> Any:
    """Return the dicts of a Qrels or Run of ranx, and the rows of an iterator as a list.

    Anything else stays as it is.

    Examples
    --------
    >>> plain_rows(iter([("q1", "d3")]))
    [('q1', 'd3')]
    """
    if type(value).__module__.startswith("ranx."):
        return value.to_dict()
    if isinstance(value, Iterator):
        return list(value)
    return value


@public("truerank")
@dataclass(eq=False, repr=False)
class Qrels:
    """Judgements: the relevance of documents for queries, one document for one query each.

    Parameters
    ----------
    queries, documents : tuple of str, or of int
        The query and the document of each judgement. All queries are of one type, and all
        documents.
    relevance : ndarray of int64 or float64, shape (n,)
        Finite numbers, of which those above 0 say that a document is relevant. One below 0 says
        that it is not judged. They are float64 where one has a fraction.
    is_text : bool
        Whether the names are from a file, where 7 has no type: such names are also read by
        vocabularies of int, which take no str.
    source : str
        The file and its form, for reports; "": they are from Python.

    Raises
    ------
    TypeError
        For names that are neither str nor int, or some of them str and others int.

    Examples
    --------
    >>> Qrels(("q1", "q1"), ("d3", "d9"), np.array([1, 0]))
    Qrels(2 judgements of 1 queries, 1 relevant)
    """

    queries: Names
    documents: Names
    relevance: npt.NDArray[Any]
    is_text: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if not self.is_text:
            self.queries = checked_names("queries", self.queries)
            self.documents = checked_names("documents", self.documents)
        self.relevance = read_only(read_grades("relevance", self.relevance))

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        judged = f"{len(self):,} judgements of {len(set(self.queries)):,} queries"
        return f"Qrels({judged}, {np.count_nonzero(self.relevance > 0):,} relevant)"

    @classmethod
    def of(cls, value: Any, argument: str = "qrels", *, columns: Any = None) -> Qrels:
        """Read judgements in any form that Python has; `read_qrels` reads files.

        Names stay what they are, str or int.

        Parameters
        ----------
        value : Qrels, mapping, frame, data set, rows, or tuple of columns
            ``{query: {name: relevance}}``, ``{query: [names]}``; or a row for each judgement, in
            the forms that `NamedLists.of` takes, or as a list of tuples, or an array of two
            dimensions. Rows without relevance are right answers. Relevance is a finite number.
        argument : str
            What messages call it.
        columns : mapping of str to (str or int), optional
            The name or number of the column of each role, ``{"query": "who", "document": 2}``, and
            perhaps "relevance". Default: by their names, or in this order where they have none.

        Raises
        ------
        TypeError, ValueError
            For another form; for a role whose column is missing or there twice, and for other
            columns, unless they are known to say nothing (text, title, iteration, timestamp, ...).

        Examples
        --------
        >>> Qrels.of({"q1": {"d3": 1, "d9": 0}, "q2": {"d3": 2}})
        Qrels(3 judgements of 2 queries, 2 relevant)
        >>> Qrels.of([{"query-id": "q1", "corpus-id": "d3", "score": 1}])
        Qrels(1 judgements of 1 queries, 1 relevant)
        """
        instance("argument", argument, str)
        value = plain_rows(value)
        if isinstance(value, Qrels):
            return value
        read = read_judgements(argument, value, columns)
        if read.matrix is not None:
            expected = "judgements with names, as a matrix has positions alone; a Task takes it"
            raise InputTypeError(argument, expected=expected, got=type(value).__name__)
        queries = checked_names(argument, read.queries)
        if read.counts is not None:
            numbered = np.repeat(np.arange(len(queries)), read.counts)
            queries = tuple(map(queries.__getitem__, numbered.tolist()))
        documents = checked_names(argument, read.documents)
        grades = read.relevance
        relevance = np.ones(len(read.documents), np.int64) if grades is None else grades
        return cls(queries, documents, relevance, source=read.source)


class Judgements(NamedTuple):
    """Judgements in columns, whose names are not read yet.

    Attributes
    ----------
    queries : column of names
        The query of each judgement; with counts, each query once.
    documents : column of names
    relevance : ndarray, shape (n,), or None
        None: all are right answers.
    counts : ndarray of int64, or None
        Of judgements by query: how many each query has.
    matrix : (int, int), or None
        The shape of a matrix, whose rows are queries and whose columns are documents, as positions.
    source : str
        The file and its form, or what was left out; "": nothing was, and they are from Python.
    is_text : bool
        Whether names are from a file, and have no type.
    """

    queries: Any
    documents: Any
    relevance: npt.NDArray[Any] | None
    counts: IntArray | None = None
    matrix: tuple[int, int] | None = None
    source: str = ""
    is_text: bool = False


_FORMS = (
    "rows [(query, item), ...], columns (queries, items), or items by query {query: [item, ...]}; "
    "a list of lists, or of arrays, could be rows or the items of each query"
)


def read_judgements(argument: str, value: Any, columns: Any = None) -> Judgements:
    """Read judgements in any form that Python has.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        `Qrels`; ``{query: {item: grade}}``, ``{query: [items]}``; whatever `read_table` takes; a
        list of tuples, or an array of two dimensions, whose rows are (query, item) or (query, item,
        grade); a sparse matrix of scipy.
    columns : mapping of str to (str or int), optional
        As `check_columns` takes it, for what has columns.

    Raises
    ------
    InputTypeError, InputValueError
        For anything else.

    Examples
    --------
    >>> read_judgements("qrels", [{"user": "ann", "item": "tea", "text": "!"}]).source
    'qrels (left out: columns text)'
    >>> read_judgements("qrels", [["ann", "tea"]])
    Traceback (most recent call last):
    truerank.errors.InputTypeError: qrels: expected rows [(query, item), ...], columns \
(queries, items), or items by query {query: [item, ...]}; a list of lists, or of arrays, could be \
rows or the items of each query, got ['ann', 'tea'] in row 0
    """
    said = check_columns(columns, JUDGEMENTS)
    if isinstance(value, Qrels):
        return Judgements(
            value.queries,
            value.documents,
            value.relevance,
            source=value.source,
            is_text=value.is_text,
        )
    if isinstance(value, Mapping):
        return _of_mapping(argument, value)
    if is_sparse(value):
        return _of_matrix(argument, value)
    table = read_table(argument, value) or table_of_rows(argument, value, _FORMS)
    by_role, source = table.by_role(argument, JUDGEMENTS, said)
    grades = by_role.get("relevance")
    relevance = None if grades is None else read_grades(argument, grades)
    return Judgements(by_role["query"], by_role["document"], relevance, source=source)


def _of_mapping(argument: str, value: Mapping[Any, Any]) -> Judgements:
    """Read {query: {item: grade}}, or {query: [items]}."""
    judged = list(value.values())
    are_graded = {isinstance(each, Mapping) for each in judged}
    for query, each in value.items():
        if len(are_graded) > 1 or not (isinstance(each, Mapping) or is_column(each)):
            expected = "{query: {item: grade}}, or {query: [items]} for all queries"
            raise InputTypeError(argument, expected=expected, got=f"{query!r}: {each!r}")
    queries = list(value)
    if True in are_graded:
        counts = np.array(list(map(len, judged)), np.int64)
        grades = list(chain.from_iterable(each.values() for each in judged))
        items = list(chain.from_iterable(judged))
        return Judgements(queries, items, read_grades(argument, grades), counts)
    counts, listed = joined_rows(argument, judged, "items of each query")
    return Judgements(queries, listed, None, counts)


def _of_matrix(argument: str, value: Any) -> Judgements:
    """Read a sparse matrix: stored entries are judged, and their values are grades."""
    csr = value.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    queries = np.arange(csr.shape[0])
    grades = read_grades(argument, csr.data)
    return Judgements(queries, csr.indices, grades, np.diff(csr.indptr), csr.shape)


def read_grades(argument: str, values: Any) -> npt.NDArray[Any]:
    """Return grades, which are finite numbers of any kind and sign, whatever has them.

    Parameters
    ----------
    argument : str
        For messages.
    values : sequence of numbers, shape (n,)
        Digits in quotes are the int that they write.

    Returns
    -------
    ndarray, shape (n,)
        Of int64 where all are whole, of float64 otherwise.

    Raises
    ------
    InputTypeError, InputValueError
        For what is no number, and for NaN and infinite ones.

    Examples
    --------
    >>> read_grades("qrels", [2.0, -1]), read_grades("qrels", np.array([1, 0.1]))
    (array([ 2, -1]), array([1. , 0.1]))
    """
    expected = "grades that are finite numbers"
    array = as_array(without_index(values), argument, expected)
    if array.dtype.kind in "OUT":  # Such a column holds Python's numbers, or text.
        array = as_array(list(map(_number_of_digits, values)), argument, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        odd = [
            (value, row)
            for row, value in enumerate(values)
            if not is_number(_number_of_digits(value))
        ]
        value, row = odd[0]
        raise InputTypeError(argument, expected=expected, got=f"{value!r} in row {row}")
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    grades = array.astype(np.float64)
    is_odd = ~np.isfinite(grades)
    if is_odd.any():
        row = int(is_odd.argmax())
        raise InputValueError(argument, expected=expected, got=f"{array[row]} in row {row}")
    is_whole = (grades == np.floor(grades)) & (np.abs(grades) < _LARGEST_WHOLE)
    if is_whole.all():
        return grades.astype(np.int64)
    return grades


def _number_of_digits(value: Any) -> Any:
    """Return the int that digits in quotes write; anything else as it is."""
    if isinstance(value, str) and is_integer_text(value):
        return int(value)
    return value
