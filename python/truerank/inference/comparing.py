"""Compare models over the same tasks: the difference of a metric, its interval, its p-value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, TypeVar, overload

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.checks import confidence, flag, integer
from ..metrics import METRICS
from ..metrics.averages import arithmetic, power
from ..metrics.keys import Key, table_name
from ..naming import public
from ..ranks.container import Ranks
from .comparisons import Comparison, Comparisons
from .corrections import holm
from .influences import Influences, notes_on_carriers
from .paired_tests import PairedTest
from .pairing import (
    HasReports,
    are_alike,
    groups_of,
    have_same_tasks,
    is_model,
    pair_ranks,
    reader_of,
    runs_of,
)
from .runs import (
    NO_MEAN_OF_UNITS,
    TWO_LEVEL,
    crossed_runs,
    influences_of_run,
    nested_runs,
    notes_on_runs,
)
from .units import (
    COUNT,
    COUNT_MESSAGE,
    UNIT,
    HasRanks,
    Units,
    as_model,
    group_of_tasks,
    notes_on_units,
    unit_codes,
)

if TYPE_CHECKING:
    from typing import Unpack

    from ..arrays.types import FloatArray
    from ..ranks.labels import LabelsLike

Metrics: TypeAlias = list[str] | list[Key] | list[str | Key] | tuple[str, ...]
Tests = TypeVar("Tests", "Comparison", "Verdict")
Model: TypeAlias = Ranks | HasRanks | Sequence[Ranks] | Sequence[HasRanks] | HasReports
NO_MEAN_OF_GROUPS = (
    "{0} is a mean over groups of what is no mean over units; compare {1}, or macro.mrr and "
    "macro.hits@k, or look at the interval of {0} of each model"
)


class _Keywords(TypedDict, total=False):
    by: LabelsLike | None
    level: float
    groups: LabelsLike | None
    draw_seed: int
    allow_unlike: bool


@overload
def compare(
    a: Model, b: Model, metric: str | Key = ..., **options: Unpack[_Keywords]
) -> Comparison: ...


@overload
def compare(a: Model, b: Model, metric: Metrics, **options: Unpack[_Keywords]) -> Comparisons: ...


@overload
def compare(
    a: Mapping[str, Model] | Mapping[str, Ranks] | Mapping[str, HasRanks],
    b: None = None,
    metric: str | Key | Metrics = ...,
    **options: Unpack[_Keywords],
) -> Comparisons: ...


@public("truerank")
def compare(
    a: Model | Mapping[str, Model] | Mapping[str, Ranks] | Mapping[str, HasRanks],
    b: Model | None = None,
    metric: str | Key | Metrics = "mrr",
    *,
    by: LabelsLike | None = UNIT,
    level: float = 0.95,
    groups: LabelsLike | None = None,
    draw_seed: int = 0,
    allow_unlike: bool = False,
) -> Comparison | Comparisons:
    """Compare a metric of two models over the same tasks, unit by unit.

    The test depends on how many units differ between the models:

    - at most 30: exact sign flips, the share of all ways to swap the results of the models in some
      of the units by which the difference is as large;
    - more, all by one size, as by hits@k of one side: McNemar's exact test;
    - else a paired t test, and for several runs of each model a t test over runs and units.

    The interval holds the differences that the test does not reject. Functions of a mean (gmr, hmr,
    imr, ...) are compared by their ratio. What is no mean over units (medians, std, mad, ...) is
    refused. The how-to page "Compare models" has the details.

    Parameters
    ----------
    a : Ranks, Report, a list of those, Repeats, or mapping of str to those
        A Report stands for its ranks, with the weights of the report. Reports of retrieval are
        compared query by query. A list, or Repeats, has several runs of one model, such as training
        seeds. Of a mapping all pairs are compared, and p-values are corrected by Holm's rule.
    b : Ranks, Report, a list of those, or Repeats
        The same tasks. They are paired by the labels that both models have (side, relation, time,
        query, target), repeats in the order in which they occur; without labels, by position.
        Several runs where a has several; if the runs of a have unlike tasks, they are folds, and b
        has the same. Not given with a mapping.
    metric : str or Key, or several of them
        Keys of a report that are means over units, or a function of one. For several keys, p-values
        are corrected by Holm's rule.
    by : str, labels or None
        The units, as in `interval`.
    level : float
        The level of the interval.
    groups : str or labels, optional
        The groups of a macro average, as in `interval`.
    draw_seed : int
        The seed of the kind "random"; the seeds of Reports are ignored.
    allow_unlike : bool
        Also compare ranks whose protocols, candidates or ids differ; a note says what differs.
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
    if isinstance(a, Mapping) and not is_model(a):
        if b is not None:
            expected = "nothing beside a mapping of Ranks or Reports (metric is a keyword there)"
            raise InputTypeError("b", expected=expected, got=type(b).__name__)
        models: Mapping[str, Any] = a
    elif b is None:
        expected = "a mapping of names to Ranks or Reports, as there is no b"
        raise InputTypeError("a", expected=expected, got=type(a).__name__)
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
    if not isinstance(metric, (list, tuple)):
        metric = [metric]
    keys: dict[Key, None] = {}
    for key in metric:
        if not isinstance(key, Key):
            key = read(key)
        keys[key] = None
    if not keys:
        raise InputValueError("metric", expected="at least one key", got="none")
    for key in keys:
        check_comparable(key)
    return list(keys)


