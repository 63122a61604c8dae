"""What each unit adds to a metric's two sums, tops and bases, and the values of groups of tasks.

A metric is a function of a mean of f(r), and a weighted mean is a ratio of two sums: of w f and of
w. Values, intervals, comparisons and runs follow from what units add to both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import metrics
from ..arrays.row_keys import codes_of, sorted_with_order
from ..inputs.selection import indptr_of
from ..ranks.grouping import group_codes
from ..ranks.labels import LABEL_WORDS
from .averages import (
    Sample,
    median,
    power,
    rescale_weights,
    take,
    values_per_task,
    variance,
)
from .keys import NO_ADJUSTMENT, Key
from .metric_table import ADJUSTMENTS, METRICS, Metric
from .ties import LOG
from .values import RankedTasks, adjusted, compute, kept_moments

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .ties import Parameter

UNIT = "unit"
TASK = "task"
# What a unit of a task is, by the sides that the task ranks.
UNIT_OF_SIDE = dict.fromkeys(("head", "tail", "relation"), "triple")
UNIT_OF_SIDE.update(left_to_right="pair", right_to_left="pair", answers="query")
COUNT = "count"
LEAST_POWER = 1e-6  # The mean of a smaller power is that of the logarithm.
ROUNDING = 1e-12
MOST_POWER = 10  # Sums of greater powers of ranks hang on the largest alone, or leave float64.


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the units of a test set add to a metric.

    Attributes
    ----------
    key : Key
    value : float
        The metric; nan where it, or the mean, is not finite.
    mean : float
        The ratio of the sums of tops and of bases; of a variance its logarithm.
    tops, bases : ndarray of float64, shape (units,)
    merits : ndarray of float64, shape (tasks,)
        What each task, or query, adds to a mean in which more is better.
    ends : (float, float)
        The least and the greatest mean that the tasks allow.
    chance : (float, float) or None
        Mean and variance under chance, of a metric that is adjusted as a whole.
    """

    key: Key
    value: float
    mean: float
    tops: FloatArray
    bases: FloatArray
    merits: FloatArray
    ends: tuple[float, float] = (-math.inf, math.inf)
    chance: tuple[float, float] | None = None

    @property
    def is_share(self) -> bool:
        """Whether each task adds all or nothing, as for hits@k."""
        return self.key.metric in ("hits", "success")

    @property
    def extent(self) -> float:
        """How far two means may be apart."""
        return self.ends[1] - self.ends[0]

    def metric_at(self, mean: float) -> float:
        """Return the metric that this mean would have; inf where it is the inverse of 0."""
        metric = self.key.row
        try:
            if metric.mean is variance:
                mean = math.exp(mean)
            elif metric.mean is power:
                p = float(self.key.parameter)
                mean = math.exp(mean) if abs(p) < LEAST_POWER else float(mean ** (1 / p))
            value = metric.inverse(mean)
            if self.chance is not None:
                value = adjusted(self.key, value, *self.chance)
        except (ArithmeticError, ValueError):
            return math.inf
        return value


def contributions(model: Any, key: Key, codes: IntArray) -> Contributions:
    """Return what each unit adds to a metric that is a function of a mean; see `is_mean`.

    Parameters
    ----------
    model : RankedTasks or AnsweredQueries
    key : Key
        No macro average.
    codes : ndarray of int64, shape (n,)
        The unit of each task, as `unit_codes` returns it.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.metrics.keys import parse
    >>> tasks = RankedTasks(Ranks([0, 3, 4], [1, 1, 1], 10))
    >>> sums = contributions(tasks, parse("mr"), np.array([0, 1, 0]))
    >>> sums.tops, sums.bases
    (array([6., 4.]), array([2., 1.]))
    """
    if not isinstance(model, RankedTasks):
        of_queries: Contributions = model.contributions(key, codes)
        return of_queries
    metric = METRICS[key.metric]
    sample, weights, codes = weighted_sample(model, key, codes)
    memo: dict[Any, Any] = {}
    value = compute(key, sample, memo)
    chance = None
    shift: FloatArray | float = 0.0
    scale: FloatArray | float = 1.0
    if key.adjustment != NO_ADJUSTMENT and metric.single is None:
        chance = kept_moments(memo, key, sample)
    elif key.adjustment != NO_ADJUSTMENT:  # Ratio and index of a mean are sums over tasks.
        shift, scale = _chance_of_tasks(key, sample.candidates)
    with np.errstate(all="ignore"):
        bases = weights * scale
        if metric.mean is variance:
            ranks = sample.ranks - sample.ranks[:1]
            values = np.square(ranks - float(weights @ ranks / weights.sum()))
            ends = [-math.inf, math.inf]
        else:
            f = metric.transform
            if metric.mean is power and abs(key.parameter) < LEAST_POWER:
                f = LOG
            values = values_per_task(f, sample, key.parameter)
            ends = []
            for ranks in (np.ones(len(weights)), sample.candidates.astype(np.float64)):
                at_end = sample._replace(ranks=ranks, tied=None, middle_of=None)
                of_end = weights * (values_per_task(f, at_end, key.parameter) - shift)
                ends.append(float(of_end.sum() / bases.sum()))
            ends.sort()
        tops = sums_by_unit(codes, weights * (values - shift))
        bases = sums_by_unit(codes, bases)
        mean = float(tops.sum() / bases.sum())
    if not (math.isfinite(value) and math.isfinite(mean)):
        return Contributions(key, math.nan, math.nan, tops, bases, values)
    if metric.mean is variance and mean > 0:  # Its logarithm is nearer to normal.
        influences = mean_and_influences(tops, bases)[1]
        tops = math.log(mean) * bases + influences / mean * bases.sum()
        mean = math.log(mean)
    merits = values if metric.increasing else -values
    return Contributions(key, value, mean, tops, bases, merits, (ends[0], ends[1]), chance)


