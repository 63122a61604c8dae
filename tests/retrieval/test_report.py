"""Reports on several right answers against every order of the ties; keys, tables, errors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import retrieval as oracle
from support.example_ranks import query_report as report
from truerank import Report
from truerank.metrics.answer_metrics import ANSWER_METRICS
from truerank.tables.forms import json_value

pytestmark = pytest.mark.python_only

CUT = [f"@{k}" for k in (1, 2, 3, 9)]
FORMS = {"": [""], "@k": CUT, "[@k]": ["", *CUT], ":p": [":0.75"]}
FORMS["@k:n"] = ["@1:1", "@2:3", "@1:9"]
METRICS = [
    name + form
    for name, row in ANSWER_METRICS.items()
    if name not in ("err", "median")  # err is below, and median beside mr
    for form in FORMS[row.parameter]
]


class Query(NamedTuple):
    """The scores of a query's candidates, and their gains."""

    scores: list[int]
    gains: list[int]


@st.composite
def queries(draw: st.DrawFn) -> Query:
    n = draw(st.integers(1, 5))
    gains = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return Query(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), gains)


def ranks_of(drawn: list[Query], shuffle: Any = None) -> tuple[tr.Ranks, np.ndarray]:
    """Rank every right answer among all candidates of its query; tasks may be in any order."""
    parts = []
    gains = []
    for i, query in enumerate(drawn):
        right = [j for j, gain in enumerate(query.gains) if gain]
        part = tr.rank([query.scores], right, rows=[0] * len(right))
        parts.append(part.with_labels(queries=[i] * len(right)))
        gains += [query.gains[j] for j in right]
    ranks = tr.concatenate(parts)
    if shuffle is None:
        shuffle = range(len(ranks))
    order = np.array(shuffle)
    return ranks[order], np.array(gains)[order]


# What a gain counts as; without gains it is as if they were binary.
COUNTED: dict[str | None, Callable[[int], int]] = {
    **{None: bool, "binary": bool, "linear": int, "exponential": lambda gain: 2**gain - 1}
}


@given(st.lists(queries(), min_size=1, max_size=3), st.sampled_from(list(COUNTED)), st.data())
def test_every_metric_over_every_order(
    drawn: list[Query], gain: str | None, data: st.DataObject
) -> None:
    tasks = sum(bool(gain) for query in drawn for gain in query.gains)
    ranks, gains = ranks_of(drawn, data.draw(st.permutations(range(tasks))))
    # gains need be no grades
    scale = 1.0
    if gain == "linear":
        scale = data.draw(st.sampled_from([1.0, 0.3]))
    found = report(ranks)
    if gain:
        found = report(ranks, gains * scale, gain=gain)
    for metric in data.draw(st.lists(st.sampled_from(METRICS), min_size=4, max_size=4)):
        expected = [
            oracle.values_by_order(metric, query.scores, list(map(COUNTED[gain], query.gains)))
            for query in drawn
        ]
        if metric.startswith("dcg"):
            expected = [{order: x * scale for order, x in each.items()} for each in expected]
        sizes = np.array([len(query.scores) if metric == "gauc" else 1 for query in drawn])
        for order in ("expected", "optimistic", "pessimistic"):
            values = np.array([each[order] for each in expected])
            key = f"{order}.{metric}"
            np.testing.assert_allclose(found.per_query(key), values, rtol=1e-12, atol=1e-15)
            mean = mean_of(values, sizes)
            assert found[key] == pytest.approx(mean, rel=1e-12, abs=1e-15, nan_ok=True)
            if metric == "mr":
                assert found.per_query(f"{order}.median").tolist() == pytest.approx(values)
                assert found[f"{order}.median"] == pytest.approx(np.median(values))
        most = np.nanmax([0.0, *(each["optimum"] for each in expected)])
        if metric in ("mr", "auc", "gauc"):  # Without a wrong candidate it is 1, of weight 0.
            most = {"mr": math.inf}.get(metric, 1.0)
        assert found.model.best_value(found.read_key(metric)) == pytest.approx(most, rel=1e-12)


