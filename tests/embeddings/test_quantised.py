"""Quantised vectors: what is counted and listed are sums of integers, as NumPy has them in int64.

The twin knows neither floats nor the package: of l2 it takes the square, whose order is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import count
from oracles.embeddings import scored_by
from strategies.embeddings import Vectors, check, check_top_k, tasks
from support.examples import examples
from support.problems import LAYOUTS, Array, assert_same, unaligned
from truerank.alignment import CSLS

SUMS: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda q, e: (q * e).sum(axis=-1),
    "l1": lambda q, e: -np.abs(q - e).sum(axis=-1),
    "sql2": lambda q, e: -np.square(q - e).sum(axis=-1),
}
SUMS["l2"] = SUMS["sql2"]
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "bool": (0, 1)}


def sums(queries: Array, entities: Array, similarity: str) -> Array:
    """Return what decides the order of all pairs, in int64."""
    matrices = np.atleast_2d(queries).astype(np.int64), entities.astype(np.int64)
    return SUMS[similarity](matrices[0][:, None], matrices[1][None])


def exact_scores(queries: Array, entities: Array, similarity: str, **_: Any) -> Array:
    """Return the scores of all pairs in float64; of l2, the roots."""
    totals = sums(queries, entities, similarity)
    if similarity == "dot":
        return totals.astype(np.float64)
    distances = (-totals).astype(np.float64)
    if similarity == "l2":
        distances = np.sqrt(distances)
    return -distances


def drawn_of(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], *, ends: bool) -> Array:
    """Draw numbers of the whole range, or its ends alone, of which sums are largest."""
    least, most = RANGES[dtype]
    if ends:
        return rng.choice([least, most], shape).astype(dtype)
    return rng.integers(least, most + 1, shape).astype(dtype)


@st.composite
def quantised(draw: st.DrawFn) -> Vectors:
    """Draw vectors of one dtype, of which some repeat; also longer ones than floats can sum."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(list(RANGES)))
    q = draw(st.integers(0, 13))
    n = draw(st.one_of(st.sampled_from([1, 16, 17, 65]), st.integers(1, 40)))
    d = draw(st.one_of(st.integers(1, 12), st.sampled_from([259, 1025])))
    ends = draw(st.booleans())
    entities = drawn_of(rng, dtype, (n, d), ends=ends)
    queries = drawn_of(rng, dtype, (q, d), ends=ends)
    if draw(st.booleans()):
        entities = entities[rng.integers(0, n, n)]
        queries[: n // 2] = entities[: min(q, n // 2)]
    names = draw(st.tuples(*[st.sampled_from(list(LAYOUTS))] * 2))
    queries = LAYOUTS[names[0]](queries)
    if q and draw(st.integers(0, 3)) == 0:
        queries = queries[0]
    similarity = draw(st.sampled_from(list(SUMS)))
    return Vectors(queries, LAYOUTS[names[1]](entities), similarity, oracle=exact_scores)


@pytest.mark.smoke
@given(quantised(), st.data(), st.booleans(), st.booleans(), st.sampled_from([1, 3, 200]))
@examples(200)
def test_counts_and_the_top_k_are_those_of_integers(
    drawn: Vectors, data: st.DataObject, errors: bool, audit: bool, k: int
) -> None:
    problem = data.draw(tasks(drawn, errors=errors))
    check(drawn, problem, audit=audit)
    if not errors:
        check_top_k(drawn, k, problem)


@pytest.mark.parametrize("similarity", SUMS)
def test_many_pairs(similarity: str) -> None:
    """Bounds decide most of them; the largest sum is beyond what a float32 holds."""
    rng = np.random.default_rng(4)
    for dtype in RANGES:
        entities = drawn_of(rng, dtype, (700, 300), ends=dtype == "uint8")
        queries = drawn_of(rng, dtype, (30, 300), ends=dtype == "uint8")
        queries[:10] = entities[:10]
        targets = rng.integers(0, 700, 30)
        expected = count(sums(queries, entities, similarity), targets.tolist())
        for threads, block in ((1, None), (2, 7), (5, None)):
            options: dict[str, Any] = {"similarity": similarity, "threads": threads, "block": block}
            assert_same(tr.rank_embeddings(queries, entities, targets, **options), expected)


def test_sums_that_a_float32_would_round() -> None:
    """Two entities whose scores differ by 1 at 2^24 and beyond are no tie."""
    queries = np.full((1, 300), 255, np.uint8)
    entities = np.full((3, 300), 255, np.uint8)
    entities[1, 0] = 254
    queries[0, 0] = 1
    assert sums(queries, entities, "dot")[0].tolist() == [19442730, 19442729, 19442730]
    assert tr.rank_embeddings(queries, entities, [0], similarity="dot").tied.tolist() == [2]
    entities[:, 1:] = 0
    queries[0, :2] = (0, 254)  # squared distances of 298 * 255^2 + 254^2 + 0, 1 and 0
    entities[:, 0] = (0, 1, 0)
    roots = np.sqrt(-sums(queries, entities, "l2")[0]).astype(np.float32)
    assert roots[0] == roots[1]
    ranks = tr.rank_embeddings(queries, entities, [1], similarity="l2")
    assert (ranks.above.tolist(), ranks.tied.tolist()) == ([2], [1])


def vectors_of(dtype: str) -> tuple[Array, Array, Array]:
    """Return queries, entities, and the sums of their products."""
    rng = np.random.default_rng(7)
    queries = drawn_of(rng, dtype, (7, 70), ends=False)
    entities = drawn_of(rng, dtype, (19, 70), ends=False)
    return queries, entities, sums(queries, entities, "dot")


@pytest.mark.parametrize("dtype", RANGES)
def test_files_and_forms(tmp_path: Path, dtype: str) -> None:
    queries, entities, scores = vectors_of(dtype)
    targets = [0, 18, 5, 11, 18, 2, 7]
    np.save(tmp_path / "e.npy", np.asfortranarray(entities))
    for form in (tmp_path / "e.npy", unaligned(entities)):
        kept = tmp_path / f"kept {type(form).__name__}"
        for options in ({}, {"checkpoint": kept}):
            ranks = tr.rank_embeddings(queries, form, targets, **options)
            assert_same(ranks, count(scores, targets))
        np.testing.assert_array_equal(tr.score_embeddings(queries, form), scores)


@pytest.mark.parametrize("backend", ["host", "torch", "triton"])
@pytest.mark.parametrize("dtype", RANGES)
def test_tensors(monkeypatch: pytest.MonkeyPatch, dtype: str, backend: str) -> None:
    """On a device they are copied to the host, whatever counts there."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("TRUERANK_DEVICE", backend)
    queries, entities, scores = vectors_of(dtype)
    tensors = torch.from_numpy(queries), torch.from_numpy(entities)
    assert_same(tr.rank_embeddings(*tensors, [3] * 7), count(scores, [3] * 7))


@pytest.mark.parametrize("similarity", ["cosine", "inverse_l2", "complex_l1"])
def test_other_similarities_are_those_of_float64(similarity: str) -> None:
    """With a bias and the means of CSLS, too."""
    queries, entities, _ = vectors_of("int8")
    options: dict[str, Any] = scored_by(similarity) | {"bias": np.linspace(0, 1, 19)}
    options["csls"] = CSLS(np.linspace(0, 1, 7), np.linspace(-1, 1, 19), 3)
    wide = queries.astype(np.float64), entities.astype(np.float64)
    expected = tr.score_embeddings(*wide, **options)
    np.testing.assert_array_equal(tr.score_embeddings(queries, entities, **options), expected)
