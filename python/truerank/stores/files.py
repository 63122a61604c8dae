"""Matrices in files: a `.npy`, a member of an `.npz`, what a `numpy.memmap` shows; and patterns.

A file is mapped tile by tile, or read by the core, and open only meanwhile, however many there are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise, zip_longest
from typing import IO, Any

import numpy as np

from .._core import FileScores, Scores
from ..arrays.input_files import open_input, report_damage
from ..arrays.npy_files import MAX_HEADER_BYTES, NpyHeader, npz_entries, parse_npy_header
from ..errors import InputValueError
from ..inputs.scores import check_dimensions, dtype_name
from .store import Array, Store, Tile, cut_tiles

BLOCKS = "count blocks of columns, RankCounter.update(z[:, a:b], start=a)"
# The system is told about so many reads in advance.
_PREFETCHED_READS = 64
# With the first, reading a cold file leaves huge pages in the page cache, and the next map of the
# file is as fast as memory. Without it pages are small and each one faults: three times as slow.
# With the second, pages that are mapped are no harder to take away than others.
_ADVICE = ("MADV_HUGEPAGE", "MADV_SEQUENTIAL")
_WILDCARDS = "*?["


class FileStore(Store):
    """A matrix in a file.

    A block maps its own lines alone: page tables stay small however large the file is. Single
    scores are read: a random page fault reads megabytes ahead.

    Parameters
    ----------
    file : binary file
        The file, which is open. Another file in its place is refused later.
    place : str
        What messages call the file.
    layout : NpyHeader
        Where the matrix lies in the file, as the header of a `.npy` says it.
    dtype : str
        The name of the dtype of the scores.

    Raises
    ------
    ValueError
        For a file that is too short.
    """

    def __init__(self, file: IO[bytes], place: str, layout: NpyHeader, dtype: str) -> None:
        self._place = place
        self._by_columns = layout.by_columns
        self._offset = layout.start
        super().__init__(layout.shape, dtype, layout.dtype, (file.name,))
        self._facts = (self._offset, self._by_columns)
        self._status = os.fstat(file.fileno())
        self._check(self._status)
        # A line is a row, or a column if columns lie together.
        line = self.shape[0] if self._by_columns else self.shape[1]
        self._strides = (line * self.itemsize, self.itemsize)

    def tiles(self, max_bytes: int) -> list[Tile]:
        return cut_tiles(self.shape, self.itemsize, max_bytes, by_columns=self._by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        offset, shape = self._lines(tile)
        # The strides lead to the last score, whose own bytes are added to them.
        size = (shape[0] - 1) * self._strides[0] + shape[1] * self._strides[1]
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
        if io != "read":
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
    def _opened(self, buffering: int = -1) -> Iterator[IO[bytes]]:
        """Open the file, after a check that it is the same and large enough."""
        with open_input("scores", self._paths[0], buffering) as file:
            self._check(os.fstat(file.fileno()))
            yield file

    def _check(self, status: os.stat_result) -> None:
        if not os.path.samestat(status, self._status):
            raise InputValueError("scores", "another file has taken its place", place=self._place)
        expected = self._offset + self.nbytes
        if status.st_size < expected:
            described = f"{self.shape} {self.dtype} from byte {self._offset:,} on"
            problem = f"expected {expected:,} bytes ({described}), the file has {status.st_size:,}"
            raise InputValueError("scores", problem, place=self._place)


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


def open_file(
    path: str, dtype: Any, dtypes: tuple[str, ...], member: str | None = None
) -> FileStore:
    """Open a `.npy`, or a member of an `.npz` that is stored without compression.

    Raises
    ------
    ValueError
        For a file of another format, and for a broken header; it names the file and the member.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (".npy", ".npz") and os.path.exists(path):
        expected = (
            "a .npy or .npz file; of raw numbers give np.memmap(path, dtype, 'r', offset, shape); "
            f"of zarr and HDF5, {BLOCKS}"
        )
        raise InputValueError("scores", expected=expected, place=path)
    with open_input("scores", path) as file:
        if suffix == ".npz":
            place, start, size = _stored_member(file, path, member)
        else:
            place = path
            start = 0
            size = os.fstat(file.fileno()).st_size
        with report_damage("scores", place):
            file.seek(start)
            header = parse_npy_header(file.read(min(MAX_HEADER_BYTES, size)), size)
        check_dimensions(header.shape, place)
        name = dtype_name(header.dtype, dtype, dtypes, place)
        return FileStore(file, place, header._replace(start=start + header.start), name)


