"""Plots of reports, drawn by matplotlib: ``pip install '.[plot]'`` in the checkout.

`rank_distribution` and `hits_curve` show where the ranks lie, `groups` a metric by relation, and
`neighbours` how many entities are the nearest of none.

Every function draws into the given axes, or into those of a new ``matplotlib.figure.Figure``, and
returns them: ``hits_curve(report).figure.savefig("hits.svg")``. Axes of a new figure that end a
notebook's cell are shown as a picture. No window opens and no state of pyplot changes; for a plot
in a window, pass ``ax=pyplot.subplots()[1]``. Axes of one figure that would repeat a legend share
one, beside them; a figure without a layout gets the constrained one. Give several models as a
mapping of names to Reports; where their protocols differ, the legend says in what.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inference.intervals import why_no_interval
from ..inputs.checks import choice, confidence, flag, instance, positive_integer
from ..metrics import METRICS, chance_model, metric_table
from ..metrics.keys import GROUPS, MACRO
from ..metrics.values import Sample, values_of_tasks
from ..naming import format_count, public
from ..ranks.protocol import HITS
from ..reporting.report_table import label_text
from ..reporting.reports import NO_GROUPS, Report
from ..reporting.summary import describe_candidates
from . import drawing

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from .drawing import Axes


__all__ = ["groups", "hits_curve", "neighbours", "rank_distribution"]


def __dir__() -> list[str]:
    """Show what the module offers, and not what it imports."""
    return __all__


_ROW_HEIGHT = 0.27  # The unit is inches.
DASHES = ("-", "--", "-.")  # They serve readers who see no colours.
_MOST_MARKED = 32  # Curves of so many steps have a marker at each.
_COLOURS_OF_SHARES = {"none": 6, "one": 5, "more": 3}
_MIN_BAND = 1e-9  # Thinner bands are rounding and not drawn.


@dataclass(frozen=True)
class Steps:
    """The curves of one model over common cutoffs, nan where there are no tasks, and its facts."""

    line: FloatArray  # shape (m,), as the others
    low: FloatArray  # the ends of its band
    high: FloatArray
    chance: FloatArray
    tasks: str  # how many they are, as the legend says it
    candidates: str  # how many each task has; "": it is not known
    weighting: str = ""


def draw_steps(
    ax: Axes,
    x: IntArray,
    label: str,
    models: Mapping[str, Steps],
    reports: Sequence[Report],
    ticks: Sequence[int],
    *,
    band: bool,
    chance: bool,
) -> None:
    """Draw the steps of each model from `x` on, its band, chance, the legend, and the log axis.

    A model without a name has the label. The title of the legend has the facts that all models
    share, and in what protocols of the reports differ. Models that share the last colour, the
    grey, share a line of the legend.
    """
    flag("band", band)
    flag("chance", chance)
    bands = []
    handles = []
    names = []
    last = len(drawing.COLOURS) - 1
    colours = [drawing.COLOURS[min(i, last)] for i in range(len(models))]
    have_equal_tasks = len({steps.tasks for steps in models.values()}) == 1
    for i, (name, steps) in enumerate(models.items()):
        style: dict[str, Any] = {"linestyle": DASHES[i % len(DASHES)], "drawstyle": "steps-post"}
        if i >= last:  # It stays behind the others.
            style |= {"linestyle": "-", "zorder": 1.5}
        elif len(models) > 1 and len(x) <= _MOST_MARKED:  # Outlines that cross are told apart.
            style |= {"marker": drawing.MARKERS[i % len(drawing.MARKERS)], "markersize": 4}
        handles += ax.plot(x, steps.line, color=colours[i], **style)
        own_tasks = "" if have_equal_tasks else f" ({steps.tasks})"
        names.append((drawing.shorten(name) or label) + own_tasks)
        if band and (steps.high - steps.low > _MIN_BAND).any():
            filled = {"color": colours[i], "alpha": 0.2, "linewidth": 0}
            bands.append(ax.fill_between(x, steps.low, steps.high, step="post", **filled))
    if len(names) > len(drawing.COLOURS):
        names[last:] = [f"{len(names) - last} others"]
        del handles[len(drawing.COLOURS) :]
    if bands:
        handles.append(bands[0])
        names.append("from optimistic to pessimistic")
    if chance:
        handle_of_chance, label_of_chance = _draw_chance(ax, x, list(models.values()), colours)
        handles.append(handle_of_chance)
        names.append(label_of_chance)
    ax.spines[["top", "right"]].set_visible(False)
    facts = [(steps.tasks, steps.candidates, steps.weighting) for steps in models.values()]
    shared_facts = [values[0] for values in zip(*facts, strict=True) if len(set(values)) == 1]
    unlike = drawing.unlike_protocols(reports)
    drawing.draw_legend(ax, handles, names, ", ".join(filter(None, [*shared_facts, unlike])))
    ax.set_xscale("log")
    ax.set_xlim(1, x[-1])
    ax.set_xticks(ticks, [f"{k:,}" for k in ticks])
    ax.xaxis.set_minor_formatter("")  # It would label other ticks.


def _draw_chance(
    ax: Axes, x: IntArray, models: Sequence[Steps], colours: Sequence[str]
) -> tuple[Any, str]:
    """Draw chance of each model, in one line if it is the same; return handle and label."""
    curves = [steps.chance for steps in models]
    label = "chance, in the colour of each"
    if all(np.allclose(curve, curves[0], equal_nan=True) for curve in curves):
        curves = curves[:1]
        colours = ["black"]
        label = "chance"
    style = {"linestyle": ":", "linewidth": 1.4, "drawstyle": "steps-post"}
    lines = []
    for curve, colour in zip(curves, colours, strict=True):
        lines += ax.plot(x, curve, color=colour, **style)
    return lines[0], label


_EVERY_K_TO = 20  # Every cutoff up to here is a point; larger ones are spaced evenly.
_POINTS = 256  # So many cutoffs are spaced evenly on the logarithmic axis.


@public("truerank.plot")
def rank_distribution(
    reports: Report | Mapping[str, Report | Sequence[Report]],
    *,
    side: str | None = None,
    kind: str = "realistic",
    band: bool = True,
    chance: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of the tasks with each rank, in intervals that double.

    The intervals are the ranks 1, 2 to 3, 4 to 7, 8 to 15, and so on up to the greatest number of
    candidates. A rank between two whole numbers counts as the larger one, as in hits@k.

    Parameters
    ----------
    reports : Report, or mapping of name to Report or to several
        Each model is a line; several runs have their mean. The first six have colours, the others
        are grey.
    side : str, optional
        The side of the tasks. Default: all that are pooled.
    kind : str
        The kind of rank of the line.
    band : bool
        Draw what ties leave open: from the share of the tasks whose tie lies within the interval
        (both its optimistic and its pessimistic rank) to that of the tasks whose tie reaches into
        it. Every way to break ties gives a share in between. Where no task ties there is no band.
    chance : bool
        Draw the mean share under chance, where each rank of a task is equally likely.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Its lines are the models in their order, then chance.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        For a side that a report does not have.
    TypeError, ValueError
        For anything but Reports, if there are none, for an unknown kind, and for the recall of an
        index, whose hits have no order.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> ax = rank_distribution(report(Ranks([0, 0, 5, 2], [1, 1, 1, 1], 8)))
    >>> ax.get_lines()[0].get_ydata()[:-1].tolist()
    [0.5, 0.25, 0.25, 0.0]
    """
    models = drawing.read_runs(reports)
    every = [report for runs in models.values() for report in runs]
    _refuse_without_order(every)
    choice("kind", kind, tuple(metric_table.KINDS))
    ax = drawing.axes_for("truerank.plot.rank_distribution", ax, height=3.5 + 0.17 * len(models))
    most = _most_candidates(every, side)
    first_ranks = 2 ** np.arange(most.bit_length(), dtype=np.int64)  # of each interval
    edges = np.append(first_ranks, most + 1)
    last_ranks = edges[1:] - 1
    steps = {}  # One after the other, so that only one model's ranks are in memory.
    for name, runs in models.items():
        steps[name] = average_runs([_shares(run, side, kind, last_ranks) for run in runs])
    ticks_apart = math.ceil(len(first_ranks) / drawing.count_fitting(ax, f"{most:,}"))
    ticks = first_ranks[::ticks_apart].tolist()
    draw_steps(ax, edges, f"{kind} rank", steps, every, ticks, band=band, chance=chance)
    ax.set_ylim(bottom=0)
    if not any(len(report.ranks) for report in every):
        ax.set_ylim(top=1)
    ax.set_xlabel(f"{kind} rank (intervals double)")
    ax.set_ylabel("share of tasks")
    return ax


