"""The tasks of a key, in the units that are resampled: single tasks, or groups of tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.arrays import checked_weights
from ...inputs.errors import InputTypeError, spelled
from ...metrics.adjustments import adjusted, compute, moments
from ...metrics.averages import (
    arithmetic,
    deviation,
    median,
    power,
    rescale_weights,
    tie_centres,
    values_per_task,
    variance,
)
from ...metrics.keys import NO_ADJUSTMENT, Key, parse
from ...metrics.kinds import Sample, UnknownKeyError, sample_of, take
from ...metrics.metric_table import METRICS, Metric, metric_value
from ...metrics.sides import sides_of
from ...metrics.ties import mean_log, mean_power
from ...metrics.within_groups import key_values_within, moments_per_task
from ...ranks.container import Ranks
from ...ranks.grouping import group_codes, task_weights_by
from ...ranks.labels import LABEL_WORDS
from ...tables.table_writer import format_count
from .functionals import Functional, ResampledFunctional, SumFunctional
from .median_functionals import MedianFunctional

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray
    from ...ranks.labels import LabelsLike

    Numbers = npt.NDArray[Any]
    Adjust = Callable[[float], float]
    Values = Callable[[Sample], FloatArray]
    Memo = dict[Key, tuple[FloatArray, FloatArray]]

# Adjustments that are functions of sums over tasks, which are computed for each resample. Any other
# adjustment uses the expectation and the variance of all tasks.
SUMMED_ADJUSTMENTS = ("ratio", "index", "z")
MAX_LOG_RATIO = 600.0  # powers of ranks whose ratio exceeds e**600 are not added in float64
MAX_MEAN_TIE = 10  # the positions of ties that are longer on average are not listed
MAX_WEIGHT_SUM = 2.0**40  # up to this sum, weights are made integers
# Names of units that are no labels.
AUTO, TASK, UNIT, QUERY, GROUP = "auto", "task", "unit", "query", "group"


class Units(NamedTuple):
    """The tasks of a side and kind, and the units in which they are resampled.

    Attributes
    ----------
    key : Key
    sample : Sample
        The tasks, without those of weight 0.
    unit : ndarray of int64, shape (n,)
        The unit of each task, 0 .. number - 1, each of which occurs.
    number : int
        The number of units.
    tasks : ndarray of int64, shape (n,)
        The positions of the tasks in the Ranks.
    by : str
        The name of a unit, in the singular: "task", "query", "unit", "relation", another label, or
        "group" for labels without a name.
    """

    key: Key
    sample: Sample
    unit: IntArray
    number: int
    tasks: IntArray
    by: str = TASK

    @property
    def largest(self) -> int:
        """The number of tasks in the largest unit; 0 if there is none."""
        return int(np.bincount(self.unit).max(initial=0))

    def value(self) -> float:
        """The metric of all units, as in a report."""
        if not self.key.macro:
            return compute(self.key, self.sample)
        means = self.values_within()
        return float(np.nanmean(means)) if (~np.isnan(means)).any() else math.nan

    def functional(self) -> Functional:
        """The metric as a function of how often each unit occurs."""
        if self.key.macro:
            memo: Memo = {}
            ends = None
            if METRICS[self.key.metric].increasing is not None:
                ends = [self.values_within(end, memo) for end in ends_of(self.sample)]
            return mean_functional(self.values_within(memo=memo), ends)
        return make_functional(self.key, self.sample, self.unit, self.number)

    def joint_functional(self, other: Units) -> Functional:
        """The metric of the tasks of both: units 0 .. number - 1 are these, the rest the other's.

        For a macro average use `mean_functional` instead.
        """
        pairs = zip(self.sample, other.sample, strict=True)
        both = Sample(*(None if a is None or b is None else np.r_[a, b] for a, b in pairs))  # type: ignore[arg-type]
        unit = np.r_[self.unit, self.number + other.unit]
        return make_functional(self.key, both, unit, 2 * self.number, about=self.sample)

    def values_within(self, sample: Sample | None = None, memo: Memo | None = None) -> FloatArray:
        """The metric within each unit, of other ranks if given; nan where it is undefined."""
        order = np.argsort(self.unit, kind="stable")
        ordered = take(self.sample if sample is None else sample, order)
        starts = np.flatnonzero(np.diff(self.unit[order], prepend=-1))
        return key_values_within(self.key, ordered, starts, memo)


def units_of(
    ranks: Ranks,
    key: str | Key,
    *,
    by: LabelsLike | None,
    weights: str | npt.ArrayLike | None = None,
    draw_seed: int = 0,
) -> Units:
    """Gather the tasks of a key and their units.

    Parameters
    ----------
    ranks : Ranks
    key : str or Key
    by : str, labels or None
        "auto": see `default_unit`. "task" and None: single tasks. Else as `group_codes`.
    weights : str or array_like of float, optional
    draw_seed : int

    Raises
    ------
    KeyError
        For an unknown key or side, and for `macro.X` without `by`.

    Examples
    --------
    >>> found = units_of(Ranks([0, 3, 4], [1, 1, 1], 10), "mrr", by=["a", "b", "a"])
    >>> found.unit, found.number, found.by, found.largest
    (array([0, 1, 0]), 2, 'group', 2)
    """
    if not isinstance(ranks, Ranks):
        raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
    parsed = key if isinstance(key, Key) else parse(key)
    if parsed.macro and (by is None or (isinstance(by, str) and by in (AUTO, TASK))):
        raise UnknownKeyError(
            f"{str(parsed)!r}: a macro average is over groups; name them with {spelled('by=...')}"
        )
    if isinstance(weights, str):
        weights = task_weights_by(ranks, weights)
    if weights is not None:
        ranks = ranks.with_weights(checked_weights(weights, length=len(ranks)))
    sides = sides_of(ranks)
    sides.check(parsed.side, str(parsed))
    # all tasks are ranked and grouped at once, so that the sides agree with the whole
    sample = sample_of(ranks, parsed.kind, draw_seed)
    chosen = np.ones(len(ranks), dtype=np.bool_)
    for mask in (sides.mask(parsed.side), _has_weight(parsed, sample)):
        if mask is not None:
            chosen &= mask
    (tasks,) = np.nonzero(chosen)
    codes, name = unit_codes(ranks, by, tasks)
    if len(tasks) < len(ranks):
        sample, codes = take(sample, tasks), codes[tasks]
    present, unit = np.unique(codes, return_inverse=True)
    return Units(parsed, sample, unit.reshape(-1).astype(np.int64), len(present), tasks, name)


def unit_codes(
    ranks: Ranks, by: LabelsLike | None, tasks: IntArray | None = None
) -> tuple[IntArray, str]:
    """Return the unit of each task as a code, and the name of a unit in the singular.

    Parameters
    ----------
    ranks : Ranks
        n tasks.
    by : str, labels or None
        "auto": see `default_unit`. "task" and None: single tasks. Else as `group_codes`.
    tasks : ndarray of int64, optional
        The positions of the tasks that matter to "auto"; all if not given.

    Examples
    --------
    >>> ranks = Ranks([0, 3, 4], [1, 1, 1], 10, queries=[7, 7, 9])
    >>> unit_codes(ranks, "auto")
    (array([0, 0, 1]), 'query')
    """
    if isinstance(by, str) and by == AUTO:
        by = default_unit(ranks, tasks)
    if by is None or (isinstance(by, str) and by == TASK):
        return np.arange(len(ranks)), TASK
    codes, _ = group_codes(ranks, by)
    return codes, unit_name(by)


def default_unit(ranks: Ranks, tasks: IntArray | None = None) -> str:
    """Name the units: what was drawn, where it repeats; else queries that repeat, or tasks.

    Both ranks of a test triple or of an aligned pair are drawn together, and the ranks of one query
    come from one row of scores, so that intervals over single tasks would be too narrow.

    Parameters
    ----------
    ranks : Ranks
    tasks : ndarray of int64, optional
        The positions of the tasks that matter; all if not given.

    Returns
    -------
    {"unit", "query", "task"}
        "unit" where two tasks have one label "unit", else "query" where two tasks of one side have
        one query, else "task".

    Examples
    --------
    >>> ranks = Ranks([0, 3, 4], [1, 1, 1], 10, queries=[7, 7, 9])
    >>> default_unit(ranks), default_unit(ranks[1:])
    ('query', 'task')
    """
    for name, present in ((UNIT, ranks.unit is not None), (QUERY, ranks.queries is not None)):
        if present:
            codes = group_codes(ranks, name)[0]
            codes = codes if tasks is None else codes[tasks]
            if len(np.unique(codes)) < len(codes):
                return name
    return TASK


def unit_name(by: LabelsLike | None) -> str:
    """Name the unit of labels in the singular.

    Examples
    --------
    >>> unit_name(None), unit_name("queries"), unit_name("relation"), unit_name([4, 4, 9])
    ('task', 'query', 'relation', 'group')
    """
    if by is None:
        return TASK
    return LABEL_WORDS.get(by, by) if isinstance(by, str) else GROUP


def describe_units(number: int, unit: str, largest: int) -> str:
    """Write a number of units, and the size of the largest where it has several tasks.

    Examples
    --------
    >>> describe_units(22812, "query", 394), describe_units(1, "task", 1)
    ('22,812 queries, the largest of 394 tasks', '1 task')
    """
    several = f", the largest of {format_count(largest, TASK)}" if largest > 1 else ""
    return format_count(number, unit, plural(unit)) + several


def plural(unit: str) -> str:
    """Write the name of a unit in the plural.

    Examples
    --------
    >>> plural("task"), plural("query"), plural("class")
    ('tasks', 'queries', 'classes')
    """
    if " x " in unit:  # units of two kinds
        return " x ".join(map(plural, unit.split(" x ")))
    if unit[-1:] == "y" and unit[-2:-1] not in tuple("aeiou"):
        return unit[:-1] + "ies"
    return unit + ("es" if unit.endswith(("s", "x", "ch", "sh")) else "s")


def make_functional(
    key: Key, sample: Sample, unit: IntArray, units: int, *, about: Sample | None = None
) -> Functional:
    """Return a metric as a function of how often each unit occurs.

    Parameters
    ----------
    key : Key
        Its side, kind and macro have been applied already.
    sample : Sample
        n tasks, whose weights are above 0.
    unit : ndarray of int64, shape (n,)
        The unit of each task, 0 .. units - 1.
    units : int
    about : Sample, optional
        The tasks whose moments under chance and whose number are fixed; `sample` if not given.

    Examples
    --------
    >>> from truerank.metrics import parse
    >>> sample = Sample(np.array([1.0, 4.0]), np.array([9, 9]))
    >>> found = make_functional(parse("mrr"), sample, np.array([0, 1]), 2)
    >>> found.of_counts(np.array([[1, 1], [0, 2]]))
    array([0.625, 0.25 ])
    """
    metric, about = METRICS[key.metric], about or sample
    if sample.tied is not None and (sample.tied == 1).all():
        sample = sample._replace(tied=None)
    outer = None
    if key.adjustment != NO_ADJUSTMENT:
        if metric.single is not None and key.adjustment in SUMMED_ADJUSTMENTS:
            each = moments_per_task(metric.single, sample.candidates, key.parameter)
            return _adjusted_functional(key, sample, unit, units, each, len(about.ranks))
        mean, spread = moments(key.alone, about.candidates, about.weights)
        outer = partial(adjusted, key, mean=mean, variance=spread)
    if metric.mean is arithmetic:
        # where the metric is the mean itself, no inverse is applied
        after = outer if metric.single is not None else _compose(metric.inverse, outer)
        values = partial(_transformed, metric, key.parameter)
        return _weighted_mean(values, sample, unit, units, after)
    build = _BUILDERS.get(
        metric.mean, _count_functional if metric.name == "count" else _resampled_functional
    )
    return build(key, sample, unit, units, outer)


def ends_of(sample: Sample) -> tuple[Sample, Sample]:
    """The same tasks with every rank 1, and with every rank the last.

    Examples
    --------
    >>> [end.ranks for end in ends_of(Sample(np.array([3.0, 4.0]), np.array([9, 7])))]
    [array([1., 1.]), array([9., 7.])]
    """
    first, last = np.ones(len(sample.ranks)), sample.candidates.astype(np.float64)
    return sample._replace(ranks=first, tied=None), sample._replace(ranks=last, tied=None)


def mean_functional(values: FloatArray, ends: Sequence[FloatArray] | None = None) -> Functional:
    """The mean of numbers, one for each unit; nan is left out and is no unit.

    `ends` are the numbers if all ranks were 1, and if all were the last.

    Examples
    --------
    >>> mean_functional(np.array([1.0, np.nan, 4.0])).of_counts(np.array([[1, 1], [0, 2]]))
    array([2.5, 4. ])
    """
    known = ~np.isnan(values)
    n = int(known.sum())
    one: FloatArray = np.ones(n)
    bounds = None
    if ends is not None and all(np.isfinite(end[known]).all() for end in ends):
        bounds = [ends[0][known], one], [ends[1][known], one]
    return SumFunctional([values[known], one], np.arange(n), n, np.divide, ends=bounds)


def _transformed(metric: Metric, parameter: float, sample: Sample) -> FloatArray:
    return values_per_task(metric.transform, sample, parameter)


def _weighted_mean(
    values: Values, sample: Sample, unit: IntArray, units: int, outer: Adjust | None
) -> Functional:
    weights = safe_weights(sample)
    with np.errstate(over="ignore"):
        first, last = ([weights * values(end), weights] for end in ends_of(sample))
    ends = (first, last) if np.isfinite(first[0] + last[0]).all() else None
    columns = [weights * values(sample), weights]
    return SumFunctional(columns, unit, units, np.divide, outer, ends)


def _adjusted_functional(
    key: Key,
    sample: Sample,
    unit: IntArray,
    units: int,
    each: tuple[FloatArray, FloatArray],
    tasks: int,
) -> Functional:
    """An adjusted mean over tasks; its moments under chance are sums over the same tasks."""
    metric, weights, (mean, spread) = METRICS[key.metric], safe_weights(sample), each

    def columns(of: Sample) -> list[FloatArray]:
        f = values_per_task(metric.transform, of, key.parameter)
        if key.adjustment == "ratio":
            return [weights * f, weights * mean]
        gained = weights * (f - mean)
        if key.adjustment == "index":
            return [gained, weights * (metric.optimum - mean)]
        # z of a resample, scaled to the number of all tasks
        return [gained, weights * weights * spread, np.full(len(f), 1 / tasks)]

    first, last = map(columns, ends_of(sample))
    inner = _z if key.adjustment == "z" else np.divide
    return SumFunctional(columns(sample), unit, units, inner, ends=(first, last))


def _z(gained: Numbers, spread: Numbers, share: Numbers) -> Numbers:
    z: Numbers = gained / np.sqrt(spread * share)
    return z


def _variance_functional(
    key: Key, sample: Sample, unit: IntArray, units: int, outer: None
) -> Functional:
    weights, (centres, inner) = safe_weights(sample), tie_centres(sample)
    # relative to the mean of all tasks, so that little cancels
    away = centres - np.average(centres, weights=weights) if len(centres) else centres
    columns = [weights * (np.square(away) + inner), weights * away, weights]
    after = _compose(METRICS[key.metric].inverse, outer)
    widest = float(sample.candidates.max(initial=1)) - 1
    limits = 0.0, widest * widest / 4
    return SumFunctional(columns, unit, units, _second_moment, after, limits=limits)


def _second_moment(squares: Numbers, sums: Numbers, weights: Numbers) -> Numbers:
    found: Numbers = squares / weights - (sums / weights) ** 2
    # where all ranks are equal, the difference is rounding
    return np.where(found.real < 1e-15 * np.abs(squares / weights), 0.0 * found, found)


def _power_functional(
    key: Key, sample: Sample, unit: IntArray, units: int, outer: Adjust | None
) -> Functional:
    p, ranks, tied = float(key.parameter), sample.ranks, sample.tied
    if not len(ranks):
        return _resampled_functional(key, sample, unit, units, outer)
    if p == 0:
        return _weighted_mean(_logs, sample, unit, units, _compose(math.exp, outer))
    last = ranks if tied is None else ranks + (tied - 1)
    low, high = float(ranks.min()), float(last.max())
    if math.isinf(p) or abs(p) * math.log(high / low) > MAX_LOG_RATIO:
        return _resampled_functional(key, sample, unit, units, outer)
    extreme = high if p > 0 else low

    def powers(of: Sample) -> FloatArray:
        if of.tied is not None:
            return mean_power(of.ranks, of.tied, p, extreme)
        return np.power(of.ranks / extreme, p)

    def excess(of: Sample) -> FloatArray:
        """Powers near 1 keep their digits as differences from it."""
        return powers(of) - 1 if of.tied is not None else np.expm1(p * np.log(of.ranks / extreme))

    if abs(p) >= 1:
        back = _compose(lambda mean: extreme * mean ** (1 / p), outer)
        return _weighted_mean(powers, sample, unit, units, back)
    back = _compose(lambda excess: extreme * math.exp(math.log1p(excess) / p), outer)
    return _weighted_mean(excess, sample, unit, units, back)


def _logs(sample: Sample) -> FloatArray:
    return np.log(sample.ranks) if sample.tied is None else mean_log(sample.ranks, sample.tied)


def _count_functional(
    key: Key, sample: Sample, unit: IntArray, units: int, outer: None
) -> Functional:
    return SumFunctional([np.ones(len(unit))], unit, units, np.positive)


def _median_functional(
    key: Key, sample: Sample, unit: IntArray, units: int, outer: Adjust | None
) -> Functional:
    metric = METRICS[key.metric]
    positions = 0.0 if sample.tied is None else float(sample.tied.sum(dtype=np.float64))
    if not len(unit) or positions > MAX_MEAN_TIE * len(unit):
        return _resampled_functional(key, sample, unit, units, outer)
    exact_median = partial(
        _metric_of_counts, replace(metric, inverse=float), key.parameter, sample, unit
    )
    values, weights, atom_unit = sample.ranks, safe_weights(sample), unit
    if sample.tied is not None:
        tied = sample.tied
        begin = np.repeat(np.cumsum(tied) - tied, tied)
        values = np.repeat(sample.ranks, tied) + (np.arange(len(begin)) - begin)
        common = math.lcm(*np.unique(tied).tolist())
        each = common / tied if common * weights.sum() < MAX_WEIGHT_SUM else 1 / tied
        weights, atom_unit = np.repeat(weights * each, tied), np.repeat(unit, tied)
    inverse = None if metric.inverse is METRICS["median"].inverse else metric.inverse
    after = outer if inverse is None else _compose(inverse, outer)
    is_deviation = metric.mean is deviation
    ends = 1.0, float(sample.candidates.max())
    return MedianFunctional(
        values, weights, atom_unit, units, exact_median, after, is_deviation, ends
    )


def _resampled_functional(
    key: Key, sample: Sample, unit: IntArray, units: int, outer: Adjust | None
) -> Functional:
    return ResampledFunctional(
        partial(_metric_of_counts, METRICS[key.metric], key.parameter, sample, unit), units, outer
    )


def _metric_of_counts(
    metric: Any, parameter: float, sample: Sample, unit: IntArray, counts: Numbers
) -> float:
    """The metric of tasks that are repeated as often as their units occur."""
    return metric_value(
        metric, take(sample, np.repeat(np.arange(len(unit)), counts[unit])), parameter
    )


_BUILDERS: dict[Any, Callable[[Key, Sample, IntArray, int, Any], Functional]] = {
    variance: _variance_functional,
    power: _power_functional,
    median: _median_functional,
    deviation: _median_functional,
}


def _has_weight(key: Key, sample: Sample) -> npt.NDArray[np.bool_] | None:
    """Which tasks have a weight above 0; None if all tasks count, as for the metric "count"."""
    return None if sample.weights is None or key.metric == "count" else sample.weights > 0


def safe_weights(sample: Sample) -> FloatArray:
    """Return weights whose sums are safe; 1 where all are equal.

    Examples
    --------
    >>> safe_weights(Sample(np.ones(2), np.array([9, 9]), np.array([1e308, 1e308])))
    array([1., 1.])
    """
    if sample.weights is None or (sample.weights == sample.weights[:1]).all():
        return np.ones(len(sample.ranks))
    return rescale_weights(sample.weights)


def _compose(inverse: Adjust, outer: Adjust | None) -> Adjust:
    return inverse if outer is None else lambda x: outer(inverse(x))
