"""What each unit adds to a metric's two sums, tops and bases, and the values of groups of tasks.

A metric is a function of a mean of f(r), and a weighted mean is a ratio of two sums: of w f and of
w. Values, intervals, comparisons and runs follow from what units add to both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import metrics
from ..arrays.row_keys import factorize, sorted_with_order
from ..errors import UnknownKeyError
from ..inputs.selection import lengths_to_indptr
from ..ranks.grouping import group_codes
from ..ranks.labels import LABEL_WORDS
from .keys import NO_ADJUSTMENT, Key, fail
from .metric_table import ADJUSTMENTS, median, power_mean, rescale_weights, variance, weighted_mean
from .values import adjusted

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .values import Rankings, UnitValues

UNIT = "unit"
TASK = "task"
# What a unit of a task is, by the sides that the task ranks.
UNIT_OF_SIDE = dict.fromkeys(("head", "tail", "relation"), "triple")
UNIT_OF_SIDE.update(left_to_right="pair", right_to_left="pair", answers="query")
COUNT = "count"
LEAST_POWER = 1e-6  # The mean of a smaller power is that of the logarithm.
ROUNDING = 1e-12
MOST_NAMED = 10  # A message names so many groups.
MOST_POWER = 10  # Sums of greater powers of ranks hang on the largest alone, or leave float64.


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the units of a test set add to a metric: tops and bases, shape (units,).

    The mean is the ratio of their sums, of a variance its logarithm; `ends` are the least and the
    greatest of any tasks. The value is nan where it, or the mean, is not finite. `heaviest` is the
    greatest weight of a unit, and `trials` is (sum of w)^2 / sum of w^2 over the weights w of
    tasks, or of queries. `chance` are mean and variance under chance, of a metric that is adjusted
    as a whole.
    """

    key: Key
    value: float
    mean: float
    tops: FloatArray
    bases: FloatArray
    ends: tuple[float, float]
    heaviest: float
    trials: float
    chance: tuple[float, float] | None = None

    @property
    def extent(self) -> float:
        """How far two means may be apart."""
        return self.ends[1] - self.ends[0]

    @property
    def is_hit_share(self) -> bool:
        """Whether it is a share of hits, also one whose adjustment is the same for all tasks."""
        return self.key.row.is_binary and math.isfinite(self.extent)

    @cached_property
    def is_all_or_nothing(self) -> bool:
        """Whether all units have 0 or 1 of a metric between these, with equal weight."""
        if math.isnan(self.mean) or not (self.is_hit_share or self.ends == (0, 1)):
            return False
        has_equal_weights = np.ptp(self.bases) <= ROUNDING * self.bases.max()
        shares = np.round((self.tops / self.bases - self.ends[0]) / self.extent, 12)
        return bool(has_equal_weights and ((shares == 0) | (shares == 1)).all())

    def metric_at(self, mean: float) -> float:
        """Return the value of the metric where this is the mean; inf for the inverse of 0."""
        metric = self.key.row
        average = mean
        try:
            if metric.average is variance or _averages_logarithms(self.key):
                average = math.exp(mean)
            elif metric.average is power_mean:
                average = float(mean ** (1 / float(self.key.parameter)))
            value = metric.inverse(average)
            if self.chance is not None:
                value = adjusted(self.key, value, *self.chance)
        except (ArithmeticError, ValueError):
            return math.inf
        return value


