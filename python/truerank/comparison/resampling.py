"""Drawing units again, with replacement, and the bounds that replicates of a statistic give.

Units are tasks, or whole groups of tasks. A resample is told by how often it holds each unit, so
that statistics of thousands of resamples are products of matrices of such counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray

CHUNK = 1 << 16  # counts held at once: 0.5 MB stay in a cache, and are not mapped anew each time
LOST = 0.01  # the share of resamples without a value that may be left out
SAME = 1e-12  # relative difference below which two values of a statistic are one, rounded
NIL = 1e-15  # what is left of a value of 0


def draws(units: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Resample units: draw as many as there are, uniformly and with replacement, many times.

    Parameters
    ----------
    units : int
        Their number, >= 1.
    resamples : int
        How often all of them are drawn.
    seed : int
        Given to `numpy.random.default_rng`. Its integers are the same on every machine with one
        version of NumPy, and so are the resamples.

    Yields
    ------
    ndarray of int64, shape (m, units)
        How often each of m resamples holds each unit; a row sums to `units`. Chunks hold about
        `CHUNK` numbers, and there are `resamples` rows in all.

    Examples
    --------
    >>> [chunk.sum(axis=1) for chunk in draws(3, 2, seed=0)]
    [array([3, 3])]
    """
    rng = np.random.default_rng(seed)
    for rows in _chunks(units, resamples):
        drawn = rng.integers(0, units, (rows, units))
        drawn += np.arange(0, rows * units, units)[:, None]
        yield np.bincount(drawn.reshape(-1), minlength=rows * units).reshape(rows, units)


def flips(units: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Throw a fair coin for every unit, many times: 0 or 1, int8 arrays of shape (m, units).

    Where there are no more than `resamples` ways for the coins to fall, every way comes once
    instead: 2**units rows in all, the first of them all 0.

    Examples
    --------
    >>> [chunk.tolist() for chunk in flips(2, 10, seed=0)]
    [[[0, 0], [1, 0], [0, 1], [1, 1]]]
    """
    if exhaustible(units, resamples):
        start = 0
        for rows in _chunks(units, 2**units):
            ways = np.arange(start, start + rows)[:, None]
            yield (ways >> np.arange(units) & 1).astype(np.int8)
            start += rows
        return
    rng = np.random.default_rng(seed)
    for rows in _chunks(units, resamples):
        bits = np.frombuffer(rng.bytes(rows * -(-units // 8)), dtype=np.uint8).reshape(rows, -1)
        yield np.unpackbits(bits, axis=1, count=units).view(np.int8)


def exhaustible(units: int, resamples: int) -> bool:
    """Whether coins of so many units fall in no more ways than there are resamples.

    Examples
    --------
    >>> exhaustible(13, 10_000), exhaustible(14, 10_000)
    (True, False)
    """
    return units < 63 and 2**units <= resamples


def percentile_bounds(replicates: FloatArray, level: float) -> tuple[float, float]:
    """The quantiles that leave (1 - level) / 2 of the replicates out on either side.

    nan where more than `LOST` of the replicates are nan; fewer are left out.

    Examples
    --------
    >>> percentile_bounds(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    return _bounds(replicates, (1 - level) / 2, (1 + level) / 2)


def bca_bounds(
    replicates: FloatArray, value: float, jackknife: FloatArray, level: float
) -> tuple[float, float] | None:
    """The bias-corrected and accelerated percentile bounds of Efron (1987).

    The bias correction z0 is the normal quantile of the share of replicates below the value, those
    equal to it counted half (ranks are integers, so that many may be). The acceleration is
    sum d^3 / (6 (sum d^2)^1.5), d the mean of the jackknife minus each of its values.

    Parameters
    ----------
    replicates : ndarray of float64, shape (resamples,)
    value : float
        The statistic of all units.
    jackknife : ndarray of float64, shape (units,)
        The statistic without each unit in turn.
    level : float

    Returns
    -------
    (float, float) or None
        None where they are undefined: the jackknife has a nan or is constant, or all replicates
        lie on one side of the value.

    Notes
    -----
    B. Efron: Better Bootstrap Confidence Intervals. Journal of the American Statistical Association
    82 (1987).

    Examples
    --------
    >>> low, high = bca_bounds(np.arange(101.0), 50.0, np.array([1.0, 2.0, 3.0]), 0.9)
    >>> round(low, 6), round(high, 6)
    (5.0, 95.0)
    """
    kept = replicates[~np.isnan(replicates)]
    if not kept.size or not np.isfinite(jackknife).all():
        return None
    slack = rounding(value)
    share = np.mean(kept < value - slack) / 2 + np.mean(kept <= value + slack) / 2
    away = jackknife.mean() - jackknife
    largest = np.abs(away).max(initial=0.0)
    if not 0 < share < 1 or largest <= slack:
        return None
    away /= largest  # nothing underflows
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    bias = normal_quantile(float(share))
    ends = []
    for probability in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal_quantile(probability)
        if acceleration * z >= 1:
            return None
        ends.append(normal_share(bias + z / (1 - acceleration * z)))
    return _bounds(replicates, *ends)


def rounding(value: float) -> float:
    """How far from a value another may be and still be the same, but for rounding.

    Examples
    --------
    >>> rounding(100.0) < 1e-9
    True
    """
    return SAME * abs(value) + NIL


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution.

    Examples
    --------
    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def normal_share(z: float) -> float:
    """The share of the standard normal distribution that lies below z.

    Examples
    --------
    >>> normal_share(0.0)
    0.5
    """
    return math.erfc(-z / math.sqrt(2)) / 2


def _bounds(replicates: FloatArray, low: float, high: float) -> tuple[float, float]:
    lost = np.isnan(replicates)
    if not lost.size or lost.mean() > LOST:
        return math.nan, math.nan
    first, last = np.quantile(replicates[~lost] if lost.any() else replicates, [low, high]).tolist()
    return first, last


def _chunks(units: int, resamples: int) -> Iterator[int]:
    """The rows of each chunk; they depend on nothing but the arguments, as the draws do."""
    most = max(CHUNK // units, 1)
    for start in range(0, resamples, most):
        yield min(most, resamples - start)
