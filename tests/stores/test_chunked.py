"""Scores in chunks: zarr, HDF5, and anything that has a shape, a dtype and chunks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.refusals import refusal
from support.store_files import Array, Chunks, assert_same, matrices, name_of, scores, touch
from truerank.stores import Store, open_scores, read_scores
from truerank.stores.chunked import ChunkStore
from truerank.stores.mapped import FileStore

chunk = st.tuples(st.integers(1, 9), st.integers(1, 15))
sizes = st.sampled_from([1, 40, 300, 1 << 20])


@given(matrices(least=1), chunk, sizes)
def test_each_chunk_is_decoded_once(array: Array, chunks: tuple[int, int], most: int) -> None:
    source = Chunks(array, chunks)
    store = read_scores(source, **name_of(array.dtype))
    assert isinstance(store, ChunkStore)
    assert not store.in_place
    for tile in store.tiles(most):
        with store.block(tile, "read"):
            pass
    grid = [-(-n // length) for n, length in zip(array.shape, chunks, strict=True)]
    assert source.decoded == Counter(np.ndindex(*grid))

    source.decoded.clear()
    every = [index.ravel() for index in np.indices(array.shape)]
    store.take(*every)
    assert source.decoded == Counter(np.ndindex(*grid))
    assert_same(store, array, most)


def test_each_chunk_that_pairs_need_is_decoded_once() -> None:
    source = Chunks(scores(9, 9, "f4"), (3, 3))
    store = open_scores(source)
    store.take(np.array([8, 0, 2, 8]), np.array([0, 8, 6, 2]))
    assert source.decoded == {(0, 2): 1, (2, 0): 1}


def test_what_is_no_array_in_chunks() -> None:
    for array, chunks, kind, words in (
        (np.zeros((), "f4"), (), ValueError, r"Chunks: expected a matrix \(rows, columns\) or"),
        (np.zeros((2, 3, 4)), (1, 1, 1), ValueError, r"Chunks: expected a matrix .* or"),
        (np.zeros((2, 2), bool), (1, 1), TypeError, "scores: Chunks: .*, got dtype bool"),
        (np.zeros((2, 2)), ((1, 1), (2,)), TypeError, "scores: expected"),
    ):
        refusal(kind, words, read_scores, Chunks(array, chunks))


def test_a_fault_of_a_codec_says_where() -> None:
    class Broken(Chunks):
        def __getitem__(self, key: Any) -> Array:
            raise RuntimeError("blosc is unhappy")

    store = open_scores(Broken(scores(4, 4, "f4"), (2, 2)))
    message = "scores: Broken: cannot read rows 2 to 3, columns 0 to 3: blosc is unhappy"
    with pytest.raises(ValueError, match=message), store.block(store.tiles(32)[1], "map"):
        pass
    refusal(ValueError, "rows 0 to 1, columns 2 to 3", store.take, np.array([1]), np.array([2]))


def test_an_array_that_is_resized_is_noticed() -> None:
    source = Chunks(scores(4, 4, "f4"), (2, 2))
    store = open_scores(source)
    source.array = source.array[:3]
    refusal(ValueError, r"cannot read rows 2 to 3, columns 2 to 3: .*reshape", touch, store)


# -- zarr ------------------------------------------------------------------------------------------


def write_zarr(path: Path, array: Array, version: int, **options: Any) -> Any:
    zarr = pytest.importorskip("zarr", minversion="3")
    made = zarr.create_array(
        str(path), shape=array.shape, dtype=array.dtype, zarr_format=version, **options
    )
    made[...] = array
    return zarr.open(str(path), mode="r")


def test_zarr_members(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3")
    arrays = {
        "scores": scores(3, 4, "f4"),
        "other": scores(5, 4, "f4"),
        "deep/er": scores(2, 2, "f4"),
    }
    group = zarr.open_group(str(tmp_path / "g"), mode="w")  # which stays open
    for name, array in arrays.items():
        group.create_array(name, shape=array.shape, dtype="f4")[...] = array
    for source in (tmp_path / "g", group):
        with open_scores(source) as store:
            assert_same(store, arrays["scores"])
        for member, array in arrays.items():
            with open_scores(source, member=member) as store:
                assert_same(store, array)
        refusal(ValueError, r"expected .* \['other', 'scores'\]", open_scores, source, member="x")
        refusal(ValueError, "expected the array 'deep', got", open_scores, source, member="deep")


def test_a_damaged_zarr(tmp_path: Path) -> None:
    pytest.importorskip("zarr", minversion="3")
    (tmp_path / "zarr.json").write_text("{")
    refusal(ValueError, f"{re.escape(str(tmp_path))}: zarr cannot open it", open_scores, tmp_path)


def test_a_damaged_chunk(tmp_path: Path) -> None:
    write_zarr(tmp_path / "z", scores(4, 4, "f4"), 2, chunks=(2, 4))
    (tmp_path / "z" / "1.0").write_bytes(b"no codec makes this")
    with open_scores(tmp_path / "z") as store:
        assert store.files == (str(tmp_path / "z"),)
        with store.block(store.tiles(32)[0], "map"):
            pass
        with (
            pytest.raises(ValueError, match=r"z: cannot read rows 2 to 3, columns 0 to 3"),
            store.block(store.tiles(32)[1], "map"),
        ):
            pass


# -- HDF5 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind"), [({}, FileStore), ({"chunks": (3, 7)}, ChunkStore)], ids=["one", "chunks"]
)
def test_hdf5(tmp_path: Path, options: dict[str, Any], kind: type[Store]) -> None:
    """What lies in one piece is read in place, unless written data may not be in the file yet."""
    h5py = pytest.importorskip("h5py")
    array = scores(9, 20, "f4")
    path = tmp_path / "s.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a/b", data=array, **options)
    with open_scores(path, member="a/b") as store:
        assert type(store) is kind
        assert store.files == (str(path),)
    with h5py.File(path) as file:
        with open_scores(file, member="a/b") as store:
            assert_same(store, array)
        found = read_scores(file["a/b"])
        assert type(found) is kind
        assert_same(found, array)
        found.close()
        assert file["a/b"].shape == array.shape  # it stays open
    with h5py.File(path, "r+") as file:
        file["a/b"][...] = array[::-1]
        found = read_scores(file["a/b"])
        assert type(found) is ChunkStore
        assert_same(found, array[::-1])


def test_hdf5_without_storage_or_outside(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    array = scores(3, 4, "f4")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file.create_dataset("empty", (3, 4), "f4")
        outside = [(str(tmp_path / "outside.bin"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("outside", data=array, external=outside)
    for member, expected in (("empty", np.zeros((3, 4), "f4")), ("outside", array)):
        with open_scores(tmp_path / "s.h5", member=member) as store:
            assert_same(store, expected)


def test_hdf5_links_and_groups(tmp_path: Path) -> None:
    """Entries that are not arrays do not hide the arrays."""
    h5py = pytest.importorskip("h5py")
    array = scores(3, 4, "f4")
    path = tmp_path / "s.h5"
    with h5py.File(path, "w") as file:
        file["deep/a"] = array
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["nothing"] = h5py.Empty("f4")
    refusal(ValueError, r"expected the array 'scores', got \[\]", open_scores, path)
    for member in ("dangling", "deep", "nothing"):
        refusal(ValueError, rf"s\.h5: expected .*{member}", open_scores, path, member=member)
    with h5py.File(path, "a") as file:
        file["scores"] = array
    with h5py.File(path) as file:
        for store in (open_scores(path), read_scores(file)):
            assert isinstance(store, Store)
            assert_same(store, array)
            store.close()
        assert tr.rank(file, [0, 1, 2]) == tr.rank(path, [0, 1, 2])


def test_hdf5_shards_and_members(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    array = scores(6, 5, "f4")
    for number, part in enumerate(np.split(array, 3)):
        with h5py.File(tmp_path / f"p{number}.hdf5", "w") as file:
            file["scores"] = part
            file["x"] = part
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with open_scores(tmp_path / "p*.hdf5") as store:
        assert_same(store, array)
    words = r"p0\.hdf5: expected the array 'y', got \['scores', 'x'\]"
    refusal(ValueError, words, open_scores, tmp_path / "p*.hdf5", member="y")
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "make", [lambda data: b"", lambda data: data[:-300], lambda data: data[9:]]
)
def test_a_damaged_hdf5(tmp_path: Path, make: Callable[[bytes], bytes]) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "s.h5"
    with h5py.File(path, "w") as file:
        file["scores"] = scores(9, 20, "f4")
    path.write_bytes(make(path.read_bytes()))
    refusal(ValueError, r"s\.h5: h5py cannot open it", open_scores, path)
