"""Scores that need not fit in memory are counted tile by tile, and a stopped count can go on.

A store (see `stores`) gives tiles of the score matrix in the order in which they are stored. If
tiles are whole rows, the counts of each are final. If tiles cut rows, the true scores are read
first, and every tile adds to partial counts, to which the true candidates are added at the end.

Files are mapped by default. On Linux the map of a warm file is nearly as fast as memory if the page
cache holds it in huge pages, which `stores.mapped` asks for. In small pages each fault maps
64 kB at most, and mapping may cost as much as counting: what `open_scores` opened stays mapped for
the next count. Otherwise a tile is mapped alone and then unmapped, so that page tables do not grow
with the file. The map of a cold file is as fast as the fastest reading loop, thanks to the kernel's
read-ahead: populating the map by hand, warm or cold, or asking for the next pages, gained nothing.
Reading into buffers costs a copy, which halves the rate of memory; it is for files that may shrink.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..devices.ways import count_stored
from ..inputs.checks import IO, choice
from ..inputs.errors import InputValueError
from ..inputs.progress_listeners import Progress, as_listener
from ..inputs.selection import selection_of_tasks
from ..stores import Store, Tile
from ..stores.store import core_scores, cut_tiles
from .checkpoints import Checkpoint
from .job import Job
from .partial_counts import PartialCounts, TrueScores, saved_counts

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from .._core import Selection
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from ..ranks.storage import Members

    Block = _core.Scores | _core.FileScores
    TaskIndex = slice | IntArray  # some of the tasks
    ColumnTile = tuple[int, npt.NDArray[Any]]  # its first column, and the matrix

# Large compared with the cost of a tile in Python and of threads that wait for the last one; small
# compared with memory, and counted in less time than a user waits for a sign of progress.
TILE_BYTES = 256 << 20
# For stores whose tiles are decoded, where two of them are in memory.
DECODED_TILE_BYTES = 64 << 20
# For blocks of candidates on a device; a tile has some columns for all tasks.
COLUMN_TILE_BYTES = 32 << 20
SECONDS_BETWEEN_CHECKPOINTS = 2.0


def rank_store(
    store: Store,
    job: Job,
    *,
    io: str | None,
    progress: bool | Callable[[Progress], object] | None,
    checkpoint: str | os.PathLike[str] | None,
) -> Ranks:
    """Count a job on a store, tile by tile; the other arguments are those of `rank`."""
    progress = as_listener(progress)
    io = choice("io", store.io if io is None else io, IO)
    if job.candidates is not None:
        absent = job.candidates.first_task_without(job.targets)
        if absent >= 0:
            fault = _core.Fault("target", absent, -1, -1)
            raise job.error_of(fault)
    if store.on_device and checkpoint is None:
        start = time.monotonic()
        if (ranks := _rank_on_device(store, job)) is not None:
            if progress is not None:
                progress(Progress(0, store.nbytes, 0.0))
                progress(Progress(store.nbytes, store.nbytes, time.monotonic() - start))
            return ranks
    tiles = _tiles_of(store)
    count = tile_count(store, tiles, io, job)
    saved = Checkpoint(checkpoint, count, store, job, tiles) if checkpoint is not None else None
    done = 0 if saved is None else saved.restore()

    sizes = [tile.height * tile.width * store.itemsize for tile in tiles]
    resumed = sum(sizes[:done])
    start, bytes_done = time.monotonic(), resumed

    def report_progress() -> None:
        if progress is not None:
            seconds = time.monotonic() - start
            progress(Progress(bytes_done, store.nbytes, seconds, resumed))

    report_progress()
    try:
        with open_blocks(store, tiles[done:], io, count.is_needed) as blocks:
            for tile, block in zip(tiles[done:], blocks, strict=True):
                count.add(tile, block)
                bytes_done += sizes[done]
                done += 1
                count.is_half_added = False
                report_progress()
                if saved is not None and saved.is_due(SECONDS_BETWEEN_CHECKPOINTS):
                    saved.save(done)
    except BaseException:
        # A tile that is half added would be added again, so the last file is not replaced then.
        if saved is not None and not count.is_half_added:
            saved.save(done)
        raise
    if saved is not None:
        saved.save(done)
    device = f"{store.device}, host" if store.device else None
    return job.ranks(count.final_counts(), store.dtype, store.files, device)


def _rank_on_device(store: Store, job: Job) -> Ranks | None:
    """Count a job where the scores are; None if the host has to count, or to find a NaN."""
    counts = count_stored(store, job.device_tasks(), None, job.rules)
    if counts is None:
        return None
    counted = PartialCounts.of(counts.arrays(), job.rules)
    true = TrueScores(counts.true_scores(), store.dtype)
    if counted.is_void(true).any():
        return None
    device = f"{store.device}, {counts.way}"
    return job.ranks(counted.final_counts(true), store.dtype, device=device)


def count_against(
    store: Store, job: Job, true_scores: TrueScores, watch: Callable[[int], None]
) -> PartialCounts:
    """Count a job on a store, tile by tile, against true scores that need not be in it.

    `watch` is told how many bytes are done, after each tile.
    """
    tiles, count = _tiles_of(store), _GivenScoreCount(store, job, true_scores)
    bytes_done = 0
    with open_blocks(store, tiles, store.io, count.is_needed) as blocks:
        for tile, block in zip(tiles, blocks, strict=True):
            count.add(tile, block)
            bytes_done += tile.height * tile.width * store.itemsize
            watch(bytes_done)
    return count.partial_counts


def _tiles_of(store: Store) -> Sequence[Tile]:
    return store.tiles(TILE_BYTES if store.in_place else DECODED_TILE_BYTES)


def _are_whole_rows(store: Store, tiles: Sequence[Tile], io: str) -> bool:
    """Whether every tile has whole rows and is read row by row."""
    if any(tile.width != store.shape[1] for tile in tiles):
        return False
    if io == "map":
        return True
    return all(_is_read_by_rows(store, tile, io) for tile in tiles)  # shards may be unlike


def _is_read_by_rows(store: Store, tile: Tile, io: str) -> bool:
    if store.decodes(tile):  # which gives an array, at some cost
        return True
    with store.block(tile, io) as block:
        scores = core_scores(block, store)
        return isinstance(scores, _core.Scores) or scores.reads_whole_rows


def tile_count(store: Store, tiles: Sequence[Tile], io: str, job: Job) -> TileCount:
    """Make the count of a store's tiles: final for each if they are whole rows, else partial."""
    if _are_whole_rows(store, tiles, io):
        return _WholeRowCount(store, job)
    return _PartialRowCount(store, job)


