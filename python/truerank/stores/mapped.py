"""Matrices that lie with fixed strides: an array, or a file that is mapped or read by the core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError
from .descriptors import Descriptors, is_cached, map_file, prefetch, read_at
from .recognition import file_map_of
from .store import FileBlock, Store, Tile, block_array, cut_tiles, digest_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Scores
    from ..inputs.arrays import IntArray
    from .file_layouts import FileLayout

# Scores closer than this are read together, up to so many bytes: a page is fetched whole anyway.
_MAX_GAP = 4096
_MAX_READ = 1 << 20
# How many reads the system is told about in advance.
_PREFETCHED_READS = 64
# Scores are taken from maps of so many bytes, so that page tables stay small.
_MAPPED_BYTES = 256 << 20
# A tile of whole rows pays off where it has at least these bytes of each column.
_MIN_COLUMN_BYTES = 1 << 20


class FileStore(Store):
    """A matrix in a file.

    A store that the user opened keeps the file mapped, within a limit, so that the next count need
    not map it again. Beyond the limit, and in a store for one call, a block maps its own bytes
    alone: page tables stay small however large the file is. Single scores are mapped only where the
    file is in the page cache: elsewhere a random page fault reads megabytes ahead.

    Parameters
    ----------
    path : str
        The file.
    layout : FileLayout
        Where the matrix lies in the file.
    descriptors : Descriptors
        The open files, which this one joins.
    """

    def __init__(self, path: str, layout: FileLayout, descriptors: Descriptors) -> None:
        super().__init__(layout.shape, layout.dtype, layout.carrier, (path,))
        self.single_row = layout.single_row
        self.is_raw = layout.is_raw
        self.by_columns = layout.by_columns
        self._path = path
        self._layout = layout
        self._descriptors = descriptors
        rows, columns = layout.shape
        across = (rows if layout.by_columns else columns) * self.itemsize
        # A matrix of one row or one column has both layouts.
        self._strides = (self.itemsize, across) if layout.by_columns else (across, self.itemsize)

    def tiles(self, max_bytes: int) -> list[Tile]:
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=self.by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any] | FileBlock]:
        down, right = self._strides
        offset = self._layout.offset + tile.top * down + tile.left * right
        with self._open_checked() as descriptor:
            if io == "read":
                yield FileBlock(
                    descriptor, offset, tile.height, tile.width, down, right, self._layout.name
                )
                return
            span = (tile.height - 1) * down + (tile.width - 1) * right + self.itemsize
            kept = self._descriptors.kept_map(
                self._path, descriptor, self._layout.offset, self.nbytes
            )
            if kept is not None and offset - kept[1] + span <= len(kept[0]):
                yield self._shown(kept[0], offset - kept[1], tile)
                return
            memory, skip = map_file(descriptor, offset, span)
            try:
                # numpy.ndarray would not keep the map open while it points there, frombuffer does
                yield self._shown(np.frombuffer(memory, np.uint8), skip, tile)
            finally:
                with suppress(
                    BufferError
                ):  # an array still points there and unmaps the file when it is gone
                    memory.close()

    def _shown(self, mapped: npt.NDArray[Any], start: int, tile: Tile) -> npt.NDArray[Any]:
        """Return a tile whose first score is at a byte of a map."""
        return np.ndarray((tile.height, tile.width), self.carrier, mapped, start, self._strides)

    def take(self, rows: IntArray, columns: IntArray, io: str = "read") -> npt.NDArray[Any]:
        down, right = self._strides
        offsets = rows * down + columns * right
        order = np.argsort(offsets, kind="stable")
        offsets = offsets[order]
        out = np.empty(len(offsets), self.carrier)
        with self._open_checked() as descriptor:
            if io == "map" and is_cached(descriptor, offsets + self._layout.offset):
                self._take_mapped(rows, columns, offsets, order, out)
            else:
                self._take_read(descriptor, offsets, order, out)
        return out if self.carrier.isnative else out.astype(self.carrier.newbyteorder("="))

    def _take_mapped(
        self,
        rows: IntArray,
        columns: IntArray,
        offsets: IntArray,
        order: IntArray,
        out: npt.NDArray[Any],
    ) -> None:
        """Take scores from maps of tiles: ten times as fast as reading them one by one."""
        down, right = self._strides
        for tile in self.tiles(_MAPPED_BYTES):
            start = tile.top * down + tile.left * right
            stop = start + (tile.height - 1) * down + (tile.width - 1) * right + self.itemsize
            first, last = np.searchsorted(offsets, [start, stop]).tolist()
            if first < last:
                where = order[first:last]
                with self.block(tile, "map") as block:
                    inside = rows[where] - tile.top, columns[where] - tile.left
                    out[where] = block_array(block, self)[inside]
                    del block

    def _take_read(
        self, descriptor: int, offsets: IntArray, order: IntArray, out: npt.NDArray[Any]
    ) -> None:
        ranges = list(self._read_ranges(offsets))
        for first in range(0, len(ranges), _PREFETCHED_READS):
            group = ranges[first : first + _PREFETCHED_READS]
            prefetch(descriptor, [(start, size) for start, size, _ in group])
            for start, size, part in group:
                data = read_at(descriptor, size, start, self._layout.name)
                inside = (offsets[part] - offsets[part.start]) // self.itemsize
                out[order[part]] = np.frombuffer(data, self.carrier)[inside]

    def _read_ranges(self, offsets: IntArray) -> Iterator[tuple[int, int, slice]]:
        """Yield what to read for sorted offsets: the first byte, the size, and which offsets."""
        if not len(offsets):
            return
        far = (np.diff(offsets) > _MAX_GAP) | (np.diff(offsets // _MAX_READ) != 0)
        bounds = [0, *(np.flatnonzero(far) + 1).tolist(), len(offsets)]
        for first, last in pairwise(bounds):
            low, high = int(offsets[first]), int(offsets[last - 1])
            yield self._layout.offset + low, high - low + self.itemsize, slice(first, last)

    def check(self) -> None:
        with self._open_checked():
            pass

    def state(self) -> list[Any]:
        import os

        with self._open_checked() as descriptor:
            status = os.fstat(descriptor)
        layout = self._layout
        order_and_offset = [layout.offset, layout.by_columns, self.swapped]
        return [list(self.shape), self.dtype, order_and_offset, status.st_size, status.st_mtime_ns]

    def close(self) -> None:
        self._descriptors.close()

    @contextmanager
    def _open_checked(self) -> Iterator[int]:
        """Yield the descriptor of the file, after a check of its size."""
        import os

        with self._descriptors.lease(self._path) as descriptor:
            self._layout.check(os.fstat(descriptor).st_size)
            yield descriptor


class ArrayStore(Store):
    """An array in any layout; before a memory map is read, the size of its file is checked.

    If a file has shrunk under its map, a process that reads the missing bytes is killed. So before
    every block the file must reach as far as the array does. The block is a view of the array,
    whatever `io` says.

    Parameters
    ----------
    scores : Scores, shape (rows, columns) or (columns,)
        Views of a `numpy.memmap` are checked like the map itself.

    Raises
    ------
    ValueError
        For a map whose file has become too short.
    """

    def __init__(self, scores: Scores) -> None:
        plain = scores.array
        self._array = plain if plain.ndim == 2 else plain[None, :]
        self._mapping = file_map_of(plain)
        files = (self._mapping.name,) if self._mapping and self._mapping.name else ()
        shape = (int(self._array.shape[0]), int(self._array.shape[1]))
        super().__init__(shape, scores.dtype, plain.dtype, files)
        self.single_row = plain.ndim == 1
        self.check()

    def tiles(self, max_bytes: int) -> list[Tile]:
        down, right = map(abs, self._array.strides)
        by_columns = 0 < down < right
        # tiles of whole rows are ranked for good, if each has enough of a column to read in a run
        has_long_columns = (
            max_bytes // max(1, self.shape[1] * self.itemsize) * down >= _MIN_COLUMN_BYTES
        )
        return cut_tiles(
            self.shape, self.itemsize, max_bytes, by_columns=by_columns and not has_long_columns
        )

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        self.check()
        top, left, height, width, _ = tile
        yield self._array[top : top + height, left : left + width]

    def take(self, rows: IntArray, columns: IntArray, io: str = "read") -> npt.NDArray[Any]:
        self.check()
        scores = self._array[rows, columns]
        return scores if scores.dtype.isnative else scores.astype(scores.dtype.newbyteorder("="))

    def check(self) -> None:
        if self._mapping is None or self._array.size == 0:
            return
        expected, size = self._mapping.bytes_needed(self._array), self._mapping.size()
        if size < expected:
            map_words = f"(the map is of {self.shape} {self.dtype})"
            problem = f"expected {expected:,} bytes {map_words}, the file has {size:,}"
            raise InputValueError("scores", problem, place=self._mapping.name or "the memory map")

    def state(self) -> list[Any]:
        import os

        state: list[Any] = [list(self.shape), self.dtype, self.swapped]
        if self._mapping is not None:
            state += [self._mapping.start_of(self._array), list(self._array.strides)]
            if os.path.exists(self._mapping.name):
                status = os.stat(self._mapping.name)
                state += [status.st_size, status.st_mtime_ns]
        else:
            state.append(digest_scores(self))
        return state

    def close(self) -> None:
        """Do nothing: the array is the caller's."""
