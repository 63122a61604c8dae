"""Checkpoints: files that keep the state of a long count, so that it can go on after a stop."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..inputs.errors import warn_user
from ..inputs.selection import selection_arrays
from ..ranks.storage import open_archive, write_archive
from ..tables.writing import writable_place
from .partial_counts import integer_member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import Selection
    from ..inputs.arrays import IntArray
    from ..ranks.storage import Members
    from ..stores import Store, Tile
    from .job import Job

KIND = "truerank.checkpoint"
# Writing checkpoints may take at most this share of the time.
MAX_TIME_SHARE = 0.02


class ResumableCount(Protocol):
    """A count whose state can be saved and restored."""

    method: str  # a checkpoint is only for counts by the same method

    def arrays(self) -> dict[str, IntArray]:
        """Return all that has been counted so far."""

    def restored(self, members: Members, done: Sequence[Tile]) -> dict[str, IntArray]:
        """Return what a file has of these tiles, checked, by the names of `arrays`."""


class Checkpoint:
    """The file that keeps the state of a count.

    Parameters
    ----------
    path : path-like
    count : Counting
        Its arrays are saved, and restored in place.
    store, job
        What is counted. The file holds digests of it, and is refused for anything else.
    tiles : sequence of Tile
        All tiles, in the order in which they are counted.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        count: ResumableCount,
        store: Store,
        job: Job,
        tiles: Sequence[Tile],
    ) -> None:
        place, _ = writable_place(path, "checkpoint")  # before hours of counting
        self._path = os.fsdecode(path)
        self._count = count
        self._tiles = tiles
        self._facts = _facts(store, job, len(tiles), count.method)
        self._saved_at = time.monotonic()
        self._seconds_to_save = 0.0
        folder = os.path.dirname(place)
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"checkpoint: no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"checkpoint: {self._path} cannot be written")

    def is_due(self, seconds: float) -> bool:
        """Whether it is time to save: enough seconds have passed, also for the cost of saving."""
        return time.monotonic() - self._saved_at >= max(
            seconds, self._seconds_to_save / MAX_TIME_SHARE
        )

    def save(self, done: int) -> None:
        """Write the file, with the number of tiles that are done; warn if that fails."""
        start = time.monotonic()
        members = {f"count.{name}": array for name, array in self._count.arrays().items()}
        members["done"] = np.array(done, np.int64)
        try:
            write_archive(self._path, KIND, self._facts, members)
        except OSError as error:
            problem = f"checkpoint: {self._path} was not written: {error.strerror or error}"
            warn_user(problem)
        self._saved_at = time.monotonic()
        self._seconds_to_save = self._saved_at - start

    def restore(self) -> int:
        """Restore the count if the file exists, and return the number of tiles that are done.

        Raises
        ------
        ValueError
            If the file is damaged, or belongs to another call or other scores.
        """
        if not os.path.exists(self._path):
            return 0
        with open_archive("checkpoint", self._path, KIND) as (facts, members):
            differing = [name for name, fact in self._facts.items() if facts.get(name) != fact]
            if differing:
                raise ValueError(f"this is of another count, with other {', '.join(differing)}")
            done = int(integer_member(members, "done", (), len(self._tiles)))
            saved = self._count.restored(members, self._tiles[:done])
        for name, array in self._count.arrays().items():
            array[:] = saved[name]
        return done


def _facts(store: Store, job: Job, tiles: int, method: str) -> dict[str, Any]:
    """Return, by argument, what must be the same if a count is to go on from a checkpoint."""
    import json

    return {
        "scores": _digest(json.dumps(store.state()).encode()),
        "targets": _digest(job.targets),
        "rows": _digest(job.rows),
        "filter": _digest(*_arrays_to_digest(job.filter)),
        "candidates": _digest(*_arrays_to_digest(job.candidates)),
        "order": "ascending" if job.rules.ascending else "descending",
        "nan": job.rules.nan,
        "audit": job.rules.audit,
        "io": method,
        "tiles": tiles,
    }


def _arrays_to_digest(selection: Selection | None) -> tuple[Any, ...]:
    if selection is None:
        return ()
    *arrays, shared = selection_arrays(selection)
    return *arrays, np.array(shared)


def _digest(*values: Any) -> str:
    """Return the SHA-256 of arrays with their dtypes and shapes; None differs from any array."""
    import hashlib

    sha = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            sha.update(f"{value.dtype.str}{value.shape}".encode())
            sha.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        else:
            sha.update(b"none" if value is None else value)
    return sha.hexdigest()
