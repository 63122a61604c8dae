"""Memory of this process: what is resident, by kind, and how far a call makes it grow."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

__all__ = ["MemoryWatcher", "PeakMemory", "available_memory", "resident_memory"]

CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # sets VmHWM back to the memory that is resident now


def available_memory() -> int | None:
    """Return the bytes that can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


def resident_memory(process: int | str = "self") -> dict[str, int]:
    """Return the bytes that a process has resident, by kind, and their peak (VmHWM)."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    fields = (line.split(":", 1) for line in lines)
    kinds = ("Rss", "VmHWM", "VmRSS")
    return {name: int(value.split()[0]) * 1024 for name, value in fields if name.startswith(kinds)}


class MemoryWatcher(threading.Thread):
    """Sample the resident memory about every millisecond and keep the peaks.

    It tells anonymous memory from pages of files, but sees nothing while a call holds the GIL.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.anonymous = self.file = 0
        self.done = threading.Event()

    def sample(self) -> None:
        """Raise the peaks to what is resident now."""
        now = resident_memory()
        self.anonymous = max(self.anonymous, now["RssAnon"])
        self.file = max(self.file, now["RssFile"])

    def run(self) -> None:
        """Sample until `done` is set."""
        while not self.done.wait(0.001):
            self.sample()


class PeakMemory:
    """The kernel's own peak of resident memory since this object was made.

    It is exact, however short the call. Pages of files count in it, so it is of use only for calls
    on arrays in memory. Freed memory that the allocator keeps is given back first: it would hide
    what a call allocates.
    """

    def __init__(self) -> None:
        _trim_heap()
        try:
            CLEAR.write_text(RESET_PEAK, encoding="ascii")
            self._before: dict[str, int] | None = resident_memory()
        except (OSError, KeyError):
            self._before = None

    def growth(self) -> int | None:
        """Bytes by which anonymous memory grew at its peak; None where the system does not say."""
        if self._before is None:
            return None
        now = resident_memory()
        libraries = now["RssFile"] - self._before["RssFile"]  # code that ran for the first time
        return max(0, now["VmHWM"] - self._before["VmRSS"] - max(0, libraries))


def _trim_heap() -> None:
    """Ask the C library to return freed memory to the system, where it can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # other C libraries; Windows has no CDLL(None)
        return
