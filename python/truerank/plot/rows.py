"""Plots with rows: values of models, differences between models, values of groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inference.comparing import RATIO, Comparison, compare, corrected
from ..inference.intervals import why_no_interval
from ..inputs.checks import choice, confidence, distinct_names, flag, positive_integer, unique_keys
from ..metrics.keys import MACRO, increasing
from ..naming import public
from ..reporting.base_report import BaseReport
from ..reporting.columns import label_text
from ..reporting.repeats import Repeats
from ..tables.cells import format_count
from .drawing import (
    COLOURS,
    axes_for,
    check_named,
    colours_for,
    draw_legend,
    escape_formulas,
    shorten,
    unlike_protocols,
)

if TYPE_CHECKING:
    from ..inference.comparing import Model
    from ..metrics.keys import Key
    from ..ranks.labels import LabelsLike
    from .drawing import Axes

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
ORDERS = ("tasks", "value")

_ROW_HEIGHT = 0.27  # The unit is inches.
_GAP = 0.7  # So many rows lie between the models of one metric and those of the next.


@public("truerank.plot")
def values(
    reports: BaseReport | Repeats | Mapping[str, BaseReport | Repeats],
    metrics: str | Iterable[str] = METRICS,
    *,
    level: float = 0.95,
    unit: LabelsLike | None = "unit",
    ax: Axes | None = None,
) -> Axes:
    """Draw metrics with their intervals, a row for each metric and model.

    The intervals of two models may overlap although one is better in nearly every task:
    `comparison` says which model is better.

    Parameters
    ----------
    reports : Report, or mapping of name to Report
        Each report has a colour. They may be reports of retrieval.
    metrics : str or iterable of str
        Keys that all of them have, best of one scale, as shares and reciprocal ranks are.
    level, unit
        The level of the intervals, and the units, as in `Report.interval`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Its lines are the models, with a dot for each metric. A report that was read from JSON has
        no intervals.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        For a metric that is unknown, or that a report does not have.
    TypeError, ValueError
        For anything but Reports, and if there are none; and where `Report.interval` raises them.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> models = {"A": report(Ranks([0, 3], [1, 1], 9)), "B": report(Ranks([1, 3], [1, 1], 9))}
    >>> [line.get_xdata().tolist() for line in values(models, ["mrr", "hits@1"]).get_lines()]
    [[0.625, 0.5], [0.375, 0.0]]
    """
    named = check_named("reports", reports, (BaseReport, Repeats), "Report")
    first = next(iter(named.values()))
    read = {key: first.read_key(key) for key in unique_keys(metrics)}
    keys = list(read)
    confidence(level)
    size = len(named)
    step: float = size
    if size > 1:
        step += _GAP
    ax = axes_for("truerank.plot.values", ax, 0.9 + _ROW_HEIGHT * (step * len(keys) + size))
    handles: list[Any] = []
    cells: dict[float, str] = {}
    for j, (report, colour) in enumerate(zip(named.values(), colours_for(size), strict=True)):
        places = [step * i + j for i in range(len(keys))]
        numbers = [report[key] for key in keys]
        bounds = [_interval(report, key, level=level, unit=unit) for key in keys]
        handles += ax.plot(numbers, places, "o", color=colour, markersize=4.5, zorder=4)
        draw_bounds(ax, places, bounds, [colour] * len(keys))
        for place, key, value, (low, high) in zip(places, keys, numbers, bounds, strict=True):
            cells[place] = _value_cell(read[key], value, low, high)
    titles: dict[float, str] = {}
    for i, parsed in enumerate(read.values()):
        titles[step * i + (size - 1) / 2] = parsed.title
    write_rows(ax, titles, cells)
    label = "value"
    if any("[" in cell for cell in cells.values()):
        label = f"value, {100 * level:g} % interval"
    ax.margins(x=0.05)
    ax.set_xlabel(label)
    if list(named) != [""]:
        draw_legend(ax, handles, list(map(shorten, named)), unlike_protocols(named))
    return ax


@public("truerank.plot")
def comparison(
    a: Model | Mapping[str, Model],
    b: Model | None = None,
    metric: str = "mrr",
    *,
    names: Sequence[str] = ("a", "b"),
    against: str | None = None,
    unit: LabelsLike | None = "unit",
    level: float = 0.95,
    allow_unlike: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far models are apart by a metric, with intervals and p-values, a row for each pair.

    Parameters
    ----------
    a, b
        Two models, or a mapping of names to models, all as in `truerank.compare`.
    metric : str
        Any key that all of them have.
    names : two str
        What `a` and `b` are called; a mapping has the names of its models.
    against : str, optional
        The name of a model that the others are compared with. Default: all pairs.
    unit, level, allow_unlike
        As in `truerank.compare`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A dot for each pair is the difference of `truerank.compare`, or the ratio where it has that;
        p-values of several pairs are corrected by Holm's rule.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError, TypeError, ValueError
        As in `truerank.compare`; and for an unknown name in `against`.

    Examples
    --------
    >>> from truerank import Ranks
    >>> a, b = Ranks([0, 3], [1, 1], 9), Ranks([1, 3], [1, 1], 9)
    >>> ax = comparison(a, b, metric="mr", names=["TransE", "RotatE"])
    >>> ax.get_lines()[1].get_xdata().tolist(), ax.get_yticklabels()[0].get_text()[:6]
    ([-0.5], 'TransE')
    """
    models: Any = a if b is None else dict(zip(_two_names(names), (a, b), strict=True))
    options: dict[str, Any] = {"unit": unit, "level": level, "allow_unlike": allow_unlike}
    pairs = _compare(models, metric, against, options)
    ax = axes_for("truerank.plot.comparison", ax, 1.2 + _ROW_HEIGHT * max(len(pairs), 2))
    effect = pairs[0].effect
    if effect == RATIO:
        sign = "/"
        no_effect = 1.0
    else:
        sign = "\u2212"
        no_effect = 0.0
    ax.axvline(no_effect, color="black", linestyle=":", linewidth=1)
    places = list(range(len(pairs)))
    ax.plot([pair.estimate for pair in pairs], places, "o", color=COLOURS[0], markersize=4.5)
    bounds = [(pair.low, pair.high) for pair in pairs]
    draw_bounds(ax, places, bounds, [COLOURS[0]] * len(pairs))
    apart = ""
    if against is None:
        rows = [f"{shorten(x.name_a, 16)} {sign} {shorten(x.name_b, 16)}" for x in pairs]
    else:
        rows = [shorten(x.name_a, 36) for x in pairs]
        apart = f" from {escape_formulas(shorten(against))}"
    heading = f"{effect}, p"
    if len(pairs) > 1:
        heading += " (Holm)"
    cells: dict[float, str] = dict(enumerate(map(_difference_cell, pairs)))
    write_rows(ax, dict(enumerate(rows)), cells, heading)
    ax.margins(x=0.08)
    title = pairs[0].title.partition(" ")[0]
    ax.set_xlabel(f"{effect} of {title}{apart}, {100 * level:g} % interval")
    return ax


