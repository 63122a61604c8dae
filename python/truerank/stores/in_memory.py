"""A matrix that is an array already: in memory, or a map of a file that somebody else made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..inputs.errors import InputValueError
from .kinds import mapping_of
from .store import Store, Tile, cut, digest_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Scores
    from ..inputs.arrays import IntArray

_STRETCH_BYTES = 1 << 20


class ArrayStore(Store):
    """An array, in any layout; a memory map is never looked at without its file's size.

    A file that has shrunk under its map kills the process that looks at what is gone. So before
    every block the file must reach as far as the array does. Both ways of reading give the array.

    Parameters
    ----------
    scores : Scores, shape (rows, columns) or (columns,)
        Views of a `numpy.memmap` are guarded as it is.

    Raises
    ------
    ValueError
        For a map whose file is too short by now.
    """

    def __init__(self, scores: Scores) -> None:
        plain = scores.array
        self._array = plain if plain.ndim == 2 else plain[None, :]
        self._mapping = mapping_of(plain)
        files = (self._mapping.name,) if self._mapping and self._mapping.name else ()
        shape = (int(self._array.shape[0]), int(self._array.shape[1]))
        super().__init__(shape, scores.dtype, plain.dtype, files)
        self.single_row = plain.ndim == 1
        self.check()

    def tiles(self, most: int) -> list[Tile]:
        down, right = map(abs, self._array.strides)
        by_columns = 0 < down < right
        # whole rows are ranked at once, where what they have of a column is worth a stop there
        wide = most // max(1, self.shape[1] * self.itemsize) * down >= _STRETCH_BYTES
        return cut(self.shape, self.itemsize, most, by_columns=by_columns and not wide)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        self.check()
        top, left, height, width, _ = tile
        yield self._array[top : top + height, left : left + width]

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        self.check()
        found = self._array[rows, columns]
        return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))

    def check(self) -> None:
        if self._mapping is None or self._array.size == 0:
            return
        expected, size = self._mapping.reach(self._array), self._mapping.size()
        if size < expected:
            of = f"(the map is of {self.shape} {self.dtype})"
            problem = f"expected {expected:,} bytes {of}, the file has {size:,}"
            raise InputValueError("scores", problem, place=self._mapping.name or "the memory map")

    def state(self) -> list[Any]:
        import os

        about: list[Any] = [list(self.shape), self.dtype, self.swapped]
        if self._mapping is not None:
            about += [self._mapping.start_of(self._array), list(self._array.strides)]
            if os.path.exists(self._mapping.name):
                found = os.stat(self._mapping.name)
                about += [found.st_size, found.st_mtime_ns]
        else:
            about.append(digest_of(self))
        return about

    def close(self) -> None:
        """Do nothing: the array is the caller's."""
