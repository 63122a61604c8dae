"""`truerank alignment`: from pairs, and vectors or similarities, to the whole report."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..embeddings.vectors import SIMILARITIES
from .files import is_file, read_array
from .frame import reading_data
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
from .pairs import LAYOUTS, evaluated, labelled, make_task, of_data, of_files, open_model, words_of
from .predicting import stand_in, told
from .results import Evaluated, check_averages, tell_task
from .runs import Wanted, check_page, check_place
from .triples import known_splits
from .words import SPLITS, completing, some_of

if TYPE_CHECKING:
    from ..alignment.pair_task import Task

RULES = ("duplicates", "leaks")
CANDIDATES = ("all", "test", "unaligned")


def candidates_of(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[Path, Path] | str | None:
    """The candidates by name, or a file of ids for each graph."""
    if text is None or text in CANDIDATES:
        return text
    paths = [Path(word) for word in text.split(",")]
    if len(paths) == 2 and all(path.suffix == ".npy" for path in paths):
        return paths[0], paths[1]
    raise click.BadParameter(
        f"expected {', '.join(CANDIDATES)}, or two .npy files as left.npy,right.npy, got {text!r}"
    )


@click.command("alignment")
@click.argument("files", type=File, nargs=-1, metavar="[LEFT RIGHT] [PAIRS]")
@click.option("--scores", type=File, help="In place of vectors: similarities, left by right.")
@click.option("--train", type=File, help="Known pairs, left out as candidates.")
@click.option("--valid", type=File, help="The same.")
@click.option(
    "--known",
    metavar="NAME=FILE",
    multiple=True,
    callback=known_splits,
    help="The same, of any name; as often as wanted.",
)
@click.option(
    "--left-labels",
    type=File,
    help="The names of left entities in the pairs, a line for each row of LEFT. Without it, text "
    "holds the numbers of rows, from 0; .npy does anyway.",
)
@click.option("--right-labels", type=File, help="The same of right entities.")
@click.option(
    "--data", type=File, metavar="FOLDER", help="A data set, whose pairs are taken for PAIRS."
)
@click.option(
    "--layout", type=click.Choice(LAYOUTS), help="Of --data: what it looks like, if not given."
)
@click.option(
    "--fold",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Of --data: the fold whose test pairs are ranked, the others being known. Without it, "
    "all pairs of OpenEA's layout are ranked.",
)
@click.option(
    "--candidates",
    metavar="NAME|FILES",
    callback=candidates_of,
    shell_complete=completing(some_of(*CANDIDATES), files=True),
    help="all entities of the other graph (the default), those of the test pairs (test), all but "
    "those that known pairs align (unaligned), or left.npy,right.npy of ids.",
)
@click.option(
    "--similarity", type=click.Choice(SIMILARITIES), help="Of two vectors: cosine, if none."
)
@click.option(
    "--csls",
    type=click.IntRange(min=1),
    metavar="K",
    help="Take off mean similarities to the K nearest candidates, of both entities.",
)
@order_option
@io_option
@dtype_option()
@click.option(
    "--split",
    metavar="NAME",
    callback=not_blank,
    shell_complete=completing(SPLITS),
    default="test",
    help="Ranked, if not test.",
)
@rule_option("duplicates", "pairs", "that repeat an earlier one")
@rule_option("leaks", "pairs", "that are known")
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
def align(
    files: tuple[Path, ...],
    candidates: tuple[Path, Path] | str | None,
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
    """Evaluate entity alignment: pairs, and vectors or similarities, ranked in both directions.

    LEFT and RIGHT are .npy files with a vector for each entity of the two graphs, those without a
    counterpart too, which --similarity compares and whose scores are never stored; or a model is
    its --scores. PAIRS are lines of a left and a right entity with a tab between them (perhaps
    gzipped), or .npy of row numbers. The other counterparts that PAIRS and known pairs give an
    entity are left out of its candidates.

    With --data, pairs and names are those of a data set in the layout of DBP15k or OpenEA, rows of
    vectors in the order of its entities, and --by degree tells results by the number of triples.

    \b
    truerank alignment left.npy right.npy test.tsv --train train.tsv --csls 10
    truerank alignment left.npy right.npy --data D_W_15K_V2 --fold 1 --by degree
    truerank alignment --scores similarities.npy test.npy --candidates test --save ranks.npz
    """
    check_averages(metrics, by, macro_weights, interval)
    given = {name: value for name, value in given_of(options).items() if value != {}}
    words = words_of(files, given)
    with ExitStack() as stack:
        with reading_data():
            model = open_model(words, given, stack)
            if words.pairs is None:
                asked = of_data(split, given)
            else:
                asked = of_files(words.pairs, split, given, model)
            read = [*model.files, *asked.files]
            if isinstance(candidates, tuple):
                read += map(str, candidates)
                candidates = tuple(read_array("--candidates", path) for path in candidates)  # type: ignore[assignment]
            named = [path for path in (by, weights) if path is not None and is_file(path)]
            if save is not None:
                check_place(save, [*read, *named])
            check_page(html, save, [*read, *named])
            labels, masses = read_named("--by", by), read_named("--weights", weights)
            wanted = Wanted(metrics, seed, labels, masses, macro_weights)
            keywords = {name: given[name] for name in RULES if name in given}
            with told(quietly=audit):
                task = make_task(
                    asked, model, split=split, candidates=candidates or "all", **keywords
                )
        wanted.of(labelled(stand_in(task), task, asked.data))  # refused before the work
        with reading_data():
            ranks = evaluated(task, model, given, audit).ranks.with_protocol(files=read)
            ranks = labelled(ranks, task, asked.data)
            if save is not None:  # before anything else can fail
                ranks.save(save)
    measured = wanted.of(ranks)
    about = Evaluated(f"Entity alignment of {split}", heading(task), facts(task), str(task.audit))
    tell_task(about, measured, wanted, style, interval=interval, audit=audit, html=html)


def heading(task: Task) -> list[str]:
    """What is ranked, in two lines."""
    first, *_ = str(task.audit).split("\n")
    among = candidate_counts(task)
    sides = []
    for name, side in task.sides.items():
        few = f"{among[name]:,} of " * (among[name] < side.columns)
        sides.append(f"{name} {len(side.queries):,} (among {few}{side.columns:,} entities)")
    return [first, f"distinct queries: {', '.join(sides)}"]


def facts(task: Task) -> dict[str, Any]:
    """The same for JSON, with the audit of the pairs."""
    among = candidate_counts(task)
    sides = {
        name: {
            "tasks": len(side),
            "queries": len(side.queries),
            "candidates": among[name],
            "columns": side.columns,
        }
        for name, side in task.sides.items()
    }
    return {"sides": sides, "audit": task.audit.to_dict()}


def candidate_counts(task: Task) -> dict[str, int]:
    """How many entities each direction looks among."""
    if task.candidates is None:
        return {name: side.columns for name, side in task.sides.items()}
    left, right = task.candidates
    return {"left_to_right": len(right), "right_to_left": len(left)}
