"""Confidence intervals of a metric, of one model and of its runs; and the statistics of both.

Intervals and tests are of means over units: t, of runs too, and Wilson's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputValueError
from ..inputs.checks import confidence, integer
from ..metrics.contributions import (
    COUNT,
    MOST_POWER,
    ROUNDING,
    TASK,
    UNIT,
    contributions,
    is_mean,
    mean_and_influences,
    sums_by_unit,
    unit_codes,
    weighted_values,
)
from ..metrics.keys import ALL_SIDES, NO_ADJUSTMENT, Key, parse
from ..metrics.metric_table import power_mean
from ..metrics.values import Rankings
from ..naming import format_count, printable, public
from ..ranks.grouping import task_weights_by
from ..tables import AsTable, Column, Table
from .pairing import align_runs, read_models, weigh_alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from ..metrics.contributions import Contributions
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .pairing import Model

RESAMPLES = 1000
T = "t"
OF_RUNS = "t of runs and units"
OF_FOLDS = "t of folds"
FOLD = "fold"
# Where fewer units carry a result, t intervals of hard laws cover less than 92 %; see
# bench/studies/calibration.md.
FEW_UNITS = 200
FEW_CARRIERS = 30
FEW_RUNS = 5
# Three more units are counted where few carry a difference: of n units of which none is seen to
# differ, less than 3 / n do, at 95 %. Where a metric has no range, 20 seen show its size.
MORE_UNITS = 3
ENOUGH_SEEN = 20
FEW = "few"  # So the note begins.
APART = "heads and tails of one fact are counted apart, without a label unit"  # another note


@public("truerank.inference")
@dataclass(frozen=True)
class Interval:
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    metric : str
        The key, as it was asked for.
    value, low, high : float
        The bounds are nan where the value is, for fewer than 2 units and, but for those of
        "wilson", where all units are alike.
    level : float
        The share of such intervals that should contain the value of the population.
    method : str
        "t", "wilson", "bootstrap"; for several runs "t of runs and units", for folds "t of folds";
        or "none" where there are no bounds.
    units : int
        The number of units.
    unit : str
        What a unit is: "triple", "pair", "query" or "task"; "relation" or another label; "unit" for
        units of your own, "group" for labels without a name, and "fold" for runs over folds.
    notes : tuple of str
        That fewer than 200 units, or a few of them, carry the result; that several runs are fewer
        than 5; why there is no interval; that heads and tails of one fact are counted apart.
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
            *map(Column, ("units", "unit", "method")),
        ]
        rows = [[getattr(each, column.name) for column in columns] for each in self.values()]
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
    add up (gmr: logarithms; hmr: reciprocals). hits@k has that of Wilson (adjusted only where all
    tasks have one expectation, else t), and so has any metric between 0 and 1 whose units are all 0
    or 1, of equal weight, such as recall@1 of single answers and a perfect mrr. Medians and mad
    have percentiles of 1,000 resamples of the units. Ends are cut to the range that the metric has
    for any tasks.

    For several runs of a model, it is the t interval of their mean over other runs and other units,
    whose squared error is the sum of those of runs and of units. Runs over unlike tasks are folds:
    their values have the t interval, and folds are the units.

    Parameters
    ----------
    ranks : Ranks or Report, or a list of those
        A Report stands for its ranks, with the weights of the report. A list has several runs of
        one model, such as training seeds.
    metric : str
        Any key of a report but z, macro averages, whose groups have intervals, and power means
        beyond 10; for several runs a function of a mean.
    unit : str, labels or None
        What was drawn when the test set was made. "unit": the label "unit", which every Task
        writes (a test triple, an aligned pair, a query of retrieval), or tasks where the ranks have
        none. "task" or None: tasks. "query", "relation", another label, or labels of the tasks.
    level : float
        Between 0 and 1.
    weights : array_like of float, shape (n,), or str, optional
        Used instead of the weights of the ranks; "query", "relation", ... as in a report. Not for
        queries: each counts once.
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
        For arguments that are not ranks, not a level, or not labels of these ranks; for weights of
        queries, a macro average and z.

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
    key = parse(metric, runs[0].grammar)
    problem = why_no_interval(key, len(runs))
    if problem:
        raise InputValueError("metric", problem)
    if weights is not None:
        if runs[0].answers is not None:
            raise InputValueError("weights", expected="no weights, as every query counts once")
        for i, run in enumerate(runs):
            of_tasks: Any = weights
            if isinstance(weights, str):
                of_tasks = task_weights_by(run.ranks, weights)
            runs[i] = run.with_ranks(run.ranks.with_weights(of_tasks))
    if is_mean(key):
        result = _mean_interval(runs, key, metric, unit, level)
    else:
        result = _bootstrap(runs[0], key, metric, unit, level, seed)
    if not math.isnan(result.low):
        return replace(result, notes=note_without_units(runs[0].ranks, unit, key) + result.notes)
    notes: tuple[str, ...] = ()
    if math.isfinite(result.value):
        units = format_count(result.units, result.unit)
        reason = units if result.units < 2 else f"all {units} are alike"
        notes = (f"no interval: {reason}",)
    return replace(result, method="none", notes=notes)


def _mean_interval(
    runs: Sequence[Rankings], key: Key, metric: str, unit: LabelsLike | None, level: float
) -> Interval:
    """The t interval of a function of a mean, or Wilson's of a share."""
    aligned = align_runs(runs)
    are_folds = aligned is None
    if aligned is not None:
        runs = aligned
    codes, name = run_units(runs, unit, are_folds=are_folds)
    sums = add_up_runs(runs, key, codes, are_folds=are_folds)
    number = len(sums.bases)
    method = runs_method(runs, are_folds=are_folds)
    is_share = not method and (sums.is_hit_share or sums.is_all_or_nothing)
    if not method:
        method = "wilson" if is_share else T
    low = high = math.nan
    notes: tuple[str, ...] = ()
    if not math.isnan(sums.value):
        mean, influences = mean_and_influences(sums.tops.mean(axis=0), sums.bases)
        if is_share and number > 1:
            low, high = _share_bounds(sums, mean, influences, level)
        else:
            _, low, high = t_test([sums.tops], sums.bases, level)
        if not math.isnan(low):  # The mean is cut to its range; the metric may fall with it.
            ends = np.clip([low, high], *sums.ends).tolist()
            low, high = sorted(map(sums.metric_at, ends))
        by_weights_alone = is_share and sums.is_all_or_nothing
        notes = note_on(metric, name, influences, sums.bases, by_weights_alone=by_weights_alone)
        notes += note_on_runs(len(sums.tops))
    return Interval(metric, sums.value, low, high, level, method, number, name, notes, key.decimals)


