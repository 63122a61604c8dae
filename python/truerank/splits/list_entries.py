"""Entries of lists in long form: put in order, and each once; lists of pairs with scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..inputs.errors import InputValueError
from ..inputs.row_keys import codes_of
from ..inputs.selection import indptr_of
from .column_roles import LISTS

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from .elements import Name, Names


class ListEntries(NamedTuple):
    """Entries of lists in long form, by codes of names.

    Attributes
    ----------
    queries, documents : ndarray of int, shape (n,)
    scores : ndarray, shape (n,), or None
    ranks : ndarray of int64, shape (n,), or None
        The order of each list, where there are no scores. None: that of the entries.
    """

    queries: npt.NDArray[Any]
    documents: npt.NDArray[Any]
    scores: npt.NDArray[Any] | None = None
    ranks: IntArray | None = None

    @property
    def said(self) -> npt.NDArray[Any] | None:
        """What entries say of their documents: scores, ranks, or nothing."""
        if self.scores is None:
            return self.ranks
        return self.scores

    def of(self, rows: IntArray) -> ListEntries:
        """Return some of the entries."""
        columns: list[Any] = []
        for column in self:
            chosen = column if column is None else column[rows]
            columns.append(chosen)
        return ListEntries(*columns)


class DistinctEntries(NamedTuple):
    """Entries list after list, each document of a list once.

    Attributes
    ----------
    entries : ListEntries
    indptr : ndarray of int64, shape (lists + 1,)
    repeated : int
        How many entries were left out, as another one said the same.
    """

    entries: ListEntries
    indptr: IntArray
    repeated: int


def distinct_entries(
    argument: str, queries: Names, names: Names, entries: ListEntries, place: str = ""
) -> DistinctEntries:
    """Put entries in the order of lists, and leave out repeats.

    Parameters
    ----------
    argument : str
        For messages.
    queries, names : tuple of str, or of int
        By the codes of queries and documents, each once.
    entries : ListEntries
        In any order; those that say the same of a document count once.
    place : str, optional
        The file that has them.

    Raises
    ------
    InputValueError
        For a document that a query has twice with unlike scores or ranks, and for a rank that it
        has twice.

    Examples
    --------
    >>> rows = ListEntries(np.array([0, 0, 0]), np.array([1, 0, 1]), None, np.array([2, 1, 2]))
    >>> distinct_entries("ids", ("q1",), ("d3", "d7"), rows).entries.documents
    array([0, 1])
    """
    if entries.scores is None and entries.ranks is not None:
        entries = entries.of(np.lexsort((entries.ranks, entries.queries)))
    elif (entries.queries[1:] < entries.queries[:-1]).any():
        entries = entries.of(np.argsort(entries.queries, kind="stable"))
    number = len(entries.queries)
    indptr = indptr_of(np.bincount(entries.queries, minlength=len(queries)))
    said = entries.said
    if said is not None and first_repeated(indptr, entries.documents, len(names)) is not None:
        keys = entries.queries * np.int64(len(names)) + entries.documents
        kept, unlike = first_of_equal(keys, said)
        if unlike is not None:
            first, second = unlike
            query = queries[entries.queries[first]]
            name = names[entries.documents[first]]
            two = f"with {said[first]} and {said[second]}"
            problem = f"the list of {query!r} has {name!r} twice, {two}"
            raise InputValueError(argument, problem, place=place)
        entries = entries.of(kept)
        indptr = indptr_of(np.bincount(entries.queries, minlength=len(queries)))
    if entries.scores is None and entries.ranks is not None:
        _refuse_equal_ranks(argument, queries, entries.queries, entries.ranks, place)
    if said is None:
        refuse_repeats(argument, queries.__getitem__, names, indptr, entries.documents, place)
    return DistinctEntries(entries, indptr, number - len(entries.queries))


def first_of_equal(
    keys: IntArray, values: npt.NDArray[Any]
) -> tuple[IntArray, tuple[int, int] | None]:
    """Return the first row of each key, ascending, and two rows of one key with unlike values.

    Examples
    --------
    >>> first_of_equal(np.array([7, 8, 7]), np.array([1, 0, 1]))
    (array([0, 1]), None)
    >>> first_of_equal(np.array([7, 8, 7]), np.array([1, 0, 2]))
    (array([0, 1]), (0, 2))
    """
    codes = codes_of(keys)
    first = codes.first()
    first_of_row = first[codes.codes]
    is_unlike = values != values[first_of_row]
    is_unlike &= ~(np.isnan(values) & np.isnan(values[first_of_row]))
    unlike = None
    if is_unlike.any():
        row = int(is_unlike.argmax())
        unlike = int(first_of_row[row]), row
    return np.sort(first), unlike


def _refuse_equal_ranks(
    argument: str, names: Names, queries: npt.NDArray[Any], ranks: IntArray, place: str
) -> None:
    """Refuse two documents at one rank where ranks are all that says the order."""
    is_equal = (queries[1:] == queries[:-1]) & (ranks[1:] == ranks[:-1])
    if is_equal.any():
        i = int(is_equal.argmax())
        problem = f"the list of {names[queries[i]]!r} has the rank {ranks[i]} twice"
        raise InputValueError(argument, problem, place=place)


class ScoredNames(NamedTuple):
    """The names of a list and their scores, as they came; None: it has no scores."""

    names: list[Any]
    scores: Any


def read_pairs(listed: Any) -> ScoredNames | None:
    """Read a list of pairs (name, score), or of records that have both; None for other lists.

    Examples
    --------
    >>> read_pairs([("d7", 2.5), ("d3", 1.5)])
    ScoredNames(names=['d7', 'd3'], scores=[2.5, 1.5])
    >>> read_pairs([{"corpus_id": "d7", "score": 2.5}])
    ScoredNames(names=['d7'], scores=[2.5])
    >>> read_pairs(["d7", "d3"])
    """
    if not isinstance(listed, (list, tuple)) or not listed:
        return None
    if all(isinstance(entry, Mapping) for entry in listed):
        name = next((key for key in listed[0] if LISTS.role_of(key) == "document"), None)
        if name is None or any(name not in entry or "score" not in entry for entry in listed):
            return None
        return ScoredNames([entry[name] for entry in listed], [entry["score"] for entry in listed])
    if all(isinstance(entry, (list, tuple)) and len(entry) == 2 for entry in listed):
        return ScoredNames([name for name, _ in listed], [score for _, score in listed])
    return None


def refuse_repeats(
    argument: str,
    query_of: Callable[[int], Name],
    names: Sequence[Name],
    indptr: IntArray,
    ids: npt.NDArray[Any],
    place: str,
) -> None:
    """Refuse lists that have a name twice."""
    entry = first_repeated(indptr, ids, len(names))
    if entry is not None:
        query = query_of(int(np.searchsorted(indptr, entry, side="right")) - 1)
        problem = f"the list of {query!r} has {names[ids[entry]]!r} twice"
        raise InputValueError(argument, problem, place=place)


def first_repeated(indptr: IntArray, ids: npt.NDArray[Any], size: int) -> int | None:
    """Return the first entry whose id its list has twice; None: there is none.

    Examples
    --------
    >>> first_repeated(np.array([0, 1, 3]), np.array([2, 2, 2]), 3)
    2
    """
    none = np.zeros(0, np.int64)
    fault = _core.find_listed(_core.Selection(indptr, ids), size, none, none, None, 0)[0]
    if fault is None:
        return None
    return int(fault[0])
