"""The means of metrics over tasks with weights, for single ranks and for the positions of ties.

Ranks of most kinds are single positions. Ranks of the kind "expected" are ties: each position of a
tie has the weight of its task divided by the number of positions. The means of this mixture have
closed forms (`ties`); its median and deviations are found without listing its positions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from .kinds import take
from .ties import LOG, Parameter, RankFunction, mean_power, mean_rank

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from .kinds import Sample

# 1 / (the third quartile of the standard normal): with this factor the median absolute deviation of
# a normal distribution is its standard deviation.
_NORMAL = 1e-290  # means below it may be sums of what underflowed
MAD_SCALE = 1.482602218505602


def values_per_task(
    transform: RankFunction, sample: Sample, parameter: Parameter = 0
) -> FloatArray:
    """f(r) of every task, or its mean over the task's tie; float64, shape (n,)."""
    if sample.tied is None:
        return transform.of_ranks(sample.ranks, sample.candidates, parameter)
    return transform.over_tie(sample.ranks, sample.tied, sample.candidates, parameter)


def arithmetic(transform: RankFunction, sample: Sample, parameter: Parameter = 0) -> float:
    """The arithmetic mean of f(r), sum(w f(r)) / sum(w)."""
    return weighted_mean(values_per_task(transform, sample, parameter), sample.weights)


