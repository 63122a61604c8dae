"""A report as one table: rows of its sides and kinds, of other filters, of means and groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inference.intervals import interval
from ..inputs.checks import unique_keys
from ..inputs.errors import InputValueError, UnknownKeyError
from ..inputs.words import suggest
from ..metrics import Key
from ..metrics.keys import ALL_SIDES, MACRO, UNPOOLED_SIDES
from ..ranks.grouping import group_codes
from ..tables import Column, Table
from ..tables.cells import format_count
from .brackets import Brackets
from .columns import Names, choose_metrics, compose_key, label_text, metric_column
from .summaries import Measured, Source, refuse

if TYPE_CHECKING:
    from ..ranks.labels import LabelsLike
    from .brackets import IntervalRules

GROUPS_SHOWN = 20  # of a printed table; programs read all groups
AUTO = "auto"  # rows of kinds where they print otherwise than that of the default kind
ALL_KINDS = "all"  # rows of all kinds but the random one

Pairs = Sequence[tuple[str, str]]  # of a side and a kind of rank
Row = dict[str, Any]  # labels, the number of tasks, and values: None where one is not known


class Asked(NamedTuple):
    """What a table is to have: metrics, sides and kinds, or None; percentages, and intervals."""

    metrics: Names = None
    sides: Names = None
    kinds: Names = AUTO
    percent: bool = False
    intervals: IntervalRules | None = None


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
    given. People read rows of another kind than the default only where they print otherwise, unless
    kinds are given. Labels that are alike in all rows are for programs alone, and values that were
    not stored are empty cells.

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
    names = list(filters) or [""]
    brackets = None if asked.intervals is None else Brackets(asked.intervals)
    rows = list(_rows(source, keys, of_all, "micro", names[0], brackets))
    for name in names[1:]:
        rows += _rows(filters[name], keys, of_groups, "micro", name, brackets)
    notes = list(lines.notes)
    most = None
    groups = []  # there may be very many, so that they are columns
    if source.by is not None:
        rows += _rows(source, keys, of_groups, MACRO, names[0], brackets)
        most = len(rows) + GROUPS_SHOWN
        for side, kind in of_groups:
            groups.append(_group_columns(source, keys, side, kind, names[0], brackets))
        notes += _macro_lines(source, keys, of_groups)
    columns = _label_columns(source, rows, groups, has_filters=bool(filters))
    number_of_labels = len(columns)
    columns.append(Column(form.tasks))
    for name, key in keys.items():
        column = metric_column(name, key, percent=asked.percent)
        if brackets is None:
            columns.append(column)
        else:
            columns += brackets.columns(column)
    if brackets is not None:
        notes += brackets.lines()
    cells: list[Sequence[Any]] = [[row[column.name] for column in columns] for row in rows]
    for of_groups_alone in groups:
        cells += zip(*(of_groups_alone[column.name] for column in columns), strict=True)
    variants = _variants_of_default(rows, form.default_kind) if is_auto(asked.kinds) else {}
    return Table(
        columns,
        cells,
        names=number_of_labels,
        before=lines.before,
        notes=notes,
        most=most,
        variants=variants,
    )


def is_auto(kinds: Names) -> bool:
    """Whether rows of kinds are to appear where they differ in what is printed."""
    return kinds is None or (isinstance(kinds, str) and kinds == AUTO)


def _variants_of_default(rows: Sequence[Row], default_kind: str) -> dict[int, int]:
    """Return for each row of another kind the row of the default kind that it may repeat."""
    names = ("average", "group", "filter", "side")
    places = {}
    for i, row in enumerate(rows):
        if row["kind"] == default_kind:
            places[tuple(row[name] for name in names)] = i
    variants = {}
    for i, row in enumerate(rows):
        labels = tuple(row[name] for name in names)
        if row["kind"] != default_kind and labels in places:
            variants[i] = places[labels]
    return variants


def _choose_rows(source: Source, listed: Sequence[Key], asked: Asked) -> tuple[Pairs, Pairs]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    form = source.form
    sides = _default_sides(source, listed)
    if asked.sides is not None:
        sides = unique_keys(asked.sides, "sides")
    kinds = chosen_kinds(source, listed, asked.kinds)
    for side in sides:
        source.number_of_tasks(side)  # a KeyError for an unknown one
    few_sides = sides
    few_kinds = kinds
    if asked.sides is None:
        few_sides = sides[:1]
    if is_auto(asked.kinds) and form.default_kind in kinds:
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


def chosen_kinds(source: Source, listed: Sequence[Key], kinds: Names) -> list[str]:
    """List the kinds of rank that are named; by default all, or one where all are alike."""
    form = source.form
    is_word = isinstance(kinds, str) and kinds in (AUTO, ALL_KINDS)
    if kinds is not None and not is_word:
        named = unique_keys(kinds, "kinds")
        for kind in named:
            if kind not in form.kinds:
                problem = f"no such kind of rank; {suggest(kind, form.kinds)}"
                raise UnknownKeyError(repr(kind), problem)
        return named
    known = set(form.kinds)
    if not isinstance(source, Measured):
        known = {key.kind for key in listed if not key.macro}
    are_all = kinds == ALL_KINDS or source.kinds_differ or form.default_kind not in known
    if not are_all:
        return [form.default_kind]
    return [kind for kind in form.tie_kinds if kind in known]


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


def _label_columns(
    source: Source,
    rows: Sequence[Row],
    groups: Sequence[Mapping[str, list[Any]]],
    *,
    has_filters: bool,
) -> list[Column]:
    """Return the columns of labels; programs alone read those where nothing is to be told apart."""
    names = list(source.form.labels)
    if has_filters:
        names.insert(0, "filter")
    if source.by is not None:
        names[:0] = ["average", "group"]
    columns = []
    for name in names:
        labels = {row[name] for row in rows}
        labels = labels.union(*(of_groups[name] for of_groups in groups))
        is_alike = labels <= {source.form.default_kind} if name == "kind" else len(labels) < 2
        heading = source.by or "" if name == "group" else ""
        if is_alike or name == "average":
            columns.append(Column(name, heading, only="data"))
        else:
            columns.append(Column(name, heading))
    return columns


# -- rows ------------------------------------------------------------------------------------------


def _rows(
    source: Source,
    keys: Mapping[str, Key],
    pairs: Pairs,
    average: str,
    filter_name: str,
    brackets: Brackets | None,
) -> Iterator[Row]:
    """Yield a row for each side and kind, of all tasks or of macro averages, under a filter."""
    for side, kind in pairs:
        row: Row = {"average": average, "group": average}
        row |= {"filter": filter_name, "side": side, "kind": kind}
        for name, column in keys.items():
            key = source.form.key_of_row(column, side, kind)._replace(macro=average == MACRO)
            row[name] = None
            if not key.macro or key.adjustment != "z":  # which has no mean over groups
                row[name] = source.value(key)
            if brackets is not None:
                _put_interval(brackets, row, name, source, key, brackets.rules.by)
        row[source.form.tasks] = source.number_of_tasks(side)
        yield row


def _put_interval(
    brackets: Brackets, row: Row, name: str, source: Source, key: Key, by: LabelsLike | None
) -> None:
    """Put the bounds of a value into its row, where it has any."""
    row[f"{name} low"] = None
    row[f"{name} high"] = None
    model: Any = source
    if row[name] is not None and not math.isnan(row[name]):
        level = brackets.rules.level
        found = interval(model, key, by=by, level=level, draw_seed=source.seed)
        group = row["group"] if row["average"] == "group" else ""
        brackets.put(row, name, found, group)


def _group_columns(
    source: Source,
    keys: Mapping[str, Key],
    side: str,
    kind: str,
    filter_name: str,
    brackets: Brackets | None,
) -> dict[str, list[Any]]:
    """Return the cells of groups that have tasks, by column, the largest group first."""
    tasks = source.group_tasks(side)
    places = [place for place, number in enumerate(tasks) if number]
    places.sort(key=lambda place: -tasks[place])
    number = len(places)
    cells: dict[str, list[Any]] = {
        "average": ["group"] * number,
        "group": [label_text(source.group_names[place]) for place in places],
        "filter": [filter_name] * number,
        "side": [side] * number,
        "kind": [kind] * number,
        source.form.tasks: [tasks[place] for place in places],
    }
    for name, key in keys.items():
        column = source.column(source.form.key_of_row(key, side, kind))
        if column is None:
            cells[name] = [None] * number
        else:
            cells[name] = [column[place] for place in places]
    if brackets is None:
        return cells
    for name in keys:
        cells[f"{name} low"] = []
        cells[f"{name} high"] = []
    for i, place in enumerate(places):
        row = {name: column[i] for name, column in cells.items() if i < len(column)}
        is_asked = brackets.rules.all_groups or i < GROUPS_SHOWN
        _put_intervals_of_group(brackets, row, source, keys, place, is_asked=is_asked)
        for name in keys:
            cells[f"{name} low"].append(row[f"{name} low"])
            cells[f"{name} high"].append(row[f"{name} high"])
    return cells


def _put_intervals_of_group(
    brackets: Brackets,
    row: Row,
    source: Source,
    keys: Mapping[str, Key],
    place: int,
    *,
    is_asked: bool,
) -> None:
    """Put the bounds of the values of a group into its row, or none if they are not asked for."""
    if not is_asked:
        for name in keys:
            row |= {f"{name} low": None, f"{name} high": None}
        return
    group = source.of_group(place)
    by = brackets.rules.by
    if by is not None and not isinstance(by, str) and isinstance(source, Measured):
        tasks, groups, _ = source.labels()
        by = group_codes(tasks, by)[0][groups == place]  # labels are those of all tasks
    for name, key in keys.items():
        key_of_cell = source.form.key_of_row(key, row["side"], row["kind"])
        _put_interval(brackets, row, name, group, key_of_cell, by)


def _macro_lines(source: Source, keys: Mapping[str, Key], pairs: Pairs) -> Iterator[str]:
    """Say which values macro averages leave out."""
    for side, kind in pairs[:1]:
        for name, key in keys.items():
            column = source.column(source.form.key_of_row(key, side, kind)) or []
            left_out = sum(map(math.isnan, column))
            if left_out and key.adjustment != "z":
                of_key = f"{MACRO}.{compose_key(side, kind, name)}"
                yield f"{of_key} leaves out {format_count(left_out, 'group')} without a value."
