"""Averages of what tasks, or queries, are worth, with weights: means, medians and spreads.

Each takes the values (float64, shape (n,)), the weights (finite and >= 0; only their ratios matter;
None: all count once) and the parameter of the metric, and returns nan without a weight above 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..arrays.types import FloatArray
    from .ties import Parameter

# 1 / (the third quartile of the standard normal): with this factor the median absolute deviation of
# a normal distribution is its standard deviation.
MAD_SCALE = 1.482602218505602


def weighted_mean(
    values: FloatArray, weights: FloatArray | None = None, parameter: Parameter = 0
) -> float:
    """The arithmetic mean, sum(w v) / sum(w).

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    2.0
    """
    if not values.size:
        return math.nan
    if weights is None:
        return float(values.mean())
    weights = rescale_weights(weights)
    total = float(weights.sum())
    if not total:
        return math.nan
    return float((weights * values).sum()) / total


def rescale_weights(weights: FloatArray) -> FloatArray:
    """Multiply weights by a power of two, so that their sums do not overflow; ratios stay.

    Examples
    --------
    >>> rescale_weights(np.array([3e300, 6e300])).sum() < 3
    np.True_
    """
    _, exponent = np.frexp(weights.max(initial=0.0))
    safe: FloatArray = np.ldexp(weights, -exponent)
    return safe


def power_mean(ranks: FloatArray, weights: FloatArray | None, p: Parameter) -> float:
    """The power mean, (sum(w r^p) / sum(w))^(1/p): max and min at +-inf, geometric at 0.

    It is computed from the logs of powers, relative to the largest rank (p > 0) or the smallest, so
    that nothing overflows.
    """
    if weights is not None and not weights.all():
        ranks, weights = ranks[weights > 0], weights[weights > 0]
    if not ranks.size:
        return math.nan
    if p == 0:
        return math.exp(weighted_mean(np.log(ranks), weights))
    extreme = float(ranks.max()) if p > 0 else float(ranks.min())
    if math.isinf(p):
        return extreme
    logs = p * np.log(ranks / extreme)
    if abs(p) < 1:  # Powers near 1 keep their digits as differences from it.
        logarithm = math.log1p(weighted_mean(np.expm1(logs), weights))
    else:
        log_weights = np.zeros(len(logs)) if weights is None else np.log(weights)
        logarithm = _log_sum(logs + log_weights) - _log_sum(log_weights)
    return extreme * math.exp(logarithm / p)


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def variance(ranks: FloatArray, weights: FloatArray | None, parameter: Parameter = 0) -> float:
    """The variance of the ranks, sum(w (r - mean)^2) / sum(w) (ddof 0)."""
    if weights is not None and not weights.all():
        ranks, weights = ranks[weights > 0], weights[weights > 0]
    distances = ranks - ranks[:1]  # Equal ranks have no variance, not even a rounded one.
    middle = weighted_mean(distances, weights)
    return weighted_mean(np.square(distances - middle), weights)


def count(ranks: FloatArray, weights: FloatArray | None, parameter: Parameter = 0) -> float:
    """The number of tasks, whatever their weights."""
    return float(len(ranks))


# -- medians ---------------------------------------------------------------------------------------


def deviation(ranks: FloatArray, weights: FloatArray | None, parameter: Parameter = 0) -> float:
    """The (weighted) median absolute deviation from the median, times 1.4826."""
    return MAD_SCALE * median(np.abs(ranks - median(ranks, weights)), weights)


def median(
    values: FloatArray, weights: FloatArray | None = None, parameter: Parameter = 0
) -> float:
    """The median; of an even number of values the mean of the middle two.

    With weights it is the smallest value at which the cumulative weight reaches half the total;
    where that weight is exactly half, it is the mean of this value and the next. Values of weight 0
    do not count. Equal weights give the plain median. Sums of weights are compared exactly.

    Examples
    --------
    >>> median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    if not values.size:
        return math.nan
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(rescale_weights(weights)[order])
    half = sums[-1] / 2
    if not half:
        return math.nan
    rounding = 0.0  # Whole numbers add up without it.
    if weights.max() > 2**20 or (weights != np.floor(weights)).any():
        rounding = 8 * len(values) * np.finfo(np.float64).eps * sums[-1]
    lower = np.searchsorted(sums, half - rounding)
    upper = np.searchsorted(sums, half + rounding, side="right")
    if not rounding or values[order[lower]] == values[order[upper]]:
        return float(values[order[lower]] + values[order[upper]]) / 2
    # Rounded sums cannot decide, but those of `math.fsum` have the right sign.
    weights = rescale_weights(weights)

    def balance(value: float) -> float:
        """The weight up to a value minus the weight after it."""
        return math.fsum(np.where(values <= value, weights, -weights).tolist())

    near = np.unique(values[order[lower : upper + 1]])  # by numpy: floats
    middle = next(value for value in near.tolist() if balance(value) >= 0)
    if balance(middle) > 0:
        return float(middle)
    return float(middle + values[(values > middle) & (weights > 0)].min()) / 2
