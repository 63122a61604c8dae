"""The top k: the first k of all candidates, sorted by score, then by id."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import truerank as tr
from strategies.embeddings import Vectors, check_tasks_top_k, check_top_k, tasks, vectors
from support.refusals import refusal


@pytest.mark.smoke
@given(vectors(nan=True), st.data())
@settings(max_examples=100)
def test_best_is_what_sorting_gives(drawn: Vectors, data: st.DataObject) -> None:
    event(drawn.similarity)
    height, columns = drawn.height, len(drawn.entities)
    k = data.draw(st.sampled_from([1, 2, 3, 10, columns, columns + 1, 200]).filter(bool))
    if not columns or data.draw(st.integers(0, 3)) == 0:  # a task for each query
        check_top_k(drawn, k, {"nan": "worst"}, {"nan": "worst"})
        return
    asked = data.draw(tasks(height, columns, drawn.queries.ndim == 1, errors=False))
    check_tasks_top_k(drawn, k, asked)


def test_k() -> None:
    for k in (0, -1, 1.0, True, None):
        kind = tr.InputValueError if type(k) is int else tr.InputTypeError
        refusal(
            kind, "^k: expected an integer >= 1, got ", tr.topk_embeddings, np.eye(2), np.eye(2), k
        )


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
