"""`truerank adjust`: adjusts a published number without its model."""

from __future__ import annotations

import math

import click

from ..metrics.published import adjust
from ..tables import Table
from ..tables.cells import format_count
from .options import COLUMNS, POSITIVE, PRINTING, WORD, Given, command, option, take
from .output import show


@command("adjust", PRINTING, short_help="Adjust a published number for chance.")
@click.argument("metric", type=WORD)
@click.argument("value", type=float)
@option(
    "--candidates",
    COLUMNS,
    "Number of candidates of every task, or a .npy file with a number for each task.",
    required=True,
)
@option("--tasks", POSITIVE, "Number of tasks. The head and the tail of a triple are two tasks.")
def adjust_value(given: Given) -> None:
    """Adjust a published number for chance, without its model.

    METRIC is mr, mrr, hits@10 or another metric. VALUE is the published number, such as 0.46, not
    as a percentage.

    \b
    truerank adjust mr 7000 --candidates 40943 --tasks 6268
    """
    printing = take(given, PRINTING)
    adjusted = adjust(given.pop("metric"), given.pop("value"), **given)
    numbers = {
        "published": adjusted.value,
        "expected by chance": adjusted.expectation,
        "standard deviation": math.sqrt(adjusted.variance),
        "ratio (1 is chance)": adjusted.ratio,
        "index (0 is chance, 1 perfect)": adjusted.index,
        "z (in standard deviations)": adjusted.z,
    }
    rows = [[name, f"{number:.6g}"] for name, number in numbers.items()]
    heading = [adjusted.metric, format_count(adjusted.tasks, "task")]
    show(Table(heading, rows), printing, adjusted._asdict())
