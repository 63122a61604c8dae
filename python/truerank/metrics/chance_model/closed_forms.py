"""The chance models of means, geometric means and extremes, from sums and products of terms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .sums import chunks, harmonic, harmonic_squares
from .task_groups import Moments, Tasks, model

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray


@model
def mean_rank(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of mr: sum w (N + 1) / 2 and sum w^2 (N^2 - 1) / 12.

    Notes
    -----
    "A Unified Framework for Rank-based Evaluation Metrics" (2022) prints 1 / n for the 1 / n^2 of
    the variance (equation 7).

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean_rank(compress([3, 5]))
    (2.5, 0.6666666666666666)
    """
    return sums(tasks, *rank_moments(tasks.sizes))


@model
def reciprocal_rank(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of mrr: sum w H / N and sum w^2 (H2 / N - (H / N)^2).

    H and H2 are the sums of 1/r and of 1/r^2 over r = 1..N.

    Notes
    -----
    "A Unified Framework" (2022), equations 10 to 13, has the continuous log(N) / (N - 1) for H / N
    and a variance without the square, which is negative.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> reciprocal_rank(compress([2]))
    (0.75, 0.0625)
    """
    return sums(tasks, *reciprocal_moments(tasks.sizes))


@model
def hits(tasks: Tasks, parameter: float) -> Moments:
    """Mean and variance of hits@k: sum w q and sum w^2 q (1 - q) with q = min(k / N, 1).

    The result is exactly (1, 0) where k >= all N.

    Notes
    -----
    "A Unified Framework" (2022), equations 16 and 18, prints k (N - k) / N for the variance.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> hits(compress([10, 20]), 5)
    (0.375, 0.109375)
    """
    if parameter >= tasks.sizes[-1]:
        return 1.0, 0.0
    return sums(tasks, *hit_moments(tasks.sizes, parameter))


def rank_moments(sizes: IntArray, parameter: float = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r for each number of candidates; float64, shape (d,) both.

    Examples
    --------
    >>> rank_moments(np.array([3, 5]))
    (array([2., 3.]), array([0.66666667, 2.        ]))
    """
    n = sizes.astype(np.float64)
    return (n + 1) / 2, (n - 1) * (n + 1) / 12


def reciprocal_moments(sizes: IntArray, parameter: float = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of 1 / r for each number of candidates.

    Examples
    --------
    >>> reciprocal_moments(np.array([1, 2]))
    (array([1.  , 0.75]), array([0.    , 0.0625]))
    """
    mean = harmonic(sizes) / sizes
    return mean, harmonic_squares(sizes) / sizes - mean**2


def hit_moments(sizes: IntArray, parameter: float) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r <= k for each number of candidates.

    Examples
    --------
    >>> hit_moments(np.array([10, 3]), 5)
    (array([0.5, 1. ]), array([0.25, 0.  ]))
    """
    # no rank is beyond 2**63, while a cutoff may have any number of digits
    n, k = sizes.astype(np.float64), float(min(parameter, 2**63))
    q = np.minimum(k / n, 1)
    return q, q * np.maximum(n - k, 0) / n


def sums(tasks: Tasks, mean: FloatArray, variance: FloatArray) -> Moments:
    """Mean and variance of the weighted mean, from those of each task.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> sums(compress([3, 5]), np.array([2.0, 3.0]), np.array([1.0, 1.0]))
    (2.5, 0.5)
    """
    shares = tasks.weights * tasks.multiplicities
    return float((shares * mean).sum()), float((shares * (tasks.weights * variance)).sum())


# -- the geometric mean ----------------------------------------------------------------------------

# Up to so many candidates every rank is visited once for all N, if powers are so near 1 that one
# centre suffices for all N.
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

    The moments E r^s and E r^2s are products over tasks, and the variance is the difference of two
    nearly equal products. So neither is computed. With a centre c near log r, such as E log r, and
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
    """Yield some tasks, a centre c for each, and the means of y = expm1(s (log r - c)) and y^2."""
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
    """Sums of the first 1, 2, ... values, in two steps, since one long sum rounds too often."""
    width = 256
    padded = np.zeros(-(-len(values) // width) * width)
    padded[: len(values)] = values
    within = np.cumsum(padded.reshape(-1, width), axis=1)
    within[1:] += np.cumsum(within[:-1, -1])[:, None]
    return within.reshape(-1)


# -- the least and the greatest rank ---------------------------------------------------------------

_NEGLIGIBLE = 200.0  # a share of exp(-200) of a probability is negligible
_ALMOST = 1 - 2.0**-53  # used where x / N is rounded to 1 although x < N


@model
def least(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the least rank; weights above 0 make no difference.

    P(least > x) is the product of 1 - x / N over the tasks; the moments are sums of it over x.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = least(compress([2, 2]))  # 1 in three cases of four
    >>> round(mean, 12), round(variance, 12)
    (1.25, 0.1875)
    """
    if tasks.sizes[0] == 1:
        return 1.0, 0.0
    n, number = tasks.sizes.astype(np.float64), tasks.multiplicities.astype(np.float64)
    one = two = 0.0
    for _, nodes, weights in chunks(tasks.sizes[:1] - 1):
        x = nodes[0]
        logs = np.full(len(x), -np.inf)
        for i in np.argsort(x):
            logs[i] = np.log1p(-np.minimum(x[i] / n, _ALMOST)) @ number
            if logs[i] < logs.max() - _NEGLIGIBLE:
                break
        above = weights[0] * np.exp(logs)
        one += float(above.sum())
        two += float((above * (2 * x - 1)).sum())
    return 1 + one, two - one**2


@model
def greatest(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the greatest rank; weights above 0 make no difference.

    P(greatest <= x) is the product of x / N over N > x, which between two sizes is a power of x.
    The moments are sums of it over the distance from the greatest N.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = greatest(compress([2, 2]))
    >>> round(mean, 12), round(variance, 12)
    (1.75, 0.1875)
    """
    tops = tasks.sizes[::-1]
    lengths = -np.diff(tops, append=1)  # x = top - 1, ..., next top
    powers = np.cumsum(tasks.multiplicities[::-1], dtype=np.float64)  # tasks with N > x
    n = tops.astype(np.float64)
    drops = powers * np.log1p(-np.minimum(lengths / n, _ALMOST))
    logs = np.concatenate([[0.0], np.cumsum(drops)[:-1]])  # of P(greatest <= top)
    first = int(np.flatnonzero(lengths)[0])
    limit = powers[first] * np.log1p(-1 / n[first]) - _NEGLIGIBLE
    kept = np.flatnonzero((lengths > 0) & (logs >= limit))
    n, powers, logs = n[kept, None], powers[kept, None], logs[kept, None]
    distances = (tops[0] - tops[kept, None]).astype(np.float64)
    one = two = 0.0
    for part, nodes, weights in chunks(lengths[kept]):
        # P(greatest <= top - j), j = 1, 2, ...
        inside = np.minimum(nodes / n[part], _ALMOST)
        below = weights * np.exp(logs[part] + powers[part] * np.log1p(-inside))
        one += float(below.sum())
        two += float((below * (2 * (nodes + distances[part]) - 1)).sum())
    return float(tops[0]) - one, two - one**2