def contributions(model: Rankings, key: Key, codes: IntArray) -> Contributions:
    """Return what each unit adds to a metric that is a function of a mean (see `is_mean`).

    `codes` has the unit of each task, as `unit_codes` returns it. A key of another value, a macro
    average and z are refused: units add nothing to them.

    >>> from truerank import Ranks
    >>> from truerank.metrics.keys import parse
    >>> from truerank.metrics.values import Rankings
    >>> tasks = Rankings(Ranks([0, 3, 4], [1, 1, 1], 10))
    >>> sums = contributions(tasks, parse("mr"), np.array([0, 1, 0]))
    >>> sums.tops, sums.bases
    (array([6., 4.]), array([2., 1.]))
    """
    if key.macro or key.adjustment == "z" or not is_mean(key):
        fail(str(key), "it is not a function of a mean over units")
    unit_values = model.unit_values(key)
    value = model.value(key, unit_values)
    values, weights, units = weighted_values(model, key, unit_values, codes)
    counted = _where_counted(key, unit_values)
    shift, scale = _shift_and_scale(model, key, counted)
    low, high = _mean_ends(key)
    is_adjusted_as_a_whole = key.adjustment != NO_ADJUSTMENT and not key.row.is_mean
    chance = model.chance(key) if is_adjusted_as_a_whole else None
    with np.errstate(all="ignore"):
        tops = sums_by_unit(units, weights * (_averaged(key, values, weights) - shift))
        bases = sums_by_unit(units, weights * scale)
        if chance is not None:
            candidates = model.sample(key.side, key.kind).candidates[counted]
            chance_by_task = _chance_influences(key, value, chance[0], candidates, weights)
            tops -= sums_by_unit(units, chance_by_task)
        elif key.row.is_binary and np.ptp(scale) == 0:  # Adjusted misses and hits are two numbers.
            low, high = (float(np.min((hit - shift) / scale)) for hit in (0, 1))
        mean = float(tops.sum() / bases.sum())
    if not (math.isfinite(value) and math.isfinite(mean)):
        value = mean = math.nan
    elif key.row.average is variance and mean > 0:  # Its logarithm is nearer to normal.
        influences = mean_and_influences(tops, bases)[1]
        # Of these tops the ratio is the logarithm, and so are its influences, by the chain rule.
        tops = math.log(mean) * bases + influences / mean * bases.sum()
        mean = math.log(mean)
    heaviest = float(sums_by_unit(units, weights).max(initial=0.0))
    trials = float(weights.sum() ** 2 / np.square(weights).sum()) if len(weights) else 0.0
    return Contributions(key, value, mean, tops, bases, (low, high), heaviest, trials, chance)


