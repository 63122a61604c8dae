"""`truerank evaluate`: the metrics of scores in files, or of saved ranks."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .. import Ranks, load, rank, report
from ..arrays.input_files import open_input, read_npz
from ..arrays.saved_files import HEADER
from ..errors import InputValueError
from ..stores.store import ShardStore
from .options import (
    COUNTING,
    REPORTING,
    WORD,
    WORDS,
    Given,
    Value,
    command,
    note_file,
    option,
    read_columns,
    read_label,
    take,
)
from .output import SAVED, bar, open_store, show_report, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable


AXES = {"rows": 0, "columns": 1}
LABELS = {"side": "side", "relation": "relation", "query": "queries"}


def holds_ranks(path: str) -> bool:
    """Return whether a file is an archive of ranks, not of scores."""
    if not os.path.exists(path) or os.path.isdir(path):
        return False
    with open_input("scores", path) as file:
        is_archive = file.read(4) == b"PK\3\4"
    return is_archive and HEADER in read_npz("scores", path, ())[0]


def read_targets(name: str, text: str) -> Any:
    """Read columns as `read_columns` does; saved ranks in their place are of another model."""
    if text.lower().endswith(".npz") and holds_ranks(text):
        expected = f"a .npy file, or a number; `truerank compare RANKS {text}` takes saved ranks"
        raise InputValueError(name, expected=expected, got=text)
    return read_columns(name, text)


@command(
    "evaluate",
    f"filter rows candidates {COUNTING} io split relevance_level {REPORTING}",
    {"queries": "--labels query"},
)
@click.argument("scores", type=WORD, required=False)
@click.argument("targets", type=Value(read_targets, "number|file"), required=False)
@option(
    "--shards axis",
    tuple(AXES),
    "Whether each file of a pattern holds some of the rows (the default) or of the columns.",
)
@option("--member", WORD, "Name of the array in an .npz file.")
@option(
    "--labels",
    Value(read_label, "label=file", tuple(LABELS)),
    "The side, relation or query of the tasks, as side=tail (of all), or relation=r.npy (with one "
    "for each task). They are stored by --save, and can be added to saved ranks.",
)
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
        --labels side=tail --labels relation=relations.npy --labels query=heads.npy
        --split test --save ranks.npz
    truerank evaluate "part-*.npy" targets.npy --shards columns --save ranks.npz
    truerank evaluate ranks.npz --metrics mrr,amri --by relation --interval
    """
    labels = {LABELS[name]: value for name, value in given.pop("labels", {}).items()}
    split = take(given, "split")
    filtered_by = given.pop("filtered_by", None)
    scores = given.pop("scores", None)
    if scores is None:
        raise click.UsageError("Missing argument 'SCORES'.")
    count: Callable[[], Ranks]
    what = "scores"
    unit = "task"
    if holds_ranks(scores):
        what = SAVED
        saved_ranks = load(scores)
        unit = unit_of(saved_ranks)
        count = partial(note_loaded, saved_ranks, scores)
    else:
        count = scores_counter(scores, given, labels)

    def count_and_label() -> Ranks:
        ranks = count().with_labels(**labels).with_protocol(**split)
        if filtered_by is None:
            return ranks
        if not ranks.protocol.filter:
            raise InputValueError("--filtered-by", "these ranks are unfiltered")
        return ranks.with_protocol(filter=filtered_by)

    saved = given.get("save")
    show_report(count_and_label, given, what, unit=unit)
    if saved is not None and what == "scores":
        Path(f"{saved}.partial").unlink(missing_ok=True)


def note_loaded(ranks: Ranks, path: str) -> Ranks:
    """Return saved ranks; their file is noted only now, as the same line may save them in it."""
    note_file(path)
    return ranks


def scores_counter(path: str, given: Given, labels: Given) -> Callable[[], Ranks]:
    """Return what counts the ranks of scores, with a checkpoint beside the file to save.

    Labels and groups are checked before, as a count may take long.
    """
    if "targets" not in given:
        ways = f"truerank retrieval --qrels QRELS --lists {path} --candidates N"
        raise click.UsageError(f"Missing argument 'TARGETS'; for lists it is `{ways}`")
    targets = given.pop("targets")
    reading = take(given, "member dtype io")
    if "axis" in given:
        reading["axis"] = AXES[given.pop("axis")]
    store = open_store(path, **reading)
    rules = take(given, "filter rows candidates order nan threads")
    if "rows" not in rules and np.ndim(targets) and isinstance(store, ShardStore):
        check_shards(store, len(targets))
    tasks = store.shape[0]
    of_tasks: Any = rules.get("rows", targets)
    if np.ndim(of_tasks):  # A single target is that of every row.
        tasks = len(of_tasks)
    if labels or not given.keys().isdisjoint(("by", "weights")):
        blank = Ranks(np.zeros(tasks, np.int64), np.ones(tasks, np.int64), 2).with_labels(**labels)
        report(blank, by=given.get("by"), weights=given.get("weights"))
    rules["audit"] = "audit" in given
    rules["progress"] = bar()
    if "save" in given:
        rules["checkpoint"] = f"{given['save']}.partial"
    return lambda: rank(store, targets, **rules)


def check_shards(store: ShardStore, tasks: int) -> None:
    """Refuse files that were joined by rows where each has a row for every task."""
    rows = store.shape[0]
    if tasks != rows and all(shard.shape[0] == tasks for shard in store.shards):
        raise click.UsageError(
            f"expected {rows:,} targets, one for each row of the {len(store.shards)} files, got "
            f"{tasks:,}; --shards columns says that each file has columns of the same rows"
        )
