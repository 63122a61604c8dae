"""`truerank adjust`: adjusts a published number, without its model."""

from __future__ import annotations

import math

import click

from ..metrics.chance_model.tails import spelled_method, spelled_p
from ..metrics.published import SIDES, SPLITS, adjust, data_set
from ..tables import Table
from ..tables.cells import format_count
from .options import COLUMNS, POSITIVE, PRINTING, WORD, Given, command, flag, option, take
from .output import show


@command("adjust", PRINTING, short_help="Adjust a published number for chance.")
@click.argument("metric", type=WORD)
@click.argument("value", type=float)
@option(
    "--candidates",
    COLUMNS,
    "Number of candidates of every task, or a .npy file with a number for each task.",
)
@option("--tasks", POSITIVE, "Number of tasks. The head and the tail of a triple are two tasks.")
@option("--dataset", WORD, "Data set, in place of --candidates and --tasks: wn18rr, fb15k237, ...")
@option("--split", click.Choice(SPLITS), "Split of --dataset. Default: test.")
@option("--side", click.Choice(SIDES), "What was predicted. Default: both.")
@flag("--filtered", "The ranking was filtered: known answers were not candidates.")
def adjust_value(given: Given) -> None:
    """Adjust a published number for chance, without its model.

    METRIC is mr, mrr, hits@10 or another metric. VALUE is the published number; write a percentage
    such as 46 as 0.46.

    \b
    truerank adjust mr 7000 --candidates 40943 --tasks 6268
    truerank adjust mrr 0.3 --dataset fb15k237 --filtered --json
    """
    printing = take(given, PRINTING)
    adjusted = adjust(**given)
    numbers = {
        "published": adjusted.value,
        "expected by chance": adjusted.expectation,
        "standard deviation": math.sqrt(adjusted.variance),
        "ratio (1 is chance)": adjusted.ratio,
        "index (0 is chance, 1 perfect)": adjusted.index,
        "z (in standard deviations)": adjusted.z,
    }
    rows = [[name, f"{number:.6g}"] for name, number in numbers.items()]
    method = spelled_method(adjusted.method, adjusted.accuracy)
    p_name, _, p = spelled_p(adjusted.log10_p).partition(" = ")
    rows.append([f"{p_name} (as good by chance)", f"{p} ({method})"])
    heading = [adjusted.metric, format_count(adjusted.tasks, "task")]
    notes = list(adjusted.notes)
    if "dataset" in given:
        entry = data_set(given["dataset"])
        if "note" in entry:
            notes.insert(0, f"{entry['name']}: {entry['note']}")
    asked = ("dataset", "split", "side", "filtered")
    content = {name: value for name, value in given.items() if name in asked}
    content |= adjusted.to_dict()
    show(Table(heading, rows, notes=notes), printing, content)