@contextmanager
def open_blocks(
    store: Store, tiles: Sequence[Tile], io: str, is_needed: Callable[[Tile], bool]
) -> Iterator[Iterator[Any]]:
    """Yield contexts that open the blocks of tiles; None stands for a block that no task needs.

    Blocks that have to be decoded are decoded one ahead, on a thread of their own.
    """

    def context(tile: Tile) -> Any:
        return store.block(tile, io) if is_needed(tile) else nullcontext()

    if store.in_place or len(tiles) < 2:
        yield (context(tile) for tile in tiles)
        return
    from concurrent.futures import ThreadPoolExecutor

    def decoded(tile: Tile) -> Any:
        stack = ExitStack()
        block = stack.enter_context(context(tile))
        return stack, block

    with ThreadPoolExecutor(1, thread_name_prefix="truerank-decode") as executor:

        def decode_ahead() -> Iterator[Any]:
            next_block = executor.submit(decoded, tiles[0])
            for next_tile in [*tiles[1:], None]:
                stack, block = next_block.result()
                if next_tile is not None:
                    next_block = executor.submit(decoded, next_tile)
                with stack:
                    yield nullcontext(block)
                del block

        yield decode_ahead()


@contextmanager
def column_tiles(scores: _core.Scores | Store) -> Iterator[Iterator[ColumnTile]]:
    """Yield the tiles of a block that have some columns each: their first column, and the matrix.

    The next tile of a store is made while one is counted; a matrix is valid until the next is asked
    for.

    Parameters
    ----------
    scores : Scores or Store, shape (rows, columns) or (columns,)

    Examples
    --------
    >>> from truerank.inputs.scores import as_scores
    >>> with column_tiles(as_scores([0.1, 0.9])) as found:
    ...     [(left, matrix.shape) for left, matrix in found]
    [(0, (1, 2))]
    """
    if not isinstance(scores, Store):
        matrix = scores.array
        yield iter([(0, matrix if matrix.ndim == 2 else matrix[None, :])])
        return
    whole_columns = scores.shape[0], 1
    tiles = cut_tiles(
        scores.shape, scores.itemsize, COLUMN_TILE_BYTES, by_columns=True, unit=whole_columns
    )
    with open_blocks(scores, tiles, "map", lambda tile: True) as blocks:

        def each_tile() -> Iterator[ColumnTile]:
            for tile, context in zip(tiles, blocks, strict=True):
                with context as matrix:
                    yield tile.left, matrix

        yield each_tile()


