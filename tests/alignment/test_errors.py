"""Errors in the evaluation of an alignment, and the places that they name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.alignment_runs import LEFT, PAIRS, RIGHT, SIMILARITIES, same, task_of
from support.error_kinds import is_of_kind
from truerank.alignment import csls_means, evaluate, infer

NARROW = LEFT[:, :1]


CSLS = csls_means(LEFT, RIGHT, 2)


OF_VECTORS: dict[str, tuple[type[Exception], str, Any, Any, dict[str, Any]]] = {
    "too few left": (
        ValueError,
        r"^left: expected vectors of shape \(4, d\), a row for each left entity, got",
        *(LEFT[:3], RIGHT, {}),
    ),
    "too many right": (
        ValueError,
        r"^right: expected vectors of shape \(5, d\), a row for each right entity",
        *(LEFT, np.ones((6, 2)), {}),
    ),
    "one vector": (ValueError, r"^left: expected vectors of shape", LEFT[0], RIGHT, {}),
    "a flat right": (ValueError, "^right: expected", LEFT, RIGHT[0], {}),
    "integers": (TypeError, "^left: expected one of float16", LEFT.astype(int), RIGHT, {}),
    "lengths": (ValueError, "^right: expected vectors of length 1", NARROW, RIGHT, {}),
    "similarity": (ValueError, "^similarity: ", LEFT, RIGHT, {"similarity": "l3"}),
    "nan": (ValueError, "^nan: expected one of raise", LEFT, RIGHT, {"nan": "drop", "csls": 2}),
    "no neighbours": (ValueError, "^csls: expected an integer >= 1", LEFT, RIGHT, {"csls": 0}),
    "a bool": (TypeError, "^csls: expected an integer >= 1", LEFT, RIGHT, {"csls": True}),
    "a float": (TypeError, "^csls: .*, got float", LEFT, RIGHT, {"csls": 10.0}),
    "a tuple": (TypeError, "^csls: .*, got tuple", LEFT, RIGHT, {"csls": tuple(CSLS)}),
    "means of others": (
        ValueError,
        "^csls: expected 4 means",
        *(LEFT, RIGHT, {"csls": CSLS._replace(queries=CSLS.queries[1:])}),
    ),
    "missing": (TypeError, "^right: ", LEFT, None, {}),
}


@pytest.mark.parametrize(
    ("kind", "words", "left", "right", "how"), OF_VECTORS.values(), ids=OF_VECTORS
)
def test_errors_of_vectors(
    kind: type[Exception], words: str, left: Any, right: Any, how: dict[str, Any]
) -> None:
    with pytest.raises(kind, match=words) as error:
        task_of().evaluate_embeddings(left, right, **how)
    assert is_of_kind(error.value, kind)


OF_SCORES: dict[str, tuple[type[Exception], str, Any, dict[str, Any]]] = {
    "turned": (
        ValueError,
        r"^scores: expected scores of shape \(4, 5\), a row for each left entity .*, got \(5, 4\)",
        *(SIMILARITIES.T, {}),
    ),
    "flat": (ValueError, r"^scores: expected scores of shape", SIMILARITIES[0], {}),
    "words": (TypeError, "^scores: ", [["a"] * 5] * 4, {}),
    "integers and csls": (
        TypeError,
        "^scores: expected floats with csls, got dtype int64",
        *(np.ones((4, 5), np.int64), {"csls": 1}),
    ),
    "integers and means": (
        TypeError,
        "^scores: expected floats with csls, got dtype int8",
        *(np.ones((4, 5), np.int8), {"csls": CSLS}),
    ),
    "distances": (
        ValueError,
        '^order: expected "descending" with csls',
        *(SIMILARITIES, {"order": "ascending", "csls": 3}),
    ),
    "order and csls": (ValueError, "^order: ", SIMILARITIES, {"order": "up", "csls": 2}),
    "nan": (ValueError, "^nan: expected one of", SIMILARITIES, {"nan": "drop", "csls": 2}),
    "io": (ValueError, "^io: expected one of map, read", SIMILARITIES, {"io": "mmap"}),
    "no neighbours": (ValueError, "^csls: expected an integer >= 1", SIMILARITIES, {"csls": -1}),
    "means of others": (
        ValueError,
        "^csls: expected 5 means",
        *(SIMILARITIES, {"csls": CSLS._replace(entities=CSLS.queries)}),
    ),
    "integers as means": (
        ValueError,
        "^csls: expected . means for left, one float",
        *(SIMILARITIES, {"csls": CSLS._replace(queries=np.arange(4))}),
    ),
    "no file": (FileNotFoundError, "absent", "absent.npy", {}),
}


@pytest.mark.parametrize(("kind", "words", "scores", "how"), OF_SCORES.values(), ids=OF_SCORES)
def test_errors_of_scores(
    kind: type[Exception], words: str, scores: Any, how: dict[str, Any]
) -> None:
    with pytest.raises(kind, match=words) as error:
        task_of().evaluate_scores(scores, **how)
    assert is_of_kind(error.value, kind)


def test_a_nan_is_named_by_its_place_in_both_directions() -> None:
    """Messages never name places of the transposed matrix."""
    for place in ((0, 4), (3, 1)):  # of a left entity that asks, and of a right one
        scores = SIMILARITIES.copy()
        scores[place] = np.nan
        words = f"^scores: the score of left {place[0]} and right {place[1]} is NaN, which nan="
        for k in (None, 2):
            with pytest.raises(ValueError, match=words):
                task_of().evaluate_scores(scores, csls=k)
    scores = SIMILARITIES.copy()
    scores[2, 1] = np.nan  # of a pair
    for order in "CF":
        with pytest.raises(
            ValueError, match=r"^scores: the true score, of left 2 and right 1, is NaN"
        ):
            task_of().evaluate_scores(np.array(scores, order=order), nan="omit")
    scores = SIMILARITIES.copy()
    scores[3, 4] = np.nan  # of nobody who asks, but of a neighbour
    assert same(task_of().evaluate_scores(scores), task_of().evaluate_scores(SIMILARITIES))
    with pytest.raises(ValueError, match=r"^scores: the score of left 3 and right 4 is NaN"):
        task_of().evaluate_scores(scores, csls=2)
    few = task_of(candidates="test")
    assert same(few.evaluate_scores(scores, csls=2), few.evaluate_scores(SIMILARITIES, csls=2))


ONE_CALL: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "order of vectors": (
        "^order: expected none beside vectors",
        LEFT,
        RIGHT,
        {"order": "ascending"},
    ),
    "io of vectors": ("^io: expected none beside vectors", LEFT, RIGHT, {"io": "map"}),
    "block of a matrix": ("^block: .* beside a matrix", SIMILARITIES, None, {"block": 3}),
    "similarity of a matrix": ("^similarity: ", SIMILARITIES, None, {"similarity": "l1"}),
    "ids of no vector": ("^test: expected ids of left from 0 to 1", LEFT[:2], RIGHT, {}),
    "a flat matrix": ("^test: expected ids of left from 0 to 0", SIMILARITIES[0], None, {}),
    "a nan": ("^scores: the score of left 0", SIMILARITIES * np.nan, None, {}),
    "flat vectors": (r"^right: expected a matrix \(entities, d\)", LEFT, RIGHT[0], {}),
}


@pytest.mark.parametrize(("words", "left", "right", "how"), ONE_CALL.values(), ids=ONE_CALL)
def test_errors_of_one_call(words: str, left: Any, right: Any, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate(left, right, PAIRS, **how)


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 0)], [(i, i) for i in range(6)]])
@pytest.mark.parametrize(("left", "right"), [(5, None), (None, 6)])
def test_a_nan_is_said_of_its_side(
    pairs: list[tuple[int, int]], left: int | None, right: int | None
) -> None:
    """Joint and separate counts name the same left and right entities."""
    vectors = [np.ones((7, 2)), np.ones((8, 2))]
    if left is not None:
        vectors[0][left] = np.nan
    if right is not None:
        vectors[1][right] = np.nan
    pair = rf"left {5 if left else 0} and right {6 if right else 0} is NaN"
    with pytest.raises(ValueError, match=rf"^scores: the score of {pair}"):
        evaluate(*vectors, pairs)
    with pytest.raises(ValueError, match=rf"^scores: the score of {pair}"):
        evaluate(*vectors, pairs, csls=2)


@pytest.mark.parametrize(
    "folder", ["left has", "rows of scores", "query 1 and entity 2", "row 1, column 2", "scores: "]
)
def test_files_are_reported_under_their_own_path(folder: str, tmp_path: Path) -> None:
    """A path may contain words of messages, as messages are never edited afterwards."""
    place = tmp_path / folder
    place.mkdir()
    path = str(place / "x.npy")
    Path(path).write_bytes(b"")
    said = f"^left: {re.escape(path)}: expected a .npy file, the header is broken: EOF"
    task = task_of()
    for call in (
        lambda: evaluate(path, RIGHT, [(0, 0)]),
        lambda: evaluate(path, None, [(0, 0)]),
        lambda: task.evaluate_embeddings(path, RIGHT),
        lambda: csls_means(path, RIGHT, 2),
        lambda: infer(path, RIGHT),
        lambda: infer(path, None),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(ValueError, match=said.replace("left", "scores", 1)):
        task.evaluate_scores(path)
