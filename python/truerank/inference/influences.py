"""How much each unit moves a metric: intervals, comparisons and runs follow from it.

A metric is outward(mean of f), where the mean is a ratio of two sums over units: for a weighted
mean the sums of w f and of w. What a unit adds to them says how much it moves the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputValueError
from ..metrics import METRICS
from ..metrics.averages import arithmetic, power, tie_centres, values_per_task, variance
from ..metrics.keys import NO_ADJUSTMENT
from ..metrics.kinds import Sample
from ..metrics.ties import LOG
from ..metrics.values import adjusted, compute, moments
from .units import COUNT, describe_units

if TYPE_CHECKING:
    from ..arrays.types import FloatArray
    from ..metrics.keys import Key
    from .units import Units

    Outward = Callable[[float], float]

LEAST_POWER = 1e-6  # The mean of a smaller power is that of the logarithm.
MOST_POWER = 10  # Sums of greater powers of ranks hang on the largest alone, or leave float64.
ROUNDING = 1e-12
# Where fewer units carry a result, t intervals of hard laws cover less than 92 %; see
# bench/studies/calibration.md.
FEW_UNITS = 200
FEW_CARRIERS = 30
FEW = "few units"  # So the note begins.


@dataclass(frozen=True, eq=False)
class Influences:
    """What each unit adds to a metric.

    Attributes
    ----------
    value : float
        The metric, outward(mean).
    mean : float
        The mean on whose scale units add up; of a variance its logarithm.
    tops, bases : ndarray of float64, shape (units,)
        What each unit adds to the two sums; the mean is the ratio of their totals.
    moved : ndarray of float64, shape (units,)
        The derivative of the mean by the weight of each unit; the sum is 0.
    outward : callable
    ends : (float, float)
        The least and the greatest mean that the tasks allow.
    is_share : bool
        Whether each task adds all or nothing, as for hits@k.
    """

    value: float
    mean: float
    tops: FloatArray
    bases: FloatArray
    moved: FloatArray
    outward: Outward = float
    ends: tuple[float, float] = (-math.inf, math.inf)
    is_share: bool = False

    def at(self, mean: float) -> float:
        """The metric that this mean would have; inf where it is the inverse of 0."""
        try:
            return self.outward(mean)
        except (ArithmeticError, ValueError):
            return math.inf


def influences_of_sums(tops: FloatArray, bases: FloatArray) -> tuple[float, FloatArray]:
    """Return the ratio of two sums over units, and the influence of each unit on it.

    Parameters
    ----------
    tops, bases : ndarray of float64, shape (units,)

    Examples
    --------
    >>> influences_of_sums(np.array([1.0, 0.5]), np.array([1.0, 1.0]))
    (0.75, array([ 0.125, -0.125]))
    """
    total = bases.sum()
    mean = float(tops.sum() / total)
    moved = tops - mean * bases
    # What is only rounding is 0: seven values of .1 are all alike.
    is_rounding = np.abs(moved) <= ROUNDING * (np.abs(tops) + np.abs(mean * bases))
    return mean, np.where(is_rounding, 0.0, moved / total)


def influences_of(units: Units) -> Influences:
    """Return the influences of units on their key, which is a function of a mean; all may be nan.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.inference.units import RankedTasks
    >>> from truerank.metrics.keys import parse
    >>> influences_of(RankedTasks(Ranks([0, 3], [1, 1], 10)).units(parse("mrr"))).moved
    array([ 0.1875, -0.1875])
    """
    key = units.key
    with np.errstate(all="ignore"):
        top, base = sums_of_tasks(units, units.sample)
        ends = [sums_of_tasks(units, end) for end in ends_of(units)]
        tops = units.sums(top)
        bases = units.sums(base)
        mean, moved = influences_of_sums(tops, bases)
        least, most = sorted(float(end.sum() / of_base.sum()) for end, of_base in ends)
    # A metric of ranks has the value that reports compute, to the last digit.
    value = mean if units.ends is not None else compute(key, units.sample)
    if not (math.isfinite(value) and math.isfinite(mean)):
        return Influences(math.nan, math.nan, tops, bases, moved)
    if units.ends is None and METRICS[key.metric].mean is variance:
        least = -math.inf
        most = math.inf
        if mean > 0:  # The logarithm of a variance is nearer to normal.
            moved = moved / mean
            mean = math.log(mean)
            tops = mean * bases + moved * bases.sum()
    is_share = key.metric == ("hits" if units.ends is None else "success")
    return Influences(value, mean, tops, bases, moved, _outward_of(units), (least, most), is_share)


def is_mean(key: Key) -> bool:
    """Whether a metric is a function of a mean over units; medians and extreme ranks are none.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> [is_mean(parse(key)) for key in ("gmr", "median", "power_mean:2", "power_mean:inf")]
    [True, False, True, False]
    """
    metric = METRICS.get(key.metric, METRICS["mrr"])  # Metrics of retrieval are means, as mrr is.
    if metric.mean is power:
        return bool(abs(key.parameter) <= MOST_POWER)
    return key.metric != COUNT and metric.mean in (arithmetic, variance)


def check_bases(models: Sequence[Influences], name: str) -> None:
    """Refuse models whose units weigh unlike, of which the differences of units say nothing.

    Examples
    --------
    >>> ones = np.ones(2)
    >>> check_bases([Influences(1.0, 1.0, ones, ones, ones)] * 2, "b")
    """
    first, *others = (model.bases / (model.bases.sum() or 1.0) for model in models)
    for other in others:
        if len(other) != len(first) or not np.allclose(other, first, rtol=1e-9, atol=0):
            expected = "units that weigh as those of the other model"
            raise InputValueError(name, expected=expected, got="unlike weights")


def _outward_of(units: Units) -> Outward:
    """What makes the metric of the mean."""
    key = units.key
    if units.ends is not None:
        return float
    metric = METRICS[key.metric]
    back: Outward = metric.inverse
    if metric.mean is variance:
        return lambda logarithm: metric.inverse(math.exp(logarithm))
    if metric.mean is power:
        p = float(key.parameter)
        back = math.exp if abs(p) < LEAST_POWER else lambda mean: float(mean ** (1 / p))
    if metric.single is not None or key.adjustment == NO_ADJUSTMENT:
        return back
    # Of a mean, ratio and index are sums over tasks; other metrics are adjusted as a whole.
    of_chance = moments(key.alone, units.sample.candidates, units.sample.weights)
    return lambda mean: adjusted(key, back(mean), *of_chance)


def sums_of_tasks(units: Units, sample: Sample) -> tuple[FloatArray, FloatArray]:
    """What each task adds to the two sums whose ratio is the mean of f, of the ranks of a sample.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.inference.units import RankedTasks
    >>> from truerank.metrics.keys import parse
    >>> units = RankedTasks(Ranks([0, 3], [1, 1], 9)).units(parse("amri"))
    >>> sums_of_tasks(units, units.sample)
    (array([-4., -1.]), array([-4., -4.]))
    """
    key = units.key
    weights = units.weights
    if units.ends is not None:
        return sample.ranks, weights
    metric = METRICS[key.metric]
    parameter = key.parameter
    if metric.mean is variance:
        centres, within = tie_centres(sample)
        centres = centres - centres[:1]
        middle = float(weights @ centres / weights.sum())
        return weights * (np.square(centres - middle) + within), weights
    if metric.mean is power and abs(parameter) < LEAST_POWER:
        f = values_per_task(LOG, sample)
    else:
        f = values_per_task(metric.transform, sample, parameter)
    if metric.single is None or key.adjustment == NO_ADJUSTMENT:
        return weights * f, weights
    sizes, place = np.unique(sample.candidates, return_inverse=True)
    means, _ = metric.single(sizes, parameter)
    chance = means[place]
    if key.adjustment == "ratio":
        return weights * f, weights * chance
    return weights * (f - chance), weights * (metric.optimum - chance)


def ends_of(units: Units) -> list[Sample]:
    """The same tasks with every rank 1, and with every rank the last.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.inference.units import RankedTasks
    >>> from truerank.metrics.keys import parse
    >>> units = RankedTasks(Ranks([2, 3], [1, 1], [9, 7])).units(parse("mr"))
    >>> [end.ranks for end in ends_of(units)]
    [array([1., 1.]), array([9., 7.])]
    """
    sample = units.sample
    ends = units.ends or (np.ones(len(sample.ranks)), sample.candidates.astype(np.float64))
    return [sample._replace(ranks=end, tied=None) for end in ends]


def standard_error(moved: FloatArray) -> float:
    """Return the root of u / (u - 1) sum of d^2 for the influences d of u units; nan for one.

    Examples
    --------
    >>> standard_error(np.array([1.0, -1.0]))
    2.0
    """
    units = len(moved)
    if units < 2:
        return math.nan
    return math.sqrt(float(moved @ moved) * units / (units - 1))


def count_carriers(numbers: FloatArray) -> float:
    """How many units carry a sum: (sum of x)^2 / sum of x^2; 0 where there is nothing.

    Examples
    --------
    >>> count_carriers(np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    4.0
    """
    largest = float(numbers.max(initial=0.0))
    if not largest:
        return 0.0
    shares = numbers / largest
    return float(shares.sum() ** 2 / np.square(shares).sum())


def note_on(
    key: Key, name: str, moved: FloatArray, bases: FloatArray, *, is_share: bool = False
) -> tuple[str, ...]:
    """Say in one clause, if at all, that few units carry a result, where t covers too little.

    Parameters
    ----------
    key : Key
    name : str
        What a unit is.
    moved, bases : ndarray of float64, shape (units,)
        The influences of the units, and their weights.
    is_share : bool
        Whether the interval is that of a share, which hangs on weights alone.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> note_on(parse("mr"), "task", np.array([-6.0, 2, 2, 2]), np.ones(4))
    ('few units: 4 tasks',)
    >>> note_on(parse("mr"), "task", np.array([-300.0] + [1.0] * 300), np.ones(301))
    ('few units carry it: mr rests on about 1 of 301 tasks',)
    """
    units = len(moved)
    if units < FEW_UNITS:
        return (f"{FEW}: {describe_units(units, name)}",)
    carriers = count_carriers(np.abs(bases))
    if not is_share and moved.any():
        carriers = min(carriers, count_carriers(np.square(moved)))
    if carriers >= FEW_CARRIERS:
        return ()
    counted = f"about {carriers:.0f} of {describe_units(units, name)}"
    return (f"{FEW} carry it: {key} rests on {counted}",)
