"""What all pictures share: axes of matplotlib, names, colours."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..ids import DIRECTIONS

Axes = Any  # matplotlib.axes.Axes; matplotlib is an extra

# Colours that people with unlike colour vision tell apart (Okabe, Ito 2008), and a grey.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999999")


def axes_for(function: str, ax: Axes | None, height: float = 3.6, width: float = 6.4) -> Axes:
    """Give the axes to draw into: those given, or those of a figure that nobody else knows."""
    try:
        figures: Any = import_module("matplotlib.figure")
    except ImportError as error:
        raise ImportError(
            f"{function} needs matplotlib: pip install 'truerank[matplotlib]'"
        ) from error
    if ax is None:
        return figures.Figure(figsize=(width, height), dpi=120, layout="constrained").subplots()
    if not hasattr(ax, "fill_between"):
        raise TypeError(f"ax: expected matplotlib's Axes, got {type(ax).__name__}")
    return ax


def named_of(argument: str, value: Any, kind: type[Any]) -> dict[str, Any]:
    """Give results by name; a single one has none."""
    if isinstance(value, kind):  # a Report is a mapping, too
        return {"": value}
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{argument}: expected {kind.__name__}, or a mapping of names to them, "
            f"got {type(value).__name__}"
        )
    for name, one in value.items():
        if not isinstance(one, kind):
            raise TypeError(
                f"{argument}: expected {kind.__name__}, got {type(one).__name__} for {name!r}"
            )
    if not value:
        raise ValueError(f"{argument}: expected at least one {kind.__name__}, got none")
    return {str(name): one for name, one in value.items()}


def colours_for(n: int) -> list[str]:
    """So many colours; beyond the table they come again."""
    return [COLOURS[i % len(COLOURS)] for i in range(n)]


def plain(name: str) -> str:
    """Text that matplotlib does not take for a formula."""
    return name.replace("$", r"\$")


def spelt(text: str) -> str:
    """Write directions in words."""
    for direction in DIRECTIONS:
        text = text.replace(direction, direction.replace("_", " "))
    return text
