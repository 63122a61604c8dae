"""The picture of an overlap of several models: bars over a matrix of dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...inputs.checks import positive
from ...inputs.errors import InputTypeError
from ...plot.drawing import COLOURS, axes_for, plain
from .overlaps import Overlap

if TYPE_CHECKING:
    from ...plot.drawing import Axes

_ROOM = 1.18  # how high the part with the bars is, for the highest bar and its number
_ROW = 0.11  # how high a row of dots is, for the part with the bars


def plot_overlap(found: Overlap, *, most: int = 16, ax: Axes | None = None) -> Axes:
    """Draw which share of the tasks exactly these models get right: bars over a matrix of dots.

    An UpSet plot (Lex et al., "UpSet: visualization of intersecting sets", 2014).

    Parameters
    ----------
    found : Overlap
    most : int
        How many subsets, the largest first; the rest is told in the label below.
    ax : matplotlib.axes.Axes, optional
        Where to draw: dots have negative heights. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError, ValueError
        For anything else, and `most` below 1.

    Examples
    --------
    >>> from truerank.alignment.analyses.overlaps import overlap
    >>> found = overlap({"A": [True, True, False], "B": [True, False, False]})
    >>> plot_overlap(found).get_title("left")
    'share of tasks (%)'
    """
    if not isinstance(found, Overlap):
        raise InputTypeError("found", expected="an Overlap", got=type(found).__name__)
    positive("most", most)
    models = len(found.names)
    subsets = list(found.subsets.items())
    shown, left_out = subsets[:most], subsets[most:]
    told = found.found
    names = [f"{plain(name)} ({told[name]:.1%})" for name in found.names]
    width = max(6.4, 1.2 + 0.28 * len(shown) + 0.08 * max(map(len, names)))
    ax = axes_for("plot_overlap", ax, height=3.2 + 0.26 * models, width=width)
    places = np.arange(len(shown))
    shares = np.array([count for _, count in shown]) * 100 / found.tasks
    colours = [_colour(subset, models) for subset, _ in shown]
    ax.bar(places, shares, width=0.62, color=colours)
    for place, share in zip(places, shares, strict=True):
        ax.annotate(
            *(f"{share:.1f}", (place, share)),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize="small",
            rotation=90 if len(shown) > 8 else 0,
        )
    # The dots stand below zero, in the same axes: any layout then keeps them below their bars.
    top = _ROOM * shares.max()
    rows = -_ROW * top * (np.arange(models) + 0.75)
    for place, (subset, _), colour in zip(places, shown, colours, strict=True):
        inside = np.isin(np.arange(models), [found.names.index(name) for name in subset])
        ax.plot(np.full(models, place), rows, "o", color="#dddddd", markersize=6)
        ax.plot(np.full(inside.sum(), place), rows[inside], "o-", color=colour, markersize=6)
    ax.set_xlim(-0.6, len(shown) - 0.4)
    ax.set_ylim(-_ROW * top * (models + 0.25), top)
    ax.set_xticks([])
    numbers = ax.yaxis.get_major_locator().tick_values(0, shares.max())
    ax.set_yticks(numbers[(numbers >= 0) & (numbers <= top)])
    ax.set_yticks(rows, names, minor=True)
    ax.tick_params(axis="y", which="minor", length=0)
    # not beside the axis, where the models' names are
    ax.set_title("share of tasks (%)", loc="left", fontsize="medium")
    ax.spines["left"].set_bounds(0, top)
    ax.spines["bottom"].set_position(("data", 0))
    ax.spines[["top", "right"]].set_visible(False)
    what = f"exactly these models are right ({found.tasks:,} tasks)"
    if left_out:
        rest = sum(count for _, count in left_out) / found.tasks
        what += f"\n{len(left_out)} more subsets, {rest:.1%} of the tasks, are not shown"
    ax.set_xlabel(what)
    ax.xaxis.set_label_coords(0.5, -0.02)
    return ax


def _colour(subset: Sequence[str], models: int) -> str:
    """Grey for what no model finds, one colour for what all find, another for the rest."""
    if not subset:
        return COLOURS[6]
    return COLOURS[2] if len(subset) == models > 1 else COLOURS[0]
