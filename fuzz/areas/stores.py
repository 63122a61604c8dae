"""Scores in files of every format, in shards, and damaged, against the definition."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import count
from strategies.stored import IO
from support.outcomes import assert_outcome


@settings(max_examples=3)
@given(
    st.sampled_from(["i1", "<f4", ">f8"]),
    st.sampled_from([(1, 1_200_000), (3, 500_000), (700_000, 3), (40_000, 30), (40, 30_000)]),
    st.sampled_from("CF"),
    st.integers(0, 2**32),
    IO,
    st.sampled_from([1, 3]),
)
def files_beyond_a_chunk(
    dtype: str, shape: tuple[int, int], order: Any, seed: int, io: str | None, threads: int
) -> None:
    """Files that are read in several chunks, also by several threads, cut lists of candidates."""
    rng = np.random.default_rng(seed)
    rows, columns = shape
    scores = rng.integers(-9, 9, shape).astype(dtype)
    tasks = np.sort(rng.integers(0, rows, 9))
    targets = rng.integers(0, columns, 9)
    near = [np.arange(max(0, t - 300), min(columns, t + 300)) for t in targets.tolist()]
    filters = [rng.choice(part, len(part) // 2).tolist() for part in near]
    chosen = np.union1d(rng.integers(0, columns, columns // 2), targets)
    plain = {"rows": tasks.tolist(), "filter": filters, "candidates": [chosen] * 9}
    expected = count(scores, targets.tolist(), **plain)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scores.npy")
        np.save(path, np.asarray(scores, order=order))
        options: dict[str, Any] = {"io": io, "threads": threads, "rows": tasks, "filter": filters}
        got = tr.rank(path, targets, candidates=chosen, audit=True, **options)
    assert_outcome(got, expected, audit=True)
