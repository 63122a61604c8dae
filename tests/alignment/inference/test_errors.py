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
    taking_part = {"left_ids": [1, 3], "right_ids": [2, 4, 5], "method": method}
    for csls in (None, 1):
        words = "the score of left 3 and right 4 is NaN"
        refusal(ValueError, words, infer, scores, None, csls=csls, **taking_part)
    assert infer(scores, None, method=method, left_ids=[1, 3], right_ids=[2, 5]).scores.all()
    if method == "greedy":
        words = "left 3 and right 4 is NaN"
        refusal(ValueError, words, infer, scores, None, direction="right_to_left")


STABLE, OPTIMAL = {"method": "stable"}, {"method": "optimal"}
BACKWARDS = {"direction": "right_to_left", **STABLE}
FEW, NONE = {"candidates_per_entity": 3}, {"candidates_per_entity": 0}


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"method": "best"}, ValueError, "method: expected one of greedy, mutual, stable, optimal"),
        ({"method": None}, TypeError, "method: expected a str, got NoneType"),
        ({"similarity": "euclid"}, ValueError, "similarity: expected one of dot, cosine"),
        ({"direction": "both"}, ValueError, "direction: expected one of left_to_right"),
        (BACKWARDS, ValueError, 'direction: expected with method="greedy" alone, got "stable"'),
        ({**STABLE, **FEW}, ValueError, 'candidates_per_entity: expected with method="optimal"'),
        ({**OPTIMAL, **NONE}, ValueError, "_per_entity: expected an integer >= 1, got 0"),
        ({"nan": "worst"}, ValueError, "nan: expected one of raise, omit, got 'worst'"),
        ({"k": 0}, ValueError, "k: expected an integer >= 1, got 0"),
        ({"threshold": "0.5"}, TypeError, "threshold: expected a number, got str"),
        ({"threshold": np.nan}, ValueError, "threshold: expected a number, got nan"),
        ({"csls": 0}, ValueError, "csls: expected an integer >= 1, got 0"),
        ({"csls": CSLS(np.zeros(3), np.zeros(3), 1)}, ValueError, "csls: expected 4 means for ri"),
        ({"csls": CSLS(np.ones(3, int), np.ones(4), 1)}, ValueError, "csls: .* got dtype int64"),
        ({"left_ids": [3]}, ValueError, "left_ids: expected ids of entities from 0 to 2, got 3"),
        ({"right_ids": [0, -1]}, ValueError, "right_ids: expected .* entities from 0 to 3, got -1"),
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
