"""Compare models over the same tasks: the difference of a metric, its interval, its p-value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, overload

import numpy as np

from ..errors import InputTypeError, InputValueError, argument_names
from ..inputs.checks import confidence, flag, integer
from ..metrics.contributions import (
    COUNT,
    UNIT,
    mean_and_influences,
)
from ..metrics.keys import NO_ADJUSTMENT, Key, parse
from ..naming import format_count, printable, public
from ..tables import AsTable, Column, Table
from ..tables.table import Layout
from . import intervals
from .pairing import (
    Model,
    Models,
    align_runs,
    keep_common,
    note_on_depth,
    pair_runs,
    read_models,
)

if TYPE_CHECKING:
    from typing import Unpack

    from ..arrays import FloatArray
    from ..metrics.contributions import Contributions
    from ..metrics.keys import Grammar
    from ..metrics.values import Rankings
    from ..ranks.labels import LabelsLike

Metrics: TypeAlias = list[str] | tuple[str, ...]
DIFFERENCE = "difference"
RATIO = "ratio"
# Printed tables have no columns of these fields.
_FOR_PROGRAMS = "level", "effect", "method", "units", "unit", "pairing"
MORE_DECIMALS = 4  # Bounds have at most so many decimals more than their metric.
MOST_NAMED = 5  # units that lost most, and pairs of models in a note
# What is compared in the place of a function of it.
_INSTEAD = {"hmr": "mrr", "imr": "mr", "igmr": "gmr"}


@public("truerank.inference")
@dataclass(frozen=True)
class Comparison:
    """How far two models are apart by a metric.

    Attributes
    ----------
    metric : str
        The key, as it was asked for.
    value_a, value_b : float
    estimate : float
        The difference a - b, or the ratio a / b, as `effect` says.
    low, high : float
        Its interval, which holds equality exactly if the p-value exceeds 1 - level. nan for fewer
        than 2 units, and where nothing varies: no unit differs by a metric without a greatest value
        (mr, gmr), or all runs are alike.
    level : float
    p_value : float
        The two-sided p-value.
    wins, ties, losses : int
        The numbers of units in which a is better than b by this metric, as good, and worse; for
        folds, the numbers of folds.
    method : str
        "t"; for several runs "t of runs and units", for folds "t of folds".
    units : int
    unit : str
        The name of a unit, as in an interval: "triple", "pair", "query", "task", ..., "fold".
    pairing : str
        How the tasks were matched: "query and target names" (where entities have names, in another
        order), "query and target ids", "query ids", "target ids" or
        "position".
    effect : str
        "difference", or "ratio" for gmr.
    notes : tuple of str
        What is unlike; how the tasks were matched, where labels cannot tell; how deep lists are;
        that units or runs are few, or few units carry the result; why there is no interval.
    name_a, name_b : str
    runs_a, runs_b : int
        The number of runs of each model; values are the means over them.
    p_holm : float or None
        The p-value corrected for several comparisons by Holm's rule; None where there is one.
    title : str
        The metric as tables print it.
    decimals : int
        How many are printed, or more where the bounds are close.
    deviation : float
        The standard deviation s of the differences of the u units: s / sqrt(u) is the standard
        error of the estimate, but where few units carry it; for gmr, that of its logarithm.
    """

    metric: str
    value_a: float
    value_b: float
    estimate: float
    low: float
    high: float
    level: float
    p_value: float
    wins: int
    ties: int
    losses: int
    method: str
    units: int
    unit: str
    pairing: str
    effect: str = DIFFERENCE
    notes: tuple[str, ...] = ()
    name_a: str = "a"
    name_b: str = "b"
    runs_a: int = 1
    runs_b: int = 1
    p_holm: float | None = None
    title: str = ""
    decimals: int = 3
    deviation: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> from truerank import Ranks, compare
        >>> ranks = Ranks([0, 3], [1, 1], 10)
        >>> compare(ranks, ranks).to_dict()["estimate"]
        0.0
        """
        return vars(self) | {"notes": list(self.notes)}

    def __str__(self) -> str:
        decimals = self.printed_decimals()
        units = format_count(self.units, self.unit)
        p = f"p {self.p_value:.3g}"
        if self.p_holm is not None:
            p += f" (Holm {self.p_holm:.3g})"
        counts = f"{format_count(self.wins, 'win')}, {format_count(self.ties, 'tie')}, "
        counts += format_count(self.losses, "loss")
        effect = "equal"
        if self.wins or self.losses or not math.isnan(self.low):
            effect = f"{self.effect} {self.estimate:.{decimals}f} "
            effect += f"[{self.low:.{decimals}f}, {self.high:.{decimals}f}] "
            effect += f"({100 * self.level:g} %)"
        lines = [
            f"{self.metric}: {self.name_a} {self.value_a:.{decimals}f}, "
            f"{self.name_b} {self.value_b:.{decimals}f}; {effect}, "
            f"{p} ({self.method}, {self.add_runs(units)}); {counts}"
        ]
        lines += self.notes
        return "\n".join(map(printable, lines))

    def printed_decimals(self) -> int:
        """How many decimals tell the bounds apart; not many more than the metric has."""
        decimals = intervals.decimals_within(self.decimals, self.low, self.high)
        return min(decimals, self.decimals + MORE_DECIMALS)

    def add_runs(self, units: str) -> str:
        """Write the runs, where there are several, beside the number of units in words."""
        if self.runs_a == 1 and self.runs_b == 1:
            return f"{units}, one run each"
        if self.method == intervals.OF_FOLDS:
            return units
        return f"{self.runs_a} runs of {self.name_a} and {self.runs_b} of {self.name_b}, {units}"


