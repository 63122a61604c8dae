"""The chance model of the median rank and of its inverse, from the law of how many ranks are <= x.

The median exceeds x where fewer than half of the ranks are <= x; its moments are sums of such
probabilities over x, which Gauss rules make short.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from .gaps import gap_sums
from .means import Moments, mean_rank, model, reciprocal_rank
from .order import Order, smooth_edges
from .pieces import nodes, pieces
from .task_groups import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray

_CUT = 40.0  # tails of less than e^-40 are left out


@model
def median(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the median rank; of an even number of tasks the mean of the middle two.

    Raises
    ------
    UnknownKeyError
        If weights differ: the weighted median has no chance model.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> [round(x, 12) for x in median(compress([3, 5, 2, 7]))]
    [2.319047619048, 0.533922902494]
    """
    if not tasks.equal:
        _refuse("median")
    return mean_rank(tasks, 0) if tasks.count == 1 else _moments(tasks, inverse=False)


@model
def inverse_median(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of 1 / median rank, the median as in `median`.

    Raises
    ------
    UnknownKeyError
        If weights differ: the weighted median has no chance model.

    Notes
    -----
    For an even number of tasks, half of whose N are some ten orders of magnitude above the others,
    the two middle ranks have no common scale, and a third of the mean may be lost to rounding.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> [round(x, 12) for x in inverse_median(compress([2, 2]))]
    [0.708333333333, 0.032986111111]
    """
    if not tasks.equal:
        _refuse("imedian")
    return reciprocal_rank(tasks, 0) if tasks.count == 1 else _moments(tasks, inverse=True)


def _refuse(name: str) -> NoReturn:
    from ..keys import UnknownKeyError

    raise UnknownKeyError(f"{name}: the weighted median has no chance model")


def _moments(tasks: Tasks, inverse: bool) -> Moments:
    """Moments of g(M), g(q) = q - Z or 1/q - 1/Z with the middle of the law as pivot Z.

    For an odd number of tasks, with F(x) = P(M <= x),

        E g(M) = sum over x >= Z of (1 - F(x)) (g(x + 1) - g(x)) - sum over x < Z of F(x) (...),

    and the same for g^2. For an even number F is the mean of those of the two middle ranks, and
    their gap is corrected for.
    """
    order = Order(tasks)
    pivot = order.pivot
    usual = max(0.0, min(order.exponent(np.array([max(pivot - 1, 1), pivot])).tolist()))
    if pivot == 1:
        usual = float(order.exponent(np.array([1]))[0])
    # where one rank has nearly all the probability, what is left decides the variance
    cut = _CUT + 2 * usual
    # the inverse is as large as 1 where the median is small
    low = order.first(cut + (2 * math.log(pivot) if inverse else 0.0))
    high = order.last(cut)
    if high < low:
        return (1 / pivot if inverse else float(pivot)), 0.0
    smooth = smooth_edges(order, low, high, octaves=inverse)
    x, w, _ = nodes(pieces(smooth, order.tasks.sizes))
    tail = order.tails(x) * w
    sign = np.where(x >= pivot, 1.0, -1.0)
    first, second = _steps(x, float(pivot), inverse)
    mean = float((sign * tail * first).sum())
    square = float((sign * tail * second).sum())
    size = float((tail * np.abs(second)).sum())
    if tasks.count % 2 == 0:
        down, down_square = gap_sums(order, low, high, inverse)
        mean, square = mean - down, square - down_square
    variance = square - mean**2
    # what rounding leaves of a median that is nearly certain is no variance
    return (1 / pivot if inverse else pivot) + mean, variance if variance > 1e-15 * size else 0.0


def _steps(x: FloatArray, pivot: float, inverse: bool) -> tuple[FloatArray, FloatArray]:
    """g(x + 1) - g(x), and the same of g^2."""
    if not inverse:
        return np.ones_like(x), 2 * (x - pivot) + 1
    here, there = (pivot - x) / (x * pivot), (pivot - x - 1) / ((x + 1) * pivot)
    step = -1 / (x * (x + 1))
    return step, step * (here + there)
