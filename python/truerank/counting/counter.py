"""RankCounter: ranks from scores that come in blocks of candidates, in any order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from .. import _core
from .._core import Scores
from ..inputs.arrays import index_array
from ..inputs.checks import check_range, check_shape, forbidden_nan, integer, thread_count
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.selection import as_selection, copy_selection, selection_arrays
from ..ranks.container import Ranks
from ..ranks.protocol import Protocol
from ..stores import Store, read_scores, shape_of
from .block_columns import NO_COLUMN, BlockColumns, ColumnSet, column_range, locate_block
from .job import Job, rules_of
from .partial_counts import PartialCounts, TrueScores, checked_true_scores, refuse_nan_true_score
from .saved_counters import CounterState, read, write
from .tiles import column_tiles

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from .._core import Selection
    from ..inputs.arrays import IntArray


@public("truerank")
class RankCounter:
    """Count ranks from blocks of candidates, in the order in which a model happens to make them.

    The true scores must be known before. Each block is compared with them and can then be
    forgotten; after all blocks, `ranks` returns the same integers as `rank` for the whole matrix.
    Several threads may call `update` at once. Counters of disjoint blocks, also from other
    processes or machines, can be merged.

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

    def __init__(
        self,
        true_scores: Any,
        targets: Any = None,
        *,
        candidates: int | None = None,
        filter: Any = None,
        rows: Any = None,
        order: str = "descending",
        nan: str = "raise",
        dtype: Any = None,
        threads: int | None = None,
        audit: bool = False,
    ) -> None:
        scores = checked_true_scores(true_scores, dtype)
        rules = rules_of(order, nan, audit)
        num_threads = thread_count(threads)
        tasks = len(scores.array)
        columns = _checked_columns(targets, candidates)
        job = Job(
            _checked_rows(rows, tasks),
            _checked_targets(targets, tasks, columns),
            _checked_filter(filter, tasks, columns, num_threads),
            None,
            rules,
            num_threads,
        )
        self._start(scores, job, columns, dtype is not None)

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
        self._counted = _CountedColumns(self._zero_counts(), column_range(0, 0))
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
        """
        dtype = self._dtype if self._is_dtype_given else None
        self._count_block(read_scores(block, dtype, "block"), "block", start, columns)

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
        self._refuse_counted(name, block_columns.columns)
        before = self._counted
        counts = self._block_counts(scores, name, rows, block_columns)
        with self._lock:
            if self._counted is not before:  # another thread may have been faster
                self._refuse_counted(name, block_columns.columns)
            partial_counts, seen = self._counted
            self._counted = _CountedColumns(
                partial_counts.plus(counts), seen | block_columns.columns
            )

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

    def ranks(self) -> Ranks:
        """Return the ranks of all tasks, once all columns have been counted.

        Returns
        -------
        Ranks
            The same as from `rank`. Without targets the protocol says "sampled". The counter does
            not change, and can be updated further.

        Raises
        ------
        ValueError
            If columns are missing; the first one is named.

        Warns
        -----
        UserWarning
            If a block's score of a true candidate differs from `true_scores`.
        """
        partial_counts, seen = self._counted
        missing = seen.missing(self._columns or 0)
        if missing.size:
            others = f"{missing.size} of {self._columns} columns are missing"
            problem = f"column {missing.starts[0]} has not been counted ({others})"
            raise InputValueError("update", problem)
        counts = partial_counts.final_counts(self._true_scores)
        differing = partial_counts.arrays["differing"]
        tasks = int(np.count_nonzero(differing))
        if tasks:
            import warnings

            first = int(differing.argmax())

            warnings.warn(
                f"true_scores: {tasks} of {len(differing)} true candidates have another score in "
                f"their block, first that of task {first}: the model scores a pair differently in "
                "two batches",
                stacklevel=2,
            )
        return ranks_of_counts(self._job, counts, self._dtype, sampled=self._columns is None)

    def __repr__(self) -> str:
        what = f"{len(self._job.targets)} tasks, {self._dtype}"
        if self._columns is None:
            return f"RankCounter({what}, sampled)"
        return f"RankCounter({what}, {self._counted.seen.size} of {self._columns} columns)"

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
            partial_counts, seen = self._counted
            repeated = seen.first_common(other_counted.seen)
            if repeated >= 0:
                raise InputValueError("other", f"both counters have counted column {repeated}")
            others = other_counted.partial_counts.arrays
            merged = partial_counts.plus({name: array.copy() for name, array in others.items()})
            self._counted = _CountedColumns(merged, seen | other_counted.seen)
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
        self._counted = _CountedColumns(partial_counts, state.seen)

    def __getstate__(self) -> dict[str, Any]:
        return self._state()._asdict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(CounterState(**state))


class _CountedColumns(NamedTuple):
    """The partial counts, and the columns that they are of."""

    partial_counts: PartialCounts
    seen: ColumnSet


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
    return Ranks._trusted(
        ranks.above, ranks.tied, ranks.candidates, audit=ranks.audit, protocol=protocol
    )


def _checked_columns(targets: Any, candidates: Any) -> int | None:
    if targets is None:
        if candidates is not None:
            raise InputValueError("candidates", expected="none without targets")
        return None
    if candidates is None:
        raise InputValueError("candidates", expected="the number of columns in all, beside targets")
    number_of_columns = "the number of columns in all"
    most = int(np.iinfo(np.int64).max)
    expected = f"an integer, {number_of_columns}"
    return integer(
        "candidates", candidates, least=0, most=most, expected=expected, range=number_of_columns
    )


def _checked_targets(targets: Any, tasks: int, columns: int | None) -> IntArray:
    if columns is None:
        return np.full(tasks, NO_COLUMN, np.int64)
    array = index_array("targets", targets)
    if array.ndim == 0:
        array = np.full(tasks, array, np.int64)
    check_shape("targets", array.shape, (tasks,), f"{tasks} integers, one for each true score")
    check_range("targets", array, columns, "columns in all")
    return array


def _checked_filter(filter: Any, tasks: int, columns: int | None, threads: int) -> Selection | None:
    """Check a filter, and copy it, because a counter lives longer than the call."""
    if columns is None:
        if filter is not None:
            raise InputValueError(
                "filter", expected="none without targets, as candidates then have no columns"
            )
        return None
    selection = as_selection("filter", filter, tasks, columns, threads)
    return selection and copy_selection(selection)


def _checked_rows(rows: Any, tasks: int) -> IntArray | None:
    if rows is None:
        return None
    array = index_array("rows", rows)
    check_shape("rows", array.shape, (tasks,), f"{tasks} rows, one for each true score")
    below_zero = np.flatnonzero(array < 0)
    if below_zero.size:
        got = f"{array[below_zero[0]]} for task {below_zero[0]}"
        raise InputValueError("rows", expected="rows from 0 on", got=got)
    return array


def _are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_are_equal, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b)
