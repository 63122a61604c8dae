"""`truerank compat`: computes the numbers that other toolkits get from the same scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..compat.presets import PRESETS
from .app import Subcommand, emit, user_errors
from .files import COUNT_READERS, read_array, read_targets
from .options import (
    File,
    check_not_blank,
    dtype_option,
    given_options,
    order_option,
)


@click.command(
    "compat", cls=Subcommand, short_help="Show what other toolkits make of the same scores."
)
@click.argument("scores", type=File)
@click.argument("targets", callback=check_not_blank)
@click.option("--preset", type=click.Choice(list(PRESETS)), help="Show one toolkit, step by step.")
@click.option(
    "--filter",
    type=File,
    help="Candidates that the toolkit filters, for each task: .npz as for evaluate.",
)
@click.option("--rows", type=File, help="Score row of each task: .npy.")
@click.option("--candidates", type=File, help="Candidates to rank among, as for evaluate.")
@order_option
@dtype_option()
@click.option(
    "--side",
    metavar="FILE",
    type=File,
    help="Side of each task, head or tail, in a .npy file: OpenKE averages both sides.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
)
def compare_conventions(
    scores: Path, targets: str, preset: str | None, style: str, **options: Any
) -> None:
    """Show the numbers that other toolkits get from the same scores, beside the exact ones.

    SCORES is a .npy file with one row for each task, and TARGETS has the column of each true
    candidate, as for evaluate. NaN is not an error here, because each toolkit has a rule for it.

    \b
    truerank compat scores.npy targets.npy --filter filter.npz
    truerank compat scores.npy targets.npy --filter filter.npz --preset libkge
    """
    from ..compat import report, table  # other commands do not need them

    given = given_options(options)
    with user_errors():
        for name, reader in {**COUNT_READERS, "side": read_array}.items():
            if name in given:
                given[name] = reader(f"--{name}", given[name])
        arguments = read_array("scores", scores), read_targets("TARGETS", targets)
        found = (
            table(*arguments, **given)
            if preset is None
            else report(*arguments, preset=preset, **given)
        )
    emit(found.to_json() if style == "json" else found.to_markdown())
