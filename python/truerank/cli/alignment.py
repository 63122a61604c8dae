"""`truerank alignment`: a report from pairs and from vectors or similarities."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..alignment import Task, read_dbp15k, read_openea
from ..alignment.readers import find_file, read_pair_splits
from ..arrays.input_files import is_npy
from ..arrays.row_keys import are_among, row_keys
from ..errors import InputValueError, argument_names
from ..naming import format_count
from ..records.text import fields_of, is_integer_text, text_lines
from . import options
from .options import Values, command, option, take
from .output import counter, open_model, show_report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..alignment import AlignmentData

TESTED = "test"  # Of a user's own files, the pairs of this one are ranked.


def parse_candidates(name: str, text: str) -> Any:
    """Return a word, or read the ids of both graphs from two files."""
    left, comma, right = text.partition(",")
    if not comma:
        return text
    return {
        "left_to_right": options.read_array(name, right),
        "right_to_left": options.read_array(name, left),
    }


@command("alignment", options.OF_TASKS, "header duplicates", options.REPORTING)
@click.argument("files", type=options.WORD, nargs=-1, metavar="[LEFT RIGHT] [PAIRS]")
@option("--scores", options.WORD, "Similarities of left (rows) and right entities (columns).")
@option(
    "--labels",
    options.Value(options.read_names, "side=file", ("left", "right")),
    "Names of the left or right entities that the pairs use, a line for each row of LEFT or RIGHT. "
    "Without them, pairs in text are row numbers, from 0. Pairs in .npy always are.",
)
@option("--test", options.INPUT, "The pairs to rank, in place of PAIRS or of those of --data.")
@option(
    "--data",
    options.INPUT,
    "A folder with a data set in the layout of OpenEA (with a file rel_triples_1) or DBP15k, whose "
    "pairs are used in place of PAIRS. --known and --test split them in one's own way; without "
    "--test, its pairs that no known split has are ranked.",
)
@option(
    "--fold",
    options.POSITIVE,
    "Fold of --data whose test pairs are ranked; its other pairs are known. Without it, all pairs "
    "of a data set in OpenEA's layout are ranked.",
)
@option(
    "--candidates",
    options.Value(parse_candidates, "name|files"),
    "Candidates: all entities of the other graph (all, the default), those of the test pairs "
    "(test), all but those that known pairs align (unaligned), or left.npy,right.npy with ids.",
)
@option(
    "--csls",
    options.POSITIVE,
    "CSLS: subtract the mean similarity of both entities to their so many most similar ones.",
)
def align(values: Values) -> None:
    """Evaluate entity alignment: rank pairs in both directions, by vectors or similarities.

    LEFT and RIGHT are .npy files with a vector for each entity of the two graphs, also for entities
    without a counterpart. --similarity compares them, and the scores are never stored. Instead of
    vectors, a model may be given by its --scores. PAIRS is a text file (perhaps gzipped) with a
    left and a right entity in each line, separated by a tab, or a .npy file of row numbers. If
    PAIRS and known pairs give an entity other counterparts, these are left out of its candidates.

    With --data, the pairs and names are those of a data set in the layout of DBP15k or OpenEA. Rows
    of vectors are then in the order of its entities: those of DBP15k belong to the lines of
    ent_ids_1 and ent_ids_2, not to the ids there (of a matrix E indexed by id, LEFT is
    E[data.left_ids], with data = read_dbp15k(folder)). One's own splits of its pairs have these
    ids, or names.

    \b
    truerank alignment left.npy right.npy test.tsv --known train=train.tsv --csls 10
    truerank alignment left.npy right.npy --data D_W_15K_V2 --fold 1
    truerank alignment left.npy right.npy --data zh_en --known train=sup_pairs --test ref_pairs
    truerank alignment --scores similarities.npy test.npy --candidates test --save ranks.npz
    """
    folder = values.pop("data", None)
    take_arguments(values, folder)
    with argument_names(left="LEFT", right="RIGHT"):
        kind, model = open_model(values, "left right")
    facts = take(values, "split candidates duplicates leaks")
    what = kind
    if folder is None:
        source = values["pairs"]
        facts |= take(values, "pairs known columns header")
        sizes = model["scores"].shape if kind == "scores" else map(len, model.values())
        facts |= dict(zip(("left", "right"), sizes, strict=True)) | values.pop("labels", {})
    else:
        what = "a data set"  # Its known pairs are what it has, and need filter nothing.
        warnings.filterwarnings("ignore", "no fact of ")
        of_folder, source = read_data_set(folder, facts.get("split", "test"), values)
        facts |= of_folder
    with argument_names(left="--labels left", right="--labels right"):
        task = Task(**facts)
    known = ", ".join(f"{name} {count:,}" for name, count in task._known_sizes.items()) or "none"
    with argument_names(left="LEFT", right="RIGHT"):
        count = counter(task, kind, model, values)
        ranked = f"{len(task):,} of {format_count(task.height, 'pair')}"
        show_report(
            count,
            values,
            what,
            told=[f"Ranked: {ranked}, {source}; known: {known}."],
            split_audit=task.audit,
            title=f"Entity alignment of {task.protocol.split}",
        )


def take_arguments(values: Values, folder: str | None) -> None:
    """Read the files that are named without an option, and put each in under its own name."""
    paths = values.pop("files", ())
    names = []
    if "scores" not in values:
        names += ["LEFT", "RIGHT"]
    if "test" in values:
        values["pairs"] = values.pop("test")
    elif folder is None:
        names.append("PAIRS")
    if len(paths) != len(names):
        expected = " ".join(names) or "no files beside --scores and --data or --test"
        raise click.UsageError(f"expected {expected}, got {' '.join(paths) or 'none'}")
    for name, path in zip(names, paths, strict=True):
        if name == "PAIRS":  # The task reads them, for it knows the names.
            values["pairs"] = options.note_file(path)
        else:
            values[name.lower()] = options.read_array(name, path)


def read_data_set(folder: str, split: str, values: Values) -> tuple[dict[str, Any], str]:
    """Read what a task takes of a data set, and the words for the pairs that are ranked.

    These are the pairs of the split, or all if it has no splits. Where there are files of pairs of
    one's own, they are its splits, and the rest is ranked unless one of them is.
    """
    own = {f"--known {name}": path for name, path in values.pop("known", {}).items()}
    if "pairs" in values:
        own["--test"] = values.pop("pairs")
    fold = values.pop("fold", None)
    if own and fold is not None:
        raise click.UsageError("--fold cannot stand beside one's own --known and --test")
    is_of_openea = find_file(folder, "rel_triples_1")
    if fold is not None and not is_of_openea:
        raise click.UsageError("--fold cannot apply to the layout of DBP15k, which has no folds")
    data = read_openea(folder, fold) if is_of_openea else read_dbp15k(folder)
    facts: dict[str, Any] = {"pairs": data.pairs}
    for graph, names in (("left", data.left), ("right", data.right)):
        facts[graph] = names if len(set(names)) == len(names) else len(names)
    if own:
        known = {}
        for option_name, path in own.items():
            sides = facts["left"], facts["right"]
            known[option_name.removeprefix("--known ")] = read_own_pairs(
                option_name, path, data, sides
            )
        facts["known"] = known
        if "--test" in known:
            facts["pairs"] = known.pop("--test")
            return facts, own["--test"]
        keys = row_keys(list(np.concatenate([data.pairs, *known.values()]).T))
        number = len(data.pairs)
        facts["pairs"] = data.pairs[~are_among(keys[:number], keys[number:])]
        return facts, f"those of {folder} that no known split has"
    if not data.splits:
        return facts, f"all of {folder}"
    if split not in data.splits:
        expected = f"one of {', '.join(data.splits)}"
        raise InputValueError("--split", expected=expected, got=repr(split))
    facts["known"] = dict(data.splits)
    facts["pairs"] = facts["known"].pop(split)
    of_fold = "" if fold is None else f"of fold {fold} "
    return facts, f"split {split} {of_fold}of {folder}"


def read_own_pairs(option_name: str, path: str, data: AlignmentData, sides: Any) -> NDArray[Any]:
    """Read pairs of the entities of a data set as rows: its own ids, as its files have, or names.

    A .npy file has rows already.
    """
    if is_npy(path):
        sides = len(data.left), len(data.right)
    elif data.left_ids is not None:
        lines = text_lines(option_name, path)
        fields = (field for _, line in lines for field in fields_of(line, "tabs"))
        if all(map(is_integer_text, fields)):
            sides = data.left_ids, data.right_ids
    return read_pair_splits({TESTED: (option_name, path)}, sides).rows
