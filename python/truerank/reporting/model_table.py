"""Several models as one table: a row for each, in blocks of groups and kinds of rank."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputTypeError, InputValueError
from ..inference.comparisons import gather_notes
from ..inference.pairing import pair_ranks
from ..inference.units import UNIT
from ..inputs.checks import confidence, distinct_names, flag
from ..metrics import UnknownKeyError
from ..metrics.keys import increasing
from ..naming import public
from ..tables import Column, Table
from ..tables.cells import format_count
from ..tables.pivot import Row, label_column, pivot
from .base_report import BaseReport
from .brackets import Brackets
from .columns import Names, choose_metrics, is_auto, metric_column
from .model_blocks import Block, Marks, blocks_of, differences
from .repeats import Repeats, read_runs, run_differences, shared_keys
from .report_table import DOUBTS, GROUP

if TYPE_CHECKING:
    from ..metrics import Key
    from ..ranks.labels import LabelsLike
    from .summaries import Finding

Models = Mapping[str, Repeats]

BETTER: dict[bool | None, Any] = {True: "higher", False: "lower", None: None}


@public("truerank")
def table(
    reports: BaseReport
    | Repeats
    | Sequence[BaseReport]
    | Mapping[str, BaseReport | Repeats | Sequence[BaseReport]],
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
    by: LabelsLike | None = UNIT,
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
        Whether protocols, tasks, numbers of candidates, weights and groups may differ, which
        `compare` refuses, too; a note then says how, and no value is marked as the best.
    against : str, optional
        The name of a model, or "best", the best of each column. A dagger marks the values that
        differ significantly from its value, by the tests of `compare` and Holm's rule over all of
        them; a note says so in words. The best is chosen by the same ranks, so that all pairs of
        models are tested then.
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
    by : str, labels or None
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
    >>> models = {"A": tr.report(tr.Ranks([0] * 9, [1] * 9, 9))}
    >>> models["B"] = tr.report(tr.Ranks([3] * 9, [1] * 9, 9))
    >>> print(table(models, ["mr", "mrr"], against="best").to_text(notes=False))
    model  MR ↓   MRR ↑
    A      1.0*  1.000*
    B      4.0†  0.250†
    >>> print(table(models, ["mrr"], interval=True, against="best").to_text(notes=False))
    model                  MRR ↑
    A      1.000 [0.701, 1.000]*
    B      0.250 [0.203, 0.502]†
    """
    models = _read_models(reports, flag("allow_unlike", allow_unlike))
    keys = _read_keys(models, metrics)
    has_groups = flag("groups", groups)
    if has_groups and by is not None and not isinstance(by, str):
        expected = "the name of a label, where groups have rows"
        raise InputTypeError("by", expected=expected, got=type(by).__name__)
    unlike = _unlike(models, has_groups or any(key.macro for key in keys.values()))
    if unlike and not allow_unlike:
        advice = "allow_unlike=True puts them side by side, without a best"
        raise InputValueError("reports", f"{unlike[0]}; {advice}")
    blocks = blocks_of(models, keys, has_groups=has_groups, kinds=kinds)
    every_report = [report for runs in models.values() for report in runs.reports]
    first = every_report[0]
    brackets = Brackets(every_report, interval, level, by)
    lines = [f"{reason}." for reason in unlike]
    lines += _doubts(models)
    marks: Marks = set()
    if against is not None:
        options = {"level": confidence(level), "by": by, "allow_unlike": allow_unlike}
        marks, of_tests = differences(blocks, against, options)
        lines += of_tests
    rows = list(_rows(blocks, brackets, marks))
    lines += brackets.notes()
    labels = [Column("model")]
    if has_groups:
        labels.insert(0, Column("group", first.by or ""))
    if kinds is not None:
        labels.append(label_column(rows, "kind") if is_auto(kinds) else Column("kind"))
    is_repeated = any(runs.runs > 1 for runs in models.values())
    found = pivot(
        rows,
        labels,
        _metric_columns(keys, percent=percent, is_ranked=not unlike),
        number=Column("runs", only="data") if is_repeated else None,
        parts=brackets.parts + ["std"] * is_repeated,
        plain_kind=first.form.default_kind if is_auto(kinds) else None,
        notes=lines,
        digits=digits,
    )
    return found.table(notes=notes)


