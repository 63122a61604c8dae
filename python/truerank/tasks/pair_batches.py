"""Batches of pairs: a model scores a query and a candidate at a time, and no other candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from ..arrays.row_keys import are_among, codes_of, distinct
from ..counting.row_blocks import rank_row_blocks
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_array, is_tensor
from ..inputs.selection import indptr_of
from ..stores import read_scores
from .batches import rank_no_tasks, read_batch_options
from .listed_candidates import Selections, distinct_selections
from .sampling import batches_of
from .task_lists import TaskLists

if TYPE_CHECKING:
    from .._core import Scores
    from ..arrays.types import IntArray
    from ..inputs.rules import BatchOptions
    from ..ranks.container import Ranks
    from ..stores import Store
    from .side_tasks import SideTasks

BATCH_PAIRS = 1 << 16  # A batch has so many pairs, unless the user says how many.
_PAIRS_AT_ONCE = 1 << 20  # So many pairs, those of some queries, are counted together.


class _Group(NamedTuple):
    """The pairs of some queries that follow each other, and the tasks of these queries.

    Attributes
    ----------
    query, candidate : ndarray of int64, shape (p,)
        Each pair once, ascending: the row of the query, and the column.
    targets : ndarray of int64, shape (n,)
        The pair of each task's right answer.
    filter, candidates : TaskLists
        The pairs that a task leaves out, and those that it lets in.
    """

    query: IntArray
    candidate: IntArray
    targets: IntArray
    filter: TaskLists
    candidates: TaskLists


def rank_pairs(
    scorer: Callable[[Any, Any], Any],
    side: SideTasks,
    title: str = "scores",
    report_progress: Callable[[int], object] = lambda queries: None,
    **options: Unpack[BatchOptions],
) -> Ranks:
    """Rank the tasks of a side by the scores that a callable gives for pairs.

    The callable gets every pair of a query and a candidate of one of its tasks once, and nothing
    else: what is filtered for all tasks of the query is not asked. Pairs are in the order of the
    queries, and those of a query in the order of the candidates.

    Parameters
    ----------
    scorer : callable
        f(queries, candidates) -> scores: queries (p, c) and candidates (p,), both int64, which it
        may change; scores (p,), numpy or a tensor of torch, all of one dtype. It may return the
        same memory again, since scores are copied.
    side : SideTasks
        The tasks, whose candidates are ascending and distinct, as a `Task` makes them.
    title : str
        What messages call the callable.
    report_progress : callable
        Called with the number of queries that are done.
    **options
        As in `rank`, but for `progress`. And `batch_size`, the number of pairs in a batch; and
        `device`, where queries and candidates become tensors of torch.

    Returns
    -------
    Ranks
        In the order of the tasks.

    Raises
    ------
    TypeError, ValueError
        As `rank` does; for scores of another shape, and of several dtypes.

    Examples
    --------
    >>> from truerank.tasks.side_tasks import SideTasks
    >>> queries, rows = np.array([[0], [1]]), np.array([1, 0, 1])
    >>> side = SideTasks("tail", queries, rows, np.array([2, 2, 0]), 3)
    >>> rank_pairs(lambda query, candidate: -candidate.astype(float), side).optimistic
    array([3, 3, 1])
    """
    size, as_input, rules = read_batch_options(options, BATCH_PAIRS)
    if not len(side):
        report_progress(0)
        return rank_no_tasks(side.columns, rules)
    groups = list(batches_of(_count_pairs(side), _PAIRS_AT_ONCE))

    def report_queries(done: int) -> None:
        report_progress(groups[done - 1].stop)

    report_progress(0)
    ordered = np.argsort(side.rows, kind="stable")  # So the tasks of a group are neighbours.
    starts = [0]  # These are the first pairs of the groups.

    model = PairModel(scorer, side.queries, size, as_input, title)

    def blocks() -> Iterator[tuple[Scores | Store, dict[str, Any]]]:
        for number, queries in enumerate(groups):
            first, last = np.searchsorted(side.rows[ordered], [queries.start, queries.stop])
            group = _pairs_of(side, ordered[first:last])
            pairs = len(group.query)
            starts.append(starts[-1] + pairs)
            given = model.score_pairs(group.query, group.candidate).reshape(1, pairs)
            scores = read_scores(given, rules.get("dtype"), name(number, "scores"))
            arguments = {
                "targets": group.targets,
                "rows": np.zeros_like(group.targets),
                "filter": group.filter,
                "candidates": group.candidates,
            }
            yield scores, arguments

    def name(number: int, argument: str) -> str:
        """Return the name of an argument with the pairs of its group, for messages."""
        pairs = f"{title}: pairs {starts[number]} to {starts[number + 1] - 1}"
        if argument == "scores":
            return pairs
        return f"{pairs}: {argument}"

    ranks = rank_row_blocks(blocks(), name, report_queries, **rules)
    return ranks[np.argsort(ordered, kind="stable")]


class PairModel:
    """A callable that scores pairs, in batches, as a `Source` of counts scores pairs.

    Parameters
    ----------
    scorer, title
        As in `rank_pairs`.
    queries : ndarray of int64, shape (n, c)
        What the callable gets of each row.
    size : int
        The number of pairs in a batch.
    as_input : callable
        Makes of an array what the callable wants.
    """

    def __init__(
        self,
        scorer: Callable[[Any, Any], Any],
        queries: IntArray,
        size: int,
        as_input: Callable[[IntArray], Any],
        title: str,
    ) -> None:
        self.scorer = scorer
        self.queries = queries
        self.size = size
        self.as_input = as_input
        self.title = title
        self._scored = 0  # Messages say how many pairs have been scored so far.

    def score_pairs(self, rows: IntArray, columns: IntArray) -> Any:
        """Return the scores of pairs of a row and a column, as an array or a tensor (n,)."""
        pairs = len(rows)
        joined: Any = np.zeros(0)
        for start in range(0, pairs, self.size):
            batch = slice(start, min(start + self.size, pairs))
            query = self.queries[rows[batch]]
            scores = self.scorer(self.as_input(query), self.as_input(columns[batch].copy()))
            place = f"{self.title}: {self._scored + start} pairs on"
            part = _read_part(scores, batch.stop - batch.start, self.title, place)
            if start == 0 and is_tensor(part):
                joined = part.new_empty(pairs)
            elif start == 0:
                joined = np.empty(pairs, part.dtype)
            elif type(part) is not type(joined) or part.dtype != joined.dtype:
                got = f"{part.dtype} after {joined.dtype}"
                raise InputTypeError(self.title, expected="scores of one dtype", got=got)
            joined[batch] = part
        self._scored += pairs
        return joined


def _count_pairs(side: SideTasks) -> IntArray:
    """Return how many pairs each query has at most."""
    _, candidates = side.selections()
    if candidates is None:
        return np.full(len(side.queries), side.columns, dtype=np.int64)
    if not isinstance(candidates, TaskLists):
        return np.full(len(side.queries), len(candidates), dtype=np.int64)
    first = codes_of(side.rows, candidates.lists).first()
    lengths = np.diff(candidates.indptr)[candidates.lists[first]]
    counts = np.bincount(side.rows[first], lengths, minlength=len(side.queries))
    return counts.astype(np.int64)


def _pairs_of(side: SideTasks, tasks: IntArray) -> _Group:
    """Return the pairs of some tasks, all those of their queries."""
    size = side.columns
    rows = side.rows[tasks]
    filter_selection, selection = side.selections(tasks)
    if selection is None:
        selection = np.arange(size)
    filters = TaskLists.of(filter_selection, len(tasks))
    candidates = TaskLists.of(selection, len(tasks))
    # Tasks often share their combination of a query, candidates and a filter.
    combined = distinct_selections(rows, candidates.lists, filters.lists, rows)
    allowed = candidates.entries(combined.candidates)
    allowed_keys = allowed.keys(combined.row, size)
    filtered = filters.entries(combined.filter)
    filtered_keys = filtered.keys(combined.row, size)
    is_filtered = are_among(allowed.keys(combined.filter, size), filters.keys(size))
    target_keys = rows * size + side.targets[tasks]
    pairs = distinct(np.append(allowed_keys[~is_filtered], target_keys))
    return _Group(
        query=pairs // size,
        candidate=pairs % size,
        targets=np.searchsorted(pairs, target_keys),
        filter=_lists_of_pairs(pairs, filtered_keys, filtered.list_numbers, combined),
        candidates=_lists_of_pairs(pairs, allowed_keys, allowed.list_numbers, combined),
    )


def _lists_of_pairs(
    pairs: IntArray, keys: IntArray, list_numbers: IntArray, combined: Selections
) -> TaskLists:
    """Return the lists of some combinations as lists of places among the pairs that are asked.

    Parameters
    ----------
    pairs : ndarray of int64
        The keys of all pairs that are asked, ascending.
    keys, list_numbers : ndarray of int64, shape (n,)
        The key of each entry, and the combination whose list has it.
    combined : Selections
    """
    is_asked = are_among(keys, pairs)
    indptr = indptr_of(np.bincount(list_numbers[is_asked], minlength=len(combined.row)))
    return TaskLists(indptr, np.searchsorted(pairs, keys[is_asked]), combined.of_task)


def _read_part(value: Any, pairs: int, title: str, place: str) -> Any:
    """Return the scores of a batch as an array or a tensor of one dimension."""
    array: Any
    if is_tensor(value):
        array = value.detach()
    else:
        array = as_array(value, title)
    if tuple(array.shape) != (pairs,):
        expected = f"scores of shape ({pairs},), one for each pair"
        raise InputValueError(place, expected=expected, got=tuple(array.shape))
    return array
