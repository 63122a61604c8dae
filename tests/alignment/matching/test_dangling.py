"""Dangling entities: every threshold, counted entity by entity."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.score_matrices import Array, lists_of_ids, matrices
from support.examples import examples
from support.refusals import refusal
from truerank.alignment import csls_means, dangling, infer

pytestmark = pytest.mark.python_only


def value_of(row: Array, by: str) -> Any:
    """Return the value of one entity, which is compared with the threshold."""
    scores = sorted((score for score in row if score == score), reverse=True)
    if not scores:
        return -math.inf
    if by == "similarity":
        return scores[0]
    if len(scores) < 2:
        return math.inf
    if scores[0] == scores[1]:  # which may be infinite
        return 0
    with np.errstate(all="ignore"):
        return scores[0] - scores[1]


def curve(values: list[Any], apart: list[bool], kind: Any) -> list[tuple[Any, ...]]:
    """For each threshold: predicted entities, right ones among them, and the three shares."""
    distinct = sorted(set(values))
    thresholds = distinct[1:]
    if distinct[-1] < math.inf:
        thresholds.append(np.nextafter(kind(distinct[-1]), kind(math.inf)))
    rows = []
    for threshold in thresholds:
        said = sum(value < threshold for value in values)
        correct = sum(
            value < threshold and alone for value, alone in zip(values, apart, strict=True)
        )
        precision = correct / said
        recall = correct / sum(apart)
        f1 = 0.0
        if correct:
            f1 = 2 * precision * recall / (precision + recall)
        rows.append((threshold, said, correct, precision, recall, f1))
    return rows


def check(found: Any, values: list[Any], apart: list[bool], kind: Any) -> None:
    rows = curve(values, apart, kind)
    names = ("thresholds", "said", "correct", "precision", "recall", "f1")
    for i, name in enumerate(names):
        array = getattr(found, name)
        assert not array.flags.writeable
        expected = np.array([row[i] for row in rows], array.dtype)
        if name == "f1":  # the mean of two rounded shares, or one share
            np.testing.assert_allclose(array, expected, rtol=1e-14)
        else:
            np.testing.assert_array_equal(array, expected, strict=True)
    assert found.thresholds.dtype == found.values.dtype == kind
    assert (found.exclusive, found.entities) == (sum(apart), len(apart))
    assert len(found) == len(rows)
    area = 0.0
    before = 0.0
    for _, _, _, precision, recall, _ in rows:
        area = area + (recall - before) * precision
        before = recall
    assert found.average_precision == pytest.approx(area, abs=1e-14)
    assert found.best_f1 == max(found.f1, default=0.0)
    if rows:
        lowest = min(row[0] for row, f1 in zip(rows, found.f1, strict=True) if f1 == found.best_f1)
        assert found.best_threshold == lowest
    else:
        assert math.isnan(found.best_threshold)


@given(matrices().filter(len), st.sampled_from(["similarity", "margin"]), st.booleans(), st.data())
@examples(100)
def test_curve(scores: Array, by: str, turned: bool, data: st.DataObject) -> None:
    height, width = scores.shape
    ids = st.integers(0, height - 1)
    exclusive = data.draw(lists_of_ids(ids, height, 1))
    others = sorted(set(range(height)) - set(exclusive))
    looked_at = list(range(height))
    matched = None
    if others:
        matched = data.draw(st.none() | lists_of_ids(st.sampled_from(others), height))
        if matched is not None:
            looked_at = sorted(set(exclusive + matched))
    columns = list(range(width))
    candidates = None
    if width:
        candidates = data.draw(st.none() | lists_of_ids(st.integers(0, width - 1), width))
        if candidates is not None:
            columns = sorted(set(candidates))
    given = scores
    direction = "left_to_right"
    if turned:
        given = scores.T
        direction = "right_to_left"
    options: dict[str, Any] = {"matched": matched, "candidates": candidates, "by": by}
    found = dangling(given, None, exclusive, direction=direction, nan="omit", **options)
    values = [value_of(scores[i, columns], by) for i in looked_at]
    assert found.ids.tolist() == looked_at
    np.testing.assert_array_equal(found.values, np.array(values, scores.dtype))
    check(found, values, [i in exclusive for i in looked_at], scores.dtype.type)


@pytest.mark.parametrize("by", ["similarity", "margin"])
@pytest.mark.parametrize("direction", ["left_to_right", "right_to_left"])
def test_vectors_are_as_their_matrix(by: str, direction: str) -> None:
    rng = np.random.default_rng(5)
    left, right = (rng.integers(-2, 3, (n, 2)).astype(np.float32) for n in (12, 9))
    options: dict[str, Any] = {"exclusive": [1, 4, 8], "by": by, "direction": direction}
    for csls in (None, 2):
        means = None
        if csls is not None:
            means = csls_means(left, right, csls, similarity="dot")
        found = dangling(left, right, similarity="dot", csls=csls, **options)
        of_matrix = dangling(tr.score_embeddings(left, right, csls=means), None, **options)
        np.testing.assert_equal(vars(found), vars(of_matrix))
        assert (found.by, found.direction) == (by, direction)


def test_the_best_threshold_is_one_for_infer() -> None:
    rng = np.random.default_rng(4)
    left, right = (rng.standard_normal((40, 5)).astype(np.float32) for _ in range(2))
    found = dangling(left, right, range(0, 40, 3))
    kept = infer(left, right, threshold=found.best_threshold)
    said = set(range(40)) - set(kept.pairs[:, 0].tolist())
    assert len(said) == found.said[np.argmax(found.f1)]
    assert said == set(found.ids[found.values < found.best_threshold].tolist())


def test_numbers_for_loggers() -> None:
    found = dangling(np.eye(4, dtype=np.float32), None, [1, 2], by="margin")
    told = found.to_dict()
    assert told == {
        "by": "margin", "direction": "left_to_right", "exclusive": 2, "entities": 4,
        "best_f1": found.best_f1, "best_threshold": found.best_threshold,
        "average_precision": found.average_precision,
    }  # fmt: skip
    assert json.loads(json.dumps(told)) == told


def test_a_data_frame() -> None:
    pytest.importorskip("pandas")
    found = dangling(np.eye(4, 3, dtype=np.float32) / 3, None, [1, 2])
    table = found.to_pandas()
    assert list(table) == ["threshold", "precision", "recall", "f1", "said", "correct"]
    np.testing.assert_array_equal(table["threshold"], found.thresholds.astype(float))
    np.testing.assert_array_equal(table["f1"], found.f1)
    empty = dangling(np.full((2, 2), np.inf), None, [0]).to_pandas()
    assert empty.shape == (0, 6)


@pytest.mark.parametrize("lows", [0, 3, 30, 57])
def test_people_read_the_thresholds_around_the_best(lows: int) -> None:
    scores = np.arange(60.0)[:, np.newaxis]
    exclusive = range(lows)
    if lows < 30:
        exclusive = range(lows, 60)
    found = dangling(scores, None, exclusive)
    best = int(np.argmax(found.f1))
    lines = found.to_text().split("\n")[3:]
    numbers = [line.split()[0] for line in lines if "more" not in line]
    assert len(numbers) == 10
    assert f"{found.best_threshold:.3f}" in numbers
    left_out = [int(line.split()[0]) for line in lines if "more" in line]
    assert sum(left_out) == 50
    if 5 <= best < 55:
        assert left_out == [best - 5, 55 - best]
    assert len(found.to_csv().splitlines()) == 61


NAN = np.where(np.arange(16).reshape(4, 4) == 9, np.nan, np.eye(4))
ERRORS: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ([], {}, ValueError, "exclusive: .* one entity, got none"),
    (None, {}, ValueError, "exclusive: .* one entity, got none"),
    ([1, 4], {}, ValueError, "exclusive: .* entities from 0 to 3, got 4"),
    ([0.5], {}, TypeError, "exclusive: .* integers, .* got 0.5 at position 0"),
    ([1, 2], {"matched": [0, 2]}, ValueError, "matched: expected .* 2"),
    ([1, 2], {"matched": [-1]}, ValueError, "matched: expected .* got -1"),
    ([1], {"candidates": [7]}, ValueError, "candidates: .* 0 to 3, got 7"),
    ([1], {"by": "score"}, ValueError, "by: expected one .* got 'score'"),
    ([1], {"direction": "both"}, ValueError, "direction: expected one of left_to_right"),
    ([1], {"left": NAN}, ValueError, "the score of left 2 and right 1 is NaN"),
    ([1], {"left": NAN, "direction": "right_to_left"}, ValueError, "left 2 and right 1 is NaN"),
]


@pytest.mark.parametrize(("exclusive", "options", "kind", "words"), ERRORS)
def test_errors(exclusive: Any, options: Any, kind: type[Exception], words: str) -> None:
    keywords = {"left": np.eye(4), "right": None, "exclusive": exclusive, **options}
    refusal(kind, words, dangling, **keywords)
    assert dangling(NAN, None, [1], matched=[0, 3]).entities == 3
