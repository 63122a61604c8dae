"""Scores on devices are counted there; only counts come back, and they are waited for once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..devices.task_counts import PartOfTasks, PendingCounts, count_tasks
from ..devices.ways import DevicePart, StoredScores, parts_of
from ..stores.on_device import copy_to_device
from .partial_counts import PartialCounts, TrueScores

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from .._core import Rules
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from ..stores import Store
    from .job import Job


class DeviceCount:
    """Partial counts of tasks in the scores of a store, which devices may still compute.

    Parameters
    ----------
    store : Store
    parts : list of DevicePart
        The parts of the store, one for each device.
    tasks : PartOfTasks
    true_scores : ndarray, shape (tasks,), optional
        In the form that the core takes them. Default: the scores of the targets.
    rules : Rules
    """

    def __init__(
        self,
        store: Store,
        parts: list[DevicePart],
        tasks: PartOfTasks,
        true_scores: npt.NDArray[Any] | None,
        rules: Rules,
    ) -> None:
        self._store, self._tasks, self._rules = store, tasks, rules
        rows = tasks.rows
        if true_scores is None and len(parts) > 1:
            true_scores = store.take(rows, tasks.targets)
        self._given, self._way = true_scores, parts[0].way
        self._pending: list[tuple[IntArray, PendingCounts]] = []
        for top, left, tensor, stream, way in parts:
            inside = (rows >= top) & (rows < top + tensor.shape[0])
            where = np.flatnonzero(inside)
            some = tasks if inside.all() else tasks.those(where)
            counted = some._replace(rows=some.rows - top, first_column=some.first_column + left)
            source = StoredScores(tensor, store.dtype, way)
            with stream.current():
                true = None
                if true_scores is not None:
                    true = _on_device(true_scores[where], tensor)
                self._pending.append((where, count_tasks(source, stream, counted, true, rules)))

    def partial_counts(self) -> PartialCounts:
        """Wait for the counts, and return their sum over the parts."""
        total = PartialCounts(len(self._tasks.targets), self._rules)
        for where, pending in self._pending:
            total.add(pending.arrays(), where)
        return total

    @property
    def way(self) -> str:
        """The device and the way, as a protocol names them."""
        return f"{self._store.device}, {self._way}"

    def true_scores(self) -> npt.NDArray[Any]:
        """Wait for the true scores."""
        if self._given is not None:
            return self._given
        ((_, pending),) = self._pending
        return pending.true_scores()

    def first_row(self, which: npt.NDArray[np.bool_]) -> tuple[int, IntArray]:
        """Return the first row that some of the tasks read, and all tasks that read it."""
        return first_row(self._tasks.rows, which)

    def row_on_host(self, row: int) -> _core.Scores:
        """Copy one row of scores to the host."""
        columns = np.arange(self._store.shape[1])
        scores = self._store.take(np.full_like(columns, row), columns)
        return _core.Scores(scores[None, :], self._store.dtype, False)


def first_row(rows: IntArray, which: npt.NDArray[np.bool_]) -> tuple[int, IntArray]:
    """Return the first row that some tasks read, and all tasks that read it.

    Examples
    --------
    >>> first_row(np.array([4, 2, 3, 2]), np.array([True, True, False, False]))
    (2, array([1, 3]))
    """
    row = int(rows[which].min())
    return row, np.flatnonzero(rows == row)


def tasks_of(job: Job) -> PartOfTasks:
    """Return the tasks of a job, in the whole matrix."""
    return PartOfTasks(job.all_rows, job.targets, job.filter, job.candidates)


def begin_count(
    store: Store, tasks: PartOfTasks, true_scores: npt.NDArray[Any] | None, rules: Rules
) -> DeviceCount | None:
    """Begin to count where the scores are; None if they have to be copied to the host."""
    parts = parts_of(store)
    return DeviceCount(store, parts, tasks, true_scores, rules) if parts else None


def rank_on_device(store: Store, job: Job) -> Ranks | None:
    """Rank a job's tasks where the scores are; None if they have to be copied to the host."""
    count = begin_count(store, tasks_of(job), None, job.rules)
    if count is None:
        return None
    counted = count.partial_counts()
    true = TrueScores(count.true_scores(), store.dtype)

    def count_row(row: int, tasks: _core.Tasks, _: npt.NDArray[Any]) -> _core.Counts:
        return _core.rank(count.row_on_host(row), tasks, job.rules, job.threads)

    check_nan(job, counted, true, count_row)
    return job.ranks(counted.final_counts(true), store.dtype, device=count.way)


def count_on_device(store: Store, job: Job, true: TrueScores) -> PartialCounts | None:
    """Count against true scores that need not be in a store; None if the host has to count."""
    count = begin_count(store, tasks_of(job), true.scores, job.rules)
    if count is None:
        return None
    counted = count.partial_counts()

    def count_row(row: int, tasks: _core.Tasks, scores: npt.NDArray[Any]) -> _core.Counts:
        host_row = count.row_on_host(row)
        return _core.partial_counts(host_row, tasks, scores, 0, job.rules, job.threads)

    check_nan(job, counted, true, count_row)
    return counted


def check_nan(
    job: Job,
    counted: PartialCounts,
    true: TrueScores,
    count_row: Callable[[int, _core.Tasks, npt.NDArray[Any]], _core.Counts],
) -> None:
    """Raise the error for the first NaN that the rule of a job forbids.

    Parameters
    ----------
    job : Job
    counted : PartialCounts
        Those of all its candidates.
    true : TrueScores
    count_row : callable
        Lets the core count tasks of a row, given its number and their true scores, in a copy of it:
        to find the column.
    """
    with_nan = true.nan.copy()
    if job.rules.nan == "raise":
        with_nan |= counted.arrays["nan"] > 0
    if job.rules.nan == "worst" or not with_nan.any():
        return
    all_tasks = tasks_of(job)
    row, tasks = first_row(all_tasks.rows, with_nan)
    some = all_tasks.those(tasks)
    zeros = np.zeros_like(tasks)
    core_tasks = _core.Tasks(zeros, some.targets, some.filter, some.candidates)
    counts = count_row(row, core_tasks, true.scores[tasks])
    assert counts.fault is not None
    fault = counts.fault
    raise job.error_of(_core.Fault(fault.kind, int(tasks[fault.task]), row, fault.column))


def _on_device(scores: npt.NDArray[Any], tensor: Any) -> Any:
    """Copy true scores, in the core's form, to a tensor's device, in its dtype."""
    bits = sys.modules["torch"].from_numpy(scores.view(f"i{scores.itemsize}").copy())
    return copy_to_device(bits.view(tensor.dtype), tensor.new_empty(scores.shape))
