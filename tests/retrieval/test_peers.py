"""The metrics of other libraries: the same without ties, and what each does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from truerank import Report
from truerank.retrieval import Task

pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("default")]

QUERIES = 30
ENTITIES = 50
K = 5
NAMES = [f"d{j:02}" for j in range(ENTITIES)]


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    """Return scores without ties, and gains from 0 to 3; every query has a right answer."""
    rng = np.random.default_rng(0)
    gains = rng.integers(1, 4, (QUERIES, ENTITIES)) * (rng.random((QUERIES, ENTITIES)) < 0.1)
    gains[:, 7] += 1
    return rng.permuted(np.tile(np.linspace(-1, 1, ENTITIES), (QUERIES, 1)), axis=1), gains


@pytest.fixture(scope="module")
def ranx() -> Iterator[Any]:
    """Give ranx, whose functions are run as they are written: to compile them takes a minute."""
    numba = pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        yield pytest.importorskip("ranx")


@pytest.fixture(scope="module")
def report(problem: tuple[np.ndarray, np.ndarray]) -> Report:
    scores, gains = problem
    return Task(dict(enumerate(map(grades, gains))), entities=ENTITIES).evaluate_scores(scores)


def grades(gains: np.ndarray) -> dict[int, int]:
    return {int(j): int(gains[j]) for j in np.flatnonzero(gains)}


def dicts(scores: np.ndarray, gains: np.ndarray, k: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return qrels and lists of the best k as pytrec_eval and ranx take them."""
    best = zip(np.argsort(-scores)[:, :k].tolist(), scores.tolist(), strict=True)
    run = {f"q{i:02}": {NAMES[j]: row[j] for j in top} for i, (top, row) in enumerate(best)}
    qrels = {
        f"q{i:02}": {NAMES[j]: gain for j, gain in grades(row).items()}
        for i, row in enumerate(gains)
    }
    return qrels, run


@pytest.mark.parametrize("length", [ENTITIES, 3])
def test_ranx(ranx: Any, problem: tuple[np.ndarray, np.ndarray], length: int) -> None:
    qrels, run = dicts(*problem, length)
    names = {key: key for key in ("map", "map@5", "ndcg", "ndcg@5", "mrr", "mrr@5")}
    names |= {key: key for key in ("recall@5", "precision@5", "f1@5")}
    names |= {"r_precision": "r-precision", "success@5": "hit_rate@5"}

    def evaluate(qrels: Any, metrics: Any) -> Any:
        return ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), metrics)

    found = evaluate(qrels, list(names.values()))
    values = [found[name] for name in names.values()]
    task = Task(ranx.Qrels(qrels).to_dict(), entities=NAMES)
    report = task.evaluate_lists(ranx.Run(run).to_dict())
    for keys in (names, names.values()):  # theirs, too
        assert [report[key] for key in keys] == pytest.approx(values, rel=1e-12)
    right = {query: dict.fromkeys(grades, 1) for query, grades in qrels.items()}
    assert report["rbp:0.8"] == pytest.approx(evaluate(right, "rbp.80"))
    burges = Task(qrels, entities=NAMES, gain="exponential").evaluate_lists(run)
    assert burges["ndcg@5"] == pytest.approx(evaluate(qrels, "ndcg_burges@5"))


def test_torchmetrics(problem: tuple[np.ndarray, np.ndarray], report: Report) -> None:
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.functional.retrieval")
    names = {"map": "average_precision", "ndcg": "normalized_dcg", "mrr": "reciprocal_rank"}
    names |= {"success": "hit_rate"}
    cut = [f"{name}@{K}" for name in ("ndcg", "mrr", "recall", "precision", "success")]
    for key in ("map", "ndcg", "mrr", "r_precision", *cut):
        name = key.removesuffix(f"@{K}")
        function = getattr(retrieval, f"retrieval_{names.get(name, name)}")
        options = {}
        if key in cut:
            options["top_k"] = K
        for i, (scores, gains) in enumerate(zip(*problem, strict=True)):
            target = torch.tensor(gains)
            if name != "ndcg":
                target = target > 0
            value = float(function(torch.tensor(scores + 2), target, **options))
            assert report.per_query(key)[i] == pytest.approx(value, rel=1e-5), key
            if key in ("map", "mrr", "recall@5", "precision@5"):  # as the page says
                assert float(function(torch.tensor(scores - 2), target, **options)) == 0
    assert retrieval.retrieval_average_precision(*torch.tensor([[2.0, 1], [1, 1]]), 1) == 1
    for right in QRELS:  # of ties it takes the mean over all orders
        target = torch.tensor([right.get(name, 0) for name in TIED])
        value = float(retrieval.retrieval_normalized_dcg(torch.tensor(list(TIED.values())), target))
        assert value == pytest.approx(of_truerank(right)["ndcg"], rel=1e-5)


