"""`truerank bench`: measures how fast this machine reads memory and counts."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import __version__
from ..inputs.progress_listeners import size_text
from ..tables.table_writer import TextGrid, format_count
from .app import Subcommand, emit, user_errors
from .bandwidth import LEAST_BYTES, MOST_BYTES, SECONDS, Bandwidth, Rate, measure
from .options import style_option
from .output import Sheet, Write, format_sheet
from .progress import ProgressBar

UNIT_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNIT_BYTES |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parse_bytes(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """Parse a number of bytes, written with or without a unit."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2].upper() not in UNIT_BYTES:
        raise click.BadParameter(f"expected bytes such as 500MB or 2GB, got {text!r}")
    nbytes = round(float(match[1]) * UNIT_BYTES[match[2].upper()])
    if nbytes < LEAST_BYTES:
        raise click.BadParameter(f"expected at least {LEAST_BYTES:,} bytes, got {nbytes:,}")
    return nbytes


@click.command(
    "bench", cls=Subcommand, short_help="Measure how fast this machine reads and counts scores."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=SECONDS,
    show_default=True,
    help="Roughly how long it may take.",
)
@click.option(
    "--size",
    metavar="BYTES",
    callback=parse_bytes,
    help=f"Size of the scores in memory, such as 500MB. Default: a quarter of the free memory, at "
    f"most {size_text(MOST_BYTES)}.",
)
@click.option(
    "--file",
    "folder",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder for a file while it is measured. Default: the temporary folder.",
)
@style_option
def bench(seconds: float, size: int | None, folder: Path | None, style: str) -> None:
    """Measure how fast this machine reads memory, and how fast it counts.

    Counting reads every score once, so no count is faster than a pass that only reads. Both run in
    turn over the same random scores, with one thread and with all allowed threads, and the best
    rate of each is shown. The pages of the file are in memory, too: it is read as a memory map.

    \b
    truerank bench
    truerank bench --seconds 5 --size 500MB --format json
    """
    with user_errors(), ProgressBar() as bar:
        bandwidth = measure(seconds, size, folder=folder, progress=bar.show)
    emit(format_sheet(bench_sheet(bandwidth), style))


def bench_sheet(bandwidth: Bandwidth) -> Sheet:
    """Make the sheet of the rates, with a row for each kind of scores and number of threads."""
    lines = [
        f"truerank {__version__}, {bandwidth.isa}, numpy {np.__version__}, {platform.system()} "
        f"{platform.machine()}: {size_text(bandwidth.nbytes)} of random scores, best of "
        f"alternating runs in {bandwidth.seconds:.3g} s, "
        f"{format_count(bandwidth.threads, 'thread')} allowed.",
        *(f"Not measured: {line}." for line in bandwidth.skipped),
    ]

    def grids(_write: Write) -> list[TextGrid]:  # digits fit for a timing
        columns = ["scores", "threads", "read, GB/s", "counted, GB/s", "ratio", "scores/s"]
        return [TextGrid(columns, [table_cells(rate) for rate in bandwidth.rates])]

    records = [rate_record(rate) for rate in bandwidth.rates]
    facts = {"truerank": __version__, "numpy": np.__version__, "system": platform.system()}
    facts |= {"machine": platform.machine()}
    content = {**facts, **bandwidth._asdict(), "rates": records}
    return Sheet(lines, grids, list(records[0]), [list(r.values()) for r in records], content)


def table_cells(rate: Rate) -> list[str]:
    """Return the cells of a row of the table."""
    return [
        rate.scores,
        str(rate.threads),
        f"{rate.read / 1e9:.2f}",
        f"{rate.counted / 1e9:.2f}",
        f"{rate.ratio:.2f}",
        f"{rate.scores_per_second:.3g}",
    ]


def rate_record(rate: Rate) -> dict[str, Any]:
    """Return the same with all digits, in bytes per second."""
    return {**rate._asdict(), "ratio": rate.ratio, "scores_per_second": rate.scores_per_second}
