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
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..devices.backends import count_stored
from ..inputs.checks import IO, choice, integer
from ..inputs.errors import InputValueError, warn_user
from ..ranks.counts import COUNTS, Audit
from ..ranks.storage import open_archive, write_archive
from ..stores import Store, Tile
from ..stores.store import FileState, core_scores, cut_tiles
from ..tables.writing import writable_place
from .job import Job, digest
from .partial_counts import PartialCounts, TrueScores, saved_counts

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

    # Waits for partial counts: those of all tasks, and the first NaN that the rule forbids.
    Counting = Callable[[], tuple[dict[str, IntArray], _core.Fault | None]]

# Large compared with the cost of a tile in Python and of threads that wait for the last one; small
# compared with memory, and counted in less time than a user waits for a sign of progress.
TILE_BYTES = 256 << 20
# For stores whose tiles are decoded, where two of them are in memory.
DECODED_TILE_BYTES = 64 << 20
# For blocks of candidates on a device; a tile has some columns for all tasks.
COLUMN_TILE_BYTES = 32 << 20
KIND = "truerank.checkpoint"
# What messages call the parts of a FileState.
FILE_FACTS = {
    "files": "number of files",
    "size": "size",
    "modified": "time of modification",
    "changed": "time of change",
    "inodes": "inode",
}
SECONDS_BETWEEN_CHECKPOINTS = 2.0
MAX_TIME_SHARE = 0.02  # of the time may be taken by writing checkpoints


