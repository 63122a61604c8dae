"""One good call of each public function: what each argument of it is asked wrongly beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

import truerank as tr
from doors.asking import Call
from support.example_ranks import query_report

SCORES = [[0.5, 0.25, 1.0], [0.125, 0.75, 0.5], [1.0, 0.0, 0.25]]
TARGETS = [0, 1, 2]
VECTORS = [[0.5, 0.25], [1.0, 0.5], [0.25, 1.0]]
TRIPLES = [("a", "likes", "b"), ("b", "likes", "c")]
KNOWN = [("a", "likes", "c")]
LIKES = [[0.5, 0.25, 1.0], [0.125, 0.75, 0.5]]
PAIRS = [(0, 0), (1, 1), (2, 2)]
QRELS = {"q": ["a"], "r": ["b", "c"]}
ENTITIES = ["a", "b", "c"]
BOTH_SIDES = ("head", "tail")
DATA_SET = {
    "ent_ids_1": "0\ta\n1\tb\n2\tc\n",
    "ent_ids_2": "3\tx\n4\ty\n5\tz\n",
    "triples_1": "0\t0\t1\n",
    "triples_2": "3\t0\t4\n",
    "sup_ent_ids": "0\t3\n",
    "ref_ent_ids": "1\t4\n2\t5\n",
}


def some_ranks() -> tr.Ranks:
    """Return ranks with all labels and weights."""
    return tr.Ranks(
        [0, 2, 1, 4],
        [1, 1, 2, 1],
        5,
        weights=[1.0, 1.0, 2.0, 1.0],
        side=["head", "tail", "head", "tail"],
        relation=["a", "a", "b", "b"],
        queries=[0, 1, 2, 3],
        targets=[4, 3, 2, 1],
    )


def counting_calls(folder: Path) -> list[Call]:
    """Return the calls of what counts scores, lists, negatives and vectors."""
    np.save(folder / "scores.npy", np.array(SCORES))
    counted = {"true_scores": [0.5, 0.75], "targets": [0, 1], "candidates": 3}
    counter, other = tr.RankCounter(**counted), tr.RankCounter(**counted)
    counter.update([[0.5, 0.25], [0.125, 0.75]], start=0)
    other.update([[1.0], [0.5]], start=2)
    counter.save(folder / "counter.npz")
    whole = tr.RankCounter([0.5], targets=[0], candidates=2)
    whole.update([[0.5, 0.25]])
    block = {"self": counter, "block": [[1.0], [0.5]], "start": 2}
    scores = {"scores": SCORES, "targets": TARGETS}
    lists = {"ids": [[0, 1], [2, 1], [2, 0]], "scores": None, "targets": TARGETS, "candidates": 3}
    vectors = {"queries": VECTORS, "entities": VECTORS}
    found = {"ids": [[1, 0], [1, 2], [2, -1]], "truth": [[2, 1], [1, 2], [2, 1]]}
    found |= {"similarity": "dot"}
    return [
        Call("rank", tr.rank, scores),
        Call("evaluate", tr.evaluate, scores),
        Call("rank_against", tr.rank_against, {"true_scores": [0.5], "others": [0.5, 0.75]}),
        Call("rank_lists", tr.rank_lists, lists),
        Call("RankCounter", tr.RankCounter, counted),
        Call("RankCounter.update", tr.RankCounter.update, block),
        Call("RankCounter.merge", tr.RankCounter.merge, {"self": counter, "other": other}),
        Call("RankCounter.load", tr.RankCounter.load, {"path": folder / "counter.npz"}),
        Call("RankCounter.save", counter.save, {"path": folder / "saved.npz"}),
        Call("RankCounter.ranks", whole.ranks, {}),
        Call("open_scores", tr.open_scores, {"source": folder / "scores.npy"}),
        Call("rank_embeddings", tr.rank_embeddings, vectors | {"targets": TARGETS}),
        Call("score_embeddings", tr.score_embeddings, vectors | {"targets": TARGETS}),
        Call("topk_embeddings", tr.topk_embeddings, vectors | {"k": 2}),
        Call("evaluate_topk", tr.evaluate_topk, vectors | found),
        Call("evaluate_ids", tr.evaluate_ids, {"ids": found["ids"], "truth": found["truth"]}),
    ]


def ranks_calls(folder: Path) -> list[Call]:
    """Return the calls of Ranks and Protocol."""
    ranks = some_ranks()
    ranks.save(folder / "ranks.npz")
    protocol = tr.Protocol()
    counts = {"above": [0, 2, 1], "tied": [1, 1, 2], "candidates": 5}

    def with_labels(kind: Any) -> tr.Ranks:
        return ranks.with_labels(kind=kind)

    return [
        Call("Ranks", tr.Ranks, counts),
        Call("Ranks.from_ranks", tr.Ranks.from_ranks, {"ranks": [1, 3], "candidates": 5}),
        Call("Ranks.random", ranks.random, {"seed": 1}),
        Call("Ranks.save", ranks.save, {"path": folder / "more.npz"}),
        Call("Ranks.with_weights", ranks.with_weights, {"weights": [1.0, 2.0, 1.0, 0.5]}),
        Call("Ranks.with_labels", with_labels, {"kind": list("aabb")}),
        Call("Ranks.with_protocol", lambda split: ranks.with_protocol(split=split), {"split": "x"}),
        Call("Protocol", tr.Protocol, {}),
        Call("Protocol.differences", protocol.differences, {"other": tr.Protocol(split="valid")}),
        Call("Protocol.joined", protocol.joined, {"other": protocol}),
        Call("concatenate", tr.concatenate, {"parts": [ranks[:2], ranks[2:]]}),
        Call("load", tr.load, {"path": folder / "ranks.npz"}),
    ]


def table_calls(name: str, result: Any, folder: Path) -> Iterator[Call]:
    """Yield the calls of the methods that every result with a table has."""
    for form in ("csv", "html", "json", "latex", "markdown", "pandas", "text"):
        yield Call(f"{name}.to_{form}", getattr(result, f"to_{form}"), {})
    yield Call(f"{name}.table", result.table, {})
    yield Call(f"{name}.save", result.save, {"path": folder / "saved.json"})


def report_calls(folder: Path) -> list[Call]:
    """Return the calls of reports of tasks and of queries."""
    report = tr.report(some_ranks(), by="relation")
    lists = query_report(some_ranks().with_weights(None), gains=[1.0, 2.0, 1.0, 1.0])
    return [
        Call("report", tr.report, {"ranks": some_ranks()}),
        Call("Report", tr.Report, {"ranks": some_ranks()}),
        Call("Report.chance", report.chance, {"metric": "mrr"}),
        Call("Report.contributions", report.contributions, {"key": "mrr"}),
        Call("Report.by_query", lists.by_query, {}),
        Call("Report.per_query", lists.per_query, {"key": "mrr"}),
        Call("Report.success_at", lists.success_at, {"cutoffs": [1, 2]}),
        Call("Report.audit", report.audit, {}),
        Call("Report.macro_left_out", report.macro_left_out, {"key": "macro.mrr"}),
        Call("Report.tasks", report.tasks, {}),
        Call("Report.group_tasks", report.group_tasks, {}),
        Call("Report.group_values", report.group_values, {"key": "mrr"}),
        Call("Report.interval", report.interval, {"metric": "mrr"}),
        Call("Report.read_key", report.read_key, {"key": "mrr"}),
        Call("Report.to_dict", report.to_dict, {}),
        *table_calls("Report", report, folder),
    ]


def result_calls(folder: Path) -> list[Call]:
    """Return the calls of tables, pages, plots, metrics, inference and other toolkits' numbers."""
    table = tr.Table({"model": ["a", "b"], "mrr": [0.5, 0.25]})
    ranks = some_ranks()
    reports = {"a": tr.report(ranks), "b": tr.report(ranks)}
    grouped = tr.report(ranks, by="relation")
    published = {"metric": "mrr", "value": 0.5, "candidates": 10, "tasks": 5}
    scores = {"scores": SCORES, "targets": TARGETS}
    bare = {"scores": [0.5, 0.25], "others": [[0.5, 0.75], [0.25, 0.125]]}
    presets = ["ogb", "pykeen"]
    compat = tr.compat.report(**scores, preset="ogb")
    figure = {"name": next(iter(compat))}
    first = tr.alignment.neighbours(VECTORS, VECTORS[::-1], k=2)
    return [
        Call("Table", tr.Table, {"columns": ["model", "mrr"], "rows": [["a", 0.5]]}),
        Call("table", tr.table, {"reports": {"a": grouped}, "groups": True, "kinds": "auto"}),
        Call("page.save", tr.page.save, {"path": folder / "page.html", "reports": reports}),
        Call("plot.groups", tr.plot.groups, {"report": grouped}),
        Call("overlap", tr.overlap, {"reports": {"a": ranks, "b": ranks}, "metric": "hits@3"}),
        Call("plot.neighbours", tr.plot.neighbours, {"models": {"a": first}}),
        Call("plot.hits_curve", tr.plot.hits_curve, {"reports": reports}),
        Call("plot.rank_distribution", tr.plot.rank_distribution, {"reports": reports}),
        Call("adjust", tr.adjust, published),
        Call("chance", tr.chance, {"metric": "mrr", "candidates": [5, 5, 5]}),
        Call("compare", tr.compare, {"a": ranks, "b": ranks, "metric": "mrr"}),
        Call("inference.interval", tr.inference.interval, {"ranks": ranks, "metric": "mrr"}),
        Call("compat.report", tr.compat.report, scores | {"preset": "ogb"}),
        Call("compat.table", tr.compat.table, bare | {"presets": presets}),
        Call("compat.CompatReport.bounds", compat.bounds, figure),
        Call("compat.CompatReport.corrected", compat.corrected, figure),
        Call("compat.CompatReport.printed", compat.printed, figure),
        Call("compat.CompatReport.to_dict", compat.to_dict, {}),
        Call("compat.Convention", tr.compat.Convention, {}),
        Call("compat.Convention.says", tr.compat.Convention().says, {"name": "nan"}),
        *table_calls("Table", table, folder),
        *table_calls("inference.Comparisons", tr.compare(reports, metric="mrr"), folder),
        *table_calls("inference.Intervals", grouped.interval(["mr", "mrr"]), folder),
        *table_calls("compat.CompatReport", compat, folder),
        *table_calls("compat.CompatTable", tr.compat.table(**scores, presets=presets), folder),
    ]


