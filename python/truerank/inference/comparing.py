"""Compare models over the same tasks: the difference of a metric, its interval, its p-value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, overload

import numpy as np

from ..inputs.checks import confidence, flag, integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..metrics import METRICS, Key
from ..metrics.keys import table_name
from ..ranks.container import Ranks
from .comparisons import DIFFERENCE, RATIO, Comparison, Comparisons
from .corrections import holm
from .influences import (
    DIFFERENCES,
    LOGARITHM,
    MEDIAN,
    Influences,
    slope,
)
from .intervals import unseen_share
from .inversion import invert
from .pairing import (
    HasRanks,
    HasReports,
    groups_of,
    has_protocol,
    have_same_tasks,
    pair_ranks,
    reader_of,
    runs_of,
    tasks_of,
)
from .runs import TWO_LEVEL, crossed_runs, influences_of_run, nested_runs, notes_on_runs
from .sign_flips import PowerSums, SignFlips, error_rate
from .units import (
    COUNT,
    COUNT_MESSAGE,
    TASK,
    UNIT,
    Units,
    group_of_tasks,
    notes_on_units,
    unit_codes,
    units_of,
)

if TYPE_CHECKING:
    from typing import Unpack

    from ..inputs.arrays import FloatArray
    from ..ranks.labels import LabelsLike

FLIPS = "sign flips"
T_BEYOND = "t beside sign flips"
UNBOUNDED = (
    "no bounds: each unit has the same {}, and an unseen one may be any number of ranks away"
)

Metrics: TypeAlias = list[str] | list[Key] | list[str | Key] | tuple[str, ...]
Model: TypeAlias = Ranks | HasRanks | Sequence[Ranks] | Sequence[HasRanks] | HasReports


class _Keywords(TypedDict, total=False):
    by: LabelsLike | None
    level: float
    groups: LabelsLike | None
    draw_seed: int
    allow_unlike: bool


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
    by: LabelsLike | None = UNIT,
    level: float = 0.95,
    groups: LabelsLike | None = None,
    draw_seed: int = 0,
    allow_unlike: bool = False,
) -> Comparison | Comparisons:
    """Compare a metric of two models over the same tasks, unit by unit.

    The p-value says how often the difference would be as large if the models' results were swapped
    at random in each unit; the interval holds the shifts that this test does not reject. Metrics
    that are no mean over tasks (gmr, hmr, medians, std, ...) are compared by their ratio. For mean
    ranks the p-value is the larger of this one and that of a t test, and the interval that of both.
    For several runs of each model it is a t test over runs and units. The how-to page "Compare
    models" has the details.

    Up to 30 units with a difference, few sizes of differences (hits@k), and whole multiples of a
    step (mean ranks of some hundred units) are counted exactly, as `scipy.stats.permutation_test`
    would if it tried all swaps, and McNemar's exact test. Others are saddle-point approximations;
    `accuracy` bounds their relative error, by which the p-value is multiplied.

    Parameters
    ----------
    a : Ranks, Report, a list of those, Repeats, or mapping of str to those
        A Report stands for its ranks, with the weights that are in force in it. With a mapping, all
        pairs of its members are compared, and their p-values corrected by Holm's rule. A list, or
        Repeats, has several runs of one model, such as training seeds.
        Reports of retrieval are compared query by query, by the keys that they have.
    b : Ranks, Report, a list of those, or Repeats
        The same tasks, in any order where labels say what they are: side, relation, time, query and
        target, as far as both models have them; repeats are paired in the order in which they
        occur. Without labels, in the same order. Several runs where a has several; if the runs of a
        have unlike tasks, they are folds, and b has the same. Not given with a mapping.
    metric : str or Key, or several of them
        Any key of a report. For several keys, p-values are corrected by Holm's rule.
    by : str, labels or None
        The units, as in `interval`.
    level : float
        The level of the interval.
    groups : str or labels, optional
        The groups of a macro average, as in `interval`.
    draw_seed : int
        The seed of the kind "random"; the seeds of Reports are ignored.
    allow_unlike : bool
        Compare ranks whose protocols, candidates or ids differ, too; a note says what differs.
        Tasks that labels cannot pair are paired by position. The numbers of tasks and the weights
        must agree in any case.

    Returns
    -------
    Comparison or Comparisons
        Comparisons for a mapping of models, and for several metrics.

    Raises
    ------
    ValueError
        If the numbers of tasks, weights, candidates, comparable fields of the protocols, or ids
        differ; the message lists all differences. For ranks of a report of retrieval, if a query
        has several right answers: compare its report. For metrics that tell no units apart (count,
        mad, power_mean:inf), and for those whose own metric is to be compared (index.gmr, z.gmr).
    KeyError
        For an unknown key.
    TypeError
        For anything but Ranks and Reports.

    Examples
    --------
    >>> a = Ranks([0, 1, 0, 2, 0, 0], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> b = Ranks([3, 1, 2, 4, 1, 2], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> found = compare(a, b, metric="mrr")
    >>> round(found.estimate, 4), found.p_value, found.wins, found.ties, found.losses
    (0.4528, 0.0625, 5, 1, 0)
    >>> from truerank import report
    >>> compare(report(a), report(b), metric="mrr") == found
    True
    """
    several = isinstance(metric, (list, tuple))
    keys = _read_keys(metric, reader_of(a))
    level = confidence(level)
    draw_seed = integer("draw_seed", draw_seed, least=0)
    options = Options(by, level, groups, draw_seed, flag("allow_unlike", allow_unlike))
    if isinstance(a, Mapping) and not has_protocol(a):
        if b is not None:
            raise InputTypeError("b", expected="nothing beside a mapping of Ranks or Reports")
        models: Mapping[str, Any] = a
    elif several:
        models = {"a": a, "b": b}
    else:
        return _compare_pair(a, b, keys[0], options, ("a", "b"))
    if len(models) < 2:
        raise InputValueError("a", expected="at least two Ranks or Reports", got=len(models))
    pairs = []
    for key in keys:
        for one, two in itertools.combinations(models, 2):
            pairs.append(_compare_pair(models[one], models[two], key, options, (one, two)))
    return Comparisons(corrected(pairs))


def _read_keys(metric: Any, read: Callable[[str], Key]) -> list[Key]:
    """The keys of one metric or of several, each once."""
    metrics = metric if isinstance(metric, (list, tuple)) else [metric]
    keys: dict[Key, None] = {}
    for each in metrics:
        key = each if isinstance(each, Key) else read(each)
        keys[key] = None
    if not keys:
        raise InputValueError("metric", expected="at least one key", got="none")
    for key in keys:
        check_comparable(key)
    return list(keys)


def corrected(pairs: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p-values of comparisons by Holm's rule over all of them.

    Examples
    --------
    >>> ranks = Ranks([0], [1], 10)
    >>> corrected([compare(ranks, ranks)])[0].p_holm
    1.0
    """
    adjusted = holm([pair.p_value for pair in pairs])
    return [pair._replace(p_holm=p) for pair, p in zip(pairs, adjusted, strict=True)]


def check_comparable(key: Key) -> None:
    """Raise an error for keys that cannot differ, or whose own metric is to be compared.

    Examples
    --------
    >>> from truerank.metrics import parse
    >>> check_comparable(parse("amri"))
    >>> check_comparable(parse("index.gmr"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.inputs.errors.InputValueError: metric: index.gmr differs where gmr does; ...
    """
    metric = METRICS.get(key.metric, METRICS["mrr"])  # those of retrieval are means, as mrr is
    if key.metric == COUNT:
        raise InputValueError("metric", COUNT_MESSAGE)
    if key.adjustment in ("index", "z") and metric.single is None:
        plain = key._replace(adjustment="none")
        problem = f"{key} differs where {plain} does; compare {plain}, by its ratio"
        raise InputValueError("metric", problem)


class Options(NamedTuple):
    """The keywords that pairs of models have in common."""

    by: LabelsLike | None
    level: float
    groups: LabelsLike | None
    draw_seed: int
    allow_unlike: bool


class Pair(NamedTuple):
    """The tasks of two models in the same units, how they were matched, and notes on this."""

    one: Units
    two: Units
    pairing: str
    notes: tuple[str, ...]

    def influences(self, level: float) -> tuple[Influences, Influences]:
        """The influences on the metric of both models."""
        return influences_of_run(self.one, level), influences_of_run(self.two, level)


def gather_pair(a: Any, b: Any, key: Key, options: Options, names: tuple[str, str]) -> Pair:
    """Gather the tasks of two models in the units of the first."""
    groups = groups_of(a, options.groups)
    paired = pair_ranks(a, b, names, allow_unlike=options.allow_unlike)
    codes, name = unit_codes(paired.a, options.by)
    macro = group_of_tasks(paired.a, key, options.by, groups)
    by = None if name == TASK else codes
    units = []
    for model in paired.models:
        found = units_of(
            model,
            key,
            by=by,
            groups=macro,
            draw_seed=options.draw_seed,
        )
        units.append(found._replace(by=name))
    one, two = units
    return Pair(one, two, paired.pairing, paired.notes)


def _compare_pair(a: Any, b: Any, key: Key, options: Options, names: tuple[str, str]) -> Comparison:
    runs_a = runs_of(names[0], a)
    runs_b = runs_of(names[1], b)
    if runs_a is not None and runs_b is not None:
        return _compare_runs(runs_a, runs_b, key, options, names)
    if runs_a is not None or runs_b is not None:
        single = names[0] if runs_a is None else names[1]
        raise InputTypeError(single, expected="several runs, as the other model has", got="one")
    pair = gather_pair(a, b, key, options, names)
    first, second = pair.influences(options.level)
    if math.isnan(first.value - second.value):
        effect = RATIO
        if key.macro or first.form in DIFFERENCES:
            effect = DIFFERENCE
        found = Tested(effect)
    elif first.form in DIFFERENCES:
        found = _test_difference(first, second, key, options.level)
    else:
        found = _test_ratio(first, second, key, options.level)
    return _comparison(
        [pair],
        [pair.one.merits(), pair.two.merits()],
        names,
        value_a=first.value,
        value_b=second.value,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        level=options.level,
        p_value=found.p_value,
        method=found.method,
        accuracy=found.accuracy,
        units=len(first.shares),
        effect=found.effect,
        notes=notes_on_units(pair.one) + found.notes,
    )


def _comparison(
    pairs: Sequence[Pair],
    merits: Sequence[FloatArray],
    names: tuple[str, str],
    *,
    notes: tuple[str, ...],
    **measured: Any,
) -> Comparison:
    """Add to what was measured what is known of every comparison, and count wins by the merits."""
    key = pairs[0].one.key
    one, two = merits
    slack = 1e-12 * np.maximum(np.abs(one), np.abs(two))  # equal means of unlike runs may differ
    wins = int((one - two > slack).sum())
    losses = int((two - one > slack).sum())
    notes_of_pairs = dict.fromkeys(note for pair in pairs for note in pair.notes)
    return Comparison(
        metric=str(key),
        wins=wins,
        ties=len(one) - wins - losses,
        losses=losses,
        by=pairs[0].one.by,
        pairing=pairs[-1].pairing,
        notes=tuple(notes_of_pairs) + notes,
        name_a=names[0],
        name_b=names[1],
        title=table_name(key),
        decimals=key.decimals,
        **measured,
    )


# -- the test of one run of each model -------------------------------------------------------------


class Tested(NamedTuple):
    """What a test says of two models, on the scale of the effect; nan where it says nothing."""

    effect: str
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p_value: float = math.nan
    method: str = FLIPS
    accuracy: float = math.nan
    notes: tuple[str, ...] = ()


class ShiftT:
    """A t test of every shift between two means, with degrees of freedom from the influences.

    Parameters
    ----------
    flips : SignFlips
        Whose differences have the same sums.
    moved, moves : ndarray of float64, shape (units,)
        The influences on the difference at the null, and on what a shift of 1 takes from it.
    """

    def __init__(self, flips: SignFlips, moved: FloatArray, moves: FloatArray) -> None:
        self._flips = flips
        self._sums = PowerSums(moved, moves)
        self._units = len(moved)

    def p_value(self, shift: float) -> float:
        """The two-sided p-value of a shift; 0 where nothing varies, and for a single unit."""
        from scipy.special import stdtr

        x = shift - self._flips.null
        squares = self._sums.squares(x)
        fourths = self._sums.fourths(x)
        if self._units < 2 or not squares > 0 or not fourths > 0:
            return 0.0
        carriers = squares * squares / fourths
        degrees = min(max(carriers - 1, 1.0), self._units - 1.0)  # as `degrees_of_freedom`
        error = math.sqrt(squares * self._units / (self._units - 1))
        return 2 * float(stdtr(degrees, -abs(self._flips.difference(x)) / error))


class ShiftTest:
    """The p-value of every shift between two models: of sign flips, and of t where that is larger.

    Parameters
    ----------
    flips : SignFlips
    t : ShiftT or None
        For metrics that hang on few far ranks: the interval is the union of both.
    level : float
    """

    def __init__(self, flips: SignFlips, t: ShiftT | None, level: float) -> None:
        self._flips = flips
        self._t = t
        self._level = level

    def of_null(self, effect: str, estimate: float) -> Tested:
        """The p-value of no difference; its accuracy is unknown where it is that of t."""
        flips = self._flips
        p = flips.p_value(flips.null)
        if self._t is not None:
            p_of_t = self._t.p_value(flips.null)
            if p_of_t > p:
                return Tested(effect, estimate, p_value=p_of_t, method=T_BEYOND)
        return Tested(effect, estimate, p_value=p, method=flips.method, accuracy=flips.accuracy)

    def p_value(self, shift: float) -> float:
        """The p-value of a shift, which need not be accurate far below 1 - level."""
        p = self._flips.p_value(shift, error_rate(self._level))
        if self._t is None:
            return p
        return max(p, self._t.p_value(shift))

    def has_no_bounds(self) -> bool:
        """Whether nothing varies; with so few units that no p-value refuses a shift it has some."""
        least = math.ldexp(1.0, 1 - self._flips.units)
        return self._flips.all_equal() and least <= error_rate(self._level)

    def bounds(self, limits: tuple[float, float]) -> tuple[float, float]:
        """The ends of the shifts that are not rejected."""
        flips = self._flips
        return invert(
            self.p_value,
            flips.estimate,
            flips.null,
            level=self._level,
            limits=limits,
            spread=flips.spread,
        )


def _test_difference(first: Influences, second: Influences, key: Key, level: float) -> Tested:
    """Test two models by the difference of a metric."""
    flips = SignFlips(first.tops - second.tops, second.shares)
    t = None
    if has_far_ranks(key):
        # the shift is a fixed number, so that it adds nothing to the error
        moved = first.moved - second.moved
        t = ShiftT(flips, moved, np.zeros(len(moved)))
    test = ShiftTest(flips, t, level)
    estimate = first.value - second.value
    found = test.of_null(DIFFERENCE, estimate)
    least, most = first.ends
    limits = (least - most, most - least)
    if not test.has_no_bounds():
        low, high = test.bounds(limits)
    elif _is_bounded(key):
        low, high = _unvaried(flips, first, level, limits, found.p_value)
    else:
        return found._replace(notes=(UNBOUNDED.format("difference"),))
    scale = slope(second.outward, second.inner)
    return found._replace(low=min(low * scale, estimate), high=max(high * scale, estimate))


def _test_ratio(first: Influences, second: Influences, key: Key, level: float) -> Tested:
    """Test two models by the ratio of a metric: a shift of logarithms, or a factor of means."""
    is_shift = first.form in (LOGARITHM, MEDIAN)
    least, most = first.ends
    if is_shift:
        flips = SignFlips(first.tops - second.tops, second.shares)
        limits = (least - most, most - least)
    else:
        flips = SignFlips(first.tops, second.tops, null=1.0)
        limits = (0.0, math.inf)
        if least > 0:
            limits = (least / most, most / least)
    t = None
    if has_far_ranks(key):
        # Fieller's: of the difference of one mean and the shift times the other
        t = ShiftT(flips, first.moved - second.moved, second.moved)
    test = ShiftTest(flips, t, level)
    estimate = math.nan
    if second.value:
        estimate = first.value / second.value
    found = test.of_null(RATIO, estimate)
    if not is_shift and not second.inner:
        return found
    if test.has_no_bounds():
        return found._replace(notes=(UNBOUNDED.format("ratio"),))
    ratios = [estimate]
    for shift in test.bounds(limits):
        inner = second.inner + shift if is_shift else second.inner * shift
        ratios.append(second.at(inner) / second.value)
    return found._replace(low=min(ratios), high=max(ratios))


def has_far_ranks(key: Key) -> bool:
    """Whether few ranks far behind may decide a metric: mean ranks and their like.

    Examples
    --------
    >>> from truerank.metrics import parse
    >>> has_far_ranks(parse("amri")), has_far_ranks(parse("mrr"))
    (True, False)
    """
    return key.metric in ("mr", "imr") or (key.metric == "power_mean" and key.parameter >= 1)


def _is_bounded(key: Key) -> bool:
    """Whether a difference of a metric has a narrow range, unlike that of mean ranks."""
    metric = METRICS.get(key.metric)
    if metric is None:  # of retrieval: all have
        return True
    return key.adjustment == "index" or (metric.single is not None and metric.name != "mr")


def _unvaried(
    flips: SignFlips,
    first: Influences,
    level: float,
    limits: tuple[float, float],
    p: float,
) -> tuple[float, float]:
    """The bounds of a difference that is the same in all units: what unseen units may hold."""
    shift = flips.estimate
    unseen = unseen_share(first.shares, level)
    least, most = limits
    low = shift + unseen * (least - shift)
    high = shift + unseen * (most - shift)
    if p <= error_rate(level):  # what unseen units may hold does not bring the null back
        if shift > 0:
            low = max(low, math.nextafter(0.0, shift))
        else:
            high = min(high, math.nextafter(0.0, shift))
    return low, high


# -- several runs of each model --------------------------------------------------------------------


def _compare_runs(
    runs_a: list[Any], runs_b: list[Any], key: Key, options: Options, names: tuple[str, str]
) -> Comparison:
    """Compare the means over the runs of two models, over the same tasks or over folds."""
    a = {f"{names[0]}[{i}]": run for i, run in enumerate(runs_a)}
    b = {f"{names[1]}[{i}]": run for i, run in enumerate(runs_b)}
    crossed = _have_same_tasks(a)
    if crossed:
        # the first run of a with the other ones of a, then with those of b
        pairs = _pair_with_first(a, b, key, options)
        units_a = [pairs[0].one]
        units_a.extend(pair.two for pair in pairs[: len(a) - 1])
        units_b = [pair.two for pair in pairs[len(a) - 1 :]]
    else:
        if len(a) != len(b):
            expected = f"{len(a)} runs, one for each fold of {names[0]}"
            raise InputValueError(names[1], expected=expected, got=len(b))
        pairs = _pair_folds(a, b, key, options)
        units_a = [pair.one for pair in pairs]
        units_b = [pair.two for pair in pairs]
    found_a = [influences_of_run(units, options.level) for units in units_a]
    found_b = [influences_of_run(units, options.level) for units in units_b]
    value_a = math.fsum(found.value for found in found_a) / len(a)
    value_b = math.fsum(found.value for found in found_b) / len(b)
    merits_a = [units.merits() for units in units_a]
    merits_b = [units.merits() for units in units_b]
    folds = 0
    if crossed:
        test = crossed_runs([found_a, found_b])
        merits = [np.mean(merits_a, axis=0), np.mean(merits_b, axis=0)]
        number = units_a[0].number
    else:
        folds = len(a)
        test = nested_runs([found_a, found_b])
        merits = [np.concatenate(merits_a), np.concatenate(merits_b)]
        number = sum(units.number for units in units_a)
    notes = notes_on_runs({names[0]: len(a), names[1]: len(b)}, folds=folds)
    low, high = test.bounds(options.level)
    return _comparison(
        pairs,
        merits,
        names,
        value_a=value_a,
        value_b=value_b,
        estimate=value_a - value_b,
        low=low,
        high=high,
        level=options.level,
        p_value=test.p_value(),
        method=TWO_LEVEL,
        accuracy=math.nan,
        units=number,
        notes=notes + notes_on_units(units_a[0]),
        runs_a=len(a),
        runs_b=len(b),
    )


def _have_same_tasks(runs: Mapping[str, Any]) -> bool:
    """Whether runs are over the same tasks; else they are folds."""
    ranks = [tasks_of(name, run) for name, run in runs.items()]
    return all(have_same_tasks(ranks[0], other) for other in ranks[1:])


def _pair_with_first(
    a: Mapping[str, Any], b: Mapping[str, Any], key: Key, options: Options
) -> list[Pair]:
    """The first run of a beside each other run of a, and each of b, in the units of the first."""
    (first_name, first), *others = itertools.chain(a.items(), b.items())
    return [gather_pair(first, run, key, options, (first_name, name)) for name, run in others]


def _pair_folds(
    a: Mapping[str, Any], b: Mapping[str, Any], key: Key, options: Options
) -> list[Pair]:
    """Each fold of a beside that of b."""
    pairs = []
    for (name_a, run_a), (name_b, run_b) in zip(a.items(), b.items(), strict=True):
        pairs.append(gather_pair(run_a, run_b, key, options, (name_a, name_b)))
    return pairs
