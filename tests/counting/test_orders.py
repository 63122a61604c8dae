"""What looks as if the best came last, and what does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.counting.orders import describe_rising_ranks

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize(
    "scores",
    [
        [[3, 2, 1]] * 4,  # points, the best first
        [[0.1, 0.5, 0.9]] * 3,  # too few
        [*[[0.1, 0.5, 0.9]] * 4, [0.5, 0.1]],  # one falls
        [*[[0.1, 0.5, 0.9]] * 4, [0.5, 0.5, 0.5]],  # one does not rise
        [[2, 3, 1], [3, 1, 1]] * 2,  # a place comes twice
        [[4, 2, 3], [3, 2, 4]] * 2,
    ],
)
def test_lists_of_which_nothing_is_doubted(scores: list[Any]) -> None:
    ids = [list(range(len(each))) for each in scores]
    taken = tr.rank_lists(ids, scores, [0] * len(ids), candidates=9)
    assert taken == tr.rank_lists(ids, scores, [0] * len(ids), candidates=9, order="descending")


@pytest.mark.parametrize("rising", [0, 94, 95, 100])
def test_ranks_that_rise_in_nearly_all_queries_are_doubted(rising: int) -> None:
    queries = np.repeat(np.arange(100), 3)
    ranks = np.tile([1, 2, 3], 100)
    scores = np.tile([0.1, 0.2, 0.3], 100)
    scores[3 * rising :] *= -1
    order = np.random.default_rng(rising).permutation(300)
    problem = describe_rising_ranks(queries[order], scores[order], ranks[order])
    if rising < 95:
        assert problem == ""
    else:
        assert problem == f"ranks rise with the scores in {rising} of 100 queries"
