"""What a store is: a score matrix that need not be in memory, read a rectangle at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import FileScores, Scores
from ..inputs.naming import printable, public
from .descriptors import read_at

if TYPE_CHECKING:
    from types import TracebackType

    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from .devices.streams import DeviceStream

_DIGEST_TILE_BYTES = 1 << 24


class Tile(NamedTuple):
    """A rectangle of the whole matrix that is read at once; `shard` is for the store itself."""

    top: int
    left: int
    height: int
    width: int
    shard: int = 0


class DevicePart(NamedTuple):
    """A rectangle of a matrix on one device, which is counted there.

    Attributes
    ----------
    top, left : int
        Its first row and column.
    tensor : Tensor, shape (height, width)
    stream : DeviceStream
        The stream that makes the scores.
    way : {"triton", "torch"}
        What counts them.
    """

    top: int
    left: int
    tensor: Any
    stream: DeviceStream
    way: str


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


@public("truerank.stores")
class Store(ABC):
    """A score matrix in one or more files, in chunks, on a device or in memory.

    `open_scores` makes it. It is a context manager, and closes what it opened itself.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns; a single row is a matrix of one row.
    dtype : str
        The name of the dtype of the scores, as in `Protocol.dtype`.
    swapped : bool
        Whether the byte order of the scores is not the machine's.
    carrier : dtype
        The dtype that numpy sees: for bfloat16, raw bytes.
    files : tuple of str
        The files, by the names that were given; empty if they are not known.
    single_row : bool
        Whether the scores have one dimension, so that every task reads the one row.
    in_place : bool
        Whether a block is cheap to make, as a map is; else it is decoded or copied.
    io : {"map", "read"}
        How `rank` reads blocks by default.
    on_device : bool
        Whether the scores are on a device.
    device : str
        That device, or those devices; empty for all others.
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
    shards = 1  # how many values `Tile.shard` may have
    single_row = False
    io = "map"
    on_device = False
    device = ""
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

        A tile consists of whole rows (of whole columns, if columns lie together), or of a piece of
        one row or column that is longer than `max_bytes`. Only a chunk of a chunked store, which is
        never cut, may be longer than that.
        """

    @abstractmethod
    def block(self, tile: Tile, io: str) -> AbstractContextManager[npt.NDArray[Any] | FileBlock]:
        """Yield a tile as an array; if `io` is "read" and there is a file, as a `FileBlock`.

        The size of the file is checked first. The array is valid only within the `with` block.

        Raises
        ------
        ValueError
            If a file has changed its size; it names the file.
        """

    def decodes(self, tile: Tile) -> bool:
        """Whether a tile is decoded or copied; of shards, some may be and others not."""
        return not self.in_place

    @abstractmethod
    def take(self, rows: IntArray, columns: IntArray, io: str = "read") -> npt.NDArray[Any]:
        """Return the scores of pairs of a row and a column, in native byte order.

        If `io` is "map", a file that is in the page cache may be mapped for it.

        Raises
        ------
        ValueError
            If a file ends before one of them; it names the file.
        """

    def parts(self) -> list[DevicePart]:
        """Return all of a matrix on devices if it is counted there; nothing if the host counts."""
        return []

    @abstractmethod
    def check(self) -> None:
        """Check the sizes of all files.

        Raises
        ------
        OSError, ValueError
            If a file has gone or has changed its size; the error names the file.
        """

    @abstractmethod
    def state(self) -> list[Any]:
        """Return values for JSON that stay the same as long as the scores do not change."""

    @abstractmethod
    def close(self) -> None:
        """Close what the store itself has opened; closing twice does no harm."""

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
        sizes = f"{self.shape[0]} x {self.shape[1]}"
        return printable(f"{type(self).__name__}({sizes} {self.dtype}{where})")


def digest_scores(store: Store) -> str:
    """Return a digest of all scores, for stores without a file that tells them apart."""
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
    """Cut a matrix into tiles of about equal size, at most `max_bytes`, in the order of storage.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    itemsize : int
        Bytes of one score.
    max_bytes : int
        The most bytes of a tile, as far as the unit allows.
    by_columns : bool
        Whether whole columns lie together, not whole rows.
    unit : tuple of int
        Rows and columns of the rectangles that are never cut.

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


def _even_step(count: int, most: int) -> int:
    """Return how many to take at a time, at most `most` and at least 1, in equal steps."""
    steps = -(-count // max(1, min(most, count)))
    return -(-count // steps)
