"""What reports are printed as: lines of sides, kinds, means and groups, and their one layout."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inference
from ..errors import InputValueError, UnknownKeyError
from ..inputs.checks import confidence, flag, unique_keys
from ..inputs.rules import suggest
from ..metrics.contributions import UNIT
from ..metrics.keys import ALL_SIDES, MACRO, NO_ADJUSTMENT, UNPOOLED_SIDE, Key, parse, why_no_value
from ..naming import format_count
from ..ranks.grouping import group_codes
from ..tables import Column, Table
from ..tables.as_table import Names
from ..tables.table import DIGITS, Layout, check_digits
from .audit import graded_findings, kinds_differ, lines_above, share_missed

if TYPE_CHECKING:
    from ..inference import Interval
    from ..ranks.labels import LabelsLike
    from .reports import Report

JSON_FORMAT = 1
JSON_KINDS = {"task": "truerank.report", "query": "truerank.retrieval"}

ALL_METRICS = "all"

AUTO = "auto"  # Kinds have rows where they move a value by more than its last printed digit.
ALL_KINDS = "all"  # It means all kinds but the random one.

# What a line of a table is of, but for the kind of rank. Lines of several models have the number of
# their "part", in which they are comparable.
LABELS = ("average", "group", "side", "part", "model")
BETTER: dict[bool | None, Any] = {True: "higher", False: "lower", None: None}

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
    of_all, of_groups = _choose_rows(report, sides, kinds)
    keys = _choose_columns(report, metrics)
    first_sides = dict.fromkeys(side for side, _ in of_all if side in (of_all[0][0], UNPOOLED_SIDE))
    shown_keys = [replace(key, side=side) for side in first_sides for key in keys.values()]
    graded = graded_findings(report, DOUBTS, shown_keys)
    notes = [sentence(finding.message) for _, finding in graded]
    parts = {MICRO: of_all}
    if report.by is not None:
        parts |= {MACRO: of_groups, GROUP: of_groups}
    lines = []
    for average, pairs in parts.items():
        for side, kind in pairs:
            labels = {"average": average, "group": average, "side": side, "kind": kind}
            keys_here = keys_of_line(keys, side, kind, macro=average == MACRO)
            groups = None
            if average == MACRO and (side, kind) == pairs[0]:
                notes += _notes_on_macro(report, keys_here, grammar.compose(side, kind, ""))
            if average == GROUP:
                groups = [label for label, n in largest_groups(report, side).items() if n]
            lines.append(make_lines([report], keys_here, labels, groups))
    most = len(of_all) + len(of_groups) + GROUPS_SHOWN
    if flag("interval", interval):
        notes += add_intervals(lines, unit, confidence(level), None if all_intervals else most)
    columns: dict[Column, str | None] = {}
    if report.by is not None:
        columns = {Column("average", hidden=True): None, Column("group", report.by): MICRO}
    if "side" in grammar.rows:
        columns[Column("side")] = of_all[0][0] if of_all else None
    columns[Column("kind")] = default_kind
    return lay_out(
        lines,
        keys,
        columns,
        [Column(grammar.units)],
        layout=Layout(before=tuple(lines_above(report)), most=most),
        notes=notes,
        percent=percent,
        digits=digits,
        plain_kind=default_kind if is_auto(kinds) else None,
    )


def table_of_keys(
    report: Report, keys: Sequence[str], *, percent: bool = False, interval: bool = False
) -> Table:
    """Return a table with a column for each key, and a row of all tasks and of each group."""
    read_keys = {key: report.read_key(key) for key in keys}
    side = report.sides[0]  # Relations alone are not pooled.
    labels = {"average": MICRO, "group": ALL_ROWS, "side": side, "kind": "", "number": "value"}
    lines = [make_lines([report], read_keys, labels)]
    columns: dict[Column, str | None] = {}
    if report.by is not None:
        columns = {Column("group", report.by): None, Column(report.grammar.units): None}
        of_groups = {name: None if key.macro else key for name, key in read_keys.items()}
        labels["average"] = GROUP
        groups = list(largest_groups(report, side))
        lines.append(make_lines([report], of_groups, labels, groups))
    notes: list[str] = []
    if flag("interval", interval):
        notes = add_intervals(lines, UNIT, 0.95)
    columns[Column("number")] = None
    return lay_out(
        lines,
        read_keys,
        columns,
        layout=Layout(before=tuple(lines_above(report)), most=1 + GROUPS_SHOWN),
        notes=notes,
        percent=percent,
    )


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


# -- what is asked for -----------------------------------------------------------------------------


def _choose_rows(
    report: Report, sides: Names, kinds: Names
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    if sides is None:
        of_all = list(report.sides)
        named = [side for side in of_all if side not in (ALL_SIDES, UNPOOLED_SIDE)]
        if len(named) == 1 and report.tasks(named[0]) == report.tasks(of_all[0]):
            of_all.remove(ALL_SIDES)  # A side that has all tasks stands for the pooled ones.
        of_groups = of_all[:1]
    else:
        of_all = of_groups = unique_keys(sides, "sides")
    kinds_of_all = kinds_of_groups = choose_kinds(report, kinds)
    for side in of_all:
        report.tasks(side)  # It raises for an unknown side.
    if is_auto(kinds):
        kinds_of_groups = [report.grammar.default_kind]
    pairs = itertools.product(of_all, kinds_of_all)
    return list(pairs), list(itertools.product(of_groups, kinds_of_groups))


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
    """Check the metrics of a table, or choose them; they have no word that names a row."""
    grammar = report.grammar
    names = choose_metrics(metrics, grammar.few, grammar.listed)
    keys = {name: parse(name, grammar) for name in names}
    for name, key in keys.items():
        if key != key.column:
            expected = f"{grammar.column_form} as a column of a table"
            raise InputValueError("metrics", expected=expected, got=repr(name))
    return keys


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


def keys_of_line(
    keys: Mapping[str, Key], side: str = "", kind: str = "", *, macro: bool = False
) -> dict[str, Key | None]:
    """Return the keys of a line of a side, a kind or macro averages, by the names of columns.

    They are None where they have no value, and keep what the line does not say.
    """
    return {
        name: _key_of_line(key, side or key.side, kind or key.kind, macro or key.macro)
        for name, key in keys.items()
    }


@lru_cache(4096)  # The keys keep how they are written.
def _key_of_line(key: Key, side: str, kind: str, macro: bool) -> Key | None:
    key_here = replace(key, side=side, kind=kind, macro=macro)
    return None if why_no_value(key_here) else key_here


def make_lines(
    reports: Sequence[Report],
    keys: Mapping[str, Key | None],
    labels: Mapping[str, Any],
    groups: Sequence[Hashable] | None = None,
    *,
    has_deviations: bool = False,
) -> Lines:
    """Make the line of all tasks of a model, or those of some groups, of one run or means over all.

    Labels say what the lines are of: "average", "group", "kind" and perhaps more.
    """
    side = labels.get("side", reports[0].sides[0])
    sizes = [reports[0].tasks(side)]
    if groups is not None:
        tasks = reports[0].group_tasks(side)
        sizes = [tasks[group] for group in groups]
    cells: dict[str, list[Any]] = {name: [label] * len(sizes) for name, label in labels.items()}
    if groups is not None:
        cells["group"] = list(map(label_text, groups))
    cells[reports[0].grammar.units] = sizes
    for name, key in keys.items():
        values_of_runs = [_values(report, key, groups) for report in reports]
        if not has_deviations:
            cells[name] = values_of_runs[0]
            continue
        # Means over runs, and sample standard deviations; of one run these are nan.
        cells |= {name: [], f"{name} {DEVIATION}": []}
        for values in zip(*values_of_runs, strict=True):
            mean = deviation = None
            if None not in values:
                mean = math.fsum(values) / len(values)
                deviation = math.nan
            if len(values) > 1 and mean is not None:
                squares = math.fsum((value - mean) ** 2 for value in values)
                deviation = math.sqrt(squares / (len(values) - 1))
            cells[name].append(mean)
            cells[f"{name} {DEVIATION}"].append(deviation)
    return Lines(cells, keys, reports, groups)


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


def _notes_on_macro(report: Report, keys: Mapping[str, Key | None], prefix: str) -> Iterator[str]:
    """Say which values macro averages leave out: those of groups without tasks, and nan."""
    for name, key in keys.items():
        left_out = 0 if key is None else int(np.isnan(report._value_by_group(key)).sum())
        if left_out:
            groups = format_count(left_out, "group")
            yield f"{MACRO}.{prefix}{name} leaves out {groups} without a value."


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
) -> Table:
    """Lay out the lines of reports as a table: columns of labels, of whole numbers, of metrics.

    The columns of labels come with the label that goes without saying, if any does: a column is
    hidden where all rows have it. With a plain kind, rows of other kinds are shown only where they
    move a printed value. The best numbers are marked if models are ranked.
    """
    flag("percent", percent)
    cells: dict[str, list[Any]] = defaultdict(list)
    for each in lines:
        for name, column_cells in each.cells.items():
            cells[name] += column_cells
    metrics = []
    for name, key in keys.items():
        metrics += metric_columns(name, key, cells, percent=percent, is_ranked=is_ranked)
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

    The values are those of two rows that have all labels but the kind alike.
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
    name: str,
    key: Key,
    cells: Mapping[str, list[Any]],
    *,
    percent: bool = False,
    is_ranked: bool = False,
) -> list[Column]:
    """Return the column of a key, and those of its bounds and deviation, if there are any.

    People read the bounds behind the values or, without any, the deviation.
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
    low, high, deviation = (f"{name} {word}" for word in (*BOUNDS, DEVIATION))
    behind: list[tuple[Any, ...]] | None = None
    if low in cells:
        behind = list(zip(cells[low], cells[high], strict=True))
    elif deviation in cells:
        behind = list(zip(cells[deviation]))
    column = Column(name, key.heading, decimals, mark, better, shown=shown, behind=behind)
    hidden = [each for each in (low, high, deviation) if each in cells]
    return [column, *(Column(each, hidden=True) for each in hidden)]


