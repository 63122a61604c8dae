"""Draw step curves of several models over ranks, with bands for ties, chance, and a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..tables.cells import format_count
from .drawing import DASHES, colours_for, dashes_for, legend_above, shorten

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from .drawing import Axes

_MIN_BAND = 1e-9  # thinner bands are rounding and not drawn


class Steps(NamedTuple):
    """The curves of one model over the common cutoffs: arrays of float64, shape (m,).

    Attributes
    ----------
    line, low, high, chance : ndarray
        nan where there are no tasks.
    tasks : int
    details : tuple of str
        Tasks, candidates and weights; the legend has those that all models share.
    """

    line: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    tasks: int
    details: tuple[str, ...]


def draw_steps(
    ax: Axes, x: IntArray, kind: str, curves: Mapping[str, Steps], band: bool, chance: bool
) -> None:
    """Draw each model with its band, then chance, and the legend.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    x : ndarray of int64, shape (m,) or (m + 1,)
        Where the steps begin, and where the last one ends.
    kind : str
        The kind of rank, which is the label of a model without a name.
    curves : mapping of name to Steps
    band, chance : bool
        Whether they are drawn.
    """
    bands, handles, names = [], [], []
    colours = colours_for(len(curves))
    dashes = dashes_for(len(curves), DASHES[:3])  # the last style is for chance
    sizes = {curve.tasks for curve in curves.values()}
    for colour, dash, (name, curve) in zip(colours, dashes, curves.items(), strict=True):
        low, line, high = (_extend_last_step(x, y) for y in (curve.low, curve.line, curve.high))
        handles += ax.plot(x, line, color=colour, linestyle=dash, drawstyle="steps-post")
        tasks = f" ({format_count(curve.tasks, 'task')})" if len(sizes) > 1 else ""
        names.append((shorten(name) or f"{kind} rank") + tasks)
        if band and (high - low > _MIN_BAND).any():
            style = {"color": colour, "alpha": 0.2, "linewidth": 0}
            bands.append(ax.fill_between(x, low, high, step="post", **style))
    if bands:
        handles.append(bands[0])
        names.append("from optimistic to pessimistic")
    if chance:
        handle, label = _draw_chance(ax, x, curves, colours)
        handles.append(handle)
        names.append(label)
    ax.spines[["top", "right"]].set_visible(False)
    legend_above(ax, handles, names, title=_shared_details(curves))


def _draw_chance(
    ax: Axes, x: IntArray, curves: Mapping[str, Steps], colours: Sequence[str]
) -> tuple[Any, str]:
    """Draw chance, in one line if it is the same for all models; return handle and label."""
    lines = [curve.chance for curve in curves.values()]
    if all(np.allclose(line, lines[0], equal_nan=True) for line in lines):
        lines, colours, label = lines[:1], ["black"], "chance"
    else:
        label = "chance, in the colour of each"
    style = {"linestyle": ":", "linewidth": 1.4, "drawstyle": "steps-post"}
    handles = [
        ax.plot(x, _extend_last_step(x, line), color=colour, **style)[0]
        for line, colour in zip(lines, colours, strict=True)
    ]
    return handles[0], label


def rank_axis(ax: Axes, end: int, ticks: Sequence[int]) -> None:
    """Make the x axis logarithmic, from 1 to the end, with the given ticks written out."""
    ax.set_xscale("log")
    ax.set_xlim(1, end)
    ax.set_xticks(ticks, [f"{k:,}" for k in ticks])
    ax.xaxis.set_minor_formatter("")  # it would label other ticks


def _extend_last_step(x: IntArray, y: FloatArray) -> FloatArray:
    """Repeat the last value where x has the end of the last step."""
    return np.append(y, y[-1:]) if len(x) > len(y) else y


def _shared_details(curves: Mapping[str, Steps]) -> str:
    """The details that are the same for all models."""
    columns = zip(*(curve.details for curve in curves.values()), strict=True)
    return ", ".join(words[0] for words in columns if words[0] and len(set(words)) == 1)
