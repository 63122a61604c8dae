"""What a store is: a score matrix that need not be in memory, read a rectangle at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import FileScores, Scores
from ..inputs.naming import public
from .descriptors import read_at

if TYPE_CHECKING:
    from types import TracebackType

    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_DIGEST_TILE_BYTES = 1 << 24


class Tile(NamedTuple):
    """A rectangle of the whole matrix, read at once; `part` is the store's own business."""

    top: int
    left: int
    height: int
    width: int
    shard: int = 0


class FileBlock(NamedTuple):
    """A matrix inside an open file, which the core reads itself.

    Strides are in bytes and above 0, and one of them is the size of a score.
    """

    descriptor: int
    offset: int
    rows: int
    columns: int
    row_stride: int
    column_stride: int
    name: str


def block_array(block: npt.NDArray[Any] | FileBlock, store: Store) -> npt.NDArray[Any]:
    """Return a tile's block as an array; a `FileBlock` is read from its file.

    Raises
    ------
    ValueError
        If the file ends before the matrix does; it names the file.
    """
    if not isinstance(block, FileBlock):
        return block
    dtype = store.carrier
    strides = block.row_stride, block.column_stride
    shape = block.rows, block.columns
    size = (shape[0] - 1) * strides[0] + (shape[1] - 1) * strides[1] + dtype.itemsize
    data = read_at(block.descriptor, size, block.offset, block.name)
    return np.ndarray(shape, dtype, data, 0, strides)


def core_scores(block: npt.NDArray[Any] | FileBlock, store: Store) -> Scores | FileScores:
    """Return a tile's block in the form that the core takes."""
    if not isinstance(block, FileBlock):
        return Scores(block, store.dtype, store.swapped)
    shape, strides = (block.rows, block.columns), (block.row_stride, block.column_stride)
    where = (block.descriptor, block.offset, shape, strides, block.name)
    return FileScores(*where, store.dtype, store.swapped)


@public("truerank")
class Store(ABC):
    """A score matrix in a file, in several, in chunks, or in memory; `open_scores` makes them.

    It is a context manager, and closes what it opened itself.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns; a single row is a matrix of one.
    dtype : str
        The name of the dtype of the scores, as in `Protocol.dtype`.
    swapped : bool
        Whether the scores are in the byte order that is not the machine's own.
    carrier : dtype
        What numpy calls the scores: bfloat16 is raw bytes to it.
    files : tuple of str
        The files, by the names they were given; empty where they are not known.
    single_row : bool
        Whether the scores have one dimension, so that every task reads the one row.
    in_place : bool
        Whether a block is cheap to make, as a map is; else it is decoded.
    io : {"map", "read"}
        How `rank` reads blocks unless told otherwise.
    on_device : bool
        Whether they are on an accelerator.
    address : int
        Where scores on a device begin in its memory; 0 for all others.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.stores import open_scores
    >>> with open_scores(np.zeros((3, 5), np.float32)) as store:
    ...     store.shape, store.dtype, store.nbytes
    ((3, 5), 'float32', 60)
    """

    in_place = True
    shards = 1  # how many values `Tile.part` may have
    single_row = False
    io = "map"
    on_device = False
    address = 0

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: str,
        carrier: np.dtype[Any],
        files: tuple[str, ...],
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.carrier = carrier
        self.swapped = not carrier.isnative
        self.files = files

    @property
    def itemsize(self) -> int:
        """Bytes of one score."""
        return self.carrier.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all scores."""
        return self.shape[0] * self.shape[1] * self.itemsize

    @abstractmethod
    def tiles(self, max_bytes: int) -> Sequence[Tile]:
        """Cut the matrix into rectangles that cover it once, in the order of storage.

        A tile has whole rows (whole columns where they are what lies together), or a stretch of
        one where that is longer than `most` bytes. Only a chunk of a chunked store, which is never
        cut, may be longer.
        """

    @abstractmethod
    def block(self, tile: Tile, io: str) -> AbstractContextManager[npt.NDArray[Any] | FileBlock]:
        """Give a tile: as an array, or with `io` "read", where there is a file, as a `FileBlock`.

        The size of the file is checked first. The array is gone after the block.

        Raises
        ------
        ValueError
            If a file has changed its size; it names the file.
        """

    @abstractmethod
    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        """Give the scores of the pairs of a row and a column, in native byte order.

        Raises
        ------
        ValueError
            If a file ends before them; it names the file.
        """

    @abstractmethod
    def check(self) -> None:
        """Check the sizes of all files.

        Raises
        ------
        OSError, ValueError
            If one has gone or has changed its size; they name the file.
        """

    @abstractmethod
    def state(self) -> list[Any]:
        """Give what JSON can hold and what is the same as long as the scores are unchanged."""

    @abstractmethod
    def close(self) -> None:
        """Close what the store itself has opened; it can be closed again."""

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        files = len(self.files)
        where = f"; {self.files[0]}" if files == 1 else f"; {files} files" if files else ""
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]} {self.dtype}{where})"


def digest_scores(store: Store) -> str:
    """Tell scores that are no file from others: nothing but the scores themselves does."""
    import hashlib

    sha = hashlib.sha256()
    for tile in store.tiles(_DIGEST_TILE_BYTES):
        with store.block(tile, "map") as block:
            sha.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def cut_tiles(
    shape: tuple[int, int],
    itemsize: int,
    max_bytes: int,
    *,
    by_columns: bool = False,
    unit: tuple[int, int] = (1, 1),
) -> list[Tile]:
    """Cut a matrix into tiles of about one size, of at most `most` bytes, in the order of storage.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    itemsize : int
        Bytes of one score.
    most : int
        Bytes of a tile, at most, as far as the unit allows.
    by_columns : bool
        Whether whole columns lie together, not whole rows.
    unit : tuple of int
        Rows and columns of the rectangle that is never cut.

    Examples
    --------
    >>> [tuple(tile[:4]) for tile in cut_tiles((3, 4), 1, 8)]
    [(0, 0, 2, 4), (2, 0, 1, 4)]
    >>> [tuple(tile[:4]) for tile in cut_tiles((1, 4), 1, 2)]
    [(0, 0, 1, 2), (0, 2, 1, 2)]
    """
    outer, inner = shape[::-1] if by_columns else shape
    if outer == 0 or inner == 0:
        return []
    unit_height, unit_width = unit[::-1] if by_columns else unit
    unit_height, unit_width = min(unit_height, outer), min(unit_width, inner)
    band = unit_height * inner * itemsize
    if band <= max_bytes:
        steps = unit_height * _even_step(-(-outer // unit_height), max_bytes // band), inner
    else:
        steps = (
            unit_height,
            unit_width
            * _even_step(
                -(-inner // unit_width), max_bytes // (unit_height * unit_width * itemsize)
            ),
        )
    tiles = (
        Tile(top, left, min(steps[0], outer - top), min(steps[1], inner - left))
        for top in range(0, outer, steps[0])
        for left in range(0, inner, steps[1])
    )
    if not by_columns:
        return list(tiles)
    return [Tile(left, top, width, height) for top, left, height, width, _ in tiles]


def _even_step(count: int, max_bytes: int) -> int:
    """How many to take at a time, at most `most` and at least 1, so that all takes are alike."""
    steps = -(-count // max(1, min(max_bytes, count)))
    return -(-count // steps)