def _share_bounds(
    sums: Contributions, mean: float, influences: FloatArray, level: float
) -> tuple[float, float]:
    """Return Wilson's bounds of a mean that is a share of the way to its end."""
    least, _ = sums.ends
    share = (mean - least) / sums.extent
    low, high = wilson(share, influences / sums.extent, level, sums.trials)
    return least + low * sums.extent, least + high * sums.extent


def run_units(
    runs: Sequence[Rankings], unit: LabelsLike | None, *, are_folds: bool
) -> tuple[list[IntArray], str]:
    """Return the unit of each task, for each fold, or once for all runs; and the name of a unit.

    Folds are units themselves: the units of their tasks serve only to add up each fold, and to
    refuse a `unit` that is no label.
    """
    units = [unit_codes(run.ranks, unit) for run in (runs if are_folds else runs[:1])]
    return [codes for codes, _ in units], FOLD if are_folds else units[0][1]


def add_up_runs(
    runs: Sequence[Rankings], key: Key, codes: Sequence[IntArray], *, are_folds: bool
) -> Contributions:
    """Return what the units of several runs add.

    `codes` are the units of the tasks of all runs, or of each fold. The mean is that over runs, the
    value that of this mean, and tops have the shape (runs, units). Folds are units themselves:
    their means are the tops of one run. Runs that weigh units unlike are refused.
    """
    codes_by_run = codes if are_folds else [codes[0]] * len(runs)
    by_run = []
    for run, codes_of_run in zip(runs, codes_by_run, strict=True):
        by_run.append(contributions(run, key, codes_of_run))
    first = by_run[0]
    if len(by_run) == 1:
        return replace(first, tops=first.tops[None])
    if are_folds:
        tops = np.array([[fold.mean for fold in by_run]])
        bases = np.ones(len(by_run))
    else:
        check_bases([run.bases for run in by_run])
        tops = np.array([run.tops for run in by_run])
        bases = first.bases
    mean = math.fsum(run.mean for run in by_run) / len(by_run)
    return replace(first, value=first.metric_at(mean), mean=mean, tops=tops, bases=bases)


