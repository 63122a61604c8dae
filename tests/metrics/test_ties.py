"""Test means over the positions of ties: closed forms against sums term by term."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.metrics import ties

pytestmark = pytest.mark.python_only

firsts = st.integers(1, 40) | st.integers(1, 10**4)
sizes = st.integers(1, 12) | st.integers(1, 3000)


def over(a: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([float(a)]), np.array([m])


def inverse_sum(a: int, m: int) -> Fraction:
    """The sum of 1 / r, by halves, which keeps the fractions small."""
    if m <= 8:
        return sum((Fraction(1, r) for r in range(a, a + m)), Fraction(0))
    return inverse_sum(a, m // 2) + inverse_sum(a + m // 2, m - m // 2)


@given(firsts, st.integers(1, 500))
def test_mean_of_inverses(a: int, m: int) -> None:
    (mean,) = ties.mean_power(*over(a, m), -1.0)
    assert mean == pytest.approx(float(inverse_sum(a, m) / m), rel=1e-15)


@given(firsts, sizes)
def test_mean_of_logs(a: int, m: int) -> None:
    (mean,) = ties.mean_log(*over(a, m))
    assert mean == pytest.approx(math.fsum(map(math.log, range(a, a + m))) / m, rel=1e-15)


@given(firsts, sizes, st.floats(-30, 30) | st.sampled_from([-1, 0, 1, 2, 1e-8, 1e3, -1e3, 1e300]))
def test_mean_of_powers(a: int, m: int, p: float) -> None:
    scale = float(a + m - 1 if p > 0 else a)
    (mean,) = ties.mean_power(*over(a, m), p, scale)
    written = math.fsum((r / scale) ** p for r in range(a, a + m)) / m
    assert mean == pytest.approx(written, rel=1e-13 * max(1, min(abs(p), 100)))


@given(firsts, sizes, st.integers(1, 4000))
def test_probability_of_a_hit(a: int, m: int, k: int) -> None:
    (share,) = ties.hit_share(*over(a, m), k)
    assert share == sum(r <= k for r in range(a, a + m)) / m


@given(st.lists(st.tuples(firsts, st.integers(1, 50)), min_size=1, max_size=20))
def test_many_ties_at_once(pairs: list[tuple[int, int]]) -> None:
    a, m = np.array(pairs, dtype=np.int64).T
    for closed in (ties.mean_rank, ties.mean_log, lambda a, m: ties.mean_power(a, m, -1.0)):
        together = closed(a.astype(float), m)
        assert together.tolist() == [closed(*over(*pair))[0] for pair in pairs]


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
