"""The blocks of a table of models, of a group and a kind of rank each, and what differs in them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputValueError
from ..inference.comparing import corrected, verdicts, why_incomparable
from ..inference.comparisons import format_notes
from ..inference.intervals import error_rate
from ..inference.units import COUNT
from ..inputs.checks import choice
from ..metrics.keys import MACRO, increasing
from ..tables.cells import format_count
from ..tables.forms import DAGGER
from .columns import Names, label_text, sentence
from .repeats import Repeats
from .report_table import GROUP, MICRO, chosen_kinds

if TYPE_CHECKING:
    from ..inference.comparing import Verdict
    from ..metrics import Key
    from .base_report import BaseReport

BEST = "best"

Marks = set[tuple[int, str, str]]  # Each is the number of a block, a model and a column.


class Block(NamedTuple):
    """The rows of all models in one group, or of all tasks, by one kind of rank.

    Attributes
    ----------
    average : {"micro", "macro", "group"}
    group, kind : str
        The name of the group, or the average; "" for the kinds that keys have.
    models : mapping of str to Repeats
    keys : mapping of str to Key or None
        By the name of a column, the key of its cells; None where there is no value.
    """

    average: str
    group: str
    kind: str
    models: Mapping[str, Repeats]
    keys: Mapping[str, Key | None]

    def value(self, model: str, column: str) -> float | None:
        """Return the value of a cell."""
        key = self.keys[column]
        return None if key is None else self.models[model][str(key)]


def blocks_of(
    models: Mapping[str, Repeats], keys: Mapping[str, Key], *, has_groups: bool, kinds: Names
) -> list[Block]:
    """Return the blocks of a table, one of each kind: of all tasks, of macro averages, of groups.

    The largest groups come first.
    """
    reports = [report for runs in models.values() for report in runs.reports]
    first = reports[0]
    words = _kinds_of(reports, keys, kinds)
    parts: list[tuple[str, str, Mapping[str, Repeats], Mapping[str, Key | None]]]
    parts = [(MICRO, MICRO, models, keys)]
    if has_groups:
        for name, runs in models.items():
            if any(report.by is None for report in runs.reports):
                raise InputValueError(
                    "groups", expected="reports with groups", got=f"none in {name!r}"
                )
        parts.append((MACRO, MACRO, models, _macro_keys(keys)))
        tasks = first.group_tasks(first.sides[0])
        for label in sorted(tasks, key=lambda label: -tasks[label]):
            if all(label in report.groups for report in reports):
                of_group = {name: runs.of_group(label) for name, runs in models.items()}
                parts.append((GROUP, label_text(label), of_group, keys))
    blocks = []
    for (average, group, of_models, of_part), kind in itertools.product(parts, words):
        of_kind = dict(of_part)
        for column, key in of_part.items():
            if kind and key is not None:
                of_kind[column] = first.form.key_of_row(key, key.side, kind)
        blocks.append(Block(average, group, kind, of_models, of_kind))
    return blocks


def _macro_keys(keys: Mapping[str, Key]) -> dict[str, Key | None]:
    """Return the keys of macro averages; a z has no mean over groups."""
    found: dict[str, Key | None] = {}
    for column, key in keys.items():
        if key.macro:
            raise InputValueError("metrics", expected="keys of groups, too", got=f"{key} with them")
        found[column] = None if key.adjustment == "z" else key._replace(macro=True)
    return found


def _kinds_of(reports: Sequence[BaseReport], keys: Mapping[str, Key], kinds: Names) -> list[str]:
    """List the kinds of a table: "" for those that the keys have."""
    if kinds is None:
        return [""]
    form = reports[0].form
    for name, key in keys.items():
        if key != form.key_of_row(key, key.side, form.default_kind):
            raise InputValueError("metrics", expected="no kind, as kinds= has them", got=repr(name))
    named = {kind for report in reports for kind in chosen_kinds(report, kinds)}
    for report in reports:
        if not report.has_ranks:
            named &= {report.read_key(key).kind for key in report}
    return [kind for kind in form.kinds if kind in named]


# -- differences -----------------------------------------------------------------------------------


def differences(
    blocks: Sequence[Block], against: str, options: Mapping[str, Any]
) -> tuple[Marks, list[str]]:
    """Return the cells that differ significantly from the best model or a given one, and notes.

    The best is chosen by the same ranks, so Holm's rule is over all pairs of models then, whichever
    is the best; for a given model it is over the pairs with this one. It is over all blocks, too.
    """
    names = list(blocks[0].models)
    reference = choice("against", against, (*names, BEST))
    if len(names) < 2:
        raise InputValueError("against", expected="at least two models", got=len(names))
    compared = [_compared_models(block, reference) for block in blocks]
    tested: list[Verdict] = []
    block_numbers: list[int] = []
    for place, block in enumerate(blocks):
        of_block = _compare_pairs(block, reference, compared[place], options)
        tested += of_block
        block_numbers += itertools.repeat(place, len(of_block))
    if not tested:
        return set(), ["No column has values that can be tested."]
    pairs = corrected(tested)
    alpha = error_rate(options["level"])
    marks: Marks = set()
    for place, pair in zip(block_numbers, pairs, strict=True):
        if pair.p_holm is None or pair.p_holm > alpha:
            continue
        for column, model in compared[place].items():
            others = {pair.name_a, pair.name_b} - {model}
            if str(blocks[place].keys[column]) == pair.metric and len(others) == 1:
                marks.add((place, others.pop(), column))
    named = "the best of its column" if reference == BEST else reference
    if len(blocks) > 1:
        named += " among comparable rows"
    verdict = f"{DAGGER} differs from {named}" if marks else f"Nothing differs from {named}"
    tests = " and ".join(dict.fromkeys(pair.method for pair in pairs))
    family = format_count(len(pairs), "comparison")
    lines = [f"{verdict}: {tests}, p <= {alpha:g} by Holm's rule over {family}."]
    averages = [blocks[place].average for place in block_numbers]
    lines += map(sentence, _notes_of(pairs, averages))
    return marks, lines + _note_on_untested(blocks[0])


def _notes_of(pairs: Sequence[Verdict], averages: Sequence[str]) -> Iterator[str]:
    """Yield what limits the trust in comparisons; of those within groups how many it concerns."""
    of_pairs = list(zip(averages, pairs, strict=True))
    yield from format_notes([pair for average, pair in of_pairs if average != GROUP])
    within_groups = [pair for average, pair in of_pairs if average == GROUP]
    notes = Counter(note.partition(":")[0] for pair in within_groups for note in set(pair.notes))
    for words, number in notes.items():
        yield f"{words}: {format_count(number, 'comparison')} within groups"


def _note_on_untested(block: Block) -> list[str]:
    """Name the columns whose values models may differ in, but that are no means over units."""
    untested = []
    for column, key in block.keys.items():
        if key is not None and key.metric != COUNT and why_incomparable(key):
            untested.append(column)
    if not untested:
        return []
    return [f"Not tested, as no means over units: {', '.join(untested)}."]


def _compared_models(block: Block, reference: str) -> dict[str, str]:
    """Return for each column that can be tested the model that the others are compared with."""
    models = {}
    for column, key in block.keys.items():
        if key is None or why_incomparable(key):
            continue
        values = {name: block.value(name, column) for name in block.models}
        if block.average == GROUP and any(value != value for value in values.values()):
            continue  # A group without tasks of a side has no value there.
        model = _best(values, key) if reference == BEST else reference
        if model:
            models[column] = model
    return models


def _compare_pairs(
    block: Block, reference: str, asked: Mapping[str, str], options: Mapping[str, Any]
) -> list[Verdict]:
    """Compare all pairs of models of a block, or those with a given one."""
    if not asked:
        return []
    metrics = [str(block.keys[column]) for column in asked]
    models = {name: runs.alone for name, runs in block.models.items()}
    pairs = itertools.combinations(models, 2)
    chosen = [names for names in pairs if reference in (BEST, *names)]
    return verdicts(models, chosen, metrics, **options)


def _best(values: Mapping[str, Any], key: Key) -> str:
    """Return the name of the first model with the best value, or "" if there is none."""
    known = {name: value for name, value in values.items() if value == value}
    upward = increasing(key)
    if upward is None or not known:
        return ""
    if upward:
        return max(known, key=known.__getitem__)
    return min(known, key=known.__getitem__)
