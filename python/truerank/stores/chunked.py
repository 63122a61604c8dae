"""A matrix in chunks that are decoded as a whole: zarr arrays, HDF5 datasets, and their like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.scores import UNSAID, Wanted
from .places import of_array
from .store import Store, Tile, cut

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..inputs.arrays import IntArray

# How an unchunked dataset is read where it cannot be read as a file.
_STRETCH = 1024


class ChunkStore(Store):
    """A matrix in chunks; tiles are of whole ones, so that each is decoded once.

    Parameters
    ----------
    array : object
        With `shape`, `dtype`, `chunks` and slices.
    wanted : Wanted
        What the caller says of the dtype.
    name : str
        The file or folder it is in, if known.
    closing : callable, optional
        What to call in the end; none for an array that is the caller's.

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
        wanted: Wanted = UNSAID,
        name: str = "",
        closing: Callable[[], object] | None = None,
    ) -> None:
        self._array = array
        self._name = name or type(array).__name__
        self._closing = closing
        carrier, dtype_name, shape = of_array(self._name, array, wanted)
        super().__init__(shape, dtype_name, carrier, (name,) if name else ())
        self.single_row = len(array.shape) == 1
        self._chunk = self._lengths(array.chunks or (1, _STRETCH)[-len(array.shape) :])
        # A shard of zarr is one file of many chunks.
        shards = getattr(array, "shards", None)
        self._shard = self._lengths(shards) if shards else self._chunk

    def tiles(self, most: int) -> list[Tile]:
        whole = self._shard[0] * self._shard[1] * self.itemsize <= most
        unit = self._shard if whole else self._chunk
        return cut(self.shape, self.itemsize, most, unit=unit)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        self.check()
        yield self._read(tile)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        self.check()
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        tall, wide = self._chunk
        chunks = rows // tall * -(-self.shape[1] // wide) + columns // wide
        order = np.argsort(chunks, kind="stable")
        for pairs in np.split(order, np.flatnonzero(np.diff(chunks[order])) + 1):
            if len(pairs):
                top = int(rows[pairs[0]]) // tall * tall
                left = int(columns[pairs[0]]) // wide * wide
                tile = self._clipped(top, left)
                out[pairs] = self._read(tile)[rows[pairs] - top, columns[pairs] - left]
        return out

    def check(self) -> None:
        if self._array is None:
            raise InputValueError("scores", "the store is closed", place=self._name)
        expected = self.shape[1:] if self.single_row else self.shape
        if tuple(self._array.shape) != expected:
            problem = f"expected shape {expected}, by now it is {self._array.shape}"
            raise InputValueError("scores", problem, place=self._name)

    def state(self) -> list[Any]:
        return [list(self.shape), self.dtype, self.swapped, *map(_state_of, self.files)]

    def close(self) -> None:
        closing, self._closing = self._closing, None
        self._array = None
        if closing is not None:
            closing()

    def _lengths(self, given: Any) -> tuple[int, int]:
        lengths = [max(1, int(length)) for length in given]
        return (1, lengths[0]) if len(lengths) == 1 else (lengths[0], lengths[1])

    def _clipped(self, top: int, left: int) -> Tile:
        tall, wide = self._chunk
        return Tile(top, left, min(tall, self.shape[0] - top), min(wide, self.shape[1] - left))

    def _read(self, tile: Tile) -> npt.NDArray[Any]:
        across = slice(tile.left, tile.left + tile.width)
        down = slice(tile.top, tile.top + tile.height)
        try:
            found = np.asarray(
                self._array[across] if self.single_row else self._array[down, across]
            )
        except MemoryError:
            raise
        except Exception as error:  # each codec has faults of its own
            rows = f"rows {down.start} to {down.stop - 1}"
            columns = f"columns {across.start} to {across.stop - 1}"
            problem = f"cannot read {rows}, {columns}: {error}"
            raise InputValueError("scores", problem, place=self._name) from error
        # Some libraries give the bytes as they are stored, others in the machine's order.
        return found.reshape(tile.height, tile.width).astype(self.carrier, copy=False)


def _state_of(name: str) -> list[int]:
    """Bytes and time of a file; of a folder, how many files too, and the latest time."""
    import os

    if not os.path.isdir(name):
        found = [os.stat(name)] if os.path.exists(name) else []
    else:
        found = [
            os.stat(os.path.join(folder, file))
            for folder, _, files in os.walk(name)
            for file in files
        ]
    times = [one.st_mtime_ns for one in found]
    return [len(found), sum(one.st_size for one in found), max(times, default=0)]
