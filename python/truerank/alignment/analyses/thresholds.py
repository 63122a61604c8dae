"""The picture of dangling entities: how well thresholds tell them, of one curve or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.errors import InputTypeError, InputValueError
from ...plot.drawing import COLOURS, axes_for, colours_for, dashes_for, plain
from .drawing import spelt

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from ...plot.drawing import Axes

_WANTED = ("thresholds", "precision", "recall", "f1")


class _Curve(NamedTuple):
    """Arrays of one length, without what cannot be drawn, and what the curve is of."""

    thresholds: FloatArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    by: str | None
    direction: str


def plot_dangling(curve: Any, *, ax: Axes | None = None) -> Axes:
    """Draw precision, recall and F1 of "has no counterpart" by threshold.

    Parameters
    ----------
    curve : object with arrays ``thresholds``, ``precision``, ``recall`` and ``f1``, or mapping
        As `dangling` gives it; infinite thresholds are not drawn. Of a mapping of names to such
        curves the F1 of each is drawn.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError, ValueError
        For an object without these arrays, for lengths that differ, and for no curve.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one = np.array([0.2, 0.5])
    >>> curve = SimpleNamespace(thresholds=one, precision=one, recall=one, f1=one)
    >>> plot_dangling(curve).get_xlabel()
    'threshold'
    >>> plot_dangling({"A": curve, "B": curve}).get_ylabel()
    'F1'
    """
    several = isinstance(curve, Mapping)
    if several:
        named = {str(name): _checked(one, f" for {name!r}") for name, one in curve.items()}
    else:
        named = {"": _checked(curve, "")}
    if not named:
        raise InputValueError("curve", expected="at least one", got="none")
    ax = axes_for("plot_dangling", ax)
    if several:
        _draw_each(ax, named)
    else:
        _draw_one(ax, named[""])
    measures = {one.by for one in named.values()}
    by = measures.pop() if len(measures) == 1 else None
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("threshold" if by is None else f"threshold of the {by}")
    ax.set_ylabel("F1" if several else "precision, recall, F1")
    directions = sorted({spelt(one.direction) for one in named.values() if one.direction})
    told = '"has no counterpart"' + f", {' and '.join(directions)}" * bool(directions)
    ax.set_title(told, fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _checked(curve: Any, whose: str) -> _Curve:
    missing = [name for name in _WANTED if not hasattr(curve, name)]
    if missing:
        raise InputTypeError(
            "curve",
            expected=f"{', '.join(_WANTED)}",
            got=f"{type(curve).__name__} without {', '.join(missing)}{whose}",
        )
    thresholds, *lines = (np.asarray(getattr(curve, name), np.float64) for name in _WANTED)
    shapes = {values.shape for values in (thresholds, *lines)}
    if len(shapes) > 1 or thresholds.ndim != 1:
        raise InputValueError(
            "curve", expected="1-D arrays of one length", got=f"shapes {sorted(shapes)}{whose}"
        )
    drawn = np.isfinite(thresholds)
    precision, recall, f1 = (values[drawn] for values in lines)
    by, direction = getattr(curve, "by", None), getattr(curve, "direction", "")
    return _Curve(thresholds[drawn], precision, recall, f1, by, direction)


def _draw_one(ax: Axes, curve: _Curve) -> None:
    lines = {"precision": curve.precision, "recall": curve.recall, "F1": curve.f1}
    for (name, values), colour in zip(lines.items(), COLOURS, strict=False):
        # what is said changes behind a threshold: who is below it is said to have none
        ax.step(curve.thresholds, values, where="pre", color=colour, label=name)
    best = _best(curve)
    if best is not None:
        threshold, f1 = best
        told = f"best F1: {f1:.3f}\nbelow {threshold:.4g}"
        ax.plot(threshold, f1, "o", color=COLOURS[2], markersize=5, label=told)


def _draw_each(ax: Axes, named: Mapping[str, _Curve]) -> None:
    styles = zip(colours_for(len(named)), dashes_for(len(named)), strict=True)
    for (colour, dashes), (name, curve) in zip(styles, named.items(), strict=True):
        best = _best(curve)
        told = "" if best is None else f"\n{best[1]:.3f} below {best[0]:.4g}"
        style = {"linestyle": dashes, "label": plain(name) + told}
        ax.step(curve.thresholds, curve.f1, where="pre", color=colour, **style)
        if best is not None:
            ax.plot(*best, "o", color=colour, markersize=5)


def _best(curve: _Curve) -> tuple[float, float] | None:
    """The lowest threshold of the highest F1, and that."""
    f1 = np.where(np.isnan(curve.f1), -1.0, curve.f1)
    if not len(f1) or f1.max() < 0:
        return None
    best = int(f1.argmax())
    return float(curve.thresholds[best]), float(f1[best])