def corrected(pairs: Sequence[Tests]) -> list[Tests]:
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
    """Raise an error for keys that are no function of a mean over units, and say what to take.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> check_comparable(parse("amri"))
    >>> check_comparable(parse("index.gmr"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: metric: index.gmr differs where gmr does; ...
    """
    problem = why_incomparable(key)
    if problem:
        raise InputValueError("metric", problem)


def why_incomparable(key: Key) -> str:
    """Say why two models are not compared by a key, and what to take; empty where they are.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> [bool(why_incomparable(parse(key))) for key in ("mrr", "gmr", "median", "macro.gmr")]
    [False, False, True, True]
    """
    metric = METRICS.get(key.metric, METRICS["mrr"])  # Metrics of retrieval are means, as mrr is.
    if key.metric == COUNT:
        return COUNT_MESSAGE
    if metric.mean not in (arithmetic, power):
        return NO_MEAN_OF_UNITS.format(key)
    if key.macro and (metric.single is None or key.adjustment == "z"):
        return NO_MEAN_OF_GROUPS.format(key, key._replace(macro=False, adjustment="none"))
    if key.adjustment in ("index", "z") and metric.single is None:
        plain = key._replace(adjustment="none")
        return f"{key} differs where {plain} does; compare {plain}, by its ratio"
    return ""


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


def gather_pair(a: Any, b: Any, key: Key, options: Options, names: tuple[str, str]) -> Pair:
    """Gather the tasks of two models in the units of the first."""
    paired = pair_ranks(a, b, names, allow_unlike=options.allow_unlike)
    groups = groups_of(paired.models[0], options.groups)
    drawn = unit_codes(paired.a, options.by)
    macro = group_of_tasks(paired.a, key, options.by, groups)
    one, two = (
        model.units(key, by=drawn, groups=macro, draw_seed=options.draw_seed)
        for model in paired.models
    )
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
    measured = _measure(pair.one, options.level)
    first = measured.influences
    second = influences_of_run(pair.two, options.level)
    found = PairedTest(first, second, key, options.level)
    low, high = found.bounds()
    return _comparison(
        [pair],
        [pair.one.merits(), pair.two.merits()],
        names,
        value_a=first.value,
        value_b=second.value,
        estimate=found.estimate,
        low=low,
        high=high,
        level=options.level,
        p_value=found.p_value,
        method=found.method,
        units=len(first.shares),
        effect=found.effect,
        notes=_notes(measured, second, found),
    )


class _Measured(NamedTuple):
    """How much each unit moves a metric of a model, the name of a unit, and notes on the units."""

    influences: Influences
    by: str
    notes: tuple[str, ...]


def _measure(units: Units, level: float) -> _Measured:
    return _Measured(influences_of_run(units, level), units.by, notes_on_units(units))


def _notes(measured: _Measured, second: Influences, tested: PairedTest) -> tuple[str, ...]:
    """What limits the trust in a comparison: its units, else the few that carry it; the test."""
    moved = measured.influences.moved - second.moved
    notes = measured.notes or notes_on_carriers(tested.key, moved, measured.by)
    return notes + tested.notes


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
    # Means over unlike runs may be equal, but for rounding.
    slack = 1e-12 * np.maximum(np.abs(one), np.abs(two))
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


# -- p-values alone, of many pairs -----------------------------------------------------------------


class Verdict(NamedTuple):
    """What a table says of two models: fields of their `Comparison`, without its interval."""

    metric: str
    name_a: str
    name_b: str
    p_value: float
    method: str
    notes: tuple[str, ...]
    p_holm: float | None = None


