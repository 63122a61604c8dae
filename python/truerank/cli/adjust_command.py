"""`truerank adjust`: adjusts a published number, without its model."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from ..metrics import chance
from ..metrics.published import SIDES, SPLITS, adjust, data_set, known_candidates
from .app import Subcommand, emit, error_text, user_errors
from .files import read_targets
from .options import style_option
from .output import FORMATS, adjusted_sheet


@click.command("adjust", cls=Subcommand)
@click.argument("metric")
@click.argument("value", type=float)
@click.option(
    "--candidates",
    metavar="N|FILE",
    help="Number of candidates of every task, or a .npy file with a number for each task.",
)
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    help="Number of tasks. The head and the tail of a triple are two tasks.",
)
@click.option(
    "--dataset",
    metavar="NAME",
    help="Data set, in place of --candidates and --tasks: wn18rr, fb15k237, ...",
)
@click.option("--split", type=click.Choice(SPLITS), help="Split of --dataset. Default: test.")
@click.option("--side", type=click.Choice(SIDES), help="What was predicted. Default: both.")
@click.option(
    "--filtered", is_flag=True, help="The ranking was filtered: known answers were not candidates."
)
@style_option
def adjust_value(
    metric: str,
    value: float,
    candidates: str | None,
    dataset: str | None,
    style: str,
    **options: Any,
) -> None:
    """Adjust a published number for chance, without its model.

    METRIC is mr, mrr, hits@10 or another metric. VALUE is the published number; write a percentage
    such as 46 as 0.46.

    \b
    truerank adjust mr 7000 --candidates 40943 --tasks 6268
    truerank adjust mrr 0.3 --dataset fb15k237 --filtered --format json
    """
    given = {name: option for name, option in options.items() if option}
    misplaced = [f"--{name}" for name in ("split", "side", "filtered") if name in given]
    if misplaced and dataset is None:
        raise click.UsageError(f"{', '.join(misplaced)}: cannot be given without --dataset")
    counts: Any = candidates
    if candidates is not None:
        with user_errors():
            counts = read_targets("--candidates", candidates)
            if not isinstance(counts, int):
                chance("mr", counts)  # checks the numbers in the file
    try:
        found = adjust(metric, value, candidates=counts, dataset=dataset, **given)
    except (KeyError, TypeError, ValueError) as error:  # about values on the command line
        raise click.UsageError(error_text(error)) from error
    about = {} if dataset is None else data_set_facts(dataset, **given)
    emit(FORMATS[style](adjusted_sheet(found, about)))


def data_set_facts(
    dataset: str, split: str = "test", side: str = "both", filtered: bool = False
) -> dict[str, Any]:
    """Describe the data set whose candidates a number was adjusted by."""
    facts = data_set(dataset)
    values, multiplicities, exact = known_candidates(dataset, split, side, filtered)
    low, high = int(values.min()), int(values.max())
    mean = float(np.average(values, weights=multiplicities))
    spread = f"{low:,}" if low == high else f"{low:,} to {high:,} ({mean:,.2f} on average)"
    if not exact:
        spread = f"at least {low:,} ({mean:,.2f} on average), at most {facts['entities']:,}"
    sides = "head and tail" if side == "both" else side
    how = "filtered" if filtered else "unfiltered"
    return {
        "summary": f"{facts['name']}, {split}, {sides}, {how}: {spread} candidates.",
        "note": facts.get("note"),
        "dataset": facts["name"],
        "split": split,
        "side": side,
        "filtered": filtered,
    }