def _moves(column: Column, cells: Sequence[Any], rows: tuple[int, int], digits: int) -> bool:
    """Whether the cells of two rows differ by more than one in the last digit that is printed.

    A value moves from none, which is nan.
    """
    texts = {column.text(cells[row], row, digits) for row in rows}
    one, other = (cells[row] for row in rows)
    if len(texts) < 2 or None in (one, other):
        return False
    decimals = max(len(text.partition(".")[2]) for text in texts)
    last_digit = 10.0**-decimals
    if column.unit == "%":
        last_digit /= 100
    return math.isnan(one - other) or abs(one - other) > last_digit * (1 + 1e-9)


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
    rows = ((line, row) for line in lines for row in range(len(line.cells["group"])))
    # Each with the name of its group, or "", and the number of its runs.
    intervals: list[tuple[str, int, Interval]] = []
    for line, row in itertools.islice(rows, most):
        reports, units = _tasks_of_row(line, row, unit)
        group = line.cells["group"][row] if line.cells["average"][row] == GROUP else ""
        for name, key in line.keys.items():
            if key is None or math.isnan(line.cells[name][row]):
                continue
            if not inference.intervals.why_no_interval(key, runs=len(reports)):
                # Tables print the title of a key, which is a key, too.
                interval = inference.interval(reports, key.title, unit=units, level=level)
                for bound in BOUNDS:
                    line.cells[f"{name} {bound}"][row] = getattr(interval, bound)
                intervals.append((group, len(reports), interval))
    return _notes_on_intervals(intervals, level)


