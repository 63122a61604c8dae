"""Test that few nodes give the sums of many terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.metrics.chance_model.nodes import rank_nodes, run_nodes, stand_ins


@pytest.mark.parametrize("power", [1.0, -4.0, 10.0])
def test_means_over_ranks(power: float) -> None:
    sizes = np.array([1, 2, 15, 16, 17, 31, 32, 33, 100, 1023, 1024, 5000])
    nodes, shares = rank_nodes(sizes, power)
    assert (nodes <= sizes[:, None]).all()
    for f in (np.log, np.reciprocal, np.sqrt, lambda x: x**-3, lambda x: np.exp(-5 / x)):
        exact = [math.fsum(f(np.arange(1.0, n + 1)).tolist()) / n for n in sizes]
        np.testing.assert_allclose((shares * f(nodes)).sum(axis=1), exact, rtol=1e-13)


@given(
    st.lists(st.integers(0, 5000), min_size=2, max_size=6, unique=True),
    st.lists(st.integers(0, 5000), max_size=5),
)
def test_sums_over_runs(edges: list[int], kinks: list[int]) -> None:
    edges = sorted(edges)
    x, w = run_nodes(np.array(edges), np.array(kinks, dtype=np.int64))
    for power in range(4):
        exact = sum(i**power for i in range(edges[0], edges[-1]))
        assert float(w @ x**power) == pytest.approx(exact, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("power", [10.0, -4.0])
def test_stand_ins_keep_smooth_sums(power: float) -> None:
    rng = np.random.default_rng(2)
    sizes = rng.integers(2, 40_000, 30_000).astype(float)
    weights, numbers = rng.random(30_000) + 0.1, rng.integers(1, 9, 30_000).astype(float)
    for many in (weights, np.full(30_000, 0.5), 0.5 * (1 + 1e-14 * weights)):
        size, weight, number = stand_ins(sizes, many, numbers, power)
        assert len(size) < 26_000
        assert number.sum() == pytest.approx(numbers.sum(), rel=1e-12)
        for f in (
            lambda n, w: w * (n / 40_000) ** power if power > 0 else w * n**power,
            lambda n, w: np.log1p(w / n),
            lambda n, w: np.exp(-w * n / 1e4),
        ):
            exact = numbers @ f(sizes, many)
            assert number @ f(size, weight) == pytest.approx(exact, rel=1e-11)
