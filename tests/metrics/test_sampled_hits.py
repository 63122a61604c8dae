"""Test hits among drawn negatives, in expectation, against all draws and against draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import metrics as oracle
from support.query_reports import query_report
from truerank.metrics.chance_model import sampled_hit_moments
from truerank.metrics.ties import mean_drawn_hit_share

KINDS = ("optimistic", "realistic", "pessimistic", "expected")


def share_of_draws(above: int, tied: int, size: int, k: int, negatives: int, kind: str) -> float:
    """List all draws, and rank the true candidate (score 0) among each by the kind's rule."""
    scores = np.repeat([1, 0, -1], [above, tied - 1, size - above - tied])
    found = []
    for drawn in itertools.combinations(scores.tolist(), min(negatives, size - 1)):
        first = sum(score > 0 for score in drawn) + 1
        last = sum(score >= 0 for score in drawn) + 1
        positions = {
            "optimistic": [first],
            "realistic": [(first + last) / 2],
            "pessimistic": [last],
            "expected": range(first, last + 1),
        }
        found.append(np.mean([position <= k for position in positions[kind]]))
    return float(np.mean(found))


@given(st.data())
def test_each_kind_is_the_mean_over_all_draws(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 11), "size")
    above = data.draw(st.integers(0, size - 1), "above")
    tied = data.draw(st.integers(1, size - above), "tied")
    k = data.draw(st.integers(1, 5), "k")
    negatives = data.draw(st.integers(1, 12), "negatives")
    report = tr.report(tr.Ranks([above], [tied], [size]))
    for kind in KINDS:
        expected = share_of_draws(above, tied, size, k, negatives, kind)
        found = report[f"{kind}.sampled_hits@{k}:{negatives}"]
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-15), kind


@given(st.integers(0, 400), st.integers(257, 400), st.integers(0, 600), st.integers(1, 30))
def test_long_ties_have_a_closed_form(above: int, tied: int, below: int, k: int) -> None:
    size = above + tied + below
    for negatives in (1, 50, size - 2, 2 * size):
        cutoff = (k, negatives)
        found = mean_drawn_hit_share(
            np.array([above + 1.0]), np.array([tied]), np.array([size]), cutoff
        )
        positions = range(above + 1, above + tied + 1)
        each = [float(oracle.drawn_middle(r - 1, 1, size, cutoff)) for r in positions]
        assert found[0] == pytest.approx(math.fsum(each) / tied, rel=1e-11, abs=1e-13)


def test_of_fewer_negatives_all_are_drawn() -> None:
    counts = ([0, 3, 5], [1, 1, 1], [12, 9, 10])
    of_queries = query_report(tr.Ranks(*counts, queries=["a", "b", "c"]))
    for report in (tr.report(tr.Ranks(*counts)), of_queries):
        assert report["sampled_hits@3:99"] == report["sampled_hits@3:11"] > 0  # all of each task
        assert report[f"sampled_hits@{10**30}:{10**30}"] == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("size", [4096, 5000, 14_541])
def test_moments_of_many_candidates_are_sums_over_ranks(size: int) -> None:
    ranks = tr.Ranks(np.arange(size), np.ones(size, int), np.full(size, size))
    for cutoff in ((10, 50), (1, 500), (3, size - 2)):
        (mean,), (variance,) = sampled_hit_moments(np.array([size]), cutoff)
        key = f"sampled_hits@{cutoff[0]}:{cutoff[1]}"
        hits = tr.report(ranks)[key]
        assert hits == pytest.approx(mean, rel=1e-12)
        each = [tr.report(ranks[[i]])[key] for i in range(0, size, 1000)]
        assert all(0 <= value <= 1 for value in each)
        shares = tr.report(ranks, by=np.arange(size)).group_values(key)
        values = np.array(list(shares.values()))
        assert variance == pytest.approx(values.var(), rel=1e-9)
