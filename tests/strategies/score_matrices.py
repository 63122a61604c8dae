"""Small matrices of scores for inference, and the names of its methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[Any]


METHODS = ("greedy", "mutual", "stable", "optimal")


def no_mask(ids: list[int], size: int) -> list[int]:
    """Return ids, one of them twice where they look like a mask of integers, which is refused."""
    if 2 < len(ids) == size and max(ids) <= 1:
        return ids + ids[:1]
    return ids


@st.composite
def matrices(draw: st.DrawFn, most: int = 8) -> Array:
    shape = draw(st.integers(0, most)), draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    usual = st.sampled_from([0, 0.1, 0.7, -0.0, 2])
    odd = st.sampled_from([np.nan, np.inf, -np.inf])
    values = draw(st.lists(usual | usual | odd, min_size=1, max_size=5))
    kind = draw(st.sampled_from([np.float32, np.float64]))
    return rng.choice(np.array(values, kind), shape)
