"""Confidence intervals of a metric, of one model and of its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputValueError
from ..inputs.checks import confidence, integer
from ..metrics.keys import NO_ADJUSTMENT, Key
from ..metrics.kinds import take
from ..metrics.values import adjusted, compute, moments
from ..naming import printable, public
from ..tables import AsTable, Column, Table
from .influences import (
    Influences,
    check_bases,
    influences_of,
    influences_of_sums,
    is_mean,
    note_on,
)
from .paired_tests import T, t_test
from .pairing import align_runs
from .units import COUNT, TASK, UNIT, as_model, describe_units, unit_codes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from ..arrays.types import FloatArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .units import HasRanks, HasUnits, Units

RESAMPLES = 1000
OF_RUNS = "t of runs and units"
OF_FOLDS = "t of folds"


@public("truerank.inference")
class Interval(NamedTuple):
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    metric : str
        The key.
    value, low, high : float
        The bounds are nan where the value is, and for fewer than 2 units.
    level : float
        The share of such intervals that should contain the value of the population.
    method : str
        "t", "wilson", "bootstrap"; of several runs "t of runs and units", of folds "t of folds"; or
        "none" where there are no bounds.
    units : int
        The number of units.
    unit : str
        What a unit is: "triple", "pair", "query" or "task"; "relation" or another label; "unit" for
        units of your own, and "group" for labels without a name.
    notes : tuple of str
        At most one: that fewer than 200 units, or a few of them, carry the result, or why there is
        no interval.
    decimals : int
        How many are printed, or more where the bounds are close.

    Examples
    --------
    >>> print(Interval("mrr", 0.438, 0.426, 0.451, 0.95, "t", 1074, "triple"))
    mrr 0.438 [0.426, 0.451] (95 %, t, 1,074 triples)
    """

    metric: str
    value: float
    low: float
    high: float
    level: float
    method: str
    units: int
    unit: str = TASK
    notes: tuple[str, ...] = ()
    decimals: int = 3

    def __str__(self) -> str:
        decimals = decimals_within(self.decimals, self.low, self.high)
        lines = [
            f"{self.metric} {self.value:.{decimals}f} "
            f"[{self.low:.{decimals}f}, {self.high:.{decimals}f}] ({100 * self.level:g} %, "
            f"{self.method}, {describe_units(self.units, self.unit)})"
        ]
        lines += self.notes
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> Interval("mrr", 0.3, 0.25, 0.35, 0.95, "t", 40).to_dict()["notes"]
        []
        """
        return self._asdict() | {"notes": list(self.notes)}


def decimals_within(least: int, low: float, high: float) -> int:
    """Return how many decimals tell apart the bounds of a metric: two digits of half their gap.

    Examples
    --------
    >>> decimals_within(3, 0.42, 0.45), decimals_within(3, 0.4381, 0.4387)
    (3, 5)
    """
    half = (high - low) / 2
    if not 0 < half < math.inf:
        return least
    return min(15, max(least, 1 - math.floor(math.log10(half))))


@public("truerank.inference")
class Intervals(dict[str, Interval], AsTable):
    """Intervals by key, which print as a table.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> ranks = Ranks([0, 3, 1, 0, 2] * 40, [1] * 200, 9)
    >>> print(report(ranks).interval(["mrr", "mr"]))
    metric  value  95 % from     to  units  unit  method
    mrr     0.617      0.571  0.662    200  task       t
    mr      2.20       2.04   2.36     200  task       t
    """

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each key; `metrics` chooses among the columns of numbers."""
        level = next((f"{100 * found.level:g} % " for found in self.values()), "")
        decimals = [decimals_within(x.decimals, x.low, x.high) for x in self.values()]
        columns = [
            Column("metric"),
            Column("value", decimals=decimals),
            Column("low", f"{level}from", decimals),
            Column("high", "to", decimals),
            Column("units"),
            Column("unit"),
            Column("method"),
        ]
        rows = []
        for found in self.values():
            fields = found._asdict()
            rows.append([fields[column.name] for column in columns])
        notes = dict.fromkeys(note for found in self.values() for note in found.notes)
        return Table(columns, rows, notes=notes).table(metrics, **options)


