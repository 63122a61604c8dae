"""Matrices in chunks that are decoded as a whole: zarr arrays, HDF5 datasets and others like them.

zarr and h5py are extras, imported when a path needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError, spelled
from ..inputs.input_files import check_folder
from ..inputs.naming import import_extra
from ..inputs.scores import ANY_DTYPE, DtypeRequest
from .descriptors import Descriptors
from .file_layouts import FileLayout, checked_dtype_and_shape, pick_member
from .mapped import FileStore
from .recognition import package_of
from .store import Store, Tile, cut_tiles

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

HDF5 = b"\x89HDF\r\n\x1a\n"
_ZARR = ("zarr.json", ".zarray", ".zgroup")
# Columns read at a time of a dataset without chunks that cannot be read as a raw file.
_UNCHUNKED_LENGTH = 1024


class ChunkStore(Store):
    """A matrix in chunks. Tiles consist of whole chunks, so that each chunk is decoded once.

    Parameters
    ----------
    array : object
        It has `shape`, `dtype` and `chunks`, and can be sliced.
    request : DtypeRequest
        What the caller says about the dtype.
    name : str
        The file or folder that the array is in, if known.
    on_close : callable, optional
        Called when the store is closed; None for an array that is the caller's.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For other shapes.
    """

    in_place = False

    def __init__(
        self,
        array: Any,
        request: DtypeRequest = ANY_DTYPE,
        name: str = "",
        on_close: Callable[[], object] | None = None,
    ) -> None:
        self._array = array
        self._name = name or type(array).__name__
        self._on_close = on_close
        carrier, dtype_name, shape = checked_dtype_and_shape(self._name, array, request)
        super().__init__(shape, dtype_name, carrier, (name,) if name else ())
        self.single_row = len(array.shape) == 1
        self._chunk = self._chunk_shape(array.chunks or (1, _UNCHUNKED_LENGTH)[-len(array.shape) :])
        # A shard of zarr is one file of many chunks.
        shards = getattr(array, "shards", None)
        self._shard = self._chunk_shape(shards) if shards else self._chunk

    def tiles(self, max_bytes: int) -> list[Tile]:
        whole = self._shard[0] * self._shard[1] * self.itemsize <= max_bytes
        unit = self._shard if whole else self._chunk
        return cut_tiles(self.shape, self.itemsize, max_bytes, unit=unit)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        self.check()
        yield self._read(tile)

    def take(self, rows: IntArray, columns: IntArray, io: str = "read") -> npt.NDArray[Any]:
        self.check()
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        chunk_height, chunk_width = self._chunk
        chunks = rows // chunk_height * -(-self.shape[1] // chunk_width) + columns // chunk_width
        order = np.argsort(chunks, kind="stable")
        for pairs in np.split(order, np.flatnonzero(np.diff(chunks[order])) + 1):
            if len(pairs):
                top = int(rows[pairs[0]]) // chunk_height * chunk_height
                left = int(columns[pairs[0]]) // chunk_width * chunk_width
                tile = self._chunk_at(top, left)
                out[pairs] = self._read(tile)[rows[pairs] - top, columns[pairs] - left]
        return out

    def check(self) -> None:
        if self._array is None:
            raise InputValueError("scores", "the store is closed", place=self._name)
        expected = self.shape[1:] if self.single_row else self.shape
        if tuple(self._array.shape) != expected:
            problem = f"expected shape {expected}, but now it is {self._array.shape}"
            raise InputValueError("scores", problem, place=self._name)

    def state(self) -> list[Any]:
        return [list(self.shape), self.dtype, self.swapped, *map(_file_state, self.files)]

    def close(self) -> None:
        on_close, self._on_close = self._on_close, None
        self._array = None
        if on_close is not None:
            on_close()

    def _chunk_shape(self, lengths: Any) -> tuple[int, int]:
        lengths = [max(1, int(length)) for length in lengths]
        return (1, lengths[0]) if len(lengths) == 1 else (lengths[0], lengths[1])

    def _chunk_at(self, top: int, left: int) -> Tile:
        chunk_height, chunk_width = self._chunk
        return Tile(
            top,
            left,
            min(chunk_height, self.shape[0] - top),
            min(chunk_width, self.shape[1] - left),
        )

    def _read(self, tile: Tile) -> npt.NDArray[Any]:
        across = slice(tile.left, tile.left + tile.width)
        down = slice(tile.top, tile.top + tile.height)
        try:
            scores = np.asarray(
                self._array[across] if self.single_row else self._array[down, across]
            )
        except MemoryError:
            raise
        except Exception as error:  # each codec has faults of its own
            rows = f"rows {down.start} to {down.stop - 1}"
            columns = f"columns {across.start} to {across.stop - 1}"
            problem = f"cannot read {rows}, {columns}: {error}"
            raise InputValueError("scores", problem, place=self._name) from error
        # Some libraries return the stored byte order, others the machine's.
        return scores.reshape(tile.height, tile.width).astype(self.carrier, copy=False)


def _file_state(name: str) -> list[int]:
    """Return the number of files at a path or below it, their bytes and their latest time."""
    import os

    if not os.path.isdir(name):
        files = [os.stat(name)] if os.path.exists(name) else []
    else:
        files = [
            os.stat(os.path.join(folder, file))
            for folder, _, files in os.walk(name)
            for file in files
        ]
    times = [file.st_mtime_ns for file in files]
    return [len(files), sum(file.st_size for file in files), max(times, default=0)]


def is_zarr(path: str) -> bool:
    """Whether a folder is an array or a group of zarr, of either format."""
    return any(os.path.isfile(os.path.join(path, name)) for name in _ZARR)


def open_zarr(name: str, member: str | None, request: DtypeRequest) -> Store:
    """Open a zarr folder.

    Raises
    ------
    ImportError
        If zarr is not installed.
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a damaged store, and for a member that does not exist.
    """
    zarr = import_extra("zarr", f"scores: {name}", "files")
    check_folder("scores", name)
    try:
        found = zarr.open(name, mode="r")
    except Exception as error:  # whatever its parsers meet
        raise InputValueError("scores", f"zarr cannot open it: {error}", place=name) from error
    return open_array_or_group(found, member, request, name)


def open_hdf5(
    name: str, member: str | None, request: DtypeRequest, descriptors: Descriptors | None = None
) -> Store:
    """Open an HDF5 file; a dataset that lies in it in one piece is read like a raw file.

    Raises
    ------
    ImportError
        If h5py is not installed.
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a damaged file, and for a member that does not exist.
    """
    h5py = import_extra("h5py", f"scores: {name}", "files")
    try:
        file = h5py.File(name, "r")
    except OSError as error:
        raise InputValueError("scores", f"h5py cannot open it: {error}", place=name) from error
    try:
        store = open_array_or_group(file, member, request, name, file.close, descriptors)
    except BaseException:
        file.close()
        raise
    if isinstance(store, FileStore):
        file.close()
    return store


def open_array_or_group(
    group: Any,
    member: str | None,
    request: DtypeRequest,
    name: str = "",
    on_close: Callable[[], object] | None = None,
    descriptors: Descriptors | None = None,
) -> Store:
    """Make the store of an array, or of an array in a group."""
    array, place = group, name
    if not hasattr(group, "shape"):
        _check_links(group, (member or "").lstrip("/"), name)
        if member is None or member not in group:
            member = _pick_array(group, member, name)
        array, place = group.get(member), f"{name}: {member}" if name else member
        if not _is_array(array):
            raise InputValueError("member", f"expected an array, {member!r} is not one", place=name)
    elif member is not None:
        raise InputValueError("member", "it has no members, it is one array", place=name)
    _check_sources(array, place or name)
    layout = _contiguous_layout(array, request, place or name)
    if layout is None:
        return ChunkStore(array, request, name or path_of_array(array), on_close)
    path = os.fsdecode(array.file.filename)
    store = FileStore(path, layout, descriptors or Descriptors())
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store


def _check_links(group: Any, member: str, name: str) -> None:
    """Check the files that links of an HDF5 group name, and of the groups on the way to a member.

    h5py would wait for a pipe.
    """
    while package_of(group) == "h5py" and not hasattr(group, "shape"):
        links = (group.get(key, getlink=True) for key in group)
        others = [link.filename for link in links if hasattr(link, "filename")]
        _check_named_files(others, group.file.filename, name)
        first, slash, member = member.partition("/")
        group = group.get(first) if slash and first else None


def _check_sources(array: Any, name: str) -> None:
    """Check the files that hold the scores of an HDF5 dataset in place of its own."""
    if package_of(array) != "h5py":
        return
    others = [other for other, *_ in array.external or ()]
    if array.is_virtual:
        files = [source.file_name for source in array.virtual_sources()]
        others += [file for file in files if file != "."]  # the file itself
    _check_named_files(others, array.file.filename, name)


def _check_named_files(others: list[str], path: Any, name: str) -> None:
    """Check files whose names are relative to the folder of a file, or to the current folder."""
    for other in dict.fromkeys(others):
        for folder in (os.path.dirname(os.fsdecode(path)), ""):
            found = os.path.join(folder, other)
            if os.path.exists(found) and not os.path.isfile(found):
                problem = f"it names {other!r}, which is not a regular file"
                raise InputValueError("scores", problem, place=name)


def _is_array(found: Any) -> bool:
    """Whether an entry has a shape: groups, dangling links and empty datasets have none."""
    return getattr(found, "shape", None) is not None


def _pick_array(group: Any, member: str | None, name: str) -> str:
    """Return the name of the array that is meant, among those directly in a group."""
    keys = sorted(map(str, group))
    names = [key for key in keys if _is_array(group.get(key))]
    if keys and not names:
        groups = ", ".join(keys[:20])
        problem = f"expected {spelled('member=')} to name an array, there are only groups: {groups}"
        raise InputValueError("member", problem, place=name)
    return names[pick_member(name, names, member)]


def path_of_array(array: Any) -> str:
    """Return the file or folder of a zarr or h5py array; "" if unknown or if it does not exist."""
    if hasattr(array, "file"):
        path = os.fsdecode(array.file.filename)
    else:
        store = getattr(array, "store", None)
        root = getattr(store, "root", None) or getattr(store, "path", None)
        path = os.path.join(str(root or ""), str(getattr(array, "path", ""))).rstrip("/")
    return path if os.path.exists(path) else ""


def _contiguous_layout(array: Any, request: DtypeRequest, name: str) -> FileLayout | None:
    """Return where an HDF5 dataset lies, if it is in one piece and nobody can write to it."""
    if package_of(array) != "h5py" or array.chunks is not None:
        return None
    in_file = array.file.mode == "r" and array.file.driver in ("sec2", "stdio")
    if not in_file or array.external is not None or array.is_virtual:
        return None
    offset = array.id.get_offset()
    if offset is None:
        return None
    carrier, dtype_name, shape = checked_dtype_and_shape(name, array, request)
    single = len(array.shape) == 1
    return FileLayout(
        name, "the dataset is of", offset, shape, dtype_name, carrier, single_row=single
    )
