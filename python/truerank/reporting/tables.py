"""Several runs of a model, and several models as a table: the best of each, and what differs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from ..inference.comparisons import gather_notes
from ..inference.pairing import pair_ranks
from ..inference.runs import interval_over_runs
from ..inference.units import UNIT
from ..inputs.checks import confidence, distinct_names, flag, several
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.rules import with_options
from ..metrics import UnknownKeyError
from ..metrics.keys import MACRO, increasing
from ..ranks.container import Ranks
from ..tables import Column, Table
from ..tables.cells import format_count
from .brackets import Brackets, IntervalRules, check_ranks
from .columns import Names, choose_metrics, metric_column
from .keyed_values import DOUBTS, KeyedValues
from .model_blocks import MICRO, Block, Runs, blocks_of, differences, rows_of, variants_of_default
from .named_numbers import Numbers
from .report_table import is_auto
from .reports import Report

if TYPE_CHECKING:
    from ..inference.intervals import Interval
    from ..metrics import Key
    from ..ranks.labels import LabelsLike
    from .summaries import Finding, Weights

Rows = Mapping[str, "Repeats"]

BETTER: dict[bool | None, Any] = {True: "higher", False: "lower", None: None}


@public("truerank.reporting")
class Repeats(Numbers):
    """Several Reports of one model, by seed or fold: `repeats[key]` is the mean over them.

    `report` makes it of a list of Reports. As a mapping it iterates over the keys that all of them
    have. A value that is nan in one of them makes mean and standard deviation nan. It prints as its
    row of `truerank.table`.

    Attributes
    ----------
    reports : tuple of Report
    runs : int
        The number of Reports.
    protocol : Protocol
        That of the first Report.

    Examples
    --------
    >>> import truerank as tr
    >>> repeats = tr.report([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 1, 3)])
    >>> repeats["mr"], repeats.std("mr"), repeats.values("mr")
    (2.3333333333333335, 1.5275252316519468, (1.0, 2.0, 4.0))
    >>> print(repeats.to_text(["mr", "mrr"]))
    model        MR ↓          MRR ↑
    3 runs  2.3 ± 1.5  0.583 ± 0.382
    """

    def __init__(self, reports: Iterable[KeyedValues]) -> None:
        self.reports = tuple(reports)
        first = self.reports[0]
        self.protocol = first.protocol
        self.read_key = first.read_key
        self.few = first.few
        self.usual = first.usual

    @property
    def runs(self) -> int:
        """How many Reports there are."""
        return len(self.reports)

    def of_group(self, label: Hashable) -> Repeats:
        """Return the reports of a group that all of them have.

        Examples
        --------
        >>> import truerank as tr
        >>> runs = [tr.report(tr.Ranks([above, 5], [1, 1], 10), by=["a", "b"]) for above in (0, 2)]
        >>> tr.report(runs).of_group("a")["mr"]
        2.0
        """
        return Repeats([report.groups[label] for report in self.reports])

    def _value(self, key: str) -> float:
        """Return the mean over the runs; a KeyError if one of them does not have the key."""
        return math.fsum(self.values(key)) / self.runs

    def std(self, key: str) -> float:
        """Return the sample standard deviation over the runs (ddof 1); nan for a single run.

        Examples
        --------
        >>> import truerank as tr
        >>> tr.report([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)]).std("mr")
        1.4142135623730951
        """
        values = self.values(key)
        mean = self[key]
        if self.runs < 2:
            return math.nan
        return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (self.runs - 1))

    def interval(
        self,
        metric: str = "mrr",
        *,
        by: LabelsLike | None = UNIT,
        level: float = 0.95,
    ) -> Interval:
        """Return the interval of the mean over runs: what other runs over other tasks would give.

        Parameters
        ----------
        metric : str
            Any key of a report.
        by : str, labels or None
            The units, as in `Report.interval`.
        level : float

        Returns
        -------
        Interval
            The mean and the bounds of a t interval, whose squared error is that of runs and of
            units. Runs of unlike tasks are taken for folds. Notes say that there are few runs
            (fewer than 5), and that folds share what the interval does not know of.

        Raises
        ------
        ValueError
            For a single run, for Reports without ranks, and for metrics that tell no units apart
            (mad, power_mean:inf).
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import truerank as tr
        >>> rows = ([0, 3, 1], [0, 2, 2], [0, 5, 2], [1, 3, 1], [0, 4, 2])
        >>> runs = tr.report([tr.report(tr.Ranks(above, [1] * 3, 10)) for above in rows])
        >>> found = runs.interval("mrr", level=0.5)
        >>> round(found.low, 3), round(found.value, 3), round(found.high, 3)
        (0.315, 0.513, 0.712)
        """
        return interval_over_runs(self.reports, metric, level=level, by=by)

    def values(self, key: str | None = None) -> Any:
        """Return the values of a key, one for each run; without a key, the means of all keys."""
        if key is None:
            return super().values()
        return tuple(report[key] for report in self.reports)

    def __iter__(self) -> Iterator[str]:
        return iter(_shared(self.reports[0], self.reports))

    def __repr__(self) -> str:
        words = [format_count(self.runs, "run")]
        words += [f"{key} {self[key]:.4g}" for key in ("mrr", "hits@10", "amri") if key in self]
        return f"Repeats({', '.join(words)})"

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return the row of `truerank.table`, which takes the same options."""
        return table(self, metrics, **options)