def _stored_member(file: IO[bytes], path: str, member: str | None) -> tuple[str, int, int]:
    """Return the name of a member of an `.npz`, where its bytes begin, and how many it has.

    Raises
    ------
    ValueError
        For a damaged archive, and for a member that does not exist, is compressed or encrypted.
    """
    import zipfile

    with report_damage("scores", path, "the archive is damaged: "):
        archive = zipfile.ZipFile(file)
        entries = npz_entries(archive)
    chosen = "scores"
    if member:
        chosen = member.removesuffix(".npy")
    elif len(entries) == 1:
        chosen = next(iter(entries))
    if chosen not in entries:
        expected = f"the array {chosen!r}"
        if not member:
            expected += ", or open_scores(path, member=...), which says the one that is meant"
        raise InputValueError("scores", expected=expected, got=list(entries), place=path)
    info = entries[chosen]
    place = f"{path}: {info.filename}"
    with report_damage("scores", place, "cannot be read in place: "):
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError("it is compressed; numpy.savez stores arrays as they are")
        archive.open(info)  # This reads and checks its local header.
        return place, file.tell(), info.file_size


def open_map(array: Any, dtype: Any, dtypes: tuple[str, ...]) -> FileStore | None:
    """Open the file of a map; None where the array may show anything but what the file has.

    So a part of a map is an array, and so is a map that is copied on writing, or whose file another
    one has replaced. So is one by columns, whose tiles in memory have whole rows.
    """
    import mmap

    path = array.filename or ""
    is_whole = isinstance(array.base, mmap.mmap) and array.flags.c_contiguous
    if not is_whole or array.mode == "c" or not os.path.isfile(path):
        return None
    check_dimensions(array.shape)
    name = dtype_name(array.dtype, dtype, dtypes)
    layout = NpyHeader(array.shape, False, array.dtype, array.offset)
    with suppress(OSError), open_input("scores", path) as file:
        if _is_mapped_at(file, array.__array_interface__["data"][0]):
            return FileStore(file, file.name, layout, name)
    return None


def _is_mapped_at(file: IO[bytes], address: int) -> bool:
    """Whether an address of memory is that of a map of a file, as far as the system tells it."""
    status = os.fstat(file.fileno())
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, _, _, device, inode, *_ = line.split(maxsplit=5)
            first, end = (int(number, 16) for number in span.split("-"))
            if first <= address < end:
                numbers = [int(number, 16) for number in device.split(":")]
                return (os.makedev(*numbers), int(inode)) == (status.st_dev, status.st_ino)
    return False


def is_glob(name: str) -> bool:
    """Whether a name is a pattern and not the name of an existing file."""
    return any(wildcard in name for wildcard in _WILDCARDS) and not os.path.lexists(name)


def matching_files(pattern: str) -> list[str]:
    """Return the files that match a pattern, part-2 before part-10.

    Raises
    ------
    FileNotFoundError
        If no file matches, or if the numbers in the names show that a shard is missing.
    """
    import glob

    parts = {name: _text_and_numbers(name) for name in glob.glob(pattern, recursive=True)}
    names = sorted(parts, key=lambda name: (parts[name], name))
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", pattern)
    columns = zip_longest(*(parts[name] for name in names))
    varying = [column for column in columns if len(set(column)) > 1]
    if len(varying) == 1 and all(isinstance(number, int) for number in varying[0]):
        # Numbers of which no two follow each other by one mean something else, such as first rows.
        steps = [after - before for before, after in pairwise(varying[0])]
        if 1 in steps and max(steps) > 1:
            i = steps.index(max(steps))
            problem = f"a shard is missing between {names[i]} and {names[i + 1]} (else list them)"
            raise FileNotFoundError(errno.ENOENT, problem, pattern)
    return names


def _text_and_numbers(name: str) -> list[Any]:
    """Split a name at its runs of digits, which are numbers: every second part.

    Examples
    --------
    >>> _text_and_numbers("part-10.npy")
    ['part-', 10, '.npy']
    """
    import re

    parts: list[Any] = re.split("([0-9]+)", name)
    parts[1::2] = map(int, parts[1::2])
    return parts
