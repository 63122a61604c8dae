"""A gate: whether a new model is worse than the one before, and which units lost most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, InputValueError
from ..metrics.contributions import TASK, UNIT, contributions, unit_codes, value_by_group
from ..metrics.keys import NO_ADJUSTMENT, Key
from ..naming import format_count
from ..ranks.grouping import group_codes
from ..ranks.labels import DATASET, LABEL_ALIASES, LABEL_WORDS
from ..tables import Column, Table
from ..tables.table import Layout
from . import intervals
from .comparing import (
    DIFFERENCE,
    MOST_NAMED,
    Comparison,
    Comparisons,
    compare_pair,
    corrected,
    format_notes,
    read_keys,
    test_columns,
    why_no_bounds,
)
from .pairing import (
    IDENTIFYING_LABELS,
    Run,
    describe_unasked,
    keep_common,
    pair_ranks,
    read_models,
)

if TYPE_CHECKING:
    from ..metrics.values import Rankings
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike

# A gate calls its models so, and says this of a metric; of what is undecided, it says more.
BASE = "base"
NEW = "new"
WORSE = "worse"
NO_WORSE = "no worse"
UNDECIDED = "undecided"
MOST_MARGIN = 0.5  # from which on hardly any model would be worse
POWER = 0.8  # the share of equal models that pass, where there are as many units as a gate names
# The columns of the values that a gate compares, with their headings.
_VALUES_OF_GATES = {BASE: BASE, NEW: NEW, DIFFERENCE: f"{NEW} - {BASE}"}


def gate(
    base: Run,
    new: Run,
    metrics: Sequence[str],
    margin: float,
    *,
    unit: LabelsLike | None = UNIT,
    level: float = 0.95,
    seed: int = 0,
    allow_unlike: bool = False,
    common: bool = False,
    by: str | None = None,
) -> tuple[Comparisons, dict[str, str], dict[str, list[dict[str, Any]]]]:
    """Say of each metric whether a new model is worse than base, and which units lost most.

    A metric is refused if it is not between 0 and 1, or less is better; others keep their verdicts,
    unless all are refused. Where new alone lacks lists, they are its losses; `common` leaves out
    what either was not asked. The margin is the loss that does not matter, below .5; labels of
    units are those of the tasks of base.

    It returns the pairs, new minus base, by each metric that is not refused; of each metric what
    `judge` says, or "refused: ..."; and of each the units that lost most, if any did, by their
    labels, with their values of base and of new; with `by` all groups of this label that lost. A
    verdict says what `common` has left out of base.
    """
    if not 0 <= margin < MOST_MARGIN:
        expected = f"a loss that does not matter, from 0 to below {MOST_MARGIN} (0.01 is 1 %)"
        raise InputValueError("margin", expected=expected, got=margin)
    runs = read_models({BASE: base, NEW: new}, seed)
    unasked = describe_unasked(runs[BASE][0], runs[NEW][0], (BASE, NEW)) if common else ""
    runs, unit, notes = keep_common(runs, unit, common)
    rules: dict[str, Any] = {"allow_unlike": allow_unlike, "may_lack": NEW}
    # Unlike numbers of candidates are refused below, for the metrics that depend on them.
    paired_base, paired_new, _, _ = pair_ranks(
        runs[BASE][0], runs[NEW][0], (BASE, NEW), last=NEW, counts_candidates=False, **rules
    )
    # An array has the units of the tasks of base; those of new are in the same order now.
    if not (unit is None or isinstance(unit, str)):
        paired_new = paired_new.with_ranks(paired_new.ranks.with_labels(group=unit))
        unit = "group"
    models = {BASE: paired_base, NEW: paired_new}
    rules |= {"unit": unit, "level": level, "notes": notes}
    pairs, keys, refusals = _compare_shares(models, metrics, rules)
    codes, _ = unit_codes(paired_new.ranks, unit)
    verdicts = {}
    losses = {}
    for pair in pairs:
        key = keys[pair.metric]
        weights = contributions(models[NEW], key, codes).bases  # the heaviest, beside a mean of 1
        verdict = judge(pair, margin, heaviest=float(weights.max() / weights.mean()))
        verdicts[pair.metric] = f"{verdict}; {unasked}" if unasked else verdict
        losses[pair.metric] = _list_losses(models, key, unit, by)
    for metric, error in refusals.items():
        why = error.problem or f"expected {error.expected}, got {error.got}"
        verdicts[metric] = f"refused: {why}"
    return Comparisons(pairs), verdicts, losses


def _compare_shares(
    models: Mapping[str, Rankings], metrics: Iterable[str], rules: Mapping[str, Any]
) -> tuple[list[Comparison], dict[str, Key], dict[str, InputError]]:
    """Compare new with base by each metric; return the keys, too, and the metrics that are refused.

    If all are refused, the first refusal is raised.
    """
    runs = {name: [model] for name, model in models.items()}
    keys: dict[str, Key] = {}
    refusals: dict[str, InputError] = {}
    pairs: list[Comparison] = []
    for metric in metrics:
        try:
            key = read_keys([metric], models[NEW].grammar)[metric]
            if key.adjustment != NO_ADJUSTMENT or key.metric == "dcg" or not key.row.increasing:
                expected = "metrics between 0 and 1 where more is better, with a margin"
                raise InputValueError("metric", expected=expected, got=key)
            if key not in keys.values():  # Holm's rule counts each question once, as in compare.
                pairs += compare_pair(runs, (NEW, BASE), {metric: key}, **rules)
                keys[metric] = key
        except InputError as error:
            refusals[metric] = error
    if not pairs:
        raise next(iter(refusals.values()))
    return corrected(pairs) if len(pairs) > 1 else pairs, keys, refusals


def judge(pair: Comparison, margin: float, heaviest: float = 1.0) -> str:
    """Say whether a, the new model, is worse than b: worse, no worse, or undecided, and why.

    It is worse where a is below b by more than the margin, and the p-value, corrected if there are
    several, rejects that the two are equal. It is no worse where nothing differs, or the lower
    bound of the difference is no further below 0 than the margin. Where nothing differs, this bound
    is said. The metric is between 0 and 1, and more is better; `heaviest` is the weight of the
    heaviest unit, beside a mean of 1.
    """
    if math.isnan(pair.estimate):
        return f"{UNDECIDED}: {pair.metric} has no value"
    alpha = intervals.error_rate(pair.level)
    p_value = pair.p_value if pair.p_holm is None else pair.p_holm
    is_below_margin = round(pair.estimate + margin, 12) < 0
    if is_below_margin and p_value <= alpha:
        return WORSE
    differing = pair.wins + pair.losses
    if not differing:
        unseen = 1.0 if math.isnan(pair.low) else -pair.low  # One unit says nothing about others.
        loss = f"{unseen:.{pair.printed_decimals()}f}"
        return f"{NO_WORSE} (nothing differs; a loss of up to {loss} could be unseen)"
    if round(pair.low + margin, 12) >= 0:
        return NO_WORSE
    if math.isnan(pair.low):
        return f"{UNDECIDED}: {why_no_bounds(differing, pair.units, pair.unit)}"
    return UNDECIDED + _explain_undecided(pair, margin, alpha, heaviest)


def _explain_undecided(pair: Comparison, margin: float, alpha: float, heaviest: float) -> str:
    """Say why a verdict is undecided, or of how many units two equal models would mostly pass.

    The second addend is for the units that are counted where few carry the difference.
    """
    from scipy.special import ndtri

    if not margin:
        return ": equal models do not pass a margin of 0"
    errors = ndtri(POWER) - ndtri(alpha / 2)
    number = math.ceil((errors * pair.deviation / margin) ** 2 + 4 * heaviest / margin)
    if number < 2 * pair.units:
        return ": the difference is near the margin"
    step = 10 ** max(0, len(str(number)) - 2)  # Two digits are said.
    counted = format_count(-(-number // step) * step, pair.unit)
    return f"; with about {counted} drawn anew, two equal models pass in four of five cases"


def gate_table(pairs: Comparisons, verdicts: Mapping[str, str], *, has_verdicts: bool) -> Table:
    """Return a row for each metric of a gate, which perhaps has its verdict."""
    decimals = [pair.printed_decimals() for pair in pairs]
    columns = [
        Column("metric", shown=[pair.title for pair in pairs]),
        *(Column(name, heading, decimals) for name, heading in _VALUES_OF_GATES.items()),
        *test_columns(pairs, decimals, Column("verdict", hidden=not has_verdicts)),
    ]
    rows = []
    for pair in pairs:
        cells = vars(pair) | {BASE: pair.value_b, NEW: pair.value_a, DIFFERENCE: pair.estimate}
        cells["verdict"] = verdicts[pair.metric]
        rows.append([cells[column.name] for column in columns])
    return Table(columns, rows, notes=pairs.table().notes)


def losses_table(
    pairs: Comparisons, losses: Mapping[str, Sequence[Mapping[str, Any]]], by: str
) -> Table:
    """Return a row for each group of a label that lost by a metric, as `gate` lists them."""
    words = [by]
    rows = []
    for pair in pairs:
        for loss in losses[pair.metric]:
            *words, _, _ = loss
            rows.append([pair.metric, *loss.values(), loss[NEW] - loss[BASE]])
    decimals = pairs[0].decimals  # All metrics of a gate are shares.
    columns = [
        Column("metric", hidden=len(pairs) == 1),
        *map(Column, words),
        *(Column(name, heading, decimals) for name, heading in _VALUES_OF_GATES.items()),
    ]
    return Layout(names=1 + len(words)).make(columns, rows, notes=format_notes(pairs))


def _list_losses(
    models: Mapping[str, Rankings], key: Key, unit: LabelsLike | None, by: str | None
) -> list[dict[str, Any]]:
    """Return the labels of the units that lost most, with their values of base and of new.

    If `by` names a label, these are all of its groups that lost.
    """
    ranks = models[NEW].ranks
    most: int | None = MOST_NAMED
    codes, name = unit_codes(ranks, unit)
    if by is not None:
        most = None
        codes, _ = group_codes(ranks, by)
        name = LABEL_WORDS.get(by, by)
    _, first_tasks = np.unique(codes, return_index=True)  # of each group
    number = len(first_tasks)
    values_of_base = value_by_group(models[BASE], key, models[BASE].labels(codes, UNIT), number)
    values_of_new = value_by_group(models[NEW], key, models[NEW].labels(codes, UNIT), number)
    apart = intervals.differences(values_of_new, values_of_base)
    order = np.argsort(apart, kind="stable")  # nan comes last
    order = order[: np.count_nonzero(apart < 0)][:most]
    columns = {}
    of_data_set = {DATASET: DATASET} if DATASET in ranks.labels else {}
    for word, label in (of_data_set | _unit_labels(ranks, name)).items():
        columns[word] = ranks.labels[label][first_tasks[order]].values.tolist()
    if not columns:  # Tasks without labels are known by their number.
        columns[TASK] = first_tasks[order].tolist()
    columns |= {BASE: values_of_base[order].tolist(), NEW: values_of_new[order].tolist()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _unit_labels(ranks: Ranks, unit_name: str) -> dict[str, str]:
    """Return the labels that tell units apart, for single tasks all, by what losses call them."""
    label = LABEL_ALIASES.get(unit_name, unit_name)
    if label == "queries" and ranks.side is not None:  # Those of two sides may have one name.
        return {"side": "side", unit_name: label}
    if label in ranks.labels:
        return {unit_name: label}
    if ranks.unit is not None and unit_name != TASK:  # A triple, or a pair, is a row of the test.
        return {unit_name: UNIT}
    return {LABEL_WORDS[name]: name for name in IDENTIFYING_LABELS if name in ranks.labels}
