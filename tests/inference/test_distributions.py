"""Test the distributions against SciPy's."""

from __future__ import annotations

import math

import pytest
import scipy.special
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from truerank.inference.distributions import (
    beta_cdf,
    beta_quantile,
    noncentral_t_cdf,
    normal_cdf,
    normal_quantile,
    t_cdf,
    t_quantile,
)

pytestmark = pytest.mark.python_only

probabilities = st.floats(0.001, 0.999) | st.floats(-12, -0.001).map(lambda x: 10.0**x)
parameters = st.floats(-1, 5).map(lambda x: 10.0**x) | st.integers(1, 10_000)
degrees = st.integers(1, 100_000) | st.floats(1, 30)


@given(st.floats(-30, 8))
def test_normal(z: float) -> None:
    assert normal_cdf(z) == pytest.approx(scipy.stats.norm.cdf(z), rel=1e-12, abs=0)
    if -8 < z < 5:
        assert normal_quantile(normal_cdf(z)) == pytest.approx(z, abs=1e-9)


@given(probabilities, parameters, parameters)
@settings(max_examples=100)
def test_beta(probability: float, a: float, b: float) -> None:
    x = float(scipy.special.betaincinv(a, b, probability))
    assume(1e-250 < x < 1)
    assert beta_cdf(x, a, b) == pytest.approx(scipy.special.betainc(a, b, x), rel=1e-10, abs=0)
    found = beta_quantile(probability, a, b)
    assert found == pytest.approx(x, rel=1e-9, abs=0)
    if x < 0.5:  # 1 - x has few digits where x is nearly 1
        assert beta_cdf(found, a, b) == pytest.approx(probability, rel=1e-10)


@pytest.mark.parametrize(("hits", "trials"), [(0, 30), (1, 50), (30, 30), (486, 1000), (7, 40876)])
def test_beta_gives_the_bounds_of_clopper_and_pearson(hits: int, trials: int) -> None:
    peer = scipy.stats.binomtest(hits, trials).proportion_ci(0.95, method="exact")
    low = beta_quantile(0.025, hits, trials - hits + 1) if hits else 0.0
    high = beta_quantile(0.975, hits + 1, trials - hits) if hits < trials else 1.0
    assert (low, high) == pytest.approx((peer.low, peer.high), rel=1e-10)


@given(probabilities, degrees)
@settings(max_examples=100)
def test_t(probability: float, number: float) -> None:
    t = float(scipy.stats.t.ppf(probability, number))
    assert t_quantile(probability, number) == pytest.approx(t, rel=1e-10, abs=1e-14)
    assert t_quantile(1 - probability, number) == pytest.approx(-t, rel=1e-3, abs=1e-14)
    assert t_cdf(t, number) == pytest.approx(scipy.stats.t.cdf(t, number), rel=1e-10, abs=0)
    assert t_cdf(-t, number) == pytest.approx(1 - t_cdf(t, number), rel=1e-12)


@given(st.sampled_from([1, 2, 3, 5, 10, 50, 1000, 100_000]), st.floats(-12, 12), st.floats(-6, 6))
@settings(max_examples=100)
def test_noncentral_t(number: int, t: float, shift: float) -> None:
    peer = float(scipy.stats.nct.cdf(t, number, shift))
    if not math.isnan(peer):  # as SciPy's is far out, with many degrees of freedom
        assert noncentral_t_cdf(t, number, shift) == pytest.approx(peer, abs=1e-10)
    if not shift:
        assert noncentral_t_cdf(t, number, shift) == pytest.approx(t_cdf(t, number), abs=1e-12)


def test_noncentral_t_with_a_large_shift() -> None:
    """Of one or two degrees of freedom critical values are large, and so are shifts with power."""
    for number, alpha in ((1, 1e-4), (2, 1e-6)):
        t = t_quantile(1 - alpha / 2, number)
        for share in (0.2, 0.5, 0.9):
            size = math.sqrt(scipy.stats.chi2.ppf(share, number) / number)
            # so far out the normal part of the quotient hardly varies beside S
            found = noncentral_t_cdf(t, number, t * size)
            assert found == pytest.approx(1 - share, abs=1e-3)


def test_ends() -> None:
    assert [beta_cdf(x, 2, 3) for x in (-1.0, 0.0, 1.0, 2.0)] == [0, 0, 1, 1]
    assert [beta_quantile(p, 2, 3) for p in (0.0, 1.0)] == [0, 1]
    assert [t_cdf(t, 4) for t in (-math.inf, 0.0, 1e200)] == [0, 0.5, 1]
    assert t_quantile(0.5, 7) == 0
    for z in (-3.0, 0.4):
        assert t_cdf(z, math.inf) == normal_cdf(z)
        assert noncentral_t_cdf(z, math.inf, 1.0) == normal_cdf(z - 1)
    assert t_quantile(0.9, math.inf) == normal_quantile(0.9)
