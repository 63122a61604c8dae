"""Names of shards: the files that a pattern matches, in numeric order, none of them missing."""

from __future__ import annotations

import os
from itertools import pairwise

_WILDCARDS = "*?["


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
    import errno
    import glob

    names = sorted(glob.glob(pattern, recursive=True), key=natural_key)
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", pattern)
    missing = _missing_shard(names)
    if missing:
        before, after = missing
        raise FileNotFoundError(
            errno.ENOENT,
            f"a shard is missing between {before} and {after} (if none is, give a list of names)",
            pattern,
        )
    return names


def natural_key(name: str) -> tuple[list[str | int], str]:
    """Return a sort key in which runs of digits count as numbers."""
    return _split_numbers(name), name


def _split_numbers(name: str) -> list[str | int]:
    import re

    parts = re.split("([0-9]+)", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def _missing_shard(names: list[str]) -> tuple[str, str] | None:
    """Return two neighbours between which a number is missing, if the shards are numbered by ones.

    Numbers of which no two follow each other by one mean something else, such as first rows.
    """
    keys = [_split_numbers(name) for name in names]
    if len({len(key) for key in keys}) > 1:
        return None
    varying = [i for i in range(len(keys[0])) if len({key[i] for key in keys}) > 1]
    if len(varying) != 1 or varying[0] % 2 == 0:
        return None
    numbers = [key[varying[0]] for key in keys]
    steps = [int(b) - int(a) for a, b in pairwise(numbers)]
    if 1 not in steps:
        return None
    gaps = [i for i, step in enumerate(steps) if step > 1]
    return (names[gaps[0]], names[gaps[0] + 1]) if gaps else None
