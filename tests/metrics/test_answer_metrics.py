"""Sums over the places of a tie against sums term by term, for small ties and for huge ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import retrieval as oracle
from truerank.metrics.answer_metrics import (
    discount_sums,
    first_reciprocals,
    hit_chances,
    reciprocal_sums,
)

pytestmark = pytest.mark.python_only

SIZES = st.integers(0, 40) | st.integers(0, 3000)
FAR = st.integers(0, 40) | st.integers(0, 3000) | st.integers(60_000, 70_000) | st.just(10**9)


def columns(*values: int) -> list[np.ndarray]:
    return [np.array([value]) for value in values]


@given(FAR, SIZES)
def test_sums_over_places(above: int, places: int) -> None:
    found = [f(*columns(above, places))[0] for f in (reciprocal_sums, discount_sums)]
    assert found == pytest.approx(oracle.sums(above, places), rel=1e-12)


@given(FAR, st.integers(1, 30) | st.integers(1, 3000), st.data())
def test_the_first_of_several_right_answers(above: int, tied: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(1, tied) | st.integers(1, min(tied, 8)))
    within = data.draw(st.integers(0, tied + 1) | st.just(tied))
    found = first_reciprocals(*columns(above, tied, right, within))
    assert found[0] == pytest.approx(oracle.first_reciprocal(above, tied, right, within), rel=1e-12)


@pytest.mark.parametrize(
    ("above", "right"), [(1, 3), (100, 10), (100, 2000), (9_000, 3), (9_000, 40), (50_000, 300)]
)
def test_the_first_of_several_in_a_long_tie(above: int, right: int) -> None:
    """The recurrence of the tie and of its mirror, and terms: each is taken by some of these."""
    found = first_reciprocals(*columns(above, 30_000, right, 30_000))
    assert found[0] == pytest.approx(
        oracle.first_reciprocal(above, 30_000, right, 30_000), rel=1e-12
    )


@given(st.integers(1, 30) | st.integers(1, 3000), st.data())
def test_the_chance_of_a_hit(tied: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(1, tied))
    within = data.draw(st.integers(0, tied))
    found = hit_chances(*columns(tied, right, within))
    assert found[0] == pytest.approx(oracle.hit_chance(tied, right, within), rel=1e-11)


def test_a_tie_of_millions_takes_no_time_of_its_own() -> None:
    tied = np.array([10**9, 10**9])
    found = first_reciprocals(np.array([0, 100]), tied, np.array([10, 10]), tied)
    # of a = 0: r / (t - r + 1) times the sum of 1 / i from r to t
    expected = (
        10 / (10**9 - 9) * (np.log(10**9) + np.euler_gamma - sum(1 / i for i in range(1, 10)))
    )
    assert found[0] == pytest.approx(expected, rel=1e-9)
    assert 0 < found[1] < found[0]