@public("truerank.plot")
def hits_curve(
    reports: Report | Mapping[str, Report | Sequence[Report]],
    *,
    side: str | None = None,
    kind: str = "realistic",
    band: bool = True,
    chance: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw hits@k for k from 1 to the greatest number of candidates.

    Parameters
    ----------
    reports : Report, or mapping of name to Report or to several
        Each model is a line; several runs have their mean. The first six have colours, the others
        are grey. Reports of retrieval have success@k of queries, the CMC curve of identification,
        whose realistic line is the mean over all orders of ties.
    side, kind, ax
        As in `rank_distribution`.
    band : bool
        Fill the area between the optimistic and the pessimistic curve. Where no task ties they are
        equal.
    chance : bool
        Draw the mean of hits@k under chance, where each rank of a task is equally likely.

    Returns
    -------
    matplotlib.axes.Axes
        Its lines are the models in their order, then chance. Every k up to 20 is a point; larger
        ones are spaced evenly on the logarithmic axis, with some 250 points in all.

    Raises
    ------
    ImportError, KeyError, TypeError, ValueError
        As `rank_distribution`.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> ax = hits_curve(report(Ranks([0, 0, 5, 2], [1, 1, 1, 1], 8)))
    >>> line = ax.get_lines()[0]
    >>> dict(zip(line.get_xdata().tolist(), line.get_ydata().tolist()))[3]
    0.75
    """
    models = drawing.read_runs(reports)
    every = [report for runs in models.values() for report in runs]
    _refuse_without_order(every)
    choice("kind", kind, tuple(metric_table.KINDS))
    ax = drawing.axes_for("truerank.plot.hits_curve", ax, height=3.5 + 0.17 * len(models))
    if any(report.model.answers is None for report in every):  # one right answer for each task
        most = max(_most_candidates(every, side), 2)
        compute = partial(_hits, side=side, kind=kind)
        label, y_label = f"{kind} rank", "Hits@k"
    else:
        most = max(2, *(int(each.candidates.max()) or each.protocol.depth or 0 for each in every))
        compute = partial(_success, kind=kind)
        label, y_label = "queries", "Success@k"
        chance = flag("chance", chance) and all(map(_has_candidates, every))
    apart = np.geomspace(1, most, _POINTS).round().astype(np.int64)
    cutoffs = np.unique(np.concatenate([np.arange(1, min(_EVERY_K_TO, most) + 1), apart]))
    steps = {}
    for name, runs in models.items():
        steps[name] = average_runs([compute(run, cutoffs=cutoffs) for run in runs])
    numbers = [one * 10**i for i in range(len(str(most))) for one in (1, 2, 5)]
    ticks = [k for k in numbers if k <= most]
    if most >= 1000:
        ticks = ticks[::3]  # These are the powers of ten alone.
    draw_steps(ax, cutoffs, label, steps, every, ticks, band=band, chance=chance)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("k")
    ax.set_ylabel(y_label)
    return ax


def _refuse_without_order(reports: Iterable[Report]) -> None:
    """Refuse lists of an index, of which is known how many are right, and not at which places."""
    for report in reports:
        if report.protocol.lists == HITS:
            expected = "reports whose answers have places"
            got = f"recall@{report.protocol.depth} alone, of an index"
            raise InputValueError("reports", expected=expected, got=got)


def average_runs(runs: Sequence[Steps]) -> Steps:
    """Return the mean curves of several runs of a model, with the facts of the first."""
    if len(runs) == 1:
        return runs[0]
    curves = [(run.line, run.low, run.high, run.chance) for run in runs]
    line, low, high, chance = np.mean(curves, axis=0)
    tasks = f"{runs[0].tasks} in each of {len(runs)} runs"
    return replace(runs[0], line=line, low=low, high=high, chance=chance, tasks=tasks)


def _success(report: Report, kind: str, cutoffs: IntArray) -> Steps:
    """Compute the steps of a report of retrieval."""
    # The mean over all orders of ties is what is called realistic here.
    order: Any = metric_table.EXPECTED_KIND if kind == metric_table.DEFAULT_KIND else kind
    answers: Any = report.model.answers
    chance = np.full(len(cutoffs), np.nan)
    if _has_candidates(report):
        chance = answers.success_by_chance(cutoffs.tolist())
    return Steps(
        line=report.success_at(cutoffs, order),
        low=report.success_at(cutoffs, "pessimistic"),
        high=report.success_at(cutoffs, "optimistic"),
        chance=chance,
        tasks=format_count(report.tasks(), "query"),
        candidates=_format_candidates(report.candidates),
    )


def _hits(report: Report, side: str | None, kind: str, cutoffs: IntArray) -> Steps:
    """Compute hits at the cutoffs."""
    sample = ranks_to_draw(report, side, kind)
    return Steps(
        line=hits_at(sample, cutoffs),
        low=hits_at(ranks_to_draw(report, side, "pessimistic"), cutoffs),
        high=hits_at(ranks_to_draw(report, side, "optimistic"), cutoffs),
        chance=chance_hits(sample, cutoffs),
        tasks=format_count(len(sample.ranks), "task"),
        candidates=_format_candidates(sample.candidates),
        weighting=report.weighting,
    )


def _shares(report: Report, side: str | None, kind: str, cutoffs: IntArray) -> Steps:
    """Compute the share of tasks in each interval of ranks, which a cutoff ends.

    The last share is there twice, as it ends its step.
    """
    hits = _hits(report, side, kind, cutoffs)
    best = ranks_to_draw(report, side, "optimistic")
    worst = ranks_to_draw(report, side, "pessimistic")
    # Over all ways to break ties, the least share is that of tasks whose tie lies within the
    # interval, and the greatest that of tasks whose tie reaches into it.
    intervals_of_best = np.searchsorted(cutoffs, best.ranks)
    intervals_of_worst = np.searchsorted(cutoffs, worst.ranks)
    left_out = len(cutoffs)  # an interval that has no sum
    is_within_one = intervals_of_best == intervals_of_worst
    intervals = np.where(is_within_one, intervals_of_best, left_out)
    sums, total = _weigh_intervals(intervals, best.weights, len(cutoffs))
    reached = np.clip(hits.high - np.append(0.0, hits.low[:-1]), 0.0, 1.0)
    line = np.diff(hits.line, prepend=0.0)
    chance = np.diff(hits.chance, prepend=0.0)
    shares = np.array([line, sums / total, reached, chance])
    line, low, high, chance = np.column_stack([shares, shares[:, -1]])
    return replace(hits, line=line, low=low, high=high, chance=chance)


def _has_candidates(report: Report) -> bool:
    """Whether it is known of queries what there was to order, as lists alone do not say it."""
    return report.protocol.candidates is not None and bool(report.candidates.all())


def _format_candidates(candidates: IntArray) -> str:
    if not candidates.all() or not len(candidates):
        return ""
    return describe_candidates(int(candidates.min()), int(candidates.max()))


def _most_candidates(reports: Sequence[Report], side: str | None) -> int:
    samples = (ranks_to_draw(report, side, metric_table.DEFAULT_KIND) for report in reports)
    return max(int(sample.candidates.max(initial=1)) for sample in samples)


def ranks_to_draw(report: Report, side: str | None, kind: str) -> Sample:
    """Return the ranks of a side and kind; None stands for the first side, usually "both"."""
    if report.model.answers is not None:
        expected = "reports of tasks with one right answer each"
        raise InputTypeError("reports", expected=expected, got="one of queries")
    if side is None:
        side = report.sides[0]
    report.model.check_side(side, key=side)
    return report.model.sample(side, kind)


def hits_at(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Return hits@k for all cutoffs k, which ascend: nan where no task has a weight above 0."""
    if sample.tied is not None:  # Each position of a tie has its share.
        shares = [values_of_tasks(METRICS["hits"], sample, k) for k in cutoffs.tolist()]
        return np.array([metric_table.weighted_mean(each, sample.weights) for each in shares])
    intervals = np.searchsorted(cutoffs, sample.ranks)
    sums, total = _weigh_intervals(intervals, sample.weights, len(cutoffs))
    return np.cumsum(sums) / total  # The sums come first, so that it equals the report's value.


def chance_hits(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Return hits@k under chance for all cutoffs."""
    if sample.weights is None:
        tasks = chance_model.group_tasks(sample.candidates)
    else:  # Chance is the same where tasks of one size all have their mean weight.
        sizes, codes, counts = np.unique(sample.candidates, return_inverse=True, return_counts=True)
        weights = metric_table.rescale_weights(sample.weights)
        weight_sums = np.bincount(codes, weights, minlength=len(sizes))
        tasks = chance_model.group_tasks((sizes, counts), weights=weight_sums / counts)
    hits = METRICS["hits"]
    moments = [chance_model.task_moments(hits, k, tasks) for k in cutoffs.tolist()]
    return np.array([mean for mean, _ in moments])


def _weigh_intervals(
    intervals: IntArray, weights: FloatArray | None, m: int
) -> tuple[FloatArray, float]:
    """Return what the tasks in each of m intervals weigh, and what all tasks do; nan: nothing.

    Tasks of an interval m are in none of them.
    """
    if weights is None:
        weights = np.ones(len(intervals))
    else:
        weights = metric_table.rescale_weights(weights)
    sums = np.bincount(intervals, weights, m + 1)[:m]
    return sums.astype(np.float64), float(weights.sum()) or math.nan


# -- groups ----------------------------------------------------------------------------------------


@public("truerank.plot")
def groups(
    report: Report,
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
        Draw the confidence interval of each value.
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
    instance("report", report, Report, "a Report")
    if report.by is None:
        raise InputValueError("report", NO_GROUPS, remedies=[GROUPS])
    positive_integer("most", most)
    choice("order", order, ("tasks", "value"))
    key = report.read_key(metric)
    confidence(level)
    values = report.group_values(metric)
    tasks = report.group_tasks(key.side)
    labels = [label for label, number in tasks.items() if number]
    labels.sort(key=tasks.__getitem__, reverse=True)
    if order == "value":
        sign = 1 if key.increasing is False else -1
        # Groups without a value come last, and those of equal values stay ordered by tasks.
        labels.sort(key=lambda label: (math.isnan(values[label]), sign * values[label]))
    shown = labels[:most]
    ax = drawing.axes_for("truerank.plot.groups", ax, 1.5 + _ROW_HEIGHT * max(len(shown), 2))
    widths = np.array([values[label] for label in shown])
    ax.barh(range(len(shown)), widths, height=0.68, color=drawing.COLOURS[5], zorder=1)
    for row in np.flatnonzero(np.isnan(widths)).tolist():
        ax.text(0, row, " no value", va="center", fontsize="small")
    handles, names = _draw_averages(ax, report, metric)
    if flag("interval", interval) and not why_no_interval(key):
        ends_of_row = {}
        for row, label in enumerate(shown):
            of_group = report.groups[label].interval(metric, level=level)
            if not math.isnan(of_group.low + of_group.high):
                ends_of_row[row] = of_group.low, of_group.high
        if ends_of_row:
            low, high = zip(*ends_of_row.values(), strict=True)
            lines = ax.hlines(list(ends_of_row), low, high, colors="black", linewidth=1.8, zorder=3)
            handles.append(lines)
            names.append(f"{100 * level:g} % interval")
    digits = len(f"{max(tasks.values(), default=0):,}")
    # These spaces are as wide as digits are.
    numbers = [f"{tasks[label]:\u2007>{digits},}" for label in shown]
    _write_rows(ax, list(map(label_text, shown)), numbers, report.grammar.units)
    ax.set_xlabel(key.title)
    title = f"{format_count(len(labels), 'group')} by {drawing.escape_formulas(report.by)}"
    if len(shown) < len(labels):
        title = f"{len(shown):,} of {title}"
    drawing.draw_legend(ax, handles, names, title)
    return ax


@public("truerank.plot")
def neighbours(models: Any, side: str = "left_to_right", *, ax: Axes | None = None) -> Axes:
    """Draw the shares of entities that are the first neighbour of none, of one and of more.

    Parameters
    ----------
    models : mapping of str to Neighbours, or Neighbours
        What `truerank.alignment.neighbours` returns, by the name of the model.
    side : {"left_to_right", "right_to_left"}
        The direction: from left to right, the entities are right ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Its patches are the bars: those of "none" by model, then those of "one" and of "more".

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError, ValueError
        For anything but Neighbours, no models, and an unknown side.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank import alignment
    >>> left = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> first = alignment.neighbours(left, np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), k=1)
    >>> [round(float(bar.get_width()), 2) for bar in neighbours({"A": first}).patches]
    [0.33, 0.33, 0.33]
    """
    by_name = dict(models) if isinstance(models, Mapping) else {"": models}
    shares: list[Any] = [getattr(model, "shares", None) for model in by_name.values()]
    if not shares or not all(isinstance(each, dict) for each in shares):
        got = type(models).__name__
        raise InputTypeError("models", expected="Neighbours by the names of models", got=got)
    choice("side", side, tuple(shares[0]))
    height = 1.5 + _ROW_HEIGHT * max(len(by_name), 2)
    ax = drawing.axes_for("truerank.plot.neighbours", ax, height)
    starts = np.zeros(len(shares))
    bars = {}
    for times, colour in _COLOURS_OF_SHARES.items():
        widths = np.array([each[side][times] for each in shares])
        rows = range(len(shares))
        bars[times] = ax.barh(rows, widths, 0.68, starts, color=drawing.COLOURS[colour])
        starts = starts + widths
    tied = [f"{model.tied[side]:,}" for model in by_name.values()]
    _write_rows(ax, list(map(str, by_name)), tied, "tied")
    ax.set_xlabel(f"share of entities, {side}")
    drawing.draw_legend(ax, list(bars.values()), list(bars), "first neighbour of")
    return ax


def _draw_averages(ax: Axes, report: Any, metric: str) -> tuple[list[Any], list[str]]:
    """Draw a line for each average that the report has; return them with their names."""
    handles = []
    names = []
    decimals = report.read_key(metric).decimals
    for prefix, name, dash in (("", "micro", "--"), (f"{MACRO}.", MACRO, "-.")):
        value = report.get(prefix + metric, math.nan)  # z has no macro average.
        if not math.isnan(value):
            handles.append(ax.axvline(value, color="black", linestyle=dash, linewidth=1))
            names.append(f"{name} {value:.{decimals}f}")
    return handles, names


def _write_rows(ax: Axes, names: Sequence[str], cells: Sequence[str], heading: str) -> None:
    """Name rows from the top down, and write a cell on the right of each, under a heading."""
    shown_names = [drawing.escape_formulas(drawing.shorten(name)) for name in names]
    ax.set_yticks(range(len(names)), shown_names, fontsize="small")
    ax.set_ylim(max(len(names) - 1, 0) + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    style = {"textcoords": "offset points", "fontsize": "small", "annotation_clip": False}
    for row, cell in enumerate(cells):
        xycoords = ("axes fraction", "data")
        ax.annotate(cell, xy=(1.0, row), xycoords=xycoords, xytext=(8, 0), va="center", **style)
    ax.annotate(heading, xy=(1.0, 1.0), xycoords="axes fraction", xytext=(8, 3), **style)