def _two_names(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of two models."""
    found = distinct_names("names", names)
    if len(found) != 2:
        raise InputValueError("names", expected="two, of a and of b", got=len(found))
    return found


def _compare(
    models: Any, metric: str, against: str | None, options: Mapping[str, Any]
) -> Sequence[Comparison]:
    """Compare all pairs of models, or each with a given one."""
    if against is None:
        return compare(models, metric=[metric], **options)
    choice("against", against, tuple(models))
    found: list[Comparison] = []
    for name, model in models.items():
        if name != against:
            found += compare({name: model, against: models[against]}, metric=[metric], **options)
    if not found:
        raise InputValueError("a", expected=f"others than {against!r} to compare", got="none")
    return corrected(found)


@public("truerank.plot")
def groups(
    report: BaseReport,
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
    if not isinstance(report, BaseReport):
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
        bounds = [_interval(report.groups[label], metric, level=level) for label in chosen]
        line = draw_bounds(ax, places, bounds, ["black"] * len(chosen))
        if line is not None:
            handles.append(line)
            names.append(f"{100 * level:g} % interval")
    width = len(f"{max(tasks.values(), default=0):,}")
    # These spaces are as wide as digits are.
    cells = [f"{tasks[label]:\u2007>{width},}" for label in chosen]
    rows: dict[float, str] = dict(enumerate(map(label_text, chosen)))
    write_rows(ax, rows, dict(enumerate(cells)), report.form.tasks)
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


def _interval(report: BaseReport | Repeats, key: str, **options: Any) -> tuple[float, float]:
    """Return the bounds of `Report.interval`; nan for several runs, and where there is none."""
    if not isinstance(report, BaseReport) or not len(report.ranks):
        return math.nan, math.nan
    if why_no_interval(report.read_key(key)):
        return math.nan, math.nan
    interval = report.interval(key, **options)
    return interval.low, interval.high


def _value_cell(key: Key, value: float, low: float, high: float) -> str:
    decimals = key.decimals
    text = f"{value:.{decimals}f}"
    if not math.isnan(low + high):
        text += f"  [{low:.{decimals}f}, {high:.{decimals}f}]"
    return text


def _difference_cell(pair: Comparison) -> str:
    """Write a difference or ratio, and its p-value; signs are as wide as each other."""
    if pair.effect == RATIO:
        estimate = f"{pair.estimate:.3f}"
    else:
        estimate = f"{pair.estimate:+.{pair.decimals}f}"
    p = pair.p_value if pair.p_holm is None else pair.p_holm
    return f"{estimate}, p {p:.2g}".replace("-", "\u2212")
