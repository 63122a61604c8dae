"""Test the tests of differences: swaps of every shift, resampling, signed ranks, McNemar."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank import Ranks
from truerank.inference.paired_models.paired_tests import (
    bootstrap_test,
    mcnemar,
    signed_rank,
    swap_test,
)
from truerank.inference.samples.resampling import draw_resamples, draw_swaps
from truerank.inference.samples.units import units_of

pytestmark = pytest.mark.python_only


# -- swaps -----------------------------------------------------------------------------------------


def plain_p(gained: np.ndarray, shares: np.ndarray, shift: float, swaps: np.ndarray) -> float:
    """The share of swaps after which the shifted sum is at least as far from 0."""
    signs = 1 - 2.0 * swaps
    moved = np.abs(signs @ (gained - shift * shares))
    return float(np.mean(moved >= abs((gained - shift * shares).sum()) - 1e-12))


@given(
    st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 5)), min_size=1, max_size=7),
    st.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
@settings(max_examples=200)
def test_every_shift_has_the_p_value_of_its_swaps(
    units: list[tuple[int, int]], level: float
) -> None:
    gained, sizes = (np.array(x, dtype=float) for x in zip(*units, strict=True))
    gained, shares = gained / sizes.sum(), sizes / sizes.sum()
    test = swap_test(gained, shares, 2**7, 0, 1e-12)
    swaps = np.array(list(itertools.product([0, 1], repeat=len(units))))
    shifts = np.r_[np.linspace(-7, 7, 57) + 0.01, 0, gained.sum(), 0.5, -1]
    expected = [plain_p(gained, shares, shift, swaps) for shift in shifts]
    assert [test.p_value(shift) for shift in shifts] == pytest.approx(expected)
    low, high = test.interval(level)
    inside = np.array(expected) > round(1 - level, 9)
    assert ((shifts >= low - 1e-12) & (shifts <= high + 1e-12)).tolist() == inside.tolist()
    assert test.floor == 0


def test_drawn_swaps_count_the_data_once() -> None:
    rng = np.random.default_rng(0)
    gained, shares = rng.normal(0.3, 1, 30) / 30, np.full(30, 1 / 30)
    test = swap_test(gained, shares, 199, seed=4)
    swaps = np.concatenate(list(draw_swaps(30, 199, seed=4)))
    for shift in (0.0, -0.2, 0.3, 0.9):
        expected = (1 + 199 * plain_p(gained, shares, shift, swaps)) / 200
        assert test.p_value(shift) == pytest.approx(expected)
    assert test.floor == 1 / 200
    for level in (0.5, 0.9, 0.95):
        low, high = test.interval(level)
        for end, out in ((low, -1e-9), (high, 1e-9)):
            assert test.p_value(end) > round(1 - level, 9) >= test.p_value(end + out)


def test_few_swaps_reject_nothing() -> None:
    test = swap_test(np.ones(5) / 5, np.ones(5) / 5, 100, 0)
    assert test.p_value() == 2 / 32
    assert test.interval(0.95) == (-math.inf, math.inf)
    assert test.interval(0.9) == (1, 1)


def test_one_sided_p_values_are_halves() -> None:
    gained = np.array([0.1, 0.4, 0.2, -0.05, 0.3, 0.25])
    test = swap_test(gained, np.ones(6) / 6, 100, 0)
    swaps = np.array(list(itertools.product([0, 1], repeat=6)))
    for shift in (-0.3, 0.0, 0.7, 1.6, 2.5):
        moved = (1 - 2 * swaps) @ (gained - shift / 6)
        measured = gained.sum() - shift
        share = np.mean(moved >= measured - 1e-12)
        assert test.one_sided(shift, above=True) == pytest.approx(
            share, abs=0 if share < 0.5 else 2 / 64
        )
        assert test.one_sided(shift, above=False) == pytest.approx(1 - share, abs=2 / 64)


@pytest.mark.parametrize("sizes", ["even", "pareto"])
@pytest.mark.parametrize("units", [6, 20, 60])
def test_the_interval_covers_and_the_test_holds(sizes: str, units: int) -> None:
    """Exchangeable models, and a difference of 0.2 in each task."""
    rng = np.random.default_rng(units)
    rejected = missed = 0
    for seed in range(200):
        size = np.ones(units) if sizes == "even" else np.ceil(rng.pareto(1.0, units) + 1)
        noise = rng.normal(0, 1, units) * size
        shares = size / size.sum()
        rejected += swap_test(noise / size.sum(), shares, 199, seed).p_value() <= 0.05
        low, high = swap_test(noise / size.sum() + 0.2 * shares, shares, 199, seed).interval(0.95)
        missed += not low <= 0.2 <= high
    assert rejected == missed
    assert missed <= 19  # 10 expected; 19 has a probability of 0.3 %


# -- resampling ------------------------------------------------------------------------------------


def two_models(n: int, seed: int) -> list[Ranks]:
    rng = np.random.default_rng(seed)
    return [Ranks(rng.geometric(0.1, n), np.ones(n, int), 1000) for _ in range(2)]


@pytest.mark.parametrize("key", ["mrr", "gmr", "std", "z.mr", "imr", "power_mean:2"])
def test_resampled_differences_have_their_own_errors(key: str) -> None:
    """The error of a resample is that of its influences, unit by unit."""
    a, b = two_models(12, 3)
    by = [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 8, 8]
    first, second = (units_of(x, key, by=by).functional() for x in (a, b))
    test = bootstrap_test(first, second, 50, seed=1)

    def plain(ranks: list[Ranks]) -> tuple[float, float]:
        units = [units_of(x.with_weights(None), key, by=None).functional() for x in ranks]
        return float(np.subtract(*[f.of_counts(np.ones((1, f.units)))[0] for f in units]))

    scale = 1.0
    if key.startswith("z."):
        scale = math.nan  # is fixed at the number of all tasks
    counts = np.concatenate(list(draw_resamples(9, 50, seed=1)))
    unit = np.array(by)
    roots = []
    estimate = test.estimate
    for row in [np.ones(9, dtype=int), *counts]:
        moved = first.of_counts(row[None])[0] - second.of_counts(row[None])[0]
        if not math.isnan(scale):
            tasks = np.repeat(np.arange(12), row[unit])
            assert moved == pytest.approx(plain([a[tasks], b[tasks]]))
        slopes = []
        for i in range(9):  # derivatives by the number of times that a unit occurs
            step = np.zeros(9)
            step[i] = 1e-5
            ends = [f.of_counts(np.stack([row + step, row - step])) for f in (first, second)]
            slopes.append((ends[0] - ends[1]) @ [1, -1] / 2e-5)
        away = np.repeat(slopes, row)
        away = away - away.mean()
        error = math.sqrt((away**2).sum() * 9 / 8)
        roots.append((abs(moved - estimate) / error if error > 1e-9 else 0.0, error))
    measured = roots.pop(0)[1]
    highs = estimate + np.sort([root for root, _ in roots]) * measured
    assert test.highs == pytest.approx(highs, rel=1e-4)
    assert test.lows == pytest.approx(2 * estimate - highs[::-1], rel=1e-4, abs=1e-6)


def test_medians_take_percentiles() -> None:
    a, b = two_models(30, 1)
    first, second = (units_of(x, "median", by=None).functional() for x in (a, b))
    test = bootstrap_test(first, second, 99, seed=5)
    chunks = draw_resamples(30, 99, seed=5)
    drawn = np.sort(np.concatenate([first.of_counts(x) - second.of_counts(x) for x in chunks]))
    assert test.basis == "percentile bootstrap"
    assert test.interval(0.9) == (drawn[4], drawn[-5])  # 2 (1 + 5) / 100 exceeds 0.1
    smaller = min((drawn <= 0).sum(), (drawn >= 0).sum())
    assert test.p_value() == min(1, 2 * (1 + smaller) / 100)


def test_resampling_few_units_does_not_mislead() -> None:
    """Percentiles of 5 units reject 20 % of the time at 5 %; the studentised bootstrap does not."""
    rng = np.random.default_rng(2)
    rejected = 0
    for seed in range(200):
        above = rng.geometric(0.1, (2, 5))
        a, b = (units_of(Ranks(x, [1] * 5, 99), "mrr", by=None).functional() for x in above)
        rejected += bootstrap_test(a, b, 199, seed).p_value() <= 0.05
    assert rejected <= 12


# -- signed ranks ----------------------------------------------------------------------------------


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=11))
@settings(max_examples=100)
def test_signed_ranks_are_enumerated(differences: list[int]) -> None:
    """All signs of the differences that are not 0, with mean ranks for equal sizes."""
    held = np.array([x for x in differences if x], dtype=float)
    ranks = scipy.stats.rankdata(np.abs(held))
    signs = np.array(list(itertools.product([0, 1], repeat=len(held))))
    away = np.abs(signs @ ranks - ranks.sum() / 2)
    measured = abs(ranks[held > 0].sum() - ranks.sum() / 2)
    assert signed_rank(np.array(differences, float)) == pytest.approx(
        np.mean(away >= measured - 1e-9)
    )


@pytest.mark.parametrize("n", [3, 12, 50, 180])
def test_signed_ranks_are_scipys(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.1, 1, n)
    peer = scipy.stats.wilcoxon(differences, method="exact")
    assert signed_rank(differences) == pytest.approx(peer.pvalue)


@pytest.mark.parametrize("largest", [3, 10**6])
def test_many_signed_ranks_are_normal(largest: int) -> None:
    rng = np.random.default_rng(1)
    differences = rng.integers(-largest, largest + 2, 800).astype(float)
    held = differences[differences != 0]
    peer = scipy.stats.wilcoxon(held, correction=False, method="approx")
    assert signed_rank(differences) == pytest.approx(peer.pvalue)


def test_the_exact_and_the_normal_law_meet() -> None:
    differences = np.random.default_rng(5).integers(-9, 11, 700).astype(float)
    exact = differences[np.flatnonzero(differences)][:300]
    normal = np.r_[exact, [1e-3, -1e-3]]
    assert signed_rank(exact) == pytest.approx(signed_rank(normal), rel=0.02)
    assert signed_rank(np.zeros(4)) == 1


# -- McNemar ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wins", "losses"), [(0, 0), (1, 0), (3, 3), (1, 7), (0, 60), (501, 502), (900, 1100)]
)
def test_mcnemar_is_scipys(wins: int, losses: int) -> None:
    found = mcnemar(wins, losses)
    assert mcnemar(losses, wins) == found
    if wins + losses:
        assert found == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue)


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (1, 7), (0, 60), (501, 503), (900, 1100)])
def test_mcnemar_is_that_of_statsmodels(wins: int, losses: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables", reason="an oracle")
    table = [[5, wins], [losses, 8]]
    assert mcnemar(wins, losses) == pytest.approx(tables.mcnemar(table, exact=True).pvalue)


def test_products_of_units_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of many units have few rows: the columns are not multiplied anew for each of them."""
    calls = []
    stack = np.hstack
    monkeypatch.setattr(np, "hstack", lambda x: calls.append(1) or stack(x))
    a, b = two_models(4000, 0)
    first, second = (units_of(x, "gmr", by=None).functional() for x in (a, b))
    bootstrap_test(first, second, 600, seed=0)  # 38 chunks
    assert len(calls) < 10


@pytest.mark.parametrize("level", [1e-300, 1e-17, 1 - 1e-16])
def test_levels_next_to_0_and_1(level: float) -> None:
    """1 - level rounds to 1 or 0: the interval is the narrowest or the widest that there is."""
    found = swap_test(np.arange(1.0, 31) / 465, np.ones(30) / 30, 99, 0)
    low, high = found.interval(level)
    assert low <= found.estimate <= high
    assert np.isinf([low, high]).all() == (level > 0.5)
