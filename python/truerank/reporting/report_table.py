"""A report as one table: rows of its sides and kinds, of other filters, of means and groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..inputs.checks import unique_keys
from ..inputs.errors import InputValueError, UnknownKeyError
from ..inputs.words import suggest
from ..metrics import Key
from ..metrics.keys import ALL_SIDES, MACRO, UNPOOLED_SIDES
from ..metrics.kinds import EXPECTED_KIND
from ..tables import Column, Table
from ..tables.cells import format_count
from .columns import Names, choose_metrics, compose_key, label_text, metric_column
from .summaries import Measured, Source, refuse

GROUPS_SHOWN = 20  # of a printed table; programs read all groups

Pairs = Sequence[tuple[str, str]]  # of a side and a kind of rank
Row = dict[str, Any]  # labels, the number of tasks, and values: None where one is not known


class Asked(NamedTuple):
    """What a table is to have: metrics, sides and kinds, or None; and percentages."""

    metrics: Names = None
    sides: Names = None
    kinds: Names = None
    percent: bool = False


class Lines(NamedTuple):
    """The lines above a table, and the notes below it."""

    before: Sequence[str]
    notes: Sequence[str]


def report_table(
    source: Source, filters: Mapping[str, Source], asked: Asked, lines: Lines
) -> Table:
    """Return a report as one table.

    The rows are of all sides and kinds; then those of the other filters, the macro average and the
    groups, the largest first, of the first side and of the default kind, unless sides or kinds are
    given. Labels that are alike in all rows are for programs alone, and values that were not stored
    are empty cells.

    Parameters
    ----------
    source : Source
    filters : mapping of str to Source
        The same tasks under each filter by name, `source` first; empty where there is one alone.
    asked : Asked
    lines : Lines
    """
    form = source.form
    listed = [form.read_key(key) for key in source.keys]
    of_all, of_groups = _choose_rows(source, listed, asked)
    keys = _choose_columns(source, listed, asked.metrics)
    labels = list(form.labels)
    names = list(filters) or [""]
    rows = list(_rows(source, keys, of_all, "micro", names[0]))
    if filters:
        labels.insert(0, "filter")
        for name in names[1:]:
            rows += _rows(filters[name], keys, of_groups, "micro", name)
    notes = list(lines.notes)
    most = None
    if source.by is not None:
        labels[:0] = ["average", "group"]
        rows += _rows(source, keys, of_groups, MACRO, names[0])
        most = len(rows) + GROUPS_SHOWN
        rows += _group_rows(source, keys, of_groups, names[0])
        notes += _macro_lines(source, keys, of_groups)
    columns = [_label_column(name, source, {row[name] for row in rows}) for name in labels]
    columns.append(Column(form.tasks))
    for name, key in keys.items():
        columns.append(metric_column(name, key, percent=asked.percent))
    cells = [[row[column.name] for column in columns] for row in rows]
    return Table(columns, cells, names=len(labels), before=lines.before, notes=notes, most=most)


def _choose_rows(source: Source, listed: Sequence[Key], asked: Asked) -> tuple[Pairs, Pairs]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    form = source.form
    sides = _default_sides(source, listed)
    if asked.sides is not None:
        sides = unique_keys(asked.sides, "sides")
    kinds = _default_kinds(source, listed)
    if asked.kinds is not None:
        kinds = unique_keys(asked.kinds, "kinds")
    for side in sides:
        source.number_of_tasks(side)  # a KeyError for an unknown one
    for kind in kinds:
        if kind not in form.kinds:
            raise UnknownKeyError(repr(kind), f"no such kind of rank; {suggest(kind, form.kinds)}")
    few_sides = sides
    few_kinds = kinds
    if asked.sides is None:
        few_sides = sides[:1]
    if asked.kinds is None and form.default_kind in kinds:
        few_kinds = [form.default_kind]
    of_all = list(itertools.product(sides, kinds))
    return of_all, list(itertools.product(few_sides, few_kinds))


def _default_sides(source: Source, listed: Sequence[Key]) -> list[str]:
    """List the sides that have keys; one that has all tasks stands for the pooled ones."""
    found = {key.side for key in listed}  # a group may have no tasks of a side
    sides = [side for side in source.sides.present if side in found]
    named = [side for side in sides if side not in (ALL_SIDES, *UNPOOLED_SIDES)]
    if len(named) == 1 and source.number_of_tasks(named[0]) == source.number_of_tasks(sides[0]):
        sides.remove(ALL_SIDES)
    return sides


def _default_kinds(source: Source, listed: Sequence[Key]) -> list[str]:
    """List the kinds that have keys; where nothing ties all are alike, and the default serves."""
    form = source.form
    found = {key.kind for key in listed if not key.macro}
    summary = source.summary
    if summary is not None and not summary.tied_tasks and form.default_kind in found:
        found = {form.default_kind}
    if len(found) > 1 and isinstance(source, Measured):
        found.add(EXPECTED_KIND)
    return [kind for kind in form.kinds if kind in found]


def _choose_columns(source: Source, listed: Sequence[Key], metrics: Names) -> dict[str, Key]:
    """Check the metrics of a table, or choose them; they have no word that names a row."""
    form = source.form
    every = list(dict.fromkeys(map(form.column_name, source.keys)))
    keys = {name: form.read_key(name) for name in choose_metrics(metrics, form.few, every)}
    stored = {form.column_of(key) for key in listed}
    for name, key in keys.items():
        if key != form.column_of(key):
            expected = f"{form.column_form} as a column of a table"
            raise InputValueError("metrics", expected=expected, got=repr(name))
        if key not in stored and not isinstance(source, Measured):
            refuse(name, source.keys)
    return keys


def _label_column(name: str, source: Source, labels: set[str]) -> Column:
    """Return a column of labels, which programs alone read where nothing is to be told apart."""
    is_alike = len(labels) < 2
    if name == "kind":
        is_alike = labels <= {source.form.default_kind}
    heading = ""
    if name == "group":
        heading = source.by or ""
    if is_alike or name == "average":
        return Column(name, heading, only="data")
    return Column(name, heading)


# -- rows ------------------------------------------------------------------------------------------


def _rows(
    source: Source, keys: Mapping[str, Key], pairs: Pairs, average: str, filter_name: str
) -> Iterator[Row]:
    """Yield a row for each side and kind, of all tasks or of macro averages, under a filter."""
    for side, kind in pairs:
        row: Row = {"average": average, "group": average}
        row |= {"filter": filter_name, "side": side, "kind": kind}
        for name, column in keys.items():
            key = source.form.key_of_row(column, side, kind)
            if average != MACRO:
                row[name] = source.value(key)
            elif key.adjustment == "z":  # which has no mean over groups
                row[name] = None
            else:
                row[name] = source.value(key._replace(macro=True))
        row[source.form.tasks] = source.number_of_tasks(side)
        yield row


def _group_rows(
    source: Source, keys: Mapping[str, Key], pairs: Pairs, filter_name: str
) -> Iterator[Row]:
    """Yield the rows of groups that have tasks, the largest group first."""
    for side, kind in pairs:
        columns = {
            name: source.column(source.form.key_of_row(key, side, kind))
            for name, key in keys.items()
        }
        tasks = source.group_tasks(side)
        places = [place for place, number in enumerate(tasks) if number]
        for place in sorted(places, key=lambda place: -tasks[place]):
            row: Row = {"average": "group", "filter": filter_name, "side": side, "kind": kind}
            row["group"] = label_text(source.group_names[place])
            row[source.form.tasks] = tasks[place]
            for name, column in columns.items():
                row[name] = None
                if column is not None:
                    row[name] = column[place]
            yield row


def _macro_lines(source: Source, keys: Mapping[str, Key], pairs: Pairs) -> Iterator[str]:
    """Say which values macro averages leave out."""
    for side, kind in pairs[:1]:
        for name, key in keys.items():
            column = source.column(source.form.key_of_row(key, side, kind)) or []
            left_out = sum(map(math.isnan, column))
            if left_out and key.adjustment != "z":
                of_key = f"{MACRO}.{compose_key(side, kind, name)}"
                yield f"{of_key} leaves out {format_count(left_out, 'group')} without a value."
