"""Matrices that lie with fixed strides: an array, or a file that is mapped or read by the core.

A file is open only while it is used, however many shards there are. A store that the user opened
keeps maps of its files, since mapping costs up to as much as counting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.input_files import open_regular
from .store import FileBlock, OpenOptions, Store, Tile, cut_tiles, matrix_of, whole

if TYPE_CHECKING:
    import mmap

    import numpy.typing as npt

    from .._core import Scores
    from ..inputs.arrays import IntArray

# How many reads the system is told about in advance.
_PREFETCHED_READS = 64
# With the first, reading a cold file leaves huge pages in the page cache, and the next map of the
# file is as fast as memory. Without it pages are small and each one faults: three times as slow.
# With the second, pages that are mapped are no harder to take away than others.
_ADVICE = ("MADV_HUGEPAGE", "MADV_SEQUENTIAL")
# A tile of whole rows pays off where it has at least these bytes of each column.
_MIN_COLUMN_BYTES = 1 << 20


class FileLayout(NamedTuple):
    """Where a matrix begins in a file, and how it is laid out.

    Attributes
    ----------
    place, source : str
        What messages call the file, and what says where the matrix is.
    offset, end : int
        Where the matrix begins, and up to which byte the file may have it.
    lengths : tuple of int
        (rows, columns) or (columns,), not yet checked.
    carrier : dtype
        As in `Store`.
    by_columns : bool
        Whether columns lie together.
    is_raw : bool
        Whether the file must end where the matrix does.
    """

    place: str
    source: str
    offset: int
    end: int
    lengths: tuple[int, ...]
    carrier: np.dtype[Any]
    by_columns: bool = False
    is_raw: bool = False


class FileStore(Store):
    """A matrix in a file.

    A store that the user opened keeps the file mapped, within a limit, so that the next count need
    not map it again. Beyond the limit, and in a store for one call, a block maps its own lines
    alone: page tables stay small however large the file is. Single scores are read: a random page
    fault reads megabytes ahead.

    Parameters
    ----------
    path : str
        The file.
    layout : FileLayout
        Where the matrix lies in the file.
    status : os.stat_result
        That of the file when the layout was found. Another file in its place is refused.
    options : OpenOptions
        What the caller says about the dtype, and the limit of what stays mapped.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For other shapes, and for a file that is too short.
    """

    def __init__(
        self, path: str, layout: FileLayout, status: os.stat_result, options: OpenOptions
    ) -> None:
        shape, dtype = matrix_of(layout.place, layout.lengths, layout.carrier, options)
        super().__init__(shape, dtype, layout.carrier, (path,), options.name)
        self.single_row = len(layout.lengths) == 1
        self.layout = layout
        self._facts = layout.offset, layout.by_columns
        self._check_size(layout.end)
        self._identity = status.st_dev, status.st_ino
        # A line is a row, or a column if columns lie together.
        self._line = shape[0 if layout.by_columns else 1]
        self._line_bytes = self._line * self.itemsize
        self._lines_to_keep = options.maps.share(self.nbytes) // max(1, self._line_bytes)
        self._kept: npt.NDArray[Any] | None = None
        self._is_closed = False

    def tiles(self, max_bytes: int) -> list[Tile]:
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=self.layout.by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any] | FileBlock]:
        by_columns = self.layout.by_columns
        first, left, lines, width = tile.T if by_columns else tile
        with self._opened() as file:
            if io == "read":
                offset = self.layout.offset + first * self._line_bytes + left * self.itemsize
                strides = self._line_bytes, self.itemsize
                place = self.layout.place
                block = FileBlock(file.fileno(), offset, (lines, width), strides, place)
                yield block.T if by_columns else block
                return
            part = self._mapped_lines(file, first, lines)[:, left : left + width]
        yield part.T if by_columns else part

    def _mapped_lines(self, file: IO[bytes], first: int, lines: int) -> npt.NDArray[Any]:
        if self._kept is None and self._lines_to_keep:
            try:
                self._kept = self._map(file, 0, self._lines_to_keep)
            except (OSError, OverflowError):  # no room for it in the address space
                self._lines_to_keep = 0
        kept = self._kept
        if kept is not None and first + lines <= len(kept):
            return kept[first : first + lines]
        return self._map(file, first, lines)

    def _map(self, file: IO[bytes], first: int, lines: int) -> npt.NDArray[Any]:
        import mmap

        offset, shape = self.layout.offset + first * self._line_bytes, (lines, self._line)
        mapped: Any = np.memmap(file, self.carrier, "r", offset, shape)
        for advice in _ADVICE:
            if hasattr(mmap, advice):
                with suppress(OSError):  # not every kernel takes it for files
                    mapped.base.madvise(getattr(mmap, advice))
        return np.asarray(mapped)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        line, inside = (columns, rows) if self.layout.by_columns else (rows, columns)
        places = self.layout.offset + line * self._line_bytes + inside * self.itemsize
        order, size, data = np.argsort(places, kind="stable"), self.itemsize, bytearray()
        with self._opened() as file:
            for first in range(0, len(order), _PREFETCHED_READS):
                group = places[order[first : first + _PREFETCHED_READS]].tolist()
                if hasattr(os, "posix_fadvise"):  # so that the system fetches them at once
                    with suppress(OSError):  # not every file system takes hints
                        for place in group:
                            os.posix_fadvise(file.fileno(), place, size, os.POSIX_FADV_WILLNEED)
                for place in group:
                    file.seek(place)
                    data += file.read(size)
                whole(data, size * min(first + len(group), len(order)), group[0], self.layout.place)
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        out[order] = np.frombuffer(data, self.carrier)
        return out

    def close(self) -> None:
        self._is_closed, self._lines_to_keep, self._kept = True, 0, None

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Open the file, after a check that it is the same and of the right size."""
        place = self.files[0]
        if self._is_closed:
            raise InputValueError(self.name, "the store is closed", place=place)
        with open(open_regular(self.name, self._paths[0]), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if (status.st_dev, status.st_ino) != self._identity:
                raise InputValueError(self.name, "another file has taken its place", place=place)
            self._check_size(status.st_size)
            yield file

    def _check_size(self, size: int) -> None:
        expected = self.layout.offset + self.nbytes
        if size < expected or (self.layout.is_raw and size != expected):
            described = f"{self.layout.source} {self.shape} {self.dtype}"
            start = f"from byte {self.layout.offset:,}"
            problem = f"expected {expected:,} bytes ({described}, {start}), the file has {size:,}"
            raise InputValueError(self.name, problem, place=self.layout.place)


class ArrayStore(Store):
    """An array in any layout; before a memory map is read, the size of its file is checked.

    If a file has shrunk under its map, a process that reads the missing bytes is killed. So before
    every block the file must have all that is mapped. The block is a view of the array, whatever
    `io` says.

    Parameters
    ----------
    scores : Scores, shape (rows, columns) or (columns,)
        Views of a `numpy.memmap` are checked like the map itself.
    name : str
        What messages call them.

    Raises
    ------
    ValueError
        For a map whose file has become too short.
    """

    def __init__(self, scores: Scores, name: str = "scores") -> None:
        plain = scores.array
        self.array = np.atleast_2d(plain)
        self._source = source = source_of(plain)
        files = (source.name,) if source is not None and source.name else ()
        rows, columns = self.array.shape
        super().__init__((rows, columns), scores.dtype, plain.dtype, files, name)
        self.single_row = plain.ndim == 1
        if source is not None:
            self._facts = source.start, *self.array.strides
        self._check()

    def tiles(self, max_bytes: int) -> list[Tile]:
        down, right = map(abs, self.array.strides)
        # tiles of whole rows are ranked for good, if each has enough of a column to read in a run
        rows = max_bytes // max(1, self.shape[1] * self.itemsize)
        by_columns = 0 < down < right and rows * down < _MIN_COLUMN_BYTES
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        self._check()
        top, left, height, width = tile
        yield self.array[top : top + height, left : left + width]

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        self._check()
        scores: npt.NDArray[Any] = self.array[rows, columns]
        return scores.astype(scores.dtype.newbyteorder("="), copy=False)

    def _check(self) -> None:
        source = self._source
        if source is not None and (size := source.memory.size()) < source.end:  # as it is now
            problem = f"expected {source.end:,} bytes (as it is mapped), the file has {size:,}"
            raise InputValueError(self.name, problem, place=source.name or "the memory map")

    def close(self) -> None:
        """Do nothing: the array is the caller's."""


class MappedFile(NamedTuple):
    """The file that an array is mapped from: its map, its name if known, and what of it is used."""

    memory: mmap.mmap
    name: str
    start: int  # where the first score lies
    end: int  # where the map ends


def source_of(array: npt.NDArray[Any]) -> MappedFile | None:
    """Find the mapped file that an array is a view of; None for plain memory.

    Examples
    --------
    >>> source_of(np.zeros((2, 3))) is None
    True
    """
    owner: Any = array
    known: Any = None  # the memmap whose view this is, which knows the file
    while isinstance(owner, (np.ndarray, memoryview)):
        known = owner if isinstance(owner, np.memmap) else known
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    if type(owner).__module__ != "mmap":
        return None
    try:
        owner.size()
    except (OSError, ValueError):  # memory without a file, or a map whose file is closed
        return None
    name, before, memory = "", 0, np.frombuffer(owner, np.uint8)
    if known is not None:
        name = os.fsdecode(known.filename or "")
        before = known.offset - _address(known) + _address(memory)  # numpy maps whole pages
    start = before + _address(array) - _address(memory)
    return MappedFile(owner, name, start, before + len(memory))


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
