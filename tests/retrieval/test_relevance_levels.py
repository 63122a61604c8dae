"""Test relevance levels, and queries without right answers.

Qrels and lists are drawn, and values are those of other tasks, of plain sums, and of trec_eval.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.query_reports import query_report as report
from support.refusals import refusal
from truerank.retrieval import Task

DOCUMENTS = [f"d{i}" for i in range(12)]
BINARY = ("map", "mrr@5", "recall@3", "precision@4", "success@2", "r_precision", "rbp:0.7", "auc")
GAINS = ("ndcg", "ndcg@3", "dcg")

grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1, max_size=6)
scores = st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([0.0, 0.5, 1.0, 2.0]))


@st.composite
def problems(draw: st.DrawFn, level: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Qrels of which a gain reaches the level, and lists with ties."""
    names = ["q1", "q2", "q3", "q4"]
    qrels = {name: draw(grades) for name in names}
    qrels["q2"][DOCUMENTS[0]] = 3
    run = {name: draw(scores) for name in names}
    run["q2"][DOCUMENTS[1]] = 1.0
    return qrels, run


def plain(values: np.ndarray, queries: list[Any]) -> dict[Any, float]:
    return dict(zip(queries, values.tolist(), strict=True))


@given(problems(2), st.sampled_from(["zero", "bounds", "expected"]))
@pytest.mark.filterwarnings("ignore:ids. .* no list")
def test_binary_metrics_count_from_a_level_on_and_gains_keep_all(
    problem: tuple[dict[str, Any], dict[str, Any]], misses: str
) -> None:
    qrels, run = problem
    of_all = {"entities": DOCUMENTS, "candidates": "all"}
    of_level = Task(qrels, relevance_level=2, **of_all)
    found = of_level.evaluate_lists(run, misses=misses, order="descending")
    all_gains = Task(qrels, **of_all).evaluate_lists(run, misses=misses, order="descending")
    of_right = {name: {d: g for d, g in each.items() if g >= 2} for name, each in qrels.items()}
    alone = Task(of_right, **of_all).evaluate_lists(run, misses=misses, order="descending")
    for kind in ("", "optimistic.", "pessimistic.", "chance.", "optimum.", "index."):
        for metric in BINARY:
            key = f"{kind}{metric}"
            assert found[key] == pytest.approx(alone[key], rel=1e-13, nan_ok=True), key
            values = plain(found.per_query(key), found.queries)
            expected = plain(alone.per_query(key), alone.queries)
            for query, value in values.items():
                known = expected.get(query, np.nan)
                assert value == pytest.approx(known, rel=1e-13, nan_ok=True), key
        for metric in GAINS:
            key = f"{kind}{metric}"
            assert found[key] == pytest.approx(all_gains[key], rel=1e-13, nan_ok=True), key
    counts = plain(found.answers, found.queries)
    assert {query: n for query, n in counts.items() if n} == plain(alone.answers, alone.queries)
    assert found.tasks() == alone.tasks()
    assert found.without_answers == alone.without_answers == of_level.without_answers
    # the level travels with saved ranks, and may be given where ranks have none
    assert report(found.ranks, misses=misses)["map"] == found["map"]
    assert report(all_gains.ranks, misses=misses, relevance_level=2)["map"] == found["map"]


@given(problems(2))
@pytest.mark.filterwarnings("ignore:ids. .* no list")
def test_queries_without_right_answers_count_as_0(
    problem: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    qrels, run = problem
    qrels["q5"] = {"d3": 0}
    task = Task(qrels, entities=DOCUMENTS, relevance_level=2, candidates="all")
    ranks = task.evaluate_lists(run, order="descending").ranks
    left_out = report(ranks)
    found = report(ranks, answerless="zero")
    assert found.tasks() == len(qrels)
    for metric in ("auc", "gauc", "mr", "median"):  # which they do not have
        assert found[metric] == pytest.approx(left_out[metric], nan_ok=True)
    for metric in BINARY[:-1]:
        total = np.nansum(left_out.per_query(metric))
        assert found[metric] == pytest.approx(total / len(qrels), rel=1e-13)
        assert not np.isnan(found.per_query(metric)).any()
        index = f"index.{metric}"
        assert found[index] == pytest.approx(left_out[index], rel=1e-12, nan_ok=True)
        interval = found.interval(metric)
        assert interval.value == pytest.approx(found[metric])
        assert interval.units == len(qrels)
    total = left_out.per_query("ndcg").sum()
    assert found["ndcg"] == pytest.approx(total / len(qrels), rel=1e-13)
    assert "counted as 0" in str(found)
    assert found.success_at([1, 3]) == pytest.approx([found["success@1"], found["success@3"]])
    assert (found.protocol.answerless, found.protocol.relevance_level) == ("zero", 2.0)
    content = json.loads(found.to_json())
    assert (content["answerless"], content["relevance_level"]) == ("zero", 2.0)
    same = tr.compare(found, report(found.ranks), metric="map")
    assert (same.estimate, same.units) == (0, len(qrels))
    refusal(ValueError, "answerless: zero against none", tr.compare, found, left_out, metric="map")


def test_units_of_a_level() -> None:
    """What a query without a right answer would add to an interval is nothing."""
    rng = np.random.default_rng(0)
    qrels = {f"q{i}": {"d1": 1 + i % 3, "d2": 1} for i in range(60)}
    run = {query: dict(zip(DOCUMENTS, rng.random(12).tolist(), strict=True)) for query in qrels}
    task = Task(qrels, entities=DOCUMENTS, relevance_level=2)
    found = task.evaluate_lists(run, order="descending")
    of_right = {query: {"d1": 1 + i % 3} for i, query in enumerate(qrels) if i % 3}
    alone = Task(of_right, entities=DOCUMENTS).evaluate_lists(run, order="descending")
    for bound in ("value", "low", "high"):
        expected = getattr(alone.interval("map"), bound)
        assert getattr(found.interval("map"), bound) == pytest.approx(expected)
    assert found.interval("map").units == 40
    assert found.interval("ndcg").units == 60
    groups = dict(zip(qrels, ["x", "y"] * 30, strict=True))
    task = Task(qrels, entities=DOCUMENTS, relevance_level=2, groups=groups)
    by_group = task.evaluate_lists(run, order="descending")
    macro = np.mean([part["map"] for part in by_group.groups.values()])
    assert by_group["macro.map"] == pytest.approx(macro)
    assert [part.tasks() for part in by_group.groups.values()] == [20, 20]


@given(problems(2), st.sampled_from([1, 2, 3]))
@pytest.mark.filterwarnings("ignore:ids. .* no list")
def test_relevance_levels_of_trec_eval(
    problem: tuple[dict[str, Any], dict[str, Any]], level: int
) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = problem
    for query, listed in run.items():  # without ties
        listed = {"d11": 1.0} | listed
        run[query] = {name: float(-i) for i, name in enumerate(listed)}
    names = {"map": "map", "ndcg": "ndcg", "ndcg@3": "ndcg_cut.3"}
    names |= {"mrr": "recip_rank", "precision@3": "P.3", "recall@3": "recall.3"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names.values()), relevance_level=level)
    theirs = evaluator.evaluate(run)
    task = Task(qrels, entities=DOCUMENTS, relevance_level=level)
    found = report(task.evaluate_lists(run, order="descending").ranks, answerless="zero")
    for key, name in names.items():
        values = [each[name.replace(".", "_")] for each in theirs.values()]
        assert found[key] == pytest.approx(np.mean(values), rel=1e-12, abs=1e-15), key
