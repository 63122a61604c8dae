"""Checkpoints: files that keep the counts of the tiles so far, from which a stopped count goes on.

A checkpoint is an archive (see `ranks.storage`) of these counts, with digests of all that must be
the same if the count is to go on.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.writing import writable_place
from ..errors import warn_user
from ..inputs.checks import integer
from ..ranks.storage import open_archive, write_archive
from .partial_counts import saved_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tiles import TileCount

KIND = "truerank.checkpoint"
SECONDS_BETWEEN_CHECKPOINTS = 2.0
# What tells the files of scores from others, in the order of `stores.store.state_of_file`.
FILE_FACTS = ("size", "time of modification", "time of change", "inode")
MAX_TIME_SHARE = 0.02  # Writing checkpoints may take this share of the time.


def other_count(differing: Sequence[str]) -> str:
    """Return why a checkpoint belongs to another count, from the names of differing facts.

    Examples
    --------
    >>> other_count(["targets", "order"])
    'this is of another count, with other targets, order'
    >>> other_count(["scores", "inode"])[:84]
    'this is of another count, with other scores: the file has another inode, so it was w'
    """
    of_files = [name for name in FILE_FACTS if name in differing]
    others = [name for name in differing if name not in of_files]
    problem = f"this is of another count, with other {', '.join(others)}"
    if not of_files:
        return problem
    done = "it was written, replaced, copied, moved or touched"
    advice = "remove the checkpoint to count from the start"
    return f"{problem}: the file has another {', '.join(of_files)}, so {done}; {advice}"


class Checkpoint:
    """The file that keeps a count, which goes on from it if it exists.

    Raises
    ------
    ValueError
        If the file is damaged, or belongs to another call or other scores.
    """

    def __init__(self, path: str | os.PathLike[str], count: TileCount) -> None:
        # An error comes before hours of counting.
        place, _ = writable_place(path, "checkpoint")
        if not os.access(os.path.dirname(place), os.W_OK):
            raise OSError(f"checkpoint: no folder that can be written: {os.path.dirname(place)}")
        self._path = os.fsdecode(path)
        self._count = count
        io = "by whole rows" if count.true_scores is None else "by parts of rows"
        self._facts: dict[str, Any] = count.source.facts() | count.job.facts()
        self._facts |= {"io": io, "tiles": len(count.tiles)}
        if os.path.exists(self._path):
            self._restore()
        self._saved_at = time.monotonic()
        self._seconds_to_save = 0.0

    def is_due(self) -> bool:
        """Whether it is time to save: enough seconds have passed, also for the cost of saving."""
        least = max(SECONDS_BETWEEN_CHECKPOINTS, self._seconds_to_save / MAX_TIME_SHARE)
        return time.monotonic() - self._saved_at >= least

    def save(self) -> None:
        """Write the file; warn if that fails."""
        start = time.monotonic()
        members = {f"count.{name}": array for name, array in self._count.counts.arrays.items()}
        members["done"] = np.array(self._count.done, np.int64)
        try:
            write_archive(self._path, KIND, self._facts, members)
        except OSError as error:
            warn_user(f"checkpoint: {self._path} was not written: {error.strerror or error}")
        self._saved_at = time.monotonic()
        self._seconds_to_save = self._saved_at - start

    def _restore(self) -> None:
        """Take over what the file says, which has to be possible."""
        count = self._count
        with open_archive("checkpoint", self._path, KIND, ("count", "done")) as (facts, members):
            differing = [name for name, fact in self._facts.items() if facts.get(name) != fact]
            if differing:
                raise ValueError(other_count(differing))
            count.done = integer("done", members["done"], least=0, most=len(count.tiles))
            most = np.zeros(len(count.job.targets), np.int64)
            for tile in count.tiles[: count.done]:
                most[count.tasks_of(tile)] += tile.width
            if count.true_scores is None:  # The true candidates are among those counted.
                least_tied = np.minimum(most, 1)
            else:
                # They are added at the end.
                least_tied = np.zeros_like(most)
                most = np.minimum(most, count.source.shape[1] - 1)
            count.counts.arrays = saved_counts(members, count.counts.arrays, most, least_tied)
