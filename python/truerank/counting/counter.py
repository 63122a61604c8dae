"""RankCounter: ranks from scores that come in blocks of candidates, in any order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from .. import _core
from .._core import Scores
from ..inputs.checks import (
    check_range,
    check_shape,
    first_outside,
    forbidden_nan,
    integer,
    thread_count,
)
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.selection import as_selection, copy_selection, index_array, selection_arrays
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
    """Count ranks from blocks of candidates as a model makes them, in any order, on any machine.

    The true scores are known before. Each block is compared with them and can be forgotten; when
    all have been counted, `ranks` gives what `rank` gives for the whole matrix, bit for bit.
    Several threads may call `update` at once. Counters of disjoint parts, from other processes or
    machines, merge.

    Parameters
    ----------
    true_scores : array_like, shape (tasks,)
        The score of each task's true candidate, of the dtype of the blocks, whatever they say.
    targets : array_like of int, shape (tasks,), or int, optional
        The column of each task's true candidate. It is counted once, with its true score, whatever
        its block says. Without targets blocks hold only other candidates, which have no columns:
        sampled negatives.
    candidates : int, optional
        The number of columns in all; required with targets.
    filter : selection, optional
        Columns to leave out, as in `rank`; only with targets.
    rows : array_like of int, shape (tasks,), optional
        The row of every block that each task reads. Default: task i reads row i.
    order, nan, dtype, threads, audit
        As in `rank`.

    Attributes
    ----------
    differing : ndarray of int64, shape (tasks,)
        1 where the block that had the target's column gave it another score than `true_scores`
        (NaN equals NaN): a model that scores the same pair differently in two batches. `ranks`
        warns of it, and `Report.audit` tells it, where `audit` is true.

    Raises
    ------
    TypeError
        For scores of unlike dtypes (both are named), and indices that are no integers.
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
        team = thread_count(threads)
        tasks = len(scores.array)
        columns = _columns(targets, candidates)
        job = Job(
            _rows(rows, tasks),
            _targets(targets, tasks, columns),
            _filter(filter, tasks, columns, team),
            None,
            rules,
            team,
        )
        self._start(scores, job, columns, dtype is not None)

    def _start(self, scores: Scores, job: Job, columns: int | None, raw: bool) -> None:
        self._dtype = scores.dtype
        self._raw = raw  # the caller said what the bytes are, of blocks too
        self._truths = TrueScores(scores.array, scores.dtype)
        self._job = job
        self._columns = columns
        refuse_nan_true_score(self._truths, job.rules.nan)
        # replaced as a whole, so that whatever interrupts a call finds all of a block or nothing
        self._counted = _Counted(self._none(), column_range(0, 0))
        self._lock = threading.RLock()

    # -- counting --------------------------------------------------------------------------------

    def update(self, block: Any, *, start: int | None = None, columns: Any = None) -> None:
        """Count a block of candidates.

        Parameters
        ----------
        block : array_like, shape (rows, width), or (width,) for a single row that all tasks read
            The scores, of the dtype of `true_scores`, in any layout that `rank` takes, on an
            accelerator too.
        start : int, optional
            The column of the block's first one; the others follow it.
        columns : array_like of int, shape (width,), optional
            The columns of the block, in any order. With targets, `start` or `columns` is required,
            unless the block has all columns.

        Raises
        ------
        TypeError
            For a block of another dtype than the true scores; both are named.
        ValueError
            For a block of another shape, a column out of range or given twice (before, or in this
            block), and a NaN that the rule forbids. The counter is then as it was before.
        """
        dtype = self._dtype if self._raw else None
        self._add(read_scores(block, dtype, "block"), "block", start, columns)

    def _add(
        self, scores: Scores | Store, name: str, start: int | None = None, columns: Any = None
    ) -> None:
        """Count a block, which errors call by the name of the argument that it was."""
        if scores.dtype != self._dtype:
            raise InputTypeError(
                name, expected=f"{self._dtype}, as true_scores are", got=scores.dtype
            )
        shape, rows = shape_of(scores), self._job.rows
        if len(shape) == 1:
            if self._columns is None:  # one for each task, or all for each?
                raise InputValueError(name, expected="a matrix (tasks, k)", got=f"shape {shape}")
            shape = 1, *shape
            rows = np.zeros(len(self._job.targets), np.int64)
        self._check_height(name, shape, rows)
        placed = locate_block(self._job, self._columns, shape[1], start, columns)
        self._refuse_again(name, placed.columns)
        found = self._found(scores, name, rows, placed)
        with self._lock:
            self._refuse_again(name, placed.columns)  # another thread may have been quicker
            tallies, seen = self._counted
            self._counted = _Counted(tallies.plus(found), seen | placed.columns)

    def _found(
        self, scores: Scores | Store, name: str, rows: IntArray | None, placed: BlockColumns
    ) -> dict[str, IntArray]:
        """What a block holds for all tasks."""
        found: dict[str, IntArray] = {}
        with column_tiles(scores) as parts:
            for left, matrix in parts:
                counted = _core.partial_counts(
                    _core.Scores(matrix, scores.dtype, scores.swapped),
                    _core.Tasks(rows, placed.targets, placed.filter),
                    self._truths.scores,
                    placed.first + left,
                    self._job.rules,
                    self._job.threads,
                )
                if fault := counted.fault:
                    self._refuse_nan(name, fault.row, fault.column + left, placed)
                counts = counted.arrays
                found = self._none().plus(found).plus(counts).arrays if found else counts
        return found or self._none().arrays

    def _none(self) -> PartialCounts:
        return PartialCounts(len(self._job.targets), self._job.rules)

    def _refuse_nan(self, name: str, row: int, column: int, placed: BlockColumns) -> NoReturn:
        whole = placed.column(column)
        of_all = "" if self._columns is None or whole == column else f" (column {whole})"
        place = f"the score at row {row}, column {column}{of_all}"
        raise forbidden_nan(name, place, self._job.rules.nan)

    def _refuse_again(self, name: str, columns: ColumnSet) -> None:
        again = self._counted.seen.first_common(columns)
        if again >= 0:
            raise InputValueError(name, f"column {again} has been counted before")

    def _check_height(self, name: str, shape: tuple[int, ...], rows: IntArray | None) -> None:
        tasks = len(self._job.targets)
        if rows is not None:
            wrong = first_outside(rows, shape[0])
            if wrong >= 0:
                expected = f"more than {rows[wrong]} rows, for task {wrong} reads that row"
                raise InputValueError(name, expected=expected, got=f"shape {shape}")
        else:
            check_shape(name, shape, (tasks, shape[1]), f"{tasks} rows, one for each task")

    # -- results ---------------------------------------------------------------------------------

    @property
    def differing(self) -> IntArray:
        """Per task, how many blocks gave the true candidate another score: int64, (tasks,)."""
        return self._counted.tallies.arrays["differing"].copy()

    def ranks(self) -> Ranks:
        """Give the ranks of all tasks, once all columns have been counted.

        Returns
        -------
        Ranks
            As `rank` gives them. Without targets their protocol says "sampled". The counter stays
            as it is.

        Raises
        ------
        ValueError
            If columns are missing; the first is named.

        Warns
        -----
        UserWarning
            If a block's score of a true candidate differs from `true_scores`.
        """
        tallies, seen = self._counted
        missing = seen.missing(self._columns or 0)
        if missing.size:
            others = f"{missing.size} of {self._columns} columns are missing"
            problem = f"column {missing.starts[0]} has not been counted ({others})"
            raise InputValueError("update", problem)
        settled = tallies.final_counts(self._truths)
        differing = tallies.arrays["differing"]
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
        return ranks_of_counts(self._job, settled, self._dtype, sampled=self._columns is None)

    def __repr__(self) -> str:
        what = f"{len(self._job.targets)} tasks, {self._dtype}"
        if self._columns is None:
            return f"RankCounter({what}, sampled)"
        return f"RankCounter({what}, {self._counted.seen.size} of {self._columns} columns)"

    # -- parts -----------------------------------------------------------------------------------

    def merge(self, other: RankCounter) -> RankCounter:
        """Add what another counter of the same tasks has counted; associative and commutative.

        Parameters
        ----------
        other : RankCounter
            Of the same true scores, targets, filter and rules, and of other columns. It stays as
            it is. `rows` and `threads` may differ.

        Returns
        -------
        RankCounter
            This counter, so that `functools.reduce` can merge many.

        Raises
        ------
        TypeError
            If `other` is no RankCounter.
        ValueError
            If the counters are not of the same tasks and rules, or both have a column.
        """
        if not isinstance(other, RankCounter):
            raise InputTypeError("other", expected="a RankCounter", got=type(other).__name__)
        if other is self:
            raise InputValueError("other", expected="another counter", got="this one")
        unlike = self._unlike(other)
        if unlike:
            raise InputValueError(
                "other", expected=f"a counter of the same {unlike[0]}", got="another"
            )
        theirs = other._counted
        with self._lock:
            tallies, seen = self._counted
            again = seen.first_common(theirs.seen)
            if again >= 0:
                raise InputValueError("other", f"both counters have counted column {again}")
            more = tallies.plus(theirs.tallies.arrays)
            self._counted = _Counted(more, seen | theirs.seen)
        return self

    def _unlike(self, other: RankCounter) -> list[str]:
        mine, theirs = self._identity(), other._identity()
        return [name for name in mine if not _same(mine[name], theirs[name])]

    def _identity(self) -> dict[str, Any]:
        job = self._job
        return {
            "dtype": self._dtype,
            "candidates": self._columns,
            "true_scores": np.where(self._truths.nan, 0, self._truths.keys),
            "true_scores, whose NaN count,": self._truths.nan,
            "targets": job.targets,
            "filter": job.filter and selection_arrays(job.filter),
            "order, nan and audit": (job.rules.ascending, job.rules.nan, job.rules.audit),
        }

    # -- keeping ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counter to a file, exactly at `path`, whole or not at all; see `load`.

        Raises
        ------
        OSError
            If the folder is absent or cannot be written, or the disk is full.
        ValueError
            If `path` is there and is no regular file.
        """
        write(path, self._kept())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> RankCounter:
        """Read a counter that `save` wrote: it can be updated, merged and asked for ranks.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is truncated, damaged, something else, or of a newer format; it names the
            file.

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
            return RankCounter(*args, **keywords)._kept()

        counter = RankCounter.__new__(RankCounter)
        counter._restore(read(path, empty))
        return counter

    def _kept(self) -> CounterState:
        tallies, seen = self._counted
        truths, dtype, job = self._truths.scores, self._dtype, self._job
        return CounterState(truths, dtype, job, self._columns, self._raw, seen, tallies.arrays)

    def _restore(self, kept: CounterState) -> None:
        scores = Scores(kept.scores, kept.dtype, False)
        self._start(scores, kept.job, kept.columns, kept.raw)
        tallies = self._none()
        tallies.arrays = kept.counts
        self._counted = _Counted(tallies, kept.seen)

    def __getstate__(self) -> dict[str, Any]:
        return self._kept()._asdict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(CounterState(**state))


