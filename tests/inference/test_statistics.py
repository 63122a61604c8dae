"""Sign flips against enumeration, t against scipy, and the note on few units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from truerank.inference.statistics import (
    differences,
    flip_probability,
    note_on,
    paired_test,
    signed_sums,
    standard_error,
)
from truerank.metrics.contributions import mean_and_influences

Array = np.ndarray[Any, Any]


def cumulated(steps: Array) -> Array:
    """The probabilities of flipped sums of at most 0, 1, ... of whole sizes, by convolution."""
    law = np.zeros(int(steps.sum()) + 1)
    law[0] = 1.0
    for step in steps.tolist():
        moved = np.zeros_like(law)
        moved[step:] = law[: len(law) - step]
        law = (law + moved) / 2
    return np.cumsum(law)


@examples(20)
@given(st.integers(0, 2**32 - 1), st.integers(24, 30))
def test_halves_are_whole_laws(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    apart = rng.integers(1, 500, n) * rng.choice([-1, 1, 1], n)
    law = cumulated(np.abs(apart))
    smaller = int(np.abs(apart)[apart * np.sign(apart.sum()) < 0].sum())
    expected = 1.0 if apart.sum() == 0 else 2 * law[smaller]
    assert flip_probability(*signed_sums(apart / 7)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("apart", "p"),
    [
        ([0.1, 0.2, -0.3], 1.0),
        ([0.3, 0.1, 0.1, 0.1, -0.3], 20 / 32),
        ([1.0, 1.0 + 1e-7, -1.0], 0.75),
        ([1.0, 1.0 + 1e-10, -1.0], 1.0),
        ([1.0, 1.0, 1e-8], 0.25),
        ([1.0, 1.0, 1e-10], 0.5),
    ],
)
def test_equal_sums_count_within_a_billionth_of_the_total(apart: list[float], p: float) -> None:
    assert flip_probability(*signed_sums(np.array(apart))) == p


def test_units_that_weigh_unlike_have_t_on_influences() -> None:
    rng = np.random.default_rng(0)
    bases = rng.random(80) + 0.1
    apart = bases * rng.normal(0.2, 1, 80)
    mean = apart.sum() / bases.sum()
    d = (apart - mean * bases) / bases.sum()
    t = mean / math.sqrt(80 / 79 * (d**2).sum())
    p_value, *_ = paired_test(apart, bases, 0.95)
    assert p_value == pytest.approx(2 * scipy.stats.t.sf(abs(t), 79), rel=1e-12)


def test_only_units_that_differ_are_shifted() -> None:
    apart = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 2.5, -1.0])
    _, *alone, _ = paired_test(apart, np.ones(7), 0.95)
    _, *among, _ = paired_test(np.append(apart, np.zeros(21)), np.ones(28), 0.95)
    assert among == pytest.approx(np.array(alone) / 4)
    assert paired_test(apart[:5], np.ones(5), 0.95)[1:3] == (-math.inf, math.inf)


def test_rounding_is_no_difference() -> None:
    one = np.array([0.1 + 0.2, 1.0, 1e9 + 1e-5])
    two = np.array([0.3, 1.0 + 1e-15, 1e9])
    assert not differences(one, two).any()
    assert differences(np.array([1.0]), np.array([1.0 + 1e-9])).all()


# -- influences and the note -------------------------------------------------------------------


def test_what_is_rounding_is_no_influence() -> None:
    assert not mean_and_influences(np.full(7, 0.1), np.ones(7))[1].any()
    weights = np.array([0.1, 0.2, 0.7])
    assert not mean_and_influences(0.3 * weights, weights)[1].any()
    assert math.isnan(standard_error(np.zeros(1)))


@pytest.mark.parametrize(("carriers", "notes"), [(29, 1), (30, 0)])
def test_thirty_units_carry_a_result(carriers: int, notes: int) -> None:
    ones = np.ones(1000)
    few = np.where(np.arange(1000) < carriers, 1.0, 0.0)
    assert len(note_on("mr", "task", few, ones)) == notes
    assert len(note_on("hits@1", "task", ones, few, is_share=True)) == notes
