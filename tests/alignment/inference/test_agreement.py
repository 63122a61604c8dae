"""How far inferred pairs agree with reference pairs: every number against its definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from strategies.score_matrices import METHODS, Array, matrices
from truerank.alignment import Agreement, infer

pytestmark = pytest.mark.python_only


def shares(
    pairs: list[list[int]], scores: Array, reference: list[list[int]], ids: Any, direction: str
) -> dict[str, Any]:
    """Compute every number by its definition, with sets and loops."""
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
        *(scores, None), method=method, nan="omit", left_ids=ids[0], right_ids=ids[1], **keywords
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
    """0 and 1 both choose 0; 2 has no counterpart; 3 has two, and one of them is found."""
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
    """All three left entities choose right 0; 1 and 2 share the highest score."""
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
