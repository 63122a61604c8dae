"""What `infer` refuses: NaN, unknown options, vectors and matrices that do not fit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from strategies.score_matrices import METHODS
from support.refusals import refusal
from truerank.alignment import CSLS, dangling, infer, most_similar

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize("method", METHODS)
def test_nan_is_refused_with_its_entities(method: str) -> None:
    left, right = np.ones((4, 2), np.float32), np.ones((5, 2), np.float32)
    right[3, 0] = np.nan
    message = 'scores: the score of left 0 and right 3 is NaN, which nan="raise" does not allow'
    refusal(ValueError, message, infer, left, right, method=method, similarity="dot")
    with pytest.raises(ValueError, match=r"left \d and right 3 is NaN"):
        infer(left, right, method=method, similarity="dot", csls=2)
    kept = infer(left, right, method=method, similarity="dot", nan="omit")
    assert 3 not in kept.pairs[:, 1]
    assert len(kept) == (1 if method == "mutual" else 4)
    part = infer(left, right, method=method, similarity="dot", right_ids=[0, 1, 4])
    assert len(part) == {"greedy": 4, "mutual": 1}.get(method, 3)


@pytest.mark.parametrize("method", METHODS)
def test_nan_is_refused_by_the_ids_of_all(method: str) -> None:
    scores = np.ones((5, 6))
    scores[3, 4] = np.nan
    taking_part = {"left_ids": [1, 3], "right_ids": [2, 4, 5]}
    refusal(ValueError, "score of left 3 .* NaN", infer, scores, None, method=method, **taking_part)
    with pytest.raises(ValueError, match="score of left 3 and right 4 is NaN"):
        infer(scores, None, method=method, **taking_part, csls=1)
    assert infer(scores, None, method=method, left_ids=[1, 3], right_ids=[2, 5]).scores.all()


def test_nan_is_refused_from_the_right() -> None:
    left, right = np.ones((4, 2)), np.ones((5, 2))
    left[2, 0] = np.nan
    with pytest.raises(ValueError, match="score of left 2 and right 0 is NaN"):
        infer(left, right, similarity="dot", direction="right_to_left")


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"method": "best"}, ValueError, "method: expected one of greedy, mutual, stable, optimal"),
        ({"method": None}, TypeError, "method: expected a str, got NoneType"),
        ({"similarity": "euclid"}, ValueError, "similarity: expected one of dot, cosine"),
        ({"direction": "both"}, ValueError, "direction: expected one of left_to_right"),
        (
            {"direction": "right_to_left", "method": "stable"},
            ValueError,
            'direction: expected with method="greedy" alone, got "stable"',
        ),
        ({"nan": "worst"}, ValueError, "nan: expected one of raise, omit, got 'worst'"),
        ({"k": 0}, ValueError, "k: expected an integer >= 1, got 0"),
        ({"k": 2.0}, TypeError, "k: expected an integer >= 1, got float"),
        ({"threshold": "0.5"}, TypeError, "threshold: expected a number, got str"),
        ({"threshold": True}, TypeError, "threshold: expected a number, got bool"),
        ({"threshold": np.nan}, ValueError, "threshold: expected a number, got nan"),
        ({"csls": 0}, ValueError, "csls: expected an integer >= 1, got 0"),
        ({"csls": True}, TypeError, "csls: expected an integer >= 1, got bool"),
        ({"csls": 1.5}, TypeError, "csls: expected an integer >= 1, got float"),
        (
            {"csls": CSLS(np.zeros(3), np.zeros(3), 1)},
            ValueError,
            r"csls: expected 4 means for right, one float .* got dtype float64, shape \(3,\)",
        ),
        (
            {"csls": CSLS(np.zeros(3, int), np.zeros(4), 1)},
            ValueError,
            "csls: expected 3 means for left, one float for each, got dtype int64",
        ),
        ({"left_ids": [3]}, ValueError, "left_ids: expected ids of entities from 0 to 2, got 3"),
        ({"right_ids": [0, -1]}, ValueError, "right_ids: expected .* entities from 0 to 3, got -1"),
        ({"right_ids": [[0]]}, ValueError, r"right_ids: expected a 1-D array, got shape"),
        ({"left_ids": [0.5]}, TypeError, "left_ids: expected integers, got dtype float64"),
        ({"threads": 0}, ValueError, "threads: expected an integer >= 1, got 0"),
    ],
)
def test_options(keywords: dict[str, Any], kind: type[Exception], message: str) -> None:
    refusal(kind, message, infer, np.ones((3, 2)), np.ones((4, 2)), **keywords)


@pytest.mark.parametrize(
    ("left", "right", "kind", "message"),
    [
        (np.ones((3, 2)), np.ones((4, 3)), ValueError, "right: expected .* length 2, as in left"),
        (np.ones(3), np.ones((4, 3)), ValueError, r"left: expected a matrix \(entities, d\)"),
        (np.ones((3, 2)), np.ones(2), ValueError, r"right: expected a matrix \(entities, d\)"),
        (np.ones((3, 2, 1)), np.ones((4, 2)), ValueError, r"left: expected .*\(entities, d\),"),
        (np.ones((3, 2), int), np.ones((4, 2)), TypeError, "left: expected one of float16"),
        (np.ones((3, 2)), [["a"]], TypeError, "right: expected one of float16"),
        (np.ones(3), None, ValueError, r"left: expected a matrix \(left, right\), got"),
        (np.ones((3, 2), bool), None, TypeError, "left: expected one of float16.*got dtype bool"),
        ([[2**53 + 1]], None, ValueError, r"left: expected integers up to 2\*\*53"),
    ],
)  # fmt: skip
def test_vectors_and_matrices(left: Any, right: Any, kind: type[Exception], message: str) -> None:
    refusal(kind, message, infer, left, right)


@pytest.mark.parametrize("similarity", ["l2", "dot", "euclid", None])
def test_no_similarity_beside_a_matrix(similarity: Any) -> None:
    message = f"^similarity: expected none beside a matrix, got {similarity!r}$"
    for call in (infer, most_similar, partial(dangling, exclusive=[0])):
        refusal(ValueError, message, call, np.eye(3), None, similarity=similarity)
