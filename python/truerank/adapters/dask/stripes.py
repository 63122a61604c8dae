"""Stripes: the tasks of each chunk of rows, and what each of its chunks has to know of them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._core import Selection

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from ...counting.job import Job
    from ...inputs.arrays import IntArray


class Chunking(NamedTuple):
    """Where chunks begin: chunk k of the rows has those from ``tops[k]`` up to ``tops[k + 1]``."""

    tops: IntArray
    lefts: IntArray

    @property
    def numblocks(self) -> tuple[int, int]:
        """How many chunks there are in both directions."""
        return len(self.tops) - 1, len(self.lefts) - 1

    def shape(self, row: int, column: int) -> tuple[int, int]:
        """Give the shape of a chunk."""
        tops, lefts = self.tops, self.lefts
        return int(tops[row + 1] - tops[row]), int(lefts[column + 1] - lefts[column])

    def chunks_of(self, columns: npt.NDArray[Any]) -> IntArray:
        """Give the chunk that each column lies in."""
        # chunks without columns begin where the next one does, and are passed over
        return np.searchsorted(self.lefts, columns, side="right") - 1


class Entries(NamedTuple):
    """The entries that the lists of a selection have in one chunk: of which list, and which."""

    owners: npt.NDArray[np.int32]
    columns: npt.NDArray[Any]  # int32 or int64, columns of the whole


class Lists(NamedTuple):
    """How many lists a selection has for a stripe, and which of them each task uses."""

    size: int
    of_tasks: IntArray | None  # None: task i uses list i
    shared: bool

    def selection(self, entries: Entries | None) -> Selection | None:
        """Put the lists of one chunk together; None where they are empty.

        Examples
        --------
        >>> entries = Entries(np.array([0, 0, 2], np.int32), np.array([5, 7, 6]))
        >>> Lists(3, None, False).selection(entries).indptr
        array([0, 2, 2, 3])
        """
        if entries is None:
            return None
        indptr = np.zeros(self.size + 1, np.int64)
        np.cumsum(np.bincount(entries.owners, minlength=self.size), out=indptr[1:])
        return Selection(indptr, entries.columns, self.of_tasks, self.shared)


class Ask(NamedTuple):
    """True scores that a chunk holds: the tasks in their stripe, and their places in the chunk."""

    shape: tuple[int, int]  # of the chunk
    tasks: IntArray
    rows: IntArray
    columns: IntArray


class ChunkNeeds(NamedTuple):
    """What only one chunk needs: its first column, and its entries of both selections."""

    shape: tuple[int, int]
    left: int
    filter: Entries | None
    candidates: Entries | None


class Stripe(NamedTuple):
    """The tasks that read one chunk of rows, in the order of their rows."""

    number: int
    tasks: IntArray  # of all
    rows: IntArray  # from the chunk's first one on
    targets: IntArray
    filter: Lists | None
    candidates: Lists | None
    asks: dict[int, Ask]  # by chunk of columns
    parts: dict[int, ChunkNeeds]


def grid_of(rows: tuple[int, ...], columns: tuple[int, ...]) -> Chunking:
    """Give the grid of chunks of known sizes.

    Examples
    --------
    >>> grid_of((2, 2), (3, 0, 1)).chunks_of(np.array([0, 2, 3]))
    array([0, 0, 2])
    """
    tops, lefts = (np.cumsum([0, *sizes], dtype=np.int64) for sizes in (rows, columns))
    return Chunking(tops, lefts)


def stripes_of(job: Job, grid: Chunking) -> Iterator[Stripe]:
    """Give the stripes that have tasks; of each, the chunks that have candidates of them.

    Parameters
    ----------
    job : Job
        All tasks.
    grid : Chunking
    """
    rows = np.arange(len(job.targets)) if job.rows is None else job.rows
    order = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[order], grid.tops)
    for number, (first, last) in enumerate(pairwise(cuts)):
        if first == last:
            continue
        tasks = order[first:last]
        local, targets = rows[tasks] - grid.tops[number], job.targets[tasks]
        without, out = _cut(job.filter, tasks, grid)
        among, into = _cut(job.candidates, tasks, grid)
        # without candidates there is nothing to count, and the chunk need not be read
        chunks = np.flatnonzero(np.diff(grid.lefts)).tolist() if among is None else sorted(into)
        parts = {
            k: ChunkNeeds(grid.shape(number, k), int(grid.lefts[k]), out.get(k), into.get(k))
            for k in chunks
        }
        asks = {
            k: Ask(grid.shape(number, k), where, local[where], targets[where] - grid.lefts[k])
            for k, where in _by_chunk(grid.chunks_of(targets))
        }
        yield Stripe(number, tasks, local, targets, without, among, asks, parts)


def _cut(
    selection: Selection | None, tasks: IntArray, grid: Chunking
) -> tuple[Lists | None, dict[int, Entries]]:
    """Cut the lists of some tasks at the edges of chunks: every entry goes to one chunk."""
    if selection is None:
        return None, {}
    used, of_tasks = tasks, None
    if selection.shared:
        used = np.zeros(1, np.int64)
    elif selection.lists is not None:
        used, of_tasks = np.unique(selection.lists[tasks], return_inverse=True)
    starts = selection.indptr[used]
    sizes = selection.indptr[used + 1] - starts
    ahead = np.cumsum(sizes) - sizes  # entries of the lists before
    places = np.repeat(starts - ahead, sizes) + np.arange(sizes.sum())
    narrow = np.int32 if grid.lefts[-1] <= np.iinfo(np.int32).max else np.int64
    columns = selection.indices[places].astype(narrow, copy=False)
    owners = np.repeat(np.arange(len(used), dtype=np.int32), sizes)
    entries = {
        chunk: Entries(owners[where], columns[where])
        for chunk, where in _by_chunk(grid.chunks_of(columns))
    }
    return Lists(len(used), of_tasks, selection.shared), entries


def _by_chunk(chunks: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Give the chunks that occur, each with the positions where it does, in ascending order."""
    order = np.argsort(chunks, kind="stable")
    for where in np.split(order, np.flatnonzero(np.diff(chunks[order])) + 1):
        if len(where):
            yield int(chunks[where[0]]), where
