"""Sign flips at every shift against the plain definition, and the intervals that invert them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.examples import examples
from truerank.inference import sign_flips
from truerank.inference.flip_sums import Share
from truerank.inference.inversion import invert
from truerank.inference.sign_flips import NormalMixture, PowerSums, SignFlips


def flipped(gained: Any, shares: Any, shift: float) -> float:
    """The share of all sign flips whose sum is as large, one by one."""
    d = np.asarray(gained) - shift * np.asarray(shares)
    signs = np.array(list(itertools.product([1, -1], repeat=len(d))))
    sums = np.abs(signs @ d)
    return float(np.mean(sums >= abs(d.sum()) - 1e-9 * np.abs(d).sum()))


@examples(60)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 3)), min_size=1, max_size=9),
    st.floats(-3, 3),
    st.booleans(),
)
def test_p_is_the_share_of_all_sign_flips(
    units: list[tuple[int, int]], shift: float, is_ratio: bool
) -> None:
    gained, shares = (np.array(x, float) for x in zip(*units, strict=True))
    null = float(is_ratio)
    found = SignFlips(gained, shares, null)
    assert found.p_value(shift) == pytest.approx(flipped(gained, shares, shift))
    assert found.p_value(null) == pytest.approx(flipped(gained, shares, null))
    assert (found.method, found.accuracy) == ("exact sign flips", 0.0)
    assert found.estimate == pytest.approx(gained.sum() / shares.sum())


def test_an_approximate_p_is_not_below_the_exact_one() -> None:
    """Exact p-values of the same numbers, rounded to a step that is small beside them."""
    rng = np.random.default_rng(4)
    seen = []
    for _ in range(20):
        n = int(rng.integers(31, 70))
        d = rng.normal(rng.choice([0.0, 0.5, 1.0]), 1, n).round(3)
        exact = SignFlips(d, np.ones(n))
        near = SignFlips(d + 1e-6 * rng.normal(size=n), np.ones(n))
        approximate = near.accuracy > 0  # else only few can be flipped
        assert exact.accuracy == 0.0
        algorithm = "saddle-point" if approximate else "exact"
        assert near.method == f"{algorithm} sign flips"
        assert exact.p_value(0) * 0.995 <= near.p_value(0)
        assert near.p_value(0) <= exact.p_value(0) * (1.005 + 2 * near.accuracy)
        assert near.p_value(0) >= 2.0 ** (1 - n)
        seen.append(approximate)
    assert sum(seen) > 10


def test_no_approximation_is_below_the_least_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_flips, "share_by_normals", lambda *_: Share(0.0, 0.05))
    d = np.append(np.random.default_rng(0).normal(1, 1, 60), 0.0)
    found = SignFlips(d, np.ones(61))
    assert (found.accuracy, found.p_value(0.0)) == (0.05, 2.0**-59)


@pytest.mark.parametrize(("error", "p"), [(0.05, 0.21), (math.nan, 0.2)])
def test_an_approximate_p_is_multiplied_by_its_bound(
    monkeypatch: pytest.MonkeyPatch, error: float, p: float
) -> None:
    monkeypatch.setattr(sign_flips, "share_by_normals", lambda *_: Share(0.1, error))
    found = SignFlips(np.random.default_rng(0).normal(1, 1, 60), np.ones(60))
    assert found.p_value(0.0) == pytest.approx(p)
    assert found.method == "saddle-point sign flips"


def test_all_equal() -> None:
    shares = np.array([0.2, 0.3, 0.5])
    assert SignFlips(2 * shares, shares).all_equal()
    assert SignFlips(0 * shares, shares).all_equal()
    assert not SignFlips(np.array([0.4, 0.6, 1.1]), shares).all_equal()


@given(st.integers(0, 2**32 - 1), st.floats(-2, 2))
def test_power_sums_are_polynomials(seed: int, x: float) -> None:
    d, s = np.random.default_rng(seed).normal(size=(2, 7))
    found = PowerSums(d, s)
    assert found.squares(x) == pytest.approx(((d - x * s) ** 2).sum())
    assert found.fourths(x) == pytest.approx(((d - x * s) ** 4).sum(), rel=1e-6)


def test_p_of_many_units_at_any_shift_is_that_of_its_differences() -> None:
    """What does not depend on the number of units agrees with what does."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        d = rng.normal(0.1, 1, 300)
        s = rng.random(300)
        mixture = NormalMixture(d, s)
        for x in (-0.3, 0.05, 0.1, 0.4):
            direct = SignFlips(d - x * s, s).p_value(0.0)
            if direct > 1e-3:
                expected = direct / 1.001 * 1.01  # with the bound of each
                assert mixture.p_value(x) == pytest.approx(min(expected, 1.0), rel=2e-3)
        far = SignFlips(d, s)
        assert far.p_value(1.5) == pytest.approx(SignFlips(d - 1.5 * s, s).p_value(0.0), rel=1e-6)


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


