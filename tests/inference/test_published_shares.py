"""Two published shares: p-values beside those of tasks that are known one by one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import InputValueError
from truerank.inference.published_shares import compare_shares


def mcnemar(one_alone: int, other_alone: int) -> float:
    """Count McNemar's exact two-sided p-value from the definition."""
    n = one_alone + other_alone
    fewer = min(one_alone, other_alone)
    tail = sum(math.comb(n, i) for i in range(fewer + 1)) / 2**n
    return min(1.0, 2 * tail)


@given(st.integers(1, 60), st.data())
def test_all_pairings_lie_between(n: int, data: st.DataObject) -> None:
    """Whichever tasks are hits of both."""
    hits = [data.draw(st.integers(0, n)) for _ in range(2)]
    found = compare_shares(hits[0] / n, hits[1] / n, n)
    assert found.hits == tuple(hits)
    fewest = max(0, sum(hits) - n)
    every = [mcnemar(hits[0] - both, hits[1] - both) for both in range(fewest, min(hits) + 1)]
    assert found.p_least == pytest.approx(min(every))
    assert found.p_most == pytest.approx(max(every))


def test_unrelated_tasks() -> None:
    """Fisher's exact test of 3 of 4 against 1 of 4 (the tea of a lady): 34 of 70."""
    found = compare_shares(0.75, 0.25, 4)
    assert found.p_apart == pytest.approx(34 / 70)
    other = compare_shares(0.75, 0.25, 4, 8)
    assert (other.hits, other.tasks) == ((3, 2), (4, 8))
    assert math.isnan(other.p_least)
    assert math.isnan(other.p_most)
    assert other.difference == 0.5


@pytest.mark.parametrize(
    ("a", "tasks", "words"), [(1.2, 9, "a: expected a share"), (0.5, 0, "tas")]
)
def test_errors(a: float, tasks: int, words: str) -> None:
    with pytest.raises(InputValueError, match=words):
        compare_shares(a, 0.5, tasks)
