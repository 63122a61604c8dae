"""Lists over given candidates: what they have that is no candidate, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.row_keys import are_among, distinct, distinct_rows, row_keys
from ..inputs.selection import indptr_of
from ..splits.vocabularies import Vocabulary
from .sampling import join_ranges

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..inputs.candidate_lists import CandidateLists
    from .side_tasks import SideTasks


class ListedCandidates(NamedTuple):
    """What `rank_open_lists` takes of the candidates of tasks.

    Attributes
    ----------
    filter : (indptr, indices, lists)
        What is left out of the lists: the filter, and what is listed and no candidate.
    sizes : ndarray of int64, shape (n,)
        The number of candidates of each task that the filter leaves, its target included.
    """

    filter: tuple[IntArray, IntArray, IntArray]
    sizes: IntArray


class Selections(NamedTuple):
    """Distinct combinations of a list, candidates and a filter, and that of each task.

    Attributes
    ----------
    row, candidates, filter, query : ndarray of int64, shape (m,)
        The numbers of the list, of the candidates, of the filter and of the query.
    of_task : ndarray of int64, shape (n,)
    """

    row: IntArray
    candidates: IntArray
    filter: IntArray
    query: IntArray
    of_task: IntArray


def candidates_of_lists(lists: CandidateLists, rows: IntArray, side: SideTasks) -> ListedCandidates:
    """Split what is listed into candidates and others, without a loop over queries.

    Parameters
    ----------
    lists : CandidateLists
    rows : ndarray of int64, shape (n,)
        The list of each task.
    side : SideTasks
        The tasks, with candidates of their own: ascending and distinct, as a `Task` makes them.

    Raises
    ------
    InputValueError
        For an entry that is no candidate of its query, unless it is filtered or a right answer.

    Examples
    --------
    >>> from truerank.inputs.candidate_lists import as_lists
    >>> from truerank.tasks.side_tasks import SideTasks
    >>> one = np.zeros(1, np.int64)
    >>> side = SideTasks("tail", one[:, None], one, one + 2, 9, candidates=np.array([2, 5, 7]))
    >>> candidates_of_lists(as_lists([[7, 2]], None), one, side).sizes
    array([3])
    """
    size = side.columns
    without, among = side.selections()
    filters = as_lists_of_tasks(without, len(side))
    candidates = as_lists_of_tasks(among, len(side))
    selections = distinct_selections(rows, candidates[2], filters[2], side.rows)
    of_candidates = keys_of_lists(candidates, size)
    of_filters = keys_of_lists(filters, size)

    # every list once for each combination, but for ids out of range, which are refused later
    starts = lists.indptr[selections.row]
    lengths = lists.indptr[selections.row + 1] - starts
    places = join_ranges(starts, lengths)
    entry_of = np.repeat(np.arange(len(lengths)), lengths)
    ids = lists.ids[places].astype(np.int64)
    is_within = (ids >= 0) & (ids < size)
    places, entry_of, ids = places[is_within], entry_of[is_within], ids[is_within]
    is_candidate = are_among(of_candidates, selections.candidates[entry_of] * size + ids)
    is_filtered = are_among(of_filters, selections.filter[entry_of] * size + ids)
    right = distinct(side.rows * size + side.targets)
    is_right = are_among(right, selections.query[entry_of] * size + ids)
    is_wrong = ~(is_candidate | is_filtered | is_right)
    if is_wrong.any():
        _refuse_others(lists, places, is_wrong, side)

    further = ~is_candidate & ~is_filtered
    filtered_of, filtered = distinct_rows(entries_of(filters, selections.filter))
    left_out = np.append(filtered_of, entry_of[further]), np.append(filtered, ids[further])
    order = np.argsort(row_keys(left_out), kind="stable")
    indptr = indptr_of(np.bincount(left_out[0], minlength=len(lengths)))
    joined = indptr, left_out[1][order], selections.of_task

    are_both = are_among(of_candidates, selections.candidates[filtered_of] * size + filtered)
    both = np.bincount(filtered_of[are_both], minlength=len(lengths))
    counts = np.diff(candidates[0])[selections.candidates] - both
    is_target_filtered = are_among(of_filters, filters[2] * size + side.targets)
    return ListedCandidates(joined, counts[selections.of_task] + is_target_filtered)


def as_lists_of_tasks(selection: Any, tasks: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return a selection as (indptr, indices, lists), also if it is one list or none.

    Examples
    --------
    >>> as_lists_of_tasks(np.array([2, 5]), 3)
    (array([0, 2]), array([2, 5]), array([0, 0, 0]))
    """
    if isinstance(selection, tuple):
        return selection[0], selection[1], selection[2]
    indices = np.zeros(0, dtype=np.int64) if selection is None else selection
    return np.array([0, len(indices)]), indices, np.zeros(tasks, dtype=np.int64)


def keys_of_lists(selection: tuple[IntArray, IntArray, IntArray], size: int) -> IntArray:
    """Return a key for each entry of lists, ascending: in the order of the lists.

    Examples
    --------
    >>> keys_of_lists((np.array([0, 1, 3]), np.array([5, 2, 5]), np.array([0, 1])), 10)
    array([ 5, 12, 15])
    """
    indptr, indices, _ = selection
    keys = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * size + indices
    if (keys[1:] < keys[:-1]).any():
        keys.sort()
    return keys


def entries_of(
    selection: tuple[IntArray, IntArray, IntArray], chosen: IntArray
) -> tuple[IntArray, IntArray]:
    """Return for each entry of chosen lists the place of its list among these, and the entry.

    Examples
    --------
    >>> entries_of((np.array([0, 1, 3]), np.array([5, 2, 7]), np.array([0, 1])), np.array([1, 1]))
    (array([0, 0, 1, 1]), array([2, 7, 2, 7]))
    """
    indptr, indices, _ = selection
    lengths = np.diff(indptr)[chosen]
    of_entry = np.repeat(np.arange(len(chosen)), lengths)
    return of_entry, indices[join_ranges(indptr[chosen], lengths)].astype(np.int64)


def distinct_selections(
    row: IntArray, candidates: IntArray, filters: IntArray, query: IntArray
) -> Selections:
    """Return the distinct combinations of what tasks have.

    Examples
    --------
    >>> one = np.zeros(3, np.int64)
    >>> distinct_selections(one, np.array([4, 2, 4]), one, one).candidates
    array([2, 4])
    """
    columns = [row, candidates, filters, query]
    keys = row_keys(columns)
    _, first, of_task = np.unique(keys, return_index=True, return_inverse=True)
    row, candidates, filters, query = (column[first] for column in columns)
    return Selections(row, candidates, filters, query, of_task.reshape(-1))


def _refuse_others(lists: CandidateLists, places: IntArray, is_wrong: Any, side: SideTasks) -> None:
    """Refuse what is no candidate of any task that reads its list."""
    times = np.bincount(places, minlength=len(lists.ids))
    wrong = np.bincount(places[is_wrong], minlength=len(lists.ids))
    others = np.flatnonzero((times > 0) & (wrong == times))
    if not len(others):
        return
    row, position = lists.place(int(others[0]))
    vocabulary = Vocabulary(side.columns, side.names, side.candidate_kind)
    label = vocabulary.label_of(int(lists.ids[others[0]]))
    expected = "candidates of the query of each list"
    got = f"{label!r} in list {row}, at position {position}"
    raise InputValueError(lists.name, expected=expected, got=got)
