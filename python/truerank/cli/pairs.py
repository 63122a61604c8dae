"""What `truerank alignment` ranks: pairs in files or of a data set, and a model in files."""

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
from ..inputs.errors import InputValueError, renamed, spelling
from ..ranks.labels import Labels
from .files import naming, open_store, opened, read_array
from .frame import MENTIONED
from .models import options
from .options import QUOTED
from .progress import Bar, Follower
from .triples import read_names

if TYPE_CHECKING:
    from .. import Ranks, Report
    from ..alignment.datasets.graphs import AlignmentData, Graph

READERS: dict[str, Callable[[Path, int | None], AlignmentData]] = {
    "dbp15k": lambda folder, fold: read_dbp15k(folder),
    "openea": read_openea,
}
LAYOUTS = tuple(READERS)
# Options that name the pairs or their entities, which a data set does itself.
OF_FILES = ("train", "valid", "known", "left_labels", "right_labels")
OF_DATA = ("layout", "fold")
OF_VECTORS, OF_SCORES = ("similarity",), ("order", "io")
COMMON = ("csls", "nan", "dtype", "threads")
# What errors call an argument, and what the command line does.
SAID = {
    **{"left": "LEFT", "right": "RIGHT", "scores": "--scores", "csls": "--csls"},
    **{"candidates[0]": "--candidates, the first", "candidates[1]": "--candidates, the second"},
}


class Words(NamedTuple):
    """The words of the command line that are no options; None for those that are not expected."""

    left: Path | None
    right: Path | None
    pairs: Path | None


def words_of(paths: Sequence[Path], given: Mapping[str, Any]) -> Words:
    """Say which files the words name; what is missing or too much is a wrong command line."""
    scored, packed = "scores" in given, "data" in given
    names = [*(() if scored else ("LEFT", "RIGHT")), *(() if packed else ("PAIRS",))]
    if len(paths) != len(names):
        beside = [f" with {option}" for option in ("--scores", "--data") if option[2:] in given]
        wanted = f"{' '.join(names) or 'no file'}{' and'.join(beside)}"
        got = " ".join(map(str, paths[:4])) + " ..." * (len(paths) > 4)
        hint = f"; {QUOTED}" * (scored and len(paths) > len(names))
        raise click.UsageError(f"expected {wanted}, got {got or 'none'}{hint}")
    lost = {
        "--data": [name for name in OF_FILES if packed and name in given],
        "pairs without --data": [name for name in OF_DATA if not packed and name in given],
        "scores": [name for name in OF_VECTORS if scored and name in given],
        "vectors": [name for name in OF_SCORES if not scored and name in given],
    }
    for what, spare in lost.items():
        if spare:
            raise click.UsageError(f"{options(spare)} cannot apply to {what}")
    found = dict(zip(names, paths, strict=True))
    return Words(*(found.get(name) for name in ("LEFT", "RIGHT", "PAIRS")))


class Model(NamedTuple):
    """A model's files, opened.

    Attributes
    ----------
    parts : list
        The vectors of both graphs, or the store of the scores.
    sizes : (int, int)
        How many entities they are of.
    files : list of str
        All that is read.
    """

    parts: list[Any]
    sizes: tuple[int, int]
    files: list[str]


def open_model(words: Words, given: Mapping[str, Any], stack: ExitStack) -> Model:
    """Open the files of a model; arrays are mapped, not read."""
    if words.left is None or words.right is None:
        stored = {name: given[name] for name in ("dtype", "io") if name in given}
        with naming("--scores"), renamed(scores="--scores"):
            store = stack.enter_context(open_store(given["scores"], stored))
        rows, columns = store.shape
        return Model([store], (rows, columns), list(store.files))
    named = {"LEFT": words.left, "RIGHT": words.right}
    arrays = [read_array(name, path) for name, path in named.items()]
    for name, array in zip(named, arrays, strict=True):
        if array.ndim != 2:
            raise InputValueError(
                name, expected="a vector for each entity", got=f"shape {array.shape}"
            )
    return Model(arrays, (len(arrays[0]), len(arrays[1])), [str(path) for path in named.values()])


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
    known: dict[str, Any] | None
    entities: tuple[Any, Any]
    files: list[str]
    titles: dict[str, str]
    data: AlignmentData | None = None


def of_files(pairs: Path, split: str, given: Mapping[str, Any], model: Model) -> Asked:
    """Pairs in files: ids, unless labels name the entities."""
    known = {name: given[name] for name in ("train", "valid") if name in given}
    for name, path in given.get("known", {}).items():
        if name in known:
            raise click.UsageError(f"--known {name} and --{name}: expected one of them")
        known[name] = path
    if split in known:
        raise click.UsageError(f"--split {split}: it is the name of known pairs, too")
    said = {name: f"--{name}" if name in given else f"--known {name}" for name in known}
    for name, path in {**known, split: pairs}.items():
        opened(said.get(name, "PAIRS"), path).close()  # a pipe could not be read twice
    entities: list[Any] = []
    files = [str(path) for path in (pairs, *known.values())]
    for side, size in zip(("left", "right"), model.sizes, strict=True):
        path = given.get(f"{side}_labels")
        entities.append(size if path is None else read_names(f"--{side}-labels", path))
        files += [] if path is None else [str(path)]
    titles = {split: "PAIRS", **{f'known["{name}"]': option for name, option in said.items()}}
    texts = {name: str(path) for name, path in known.items()}
    return Asked(str(pairs), texts or None, (entities[0], entities[1]), files, titles)


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
        raise InputValueError(
            "--split", expected=f"one of {', '.join(data.splits)}", got=repr(split)
        )
    pairs = data.splits[split] if data.splits else data.pairs
    known = data.known(split) if data.splits else None
    entities = _entities(data.left), _entities(data.right)
    return Asked(pairs, known, entities, [str(folder)], {}, data)


def _entities(graph: Graph) -> Any:
    """The names of a graph's entities, if each has its own."""
    names = graph.names
    return graph.size if names is None or len(set(names)) < graph.size else names


def make_task(asked: Asked, model: Model, **keywords: Any) -> Task:
    """Make the task; the entities must be as many as a model has."""
    left, right = asked.entities
    said = {**SAID, **asked.titles}
    said |= {side: f"--{side}-labels" for side in ("left", "right")}
    with renamed(**said), spelling({**MENTIONED, **asked.titles}):
        try:
            task = Task(asked.pairs, left=left, right=right, known=asked.known, **keywords)
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(str(error)) from error  # a damaged file
    sizes = task.right_to_left.columns, task.left_to_right.columns
    if sizes != model.sizes:
        what = "--data has" if asked.data is not None else "the labels name"
        raise ValueError(
            f"{what} {sizes[0]:,} left and {sizes[1]:,} right entities, the files of the model "
            f"have {model.sizes[0]:,} and {model.sizes[1]:,}"
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


def evaluated(task: Task, model: Model, given: Mapping[str, Any], audit: bool) -> Report:
    """Rank a model's vectors or scores; a bar shows how far scores are."""
    rules = {name: given[name] for name in COMMON if name in given}
    # beside vectors, scores are those that they make
    said = {**SAID, **({"scores": "scores"} if len(model.parts) == 2 else {})}
    with renamed(**said):
        if len(model.parts) == 2:
            rules |= {name: given[name] for name in OF_VECTORS if name in given}
            return task.evaluate_embeddings(*model.parts, **rules, audit=audit)
        rules |= {name: given[name] for name in OF_SCORES if name in given}
        with Bar() as bar:
            return task.evaluate_scores(*model.parts, **rules, audit=audit, progress=Follower(bar))
