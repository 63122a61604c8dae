"""Rows of a plot: a name on the left, a number on the right, an interval between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .drawing import escape_formulas, shorten

if TYPE_CHECKING:
    from ..ranks.labels import LabelsLike
    from ..reporting.reports import Report
    from .drawing import Axes


def write_rows(ax: Axes, names: Sequence[str], cells: Sequence[str], heading: str) -> None:
    """Name the rows 0, 1, ... from the top down, and write a cell beside each.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    names, cells : sequence of str
        Any text, one for each row.
    heading : str
        The heading of the cells.
    """
    ax.set_yticks(
        range(len(names)), [escape_formulas(shorten(name)) for name in names], fontsize="small"
    )
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    style = {"textcoords": "offset points", "fontsize": "small", "annotation_clip": False}
    for row, cell in enumerate(cells):
        place = {"xy": (1.0, row), "xycoords": ("axes fraction", "data"), "xytext": (5, 0)}
        ax.annotate(cell, va="center", **place, **style)
    ax.annotate(heading, xy=(1.0, 1.0), xycoords="axes fraction", xytext=(5, 3), **style)


def width_for(names: Sequence[str]) -> float:
    """Return the width of a figure, in inches, that leaves room for long names.

    Examples
    --------
    >>> width_for(["A", "B"])
    6.4
    """
    return max([6.4, *(5.4 + 0.06 * len(shorten(name)) for name in names)])


class Bounds(NamedTuple):
    """The bounds of an interval, with its notes.

    Attributes
    ----------
    low, high : float
    notes : tuple of str
    """

    low: float = math.nan
    high: float = math.nan
    notes: tuple[str, ...] = ()


def interval_bounds(
    report: Report, key: str, *, level: float, by: LabelsLike | None = "unit"
) -> Bounds:
    """Return the bounds of `Report.interval`, and its notes; nan where a report has no ranks.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> measured = report(Ranks([0, 3, 0, 1], [1, 1, 1, 1], 10))
    >>> found = interval_bounds(measured, "hits@1", level=0.95)
    >>> found.low <= measured["hits@1"] <= found.high
    True
    """
    if not len(getattr(report, "ranks", ())):
        return Bounds()
    found = report.interval(key, level=level, by=by)
    return Bounds(found.low, found.high, found.notes)


def whiskers(ax: Axes, found: Sequence[Bounds], colours: Sequence[str]) -> Any:
    """Draw a line for each row that has bounds; return the lines, or None if there are none."""
    low, high = np.array([(one.low, one.high) for one in found]).reshape(-1, 2).T
    (rows,) = np.nonzero(~np.isnan(low + high))
    if not len(rows):
        return None
    chosen = [colours[row] for row in rows.tolist()]
    return ax.hlines(rows, low[rows], high[rows], colors=chosen, linewidth=1.8, zorder=3)
