"""Reports as tables: the lines before them, those for people, and that for programs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..metrics import UnknownKeyError, parse
from ..metrics.keys import ALL_SIDES, MACRO, RELATION_SIDE, table_name
from ..metrics.kinds import DEFAULT_KIND
from ..tables import Column, Table
from ..tables.cells import cell, format_count, percent
from .axes import FEW_METRICS, Axes, check_axes, compose_key, unique_keys
from .below_chance import BELOW_CHANCE
from .validity import MISSES, TEST_CANDIDATES, TEST_ONLY

if TYPE_CHECKING:
    from .report_base import ReportBase
    from .summary import Summary

DIGITS = 6
GROUPS_SHOWN = 20  # rows of a printed table; CSV, JSON and pandas have all groups

Record = tuple[object, ...]
Names = Iterable[str] | None


def report_table(
    report: ReportBase, metrics: Names = None, sides: Names = None, kinds: Names = None
) -> Table:
    """Return the lines on tasks, protocol and ties, and the tables, for people."""
    axes, few = printed_axes(report, metrics, sides, kinds)
    found = metric_tables(report, axes, DIGITS)
    if few is not None and report.filters:
        found.append(filter_table(report, few, DIGITS))
    if few is not None and report.by is not None:
        found.append(group_table(report, few, DIGITS))
    return Table([], before=summary_lines(report), below=found)


def report_records(report: ReportBase, metrics: Names, sides: Names, kinds: Names) -> Table:
    """Return a row for each side and metric, and for each group, for `Report.to_csv`."""
    axes = choose_axes(report, metrics, sides, kinds)
    groups = [] if report.by is None else ["average", "group"]
    columns = [*groups, "side", "tasks", "metric", *axes.kinds]
    return Table(columns, report_rows(report, axes))


def choose_axes(report: ReportBase, metrics: Names, sides: Names, kinds: Names) -> Axes:
    """Check the sides, kinds and metrics of a table; None stands for the default ones."""
    default = report.default_axes()
    rows, columns = check_axes(
        default.metrics if metrics is None else metrics,
        default.kinds if kinds is None else kinds,
    )
    axes = Axes(unique_keys(default.sides if sides is None else sides, "sides"), columns, rows)
    for side in axes.sides:
        report.tasks(side)  # a KeyError for an unknown side
    for metric in axes.metrics:
        row = axes._replace(metrics=[metric])
        keys = [*row.names(), *row.macro_names()]
        if keys and not any(map(report.holds, keys)):
            report[metric]  # a KeyError, since it was not stored
    return axes


def printed_axes(
    report: ReportBase, metrics: Names = None, sides: Names = None, kinds: Names = None
) -> tuple[Axes, Axes | None]:
    """Return the axes of the printed tables, and those of the tables of filters and of groups.

    Unless kinds are given, a single one is left where no task ties, since all agree then, and one
    for ties is added where tasks tie. Unless sides are given, none is printed twice.
    """
    axes = choose_axes(report, metrics, sides, kinds)
    few = None
    if (report.by or report.filters) and axes.sides and axes.kinds:
        kind = DEFAULT_KIND if DEFAULT_KIND in axes.kinds else axes.kinds[0]
        some = [m for m in FEW_METRICS if m in axes.metrics] if metrics is None else axes.metrics
        few = Axes(axes.sides[:1], [kind], some)
    summary = report.held_summary()
    if kinds is None and summary is not None:
        if summary.tied_tasks:
            axes = axes._replace(kinds=[*axes.kinds, *report.tie_kinds()])
        elif DEFAULT_KIND in axes.kinds:
            axes = axes._replace(kinds=[DEFAULT_KIND])
    if sides is None:
        axes = axes._replace(sides=_distinct_sides(report, axes.sides))
    return axes, few


def _distinct_sides(report: ReportBase, sides: Sequence[str]) -> Sequence[str]:
    """Leave out "both" where all its tasks are of one side."""
    named = [side for side in sides if side not in (ALL_SIDES, RELATION_SIDE)]
    alone = len(named) == 1 and report.tasks(named[0]) == report.tasks(sides[0])
    return [side for side in sides if side != ALL_SIDES] if alone else sides


# -- tables ----------------------------------------------------------------------------------------


def metric_tables(report: ReportBase, axes: Axes, digits: int) -> list[Table]:
    """Return one table of metrics by side for a single kind, else one by kind for each side."""
    headings = {side: f"{side} ({format_count(report.tasks(side), 'task')})" for side in axes.sides}
    if len(axes.kinds) == 1 and headings:
        (kind,) = axes.kinds
        corner = "metric" if kind == DEFAULT_KIND else kind
        return [_metric_table(report, axes, [corner, *headings.values()], digits)]
    return [
        _metric_table(report, axes._replace(sides=[side]), [heading, *axes.kinds], digits)
        for side, heading in headings.items()
    ]


def _metric_table(report: ReportBase, axes: Axes, heading: Sequence[str], digits: int) -> Table:
    rows = [[table_name(metric), *values] for metric, values in metric_rows(report, axes)]
    return Table(heading, rows, digits=digits)


def filter_table(report: ReportBase, axes: Axes, digits: int) -> Table:
    """Return the values of one side and kind under each filter."""
    (side,), (kind,), metrics = axes
    keys = [compose_key(side, kind, metric) for metric in metrics]
    rows = [[name, *map(under.cell, keys)] for name, under in report.filters.items()]
    prefix = "" if side == report.sides[0] else f"{side}, "
    return Table([f"{prefix}by filter", *metric_columns(metrics)], rows, digits=digits)


def group_table(report: ReportBase, axes: Axes, digits: int) -> Table:
    """Return the averages and the largest groups of one side and kind, with numbers of tasks."""
    (side,), (kind,), metrics = axes
    tasks = report.group_tasks(side)
    keys = [compose_key(side, kind, metric) for metric in metrics]
    labels = sorted((label for label, n in tasks.items() if n), key=lambda label: -tasks[label])
    columns = [report.group_cells(key) for key in keys]
    total = report.tasks(side)
    macro = [
        macro_cell(report, key, values, digits) for key, values in zip(keys, columns, strict=True)
    ]
    micro: list[object] = ["micro", total, *map(report.cell, keys)]
    averages: list[list[object]] = [micro, [MACRO, total, *macro]]
    rows = averages + group_rows(labels, tasks, columns)
    prefix = "" if side == report.sides[0] else f"{side}, "
    heading = f"{prefix}by {report.by} ({format_count(len(labels), 'group')})"
    return Table([heading, "tasks", *metric_columns(metrics)], rows, averages=(0, 1), digits=digits)


def metric_columns(metrics: Iterable[str]) -> list[Column]:
    """Return a column for each metric, under its name in the literature."""
    return [Column(metric, table_name(metric)) for metric in metrics]


def group_rows(
    labels: Sequence[Hashable],
    tasks: Mapping[Hashable, int],
    columns: Sequence[Mapping[Hashable, float | None]],
    most: int = GROUPS_SHOWN,
) -> list[list[object]]:
    """Return rows of the first groups with numbers of tasks and values, and a row for the rest.

    Examples
    --------
    >>> group_rows(["a", "b", "c"], {"a": 3, "b": 2, "c": 1}, [{"a": 0.5, "b": 0.25}], most=2)
    [['a', 3, 0.5], ['b', 2, 0.25], ['1 more', 1, None]]
    """
    rows: list[list[object]] = [
        [label_text(label), tasks[label], *(column[label] for column in columns)]
        for label in labels[:most]
    ]
    if rest := labels[most:]:
        total = sum(tasks[label] for label in rest)
        rows.append([f"{len(rest):,} more", total, *[None] * len(columns)])
    return rows


def macro_cell(
    report: ReportBase, key: str, values: Mapping[Hashable, float | None], digits: int
) -> float | str | None:
    """Return the macro average of a key, with how many groups it leaves out; z has none."""
    if parse(key).adjustment == "z":
        return None
    left_out = sum(value is not None and math.isnan(value) for value in values.values())
    mean = report.cell(f"{MACRO}.{key}")
    if mean is None or not left_out:
        return mean
    return f"{cell(mean, digits)} ({left_out:,} left out)"


# -- records ---------------------------------------------------------------------------------------


def report_rows(report: ReportBase, axes: Axes) -> Iterator[Record]:
    """Yield side, tasks, metric and the values by kind; with groups, averages and groups, too.

    The rows of averages and groups begin with "micro", "macro" or "group", and the group's label
    (empty for an average). A group is left out for a side of which it has no tasks, and z is left
    out of the macro averages.
    """
    if report.by is None:
        yield from _average_rows(report, axes)
        return
    yield from (("micro", "", *record) for record in _average_rows(report, axes))
    means = axes._replace(metrics=[m for m in axes.metrics if parse(m).adjustment != "z"])
    yield from ((MACRO, "", *record) for record in _average_rows(report, means, f"{MACRO}."))
    for side in axes.sides:
        tasks = report.group_tasks(side)
        table = [
            (metric, [report.group_cells(compose_key(side, kind, metric)) for kind in axes.kinds])
            for metric in axes.metrics
        ]
        for label, n in tasks.items():
            if n:
                shown = label_text(label)
                for metric, columns in table:
                    yield ("group", shown, side, n, metric, *(c[label] for c in columns))


def _average_rows(report: ReportBase, axes: Axes, prefix: str = "") -> Iterator[Record]:
    for side in axes.sides:
        of_side = axes._replace(sides=[side])
        for metric, values in metric_rows(report, of_side, prefix):
            yield (side, report.tasks(side), metric, *values)


def metric_rows(
    report: ReportBase, axes: Axes, prefix: str = ""
) -> Iterator[tuple[str, list[float | None]]]:
    """Return the values of every metric by side and kind, column by column: each is ranked once."""
    columns = [
        [report.cell(prefix + compose_key(side, kind, metric)) for metric in axes.metrics]
        for side in axes.sides
        for kind in axes.kinds
    ]
    return ((metric, [c[i] for c in columns]) for i, metric in enumerate(axes.metrics))


# -- lines -----------------------------------------------------------------------------------------


def summary_lines(report: ReportBase) -> list[str]:
    """Return the lines before the tables: tasks, protocol, candidates of the test alone, ties."""
    summary = report.held_summary()
    ties = [] if summary is None else _tie_lines(summary)
    return [*_task_lines(report), *_finding_lines(report), *ties]


def _task_lines(report: ReportBase) -> list[str]:
    summary, protocol = report.held_summary(), report.protocol
    tasks = {side: report.tasks(side) for side in report.sides if side != ALL_SIDES}
    sides = " + ".join(f"{side} {n:,}" for side, n in tasks.items())
    total = sum(tasks.values()) or report.tasks(report.sides[0])
    words = [format_count(total, "task") + (f" ({sides})" if sides else "")]
    if summary is not None and summary.tasks:
        low, high = summary.candidates_min, summary.candidates_max
        words.append(
            format_count(low, "candidate") if low == high else f"{low:,} to {high:,} candidates"
        )
    words += [report.weighting] if report.weighting else []
    lines = [f"{', '.join(words)}; {protocol} (fingerprint {protocol.fingerprint})."]
    if report.by is not None:
        groups = format_count(len(report.group_tasks(report.sides[0])), "group")
        lines.append(f"By {report.by}: {groups}; in macro averages {report.macro_weighting}.")
    return lines


def _finding_lines(report: ReportBase) -> list[str]:
    """The audit's findings on which candidates there were, and on ranks worse than chance."""
    names = [BELOW_CHANCE] * _may_be_below_chance(report)
    names += [TEST_CANDIDATES] * (report.protocol.candidates == TEST_ONLY)
    names += [MISSES] * (report.protocol.lists is not None)
    if not names:
        return []
    found = (finding.message for finding in report.audit() if finding.name in names)
    return [f"{message[0].upper()}{message[1:]}." for message in found]


