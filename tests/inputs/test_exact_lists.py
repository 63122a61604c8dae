"""What numpy would lose without a word: digits of integers beside floats, and masks."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.refusals import refusal

BIG = 1 << 53
ROUNDED = "expected integers that a float64 holds"


@pytest.mark.parametrize(
    "row", [[2**63 + 1, 2**63, -1], [BIG + 1, float(BIG)], [BIG + 1, 0.5], (BIG + 1, 0.5)]
)
def test_lists_that_numpy_rounds_are_refused(row: Any) -> None:
    refusal(ValueError, f"scores: {ROUNDED}", tr.rank, row, [0])
    refusal(ValueError, f"scores: {ROUNDED}", tr.rank, [row], [0])
    ids = [list(range(len(row)))]
    refusal(ValueError, f"scores: {ROUNDED}", tr.rank_lists, ids, [row], [0], candidates=3)
    refusal(ValueError, f"true_scores: {ROUNDED}", tr.rank_against, row, [[0.5]] * len(row))


def test_lists_of_unlike_types_that_are_joined() -> None:
    scores = [[BIG + 1, BIG], [0.5, 0.25]]
    refusal(ValueError, ROUNDED, tr.rank_lists, [[0, 1], [0, 1]], scores, [0, 0], candidates=3)
    rows = [np.array([BIG + 1, BIG]), np.array([0.5, 0.25])]
    refusal(ValueError, ROUNDED, tr.rank, rows, [0, 0])


NUMBERS = st.one_of(st.integers(-BIG * 4, BIG * 4), st.integers(0, 1 << 64), st.floats(-1e20, 1e20))


@given(st.lists(NUMBERS, min_size=2, max_size=5))
def test_lists_are_exact_or_refused(row: list[Any]) -> None:
    above = sum(each > row[0] for each in row)
    tied = sum(each == row[0] for each in row)
    with contextlib.suppress(tr.InputError):
        ranks = tr.rank([row], [0])
        assert (ranks.above.tolist(), ranks.tied.tolist()) == ([above], [tied])


MASKED = np.ma.masked_array([0, 1, 2], mask=[False, True, False])
SCORES = np.eye(3)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("targets", lambda: tr.rank(SCORES, MASKED)),
        ("rows", lambda: tr.rank(SCORES, [0, 1, 2], rows=MASKED)),
        ("candidates", lambda: tr.rank(SCORES, [0, 1, 2], candidates=MASKED)),
        ("filter", lambda: tr.rank(SCORES, [0, 1, 2], filter=np.ma.masked_array(SCORES > 0))),
        ("above", lambda: tr.Ranks(MASKED, [1, 1, 1], 5)),
        ("weights", lambda: tr.Ranks([0, 0, 0], [1, 1, 1], 5, weights=MASKED)),
        ("queries", lambda: tr.Ranks([0, 0, 0], [1, 1, 1], 5, queries=MASKED)),
        ("candidates", lambda: tr.chance("mr", MASKED)),
        ("candidates", lambda: tr.retrieval.Task({0: [0]}, entities=3, candidates=MASKED)),
    ],
)
def test_masked_arrays_are_refused(name: str, call: Any) -> None:
    refusal(TypeError, f"{name}.*(mask|Masked)", call)


@pytest.mark.parametrize("form", [np.array, list])
def test_a_mask_of_integers_is_no_list_of_ids(form: Any) -> None:
    mask = form([0, 1, 1, 1])
    refusal(
        ValueError, "candidates: .*a mask of integers", tr.rank, np.eye(4), [1] * 4, candidates=mask
    )
    task = tr.link_prediction.Task
    triples: Any = [(0, 0, 1)]
    refusal(ValueError, "a mask of integers", task, triples, {}, entities=4, candidates=mask)
    ranks = tr.rank(np.eye(4), [1, 1, 1, 1], candidates=form([0, 1]))  # not of the columns' length
    assert ranks.candidates.tolist() == [2] * 4
    assert tr.rank(np.eye(2), [0, 1], candidates=form([0, 1])).candidates.tolist() == [2, 2]
    booleans = np.array([0, 1, 1, 1], dtype=bool)
    assert tr.rank(np.eye(4), [1] * 4, candidates=booleans).candidates.tolist() == [3] * 4
