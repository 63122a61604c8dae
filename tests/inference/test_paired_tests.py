"""The three tests of paired units, and their intervals, against plain definitions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from truerank.inference.influences import LOGARITHM, POWER, Influences, influences_of_sums
from truerank.inference.paired_tests import PairedTest, SignFlips, differences
from truerank.metrics.keys import parse

Array = np.ndarray[Any, Any]
MRR = parse("mrr")


def model(f: Any, weights: Any = 1.0, **options: Any) -> Influences:
    """The influences of units on the mean of f, which have a range of 0 to 1."""
    f = np.asarray(f, float)
    bases = np.broadcast_to(weights, f.shape).astype(float)
    options = {"ends": (0.0, 1.0)} | options
    return influences_of_sums(f * bases, bases, **options)._replace(has_range=True)


def p_of_flips(apart: Array) -> float:
    return SignFlips(apart, np.zeros_like(apart)).p_value()


def flipped(apart: Any) -> float:
    """The share of all sign flips whose sum is as large, one by one."""
    apart = np.asarray(apart, float)
    signs = np.array(list(itertools.product([1, -1], repeat=len(apart))))
    sums = np.abs(signs @ apart)
    return float(np.mean(sums >= abs(apart.sum()) - 1e-9 * np.abs(apart).sum()))


def cumulated(steps: Array) -> Array:
    """The probabilities of flipped sums of at most 0, 1, ... of whole sizes, by convolution."""
    law = np.zeros(int(steps.sum()) + 1)
    law[0] = 1.0
    for step in steps.tolist():
        moved = np.zeros_like(law)
        moved[step:] = law[: len(law) - step]
        law = (law + moved) / 2
    return np.cumsum(law)


@examples(60)
@given(st.lists(st.integers(-9, 9), max_size=10), st.floats(0.01, 3))
def test_p_is_the_share_of_all_sign_flips(sizes: list[int], unit: float) -> None:
    assert p_of_flips(np.array(sizes) * unit) == pytest.approx(flipped(np.array(sizes) * unit))


@examples(20)
@given(st.integers(0, 2**32 - 1), st.integers(24, 30))
def test_halves_are_whole_laws(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    apart = rng.integers(1, 500, n) * rng.choice([-1, 1, 1], n)
    law = cumulated(np.abs(apart))
    smaller = int(np.abs(apart)[apart * np.sign(apart.sum()) < 0].sum())
    expected = 1.0 if apart.sum() == 0 else 2 * law[smaller]
    assert p_of_flips(apart / 7) == pytest.approx(expected, rel=1e-12)


@examples(40)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=10), st.floats(-3, 3))
def test_shifted_differences_are_flipped_as_differences_are(sizes: list[int], shift: float) -> None:
    apart = np.array(sizes, float)
    moves = np.arange(1.0, 1 + len(sizes))
    expected = flipped(apart - shift * moves)
    assert SignFlips(apart, moves).p_value(shift) == pytest.approx(expected)


def test_equal_sums_count_within_a_billionth_of_the_total() -> None:
    assert p_of_flips(np.array([0.1, 0.2, -0.3])) == 1.0
    assert p_of_flips(np.array([0.3, 0.1, 0.1, 0.1, -0.3])) == flipped([3, 1, 1, 1, -3])
    assert p_of_flips(np.array([1.0, 1.0 + 1e-7, -1.0])) == 0.75
    assert p_of_flips(np.array([1.0, 1.0 + 1e-10, -1.0])) == 1.0
    assert p_of_flips(np.array([1.0, 1.0, 1e-8])) == 0.25
    assert p_of_flips(np.array([1.0, 1.0, 1e-10])) == 0.5


@pytest.mark.parametrize(("units", "method"), [(30, "exact sign flips"), (31, "t")])
def test_up_to_thirty_differences_are_flipped(units: int, method: str) -> None:
    f = np.append(np.arange(1, units + 1) / 64, np.zeros(5))
    found = PairedTest(model(f), model(np.zeros(units + 5)), MRR, 0.95)
    assert found.method == method
    assert found.p_value >= 2.0 ** (1 - units)


@pytest.mark.parametrize("wins", [16, 20, 31, 60])
def test_more_of_one_size_are_mcnemars(wins: int) -> None:
    f = np.repeat([1.0, 0.0, 0.5], [wins, 15, 20])
    g = np.repeat([0.0, 1.0, 0.5], [wins, 15, 20])
    found = PairedTest(model(f), model(g), MRR, 0.95)
    assert found.method == "exact McNemar"
    assert found.p_value == scipy.stats.binomtest(wins, wins + 15).pvalue
    low, high = found.bounds()
    assert (low <= 0 <= high) == (found.p_value > 0.05)
    f[0] = 0.5  # over both sides of a triple there are halves
    assert PairedTest(model(f), model(g), MRR, 0.95).method == "t"


def test_mcnemar_of_wins_alone() -> None:
    f = np.repeat([1.0, 0.0], [40, 60])
    found = PairedTest(model(f), model(np.zeros(100)), MRR, 0.95)
    assert found.p_value == 2.0**-39
    t = scipy.stats.ttest_1samp(f, 0).confidence_interval(0.95)
    assert found.bounds() == pytest.approx((t.low, t.high), rel=0.02)


def t_by_definition(d: Array, shares: Array) -> tuple[float, float, float]:
    """The mean, its standard error and the degrees of freedom of weighted differences."""
    mean = float(shares @ d)
    moved = shares * (d - mean)
    left = 1 - 2 * shares + (shares**2).sum()
    degrees = (moved**2).sum() ** 2 / (moved**4).sum() - 1
    return mean, math.sqrt(float((moved**2 / left).sum())), degrees


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_others_have_a_t_test(weighted: bool, level: float) -> None:
    rng = np.random.default_rng(3)
    f, g = rng.random((2, 50)) ** 3
    weights = rng.uniform(0.5, 3, 50) if weighted else np.ones(50)
    found = PairedTest(model(f, weights), model(g, weights), MRR, level)
    mean, error, degrees = t_by_definition(f - g, weights / weights.sum())
    assert found.method == "t"
    assert found.estimate == pytest.approx(mean)
    assert found.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(mean) / error, degrees))
    assert found.bounds() == pytest.approx(scipy.stats.t.interval(level, degrees, mean, error))


def test_the_interval_of_logarithms_is_that_of_their_difference() -> None:
    rng = np.random.default_rng(3)
    f, g = rng.normal(2, 1, (2, 50))
    options: dict[str, Any] = {"outward": math.exp, "form": LOGARITHM, "ends": (0.0, 9.0)}
    found = PairedTest(model(f, **options), model(g, **options), parse("gmr"), 0.95)
    mean, error, degrees = t_by_definition(f - g, np.full(50, 0.02))
    expected = np.exp(scipy.stats.t.interval(0.95, degrees, mean, error))
    assert (found.effect, found.estimate) == ("ratio", pytest.approx(math.exp(mean)))
    assert found.bounds() == pytest.approx(tuple(expected))


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_a_ratio_of_means_is_fiellers(seed: int) -> None:
    """Its ends are the ratios x for which the mean of f - x g is t standard errors from 0."""
    rng = np.random.default_rng(seed)
    f, g = rng.uniform(0.1, 1, (2, 50))
    g = (f + g) / 2
    options: dict[str, Any] = {"form": POWER, "ends": (0.01, 1.0)}
    found = PairedTest(model(f, **options), model(g, **options), parse("hmr"), 0.95)
    mean, error, degrees = t_by_definition(f - g, np.full(50, 0.02))
    assert found.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(mean) / error, degrees))
    for end in found.bounds():
        mean, error, _ = t_by_definition(f - end * g, np.full(50, 0.02))
        assert abs(mean) / error == pytest.approx(scipy.stats.t.ppf(0.975, degrees))


def test_a_ratio_to_what_may_be_zero_has_the_ends_of_the_range() -> None:
    f = np.linspace(0.5, 0.6, 40)
    g = np.zeros(40)
    g[:2] = 1e-3, 0.02
    options: dict[str, Any] = {"form": POWER, "ends": (0.01, 1.0)}
    found = PairedTest(model(f, **options), model(g, **options), parse("hmr"), 0.95)
    low, high = found.bounds()
    assert 1 < low <= found.estimate == high  # which is beyond the range that was said
    assert low == pytest.approx(1.0)
    nothing = PairedTest(model(f, **options), model(0 * g, **options), parse("hmr"), 0.95)
    assert nothing.p_value < 1e-3
    assert math.isnan(nothing.estimate)
    assert np.isnan(nothing.bounds()).all()
    assert nothing.notes == ()


def scanned(gained: Any, shares: Any, alpha: float) -> tuple[float, float]:
    """The outermost shifts that are not rejected, from the means of all subsets of units.

    A shift below the estimate is rejected if too few subsets have a smaller mean.
    """
    n = len(gained)
    subsets = np.array(list(itertools.product([0, 1], repeat=n)))[1:]
    means = np.sort((subsets @ gained) / (subsets @ shares))
    kept = math.floor(alpha * 2 ** (n - 1) + 1e-9)  # so many sums may be as large, with its own
    if kept < 1:
        return -math.inf, math.inf
    return float(means[kept - 1]), float(means[-kept])


@examples(30)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 11),
    st.sampled_from([0.8, 0.95, 0.99]),
    st.sampled_from([0, 0.5]),
    st.booleans(),
)
def test_bounds_of_flips_are_means_of_subsets(
    seed: int, n: int, level: float, equal: float, is_ratio: bool
) -> None:
    """Hartigan's theorem: exact sign flips keep what lies between two such means."""
    rng = np.random.default_rng(seed)
    f, g = rng.uniform(0.1, 1, (2, n))
    g = np.where(rng.random(n) < equal, f, g)
    weights = rng.uniform(0.5, 2, n)
    options: dict[str, Any] = {"ends": (0.01, 1.0), "form": POWER if is_ratio else "mean"}
    one = model(f, weights, **options)
    two = model(g, weights, **options)
    found = PairedTest(one, two, parse("hmr" if is_ratio else "mrr"), level)
    if found.are_alike:
        return
    null = 1.0 if is_ratio else 0.0
    if is_ratio:
        expected = scanned(one.tops, two.tops, round(1 - level, 12))
        ends = (0.01, 100.0)
    else:
        expected = scanned(one.tops - two.tops, two.shares, round(1 - level, 12))
        ends = (-0.99, 0.99)
    low, high = np.clip(expected, *ends)
    if found.p_value > round(1 - level, 12):  # p has a step where it is, which is inside
        low, high = min(low, null), max(high, null)
    assert found.bounds() == pytest.approx((low, high), abs=1e-7)


