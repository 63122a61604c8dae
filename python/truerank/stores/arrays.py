"""A matrix that is an array already: in memory, or a map of a file that somebody else made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.scores import as_scores
from .base import Store, Tile, cut, digest_of

if TYPE_CHECKING:
    import mmap

    import numpy.typing as npt

    from ..inputs.arrays import IntArray


_STRETCH_BYTES = 1 << 20


class ArrayStore(Store):
    """An array, in any layout; a memory map is never looked at without its file's size.

    A file that has shrunk under its map kills the process that looks at what is gone. So before
    every block the file must reach as far as the array does. Both ways of reading give the array.

    Parameters
    ----------
    array : array_like, shape (rows, columns) or (columns,)
        The scores; views of a `numpy.memmap` are guarded as it is.
    dtype : str or dtype, optional
        As in `rank`: what raw 16-bit scores are, else the dtype that is expected.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For other shapes, and for a map whose file is too short by now.
    """

    def __init__(self, array: Any, dtype: object = None) -> None:
        scores = as_scores(array, dtype)
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
            raise InputValueError(
                "scores",
                (
                    f"{self._mapping.name or 'the memory map'}: expected {expected:,} bytes "
                    f"(the map is of {self.shape} {self.dtype}), the file has {size:,}"
                ),
            )

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


class Mapping(NamedTuple):
    """The map of a file that an array looks at."""

    memory: mmap.mmap
    address: int  # of its first byte
    offset: int  # in the file
    name: str  # of the file, if known

    def size(self) -> int:
        """Bytes of the file as it is now, whatever has become of its name."""
        return int(self.memory.size())

    def start_of(self, array: npt.NDArray[Any]) -> int:
        """Where in the file an array begins."""
        return int(array.__array_interface__["data"][0]) - self.address + self.offset

    def reach(self, array: npt.NDArray[Any]) -> int:
        """How many bytes the file must have for all of an array to be there."""
        steps = zip(array.shape, array.strides, strict=True)
        furthest = sum((length - 1) * step for length, step in steps if step > 0)
        return self.start_of(array) + int(furthest) + array.itemsize


def mapping_of(array: npt.NDArray[Any]) -> Mapping | None:
    """Find the map of a file that an array is a view of; None for plain memory.

    Examples
    --------
    >>> mapping_of(np.zeros((2, 3))) is None
    True
    """
    owner: Any = array
    first: Any = array  # the array that was made of the map, or a view that still knows about it
    while isinstance(owner, (np.ndarray, memoryview)):
        if isinstance(owner, np.memmap):
            first = owner
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    if type(owner).__name__ != "mmap":
        return None
    import mmap

    if not isinstance(owner, mmap.mmap):
        return None
    try:
        owner.size()
    except (OSError, ValueError):  # memory without a file, or a file that the map let go of
        return None
    offset, name = 0, ""
    if isinstance(first, np.memmap):
        import os

        offset = int(first.offset) // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        name = os.fsdecode(first.filename) if first.filename else ""
    address = int(np.frombuffer(owner, np.uint8).__array_interface__["data"][0])
    return Mapping(owner, address, offset, name)
