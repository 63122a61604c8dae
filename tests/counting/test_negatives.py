"""Negatives."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("error")]
TRUE = np.array([0.9, 0.2, 0.8])
NEGATIVES = np.array([[0.5, 0.95], [0.1, 0.15], [0.3, 0.4]])


def mrr(ranks: tr.Ranks) -> float:
    return tr.report(ranks)["mrr"]


def test_negatives_of_several_tasks_in_one_dimension_are_refused_with_the_forms() -> None:
    """They may be one list, or lists end to end, of equal lengths or not, by task or by place."""
    flat = NEGATIVES.ravel()
    message = refusal(ValueError, "^others: expected ", tr.rank_against, TRUE, flat)
    forms = {"(3, k), a list for each task": NEGATIVES, "(1, k), one for all": flat[None]}
    for (form, others), right in zip(forms.items(), (2.5 / 3, 0.4), strict=True):
        assert form in message
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
