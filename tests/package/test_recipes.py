"""Recipes of the pages for other tools' files: run on files that are written by the tools' rules.

The right value of each is the number that the tool itself prints, by its plain definition. Files of
ids and labels, and tables of predictions, are in ``link_prediction/test_files_of_ids.py``, lines
for published checkpoints in ``embeddings/test_checkpoints.py``, and adapters have files of theirs.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linprog

import truerank as tr
from oracles import identification
from support import markdown_pages
from support.environment import ROOT
from support.refusals import refusal
from truerank import alignment, retrieval
from truerank.link_prediction import Task

HOW_TO = ROOT / "docs" / "how-to"
DEPTH = 20


def run_recipe(
    page: str, words: str, replaced: tuple[str, str] = ("", ""), **names: Any
) -> dict[str, Any]:
    """Run the block of a page that has certain words, in the current folder; return its names.

    Of one that has a function, the functions alone. `replaced` is a part of the code, and another.
    """
    text = (HOW_TO / page).read_text(encoding="utf-8")
    (block,) = (block for block in markdown_pages.blocks(text) if words in block.code)
    assert replaced[0] in block.code
    tree = ast.parse(block.code.replace(*replaced), page)
    if words.startswith("def "):
        tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    modules = {"np": np, "scipy": scipy, "tr": tr, "alignment": alignment, "json": json}
    names = modules | {"Path": Path} | names
    exec(compile(tree, page, "exec"), names)
    return names


def code_in_text(page: str, words: str) -> str:
    """Return the only code in the text of a page that has certain words."""
    text = " ".join((HOW_TO / page).read_text(encoding="utf-8").split())
    (code,) = (code for code in text.split("`")[1::2] if words in code)
    return code


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# -- AnyBURL, PyClause and rerankers ---------------------------------------------------------------


def kinships(folder: Path) -> tuple[Any, list[tuple[str, ...]], list[tuple[str, ...]], Any]:
    """Return a task, its test triples, what else is known, and scores of a published model."""
    facts = np.load(folder / "kinships" / "triples.npz")
    names, relations = facts["entities"].tolist(), facts["relations"].tolist()
    splits = {
        split: [(names[h], relations[r], names[t]) for h, r, t in facts[split].tolist()]
        for split in ("test", "train", "valid")
    }
    model = np.load(folder / "kinships" / "complex.npz")
    vectors = model["entities"].astype(float)
    scores = {}
    for side in ("tail", "head"):  # The scores of a query are the same in each of its rows.
        queries = model[f"queries_{side}"].astype(float)
        scores[side] = np.einsum("qd,ed->qe", queries, vectors)
    test = splits.pop("test")
    task = Task(test, splits, entities=names, relations=relations)
    return task, test, splits["train"] + splits["valid"], scores


def lists_of_triples(
    names: list[str], test: list[Any], known: list[Any], scores: np.ndarray, side: str
) -> list[dict[str, float]]:
    """Return the best of each triple as AnyBURL lists them: without the query's other answers."""
    asked, *key = (2, 0, 1) if side == "tail" else (0, 1, 2)
    answers: dict[Any, set[str]] = {}
    for fact in test + known:
        answers.setdefault((fact[key[0]], fact[key[1]]), set()).add(fact[asked])
    lists = []
    for fact, row in zip(test, scores.tolist(), strict=True):
        left_out = answers[fact[key[0]], fact[key[1]]] - {fact[asked]}
        best = sorted(zip(row, names, strict=True), reverse=True)
        lists.append({name: score for score, name in best if name not in left_out})
    return lists


def write_predictions(path: Path, test: list[Any], heads: Any, tails: Any) -> None:
    """Write three lines for each triple, as AnyBURL does, of the first DEPTH entries of a list."""
    lines = []
    for fact, *of_sides in zip(test, heads, tails, strict=True):
        lines.append(" ".join(fact))
        for title, scores in zip(("Heads", "Tails"), of_sides, strict=True):
            entries = list(scores.items())[:DEPTH]
            lines.append(f"{title}: " + "".join(f"{name}\t{score}\t" for name, score in entries))
    path.write_text("\n".join(lines) + "\n")


def mean_reciprocal_place(test: list[Any], lists: Iterable[dict[str, float]], place: int) -> float:
    """Return the MRR of AnyBURL: of the answer's place in its list, 0 where this lacks it."""
    values = []
    for fact, scores in zip(test, lists, strict=True):
        names = list(scores)[:DEPTH]
        values.append(1 / (names.index(fact[place]) + 1) if fact[place] in names else 0)
    return float(np.mean(values))


def mrr_without_misses(report: tr.Report, side: str) -> float:
    """Return the MRR of a side as the page says it: a miss counts as 0."""
    ranks = report.ranks[report.ranks.labels["side"].values == side]
    return float(run_recipe("lists.md", "def mrr_of_listed")["mrr_of_listed"](ranks))


def test_ranks_of_scores_miss_nothing() -> None:
    """Their `listed` is None, which would make every value 0."""
    mrr_of_listed = run_recipe("lists.md", "def mrr_of_listed")["mrr_of_listed"]
    scores = tr.rank([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]], [3, 2])
    assert mrr_of_listed(scores) == 0.375
    lists = tr.rank_lists([[0, 1]], None, [1, 2], candidates=4, rows=[0, 0])
    assert mrr_of_listed(lists) == 0.25
    assert mrr_of_listed(tr.concatenate([scores, lists])) == 0.3125


def test_predictions_of_anyburl(tmp_path: Path, data: Path) -> None:
    """Joined lists give its own number; one list a query, the last, gives far less."""
    task, test, known, scores = kinships(data)
    names = list(task.entities)
    tails, heads = (lists_of_triples(names, test, known, scores[s], s) for s in ("tail", "head"))
    write_predictions(tmp_path / "predictions", test, heads, tails)
    joined = run_recipe("lists.md", "def read_predictions")["read_predictions"]("predictions")
    report = task.evaluate_lists(joined[0], head=joined[1])
    right = mean_reciprocal_place(test, tails, 2)
    published = json.loads((data / "kinships" / "published.json").read_text())["complex"]
    whole = published["tail.realistic"]["inverse_harmonic_mean_rank"]
    assert whole - 0.01 < right < whole  # Few answers are beyond the first of a list.
    assert mrr_without_misses(report, "tail") == pytest.approx(right, rel=1e-12)
    of_heads = mean_reciprocal_place(test, heads, 0)
    assert mrr_without_misses(report, "head") == pytest.approx(of_heads, rel=1e-12)
    last = {
        fact[:2]: dict(list(scores_of_triple.items())[:DEPTH])
        for fact, scores_of_triple in zip(test, tails, strict=True)
    }
    overwritten = task.evaluate_lists(last, head=joined[1])
    assert mrr_without_misses(overwritten, "tail") < right - 0.1


def test_lists_of_a_reranker(tmp_path: Path, data: Path) -> None:
    """Scores of each triple alone: they are not joined, and a TopK gives their own number."""
    task, test, known, scores = kinships(data)
    names = list(task.entities)
    rng = np.random.default_rng(0)
    lists = []
    for each in lists_of_triples(names, test, known, scores["tail"], "tail"):
        drawn = dict(zip(list(each)[:DEPTH], rng.normal(size=DEPTH).tolist(), strict=True))
        lists.append(dict(sorted(drawn.items(), key=lambda entry: -entry[1])))
    write_predictions(tmp_path / "predictions", test, lists, lists)
    read = run_recipe("lists.md", "def read_predictions")["read_predictions"]
    with pytest.raises(ValueError, match=r"has two scores for .*: use a TopK, as below"):
        read("predictions")
    ids = [[names.index(name) for name in each] for each in lists]
    top = tr.TopK(ids, [list(each.values()) for each in lists])  # type: ignore[arg-type]
    report = task.evaluate_lists(top, head=top)
    assert mrr_without_misses(report, "tail") == pytest.approx(
        mean_reciprocal_place(test, lists, 2), rel=1e-12
    )


def test_a_list_with_a_repeat_is_joined_only_if_its_scores_are_equal() -> None:
    read = run_recipe("lists.md", "def read_predictions")["read_predictions"]
    lines = "a likes b\nHeads: a\t0.9\t\nTails: b\t0.9\td\t0.95\tb\t"
    Path("predictions").write_text(f"{lines}0.9\t\n")
    assert read("predictions")[0] == {("a", "likes"): {"b": 0.9, "d": 0.95}}
    Path("predictions").write_text(f"{lines}0.1\t\n")
    with pytest.raises(ValueError, match=r"^b has two scores for \('a', 'likes'\)"):
        read("predictions")


def test_lists_of_a_triple_in_another_order_are_refused() -> None:
    """Heads would be taken for tails; so would what stands in the place of a missing line."""
    read = run_recipe("lists.md", "def read_predictions")["read_predictions"]
    for lines in ("Tails: b\t0.9\t\nHeads: a\t0.9\t", "Heads: a\t0.9\t\na likes c"):
        Path("predictions").write_text(f"a likes b\n{lines}\n")
        with pytest.raises(AssertionError, match="in its place"):
            read("predictions")


# -- runs and judgements ---------------------------------------------------------------------------


def judged_runs(n_queries: int = 30, n_documents: int = 40) -> tuple[Any, Any]:
    """Return grades and scores without ties, {query: {document: number}}; each has an answer."""
    rng = np.random.default_rng(1)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query in range(n_queries):
        order = rng.permutation(n_documents).tolist()
        grades = rng.integers(0, 3, 5).tolist()
        judged = zip(order, [*grades, 1], strict=False)
        qrels[f"q{query}"] = {f"d{document}": grade for document, grade in judged}
        listed = rng.permutation(n_documents)[:12].tolist()
        scores = np.sort(rng.permutation(1000)[:12] / 8)[::-1].tolist()
        run[f"q{query}"] = {f"d{i}": score for i, score in zip(listed, scores, strict=True)}
    return qrels, run


def mean_of_queries(qrels: Any, run: Any, value: Any) -> float:
    """Return the mean over queries of a value of right answers and the order of a list."""
    values = []
    for query, grades in qrels.items():
        right = {document for document, grade in grades.items() if grade > 0}
        values.append(value(right, list(run[query])))
    return float(np.mean(values))


def average_precision(right: set[str], order: list[str]) -> float:
    """Return trec_eval's map of a query."""
    places = [place for place, name in enumerate(order, 1) if name in right]
    return sum(i / place for i, place in enumerate(places, 1)) / len(right)


def reciprocal_place(right: set[str], order: list[str], depth: int = 10) -> float:
    """Return the RR@10 of MS MARCO's script."""
    places = [place for place, name in enumerate(order[:depth], 1) if name in right]
    return 1 / places[0] if places else 0


