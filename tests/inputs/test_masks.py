"""Selections."""

from __future__ import annotations

import re
from typing import Any

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


def test_masks_of_numbers_are_refused_by_their_dtype_with_the_way_out() -> None:
    mask = np.array([[False, False, True], [False, True, False]])
    expected = tr.rank(SCORES, TARGETS, filter=mask)
    for numbers, line in (
        (mask.astype(float), "mask > 0"),
        (mask.astype(int), "mask > 0"),
        (np.where(mask, -np.inf, 0), "mask < 0"),
        (np.where(mask, -1, 0), "mask < 0"),
        (np.where(mask, -1e9, 0), "mask < 0"),
    ):
        words = f"^filter: .* dtype {numbers.dtype} .*{re.escape(line)}"
        refusal(TypeError, words, tr.rank, SCORES, TARGETS, filter=numbers)
        assert tr.rank(SCORES, TARGETS, filter=eval(line, {"mask": numbers})) == expected
    for_all = np.array([1.0, 1.0, 0.0])
    words = "^candidates: .* dtype float64 .*mask > 0"
    refusal(TypeError, words, tr.rank, SCORES, TARGETS, candidates=for_all)
    assert tr.rank(SCORES, TARGETS, candidates=for_all > 0).above.tolist() == [0, 0]
    left_out = np.where(mask, -np.inf, 0)  # Added to scores, it says the same of candidates.
    words = "^candidates: .*a mask is mask == 0, where numbers below 0 leave out$"
    refusal(TypeError, words, tr.rank, SCORES, TARGETS, candidates=left_out)
    assert (
        tr.rank(SCORES, TARGETS, candidates=left_out == 0).above.tolist() == expected.above.tolist()
    )
    message = refusal(TypeError, "^filter: ", tr.rank, SCORES, TARGETS, filter=SCORES - 0.5)
    assert "a mask is" not in message


def test_the_filter_bias_of_knowledge_graph_embedding_is_led_to_its_number() -> None:
    """It is 0, and -1 for what is known: its test puts the true score there, less 1."""
    rng = np.random.default_rng(4)
    scores, targets = rng.normal(size=(40, 30)), rng.integers(0, 30, 40)
    is_known = rng.random((40, 30)) < 0.3
    is_known[np.arange(40), targets] = False  # its own 0
    bias = -is_known.astype(np.float32)
    true = scores[np.arange(40), targets, None]
    in_order = np.argsort(-(np.where(is_known, true, scores) + bias), axis=1)
    ranks = np.argsort(in_order, axis=1)[np.arange(40), targets] + 1
    message = refusal(TypeError, "^filter: ", tr.rank, scores, targets, filter=bias)
    line = message.partition("a mask is ")[2].partition(",")[0]
    found = tr.rank(scores, targets, filter=eval(line, {"mask": bias}))
    assert found.realistic.tolist() == ranks.tolist() != tr.rank(scores, targets).realistic.tolist()


def test_pairs_of_task_and_column_are_told_their_lists() -> None:
    mask = np.array([[False, True, True], [True, False, False], [False, False, True]])
    scores = SCORES[[0, 1, 0]]
    pairs = np.argwhere(mask)
    message = refusal(TypeError, "^filter: ", tr.rank, scores, [0, 1, 0], filter=pairs)
    line = message.partition("in order, are ")[2]
    lists = eval(line, {"x": pairs, "np": np})
    assert tr.rank(scores, [0, 1, 0], filter=lists) == tr.rank(scores, [0, 1, 0], filter=mask)
    padded = np.array([[1, 2], [0, -1], [2, -1]])
    refusal(TypeError, "padded with -1", tr.rank, scores, [0, 1, 0], filter=padded)


def counter(**options: Any) -> tr.Ranks:
    counted = tr.RankCounter([0.5, 0.7], TARGETS_OF_MASKS, candidates=4, **options)
    counted.update(OF_MASKS)
    return counted.ranks()


OF_MASKS = np.array([[0.9, 0.1, 0.5, 0.3], [0.2, 0.7, 0.8, 0.1]])


TARGETS_OF_MASKS = [2, 1]


LISTED: dict[str, Any] = {"ids": [[0, 2, 3], [2, 1, 3]], "scores": None}


VECTORS_OF_MASKS: dict[str, Any] = {"queries": np.eye(2), "entities": OF_MASKS.T}


# What takes a filter, and what takes candidates, of two tasks and four columns.
SELECTING: dict[str, tuple[Any, tuple[str, ...]]] = {
    "rank": (lambda **x: tr.rank(OF_MASKS, TARGETS_OF_MASKS, **x), ("filter", "candidates")),
    "evaluate": (
        lambda **x: tr.evaluate(OF_MASKS, TARGETS_OF_MASKS, **x),
        ("filter", "candidates"),
    ),
    "counter": (counter, ("filter",)),
    "lists": (
        lambda **x: tr.rank_lists(**LISTED, targets=TARGETS_OF_MASKS, **{"candidates": 4, **x}),
        ("filter",),
    ),
    "vectors": (
        lambda **x: tr.rank_embeddings(**VECTORS_OF_MASKS, targets=TARGETS_OF_MASKS, **x),
        ("filter", "candidates"),
    ),
    "top k": (
        lambda **x: tr.topk_embeddings(**VECTORS_OF_MASKS, k=2, **x),
        ("filter", "candidates"),
    ),
}


CELLS = [(door, name) for door, (_, names) in SELECTING.items() for name in names]


ROWS_OF_BITS = np.array([[1, 0, 1, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(("door", "name"), CELLS)
def test_rows_of_0_and_1_are_no_lists(door: str, name: str) -> None:
    """As lists they would be those of columns 0 and 1."""
    call, _ = SELECTING[door]
    words = f"^{name}: list 0: expected indices, or a mask of bool, got a mask of integers"
    for rows in (ROWS_OF_BITS.tolist(), list(ROWS_OF_BITS), tuple(ROWS_OF_BITS.tolist())):
        if not isinstance(rows, tuple):
            refusal(ValueError, words, call, **{name: rows})
    call(**{name: ROWS_OF_BITS.astype(bool)})
    call(**{name: [[0, 1, 2], [1, 0]]})


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


@pytest.mark.parametrize("door", SELECTING)
def test_a_filter_that_is_true_at_what_may_be_ranked_is_refused(door: str) -> None:
    """As the mask `strict_negative_mask` of ULTRA and NBFNet is, which has no true candidate."""
    call, names = SELECTING[door]
    may_be_ranked = np.array([[True, True, False, True], [True, False, False, True]])
    words = "^filter: leaves out 2.5 of 4 candidates on average; filter=~mask .*; candidates=mask "
    message = refusal(ValueError, words, call, filter=may_be_ranked)
    assert message.endswith("the candidates to rank")
    call(filter=~may_be_ranked)
    call(filter=may_be_ranked & [True, True, False, False])  # half of all
    if "candidates" in names and door != "top k":
        refusal(ValueError, "is not among its candidates", call, candidates=may_be_ranked)


def test_the_way_out_of_a_mask_leads_to_the_right_number() -> None:
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
