"""Samples of ranks of one kind, and the means of metrics over them, with weights.

The kinds of rank say which position of a tie counts. Ranks of most kinds are single positions.
Ranks of the kind "expected" are ties: each position of a tie has the weight of its task divided by
the number of positions. The means of this mixture have closed forms (`ties`); its median and
deviations are found without listing its positions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ranks.container import Ranks
from .ties import LOG, Parameter, RankFunction, mean_over_tie, mean_rank, relative_power

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray

KINDS: dict[str, Callable[[Ranks, int], IntArray | FloatArray]] = {
    "optimistic": lambda ranks, seed: ranks.optimistic,
    "realistic": lambda ranks, seed: ranks.realistic,
    "pessimistic": lambda ranks, seed: ranks.pessimistic,
    # An expected value begins at the first of the positions of a tie.
    "expected": lambda ranks, seed: ranks.optimistic,
    "random": lambda ranks, seed: ranks.random(seed),
}
DEFAULT_KIND = "realistic"
EXPECTED_KIND = "expected"
# 1 / (the third quartile of the standard normal): with this factor the median absolute deviation of
# a normal distribution is its standard deviation.
MAD_SCALE = 1.482602218505602


class Sample(NamedTuple):
    """The input of a metric: the ranks of one kind, with candidates and weights.

    Attributes
    ----------
    ranks : ndarray of float64, shape (n,)
        For the kind "expected" the first position of each tie.
    candidates : ndarray of int64, shape (n,)
    weights : ndarray of float64, shape (n,), or None
        Finite and >= 0; only their ratios matter.
    tied : ndarray of int64, shape (n,), or None
        For the kind "expected" the number of positions of each tie; None for other kinds, whose
        ranks are single positions.
    middle_of : ndarray of int64, shape (n,), or None
        For the kind "realistic" the number of positions of the tie whose middle a rank is; None for
        other kinds, and where ranks are those of no tie.
    """

    ranks: FloatArray
    candidates: IntArray
    weights: FloatArray | None = None
    tied: IntArray | None = None
    middle_of: IntArray | None = None


def sample_of(ranks: Ranks, kind: str, seed: int) -> Sample:
    """Return the ranks of a kind in the form that metrics take.

    Parameters
    ----------
    ranks : Ranks
    kind : str
        One of `KINDS`. For "expected" a metric is g(mean E f(r)): f is averaged over all orders of
        each tie. Where g is linear (mr, mrr, hits@k), that is the mean of the metric itself. The
        median and the deviations are those of the mixture that gives each position of a tie the
        weight 1 / tied.
    seed : int
        The seed of the kind "random".

    Returns
    -------
    Sample

    Examples
    --------
    >>> import truerank as tr
    >>> sample_of(tr.Ranks([0, 3], [1, 2], 10), "pessimistic", 0).ranks
    array([1., 5.])
    """
    positions = KINDS[kind](ranks, seed).astype(np.float64, copy=False)
    tied = ranks.tied if kind == EXPECTED_KIND else None
    middle_of = ranks.tied if kind == DEFAULT_KIND else None
    return Sample(positions, ranks.candidates, ranks.weights, tied, middle_of)


def take(sample: Sample, index: npt.NDArray[Any] | slice | None) -> Sample:
    """Take tasks of a sample by positions, a mask or a slice (without a copy); None takes all."""
    if index is None:
        return sample
    weights = None if sample.weights is None else sample.weights[index]
    tied = None if sample.tied is None else sample.tied[index]
    middle_of = None if sample.middle_of is None else sample.middle_of[index]
    return Sample(sample.ranks[index], sample.candidates[index], weights, tied, middle_of)


# -- means -----------------------------------------------------------------------------------------


def values_per_task(
    transform: RankFunction, sample: Sample, parameter: Parameter = 0
) -> FloatArray:
    """f(r) of every task, or its mean over the task's tie; float64, shape (n,)."""
    ranks = sample.ranks
    candidates = sample.candidates
    if sample.tied is not None:
        return mean_over_tie(transform, ranks, sample.tied, candidates, parameter)
    if sample.middle_of is not None and transform.of_middle is not None:
        return transform.of_middle(ranks, sample.middle_of, candidates, parameter)
    return transform.of_ranks(ranks, candidates, parameter)