def test_runs_of_trec() -> None:
    """As trec_eval reads both files, and as ranx and MTEB save them."""
    qrels, run = judged_runs()
    lines = [f"{q} 0 {d} {grade}\n" for q, judged in qrels.items() for d, grade in judged.items()]
    Path("qrels.txt").write_text("".join(lines))
    lines = []
    for query, scores in run.items():
        for place, (document, score) in enumerate(scores.items(), 1):
            lines.append(f"{query}\tQ0\t{document}\t{place}\t{score}\tbm25\n")
    Path("run.txt").write_text("".join(lines))
    Path("run.json").write_text(json.dumps(run))
    task = retrieval.Task("qrels.txt", entities=40)
    for lists in (Path("run.txt"), json.loads(Path("run.json").read_text())):
        report = task.evaluate_lists(lists)
        right = mean_of_queries(qrels, run, average_precision)
        assert report["map"] == pytest.approx(right, rel=1e-12)
        right = mean_of_queries(qrels, run, reciprocal_place)
        assert report["mrr@10"] == pytest.approx(right, rel=1e-12)
    pytrec_eval = pytest.importorskip("pytrec_eval")
    with Path("qrels.txt").open() as judged, Path("run.txt").open() as listed:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), {"map", "ndcg"})
        values = evaluator.evaluate(pytrec_eval.parse_run(listed)).values()
    for name in ("map", "ndcg"):
        assert report[name] == pytest.approx(np.mean([each[name] for each in values]), rel=1e-9)


@pytest.mark.parametrize("has_scores", [False, True])
def test_runs_of_ms_marco_and_colbert(has_scores: bool) -> None:
    """Lines ``qid pid rank``; ColBERT's ranking.tsv has the score behind; qrels of TREC's form."""
    qrels, run = judged_runs()
    lines = []
    for query, scores in run.items():
        for place, (document, score) in enumerate(scores.items(), 1):
            behind = f"\t{score}" * has_scores
            lines.append(f"{query[1:]}\t{document[1:]}\t{place}{behind}\n")
    Path("ranking.tsv").write_text("".join(lines))
    judged = [
        f"{query[1:]}\t0\t{document[1:]}\t1\n"
        for query, grades in qrels.items()
        for document, grade in grades.items()
        if grade > 0
    ]
    Path("qrels.dev.tsv").write_text("".join(judged))
    task = retrieval.Task("qrels.dev.tsv", entities=40)
    right = mean_of_queries(qrels, run, reciprocal_place)
    ways = [{"rank": 2}, {"score": 3}] if has_scores else [{"rank": 2}]
    for way in ways:
        report = task.evaluate_lists("ranking.tsv", columns={"query": 0, "document": 1} | way)
        assert report["mrr@10"] == pytest.approx(right, rel=1e-12)


