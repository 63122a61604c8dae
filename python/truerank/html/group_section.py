"""The groups on the page of a report: the largest, the best and the worst, and all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..reporting.axes import Axes, compose_key
from ..reporting.rendering import (
    GROUPS_SHOWN,
    group_rows,
    group_table,
    metric_columns,
    printed_axes,
)
from ..tables import Table
from . import pictures
from .documents import details, paragraph, side_by_side, table, tables

if TYPE_CHECKING:
    from ..reporting.reports import Report

DIGITS = 4
EXTREMES = 10  # the number of groups with the lowest values, and of those with the highest
MOST_GROUPS = 1000  # a page has all groups if there are no more
METRIC = "mrr"  # the metric that orders the groups


def groups_section(report: Report, with_plot: bool) -> str:
    """The tables of groups, with a plot if `with_plot`; empty without groups."""
    _, axes = printed_axes(report)
    if axes is None or report.by is None:
        return ""
    (side,), (kind,), metrics = axes
    beside = table(group_table(report, axes, DIGITS))
    if with_plot and METRIC in metrics:
        from ..plot import groups

        key = compose_key(side, kind, METRIC)
        caption = f"{key} of the groups with the most tasks, and how sure it is"
        draw = partial(groups, report, key)
        beside = pictures.picture(draw, "groups", caption) + beside
    parts = [side_by_side(beside)]
    tasks = report.group_tasks(side)
    labels = sorted((label for label, n in tasks.items() if n), key=lambda label: -tasks[label])
    if len(labels) > GROUPS_SHOWN:
        parts += _other_groups(report, axes, labels)
    return "\n".join(parts)


def _other_groups(report: Report, axes: Axes, labels: Sequence[Hashable]) -> list[str]:
    """The groups that the table of the largest leaves out, as far as there is room for them."""
    (side,), (kind,), metrics = axes
    ordered = METRIC if METRIC in metrics else metrics[0]
    values = report.group_cells(compose_key(side, kind, ordered))
    known = {
        label: value
        for label in labels
        if (value := values[label]) is not None and not math.isnan(value)
    }
    rising = sorted(known, key=known.__getitem__)
    make = _group_tables(report, axes)
    extremes = [
        make(f"lowest {ordered}", rising[:EXTREMES]),
        make(f"highest {ordered}", rising[: -EXTREMES - 1 : -1]),
    ]
    if len(labels) > MOST_GROUPS:
        text = f"There are {len(labels):,} groups, too many for this page: a report as CSV has all."
        return [tables(extremes), paragraph(text)]
    return [
        tables(extremes),
        details(f"All {len(labels):,} groups", table(make("by number of tasks", labels))),
    ]


def _group_tables(report: Report, axes: Axes) -> Callable[[str, Sequence[Hashable]], Table]:
    """Return a function that makes a table of some groups with a heading."""
    (side,), (kind,), metrics = axes
    tasks = report.group_tasks(side)
    columns = [report.group_cells(compose_key(side, kind, metric)) for metric in metrics]

    def make(heading: str, labels: Sequence[Hashable]) -> Table:
        rows = group_rows(labels, tasks, columns, most=len(labels))
        return Table([heading, "tasks", *metric_columns(metrics)], rows, digits=DIGITS)

    return make
