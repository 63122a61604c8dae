"""Measures how fast this machine reads memory, and how close counting comes to that.

Counting reads every score once, so it cannot be faster than a pass that only reads the same bytes.
`measure` runs both in turn over the same memory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from .. import _core
from ..counting.ranking import rank
from ..inputs.errors import InputValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECONDS = 30.0
MOST_BYTES = 2 * 10**9  # bytes of scores, if no size is given: far more than caches hold
MOST_FILE_BYTES = 2**29  # bytes of the file that is measured
ASSUMED_FREE_BYTES = 2 * 10**9  # bytes that are assumed to be free if no system call tells
LEAST_BYTES = 2**12  # bytes below which nothing can be timed
COLUMNS = 2**16
FILTERED = 64  # entries of the filter for each task
LEAST_ROUNDS = 2  # the first one also warms up
READ = "read"

Scores: TypeAlias = "NDArray[Any]"
Folder: TypeAlias = str | os.PathLike[str] | None
TimedCalls = Mapping[str, Callable[[], object]]
CallsByThreads = Callable[[int], TimedCalls]  # given a number of threads


class Rate(NamedTuple):
    """The measured rates for one kind of scores and one number of threads.

    Attributes
    ----------
    scores : str
        What was counted: "float32", "float32, filtered", "float32, warm file" or "float16".
    threads, rounds : int
        Number of threads of both, and how often each ran.
    itemsize : int
        Bytes of a score.
    read, counted : float
        Bytes per second of the fastest read-only pass over memory, and of the fastest count.
    """

    scores: str
    threads: int
    rounds: int
    itemsize: int
    read: float
    counted: float

    @property
    def ratio(self) -> float:
        """The rate of counting over that of reading."""
        return self.counted / self.read

    @property
    def scores_per_second(self) -> float:
        """Scores counted in a second."""
        return self.counted / self.itemsize


class Bandwidth(NamedTuple):
    """What `measure` found.

    Attributes
    ----------
    isa : str
        The instruction set that counts.
    threads : int
        The default number of threads.
    nbytes : int
        Bytes of the scores in memory.
    seconds : float
        How long everything took.
    rates : tuple of Rate
    skipped : tuple of str
        What was not measured, and why.
    """

    isa: str
    threads: int
    nbytes: int
    seconds: float
    rates: tuple[Rate, ...]
    skipped: tuple[str, ...]


def measure(
    seconds: float = SECONDS,
    size: int | None = None,
    *,
    folder: Folder = None,
    progress: Callable[[float, str], object] | None = None,
) -> Bandwidth:
    """Time reading and counting random scores in turn, and keep the best rate of each.

    float32 is measured first, without and with a filter, with one thread and with all allowed
    threads. If time is left, a file of float32 whose pages are in memory and float16 follow.

    Parameters
    ----------
    seconds : float
        Roughly how long it may take.
    size : int, optional
        Bytes of scores in memory. Default: a quarter of the free memory, at most 2 GB.
    folder : str or path-like, optional
        Where the file is put while it is measured. Default: the temporary folder, if it has room.
    progress : callable, optional
        Called as ``progress(fraction, text)`` before each measurement.

    Returns
    -------
    Bandwidth

    Raises
    ------
    ValueError
        If `seconds` is not positive, `size` is less than 4,096 or more than the free memory, or
        `folder` has no room for the file.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> found = measure(0.01, 10_000)
    >>> found.rates[0].scores, found.rates[0].threads, found.rates[0].ratio > 0
    ('float32', 1, True)
    """
    start, teams = time.perf_counter(), sorted({1, _core.default_threads()})
    matrix = np.empty(_matrix_shape(seconds, size), dtype=np.float32)
    rates: list[Rate] = []
    skipped: list[str] = []
    left = len(MEASUREMENTS) * len(teams)
    for part, prepare in MEASUREMENTS.items():
        if time.perf_counter() - start >= seconds and rates:
            skipped.append(f"{part}: no time was left")
            continue
        try:
            with prepare(matrix, folder) as (scores, calls):
                for threads in teams:
                    gone = time.perf_counter() - start
                    if progress is not None:
                        text = f"{part}, {threads} thread{'s' * (threads > 1)}"
                        progress(min(gone / seconds, 1.0), text)
                    until = start + gone + (seconds - gone) / left
                    rates += _rates(scores, calls(threads), threads, until)
                    left -= 1
        except _NoRoomError as error:
            skipped.append(f"{part}: {error}")
            left -= len(teams)
    taken = time.perf_counter() - start
    return Bandwidth(_core.isa(), teams[-1], matrix.nbytes, taken, tuple(rates), tuple(skipped))


def _rates(scores: Scores, calls: TimedCalls, threads: int, until: float) -> list[Rate]:
    best, rounds = best_seconds(calls, until)
    read = scores.nbytes / best.pop(READ)
    return [
        Rate(name, threads, rounds, scores.itemsize, read, scores.nbytes / taken)
        for name, taken in best.items()
    ]


def best_seconds(calls: TimedCalls, until: float) -> tuple[dict[str, float], int]:
    """Run calls in turn, so that a disturbance affects all, and return the best seconds of each.

    Parameters
    ----------
    contestants
        The functions to call, by name.
    until
        When to stop, as a time of `time.perf_counter`. Each runs at least twice.

    Examples
    --------
    >>> best, rounds = best_seconds({"nothing": lambda: None}, until=0.0)
    >>> best["nothing"] < 1, rounds
    (True, 2)
    """
    best = dict.fromkeys(calls, float("inf"))
    rounds = 0
    while rounds < LEAST_ROUNDS or time.perf_counter() < until:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
        rounds += 1
    return best, rounds


# -- what is measured ------------------------------------------------------------------------------


class _NoRoomError(ValueError):
    """There is no room for the file."""


def _count(scores: Any, targets: NDArray[np.int64], threads: int, **keywords: Any) -> object:
    return rank(scores, targets, threads=threads, **keywords)


@contextmanager
def _float32_calls(matrix: Scores, _folder: Folder) -> Iterator[tuple[Scores, CallsByThreads]]:
    _fill_with_random(matrix)
    targets, rng = _targets(matrix), np.random.default_rng(1)
    each = min(FILTERED, matrix.shape[1])
    listed = np.sort(rng.integers(0, matrix.shape[1], (len(matrix), each), dtype=np.int32), axis=1)
    lists = np.arange(len(matrix) + 1) * each, listed.reshape(-1)
    yield (
        matrix,
        lambda threads: {
            READ: partial(_core.read_pass, matrix, threads),
            "float32": partial(_count, matrix, targets, threads),
            "float32, filtered": partial(_count, matrix, targets, threads, filter=lists),
        },
    )


@contextmanager
def _file_calls(matrix: Scores, folder: Folder) -> Iterator[tuple[Scores, CallsByThreads]]:
    some = matrix[: max(1, MOST_FILE_BYTES // matrix[0].nbytes)]
    targets = _targets(some)
    place = tempfile.gettempdir() if folder is None else os.fspath(folder)
    # at least as much room as the file takes is left to others
    room, needed = shutil.disk_usage(place).free, 2 * some.nbytes
    if room < needed:
        problem = f"expected room for {needed:,} bytes in {place}, got {room:,}"
        raise _NoRoomError(problem) if folder is None else ValueError(f"folder: {problem}")
    with tempfile.TemporaryDirectory(prefix="truerank-", dir=place) as own:
        path = Path(own) / "scores.npy"
        np.save(path, some)
        yield (
            some,
            lambda threads: {
                READ: partial(_core.read_pass, some, threads),
                "float32, warm file": partial(_count, path, targets, threads),
            },
        )


@contextmanager
def _float16_calls(matrix: Scores, _folder: Folder) -> Iterator[tuple[Scores, CallsByThreads]]:
    half = matrix.reshape(-1).view(np.float16).reshape(-1, matrix.shape[1])
    _fill_with_random(half)
    targets = _targets(half)
    yield (
        half,
        lambda threads: {
            READ: partial(_core.read_pass, half, threads),
            "float16": partial(_count, half, targets, threads),
        },
    )


# Each function fills or uses the memory, and gives the scores and the calls to time. float16, the
# last one, overwrites the float32 scores.
MEASUREMENTS: dict[
    str, Callable[[Scores, Folder], AbstractContextManager[tuple[Scores, CallsByThreads]]]
] = {
    "float32": _float32_calls,
    "float32, warm file": _file_calls,
    "float16": _float16_calls,
}


def _targets(matrix: Scores) -> NDArray[np.int64]:
    rng = np.random.default_rng(2)
    return rng.integers(0, matrix.shape[1], len(matrix))


def _fill_with_random(matrix: Scores) -> None:
    """Fill an array with random scores from 0 to 1; some are repeated, which is faster."""
    flat = matrix.reshape(-1)
    some = np.random.default_rng(0).random(min(flat.size, 2**22), dtype=np.float32)
    some = some.astype(flat.dtype)
    for at in range(0, flat.size, some.size):
        part = flat[at : at + some.size]
        part[:] = some[: part.size]


def _matrix_shape(seconds: float, size: int | None) -> tuple[int, int]:
    if not seconds > 0:
        raise InputValueError("seconds", expected="more than 0", got=seconds)
    free = free_memory()
    nbytes = min(MOST_BYTES, free // 4) if size is None else size
    if nbytes < LEAST_BYTES:
        raise InputValueError("size", expected=f"at least {LEAST_BYTES:,} bytes", got=f"{nbytes:,}")
    if nbytes > free:
        raise InputValueError(
            "size", expected=f"at most the free memory, {free:,} bytes", got=f"{nbytes:,}"
        )
    columns = min(COLUMNS, nbytes // 4)
    return nbytes // (4 * columns), columns


# -- free memory -----------------------------------------------------------------------------------


def free_memory() -> int:
    """Return the bytes of memory that this process may still use, as far as the system tells.

    Examples
    --------
    >>> free_memory() > 0
    True
    """
    found = [_free_on_machine(), _free_in_control_group()]
    known = [nbytes for nbytes in found if nbytes is not None]
    return max(0, min(known)) if known else ASSUMED_FREE_BYTES


def _free_on_machine() -> int | None:
    """Return the free memory of the machine, or half of its memory if only that is known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # some systems have no sysconf
        return None