def test_pytorch_geometric(problem: tuple[np.ndarray, np.ndarray]) -> None:
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("torch_geometric.metrics")
    scores, gains = problem
    best = torch.tensor(np.argsort(-scores, axis=1)[:, :K].copy())
    pairs = torch.tensor(np.array(np.nonzero(gains)))
    names = {"map_min": "MAP", "f1": "F1", "mrr": "MRR", "ndcg": "NDCG", "success": "HitRatio"}
    names |= {"recall": "Recall", "precision": "Precision"}
    binary = Task(dict(enumerate(map(list, map(grades, gains)))), entities=ENTITIES)
    found = binary.evaluate_scores(scores)
    for key, name in names.items():
        metric = getattr(metrics, f"LinkPred{name}")(K)
        metric.update(best, pairs)
        assert found[f"{key}@5"] == pytest.approx(float(metric.compute()), rel=1e-5), key


def test_scikit_learn(problem: tuple[np.ndarray, np.ndarray], report: Report) -> None:
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
    tied = (10 * scores).round()
    right = gains > 0
    areas = [metrics.roc_auc_score(*columns) for columns in zip(right, tied, strict=True)]
    found = Task(dict(enumerate(map(grades, gains))), entities=ENTITIES).evaluate_scores(tied)
    assert found.per_query("auc") == pytest.approx(areas, rel=1e-14)
    assert found["auc"] == pytest.approx(np.mean(areas))
    sizes = np.full(len(right), right.shape[1])  # as FuxiCTR weighs, by impressions
    assert found["gauc"] == pytest.approx(np.average(areas, weights=sizes))


TIED = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.0, "f": 1.0}
QRELS = ({"b": 1, "f": 2}, {"d": 1, "f": 2})  # all tasks are the same: only the names differ


def of_truerank(right: dict[str, int]) -> Any:
    return Task({"q": right}, entities=list(TIED)).evaluate_lists({"q": TIED})


def of_pytrec_eval(right: dict[str, int]) -> Any:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    return pytrec_eval.RelevanceEvaluator({"q": right}, {"map", "ndcg"}).evaluate({"q": TIED})["q"]


def of_ranx(right: dict[str, int]) -> Any:
    ranx = pytest.importorskip("ranx")
    return ranx.evaluate(ranx.Qrels({"q": right}), ranx.Run({"q": TIED}), ["map", "ndcg"])


def of_scikit_learn(right: dict[str, int]) -> Any:
    metrics = pytest.importorskip("sklearn.metrics")
    scores = list(TIED.values())
    gains = np.array([right.get(name, 0) for name in TIED])
    precision = metrics.average_precision_score(gains > 0, scores)
    return {"map": precision, "ndcg": metrics.ndcg_score([gains], [scores])}


MAP_AND_NDCG = {
    of_truerank: (0.3639, 0.4803, 0.3639, 0.4803),  # all orders of a tie are equally likely
    of_pytrec_eval: (0.3250, 0.4578, 0.4500, 0.5339),  # by name, the last first
    of_ranx: (0.4167, 0.5106, 0.2917, 0.4345),  # the order of the run
    of_scikit_learn: (0.2917, 0.4803, 0.2917, 0.4803),  # one threshold (map), all orders (ndcg)
}


@pytest.mark.parametrize("values", MAP_AND_NDCG)
@pytest.mark.usefixtures("ranx")
def test_what_each_makes_of_ties(values: Callable[[dict[str, int]], Any]) -> None:
    figures = [values(right)[key] for right in QRELS for key in ("map", "ndcg")]
    assert figures == pytest.approx(MAP_AND_NDCG[values], abs=5e-5)


def test_what_ranx_makes_comparable(ranx: Any) -> None:
    """The figures of its page: a query without a list has missed all."""
    qrels = {"q1": {"d1": 1, "d5": 2}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    run = {"q1": {"d5": 0.9, "d3": 0.7, "d1": 0.7}, "q2": {"d1": 0.5, "d3": 0.4}}
    found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["map", "mrr"], make_comparable=True)
    report = Task(qrels, entities=[f"d{i}" for i in range(1, 1001)]).evaluate_lists(run)
    values = [report["pessimistic.map"], report["pessimistic.mrr"]]
    assert list(found.values()) == values == pytest.approx([5 / 18, 1 / 3])


def test_what_the_page_says_of_trec_eval() -> None:
    """Of two that tie one is right: trec_eval goes by their names, and leaves out empty queries."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run = {"q": {"a": 0.5, "b": 0.5}}
    names = {"recip_rank", "map_cut_100", "ndcg_cut_10", "P_10", "Rprec", "success_10"}
    for right, value in (("a", 0.5), ("b", 1.0)):
        qrels = {"q": {right: 1}, "no list": {"a": 1}}
        theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        assert list(theirs) == ["q"]
        assert theirs["q"]["recip_rank"] == value
        report = Task(qrels, entities=["a", "b"]).evaluate_lists(run)
        assert report.per_query("recip_rank").tolist() == [0.75, 0.0]
        assert report["recip_rank"] == 0.375
    run["q"] = {"a": 0.5, "b": 0.25, "c": 0.75}
    qrels = {"q": {"a": 1}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    report = Task(qrels, entities=list("abc")).evaluate_lists(run)
    for name in names:  # Without ties they are equal.
        assert report[name] == pytest.approx(theirs["q"][name]), name