def is_value_of_mean(key: Key) -> bool:
    """Whether the value of several runs is that of their mean, not the mean of their values."""
    return not key.row.is_mean and not why_no_interval(key, runs=2)


def value_of_mean(runs: Sequence[Rankings], key: Key) -> float:
    """Return the value that the interval of several runs has, whatever their units weigh."""
    codes, _ = run_units(runs, UNIT, are_folds=True)
    return add_up_runs(runs, key, codes, are_folds=True).value


def runs_method(runs: Sequence[Rankings], *, are_folds: bool) -> str:
    """Return the name of the t interval and test of several runs; empty for one."""
    if are_folds:
        return OF_FOLDS
    return OF_RUNS if len(runs) > 1 else ""


def _bootstrap(
    model: Rankings, key: Key, metric: str, unit: LabelsLike | None, level: float, seed: int
) -> Interval:
    """The percentiles of the metric of units that are drawn again, as weights of the tasks."""
    unit_of_task, name = unit_codes(model.ranks, unit)
    unit_values = model.unit_values(key)
    value = model.value(key, unit_values)
    ranks, weights, codes = weighted_values(model, key, unit_values, unit_of_task)
    bases = sums_by_unit(codes, weights)
    low = high = math.nan
    if len(bases) > 1 and math.isfinite(value):
        resamples = _resample(key, ranks, weights, codes, seed)
        with np.errstate(invalid="ignore"):  # The rank of what a list misses may be infinite.
            _, influences = mean_and_influences(sums_by_unit(codes, weights * ranks), bases)
            # Resamples may have one median though their units are not alike.
            if min(resamples) < max(resamples) or influences.any():
                low, high = np.quantile(resamples, [(1 - level) / 2, (1 + level) / 2])
                # A quantile between infinite values is nan.
                low, high = np.nan_to_num([low, high], nan=np.inf, posinf=np.inf).tolist()
    notes = note_on(metric, name, np.zeros(len(bases)), bases)
    return Interval(
        metric, value, low, high, level, "bootstrap", len(bases), name, notes, key.decimals
    )


def _resample(
    key: Key, ranks: FloatArray, weights: FloatArray, codes: IntArray, seed: int
) -> list[float]:
    """Return the values of a metric over units that are drawn again, with replacement."""
    random = np.random.default_rng(seed)
    units = 1 + int(codes.max())
    order = np.argsort(ranks, kind="stable")  # Medians sort what is in order in no time.
    ordered_ranks = ranks[order]
    values = []
    for _ in range(RESAMPLES):
        times_drawn = np.bincount(random.integers(units, size=units), minlength=units)
        ordered_weights = (weights * times_drawn[codes])[order]
        average = key.row.average(ordered_ranks, ordered_weights, key.parameter)
        values.append(key.row.inverse(average))
    return values


def why_no_interval(key: Key, runs: int = 1) -> str:
    """Say why a key of one run, or of several, has no interval; empty where it has one."""
    if key.macro:
        plain = replace(key, macro=False)
        return (
            f"{key} is a mean over fixed groups, which has no interval; each group has one of "
            f"{plain}, and two models are compared by scipy.stats.ttest_rel over the groups' values"
        )
    if key.adjustment == "z":
        plain = replace(key, adjustment=NO_ADJUSTMENT)
        return f"{key} says how far {plain} is from chance, and has no interval; {plain} has one"
    if key.metric == COUNT:
        return "count is the number of tasks, which has no interval; take a metric of their ranks"
    if key.row.average is power_mean and not is_mean(key):
        return (
            f"{key} hangs on the few largest or smallest ranks, and has no interval; power means "
            f"from -{MOST_POWER} to {MOST_POWER} have one"
        )
    if runs > 1 and not is_mean(key):
        return (
            f"{key} of several runs has no interval, as it is not a mean over units; each run has "
            "one"
        )
    return ""


# -- statistics ------------------------------------------------------------------------------------

