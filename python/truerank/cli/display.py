"""What the command line draws on a terminal: lines and tables, and the demonstration."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from ..comparison.table_writer import Grid, number
from ..reporting.reports import Report
from .demo import KINDS, METRICS, Demo

if TYPE_CHECKING:
    from .sheets import Sheet


def grid(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column holds names and whose others hold numbers.

    Parameters
    ----------
    console
        Where it will be printed: without lines if that is not a terminal.
    columns, rows
        The heading, and the cells of each row.

    Returns
    -------
    rich.table.Table

    Examples
    --------
    >>> console = Console(width=40)
    >>> console.print(grid(console, ["metric", "value"], [["mr", "4.5"]]))
    metric  value
    mr        4.5
    """
    # the edges of this box are blank lines
    lines = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=lines, show_edge=False, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def draw_report(report: Report, console: Console) -> None:
    """Print the default metrics by kind of rank, one table for each side, then the groups.

    Parameters
    ----------
    report
        What was measured; its ranks may carry labels of sides.
    console
        Where it goes.

    Examples
    --------
    >>> import truerank as tr
    >>> draw_report(tr.report(tr.Ranks([0, 3], [1, 1], [9, 9])), Console())  # doctest: +SKIP
    """
    shown = report._text(None, None, None, 6)
    draw_grids(shown.before, shown.grids, console)


def draw_sheet(sheet: Sheet, console: Console) -> None:
    """Print what a command found: lines, then tables with six significant digits.

    Parameters
    ----------
    sheet
        What was found.
    console
        Where it goes.

    Examples
    --------
    >>> import truerank as tr
    >>> from truerank.cli.sheets import chosen_sheet
    >>> found = chosen_sheet(tr.report(tr.Ranks([0, 7], [1, 1], 10)), ["mr"], {})
    >>> draw_sheet(found._replace(told=["two tasks"]), Console(width=40))
    two tasks
    <BLANKLINE>
    key  value
    mr     4.5
    """
    draw_grids(sheet.told, sheet.grids(lambda value: number(value, 6)), console)


def draw_grids(lines: Sequence[str], tables: Iterable[Grid], console: Console) -> None:
    """Print lines, and tables with an empty line before each but the first thing.

    Parameters
    ----------
    lines
        What comes first.
    tables
        What follows.
    console
        Where it goes.

    Examples
    --------
    >>> from truerank.comparison.table_writer import Grid
    >>> draw_grids(["two tasks"], [Grid(["metric", "value"], [["mr", "4.5"]])], Console(width=40))
    two tasks
    <BLANKLINE>
    metric  value
    mr        4.5
    """
    for line in lines:
        console.print(line)
    begun = bool(lines)
    for table in tables:
        if begun:
            console.print()
        console.print(grid(console, table.columns, table.rows))
        begun = True


def draw_demo(demo: Demo, console: Console) -> None:
    """Print what the demonstration measured.

    Parameters
    ----------
    demo
        The measurements.
    console
        Where they go.

    Examples
    --------
    >>> from truerank.cli.demo import run
    >>> draw_demo(run(), Console(width=100))  # doctest: +SKIP
    """
    published, speed = demo.published, demo.speed
    tied, tied_exactly = demo.rounded.ranks.tied, demo.exact.ranks.tied
    total, wrong = len(published.figures), len(demo.disagreements)

    def heading(text: str) -> None:
        console.print(f"\n{text}", style="bold")

    console.print(
        f"{published.model} on {published.dataset}: head and tail of {len(tied) // 2:,} test "
        f"triples, {len(tied):,} filtered tasks."
    )
    console.print(textwrap.fill(f"The model was {published.source}.", 90))

    heading("Measured, beside what was published (realistic ranks)")
    columns = ["metric", "head", "published", "tail", "published", "both", "published"]
    rows = []
    for metric in METRICS:
        keys = [f"{side}.realistic.{metric}" for side in ("head", "tail", "both")]
        cells = (value for key in keys for value in (demo.exact[key], published.figures[key]))
        rows.append([metric, *(f"{value:.6f}" for value in cells)])
    console.print(grid(console, columns, rows))
    console.print(
        f"{total - wrong} of {total} published figures agree: optimistic and pessimistic ones to "
        "the last digit;\nrealistic and adjusted ones to 1e-6, as float32 went into them."
    )
    for line in demo.disagreements:
        console.print(line, style="bold red")

    heading("The same scores rounded to bfloat16 (both sides)")
    rows = []
    for metric in METRICS:
        rounded = (demo.rounded[f"{kind}.{metric}"] for kind in KINDS)
        rows.append([metric, *(f"{value:.6f}" for value in (*rounded, demo.exact[metric]))])
    console.print(grid(console, ["metric", *KINDS, "in float32"], rows))
    console.print(
        f"{(tied > 1).sum():,} of {len(tied):,} tasks tie ({(tied > 1).mean():.1%}); the largest "
        f"tie has {tied.max()} candidates. In float32 {(tied_exactly > 1).sum():,} tie."
    )

    heading("Speed")
    console.print(
        f"The tasks above, from vectors to counts in both dtypes: {demo.seconds * 1e3:.0f} ms.\n"
        f"{speed.rows:,} x {speed.columns:,} random float32 scores in memory: "
        f"{speed.rate:.3g} scores/s ({speed.rate * 4e-9:.1f} GB/s), "
        f"{speed.threads} {'thread' if speed.threads == 1 else 'threads'}, {speed.isa}.\n"
        "The same counts with numpy's (s > t).sum(1) and (s == t).sum(1): "
        f"{speed.numpy_seconds / speed.seconds:.1f} times as long."
    )
