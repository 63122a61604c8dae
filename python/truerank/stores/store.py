"""What a store is: a score matrix that need not be in memory, read a rectangle at a time."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._core import FileScores, Scores
from ..inputs.errors import InputValueError
from ..inputs.naming import printable, public
from ..inputs.scores import SCORES, Form, check_dimensions, dtype_name
from ..inputs.words import IoMode

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_DIGEST_TILE_BYTES = 1 << 24
# Each map has a descriptor of its own: far below the usual limit of 1024 open files.
_MAX_MAPS = 64
# The limit is for the page tables, with 8 bytes for each page of 4 kB: 32 MB. The pages themselves
# are the page cache's, and the system takes them away when it needs memory.
_MAX_KEPT_BYTES = 16 << 30


class KeptMaps:
    """How much of its files a store may keep mapped; its shards have one limit in common."""

    def __init__(self, most_bytes: int = 0) -> None:
        self._bytes_left, self._files_left = most_bytes, _MAX_MAPS

    @classmethod
    def for_many_counts(cls) -> KeptMaps:
        """Return the limit of a store that may be counted more than once."""
        try:
            import resource
        except ImportError:  # Windows, where nobody else could shorten a file that is mapped
            return cls()
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]  # of the address space
        return cls(_MAX_KEPT_BYTES if limit == resource.RLIM_INFINITY else 0)

    def share(self, nbytes: int) -> int:
        """Return how many of the bytes of the next file may stay mapped."""
        share = min(nbytes, self._bytes_left) if self._files_left else 0
        self._bytes_left -= share
        self._files_left -= share > 0
        return share


NO_MAPS = KeptMaps()


class OpenOptions(NamedTuple):
    """The options of `open_scores`, checked as far as that is possible without the source.

    `name` is what messages call the scores, and `form` what they must be.
    """

    dtype: object = None
    form: Form = SCORES
    name: str = "scores"
    axis: int = 0
    shape: tuple[int, ...] | None = None
    offset: int = 0
    layout: Literal["C", "F"] = "C"
    member: str | None = None
    io: IoMode = "map"
    maps: KeptMaps = NO_MAPS


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


def block_array(block: npt.NDArray[Any] | FileBlock, store: Store) -> npt.NDArray[Any]:
    """Return a tile's block as an array; a `FileBlock` is read from its file.

    Raises
    ------
    ValueError
        If the file ends before the matrix does; it names the file.
    """
    if not isinstance(block, FileBlock):
        return block
    far = zip(block.shape, block.strides, strict=True)
    size = sum((length - 1) * step for length, step in far) + store.itemsize
    with open(block.descriptor, "rb", closefd=False) as file:
        file.seek(block.offset)
        data = whole(file.read(size), size, block.offset, block.name)
    return np.ndarray(block.shape, store.carrier, data, 0, block.strides)


def whole(data: bytes | bytearray, size: int, offset: int, place: str) -> bytes | bytearray:
    """Return bytes that were read; fewer than were asked for are an error that names the file."""
    if len(data) < size:
        problem = f"expected {size:,} bytes from {offset:,} on, the file ends"
        raise InputValueError("scores", problem, place=place)
    return data


def core_scores(block: npt.NDArray[Any] | FileBlock, store: Store) -> Scores | FileScores:
    """Return a tile's block in the form that the core takes."""
    if isinstance(block, FileBlock):
        return FileScores(*block, store.dtype, store.swapped)
    return Scores(block, store.dtype, store.swapped)


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
    itemsize, nbytes : int
        The bytes of one score, and of all.
    files : tuple of str
        The files, by the names that were given; empty if they are not known.
    name : str
        What messages call the scores.
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
    single_row = False
    io = "map"
    _facts: tuple[Any, ...] = ()  # where scores lie in the files, for `state`
    on_device = False
    device = ""
    address = 0

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: str,
        carrier: np.dtype[Any],
        files: tuple[str, ...],
        name: str = "scores",
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.carrier = carrier
        self.swapped = not carrier.isnative
        self.itemsize = carrier.itemsize
        self.nbytes = shape[0] * shape[1] * carrier.itemsize
        self.files, self.name = files, name
        self._paths = tuple(map(os.path.abspath, files))  # which stay valid after a chdir

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
    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        """Return the scores of pairs of a row and a column, in native byte order.

        Files are not mapped for it.

        Raises
        ------
        ValueError
            If a file ends before one of them; it names the file.
        """

    def state(self) -> list[Any]:
        """Return values for JSON that stay the same as long as the scores do not change."""
        said = [list(self.shape), self.dtype, self.swapped, *self._facts]
        return [*said, *(map(state_of_file, self._paths) if self._paths else [digest_scores(self)])]

    @abstractmethod
    def close(self) -> None:
        """Close what the store itself has opened; closing twice does no harm."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        files = len(self.files)
        where = f"; {self.files[0]}" if files == 1 else f"; {files} files" if files else ""
        sizes = f"{self.shape[0]} x {self.shape[1]}"
        return printable(f"{type(self).__name__}({sizes} {self.dtype}{where})")


def matrix_of(
    place: str, lengths: tuple[int, ...], carrier: np.dtype[Any], options: OpenOptions
) -> tuple[tuple[int, int], str]:
    """Return the rows and columns of what lies in a file, and the name of its dtype.

    They are checked by the same rules as those of arrays in memory.
    """
    asked, form, name, *_ = options
    check_dimensions(lengths, name, form, place)
    rows, columns = (1, *lengths)[-2:]
    return (rows, columns), dtype_name(carrier, asked, name, form, place)


def groups_of(numbers: IntArray) -> Iterator[tuple[int, IntArray]]:
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


def state_of_file(path: str) -> list[int]:
    """Return the number of files at a path or below it, their bytes and their latest time."""
    paths = [os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files]
    states = [os.stat(file) for file in paths or [path]]
    times = [state.st_mtime_ns for state in states]
    return [len(states), sum(state.st_size for state in states), max(times)]


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
    >>> [tuple(tile) for tile in cut_tiles((3, 4), 1, 8)]
    [(0, 0, 2, 4), (2, 0, 1, 4)]
    >>> [tuple(tile) for tile in cut_tiles((1, 4), 1, 2)]
    [(0, 0, 1, 2), (0, 2, 1, 2)]
    """
    outer, inner = shape[::-1] if by_columns else shape
    if outer == 0 or inner == 0:
        return []
    tall, wide = unit[::-1] if by_columns else unit
    tall, wide = min(tall, outer), min(wide, inner)
    if tall * inner * itemsize <= max_bytes:
        tall, wide = _even_step(outer, tall, max_bytes // (inner * itemsize)), inner
    else:
        wide = _even_step(inner, wide, max_bytes // (tall * itemsize))
    tiles = [
        Tile(top, left, min(tall, outer - top), min(wide, inner - left))
        for top in range(0, outer, tall)
        for left in range(0, inner, wide)
    ]
    return [tile.T for tile in tiles] if by_columns else tiles


def _even_step(length: int, unit: int, most: int) -> int:
    """Return a multiple of a unit, at most `most` or one unit, that cuts a length evenly."""
    units = -(-length // unit)
    steps = -(-units // max(1, min(most // unit, units)))
    return -(-units // steps) * unit