@public("truerank.inference")
class Comparisons(list[Comparison], AsTable):
    """Comparisons of pairs of models, or by several metrics; Holm's rule corrects the p-values.

    Examples
    --------
    >>> from truerank import Ranks, compare
    >>> a, b = Ranks([0, 1, 0], [1, 1, 1], 10), Ranks([3, 1, 2], [1, 1, 1], 10)
    >>> [round(pair.p_value, 3) for pair in compare({"a": a, "b": b})]
    [0.185]
    """

    def __repr__(self) -> str:
        return f"Comparisons({len(self)} pairs of {', '.join(self.metrics)})"

    @property
    def metrics(self) -> list[str]:
        """The keys of the metrics, each once."""
        return list(dict.fromkeys(pair.metric for pair in self))

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each pair, how the pairs were compared, and the notes."""
        first = self[0]
        decimals = [pair.printed_decimals() for pair in self]
        metric = Column("metric", shown=[pair.title for pair in self])
        heading = "of a"
        if len(self.metrics) == 1:  # The heading of the values names it.
            metric = Column("metric", hidden=True)
            title, _, _ = first.title.partition(" ")  # without its arrow
            heading = f"{title} of a"
            decimals = [max(decimals)] * len(self)
        effects = " or ".join(dict.fromkeys(pair.effect for pair in self))
        names = [metric, Column("name_a", "a"), Column("name_b", "b")]
        columns = [
            *names,
            Column("value_a", heading, decimals),
            Column("value_b", "of b", decimals),
            Column("estimate", effects, decimals),
            *test_columns(self, decimals),
        ]
        rows = [[getattr(pair, column.name) for column in columns] for pair in self]
        methods = " and ".join(dict.fromkeys(pair.method for pair in self))
        units_by_metric = {pair.metric: [format_count(pair.units, pair.unit)] for pair in self}
        units = " and ".join(gather_notes(units_by_metric))
        note = f"Tested by {methods}, over {first.add_runs(units)}"
        if all(pair.runs_a == 1 and pair.runs_b == 1 for pair in self):
            note += ": this says nothing about other seeds"
        notes = [f"{note}.", *format_notes(self)]
        table = Layout(names=len(names)).make(columns, rows, notes=notes)
        return table.table(metrics, **options)


def test_columns(
    pairs: Sequence[Comparison], decimals: Sequence[int], *others: Column
) -> list[Column]:
    """Return the columns of bounds, p-values, wins, ties and losses, then others, then hidden."""
    return [
        Column("low", f"{100 * pairs[0].level:g} % from", decimals),
        Column("high", "to", decimals),
        Column("p_value", "p"),
        Column("p_holm", "p (Holm)", hidden=len(pairs) == 1),
        *map(Column, ("wins", "ties", "losses")),
        *others,
        *(Column(name, hidden=True) for name in _FOR_PROGRAMS),
    ]


def format_notes(pairs: Sequence[Comparison]) -> list[str]:
    """List each note once; one on some of the pairs names them."""
    metrics = {pair.metric for pair in pairs}
    notes = {}
    for pair in pairs:
        models = f"{pair.name_a} - {pair.name_b}"
        notes[f"{pair.metric}, {models}" if len(metrics) > 1 else models] = pair.notes
    return gather_notes(notes)


def gather_notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """List each note once; one that some of the names lack says behind it which have it.

    Of notes of one kind that units or runs are few, the one with the fewest is listed.

    >>> gather_notes({"a": ["few units: 40 tasks"], "b": ["few units: 9 tasks", "long tail"]})
    ['few units: 9 tasks (b)', 'long tail (b)']
    """
    names_by_note: dict[str, list[str]] = {}
    listed: dict[str, str] = {}  # those on units by their kind
    for name, notes_of_name in notes.items():
        for note in dict.fromkeys(notes_of_name):
            names_by_note.setdefault(note, []).append(name)
            kind = intervals.note_kind(note) if note.startswith(intervals.FEW) else note
            listed[kind] = min(listed.get(kind, note), note, key=intervals.note_numbers)
    gathered = []
    for note in listed.values():
        names = names_by_note[note]
        if len(names) < len(notes):
            more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            note += f" ({', '.join(names[:MOST_NAMED])}{more})"
        gathered.append(note)
    return gathered


# -- comparing -------------------------------------------------------------------------------------


class CompareOptions(TypedDict, total=False):
    """Options of `compare`."""

    unit: LabelsLike | None
    level: float
    seed: int
    allow_unlike: bool
    common: bool


@overload
def compare(
    a: Model, b: Model, metric: str = ..., **options: Unpack[CompareOptions]
) -> Comparison: ...
@overload
def compare(
    a: Model, b: Model, metric: Metrics, **options: Unpack[CompareOptions]
) -> Comparisons: ...
@overload
def compare(
    a: Models, b: None = None, metric: str | Metrics = ..., **options: Unpack[CompareOptions]
) -> Comparisons: ...
@public("truerank")
def compare(
    a: Model | Models,
    b: Model | None = None,
    metric: str | Metrics = "mrr",
    *,
    unit: LabelsLike | None = UNIT,
    level: float = 0.95,
    seed: int = 0,
    allow_unlike: bool = False,
    common: bool = False,
) -> Comparison | Comparisons:
    """Compare a metric of two models over the same tasks, unit by unit.

    The test is the paired t test, `scipy.stats.ttest_rel` over the values of the units, and the
    interval is its own. Where few units carry the difference, so that (sum of e^2)^2 / sum of e^4
    is below min(30, n / 4) for the influences e of n units, three units more are counted, of mean 0
    and as large as the difference of a unit that the sample lacks may be; a note says so.

    For several runs of each model, the variance over runs (Welch) and that over units add, with
    Satterthwaite's degrees of freedom. For runs over unlike tasks (folds), it is the paired t test
    over the values of the folds.

    Parameters
    ----------
    a : Ranks, Report, a list of those, or mapping of str to those
        A Report stands for its ranks, with the weights of the report. Reports of retrieval are
        compared query by query. A list has several runs of one model, such as training seeds. All
        pairs of a mapping's models are compared, and p-values are corrected by Holm's rule.
    b : Ranks, Report, or a list of those
        The same tasks. They are paired by the labels that both models have (side, relation, query,
        target), repeats in their order. Where these labels do not tell tasks apart, as without
        query and target, tasks are paired by position, and a note says so; labels and units that
        differ there are refused. Tasks of the same facts whose entities are in another order are
        paired by names, and a note says so. Give several runs where `a` has several; if the runs of
        `a` have unlike tasks, they are folds, and `b` has the same folds. Not given with a mapping.
    metric : str, or list of str
        Keys of a report that are means over units, and gmr, whose effect is a ratio. For several
        keys, p-values are corrected by Holm's rule.
    unit : str, labels or None
        The units, as in `interval`.
    level : float
        The level of the interval.
    seed : int
        The seed of the kind "random" of Ranks; a Report has its own.
    allow_unlike : bool
        Also compare where protocols, candidates or units differ, where one model lacks lists that
        the other has, or where queries or targets cannot be compared, and the other label pairs the
        tasks; a note says what differs. The tasks and the weights must agree in any case.
    common : bool
        Compare only what all models were asked and have lists for, as where queries were added or
        removed after some were run; a note says how many are left out. A list that the last model
        lacks is its loss. Labels given as `unit` are of all tasks of the first model.

    Returns
    -------
    Comparison or Comparisons
        Comparisons for a mapping of models, and for several metrics.

    Raises
    ------
    ValueError
        If the tasks, weights, candidates, comparable fields of the protocols, or units differ; the
        message lists the differences. If one model has no list, or an empty one, where the other
        has a list, or ranks without lists. For ranks of a report of retrieval, if a query has
        several right answers: compare the report. For metrics that are no means over units: compare
        mrr for hmr, mr for imr, and any mean for medians and spreads.
    KeyError
        For an unknown key.
    TypeError
        For anything but Ranks and Reports, and one run against several.

    Notes
    -----
    A model with longer lists has more places to be right in. So where the longest lists of one have
    at least twice as many entries as those of the other, a note names each metric that looks deeper
    than the shorter ones: where these have 20 entries, recall@100, map and mrr, but not ndcg@10.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> a = Ranks([0, 1, 0, 2, 0, 0], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> b = Ranks([3, 1, 2, 4, 1, 2], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> found = compare(a, b, metric="mrr")
    >>> round(found.estimate, 4), round(found.p_value, 4), found.wins, found.ties, found.losses
    (0.4528, 0.0165, 5, 1, 0)
    >>> compare(report(a), report(b), metric="mrr") == found
    True
    """
    level = confidence(level)
    seed = integer("seed", seed, least=0)
    allow_unlike = flag("allow_unlike", allow_unlike)
    models = _name_models(a, b)
    runs = read_models(models, seed)
    is_one_key = not isinstance(metric, (list, tuple))
    first_run = next(iter(runs.values()))[0]
    keys = read_keys([metric] if is_one_key else metric, first_run.grammar)
    runs, unit, notes = keep_common(runs, unit, flag("common", common))
    if not (unit is None or isinstance(unit, str)):  # All pairs have the order of the first model.
        first_run = next(iter(runs.values()))[0]
        for name, runs_of_model in list(runs.items()):
            aligned = align_runs([first_run, *runs_of_model])
            if aligned is not None:
                runs[name] = aligned[1:]
    options: dict[str, Any] = {"unit": unit, "level": level, "allow_unlike": allow_unlike}
    options |= {"notes": notes, "may_lack": list(runs)[-1] if common else None}
    pairs_of_names = itertools.combinations(runs, 2)
    by_pair = [compare_pair(runs, names, keys, **options) for names in pairs_of_names]
    pairs = [comparisons[i] for i in range(len(keys)) for comparisons in by_pair]  # key by key
    if b is not None and is_one_key:
        return pairs[0]
    return Comparisons(corrected(pairs) if len(pairs) > 1 else pairs)


def _name_models(a: Model | Models, b: Model | None) -> Mapping[str, Any]:
    """Return the models of a mapping, or of two arguments, by their names."""
    if not isinstance(a, Mapping) or hasattr(a, "ranks"):  # A report is a mapping of keys.
        if b is None:
            expected = "a mapping of names to Ranks or Reports, as there is no b"
            raise InputTypeError("a", expected=expected, got=type(a).__name__)
        return {"a": a, "b": b}
    if b is not None:
        expected = "nothing beside a mapping of Ranks or Reports (metric is a keyword there)"
        raise InputTypeError("b", expected=expected, got=type(b).__name__)
    if len(a) < 2:
        raise InputValueError("a", expected="at least two Ranks or Reports", got=len(a))
    return a


def read_keys(metrics: Any, grammar: Grammar) -> dict[str, Key]:
    """The keys of some metrics, each once, by what they are called."""
    names: dict[Key, str] = {}
    for metric in metrics:
        names.setdefault(parse(metric, grammar), metric)
    if not names:
        raise InputValueError("metric", expected="at least one key", got="none")
    for key in names:
        problem = why_incomparable(key)
        if problem:
            raise InputValueError("metric", problem)
    return {name: key for key, name in names.items()}


def corrected(pairs: Sequence[Comparison]) -> list[Comparison]:
    """Correct m p-values by Holm's rule: the i-th smallest is multiplied by m - i + 1.

    nan stays nan and is not counted.
    """
    p = np.array([pair.p_value for pair in pairs])
    known = ~np.isnan(p)
    order = np.argsort(p[known], kind="stable")
    holm = p[known]
    holm[order] = np.maximum.accumulate(holm[order] * np.arange(len(holm), 0, -1))
    p[known] = np.minimum(holm, 1.0)
    return [replace(pair, p_holm=float(x)) for pair, x in zip(pairs, p, strict=True)]


def why_incomparable(key: Key) -> str:
    """Say why two models are not compared by a key, and what to take; empty where they are."""
    if key.macro:
        return intervals.why_no_interval(key)
    if key.metric == COUNT:
        return (
            "count is the number of tasks, which is the same for two models over the same tasks; "
            "take a metric of their ranks"
        )
    plain = replace(key, adjustment=NO_ADJUSTMENT)
    if key.adjustment == "z" or (key.adjustment != NO_ADJUSTMENT and key.metric == "gmr"):
        return f"{key} differs where {plain} does; compare {plain}"
    if key.row.is_mean or key.metric == "gmr":
        return ""
    instead = _INSTEAD.get(key.metric, "mrr, mr or hits@k")
    return f"{key} is not a mean over units; compare {instead}"


def compare_pair(
    models: Mapping[str, Sequence[Rankings]],
    names: tuple[str, str],
    keys: Mapping[str, Key],
    *,
    unit: LabelsLike | None,
    level: float,
    allow_unlike: bool = False,
    may_lack: str | None = None,
    notes: tuple[str, ...] = (),
) -> list[Comparison]:
    """Compare two of several models by named keys: of each a Comparison, over the same pairs.

    The model that may lack lists of queries is not refused where the other has them. Notes on all
    models come first, then those on the pair, and on the key.
    """
    name_a, name_b = names
    are_folds = align_runs(models[name_a]) is None
    runs_a, runs_b, pairing, notes_on_pairing = pair_runs(
        models[name_a],
        models[name_b],
        names,
        are_folds=are_folds,
        allow_unlike=allow_unlike,
        may_lack=may_lack,
        last=list(models)[-1],
        counts_candidates=any(map(counts_candidates, keys.values())),
    )
    codes, unit_name = intervals.run_units(runs_a, unit, are_folds=are_folds)
    method = intervals.runs_method(runs_a, are_folds=are_folds) or intervals.T
    # All comparisons of this pair have these.
    shared_fields: dict[str, Any] = {"level": level, "unit": unit_name, "method": method}
    shared_fields |= {"name_a": name_a, "name_b": name_b, "pairing": pairing}
    shared_fields |= {"runs_a": len(runs_a), "runs_b": len(runs_b)}
    comparisons = []
    for metric, key in keys.items():
        with argument_names(runs="b"):  # Messages name the second model, whichever weighs unlike.
            sums_a = intervals.add_up_runs(runs_a, key, codes, are_folds=are_folds)
            sums_b = intervals.add_up_runs(runs_b, key, codes, are_folds=are_folds)
            intervals.check_bases([sums_a.bases, sums_b.bases])
        most = runs_a[0].best_value(key) * sums_a.heaviest
        comparison = _compare_sums(metric, sums_a, sums_b, most, shared_fields)
        notes_on_key = note_on_depth(models, names, key)
        notes_on_key += intervals.note_without_units(runs_a[0].ranks, unit, key) + comparison.notes
        comparisons.append(replace(comparison, notes=notes + notes_on_pairing + notes_on_key))
    return comparisons


def counts_candidates(key: Key) -> bool:
    """Whether the values of a key depend on the number of candidates behind the right answers.

    >>> [counts_candidates(parse(key)) for key in ("amri", "mrr", "hits@10")]
    [True, False, False]
    """
    return key.adjustment != NO_ADJUSTMENT or key.row.needs_candidates


def _compare_sums(
    metric: str, a: Contributions, b: Contributions, most: float, shared_fields: Mapping[str, Any]
) -> Comparison:
    """Compare two models by what the units of their runs add to a metric.

    No unit adds more than `most` to the difference. The shared fields are those of a Comparison
    that the sums do not tell: the level, and so on.
    """
    level = shared_fields["level"]
    unit = shared_fields["unit"]
    estimate = a.value - b.value
    if a.key.metric == "gmr":  # What is compared are logarithms.
        estimate = a.mean - b.mean
    with np.errstate(invalid="ignore"):  # Places of what lists miss may be infinite.
        deltas = intervals.differences(a.tops.mean(axis=0), b.tops.mean(axis=0))
    merits = deltas if a.key.row.increasing else -deltas
    wins = int(np.count_nonzero(merits > 0))
    losses = int(np.count_nonzero(merits < 0))
    number = len(deltas)
    low = high = p_value = deviation = math.nan
    notes: tuple[str, ...] = ()
    if not math.isnan(estimate):
        _, influences = mean_and_influences(deltas, a.bases)
        if number > 1:
            deviation = number * float(np.linalg.norm(influences)) / math.sqrt(number - 1)
        if shared_fields["method"] == intervals.T:
            p_value, low, high, is_few = intervals.paired_test(deltas, a.bases, level, most)
            notes = note_on_difference(metric, unit, deltas, influences, is_few=is_few)
        else:
            p_value, low, high = intervals.t_test([a.tops, b.tops], a.bases, level)
            notes = intervals.note_on(metric, unit, influences, a.bases)
            notes += intervals.note_on_runs(min(len(a.tops), len(b.tops)))
        if math.isnan(low):
            notes = (f"no interval: {why_no_bounds(wins + losses, number, unit)}",)
        else:  # Bounds are within the range of the metric.
            low = min(max(low, -a.extent), estimate)
            high = max(min(high, a.extent), estimate)
    effect = DIFFERENCE
    if a.key.metric == "gmr":
        effect = RATIO
        estimate, low, high = map(math.exp, (estimate, low, high))
    return Comparison(
        metric=metric,
        value_a=a.value,
        value_b=b.value,
        estimate=estimate,
        low=low,
        high=high,
        p_value=p_value,
        wins=wins,
        ties=number - wins - losses,
        losses=losses,
        units=number,
        effect=effect,
        notes=notes,
        title=a.key.heading,
        decimals=a.key.decimals,
        deviation=deviation,
        **shared_fields,
    )


def why_no_bounds(differing: int, units: int, unit: str) -> str:
    """Say why the difference of two models has no bounds, where so many of the units differ.

    >>> why_no_bounds(0, 20, "group"), why_no_bounds(1, 1, "group")
    ('no group differs', '1 group')
    """
    if not differing:
        return f"no {unit} differs"
    counted = format_count(units, unit)
    return counted if units == 1 else f"all {counted} differ by the same amount"


def note_on_difference(
    metric: str, unit: str, apart: FloatArray, influences: FloatArray, *, is_few: bool
) -> tuple[str, ...]:
    """Say that units are few, and that few of them carry a difference, so that three more count.

    >>> apart = np.array([0.5] + [0.0] * 299)
    >>> note_on_difference("mrr", "query", apart, apart - apart.mean(), is_few=True)
    ('few units carry it: mrr rests on about 1 of 300 queries',)
    """
    counted = format_count(len(apart), unit)
    notes = []
    if len(apart) < intervals.FEW_UNITS:
        notes.append(f"{intervals.FEW} units: {counted}")
    if is_few and not apart.any():
        notes.append(f"{intervals.FEW} units carry it: none of {counted} differs")
    elif is_few and not influences.any():
        notes.append(f"{intervals.FEW} units carry it: all {counted} differ by the same amount")
    elif is_few:
        carriers = intervals.count_carriers(np.square(influences))
        notes.append(
            f"{intervals.FEW} units carry it: {metric} rests on about {carriers:.0f} of {counted}"
        )
    return tuple(notes)