def test_a_folder_of_beir() -> None:
    """BEIR's search by the dot product, evaluated by pytrec_eval: NDCG@10 and Recall@10."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(2)
    qrels, _ = judged_runs()
    documents = [f"d{i}" for i in rng.permutation(40)]
    asked = [f"q{i}" for i in rng.permutation(33)]  # Three are of another split.
    Path("qrels").mkdir()
    for name, ids in (("corpus", documents), ("queries", asked)):
        lines = [json.dumps({"_id": label, "title": "", "text": "\u2028"}) for label in ids]
        Path(f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    rows = [f"{q}\t{d}\t{grade}\n" for q, judged in qrels.items() for d, grade in judged.items()]
    Path("qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    corpus, queries = rng.integers(-9, 9, (40, 8)) + 0.0, rng.integers(-9, 9, (33, 8)) + 0.0
    corpus += rng.random((40, 8)) / 8  # no ties
    found = queries @ corpus.T
    results = {
        query: dict(zip(documents, row, strict=True))
        for query, row in zip(asked, found.tolist(), strict=True)
        if query in qrels
    }
    names = {"ndcg_cut_10": "ndcg@10", "recall_10": "recall@10"}
    values = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(results).values()
    read_names = run_recipe("beir.md", "def read_names")["read_names"]
    task = retrieval.Task("qrels/test.tsv", entities=read_names("corpus.jsonl"))
    report = task.evaluate_embeddings(queries, corpus, row_queries=read_names("queries.jsonl"))
    for name, ours in names.items():
        assert report[ours] == pytest.approx(np.mean([each[name] for each in values]), rel=1e-9)


def test_files_of_mind() -> None:
    """Its evaluate.py scores a candidate by 1 / place, and takes means over impressions."""
    rng = np.random.default_rng(3)
    logs, places, values = [], [], []
    for impression in range(1, 41):
        shown = rng.permutation(60)[: rng.integers(3, 15)].tolist()
        clicks = np.zeros(len(shown), int)
        clicks[rng.permutation(len(shown))[: rng.integers(1, 3)]] = 1
        order = 1 + rng.permutation(len(shown))
        words = " ".join(f"N{news}-{click}" for news, click in zip(shown, clicks, strict=True))
        logs.append(f"{impression}\tU{impression % 7}\t11/13/2019 7:17:00 AM\tN9 N8\t{words}\n")
        places.append(f"{impression} [{','.join(map(str, order))}]\n")
        of_clicks, of_others = order[clicks == 1], order[clicks == 0]
        gains = 1 / np.log2(1 + of_clicks[of_clicks <= 5])
        ideal = 1 / np.log2(2 + np.arange(min(5, len(of_clicks))))
        auc = (of_clicks[:, None] < of_others).mean()
        values.append((auc, (1 / of_clicks).mean(), gains.sum() / ideal.sum()))
    Path("behaviors.tsv").write_text("".join(logs))
    Path("prediction.txt").write_text("".join(places))
    names = run_recipe("impressions.md", 'Path("behaviors.tsv").read_text')
    report = names["mind_news"].evaluate_lists(names["places"], order="ascending")
    mrr = run_recipe("impressions.md", "def mind_mrr")["mind_mrr"](report)["expected.mrr"]
    numbers = [report["auc"], mrr, report["ndcg@5"]]
    np.testing.assert_allclose(numbers, np.mean(values, axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("logs", "places", "error"),
    [
        (["1 N2-1 N1-0 N2-1"], "1 [1,2,3]", AssertionError),
        (["1 N2-1 N1-0", "1 N3-1 N4-0"], "1 [2,1]\n1 [1,2]", AssertionError),
        (["1 N2-1 N1-0 N3-0"], "1 [2,1]", ValueError),
        (["1 N2-1 N1-0"], "1 [2,1]\n1 [1,2]", AssertionError),
    ],
    ids=["a news item twice", "a number twice", "a place is missing", "two predictions"],
)
def test_files_of_mind_that_are_refused(
    logs: list[str], places: str, error: type[Exception]
) -> None:
    """Of two places of a news item, or two impressions of one number, the last would count."""
    lines = [line.replace(" ", "\tU1\t11/13/2019 7:17:00 AM\tN9\t", 1) for line in logs]
    Path("behaviors.tsv").write_text("\n".join(lines))
    Path("prediction.txt").write_text(places)
    with pytest.raises(error):
        run_recipe("impressions.md", 'Path("behaviors.tsv").read_text')


def test_mean_reciprocal_rank_of_mind_needs_a_score_of_every_click() -> None:
    """A click without one would count as if its place were known."""
    task = retrieval.Task({"i": ["a", "b"]}, entities=list("abcdef"), candidates="all")
    mind_mrr = run_recipe("impressions.md", "def mind_mrr")["mind_mrr"]
    every = task.evaluate_lists({"i": {"a": 0.5, "c": 0.6, "b": 0.4}})
    assert mind_mrr(every)["expected.mrr"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    with pytest.raises(AssertionError):
        mind_mrr(task.evaluate_lists({"i": {"a": 0.5, "c": 0.6}}))


@pytest.mark.parametrize("level", [None, 1, 2])
def test_mean_reciprocal_rank_of_mind_of_grades(level: int | None) -> None:
    """Of clicks alone: those that reach the level, where other answers have lower grades."""
    rng = np.random.default_rng(5)
    grades: dict[str, dict[str, int]] = {}
    scores: dict[str, dict[str, float]] = {}
    values = []
    for i in map(str, range(30)):
        numbers = [2, *rng.integers(-1, 3, 7).tolist()]
        order = rng.permutation(8).tolist()
        grades[i] = {f"n{j}": grade for j, grade in enumerate(numbers)}
        scores[i] = {f"n{j}": -place / 8 for j, place in enumerate(order)}
        places = [
            1 + place for grade, place in zip(numbers, order, strict=True) if grade >= (level or 1)
        ]
        values.append(np.mean(1 / np.array(places)))
    task = retrieval.Task(grades, candidates="listed", relevance_level=level)
    mind_mrr = run_recipe("impressions.md", "def mind_mrr")["mind_mrr"]
    report = task.evaluate_lists(scores)
    assert mind_mrr(report)["expected.mrr"] == pytest.approx(np.mean(values))
    zero = tr.report(report.ranks.with_protocol(answerless="zero"))
    with pytest.raises(AssertionError, match="left out"):
        mind_mrr(zero)


# -- recommenders ----------------------------------------------------------------------------------


def test_coverage_of_users_with_few_items_left() -> None:
    """Of 30 items each user knows 15: lists of 20 have five places without an item."""
    rng = np.random.default_rng(0)
    known = np.argsort(rng.random((1000, 30)) + np.eye(1, 30), axis=1)[:, 15:]  # 0 by all
    train = np.arange(1000).repeat(15), known.ravel()
    users, items = rng.normal(size=(1000, 4)), rng.normal(size=(30, 4))
    task = retrieval.Task({0: [known[0, 0]]}, queries=1000, entities=30)
    names = run_recipe(
        "recommenders.md", "some_get", knows_some=users, items=items, train=train, task=task
    )
    assert (names["top"].ids == -1).sum() == 5000
    some_get = set().union(*(set(range(30)).difference(row) for row in known.tolist()))
    assert names["some_get"].tolist() == sorted(some_get) == list(range(1, 30))


def test_the_last_item_of_times_that_have_no_order() -> None:
    """Times as text are sorted as words, and a missing time is put last."""
    page = (HOW_TO / "recommenders.md").read_text(encoding="utf-8")
    (code,) = (b.code for b in markdown_pages.blocks(page) if "cumcount" in b.code)
    start, end = code.index("assert log"), code.index("known = ")
    for times, words in (([9, 10], ""), (["9", "10"], "no numbers"), ([9, None], "is missing")):
        log = pandas().DataFrame({"user": [1, 1], "item": [5, 7], "timestamp": times})
        names = {"log": log}
        if words:
            with pytest.raises(AssertionError, match=words):
                exec(code[start:end], names)
        else:
            exec(code[start:end], names)
            last = names["log"][names["from_the_end"] == 0]  # type: ignore[index]
            assert last["item"].tolist() == [7]


# -- hybrid search ---------------------------------------------------------------------------------


def hybrid_problem(rng: np.random.Generator, is_whole: bool) -> tuple[Any, ...]:
    """Return vectors, sparse scores and targets: copies tie, and whole numbers do so often."""
    n, q = 30, 12
    entities, queries = rng.integers(-2, 3, (n, 4)), rng.integers(-2, 3, (q, 4))
    scores = rng.integers(-1, 4, (q, n))
    if not is_whole:
        entities, queries = rng.normal(size=(n, 4)), rng.normal(size=(q, 4))
        scores = rng.normal(size=(q, n))
    sparse = scores * (rng.random((q, n)) < rng.choice([0, 0.2, 1])).astype(float)
    entities[:5], sparse[:, :5] = entities[5:10], sparse[:, 5:10]
    return queries.astype("f4"), entities.astype("f4"), sparse, rng.integers(0, n, q)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.coo_array])
@pytest.mark.parametrize("is_whole", [True, False])
def test_ranks_at_each_weight_of_hybrid_search(form: Any, is_whole: bool) -> None:
    """Not one count differs from those of the sums in float64, in blocks of nine documents."""
    names = run_recipe("hybrid-search.md", "def rank_at_weights", ("10_000", "9"))
    rng = np.random.default_rng(0)
    shares = np.array([0, 0.05, 0.25, 0.3, 0.5, 0.9, 0.95])
    weights = [*(shares / (1 - shares)), -0.5, 1e6]
    for _ in range(30):
        queries, entities, sparse, targets = hybrid_problem(rng, is_whole)
        dense = tr.score_embeddings(queries, entities, similarity="l1").astype(float)
        found = names["rank_at_weights"](
            weights, queries, entities, form(sparse), targets, similarity="l1"
        )
        rows = np.arange(len(targets))
        for weight, ranks in zip(weights, found, strict=True):
            sums = dense + weight * sparse
            true = sums[rows, targets, None]
            np.testing.assert_array_equal(ranks.above, (sums > true).sum(1))
            np.testing.assert_array_equal(ranks.tied, (sums == true).sum(1))
            assert (ranks.candidates == len(entities)).all()
        if is_whole:
            continue
        for share, ranks in zip(shares, found, strict=False):  # ordered alike, but for rounding
            sums = (1 - share) * dense + share * sparse
            true = sums[rows, targets, None]
            np.testing.assert_array_equal(ranks.above, (sums > true).sum(1))


def test_two_sparse_scores_of_a_document_are_refused() -> None:
    """As of its passages, which scipy adds up."""
    names = run_recipe("hybrid-search.md", "def rank_at_weights")
    queries, entities, sparse, targets = hybrid_problem(np.random.default_rng(0), True)
    twice = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [3, 3])), shape=sparse.shape)
    with pytest.raises(AssertionError):
        names["rank_at_weights"]([1], queries, entities, twice, targets, similarity="l1")


def test_scaling_over_all_documents_and_over_those_retrieved() -> None:
    """Each by its definition; a share that was chosen by the one is another by the other."""
    page = (HOW_TO / "hybrid-search.md").read_text(encoding="utf-8")
    of_retrieved = page.partition("such as `")[2].partition("`")[0]
    rank_at_weights = run_recipe("hybrid-search.md", "def rank_at_weights")["rank_at_weights"]
    rng = np.random.default_rng(0)
    queries, entities = (rng.normal(size=(n, 8)).astype("f4") for n in (60, 500))
    sparse = rng.gamma(3, 5, (60, 500)) * (rng.random((60, 500)) < 0.05)
    targets = np.argmax(sparse, axis=1)
    dense = tr.score_embeddings(queries, entities, similarity="dot").astype(float)
    found = {}
    for name, line in (("all", "np.ptp(dense, axis=1)"), ("retrieved", of_retrieved)):
        scale = eval(line, {"np": np, "dense": dense})[:, None]
        share = 0.4
        rows = sparse * scale / np.ptp(sparse, axis=1, keepdims=True)
        weights = [share / (1 - share)]
        (ranks,) = rank_at_weights(weights, queries, entities, rows, targets, similarity="dot")
        sums = (1 - share) * dense / scale + share * sparse / np.ptp(sparse, axis=1, keepdims=True)
        right = tr.rank(sums, targets)
        np.testing.assert_array_equal(ranks.above, right.above)
        found[name] = tr.report(ranks)["mrr"]
    assert found["retrieved"] < found["all"]  # The sparse side weighs less there.
    lists = np.argsort(-dense)[:, :100]
    ends = np.take_along_axis(dense, lists[:, [0, -1]], axis=1)
    np.testing.assert_array_equal(scale[:, 0], ends[:, 0] - ends[:, 1])


def test_reciprocal_rank_fusion() -> None:
    """Each list gives a document 1 / (60 + place), and its weight times that; a repeat nothing."""
    names = run_recipe("hybrid-search.md", "def fuse")
    rng = np.random.default_rng(0)
    first, second = ([f"d{i}" for i in rng.permutation(30)[:20]] for _ in range(2))
    for weight in (0, 0.4, 1, 3):
        fused = names["fuse"](first, second, weight)
        passages = [[*order[:1], *order[:5], *order[2:], *order[7:]] for order in (first, second)]
        assert names["fuse"](*passages, weight) == fused
        assert fused.keys() == ({*first, *second} if weight else {*first})
        for name, score in fused.items():
            right = 0.0
            for order, factor in ((first, 1), (second, weight)):
                if name in order:
                    right += factor / (61 + order.index(name))
            assert score == pytest.approx(right, rel=1e-12)


def test_fusion_of_runs_whose_lines_are_in_any_order() -> None:
    """Scores say which document is first, as files and JSON give them; equal ones go by name."""
    fuse = run_recipe("hybrid-search.md", "def fuse")["fuse"]
    qrels, _ = judged_runs()
    rng = np.random.default_rng(4)
    runs, best_first = [], []
    for _ in range(2):
        grades = {
            q: {f"d{i}": judged.get(f"d{i}", 0) for i in range(40)} for q, judged in qrels.items()
        }
        run = {
            q: {d: g + rng.normal(0, 1) for d, g in of_query.items()}
            for q, of_query in grades.items()
        }
        rows = [
            f"{q} Q0 {d} 0 {score} x\n" for q, scores in run.items() for d, score in scores.items()
        ]
        Path("shuffled.run").write_text("".join(rng.permutation(rows)))
        runs.append(tr.read_run("shuffled.run"))
        best_first.append(
            {q: sorted(scores, key=lambda d: -scores[d]) for q, scores in run.items()}
        )
    fused = {query: fuse(*(run[query] for run in runs), 0.5) for query in qrels}
    assert fused == {query: fuse(*(lists[query] for lists in best_first), 0.5) for query in qrels}
    of_lines = {query: fuse(*(list(run[query]) for run in runs), 0.5) for query in qrels}
    task = retrieval.Task(qrels, entities=40)
    maps = [task.evaluate_lists(lists)["map"] for lists in (fused, of_lines)]
    assert maps[0] > 2 * maps[1]  # The order of lines is no ranking.
    tied = {"b": 0.5, "c": 0.9, "a": 0.5}
    assert fuse(tied, [], 1) == fuse(["c", "a", "b"], [], 1)


def test_fusion_with_no_weight_is_the_first_list_alone() -> None:
    """Documents of the other list alone, which would add 0, are not listed behind it."""
    fuse = run_recipe("hybrid-search.md", "def fuse")["fuse"]
    task = retrieval.Task({"q": ["d2", "d5"]}, entities=9)
    assert task.evaluate_lists({"q": fuse(["d5"], ["d2"], 0)})["map"] == 0.5
    assert task.evaluate_lists({"q": fuse(["d5"], ["d2"], 1e-9)})["map"] == 1
    for weight in (-0.5, np.inf, np.nan):
        with pytest.raises(AssertionError, match="a weight is finite"):
            fuse(["d5"], ["d2"], weight)


def test_fusion_of_padded_lists_and_of_ranks_alone() -> None:
    fuse = run_recipe("hybrid-search.md", "def fuse")["fuse"]
    right = fuse(["d5", "d7"], ["d7"], 1)
    assert fuse(["d5", "d7", "", ""], ["d7", "", ""], 1) == right
    assert fuse(np.array([5, 7, -1]), [7, -1, -1], 1) == fuse([5, 7], [7], 1)
    Path("ranks.tsv").write_text("query\tdocument\trank\nq\td7\t2\nq\td5\t1\n")
    assert fuse(tr.read_run("ranks.tsv")["q"], ["d7"], 1) == right
    with pytest.raises(AssertionError, match="a score is NaN"):
        fuse({"d5": np.nan, "d7": 0.1}, [], 1)


# -- judgements in another order, ids with gaps, stars ---------------------------------------------


def test_queries_that_are_documents_in_another_order_than_the_corpus() -> None:
    qrels = '{"a1": ["a2"], "b1": ["b2"]}'
    names = run_recipe("retrieval.md", "twins = ", (qrels, '{"b1": ["b2"], "a1": ["a2"]}'))
    assert names["report"]["mrr"] == 1


def test_rows_of_no_entity_do_not_compete() -> None:
    """Entities have the ids 0, 1 and 4; vectors of rows 2 and 3 were never trained."""
    labels, rows = {0: "a", 1: "b", 4: "c"}, 5
    code = code_in_text("inputs.md", "row {i}")
    options = eval(f"dict({code})", {"labels": labels, "rows": rows})
    Path("test.tsv").write_text("0\t0\t4\n")
    task = Task("test.tsv", {}, relations=["r"], sides=["tail"], ids=True, **options)
    report = task.evaluate_scores(np.array([[0.0, 0.1, 0.9, 0.8, 0.5]]))
    assert (report["mrr"], report.ranks.candidates.tolist()) == (1, [3])


def test_stars_that_are_no_right_answer() -> None:
    """Items of four and five stars are right, in a file of user, item, rating and time."""
    rng = np.random.default_rng(0)
    stars = {user: dict(enumerate(rng.integers(1, 6, 20).tolist())) for user in range(15)}
    lines = [f"{u}\t{i}\t{each[i]}\t8812\n" for u, each in stars.items() for i in each]
    Path("u.data").write_text("".join(lines))
    run = {str(user): [str(i) for i in rng.permutation(20)] for user in stars}
    codes = [code_in_text("lists.md", words) for words in ('"relevance": 2}', "relevance_level=")]
    options = eval(f"dict({', '.join(codes)})")
    right = {
        str(user): {str(i): int(n > 3) for i, n in each.items()} for user, each in stars.items()
    }
    assert retrieval.Task("u.data", **options).evaluate_lists(run)["map"] == pytest.approx(
        mean_of_queries(right, run, average_precision), rel=1e-12
    )


# -- given negatives, complex queries --------------------------------------------------------------


def rank_given_negatives(negatives: list[list[int]]) -> tr.Ranks:
    given = ("negatives = np.array([[2, 3, 4], [0, 1, -1]])", "negatives = np.array(given)")
    names = run_recipe("facts.md", "lists = np.sort", given, given=negatives, Task=Task)
    ranks: tr.Ranks = names["report"].ranks
    return ranks


def test_given_negatives() -> None:
    """The place of each answer, 1 and 2, among its own negatives, of which one row is shorter."""
    negatives = [[2, 3, 4], [0, 1, -1]]
    scores = np.random.default_rng(0).random((2, 5))
    places = [
        1 + (row[[id for id in ids if id >= 0]] > row[answer]).sum()
        for row, ids, answer in zip(scores, negatives, (1, 2), strict=True)
    ]
    assert rank_given_negatives(negatives).realistic.tolist() == places


@pytest.mark.parametrize("first", [[2, 3, 2], [2, 1, 4]], ids=["twice", "the answer"])
def test_negatives_that_come_twice_are_refused(first: list[int]) -> None:
    """OGB counts each of them, and a set of candidates does not."""
    with pytest.raises(AssertionError):
        rank_given_negatives([first, [0, 1, -1]])


@pytest.mark.parametrize("hard", ["[[1, 5, 1], [4], [2]]", "[[0, 5], [4], [2]]"])
def test_answers_that_come_twice_are_refused(hard: str) -> None:
    """A hard answer twice, or one that is easy, too."""
    with pytest.raises(AssertionError):
        run_recipe("facts.md", "hard = ", ("[[1, 5], [4], [2]]", hard))


def test_qualifiers_are_a_set_of_pairs() -> None:
    with_set = run_recipe("facts.md", "def with_set")["with_set"]
    once = ("curie", "won", "medal", "in", "1903", "with", "pierre")
    assert with_set((*once, "in", "1903")) == with_set((*once[:3], *once[5:], *once[3:5]))
    others = [("in", "new york"), ("in new", "york"), ("in", "a; b c"), ("in", "a", "b", "c")]
    assert len({with_set((*once[:3], *pairs)) for pairs in others}) == 4
    with pytest.raises(ValueError, match="is shorter"):
        with_set(once[:-1])


# -- vectors of link prediction --------------------------------------------------------------------


def mrr_of_vectors(entity: str = "", relation: str = "", **options: Any) -> float:
    """Return the MRR by the page's vectors; with forms of names, of facts of these.

    Their order by name is another than that of the model's rows.
    """
    pytest.importorskip("click", reason="the demo needs click")
    from truerank.cli import demo

    model = demo.load_model()
    splits = [model.test, model.train, model.valid]
    of_entities = [entity.format(7 * i % 104 + 3) for i in range(104)]
    of_relations = [relation.format(3 * i % 25 + 2) for i in range(25)]
    if entity:
        splits = [
            [(of_entities[h], of_relations[r], of_entities[t]) for h, r, t in facts.tolist()]
            for facts in splits
        ]
        options = {"entities": of_entities, "relations": of_relations} | options
    task = Task(splits[0], {"train": splits[1], "valid": splits[2]}, **options)
    names = {"published": model, "task": task, "entities": model.entities}
    found = run_recipe("link-prediction.md", "fused = ", relations=model.relations, **names)
    return float(found["fused"]["mrr"])


def test_vectors_by_the_ids_of_a_task() -> None:
    """Also of names, of digits, and of names whose list gives an order of its own."""
    right = pytest.approx(0.438477, abs=1e-6)
    assert mrr_of_vectors(entities=104, relations=25) == right
    assert mrr_of_vectors("e{}", "r{}") == right
    assert mrr_of_vectors("{}", "{}") == right


def task_with_leaks(model: Any) -> Any:
    """Return a task that leaves out every fourth test triple, which train has, too."""
    known = {"train": np.concatenate([model.train, model.test[::4]]), "valid": model.valid}
    names = {"entities": model.entity_labels, "relations": model.relation_labels}
    return Task(model.test, known, **names, leaks="drop")


def test_vectors_beside_a_task_that_leaves_out_leaks() -> None:
    """Rows are of the test as it was given; the right ranks are those of the whole test."""
    pytest.importorskip("click", reason="the demo needs click")
    from truerank.cli import demo

    model = demo.load_model()
    vectors = {"entities": model.entities, "relations": model.relations, "published": model}
    reports = []
    for task in (
        Task(model.test, {"train": model.train, "valid": model.valid}, entities=104),
        task_with_leaks(model),
    ):
        reports.append(run_recipe("link-prediction.md", "fused = ", task=task, **vectors)["fused"])
    whole, kept = (report.ranks.realistic.reshape(2, -1) for report in reports)
    assert kept.shape == (2, 805)
    np.testing.assert_array_equal(kept, whole[:, np.arange(1074) % 4 > 0])


def test_vectors_need_the_order_of_relations() -> None:
    """The ids of names without it are in the order of labels: an MRR of 0.04 for 0.44."""
    with pytest.raises(AssertionError):
        mrr_of_vectors("e{}", "r{}", relations=None)


def test_values_of_groups_are_paired_by_their_names() -> None:
    """Reports have groups in the order of their models' relations."""
    facts = [("a", "r1", "b"), ("b", "r2", "a"), ("a", "r3", "a")]
    code = code_in_text("compare.md", "sorted(values)")
    of_models = []
    for relations in (["r1", "r2", "r3"], ["r3", "r1", "r2"]):
        task = Task(facts, {}, entities=["a", "b"], relations=relations, sides=["tail"])
        report = task.evaluate_scores([[0.5, 0.1]] * 3)
        values = tr.report(report.ranks, by="relation").group_values("mrr")
        assert list(values) == relations
        of_models.append(eval(code, {"values": values}))
    assert of_models[0] == of_models[1] == [0.5, 1, 1]


