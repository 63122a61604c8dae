"""Compare models over the same tasks: the difference of a metric, its interval, its p-value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, overload

import numpy as np

from ..inputs.checks import confidence, integer
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

FLIPS, T_BEYOND = "sign flips", "t beside sign flips"
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
    keys: Any = metric if several else [metric]
    read = reader_of(a)
    parsed: dict[Key, None] = {}  # each key once
    for key in keys:
        parsed[key if isinstance(key, Key) else read(key)] = None
    if not parsed:
        raise InputValueError("metric", expected="at least one key", got="none")
    for key in parsed:
        check_comparable(key)
    level, draw_seed = confidence(level), integer("draw_seed", draw_seed, least=0)
    options = Options(by, level, groups, draw_seed, allow_unlike)
    if isinstance(a, Mapping) and not has_protocol(a):
        if b is not None:
            raise InputTypeError("b", expected="nothing beside a mapping of Ranks or Reports")
        models: Mapping[str, Any] = a
    elif several:
        models = {"a": a, "b": b}
    else:
        (key,) = parsed
        return _compare_pair(a, b, key, options, ("a", "b"))
    if len(models) < 2:
        raise InputValueError("a", expected="at least two Ranks or Reports", got=len(models))
    pairs = []
    for key in parsed:
        for one, two in itertools.combinations(models, 2):
            pairs.append(_compare_pair(models[one], models[two], key, options, (one, two)))
    return Comparisons(corrected(pairs))


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
    one, two = (
        units_of(
            model,
            key,
            by=codes if name != TASK else None,
            groups=macro,
            draw_seed=options.draw_seed,
        )._replace(by=name)
        for model in paired.models
    )
    return Pair(one, two, paired.pairing, paired.notes)


def _compare_pair(a: Any, b: Any, key: Key, options: Options, names: tuple[str, str]) -> Comparison:
    several = [runs_of(name, model) for name, model in zip(names, (a, b), strict=True)]
    if several != [None, None]:
        return _compare_runs(several, key, options, names)
    pair = gather_pair(a, b, key, options, names)
    first, second = pair.influences(options.level)
    effect = RATIO
    if key.macro or first.form in DIFFERENCES:
        effect = DIFFERENCE
    found = Tested(effect)
    if not math.isnan(first.value - second.value):
        found = _test(first, second, key, options.level)
    notes = [*notes_on_units(pair.one), *found.notes]
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
        effect=effect,
        notes=tuple(notes),
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
    of_pairs = dict.fromkeys(note for pair in pairs for note in pair.notes)
    return Comparison(
        metric=str(key),
        wins=wins,
        ties=len(one) - wins - losses,
        losses=losses,
        by=pairs[0].one.by,
        pairing=pairs[-1].pairing,
        notes=(*of_pairs, *notes),
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
        self._flips, self._sums, self._units = flips, PowerSums(moved, moves), len(moved)

    def p_value(self, shift: float) -> float:
        """The two-sided p-value of a shift; 0 where nothing varies, and for a single unit."""
        from scipy.special import stdtr

        x = shift - self._flips.null
        squares, fourths = self._sums.squares(x), self._sums.fourths(x)
        if self._units < 2 or not squares > 0 or not fourths > 0:
            return 0.0
        carriers = squares * squares / fourths
        degrees = min(max(carriers - 1, 1.0), self._units - 1.0)  # as `degrees_of_freedom`
        error = math.sqrt(squares * self._units / (self._units - 1))
        return 2 * float(stdtr(degrees, -abs(self._flips.difference(x)) / error))


def _test(first: Influences, second: Influences, key: Key, level: float) -> Tested:
    """Test two models by the difference of a metric, or by its ratio."""
    if first.form in DIFFERENCES:
        return _test_difference(first, second, key, level)
    return _test_ratio(first, second, key, level)


def _test_difference(first: Influences, second: Influences, key: Key, level: float) -> Tested:
    least, most = first.ends
    flips = SignFlips(first.tops - second.tops, second.shares)
    estimate = first.value - second.value
    p, method, accuracy = flips.p_value(0.0), flips.method, flips.accuracy
    test = _inverted(flips, level)
    if has_far_ranks(key):
        # the shift is a fixed number, so that it adds nothing to the error
        moved = first.moved - second.moved
        t = ShiftT(flips, moved, np.zeros(len(moved)))
        p, method, accuracy = _larger(flips, t)
        test = _larger_test(test, t)
    found = Tested(DIFFERENCE, estimate, p_value=p, method=method, accuracy=accuracy)
    limits = least - most, most - least
    if flips.all_equal() and not _refuses_nothing(flips, level):
        if not _is_bounded(key):
            return found._replace(notes=(UNBOUNDED.format("difference"),))
        low, high = _unvaried(flips, first, level, limits, p)
    else:
        low, high = invert(
            test, flips.estimate, 0.0, level=level, limits=limits, spread=flips.spread
        )
    scale = slope(second.outward, second.inner)
    return found._replace(low=min(low * scale, estimate), high=max(high * scale, estimate))


def _test_ratio(first: Influences, second: Influences, key: Key, level: float) -> Tested:
    least, most = first.ends
    estimate = first.value / second.value if second.value else math.nan
    is_shift = first.form in (LOGARITHM, MEDIAN)
    if is_shift:  # of logarithms
        flips = SignFlips(first.tops - second.tops, second.shares)
        limits = least - most, most - least
    else:
        flips = SignFlips(first.tops, second.tops, null=1.0)
        limits = (least / most, most / least) if least > 0 else (0.0, math.inf)
    p, method, accuracy = flips.p_value(flips.null), flips.method, flips.accuracy
    test = _inverted(flips, level)
    if has_far_ranks(key):
        # Fieller's: of the difference of one mean and the shift times the other
        t = ShiftT(flips, first.moved - second.moved, second.moved)
        p, method, accuracy = _larger(flips, t)
        test = _larger_test(test, t)
    found = Tested(RATIO, estimate, p_value=p, method=method, accuracy=accuracy)
    if not is_shift and not second.inner:
        return found
    if flips.all_equal() and not _refuses_nothing(flips, level):
        return found._replace(notes=(UNBOUNDED.format("ratio"),))
    shifts = invert(
        test, flips.estimate, flips.null, level=level, limits=limits, spread=flips.spread
    )
    ratios = [estimate]
    for shift in shifts:
        inner = second.inner + shift if is_shift else second.inner * shift
        ratios.append(second.at(inner) / second.value)
    return found._replace(low=min(ratios), high=max(ratios))


def _refuses_nothing(flips: SignFlips, level: float) -> bool:
    """Whether there are so few units that no p-value refuses a shift."""
    return math.ldexp(1.0, 1 - flips.units) > error_rate(level)


def _inverted(flips: SignFlips, level: float) -> Callable[[float], float]:
    """The p-value of a shift, which need not be accurate far below 1 - level."""
    alpha = error_rate(level)
    return lambda shift: flips.p_value(shift, alpha)


def _larger_test(one: Callable[[float], float], t: ShiftT) -> Callable[[float], float]:
    """The larger p-value of two tests of a shift, whose interval is the union of both."""
    return lambda shift: max(one(shift), t.p_value(shift))


def _larger(flips: SignFlips, t: ShiftT) -> tuple[float, str, float]:
    """The larger p-value of the null, the method, and the accuracy, which is unknown for t."""
    p, p_of_t = flips.p_value(flips.null), t.p_value(flips.null)
    if p_of_t > p:
        return p_of_t, T_BEYOND, math.nan
    return p, flips.method, flips.accuracy


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
    low, high = (shift + unseen * (limit - shift) for limit in limits)
    if p <= error_rate(level):  # what unseen units may hold does not bring the null back
        if shift > 0:
            low = max(low, math.nextafter(0.0, shift))
        else:
            high = min(high, math.nextafter(0.0, shift))
    return low, high


# -- several runs of each model --------------------------------------------------------------------


def _compare_runs(
    several: list[list[Any] | None], key: Key, options: Options, names: tuple[str, str]
) -> Comparison:
    """Compare the means over the runs of two models, over the same tasks or over folds."""
    first, second = several
    if first is None or second is None:
        which = names[several.index(None)]
        raise InputTypeError(which, expected="several runs, as the other model has", got="one")
    labels = [
        [f"{name}[{i}]" for i in range(len(runs))]
        for name, runs in zip(names, (first, second), strict=True)
    ]
    ranks = [tasks_of(label, run) for label, run in zip(labels[0], first, strict=True)]
    crossed = all(have_same_tasks(ranks[0], x) for x in ranks[1:])
    if crossed:
        others = zip(
            [*labels[0][1:], *labels[1]],
            [*first[1:], *second],
            strict=True,
        )
        pairs = [gather_pair(first[0], x, key, options, (labels[0][0], n)) for n, x in others]
        units = [pairs[0].one, *(pair.two for pair in pairs)]
        models = units[: len(first)], units[len(first) :]
    else:
        if len(first) != len(second):
            expected = f"{len(first)} runs, one for each fold of {names[0]}"
            raise InputValueError(names[1], expected=expected, got=len(second))
        folds = zip(first, second, *labels, strict=True)
        pairs = [gather_pair(x, y, key, options, (one, two)) for x, y, one, two in folds]
        models = [pair.one for pair in pairs], [pair.two for pair in pairs]
    found = [[influences_of_run(x, options.level) for x in model] for model in models]
    values = [math.fsum(x.value for x in model) / len(model) for model in found]
    test = (crossed_runs if crossed else nested_runs)(found)
    low, high = test.bounds(options.level)
    join = np.mean if crossed else np.concatenate
    runs = {name: len(model) for name, model in zip(names, models, strict=True)}
    of_first = models[0][0]
    return _comparison(
        pairs,
        [join([x.merits() for x in model], 0) for model in models],
        names,
        value_a=values[0],
        value_b=values[1],
        estimate=values[0] - values[1],
        low=low,
        high=high,
        level=options.level,
        p_value=test.p_value(),
        method=TWO_LEVEL,
        accuracy=math.nan,
        units=of_first.number if crossed else sum(x.number for x in models[0]),
        notes=notes_on_runs(runs, 0 if crossed else len(first)) + notes_on_units(of_first),
        runs_a=len(first),
        runs_b=len(second),
    )
