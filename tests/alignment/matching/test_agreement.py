"""How far inferred pairs agree with reference pairs: every number against its definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.score_matrices import METHODS, Array, lists_of_ids, matrices
from support.examples import examples
from support.refusals import refusal
from truerank.alignment import infer

pytestmark = pytest.mark.python_only


def shares(
    pairs: list[list[int]], scores: Array, reference: list[list[int]], ids: Any, direction: str
) -> dict[str, Any]:
    """Compute every number by its definition, with sets and loops."""
    asked = int(direction == "right_to_left")
    every = {tuple(pair) for pair in reference}
    wanted = {pair for pair in every if pair[0] in ids[0] and pair[1] in ids[1]}
    found = [tuple(pair) for pair in pairs]
    correct = sum(pair in wanted for pair in found)
    entities = {pair[asked] for pair in wanted}
    hits = unmatched = 0
    for entity in entities:
        answers = [pair for pair in found if pair[asked] == entity]
        unmatched += not answers
        if answers:
            hits += min(answers, key=lambda pair: (-scores[pair], pair[1 - asked])) in wanted

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
@examples(100)
def test_agreement(scores: Array, method: str, backwards: bool, data: st.DataObject) -> None:
    height, width = scores.shape
    pair = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    reference = []
    if height and width:
        reference = [list(p) for p in data.draw(st.lists(pair))]
    ids = []
    taking_part = []
    for n in (height, width):
        chosen = None
        if n:
            chosen = data.draw(st.none() | lists_of_ids(st.integers(0, n - 1), n))
        ids.append(chosen)
        among = range(n) if chosen is None else chosen
        taking_part.append(among)
    keywords = {}
    if backwards and method == "greedy":
        keywords["direction"] = "right_to_left"
    found = infer(
        scores, None, method=method, nan="omit", left_ids=ids[0], right_ids=ids[1], **keywords
    )
    default = keywords.get("direction", "left_to_right")
    for direction in (None, "left_to_right", "right_to_left"):
        got = found.evaluate(reference, direction=direction)
        pairs = found.pairs.tolist()
        expected = shares(pairs, scores, reference, taking_part, direction or default)
        np.testing.assert_equal(got.to_dict(), expected)


def test_reference() -> None:
    found = infer(np.eye(3), None)
    assert math.isnan(found.evaluate([]).recall)
    assert found.evaluate(np.array([[0, 0], [0, 0]], np.int32)).reference == 1
    nothing = infer(np.eye(3), None, threshold=2).evaluate([[0, 0]])
    assert math.isnan(nothing.precision)
    assert (nothing.recall, nothing.f1, nothing.hits_at_1, nothing.unmatched) == (0, 0, 0, 1)
    refusal(
        ValueError, r"reference: expected 2 columns \(left, right\)", found.evaluate, [[0, 1, 2]]
    )
    refusal(ValueError, "reference: expected right ids from .* 3", found.evaluate, [[0, 1], [1, 3]])
    refusal(ValueError, "reference: expected .* ids from 0 to 2, got -1", found.evaluate, [[-1, 1]])
    refusal(TypeError, "reference: expected integers, got .* float64", found.evaluate, [[0.0, 1.0]])
    refusal(ValueError, "direction: .* left_to_right", found.evaluate, [[0, 1]], direction="both")
