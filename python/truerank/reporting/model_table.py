"""Several models as one table: a line for each, of all tasks and of groups, by kinds of rank."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputTypeError, InputValueError, Option, UnknownKeyError, argument_names
from ..inference.comparing import (
    Comparison,
    compare_pair,
    corrected,
    format_notes,
    why_incomparable,
)
from ..inference.intervals import APART, error_rate, is_value_of_mean, note_kind
from ..inference.pairing import (
    align_models,
    align_runs,
    describe_missing_lists,
    read_models,
    refuse_parts,
)
from ..inputs.array_likes import several
from ..inputs.checks import choice, confidence, distinct_names, flag, instance
from ..metrics.contributions import COUNT, UNIT
from ..metrics.keys import MACRO
from ..naming import format_count, public
from ..tables import Column, Table
from ..tables.as_table import Names
from ..tables.forms import DAGGER
from ..tables.table import Layout, check_digits
from .audit import graded_findings
from .report_table import (
    DOUBTS,
    GROUP,
    MICRO,
    Lines,
    add_intervals,
    choose_kinds,
    choose_metrics,
    is_auto,
    label_text,
    largest_groups,
    lay_out,
    make_lines,
    sentence,
)
from .reports import Report

if TYPE_CHECKING:
    from ..metrics.keys import Key
    from ..ranks.labels import LabelsLike

Models = Mapping[str, list[Report]]  # The runs of each model.
Cell = tuple[int, str]  # its row, and the name of its column
Doubts = dict[str, dict[int, tuple[float, str]]]  # a grade and a message, by model and run
BEST = "best"


@public("truerank")
def table(
    reports: Report | Sequence[Report] | Mapping[str, Report | Sequence[Report]],
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
        Several Reports of one model (folds, seeds) give their mean and sample standard deviation;
        of a function of a mean, such as gmr, the value of `interval`, that of the mean over runs,
        with the deviation of their values in a column of its own. All may be reports of retrieval,
        with their keys. Reports without a name are of one model.
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
        them. As the same ranks choose the best, all pairs of models are then tested.
    interval : bool
        Whether the confidence interval of each value stands behind it, in brackets; for programs it
        has columns of its own: ``mrr low``, ``mrr high``. For several runs it is that of their
        mean, in place of the deviation. Notes name the model with the fewest units, and say which
        models have which units and methods where these are unlike.
    groups : bool
        Whether each group has rows of all models, the largest group first, below those of all tasks
        and of macro averages: ``table({"A": report(ranks, by="relation"), ...}, groups=True)``.
        Each group has a best of its own.
    kinds : {"auto", "all"} or names of kinds, optional
        Rows of kinds of rank, as in `Report.table`: "auto" has those that move a value. Default:
        one row, of the kind that keys say.
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
        expected = "the name of a label, as groups have rows"
        raise InputTypeError("unit", expected=expected, got=type(unit).__name__)
    has_macro = has_groups or any(key.macro for key in keys.values())
    repeats = [[run.model for run in runs] for runs in models.values() if len(runs) > 1]
    are_folds = all(align_runs(runs) is None for runs in repeats)
    lines = _model_lines(models, keys, _read_kinds(models, keys, kinds), has_groups, bool(repeats))
    reasons = _reasons_unlike(models, has_macro, allow_unlike)
    notes_below = [f"{reason}." for reason in reasons]
    notes_below += _doubts(models, keys.values())
    differing: set[Cell] = set()
    if against is not None:
        options = {"level": confidence(level), "unit": unit, "allow_unlike": allow_unlike}
        differing, notes_of_tests = _differences(lines, keys, against, options)
        notes_below += notes_of_tests
    if flag("interval", interval):
        notes_below += add_intervals(lines, unit, confidence(level))
    elif repeats:
        notes_below.append(_note_on_deviations(models, keys.values()))
    first = next(iter(models.values()))[0]
    plain_kind = first.grammar.default_kind if kinds is not None and is_auto(kinds) else None
    plain_labels: dict[Column, str | None] = {}
    if has_groups:
        plain_labels[Column("group", first.by or "")] = None
    plain_labels[Column("model")] = None
    if kinds is not None:
        plain_labels[Column("kind")] = plain_kind
    models_table = lay_out(
        lines,
        keys,
        plain_labels,
        [Column("runs", hidden=True)] if repeats else [],
        layout=Layout(differing=differing, comparable=list(map(_part, lines))),
        notes=dict.fromkeys(notes_below),
        percent=percent,
        digits=digits,
        plain_kind=plain_kind,
        is_ranked=not reasons,
        deviation=f"deviation of {'folds' if are_folds else 'runs'}",
    )
    return models_table.table(notes=notes)


@public("truerank")
def overlap(reports: Mapping[str, Any], metric: str = "hits@1") -> Table:
    """Count the tasks, or the queries of retrieval, that each set of models solves.

    Parameters
    ----------
    reports : mapping of str to Report
        The models, each of one run, on one test set. Ranks stand for their report.
    metric : str
        The key of a metric that is 0 or 1 for each task, as hits@k, or query, as success@k.

    Returns
    -------
    Table
        A row for each set of models that solves tasks which no other model solves, the largest
        number first; then for the tasks that none solves, and for those that any does.

    Raises
    ------
    KeyError
        For an unknown metric.
    TypeError, ValueError
        For anything but models by name, models of other tasks or candidates, and a metric with
        other values than 0 and 1, as of ranks that are tied in expectation.

    Examples
    --------
    >>> from truerank import Ranks, overlap
    >>> a, b = (Ranks(above, [1] * 4, 9) for above in ([0, 0, 1, 5], [0, 1, 0, 5]))
    >>> print(overlap({"A": a, "B": b}))
    solved by  tasks  share (%)
    A + B          1       25.0
    A              1       25.0
    B              1       25.0
    none           1       25.0
    any            3       75.0
    """
    if not isinstance(reports, Mapping):
        raise InputTypeError("reports", expected="Reports by names", got=type(reports).__name__)
    distinct_names("reports", reports)
    instance("metric", metric, str)
    models = read_models(reports)
    if not models or max(map(len, models.values())) > 1:
        raise InputValueError("reports", expected="models of one run each, at least one")
    names = list(models)
    first = models[names[0]][0]
    solved = []
    for name, (model,) in models.items():
        pair, _, unlike = align_models(first, model, (names[0], name))
        if pair is None or unlike:
            raise InputValueError(name, f"cannot be put beside {names[0]}: {'; '.join(unlike)}")
        values, _ = pair[1].unit_values(first.grammar.parse(metric))
        values = values[~np.isnan(values)]  # Queries without answers have none.
        others = values[~np.isin(values, [0, 1])]
        if len(others):
            got = f"{len(others):,} of {len(values):,} {first.grammar.units} with others in {name}"
            raise InputValueError("metric", expected="values 0 and 1", got=got)
        solved.append(values.tolist())
    sets = Counter(zip(*solved, strict=True))
    n_none = sets.pop((0,) * len(names), 0)
    n_tasks = n_none + sets.total()
    rows = [(" + ".join(itertools.compress(names, hits)), n) for hits, n in sets.most_common()]
    rows += [("none", n_none), ("any", n_tasks - n_none)]
    columns: list[Any] = ["solved by", first.grammar.units, Column("share", decimals=1, unit="%")]
    return Table(columns, [(*row, row[1] / n_tasks) for row in rows])


def _read_models(reports: Any, allow_unlike: bool) -> Models:
    """Check the models of a table, and return the runs of each by its name."""
    if isinstance(reports, Report) or not isinstance(reports, Mapping):
        runs = _read_runs(reports, allow_unlike)
        return {format_count(len(runs), "run"): runs}
    distinct_names("reports", reports)
    models = {}
    for name, value in reports.items():
        with argument_names(reports=f"reports[{name!r}]"):
            models[name] = _read_runs(value, allow_unlike)
    if not models:
        raise InputValueError("reports", expected="names and Reports, at least one", got="none")
    return models


def _read_runs(value: Any, allow_unlike: bool) -> list[Report]:
    """Check the runs of one model: a Report, or several."""
    if isinstance(value, Report):
        return [value]
    runs = several("reports", value, "Reports, or a Report (truerank.report(ranks) makes one)")
    for i, run in enumerate(runs):
        if not isinstance(run, Report):
            got = type(run).__name__
            raise InputTypeError("reports", expected="Reports", got=got, place=i)
    if not runs:
        raise InputValueError("reports", expected="at least one", got="none")
    refuse_parts("reports", [run.ranks for run in runs])
    if not allow_unlike:
        difference = next(_run_differences(runs), "")
        if difference:
            raise InputValueError("reports", difference)
    return runs


def _run_differences(runs: Sequence[Report]) -> Iterator[str]:
    """Say how protocols and weights differ from those of the first run."""
    first = runs[0]
    for i, other in enumerate(runs[1:], 2):
        differences = first.protocol.differences(other.protocol)
        if differences:
            yield f"runs 1 and {i} were counted under unlike protocols: {'; '.join(differences)}"
        if first.weighting != other.weighting:
            weights = (report.weighting or "equal weights" for report in (first, other))
            yield f"runs 1 and {i} have {' and '.join(weights)}"


def _read_keys(models: Models, metrics: Names) -> dict[str, Key]:
    """Choose the columns, which all models have, and read their keys."""
    reports = [report for runs in models.values() for report in runs]
    first = reports[0]
    usual_keys = _shared_keys(first.grammar.listed, reports)
    if not usual_keys:
        usual_keys = _shared_keys(list(first), reports)
    keys = choose_metrics(metrics, first.grammar.few, usual_keys)
    for name, runs in models.items():
        try:
            for report in runs:
                report.to_dict(keys)  # It raises for a key without a value.
        except UnknownKeyError as error:
            problem = f"{error.problem} (of {name!r})"
            raise UnknownKeyError(error.argument, problem, remedies=error.remedies) from None
    return {key: first.read_key(key) for key in keys}


def _shared_keys(keys: Iterable[str], results: Iterable[Mapping[str, float]]) -> list[str]:
    """Return those of the keys that all results have."""
    # A set finds keys without computing their values.
    listed = [(frozenset(values), values) for values in results]
    return [key for key in keys if all(key in known or key in values for known, values in listed)]


# -- lines -----------------------------------------------------------------------------------------


def _model_lines(
    models: Models, keys: Mapping[str, Key], kinds: list[str], has_groups: bool, is_repeated: bool
) -> list[Lines]:
    """Make the line of each model, by all kinds: of all tasks, of macro averages, of each group."""
    parts = [(MICRO, MICRO, models)]
    if has_groups:
        for key in keys.values():
            if key.macro:
                got = f"{key} with groups"
                raise InputValueError("metrics", expected="keys of groups, too", got=got)
        parts.append((MACRO, MACRO, models))
        for label, models_of_group in _model_groups(models).items():
            parts.append((GROUP, label_text(label), models_of_group))
    lines = []
    for number, (average, group, models_of_part) in enumerate(parts):
        for (name, runs), kind in itertools.product(models_of_part.items(), kinds):
            labels = {"part": number, "average": average, "group": group, "kind": kind}
            labels |= {"model": name, "runs": len(runs)}
            lines.append(make_lines(runs, keys, labels, has_deviations=is_repeated))
    return lines


def _read_kinds(models: Models, keys: Mapping[str, Key], kinds: Names) -> list[str]:
    """List the kinds that a table shows; [""] without `kinds`: each key keeps its own."""
    if kinds is None:
        return [""]
    for name, key in keys.items():
        if key.kind != key.grammar.default_kind:
            expected = "keys without a kind, as rows are of kinds"
            raise InputValueError("metrics", expected=expected, got=repr(name))
    reports = [report for runs in models.values() for report in runs]
    kinds_of_reports = {kind for report in reports for kind in choose_kinds(report, kinds)}
    return [kind for kind in reports[0].grammar.words["kind"] if kind in kinds_of_reports]


def _model_groups(models: Models) -> dict[Hashable, Models]:
    """Return the models of the groups that all of them have, the largest group first."""
    for name, runs in models.items():
        if any(report.by is None for report in runs):
            got = f"none in {name!r}"
            raise InputValueError("groups", expected="reports with groups", got=got)
    reports = [report for runs in models.values() for report in runs]
    groups: dict[Hashable, Models] = {}
    for label in largest_groups(reports[0], reports[0].sides[0]):
        if all(label in report.groups for report in reports):
            groups[label] = {
                name: [report.groups[label] for report in runs] for name, runs in models.items()
            }
    return groups


# -- differences -----------------------------------------------------------------------------------


def _differences(
    lines: Sequence[Lines], keys: Mapping[str, Key], against: str, options: Mapping[str, Any]
) -> tuple[set[Cell], list[str]]:
    """Return the cells that differ significantly from the best model or a given one, and notes.

    Holm's rule counts all pairs of models where they differ from the best, which is chosen by the
    same ranks; from a given model, the pairs with it. It counts those of all comparable rows.
    """
    rows_by_part: dict[Hashable, dict[str, int]] = {}  # of comparable lines, by their models
    for row, line in enumerate(lines):
        rows_by_part.setdefault(_part(line), {})[line.cells["model"][0]] = row
    models = list(dict.fromkeys(name for rows in rows_by_part.values() for name in rows))
    reference = choice("against", against, (*models, BEST))
    if len(models) < 2:
        raise InputValueError("against", expected="at least two models", got=len(models))

    # Each has the cells that differ if its models do.
    tests_of_all: list[tuple[Comparison, set[Cell]]] = []
    tests_of_groups: list[tuple[Comparison, set[Cell]]] = []
    for rows in rows_by_part.values():
        lines_of_part = {name: lines[row] for name, row in rows.items()}
        is_of_group = _is_group_line(lines_of_part[models[0]])
        for comparison, marks in _compare_lines(lines_of_part, reference, options):
            test = comparison, {(rows[name], column) for name, column in marks}
            (tests_of_groups if is_of_group else tests_of_all).append(test)
    tests = tests_of_all + tests_of_groups
    if not tests:
        return set(), ["No column has values that can be tested."]

    comparisons = corrected([comparison for comparison, _ in tests])
    alpha = error_rate(options["level"])
    differing: set[Cell] = set()
    for comparison, (_, cells) in zip(comparisons, tests, strict=True):
        if comparison.p_holm is not None and comparison.p_holm <= alpha:
            differing |= cells

    named = "the best of its column" if reference == BEST else reference
    if len(rows_by_part) > 1:
        named += " among comparable rows"
    verdict = f"{DAGGER} differs from {named}" if differing else f"Nothing differs from {named}"
    methods = " and ".join(dict.fromkeys(comparison.method for comparison in comparisons))
    rule = f"p <= {alpha:g}"
    if len(comparisons) > 1:
        rule += f" by Holm's rule over {len(comparisons):,} comparisons"
    notes = [f"{verdict}: {methods}, {rule}."]
    number = len(tests_of_all)
    notes += _notes_on_tests(comparisons[:number], comparisons[number:], keys)
    return differing, notes


def _notes_on_tests(
    of_all: Sequence[Comparison], of_groups: Iterable[Comparison], keys: Mapping[str, Key]
) -> Iterator[str]:
    """Say what limits the trust in comparisons; within groups, in how many of them."""
    yield from map(sentence, format_notes(of_all))
    comparisons_by_kind: Counter[str] = Counter()
    for comparison in of_groups:
        kinds = dict.fromkeys(map(note_kind, comparison.notes))  # each once
        comparisons_by_kind.update(kinds.keys())
    for kind, number in comparisons_by_kind.items():
        if kind != APART:
            yield sentence(f"{kind}: {format_count(number, 'comparison')} within groups")
    untested = [name for name, key in keys.items() if key.metric != COUNT and why_incomparable(key)]
    if untested:
        yield f"Not tested, as they are not means over units: {', '.join(untested)}."


def _compare_lines(
    lines: Mapping[str, Lines], reference: str, options: Any
) -> Iterator[tuple[Comparison, set[tuple[str, str]]]]:
    """Compare all pairs of models, or those with a given one, by their comparable lines.

    Each comparison has the models and columns that are marked if its models differ.
    """
    references = _references(lines, reference)
    # Tables print the title of a key, and compare equal keys once.
    tested_keys = {key.title: key for key, _ in references.values()}
    models = read_models({model: line.reports for model, line in lines.items()})
    if not tested_keys:
        return
    for pair in itertools.combinations(models, 2):
        if reference not in (BEST, *pair):
            continue
        for comparison in compare_pair(models, pair, tested_keys, **options):
            if math.isnan(comparison.p_value):  # One unit says nothing about others.
                continue
            marks = set()
            for column, (key, model) in references.items():
                if key == tested_keys[comparison.metric] and model in pair:
                    other = pair[1] if model == pair[0] else pair[0]
                    marks.add((other, column))
            yield comparison, marks


def _references(lines: Mapping[str, Lines], reference: str) -> dict[str, tuple[Key, str]]:
    """Return for each column that can be tested its key, and the model that others differ from."""
    first_line = next(iter(lines.values()))
    references = {}
    for name, key in first_line.keys.items():
        if key is None or why_incomparable(key):
            continue
        values = {model: line.cells[name][0] for model, line in lines.items()}
        known = {model: value for model, value in values.items() if not math.isnan(value)}
        if _is_group_line(first_line) and len(known) < len(values):
            continue  # A group without tasks of a side has no value there.
        if reference != BEST:
            references[name] = key, reference
        elif known and key.increasing is not None:
            best = max(known.values()) if key.increasing else min(known.values())
            references[name] = key, next(model for model in known if known[model] == best)
    return references


def _part(line: Lines) -> tuple[Any, ...]:
    """Return what comparable lines have alike."""
    return line.cells["part"][0], line.cells["kind"][0]


def _is_group_line(line: Lines) -> bool:
    """Whether a line is of one group, not of all tasks or of macro averages."""
    return bool(line.cells["average"][0] == GROUP)


# -- notes -----------------------------------------------------------------------------------------


def _reasons_unlike(models: Models, macro: bool, allow_unlike: bool) -> list[str]:
    """Say of each model why `compare` refuses it beside the first; raise unless that is allowed."""
    reasons: list[str] = []
    for name, runs in models.items():
        reasons += (f"{name}: {difference}" for difference in _run_differences(runs))
    first, *others = models
    first_runs = models[first]
    for name in others:
        runs = models[name]
        # These are runs of the same tasks, or folds; the fewer ones repeat.
        for i in range(max(len(first_runs), len(runs))):
            first_run = first_runs[i % len(first_runs)]
            run = runs[i % len(runs)]
            reason = _why_unlike(first_run, run, (first, name), macro)
            if reason:
                reasons.append(f"{name} {reason}")
                break
    if reasons and not allow_unlike:
        way = Option("allow_unlike", True, "puts them side by side, without a best")
        raise InputValueError("reports", reasons[0], remedies=[way])
    return reasons


def _why_unlike(a: Report, b: Report, names: tuple[str, str], macro: bool) -> str:
    """Return why two reports cannot be compared; an empty text where they can."""
    if macro and a.group_tasks(a.sides[0]) != b.group_tasks(b.sides[0]):
        return f"cannot be compared with {names[0]}: unlike groups"
    models = read_models({names[0]: a, names[1]: b})
    pair, _, unlike = align_models(models[names[0]][0], models[names[1]][0], names)
    if pair is not None:
        missing = describe_missing_lists(*pair, names)
        unlike += [f"lists: {name} {description}" for name, description in missing.items()]
    return f"cannot be compared with {names[0]}: {'; '.join(unlike)}" if unlike else ""


def _note_on_deviations(models: Models, keys: Iterable[Key]) -> str:
    """Say of how many runs the deviations behind values are, or those in columns of their own."""
    numbers = sorted({f"{len(runs)} runs" for runs in models.values() if len(runs) > 1})
    sign = "Deviation" if all(map(is_value_of_mean, keys)) else "±"
    return f"{sign} is the standard deviation of {' or '.join(numbers)}."


def _doubts(models: Models, shown_keys: Collection[Key]) -> Iterator[str]:
    """Say the worst that each check finds in all models, and which models, or runs, have it."""
    doubts_by_check: dict[str, Doubts] = {}
    for model, runs in models.items():
        for number, report in enumerate(runs, 1):
            for grade, finding in graded_findings(report, DOUBTS, shown_keys):
                doubts = doubts_by_check.setdefault(finding.name, {})
                doubts.setdefault(model, {})[number] = grade, finding.message
    for doubts in doubts_by_check.values():
        yield _describe_worst(doubts, models)


def _describe_worst(doubts: Doubts, models: Models) -> str:
    """Say the worst of what a check finds in the runs of each model, and where it is."""
    # The message has sizes, which decide where grades are infinite.
    worst = {model: max(doubts_of_runs.values()) for model, doubts_of_runs in doubts.items()}
    _, message = max(worst.values())
    sources = []
    others = []
    for model, doubts_of_runs in doubts.items():
        runs = [run for run, (_, text) in doubts_of_runs.items() if text == message]
        if worst[model][1] != message:
            others.append(model)
        elif len(runs) == len(models[model]):
            sources.append(model)
        else:
            sources.append(f"run {runs[-1]} of {model}")
    text = message if message.endswith("?") else f"{message}."
    if sources != list(models):
        text = f"{', '.join(sources)}: {text}"
    return f"{text} Less in {', '.join(others)}." if others else text
