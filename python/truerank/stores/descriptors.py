"""Open files: few at a time, however many shards there are; a file that was replaced is refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..inputs.errors import InputValueError
from ..inputs.input_files import open_regular

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

# Far below the usual limit of 1024 open files.
_MAX_IDLE = 64
# So many places in a file stand for all: a file of which a tenth is missing passes for a cached one
# once in a thousand times.
_SAMPLE = 64


class Descriptors:
    """Descriptors of files opened for reading; the least recently used are closed.

    Parameters
    ----------
    max_idle : int
        How many may stay open while nobody uses them.
    """

    def __init__(self, max_idle: int = _MAX_IDLE) -> None:
        self._max_idle = max_idle
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

    def close(self) -> None:
        """Close the descriptors that nobody uses, and the others as soon as nobody uses them."""
        with self._lock:
            self._closed, self._max_idle = True, 0
            self._close_idle()

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
