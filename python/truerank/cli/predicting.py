"""`truerank link-prediction`: from triples, and vectors or scores, to the whole report."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import Ranks, concatenate
from ..comparison.table_writer import counted
from ..embeddings.vectors import SIMILARITIES
from ..link_prediction import Sampled, Task
from ..tasks.task import ProtocolTask as AnyTask
from .files import is_file, read_array
from .frame import reading_data, warn
from .models import AMONG, evaluated, model_of, open_model
from .options import (
    File,
    Keys,
    audit_option,
    by_option,
    dtype_option,
    given_of,
    html_option,
    interval_option,
    io_option,
    macro_option,
    metrics_option,
    nan_option,
    not_blank,
    order_option,
    read_named,
    rule_option,
    seed_option,
    style_option,
    threads_option,
    weights_option,
)
from .results import Evaluated, check_averages, tell_task
from .runs import Wanted, check_page, check_place
from .triples import CANDIDATES, candidates_of, keys_of, known_splits, make_task, named_splits
from .words import SIDE_WORDS, SPLITS, completing, some_of

TRIPLES = ("duplicates", "leaks", "unseen")


def sides_of(_context: click.Context, _option: click.Parameter, text: str) -> tuple[str, ...]:
    """Sides between commas, in their order."""
    words = {word.strip() for word in text.split(",")}
    if not words <= AMONG.keys():
        raise click.BadParameter(f"expected some of {', '.join(AMONG)}, got {text!r}")
    return tuple(side for side in AMONG if side in words)


@click.command("link-prediction")
@click.option("--test", type=File, required=True, help="The triples to be ranked.")
@click.option("--train", type=File, help="Known triples, left out as candidates.")
@click.option("--valid", type=File, help="The same.")
@click.option(
    "--known",
    metavar="NAME=FILE",
    multiple=True,
    callback=known_splits,
    help="The same, of any name; as often as wanted.",
)
@click.option("--entities", type=File, help="A vector for each entity: .npy.")
@click.option("--queries-tail", type=File, help="Vectors that are compared with the tails: .npy.")
@click.option("--queries-head", type=File, help="Vectors that are compared with the heads: .npy.")
@click.option("--relations", type=File, help="A vector for each relation, to predict it.")
@click.option("--queries-relation", type=File, help="Vectors that are compared with relations.")
@click.option(
    "--similarity", type=click.Choice(SIMILARITIES), help="Of a query and an entity: dot, if none."
)
@click.option("--bias", type=File, help="A number for each entity, added to its scores: .npy.")
@click.option("--scores-tail", type=File, help="In place of vectors: a score for each entity.")
@click.option("--scores-head", type=File, help="The same for heads; files as for evaluate.")
@click.option("--scores-relation", type=File, help="The same for relations.")
@order_option
@io_option
@dtype_option()
@click.option(
    "--unique", is_flag=True, help="Rows are those of the distinct queries, not of --test."
)
@click.option(
    "--sides",
    default="head,tail",
    show_default=True,
    callback=sides_of,
    shell_complete=completing(SIDE_WORDS, several=True),
    metavar="SIDE,...",
    help="What is predicted: head, tail, relation.",
)
@click.option(
    "--entity-labels",
    type=File,
    help="The names in --test and the others, a line for each row of --entities. In the order of "
    "their letters, if not given.",
)
@click.option("--relation-labels", type=File, help="The same of relations.")
@click.option(
    "--ids", is_flag=True, help="Text holds ids of what has no labels, not names; .npy does anyway."
)
@click.option(
    "--keys",
    metavar="COLUMN,...|none",
    callback=keys_of,
    help="Which further columns of the triples, from 3 on (a time, say), are part of every query: "
    "all of them, if not given.",
)
@click.option(
    "--candidates",
    metavar="NAME|FILE",
    callback=candidates_of,
    shell_complete=completing(some_of(*CANDIDATES), files=True),
    help="all (the default), train (entities of --train), typed (seen there with the relation), "
    "sampled:100 or sampled-typed:100 (so many negatives), or .npy of ids.",
)
@click.option(
    "--split",
    metavar="NAME",
    callback=not_blank,
    shell_complete=completing(SPLITS),
    default="test",
    help="Of --test, if not test.",
)
@rule_option("duplicates", "triples", "that repeat an earlier one")
@rule_option("leaks", "triples", "that are known")
@rule_option("unseen", "triples", "with an entity or relation that is not in --train")
@nan_option
@threads_option
@metrics_option
@by_option
@weights_option
@macro_option
@interval_option
@seed_option
@audit_option
@click.option("--save", type=File, help="Keep the ranks in an .npz file, for any later metric.")
@html_option
@style_option
def predict_links(
    test: Path,
    train: Path | None,
    valid: Path | None,
    known: dict[str, Path],
    sides: tuple[str, ...],
    ids: bool,
    keys: tuple[int, ...] | None,
    candidates: Sampled | Path | str | None,
    split: str,
    metrics: Keys,
    by: str | None,
    weights: str | None,
    macro_weights: str | None,
    interval: bool,
    seed: int,
    audit: bool,
    save: Path | None,
    html: Path | None,
    style: str,
    **options: Any,
) -> None:
    """Evaluate link prediction: triples, and vectors or scores, to filtered ranks and metrics.

    Triples are lines of head, relation and tail with tabs between them (perhaps gzipped), or .npy
    of ids. A model is vectors of entities and of queries, which --similarity compares and whose
    scores are never stored; or it is its scores. Row i of queries and of scores belongs to triple i
    of --test. What --train, --valid, --known and --test hold is left out of the candidates of a
    query, but never the answer asked for: without known triples, those of --test alone.

    \b
    truerank link-prediction --train train.txt --valid valid.txt --test test.txt
        --entities E.npy --queries-tail T.npy --queries-head H.npy --similarity l1 --by relation
    truerank link-prediction --train train.txt --test test.txt
        --scores-tail tails.npy --scores-head "heads-*.npy" --save ranks.npz
    """
    check_averages(metrics, by, macro_weights, interval)
    given = given_of(options)
    splits = named_splits(split, test, train, valid, known)
    model = model_of(sides, given)
    if isinstance(candidates, Sampled):
        candidates = candidates._replace(seed=seed)
    with ExitStack() as stack:
        with reading_data():
            found = open_model(model, given, stack)
            others = ("bias", "entity_labels", "relation_labels")
            files = [*found.files, *map(str, splits.files().values())]
            files += [str(given[name]) for name in others if name in given]
            if isinstance(candidates, Path):
                files.append(str(candidates))
                candidates = read_array("--candidates", candidates)  # type: ignore[assignment]
            named = [path for path in (by, weights) if path is not None and is_file(path)]
            if save is not None:
                check_place(save, [*files, *named])
            check_page(html, save, [*files, *named])
            labels, masses = read_named("--by", by), read_named("--weights", weights)
            wanted = Wanted(metrics, seed, labels, masses, macro_weights)
            rules = {name: given[name] for name in TRIPLES if name in given}
            keywords = {"sides": sides, "candidates": candidates, "keys": keys, **rules}
            with told(quietly=audit):
                task = make_task(splits, ids, found, given, **keywords)
        wanted.of(stand_in(task))  # what cannot fit is refused before the work
        with reading_data():
            ranks = evaluated(task, model, found, given, audit).ranks.with_protocol(files=files)
            if save is not None:  # before anything else can fail
                ranks.save(save)
    measured = wanted.of(ranks)
    about = Evaluated(f"Link prediction of {split}", heading(task), facts(task), str(task.audit))
    tell_task(about, measured, wanted, style, interval=interval, audit=audit, html=html)


@contextmanager
def told(quietly: bool) -> Iterator[None]:
    """Say warnings in a line each, or not at all where they will be told below."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        if not (quietly and issubclass(warning.category, UserWarning)):
            warn(str(warning.message))


def stand_in(task: AnyTask) -> Ranks:
    """Ranks with the sides and labels of a task, before anything is counted."""
    parts = []
    for side in task.sides.values():
        n = len(side)
        bare = Ranks(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 2)
        parts.append(side.labelled(bare))
    return concatenate(parts)


def heading(task: Task) -> list[str]:
    """What is ranked, in two lines."""
    first, *_ = str(task.audit).split("\n")
    sides = ", ".join(
        f"{name} {len(side.queries):,} (among {side.columns:,} {AMONG[name]})"
        for name, side in task.sides.items()
    )
    relations = counted(len(np.unique(task.test[:, 1])), "relation")
    return [first, f"{relations}; distinct queries: {sides}"]


def facts(task: Task) -> dict[str, Any]:
    """The same for JSON, with the audit of the triples."""
    sides = {
        name: {"tasks": len(side), "queries": len(side.queries), "columns": side.columns}
        for name, side in task.sides.items()
    }
    return {"sides": sides, "audit": task.audit.to_dict()}
