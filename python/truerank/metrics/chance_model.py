"""The chance model: mean and variance of a metric where all ranks are equally likely.

The rank of a task with N candidates is uniform on 1..N, tasks are independent, and N and the
weight may differ from task to task. Results are float64 and deterministic, without simulation:
(nan, nan) without tasks, and exactly (1, 0) where every task has a single candidate.

A mean over tasks of f(r) adds up the moments of f, in closed form or by a sum over the ranks. gmr
and igmr are products over tasks. What is neither has no model: docs/chance.md, which derives these,
draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..arrays.row_keys import count_values
from ..errors import InputValueError
from ..inputs.array_likes import checked_weights, integers
from ..inputs.checks import has_dimensions
from .ties import MOST, power_sum

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from .metric_table import MetricRow
    from .ties import Parameter

    CandidatesLike: TypeAlias = npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]

Moments: TypeAlias = tuple[float, float]

# -- tasks -----------------------------------------------------------------------------------------


class GroupedTasks(NamedTuple):
    """Tasks by their distinct pairs of candidates and weight, without tasks of weight 0.

    Sizes ascend, within one size the weights, which of all tasks sum to 1. All are of shape (d,).
    """

    sizes: IntArray  # the numbers of candidates, >= 1
    weights: FloatArray  # that of one such task, > 0
    multiplicities: IntArray  # how many such tasks there are, >= 1

    @property
    def count(self) -> int:  # type: ignore[override]  # in place of tuple.count
        """The number of tasks."""
        return int(self.multiplicities.sum())


def _scale_weights(weights: npt.ArrayLike, length: int) -> FloatArray:
    """Check weights, and divide them by a power of two, so that no sum of them overflows."""
    given = checked_weights(weights, length=length)
    _, exponent = np.frexp(given.max(initial=0.0))
    relative: FloatArray = np.ldexp(given, -exponent)
    relative[relative < 2.0**-1021] = 0.0  # They are negligible beside the greatest.
    return relative


def group_tasks(candidates: CandidatesLike, weights: npt.ArrayLike | None = None) -> GroupedTasks:
    """Count the tasks of each number of candidates and each weight.

    Candidates are one number for each task, or `(values, multiplicities)`, of which values may
    repeat, and multiplicities be 0; weights belong to tasks, or to values. Only ratios of weights
    matter. Tasks with weight 0, or below some 1e-307 of the greatest weight, are left out.

    >>> group_tasks(([3, 5], [1, 2]), weights=[6, 1]).weights
    array([0.75 , 0.125])
    """
    sizes, multiplicities = _read_candidates(candidates)
    if multiplicities is None and weights is None:
        sizes, multiplicities = count_values(sizes)
    elif multiplicities is None:
        multiplicities = np.ones(len(sizes), dtype=np.int64)
    relative = np.ones(len(sizes)) if weights is None else _scale_weights(weights, len(sizes))

    present = (multiplicities > 0) & (relative > 0)
    order = np.flatnonzero(present)[np.lexsort((relative[present], sizes[present]))]
    sizes = sizes[order]
    relative = relative[order]
    multiplicities = multiplicities[order]
    if not len(sizes):
        return GroupedTasks(sizes, relative, multiplicities)

    # Equal rows follow each other.
    is_new = np.ones(len(sizes), dtype=np.bool_)
    is_new[1:] = (sizes[1:] != sizes[:-1]) | (relative[1:] != relative[:-1])
    first = np.flatnonzero(is_new)
    multiplicities = np.add.reduceat(multiplicities, first)
    total = (relative[first] * multiplicities).sum()
    # A weight is never 0, however many tasks there are.
    shares = np.maximum(relative[first] / total, np.finfo(np.float64).tiny)
    return GroupedTasks(sizes[first], shares, multiplicities)


def _read_candidates(candidates: Any) -> tuple[IntArray, IntArray | None]:
    """Read candidates and multiplicities in either form."""
    counts = None
    if isinstance(candidates, tuple) and len(candidates) == 2 and has_dimensions(candidates[0]):
        candidates, counts = candidates
    sizes = integers("candidates", candidates)
    _check_least("candidates", sizes, 1)
    if counts is None:
        return sizes, None
    multiplicities = integers("multiplicities", counts)
    if len(multiplicities) != len(sizes):
        expected = f"{len(sizes)} integers, one for each value of candidates"
        shape = f"shape {multiplicities.shape}"
        raise InputValueError("multiplicities", expected=expected, got=shape)
    _check_least("multiplicities", multiplicities, 0)
    if multiplicities.sum(dtype=np.float64) >= 2.0**63:
        raise InputValueError("multiplicities", expected="fewer than 2**63 tasks in all")
    return sizes, multiplicities


def _check_least(name: str, values: IntArray, least: int) -> None:
    if (values < least).any():
        i = int((values < least).argmax())
        got = f"{values[i]} at position {i}"
        raise InputValueError(name, expected=f"integers >= {least}", got=got)


# -- means of f(r) ---------------------------------------------------------------------------------

MOST_RANKS = 2**31  # To add up f of more ranks would take minutes.
_BLOCK = 1 << 14  # The terms of so many ranks are in memory at once.


def task_moments(metric: MetricRow, parameter: Parameter, tasks: GroupedTasks) -> Moments:
    """Return mean and variance of a metric: a mean over tasks, or a product over them.

    They are nan without tasks.

    >>> from truerank.metrics import METRICS
    >>> task_moments(METRICS["mr"], 0, group_tasks([3, 5]))
    (2.5, 0.6666666666666666)
    """
    if not len(tasks.sizes):
        return math.nan, math.nan
    # It is the product of r^(exponent w) over all tasks: logs of moments add up.
    if not metric.is_mean:
        log_means, log_ratios = log_power_moments(tasks.sizes, metric.exponent * tasks.weights)
        mean = math.exp(float(tasks.multiplicities @ log_means))
        return mean, mean**2 * math.expm1(float(tasks.multiplicities @ log_ratios))
    means, variances = moments_of_ranks(metric, parameter, tasks.sizes)
    if not variances.any():  # f has one value for every rank, as hits@k where k reaches all.
        return float(means[0]), 0.0
    shares = tasks.weights * tasks.multiplicities
    return float((shares * means).sum()), float((shares * (tasks.weights * variances)).sum())


def moments_of_ranks(
    metric: MetricRow, parameter: Parameter, sizes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of f(r), of r uniform on 1..N for each N; float64, shape (d,) both.

    f may be 0 beyond a cutoff k. The share q = min(k / N, 1) of the N ranks is within it. With the
    mean m and the variance v of f there, the mean is q m, the variance q v + q (1 - q) m^2.
    """
    has_cutoff = metric.is_cut and parameter
    within = np.minimum(sizes, min(parameter, MOST)) if has_cutoff else sizes
    if metric.moments is not None:
        mean, variance = metric.moments(within, parameter)
    else:
        mean, variance = _summed_moments(metric, parameter, within)
    if not has_cutoff:
        return mean, variance
    q = within / sizes
    return q * mean, q * variance + q * ((sizes - within) / sizes) * np.square(mean)