def weighted_mean(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The arithmetic mean, sum(w v) / sum(w); nan without values or a weight above 0.

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    2.0
    """
    if weights is None:
        return float(values.mean()) if values.size else math.nan
    weights = rescale_weights(weights)
    total = float(weights.sum())
    return float((weights * values).sum()) / total if total else math.nan


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


def power(_: RankFunction, sample: Sample, p: Parameter) -> float:
    """The power mean, (sum(w r^p) / sum(w))^(1/p): max and min at +-inf, geometric at 0.

    Ranks are scaled by the largest one (p > 0) or the smallest, so that nothing overflows. Over
    ties the error grows as 1e-16 / |p|.
    """
    sample = _drop_weightless(sample)
    if not sample.ranks.size:
        return math.nan
    if p == 0:
        return math.exp(arithmetic(LOG, sample))
    ranks, tied = sample.ranks, sample.tied
    extreme = ranks.min() if p < 0 else (ranks if tied is None else ranks + (tied - 1)).max()
    if math.isinf(p):
        return float(extreme)
    if tied is None and abs(p) < 1:  # powers near 1 keep their digits as differences from it
        excess = np.expm1(p * np.log(ranks / extreme))
        logarithm = math.log1p(weighted_mean(excess, sample.weights))
    else:
        logarithm = _log_mean_power(sample, p, float(extreme))
    return float(extreme) * math.exp(logarithm / p)


def _log_mean_power(sample: Sample, p: Parameter, extreme: float) -> float:
    """The log of the mean of (r / extreme)^p, also where the extreme rank has hardly any weight."""
    ranks, tied, weights = sample.ranks, sample.tied, sample.weights
    values = np.power(ranks / extreme, p) if tied is None else mean_power(ranks, tied, p, extreme)
    mean = weighted_mean(values, weights)
    if mean > _NORMAL or weights is None:
        return math.log(mean)
    # what underflows here is all that counts: each task by itself, in logs
    own = ranks if tied is None or p < 0 else ranks + (tied - 1)
    logs = p * np.log(own / extreme)
    if tied is not None:
        for i in np.flatnonzero(tied > 1).tolist():
            task = slice(i, i + 1)
            logs[i] += math.log(mean_power(ranks[task], tied[task], p, float(own[i]))[0])
    return _log_sum(logs + np.log(weights)) - _log_sum(np.log(weights))


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def variance(_: RankFunction, sample: Sample, parameter: Parameter = 0) -> float:
    """The variance of the ranks, sum(w (r - mean)^2) / sum(w) (ddof 0).

    A tie adds (m^2 - 1) / 12, the variance of its m positions.
    """
    sample = _drop_weightless(sample)
    centres, inner = tie_centres(sample)
    centres = centres - centres[:1]  # equal ranks have no variance, not even a rounded one
    middle = weighted_mean(centres, sample.weights)
    return weighted_mean(np.square(centres - middle) + inner, sample.weights)


def tie_centres(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """The middle of each task's tie, and the variance of the positions about it."""
    if sample.tied is None:
        return sample.ranks, np.zeros(1)
    spread: FloatArray = (np.square(sample.tied, dtype=np.float64) - 1) / 12
    return mean_rank(sample.ranks, sample.tied), spread


def median(_: RankFunction, sample: Sample, parameter: Parameter = 0) -> float:
    """The (weighted) median of the ranks; of ties the median of their positions' mixture."""
    sample = _drop_weightless(sample)
    if sample.tied is None:
        return median_of(sample.ranks, sample.weights)
    return _median_of_runs(_first_positions(sample), sample.tied, sample.weights)


def _first_positions(sample: Sample) -> IntArray:
    """The first positions of ties as integers; above 2**53 floats are rounded, to 2**63 even."""
    first = np.minimum(sample.ranks, 2.0**63 - 1024).astype(np.int64)
    return first if sample.tied is None else np.minimum(first, sample.candidates - sample.tied + 1)


def deviation(_: RankFunction, sample: Sample, parameter: Parameter = 0) -> float:
    """The median absolute deviation from the median, times 1.4826; for ties that of the mixture."""
    sample = _drop_weightless(sample)
    middle = median(_, sample)
    if sample.tied is None:
        return MAD_SCALE * median_of(np.abs(sample.ranks - middle), sample.weights)
    if math.isnan(middle):
        return math.nan
    first = _first_positions(sample)
    return MAD_SCALE * _median_from(middle, first, sample.tied, sample.weights)


def count(_: RankFunction, sample: Sample, parameter: Parameter = 0) -> float:
    """The number of tasks, whatever their weights."""
    return float(len(sample.ranks))


def median_of(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The median: for an even number of values the mean of the two middle ones, as in NumPy.

    With weights it is the smallest value at which the cumulative weight reaches half the total;
    where that weight is exactly half, it is the mean of this value and the next. Values of weight 0
    do not count. Equal weights give the plain median. Sums of weights are compared exactly.

    Examples
    --------
    >>> median_of(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    if weights is None:
        return float(np.median(values)) if values.size else math.nan
    values, weights = values[weights > 0], rescale_weights(weights[weights > 0])
    if not values.size:
        return math.nan
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    n, cumulative = len(values), np.cumsum(weights)
    half = cumulative[-1] / 2
    slack = n * np.finfo(np.float64).eps * half * 2  # more than the error of the sums
    first, last = np.searchsorted(cumulative, [half - slack, half + slack]).tolist()
    if first == last:
        return float(values[first])
    signed = np.concatenate([weights, -weights])

    def balance(i: int) -> float:
        """The weight up to i minus the weight after i; its sign is exact."""
        return math.fsum(signed[np.r_[0 : i + 1, n + i + 1 : 2 * n]].tolist())

    i = bisect_left(range(n), True, first, min(last, n - 1), key=lambda i: balance(i) >= 0)
    return float(values[i : i + 2].mean() if balance(i) == 0 else values[i])


def _drop_weightless(sample: Sample) -> Sample:
    """The tasks with a weight above 0."""
    if sample.weights is None or sample.weights.all():
        return sample
    return take(sample, sample.weights > 0)


def _median_from(
    middle: float, first: IntArray, tied: IntArray, weights: FloatArray | None
) -> float:
    """The median distance of the positions of ties from `middle`, an integer or half of one."""
    last, fold = first + (tied - 1), math.floor(middle)
    # Folded at the middle, a tie is two runs of distances, which all have the same fraction.
    left = np.maximum(np.minimum(last, fold) - first + 1, 0)
    right = tied - left
    starts = np.r_[fold - np.minimum(last, fold), np.maximum(first, fold + 1) - fold]
    sizes, total = np.r_[left, right], np.r_[tied, tied]
    fraction = middle - fold
    if fraction:  # the distances to the right are shorter by one
        starts[len(left) :] -= 1
    nonempty = sizes > 0
    doubled = None if weights is None else np.r_[weights, weights][nonempty]
    return fraction + _median_of_runs(starts[nonempty], sizes[nonempty], doubled, total[nonempty])


def _median_of_runs(
    starts: IntArray,
    sizes: IntArray,
    weights: FloatArray | None,
    shares: IntArray | None = None,
) -> float:
    """The median of runs of integers start, start + 1, ...; each integer has the weight w / share.

    The share of a run is its size if not given. Weights are compared with half the total exactly.
    """
    if not starts.size:
        return math.nan
    shares = sizes if shares is None else shares
    scale = np.ones(len(starts)) if weights is None else rescale_weights(weights)
    each = scale / shares
    slack = 8 * len(starts) * np.finfo(np.float64).eps * float((each * sizes).sum())

    from fractions import Fraction  # seldom needed, and not free to import

    def balance(x: int) -> float:
        """The weight up to x minus the weight after it; its sign is exact."""
        until = np.clip(x - starts + 1, 0, sizes)
        signed = until - (sizes - until)
        total = float((each * signed).sum())
        if abs(total) > slack:
            return total
        exact = Fraction(0)
        for share in np.unique(shares).tolist():
            same = shares == share
            if weights is None:
                part = Fraction(sum(signed[same].tolist()))
            else:
                pairs = zip(scale[same].tolist(), signed[same].tolist(), strict=True)
                part = sum((Fraction(w) * s for w, s in pairs), Fraction(0))
            exact += part / share
        return float(exact > 0) - float(exact < 0)

    low, high = int(starts.min()), int((starts + (sizes - 1)).max())
    while low < high:  # the smallest x with half of the weight up to it
        x = (low + high) // 2
        low, high = (low, x) if balance(x) >= 0 else (x + 1, high)
    if low == int((starts + (sizes - 1)).max()) or balance(low):
        return float(low)
    after = np.where(starts > low, starts, low + 1)[starts + (sizes - 1) > low]
    return (low + int(after.min())) / 2