@pytest.mark.parametrize("order", ["rst", "str", "trs"])
def test_relations_of_one_triple_have_no_corrected_p(order: str) -> None:
    """Its p is nan, beside which all corrected ones were nan or wrong, by the order of groups."""
    rng = np.random.default_rng(0)
    places = {"r": 60, "s": 1, "t": 60}
    relation = np.concatenate([[name] * places[name] for name in order])
    logs = {name: rng.normal(2, 1, size) for name, size in places.items()}
    shifts = {"r": 0.5, "s": 2.0, "t": 0.05}
    models = []
    for sign in (0, 1):
        rng = np.random.default_rng(sign)
        of_model = {
            name: np.exp(logs[name] + sign * shifts[name] + 0.2 * rng.normal(size=size))
            for name, size in places.items()
        }
        above = np.concatenate([of_model[name] for name in order]).astype(int)
        n = len(above)
        models.append(tr.Ranks(above, [1] * n, 5000, queries=np.arange(n), targets=np.arange(n)))
    replaced = ("np.arange(n) % 3", "labels")
    a, b = models
    found = run_recipe("compare.md", "relation = np", replaced, n=n, labels=relation, a=a, b=b)
    corrected = {name: holm for name, *_, holm in found["rows"]}
    p = {name: pair.p_value for name, pair in found["pairs"].items()}
    assert p["r"] < p["t"]
    assert np.isnan([p["s"], corrected["s"]]).all()  # One is not counted: there are two tests.
    assert corrected["r"] == 2 * p["r"]
    assert corrected["t"] == max(2 * p["r"], p["t"])
    assert list(corrected) == list(p)


# -- nearest references ----------------------------------------------------------------------------


def test_neighbours_of_few_references() -> None:
    """The library would take padding, -1, for the last reference."""
    torch = SimpleNamespace(from_numpy=np.asarray)
    find = run_recipe("pytorch.md", "def exact_neighbours", torch=torch)["exact_neighbours"]
    vectors = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    distances, ids = find(vectors, 5, vectors, ref_includes_query=True)
    right = ((vectors[:, None] - vectors) ** 2).sum(2) + np.diag([np.inf] * 6)
    np.testing.assert_array_equal(ids, np.argsort(right)[:, :5])
    np.testing.assert_allclose(distances, np.sort(right)[:, :5], rtol=1e-5)
    with pytest.raises(AssertionError, match="fewer references"):
        find(vectors, 6, vectors, ref_includes_query=True)


# -- lists of an index -----------------------------------------------------------------------------


