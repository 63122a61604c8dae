"""A report as one table: rows of its sides and kinds, of other filters, of means and groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import InputValueError, UnknownKeyError
from ..inference.units import UNIT
from ..inputs.checks import unique_keys
from ..inputs.words import suggest
from ..metrics import Key
from ..metrics.keys import ALL_SIDES, MACRO, UNPOOLED_SIDES
from ..ranks.grouping import group_codes
from ..tables import Column, Table
from ..tables.cells import format_count
from ..tables.pivot import Row, label_column, pivot
from .brackets import Brackets
from .columns import (
    ALL_KINDS,
    AUTO,
    Names,
    choose_metrics,
    compose_key,
    is_auto,
    label_text,
    metric_column,
    sentence,
)
from .summaries import refuse

if TYPE_CHECKING:
    from ..ranks.labels import LabelsLike
    from .base_report import BaseReport

GROUPS_SHOWN = 20  # A printed table is cut here; programs read all groups.
DOUBTS = ("misses", "worse than chance", "test candidates", "ties")  # They stand below every table.
MICRO = "micro"
GROUP = "group"

ALL_ROWS = "all"  # It labels all groups, or all queries, together.

Pairs = Sequence[tuple[str, str]]  # Each is a side and a kind of rank.


def table_of_report(
    report: BaseReport,
    metrics: Names = None,
    *,
    sides: Names = None,
    kinds: Names = AUTO,
    percent: bool = False,
    interval: bool = False,
    level: float = 0.95,
    by: LabelsLike | None = UNIT,
    most_intervals: int | None = None,
) -> Table:
    """Return a report as one table; `Report.table` says what the parameters are.

    The rows are of all sides and kinds; then those of the other filters, the macro average and the
    groups, the largest first, of the first side and of the default kind, unless sides or kinds are
    given. People read rows of another kind than the default only where they print otherwise, unless
    kinds are given. Labels that are alike in all rows are for programs alone, and values that were
    not stored are empty cells. Of groups only the largest have intervals, if `most_intervals` says
    how many.
    """
    brackets = Brackets([report], interval, level, by)
    form = report.form
    of_all, of_groups = _choose_rows(report, sides, kinds)
    keys = _choose_columns(report, metrics)
    names = list(report.filters) or [""]
    rows = list(_rows(report, keys, of_all, (MICRO, names[0]), brackets))
    for name in names[1:]:
        rows += _rows(report.filters[name], keys, of_groups, (MICRO, name), brackets)
    shown = None
    labels = list(form.labels)
    if report.filters:
        labels.insert(0, "filter")
    if report.by is not None:
        rows += _rows(report, keys, of_groups, (MACRO, names[0]), brackets)
        shown = range(len(rows) + GROUPS_SHOWN)
        for side, kind in of_groups:
            keys_of_cells = {name: form.key_of_row(key, side, kind) for name, key in keys.items()}
            of_row = {"filter": names[0], "side": side, "kind": kind}
            of_side = _rows_of_groups(report, keys_of_cells, of_row, brackets, most_intervals)
            rows += (row for row in of_side if row.number)
        labels.insert(0, "group")
    of_rows = []
    for name in labels:
        heading = report.by or "" if name == "group" else ""
        plain = form.default_kind if name == "kind" else None
        of_rows.append(label_column(rows, name, heading, plain))
    if report.by is not None:
        of_rows.insert(0, Column("average", only="data"))
    notes = [sentence(finding.message) for finding in report.audit(*DOUBTS)]
    notes += _macro_lines(report, keys, of_groups)
    notes += brackets.notes()
    return pivot(
        rows,
        of_rows,
        [metric_column(name, key, percent=percent) for name, key in keys.items()],
        number=Column(form.tasks),
        parts=brackets.parts,
        plain_kind=form.default_kind if is_auto(kinds) else None,
        before=report._lines(),
        notes=notes,
        shown=shown,
    )


def table_of_keys(
    report: BaseReport, keys: Sequence[str], *, percent: bool = False, interval: bool = False
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
    brackets = Brackets([report], interval, 0.95, UNIT)
    read = {key: report.read_key(key) for key in keys}
    tasks = report.form.tasks
    side = report.sides[0]  # Relations alone are not pooled.
    values = [report[name] for name in read]
    around = [
        brackets.around(value, report, key)
        for value, key in zip(values, read.values(), strict=True)
    ]
    labels = [Column("number")]
    rows = [Row({"number": "value"}, report.tasks(side), values, around)]
    if report.by is not None:
        number = sum(report.group_tasks(side).values())
        rows[0].labels.update({"group": ALL_ROWS, tasks: number})
        for row in _rows_of_groups(report, read, {"side": side}, brackets):
            rows.append(row._replace(labels=row.labels | {tasks: row.number, "number": "value"}))
        labels[:0] = [Column("group", report.by), Column(tasks)]
    return pivot(
        rows,
        labels,
        [metric_column(name, key, percent=percent) for name, key in read.items()],
        parts=brackets.parts,
        before=report._lines(),
        notes=brackets.notes(),
        shown=range(1 + GROUPS_SHOWN),
    )


# -- what is asked for -----------------------------------------------------------------------------


def _choose_rows(report: BaseReport, sides: Names, kinds: Names) -> tuple[Pairs, Pairs]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    default_kind = report.form.default_kind
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


def _default_sides(report: BaseReport) -> list[str]:
    """List the sides that have keys; one that has all tasks stands for the pooled ones."""
    found = {key.side for key in map(report.read_key, report)}  # A group may lack tasks of a side.
    sides = [side for side in report.sides if side in found]
    named = [side for side in sides if side not in (ALL_SIDES, *UNPOOLED_SIDES)]
    if len(named) == 1 and report.tasks(named[0]) == report.tasks(sides[0]):
        sides.remove(ALL_SIDES)
    return sides


def chosen_kinds(report: BaseReport, kinds: Names) -> list[str]:
    """List the kinds of rank that are named; by default all, or one where all are alike."""
    form = report.form
    is_word = isinstance(kinds, str) and kinds in (AUTO, ALL_KINDS)
    if kinds is not None and not is_word:
        named = unique_keys(kinds, "kinds")
        for kind in named:
            if kind not in form.kinds:
                problem = f"no such kind of rank; {suggest(kind, form.kinds)}"
                raise UnknownKeyError(repr(kind), problem)
        return named
    known = set(form.kinds)
    if not report.has_ranks:
        known = {key.kind for key in map(report.read_key, report) if not key.macro}
    are_all = kinds == ALL_KINDS or report._source.kinds_differ or form.default_kind not in known
    if not are_all:
        return [form.default_kind]
    return [kind for kind in form.tie_kinds if kind in known]


def _choose_columns(report: BaseReport, metrics: Names) -> dict[str, Key]:
    """Check the metrics of a table, or choose them; they have no word that names a row."""
    form = report.form
    every = list(dict.fromkeys(map(form.column_name, report)))
    keys = {name: form.read_key(name) for name in choose_metrics(metrics, form.few, every)}
    stored = {form.column_of(key) for key in map(form.read_key, report)}
    for name, key in keys.items():
        if key != form.column_of(key):
            expected = f"{form.column_form} as a column of a table"
            raise InputValueError("metrics", expected=expected, got=repr(name))
        if key not in stored and not report.has_ranks:
            refuse(name, list(report))
    return keys


# -- rows ------------------------------------------------------------------------------------------


def _rows(
    report: BaseReport,
    keys: Mapping[str, Key],
    pairs: Pairs,
    names: tuple[str, str],
    brackets: Brackets,
) -> Iterator[Row]:
    """Yield a row for each side and kind, of an average under a filter, by the names of both."""
    average, filter_name = names
    for side, kind in pairs:
        values = []
        around = []
        for column in keys.values():
            key = report.form.key_of_row(column, side, kind)._replace(macro=average == MACRO)
            has_mean = not key.macro or key.adjustment != "z"  # A z has no mean over groups.
            value = report.get(str(key)) if has_mean else None
            values.append(value)
            around.append(brackets.around(value, report, key))
        labels = {"average": average, "group": average, "filter": filter_name}
        yield Row(labels | {"side": side, "kind": kind}, report.tasks(side), values, around)


def _rows_of_groups(
    report: BaseReport,
    keys: Mapping[str, Key],
    labels: Mapping[str, str],
    brackets: Brackets,
    most_intervals: int | None = None,
) -> Iterator[Row]:
    """Yield a row for each group, the largest of the side first; keys of macro have no values."""
    tasks = report.group_tasks(labels["side"])
    largest = sorted(tasks, key=lambda label: -tasks[label])
    columns = [_values_of_groups(report, key) for key in keys.values()]
    with_interval = set(largest[:most_intervals]) if brackets.are_asked else set()
    by = brackets.by
    of_tasks = None
    if with_interval and by is not None and not isinstance(by, str):
        of_tasks = group_codes(report.ranks, by)[0]  # `by` has a label for every task.
    places = {label: place for place, label in enumerate(tasks)}
    for label in largest:
        name = label_text(label)
        values = [column.get(label) for column in columns]
        around = []
        if label in with_interval:
            of_group = by if of_tasks is None else of_tasks[report.group_labels == places[label]]
            group = report.groups[label]
            for value, key in zip(values, keys.values(), strict=True):
                around.append(brackets.around(value, group, key, name, of_group))
        yield Row({"average": GROUP, "group": name, **labels}, tasks[label], values, around)


def _values_of_groups(report: BaseReport, key: Key) -> Mapping[Hashable, float]:
    """Return the values of a key by group; none of a macro average, or that was not stored."""
    if key.macro:
        return {}
    try:
        return report.group_values(str(key))
    except UnknownKeyError:
        return {}


def _macro_lines(report: BaseReport, keys: Mapping[str, Key], pairs: Pairs) -> Iterator[str]:
    """Say which values macro averages leave out."""
    if report.by is None:
        return
    for side, kind in pairs[:1]:
        for name, column in keys.items():
            key = report.form.key_of_row(column, side, kind)
            left_out = sum(map(math.isnan, _values_of_groups(report, key).values()))
            if left_out and key.adjustment != "z":
                of_key = f"{MACRO}.{compose_key(side, kind, name)}"
                yield f"{of_key} leaves out {format_count(left_out, 'group')} without a value."
