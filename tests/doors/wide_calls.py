"""Good calls with twelve candidates, and with every argument that holds data.

The good calls of every function are smaller, and have few optional arguments: twelve columns are
enough for the rules that look at whole rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import truerank as tr
from doors.asking import Call

pd = pytest.importorskip("pandas")

WIDTH = 12
_RNG = np.random.default_rng(7)
MATRIX = _RNG.random((WIDTH, WIDTH))
WHOLE = (1000 * MATRIX).astype(int)
VECTORS = _RNG.random((WIDTH, 4))
OTHERS = _RNG.random((WIDTH, 4))
PLACES = np.arange(WIDTH)
STARTS = np.arange(WIDTH + 1)
QUERY_LISTS, ENTITY_LISTS = (VECTORS, STARTS), (OTHERS, STARTS)
LABELS = list("abcdefghijkl")
LEFT, RIGHT = [f"l{i}" for i in PLACES], [f"r{i}" for i in PLACES]
# What a filter leaves out, and what may be ranked: the true candidate of a row is on the diagonal.
SOME = np.roll(np.eye(WIDTH, dtype=bool), 1, axis=1)
MANY = ~np.roll(SOME, 3, axis=1)
TRIPLES = [(LABELS[i], "likes", LABELS[(i + 1) % WIDTH]) for i in range(WIDTH)]
KNOWN = [(LABELS[i], "likes", LABELS[(i + 2) % WIDTH]) for i in range(WIDTH)]
TOP = tr.TopK(np.argsort(-MATRIX), -np.sort(-MATRIX))
PAIRS = list(zip(LEFT, RIGHT, strict=True))
SIDES = ("tail", "head")
DIRECTIONS = ("left_to_right", "right_to_left")
QUERIES = [f"q{i}" for i in PLACES]
QRELS = {query: {label: 1} for query, label in zip(QUERIES, LABELS, strict=True)}


def listed(scores: Any, labels: list[str] = LABELS) -> dict[str, float]:
    """Return a list of all candidates with a row of scores."""
    return dict(zip(labels, scores.tolist(), strict=True))


def updating(true_scores: Any) -> Callable[..., None]:
    """Return what updates a new counter; a copy of one names its order, as a loaded one does."""

    def update(block: Any, start: int | None = None, columns: Any = None) -> None:
        counter = tr.RankCounter(true_scores, PLACES, candidates=WIDTH)
        counter.update(block, start=start, columns=columns)

    return update


def counting_calls() -> list[Call]:
    """Return the calls of what counts scores, lists, negatives and vectors."""
    tasks = {"targets": PLACES, "rows": PLACES}
    of_scores = {"scores": MATRIX, **tasks, "filter": SOME, "candidates": MANY}
    true_scores = MATRIX.diagonal().copy()
    counter = {"true_scores": true_scores, **tasks, "candidates": WIDTH, "filter": SOME}
    lists = {"ids": np.argsort(-MATRIX)[:, :5], "scores": -np.sort(-MATRIX)[:, :5], **tasks}
    lists |= {"candidates": WIDTH, "filter": SOME}
    vectors = {"queries": VECTORS, "entities": OTHERS, "rows": PLACES, "bias": MATRIX[0]}
    selected = {"filter": SOME, "candidates": MANY}
    late: dict[str, Any] = {"queries": QUERY_LISTS, "entities": ENTITY_LISTS}
    late["similarity"] = "maxsim"
    nearest = tr.topk_embeddings(**late, k=5).ids
    of_index: dict[str, Any] = {"queries": VECTORS, "entities": OTHERS, "bias": MATRIX[0]}
    of_index |= {"similarity": "dot"} | selected
    of_index |= dict.fromkeys(["ids", "truth"], tr.topk_embeddings(**of_index, k=5).ids)
    compat = {
        "scores": MATRIX,
        **tasks,
        "filter": SOME,
        "candidates": MANY,
        "side": ["tail"] * WIDTH,
    }
    bare = {"scores": true_scores, "others": MATRIX}
    whole = {"true_scores": WHOLE.diagonal().copy(), "others": WHOLE}
    labels = {"side": ["tail"] * WIDTH, "by": LABELS}
    return [
        Call("rank", tr.rank, of_scores),
        Call("evaluate", tr.evaluate, of_scores | labels),
        Call("rank_against", tr.rank_against, {"true_scores": true_scores, "others": MATRIX}),
        Call("rank_against", tr.rank_against, whole),
        Call("rank_lists", tr.rank_lists, lists),
        Call("RankCounter", tr.RankCounter, counter),
        Call("RankCounter.update", updating(true_scores), {"block": MATRIX, "start": 0}),
        Call("RankCounter.update", updating(true_scores), {"block": MATRIX, "columns": PLACES}),
        Call("RankCounter.update", updating(whole["true_scores"]), {"block": WHOLE}),
        Call("rank_embeddings", tr.rank_embeddings, vectors | selected | {"targets": PLACES}),
        Call("score_embeddings", tr.score_embeddings, vectors | {"targets": PLACES}),
        Call("topk_embeddings", tr.topk_embeddings, vectors | selected | {"k": 2}),
        Call("rank_embeddings", tr.rank_embeddings, late | {"targets": PLACES}),
        Call("score_embeddings", tr.score_embeddings, late | {"targets": PLACES}),
        Call("topk_embeddings", tr.topk_embeddings, late | {"k": 2}),
        Call("evaluate_topk", tr.evaluate_topk, of_index),
        Call("evaluate_ids", tr.evaluate_ids, dict.fromkeys(["ids", "truth"], nearest)),
        Call("evaluate_topk", tr.evaluate_topk, late | dict.fromkeys(["ids", "truth"], nearest)),
        Call("compat.report", tr.compat.report, compat | {"preset": "pykeen"}),
        Call("compat.report", tr.compat.report, bare | {"preset": "ogb"}),
        Call("compat.table", tr.compat.table, compat | {"presets": ["pykeen"]}),
        Call("compat.table", tr.compat.table, bare | {"presets": ["ogb"]}),
    ]


def ranks_calls() -> list[Call]:
    """Return the calls of Ranks and of what has a value for each of their tasks."""
    above, tied = PLACES // 2, np.ones(WIDTH, int)
    counts = {"above": above, "tied": tied, "candidates": np.full(WIDTH, WIDTH)}
    labels = {name: LABELS for name in ("side", "relation", "unit")}
    places = {"queries": PLACES, "targets": PLACES, "weights": np.ones(WIDTH)}
    ranks = tr.Ranks(above, tied, WIDTH)
    tool = {"ranks": above + 1, "pessimistic": above + 1, "candidates": np.full(WIDTH, WIDTH)}
    tool |= labels | {"query": PLACES, "target": PLACES}

    def with_labels(kind: Any) -> tr.Ranks:
        return ranks.with_labels(kind=kind)

    interval = {"ranks": ranks, "metric": "mrr", "unit": LABELS, "weights": np.ones(WIDTH)}
    whole = {"candidates": np.full(WIDTH, WIDTH), "weights": np.ones(WIDTH)}
    others = {"labels": {"kind": LABELS}, "listed": np.ones(WIDTH, bool)}
    return [
        Call("Ranks", tr.Ranks, counts | labels | places | others),
        Call("chance", tr.chance, {"metric": "mr", **whole}),
        Call("adjust", tr.adjust, {"metric": "mr", "value": 3.0, **whole}),
        Call("Report", tr.Report, {"ranks": ranks, "by": LABELS, "weights": np.ones(WIDTH)}),
        Call("Ranks.from_ranks", tr.Ranks.from_ranks, tool),
        Call("Ranks.with_weights", ranks.with_weights, {"weights": np.ones(WIDTH)}),
        Call("Ranks.with_labels", with_labels, {"kind": LABELS}),
        Call("report", tr.report, {"ranks": ranks, "by": LABELS, "weights": np.ones(WIDTH)}),
        Call("inference.interval", tr.inference.interval, interval),
    ]


def scorer(scores: Any) -> Callable[..., Any]:
    """Return a callable that scores batches of queries, or pairs of a query and a candidate."""

    def score(queries: Any, candidates: Any = None) -> Any:
        if candidates is not None:
            return np.resize(scores, len(queries))
        return np.resize(scores, (len(queries), WIDTH))

    return score


def facts(shift: int) -> Any:
    """Return triples as ids, each with the tail that stands so far behind its head."""
    return np.stack([PLACES, np.zeros(WIDTH, int), np.roll(PLACES, -shift)], axis=1)


def triples_calls() -> list[Call]:
    """Return the calls that read triples."""
    lp = tr.link_prediction
    vocabularies = {"entities": LABELS, "relations": ["likes", "knows"]}
    made = {"test": TRIPLES, "known": {"train": KNOWN}, **vocabularies, "candidates": LABELS}
    numbers: dict[str, Any] = {"test": facts(1), "known": {"train": facts(2)}}
    numbers |= {"entities": WIDTH, "relations": 1}
    numbers["candidates"] = dict.fromkeys(SIDES, PLACES.tolist())
    return [
        Call("link_prediction.Task", lp.Task, made),
        Call("link_prediction.Task", lp.Task, numbers),
        Call("link_prediction.read_triples", lp.read_triples, {"triples": TRIPLES, **vocabularies}),
    ]


def link_prediction_calls() -> list[Call]:
    """Return the calls that predict heads and tails."""
    task = tr.link_prediction.Task(TRIPLES, {"train": KNOWN}, entities=LABELS)
    keys = {
        "tail": [(head, relation) for head, relation, _ in TRIPLES],
        "head": [(relation, tail) for _, relation, tail in TRIPLES],
    }
    scores: dict[str, Any] = dict.fromkeys(SIDES, MATRIX)
    vectors: dict[str, Any] = dict.fromkeys(SIDES, VECTORS)
    vectors |= {"entities": OTHERS, "bias": MATRIX[0], "row_queries": keys}
    late: dict[str, Any] = dict.fromkeys(SIDES, QUERY_LISTS)
    late |= {"entities": ENTITY_LISTS, "similarity": "maxsim"}
    lists = {side: dict.fromkeys(keys[side], listed(MATRIX[0])) for side in SIDES}
    by_row: dict[str, Any] = dict.fromkeys(SIDES, TOP) | {"row_queries": keys}
    names = {"head": "subject", "relation": "predicate", "tail": "object"}
    frame = pd.DataFrame(TRIPLES, columns=list(names.values()))
    framed: dict[str, Any] = dict.fromkeys(SIDES, frame) | {"columns": names}
    name = "link_prediction.Task"
    return [
        Call(f"{name}.evaluate", task.evaluate, dict.fromkeys(SIDES, scorer(MATRIX))),
        Call(f"{name}.evaluate_embeddings", task.evaluate_embeddings, vectors),
        Call(f"{name}.evaluate_embeddings", task.evaluate_embeddings, late),
        Call(f"{name}.evaluate_lists", task.evaluate_lists, lists),
        Call(f"{name}.evaluate_lists", task.evaluate_lists, framed),
        Call(f"{name}.evaluate_lists", task.evaluate_lists, by_row),
        Call(f"{name}.evaluate_scores", task.evaluate_scores, scores | {"row_queries": keys}),
    ]


def relation_calls() -> list[Call]:
    """Return the calls that predict relations."""
    relations = ["likes", *LABELS[1:]]
    task = tr.link_prediction.Task(
        TRIPLES, entities=LABELS, relations=relations, sides=["relation"]
    )
    keys = [(head, tail) for head, _, tail in TRIPLES]
    by_row = {"row_queries": {"relation": keys}}
    vectors = {"relation": VECTORS, "relations": OTHERS}
    lists = {"relation": dict.fromkeys(keys, listed(MATRIX[0], relations))}
    name = "link_prediction.Task"
    return [
        Call(f"{name}.evaluate", task.evaluate, {"relation": scorer(MATRIX)}),
        Call(f"{name}.evaluate_embeddings", task.evaluate_embeddings, vectors | by_row),
        Call(f"{name}.evaluate_lists", task.evaluate_lists, lists),
        Call(f"{name}.evaluate_scores", task.evaluate_scores, {"relation": MATRIX} | by_row),
    ]


def retrieval_calls() -> list[Call]:
    """Return the calls of retrieval, and of runs."""
    retrieval = tr.retrieval
    known = {query: [LABELS[(i + 3) % WIDTH]] for i, query in enumerate(QUERIES)}
    made = {"qrels": QRELS, "entities": LABELS, "queries": QUERIES, "known": {"seen": known}}
    made |= {"groups": LABELS, "candidates": LABELS}
    by_number = {"qrels": {query: {i: 1} for i, query in enumerate(QUERIES)}, "entities": WIDTH}
    by_number["candidates"] = dict.fromkeys(QUERIES, PLACES.tolist())
    task = retrieval.Task(QRELS, entities=LABELS, queries=QUERIES)
    names = {"query": "qid", "document": "docno"}
    pairs = pd.DataFrame({"qid": QUERIES, "docno": LABELS})
    of_frame = {"qrels": pairs, "entities": LABELS, "columns": names}
    named = retrieval.Task(QRELS, entities=1000)  # Names are then as they occur.
    late = {"queries": QUERY_LISTS, "entities": ENTITY_LISTS, "similarity": "maxsim"}
    lists = {query: listed(row) for query, row in zip(QUERIES, MATRIX, strict=True)}
    top = tr.topk_embeddings(VECTORS, OTHERS, k=2)
    folder = Path(mkdtemp())
    written = {"path": folder / "run.txt", "top": top}
    run, qrels = folder / "lists.txt", folder / "qrels.txt"
    lines = [
        f"{query} Q0 {label} 1 0.5 tag\n" for query, label in zip(QUERIES, LABELS, strict=True)
    ]
    run.write_text("".join(lines))
    lines = [f"{query} 0 {label} 1\n" for query, label in zip(QUERIES, LABELS, strict=True)]
    qrels.write_text("".join(lines))
    vectors = {"queries": VECTORS, "entities": OTHERS, "bias": MATRIX[0], "row_queries": QUERIES}
    ids = {"ids": TOP, "row_queries": QUERIES}
    scores = {"scores": MATRIX, "row_queries": QUERIES}
    return [
        Call("retrieval.Task", retrieval.Task, made),
        Call("retrieval.Task", retrieval.Task, by_number),
        Call("retrieval.Task", retrieval.Task, of_frame),
        Call("retrieval.Task.evaluate", task.evaluate, {"scorer": scorer(MATRIX)}),
        Call("retrieval.Task.evaluate_embeddings", task.evaluate_embeddings, vectors),
        Call("retrieval.Task.evaluate_lists", task.evaluate_lists, {"ids": lists}),
        Call("retrieval.Task.evaluate_lists", named.evaluate_lists, {"ids": lists}),
        Call("retrieval.Task.evaluate_lists", retrieval.Task(QRELS).evaluate_lists, {"ids": lists}),
        Call(
            "retrieval.Task.evaluate_lists", task.evaluate_lists, {"ids": pairs, "columns": names}
        ),
        Call("retrieval.Task.evaluate_lists", task.evaluate_lists, ids),
        Call("retrieval.Task.evaluate_embeddings", task.evaluate_embeddings, late),
        Call("read_run", tr.read_run, {"path": run}),
        Call("read_qrels", tr.read_qrels, {"path": qrels}),
        Call("retrieval.Task", retrieval.Task, {"qrels": qrels, "entities": LABELS}),
        Call("retrieval.Task.evaluate_lists", task.evaluate_lists, {"ids": run}),
        Call("retrieval.Task.evaluate_scores", task.evaluate_scores, scores),
        Call("write_run", tr.write_run, written | {"queries": QUERIES, "entities": LABELS}),
    ]


def alignment_calls() -> list[Call]:
    """Return the calls of alignment."""
    alignment = tr.alignment
    graphs = {"left": [*LEFT, "x"], "right": [*RIGHT, "y"]}
    chosen = {"left_to_right": RIGHT, "right_to_left": LEFT}
    made = {"pairs": PAIRS, **graphs, "known": [("x", "y")], "candidates": chosen}
    graphs["left"].append("w")
    made["exclusive"] = ["w"]
    pairs = list(zip(range(WIDTH), range(WIDTH), strict=True))
    by_number: dict[str, Any] = {"pairs": pairs, "left": WIDTH, "right": WIDTH}
    by_number["candidates"] = dict.fromkeys(DIRECTIONS, PLACES.tolist())
    names = {"left": "source", "right": "found"}
    frame = pd.DataFrame({"source": LEFT, "found": RIGHT})
    framed: dict[str, Any] = dict.fromkeys(DIRECTIONS, frame) | {"columns": names}
    larger = alignment.Task(pairs, left=WIDTH, right=2 * WIDTH)
    both = {"left": VECTORS, "right": _RNG.random((2 * WIDTH, 4))}
    task = alignment.Task(PAIRS, left=LEFT, right=RIGHT)
    matrices = dict.fromkeys(DIRECTIONS, scorer(MATRIX))
    lists = {
        "left_to_right": {
            label: listed(row, RIGHT) for label, row in zip(LEFT, MATRIX, strict=True)
        },
        "right_to_left": {
            label: listed(row, LEFT) for label, row in zip(RIGHT, MATRIX.T, strict=True)
        },
    }
    vectors = {"left": VECTORS, "right": OTHERS}
    name = "alignment"
    return [
        Call(f"{name}.Task.score_pairs", task.score_pairs, {"found": PAIRS}),
        Call(f"{name}.neighbours", alignment.neighbours, vectors),
        Call(f"{name}.Task", alignment.Task, made),
        Call(f"{name}.Task", alignment.Task, by_number),
        Call(f"{name}.Task.evaluate_embeddings", larger.evaluate_embeddings, both),
        Call(f"{name}.Task.evaluate", task.evaluate, matrices),
        Call(f"{name}.Task.evaluate_embeddings", task.evaluate_embeddings, vectors),
        Call(f"{name}.Task.evaluate_lists", task.evaluate_lists, lists),
        Call(f"{name}.Task.evaluate_lists", task.evaluate_lists, framed),
        Call(f"{name}.Task.evaluate_scores", task.evaluate_scores, {"scores": MATRIX}),
        Call(
            f"{name}.csls_means",
            alignment.csls_means,
            vectors | {"k": 2, "candidates": (PLACES, PLACES)},
        ),
        Call(f"{name}.infer", alignment.infer, vectors),
        Call(f"{name}.infer", alignment.infer, both),
        Call(f"{name}.infer", alignment.infer, {"left": MATRIX, "right": None}),
    ]


def file_calls() -> list[Call]:
    """Return the calls of lists in files, beside which are files of right answers."""
    folder = Path(mkdtemp())
    of_queries = [("query", "document"), *zip(QUERIES, LABELS, strict=True)]
    for name, rows in {"triples": TRIPLES, "pairs": PAIRS, "qrels": of_queries}.items():
        text = "".join("\t".join(row) + "\n" for row in rows)
        (folder / name).write_text(text)
        (folder / f"right-{name}").write_text(text)
    links = tr.link_prediction.Task(folder / "right-triples", {}, entities=LABELS)
    pairs = tr.alignment.Task(folder / "right-pairs", left=LEFT, right=RIGHT)
    search = tr.retrieval.Task(folder / "right-qrels", entities=LABELS)
    name = "Task.evaluate_lists"
    of_sides = dict.fromkeys(SIDES, folder / "triples")
    of_directions = dict.fromkeys(DIRECTIONS, folder / "pairs")
    return [
        Call(f"link_prediction.{name}", links.evaluate_lists, of_sides),
        Call(f"alignment.{name}", pairs.evaluate_lists, of_directions),
        Call(f"retrieval.{name}", search.evaluate_lists, {"ids": folder / "qrels"}),
    ]


def inferred_calls() -> list[Call]:
    """Return the calls whose vocabularies are made of the labels, of which one is no ASCII."""
    lp = tr.link_prediction
    facts = [("a", "likes", "ros\u00e9"), ("b", "likes", "ros\u00e9")]
    judged = {"qrels": {"q0": ["ros\u00e9"], "q1": ["ros\u00e9"]}, "entities": 1000}
    judged["known"] = {"q0": ["ros\u00e9s", "x"], "q1": ["y"]}
    return [
        Call("link_prediction.Task", lp.Task, {"test": facts[:1], "known": {"train": facts[1:]}}),
        Call("link_prediction.read_triples", lp.read_triples, {"triples": facts}),
        Call("retrieval.Task", tr.retrieval.Task, judged),
    ]


ROOMS: tuple[Callable[[], list[Call]], ...] = (
    counting_calls,
    ranks_calls,
    triples_calls,
    link_prediction_calls,
    relation_calls,
    retrieval_calls,
    alignment_calls,
    file_calls,
    inferred_calls,
)
# Made once, and never changed: a call deep-copies its arguments.
wide_calls = cache(lambda: [call for room in ROOMS for call in room()])
