"""What reports are printed as: lines of sides, kinds, means and groups, and their one layout."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import inference, metrics
from ..errors import InputValueError, UnknownKeyError
from ..inputs.array_likes import unique_keys
from ..inputs.checks import confidence, flag
from ..inputs.rules import suggest
from ..metrics.contributions import UNIT
from ..metrics.keys import ALL_SIDES, MACRO, NO_ADJUSTMENT, UNPOOLED_SIDE, Key, parse, why_no_value
from ..naming import format_count
from ..ranks.grouping import group_codes
from ..tables import Column, Table
from ..tables.as_table import Names
from ..tables.table import DIGITS, Layout, check_digits
from .audit import graded_findings
from .summary import kinds_differ, lines_above, share_missed

if TYPE_CHECKING:
    from ..inference import Interval
    from ..ranks.labels import LabelsLike
    from .reports import Report

    # Its model or side, its group, or "", the number of its runs, and itself.
    IntervalOfRow: TypeAlias = tuple[str, str, int, Interval]

JSON_FORMAT = 1
JSON_KINDS = {"task": "truerank.report", "query": "truerank.retrieval"}

ALL_METRICS = "all"

AUTO = "auto"  # Kinds have rows where they move a value by more than its last printed digit.
ALL_KINDS = "all"  # It means all kinds but the random one.

# What a line of a table is of, but for the kind of rank. Lines of several models have the number of
# their "part", in which they are comparable.
LABELS = ("average", "group", "side", "part", "model")
BETTER: dict[bool | None, Any] = {True: "higher", False: "lower", None: None}

Row: TypeAlias = tuple[str, str]  # its side and its kind
GROUPS_NAMED = 3  # A note names so many.
GROUPS_SHOWN = 20  # On a terminal and in a notebook tables are cut here.
# They stand below every table.
DOUBTS = ("misses", "worse than chance", "test candidates", "ties")
MICRO = "micro"
GROUP = "group"

ALL_ROWS = "all"  # It labels all groups, or all queries, together.
NO_VALUE = "-"  # People read it where a metric has no value of a row.
BOUNDS = ("low", "high")  # Those of "mrr" are "mrr low" and "mrr high".
DEVIATION = "std"


@dataclass(frozen=True)
class Lines:
    """Lines of a table that are alike in all but their group.

    The label "average" tells lines of groups from those of all tasks ("micro") and of means over
    groups ("macro").
    """

    cells: dict[str, list[Any]]  # labels and numbers, or None, by the names of columns
    keys: Mapping[str, Key | None]  # that of each metric's column; None where it has no value
    reports: Sequence[Report]  # the runs of the model
    groups: Sequence[Hashable] | None = None  # None for one line of all tasks


# -- tables ----------------------------------------------------------------------------------------


def table_of_report(
    report: Report,
    metrics: Names = None,
    *,
    sides: Names = None,
    kinds: Names = AUTO,
    percent: bool = False,
    interval: bool = False,
    level: float = 0.95,
    unit: LabelsLike | None = UNIT,
    digits: int = DIGITS,
    all_intervals: bool = True,
) -> Table:
    """Return a report as one table; `Report.table` says what the parameters are.

    The rows are of all sides and kinds; then those of the macro average and the groups, the largest
    first, of the first side and the default kind unless sides or kinds are given. Without
    `all_intervals` only the rows that a terminal shows have them.
    """
    digits = check_digits(digits)
    grammar = report.grammar
    default_kind = grammar.default_kind
    keys = _choose_columns(report, metrics)
    if have_rows(keys.values()):
        for name, rows in (("sides", sides), ("kinds", None if is_auto(kinds) else kinds)):
            if rows is not None:
                expected = "no rows beside a key that names one, as tail.mrr"
                raise InputValueError(name, expected=expected, got=repr(rows))
        options: dict[str, Any] = {"percent": percent, "digits": digits}
        units = (unit, confidence(level)) if flag("interval", interval) else None
        return _table_of_keys(report, keys, units, **options)
    rows_of_all, rows_of_groups = _choose_rows(report, sides, kinds)
    shown_sides = list(dict.fromkeys(side for side, _ in rows_of_all))
    # Ties are looked at on the first side, and on the one that it does not pool.
    sides_of_ties = [side for side in shown_sides if side in (shown_sides[0], UNPOOLED_SIDE)]
    shown_keys = [replace(key, side=side) for side in sides_of_ties for key in keys.values()]
    graded = graded_findings(report, DOUBTS, shown_keys)
    notes = [sentence(finding.message) for _, finding in graded]
    lines = _report_lines(report, keys, rows_of_all, rows_of_groups)
    if report.by is not None and rows_of_groups:
        prefix = grammar.compose(*rows_of_groups[0], "")
        for name, key in lines[len(rows_of_all)].keys.items():  # of the first macro average
            left_out = 0 if key is None else int(np.isnan(report._value_by_group(key)).sum())
            if left_out:
                groups = format_count(left_out, "group")
                notes.append(f"{MACRO}.{prefix}{name} leaves out {groups} without a value.")
    most = len(rows_of_all) + len(rows_of_groups) + GROUPS_SHOWN
    if flag("interval", interval):
        notes += add_intervals(lines, unit, confidence(level), None if all_intervals else most)
    plain_labels: dict[Column, str | None] = {}
    if report.by is not None:
        plain_labels = {Column("average", hidden=True): None, Column("group", report.by): MICRO}
    if "side" in grammar.rows:
        plain_labels[Column("side")] = shown_sides[0] if shown_sides else None
    plain_labels[Column("kind")] = default_kind
    return lay_out(
        lines,
        keys,
        plain_labels,
        [Column(grammar.units)],
        layout=Layout(before=tuple(lines_above(report)), most=most),
        notes=notes,
        percent=percent,
        digits=digits,
        plain_kind=default_kind if is_auto(kinds) else None,
    )


def _report_lines(
    report: Report, keys: Mapping[str, Key], rows_of_all: list[Row], rows_of_groups: list[Row]
) -> list[Lines]:
    """Make the lines of all tasks, then those of macro averages and of groups, if there are any."""
    rows_by_average = {MICRO: rows_of_all}
    if report.by is not None:
        rows_by_average |= {MACRO: rows_of_groups, GROUP: rows_of_groups}
    lines = []
    for average, rows in rows_by_average.items():
        for side, kind in rows:
            labels = {"average": average, "group": average, "side": side, "kind": kind}
            groups = None
            if average == GROUP:
                groups = [label for label, n in largest_groups(report, side).items() if n]
            lines.append(make_lines([report], keys, labels, groups))
    return lines


def name_rows(keys: Iterable[str], unit: str) -> bool:
    """Whether a key of reports on tasks, or on queries, names a row; an unknown one is refused."""
    is_task = unit == "task"
    grammar = metrics.keys.RANK_KEYS if is_task else metrics.answer_metrics.ANSWER_KEYS
    return have_rows([parse(key, grammar) for key in keys])


def have_rows(keys: Iterable[Key]) -> bool:
    """Whether a key names a side, a kind or a macro average, which have rows of their own."""
    return any(key != key.column for key in keys)


def _table_of_keys(
    report: Report, read_keys: Mapping[str, Key], units: tuple[Any, float] | None, **options: Any
) -> Table:
    """Return a table with a column for each key, and a row of all tasks and of each group.

    With units and a level, values have intervals.
    """
    side = report.sides[0]  # Relations alone are not pooled.
    row_name = Column("number")  # Without groups, the one row has nothing else to be called.
    labels = {"average": MICRO, "group": ALL_ROWS, "kind": "", row_name.name: "value"}
    lines = [make_lines([report], read_keys, labels)]
    columns: dict[Column, str | None] = {}
    if report.by is not None:
        columns = {Column("group", report.by): None, Column(report.grammar.units): None}
        groups = list(largest_groups(report, side))
        lines.append(make_lines([report], read_keys, labels | {"average": GROUP}, groups))
    notes = add_intervals(lines, *units) if units else []
    columns[row_name] = None
    layout = Layout(before=tuple(lines_above(report)), most=1 + GROUPS_SHOWN)
    return lay_out(lines, read_keys, columns, layout=layout, notes=notes, full=True, **options)


def json_content(report: Report, keys: Sequence[str], columns: Iterable[str]) -> dict[str, Any]:
    """Return what JSON has of a report: the values of keys, of groups those of some columns."""
    protocol = report.protocol
    content: dict[str, Any] = {
        "kind": JSON_KINDS[report.unit],
        "format": JSON_FORMAT,
        "metrics": report.to_dict(keys),
        "summary": report.summary,
        "protocol": protocol,
        "seed": report.seed,
        "weighting": report.weighting,
        "sides": report.model.side_counts,
        "findings": report.audit(),
        "groups": None,
    }
    if report.by is not None:
        values = {}
        for key in columns:
            parsed = report.read_key(key)
            if not parsed.macro:
                values[key] = report._value_by_group(parsed).tolist()
        content["groups"] = {
            "by": report.by,
            "labels": list(report._labels),
            "tasks": {
                side: list(report.group_tasks(side).values()) for side in report.model.side_counts
            },
            "metrics": values,
        }
    if report.model.answers is not None:
        missed = share_missed(report)
        longest = None
        if missed is not None and report.ranks.lengths is not None:
            longest = int(report.ranks.lengths.max(initial=0))
        content |= {
            "queries": report.tasks(),
            "without_answers": report.without_answers,
            "misses": protocol.misses or "zero",
            "answers": report.summary.tasks,
            "missed": missed,
            "longest": longest,
            "relevance_level": protocol.relevance_level or 0.0,
            "answerless": protocol.answerless or "omit",
        }
    content["fingerprint"] = protocol.fingerprint
    return content


def add_json_intervals(content: dict[str, Any], report: Report, keys: Sequence[str]) -> None:
    """Add the intervals of keys that have one, of all tasks and of each group."""
    shown = [key for key in keys if not inference.intervals.why_no_interval(report.read_key(key))]
    content["intervals"] = {key: report.interval(key).to_dict() for key in shown}
    if report.by is not None:
        of_groups: dict[str, list[Any]] = {key: [] for key in shown}
        for key, intervals in of_groups.items():
            for group in report.groups.values():
                has_value = not math.isnan(group[key])
                intervals.append(group.interval(key).to_dict() if has_value else None)
        content["groups"]["intervals"] = of_groups


# -- what is asked for -----------------------------------------------------------------------------


def _choose_rows(report: Report, sides: Names, kinds: Names) -> tuple[list[Row], list[Row]]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    if sides is None:
        sides_of_all = list(report.sides)
        named = [side for side in sides_of_all if side not in (ALL_SIDES, UNPOOLED_SIDE)]
        if len(named) == 1 and report.tasks(named[0]) == report.tasks(sides_of_all[0]):
            sides_of_all.remove(ALL_SIDES)  # The one side has all of its tasks.
        sides_of_groups = sides_of_all[:1]
    else:
        sides_of_all = sides_of_groups = unique_keys(sides, "sides")
    kinds_of_all = choose_kinds(report, kinds)
    kinds_of_groups = [report.grammar.default_kind] if is_auto(kinds) else kinds_of_all
    for side in sides_of_all:
        report.tasks(side)  # It raises for an unknown side.
    rows_of_all = list(itertools.product(sides_of_all, kinds_of_all))
    return rows_of_all, list(itertools.product(sides_of_groups, kinds_of_groups))


def choose_kinds(report: Report, kinds: Names) -> list[str]:
    """List the kinds of rank that are named; by default all, or one where all are alike."""
    grammar = report.grammar
    if kinds is None or is_auto(kinds):
        return list(grammar.tie_kinds) if kinds_differ(report) else [grammar.default_kind]
    if isinstance(kinds, str) and kinds == ALL_KINDS:
        return list(grammar.tie_kinds)
    names = unique_keys(kinds, "kinds")
    for kind in names:
        if kind not in grammar.words["kind"]:
            problem = f"no such kind of rank; {suggest(kind, grammar.words['kind'])}"
            raise UnknownKeyError(repr(kind), problem)
    return names


def _choose_columns(report: Report, metrics: Names) -> dict[str, Key]:
    """Check the metrics of a table, or choose them."""
    grammar = report.grammar
    names = choose_metrics(metrics, grammar.few, grammar.listed)
    return {name: parse(name, grammar) for name in names}


def choose_metrics(metrics: Names, few: Iterable[str], every: Sequence[str]) -> list[str]:
    """List the metrics of a table: those that were asked for, "all", or a few if they are there."""
    if metrics is None and set(few) <= set(every):
        return list(few)
    if metrics is None or (isinstance(metrics, str) and metrics == ALL_METRICS):
        return list(every)
    return unique_keys(metrics)


def is_auto(kinds: Names) -> bool:
    """Whether rows of kinds are to appear where they differ in what is printed."""
    return kinds is None or (isinstance(kinds, str) and kinds == AUTO)


# -- lines -----------------------------------------------------------------------------------------


@lru_cache(4096)  # The keys keep how they are written.
def _line_key(key: Key, side: str, kind: str, average: str) -> Key | None:
    """Return a key as a line of a side, a kind and an average has it; None if it has no value.

    It keeps what the line does not say.
    """
    if average == GROUP and key.macro:
        return None
    macro = key.macro or average == MACRO
    key_here = replace(key, side=side or key.side, kind=kind or key.kind, macro=macro)
    return None if why_no_value(key_here) else key_here


def make_lines(
    reports: Sequence[Report],
    keys: Mapping[str, Key],
    labels: Mapping[str, Any],
    groups: Sequence[Hashable] | None = None,
    *,
    has_deviations: bool = False,
) -> Lines:
    """Make the line of all tasks of a model, or the lines of some groups.

    The values are those of the first run, or of several those that `interval` has, else means over
    runs; with their deviations. Labels say what the lines are of: "average", "group", "kind" and
    perhaps "side" and more.
    """
    first = reports[0]
    side = labels.get("side", "")
    said = side, labels["kind"], labels["average"]
    keys_of_lines = {name: _line_key(key, *said) for name, key in keys.items()}
    if groups is None:
        sizes = [first.tasks(side or first.sides[0])]
        names = [labels["group"]]
    else:
        tasks = first.group_tasks(side or first.sides[0])
        sizes = [tasks[group] for group in groups]
        names = list(map(label_text, groups))
    cells: dict[str, list[Any]] = {name: [label] * len(sizes) for name, label in labels.items()}
    cells |= {"group": names, first.grammar.units: sizes}
    for name, key in keys_of_lines.items():
        values_of_runs = [_values(report, key, groups) for report in reports]
        cells[name] = values_of_runs[0]
        if has_deviations:
            pairs = [_mean_and_deviation(values) for values in zip(*values_of_runs, strict=True)]
            cells[name] = [mean for mean, _ in pairs]
            cells[f"{name} {DEVIATION}"] = [deviation for _, deviation in pairs]
        if len(reports) > 1 and key is not None and inference.intervals.is_value_of_mean(key):
            cells[name] = [inference.intervals.value_of_mean([run.model for run in reports], key)]
    return Lines(cells, keys_of_lines, reports, groups)


def _mean_and_deviation(values: Sequence[Any]) -> tuple[float | None, float | None]:
    """Return the mean over runs and the sample standard deviation, nan of one; None of no value."""
    if None in values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, math.nan
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1))


def _values(report: Report, key: Key | None, groups: Sequence[Hashable] | None) -> list[Any]:
    """Return the value of a key over all tasks, or within each of some groups."""
    if key is None:
        return [None] * (1 if groups is None else len(groups))
    if groups is None:
        return [report._value(key)]
    values = dict(zip(report._labels, report._value_by_group(key).tolist(), strict=True))
    return [values[label] for label in groups]


def largest_groups(report: Report, side: str) -> dict[Hashable, int]:
    """Return the number of tasks of each group, the largest group first."""
    tasks = report.group_tasks(side)
    return {label: tasks[label] for label in sorted(tasks, key=tasks.__getitem__, reverse=True)}


# -- layout ----------------------------------------------------------------------------------------


def lay_out(
    lines: Sequence[Lines],
    keys: Mapping[str, Key],
    plain_labels: Mapping[Column, str | None],
    counts: Sequence[Column] = (),
    *,
    layout: Layout,
    notes: Iterable[str] = (),
    percent: bool = False,
    digits: int = DIGITS,
    plain_kind: str | None = None,
    is_ranked: bool = False,
    deviation: str = "",
    full: bool = False,
) -> Table:
    """Lay out the lines of reports as a table: columns of labels, of whole numbers, of metrics.

    The columns of labels come with the label that goes without saying, if any does: a column is
    hidden where all rows have it. With a plain kind, rows of other kinds are shown only where they
    move a printed value. The best numbers are marked if models are ranked. `deviation` is
    the heading of deviations that have a column of their own. Headings are `full` where columns
    have keys with words that name rows.
    """
    flag("percent", percent)
    cells: dict[str, list[Any]] = defaultdict(list)
    for each in lines:
        for name, column_cells in each.cells.items():
            cells[name] += column_cells
    metrics = []
    for name, key in keys.items():
        heading = key.full_heading if full else key.heading
        made = metric_columns(name, key, cells, deviation, percent=percent, is_ranked=is_ranked)
        metrics += [replace(made[0], heading=heading), *made[1:]]
    rows: Sequence[int] = range(len(cells["average"]))
    if plain_kind is not None:
        rows = _rows_that_move(cells, metrics, plain_kind, digits)
    columns = []
    for column, plain_label in plain_labels.items():
        is_plain = all(cells[column.name][row] == plain_label for row in rows)
        columns.append(replace(column, hidden=column.hidden or is_plain))
    columns += [*counts, *metrics]
    cells_of_columns = {column: cells[column.name] for column in columns}
    layout = replace(layout, names=len(plain_labels), rows=rows)
    return layout.make(cells_of_columns, notes=notes, digits=digits)


def _rows_that_move(
    cells: Mapping[str, list[Any]], metrics: Iterable[Column], plain_kind: str, digits: int
) -> list[int]:
    """List the rows of the plain kind, and those of another that move a printed value from it.

    The values are those of two rows that have all labels but the kind alike; a row that has no such
    partner is shown.
    """
    shown_metrics = [column for column in metrics if not column.hidden]
    labels = list(zip(*(cells[name] for name in LABELS if name in cells), strict=True))
    plain_rows = {labels[i]: i for i, kind in enumerate(cells["kind"]) if kind == plain_kind}
    rows = []
    for row, labels_of_row in enumerate(labels):
        plain_row = plain_rows.get(labels_of_row, row)
        pair = row, plain_row
        moves = (_moves(column, cells[column.name], pair, digits) for column in shown_metrics)
        if row == plain_row or any(moves):
            rows.append(row)
    return rows


def metric_columns(
    name: str, key: Key, cells: Mapping[str, Any], deviation: str, *, percent: bool, is_ranked: bool
) -> list[Column]:
    """Return the column of a key, and those of its bounds and deviation, if there are any.

    People read the bounds behind the values or, without any, the deviation: in a column of its own
    where the values are no means over runs, which it would be around.
    """
    decimals = key.decimals
    mark = ""
    if percent and key.adjustment == NO_ADJUSTMENT and key.row.is_share:
        decimals = 1
        mark = "%"
    better = BETTER[key.increasing] if is_ranked else None
    shown = None
    if None in cells.get(name, ()):
        shown = [NO_VALUE if cell is None else cell for cell in cells[name]]
    names_of_bounds = [f"{name} {bound}" for bound in BOUNDS]
    name_of_deviation = f"{name} {DEVIATION}"
    hidden_names = [each for each in (*names_of_bounds, name_of_deviation) if each in cells]
    has_own_column = False
    if hidden_names == [name_of_deviation]:  # Tables without runs do without statistics.
        has_own_column = inference.intervals.is_value_of_mean(key)
    behind: list[tuple[Any, ...]] | None = None
    if hidden_names and not has_own_column:
        names_behind = hidden_names[: len(BOUNDS)]  # or the deviation
        behind = list(zip(*(cells[each] for each in names_behind), strict=True))
    column = Column(name, key.heading, decimals, mark, better, shown=shown, behind=behind)
    columns = [column]
    for each in hidden_names:
        known = [NO_VALUE if cell != cell else cell for cell in cells[each]]  # nan of a single run
        columns.append(Column(each, deviation, decimals, hidden=not has_own_column, shown=known))
    return columns


def _moves(column: Column, cells: Sequence[Any], rows: tuple[int, int], digits: int) -> bool:
    """Whether the cells of two rows differ by more than one in the last digit that is printed.

    A number differs from nan; a cell without a value, which is None, from none.
    """
    texts = {column.text(cells[row], row, digits) for row in rows}
    one, two = (cells[row] for row in rows)
    if len(texts) == 1 or None in (one, two):
        return False
    decimals = max(len(text.partition(".")[2]) for text in texts)
    last_digit = 10.0**-decimals
    if column.unit == "%":
        last_digit /= 100
    difference = abs(one - two)  # nan where one of them is
    return math.isnan(difference) or difference > last_digit * (1 + 1e-9)


# -- intervals -------------------------------------------------------------------------------------


def add_intervals(
    lines: Sequence[Lines], unit: LabelsLike | None, level: float, most: int | None = None
) -> list[str]:
    """Add the bounds of intervals to the cells of the first rows, or of all; return the notes.

    Labels of units are of all tasks.
    """
    for line in lines:
        for name, bound in itertools.product(line.keys, BOUNDS):
            line.cells[f"{name} {bound}"] = [None] * len(line.cells["group"])
    rows = [(line, row) for line in lines for row in range(len(line.cells["group"]))]
    intervals: list[IntervalOfRow] = []
    for line, row in rows[:most]:
        reports, units = _tasks_of_row(line, row, unit)
        names = line.cells.get("model", line.cells.get("side", line.cells["average"]))
        group = line.cells["group"][row] if line.cells["average"][row] == GROUP else ""
        for name, key in line.keys.items():
            if key is None or math.isnan(line.cells[name][row]):
                continue
            if inference.intervals.why_no_interval(key, runs=len(reports)):
                continue
            # Tables print the title of a key, which is a key, too.
            interval = inference.interval(reports, key.title, unit=units, level=level)
            line.cells[f"{name} low"][row] = interval.low
            line.cells[f"{name} high"][row] = interval.high
            intervals.append((names[row], group, len(reports), interval))
    return [*_describe_brackets(intervals, level), *_notes_on_intervals(intervals)]


def _tasks_of_row(
    line: Lines, row: int, unit: LabelsLike | None
) -> tuple[Sequence[Report], LabelsLike | None]:
    """Return the reports of the tasks of a row, and the units of these tasks."""
    if line.groups is None:
        return line.reports, unit
    (report,) = line.reports  # Groups are those of one run.
    label = line.groups[row]
    group = report.groups[label]
    if unit is None or isinstance(unit, str):
        return [group], unit
    units, _ = group_codes(report.ranks, unit, "unit")
    is_in_group = report.group_labels == report._labels.index(label)
    return [group], units[is_in_group]


def _describe_brackets(intervals: Iterable[IntervalOfRow], level: float) -> Iterator[str]:
    """Say over how many units intervals of all tasks are, and of which models if not of all."""
    units_by_name: dict[str, list[str]] = {}
    for name, group, runs, interval in intervals:
        if interval.method != "none" and not group:
            units = format_count(interval.units, interval.unit)
            if runs > 1:
                units += f" by {interval.method}"
            if runs > 1 and interval.unit != inference.intervals.FOLD:
                units = f"{runs} runs, {units}"
            units_by_name.setdefault(name, []).append(units)
    if units_by_name:
        units = ", or ".join(inference.comparing.gather_notes(units_by_name))
        yield f"Brackets hold {100 * level:g} % intervals over {units}."


def _notes_on_intervals(intervals: Iterable[IntervalOfRow]) -> Iterator[str]:
    """Say once of each kind of note what limits trust, and then in which of the groups it does."""
    notes_by_name: dict[str, list[str]] = {}
    groups_by_kind: dict[str, list[str]] = {}
    for name, group, _, interval in intervals:
        notes = notes_by_name.setdefault(name, [])
        for note in interval.notes:
            kind = inference.intervals.note_kind(note)
            if group and kind != inference.intervals.APART:
                groups_by_kind.setdefault(kind, []).append(group)
            else:
                notes.append(note)
    yield from map(sentence, inference.comparing.gather_notes(notes_by_name))
    for kind, groups_of_kind in groups_by_kind.items():
        groups = list(dict.fromkeys(groups_of_kind))
        names = ", ".join(groups[:GROUPS_NAMED])
        if len(groups) > GROUPS_NAMED:
            names += f" and {len(groups) - GROUPS_NAMED:,} more"
        yield sentence(f"{kind}: {format_count(len(groups), 'group')} ({names})")


# -- words -----------------------------------------------------------------------------------------


def sentence(text: str) -> str:
    """Write a clause as a sentence.

    >>> sentence("ties move mr"), sentence("is the similarity dot right?")
    ('Ties move mr.', 'Is the similarity dot right?')
    """
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith("?") else ".")


def label_text(label: Hashable) -> str:
    """Write the label of a group.

    >>> label_text((3, "1-N")), label_text(7)
    ('3 1-N', '7')
    """
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)
