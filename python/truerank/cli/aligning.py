"""`truerank alignment`: from pairs, and vectors or similarities, to the whole report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from ..alignment.analyses.buckets import bucket_labels
from ..alignment.datasets.graphs import degrees
from ..alignment.datasets.readers import read_dbp15k, read_openea
from ..alignment.datasets.text_tables import optional_file
from ..alignment.pair_task import Task
from ..embeddings.vectors import SIMILARITIES
from ..inputs.errors import InputValueError, renamed
from ..ranks.labels import Labels
from .app import reading_data
from .completion import completing, some_of
from .files import read_array
from .options import (
    QUOTED,
    File,
    dtype_option,
    given_of,
    io_option,
    nan_option,
    order_option,
    report_options,
    rule_option,
    split_option,
    threads_option,
    written,
)
from .protocol_runs import (
    Model,
    evaluated,
    known_options,
    making,
    measured,
    named_splits,
    picked,
    read_names,
    refuse_others,
    scores_of,
)
from .wanted import About, Wanted, tell

if TYPE_CHECKING:
    from .. import Ranks, Report
    from ..alignment.datasets.graphs import AlignmentData, Graph

CANDIDATES = ("all", "test", "unaligned")
READERS: dict[str, Callable[[Path, int | None], AlignmentData]] = {
    "dbp15k": lambda folder, fold: read_dbp15k(folder),
    "openea": read_openea,
}
# Options that name the pairs or their entities, which a data set does itself.
OF_FILES = ("train", "valid", "known", "left_labels", "right_labels")
OF_DATA = ("layout", "fold")
# What errors call an argument, and what the command line does; of a task, and of its evaluation.
LABELS = {"left": "--left-labels", "right": "--right-labels"}
ARGUMENTS = {
    **{"left": "LEFT", "right": "RIGHT", "scores": "--scores", "csls": "--csls"},
    **{"candidates[0]": "--candidates, the first", "candidates[1]": "--candidates, the second"},
}


def candidates_of(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[Path, ...] | str | None:
    """The candidates by name, or a file of ids for each graph."""
    if text is None or text in CANDIDATES:
        return text
    paths = tuple(Path(word) for word in text.split(","))
    if len(paths) == 2 and all(path.suffix == ".npy" for path in paths):
        return paths
    raise click.BadParameter(
        f"expected {', '.join(CANDIDATES)}, or two .npy files as left.npy,right.npy, got {text!r}"
    )


@click.command("alignment")
@click.argument("files", type=File, nargs=-1, metavar="[LEFT RIGHT] [PAIRS]")
@click.option("--scores", type=File, help="In place of vectors: similarities, left by right.")
@known_options("pairs")
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
    "--layout",
    type=click.Choice(list(READERS)),
    help="Of --data: what it looks like, if not given.",
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
@split_option("Ranked, if not test.", default="test")
@rule_option("duplicates", "pairs", "that repeat an earlier one")
@rule_option("leaks", "pairs", "that are known")
@nan_option
@threads_option
@report_options()
def align(files: tuple[Path, ...], candidates: Any, split: str, **options: Any) -> None:
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
    wanted = Wanted.taken(options)
    given = given_of(options)
    words = words_of(files, given)
    with ExitStack() as stack:
        with reading_data():
            model, sizes = open_model(words, given, stack)
            asked = (
                of_files(words["PAIRS"], split, given, sizes)
                if "PAIRS" in words
                else of_data(split, given)
            )
            read = [*model.files, *asked.files]
            if isinstance(candidates, tuple):
                read += map(str, candidates)
                candidates = tuple(read_array("--candidates", path) for path in candidates)
            wanted = wanted.opened(read)
            rules = picked(given, "duplicates", "leaks")
            with making(asked.titles, wanted.audit, **{**ARGUMENTS, **LABELS}):
                task = make_task(asked, sizes, split=split, candidates=candidates or "all", **rules)

        def count() -> Report:
            # beside vectors, scores are those that they make
            vectors = {} if model.scored else {"scores": "scores"}
            with renamed(**{**ARGUMENTS, **vectors}):
                return evaluated(task, model, given, wanted.audit)

        report = measured(
            task, count, wanted, read, lambda ranks: labelled(ranks, task, asked.data)
        )
    tell(report, wanted, about(task, split))


# -- what is ranked --------------------------------------------------------------------------------


def words_of(paths: Sequence[Path], given: Mapping[str, Any]) -> dict[str, Path]:
    """Name the words that are no options; what is missing or too much is a wrong command line."""
    scored, packed = "scores" in given, "data" in given
    names = [*(() if scored else ("LEFT", "RIGHT")), *(() if packed else ("PAIRS",))]
    if len(paths) != len(names):
        beside = [f" with {option}" for option in ("--scores", "--data") if option[2:] in given]
        wanted = f"{' '.join(names) or 'no file'}{' and'.join(beside)}"
        got = " ".join(map(str, paths[:4])) + " ..." * (len(paths) > 4)
        hint = f"; {QUOTED}" * (scored and len(paths) > len(names))
        raise click.UsageError(f"expected {wanted}, got {got or 'none'}{hint}")
    if lost := picked(given, *(OF_FILES if packed else OF_DATA)):
        what = "--data" if packed else "pairs without --data"
        raise click.UsageError(f"{written(*lost)} cannot apply to {what}")
    refuse_others(scored, given)
    return dict(zip(names, paths, strict=True))


def open_model(
    words: Mapping[str, Path], given: Mapping[str, Any], stack: ExitStack
) -> tuple[Model, tuple[int, int]]:
    """Open the files of a model, and say of how many entities they are; arrays are mapped."""
    if "scores" in given:
        store = scores_of("--scores", given["scores"], given, stack)
        rows, columns = store.shape
        return Model(True, {"scores": store}, list(store.files)), (rows, columns)
    arrays = {name: read_array(name, words[name]) for name in ("LEFT", "RIGHT")}
    for name, array in arrays.items():
        if array.ndim != 2:
            got = f"shape {array.shape}"
            raise InputValueError(name, expected="a vector for each entity", got=got)
    left, right = arrays.values()
    files = [str(words[name]) for name in arrays]
    return Model(False, {"left": left, "right": right}, files), (len(left), len(right))


class Asked(NamedTuple):
    """What is ranked, as a task takes it.

    Attributes
    ----------
    pairs : str or array
    known : dict of str to (str or array), or None
    entities : (left, right)
        How many there are, or their names.
    files : list of str
        All that is read.
    titles : dict of str to str
        What the command line calls a split, by what errors do.
    data : AlignmentData, or None
    """

    pairs: Any
    known: Mapping[str, Any] | None
    entities: tuple[Any, Any]
    files: list[str]
    titles: dict[str, str]
    data: AlignmentData | None = None


def of_files(pairs: Path, split: str, given: Mapping[str, Any], sizes: tuple[int, int]) -> Asked:
    """Pairs in files: ids, unless labels name the entities."""
    splits = named_splits(split, pairs, "PAIRS", given, "pairs")
    files = [*map(str, splits.files().values())]
    entities: list[Any] = list(sizes)
    for place, name in enumerate(OF_FILES[-2:]):
        if name in given:
            entities[place] = read_names(written(name), given[name])
            files.append(str(given[name]))
    known = {name: str(path) for name, path in splits.known.items()}
    return Asked(str(pairs), known or None, (entities[0], entities[1]), files, splits.titles())


def of_data(split: str, given: Mapping[str, Any]) -> Asked:
    """The pairs of a data set: a split and those beside it, or all where there are none."""
    folder = given["data"]
    if not folder.is_dir():
        raise NotADirectoryError(f"--data: no folder {folder}")
    guess = "openea" if optional_file(str(folder), "rel_triples_1") else "dbp15k"
    layout = given.get("layout", guess)
    if layout == "dbp15k" and "fold" in given:
        raise click.UsageError("--fold cannot apply to --layout dbp15k, which has no folds")
    with renamed(folder="--data"):
        data = READERS[layout](folder, given.get("fold"))
    if data.splits and split not in data.splits:
        names = ", ".join(data.splits)
        raise InputValueError("--split", expected=f"one of {names}", got=repr(split))
    pairs = data.splits[split] if data.splits else data.pairs
    known = data.known(split) if data.splits else None
    entities = _entities(data.left), _entities(data.right)
    return Asked(pairs, known, entities, [str(folder)], {}, data)


def _entities(graph: Graph) -> Any:
    """The names of a graph's entities, if each has its own."""
    names = graph.names
    return graph.size if names is None or len(set(names)) < graph.size else names


