"""Sums with random signs against enumeration, whole laws by convolution, and scipy's binomial."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from support.examples import examples
from truerank.inference import flip_sums
from truerank.inference.flip_sums import (
    ERROR,
    Classes,
    classes_of,
    share_by_binomials,
    share_by_halves,
    share_by_normals,
    share_by_steps,
    share_exactly,
    step_of,
)

LEVELS = (0.9, 0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-12, 1e-20)


def enumerated(sizes: Any, budget: float) -> float:
    """The share of all subsets whose sum is within a budget, one by one."""
    subsets = itertools.product([0, 1], repeat=len(sizes))
    sums = np.array([np.dot(subset, sizes) for subset in subsets])
    return float(np.mean(sums <= budget + 1e-9 * np.sum(sizes)))


def cumulated(steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The probabilities of flipped sums of at most 0, 1, ... of whole sizes, by convolution."""
    law = np.zeros(int(steps.sum()) + 1)
    law[0] = 1.0
    for step in steps.tolist():
        flipped = np.zeros_like(law)
        flipped[step:] = law[: len(law) - step]
        law = (law + flipped) / 2
    return np.cumsum(law)


def flipped_one_by_one(classes: Classes, budget: float) -> float:
    """The share of flips within a budget of whole sizes, halved with each size."""
    most = round(budget)
    small = classes.up_to(most + 0.5)
    law = np.zeros(most + 1)
    law[0] = 1.0
    for size in np.repeat(small.sizes, small.counts).astype(int).tolist():
        flipped = law[: most + 1 - size] / 2
        law = law / 2
        law[size:] += flipped
    return math.ldexp(float(law.sum()), small.number - classes.number)


@given(st.integers(1, 60), st.integers(1, 800), st.floats(0, 1), st.integers(0, 2**32))
@examples(25)
def test_steps_are_added_as_one_by_one(most: int, number: int, share: float, seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, most + 1, number).astype(np.float64)
    classes = classes_of(sizes)
    budget = float(np.floor(sizes.sum() * share / 2))
    found = share_by_steps(classes, budget, 1.0)
    assert found is not None
    expected = flipped_one_by_one(classes, budget)
    if expected > 1e-250:  # halved one by one, the least of a law leave float64
        assert found.value == expected
    else:
        assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-290)


def reciprocals(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    ranks = np.ceil(np.exp(rng.normal(2, 1.8, (2, n))).clip(1))
    return np.abs(1 / ranks[0] - 1 / ranks[1])


LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray[Any, Any]]] = {
    "normal": lambda rng, n: np.abs(rng.normal(size=n)),
    "pareto 1.1": lambda rng, n: rng.pareto(1.1, n),
    "log-normal 2": lambda rng, n: np.exp(2 * rng.normal(size=n)),
    "differences of reciprocal ranks": reciprocals,
    "a few sizes and noise": lambda rng, n: np.where(
        rng.random(n) < 0.6,
        rng.choice([1 / 2, 2 / 3, 1 / 4, 1 / 3], n),
        np.abs(rng.normal(size=n)) * 0.02,
    ),
}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10), st.floats(0, 50), st.floats(0.1, 3))
def test_every_exact_method_is_enumeration(sizes: list[int], budget: float, unit: float) -> None:
    scaled = np.array(sizes) * unit
    budget = round(budget) * unit
    expected = enumerated(scaled, budget)
    classes = classes_of(scaled)
    found = share_exactly(classes, budget)
    assert found is not None
    assert found == (pytest.approx(expected, rel=1e-12), 0.0)
    limit = budget + 1e-9 * classes.total
    if classes.number:
        assert share_by_halves(classes, limit) == pytest.approx(expected, rel=1e-12)
        assert share_by_binomials(classes, limit) == pytest.approx(expected, rel=1e-12)
        by_steps = share_by_steps(classes, budget, unit)
        assert by_steps is not None
        assert by_steps.value == pytest.approx(expected, rel=1e-12)


@examples(20)
@given(st.integers(0, 2**32 - 1), st.integers(24, 30))
def test_halves_are_whole_laws(seed: int, n: int) -> None:
    steps = np.random.default_rng(seed).integers(1, 500, n)
    law = cumulated(steps)
    for budget in np.random.default_rng(seed).integers(0, steps.sum(), 5).tolist():
        found = share_exactly(classes_of(steps / 7), budget / 7)
        assert found is not None
        assert found == (pytest.approx(law[budget], rel=1e-12), 0.0)


