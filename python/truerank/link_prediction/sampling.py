"""Sampled negatives: for each task some of the candidates that are no known answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..tasks.side_tasks import SideQueries

_NUMBERS_AT_ONCE = 1 << 21  # drawn numbers; some ten times as many bytes are in use


class Pool(NamedTuple):
    """What is drawn from: all of `size` columns, or for task i those of list ``lists[i]``.

    The lists are ascending and distinct, and the known answers of a task are in its list.
    """

    size: int
    indptr: IntArray | None = None
    indices: IntArray | None = None
    lists: IntArray | None = None


def sample(
    asked: SideQueries, pool: Pool, negatives: int, rng: np.random.Generator
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Draw candidates for every task, uniformly and without replacement.

    Parameters
    ----------
    asked : SideQueries
        The queries, targets and known answers; a target is one of the known answers.
    pool : Pool
        What is drawn from.
    negatives : int
        How many per task; all that are allowed where those are fewer.
    rng : numpy.random.Generator
        It gives numbers for the tasks in their order.

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    indices : ndarray of int32, or of int64 for many columns
        Ascending: the drawn candidates of each task, and its target.
    """
    places, sizes = _positions_in_pool(asked, pool)
    starts, known = asked.answers[0], np.diff(asked.answers[0])
    rows = asked.rows
    allowed = sizes - known[rows]
    counts = np.minimum(allowed, negatives) + 1
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    indices = np.empty(int(indptr[-1]), np.int32 if pool.size < 1 << 31 else np.int64)
    load = np.cumsum(counts + known[rows])
    tasks = 0
    while tasks < len(rows):
        done = load[tasks - 1] if tasks else 0
        upto = max(tasks + 1, int(np.searchsorted(load, done + _NUMBERS_AT_ONCE)))
        part = slice(tasks, upto)
        drawn = _draw(allowed[part], negatives, rng)
        excluded = _join_ranges(starts[rows[part]], known[rows[part]])
        found = _renumber_past(
            drawn, counts[part] - 1, places[excluded], known[rows[part]], pool.size
        )
        target = asked.targets[part]
        if pool.indptr is not None and pool.indices is not None and pool.lists is not None:
            begin = pool.indptr[pool.lists[part]]
            found = pool.indices[np.repeat(begin, counts[part] - 1) + found]
        indices[indptr[tasks] : indptr[upto]] = _insert_targets(
            found, counts[part] - 1, target, pool.size
        )
        tasks = upto
    return indptr, indices


def _positions_in_pool(asked: SideQueries, pool: Pool) -> tuple[IntArray, IntArray]:
    """Where the known answers of each query stand in what is drawn from, and its size per task."""
    indptr, answers = asked.answers
    if pool.indptr is None or pool.indices is None or pool.lists is None:
        return answers, np.full(len(asked.rows), pool.size, dtype=np.int64)
    of_query = np.zeros(len(indptr) - 1, dtype=np.int64)
    of_query[asked.rows] = pool.lists  # a query has one relation
    of_answer = np.repeat(of_query, np.diff(indptr))
    of_entry = np.repeat(np.arange(len(pool.indptr) - 1, dtype=np.int64), np.diff(pool.indptr))
    where = np.searchsorted(of_entry * pool.size + pool.indices, of_answer * pool.size + answers)
    return where - pool.indptr[of_answer], np.diff(pool.indptr)[pool.lists]


def _draw(allowed: IntArray, negatives: int, rng: np.random.Generator) -> IntArray:
    """Draw distinct numbers below `allowed`, ascending for each task; all where they are few."""
    counts = np.minimum(allowed, negatives)
    enough = np.flatnonzero(allowed > negatives)
    drawn = np.empty((len(enough), negatives), dtype=np.int64)
    for row, size in zip(drawn, allowed[enough].tolist(), strict=True):
        row[:] = rng.choice(size, negatives, replace=False, shuffle=False)
    drawn.sort(axis=1)
    if len(enough) == len(allowed):
        return drawn.reshape(-1)
    flat = _join_ranges(np.zeros(len(allowed), dtype=np.int64), counts)
    flat[np.repeat(allowed > negatives, counts)] = drawn.reshape(-1)
    return flat


def _renumber_past(
    numbers: IntArray, counts: IntArray, places: IntArray, skipped: IntArray, size: int
) -> IntArray:
    """Turn numbers of those that are not skipped into numbers of all.

    The places p_0 < p_1 < ... are skipped: number r stands for r plus how many j have p_j - j <= r.
    """
    rank = _join_ranges(np.zeros(len(skipped), dtype=np.int64), skipped)
    # from where on a task's numbers are past a place: few searches among many numbers
    since = np.searchsorted(
        _separate_tasks(numbers, counts, size), _separate_tasks(places - rank, skipped, size)
    )
    steps = np.bincount(since, minlength=len(numbers) + 1)[: len(numbers)]
    passed = np.cumsum(steps, dtype=np.int64)
    # those of the tasks before have all been passed, too
    earlier = np.cumsum(skipped) - skipped
    passed += numbers
    passed -= np.repeat(earlier, counts)
    return passed


def _insert_targets(numbers: IntArray, counts: IntArray, targets: IntArray, size: int) -> IntArray:
    """Put each task's target where it belongs among its ascending numbers."""
    one = np.ones(len(targets), dtype=np.int64)
    where = np.searchsorted(
        _separate_tasks(numbers, counts, size), _separate_tasks(targets, one, size)
    )
    return np.insert(numbers, where, targets)


def _separate_tasks(numbers: IntArray, counts: IntArray, size: int) -> IntArray:
    """Lift each task's numbers, from 0 to `size`, above those of the tasks before."""
    tasks = np.arange(len(counts), dtype=np.int64)
    return numbers + np.repeat(tasks * (size + 1), counts)


def _join_ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Join the runs of some lengths from some starts: [s, s + 1, ..., s + n - 1] for each."""
    shifts = starts - np.cumsum(counts) + counts
    runs: IntArray = np.arange(int(counts.sum()), dtype=np.int64)
    runs += np.repeat(shifts, counts)
    return runs
