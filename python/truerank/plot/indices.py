"""A plot of a metric against its index, which shows how much of a number chance explains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.naming import public
from ..metrics import Key, UnknownKeyError, parse
from ..metrics.keys import NO_ADJUSTMENT, increasing
from ..reporting.reports import Report
from ..tables.cells import format_count
from .drawing import axes_for, check_named, colours_for, legend_above, shorten

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from .drawing import Axes

_MARKERS = "os^DvP*X"
_NEARLY_PERFECT = 0.999999  # beyond this index the value under chance cannot be recovered


class _Keys(NamedTuple):
    """The keys that are read of every report."""

    index_of: str
    metric: str
    mean_rank: str
    ratio: str  # of the mean rank


class _Points(NamedTuple):
    """The points of one colour: their name, and arrays of float64, shape (n,), without nan."""

    name: str
    indices: FloatArray
    values: FloatArray


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
    keys = _keys_of(metric)
    by = reports.by if isinstance(reports, Report) else None
    points = _points_of_reports(named, keys) if by is None else _points_of_groups(named[""], keys)
    ax = axes_for("truerank.plot.metric_against_index", ax, height=4.2)
    upward = bool(increasing(metric))
    handles = _draw(ax, points, by is not None, upward)
    names = [one.name for one in points]
    if upward:
        handles += ax.plot([0, 1], [0, 1], color="#555555", linestyle=":", linewidth=1, zorder=1)
        names.append("with countless candidates")
    else:  # ranks, from 1 to the number of candidates
        ax.set_yscale("log")
    ax.axvline(0, color="#999999", linewidth=0.8, zorder=0)
    ax.set_xlabel(f"index of {parse(metric).title}: 0 is chance, 1 is perfect")
    ax.set_ylabel(parse(metric).title)
    ax.spines[["top", "right"]].set_visible(False)
    title = None if by is None else f"groups by {by}, by their mean number of candidates"
    legend_above(ax, handles, names, title=title)
    return ax


def _keys_of(metric: str) -> _Keys:
    parsed = parse(metric)
    if parsed.adjustment != NO_ADJUSTMENT or parsed.macro:
        raise InputValueError(
            "metric", expected="one without adjustment and no macro average", got=repr(metric)
        )
    index = str(parsed._replace(adjustment="index"))
    parse(index)  # a KeyError for a metric without a chance model
    mean_rank = Key("mr", kind=parsed.kind, side=parsed.side)
    return _Keys(index, metric, str(mean_rank), str(mean_rank._replace(adjustment="ratio")))


def _points_of_reports(named: Mapping[str, Report], keys: _Keys) -> list[_Points]:
    """Return a point for each report, named with its mean number of candidates."""
    points = []
    for name, report in named.items():
        found = _finite_points("", [report[keys.index_of]], [report[keys.metric]])
        try:
            candidates = _mean_candidates(report[keys.mean_rank], report[keys.ratio])
        except UnknownKeyError:  # it was read from JSON, which does not hold these
            candidates = math.nan
        details = [] if math.isnan(candidates) else [format_count(round(candidates), "candidate")]
        details += [] if len(found.indices) else ["no index"]
        suffix = f" ({', '.join(details)})" if details else ""
        points.append(found._replace(name=(shorten(name) or "all tasks") + suffix))
    return points


def _points_of_groups(report: Report, keys: _Keys) -> list[_Points]:
    """Return the groups by the decade of their mean number of candidates, smallest first."""
    index, value = (_group_values(report, key) for key in (keys.index_of, keys.metric))
    try:
        candidates = _mean_candidates(
            *(_group_values(report, k) for k in (keys.mean_rank, keys.ratio))
        )
    except UnknownKeyError:
        return [_finite_points("not known", index, value)]
    decades = np.floor(np.log10(candidates.round(3)))  # nan without tasks of the side
    points = []
    for decade in np.unique(decades[~np.isnan(decades)]).astype(int).tolist():
        mask = decades == decade
        name = f"{10**decade:,} to {10 ** (decade + 1) - 1:,}"
        points.append(_finite_points(name, index[mask], value[mask]))
    return points


def _group_values(report: Report, key: str) -> FloatArray:
    return np.array(list(report.group_values(key).values()), dtype=np.float64)


def _mean_candidates(mean_rank: Any, ratio: Any) -> Any:
    """The mean number of candidates, since the mean rank under chance is (N + 1) / 2."""
    return 2 * mean_rank / ratio - 1


def _finite_points(
    name: str, index: Sequence[float] | FloatArray, value: Sequence[float] | FloatArray
) -> _Points:
    both = np.array([index, value], dtype=np.float64)
    return _Points(name, *both[:, np.isfinite(both).all(axis=0)])


def _draw(ax: Axes, points: Sequence[_Points], grouped: bool, upward: bool) -> list[Any]:
    handles = []
    size, alpha = (18, 0.7) if grouped else (40, 1.0)
    for i, (colour, one) in enumerate(zip(colours_for(len(points)), points, strict=True)):
        at = one.indices, one.values
        style = {"s": size, "alpha": alpha, "linewidths": 0, "marker": _MARKERS[i % len(_MARKERS)]}
        handles.append(ax.scatter(*at, color=colour, zorder=3, **style))
        if not grouped and len(one.indices) and one.indices[0] < _NEARLY_PERFECT:
            ax.plot(*_line_of_tasks(*at, upward), color=colour, linewidth=0.9, zorder=2)
    return handles


def _line_of_tasks(
    index: FloatArray, value: FloatArray, upward: bool
) -> tuple[FloatArray, FloatArray]:
    """The line of all ranks of the same tasks: chance is at index 0, the optimum 1 at index 1."""
    chance = float(((value - index) / (1 - index))[0])
    first = min(chance, float(value[0])) if upward else max(chance, float(value[0]))
    y = (
        np.array([first, 1.0]) if upward else np.geomspace(first, 1, 101)
    )  # a curve on a logarithmic axis
    return (y - chance) / (1 - chance), y