def share_of_the_nearest(n_left_out: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return 3-recall@10 as the page computes it, for padded lists among 30 entities; lists, truth.

    So many entities are no candidates of the first query.
    """
    rng = np.random.default_rng(0)
    queries, entities = rng.normal(size=(9, 4)), rng.normal(size=(30, 4))
    ids = np.where(rng.random((9, 10)) < 0.3, -1, rng.integers(0, 30, (9, 10)))
    np.save("ef64.npy", ids)
    names = {"queries": queries, "entities": entities, "left_out": [range(n_left_out)] + [[]] * 8}
    replaced = ("1, similarity", "3, filter=left_out, similarity")
    names = run_recipe("index-recall.md", "truth.min()", replaced, **names)
    page = (HOW_TO / "index-recall.md").read_text(encoding="utf-8")
    (code,) = (each.code for each in markdown_pages.blocks(page) if "truth.min()" in each.code)
    return eval(code.splitlines()[-1], names), ids, names["truth"]


def test_the_share_of_the_nearest_among_more() -> None:
    share, ids, truth = share_of_the_nearest(27)
    shares = [len({*row} & {*right}) / 3 for row, right in zip(ids, truth, strict=True)]
    assert share == pytest.approx(np.mean(shares))


def test_the_nearest_of_fewer_candidates_are_refused() -> None:
    """Their list is padded, and padding would be found in a padded list."""
    with pytest.raises(AssertionError):
        share_of_the_nearest(28)


def test_ids_that_are_as_near_as_the_tenth_count_once() -> None:
    """Lists may be padded; those with repeats, and a truth of fewer, are refused."""
    rng = np.random.default_rng(0)
    queries, entities = rng.normal(size=(9, 4)), rng.normal(size=(120, 4)).repeat(2, axis=0)
    exact = tr.topk_embeddings(queries, entities, 12, similarity="sql2").ids
    ids = np.column_stack([exact[:, :3], exact[:, 8:12], np.full((9, 3), -1)])
    code = "is_right = "
    names: dict[str, Any] = {"queries": queries, "entities": entities, "ids": ids}
    names = run_recipe("index-recall.md", code, **names)
    page = (HOW_TO / "index-recall.md").read_text(encoding="utf-8")
    (line,) = (each for each in page.splitlines() if "np.where(is_right" in each)
    assert eval(line, names) == pytest.approx(0.5)  # Pairs tie: the tenth is the last that counts.
    for wrong in ({"ids": ids[:, [0, 0, *range(8)]]}, {"entities": entities[:9]}):
        with pytest.raises(AssertionError, match=r"twice|fewer than ten"):
            run_recipe("index-recall.md", code, **(names | wrong))
    with pytest.raises(AssertionError, match="more than 100"):
        run_recipe("index-recall.md", code, **(names | {"entities": entities[:1].repeat(101, 0)}))


def test_the_recall_by_own_scores() -> None:
    """Whatever has at least the tenth score is right, also where more than ten have it."""
    rng = np.random.default_rng(0)
    queries, entities = rng.integers(0, 3, (9, 4)), rng.integers(0, 3, (60, 4))
    distances = ((queries[:, None] - entities) ** 2).sum(axis=2)
    ids = np.array([rng.permutation(60)[:10] for _ in queries])
    ids[:3] = np.argsort(distances[:3], axis=1)[:, :10]
    np.save("ef64.npy", ids)
    names: dict[str, Any] = {"queries": queries, "entities": entities}
    found = run_recipe("index-recall.md", "tenth = ", **names)["found"]
    tenth = np.sort(distances, axis=1)[:, 9:10]
    right = np.take_along_axis(distances, ids, axis=1) <= tenth
    assert found.per_query("precision@10").tolist() == right.mean(axis=1).tolist()
    assert right[:3].all()


def test_the_overlap_of_lists() -> None:
    rng = np.random.default_rng(0)
    lists = [np.argsort(rng.random((9, 30)))[:, :10] for _ in range(2)]
    names = dict(zip(("of_bytes", "of_bits"), lists, strict=True)) | {"entities": np.zeros(30)}
    task = run_recipe("index-recall.md", "overlap = ", **names)["overlap"]
    overlap = task.evaluate_lists(dict(enumerate(lists[1])))["recall@10"]
    shares = [len({*a} & {*b}) / 10 for a, b in zip(*lists, strict=True)]
    assert overlap == pytest.approx(np.mean(shares))
    for padded in lists:
        padded[3, 8:] = -1
        with pytest.raises(AssertionError):
            run_recipe("index-recall.md", "overlap = ", **names)
        padded[3] = range(10)


# -- errors ----------------------------------------------------------------------------------------


def test_who_stands_above_the_true_tail_in_the_worst_triples() -> None:
    """By sorted distances, without the known tails; the ranks are counts of the nearer ones."""
    names = run_recipe("read-the-errors.md", "demo.load_model()")
    model, worst, top = names["model"], names["worst"], names["top"]
    facts = {tuple(fact) for split in ("train", "valid", "test") for fact in vars(model)[split]}
    distances = np.abs(names["vectors"]["tail"][:, None] - model.entities).sum(2)
    ranks = []
    for (head, relation, tail), row in zip(model.test, distances, strict=True):
        true = row[tail]
        row[[(head, relation, entity) in facts for entity in range(104)]] = np.inf
        ranks.append(1 + (row < true).sum())
    assert (np.sort(ranks)[-3:] == names["tails"].realistic[worst][::-1]).all()
    np.testing.assert_array_equal(np.argsort(distances[worst])[:, :3], top.ids)


def names_above(model: Any, task: Any, worst: np.ndarray) -> list[list[str]]:
    """Return the first three above the true tail by distances, without known tails."""
    found = []
    side = task.tail
    indptr, indices, lists = side.filter
    for i in worst:
        head, relation, tail = task.test[i]
        distances = np.abs(model.entities[head] + model.relations[relation] - model.entities).sum(1)
        true = distances[tail]
        left_out = indices[indptr[lists[i]] : indptr[lists[i] + 1]]
        distances[left_out] = np.inf
        if side.candidates is not None:
            starts, candidates, of_tasks = side.candidates
            allowed = candidates[starts[of_tasks[i]] : starts[of_tasks[i] + 1]]
            distances[np.setdiff1d(np.arange(104), allowed)] = np.inf
        first = [j for j in np.argsort(distances)[:3] if distances[j] < true]
        found.append([task.entities[j] for j in first])
    return found


@pytest.mark.parametrize("has_candidates", [False, True])
def test_who_is_above_where_triples_are_left_out(
    has_candidates: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a task without leaks, and of one with candidates: vectors are of the test as given."""
    pytest.importorskip("click", reason="the demo needs click")
    from truerank.cli import demo

    model = demo.load_model()
    task = task_with_leaks(model)
    if has_candidates:
        entities, relations = model.entity_labels.tolist(), model.relation_labels.tolist()
        tails = {relation: set(entities[::2]) for relation in relations}
        for _, relation, tail in model.test:
            tails[relations[relation]].add(entities[tail])
        candidates = {"tail": {r: sorted(some) for r, some in tails.items()}, "head": "all"}
        names = {"entities": entities, "relations": relations}
        task = Task(model.test, {"train": model.train}, **names, candidates=candidates)
    whole = demo.make_task(model)
    replaced = "vectors = demo.query_vectors(model, task)"
    given = (replaced, "vectors = query_vectors(model, whole)\ntask = given")
    names = run_recipe(
        "read-the-errors.md",
        "demo.load_model()",
        given,
        given=task,
        whole=whole,
        query_vectors=demo.query_vectors,
    )
    named = [line.partition(": ")[2].split() for line in capsys.readouterr().out.splitlines()]
    right = names_above(model, task, names["worst"])
    assert named == [[str(name) for name in each] for each in right]


def test_who_is_above_in_a_part_needs_the_vectors_of_the_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("click", reason="the demo needs click")
    for vectors in ("whole", "task"):
        given = (
            "vectors = demo.query_vectors(model, task)",
            f"whole = task\ntask = whole[1::4]\nvectors = demo.query_vectors(model, {vectors})",
        )
        if vectors == "whole":
            names = run_recipe("read-the-errors.md", "demo.load_model()", given)
        else:
            with pytest.raises(AssertionError, match="vectors of the whole test"):
                run_recipe("read-the-errors.md", "demo.load_model()", given)
    named = [line.partition(": ")[2].split() for line in capsys.readouterr().out.splitlines()]
    assert named == names_above(names["model"], names["task"], names["worst"])


def test_only_those_above_the_true_tail_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The best triples have nobody above; lists are filled with -1 where most tails are known."""
    worst = ("np.argsort(-tails.realistic)[:3]", "np.argsort(tails.realistic)[:3]")
    run_recipe("read-the-errors.md", "demo.load_model()", worst)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" rank ")[2] for line in lines] == ["1:"] * 3


def test_who_ties_with_the_true_tail_is_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    constant = ("demo.load_model()", "make_constant(demo.load_model())")

    def make_constant(model: Any) -> Any:
        return SimpleNamespace(**vars(model) | {"entities": np.zeros_like(model.entities)})

    code = "demo.load_model()"
    names = run_recipe("read-the-errors.md", code, constant, make_constant=make_constant)
    assert (names["tails"].realistic > 30).all()
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[2] for line in lines] == [""] * 3


def test_the_worst_groups_are_those_that_have_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    """A group whose queries have no right answer of the level has NaN, which has no order."""
    grades = {f"q{i}": {"right": 2 if i % 3 else 1, "other": 1} for i in range(9)}
    lists = {f"q{i}": [*(f"x{j}" for j in range((5 * i) % 9)), "right"] for i in range(9)}
    groups = {f"q{i}": f"g{i}" for i in range(9)}
    task = retrieval.Task(grades, relevance_level=2)
    report = task.evaluate_lists(lists)
    labels = [groups[query] for query in report.ranks.queries]
    report = tr.report(report.ranks.with_labels(relation=labels))
    run_recipe("read-the-errors.md", "group_values", report=report)
    assert capsys.readouterr().out.split() == ["g7", "g5", "g1"]  # behind 8, 7 and 5 others


@pytest.mark.parametrize("n_first", [10, 12])
def test_a_list_for_the_judges_of_another_length(n_first: int) -> None:
    """The query of each is the row of its list; -1 fills lists of few documents."""
    longer = ("(queries, documents, 10,", f"(queries, documents, {n_first},")
    names = run_recipe("read-the-errors.md", "judged = ", longer)
    top = names["top"]
    assert top.ids.shape == (200, n_first)
    pairs = [(row, i) for row, ids in enumerate(top.ids.tolist()) for i in ids]
    best = np.argsort(-top.scores.ravel())[:100]
    right = [pairs[i][1] in names["right"][pairs[i][0]] for i in best.tolist()]
    assert names["are_right"] == right
    code = "known = [judged[query] for query in right]"
    few = (code, "known = [range(query < 90, 800) for query in right]")
    with pytest.raises(AssertionError, match="fewer than 100 documents"):
        run_recipe("read-the-errors.md", "judged = ", few)


def test_a_list_for_the_judges_lacks_what_is_judged() -> None:
    """Whatever the order of the judgements."""
    code = "rng.random() < 0.67] for query in "
    reordered = (f"{code}right}}", f"{code}reversed(right)}}")
    names = run_recipe("read-the-errors.md", "judged = ", reordered)
    assert next(iter(names["judged"])) == 199
    for query, ids in enumerate(names["top"].ids.tolist()):
        assert not set(ids).intersection(names["judged"][query])


# -- retrieval for generation ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.* have no list")
def test_all_right_passages_and_precision_without_a_cutoff() -> None:
    """Of lists of any length, by their sets; answers beyond the tenth place are missed.

    A list may be empty, or missing, or of a question that is not asked.
    """
    rng = np.random.default_rng(0)
    golden = {f"q{i}": [f"p{i}", f"p{i + 1}"][: 1 + i % 2] for i in range(60)}
    given = {}
    for question, answers in golden.items():
        others = [f"other {i}" for i in range(rng.integers(1, 30))]
        given[question] = rng.permutation(others + answers[: rng.integers(0, 3)]).tolist()
    given["q1"] = []
    del given["q2"]
    words = 'asked = {question: golden[question] for question in ("q0", "q1")}\nlists = '
    words += '{"q0": ["p0", "p7"], "q1": ["p51", "p1", "p9"]}'
    given = given | {"not in the golden set": ["p1"]}
    replaced = (words, "asked, lists = golden, given")
    names = run_recipe("rag.md", "recall_all", replaced, golden=golden, given=given)
    pairs = [(set(right), given.get(question, [])) for question, right in golden.items()]
    precisions = [len(right & set(found)) / max(len(found), 1) for right, found in pairs]
    np.testing.assert_allclose(names["right"] / np.maximum(names["lengths"], 1), precisions)
    recalls = names["report"].per_query("recall@10") == 1
    np.testing.assert_array_equal(recalls, [right <= set(found[:10]) for right, found in pairs])
    assert 0 < recalls.mean() < 1


def test_questions_that_got_worse_in_two_tasks_of_one_golden_set() -> None:
    """They are of unlike order: differences of places were of other questions."""
    golden = {f"q{i}": [f"p{i}"] for i in range(3)}
    lists = {"q0": ["p0", "x"], "q1": ["x", "p1"], "q2": ["x", "y", "p2"]}
    before, after = (
        retrieval.Task({q: golden[q] for q in order}, entities=9).evaluate_lists(lists)
        for order in (["q0", "q1", "q2"], ["q2", "q1", "q0"])
    )
    assert (after.per_query("mrr") - before.per_query("mrr")).any()
    names = run_recipe("rag.md", "was, now = ", before=before, after=after)
    differences = [names["now"][q]["mrr"] - names["was"][q]["mrr"] for q in golden]
    assert differences == [0, 0, 0]
    assert tr.compare(after, before, metric="mrr").ties == 3
    less = retrieval.Task(golden, entities=9).evaluate_lists(lists | {"q1": ["x", "y", "p1"]})
    worst = run_recipe(
        "rag.md", "was, now = ", ("sorted(", "worst = sorted("), before=before, after=less
    )["worst"]
    assert worst[0] == "q1"


def test_questions_without_an_answer_of_the_level_did_not_get_worse() -> None:
    """Their values are NaN, beside which an order of differences depends on what comes first."""
    golden = {f"q{i}": {f"p{i}": 1 + (i % 3 > 0), "other": 1} for i in range(30)}
    rng = np.random.default_rng(0)
    reports = []
    for _ in range(2):
        lists = {q: [*rng.permutation([f"p{i}" for i in range(30)]).tolist()] for q in golden}
        reports.append(retrieval.Task(golden, relevance_level=2).evaluate_lists(lists))
    before, after = reports
    values = [report.by_query("mrr") for report in reports]
    assert np.isnan(values[0]["q0"]["mrr"])
    given = {"before": before, "after": after}
    words = ("sorted(answered", "worst = sorted(answered")
    worst = run_recipe("rag.md", "was, now = ", words, **given)["worst"]
    losses = {
        q: values[1][q]["mrr"] - values[0][q]["mrr"] for q in golden if golden[q][f"p{q[1:]}"] > 1
    }
    assert [losses[question] for question in worst] == sorted(losses.values())[:3]
    fewer = retrieval.Task({q: golden[q] for q in list(golden)[1:]}, relevance_level=2)
    given["before"] = fewer.evaluate_lists({q: ["other"] for q in golden if q != "q0"})
    with pytest.raises(AssertionError, match="the same questions"):
        run_recipe("rag.md", "was, now = ", **given)


@pytest.mark.parametrize("form", ["names", "scores", "repeats", "known"])
def test_all_right_passages_of_a_level(form: str) -> None:
    """Questions without a passage of the level are left out, and so are known passages of lists."""
    golden = {"q0": {"p0": 2, "p1": 1}, "q1": {"p1": 2}, "q2": {"p2": 1}}
    given: Any = {"q0": ["p1", "p0"], "q1": ["x", "p1", "y"], "q2": ["z"]}
    options: dict[str, Any] = {}
    replaced = ".evaluate_lists(lists)"
    if form == "scores":
        given = {q: {d: -place / 8 for place, d in enumerate(each)} for q, each in given.items()}
    if form == "repeats":
        given["q0"] = ["p1", "p1", "p0"]
        replaced = '.evaluate_lists(lists, duplicates="first")'
    if form == "known":
        given["q1"] = ["seen", "x", "p1", "y"]
        options["known"] = {"train": {"q1": ["seen"]}}
    page = (HOW_TO / "rag.md").read_text(encoding="utf-8")
    (code,) = (b.code for b in markdown_pages.blocks(page) if "recall_all" in b.code)
    start = code.index("recalls = ")
    report = retrieval.Task(golden, relevance_level=2, **options)
    names = {"np": np, "report": eval(f"report{replaced}", {"report": report, "lists": given})}
    values = []
    for node in ast.parse(code[start:]).body:
        line = ast.unparse(node)
        values.append(eval(line, names) if isinstance(node, ast.Expr) else exec(line, names))
    recall_all, precision = (value for value in values if value is not None)
    assert recall_all == 1
    assert precision == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_questions_of_joined_golden_sets_are_not_paired_by_the_order_of_joining() -> None:
    """Where two sets have a question of one name, its key has the number of its set."""
    ranks = {}
    for name, passages in {"en": ["en p", "x"], "de": ["x", "de p"]}.items():
        task = retrieval.Task({"q0": [f"{name} p"]})
        ranks[name] = task.evaluate_lists({"q0": passages}).ranks
    before, after = (
        tr.report(tr.concatenate([ranks[name] for name in order], repeats="refuse"))
        for order in (("en", "de"), ("de", "en"))
    )
    assert before.by_query("mrr").keys() == after.by_query("mrr").keys()
    with pytest.raises(AssertionError):
        run_recipe("rag.md", "was, now = ", before=before, after=after)


def test_a_random_order_of_some_candidates_has_less_than_half_an_auc() -> None:
    rng = np.random.default_rng(0)
    names = [f"d{i}" for i in range(1000)]
    qrels = {f"q{i}": [names[rng.integers(1000)]] for i in range(200)}
    orders = {query: [names[i] for i in rng.permutation(1000)] for query in qrels}
    short = {query: order[:100] for query, order in orders.items()}
    task = retrieval.Task(qrels, entities=names, candidates="all")
    for key in ("auc", "gauc"):
        assert abs(task.evaluate_lists(orders)[key] - 0.5) < 0.07
        assert task.evaluate_lists(short)[key] < 0.15
        assert abs(task.evaluate_lists(short, misses="expected")[key] - 0.5) < 0.07


def test_hits_of_ranx_are_a_count_of_right_answers() -> None:
    """By its definition: the number of right answers among the first k."""
    qrels, run = judged_runs()
    report = retrieval.Task(qrels, entities=40).evaluate_lists(run)
    right = {q: {d for d, grade in grades.items() if grade > 0} for q, grades in qrels.items()}
    counts = [
        len(right[q] & set(sorted(run[q], key=lambda d: -run[q][d])[:5])) for q in report.queries
    ]
    np.testing.assert_allclose(5 * report.per_query("precision@5"), counts)
    np.testing.assert_allclose(report.per_query("hits@5"), np.minimum(counts, 1))


def graded_judgements(n_queries: int = 40) -> tuple[Any, Any]:
    """Return grades from -2 to 2, which not all queries reach, and runs of which one is missing."""
    rng = np.random.default_rng(7)
    qrels, run = {}, {}
    for query in (f"q{i}" for i in range(n_queries)):
        judged = rng.permutation(40)[:15].tolist()
        grades = rng.integers(-2, 3 - rng.integers(2), 15).tolist()
        qrels[query] = {f"d{i}": grade for i, grade in zip(judged, grades, strict=True)}
        listed = rng.permutation(40)[:20].tolist()
        scores = (rng.permutation(1000)[:20] / 8).tolist()
        run[query] = {f"d{i}": score for i, score in zip(listed, scores, strict=True)}
    del run["q3"]
    return qrels, run


@pytest.mark.filterwarnings("ignore:.* have no list")
def test_judged_documents_alone() -> None:
    """As pytrec_eval's switch leaves out a grade below 0, too, of dicts and of files."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    keep_judged = run_recipe("../other-tools.md", "def keep_judged")["keep_judged"]
    qrels, run = graded_judgements()
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map"}, judged_docs_only_flag=True)
    right = {query: values["map"] for query, values in evaluator.evaluate(run).items()}
    Path("qrels.txt").write_text(
        "".join(f"{q} 0 {d} {grade}\n" for q, each in qrels.items() for d, grade in each.items())
    )
    Path("run.txt").write_text(
        "".join(f"{q} Q0 {d} 1 {score} x\n" for q, each in run.items() for d, score in each.items())
    )
    of_files = keep_judged(tr.read_run("run.txt"), tr.read_qrels("qrels.txt"))
    kept = keep_judged(run, qrels)
    assert of_files == kept
    values = retrieval.Task(qrels).evaluate_lists(kept).by_query("map")
    assert values.keys() - right.keys() == {"q3"}
    for query in values.keys() & right.keys():
        assert values[query]["map"] == pytest.approx(right[query], rel=1e-9)
    graded = {q: {d: s for d, s in run[q].items() if d in qrels[q]} for q in run}
    assert graded != kept
    with pytest.raises(AssertionError, match="do names differ"):
        keep_judged({int(query[1:]): scores for query, scores in run.items()}, qrels)


def test_recall_of_the_lesser_of_k_and_all_leaves_out_queries_without_a_right_answer() -> None:
    qrels, run = graded_judgements()
    run["q3"] = {"other": 1.0}
    report = retrieval.Task(qrels, relevance_level=2).evaluate_lists(run)
    right = {q: {d for d, grade in grades.items() if grade >= 2} for q, grades in qrels.items()}
    assert not all(right.values())
    values = []
    for query, documents in right.items():
        first = sorted(run[query], key=lambda d: -run[query][d])[:5]
        if documents:
            values.append(len(documents & set(first)) / min(5, len(documents)))
    code = ("k = 1\n", "k = 5\n")
    names = run_recipe("../other-tools.md", "np.nanmean(values)", code, report=report)
    assert np.nanmean(names["values"]) == pytest.approx(np.mean(values))


def test_values_of_queries_lack_those_without_answers() -> None:
    """`answerless="zero"` counts them, and they are no query of the report."""
    task = retrieval.Task({0: [0], 1: []}, entities=4, queries=2)
    report = task.evaluate_lists({0: [0], 1: [2]})
    report = tr.report(report.ranks.with_protocol(answerless="zero"))
    assert (report["recall@1"], report.per_query("recall@1").tolist()) == (0.5, [1])
    with pytest.raises(AssertionError, match="left out"):
        run_recipe("../other-tools.md", "np.nanmean(values)", report=report)
    given = ("tr.retrieval.Task(asked).evaluate_lists(lists)", "given")
    golden = {"q0": [], "q1": []}
    with pytest.raises(AssertionError, match="left out"):
        run_recipe("rag.md", "recall_all", given, given=report, golden=golden)


# -- identification --------------------------------------------------------------------------------


def drawn_images(seed: int) -> dict[str, Any]:
    """Return images of 25 persons by four cameras, distractors (0), and images of nobody (-1).

    Each person has one to eight images; some probes have no image by another camera.
    """
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(1, 26), rng.integers(1, 9, 25))
    persons = rng.permutation(np.concatenate([persons, [0] * 15, [-1] * 15]))
    cameras = rng.integers(0, 4, len(persons))
    images = rng.normal(size=(27, 32))[persons] + 1.6 * rng.normal(size=(len(persons), 32))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    probes = np.flatnonzero((persons > 0) & (rng.random(len(persons)) < 0.4))
    gallery = np.setdiff1d(np.flatnonzero(persons >= 0), probes)
    drawn = {"persons": persons, "cameras": cameras, "images": images, "pd": pandas()}
    return drawn | {"probes": probes, "gallery": gallery, "rng": rng}


