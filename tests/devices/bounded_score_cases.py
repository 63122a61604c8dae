"""Bounds by products of halves, in Triton's interpreter; `test_devices.py` runs these cases.

The interpreter's products are those of numpy. Here a model of an unkind tensor unit makes them: it
aligns some products and the sum so far at the largest of them, and cuts off what is below its last
place. Counts of tensors are compared with those of arrays, which the core counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
from embedding_cases import agree, both, tensor_of
from hypothesis import given, settings
from hypothesis import strategies as st
from triton.runtime import interpreter

import truerank as tr
from strategies.embeddings import Vectors, tasks, vectors
from support.outcomes import Problem
from support.problems import Array
from truerank import _core
from truerank.counting.driver import count_scores
from truerank.counting.job import prepare_job
from truerank.devices import bounded_scores, scoring_kernels, vector_scores
from truerank.devices.bounded_scores import BoundedScan, products_hold
from truerank.devices.vector_scores import VectorScores, bounds_right
from truerank.embeddings.vectors import Embeddings
from truerank.inputs.rules import Rules

HOST = torch.device("cpu")
RNG = np.random.default_rng(11)
BOUNDED = bounded_scores.BOUNDED
# of NumPy, by which the interpreter computes
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def unit(bits: int, addends: int, cut: Callable[[Array], Array]) -> Callable[..., Any]:
    """Return what stands in for a tensor unit: sums of some addends with so many bits."""

    def aligned(parts: Array) -> Array:
        _, exponents = np.frexp(np.abs(parts).max(-1, keepdims=True))
        place = np.ldexp(1.0, exponents - 1 - bits)
        return np.asarray((cut(parts / place) * place).sum(-1))

    def product(_: Any, left: Any, right: Any, total: Any, *__: Any) -> Any:
        rows = left.data.astype(np.float64)
        columns = right.data.astype(np.float64)
        found = total.data.astype(np.float64)
        for first in range(0, rows.shape[1], addends):
            some = slice(first, first + addends)
            parts = rows[:, None, some] * columns.T[None, :, some]
            found = aligned(np.concatenate([found[..., None], parts], -1))
            found = aligned(found[..., None])
        return interpreter.TensorHandle(found.astype(np.float32), total.dtype.scalar)

    return product


def with_unit(patch: pytest.MonkeyPatch, *kind: Any) -> None:
    patch.setattr(interpreter.InterpreterBuilder, "create_dot", unit(*kind))


@pytest.fixture(autouse=True)
def small_poisoned_and_unkind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small limits, new memory full of numbers that nobody set, and bounds wherever they hold."""
    plain = VectorScores.empty

    def poisoned(self: VectorScores, shape: tuple[int, ...], dtype: Any) -> Any:
        return plain(self, shape, dtype).fill_(113)

    monkeypatch.setenv("TRUERANK_DEVICE", "triton")
    monkeypatch.setattr(VectorScores, "empty", poisoned)
    monkeypatch.setattr(vector_scores, "LEAST_PAIRS", 1)
    monkeypatch.setattr(vector_scores, "MOST_OPEN", 1)
    monkeypatch.setattr(vector_scores, "bounds_right", lambda *_: True)
    monkeypatch.setattr(bounded_scores, "DEPTHS", range(1, 4097))
    monkeypatch.setattr(bounded_scores, "MOST_VECTORS", 48)
    monkeypatch.setattr(bounded_scores, "TILE", (32, 32))
    monkeypatch.setattr(bounded_scores, "SMALL_TILE", (16, 64))
    monkeypatch.setattr(bounded_scores, "OPEN_TILE", (64, 2))
    monkeypatch.setattr(bounded_scores, "VECTORS", 16)
    with_unit(monkeypatch, 23, 4, np.trunc)
    for check in (products_hold, bounds_right):
        check.cache_clear()
    yield
    for check in (products_hold, bounds_right):
        check.cache_clear()


# --- what a device is tried with


