"""Test the comparison of two matchings against McNemar's exact test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from support.refusals import refusal
from truerank.alignment import Alignment, infer


def matching(partners: list[int]) -> Alignment:
    """An alignment of left entity i with the right one of this number, of as many as there are."""
    scores = np.zeros((len(partners), len(partners)))
    scores[np.arange(len(partners)), partners] = 1
    return infer(scores, None)


@given(st.data())
def test_p_value_is_that_of_mcnemar(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40), "n")
    partners = st.lists(st.integers(0, n - 1), min_size=n, max_size=n)
    one = data.draw(partners, "one")
    two = data.draw(partners, "two")
    reference = [[i, (i * 3 + 1) % n] for i in range(n)]
    found = matching(one).compare(matching(two), reference)
    first = np.array([one[i] == right for i, right in reference])
    second = np.array([two[i] == right for i, right in reference])
    wins = int((first & ~second).sum())
    losses = int((second & ~first).sum())
    assert (found.wins, found.losses, found.ties) == (wins, losses, n - wins - losses)
    assert found.estimate == pytest.approx((wins - losses) / n)
    expected = 1.0
    if wins + losses:
        expected = binomtest(wins, wins + losses).pvalue
    assert found.p_value == pytest.approx(expected, rel=1e-12)
    assert found.low <= found.estimate <= found.high
    assert found.value_a == matching(one).evaluate(reference).recall
    assert found.value_b == matching(two).evaluate(reference).recall


def test_pairs_are_units_and_others_are_left_out() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((30, 30)) + np.eye(30)
    taking_part = np.arange(20)
    options = {"left_ids": taking_part, "right_ids": taking_part}
    greedy = infer(scores, None, **options)
    optimal = infer(scores, None, method="optimal", **options)
    reference = [[i, i] for i in range(30)]
    found = optimal.compare(greedy, reference + reference[:5], level=0.9)
    assert (found.units, found.by, found.metric, found.level) == (20, "pair", "recall", 0.9)
    assert str(found).startswith("recall: a ")
    assert "20 pairs" in str(found)
    reverse = greedy.compare(optimal, reference)
    assert (reverse.wins, reverse.losses) == (found.losses, found.wins)
    assert reverse.p_value == found.p_value


def test_refusals() -> None:
    found = matching([0, 1, 2])
    refusal(TypeError, "other: expected Alignment, got list", found.compare, [[0, 0]], [[0, 0]])
    other = matching([0, 1])
    message = "other: expected an alignment of the same entities, got one of others"
    refusal(ValueError, message, found.compare, other, [[0, 0]])
    none = np.zeros((0, 2), int)
    refusal(ValueError, "reference: expected at least one pair", found.compare, found, none)
    refusal(ValueError, "reference", found.compare, found, [[0, 7]])
    refusal(ValueError, "level", found.compare, found, [[0, 0]], level=1.5)
