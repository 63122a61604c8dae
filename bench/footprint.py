"""Memory of this process: what is resident, by kind, and how far a call makes it grow."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

__all__ = ["HighWater", "Watch", "resident"]

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # what sets VmHWM back to the resident memory of this moment


def resident() -> dict[str, int]:
    """Bytes that the kernel counts as resident, by kind, and their peak (VmHWM)."""
    fields = (line.split(":", 1) for line in STATUS.read_text(encoding="ascii").splitlines())
    kinds = ("Rss", "VmHWM", "VmRSS")
    return {name: int(value.split()[0]) * 1024 for name, value in fields if name.startswith(kinds)}


class Watch(threading.Thread):
    """Sample the resident memory about every millisecond and keep the peaks.

    It tells anonymous memory from pages of files, but sees nothing while a call holds the GIL.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.anonymous = self.file = 0
        self.done = threading.Event()

    def sample(self) -> None:
        now = resident()
        self.anonymous = max(self.anonymous, now["RssAnon"])
        self.file = max(self.file, now["RssFile"])

    def run(self) -> None:
        while not self.done.wait(0.001):
            self.sample()


class HighWater:
    """The kernel's own peak of resident memory, from here on: exact, however short the call.

    Pages of files count in it, so it is of use for calls on arrays in memory only. Freed memory
    that the allocator keeps is given back first, for it would hide what a call takes anew.
    """

    def __init__(self) -> None:
        _give_back()
        try:
            CLEAR.write_text(RESET_PEAK, encoding="ascii")
            self._before: dict[str, int] | None = resident()
        except (OSError, KeyError):
            self._before = None

    def grown(self) -> int | None:
        """Bytes by which anonymous memory grew at most; None where the system does not say."""
        if self._before is None:
            return None
        now = resident()
        libraries = now["RssFile"] - self._before["RssFile"]  # code that ran for the first time
        return max(0, now["VmHWM"] - self._before["VmRSS"] - max(0, libraries))


def _give_back() -> None:
    """Ask the C library to return freed memory to the system, where it can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # other C libraries; Windows has no CDLL(None)
        return
