"""What units add, against slow twins: the derivative of the value by the weight of each unit."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import truerank as tr
from oracles import metrics as oracle
from support.example_ranks import query_report
from support.metric_keys import keys_where
from support.refusals import refusal
from truerank.metrics import METRICS
from truerank.metrics.answer_metrics import ANSWER_KEYS, ANSWER_METRICS
from truerank.metrics.contributions import (
    contributions,
    is_mean,
    mean_and_influences,
    unit_codes,
)
from truerank.metrics.keys import Key, parse
from truerank.metrics.metric_table import weighted_mean
from truerank.metrics.values import Rankings

SMOOTH = ["mr", "mrr", "hits@3", "ndcg@5", "sampled_hits@3:9", "hmr", "imr", "gmr", "igmr"]
SMOOTH += ["std", "variance", "power_mean:2", "power_mean:-0.5", "power_mean:0"]
SMOOTH += ["index.mr", "ratio.mrr", "index.hits@3", "index.gmr"]


def drawn(seed: int, n: int = 24, weighted: bool = False, **labels: Any) -> tr.Ranks:
    """Ranks with sides, relations, ties, unlike candidates, and units of two tasks."""
    rng = np.random.default_rng(seed)
    candidates = rng.integers(20, 60, n)
    above = rng.integers(0, candidates - 3)
    tied = rng.integers(1, 4, n)
    weights = None
    if weighted:
        weights = rng.choice([0.0, 0.5, 1.0, 2.0], n)
    side = ["tail", "head"] * (n // 2)
    relation = rng.integers(0, 3, n)
    made = tr.Ranks(above, tied, candidates, side=side, relation=relation, weights=weights)
    return made.with_labels(unit=np.arange(n) // 2, **labels)


def weights_of(ranks: tr.Ranks) -> np.ndarray[Any, Any]:
    return np.ones(len(ranks)) if ranks.weights is None else ranks.weights


def numerical(ranks: tr.Ranks, key: str) -> np.ndarray[Any, Any]:
    """The derivative of a report's value by the weight of each unit, by differences."""
    weights = weights_of(ranks)
    unit = ranks.unit.codes
    slopes = []
    step = 1e-5
    for u in range(int(unit.max()) + 1):
        ends = [
            tr.report(ranks, weights=weights * np.where(unit == u, 1 + x, 1.0))[key]
            for x in (step, -step)
        ]
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return np.array(slopes)


