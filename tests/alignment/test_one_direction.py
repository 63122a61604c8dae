"""Alignment of one direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import alignment

LEFT = [f"l{i}" for i in range(12)]
RIGHT = [f"r{i}" for i in range(14)]
PAIRS = [(f"l{i}", f"r{(5 * i + 8) % 14}") for i in range(8)] + [("l0", "r9")]
KNOWN = {"train": [(f"l{i}", f"r{(5 * i + 8) % 14}") for i in range(8, 12)] + [("l1", "r3")]}
DIRECTIONS = ("left_to_right", "right_to_left")


def vectors_and_scores() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    left, right = rng.normal(size=(12, 3)), rng.normal(size=(14, 3))
    return left, right, (left @ right.T).round(1)


@pytest.mark.parametrize("name", DIRECTIONS)
def test_lists_of_one_direction_are_enough(name: str) -> None:
    task = alignment.Task(PAIRS, left=LEFT, right=RIGHT, known=KNOWN, sides=[name])
    *_, scores = vectors_and_scores()
    rows = {"left_to_right": scores, "right_to_left": scores.T}[name]
    keys, names = (LEFT, RIGHT) if name == "left_to_right" else (RIGHT, LEFT)
    order = np.argsort(-rows, axis=1, kind="stable")
    by_key = {key: {names[j]: rows[i, j] for j in order[i]} for i, key in enumerate(keys)}
    top = tr.TopK(order, np.take_along_axis(rows, order, 1))
    right = task.evaluate_scores(scores).ranks
    for lists in (by_key, top):
        assert task.evaluate_lists(**{name: lists}).ranks.above.tolist() == right.above.tolist()


@pytest.mark.parametrize("candidates", ["all", "test", "unaligned", "named"])
@pytest.mark.parametrize("name", DIRECTIONS)
def test_one_direction_is_that_of_both(
    name: str, candidates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the model gives, in the whole and in parts, tile by tile."""
    monkeypatch.setattr("truerank.counting.driver.TILE_BYTES", 200)
    options: dict[str, Any] = {"left": LEFT, "right": RIGHT, "known": KNOWN}
    of_both = of_one = candidates
    if candidates == "named":
        of_both = {"left_to_right": [*RIGHT[:12], "r13"], "right_to_left": LEFT[:11]}
        of_one = {name: of_both[name]}
    both = alignment.Task(PAIRS, candidates=of_both, **options)
    one = alignment.Task(PAIRS, candidates=of_one, sides=[name], **options)
    left, right, scores = vectors_and_scores()
    rows = {"left_to_right": scores, "right_to_left": scores.T}[name]
    csls = 3 if candidates != "named" else None  # Its means are over the candidates of both.
    for evaluate in (
        lambda task: task.evaluate_scores(scores),
        lambda task: task.evaluate_scores(scores, audit=True),
        lambda task: task.evaluate_embeddings(left, right, csls=csls),
        lambda task: task.evaluate_embeddings(left, right, audit=True),
    ):
        of_side = evaluate(both).ranks
        of_side = of_side[of_side.labels["side"].values == name]
        ranks = evaluate(one).ranks
        for field in ("above", "tied", "candidates"):
            assert getattr(ranks, field).tolist() == getattr(of_side, field).tolist()
        parts = [evaluate(one[p::2]).ranks for p in (1, 0)]
        assert tr.concatenate(parts) == ranks
        assert evaluate(one)[f"{name}.mr"] == evaluate(one)["mr"]
    report = one.evaluate(**{name: lambda queries: rows[queries[:, 0]]})
    assert report.ranks.above.tolist() == one.evaluate_scores(scores).ranks.above.tolist()


def test_a_direction_that_is_missing_says_how_to_leave_it_out() -> None:
    options: dict[str, Any] = {"left": ["a"], "right": ["x", "y"]}
    task = alignment.Task([("a", "x")], **options)
    with pytest.raises(tr.InputTypeError, match=r"Task\(\.\.\., sides=\['left_to_right'\]\) "):
        task.evaluate_lists({"a": ["x"]})
    assert task.evaluate_lists({"a": ["y", "x"]}, {"x": ["a"]})["mr"] == 1.5
    one = alignment.Task([("a", "x")], sides=["left_to_right"], **options)
    assert one.evaluate_lists({"a": ["y", "x"]})["mr"] == 2
    with pytest.raises(tr.InputTypeError, match="right_to_left: expected None, as the sides of th"):
        one.evaluate_lists({"a": ["y", "x"]}, {"x": ["a"]})
    for sides in ([], ["left"], ["left_to_right"] * 2):
        with pytest.raises(tr.InputValueError, match="sides: "):
            alignment.Task([("a", "x")], sides=sides, **options)
    with pytest.raises(tr.InputValueError, match=r"candidates: .* those of left_to_right by side"):
        alignment.Task(
            [("a", "x")], sides=["left_to_right"], candidates={"right_to_left": ["a"]}, **options
        )


@pytest.mark.parametrize("candidates", ["all", "test"])
def test_known_pairs_of_other_entities_are_usual(candidates: str) -> None:
    """Where every entity has one counterpart they meet no query; the audit says so with numbers."""
    pairs = [(i, i) for i in range(250)]
    task = alignment.Task(
        pairs[:50], left=250, right=250, candidates=candidates, known={"train": pairs[50:]}
    )
    assert "train: 0 of 200 pairs share a query with test" in map(str, task.audit)