def pandas() -> Any:
    return pytest.importorskip("pandas", reason="the recipe needs pandas")


def chance_of_the_first_place(row: np.ndarray, good: set[int], others: list[np.ndarray]) -> float:
    """Return how likely a drawn right image is above one drawn image of each other person."""
    scores = [row[images] for images in others]
    return float(np.mean([np.prod([(s < row[i]).mean() for s in scores]) for i in good]))


def good_and_junk(drawn: dict[str, Any]) -> list[tuple[set[int], set[int]]]:
    """Return what Market-1501 takes for right and for junk, one probe and image at a time."""
    persons, cameras, kinds = drawn["persons"], drawn["cameras"], []
    for probe in drawn["probes"]:
        good, junk = set(), set()
        for image in np.setdiff1d(np.arange(len(persons)), drawn["probes"]).tolist():
            is_own = persons[image] == persons[probe]
            if persons[image] == -1 or (is_own and cameras[image] == cameras[probe]):
                junk.add(image)
            elif is_own:
                good.add(image)
        kinds.append((good, junk))
    return kinds


@pytest.mark.parametrize("seed", range(5))
def test_images_of_persons_by_other_cameras(seed: int) -> None:
    """By Market-1501's walk down the whole list, where junk takes no place, and by revisitop's."""
    drawn = drawn_images(seed)
    report = run_recipe("identification.md", "asked.merge", **drawn)["report"]
    scores = drawn["images"][drawn["probes"]] @ drawn["images"].T
    scores[:, drawn["probes"]] = -np.inf  # They are not in the gallery: behind all.
    curves, areas, precisions, over_found = [], [], [], []
    kinds = good_and_junk(drawn)
    for row, (good, junk) in zip(scores, kinds, strict=True):
        if not good:
            continue
        curve, area, places = identification.market_1501(row, good, junk)
        curves.append(curve[: len(drawn["gallery"])])
        areas.append(area)
        order = np.argsort(-row).tolist()
        assert identification.revisitop(order, good, junk) == pytest.approx(area, rel=1e-12)
        precisions.append(identification.average_precision(places, len(good)))
        first = [place for place in places if place <= 5]
        over_found.append(identification.average_precision(first, len(first)))
    assert report.without_answers == len(kinds) - len(areas) > 0
    assert any(len(junk) > 15 and good for good, junk in kinds)
    np.testing.assert_allclose(report.per_query("map"), precisions, rtol=1e-12)
    found = report.success_at(range(1, 21))
    np.testing.assert_allclose(found, [np.mean([c[k] for c in curves]) for k in range(20)])
    trapezoids = run_recipe("../answer-metrics.md", "def average_trapezoids")
    values = trapezoids["average_trapezoids"](report.ranks)
    np.testing.assert_allclose(values, areas, rtol=1e-12)
    assert np.mean(areas) < np.mean(precisions) - 0.005
    name = "average_over_found"
    values = run_recipe("../answer-metrics.md", f"def {name}")[name](report, 5)
    np.testing.assert_allclose(values, over_found, rtol=1e-12)
    assert 0 in over_found


