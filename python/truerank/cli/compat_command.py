"""`truerank compat`: computes the numbers that other toolkits get from the same scores."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from ..compat.presets import PRESETS
from .app import Subcommand, emit, user_errors
from .files import COUNT_READERS, read_array, read_targets
from .options import (
    File,
    dtype_option,
    given_options,
    order_option,
    targets_argument,
)


@click.command(
    "compat", cls=Subcommand, short_help="Show what other toolkits make of the same scores."
)
@click.argument("scores", type=File)
@targets_argument
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
    scores: Path, targets: str | None, preset: str | None, style: str, **options: Any
) -> None:
    """Show the numbers that other toolkits get from the same scores, beside the exact ones.

    SCORES is a .npy file with one row for each task, and TARGETS has the column of each true
    candidate, as for evaluate. Without TARGETS, SCORES is a dump for OGB: an .npz or .pt file with
    y_pred_pos and y_pred_neg. NaN is not an error here, because each toolkit has a rule for it.

    \b
    truerank compat scores.npy targets.npy --filter filter.npz
    truerank compat scores.npy targets.npy --filter filter.npz --preset libkge
    truerank compat dump.npz --preset ogb
    """
    from ..compat import read_ogb, report, table  # other commands do not need them

    given = given_options(options)
    if targets is None and set(given) - {"order", "dtype"}:
        misplaced = ", ".join(f"--{name}" for name in given if name not in ("order", "dtype"))
        raise click.UsageError(f"{misplaced}: cannot be given without TARGETS")
    with user_errors():
        if targets is None:
            dump = read_ogb(scores)
            of_one, of_all = partial(dump.report, **given), partial(dump.table, **given)
        else:
            for name, reader in {**COUNT_READERS, "side": read_array}.items():
                if name in given:
                    given[name] = reader(f"--{name}", given[name])
            arguments = read_array("scores", scores), read_targets("TARGETS", targets)
            of_one, of_all = (
                partial(report, *arguments, **given),
                partial(table, *arguments, **given),
            )
        found = of_all() if preset is None else of_one(preset=preset)
    emit(found.to_json() if style == "json" else found.to_markdown())
