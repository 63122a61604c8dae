"""Known answers by overlap of time: those of facts that hold when the fact of a task does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.selection import indptr_of
from ..tasks.row_keys import dense_codes, distinct, distinct_rows, look_up, row_keys
from .sampling import join_ranges

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

_PAIRS_AT_ONCE = 1 << 21  # pairs of a list and a fact that are compared at a time


def overlapping_answers(
    queries: IntArray, answers: IntArray, starts: IntArray, ends: IntArray, ranked: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """List the answers of facts whose query is that of a task, and whose interval overlaps its own.

    Intervals are closed: [s, e] and [s', e'] overlap if s' <= e and s <= e'. Tasks of one query and
    interval share a list.

    Parameters
    ----------
    queries : ndarray of int64, shape (n,)
        A number for the query of each fact, whatever its time.
    answers : ndarray of int64, shape (n,)
        The answer of each fact.
    starts, ends : ndarray of int64, shape (n,)
        The interval of each fact.
    ranked : ndarray of int64
        The facts that are tasks.

    Returns
    -------
    indptr, indices : ndarray of int64
        The lists, ascending and distinct; each has the answers of its own tasks.
    lists : ndarray of int64
        The list of each task.

    Notes
    -----
    Facts are sorted by their query and start, in tables of similar durations. Those that overlap an
    interval are in a run of each table, with few others; in a table of points, or of intervals with
    unknown ends, with no others.

    Examples
    --------
    >>> queries, answers = np.array([0, 0, 0]), np.array([5, 6, 7])
    >>> starts, ends = np.array([1980, 1984, 1990]), np.array([1985, 1984, 1995])
    >>> overlapping_answers(queries, answers, starts, ends, np.array([0, 2]))
    (array([0, 2, 3]), array([5, 6, 7]), array([0, 1]))
    """
    # positions among all instants: small numbers, and unknown starts and ends are no large ones
    starts, ends = dense_codes(np.concatenate([starts, ends])).reshape(2, -1)
    size = int(ends.max(initial=0)) + 1
    shared, first, lists = np.unique(
        row_keys([queries, starts, ends])[ranked], return_index=True, return_inverse=True
    )
    first = ranked[first]
    asked = distinct(queries[first])
    where, query = look_up(asked, queries)
    facts = distinct_rows([query, answers[where], starts[where], ends[where]])
    _, duration = np.frexp((facts[3] - facts[2]).astype(np.float64))
    tables = [
        _Table.of([column[duration == bits] for column in facts], size)
        for bits in np.unique(duration)
    ]
    base = np.searchsorted(asked, queries[first]) * size
    since, until = base + starts[first], base + ends[first]
    pairs = sum((table.runs(since, until)[1] for table in tables), np.zeros_like(since))
    work = np.cumsum(pairs + 1)
    lengths, found = [], []
    start = 0
    while start < len(shared):
        finished = int(work[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(work, finished + _PAIRS_AT_ONCE)))
        chunk = [table.overlapping(since[start:stop], until[start:stop]) for table in tables]
        in_chunk, listed = map(np.concatenate, zip(*chunk, strict=True))
        of_list, listed = distinct_rows([in_chunk, listed])
        lengths.append(np.bincount(of_list, minlength=stop - start))
        found.append(listed)
        start = stop
    indptr = indptr_of(np.concatenate(lengths))
    return indptr, np.concatenate(found), lists.reshape(-1).astype(np.int64)


class _Table(NamedTuple):
    """Facts of similar durations, sorted by query, start and end.

    Attributes
    ----------
    answers : ndarray of int64, shape (n,)
    begins, ends : ndarray of int64, shape (n,)
        Starts and ends, those of later queries above those of earlier ones.
    reach : ndarray of int64, shape (n,)
        The latest end so far: before the first that reaches an instant, no fact does.
    """

    answers: IntArray
    begins: IntArray
    ends: IntArray
    reach: IntArray

    @classmethod
    def of(cls, facts: list[IntArray], size: int) -> _Table:
        query, answers, starts, ends = facts
        order = np.argsort(row_keys([query, starts, ends]), kind="stable")
        begins, ends = (query[order] * size + times[order] for times in (starts, ends))
        return cls(answers[order], begins, ends, np.maximum.accumulate(ends))

    def runs(self, since: IntArray, until: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first fact and the number of those that may overlap each interval."""
        low = np.searchsorted(self.reach, since)
        return low, np.maximum(np.searchsorted(self.begins, until, side="right") - low, 0)

    def overlapping(self, since: IntArray, until: IntArray) -> tuple[IntArray, IntArray]:
        """Return the number of an interval and an answer for each fact that overlaps it."""
        low, counts = self.runs(since, until)
        facts = join_ranges(low, counts)
        interval = np.repeat(np.arange(len(since)), counts)
        late_enough = self.ends[facts] >= since[interval]
        return interval[late_enough], self.answers[facts[late_enough]]
