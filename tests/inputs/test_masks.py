"""Selections."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("error")]
SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]])
TARGETS = [1, 0]


def mrr(ranks: tr.Ranks) -> float:
    return tr.report(ranks)["mrr"]


EMPTY = np.zeros(0, np.int64)
NONE = np.zeros((0, 3))


@pytest.mark.parametrize("size", [2, 3])
def test_no_lists_are_a_selection_of_no_tasks(size: int) -> None:
    for name in ("filter", "candidates"):
        ranks = tr.rank(NONE, [], **{name: (EMPTY,) * size})
        assert ranks == tr.rank(NONE, [], **{name: (np.zeros(1, int), *(EMPTY,) * (size - 1))})
        refusal(ValueError, f"^{name}", tr.rank, SCORES, TARGETS, **{name: (EMPTY,) * size})
    nothing = (EMPTY, np.zeros(0))
    assert tr.rank_against([], nothing) == tr.rank_against([], np.zeros((0, 2)))
    assert len(tr.rank_lists((EMPTY, EMPTY), None, [], candidates=3)) == 0
    assert len(tr.rank_embeddings(NONE, np.ones((2, 3)), [], rows=[], filter=(EMPTY, EMPTY))) == 0
    refusal(ValueError, "^others: .* an indptr", tr.rank_against, [], (EMPTY, np.zeros(2)))


def test_masks_of_numbers_are_refused_by_their_dtype() -> None:
    mask = np.array([[False, False, True], [False, True, False]])
    words = "a mask of bool, or index lists without padding, got ndarray of dtype {} and shape"
    for numbers in (mask.astype(float), np.where(mask, -np.inf, 0), np.where(mask, -1, 0)):
        for name in ("filter", "candidates"):
            message = f"^{name}: .* {words.format(numbers.dtype)} "
            refusal(TypeError, message, tr.rank, SCORES, TARGETS, **{name: numbers})
    refusal(TypeError, "dtype float64", tr.rank, SCORES, TARGETS, candidates=np.ones(3))


def test_pairs_of_task_and_column_and_padded_lists_are_no_selection() -> None:
    for numbers in ([[0, 1], [0, 2], [1, 0], [2, 2]], [[1, 2], [0, -1], [2, -1]]):
        words = "index lists without padding, got ndarray of dtype int64 and shape"
        refusal(TypeError, words, tr.rank, np.eye(3), [0, 1, 0], filter=np.array(numbers))


OF_MASKS = np.array([[0.9, 0.1, 0.5, 0.3], [0.2, 0.7, 0.8, 0.1]])
TARGETS_OF_MASKS = [2, 1]
ROWS_OF_BITS = np.array([[1, 0, 1, 0], [0, 1, 0, 0]])
rank = partial(tr.rank, OF_MASKS, TARGETS_OF_MASKS)


@pytest.mark.parametrize("name", ["filter", "candidates"])
def test_rows_of_0_and_1_are_no_lists(name: str) -> None:
    """As lists they would be those of columns 0 and 1."""
    words = f"^{name}: list 0: expected indices, or a mask of bool, got a mask of integers"
    for rows in (ROWS_OF_BITS.tolist(), list(ROWS_OF_BITS)):
        refusal(ValueError, words, rank, **{name: rows})
    rank(**{name: ROWS_OF_BITS.astype(bool)})
    rank(**{name: [[0, 1, 2], [1, 0]]})


def test_a_mask_of_bool_is_what_rows_of_0_and_1_mean() -> None:
    rows = [[0, 0, 1, 0]]
    refusal(ValueError, "a mask of bool", tr.rank, OF_MASKS[:1], [1], filter=rows)
    ranks = tr.rank(OF_MASKS[:1], [1], filter=np.array(rows, bool))
    assert ranks.above.tolist() == [2]
    torch = pytest.importorskip("torch", reason="rows of torch")
    for of_torch in (torch.tensor(rows), list(torch.tensor(rows))):
        refusal((ValueError, TypeError), "mask", tr.rank, OF_MASKS[:1], [1], filter=of_torch)


def test_lists_of_0_and_1_that_are_no_rows_go_on() -> None:
    assert tr.rank(OF_MASKS, TARGETS_OF_MASKS, filter=[[0], [1]]).above.tolist() == [0, 1]
    assert tr.rank(OF_MASKS, TARGETS_OF_MASKS, filter=[[0, 1], [1, 0]]).above.tolist() == [0, 1]
    assert tr.rank([[0.1, 0.2]], 0, filter=[[0, 1]]).above.tolist() == [0]


def test_a_filter_that_is_true_at_what_may_be_ranked_is_refused() -> None:
    """As the mask `strict_negative_mask` of ULTRA and NBFNet is, which has no true candidate."""
    may_be_ranked = np.array([[True, True, False, True], [True, False, False, True]])
    words = (
        "^filter: expected a mask that is True where a candidate is left out; .* got True for 2.5 "
    )
    refusal(ValueError, f"{words}of 4 candidates on average$", rank, filter=may_be_ranked)
    rank(filter=~may_be_ranked)
    rank(filter=[[0, 1, 3], [0, 1, 3]])  # Lists may leave out most, as where users know most.
    rank(filter=may_be_ranked & [True, True, False, False])  # half of all
    refusal(ValueError, "is not among its candidates", rank, candidates=may_be_ranked)


def test_a_negated_mask_and_one_of_candidates_have_the_right_number() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 500))
    targets = rng.integers(0, 500, 200)
    known = rng.random((200, 500)) < 0.014
    known[np.arange(200), targets] = True
    right = mrr(tr.rank(scores, targets, filter=known))
    strict_negative_mask = ~known
    refusal(ValueError, "of 500", tr.rank, scores, targets, filter=strict_negative_mask)
    assert mrr(tr.rank(scores, targets, filter=~strict_negative_mask)) == right
    strict_negative_mask[np.arange(200), targets] = True
    assert mrr(tr.rank(scores, targets, candidates=strict_negative_mask)) == right
