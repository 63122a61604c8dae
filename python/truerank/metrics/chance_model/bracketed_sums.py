"""Bounds of tails by summing on a grid, for few tasks, whose laws no saddle point describes.

Each term is rounded up and down to cells. The laws of both sums are computed by Fourier transforms
under a weight that falls exponentially, so that far tails keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .task_groups import Tail, Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray

    Function: TypeAlias = Callable[[FloatArray], FloatArray]
    Group: TypeAlias = tuple[int, float, int]  # candidates, weight, number of tasks

# The cells of the grid by the greatest number of distinct pairs of candidates and weight; it takes
# about a second.
_CELLS = {8: (1 << 16) - 1, 32: (1 << 14) - 1, 128: (1 << 12) - 1}
_MOST_TASKS = 2048
_ROUNDING = 1e-15  # of one Fourier transform, of norms of 1
_COARSE = 256  # cells that are added up in the search for the weight
_FINE = 1e-3  # with a smaller error from one end of the law, the other is not tried


def bracketed_tail(tasks: Tasks, f: Function, observed: float) -> Tail | None:
    """P(sum of w f(r) >= observed), in the middle of bounds that hold; None for too many laws.

    Parameters
    ----------
    tasks : Tasks
    f : callable
        f, monotone over the ranks; takes and returns arrays.
    observed : float
        A little less than the observed sum, for rounding.

    Returns
    -------
    Tail or None
        The error is half of the distance between the bounds.

    Notes
    -----
    The distances of the terms from their greatest values add up to at most D. In units of D over
    the number of cells they are rounded down, which gives an upper bound, and up, which gives a
    lower one. Distances from the least values bound 1 - P in the same way. They are better where
    most terms are small and the observed value is, too.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> found = bracketed_tail(compress([10**6] * 2), lambda r: 1 / r, 1e-3)
    >>> round(math.exp(found.log), 5), found.error < 1e-4  # 10**6 simulations: 0.00100
    (0.001, True)
    """
    cells = next((cells for most, cells in _CELLS.items() if len(tasks.sizes) <= most), 0)
    if not cells or tasks.count > _MOST_TASKS:
        return None
    ends = np.stack([f(np.ones(len(tasks.sizes))), f(tasks.sizes.astype(np.float64))])
    shares = tasks.weights * tasks.multiplicities
    least, greatest = float(shares @ ends.min(axis=0)), float(shares @ ends.max(axis=0))
    if not least < observed <= greatest:
        return None
    below = _between(_summed(tasks, f, observed - least, cells, from_best=False), rest=True)
    if below is not None and below.error < _FINE:
        return below
    above = _between(_summed(tasks, f, greatest - observed, cells, from_best=True), rest=False)
    found = [tail for tail in (below, above) if tail is not None]
    return min(found, key=lambda tail: tail.error, default=None)


def _between(logs: tuple[float, float], *, rest: bool) -> Tail | None:
    """The middle of two bounds, given by their logs, or of 1 minus each of them."""
    low, high = (min(log, 0.0) for log in logs)
    if rest:
        low, high = -math.expm1(high), -math.expm1(low)
        if not low + high > 0:
            return None
        return Tail(math.log((low + high) / 2), "bounds", (high - low) / (low + high))
    if high == -math.inf:
        return None
    ratio = math.exp(low - high)
    return Tail(high + math.log((1 + ratio) / 2), "bounds", (1 - ratio) / (1 + ratio))


def _summed(
    tasks: Tasks, f: Function, most: float, cells: int, *, from_best: bool
) -> tuple[float, float]:
    """Logs of bounds of P(the distances add up to at most `most`); to less, not from the best."""
    groups: list[Group] = list(
        zip(
            tasks.sizes.tolist(),
            tasks.weights.tolist(),
            tasks.multiplicities.tolist(),
            strict=True,
        )
    )
    edges: FloatArray = np.arange(cells + 2.0) * (most / cells)
    counts = [_ranks_below(size, weight, f, edges, from_best) for size, weight, _ in groups]
    downward = [np.diff(found) / size for found, (size, _, _) in zip(counts, groups, strict=True)]
    upward = []
    for found, (size, weight, _) in zip(counts, groups, strict=True):
        at_end = _ranks_below(size, weight, f, np.array([5e-324]), from_best)[0]
        raised = np.diff(found[:-1], prepend=0)
        raised[:2] += np.array([at_end, -at_end])
        upward.append(raised / size)
    numbers = [count for _, _, count in groups]
    slope = _slope(downward, numbers)
    last = cells if from_best else cells - 1
    _, high = _log_sum(downward, numbers, slope, last)
    low, _ = _log_sum(upward, numbers, slope, last)
    return low, high


def _ranks_below(
    size: int, weight: float, f: Function, edges: FloatArray, from_best: bool
) -> IntArray:
    """How many of the ranks 1..size have a term nearer to the end than each edge."""
    both = f(np.array([1.0, float(size)]))
    falling = bool(both[0] >= both[1])
    end = float(both.max() if from_best else both.min())
    near_one = (
        falling == from_best
    )  # the ranks that are near are 1, 2, ...; otherwise N, N - 1, ...
    low, high = np.zeros(len(edges), dtype=np.int64), np.full(len(edges), size)
    for _ in range(size.bit_length()):
        middle = high - (high - low) // 2
        rank = np.maximum(middle, 1) if near_one else size - np.maximum(middle - 1, 0)
        near = weight * np.abs(f(rank.astype(np.float64)) - end) < edges
        near |= middle == 0
        low, high = np.where(near, middle, low), np.where(near, high, middle - 1)
    return low


def _slope(laws: list[FloatArray], numbers: list[int]) -> float:
    """The s >= 0 at which the mean of the sum under exp(-s cell) is nearly the last cell."""
    cells = len(laws[0]) - 1
    coarse = []
    for law in laws:
        padded = np.zeros(-(-len(law) // _COARSE) * _COARSE)
        padded[: len(law)] = law
        coarse.append(padded.reshape(-1, _COARSE).sum(axis=1))
    at = np.arange(len(coarse[0])) * float(_COARSE)

    def mean(s: float) -> float:
        total = 0.0
        for law, number in zip(coarse, numbers, strict=True):
            tilted = law * np.exp(-s * at)
            whole = float(tilted.sum())
            total += number * float(tilted @ at) / whole if whole > 0 else 0.0
        return total

    if mean(0.0) <= cells:
        return 0.0
    low, high = 0.0, 1.0 / cells
    while mean(high) > cells and high < 700.0 / _COARSE:
        low, high = high, 2 * high
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) > cells else (low, middle)
    return high


def _log_sum(
    laws: list[FloatArray], numbers: list[int], slope: float, last: int
) -> tuple[float, float]:
    """Log of the probability of all cells up to the last, less and plus what rounding may be."""
    level, product, transforms = 0.0, None, 1
    fall = np.exp(-slope * np.arange(float(len(laws[0]))))
    for law, number in zip(laws, numbers, strict=True):
        tilted = law * fall[: len(law)]
        whole = float(tilted.sum())
        if not whole > 0:
            return -math.inf, -math.inf
        level += number * math.log(whole)
        power = _power(tilted / whole, number)
        product = power if product is None else _product(product, power)
        transforms += 2 * number.bit_length()
    assert product is not None  # there are tasks
    rise = np.exp(slope * (np.arange(last + 1.0) - last))
    total = float(product[: last + 1] @ rise)
    rounding = _ROUNDING * transforms * float(rise.sum()) if transforms > 3 else _ROUNDING * total
    level += slope * last
    logs = [
        math.log(x) + level if x > 0 else -math.inf for x in (total - rounding, total + rounding)
    ]
    return logs[0], logs[1]


def _power(law: FloatArray, count: int) -> FloatArray:
    """The law of the sum of `count` independent terms, up to the last cell."""
    result: FloatArray | None = None
    while True:
        if count & 1:
            result = law if result is None else _product(result, law)
        count >>= 1
        if not count:
            return law if result is None else result
        law = _product(law, law)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    product = np.fft.irfft(np.fft.rfft(a, 2 * len(a)) * np.fft.rfft(b, 2 * len(a)), 2 * len(a))
    return np.maximum(product[: len(a)], 0.0)