def make_task(asked: Asked, sizes: tuple[int, int], **keywords: Any) -> Task:
    """Make the task; the entities must be as many as a model has."""
    left, right = asked.entities
    task = Task(asked.pairs, left=left, right=right, known=asked.known, **keywords)
    found = task.right_to_left.columns, task.left_to_right.columns
    if found != sizes:
        what = "--data has" if asked.data is not None else "the labels name"
        raise ValueError(
            f"{what} {found[0]:,} left and {found[1]:,} right entities, the files of the model "
            f"have {sizes[0]:,} and {sizes[1]:,}"
        )
    return task


def labelled(ranks: Ranks, task: Task, data: AlignmentData | None) -> Ranks:
    """Ranks with the degrees of their pairs, where a data set tells: the sums of both entities."""
    if data is None:
        return ranks
    sums = np.zeros(len(task.pairs), dtype=np.int64)
    for graph, ids in zip((data.left, data.right), task.pairs.T, strict=True):
        sums += degrees(graph.triples, graph.size)[ids]
    found = bucket_labels(sums)
    both = Labels(np.tile(found.codes, len(task.sides)), found.vocabulary)
    return ranks.with_labels(labels={"degree": both})


def about(task: Task, split: str) -> About:
    """What is ranked, in two lines, and for JSON, with the audit of the pairs."""
    first, *_ = str(task.audit).split("\n")
    if task.candidates is None:
        among = {name: side.columns for name, side in task.sides.items()}
    else:
        left, right = task.candidates
        among = {"left_to_right": len(right), "right_to_left": len(left)}
    facts, told = {}, []
    for name, side in task.sides.items():
        few = f"{among[name]:,} of " * (among[name] < side.columns)
        told.append(f"{name} {len(side.queries):,} (among {few}{side.columns:,} entities)")
        facts[name] = {
            "tasks": len(side),
            "queries": len(side.queries),
            "candidates": among[name],
            "columns": side.columns,
        }
    heading = [first, f"distinct queries: {', '.join(told)}"]
    stored = {"sides": facts, "audit": task.audit.to_dict()}
    return About(f"Entity alignment of {split}", heading, stored, str(task.audit))
