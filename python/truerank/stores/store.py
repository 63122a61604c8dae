"""What a store is: a score matrix that need not be in memory, read a rectangle at a time.

An array is one, and so is a file, and several that stand one below the other, or side by side. A
file is mapped tile by tile, or read by the core, and open only meanwhile, however many there are.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from copy import copy
from itertools import accumulate
from typing import IO, Any, NamedTuple

import numpy as np

from .._core import FileScores, Scores
from ..arrays.input_files import NpyHeader, open_input, report_damage
from ..errors import InputTypeError, InputValueError, Option
from ..naming import printable, public

Array = np.ndarray[Any, Any]
BinaryFile = IO[bytes]

_DIGEST_TILE_BYTES = 1 << 24
COMPARED_BYTES = 64 << 20
# A tile of whole rows pays off where it has at least these bytes of each column.
_MIN_COLUMN_BYTES = 1 << 20
# The system is told about so many reads in advance.
_PREFETCHED_READS = 64
# With the first, reading a cold file leaves huge pages in the page cache, and the next map of the
# file is as fast as memory. Without it pages are small and each one faults: three times as slow.
# With the second, pages that are mapped are no harder to take away than others.
_ADVICE = ("MADV_HUGEPAGE", "MADV_SEQUENTIAL")


class Tile(NamedTuple):
    """A rectangle of the whole matrix that is read at once."""

    top: int
    left: int
    height: int
    width: int

    @property
    def T(self) -> Tile:
        """The same rectangle of the transposed matrix."""
        return Tile(self.left, self.top, self.width, self.height)


@public("truerank.stores")
class Store(ABC):
    """A score matrix in one or more files, on a device or in memory.

    `open_scores` makes it. A file is open only while a block of it is read, however many there are.
    So a store holds nothing that has to be closed; it may be the context of a ``with`` statement.

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
    single_row : bool
        Whether the scores have one dimension, so that every task reads the one row.
    in_place : bool
        Whether a block is cheap to make, as a map is; else it is copied, and the next one is made
        while one is counted.
    in_tiles : bool
        Whether it is counted tile by tile; else all at once, unless a checkpoint is kept.
    io : {"map", "read"}
        How `rank` reads blocks by default.
    device : str
        The device of the scores, or the devices; empty in the host's memory and in files.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.stores import open_scores
    >>> with open_scores(np.zeros((3, 5), np.float32)) as store:
    ...     store.shape, store.dtype, store.nbytes
    ((3, 5), 'float32', 60)
    """

    in_place = True
    in_tiles = True
    io = "map"
    # These say where scores lie in the files, for `state`.
    _facts: tuple[Any, ...] = ()
    device = ""

    def __init__(
        self, lengths: tuple[int, ...], dtype: str, carrier: np.dtype[Any], files: tuple[str, ...]
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
        # Absolute paths stay valid when the working directory changes.
        self._paths = tuple(map(os.path.abspath, files))

    def __getitem__(self, rows: Any) -> Store:
        """Return the rows of a slice as a store, as ``task[rows]`` is a part; none is read for it.

        Raises
        ------
        TypeError, ValueError
            For anything but a slice, and for one that goes backwards.

        Examples
        --------
        >>> import numpy as np
        >>> from truerank.stores import open_scores
        >>> open_scores(np.zeros((9, 5)))[1::4].shape
        (2, 5)
        """
        if not isinstance(rows, slice):
            expected = "a slice, as store[0::4]; a part of a task takes the whole store, too"
            raise InputTypeError("rows", expected=expected, got=repr(rows))
        numbers = range(self.shape[0])[rows]
        if numbers.step < 0:
            raise InputValueError("rows", expected="a step above 0", got=numbers.step)
        return self._take_rows(numbers)

    def _take_rows(self, rows: range) -> Store:
        """Return the store of some rows, whose numbers ascend."""
        raise NotImplementedError

    @abstractmethod
    def tiles(self, max_bytes: int) -> Sequence[Tile]:
        """Cut the matrix into rectangles that cover it once, in the order of storage.

        A tile consists of whole rows (of whole columns, if columns lie together), or of a piece of
        one row or column that is longer than `max_bytes`.
        """

    @abstractmethod
    def block(self, tile: Tile, io: str) -> AbstractContextManager[Array]:
        """Yield a tile as an array; if `io` is "read", a file is read into memory.

        The size of the file is checked first. The array is valid only within the `with` block.

        Raises
        ------
        ValueError
            If a file has changed its size; it names the file.
        """

    @contextmanager
    def core_block(self, tile: Tile, io: str) -> Iterator[Scores | FileScores]:
        """Yield a tile as the core takes it, which reads files itself if `io` is "read"."""
        with self.block(tile, io) as block:
            yield Scores(block, self.dtype, self.swapped)

    @abstractmethod
    def take(self, rows: Array, columns: Array) -> Array:
        """Return the scores of pairs of a row and a column, in native byte order.

        Files are read for it, and not mapped: a random page fault reads megabytes ahead.

        Raises
        ------
        ValueError
            If a file ends before one of them; it names the file.
        """

    def mismatched_rows(self, rows: Array, others: Array, io: str | None = None) -> Array:
        """Return for pairs of rows whether they differ in any bit; each row is read once.

        NaNs with the same bits are equal; 0.0 and -0.0 are not. Rows are compared by 128 bits of
        their BLAKE2b hash, so that no row stays in memory.

        Parameters
        ----------
        rows, others : ndarray of int64, shape (n,)
            The rows of each pair.
        io : {"map", "read"}, optional
            As in `rank`.

        Returns
        -------
        ndarray of bool, shape (n,)

        Examples
        --------
        >>> from truerank.stores import open_scores
        >>> store = open_scores(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]]))
        >>> store.mismatched_rows(np.array([0, 1, 2]), np.array([0, 0, 0]))
        array([False,  True, False])
        """
        from hashlib import blake2b

        is_compared = rows != others
        mismatched = np.zeros(len(rows), dtype=np.bool_)
        row_ids = np.unique(np.concatenate([rows[is_compared], others[is_compared]]))
        if not len(row_ids):
            return mismatched
        hashes = [blake2b(digest_size=16) for _ in range(len(row_ids))]
        for tile in self.tiles(COMPARED_BYTES):
            first, last = np.searchsorted(row_ids, [tile.top, tile.top + tile.height])
            if first == last:
                continue
            with self.block(tile, io or self.io) as table:
                bits = table.view(f"u{self.itemsize}")
                for i in range(first, last):
                    hashes[i].update(bits[row_ids[i] - tile.top].tobytes())
                del table, bits  # Without these names the file can be unmapped.
        joined = b"".join(each.digest() for each in hashes)
        digests = np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)
        of_rows = digests[np.searchsorted(row_ids, rows[is_compared])]
        of_others = digests[np.searchsorted(row_ids, others[is_compared])]
        mismatched[is_compared] = (of_rows != of_others).any(axis=1)
        return mismatched

    def state(self) -> list[Any]:
        """Return values for JSON that stay the same as long as the scores do not change."""
        values: list[Any] = [list(self.shape), self.dtype, self.swapped]
        values.extend(self._facts)
        if self._paths:
            values.extend(list(state.values()) for state in self.file_states())
            return values
        # Without a file, only the scores themselves say whether they have changed.
        import hashlib

        sha = hashlib.sha256()
        for tile in self.tiles(_DIGEST_TILE_BYTES):
            with self.block(tile, "map") as block:
                sha.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
        values.append(sha.hexdigest())
        return values

    def file_states(self) -> list[dict[str, int]]:
        """Return what tells each file from another one in its place."""
        return [file_state(path) for path in self._paths]

    @property
    def measure(self) -> str | None:
        """The similarity that makes the scores, as a protocol names it; None of stored ones."""
        return None

    @property
    def host_place(self) -> str | None:
        """What a protocol says where the host counts scores of a device; None without one."""
        return f"{self.device}, host" if self.device else None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def __repr__(self) -> str:
        description = f"{self.shape[0]} x {self.shape[1]} {self.dtype}"
        if self.files:
            description += f"; {self.files[0]}"
        return printable(f"{type(self).__name__}({description})")


class ArrayStore(Store):
    """An array in any layout, which is read in place, whatever `io` says; perhaps out of files."""

    def __init__(self, scores: Scores, files: tuple[str, ...] = ()) -> None:
        array = scores.array
        self.array = np.atleast_2d(array)
        super().__init__(array.shape, scores.dtype, array.dtype, files)

    def _take_rows(self, rows: range) -> Store:
        array = self.array[rows.start : rows.stop : rows.step]
        return ArrayStore(Scores(array, self.dtype, self.swapped))

    def tiles(self, max_bytes: int) -> list[Tile]:
        down, right = map(abs, self.array.strides)
        # Tiles of whole rows are ranked for good, if each has enough of a column to read in a run.
        rows = max_bytes // max(1, self.shape[1] * self.itemsize)
        by_columns = 0 < down < right and rows * down < _MIN_COLUMN_BYTES
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        yield self._part(tile)

    # A generator would cost a small count a tenth.
    def core_block(  # type: ignore[override]
        self, tile: Tile, io: str
    ) -> AbstractContextManager[Scores | FileScores]:
        return nullcontext(Scores(self._part(tile), self.dtype, self.swapped))

    def _part(self, tile: Tile) -> Array:
        top, left, height, width = tile
        return self.array[top : top + height, left : left + width]

    def take(self, rows: Array, columns: Array) -> Array:
        scores = self.array[rows, columns]
        return scores.astype(scores.dtype.newbyteorder("="), copy=False)


class FileStore(Store):
    """A matrix in an open file, which messages call by its place; its layout is that of a `.npy`.

    A block maps its own lines alone: page tables stay small however large the file is. Single
    scores are read: a random page fault reads megabytes ahead. Another file that takes the place of
    this one later is refused, and so is one that is too short.
    """

    _step = 1  # of a part, from one of its rows to the next

    def __init__(self, file: BinaryFile, place: str, layout: NpyHeader, dtype: str) -> None:
        self._place = place
        self._by_columns = layout.by_columns
        self._offset = layout.start
        super().__init__(layout.shape, dtype, layout.dtype, (file.name,))
        self._facts = (self._offset, self._by_columns)
        # A line is a row, or a column if columns lie together.
        n_lines, self._line_length = self.shape[::-1] if self._by_columns else self.shape
        self._strides = (self._line_length * self.itemsize + layout.gap, self.itemsize)
        self._end = self._offset + self.nbytes + max(0, n_lines - 1) * layout.gap
        self._status = os.fstat(file.fileno())
        self._check(self._status)

    def _take_rows(self, rows: range) -> Store:
        part = copy(self)
        part.shape = (len(rows), self.shape[1])
        part.nbytes = len(rows) * self.shape[1] * self.itemsize
        part.single_row = False
        strides = list(self._strides)
        of_rows = 1 if self._by_columns else 0
        part._offset += rows.start * strides[of_rows]
        strides[of_rows] *= rows.step
        part._strides = (strides[0], strides[1])
        part._step = self._step * rows.step
        part._facts = (part._offset, self._by_columns, part._step)
        return part

    def tiles(self, max_bytes: int) -> list[Tile]:
        # What lies between the rows of a part is mapped with them, or read.
        line = min(max_bytes, self._line_length * self.itemsize)
        max_bytes = max(line, max_bytes // self._step)
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=self._by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        offset, shape = self._lines(tile)
        # The strides lead to the last score, whose own bytes are added to them.
        size = (shape[0] - 1) * self._strides[0] + (shape[1] - 1) * self._strides[1] + self.itemsize
        with self._opened() as file:
            data: Any
            if io == "read":
                file.seek(offset)
                data = file.read(size)
            else:
                data = map_bytes(file, offset, size)
            problem = f"expected {size:,} bytes from {offset:,} on: "
            with report_damage("scores", self._place, problem):
                block = np.ndarray(shape, self.carrier, data, 0, self._strides)
            del data
            if self._by_columns:
                block = block.T
            yield block

    @contextmanager
    def core_block(self, tile: Tile, io: str) -> Iterator[Scores | FileScores]:
        if io != "read" or self._strides[1] > self.itemsize:  # The core reads whole lines.
            with super().core_block(tile, io) as block:
                yield block
            return
        offset, shape = self._lines(tile)
        with self._opened() as file:
            layout = file.fileno(), offset, shape, self._strides
            scores = FileScores(*layout, self._place, self.dtype, self.swapped)
            yield scores.T if self._by_columns else scores

    def take(self, rows: Array, columns: Array) -> Array:
        lines = rows
        places_in_lines = columns
        if self._by_columns:
            lines = columns
            places_in_lines = rows
        offsets = self._offset + lines * self._strides[0] + places_in_lines * self._strides[1]
        with self._opened(buffering=0) as file:
            scores = read_single_scores(file, offsets, self.carrier)
            self._check(os.fstat(file.fileno()))
        return scores

    def _lines(self, tile: Tile) -> tuple[int, tuple[int, int]]:
        """Return where a tile begins in the file, and how many lines it has, and how long."""
        if self._by_columns:
            tile = tile.T
        offset = self._offset + tile.top * self._strides[0] + tile.left * self._strides[1]
        return offset, (tile.height, tile.width)

    @contextmanager
    def _opened(self, buffering: int = -1) -> Iterator[BinaryFile]:
        """Open the file, after a check that it is the same and large enough."""
        with open_input("scores", self._paths[0], buffering) as file:
            self._check(os.fstat(file.fileno()))
            yield file

    def _check(self, status: os.stat_result) -> None:
        if not os.path.samestat(status, self._status):
            raise InputValueError("scores", "another file has taken its place", place=self._place)
        if status.st_size < self._end:
            described = f"{self.shape} {self.dtype} from byte {self._offset:,} on"
            problem = f"expected {self._end:,} bytes ({described}), the file has {status.st_size:,}"
            raise InputValueError("scores", problem, place=self._place)


def map_bytes(file: BinaryFile, start: int, size: int) -> Array:
    """Map bytes of a file, as long as the array lasts."""
    import mmap

    mapped: Any = np.memmap(file, np.uint8, "r", start, (size,))
    for advice in _ADVICE:
        with suppress(OSError, AttributeError):  # Not every kernel takes advice for files.
            mapped.base.madvise(getattr(mmap, advice))
    return np.asarray(mapped)


def read_single_scores(file: BinaryFile, offsets: Array, carrier: np.dtype[Any]) -> Array:
    """Read the scores at some places of a file, in native byte order.

    Of a file that has shrunk meanwhile the last ones are 0: look at its size afterwards.
    """
    order = np.argsort(offsets, kind="stable")
    data = bytearray()
    descriptor, size = file.fileno(), carrier.itemsize
    for first in range(0, len(order), _PREFETCHED_READS):
        group = offsets[order[first : first + _PREFETCHED_READS]].tolist()
        is_prefetched = False
        with suppress(OSError, AttributeError):  # Not every system takes such hints.
            if not _is_cached(descriptor, group[-1]):
                for offset in group:  # The system can fetch them all at once.
                    os.posix_fadvise(descriptor, offset, size, os.POSIX_FADV_WILLNEED)
                is_prefetched = True
        if not hasattr(os, "pread"):
            for offset in group:
                file.seek(offset)
                data += file.read(size)
            continue
        data += b"".join([os.pread(descriptor, size, offset) for offset in group])
        if is_prefetched:  # Single pages in the page cache would keep huge ones from their places.
            for offset in group:
                page = offset - offset % mmap.PAGESIZE
                os.posix_fadvise(descriptor, page, mmap.PAGESIZE, os.POSIX_FADV_DONTNEED)
    out = np.empty(len(offsets), carrier.newbyteorder("="))
    out[order] = np.frombuffer(data.ljust(out.nbytes, b"\0"), carrier)
    return out


def _is_cached(descriptor: int, offset: int) -> bool:
    """Whether a byte of a file is known to be in memory."""
    try:
        return os.preadv(descriptor, [bytearray(1)], offset, os.RWF_NOWAIT) == 1
    except (OSError, AttributeError):  # It is not, or this system does not tell.
        return False


class ShardStore(Store):
    """A matrix whose shards, at least one, follow each other by rows (axis 0) or by columns (1).

    They have one dtype and byte order, and equal lengths along the other axis.
    """

    def __init__(self, shards: Sequence[Store], axis: int) -> None:
        first = shards[0]
        units = ("rows", "columns")
        for shard in shards:
            place = " ".join(shard.files) or repr(shard)
            expected = f"dtype {first.dtype} ({first.carrier.str})"
            got = f"dtype {shard.dtype} ({shard.carrier.str})"
            if got != expected:
                raise InputTypeError("scores", expected=expected, got=got, place=place)
            length = first.shape[1 - axis]
            if shard.shape[1 - axis] == length:
                continue
            ways = []
            if all(each.shape[axis] == first.shape[axis] for each in shards):
                effect = f"joins shards with equally many {units[axis]}"
                ways = [Option("axis", 1 - axis, effect, call="open_scores(shards, {})")]
            expected = f"{length:,} {units[1 - axis]}, as the first shard has"
            got = f"shape {shard.shape}"
            raise InputValueError("scores", expected=expected, got=got, place=place, remedies=ways)
        ends = list(accumulate(shard.shape[axis] for shard in shards))
        lengths = list(first.shape)
        lengths[axis] = ends[-1]
        # Several shards may be in one file.
        files = dict.fromkeys(name for shard in shards for name in shard.files)
        super().__init__(tuple(lengths), first.dtype, first.carrier, tuple(files))
        self.in_place = all(shard.in_place for shard in shards)
        self.single_row = axis == 1 and all(shard.single_row for shard in shards)
        self.device = " + ".join(dict.fromkeys(shard.device for shard in shards if shard.device))
        self.shards = tuple(shards)
        self.starts = [0]
        self.starts.extend(ends[:-1])
        self.axis = axis

    def _take_rows(self, rows: range) -> Store:
        shards = []
        for shard, start in zip(self.shards, self.starts, strict=True):
            inside = rows
            if self.axis == 0:
                end = start + shard.shape[0]
                inside = rows[bisect_left(rows, start) : bisect_left(rows, end)]
                inside = range(inside.start - start, inside.stop - start, inside.step)
            shards.append(shard._take_rows(inside))
        part = ShardStore(shards, self.axis)
        part.io = self.io
        return part

    def tiles(self, max_bytes: int) -> list[Tile]:
        return [
            self._moved(tile, start + self._span(tile).start, len(self._span(tile)))
            for shard, start in zip(self.shards, self.starts, strict=True)
            for tile in shard.tiles(max_bytes)
        ]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        with ExitStack() as stack:
            parts = self._parts(tile)
            blocks = [stack.enter_context(shard.block(part, io)) for shard, part in parts]
            if len(blocks) == 1:
                yield blocks[0]
            else:
                yield np.concatenate(blocks, self.axis)

    def core_block(  # type: ignore[override]
        self, tile: Tile, io: str
    ) -> AbstractContextManager[Scores | FileScores]:
        parts = self._parts(tile)
        if len(parts) != 1:
            return super().core_block(tile, io)
        [(shard, part)] = parts
        return shard.core_block(part, io)

    def take(self, rows: Array, columns: Array) -> Array:
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        # With "right", shards of length 0 are skipped.
        numbers = np.searchsorted(self.starts, (rows, columns)[self.axis], side="right") - 1
        for number, pairs in iter_groups(numbers):
            inside = [rows[pairs], columns[pairs]]
            inside[self.axis] = inside[self.axis] - self.starts[number]
            out[pairs] = self.shards[number].take(*inside)
        return out

    def state(self) -> list[Any]:
        return [self.axis, [shard.state() for shard in self.shards]]

    def file_states(self) -> list[dict[str, int]]:
        return [state for shard in self.shards for state in shard.file_states()]

    def _parts(self, tile: Tile) -> list[tuple[Store, Tile]]:
        """Return the shards that have a part of a tile, and this part as they place it."""
        span = self._span(tile)
        first_shard = bisect_right(self.starts, span.start) - 1
        parts = []
        for i in range(first_shard, bisect_left(self.starts, span.stop)):
            shard = self.shards[i]
            start = self.starts[i]
            first_here = max(span.start, start)
            end_here = min(span.stop, start + shard.shape[self.axis])
            if first_here < end_here:
                part = self._moved(tile, first_here - start, end_here - first_here)
                parts.append((shard, part))
        return parts

    def _span(self, tile: Tile) -> range:
        """Return the rows, or columns, of a tile along the axis of the shards."""
        if self.axis == 1:
            return range(tile.left, tile.left + tile.width)
        return range(tile.top, tile.top + tile.height)

    def _moved(self, tile: Tile, start: int, length: int) -> Tile:
        """Return a tile with another start and length along the axis of the shards."""
        if self.axis == 1:
            return tile._replace(left=start, width=length)
        return tile._replace(top=start, height=length)


def iter_groups(numbers: Array) -> Iterator[tuple[int, Array]]:
    """Yield each of some numbers, in ascending order, and the places where it stands.

    Examples
    --------
    >>> [(number, places.tolist()) for number, places in iter_groups(np.array([7, 2, 7]))]
    [(2, [1]), (7, [0, 2])]
    """
    order = np.argsort(numbers, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        if len(places):
            yield int(numbers[places[0]]), places


def file_state(path: str) -> dict[str, int]:
    """Return what tells a file from another one in its place, by the words of messages.

    Programs that copy can set the size and the time of modification, as ``rsync -t`` and ``cp -p``
    do, but not the time of change and the inode. (On Windows the former is the time of creation.)
    The device is no part of it: a file system may get another number whenever it is mounted.
    """
    status = os.stat(path)
    return {
        "size": status.st_size,
        "time of modification": status.st_mtime_ns,
        "time of change": status.st_ctime_ns,
        "inode": status.st_ino,
    }


def cut_tiles(
    shape: tuple[int, int], itemsize: int, max_bytes: int, *, by_columns: bool = False
) -> list[Tile]:
    """Cut a matrix into tiles of at most `max_bytes`, or one score, in the order of storage.

    >>> [tuple(tile) for tile in cut_tiles((3, 4), 1, 8)]
    [(0, 0, 2, 4), (2, 0, 1, 4)]
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