@public("truerank.inference")
def interval(
    ranks: Ranks | HasRanks | HasUnits,
    metric: str | Key = "mrr",
    *,
    unit: LabelsLike | None = UNIT,
    level: float = 0.95,
    weights: str | npt.ArrayLike | None = None,
    seed: int = 0,
) -> Interval:
    """Compute the confidence interval of a metric over other units of the same population.

    Means have the t interval with u - 1 degrees of freedom for u units, on the scale where tasks
    add up (gmr: logarithms; hmr: reciprocals). hits@k has that of Wilson. Medians, mad and extreme
    power means have the percentiles of 1,000 resamples of the units. Ends are cut to the range of
    the metric.

    Parameters
    ----------
    ranks : Ranks or Report
        A Report stands for its ranks, with the weights of the report.
    metric : str or Key
        Any key of a report but macro averages, whose groups have intervals, and z.
    unit : str, labels or None
        What was drawn when the test set was made. "unit": the label "unit", which every Task
        writes (a test triple, an aligned pair, a query of retrieval), or tasks where the ranks have
        none. "task" or None: tasks. "query", "relation", another label, or labels of the tasks.
    level : float
        Between 0 and 1.
    weights : array_like of float, shape (n,), or str, optional
        Used instead of the weights of the ranks; "query", "relation", ... as in a report.
    seed : int
        The seed of the resamples, and of the kind "random" of Ranks. A Report has its own for that.

    Returns
    -------
    Interval

    Raises
    ------
    KeyError
        For an unknown key.
    TypeError, ValueError
        For arguments that are no ranks, no level, or no labels of these ranks; for a macro average
        and z.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([0, 0, 1, 3, 7, 2, 0, 1], [1] * 8, 100)
    >>> print(interval(ranks, "hits@1"))
    hits@1 0.375 [0.137, 0.694] (95 %, wilson, 8 tasks)
    few units: 8 tasks
    """
    level = confidence(level)
    seed = integer("seed", seed, least=0)
    model = as_model("ranks", ranks, seed)
    key = metric if isinstance(metric, Key) else model.read_key(metric)
    check_interval(key)
    units = model.units(key, unit=unit, weights=weights)
    if is_mean(key):
        influences = influences_of(units)
        value = influences.value
        low, high = bounds_of(influences, level)
        method = "wilson" if influences.is_share else T
        notes = note_on(
            key, units.name, influences.moved, influences.bases, is_share=influences.is_share
        )
    else:
        value = compute(key, units.sample)
        low, high = _bootstrap(units, level, seed)
        method = "bootstrap"
        bases = units.sums(units.weights)
        notes = note_on(key, units.name, np.zeros(units.number), bases)
    counted = (units.number, units.name)
    return _interval(key, value, (low, high), level, method=method, units=counted, notes=notes)


def check_interval(key: Key, runs: int = 1) -> None:
    """Raise an error for a key that has no interval, and say what has one.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> check_interval(parse("macro.mrr"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: metric: macro.mrr is a mean over fixed groups, which has ...
    """
    problem = why_no_interval(key, runs)
    if problem:
        raise InputValueError("metric", problem)


def why_no_interval(key: Key, runs: int = 1) -> str:
    """Say why a key of one run, or of several, has no interval, and what has; empty where it has.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> [bool(why_no_interval(parse(key))) for key in ("amri", "median", "macro.mrr", "z.mr")]
    [False, False, True, True]
    """
    if key.macro:
        plain = key._replace(macro=False)
        return (
            f"{key} is a mean over fixed groups, which has no interval; each group has one of "
            f"{plain}, and two models are compared by scipy.stats.ttest_rel over the groups' values"
        )
    if key.adjustment == "z":
        plain = key._replace(adjustment=NO_ADJUSTMENT)
        return f"{key} says how far {plain} is from chance, and has no interval; {plain} has"
    if key.metric == COUNT:
        return "count is the number of tasks, which has no interval; take a metric of their ranks"
    if runs > 1 and not is_mean(key):
        return (
            f"{key} of several runs has no interval, as it is no mean over units; each run has one"
        )
    return ""


def bounds_of(influences: Influences, level: float) -> tuple[float, float]:
    """Return the bounds of a metric; nan for fewer than 2 units, and alike ones but for shares.

    Examples
    --------
    >>> tops = np.arange(9.0)
    >>> mean, moved = influences_of_sums(tops, np.ones(9))
    >>> low, high = bounds_of(Influences(mean, mean, tops, np.ones(9), moved), 0.95)
    >>> round(low, 3), round(high, 3)
    (1.895, 6.105)
    """
    least, most = influences.ends
    if len(influences.moved) < 2 or math.isnan(influences.value):
        return math.nan, math.nan
    if influences.is_share and most > least:
        extent = most - least
        share = (influences.mean - least) / extent
        low, high = wilson(share, influences.moved / extent, level)
        low = least + low * extent
        high = least + high * extent
    else:
        _, _, low, high = t_test([influences.tops[None]], influences.bases, level)
    return _values_between(influences, low, high)


def _values_between(influences: Influences, low: float, high: float) -> tuple[float, float]:
    """The metric at both bounds of the mean, which are cut to its range; nan stays nan."""
    if math.isnan(low):
        return low, high
    least, most = influences.ends
    one = influences.at(min(max(low, least), most))
    other = influences.at(min(max(high, least), most))
    return min(one, other), max(one, other)


