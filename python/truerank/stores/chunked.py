"""Matrices in chunks that are decoded as a whole: zarr arrays, HDF5 datasets and others like them.

zarr and h5py are extras, imported when a path needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import is_tensor
from ..inputs.errors import InputValueError
from ..inputs.input_files import check_folder, report_damage
from ..inputs.naming import import_extra
from ..inputs.scores import DtypeRequest
from .mapped import FileLayout, FileStore, OpenOptions
from .store import Store, Tile, cut_tiles, groups_of, matrix_of

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
    request : DtypeRequest
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
        self, array: Any, request: DtypeRequest, path: str, on_close: Callable[[], object] = bool
    ) -> None:
        self._array = array
        self._name = path or type(array).__name__
        self._on_close = on_close
        self._facts = (getattr(array, "name", None),)  # in the file
        carrier, lengths = np.dtype(array.dtype), tuple(map(int, array.shape))
        shape, dtype = matrix_of(self._name, lengths, carrier, request)
        super().__init__(shape, dtype, carrier, (path,) if os.path.exists(path) else ())
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
        self.check()
        yield self._read(*tile)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        self.check()
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        (height, width), (tall, wide) = self.shape, self._chunk
        across = -(-width // wide)
        for number, pairs in groups_of(rows // tall * across + columns // wide):
            top, left = number // across * tall, number % across * wide
            chunk = self._read(top, left, min(tall, height - top), min(wide, width - left))
            out[pairs] = chunk[rows[pairs] - top, columns[pairs] - left]
        return out

    def check(self) -> None:
        if self._array is None:
            raise InputValueError("scores", "the store is closed", place=self._name)
        expected = self.shape[1:] if self.single_row else self.shape
        if tuple(self._array.shape) != expected:
            problem = f"expected shape {expected}, but now it is {self._array.shape}"
            raise InputValueError("scores", problem, place=self._name)

    def close(self) -> None:
        self._array = None
        self._on_close()

    def _read(self, top: int, left: int, height: int, width: int) -> npt.NDArray[Any]:
        rows, columns = slice(top, top + height), slice(left, left + width)
        where = f"rows {top} to {rows.stop - 1}, columns {left} to {columns.stop - 1}"
        # each codec has faults of its own
        with report_damage("scores", f"cannot read {where}: {{}}".format, place=self._name):
            scores = np.asarray(self._array[columns if self.single_row else (rows, columns)])
        # Some libraries return the stored byte order, others the machine's.
        return scores.reshape(height, width).astype(self.carrier, copy=False)


def _matrix_shape(lengths: Any) -> tuple[int, int]:
    """Return the rows and columns of a chunk, at least one of each."""
    rows, columns = (1, *(max(1, int(length)) for length in lengths))[-2:]
    return rows, columns


def open_library_file(package: str, name: str, options: OpenOptions) -> Store:
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
    library = import_extra(package, f"scores: {name}", "files")
    if package == "zarr":
        check_folder("scores", name)
    with ExitStack() as opened:
        with report_damage("scores", f"{package} cannot open it: {{}}".format, place=name):
            found = library.File(name, "r") if package == "h5py" else library.open(name, mode="r")
        close = opened.callback(getattr(found, "close", bool))
        store = open_chunked(found, options, name, close)
        if isinstance(store, ChunkStore):
            opened.pop_all()
        return store


def open_chunked(
    value: Any, options: OpenOptions, name: str = "", on_close: Callable[[], object] = bool
) -> Store:
    """Make the store of an array in chunks, or of an array in a group of such.

    A dataset that lies in an HDF5 file in one piece is read like a raw file.
    """
    member, array, place = options.member, value, name
    if not hasattr(value, "shape"):
        _check_links(value, (member or "").lstrip("/"), name)
        if member is None or member not in value:
            keys = sorted(map(str, value))
            arrays = [key for key in keys if _is_array(value.get(key))]
            member = pick_member(name, arrays or keys, member)
        array, place = value.get(member), f"{name}: {member}" if name else member
        if not _is_array(array):
            raise InputValueError("member", f"expected an array, {member!r} is not one", place=name)
    elif member is not None:
        raise InputValueError("member", "it has no members, it is one array", place=name)
    if _package_of(array) != "h5py":
        path = str(getattr(array, "store_path", "")).removeprefix("file://")
        return ChunkStore(array, options.request, name or path, on_close)
    path = os.fsdecode(array.file.filename)
    _check_other_files(_source_files(array), path, place or name)
    offset = _offset_in_file(array)
    if offset is None:
        return ChunkStore(array, options.request, name or path, on_close)
    status = os.stat(path)
    where = place or name, "the dataset is of", offset, status.st_size
    layout = FileLayout(*where, array.shape, array.dtype)
    return FileStore(path, layout, status, options)


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


def _check_links(group: Any, member: str, name: str) -> None:
    """Check the files that links of an HDF5 group name, and of the groups on the way to a member.

    h5py would wait for a pipe.
    """
    while _package_of(group) == "h5py" and not hasattr(group, "shape"):
        links = (group.get(key, getlink=True) for key in group)
        others = [link.filename for link in links if hasattr(link, "filename")]
        _check_other_files(others, os.fsdecode(group.file.filename), name)
        first, slash, member = member.partition("/")
        group = group.get(first) if slash and first else None


def _source_files(dataset: Any) -> list[str]:
    """Return the files that hold the scores of an HDF5 dataset in place of its own."""
    others = [other for other, *_ in dataset.external or ()]
    sources = dataset.virtual_sources() if dataset.is_virtual else ()
    return others + [source.file_name for source in sources if source.file_name != "."]


def _check_other_files(others: list[str], path: str, name: str) -> None:
    """Check files whose names are relative to the folder of a file, or to the current folder."""
    for other in dict.fromkeys(others):
        for folder in (os.path.dirname(path), ""):
            found = os.path.join(folder, other)
            if os.path.exists(found) and not os.path.isfile(found):
                problem = f"it names {other!r}, which is not a regular file"
                raise InputValueError("scores", problem, place=name)


def _offset_in_file(dataset: Any) -> int | None:
    """Return where an HDF5 dataset lies, if it is in one piece and nobody can write to it."""
    in_file = dataset.file.mode == "r" and dataset.file.driver in ("sec2", "stdio")
    in_parts = dataset.chunks is not None or dataset.external is not None or dataset.is_virtual
    return dataset.id.get_offset() if in_file and not in_parts else None


def _is_array(found: Any) -> bool:
    """Whether an entry has a shape: groups, dangling links and empty datasets have none."""
    return getattr(found, "shape", None) is not None
