"""Where another library has subnormal numbers count as 0, results are as elsewhere."""

from __future__ import annotations

import ctypes
import pickle
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import _core
from truerank.alignment import CSLS
from truerank.compat.interpreter import EXACT, count, ordered_floats
from truerank.inputs.array_likes import as_scores, default_arithmetic

# Where the C library keeps the register of vector arithmetic in its fenv_t, and the bits to set.
REGISTERS = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24)}

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in REGISTERS,
    reason="knows the registers of two processors, and the C library of Linux by its name",
)


@contextmanager
def flushing() -> Iterator[None]:
    """Have this thread take subnormal numbers for 0, as `torch.set_flush_denormal(True)` does."""
    library = ctypes.CDLL("libm.so.6")
    offset, bits = REGISTERS[platform.machine()]
    before = ctypes.create_string_buffer(64)
    assert library.fegetenv(before) == 0
    changed = ctypes.create_string_buffer(before.raw, 64)
    ctypes.c_uint32.from_buffer(changed, offset).value |= bits
    assert library.fesetenv(changed) == 0
    try:
        yield
    finally:
        library.fesetenv(before)


def flushes() -> bool:
    return not bool(np.array([5e-324]) > 0)


# Subnormal float32 and float64, all of them different from 0 but for a few.
RNG = np.random.default_rng(14)
NARROW = (RNG.integers(-9, 10, (6, 8)) * 1e-42).astype(np.float32)
WIDE = RNG.integers(-9, 10, (6, 8)) * 1e-320
TARGETS = RNG.integers(0, 8, 6)
IDS = RNG.permuted(np.tile(np.arange(8), (6, 1)), axis=1)
FALLING = {scores.dtype: -np.sort(-scores) for scores in (NARROW, WIDE)}
Q, E = RNG.standard_normal((2, 5, 4)).astype(np.float32)
TINY = RNG.integers(-9, 10, 5) * 1e-42  # normal numbers in float64, not in float32


def counted_by_blocks(scores: Any) -> tr.Ranks:
    counter = tr.RankCounter(scores[np.arange(6), TARGETS], TARGETS, candidates=8)
    for start in (0, 4):
        counter.update(scores[:, start : start + 4], start=start)
    return counter.ranks()


def conventions(scores: Any) -> list[Any]:
    values = ordered_floats(as_scores(scores), "ascending")
    is_true = np.arange(8) == TARGETS[:, None]
    true_scores = values[np.arange(6), TARGETS][:, None]
    flags = ~is_true, np.zeros((6, 8), bool), is_true
    return [values, count(values, true_scores, *flags, EXACT)]


CASES: dict[str, Callable[[Any], Any]] = {
    "rank": lambda s: tr.rank(s, TARGETS),
    "RankCounter": counted_by_blocks,
    "lists": lambda s: tr.rank_lists(IDS, s, TARGETS, candidates=8),
    "lists in order": lambda s: tr.rank_lists(IDS, FALLING[s.dtype], TARGETS, candidates=8),
    "rank_against": lambda s: tr.rank_against(s[:, 0], s[:, 1:]),
    "scores": lambda s: [tr.score_embeddings(s, s, similarity=n) for n in ("l1", "cosine")],
    "bias": lambda s: tr.score_embeddings(Q * 0, E, bias=TINY),
    "means": lambda s: tr.score_embeddings(Q * 0, E, csls=CSLS(TINY, TINY, 1)),
    "top k": lambda s: tr.topk_embeddings(s, s, 3, similarity="l1"),
    "greedy": lambda s: tr.alignment.infer(s, None),
    "stable": lambda s: tr.alignment.infer(s, None, method="stable"),
    "threshold": lambda s: tr.alignment.infer(s, None, threshold=5e-324),
    "conventions": conventions,
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scores", [NARROW, WIDE], ids=["float32", "float64"])
def test_subnormal_scores_are_not_zeros(scores: Any, name: str) -> None:
    expected = CASES[name](scores)
    with flushing():
        assert flushes()
        found = CASES[name](scores)
        assert flushes()
    assert pickle.dumps(found) == pickle.dumps(expected)


def test_default_arithmetic_ends_with_the_context() -> None:
    with flushing():
        with default_arithmetic():
            assert not flushes()
            with default_arithmetic():
                assert not flushes()
            assert not flushes()
        assert flushes()
        with pytest.raises(ZeroDivisionError), default_arithmetic():
            raise ZeroDivisionError
        assert flushes()
    assert not flushes()


def test_any_number_can_be_restored() -> None:
    """Some bits of the register end the process if they are set."""
    before = _core.use_default_arithmetic()
    for word in (2**64 - 1, 2**31, 0):
        _core.restore_arithmetic(word & ~0xE040 | 0x1F80)
    _core.restore_arithmetic(before)
    assert _core.use_default_arithmetic() == before
