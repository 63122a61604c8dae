"""First neighbours: `neighbours` against a whole matrix, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import found_pairs as oracle
from oracles.embeddings import scored_by
from support.examples import examples
from support.refusals import T, V, refusal
from truerank.alignment import csls_means, neighbours

pytestmark = pytest.mark.python_only


@given(st.integers(0, 2**32), st.sampled_from(["cosine", "dot", "l1"]), st.sampled_from([None, 2]))
@examples(100)
def test_both_directions_are_those_of_a_whole_matrix(
    seed: int, similarity: Any, csls: int | None
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, 2)
    left, right = (rng.integers(-1, 2, (n, 3)).astype("f4") for n in sizes)
    k = int(rng.integers(1, min(sizes) + 1))
    result = neighbours(left, right, k=k, similarity=similarity, csls=csls)
    means = csls and csls_means(left, right, csls, similarity=similarity)
    scores = tr.score_embeddings(left, right, csls=means, **scored_by(similarity))
    for side, matrix in (("left_to_right", scores), ("right_to_left", scores.T)):
        expected = oracle.first_neighbours(matrix, k)
        for name in ("times", "shares", "tied"):
            np.testing.assert_equal(getattr(result, name)[side], expected[name])
        for name in ("means", "deviations"):
            np.testing.assert_allclose(getattr(result, name)[side], expected[name], atol=1e-12)
    given_means = neighbours(left, right, k=k, similarity=similarity, csls=means)
    assert given_means.to_json() == result.to_json()


def test_hubs_have_names_and_the_most_frequent_comes_first() -> None:
    left = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.2, 1], [-1, 0]])
    right = np.array([[1, 0], [0, 1], [-1, 0], [0.5, -1]])
    names = {"left": list("abcdef"), "right": ["x", "y", "z", "w"]}
    result = neighbours(left, right, k=1, labels=names)
    assert result.hubs["left_to_right"] == {"y": 3, "x": 2}
    assert neighbours(left, right, k=1).hubs["left_to_right"] == {1: 3, 0: 2}
    assert result.shares["left_to_right"] == {"none": 0.25, "one": 0.25, "more": 0.5}
    assert "left_to_right: the first neighbour of most: y of 3, x of 2" in str(result)
    refusal(
        V,
        "^labels: right: expected 4, one for",
        neighbours,
        left,
        right,
        labels={**names, "right": ["xyz"]},
    )


def test_a_control_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="every entity is most similar to itself"):
        control = neighbours(np.eye(3), np.eye(3), k=1)
    assert control.shares["left_to_right"]["one"] == 1


@pytest.mark.parametrize(
    ("kind", "argument", "options"),
    [
        (V, "k", {"k": 0}),
        (T, "k", {"k": 1.5}),
        (V, "nan", {"nan": "omit"}),
        (V, "similarity", {"similarity": "best"}),
        (V, "csls", {"csls": 0}),
        (T, "csls", {"csls": "10"}),
        (V, "left", {"left": [[np.nan, 1.0]] * 3}),
        (V, "left: expected at least one entity", {"left": np.zeros((0, 2))}),
        (V, "right: expected at least one entity", {"right": np.zeros((0, 2))}),
    ],
)
def test_what_is_refused(kind: Any, argument: str, options: dict[str, Any]) -> None:
    vectors: dict[str, Any] = {"left": np.eye(3)[:, :2], "right": -np.eye(2), "k": 1}
    refusal(kind, f"^({argument}|scores)", neighbours, **vectors | options)
