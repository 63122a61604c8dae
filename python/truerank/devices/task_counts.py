"""Partial counts of tasks on devices: what the core counts in memory, with the same integers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import tensor_array
from ..inputs.selection import selection_arrays
from .score_sources import keys_of, true_keys_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Selection
    from ..inputs.arrays import IntArray
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
        indptr, self._indices, self._lists, self.shared = selection_arrays(selection)
        self._starts, self._lengths, self._source = indptr[:-1], np.diff(indptr), source
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
        return tasks if self._lists is None else self._lists[tasks]

    def entries(self, tasks: IntArray) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield entries of the lists of some tasks: the positions in `tasks`, and the columns."""
        torch, source, lists = sys.modules["torch"], self._source, self._lists_of(tasks)
        lengths = self._lengths[lists]
        ends = np.cumsum(lengths)
        skipped, ends_there = (
            source.upload(self._starts[lists] - ends + lengths),
            source.upload(ends),
        )
        total = int(lengths.sum())
        for first in range(0, total, MOST_ENTRIES):
            numbers = source.arange(first, min(first + MOST_ENTRIES, total))
            owners = torch.searchsorted(ends_there, numbers, right=True)
            yield owners, self._entries[skipped[owners] + numbers] & 0xFFFFFFFF

    def hold(self, tasks: IntArray, owners: Tensor, columns: Tensor) -> Tensor:
        """Whether the lists of some tasks have columns of tasks at some positions in `tasks`."""
        wanted = (self._source.upload(self._lists_of(tasks))[owners] << 32) + columns
        return self._entries[sys.modules["torch"].searchsorted(self._entries, wanted)] == wanted


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
        self._tasks, self._true_scores = len(tasks.rows), true_scores
        self.backend = parts[0][2].backend  # "triton" or "torch"
        self._pending: list[tuple[ScoreSource, IntArray, Tensor, Tensor]] = []
        for top, left, scores in parts:
            where = np.flatnonzero((tasks.rows >= top) & (tasks.rows < top + scores.shape[0]))
            where = where[np.argsort(tasks.rows[where], kind="stable")]
            with scores.stream.current():
                self._begin(scores, where, tasks, top, left)

    def _begin(
        self, scores: ScoreSource, where: IntArray, tasks: PartOfTasks, top: int, left: int
    ) -> None:
        """Begin to count tasks that read a part, in the order of their rows."""
        first_column = tasks.first_column + left
        selections = [x and SelectedColumns(x, scores) for x in (tasks.filter, tasks.candidates)]
        for first in range(0, max(1, len(where)), MOST_TASKS):
            some = where[first : first + MOST_TASKS]
            rows, targets = tasks.rows[some] - top, tasks.targets[some] - first_column
            true = None if self._true_scores is None else self._true_scores[some]
            chunk = _Chunk(scores, some, rows, targets, true)
            counts = chunk.count(first_column, *selections)
            copies = map(scores.stream.copy_to_host, (counts, chunk.true))
            self._pending.append((scores, some, *copies))

    def arrays(self) -> dict[str, IntArray]:
        """Wait for the counts: partial counts as the core gives them."""
        table = np.zeros((len(NAMES), self._tasks), np.int64)
        for scores, where, counts, _ in self._pending:
            scores.stream.wait()
            table[:, where] += counts.numpy()
        return dict(zip(NAMES, table, strict=True))

    def true_scores(self) -> npt.NDArray[Any]:
        """Wait for the true scores, with which the scores were compared."""
        if self._true_scores is not None:
            return self._true_scores
        self.arrays()
        where = np.concatenate([where for _, where, _, _ in self._pending])
        scores = np.concatenate([tensor_array(x, "scores")[0] for _, _, _, x in self._pending])
        return scores[np.argsort(where)]


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
        self._scores, self._numbers, self._rows = scores, numbers, rows
        self._row_of, self._targets = scores.upload(rows), scores.upload(targets)
        if true_scores is None:
            self.true = scores.pairs(self._row_of, self._targets)
        else:
            self.true = scores.upload(true_scores, scores.dtype)
        self._true_keys, self._true_nan = true_keys_of(self.true), keys_of(self.true)[1]

    def count(
        self, first_column: int, left_out: SelectedColumns | None, let_in: SelectedColumns | None
    ) -> Tensor:
        """Return the counts, in the order of their names."""
        scores, width = self._scores, self._scores.shape[1]
        counts = scores.zeros(len(NAMES), len(self._rows))
        if not width:
            return counts
        if let_in is None or let_in.shared:
            columns = None if let_in is None else let_in.columns_within(first_column, width)
            counts[:3] = scores.scan(self._rows, self.true, columns)
            counts[3] = width if columns is None else len(columns)
        else:
            for tasks, numbers in let_in.entries(self._numbers):
                counts[:4].index_add_(1, tasks, self._compared(tasks, numbers - first_column)[0])
        own, differing = self._compared(scores.arange(0, len(self._rows)), self._targets)
        counts[:4] -= own
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
        true, true_nan = self._true_keys[tasks], self._true_nan[tasks]
        flags = (keys > true, keys == true, nan, inside)
        counts = sys.modules["torch"].stack([(flag & inside).long() for flag in flags])
        return counts, inside & (((keys != true) & ~nan) | (nan != true_nan))
