"""`truerank alignment`: a report from pairs and from vectors or similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..alignment import Task, read_dbp15k, read_openea
from ..alignment.datasets.readers import find_file
from ..inputs.errors import InputValueError
from .files import note_file, read_array
from .model_files import Model, known_splits, open_model
from .options import (
    COUNTING,
    INPUT,
    NAMES,
    POSITIVE,
    REPORTING,
    WORD,
    Given,
    Value,
    command,
    option,
    take,
)
from .output import show_report

if TYPE_CHECKING:
    from ..alignment import Graph


def parse_candidates(name: str, text: str) -> Any:
    """Return a word, or read the ids of both graphs from two files."""
    paths = text.split(",")
    if len(paths) == 1:
        return text
    return tuple(read_array(name, path) for path in paths)


@command(
    "alignment",
    f"train valid known split duplicates leaks similarity complex_layout {COUNTING} io {REPORTING}",
    short_help="Evaluate entity alignment, in both directions.",
)
@click.argument("files", type=WORD, nargs=-1, metavar="[LEFT RIGHT] [PAIRS]")
@option(
    "--scores",
    WORD,
    "Similarities in place of vectors, with left entities as rows and right ones as columns.",
)
@option(
    "--left-labels",
    NAMES,
    "Names of the left entities that the pairs use, a line for each row of LEFT. Without it, pairs "
    "in text are row numbers, from 0. Pairs in .npy always are.",
)
@option("--right-labels", NAMES, "The same for right entities and RIGHT.")
@option("--data", INPUT, "A folder with a data set, whose pairs are used in place of PAIRS.")
@option(
    "--layout",
    click.Choice(["dbp15k", "openea"]),
    "Layout of --data. Default: the one that its files suggest.",
)
@option(
    "--fold",
    POSITIVE,
    "Fold of --data whose test pairs are ranked; its other pairs are known. Without it, all pairs "
    "of a data set in OpenEA's layout are ranked.",
)
@option(
    "--candidates",
    Value(parse_candidates, "name|files"),
    "Candidates: all entities of the other graph (all, the default), those of the test pairs "
    "(test), all but those that known pairs align (unaligned), or left.npy,right.npy with ids.",
)
@option(
    "--csls",
    POSITIVE,
    "Use CSLS: subtract the mean similarity of each of both entities to its so many most similar "
    "candidates.",
)
def align(given: Given) -> None:
    """Evaluate entity alignment: rank pairs in both directions, by vectors or similarities.

    LEFT and RIGHT are .npy files with a vector for each entity of the two graphs, also for entities
    without a counterpart. --similarity compares them, and the scores are never stored. Instead of
    vectors, a model may be given by its --scores. PAIRS is a text file (perhaps gzipped) with a
    left and a right entity in each line, separated by a tab, or a .npy file of row numbers. If
    PAIRS and known pairs give an entity other counterparts, these are left out of its candidates.

    With --data, the pairs and names are those of a data set in the layout of DBP15k or OpenEA. Rows
    of vectors are then in the order of its entities.

    \b
    truerank alignment left.npy right.npy test.tsv --train train.tsv --csls 10
    truerank alignment left.npy right.npy --data D_W_15K_V2 --fold 1
    truerank alignment --scores similarities.npy test.npy --candidates test --save ranks.npz
    """
    folder = given.pop("data", None)
    take_arguments(given, folder)
    model = open_model(given, "scores", "left right")
    facts = take(given, "split candidates duplicates leaks")
    if folder is None:
        what = model.kind
        sizes = count_entities(model)
        facts["pairs"] = given.pop("pairs")
        facts["known"] = known_splits(given) or None
        facts["left"] = given.pop("left_labels", sizes[0])
        facts["right"] = given.pop("right_labels", sizes[1])
    else:
        what = "a data set"
        facts |= read_data_set(folder, facts.get("split", "test"), **take(given, "layout fold"))
    task = Task(**facts)
    show_report(
        model.counter(task, given),
        given,
        what,
        findings=str(task.audit).splitlines(),
        title=f"Entity alignment of {task.protocol.split}",
    )


def take_arguments(given: Given, folder: str | None) -> None:
    """Read the files that are named without an option, and put each in under its own name."""
    paths = given.pop("files", ())
    names = []
    if "scores" not in given:
        names += ["LEFT", "RIGHT"]
    if folder is None:
        names.append("PAIRS")
    if len(paths) != len(names):
        expected = " ".join(names) or "no files beside --scores and --data"
        raise click.UsageError(f"expected {expected}, got {' '.join(paths) or 'none'}")
    for name, path in zip(names, paths, strict=True):
        if name == "PAIRS":  # the task reads them, with the names of the entities
            given["pairs"] = note_file(path)
        else:
            given[name.lower()] = read_array(name, path)


def count_entities(model: Model) -> tuple[int, int]:
    """Return how many left and how many right entities the model knows."""
    if model.kind == "scores":
        rows, columns = model.arrays["scores"].shape
        return rows, columns
    return model.arrays["left"].shape[0], model.arrays["right"].shape[0]


def read_data_set(
    folder: str, split: str, layout: str = "", fold: int | None = None
) -> dict[str, Any]:
    """Read what a task takes of a data set: the pairs of the split, or all if it has no splits."""
    if layout == "dbp15k" or not (layout or find_file(folder, "rel_triples_1")):
        if fold is not None:
            raise click.UsageError("--fold cannot apply to the layout dbp15k, which has no folds")
        data = read_dbp15k(folder)
    else:
        data = read_openea(folder, fold)
    entities = {"left": _entities(data.left), "right": _entities(data.right)}
    if not data.splits:
        return entities | {"pairs": data.pairs}
    if split not in data.splits:
        expected = f"one of {', '.join(data.splits)}"
        raise InputValueError("--split", expected=expected, got=repr(split))
    return entities | {"pairs": data.splits[split], "known": data.known(split)}


def _entities(graph: Graph) -> Any:
    """Return the names of a graph's entities if they are unique, or else their number."""
    names = graph.entities
    if names is None or len(set(names)) < graph.size:
        return graph.size
    return names