# They take what each unit adds to the two sums whose ratio is a mean: tops and bases.


def error_rate(level: float) -> float:
    """Return 1 - level, without the rounding of a difference."""
    return round(1 - level, 12)


def t_test(
    models: Sequence[FloatArray], bases: FloatArray, level: float
) -> tuple[float, float, float]:
    """Test the mean over runs of one model, or the difference of two: p-value and interval.

    Each model has the tops of its runs, shape (runs, units). A value is the sum of tops over that
    of bases, which units add to (see `Contributions`). Its squared error is the sum of s^2 / k for
    each model of several runs (Welch), with the variance s^2 of the values of its k runs, and of
    u / (u - 1) sum of d^2 over the influences d of the units on the mean over runs. The degrees of
    freedom are those of Satterthwaite (1946): of one run of each model u - 1, so that it is the
    paired t test. Bounds are nan where nothing varies; then the p-value is 1 for a difference of 0,
    else nan.
    """
    from scipy.special import stdtr, stdtrit

    tops = models[0].mean(axis=0)
    if len(models) > 1:
        tops = differences(tops, models[1].mean(axis=0))
    estimate, influences = mean_and_influences(tops, bases)
    p_without_variance = math.nan if estimate else 1.0
    units = len(influences)
    if units < 2:  # One unit says nothing about others.
        return p_without_variance, math.nan, math.nan
    # Of the units, and of the runs of each model.
    variances = [float(influences @ influences) * units / (units - 1)]
    degrees = [units - 1]
    for runs in models:
        if len(runs) > 1:
            values = runs.sum(axis=1) / bases.sum()
            values -= values[0]  # Equal values have no variance, not even a rounded one.
            variances.append(float(values.var(ddof=1)) / len(runs))
            degrees.append(len(runs) - 1)
    variance = sum(variances)
    if not variance > 0:
        return p_without_variance, math.nan, math.nan
    joint_degrees = variance**2 / sum(v**2 / d for v, d in zip(variances, degrees, strict=True))
    error = math.sqrt(variance)
    p_value = 2 * float(stdtr(joint_degrees, -abs(estimate) / error))
    reach = float(stdtrit(joint_degrees, 1 - error_rate(level) / 2)) * error
    return p_value, estimate - reach, estimate + reach


def wilson(
    share: float, influences: FloatArray, level: float, most_trials: float
) -> tuple[float, float]:
    """Return Wilson's interval of a share, of as many trials as would vary as much as its units do.

    Where all influences of the units are 0, each unit is a trial.

    >>> low, high = wilson(0.5, np.array([0.01] * 50 + [-0.01] * 50) / 2, 0.95, 100)
    >>> round(low, 4), round(high, 4)
    (0.4038, 0.5962)
    """
    from scipy.special import ndtri

    share = round(share, 12)  # All hits are 1, whatever their weights were.
    trials = float(len(influences))
    if influences.any() and 0 < share < 1:
        trials = share * (1 - share) / float(influences @ influences)
    square = float(ndtri((1 + level) / 2)) ** 2 / min(trials, most_trials)
    middle = (share + square / 2) / (1 + square)
    reach = math.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return middle - reach, middle + reach


def differences(one: FloatArray, two: FloatArray) -> FloatArray:
    """What units add to one model and not to the other; 0 where only rounding differs.

    >>> differences(np.array([1.0, 0.1 + 0.2]), np.array([0.5, 0.3]))
    array([0.5, 0. ])
    """
    apart = one - two
    return np.where(np.abs(apart) <= ROUNDING * (np.abs(one) + np.abs(two)), 0.0, apart)


