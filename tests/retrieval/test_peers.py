"""The metrics of other libraries: the same without ties, and what each does with them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from support.environment import ROOT
from truerank.retrieval import RetrievalReport, Task

pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("default")]

QUERIES, ENTITIES, K = 30, 50, 5
NAMES = [f"d{j:02}" for j in range(ENTITIES)]
PAGE = ROOT / "docs" / "migration" / "trec-eval.md"


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    """Return scores without ties, and gains from 0 to 3; every query has a right answer."""
    rng = np.random.default_rng(0)
    gains = rng.integers(1, 4, (QUERIES, ENTITIES)) * (rng.random((QUERIES, ENTITIES)) < 0.1)
    gains[:, 7] += 1
    return rng.permuted(np.tile(np.linspace(-1, 1, ENTITIES), (QUERIES, 1)), axis=1), gains


@pytest.fixture(scope="module")
def report(problem: tuple[np.ndarray, np.ndarray]) -> RetrievalReport:
    scores, gains = problem
    return Task(dict(enumerate(map(grades, gains))), entities=ENTITIES).evaluate_scores(scores)


def grades(gains: np.ndarray) -> dict[int, int]:
    return {int(j): int(gains[j]) for j in np.flatnonzero(gains)}


def dicts(scores: np.ndarray, gains: np.ndarray) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return qrels and run as pytrec_eval and ranx take them."""
    run = {f"q{i:02}": dict(zip(NAMES, row, strict=True)) for i, row in enumerate(scores.tolist())}
    qrels = {
        f"q{i:02}": {NAMES[j]: gain for j, gain in grades(row).items()}
        for i, row in enumerate(gains)
    }
    return qrels, run


# -- without ties ----------------------------------------------------------------------------------


def test_pytrec_eval(problem: tuple[np.ndarray, np.ndarray], report: RetrievalReport) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = dicts(*problem)
    names = {
        "map": "map",
        "map@5": "map_cut_5",
        "ndcg": "ndcg",
        "ndcg@5": "ndcg_cut_5",
        "mrr": "recip_rank",
        "r_precision": "Rprec",
        "recall@5": "recall_5",
        "precision@5": "P_5",
        "success@5": "success_5",
    }
    measures = {re.sub(r"_(\d)", r".\1", name) for name in names.values()}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    for key, name in names.items():
        values = [each[name] for _, each in sorted(found.items())]
        assert report.per_query(key) == pytest.approx(values, rel=1e-9), key
        assert (report.per_query(name) == report.per_query(key)).all()  # their name, too


def test_ranx(problem: tuple[np.ndarray, np.ndarray], report: RetrievalReport) -> None:
    ranx = pytest.importorskip("ranx")
    qrels, run = dicts(*problem)
    names = {
        "map": "map",
        "map@5": "map@5",
        "ndcg": "ndcg",
        "ndcg@5": "ndcg@5",
        "mrr": "mrr",
        "mrr@5": "mrr@5",
        "r_precision": "r-precision",
        "recall@5": "recall@5",
        "precision@5": "precision@5",
        "success@5": "hit_rate@5",
    }
    found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(names.values()))
    values = [found[name] for name in names.values()]
    assert [report[key] for key in names] == pytest.approx(values)
    again = Task(ranx.Qrels(qrels), entities=NAMES).evaluate_lists(ranx.Run(run))  # theirs, too
    assert [again[name] for name in names.values()] == pytest.approx(values)
    burges = Task(qrels, entities=NAMES, gain="exponential").evaluate_lists(run)
    assert burges["ndcg@5"] == pytest.approx(
        ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "ndcg_burges@5")
    )


def test_torchmetrics(problem: tuple[np.ndarray, np.ndarray], report: RetrievalReport) -> None:
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.functional.retrieval")
    functions: dict[str, tuple[Any, dict[str, int], bool]] = {
        "map": (retrieval.retrieval_average_precision, {}, False),
        "ndcg": (retrieval.retrieval_normalized_dcg, {}, True),
        "ndcg@5": (retrieval.retrieval_normalized_dcg, {"top_k": K}, True),
        "mrr": (retrieval.retrieval_reciprocal_rank, {}, False),
        "mrr@5": (retrieval.retrieval_reciprocal_rank, {"top_k": K}, False),
        "recall@5": (retrieval.retrieval_recall, {"top_k": K}, False),
        "precision@5": (retrieval.retrieval_precision, {"top_k": K}, False),
        "success@5": (retrieval.retrieval_hit_rate, {"top_k": K}, False),
        "r_precision": (retrieval.retrieval_r_precision, {}, False),
    }
    for key, (function, options, is_graded) in functions.items():
        for i, (scores, gains) in enumerate(zip(*problem, strict=True)):
            target = torch.tensor(gains if is_graded else gains > 0)
            value = float(function(torch.tensor(scores + 2), target, **options))
            assert report.per_query(key)[i] == pytest.approx(value, rel=1e-5), key
            if key in ("map", "mrr", "recall@5", "precision@5"):  # as the page says
                assert float(function(torch.tensor(scores - 2), target, **options)) == 0
    assert functions["map"][0](*torch.tensor([[2.0, 1], [1, 1]]), 1) == 1  # by all it is 1/2


