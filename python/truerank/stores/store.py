"""What a store is: a score matrix that need not be in memory, read a rectangle at a time."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from .._core import FileScores, Scores
from ..arrays.input_files import report_damage
from ..inputs.scores import SCORES, Form, check_dimensions, dtype_name
from ..naming import printable, public

Array = np.ndarray[Any, Any]

_DIGEST_TILE_BYTES = 1 << 24


class OpenOptions(NamedTuple):
    """What the caller says of scores: their dtype, name and form, and the member of an archive."""

    dtype: object = None
    name: str = "scores"
    form: Form = SCORES
    member: str | None = None

    def check(self, lengths: tuple[int, ...], carrier: np.dtype[Any], place: str) -> str:
        """Check scores in a file like those in memory; return the name of their dtype."""
        check_dimensions(lengths, self.name, self.form, place)
        return dtype_name(carrier, self.dtype, self.name, self.form, place)


class FileState(NamedTuple):
    """What tells a file from another one in its place.

    Programs that copy can set the size and the time of modification, as ``rsync -t`` and ``cp -p``
    do, but not the time of change and the inode. (On Windows the former is the time of creation.)
    The device is no part of it: a file system may get another number whenever it is mounted.

    Attributes
    ----------
    size : int
        Its bytes.
    modified, changed : int
        The times of modification and of change, in nanoseconds.
    inode : int
    """

    size: int
    modified: int
    changed: int
    inode: int


class Tile(NamedTuple):
    """A rectangle of the whole matrix that is read at once."""

    top: int
    left: int
    height: int
    width: int

    @property
    def T(self) -> Tile:
        """The same rectangle of the transposed matrix.

        Examples
        --------
        >>> Tile(top=0, left=5, height=2, width=9).T
        Tile(top=5, left=0, height=9, width=2)
        """
        return Tile(self.left, self.top, self.width, self.height)


class FileBlock(NamedTuple):
    """A matrix (rows, columns) inside an open file, which the core reads itself.

    Strides are in bytes and above 0, and one of them is the size of a score.
    """

    descriptor: int
    offset: int
    shape: tuple[int, int]
    strides: tuple[int, int]
    name: str

    @property
    def T(self) -> FileBlock:
        """The transposed matrix."""
        return self._replace(shape=self.shape[::-1], strides=self.strides[::-1])


def block_array(block: Array | FileBlock, store: Store) -> Array:
    """Return a tile's block as an array; a `FileBlock` is read from its file.

    Raises
    ------
    ValueError
        If the file ends before the matrix does; it names the file.
    """
    if not isinstance(block, FileBlock):
        return block
    # The strides lead to the last score, whose own bytes are added to them.
    size = store.itemsize
    for length, stride in zip(block.shape, block.strides, strict=True):
        size += (length - 1) * stride
    problem = f"expected {size:,} bytes from {block.offset:,} on: "
    with (
        open(block.descriptor, "rb", closefd=False) as file,
        report_damage(store.name, block.name, problem),
    ):
        file.seek(block.offset)
        return np.ndarray(block.shape, store.carrier, file.read(size), 0, block.strides)


def core_scores(block: Array | FileBlock, store: Store) -> Scores | FileScores:
    """Return a tile's block in the form that the core takes."""
    if isinstance(block, FileBlock):
        return FileScores(*block, store.dtype, store.swapped)
    return Scores(block, store.dtype, store.swapped)


