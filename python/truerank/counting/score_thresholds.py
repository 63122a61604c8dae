"""Thresholds in place of targets: how many scores of each task are above or equal to each."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..inputs.arrays import index_array
from ..inputs.checks import check_range, check_shape
from ..inputs.errors import InputValueError
from ..inputs.naming import public
from ..inputs.progress_listeners import Progress, as_listener, reporter
from ..inputs.scores import as_scores
from ..inputs.selection import as_selection, selection_of_tasks
from ..stores import store_of
from .block_columns import NO_COLUMN
from .job import SCORES, Job, ScoreNouns
from .partial_counts import PartialCounts, TrueScores
from .threshold_values import ThresholdValues, read_thresholds, representable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..inputs.arrays import IntArray
    from ..inputs.rules import Rules
    from ..stores import Store


@public("truerank.counting.score_thresholds")
class ThresholdCounts(NamedTuple):
    """The candidates above each threshold, equal to it, and in all.

    Attributes
    ----------
    above, tied, candidates : ndarray of int64, shape (tasks,) or (tasks, m)
        The shape is that of the thresholds; a single one for all tasks gives (tasks,). What is
        neither above nor tied is below or, with ``nan="worst"``, NaN.
    """

    above: IntArray
    tied: IntArray
    candidates: IntArray


def count_scores(
    scores: Any,
    thresholds: Any,
    rules: Rules,
    **given: Any,
) -> ThresholdCounts:
    """Count scores in memory, in files or on a device, as `count_above` does.

    `given` are the rows and selections that `prepare_thresholds` takes.
    """
    listener = as_listener(rules.progress)
    store = store_of(scores, rules.dtype, tiled=listener is not None)
    if store is not None:
        with nullcontext() if store is scores else store:
            scored = (store.shape, store.single_row, store.dtype)
            asked = prepare_thresholds(*scored, thresholds, rules=rules, **given)
            return asked.counts(_counts_of_store(store, asked, listener))
    matrix = as_scores(scores, rules.dtype)
    shape: tuple[int, ...] = matrix.array.shape
    single = len(shape) == 1
    if single:
        shape = 1, *shape
    asked = prepare_thresholds(shape, single, matrix.dtype, thresholds, rules=rules, **given)
    job = asked.job
    counted = _core.partial_counts(
        matrix, job.tasks(), asked.values.scores, 0, job.rules, job.threads
    )
    return asked.counts(asked.checked(counted))


class ThresholdJob(NamedTuple):
    """What is to be counted, after all checks: one task of the job for each threshold."""

    job: Job
    values: ThresholdValues
    shape: tuple[int, ...]  # of the counts

    def checked(self, counted: _core.Counts) -> PartialCounts:
        """Take over what the core counted, or raise the error for the fault that it found."""
        if fault := counted.fault:
            raise self.job.error_of(fault)
        return PartialCounts.of(counted.arrays, self.job.rules)

    def counts(self, found: PartialCounts) -> ThresholdCounts:
        """Return the counts for thresholds, given those for the numbers that stand for them."""
        above, tied, size, nan = (found.arrays[x] for x in ("above", "tied", "candidates", "nan"))
        _, exact, lowest = self.values
        above = above + np.where(lowest, tied, 0)
        tied = np.where(exact, tied, 0)
        if self.job.rules.ascending:
            above = size - nan - above - tied
        size = size - nan if self.job.rules.nan == "omit" else size
        return ThresholdCounts(*(x.reshape(self.shape) for x in (above, tied, size)))


def prepare_thresholds(
    shape: tuple[int, ...],
    single_row: bool,
    dtype: str,
    thresholds: Any,
    *,
    rows: Any,
    filter: Any,
    candidates: Any,
    rules: Rules,
    nouns: ScoreNouns = SCORES,
) -> ThresholdJob:
    """Check the arguments of `count_above` for scores of a given shape and dtype."""
    num_threads = rules.num_threads
    numbers = read_thresholds(thresholds, rules.dtype)
    query_rows, tasks = _checked_rows(shape, single_row, numbers.shape, rows, nouns)
    if numbers.ndim and len(numbers) != tasks:
        each = "row" if rows is not None else nouns.row
        expected = f"{tasks} thresholds, one for each {each}, or a matrix of {tasks} rows of them"
        raise InputValueError("thresholds", expected=expected, got=f"shape {numbers.shape}")
    if not numbers.ndim:
        numbers = np.full(tasks, numbers, numbers.dtype)
    left_out = as_selection("filter", filter, tasks, shape[1], num_threads)
    let_in = as_selection("candidates", candidates, tasks, shape[1], num_threads)
    if numbers.ndim == 2:
        owners = np.repeat(np.arange(tasks), numbers.shape[1])
        query_rows = owners if query_rows is None else query_rows[owners]
        left_out = left_out and selection_of_tasks(left_out, owners)
        let_in = let_in and selection_of_tasks(let_in, owners)
    no_targets = np.full(numbers.size, NO_COLUMN, np.int64)
    job = Job(query_rows, no_targets, left_out, let_in, rules.core, num_threads, nouns)
    return ThresholdJob(job, representable(numbers.ravel(), dtype), numbers.shape)


def _checked_rows(
    shape: tuple[int, ...],
    single_row: bool,
    thresholds: tuple[int, ...],
    rows: Any,
    nouns: ScoreNouns,
) -> tuple[IntArray | None, int]:
    """Return the row of each task (None: task i reads row i), and the number of tasks."""
    if rows is not None:
        found = index_array("rows", rows)
        check_shape("rows", found.shape, 1, "a 1-D array")
        check_range("rows", found, shape[0], nouns.rows)
        return found, len(found)
    if single_row:
        tasks = thresholds[0] if thresholds else 1
        return np.zeros(tasks, np.int64), tasks
    return None, shape[0]


def _counts_of_store(
    store: Store, asked: ThresholdJob, listener: Callable[[Progress], object] | None
) -> PartialCounts:
    """Count where a store has its scores: on devices, or tile by tile."""
    from .tiles import count_against

    watch = reporter(listener, store.nbytes)
    watch(0)
    job, true = asked.job, TrueScores(asked.values.scores, store.dtype)
    store.check()
    if store.on_device:
        from .device_counting import count_on_device

        if (found := count_on_device(store, job, true)) is not None:
            watch(store.nbytes)
            return found
    return count_against(store, job, true, watch)
