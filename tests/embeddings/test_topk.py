"""The top k: the first k of all candidates, sorted by score, then by id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import truerank as tr
from oracles.embeddings import SIMILARITIES
from strategies.embeddings import Vectors, check_tasks_top_k, check_top_k, tasks, vectors
from support.refusals import refusal


@pytest.mark.smoke
@given(vectors(nan=True), st.data())
@settings(max_examples=100)
def test_best_is_what_sorting_gives(drawn: Vectors, data: st.DataObject) -> None:
    event(drawn.similarity)
    height, columns = drawn.height, len(drawn.entities)
    k = data.draw(st.sampled_from([1, 2, 3, 10, columns, columns + 1, 200]).filter(bool))
    if not columns:
        check_top_k(drawn, k, {}, {})
        return
    asked = data.draw(tasks(height, columns, drawn.queries.ndim == 1, errors=False))
    check_tasks_top_k(drawn, k, asked)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_without_rows_there_is_a_task_for_each_query(similarity: str) -> None:
    rng = np.random.default_rng(1)
    wide = (rng.standard_normal((60, 6)) / 9).astype(np.float32)
    for k in (1, 5, 60, 61):
        check_top_k(Vectors(wide[:7], wide, similarity), k, {}, {})
        check_top_k(Vectors(wide[3], wide, similarity), k, {}, {})


@pytest.mark.parametrize("rule", ["worst", "omit"])
def test_nan_is_last_or_absent(rule: str) -> None:
    entities = np.array([[np.nan], [1], [np.nan], [2], [-np.inf]], np.float32)
    found = tr.topk_embeddings(np.ones((1, 1), np.float32), entities, 6, nan=rule)
    numbers = [3, 1, 4]
    expected = [*numbers, 0, 2, -1] if rule == "worst" else [*numbers, -1, -1, -1]
    assert found.ids.tolist() == [expected]
    np.testing.assert_array_equal(found.scores, np.array([[2, 1, -np.inf] + [np.nan] * 3], "f4"))


def test_nan_is_refused_only_among_the_candidates() -> None:
    entities = np.array([[1], [np.nan], [2]], np.float32)
    query = np.ones((2, 1), np.float32)
    refusal(ValueError, "score of query .* NaN, which nan=", tr.topk_embeddings, query, entities, 1)
    with pytest.raises(ValueError, match="score of query 1 and entity 1 is NaN"):
        tr.topk_embeddings(query, entities, 1, filter=[[1], []])
    assert tr.topk_embeddings(query, entities, 2, filter=[[1]] * 2).ids.tolist() == [[2, 0]] * 2
    assert tr.topk_embeddings(query, entities, 2, candidates=[0]).ids.tolist() == [[0, -1]] * 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_among_nothing(dtype: str) -> None:
    for q, n in ((0, 5), (3, 0), (0, 0)):
        queries, entities = np.zeros((q, 4), dtype), np.zeros((n, 4), dtype)
        found = tr.topk_embeddings(queries, entities, 7)
        assert found.ids.shape == found.scores.shape == (q, 7)
        assert found.scores.dtype == dtype
        assert (found.ids == -1).all()


@pytest.mark.parametrize(
    ("k", "kind", "message"),
    [
        (0, ValueError, "k: expected an integer >= 1, got 0"),
        (-1, ValueError, "k: expected an integer >= 1, got -1"),
        (1.0, TypeError, "k: expected an integer >= 1, got float"),
        (True, TypeError, "k: expected an integer >= 1, got bool"),
        (None, TypeError, "k: expected an integer >= 1, got NoneType"),
    ],
)
def test_k(k: Any, kind: type[Exception], message: str) -> None:
    refusal(kind, message, tr.topk_embeddings, np.eye(2), np.eye(2), k)


@pytest.mark.parametrize("k", [1, 60, 299, 300])
def test_many_of_many(k: int) -> None:
    """Several threads find more candidates than are kept, independently of each other."""
    rng = np.random.default_rng(5)
    entities = rng.integers(-3, 4, (300, 4)).astype(np.float32)
    queries = rng.integers(-3, 4, (40, 4)).astype(np.float32)
    order = np.argsort(-tr.score_embeddings(queries, entities), axis=1, kind="stable")[:, :k]
    for block, threads in ((None, 1), (7, 1), (64, 3)):
        top_k = tr.topk_embeddings(queries, entities, k, block=block, threads=threads)
        np.testing.assert_array_equal(top_k.ids, order)