def _summed_moments(
    metric: MetricRow, parameter: Parameter, sizes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Add up f over the ranks; f does not depend on the number of candidates."""
    if not len(sizes):
        return np.empty(0), np.empty(0)
    most = int(sizes.max())

    def values(ranks: FloatArray) -> FloatArray:
        return metric.of_rank(ranks, np.broadcast_to(most, ranks.shape), parameter)

    # Squares of distances from a mean do not cancel.
    middle = values(np.arange(1.0, min(most, _BLOCK) + 1)).mean()

    def distances(ranks: FloatArray) -> FloatArray:
        away = values(ranks) - middle
        return np.stack([away, np.square(away)])

    mean, square = running_sums(distances, sizes) / sizes
    return middle + mean, np.maximum(square - np.square(mean), 0.0)


def running_sums(terms: Callable[[FloatArray], FloatArray], sizes: IntArray) -> FloatArray:
    """Return the sums of each of m terms over the ranks 1..N, for each N of at least one: (m, d).

    `terms` has those of some ranks, shape (m, ranks).

    >>> running_sums(lambda ranks: np.stack([ranks, ranks**2]), np.array([3, 2]))
    array([[ 6.,  3.],
           [14.,  5.]])
    """
    distinct, codes = np.unique(sizes, return_inverse=True)
    most = int(distinct[-1])
    if most > MOST_RANKS:
        expected = f"at most {MOST_RANKS:,} of a task, as chance of this metric adds up its ranks "
        expected += "one by one"
        raise InputValueError("candidates", expected=expected, got=f"{most:,}")
    sum_before: FloatArray | float = 0.0  # over the ranks before the block
    done = 0  # So many of the distinct N end before the block.
    sums = []
    for begin in range(0, most, _BLOCK):  # A block has the ranks from begin + 1 on.
        block = terms(np.arange(begin + 1.0, min(begin + _BLOCK, most) + 1))
        done_after = int(np.searchsorted(distinct, begin + _BLOCK, side="right"))
        if done_after > done:
            last_columns = distinct[done:done_after] - begin - 1
            sums.append(sum_before + np.cumsum(block, axis=1)[:, last_columns])
        sum_before = sum_before + block.sum(axis=1, keepdims=True)
        done = done_after
    return np.concatenate(sums, axis=1)[:, codes]


# -- products --------------------------------------------------------------------------------------

_CUMULANTS = 8
_LARGE = 0.01  # So many cumulants are enough up to this share of the weight.
_LISTED = 48  # Powers of so many ranks are added one by one, those of others by a closed form.


def log_power_moments(sizes: IntArray, powers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log E r^s, and the log of the ratio E r^2s / (E r^s)^2, which add up over tasks.

    Each task has its power s, from -1 to 1. Of a small one, with the cumulants c of log r, the
    first is the sum of c_k s^k / k!, and the second that of (2^k - 2) c_k s^k / k!, of which no
    digits cancel.
    """
    log_means = np.zeros(len(sizes))
    log_ratios = np.zeros(len(sizes))

    large = np.abs(powers) > _LARGE
    log_means[large] = np.log(mean_powers(sizes[large], powers[large]))
    log_squares = np.log(mean_powers(sizes[large], 2 * powers[large]))
    log_ratios[large] = log_squares - 2 * log_means[large]

    small = ~large
    distinct, codes = np.unique(sizes[small], return_inverse=True)
    if len(distinct):
        for k, cumulants in enumerate(log_cumulants(distinct), 1):
            terms = cumulants[codes] * powers[small] ** k / math.factorial(k)
            log_means[small] += terms
            log_ratios[small] += (2**k - 2) * terms
    return log_means, log_ratios


def mean_powers(sizes: IntArray, powers: FloatArray) -> FloatArray:
    """Return E r^s of each task, of r uniform on 1..N and -2 <= s <= 2.

    >>> mean_powers(np.array([2, 2]), np.array([1.0, -1.0]))
    array([1.5 , 0.75])
    """
    total = power_sum(_LISTED + 0.5, np.maximum(sizes, _LISTED) + 0.5, powers)
    for rank in range(1, _LISTED + 1):
        total += np.where(rank <= sizes, float(rank) ** powers, 0.0)
    return total / sizes


def log_cumulants(sizes: IntArray) -> list[FloatArray]:
    """Return the first cumulants of log r, of r uniform on 1..N for each N; float64, shape (d,)."""
    near_mean = math.log(int(sizes.max())) - 1  # Moments about it are small.

    def powers(ranks: FloatArray) -> FloatArray:
        distances = np.log(ranks) - near_mean
        rows = np.ones((_CUMULANTS + 1, len(ranks)))
        for k in range(1, _CUMULANTS + 1):
            np.multiply(rows[k - 1], distances, out=rows[k])
        return rows[1:]

    moments = running_sums(powers, sizes) / sizes  # The first one is in row 0.
    cumulants: list[FloatArray] = []
    for k in range(1, _CUMULANTS + 1):
        # c_k is m_k less the sum of C(k - 1, j - 1) c_j m_(k - j) over j < k.
        cumulant = moments[k - 1].copy()
        for j, lower in enumerate(cumulants, 1):
            cumulant -= math.comb(k - 1, j - 1) * lower * moments[k - j - 1]
        cumulants.append(cumulant)
    cumulants[0] += near_mean
    return cumulants
