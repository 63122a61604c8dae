"""A plot with rows: a metric for each group of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inference.intervals import why_no_interval
from ..inputs.checks import choice, confidence, flag, positive_integer
from ..metrics.keys import MACRO, increasing
from ..naming import format_count, public
from ..reporting.report_table import COUNTED, label_text
from ..reporting.reports import Report
from .drawing import (
    COLOURS,
    axes_for,
    draw_legend,
    escape_formulas,
    shorten,
)

if TYPE_CHECKING:
    from .drawing import Axes

ORDERS = ("tasks", "value")

_ROW_HEIGHT = 0.27  # The unit is inches.


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
        A report with groups: ``report(ranks, by="relation")``; or one of retrieval.
    metric : str
        A key without "macro.", with side and kind if needed.
    most : int
        The greatest number of groups; the heading of the legend says how many there are.
    order : {"tasks", "value"}
        Whether the groups with the most tasks of the side come first, or those with the best value.
    interval : bool
        Draw the confidence interval of each value.
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
    positive_integer("most", most)
    choice("order", order, ORDERS)
    key = report.read_key(metric)
    confidence(level)
    found = report.group_values(metric)
    tasks = report.group_tasks(key.side)
    labels = [label for label, number in tasks.items() if number]
    labels.sort(key=tasks.__getitem__, reverse=True)
    if order == "value":  # The best come first, and those without a value last.
        sign = 1 if increasing(key) is False else -1
        labels.sort(key=lambda label: (math.isnan(found[label]), sign * found[label]))
    chosen = labels[:most]
    ax = axes_for("truerank.plot.groups", ax, 1.5 + _ROW_HEIGHT * max(len(chosen), 2))
    places = list(range(len(chosen)))
    widths = np.array([found[label] for label in chosen])
    ax.barh(places, widths, height=0.68, color=COLOURS[5], zorder=1)
    for place in np.flatnonzero(np.isnan(widths)).tolist():
        ax.text(0, place, " no value", va="center", fontsize="small")
    handles, names = _draw_averages(ax, report, metric)
    if flag("interval", interval):
        bounds = [_interval(report.groups[label], metric, level) for label in chosen]
        line = draw_bounds(ax, places, bounds, ["black"] * len(chosen))
        if line is not None:
            handles.append(line)
            names.append(f"{100 * level:g} % interval")
    width = len(f"{max(tasks.values(), default=0):,}")
    # These spaces are as wide as digits are.
    cells = [f"{tasks[label]:\u2007>{width},}" for label in chosen]
    rows: dict[float, str] = dict(enumerate(map(label_text, chosen)))
    write_rows(ax, rows, dict(enumerate(cells)), COUNTED[report.unit])
    ax.set_xlabel(key.title)
    groups = f"{format_count(len(labels), 'group')} by {escape_formulas(report.by)}"
    title = f"{len(chosen):,} of {groups}" if len(chosen) < len(labels) else groups
    draw_legend(ax, handles, names, title)
    return ax


def _draw_averages(ax: Axes, report: Any, metric: str) -> tuple[list[Any], list[str]]:
    """Draw a line for each average that the report has; return them with their names."""
    handles = []
    names = []
    decimals = report.read_key(metric).decimals
    for prefix, name, dash in (("", "micro", "--"), (f"{MACRO}.", MACRO, "-.")):
        try:
            value = report[prefix + metric]
        except UnknownKeyError:  # z has no macro average.
            continue
        if not math.isnan(value):
            handles.append(ax.axvline(value, color="black", linestyle=dash, linewidth=1))
            names.append(f"{name} {value:.{decimals}f}")
    return handles, names


# -- rows ------------------------------------------------------------------------------------------


def write_rows(
    ax: Axes, names: Mapping[float, str], cells: Mapping[float, str], heading: str = ""
) -> None:
    """Name rows by their places, from the top down, and write a cell on the right of each.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    names, cells : mapping of place to str
        Any text.
    heading : str
        The heading of the cells.
    """
    shown = [escape_formulas(shorten(name)) for name in names.values()]
    ax.set_yticks(list(names), shown, fontsize="small")
    ax.set_ylim(max(cells, default=0) + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    style = {"textcoords": "offset points", "fontsize": "small", "annotation_clip": False}
    for place, cell in cells.items():
        xycoords = ("axes fraction", "data")
        ax.annotate(cell, xy=(1.0, place), xycoords=xycoords, xytext=(8, 0), va="center", **style)
    if heading:
        ax.annotate(heading, xy=(1.0, 1.0), xycoords="axes fraction", xytext=(8, 3), **style)


def draw_bounds(
    ax: Axes,
    places: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    colours: Sequence[str],
) -> Any:
    """Draw a line for each row that has bounds; return the lines, or None if there are none."""
    known = [i for i, ends in enumerate(bounds) if not math.isnan(sum(ends))]
    if not known:
        return None
    low, high = np.array([bounds[i] for i in known]).T
    rows = [places[i] for i in known]
    chosen = [colours[i] for i in known]
    return ax.hlines(rows, low, high, colors=chosen, linewidth=1.8, zorder=3)


def _interval(report: Report, key: str, level: float) -> tuple[float, float]:
    """Return the bounds of `Report.interval`; nan where there is none."""
    if not len(report.ranks) or why_no_interval(report.read_key(key)):
        return math.nan, math.nan
    interval = report.interval(key, level=level)
    return interval.low, interval.high
