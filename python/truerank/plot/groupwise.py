"""A plot of a metric by group: a bar for each relation, or for groups of any other kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inference.comparisons import count_notes
from ..inputs.checks import choice, confidence, positive_integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..metrics import UnknownKeyError, parse
from ..metrics.keys import MACRO, increasing
from ..reporting.rendering import label_text
from ..reporting.reports import Report
from ..tables.cells import format_count, number
from .drawing import COLOURS, axes_for, legend_above
from .rows import interval_bounds, whiskers, width_for, write_rows

if TYPE_CHECKING:
    from .drawing import Axes

_ROW_HEIGHT = 0.27  # inches
_AVERAGE_DASHES = {"micro": "--", MACRO: "-."}

# The sort key of a group, from its tasks, its value and whether more is better; largest first.
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
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric for each group of a report, with numbers of tasks and both averages.

    Parameters
    ----------
    report : Report
        A report with groups: ``report(ranks, by="relation")``.
    metric : str
        A key without "macro.", with side and kind if needed.
    most : int
        The greatest number of groups; the label of the axis says how many are left out.
    order : {"tasks", "value"}
        Whether the groups with the most tasks of the side come first, or those with the best value.
    interval : bool
        Draw the confidence interval of each value. A report that was read from JSON has no ranks,
        so no intervals.
    level : float
        The level of the intervals.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Its patches are the bars, the first at the top. A group without a value has no bar but the
        words "no value".

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        For an unknown metric.
    TypeError, ValueError
        For anything but a Report, for a Report without groups, a `most` below 1, an unknown order,
        and a level outside of (0, 1).

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
    labels = [label for label, n in tasks.items() if n]
    labels.sort(key=lambda label: ORDERS[order](tasks[label], values[label], upward), reverse=True)
    chosen = labels[:shown]
    names_of_rows = list(map(label_text, chosen))
    height, width = 1.5 + _ROW_HEIGHT * max(len(chosen), 2), width_for(names_of_rows)
    ax = axes_for("truerank.plot.groups", ax, height, width)
    rows = np.arange(len(chosen))
    widths = np.array([values[label] for label in chosen])
    ax.barh(rows, widths, height=0.68, color=COLOURS[5], zorder=1)
    for row in np.flatnonzero(np.isnan(widths)).tolist():
        ax.text(0, row, " no value", va="center", fontsize="small", color="#555555")
    handles, names = _draw_averages(ax, report, metric)
    notes: list[str] = []
    if interval:
        found = [interval_bounds(report.groups[label], metric, level=level) for label in chosen]
        notes = count_notes([bounds.notes for bounds in found], "group")
        if (line := whiskers(ax, found, ["#333333"] * len(chosen))) is not None:
            handles.append(line)
            names.append(f"{100 * level:g} % interval")
    write_rows(ax, names_of_rows, [f"{tasks[label]:,}" for label in chosen], "tasks")
    rest = labels[shown:]
    left_out = f"; {format_count(len(rest), 'more group')} not shown" if rest else ""
    ax.set_xlabel("\n".join([f"{parse(metric).title} by {report.by}{left_out}", *notes]))
    legend_above(ax, handles, names)
    return ax


def _draw_averages(ax: Axes, report: Report, metric: str) -> tuple[list[Any], list[str]]:
    """Draw lines for the means over tasks and over groups, if there are any."""
    handles, names = [], []
    meanings = {"micro": f"all tasks: {metric}", MACRO: f"mean over groups: {MACRO}.{metric}"}
    for (average, dash), key in zip(
        _AVERAGE_DASHES.items(), (metric, f"{MACRO}.{metric}"), strict=True
    ):
        try:
            value = report[key]
        except UnknownKeyError:  # z has no macro average, and JSON may lack this one
            continue
        if not math.isnan(value):
            handles.append(ax.axvline(value, color="black", linestyle=dash, linewidth=1))
            names.append(f"{meanings[average]} {number(value, 4)}")
    return handles, names


def _last_if_nan(value: float) -> float:
    return -math.inf if math.isnan(value) else value