def scores_of(scores: Any, queries: Any, candidates: Any = None) -> Any:
    """Return scores of the rows of a batch, or of pairs of a query and a candidate."""
    shape: Any = len(queries) if candidates is not None else (len(queries), 3)
    return np.resize(np.array(scores), shape)


def link_prediction_calls(folder: Path) -> list[Call]:
    """Return the calls of link prediction."""
    lp = tr.link_prediction
    name = "link_prediction"
    task = lp.Task(TRIPLES, KNOWN, entities=ENTITIES)
    scores = {side: LIKES[:] for side in BOTH_SIDES}
    batches = dict.fromkeys(BOTH_SIDES, partial(scores_of, LIKES))
    lists = {
        "tail": {("a", "likes"): ["a", "b"], ("b", "likes"): ["c"]},
        "head": {("likes", "b"): ["a", "b"], ("likes", "c"): ["b"]},
    }
    vectors = {side: VECTORS[:2] for side in BOTH_SIDES} | {"entities": VECTORS}
    return [
        Call(f"{name}.Task", lp.Task, {"test": TRIPLES, "known": KNOWN}),
        Call(f"{name}.Task.evaluate", task.evaluate, batches),
        Call(f"{name}.Task.evaluate_embeddings", task.evaluate_embeddings, vectors),
        Call(f"{name}.Task.evaluate_lists", task.evaluate_lists, lists),
        Call(f"{name}.Task.evaluate_scores", task.evaluate_scores, scores),
        Call(f"{name}.Sampled", lp.Sampled, {"negatives": 2}),
        Call(f"{name}.read_triples", lp.read_triples, {"triples": TRIPLES}),
    ]


