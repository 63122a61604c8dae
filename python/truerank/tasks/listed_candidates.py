"""Lists over given candidates: what they have that is no candidate, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import are_among, codes_of, distinct_rows, row_keys
from ..errors import InputValueError
from ..inputs.selection import indptr_of, join_ranges
from .side import TaskLists

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.candidate_lists import CandidateLists
    from ..records.vocabularies import Vocabulary
    from .side import Side


def candidates_of_lists(
    lists: CandidateLists, rows: IntArray, side: Side, vocabulary: Vocabulary
) -> tuple[TaskLists, IntArray]:
    """Split what is listed into candidates and others, without a loop over queries.

    Parameters
    ----------
    lists : CandidateLists
    rows : ndarray of int64, shape (n,)
        The list of each task.
    side : Side
        The tasks, with candidates of their own: ascending and distinct, as a `Task` makes them.
    vocabulary : Vocabulary
        Of the candidates, for messages.

    Returns
    -------
    TaskLists
        What is left out of the lists: the filter, and what is listed and no candidate.
    ndarray of int64, shape (n,)
        The number of candidates of each task that the filter leaves, its target included.

    Raises
    ------
    InputValueError
        For an entity that is no candidate of its query, unless it is filtered or a right answer.

    Examples
    --------
    >>> from truerank.inputs.candidate_lists import as_lists
    >>> from truerank.records.vocabularies import Vocabulary
    >>> from truerank.tasks.side import Side
    >>> one = np.zeros(1, np.int64)
    >>> side = Side("tail", 9, one[:, None], one, one + 2, one, candidates=np.array([2, 5, 7]))
    >>> candidates_of_lists(as_lists([[7, 2]], None), one, side, Vocabulary(9, None))[1]
    array([3])
    """
    size = side.n_candidates
    filters = _as_task_lists(side.filter, len(side))
    candidates = _as_task_lists(side.candidates, len(side))
    filter_keys = _keys(filters, size)
    candidate_keys = _keys(candidates, size)
    # Tasks often share their combination of a list, candidates, a filter and a query.
    combinations = codes_of(rows, candidates.lists, filters.lists, side.rows)
    first = combinations.first()
    of_candidates = candidates.lists[first] * size
    of_filter = filters.lists[first] * size

    # The entries of each combination's list; ids out of range are refused where they are ranked.
    number, places = _places(lists.indptr, rows[first])
    ids = lists.ids[places].astype(np.int64)
    is_within = (ids >= 0) & (ids < size)
    number, places, ids = number[is_within], places[is_within], ids[is_within]
    is_candidate = are_among(of_candidates[number] + ids, candidate_keys)
    is_filtered = are_among(of_filter[number] + ids, filter_keys)
    is_right = are_among(side.rows[first][number] * size + ids, side.rows * size + side.targets)
    is_wrong = ~(is_candidate | is_filtered | is_right)
    if is_wrong.any():
        _refuse_others(lists, places, is_wrong, vocabulary)

    # What is filtered, and what is listed and no candidate, are left out of the lists.
    filter_number, filter_places = _places(filters.indptr, filters.lists[first])
    filtered = distinct_rows([filter_number, filters.indices[filter_places].astype(np.int64)])
    filter_number, filter_ids = filtered
    is_other = ~is_candidate & ~is_filtered
    all_numbers = np.append(filter_number, number[is_other])
    all_ids = np.append(filter_ids, ids[is_other])
    order = np.argsort(row_keys([all_numbers, all_ids]), kind="stable")
    indptr = indptr_of(np.bincount(all_numbers, minlength=len(first)))
    left_out = TaskLists(indptr, all_ids[order], combinations.codes)

    # A filtered target is a candidate all the same.
    are_both = are_among(of_candidates[filter_number] + filter_ids, candidate_keys)
    both = np.bincount(filter_number[are_both], minlength=len(first))
    sizes = np.diff(candidates.indptr)[candidates.lists[first]] - both
    is_target_filtered = are_among(filters.lists * size + side.targets, filter_keys)
    return left_out, sizes[combinations.codes] + is_target_filtered


def _as_task_lists(selection: Any, tasks: int) -> TaskLists:
    """Return a selection as lists, also if it is one list for all tasks, or none."""
    if isinstance(selection, TaskLists):
        return selection
    indices = np.zeros(0, dtype=np.int64) if selection is None else selection
    return TaskLists(np.array([0, len(indices)]), indices, np.zeros(tasks, dtype=np.int64))


def _keys(task_lists: TaskLists, size: int) -> IntArray:
    """Return a key for each entry, ascending: the number of its list times a size, plus its column.

    Examples
    --------
    >>> _keys(TaskLists(np.array([0, 1, 3]), np.array([5, 2, 5]), np.array([0, 1])), 10)
    array([ 5, 12, 15])
    """
    numbers = np.repeat(np.arange(len(task_lists.indptr) - 1), np.diff(task_lists.indptr))
    keys: IntArray = numbers * size + task_lists.indices
    if (keys[1:] < keys[:-1]).any():
        keys.sort()
    return keys


def _places(indptr: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the entries of chosen lists: the number of each one's choice, and its place."""
    starts = indptr[chosen]
    lengths = indptr[chosen + 1] - starts
    return np.repeat(np.arange(len(chosen)), lengths), join_ranges(starts, lengths)


def _refuse_others(
    lists: CandidateLists, places: IntArray, is_wrong: Any, vocabulary: Vocabulary
) -> None:
    """Refuse what is no candidate of any task that reads its list."""
    read_times = np.bincount(places, minlength=len(lists.ids))
    wrong_times = np.bincount(places[is_wrong], minlength=len(lists.ids))
    others = np.flatnonzero((read_times > 0) & (wrong_times == read_times))
    if not len(others):
        return
    row, position = lists.place(int(others[0]))
    label = vocabulary.label_of(int(lists.ids[others[0]]))
    expected = "candidates of the query of each list"
    got = f"{label!r} in list {row}, at position {position}"
    raise InputValueError(lists.name, expected=expected, got=got)
