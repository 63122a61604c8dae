"""RankCounter: ranks from scores that come in blocks of candidates, in any order."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Unpack

import numpy as np

from .. import _core
from .._core import Scores
from ..devices.task_counts import DeviceCounts, PartOfTasks
from ..devices.ways import count_stored
from ..inputs.checks import check_shape, forbidden_nan
from ..inputs.errors import InputTypeError, InputValueError, warn_user
from ..inputs.naming import public
from ..inputs.progress_listeners import Progress, as_listener
from ..inputs.rules import RuleOptions, read_rules, with_options
from ..inputs.selection import selection_arrays
from ..ranks.container import Ranks
from ..ranks.protocol import Protocol
from ..stores import Store, read_scores, shape_of
from .block_columns import BlockColumns, ColumnSet, column_range, locate_block
from .counter_arguments import checked_columns, checked_filter, checked_rows, checked_targets
from .job import Job
from .partial_counts import PartialCounts, TrueScores, checked_true_scores, refuse_nan_true_score
from .saved_counters import CounterState, read, write
from .summed_counts import checked_sum, summable
from .tiles import column_tiles

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from ..inputs.arrays import IntArray


@public("truerank")
class RankCounter:
    """Count ranks from blocks of candidates, in the order in which a model happens to make them.

    The true scores must be known before. Each block is compared with them and can then be
    forgotten; after all blocks, `ranks` returns the same integers as `rank` for the whole matrix.
    Several threads may call `update` at once. Counters of disjoint blocks, also from other
    processes or machines, can be merged, or their `counts` be summed.

    Parameters
    ----------
    true_scores : array_like, shape (tasks,)
        The score of each task's true candidate, in the dtype of the blocks. It counts, even if a
        block has another score for that candidate.
    targets : array_like of int, shape (tasks,), or int, optional
        The column of each task's true candidate, which is counted once, with its true score.
        Without targets, blocks contain only other candidates, which have no columns: sampled
        negatives.
    candidates : int, optional
        The number of columns in all; required if there are targets.
    filter : selection, optional
        Columns to leave out, as in `rank`; only if there are targets.
    rows : array_like of int, shape (tasks,), optional
        The row of every block that each task reads. Default: task i reads row i.
    order, nan, dtype, threads, audit
        As in `rank`.
    progress : callable or bool, optional
        Called with a `Progress` after each update, in columns of those in all; not where
        candidates have no columns. True: a bar of tqdm. It is not saved.

    Attributes
    ----------
    differing : ndarray of int64, shape (tasks,)
        1 where the block with the target's column has another score for it than `true_scores` (NaN
        equals NaN): the model scored the same pair differently in two batches. `ranks` warns about
        it, and `Report.audit` shows it if `audit` is true.

    Raises
    ------
    TypeError
        For scores of different dtypes (both are named), and for indices that are not integers.
    ValueError
        For shapes that do not fit, targets out of range, and a NaN that the rule forbids.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> scores = np.array([[0.1, 0.9, 0.5, 0.5], [0.7, 0.2, 0.2, 0.3]])
    >>> targets = np.array([2, 1])
    >>> counter = tr.RankCounter(scores[[0, 1], targets], targets, candidates=4)
    >>> counter.update(scores[:, 2:], start=2)
    >>> counter.update(scores[:, [1, 0]], columns=[1, 0])
    >>> counter.ranks().optimistic, counter.ranks().pessimistic
    (array([2, 3]), array([3, 4]))

    Sampled negatives:

    >>> counter = tr.RankCounter([0.5, 0.2])
    >>> counter.update([[0.1, 0.9], [0.7, 0.3]])
    >>> counter.ranks().optimistic
    array([2, 3])
    """

    @with_options(RuleOptions)
    def __init__(
        self,
        true_scores: Any,
        targets: Any = None,
        *,
        candidates: int | None = None,
        filter: Any = None,
        rows: Any = None,
        **options: Unpack[RuleOptions],
    ) -> None:
        rules = read_rules(options)
        self._listener = as_listener(rules.progress)
        self._began = time.monotonic()
        scores = checked_true_scores(true_scores, rules.dtype)
        tasks = len(scores.array)
        columns = checked_columns(targets, candidates)
        job = Job(
            checked_rows(rows, tasks),
            checked_targets(targets, tasks, columns),
            checked_filter(filter, tasks, columns, rules.num_threads),
            None,
            rules.core,
            rules.num_threads,
        )
        self._start(scores, job, columns, rules.dtype is not None)

    _listener: Callable[[Progress], object] | None = None  # a counter that was read has none

    def _start(self, scores: Scores, job: Job, columns: int | None, is_dtype_given: bool) -> None:
        self._dtype = scores.dtype
        self._is_dtype_given = (
            is_dtype_given  # what the caller said about raw bytes is also true of blocks
        )
        self._true_scores = TrueScores(scores.array, scores.dtype)
        self._job = job
        self._columns = columns
        refuse_nan_true_score(self._true_scores, job.rules.nan)
        # replaced as a whole, so that an interrupted call has counted all of a block or nothing
        self._settled = _CountedColumns(self._zero_counts(), column_range(0, 0))
        self._pending: _PendingBlock | None = None  # which a device may still count
        self._lock = threading.RLock()

    # -- counting --------------------------------------------------------------------------------

    def update(self, block: Any, *, start: int | None = None, columns: Any = None) -> None:
        """Count a block of candidates.

        Parameters
        ----------
        block : array_like, shape (rows, width), or (width,) for a single row that all tasks read
            The scores, of the dtype of `true_scores`, in any layout that `rank` takes, also on a
            device.
        start : int, optional
            The number of the block's first column; the others follow it.
        columns : array_like of int, shape (width,), optional
            The numbers of the block's columns, in any order. If there are targets, `start` or
            `columns` is required, unless the block has all columns.

        Raises
        ------
        TypeError
            For a block of another dtype than the true scores; both are named.
        ValueError
            For a block of another shape, for a column that is out of range, repeated or already
            counted, and for a NaN that the rule forbids. The counter then stays as it was.

        Notes
        -----
        A block on a device is counted there while the caller goes on; the next call waits for it.
        If it has a NaN that the rule forbids, the next call of any method raises the error, and
        the block is not counted. It must not change until then.
        """
        dtype = self._dtype if self._is_dtype_given else None
        self._count_block(read_scores(block, dtype, "block"), "block", start, columns)
        if self._listener is not None and self._columns:
            seconds = time.monotonic() - self._began
            done = self._columns_begun()
            self._listener(Progress(done, self._columns, seconds, unit="columns"))

    def _columns_begun(self) -> int:
        """The number of columns that are counted, also of a block that a device still counts."""
        size, pending = self._settled.seen.size, self._pending
        return size + (0 if pending is None else pending.columns.columns.size)

    def _count_block(
        self, scores: Scores | Store, name: str, start: int | None = None, columns: Any = None
    ) -> None:
        """Count a block; `name` is the argument that it was given as, for the messages."""
        if scores.dtype != self._dtype:
            raise InputTypeError(
                name, expected=f"{self._dtype}, as true_scores are", got=scores.dtype
            )
        shape, rows = shape_of(scores), self._job.rows
        if len(shape) == 1:
            if self._columns is None:  # is it one score for each task, or are all for each task?
                raise InputValueError(name, expected="a matrix (tasks, k)", got=f"shape {shape}")
            shape = 1, *shape
            rows = np.zeros(len(self._job.targets), np.int64)
        self._check_height(name, shape, rows)
        block_columns = locate_block(self._job, self._columns, shape[1], start, columns)
        before = self._counted
        self._refuse_counted(name, block_columns.columns)
        pending = self._begin(scores, name, rows, block_columns)
        if pending is not None:
            with self._lock:
                self._refuse_counted(name, block_columns.columns)
                self._pending = pending
            return
        counts = self._block_counts(scores, name, rows, block_columns)
        with self._lock:
            if self._counted is not before:  # another thread may have been faster
                self._refuse_counted(name, block_columns.columns)
            self._add(counts, block_columns.columns)

    def _add(self, counts: dict[str, IntArray], columns: ColumnSet) -> None:
        partial_counts, seen = self._settled
        self._settled = _CountedColumns(partial_counts.plus(counts), seen | columns)

    @property
    def _counted(self) -> _CountedColumns:
        """What has been counted, after a wait for the block that a device still counts."""
        with self._lock:
            pending, self._pending = self._pending, None
            if pending is not None:
                self._add(self._counts_of(pending), pending.columns.columns)
            return self._settled

    def _begin(
        self, scores: Scores | Store, name: str, rows: IntArray | None, block_columns: BlockColumns
    ) -> _PendingBlock | None:
        """Let a device begin to count a block; None if the host counts it."""
        if not isinstance(scores, Store):
            return None
        targets, filter = block_columns.targets, block_columns.filter
        task_rows = np.arange(len(targets)) if rows is None else rows
        tasks = PartOfTasks(task_rows, targets, filter, first_column=block_columns.first)
        counts = count_stored(scores, tasks, self._true_scores.scores, self._job.rules)
        return None if counts is None else _PendingBlock(counts, scores, name, rows, block_columns)

    def _counts_of(self, block: _PendingBlock) -> dict[str, IntArray]:
        """Wait for the partial counts of a block; the host has to find a NaN."""
        counts = block.counts.arrays()
        if self._job.rules.nan == "raise" and counts["nan"].any():
            return self._block_counts(*block[1:])
        return counts

    def _block_counts(
        self, scores: Scores | Store, name: str, rows: IntArray | None, block_columns: BlockColumns
    ) -> dict[str, IntArray]:
        """Return the partial counts of a block, for all tasks, in new arrays."""
        total: PartialCounts | None = None
        with column_tiles(scores) as tiles:
            for first, matrix in tiles:
                counted = _core.partial_counts(
                    _core.Scores(matrix, scores.dtype, scores.swapped),
                    _core.Tasks(rows, block_columns.targets, block_columns.filter),
                    self._true_scores.scores,
                    block_columns.first + first,
                    self._job.rules,
                    self._job.threads,
                )
                if fault := counted.fault:
                    self._refuse_nan(name, fault.row, fault.column + first, block_columns)
                counts = counted.arrays
                total = total.plus(counts) if total else PartialCounts.of(counts, self._job.rules)
        return (total or self._zero_counts()).arrays

    def _zero_counts(self) -> PartialCounts:
        return PartialCounts(len(self._job.targets), self._job.rules)

    def _refuse_nan(
        self, name: str, row: int, column: int, block_columns: BlockColumns
    ) -> NoReturn:
        whole_column = block_columns.whole_column(column)
        in_whole = (
            "" if self._columns is None or whole_column == column else f" (column {whole_column})"
        )
        place = f"the score at row {row}, column {column}{in_whole}"
        raise forbidden_nan(name, place, self._job.rules.nan)

    def _refuse_counted(self, name: str, columns: ColumnSet) -> None:
        repeated = self._counted.seen.first_common(columns)
        if repeated >= 0:
            raise InputValueError(name, f"column {repeated} has been counted before")

    def _check_height(self, name: str, shape: tuple[int, ...], rows: IntArray | None) -> None:
        tasks = len(self._job.targets)
        if rows is not None:
            task = _core.first_outside(rows, shape[0])
            if task >= 0:
                expected = f"more than {rows[task]} rows, for task {task} reads that row"
                raise InputValueError(name, expected=expected, got=f"shape {shape}")
        else:
            check_shape(name, shape, (tasks, shape[1]), f"{tasks} rows, one for each task")

    # -- results ---------------------------------------------------------------------------------

    @property
    def differing(self) -> IntArray:
        """Per task, how many blocks had another score for its true candidate: int64, (tasks,)."""
        return self._counted.partial_counts.arrays["differing"].copy()

    def counts(self) -> IntArray:
        """Return what has been counted as integers, which may be summed over processes.

        Counters of disjoint columns, with the same true scores, targets, filter and rules, add up:
        the sum of their arrays, given to the `ranks` of any of them, gives the ranks of all
        columns. This is for collective operations, such as ``torch.distributed.all_reduce``.

        Returns
        -------
        ndarray of int64, shape (7, tasks)
            Partial counts, without the true candidates: scores greater than the true score, equal
            to it, all, NaN, and whether the target's own differed; the number of columns; and a
            number by which `ranks` sees that the sum is of the same tasks and of each column once.
            Sums of it wrap around. Without targets, candidates have no columns, and the last two
            rows are 0: what is summed is not checked.

        Raises
        ------
        ValueError
            With ``audit=True``, since the best scores are no sums; `merge` joins such counters.

        Examples
        --------
        >>> import truerank as tr
        >>> scores = np.array([[0.1, 0.9, 0.5, 0.5], [0.7, 0.2, 0.2, 0.3]])
        >>> halves = [tr.RankCounter([0.5, 0.2], [2, 1], candidates=4) for _ in range(2)]
        >>> halves[0].update(scores[:, :2], start=0)  # in one process
        >>> halves[1].update(scores[:, 2:], start=2)  # in another
        >>> halves[0].ranks(halves[0].counts() + halves[1].counts()).pessimistic
        array([3, 4])
        """
        if self._job.rules.audit:
            raise InputValueError(
                "audit", expected="False for counts that are summed; merge joins audits, too"
            )
        return summable(*self._counted, self._identity())

    def ranks(self, counts: Any = None) -> Ranks:
        """Return the ranks of all tasks, once all columns have been counted.

        Parameters
        ----------
        counts : array_like of int, shape (7, tasks), optional
            The sum of the `counts` of several counters, in place of what this one has counted.

        Returns
        -------
        Ranks
            The same as from `rank`. Without targets the protocol says "sampled". The counter does
            not change, and can be updated further.

        Raises
        ------
        TypeError
            If `counts` are not integers.
        ValueError
            If columns are missing; the first one is named. If `counts` are no sum over all columns,
            each counted once, for the same true scores, targets, filter and rules.

        Warns
        -----
        UserWarning
            If a block's score of a true candidate differs from `true_scores`.
        """
        if counts is None:
            partial_counts = self._whole_counts()
        else:
            every = None if self._columns is None else column_range(0, self._columns)
            tasks = len(self._job.targets)
            partial_counts = checked_sum(counts, self._job.rules, every, self._identity(), tasks)
        final = partial_counts.final_counts(self._true_scores)
        differing = partial_counts.arrays["differing"]
        tasks = int(np.count_nonzero(differing))
        if tasks:
            first = int(differing.argmax())
            warn_user(
                f"true_scores: {tasks} of {len(differing)} true candidates have another score in "
                f"their block, first that of task {first}: the model scores a pair differently in "
                "two batches"
            )
        return ranks_of_counts(self._job, final, self._dtype, sampled=self._columns is None)

    def _whole_counts(self) -> PartialCounts:
        """Return the counts of all columns."""
        partial_counts, seen = self._counted
        missing = seen.missing(self._columns or 0)
        if missing.size:
            others = f"{missing.size} of {self._columns} columns are missing"
            problem = f"column {missing.starts[0]} has not been counted ({others})"
            raise InputValueError("update", problem)
        return partial_counts

    def __repr__(self) -> str:
        what = f"{len(self._job.targets)} tasks, {self._dtype}"
        if self._columns is None:
            return f"RankCounter({what}, sampled)"
        return f"RankCounter({what}, {self._columns_begun()} of {self._columns} columns)"

    # -- merging ---------------------------------------------------------------------------------

    def merge(self, other: RankCounter) -> RankCounter:
        """Add what another counter of the same tasks has counted; the order of merges is free.

        Parameters
        ----------
        other : RankCounter
            A counter of other columns with the same true scores, targets, filter and rules. It does
            not change. `rows` and `threads` may differ.

        Returns
        -------
        RankCounter
            This counter, so that `functools.reduce` can merge many.

        Raises
        ------
        TypeError
            If `other` is not a RankCounter.
        ValueError
            If the tasks or rules of the counters differ, or if both have counted a column.
        """
        if not isinstance(other, RankCounter):
            raise InputTypeError("other", expected="a RankCounter", got=type(other).__name__)
        if other is self:
            raise InputValueError("other", expected="another counter", got="this one")
        differences = self._differences(other)
        if differences:
            raise InputValueError(
                "other", expected=f"a counter of the same {differences[0]}", got="another"
            )
        other_counted = other._counted
        with self._lock:
            repeated = self._counted.seen.first_common(other_counted.seen)
            if repeated >= 0:
                raise InputValueError("other", f"both counters have counted column {repeated}")
            others = other_counted.partial_counts.arrays
            self._add({name: array.copy() for name, array in others.items()}, other_counted.seen)
        return self

    def _differences(self, other: RankCounter) -> list[str]:
        own, theirs = self._identity(), other._identity()
        return [name for name in own if not _are_equal(own[name], theirs[name])]

    def _identity(self) -> dict[str, Any]:
        job = self._job
        return {
            "dtype": self._dtype,
            "candidates": self._columns,
            "true_scores": np.where(self._true_scores.nan, 0, self._true_scores.keys),
            "true_scores, whose NaN count,": self._true_scores.nan,
            "targets": job.targets,
            "filter": job.filter and selection_arrays(job.filter),
            "order, nan and audit": (job.rules.ascending, job.rules.nan, job.rules.audit),
        }

    # -- saving ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counter to a file, exactly at `path`, whole or not at all; see `load`.

        Raises
        ------
        OSError
            If the folder is absent or cannot be written, or the disk is full.
        ValueError
            If `path` exists and is not a regular file.
        """
        write(path, self._state())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> RankCounter:
        """Read a counter that `save` wrote; it can be updated, merged and asked for ranks.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        ValueError
            If the file is truncated, damaged, of another kind, or of a newer format. The error
            names the file.

        Examples
        --------
        >>> import tempfile
        >>> import truerank as tr
        >>> counter = tr.RankCounter([0.5], [1], candidates=3)
        >>> counter.update([[0.2, 0.5]], start=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     counter.save(f"{folder}/part.npz")
        ...     tr.RankCounter.load(f"{folder}/part.npz")
        RankCounter(1 tasks, float64, 2 of 3 columns)
        """

        def empty(*args: Any, **keywords: Any) -> CounterState:
            return RankCounter(*args, **keywords)._state()

        counter = RankCounter.__new__(RankCounter)
        counter._restore(read(path, empty))
        return counter

    def _state(self) -> CounterState:
        partial_counts, seen = self._counted
        true_scores, dtype, job = self._true_scores.scores, self._dtype, self._job
        return CounterState(
            true_scores,
            dtype,
            job,
            self._columns,
            self._is_dtype_given,
            seen,
            partial_counts.arrays,
        )

    def _restore(self, state: CounterState) -> None:
        scores = Scores(state.scores, state.dtype, False)
        self._start(scores, state.job, state.columns, state.raw)
        partial_counts = self._zero_counts()
        partial_counts.arrays = state.counts
        self._settled = _CountedColumns(partial_counts, state.seen)

    def __getstate__(self) -> dict[str, Any]:
        return self._state()._asdict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(CounterState(**state))


class _CountedColumns(NamedTuple):
    """The partial counts, and the columns that they are of."""

    partial_counts: PartialCounts
    seen: ColumnSet


class _PendingBlock(NamedTuple):
    """A block that a device may still count."""

    counts: DeviceCounts
    scores: Store
    name: str  # of the argument, for the messages
    rows: IntArray | None
    columns: BlockColumns


def ranks_of_counts(
    job: Job, counts: Mapping[str, IntArray], dtype: str, *, sampled: bool
) -> Ranks:
    """Make Ranks of final counts; sampled candidates are noted in their protocol."""
    ranks = job.ranks(counts, dtype)
    if not sampled:
        return ranks
    protocol = Protocol(
        sampled=True,
        nan=job.rules.nan,
        order=ranks.protocol.order,
        dtype=dtype,
        version=ranks.protocol.version,
    )
    return ranks._with(protocol=protocol)


def _are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_are_equal, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b)