class ReportOptions(TypedDict, total=False):
    """Options of the report of one model."""

    seed: int
    by: LabelsLike | None
    weights: Weights | None


@overload
def report(ranks: Ranks | Report, **options: Unpack[ReportOptions]) -> Report: ...
@overload
def report(ranks: Sequence[KeyedValues]) -> Repeats: ...
@public("truerank")
@with_options(ReportOptions, seed=0)
def report(
    ranks: Ranks | Report | Sequence[KeyedValues], **options: Unpack[ReportOptions]
) -> Report | Repeats:
    """Return the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks, Report, or sequence of Reports
        A Report stands for its ranks, with the weights that are in force in it. Several Reports, of
        repeats (folds, seeds), also of retrieval, give their means and standard deviations; the
        other parameters are not allowed then, since each Report has its own.
    seed : int
        The seed of the kind "random".
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task. See `Report`.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks. By name: every query, relation or answer of a side
        counts once, or every value of a label that `ranks.labels` has.

    Returns
    -------
    Report or Repeats

    Raises
    ------
    TypeError
        If `ranks` is something else, its sides are ids instead of names, or the seed is not an int.
    ValueError
        If the name of a side cannot be told from the other words of a key, if the seed is negative,
        if labels or weights do not fit the tasks, if Reports differ in protocols or weights, and
        for ranks of a report of retrieval of which several belong to a query.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    >>> report([report(Ranks([0], [1], 10)), report(Ranks([3], [1], 10))])["mr"]
    2.5
    """
    if isinstance(ranks, (Ranks, Report)):
        return Report(ranks, **options)
    if not isinstance(ranks, (list, tuple)):
        expected = "Ranks, a Report, or a list of Reports"
        raise InputTypeError("ranks", expected=expected, got=type(ranks).__name__)
    if options:
        raise InputTypeError("ranks", "Reports have their seed, groups and weights already")
    return _read_runs("ranks", ranks)


