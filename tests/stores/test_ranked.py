"""The ranks of a store are those of the array, for all files and tiles; so are the errors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import outcome
from support.problems import Array
from truerank.counting import tiles
from truerank.stores import Store, open_scores


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


class Chunks:
    """A minimal array in chunks."""

    def __init__(self, array: Array) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.chunks = (2, 7)[-array.ndim :]

    def __getitem__(self, key: Any) -> Array:
        return self.array[key].copy()


def npy(folder: Path, array: Array, dtype: Any) -> Store:
    np.save(folder / "a.npy", array)
    return open_scores(folder / "a.npy", dtype=dtype)


def npz(folder: Path, array: Array, dtype: Any) -> Store:
    np.savez(folder / "a.npz", array)
    return open_scores(folder / "a.npz", dtype=dtype)


def raw(folder: Path, array: Array, dtype: Any) -> Store:
    carrier = array.view(np.uint16) if array.dtype.kind == "V" else array
    (folder / "a.bin").write_bytes(b"odd" + carrier.tobytes("F"))
    told = array.dtype.str if dtype is None else f"{carrier.dtype.str[0]}{dtype}"
    return open_scores(folder / "a.bin", dtype=told, shape=array.shape, offset=3, order="F")


def shards(folder: Path, array: Array, dtype: Any) -> Store:
    axis = array.ndim - 1
    parts = np.array_split(array, 3, axis)
    for number, part in enumerate(parts):
        np.save(folder / f"part-{number}.npy", np.asfortranarray(part) if number else part)
    return open_scores(str(folder / "part-*.npy"), axis=1, dtype=dtype)


def mapped(folder: Path, array: Array, dtype: Any) -> Store:
    np.save(folder / "b.npy", array)
    return open_scores(np.load(folder / "b.npy", mmap_mode="r"), dtype=dtype)


def chunks(folder: Path, array: Array, dtype: Any) -> Store:
    return open_scores(Chunks(array), dtype=dtype)


STORES: dict[str, Callable[[Path, Array, Any], Store]] = {
    "npy": npy,
    "npz": npz,
    "raw": raw,
    "shards": shards,
    "mapped": mapped,
    "chunks": chunks,
}


@given(
    problems(nan=True, errors=True),
    st.sampled_from(list(STORES)),
    st.sampled_from([1, 40, 1000, 1 << 20]),
    st.sampled_from(["map", "read"]),
)
@settings(max_examples=120)
def test_ranks_of_stores(folder: Path, problem: Problem, how: str, most: int, io: str) -> None:
    array = problem.scores
    raw_bits = problem.keywords["dtype"] or ("bfloat16" if array.dtype.kind == "V" else None)
    expected = outcome(array, problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", most)
        patch.setattr(tiles, "DECODED_TILE_BYTES", most)
        with STORES[how](folder, array, raw_bits) as store:
            got = outcome(store, problem, io=io, dtype=raw_bits)
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        # If there are several NaN, the error names that of the first tile.
        if "is NaN" not in str(expected):
            assert str(got) == str(expected)
        else:
            assert "is NaN" in str(got) or "candidates: the target" in str(got)
        return
    assert isinstance(got, tr.Ranks), got
    for name in ("above", "tied", "candidates"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name), err_msg=name)
    for a, b in zip(got.audit or (), expected.audit or (), strict=True):
        np.testing.assert_array_equal(a, b)
    assert got.protocol.fingerprint == expected.protocol.fingerprint
    assert got.protocol.dtype == expected.protocol.dtype
