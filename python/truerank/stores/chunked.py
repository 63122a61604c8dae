"""Matrices in chunks that are decoded as a whole: zarr arrays, HDF5 datasets and others like them.

zarr and h5py are extras, imported when a path needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays.input_files import open_input, report_damage
from ..arrays.npy_files import NpyHeader
from ..errors import InputValueError
from ..inputs.checks import is_integer
from ..naming import import_extra
from .mapped import FileStore
from .store import Array, OpenOptions, Store, Tile, cut_tiles, groups_of


def is_chunked(value: Any) -> bool:
    """Whether a value is an array in chunks, such as one of zarr, or a group of such arrays.

    A dask array is neither: its chunks are a tuple of lengths for each axis.
    """
    if _package_of(value) in ("h5py", "zarr"):
        return True
    chunks = getattr(value, "chunks", None)
    return isinstance(chunks, tuple) and all(is_integer(length) for length in chunks)


def _package_of(value: object) -> str:
    return type(value).__module__.partition(".")[0]


class ChunkStore(Store):
    """A matrix in chunks. Tiles consist of whole chunks, so that each chunk is decoded once.

    Parameters
    ----------
    array : object
        It has `shape`, `dtype` and `chunks`, and can be sliced.
    options : OpenOptions
        What the caller says about the dtype.
    path : str
        The file or folder that the array is in; "" if it is not known.
    on_close : callable, optional
        Called when the store is closed.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For other shapes.
    """

    in_place = False

    def __init__(
        self, array: Any, options: OpenOptions, path: str, on_close: Callable[[], object] = bool
    ) -> None:
        self._array = array
        self._place = path or type(array).__name__
        self._on_close = on_close
        self._facts = (getattr(array, "name", None),)
        carrier = np.dtype(array.dtype)
        lengths = tuple(map(int, array.shape))
        dtype = options.check(lengths, carrier, self._place)
        files: tuple[str, ...] = (path,) if os.path.exists(path) else ()
        super().__init__(lengths, dtype, carrier, files, options.name)
        height = 1
        if array.chunks:
            width = array.chunks[-1]
        else:
            width = 1024  # A dataset in one piece that cannot be read as a raw file has no chunks.
        if array.chunks and not self.single_row:
            height = array.chunks[0]
        self._chunk = (max(1, int(height)), max(1, int(width)))

    def tiles(self, max_bytes: int) -> list[Tile]:
        return cut_tiles(self.shape, self.itemsize, max_bytes, unit=self._chunk)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        yield self._read(*tile)

    def take(self, rows: Array, columns: Array) -> Array:
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        height, width = self._chunk
        chunks_across = -(-self.shape[1] // width)
        for number, pairs in groups_of(rows // height * chunks_across + columns // width):
            top = number // chunks_across * height
            left = number % chunks_across * width
            rows_left = self.shape[0] - top
            columns_left = self.shape[1] - left
            chunk = self._read(top, left, min(height, rows_left), min(width, columns_left))
            out[pairs] = chunk[rows[pairs] - top, columns[pairs] - left]
        return out

    def close(self) -> None:
        self._on_close()

    def _read(self, top: int, left: int, height: int, width: int) -> Array:
        rows = slice(top, top + height)
        columns = slice(left, left + width)
        index: Any = columns if self.single_row else (rows, columns)
        rectangle = f"rows {top} to {rows.stop - 1}, columns {left} to {columns.stop - 1}"
        # Each codec has faults of its own. An array that is smaller now has another shape.
        with report_damage(self.name, self._place, f"cannot read {rectangle}: "):
            scores = np.asarray(self._array[index])
            # Some libraries return the stored byte order, others the machine's.
            return scores.reshape(height, width).astype(self.carrier, copy=False)


def open_library_file(path: str, options: OpenOptions) -> Store:
    """Open a folder of zarr or a file of HDF5.

    Raises
    ------
    ImportError
        If zarr or h5py is not installed.
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For damaged files, and for a member that does not exist.
    """
    package = "zarr" if os.path.isdir(path) else "h5py"
    library = import_extra(package, f"{options.name}: {path}", "files")
    with report_damage(options.name, path, f"{package} cannot open it: "):
        if package == "zarr":
            opened = library.open(path, mode="r")
        else:
            opened = library.File(path, "r")
    return open_chunked(opened, options, path, getattr(opened, "close", bool))


def open_chunked(
    value: Any, options: OpenOptions, path: str = "", on_close: Callable[[], object] = bool
) -> Store:
    """Make the store of an array in chunks, or of an array in a group of such.

    A dataset that lies in an HDF5 file in one piece is read like a raw file.
    """
    array = value
    place = path
    if not hasattr(value, "shape"):
        # A group has no shape. It need not list a path that leads into another group.
        member = options.member
        if member is None or not _is_array(value.get(member)):
            arrays = [name for name in sorted(value) if _is_array(value.get(name))]
            member = pick_member(path, arrays, member)
        array = value.get(member)
        place = f"{path}: {member}" if path else member
    if _package_of(array) != "h5py":
        known = str(getattr(array, "store_path", "")).removeprefix("file://")
        return ChunkStore(array, options, path or known, on_close)
    name = os.fsdecode(array.file.filename)
    is_in_file = array.file.mode == "r" and array.file.driver in ("sec2", "stdio")
    is_in_parts = array.chunks is not None or array.external is not None or array.is_virtual
    offset = array.id.get_offset() if is_in_file and not is_in_parts else None
    if offset is None:  # It is in pieces, or somebody may write to it.
        return ChunkStore(array, options, path or name, on_close)
    with open_input(options.name, name) as file:
        layout = NpyHeader(array.shape, False, array.dtype, offset)
        return FileStore(file, place or name, layout, options)


def pick_member(name: str, names: list[str], member: str | None) -> str:
    """Return the name of a member: the given one, else that of the only one, else "scores".

    Raises
    ------
    ValueError
        If there is no such member; it lists the members.
    """
    chosen = "scores"
    if member:
        chosen = member
    elif len(names) == 1:
        chosen = names[0]
    if chosen not in names:
        raise InputValueError("member", expected=f"the array {chosen!r}", got=names, place=name)
    return chosen


def _is_array(member: Any) -> bool:
    """Whether an entry has a shape: groups, dangling links and empty datasets have none."""
    return getattr(member, "shape", None) is not None
