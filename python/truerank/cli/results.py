"""What is printed of a report: all of it or chosen keys, and what is suspect, in a format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..html.documents import save
from ..html.report_page import Options, page
from ..metrics import parse
from .display import draw_report
from .frame import drawn, emit, in_style, reading_data, typed
from .sheets import TOLD, WHOLE, chosen_sheet, found_lines

if TYPE_CHECKING:
    from pathlib import Path

    from ..comparison.resampling import Interval
    from ..reporting.reports import Report
    from .runs import Wanted


def check_averages(
    metrics: Sequence[str], by: str | None, macro_weights: str | None, interval: bool
) -> None:
    """Refuse intervals of nothing, and macro averages that there cannot be."""
    if interval and not metrics:
        raise click.UsageError("--interval needs --metrics, whose intervals it gives")
    if macro_weights is None:
        return
    if by is None:
        raise click.UsageError("--macro-weights needs --by, whose groups it weighs")
    macro = [key for key in metrics if parse(key).macro]
    if interval and macro:
        raise click.UsageError(
            f"--interval and --macro-weights: expected one of them, as {macro[0]} has an interval "
            "where every group counts once"
        )


def bounds_of(measured: Report, wanted: Wanted, interval: bool) -> dict[str, Interval]:
    """The intervals of the keys that are wanted, if they are."""
    keys = wanted.keys if interval else []
    with reading_data():
        return {key: measured.interval(key, by=wanted.by, seed=wanted.seed) for key in keys}


def report_text(measured: Report, wanted: Wanted, style: str, bounds: dict[str, Interval]) -> str:
    """All of a report, or the keys that are wanted, perhaps with their intervals."""
    if wanted.keys:
        return in_style(chosen_sheet(measured, wanted.keys, bounds), style)
    return drawn(draw_report, measured) if style == "table" else WHOLE[style](measured)


def with_findings(text: str, lines: Sequence[str], style: str) -> str:
    """A text and what was found below it; JSON has it anyway, of a CSV it is told beside."""
    if style in TOLD:
        return f"{text.rstrip()}\n\n{TOLD[style](lines)}"
    if style == "csv" and sys.stderr is not None:
        sys.stderr.write("".join(f"{line}\n" for line in lines))
    return text


def with_heading(text: str, lines: Sequence[str], facts: dict[str, Any], style: str) -> str:
    """A text below some lines; JSON has the facts themselves, a CSV has no place for them."""
    if style == "json":
        return json.dumps({**json.loads(text), **facts}, indent=2, allow_nan=False)
    if style not in TOLD:
        return text
    gap = "\n" if style == "table" else "\n\n"
    return f"{TOLD[style](lines).rstrip()}{gap}{text}"


def audit_lines(measured: Report) -> list[str]:
    """What the audit of a report found."""
    return found_lines(measured.audit())


@contextmanager
def with_page(html: Path | None, page: Callable[[], str]) -> Iterator[None]:
    """Write a page, if it is wanted, after a text is printed, and where nobody reads that."""
    try:
        yield
    finally:
        if html is not None:
            with reading_data():
                save(html, page())


class Evaluated(NamedTuple):
    """What is said of a task beside its report.

    Attributes
    ----------
    title : str
        Of the page.
    heading : list of str
        What was ranked, a line each.
    facts : dict
        The same for JSON.
    audit : str
        What was found in the task itself, below a first line that the heading has.
    """

    title: str
    heading: list[str]
    facts: dict[str, Any]
    audit: str


def tell_task(
    about: Evaluated,
    measured: Report,
    wanted: Wanted,
    style: str,
    *,
    interval: bool,
    audit: bool,
    html: Path | None,
) -> None:
    """Print the report of a task, and write its page."""
    bounds = bounds_of(measured, wanted, interval)
    text = report_text(measured, wanted, style, bounds)
    text = with_heading(text, about.heading, {"task": about.facts}, style)
    lines = []
    if audit or html is not None:
        lines = [*about.audit.split("\n")[1:], *audit_lines(measured)]
    if audit:
        text = with_findings(text, lines, style)
    shown = Options(about.title, wanted.keys, bounds, about.heading, typed(), lines)
    with with_page(html, lambda: page(measured, shown)):
        emit(text)
