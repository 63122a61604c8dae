"""Files on disk, cold and warm, and loops that only read them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColdFile", "pread_loop"]

STEP = 1 << 20  # bytes of one pread, as of `dd bs=1M`


class ColdFile:
    """A matrix in a .npy file that can be dropped from the page cache.

    Only clean pages that no process has mapped can be dropped, so the file is synced first. It is
    written `step` bytes at a time.
    """

    def __init__(self, path: Path, scores: NDArray[Any], step: int = 1 << 30) -> None:
        self.path = path
        with path.open("wb", buffering=0) as file:
            header = np.lib.format.header_data_from_array_1_0(scores)
            np.lib.format.write_array_header_1_0(file, header)
            data = memoryview(scores).cast("B")
            for start in range(0, len(data), step):
                part = data[start : start + step]
                while part:
                    part = part[file.write(part) :]
            os.fsync(file.fileno())
        self.size = path.stat().st_size

    def drop(self) -> None:
        """Drop the file from the page cache."""
        with self.path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def can_drop(self) -> bool:
        """Return whether dropping works here; in a file system in memory it does not."""
        if not hasattr(os, "posix_fadvise") or not hasattr(os, "RWF_NOWAIT"):
            return False
        self.drop()
        with self.path.open("rb") as file:
            for at in (0, self.size // 2, self.size - 1):
                try:
                    os.preadv(file.fileno(), [bytearray(1)], at, os.RWF_NOWAIT)
                except BlockingIOError:
                    continue  # this byte is not in the cache: reading it would wait
                except OSError:
                    return False
                return False
        return True


def pread_loop(path: Path, threads: int) -> Callable[[], None]:
    """Return a function that reads the file; each thread reads one contiguous share."""
    size = path.stat().st_size
    ends = [size * k // threads for k in range(threads + 1)]

    def read(thread: int) -> None:
        buffer = bytearray(STEP)
        with path.open("rb", buffering=0) as file:
            at = ends[thread]
            while at < ends[thread + 1]:
                at += os.preadv(file.fileno(), [buffer], at)

    def run() -> None:
        if threads == 1:
            read(0)
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(read, range(threads)))

    return run