def test_other_average_precisions_refuse_ties() -> None:
    """A tie of a right answer and another; that of two right answers has one map@k."""
    names = run_recipe("../answer-metrics.md", "def average_trapezoids")
    names |= run_recipe("../answer-metrics.md", "def average_over_found")
    for scores, matters in (([3, 3, 2, 1], True), ([3, 2, 3, 1], False)):
        report = retrieval.Task({0: [0, 2]}, entities=4).evaluate_scores([scores])
        with pytest.raises(AssertionError):
            names["average_trapezoids"](report.ranks)
        if matters:
            with pytest.raises(AssertionError):
                names["average_over_found"](report, 2)
        else:
            assert names["average_over_found"](report, 2).tolist() == [1]
    lists = retrieval.Task({0: [0, 2]}, entities=3).evaluate_lists({0: [1, 0]})
    assert (lists.ranks.tied == 1).all()  # The one that the list misses is last.
    with pytest.raises(AssertionError):
        names["average_trapezoids"](lists.ranks)


def test_other_average_precisions_of_a_level() -> None:
    """Answers of lower grades are none, and queries that have no others are left out."""
    names = run_recipe("../answer-metrics.md", "def average_trapezoids")
    names |= run_recipe("../answer-metrics.md", "def average_over_found")
    qrels = {0: {0: 2, 3: 1}, 1: {1: 1}, 2: {4: 1, 5: 2, 9: 2}}
    task = retrieval.Task(qrels, entities=10, relevance_level=2)
    report = task.evaluate_scores(np.arange(30, 0, -1).reshape(3, 10))
    right = {0: {0}, 2: {5, 9}}
    areas = [identification.revisitop(list(range(10)), good, set()) for good in right.values()]
    np.testing.assert_allclose(names["average_trapezoids"](report.ranks), areas, rtol=1e-12)
    values = names["average_over_found"](report, 6)
    np.testing.assert_allclose(values, [1, np.nan, 1 / 6], rtol=1e-12)
    another = retrieval.Task({0: {9: 2}}, entities=10, relevance_level=2)
    for other in (report, another.evaluate_scores([range(0, 30, 3)])):
        joined = tr.concatenate({"a": report.ranks, "b": other.ranks})
        with pytest.raises(AssertionError, match="one by one"):
            names["average_trapezoids"](joined)


def test_chance_that_is_drawn_has_the_weights_of_the_ranks() -> None:
    candidates = "candidates = np.random.default_rng(1).integers(200, 300, 40)"
    weighted = (f"{candidates}  # report.ranks.candidates\nweights = None", "weights = given")
    given = {"candidates": np.array([2, 1000]), "given": np.array([9.0, 1.0])}
    hmr = run_recipe("../chance.md", "drawn = ", weighted, **given)
    mean = np.mean([1 / tr.report(ranks)["mrr"] for ranks in hmr["ranks"]])
    assert hmr["mean"] == pytest.approx(mean)
    shares = np.bincount([ranks.above[0] for ranks in hmr["ranks"]]) / 2000
    right = shares @ (1 / (0.9 / np.array([1, 2]) + 0.1 * 0.0075))
    assert hmr["mean"] == pytest.approx(right, rel=0.01)


def test_the_value_of_a_random_order() -> None:
    """Equal scores give the mean over all orders of the candidates, of any metric."""
    right = {0: [0, 3], 1: [1], 2: [2, 5, 6]}
    report = retrieval.Task(right, entities=8).evaluate_embeddings(
        np.zeros((3, 1)), np.zeros((8, 1))
    )
    orders = {query: itertools.combinations(range(1, 9), len(right[query])) for query in right}
    means = [
        np.mean([identification.average_precision(places, len(places)) for places in orders[query]])
        for query in right
    ]
    np.testing.assert_allclose(report.per_query("map"), means, rtol=1e-12)


def test_metrics_of_a_random_order() -> None:
    """The page names those whose value is not that of equal scores: median, and err has none."""
    page = (ROOT / "docs" / "answer-metrics.md").read_text(encoding="utf-8")
    keys = re.findall(r"^\| (`.+?) \|", page, re.MULTILINE)
    metrics = {name for key in keys for name in re.findall("`([^`]+)`", key)}
    assert len(metrics) >= 20
    grades = {0: {0: 2, 3: 1}, 1: {1: 1}, 2: {2: 3, 4: 1, 0: 1}}
    task = retrieval.Task(grades, entities=5)
    constant = task.evaluate_scores(np.zeros((3, 5)))
    orders = [np.tile(order, (3, 1)) for order in itertools.permutations(np.arange(5.0))]
    reports = list(map(task.evaluate_scores, orders))
    unlike = set()
    for metric in metrics:
        key = metric.replace("@k", "@2").replace(":n", ":2").replace(":p", ":0.8")
        if metric == "err@k":
            with pytest.raises(KeyError, match="no closed form over ties"):
                constant[key]
        elif constant[key] != pytest.approx(np.mean([report[key] for report in reports])):
            unlike.add(metric)
    assert unlike == {"median"}
    assert "all metrics but `median` and `err@k`" in " ".join(page.split())


def test_one_drawn_image_of_each_person() -> None:
    """Each probe has one of each person, its own by another camera, all equally likely."""
    drawn = drawn_images(0)
    names = run_recipe("identification.md", "asked.merge", **drawn)
    names = run_recipe("identification.md", "def draw_gallery", **names)
    persons, probes, images = drawn["persons"], drawn["probes"], drawn["images"]
    scores = images[probes] @ images.T
    shown = [drawn["gallery"][persons[drawn["gallery"]] == person] for person in range(26)]
    present = sorted(set(persons[drawn["gallery"]].tolist()))
    kinds = good_and_junk(drawn)
    chances = []
    for row, probe, (good, _) in zip(scores, probes, kinds, strict=True):
        others = [own for own in shown if len(own) and persons[own[0]] != persons[probe]]
        if good:
            chances.append(chance_of_the_first_place(row, good, others))
    rates, seen = [], set()
    for seed in range(200):
        task = names["draw_gallery"](np.random.default_rng(seed))
        indptr, indices, _ = task.answers.candidates
        seen.update(indices.tolist())
        hits = []
        lists = np.split(indices, indptr[1:-1])
        for query, candidates in zip(task.answers.queries[:, 0], lists, strict=True):
            assert sorted(persons[candidates].tolist()) == present
            (document,) = kinds[query][0].intersection(candidates.tolist())
            hits.append(scores[query, document] == scores[query, candidates].max())
        assert len(hits) == len(chances)
        rates.append(task.evaluate_embeddings(images[probes], images)["success@1"])
        assert rates[-1] == pytest.approx(np.mean(hits))
    assert seen == {*drawn["gallery"].tolist()}
    assert abs(np.mean(rates) - np.mean(chances)) < 4 * np.std(rates) / np.sqrt(len(rates))


def test_images_of_nobody_and_of_unknown_persons_are_refused() -> None:
    """They would be wrong candidates; a merge takes two that are missing for one person."""
    drawn = drawn_images(0)
    everybody = np.setdiff1d(np.arange(len(drawn["persons"])), drawn["probes"])
    with pytest.raises(AssertionError, match="images of nobody"):
        run_recipe("identification.md", "asked.merge", **(drawn | {"gallery": everybody}))
    for role in ("persons", "cameras"):
        missing = drawn[role].astype(float)
        missing[drawn["gallery"][:3]] = np.nan
        with pytest.raises(AssertionError, match="has no person, or no camera"):
            run_recipe("identification.md", "asked.merge", **(drawn | {role: missing}))


def test_thresholds_of_open_sets_rise() -> None:
    """The first of those with a low FPIR would be taken for the lowest."""
    names = run_recipe("identification.md", "asked.merge", **drawn_images(0))
    for levels in ("np.linspace(0.8, 0.4, 9)", "np.array([0.4, 0.8, 0.6])"):
        replaced = ("np.linspace(0.4, 0.8, 9)", levels)
        with pytest.raises(AssertionError, match="do not rise"):
            run_recipe("identification.md", "strangers = ", replaced, **names)