def verdicts(
    models: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    metrics: Sequence[str],
    *,
    by: LabelsLike | None,
    level: float,
    allow_unlike: bool,
) -> list[Verdict]:
    """Test pairs of models by several metrics, as `compare` does, without intervals.

    What each unit moves is found once for each model, not for each pair, where the tasks of the
    models are the same in the same order.

    Examples
    --------
    >>> models = {"a": Ranks([0] * 30, [1] * 30, 10), "b": Ranks([3] * 30, [1] * 30, 10)}
    >>> found = verdicts(models, [("a", "b")], ["mrr"], by=UNIT, level=0.95, allow_unlike=False)
    >>> found[0].p_value == compare(models)[0].p_value
    True
    """
    options = Options(by, level, None, 0, allow_unlike)
    keys = _read_keys(list(metrics), reader_of(models))
    repeated = {name for name, model in models.items() if runs_of(name, model) is not None}
    single = {name: model for name, model in models.items() if name not in repeated}
    alike = _with_the_same_tasks(single)
    notes: dict[tuple[str, str], tuple[str, ...]] = {}
    found = {}
    for key in keys:
        # Values are kept for one key at a time, because models may have many units.
        known: dict[str, _Measured] = {}
        for names in pairs:
            one, two = names
            if repeated.intersection(names):
                comparison = _compare_pair(models[one], models[two], key, options, names)
                fields = {name: getattr(comparison, name) for name in Verdict._fields}
                found[names, key] = Verdict(**fields)
                continue
            if alike.issuperset(names) and known.keys() >= set(names):
                if names not in notes:
                    paired = pair_ranks(models[one], models[two], names, allow_unlike=allow_unlike)
                    notes[names] = paired.notes
                measured = known
            else:
                pair = gather_pair(models[one], models[two], key, options, names)
                notes[names] = pair.notes
                measured = {one: _measure(pair.one, level), two: _measure(pair.two, level)}
                if alike.issuperset(names):
                    known |= measured
            second = measured[two].influences
            tested = PairedTest(measured[one].influences, second, key, level)
            all_notes = notes[names] + _notes(measured[one], second, tested)
            found[names, key] = Verdict(
                str(key), one, two, tested.p_value, tested.method, all_notes
            )
    return [found[names, key] for names in pairs for key in keys]


def _with_the_same_tasks(models: Mapping[str, Any]) -> set[str]:
    """The models whose tasks are those of the first in all that is known of them, in their order.

    Then it does not matter for the units of a model with which other one it is compared.
    """
    tasks = {name: as_model(name, model).tasks for name, model in models.items()}
    alike = set()
    for name, ranks in tasks.items():
        if are_alike(next(iter(tasks.values())), ranks):
            alike.add(name)
    return alike


# -- several runs of each model --------------------------------------------------------------------


def _compare_runs(
    runs_a: list[Any], runs_b: list[Any], key: Key, options: Options, names: tuple[str, str]
) -> Comparison:
    """Compare the means over the runs of two models, over the same tasks or over folds."""
    a = {f"{names[0]}[{i}]": run for i, run in enumerate(runs_a)}
    b = {f"{names[1]}[{i}]": run for i, run in enumerate(runs_b)}
    ranks = [as_model(name, run).tasks for name, run in a.items()]
    crossed = all(have_same_tasks(ranks[0], other) for other in ranks[1:])
    if crossed:
        pairs = _pair_with_first(a, b, key, options)
        units_a = [pairs[0].one]
        units_a += [pair.two for pair in pairs[: len(a) - 1]]
        units_b = [pair.two for pair in pairs[len(a) - 1 :]]
    else:
        pairs = _pair_folds(a, b, key, options, names)
        units_a = [pair.one for pair in pairs]
        units_b = [pair.two for pair in pairs]
    found_a = [influences_of_run(units_of_run, options.level) for units_of_run in units_a]
    found_b = [influences_of_run(units_of_run, options.level) for units_of_run in units_b]
    value_a = math.fsum(found.value for found in found_a) / len(a)
    value_b = math.fsum(found.value for found in found_b) / len(b)
    merits_a = [units_of_run.merits() for units_of_run in units_a]
    merits_b = [units_of_run.merits() for units_of_run in units_b]
    numbers = {names[0]: len(a), names[1]: len(b)}
    if crossed:
        test = crossed_runs([found_a, found_b])
        merits = [np.mean(merits_a, axis=0), np.mean(merits_b, axis=0)]
        number = units_a[0].number
        notes = notes_on_runs(numbers)
    else:
        test = nested_runs([found_a, found_b])
        merits = [np.concatenate(merits_a), np.concatenate(merits_b)]
        number = sum(units_of_fold.number for units_of_fold in units_a)
        notes = notes_on_runs(numbers, folds=len(a))
    low, high = test.bounds(options.level)
    notes += notes_on_units(units_a[0]) or notes_on_carriers(key, test.moved, units_a[0].by)
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
        units=number,
        notes=notes,
        runs_a=len(a),
        runs_b=len(b),
    )


def _pair_with_first(
    a: Mapping[str, Any], b: Mapping[str, Any], key: Key, options: Options
) -> list[Pair]:
    """The first run of a beside each other run of a, and each of b, in the units of the first."""
    models = list(a.items()) + list(b.items())
    first_name, first = models[0]
    pairs = []
    for name, run in models[1:]:
        pairs.append(gather_pair(first, run, key, options, (first_name, name)))
    return pairs


def _pair_folds(
    a: Mapping[str, Any], b: Mapping[str, Any], key: Key, options: Options, names: tuple[str, str]
) -> list[Pair]:
    """Each run of a beside the run of b over the same fold."""
    if len(a) != len(b):
        expected = f"{len(a)} runs, one for each fold of {names[0]}"
        raise InputValueError(names[1], expected=expected, got=len(b))
    pairs = []
    for (name_a, run_a), (name_b, run_b) in zip(a.items(), b.items(), strict=True):
        pairs.append(gather_pair(run_a, run_b, key, options, (name_a, name_b)))
    return pairs