def _tasks_of_row(
    line: Lines, row: int, unit: LabelsLike | None
) -> tuple[Sequence[Report], LabelsLike | None]:
    """Return the reports of the tasks of a row, and the units of these tasks."""
    if line.groups is None:
        return line.reports, unit
    (whole,) = line.reports
    label = line.groups[row]
    if unit is None or isinstance(unit, str):
        return [whole.groups[label]], unit
    codes, _ = group_codes(whole.ranks, unit, "unit")
    return [whole.groups[label]], codes[whole.group_labels == whole._labels.index(label)]


def _notes_on_intervals(intervals: Iterable[tuple[str, int, Interval]], level: float) -> list[str]:
    """Say what intervals are of, and once each what limits trust; of groups, in which of them."""
    over: dict[int, str] = {}  # by numbers of runs
    notes: dict[str, str] = {}
    groups_of_note: dict[str, dict[str, None]] = {}
    for group, runs, interval in intervals:
        if interval.method != "none" and runs not in over:
            over[runs] = format_count(interval.units, interval.unit)
            if runs > 1:
                over[runs] = f"{runs} runs, {over[runs]} ({interval.method})"
        for note in interval.notes:
            kind = inference.intervals.note_kind(note)
            if group and kind != inference.intervals.APART:
                groups_of_note.setdefault(kind, {})[group] = None
            else:
                notes.setdefault(kind, note)
    texts = []
    if over:
        words = ", or ".join(over.values())
        texts.append(f"Brackets hold {100 * level:g} % intervals over {words}.")
    texts += map(sentence, notes.values())
    for kind, groups in groups_of_note.items():
        names = ", ".join(list(groups)[:GROUPS_NAMED])
        if len(groups) > GROUPS_NAMED:
            names += f" and {len(groups) - GROUPS_NAMED:,} more"
        texts.append(sentence(f"{kind}: {format_count(len(groups), 'group')} ({names})"))
    return texts


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
