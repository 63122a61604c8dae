"""Several models as one table: a line for each, of all tasks and of groups, by kinds of rank."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inference.comparing import (
    Comparison,
    compare_pair,
    corrected,
    format_notes,
    why_incomparable,
)
from ..inference.pairing import pair_ranks
from ..inference.statistics import error_rate
from ..inputs.checks import choice, confidence, distinct_names, flag
from ..metrics.contributions import COUNT, UNIT
from ..metrics.keys import MACRO, increasing
from ..naming import public
from ..tables import Column, Table
from ..tables.cells import format_count
from ..tables.forms import DAGGER
from ..tables.table import check_digits
from .audit import Graded, graded_findings
from .brackets import Brackets
from .columns import (
    Names,
    choose_metrics,
    is_auto,
    label_column,
    label_text,
    metric_columns,
    rows_that_differ,
    sentence,
)
from .repeats import Repeats, read_runs, run_differences, shared_keys
from .report_table import DOUBTS, GROUP, MICRO, chosen_kinds, group_sizes
from .reports import Report

if TYPE_CHECKING:
    from ..metrics.keys import Key
    from ..ranks.labels import LabelsLike

Models = Mapping[str, Repeats]
Keys = Mapping[str, "Key | None"]  # By the name of a column; None where there is no value.

BEST = "best"


class Line(NamedTuple):
    """A line of the table: a model, in one group or of all tasks, by one kind of rank.

    Attributes
    ----------
    part : int
        The number of the group, among all tasks, macro averages and groups.
    kind : str
        "" for the kinds that keys have. Lines of one part and kind are comparable.
    model : str
    average : {"micro", "macro", "group"}
    group : str
        The name of the group, or the average.
    runs : Repeats
    keys : mapping of str to Key or None
    """

    part: int
    kind: str
    model: str
    average: str
    group: str
    runs: Repeats
    keys: Keys


class Test(NamedTuple):
    """A comparison of two comparable lines, and the cells that are marked if they differ."""

    average: str
    verdict: Comparison
    cells: set[tuple[int, str]]


@public("truerank")
def table(
    reports: Report
    | Repeats
    | Sequence[Report]
    | Mapping[str, Report | Repeats | Sequence[Report]],
    metrics: str | Iterable[str] | None = None,
    *,
    digits: int = 3,
    percent: bool = False,
    notes: bool | None = None,
    allow_unlike: bool = False,
    against: str | None = None,
    interval: bool = False,
    groups: bool = False,
    kinds: str | Iterable[str] | None = None,
    level: float = 0.95,
    unit: LabelsLike | None = UNIT,
) -> Table:
    """Put several models into one table: `table({"TransE": r1, "RotatE": [fold1, fold2]})`.

    Parameters
    ----------
    reports : mapping of name to Report or to several Reports
        Several Reports of one model (folds, seeds) give their mean and sample standard deviation.
        All may be reports of retrieval, with the keys that those have.
        Reports without a name are of one model.
    metrics : str or iterable of str, optional
        The columns: keys of reports, with side and kind if needed, or "all". Default: mr, mrr,
        hits@1, hits@3, hits@10 and amri.
    digits : int
        The decimals of shares and reciprocal ranks; mean ranks and percentages have two fewer.
    percent : bool
        Whether hits@k is printed as a percentage.
    notes : bool, optional
        Whether the notes are written. Default: not in LaTeX and CSV.
    allow_unlike : bool
        Whether protocols, tasks, numbers of candidates, weights and groups may differ; a note then
        says how, and no value is marked as the best.
    against : str, optional
        The name of a model, or "best", the best of each column. A dagger marks the values that
        differ significantly from its value, by the tests of `compare` and Holm's rule over all of
        them. The best is chosen by the same ranks, so that all pairs of models are tested then.
    interval : bool
        Whether the confidence interval of each value stands behind it, in brackets, and in columns
        of their own for programs: ``mrr low``, ``mrr high``. Of several runs it is that of their
        mean, in place of the deviation.
    groups : bool
        Whether each group has rows of all models, the largest group first, below those of all tasks
        and of macro averages: ``table({"A": report(ranks, by="relation"), ...}, groups=True)``. The
        best is that of a group.
    kinds : {"auto", "all"} or names of kinds, optional
        Rows of kinds of rank, as in `Report.table`: "auto" has those that print otherwise than the
        default. By default keys say the kind, and there is one row.
    level : float
        The level of the intervals; values with a corrected p-value of at most 1 - level are marked.
    unit : str, labels or None
        The units of intervals and tests, as in `compare`; with `groups` by name.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If there are no reports, and if models or runs of one model cannot be compared (the message
        says why). For an unknown name of a model, and where `compare` raises one.
    TypeError
        For anything but Reports, and for a name that is not a str.
    KeyError
        For a key that a report does not have; the message names the model.

    Examples
    --------
    >>> import truerank as tr
    >>> folds = [tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)]
    >>> table({"A": folds}, ["mr"]).to_dict()
    {'model': ['A'], 'runs': [2], 'mr': [2.0], 'mr std': [1.4142135623730951]}
    >>> models = {"A": tr.report(tr.Ranks([0] * 8 + [1], [1] * 9, 9))}
    >>> models["B"] = tr.report(tr.Ranks([3] * 8 + [2], [1] * 9, 9))
    >>> print(table(models, ["mr", "mrr"], against="best").to_text(notes=False))
    model  MR ↓   MRR ↑
    A      1.1*  0.944*
    B      3.9†  0.259†
    >>> print(table(models, ["mrr"], interval=True, against="best").to_text(notes=False))
    model                  MRR ↑
    A      0.944 [0.816, 1.000]*
    B      0.259 [0.238, 0.281]†
    """
    digits = check_digits(digits)
    models = _read_models(reports, flag("allow_unlike", allow_unlike))
    keys = _read_keys(models, metrics)
    has_groups = flag("groups", groups)
    if has_groups and unit is not None and not isinstance(unit, str):
        expected = "the name of a label, where groups have rows"
        raise InputTypeError("unit", expected=expected, got=type(unit).__name__)
    macro = has_groups or any(key.macro for key in keys.values())
    unlike = _unlike(models, macro, allow_unlike)
    lines = _read_lines(models, keys, has_groups, kinds)
    first = next(iter(models.values())).reports[0]
    brackets = Brackets(interval, level, unit)
    notes_below = [f"{reason}." for reason in unlike]
    notes_below += _doubts(models)
    marks: set[tuple[int, str]] = set()
    if against is not None:
        options = {"level": confidence(level), "unit": unit, "allow_unlike": allow_unlike}
        marks, of_tests = _differences(lines, against, options)
        notes_below += of_tests
    is_repeated = any(runs.runs > 1 for runs in models.values())
    cells = _fill(lines, brackets, is_repeated)
    notes_below += brackets.notes()
    columns = metric_columns(keys, cells, percent=percent, is_ranked=not unlike)
    rows: Sequence[int] = range(len(lines))
    labels = [Column("model")]
    if has_groups:
        labels.insert(0, Column("group", first.by or ""))
    if kinds is not None and is_auto(kinds):
        rows = rows_that_differ(cells, columns, first.grammar.default_kind, digits, len(lines))
        labels.append(label_column("kind", [cells["kind"][i] for i in rows]))
    elif kinds is not None:
        labels.append(Column("kind"))
    if is_repeated:
        columns.insert(0, Column("runs", hidden=True))
    columns[:0] = labels
    notes_below = list(dict.fromkeys(notes_below))
    made = Table({c: cells[c.name] for c in columns}, notes=notes_below, digits=digits)
    made.names = len(labels)
    made.shown_rows = rows
    made.differing = marks
    made.parts = [(line.part, line.kind) for line in lines]
    return made.table(notes=notes)


def _read_models(reports: Any, allow_unlike: bool) -> Models:
    """Check the models of a table, and return the runs of each by its name."""
    if isinstance(reports, (Report, Repeats)) or not isinstance(reports, Mapping):
        runs = read_runs("reports", reports, allow_unlike)
        return {format_count(runs.runs, "run"): runs}
    distinct_names("reports", reports)
    models = {
        name: read_runs(f"reports[{name!r}]", value, allow_unlike)
        for name, value in reports.items()
    }
    if not models:
        raise InputValueError("reports", expected="names and Reports, at least one", got="none")
    return models


def _read_keys(models: Models, metrics: Names) -> dict[str, Key]:
    """Choose the columns, which all models have, and read their keys."""
    reports = [report for runs in models.values() for report in runs.reports]
    first = reports[0]
    usual = shared_keys(first.grammar.listed, reports) or shared_keys(first, reports)
    keys = choose_metrics(metrics, first.grammar.few, usual)
    for name, runs in models.items():
        try:
            for report in runs.reports:
                report.to_dict(keys)
        except UnknownKeyError as error:
            raise UnknownKeyError(error.argument, f"{error.problem} (of {name!r})") from None
    return {key: first.read_key(key) for key in keys}


# -- lines -----------------------------------------------------------------------------------------


def _read_lines(
    models: Models, keys: Mapping[str, Key], has_groups: bool, kinds: Names
) -> list[Line]:
    """Return the lines of all models: of all tasks, of macro averages, of groups.

    The largest groups come first.
    """
    reports = [report for runs in models.values() for report in runs.reports]
    first = reports[0]
    words = _read_kinds(reports, keys, kinds)
    parts: list[tuple[str, str, Models, Keys]] = [(MICRO, MICRO, models, keys)]
    if has_groups:
        for name, runs in models.items():
            if any(report.by is None for report in runs.reports):
                got = f"none in {name!r}"
                raise InputValueError("groups", expected="reports with groups", got=got)
        parts.append((MACRO, MACRO, models, _macro_keys(keys)))
        labels = list(first.groups)
        for label in (labels[place] for place in group_sizes(first, first.sides[0])):
            if all(label in report.groups for report in reports):
                of_group = {name: runs.of_group(label) for name, runs in models.items()}
                parts.append((GROUP, label_text(label), of_group, keys))
    lines = []
    for part, (average, group, of_models, of_part) in enumerate(parts):
        for (name, runs), kind in itertools.product(of_models.items(), words):
            of_kind = dict(of_part)
            for column, key in of_part.items():
                if kind and key is not None:
                    of_kind[column] = first.grammar.key_of_row(key, key.side, kind)
            lines.append(Line(part, kind, name, average, group, runs, of_kind))
    return lines


def _macro_keys(keys: Mapping[str, Key]) -> Keys:
    """Return the keys of macro averages; a z has no mean over groups."""
    found: dict[str, Key | None] = {}
    for column, key in keys.items():
        if key.macro:
            raise InputValueError("metrics", expected="keys of groups, too", got=f"{key} with them")
        found[column] = None if key.adjustment == "z" else key._replace(macro=True)
    return found


def _read_kinds(reports: Sequence[Report], keys: Mapping[str, Key], kinds: Names) -> list[str]:
    """List the kinds of a table: "" for those that the keys have."""
    if kinds is None:
        return [""]
    grammar = reports[0].grammar
    for name, key in keys.items():
        if key != grammar.key_of_row(key, key.side, grammar.default_kind):
            raise InputValueError("metrics", expected="no kind, as kinds= has them", got=repr(name))
    named = {kind for report in reports for kind in chosen_kinds(report, kinds)}
    return [kind for kind in grammar.row_kinds if kind in named]


def _fill(lines: Sequence[Line], brackets: Brackets, is_repeated: bool) -> dict[str, list[Any]]:
    """Return the lines with their values, and what stands around these."""
    filled: dict[str, list[Any]] = defaultdict(list)
    for line in lines:
        cells: dict[str, Any] = line._asdict() | {"runs": line.runs.runs}
        values: dict[str, float | None] = {}
        for name, key in line.keys.items():
            values[name] = None if key is None else line.runs[str(key)]
            if is_repeated:
                cells[f"{name} std"] = None if key is None else line.runs.std(str(key))
        group = line.group if line.average == GROUP else ""
        bounds = brackets.bounds(line.runs.alone, line.keys, values, group)
        for name, cell in (cells | values | bounds).items():
            filled[name].append(cell)
    return filled


# -- differences -----------------------------------------------------------------------------------


def _differences(
    lines: Sequence[Line], against: str, options: Mapping[str, Any]
) -> tuple[set[tuple[int, str]], list[str]]:
    """Return the cells that differ significantly from the best model or a given one, and notes.

    The best is chosen by the same ranks, so Holm's rule is over all pairs of models then, whichever
    is the best; for a given model it is over the pairs with this one. It is over all blocks of
    comparable lines, too.
    """
    blocks: dict[tuple[int, str], dict[int, Line]] = {}
    for i, line in enumerate(lines):
        blocks.setdefault((line.part, line.kind), {})[i] = line
    models = list(dict.fromkeys(line.model for line in lines))
    reference = choice("against", against, (*models, BEST))
    if len(models) < 2:
        raise InputValueError("against", expected="at least two models", got=len(models))
    tests: list[Test] = []
    for block in blocks.values():
        tests += _tests_of_block(block, reference, options)
    if not tests:
        return set(), ["No column has values that can be tested."]
    pairs = corrected([test.verdict for test in tests])
    tests = [test._replace(verdict=pair) for test, pair in zip(tests, pairs, strict=True)]
    alpha = error_rate(options["level"])
    marks: set[tuple[int, str]] = set()
    for test in tests:
        if test.verdict.p_holm is not None and test.verdict.p_holm <= alpha:
            marks |= test.cells
    named = "the best of its column" if reference == BEST else reference
    if len(blocks) > 1:
        named += " among comparable rows"
    verdict = f"{DAGGER} differs from {named}" if marks else f"Nothing differs from {named}"
    methods = " and ".join(dict.fromkeys(pair.method for pair in pairs))
    family = format_count(len(pairs), "comparison")
    notes = [f"{verdict}: {methods}, p <= {alpha:g} by Holm's rule over {family}."]
    notes += map(sentence, _notes_of(tests))
    untested = [name for name, key in lines[0].keys.items() if key is not None and _is_open(key)]
    if untested:
        notes.append(f"Not tested, as no means over units: {', '.join(untested)}.")
    return marks, notes


def _is_open(key: Key) -> bool:
    """Whether models may differ in a key that cannot be tested."""
    return key.metric != COUNT and bool(why_incomparable(key))


def _notes_of(tests: Sequence[Test]) -> Iterator[str]:
    """Yield what limits the trust in comparisons; of those within groups how many it concerns."""
    yield from format_notes([test.verdict for test in tests if test.average != GROUP])
    notes: Counter[str] = Counter()
    for test in tests:
        if test.average == GROUP:
            notes.update(note.partition(":")[0] for note in dict.fromkeys(test.verdict.notes))
    for words, number in notes.items():
        yield f"{words}: {format_count(number, 'comparison')} within groups"


def _tests_of_block(
    block: Mapping[int, Line], reference: str, options: Mapping[str, Any]
) -> list[Test]:
    """Compare all pairs of models of a block, or those with a given one."""
    places = {line.model: i for i, line in block.items()}
    first = next(iter(block.values()))
    references = _references(list(block.values()), reference)
    if not references:
        return []
    keys = list(dict.fromkeys(key for name in references if (key := first.keys[name]) is not None))
    models = {line.model: line.runs.alone for line in block.values()}
    pairs = [pair for pair in itertools.combinations(models, 2) if reference in (BEST, *pair)]
    tests = []
    for verdict in itertools.chain.from_iterable(
        compare_pair(models, pair, keys, **options, has_bounds=False) for pair in pairs
    ):
        cells: set[tuple[int, str]] = set()
        for name, model in references.items():
            others = {verdict.name_a, verdict.name_b} - {model}
            if str(first.keys[name]) == verdict.metric and len(others) == 1:
                cells.add((places[others.pop()], name))
        tests.append(Test(first.average, verdict, cells))
    return tests


def _references(block: Sequence[Line], reference: str) -> dict[str, str]:
    """Return for each column that can be tested the model that the others are compared with."""
    models = {}
    for name, key in block[0].keys.items():
        if key is None or why_incomparable(key):
            continue
        values = {line.model: line.runs[str(key)] for line in block}
        known = {model: value for model, value in values.items() if value == value}
        if block[0].average == GROUP and len(known) < len(values):
            continue  # A group without tasks of a side has no value there.
        upward = increasing(key)
        if reference != BEST:
            models[name] = reference
        elif known and upward is not None:
            choose: Any = max if upward else min
            models[name] = choose(known, key=known.__getitem__)
    return models


# -- notes -----------------------------------------------------------------------------------------


def _unlike(models: Models, macro: bool, allow_unlike: bool) -> list[str]:
    """Say which models cannot be compared with the first, by the rule of `compare`, or refuse."""
    reasons: list[str] = []
    for name, runs in models.items():
        reasons += (f"{name}: {difference}" for difference in run_differences(runs))
    first, *others = models
    one = models[first]
    for name in others:
        two = models[name]
        for i in range(max(one.runs, two.runs)):  # These are runs of the same tasks, or folds.
            pair = (one.reports[i % one.runs], two.reports[i % two.runs])
            reason = _why_unlike(*pair, (first, name), macro)
            if reason:
                reasons.append(f"{name} {reason}")
                break
    if reasons and not allow_unlike:
        advice = "allow_unlike=True puts them side by side, without a best"
        raise InputValueError("reports", f"{reasons[0]}; {advice}")
    return reasons


def _why_unlike(a: Report, b: Report, names: tuple[str, str], macro: bool) -> str:
    """Say why two reports cannot be compared; an empty text where they can."""
    refused = f"cannot be compared with {names[0]}"
    if macro and a.group_tasks(a.sides[0]) != b.group_tasks(b.sides[0]):
        return f"{refused}: unlike groups"
    try:
        pair_ranks(a, b, names)
    except InputValueError as error:
        return str(error.problem).partition("; allow_unlike")[0]
    return ""


def _doubts(models: Models) -> Iterator[str]:
    """Say the worst that each of some checks finds in all models, and which models have it."""
    worst: dict[str, dict[str, Graded]] = {}
    for name, runs in models.items():
        for report in runs.reports:
            for graded in graded_findings(report, DOUBTS):
                of_models = worst.setdefault(graded[1].name, {})
                of_models[name] = max(of_models.get(name, graded), graded)
    for of_models in worst.values():
        message = max(of_models.values())[1].message
        alike = [name for name, (_, finding) in of_models.items() if finding.message == message]
        names = "" if len(alike) == len(models) else f"{', '.join(alike)}: "
        others = ", ".join(name for name in of_models if name not in alike)
        yield f"{names}{message}." + (f" In {others} less." if others else "")
