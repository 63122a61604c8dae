"""The page of a report: what was evaluated, the results, and the audit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from ..inference.comparisons import gather_notes
from ..inputs.errors import InputTypeError
from ..metrics.keys import RELATION_SIDE, table_name
from ..metrics.kinds import DEFAULT_KIND
from ..reporting.axes import compose_key, unique_keys
from ..reporting.report_content import content_of, json_object
from ..tables import Table
from ..tables.cells import number
from . import descriptions, pictures
from .documents import (
    Section,
    bullet_list,
    cards,
    definition_list,
    document,
    download,
    paragraph,
    preformatted,
    save,
    side_by_side,
    table,
    tables,
)

if TYPE_CHECKING:
    import os

    from ..inference.intervals import Interval
    from ..reporting.any_report import AnyReport
    from ..reporting.reports import Report


DIGITS = 4
EXTREMES = 10  # the number of groups with the lowest values, and of those with the highest
MOST_GROUPS = 1000  # a page has all groups if there are no more
METRIC = "mrr"  # the metric that orders the groups


def groups_section(report: Report, with_plot: bool) -> str:
    """Draw the groups."""
    from ..plot import groups

    if not with_plot or report.by is None:
        return ""
    caption = f"{METRIC} of the groups with the most tasks, and how sure it is"
    return pictures.picture(partial(groups, report, METRIC), "groups", caption)


HEAD_METRICS = ("mrr", "hits@1", "hits@10", "mr", "amri")
CHANCE_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
DIGITS, FEW_DIGITS = 6, 4
NO_RANKS = (
    "This report was read from JSON, which holds no ranks: what needs them is missing here, "
    "namely plots of ranks and the comparison with chance."
)


class PageOptions(NamedTuple):
    """The options of the page of a report.

    Attributes
    ----------
    title : str
    metrics : sequence of str
        The keys at the head of the page; empty for the usual ones.
    intervals : mapping of str to Interval
    notes : sequence of str
        Lines on what was evaluated.
    command : str
        The command that was typed; empty if there was none.
    findings : sequence of str, or None
        Lines that replace those of the report's audit.
    """

    title: str
    metrics: Sequence[str] = ()
    intervals: Mapping[str, Interval] = {}
    notes: Sequence[str] = ()
    command: str = ""
    findings: Sequence[str] | None = None


def save_report(
    report: AnyReport,
    path: str | os.PathLike[str],
    title: str | None,
    metrics: Iterable[str],
    intervals: Iterable[str] | Mapping[str, Interval],
    notes: Iterable[str],
) -> None:
    """Check the options of `Report.save_html`, and write the page."""
    if title is not None and not isinstance(title, str):
        raise InputTypeError("title", expected="a str", got=type(title).__name__)
    if isinstance(notes, str):
        raise InputTypeError("notes", expected="several lines", got=f"the str {notes!r}")
    lines = list(notes)
    for line in lines:
        if not isinstance(line, str):
            raise InputTypeError("notes", expected="lines of text", got=type(line).__name__)
    pictures.check_library()
    measured = cast("Report", report)  # a report without `ranks` is handled by the page
    if not isinstance(intervals, Mapping):
        intervals = {key: measured.interval(key) for key in unique_keys(intervals, "intervals")}
    name = title_of(measured) if title is None else title
    save(path, page(measured, PageOptions(name, unique_keys(metrics), intervals, lines)))


def default_page(report: AnyReport) -> str:
    """Write the page of a report without options."""
    measured = cast("Report", report)
    return page(measured, PageOptions(title_of(measured)))


def page(report: Report, options: PageOptions) -> str:
    """Write the page of a report; the same report and options give the same text.

    Raises
    ------
    ImportError
        If matplotlib is not installed, where there are plots.
    KeyError
        For an unknown key.
    """
    ranked = hasattr(report, "ranks")
    with_plots = ranked and len(report.ranks) > 0
    keys = _head_keys(report, options)
    sections = [
        Section("What was evaluated", _evaluated(report, options, ranked)),
        Section("Audit", _audit(report, options)),
        Section("Metrics", _metrics(report)),
        Section("Against chance", _against_chance(report) if with_plots else ""),
        Section("Plots", _plots(report) if with_plots else ""),
        Section(f"By {report.by}", groups_section(report, with_plots)),
        Section("Cite and reproduce", _reproduce(report, keys, options)),
    ]
    return document(options.title, _head(report, keys, options.intervals), sections)


def title_of(report: Report) -> str:
    """The default title of a page.

    Examples
    --------
    >>> import truerank as tr
    >>> title_of(tr.report(tr.Ranks([0], [1], 10, protocol=tr.Protocol(split="test"))))
    'Evaluation of test'
    """
    split = report.protocol.split
    return f"Evaluation of {split}" if split else "Evaluation"


# -- sections --------------------------------------------------------------------------------------


def _head_keys(report: Report, options: PageOptions) -> list[str]:
    """The keys at the head: the given ones, or the usual ones that are known."""
    keys = unique_keys([*options.metrics, *options.intervals])
    if options.metrics:
        return keys
    usual = [compose_key(report.sides[0], DEFAULT_KIND, metric) for metric in HEAD_METRICS]
    usual = [key for key in usual if report.cell(key) is not None]
    return unique_keys([*usual, *keys])


def _head(report: Report, keys: Sequence[str], intervals: Mapping[str, Interval]) -> str:
    rows = []
    for key in keys:
        rows.append([table_name(key), number(report[key], FEW_DIGITS)])
        if key in intervals and not math.isnan(intervals[key].low):
            low, high = (number(b, FEW_DIGITS) for b in (intervals[key].low, intervals[key].high))
            rows[-1].append(f"{low} to {high}")
    kind = f"Realistic ranks unless a name says otherwise; {report.protocol}."
    notes = gather_notes({key: found.notes for key, found in intervals.items()})
    lines = [kind, *descriptions.interval_lines(intervals), *notes]
    return "\n".join([cards(rows), *(paragraph(line, "faint") for line in lines)])


def _evaluated(report: Report, options: PageOptions, ranked: bool) -> str:
    lines = report.table().notes
    notes = [] if ranked else [NO_RANKS]
    parts = [
        *map(paragraph, options.notes),
        definition_list(descriptions.describe_evaluation(report)),
    ]
    return "\n".join([*parts, *map(paragraph, [*lines, *notes])])


def _audit(report: Report, options: PageOptions) -> str:
    lines = options.findings
    if lines is None:
        lines = [str(found) for found in report.audit()]
    return (
        bullet_list(lines, "findings") if lines else paragraph("Nothing was found that is suspect.")
    )


def _metrics(report: Report) -> str:
    """A table of kinds of rank for each side; one table of all sides if no task ties."""
    return table(report.table())


def _against_chance(report: Report) -> str:
    """A table of the metrics' values under chance, and how far the report's are from them."""
    columns = ["value", "by chance", "deviation", "index", "z"]
    tables_by_side = []
    for side in report.sides:
        rows = []
        for metric in CHANCE_METRICS:
            key = compose_key(side, DEFAULT_KIND, metric)
            mean, variance = report.chance(key)
            index, z = (
                report[compose_key(side, DEFAULT_KIND, f"{a}.{metric}")] for a in ("index", "z")
            )
            values = (report[key], mean, math.sqrt(variance), index, z)
            rows.append([table_name(metric), *values])
        tables_by_side.append(Table([side, *columns], rows, digits=FEW_DIGITS))
    text = (
        "By chance every candidate is as likely as any other to have any rank. The index is 0 by "
        "chance and 1 where every rank is 1; z counts standard deviations, below 0 is better where "
        "less is better."
    )
    return paragraph(text) + tables(tables_by_side)


def _plots(report: Report) -> str:
    from ..plot import hits_curve, rank_distribution

    pools = [report.sides[0], *(side for side in report.sides[1:] if side == RELATION_SIDE)]
    plots = [
        ("ranks", rank_distribution, "How many tasks have which rank"),
        ("hits", hits_curve, "The share of tasks whose rank is at most k, and that by chance"),
    ]
    figures = [
        pictures.picture(
            partial(draw, report, side=side),
            f"{name}-{place}",
            caption if len(pools) == 1 else f"{caption} ({side})",
        )
        for name, draw, caption in plots
        for place, side in enumerate(pools)
    ]
    return side_by_side("".join(figures))


def _reproduce(report: Report, keys: Sequence[str], options: PageOptions) -> str:
    values = ", ".join(f"{key} {number(report[key], FEW_DIGITS)}" for key in keys)
    quoted = preformatted(descriptions.citation(report, values))
    parts = [paragraph("To be quoted with the numbers:"), quoted]
    if options.command:
        parts += [paragraph("This page was made by:"), preformatted(options.command)]
    text, whole = _embedded_json(report)
    parts.append(download(text, "report.json", "The report as JSON"))
    lost = "" if whole else " Its groups are not in it: they are too many."
    parts.append(paragraph(f"In Python, truerank.Report.from_json reads it.{lost}"))
    return "\n".join(parts)


def _embedded_json(report: Report) -> tuple[str, bool]:
    """Return the report as JSON, and whether it includes the groups."""
    if report.by is None or len(report.group_tasks(report.sides[0])) <= MOST_GROUPS:
        return report.to_json(indent=None), True
    stored = content_of(report, list(report), ())._replace(groups=None)
    return json.dumps(json_object(stored), allow_nan=False), False
