"""Memory of this process: what is resident, by kind, and how far a call makes it grow."""

from __future__ import annotations

import ctypes
from pathlib import Path

__all__ = ["PeakMemory", "available_memory"]

CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # It sets VmHWM back to the memory that is resident now.


def available_memory() -> int | None:
    """Return the bytes that can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


def resident_memory() -> dict[str, int]:
    """Return the bytes that this process has resident, by kind, and their peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = (line.split(":", 1) for line in lines)
    kinds = ("Rss", "VmHWM", "VmRSS")
    return {name: int(value.split()[0]) * 1024 for name, value in fields if name.startswith(kinds)}


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
        # Code that ran for the first time was read from libraries, and is no cost of the call.
        libraries = now["RssFile"] - self._before["RssFile"]
        return max(0, now["VmHWM"] - self._before["VmRSS"] - max(0, libraries))


def _trim_heap() -> None:
    """Ask the C library to return freed memory to the system, where it can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    # Other C libraries have no malloc_trim, and Windows has no CDLL(None).
    except (AttributeError, OSError, TypeError):
        return
