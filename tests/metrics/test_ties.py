"""Test means over the places of ties, of one right answer, of several, and of hits among draws.

Closed forms are held against sums term by term, for small ties and for huge ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import truerank as tr
from oracles import metrics as oracle
from oracles import retrieval as of_several
from support.example_ranks import query_report
from truerank.metrics import ties
from truerank.metrics.answer_metrics import (
    discount_sums,
    first_reciprocals,
    hit_chances,
    reciprocal_sums,
)

firsts = st.integers(1, 40) | st.integers(1, 10**4)
sizes = st.integers(1, 12) | st.integers(1, 3000)


def over(a: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([float(a)]), np.array([m])


CLOSED: dict[str, tuple[Any, Callable[[int], float]]] = {
    "rank": (ties.mean_rank, float),
    "log": (ties.mean_log, math.log),
    "inverse": (lambda a, m: ties.mean_power(a, m, -1.0), lambda r: 1 / r),
    "inverse square": (lambda a, m: ties.mean_power(a, m, -2.0), lambda r: 1 / r**2),
}


@given(st.lists(st.tuples(firsts, sizes), min_size=1, max_size=5), st.sampled_from(list(CLOSED)))
def test_means_of_several_ties(pairs: list[tuple[int, int]], name: str) -> None:
    closed, term = CLOSED[name]
    first, size = np.array(pairs, dtype=np.int64).T
    expected = [math.fsum(map(term, range(a, a + m))) / m for a, m in pairs]
    assert closed(first.astype(float), size) == pytest.approx(expected, rel=1e-15, abs=0)


@given(firsts, sizes, st.integers(1, 4000))
def test_probability_of_a_hit(a: int, m: int, k: int) -> None:
    (share,) = ties.hit_share(*over(a, m), k)
    assert share == sum(r <= k for r in range(a, a + m)) / m


def test_published_values(data: Path) -> None:
    """Ties at 1e12 and of 2e9 positions, from 25 digits."""
    records = json.loads((data / "reference_values.json").read_text())
    records = [record for record in records if record["metric"] == "expected_single"]
    assert len(records) == 15
    for record in records:
        tie = over(record["a"], record["b"] - record["a"] + 1)
        for name, got in (
            ("expected_rank", ties.mean_rank(*tie)),
            ("expected_inverse_rank", ties.mean_power(*tie, -1.0)),
            ("prob_le_k", ties.hit_share(*tie, record["k"])),
            ("expected_log_rank", ties.mean_log(*tie)),
        ):
            assert got[0] == pytest.approx(float(record[name]), rel=1e-15, abs=0)


SIZES = st.integers(0, 40) | st.integers(0, 3000)
FAR = st.integers(0, 40) | st.integers(0, 3000) | st.integers(60_000, 70_000) | st.just(10**9)


def columns(*values: int) -> list[np.ndarray]:
    return [np.array([value]) for value in values]


@given(FAR, SIZES)
def test_sums_over_places(above: int, places: int) -> None:
    result = [f(*columns(above, places))[0] for f in (reciprocal_sums, discount_sums)]
    assert result == pytest.approx(of_several.sums(above, places), rel=1e-12)


@given(FAR, st.integers(1, 30) | st.integers(1, 3000), st.data())
def test_the_first_of_several_right_answers(above: int, tied: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(1, tied) | st.integers(1, min(tied, 8)))
    within = data.draw(st.integers(0, tied + 1) | st.just(tied))
    result = first_reciprocals(*columns(above, tied, right, within))
    assert result[0] == pytest.approx(
        of_several.first_reciprocal(above, tied, right, within), rel=1e-12
    )


@pytest.mark.parametrize(
    ("above", "right"), [(1, 3), (100, 10), (100, 2000), (9_000, 3), (9_000, 40), (50_000, 300)]
)
def test_the_first_of_several_in_a_long_tie(above: int, right: int) -> None:
    """The recurrence of the tie and of its mirror, and terms: each is taken by some of these."""
    result = first_reciprocals(*columns(above, 30_000, right, 30_000))
    assert result[0] == pytest.approx(
        of_several.first_reciprocal(above, 30_000, right, 30_000), rel=1e-12
    )


def test_ties_that_end_beside_the_end_of_a_table() -> None:
    lengths = np.arange(1, 60)
    for closed, term in CLOSED.values():
        expected = [math.fsum(map(term, range(1, m + 1))) / m for m in lengths.tolist()]
        assert closed(np.ones(59), lengths) == pytest.approx(expected, rel=1e-15, abs=0)
    above = np.array([4000, 9000, 4094, 0, 4095, 4096, 4000])
    places = np.array([200, 3, 2, 5000, 2, 2, 200])
    expected = []
    for a, n in zip(above.tolist(), places.tolist(), strict=True):
        expected.append(math.fsum(1 / math.log2(p + 1) for p in range(a + 1, a + n + 1)))
    assert discount_sums(above, places) == pytest.approx(expected, rel=1e-12, abs=0)


def test_many_ties_give_what_each_gives_alone() -> None:
    """Of many equal ones are computed once: to the last bit, as products of matrices are not."""
    rng = np.random.default_rng(0)
    above, right, others, within = rng.integers(0, [[60], [4], [50], [70]], (4, 3000))
    rows = above, right + 1 + others, right + 1, within
    for function, columns in ((first_reciprocals, rows), (reciprocal_sums, (above, within))):
        alone = [function(*(column[i : i + 1] for column in columns))[0] for i in range(600)]
        assert function(*columns)[:600].tolist() == alone
        assert function(*(column[:600] for column in columns)).tolist() == alone


@given(st.integers(1, 30) | st.integers(1, 3000), st.data())
def test_the_chance_of_a_hit(tied: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(1, tied))
    within = data.draw(st.integers(0, tied))
    result = hit_chances(*columns(tied, right, within))
    assert result[0] == pytest.approx(of_several.hit_chance(tied, right, within), rel=1e-11)


def test_a_tie_of_millions_takes_no_time_of_its_own() -> None:
    tied = np.array([10**9, 10**9])
    result = first_reciprocals(np.array([0, 100]), tied, np.array([10, 10]), tied)
    # of a = 0: r / (t - r + 1) times the sum of 1 / i from r to t
    expected = (
        10 / (10**9 - 9) * (np.log(10**9) + np.euler_gamma - sum(1 / i for i in range(1, 10)))
    )
    assert result[0] == pytest.approx(expected, rel=1e-9)
    assert 0 < result[1] < result[0]


@given(st.integers(0, 400), st.integers(257, 400), st.integers(0, 600), st.integers(1, 30))
def test_long_ties_have_a_closed_form(above: int, tied: int, below: int, k: int) -> None:
    size = above + tied + below
    for negatives in (1, 50, size - 2, 2 * size):
        cutoff = (k, negatives)
        result = ties.mean_drawn_hit_share(
            np.array([above + 1.0]), np.array([tied]), np.array([size]), cutoff
        )
        positions = range(above + 1, above + tied + 1)
        each = [float(oracle.drawn_middle(r - 1, 1, size, cutoff)) for r in positions]
        assert result[0] == pytest.approx(math.fsum(each) / tied, rel=1e-11, abs=1e-13)


def test_of_fewer_negatives_all_are_drawn() -> None:
    counts = ([0, 3, 5], [1, 1, 1], [12, 9, 10])
    of_queries = query_report(tr.Ranks(*counts, queries=["a", "b", "c"]))
    for report in (tr.report(tr.Ranks(*counts)), of_queries):
        assert report["sampled_hits@3:99"] == report["sampled_hits@3:11"] > 0  # all of each task
        assert report[f"sampled_hits@{10**30}:{10**30}"] == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("size", [4096, 14_541])
def test_chance_of_hits_among_draws_is_the_mean_over_ranks(size: int) -> None:
    ranks = tr.Ranks(np.arange(size), np.ones(size, int), np.full(size, size))
    for cutoff in ((10, 50), (1, 500), (3, size - 2), (5, 4), (30, size)):
        report = tr.report(ranks)
        key = f"sampled_hits@{cutoff[0]}:{cutoff[1]}"
        (mean,), _ = ties.drawn_hit_moments(np.array([size]), cutoff)
        assert report[key] == pytest.approx(mean, rel=1e-12)
        assert report[f"ratio.{key}"] == pytest.approx(1, rel=1e-12)
        if mean < 1:
            assert report[f"index.{key}"] == pytest.approx(0, abs=1e-11)
        else:
            assert math.isnan(report[f"index.{key}"])


def test_hits_among_50_candidates_have_49_negatives() -> None:
    """As the mean over draws that may repeat, which other code reports for inductive splits."""
    candidates = 2001
    ranks = np.random.default_rng(3).integers(1, 900, 400)
    report = tr.report(tr.Ranks.from_ranks(ranks, ranks, candidates=candidates))
    share_above = (ranks - 1) / (candidates - 1)
    draws = {n: stats.binom.cdf(9, n, share_above).mean() for n in (49, 50)}
    for negatives, expected in draws.items():
        value = report[f"sampled_hits@10:{negatives}"]
        assert value == pytest.approx(expected, abs=1e-3)
    assert draws[49] - draws[50] > 5e-3