def retrieval_calls(folder: Path) -> list[Call]:
    """Return the calls of retrieval, and of runs and qrels."""
    retrieval = tr.retrieval
    (folder / "run.txt").write_text("q Q0 a 1 0.5 tag\nr Q0 b 1 0.5 tag\n")
    (folder / "qrels.txt").write_text("q 0 a 1\nr 0 b 2\n")
    task = retrieval.Task(QRELS, entities=ENTITIES, queries=["q", "r"])
    top = tr.topk_embeddings(VECTORS[:2], VECTORS, k=2)
    written = {"path": folder / "new.txt", "top": top, "queries": ["q", "r"], "entities": ENTITIES}
    vectors = {"queries": VECTORS[:2], "entities": VECTORS}
    listed = {"ids": tr.TopK([[0, 1], [0, 1]], None)}
    return [
        Call("retrieval.Task", retrieval.Task, {"qrels": QRELS, "entities": ENTITIES}),
        Call("read_run", tr.read_run, {"path": folder / "run.txt"}),
        Call("read_qrels", tr.read_qrels, {"path": folder / "qrels.txt"}),
        Call("write_run", tr.write_run, written),
        Call("retrieval.Task.evaluate", task.evaluate, {"scorer": partial(scores_of, LIKES)}),
        Call("retrieval.Task.evaluate_embeddings", task.evaluate_embeddings, vectors),
        Call("retrieval.Task.evaluate_lists", task.evaluate_lists, listed),
        Call("retrieval.Task.evaluate_scores", task.evaluate_scores, {"scores": LIKES}),
    ]


