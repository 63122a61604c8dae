"""A plot of many models over many data sets: mean ranks, and which Nemenyi's test tells apart."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from ..inference import Friedman
from ..inputs.checks import confidence
from ..inputs.errors import InputTypeError
from ..inputs.naming import public
from ..metrics import parse
from ..tables.cells import format_count, number, percent
from .drawing import COLOURS, axes_for, escape_formulas, shorten

if TYPE_CHECKING:
    from .drawing import Axes

_ROW, _BAR = 1.0, 0.35  # the heights of a name and of a bar, in rows
_ROW_HEIGHT = 0.26  # inches
_NOTE_WIDTH = 72  # letters per line of notes
_LINE = {"color": "black", "linewidth": 1.0, "clip_on": False, "solid_capstyle": "butt"}


@public("truerank.plot")
def critical_difference(found: Friedman, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draw the mean ranks of models, and bars over those that Nemenyi's test does not tell apart.

    It is the critical-difference diagram of Demšar (2006): the best mean rank is on the right, and
    models under one bar are not told apart.

    Parameters
    ----------
    found : Friedman
        As made by `truerank.inference.friedman`.
    level : float
        1 minus the risk of telling any models apart where none differ.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The critical difference is drawn above the axis, unless no difference of so few data sets is
        that large; Friedman's p-value and the notes are below it.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        For anything but the result of `friedman`.
    ValueError
        For a level that is not between 0 and 1.

    Examples
    --------
    >>> from truerank.inference import friedman
    >>> found = friedman({f"set {i}": {"A": 3, "B": 2, "C": 1} for i in range(6)})
    >>> ax = critical_difference(found)
    >>> print(ax.get_xlabel().splitlines()[0])
    mean rank over 6 data sets, 1 is best
    """
    if not isinstance(found, Friedman):
        raise InputTypeError(
            "found", expected="the result of truerank.inference.friedman", got=type(found).__name__
        )
    level = confidence(level)
    names, bars = found.ordered(), found.not_told_apart(level)
    k, limit = len(names), found.critical_difference(level)
    first = _BAR * (len(bars) + 1) + _ROW / 2  # the row of the first name
    bottom = first + _ROW * (math.ceil(k / 2) - 1) + _ROW / 2
    height = 1.5 + _ROW_HEIGHT * (bottom + 2 * _ROW)
    ax = axes_for("truerank.plot.critical_difference", ax, height, 7.2)
    _draw_axis(ax, k, bottom)
    _draw_limit(ax, k, limit, level)
    for place, bar in enumerate(bars):
        ends = [found.mean_ranks[bar[0]] - 0.03, found.mean_ranks[bar[-1]] + 0.03]
        height_of = [_BAR * (place + 1)] * 2
        ax.plot(ends, height_of, **{**_LINE, "color": COLOURS[0], "linewidth": 4.0})
    for place, name in enumerate(names):
        best = place < (k + 1) // 2  # the better half is named on the right
        row = first + _ROW * (place if best else k - 1 - place)
        _draw_name(ax, name, found.mean_ranks[name], row, 1.0 if best else float(k), best)
    ax.set_xlabel("\n".join(_lines(found)))
    return ax


def _draw_axis(ax: Axes, k: int, bottom: float) -> None:
    """Draw the axis of mean ranks at height 0, the best on the right."""
    ax.set_xlim(k, 1)
    ax.set_ylim(bottom, -2 * _ROW)
    ax.set_yticks([])
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set_position(("data", 0.0))
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("bottom")
    step = math.ceil(k / 20)
    ax.set_xticks(range(1, k + 1, step), [str(rank) for rank in range(1, k + 1, step)])


def _draw_limit(ax: Axes, k: int, limit: float, level: float) -> None:
    """Draw the critical difference above the axis, from its left end."""
    risk = percent(1 - level)
    if not math.isfinite(limit) or limit > k - 1:
        said = f"no difference of mean ranks is critical at {risk}"
        ax.text(k, -1.5 * _ROW, said, fontsize="small", va="center", clip_on=False)
        return
    height = -1.5 * _ROW
    ax.plot([k, k - limit], [height, height], **_LINE)
    for end in (k, k - limit):
        ax.plot([end, end], [height - 0.15, height + 0.15], **_LINE)
    said = f"critical difference {number(limit, 3)} at {risk}"
    place = {"xy": (k - limit, height), "xytext": (5, 0), "textcoords": "offset points"}
    ax.annotate(said, va="center", fontsize="small", annotation_clip=False, **place)


def _draw_name(ax: Axes, name: str, rank: float, row: float, end: float, right: bool) -> None:
    """Draw a line from a mean rank to the model's name at the side."""
    ax.plot([rank, rank, end], [0.0, row, row], **_LINE)
    shown = escape_formulas(shorten(name, 30))
    mean = number(rank, 3)
    text, offset, side = (
        (f"{mean}  {shown}", 5, "left") if right else (f"{shown}  {mean}", -5, "right")
    )
    place = {"xy": (end, row), "xytext": (offset, 0), "textcoords": "offset points"}
    style = {"fontsize": "small", "annotation_clip": False}
    ax.annotate(text, ha=side, va="center", **place, **style)


def _lines(found: Friedman) -> list[str]:
    """What is drawn, Friedman's p-value, and the notes."""
    of = f"mean rank of {parse(found.metric).title}" if found.metric else "mean rank"
    sets = format_count(len(found.data_sets), "data set")
    how = "F" if math.isnan(found.p_exact) else "exact"
    lines = [f"{of} over {sets}, 1 is best", f"Friedman: p {number(found.p_value, 3)} ({how})"]
    wrapped = (textwrap.fill(note, _NOTE_WIDTH) for note in found.notes)
    return [escape_formulas(line) for line in (*lines, *wrapped)]