def test_pytorch_geometric(problem: tuple[np.ndarray, np.ndarray], report: RetrievalReport) -> None:
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("torch_geometric.metrics")
    scores, gains = problem
    best = torch.tensor(np.argsort(-scores, axis=1)[:, :K].copy())
    pairs = torch.tensor(np.array(np.nonzero(gains)))
    classes = {
        "map@5": metrics.LinkPredMAP,
        "mrr@5": metrics.LinkPredMRR,
        "recall@5": metrics.LinkPredRecall,
        "precision@5": metrics.LinkPredPrecision,
        "success@5": metrics.LinkPredHitRatio,
    }
    binary = Task(dict(enumerate(map(list, map(grades, gains)))), entities=ENTITIES)
    found = binary.evaluate_scores(scores)
    for key, metric_class in {**classes, "ndcg@5": metrics.LinkPredNDCG}.items():
        metric = metric_class(K)
        metric.update(best, pairs)
        value = float(metric.compute())
        if key == "map@5":  # it divides by the least of k and the number of right answers
            answers = found.answers
            values = found.per_query(key) * answers / np.minimum(answers, K)
            assert values.mean() == pytest.approx(value, rel=1e-5)
        else:
            assert found[key] == pytest.approx(value, rel=1e-5), key


def test_scikit_learn(problem: tuple[np.ndarray, np.ndarray], report: RetrievalReport) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores, gains = problem
    assert report["map"] == pytest.approx(
        metrics.label_ranking_average_precision_score(gains > 0, scores)
    )
    for key, k in (("ndcg", None), ("ndcg@5", K)):
        assert report[key] == pytest.approx(metrics.ndcg_score(gains, scores, k=k))
    assert report["dcg@5"] == pytest.approx(metrics.dcg_score(gains, scores, k=K))
    for i, value in enumerate(report.per_query("map")):
        assert value == pytest.approx(metrics.average_precision_score(gains[i] > 0, scores[i]))


# -- with ties -------------------------------------------------------------------------------------

TIED = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.0, "f": 1.0}
QRELS = ({"b": 1, "f": 2}, {"d": 1, "f": 2})  # all tasks are the same: only the names differ


def shown(library: str) -> list[float]:
    """Return the figures of a library's row in the table of the page: map and ndcg, twice."""
    text = PAGE.read_text(encoding="utf-8")
    row = re.search(rf"^\| {library}[^|]*\|[^|]*\|(.*)\|$", text, re.MULTILINE)
    assert row is not None
    return [float(figure) for figure in row[1].split("|")]


def test_truerank_takes_the_mean_over_all_orders() -> None:
    figures = []
    for right in QRELS:
        found = Task({"q": right}, entities=list(TIED)).evaluate_lists({"q": TIED})
        figures += [found["map"], found["ndcg"]]
    assert figures == pytest.approx(shown("truerank"), abs=5e-5)


def test_pytrec_eval_puts_the_later_name_first() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    figures = []
    for right in QRELS:
        evaluator = pytrec_eval.RelevanceEvaluator({"q": right}, {"map", "ndcg"})
        found = evaluator.evaluate({"q": TIED})["q"]
        figures += [found["map"], found["ndcg"]]
    assert figures == pytest.approx(shown("pytrec_eval"), abs=5e-5)


def test_ranx_keeps_the_order_of_the_run() -> None:
    ranx = pytest.importorskip("ranx")
    figures = []
    for right in QRELS:
        found = ranx.evaluate(ranx.Qrels({"q": right}), ranx.Run({"q": TIED}), ["map", "ndcg"])
        figures += [found["map"], found["ndcg"]]
    assert figures == pytest.approx(shown("ranx"), abs=5e-5)


def test_what_ranx_makes_comparable() -> None:
    """The figures of its page: a query without a list has missed all."""
    ranx = pytest.importorskip("ranx")
    qrels = {"q1": {"d1": 1, "d5": 2}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    run = {"q1": {"d5": 0.9, "d3": 0.7, "d1": 0.7}, "q2": {"d1": 0.5, "d3": 0.4}}
    names = ["map", "mrr"]
    found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names, make_comparable=True)
    report = Task(qrels, entities=[f"d{i}" for i in range(1, 1001)]).evaluate_lists(run)
    assert list(found.values()) == pytest.approx([5 / 18, 1 / 3])
    assert [report[f"pessimistic.{name}@3"] for name in names] == pytest.approx([5 / 18, 1 / 3])


def test_scikit_learn_takes_a_tie_as_one_threshold_or_its_mean() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    figures, scores = [], list(TIED.values())
    for right in QRELS:
        gains = np.array([right.get(name, 0) for name in TIED])
        figures.append(metrics.average_precision_score(gains > 0, scores))
        figures.append(metrics.ndcg_score([gains], [scores]))
    assert figures == pytest.approx(shown("scikit-learn"), abs=5e-5)


def test_torchmetrics_sorts_for_map_and_takes_the_mean_for_ndcg() -> None:
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.functional.retrieval")
    scores = torch.tensor(list(TIED.values()))
    for right in QRELS:
        target = torch.tensor([right.get(name, 0) for name in TIED])
        found = Task({"q": right}, entities=list(TIED)).evaluate_lists({"q": TIED})
        ndcg = float(retrieval.retrieval_normalized_dcg(scores, target))
        assert ndcg == pytest.approx(found["ndcg"], rel=1e-5)
        precision = float(retrieval.retrieval_average_precision(scores, target > 0))
        low, high = found["pessimistic.map"], found["optimistic.map"]
        assert low - 1e-6 <= precision <= high + 1e-6


def test_queries_without_right_answers_count_in_pytrec_eval() -> None:
    """It gives them 0, and leaves out queries that the run lacks: here it is the other way."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = {"p": {"a": 1}, "q": {"b": 0}, "r": {"c": 1}}
    run = {"p": TIED, "q": TIED}
    found = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    assert {query: each["map"] for query, each in found.items()} == {"p": 1.0, "q": 0.0}
    report = Task(qrels, entities=list(TIED)).evaluate_lists(run)
    assert report.queries == ["p", "r"]
    assert report.without_answers == 1
    assert report.per_query("pessimistic.mrr").tolist() == [1, 1 / 6]
