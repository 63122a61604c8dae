"""`truerank evaluate`: the metrics of scores in files, or of saved ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .. import Ranks, Report, load, rank, report
from ..errors import InputValueError
from ..stores.store import ShardStore
from .files import holds_ranks, note_file, open_store, read_columns
from .options import (
    COUNTING,
    LABEL,
    REPORTING,
    WORD,
    WORDS,
    Given,
    Value,
    command,
    option,
    take,
)
from .output import bar
from .report_output import SAVED, kind_of_report, report_of, rules_of, show_report

if TYPE_CHECKING:
    from ..reporting.base_report import BaseReport

AXES = {"rows": 0, "columns": 1}


def read_targets(name: str, text: str) -> Any:
    """Read columns as `read_columns` does; saved ranks in their place are of another model."""
    if text.lower().endswith(".npz") and holds_ranks(text):
        expected = f"a .npy file, or a number; `truerank compare RANKS {text}` takes saved ranks"
        raise InputValueError(name, expected=expected, got=text)
    return read_columns(name, text)


@command("evaluate", f"filter rows candidates {COUNTING} io split relevance_level {REPORTING}")
@click.argument("scores", type=WORD, required=False)
@click.argument("targets", type=Value(read_targets, "number|file"), required=False)
@option(
    "--shards axis",
    click.Choice(list(AXES)),
    "Whether each file of a pattern holds some of the rows (the default) or of the columns.",
)
@option("--member", WORD, "Name of the array in an .npz file.")
@option(
    "--side",
    LABEL,
    "What each task predicts: head or tail for all tasks, or .npy with a word for each. It is "
    "stored by --save, and can be added to saved ranks.",
)
@option("--relation", LABEL, "Relation of each task, stored likewise: .npy.")
@option("--queries", LABEL, "Query of each task, stored likewise: .npy.")
@option(
    "--filtered-by",
    WORDS,
    "Splits whose answers --filter leaves out, stored likewise: train,valid,test.",
)
def evaluate(given: Given) -> None:
    """Rank the true candidate of each task and report the metrics.

    SCORES has one row for each task (see --rows): a .npy or .npz file, the files of a pattern in
    quotes ("part-*.npy"). Files may be larger than memory. TARGETS is a .npy file with the column
    of each true candidate, or a number: one column for all tasks. SCORES may also be the .npz file
    of ranks that --save of any command wrote; then no TARGETS are given, and the report is that of
    this command. With --save FILE, a count that was stopped goes on from FILE.partial when the same
    line is run again.

    \b
    truerank evaluate scores.npy targets.npy --filter filter.npz --filtered-by train,valid
        --side tail --relation relations.npy --queries heads.npy --split test --save ranks.npz
    truerank evaluate "part-*.npy" targets.npy --shards columns --save ranks.npz
    truerank evaluate ranks.npz --metrics mrr,amri --by relation --interval
    """
    labels = take(given, "side relation queries")
    split = take(given, "split")
    filtered_by = given.pop("filtered_by", None)
    scores = given.pop("scores", None)
    count: Callable[[], Ranks]
    kind: type[BaseReport] = Report
    if scores is None:
        raise click.UsageError("Missing argument 'SCORES'.")
    rules = {}
    if holds_ranks(scores):
        what = SAVED
        saved_ranks = load(scores)
        kind = kind_of_report(saved_ranks)
        rules = rules_of(kind, given)
        count = partial(note_loaded, saved_ranks, scores)
    else:
        what = "scores"
        count = scores_counter(scores, given, labels)

    def counted() -> BaseReport:
        ranks = count().with_labels(**labels).with_protocol(**split)
        if filtered_by is not None:
            if not ranks.protocol.filter:
                raise InputValueError("--filtered-by", "these ranks are unfiltered")
            ranks = ranks.with_protocol(filter=filtered_by)
        return report_of(ranks, rules)

    saved = given.get("save")
    show_report(counted, given, what, kind=kind)
    if saved is not None and what == "scores":
        Path(f"{saved}.partial").unlink(missing_ok=True)


def note_loaded(ranks: Ranks, path: str) -> Ranks:
    """Return saved ranks; their file is noted only now, as the same line may save them in it."""
    note_file(path)
    return ranks


def check_shards(store: ShardStore, tasks: int) -> None:
    """Refuse files that were joined by rows where each has a row for every task."""
    rows = store.shape[0]
    if tasks != rows and all(shard.shape[0] == tasks for shard in store.shards):
        raise click.UsageError(
            f"expected {rows:,} targets, one for each row of the {len(store.shards)} files, got "
            f"{tasks:,}; --shards columns says that each file has columns of the same rows"
        )


def scores_counter(path: str, given: Given, labels: Given) -> Callable[[], Ranks]:
    """Return what counts the ranks of scores, with a checkpoint beside the file to save.

    Labels and groups are checked before, as a count may take long.
    """
    if "targets" not in given:
        ways = f"truerank retrieval --qrels QRELS --lists {path} --candidates N"
        raise click.UsageError(f"Missing argument 'TARGETS'; for lists it is `{ways}`")
    targets = given.pop("targets")
    stored = take(given, "member dtype io")
    if "axis" in given:
        stored["axis"] = AXES[given.pop("axis")]
    store = open_store(path, **stored)
    rules = take(given, "filter rows candidates order nan threads")
    if "rows" not in rules and np.ndim(targets) and isinstance(store, ShardStore):
        check_shards(store, len(targets))
    tasks = store.shape[0]
    of_tasks: Any = rules.get("rows", targets)
    if np.ndim(of_tasks):  # A single target is that of every row.
        tasks = len(of_tasks)
    blank = Ranks(np.zeros(tasks, np.int64), np.ones(tasks, np.int64), 2).with_labels(**labels)
    report(blank, by=given.get("by"), weights=given.get("weights"))
    rules["audit"] = "audit" in given
    rules["progress"] = bar()
    if "save" in given:
        rules["checkpoint"] = f"{given['save']}.partial"
    return lambda: rank(store, targets, **rules)