@pytest.mark.parametrize("seed", range(3))
def test_open_sets(seed: int) -> None:
    """By the definitions, also at thresholds that are scores; probes without a mate have none."""
    drawn = drawn_images(seed)
    names = run_recipe("identification.md", "asked.merge", **drawn)
    scores = tr.score_embeddings(drawn["images"][drawn["probes"]], drawn["images"])
    mates = [sorted(good) for good, _ in good_and_junk(drawn)]
    best = [row[images].max() for row, images in zip(scores, mates, strict=True) if images]
    strangers = np.random.default_rng(9).normal(size=(500, 32)).astype(np.float32)
    strangers /= np.linalg.norm(strangers, axis=1, keepdims=True)
    of_strangers = tr.score_embeddings(strangers, drawn["images"])[:, drawn["gallery"]]
    nearest = of_strangers.max(axis=1)
    names |= {"levels": np.sort([*best[:4], *nearest[:4], *np.linspace(0.1, 0.7, 9)])}
    names["rng"] = np.random.default_rng(9)
    replaced = ("np.linspace(0.4, 0.8, 9)", "levels")
    found = run_recipe("identification.md", "strangers = ", replaced, **names)
    np.testing.assert_array_equal(found["strangers"], strangers)
    levels = names["levels"].tolist()
    fpir = [identification.false_positives(of_strangers, t) for t in levels]
    fnir = [identification.false_negatives(scores, mates, t) for t in levels]
    np.testing.assert_allclose(found["fpir"], fpir, rtol=1e-12)
    np.testing.assert_allclose(found["fnir"], fnir, rtol=1e-12)
    assert 0 < len(best) < len(mates)
    assert fpir[found["lowest"]] <= 0.05 < fpir[found["lowest"] - 1]


# -- verification ----------------------------------------------------------------------------------


def run_verification(genuine: np.ndarray, impostors: np.ndarray, k: int) -> tuple[Any, ...]:
    """Return AUC, TAR at a FAR of k / n twice, and both values of the EER as the page says them."""
    given = {"genuine": genuine, "impostors": impostors}
    names = run_recipe("verification.md", "tr.rank_against", **given)
    page = (HOW_TO / "verification.md").read_text(encoding="utf-8")
    codes = [block.code for block in markdown_pages.blocks(page)]
    area, rates = (next(c for c in codes if words in c) for words in ("amri", "next_impostor"))
    *_, tar, next_impostor, accepted = rates.splitlines()
    names["k"] = k
    exec(next_impostor, names)
    values = [eval(line, names) for line in (area, tar, accepted)]
    error = run_recipe("verification.md", "def equal_error_rate", bisect_left=bisect_left)
    for kind in ("optimistic", "pessimistic"):
        values.append(error["equal_error_rate"](names["report"], len(impostors), kind))
    return tuple(values)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_rates_of_pairs(seed: int, ties: bool) -> None:
    """AUC by all pairs of pairs, TAR by all thresholds, EER by lines between them."""
    rng = np.random.default_rng(seed)
    shift = rng.choice([-1, 0, 1, 3, 50])
    genuine, impostors = rng.normal(shift, 1, rng.integers(1, 60)), rng.normal(0, 1, 90)
    if ties:
        genuine, impostors = genuine.round(), impostors.round()
    points = identification.curve(genuine, impostors)
    for k in (0, 1, 9, 89):
        values = run_verification(genuine, impostors, k)
        assert values[0] == pytest.approx(identification.area_of_pairs(genuine, impostors))
        tar = max(tar for far, tar in points if far <= k / 90)
        assert values[1:3] == pytest.approx((tar, tar), rel=1e-12)
    exact = identification.equal_error_rate(points)
    if ties:
        assert values[3] - 1e-12 <= exact <= values[4] + 1e-12
    else:
        assert values[3:] == pytest.approx((exact, exact), abs=1e-12)


def test_rates_of_pairs_are_those_of_scikit_learn() -> None:
    """Its curve by thresholds, and lines between them; half of the problems have ties."""
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        genuine, impostors = rng.normal(1, 1, 40).round(1 + seed % 2 * 9), rng.normal(0, 1, 90)
        impostors = impostors.round(1)
        is_genuine = np.repeat([True, False], [40, 90])
        scores = np.concatenate([genuine, impostors])
        area, tar, _, least, most = run_verification(genuine, impostors, 9)
        assert area == pytest.approx(metrics.roc_auc_score(is_genuine, scores))
        fars, tars, _ = metrics.roc_curve(is_genuine, scores, drop_intermediate=False)
        assert tar == pytest.approx(tars[fars <= 0.1].max())
        error = identification.equal_error_rate(list(zip(fars, tars, strict=True)))
        assert least - 1e-12 <= error <= most + 1e-12
        if seed % 2:
            assert least == pytest.approx(most)


# -- published rows --------------------------------------------------------------------------------


def printed_row(ranks: np.ndarray, keys: Iterable[str]) -> dict[str, str]:
    """Return metrics of ranks as papers print them."""
    values = {"mr": ranks.mean(), "mrr": (1 / ranks).mean()}
    values |= {key: (ranks <= int(key[5:])).mean() for key in keys if key.startswith("hits@")}
    return {key: f"{values[key]:.{8 if key == 'mrr' else 5}f}" for key in keys}


def test_no_row_of_ranks_contradicts_itself_and_others_do() -> None:
    contradiction = run_recipe("only-ranks.md", "def contradiction", linprog=linprog)[
        "contradiction"
    ]
    rng = np.random.default_rng(0)
    keys = ["hits@1", "hits@10", "hits@100", "hits@1500", "mr", "mrr"]
    rows = [np.full(9, 150), np.full(9, 5000), np.full(3, 40943), np.array([1.0, 99.5, 150.5])]
    rows += [
        rng.integers(1, 40944, 500),
        np.ceil(40943 ** rng.random(500)),
        1 + rng.geometric(0.3, 50),
    ]
    for ranks in rows:
        printed = printed_row(ranks, rng.permutation(keys).tolist())
        assert contradiction(printed, 40943) == "", printed
        assert contradiction(printed_row(ranks, ["mr", "mrr"]), 40943) == ""
    assert contradiction({"mr": "150.00000", "mrr": "0.00666667"}, 14541) == ""
    assert contradiction({"mr": "3.2", "hits@10": "1.0"}, 7) == ""  # fewer candidates than places
    assert contradiction({"mr": "150.00000", "mrr": "0.00660000"}, 14541).startswith(
        "mrr is 0.0066"
    )
    assert contradiction({"hits@100": "0.90", "hits@50": "0.95"}, 14541).startswith(
        "hits@50 is 0.95"
    )


# -- a corpus that changed -------------------------------------------------------------------------


@pytest.mark.parametrize("changed", ["[5, 900, 2000]", "[900, 5, 2000, 5]"])
def test_counts_of_a_corpus_that_changed(changed: str) -> None:
    """Those of whole numbers, which often tie, are those of the new corpus, counted anew.

    A third of the candidates is filtered, some of those that changed and some targets among them.
    """
    rng = np.random.default_rng(0)
    whole = SimpleNamespace(random=lambda shape: rng.integers(0, 3, shape).astype(float))
    targets = rng.integers(0, 3000, 400)
    targets[:2] = 5, 900
    replaced = ("[5, 900, 2000]", changed)
    names = run_recipe("files.md", "changed = ", replaced, rng=whole, targets=targets)
    right = names["queries"] @ names["corpus"].T
    true = right[np.arange(400), targets, None].copy()
    is_known = names["known"].toarray()
    assert is_known[:, names["changed"]].any()
    assert is_known[np.arange(400), targets].any()
    is_known[np.arange(400), targets] = False
    right[is_known] = np.nan
    same = ~np.isin(targets, names["changed"])
    assert 0 < (~same).sum() < 10
    assert (names["above"] != names["old"].above).any()
    assert (names["tied"] != names["old"].tied).any()
    np.testing.assert_array_equal(names["above"], (right > true).sum(1))
    np.testing.assert_array_equal(names["tied"], (right == true).sum(1))


# -- VectorDBBench ---------------------------------------------------------------------------------


def test_parquet_of_vectordbbench(tmp_path: Path) -> None:
    """Its shuffled rows have keys, by which neighbours are listed, and lie in several groups."""
    pyarrow = pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    pandas = pytest.importorskip("pandas", reason="the recipe needs pandas")
    from pyarrow import parquet

    rng = np.random.default_rng(2)
    vectors, keys = rng.standard_normal((90, 6)).astype(np.float32), rng.permutation(90) + 10**10
    table = pyarrow.table({"id": keys, "emb": list(vectors), "label": ["x"] * 90})
    parquet.write_table(table, "shuffle_train.parquet", row_group_size=40)
    read = run_recipe("files.md", "def read_parquet")["read_parquet"]("shuffle_train.parquet")
    assert read[0].tolist() == keys.tolist()
    for numbers in ([[1.0, 2.0, 3.0], [4.0]], [[1.0, 2.0, 3.0, 4.0], None]):
        parquet.write_table(pyarrow.table({"id": [7, 9], "emb": numbers}), "wrong.parquet")
        _, wrong = run_recipe("files.md", "def read_parquet")["read_parquet"]("wrong.parquet")
        words = "entities: expected lists of one length, got 1 of 2 unlike the first"
        refusal(ValueError, words, tr.topk_embeddings, vectors, wrong, 1)
    parquet.write_table(pyarrow.table({"id": [7, None], "emb": [[1.0], [2.0]]}), "wrong.parquet")
    with pytest.raises(AssertionError):
        run_recipe("files.md", "def read_parquet")["read_parquet"]("wrong.parquet")
    top = tr.topk_embeddings(vectors[:5], read[1], 4, similarity="cosine")
    expected = tr.topk_embeddings(vectors[:5], vectors, 4, similarity="cosine")
    assert top.ids.tolist() == expected.ids.tolist()
    assert top.scores.dtype == np.float32
    found = pyarrow.array(top.ids.tolist())  # as its neighbors_id
    report = tr.evaluate_topk(vectors[:5], read[1], found, found, similarity="cosine")
    assert report["recall@4"] == 1
    listed = np.where(top.ids == top.ids[0, 1], 7, keys[top.ids])  # 7 is no key.
    page = (HOW_TO / "files.md").read_text(encoding="utf-8")
    (line,) = (part for part in page.split("`") if "get_indexer(ids" in part)
    rows = eval(line, {"pd": pandas, "keys": read[0], "ids": listed})
    assert rows.tolist() == np.where(top.ids == top.ids[0, 1], -1, top.ids).tolist()
