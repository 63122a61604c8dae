"""Grades and queries without answers stay with ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.outcomes import quietly
from support.query_reports import query_report as report
from truerank.metrics.answers import GAINS, MISSES
from truerank.retrieval import Task

KEYS = ["map", "ndcg", "optimistic.mrr", "pessimistic.recall@3", "index.map", "dcg"]
DOCUMENTS = [f"d{i}" for i in range(5)]
QUERIES = [f"q{i}" for i in range(4)]


@st.composite
def judged_runs(draw: st.DrawFn) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Draw judgements with grades from -1 to 3, and lists with ties of some of the documents."""
    grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), max_size=5)
    qrels = draw(st.dictionaries(st.sampled_from(QUERIES), grades, min_size=1))
    has_right = any(grade > 0 for judged in qrels.values() for grade in judged.values())
    if not has_right:
        qrels["q0"] = {"d0": 2, "d1": 0}
    lists = st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([0.0, 1.0, 2.0]))
    run = draw(st.fixed_dictionaries({query: lists for query in qrels}))
    return qrels, run


@given(judged_runs(), st.sampled_from(MISSES), st.data())
def test_ranks_of_judgements_have_all_that_metrics_need(
    tmp_path_factory: pytest.TempPathFactory,
    judged_run: tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]],
    misses: str,
    data: st.DataObject,
) -> None:
    """As a task has them, saved and read, sliced and joined in any order, and by another rule."""
    qrels, run = judged_run
    task = Task(qrels, entities=[*DOCUMENTS, "d5", "d6"], candidates="all")
    found = quietly(task.evaluate_lists, run, misses=misses, order="descending")
    ranks = found.ranks
    asked = [query for query, judged in qrels.items() if max(judged.values(), default=0) > 0]
    assert found.without_answers == len(qrels) - len(asked)

    path = tmp_path_factory.getbasetemp() / "ranks.npz"
    ranks.save(path)
    assert tr.load(path) == ranks
    cut = data.draw(st.integers(0, len(ranks)))
    joined = report(tr.concatenate([ranks[cut:], ranks[:cut]]))
    assert joined.without_answers == found.without_answers
    assert sorted(joined.queries) == sorted(asked)
    for key in KEYS:
        values = dict(zip(found.queries, found.per_query(key).tolist(), strict=True))
        again = dict(zip(joined.queries, joined.per_query(key).tolist(), strict=True))
        assert again == pytest.approx(values, rel=1e-12)

    assert (report(ranks).protocol.misses or "zero") == misses
    assert report(ranks).to_dict(KEYS) == found.to_dict(KEYS)
    for other in MISSES:
        again = report(ranks, misses=other)
        direct = quietly(task.evaluate_lists, run, misses=other, order="descending")
        assert again.to_dict(KEYS) == direct.to_dict(KEYS)
        assert again.ranks == direct.ranks


def test_gains_are_not_rounded(tmp_path: Path) -> None:
    grades = {"a": 0.1, "b": 1e-300, "c": 2.0**53 + 2}
    found = Task({"q": grades}, entities=["a", "b", "c", "d"]).evaluate_lists({"q": ["c", "a"]})
    found.ranks.save(tmp_path / "ranks.npz")
    parts = [tr.load(tmp_path / "ranks.npz")[i] for i in range(3)]
    assert tr.concatenate(parts).gains.tolist() == list(grades.values())


def test_what_becomes_of_gains_stays_with_ranks(tmp_path: Path) -> None:
    qrels = {"u": {"a": 3, "b": 1}, "v": {"c": 2}, "w": {}}
    run = {"u": ["b", "c", "a"], "v": ["a", "c"]}
    tasks = {gain: Task(qrels, entities=["a", "b", "c"], gain=gain) for gain in GAINS}
    found = {gain: task.evaluate_lists(run) for gain, task in tasks.items()}
    for gain, of_task in found.items():
        of_task.ranks.save(tmp_path / gain)
        again = report(tr.load(tmp_path / gain))
        assert again["ndcg"] == of_task["ndcg"]
        assert again.without_answers == tasks[gain].without_answers == 1
        other = report(found["linear"].ranks, gain=gain)
        assert report(other.ranks)["ndcg"] == other["ndcg"] == of_task["ndcg"]
    assert found["exponential"]["ndcg"] != found["linear"]["ndcg"]
    both = [report(found[gain].ranks, gain="linear").ranks for gain in GAINS[1:]]
    assert len(tr.concatenate(both, repeats="keep")) == 6


def test_ranks_without_grades_are_joined_with_graded_ones() -> None:
    """Gains are 1, and no query was left out, where ranks do not say otherwise."""
    run = {"u": {"a": 0.5, "b": 0.1}, "x": {"a": 1.0}}
    graded = {"u": {"a": 1, "b": 3, "c": 0}, "w": {}}
    parts = [
        quietly(Task(qrels, entities=9).evaluate_lists, run) for qrels in ({"x": ["c"]}, graded)
    ]
    joined = tr.concatenate([part.ranks for part in parts], repeats="refuse")
    assert joined.gains.tolist() == [1, 1, 3]
    assert report(joined).without_answers == 1
