"""Helpers of all plots: axes of matplotlib, names, colours, and legends that cover no data."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import InputTypeError, InputValueError
from ..inputs.checks import instance
from ..naming import import_extra, printable
from ..reporting.reports import Report

Axes = Any  # It is matplotlib.axes.Axes, but matplotlib is an extra.

MARKERS = "os^DvP*X"
# Colours that people with any colour vision can tell apart (Okabe, Ito 2008), and a grey.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999999")

_LETTERS_PER_INCH = 16  # A legend has so many where words have 10 points.
_MOST_TICKS = 8
_HANDLE_WIDTH = 8  # A line's sample and the gap after it are as wide as so many letters.


def axes_for(function: str, ax: Axes | None, height: float) -> Axes:
    """Return the axes to draw into: the given ones, or those of a new figure, shown in notebooks.

    A figure without a layout gets the constrained one, since the legend would have no room. The
    height is in inches; a new figure is as wide as the settings of matplotlib say.
    """
    figures = import_extra("matplotlib.figure", function, "plot")
    if ax is not None:
        # Others are a figure, the module pyplot, and the array that `subplots` returns.
        axes = import_extra("matplotlib.axes", function, "plot")
        instance("ax", ax, axes.Axes, "matplotlib's Axes")
        figure = ax.figure.figure  # That of a subfigure is the figure around it.
        if figure.get_layout_engine() is None:
            figure.set_layout_engine("constrained")
        return ax
    width = import_extra("matplotlib", function, "plot").rcParams["figure.figsize"][0]
    figure = figures.Figure(figsize=(width, height), dpi=120, layout="constrained")
    ax = figure.add_subplot()
    ax._repr_png_ = partial(_picture, figure)
    return ax


def _picture(figure: Any) -> bytes:
    """Return a figure as a PNG, which a notebook shows."""
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def read_reports(reports: Any) -> dict[str, Report]:
    """Check reports and return them by name; a single one gets the name ""."""
    if isinstance(reports, Report):  # It is a mapping, too.
        return {"": reports}
    if not isinstance(reports, Mapping):
        expected = "Report, or a mapping of names to them"
        raise InputTypeError("reports", expected=expected, got=type(reports).__name__)
    for name, report in reports.items():
        if not isinstance(report, Report):
            got = f"{type(report).__name__} for {name!r}"
            raise InputTypeError("reports", expected="Report", got=got)
    if not reports:
        raise InputValueError("reports", expected="at least one Report", got="none")
    return {str(name): report for name, report in reports.items()}


def read_runs(reports: Any) -> dict[str, list[Report]]:
    """Check models, of one run or of several, and return their runs by name; one alone has ""."""
    has_models = isinstance(reports, Mapping) and not isinstance(reports, Report)
    if not has_models or not reports:
        return {name: [report] for name, report in read_reports(reports).items()}
    models = {}
    for name, model in reports.items():
        runs = model if isinstance(model, (list, tuple)) else [model]
        runs_by_name = {f"{name}, run {i}": run for i, run in enumerate(runs)}  # as errors say it
        models[str(name)] = list(read_reports(runs_by_name).values())
    return models


def unlike_protocols(reports: Sequence[Any]) -> str:
    """Say in what the protocols of reports differ from that of the first; empty if in nothing."""
    protocol, *others = [report.protocol for report in reports]
    lines = [line for other in others for line in protocol.differences(other)]
    fields = dict.fromkeys(line.partition(":")[0] for line in lines)
    return f"unlike protocols: {', '.join(fields)}" if fields else ""


def escape_formulas(name: str) -> str:
    """Escape a text so that matplotlib does not read it as a formula between dollars."""
    return name.replace("$", r"\$")


def shorten(name: str, most: int = 36) -> str:
    """Shorten a text to one line; a long one loses its middle, as ends distinguish names.

    >>> shorten("/people/person/nationality", 15)
    '/people\u2026onality'
    """
    line = " ".join(printable(name).split())
    if len(line) <= most:
        return line
    end = (most - 1) // 2
    return f"{line[: most - 1 - end]}\u2026{line[len(line) - end :]}"


def draw_legend(ax: Axes, handles: Sequence[Any], names: Sequence[str], title: str) -> None:
    """Draw a legend where it covers no data: above the axes, in as many columns as fit.

    Where other axes of the figure have the same legend, this one replaces it, on the right.
    """
    if not names:
        return
    shown = [escape_formulas(name) for name in names]
    same_legends = []
    for other in ax.figure.axes:
        legend = other.get_legend()
        if other is not ax and legend is not None:
            words = [text.get_text() for text in (legend.get_title(), *legend.get_texts())]
            if words == [title, *shown]:
                same_legends.append(legend)
    is_free_at_right = not ax.texts  # Rows have their cells there.
    if same_legends and is_free_at_right:
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        for legend in same_legends:
            legend.remove()
    else:
        place = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
        letters_per_pixel = _LETTERS_PER_INCH / ax.figure.dpi * 10 / ax.xaxis.label.get_size()
        letters_of_axes = letters_per_pixel * ax.bbox.width
        # Long names of rows will leave the axes less room than they have before the layout is made.
        longest = max((len(label.get_text()) for label in ax.get_yticklabels()), default=0)
        letters_beside_rows = letters_per_pixel * ax.figure.bbox.width - (longest + _HANDLE_WIDTH)
        letters = min(letters_of_axes, letters_beside_rows)
        columns = int(letters / (max(map(len, names)) + _HANDLE_WIDTH))
        place["ncols"] = max(1, min(columns, len(names)))
    style = {"fontsize": "small", "title_fontsize": "small", "frameon": False, "borderaxespad": 0.3}
    # matplotlib would leave out names that begin with an underscore.
    no_names = [" "] * len(names)
    legend = ax.legend(handles, no_names, title=title, alignment="left", **style, **place)
    for text, name in zip(legend.get_texts(), shown, strict=True):
        text.set_text(name)


def count_fitting(ax: Axes, text: str) -> int:
    """Return how many labels as long as a text fit below the axes, 8 at most."""
    letters = _LETTERS_PER_INCH / ax.figure.dpi * ax.bbox.width
    return max(2, min(_MOST_TICKS, int(letters / (len(text) + 3))))
