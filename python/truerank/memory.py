"""How much memory this process may still take."""

from __future__ import annotations

import os
from pathlib import Path

UNKNOWN = 2 * 10**9  # bytes that are taken for free where no system tells


def free_memory() -> int:
    """Bytes of memory that this process may still take, as far as the system tells.

    Examples
    --------
    >>> free_memory() > 0
    True
    """
    found = [_available(), _left_by_control_group()]
    known = [nbytes for nbytes in found if nbytes is not None]
    return max(0, min(known)) if known else UNKNOWN


def _available() -> int | None:
    """Free memory of the machine; half of all where only that is told."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # not on every system
        return None


# The limit, what is used, and the part of that which is cache and can be given up.
_CONTROL_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def _left_by_control_group() -> int | None:
    for folder, limit, used, cache in _CONTROL_GROUPS:
        try:
            most = int(Path(folder, limit).read_text("ascii"))
            current = int(Path(folder, used).read_text("ascii"))
            stat = dict(map(str.split, Path(folder, "memory.stat").read_text("ascii").splitlines()))
            return most - (current - int(stat[cache]))
        except (OSError, KeyError, ValueError):  # absent, or "max": no limit
            continue
    return None