@examples(40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 11), st.sampled_from([0.8, 0.95, 0.99]))
def test_bounds_are_means_of_subsets(seed: int, n: int, level: float) -> None:
    """Hartigan's theorem: exact sign flips keep what lies between two such means."""
    rng = np.random.default_rng(seed)
    d = rng.normal(0.5, 1, n)
    s = rng.uniform(0.5, 2, n)
    flips = SignFlips(d, s)
    low, high = invert(
        flips.p_value, flips.estimate, -9.0, level=level, limits=(-99.0, 99.0), spread=flips.spread
    )
    expected = scanned(d, s, round(1 - level, 12))
    assert (max(low, -99.0), min(high, 99.0)) == pytest.approx(
        (max(expected[0], -99.0), min(expected[1], 99.0)), abs=1e-5
    )


@examples(60)
@example([1.0, 1.0, 1.0], 3.5, 0.95)  # rejected, but not what is further out
@given(
    st.lists(st.floats(0.01, 3), min_size=1, max_size=8),
    st.floats(-5, 5),
    st.sampled_from([0.8, 0.95]),
)
def test_the_null_is_inside_exactly_if_it_is_not_rejected(
    widths: list[float], null: float, level: float
) -> None:
    """Whatever steps p has, and whether it falls or not."""
    edges = np.cumsum(widths)

    def p_value(shift: float) -> float:
        step = int(np.searchsorted(edges, abs(shift - 1)))
        return [1.0, 0.3, 0.04, 0.1, 0.03, 0.3, 0.06, 0.02, 0.001][step]

    low, high = invert(p_value, 1.0, null, level=level, limits=(-40.0, 40.0), spread=0.5)
    assert -40 <= low <= 1 <= high <= 40
    assert (low <= null <= high) == (p_value(null) > round(1 - level, 12) or null == 1)


def test_few_evaluations_are_needed() -> None:
    rng = np.random.default_rng(0)
    for n in (12, 30, 50, 1000):
        flips = SignFlips(rng.normal(0.2, 1, n), np.full(n, 1.0))
        asked = []

        def p_value(shift: float, flips: SignFlips = flips, asked: Any = asked) -> float:
            asked.append(shift)
            return flips.p_value(shift)

        invert(p_value, flips.estimate, 0.0, level=0.95, limits=(-9.0, 9.0), spread=flips.spread)
        assert len(asked) < 70


def test_units_of_a_few_kinds_at_any_shift() -> None:
    """Units that are alike are counted once, at shifts other than the null, too."""
    gained = np.repeat([0.25, 0.0, -0.125], [6, 3, 4])
    shares = np.repeat([0.05, 0.1, 0.05], [6, 3, 4])
    flips = SignFlips(gained, shares)
    assert flips._kinds is not None
    for shift in (-2.0, -0.3, 0.4, 1.5, 3.0):
        assert flips.p_value(shift) == pytest.approx(flipped(gained, shares, shift), rel=1e-9)
