"""Tails of sums whose terms are integers: of few candidates, or weights that are small integers.

There the observed sum has a probability of its own, which smooth approximations halve. The whole
law is added up by Fourier transforms, tilted so that the observed sum is its middle: far tails keep
their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from .task_groups import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray

_SPAN = 1 << 21  # of the sum, at most
_WORK = 1 << 24  # span times the distinct pairs of candidates and weight, at most
_DENOMINATOR = 1000  # of the ratio of two weights, at most
_ERROR = 1e-12


def lattice_tail(
    tasks: Tasks, whole: Callable[[IntArray], IntArray], scale: float, observed: float
) -> tuple[float, float] | None:
    """Log of P(sum of w f(r) >= observed), and its relative error; None where it is no small law.

    Parameters
    ----------
    tasks : Tasks
    whole : callable
        scale * f(r) of integer ranks, as integers; decreasing over the ranks.
    scale : float
    observed : float
        Within 1e-9 of what it should be, relatively.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> tasks = compress([2, 2, 2], [1, 1, 2])  # (r + r' + 2 r'') / 4
    >>> log, _ = lattice_tail(tasks, lambda r: -r, 1.0, -5 / 4)
    >>> round(math.exp(log), 12)  # r'' is 1, and one of the others at most 2
    0.375
    """
    units = _units(tasks.weights)
    if units is None:
        return None
    factors, unit = units
    spans = factors * (whole(np.ones_like(tasks.sizes)) - whole(tasks.sizes))
    span = int((spans * tasks.multiplicities).sum())
    length = 1 << max(span, 1).bit_length()
    if not 0 < span <= _SPAN or length * len(spans) > _WORK:
        return None
    base = int((factors * whole(tasks.sizes) * tasks.multiplicities).sum())
    sought = observed * scale / unit
    goal = math.ceil(sought - 1e-9 * (1 + abs(sought))) - base
    if goal <= 0:
        return 0.0, 0.0
    if goal > span:
        return -math.inf, 0.0
    laws = [
        np.bincount(factor * (whole(np.arange(1, size + 1)) - whole(np.array([size])))) / size
        for factor, size in zip(factors.tolist(), tasks.sizes.tolist(), strict=True)
    ]
    upper = goal > sum(
        count * float(law @ np.arange(len(law)))
        for law, count in zip(laws, tasks.multiplicities.tolist(), strict=True)
    )
    if not upper:  # the other tail, mirrored
        laws, goal = [law[::-1] for law in laws], span - goal + 1
        if goal > span:
            return 0.0, 0.0
    log = _upper_tail(laws, tasks.multiplicities.tolist(), goal, length)
    if upper:
        return min(log, 0.0), _ERROR
    part = min(math.exp(log), 1.0)
    return (math.log1p(-part) if part < 1 else -math.inf), _ERROR


def _units(weights: FloatArray) -> tuple[IntArray, float] | None:
    """The weights as small integers times a unit; None where they are none."""
    least = float(weights.min())
    ratios = weights / least
    if float(ratios.max()) > _SPAN:
        return None
    common = 1
    for ratio in np.unique(ratios).tolist():
        common = math.lcm(common, Fraction(ratio).limit_denominator(_DENOMINATOR).denominator)
        if common > _SPAN:
            return None
    factors = np.rint(ratios * common)
    if (np.abs(ratios * common - factors) > 1e-11 * factors).any():
        return None
    return factors.astype(np.int64), least / common


def _upper_tail(laws: list[FloatArray], counts: list[int], goal: int, length: int) -> float:
    """Log of P(sum >= goal), for a goal above the mean: inverted under the weight exp(t sum)."""
    t = _saddle(laws, counts, goal)
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    level = 0.0
    for law, count in zip(laws, counts, strict=True):
        top = len(law) - 1
        tilted = law * np.exp(t * (np.arange(len(law)) - top))
        total = float(tilted.sum())
        level += count * (math.log(total) + t * top)
        product *= np.fft.rfft(tilted / total, length) ** count
    tail = np.fft.irfft(product, length)[goal:]
    share = float((tail * np.exp(-t * np.arange(len(tail)))).sum())
    return level - t * goal + math.log(max(share, 1e-300))


def _saddle(laws: list[FloatArray], counts: list[int], goal: int) -> float:
    """The t >= 0 at which the mean of the tilted sum is the goal, nearly; at most a steep one."""

    def mean(t: float) -> float:
        total = 0.0
        for law, count in zip(laws, counts, strict=True):
            values = np.arange(len(law))
            tilted = law * np.exp(t * (values - values[-1]))
            total += count * float(tilted @ values) / float(tilted.sum())
        return total

    low, high = 0.0, 1e-6
    while mean(high) < goal and high < 40:
        low, high = high, 4 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < goal else (low, middle)
    return low
