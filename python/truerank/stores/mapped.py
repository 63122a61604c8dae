"""Matrices that lie with fixed strides: an array, or a file that is mapped or read by the core.

A file is open only while it is used, however many shards there are. A store that the user opened
keeps maps of its files, since mapping costs up to as much as counting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import numpy as np

from ..arrays.input_files import open_input
from ..arrays.npy_files import NpyHeader
from ..errors import InputValueError
from ..inputs.scores import as_scores
from .store import Array, FileBlock, OpenOptions, Store, Tile, cut_tiles

# The system is told about so many reads in advance.
_PREFETCHED_READS = 64
# With the first, reading a cold file leaves huge pages in the page cache, and the next map of the
# file is as fast as memory. Without it pages are small and each one faults: three times as slow.
# With the second, pages that are mapped are no harder to take away than others.
_ADVICE = ("MADV_HUGEPAGE", "MADV_SEQUENTIAL")
# A tile of whole rows pays off where it has at least these bytes of each column.
_MIN_COLUMN_BYTES = 1 << 20
# What was read of a map stays resident as long as the map, which a scheduler may count as memory.
_SHARE_OF_MEMORY = 8
# The page tables, with 8 bytes for each page of 4 kB, have 32 MB for these.
_MOST_KEPT = 16 << 30
_KEPT_OF_UNKNOWN_MEMORY = 1 << 30
_DEFAULT = OpenOptions()


class FileStore(Store):
    """A matrix in a file.

    A store that the user opened keeps the file mapped, so that the next count need not map it
    again. In a store for one call, or of a file that is too large for that, a block maps its own
    lines alone: page tables stay small however large the file is. Single scores are read: a random
    page fault reads megabytes ahead.

    Parameters
    ----------
    file : binary file
        The file, which is open. Another file in its place is refused later.
    place : str
        What messages call the file.
    layout : NpyHeader
        Where the matrix lies in the file, as the header of a `.npy` says it.
    options : OpenOptions
        What the caller says about the dtype.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For other shapes, and for a file that is too short.
    """

    def __init__(
        self, file: IO[bytes], place: str, layout: NpyHeader, options: OpenOptions
    ) -> None:
        self._place = place
        self._by_columns = layout.by_columns
        self._offset = layout.start
        dtype = options.check(layout.shape, layout.dtype, place)
        super().__init__(layout.shape, dtype, layout.dtype, (file.name,), options.name)
        self._facts = (self._offset, self._by_columns)
        self._status = os.fstat(file.fileno())
        self._check(self._status)
        # A line is a row, or a column if columns lie together.
        self._line = self.shape[0] if self._by_columns else self.shape[1]
        self._line_bytes = self._line * self.itemsize
        self.keeps_map = False
        self._kept: Array | None = None

    def tiles(self, max_bytes: int) -> list[Tile]:
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=self._by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array | FileBlock]:
        if self._by_columns:
            tile = tile.T
        first, left, lines, width = tile
        block: Array | FileBlock
        with self._opened() as file:
            if io == "read":
                offset = self._offset + first * self._line_bytes + left * self.itemsize
                strides = (self._line_bytes, self.itemsize)
                block = FileBlock(file.fileno(), offset, (lines, width), strides, self._place)
            else:
                block = self._mapped_lines(file, first, lines)[:, left : left + width]
            if self._by_columns:
                block = block.T
            yield block

    def map_kept(self) -> None:
        if self.keeps_map and self._kept is None and self.nbytes > 0:
            with self._opened() as file:
                self._keep_map(file)

    def _mapped_lines(self, file: IO[bytes], first: int, lines: int) -> Array:
        """Return lines of the map that is kept, or map them alone."""
        if self._kept is None and self.keeps_map:
            self._keep_map(file)
        if self._kept is None:
            return self._map(file, first, lines)
        return self._kept[first : first + lines]

    def _keep_map(self, file: IO[bytes]) -> None:
        try:
            self._kept = self._map(file, 0, self.nbytes // self._line_bytes)
        except (OSError, OverflowError):  # The address space has no room for it.
            self.keeps_map = False

    def _map(self, file: IO[bytes], first: int, lines: int) -> Array:
        offset = self._offset + first * self._line_bytes
        shape = (lines, self._line)
        return map_bytes(file, offset, lines * self._line_bytes).view(self.carrier).reshape(shape)

    def take(self, rows: Array, columns: Array) -> Array:
        lines = rows
        places_in_lines = columns
        if self._by_columns:
            lines = columns
            places_in_lines = rows
        offsets = self._offset + lines * self._line_bytes + places_in_lines * self.itemsize
        with self._opened() as file:
            # A call of the system for each score takes far longer.
            if self._kept is not None:
                return in_native_order(self._kept[lines, places_in_lines])
            scores = read_single_scores(file, offsets, self.carrier)
            self._check(os.fstat(file.fileno()))
        return scores

    def close(self) -> None:
        self.keeps_map = False
        self._kept = None

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Open the file, after a check that it is the same and large enough."""
        with open_input(self.name, self._paths[0], 0) as file:
            self._check(os.fstat(file.fileno()))
            yield file

    def _check(self, status: os.stat_result) -> None:
        if not os.path.samestat(status, self._status):
            raise InputValueError(self.name, "another file has taken its place", place=self._place)
        expected = self._offset + self.nbytes
        if status.st_size < expected:
            described = f"{self.shape} {self.dtype} from byte {self._offset:,} on"
            problem = f"expected {expected:,} bytes ({described}), the file has {status.st_size:,}"
            raise InputValueError(self.name, problem, place=self._place)


