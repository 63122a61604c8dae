"""`rank`: scores that lie anywhere in memory, and arguments that are odd."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from doors.asking import ask
from doors.good_calls import good_calls
from doors.odd_values import ODD_ARGUMENTS, Maker
from support.outcomes import check


@given(
    st.tuples(st.integers(0, 5), st.integers(1, 70)),
    st.tuples(st.integers(-40, 40), st.integers(-40, 40)),
    st.sampled_from(["<f4", ">f4", "<f8", "<f2", "i1", "<i8", ">u2"]),
    st.sampled_from(["worst", "omit", "raise"]),
    st.integers(0, 2**32),
)
def strides(
    shape: tuple[int, int], steps: tuple[int, int], dtype: str, nan: str, seed: int
) -> None:
    """Scores may lie anywhere: at odd addresses, over each other, all in one place."""
    rng = np.random.default_rng(seed)
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    before = -sum(min(0, r) for r in reach)
    size = before + sum(max(0, r) for r in reach) + np.dtype(dtype).itemsize
    # Few bytes, so that scores tie; they are next to NaN, and to the largest numbers.
    memory = rng.choice(np.array([0, 1, 0x7F, 0x80, 0xFF], np.uint8), max(0, size) + 7)
    scores: Any = np.ndarray(shape, dtype, memory.data, before, steps)
    targets = rng.integers(0, shape[1], shape[0]).tolist()
    check(scores, targets, nan=nan, audit=True)


@settings(max_examples=200)
@given(ODD_ARGUMENTS)
def hostile(odd: list[tuple[int, Maker]]) -> None:
    ask(good_calls()["rank"], odd)
