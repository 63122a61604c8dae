"""RankCounter: ranks from scores that come in blocks of candidates, in any order.

The set of columns that were counted is an integer, whose bit i is 1 if it has column i: it is never
changed in place, and for 15,000 columns it is compared and united in less time than a call takes.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from .._core import Scores, Selection
from ..arrays.row_keys import look_up
from ..arrays.saved_files import open_archive, write_archive
from ..errors import InputTypeError, InputValueError, argument_names, warn_user
from ..inputs.array_likes import check_shape, index_array
from ..inputs.checks import forbidden_nan, instance, integer
from ..inputs.progress_listeners import reporter
from ..inputs.rules import RuleOptions, read_rules, with_options
from ..inputs.selection import selection_arrays
from ..naming import format_count, public
from ..stores import read_scores, shape_of
from . import partial_counts
from .driver import count_scores
from .job import NO_COLUMN, NO_TARGETS, prepare_job, refuse_places, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..arrays import IntArray
    from ..arrays.saved_files import Members
    from ..ranks.container import Ranks
    from ..stores import Store
    from .driver import Counts
    from .job import Job

KIND = "truerank.counter"  # Saved counters are archives as in `ranks.storage`.
MEMBERS = ("true_scores", "targets", "seen", "rows", "filter", "count")
_RULES = ("order", "nan", "audit")
_FILTER = ("indptr", "indices", "lists")
# Sums of several counters fit in int64 if tasks whose blocks have no columns have no more.
_MOST_CANDIDATES = 1 << 53
_BYTES_PER_STEP = 1 << 17


@public("truerank")
class RankCounter:
    """Count ranks from blocks of candidates, in the order in which a model happens to make them.

    The true scores must be known before. Each block is compared with them and can then be
    forgotten; after all blocks, `ranks` returns the same integers as `rank` for the whole matrix.
    Several threads may call `update` at once. Counters of disjoint blocks, also from other
    processes or machines, can be merged, or their `counts` summed.

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
        Called with a `Progress`, in columns, after each update; not where candidates have no
        columns. True: a bar of tqdm. It is not saved.

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
        rules = read_rules(options, RuleOptions, RankCounter)
        checked_true_scores = partial_counts.read_true_scores(true_scores, rules.dtype, rules.nan)
        tasks = len(checked_true_scores.array)
        columns = None
        if targets is None:
            for name, value in (("candidates", candidates), ("filter", filter)):
                if value is not None:
                    expected = "none without targets, as candidates then have no columns"
                    raise InputValueError(name, expected=expected)
            job = prepare_job((tasks, 0), NO_TARGETS, rules, may_share_row=False)
        else:
            expected = "an integer with targets: the number of all columns"
            most = int(np.iinfo(np.int64).max)
            columns = integer("candidates", candidates, least=0, most=most, expected=expected)
            job = prepare_job((tasks, columns), targets, rules, filter=filter, may_share_row=False)
        job.true_scores = checked_true_scores.array
        if job.filter is not None:  # The indices are copied, for a counter outlives the call.
            indptr, indices, lists, shared = selection_arrays(job.filter)
            job.filter = Selection(indptr, indices.copy(), lists, shared)
        if rows is not None:
            # How many rows a block will have is not known yet.
            job.rows = index_array("rows", rows)
            check_shape("rows", job.rows.shape, (tasks,), f"{tasks} rows, one for each true score")
            if (job.rows < 0).any():
                task = int((job.rows < 0).argmax())
                got = f"{job.rows[task]} for task {task}"
                raise InputValueError("rows", expected="rows from 0 on", got=got)
        self._job = job
        self._columns: int | None = columns
        self._report_progress = reporter(rules.progress, columns or 0, "columns")
        self._true_scores = checked_true_scores
        # Blocks of raw bytes are read in the dtype that was given for the true scores.
        self._is_dtype_given = rules.dtype is not None
        # Partial counts, and the set of columns that they are of. Both are replaced as a whole, so
        # that an interrupted call has counted all of a block or nothing.
        self._no_counts = partial_counts.zero_counts(tasks, rules)
        self._total = (self._no_counts, 0)
        self._lock = threading.RLock()

    # -- counting --------------------------------------------------------------------------------

    def update(self, block: Any, *, start: int | None = None, columns: Any = None) -> None:
        """Count a block of candidates.

        Parameters
        ----------
        block : array_like, shape (rows, width), or with targets (width,), a row for all tasks
            The scores, of the dtype of `true_scores`, in any layout that `rank` takes, also on a
            device. Without targets a row that all tasks read is ``block[None]``, with ``rows=[0,
            0]`` for two true scores: numbers in one dimension might be a score for each task.
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
            counted, for ids and ranks as scores (see `order` of `rank`), and for a NaN that the
            rule forbids. The counter then stays as it was.
        """
        dtype = self._true_scores.dtype
        with argument_names(scores="block"):
            scores = read_scores(block, dtype if self._is_dtype_given else None)
            if scores.dtype != dtype:
                expected = f"{dtype}, as true_scores are"
                raise InputTypeError("block", expected=expected, got=scores.dtype)
            shape = shape_of(scores)
            job = self._job_for_block(shape)
            refuse_places(scores, job.rules)
            numbers = self._column_numbers(shape[-1], start, columns)
            job, column_set = self._place_columns(job, numbers)
            self._refuse_repeated("block", column_set)
            first_column = numbers.start if isinstance(numbers, range) else 0
            counts, included = self._count(scores, job, first_column)
        fault = counts.fault
        if fault is not None:
            place = f"the score at row {fault.row}, column {fault.column}"
            column = numbers[fault.column]
            if column != fault.column:
                place += f" (column {column})"
            raise forbidden_nan("block", place, job.rules.nan)
        with self._lock:
            self._refuse_repeated("block", column_set)  # Another thread may have been faster.
            self._add(counts.arrays, column_set, included)
        if self._columns:
            _, counted = self._total
            self._report_progress(counted.bit_count())

    def _column_numbers(self, width: int, start: int | None, columns: Any) -> IntArray | range:
        """Return the number of each column of a block; those without numbers count from 0."""
        total = self._columns
        if total is None:
            if start is not None or columns is not None:
                name = "columns" if start is None else "start"
                raise InputValueError(name, expected="none without targets")
            return range(width)
        if columns is not None:
            if start is not None:
                raise InputValueError("columns", expected="nothing with start")
            ids = index_array("columns", columns)
            expected = f"{width}, one for each column of the block"
            check_shape("columns", ids.shape, (width,), expected)
            position = _core.first_outside(ids, total)
            if position >= 0:
                got = f"{ids[position]} at position {position}"
                raise InputValueError("columns", expected=f"columns from 0 to {total - 1}", got=got)
            if width == 0 or (np.diff(ids) != 1).any():
                return ids
            return range(int(ids[0]), int(ids[0]) + width)
        if start is None and width == total:
            return range(width)
        # A block without `start` is refused here, too.
        expected = f"the first of the block's {width} columns (or columns=), of {total} in all"
        first = integer("start", start, least=0, most=total - width, expected=expected)
        return range(first, first + width)

    def _place_columns(self, job: Job, numbers: IntArray | range) -> tuple[Job, int]:
        """Return a job for the columns of a block, and the set of these columns."""
        if self._columns is None:  # Columns have no numbers.
            return job, 0
        if not isinstance(numbers, range):
            flags = np.zeros(int(numbers.max(initial=-1)) + 1, np.bool_)
            flags[numbers] = True
            bits = np.packbits(flags, bitorder="little").tobytes()
            return _renumber_columns(job, numbers), int.from_bytes(bits, "little")
        return job, full_bitset(len(numbers)) << numbers.start

    def _job_for_block(self, shape: tuple[int, ...]) -> Job:
        """Check the shape of a block, and return the job with the row that each task reads."""
        job = self._job
        tasks = len(job.targets)
        if len(shape) == 1:
            # Without columns it might hold one score for each task, or all scores of every task.
            if self._columns is None:
                expected = "(tasks, k), a row for each; or (1, k) with rows=[0, ...], one for all"
                raise InputValueError("block", expected=expected, got=f"shape {shape}")
            return replace(job, rows=np.zeros(tasks, np.int64))
        if job.rows is None:
            expected = f"{format_count(tasks, 'row')}, one for each task"
            check_shape("block", shape, (tasks, shape[1]), expected)
            return job
        task = _core.first_outside(job.rows, shape[0])
        if task >= 0:
            expected = f"more than {job.rows[task]} rows, as task {task} reads row {job.rows[task]}"
            raise InputValueError("block", expected=expected, got=f"shape {shape}")
        return job

    def _count(
        self, scores: Scores | Store, job: Job, first_column: int
    ) -> tuple[Counts | _core.Counts, dict[str, IntArray]]:
        """Return the counts of a block, and the counts of other columns that they include."""
        if not isinstance(scores, Scores):
            return count_scores(scores, replace(job, first_column=first_column)), self._no_counts
        total, _ = self._total
        # Zeros of many tasks take as long as a block; and no best score could be taken out again.
        if total is self._no_counts or job.rules.audit:
            return job.count(scores, first_column), self._no_counts
        return job.count(scores, first_column, total), total

    def _add(
        self, counts: dict[str, IntArray], columns: int, included: dict[str, IntArray]
    ) -> None:
        """Add counts of other columns, in new arrays that become the total.

        They include counts already, mostly those of the total, unless another thread was faster.
        """
        before, columns_before = self._total
        if included is not before:
            more = before
            if included is not self._no_counts:
                more = {name: before[name] - array for name, array in included.items()}
            partial_counts.add_counts(counts, more, self._job.rules)
        self._total = (counts, columns_before | columns)

    def _refuse_repeated(self, name: str, column_set: int) -> None:
        """Refuse a set of columns of which one has been counted."""
        _, counted_set = self._total
        repeated = lowest_column(counted_set & column_set)
        if repeated >= 0:
            raise InputValueError(name, f"column {repeated} has been counted before")

    # -- results ---------------------------------------------------------------------------------

    @property
    def differing(self) -> IntArray:
        """Per task, how many blocks had another score for its true candidate: int64, (tasks,)."""
        counts, _ = self._total
        return counts["differing"].copy()

    def counts(self) -> IntArray:
        """Return what has been counted, as integers that may be summed over processes.

        Counters of disjoint columns, with the same true scores, targets, filter and rules, add up:
        the sum of their arrays, given to the `ranks` of any of them, gives the ranks of all
        columns. This is for collective operations, such as ``torch.distributed.all_reduce``.

        Returns
        -------
        ndarray of int64, shape (7, tasks)
            Partial counts, without the true candidates, a row each: scores above the true score;
            equal to it; all; NaN; whether the target's own differed; the number of columns; and a
            checksum, by which `ranks` sees that the sum has the same tasks, and each column once.
            Its sums wrap around. Without targets, candidates have no columns: the last two rows are
            0, and the sum is not checked.

        Raises
        ------
        ValueError
            With ``audit=True``, since best scores cannot be summed; `merge` joins such counters.

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
            expected = "False for counts that are summed; merge joins audits, too"
            raise InputValueError("audit", expected=expected)
        counts, counted = self._total
        rows = np.stack([counts[name] for name in partial_counts.FIELDS])
        checks = np.broadcast_to(self._checks(counted), (2, rows.shape[1]))
        return np.concatenate([rows, checks])

    def _checks(self, columns: int) -> IntArray:
        """Return the last two rows of `counts` of a set of columns: its size, and a checksum."""
        return np.array([[columns.bit_count()], [checksum(columns, self._facts())]])

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
            If columns are missing; the first one is named. If `counts` do not sum all columns, each
            once, for the same true scores, targets, filter and rules.

        Warns
        -----
        UserWarning
            If a block's score of a true candidate differs from `true_scores`.
        """
        columns = self._columns or 0
        if counts is None:
            total, counted = self._total
            n_missing = columns - counted.bit_count()
            if n_missing:
                first_missing = lowest_column(~counted)
                others = f"{n_missing} of {columns} columns are missing"
                problem = f"column {first_missing} has not been counted ({others})"
                raise InputValueError("update", problem)
        else:
            table = index_array("counts", counts)
            shape = (len(partial_counts.FIELDS) + 2, len(self._job.targets))
            check_shape("counts", table.shape, shape, f"the sum of arrays of shape {shape}")
            if (table[-2:] != self._checks(full_bitset(columns))).any():
                counters = "counters of the same true scores, targets, filter and rules"
                expected = (
                    f"the sum of {counters}, each of {columns} columns counted by one of them"
                )
                raise InputValueError("counts", expected=expected)
            total = dict(zip(partial_counts.FIELDS, table[:-2], strict=True))
        differing = total["differing"]
        has_targets = self._columns is not None  # Else no block has a true candidate.
        tasks = int(np.count_nonzero(differing)) if has_targets else 0
        if tasks:
            first = int(differing.argmax())
            warn_user(
                "true_scores",
                f"{tasks} of {len(differing)} true candidates have a different score "
                f"in their block, first task {first}: the model scores a pair differently in "
                "two batches",
            )
        final = partial_counts.final_counts(total, self._true_scores, self._job.rules)
        return self._job.ranks(final, self._true_scores.dtype, sampled=self._columns is None)

    def __repr__(self) -> str:
        tasks = f"{len(self._job.targets)} tasks, {self._true_scores.dtype}"
        if self._columns is None:
            return f"RankCounter({tasks}, sampled)"
        _, counted = self._total
        return f"RankCounter({tasks}, {counted.bit_count()} of {self._columns} columns)"

    # -- merging ---------------------------------------------------------------------------------

    def merge(self, other: RankCounter) -> RankCounter:
        """Add what another counter of the same tasks has counted; counters merge in any order.

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
        instance("other", other, RankCounter, "a RankCounter")
        if other is self:
            raise InputValueError("other", expected="another counter", got="this one")
        theirs = other._facts()
        differences = [name for name, fact in self._facts().items() if theirs[name] != fact]
        if differences:
            expected = f"a counter of the same {differences[0]}"
            raise InputValueError("other", expected=expected, got="another")
        counts, counted = other._total
        with self._lock:
            self._refuse_repeated("other", counted)
            copies = {name: array.copy() for name, array in counts.items()}
            self._add(copies, counted, self._no_counts)
        return self

    def _facts(self) -> dict[str, Any]:
        """What must be the same of counters that are merged."""
        # Equal scores, as 0.0 and -0.0, have equal keys; all NaN are the same.
        keys, *_ = self._true_scores.keys()
        is_nan = partial_counts.are_nan(self._true_scores)
        facts = {
            "dtype": self._true_scores.dtype,
            "candidates": self._columns,
            "true_scores": sha256_hex(np.where(is_nan, 0, keys), is_nan),
        }
        facts_of_job = self._job.facts()
        return facts | {name: facts_of_job[name] for name in ("targets", "filter", *_RULES)}

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
        write_archive(path, KIND, *self.__getstate__())

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
        counter = RankCounter.__new__(RankCounter)
        with open_archive("path", path, KIND, MEMBERS) as state:
            counter.__setstate__(state)
        return counter

    def __getstate__(self) -> tuple[dict[str, Any], Members]:
        """Return the header and the members of a file."""
        counts, counted = self._total
        job = self._job
        header = {
            "dtype": self._true_scores.dtype,
            "columns": self._columns,
            "raw": self._is_dtype_given,
            "rules": {name: getattr(job.rules, name) for name in _RULES},
            "threads": job.rules.num_threads,
        }
        members: Members = {
            "true_scores": self._true_scores.array.view(np.uint8),
            "targets": job.targets,
            "seen": np.frombuffer(to_bytes(counted), np.uint8),
        }
        if job.rows is not None:
            members["rows"] = job.rows
        for name in _FILTER:
            array = getattr(job.filter, name, None)
            if array is not None:
                members[f"filter.{name}"] = array
        return header, members | partial_counts.count_members(counts)

    def __setstate__(self, state: tuple[dict[str, Any], Members]) -> None:
        """Become what a header and members say; nothing in them is trusted."""
        header, members = state
        columns = header["columns"]
        dtype = header["dtype"]
        rules = header["rules"]
        numpy_dtype = np.uint16 if dtype == "bfloat16" else dtype
        filter_arrays = tuple(members[f"filter.{x}"] for x in _FILTER if f"filter.{x}" in members)
        RankCounter.__init__(
            self,
            members["true_scores"].view(numpy_dtype),
            None if columns is None else members["targets"],
            candidates=columns,
            filter=filter_arrays or None,
            rows=members.get("rows"),
            dtype=dtype,
            threads=header["threads"] or None,
            **{name: rules[name] for name in _RULES},
        )
        self._is_dtype_given = bool(header["raw"])
        counted = int.from_bytes(members["seen"].tobytes(), "little")
        if counted.bit_length() > (columns or 0):
            raise InputValueError("damaged", expected="a bit for each column", place="seen")
        most_candidates = _MOST_CANDIDATES
        if columns is not None:  # The true candidate is not counted yet.
            most_candidates = min(counted.bit_count(), columns - 1)
        counts = partial_counts.saved_counts(members, self._no_counts, most_candidates)
        self._total = (counts, counted)


def _renumber_columns(job: Job, columns: IntArray) -> Job:
    """Return the job with columns numbered by their positions in a block that has some columns."""
    order = np.argsort(columns, kind="stable")
    sorted_columns = columns[order]
    repeats = np.flatnonzero(np.diff(sorted_columns) == 0)
    if repeats.size:
        raise InputValueError("columns", f"column {sorted_columns[repeats[0]]} is given twice")
    targets = np.full(len(job.targets), NO_COLUMN, np.int64)
    tasks_in_block, sorted_positions = look_up(sorted_columns, job.targets)
    targets[tasks_in_block] = order[sorted_positions]
    filter = job.filter
    if filter is not None:
        indptr, indices, lists, shared = selection_arrays(filter)
        kept_entries, sorted_positions = look_up(sorted_columns, indices)
        n_kept_before = np.searchsorted(kept_entries, indptr).astype(np.int64)  # each list
        kept = Selection(n_kept_before, order[sorted_positions], lists, shared)
        filter = kept.sorted_copy(len(columns), job.rules.num_threads)
    return replace(job, targets=targets, filter=filter)


def full_bitset(columns: int) -> int:
    """Return the set of so many columns from 0 on."""
    return (1 << columns) - 1


def to_bytes(column_set: int) -> bytes:
    """Return a set of columns as bytes, of which the first has the bits of the first columns."""
    return column_set.to_bytes((column_set.bit_length() + 7) // 8, "little")


def lowest_column(column_set: int) -> int:
    """Return the first column of a set; -1 if it is empty."""
    return (column_set & -column_set).bit_length() - 1


def checksum(column_set: int, facts: Mapping[str, Any]) -> np.int64:
    """Return a number whose sum over counters shows which columns they counted, of which tasks.

    It is the sum, modulo 2**64, of (2 c + tag)^7 for each column c, with an odd tag of the facts:
    columns that are not these have the same sum only by chance.
    """
    tag = np.uint64(int(sha256_hex(facts)[:16], 16) | 1)
    total = 0
    flags = to_bytes(column_set)
    for first in range(0, len(flags), _BYTES_PER_STEP):
        step = np.frombuffer(flags[first : first + _BYTES_PER_STEP], np.uint8)
        numbers = np.flatnonzero(np.unpackbits(step, bitorder="little")) + 8 * first
        total += int(((np.uint64(2) * numbers.astype(np.uint64) + tag) ** 7).sum())
    return np.uint64(total % 2**64).astype(np.int64)
