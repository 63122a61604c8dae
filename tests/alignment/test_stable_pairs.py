"""Stable pairs, against the proposals of the textbook, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from alignment.test_matching import check
from strategies.score_matrices import Array
from truerank.alignment import infer, matching
from truerank.alignment.matching import ProposalLists, Similarities


def hubby(n: int, m: int) -> tuple[Array, Array]:
    """Vectors with hubs, which are similar to all others."""
    rng = np.random.default_rng(n)
    left = rng.standard_normal((n, 16)).astype(np.float32) + 0.7
    right = np.resize(left, (m, 16)) + 1.5 * rng.standard_normal((m, 16)).astype(np.float32)
    return left, right.astype(np.float32)


def record(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, size: Any) -> list[int]:
    """Return the list of sizes, by what a method takes and returns, of its calls to come."""
    sizes: list[int] = []
    method = getattr(kind, name)

    def recorded(source: Any, *arguments: Any) -> Any:
        result = method(source, *arguments)
        sizes.append(size(source, result, *arguments))
        return result

    monkeypatch.setattr(kind, name, recorded)
    return sizes


AGREEING: dict[str, Callable[[int], tuple[Array, Array]]] = {
    "tied": lambda n: (np.zeros(n), np.zeros(n)),
    "rights": lambda n: (np.zeros(n), np.arange(n) * 7919 % n),
    "the last are the best": lambda n: (np.arange(n), np.zeros(n)),
    "the first are the best": lambda n: (-np.arange(n), np.arange(n)),
    "one order of either side": lambda n: (np.arange(n) * 7907 % n, np.arange(n) * 7919 % n),
}


def sums(left: Array, right: Array) -> tuple[Array, Array]:
    """Vectors with products x + y: all entities order the other side in the same way."""
    x = left.astype(np.float32)
    y = right.astype(np.float32)
    return np.stack([x, np.ones_like(x)], axis=1), np.stack([np.ones_like(y), y], axis=1)


@given(
    st.sampled_from(sorted(AGREEING)),
    st.integers(1, 45),
    st.integers(-6, 6),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 2**32),
)
def test_preferences_that_agree(
    name: str, n: int, more: int, k: int, noise: int, seed: int
) -> None:
    """Preferences nearly agree: a pass of all matches few entities, and batches are used."""
    scores = np.add.outer(*AGREEING[name](n)).astype(np.float32)[:, : max(1, n + more)]
    rng = np.random.default_rng(seed)
    scores += rng.integers(0, noise + 1, scores.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "PREFERENCES", k)
        for matrix in (scores, scores.T):
            kept = [rng.random(size) < rng.choice([0.7, 1]) for size in matrix.shape]
            some = matrix[np.ix_(*kept)]
            check(infer(some, None, method="stable"), "stable", some)


@pytest.mark.python_only
@pytest.mark.parametrize("name", AGREEING)
@pytest.mark.parametrize("k", [1, 32])
def test_work_is_a_small_multiple_of_all_pairs(
    name: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work stays bounded if preferences agree, and every round of proposals matches a pair."""
    n = 1000
    sides = AGREEING[name](n)
    monkeypatch.setattr(matching, "PREFERENCES", k)
    searches = record(monkeypatch, Similarities, "top_k", lambda *call: len(call[3]))
    rounds = record(monkeypatch, ProposalLists, "take", lambda *call: len(call[2]))
    sizes = record(monkeypatch, ProposalLists, "add", lambda *call: len(call[0].ids))
    pairs, _ = infer(*sums(*sides), method="stable", similarity="dot")
    orders = [np.argsort(-side, kind="stable") for side in sides]
    expected = np.stack(orders, axis=1)
    np.testing.assert_array_equal(pairs, expected[np.argsort(expected[:, 0])])
    assert sum(searches) <= 6 * n
    assert len(searches) <= 3 * n**0.5 / k**0.5 + 30
    assert len(rounds) <= n + 3 * len(searches)
    assert max(sizes) <= 2 * n * k


@pytest.mark.parametrize("method", ["greedy", "mutual", "stable"])
def test_the_matrix_is_never_there(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings only give the top k scores; a matrix is read a few rows at a time."""
    left, right = hubby(300, 310)
    expected = infer(left, right, method=method)
    monkeypatch.setattr(matching, "BLOCK_CELLS", 5000)
    monkeypatch.setattr(matching, "PREFERENCES", 3)
    with monkeypatch.context() as patch:
        patch.setattr("truerank.embeddings.vectors.Embeddings.score", None)
        np.testing.assert_equal(infer(left, right, method=method), expected)

    sizes = record(monkeypatch, Similarities, "block", lambda *call: call[1].size)
    matrix = tr.score_embeddings(left, right, similarity="cosine")
    np.testing.assert_equal(infer(matrix, None, method=method), expected)
    assert max(sizes) <= 5000