def weighted_sample(tasks: Any, key: Key, codes: IntArray) -> tuple[Sample, FloatArray, IntArray]:
    """Return the tasks of a key: their ranks, weights with safe sums, and codes of units.

    Tasks of weight 0 are left out of all metrics but count, which counts them. Of queries the ranks
    are those of the first right answers.
    """
    if not isinstance(tasks, RankedTasks):
        codes = codes_of(tasks.with_right(tasks.codes_of_units(codes, "unit"))).codes
        return tasks.first_places(key), np.ones(len(codes)), codes
    tasks.sides.check(key.side, key)
    sample = tasks.sample(key.side, key.kind)
    mask = tasks.sides.mask(key.side)
    if mask is not None:  # Some units may have no task left.
        codes = codes_of(codes[mask]).codes
    if sample.weights is not None and not sample.weights.all() and key.metric != COUNT:
        has_weight = sample.weights > 0
        sample = take(sample, has_weight)
        codes = codes_of(codes[has_weight]).codes
    weights = np.ones(len(sample.ranks))
    if sample.weights is not None and (sample.weights != sample.weights[:1]).any():
        weights = rescale_weights(sample.weights)
    return sample, weights, codes


def _chance_of_tasks(key: Key, candidates: IntArray) -> tuple[FloatArray | float, FloatArray]:
    """What a ratio or an index takes from each task's f(r), and what it divides by."""
    metric = key.row
    sizes, place = np.unique(candidates, return_inverse=True)
    chance: FloatArray = metric.single(sizes, key.parameter)[0][place]  # type: ignore[misc]
    if key.adjustment == "ratio":
        return 0.0, chance
    return chance, metric.optimum - chance


def mean_and_influences(tops: FloatArray, bases: FloatArray) -> tuple[float, FloatArray]:
    """Return the ratio of two sums over units, and its derivative by the weight of each unit.

    Parameters
    ----------
    tops, bases : ndarray of float64, shape (units,)

    Examples
    --------
    >>> mean_and_influences(np.array([1.0, 0.5]), np.array([1.0, 1.0]))
    (0.75, array([ 0.125, -0.125]))
    """
    total = bases.sum()
    mean = float(tops.sum() / total)
    influences = tops - mean * bases
    # What is only rounding is 0: seven values of .1 are all alike.
    is_rounding = np.abs(influences) <= ROUNDING * (np.abs(tops) + np.abs(mean * bases))
    return mean, np.where(is_rounding, 0.0, influences / total)


def is_mean(key: Key) -> bool:
    """Whether a metric is a function of a mean over units; medians and extreme ranks are none.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> [is_mean(parse(key)) for key in ("gmr", "median", "power_mean:2", "power_mean:inf")]
    [True, False, True, False]
    """
    metric = key.row
    if metric.mean is power:
        return bool(abs(key.parameter) <= MOST_POWER)
    return key.metric != COUNT and metric.mean in (None, variance)