@public("truerank")
def table(
    reports: KeyedValues
    | Repeats
    | Sequence[KeyedValues]
    | Mapping[str, KeyedValues | Repeats | Sequence[KeyedValues]],
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
    rows = _read_models(reports, flag("allow_unlike", allow_unlike))
    models = list(rows.values())
    read = _read_keys(rows, metrics)
    has_groups = flag("groups", groups)
    if has_groups and by is not None and not isinstance(by, str):
        expected = "the name of a label, where groups have rows"
        raise InputTypeError("by", expected=expected, got=type(by).__name__)
    unlike = _unlike(rows, has_groups or any(key.macro for key in read.values()))
    if unlike and not allow_unlike:
        advice = "allow_unlike=True puts them side by side, without a best"
        raise InputValueError("reports", f"{unlike[0]}; {advice}")
    blocks = blocks_of(rows, read, has_groups=has_groups, kinds=kinds)
    brackets = None
    if flag("interval", interval):
        brackets = Brackets(IntervalRules(confidence(level), by))
        check_ranks(all(report.has_ranks for row in models for report in row.reports))
    is_repeated = any(row.runs > 1 for row in models)
    columns = _columns(read, percent, is_repeated, brackets, is_ranked=not unlike)
    lines = [f"{reason}." for reason in unlike]
    lines += _doubts(rows)
    marks: set[tuple[int, str]] = set()
    if against is not None:
        options = {"level": confidence(level), "by": by, "allow_unlike": allow_unlike}
        marks, of_marks = differences(blocks, against, options)
        lines += of_marks
    labels = _label_columns(models[0].reports[0].by, blocks, has_groups, kinds)
    columns = labels + columns
    made = [_row(block, name, brackets) for block, name in rows_of(blocks)]
    if brackets is not None:
        lines += brackets.lines()
    found = Table(
        columns,
        [[row[column.name] for column in columns] for row in made],
        names=len(labels),
        significant=marks,
        notes=lines,
        digits=digits,
        variants=variants_of_default(blocks, kinds),
        blocks=[(row["group"], row["kind"]) for row in made],
    )
    return found.table(notes=notes)


def _read_keys(rows: Rows, metrics: Names) -> dict[str, Key]:
    """Choose the columns, which all models have, and read their keys."""
    models = list(rows.values())
    usual = _shared(models[0].usual, models) or _shared(models[0], models)
    keys = choose_metrics(metrics, models[0].few, usual)
    for name, row in rows.items():
        try:
            row.to_dict(keys)
        except UnknownKeyError as error:
            raise UnknownKeyError(error.argument, f"{error.problem} (of {name!r})") from None
    return {key: models[0].read_key(key) for key in keys}


def _label_columns(
    by: str | None, blocks: Sequence[Block], has_groups: bool, kinds: Names
) -> list[Column]:
    """Return the columns that name the rows."""
    columns = [Column("model")]
    if has_groups:
        columns.insert(0, Column("group", by or ""))
    if kinds is not None:
        column = Column("kind")
        if is_auto(kinds) and len({block.kind for block in blocks}) == 1:
            column = Column("kind", only="data")
        columns.append(column)
    return columns


def _columns(
    read: Mapping[str, Key],
    percent: bool,
    is_repeated: bool,
    brackets: Brackets | None,
    is_ranked: bool,
) -> list[Column]:
    """Return a column for each key, with the deviation over runs behind it; the best are marked."""
    columns = []
    if is_repeated:
        columns.append(Column("runs", only="data"))
    for key, parsed in read.items():
        better = BETTER[increasing(parsed)] if is_ranked else None
        column = metric_column(key, parsed, percent=percent, better=better)
        spread = column._replace(name=f"{key} std", better=None)
        if brackets is not None:
            columns += brackets.columns(column)
            if is_repeated:
                columns.append(spread._replace(only="data"))
        elif is_repeated:
            columns.append(column._replace(spread=spread.name))
            columns.append(spread)
        else:
            columns.append(column)
    return columns


def _row(block: Block, name: str, brackets: Brackets | None) -> dict[str, Any]:
    """Return the cells of a model in a block by their columns."""
    model = block.models[name]
    row: dict[str, Any] = {"group": block.group, "model": name, "kind": block.kind}
    row["runs"] = model.runs
    for column, key in block.keys.items():
        row[column] = block.value(name, column)
        row[f"{column} std"] = None
        if key is not None:
            row[f"{column} std"] = model.std(str(key))
        if brackets is None:
            continue
        row[f"{column} low"] = None
        row[f"{column} high"] = None
        if key is not None and not math.isnan(model[str(key)]):
            found = _interval_of(model, str(key), brackets.rules)
            group = "" if block.group in (MICRO, MACRO) else block.group
            brackets.put(row, column, found, group)
    return row


def _interval_of(model: Runs, key: str, rules: IntervalRules) -> Interval:
    """Return the interval of a value: of one report, or of the mean over runs."""
    if model.runs == 1:
        return model.reports[0].interval(key, by=rules.by, level=rules.level)
    return model.interval(key, by=rules.by, level=rules.level)


def _read_models(reports: Any, allow_unlike: bool) -> dict[str, Repeats]:
    """Check the models of a table, and return the runs of each by its name."""
    if isinstance(reports, (KeyedValues, Repeats)) or not isinstance(reports, Mapping):
        runs = _read_runs("reports", reports, allow_unlike)
        return {format_count(runs.runs, "run"): runs}
    distinct_names("reports", reports)
    rows = {
        name: _read_runs(f"reports[{name!r}]", value, allow_unlike)
        for name, value in reports.items()
    }
    if not rows:
        raise InputValueError("reports", expected="names and Reports, at least one", got="none")
    return rows


def _read_runs(argument: str, value: Any, allow_unlike: bool = False) -> Repeats:
    """Check the runs of one model: a Report, Repeats, or several Reports."""
    runs: Sequence[Any]
    if isinstance(value, Repeats):
        runs = value.reports
    elif isinstance(value, KeyedValues):
        runs = [value]
    else:
        runs = several(argument, value, "Reports")
    for i, run in enumerate(runs):
        if not isinstance(run, KeyedValues):
            got = f"{type(run).__name__} at position {i}"
            raise InputTypeError(argument, expected="Reports", got=got)
    if not runs:
        raise InputValueError(argument, expected="at least one", got="none")
    read = Repeats(runs)
    if not allow_unlike:
        for difference in _run_differences(read):
            raise InputValueError(argument, difference)
    return read


def _run_differences(runs: Repeats) -> Iterator[str]:
    """Say how protocols and weights differ from those of the first run."""
    first = runs.reports[0]
    for i, other in enumerate(runs.reports[1:], 2):
        differences = first.protocol.differences(other.protocol)
        if differences:
            yield f"runs 1 and {i} were counted under unlike protocols: {'; '.join(differences)}"
        if first.weighting != other.weighting:
            weights = (report.weighting or "equal weights" for report in (first, other))
            yield f"runs 1 and {i} have {' and '.join(weights)}"


def _shared(keys: Iterable[str], results: Iterable[Mapping[str, float]]) -> list[str]:
    """Return those of the keys that all results have."""
    listed = [(frozenset(values), values) for values in results]  # known without their values
    shared = []
    for key in keys:
        if all(key in known or key in values for known, values in listed):
            shared.append(key)
    return shared


# -- notes -----------------------------------------------------------------------------------------


def _unlike(rows: Rows, macro: bool) -> list[str]:
    """Say which models cannot be compared with the first, by the rule of `compare`."""
    reasons = []
    for name, row in rows.items():
        for difference in _run_differences(row):
            reasons.append(f"{name}: {difference}")
    names = list(rows)
    first = names[0]
    for name in names[1:]:
        reason = _models_differ(rows[first], rows[name], (first, name), macro)
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


def _reports_differ(a: KeyedValues, b: KeyedValues, names: tuple[str, str], macro: bool) -> str:
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


def _size(report: KeyedValues) -> tuple[Any, ...]:
    """How tasks are weighted, how many there are, and among how many candidates."""
    candidates = None
    summary = report._source.summary  # a group of a report from JSON has none
    if summary is not None:
        candidates = summary.candidates_min, summary.candidates_max
    return report.weighting, report.tasks(report.sides[0]), candidates


def _doubts(rows: Rows) -> Iterator[str]:
    """Say the worst that some checks of the audit find in the runs of each model, each once."""
    notes = {}
    for name, row in rows.items():
        worst: dict[str, Finding] = {}
        for report in row.reports:
            for finding in report.audit(*DOUBTS):
                worst[finding.name] = max(worst.get(finding.name, finding), finding)
        notes[name] = [finding.message for finding in worst.values()]
    return (f"{note}." for note in gather_notes(notes))