def _may_be_below_chance(report: ReportBase) -> bool:
    """Whether a side is worse than chance at all: the audit takes its time."""
    try:
        return any(report[compose_key(s, DEFAULT_KIND, "amri")] < 0 for s in report.sides)
    except UnknownKeyError:  # it was read from JSON, and its findings cost nothing
        return True


def _tie_lines(summary: Summary) -> list[str]:
    lines = []
    if summary.tied_tasks:
        spread = ", ".join(f"{name} {value:.3g}" for name, value in summary.spread.items())
        lines.append(
            f"{summary.tied_tasks:,} of {format_count(summary.tasks, 'task')} tie "
            f"({percent(summary.tied_share)}): {summary.largest_tie:,} candidates at most, "
            f"{summary.mean_tie:.3g} on average. Optimistic minus pessimistic: {spread}."
        )
    elif summary.tasks:
        lines.append("No task ties: all kinds of rank agree.")
    if summary.audit is not None:
        lines.append(
            f"Among the candidates {summary.audit['nan']:,} NaN, {summary.audit['inf']:,} "
            f"infinite; {summary.audit['at_best']:,} at the best score of a task at most."
        )
    return lines


def label_text(label: Hashable) -> str:
    """Write the label of a group; a query of a side is "side query".

    Examples
    --------
    >>> label_text(("tail", 7))
    'tail 7'
    """
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)