class ArrayStore(Store):
    """An array in any layout; before a memory map is read, the size of its file is checked.

    If a file has shrunk under its map, a process that reads the missing bytes is killed. So before
    every block the file must have all that is mapped. The block is a view of the array, whatever
    `io` says.

    Parameters
    ----------
    value : array_like, shape (rows, columns) or (columns,)
        Views of a `numpy.memmap` are checked like the map itself.
    options : OpenOptions
        What the caller says about it.

    Raises
    ------
    ValueError
        For a map whose file has become too short.
    """

    def __init__(self, value: Any, options: OpenOptions = _DEFAULT) -> None:
        name = options.name
        scores = as_scores(value, options.dtype, name, options.form)
        self.array = np.atleast_2d(scores.array)
        self._map, memmap = map_of(scores.array)
        self._map_end = 0 if self._map is None else len(self._map)
        files: tuple[str, ...] = ()
        if memmap is not None:
            import mmap

            files = (os.fsdecode(memmap.filename or ""),)
            # A map begins at a multiple of the granularity, before the array.
            self._map_end += memmap.offset - memmap.offset % mmap.ALLOCATIONGRANULARITY
            start_in_file = memmap.offset + _address(self.array) - _address(memmap)
            self._facts = (start_in_file, *self.array.strides)
        super().__init__(scores.array.shape, scores.dtype, scores.array.dtype, files, name)
        self._check()

    def tiles(self, max_bytes: int) -> list[Tile]:
        down, right = map(abs, self.array.strides)
        # Tiles of whole rows are ranked for good, if each has enough of a column to read in a run.
        rows = max_bytes // max(1, self.shape[1] * self.itemsize)
        by_columns = 0 < down < right and rows * down < _MIN_COLUMN_BYTES
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        self._check()
        top, left, height, width = tile
        yield self.array[top : top + height, left : left + width]

    def take(self, rows: Array, columns: Array) -> Array:
        self._check()
        return in_native_order(self.array[rows, columns])

    def _check(self) -> None:
        if self._map is None:
            return
        size = self._map.size()  # The file may have shrunk.
        if size < self._map_end:
            problem = f"expected {self._map_end:,} bytes (as it is mapped), the file has {size:,}"
            place = self.files[0] if self.files else "the memory map"
            raise InputValueError(self.name, problem, place=place)


def most_kept_bytes() -> int:
    """Return how many bytes of files may stay mapped: an eighth of the memory, 16 GiB at most."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Not every system tells how much memory it has.
        return _KEPT_OF_UNKNOWN_MEMORY
    return min(_MOST_KEPT, memory // _SHARE_OF_MEMORY)


def map_bytes(file: IO[bytes], start: int, size: int) -> Array:
    """Map bytes of a file, as long as the array lasts."""
    import mmap

    mapped: Any = np.memmap(file, np.uint8, "r", start, (size,))
    for advice in _ADVICE:
        with suppress(OSError, AttributeError):  # Not every kernel takes advice for files.
            mapped.base.madvise(getattr(mmap, advice))
    return np.asarray(mapped)


def read_single_scores(file: IO[bytes], offsets: Array, carrier: np.dtype[Any]) -> Array:
    """Read the scores at some places of a file, in native byte order.

    Of a file that has shrunk meanwhile the last ones are 0: look at its size afterwards.
    """
    order = np.argsort(offsets, kind="stable")
    data = bytearray()
    for first in range(0, len(order), _PREFETCHED_READS):
        group = offsets[order[first : first + _PREFETCHED_READS]].tolist()
        with suppress(OSError, AttributeError):  # Not every system takes such hints.
            for offset in group:  # The system can fetch them all at once.
                os.posix_fadvise(file.fileno(), offset, carrier.itemsize, os.POSIX_FADV_WILLNEED)
        for offset in group:
            file.seek(offset)
            data += file.read(carrier.itemsize)
    out = np.empty(len(offsets), carrier.newbyteorder("="))
    out[order] = np.frombuffer(data.ljust(out.nbytes, b"\0"), carrier)
    return out


def in_native_order(scores: Array) -> Array:
    """Return scores in the byte order of the machine."""
    return scores.astype(scores.dtype.newbyteorder("="), copy=False)


def map_of(array: Array) -> tuple[Any, Any]:
    """Find the map of a file that an array is a view of, and the numpy.memmap on it, if any.

    Examples
    --------
    >>> map_of(np.zeros((2, 3)))
    (None, None)
    """
    owner: Any = array
    memmap: Any = None
    while isinstance(owner, (np.ndarray, memoryview)):
        if isinstance(owner, np.memmap):
            memmap = owner
        if isinstance(owner, memoryview):
            owner = owner.obj
        else:
            owner = owner.base
    if type(owner).__module__ == "mmap":
        with suppress(OSError, ValueError):  # It is memory without a file, or a closed map.
            owner.size()
            return owner, memmap
    return None, None


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
