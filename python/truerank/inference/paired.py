"""Compare two models over the same tasks: the difference of a metric, its interval, its p-value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    get_args,
    overload,
)

import numpy as np

from ..inputs.checks import choice, confidence, integer_at_least, resample_count
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..metrics.keys import Key, parse
from ..ranks.container import Ranks
from ..tables.table_writer import format_count
from .multiplicity.corrections import holm
from .paired_models.comparisons import Comparison, Comparisons
from .paired_models.paired_tests import SWAPS, error_rate, mcnemar, signed_rank
from .paired_models.paired_units import PairedUnits, count_wins, is_mean, units_of_pair
from .paired_models.pairing import (
    HasRanks,
    HasReports,
    has_protocol,
    have_same_tasks,
    pair_ranks,
    runs_of,
    weighted_ranks,
)
from .repeated_runs import TWO_LEVEL, PairedFolds, PairedRuns
from .samples import cautions
from .samples.resampling import is_exhaustible, watched_resamples
from .samples.units import AUTO, TASK, plural
from .sampling_design import DesignedPair, crossed_names, design_of

if TYPE_CHECKING:
    from typing import Unpack

    from ..inputs.progress_listeners import Progress
    from ..ranks.labels import LabelsLike
    from .paired_models.paired_tests import DifferenceTest
    from .repeated_runs import TwoLevelTest

PairedMethod = Literal["permutation", "bootstrap", "wilcoxon", "mcnemar"]
METHODS: tuple[PairedMethod, ...] = get_args(PairedMethod)
HITS = "hits"
COUNT = "count"
COUNT_MESSAGE = (
    "count is the number of tasks, which is the same for two models over the same tasks; take a "
    "metric of their ranks"
)


Metrics: TypeAlias = list[str] | list[Key] | list[str | Key] | tuple[str, ...]
Model: TypeAlias = Ranks | HasRanks | Sequence[Ranks] | Sequence[HasRanks] | HasReports


class _Keywords(TypedDict, total=False):
    method: PairedMethod | None
    by: LabelsLike | None
    level: float
    resamples: int
    seed: int
    draw_seed: int
    allow_unlike: bool
    strata: LabelsLike | None
    progress: bool | Callable[[Progress], object] | None


@overload
def compare(
    a: Model, b: Model, *, metric: str | Key = ..., **options: Unpack[_Keywords]
) -> Comparison: ...


@overload
def compare(
    a: Model, b: Model, *, metric: Metrics, **options: Unpack[_Keywords]
) -> Comparisons: ...


@overload
def compare(
    a: Mapping[str, Model] | Mapping[str, Ranks] | Mapping[str, HasRanks],
    b: None = None,
    *,
    metric: str | Key | Metrics = ...,
    **options: Unpack[_Keywords],
) -> Comparisons: ...


@public("truerank")
def compare(
    a: Model | Mapping[str, Model] | Mapping[str, Ranks] | Mapping[str, HasRanks],
    b: Model | None = None,
    *,
    metric: str | Key | Metrics = "mrr",
    method: PairedMethod | None = None,
    by: LabelsLike | None = AUTO,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    draw_seed: int = 0,
    allow_unlike: bool = False,
    strata: LabelsLike | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Comparison | Comparisons:
    """Compare a metric of two models over the same tasks, pair by pair.

    Parameters
    ----------
    a : Ranks, Report, a list of those, Repeats, or mapping of str to those
        A Report stands for its ranks, with the weights that are in force in it. With a mapping, all
        pairs of its members are compared, and their p-values corrected by Holm's rule. A list, or
        Repeats, has several runs of one model, such as training seeds: the difference is then that
        of the means over runs, and it holds for other seeds as well as for other tasks.
    b : Ranks, Report, a list of those, or Repeats
        The same tasks in the same order; several runs where a has several, their number may differ.
        If the runs of a have unlike tasks, they are folds: b has as many, each with the tasks of
        that of a. Not given with a mapping.
    metric : str or Key, or several of them
        Any key of a report, with side, kind and adjustment; `macro.X` needs `by`. Tasks count by
        the weights of the Ranks, which must agree. For a list of keys each of them is compared, by
        the same resamples, and the p-values of all are corrected together.
    method : {"permutation", "bootstrap", "wilcoxon", "mcnemar"}, optional
        How the two-sided p-value is computed. Several runs have a method of their own, "two-level
        t" (see Notes); else it is "permutation" if not given:

        - "permutation": swap the models' ranks at random in each unit, compute the metric again,
          and count how often the difference is at least as large. All 2**units ways are tried where
          there are no more than `resamples`; else it is (1 + number) / (1 + resamples).
        - "bootstrap": resample the units, and divide the distance of each resampled difference from
          the measured one by its own standard error: (1 + those that are at least as far as 0 is) /
          (1 + resamples). For medians, mad, power_mean:inf and -inf: twice the smaller share of
          resampled differences on one side of 0. It agrees with the interval.
        - "wilcoxon": the signed-rank test on the units' differences of f(r) (1/r for mrr, log r for
          gmr); units without a difference are left out. It is exact, ties included, for up to 300
          differences, and beyond them normal with correction for ties. It asks another question
          than the metric: whether the differences lie around 0, whatever their size. For a metric
          that is not a mean (medians, std, variance, mad, power means) it tests the ranks r
          themselves, and a note says so.
        - "mcnemar": for hits@k, the exact binomial test of the tasks that one model alone hits.
          Where the units are groups of tasks, the hits of whole groups are swapped instead, since
          the binomial test takes the tasks as independent; a note says so.
    by : str, labels or None
        The units, which are swapped or resampled as a whole, as in `interval`. "auto": units where
        two tasks have one label "unit", else queries where two tasks have one query, else tasks.
        None and "task": single tasks. Else "query", "relation", another name of labels that a has,
        or labels. A tuple of two names, ("query", "target"), asks for units of two kinds at once,
        such as queries and the answers that many of them share: a t test with the two-way
        cluster-robust error takes the place of the permutation test.
    level : float
        The level of the interval of the difference. Where the difference is a sum over units (mr,
        mrr, hits@k, their index, ratio and z, and macro averages), it holds the shifts of the
        difference that the permutation test does not reject: 0 is in the interval if and only if
        that p-value exceeds 1 - level. For other metrics, and the method "bootstrap", it comes from
        the resampled differences, studentised; for medians, mad and power_mean:inf and -inf these
        are their percentiles, which are wide where ranks are whole numbers. `basis` says how.
    resamples, seed : int
        As in `interval`.
    draw_seed : int
        The seed of the kind "random"; the seeds of Reports are ignored.
    allow_unlike : bool
        Compare ranks whose protocols, candidates or ids differ, too, by position; a note says what
        differs. The numbers of tasks and the weights must agree in any case.
    strata : str or labels, optional
        The number of units of each stratum is fixed, such as that of each "relation": only the
        variance within strata counts, by a t test; with "bootstrap", units are resampled within
        their stratum. All tasks of a unit must lie in one stratum.
    progress : callable or bool, optional
        Called with a `Progress`, in resamples, as they are drawn. True: a bar of tqdm or rich.

    Returns
    -------
    Comparison or Comparisons
        Comparisons for a mapping of models, and for several metrics.
        Wins and losses compare f(r), or the rank for a metric that is not a mean over tasks: a
        model with the better std may lose most tasks. The notes say what limits the comparison:
        what differs, pairing by position only, that the split is a test split, that there are few
        units, that few of them hold many tasks or carry the variance, that p reached its floor, and
        that p and interval do not agree about 0, which they can where they are computed in
        different ways.

    Raises
    ------
    ValueError
        If the numbers of tasks, weights, candidates, comparable fields of the protocols, or (where
        both have them) sides, query or target ids differ; the message lists all differences. For an
        unknown method; for the metric "count", which is the same for both models; for "wilcoxon"
        or "mcnemar" with unequal weights of tasks, where they have no meaning; for "mcnemar" with
        another metric than hits@k; for a method if there are several runs; for a single run in a
        list. For a Report that was read from JSON, which holds no ranks.
    KeyError
        For an unknown key.
    TypeError
        For anything but Ranks and Reports.

    Notes
    -----
    Under the null hypothesis of the permutation test the two models are exchangeable in each unit.
    The test holds then for any number of units, however unequal; the interval assumes besides that
    the models differ by the same amount in each. In simulations with exchangeable models it rejects
    at most 5.7 % at the level 5 % from 5 units on, also where one unit holds most tasks. Where one
    model is much better in a tenth of the units and slightly worse in the others, it rejects 8 % of
    50 units, and a note says how many carry the variance. For an adjusted key, chance is computed
    from the tasks of the resample, as in `interval`.

    Several runs over the same tasks are compared by a t test of the difference of their means. Its
    squared error has s^2 / k for the k runs of each model, whose values have the variance s^2, and
    the variance of the mean difference over units, without what both have in common; its degrees of
    freedom are those of Welch and Satterthwaite. It rejects 3 to 6 % at the level 5 % from 5 runs
    of each model on, in simulations with effects of runs, tasks, and both; fewer runs are noted. An
    interval over tasks alone rejects up to 36 % there, and one over runs alone up to 28 %. For
    folds, the t test is that of the k differences.

    E. W. Noreen: Computer-Intensive Methods for Testing Hypotheses (1989). S. Holm: A Simple
    Sequentially Rejective Multiple Test Procedure. Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> a = Ranks([0, 1, 0, 2, 0, 0], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> b = Ranks([3, 1, 2, 4, 1, 2], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> found = compare(a, b, metric="mr")
    >>> round(found.difference, 4), found.p_value, found.wins, found.ties, found.losses
    (-1.6667, 0.0625, 5, 1, 0)
    >>> from truerank import report
    >>> compare(report(a), report(b), metric="mr") == found
    True
    >>> [(one.metric, one.p_value) for one in compare(a, b, metric=["mr", "mrr"])]
    [('mr', 0.0625), ('mrr', 0.0625)]
    """
    if method is not None:
        choice("method", method, METHODS)
    single = isinstance(metric, (str, Key)) or not isinstance(metric, (list, tuple))
    keys: Any = [metric] if single else metric
    parsed = [*dict.fromkeys(key if isinstance(key, Key) else parse(key) for key in keys)]
    if not parsed:
        raise InputValueError("metric", expected="at least one key", got="none")
    if any(key.metric == COUNT for key in parsed):
        raise InputValueError("metric", COUNT_MESSAGE)
    options = _CompareOptions(
        parsed[0],
        method,
        by,
        confidence(level),
        resample_count(resamples),
        integer_at_least("seed", seed),
        integer_at_least("draw_seed", draw_seed),
        allow_unlike,
        strata,
    )
    if has_protocol(a) or not isinstance(a, Mapping):
        if single:
            with watched_resamples(progress):
                return _compare_pair(a, b, options, ("a", "b"))
        models: Mapping[str, Any] = {"a": a, "b": b}
    elif b is not None:
        raise InputTypeError("b", expected="nothing beside a mapping of Ranks or Reports")
    else:
        models = a
    if len(models) < 2:
        got = len(models)
        raise InputValueError("a", expected="at least two Ranks or Reports to compare", got=got)
    asked = [*itertools.product(parsed, itertools.combinations(models, 2))]
    with watched_resamples(progress, len(asked)):
        pairs = [
            _compare_pair(models[one], models[two], options._replace(key=key), (one, two))
            for key, (one, two) in asked
        ]
    corrected = holm([pair.p_value for pair in pairs])
    return Comparisons([pair._replace(p_holm=p) for pair, p in zip(pairs, corrected, strict=True)])


class _CompareOptions(NamedTuple):
    key: Key
    method: str | None
    by: LabelsLike | None
    level: float
    resamples: int
    seed: int
    draw_seed: int
    allow_unlike: bool
    strata: LabelsLike | None


def _compare_pair(a: Any, b: Any, options: _CompareOptions, names: tuple[str, str]) -> Comparison:
    pair, pairing, notes = gather_models(a, b, options, names)
    if not isinstance(pair, PairedUnits):
        if options.method is not None:
            problem = "several runs are compared by one method, which is not among these"
            raise InputValueError("method", f"{problem}; leave it out")
        method, runs = TWO_LEVEL, pair.runs
    else:
        method, runs = options.method or METHODS[0], (1, 1)
    if method == "wilcoxon" and not options.key.macro and not is_mean(options.key):
        notes = (f"Wilcoxon tests the ranks, not {options.key.metric}", *notes)
    low, high, p, floor, basis = (math.nan,) * 4 + ("",)
    if pair.units and not math.isnan(pair.difference):
        found: cautions.Notes = ()
        test: DifferenceTest | TwoLevelTest
        if isinstance(pair, PairedUnits):
            test = pair.test(options.resamples, options.seed, bootstrap=method == "bootstrap")
            if isinstance(pair, DesignedPair):
                method = pair.method_of(test, options.method)
            p, floor, found = _p_value(pair, test, method, options)
        else:
            test = pair.test(options.resamples, options.seed)
            p, floor = test.p_value(), 0.0
        basis = test.basis
        low, high, avoided = bounds_of(pair, test, options.level)
        notes += found + avoided
        notes += notes_on_units(pair, test, error_rate(options.level))
        if not math.isnan(p + low) and (p <= error_rate(options.level)) == (low <= 0 <= high):
            notes += cautions.no_agreement(method, "a share of 0" if avoided else basis)
    wins, ties, losses = count_wins(options.key, *pair.task_values())
    return Comparison(
        metric=str(options.key),
        value_a=pair.value_a,
        value_b=pair.value_b,
        difference=pair.difference,
        low=low,
        high=high,
        level=options.level,
        p_value=p,
        p_floor=floor,
        wins=wins,
        ties=ties,
        losses=losses,
        method=method,
        basis=basis,
        units=pair.units,
        by=pair.by,
        largest=pair.largest,
        resamples=options.resamples,
        seed=options.seed,
        pairing=pairing,
        notes=notes,
        name_a=names[0],
        name_b=names[1],
        runs_a=runs[0],
        runs_b=runs[1],
    )


def gather_models(
    a: Any, b: Any, options: Any, names: tuple[str, str]
) -> tuple[PairedUnits | PairedRuns | PairedFolds, str, tuple[str, ...]]:
    """Gather two models, or the runs or folds of two models, as `gather_pair` does.

    Raises
    ------
    ValueError
        For fewer than two runs, and for folds whose number differs.
    TypeError
        For several runs of one model and a single one of the other.
    """
    several = [runs_of(name, model) for name, model in zip(names, (a, b), strict=True)]
    first, second = several
    if first is None and second is None:
        return gather_pair(a, b, options, names)
    if first is None or second is None:
        which = names[several.index(None)]
        raise InputTypeError(which, expected="several runs, as the other model has", got="one")
    labels = [
        [f"{n}[{i}]" for i in range(len(x))] for n, x in zip(names, (first, second), strict=True)
    ]
    ranks = [weighted_ranks(label, x) for label, x in zip(labels[0], first, strict=True)]
    if all(have_same_tasks(ranks[0], x) for x in ranks[1:]):
        others = [*zip(labels[0][1:], first[1:], strict=True), *zip(labels[1], second, strict=True)]
        found = [gather_pair(first[0], x, options, (labels[0][0], label)) for label, x in others]
        units = [found[0][0].one, *(pair.two for pair, _, _ in found)]
        made: PairedRuns | PairedFolds = PairedRuns(units[: len(first)], units[len(first) :])
        notes = cautions.few_runs(dict(zip(names, made.runs, strict=True)))
    else:
        if len(first) != len(second):
            expected = f"{len(first)} runs, one for each fold of {names[0]}"
            raise InputValueError(names[1], expected=expected, got=len(second))
        pairs = zip(first, second, *labels, strict=True)
        found = [gather_pair(x, y, options, (one, two)) for x, y, one, two in pairs]
        made = PairedFolds([pair for pair, _, _ in found])
        notes = cautions.folds(len(first)) + cautions.few_runs({"each": len(first)})
    if any(isinstance(pair, DesignedPair) for pair, _, _ in found):
        name = "strata" if getattr(options, "strata", None) is not None else "by"
        raise InputValueError(name, "several runs are compared over units of one kind alone")
    told = dict.fromkeys(note for _, _, some in found for note in some)
    return made, found[-1][1], (*told, *notes)


def gather_pair(
    a: Any, b: Any, options: Any, names: tuple[str, str]
) -> tuple[PairedUnits, str, tuple[str, ...]]:
    """Gather two models in their units; also how their tasks were matched, and notes on this.

    Parameters
    ----------
    a, b : Ranks or Report
    options : object
        It has `key`, `by`, `draw_seed` and `allow_unlike`.
    names : (str, str)
        What messages call the models.
    """
    a, b, pairing, notes = pair_ranks(a, b, names, allow_unlike=options.allow_unlike)
    by = options.by if crossed_names(options.by, a) is None else TASK
    one, two = units_of_pair(a, b, options.key, by=by, draw_seed=options.draw_seed)
    design = design_of(a, one, options.by, getattr(options, "strata", None))
    if design is not None:
        return DesignedPair(one, two, design), pairing, notes
    return PairedUnits(one, two), pairing, notes


def _p_value(
    pair: PairedUnits, test: DifferenceTest, method: str, options: _CompareOptions
) -> tuple[float, float, cautions.Notes]:
    """The p-value, the smallest one that the resamples can give, and notes."""
    units = pair.units
    if isinstance(pair, DesignedPair):
        return test.p_value() if units > 1 else math.nan, test.floor, ()
    if method == "wilcoxon":
        return signed_rank(*pair.unit_differences(method)), 0.0, ()
    if method == "mcnemar":
        return _mcnemar(pair, test)
    if method == "bootstrap":
        p, floor = (test.p_value(), test.floor) if units > 1 else (math.nan, math.nan)
    elif test.basis == SWAPS:
        p, floor = test.p_value(), test.floor
    else:
        p = pair.swap_p_value(options.resamples, options.seed)
        exact = is_exhaustible(units, options.resamples)
        floor = 0.0 if exact else 1 / (1 + options.resamples)
    return p, floor, cautions.floor_reached(p, floor, format_count(options.resamples, "resample"))


def _mcnemar(pair: PairedUnits, test: DifferenceTest) -> tuple[float, float, cautions.Notes]:
    key = pair.one.key
    if key.metric != HITS or key.macro:
        raise InputValueError("method", expected="a metric hits@k for 'mcnemar'", got=str(key))
    first, second = pair.task_values()
    if not np.isin([first, second], (0.0, 1.0)).all():
        problem = "mcnemar has no meaning where ties make a share of a hit; take another kind"
        raise InputValueError("method", problem)
    if pair.one.number == len(first):
        apart, _ = pair.unit_differences("mcnemar")
        return mcnemar(int((apart > 0).sum()), int((apart < 0).sum())), 0.0, ()
    p, floor = test.p_value(), test.floor
    notes = (f"McNemar's test swaps whole units, of which each is a {pair.by}",)
    ways = format_count(len(test.lows), "resample")
    return p, floor, notes + cautions.floor_reached(p, floor, ways)


def bounds_of(
    pair: PairedUnits | PairedRuns | PairedFolds,
    test: DifferenceTest | TwoLevelTest,
    level: float,
    *,
    same_is_zero: bool = True,
) -> tuple[float, float, cautions.Notes]:
    """The interval of a test, within what the metric can reach, and never of width 0 unnoticed.

    `same_is_zero` leaves the width 0 to models whose ranks are the same in every task.
    """
    units, difference = pair.units, pair.difference
    if units < 2:
        return math.nan, math.nan, ()
    low, high = test.interval(level)
    reach = pair.reach()
    if reach == 0:  # whatever the test says
        return 0.0, 0.0, cautions.zero_width("every rank gives these tasks the same value")
    if not high - low <= 2 * pair.slack:
        return max(low, -reach), min(high, reach), ()
    if same_is_zero and pair.same_ranks():
        return low, high, cautions.zero_width("both models have the same rank in every task")
    share = 1 - ((1 - level) / 2) ** (1 / units)
    # a share of other units, of which the sample has none, could be as far away as the metric goes
    reach = max(reach, abs(difference))
    bounds = difference - share * (difference + reach), difference + share * (reach - difference)
    counted = format_count(units, pair.by, plural(pair.by))
    reason = f"all {counted} have the same difference; the bounds are those of a share of 0"
    return *bounds, cautions.zero_width_avoided(reason)


def notes_on_units(
    pair: PairedUnits | PairedRuns | PairedFolds, test: Any, alpha: float, *, sides: int = 2
) -> cautions.Notes:
    """What the number and the sizes of the units say about p-value and interval."""
    if isinstance(pair, DesignedPair):
        return pair.notes()
    units, by = pair.units, pair.by
    consequence = "p and interval are approximate"
    if test.basis == SWAPS:
        least = min(1.0, 2.0 ** (1 - units))
        consequence = f"p cannot be below {least * sides / 2:.3g}"
        if least > alpha:
            consequence += ", and the interval is the range of the metric"
    notes = cautions.few_units(units, by, consequence)
    tasks = len(pair.one.unit)
    notes += cautions.clusters(units, by, pair.largest, tasks)
    carriers = pair.carriers()
    if units >= cautions.FEW_UNITS and carriers < cautions.FEW_CARRIERS:
        notes += cautions.heavy_tail(carriers, units, by)
    if isinstance(pair, PairedUnits):
        notes += cautions.large_error(pair.relative_error(), pair.one.key.metric)
    return notes
