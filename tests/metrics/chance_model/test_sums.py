"""Test the tools of the chance model: counted tasks, sums over ranks, integrals."""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.metrics.chance_model import compress
from truerank.metrics.chance_model.powers import growth_moments, power_moments
from truerank.metrics.chance_model.sums import (
    chunks,
    gauss,
    harmonic,
    harmonic_squares,
    polynomial,
    rule,
)
from truerank.metrics.chance_model.transforms import PowerSum, rank_sum

pytestmark = pytest.mark.python_only

SIZES = [*range(1, 70), 100, 127, 128, 129, 1000, 4095, 4096, 5000]

# -- tasks -----------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.integers(0, 3)),
        max_size=12,
    )
)
def test_tasks_are_counted(drawn: list[tuple[int, float, int]]) -> None:
    """Check against a dictionary: an array, values with multiplicities, and shuffled tasks."""
    sizes, weights, numbers = ([row[i] for row in drawn] for i in range(3))
    tasks = compress((np.array(sizes, int), np.array(numbers, int)), weights)
    plain: dict[tuple[int, float], int] = {}
    for size, weight, number in drawn:
        if weight and number:
            plain[size, weight] = plain.get((size, weight), 0) + number
    keys = sorted(plain)
    total = sum(weight * number for (_, weight), number in plain.items())
    assert tasks.sizes.tolist() == [size for size, _ in keys]
    assert tasks.multiplicities.tolist() == [plain[key] for key in keys]
    assert tasks.weights.tolist() == pytest.approx([w / total for _, w in keys], rel=1e-15)
    assert tasks.count == sum(plain.values())
    assert tasks.equal == (len({weight for _, weight in plain}) < 2)

    every = [(s, w) for s, w, m in drawn for _ in range(m)]
    for order in (every, every[::-1]):
        again = compress([s for s, _ in order], [w for _, w in order])
        for mine, yours in zip(again, tasks, strict=True):
            np.testing.assert_array_equal(mine, yours)