def _averaged(key: Key, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return that of which a metric takes the mean: values, their powers, logarithms or squares."""
    averaged = values
    if key.row.average is variance:
        distances = values - values[:1]
        averaged = np.square(distances - float(weights @ distances / weights.sum()))
    elif _averages_logarithms(key):
        averaged = np.log(values)
    elif key.row.average is power_mean:
        averaged = np.power(values, key.parameter)
    return averaged


def _averages_logarithms(key: Key) -> bool:
    """Whether a metric is the power mean of 0, or of a power next to it."""
    return key.row.average is power_mean and abs(key.parameter) < LEAST_POWER


def _shift_and_scale(model: Rankings, key: Key, counted: Any) -> tuple[Any, Any]:
    """Return what an adjustment subtracts from each unit's value, and multiplies its weight by.

    Metrics that are no means over tasks are adjusted as a whole.
    """
    if key.adjustment == NO_ADJUSTMENT or not key.row.is_mean:
        return 0.0, 1.0
    expectations, _ = _task_moments(model, key)
    expectations = expectations[counted]
    if key.adjustment == "ratio":
        return 0.0, expectations
    return expectations, key.row.optimum - expectations


def _where_counted(key: Key, unit_values: UnitValues) -> Any:
    """Return which units count, as a mask or a slice: those of weight 0 count in count alone."""
    _, weights = unit_values
    if weights is None or key.metric == COUNT or weights.all():
        return slice(None)
    return weights > 0


def weighted_values(
    model: Rankings, key: Key, unit_values: UnitValues, codes: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the values of the tasks or queries that count, weights with safe sums, and units.

    Of a power mean and a variance the values are ranks. `codes` are the units that were drawn, of
    all tasks.
    """
    values, weights = unit_values
    all_units = model.labels(codes, "unit")
    units = model.value_labels(key, all_units)
    (alone,) = np.nonzero(units < 0)
    if len(alone):  # Queries without any answer are units of their own.
        units[alone] = int(units.max()) + 1 + np.arange(len(alone))
    counted = _where_counted(key, unit_values)
    values = values[counted]
    units = units[counted]
    if len(alone) or len(units) < len(all_units):  # Some units may have no task left.
        units = factorize(units).codes
    if weights is None or (weights[counted] == weights[counted][:1]).all():
        return values, np.ones(len(values)), units
    return values, rescale_weights(weights[counted]), units


def _chance_influences(
    key: Key, value: float, expectation: float, candidates: IntArray, weights: FloatArray
) -> FloatArray:
    """Return what tasks take from the mean logarithm of an adjusted gmr or igmr by their chance.

    Let v be the plain metric and E its expectation, whose logarithm is a sum over the tasks. A
    ratio v / E falls by log E as fast as it rises by log v. For an index I = (v - E) / (1 - E),

        dI / d log v = v / (1 - E),    dI / d log E = -E (1 - v) / (1 - E)^2 = -E (1 - I) / (1 - E),

    so that it falls by log E (1 - I) E / v times as fast.
    """
    total = weights.sum()
    powers = key.row.exponent * weights / total
    logarithms, _ = metrics.chance_model.log_power_moments(candidates, powers)
    _, influences = mean_and_influences(total * logarithms, weights)
    factor = 1.0
    if key.adjustment == "index":
        plain_value = value * (1 - expectation) + expectation
        factor = (1 - value) * expectation / plain_value
    by_task: FloatArray = key.row.exponent * factor * total * influences
    return by_task


def _mean_ends(key: Key) -> tuple[float, float]:
    """Return the least and the greatest mean of a metric, whatever the tasks are."""
    if key.adjustment == "ratio":
        return (0.0 if key.row.is_mean else -math.inf), math.inf
    if key.adjustment == "index" and key.row.is_mean:
        return (-1.0 if key.metric == "mr" else -math.inf), 1.0
    if key.row.average is not power_mean or key.parameter < -LEAST_POWER:
        return key.row.ends
    return (0.0 if _averages_logarithms(key) else 1.0), math.inf


def _task_moments(model: Rankings, key: Key) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the variance under chance of what each task of a side adds."""
    candidates = model.sample(key.side, key.kind).candidates
    sizes, place = np.unique(candidates, return_inverse=True)
    means, variances = metrics.chance_model.moments_of_ranks(key.row, key.parameter, sizes)
    return means[place], variances[place]


def mean_and_influences(tops: FloatArray, bases: FloatArray) -> tuple[float, FloatArray]:
    """Return the ratio of two sums over units, and its derivative by the weight of each unit.

    >>> mean_and_influences(np.array([1.0, 0.5]), np.array([1.0, 1.0]))
    (0.75, array([ 0.125, -0.125]))
    """
    total = bases.sum()
    mean = float(tops.sum() / total)
    expected = mean * bases
    influences = tops - expected
    # What is only rounding is 0: seven values of .1 are all alike.
    influences[np.abs(influences) <= ROUNDING * (np.abs(tops) + np.abs(expected))] = 0.0
    return mean, influences / total


def is_mean(key: Key) -> bool:
    """Whether a metric is a function of a mean over units; medians and extreme ranks are none."""
    if key.row.average is power_mean:
        return bool(abs(key.parameter) <= MOST_POWER)
    return key.row.average in (weighted_mean, variance)


def unit_codes(ranks: Ranks, unit: LabelsLike | None) -> tuple[IntArray, str]:
    """Return the unit of each task as a code, each of which occurs, and the name of a unit.

    "unit" is the label "unit" of the ranks, or single tasks where they have none; "task" and None
    are single tasks; other labels are those of `group_codes`. In retrieval queries take the place
    of single tasks, and of the units that a Task labels.
    """
    is_default = isinstance(unit, str) and unit in (UNIT, TASK)
    is_retrieval = ranks.answers is not None
    has_units = ranks.unit is not None and not (is_retrieval and ranks.origins)
    if unit is None or (is_default and (unit == TASK or not has_units)):
        if is_retrieval:
            return group_codes(ranks, "query", UNIT)[0], "query"
        return np.arange(len(ranks)), TASK
    return group_codes(ranks, unit, UNIT)[0], _name_unit(ranks, unit)


def _name_unit(ranks: Ranks, unit: LabelsLike) -> str:
    """Return the word for a unit of a label; that of a Task is what all its sides are of."""
    if not isinstance(unit, str):
        return "group"
    if unit == UNIT and ranks.origins and ranks.side is not None and ranks.side.vocabulary:
        return UNIT_OF_SIDE.get(ranks.side.vocabulary[0], UNIT)
    return LABEL_WORDS.get(unit, unit)


def sums_by_unit(codes: IntArray, values: FloatArray) -> FloatArray:
    """Add up the values of the tasks of each unit."""
    sums: FloatArray = np.bincount(codes, values).astype(np.float64, copy=False)
    return sums


# -- groups of tasks -------------------------------------------------------------------------------


def value_by_group(model: Rankings, key: Key, codes: IntArray, groups: int) -> FloatArray:
    """Return the value of a key in each group; nan for one without a weight above 0.

    `codes` has the group of each task, or of each query, from 0 to groups - 1.
    """
    metric = key.row
    values, weights = model.unit_values(key)
    codes = model.value_labels(key, codes)
    if codes.min(initial=0) < 0:  # Queries without any answer are in no group, and unweighted.
        values = values[codes >= 0]
        codes = codes[codes >= 0]
    # Weights of each group are divided by a power of two, so that their sums neither overflow nor
    # vanish.
    relative = np.ones(len(codes))
    if weights is not None:
        greatest = np.zeros(groups)
        np.maximum.at(greatest, codes, weights)
        relative = np.ldexp(weights, -np.frexp(greatest)[1][codes])
    sums = np.bincount(codes, relative, groups)
    weight_sums = np.where(sums > 0, sums, np.nan)
    if metric.average is weighted_mean:
        averages = np.bincount(codes, relative * values, groups) / weight_sums
    else:
        averages = _averages_within(key, values, weights, codes, groups)
    group_values = averages
    if metric.inverse is not float:  # which leaves averages as they are
        group_values = np.array([metric.inverse(x) for x in averages.tolist()], dtype=np.float64)
    if key.adjustment == NO_ADJUSTMENT:
        return group_values
    means, variances = moments_within(model, key, codes, relative, weight_sums)
    adjust = ADJUSTMENTS[key.adjustment]
    adjusted_values: FloatArray = adjust(group_values, means, variances, metric.optimum)
    return adjusted_values


def _averages_within(
    key: Key, values: FloatArray, weights: FloatArray | None, codes: IntArray, groups: int
) -> FloatArray:
    """Return the median, or another average, of the values of every group; nan for an empty one."""
    average = key.row.average
    if average is median and weights is None:
        return medians_within(values, codes, groups)
    averages = np.full(groups, np.nan)
    order, bounds = order_groups(codes, groups)
    for group in np.flatnonzero(np.diff(bounds)).tolist():
        tasks = order[bounds[group] : bounds[group + 1]]
        weights_of_tasks = None if weights is None else weights[tasks]
        averages[group] = average(values[tasks], weights_of_tasks, key.parameter)
    return averages


def moments_within(
    model: Rankings, key: Key, codes: IntArray, weights: FloatArray, weight_sums: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The mean and the variance of a metric under chance in every group of tasks.

    For a mean over tasks the moments of tasks add up; for a product of them, the logarithms do.
    `codes` and `weights` are of the tasks of the key's side; a group of the sum 0 has nan for it.
    """
    metric = key.row
    groups = len(weight_sums)
    if metric.is_mean:
        means, variances = _task_moments(model, key)
        mean = np.bincount(codes, weights * means, groups) / weight_sums
        spread = np.bincount(codes, np.square(weights) * variances, groups)
        return mean, spread / np.square(weight_sums)
    candidates = model.sample(key.side, key.kind).candidates
    powers = metric.exponent * weights / weight_sums[codes]
    log_means, log_ratios = metrics.chance_model.log_power_moments(candidates, powers)
    mean = np.exp(np.bincount(codes, log_means, groups))
    mean[np.isnan(weight_sums)] = np.nan
    return mean, np.square(mean) * np.expm1(np.bincount(codes, log_ratios, groups))


def medians_within(values: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """The median of every group, the mean of the middle two of an even number; nan for none.

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


class Groups(Mapping[Hashable, Any]):
    """The reports of groups by label, each made of its tasks when it is first read."""

    def __init__(
        self, labels: Sequence[Hashable], codes: IntArray | None, make: Callable[[IntArray], Any]
    ) -> None:
        self._places = {label: place for place, label in enumerate(labels)}
        self._make = make
        self._reports: dict[Hashable, Any] = {}
        if codes is None:  # There are no groups.
            codes = np.zeros(0, np.int64)
        self._order, self._bounds = order_groups(codes, len(labels))

    def __getitem__(self, label: Hashable) -> Any:
        if label not in self._reports:
            if label not in self._places:
                labels = ", ".join(map(repr, list(self)[:MOST_NAMED])) or "none"
                if len(self) > MOST_NAMED:
                    labels += ", ..."
                raise UnknownKeyError(repr(label), f"no group of the report, which has {labels}")
            place = self._places[label]
            tasks = self._order[self._bounds[place] : self._bounds[place + 1]]
            self._reports[label] = self._make(tasks)
        return self._reports[label]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def order_groups(codes: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """The positions of tasks, group by group, and where those of each group begin and end."""
    return sorted_with_order(codes)[1], lengths_to_indptr(np.bincount(codes, minlength=groups))