@given(
    st.sampled_from(SMOOTH), st.sampled_from(["", "expected.", "tail.", "random."]), st.booleans()
)
def test_influences_are_derivatives(name: str, kind: str, weighted: bool) -> None:
    assume(name != "index.gmr")  # The number of tasks, on which its chance hangs, does not change.
    assume(kind != "expected." or parse(name).row.has_expectation)
    ranks = drawn(1, weighted=weighted)
    key = kind + name
    if kind == "tail.":
        ranks = ranks[ranks.side == "tail"]
    sums = contributions(Rankings(ranks), parse(key), unit_codes(ranks, "unit")[0])
    _, influences = mean_and_influences(sums.tops, sums.bases)
    assert sums.value == pytest.approx(tr.report(ranks)[key], rel=1e-13)
    step = 1e-5 * (1 + abs(sums.mean))
    slope = (sums.metric_at(sums.mean + step) - sums.metric_at(sums.mean - step)) / (2 * step)
    counted = np.unique(ranks.unit.codes[weights_of(ranks) > 0])
    slopes = numerical(ranks, key)[counted]
    np.testing.assert_allclose(influences * slope, slopes, rtol=1e-4, atol=1e-7)
    assert sums.metric_at(sums.mean) == pytest.approx(sums.value, rel=1e-12)
    assert sums.tops.sum() / sums.bases.sum() == pytest.approx(sums.mean)
    assert influences.sum() == pytest.approx(0, abs=1e-9 * np.abs(influences).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("exponent", [1, -1])
def test_chance_is_part_of_the_influence_where_candidates_vary(
    exponent: int, weighted: bool
) -> None:
    """Of v / E and (v - E) / (1 - E), where log v and log E are sums over the tasks."""
    rng = np.random.default_rng(2)
    n = 60
    candidates = rng.integers(2, 900, n)
    shares = rng.integers(1, 4, n) / 1.0 if weighted else np.ones(n)
    ranks = tr.Ranks(
        rng.integers(0, candidates), np.ones(n, int), candidates, unit=np.arange(n) // 2
    )
    ranks = ranks.with_weights(shares)
    shares /= shares.sum()
    logs = exponent * np.log(ranks.realistic)
    powers = [
        math.log(np.mean(np.arange(1.0, N + 1) ** (exponent * share)))
        for N, share in zip(candidates.tolist(), shares.tolist(), strict=True)
    ]
    value = math.exp(shares @ logs)
    expectation = math.exp(sum(powers))
    of_value = np.bincount(np.arange(n) // 2, shares * (logs - shares @ logs))
    of_chance = np.bincount(np.arange(n) // 2, powers - shares * sum(powers))
    metric = "gmr" if exponent == 1 else "igmr"
    index = (value * of_value - (1 - value) * expectation * of_chance / (1 - expectation)) / (
        1 - expectation
    )
    expected = {"ratio": value / expectation * (of_value - of_chance), "index": index}
    for adjustment, influences in expected.items():
        key = f"{adjustment}.{metric}"
        sums = contributions(Rankings(ranks), parse(key), unit_codes(ranks, "unit")[0])
        step = 1e-6
        slope = (sums.metric_at(sums.mean + step) - sums.metric_at(sums.mean - step)) / (2 * step)
        _, found = mean_and_influences(sums.tops, sums.bases)
        np.testing.assert_allclose(found * slope, influences, rtol=1e-6, atol=1e-12)
        assert sums.metric_at(sums.mean) == pytest.approx(tr.report(ranks)[key], rel=1e-12)


@pytest.mark.parametrize("key", ["mad", "median", "power_mean:inf", "power_mean:-11", "count"])
def test_metrics_without_influences(key: str) -> None:
    assert not is_mean(parse(key))
    refusal(KeyError, "not a function of a mean", tr.report(drawn(1)).contributions, key)


@pytest.mark.parametrize(
    ("key", "words"),
    [("macro.mrr", "not a function"), ("zmr", "not a function"), ("left.mrr", "no side 'left'")],
)
def test_keys_without_sums(key: str, words: str) -> None:
    refusal(KeyError, words, tr.report(drawn(1), by="side").contributions, key)


def test_units_are_the_label_that_tasks_write() -> None:
    ranks = drawn(0)
    for unit, name, number in (
        ("unit", "unit", 12),
        (None, "task", 24),
        ("task", "task", 24),
        ("relation", "relation", 3),
        (np.arange(24) // 8, "group", 3),
    ):
        codes, word = unit_codes(ranks, unit)
        sums = contributions(Rankings(ranks), parse("mrr"), codes)
        assert (word, len(sums.tops), len(sums.bases)) == (name, number, number)
    assert unit_codes(ranks.with_labels(unit=None), "unit")[1] == "task"
    random = parse("random.mrr")
    models = Rankings(ranks, 3), tr.report(ranks, seed=3).model
    one, two = (contributions(model, random, codes).tops.tolist() for model in models)
    assert one == two


@pytest.mark.parametrize("number", [23, 25])
def test_each_task_has_a_unit(number: int) -> None:
    """Only queries without any answer get units of their own."""
    with pytest.raises(ValueError, match="length"):
        contributions(Rankings(drawn(0).with_labels(side=None)), parse("mrr"), np.arange(number))


MEANS = keys_where(lambda metric: metric.is_mean)
COUNTS = st.tuples(st.integers(0, 30), st.integers(1, 4), st.integers(0, 40))
LABELS = st.tuples(
    st.sampled_from(["head", "tail", "relation"]),
    st.integers(0, 3),  # group
    st.integers(0, 4),  # unit
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)


def plain_sums(ranks: tr.Ranks, key: Key, labels: list[int]) -> dict[int, Any]:
    """The sums of w f and of w over the tasks of a side with a weight above 0, by their labels."""
    sums: dict[int, Any] = {}
    for i, (side, label) in enumerate(zip(ranks.side, labels, strict=True)):
        is_in_side = side != "relation" if key.side == "both" else side == key.side
        weight = weights_of(ranks)[i]
        if is_in_side and weight:
            alone = ranks[[i]].with_weights(None)
            f = float(oracle.of_kind(key.kind, str(key.alone), alone))
            sums[label] = sums.get(label, 0.0) + weight * np.array([f, 1.0])
    return sums


@given(
    st.lists(st.tuples(COUNTS, LABELS), min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from(MEANS),
    st.sampled_from(["optimistic", "realistic", "pessimistic", "expected"]),
    st.sampled_from(["both", "head", "tail", "relation"]),
)
def test_sums_of_units_and_groups_are_those_of_a_plain_loop(
    drawn: list[Any], is_weighted: bool, name: str, kind: str, side: str
) -> None:
    """A task adds w f to the tops of its unit and w to the bases; a group has its tasks alone."""
    counts, labels = zip(*drawn, strict=True)
    above, tied, below = np.array(counts).T
    sides, groups, units, weights = (list(column) for column in zip(*labels, strict=True))
    assume(any(weights) or not is_weighted)
    ranks = tr.Ranks(above, tied, above + tied + below, side=sides)
    if is_weighted:
        ranks = ranks.with_weights(weights)
    report = tr.report(ranks.with_labels(unit=units), by=groups)
    assume(side in report.model.side_counts)
    key = report.read_key(f"{side}.{kind}.{name}")
    of_units = plain_sums(ranks, key, units)
    of_groups = plain_sums(ranks, key, groups)
    total = sum(of_units.values(), np.zeros(2))
    if not of_units:
        assert np.isnan(report[str(key)])
        return
    sums = report.contributions(str(key))
    scale = sums.bases.sum() / total[1]  # Weights are times a power of two, or 1 if all are equal.
    for u, (top, base) in enumerate(of_units[label] for label in sorted(of_units)):
        assert sums.tops[u] == pytest.approx(scale * top, rel=1e-11, abs=1e-13)
        assert sums.bases[u] == pytest.approx(scale * base, rel=1e-12)
    assert report[str(key)] == pytest.approx(total[0] / total[1], rel=1e-11, abs=1e-13)
    for group, value in report.group_values(str(key)).items():
        top, base = of_groups.get(group, (np.nan, 1.0))
        assert value == pytest.approx(top / base, rel=1e-11, abs=1e-13, nan_ok=True)


def query_ranks(seed: int = 5) -> tr.Ranks:
    """Ranks of queries with several right answers, ties, and several candidates each."""
    rng = np.random.default_rng(seed)
    columns: list[tuple[int, int, int, int]] = []
    for query in range(9):
        scores = rng.integers(0, 6, rng.integers(6, 20))
        for j in rng.choice(len(scores), rng.integers(1, 4), replace=False):
            above, tied = (scores > scores[j]).sum(), (scores == scores[j]).sum()
            columns.append((above, tied, len(scores), query))
    above, tied, candidates, queries = np.array(columns).T
    return tr.Ranks(above, tied, candidates, queries=queries)


ADJUSTED = [f"{adjustment}.{key}" for adjustment in ("ratio", "index") for key in MEANS]
SUMS = [
    *((False, key) for key in (*keys_where(lambda metric: True), *ADJUSTED)),
    *((True, name + form) for name, row in ANSWER_METRICS.items() for form in row.examples),
]


@pytest.mark.parametrize(("of_queries", "name"), SUMS)
def test_a_value_is_the_ratio_of_its_sums(of_queries: bool, name: str) -> None:
    """Of every row that is a function of a mean, and of the unit sums of any units."""
    report = query_report(query_ranks()) if of_queries else tr.report(drawn(2, weighted=True))
    key = report.read_key(f"optimistic.{name}")
    if not is_mean(key):
        assert key.row.average is not weighted_mean
        return
    unit = "query" if of_queries else "relation"
    for sums in (report.contributions(str(key), unit), report.contributions(str(key), "task")):
        mean = float(sums.tops.sum() / sums.bases.sum())
        value = key.row.inverse(mean)
        if key.row.average is not weighted_mean:
            value = sums.metric_at(mean)
        assert value == pytest.approx(report[str(key)], rel=1e-12)
        assert value == pytest.approx(sums.value, rel=1e-12)
    assert np.isfinite(report[str(key)])


def test_groups_and_units_of_queries_are_those_of_a_plain_loop() -> None:
    ranks = query_ranks()
    groups = (ranks.queries.codes % 3).tolist()
    report = query_report(ranks, by=groups)
    of_query = {query: query % 3 for query in report.queries}
    for name, row in ANSWER_METRICS.items():
        for form in row.examples:
            key = f"optimistic.{name}{form}"
            values = report.per_query(key)
            weights = report.candidates if row.by_candidates else np.ones(len(values))
            sums = report.contributions(key, groups) if row.average is weighted_mean else None
            for group, value in report.group_values(key).items():
                chosen = [of_query[query] == group for query in report.queries]
                if sums is None:
                    assert value == np.median(values[chosen])
                    continue
                top, base = weights[chosen] @ values[chosen], weights[chosen].sum()
                assert value == pytest.approx(top / base, rel=1e-12)
                scale = sums.bases.sum() / weights.sum()
                assert sums.tops[group] == pytest.approx(scale * top, rel=1e-12)
                assert sums.bases[group] == pytest.approx(scale * base, rel=1e-12)


def test_a_new_row_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The share of queries all of whose right answers are among the first k."""

    def complete(ties: Any, k: int) -> Any:
        last = ties.indptr[1:] - 1
        return ((ties.above + ties.size)[last] <= k).astype(np.float64)

    row = METRICS["hits"]
    fields = {"name": "complete", "title": "Complete", "of_answers": complete, "decimals": 2}
    monkeypatch.setitem(ANSWER_METRICS, "complete", dataclasses.replace(row, **fields))
    ranks = query_ranks()
    report = query_report(ranks, by=(ranks.queries.codes % 2).tolist())
    last = [ranks.pessimistic[ranks.queries.codes == query].max() for query in range(9)]
    plain = (np.array(last) <= 7).astype(float)
    assert report["pessimistic.complete@7"] == pytest.approx(plain.mean(), rel=1e-12)
    assert report.per_query("pessimistic.complete@7").tolist() == plain.tolist()
    assert report.group_values("pessimistic.Complete@7")[0] == pytest.approx(plain[::2].mean())
    interval = report.interval("complete@7")
    assert interval.low < interval.value < interval.high
    assert interval.decimals == parse("complete@7", ANSWER_KEYS).decimals == 2
    assert f"{report['complete@7']:.2f}" in report.to_markdown(["complete@7"])


def test_metrics_of_queries_have_no_chance() -> None:
    report = query_report(query_ranks())
    refusal(KeyError, "metrics of queries have no chance", report.chance, "map")
    assert {row.adjustments for row in ANSWER_METRICS.values()} == {()}
