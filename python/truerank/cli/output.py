"""Prints results, in one way for all commands, and says how far a count has come."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from ..arrays.writing import replace_file
from ..inputs.progress_listeners import as_listener, size_text
from ..naming import printable, terminal_text
from ..tables.forms import write_json
from .files import check_outputs
from .options import Given, take

if TYPE_CHECKING:
    from pathlib import Path

    from .. import Progress
    from ..tables import AsTable

# Each style is written by this method of a result.
METHODS = {
    "text": "to_text",
    "json": "to_json",
    "markdown": "to_markdown",
    "csv": "to_csv",
    "spreadsheet": "to_csv",
    "latex": "to_latex",
    "html": "to_html",
}
# The ending of a file's name chooses its style.
ENDINGS = {
    ".txt": "text",
    ".json": "json",
    ".md": "markdown",
    ".csv": "csv",
    ".tex": "latex",
    ".html": "html",
}
START_AFTER = 0.5  # Runs of fewer seconds draw no bar.


def bar() -> Callable[[Progress], None]:
    """Return what draws a bar on a terminal, and says everywhere what a stopped run had counted."""
    draw = as_listener(sys.stderr is not None and sys.stderr.isatty())

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
    check_outputs(force="force" in printing, output=output, **outputs)
    style: str | None = "json" if "json" in printing else printing.get("style")
    if output is None:
        return style or "text"
    by_name = ENDINGS.get(output.suffix.lower(), style)
    if by_name is None:
        expected = f"one of {', '.join(ENDINGS)}"
    elif style is not None and METHODS[style] != METHODS[by_name]:
        of_style = next(end for end, name in ENDINGS.items() if METHODS[name] == METHODS[style])
        expected = f"{of_style}, as {style} is asked for"
    else:
        return style or by_name
    expected = f"expected a name that ends in {expected}, got {output}"
    raise click.BadParameter(expected, param_hint="--output")


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
    write_text(text, style, printing)


def write_text(text: str, style: str, printing: Given) -> None:
    """Print the text of a result, or write it to a file."""
    text = text.removesuffix("\n")
    output = printing.get("output")
    if output is not None:
        with replace_file(output) as file:
            file.write(f"{text}\n".encode(errors="backslashreplace"))
    elif style == "csv" and sys.stdout is not None and sys.stdout.isatty():
        click.echo(printable(text, keep="\n"))
    else:
        # Without `color` click would take out of names what it knows as colours.
        click.echo(text, color=True)


def text_in_style(result: AsTable, style: str, printing: Given) -> str:
    """Return a result as text; JSON has all digits, and takes no other options than metrics."""
    options = dict(printing)
    for keyword in ("json", "style", "output", "force"):
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
