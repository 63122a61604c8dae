"""Scores that need not fit in memory are counted tile by tile, and a stopped count can go on.

A store (see `stores`) gives tiles of the score matrix in the order in which they are stored. If
tiles are whole rows, the counts of each are final. If tiles cut rows, the true scores are read
first, and every tile adds to partial counts, to which the true candidates are added at the end.
A checkpoint is an archive (see `ranks.storage`) of the counts of the tiles so far, with digests of
all that must be the same if the count is to go on.

Files are mapped by default. On Linux the map of a warm file is nearly as fast as memory if the page
cache holds it in huge pages, which `stores.mapped` asks for. In small pages each fault maps
64 kB at most, and mapping may cost as much as counting: what `open_scores` opened stays mapped for
the next count. Otherwise a tile is mapped alone and then unmapped, so that page tables do not grow
with the file. The map of a cold file is as fast as the fastest reading loop, thanks to the kernel's
read-ahead: populating the map by hand, warm or cold, or asking for the next pages, gained nothing.
Reading into buffers costs a copy, which halves the rate of memory; it is for files that may shrink.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..devices.ways import count_stored
from ..inputs.checks import IO, choice
from ..inputs.errors import InputValueError, warn_user
from ..ranks.storage import open_archive, write_archive
from ..stores import Store, Tile
from ..stores.store import core_scores, cut_tiles
from ..tables.writing import writable_place
from .job import Job, digest
from .partial_counts import PartialCounts, TrueScores, integer_member, saved_counts

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..ranks.storage import Members

    ColumnTile = tuple[int, npt.NDArray[Any]]  # its first column, and the matrix

# Large compared with the cost of a tile in Python and of threads that wait for the last one; small
# compared with memory, and counted in less time than a user waits for a sign of progress.
TILE_BYTES = 256 << 20
# For stores whose tiles are decoded, where two of them are in memory.
DECODED_TILE_BYTES = 64 << 20
# For blocks of candidates on a device; a tile has some columns for all tasks.
COLUMN_TILE_BYTES = 32 << 20
KIND = "truerank.checkpoint"
SECONDS_BETWEEN_CHECKPOINTS = 2.0
MAX_TIME_SHARE = 0.02  # of the time may be taken by writing checkpoints


def count_store(
    store: Store,
    job: Job,
    report: Callable[..., None],
    true_scores: npt.NDArray[Any] | None = None,
    *,
    io: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> tuple[Mapping[str, IntArray], str | None]:
    """Count a job's tasks where a store is on a device, or tile by tile.

    Parameters
    ----------
    store : Store
    job : Job
    report : callable
        Told how many bytes are done, and how many of them a checkpoint had.
    true_scores : ndarray, shape (tasks,), optional
        As the core takes them; the counts are then partial ones. Default: the scores of targets.
    io, checkpoint
        As in `rank`.

    Returns
    -------
    counts : mapping of str to ndarray of int64, shape (tasks,)
    device : str or None
        The device and the way of counting, as a protocol names them.
    """
    io = choice("io", store.io if io is None else io, IO)
    if true_scores is None:
        job.check_targets()
    if store.on_device and checkpoint is None:
        report(0)
        there = count_stored(store, job.device_tasks(), true_scores, job.rules)
        if there is not None:
            partial = PartialCounts.of(there.arrays(), job.rules)
            true = TrueScores(there.true_scores(), store.dtype)
            if not partial.is_void(true).any():  # else the host has to find the NaN
                report(store.nbytes)
                own = partial.final_counts(true) if true_scores is None else partial.arrays
                return own, f"{store.device}, {there.way}"
    count = TileCount(store, tiles_of(store), io, job, true_scores)
    count_tiles(count, report, checkpoint)
    counts = count.final_counts() if true_scores is None else count.arrays
    return counts, f"{store.device}, host" if store.device else None


def count_tiles(
    count: TileCount,
    report: Callable[..., None],
    checkpoint: str | os.PathLike[str] | None = None,
) -> None:
    """Count the tiles that are left, and keep the counts in a file if there is to be one."""
    saved = None if checkpoint is None else Checkpoint(checkpoint, count)
    if saved is not None:
        saved.restore()
    store, left = count.store, count.tiles[count.done :]
    sizes = [tile.height * tile.width * store.itemsize for tile in count.tiles]
    done = resumed = sum(sizes[: count.done])
    report(done, resumed)
    try:
        with open_blocks(store, left, count.io, count.is_needed) as blocks:
            for tile, block in zip(left, blocks, strict=True):
                count.add(tile, block)
                done += sizes[count.done - 1]
                report(done, resumed)
                if saved is not None and saved.is_due():
                    saved.save()
    finally:
        # A tile that is half added would be added again, so the last file is not replaced then.
        if saved is not None and not count.is_half_added:
            saved.save()


def tiles_of(store: Store) -> Sequence[Tile]:
    """Cut a store into the tiles that are counted one after the other."""
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


def count_columns(
    scores: _core.Scores | Store, job: Job, true_scores: npt.NDArray[Any], first_column: int = 0
) -> tuple[dict[str, IntArray], _core.Fault | None]:
    """Count a block of columns on the host; return partial counts, or the first fault within it.

    A store is copied some columns at a time.
    """
    total: PartialCounts | None = None
    with column_tiles(scores) as tiles:
        for left, matrix in tiles:
            part = _core.Scores(matrix, scores.dtype, scores.swapped)
            counted = job.counted(part, true_scores, first_column + left)
            if fault := counted.fault:
                column = fault.column + left
                return {}, _core.Fault(fault.kind, fault.task, fault.row, column)
            counts = counted.arrays
            total = total.plus(counts) if total else PartialCounts.of(counts, job.rules)
            del part, matrix
    return (total or PartialCounts(len(job.targets), job.rules)).arrays, None


class TileCount:
    """The counts of a job in the tiles of a store.

    If tiles are whole rows, the core finds the true scores, and the counts of a tile are final for
    its tasks. Else the true scores are read first, and the partial counts of tiles are added.

    Parameters
    ----------
    store : Store
    tiles : sequence of Tile
        In the order in which they are counted.
    io : {"map", "read"}
    job : Job
    true_scores : ndarray, shape (tasks,), optional
        As the core takes them. Default: the scores of the targets.

    Attributes
    ----------
    arrays : dict of str to ndarray of int64, shape (tasks,)
        What has been counted so far.
    done : int
        The number of tiles that are in it.
    is_half_added : bool
        True while a tile may have been added in part and is not known to be done.
    """

    def __init__(
        self,
        store: Store,
        tiles: Sequence[Tile],
        io: str,
        job: Job,
        true_scores: npt.NDArray[Any] | None = None,
    ) -> None:
        self.store, self.tiles, self.io, self.job = store, tiles, io, job
        self.done, self.is_half_added = 0, False
        self.true_scores: TrueScores | None = None
        if true_scores is not None:
            self.true_scores = TrueScores(true_scores, store.dtype)
        elif not _are_whole_rows(store, tiles, io):
            self.true_scores = self._read_true_scores()
        names = ["above", "tied", "candidates"]
        names += ["nan", "inf", "at_best"] if job.rules.audit else []
        self.arrays = {name: np.zeros(len(job.targets), np.int64) for name in names}
        if self.true_scores is not None:
            self.arrays = PartialCounts(len(job.targets), job.rules).arrays
        # tasks in the order of their rows, so that those of a tile are adjacent
        self._rows, self._order = job.rows, None
        if job.rows is not None and np.any(np.diff(job.rows) < 0):
            self._order = np.argsort(job.rows, kind="stable")
            self._rows = job.rows[self._order]

    def _read_true_scores(self) -> TrueScores:
        job, rows = self.job, self.job.all_rows
        scores = np.ascontiguousarray(self.store.take(rows, job.targets))
        true_scores = TrueScores(scores, self.store.dtype)
        task = true_scores.first_nan(job.rules.nan)
        if task >= 0:
            place = task, int(rows[task]), int(job.targets[task])
            is_any = job.rules.nan == "raise"
            raise job.error_of(_core.Fault("nan" if is_any else "nan_true_score", *place))
        return true_scores

    def is_needed(self, tile: Tile) -> bool:
        """Whether any task reads the rows of a tile."""
        first, last = self._task_range(tile)
        return first < last

    def _task_range(self, tile: Tile) -> tuple[int, int]:
        if self._rows is None:
            return tile.top, tile.top + tile.height
        first, last = np.searchsorted(self._rows, [tile.top, tile.top + tile.height])
        return int(first), int(last)

    def _tasks_of(self, tile: Tile) -> slice | IntArray:
        first, last = self._task_range(tile)
        return slice(first, last) if self._order is None else self._order[first:last]

    def add(self, tile: Tile, context: Any) -> None:
        """Count the next tile; the context opens its block."""
        with context as block:
            if block is None:
                self.done += 1
                return
            where, rows = self._tasks_of(tile), None
            if self._rows is not None:
                rows = self._rows[slice(*self._task_range(tile))] - tile.top
            true_scores = None
            if self.true_scores is not None:
                true_scores = np.ascontiguousarray(self.true_scores.scores[where])
            scores = block
            if not isinstance(block, _core.Embeddings):
                scores = core_scores(block, self.store)
            try:
                counted = self.job.part(where, rows).counted(scores, true_scores, tile.left)
            except EOFError as error:
                raise InputValueError(self.job.nouns.argument, f"{block.name}: {error}") from None
            del block, scores  # so that a map can go
        if fault := counted.fault:
            task = int(np.arange(len(self.job.targets))[where][fault.task])
            row, column = fault.row + tile.top, fault.column + tile.left
            raise self.job.error_of(_core.Fault(fault.kind, task, row, column))
        self.is_half_added = True
        if self.true_scores is None:
            for name, array in self.arrays.items():
                array[where] = counted.arrays[name]
        else:
            PartialCounts.of(self.arrays, self.job.rules).add(counted.arrays, where)
        self.done += 1
        self.is_half_added = False

    def final_counts(self) -> Mapping[str, IntArray]:
        """Return the counts of all tasks, with those of the audit."""
        if self.true_scores is None:
            return self.arrays
        differing = self.arrays["differing"]
        if differing.any():
            problem = f"the true score of task {differing.argmax()} changed while it was ranked"
            raise InputValueError(self.job.nouns.argument, problem)
        return PartialCounts.of(self.arrays, self.job.rules).final_counts(self.true_scores)

    def restore(self, members: Members, done: int) -> None:
        """Go on from what a file says of a number of tiles, which has to be possible."""
        are_final = self.true_scores is None
        most = np.zeros(len(self.job.targets), np.int64)
        for tile in self.tiles[:done]:
            where = self._tasks_of(tile)
            column = self.job.targets[where] - tile.left
            is_inside = (column >= 0) & (column < tile.width)
            most[where] += tile.width if are_final else tile.width - is_inside
        unlike = ("tied",) if are_final else ("tied", "nan")
        counts = saved_counts(members, self.arrays, most, unlike)
        if are_final and (counts["tied"] < np.minimum(most, 1)).any():
            problem = "expected the true candidate of each task among those that are tied"
            raise InputValueError("damaged", problem, place="count.tied")
        self.arrays, self.done = counts, done


class Checkpoint:
    """The file that keeps a count; it is refused if it is not a file of the same count."""

    def __init__(self, path: str | os.PathLike[str], count: TileCount) -> None:
        place, _ = writable_place(path, "checkpoint")  # before hours of counting
        self._path = os.fsdecode(path)
        self._count = count
        self._facts = {
            "scores": digest(json.dumps(count.store.state())),
            **count.job.facts(),
            "io": "by whole rows" if count.true_scores is None else "by parts of rows",
            "tiles": len(count.tiles),
        }
        self._saved_at = time.monotonic()
        self._seconds_to_save = 0.0
        folder = os.path.dirname(place)
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"checkpoint: no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"checkpoint: {self._path} cannot be written")

    def is_due(self) -> bool:
        """Whether it is time to save: enough seconds have passed, also for the cost of saving."""
        least = max(SECONDS_BETWEEN_CHECKPOINTS, self._seconds_to_save / MAX_TIME_SHARE)
        return time.monotonic() - self._saved_at >= least

    def save(self) -> None:
        """Write the file; warn if that fails."""
        start = time.monotonic()
        members = {f"count.{name}": array for name, array in self._count.arrays.items()}
        members["done"] = np.array(self._count.done, np.int64)
        try:
            write_archive(self._path, KIND, self._facts, members)
        except OSError as error:
            problem = f"checkpoint: {self._path} was not written: {error.strerror or error}"
            warn_user(problem)
        self._saved_at = time.monotonic()
        self._seconds_to_save = self._saved_at - start

    def restore(self) -> None:
        """Restore the count if the file exists.

        Raises
        ------
        ValueError
            If the file is damaged, or belongs to another call or other scores.
        """
        if not os.path.exists(self._path):
            return
        with open_archive("checkpoint", self._path, KIND) as (facts, members):
            differing = [name for name, fact in self._facts.items() if facts.get(name) != fact]
            if differing:
                raise ValueError(f"this is of another count, with other {', '.join(differing)}")
            done = int(integer_member(members, "done", (), len(self._count.tiles)))
            self._count.restore(members, done)
