"""The values of keys, adjusted for chance: of the tasks of a sample, and of each group of tasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import sorted_with_order
from ..errors import InputValueError, UnknownKeyError
from ..inputs.checks import is_integer
from ..inputs.selection import indptr_of
from ..naming import public
from . import chance_model
from .averages import arithmetic, median, values_per_task
from .keys import NO_ADJUSTMENT, Key, parse_alone
from .kinds import Sample, take
from .metric_table import ADJUSTMENTS, METRICS, Metric

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from .chance_model import Tasks
    from .ties import Parameter


@public("truerank")
def chance(
    metric: str,
    candidates: int | npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.ArrayLike | None = None,
) -> tuple[float, float]:
    """Return the mean and variance of a metric where each rank is uniform on 1..N, independently.

    They are exact up to rounding, without simulation. With the normalised weights w of the tasks:

    - mr: sum w (N + 1) / 2 and sum w^2 (N^2 - 1) / 12;
    - mrr: sum w H_N / N and sum w^2 (H_N^(2) / N - (H_N / N)^2), harmonic numbers of order 1, 2;
    - hits@k: sum w p and sum w^2 p (1 - p), with p = min(k / N, 1);
    - any other mean of f(r): sum w E f and sum w^2 Var f, by sums of f over the ranks 1..N;
    - gmr, igmr: products over the tasks of the moments of r^w and r^-w;
    - imr, hmr, power_mean:p (-4 <= p <= 10 with |p| >= 0.05; p = 0, inf and -inf have formulas of
      their own): an integral of the Laplace transform, since E(1 / X) is not 1 / E(X);
    - median, imedian: from the order statistics.

    The literature prints the variance of the mean rank with 1/n for 1/n^2, and a continuous
    approximation of H_N / N.

    Parameters
    ----------
    metric : str
        A key without side, kind and adjustment: "mrr", "hits@10", "power_mean:2".
    candidates : array_like of int, shape (n,), a pair (values, multiplicities), or int
        The number of candidates of every task, the true one included, each >= 1; or the distinct
        numbers and how many tasks have each. A tuple of two sequences is such a pair. An int is the
        number of candidates of one task.
    weights : array_like of float, shape of candidates or values, optional
        The weights of the tasks: finite, >= 0, not all 0. Only their ratios matter.

    Returns
    -------
    mean, variance : float
        (nan, nan) without tasks. Exactly (1, 0) where every N is 1, and for hits@k with k >= N.

    Raises
    ------
    KeyError
        For an unknown metric, one that has no chance model (std, variance, mad, count; the median
        with unequal weights), and for a key with side, kind or adjustment.
    TypeError, ValueError
        For invalid candidates or weights.

    Notes
    -----
    The cost grows with the number of distinct N, not with the number of tasks. Ties do not matter:
    the model has none.

    Examples
    --------
    >>> chance("mr", [3, 3])
    (2.0, 0.3333333333333333)
    >>> round(chance("mrr", 40943)[0], 9)
    0.000273482
    >>> mean, variance = chance("hits@1", ([10, 20], [100, 100]))
    >>> round(mean, 12), round(variance, 12)
    (0.075, 0.00034375)
    """
    key = parse_alone(metric)
    return moments_of_tasks(key, grouped_tasks(candidates, weights))


def grouped_tasks(candidates: Any, weights: Any = None) -> Tasks:
    """Group equal tasks; those of one call have a weight above 0, or there are none."""
    if is_integer(candidates):  # A single number is that of one task.
        candidates = [candidates]
    tasks = chance_model.compress(candidates, weights)
    if weights is not None and not tasks.count and np.size(weights):
        expected = "at least one task with a weight above 0"
        raise InputValueError("weights", expected=expected, got="none")
    return tasks


def moments(key: Key, candidates: Any, weights: Any = None) -> tuple[float, float]:
    """Return the mean and variance under chance of a key's metric; nan without a weight above 0."""
    return moments_of_tasks(key, chance_model.compress(candidates, weights))