@given(st.lists(st.one_of(st.integers(1, 9), st.integers(1, 2**62)), max_size=30))
def test_tasks_without_weights_are_counted(sizes: list[int]) -> None:
    tasks = compress(sizes)
    assert tasks.equal
    found = zip(tasks.sizes.tolist(), tasks.multiplicities.tolist(), strict=True)
    assert list(found) == sorted(Counter(sizes).items())
    for mine, yours in zip(tasks, compress(sizes, [0.5] * len(sizes)), strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_only_ratios_of_weights_matter() -> None:
    """Powers of two change no bit, huge and tiny weights are safe, negligible ones are left out."""
    sizes, weights = [4, 9, 9, 2], np.array([0.3, 1.0, 2.0, 0.0])
    tasks = compress(sizes, weights)
    for factor in (2.0**1000, 2.0**-1000):
        again = compress(sizes, weights * factor)
        for mine, yours in zip(again, tasks, strict=True):
            np.testing.assert_array_equal(mine, yours)
    assert compress(sizes, [1.7e308] * 4).weights.tolist() == [0.25] * 3
    assert compress([4, 9], [5e-324, 1e308]).sizes.tolist() == [9]
    assert compress([4, 9], [1e-300, 1.0]).weights.tolist() == [1e-300, 1.0]
    many = compress(([4, 9], [2**62, 1]), [1e-300, 1e8])
    assert (many.weights > 0).all()


def test_no_tasks() -> None:
    for none in (compress([]), compress([3, 4], [0, 0]), compress(([3], [0]))):
        assert none.count == 0
        assert len(none.weights) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([5.0],), TypeError, "candidates: expected integers, got dtype float64"),
        (("ab",), TypeError, "candidates: expected integers, got str"),
        ((5,), ValueError, "candidates: expected a 1-D array of integers, got shape ()"),
        (([[1]],), ValueError, "candidates: expected a 1-D array of integers, got shape (1, 1)"),
        (([3, 0],), ValueError, "candidates: expected integers >= 1, got 0 at position 1"),
        ((([3], [1, 2]),), ValueError, "multiplicities: expected 1 integers"),
        ((([3], [-1]),), ValueError, "multiplicities: expected integers >= 0, got -1"),
        ((([3], [0.5]),), TypeError, "multiplicities: expected integers, got dtype float64"),
        ((([3, 4], [2**62, 2**62]),), ValueError, "expected fewer than 2**63 tasks in all"),
        (([3], [1, 2]), ValueError, "weights: expected 1 numbers"),
        (([3], [-1]), ValueError, "weights: expected finite numbers >= 0, got -1.0 at position 0"),
        (([3], [math.nan]), ValueError, "weights: expected finite numbers >= 0, got nan"),
        (([3], ["a"]), TypeError, "weights: expected real numbers"),
    ],
)
def test_bad_tasks(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        compress(*arguments)


# -- sums ------------------------------------------------------------------------------------------


def test_harmonic_numbers() -> None:
    sizes = np.array([*SIZES, 10**6])
    for function, power in ((harmonic, 1), (harmonic_squares, 2)):
        found = function(sizes)
        exact = [math.fsum(1 / r**power for r in range(1, n + 1)) for n in sizes.tolist()]
        np.testing.assert_allclose(found, exact, rtol=1e-15)
    assert harmonic(np.array([1])) == harmonic_squares(np.array([1])) == 1
    # H_N - log N is Euler's constant, and 1/r^2 sums to pi^2 / 6
    assert harmonic(np.array([2**62]))[0] - 62 * math.log(2) == pytest.approx(np.euler_gamma)
    assert harmonic_squares(np.array([2**62]))[0] == pytest.approx(math.pi**2 / 6, rel=1e-15)


@pytest.mark.parametrize("length", [1, 2, 3, 11, 12, 13, 14, 24, 100, 12345])
def test_gauss_is_exact_for_polynomials(length: int) -> None:
    nodes, weights = gauss(np.array([10.0]), np.array([float(length)]))
    assert (weights >= 0).all()
    middle, half = 10 + (length - 1) / 2, max(length / 2, 1)
    for degree in range(24):
        terms = (Fraction(2 * (10 + j) - 19 - length, 2) ** degree for j in range(length))
        exact = float(sum(terms, Fraction(0)) / Fraction(half) ** degree)
        found = float((weights * ((nodes - middle) / half) ** degree).sum())
        assert found == pytest.approx(exact, rel=1e-13, abs=1e-13 * length)


@pytest.mark.parametrize("ratio", [2.0, 2**0.5, 2**0.2])
def test_rules_against_plain_sums(ratio: float) -> None:
    sizes = np.array(SIZES)
    made = rule(sizes, ratio)
    for f in (np.log, np.reciprocal, np.sqrt, lambda x: x**-3, lambda x: np.exp(-5 / x)):
        shared = np.concatenate([[0.0], np.cumsum(made.weights * f(made.nodes))])
        found = shared[made.used] + (made.own_weights * f(made.own_nodes)).sum(axis=1)
        exact = [math.fsum(f(np.arange(1.0, n + 1)).tolist()) for n in SIZES]
        np.testing.assert_allclose(found, exact, rtol=1e-14, atol=1e-300)


def test_chunks_cover_all_sizes() -> None:
    sizes = np.random.default_rng(0).integers(1, 30_000, 5_000)
    sums = np.zeros(len(sizes))
    for part, nodes, weights in chunks(sizes):
        assert nodes.size < 1 << 19
        sums[part] = (weights / nodes).sum(axis=1)
    np.testing.assert_allclose(sums, harmonic(sizes), rtol=1e-14)


def test_a_huge_sum() -> None:
    """Check the sums of r and of 1/r over 1..2**62."""
    (_, nodes, weights), *rest = chunks(np.array([2**62]))
    assert not rest
    assert (weights * nodes).sum() == pytest.approx(2.0**61 * (2.0**62 + 1), rel=1e-14)
    assert (weights / nodes).sum() == pytest.approx(harmonic(np.array([2**62]))[0], rel=1e-14)


def test_polynomial() -> None:
    x = np.array([0.5, -2.0])
    np.testing.assert_array_equal(polynomial((1.0, -3.0, 2.0), x), 1 - 3 * x + 2 * x**2)


# -- transforms and integrals ----------------------------------------------------------------------

PROBLEMS = {
    "two": ([2, 3], None),
    "small": ([1, 4, 4, 9, 30], None),
    "weighted": ([1, 4, 4, 9, 30], [1.0, 0.1, 3.0, 1e-9, 2.0]),
    "many": (list(range(1, 200)), None),
    "many weighted": (list(range(2, 200)), [1 + 0.01 * i for i in range(198)]),
    "one weight of many": ([7] * 50 + list(range(20, 90)), [1.0] * 50 + [1.5] * 70),
}


def plain_transform(tasks: Any, p: float, u: complex) -> tuple[complex, complex]:
    """K and D by sums over all ranks."""
    terms = [
        w * np.arange(1.0, n + 1) ** p for n, w in zip(tasks.sizes, tasks.weights, strict=True)
    ]
    m = tasks.multiplicities
    mean = sum(k * term.mean() for k, term in zip(m, terms, strict=True))
    logs = [np.log(np.exp(-u * term / mean).mean()) for term in terms]
    decay = -sum(k * log for k, log in zip(m, logs, strict=True))
    return u - decay, decay


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("p", [-3.0, -1.0, -0.3, 0.5, 1.0, 2.0, 5.0])
def test_transforms_against_plain_sums(name: str, p: float) -> None:
    tasks = compress(*PROBLEMS[name])
    u = np.array([0.01, 0.3, 1.0, 2.5, 6.0, 20.0])
    found = [PowerSum(tasks, p)(u)]
    if p == 1:
        mean = float((tasks.weights * tasks.multiplicities * (tasks.sizes + 1) / 2).sum())
        found.append(rank_sum(tasks, mean)(u))
    exact = np.array([plain_transform(tasks, p, x) for x in u]).T
    for excess, decay in found:
        np.testing.assert_allclose(excess, exact[0], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(decay, exact[1], rtol=1e-12, atol=1e-13)
        assert (excess >= 0).all()
        np.testing.assert_allclose(excess + decay, u, rtol=1e-13)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_transforms_of_complex_arguments(name: str, p: float) -> None:
    tasks = compress(*PROBLEMS[name])
    u = np.array([-3 + 1j, -1 + 0.1j, -0.5 - 2j, 2 + 3j, 9 - 8j])
    _, decay = PowerSum(tasks, p)(u)
    exact = np.array([plain_transform(tasks, p, x)[1] for x in u])
    np.testing.assert_allclose(np.exp(-decay), np.exp(-exact), rtol=1e-12)


def test_small_transforms_keep_their_digits() -> None:
    """K = u^2 Var / 2 where u is small, however little Y varies."""
    for sizes, number in (([2, 3], 1), ([1, 2, 50], 10**6), ([10**6], 10**12)):
        tasks = compress((sizes, [number] * len(sizes)))
        shares = tasks.weights * tasks.multiplicities
        n = tasks.sizes.astype(float)
        mean = float((shares * (n + 1) / 2).sum())
        variance = float((shares * tasks.weights * (n - 1) * (n + 1) / 12).sum()) / mean**2
        inverse = float((shares * harmonic(tasks.sizes) / n).sum())
        spread = harmonic_squares(tasks.sizes) / n - (harmonic(tasks.sizes) / n) ** 2
        u = np.array([1e-9, 1e-8])
        excess, _ = rank_sum(tasks, mean)(u)
        np.testing.assert_allclose(excess, u**2 * variance / 2, rtol=1e-7)
        excess, _ = PowerSum(tasks, -1.0)(u)
        exact = u**2 * float((shares * tasks.weights * spread).sum()) / inverse**2 / 2
        np.testing.assert_allclose(excess, exact, rtol=1e-6)


def gamma(shape: float) -> Any:
    """K and D of a gamma distribution of mean 1."""

    def transform(u: Any) -> tuple[Any, Any]:
        x = u / shape
        decay = shape * np.log1p(x)
        series = shape * x * x * (1 / 2 - x / 3 + x * x / 4 - x**3 / 5)
        return np.where(np.abs(x) < 1e-3, series, u - decay), decay

    return transform


@pytest.mark.parametrize("order", [-0.99, -0.5, -0.1, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_power_moments_of_a_gamma_distribution(order: float) -> None:
    """E Y^-s = shape^s Gamma(shape - s) / Gamma(shape)."""
    shape = 60.0

    def moment(s: float) -> float:
        return math.exp(s * math.log(shape) + math.lgamma(shape - s) - math.lgamma(shape))

    mean, variance = power_moments(gamma(shape), order, 1.0)
    assert mean == pytest.approx(moment(order), rel=1e-12)
    assert variance == pytest.approx(moment(2 * order) - moment(order) ** 2, rel=1e-8)


@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 3.3, 10.0])
def test_growth_moments_of_a_gamma_distribution(order: float) -> None:
    shape = 200.0

    def moment(s: float) -> float:
        return math.exp(-s * math.log(shape) + math.lgamma(shape + s) - math.lgamma(shape))

    mean, variance = growth_moments(gamma(shape), order)
    assert mean == pytest.approx(moment(order), rel=1e-12)
    assert variance == pytest.approx(moment(2 * order) - moment(order) ** 2, rel=1e-9)