def count_store(
    store: Store,
    job: Job,
    report: Callable[..., object],
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
        The device and what counted there, as a protocol names them.
    """
    io = store.io if io is None else io
    if true_scores is None:
        job.check_targets()
    if store.on_device and checkpoint is None:
        report(0)
        there = count_stored(store, job.device_tasks(), true_scores, job.rules)
        if there is not None:
            partial = PartialCounts(there.arrays(), job.rules)
            true = TrueScores(there.true_scores(), store.dtype)
            if not partial.is_void(true).any():  # else the host has to find the NaN
                report(store.nbytes)
                own = partial.final_counts(true) if true_scores is None else partial.arrays
                return own, f"{store.device}, {there.backend}"
    tiles = store.tiles(TILE_BYTES if store.in_place else DECODED_TILE_BYTES)
    count = TileCount(store, tiles, io, job, true_scores)
    count_tiles(count, report, checkpoint)
    return count.final_counts(), f"{store.device}, host" if store.device else None


def count_tiles(
    count: TileCount,
    report: Callable[..., object],
    checkpoint: str | os.PathLike[str] | None = None,
) -> None:
    """Count the tiles that are left, and keep the counts in a file if there is to be one."""
    saved = None if checkpoint is None else Checkpoint(checkpoint, count)
    sizes = [tile.height * tile.width * count.store.itemsize for tile in count.tiles]
    done = resumed = sum(sizes[: count.done])
    report(done, resumed)
    try:
        left = count.tiles[count.done :]
        for tile, block in open_blocks(count.store, left, count.io, count.is_needed):
            count.add(tile, block)
            del block
            done += sizes[count.done - 1]
            report(done, resumed)
            if saved is not None and saved.is_due():
                saved.save()
    finally:
        # A tile that is half added would be added again, so the last file is not replaced then.
        if saved is not None and not count.is_half_added:
            saved.save()


def open_blocks(
    store: Store,
    tiles: Sequence[Tile],
    io: str,
    is_needed: Callable[[Tile], bool] = lambda tile: True,
) -> Iterator[tuple[Tile, Any]]:
    """Yield tiles with their blocks, open until the next is asked for; None if no task needs one.

    Blocks that have to be decoded are decoded one ahead, on a thread of their own.
    """

    def opened(tile: Tile) -> tuple[Tile, ExitStack, Any]:
        stack = ExitStack()
        return tile, stack, stack.enter_context(store.block(tile, io)) if is_needed(tile) else None

    def one_ahead() -> Iterator[tuple[Tile, ExitStack, Any]]:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1, thread_name_prefix="truerank-decode") as executor:
            ahead = executor.submit(opened, tiles[0])
            for tile in tiles[1:]:
                current, ahead = ahead, executor.submit(opened, tile)
                yield current.result()
                del current
            yield ahead.result()

    in_turn = store.in_place or len(tiles) < 2
    for tile, stack, block in map(opened, tiles) if in_turn else one_ahead():
        with stack:
            yield tile, block
            del block


def begin_count(
    scores: _core.Scores | Store, job: Job, true_scores: npt.NDArray[Any], first_column: int = 0
) -> tuple[Counting, bool]:
    """Begin to count a block of columns where it is.

    The host counts it before this returns, some columns at a time, also where a device cannot. What
    a device counts must not change until it is waited for; the host has to find a NaN in it.

    Returns
    -------
    counting : callable
        Waits for the partial counts.
    is_pending : bool
        Whether a device still counts.
    """

    def on_host() -> tuple[dict[str, IntArray], _core.Fault | None]:
        total = PartialCounts.zeros(len(job.targets), job.rules)
        for left, matrix in _column_tiles(scores):
            part = _core.Scores(matrix, scores.dtype, scores.swapped)
            counted = job.counted(part, true_scores, first_column + left)
            if fault := counted.fault:
                column = fault.column + left
                return total.arrays, _core.Fault(fault.kind, fault.task, fault.row, column)
            total = PartialCounts(counted.arrays, job.rules).add(total.arrays)
            del part, matrix
        return total.arrays, None

    there = None
    if isinstance(scores, Store):
        tasks = job.device_tasks()._replace(first_column=first_column)
        there = count_stored(scores, tasks, true_scores, job.rules)
    if there is None:
        counted = on_host()
        return (lambda: counted), False

    def wait() -> tuple[dict[str, IntArray], _core.Fault | None]:
        counts = there.arrays()
        is_void = job.rules.nan == "raise" and counts["nan"].any()
        return on_host() if is_void else (counts, None)

    return wait, True


def _column_tiles(scores: _core.Scores | Store) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield the first column and the matrix of each tile; a matrix is valid until the next."""
    if not isinstance(scores, Store):
        yield 0, np.atleast_2d(scores.array)
        return
    unit = scores.shape[0], 1  # whole columns
    sizes = scores.shape, scores.itemsize, COLUMN_TILE_BYTES
    for tile, matrix in open_blocks(scores, cut_tiles(*sizes, by_columns=True, unit=unit), "map"):
        yield tile.left, matrix
        del matrix


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
    counts : PartialCounts
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
        self.store, self.tiles, self.job, self.io = store, tiles, job, choice("io", io, IO)
        self.done, self.is_half_added = 0, False
        self.counts = PartialCounts.zeros(len(job.targets), job.rules)
        self._read_scores: TrueScores | None = None
        if true_scores is None:
            if all(map(self._is_whole_rows, tiles)):
                names = (*COUNTS, *Audit._fields[:3]) if job.rules.audit else COUNTS
                self.counts.arrays = {name: self.counts.arrays[name] for name in names}
            else:
                self._read_scores = self._read_true_scores()
                true_scores = self._read_scores.scores
        self.true_scores = true_scores
        # tasks in the order of their rows, so that those of a tile are adjacent
        self._rows = job.all_rows
        self._order: IntArray | None = None
        if (self._rows[1:] < self._rows[:-1]).any():
            self._order = np.argsort(self._rows, kind="stable")
            self._rows = self._rows[self._order]

    def _is_whole_rows(self, tile: Tile) -> bool:
        """Whether a tile has whole rows and is read row by row."""
        if tile.width != self.store.shape[1]:
            return False
        if self.io == "map" or not self.store.in_place:  # which gives arrays
            return True
        with self.store.block(tile, self.io) as block:
            scores = core_scores(block, self.store)
            return isinstance(scores, _core.Scores) or scores.reads_whole_rows

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

    def tasks_of(self, tile: Tile) -> tuple[slice | IntArray, IntArray]:
        """Return the tasks that read the rows of a tile, in the order of their rows; and these."""
        some = slice(*np.searchsorted(self._rows, [tile.top, tile.top + tile.height]))
        return some if self._order is None else self._order[some], self._rows[some]

    def is_needed(self, tile: Tile) -> bool:
        """Whether any task reads the rows of a tile."""
        return len(self.tasks_of(tile)[1]) > 0

    def add(self, tile: Tile, block: Any) -> None:
        """Count the block of the next tile; None if no task needs it."""
        if block is not None:
            tasks, rows = self.tasks_of(tile)
            true_scores = None if self.true_scores is None else self.true_scores[tasks]
            is_vectors = isinstance(block, _core.Embeddings)
            scores = block if is_vectors else core_scores(block, self.store)
            try:
                job = self.job.part(tasks, None if self.job.rows is None else rows - tile.top)
                counted = job.counted(scores, true_scores, tile.left)
            except EOFError as error:
                raise InputValueError(self.job.nouns.argument, f"{block.name}: {error}") from None
            if fault := counted.fault:
                place = fault.row + tile.top, fault.column + tile.left
                task = int(np.arange(len(self.job.targets))[tasks][fault.task])
                raise self.job.error_of(_core.Fault(fault.kind, task, *place))
            self.is_half_added = True
            self.counts.add(counted.arrays, tasks)
        self.done += 1
        self.is_half_added = False

    def final_counts(self) -> Mapping[str, IntArray]:
        """Return the counts of all tasks, with those of an audit; partial for given true scores."""
        if self._read_scores is None:
            return self.counts.arrays
        differing = self.counts.arrays["differing"]
        if differing.any():
            problem = f"the true score of task {differing.argmax()} changed while it was ranked"
            raise InputValueError(self.job.nouns.argument, problem)
        return self.counts.final_counts(self._read_scores)


def facts_of_files(states: Sequence[FileState]) -> dict[str, str]:
    """Return digests of what tells files from others, for the message of a checkpoint.

    Scores in memory have no files, and no such facts.
    """
    columns = zip(*states, strict=True)
    return {
        FILE_FACTS[name]: digest(json.dumps(column))
        for name, column in zip(FileState._fields, columns, strict=False)
    }


def other_count(differing: Sequence[str]) -> str:
    """Return why a checkpoint belongs to another count, from the names of differing facts.

    Examples
    --------
    >>> other_count(["targets", "order"])
    'this is of another count, with other targets, order'
    >>> other_count(["scores", "inode"])[:84]
    'this is of another count, with other scores: the file has another inode, so it was w'
    """
    of_files = [name for name in FILE_FACTS.values() if name in differing]
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
        place, _ = writable_place(path, "checkpoint")  # before hours of counting
        if not os.access(os.path.dirname(place), os.W_OK):
            raise OSError(f"checkpoint: no folder that can be written: {os.path.dirname(place)}")
        self._path = os.fsdecode(path)
        self._count = count
        self._facts = {
            "scores": digest(json.dumps(count.store.state())),
            **facts_of_files(count.store.file_states()),
            **count.job.facts(),
            "io": "by whole rows" if count.true_scores is None else "by parts of rows",
            "tiles": len(count.tiles),
        }
        if os.path.exists(self._path):
            self._restore()
        self._saved_at, self._seconds_to_save = time.monotonic(), 0.0

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
        with open_archive("checkpoint", self._path, KIND) as (facts, members):
            differing = [name for name, fact in self._facts.items() if facts.get(name) != fact]
            if differing:
                raise ValueError(other_count(differing))
            count.done = integer("done", members["done"], least=0, most=len(count.tiles))
            most = np.zeros(len(count.job.targets), np.int64)
            for tile in count.tiles[: count.done]:
                most[count.tasks_of(tile)[0]] += tile.width
            least_tied = np.minimum(most, count.true_scores is None)
            if count.true_scores is not None:  # the true candidates are added at the end
                most = np.minimum(most, count.store.shape[1] - 1)
            count.counts.arrays = saved_counts(members, count.counts.arrays, most, least_tied)
