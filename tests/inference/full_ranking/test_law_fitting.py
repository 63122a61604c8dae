"""Test fits by maximum likelihood, and the range of laws that fit, against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from truerank.inference.full_ranking.law_fitting import (
    GAP,
    NEAR,
    Profile,
    fit,
    log_likelihood,
    smoothed_fit,
)

pytestmark = pytest.mark.python_only

# the counts among 2 of 3 negatives, for the ranks 1 to 4
LIKELIHOOD = scipy.stats.hypergeom.pmf(np.arange(3)[:, None], 3, np.arange(4), 2)
STEPS = 80


def simplex() -> np.ndarray:
    """All laws of 4 ranks whose shares are multiples of 1 / STEPS."""
    parts = itertools.combinations(range(STEPS + 3), 3)
    ends = np.array([(-1, *part, STEPS + 3) for part in parts])
    return (np.diff(ends, axis=1) - 1) / STEPS


LAWS = simplex()


@pytest.mark.parametrize("counts", [(60, 30, 10), (5, 80, 15), (1, 1, 98), (34, 33, 33)])
def test_the_fit_is_the_best_of_all_laws(counts: tuple[int, ...]) -> None:
    shares = np.array(counts) / 100
    with np.errstate(divide="ignore"):
        losses = 100 * (shares @ np.log(LIKELIHOOD @ LAWS.T))
    law = fit(LIKELIHOOD, shares, 100)
    assert law.sum() == pytest.approx(1)
    assert (law > 0).all()
    reached = 100 * log_likelihood(LIKELIHOOD, shares, law)
    assert reached >= losses.max() - GAP
    assert reached <= losses.max() + 0.05  # the grid is coarse


@pytest.mark.parametrize("counts", [(60, 30, 10), (5, 80, 15), (1, 1, 98), (34, 33, 33)])
@pytest.mark.parametrize("values", [(1, 0, 0, 0), (1, 0.5, 1 / 3, 0.25), (1, 2, 3, 4)])
def test_bounds_are_the_extremes_of_all_laws_that_fit(
    counts: tuple[int, ...], values: tuple[float, ...]
) -> None:
    shares, slope = np.array(counts) / 100, np.array(values)
    profile = Profile(LIKELIHOOD, shares, 100, 1.92)
    most = log_likelihood(LIKELIHOOD, shares, profile.best)
    with np.errstate(divide="ignore"):
        losses = 100 * (most - shares @ np.log(LIKELIHOOD @ LAWS.T))
    inside = LAWS[losses <= 1.92] @ slope
    wider = LAWS[losses <= 1.92 * (1 + 4 * NEAR) + 0.1] @ slope
    low, high = profile.bound(slope, -1), profile.bound(slope, 1)
    extent = np.ptp(slope)
    assert wider.min() - 0.02 * extent <= low <= inside.min() + 0.01 * extent
    assert inside.max() - 0.01 * extent <= high <= wider.max() + 0.02 * extent


def test_bounds_of_equal_values_and_of_what_is_known() -> None:
    profile = Profile(np.eye(3), np.array([0.2, 0.3, 0.5]), 1000, 1.92)
    assert profile.bound(np.ones(3), 1) == 1
    assert profile.bound(np.array([1.0, 0, 0]), 1) == pytest.approx(0.225, abs=0.005)
    free = Profile(np.ones((1, 3)), np.ones(1), 1000, 1.92)  # the sample says nothing
    assert free.bound(np.array([1.0, 2, 7]), -1) == pytest.approx(1, abs=1e-6)
    assert free.bound(np.array([1.0, 2, 7]), 1) == pytest.approx(7, abs=1e-6)


def test_inflation_widens_bounds() -> None:
    shares = np.array([0.2, 0.3, 0.5])
    first = np.array([1.0, 0, 0])
    narrow = Profile(np.eye(3), shares, 1000, 1.92).bound(first, 1)
    wide = Profile(np.eye(3), shares, 1000, 1.92, lambda score: 4.0).bound(first, 1)
    same = Profile(np.eye(3), shares, 250, 1.92).bound(first, 1)
    assert wide - 0.2 == pytest.approx(2 * (narrow - 0.2), rel=0.06)
    assert wide == pytest.approx(same, abs=0.002)


def test_steps_of_em_raise_the_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    shares, start = np.array([0.6, 0.3, 0.1]), np.full(4, 0.25)
    reached = []
    for steps in (0, 1, 5, 50, 2000):
        monkeypatch.setattr("truerank.inference.full_ranking.law_fitting.EM_STEPS", steps)
        law = smoothed_fit(LIKELIHOOD, shares, start)
        assert law.sum() == pytest.approx(1)
        reached.append(log_likelihood(LIKELIHOOD, shares, law))
    assert (np.diff(reached) > -1e-15).all()
    best = log_likelihood(LIKELIHOOD, shares, fit(LIKELIHOOD, shares, 1e6))
    assert reached[-1] == pytest.approx(best, abs=1e-6)
