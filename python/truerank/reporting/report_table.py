"""A report as one table: rows of its sides and kinds, of means and groups."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputValueError, UnknownKeyError
from ..inputs.checks import unique_keys
from ..inputs.words import suggest
from ..metrics.contributions import UNIT
from ..metrics.keys import ALL_SIDES, MACRO, UNPOOLED_SIDE, Key
from ..ranks.grouping import group_codes
from ..tables import Column, Table
from ..tables.cells import DIGITS, format_count
from ..tables.table import check_digits
from .brackets import Brackets
from .columns import (
    ALL_KINDS,
    AUTO,
    COUNTED,
    Names,
    choose_metrics,
    compose_key,
    is_auto,
    label_column,
    label_text,
    metric_columns,
    rows_that_differ,
    sentence,
)
from .summaries import kinds_differ, lines_above

if TYPE_CHECKING:
    from ..ranks.labels import LabelsLike
    from .reports import Report

GROUPS_SHOWN = 20  # A printed table is cut here; programs read all groups.
# They stand below every table.
DOUBTS = ("misses", "worse than chance", "test candidates", "ties")
MICRO = "micro"
GROUP = "group"

ALL_ROWS = "all"  # It labels all groups, or all queries, together.

Pairs = Sequence[tuple[str, str]]  # Each is a side and a kind of rank.


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
    most_intervals: int | None = None,
) -> Table:
    """Return a report as one table; `Report.table` says what the parameters are.

    The rows are of all sides and kinds; then those of the macro average and the groups, the largest
    first, of the first side and of the default kind, unless sides or kinds are given. People read
    rows of another kind than the default only where they print otherwise, unless kinds are given.
    Labels that are alike in all rows are for programs alone. Of groups only the largest have
    intervals, if `most_intervals` says how many.
    """
    brackets = Brackets(interval, level, unit, most_intervals)
    default_kind = report.grammar.default_kind
    of_all, of_groups = _choose_rows(report, sides, kinds)
    keys = _choose_columns(report, metrics)
    lines: dict[str, list[Any]] = defaultdict(list)
    _add_means(lines, report, keys, of_all, MICRO, brackets)
    most_rows = len(lines["kind"])
    if report.by is not None:
        _add_means(lines, report, keys, of_groups, MACRO, brackets)
        most_rows = len(lines["kind"]) + GROUPS_SHOWN
        _add_every_group(lines, report, keys, of_groups, brackets)
    columns = metric_columns(keys, lines, percent=percent)
    rows: Sequence[int] = range(len(lines["kind"]))[:most_rows]
    if is_auto(kinds):
        digits = check_digits(digits)
        rows = rows_that_differ(lines, columns, default_kind, digits, most_rows)
    labels = []
    if report.by is not None:
        labels.append(Column("average", hidden=True))
        labels.append(label_column("group", lines["group"], report.by))
    for name in ("side", "kind"):
        if name not in report.grammar.rows:
            continue
        plain = default_kind if name == "kind" else None
        labels.append(label_column(name, [lines[name][i] for i in rows], plain=plain))
    notes = [sentence(finding.message) for finding in report.audit(*DOUBTS)]
    notes += _macro_lines(report, keys, of_groups)
    notes += brackets.notes()
    columns = [*labels, Column(COUNTED[report.unit]), *columns]
    table = Table({c: lines[c.name] for c in columns}, notes=notes, digits=digits)
    table.names = len(labels)
    table.before = tuple(lines_above(report))
    table.shown_rows = rows
    table.more = max(0, len(table) - most_rows)
    return table


def table_of_keys(
    report: Report, keys: Sequence[str], *, percent: bool = False, interval: bool = False
) -> Table:
    """Return a table with a column for each of any keys, and a row of all tasks and of each group.

    Examples
    --------
    >>> import truerank as tr
    >>> report = tr.report(tr.Ranks([0, 3], [1, 1], 10), by=["a", "b"])
    >>> print(table_of_keys(report, ["macro.mrr", "optimistic.mr"]).to_text(notes=False))
    label  tasks  number  macro.MRR ↑  optimistic.MR ↓
    all    2      value         0.625              2.5
    a      1      value                            1.0
    b      1      value                            4.0
    """
    brackets = Brackets(interval, 0.95, UNIT)
    read = {key: report.read_key(key) for key in keys}
    tasks = COUNTED[report.unit]
    side = report.sides[0]  # Relations alone are not pooled.
    values = report.to_dict(read)
    lines: dict[str, list[Any]] = defaultdict(list)
    cells: dict[str, Any] = {"number": "value", "group": ALL_ROWS, tasks: report.tasks(side)}
    cells |= values | brackets.bounds(report, read, values)
    labels = [Column("number")]
    sizes: dict[int, int] = {}
    if report.by is not None:
        sizes = group_sizes(report, side)
        cells[tasks] = sum(sizes.values())
        labels = [Column("group", report.by), Column(tasks), Column("number")]
    for name, cell in cells.items():
        lines[name].append(cell)
    if report.by is not None:
        _add_groups(lines, report, sizes, read, {"number": "value"}, brackets)
    columns = [*labels, *metric_columns(read, lines, percent=percent)]
    table = Table({c: lines[c.name] for c in columns}, notes=brackets.notes())
    table.names = len(labels)
    table.before = tuple(lines_above(report))
    table.shown_rows = range(min(1 + len(sizes), 1 + GROUPS_SHOWN))
    table.more = max(0, len(sizes) - GROUPS_SHOWN)
    return table


# -- what is asked for -----------------------------------------------------------------------------


def _choose_rows(report: Report, sides: Names, kinds: Names) -> tuple[Pairs, Pairs]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    default_kind = report.grammar.default_kind
    if sides is None:
        of_all = _default_sides(report)
        of_groups = of_all[:1]
    else:
        of_all = of_groups = unique_keys(sides, "sides")
    kinds_of_all = chosen_kinds(report, kinds)
    for side in of_all:
        report.tasks(side)  # It raises for an unknown side.
    few = is_auto(kinds) and default_kind in kinds_of_all
    kinds_of_groups = [default_kind] if few else kinds_of_all
    pairs = itertools.product(of_all, kinds_of_all)
    return list(pairs), list(itertools.product(of_groups, kinds_of_groups))


def _default_sides(report: Report) -> list[str]:
    """List the sides that have keys; one that has all tasks stands for the pooled ones."""
    sides = list(report.sides)
    named = [side for side in sides if side not in (ALL_SIDES, UNPOOLED_SIDE)]
    if len(named) == 1 and report.tasks(named[0]) == report.tasks(sides[0]):
        sides.remove(ALL_SIDES)
    return sides


def chosen_kinds(report: Report, kinds: Names) -> list[str]:
    """List the kinds of rank that are named; by default all, or one where all are alike."""
    grammar = report.grammar
    is_word = isinstance(kinds, str) and kinds in (AUTO, ALL_KINDS)
    if kinds is not None and not is_word:
        named = unique_keys(kinds, "kinds")
        for kind in named:
            if kind not in grammar.row_kinds:
                problem = f"no such kind of rank; {suggest(kind, grammar.row_kinds)}"
                raise UnknownKeyError(repr(kind), problem)
        return named
    if kinds == ALL_KINDS or kinds_differ(report):
        return list(grammar.tie_kinds)
    return [grammar.default_kind]


def _choose_columns(report: Report, metrics: Names) -> dict[str, Key]:
    """Check the metrics of a table, or choose them; they have no word that names a row."""
    grammar = report.grammar
    chosen = choose_metrics(metrics, grammar.few, grammar.listed)
    keys = {name: report.read_key(name) for name in chosen}
    for name, key in keys.items():
        if key != grammar.column_of(key):
            expected = f"{grammar.column_form} as a column of a table"
            raise InputValueError("metrics", expected=expected, got=repr(name))
    return keys


# -- lines -----------------------------------------------------------------------------------------


def group_sizes(report: Report, side: str) -> dict[int, int]:
    """Return the number of tasks of each group by its place, the largest group first."""
    tasks = report._group_sizes(side)
    largest = sorted(range(len(tasks)), key=tasks.__getitem__, reverse=True)
    return {place: tasks[place] for place in largest}


def _add_means(
    lines: dict[str, list[Any]],
    report: Report,
    keys: Mapping[str, Key],
    pairs: Pairs,
    average: str,
    brackets: Brackets,
) -> None:
    """Add a line for each side and kind, of an average by its name."""
    for side, kind in pairs:
        of_cells: dict[str, Key] = {}
        for name, key in keys.items():
            of_cells[name] = report.grammar.key_of_row(key, side, kind)
        values: dict[str, float | None] = {}
        for name, key in of_cells.items():
            of_cells[name] = key._replace(macro=average == MACRO)
            has_mean = average != MACRO or key.adjustment != "z"  # A z has no mean over groups.
            values[name] = report._value(of_cells[name]) if has_mean else None
        cells: dict[str, Any] = {"average": average, "group": average}
        cells |= {"side": side, "kind": kind, COUNTED[report.unit]: report.tasks(side)}
        cells |= values | brackets.bounds(report, of_cells, values)
        for name, cell in cells.items():
            lines[name].append(cell)


def _add_every_group(
    lines: dict[str, list[Any]],
    report: Report,
    keys: Mapping[str, Key],
    pairs: Pairs,
    brackets: Brackets,
) -> None:
    """Add the lines of the groups that have tasks, for each side and kind."""
    for side, kind in pairs:
        of_cells = {name: report.grammar.key_of_row(key, side, kind) for name, key in keys.items()}
        sizes = {place: n for place, n in group_sizes(report, side).items() if n}
        _add_groups(lines, report, sizes, of_cells, {"side": side, "kind": kind}, brackets)


def _add_groups(
    lines: dict[str, list[Any]],
    report: Report,
    sizes: Mapping[int, int],
    keys: Mapping[str, Key],
    labels: Mapping[str, str],
    brackets: Brackets,
) -> None:
    """Add a line for each group, by its place and number of tasks; the largest have intervals."""
    labels_of_groups = report._labels
    names = [label_text(labels_of_groups[place]) for place in sizes]
    columns: dict[str, list[Any]] = {"group": names, COUNTED[report.unit]: list(sizes.values())}
    for name, key in keys.items():
        found = _values_of_groups(report, key)
        columns[name] = [found[place] for place in sizes] if found else [None] * len(sizes)
    if brackets.are_asked:
        bounds: dict[str, list[Any]] = defaultdict(list)
        units: Any = brackets.unit
        is_of_tasks = units is not None and not isinstance(units, str)
        if is_of_tasks:  # The units have a label for every task.
            units = group_codes(report.ranks, units, "unit")[0]
        for i, place in enumerate(itertools.islice(sizes, brackets.most_groups)):
            of_group = units[report.group_labels == place] if is_of_tasks else units
            group = report.groups[labels_of_groups[place]]
            values = {name: columns[name][i] for name in keys}
            of_values = brackets.bounds(group, keys, values, names[i], of_group)
            for name, end in of_values.items():
                bounds[name].append(end)
        for name, ends in bounds.items():
            columns[name] = ends + [None] * (len(sizes) - len(ends))
    for name, label in {"average": GROUP, **labels}.items():
        columns[name] = [label] * len(sizes)
    for name, cells in columns.items():
        lines[name] += cells


def _values_of_groups(report: Report, key: Key) -> Sequence[float]:
    """Return the value of a key in each group; none of a macro average."""
    if key.macro:
        return []
    return report._column(key)


def _macro_lines(report: Report, keys: Mapping[str, Key], pairs: Pairs) -> Iterator[str]:
    """Say which values macro averages leave out."""
    if report.by is None:
        return
    for side, kind in pairs[:1]:
        for name, column in keys.items():
            key = report.grammar.key_of_row(column, side, kind)
            left_out = sum(map(math.isnan, _values_of_groups(report, key)))
            if left_out and key.adjustment != "z":
                of_key = f"{MACRO}.{compose_key(side, kind, name)}"
                yield f"{of_key} leaves out {format_count(left_out, 'group')} without a value."
