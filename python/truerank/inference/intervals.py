"""Confidence intervals of a metric, of one model and of its runs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputValueError
from ..inputs.array_likes import checked_weights
from ..inputs.checks import confidence, integer
from ..metrics.averages import take
from ..metrics.contributions import (
    COUNT,
    TASK,
    UNIT,
    Contributions,
    contributions,
    is_mean,
    mean_and_influences,
    sums_by_unit,
    unit_codes,
    weighted_sample,
)
from ..metrics.keys import NO_ADJUSTMENT, Key, parse
from ..metrics.values import compute
from ..naming import format_count, printable, public
from ..ranks.grouping import task_weights_by
from ..tables import AsTable, Column, Table
from .pairing import align_runs, read_models
from .statistics import T, check_bases, note_on, t_test, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..ranks.labels import LabelsLike
    from .pairing import Model

RESAMPLES = 1000
OF_RUNS = "t of runs and units"
OF_FOLDS = "t of folds"


@public("truerank.inference")
@dataclass(frozen=True)
class Interval:
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    metric : str
        The key, as it was asked for.
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
            f"{self.method}, {format_count(self.units, self.unit)})"
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
        return vars(self) | {"notes": list(self.notes)}


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
        level = ""
        decimals = []
        for interval in self.values():
            level = f"{100 * interval.level:g} % "  # All intervals have the same.
            decimals.append(decimals_within(interval.decimals, interval.low, interval.high))
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
        for interval in self.values():
            rows.append([getattr(interval, column.name) for column in columns])
        notes = dict.fromkeys(note for interval in self.values() for note in interval.notes)
        return Table(columns, rows, notes=notes).table(metrics, **options)


@public("truerank.inference")
def interval(
    ranks: Model,
    metric: str = "mrr",
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

    Of several runs of a model it is the interval of their mean over other runs and other units: t,
    whose squared error is that of runs and of units. Runs of unlike tasks are folds, whose values
    have the t interval.

    Parameters
    ----------
    ranks : Ranks or Report, or a list of those
        A Report stands for its ranks, with the weights of the report. A list has several runs of
        one model, such as training seeds.
    metric : str
        Any key of a report but macro averages, whose groups have intervals, and z; of several runs
        a function of a mean.
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
    runs = read_models({"ranks": ranks}, seed)["ranks"]
    key = parse(metric, runs[0].unit)
    problem = why_no_interval(key, len(runs))
    if problem:
        raise InputValueError("metric", problem)
    if weights is not None and key.unit == "task":  # Every query counts once.
        for i, run in enumerate(runs):
            of_tasks = weights
            if isinstance(weights, str):
                of_tasks = task_weights_by(run.ranks, weights)
            of_tasks = checked_weights(of_tasks, length=len(run.ranks))
            runs[i] = run.with_ranks(run.ranks.with_weights(of_tasks))
    if is_mean(key):
        found = _interval_of_mean(runs, key, metric, unit, level)
    else:
        found = _bootstrap(runs[0], key, metric, unit, level, seed)
    if not math.isnan(found.low):
        return found
    notes: tuple[str, ...] = ()
    if math.isfinite(found.value):
        units = format_count(found.units, found.unit)
        notes = (
            f"no interval: {units}" if found.units < 2 else f"no interval: all {units} are alike",
        )
    return replace(found, method="none", notes=notes)


def _interval_of_mean(
    runs: Sequence[Any], key: Key, metric: str, unit: LabelsLike | None, level: float
) -> Interval:
    """The t interval of a function of a mean, or Wilson's of a share."""
    aligned = align_runs(runs)
    are_folds = aligned is None
    codes, name = units_of_runs(runs, unit, are_folds=are_folds)
    sums, number = add_up_runs(aligned or runs, key, codes, "runs", are_folds=are_folds)
    is_share = len(runs) == 1 and sums.is_share
    method = method_of_runs(runs, are_folds=are_folds)
    if not method:
        method = "wilson" if is_share else T
    low = high = math.nan
    notes: tuple[str, ...] = ()
    if not math.isnan(sums.value):
        mean, influences = mean_and_influences(sums.tops.mean(axis=0), sums.bases)
        least, most = sums.ends
        extent = sums.extent
        if is_share and extent > 0 and number > 1:
            low, high = wilson((mean - least) / extent, influences / extent, level)
            low = least + low * extent
            high = least + high * extent
        else:
            _, _, low, high = t_test([sums.tops], sums.bases, level)
        if not math.isnan(low):  # The mean is cut to its range; the metric may fall with it.
            low, high = sorted(sums.metric_at(min(max(end, least), most)) for end in (low, high))
        if not are_folds:
            notes = note_on(metric, name, influences, sums.bases, is_share=is_share)
    return Interval(metric, sums.value, low, high, level, method, number, name, notes, key.decimals)


