"""Partial counts of tasks on devices: what the core counts in memory, with the same integers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.array_likes import tensor_array
from ..inputs.selection import selection_arrays
from .device_scores import PartOfTasks, bits_of, keys_of, true_keys_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Selection
    from ..arrays.types import IntArray
    from .device_scores import DeviceScores, Tensor

    Part = tuple[int, int, DeviceScores]  # a rectangle of a matrix: its first row and column

NAMES = ("above", "tied", "nan", "candidates", "differing")
FIELDS = 6  # those of `NAMES`, and the first column whose score is a forbidden NaN
MOST_KERNEL_TASKS = 1 << 21  # counted by one kernel, which takes some 60 bytes for each
MOST_TASKS = 1 << 17  # counted at once: each takes some 200 bytes meanwhile
MOST_ENTRIES = 1 << 18  # of selections, handled at once: each takes some 150 bytes meanwhile


class SelectedColumns:
    """The lists of a selection, each in ascending order, copied to a device.

    Parameters
    ----------
    selection : Selection
    source : DeviceScores
        On the device.
    """

    def __init__(self, selection: Selection, source: DeviceScores) -> None:
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


def copied_selection(selection: Selection | None, source: DeviceScores) -> SelectedColumns | None:
    """Copy a selection to a device, if there is one."""
    if selection is None:
        return None
    return SelectedColumns(selection, source)


class _Pending(NamedTuple):
    """What a device may still compute of some tasks."""

    wait: Callable[[], None]  # for these, and for nothing that the stream is given later
    tasks: slice | IntArray  # their numbers
    counts: Tensor  # of int64, (n, fields, tasks), those of n parts of the columns, on the host
    true_scores: Tensor | None


class DeviceCounts:
    """Partial counts of tasks, which devices may still compute; nothing is waited for.

    See `counting.partial_counts` for what is counted.

    Parameters
    ----------
    parts : sequence of (top, left, DeviceScores)
        All parts of a matrix, rectangles on one device each, with their first row and column.
    tasks : PartOfTasks
        In the whole matrix.
    true_scores : ndarray, shape (tasks,), optional
        In the form that the core takes them. Default: the scores at the targets, all in one part.

    Attributes
    ----------
    backend : {"triton", "torch"}
        What counts.
    finds_nan : bool
        Whether it also finds the place of a forbidden NaN.
    """

    def __init__(
        self, parts: Sequence[Part], tasks: PartOfTasks, true_scores: npt.NDArray[Any] | None
    ) -> None:
        self._tasks = tasks
        self._true_scores = true_scores
        self.finds_nan = len(parts) == 1 and parts[0][2].backend == "triton"
        self._pending: list[_Pending] = []
        self._table: npt.NDArray[np.int64] | None = None
        for top, left, scores in parts:
            numbers: slice | IntArray = slice(0, len(tasks.targets))
            if len(parts) > 1:
                numbers = _tasks_of_rows(tasks, top, top + scores.shape[0])
            begin = self._begin_kernel if scores.backend == "triton" else self._begin
            with scores.stream.current():
                begin(scores, numbers, top, left)
        self.backend = parts[0][2].backend

    def _begin_kernel(
        self, scores: DeviceScores, numbers: slice | IntArray, top: int, left: int
    ) -> None:
        """Begin to count the tasks of these numbers by one kernel."""
        for some in _split(numbers, MOST_KERNEL_TASKS):
            part = self._tasks.some(some, top, left)
            true_scores = None if self._true_scores is None else self._true_scores[some]
            counts, compared = begin_kernel(scores, part, true_scores)
            self._pending.append(_Pending(scores.stream.record(), some, counts, compared))

    def _begin(self, scores: DeviceScores, numbers: slice | IntArray, top: int, left: int) -> None:
        """Begin to count these tasks by operations of torch, in the order of their rows."""
        tasks = self._tasks
        first_column = tasks.first_column + left
        left_out = copied_selection(tasks.filter, scores)
        let_in = copied_selection(tasks.candidates, scores)
        all_numbers = np.arange(len(tasks.targets))
        all_rows = tasks.all_rows
        if tasks.rows is not None:
            numbers = all_numbers[numbers]
            numbers = numbers[np.argsort(all_rows[numbers], kind="stable")]
        for some in _split(numbers, MOST_TASKS):
            true_scores = None if self._true_scores is None else self._true_scores[some]
            targets = tasks.targets[some] - first_column
            counts, true = count_chunk(
                scores,
                all_numbers[some],
                all_rows[some] - top,
                targets,
                true_scores,
                first_column=first_column,
                left_out=left_out,
                let_in=let_in,
            )
            counts = scores.stream.copy_to_host(counts)
            true = scores.stream.copy_to_host(true)
            self._pending.append(_Pending(scores.stream.record(), some, counts[None], true))

    def _counts(self) -> npt.NDArray[np.int64]:
        """Wait for the counts; return them by field and task, in the order of `NAMES`."""
        if self._table is None:
            totals = []
            for pending in self._pending:
                pending.wait()
                counts = pending.counts.numpy()
                total = counts[0]
                if len(counts) > 1:  # Several parts of the columns were counted apart.
                    total = counts.sum(0)
                    total[-1] = counts[:, -1].min(0)  # The last field is a column, the first NaN.
                totals.append(total)
            if len(totals) == 1 and isinstance(self._pending[0].tasks, slice):
                self._table = totals[0]
            else:
                self._table = np.zeros((FIELDS, len(self._tasks.targets)), np.int64)
                for pending, total in zip(self._pending, totals, strict=True):
                    self._table[: len(total), pending.tasks] += total
        return self._table

    def arrays(self) -> dict[str, IntArray]:
        """Wait for the counts: partial counts as the core gives them."""
        return dict(zip(NAMES, self._counts(), strict=False))

    def true_scores(self) -> npt.NDArray[Any]:
        """Wait for the true scores, with which the scores were compared."""
        if self._true_scores is not None:
            return self._true_scores
        self._counts()
        parts = [tensor_array(pending.true_scores, "scores")[0] for pending in self._pending]
        if len(parts) == 1 and isinstance(self._pending[0].tasks, slice):
            return parts[0]
        scores = np.empty(len(self._tasks.targets), parts[0].dtype)
        for pending, part in zip(self._pending, parts, strict=True):
            scores[pending.tasks] = part
        return scores

    def first_nan(self, numbers: IntArray) -> tuple[int, int, int]:
        """Return the first task, by row and column, that has a forbidden NaN, and these.

        Parameters
        ----------
        numbers : ndarray of int64
            The tasks that have one. If `forbids_nan` is false, it is their true score.
        """
        tasks = self._tasks
        rows = numbers if tasks.rows is None else tasks.rows[numbers]
        if tasks.forbids_nan:
            columns = self._counts()[len(NAMES), numbers]
        else:
            columns = tasks.targets[numbers] - tasks.first_column
        first = np.lexsort((columns, rows))[0]
        return int(numbers[first]), int(rows[first]), int(columns[first])


def _tasks_of_rows(tasks: PartOfTasks, top: int, bottom: int) -> slice | IntArray:
    """Return the numbers of the tasks that read some rows."""
    count = len(tasks.targets)
    if tasks.rows is None:
        return slice(min(top, count), min(bottom, count))
    is_read = (tasks.rows >= top) & (tasks.rows < bottom)
    if is_read.all():
        return slice(0, count)
    return np.flatnonzero(is_read)


def _split(numbers: slice | IntArray, most: int) -> Iterator[slice | IntArray]:
    """Yield so many of some numbers at a time; none at all, too."""
    if isinstance(numbers, slice):
        for first in range(numbers.start, max(numbers.stop, numbers.start + 1), most):
            yield slice(first, min(first + most, numbers.stop))
    else:
        for first in range(0, max(1, len(numbers)), most):
            yield numbers[first : first + most]


def count_chunk(
    scores: DeviceScores,
    numbers: IntArray,
    rows: IntArray,
    targets: IntArray,
    true_scores: npt.NDArray[Any] | None,
    *,
    first_column: int,
    left_out: SelectedColumns | None,
    let_in: SelectedColumns | None,
) -> tuple[Tensor, Tensor]:
    """Count tasks in the order of their rows, by operations of torch.

    Candidates are counted as if nothing were filtered, with the targets; then both are taken out.

    Parameters
    ----------
    numbers : ndarray of int64, shape (tasks,)
        Of the tasks, as selections number them.
    rows, targets, true_scores
        Of the tasks, in the part that `scores` are, whose columns begin at `first_column`.

    Returns
    -------
    Tensor of int64, shape (5, tasks), and Tensor, shape (tasks,)
        The counts, in the order of `NAMES`; and the true scores.
    """
    row_of = scores.upload(rows)
    target_of = scores.upload(targets)
    if true_scores is None:
        true = scores.pairs(row_of, target_of)
    else:
        true = scores.upload(true_scores, scores.dtype)
    true_keys = true_keys_of(true)
    _, true_nan = keys_of(true)
    width = scores.shape[1]
    counts = scores.zeros(len(NAMES), len(rows))
    if not width:
        return counts, true

    def compare(
        tasks: Tensor, columns: Tensor, among: bool | Tensor = True
    ) -> tuple[Tensor, Tensor]:
        """Compare a column with each of some tasks, if the part has it and it is among some.

        Returns whether it is above, tied, NaN and a candidate, (4, n); and whether it is another
        score, (n,).
        """
        inside = (columns >= 0) & (columns < width) & among
        keys, nan = keys_of(scores.pairs(row_of[tasks], columns.where(inside, 0)))
        keys_to_beat = true_keys[tasks]
        flags = (keys > keys_to_beat, keys == keys_to_beat, nan, inside)
        compared = sys.modules["torch"].stack([(flag & inside).long() for flag in flags])
        is_other_number = (keys != keys_to_beat) & ~nan
        is_nan_of_one = nan != true_nan[tasks]
        return compared, inside & (is_other_number | is_nan_of_one)

    if let_in is None:
        counts[:3] = scores.compare(rows, true, None)
        counts[3] = width
    elif let_in.shared:
        columns = let_in.columns_within(first_column, width)
        counts[:3] = scores.compare(rows, true, columns)
        counts[3] = len(columns)
    else:
        for tasks, entries in let_in.entries(numbers):
            counts[:4].index_add_(1, tasks, compare(tasks, entries - first_column)[0])
    counts_of_targets, differing = compare(scores.arange(0, len(rows)), target_of)
    counts[:4] -= counts_of_targets
    counts[4] = differing
    if left_out is not None:
        for tasks, entries in left_out.entries(numbers):
            columns = entries - first_column
            is_candidate = columns != target_of[tasks]
            if let_in is not None:
                is_candidate &= let_in.hold(numbers, tasks, entries)
            counts_of_filtered, _ = compare(tasks, columns, is_candidate)
            counts[:4].index_add_(1, tasks, counts_of_filtered, alpha=-1)
    return counts, true


# -- by one kernel: one upload, one launch, one download -------------------------------------------


def begin_kernel(
    scores: DeviceScores, tasks: PartOfTasks, true_scores: npt.NDArray[Any] | None
) -> tuple[Tensor, Tensor | None]:
    """Begin to count scores; what is returned is whole when the stream has been waited for.

    Returns
    -------
    counts : Tensor of int64, shape (n, 6, tasks)
        Those of n parts of the columns: the sums of `NAMES`, and the first forbidden NaN or, if
        there is none, the number of columns.
    true_scores : Tensor, shape (tasks,), or None
        The scores of the targets; None if others are given.
    """
    from . import count_kernels as kernels

    torch = sys.modules["torch"]
    height = len(tasks.targets)
    width = scores.shape[1]
    order = None
    if tasks.rows is not None and (tasks.rows[1:] < tasks.rows[:-1]).any():
        order = np.argsort(tasks.rows, kind="stable")
    n_columns, let_in = _candidates(tasks, width)
    true, order, rows, *pointers = scores.upload_together(
        true_scores, order, tasks.rows, tasks.targets, *_lists(tasks.filter), *let_in
    )
    tensor = scores.tensor
    is_bfloat16 = scores.dtype == torch.bfloat16
    if is_bfloat16:
        tensor = bits_of(tensor)
    elif true is not None:
        true = true.view(scores.dtype)
    grid, tile = _tiling(tasks, n_columns, tensor.stride())
    counts_size = grid[1] * FIELDS * height * 8
    own_size = 0 if true_scores is not None else height * tensor.element_size()
    out = scores.empty((counts_size + own_size,), torch.uint8)
    own = None
    if true_scores is None:
        own = out[counts_size:].view(tensor.dtype)
    if height:
        kernels.count_tasks[grid](
            tensor,
            true,
            order,
            rows,
            *pointers,
            out[:counts_size].view(torch.int64),
            own,
            height,
            width,
            tasks.first_column,
            n_columns,
            *tensor.stride(),
            **tile,
            FIND_NAN=tasks.forbids_nan,
            IS_BFLOAT16=is_bfloat16,
            enable_fp_fusion=False,
        )
    host = scores.stream.copy_to_host(out)
    counts = host[:counts_size].view(torch.int64).view(grid[1], FIELDS, height)
    if own is not None:
        own = host[counts_size:].view(scores.dtype)
    return counts, own


def _lists(selection: Selection | None) -> list[npt.NDArray[Any] | None]:
    """Return the arrays of a selection, as the kernel takes them."""
    if selection is None:
        return [None, None, None]
    indptr, indices, lists, _ = selection_arrays(selection)
    return [indptr, indices, lists]


def _candidates(tasks: PartOfTasks, width: int) -> tuple[int, list[npt.NDArray[Any] | None]]:
    """Return how many columns are compared with all tasks, and the arrays of candidates."""
    candidates = tasks.candidates
    if candidates is None or not candidates.shared:
        return width, _lists(candidates)
    first = tasks.first_column
    start, stop = np.searchsorted(candidates.indices, [first, first + width])
    return int(stop - start), [None, candidates.indices[start:stop], None]


def _tiling(
    tasks: PartOfTasks, columns: int, strides: tuple[int, int]
) -> tuple[tuple[int, int], dict[str, int]]:
    """Return the programs down and across, and the options of the kernel for their tiles."""
    from . import count_kernels as kernels

    height = len(tasks.targets)
    by_columns = strides[0] < strides[1]
    if by_columns:
        tile_tasks = kernels.ROWS
    else:
        # as many narrow rows as fill the tile; of wide ones, as many tasks as read one on average
        tile_tasks = kernels.TILE // _power_of_two_from(max(1, min(kernels.TILE, columns)))
        tile_tasks = min(kernels.MOST_ROWS, tile_tasks)
        if tasks.rows is not None and tile_tasks < kernels.MOST_TASKS:
            repeats = int(np.count_nonzero(tasks.rows[1:] == tasks.rows[:-1]))
            average = _power_of_two_from(height // max(1, height - repeats))
            tile_tasks = max(tile_tasks, min(kernels.MOST_TASKS, average))
    tile_columns = kernels.TILE // tile_tasks
    down = -(-height // tile_tasks)
    tiles = -(-columns // tile_columns)
    # A program takes several tiles where there would be more programs than are needed.
    turns = max(1, -(-tiles // max(1, kernels.PROGRAMS // max(1, down))))
    across = max(1, -(-tiles // turns))
    tile = {
        "TASKS": tile_tasks,
        "COLUMNS": tile_columns,
        "FEW": max(1, tile_columns // kernels.TIMES_AS_FEW),
        "BY_COLUMNS": by_columns,
    }
    return (down, across), tile


def _power_of_two_from(number: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()
