"""How a metric differs from group to group: a bar for each relation, or whatever groups are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison.table_writer import format_count, number
from ..inputs.checks import choice, confidence, positive_integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..metrics import UnknownKeyError, parse
from ..metrics.keys import MACRO
from ..reporting.rendering import label_text
from ..reporting.reports import Report
from ..reporting.tables import increasing
from .drawing import COLOURS, axes_for, legend_above
from .rows import IntervalOptions, interval_bounds, whiskers, width_for, write_rows

if TYPE_CHECKING:
    from .drawing import Axes

_ROW_HEIGHT = 0.27  # inches
_AVERAGE_DASHES = {"micro": "--", MACRO: "-."}

# What the first group has most of, by tasks, value and whether more is better.
ORDERS: dict[str, Callable[[int, float, bool], float]] = {
    "tasks": lambda tasks, value, upward: tasks,
    "value": lambda tasks, value, upward: _last_if_nan(value if upward else -value),
}


@public("truerank.plot")
def groups(
    report: Report,
    metric: str = "mrr",
    *,
    most: int = 20,
    order: str = "tasks",
    interval: bool = True,
    level: float = 0.95,
    method: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric for each group of a report, with numbers of tasks and both averages.

    Parameters
    ----------
    report : Report
        With groups: ``report(ranks, by="relation")``.
    metric : str
        A key without "macro.", with side and kind if need be.
    most : int
        How many groups, in order; how many are left out is told below.
    order : {"tasks", "value"}
        Those with the most tasks of the side come first, or those with the best value.
    interval : bool
        Draw how sure each value is. A report that was read from JSON has no ranks, hence no
        intervals.
    level : float
        Of the intervals.
    method : {"bootstrap", "bca", "percentile", "normal"}, optional
        As in `Report.interval`. Default: "bootstrap" for up to 10,000 tasks, "normal" for more,
        where they agree and resampling takes long.
    resamples, seed : int
        Of the bootstrap.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Its patches are the bars, the first at the top. A group without a value has none, and is
        marked as "no value".

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        For an unknown metric.
    TypeError, ValueError
        For anything but a Report, one without groups, no positive `most`, an unknown order or
        method, and a level outside of (0, 1).

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> measured = report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["likes", "knows", "likes"])
    >>> ax = groups(measured, "mr")
    >>> [float(bar.get_width()) for bar in ax.patches]
    [1.5, 4.0]
    """
    if not isinstance(report, Report):
        raise InputTypeError("report", expected="a Report", got=type(report).__name__)
    if report.by is None:
        raise InputValueError("report", expected="one with groups, as report(ranks, by='relation')")
    shown = positive_integer("most", most)
    choice("order", order, tuple(ORDERS))
    confidence(level)
    side = parse(metric).side
    values, tasks = report.group_values(metric), report.group_tasks(side)
    upward = increasing(metric) is not False
    held = [label for label, n in tasks.items() if n]
    held.sort(key=lambda label: ORDERS[order](tasks[label], values[label], upward), reverse=True)
    drawn = held[:shown]
    names_of_rows = list(map(label_text, drawn))
    height, width = 1.5 + _ROW_HEIGHT * max(len(drawn), 2), width_for(names_of_rows)
    ax = axes_for("truerank.plot.groups", ax, height, width, extra="plot")
    rows = np.arange(len(drawn))
    widths = np.array([values[label] for label in drawn])
    ax.barh(rows, widths, height=0.68, color=COLOURS[5], zorder=1)
    for row in np.flatnonzero(np.isnan(widths)).tolist():
        ax.text(0, row, " no value", va="center", fontsize="small", color="#555555")
    handles, names = _draw_averages(ax, report, metric)
    if interval:
        sought = IntervalOptions(level, method, resamples, seed)
        found = [interval_bounds(report.groups[label], metric, sought) for label in drawn]
        if (line := whiskers(ax, found, ["#333333"] * len(drawn))) is not None:
            handles.append(line)
            names.append(f"{100 * level:g} % interval")
    write_rows(ax, names_of_rows, [f"{tasks[label]:,}" for label in drawn], "tasks")
    rest = held[shown:]
    left_out = f"; {format_count(len(rest), 'more group')} not shown" if rest else ""
    ax.set_xlabel(f"{metric} by {report.by}{left_out}")
    legend_above(ax, handles, names)
    return ax


def _draw_averages(ax: Axes, report: Report, metric: str) -> tuple[list[Any], list[str]]:
    """Lines for the means over tasks and over groups, as far as there are any."""
    handles, names = [], []
    told = {"micro": f"all tasks: {metric}", MACRO: f"mean over groups: {MACRO}.{metric}"}
    for (average, dash), key in zip(
        _AVERAGE_DASHES.items(), (metric, f"{MACRO}.{metric}"), strict=True
    ):
        try:
            value = report[key]
        except UnknownKeyError:  # z has no macro average, and JSON may not have this one
            continue
        if not math.isnan(value):
            handles.append(ax.axvline(value, color="black", linestyle=dash, linewidth=1))
            names.append(f"{told[average]} {number(value, 4)}")
    return handles, names


def _last_if_nan(value: float) -> float:
    return -math.inf if math.isnan(value) else value
