"""The rows of a table of models: a block for each group and kind of rank, and marks in them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from ..inference.comparing import corrected, verdicts, why_incomparable
from ..inference.comparisons import format_notes
from ..inference.intervals import error_rate
from ..inference.units import COUNT
from ..inputs.checks import choice
from ..inputs.errors import InputValueError
from ..metrics.keys import MACRO, increasing
from ..tables.cells import format_count
from ..tables.forms import DAGGER
from .columns import Names, label_text, sentence
from .report_table import chosen_kinds, is_auto

if TYPE_CHECKING:
    from ..inference.comparing import Verdict
    from ..inference.intervals import Interval
    from ..metrics import Key
    from ..ranks.labels import LabelsLike
    from .keyed_values import KeyedValues

BEST = "best"
MICRO = "micro"


class Runs(Protocol):
    """The runs of a model, as `Repeats` has them."""

    @property
    def reports(self) -> Sequence[KeyedValues]:
        """The report of each run."""

    @property
    def runs(self) -> int:
        """How many there are."""

    def of_group(self, label: Hashable) -> Self:
        """Return the runs of a group."""

    def std(self, key: str) -> float:
        """Return the sample standard deviation over the runs."""

    def interval(
        self, metric: str, *, by: LabelsLike | None = None, level: float = 0.95
    ) -> Interval:
        """Return the interval of the mean over the runs."""

    def __getitem__(self, key: str, /) -> float:
        """Return the mean over the runs."""


class Block(NamedTuple):
    """The rows of all models in one group, or of all tasks, by one kind of rank.

    Attributes
    ----------
    group, kind : str
    models : mapping of str to Repeats
    keys : mapping of str to Key or None
        By the name of a column, the key of its cells; None where there is no value.
    """

    group: str
    kind: str
    models: Mapping[str, Runs]
    keys: Mapping[str, Key | None]

    def value(self, model: str, column: str) -> float | None:
        """Return the value of a cell."""
        key = self.keys[column]
        if key is None:
            return None
        return self.models[model][str(key)]


def blocks_of(
    models: Mapping[str, Runs], keys: Mapping[str, Key], *, has_groups: bool, kinds: Names
) -> list[Block]:
    """Return the blocks of a table, one of each kind: of all tasks, of macro averages, of groups.

    The largest groups come first.
    """
    words = _kinds_of(models, keys, kinds)
    blocks = list(_blocks_of_kinds(MICRO, models, keys, words))
    if not has_groups:
        return blocks
    for name, row in models.items():
        if any(report.by is None for report in row.reports):
            raise InputValueError("groups", expected="reports with groups", got=f"none in {name!r}")
    macro: dict[str, Key | None] = {}
    for column, key in keys.items():
        if key.macro:
            raise InputValueError("metrics", expected="keys of groups, too", got=f"{key} with them")
        macro[column] = None
        if key.adjustment != "z":  # which has no mean over groups
            macro[column] = key._replace(macro=True)
    blocks += _blocks_of_kinds(MACRO, models, macro, words)
    reports = [report for row in models.values() for report in row.reports]
    first = reports[0]
    tasks = first.group_tasks(first.sides[0])
    for label in sorted(tasks, key=lambda label: -tasks[label]):
        if all(label in report.groups for report in reports):
            of_group = {name: row.of_group(label) for name, row in models.items()}
            blocks += _blocks_of_kinds(label_text(label), of_group, keys, words)
    return blocks


def _kinds_of(models: Mapping[str, Runs], keys: Mapping[str, Key], kinds: Names) -> list[str]:
    """List the kinds of a table: "" for those that the keys have."""
    if kinds is None:
        return [""]
    reports = [report for row in models.values() for report in row.reports]
    form = reports[0].form
    for name, key in keys.items():
        if key != form.key_of_row(key, key.side, form.default_kind):
            raise InputValueError("metrics", expected="no kind, as kinds= has them", got=repr(name))
    found: list[str] = []
    for report in reports:
        source = report._source
        listed = [form.read_key(key) for key in source.keys]
        found += chosen_kinds(source, listed, kinds)
    named = set(found)
    for report in reports:
        if not report.has_ranks:
            named &= {report.read_key(key).kind for key in report}
    return [kind for kind in form.kinds if kind in named]


def _blocks_of_kinds(
    group: str,
    models: Mapping[str, Runs],
    keys: Mapping[str, Key | None],
    kinds: Sequence[str],
) -> Iterator[Block]:
    form = next(iter(models.values())).reports[0].form
    for kind in kinds:
        of_kind: dict[str, Key | None] = {}
        for column, key in keys.items():
            of_kind[column] = key
            if kind and key is not None:
                of_kind[column] = form.key_of_row(key, key.side, kind)
        yield Block(group, kind, models, of_kind)


def variants_of_default(blocks: Sequence[Block], kinds: Names) -> dict[int, int]:
    """Return the rows of other kinds than the default, and the rows of that which they may repeat.

    There are none where kinds were named.
    """
    if not is_auto(kinds):
        return {}
    rows = rows_of(blocks)
    default = next(iter(blocks[0].models.values())).reports[0].form.default_kind
    places = {(block.group, name, block.kind): i for i, (block, name) in enumerate(rows)}
    variants = {}
    for i, (block, name) in enumerate(rows):
        plain = (block.group, name, default)
        if block.kind != default and plain in places:
            variants[i] = places[plain]
    return variants


def rows_of(blocks: Sequence[Block]) -> list[tuple[Block, str]]:
    """List the rows of a table, a block and the name of a model each: the kinds of each model."""
    rows = []
    for _, blocks_of_group in itertools.groupby(blocks, key=lambda block: block.group):
        kinds = list(blocks_of_group)
        for name in blocks[0].models:
            rows += [(block, name) for block in kinds]
    return rows


# -- differences -----------------------------------------------------------------------------------


def differences(
    blocks: Sequence[Block], against: str, options: Mapping[str, Any]
) -> tuple[set[tuple[int, str]], list[str]]:
    """Return the cells that differ significantly from the best model or a given one, and notes.

    The best is chosen by the same ranks, so Holm's rule is over all pairs of models then, whichever
    is the best; for a given model it is over the pairs with this one. It is over all blocks, too.
    """
    names = list(blocks[0].models)
    reference = choice("against", against, (*names, BEST))
    if len(names) < 2:
        raise InputValueError("against", expected="at least two models", got=len(names))
    asked = [_compared_models(block, reference) for block in blocks]
    tested: list[Verdict] = []
    ends = []
    for block, models in zip(blocks, asked, strict=True):
        tested += _compare_pairs(block, reference, models, options)
        ends.append(len(tested))
    if not tested:
        return set(), ["No column has values that can be tested."]
    pairs = corrected(tested)
    alpha = error_rate(options["level"])
    places = {(id(block), name): i for i, (block, name) in enumerate(rows_of(blocks))}
    marks = set()
    start = 0
    for block, models, end in zip(blocks, asked, ends, strict=True):
        for name, column in _marked(block, models, pairs[start:end], alpha):
            marks.add((places[id(block), name], column))
        start = end
    named = "the best of its column" if reference == BEST else reference
    if len(blocks) > 1:
        named += " among comparable rows"
    verdict = f"{DAGGER} differs from {named}" if marks else f"Nothing differs from {named}"
    tests = " and ".join(dict.fromkeys(pair.method for pair in pairs))
    family = format_count(len(pairs), "comparison")
    lines = [f"{verdict}: {tests}, p <= {alpha:g} by Holm's rule over {family}."]
    lines += map(sentence, _notes_of(blocks, pairs, ends))
    lines += _note_on_untested(blocks[0])
    return marks, lines


def _note_on_untested(block: Block) -> list[str]:
    """Name the columns whose values models may differ in, but that are no means over units."""
    untested = []
    for column, key in block.keys.items():
        if key is not None and key.metric != COUNT and why_incomparable(key):
            untested.append(column)
    if not untested:
        return []
    return [f"Not tested, as no means over units: {', '.join(untested)}."]


def _notes_of(
    blocks: Sequence[Block], pairs: Sequence[Verdict], ends: Sequence[int]
) -> Iterator[str]:
    """Yield what limits the trust in comparisons; of those within groups how many it concerns."""
    whole = sum(block.group in (MICRO, MACRO) for block in blocks)  # which come first
    within_groups = ends[whole - 1]
    yield from format_notes(pairs[:within_groups])
    notes = Counter(
        note.partition(":")[0] for pair in pairs[within_groups:] for note in set(pair.notes)
    )
    for words, number in notes.items():
        yield f"{words}: {format_count(number, 'comparison')} within groups"


def _marked(
    block: Block, asked: Mapping[str, str], pairs: Sequence[Verdict], alpha: float
) -> Iterator[tuple[str, str]]:
    """Yield by model and column what differs from the model that it is compared with."""
    unlike = set()
    for pair in pairs:
        if pair.p_holm is not None and pair.p_holm <= alpha:
            unlike.add((pair.metric, pair.name_a, pair.name_b))
            unlike.add((pair.metric, pair.name_b, pair.name_a))
    for column, model in asked.items():
        for name in block.models:
            if (str(block.keys[column]), name, model) in unlike:
                yield name, column


def _compared_models(block: Block, reference: str) -> dict[str, str]:
    """Return for each column that can be tested the model that the others are compared with."""
    models = {}
    for column, key in block.keys.items():
        if key is None or why_incomparable(key):
            continue
        values = {name: block.value(name, column) for name in block.models}
        is_of_group = block.group not in (MICRO, MACRO)
        if is_of_group and any(value != value for value in values.values()):
            continue  # the group has no tasks of a side
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
    models: dict[str, Any] = {}
    for name, row in block.models.items():
        models[name] = row
        if row.runs == 1:
            models[name] = row.reports[0]
    pairs = []
    for names in itertools.combinations(models, 2):
        if reference == BEST or reference in names:
            pairs.append(names)
    return verdicts(models, pairs, metrics, **options)


def _best(values: Mapping[str, Any], key: Key) -> str:
    """Return the name of the first model with the best value, or "" if there is none."""
    known = {name: value for name, value in values.items() if value == value}
    upward = increasing(key)
    if upward is None or not known:
        return ""
    if upward:
        return max(known, key=known.__getitem__)
    return min(known, key=known.__getitem__)
