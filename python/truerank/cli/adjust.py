"""`truerank adjust`: adjusts published numbers without their models, and checks them."""

from __future__ import annotations

import math

import click

from ..metrics.published import SIDES, SPLITS, Adjusted, adjust, data_set
from ..metrics.published_checks import Printed, read_printed
from ..naming import printable
from ..tables import Table
from ..tables.cells import format_count
from .options import (
    COLUMNS,
    INPUT,
    POSITIVE,
    PRINTING,
    WORD,
    Given,
    Value,
    command,
    flag,
    option,
    refuse,
    take,
)
from .output import show
from .published_tables import AdjustedRow, facts_in_words, read_table, table_of_rows

NUMBER = Value(read_printed, "number|percentage")
ASKED = "dataset split side filtered"


@command("adjust", PRINTING, short_help="Adjust published numbers for chance, and check them.")
@click.argument("metric", type=WORD, required=False)
@click.argument("value", type=NUMBER, required=False)
@option(
    "--table",
    INPUT,
    "In place of METRIC and VALUE, a table of published numbers: CSV, whose first line names the "
    "columns. Those of metrics are adjusted (MR, MRR, Hits@10, with (%) for percentages); dataset, "
    "split, side, filtered, candidates and tasks say it for each row; others name the row.",
)
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
    """Adjust published numbers for chance, without their model.

    METRIC is mr, mrr, hits@10 or another metric. VALUE is the published number, such as 0.46, or a
    percentage with its sign, such as 46%. The numbers of each row of a --table are also checked
    against each other: whether ranks can have them all (Hits@1 <= MRR, MRR >= Hits@10 / 10, MR >= 1
    / MRR, and bounds by all hits, by the candidates and by the tasks). A number is as exact as its
    digits, or --digits where a spreadsheet left out zeros. What is impossible is named with its
    line below the table, and the exit code is 1.

    \b
    truerank adjust mr 7000 --candidates 40943 --tasks 6268
    truerank adjust mrr 0.3 --dataset fb15k237 --filtered --json
    truerank adjust --table published.csv --dataset fb15k237 --filtered --format csv
    """
    printing = take(given, PRINTING)
    if "table" in given:
        path = given.pop("table")
        refuse(take(given, "metric value"), "--table")
        table = read_table("--table", path, given, printing.get("digits"))
        rows = [AdjustedRow.of(row) for row in table]
        findings = [text for row in rows for text in row.findings()]
        if findings and not any(row.adjusted for row in rows):
            raise click.ClickException(printable(findings[0]))
        show(table_of_rows(rows), printing, [row.content() for row in rows], findings)
        if findings:
            raise click.exceptions.Exit(1)
        return
    for name in ("metric", "value"):
        if name not in given:
            raise click.UsageError(f"Missing argument '{name.upper()}'.")
    metric = given.pop("metric")
    value: Printed = given.pop("value")
    show_adjusted(adjust(metric, value.value, **given), given, printing)


def show_adjusted(adjusted: Adjusted, given: Given, printing: Given) -> None:
    """Print a number beside what chance gives, with the data that it is of."""
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
    notes = list(adjusted.notes)
    if "dataset" in given:
        entry = data_set(given["dataset"])
        if "note" in entry:
            notes.insert(0, f"{entry['name']}: {entry['note']}")
    content = take(dict(given), ASKED) | adjusted.to_dict()
    before = [f"{facts_in_words(given)}."]
    show(Table(heading, rows, before=before, notes=notes), printing, content)
