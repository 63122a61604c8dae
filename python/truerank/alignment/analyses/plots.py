"""Plots of the analyses, drawn by matplotlib: one function for each analysis.

Every function draws into the axes that it is given, or into those of a new
``matplotlib.figure.Figure``, and returns them: ``plot_hubness(found).figure.savefig("hubs.png")``.
No window opens and pyplot keeps no figure, so figures are freed when their last reference goes. To
see one in a window, pass ``ax=pyplot.subplots()[1]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.checks import positive_integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...plot.drawing import COLOURS, axes_for, check_named, colours_for, dashes_for, escape_formulas
from ...reporting.reports import Report
from ..two_graphs import DIRECTIONS
from .hubs import Hubness
from .overlaps import Overlap
from .similarities import SimilarityProfile

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from ...plot.drawing import Axes

# From the nearest of no entity to that of many; the two ends, which matter most, stand out.
_TIMES_COLOURS = {"0": "#e69f00", "1": "#cfd8dc", "2-4": "#56b4e9", "5+": "#0b3c6f"}
_BANDS = ((0.05, 0.95, 0.14), (0.25, 0.75, 0.25))  # quantiles, and how dark the band is
_CURVE_ARRAYS = ("thresholds", "precision", "recall", "f1")  # of a curve
# For the plot of an overlap:
_BAR_HEADROOM = 1.18  # the height of the bars and their numbers, relative to the highest bar
_DOT_ROW_HEIGHT = 0.11  # the height of a row of dots, relative to that height


@public("truerank.alignment")
def plot_similarity_profile(
    profiles: SimilarityProfile | Mapping[str, SimilarityProfile], *, ax: Axes | None = None
) -> Axes:
    """Draw the mean similarity to the first, second, ... k-th neighbour, and how it varies.

    Parameters
    ----------
    profiles : SimilarityProfile, or mapping of name to SimilarityProfile
        A line for each: the mean, in a band from the 5 % to the 95 % quantile of the tasks. A
        single profile also has a band from the 25 % to the 75 % quantile.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into. Default: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError, ValueError
        For anything else, and for no profile.

    Examples
    --------
    >>> from truerank.alignment.analyses.similarities import similarity_profile
    >>> ax = plot_similarity_profile(similarity_profile(np.eye(3), np.eye(3), k=2))
    >>> ax.get_xlabel()
    'nearest neighbour'
    """
    named = check_named("profiles", profiles, SimilarityProfile)
    ax = _open_axes("plot_similarity_profile", ax)
    single = len(named) == 1
    for colour, (name, profile) in zip(colours_for(len(named)), named.items(), strict=True):
        places = np.arange(1, profile.k + 1)
        if profile.k == 1:  # a band has no width
            places = np.array([0.97, 1.03])
        for low, high, shade in _BANDS if single else _BANDS[:1]:
            label = f"{low:.0%} to {high:.0%} of entities" if single else "_nolegend_"
            ends = np.broadcast_to(profile.quantiles((low, high)), (2, len(places)))
            ax.fill_between(places, *ends, color=colour, alpha=shade, linewidth=0, label=label)
        means = np.broadcast_to(profile.mean, len(places))
        style = {"linestyle": "-", "marker": "o" if profile.k > 1 else None, "markersize": 4}
        ax.plot(places, means, color=colour, label=escape_formulas(name) or "mean", **style)
    measures = {profile.measure for profile in named.values()}
    most = max(profile.k for profile in named.values())
    ax.set_xticks(range(1, most + 1))
    ax.set_xlim(0.5 if most == 1 else 0.85, most + (0.5 if most == 1 else 0.15))
    ax.set_xlabel("nearest neighbour")
    ax.set_ylabel(
        f"similarity ({escape_formulas(*measures)})" if len(measures) == 1 else "similarity"
    )
    sizes = {profile.tasks for profile in named.values()}
    counted = [f"{n:,} entities" for n in sizes if len(sizes) == 1]
    ax.set_title(", ".join([_format_directions(named), *counted]), fontsize="medium")
    title = None if single else "mean, and 5% to 95%"
    ax.legend(frameon=False, title=title, loc="upper right" if single else "best")
    return ax


@public("truerank.alignment")
def plot_hubness(found: Hubness | Mapping[str, Hubness], *, ax: Axes | None = None) -> Axes:
    """Draw the shares of candidates that are the nearest of no entity, of one, or of several.

    Like OpenEA's figure 9, it has a bar for each direction, similarity or model, with parts for
    0, 1, 2 to 4 and 5 or more times.

    Parameters
    ----------
    found : Hubness, or mapping of name to Hubness
        A bar for each; a `HubnessTable` is such a mapping.
    ax : matplotlib.axes.Axes, optional
        As in `plot_similarity_profile`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError, ValueError
        For anything else, and for no bar.

    Examples
    --------
    >>> from truerank.alignment.analyses.hubs import hubness
    >>> plot_hubness(hubness(np.eye(3), np.eye(3))).get_xlabel()
    'share of candidates (%)'
    """
    named = check_named("found", found, Hubness)
    names = list(named)
    if isinstance(found, Hubness):
        names = [f"{found.direction}, {found.measure}"]
    ax = _open_axes("plot_hubness", ax, height=1.7 + 0.42 * len(named))
    shares = np.array([list(row.shares.values()) for row in named.values()]) * 100
    starts = np.zeros(len(named))
    places = np.arange(len(named))
    for i, (times, colour) in enumerate(_TIMES_COLOURS.items()):
        label = f"{times} time{'' if times == '1' else 's'}".replace("-", " to ")
        ax.barh(places, shares[:, i], left=starts, height=0.62, color=colour, label=label)
        for place, start, share in zip(places, starts, shares[:, i], strict=True):
            if share >= 6:  # narrower parts cannot hold a number
                ax.text(
                    *(start + share / 2, place, f"{share:.0f}"),
                    ha="center",
                    va="center",
                    fontsize="small",
                    color="white" if times == "5+" else "black",
                )
        starts = starts + shares[:, i]
    ax.set_yticks(places, [directions_in_words(escape_formulas(name)) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of candidates (%)")
    ax.legend(
        title="is somebody's nearest",
        ncols=len(_TIMES_COLOURS),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0,
        frameon=False,
    )
    return ax


@public("truerank.alignment")
def plot_by_degree(
    reports: Report | Mapping[str, Report], *, metric: str = "hits@1", ax: Axes | None = None
) -> Axes:
    """Draw a metric by buckets of degrees.

    Parameters
    ----------
    reports : Report, or mapping of name to Report
        Made by `by_degree`; a group of bars for each bucket.
    metric : str
        Any key of a report with groups; "hits@1" is OpenEA's recall in figure 5.
    ax : matplotlib.axes.Axes, optional
        As in `plot_similarity_profile`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        For an unknown metric.
    TypeError, ValueError
        For anything else, for no report, and for one that is not by degree.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.alignment.analyses.buckets import by_degree
    >>> ranks = Ranks([0, 3], [1, 1], 9, side="left_to_right", queries=[0, 1], targets=[1, 0])
    >>> plot_by_degree(by_degree(ranks, [1, 9])).get_ylabel()
    'hits@1'
    """
    named = check_named("reports", reports, Report)
    for name, report in named.items():
        if report.by != "degree":
            raise InputValueError(
                "reports",
                expected="reports made by by_degree",
                got=f"one by {report.by} for {name!r}",
            )
    tasks = [report.group_tasks() for report in named.values()]
    values = [report.group_values(metric) for report in named.values()]
    # in the order of their first degrees
    buckets = sorted(
        {str(label) for row in tasks for label in row},
        key=lambda bucket: int(bucket.rstrip("+").partition("-")[0]),
    )
    ax = _open_axes("plot_by_degree", ax)
    width = 0.8 / len(named)
    bars = zip(colours_for(len(named)), named, values, strict=True)
    for i, (colour, name, row) in enumerate(bars):
        places = np.arange(len(buckets)) - 0.4 + width * (i + 0.5)
        heights = [row.get(bucket, np.nan) for bucket in buckets]
        ax.bar(places, heights, width=0.92 * width, color=colour, label=escape_formulas(name))
    tick_labels, label = buckets, "degree (relation triples)"
    if all(row == tasks[0] for row in tasks):
        tick_labels = [f"{bucket}\n{tasks[0].get(bucket, 0):,}" for bucket in buckets]
        label += ", and number of tasks"
    ax.set_xticks(range(len(buckets)), tick_labels)
    ax.set_xlabel(label)
    ax.set_ylabel(metric)
    if len(named) > 1:
        _legend_beside(ax)
    return ax


class _CurveArrays(NamedTuple):
    """Finite arrays of one length, and the value and direction that the curve is about."""

    thresholds: FloatArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    by: str | None
    direction: str


@public("truerank.alignment")
def plot_dangling(curve: Any, *, ax: Axes | None = None) -> Axes:
    """Draw precision, recall and F1 of "has no counterpart" by threshold.

    Parameters
    ----------
    curve : object with arrays ``thresholds``, ``precision``, ``recall`` and ``f1``, or mapping
        A result of `dangling`; infinite thresholds are not drawn. For a mapping of names to such
        curves, the F1 of each is drawn.
    ax : matplotlib.axes.Axes, optional
        As in `plot_similarity_profile`.

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
    is_mapping = isinstance(curve, Mapping)
    if is_mapping:
        named = {str(name): _read_curve(one, f" for {name!r}") for name, one in curve.items()}
    else:
        named = {"": _read_curve(curve, "")}
    if not named:
        raise InputValueError("curve", expected="at least one", got="none")
    ax = _open_axes("plot_dangling", ax)
    if is_mapping:
        _draw_f1_curves(ax, named)
    else:
        _draw_single_curve(ax, named[""])
    measures = {one.by for one in named.values()}
    by = measures.pop() if len(measures) == 1 else None
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("threshold" if by is None else f"threshold of the {by}")
    ax.set_ylabel("F1" if is_mapping else "precision, recall, F1")
    title = ['"has no counterpart"', _format_directions(named)]
    ax.set_title(", ".join(filter(None, title)), fontsize="medium")
    _legend_beside(ax)
    return ax