@pytest.mark.parametrize("n", [1, 31, 1000, 100_000])
def test_equal_sizes_are_binomial(n: int) -> None:
    classes = classes_of(np.full(n, 0.3))
    for flips in {0, n // 10, n // 3, n // 2}:
        found = share_exactly(classes, 0.3 * flips)
        assert found is not None
        assert found.value == pytest.approx(scipy.stats.binom.cdf(flips, n, 0.5), rel=1e-8)


def test_three_sizes_are_three_binomials() -> None:
    classes = Classes(np.array([1.1, 0.9, 0.1]), np.array([40, 25, 300]))
    binomials = [scipy.stats.binom(n, 0.5) for n in classes.counts]
    for budget in (20.0, 35.0, 45.5):
        expected = sum(
            binomials[0].pmf(i)
            * binomials[1].pmf(j)
            * binomials[2].cdf(math.floor((budget - 1.1 * i - 0.9 * j) / 0.1 + 1e-6))
            for i in range(41)
            for j in range(26)
        )
        found = share_exactly(classes, budget)
        assert found is not None
        assert found.value == pytest.approx(expected, rel=1e-9)


def test_what_is_larger_than_the_budget_is_never_flipped() -> None:
    """Of a million sizes few are small enough, so that the share is exact."""
    sizes = np.concatenate([np.full(10**6, 5.0), np.arange(1, 9) / 10])
    found = share_exactly(classes_of(sizes[-40:]), 1.1)
    small = np.arange(1, 9) / 10
    assert found is not None
    assert found.value == pytest.approx(enumerated(small, 1.1) * 2.0**-32, rel=1e-12)
    assert share_exactly(classes_of(sizes), 1.1) == (0.0, 0.0)  # 2^-1000000


@example([24999, 62497], 1.0)
@given(st.lists(st.integers(1, 10**5), min_size=1, max_size=50), st.floats(1e-6, 1e6))
def test_the_step_is_the_greatest_common_divisor(sizes: list[int], unit: float) -> None:
    expected = unit * math.gcd(*sizes)
    assert step_of(np.array(sizes) * unit) == pytest.approx(expected, rel=1e-6)


def test_numbers_without_a_common_divisor_have_no_step() -> None:
    rng = np.random.default_rng(0)
    assert step_of(np.abs(rng.normal(size=200))) == 0.0
    assert step_of(np.sqrt(np.arange(1, 50))) == 0.0


def clusters(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    """Large sizes that are much alike, and small ones: few flips, each of which is felt."""
    alike = n // 2
    small = rng.choice([0.003, 0.02, 0.1]) * np.abs(rng.normal(size=n - alike))
    return np.concatenate([rng.uniform(0.6, 1, alike), small])


LAWS["clusters"] = clusters


def worst_errors(sizes: np.ndarray[Any, Any], steps: int) -> list[tuple[float, float]]:
    """The relative errors of the normals at many levels, and their bounds."""
    whole = np.maximum(1, np.round(sizes * (steps / sizes.sum()))).astype(int)
    law = cumulated(whole)
    classes = classes_of(whole.astype(float))
    errors = []
    for level in LEVELS:
        budget = int(np.searchsorted(2 * law, level))
        if level < 2.0 ** (3 - len(sizes)) or 2 * budget >= whole.sum():
            continue
        if share_exactly(classes, budget) is not None:
            continue
        found = share_by_normals(classes, budget, 1.0)
        errors.append((found.value / law[budget] - 1, found.error))
    return errors


@pytest.mark.sweep
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [31, 40, 60, 150, 500])
def test_the_error_of_normals_is_within_its_bound(law: str, n: int) -> None:
    rng = np.random.default_rng((n, len(law)))
    times = 3 if n < 500 else 1
    for _ in range(times):
        for error, bound in worst_errors(LAWS[law](rng, n), 60_000):
            assert abs(error) <= bound < 0.1


@pytest.mark.parametrize("n", [1000, 30_000, 1_000_000])
def test_the_error_of_normals_for_very_many_sizes(n: int) -> None:
    classes = Classes(np.array([3.0, 1.0]), np.array([100, n - 100]))
    spread = math.sqrt(float(classes.counts @ classes.sizes**2))
    for z in (0.1, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0):
        budget = round((classes.total - z * spread) / 2)
        exact = share_exactly(classes, budget)
        assert exact is not None
        found = share_by_normals(classes, budget, 1.0)
        assert abs(found.value / exact.value - 1) <= found.error


def test_sums_in_lumps_have_another_bound() -> None:
    """Many equal sizes and tiny others: sums lie in lumps, finer than the frequencies can tell."""
    rng = np.random.default_rng(3)
    sizes = np.where(rng.random(60) < 0.7, rng.choice([1 / 2, 2 / 3, 1 / 4, 1 / 3], 60), 0.0)
    tiny = np.abs(rng.normal(size=60)) * 1e-4
    whole = np.round(np.where(sizes > 0, sizes * 1.2e5, tiny * 1.2e5 + 1)).astype(int)
    law = cumulated(whole)
    classes = classes_of(whole.astype(float))
    seen = []
    for level in (0.5, 0.05, 1e-3, 1e-5):
        middle = int(np.searchsorted(2 * law, level))
        for budget in range(middle - 20_000, middle + 20_000, 997):
            if share_exactly(classes, budget) is None:
                found = share_by_normals(classes, budget + 0.5)
                seen.append((found.value / law[budget], found.error))
    bounds = [bound for _, bound in seen if not math.isnan(bound)]
    assert max(bounds) > 10 * ERROR
    assert all(abs(ratio - 1) <= bound for ratio, bound in seen if not math.isnan(bound))
    assert all(ratio >= 1 for ratio, bound in seen if math.isnan(bound))


def test_very_many_sizes_are_gathered_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = np.random.default_rng(0).lognormal(0, 1, 30_000)
    classes = classes_of(sizes)
    for z in (1.0, 4.0, 20.0):
        budget = (classes.total - z * math.sqrt(float(sizes @ sizes))) / 2
        gathered = share_by_normals(classes, budget)
        monkeypatch.setattr(flip_sums, "BINS", 10**6)
        every = share_by_normals(classes, budget)
        monkeypatch.undo()
        assert gathered.value == pytest.approx(every.value, rel=1e-3)
