"""`truerank alignment`: a report from pairs and from vectors or similarities."""

from __future__ import annotations

from typing import Any

import click

from ..alignment import Task
from . import options
from .options import Values, called, command, option, take
from .output import open_model, show_task


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
@option("--scores", options.SCORES, "Similarities of left (rows) and right entities (columns).")
@option(
    "--labels",
    options.Value(options.read_names, "side=file", ("left", "right")),
    "Names of the left or right entities that the pairs use, a line for each row of LEFT or RIGHT. "
    "Without them, pairs in text are row numbers, from 0. Pairs in .npy always are.",
)
@option("--test", options.TEXT_FILE, "The pairs to rank, in place of PAIRS.")
@option(
    "--candidates",
    options.Value(parse_candidates, "name|files"),
    "Candidates: all entities of the other graph (all, the default), those of the test pairs "
    "(test), all except those that known pairs align (unaligned), or left.npy,right.npy of ids.",
)
@option(
    "--csls",
    options.POSITIVE,
    "CSLS: subtract the mean similarities of both entities to this many most similar ones.",
)
def align(values: Values) -> None:
    """Evaluate entity alignment: rank pairs in both directions, by vectors or similarities.

    LEFT and RIGHT are files with a vector for each entity of the two graphs, also for entities
    without a counterpart: .npy, or what `truerank topk` takes. --similarity compares them, and the
    scores are never stored. --scores may take the place of vectors. PAIRS is a text file (perhaps
    gzipped) with a left and a right entity in each line, separated by a tab, or a .npy file of row
    numbers. If PAIRS and known pairs give an entity other counterparts, these are left out of its
    candidates.

    \b
    truerank alignment left.npy right.npy test.tsv --known train=train.tsv \\
        --csls 10
    truerank alignment --scores similarities.npy test.npy --candidates test \\
        --save ranks.npz
    """
    # What is named without an option is put in under its own name.
    paths = values.pop("files", ())
    names = []
    if "scores" not in values:
        names += ["LEFT", "RIGHT"]
    if "test" in values:
        values["pairs"] = values.pop("test")
    else:
        names.append("PAIRS")
    if len(paths) != len(names):
        expected = " ".join(names) or "no files with --scores and --test"
        raise click.UsageError(f"expected {expected}, got {' '.join(paths) or 'none'}")
    for name, path in zip(names, paths, strict=True):
        if name == "PAIRS":  # The task reads them, for it knows the names.
            values["pairs"] = options.open_text(name, path)
        else:
            values[name.lower()] = options.read_vectors(name, path)
    with called(left="LEFT", right="RIGHT"):
        kind, model = open_model(values, ("left", "right"))
    source = values["pairs"]
    facts = take(values, "pairs known split candidates duplicates leaks columns header")
    if kind == "scores":
        facts["left"], facts["right"] = model["scores"].shape
    else:
        facts |= {side: len(vectors) for side, vectors in model.items()}
    facts |= values.pop("labels", {})  # Names, in place of how many entities there are.
    with called(left="--labels left", right="--labels right"):
        task = Task(**facts)
    told = [f"{source}: {task.audit[0].message}."]
    with called(left="LEFT", right="RIGHT"):
        show_task(task, kind, model, values, "Entity alignment", told=told, split_audit=task.audit)
