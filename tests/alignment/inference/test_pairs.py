"""Pairs of entities: each rule held against its definition, and what agrees with a reference."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from truerank.alignment.analyses.hubs import compare_hubness, hubness
from truerank.alignment.analyses.overlaps import overlap
from truerank.alignment.analyses.similarities import similarity_profile
from truerank.alignment.inference.dangling_entities import dangling
from truerank.alignment.inference.inferred_pairs import Agreement
from truerank.alignment.inference.matching import infer
from truerank.alignment.inference.similarity_sources import (
    MatrixSource,
    ScoringOptions,
    open_source,
)
from truerank.alignment.local_scaling import csls_means
from truerank.embeddings.vectors import CSLS
from truerank.stores.recognition import file_map_of

pytestmark = pytest.mark.python_only

Array = npt.NDArray[Any]
METHODS = ("greedy", "mutual", "stable", "optimal")
NEAREST = ("greedy", "mutual")


def nearest(row: Array) -> int:
    """The column of the highest score, of equal ones the lowest; -1 where all are NaN."""
    best = -1
    for column, score in enumerate(row):
        if score == score and (best < 0 or score > row[best]):
            best = column
    return best


def greedy(scores: Array) -> list[list[int]]:
    found = [[i, nearest(row)] for i, row in enumerate(scores)]
    return [pair for pair in found if pair[1] >= 0]


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


@st.composite
def matrices(draw: st.DrawFn) -> Array:
    shape = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = (0, 1, 2, -0.0, np.nan, -np.inf, np.inf)
    kind = draw(st.sampled_from([np.float32, np.float64]))
    return rng.choice(np.array(values[: draw(st.integers(1, len(values)))], kind), shape)


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
    """Some entities take part; the means of CSLS are over them."""
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
@pytest.mark.parametrize("csls", [None, 1, 3, 100])
def test_a_matrix_is_what_its_vectors_are(method: str, csls: int | None) -> None:
    rng = np.random.default_rng(1)
    left, right = (rng.standard_normal((n, 4)).astype(np.float32) for n in (20, 23))
    ids = {"left_ids": np.arange(3, 20), "right_ids": np.arange(20)}
    scores = tr.score_embeddings(left, right, similarity="cosine")
    for chosen in ({}, ids):
        of_vectors = infer(left, right, method=method, csls=csls, **chosen)
        of_matrix = infer(scores, None, method=method, csls=csls, **chosen)
        np.testing.assert_array_equal(of_matrix.pairs, of_vectors.pairs)
        np.testing.assert_array_equal(of_matrix.scores, of_vectors.scores, strict=True)


@pytest.mark.parametrize("method", METHODS)
def test_means_may_be_given(method: str) -> None:
    rng = np.random.default_rng(2)
    left, right = (rng.standard_normal((n, 4)).astype(np.float32) for n in (9, 8))
    means = csls_means(left, right, 3)
    expected = infer(left, right, method=method, csls=3)
    np.testing.assert_array_equal(
        infer(left, right, method=method, csls=means).pairs, expected.pairs
    )
    scores = tr.score_embeddings(left, right, similarity="cosine")
    found = infer(scores, None, method=method, csls=means)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("method", METHODS)
def test_the_threshold_leaves_out_what_is_below(method: str) -> None:
    """And nothing else: what is equal stays, and nobody is matched anew."""
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
def test_inputs(method: str, tmp_path: Path) -> None:
    """Read-only, mapped, in files, of any dtype and layout; never written to."""
    rng = np.random.default_rng(4)
    left, right = (rng.integers(-9, 9, (n, 3)).astype(np.float32) / 4 for n in (11, 12))
    expected = infer(left, right, method=method, similarity="dot")
    for side, array in (("left", left), ("right", right)):
        array.flags.writeable = False
        np.save(tmp_path / f"{side}.npy", array)
    paths = tmp_path / "left.npy", str(tmp_path / "right.npy")
    mapped = np.load(paths[0], mmap_mode="r")
    half = left.astype(np.float16), np.asfortranarray(right.astype(np.float16))
    brain = left.astype(ml_dtypes.bfloat16), right.astype(ml_dtypes.bfloat16)
    for sides in ((left, right), paths, (mapped, right), half, brain, (left.tolist(), right)):
        found = infer(*sides, method=method, similarity="dot")
        np.testing.assert_array_equal(found.pairs, expected.pairs)
        np.testing.assert_array_equal(found.scores, expected.scores)
    raw = [side.view(np.uint16) for side in brain]
    found = infer(*raw, method=method, similarity="dot", dtype="bfloat16")
    np.testing.assert_array_equal(found.pairs, expected.pairs)


@pytest.mark.parametrize("kind", ["f2", ">f4", "f8", "i8"])
def test_a_matrix_in_a_file(kind: str, tmp_path: Path) -> None:
    """Mapped, by rows or by columns, by whatever path; never made anew."""
    scores = np.random.default_rng(8).integers(0, 99, (40, 50)).astype(kind)
    path = tmp_path / "S.npy"
    for layout in (scores, np.asfortranarray(scores)):
        np.save(path, layout)
        for matrix in (path, str(path), np.load(path, mmap_mode="r")):
            for method in METHODS:
                found = infer(matrix, None, method=method, csls=2)
                expected = infer(scores, None, method=method, csls=2)
                np.testing.assert_array_equal(found.pairs, expected.pairs)
                np.testing.assert_array_equal(found.scores, expected.scores, strict=True)
    source = open_source(path, None, ScoringOptions())
    assert isinstance(source, MatrixSource)
    assert file_map_of(source.matrix) is not None
    assert not source.matrix.flags.writeable


def test_raw_and_empty_matrices_in_files(tmp_path: Path) -> None:
    path = tmp_path / "S.npy"
    scores = np.random.default_rng(9).random((5, 6)).astype(ml_dtypes.bfloat16)
    np.save(path, scores.view(np.uint16))
    expected = infer(scores, None)
    found = infer(path, None, dtype="bfloat16")
    np.testing.assert_array_equal(found.scores, expected.scores)
    for shape in ((0, 3), (3, 0)):
        np.save(path, np.zeros(shape))
        assert infer(path, None).shape == shape


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("kind", "wide"),
    [
        ("f2", "f4"), ("f4", "f4"), ("f8", "f8"), (">f4", "f4"), ("i1", "f4"), ("u2", "f4"),
        ("i4", "f8"), ("i8", "f8"), ("u8", "f8"), (ml_dtypes.bfloat16, "f4"),
    ],
)  # fmt: skip
def test_matrices(method: str, kind: Any, wide: str) -> None:
    scores = np.random.default_rng(5).integers(0, 90, (7, 9))
    expected = infer(scores.astype(float), None, method=method)
    given = scores.astype(kind)
    given.flags.writeable = False
    for matrix in (given, np.asfortranarray(given), np.repeat(given, 2, axis=1)[:, ::2]):
        found = infer(matrix, None, method=method)
        np.testing.assert_array_equal(found.pairs, expected.pairs)
        np.testing.assert_array_equal(found.scores, expected.scores)
        assert found.scores.dtype == wide


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


# --- agreement


def shares(
    pairs: list[list[int]], scores: Array, reference: list[list[int]], ids: Any, direction: str
) -> dict[str, Any]:
    """Every number by its definition, with sets and loops."""
    asked = 0 if direction == "left_to_right" else 1
    every = {tuple(pair) for pair in reference}
    wanted = {pair for pair in every if pair[0] in ids[0] and pair[1] in ids[1]}
    found = [tuple(pair) for pair in pairs]
    correct = sum(pair in wanted for pair in found)
    entities = {pair[asked] for pair in wanted}
    hits = unmatched = 0
    for entity in entities:
        own = [pair for pair in found if pair[asked] == entity]
        unmatched += not own
        if own:
            hits += min(own, key=lambda pair: (-scores[pair], pair[1 - asked])) in wanted

    def share(part: int, whole: int) -> float:
        return part / whole if whole else math.nan

    return {
        "precision": share(correct, len(found)),
        "recall": share(correct, len(wanted)),
        "f1": share(2 * correct, len(found) + len(wanted)),
        "hits_at_1": share(hits, len(entities)),
        "correct": correct,
        "predicted": len(found),
        "reference": len(wanted),
        "asked": len(entities),
        "unmatched": unmatched,
        "left_out": len(every) - len(wanted),
        "direction": direction,
    }


@given(matrices(), st.sampled_from(METHODS[:3]), st.booleans(), st.data())
@settings(max_examples=200)
def test_agreement(scores: Array, method: str, backwards: bool, data: st.DataObject) -> None:
    height, width = scores.shape
    pair = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    reference = [list(p) for p in data.draw(st.lists(pair))] if height and width else []
    ids = [
        data.draw(st.none() | st.lists(st.integers(0, n - 1))) if n else None
        for n in (height, width)
    ]
    keywords = {"direction": "right_to_left"} if backwards and method == "greedy" else {}
    found = infer(
        *(scores, None),
        method=method,
        nan="omit",
        left_ids=ids[0],
        right_ids=ids[1],
        **keywords,
    )
    who = [
        range(n) if chosen is None else chosen for n, chosen in zip(scores.shape, ids, strict=True)
    ]
    default = keywords.get("direction", "left_to_right")
    for direction in (None, "left_to_right", "right_to_left"):
        got = found.evaluate(reference, direction=direction)
        expected = shares(found.pairs.tolist(), scores, reference, who, direction or default)
        np.testing.assert_equal(got.to_dict(), expected)


def test_agreement_by_hand() -> None:
    """0 and 1 both want 0; 2 has no counterpart; 3 has two, and one of them is found."""
    scores = [[9, 0, 0, 0], [8, 7, 0, 0], [0, 3, 0, 0], [0, 0, 0, 5]]
    reference = [[0, 0], [1, 1], [3, 2], [3, 3]]
    greedy_agreed = infer(scores, None).evaluate(reference)
    assert greedy_agreed == Agreement(
        precision=0.5, recall=0.5, f1=0.5, hits_at_1=2 / 3, correct=2, predicted=4, reference=4,
        asked=3, unmatched=0, left_out=0, direction="left_to_right",
    )  # fmt: skip
    of_right = infer(scores, None).evaluate(reference, direction="right_to_left")
    assert (of_right.hits_at_1, of_right.asked, of_right.unmatched) == (0.5, 4, 1)
    stable = infer(scores, None, method="stable").evaluate(reference)
    assert (stable.precision, stable.recall, stable.hits_at_1) == (0.75, 0.75, 1)
    kept = infer(scores, None, method="stable", threshold=4).evaluate(reference)
    assert (kept.precision, kept.recall, kept.f1, kept.hits_at_1) == (1, 0.75, 6 / 7, 1)
    part = infer(scores, None, left_ids=[0, 3], right_ids=[1, 3]).evaluate(reference)
    assert (part.reference, part.left_out, part.asked, part.hits_at_1) == (1, 3, 1, 1)


def test_of_several_partners_the_best_is_meant_then_the_lowest() -> None:
    """All three say right 0: 1 and 2 with the same score, which is the highest."""
    found = infer([[1.0, 0.0], [2.0, 0.0], [2.0, 0.0]], None)
    hits = [found.evaluate([[i, 0]], direction="right_to_left").hits_at_1 for i in range(3)]
    assert hits == [0, 1, 0]


def test_hits_at_1_is_precision_where_everybody_has_one_answer() -> None:
    rng = np.random.default_rng(6)
    left = rng.standard_normal((50, 4)).astype(np.float32)
    right = left + rng.standard_normal((50, 4)).astype(np.float32)
    reference = np.stack([np.arange(50)] * 2, axis=1)
    agreed = infer(left, right).evaluate(reference)
    assert agreed.precision == agreed.recall == agreed.f1 == agreed.hits_at_1
    ranks = tr.rank_embeddings(left, right, np.arange(50), similarity="cosine")
    assert agreed.hits_at_1 == (ranks.optimistic == 1).mean()


def test_reference() -> None:
    found = infer(np.eye(3), None)
    assert math.isnan(found.evaluate([]).recall)
    assert found.evaluate(np.array([[0, 0], [0, 0]], np.int32)).reference == 1
    nothing = infer(np.eye(3), None, threshold=2).evaluate([[0, 0]])
    assert math.isnan(nothing.precision)
    assert (nothing.recall, nothing.f1, nothing.hits_at_1, nothing.unmatched) == (0, 0, 0, 1)
    with pytest.raises(ValueError, match=r"reference: expected pairs of shape \(m, 2\)"):
        found.evaluate([[0, 1, 2]])
    with pytest.raises(ValueError, match="reference: expected right ids from 0 to 2, got 3"):
        found.evaluate([[0, 1], [1, 3]])
    with pytest.raises(ValueError, match="reference: expected left ids from 0 to 2, got -1"):
        found.evaluate([[-1, 1]])
    with pytest.raises(TypeError, match="reference: expected integers, got dtype float64"):
        found.evaluate([[0.0, 1.0]])
    with pytest.raises(ValueError, match="direction: expected one of left_to_right"):
        found.evaluate([[0, 1]], direction="both")


# --- errors


@pytest.mark.parametrize("method", METHODS)
def test_nan_is_refused_with_its_entities(method: str) -> None:
    left, right = np.ones((4, 2), np.float32), np.ones((5, 2), np.float32)
    right[3, 0] = np.nan
    message = 'scores: the score of left 0 and right 3 is NaN, which nan="raise" does not allow'
    with pytest.raises(ValueError, match=message):
        infer(left, right, method=method, similarity="dot")
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
    with pytest.raises(ValueError, match="score of left 3 and right 4 is NaN"):
        infer(scores, None, method=method, **taking_part)
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
        ({"k": 0}, ValueError, "k: expected at least 1, got 0"),
        ({"k": 2.0}, TypeError, "k: expected an integer, got float"),
        ({"threshold": "0.5"}, TypeError, "threshold: expected a number, got str"),
        ({"threshold": True}, TypeError, "threshold: expected a number, got bool"),
        ({"threshold": np.nan}, ValueError, "threshold: expected a number, got nan"),
        ({"csls": 0}, ValueError, "csls: expected at least 1 neighbour, got 0"),
        ({"csls": True}, TypeError, "csls: expected a number of neighbours, or a CSLS, got bool"),
        ({"csls": 1.5}, TypeError, "csls: expected a number of neighbours, or a CSLS, got float"),
        (
            {"csls": CSLS(np.zeros(3), np.zeros(3), 1)},
            ValueError,
            r"csls: expected 4 means for right, one for each, got shape \(3,\)",
        ),
        (
            {"csls": CSLS(np.zeros(3, int), np.zeros(4), 1)},
            TypeError,
            "csls: expected floats for left, got dtype int64",
        ),
        ({"left_ids": [3]}, ValueError, "left_ids: expected ids from 0 to 2, got 3"),
        ({"right_ids": [0, -1]}, ValueError, "right_ids: expected ids from 0 to 3, got -1"),
        ({"right_ids": [[0]]}, ValueError, r"right_ids: expected a 1-D array of ids, got shape"),
        ({"left_ids": [0.5]}, TypeError, "left_ids: expected integers, got dtype float64"),
        ({"threads": 0}, ValueError, "threads: expected at least 1, got 0"),
    ],
)
def test_options(keywords: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        infer(np.ones((3, 2)), np.ones((4, 2)), **keywords)


@pytest.mark.parametrize(
    ("left", "right", "kind", "message"),
    [
        (np.ones((3, 2)), np.ones((4, 3)), ValueError, "right: expected .* length 2, as left has"),
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
    with pytest.raises(kind, match=message):
        infer(left, right)


def test_matrices_that_are_no_single_file(tmp_path: Path) -> None:
    np.save(tmp_path / "part-0.npy", np.eye(3))
    path, only = (
        str(tmp_path / "part-0.npy"),
        "left: expected a matrix in memory or the path of one",
    )
    chunked = SimpleNamespace(shape=(3, 3), dtype=np.dtype("f4"), chunks=(1, 3))
    chunked = type(
        "Chunked", (), {**vars(chunked), "__getitem__": None, "__module__": "library.arrays"}
    )()
    (tmp_path / "S.zarr").mkdir()
    (tmp_path / "S.zarr" / "zarr.json").write_text("{}")
    with tr.open_scores(path) as store:
        for matrix, got in (
            (store, "<|FileStore|Store"),
            ([path, path], "a list of paths"),
            (str(tmp_path / "part-*.npy"), "the pattern '.*part-[*].npy'"),
            (tmp_path / "S.zarr", "a folder of zarr, '.*S.zarr'"),
            (chunked, "library's Chunked"),
        ):
            with pytest.raises(TypeError, match=rf"^{only} \.npy file, got ({got})"):
                infer(matrix, None)


def test_files_that_are_no_matrix(tmp_path: Path) -> None:
    path = tmp_path / "S.npy"
    np.save(path, np.eye(30))
    whole = path.read_bytes()
    for content, message in (
        (b"", "expected a .npy file, this one is empty"),
        (b"PK\3\4 and so on", "expected a .npy file, this one begins with"),
        (whole[:-8], r"expected 7,328 bytes .*, the file has 7,320"),
        (whole[:20], "the .npy header is broken"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"^left: .*S\.npy: {message}"):
            infer(path, None)
    np.save(path, np.ones(3))
    with pytest.raises(ValueError, match=r"^left: expected a matrix \(left, right\), got shape"):
        infer(path, None)
    np.save(path, np.ones((3, 3), bool))
    with pytest.raises(TypeError, match=r"^left: .*S\.npy: expected one of float16.*dtype bool"):
        infer(path, None)
    with pytest.raises(FileNotFoundError, match=r"left: .*missing\.npy"):
        infer(tmp_path / "missing.npy", None)
    with pytest.raises((OSError, ValueError), match=r"left: .*"):
        infer(tmp_path, None)
    for nothing in ("", "a\0b"):
        with pytest.raises(ValueError, match=r"^left: expected the path of a file"):
            infer(nothing, None)


def test_a_map_of_a_file_that_shrank(tmp_path: Path) -> None:
    np.save(tmp_path / "S.npy", np.eye(90))
    mapped = np.load(tmp_path / "S.npy", mmap_mode="r")
    os.truncate(tmp_path / "S.npy", 5000)
    with pytest.raises(ValueError, match=r"^left: .*S\.npy: expected .*, the file has 5,000"):
        infer(mapped, None)


@pytest.mark.parametrize("similarity", ["l2", "dot", "euclid", None])
def test_no_similarity_beside_a_matrix(similarity: Any) -> None:
    message = f"^similarity: expected none beside a matrix, got {similarity!r}$"
    for call in (infer, hubness, similarity_profile, partial(dangling, exclusive=[0])):
        with pytest.raises(ValueError, match=message):
            call(np.eye(3), None, similarity=similarity)


def test_analyses_of_a_matrix_in_a_file(tmp_path: Path) -> None:
    scores = np.random.default_rng(10).random((8, 9))
    np.save(tmp_path / "S.npy", scores)
    for call in (hubness, similarity_profile, partial(dangling, exclusive=[0])):
        found = call(tmp_path / "S.npy", None)
        np.testing.assert_equal(found.to_dict(), call(scores, None).to_dict())


# --- what is kept of it


def arrays_of(found: Any) -> list[Array]:
    values = list(vars(found).values())
    values += [each for value in values if isinstance(value, dict) for each in value.values()]
    return [value for value in values if isinstance(value, np.ndarray)]


@pytest.mark.parametrize(
    ("found", "count"),
    [
        (infer(np.eye(3), None), 4),
        (dangling(np.eye(3), None, [0]), 8),
        (hubness(np.eye(3), None, k=[1, 2]), 4),
        (similarity_profile(np.eye(3), None), 3),
        (overlap({"A": [True, False]}), 1),
        (compare_hubness(np.eye(3), None)["left_to_right, scores"], 4),
    ],
)
def test_copies_and_pickles_stay_read_only(found: Any, count: int) -> None:
    for other in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert type(other) is type(found)
        arrays = arrays_of(other)
        assert len(arrays) == count
        for array, ours in zip(arrays, arrays_of(found), strict=True):
            assert not array.flags.writeable
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


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"missing\.npy"):
        infer(tmp_path / "missing.npy", np.ones((4, 2)))
