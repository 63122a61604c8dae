"""Test studentised and bounded intervals against plain twins, exact laws and known populations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from truerank import Ranks
from truerank.inference.intervals import interval
from truerank.inference.proportions import clopper_pearson
from truerank.inference.samples.functionals import SumFunctional
from truerank.inference.samples.resampling import draw_resamples, draw_weights, studentised_bounds
from truerank.inference.samples.units import units_of

pytestmark = pytest.mark.python_only

KEYS = ("mrr", "gmr", "hmr", "ratio.mr", "index.mrr", "z.mr", "variance", "count")


def clustered(seed: int, queries: int = 12, most: int = 4) -> Ranks:
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), rng.integers(1, most + 1, queries))
    n = len(query)
    above = rng.integers(0, 40, n)
    candidates = rng.integers(41, 60, n)
    return Ranks(
        above, np.ones(n, int), candidates, queries=query, weights=rng.integers(1, 4, n) / 4
    )


def influence_by_loop(functional: SumFunctional, counts: NDArray[np.int64]) -> list[float]:
    """The influence of each unit of a resample, by differences of the functional itself."""
    step, found = 1e-6, []
    inner = SumFunctional.__new__(SumFunctional)
    inner.__dict__ = {**functional.__dict__, "_outer": None}
    for unit in np.repeat(np.arange(len(counts)), counts):
        ends = np.stack([counts, counts]).astype(float)
        ends[:, unit] += [-step, step]
        below, above = inner.of_counts(ends)
        found.append((above - below) / (2 * step))
    return found


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from(KEYS))
def test_pivots_are_distances_in_standard_errors(seed: int, key: str) -> None:
    functional = units_of(clustered(seed), key, by="query").functional()
    assert isinstance(functional, SumFunctional)
    units = functional.units
    (counts,) = draw_resamples(units, 5, seed)
    inner = SumFunctional.__new__(SumFunctional)
    inner.__dict__ = {**functional.__dict__, "_outer": None}
    values = inner.of_counts(counts)
    for row, value, pivot in zip(counts, values, functional.pivots([counts]), strict=True):
        influence = np.array(influence_by_loop(functional, row))
        away = influence - influence.mean()
        error = math.sqrt((away**2).sum() * units / (units - 1))
        assert pivot * error == pytest.approx(value - functional.middle(), rel=1e-4, abs=1e-6)


def test_resamples_that_do_not_vary_have_infinite_pivots() -> None:
    functional = units_of(Ranks([0, 0, 3], [1, 1, 1], 9), "mrr", by=None).functional()
    assert isinstance(functional, SumFunctional)
    first, second = functional.pivots(np.array([[[3, 0, 0]], [[0, 0, 3]]]))
    assert (first, second) == (math.inf, -math.inf)
    alike = units_of(Ranks([2, 2, 2], [1, 1, 1], 9), "mrr", by=None).functional()
    assert isinstance(alike, SumFunctional)
    assert alike.pivots(np.array([[[3, 0, 0]]])).tolist() == [0.0]
    assert studentised_bounds(np.array([0.0, math.inf]), 1.0, 2.0, 0.9) == (-math.inf, 1.0)
    assert math.isnan(studentised_bounds(np.array([0.0, math.nan]), 1.0, 2.0, 0.9)[0])


def test_bounds_do_not_depend_on_the_scale_of_the_metric() -> None:
    """Those of a function of a mean are the function of its bounds."""
    ranks = clustered(5, queries=40)
    for method in ("studentised", "bounded"):
        mean, inverse = (
            interval(ranks, key, method=method, resamples=500) for key in ("mrr", "hmr")
        )
        assert (1 / inverse.high, 1 / inverse.low) == pytest.approx((mean.low, mean.high))


@given(st.integers(0, 100))
@settings(max_examples=10)
def test_bounded_intervals_are_their_definition(seed: int) -> None:
    """One more unit of mean size is at an end, and all weights are exponential."""
    ranks, resamples = clustered(seed), 300
    found = interval(ranks, "mrr", by="query", method="bounded", resamples=resamples, seed=seed)
    query = np.asarray(ranks.queries.codes)
    weights = ranks.weights
    sums = [
        np.bincount(query, weights=weights * f)
        for f in (1 / ranks.realistic, np.ones(len(ranks)), 1 / ranks.candidates)
    ]
    units = len(sums[0])
    low, high = [], []
    for drawn in np.concatenate(list(draw_weights(units + 1, resamples, seed))):
        each, extra = drawn[:-1], drawn[-1] / units
        total = each @ sums[1] + extra * sums[1].sum()
        low.append((each @ sums[0] + extra * sums[2].sum()) / total)
        high.append((each @ sums[0] + extra * sums[1].sum()) / total)
    expected = np.quantile(low, 0.025), np.quantile(high, 0.975)
    assert (found.low, found.high) == pytest.approx(expected)


@pytest.mark.parametrize("hits", [0, 1, 7, 39, 40])
def test_bounded_shares_are_those_of_clopper_and_pearson(hits: int) -> None:
    ranks = Ranks([0] * hits + [9] * (40 - hits), [1] * 40, 10)
    found = interval(ranks, "hits@3", method="bounded", resamples=40_000)
    assert (found.low, found.high) == pytest.approx(clopper_pearson(hits, 40, 0.95), abs=0.004)


def test_bounded_medians_are_order_statistics() -> None:
    rng = np.random.default_rng(4)
    for n in (8, 31, 200):
        ranks = Ranks(rng.permutation(100_000)[:n], np.ones(n, int), 100_000)
        exact, drawn = (
            interval(ranks, "median", method=method, resamples=40_000)
            for method in ("order", "bounded")
        )
        places = [
            np.searchsorted(np.sort(ranks.realistic), (x.low, x.high)) for x in (exact, drawn)
        ]
        assert np.abs(places[0] - places[1]).max() <= 1


@pytest.mark.parametrize("n", [10, 20])
def test_few_log_uniform_ranks_are_covered(n: int) -> None:
    """BCa covers the mrr of 10 and 20 log-uniform ranks in 80 and 89 % of cases."""
    last, rng = 40_000, np.random.default_rng(n)
    share = np.diff(np.log(np.arange(1, last + 2))) / math.log(last + 1)
    true = float((share / np.arange(1, last + 1)).sum())
    covered = 0
    for seed in range(300):
        above = np.floor(np.exp(rng.random(n) * math.log(last + 1))).astype(int) - 1
        found = interval(Ranks(above, np.ones(n, int), last), "mrr", resamples=299, seed=seed)
        assert found.notes
        covered += found.low <= true <= found.high
    assert covered >= 0.95 * 300
