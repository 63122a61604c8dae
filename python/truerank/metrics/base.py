"""The table of metrics: every one is g(mean(f(r))) over the ranks r of the tasks."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray


class Sample(NamedTuple):
    """What a metric is computed from: the ranks of one kind, with candidates and weights.

    Attributes
    ----------
    ranks : ndarray of float64, shape (n,)
    candidates : ndarray of int64, shape (n,)
    weights : ndarray of float64, shape (n,), or None
        Finite and >= 0; only their ratios matter.
    """

    ranks: FloatArray
    candidates: IntArray
    weights: FloatArray | None = None


class Metric(NamedTuple):
    """One row: g(mean(f(r))).

    Attributes
    ----------
    name : str
    transform : callable
        f, over an array of ranks and the cutoff k (0 where the metric has none).
    mean : callable
        The mean of values under weights (None: equal ones).
    inverse : callable
        g, over the mean.
    increasing : bool
        Whether higher is better.
    optimum : float
        The value where every rank is 1.
    cutoff : bool
        Whether the name takes an `@k`.
    """

    name: str
    transform: Callable[[FloatArray, int], FloatArray]
    mean: Callable[[FloatArray, FloatArray | None], float]
    inverse: Callable[[float], float]
    increasing: bool
    optimum: float = 1.0
    cutoff: bool = False


def value(metric: Metric, sample: Sample, k: int = 0) -> float:
    """Compute a metric; nan where there are no tasks, or none with a weight above 0.

    Parameters
    ----------
    metric : Metric
    sample : Sample
    k : int
        The cutoff, for a metric that has one.

    Returns
    -------
    float

    Examples
    --------
    >>> value(METRICS["mrr"], Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.625
    """
    return metric.inverse(metric.mean(metric.transform(sample.ranks, k), sample.weights))


def scaled(weights: FloatArray) -> FloatArray:
    """Weights times a power of two that makes their sums safe: no ratio changes.

    Examples
    --------
    >>> scaled(np.array([3e300, 6e300])).sum() < 3
    np.True_
    """
    _, exponent = np.frexp(weights.max(initial=0.0))
    safe: FloatArray = np.ldexp(weights, -exponent)
    return safe


def mean(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The arithmetic mean, sum(w v) / sum(w); nan for no values or no weight above 0.

    Examples
    --------
    >>> mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    2.0
    """
    if weights is None:
        return float(values.mean()) if values.size else math.nan
    weights = scaled(weights)
    total = float(weights.sum())
    return float((weights * values).sum()) / total if total else math.nan


def median(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The median: for an even number of values the mean of the two middle ones, as in NumPy.

    With weights: the smallest value at which the cumulative weight reaches half the total; where it
    is exactly half, the mean of that value and the next one. Values of weight 0 do not count. Equal
    weights give the plain median. Sums of weights are compared exactly.

    Examples
    --------
    >>> median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    if weights is None:
        return float(np.median(values)) if values.size else math.nan
    values, weights = values[weights > 0], scaled(weights[weights > 0])
    if not values.size:
        return math.nan
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    n, cumulative = len(values), np.cumsum(weights)
    half = cumulative[-1] / 2
    slack = n * np.finfo(np.float64).eps * half * 2  # more than the sums can be wrong by
    first, last = np.searchsorted(cumulative, [half - slack, half + slack]).tolist()
    if first == last:
        return float(values[first])
    signed = np.concatenate([weights, -weights])

    def balance(i: int) -> float:
        """The weight up to i minus the weight after i; its sign is exact."""
        return math.fsum(signed[np.r_[0 : i + 1, n + i + 1 : 2 * n]].tolist())

    i = bisect_left(range(n), True, first, min(last, n - 1), key=lambda i: balance(i) >= 0)
    return float(values[i : i + 2].mean() if balance(i) == 0 else values[i])


def _identity(ranks: FloatArray, k: int) -> FloatArray:
    return ranks


def _reciprocal(ranks: FloatArray, k: int) -> FloatArray:
    return 1.0 / ranks


def _log(ranks: FloatArray, k: int) -> FloatArray:
    return np.log(ranks)


def _hit(ranks: FloatArray, k: int) -> FloatArray:
    return (ranks <= min(k, 2**63)).astype(np.float64)  # beyond 2**63 lies no rank


def _same(x: float) -> float:
    return x


def _inverse(x: float) -> float:
    return 1.0 / x


def _exp_minus(x: float) -> float:
    return math.exp(-x)


METRICS: dict[str, Metric] = {
    row.name: row
    for row in (
        #      name       f            mean    g           higher is better
        Metric("mr", _identity, mean, _same, increasing=False),
        Metric("mrr", _reciprocal, mean, _same, increasing=True),
        Metric("hits", _hit, mean, _same, increasing=True, cutoff=True),
        Metric("hmr", _reciprocal, mean, _inverse, increasing=False),
        Metric("imr", _identity, mean, _inverse, increasing=True),
        Metric("gmr", _log, mean, math.exp, increasing=False),
        Metric("igmr", _log, mean, _exp_minus, increasing=True),
        Metric("median", _identity, median, _same, increasing=False),
        Metric("imedian", _identity, median, _inverse, increasing=True),
    )
}
