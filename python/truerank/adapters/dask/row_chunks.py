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


class ChunkGrid(NamedTuple):
    """Where chunks begin: chunk k of the rows has those from ``tops[k]`` up to ``tops[k + 1]``."""

    row_starts: IntArray
    column_starts: IntArray

    @property
    def numblocks(self) -> tuple[int, int]:
        """How many chunks there are in both directions."""
        return len(self.row_starts) - 1, len(self.column_starts) - 1

    def shape(self, row: int, column: int) -> tuple[int, int]:
        """Give the shape of a chunk."""
        row_starts, column_starts = self.row_starts, self.column_starts
        return int(row_starts[row + 1] - row_starts[row]), int(
            column_starts[column + 1] - column_starts[column]
        )

    def chunks_of(self, columns: npt.NDArray[Any]) -> IntArray:
        """Give the chunk that each column lies in."""
        # chunks without columns begin where the next one does, and are passed over
        return np.searchsorted(self.column_starts, columns, side="right") - 1


class ChunkEntries(NamedTuple):
    """The entries that the lists of a selection have in one chunk: of which list, and which."""

    owners: npt.NDArray[np.int32]
    columns: npt.NDArray[Any]  # int32 or int64, columns of the whole


class SelectionLists(NamedTuple):
    """How many lists a selection has for a stripe, and which of them each task uses."""

    size: int
    of_tasks: IntArray | None  # None: task i uses list i
    shared: bool

    def selection(self, entries: ChunkEntries | None) -> Selection | None:
        """Put the lists of one chunk together; None where they are empty.

        Examples
        --------
        >>> entries = ChunkEntries(np.array([0, 0, 2], np.int32), np.array([5, 7, 6]))
        >>> SelectionLists(3, None, False).selection(entries).indptr
        array([0, 2, 2, 3])
        """
        if entries is None:
            return None
        indptr = np.zeros(self.size + 1, np.int64)
        np.cumsum(np.bincount(entries.owners, minlength=self.size), out=indptr[1:])
        return Selection(indptr, entries.columns, self.of_tasks, self.shared)


class TrueScorePlaces(NamedTuple):
    """True scores that a chunk holds: the tasks in their stripe, and their places in the chunk."""

    shape: tuple[int, int]  # of the chunk
    tasks: IntArray
    rows: IntArray
    columns: IntArray


class ChunkInputs(NamedTuple):
    """What only one chunk needs: its first column, and its entries of both selections."""

    shape: tuple[int, int]
    first_column: int
    filter: ChunkEntries | None
    candidates: ChunkEntries | None


class RowChunk(NamedTuple):
    """The tasks that read one chunk of rows, in the order of their rows."""

    number: int
    tasks: IntArray  # of all
    rows: IntArray  # from the chunk's first one on
    targets: IntArray
    filter: SelectionLists | None
    candidates: SelectionLists | None
    true_score_places: dict[int, TrueScorePlaces]  # by chunk of columns
    chunk_inputs: dict[int, ChunkInputs]


def grid_of(rows: tuple[int, ...], columns: tuple[int, ...]) -> ChunkGrid:
    """Give the grid of chunks of known sizes.

    Examples
    --------
    >>> grid_of((2, 2), (3, 0, 1)).chunks_of(np.array([0, 2, 3]))
    array([0, 0, 2])
    """
    row_starts, column_starts = (
        np.cumsum([0, *sizes], dtype=np.int64) for sizes in (rows, columns)
    )
    return ChunkGrid(row_starts, column_starts)


def row_chunks_of(job: Job, grid: ChunkGrid) -> Iterator[RowChunk]:
    """Give the stripes that have tasks; of each, the chunks that have candidates of them.

    Parameters
    ----------
    job : Job
        All tasks.
    grid : Chunking
    """
    rows = np.arange(len(job.targets)) if job.rows is None else job.rows
    order = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[order], grid.row_starts)
    for number, (first, last) in enumerate(pairwise(cuts)):
        if first == last:
            continue
        tasks = order[first:last]
        local, targets = rows[tasks] - grid.row_starts[number], job.targets[tasks]
        filter_lists, filter_entries = _split_by_chunk(job.filter, tasks, grid)
        candidate_lists, candidate_entries = _split_by_chunk(job.candidates, tasks, grid)
        # without candidates there is nothing to count, and the chunk need not be read
        chunks = (
            np.flatnonzero(np.diff(grid.column_starts)).tolist()
            if candidate_lists is None
            else sorted(candidate_entries)
        )
        chunk_inputs = {
            k: ChunkInputs(
                grid.shape(number, k),
                int(grid.column_starts[k]),
                filter_entries.get(k),
                candidate_entries.get(k),
            )
            for k in chunks
        }
        true_score_places = {
            k: TrueScorePlaces(
                grid.shape(number, k), where, local[where], targets[where] - grid.column_starts[k]
            )
            for k, where in _by_chunk(grid.chunks_of(targets))
        }
        yield RowChunk(
            number,
            tasks,
            local,
            targets,
            filter_lists,
            candidate_lists,
            true_score_places,
            chunk_inputs,
        )


def _split_by_chunk(
    selection: Selection | None, tasks: IntArray, grid: ChunkGrid
) -> tuple[SelectionLists | None, dict[int, ChunkEntries]]:
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
    narrow = np.int32 if grid.column_starts[-1] <= np.iinfo(np.int32).max else np.int64
    columns = selection.indices[places].astype(narrow, copy=False)
    owners = np.repeat(np.arange(len(used), dtype=np.int32), sizes)
    entries = {
        chunk: ChunkEntries(owners[where], columns[where])
        for chunk, where in _by_chunk(grid.chunks_of(columns))
    }
    return SelectionLists(len(used), of_tasks, selection.shared), entries


def _by_chunk(chunks: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Give the chunks that occur, each with the positions where it does, in ascending order."""
    order = np.argsort(chunks, kind="stable")
    for where in np.split(order, np.flatnonzero(np.diff(chunks[order])) + 1):
        if len(where):
            yield int(chunks[where[0]]), where
