"""Embeddings on a device, in Triton's interpreter; `test_devices.py` runs these cases.

Tensors in the host's memory stand in for those on a device, and arrays go to the core. Programs,
panels and tiles are so small that every call takes several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from oracles.embeddings import SIMILARITIES, same_bits
from strategies.embeddings import Vectors, tasks, vectors, with_rows
from support.outcomes import Problem
from support.problems import Array
from support.refusals import refused
from truerank import _core, alignment, devices
from truerank.devices import score_sources, scoring_kernels, task_counts, vector_scores
from truerank.devices.vector_scores import VectorScores, scores_right
from truerank.embeddings.vectors import CSLS, Embeddings

RNG = np.random.default_rng(5)
HOST = torch.device("cpu")
EXAMPLES = settings(max_examples=30)
# of NumPy, by which the interpreter computes
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True, scope="module")
def small_and_poisoned() -> Iterator[None]:
    """Small limits, and new memory that is full of numbers that nobody set."""
    plain = VectorScores.empty

    def poisoned(self: VectorScores, shape: tuple[int, ...], dtype: Any) -> Any:
        poison = True if dtype == torch.bool else 113
        return plain(self, shape, dtype).fill_(poison)

    for similarity in _core.similarities:  # with blocks of the usual size
        for dtype in ("float32", "float64"):
            assert scores_right(HOST, similarity, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUERANK_DEVICE", "triton")
        patch.setattr(VectorScores, "empty", poisoned)
        patch.setattr(score_sources, "TILE_BYTES", 4000)
        patch.setattr(task_counts, "MOST_ENTRIES", 60)
        patch.setattr(task_counts, "MOST_TASKS", 6)
        small = {"TILE": (4, 16), "SMALL_TILE": (4, 8), "VECTORS": 32, "PANEL_BYTES": 6000}
        for name, value in {**small, "SORTED_SCORES": 400, "SORTED_COLUMNS": 64}.items():
            patch.setattr(vector_scores, name, value)
        yield


def tensor_of(array: Any) -> Any:
    """Return a tensor of the same numbers, with the same strides where torch can have them."""
    if not isinstance(array, np.ndarray):
        return array
    native = array
    if not native.dtype.isnative:
        native = native.astype(native.dtype.newbyteorder("="))
    if not native.flags.writeable:
        native = native.copy()
    dtype = native.dtype
    is_bfloat16 = dtype.name == "bfloat16"
    if dtype.itemsize == 2 and dtype != np.float16:
        native = native.view(np.int16)
    try:
        plain = torch.from_numpy(native)
    except ValueError:
        plain = torch.from_numpy(np.array(native, order="C"))
    return plain.view(torch.bfloat16) if is_bfloat16 else plain


def result(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    try:
        return call(*arguments, **keywords)
    except (ValueError, TypeError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


def both(
    call: Callable[..., Any],
    given: Vectors,
    *more: Any,
    move: Callable[[Any], Any] = tensor_of,
    **keywords: Any,
) -> tuple[Any, Any]:
    """Return what a call gives for tensors, and for arrays."""
    tensors = move(given.queries), move(given.entities)
    offsets = {**given.keywords, "bias": move(given.bias)}
    return (
        result(call, *tensors, *more, **offsets, **keywords),
        result(call, given.queries, given.entities, *more, **given.keywords, **keywords),
    )


def agree(got: Any, expected: Any) -> bool:
    """Whether results are the same: a message, ranks, an array by its bits, or several of them."""
    if isinstance(expected, tuple):
        return type(got) is type(expected) and all(map(agree, got, expected))
    if isinstance(expected, np.ndarray):
        return same_bits(got, expected)
    return bool(got == expected)


# --- the same bits, integers and errors


@given(vectors(nan=True, similarities=SIMILARITIES))
@EXAMPLES
def test_scores(given: Vectors) -> None:
    assert agree(*both(tr.score_embeddings, given))
    if given.height and len(given.entities):
        rows = RNG.integers(0, given.height, 7)
        targets = RNG.integers(0, len(given.entities), 7)
        assert agree(*both(tr.score_embeddings, given, rows=rows))
        assert agree(*both(tr.score_embeddings, given, targets, rows=rows))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Vectors, Problem]:
    given = draw(vectors(nan=draw(st.booleans())))
    return given, draw(tasks(given, errors=draw(st.booleans())))


@given(problems(), st.booleans())
@EXAMPLES
def test_counts_and_refusals(problem: tuple[Vectors, Problem], audit: bool) -> None:
    given, drawn = problem
    targets, keywords = drawn.call()
    got, expected = both(tr.rank_embeddings, given, targets, **keywords, audit=audit)
    assert agree(got, expected)
    if isinstance(expected, tr.Ranks):
        assert got.protocol.device == ("cpu, host" if audit else "cpu, triton")
        assert expected.protocol.device is None
        assert got.protocol.similarity == expected.protocol.similarity


@given(problems(), st.integers(1, 45))
@EXAMPLES
def test_top_k(problem: tuple[Vectors, Problem], k: int) -> None:
    given, drawn = problem
    _, keywords = with_rows(given, drawn).call()
    assert agree(*both(tr.topk_embeddings, given, k, **keywords))


@given(
    vectors(nan=True).filter(lambda given: given.queries.ndim > 1),
    st.integers(1, 9),
    st.sampled_from(["raise", "worst", "omit"]),
    st.none() | st.integers(0, 2**32),
)
@EXAMPLES
def test_means(given: Vectors, k: int, nan: str, seed: int | None) -> None:
    given.bias = given.csls = None
    ids = None
    if seed is not None:
        rng = np.random.default_rng(seed)
        sizes = (given.height, len(given.entities))
        ids = tuple(np.flatnonzero(rng.random(n) < 0.5) for n in sizes)
    options = {"similarity": given.similarity, "nan": nan, "candidates": ids, "dtype": given.dtype}
    tensors = tensor_of(given.queries), tensor_of(given.entities)
    got = result(alignment.csls_means, *tensors, k, **options)
    expected = result(alignment.csls_means, given.queries, given.entities, k, **options)
    assert agree(got, expected)


def test_no_array_is_larger_than_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    plain = VectorScores.empty

    def noted(self: VectorScores, shape: tuple[int, ...], dtype: Any) -> Any:
        made = plain(self, shape, dtype)
        sizes.append(made.numel() * made.element_size())
        return made

    monkeypatch.setattr(VectorScores, "empty", noted)
    queries = RNG.normal(size=(5, 8))
    entities = RNG.normal(size=(700, 8)).astype(np.float32)
    tensors = torch.from_numpy(queries), torch.from_numpy(entities)
    for similarity in ("cosine", "l2"):
        tr.rank_embeddings(*tensors, [0, 1, 2, 3, 699], similarity=similarity)
        tr.topk_embeddings(*tensors, 3, similarity=similarity)
        tr.score_embeddings(*tensors, similarity=similarity)
    assert max(sizes) <= vector_scores.PANEL_BYTES
    assert len(sizes) > 100


# --- the ways in


def tenths(*shape: int) -> Array:
    return (RNG.integers(-9, 10, shape) / 10).astype(np.float32)


def test_alignment() -> None:
    left = tenths(30, 6)
    right = tenths(40, 6)
    right[:30:3] = left[::3]
    pairs = np.arange(20)[:, None].repeat(2, axis=1)
    task = alignment.Task(pairs, left=30, right=40)
    among_test = alignment.Task(pairs, left=30, right=40, candidates="test")
    calls: list[tuple[Any, dict[str, Any]]] = [(task, {"csls": 3}), (task, {"audit": True})]
    for made, options in [*calls, (among_test, {"csls": 3})]:
        expected = made.evaluate_embeddings(left, right, **options)
        tensors = torch.from_numpy(left), torch.from_numpy(right)
        got = made.evaluate_embeddings(*tensors, **options)
        assert got.ranks == expected.ranks
        way = "host" if "audit" in options else "triton"
        assert got.ranks.protocol.device == f"cpu, {way}"


# --- where vectors are scored


def test_where_vectors_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = tenths(3, 4)
    entities = tenths(5, 4)
    tensor = torch.from_numpy(entities)
    assert Embeddings(queries, tensor, "dot").on_device
    assert not Embeddings(torch.from_numpy(queries), entities, "dot").on_device
    expected = tr.score_embeddings(queries, entities)
    for left in (queries, queries.astype(">f4"), queries.astype(np.float64), queries[0]):
        assert same_bits(tr.score_embeddings(left, tensor), tr.score_embeddings(left, entities))
    assert same_bits(tr.score_embeddings(torch.from_numpy(queries), entities), expected)
    for way in ("torch", "host"):
        monkeypatch.setenv("TRUERANK_DEVICE", way)
        assert not Embeddings(queries, tensor, "dot").on_device
        assert same_bits(tr.score_embeddings(queries, tensor), expected)


def test_a_device_that_rounds_otherwise_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = RNG.normal(size=(3, 40))
    entities = RNG.normal(size=(50, 40))
    expected = tr.rank_embeddings(queries, entities, [1, 2, 3])
    monkeypatch.setattr(devices, "scores_right", lambda *args: False)
    tensors = torch.from_numpy(queries), torch.from_numpy(entities)
    ranks = tr.rank_embeddings(*tensors, [1, 2, 3])
    assert ranks == expected
    assert ranks.protocol is not None
    assert ranks.protocol.device == "cpu, host"


def test_gradients_and_modes_change_nothing() -> None:
    queries = tenths(3, 4)
    entities = tenths(5, 4)
    expected = tr.rank_embeddings(queries, entities, [1, 2, 3], similarity="l2")
    tensors = [torch.from_numpy(x).requires_grad_() for x in (queries, entities)]
    for mode in (torch.inference_mode(), torch.device("meta"), torch.autocast("cpu")):
        with mode:
            assert tr.rank_embeddings(*tensors, [1, 2, 3], similarity="l2") == expected
    negative = torch._neg_view(torch.from_numpy(-entities))
    assert tr.rank_embeddings(tensors[0], negative, [1, 2, 3], similarity="l2") == expected


def test_refusals() -> None:
    queries = tenths(3, 4)
    entities = tenths(5, 4)
    for left, right, options in (
        (queries[:, :3], entities, {}),
        (queries[None], entities, {}),
        (queries.astype(np.complex64), entities, {}),
        (queries[:, :0], entities[:, :0], {}),
        (queries, entities, {"csls": CSLS(np.zeros(3), np.zeros(4), 1)}),
    ):
        tensors = torch.from_numpy(left.copy()), torch.from_numpy(right.copy())
        got = result(tr.rank_embeddings, *tensors, [1, 2, 3], **options)
        assert isinstance(got, str)
        assert got == result(tr.rank_embeddings, left, right, [1, 2, 3], **options)
    sparse = torch.from_numpy(entities).to_sparse()
    refused(TypeError, "entities", tr.rank_embeddings, queries, sparse, [1, 2, 3])


# --- a device is tried before it scores vectors: what rounds otherwise is seen


@triton.jit
def rounds_twice(total, q, e, SIMILARITY: tl.constexpr):  # type: ignore[no-untyped-def]
    return total + q * e


@triton.jit
def takes_subnormal_sums_for_zero(total, q, e, SIMILARITY: tl.constexpr):  # type: ignore[no-untyped-def]
    q, e = tl.broadcast(q, e)
    total = tl.fma(q, e, total)
    return tl.where(tl.abs(total) < 2.0**-126, 0.0, total)


@triton.jit
def rounds_as_tf32(total, q, e, SIMILARITY: tl.constexpr):  # type: ignore[no-untyped-def]
    q, e = tl.broadcast(q, e)
    short = (q.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    return tl.fma(short, e, total)


@pytest.mark.parametrize("step", [rounds_twice, takes_subnormal_sums_for_zero, rounds_as_tf32])
def test_another_rounding_is_seen(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring_kernels, "next_total", step)
    assert not scores_right.__wrapped__(HOST, "dot", "float32")


@triton.jit
def one_ulp_more(x):  # type: ignore[no-untyped-def]
    root = tl.sqrt(x)
    bits = root.to(tl.int32, bitcast=True)
    return tl.where(bits % 64 == 1, bits + 1, bits).to(tl.float32, bitcast=True)


@triton.jit
def by_a_reciprocal(x):  # type: ignore[no-untyped-def]
    return (1.0 / (1.0 + x.to(tl.float64)) * (1 + 2.0**-25)).to(tl.float32)


@pytest.mark.parametrize(
    ("name", "function", "similarity"),
    [
        ("square_root", one_ulp_more, "l2"),
        ("square_root", one_ulp_more, "complex_l1"),
        ("inverse_of_one_more", by_a_reciprocal, "inverse_l1"),
        ("inverse_of_one_more", by_a_reciprocal, "inverse_l2"),
    ],
)
def test_an_approximation_is_seen(
    name: str, function: Any, similarity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring_kernels, name, function)
    assert not scores_right.__wrapped__(HOST, similarity, "float32")


def test_what_cannot_be_compiled_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(vector_scores.VectorScores, "block", fail)
    assert not scores_right.__wrapped__(HOST, "dot", "float32")


def test_wrong_counts_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = vector_scores.VectorScores.scan
    monkeypatch.setattr(vector_scores.VectorScores, "scan", lambda *args: plain(*args) + 1)
    assert not scores_right.__wrapped__(HOST, "dot", "float64")
