"""Scores, vectors, masks and negatives: what is handed over is used or refused; beside it a twin.

A twin is an ordinary call that is nearly the same, and goes on without a word.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

pytestmark = pytest.mark.python_only

TRUE = np.array([0.9, 0.2, 0.8])
NEGATIVES = np.array([[0.5, 0.95], [0.1, 0.15], [0.3, 0.4]])
SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]])
TARGETS = [1, 0]


def mrr(ranks: tr.Ranks) -> float:
    return tr.report(ranks)["mrr"]


# -- negatives -------------------------------------------------------------------------------------


def test_negatives_of_several_tasks_in_one_dimension_are_refused_with_both_ways_out() -> None:
    flat = NEGATIVES.ravel()
    message = refusal(ValueError, "^others: .* of 3 tasks", tr.rank_against, TRUE, flat)
    for line, right in ((r"others\[None\]", 0.4), (r"others\.reshape\(3, -1\)", 2.5 / 3)):
        found = re.search(line, message)
        assert found is not None
        others = eval(found[0], {"others": flat})
        assert mrr(tr.rank_against(TRUE, others)) == pytest.approx(right)
    refusal(ValueError, "^others: ", tr.rank_against, TRUE[:, None], flat)
    refusal(ValueError, "^others: ", tr.rank_against, TRUE, flat[:3])
    refusal(ValueError, "^others: ", tr.compat.report, TRUE, others=flat, preset="ogb")


def test_negatives_that_say_whose_they_are_go_on() -> None:
    one = tr.rank_against(TRUE[:1], NEGATIVES[0])
    assert one == tr.rank_against(TRUE[:1], NEGATIVES[:1])
    assert mrr(one) == 0.5
    for_all = tr.rank_against(TRUE, NEGATIVES[:1])
    assert for_all == tr.rank_against(TRUE, NEGATIVES[[0, 0, 0]])
    flat = (np.array([0, 2, 4, 6]), NEGATIVES.ravel())
    assert tr.rank_against(TRUE, flat) == tr.rank_against(TRUE, NEGATIVES)
    assert len(tr.rank_against([], [])) == 0
    found = tr.compat.report(TRUE, others=NEGATIVES.reshape(1, 6), preset="ogb")
    assert found["mrr_list"] == pytest.approx(0.4)


def test_negatives_without_the_right_answer_are_told_how_to_go_on() -> None:
    negatives = np.array([[0, 2], [1, 2]])
    lists = list(negatives)
    refusal(ValueError, "negatives alone, add it", tr.rank, SCORES, TARGETS, candidates=lists)
    with_target = list(np.column_stack([negatives, TARGETS]))
    assert tr.rank(SCORES, TARGETS, candidates=with_target) == tr.rank(
        SCORES, TARGETS, candidates=[[0, 1, 2]] * 2
    )


# -- selections ------------------------------------------------------------------------------------

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
        (np.where(mask, -np.inf, 0), "mask.astype(bool)"),
    ):
        words = f"^filter: .* dtype {numbers.dtype} .*{re.escape(line)}"
        refusal(TypeError, words, tr.rank, SCORES, TARGETS, filter=numbers)
        assert tr.rank(SCORES, TARGETS, filter=eval(line, {"mask": numbers})) == expected
    for_all = np.array([1.0, 1.0, 0.0])
    words = "^candidates: .* dtype float64 .*mask > 0"
    refusal(TypeError, words, tr.rank, SCORES, TARGETS, candidates=for_all)
    assert tr.rank(SCORES, TARGETS, candidates=for_all > 0).above.tolist() == [0, 0]


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


# -- keys ------------------------------------------------------------------------------------------

QRELS: Any = {"q": {"a": 1, "b": 2}, "p": {"b": 1}}


def search(**options: Any) -> tr.retrieval.Task:
    return tr.retrieval.Task(QRELS, entities=["a", "b", "c", "d"], queries=["q", "p"], **options)


def test_a_group_in_a_key_is_told_where_values_of_groups_are() -> None:
    scores = np.array([[0.5, 0.4, 0.1, 0.0], [0.1, 0.5, 0.2, 0.2]])
    report = search(groups=["heavy", "light"]).evaluate_scores(scores)
    refusal(KeyError, "group_values", report.__getitem__, "heavy.ndcg@10")
    assert report.group_values("ndcg@10")["light"] == 1
    of_tasks = tr.report(tr.rank(SCORES, TARGETS), by=["heavy", "light"])
    refusal(KeyError, "group_values", of_tasks.__getitem__, "heavy.mrr")
    assert of_tasks["mrr"] == 1


def test_err_does_not_propose_what_has_no_value_either() -> None:
    ties = search().evaluate_scores(np.array([[0.5, 0.5, 0.5, 0.1], [0.1, 0.2, 0.2, 0.2]]))
    refusal(KeyError, "take optimistic.err@k", ties.__getitem__, "err@1")
    assert ties["pessimistic.err@1"] <= ties["optimistic.err@1"]
    lists = {"q": ["c"], "p": ["c", "b"]}
    expected = search().evaluate_lists(lists, misses="expected")
    message = refusal(KeyError, "misses='bounds'", expected.__getitem__, "optimistic.err@1")
    assert "take optimistic" not in message
    bounds = search().evaluate_lists(lists, misses="bounds")
    assert bounds["pessimistic.err@1"] <= bounds["optimistic.err@1"]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("err@1", "reports of truerank.retrieval have err"),
        ("optimistic.err@1", "reports of truerank.retrieval have err"),
        ("gauc", "reports of truerank.retrieval have gauc"),
        ("mean_recip_rank", "did you mean mean_reciprocal_rank"),
        ("mean_ranks", "did you mean mean_rank"),
        ("hit@10", "did you mean hits@k"),
        ("ndgc@10", "did you mean ndcg@k"),
    ],
)
def test_near_names_are_proposed(key: str, near: str) -> None:
    report = tr.report(tr.rank(SCORES, TARGETS))
    refusal(KeyError, near, report.__getitem__, key)
