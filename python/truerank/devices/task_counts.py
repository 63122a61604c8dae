"""Partial counts of tasks on devices: what the core counts in memory, with the same integers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.array_likes import tensor_array
from .score_sources import keys_of, true_keys_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Selection
    from ..arrays.types import IntArray
    from .score_sources import ScoreSource, Tensor

    Part = tuple[int, int, ScoreSource]  # a rectangle of a matrix: its first row and column

NAMES = ("above", "tied", "nan", "candidates", "differing")
MOST_TASKS = 1 << 17  # counted at once: each takes some 200 bytes meanwhile
MOST_ENTRIES = 1 << 18  # of selections, handled at once: each takes some 150 bytes meanwhile


class PartOfTasks(NamedTuple):
    """Tasks in a matrix that may be part of a larger one, with columns numbered as in that.

    Attributes
    ----------
    rows : ndarray of int64, shape (tasks,)
        The row of the part that each task reads.
    targets : ndarray of int64, shape (tasks,)
        The column of each target in the larger matrix; -1 if it is in none.
    filter, candidates : Selection, optional
        Sorted, as `as_selection` gives them.
    first_column : int
        The number of the part's first column.
    """

    rows: IntArray
    targets: IntArray
    filter: Selection | None = None
    candidates: Selection | None = None
    first_column: int = 0


class SelectedColumns:
    """The lists of a selection, each in ascending order, copied to a device.

    Parameters
    ----------
    selection : Selection
    source : ScoreSource
        On the device.
    """

    def __init__(self, selection: Selection, source: ScoreSource) -> None:
        torch = sys.modules["torch"]
        self.shared = selection.shared
        self._indices = selection.indices
        self._lists = selection.lists
        self._starts = selection.indptr[:-1]
        self._lengths = np.diff(selection.indptr)
        self._source = source
        lists = source.arange(0, len(self._lengths))
        total = len(self._indices)
        lists = torch.repeat_interleave(lists, source.upload(self._lengths), output_size=total)
        # each entry after the list it is in, so that all are in ascending order; and a last one
        self._entries = source.zeros(total + 1).fill_(np.iinfo(np.int64).max)
        self._entries[:-1] = (lists << 32) + source.upload(self._indices)

    def columns_within(self, first: int, width: int) -> Tensor:
        """Return those columns of a shared list that are in a part, as numbered there."""
        start, stop = np.searchsorted(self._indices, [first, first + width])
        return self._entries[int(start) : int(stop)] - first

    def _lists_of(self, tasks: IntArray) -> IntArray:
        if self.shared:
            return np.zeros(len(tasks), np.int64)
        if self._lists is None:
            return tasks
        return self._lists[tasks]

    def entries(self, tasks: IntArray) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield entries of the lists of some tasks: the positions in `tasks`, and the columns."""
        torch = sys.modules["torch"]
        source = self._source
        lists = self._lists_of(tasks)
        lengths = self._lengths[lists]
        ends = np.cumsum(lengths)
        # number i of all these entries, of the list of task t, is entry i + shifts[t] of the copy
        shifts = source.upload(self._starts[lists] - (ends - lengths))
        device_ends = source.upload(ends)
        total = int(lengths.sum())
        for first in range(0, total, MOST_ENTRIES):
            numbers = source.arange(first, min(first + MOST_ENTRIES, total))
            owners = torch.searchsorted(device_ends, numbers, right=True)
            yield owners, self._entries[shifts[owners] + numbers] & 0xFFFFFFFF

    def hold(self, tasks: IntArray, owners: Tensor, columns: Tensor) -> Tensor:
        """Whether the lists of some tasks have columns of tasks at some positions in `tasks`."""
        wanted = (self._source.upload(self._lists_of(tasks))[owners] << 32) + columns
        return self._entries[sys.modules["torch"].searchsorted(self._entries, wanted)] == wanted


def copied_selection(selection: Selection | None, source: ScoreSource) -> SelectedColumns | None:
    """Copy a selection to a device, if there is one."""
    if selection is None:
        return None
    return SelectedColumns(selection, source)


