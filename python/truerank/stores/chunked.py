"""Matrices in chunks that are decoded as a whole: zarr arrays, HDF5 datasets and others like them.

zarr and h5py are extras, imported when a path needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import is_tensor
from ..inputs.errors import InputValueError
from ..inputs.input_files import check_folder, report_damage
from ..inputs.naming import import_extra
from .mapped import FileLayout, FileStore
from .store import OpenOptions, Store, Tile, cut_tiles, groups_of, matrix_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_ZARR = ("zarr.json", ".zarray", ".zgroup")
# Columns read at a time of a dataset without chunks that cannot be read as a raw file.
_UNCHUNKED_LENGTH = 1024


def is_zarr(path: str) -> bool:
    """Whether a folder is an array or a group of zarr, of either format."""
    return any(os.path.isfile(os.path.join(path, name)) for name in _ZARR)


def is_chunked(value: Any) -> bool:
    """Whether a value is an array in chunks, such as one of zarr, or a group of such arrays.

    A dask array is neither.
    """
    if is_tensor(value):  # a nested one has no shape, which is an error and not an absence
        return False
    if not hasattr(value, "shape"):
        return _package_of(value) in ("h5py", "zarr")
    if not all(hasattr(value, name) for name in ("dtype", "chunks", "__getitem__")):
        return False
    if value.chunks is None:
        return _package_of(value) == "h5py"
    # the chunks of a dask array are a tuple of lengths for each axis
    return isinstance(value.chunks, tuple) and all(
        isinstance(length, (int, np.integer)) for length in value.chunks
    )


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
        self._facts = (getattr(array, "name", None),)  # in the file
        carrier, lengths = np.dtype(array.dtype), tuple(map(int, array.shape))
        shape, dtype = matrix_of(self._place, lengths, carrier, options)
        files = (path,) if os.path.exists(path) else ()
        super().__init__(shape, dtype, carrier, files, options.name)
        self.single_row = len(lengths) == 1
        self._chunk = _matrix_shape(array.chunks or (1, _UNCHUNKED_LENGTH)[-len(lengths) :])
        # A shard of zarr is one file of many chunks.
        self._shard = _matrix_shape(getattr(array, "shards", None) or self._chunk)

    def tiles(self, max_bytes: int) -> list[Tile]:
        whole = self._shard[0] * self._shard[1] * self.itemsize <= max_bytes
        unit = self._shard if whole else self._chunk
        return cut_tiles(self.shape, self.itemsize, max_bytes, unit=unit)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        self._check()
        yield self._read(*tile)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        self._check()
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        (height, width), (tall, wide) = self.shape, self._chunk
        across = -(-width // wide)
        for number, pairs in groups_of(rows // tall * across + columns // wide):
            top, left = number // across * tall, number % across * wide
            chunk = self._read(top, left, min(tall, height - top), min(wide, width - left))
            out[pairs] = chunk[rows[pairs] - top, columns[pairs] - left]
        return out

    def _check(self) -> None:
        if self._array is None:
            raise InputValueError(self.name, "the store is closed", place=self._place)
        expected = self.shape[1:] if self.single_row else self.shape
        if tuple(self._array.shape) != expected:
            problem = f"expected shape {expected}, but now it is {self._array.shape}"
            raise InputValueError(self.name, problem, place=self._place)

    def close(self) -> None:
        self._array = None
        self._on_close()

    def _read(self, top: int, left: int, height: int, width: int) -> npt.NDArray[Any]:
        rows, columns = slice(top, top + height), slice(left, left + width)
        where = f"rows {top} to {rows.stop - 1}, columns {left} to {columns.stop - 1}"
        # each codec has faults of its own
        with report_damage(self.name, f"cannot read {where}: {{}}".format, place=self._place):
            scores = np.asarray(self._array[columns if self.single_row else (rows, columns)])
        # Some libraries return the stored byte order, others the machine's.
        return scores.reshape(height, width).astype(self.carrier, copy=False)


def _matrix_shape(lengths: Any) -> tuple[int, int]:
    """Return the rows and columns of a chunk, at least one of each."""
    rows, columns = (1, *(max(1, int(length)) for length in lengths))[-2:]
    return rows, columns


def open_library_file(package: str, path: str, options: OpenOptions) -> Store:
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
    library = import_extra(package, f"{options.name}: {path}", "files")
    if package == "zarr":
        check_folder(options.name, path)
    with report_damage(options.name, f"{package} cannot open it: {{}}".format, place=path):
        opened = library.File(path, "r") if package == "h5py" else library.open(path, mode="r")
    return open_chunked(opened, options, path, getattr(opened, "close", bool))


def open_chunked(
    value: Any, options: OpenOptions, path: str = "", on_close: Callable[[], object] = bool
) -> Store:
    """Make the store of an array in chunks, or of an array in a group of such.

    A dataset that lies in an HDF5 file in one piece is read like a raw file.
    """
    member, array, place = options.member, value, path
    if not hasattr(value, "shape"):
        if member is None or member not in value:
            keys = sorted(map(str, value))
            arrays = [key for key in keys if _is_array(value.get(key))]
            member = pick_member(path, arrays or keys, member)
        array, place = value.get(member), f"{path}: {member}" if path else member
        if not _is_array(array):
            raise InputValueError("member", f"expected an array, {member!r} is not one", place=path)
    elif member is not None:
        raise InputValueError("member", "it has no members, it is one array", place=path)
    if _package_of(array) != "h5py":
        known = str(getattr(array, "store_path", "")).removeprefix("file://")
        return ChunkStore(array, options, path or known, on_close)
    file = os.fsdecode(array.file.filename)
    in_file = array.file.mode == "r" and array.file.driver in ("sec2", "stdio")
    in_parts = array.chunks is not None or array.external is not None or array.is_virtual
    offset = array.id.get_offset() if in_file and not in_parts else None
    if offset is None:  # it is in pieces, or somebody may write to it
        return ChunkStore(array, options, path or file, on_close)
    status = os.stat(file)
    where = place or file, "the dataset is of", offset, status.st_size
    return FileStore(file, FileLayout(*where, array.shape, array.dtype), status, options)


def pick_member(name: str, names: list[str], member: str | None) -> str:
    """Return the name of a member: the given one, else that of the only one, else "scores".

    Raises
    ------
    ValueError
        If there is no such member, or more than one; it lists the members.
    """
    chosen = member or (names[0] if len(names) == 1 else "scores")
    if names.count(chosen) == 1:
        return chosen
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    expected = f"member {chosen!r}" if member is not None else "member= to say which"
    problem = f"expected {expected}, there are {listed or 'no arrays'}"
    raise InputValueError("member", problem, place=name)


def _is_array(member: Any) -> bool:
    """Whether an entry has a shape: groups, dangling links and empty datasets have none."""
    return getattr(member, "shape", None) is not None