def moments_of_tasks(key: Key, tasks: Tasks) -> tuple[float, float]:
    """Return what `moments` returns, of tasks that are counted already."""
    model = METRICS[key.metric].chance
    if model is None:
        raise UnknownKeyError(repr(str(key)), f"{key.metric} has no chance model")
    return model(tasks, key.parameter)


def compute(key: Key, sample: Sample, memo: dict[Any, Any] | None = None) -> float:
    """Compute the value of a key from the ranks of its side and kind; nan without tasks.

    Parameters
    ----------
    key : Key
        Its side and kind have been applied already: the sample holds those ranks.
    sample : Sample
    memo : dict, optional
        Where the mean and variance under chance are kept for other kinds and adjustments of the
        same tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics.keys import parse
    >>> from truerank.metrics.kinds import Sample
    >>> compute(parse("hits@3"), Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.5
    """
    metric = METRICS[key.metric]
    measured = metric.inverse(metric.mean(metric.transform, sample, key.parameter))
    if key.adjustment == NO_ADJUSTMENT:
        return measured
    if memo is None:
        memo = {}
    mean, variance = kept_moments(memo, key, sample)
    return adjusted(key, measured, mean, variance)


def adjusted(key: Key, measured: float, mean: float, variance: float) -> float:
    """Adjust a value as a key says, with the mean and variance under chance.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> adjusted(parse("amri"), 1.5, 2.0, 1 / 3)
    0.5
    """
    if math.isnan(measured):
        return math.nan
    optimum = METRICS[key.metric].optimum
    return float(ADJUSTMENTS[key.adjustment](measured, mean, variance, optimum))


def kept_moments(memo: dict[Any, Any], key: Key, sample: Sample) -> tuple[float, float]:
    """Return mean and variance under chance of a key's metric, computed once for each side.

    Parameters
    ----------
    memo : dict
        Where results are kept: the memo of the Ranks that the sample is taken from, with the
        weights in force.
    key : Key
        Its kind and adjustment do not matter.
    sample : Sample
        The tasks of its side.
    """
    place = "chance", key.of_tasks
    if place not in memo:
        memo[place] = moments(key, sample.candidates, sample.weights)
    kept: tuple[float, float] = memo[place]
    return kept


# -- groups of tasks -------------------------------------------------------------------------------


def values_within(
    metric: Metric, sample: Sample, codes: IntArray, groups: int, parameter: Parameter
) -> FloatArray:
    """Compute a metric of every group; nan for one without a weight above 0.

    Parameters
    ----------
    metric : Metric
    sample : Sample
    codes : ndarray of int64, shape (n,)
        The group of each task, from 0 to groups - 1.
    groups : int
    parameter : float
        That of the metric.

    Returns
    -------
    ndarray of float64, shape (groups,)

    Examples
    --------
    >>> sample = Sample(np.array([1.0, 4.0, 2.0]), np.array([9, 9, 9]))
    >>> values_within(METRICS["mrr"], sample, np.array([0, 0, 1]), 2, 0)
    array([0.625, 0.5  ])
    """
    means: FloatArray | None = None
    if metric.mean is arithmetic:
        f = values_per_task(metric.transform, sample, parameter)
        means = means_within(f, sample.weights, codes, groups)
    elif metric.mean is median and sample.weights is None and sample.tied is None:
        means = medians_within(sample.ranks, codes, groups)
    if means is not None and metric.inverse is float:  # This inverse changes nothing.
        return means
    if means is not None:
        return np.array([metric.inverse(mean) for mean in means.tolist()], dtype=np.float64)
    values = np.full(groups, np.nan)
    for group, positions in enumerate(positions_within(codes, groups)):
        if len(positions):
            of_group = take(sample, positions)
            values[group] = metric.inverse(metric.mean(metric.transform, of_group, parameter))
    return values


