"""Vectors: scores bit for bit, ranks, pairs and the top k against an oracle in C."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from fuzz.oracles.vectors import score
from oracles.counting import count_large
from oracles.embeddings import SIMILARITIES
from strategies.embeddings import (
    Tasks,
    Vectors,
    check_pairs,
    check_tasks_top_k,
    check_top_k,
    tasks,
    vectors,
)
from strategies.embeddings import check as compare

CORE = True


@st.composite
def calls(draw: st.DrawFn, *, errors: bool, large: bool = False) -> tuple[Vectors, Tasks | None]:
    """Draw vectors with tasks, which there are only among entities."""
    given = draw(vectors(nan=True, oracle=score, large=large))
    if not len(given.entities):
        return given, None
    is_single = given.queries.ndim == 1
    return given, draw(tasks(given.height, len(given.entities), is_single, errors=errors))


@check(vectors(nan=True, oracle=score))
def scores(given: Vectors) -> None:
    given.scores()


@check(vectors(nan=True, oracle=score, large=True), inputs=10)
def scores_beyond_a_tile(given: Vectors) -> None:
    given.scores()


@check(calls(errors=False), st.booleans())
def counts(call: tuple[Vectors, Tasks | None], audit: bool) -> None:
    given, asked = call
    if asked is not None:
        compare(given, asked, audit=audit)


@check(calls(errors=False, large=True), inputs=10)
def counts_beyond_a_tile(call: tuple[Vectors, Tasks | None]) -> None:
    given, asked = call
    if asked is not None:
        compare(given, asked, definition=count_large)


@check(calls(errors=True), inputs=50)
def errors(call: tuple[Vectors, Tasks | None]) -> None:
    given, asked = call
    if asked is not None:
        compare(given, asked)


@check(calls(errors=False), st.sampled_from([1, 2, 3, 10, 60, 200]), inputs=50)
def top_k(call: tuple[Vectors, Tasks | None], k: int) -> None:
    given, asked = call
    if asked is None:
        check_top_k(given, k, {}, {})
    else:
        check_tasks_top_k(given, k, asked)


@check(calls(errors=False), st.sampled_from([None, 1, 2, 3]), inputs=50)
def pairs(call: tuple[Vectors, Tasks | None], threads: int | None) -> None:
    given, asked = call
    if asked is None or isinstance(asked.targets, int):
        check_pairs(given, [], [], threads)
        return
    single = given.queries.ndim == 1
    rows = [0] * len(asked.targets) if single else range(len(asked.targets))
    check_pairs(given, list(asked.plain.get("rows", rows)), asked.targets, threads)


LENGTHS = st.sampled_from([0, 1, 2, 3, 8])


@check(
    st.tuples(LENGTHS, LENGTHS),
    st.tuples(LENGTHS, LENGTHS),
    st.none() | LENGTHS,
    st.sampled_from(SIMILARITIES),
    inputs=50,
)
def shapes(
    queries: tuple[int, int], entities: tuple[int, int], bias: int | None, similarity: str
) -> None:
    """Vectors that do not fit together are refused, and all others scored."""
    arrays: list[Any] = [np.zeros(shape, np.float32) for shape in (queries, entities)]
    d = queries[1]
    fit = d == entities[1] and d > 0 and (similarity != "complex_l1" or d % 2 == 0)
    fit = fit and bias in (None, entities[0])
    given = {"similarity": similarity, "bias": None if bias is None else np.ones(bias, np.float32)}
    calls = {
        "scores": lambda: tr.score_embeddings(*arrays, **given).shape == (queries[0], entities[0]),
        "top k": lambda: tr.topk_embeddings(*arrays, 2, **given).ids.shape == (queries[0], 2),
    }
    if entities[0]:
        calls["ranks"] = lambda: (tr.rank_embeddings(*arrays, 0, **given).candidates >= 1).all()
    for name, call in calls.items():
        outcome: Any
        try:
            outcome = call()
        except tr.InputValueError:
            outcome = "refused"
        assert outcome == (True if fit else "refused"), name


FAULTS = [
    Fault(
        "two operations in the other order",
        "cpp/kernels/steps.hpp",
        "return sum + A::sqrt(A::fma(re, re, im * im));",
        "return sum + A::sqrt(A::fma(im, im, re * re));",
    ),
    Fault(
        "a bound made too tight",
        "python/truerank/embeddings/scoring.py",
        "width = min(length, max(1, embeddings.shape[1]))",
        "width = min(length, max(1, embeddings.shape[1] - 1))",
    ),
    Fault(
        "a checked size left out",
        "python/truerank/embeddings/vectors.py",
        '(similarity == "complex_l1" and length % 2)',
        '(similarity == "complex_l1" and length % 2 and length > 1)',
    ),
]
