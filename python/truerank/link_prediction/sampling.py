"""Sampled negatives: for each task some candidates that are not known answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.selection import indptr_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..tasks.side_tasks import SideQueries

_NUMBERS_AT_ONCE = 1 << 21  # numbers drawn at a time; they need about ten times as many bytes


class Pool(NamedTuple):
    """The columns to draw from: all of `size` columns, or for task i those of list ``lists[i]``.

    The lists are ascending and distinct, and the list of a task has all its known answers.
    """

    size: int
    indptr: IntArray | None = None
    indices: IntArray | None = None
    lists: IntArray | None = None


def sample(
    queries: SideQueries, pool: Pool, negatives: int, rng: np.random.Generator
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Draw candidates for every task, uniformly and without replacement.

    Parameters
    ----------
    queries : SideQueries
        The queries, targets and known answers, which include the targets.
    pool : Pool
        The columns to draw from.
    negatives : int
        The number per task; all that are allowed if there are fewer.
    rng : numpy.random.Generator
        The source of random numbers, which the tasks use in their order.

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    indices : ndarray of int32, or of int64 for many columns
        The drawn candidates of each task and its target, ascending.
    """
    places, sizes = _positions_in_pool(queries, pool)
    starts, known = queries.answers[0], np.diff(queries.answers[0])
    rows = queries.rows
    allowed = sizes - known[rows]
    negatives = min(negatives, pool.size)  # which fits the dtype of the counts
    counts = np.minimum(allowed, negatives) + 1
    indptr = indptr_of(counts)
    indices = np.empty(int(indptr[-1]), np.int32 if pool.size < 1 << 31 else np.int64)
    work = np.cumsum(counts + known[rows])
    tasks = 0
    while tasks < len(rows):
        finished = work[tasks - 1] if tasks else 0
        stop = max(tasks + 1, int(np.searchsorted(work, finished + _NUMBERS_AT_ONCE)))
        batch = slice(tasks, stop)
        numbers = _draw(allowed[batch], negatives, rng)
        known_places = join_ranges(starts[rows[batch]], known[rows[batch]])
        columns = _renumber_past(
            numbers, counts[batch] - 1, places[known_places], known[rows[batch]], pool.size
        )
        target = queries.targets[batch]
        if pool.indptr is not None and pool.indices is not None and pool.lists is not None:
            begin = pool.indptr[pool.lists[batch]]
            columns = pool.indices[np.repeat(begin, counts[batch] - 1) + columns]
        indices[indptr[tasks] : indptr[stop]] = _insert_targets(
            columns, counts[batch] - 1, target, pool.size
        )
        tasks = stop
    return indptr, indices


def _positions_in_pool(queries: SideQueries, pool: Pool) -> tuple[IntArray, IntArray]:
    """Return the positions of known answers in the pool, and the size of the pool for each task."""
    indptr, answers = queries.answers
    if pool.indptr is None or pool.indices is None or pool.lists is None:
        return answers, np.full(len(queries.rows), pool.size, dtype=np.int64)
    of_query = np.zeros(len(indptr) - 1, dtype=np.int64)
    of_query[queries.rows] = pool.lists  # a query has one relation
    of_answer = np.repeat(of_query, np.diff(indptr))
    of_entry = np.repeat(np.arange(len(pool.indptr) - 1, dtype=np.int64), np.diff(pool.indptr))
    where = np.searchsorted(of_entry * pool.size + pool.indices, of_answer * pool.size + answers)
    return where - pool.indptr[of_answer], np.diff(pool.indptr)[pool.lists]


def _draw(allowed: IntArray, negatives: int, rng: np.random.Generator) -> IntArray:
    """Draw distinct numbers below `allowed`, ascending for each task; all if there are too few."""
    counts = np.minimum(allowed, negatives)
    enough = np.flatnonzero(allowed > negatives)
    drawn = np.empty((len(enough), negatives), dtype=np.int64)
    for row, size in zip(drawn, allowed[enough].tolist(), strict=True):
        row[:] = rng.choice(size, negatives, replace=False, shuffle=False)
    drawn.sort(axis=1)
    if len(enough) == len(allowed):
        return drawn.reshape(-1)
    flat = join_ranges(np.zeros(len(allowed), dtype=np.int64), counts)
    flat[np.repeat(allowed > negatives, counts)] = drawn.reshape(-1)
    return flat


def _renumber_past(
    numbers: IntArray, counts: IntArray, places: IntArray, skipped: IntArray, size: int
) -> IntArray:
    """Turn numbers among the columns that are not skipped into numbers among all columns.

    With skipped places p_0 < p_1 < ..., number r becomes r plus the count of j with p_j - j <= r.
    """
    rank = join_ranges(np.zeros(len(skipped), dtype=np.int64), skipped)
    # the first number of a task that is past each place: few searches among many numbers
    since = np.searchsorted(
        _separate_tasks(numbers, counts, size), _separate_tasks(places - rank, skipped, size)
    )
    steps = np.bincount(since, minlength=len(numbers) + 1)[: len(numbers)]
    passed = np.cumsum(steps, dtype=np.int64)
    # places of earlier tasks were counted as well: subtract them
    earlier = np.cumsum(skipped) - skipped
    passed += numbers
    passed -= np.repeat(earlier, counts)
    return passed


def _insert_targets(numbers: IntArray, counts: IntArray, targets: IntArray, size: int) -> IntArray:
    """Insert each task's target into its ascending numbers."""
    one = np.ones(len(targets), dtype=np.int64)
    where = np.searchsorted(
        _separate_tasks(numbers, counts, size), _separate_tasks(targets, one, size)
    )
    return np.insert(numbers, where, targets)


def _separate_tasks(numbers: IntArray, counts: IntArray, size: int) -> IntArray:
    """Shift each task's numbers, from 0 to `size`, above those of earlier tasks."""
    tasks = np.arange(len(counts), dtype=np.int64)
    return numbers + np.repeat(tasks * (size + 1), counts)


def join_ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Concatenate a range [s, s + 1, ..., s + n - 1] for each start s and count n."""
    shifts = starts - np.cumsum(counts) + counts
    runs: IntArray = np.arange(int(counts.sum()), dtype=np.int64)
    runs += np.repeat(shifts, counts)
    return runs
