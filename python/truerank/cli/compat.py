"""`truerank compat`: computes the numbers that other toolkits get from the same scores."""

from __future__ import annotations

import click

from ..compat.presets import PRESETS
from .options import ARRAY, COLUMNS, PRINTING, Given, command, option, take
from .output import show


@command(
    "compat",
    f"filter rows candidates order dtype metrics {PRINTING}",
    short_help="Show what other toolkits make of the same scores.",
)
@click.argument("scores", type=ARRAY)
@click.argument("targets", type=COLUMNS)
@option("--preset", click.Choice(list(PRESETS)), "Show one toolkit, step by step.")
@option("--side", ARRAY, "Side of each task, head or tail: .npy. OpenKE averages both sides.")
def compare_conventions(given: Given) -> None:
    """Show the numbers that other toolkits get from the same scores, beside the exact ones.

    SCORES is a .npy file with one row for each task, and TARGETS has the column of each true
    candidate, as for evaluate. NaN is not an error here, because each toolkit has a rule for it.

    \b
    truerank compat scores.npy targets.npy --filter filter.npz
    truerank compat scores.npy targets.npy --filter filter.npz --preset libkge
    """
    from ..compat import report, table  # Other commands do not need them.

    printing = take(given, f"metrics {PRINTING}")
    if "preset" in given:
        show(report(**given), printing)
    else:
        show(table(**given), printing)
