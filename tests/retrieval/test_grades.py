"""Grades and queries without answers stay with ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import retrieval as oracle
from support.outcomes import quietly
from support.query_reports import query_report as report
from support.refusals import refusal
from truerank.retrieval import Task

KEYS = ("map", "ndcg", "ndcg@2", "dcg", "optimistic.ndcg@1", "pessimistic.ndcg@1", "mrr")
DOCUMENTS = [f"d{i}" for i in range(5)]
QUERIES = [f"q{i}" for i in range(4)]
GAINS = ("linear", "exponential", "binary")


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


def expected_value(key: str, judged: dict[str, int], listed: dict[str, float]) -> float:
    """Compute a value over all orders of ties; what is not listed comes last, and adds nothing."""
    order, _, metric = key.rpartition(".")
    unlisted = [name for name in DOCUMENTS if name not in listed]
    floored = {name: max(grade, 0) for name, grade in judged.items()}
    grades = [floored.get(name, 0) for name in listed]
    missed = [judged[name] for name in unlisted if judged.get(name, 0) > 0]
    values = list(oracle.rankings(list(listed.values()), grades))
    found = [metric_of(metric, ranking, missed) for ranking in values]
    best = [tuple(-grade for grade in ranking) for ranking in values]
    if order == "optimistic":
        return found[best.index(min(best))]
    if order == "pessimistic":
        return found[best.index(max(best))]
    return float(np.mean(found))


def metric_of(metric: str, ranking: list[Any], missed: list[int]) -> float:
    name, _, cutoff = metric.partition("@")
    k = int(cutoff or 99)
    right = [grade for grade in ranking if grade] + missed
    places = [place for place, grade in enumerate(ranking, 1) if grade]
    if name == "mrr":
        if not places:
            return 0.0
        return 1 / places[0]
    if name == "map":
        return sum(i / place for i, place in enumerate(places, 1)) / len(right)
    total = oracle.gained(ranking, k)
    if name == "dcg":
        return total
    return total / oracle.gained(sorted(right, reverse=True), k)


@given(judged_runs(), st.sampled_from(KEYS), st.data())
def test_ranks_of_judgements_have_all_that_metrics_need(
    tmp_path_factory: pytest.TempPathFactory,
    judged_run: tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]],
    key: str,
    data: st.DataObject,
) -> None:
    """By their definition, as a task has them, saved and read, sliced and joined in any order."""
    qrels, run = judged_run
    found = quietly(Task(qrels, entities=DOCUMENTS).evaluate_lists, run, order="descending")
    ranks = found.ranks
    asked = [query for query, judged in qrels.items() if max(judged.values(), default=0) > 0]
    expected = {query: expected_value(key, qrels[query], run[query]) for query in asked}
    values = dict(zip(found.queries, found.per_query(key).tolist(), strict=True))
    assert values == pytest.approx(expected, rel=1e-12)
    assert found.without_answers == len(qrels) - len(asked)

    path = tmp_path_factory.getbasetemp() / "ranks.npz"
    ranks.save(path)
    assert tr.load(path) == ranks
    cut = data.draw(st.integers(0, len(ranks)))
    joined = report(tr.concatenate([ranks[cut:], ranks[:cut]]))
    assert joined.without_answers == found.without_answers
    again = dict(zip(joined.queries, joined.per_query(key).tolist(), strict=True))
    assert again == pytest.approx(values, rel=1e-12)
    assert report(ranks)[key] == found[key]


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
    both = [found[gain].ranks for gain in ("binary", "exponential")]
    refusal(ValueError, "gain: binary against exponential", tr.concatenate, both, repeats="keep")
    both = [report(ranks, gain="linear").ranks for ranks in both]
    assert len(tr.concatenate(both, repeats="keep")) == 6


def test_gains_are_those_of_the_ranks() -> None:
    task = Task({"u": {"a": 1, "b": 3}}, entities=9)
    ranks = task.evaluate_lists({"u": {"a": 0.5, "b": 0.1}}).ranks
    assert tr.report(ranks)["ndcg"] < 1
    ungraded = Task({"u": ["a", "b"]}, entities=9).evaluate_lists({"u": {"a": 0.5, "b": 0.1}})
    assert report(ungraded.ranks, [1, 3])["ndcg"] == tr.report(ranks)["ndcg"]
    assert ungraded["ndcg"] == 1


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


@given(judged_runs(), st.sampled_from(["zero", "bounds", "expected"]))
def test_what_misses_count_for_stays_with_ranks(problem: Any, misses: str) -> None:
    qrels, run = problem
    grades = {q: {d: max(grade, 0) for d, grade in row.items()} for q, row in qrels.items()}
    entities = [f"d{i}" for i in range(7)]
    task = Task(grades, entities=entities, candidates="all")
    found = quietly(task.evaluate_lists, run, misses=misses, order="descending")
    keys = ["map", "ndcg", "optimistic.mrr", "pessimistic.recall@3", "index.map"]
    assert (report(found.ranks).protocol.misses or "zero") == misses
    assert report(found.ranks).to_dict(keys) == found.to_dict(keys)
    # another rule may be named, and is theirs from then on
    for other in ("zero", "bounds", "expected"):
        again = report(found.ranks, misses=other)
        direct = quietly(task.evaluate_lists, run, misses=other, order="descending")
        assert again.to_dict(keys) == direct.to_dict(keys)
        assert again.ranks == direct.ranks


def test_several_rules_of_misses_are_refused() -> None:
    qrels = {"u": {"a": 1, "b": 1}, "v": {"b": 1}}
    task = Task(qrels, entities=["a", "b", "c", "d"])
    run = {"u": ["c", "a"], "v": ["d"]}
    parts = [task[p::2] for p in range(2)]
    bounded = [quietly(part.evaluate_lists, run, misses="bounds").ranks for part in parts]
    zero = [quietly(part.evaluate_lists, run).ranks for part in parts]
    assert report(tr.concatenate(bounded)).protocol.misses == "bounds"
    words = "misses: bounds against none"
    refusal(ValueError, words, tr.concatenate, [bounded[0], zero[1]])
    both = tr.concatenate([report(bounded[0], misses="zero").ranks, zero[1]])
    assert report(both)["map"] == report(tr.concatenate(zero))["map"]
    unknown = zero[0].with_protocol(misses="none")
    refusal(ValueError, "misses: expected one of .*zero", report, unknown)


def test_groups_of_a_report_have_no_queries_without_answers() -> None:
    qrels = {"u": {"a": 2}, "v": {"b": 1}, "w": {}}
    groups = {"u": "x", "v": "y"}
    found = Task(qrels, entities=["a", "b"], groups=groups).evaluate_lists({"u": ["b"], "v": ["b"]})
    assert found.without_answers == 1
    assert [group.without_answers for group in found.groups.values()] == [0, 0]
