"""The driver: it counts a source where it is, and goes on with a count that was stopped.

A device counts what is on it. What it cannot count, or may not since a NaN is forbidden there, the
host counts tile by tile: this is the one place that falls back. A function maps the tiles to their
counts, a loop by default, which the driver adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeGuard, TypeVar

from .. import devices
from .._core import Fault
from ..devices.backends import is_read_in_order
from ..devices.score_sources import PartOfTasks
from ..stores import Tile, shape_of
from .checkpoints import Checkpoint
from .job import prepare_job
from .partial_counts import PartialCounts, TrueScores
from .tiles import SourceCounts, TileCount, TileJob

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from .._core import Scores
    from ..arrays.types import IntArray
    from ..devices.task_counts import DeviceCounts
    from ..inputs.rules import Rules
    from ..stores import Store
    from ..stores.on_device import DeviceStore
    from .job import Job
    from .sources import CoreScores, Source

    # A tile map counts tiles, in their order. Counts of several tiles of the same tasks may be one
    # sum, and tiles without tasks may be left out, if there is no checkpoint.
    TileMap = Callable[[Sequence[TileJob]], Iterable[SourceCounts]]

Item = TypeVar("Item")
Opened = TypeVar("Opened")
Counts = TypeVar("Counts")


class Counting(NamedTuple, Generic[Counts]):
    """A count that has begun.

    Attributes
    ----------
    wait : callable
        Waits for the counts, or what is made of them.
    tasks : int
        How many tasks it is of.
    is_pending : bool
        Whether a device still counts. The scores must not change until it is waited for.
    """

    wait: Callable[[], Counts]
    tasks: int
    is_pending: bool


def host_place(device: str) -> str | None:
    """Return what a protocol says of scores of a device that the host counts; None without one."""
    if not device:
        return None
    return f"{device}, host"


def ignore_progress(done: int, resumed: int = 0) -> None:
    """Tell nobody how far a count has come."""


def is_counted_in_order(scores: object, rules: Rules) -> TypeGuard[DeviceStore]:
    """Whether a device counts scores in the order of the stream that makes them."""
    return not rules.audit and is_read_in_order(scores)


def prepare_where_they_are(
    scores: Scores | Store, tasks: Mapping[str, Any], rules: Rules, *, may_stay: bool = True
) -> Job:
    """Prepare the job of tasks, as `prepare_job` does.

    Targets and selections that are on the device of the scores stay there, if they `may_stay`.
    """
    prepare = partial(prepare_job, shape_of(scores), rows=tasks.get("rows"), rules=rules)
    given: dict[str, Any] = {name: tasks.get(name) for name in ("targets", "filter", "candidates")}
    if may_stay and is_counted_in_order(scores, rules):
        job: Job = devices.job_on_device(scores, prepare, given)
        return job
    return prepare(**given)


def begin_count(
    source: Source,
    job: Job,
    true_scores: npt.NDArray[Any] | None = None,
    *,
    first_column: int = 0,
    report_progress: Callable[..., object] = ignore_progress,
    checkpoint: str | os.PathLike[str] | None = None,
    tile_map: TileMap | None = None,
) -> Counting[SourceCounts]:
    """Begin to count a source where it is; the host has counted it when this returns.

    The host counts what an audit asks for, keeps a checkpoint, and finds a NaN that is forbidden.

    Parameters
    ----------
    source : Source
    job : Job
        Rows are numbered in the source.
    true_scores : ndarray, shape (tasks,), optional
        As the core takes them; the counts are then partial ones. Default: the scores of the
        targets; the counts are final.
    first_column : int
        The number of the first column of the source, as the job numbers columns.
    report_progress : callable
        Told how many bytes are done, and how many of them a checkpoint had.
    checkpoint : path-like, optional
        As in `rank`.
    tile_map : callable, optional
        Counts tiles on the host, or where a scheduler has workers. Default: one after the other.

    Returns
    -------
    Counting
        Its counts are of all tasks.
    """
    if true_scores is None:
        job.check_targets()

    def count_on_host() -> SourceCounts:
        place = host_place(source.device)
        if source.is_whole:
            report_progress(0)
            whole = Tile(0, 0, *source.shape)
            tile_job = TileJob(whole, slice(None), job, true_scores, first_column)
            with source.opened(whole) as scores:
                counted = tile_job.counted(scores)
            report_progress(source.nbytes)
            return counted._replace(place=place)
        count = TileCount(source, job, true_scores, first_column)
        map_tiles = tile_map or partial(count_in_turn, source)
        fault = count_tiles(count, map_tiles, report_progress, checkpoint)
        if fault is not None:
            return SourceCounts(count.counts.arrays, fault, place=place)
        return SourceCounts(count.final_counts(), place=place)

    device_counts = None
    if source.device and checkpoint is None and not job.rules.audit:
        tasks = PartOfTasks(
            job.rows,
            job.targets,
            job.filter,
            job.candidates,
            first_column,
            forbids_nan=job.rules.nan == "raise",
            is_checked=job.checked is None,
        )
        device_counts = source.begin_on_device(tasks, true_scores)
    if device_counts is None:
        counted = count_on_host()
        return Counting(lambda: counted, len(job.targets), is_pending=False)
    report_progress(0)

    def wait() -> SourceCounts:
        counted = wait_for_device(device_counts, source, job, true_scores is None)
        if counted is None:
            return count_on_host()
        if counted.fault is None:
            report_progress(source.nbytes)
        return counted

    return Counting(wait, len(job.targets), is_pending=True)


def wait_for_device(
    device_counts: DeviceCounts, source: Source, job: Job, is_final: bool
) -> SourceCounts | None:
    """Wait for the counts of a device; None if the host has to find the place of a NaN."""
    if job.checked is not None and device_counts.has_faults():
        return begin_count(source, job.checked()).wait()  # It raises.
    counts = PartialCounts(device_counts.arrays(), job.rules)
    true = TrueScores(device_counts.true_scores(), source.dtype)
    place = f"{source.device}, {device_counts.backend}"
    void = counts.void_tasks(true)
    if len(void):
        if not device_counts.finds_nan:
            return None
        fault = Fault(job.kind_of_true_nan, *device_counts.first_nan(void))
        return SourceCounts(counts.arrays, fault, place=place)
    if is_final:
        return SourceCounts(counts.final_counts(true), place=place)
    return SourceCounts(counts.arrays, place=place)


def count_source(
    source: Source, job: Job, **options: Any
) -> tuple[dict[str, IntArray], str | None]:
    """Count a source, as `begin_count` does; raise the error of a fault.

    Returns
    -------
    counts : dict of str to ndarray of int64, shape (tasks,)
    place : str or None
        The device and what counted there, as a protocol names them.
    """
    counted = begin_count(source, job, **options).wait()
    if counted.fault is not None:
        raise job.error_of(counted.fault)
    return counted.arrays, counted.place


def count_tiles(
    count: TileCount,
    tile_map: TileMap,
    report_progress: Callable[..., object],
    checkpoint: str | os.PathLike[str] | None = None,
) -> Fault | None:
    """Count the tiles that are left, and keep the counts in a file if there is to be one.

    Returns
    -------
    Fault or None
        The first NaN that the rule forbids, at which the count ends.
    """
    saved = None if checkpoint is None else Checkpoint(checkpoint, count)
    itemsize = count.source.itemsize
    sizes = [tile.height * tile.width * itemsize for tile in count.tiles]
    resumed = sum(sizes[: count.done])
    done = resumed
    report_progress(done, resumed)
    jobs = [count.job_of(tile) for tile in count.tiles[count.done :]]
    try:
        for counted in tile_map(jobs):
            if counted.fault is not None:
                return counted.fault
            count.add(counted)
            done += sizes[count.done - 1]
            report_progress(done, resumed)
            if saved is not None and saved.is_due():
                saved.save()
    finally:
        # A tile that is half added would be added again, so the last file is not replaced then.
        if saved is not None and not count.is_half_added:
            saved.save()
    return None


def open_if_needed(source: Source, job: TileJob) -> AbstractContextManager[CoreScores | None]:
    """Open a tile, if any task reads it."""
    if not job.has_tasks:
        return nullcontext()
    return source.opened(job.tile)


def count_in_turn(source: Source, jobs: Sequence[TileJob]) -> Iterator[SourceCounts]:
    """Count tiles one after the other."""
    opened = partial(open_if_needed, source)
    for job, scores in open_in_turn(opened, jobs, one_ahead=not source.in_place):
        counted = job.counted(scores)
        del scores  # No reference may stay, so that a file can be unmapped.
        yield counted


def open_in_turn(
    opened: Callable[[Item], AbstractContextManager[Opened]],
    items: Sequence[Item],
    *,
    one_ahead: bool,
) -> Iterator[tuple[Item, Opened]]:
    """Yield items with what is opened for each, until the next is asked for.

    With `one_ahead`, the next one is opened meanwhile, on a thread of its own.
    """
    if not one_ahead or len(items) < 2:
        for item in items:
            with opened(item) as value:
                yield item, value
                del value
        return
    from concurrent.futures import ThreadPoolExecutor

    def entered(item: Item) -> tuple[ExitStack, Opened]:
        stack = ExitStack()
        return stack, stack.enter_context(opened(item))

    with ThreadPoolExecutor(1, thread_name_prefix="truerank-open") as executor:
        ahead = [executor.submit(entered, items[0])]
        for i, item in enumerate(items):
            if i + 1 < len(items):
                ahead.append(executor.submit(entered, items[i + 1]))
            stack, value = ahead.pop(0).result()
            with stack:
                yield item, value
                del value
