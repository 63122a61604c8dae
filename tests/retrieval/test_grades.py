"""Grades, relevance levels, and queries without right answers: ranks have all that reports need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.example_ranks import query_report as report
from support.outcomes import quietly
from support.refusals import refusal
from truerank.inference import interval
from truerank.inference.gate import gate
from truerank.metrics.answers import GAINS, MISSES
from truerank.retrieval import Task

KEYS = ["map", "ndcg", "optimistic.mrr", "pessimistic.recall@3", "dcg"]
BINARY = ("map", "mrr@5", "recall@3", "precision@4", "success@2", "r_precision", "rbp:0.7", "auc")
DOCUMENTS = [f"d{i}" for i in range(5)]
AMONG: dict[str, Any] = {"entities": [*DOCUMENTS, "d5", "d6"], "candidates": "all"}
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


@st.composite
def judged_runs(draw: st.DrawFn) -> tuple[Qrels, Run]:
    """Draw judgements with grades from -1 to 3, one of which is 3, and lists with ties."""
    grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), max_size=5)
    qrels = draw(st.dictionaries(st.sampled_from(["q0", "q1", "q2", "q3"]), grades))
    qrels.setdefault("q0", {})["d0"] = 3
    lists = st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([0.0, 1.0, 2.0]))
    return qrels, draw(st.fixed_dictionaries({query: lists for query in qrels}))


def evaluated(qrels: Any, run: Run, misses: Any = "zero", **options: Any) -> tr.Report:
    task = Task(qrels, **AMONG | options)
    return quietly(task.evaluate_lists, run, misses=misses, order="descending")


@given(judged_runs(), st.data())
def test_ranks_of_judgements_have_all_that_metrics_need(
    tmp_path_factory: pytest.TempPathFactory, judged_run: tuple[Qrels, Run], data: st.DataObject
) -> None:
    """As a task has them, saved and read, sliced and joined in any order, and by other rules."""
    misses, other_misses = data.draw(st.tuples(*[st.sampled_from(MISSES)] * 2))
    gain, other_gain = data.draw(st.tuples(*[st.sampled_from(GAINS)] * 2))
    qrels, run = judged_run
    found = evaluated(qrels, run, misses, gain=gain)
    ranks = found.ranks
    right = [query for query, judged in qrels.items() if max(judged.values(), default=0) > 0]
    assert found.without_answers == len(qrels) - len(right)

    path = tmp_path_factory.getbasetemp() / "ranks.npz"
    ranks.save(path)
    assert tr.load(path) == ranks
    cut = data.draw(st.integers(0, len(ranks)))
    joined = report(tr.concatenate([ranks[cut:], ranks[:cut]]))
    assert joined.without_answers == found.without_answers
    assert sorted(joined.queries) == sorted(right)
    for key in KEYS:
        values = dict(zip(found.queries, found.per_query(key).tolist(), strict=True))
        again = dict(zip(joined.queries, joined.per_query(key).tolist(), strict=True))
        assert again == pytest.approx(values, rel=1e-12)

    assert (report(ranks).protocol.misses or "zero") == misses
    assert report(ranks).to_dict(KEYS) == found.to_dict(KEYS)
    again = report(ranks, misses=other_misses, gain=other_gain)
    direct = evaluated(qrels, run, other_misses, gain=other_gain)
    assert again.to_dict(KEYS) == direct.to_dict(KEYS)
    assert again.ranks == direct.ranks


def test_gains_are_not_rounded(tmp_path: Path) -> None:
    grades = {"a": 0.1, "b": 1e-300, "c": 2.0**53 + 2}
    found = Task({"q": grades}, entities=["a", "b", "c", "d"]).evaluate_lists({"q": ["c", "a"]})
    found.ranks.save(tmp_path / "ranks.npz")
    parts = [tr.load(tmp_path / "ranks.npz")[i] for i in range(3)]
    assert tr.concatenate(parts).gains.tolist() == list(grades.values())


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


def by_query(found: tr.Report, values: Any) -> dict[Any, float]:
    return dict(zip(found.queries, values.tolist(), strict=True))


@given(judged_runs(), st.sampled_from(MISSES))
def test_binary_metrics_count_from_a_level_on_and_gains_keep_all(
    judged_run: tuple[Qrels, Run], misses: str
) -> None:
    qrels, run = judged_run
    groups = dict(zip(qrels, "xyxy", strict=False))
    found = evaluated(qrels, run, misses, relevance_level=2, groups=groups)
    all_gains = evaluated(qrels, run, misses)
    right = {name: {d: g for d, g in each.items() if g >= 2} for name, each in qrels.items()}
    alone = evaluated(right, run, misses)
    for kind in ("", "optimistic.", "pessimistic."):
        for key in [f"{kind}{metric}" for metric in BINARY]:
            assert found[key] == pytest.approx(alone[key], rel=1e-13, nan_ok=True), key
            values = by_query(found, found.per_query(key))
            expected = dict.fromkeys(values, np.nan) | by_query(alone, alone.per_query(key))
            assert values == pytest.approx(expected, rel=1e-13, nan_ok=True), key
        for key in [f"{kind}{metric}" for metric in ("ndcg", "ndcg@3", "dcg")]:
            assert found[key] == pytest.approx(all_gains[key], rel=1e-13, nan_ok=True), key
    counts = by_query(found, found.answers)
    assert {query: n for query, n in counts.items() if n} == by_query(alone, alone.answers)
    assert found.tasks() == alone.tasks()
    sizes = tr.report(found.ranks, by=found.ranks.queries.codes % 2).group_tasks()
    assert sum(sizes.values()) == found.tasks()
    assert found.without_answers == alone.without_answers
    # what a query without a right answer would add to an interval is nothing
    assert found.interval("map").units == len(alone.queries)
    assert found.interval("ndcg").units == len(all_gains.queries)
    for bound in ("value", "low", "high"):
        expected = getattr(alone.interval("map"), bound)
        assert getattr(found.interval("map"), bound) == pytest.approx(expected, nan_ok=True)
    assert sum(part.tasks() for part in found.groups.values()) == alone.tasks()
    macro = np.nanmean([part["map"] for part in found.groups.values()])
    assert found["macro.map"] == pytest.approx(macro)
    # the level travels with saved ranks, and may be given where ranks have none
    assert report(found.ranks, misses=misses)["map"] == found["map"]
    assert report(all_gains.ranks, misses=misses, relevance_level=2)["map"] == found["map"]


@given(judged_runs())
def test_queries_without_right_answers_count_as_0(judged_run: tuple[Qrels, Run]) -> None:
    qrels, run = judged_run
    qrels["q4"] = {"d3": 0}
    left_out = evaluated(qrels, run, relevance_level=2)
    found = report(left_out.ranks, answerless="zero")
    assert found.tasks() == len(qrels)
    for metric in ("auc", "gauc", "mr", "median"):  # which they do not have
        assert found[metric] == pytest.approx(left_out[metric], nan_ok=True)
    for metric in BINARY[:-1]:
        total = np.nansum(left_out.per_query(metric))
        assert found[metric] == pytest.approx(total / len(qrels), rel=1e-13)
        assert not np.isnan(found.per_query(metric)).any()
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


@given(judged_runs(), st.sampled_from([1, 2, 3]))
def test_relevance_levels_of_trec_eval(judged_run: tuple[Qrels, Run], level: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    # Of a query whose grades are all negative, trec_eval's nDCG reads what it never wrote.
    qrels = {
        query: judged
        for query, judged in judged_run[0].items()
        if max(judged.values(), default=-1) >= 0
    }
    run = {}
    for query in qrels:  # without ties
        names = {"d6": 1.0} | judged_run[1][query]
        run[query] = {name: float(-i) for i, name in enumerate(names)}
    names = {"map": "map", "map@2": "map_cut.2", "ndcg": "ndcg", "ndcg@3": "ndcg_cut.3"}
    names |= {"mrr": "recip_rank", "precision@3": "P.3", "recall@3": "recall.3"}
    names |= {"success@2": "success.2", "r_precision": "Rprec"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names.values()), relevance_level=level)
    theirs = evaluator.evaluate(run)
    found = report(evaluated(qrels, run, relevance_level=level).ranks, answerless="zero")
    for key, name in names.items():
        values = [each[name.replace(".", "_")] for each in theirs.values()]
        assert found[key] == pytest.approx(np.mean(values), rel=1e-12, abs=1e-15), key


# -- the highest grade, by which err stops ---------------------------------------------------------


def err_of_list(grades: list[int], highest: int, gain: str, k: int) -> float:
    """Return err@k of the grades of a list, by definition, where this grade is the highest."""
    count = {"linear": float, "exponential": lambda g: 2.0**g - 1, "binary": lambda g: min(g, 1.0)}
    value, goes_on = 0.0, 1.0
    for place, grade in enumerate(grades[:k], 1):
        stop = count[gain](grade) / (1 + count[gain](highest))
        value += goes_on * stop / place
        goes_on *= 1 - stop
    return value


@given(
    st.lists(st.permutations(DOCUMENTS), min_size=2, max_size=5),
    st.lists(st.integers(1, 4), min_size=25, max_size=25),
    st.sampled_from(GAINS),
    st.integers(1, 5),
)
def test_readers_of_a_part_stop_as_those_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    lists: list[list[str]],
    grades: list[int],
    gain: str,
    k: int,
) -> None:
    """A part, a slice, a file, groups and what is joined stopped by their own highest grade."""
    qrels: Qrels = {}
    run: dict[str, list[str]] = {}
    for i, documents in enumerate(lists):
        qrels[f"q{i}"] = {d: grades[5 * i + j] for j, d in enumerate(DOCUMENTS[: 1 + i])}
        run[f"q{i}"] = documents
    highest = max(grade for judged in qrels.values() for grade in judged.values())
    expected = {}
    for query, judged in qrels.items():
        of_list = [judged.get(document, 0) for document in run[query]]
        expected[query] = err_of_list(of_list, highest, gain, k)
    task = Task(qrels, entities=DOCUMENTS, gain=gain)
    ranks = task.evaluate_lists(run).ranks
    path = tmp_path_factory.getbasetemp() / "graded.npz"
    ranks.save(path)
    is_first = ranks.queries == "q0"
    parts = [task[p::2].evaluate_lists(run).ranks for p in (0, 1)]
    older = [ranks.with_protocol(highest_grade=None)[which] for which in (is_first, ~is_first)]
    older[0].save(path)  # It has no number, but the grades of its part.
    of_first = tr.load(path)
    assert of_first.protocol.highest_grade == of_first.gains.max()
    ranks.save(path)
    for each in (
        ranks,
        *parts,
        tr.concatenate(parts),
        ranks[is_first],
        tr.load(path)[~is_first],
        tr.concatenate([of_first, ranks[~is_first]]),
        tr.report(ranks, by="query").groups["q1"].ranks,
    ):
        found = tr.report(each)
        values = dict(zip(found.queries, found.per_query(f"err@{k}").tolist(), strict=True))
        assert values == pytest.approx({query: expected[query] for query in values}, rel=1e-12)
    by_query = tr.report(ranks, by="query").group_values(f"err@{k}")
    assert by_query == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("gain", GAINS)
def test_models_that_are_compared_have_one_highest_grade(gain: str) -> None:
    """A set that grew by a grade 4 lost .142 (linear) of equal lists, and the gate said worse."""
    qrels = {f"q{i}": {"d0": 1 + i % 2, "d1": 1} for i in range(40)}
    qrels |= {f"q{i}": {"d0": 4, "d1": 2} for i in range(20, 40)}
    run = {f"q{i}": ["d2", "d0", "d1"] if i % 3 else ["d0", "d2", "d1"] for i in range(40)}
    old = {query: qrels[query] for query in list(qrels)[:20]}
    base, new = (Task(x, entities=DOCUMENTS, gain=gain).evaluate_lists(run) for x in (old, qrels))
    grown = new.per_query("err@5")[[query in old for query in new.queries]]
    pair = tr.compare(base, new, "err@5", common=True)
    assert (pair.estimate, pair.ties) == (0, 20)
    assert pair.value_a == pair.value_b == pytest.approx(grown.mean())
    _, verdicts, _ = gate(base, new, ["err@5"], 0.01, common=True)
    assert verdicts["err@5"].startswith("no worse (nothing differs; ")
    # An interval of unlike grades had its lower end above the upper one.
    worse = Task(qrels, entities=DOCUMENTS, gain=gain).evaluate_lists(
        {query: ["d3", *documents] for query, documents in run.items()}
    )
    apart = tr.compare(base, worse, "err@5", common=True)
    assert apart.low <= apart.estimate <= apart.high
    # The runs of a model have one, too.
    part = tr.report(new.ranks[[query in old for query in new.ranks.queries]])
    runs = [interval(each, "err@5") for each in ([base, part], [part, part])]
    assert runs[0] == runs[1]


def test_joined_protocols_have_the_greater_grade() -> None:
    """None says that all are 1."""
    grades = (None, 0.5, 2.0, 3.0)
    for one in grades:
        for two in grades:
            joined = tr.Protocol(highest_grade=one).joined(tr.Protocol(highest_grade=two))
            greater = max(one or 1.0, two or 1.0)
            assert joined.highest_grade == (one if one == two else greater)
            assert tr.Protocol(highest_grade=one) == tr.Protocol(highest_grade=two)
    refusal(TypeError, "^highest_grade: expected a number", tr.Protocol, highest_grade="high")
