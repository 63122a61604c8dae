"""Test means over the positions of ties: closed forms against sums term by term."""

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

from truerank.metrics import ties

firsts = st.integers(1, 40) | st.integers(1, 10**4)
sizes = st.integers(1, 12) | st.integers(1, 3000)


def over(a: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([float(a)]), np.array([m])


CLOSED: dict[str, tuple[Any, Callable[[int], float]]] = {
    "rank": (ties.mean_rank, float),
    "log": (ties.mean_log, math.log),
    "inverse": (lambda a, m: ties.mean_power(a, m, -1.0), lambda r: 1 / r),
}


@given(st.lists(st.tuples(firsts, sizes), min_size=1, max_size=5), st.sampled_from(list(CLOSED)))
def test_means_of_several_ties(pairs: list[tuple[int, int]], name: str) -> None:
    closed, term = CLOSED[name]
    first, size = np.array(pairs, dtype=np.int64).T
    expected = [math.fsum(map(term, range(a, a + m))) / m for a, m in pairs]
    assert closed(first.astype(float), size) == pytest.approx(expected, rel=1e-15, abs=0)


@given(firsts, sizes, st.floats(-30, 30) | st.sampled_from([-1, 0, 1, 2, 1e-8, 1e3, -1e3, 1e300]))
def test_mean_of_powers(a: int, m: int, p: float) -> None:
    greatest = a + m - 1 if p > 0 else a
    (mean,) = ties.relative_power(*over(a, m), p)
    written = math.fsum((r / greatest) ** p for r in range(a, a + m)) / m
    assert mean == pytest.approx(written, rel=1e-13 * max(1, min(abs(p), 100)))


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
