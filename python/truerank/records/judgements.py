"""Judgements of documents, as test collections have them: which are right answers of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_array
from ..inputs.checks import is_number, is_sparse
from ..inputs.frames import without_index
from .columns import (
    JUDGEMENTS,
    check_columns,
    is_column,
    read_named_table,
    table_of_columns,
)
from .elements import joined_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray

QREL_FORMS = (
    "a path, a table with named columns, {query: {document: grade}}, {query: [documents]}, a tuple "
    "of columns (queries, documents, grades), or a sparse matrix of grades"
)
_LARGEST_WHOLE = 2.0**53  # From here on not every whole number is a float64.


@dataclass(frozen=True, eq=False, repr=False)
class Judgements:
    """The relevance of documents for queries, in columns.

    Attributes
    ----------
    queries : column of names
        The query of each judgement; with counts, each query once.
    documents : column of names
    relevance : ndarray, shape (n,), or None
        Finite grades, of which those above 0 say that a document is relevant. None: all are.
    counts : ndarray of int64, or None
        Of judgements by query: how many each query has.
    matrix : (int, int), or None
        The shape of a matrix, whose rows are queries and whose columns are documents, as positions.
    source : str
        The file and its form, or what was left out; "": nothing was, and they are from Python.
    is_text : bool
        Whether names are from a file, where 7 has no type.
    """

    queries: Any
    documents: Any
    relevance: npt.NDArray[Any] | None
    counts: IntArray | None = None
    matrix: tuple[int, int] | None = None
    source: str = ""
    is_text: bool = False

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        judged = f"{len(self):,} judgements of {len(set(self.queries)):,} queries"
        return f"{judged}, from {self.source}"


def read_judgements(argument: str, value: Any, columns: Any = None) -> Judgements:
    """Read judgements in any form that Python has; `read_qrels` reads files.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        What `read_qrels` returned; ``{query: {document: grade}}``, ``{query: [documents]}``; a
        frame of pandas or polars, a table of pyarrow, a structured array, whose columns are found
        by their names; a tuple of columns; a sparse matrix of scipy.
    columns : mapping of str to (str or int), optional
        As `check_columns` takes it, for what has columns.

    Raises
    ------
    InputTypeError, InputValueError
        For anything else.

    Examples
    --------
    >>> read_judgements("qrels", (["ann"], ["tea"], [2])).relevance
    array([2])
    >>> read_judgements("qrels", [("ann", "tea")])
    Traceback (most recent call last):
    truerank.errors.InputTypeError: qrels: expected a path, a table with named columns, \
{query: {document: grade}}, {query: [documents]}, a tuple of columns (queries, documents, grades), \
or a sparse matrix of grades, got a list
    """
    said = check_columns(columns, JUDGEMENTS)
    if isinstance(value, Judgements):
        return value
    if isinstance(value, Mapping):
        return _judgements_of_mapping(argument, value)
    if is_sparse(value):
        return _judgements_of_matrix(argument, value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        table = table_of_columns(argument, list(value))
    else:
        table = read_named_table(argument, value, QREL_FORMS, said)
    by_role, source = table.by_role(argument, JUDGEMENTS, said)
    grades = by_role.get("relevance")
    relevance = None if grades is None else read_grades(argument, grades)
    return Judgements(by_role["query"], by_role["document"], relevance, source=source)


def _judgements_of_mapping(argument: str, value: Mapping[Any, Any]) -> Judgements:
    """Read {query: {document: grade}}, or {query: [documents]}."""
    judged = list(value.values())
    are_graded = {isinstance(each, Mapping) for each in judged}
    for query, each in value.items():
        if len(are_graded) > 1 or not (isinstance(each, Mapping) or is_column(each)):
            expected = "{query: {document: grade}}, or {query: [documents]} for all queries"
            raise InputTypeError(argument, expected=expected, got=f"{query!r}: {each!r}")
    queries = list(value)
    if True in are_graded:
        counts = np.array(list(map(len, judged)), np.int64)
        grades = list(chain.from_iterable(each.values() for each in judged))
        documents = list(chain.from_iterable(judged))
        return Judgements(queries, documents, read_grades(argument, grades), counts)
    counts, listed = joined_rows(argument, judged, "documents of each query")
    return Judgements(queries, listed, None, counts)


def _judgements_of_matrix(argument: str, value: Any) -> Judgements:
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
    if array.dtype.kind == "O":  # Such a column holds Python's numbers.
        array = as_array(array.tolist(), argument, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        odd = [(value, row) for row, value in enumerate(values) if not is_number(value)]
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
