"""Prints results: one way for all commands, and one for reports, their ranks and their page."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from .. import Report, report
from ..inference.units import describe_units
from ..inputs.naming import import_extra, printable, terminal_text
from ..inputs.progress_listeners import as_listener, size_text
from ..metrics import parse
from ..page import save as save_page
from ..reporting.columns import metric_column
from ..tables import AsTable, Table
from ..tables.forms import write_json
from ..tables.writing import replace_file
from .files import check_outputs, files_read
from .options import MEASURED, Given, refuse, take

if TYPE_CHECKING:
    from pathlib import Path

    from .. import Progress

# The method of a result that writes each style.
METHODS = {
    "text": "to_text",
    "json": "to_json",
    "markdown": "to_markdown",
    "csv": "to_csv",
    "spreadsheet": "to_csv",
    "latex": "to_latex",
    "html": "to_html",
}
# The style of a file, by the ending of its name.
ENDINGS = {
    ".txt": "text",
    ".json": "json",
    ".md": "markdown",
    ".csv": "csv",
    ".tex": "latex",
    ".html": "html",
}
SAVED = "saved ranks"
START_AFTER = 0.5  # seconds: shorter runs draw no bar


def bar() -> Callable[[Progress], None]:
    """Return what draws a bar for whoever looks at it, and says what a stopped run had counted."""
    draw: Any = as_listener(sys.stderr is not None and sys.stderr.isatty())

    def listen(progress: Progress) -> None:
        if progress.resumed and progress.done == progress.resumed:
            shares = f"{size_text(progress.resumed)} of {size_text(progress.total)}"
            click.echo(f"Resumed: {shares} had been counted before.", err=True)
        if draw is not None and progress.seconds > START_AFTER:
            draw(progress)

    return listen


def check_printing(printing: Given, **outputs: Path | None) -> str:
    """Check what is to be written, before anything is counted; return the style of the result."""
    output = printing.get("output")
    check_outputs(output=output, **outputs)
    if "json" in printing:
        return "json"
    if "style" in printing:
        return str(printing["style"])
    if output is None:
        return "text"
    if output.suffix.lower() not in ENDINGS:
        expected = f"expected a name that ends in one of {', '.join(ENDINGS)}, got {output}"
        raise click.BadParameter(expected, param_hint="--output")
    return ENDINGS[output.suffix.lower()]


def show(
    result: AsTable, printing: Given, content: object = None, lines: Sequence[str] = ()
) -> None:
    """Print a result, or write it to a file, in the form that was asked for.

    Parameters
    ----------
    result : AsTable
    printing : dict
        The options that say what is printed, and how.
    content : object
        What JSON has in place of what the result has.
    lines : sequence of str
        What follows a text; in other forms they go to standard error.
    """
    style = check_printing(printing)
    if style == "json" and content is not None:
        text = write_json(content, 2)
    else:
        text = text_in_style(result, style, printing)
    if lines and style == "text":
        text += "\n"
        for line in lines:
            text += f"\n{printable(line)}"
    elif style != "json":
        for line in lines:
            click.echo(printable(line), err=True)
    text = text.removesuffix("\n")
    output = printing.get("output")
    if output is not None:
        with replace_file(output) as file:
            file.write(f"{text}\n".encode(errors="backslashreplace"))
    elif style == "csv" and sys.stdout is not None and sys.stdout.isatty():
        click.echo(printable(text, keep="\n"))
    else:
        click.echo(text, color=True)  # or it would take what it knows for colours out of names


def text_in_style(result: AsTable, style: str, printing: Given) -> str:
    """Return a result as text; JSON has all digits, and takes no other options than metrics."""
    options = dict(printing)
    for keyword in ("json", "style", "output"):
        options.pop(keyword, None)
    if style == "json":
        return result.to_json(**take(options, "metrics"))
    if style == "spreadsheet":
        options["spreadsheet"] = True
    write = getattr(result, METHODS[style])
    return terminal_text(write(**options))


def command_line() -> str:
    """Return the command line as it was typed."""
    words = ["truerank"]
    words += click.get_current_context().find_root().obj
    return shlex.join(words)


# -- reports ---------------------------------------------------------------------------------------


def show_report(
    evaluate: Callable[[], Any],
    given: Given,
    what: str,
    *,
    findings: Sequence[str] = (),
    title: str | None = None,
) -> None:
    """Evaluate a task, save its ranks, print their report, and write its page.

    Parameters
    ----------
    evaluate : callable
        Returns the report of all tasks.
    given : dict
        The options of reports, of which none may be left.
    what : str
        What is evaluated, for the error that an option cannot apply to it.
    findings : sequence of str
        What --audit shows beside the findings of the report.
    title : str, optional
        The title of the page.
    """
    printing = take(given, MEASURED)
    saved = given.pop("save", None)
    grouping = take(given, "by weights seed")
    page = given.pop("html", None)
    has_audit = given.pop("audit", False)
    has_intervals = given.pop("interval", False)
    refuse(given, what)
    keys: list[str] = []
    if printing.get("metrics", "all") != "all":
        keys = printing["metrics"]
    if has_intervals and not keys:
        raise click.UsageError("--interval needs --metrics, whose intervals it gives")
    if page is not None:
        import_extra("matplotlib", "an HTML page", "plot")
    check_printing(printing, save=saved, html=page)
    needs_table_of_keys = has_intervals or any(map(_names_a_row, keys))

    made = evaluate()
    ranks = made.ranks
    if what != SAVED:
        ranks = ranks.with_protocol(files=files_read())
    if saved is not None:  # before anything else can fail
        ranks.save(saved)
    if grouping or not made.filters:
        made = report(ranks, **grouping)
    lines: list[str] = []
    if has_audit:
        lines.extend(findings)
        lines.extend(map(str, made.audit()))
        lines = lines or ["Nothing was found that makes these numbers suspect."]
    if page is not None:
        save_page(
            page,
            made,
            command=command_line(),
            title=title,
            metrics=keys or None,
            notes=findings,
        )
    if needs_table_of_keys:
        show_keys(made, keys, printing, lines, has_intervals=has_intervals)
    else:
        show(made, printing, lines=lines)


def _names_a_row(key: str) -> bool:
    """Return whether a key names a row of a report: a side, a kind of rank or macro averages."""
    parsed = parse(key)
    return parsed != parsed.alone._replace(adjustment=parsed.adjustment)


def show_keys(
    made: Report, keys: Sequence[str], printing: Given, lines: Sequence[str], *, has_intervals: bool
) -> None:
    """Print the values of some keys, perhaps with their intervals."""
    columns: list[Any] = ["number"]
    columns += [metric_column(key, percent="percent" in printing) for key in keys]
    rows: list[list[Any]] = [["value"] + [made[key] for key in keys]]
    notes: list[str] = []
    content = json.loads(made.to_json(keys))
    if has_intervals:
        intervals = {key: made.interval(key) for key in keys}
        for interval in intervals.values():
            units = describe_units(interval.units, interval.by)
            notes.append(f"{100 * interval.level:g} % intervals over {units}.")
            notes.extend(interval.notes)
        for name in ("low", "high", "method"):
            rows.append([name] + [getattr(interval, name) for interval in intervals.values()])
        content["intervals"] = {key: interval.to_dict() for key, interval in intervals.items()}
    table = Table(columns, rows, before=made.table().before, notes=dict.fromkeys(notes))
    rest = {name: value for name, value in printing.items() if name not in ("metrics", "percent")}
    show(table, rest, content, lines)