class TileCount:
    """A count of tiles. Tasks are in the order of their rows, so that those of a tile are adjacent.

    `is_half_added` is true while a tile may have been added in part and is not known to be done.
    """

    is_half_added = False
    method = ""

    def __init__(self, store: Store, job: Job) -> None:
        self.store = store
        self.job = job
        self.rows = job.rows
        self.order: IntArray | None = None
        if job.rows is not None and np.any(np.diff(job.rows) < 0):
            self.order = np.argsort(job.rows, kind="stable")
            self.rows = job.rows[self.order]

    def is_needed(self, tile: Tile) -> bool:
        """Whether any task reads the rows of a tile."""
        first, last = self._task_range(tile)
        return first < last

    def _task_range(self, tile: Tile) -> tuple[int, int]:
        if self.rows is None:
            return tile.top, tile.top + tile.height
        first, last = np.searchsorted(self.rows, [tile.top, tile.top + tile.height])
        return int(first), int(last)

    def tasks_of(self, tile: Tile) -> TaskIndex:
        """Return the tasks of a tile."""
        first, last = self._task_range(tile)
        return slice(first, last) if self.order is None else self.order[first:last]

    def local_rows(self, tile: Tile) -> IntArray | None:
        """Return the rows of a tile's tasks, counted from the tile's first row."""
        if self.rows is None:
            return None
        first, last = self._task_range(tile)
        return self.rows[first:last] - tile.top

    def selections(self, where: TaskIndex) -> tuple[Selection | None, Selection | None]:
        """Return the filter and the candidates of some tasks."""
        parts = (self.job.filter, self.job.candidates)
        filter_selection, candidate_selection = (
            part and selection_of_tasks(part, where) for part in parts
        )
        return filter_selection, candidate_selection

    def add(self, tile: Tile, context: Any) -> None:
        """Count a tile; the context opens its block."""
        with context as block:
            if block is None:
                return
            scores, where = core_scores(block, self.store), self.tasks_of(tile)
            targets = np.ascontiguousarray(self.job.targets[where])
            tasks = _core.Tasks(self.local_rows(tile), targets, *self.selections(where))
            try:
                counted = self.count(tile, scores, tasks, where)
            except EOFError as error:
                raise InputValueError("scores", f"{block.name}: {error}") from None
            del block, scores  # so that a map can go
        if fault := counted.fault:
            indices = np.arange(where.start, where.stop) if isinstance(where, slice) else where
            task, row, column = int(indices[fault.task]), fault.row, fault.column
            fault = _core.Fault(fault.kind, task, row + tile.top, column + tile.left)
            raise self.job.error_of(fault)
        self.add_counts(where, counted.arrays)

    def count(
        self, tile: Tile, scores: Block, tasks: _core.Tasks, where: TaskIndex
    ) -> _core.Counts:
        """Let the core count a tile."""
        raise NotImplementedError

    def add_counts(self, where: TaskIndex, counts: Mapping[str, IntArray]) -> None:
        """Add the counts of a tile, which are of some tasks."""
        raise NotImplementedError

    def final_counts(self) -> Mapping[str, IntArray]:
        """Return the counts of all tasks, with those of the audit."""
        raise NotImplementedError

    def arrays(self) -> dict[str, IntArray]:
        """Return all that has been counted so far, to be saved or to be overwritten."""
        raise NotImplementedError

    def restored(self, members: Members, done: Sequence[Tile]) -> dict[str, IntArray]:
        """Return what a checkpoint has, checked, after these tiles."""
        raise NotImplementedError


