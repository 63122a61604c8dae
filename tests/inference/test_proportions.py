"""Test bounds of proportions and of medians against scipy and the binomial distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from truerank.inference.distributions import normal_quantile
from truerank.inference.proportions import clopper_pearson, order_of_bounds, wilson

pytestmark = pytest.mark.python_only

LEVELS = st.sampled_from([0.5, 0.9, 0.95, 0.999])


@given(st.integers(1, 3000), st.floats(0, 1), LEVELS)
def test_bounds_of_proportions_are_those_of_scipy(trials: int, share: float, level: float) -> None:
    successes = round(share * trials)
    peer = scipy.stats.binomtest(successes, trials).proportion_ci
    found = wilson(successes / trials, trials, normal_quantile((1 + level) / 2))
    assert found == pytest.approx(tuple(peer(level, "wilson")), abs=1e-12)
    # a bound that is alone leaves out all of 1 - level
    two_sided = level if 0 < successes < trials else 2 * level - 1
    found = clopper_pearson(successes, trials, level)
    assert found == pytest.approx(tuple(peer(two_sided, "exact")), abs=1e-10)


def test_the_bound_of_no_hits_is_the_rule_of_three() -> None:
    low, high = clopper_pearson(0, 1000, 0.95)
    assert low == 0
    assert high == pytest.approx(3 / 1000, rel=0.01)
    assert clopper_pearson(1000, 1000, 0.95) == pytest.approx((1 - high, 1))


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_order_statistics_cover_the_median(level: float) -> None:
    for n in [1, 2, 4, 5, 6, 7, 20, 21, 1000]:
        place, binomial = order_of_bounds(n, level), scipy.stats.binom(n, 0.5)
        assert binomial.cdf(place - 1) <= (1 - level) / 2
        assert binomial.cdf(place) > (1 - level) / 2


def test_large_samples_agree_with_the_normal_law() -> None:
    place = order_of_bounds(1_000_000, 0.95)
    assert place == pytest.approx(500_000 - 1.959964 * math.sqrt(1_000_000) / 2, abs=2)
    bounds = np.array([wilson(0.3, 1e6, 1.959964), clopper_pearson(300_000, 1_000_000, 0.95)])
    assert bounds == pytest.approx(0.3, abs=0.001)