def wilson(share: float, moved: FloatArray, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share, of as many trials as would vary as much as its units do.

    Parameters
    ----------
    share : float
    moved : ndarray of float64, shape (units,)
        The influences of the units. Where they are 0, each unit is a trial.
    level : float

    Examples
    --------
    >>> low, high = wilson(0.5, np.array([0.01] * 50 + [-0.01] * 50) / 2, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.4038, 0.5962)
    """
    from scipy.special import ndtri

    share = round(share, 12)  # All hits are 1, whatever their weights were.
    trials = float(len(moved))
    if moved.any() and 0 < share < 1:
        trials = share * (1 - share) / float(moved @ moved)
    square = float(ndtri((1 + level) / 2)) ** 2 / trials
    middle = (share + square / 2) / (1 + square)
    reach = math.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return middle - reach, middle + reach


def _bootstrap(units: Units, level: float, seed: int) -> tuple[float, float]:
    """The percentiles of the metric of units that are drawn again, as weights of the tasks."""
    number = units.number
    sample = units.sample
    if number < 2 or math.isnan(compute(units.key, sample)):
        return math.nan, math.nan
    random = np.random.default_rng(seed)
    plain = units.key._replace(adjustment=NO_ADJUSTMENT)
    order = np.argsort(sample.ranks, kind="stable")  # Medians sort what is in order in no time.
    ordered = take(sample, order)
    values = []
    for _ in range(RESAMPLES):
        drawn = np.bincount(random.integers(number, size=number), minlength=number)
        weights = (units.weights * drawn[units.unit])[order]
        values.append(compute(plain, ordered._replace(weights=weights)))
    _, moved = influences_of_sums(
        units.sums(units.weights * sample.ranks), units.sums(units.weights)
    )
    if min(values) == max(values) and not moved.any():
        return math.nan, math.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    if units.key.adjustment == NO_ADJUSTMENT:
        return low, high
    of_chance = moments(units.key.alone, sample.candidates, sample.weights)
    ends = [adjusted(units.key, end, *of_chance) for end in (low, high)]
    return min(ends), max(ends)


# -- several runs of a model -----------------------------------------------------------------------


def interval_over_runs(
    runs: Sequence[Ranks | HasRanks],
    metric: str | Key = "mrr",
    *,
    unit: LabelsLike | None = UNIT,
    level: float = 0.95,
) -> Interval:
    """Compute the interval of the mean of a metric over runs: over other runs and other units.

    Parameters
    ----------
    runs : sequence of Ranks or Reports
        At least two. If their tasks are unlike, they are folds, whose values have a t interval.
    metric, unit, level
        As in `interval`; the kind "random" has the seeds of Reports.

    Raises
    ------
    ValueError
        For fewer than two runs, and for metrics that are no function of a mean.

    Examples
    --------
    >>> from truerank import Ranks
    >>> runs = [Ranks([0, 3, x], [1, 1, 1], 10) for x in (1, 2, 4)]
    >>> found = interval_over_runs(runs, "mr")
    >>> found.method, found.units, round(found.value, 4)
    ('t of runs and units', 3, 2.7778)
    """
    level = confidence(level)
    if len(runs) < 2:
        raise InputValueError("runs", expected="at least two", got=len(runs))
    models = [as_model(f"reports[{i}]", run) for i, run in enumerate(runs)]
    key = metric if isinstance(metric, Key) else models[0].read_key(metric)
    check_interval(key, len(runs))
    aligned = align_runs(models)
    if aligned is not None:
        models = aligned
        unit, name = unit_codes(models[0].tasks, unit)
    units = [model.units(key, unit=unit) for model in models]
    influences = [influences_of(of_run) for of_run in units]
    value = math.fsum(of_run.value for of_run in influences) / len(runs)
    low = high = math.nan
    notes: tuple[str, ...] = ()
    if aligned is None:
        method = OF_FOLDS
        name = units[0].name
        number = sum(of_fold.number for of_fold in units)
        tops = np.array([[of_fold.mean for of_fold in influences]])
        bases = np.ones(len(runs))
    else:
        method = OF_RUNS
        number = units[0].number
        check_bases(influences, "runs")
        tops = np.array([of_run.tops for of_run in influences])
        bases = influences[0].bases
    if not math.isnan(value):
        _, _, low, high = t_test([tops], bases, level)
        low, high = _values_between(influences[0], low, high)
        if aligned is not None:
            _, moved = influences_of_sums(tops.mean(axis=0), bases)
            notes = note_on(key, name, moved, bases)
    counted = (number, name)
    return _interval(key, value, (low, high), level, method=method, units=counted, notes=notes)


def _interval(
    key: Key,
    value: float,
    bounds: tuple[float, float],
    level: float,
    *,
    method: str,
    units: tuple[int, str],
    notes: tuple[str, ...],
) -> Interval:
    """The interval of a value; where it has no bounds, the reason is its note."""
    number, name = units
    if math.isnan(bounds[0]):
        method = "none"
        notes = ()
        if not math.isnan(value):
            counted = describe_units(number, name)
            notes = (f"no interval: all {counted} are alike",)
            if number < 2:
                notes = (f"no interval: {counted}",)
    return Interval(
        str(key), value, *bounds, level, method, number, name, notes, decimals=key.decimals
    )
