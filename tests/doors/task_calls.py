"""Good calls of link prediction, alignment and retrieval, and of what reads their files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr
from doors.calls import Call
from doors.counting_calls import VECTORS
from support.alignment_folders import DBP15K, OPENEA, fill_folder

TRIPLES = [("a", "likes", "b"), ("b", "likes", "c")]
KNOWN = [("a", "likes", "c")]
LIKES = [[0.5, 0.25, 1.0], [0.125, 0.75, 0.5]]
MATRIX = [[0.5, 0.25, 1.0], [0.125, 0.75, 0.5], [1.0, 0.0, 0.25]]
PAIRS = [(0, 0), (1, 1), (2, 2)]
QRELS = {"q": ["a"], "r": ["b", "c"]}
ENTITIES = ["a", "b", "c"]
BOTH_SIDES = ("head", "tail")


def scores_of(scores: Any, queries: Any, candidates: Any = None) -> Any:
    """Return scores of the rows of a batch, or of pairs of a query and a candidate."""
    shape: Any = len(queries) if candidates is not None else (len(queries), 3)
    return np.resize(np.array(scores), shape)


def link_prediction_calls(folder: Path) -> list[Call]:
    """Return the calls of link prediction."""
    lp = tr.link_prediction
    name = "link_prediction"
    (folder / "train.txt").write_text("a\tlikes\tb\nb\tlikes\tc\n")
    (folder / "answers.tsv").write_text("a\tlikes\tb\tc\n")
    task = lp.Task(TRIPLES, KNOWN, entities=ENTITIES)
    scores = {side: LIKES for side in BOTH_SIDES}
    lists = {
        "tail": {("a", "likes"): ["a", "b"], ("b", "likes"): ["c"]},
        "head": {("likes", "b"): ["a", "b"], ("likes", "c"): ["b"]},
    }
    vectors = {side: VECTORS[:2] for side in BOTH_SIDES} | {"entities": VECTORS}
    return [
        Call(f"{name}.Task", lp.Task, {"test": TRIPLES, "known": KNOWN}),
        Call(
            f"{name}.Task.evaluate",
            task.evaluate,
            dict.fromkeys(BOTH_SIDES, partial(scores_of, LIKES)),
        ),
        Call(f"{name}.Task.evaluate_embeddings", task.evaluate_embeddings, vectors),
        Call(f"{name}.Task.evaluate_lists", task.evaluate_lists, lists),
        Call(f"{name}.Task.evaluate_scores", task.evaluate_scores, scores),
        Call(f"{name}.Sampled", lp.Sampled, {"negatives": 2}),
        Call(f"{name}.read_triples", lp.read_triples, {"triples": TRIPLES}),
    ]


def one_sided_calls(name: str, task: Any, scores: Any) -> list[Call]:
    """Return the calls of the methods of a task of one side."""
    vectors = {"queries": VECTORS[: len(scores)], "entities": VECTORS}
    top = tr.TopK([[0, 1] for _ in scores], None)
    return [
        Call(f"{name}.evaluate", task.evaluate, {"scorer": partial(scores_of, scores)}),
        Call(f"{name}.evaluate_embeddings", task.evaluate_embeddings, vectors),
        Call(f"{name}.evaluate_lists", task.evaluate_lists, {"ids": top}),
        Call(f"{name}.evaluate_scores", task.evaluate_scores, {"scores": scores}),
    ]


def retrieval_calls(folder: Path) -> list[Call]:
    """Return the calls of retrieval, and of runs and qrels."""
    retrieval = tr.retrieval
    (folder / "run.txt").write_text("q Q0 a 1 0.5 tag\nr Q0 b 1 0.5 tag\n")
    (folder / "qrels.txt").write_text("q 0 a 1\nr 0 b 2\n")
    task = retrieval.Task(QRELS, entities=ENTITIES, queries=["q", "r"])
    top = tr.topk_embeddings(VECTORS[:2], VECTORS, k=2)
    written = {"path": folder / "new.txt", "top": top, "queries": ["q", "r"], "entities": ENTITIES}
    calls = [
        Call("retrieval.Task", retrieval.Task, {"qrels": QRELS, "entities": ENTITIES}),
        Call("read_run", tr.read_run, {"path": folder / "run.txt"}),
        Call("read_qrels", tr.read_qrels, {"path": folder / "qrels.txt"}),
        Call("write_run", tr.write_run, written),
    ]
    return calls + one_sided_calls("retrieval.Task", task, LIKES)


def alignment_calls(folder: Path) -> list[Call]:
    """Return the calls of alignment."""
    alignment = tr.alignment
    name = "alignment"
    vectors = {"left": VECTORS, "right": VECTORS[::-1]}
    made = alignment.Task(PAIRS, left=3, right=3)
    matrices = dict.fromkeys(("left_to_right", "right_to_left"), partial(scores_of, MATRIX))
    calls = [
        Call(f"{name}.Task", alignment.Task, {"pairs": PAIRS, "left": 3, "right": 3}),
        Call(f"{name}.Task.evaluate", made.evaluate, matrices),
        Call(f"{name}.Task.evaluate_embeddings", made.evaluate_embeddings, vectors),
        Call(
            f"{name}.Task.evaluate_lists",
            made.evaluate_lists,
            {side: {0: [0, 1], 1: [1], 2: [2]} for side in matrices},
        ),
        Call(f"{name}.Task.evaluate_scores", made.evaluate_scores, {"scores": MATRIX}),
        Call(f"{name}.csls_means", alignment.csls_means, vectors | {"k": 2}),
        Call(f"{name}.infer", alignment.infer, vectors),
    ]
    dbp15k = fill_folder(folder / "dbp15k", DBP15K)
    openea = fill_folder(folder / "openea", OPENEA)
    return [
        *calls,
        Call(f"{name}.read_dbp15k", alignment.read_dbp15k, {"folder": dbp15k}),
        Call(f"{name}.read_openea", alignment.read_openea, {"folder": openea, "fold": 1}),
    ]
