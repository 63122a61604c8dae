"""Matrices of similarities, in memory or in files: both directions out of the same blocks.

Rows ask from left to right, columns from right to left. Every tile of a store is counted as it is
and turned on its side before the next one is read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from ..counting.tiles import DECODED_TILE_BYTES, TILE_BYTES, Progress, blocks_of, counted_by
from ..embeddings.vectors import CSLS
from ..inputs.checks import IO, choice
from .grid import job_of
from .nearest import means_of
from .views import Scaled, Turned, turned_block, turned_tile

if TYPE_CHECKING:
    from ..counting.job import Job
    from ..counting.tiles import TileCount
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from ..stores import Store
    from ..tasks.task import SideTasks

    Show = Callable[[Progress], object]

SCALED_TILE_BYTES = 16 << 20  # several arrays of a tile's size are in memory
_PLACE = re.compile(r"\brow (\d+), column (\d+)\b")


class Rules(NamedTuple):
    """How scores are counted: the arguments of `rank` of these names."""

    order: str
    nan: str
    threads: int | None
    audit: bool


def rank_matrix(
    store: Store,
    sides: Mapping[str, SideTasks],
    rules: Rules,
    *,
    csls: int | CSLS | None,
    candidates: tuple[IntArray, IntArray] | None,
    io: str | None,
    progress: Show | None,
) -> tuple[list[Ranks], CSLS | None]:
    """Count both directions of an alignment.

    Parameters
    ----------
    store : Store, shape (left entities, right entities)
        The scores.
    sides : mapping of str to SideTasks
        "left_to_right" and "right_to_left", whose queries are entities.
    rules : Rules
    csls : int, CSLS, or None
        How many neighbours the scores are scaled by, or their means.
    candidates : (left ids, right ids), or None
        Among which the neighbours are.
    io, progress
        As in `rank`.

    Returns
    -------
    list of Ranks
        Of both sides, unlabelled.
    CSLS or None
        The means that scaled the scores.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank` does.
    """
    way = choice("io", io or store.io, IO)
    left_to_right = job_of(sides["left_to_right"], store.shape, **rules._asdict())
    right_to_left = job_of(sides["right_to_left"], store.shape[::-1], **rules._asdict())
    store.check()
    told = _Told(progress, store.nbytes * (2 if isinstance(csls, int) else 1))
    most = TILE_BYTES if store.in_place else DECODED_TILE_BYTES
    itemsize = store.itemsize
    if csls is not None:
        if isinstance(csls, int):
            csls = means_of(store, csls, candidates, nan=rules.nan, io=way, read=told.read)
        store, most = Scaled(store, csls), SCALED_TILE_BYTES
    tiles = store.tiles(most)
    down, across = (
        _count(view, job, most, way)
        for view, job in ((store, left_to_right), (Turned(store), right_to_left))
    )
    with blocks_of(store, tiles, way, lambda tile: True) as blocks:
        for tile, context in zip(tiles, blocks, strict=True):
            with context as block:
                if down.wants(tile):
                    down.add(tile, nullcontext(block))
                if across.wants(turned_tile(tile)):
                    with _turned_places():
                        across.add(turned_tile(tile), nullcontext(turned_block(block)))
                del block  # so that a map can go
            told.read(tile.height * tile.width * itemsize)
    both = ((left_to_right, down), (right_to_left, across))
    return [job.ranks(count.settled(), store.dtype, store.files) for job, count in both], csls


def _count(store: Store, job: Job, most: int, io: str) -> TileCount:
    """What counts the tiles of a store."""
    with _turned_places() if isinstance(store, Turned) else nullcontext():
        return counted_by(store, store.tiles(most), io, job)


@contextmanager
def _turned_places() -> Iterator[None]:
    """Name the places of the matrix as it was given, in errors of the turned one."""
    try:
        yield
    except ValueError as error:
        raise ValueError(_PLACE.sub(r"row \2, column \1", str(error))) from error


class _Told:
    """Tells how far a count has come, over all readings."""

    def __init__(self, progress: Show | None, total: int) -> None:
        self._progress = progress
        self._done, self._total, self._start = 0, total, time.monotonic()
        self.read(0)

    def read(self, size: int) -> None:
        """Tell that so many bytes more have been read."""
        self._done += size
        if self._progress is not None:
            self._progress(Progress(self._done, self._total, time.monotonic() - self._start))
