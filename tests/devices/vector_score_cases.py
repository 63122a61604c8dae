"""A device is tried before it scores vectors: what rounds otherwise is seen. (`test_devices.py`)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from truerank.devices import scoring_kernels, vector_scores
from truerank.devices.vector_scores import scores_right

HOST = torch.device("cpu")


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    scores_right.cache_clear()
    yield
    scores_right.cache_clear()


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
    assert not scores_right(HOST, "dot", "float32")


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
    assert not scores_right(HOST, similarity, "float32")


def test_what_cannot_be_compiled_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(vector_scores.VectorScores, "block", fail)
    assert not scores_right(HOST, "dot", "float32")


def test_wrong_counts_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = vector_scores.VectorScores.scan
    monkeypatch.setattr(vector_scores.VectorScores, "scan", lambda *args: plain(*args) + 1)
    assert not scores_right(HOST, "dot", "float64")