def means_within(
    values: FloatArray, weights: FloatArray | None, codes: IntArray, groups: int
) -> FloatArray:
    """The arithmetic mean of every group, sum(w v) / sum(w); nan without a weight above 0.

    Examples
    --------
    >>> means_within(np.array([1.0, 4.0, 2.0]), np.array([2.0, 1.0, 0.0]), np.array([0, 0, 1]), 2)
    array([ 2., nan])
    """
    scaled, totals = _weights_within(weights, codes, groups)
    return np.bincount(codes, scaled * values, groups) / totals


def medians_within(values: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """The median of every group, the mean of the middle two of an even number; nan for none.

    Examples
    --------
    >>> medians_within(np.array([1.0, 4.0, 2.0]), np.array([0, 0, 2]), 3)
    array([2.5, nan, 2. ])
    """
    sizes = np.bincount(codes, minlength=groups)
    ends = np.cumsum(sizes)
    filled = sizes > 0
    middle = (ends - sizes + sizes // 2)[filled]  # It is the upper middle of an even number.
    below = middle - (sizes[filled] + 1) % 2
    ordered = values[np.lexsort((values, codes))]
    medians = np.full(groups, np.nan)
    medians[filled] = (ordered[below] + ordered[middle]) / 2
    return medians


def moments_within(
    key: Key, sample: Sample, codes: IntArray, groups: int
) -> tuple[FloatArray, FloatArray]:
    """The mean and the variance of a metric under chance in every group.

    For a metric that is a mean they are sums over tasks. For other metrics the chance model is
    called once for all groups with the same candidates and weights.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> sample = Sample(np.array([1.0, 4.0, 2.0]), np.array([9, 9, 5]))
    >>> moments_within(parse("mr"), sample, np.array([0, 0, 1]), 2)[0]
    array([5., 3.])
    """
    single = METRICS[key.metric].single
    if single is not None:
        sizes, place = np.unique(sample.candidates, return_inverse=True)
        mean, variance = (column[place] for column in single(sizes, key.parameter))
        scaled, totals = _weights_within(sample.weights, codes, groups)
        spread = np.bincount(codes, np.square(scaled) * variance, groups)
        return np.bincount(codes, scaled * mean, groups) / totals, spread / np.square(totals)
    known: dict[tuple[bytes, ...], tuple[float, float]] = {}
    rows = []
    for positions in positions_within(codes, groups):
        group = take(sample, positions)
        same: tuple[bytes, ...] = (group.candidates.tobytes(),)
        if group.weights is not None:
            same += (group.weights.tobytes(),)
        if same not in known:
            known[same] = moments(key, group.candidates, group.weights)
        rows.append(known[same])
    mean, variance = np.reshape(rows, (-1, 2)).T
    return mean, variance


def positions_within(codes: IntArray, groups: int) -> list[IntArray]:
    """The positions of each group's tasks, in their order.

    Examples
    --------
    >>> positions_within(np.array([1, 0, 1]), 2)
    [array([1]), array([0, 2])]
    """
    order, bounds = order_of_groups(codes, groups)
    return np.split(order, bounds[1:])[:groups]


def order_of_groups(codes: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """The positions of tasks, group by group, and where those of each group begin and end."""
    sizes = np.bincount(codes, minlength=groups)
    return sorted_with_order(codes)[1], indptr_of(sizes)


def _weights_within(
    weights: FloatArray | None, codes: IntArray, groups: int
) -> tuple[FloatArray, FloatArray]:
    """The weights, times a power of two for each group, so that sums are safe; and their sums.

    The sum of a group without a weight above 0 is nan.
    """
    scaled = np.ones(len(codes))
    if weights is not None:
        greatest = np.zeros(groups)
        np.maximum.at(greatest, codes, weights)
        scaled = np.ldexp(weights, -np.frexp(greatest)[1][codes])
    totals = np.bincount(codes, scaled, groups)
    return scaled, np.where(totals > 0, totals, np.nan)