def _read_models(reports: Any, allow_unlike: bool) -> Models:
    """Check the models of a table, and return the runs of each by its name."""
    if isinstance(reports, (BaseReport, Repeats)) or not isinstance(reports, Mapping):
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
    every = list(models.values())
    first = every[0]
    usual = shared_keys(first.usual, every) or shared_keys(first, every)
    keys = choose_metrics(metrics, first.few, usual)
    for name, runs in models.items():
        try:
            runs.to_dict(keys)
        except UnknownKeyError as error:
            raise UnknownKeyError(error.argument, f"{error.problem} (of {name!r})") from None
    return {key: first.read_key(key) for key in keys}


def _metric_columns(keys: Mapping[str, Key], *, percent: bool, is_ranked: bool) -> list[Column]:
    """Return a column for each key; the best of each are marked where models can be ranked."""
    columns = []
    for name, key in keys.items():
        better = BETTER[increasing(key)] if is_ranked else None
        columns.append(metric_column(name, key, percent=percent, better=better))
    return columns


def _rows(blocks: Sequence[Block], brackets: Brackets, marks: Marks) -> Iterator[Row]:
    """Yield the rows of each group: the kinds of each model."""
    in_order = enumerate(blocks)
    for _, of_group in itertools.groupby(in_order, key=lambda place: place[1].group):
        kinds = list(of_group)
        for name, (i, block) in itertools.product(blocks[0].models, kinds):
            runs = block.models[name]
            group = block.group if block.average == GROUP else ""
            values = [block.value(name, column) for column in block.keys]
            around = []
            for value, (column, key) in zip(values, block.keys.items(), strict=True):
                found = brackets.around(value, runs.alone, key, group)
                std = None if key is None else runs.std(str(key))
                is_marked = (i, name, column) in marks
                around.append(found._replace(std=std, is_significant=is_marked))
            labels = {"average": block.average, "group": block.group}
            yield Row(labels | {"model": name, "kind": block.kind}, runs.runs, values, around)


# -- notes -----------------------------------------------------------------------------------------


def _unlike(models: Models, macro: bool) -> list[str]:
    """Say which models cannot be compared with the first, by the rule of `compare`."""
    reasons: list[str] = []
    for name, runs in models.items():
        reasons += (f"{name}: {difference}" for difference in run_differences(runs))
    first, *others = models
    for name in others:
        reason = _models_differ(models[first], models[name], (first, name), macro)
        if reason:
            reasons.append(f"{name} {reason}")
    return reasons


def _models_differ(one: Repeats, two: Repeats, names: tuple[str, str], macro: bool) -> str:
    """Say why two models cannot be compared: runs of the same tasks, or folds in one order."""
    for i in range(max(one.runs, two.runs)):
        a = one.reports[i % one.runs]
        b = two.reports[i % two.runs]
        reason = _reports_differ(a, b, names, macro)
        if reason:
            return reason
    return ""


def _reports_differ(a: BaseReport, b: BaseReport, names: tuple[str, str], macro: bool) -> str:
    """Say why two reports cannot be compared; those from JSON, as far as is known."""
    refused = f"cannot be compared with {names[0]}"
    if macro and a.group_tasks(a.sides[0]) != b.group_tasks(b.sides[0]):
        return f"{refused}: unlike groups"
    if a.has_ranks and b.has_ranks:
        try:
            pair_ranks(a, b, names)
        except InputValueError as error:
            return str(error.problem).partition("; allow_unlike")[0]
        return ""
    differences = [f"protocol: {difference}" for difference in a.protocol.differences(b.protocol)]
    if _size(a) != _size(b):
        differences.append("unlike numbers of tasks or candidates, or weights")
    if differences:
        return f"{refused}: {'; '.join(differences)}"
    return ""


def _size(report: BaseReport) -> tuple[Any, ...]:
    """How tasks are weighted, how many there are, and among how many candidates."""
    candidates = None
    summary = report._source.summary  # A group of a report from JSON has none.
    if summary is not None:
        candidates = summary.candidates_min, summary.candidates_max
    return report.weighting, report.tasks(report.sides[0]), candidates


def _doubts(models: Models) -> Iterator[str]:
    """Say the worst that some checks of the audit find in the runs of each model, each once."""
    notes = {}
    for name, runs in models.items():
        worst: dict[str, Finding] = {}
        for report in runs.reports:
            for finding in report.audit(*DOUBTS):
                worst[finding.name] = max(worst.get(finding.name, finding), finding)
        notes[name] = [finding.message for finding in worst.values()]
    return (f"{note}." for note in gather_notes(notes))