def test_ends_are_those_of_the_metric_whatever_the_queries_are() -> None:
    found = report(tr.Ranks([0, 3], [1, 1], 10, queries=["a", "a"]))
    ends = {"mr": (1, math.inf), "dcg": (0, math.inf), "precision@10": (0, 1), "recall@1": (0, 1)}
    for key, ends_of_key in ends.items():
        assert found.contributions(key).ends == ends_of_key


def mean_of(values: Any, sizes: Any) -> float:
    """Return the mean over queries: auc of one without a wrong candidate is none."""
    is_counted = ~np.isnan(values)
    if not is_counted.any():
        return math.nan
    return float(np.average(np.array(values)[is_counted], weights=sizes[is_counted]))


@given(st.lists(queries(), min_size=1, max_size=3))
def test_the_curve_of_hits_has_those_of_a_random_order(drawn: list[Query]) -> None:
    ks = [1, 2, 9]
    by_chance = report(ranks_of(drawn)[0]).model.answers.success_by_chance(ks)  # type: ignore[union-attr]
    for k, share in zip(ks, by_chance.tolist(), strict=True):
        values = [
            oracle.values_by_order(f"success@{k}", query.scores, query.gains) for query in drawn
        ]
        assert share == pytest.approx(np.mean([each["chance"] for each in values]), rel=1e-12)


@given(queries(), st.sampled_from([1, 3, 9]))
def test_expected_reciprocal_rank_has_bounds(query: Query, k: int) -> None:
    ranks, gains = ranks_of([query])
    expected = oracle.values_by_order(f"err@{k}", query.scores, query.gains)
    found = report(ranks, gains)
    for kind in ("optimistic", "pessimistic"):
        assert found[f"{kind}.err@{k}"] == pytest.approx(expected[kind], rel=1e-12)
    if ranks.tied.max() == 1:
        assert found[f"err@{k}"] == pytest.approx(expected["expected"], rel=1e-12)
        return
    with pytest.raises(KeyError, match=r"take optimistic.err@k and pessimistic.err@k"):
        found[f"err@{k}"]


def test_many_queries_are_the_queries_one_by_one() -> None:
    """More queries than are in a cache at a time."""
    rng = np.random.default_rng(0)
    n = 40_000
    ranks = tr.Ranks(rng.integers(0, 40, n), rng.integers(1, 9, n), 50, queries=np.arange(n))
    found = report(ranks)
    for i in (0, 32_767, 32_768, n - 1):
        one = report(ranks[[i]])
        for key in ("map", "ndcg@10", "optimistic.mrr", "pessimistic.success@3"):
            assert found.per_query(key)[i] == one[key]
    one_each = tr.report(found.ranks, unit="task")
    assert found["recall@10"] == pytest.approx(one_each["expected.hits@10"], rel=1e-12)
    assert found["mrr"] == pytest.approx(one_each["expected.mrr"], rel=1e-12)


# -- groups and tables -----------------------------------------------------------------------------


def grouped() -> Report:
    ranks = tr.Ranks([0, 3, 1, 9], [1, 1, 1, 1], 10, queries=["a", "a", "b", "c"])
    return report(ranks, by=["x", "x", "y", "y"])


def test_groups() -> None:
    found = grouped()
    assert (found.group_values("mrr"), found["macro.mrr"]) == ({"x": 1.0, "y": 0.3}, 0.65)
    rows = found.by_query(["map", "mrr"])
    for key in ("map", "mrr"):
        assert [row[key] for row in rows.values()] == found.per_query(key).tolist()
    graded = report(found.ranks, gains=[1, 2, 1, 3], by=[0, 0, 1, 1])
    for label, part in graded.groups.items():
        assert part["ndcg@5"] == pytest.approx(graded.group_values("ndcg@5")[label])


def test_readers_stop_by_the_highest_gain_of_all_groups() -> None:
    ranks = tr.Ranks([0, 1, 0], [1, 1, 1], 5, queries=["a", "b", "c"])
    found = report(ranks, gains=[1.0, 1.0, 3.0], by=["x", "x", "y"], highest_grade=3)
    expected = {"x": (1 / 4 + 1 / 4 / 2) / 2, "y": 3 / 4}
    assert found.group_values("err@2") == expected
    assert {label: group["err@2"] for label, group in found.groups.items()} == expected
    assert found["macro.err@2"] == sum(expected.values()) / 2