def unit_codes(ranks: Ranks, unit: LabelsLike | None) -> tuple[IntArray, str]:
    """Return the unit of each task as a code, each of which occurs, and the name of a unit.

    "unit" is the label "unit" of the ranks, or single tasks where they have none; "task" and None
    are single tasks; other labels are those of `group_codes`.

    Examples
    --------
    >>> from truerank import Ranks
    >>> unit_codes(Ranks([0, 3, 4], [1, 1, 1], 10, queries=[7, 7, 9]), "query")
    (array([0, 0, 1]), 'query')
    """
    if unit is None or (isinstance(unit, str) and unit in (UNIT, TASK)):
        if ranks.answers is not None:  # In retrieval, queries are drawn.
            unit = "query"
        elif unit != UNIT or ranks.unit is None:
            return np.arange(len(ranks)), TASK
    codes, _ = group_codes(ranks, unit, "unit")
    name = LABEL_WORDS.get(unit, unit) if isinstance(unit, str) else "group"
    if name == UNIT and ranks.origins and ranks.side is not None and ranks.side.vocabulary:
        name = UNIT_OF_SIDE.get(ranks.side.vocabulary[0], UNIT)
    return codes, name


def sums_by_unit(codes: IntArray, values: FloatArray) -> FloatArray:
    """Add up the values of the tasks of each unit.

    Examples
    --------
    >>> sums_by_unit(np.array([0, 1, 0]), np.array([1.0, 0.5, 2.0]))
    array([3. , 0.5])
    """
    sums: FloatArray = np.bincount(codes, values).astype(np.float64, copy=False)
    return sums


# -- groups of tasks -------------------------------------------------------------------------------


def value_by_group(model: Any, key: Key, codes: IntArray, groups: int) -> FloatArray:
    """Return the value of a key in each group, by the group of each task, or of each query."""
    if not isinstance(model, RankedTasks):
        of_queries: FloatArray = model.values_within(key, codes, groups)
        return of_queries
    model.sides.check(key.side, key)
    sample = model.sample(key.side, key.kind)
    mask = model.sides.mask(key.side)
    codes = codes if mask is None else codes[mask]
    values = values_within(key.row, sample, codes, groups, key.parameter)
    if key.adjustment != NO_ADJUSTMENT:
        means, variances = moments_within(key, sample, codes, groups)
        with np.errstate(all="ignore"):
            values = ADJUSTMENTS[key.adjustment](values, means, variances, key.row.optimum)
    return values


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
    >>> from truerank.metrics import METRICS
    >>> sample = Sample(np.array([1.0, 4.0, 2.0]), np.array([9, 9, 9]))
    >>> values_within(METRICS["mrr"], sample, np.array([0, 0, 1]), 2, 0)
    array([0.625, 0.5  ])
    """
    if metric.mean is None:
        f = values_per_task(metric.transform, sample, parameter)
        means = means_within(f, sample.weights, codes, groups)
    elif metric.mean is median and sample.weights is None:
        means = medians_within(sample.ranks, codes, groups)
    else:
        means = np.full(groups, np.nan)
        for group, positions in enumerate(positions_within(codes, groups)):
            if len(positions):
                means[group] = metric.mean(take(sample, positions), parameter)
    if metric.inverse is float:  # This inverse changes nothing.
        return means
    return np.array([metric.inverse(mean) for mean in means.tolist()], dtype=np.float64)


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

    For a mean over tasks they are sums over tasks; for a product of them, their logarithms are.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> sample = Sample(np.array([1.0, 4.0, 2.0]), np.array([9, 9, 5]))
    >>> moments_within(parse("mr"), sample, np.array([0, 0, 1]), 2)[0]
    array([5., 3.])
    >>> moments_within(parse("gmr"), sample, np.array([0, 1, 1]), 3)[0].round(6)
    array([5.      , 3.596207,      nan])
    """
    row = key.row
    scaled, totals = _weights_within(sample.weights, codes, groups)
    if row.single is not None:
        sizes, place = np.unique(sample.candidates, return_inverse=True)
        mean, variance = (column[place] for column in row.single(sizes, key.parameter))
        spread = np.bincount(codes, np.square(scaled) * variance, groups)
        return np.bincount(codes, scaled * mean, groups) / totals, spread / np.square(totals)
    powers = row.exponent * scaled / totals[codes]
    log_means, log_ratios = metrics.chance_model.logs_of_powers(sample.candidates, powers)
    mean = np.exp(np.bincount(codes, log_means, groups))
    mean[np.isnan(totals)] = np.nan
    return mean, np.square(mean) * np.expm1(np.bincount(codes, log_ratios, groups))


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
