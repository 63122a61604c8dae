"""The chance model of the geometric mean rank and of its inverse."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .means import Moments, model
from .sums import chunks
from .task_groups import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray

# Up to so many candidates every rank is visited once, for all N together, where the powers are so
# near 1 that one centre will do for all N.
_VISITED = 1 << 17
_NEAR = 0.1


@model
def geometric(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of gmr, the product of r^w.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = geometric(compress([2, 2]))
    >>> round(mean, 12), round(variance, 12)  # of 1, sqrt(2), sqrt(2), 2
    (1.457106781187, 0.12683982822)
    """
    return _product(tasks, tasks.weights)


@model
def inverse_geometric(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of igmr, the product of r^-w.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = inverse_geometric(compress([2, 2]))
    >>> round(mean, 12), round(variance, 12)
    (0.728553390593, 0.031709957055)
    """
    return _product(tasks, -tasks.weights)


def _product(tasks: Tasks, powers: FloatArray) -> Moments:
    """Mean and variance of the product of r^s over all tasks.

    The moments E r^s and E r^2s are products over tasks, and the variance is a difference of two
    that are nearly equal. So neither is formed: with a centre c near log r, as E log r, and
    y = expm1(s (log r - c)),

        log E r^s = s c + log1p(E y),   log E r^2s - 2 log E r^s = log1p(Var y / (1 + E y)^2).
    """
    log_mean = log_spread = 0.0
    for part, centre, mean, square in _moments(tasks, powers):
        number = tasks.multiplicities[part]
        log_mean += float((number * (powers[part] * centre + np.log1p(mean))).sum())
        log_spread += float((number * np.log1p((square - mean**2) / (1 + mean) ** 2)).sum())
    mean_all = math.exp(log_mean)
    return mean_all, mean_all**2 * math.expm1(log_spread)


def _moments(
    tasks: Tasks, powers: FloatArray
) -> Iterator[tuple[slice, FloatArray, FloatArray, FloatArray]]:
    """Some tasks, a centre c for each, and the means of y = expm1(s (log r - c)) and of y^2."""
    top = int(tasks.sizes[-1])
    if tasks.equal and top <= _VISITED and abs(float(powers[0])) * math.log(top) < _NEAR:
        logs = np.log(np.arange(1.0, top + 1))
        centre = math.log(top) - 1
        y = np.expm1(powers[0] * (logs - centre))
        mean, square = (_running_sums(x)[tasks.sizes - 1] / tasks.sizes for x in (y, y * y))
        yield slice(None), np.full(len(mean), centre), mean, square
        return
    for part, nodes, weights in chunks(tasks.sizes):
        s, logs = powers[part], np.log(nodes)
        share = weights / tasks.sizes[part, None]
        mu = (share * logs).sum(axis=1)
        y = np.expm1(s[:, None] * (logs - mu[:, None]))
        yield part, mu, (share * y).sum(axis=1), (share * y * y).sum(axis=1)


def _running_sums(values: FloatArray) -> FloatArray:
    """Sums of the first 1, 2, ... values, in two steps: one long sum would round too often."""
    width = 256
    padded = np.zeros(-(-len(values) // width) * width)
    padded[: len(values)] = values
    within = np.cumsum(padded.reshape(-1, width), axis=1)
    within[1:] += np.cumsum(within[:-1, -1])[:, None]
    return within.reshape(-1)
