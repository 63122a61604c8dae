"""Stores return the scores that are in the files, for all files and sizes of tiles."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from strategies.stored import IO, TILE_BYTES, Stored, check, open_stored, stored
from support.examples import examples
from support.refusals import refused
from support.store_files import (
    Array,
    assert_bytes,
    assert_same,
    matrices,
    name_of,
    scores,
    write_npy,
)
from truerank.stores import Store, open_scores, read_scores
from truerank.stores.store import cut_tiles

sizes = st.sampled_from([1, 7, 64, 300, 1 << 20])
ios = st.sampled_from(["map", "read"])


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


# -- one file --------------------------------------------------------------------------------------


rows_of_parts = st.builds(slice, st.integers(-9, 9), st.integers(-9, 99), st.integers(1, 4))


@given(matrices(), stored(), sizes, ios, st.lists(rows_of_parts, max_size=2))
@examples(300)
def test_what_is_stored_is_read(
    array: Array, form: Stored, most: int, io: str, parts: list[slice]
) -> None:
    """Files of every format, shards of them, and arrays of every layout; slices of their rows."""
    dtype = name_of(array.dtype).get("dtype")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        store = open_stored(form, Path(folder), array, dtype, stack)
        expected = array.view(store.carrier) if array.dtype.kind == "V" else array
        if not store.swapped:
            expected = expected.astype(expected.dtype.newbyteorder("="))
        for rows in parts:
            store = store[rows]
            expected = np.atleast_2d(expected)[rows]
        assert_same(store, expected, most, io)


def test_what_is_no_slice_of_rows(folder: Path) -> None:
    store = open_scores(scores(3, 4, "f4"))
    for rows, error in (
        ([2, 0], TypeError),
        ((slice(2), 0), TypeError),
        (slice(2, 0, -1), ValueError),
    ):
        refused(error, "rows", store.__getitem__, rows)


@given(problems(nan=True, errors=True), stored(), TILE_BYTES, IO)
@examples(100)
def test_ranks_are_those_of_the_array(
    problem: Problem, form: Stored, tile_bytes: int, io: str | None
) -> None:
    """And so are the errors, for all files and tiles."""
    check(problem, form, tile_bytes, io)


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_paths_of_every_kind(folder: Path, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative one outlives a change of the folder."""
    array = scores(3, 4, "f4")
    path = write_npy(folder / "kind.npy", array)
    for store in (open_scores(kind(path)), read_scores(kind(path))):
        assert isinstance(store, Store)
        assert store.files == (str(path),)
        assert repr(store) == f"FileStore(3 x 4 float32; {path})"
        assert_same(store, array)
    monkeypatch.chdir(folder)
    with open_scores(kind("kind.npy")) as store:
        monkeypatch.chdir("/")
        assert_same(store, array)


def test_names_of_members_and_of_shards(folder: Path) -> None:
    array = scores(3, 4, "f4")
    np.savez(folder / "one.npz", scores=array, other=array[:0])
    for member in (None, "scores", "scores.npy"):
        with open_scores(folder / "one.npz", member=member) as store:
            assert_same(store, array)
    np.save(folder / "row.npy", array[0])
    for axis in (0, 1):  # Side by side single rows are one row, below each other a matrix.
        with open_scores([folder / "row.npy"], axis=axis) as store:
            assert store.single_row == (axis == 1)
    for name in ("some-1", "some-*"):
        write_npy(folder / f"{name}.npy", array[:1])
    with open_scores(folder / "some-*.npy") as store:  # the file of this name
        assert store.shape == (1, 4)


# -- tiles -----------------------------------------------------------------------------------------


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from([1, 2, 8]), sizes, st.booleans())
def test_tiles_are_small_and_in_the_order_of_storage(
    rows: int, columns: int, itemsize: int, most: int, by_columns: bool
) -> None:
    tiles = cut_tiles((rows, columns), itemsize, most, by_columns=by_columns)
    outer = [tile.left if by_columns else tile.top for tile in tiles]
    assert outer == sorted(outer)
    across = rows if by_columns else columns
    for tile in tiles:
        assert tile.height * tile.width * itemsize <= max(most, itemsize)
        thickness, length = (tile.width, tile.height) if by_columns else (tile.height, tile.width)
        # A map covers its tile and nothing else: whole rows, or some columns of one row.
        assert length == across or thickness == 1


# -- arrays and maps -------------------------------------------------------------------------------


def map_of(path: Path, array: Array, offset: int = 0, **options: Any) -> Any:
    path.write_bytes(b"x" * offset + array.tobytes())
    return np.memmap(path, array.dtype, offset=offset, shape=array.shape, **options)


@pytest.mark.parametrize("offset", [0, 1, 5000])
def test_a_map_is_an_array(folder: Path, offset: int) -> None:
    array = scores(8, 20, "f4")
    memory = map_of(folder / "map.bin", array, offset, mode="r+")
    assert_bytes(read_scores(memory).array, array)
    memory[3, 4] = array[3, 4] = 7
    assert_bytes(read_scores(memory).array, array)
    assert_same(tr.open_scores([memory, memory]), np.concatenate([array, array]))


def test_a_map_shows_its_own_data(folder: Path) -> None:
    """What is copied on writing is not in the file, and another file may have taken its place."""
    path = folder / "own.bin"
    array = scores(4, 5, "f8")
    whole = map_of(path, array, mode="r")
    for part, expected in (
        (whole[1::2, ::-3], array[1::2, ::-3]),
        (whole.T, array.T),
        (np.broadcast_to(whole[1], (4, 5)), np.broadcast_to(array[1], (4, 5))),
    ):
        assert_bytes(read_scores(part).array, expected)
        assert_same(open_scores(part), expected)
    copied = map_of(path, array, mode="c")
    copied[2, 3] = array[2, 3] + 1
    assert_bytes(read_scores(copied).array, np.asarray(copied))
    old = map_of(path, array, mode="r")
    map_of(folder / "new.bin", array + 1, mode="r")
    os.replace(folder / "new.bin", path)
    assert_bytes(read_scores(old).array, array)
    path.unlink()
    assert_bytes(read_scores(old).array, array)


def test_values_that_are_not_stores() -> None:
    import mmap

    anonymous = np.frombuffer(mmap.mmap(-1, 64), "f4").reshape(4, 4)
    plain = np.zeros((3, 4))
    for value in (plain, plain[::2], [[1.0, 2.0]], [], (), [plain[0]], anonymous):
        assert not isinstance(read_scores(value), Store)
    store = open_scores(plain)
    assert read_scores(store) is store
    assert open_scores(store) is store