class DeviceCounts:
    """Partial counts of tasks, which devices may still compute; nothing is waited for.

    See `PartialCounts` for what is counted.

    Parameters
    ----------
    parts : sequence of (top, left, ScoreSource)
        All parts of a matrix, rectangles on one device each, with their first row and column.
    tasks : PartOfTasks
        In the whole matrix.
    true_scores : ndarray, shape (tasks,), optional
        In the form that the core takes them. Default: the scores at the targets, all in one part.
    """

    def __init__(
        self, parts: Sequence[Part], tasks: PartOfTasks, true_scores: npt.NDArray[Any] | None
    ) -> None:
        self._tasks = len(tasks.rows)
        self._true_scores = true_scores
        self.backend = parts[0][2].backend  # "triton" or "torch"
        self._pending: list[tuple[ScoreSource, IntArray, Tensor, Tensor]] = []
        self._table: npt.NDArray[np.int64] | None = None
        for top, left, scores in parts:
            numbers = np.flatnonzero((tasks.rows >= top) & (tasks.rows < top + scores.shape[0]))
            numbers = numbers[np.argsort(tasks.rows[numbers], kind="stable")]
            with scores.stream.current():
                self._begin(scores, numbers, tasks, top, left)

    def _begin(
        self, scores: ScoreSource, numbers: IntArray, tasks: PartOfTasks, top: int, left: int
    ) -> None:
        """Begin to count the tasks of these numbers, which read a part in the order of its rows."""
        first_column = tasks.first_column + left
        left_out = copied_selection(tasks.filter, scores)
        let_in = copied_selection(tasks.candidates, scores)
        for first in range(0, max(1, len(numbers)), MOST_TASKS):
            some = numbers[first : first + MOST_TASKS]
            true_scores = None if self._true_scores is None else self._true_scores[some]
            rows = tasks.rows[some] - top
            chunk = _Chunk(scores, some, rows, tasks.targets[some] - first_column, true_scores)
            counts = scores.stream.copy_to_host(chunk.count(first_column, left_out, let_in))
            compared = scores.stream.copy_to_host(chunk.true)
            self._pending.append((scores, some, counts, compared))

    def arrays(self) -> dict[str, IntArray]:
        """Wait for the counts: partial counts as the core gives them."""
        if self._table is None:
            self._table = np.zeros((len(NAMES), self._tasks), np.int64)
            for scores, numbers, counts, _ in self._pending:
                scores.stream.wait()
                self._table[:, _consecutive(numbers)] += counts.numpy()
        return dict(zip(NAMES, self._table, strict=True))

    def true_scores(self) -> npt.NDArray[Any]:
        """Wait for the true scores, with which the scores were compared."""
        if self._true_scores is not None:
            return self._true_scores
        self.arrays()
        numbers = np.concatenate([numbers for _, numbers, _, _ in self._pending])
        scores = np.concatenate(
            [tensor_array(compared, "scores")[0] for _, _, _, compared in self._pending]
        )
        return scores[np.argsort(numbers)]


def _consecutive(numbers: IntArray) -> IntArray | slice:
    """Return a slice where numbers are consecutive, as most are: many tasks are added faster."""
    if len(numbers) and (np.diff(numbers) == 1).all():
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


class _Chunk:
    """Tasks in the order of their rows, and their true scores.

    Candidates are counted as if nothing were filtered, with the targets; then both are taken out.
    """

    def __init__(
        self,
        scores: ScoreSource,
        numbers: IntArray,  # of the tasks, as selections number them
        rows: IntArray,
        targets: IntArray,
        true_scores: npt.NDArray[Any] | None,
    ) -> None:
        self._scores = scores
        self._numbers = numbers
        self._rows = rows
        self._row_of = scores.upload(rows)
        self._targets = scores.upload(targets)
        if true_scores is None:
            self.true = scores.pairs(self._row_of, self._targets)
        else:
            self.true = scores.upload(true_scores, scores.dtype)
        self._true_keys = true_keys_of(self.true)
        _, self._true_nan = keys_of(self.true)

    def count(
        self, first_column: int, left_out: SelectedColumns | None, let_in: SelectedColumns | None
    ) -> Tensor:
        """Return the counts, in the order of their names."""
        scores = self._scores
        width = scores.shape[1]
        counts = scores.zeros(len(NAMES), len(self._rows))
        if not width:
            return counts
        if let_in is None:
            counts[:3] = scores.scan(self._rows, self.true, None)
            counts[3] = width
        elif let_in.shared:
            columns = let_in.columns_within(first_column, width)
            counts[:3] = scores.scan(self._rows, self.true, columns)
            counts[3] = len(columns)
        else:
            for tasks, numbers in let_in.entries(self._numbers):
                counts[:4].index_add_(1, tasks, self._compared(tasks, numbers - first_column)[0])
        targets_found, differing = self._compared(scores.arange(0, len(self._rows)), self._targets)
        counts[:4] -= targets_found
        counts[4] = differing
        if left_out is not None:
            for tasks, numbers in left_out.entries(self._numbers):
                columns = numbers - first_column
                is_candidate = columns != self._targets[tasks]
                if let_in is not None:
                    is_candidate &= let_in.hold(self._numbers, tasks, numbers)
                found, _ = self._compared(tasks, columns, is_candidate)
                counts[:4].index_add_(1, tasks, found, alpha=-1)
        return counts

    def _compared(
        self, tasks: Tensor, columns: Tensor, among: bool | Tensor = True
    ) -> tuple[Tensor, Tensor]:
        """Compare a column with each of some tasks, if the matrix has it and it is among some.

        Returns
        -------
        Tensor of int64, shape (4, n), and of bool, shape (n,)
            Whether it is above, tied, NaN and a candidate; whether it is another score.
        """
        inside = (columns >= 0) & (columns < self._scores.shape[1]) & among
        keys, nan = keys_of(self._scores.pairs(self._row_of[tasks], columns.where(inside, 0)))
        true_keys = self._true_keys[tasks]
        flags = (keys > true_keys, keys == true_keys, nan, inside)
        counts = sys.modules["torch"].stack([(flag & inside).long() for flag in flags])
        is_other_number = (keys != true_keys) & ~nan
        is_nan_of_one = nan != self._true_nan[tasks]
        return counts, inside & (is_other_number | is_nan_of_one)
