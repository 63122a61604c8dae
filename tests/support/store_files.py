"""Score files of every kind, and what a store must return for them, in plain numpy."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from truerank.stores import Store

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = ("<f4", ">f4", "<f2", "<f8", ">i8", "i1", "u1", "<u2", "V2")


def scores(rows: int, columns: int, dtype: str, seed: int = 0) -> Array:
    """Return scores of random bytes, which may be NaN; equal scores have equal bytes."""
    size = rows * columns * np.dtype(dtype).itemsize
    data = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    return data.view(dtype).reshape(rows, columns)


@st.composite
def matrices(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES, least: int = 0) -> Array:
    rows = draw(st.integers(least, 9))
    columns = draw(st.integers(least, 40))
    return scores(rows, columns, draw(st.sampled_from(dtypes)), draw(st.integers(0, 9)))


def name_of(dtype: Any) -> dict[str, Any]:
    """Return the option that raw 16-bit scores need."""
    if np.dtype(dtype).kind == "V":
        return {"dtype": "bfloat16"}
    return {}


def touch(store: Store) -> None:
    """Let a store check the file of its last score."""
    store.take(*(np.array([length - 1]) for length in store.shape))


def assert_same(store: Store, array: Array, most: int = 100, io: str = "map") -> None:
    """Check that tiles cover the matrix once, and that single scores are those of the matrix."""
    assert store.shape == array.shape
    assert store.nbytes == array.nbytes
    assert store.swapped == (not array.dtype.isnative)
    assert_bytes(assembled(store, most, io), array)
    rng = np.random.default_rng(1)
    pairs = 20 if array.size else 0
    rows, columns = (rng.integers(0, max(1, n), pairs) for n in array.shape)
    taken = store.take(rows, columns)
    assert taken.dtype == array.dtype.newbyteorder("=")
    assert_bytes(taken, array[rows, columns].astype(taken.dtype))


def assert_bytes(got: Array, expected: Array) -> None:
    assert got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()


def assembled(store: Store, most: int, io: str) -> Array:
    out = np.zeros(store.shape, store.carrier)
    times = np.zeros(store.shape, np.int64)
    for tile in store.tiles(most):
        assert tile.height >= 1
        assert tile.width >= 1
        part = slice(tile.top, tile.top + tile.height), slice(tile.left, tile.left + tile.width)
        with store.block(tile, io) as block:
            assert block.dtype == store.carrier
            out[part] = block
            del block
        times[part] += 1
    assert (times == 1).all()
    return out


def npy(array: Any, version: tuple[int, int] | None = None) -> bytes:
    """Return a `.npy` file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), version)
    return stream.getvalue()


def write_npy(path: Path, array: Array) -> Path:
    path.write_bytes(npy(array))
    return path