def test_rounding_is_no_difference() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(9)
    assert not differences(f * (1 + 2.0**-52), f).any()
    assert differences(np.array([1e-12, 1.0]), np.array([0.0, 1.0])).tolist() == [1e-12, 0.0]
    assert differences(np.array([4e-13, 1.0]), np.array([0.0, 0.5])).tolist() == [0.0, 0.5]
    assert differences(np.array([2e-12, 1.0]), np.array([0.0, 0.0])).tolist() == [2e-12, 1.0]
    assert differences(np.array([1 + 1e-13, 0.0]), np.array([1.0, 0.0]))[0] > 0
    assert differences(np.zeros(0), np.zeros(0)).tolist() == []


@pytest.mark.parametrize("units", [6, 40])
def test_units_that_differ_alike_whatever_their_weights(units: int) -> None:
    weights = np.arange(1.0, units + 1)
    found = PairedTest(
        model(np.full(units, 0.75), weights), model(np.full(units, 0.25), weights), MRR, 0.95
    )
    shares = weights / weights.sum()
    unseen = 1 - 0.025 ** float((shares**2).sum())
    assert found.p_value == 2.0 ** (1 - units)
    low = max(0.5 - unseen * 1.5, 0.0)
    assert found.bounds() == pytest.approx((low, 0.5 + unseen * 0.5))
    f = np.full(units, 0.75)
    f[0] += 1e-9
    assert not PairedTest(model(f), model(np.full(units, 0.25)), MRR, 0.95).are_alike