def test_tables() -> None:
    found = grouped()
    text = found.to_markdown()
    assert text.startswith("3 queries with 4 right answers, 0 of them tied, among 10 candidates\n")
    few = "MRR \u2191 | MAP \u2191 | nDCG@10 \u2191 | Recall@10 \u2191"
    assert f"| group | queries | {few} |" in text
    assert "| y | 2 | 0.300 |" in text
    every = found.table("all", kinds=["optimistic", "pessimistic"])
    assert len(every) == 2 * 4
    prefixes = {"micro": "", "macro": "macro.", "group": ""}
    keys = [key for key in found if "." not in key]
    for average, label, kind, _, *values in every:
        part = found.groups[label] if average == "group" else found
        expected = [part[f"{prefixes[average]}{kind}.{key}"] for key in keys]
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    tied = report(tr.Ranks([0, 3], [2, 1], 9, queries=[7, 7]))
    made = tied.table("map", interval=True)
    assert made["kind"] == ["expected", "optimistic", "pessimistic"]
    assert made["map low"] == [tied.interval(f"{kind}.map").low for kind in made["kind"]]
    assert "1 of them tied" in tied.to_text()


def test_json_of_queries() -> None:
    found = grouped()
    content = json.loads(found.to_json())
    assert (content["kind"], content["format"]) == ("truerank.retrieval", 1)
    assert content["metrics"] == json_value(dict(found))
    assert (content["misses"], content["queries"], content["answers"]) == ("zero", 3, 4)
    assert content["groups"]["labels"] == ["x", "y"]
    assert content["groups"]["tasks"] == {"both": [1, 2]}
    assert content["groups"]["metrics"]["mrr"] == [1.0, 0.3]
    qrels = {"q1": ["a", "b"], "q2": ["c"], "q3": ["a"], "q4": []}
    task = tr.retrieval.Task(qrels, entities=list("abcdefghijkl"))
    with pytest.warns(UserWarning, match="q3"):
        listed = task.evaluate_lists({"q1": ["d", "a"], "q2": ["c"]}, misses="bounds")
    content = json.loads(listed.to_json())
    assert [finding["name"] for finding in content["findings"]] == ["missing lists"]
    assert (content["misses"], content["missed"], content["longest"]) == ("bounds", 0.5, 2)
    assert content["without_answers"] == 1
    words = "50 % of the right answers are missed by their lists and have bounds; the longest has"
    assert words in str(listed)
    empty = task[:0].evaluate_lists({})
    assert (empty.tasks(), list(empty.audit())) == (0, [])
    assert json.loads(empty.to_json())["missed"] is None


def test_ties_that_move_a_number_are_told() -> None:
    """Among ten that tie, the kinds of mrr are far apart; misses with bounds are no ties."""
    found = report(tr.Ranks([0, 0], [10, 1], 100, queries=[0, 1]))
    (finding,) = found.audit("ties")
    values = {kind: found[f"{kind}.map"] for kind in ("expected", "optimistic", "pessimistic")}
    share = (values["optimistic"] / values["expected"] - 1) * 100
    said = ", ".join(f"{kind} {value:.4g}" for kind, value in values.items())
    words = f"ties move mrr by up to {share:.3g} % of its value: {said}; say which is reported"
    assert finding.message == words
    assert words[1:] in found.to_text(["mrr"])
    assert tr.table({"a": found}, ["mrr"]).notes == (f"{words}.",)
    task = tr.retrieval.Task({"u": ["a"], "v": ["b", "c"]}, entities=list("abcdef"))
    lists = {"u": {"b": 1.0, "a": 0.5}, "v": {"b": 1.0, "a": 1.0}}
    (finding,) = task.evaluate_lists(lists).audit("ties")
    (of_bounds,) = task.evaluate_lists(lists, misses="bounds").audit("ties")
    words = finding.message.replace("value:", "value where misses count as 0:")
    assert of_bounds.message == words


# -- inference -------------------------------------------------------------------------------------


