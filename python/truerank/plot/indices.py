"""A plot of a metric against its index, which shows how much of a number chance explains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputValueError, UnknownKeyError
from ..metrics.keys import NO_ADJUSTMENT, Key, increasing, parse
from ..naming import public
from ..reporting.reports import Report
from ..tables.cells import format_count
from .drawing import MARKERS, axes_for, check_named, colours_for, draw_legend, shorten

if TYPE_CHECKING:
    from ..arrays.types import FloatArray
    from .drawing import Axes

_NEARLY_PERFECT = 0.999999  # Beyond this index the value under chance cannot be recovered.


class _Points(NamedTuple):
    """The points of one colour: arrays of float64, shape (n,); nan where there is none."""

    name: str
    indices: FloatArray
    values: FloatArray
    candidates: FloatArray  # These are the mean numbers of candidates.


@public("truerank.plot")
def metric_against_index(
    reports: Report | Mapping[str, Report], metric: str = "mrr", *, ax: Axes | None = None
) -> Axes:
    """Draw a metric against its index, which does not depend on the number of candidates.

    The index is 0 for chance and 1 for perfect ranks. Reports with the same index but different
    values differ only in their candidates: the fewer there are, the better a metric looks.

    Parameters
    ----------
    reports : Report, or mapping of name to Report
        Each report is a point: models, data sets or splits. The line through it shows where other
        ranks of the same tasks would lie. For a single Report with groups each group is a point,
        coloured by its mean number of candidates.
    metric : str
        A key without adjustment whose metric has a chance model, with side and kind if needed.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Indices are on the x axis. Points without an index (no task has a second candidate) are left
        out.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        For an unknown metric, one without a chance model, and one whose index was not stored in a
        report that was read from JSON.
    TypeError, ValueError
        For anything but Reports, if there are none, and for an adjusted metric or a macro average.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> ax = metric_against_index(report(Ranks([0, 1], [1, 1], 3)), "mr")
    >>> ax.collections[0].get_offsets().tolist()
    [[0.5, 1.5]]
    """
    named = check_named("reports", reports, Report)
    key = parse(metric)
    if key.adjustment != NO_ADJUSTMENT or key.macro:
        raise InputValueError(
            "metric", expected="one without adjustment and no macro average", got=repr(metric)
        )
    parse(str(key._replace(adjustment="index")))  # A metric without a chance model is refused.
    title = None
    is_grouped = isinstance(reports, Report) and reports.by is not None
    points = [_read(name, report, key, is_grouped) for name, report in named.items()]
    if is_grouped:
        points = _by_decade(points[0])
        title = f"groups by {named[''].by}, by their mean number of candidates"
    else:
        sizes = np.array([each.candidates[0] for each in points])
        points = list(map(_with_size, points))
        if len(points) > 1 and np.allclose(sizes, sizes[0]):  # nan is not known, and unlike all.
            title = "equally many candidates: the lines of all coincide"
    ax = axes_for("truerank.plot.metric_against_index", ax, height=4.2)
    upward = bool(increasing(metric))
    handles = _draw(ax, points, is_grouped, upward)
    names = [part.name for part in points]
    if upward:
        handles += ax.plot([0, 1], [0, 1], color="#808080", linestyle=":", linewidth=1, zorder=1)
        names.append("with countless candidates")
    else:
        # Ranks go from 1 to the number of candidates.
        ax.set_yscale("log")
    ax.axvline(0, color="#808080", linewidth=0.8, zorder=0)
    ax.set_xlabel(f"index of {key.title}: 0 is chance, 1 is perfect")
    ax.set_ylabel(key.title)
    ax.spines[["top", "right"]].set_visible(False)
    draw_legend(ax, handles, names, title)
    return ax


def _read(name: str, report: Report, key: Key, grouped: bool) -> _Points:
    """Read the points of a report: of all tasks, or one for each group."""

    def values_of(key: Key) -> FloatArray:
        if grouped:
            found = list(report.group_values(str(key)).values())
        else:
            found = [report[str(key)]]
        return np.array(found, dtype=np.float64)

    indices = values_of(key._replace(adjustment="index"))
    values = values_of(key)
    candidates = np.full(len(values), math.nan)
    mean_rank = Key("mr", kind=key.kind, side=key.side)
    with suppress(UnknownKeyError):  # A report that was read from JSON lacks these keys.
        # The mean rank under chance is (N + 1) / 2.
        ratios = values_of(mean_rank._replace(adjustment="ratio"))
        candidates = 2 * values_of(mean_rank) / ratios - 1
    return _Points(name, indices, values, candidates)


def _with_size(point: _Points) -> _Points:
    """Name the point of a report with its mean number of candidates."""
    (size,) = point.candidates.tolist()
    details = []
    if not math.isnan(size):
        details.append(format_count(round(size), "candidate"))
    if not np.isfinite(point.indices).all():
        details.append("no index")
    name = shorten(point.name) or "all tasks"
    if details:
        name += f" ({', '.join(details)})"
    return point._replace(name=name)


def _by_decade(groups: _Points) -> list[_Points]:
    """Divide groups by the decade of their mean number of candidates, smallest first."""
    if np.isnan(groups.candidates).all():
        return [groups._replace(name="not known")]
    # Groups without tasks of the side have no decade, but nan.
    decades = np.floor(np.log10(groups.candidates.round(3)))
    points = []
    for decade in np.unique(decades[~np.isnan(decades)]).astype(int).tolist():
        name = f"{10**decade:,} to {10 ** (decade + 1) - 1:,}"
        chosen = decades == decade
        points.append(
            _Points(name, groups.indices[chosen], groups.values[chosen], groups.candidates[chosen])
        )
    return points


def _draw(ax: Axes, points: Sequence[_Points], grouped: bool, upward: bool) -> list[Any]:
    """Draw the points, and through that of a report the line of its tasks; return the points."""
    handles = []
    style = {"s": 40, "alpha": 1.0, "linewidths": 0, "zorder": 3}
    if grouped:
        style |= {"s": 18, "alpha": 0.7}
    for i, (colour, part) in enumerate(zip(colours_for(len(points)), points, strict=True)):
        known = np.isfinite(part.indices) & np.isfinite(part.values)
        x = part.indices[known]
        y = part.values[known]
        marker = MARKERS[i % len(MARKERS)]
        handles.append(ax.scatter(x, y, color=colour, marker=marker, **style))
        if not grouped and len(x) and x[0] < _NEARLY_PERFECT:
            line_x, line_y = _line_of_tasks(x, y, upward)
            ax.plot(line_x, line_y, color=colour, linewidth=0.9, zorder=2)
    return handles


def _line_of_tasks(
    index: FloatArray, value: FloatArray, upward: bool
) -> tuple[FloatArray, FloatArray]:
    """The line of all ranks of the same tasks: chance is at index 0, the optimum 1 at index 1."""
    chance = float(((value - index) / (1 - index))[0])
    if upward:
        y = np.array([min(chance, float(value[0])), 1.0])
    else:
        # It is a curve on a logarithmic axis.
        y = np.geomspace(max(chance, float(value[0])), 1, 101)
    return (y - chance) / (1 - chance), y