@public("truerank.stores")
class Store(ABC):
    """A score matrix in one or more files, on a device or in memory.

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
    itemsize, nbytes : int
        The bytes of one score, and of all.
    files : tuple of str
        The files, by the names that were given; empty if they are not known.
    name : str
        What messages call the scores.
    single_row : bool
        Whether the scores have one dimension, so that every task reads the one row.
    in_place : bool
        Whether a block is cheap to make, as a map is; else it is copied.
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
    io = "map"
    # These say where scores lie in the files, for `state`.
    _facts: tuple[Any, ...] = ()
    on_device = False
    device = ""
    address = 0

    def __init__(
        self,
        lengths: tuple[int, ...],
        dtype: str,
        carrier: np.dtype[Any],
        files: tuple[str, ...],
        name: str = "scores",
    ) -> None:
        self.single_row = len(lengths) == 1
        columns = lengths[-1]
        rows = 1 if self.single_row else lengths[-2]
        self.shape = (rows, columns)
        self.dtype = dtype
        self.carrier = carrier
        self.swapped = not carrier.isnative
        self.itemsize = carrier.itemsize
        self.nbytes = rows * columns * carrier.itemsize
        self.files = files
        self.name = name
        # Absolute paths stay valid when the working directory changes.
        self._paths = tuple(map(os.path.abspath, files))

    @abstractmethod
    def tiles(self, max_bytes: int) -> Sequence[Tile]:
        """Cut the matrix into rectangles that cover it once, in the order of storage.

        A tile consists of whole rows (of whole columns, if columns lie together), or of a piece of
        one row or column that is longer than `max_bytes`.
        """

    @abstractmethod
    def block(self, tile: Tile, io: str) -> AbstractContextManager[Array | FileBlock]:
        """Yield a tile as an array; if `io` is "read" and there is a file, as a `FileBlock`.

        The size of the file is checked first. The array is valid only within the `with` block.

        Raises
        ------
        ValueError
            If a file has changed its size; it names the file.
        """

    @abstractmethod
    def take(self, rows: Array, columns: Array) -> Array:
        """Return the scores of pairs of a row and a column, in native byte order.

        Files are not mapped for it; a map that is kept already is read.

        Raises
        ------
        ValueError
            If a file ends before one of them; it names the file.
        """

    def map_kept(self) -> None:  # noqa: B027  # only files have maps
        """Map the files whose maps are kept, before `take` is asked for many scores of them."""

    def state(self) -> list[Any]:
        """Return values for JSON that stay the same as long as the scores do not change."""
        values: list[Any] = [list(self.shape), self.dtype, self.swapped]
        values.extend(self._facts)
        if self._paths:
            values.extend(list(state) for state in self.file_states())
            return values
        # Without a file, only the scores themselves say whether they have changed.
        import hashlib

        sha = hashlib.sha256()
        for tile in self.tiles(_DIGEST_TILE_BYTES):
            with self.block(tile, "map") as block:
                sha.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
        values.append(sha.hexdigest())
        return values

    def file_states(self) -> list[FileState]:
        """Return what tells each file from another one in its place."""
        return [state_of_file(path) for path in self._paths]

    def close(self) -> None:  # noqa: B027  # arrays have nothing to close
        """Close what the store itself has opened, if anything; closing twice does no harm."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        description = f"{self.shape[0]} x {self.shape[1]} {self.dtype}"
        if self.files:
            description += f"; {self.files[0]}"
        return printable(f"{type(self).__name__}({description})")


def groups_of(numbers: Array) -> Iterator[tuple[int, Array]]:
    """Yield each of some numbers, in ascending order, and the places where it stands.

    Examples
    --------
    >>> [(number, places.tolist()) for number, places in groups_of(np.array([7, 2, 7]))]
    [(2, [1]), (7, [0, 2])]
    """
    order = np.argsort(numbers, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        if len(places):
            yield int(numbers[places[0]]), places


def state_of_file(path: str) -> FileState:
    """Return the state of a file."""
    status = os.stat(path)
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def cut_tiles(
    shape: tuple[int, int],
    itemsize: int,
    max_bytes: int,
    *,
    by_columns: bool = False,
) -> list[Tile]:
    """Cut a matrix into tiles of at most `max_bytes`, in the order of storage.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    itemsize : int
        Bytes of one score.
    max_bytes : int
        The most bytes of a tile of more than one score.
    by_columns : bool
        Whether whole columns lie together, not whole rows.

    Examples
    --------
    >>> [tuple(tile) for tile in cut_tiles((3, 4), 1, 8)]
    [(0, 0, 2, 4), (2, 0, 1, 4)]
    >>> [tuple(tile) for tile in cut_tiles((1, 4), 1, 2)]
    [(0, 0, 1, 2), (0, 2, 1, 2)]
    """
    if by_columns:  # The transposed matrix has whole rows together.
        tiles = cut_tiles(shape[::-1], itemsize, max_bytes)
        return [tile.T for tile in tiles]
    rows, columns = shape
    if rows == 0 or columns == 0:
        return []
    bytes_across = columns * itemsize
    if bytes_across <= max_bytes:  # As many whole rows are taken as fit.
        height = max_bytes // bytes_across
        width = columns
    else:
        height = 1
        width = max(1, max_bytes // itemsize)
    return [
        Tile(top, left, min(height, rows - top), min(width, columns - left))
        for top in range(0, rows, height)
        for left in range(0, columns, width)
    ]
