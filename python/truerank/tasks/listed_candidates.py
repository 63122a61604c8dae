"""Lists over given candidates: what they have that is no candidate, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import are_among, codes_of, distinct_rows, row_keys
from ..errors import InputValueError
from ..inputs.selection import indptr_of, join_ranges
from .task_lists import ListEntries, TaskLists

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.candidate_lists import CandidateLists
    from .side_tasks import SideTasks


def candidates_of_lists(
    lists: CandidateLists, rows: IntArray, side: SideTasks
) -> tuple[TaskLists, IntArray]:
    """Split what is listed into candidates and others, without a loop over queries.

    Parameters
    ----------
    lists : CandidateLists
    rows : ndarray of int64, shape (n,)
        The list of each task.
    side : SideTasks
        The tasks, with candidates of their own: ascending and distinct, as a `Task` makes them.

    Returns
    -------
    TaskLists
        What is left out of the lists: the filter, and what is listed and no candidate.
    ndarray of int64, shape (n,)
        The number of candidates of each task that the filter leaves, its target included.

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
    >>> candidates_of_lists(as_lists([[7, 2]], None), one, side)[1]
    array([3])
    """
    size = side.columns
    filter_selection, selection = side.selections()
    filters = TaskLists.of(filter_selection, len(side))
    candidates = TaskLists.of(selection, len(side))
    # Tasks often share their combination of a list, candidates, a filter and a query.
    combined = codes_of(rows, candidates.lists, filters.lists, side.rows)
    first = combined.first()
    of_candidates = candidates.lists[first]
    of_filter = filters.lists[first]
    candidate_keys = candidates.keys(size)
    filter_keys = filters.keys(size)

    places, listed = _entries_within(lists, rows[first], size)
    is_candidate = are_among(listed.keys(of_candidates, size), candidate_keys)
    is_filtered = are_among(listed.keys(of_filter, size), filter_keys)
    target_keys = side.rows * size + side.targets
    is_wrong = ~(is_candidate | is_filtered)
    is_wrong &= ~are_among(listed.keys(side.rows[first], size), target_keys)
    if is_wrong.any():
        _refuse_others(lists, places, is_wrong, side)

    # What is filtered, and what is listed and no candidate, are left out of the lists.
    filtered = ListEntries(*distinct_rows(filters.entries(of_filter)))
    others = listed.chosen(~is_candidate & ~is_filtered)
    list_numbers = np.append(filtered.list_numbers, others.list_numbers)
    columns = np.append(filtered.columns, others.columns)
    order = np.argsort(row_keys([list_numbers, columns]), kind="stable")
    indptr = indptr_of(np.bincount(list_numbers, minlength=len(first)))
    left_out = TaskLists(indptr, columns[order], combined.codes)

    # A filtered target is a candidate all the same.
    are_both = are_among(filtered.keys(of_candidates, size), candidate_keys)
    both = np.bincount(filtered.list_numbers[are_both], minlength=len(first))
    sizes = np.diff(candidates.indptr)[of_candidates] - both
    is_target_filtered = are_among(filters.lists * size + side.targets, filter_keys)
    return left_out, sizes[combined.codes] + is_target_filtered


def _entries_within(
    lists: CandidateLists, rows: IntArray, size: int
) -> tuple[IntArray, ListEntries]:
    """Return the entries of the lists of some rows, and their places among those of all lists.

    Ids out of range are left out: they are refused where the lists are ranked.
    """
    starts = lists.indptr[rows]
    lengths = lists.indptr[rows + 1] - starts
    places = join_ranges(starts, lengths)
    list_numbers = np.repeat(np.arange(len(rows)), lengths)
    ids = lists.ids[places].astype(np.int64)
    is_within = (ids >= 0) & (ids < size)
    return places[is_within], ListEntries(list_numbers, ids).chosen(is_within)


def _refuse_others(lists: CandidateLists, places: IntArray, is_wrong: Any, side: SideTasks) -> None:
    """Refuse what is no candidate of any task that reads its list."""
    read_times = np.bincount(places, minlength=len(lists.ids))
    wrong_times = np.bincount(places[is_wrong], minlength=len(lists.ids))
    others = np.flatnonzero((read_times > 0) & (wrong_times == read_times))
    if not len(others):
        return
    row, position = lists.place(int(others[0]))
    label = side.vocabulary.label_of(int(lists.ids[others[0]]))
    expected = "candidates of the query of each list"
    got = f"{label!r} in list {row}, at position {position}"
    raise InputValueError(lists.name, expected=expected, got=got)
