"""Small matrices of scores for inference, and the names of its methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[Any]


METHODS = ("greedy", "mutual", "stable", "optimal")


@st.composite
def matrices(draw: st.DrawFn) -> Array:
    shape = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = (0, 0.1, 0.7, -0.0, 2, np.nan, -np.inf, np.inf)
    kind = draw(st.sampled_from([np.float32, np.float64]))
    return rng.choice(np.array(values[: draw(st.integers(1, len(values)))], kind), shape)
