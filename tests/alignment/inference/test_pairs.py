"""Each rule of inference against its definition: which pairs greedy and mutual search find."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.matching import most_similar
from strategies.score_matrices import METHODS, Array, matrices
from truerank.alignment import csls_means, infer

pytestmark = pytest.mark.python_only


def greedy(scores: Array) -> list[list[int]]:
    return list(map(list, most_similar(scores.tolist(), len(scores))))


def turned(pairs: list[list[int]]) -> list[list[int]]:
    return sorted(pair[::-1] for pair in pairs)


def mutual(scores: Array) -> list[list[int]]:
    back = turned(greedy(scores.T))
    return [pair for pair in greedy(scores) if pair in back]


EXPECTED: dict[str, Callable[[Array], list[list[int]]]] = {
    "left_to_right": greedy,
    "right_to_left": lambda scores: turned(greedy(scores.T)),
    "mutual": mutual,
}


KEYWORDS: dict[str, dict[str, Any]] = {
    "left_to_right": {},
    "right_to_left": {"direction": "right_to_left"},
    "mutual": {"method": "mutual"},
}


def check(found: Any, pairs: list[list[int]], scores: Array) -> None:
    assert found.pairs.tolist() == pairs
    assert found.pairs.shape == (len(pairs), 2)
    assert found.pairs.dtype == np.int64
    assert found.scores.dtype == scores.dtype
    np.testing.assert_array_equal(found.scores, [scores[i, j] for i, j in pairs])
    assert not found.pairs.flags.writeable
    assert not found.scores.flags.writeable


@pytest.mark.parametrize("rule", EXPECTED)
@given(scores=matrices())
def test_nearest_of_a_matrix(rule: str, scores: Array) -> None:
    check(infer(scores, None, nan="omit", **KEYWORDS[rule]), EXPECTED[rule](scores), scores)


@pytest.mark.parametrize("rule", EXPECTED)
@given(
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    seed=st.integers(0, 2**32),
    similarity=st.sampled_from(["dot", "cosine", "l1", "l2", "inverse_l1", "inverse_l2"]),
    csls=st.sampled_from([None, 1, 2, 50]),
    data=st.data(),
)
def test_nearest_of_vectors(
    rule: str,
    sizes: tuple[int, int],
    seed: int,
    similarity: str,
    csls: int | None,
    data: st.DataObject,
) -> None:
    """If only some entities take part, the means of CSLS are over these."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["f2", "f4", "f8"], 2)
    left, right = (rng.integers(-2, 3, (n, 2)).astype(k) for n, k in zip(sizes, kinds, strict=True))
    ids = [
        data.draw(st.none() | st.lists(st.integers(0, n - 1), min_size=1, max_size=n))
        for n in sizes
    ]
    who = [
        np.arange(n) if chosen is None else np.unique(chosen)
        for n, chosen in zip(sizes, ids, strict=True)
    ]
    scores = tr.score_embeddings(left, right, similarity=similarity)
    if csls is not None:
        means = csls_means(left, right, csls, similarity=similarity, candidates=tuple(who))
        scores = tr.score_embeddings(left, right, similarity=similarity, csls=means)
    part = scores[np.ix_(*who)]
    found = infer(
        *(left, right),
        similarity=similarity,
        csls=csls,
        left_ids=ids[0],
        right_ids=ids[1],
        **KEYWORDS[rule],
    )
    pairs = [[int(who[0][i]), int(who[1][j])] for i, j in EXPECTED[rule](part)]
    check(found, sorted(pairs), scores)
    np.testing.assert_array_equal(found.left_ids, who[0])
    np.testing.assert_array_equal(found.right_ids, who[1])
    assert found.shape == scores.shape


@pytest.mark.parametrize("method", METHODS)
def test_the_threshold_leaves_out_what_is_below(method: str) -> None:
    """Pairs at the threshold stay, and no entity is matched again."""
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((12, 15)).astype(np.float32)
    whole = infer(scores, None, method=method)
    for threshold in (*whole.scores[:4].tolist(), -np.inf, np.inf, 0):
        found = infer(scores, None, method=method, threshold=threshold)
        kept = whole.scores.astype(float) >= threshold
        np.testing.assert_array_equal(found.pairs, whole.pairs[kept])
        np.testing.assert_array_equal(found.scores, whole.scores[kept])
        assert found.threshold == threshold
    assert whole.threshold is None
    third = infer(np.full((1, 1), 0.1, np.float32), None, method=method, threshold=0.1)
    assert len(third) == 1  # float32's 0.1 is above 0.1
    assert not len(infer(np.full((1, 1), 0.7, np.float32), None, method=method, threshold=0.7))


@pytest.mark.parametrize("method", METHODS)
def test_nobody_on_a_side(method: str) -> None:
    for n, m in ((0, 3), (3, 0), (0, 0)):
        left, right = np.zeros((n, 2), np.float32), np.zeros((m, 2), np.float32)
        for found in (
            infer(left, right, method=method),
            infer(left, right, method=method, csls=2),
            infer(np.zeros((n, m)), None, method=method),
            infer(np.zeros((n, m)), None, method=method, csls=2),
            infer(np.ones((3, 2)), np.ones((4, 2)), method=method, left_ids=[]),
            infer(np.ones((3, 4)), None, method=method, right_ids=[], csls=1),
        ):
            assert found.pairs.shape == (0, 2)
            assert found.total == 0
    sparse = infer(np.zeros((0, 3)), None, method="optimal", candidates_per_entity=2)
    assert sparse.pairs.shape == (0, 2)


@pytest.mark.parametrize("method", METHODS)
def test_a_matrix_is_what_its_vectors_are(method: str) -> None:
    rng = np.random.default_rng(1)
    left, right = (rng.standard_normal((n, 4)).astype(np.float32) for n in (20, 23))
    ids = {"left_ids": np.arange(3, 20), "right_ids": np.arange(20)}
    scores = tr.score_embeddings(left, right, similarity="cosine")
    made = csls_means(left, right, 3, candidates=tuple(ids.values()))
    for csls, chosen in (*product((None, 3, 100), ({}, ids)), (made, ids)):
        of_vectors = infer(left, right, method=method, csls=csls, **chosen)
        of_matrix = infer(scores, None, method=method, csls=csls, **chosen)
        np.testing.assert_array_equal(of_matrix.pairs, of_vectors.pairs)
        np.testing.assert_array_equal(of_matrix.scores, of_vectors.scores, strict=True)
