"""Readings of one similarity: a distance taken negative, or as 1 / (1 + d), ranks alike.

1 / (1 + d) falls where d grows, so that no order is turned round; but 1 + d is rounded, and the
quotient too. Distances that hardly differ come together then: a tie that -d has not. What is equal
under -d stays equal, and what is below is never above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.alignment import Array
from strategies.alignments import alignments, vectors
from truerank.alignment import Task

PAIRS = {"inverse_l1": "l1", "inverse_l2": "l2"}


def inverse(distances: Array) -> Array:
    one = distances.dtype.type(1)
    return one / (one + distances)


def counts(ranks: tr.Ranks) -> dict[str, list[int]]:
    return {name: getattr(ranks, name).tolist() for name in ("above", "tied", "candidates")}


def check_no_order_is_turned(plain: tr.Ranks, bounded: tr.Ranks) -> None:
    """The ranks of a tie under -d are within those of the tie under 1 / (1 + d)."""
    assert (bounded.above <= plain.above).all()
    assert (bounded.above + bounded.tied >= plain.above + plain.tied).all()
    assert (bounded.candidates == plain.candidates).all()


@given(st.data())
def test_small_distances_rank_alike(data: st.DataObject) -> None:
    """With small integers, different distances stay different in matrices and in vectors."""
    drawn = data.draw(alignments())
    left, right = data.draw(vectors(drawn.sizes))
    task = drawn.task()
    for bounded, plain in PAIRS.items():
        found = {
            name: task.evaluate_embeddings(left, right, similarity=name).ranks
            for name in (bounded, plain)
        }
        assert counts(found[bounded]) == counts(found[plain])
        distances = -tr.score_embeddings(left, right, similarity=plain)
        for scores in (-distances, inverse(distances)):
            assert counts(task.evaluate_scores(scores).ranks) == counts(found[plain])
        ascending = task.evaluate_scores(distances, order="ascending").ranks
        assert counts(ascending) == counts(found[plain])


DISTANCES = st.one_of(
    st.floats(0, 2.0**30, width=32),
    st.integers(0, 4).map(lambda n: np.float32(2.0**24) + 2 * n),
    st.integers(0, 4).map(lambda n: np.float32(n) * np.float32(2.0**-26)),
)


@given(st.data())
def test_no_order_is_ever_turned(data: st.DataObject) -> None:
    """Any distances, where rounding also makes ties."""
    drawn = data.draw(alignments())
    values = data.draw(st.lists(DISTANCES, min_size=1, max_size=8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    distances = rng.choice(np.array(values, dtype), drawn.sizes)
    task = drawn.task()
    plain = task.evaluate_scores(-distances).ranks
    check_no_order_is_turned(plain, task.evaluate_scores(inverse(distances)).ranks)


# that float32 tells from their neighbours, and 1 / (1 + d) does not: where 1 + d has fewer digits
# for what d has, and where the quotient has
NEAR = np.array([0.0, 2.0**-26, 1.5, 3.25, 2.0**25 - 10], np.float32)


@pytest.mark.parametrize("near", NEAR)
def test_rounding_ties_what_differs(near: Any) -> None:
    distances = np.array([[near, np.nextafter(near, np.float32(np.inf)), 2 * near + 1]])
    assert distances.dtype == np.float32
    assert len(set(distances[0].tolist())) == 3
    task = Task([(0, 1)], left=1, right=3)
    plain = task.evaluate_scores(-distances).ranks
    bounded = task.evaluate_scores(inverse(distances)).ranks
    assert (counts(plain)["above"], counts(plain)["tied"]) == ([1, 0], [1, 1])
    assert (counts(bounded)["above"], counts(bounded)["tied"]) == ([0, 0], [2, 1])
    check_no_order_is_turned(plain, bounded)
    if near >= 1:  # in float64 they are apart
        wide = task.evaluate_scores(inverse(distances.astype(np.float64))).ranks
        assert counts(wide) == counts(plain)


@pytest.mark.parametrize("near", NEAR[1:])
@pytest.mark.parametrize(("bounded", "plain"), PAIRS.items())
def test_rounding_ties_vectors_too(bounded: str, plain: str, near: Any) -> None:
    """The same distances, from vectors of one dimension."""
    left = np.zeros((1, 1), np.float32)
    right = np.array([[near], [np.nextafter(near, np.float32(np.inf))], [2 * near + 1]])
    task = Task([(0, 1)], left=1, right=3)
    ranks = {
        name: task.evaluate_embeddings(left, right, similarity=name).ranks
        for name in (bounded, plain)
    }
    assert (counts(ranks[plain])["above"], counts(ranks[plain])["tied"]) == ([1, 0], [1, 1])
    assert (counts(ranks[bounded])["above"], counts(ranks[bounded])["tied"]) == ([0, 0], [2, 1])
    check_no_order_is_turned(ranks[plain], ranks[bounded])


def test_their_values_differ() -> None:
    """Ranks are equal but values are not, so means of similarities depend on the reading."""
    left, right = np.zeros((1, 2), np.float32), np.array([[3, 4], [0, 1]], np.float32)
    found = {name: tr.score_embeddings(left, right, similarity=name) for name in ("l2", *PAIRS)}
    assert found["l2"].tolist() == [[-5.0, -1.0]]
    assert found["inverse_l2"].tolist() == [[np.float32(1 / 6), 0.5]]
    assert found["inverse_l1"].tolist() == [[0.125, 0.5]]
