"""What can be counted: one interface of scores in memory, in stores and on devices, and of vectors.

A source is a matrix of scores that are read, or made, a tile at a time. It knows the scores of
pairs, as the true ones of tasks, what the core counts of each tile, and where it is. `driver`
counts it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from .. import _core
from ..devices.backends import count_on_device
from ..inputs.checks import choice
from ..inputs.rules import IO
from ..stores import Store, Tile
from ..stores.store import ArrayStore
from .job import sha256_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..devices.score_sources import PartOfTasks
    from ..devices.task_counts import DeviceCounts

    Array = npt.NDArray[Any]
    # The core takes scores, or vectors whose scores it makes.
    CoreScores = _core.Scores | _core.FileScores | _core.Embeddings

# This is large compared with the cost of a tile in Python and of threads that wait for the last
# one; it is small compared with memory, and counted before a user waits for a sign of progress.
TILE_BYTES = 256 << 20


class Source(Protocol):
    """A matrix of scores that can be counted.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : str
        The name of the dtype of the scores.
    itemsize, nbytes : int
        The bytes of one score, and of all.
    is_whole : bool
        Whether the core counts all at once, and finds true scores: it is not cut into tiles.
    in_place : bool
        Whether a tile is cheap to open; else the next one is opened while one is counted.
    device : str
        Where the scores are: the device, or several; empty for the host's memory and files.
    """

    shape: tuple[int, int]
    dtype: str
    itemsize: int
    nbytes: int
    is_whole: bool
    in_place: bool
    device: str

    def score_pairs(self, rows: IntArray, columns: IntArray) -> Array:
        """Return the scores of pairs of a row and a column, in native byte order."""

    def begin_on_device(self, tasks: PartOfTasks, true_scores: Array | None) -> DeviceCounts | None:
        """Begin to count on the device of the scores; None if there is none that can count them."""

    def tiles(self) -> Sequence[Tile]:
        """Cut the matrix into rectangles that cover it once, in the order of counting."""

    def has_whole_rows(self, tile: Tile) -> bool:
        """Whether a tile has whole rows and is read row by row: the core then finds true scores."""

    def opened(self, tile: Tile) -> AbstractContextManager[CoreScores]:
        """Yield what the core counts of a tile, which is valid only within the `with` block."""

    def facts(self) -> dict[str, str]:
        """Return digests that stay the same as long as the scores do not change."""


class StoreSource:
    """A store as a source: on a device, in memory, or read a tile at a time.

    Parameters
    ----------
    store : Store
    io : {"map", "read"}, optional
        As in `rank`. Default: as the store was opened.
    is_whole : bool
        Whether all is counted at once.

    Examples
    --------
    >>> import numpy as np
    >>> source = source_of(_core.Scores(np.array([0.5, 0.25]), "float64", False))
    >>> source.tiles(), source.score_pairs(np.array([0]), np.array([1]))
    ([Tile(top=0, left=0, height=1, width=2)], array([0.25]))
    """

    def __init__(self, store: Store, io: str | None = None, *, is_whole: bool = False) -> None:
        self.store = store
        self.io = store.io if io is None else choice("io", io, IO)
        self.is_whole = is_whole
        self.shape = store.shape
        self.dtype = store.dtype
        self.itemsize = store.itemsize
        self.nbytes = store.nbytes
        self.in_place = store.in_place
        self.device = store.device

    def score_pairs(self, rows: IntArray, columns: IntArray) -> Array:
        """As in `Source`."""
        return self.store.take(rows, columns)

    def begin_on_device(self, tasks: PartOfTasks, true_scores: Array | None) -> DeviceCounts | None:
        """As in `Source`."""
        return count_on_device(self.store, tasks, true_scores)

    def tiles(self) -> Sequence[Tile]:
        """As in `Source`: in the order of storage."""
        if self.is_whole:
            return [Tile(0, 0, *self.shape)]
        return self.store.tiles(TILE_BYTES)

    def has_whole_rows(self, tile: Tile) -> bool:
        """As in `Source`."""
        if tile.width != self.shape[1]:
            return False
        if self.io == "map" or not self.in_place:  # Scores come as arrays then.
            return True
        with self.opened(tile) as scores:
            return not isinstance(scores, _core.FileScores) or scores.reads_whole_rows

    def opened(self, tile: Tile) -> AbstractContextManager[CoreScores]:
        """As in `Source`."""
        return self.store.core_block(tile, self.io)

    def facts(self) -> dict[str, str]:
        """As in `Source`."""
        return facts_of(self.store.state(), self.store.file_states())


def source_of(scores: _core.Scores | Store, io: str | None = None) -> StoreSource:
    """Return scores in memory, or in a store that is read as `io` says, as a source."""
    if isinstance(scores, Store):
        return StoreSource(scores, io)
    return StoreSource(ArrayStore(scores), is_whole=True)


def facts_of(state: list[Any], files: Sequence[Mapping[str, int]]) -> dict[str, str]:
    """Return digests of what tells scores, and each of their files, from others.

    Scores in memory have no files, and no such facts.
    """
    facts = {"scores": sha256_of(json.dumps(state))}
    if files:
        for name in files[0]:
            facts[name] = sha256_of(json.dumps([file[name] for file in files]))
    return facts