@pytest.mark.parametrize("addends", [4, 8, 16])
@pytest.mark.parametrize("cut", [np.trunc, np.floor])
def test_units_that_cut_off_are_within_the_bound(
    addends: int, cut: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_unit(monkeypatch, 23, addends, cut)
    assert products_hold(HOST)


@pytest.mark.parametrize("kind", [(22, 16, np.trunc), (13, 16, np.trunc), (21, 4, np.floor)])
def test_units_of_fewer_bits_are_found_out(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with_unit(monkeypatch, *kind)
    assert not products_hold(HOST)


def test_bounds_that_are_too_tight_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bounds_right(HOST, "l2")
    monkeypatch.setattr(scoring_kernels, "UP", tl.constexpr(2.0**-6))
    assert not bounds_right(HOST, "dot")


# --- the same counts


@st.composite
def problems(draw: st.DrawFn) -> tuple[Vectors, Problem]:
    given = draw(vectors(nan=draw(st.booleans()), similarities=BOUNDED))
    return given, draw(tasks(given))


@given(problems(), st.sampled_from([0, 3]))
@settings(max_examples=10)
def test_counts(problem: tuple[Vectors, Problem], most_repeated: int) -> None:
    given, drawn = problem
    targets, keywords = drawn.call()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoundedScan.__init__, "__defaults__", (most_repeated,))
        got, expected = both(tr.rank_embeddings, given, targets, **keywords)
    assert agree(got, expected)


def counts_of_numbers(
    queries: Any, entities: Any, numbers: Array, similarity: str, **options: Any
) -> tuple[Array, Array]:
    """Count the candidates of each query above each number of its row, and those equal to it."""
    opened = Embeddings(queries, entities, similarity, **options)
    rows = np.repeat(np.arange(len(numbers)), numbers.shape[1])
    job = prepare_job(opened.shape, ..., rows, None, None, Rules(nan="worst"))
    counts = count_scores(opened, replace(job, true_scores=numbers.ravel())).arrays
    return counts["above"], counts["tied"]


def counts_of(queries: Array, entities: Array, similarity: str, **options: Any) -> Array:
    """Compare the counts of tensors and arrays beside each score and its neighbours."""
    scores = tr.score_embeddings(queries, entities, similarity=similarity, **options)
    numbers = np.concatenate([np.nextafter(scores, np.float32(x)) for x in (-np.inf, 0, np.inf)], 1)
    given = tensor_of(queries), tensor_of(entities)
    got = counts_of_numbers(*given, numbers, similarity, **options)
    expected = counts_of_numbers(queries, entities, numbers, similarity, **options)
    return np.asarray(got) != np.asarray(expected)


def tight(depth: int, rows: int, columns: int, seed: int) -> tuple[Array, Array]:
    """Return vectors halfway between levels, all multiples of one: their residues are, too."""
    rng = np.random.default_rng(seed)
    halfway = 1 + (1, 3)[seed % 2] * 2.0**-11
    one = rng.choice([-halfway, halfway], depth) * 2.0 ** rng.integers(-2, 3, depth)
    sides = [one * 2.0 ** rng.integers(-2, 3, (height, 1)) for height in (rows, columns)]
    return sides[0].astype(np.float32), sides[1].astype(np.float32)


@pytest.mark.parametrize("similarity", BOUNDED)
@pytest.mark.parametrize("depth", [1, 70])
def test_vectors_that_reach_the_bound(similarity: str, depth: int) -> None:
    assert not counts_of(*tight(depth, 3, 7, depth), similarity).any()


def test_other_terms_of_a_score() -> None:
    queries, entities = tight(24, 3, 9, 0)
    bias = np.array([0, 1, -1, 1e-3, 1e30, -1e31, 3e38, np.inf, -np.inf], np.float32)
    assert not counts_of(queries, entities, "dot", bias=bias).any()
    means = tr.alignment.CSLS(RNG.normal(size=3).astype("f4"), RNG.normal(size=9).astype("f4"), 2)
    for more in ({}, {"bias": bias[:1].repeat(9) + np.arange(9, dtype="f4")}):
        assert not counts_of(queries, entities, "dot", csls=means, **more).any()


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**62])
@pytest.mark.parametrize("similarity", BOUNDED)
def test_vectors_of_all_magnitudes(similarity: str, scale: float) -> None:
    queries = RNG.normal(size=(4, 18)).astype(np.float32)
    entities = RNG.normal(size=(9, 18)).astype(np.float32)
    queries[0] = 0
    queries[1] *= np.float32(scale)
    entities[::2] *= np.float32(scale)
    entities[1] = 2.0**-149
    entities[3, 5] = 2.0**100
    assert not counts_of(queries, entities, similarity).any()


