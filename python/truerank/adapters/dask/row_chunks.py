"""Chunks of rows: their tasks, and the inputs that each chunk needs to count them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._core import Selection
from ...inputs.selection import indptr_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from ...counting.job import Job
    from ...inputs.arrays import IntArray


class ChunkGrid(NamedTuple):
    """Where chunks begin: rows ``row_starts[k]`` to ``row_starts[k + 1] - 1`` are in chunk k."""

    row_starts: IntArray
    column_starts: IntArray

    @property
    def numblocks(self) -> tuple[int, int]:
        """The number of chunks in both directions."""
        return len(self.row_starts) - 1, len(self.column_starts) - 1

    def shape(self, row: int, column: int) -> tuple[int, int]:
        """Return the shape of a chunk."""
        row_starts, column_starts = self.row_starts, self.column_starts
        return int(row_starts[row + 1] - row_starts[row]), int(
            column_starts[column + 1] - column_starts[column]
        )

    def chunks_of(self, columns: npt.NDArray[Any]) -> IntArray:
        """Return the chunk of each column."""
        # a chunk without columns begins where the next one does, and is skipped
        return np.searchsorted(self.column_starts, columns, side="right") - 1


class ChunkEntries(NamedTuple):
    """The entries of a selection in one chunk: the list and the column of each."""

    owners: npt.NDArray[np.int32]
    columns: npt.NDArray[Any]  # int32 or int64, numbered in the whole matrix


class SelectionLists(NamedTuple):
    """The number of lists that a selection has for a chunk of rows, and the list of each task."""

    size: int
    of_tasks: IntArray | None  # None: task i uses list i
    shared: bool

    def selection(self, entries: ChunkEntries | None) -> Selection | None:
        """Build the selection of one chunk; None if it has no entries.

        Examples
        --------
        >>> entries = ChunkEntries(np.array([0, 0, 2], np.int32), np.array([5, 7, 6]))
        >>> SelectionLists(3, None, False).selection(entries).indptr
        array([0, 2, 2, 3])
        """
        if entries is None:
            return None
        indptr = indptr_of(np.bincount(entries.owners, minlength=self.size))
        return Selection(indptr, entries.columns, self.of_tasks, self.shared)


class TrueScorePlaces(NamedTuple):
    """The places of true scores in a chunk: their tasks in the chunk of rows, rows and columns."""

    shape: tuple[int, int]  # of the chunk
    tasks: IntArray
    rows: IntArray
    columns: IntArray


class ChunkInputs(NamedTuple):
    """The inputs of one chunk: its first column, and its entries of both selections."""

    shape: tuple[int, int]
    first_column: int
    filter: ChunkEntries | None
    candidates: ChunkEntries | None


class RowChunk(NamedTuple):
    """The tasks that read one chunk of rows, in the order of their rows."""

    number: int
    tasks: IntArray  # among all tasks
    rows: IntArray  # counted from the first row of the chunk
    targets: IntArray
    filter: SelectionLists | None
    candidates: SelectionLists | None
    true_score_places: dict[int, TrueScorePlaces]  # by chunk of columns
    chunk_inputs: dict[int, ChunkInputs]


def grid_of(rows: tuple[int, ...], columns: tuple[int, ...]) -> ChunkGrid:
    """Make the grid of chunks from their sizes.

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
    """Yield the chunks of rows that have tasks, with the chunks that hold candidates of theirs.

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
    """Split the lists of some tasks by chunk, so that every entry belongs to one chunk."""
    if selection is None:
        return None, {}
    used, of_tasks = tasks, None
    if selection.shared:
        used = np.zeros(1, np.int64)
    elif selection.lists is not None:
        used, of_tasks = np.unique(selection.lists[tasks], return_inverse=True)
    starts = selection.indptr[used]
    sizes = selection.indptr[used + 1] - starts
    ahead = np.cumsum(sizes) - sizes  # number of entries in the lists before
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
    """Yield each chunk that occurs, with its positions in ascending order."""
    order = np.argsort(chunks, kind="stable")
    for where in np.split(order, np.flatnonzero(np.diff(chunks[order])) + 1):
        if len(where):
            yield int(chunks[where[0]]), where
