"""The driver: it counts a store where it is, and goes on with a count that was stopped.

A checkpoint is an archive (see `ranks.storage`) of the counts of the tiles so far, with digests of
all that must be the same if the count is to go on.

A device counts the scores that are on it. What it cannot count, or may not since a NaN is forbidden
there, the host counts, at once or tile by tile. If tiles are whole rows, the core finds the true
scores, and the counts of each tile are final. If tiles cut rows, the true scores are read first,
and every tile adds to partial counts, to which the true candidates are added at the end.

Files are mapped by default. On Linux the map of a warm file is nearly as fast as memory if the page
cache holds it in huge pages, which `stores.store` asks for. In small pages each fault maps 64 kB at
most, and mapping may cost as much as counting. A tile is mapped alone and then unmapped, so that
page tables do not grow with the file. The map of a cold file is as fast as the fastest reading
loop, thanks to the kernel's read-ahead: populating the map by hand, warm or cold, or asking for the
next pages, gained nothing.
Reading into buffers costs a copy, which halves the rate of memory; it is for files that may shrink.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import devices
from .._core import Fault, FileScores, Scores
from ..arrays.saved_files import open_archive, writable_place, write_archive
from ..errors import InputValueError, warn_user
from ..inputs.checks import choice, integer
from ..inputs.rules import IO
from ..ranks.container import COUNTS
from ..stores import Store, Tile
from . import partial_counts
from .job import Job, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..arrays import IntArray
    from ..ranks.container import Ranks

KIND = "truerank.checkpoint"
# This is large compared with the cost of a tile in Python and of threads that wait for the last
# one; it is small compared with memory, and counted before a user waits for a sign of progress.
TILE_BYTES = 256 << 20
SECONDS_BETWEEN_CHECKPOINTS = 2.0
MAX_TIME_SHARE = 0.02  # Writing checkpoints may take this share of the time.
# What tells the files of scores from others, in the order of `stores.store.file_state`.
FILE_FACTS = ("size", "time of modification", "time of change", "inode")


# -- what counts scores --------------------------------------------------------------------------


class Counts(NamedTuple):
    """What was counted of scores."""

    # int64 of shape (tasks,) by name: final counts, or partial ones of a job with true scores.
    arrays: dict[str, IntArray]
    # The first NaN that the rule forbids, where the scores have it. The counts are then void.
    fault: Fault | None = None
    # The device and what counted there, as a protocol names them.
    place: str | None = None

    def ranks(self, job: Job, store: Store) -> Ranks:
        """Make Ranks of the counts of a store, and mark what is masked; a fault is an error."""
        if self.fault is not None:
            raise job.make_error(self.fault)
        files = store.files
        ranks = job.ranks(self.arrays, store.dtype, files, self.place, similarity=store.measure)
        return job.mark_masked(ranks, store)


class TileCount:
    """The counts of a job in the tiles of a store, which are counted in their order.

    If the job has no true scores, they are read here where tiles cut rows; of whole rows the core
    finds them, and counts are final. `counts` is what has been counted in the first `done` tiles.
    """

    def __init__(self, store: Store, job: Job, io: str | None = None) -> None:
        self.store = store
        self.io = store.io if io is None else choice("io", io, IO)
        self.tiles = store.tiles(TILE_BYTES)
        self.done = 0
        # True while a tile may have been added in part and is not known to be done.
        self.is_half_added = False
        self.counts = partial_counts.zero_counts(len(job.targets), job.rules)
        self.job = job
        self._own_true_scores: Scores | None = None  # those that were read here
        if job.true_scores is None:
            if all(has_whole_rows(store, tile, self.io) for tile in self.tiles):
                audit = ("nan", "inf", "at_best") if job.rules.audit else ()
                names = COUNTS + audit  # The core counts these of whole rows.
                self.counts = {name: self.counts[name] for name in names}
            else:
                rows = job.all_rows
                array = np.ascontiguousarray(store.take(rows, job.targets))
                true_scores = partial_counts.native_scores(array, store.dtype)
                task = partial_counts.first_forbidden_nan(true_scores, job.rules.nan)
                if task >= 0:
                    raise job.make_true_nan_error(int(rows[task]), int(job.targets[task]))
                self._own_true_scores = true_scores
                self.job = replace(job, true_scores=true_scores.array)
        # Tasks are sorted by their rows, so that those of a tile are adjacent.
        self._sorted_tasks: IntArray | None = None  # None: they are sorted as they are.
        self._sorted_rows = job.all_rows
        if (self._sorted_rows[1:] < self._sorted_rows[:-1]).any():
            self._sorted_tasks = np.argsort(self._sorted_rows, kind="stable")
            self._sorted_rows = self._sorted_rows[self._sorted_tasks]
        # Tiles of the same rows, the first of which is row 0 of the job, have the same job: that of
        # the last tile is kept.
        self._job_of_rows: dict[tuple[int, int], Job] = {}

    def tasks_of(self, tile: Tile) -> slice | IntArray:
        """Return the tasks that read the rows of a tile, sorted by their rows."""
        positions = self._sorted_positions(tile)
        if self._sorted_tasks is None:
            return positions
        return self._sorted_tasks[positions]

    def _sorted_positions(self, tile: Tile) -> slice:
        """Return the positions of these tasks among those that are sorted by their rows."""
        first, last = np.searchsorted(self._sorted_rows, [tile.top, tile.top + tile.height])
        return slice(int(first), int(last))

    def is_read(self, tile: Tile) -> bool:
        """Whether any task reads the rows of a tile."""
        positions = self._sorted_positions(tile)
        return bool(positions.start < positions.stop)

    def add_tile(self, tile: Tile, scores: Any) -> Fault | None:
        """Count the next tile, if it is read, and add its counts; the core takes the scores.

        A fault that the core found ends the count, and is returned with its place in the store.
        """
        if self.is_read(tile):
            tasks = self.tasks_of(tile)
            rows = tile.top, tile.height
            if rows not in self._job_of_rows:
                rows_in_tile = None
                if self.job.rows is not None:
                    rows_in_tile = self._sorted_rows[self._sorted_positions(tile)] - tile.top
                self._job_of_rows = {rows: self.job.part(tasks, rows_in_tile)}
            try:
                counts = self._job_of_rows[rows].count(scores, tile.left)
            except EOFError as error:  # The file has become shorter.
                raise InputValueError("scores", str(error)) from None
            fault = counts.fault
            if fault is not None:
                task = tasks.start + fault.task if isinstance(tasks, slice) else tasks[fault.task]
                place = fault.row + tile.top, fault.column + tile.left
                return Fault(fault.kind, int(task), *place)
            self.is_half_added = True
            partial_counts.add_counts(self.counts, counts.arrays, self.job.rules, tasks)
        self.done += 1
        self.is_half_added = False
        return None

    def final_counts(self) -> dict[str, IntArray]:
        """Return the counts of all tasks, with those of an audit; partial for given true scores."""
        if self._own_true_scores is None:
            return self.counts
        differing = self.counts["differing"]
        if differing.any():
            problem = f"the true score of task {differing.argmax()} changed while it was ranked"
            raise InputValueError("scores", problem)
        return partial_counts.final_counts(self.counts, self._own_true_scores, self.job.rules)


def has_whole_rows(store: Store, tile: Tile, io: str) -> bool:
    """Whether a tile has whole rows and is read row by row: the core then finds true scores."""
    if tile.width != store.shape[1]:
        return False
    if io == "map" or not store.in_place:  # Scores come as arrays then.
        return True
    with store.core_block(tile, io) as scores:
        return not isinstance(scores, FileScores) or scores.reads_whole_rows


def ignore_progress(done: int, resumed: int = 0) -> None:
    """Tell nobody how far a count has come."""


def count_scores(
    scores: Scores | Store,
    job: Job,
    io: str | None = None,
    *,
    report_progress: Callable[..., object] = ignore_progress,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Counts:
    """Count scores where they are, whose rows the job numbers.

    Scores in memory are counted at once. Those on a device are counted there, unless there is an
    audit, a checkpoint, or a NaN that is forbidden. All others are counted on the host: in tiles,
    or at once. `report_progress` is told how many bytes are done, and how many of them a checkpoint
    had; of a count at once the job's listener hears.
    """
    if isinstance(scores, Scores):
        counts = job.count(scores)
        return Counts(counts.arrays, counts.fault)
    may_count_on_device = bool(scores.device) and not job.rules.audit and checkpoint is None
    if may_count_on_device:
        device_counts = count_on_device(scores, job, report_progress)
        if device_counts is not None:
            return device_counts
    if job.true_scores is None:
        job.check_targets()
    if not scores.in_tiles and checkpoint is None:
        with scores.core_block(Tile(0, 0, *scores.shape), scores.io) as block:
            counts = job.count(block)
        return Counts(counts.arrays, counts.fault, place=scores.host_place)
    tile_count = TileCount(scores, job, io)
    fault = count_tiles(tile_count, report_progress, checkpoint)
    arrays = tile_count.counts if fault is not None else tile_count.final_counts()
    return Counts(arrays, fault, place=scores.host_place)


def count_on_device(
    scores: Store, job: Job, report_progress: Callable[..., object]
) -> Counts | None:
    """Count scores on their device, without an audit; None if the host has to count.

    It has to where the device cannot, and to find the first NaN that the rule forbids.
    """
    parts = devices.task_counts.parts_on_device(scores)
    if parts is None:
        return None
    has_targets_in_scores = job.true_scores is None  # Else the scores are a part of a counter's.
    if has_targets_in_scores:
        job.check_targets()
    report_progress(0)
    job_of_parts = job
    if has_targets_in_scores and len(parts) > 1:  # A part would find only those that it has.
        job_of_parts = replace(job, true_scores=scores.take(job.all_rows, job.targets))
    arrays, true_array = devices.task_counts.count_parts(parts, job_of_parts)
    true_scores = partial_counts.native_scores(true_array, scores.dtype)
    if partial_counts.first_forbidden_nan(true_scores, job.rules.nan) >= 0:
        return None
    if job.rules.nan == "raise" and arrays["nan"].any():
        return None
    report_progress(scores.nbytes)
    if has_targets_in_scores:
        arrays = partial_counts.final_counts(arrays, true_scores, job.rules)
    return Counts(arrays, place=f"{scores.device}, triton")


def count_tiles(
    count: TileCount,
    report_progress: Callable[..., object],
    checkpoint: str | os.PathLike[str] | None = None,
) -> Fault | None:
    """Count the tiles that are left, and keep the counts in a file if there is to be one.

    A tile that no task reads is not opened. The first NaN that the rule forbids ends the count, and
    is returned.
    """
    path = None
    if checkpoint is not None:
        file, _ = writable_place(checkpoint, "checkpoint")
        folder = os.path.dirname(file)
        if not os.access(folder, os.W_OK):  # It is refused before hours of counting.
            raise OSError(f"checkpoint: no folder that can be written: {folder}")
        path = os.fsdecode(checkpoint)
        facts = checkpoint_facts(count)
        if os.path.exists(path):
            restore_checkpoint(path, facts, count)
    saved_at = time.monotonic()
    seconds_to_save = 0.0
    store = count.store
    sizes = [tile.height * tile.width * store.itemsize for tile in count.tiles]
    resumed = sum(sizes[: count.done])
    done = resumed
    report_progress(done, resumed=resumed)

    def open_tile(tile: Tile) -> AbstractContextManager[Any]:
        if not count.is_read(tile):
            return nullcontext()
        return store.core_block(tile, count.io)

    tiles = count.tiles[count.done :]
    try:
        for tile, scores in open_in_turn(open_tile, tiles, one_ahead=not store.in_place):
            fault = count.add_tile(tile, scores)
            del scores  # No reference may stay, so that a file can be unmapped.
            if fault is not None:
                return fault
            done += sizes[count.done - 1]
            report_progress(done, resumed=resumed)
            now = time.monotonic()
            seconds_between = max(SECONDS_BETWEEN_CHECKPOINTS, seconds_to_save / MAX_TIME_SHARE)
            if path is not None and now - saved_at >= seconds_between:
                save_checkpoint(path, facts, count)
                saved_at = time.monotonic()
                seconds_to_save = saved_at - now
    finally:
        # A tile that is half added would be added again, so the last file is not replaced then.
        if path is not None and not count.is_half_added:
            save_checkpoint(path, facts, count)
    return None


def open_in_turn(
    open_tile: Callable[[Tile], AbstractContextManager[Any]],
    tiles: Sequence[Tile],
    *,
    one_ahead: bool,
) -> Iterator[tuple[Tile, Any]]:
    """Yield tiles with what is opened for each, until the next is asked for.

    With `one_ahead`, the next one is opened meanwhile, on a thread of its own.
    """
    if not one_ahead or len(tiles) < 2:
        for tile in tiles:
            with open_tile(tile) as value:
                yield tile, value
                del value  # No reference may stay, so that a file can be unmapped.
        return
    from concurrent.futures import ThreadPoolExecutor

    def enter(tile: Tile) -> tuple[ExitStack, Any]:
        """Return what closes a tile, and what was opened for it."""
        closing = ExitStack()
        return closing, closing.enter_context(open_tile(tile))

    with ThreadPoolExecutor(1, thread_name_prefix="truerank-open") as executor:
        futures = [executor.submit(enter, tiles[0])]
        for i, tile in enumerate(tiles):
            if i + 1 < len(tiles):
                futures.append(executor.submit(enter, tiles[i + 1]))
            closing, value = futures.pop(0).result()
            with closing:
                yield tile, value
                del value


def describe_other_count(differing: Sequence[str]) -> str:
    """Return why a checkpoint belongs to another count, from the names of differing facts.

    >>> describe_other_count(["targets", "order"])
    'this belongs to another count, with different targets, order'
    """
    file_facts = [name for name in FILE_FACTS if name in differing]
    others = [name for name in differing if name not in file_facts]
    problem = f"this belongs to another count, with different {', '.join(others)}"
    if not file_facts:
        return problem
    done = "it was written, replaced, copied, moved or touched"
    advice = "remove the checkpoint to count from the start"
    return f"{problem}: the file has a different {', '.join(file_facts)}, so {done}; {advice}"


def checkpoint_facts(count: TileCount) -> dict[str, Any]:
    """Return digests of what tells the scores, each of their files and the job from others."""
    facts: dict[str, Any] = {"scores": sha256_hex(json.dumps(count.store.state()))}
    files = count.store.file_states()
    for name in FILE_FACTS if files else ():
        facts[name] = sha256_hex(json.dumps([file[name] for file in files]))
    io = "by whole rows" if count.job.true_scores is None else "by parts of rows"
    return facts | count.job.facts() | {"io": io, "tiles": len(count.tiles)}


def save_checkpoint(path: str, facts: Mapping[str, Any], count: TileCount) -> None:
    """Write what has been counted; warn if that fails."""
    members = partial_counts.count_members(count.counts) | {"done": np.array(count.done, np.int64)}
    try:
        write_archive(path, KIND, facts, members)
    except OSError as error:
        warn_user("checkpoint", f"{path} was not written: {error.strerror or error}")


def restore_checkpoint(path: str, facts: Mapping[str, Any], count: TileCount) -> None:
    """Set a count to that of a file, which has to be of the same call, with possible counts."""
    with open_archive("checkpoint", path, KIND, ("count", "done")) as (saved_facts, members):
        differing = [name for name, fact in facts.items() if saved_facts.get(name) != fact]
        if differing:
            raise ValueError(describe_other_count(differing))
        count.done = integer("done", members["done"], least=0, most=len(count.tiles))
        columns_read = np.zeros(len(count.job.targets), np.int64)
        for tile in count.tiles[: count.done]:
            columns_read[count.tasks_of(tile)] += tile.width
        are_final = count.job.true_scores is None
        if are_final:  # The true candidates are in them.
            most_candidates = columns_read
            least_tied = np.minimum(columns_read, 1)
        else:  # One of all columns is the true candidate's.
            most_candidates = np.minimum(columns_read, count.store.shape[1] - 1)
            least_tied = np.zeros_like(columns_read)
        count.counts = partial_counts.saved_counts(
            members, count.counts, most_candidates, least_tied
        )