def alignment_calls(folder: Path) -> list[Call]:
    """Return the calls of alignment."""
    alignment = tr.alignment
    name = "alignment"
    vectors = {"left": VECTORS, "right": VECTORS[::-1]}
    made = alignment.Task(PAIRS, left=3, right=3)
    directions = ("left_to_right", "right_to_left")
    matrices = dict.fromkeys(directions, partial(scores_of, SCORES))
    lists = {direction: {0: [0, 1], 1: [1], 2: [2]} for direction in directions}
    data_set = folder / "data_set"
    data_set.mkdir()
    for file, text in DATA_SET.items():
        (data_set / file).write_text(text)
    graphs = alignment.read_folder(data_set)
    found = {"found": PAIRS, "scores": [0.5, 0.25, 1.0]}
    first = alignment.neighbours(**vectors)
    both_graphs = [*VECTORS, *VECTORS]
    return [
        Call(f"{name}.Graphs.split", graphs.split, {"embeddings": both_graphs}),
        Call(f"{name}.Graphs.task", graphs.task, {}),
        Call(f"{name}.Task.score_pairs", made.score_pairs, found),
        Call(f"{name}.neighbours", alignment.neighbours, vectors | {"k": 2}),
        Call(f"{name}.read_folder", alignment.read_folder, {"path": data_set}),
        *table_calls(f"{name}.Neighbours", first, folder),
        *table_calls(f"{name}.PairScores", made.score_pairs(**found), folder),
        Call(f"{name}.Task", alignment.Task, {"pairs": PAIRS, "left": 3, "right": 3}),
        Call(f"{name}.Task.evaluate", made.evaluate, matrices),
        Call(f"{name}.Task.evaluate_embeddings", made.evaluate_embeddings, vectors),
        Call(f"{name}.Task.evaluate_lists", made.evaluate_lists, lists),
        Call(f"{name}.Task.evaluate_scores", made.evaluate_scores, {"scores": SCORES}),
        Call(f"{name}.csls_means", alignment.csls_means, vectors | {"k": 2}),
        Call(f"{name}.infer", alignment.infer, vectors),
    ]


ROOMS: tuple[Callable[[Path], list[Call]], ...] = (
    counting_calls,
    ranks_calls,
    report_calls,
    result_calls,
    link_prediction_calls,
    retrieval_calls,
    alignment_calls,
)
# Made once, and never changed: a call deep-copies its arguments.
good_folder = cache(lambda: Path(mkdtemp()))
good_calls = cache(lambda: {call.name: call for room in ROOMS for call in room(good_folder())})
