"""Tails of sums with few outcomes, which are listed, those of each half of the tasks.

A task of hits@k has two outcomes, however many candidates it has, and m tasks of the same
candidates and weight have as many as there are ways to share m among the values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .task_groups import Law, Tail, Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray

_LISTED = math.log(1 << 18)  # log of the most outcomes of one half of the tasks
_STEPS = math.log(1 << 22)  # log of the most outcomes times values of tasks that are alike
_ALIKE = 4096  # the most tasks that are alike; log factorials of more lose digits
_ROW = 512  # outcomes that are added up one after the other
_ROOM = 1e-9  # relatively; so much more than rounding that nothing that suffices is left out
_EPS = float(np.finfo(np.float64).eps)


class _Alike(NamedTuple):
    """Tasks of the same candidates and weight, and the log of how many outcomes they have."""

    log: float
    size: int
    weight: float
    tasks: int
    values: int  # that may suffice, the greatest ones


def counted_tail(tasks: Tasks, law: Law, observed: float) -> Tail | None:
    """P(sum of w f(r) >= observed); None where there are too many outcomes.

    The outcomes of one half of the tasks are sorted. For each outcome of the other half, those that
    suffice are at the end. So 2 * 262,144 outcomes are listed in place of 262,144**2. Values of a
    task that are too small even beside the greatest values of all others are left out.

    Parameters
    ----------
    tasks : Tasks
    law : Law
    observed : float
        Outcomes that differ from it by no more than rounding count as equal to it.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> hits = Law(lambda r: (r <= 10).astype(float), cutoff=10)
    >>> tail = counted_tail(compress([10**12, 10**13], [2, 1]), hits, 1 / 3)
    >>> round(math.exp(tail.log) * 1e11, 9)  # one hit of either
    1.1
    """
    halves = _halves(tasks, law, observed)
    if halves is None:
        return None
    (one, log_one), (two, log_two) = (_all_sums(half, law) for half in halves)
    order = np.argsort(two)
    two, log_two = two[order], log_two[order]
    observed = min(observed, float(one.max()) + float(two[-1]))
    # all terms have one sign, so that rounding is relative to the sum
    slack = 4 * _EPS * (tasks.count + 2) * abs(observed)
    enough = np.searchsorted(two, observed - slack - one)
    logs = log_one + np.append(_log_sums_from_each(log_two), -math.inf)[enough]
    top = float(logs.max())
    log = top + math.log(float(np.exp(logs - top).sum()))
    largest = max(-float(log_one.min()), -float(log_two.min()), math.lgamma(_most_alike(halves)))
    return Tail(min(log, 0.0), "exact", 1e-14 + 4 * _EPS * largest)


def _halves(tasks: Tasks, law: Law, observed: float) -> tuple[list[_Alike], list[_Alike]] | None:
    """Divide the tasks into halves of few outcomes; None where there are too many."""
    waiting, left = [], 2 * _LISTED
    needed = _needed_values(tasks, law, observed)
    for size, weight, count, values in zip(
        *(part.tolist() for part in (tasks.sizes, tasks.weights, tasks.multiplicities, needed)),
        strict=True,
    ):
        waiting.append(_Alike(_log_outcomes(values, count), size, weight, count, values))
        left -= waiting[-1].log
        if left < 0:
            return None
    waiting.sort()
    halves: tuple[list[_Alike], list[_Alike]] = [], []
    room = [_LISTED, _LISTED]
    while waiting:
        alike = waiting.pop()
        values, into = alike.values, int(room[1] > room[0])
        long = alike.tasks > 1 and alike.log + math.log(values) > _STEPS
        if not long and alike.tasks <= _ALIKE and alike.log <= room[into] + 1e-9:
            halves[into].append(alike)
            room[into] -= alike.log
        elif alike.tasks > 1 and values > 1:
            for count in (alike.tasks // 2, alike.tasks - alike.tasks // 2):
                waiting.append(alike._replace(log=_log_outcomes(values, count), tasks=count))
        elif values == 1:
            halves[into].append(alike)
        else:
            return None
    return halves


def _needed_values(tasks: Tasks, law: Law, observed: float) -> IntArray:
    """How many values of each task may suffice, with the greatest values of all others."""
    if law.cutoff is not None:
        return np.array([law.values(size) for size in tasks.sizes.tolist()])
    first, last = law.f(np.ones(len(tasks.sizes))), law.f(tasks.sizes.astype(np.float64))
    most = np.maximum(first, last)
    shares = tasks.weights * tasks.multiplicities
    room = (
        float(shares @ most) - observed + _ROOM * float(shares @ np.maximum(abs(first), abs(last)))
    )
    low, high = np.ones(len(first), dtype=np.int64), tasks.sizes
    for _ in range(int(high.max()).bit_length()):
        middle = high - (high - low) // 2
        rank = np.where(first >= last, middle, tasks.sizes - (middle - 1)).astype(np.float64)
        suffices = tasks.weights * (most - law.f(rank)) <= room
        low, high = np.where(suffices, middle, low), np.where(suffices, high, middle - 1)
    return np.maximum(low, 1)


def _log_outcomes(values: int, count: int) -> float:
    """Log of the number of ways to share `count` tasks among the values."""
    if count == 1 or values == 1:
        return math.log(values) if count == 1 else 0.0
    if max(values, count) > 1 << 40:  # too many in any case, and differences would be rounded
        return math.inf
    return math.lgamma(count + values) - math.lgamma(values) - math.lgamma(count + 1)


def _most_alike(halves: tuple[list[_Alike], list[_Alike]]) -> float:
    return 1.0 + max((alike.tasks for half in halves for alike in half if alike.log), default=1)


def _all_sums(half: list[_Alike], law: Law) -> tuple[FloatArray, FloatArray]:
    """The sum of w f(r) for each outcome of the tasks, and the log of its probability."""
    sums = logs = np.zeros(1)
    for alike in half:
        own, own_logs = _sums_of_alike(alike, law)
        sums = np.add.outer(sums, own).ravel()
        logs = np.add.outer(logs, own_logs).ravel()
    return sums, logs


def _sums_of_alike(alike: _Alike, law: Law) -> tuple[FloatArray, FloatArray]:
    """The same for tasks of the same candidates and weight: how many of them have each value."""
    ranks, shares = law.outcomes(alike.size, alike.values)
    values, logs = alike.weight * law.f(ranks.astype(np.float64)), np.log(shares)
    if alike.tasks == 1 or len(values) == 1:
        return alike.tasks * values, alike.tasks * logs
    factorials = np.array([math.lgamma(k + 1) for k in range(alike.tasks + 1)])
    left, sums, found = np.array([alike.tasks]), np.zeros(1), factorials[-1:]
    for value, log in zip(values[:-1].tolist(), logs[:-1].tolist(), strict=True):
        taken = np.concatenate([np.arange(k + 1) for k in left.tolist()])
        from_each = np.repeat(np.arange(len(left)), left + 1)
        sums = sums[from_each] + taken * value
        found = found[from_each] + (taken * log - factorials[taken])
        left = left[from_each] - taken
    return sums + left * values[-1], found + (left * logs[-1] - factorials[left])


def _log_sums_from_each(logs: FloatArray) -> FloatArray:
    """The log of the sum of exp(logs) from each position to the end, in two steps."""
    rows = -(-len(logs) // _ROW)
    padded = np.full(rows * _ROW, -math.inf)
    padded[: len(logs)] = logs[::-1]
    within = np.logaddexp.accumulate(padded.reshape(rows, _ROW), axis=1)
    before = np.append(-math.inf, np.logaddexp.accumulate(within[:-1, -1]))
    found: FloatArray = np.logaddexp(within, before[:, None]).ravel()[: len(logs)][::-1]
    return found
