"""`truerank alignment`: a report from pairs and from vectors or similarities."""

from __future__ import annotations

import os
from typing import Any

import click
import numpy as np

import truerank as tr

from .. import alignment
from ..alignment import Task
from . import options
from .options import MEASURED, PRINTING, Values, called, command, option, take
from .output import METHODS, check_printing, open_model, show, show_task

FOLDS = "12345"  # of OpenEA
GRAPHS = ("left", "right")


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
@click.argument("files", type=options.WORD, nargs=-1, metavar="[LEFT RIGHT] [PAIRS|FOLDER]")
@option(
    "--entities",
    options.INPUT,
    "With FOLDER: one .npy matrix of both graphs, with a row for each id, or OpenEA's "
    "ent_embeds.npy beside kg1_ent_ids and kg2_ent_ids. {} is the number of the fold.",
)
@option("--fold", options.Value(lambda _, text: text, "number|all"), "The fold of OpenEA's folder.")
@option(
    "--infer",
    ("greedy", "mutual", "stable", "optimal"),
    "Find pairs of the candidates, print their precision, recall and F1, and with --audit the "
    "shares of hubs. --output writes the pairs.",
)
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

    FOLDER is a data set of JAPE, BootEA, BERT-INT, OpenEA or DBP2.0, which is known by the names of
    its files and has pairs, names and, if any, training pairs. Ranks then have the label degree.

    \b
    truerank alignment zh_en --known train=train.tsv --entities E.npy --by degree
    truerank alignment D_W_15K_V2 --fold 1 --entities ent_embeds.npy \\
        --infer stable
    truerank alignment left.npy right.npy test.tsv --known train=train.tsv \\
        --csls 10
    truerank alignment --scores similarities.npy test.npy --candidates test \\
        --save ranks.npz
    """
    if values.get("fold") == "all":
        show_folds(values)
        return
    task, kind, model, told = open_task(values)
    with called(left="LEFT", right="RIGHT"):
        if "infer" in values:
            show_pairs(task, kind, model, values, told)
        else:
            show_task(
                task, kind, model, values, "Entity alignment", told=told, split_audit=task.audit
            )


def open_task(values: Values) -> tuple[Task, str, Values, list[str]]:
    """Make the task, and open the model; what is worth knowing of both comes last."""
    # What is named without an option is put in under its own name.
    paths = values.pop("files", ())
    has_folder = bool(paths) and os.path.isdir(paths[-1])
    names = []
    if "scores" not in values and not (has_folder and "entities" in values):
        names += ["LEFT", "RIGHT"]
    if "test" in values and not has_folder:
        values["pairs"] = values.pop("test")
    else:
        names.append("FOLDER" if has_folder else "PAIRS")
    if len(paths) != len(names):
        expected = " ".join(names) or "no files with --scores and --test"
        raise click.UsageError(f"expected {expected}, got {' '.join(paths) or 'none'}")
    for name, path in zip(names, paths, strict=True):
        if name == "PAIRS":  # The task reads them, for it knows the names.
            values["pairs"] = options.open_text(name, path)
        elif name != "FOLDER":
            values[name.lower()] = options.read_vectors(name, path)
    if has_folder:
        return open_folder(options.note_file(paths[-1]), values)
    with called(left="LEFT", right="RIGHT"):
        kind, model = open_model(values, GRAPHS)
    source = values["pairs"]
    facts = take(values, "pairs known split candidates duplicates leaks columns header")
    if kind == "scores":
        facts["left"], facts["right"] = model["scores"].shape
    else:
        facts |= {side: len(vectors) for side, vectors in model.items()}
    facts |= values.pop("labels", {})  # Names, in place of how many entities there are.
    with called(left="--labels left", right="--labels right"):
        task = Task(**facts)
    return task, kind, model, [f"{source}: {task.audit[0].message}."]


def open_folder(folder: str, values: Values) -> tuple[Task, str, Values, list[str]]:
    """Make the task of the folder of a data set, and open the model."""
    with called(path="FOLDER", embeddings="--entities"):
        graphs = alignment.read_folder(folder, **take(values, "fold"))
        task = graphs.task(**take(values, "known split candidates duplicates leaks"))
        if "entities" in values:
            left, right = graphs.split(values.pop("entities"))
            values |= {"left": left, "right": right}
    values["names"] = graphs.names
    kind, model = open_model(values, GRAPHS)
    return task, kind, model, [f"{graphs}.", f"{task.audit[0].message}."]


def show_folds(values: Values) -> None:
    """Evaluate a model of several folds, and show it as one of as many runs."""
    lines = []
    if "{}" not in values.get("entities", "{}"):
        lines = ["One matrix for all folds: a model that was trained on one knows pairs of others."]
    reports = []
    for fold in FOLDS:
        given = values | {"fold": fold}
        if "entities" in given:
            given["entities"] = given["entities"].replace("{}", fold)
        task, kind, model, _ = open_task(given)
        method = getattr(task, METHODS[kind])
        rules = take(given, "similarity layout order nan dtype threads io csls")
        printing = take(given, MEASURED)
        options.refuse(given, "several folds")
        reports.append(method(**model, **rules))
    metrics = take(printing, "metrics").get("metrics")
    show(tr.table({"model": reports}, metrics), printing, lines=lines)


def show_pairs(task: Task, kind: str, model: Values, values: Values, told: list[str]) -> None:
    """Find pairs of the candidates, hold them against the test, and write them."""
    printing = take(values, PRINTING)
    to_file = take(dict(printing), "output force")
    printing.pop("output", None)
    check_printing(to_file)
    rules = take(values, "similarity layout nan dtype threads csls")
    method, names = values.pop("infer"), values.pop("names", {})
    has_audit = take(values, "audit" if kind == "vectors" else "")
    options.refuse(values, "found pairs")
    ids = task.candidates or [np.arange(each.size) for each in task.names.values()]
    rows = dict(zip(GRAPHS, ids, strict=True))
    if kind == "vectors":
        vectors = [model[graph][some] for graph, some in rows.items()]
    elif task.candidates is None:
        vectors = [model["scores"], None]
    else:
        raise click.UsageError("--infer takes all candidates of --scores")
    pairs, scores = alignment.infer(*vectors, method=method, **rules)
    labels = {graph: task.names[graph].list_labels(some) for graph, some in rows.items()}
    if has_audit:
        names = {graph: [every[i] for i in rows[graph]] for graph, every in names.items()}
        audit = alignment.neighbours(*vectors, labels=names or labels, **rules)
        told = [*told, "", *str(audit).splitlines()]
    found = {x: [labels[x][i] for i in ids] for x, ids in zip(GRAPHS, pairs.T, strict=True)}
    show(task.score_pairs(tuple(found.values()), scores=scores), printing, lines=told)
    if "output" in to_file:
        show(tr.Table(found | {"score": scores}), to_file)
