"""Counts for thresholds on the scores of vectors are those of the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import truerank as tr
from oracles.thresholds import count_above
from strategies.embeddings import Tasks, Vectors, assert_refused, tasks, vectors, with_rows
from strategies.thresholds import compare, thresholds
from support.examples import examples
from support.refusals import refusal
from truerank.embeddings import vector_thresholds

QUERIES = np.array([[1, 0.5], [2, 1]], np.float32)
ENTITIES = np.array([[0, 1], [1, 0], [1, 1], [2, 2]], np.float32)


def check(drawn: Vectors, asked: Tasks, data: st.DataObject) -> None:
    scores = drawn.scores()
    count = with_rows(drawn, asked)
    found = data.draw(thresholds(scores, None, count))
    vectors = drawn.queries, drawn.entities
    compare(
        lambda: tr.count_above(*vectors, found.given, **drawn.keywords, **asked.keywords),
        lambda: count_above(scores, found.plain, **asked.plain),
        np.shape(found.given) or (count,),
        assert_refused,
    )


@pytest.mark.smoke
@given(vectors(nan=True), st.data(), st.booleans())
@examples(150)
def test_counts_are_those_of_the_definition(
    drawn: Vectors, data: st.DataObject, many: bool
) -> None:
    """Where a query has many thresholds, its scores are made first."""
    event(drawn.similarity)
    if not len(drawn.entities):
        return
    single = drawn.queries.ndim == 1
    asked = data.draw(tasks(drawn.height, len(drawn.entities), single, errors=False))
    with pytest.MonkeyPatch.context() as patch:
        if many:
            asked.keywords["block"] = None
            patch.setattr(vector_thresholds, "MANY", 0)
            patch.setattr(
                vector_thresholds, "TILE_BYTES", data.draw(st.sampled_from([1, 500, 9000]))
            )
        check(drawn, asked, data)


# --- forms of input


def test_progress_is_told_of_bounds() -> None:
    seen: list[tr.Progress] = []
    tr.count_above(QUERIES, ENTITIES, [[0, 1, 2], [1, 2, 3]], progress=seen.append)
    last = seen[-1]
    assert last.done == last.total > 0
    assert last.bounds is not None
    assert last.bounds.pairs == 24


# --- errors


@pytest.mark.parametrize(
    ("asked", "keywords", "message"),
    [
        ([0.5], {}, "thresholds: expected 2 thresholds, one for each query, or a matrix of 2 rows"),
        ([[0.5, np.nan]] * 2, {}, r"thresholds: expected numbers, got NaN at \[0, 1\]"),
        (0.5, {"rows": [0, 2]}, "rows: expected integers from 0 to 1 .2 queries., .* 2 for task 1"),
        (0.5, {"candidates": [4]}, "candidates: "),
        (0.5, {"similarity": "L1"}, "similarity: "),
        (0.5, {"order": "ascending"}, "order: expected 'descending' for vectors, "),
        (0.5, {"block": 0}, "block: expected an integer >= 1, got 0"),
        (0.5, {"bias": [1, np.nan, 0, 0.0]}, "scores: the score of query 0 and entity 1 is NaN"),
    ],
)
def test_errors(asked: Any, keywords: dict[str, Any], message: str) -> None:
    refusal(tr.InputValueError, f"^{message}", tr.count_above, QUERIES, ENTITIES, asked, **keywords)