def _read_curve(curve: Any, suffix: str) -> _CurveArrays:
    missing = [name for name in _CURVE_ARRAYS if not hasattr(curve, name)]
    if missing:
        raise InputTypeError(
            "curve",
            expected=f"{', '.join(_CURVE_ARRAYS)}",
            got=f"{type(curve).__name__} without {', '.join(missing)}{suffix}",
        )
    thresholds, *lines = (np.asarray(getattr(curve, name), np.float64) for name in _CURVE_ARRAYS)
    shapes = {values.shape for values in (thresholds, *lines)}
    if len(shapes) > 1 or thresholds.ndim != 1:
        raise InputValueError(
            "curve", expected="1-D arrays of one length", got=f"shapes {sorted(shapes)}{suffix}"
        )
    finite = np.isfinite(thresholds)
    precision, recall, f1 = (values[finite] for values in lines)
    by, direction = getattr(curve, "by", None), getattr(curve, "direction", "")
    return _CurveArrays(thresholds[finite], precision, recall, f1, by, direction)


def _draw_single_curve(ax: Axes, curve: _CurveArrays) -> None:
    lines = {"precision": curve.precision, "recall": curve.recall, "F1": curve.f1}
    for (name, values), colour in zip(lines.items(), COLOURS, strict=False):
        # "pre": entities below a threshold are predicted, so values change after it
        ax.step(curve.thresholds, values, where="pre", color=colour, label=name)
    best = _best_f1(curve)
    if best is not None:
        threshold, f1 = best
        label = f"best F1: {f1:.3f}\nbelow {threshold:.4g}"
        ax.plot(threshold, f1, "o", color=COLOURS[2], markersize=5, label=label)


