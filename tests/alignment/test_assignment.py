"""Optimal pairs: the highest total, found by trying all matchings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import truerank as tr
from oracles.matching import best
from support.environment import Run
from support.refusals import refusal
from truerank.alignment import infer

pytestmark = pytest.mark.python_only

Array = npt.NDArray[Any]


def check_matching(found: tuple[Array, Array], scores: Array) -> tuple[int, float]:
    """No entity occurs twice, and pairs are ordered by left id; return their number and total."""
    pairs, scores_of_pairs = found
    left, right = pairs.T
    assert (np.diff(left) > 0).all()
    assert len(np.unique(right)) == len(right)
    np.testing.assert_array_equal(scores_of_pairs, scores[left, right])
    assert np.isfinite(scores_of_pairs).all()
    return len(pairs), float(scores_of_pairs.sum(dtype=np.float64))


@st.composite
def matrices(draw: st.DrawFn) -> Array:
    shape = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = draw(st.sampled_from([(0,), (0, 1), (-3, -2, -1, 0, 1, 2, 7), (0.1, 0.2, 0.7, 1e3)]))
    scores = rng.choice(np.array(values, draw(st.sampled_from([np.float32, np.float64]))), shape)
    for absent in (np.nan, -np.inf):
        scores[rng.random(shape) < draw(st.sampled_from([0, 0, 0.1, 0.5, 1.0]))] = absent
    return scores


@given(matrices())
def test_the_total_is_the_highest_of_as_many_pairs_as_can_be(scores: Array) -> None:
    count, total = check_matching(infer(scores, None, method="optimal", nan="omit"), scores)
    assert (count, pytest.approx(total, rel=1e-9, abs=1e-9)) == best(scores)


def vectors(n: int, m: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(n)
    left = rng.standard_normal((n, 24)).astype(np.float32)
    right = np.resize(left, (m, 24)) + rng.standard_normal((m, 24)).astype(np.float32)
    return left, right.astype(np.float32)


@pytest.mark.parametrize(("n", "m"), [(200, 320), (320, 200)])
def test_vectors_are_matched_as_by_scipy(n: int, m: int) -> None:
    left, right = vectors(n, m)
    scores = tr.score_embeddings(left, right, similarity="cosine")
    pairs, scores_of_pairs = infer(left, right, method="optimal")
    assert scores_of_pairs.dtype == np.float32
    check_matching((pairs, scores_of_pairs), scores)
    expected = linear_sum_assignment(scores.astype(float), maximize=True)
    np.testing.assert_array_equal(pairs, np.stack(expected, axis=1))


def test_there_is_no_total_with_infinity() -> None:
    scores = np.full((2, 3), 0.5)
    scores[:, 2] = np.inf
    for matrix, place in ((scores, "row 0, column 2"), (scores.T, "row 2, column 0")):
        words = rf"scores: expected none of \+inf for a sum, got inf at {place}"
        refusal(ValueError, words, infer, matrix, None, method="optimal")


def test_scipy_is_imported_by_optimal_alone(run_python: Run) -> None:
    run_python(
        """
import sys
from truerank.alignment import infer
for method in ("greedy", "mutual", "stable"):
    infer([[0.5, 0.7]], None, method=method)
assert not any(name.partition(".")[0] == "scipy" for name in sys.modules)
"""
    )
