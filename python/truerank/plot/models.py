"""A plot of models: a metric of each with its interval, or the differences from one of them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inference import Comparison, compare
from ..inference.comparing import corrected
from ..inference.comparisons import RATIO, format_notes, gather_notes
from ..inputs.checks import choice, confidence
from ..inputs.errors import InputValueError
from ..inputs.naming import public
from ..metrics.keys import increasing, parse
from ..reporting.notes import unlike_protocols
from ..reporting.repeats import Repeats
from ..reporting.reports import Report
from ..tables.cells import number
from .drawing import axes_for, check_named, colours_for, escape_formulas, shorten
from .rows import Bounds, interval_bounds, whiskers, width_for, write_rows
from .shares import check_has_ranks

if TYPE_CHECKING:
    from ..ranks.labels import LabelsLike
    from .drawing import Axes

_ROW_HEIGHT = 0.36  # inches
_NOTE_WIDTH = 72  # letters per line of notes
_DIRECTIONS = {True: ", more is better", False: ", less is better", None: ""}


@public("truerank.plot")
def comparison(
    reports: Report | Mapping[str, Report],
    metric: str = "mrr",
    *,
    against: str | None = None,
    level: float = 0.95,
    by: LabelsLike | None = "unit",
    allow_unlike: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric of several models with intervals, or their differences from one of them.

    The intervals of two models may overlap although one is better in nearly every task. Over the
    same tasks, the differences (`against`) say which model is better.

    Parameters
    ----------
    reports : Report, or mapping of name to Report
        Each report is a row, in the given order.
    metric : str
        Any key that all of them have.
    against : str, optional
        The name of a model. The rows are then the other models, with the difference of their value
        from that of this model (or the ratio, where `truerank.compare` has that), its interval, and
        the p-value of `truerank.compare`, corrected by Holm's rule.
    level : float
        The level of the intervals.
    by : str, labels or None
        The units, as in `truerank.compare`.
    allow_unlike : bool
        Draw reports side by side even if their protocols differ.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A report that was read from JSON is a dot without an interval.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        For an unknown metric, or one that a report does not have.
    TypeError, ValueError
        For anything but Reports, if there are none, for protocols that differ, an unknown name in
        `against`, no other model beside it, and reports without ranks with `against`; and where
        `Report.interval` and `truerank.compare` raise them.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> models = {"A": report(Ranks([0, 3], [1, 1], 9)), "B": report(Ranks([1, 3], [1, 1], 9))}
    >>> ax = comparison(models, "mr")
    >>> [line.get_xdata().tolist() for line in ax.get_lines()]
    [[2.5], [3.0]]
    >>> comparison(models, "mr", against="A").get_xlabel().splitlines()[0]
    'MR minus that of A, less is better, with 95 % intervals'
    """
    named = check_named("reports", reports, Report)
    confidence(level)
    if not allow_unlike:
        _refuse_unlike(named)
    options: dict[str, Any] = {"level": level, "by": by}
    if against is None:
        rows = [_value_row(name, one, metric, options) for name, one in named.items()]
        label = heading = parse(metric).title
        notes = gather_notes({row.name: row.bounds.notes for row in rows})
    else:
        found = _differences(named, metric, against, options, allow_unlike)
        rows, notes = [_difference_row(one) for one in found], format_notes(found)
        effect, base = found[0].effect, int(found[0].effect == RATIO)
        relation = "divided by" if base else "minus"
        label = f"{parse(metric).title} {relation} that of {shorten(against)}"
        heading = f"{effect}, p" + " (Holm)" * (len(rows) > 1)
    names = [row.name for row in rows]
    height, width = 1.4 + _ROW_HEIGHT * max(len(rows), 2), width_for(names)
    ax = axes_for("truerank.plot.comparison", ax, height, width)
    known = dict(zip(named, colours_for(len(named)), strict=True))
    colours = [known[name] for name in names]
    if against is not None:
        ax.axvline(base, color="black", linestyle=":", linewidth=1)
    for place, (row, colour) in enumerate(zip(rows, colours, strict=True)):
        ax.plot([row.value], [place], "o", color=colour, markersize=6, zorder=4)
    line = whiskers(ax, [row.bounds for row in rows], colours)
    write_rows(ax, names, [row.cell for row in rows], heading)
    ax.margins(x=0.08)
    sure = "" if line is None else f", with {100 * level:g} % intervals"
    lines = [f"{escape_formulas(label)}{_DIRECTIONS[increasing(metric)]}{sure}"]
    ax.set_xlabel(
        "\n".join([*lines, *(escape_formulas(textwrap.fill(note, _NOTE_WIDTH)) for note in notes)])
    )
    return ax


class _Row(NamedTuple):
    name: str
    value: float
    bounds: Bounds
    cell: str


def _value_row(name: str, report: Report, metric: str, options: Mapping[str, Any]) -> _Row:
    value = report[metric]
    return _Row(name, value, interval_bounds(report, metric, **options), number(value, 4))


def _differences(
    named: Mapping[str, Report],
    metric: str,
    against: str,
    options: Mapping[str, Any],
    allow_unlike: bool,
) -> list[Comparison]:
    """Compare each of the other models with one."""
    choice("against", against, tuple(named))
    if len(named) < 2:
        raise InputValueError("reports", expected=f"others than {against!r} to compare", got="none")
    reports = {name: check_has_ranks("reports", name, report) for name, report in named.items()}
    base = reports.pop(against)
    found = [
        compare(
            {name: report, against: base},
            metric=metric,
            allow_unlike=allow_unlike,
            **options,
        )[0]
        for name, report in reports.items()
    ]
    return corrected(found)


def _difference_row(found: Comparison) -> _Row:
    sign = "" if found.effect == RATIO else "+"
    cell = f"{found.estimate:{sign}.4g}, p {found.p_holm or 0.0:.3g}"
    return _Row(found.name_a, found.estimate, Bounds(found.low, found.high), cell)


def _refuse_unlike(named: Mapping[str, Report]) -> None:
    rows = {name: Repeats([report]) for name, report in named.items()}
    for note in unlike_protocols(rows):
        raise InputValueError("reports", f"{note} allow_unlike=True draws them all the same")