class _Counted(NamedTuple):
    """What has been counted, and the columns of it."""

    tallies: PartialCounts
    seen: ColumnSet


def ranks_of_counts(
    job: Job, settled: Mapping[str, IntArray], dtype: str, *, sampled: bool
) -> Ranks:
    """Make Ranks of settled tallies."""
    ranks = job.ranks(settled, dtype)
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


def _columns(targets: Any, candidates: Any) -> int | None:
    if targets is None:
        if candidates is not None:
            raise InputValueError("candidates", expected="none without targets")
        return None
    if candidates is None:
        raise InputValueError("candidates", expected="the number of columns in all, beside targets")
    said = "the number of columns in all"
    most = int(np.iinfo(np.int64).max)
    expected = f"an integer, {said}"
    return integer("candidates", candidates, least=0, most=most, expected=expected, range=said)


def _targets(targets: Any, tasks: int, columns: int | None) -> IntArray:
    if columns is None:
        return np.full(tasks, NO_COLUMN, np.int64)
    array = index_array("targets", targets)
    if array.ndim == 0:
        array = np.full(tasks, array, np.int64)
    check_shape("targets", array.shape, (tasks,), f"{tasks} integers, one for each true score")
    check_range("targets", array, columns, "columns in all")
    return array


def _filter(filter: Any, tasks: int, columns: int | None, threads: int) -> Selection | None:
    """Check a filter, and copy it: a counter lives longer than the call."""
    if columns is None:
        if filter is not None:
            raise InputValueError(
                "filter", expected="none without targets, for candidates have no columns"
            )
        return None
    selection = as_selection("filter", filter, tasks, columns, threads)
    return selection and copy_selection(selection)


def _rows(rows: Any, tasks: int) -> IntArray | None:
    if rows is None:
        return None
    array = index_array("rows", rows)
    check_shape("rows", array.shape, (tasks,), f"{tasks} rows, one for each true score")
    wrong = np.flatnonzero(array < 0)
    if wrong.size:
        got = f"{array[wrong[0]]} for task {wrong[0]}"
        raise InputValueError("rows", expected="rows from 0 on", got=got)
    return array


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b)