def _draw_f1_curves(ax: Axes, named: Mapping[str, _CurveArrays]) -> None:
    styles = zip(colours_for(len(named)), dashes_for(len(named)), strict=True)
    for (colour, dashes), (name, curve) in zip(styles, named.items(), strict=True):
        best = _best_f1(curve)
        best_text = "" if best is None else f"\n{best[1]:.3f} below {best[0]:.4g}"
        style = {"linestyle": dashes, "label": escape_formulas(name) + best_text}
        ax.step(curve.thresholds, curve.f1, where="pre", color=colour, **style)
        if best is not None:
            ax.plot(*best, "o", color=colour, markersize=5)


def _best_f1(curve: _CurveArrays) -> tuple[float, float] | None:
    """Return the lowest threshold with the highest F1, and this F1."""
    f1 = np.where(np.isnan(curve.f1), -1.0, curve.f1)
    if not len(f1) or f1.max() < 0:
        return None
    best = int(f1.argmax())
    return float(curve.thresholds[best]), float(f1[best])


@public("truerank.alignment")
def plot_overlap(found: Overlap, *, most: int = 16, ax: Axes | None = None) -> Axes:
    """Draw the shares of tasks that exactly these models get right: bars over a matrix of dots.

    This is an UpSet plot (Lex et al., "UpSet: visualization of intersecting sets", 2014).

    Parameters
    ----------
    found : Overlap
    most : int
        The number of subsets to draw, the largest first; the label below sums up the rest.
    ax : matplotlib.axes.Axes, optional
        As in `plot_similarity_profile`; the dots are below zero.

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
    positive_integer("most", most)
    models = len(found.names)
    subsets = list(found.subsets.items())
    shown, left_out = subsets[:most], subsets[most:]
    shares_of_models = found.found
    names = [f"{escape_formulas(name)} ({shares_of_models[name]:.1%})" for name in found.names]
    width = max(6.4, 1.2 + 0.28 * len(shown) + 0.08 * max(map(len, names)))
    ax = _open_axes("plot_overlap", ax, height=3.2 + 0.26 * models, width=width)
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
    # The dots are below zero in the same axes, so that any layout keeps them under their bars.
    top = _BAR_HEADROOM * shares.max()
    rows = -_DOT_ROW_HEIGHT * top * (np.arange(models) + 0.75)
    for place, (subset, _), colour in zip(places, shown, colours, strict=True):
        is_in_subset = np.isin(np.arange(models), [found.names.index(name) for name in subset])
        ax.plot(np.full(models, place), rows, "o", color="#dddddd", markersize=6)
        ax.plot(
            np.full(is_in_subset.sum(), place), rows[is_in_subset], "o-", color=colour, markersize=6
        )
    ax.set_xlim(-0.6, len(shown) - 0.4)
    ax.set_ylim(-_DOT_ROW_HEIGHT * top * (models + 0.25), top)
    ax.set_xticks([])
    numbers = ax.yaxis.get_major_locator().tick_values(0, shares.max())
    ax.set_yticks(numbers[(numbers >= 0) & (numbers <= top)])
    ax.set_yticks(rows, names, minor=True)
    ax.tick_params(axis="y", which="minor", length=0)
    # not at the axis, where the names of the models are
    ax.set_title("share of tasks (%)", loc="left", fontsize="medium")
    ax.spines["left"].set_bounds(0, top)
    ax.spines["bottom"].set_position(("data", 0))
    x_label = f"exactly these models are right ({found.tasks:,} tasks)"
    if left_out:
        rest = sum(count for _, count in left_out) / found.tasks
        x_label += f"\n{len(left_out)} more subsets, {rest:.1%} of the tasks, are not shown"
    ax.set_xlabel(x_label)
    ax.xaxis.set_label_coords(0.5, -0.02)
    return ax


def _colour(subset: Sequence[str], models: int) -> str:
    """Return grey for tasks that no model gets right, and two colours for all and for some."""
    if not subset:
        return COLOURS[6]
    return COLOURS[2] if len(subset) == models > 1 else COLOURS[0]


def _open_axes(function: str, ax: Axes | None, height: float = 3.6, width: float = 6.4) -> Axes:
    """Return the axes to draw into, without their top and right lines."""
    ax = axes_for(function, ax, height, width)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _legend_beside(ax: Axes) -> None:
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _format_directions(named: Mapping[str, Any]) -> str:
    """Return the directions of several results in words."""
    return " and ".join(
        sorted({directions_in_words(one.direction) for one in named.values() if one.direction})
    )


def directions_in_words(text: str) -> str:
    """Replace directions by words.

    Examples
    --------
    >>> directions_in_words("left_to_right, cosine")
    'left to right, cosine'
    """
    for direction in DIRECTIONS:
        text = text.replace(direction, direction.replace("_", " "))
    return text
