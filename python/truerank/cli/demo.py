"""Numbers of others again: `truerank demo`, `truerank compat` and `truerank adjust`.

The package ships the TransE model of Kinships (entity and relation vectors, triples) and the
figures published for it. `run` ranks both sides of its 1,074 test triples by the vectors, with
known answers filtered, and compares the metrics with the published ones. It counts again after
rounding the scores to bfloat16, which makes ties. Nothing is downloaded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from truerank import Ranks, Report, adjust, compat, report, score_embeddings

from ..link_prediction import Task
from ..tables import Column, Table
from . import options
from .options import Values, command, option, take
from .output import lay_out, show

FOLDER = Path(__file__).parents[1] / "data"
METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10", "median", "amr", "amri")


def load_model() -> SimpleNamespace:
    """Load the shipped model, TransE: tails are near h + r, heads are near t + r_inverse.

    `entities` is float32 (104, 256). `relations` is float32 (50, 256): 25 relations, then their
    inverses; the vectors of two relations that no test triple uses were not published and are zero.
    `train`, `valid` and `test` are uint8 (n, 3): head, relation, tail. `entity_labels` and
    `relation_labels` are their names.
    """
    with np.load(FOLDER / "kinships_transe.npz", allow_pickle=False) as file:
        return SimpleNamespace(**file)


def make_task(model: SimpleNamespace) -> Task:
    """Make the task that predicts the head and the tail of each test triple."""
    known = {"train": model.train, "valid": model.valid}
    return Task(
        model.test, known=known, entities=model.entity_labels, relations=model.relation_labels
    )


def query_vectors(model: SimpleNamespace, task: Task) -> dict[str, Any]:
    """Compute the vectors of "head" and "tail" queries, float32 (triples, 256)."""
    heads, relations, tails = task.test.T
    return {
        "head": model.entities[tails] + model.relations[relations + len(model.relations) // 2],
        "tail": model.entities[heads] + model.relations[relations],
    }


def rank_sides(model: SimpleNamespace) -> tuple[Ranks, Ranks]:
    """Count the filtered ranks of heads, then tails, in float32 and rounded to bfloat16.

    >>> exact, rounded = rank_sides(load_model())
    >>> len(exact), int(exact.tied.max()), bool(rounded.tied.max() > 1)
    (2148, 1, True)
    """
    task = make_task(model)
    vectors = query_vectors(model, task)
    exact = task.evaluate_embeddings(**vectors, entities=model.entities, similarity="l1")
    scores: dict[str, Any] = {}
    for side, queries in vectors.items():
        bits = score_embeddings(queries, model.entities, similarity="l1").view(np.uint32)
        halfway = 0x7FFF + ((bits >> 16) & 1)  # Ties are rounded to even.
        scores[side] = ((bits + halfway) >> 16).astype(np.uint16).view("V2")
    rounded = task.evaluate_scores(**scores, dtype="bfloat16")
    return exact.ranks, rounded.ranks


def disagreements(measured: Report, figures: Mapping[str, float]) -> list[str]:
    """List the published figures that `measured` does not confirm, in one sentence each.

    Optimistic and pessimistic figures were computed from whole numbers in float64, so that only the
    order of a sum may differ; one rank that is off by one would change the mean rank by 1e-5. The
    authors' realistic ranks, and the expected ranks in adjusted figures, were float32.
    """
    wrong = []
    for key, figure in figures.items():
        _, kind, metric = key.split(".")
        was_float32 = kind == "realistic" or metric in ("amr", "amri")
        tolerance = 1e-6 if was_float32 else 1e-12
        if not math.isclose(measured[key], figure, rel_tol=tolerance):
            wrong.append(f"{key}: published {figure!r}, measured {measured[key]!r}")
    return wrong


def run(*, percent: bool = False) -> tuple[Table, list[str]]:
    """Evaluate the shipped model: a table of measured and published figures, and `disagreements`.

    >>> table, wrong = run()
    >>> table["mr"][:2], wrong
    ([4.934823091247672, 4.934823036193848], [])
    """
    exact, rounded = map(report, rank_sides(load_model()))
    published = json.loads((FOLDER / "kinships_transe.json").read_text(encoding="utf-8"))
    figures = published["figures"]
    rows = []
    for side in ("head", "tail", "both"):
        keys = [f"{side}.realistic.{metric}" for metric in METRICS]
        rows.append([side] + [exact[key] for key in keys])
        rows.append([f"{side}, published"] + [figures[key] for key in keys])
    for kind in ("optimistic", "realistic", "pessimistic"):
        rows.append([f"bfloat16, {kind}"] + [rounded[f"{kind}.{metric}"] for metric in METRICS])
    measured = exact.table(METRICS, percent=percent).columns
    columns = [Column("realistic ranks")]
    columns += [column for column in measured if column.name in METRICS]

    tasks = len(exact.ranks)
    line = (
        f"{published['model']} on {published['dataset']}: head and tail of {tasks // 2:,} test "
        f"triples, {tasks:,} filtered tasks."
    )
    wrong = disagreements(exact, figures)
    notes = [f"{len(figures) - len(wrong)} of {len(figures)} published figures agree."]
    notes += wrong
    return lay_out(columns, rows, notes, before=(line,)), wrong


@command("demo", options.MEASURED)
def demo(values: Values) -> None:
    """Evaluate again a published model, which is part of the package.

    The exit code is 1 if a measured figure differs from the published one.

    \b
    truerank demo --percent
    """
    table, wrong = run(percent=values.pop("percent", False))
    show(table, values)
    if wrong:
        raise click.exceptions.Exit(1)


@command("compat", "filter rows candidates order dtype metrics", options.PRINTING)
@click.argument("scores", type=options.ARRAY)
@click.argument("targets", type=options.COLUMNS)
@option("--preset", tuple(compat.PRESETS), "Show one toolkit, step by step.")
@option(
    "--labels",
    options.Value(options.read_array, "side=file", ("side",)),
    "Side of each task, head or tail: side=S.npy. OpenKE averages both sides.",
)
def compare_conventions(values: Values) -> None:
    """Show the numbers that other toolkits get from the same scores, and the exact ones.

    SCORES is a .npy file with one row for each task, and TARGETS has the column of each true
    candidate, as for evaluate. NaN is not an error here, because each toolkit has a rule for it.

    \b
    truerank compat scores.npy targets.npy --filter filter.npz
    truerank compat scores.npy targets.npy --filter filter.npz --preset libkge
    """
    printing = take(values, f"metrics {options.PRINTING}")
    values |= values.pop("labels", {})
    convert = compat.report if "preset" in values else compat.table
    show(convert(**values), printing)


@command("adjust", options.PRINTING)
@click.argument("metric", type=options.WORD)
@click.argument("value", type=float)
@option(
    "--candidates",
    options.COLUMNS,
    "Number of candidates of every task, or a .npy file with a number for each task.",
    required=True,
)
@option(
    "--tasks", options.POSITIVE, "Number of tasks. The head and the tail of a triple are two tasks."
)
def adjust_value(values: Values) -> None:
    """Adjust a published number for chance, without its model.

    METRIC is mr, mrr, hits@10 or another metric. VALUE is the published number, such as 0.46, not
    as a percentage.

    \b
    truerank adjust mr 7000 --candidates 40943 --tasks 6268
    """
    printing = take(values, options.PRINTING)
    adjusted = adjust(values.pop("metric"), values.pop("value"), **values)
    numbers = {
        "published": adjusted.value,
        "expected by chance": adjusted.expectation,
        "standard deviation": math.sqrt(adjusted.variance),
        "ratio (1 is chance)": adjusted.ratio,
        "index (0 is chance, 1 perfect)": adjusted.index,
        "z (in standard deviations)": adjusted.z,
    }
    rows = [[name, f"{number:.6g}"] for name, number in numbers.items()]
    heading = [adjusted.metric, "1 task" if adjusted.tasks == 1 else f"{adjusted.tasks:,} tasks"]
    show(Table(heading, rows), printing, dict(vars(adjusted)))
