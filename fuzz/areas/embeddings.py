"""Vectors: scores bit for bit, ranks and the top k; beyond a tile against an oracle in C."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from fuzz.oracles.vectors import score
from oracles.embeddings import SIMILARITIES, scored_by
from strategies.embeddings import Vectors, check, tasks, vectors
from support.outcomes import Problem


@st.composite
def calls(draw: st.DrawFn) -> tuple[Vectors, Problem | None]:
    """Draw large vectors with tasks, which there are only among entities."""
    given = draw(vectors(nan=True, oracle=score, large=True))
    if not len(given.entities):
        return given, None
    return given, draw(tasks(given))


@settings(max_examples=10)
@given(calls())
def beyond_a_tile(call: tuple[Vectors, Problem | None]) -> None:
    given, problem = call
    given.scores()
    if problem is not None:
        check(given, problem)


LENGTHS = st.sampled_from([0, 1, 2, 3, 8])
SHAPES = st.tuples(LENGTHS, LENGTHS)


@settings(max_examples=50)
@given(SHAPES, SHAPES, st.none() | LENGTHS, st.sampled_from(SIMILARITIES))
def shapes(
    queries: tuple[int, int], entities: tuple[int, int], bias: int | None, similarity: str
) -> None:
    """Vectors that do not fit together are refused, and all others scored."""
    d = queries[1]
    fit = d == entities[1] and d > 0 and (similarity != "complex_l1" or d % 2 == 0)
    fit = fit and bias in (None, entities[0])
    arrays: list[Any] = [np.zeros(shape, np.float32) for shape in (queries, entities)]
    options = scored_by(similarity) | {"bias": bias if bias is None else np.ones(bias, np.float32)}
    calls = [
        lambda: tr.score_embeddings(*arrays, **options).shape == (queries[0], entities[0]),
        lambda: tr.topk_embeddings(*arrays, 2, **options).ids.shape == (queries[0], 2),
    ]
    if entities[0]:
        calls.append(lambda: (tr.rank_embeddings(*arrays, 0, **options).candidates >= 1).all())
    for call in calls:
        try:
            assert call()
            assert fit
        except tr.InputValueError:
            assert not fit
