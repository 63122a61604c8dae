"""What `infer` takes, refuses, and says of itself."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from strategies.score_matrices import METHODS, Array
from support.problems import as_dtype
from support.refusals import refusal
from truerank.alignment import CSLS, infer
from truerank.alignment.matching.similarities import open_similarities
from truerank.stores.mapped import map_of

pytestmark = pytest.mark.python_only


def test_what_was_done() -> None:
    scores = np.eye(3)
    told = {method: infer(scores, None, method=method).solved for method in METHODS}
    assert told == {"greedy": "left_to_right", "mutual": "", "stable": "", "optimal": "dense"}
    assert infer(scores, None, direction="right_to_left").solved == "right_to_left"
    found = infer(scores, None, left_ids=[0, 2], threshold=0.5)
    assert found.unmatched_left.tolist() == []
    assert found.unmatched_right.tolist() == [1]
    assert (len(found), found.total, found.threshold) == (2, 2.0, 0.5)
    assert "left_ids" not in repr(found)


def arrays_of(found: Any) -> list[Array]:
    values = list(vars(found).values())
    values += [each for value in values if isinstance(value, dict) for each in value.values()]
    return [value for value in values if isinstance(value, np.ndarray)]


def test_arrays_are_read_only_and_results_can_be_pickled() -> None:
    found = infer(np.eye(3), None)
    for other in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert type(other) is type(found)
        arrays = arrays_of(other)
        assert len(arrays) == 4
        for array, ours in zip(arrays, arrays_of(found), strict=True):
            assert other is not found or not array.flags.writeable
            np.testing.assert_array_equal(array, ours)


def test_numbers_for_loggers() -> None:
    scores = np.array([[0.5, 0.25], [0.75, 1.0], [0.5, 0.0]], np.float32)
    found = infer(scores, None, method="stable", threshold=0.5).to_dict()
    assert found == {
        "method": "stable", "solved": "", "threshold": 0.5, "pairs": 2, "total": 1.5,
        "unmatched_left": 1, "unmatched_right": 0,
    }  # fmt: skip
    assert json.loads(json.dumps(found)) == found
    assert infer(scores, None).to_dict()["solved"] == "left_to_right"


@pytest.mark.parametrize("method", METHODS)
def test_inputs(method: str, tmp_path: Path) -> None:
    """Inputs may be read-only, mapped or files, of any dtype and layout; none is written to."""
    rng = np.random.default_rng(4)
    left, right = (rng.integers(-9, 9, (n, 3)).astype(np.float32) / 4 for n in (11, 12))
    expected = infer(left, right, method=method, similarity="dot")
    for side, array in (("left", left), ("right", right)):
        array.flags.writeable = False
        np.save(tmp_path / f"{side}.npy", array)
    paths = tmp_path / "left.npy", str(tmp_path / "right.npy")
    brain = [array.astype(as_dtype("bfloat16")) for array in (left, right)]
    for sides in (paths, (left[:, ::-1], right[:, ::-1]), brain, (left.tolist(), right)):
        found = infer(*sides, method=method, similarity="dot")
        np.testing.assert_array_equal(found.pairs, expected.pairs)
        np.testing.assert_array_equal(found.scores, expected.scores)
    raw = [side.view(np.uint16) for side in brain]
    found = infer(*raw, method=method, similarity="dot", dtype="bfloat16")
    np.testing.assert_array_equal(found.pairs, expected.pairs)


WIDE = {"f2": "f4", "f4": "f4", "f8": "f8", ">f4": "f4", "i1": "f4", "u2": "f4"}
WIDE |= {"i4": "f8", "i8": "f8", "u8": "f8", "bfloat16": "f4"}


@pytest.mark.parametrize("kind", WIDE)
def test_matrices(kind: str, tmp_path: Path) -> None:
    """Of any dtype and layout, or in files, which are mapped, and never copied."""
    scores = np.random.default_rng(5).integers(0, 90, (7, 9))
    given = scores.astype(as_dtype(kind))
    given.flags.writeable = False
    forms: list[Any] = [given, np.asfortranarray(given), np.repeat(given, 2, axis=1)[:, ::2]]
    if kind != "bfloat16":
        np.save(tmp_path / "S.npy", np.asfortranarray(given))
        forms += [str(tmp_path / "S.npy"), np.load(tmp_path / "S.npy", mmap_mode="r")]
        opened = open_similarities(tmp_path / "S.npy", None).scores.array
        assert map_of(opened)[0] is not None
        assert not opened.flags.writeable
    for method in METHODS:
        expected = infer(scores.astype(float), None, method=method)
        for matrix in forms:
            found = infer(matrix, None, method=method)
            np.testing.assert_array_equal(found.pairs, expected.pairs)
            np.testing.assert_array_equal(found.scores, expected.scores)
            assert found.scores.dtype == WIDE[kind]


def test_matrices_in_shards_and_stores(tmp_path: Path) -> None:
    scores = np.random.default_rng(10).random((8, 9))
    np.save(tmp_path / "part-0.npy", scores[:2])
    np.save(tmp_path / "part-1.npy", scores[2:])
    paths = [tmp_path / "part-0.npy", tmp_path / "part-1.npy"]
    with tr.open_scores(paths) as store:
        for matrix in (paths, store):
            np.testing.assert_equal(vars(infer(matrix, None)), vars(infer(scores, None)))


@pytest.mark.parametrize("method", METHODS)
def test_nan_is_refused_with_its_entities(method: str) -> None:
    left = np.ones((4, 2), np.float32)
    right = np.ones((5, 2), np.float32)
    right[3, 0] = np.nan
    message = 'scores: the score of left 0 and right 3 is NaN, which nan="raise" does not allow'
    refusal(ValueError, message, infer, left, right, method=method, similarity="dot")
    words = r"left \d and right 3 is NaN"
    refusal(ValueError, words, infer, left, right, method=method, similarity="dot", csls=2)


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


STABLE = {"method": "stable"}
OPTIMAL = {"method": "optimal"}
BACKWARDS = {"direction": "right_to_left", **STABLE}
FEW = {"candidates_per_entity": 3}
NONE = {"candidates_per_entity": 0}
ALONE = {"right": None}
ONE = np.ones(2)


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
        ({"left_ids": [0.5]}, TypeError, "left_ids: expected integers, .* got 0.5"),
        ({"threads": 0}, ValueError, "threads: expected an integer >= 1, got 0"),
        ({"right": np.ones((4, 3))}, ValueError, "right: expected .* length 2, as in left"),
        ({"left": ONE}, ValueError, r"left: expected a matrix \(entities, d\)"),
        ({"right": ONE}, ValueError, r"right: expected a matrix \(entities, d\)"),
        ({"right": [["a"]]}, TypeError, "right: expected one of float16"),
        ({"left": ONE, **ALONE}, ValueError, r"left: expected a matrix \(left, right\), got"),
        ({"left": [[True]], **ALONE}, TypeError, "left: expected one of float16.*got dtype bool"),
        ({"left": [[2**53 + 1]], **ALONE}, ValueError, r"left: expected integers up to 2\*\*53"),
    ],
)
def test_what_is_refused(keywords: dict[str, Any], kind: type[Exception], message: str) -> None:
    refusal(kind, message, infer, **{"left": np.ones((3, 2)), "right": np.ones((4, 2)), **keywords})


@pytest.mark.parametrize("similarity", ["l2", "dot", "euclid", None])
def test_no_similarity_beside_a_matrix(similarity: Any) -> None:
    message = f"^similarity: expected none beside a matrix, got {similarity!r}$"
    refusal(ValueError, message, infer, np.eye(3), None, similarity=similarity)