def weighted_mean(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The arithmetic mean, sum(w v) / sum(w); nan without values or a weight above 0.

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


def power(sample: Sample, p: Parameter) -> float:
    """The power mean, (sum(w r^p) / sum(w))^(1/p): max and min at +-inf, geometric at 0.

    It is computed from the logs of powers, relative to the largest rank (p > 0) or the smallest, so
    that nothing overflows. Over ties the error grows as 1e-16 / |p|.
    """
    sample = _drop_weightless(sample)
    if not sample.ranks.size:
        return math.nan
    if p == 0:
        return math.exp(weighted_mean(values_per_task(LOG, sample), sample.weights))
    # Of a tie it takes the position whose power is the greatest.
    positions = sample.ranks
    if p > 0:
        if sample.tied is not None:
            positions = sample.ranks + (sample.tied - 1)
        extreme = float(positions.max())
    else:
        extreme = float(positions.min())
    if math.isinf(p):
        return extreme
    logs = p * np.log(positions / extreme)
    if sample.tied is not None:
        logs += np.log(relative_power(sample.ranks, sample.tied, p))
    if abs(p) < 1:  # Powers near 1 keep their digits as differences from it.
        logarithm = math.log1p(weighted_mean(np.expm1(logs), sample.weights))
    else:
        log_weights = np.zeros(len(logs)) if sample.weights is None else np.log(sample.weights)
        logarithm = _log_sum(logs + log_weights) - _log_sum(log_weights)
    return extreme * math.exp(logarithm / p)


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def variance(sample: Sample, parameter: Parameter = 0) -> float:
    """The variance of the ranks, sum(w (r - mean)^2) / sum(w) (ddof 0).

    A tie adds (m^2 - 1) / 12, the variance of its m positions.
    """
    sample = _drop_weightless(sample)
    centres, inner = tie_centres(sample)
    centres = centres - centres[:1]  # Equal ranks have no variance, not even a rounded one.
    middle = weighted_mean(centres, sample.weights)
    return weighted_mean(np.square(centres - middle) + inner, sample.weights)


def tie_centres(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """The middle of each task's tie, and the variance of the positions about it."""
    if sample.tied is None:
        return sample.ranks, np.zeros(1)
    spread: FloatArray = (np.square(sample.tied, dtype=np.float64) - 1) / 12
    return mean_rank(sample.ranks, sample.tied), spread


def count(sample: Sample, parameter: Parameter = 0) -> float:
    """The number of tasks, whatever their weights."""
    return float(len(sample.ranks))


def _drop_weightless(sample: Sample) -> Sample:
    """The tasks with a weight above 0."""
    if sample.weights is None or sample.weights.all():
        return sample
    return take(sample, sample.weights > 0)


# -- medians ---------------------------------------------------------------------------------------


def median(sample: Sample, parameter: Parameter = 0) -> float:
    """The (weighted) median of the ranks; of ties the median of their positions' mixture."""
    sample = _drop_weightless(sample)
    if sample.tied is None:
        return weighted_median(sample.ranks, sample.weights)
    tied = sample.tied.astype(np.float64)
    return _median_of_runs(sample.ranks, tied, tied, sample.weights)


def deviation(sample: Sample, parameter: Parameter = 0) -> float:
    """The median absolute deviation from the median, times 1.4826; for ties that of the mixture."""
    sample = _drop_weightless(sample)
    middle = median(sample)
    first = sample.ranks
    if sample.tied is None:
        return MAD_SCALE * weighted_median(np.abs(first - middle), sample.weights)
    tied = sample.tied.astype(np.float64)
    # The positions of a tie up to the median, folded, and those above it are runs of distances.
    left = np.clip(np.floor(middle - first) + 1, 0, tied)
    starts = np.r_[middle - (first + left - 1), first + left - middle]
    sizes = np.r_[left, tied - left]
    weights = None if sample.weights is None else np.r_[sample.weights, sample.weights]
    return MAD_SCALE * _median_of_runs(starts, sizes, np.r_[tied, tied], weights)


def weighted_median(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The median of multiples of 1/4; of an even number of values the mean of the middle two.

    With weights it is the smallest value at which the cumulative weight reaches half the total;
    where that weight is exactly half, it is the mean of this value and the next. Values of weight 0
    do not count. Equal weights give the plain median. Sums of weights are compared exactly.

    Examples
    --------
    >>> weighted_median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    if not values.size:
        return math.nan
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(rescale_weights(weights)[order])
    half = sums[-1] / 2
    rounding = 0.0  # Whole numbers add up without it.
    if weights.max() > 2**20 or (weights != np.floor(weights)).any():
        rounding = 8 * len(values) * np.finfo(np.float64).eps * sums[-1]
    lower = np.searchsorted(sums, half - rounding)
    upper = np.searchsorted(sums, half + rounding, side="right")
    if half and (not rounding or values[order[lower]] == values[order[upper]]):
        return float(values[order[lower]] + values[order[upper]]) / 2
    # Rounded sums cannot decide. Those of runs are exact: each value is a run of one number.
    sizes = (weights > 0).astype(np.float64)
    return _median_of_runs(values, sizes, np.ones(len(values)), weights)


def _median_of_runs(
    starts: FloatArray, sizes: FloatArray, shares: FloatArray, weights: FloatArray | None
) -> float:
    """The median of runs x, x + 1, ... of some sizes; each number has the weight w / share."""
    has_numbers = sizes > 0
    starts = starts[has_numbers]
    sizes = sizes[has_numbers]
    shares = shares[has_numbers]
    if not starts.size:
        return math.nan
    scale = np.ones(len(starts)) if weights is None else rescale_weights(weights[has_numbers])
    of_number = scale / shares  # Each number of a run has this weight.
    last = starts + (sizes - 1)
    slack = 8 * len(starts) * np.finfo(np.float64).eps * float((of_number * sizes).sum())

    def balance(x: float) -> float:
        """The weight up to x minus the weight after it; its sign is exact."""
        signed = 2 * np.clip(np.floor(x - starts) + 1, 0, sizes) - sizes
        total = float((of_number * signed).sum())
        if abs(total) > slack:
            return total
        return _exact_sign(scale, signed, shares)

    # It is the smallest multiple of 1/4 with half of the weight up to it, in quarters.
    low = int(4 * starts.min())
    high = int(4 * last.max())
    while low < high:
        middle = (low + high) // 2
        if balance(middle / 4) >= 0:
            high = middle
        else:
            low = middle + 1
    middle_number = low / 4
    above = last > middle_number
    if not above.any() or balance(middle_number):
        return middle_number
    following = np.maximum(starts, starts + np.floor(middle_number - starts) + 1)[above]
    return (middle_number + float(following.min())) / 2


def _exact_sign(weights: FloatArray, numerators: FloatArray, shares: FloatArray) -> float:
    """The sign of a sum of w n / share, without rounding."""
    from fractions import Fraction  # It is seldom needed, and not free to import.

    total = Fraction(0)
    terms = Counter(zip(weights.tolist(), numerators.tolist(), shares.tolist(), strict=True))
    for (weight, numerator, share), times in terms.items():
        total += Fraction(weight) * Fraction(numerator) / Fraction(share) * times
    return float(total > 0) - float(total < 0)
