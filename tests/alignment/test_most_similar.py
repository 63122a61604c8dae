"""The most similar entities and the hubs among them: against sorting, loops, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from oracles.counting import Refused
from oracles.most_similar import Call, calls
from support.interruptions import allocating_at_most
from support.refusals import refusal
from truerank.alignment import csls_means, hubness, most_similar

pytestmark = pytest.mark.python_only

LEFT = np.eye(2)
RIGHT = np.array([[1.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
FEW: dict[str, Any] = {"csls": 1, "candidates": ([0], None), "queries": [0, 1]}
# Three left entities are nearest to the first right one, which ties with the second.
MATRIX = np.array([[5.0, 5, 1, 0], [5, 1, 2, 0], [4, 1, 3, 0], [0, 2, 3, 0]])


@given(calls(), st.integers(1, 6))
def test_found_is_what_sorting_gives(call: Call, k: int) -> None:
    try:
        queries, candidates, rows = call.most_similar(k)
    except Refused as refused:
        event("refused")
        with pytest.raises(ValueError, match=r"^" + "|".join(refused.names)):
            most_similar(call.left, call.right, k=k, **call.keywords)
        return
    found = most_similar(call.left, call.right, k=k, **call.keywords)
    width = min(k, len(candidates))
    assert found.ids.shape == found.similarities.shape == (len(queries), width)
    assert (found.queries.tolist(), found.candidates.tolist()) == (queries, candidates)
    for i, row in enumerate(rows):
        rest = [-1] * (width - len(row))
        assert found.ids[i].tolist() == [j for j, _ in row] + rest
        assert found.similarities[i, : len(row)].tolist() == [s for _, s in row]
        assert np.isnan(found.similarities[i, len(row) :]).all()
    for size in (None, 1, width):
        lists = [[j for j, _ in row[:size]] for row in rows]
        times = [sum(j in row for row in lists) for j in candidates]
        assert hubness(found, size).tolist() == times


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ([np.eye(3)], TypeError, "similar: expected a MostSimilar, got ndarray"),
        ([most_similar(MATRIX, None, k=2), 3], ValueError, "k: expected at most 2, as many as"),
        ([most_similar(MATRIX, None, k=2), 0], ValueError, "k: expected an integer >= 1, got 0"),
    ],
)
def test_errors_of_hubness(given: Any, kind: type[Exception], message: str) -> None:
    refusal(kind, f"^{message}", hubness, *given)


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"k": 0}, ValueError, "k: expected an integer >= 1, got 0"),
        ({"direction": "both"}, ValueError, "direction: expected one of left_to_right, right"),
        ({"queries": [2]}, ValueError, "queries: expected ids of entities from 0 to 1, got 2"),
        ({"queries": [0.0]}, TypeError, "queries: expected integers"),
        ({"candidates": ([0], [])}, ValueError, "candidates: expected at least one right entity"),
        ({"candidates": ([], None)}, ValueError, "candidates: expected at least one left entity"),
        ({"candidates": "test"}, TypeError, r"candidates: expected \(left_ids, right_ids\), got"),
        ({"candidates": (None, [3])}, ValueError, r"candidates\[1\]: expected ids .* to 2, got 3"),
        ({"csls": 0}, ValueError, "csls: expected an integer >= 1, got 0"),
        (FEW, ValueError, "queries: expected entities of candidates, for csls=1 has .*, got 1"),
        ({"nan": "worst"}, ValueError, "nan: expected one of raise, omit, got 'worst'"),
        ({"similarity": "near"}, ValueError, "similarity: expected one of"),
        ({"dtype": "float32"}, TypeError, "dtype: "),
    ],
)
def test_errors(keywords: dict[str, Any], kind: type[Exception], message: str) -> None:
    refusal(kind, f"^{message}", most_similar, LEFT, RIGHT, **keywords)


def test_a_made_csls_without_a_mean_for_a_query_is_a_nan() -> None:
    made = csls_means(LEFT, RIGHT, 1, candidates=([0], None))
    refusal(ValueError, "^scores: the score of left 1 .* NaN", most_similar, LEFT, RIGHT, csls=made)
    assert most_similar(LEFT, RIGHT, csls=made, queries=[0]).ids.shape == (1, 3)


def test_nothing_of_the_size_of_all_pairs() -> None:
    """Many tasks in little memory: the similarities of all pairs would be 400 MB."""
    vectors = np.random.default_rng(2).standard_normal((10_000, 2)).astype(np.float32)
    with allocating_at_most(10e6):
        found = most_similar(vectors, vectors, k=2, queries=np.arange(0, 10_000, 10))
    assert found.ids.shape == (1000, 2)