class _WholeRowCount(TileCount):
    """A count of tiles of whole rows: each one gives the final counts of its tasks."""

    method = "by whole rows"

    def __init__(self, store: Store, job: Job) -> None:
        super().__init__(store, job)
        names = ["above", "tied", "candidates"]
        names += ["nan", "inf", "at_best"] if job.rules.audit else []
        self._counts = {name: np.zeros(len(job.targets), np.int64) for name in names}

    def count(
        self, tile: Tile, scores: Block, tasks: _core.Tasks, where: TaskIndex
    ) -> _core.Counts:
        return _core.rank(scores, tasks, self.job.rules, self.job.threads)

    def add_counts(self, where: TaskIndex, counts: Mapping[str, IntArray]) -> None:
        for name, array in self._counts.items():
            array[where] = counts[name]

    def final_counts(self) -> Mapping[str, IntArray]:
        return self._counts

    def arrays(self) -> dict[str, IntArray]:
        return self._counts

    def restored(self, members: Members, done: Sequence[Tile]) -> dict[str, IntArray]:
        counts = saved_counts(members, self._counts, self.store.shape[1], ("tied",))
        if any((counts["tied"][self.tasks_of(tile)] < 1).any() for tile in done):
            problem = "expected the true candidate of each task among those that are tied"
            raise InputValueError("damaged", problem, place="count.tied")
        return counts


class _GivenScoreCount(TileCount):
    """A count of tiles against true scores that are known: partial counts add up."""

    def __init__(self, store: Store, job: Job, true_scores: TrueScores) -> None:
        super().__init__(store, job)
        self._true_scores = true_scores
        self.partial_counts = PartialCounts(len(job.targets), job.rules)

    def count(
        self, tile: Tile, scores: Block, tasks: _core.Tasks, where: TaskIndex
    ) -> _core.Counts:
        true_scores = np.ascontiguousarray(self._true_scores.scores[where])
        job = self.job
        return _core.partial_counts(scores, tasks, true_scores, tile.left, job.rules, job.threads)

    def add_counts(self, where: TaskIndex, counts: Mapping[str, IntArray]) -> None:
        self.is_half_added = True
        self.partial_counts.add(counts, where)


class _PartialRowCount(_GivenScoreCount):
    """A count of tiles that cut rows; true scores are read first."""

    method = "by parts of rows"

    def __init__(self, store: Store, job: Job) -> None:
        rows = job.all_rows
        scores = np.ascontiguousarray(store.take(rows, job.targets))
        super().__init__(store, job, TrueScores(scores, store.dtype))
        task = self._true_scores.first_nan(job.rules.nan)
        if task >= 0:
            fault = _core.Fault(
                "nan" if job.rules.nan == "raise" else "nan_true_score",
                *(task, int(rows[task]), int(job.targets[task])),
            )
            raise job.error_of(fault)

    def final_counts(self) -> Mapping[str, IntArray]:
        differing = self.partial_counts.arrays["differing"]
        if differing.any():
            task = int(differing.argmax())
            raise InputValueError(
                "scores", f"the true score of task {task} changed while it was ranked"
            )
        return self.partial_counts.final_counts(self._true_scores)

    def arrays(self) -> dict[str, IntArray]:
        return self.partial_counts.arrays

    def restored(self, members: Members, done: Sequence[Tile]) -> dict[str, IntArray]:
        candidates = np.zeros(len(self.job.targets), np.int64)
        for tile in done:
            where = self.tasks_of(tile)
            column = self.job.targets[where] - tile.left
            candidates[where] += tile.width - ((column >= 0) & (column < tile.width))
        return saved_counts(members, self.partial_counts.arrays, candidates, ("tied", "nan"))
