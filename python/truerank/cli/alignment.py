"""`truerank alignment`: a report from pairs and from vectors or similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..alignment import Task, read_dbp15k, read_openea
from ..alignment.readers import find_file, read_pair_splits
from ..arrays.input_files import is_npy
from ..arrays.row_keys import are_among, row_keys
from ..errors import InputValueError
from ..naming import format_count
from ..records.elements import is_integer_text
from ..records.text import text_blocks
from .options import (
    COUNTING,
    INPUT,
    POSITIVE,
    REPORTING,
    WORD,
    Given,
    Value,
    command,
    name_arguments,
    note_file,
    option,
    read_array,
    read_names,
    take,
)
from .output import chosen_part, counter, open_model, show_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..alignment import AlignmentData

TESTED = "test"  # Of a user's own files, the pairs of this one are ranked.


def parse_candidates(name: str, text: str) -> Any:
    """Return a word, or read the ids of both graphs from two files."""
    left, comma, right = text.partition(",")
    if not comma:
        return text
    return {"left_to_right": read_array(name, right), "right_to_left": read_array(name, left)}


@command(
    "alignment",
    f"known columns header split part duplicates leaks similarity layout {COUNTING} io {REPORTING}",
    {"left": "--labels left", "right": "--labels right"},
)
@click.argument("files", type=WORD, nargs=-1, metavar="[LEFT RIGHT] [PAIRS]")
@option(
    "--scores",
    WORD,
    "Similarities in place of vectors, with left entities as rows and right ones as columns.",
)
@option(
    "--labels",
    Value(read_names, "side=file", ("left", "right")),
    "Names of the left or right entities that the pairs use, a line for each row of LEFT or RIGHT. "
    "Without them, pairs in text are row numbers, from 0. Pairs in .npy always are.",
)
@option("--test", INPUT, "The pairs to rank, in place of PAIRS or of those of --data.")
@option(
    "--data",
    INPUT,
    "A folder with a data set in the layout of OpenEA (with a file rel_triples_1) or DBP15k, whose "
    "pairs are used in place of PAIRS. --known and --test split them in one's own way; without "
    "--test, its pairs that no known split has are ranked.",
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
    folder = given.pop("data", None)
    take_arguments(given, folder)
    kind, arrays = open_model(given, "left right")
    facts = take(given, "split candidates duplicates leaks")
    known = given.pop("known", {})
    if folder is None:
        what = kind
        source = given["pairs"]
        facts |= take(given, "pairs columns header")
        facts["known"] = known or None
        if kind == "scores":
            facts["left"], facts["right"] = arrays["scores"].shape
        else:
            facts |= {graph: vectors.shape[0] for graph, vectors in arrays.items()}
        facts |= given.pop("labels", {})
    else:
        what = "a data set"
        if "pairs" in given:
            known[TESTED] = given.pop("pairs")
        pairs = read_data_set(folder, facts.get("split", "test"), known, given.pop("fold", None))
        source = pairs.pop("source")
        facts |= pairs
    whole = Task(**facts)
    task = chosen_part(whole, given)
    name_arguments({"left": "LEFT", "right": "RIGHT"})
    show_report(
        counter(task, kind, arrays, given),
        given,
        what,
        told=[pairs_in_words(source, whole)],
        split_audit=task.audit,
        title=f"Entity alignment of {task.protocol.split}",
    )


def pairs_in_words(source: str, task: Task) -> str:
    """Say which pairs are ranked, and which are known."""
    known = ", ".join(f"{name} {count:,}" for name, count in task._known_sizes.items()) or "none"
    pairs = format_count(task.height, "pair")
    return f"Ranked: {len(task):,} of {pairs}, {source}; known: {known}."


def take_arguments(given: Given, folder: str | None) -> None:
    """Read the files that are named without an option, and put each in under its own name."""
    paths = given.pop("files", ())
    names = []
    if "scores" not in given:
        names += ["LEFT", "RIGHT"]
    if folder is None and "test" not in given:
        names.append("PAIRS")
    if "test" in given:
        given["pairs"] = given.pop("test")
    if len(paths) != len(names):
        expected = " ".join(names) or "no files beside --scores and --data or --test"
        raise click.UsageError(f"expected {expected}, got {' '.join(paths) or 'none'}")
    for name, path in zip(names, paths, strict=True):
        if name == "PAIRS":  # The task reads them, for it knows the names.
            given["pairs"] = note_file(path)
        else:
            given[name.lower()] = read_array(name, path)


def read_data_set(
    folder: str,
    split: str,
    own: Mapping[str, str],
    fold: int | None,
) -> dict[str, Any]:
    """Read what a task takes of a data set, and the words for the pairs that are ranked.

    These are the pairs of the split, or all if it has no splits. Where there are `own` files of
    pairs, they are its splits, and the rest is ranked unless one of them is.
    """
    if own and fold is not None:
        raise click.UsageError("--fold cannot stand beside one's own --known and --test")
    if find_file(folder, "rel_triples_1"):
        data = read_openea(folder, fold)
    elif fold is None:
        data = read_dbp15k(folder)
    else:
        raise click.UsageError("--fold cannot apply to the layout of DBP15k, which has no folds")
    entities = {"left": _entities(data.left), "right": _entities(data.right)}
    if own:
        return entities | split_pairs(folder, data, own)
    if not data.splits:
        return entities | {"pairs": data.pairs, "source": f"all of {folder}"}
    if split not in data.splits:
        expected = f"one of {', '.join(data.splits)}"
        raise InputValueError("--split", expected=expected, got=repr(split))
    known = dict(data.splits)
    pairs = known.pop(split)
    of_fold = "" if fold is None else f"of fold {fold} "
    source = f"split {split} {of_fold}of {folder}"
    return entities | {"pairs": pairs, "known": known, "source": source}


def split_pairs(folder: str, data: AlignmentData, own: Mapping[str, str]) -> dict[str, Any]:
    """Split the pairs of a data set by files of one's own: those of the test, or all others."""
    options = {name: f"--known {name}" for name in own} | {TESTED: "--test"}
    known = {name: read_own_pairs(options[name], path, data) for name, path in own.items()}
    if TESTED in known:
        return {"pairs": known.pop(TESTED), "known": known or None, "source": own[TESTED]}
    keys = row_keys(list(np.concatenate([data.pairs, *known.values()]).T))
    number = len(data.pairs)
    is_known = are_among(keys[:number], keys[number:])
    source = f"those of {folder} that no known split has"
    return {"pairs": data.pairs[~is_known], "known": known, "source": source}


def read_own_pairs(option: str, path: str, data: AlignmentData) -> NDArray[Any]:
    """Read pairs of the entities of a data set as rows: its own ids, as its files have, or names.

    A .npy file has rows already.
    """
    sides: Any = _entities(data.left), _entities(data.right)
    if is_npy(path):
        sides = len(data.left), len(data.right)
    elif data.left_ids is not None and holds_integers(option, path):
        sides = data.left_ids, data.right_ids
    return read_pair_splits({TESTED: (option, path)}, sides).rows


def holds_integers(argument: str, path: str) -> bool:
    """Return whether all fields of a file are integers, which are ids, and not names."""
    for _, block in text_blocks(argument, path):
        for line in block.removesuffix("\n").split("\n"):
            fields = line.removesuffix("\r").split("\t")
            if not all(is_integer_text(field.strip(" ")) for field in fields):
                return False
    return True


def _entities(names: tuple[str, ...]) -> Any:
    """Return the names of a graph's entities if they are unique, or else their number."""
    return names if len(set(names)) == len(names) else len(names)
