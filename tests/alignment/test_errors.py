"""Errors in the evaluation of an alignment, and the places that they name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.alignment_runs import LEFT, PAIRS, RIGHT, SIMILARITIES, task_of
from support.refusals import refusal
from truerank.alignment import csls_means, evaluate

NARROW = LEFT[:, :1]


CSLS = csls_means(LEFT, RIGHT, 2)
SHORT, TURNED = CSLS._replace(queries=CSLS.queries[1:]), CSLS._replace(entities=CSLS.queries)
WHOLE = CSLS._replace(queries=np.arange(4))


OF_VECTORS: list[tuple[type[Exception], str, Any, Any, dict[str, Any]]] = [
    (ValueError, r"^left: .* shape \(4, d\), a row for each left entity, got", LEFT[:3], RIGHT, {}),
    (ValueError, "^right: expected vectors .* for each right entity", LEFT, np.ones((6, 2)), {}),
    (ValueError, "^right: expected", LEFT, RIGHT[0], {}),
    (TypeError, "^left: expected one of float16", LEFT.astype(int), RIGHT, {}),
    (ValueError, "^right: expected vectors of length 1", NARROW, RIGHT, {}),
    (ValueError, "^similarity: ", LEFT, RIGHT, {"similarity": "l3"}),
    (ValueError, "^nan: expected one of raise", LEFT, RIGHT, {"nan": "drop", "csls": 2}),
    (TypeError, "^csls: .*, got tuple", LEFT, RIGHT, {"csls": tuple(CSLS)}),
    (ValueError, "^csls: expected 4 means", LEFT, RIGHT, {"csls": SHORT}),
    (TypeError, "^right: ", LEFT, None, {}),
]


@pytest.mark.parametrize(("kind", "words", "left", "right", "how"), OF_VECTORS)
def test_errors_of_vectors(
    kind: type[Exception], words: str, left: Any, right: Any, how: dict[str, Any]
) -> None:
    refusal(kind, words, task_of().evaluate_embeddings, left, right, **how)


OF_SCORES: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
    (ValueError, r"^scores: expected .* for each left entity .*, got \(5, 4\)", SIMILARITIES.T, {}),
    (TypeError, "^scores: ", [["a"] * 5] * 4, {}),
    (TypeError, "^scores: expected floats .* dtype int64", np.ones((4, 5), np.int64), {"csls": 1}),
    (TypeError, "^scores: expected floats .* dtype int8", np.ones((4, 5), np.int8), {"csls": CSLS}),
    (ValueError, "^order: expected .* with csls", SIMILARITIES, {"order": "ascending", "csls": 3}),
    (ValueError, "^io: expected one of map, read", SIMILARITIES, {"io": "mmap"}),
    (ValueError, "^csls: expected an integer >= 1", SIMILARITIES, {"csls": -1}),
    (ValueError, "^csls: expected 5 means", SIMILARITIES, {"csls": TURNED}),
    (ValueError, "^csls: expected . means for left, one float", SIMILARITIES, {"csls": WHOLE}),
    (FileNotFoundError, "absent", "absent.npy", {}),
]


@pytest.mark.parametrize(("kind", "words", "scores", "how"), OF_SCORES)
def test_errors_of_scores(
    kind: type[Exception], words: str, scores: Any, how: dict[str, Any]
) -> None:
    refusal(kind, words, task_of().evaluate_scores, scores, **how)


ONE_CALL: list[tuple[str, Any, Any, dict[str, Any]]] = [
    ("^order: expected none beside vectors", LEFT, RIGHT, {"order": "ascending"}),
    ("^io: expected none beside vectors", LEFT, RIGHT, {"io": "map"}),
    ("^block: .* beside a matrix", SIMILARITIES, None, {"block": 3}),
    ("^similarity: ", SIMILARITIES, None, {"similarity": "l1"}),
    ("^test: expected ids of left from 0 to 1", LEFT[:2], RIGHT, {}),
    ("^scores: the score of left 0", SIMILARITIES * np.nan, None, {}),
    (r"^right: expected a matrix \(entities, d\)", LEFT, RIGHT[0], {}),
]


@pytest.mark.parametrize(("words", "left", "right", "how"), ONE_CALL)
def test_errors_of_one_call(words: str, left: Any, right: Any, how: dict[str, Any]) -> None:
    refusal(ValueError, words, evaluate, left, right, PAIRS, **how)
