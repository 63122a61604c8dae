"""Hubs and isolated entities: against counting in loops, scipy's skewness, and by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from oracles.counting import Refused
from oracles.most_similar import Call, calls
from truerank.alignment.analyses.hubs import (
    Hubness,
    HubnessTable,
    compare_hubness,
    hubness,
    robin_hood_of,
    skewness_of,
)
from truerank.alignment.local_scaling import csls_means

pytestmark = pytest.mark.python_only

# Three left entities are nearest to the first right one, which ties with the second.
MATRIX = np.array([[5.0, 5, 1, 0], [5, 1, 2, 0], [4, 1, 3, 0], [0, 2, 3, 0]])


def robin_hood(times: list[int]) -> float:
    """Compute the Hoover index by its formula, in exact numbers."""
    mean = Fraction(sum(times), len(times))
    total = sum(times)
    return float(sum(abs(x - mean) for x in times) / (2 * total)) if total else math.nan


def skewness(times: list[int]) -> float:
    mean = Fraction(sum(times), len(times))
    second = sum((x - mean) ** 2 for x in times) / len(times)
    third = sum((x - mean) ** 3 for x in times) / len(times)
    return float(third) / float(second) ** 1.5 if second else math.nan


def same(found: float, expected: float) -> None:
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@given(calls(), st.lists(st.integers(1, 12), min_size=1, max_size=3))
@settings(max_examples=120)
def test_hubness_is_what_loops_count(call: Call, ks: list[int]) -> None:
    try:
        queries, targets, found = call.most_similar(max(ks))
    except Refused as refused:
        event("refused")
        with pytest.raises(ValueError, match="^" + "|".join(refused.names)):
            hubness(call.left, call.right, k=ks, **call.keywords)
        return
    hubs = hubness(call.left, call.right, k=ks, **call.keywords)
    assert (hubs.tasks, hubs.targets.tolist()) == (len(queries), targets)
    assert list(hubs.occurrences) == sorted(set(ks))

    def count(k: int) -> list[int]:
        lists = [[j for j, _ in row[:k]] for row in found]
        return [sum(j in row for row in lists) for j in targets]

    nearest = count(1)
    assert hubs.nearest.tolist() == nearest
    buckets = {"0": range(1), "1": range(1, 2), "2-4": range(2, 5), "5+": range(5, 99)}
    counts = {name: sum(x in times for x in nearest) for name, times in buckets.items()}
    assert hubs.counts == counts
    assert hubs.shares == {name: n / len(targets) for name, n in counts.items()}
    for k in hubs.occurrences:
        times = count(k)
        assert hubs.occurrences[k].tolist() == times
        told = hubs[k]
        assert told.k == k
        same(told.mean, sum(times) / len(times))
        assert (told.largest, told.hub) == (max(times), targets[times.index(max(times))])
        assert told.isolated == times.count(0) / len(times)
        np.testing.assert_equal(told.robin_hood, robin_hood(times))
        same(told.skewness, skewness(times))


def test_by_hand() -> None:
    hubs = hubness(MATRIX, None, k=(1, 2))
    assert hubs.nearest.tolist() == [3, 0, 1, 0]  # the tie goes to the lowest id
    assert hubs.counts == {"0": 2, "1": 1, "2-4": 1, "5+": 0}
    assert hubs.occurrences[2].tolist() == [3, 2, 3, 0]
    assert hubs[1][1:5] == (1.0, 3, 0, 0.5)
    assert hubs[1].robin_hood == 0.5  # 2 of 4 would have to move
    assert hubs[2].robin_hood == 0.25
    same(hubs[1].skewness, 1.5 / 1.5**1.5)
    back = hubness(MATRIX, None, k=1, direction="right_to_left")
    assert back.nearest.tolist() == [3, 0, 1, 0]
    assert back.targets.tolist() == [0, 1, 2, 3]


def test_five_and_more_times() -> None:
    left, right = np.ones((7, 1)), np.array([[1.0], [-1.0]])
    assert hubness(left, right).counts == {"0": 1, "1": 0, "2-4": 0, "5+": 1}
    assert hubness(left[:5], right).counts["5+"] == 1
    assert hubness(left[:4], right).counts["2-4"] == 1
    assert hubness(left[:2], right).counts["2-4"] == 1


def test_candidates_are_all_that_counts() -> None:
    hubs = hubness(MATRIX, None, k=1, candidates=(None, [3, 1]), queries=[0, 1, 0])
    assert hubs.targets.tolist() == [1, 3]
    assert hubs.nearest.tolist() == [2, 0]
    assert hubs[1].hub == 1


def test_all_equally_often_has_no_skewness() -> None:
    told = hubness(np.eye(4), np.eye(4), k=1)[1]
    assert math.isnan(told.skewness)
    assert told.robin_hood == 0
    assert told.isolated == 0


def test_nobody_is_anyones_nearest() -> None:
    hubs = hubness(np.full((2, 3), np.nan), None, nan="omit", k=1)
    assert hubs.counts["0"] == 3
    assert math.isnan(hubs[1].robin_hood)
    assert math.isnan(hubs[1].skewness)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_indices_against_the_formulas(times: list[int]) -> None:
    counts = np.array(times)
    np.testing.assert_equal(robin_hood_of(counts), robin_hood(times))
    same(skewness_of(counts), skewness(times))


def test_skewness_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    times = np.random.default_rng(0).poisson(1.0, 5000)
    same(skewness_of(times), float(stats.skew(times)))


def test_robin_hood_is_exact_for_many() -> None:
    times = np.zeros(1_000_000, np.int64)
    times[0] = 1_000_000
    assert robin_hood_of(times) == 999_999 / 1_000_000


def test_k_is_one_number_or_several() -> None:
    assert list(hubness(MATRIX, None, k=3).occurrences) == [3]
    assert list(hubness(MATRIX, None, k=np.array([3, 1])).occurrences) == [1, 3]
    assert list(hubness(MATRIX, None).occurrences) == [1, 10]
    with pytest.raises(KeyError):
        hubness(MATRIX, None, k=3)[1]


def test_forms() -> None:
    hubs = hubness(MATRIX, None, k=(1, 2))
    assert list(hubs.to_dict()["nearest"]) == ["0", "1", "2-4", "5+"]
    assert [row["k"] for row in hubs.to_dict()["occurrence"]] == [1, 2]
    assert hubs.to_csv().splitlines()[0] == "k,mean,largest,hub,isolated,skewness,robin_hood"
    assert repr(hubs) == (
        "Hubness(4 tasks, 4 candidates, left_to_right, scores, 0.5 nobody's nearest)"
    )
    with pytest.raises(ValueError, match="read-only"):
        hubs.nearest[0] = 1


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"k": 0}, ValueError, "k: expected at least 1, got 0"),
        ({"k": []}, ValueError, "k: expected at least one, got none"),
        ({"k": [1, 2.5]}, TypeError, "k: expected an integer, got float"),
        ({"k": "1"}, TypeError, "k: expected an integer, got str"),
        ({"direction": "both"}, ValueError, "direction: expected one of"),
        ({"queries": []}, ValueError, "queries: expected at least one"),
    ],
)
def test_errors(keywords: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        hubness(MATRIX, None, **keywords)


# -- side by side ----------------------------------------------------------------------------------


def alike(one: Hubness, two: Hubness) -> None:
    assert one.to_dict() == two.to_dict()
    np.testing.assert_array_equal(one.nearest, two.nearest)


def test_before_and_after_csls_in_both_directions() -> None:
    rng = np.random.default_rng(3)
    left, right = 0.3 + rng.standard_normal((2, 60, 12))
    right = right[:50]
    table = compare_hubness(left, right, csls=5, k=(1, 3), queries=([4, 7, 9, 11], None))
    assert list(table) == [
        "left_to_right, cosine",
        "left_to_right, cosine, csls 5",
        "right_to_left, cosine",
        "right_to_left, cosine, csls 5",
    ]
    given = {"k": (1, 3), "queries": [4, 7, 9, 11]}
    alike(table["left_to_right, cosine"], hubness(left, right, **given))
    alike(table["left_to_right, cosine, csls 5"], hubness(left, right, csls=5, **given))
    back = hubness(left, right, k=(1, 3), csls=5, direction="right_to_left")
    alike(table["right_to_left, cosine, csls 5"], back)
    made = compare_hubness(left, right, csls=csls_means(left, right, 5), directions="right_to_left")
    assert list(made) == list(table)[2:]
    np.testing.assert_array_equal(made["right_to_left, cosine, csls 5"].nearest, back.nearest)


def test_table() -> None:
    one = hubness(MATRIX, None, k=(1, 2))
    table = HubnessTable({"A": one, "B": one})
    assert table.records().columns[:5] == ["", "0", "1", "2-4", "5+"]
    assert list(table.to_dict()) == ["A", "B"]
    assert len(table) == 2
    assert repr(table) == "HubnessTable(A, B)"
    assert len(table.to_markdown().splitlines()) == 4


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([], TypeError, "rows: expected a mapping of names, got list"),
        ({}, ValueError, "rows: expected at least one Hubness, got none"),
        ({"A": 1}, TypeError, "rows: expected Hubness, got int for 'A'"),
        (
            {"A": hubness(MATRIX, None, k=1), "B": hubness(MATRIX, None, k=2)},
            ValueError,
            "rows: expected one k for all",
        ),
    ],
)
def test_tables_that_are_none(rows: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        HubnessTable(rows)


def test_errors_of_comparisons() -> None:
    for keywords, message in (
        ({"directions": ["both"]}, r"^directions: expected one of"),
        ({"directions": []}, r"^directions: expected at least one, got none"),
        ({"queries": [1]}, r"^queries: expected \(left_ids, right_ids\), got 1 members"),
        ({"csls": 0}, r"^csls: expected at least 1 neighbour, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            compare_hubness(MATRIX, None, **keywords)