@pytest.mark.parametrize("factor", [0.93, 1 + 2.0**-10])
def test_a_bound_that_is_too_tight_by_a_factor_is_found(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A factor of both reaches, whose product bounds the error."""
    monkeypatch.setattr(scoring_kernels, "UP", tl.constexpr(factor))
    monkeypatch.setattr(bounded_scores, "RESIDUE", 2.0**-11)
    differ = [counts_of(*tight(40, 2, 5, seed), "dot").any() for seed in (0, 1)]
    assert any(differ) == (factor < 1)


@pytest.mark.parametrize("is_left_out", [False, True])
def test_the_error_of_the_unit_is_needed(
    is_left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    depth = 128
    small = np.full(depth, (2 - 2.0**-10) * 2.0**-12, np.float32)
    small[0] = 1
    entities = np.stack([small, small, small])
    entities[:, 1:] *= np.array([[2], [1], [0.5]], np.float32)
    monkeypatch.setattr(bounded_scores, "RESIDUE", 0)
    if is_left_out:
        monkeypatch.setattr(bounded_scores, "error_of_products", lambda _: 0.0)
        monkeypatch.setattr(bounded_scores, "error_of_chain", lambda _: 0.0)
    assert counts_of(small[None], entities, "dot").any() == is_left_out


# --- when bounds are used


def way(similarity: str = "dot", dtype: Any = np.float32, **options: Any) -> str:
    """Return what counted some vectors, compared with the host's counts."""
    rng = np.random.default_rng(0)
    entities = rng.normal(size=(70, 20)).astype(dtype)
    queries = (entities[:6] + rng.normal(0, 0.1, (6, 20))).astype(dtype)
    given = [queries, entities, np.arange(6)]
    expected = tr.rank_embeddings(*given, similarity=similarity, **options)
    tensors = tensor_of(queries), tensor_of(entities), given[2]
    ranks = tr.rank_embeddings(*tensors, similarity=similarity, **options)
    assert ranks == expected
    assert ranks.protocol is not None
    return str(ranks.protocol.device)


def test_where_there_are_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded, scored = "cpu, triton with bounds", "cpu, triton"
    assert {way(similarity) for similarity in BOUNDED} == {bounded}
    assert way(dtype=np.float16) == bounded
    assert way(dtype=np.float64) == way("l1") == scored
    bias = np.arange(70, dtype=np.float32)
    assert (way(bias=bias), way("sql2", bias=bias)) == (bounded, scored)
    for place, name, value in (
        (vector_scores, "LEAST_PAIRS", 6 * 70 + 1),
        (vector_scores, "MOST_OPEN", 0),
        (vector_scores, "bounds_right", lambda *_: False),
        (bounded_scores, "DEPTHS", range(21, 30)),
        (_core, "bounds", lambda: "off"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            assert way() == scored
    assert way() == bounded


def test_what_is_mostly_open_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_scores, "MOST_OPEN", 1 / 64)
    monkeypatch.setattr(bounded_scores, "MOST_VECTORS", 1 << 10)
    entities = RNG.normal(size=(300, 20)).astype(np.float32)
    queries = RNG.normal(size=(5, 20)).astype(np.float32)
    tied = entities[:1].repeat(300, 0)
    spoilt = entities.copy()
    spoilt[:2] = np.nan
    bounded = "triton with bounds"
    for candidates, device in ((entities, bounded), (spoilt, bounded), (tied, "triton")):
        tensors = torch.from_numpy(queries), torch.from_numpy(candidates)
        ranks = tr.rank_embeddings(*tensors, [2, 3, 4, 5, 6], nan="worst")
        assert ranks.protocol is not None
        assert ranks.protocol.device == f"cpu, {device}"