def units_of_runs(
    runs: Sequence[Any], unit: LabelsLike | None, *, are_folds: bool
) -> tuple[list[IntArray], str]:
    """Return the unit of each task, for each fold, or once for all runs; and the name of a unit."""
    units = [unit_codes(run.ranks, unit) for run in (runs if are_folds else runs[:1])]
    return [codes for codes, _ in units], units[0][1]


def add_up_runs(
    runs: Sequence[Any],
    key: Key,
    codes: Sequence[IntArray],
    argument: str,
    *,
    are_folds: bool,
) -> tuple[Contributions, int]:
    """Return what the units of several runs add: the mean of their values, and tops of each run.

    Parameters
    ----------
    runs : sequence of RankedTasks or AnsweredQueries
    key : Key
    codes : sequence of ndarray of int64
        The units of the tasks of all runs, or of those of each fold.
    argument : str
        What messages call runs that weigh their units unlike.
    are_folds : bool

    Returns
    -------
    sums : Contributions
        Tops have the shape (runs, units), and merits are means over runs. Folds are units
        themselves: their means are the tops of one run, and merits those of all tasks.
    units : int
        Their number, in all folds.
    """
    by_run = []
    for run, of_tasks in zip(runs, itertools.cycle(codes), strict=False):
        by_run.append(contributions(run, key, of_tasks))
    bases = by_run[0].bases
    number = len(bases)
    tops = [run.tops for run in by_run]
    merits = [run.merits for run in by_run]
    if are_folds:
        number = sum(map(len, tops))
        tops = [np.array([fold.mean for fold in by_run])]
        bases = np.ones(len(runs))
        merits = [np.concatenate(merits)]
    else:
        check_bases([run.bases for run in by_run], argument)
    sums = replace(
        by_run[0],
        value=math.fsum(run.value for run in by_run) / len(runs),
        mean=math.fsum(run.mean for run in by_run) / len(runs),
        tops=np.array(tops),
        bases=bases,
        merits=np.mean(merits, axis=0),
    )
    return sums, number


def method_of_runs(runs: Sequence[Any], *, are_folds: bool) -> str:
    """Return the name of the t interval and test of several runs; empty for one."""
    if are_folds:
        return OF_FOLDS
    return OF_RUNS if len(runs) > 1 else ""


def _bootstrap(
    model: Any,
    key: Key,
    metric: str,
    unit: LabelsLike | None,
    level: float,
    seed: int,
) -> Interval:
    """The percentiles of the metric of units that are drawn again, as weights of the tasks."""
    codes, name = unit_codes(model.ranks, unit)
    sample, weights, codes = weighted_sample(model, key, codes)
    bases = sums_by_unit(codes, weights)
    value = compute(key, sample)
    low = high = math.nan
    if len(bases) > 1 and math.isfinite(value):
        random = np.random.default_rng(seed)
        order = np.argsort(sample.ranks, kind="stable")  # Medians sort what is in order in no time.
        ordered = take(sample, order)
        values = []
        for _ in range(RESAMPLES):
            drawn = np.bincount(random.integers(len(bases), size=len(bases)), minlength=len(bases))
            of_tasks = (weights * drawn[codes])[order]
            values.append(compute(key, ordered._replace(weights=of_tasks)))
        with np.errstate(invalid="ignore"):  # The rank of what a list misses may be infinite.
            _, influences = mean_and_influences(sums_by_unit(codes, weights * sample.ranks), bases)
            if min(values) < max(values) or influences.any():
                low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
                low, high = np.nan_to_num([low, high], nan=np.inf, posinf=np.inf).tolist()
    notes = note_on(metric, name, np.zeros(len(bases)), bases)
    return Interval(
        metric, value, low, high, level, "bootstrap", len(bases), name, notes, key.decimals
    )


def why_no_interval(key: Key, runs: int = 1) -> str:
    """Say why a key of one run, or of several, has no interval, and what has; empty where it has.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> [bool(why_no_interval(parse(key))) for key in ("amri", "median", "macro.mrr", "z.mr")]
    [False, False, True, True]
    """
    if key.macro:
        plain = replace(key, macro=False)
        return (
            f"{key} is a mean over fixed groups, which has no interval; each group has one of "
            f"{plain}, and two models are compared by scipy.stats.ttest_rel over the groups' values"
        )
    if key.adjustment == "z":
        plain = replace(key, adjustment=NO_ADJUSTMENT)
        return f"{key} says how far {plain} is from chance, and has no interval; {plain} has"
    if key.metric == COUNT:
        return "count is the number of tasks, which has no interval; take a metric of their ranks"
    if runs > 1 and not is_mean(key):
        return (
            f"{key} of several runs has no interval, as it is no mean over units; each run has one"
        )
    return ""
