"""Test the chance model of the median against slow plain sums and laws for huge sizes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.refusals import refusal
from truerank import chance
from truerank.metrics import UnknownKeyError
from truerank.metrics.chance_model.order_statistics import invert

MODELS = ("median", "imedian")


def by_sums(sizes: list[int], inverse: bool) -> tuple[float, float]:
    """Mean and variance from P(a <= x, b > y) for all x <= y, by recursions of positive terms."""
    n, half, top = len(sizes), len(sizes) // 2, max(sizes)
    x = np.arange(top + 1)
    below, above = x[:, None], x[None, :]
    # the number of ranks <= x, and of those with all others > y
    law = np.zeros((n + 1, top + 1))
    law[0] = 1
    joint = np.zeros((half + 1, top + 1, top + 1))
    joint[0] = 1
    for size in sizes:
        p = np.minimum(x / size, 1.0)
        law[1:] = law[1:] * (1 - p) + law[:-1] * p
        law[0] *= 1 - p
        hit, miss = np.minimum(below / size, 1.0), np.maximum(size - above, 0.0) / size
        joint[1:] = joint[1:] * miss + joint[:-1] * hit
        joint[0] *= miss

    def g(q: Any) -> Any:
        return 1 / q if inverse else q * 1.0

    if n % 2:
        cumulative = law[half + 1 :].sum(0)
        mass = np.diff(cumulative)
        values = g(x[1:])
    else:
        # P(a <= x, b <= y), then by differences
        a = law[half:].sum(0)
        b = law[half + 1 :].sum(0)
        upto = np.where(below <= above, a[:, None] - joint[half], b[None, :])
        grid = np.diff(np.diff(upto, axis=0), axis=1)
        mass = grid.ravel()
        values = g((below[1:] + above[:, 1:]) / 2).ravel()
    mean = float(mass @ values)
    return mean, float(mass @ (values - mean) ** 2)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 70), min_size=2, max_size=30), st.sampled_from([*MODELS]))
@example([1, 16], "imedian")  # the last interval of nodes was too long: off by 1e-10
def test_plain_sums(sizes: list[int], name: str) -> None:
    mean, variance = chance(name, sizes)
    slow = by_sums(sizes, name == "imedian")
    assert mean == pytest.approx(slow[0], rel=1e-11)
    assert variance == pytest.approx(slow[1], rel=1e-9, abs=1e-12 * mean**2)


@pytest.mark.parametrize("name", MODELS)
def test_degenerate_and_weighted(name: str) -> None:
    assert all(math.isnan(x) for x in chance(name, []))
    assert chance(name, [1, 1, 1, 1]) == chance(name, [1, 1, 1, 9]) == (1.0, 0.0)
    assert chance(name, [5, 5, 5], [2.0, 2.0, 0.0]) == chance(name, [5, 5])
    assert chance("median", [9]) == pytest.approx((5.0, 80 / 12), rel=1e-14)
    refusal(UnknownKeyError, "the .* median has no chance model", chance, name, [5, 5], [1.0, 2.0])
    refusal(ValueError, "multiplicities: .* tasks", chance, name, ([1, 2**62], [2**61, 2**61]))


@pytest.mark.parametrize("size", [10**6, 10**9, 2**53 + 1, 2**62, 2**63 - 1])
def test_huge_sizes_approach_the_beta_law(size: int) -> None:
    for n in (2, 3, 4, 5, 100, 101, 1000, 1001):
        mean, variance = chance("median", ([size], [n]))
        k = n // 2
        exact = 1 / (4 * (n + 2))
        if n % 2 == 0:  # the mean of the two middle order statistics
            exact = (k * (k + 1) + k * k) / (2 * (n + 1) ** 2 * (n + 2))
        assert mean == pytest.approx((size + 1) / 2, rel=1e-12)
        # the continuous law's, and the grid's share, which is below 1 / size of it
        assert variance == pytest.approx(exact * float(size) ** 2, rel=1e-11 + 8 * n / size)
    for n in (3, 5, 101, 1001):
        inverse, _ = chance("imedian", ([size], [n]))
        assert inverse * size == pytest.approx(
            2 * n / (n - 1), rel=1e-11 + 40 * math.log(size) / size
        )


def test_sizes_beyond_exact_floats() -> None:
    sizes = [10169835676036493, 544083678943799, 13929350670477825, 13006295060769423]
    mean, variance = chance("median", sizes)
    # the same in units of 2^33, where the grid's share is below 1e-5
    less = chance("median", [n >> 33 for n in sizes])
    assert mean == pytest.approx(less[0] * 2.0**33, rel=1e-5)
    assert variance == pytest.approx(less[1] * 4.0**33, rel=1e-5)
    drawn = np.random.default_rng(1).integers(1, 2**62, 4)
    assert all(x > 0 for x in chance("imedian", drawn))


# -- the parts -------------------------------------------------------------------------------------


def law_of(p: list[Fraction]) -> list[Fraction]:
    law = [Fraction(1)]
    for hit in p:
        law = [
            (law[k] if k < len(law) else 0) * (1 - hit) + (law[k - 1] * hit if k else 0)
            for k in range(len(law) + 1)
        ]
    return law


def log(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


@settings(max_examples=30)
@given(st.integers(1, 10**6), st.lists(st.integers(1, 10**6), min_size=1, max_size=60), st.data())
def test_poisson_binomial_tails(x: int, beyond: list[int], data: st.DataObject) -> None:
    """Both tails are accurate relatively, however far out."""
    p = [Fraction(x, x + b) for b in beyond]
    law = law_of(p)
    m = data.draw(st.integers(1, len(p)))
    size, each, at = x + np.array(beyond, float), np.ones(len(p)), np.array([float(x)])
    upper, lower = sum(law[m:], Fraction(0)), sum(law[:m], Fraction(0))
    for point, centre, above, below in (
        (False, m - 0.5, upper, lower),
        (False, float(m), upper - law[m] / 2, lower + law[m] / 2),
        (True, float(m), law[m], law[m]),
    ):
        logs, is_upper = invert(size, each, at, at, np.array([centre]), point=point)
        exact = log(above if is_upper[0] else below)
        assert logs[0] == pytest.approx(exact, rel=1e-14, abs=1e-12)
