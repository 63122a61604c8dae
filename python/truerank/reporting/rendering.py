"""A report as a table: a row for each side, kind of rank, filter and group; a column per metric."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..metrics import parse
from ..metrics.keys import ALL_SIDES, MACRO, NO_ADJUSTMENT, RELATION_SIDE, table_name
from ..metrics.kinds import DEFAULT_KIND
from ..tables import Column, Table
from ..tables.cells import format_count
from .audit import DOUBTS
from .axes import FEW_METRICS, Axes, check_axes, choose_metrics, compose_key, unique_keys

if TYPE_CHECKING:
    from ..metrics.keys import Key
    from .reports import Report

GROUPS_SHOWN = 20  # of a printed table; programs read all groups
SHARES = ("hits", "success", "recall", "precision")  # what papers print as percentages, too

Names = str | Iterable[str] | None


class Row(NamedTuple):
    """What a row is of, and its numbers; a label is empty where the row is of all."""

    average: str
    group: str
    filter: str
    side: str
    kind: str
    tasks: int
    values: Sequence[float | None]


def report_table(
    report: Report,
    metrics: Names = None,
    *,
    sides: Names = None,
    kinds: Names = None,
    percent: bool = False,
    **options: Any,
) -> Table:
    """Return a report as one table.

    The rows are the sides, for each kind of rank where tasks tie; then the other filters, the macro
    average and the groups, the largest first, of the first side and the default kind unless others
    are asked for. Labels that are alike in all rows are for programs alone.
    """
    axes = _choose_axes(report, metrics, sides, kinds)
    few = axes if sides is not None else axes._replace(sides=axes.sides[:1])
    if kinds is None and DEFAULT_KIND in axes.kinds:
        few = few._replace(kinds=[DEFAULT_KIND])
    rows = [*_rows(report, axes), *_filter_rows(report, few)]
    most = None
    if report.by is not None:
        rows += _rows(report, few, MACRO)
        most = len(rows) + GROUPS_SHOWN
        rows += _group_rows(report, few)
    kept = [*(["average", "group"] * bool(report.by)), *(["filter"] * bool(report.filters))]
    kept += ["side", "kind"]
    columns = [_label_column(name, {getattr(row, name) for row in rows}) for name in kept]
    columns = [c._replace(heading=str(report.by)) if c.name == "group" else c for c in columns]
    columns += [Column("tasks"), *(metric_column(m, percent=percent) for m in axes.metrics)]
    cells = [[*(getattr(row, name) for name in kept), row.tasks, *row.values] for row in rows]
    notes = [*_finding_lines(report), *_macro_lines(report, few)]
    first = [_first_line(report)]
    return Table(columns, cells, names=len(kept), before=first, notes=notes, most=most).table(
        **options
    )


def metric_column(name: str, key: Key | None = None, *, percent: bool = False, **of: Any) -> Column:
    """Return the column of a key: three decimals of a share, one of a mean rank, two of a z.

    Examples
    --------
    >>> metric_column("mr").decimals, metric_column("mrr").decimals, metric_column("zmrr").decimals
    (1, 3, 2)
    >>> metric_column("hits@10", percent=True).unit
    '%'
    """
    parsed = parse(name) if key is None else key
    is_share = parsed.adjustment == NO_ADJUSTMENT and parsed.metric in SHARES
    decimals, unit = (1, "%") if percent and is_share else (parsed.decimals, "")
    return Column(name, table_name(parsed), decimals, unit, **of)


def _label_column(name: str, labels: set[str]) -> Column:
    alike = len(labels) < 2 and (name != "kind" or labels <= {DEFAULT_KIND})
    return Column(name, only="data" if alike or name == "average" else None)


def _choose_axes(report: Report, metrics: Names, sides: Names, kinds: Names) -> Axes:
    default = report.default_axes()
    if kinds is None:
        summary = report.held_summary()
        kinds = [*default.kinds, *report.tie_kinds()]
        if summary is not None and not summary.tied_tasks and DEFAULT_KIND in kinds:
            kinds = [DEFAULT_KIND]
    chosen = choose_metrics(metrics, FEW_METRICS, default.metrics)
    columns, rows = check_axes(chosen, kinds)
    if sides is None:
        sides = _distinct_sides(report, default.sides)
    axes = Axes(unique_keys(sides, "sides"), rows, columns)
    for side in axes.sides:
        report.tasks(side)  # a KeyError for an unknown side
    for metric in axes.metrics if metrics is not None else ():
        row = Axes(axes.sides, [*axes.kinds, *default.kinds], [metric])
        keys = [*row.names(), *row.macro_names()]
        if keys and not any(map(report.holds, keys)):
            report[metric]  # a KeyError, since it was not stored
    return axes


def _distinct_sides(report: Report, sides: Sequence[str]) -> Sequence[str]:
    """Leave out the pooled side if a single side has all of its tasks."""
    named = [side for side in sides if side not in (ALL_SIDES, RELATION_SIDE)]
    alone = len(named) == 1 and report.tasks(named[0]) == report.tasks(sides[0])
    return [side for side in sides if side != ALL_SIDES] if alone else sides


# -- rows ------------------------------------------------------------------------------------------


def _rows(report: Report, axes: Axes, average: str = "micro", by: str = "") -> Iterator[Row]:
    """Yield a row for each side and kind, of all tasks or of macro averages."""
    prefix = f"{MACRO}." if average == MACRO else ""
    own = next(iter(report.filters), "")
    for side in axes.sides:
        for kind in axes.kinds:
            keys = [prefix + compose_key(side, kind, metric) for metric in axes.metrics]
            values = [_value(report, key) for key in keys]
            yield Row(average, average, by or own, side, kind, report.tasks(side), values)


def _value(report: Report, key: str) -> float | None:
    """Return a value, if there is one: z has no macro average, and JSON may not hold all."""
    if key.startswith(f"{MACRO}.") and parse(key.removeprefix(f"{MACRO}.")).adjustment == "z":
        return None
    return report.cell(key)


def _filter_rows(report: Report, axes: Axes) -> Iterator[Row]:
    for name, under in list(report.filters.items())[1:]:
        yield from _rows(under, axes, by=name)


def _group_rows(report: Report, axes: Axes) -> Iterator[Row]:
    """Yield the rows of groups that have tasks, the largest group first."""
    own = next(iter(report.filters), "")
    for side in axes.sides:
        tasks = report.group_tasks(side)
        labels = sorted((label for label, n in tasks.items() if n), key=lambda label: -tasks[label])
        for kind in axes.kinds:
            columns = [report.group_cells(compose_key(side, kind, m)) for m in axes.metrics]
            for label in labels:
                values = [column[label] for column in columns]
                yield Row("group", label_text(label), own, side, kind, tasks[label], values)


def label_text(label: Hashable) -> str:
    """Write the label of a group, the parts of a tuple with blanks between them.

    Examples
    --------
    >>> label_text((3, "1-N")), label_text(7)
    ('3 1-N', '7')
    """
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)


# -- lines -----------------------------------------------------------------------------------------


def _first_line(report: Report) -> str:
    """Say how many tasks there are, among how many candidates, and what is filtered."""
    summary, protocol = report.held_summary(), report.protocol
    tasks = {side: report.tasks(side) for side in report.sides if side != ALL_SIDES}
    sides = ", ".join(f"{side} {n:,}" for side, n in tasks.items())
    total = sum(tasks.values()) or report.tasks(report.sides[0])
    words = [format_count(total, f"{protocol.split or ''} task".strip())]
    words[0] += f" ({sides})" if sides else ""
    if summary is not None and summary.tasks:
        low, high = summary.candidates_min, summary.candidates_max
        number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        kind = "sampled " * protocol.sampled + "candidate"
        words.append(f"{number} {kind}{'s' * (high > 1)}")
    words.append(f"filtered by {' + '.join(protocol.filter)}" if protocol.filter else "unfiltered")
    if summary is not None and summary.tasks and not summary.tied_tasks:
        words.append("no ties")
    words += [report.weighting] if report.weighting else []
    return f"{', '.join(words)}."


def _finding_lines(report: Report) -> list[str]:
    """Say what would make the numbers mislead a reader of the table alone."""
    messages = [finding.message for finding in report.audit(*DOUBTS)]
    return [f"{message[0].upper()}{message[1:]}." for message in messages]


def _macro_lines(report: Report, axes: Axes) -> Iterator[str]:
    """Say how groups are weighted, and which values macro averages leave out."""
    if report.by is None:
        return
    if report.macro_weighting != "each group counts once":
        yield f"In macro averages {report.macro_weighting}."
    for key in axes._replace(sides=axes.sides[:1], kinds=axes.kinds[:1]).macro_names():
        cells = report.group_cells(key.removeprefix(f"{MACRO}.")).values()
        left_out = sum(value is not None and math.isnan(value) for value in cells)
        if left_out:
            yield f"{key} leaves out {format_count(left_out, 'group')} without a value."
