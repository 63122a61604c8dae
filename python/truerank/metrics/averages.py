"""Samples of ranks of one kind, and the means of metrics over them, with weights.

The kinds of rank say which position of a tie counts. Ranks of most kinds are single positions.
Ranks of the kind "expected" are ties, over whose positions f is averaged, in closed form (`ties`):
only what is itself a mean of f has this kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ranks.container import Ranks
from .ties import Parameter, RankFunction, mean_over_tie

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
        One of `KINDS`. For "expected" f is averaged over all orders of each tie, which for a mean
        of f (mr, mrr, hits@k, ndcg@k) is the mean of the metric itself.
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
    that nothing overflows.
    """
    sample = _drop_weightless(sample)
    ranks = sample.ranks
    if not ranks.size:
        return math.nan
    if p == 0:
        return math.exp(weighted_mean(np.log(ranks), sample.weights))
    extreme = float(ranks.max()) if p > 0 else float(ranks.min())
    if math.isinf(p):
        return extreme
    logs = p * np.log(ranks / extreme)
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
    """The variance of the ranks, sum(w (r - mean)^2) / sum(w) (ddof 0)."""
    sample = _drop_weightless(sample)
    ranks = sample.ranks - sample.ranks[:1]  # Equal ranks have no variance, not even a rounded one.
    middle = weighted_mean(ranks, sample.weights)
    return weighted_mean(np.square(ranks - middle), sample.weights)


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
    """The (weighted) median of the ranks."""
    return weighted_median(sample.ranks, sample.weights)


def deviation(sample: Sample, parameter: Parameter = 0) -> float:
    """The (weighted) median absolute deviation from the median, times 1.4826."""
    distances = np.abs(sample.ranks - median(sample))
    return MAD_SCALE * weighted_median(distances, sample.weights)


def weighted_median(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The median; of an even number of values the mean of the middle two.

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