# By version: the folder of control groups, and the names of the limit, of the used memory, and of
# the part of it that can be freed.
_CONTROL_GROUPS = {
    1: (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
    2: ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
}


def _free_in_control_group(system: Path = Path("/")) -> int | None:
    """Return what the tightest limit leaves, among the group of the process and its parents."""
    left = []
    for version, path in _control_groups(system):
        mount, limit, used, cache = _CONTROL_GROUPS[version]
        for group in (path, *path.parents):  # a container mostly sees its own group as the root
            folder = system / mount / group.relative_to("/")
            try:
                most = int((folder / limit).read_text("ascii"))
                current = int((folder / used).read_text("ascii"))
                lines = (folder / "memory.stat").read_text("ascii").splitlines()
                left.append(most - (current - int(dict(map(str.split, lines))[cache])))
            except (OSError, KeyError, ValueError):  # absent, or "max": no limit
                continue
    return min(left, default=None)


def _control_groups(system: Path) -> list[tuple[int, PurePosixPath]]:
    """Return the versions and paths of the groups of this process; the root if none is listed."""
    found = []
    try:
        for line in (system / "proc/self/cgroup").read_text("utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" or "memory" in controllers.split(","):
                found.append((2 if number == "0" else 1, PurePosixPath("/") / path))
    except (OSError, ValueError):
        pass
    return found or [(2, PurePosixPath("/")), (1, PurePosixPath("/"))]