def answered(seed: int, queries: int = 40) -> Report:
    """Three right answers of each query; the labels of one seed are those of all."""
    places = np.random.default_rng(seed).permuted(np.tile(np.arange(30), (queries, 1)), axis=1)
    names = np.arange(queries).repeat(3)
    ranks = tr.Ranks(places[:, :3].ravel(), np.ones(3 * queries, int), 30, queries=names)
    return report(ranks, gains=names % 3 + 1, by=names % 4)


def test_a_query_of_one_answer_is_a_task() -> None:
    rng = np.random.default_rng(1)
    above = rng.integers(0, 20, 60)
    tied = rng.integers(1, 4, 60)
    ranks = tr.Ranks(above, tied, rng.integers(30, 90, 60), queries=range(60))
    found = report(ranks)
    tasks = tr.report(ranks)
    for key, bounds in found.interval(["mrr", "success@3"]).items():
        own = tasks.interval(f"expected.{key.replace('success', 'hits')}")
        ends = bounds.value, bounds.low, bounds.high
        assert ends == pytest.approx((own.value, own.low, own.high), rel=1e-12), key
        assert (bounds.method, bounds.units, bounds.unit) == (own.method, 60, "query")
    key = "expected.sampled_hits@10:50"
    assert found[key] == pytest.approx(tasks[key], rel=1e-9)


@pytest.mark.parametrize("key", ["map", "ndcg", "success@1"])
def test_queries_are_compared_by_their_values(key: str) -> None:
    a = answered(0, queries=200)
    b = answered(1, queries=200)
    found = tr.compare(a, b, metric=key)
    one, two = (x.per_query(key) for x in (a, b))
    assert found.p_value == pytest.approx(scipy.stats.ttest_rel(one, two).pvalue)
    assert found.estimate == pytest.approx(a[key] - b[key])
    assert (found.wins, found.losses) == ((one > two + 1e-9).sum(), (two > one + 1e-9).sum())
    assert (found.units, found.unit, found.pairing) == (200, "query", "query ids")


def test_the_curve_of_hits_is_that_of_successes() -> None:
    pytest.importorskip("matplotlib")
    a = answered(0)
    ax = tr.plot.hits_curve({"a": a}, kind="optimistic")
    line, *_, chance = ax.get_lines()
    cutoffs = line.get_xdata().tolist()
    assert line.get_ydata() == pytest.approx([a[f"optimistic.success@{k}"] for k in cutoffs])
    by_chance = [oracle.hit_chance(30, 3, k) for k in cutoffs]
    assert chance.get_ydata() == pytest.approx(by_chance, rel=1e-12)
    assert ax.get_ylabel() == "Success@k"


# -- ends ------------------------------------------------------------------------------------------


def test_several_answers_of_a_query_are_no_tasks_of_their_own(tmp_path: Path) -> None:
    grouped().ranks.save(tmp_path / "ranks.npz")
    ranks = tr.load(tmp_path / "ranks.npz")
    assert report(ranks).to_dict(["map"]) == grouped().to_dict(["map"])
    assert tr.report(ranks) == tr.report(grouped().ranks)
    with pytest.raises(AttributeError, match="this report is of tasks"):
        tr.report(tr.Ranks([0], [1], 2, queries=[0]), unit="task").per_query("mrr")


def test_the_ends_of_parameters() -> None:
    task = tr.retrieval.Task({"q": ["a", "d"]}, entities=list("abcdef"), candidates="all")
    assert task.evaluate_lists({"q": ["b", "a"]})["auc"] == 3 / 8  # nothing for what is missed
    found = report(tr.Ranks([0], [1], 2, queries=[0]), [1000], gain="exponential")
    assert found["ndcg"] == 1


def test_a_list_without_a_right_answer_has_no_sampled_hit() -> None:
    qrels = {"q": ["a", "b"], "r": ["c"]}
    task = tr.retrieval.Task(qrels, entities=list("abcdefgh"), candidates="all")
    found = task.evaluate_lists({"q": ["h", "g"], "r": ["h", "c"]})
    assert found.per_query("sampled_hits@3:2").tolist() == [0, 1]  # of 2 no 3 are above
    assert found.per_query("sampled_hits@1:1").tolist() == pytest.approx([0, 6 / 7])