def paired_test(
    apart: FloatArray, bases: FloatArray, level: float, most: float
) -> tuple[float, float, float, bool]:
    """Test differences of units by t: p-value, bounds of the mean, and whether few units carry it.

    It is `scipy.stats.ttest_rel` where enough units carry the difference and weigh alike. Where few
    do, such as 5 of 500, a sample may lack those that decide: three more units of mean 0 and mean
    square M^2 are counted. If k units differ, M is the greatest difference or, if more, what a unit
    adds at `most`, times min(1, 3 / k). Where that has no limit, M is the greatest difference times
    max(1, 20 / k). Where all units differ, none is unseen, and M is the greatest difference.

    >>> p, low, high, is_few = paired_test(np.arange(10.0) == 3, np.ones(10), 0.95, most=1.0)
    >>> round(p, 3), round(low, 3), round(high, 3), is_few
    (0.636, -0.269, 0.422, True)
    """
    number = len(apart)
    _, influences = mean_and_influences(apart, bases)
    carriers = count_carriers(np.square(influences))
    if number < 2 or carriers >= min(FEW_CARRIERS, number / 4):
        return *t_test([apart[None]], bases, level), False
    differing = max(int(np.count_nonzero(apart)), 1)
    size = float(np.abs(apart).max())
    if differing < number:  # Others may differ by more than these.
        unseen = size * ENOUGH_SEEN / differing
        if math.isfinite(most):
            unseen = most * min(1.0, MORE_UNITS / differing)
        size = max(size, unseen)
    more = size * math.sqrt(MORE_UNITS / 2) * np.array([1.0, 0.0, -1.0])
    tops = np.append(apart, more)
    weights = np.append(bases, np.full(MORE_UNITS, bases.mean()))
    return *t_test([tops[None]], weights, level), True


def note_kind(note: str) -> str:
    """Return what notes of one kind have alike: the words before their numbers.

    >>> note_kind("few units: 9 tasks")
    'few units'
    """
    return note.partition(":")[0]


def note_numbers(note: str) -> list[int]:
    """Return the numbers that a note has in words of their own, in their order; "none" is 0.

    >>> note_numbers("few units carry it: hits@10 rests on about 7 of 20,000 tasks")
    [7, 20000]
    """
    words = note.replace(",", "").replace("none", "0").split()
    return [int(word) for word in words if word.isdecimal()]


def note_without_units(ranks: Ranks, unit: LabelsLike | None, key: Key) -> tuple[str, ...]:
    """Say that heads and tails are no units of their own, where no label joins those of a fact."""
    is_default = isinstance(unit, str) and unit == UNIT
    if key.side == ALL_SIDES and is_default and ranks.unit is None and ranks.side is not None:
        numbers: Mapping[Any, int] = ranks.side.counts()
        if numbers.get("head") and numbers.get("tail"):
            return (APART,)
    return ()


def note_on_runs(runs: int) -> tuple[str, ...]:
    """Say that the runs of the model that has fewer are few; one run says nothing about others.

    >>> note_on_runs(1), note_on_runs(2)
    ((), ('few runs: 2',))
    """
    return (f"{FEW} runs: {runs}",) if 1 < runs < FEW_RUNS else ()


def check_bases(bases: Sequence[FloatArray]) -> None:
    """Refuse runs whose units weigh unlike, of which the differences of units say nothing."""
    first, *others = bases
    if not all(weigh_alike(first, other) for other in others):
        expected = "units with the weights of the other model"
        raise InputValueError("runs", expected=expected, got="unlike weights")


def count_carriers(numbers: FloatArray) -> float:
    """How many units carry a sum: (sum of x)^2 / sum of x^2; 0 where there is nothing.

    >>> count_carriers(np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    4.0
    """
    largest = float(numbers.max(initial=0.0))
    if not largest:
        return 0.0
    shares = numbers / largest
    return float(shares.sum() ** 2 / np.square(shares).sum())


def note_on(
    metric: str,
    name: str,
    influences: FloatArray,
    bases: FloatArray,
    *,
    by_weights_alone: bool = False,
) -> tuple[str, ...]:
    """Say in one clause, if at all, that few units carry a result, where t covers too little.

    The interval of a share of units that weigh alike does not hang on their influences.

    >>> note_on("mr", "task", np.array([-300.0] + [1.0] * 300), np.ones(301))
    ('few units carry it: mr rests on about 1 of 301 tasks',)
    """
    units = len(influences)
    if units < FEW_UNITS:
        return (f"{FEW} units: {format_count(units, name)}",)
    carriers = count_carriers(np.abs(bases))
    if influences.any() and not by_weights_alone:
        carriers = min(carriers, count_carriers(np.square(influences)))
    if carriers >= FEW_CARRIERS:
        return ()
    counted = f"about {carriers:.0f} of {format_count(units, name)}"
    return (f"{FEW} units carry it: {metric} rests on {counted}",)
