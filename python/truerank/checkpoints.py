"""Checkpoints: files that keep what a long count has done, so that a stopped one can go on."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .archives import Kind, from_json_array, json_array, read_archive, write_archive

if TYPE_CHECKING:
    from .archives import Members
    from .arrays import IntArray
    from .counting import Job
    from .selection import Selection
    from .stores import Store

KIND = Kind("truerank.checkpoint", 1)
# A checkpoint may take this share of the time at most.
SHARE = 0.02


class Counting(Protocol):
    """A count that can be kept and restored."""

    def arrays(self) -> dict[str, IntArray]:
        """All that has been counted so far."""


class Checkpoint:
    """The file that keeps a count.

    Parameters
    ----------
    path : path-like
    count : Counting
        Its arrays are saved, and restored in place.
    store, job
        What is counted: the file tells it by digests, and belongs to nothing else.
    tiles : int
        How many tiles there are in all; they are counted in their order.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        count: Counting,
        store: Store,
        job: Job,
        tiles: int,
    ) -> None:
        self._path = os.fsdecode(path)
        self._count = count
        self._tiles = tiles
        self._facts = _facts(store, job, tiles, type(count).__name__)
        self._saved = time.monotonic()
        self._cost = 0.0
        folder = os.path.dirname(os.path.abspath(self._path))
        if not os.path.isdir(folder):  # not after hours
            raise FileNotFoundError(f"checkpoint: no folder {folder}")

    def is_due(self, seconds: float) -> bool:
        """Whether it is time to save: after some seconds, and not at too large a share of them."""
        return time.monotonic() - self._saved >= max(seconds, self._cost / SHARE)

    def save(self, done: int) -> None:
        """Write the file anew: so many tiles are done."""
        start = time.monotonic()
        members: Members = {f"count.{name}": array for name, array in self._count.arrays().items()}
        members["done"] = np.array(done, np.int64)
        members["facts"] = json_array(self._facts)
        write_archive(self._path, KIND, members)
        self._saved = time.monotonic()
        self._cost = self._saved - start

    def restore(self) -> int:
        """Restore the count, where there is a file, and give the number of tiles that are done.

        Raises
        ------
        ValueError
            If the file is damaged, or of another call or other scores.
        """
        if not os.path.exists(self._path):
            return 0
        with open(self._path, "rb") as file:
            try:
                members = read_archive(file, KIND)
                facts, done = from_json_array(members["facts"]), int(members["done"])
                arrays = self._count.arrays()
                kept = {name: members[f"count.{name}"] for name in arrays if facts == self._facts}
                fits = all(kept[name].shape == arrays[name].shape for name in kept)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"checkpoint: {self._path}: {error}") from error
        unlike = [name for name, fact in self._facts.items() if facts.get(name) != fact]
        if unlike:
            raise ValueError(
                f"checkpoint: {self._path} is of another count, with other {', '.join(unlike)}"
            )
        if not fits or not 0 <= done <= self._tiles:
            raise ValueError(f"checkpoint: {self._path} is damaged")
        for name, array in kept.items():
            arrays[name][:] = array
        return done


def _facts(store: Store, job: Job, tiles: int, way: str) -> dict[str, Any]:
    """What has to be the same where a count goes on, by the names of the arguments."""
    import json

    return {
        "scores": _digest(json.dumps(store.state()).encode()),
        "targets": _digest(job.targets),
        "rows": _digest(job.rows),
        "filter": _digest(*_arrays(job.filter)),
        "candidates": _digest(*_arrays(job.candidates)),
        "order": "ascending" if job.rules.ascending else "descending",
        "nan": job.rules.nan,
        "audit": job.rules.audit,
        "cut into tiles": [tiles, way],
    }


def _arrays(selection: Selection | None) -> tuple[Any, ...]:
    return () if selection is None else (*selection[:3], np.array(selection.shared))


def _digest(*parts: Any) -> str:
    """The SHA-256 of arrays with their dtypes and lengths; None is unlike any array."""
    import hashlib

    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha.update(f"{part.dtype.str}{part.shape}".encode())
            sha.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            sha.update(b"none" if part is None else part)
    return sha.hexdigest()
