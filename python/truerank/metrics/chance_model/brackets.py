"""Bounds of a tail by adding on a grid: for few tasks, whose laws no saddle point describes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .task_groups import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray

# Cells of the grid by how many distinct pairs of candidates and weight there are, at most: a second
# of time, or thereabouts.
_CELLS = {8: 1 << 17, 128: 1 << 15}
_ROUNDING = 1e-15  # of what the Fourier transforms add, absolutely


def bracketed_tail(
    tasks: Tasks, f: Callable[[FloatArray], FloatArray], observed: float
) -> tuple[float, float] | None:
    """Log of P(sum of w f(r) >= observed), and its relative error; None for too many laws.

    Every term is rounded down to a grid of cells, which the observed sum is a fixed number of:
    their sum reaching the observed one is a lower bound, coming within n cells of it an upper one.

    Parameters
    ----------
    tasks : Tasks
    f : callable
        Decreasing over the ranks; takes and gives arrays.
    observed : float

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> log, error = bracketed_tail(compress([10**6] * 2), lambda r: 1 / r, 1e-3)
    >>> round(math.exp(log), 5), error < 1e-4  # 10**6 simulations: 0.00100
    (0.001, True)
    """
    sizes = tasks.sizes.astype(np.float64)
    least = float((tasks.weights * tasks.multiplicities * f(sizes)).sum())
    cells = next((cells for most, cells in _CELLS.items() if len(sizes) <= most), 0)
    if not observed > least or tasks.count >= cells // 4:
        return None
    edges: FloatArray = np.arange(cells + 1.0) * ((observed - least) / cells)
    below = np.zeros(cells)  # the law of the rounded sum, as far as it is below the observed one
    below[0] = 1.0
    for size, weight, count in zip(
        tasks.sizes.tolist(), tasks.weights.tolist(), tasks.multiplicities.tolist(), strict=True
    ):
        below = _product(below, _power(_shares(size, weight, f, edges), count))
    upper = 1 - float(below[: cells - tasks.count + 1].sum())
    lower = 1 - float(below.sum())
    middle = (upper + max(lower, 0.0)) / 2
    if not middle > 0:
        return None
    return math.log(min(middle, 1.0)), ((upper - lower) / 2 + _ROUNDING) / middle


def _shares(
    size: int, weight: float, f: Callable[[FloatArray], FloatArray], edges: FloatArray
) -> FloatArray:
    """The probability of each cell, of a rank uniform on 1..size; what is beyond has none."""
    end = f(np.array([float(size)]))
    low, high = np.zeros(len(edges), dtype=np.int64), np.full(len(edges), size)
    for _ in range(size.bit_length()):  # the last rank whose term is at or above the edge, or 0
        middle = high - (high - low) // 2
        reached = weight * (f(np.maximum(middle, 1).astype(np.float64)) - end) >= edges
        reached |= middle == 0
        low, high = np.where(reached, middle, low), np.where(reached, high, middle - 1)
    found: FloatArray = -np.diff(low) / size
    return found


def _power(law: FloatArray, count: int) -> FloatArray:
    """The law of the sum of so many independent terms, below the last cell."""
    result: FloatArray | None = None
    while True:
        if count & 1:
            result = law if result is None else _product(result, law)
        count >>= 1
        if not count:
            return law if result is None else result
        law = _product(law, law)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    length = 2 * len(a)
    product = np.fft.irfft(np.fft.rfft(a, length) * np.fft.rfft(b, length), length)
    return np.maximum(product[: len(a)], 0.0)
