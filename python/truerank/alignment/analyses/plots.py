"""Pictures of what the analyses find, drawn by matplotlib: one function each.

Every function draws into the axes that it is given, or into those of a new
``matplotlib.figure.Figure``, and returns them: ``plot_hubness(found).figure.savefig("hubs.png")``.
No window opens and no state of pyplot is touched, so that figures vanish with their last name; to
have one in a window, pass ``ax=pyplot.subplots()[1]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.errors import InputValueError
from ...plot.drawing import axes_for, colours_for, named_of, plain
from ...reporting.reports import Report
from .drawing import spelt
from .hubs import Hubness
from .similarities import SimilarityProfile
from .thresholds import plot_dangling
from .upset import plot_overlap

if TYPE_CHECKING:
    from ...plot.drawing import Axes

__all__ = [
    "plot_by_degree",
    "plot_dangling",
    "plot_hubness",
    "plot_overlap",
    "plot_similarity_profile",
]

# From nobody's nearest over one entity's to that of many: the ends are what one looks for.
_TIMES_COLOURS = {"0": "#e69f00", "1": "#cfd8dc", "2-4": "#56b4e9", "5+": "#0b3c6f"}
_BANDS = ((0.05, 0.95, 0.14), (0.25, 0.75, 0.25))  # quantiles, and how dark the band is


def plot_similarity_profile(
    profiles: SimilarityProfile | Mapping[str, SimilarityProfile], *, ax: Axes | None = None
) -> Axes:
    """Draw the mean similarity to the first, second, ... k-th nearest, and how it varies.

    Parameters
    ----------
    profiles : SimilarityProfile, or mapping of name to SimilarityProfile
        One line each: the mean, in a band from the 5 % to the 95 % quantile of the tasks. A
        single one has a band from the 25 % to the 75 % quantile, too.
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
        For anything else, and for no profile.

    Examples
    --------
    >>> from truerank.alignment.analyses.similarities import similarity_profile
    >>> ax = plot_similarity_profile(similarity_profile(np.eye(3), np.eye(3), k=2))
    >>> ax.get_xlabel()
    'nearest neighbour'
    """
    named = named_of("profiles", profiles, SimilarityProfile)
    ax = axes_for("plot_similarity_profile", ax)
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
        ax.plot(places, means, color=colour, label=plain(name) or "mean", **style)
    measures = {profile.measure for profile in named.values()}
    most = max(profile.k for profile in named.values())
    ax.set_xticks(range(1, most + 1))
    ax.set_xlim(0.5 if most == 1 else 0.85, most + (0.5 if most == 1 else 0.15))
    ax.set_xlabel("nearest neighbour")
    ax.set_ylabel(f"similarity ({plain(*measures)})" if len(measures) == 1 else "similarity")
    ax.spines[["top", "right"]].set_visible(False)
    directions = {spelt(profile.direction) for profile in named.values()}
    sizes = {profile.tasks for profile in named.values()}
    counted = [f"{n:,} entities" for n in sizes if len(sizes) == 1]
    ax.set_title(", ".join([" and ".join(sorted(directions)), *counted]), fontsize="medium")
    title = None if single else "mean, and 5% to 95%"
    ax.legend(frameon=False, title=title, loc="upper right" if single else "best")
    return ax


def plot_hubness(found: Hubness | Mapping[str, Hubness], *, ax: Axes | None = None) -> Axes:
    """Draw which share of the candidates are nobody's nearest, one entity's, or more entities'.

    As OpenEA's figure 9: a bar for each direction, similarity or model, in parts for 0, 1, 2 to 4
    and 5 or more times.

    Parameters
    ----------
    found : Hubness, or mapping of name to Hubness
        A bar each; a `HubnessTable` is such a mapping.
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
        For anything else, and for no bar.

    Examples
    --------
    >>> from truerank.alignment.analyses.hubs import hubness
    >>> plot_hubness(hubness(np.eye(3), np.eye(3))).get_xlabel()
    'share of candidates (%)'
    """
    named = named_of("found", found, Hubness)
    names = list(named)
    if isinstance(found, Hubness):
        names = [f"{found.direction}, {found.measure}"]
    ax = axes_for("plot_hubness", ax, height=1.7 + 0.42 * len(named))
    shares = np.array([list(row.shares.values()) for row in named.values()]) * 100
    starts = np.zeros(len(named))
    places = np.arange(len(named))
    for i, (times, colour) in enumerate(_TIMES_COLOURS.items()):
        label = f"{times} time{'' if times == '1' else 's'}".replace("-", " to ")
        ax.barh(places, shares[:, i], left=starts, height=0.62, color=colour, label=label)
        for place, start, share in zip(places, starts, shares[:, i], strict=True):
            if share >= 6:  # narrower parts have no room for a number
                ax.text(
                    *(start + share / 2, place, f"{share:.0f}"),
                    ha="center",
                    va="center",
                    fontsize="small",
                    color="white" if times == "5+" else "black",
                )
        starts = starts + shares[:, i]
    ax.set_yticks(places, [spelt(plain(name)) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of candidates (%)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        title="is somebody's nearest",
        ncols=len(_TIMES_COLOURS),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0,
        frameon=False,
    )
    return ax


def plot_by_degree(
    reports: Report | Mapping[str, Report], *, metric: str = "hits@1", ax: Axes | None = None
) -> Axes:
    """Draw a metric by buckets of degrees.

    Parameters
    ----------
    reports : Report, or mapping of name to Report
        Made by `by_degree`; a group of bars for each bucket.
    metric : str
        Any key of a report that has groups; "hits@1" is OpenEA's recall in figure 5.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

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
    named = named_of("reports", reports, Report)
    for name, report in named.items():
        if report.by != "degree":
            raise InputValueError(
                "reports",
                expected="reports made by by_degree",
                got=f"one by {report.by} for {name!r}",
            )
    tasks = [report.group_tasks() for report in named.values()]
    values = [report.group_values(metric) for report in named.values()]
    buckets = sorted({str(label) for row in tasks for label in row}, key=_start)
    ax = axes_for("plot_by_degree", ax)
    width = 0.8 / len(named)
    bars = zip(colours_for(len(named)), named, values, strict=True)
    for i, (colour, name, row) in enumerate(bars):
        places = np.arange(len(buckets)) - 0.4 + width * (i + 0.5)
        heights = [row.get(bucket, np.nan) for bucket in buckets]
        ax.bar(places, heights, width=0.92 * width, color=colour, label=plain(name))
    ax.set_xticks(range(len(buckets)), _counted(buckets, tasks))
    counted = ", and number of tasks" if all(row == tasks[0] for row in tasks) else ""
    ax.set_xlabel(f"degree (relation triples){counted}")
    ax.set_ylabel(metric)
    ax.spines[["top", "right"]].set_visible(False)
    if len(named) > 1:
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _start(bucket: str) -> int:
    """The first degree of a bucket."""
    return int(bucket.rstrip("+").partition("-")[0])


def _counted(buckets: Sequence[str], tasks: Sequence[Mapping[Any, int]]) -> list[str]:
    """The names of buckets, with their numbers of tasks where those are the same for all."""
    alike = all(row == tasks[0] for row in tasks)
    return [f"{bucket}\n{tasks[0].get(bucket, 0):,}" if alike else bucket for bucket in buckets]
