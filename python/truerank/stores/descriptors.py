"""Open files: few at a time, however many shards there are; a file that was replaced is refused.

A store that the user opened keeps maps of its files, since mapping costs up to as much as counting.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.input_files import open_regular

if TYPE_CHECKING:
    import mmap

    import numpy.typing as npt

    from ..inputs.arrays import IntArray

# Far below the usual limit of 1024 open files, also where each of them has a map, which holds a
# descriptor of its own.
_MAX_IDLE = 64
# So many places in a file stand for all: a file of which a tenth is missing passes for a cached one
# once in a thousand times.
_SAMPLE = 64
# Bytes of files that a store keeps mapped. The limit is for the page tables, with 8 bytes for each
# page of 4 kB: 32 MB. The pages themselves are the page cache's, and the system takes them away
# when it needs memory.
_MAX_KEPT_BYTES = 16 << 30
# With the first, reading a cold file leaves huge pages in the page cache, and the next map of the
# file is as fast as memory. Without it pages are small and each one faults: three times as slow.
# With the second, pages that are mapped are no harder to take away than others.
_ADVICE = ("MADV_HUGEPAGE", "MADV_SEQUENTIAL")


class Descriptors:
    """Descriptors of files opened for reading; the least recently used are closed.

    Parameters
    ----------
    max_idle : int
        How many may stay open while nobody uses them.
    keeps_maps : bool
        Whether files stay mapped, as many as may stay open.
    """

    def __init__(self, max_idle: int = _MAX_IDLE, *, keeps_maps: bool = False) -> None:
        self._max_idle = max_idle
        self._maps: dict[str, tuple[npt.NDArray[Any], int]] = {}  # what `kept_map` returns
        self._bytes_to_keep = _max_kept_bytes() if keeps_maps else 0
        self._open: dict[
            str, list[int]
        ] = {}  # descriptor and number of users; the last used comes last
        self._identities: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._folder = os.getcwd()  # so that relative names stay valid after a chdir
        self._closed = False

    @contextmanager
    def lease(self, name: str) -> Iterator[int]:
        """Yield the descriptor of a file, which stays open until the block ends.

        Raises
        ------
        OSError
            As the system raises it, with the name that was given.
        ValueError
            If it is not a regular file, is another file than before, or all have been closed.
        """
        with self._lock:
            if self._closed:
                raise InputValueError("scores", "the store is closed", place=name)
            entry = self._open.pop(name, None) or [self._open_file(name), 0]
            self._open[name] = entry
            entry[1] += 1
        try:
            yield entry[0]
        finally:
            with self._lock:
                entry[1] -= 1
                self._close_idle()

    def kept_map(
        self, name: str, descriptor: int, offset: int, size: int
    ) -> tuple[npt.NDArray[Any], int] | None:
        """Return the bytes of a map that is kept, and the byte of the file that it begins with.

        A file has one map, for which the first call of this method decides. The map may end before
        the bytes do, where the limit is reached.

        Parameters
        ----------
        name : str
            The file.
        descriptor : int
            The descriptor, which the caller has leased.
        offset, size : int
            The bytes of the file that may be asked for.

        Returns
        -------
        tuple of array and int, or None
            None where no more maps are kept. While the array lives, the file stays mapped.
        """
        with self._lock:
            if name in self._maps or self._closed:
                return self._maps.get(name)
            size = min(size, self._bytes_to_keep)
            if not size or len(self._maps) >= self._max_idle:
                return None
            try:
                memory, skip = map_file(descriptor, offset, size)
            except (OSError, OverflowError):  # no room for it in the address space
                self._bytes_to_keep = 0
                return None
            self._bytes_to_keep -= size
            # numpy.ndarray would not keep the map open while it points there, frombuffer does
            shown = np.frombuffer(memory, np.uint8)
            return self._maps.setdefault(name, (shown, offset - skip))

    def close(self) -> None:
        """Close the descriptors that nobody uses, and the others as soon as nobody uses them.

        The same goes for maps.
        """
        with self._lock:
            self._closed, self._max_idle = True, 0
            self._close_idle()
            self._maps.clear()

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()

    def _close_idle(self) -> None:
        idle = [name for name, (_, users) in self._open.items() if not users]
        for name in idle[: max(0, len(self._open) - self._max_idle)]:
            os.close(self._open.pop(name)[0])

    def _open_file(self, name: str) -> int:
        descriptor = open_regular("scores", name, self._folder)
        found = os.fstat(descriptor)
        identity = (found.st_dev, found.st_ino)
        if self._identities.setdefault(name, identity) != identity:
            os.close(descriptor)
            raise InputValueError("scores", "another file has taken its place", place=name)
        return descriptor


def _max_kept_bytes() -> int:
    """Return how many bytes of files a store keeps mapped: none where address space is limited."""
    try:
        import resource
    except ImportError:  # Windows, where nobody else could shorten a file that is mapped
        return 0
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return _MAX_KEPT_BYTES if limit == resource.RLIM_INFINITY else 0


def map_file(descriptor: int, offset: int, size: int) -> tuple[mmap.mmap, int]:
    """Map some bytes of a file for reading; return the map and where in it they begin."""
    import mmap

    skip = offset % mmap.ALLOCATIONGRANULARITY
    memory = mmap.mmap(descriptor, skip + size, access=mmap.ACCESS_READ, offset=offset - skip)
    for advice in _ADVICE:
        if hasattr(mmap, advice):
            with suppress(OSError):  # not every kernel takes it for files
                memory.madvise(getattr(mmap, advice))
    return memory, skip


_seek_lock = threading.Lock()


def read_at(descriptor: int, size: int, offset: int, name: str) -> bytes:
    """Read bytes at an offset, without moving the file position if the system can do that.

    Raises
    ------
    ValueError
        If the file ends before that many bytes; it names the file.
    """
    parts = []
    while size:
        part = _pread(descriptor, size, offset)
        if not part:
            problem = f"expected {size:,} more bytes at {offset:,}, the file ends"
            raise InputValueError("scores", problem, place=name)
        parts.append(part)
        size -= len(part)
        offset += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _seek_and_read(descriptor: int, size: int, offset: int) -> bytes:
    with _seek_lock:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)


_pread = getattr(os, "pread", _seek_and_read)  # Windows has no pread


def is_cached(descriptor: int, offsets: IntArray) -> bool:
    """Whether the bytes at a sample of some offsets can be read without waiting for the disk."""
    if not hasattr(os, "RWF_NOWAIT"):
        return False
    byte, sample = [bytearray(1)], offsets[:: len(offsets) // _SAMPLE + 1].tolist()
    try:
        return all(os.preadv(descriptor, byte, at, os.RWF_NOWAIT) == 1 for at in sample)
    except OSError:  # the system would have to wait, or cannot say
        return False


def prefetch(descriptor: int, ranges: list[tuple[int, int]]) -> None:
    """Tell the system that ranges (offset, size) are read next, so that it fetches them at once."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):  # not every file system takes hints
            for offset, size in ranges:
                os.posix_fadvise(descriptor, offset, size, os.POSIX_FADV_WILLNEED)
