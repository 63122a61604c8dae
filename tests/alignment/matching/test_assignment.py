"""Optimal pairs: the highest total, found by trying all matchings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.matching import best
from support.environment import Run
from support.refusals import refusal
from truerank.alignment import infer
from truerank.alignment.matching import alignments

pytestmark = pytest.mark.python_only

Array = npt.NDArray[Any]
SOLVED = {
    "dense": {},
    "sparse, 2 candidates per entity": {"candidates_per_entity": 2},
    "sparse, 32 candidates per entity": {"candidates_per_entity": 32},
}
WHOLE = [solved for solved in SOLVED if " 2 " not in solved]  # which look at all of a small matrix


def check_matching(found: Any, scores: Array) -> None:
    """No entity occurs twice, scores are as given, and pairs are ordered by left id."""
    left, right = found.pairs.T
    assert (np.diff(left) > 0).all()
    assert len(np.unique(right)) == len(right)
    np.testing.assert_array_equal(found.scores, scores[left, right])
    assert not np.isnan(found.scores).any()


@st.composite
def matrices(draw: st.DrawFn, *, nan: bool) -> Array:
    shape = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = draw(st.sampled_from([(0,), (0, 1), (-3, -2, -1, 0, 1, 2, 7), (0.1, 0.2, 0.7, 1e3)]))
    scores = rng.choice(np.array(values, draw(st.sampled_from([np.float32, np.float64]))), shape)
    if nan:
        scores[rng.random(shape) < draw(st.sampled_from([0, 0, 0.1, 0.5, 1.0]))] = np.nan
    return scores


@pytest.mark.parametrize("solved", WHOLE)
@given(scores=matrices(nan=True))
def test_the_total_is_the_highest_of_as_many_pairs_as_can_be(solved: str, scores: Array) -> None:
    found = infer(scores, None, method="optimal", nan="omit", **SOLVED[solved])
    check_matching(found, scores)
    pairs, total = best(scores)
    assert (found.solved, len(found)) == (solved, pairs)
    assert found.total == pytest.approx(total, rel=1e-9, abs=1e-9)


@given(matrices(nan=False), st.integers(1, 3))
def test_of_few_candidates_it_is_a_matching_no_worse_than_the_stable_one(
    scores: Array, candidates: int
) -> None:
    """The whole smaller side is matched even if all entities share their most similar ones."""
    found = infer(scores, None, method="optimal", candidates_per_entity=candidates)
    check_matching(found, scores)
    assert len(found) == min(scores.shape)
    assert found.total <= best(scores)[1] + 1e-9
    assert found.total >= infer(scores, None, method="stable").total - 1e-9


def test_what_is_looked_at() -> None:
    """The result is the best matching of similar pairs from both sides and stable pairs."""
    rng = np.random.default_rng(3)
    for shape in ((6, 6), (5, 7), (7, 5)):
        scores = rng.integers(0, 9, shape).astype(float)
        near = np.full(shape, np.nan)
        for row, column in enumerate(scores.argmax(axis=1)):
            near[row, column] = scores[row, column]
        for column, row in enumerate(scores.argmax(axis=0)):
            near[row, column] = scores[row, column]
        stable = tuple(infer(scores, None, method="stable").pairs.T)
        near[stable] = scores[stable]
        found = infer(scores, None, method="optimal", candidates_per_entity=1)
        assert (len(found), found.total) == best(near)


def vectors(n: int, m: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(n)
    left = rng.standard_normal((n, 24)).astype(np.float32)
    right = np.resize(left, (m, 24)) + rng.standard_normal((m, 24)).astype(np.float32)
    return left, right.astype(np.float32)


@pytest.mark.parametrize(("n", "m"), [(200, 320), (320, 200)])
def test_sparse_reaches_the_total_of_dense(n: int, m: int) -> None:
    left, right = vectors(n, m)
    dense = infer(left, right, method="optimal")
    sparse = infer(left, right, method="optimal", candidates_per_entity=40)
    scores = tr.score_embeddings(left, right, similarity="cosine")
    for found in (dense, sparse):
        check_matching(found, scores)
        assert found.scores.dtype == np.float32
    assert (dense.solved, sparse.solved) == ("dense", "sparse, 40 candidates per entity")
    assert sparse.total == pytest.approx(dense.total, rel=1e-6)
    assert sparse.total <= dense.total + 1e-9
    assert dense.total > infer(left, right, method="stable").total


def test_the_default_is_dense_where_it_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.eye(4)
    assert infer(scores, None, method="optimal").solved == "dense"
    monkeypatch.setattr(alignments, "MAX_DENSE_CELLS", 15)
    assert infer(scores, None, method="optimal").solved == "sparse, 32 candidates per entity"
    assert infer(scores, None, method="optimal", left_ids=[0, 1, 2]).solved == "dense"


@pytest.mark.parametrize("keywords", SOLVED.values())
def test_there_is_no_total_of_infinite_scores(keywords: dict[str, Any]) -> None:
    for infinite in (np.inf, -np.inf):
        scores = np.full((2, 3), 0.5)
        scores[:, 2] = infinite
        for matrix, place in ((scores, "left 0 and right 2"), (scores.T, "left 2 and right 0")):
            words = f"scores: expected finite ones .*inf, .* of {place}"
            refusal(ValueError, words, infer, matrix, None, method="optimal", **keywords)


def test_scipy_is_imported_by_optimal_alone(run_python: Run) -> None:
    run_python(
        """
import sys
from truerank.alignment.matching import alignments
from truerank.alignment import infer
for method in ("greedy", "mutual", "stable"):
    infer([[0.5, 0.7]], None, method=method)
assert not any(name.partition(".")[0] == "scipy" for name in sys.modules)
"""
    )
