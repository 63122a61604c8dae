"""How much memory this process may still take."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

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


# By version: where groups are, the limit, what is used, and the part of it that can be given up.
_CONTROL_GROUPS = {
    1: (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
    2: ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
}


def _left_by_control_group(system: Path = Path("/")) -> int | None:
    """What the tightest limit leaves, of the process's own group and of those above it."""
    left = []
    for version, path in _own_groups(system):
        mount, limit, used, cache = _CONTROL_GROUPS[version]
        for group in (path, *path.parents):  # a container sees its own as the root, mostly
            folder = system / mount / group.relative_to("/")
            try:
                most = int((folder / limit).read_text("ascii"))
                current = int((folder / used).read_text("ascii"))
                lines = (folder / "memory.stat").read_text("ascii").splitlines()
                left.append(most - (current - int(dict(map(str.split, lines))[cache])))
            except (OSError, KeyError, ValueError):  # absent, or "max": no limit
                continue
    return min(left, default=None)


def _own_groups(system: Path) -> list[tuple[int, PurePosixPath]]:
    """Versions and paths of the groups that this process is in; the root if nothing says so."""
    found = []
    try:
        for line in (system / "proc/self/cgroup").read_text("utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" or "memory" in controllers.split(","):
                found.append((2 if number == "0" else 1, PurePosixPath("/") / path))
    except (OSError, ValueError):
        pass
    return found or [(2, PurePosixPath("/")), (1, PurePosixPath("/"))]
