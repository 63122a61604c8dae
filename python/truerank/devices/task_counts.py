"""Partial counts of tasks on devices: what the core counts in memory, with the same integers.

Scores are compared by their keys, integers in the same order, because some devices take subnormal
floats for 0. A tile is so small that it and all that is made of it take less than 256 MB.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Selection
from ..inputs.array_likes import tensor_array
from ..inputs.selection import Tasks, list_numbers, selection_arrays
from ..stores.on_device import DeviceStore, DeviceStream, chosen_backend
from ..stores.store import ShardStore

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from ..stores.store import Store

    Array = npt.NDArray[Any]
    Tensor = Any  # of torch, which has no types here
    # It waits for the counts of some tasks, and for their true scores if they were not given.
    Finish = Callable[[], tuple[IntArray, Array | None]]

NAMES = ("above", "tied", "nan", "candidates", "differing")
ALIGNMENT = 16  # of arrays that are copied together, so that a kernel is compiled once for all
TILE_BYTES = 16 << 20  # a tile's keys, masks and sums take up to ten times as much
MOST_KERNEL_TASKS = 1 << 21  # counted by one kernel, which takes some 50 bytes for each
MOST_TASKS = 1 << 17  # counted at once: each takes some 200 bytes meanwhile
COLUMN_BITS = 32  # of an entry of a selection; the number of its list is above them
MOST_ENTRIES = 1 << 18  # of selections, handled at once: each takes some 150 bytes meanwhile


# -- what counts: kernels of Triton, else operations of torch, else the host ----------------------


def parts_on_device(store: Store, top: int = 0, left: int = 0) -> list[DeviceScores] | None:
    """Return the parts of a matrix on devices; None: the host counts them.

    The matrix itself begins at a row and a column of a larger one.
    """
    if isinstance(store, ShardStore):
        parts = []
        for shard, start in zip(store.shards, store.starts, strict=True):
            corner = (top, left + start) if store.axis == 1 else (top + start, left)
            parts_of_shard = parts_on_device(shard, *corner)
            if parts_of_shard is None:
                return None
            parts += parts_of_shard
        return parts
    if not isinstance(store, DeviceStore) or chosen_backend() == "host" or store.array.is_neg():
        return None
    backend = backend_of(store.array)
    if backend == "host":
        return None
    return [DeviceScores(store.array, backend, store.stream, top, left)]


def backend_of(tensor: Tensor) -> str:
    """Return what counts the numbers of a tensor: "triton", "torch" or "host".

    That is what TRUERANK_DEVICE chooses, or else the first that counts a small problem right. The
    host counts a copy of them, where the device counts such a problem wrong.
    """
    choice = chosen_backend()
    if choice == "torch":
        return choice
    if choice == "triton":
        if find_spec("triton") is None:
            raise ImportError("TRUERANK_DEVICE=triton needs the package triton")
        # an interpreted kernel takes seconds for what a device does in no time
        if tensor.is_cpu and os.environ.get("TRITON_INTERPRET") == "1":
            return choice
        backends = ["triton"]
    elif find_spec("triton") is not None:
        backends = ["triton", "torch"]
    else:
        backends = ["torch"]
    for backend in backends:
        if counts_right(tensor.device, tensor.dtype, backend):
            return backend
    return "host"


@lru_cache(maxsize=256)
def counts_right(device: Any, dtype: Any, backend: str) -> bool:
    """Whether a device counts a small problem right: it may lack an operation, or a compiler.

    It is tried once for each device and dtype. Whatever goes wrong there, the host can count.
    """
    torch = sys.modules["torch"]
    try:
        with torch.no_grad():
            scores = torch.tensor([[3, 1, 2, 2], [5, 5, 9, 7]], device="cpu").to(dtype).to(device)
            matrix = DeviceScores(scores, backend, DeviceStream(device))
            lists = Selection(np.array([0, 1, 2, 2]), np.array([1, 0]))
            tasks = Tasks(np.array([1, 0, 1]), np.array([0, 2, 3]), lists)
            counts, _ = count_parts([matrix], tasks)
    except Exception:  # of any library beneath, and of any compiler
        return False
    numbers = [counts[name].tolist() for name in ("above", "tied", "candidates")]
    return numbers == [[2, 0, 1], [0, 1, 0], [2, 2, 3]]


def device_backends() -> dict[str, str]:
    """Return what counts float32 scores on each device of torch; imports torch."""
    if find_spec("torch") is None:
        return {}
    import torch

    accelerator = getattr(torch, "accelerator", None)  # since torch 2.6
    if accelerator is None or not accelerator.is_available():
        return {}
    kind = accelerator.current_accelerator().type
    names = [f"{kind}:{i}" for i in range(accelerator.device_count())]
    return {name: backend_of(torch.empty((1, 1), device=name)) for name in names}


# -- counts of tasks ------------------------------------------------------------------------------


def count_parts(parts: Sequence[DeviceScores], tasks: Tasks) -> tuple[dict[str, IntArray], Array]:
    """Return partial counts of tasks, as the core gives them, and their true scores (see `driver`).

    The parts of a matrix are rectangles on one device each. All of them begin to count before the
    first is waited for. If true scores are not given, one part has all of them.
    """
    begun = list(_begin_parts(parts, tasks))
    count = len(tasks.targets)
    true_scores: Any = tasks.true_scores
    if len(begun) == 1 and isinstance(begun[0][0], slice):  # These are all tasks.
        _, finish = begun[0]
        counts, own_scores = finish()
        if own_scores is not None:
            true_scores = own_scores
        return dict(zip(NAMES, counts, strict=True)), true_scores
    total = np.zeros((len(NAMES), count), np.int64)
    for numbers, finish in begun:
        counts, own_scores = finish()
        total[:, numbers] += counts
        if own_scores is not None:
            if true_scores is None:
                true_scores = np.empty(count, own_scores.dtype)
            true_scores[numbers] = own_scores
    return dict(zip(NAMES, total, strict=True)), true_scores


def _begin_parts(
    parts: Sequence[DeviceScores], tasks: Tasks
) -> Iterator[tuple[slice | IntArray, Finish]]:
    """Begin to count all parts; yield the numbers of some tasks, and what waits for their counts.

    That waits only for the work that the stream was given before. One kernel counts a limited
    number of tasks; operations of torch count fewer at a time, in the order of their rows.
    """
    all_tasks = slice(0, len(tasks.targets))
    for scores in parts:
        tasks_of_part: slice | IntArray = all_tasks
        if len(parts) > 1:
            tasks_of_part = _find_tasks(tasks, scores.top, scores.top + scores.shape[0])
        most = MOST_KERNEL_TASKS
        if scores.backend == "torch":
            most = MOST_TASKS
            if tasks.rows is not None:
                numbers = np.arange(all_tasks.stop)[tasks_of_part]
                tasks_of_part = numbers[np.argsort(tasks.rows[numbers], kind="stable")]
        begin = begin_kernel if scores.backend == "triton" else begin_operations
        with scores.stream.current():
            for numbers_at_once in _split(tasks_of_part, most):
                is_all = isinstance(numbers_at_once, slice) and numbers_at_once == all_tasks
                if is_all and not scores.top and not scores.left:
                    tasks_at_once = tasks
                else:
                    rows = tasks.all_rows[numbers_at_once] - scores.top
                    tasks_at_once = tasks.part(numbers_at_once, rows, scores.left)
                counts, true_scores = begin(scores, tasks_at_once)
                wait = scores.stream.record()
                yield numbers_at_once, partial(_finish, wait, counts, true_scores)


def _finish(
    wait: Callable[[], None], counts: Tensor, true_scores: Tensor | None
) -> tuple[IntArray, Array | None]:
    """Wait for counts, and add up those of several parts of the columns; with the true scores."""
    wait()
    parts = counts.numpy()
    total = parts[0] if len(parts) == 1 else parts.sum(0)
    if true_scores is None:
        return total, None
    array, _ = tensor_array(true_scores, "scores")
    return total, array


def _find_tasks(tasks: Tasks, top: int, bottom: int) -> slice | IntArray:
    """Return the numbers of the tasks that read some rows."""
    count = len(tasks.targets)
    if tasks.rows is None:
        return slice(min(top, count), min(bottom, count))
    is_read = (tasks.rows >= top) & (tasks.rows < bottom)
    if is_read.all():
        return slice(0, count)
    return np.flatnonzero(is_read)


def _split(numbers: slice | IntArray, most: int) -> Iterator[slice | IntArray]:
    """Yield at most so many numbers at a time; an empty part where there are none."""
    if isinstance(numbers, slice):
        for first in range(numbers.start, max(numbers.stop, numbers.start + 1), most):
            yield slice(first, min(first + most, numbers.stop))
    else:
        for first in range(0, max(1, len(numbers)), most):
            yield numbers[first : first + most]


# -- by operations of torch ----------------------------------------------------------------------


class SelectedColumns:
    """The lists of a selection of some tasks, each in ascending order, copied to a device.

    An entry is the number of a list and, in the bits below, a column: all entries ascend.
    """

    def __init__(self, selection: Selection, scores: DeviceScores, tasks: int) -> None:
        torch = sys.modules["torch"]
        self.shared = selection.shared
        self._columns = selection.indices
        self._list_of_task = list_numbers(selection, np.arange(tasks))
        self._starts = selection.indptr[:-1]
        self._lengths = np.diff(selection.indptr)
        self._scores = scores  # On its device memory is taken.
        total = len(self._columns)
        lengths = scores.upload(self._lengths)
        lists = scores.arange(0, len(self._lengths))
        list_of_entry = torch.repeat_interleave(lists, lengths, output_size=total)
        # The last entry is above all, for what `hold` looks for.
        self._entries = scores.zeros(total + 1).fill_(np.iinfo(np.int64).max)
        self._entries[:-1] = (list_of_entry << COLUMN_BITS) + scores.upload(self._columns)

    def columns_within(self, first: int, width: int) -> Tensor:
        """Return those columns of a shared list that are in a part, as numbered there."""
        start, stop = np.searchsorted(self._columns, [first, first + width])
        return self._entries[int(start) : int(stop)] - first

    def columns_of_tasks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield columns of the lists of all tasks, with the tasks, some at a time."""
        torch = sys.modules["torch"]
        scores = self._scores
        lengths = self._lengths[self._list_of_task]
        ends = np.cumsum(lengths)
        total = int(lengths.sum())
        # The lists of all tasks, end to end, have `total` places. Where place i is of task t, it
        # has entry i + shifts[t].
        shifts = scores.upload(self._starts[self._list_of_task] - (ends - lengths))
        ends_on_device = scores.upload(ends)
        for first in range(0, total, MOST_ENTRIES):
            places = scores.arange(first, min(first + MOST_ENTRIES, total))
            tasks = torch.searchsorted(ends_on_device, places, right=True)
            entries = self._entries[shifts[tasks] + places]
            yield tasks, entries & ((1 << COLUMN_BITS) - 1)

    def hold(self, tasks: Tensor, columns: Tensor) -> Tensor:
        """Whether the lists of some tasks have these columns."""
        wanted = (self._scores.upload(self._list_of_task)[tasks] << COLUMN_BITS) + columns
        return self._entries[sys.modules["torch"].searchsorted(self._entries, wanted)] == wanted


def begin_operations(scores: DeviceScores, tasks: Tasks) -> tuple[Tensor, Tensor | None]:
    """Begin to count tasks in the order of their rows, by operations of torch.

    Candidates are counted as if nothing were filtered, with the targets; then both are taken out.
    The counts, (1, 5, tasks) in the order of `NAMES`, and the true scores, (tasks,), or None if
    these were given, are on the host once the stream has come so far.
    """
    counts, true = count_by_operations(scores, tasks)
    counts = scores.stream.copy_to_host(counts)[None]
    if tasks.true_scores is not None:
        return counts, None
    return counts, scores.stream.copy_to_host(true)


def count_by_operations(scores: DeviceScores, tasks: Tasks) -> tuple[Tensor, Tensor]:
    """Return the counts and the true scores of tasks, on the device."""
    rows = tasks.all_rows
    first_column = tasks.first_column
    task_rows = scores.upload(rows)
    targets = scores.upload(tasks.targets - first_column)
    if tasks.true_scores is None:
        true = scores.pairs(task_rows, targets)
    else:
        true = scores.upload(tasks.true_scores, scores.dtype)
    true_keys = true_score_keys(true)
    _, true_nan = comparison_keys(true)
    width = scores.shape[1]
    counts = scores.zeros(len(NAMES), len(rows))
    if not width:
        return counts, true
    # These are views of the counts.
    above_tied_nan, n_candidates, differing = counts[:3], counts[3], counts[4]
    counts_of_candidates = counts[:4]

    def compare_pairs(numbers: Tensor, columns: Tensor, where: bool | Tensor = True) -> Any:
        """Compare the score of each pair of a task and a column with the task's true score.

        Returns whether it is above, tied, NaN and a candidate, (4, n), and whether it is another
        one, (n,): all False for columns that the part does not have, and pairs that `where` leaves
        out.
        """
        inside = (columns >= 0) & (columns < width) & where
        keys, nan = comparison_keys(scores.pairs(task_rows[numbers], columns.where(inside, 0)))
        keys_to_beat = true_keys[numbers]
        flags = (keys > keys_to_beat, keys == keys_to_beat, nan, inside)
        compared = sys.modules["torch"].stack([(flag & inside).long() for flag in flags])
        is_other_number = (keys != keys_to_beat) & ~nan
        is_nan_of_one = nan != true_nan[numbers]
        return compared, inside & (is_other_number | is_nan_of_one)

    candidates = None
    if tasks.candidates is None:
        above_tied_nan[:] = scores.compare(rows, true, None)
        n_candidates[:] = width
    else:
        candidates = SelectedColumns(tasks.candidates, scores, len(rows))
        if candidates.shared:
            columns = candidates.columns_within(first_column, width)
            above_tied_nan[:] = scores.compare(rows, true, columns)
            n_candidates[:] = len(columns)
        else:
            for numbers, columns in candidates.columns_of_tasks():
                compared, _ = compare_pairs(numbers, columns - first_column)
                counts_of_candidates.index_add_(1, numbers, compared)
    compared_targets, differing[:] = compare_pairs(scores.arange(0, len(rows)), targets)
    counts_of_candidates -= compared_targets
    if tasks.filter is not None:
        filtered = SelectedColumns(tasks.filter, scores, len(rows))
        for numbers, columns in filtered.columns_of_tasks():
            is_candidate = columns - first_column != targets[numbers]
            if candidates is not None:
                is_candidate &= candidates.hold(numbers, columns)
            compared, _ = compare_pairs(numbers, columns - first_column, is_candidate)
            counts_of_candidates.index_add_(1, numbers, compared, alpha=-1)
    return counts, true


# -- by one kernel: one upload, one launch, one download -------------------------------------------


def begin_kernel(scores: DeviceScores, tasks: Tasks) -> tuple[Tensor, Tensor | None]:
    """Begin to count scores; what is returned is whole when the stream has been waited for.

    These are the counts of n parts of the columns, (n, 5, tasks) in the order of `NAMES`, and the
    scores of the targets, (tasks,), or None if others are given.
    """
    from . import count_kernels as kernels

    torch = sys.modules["torch"]
    height, width = len(tasks.targets), scores.shape[1]
    order = None
    if tasks.rows is not None and (tasks.rows[1:] < tasks.rows[:-1]).any():
        order = np.argsort(tasks.rows, kind="stable")
    n_columns, candidate_arrays = _candidates(tasks, width)
    true, order, rows, targets, *selections = scores.upload_together(
        tasks.true_scores,
        order,
        tasks.rows,
        tasks.targets,
        *_lists(tasks.filter),
        *candidate_arrays,
    )
    tensor = scores.tensor
    is_bfloat16 = scores.dtype == torch.bfloat16
    if is_bfloat16:
        tensor = view_bits(tensor)
    elif true is not None:
        true = true.view(scores.dtype)
    grid, tile = _tiling(tasks, n_columns, tensor.stride())
    # One buffer has the counts and, if no true scores are given, those of the targets behind them.
    bytes_of_counts = grid[1] * len(NAMES) * height * 8
    start_of_own = _aligned(bytes_of_counts)
    end_of_own = start_of_own + (height * tensor.element_size() if true is None else 0)
    buffer = scores.empty((end_of_own,), torch.uint8)
    if height:
        kernels.count_tasks[grid](
            tensor,
            true,
            order,
            rows,
            targets,
            *selections,
            buffer[:bytes_of_counts].view(torch.int64),
            buffer[start_of_own:].view(tensor.dtype) if true is None else None,
            height,
            width,
            tasks.first_column,
            n_columns,
            *tensor.stride(),
            **tile,
            IS_BFLOAT16=is_bfloat16,
            enable_fp_fusion=False,
        )
    host = scores.stream.copy_to_host(buffer)
    counts = host[:bytes_of_counts].view(torch.int64).view(grid[1], len(NAMES), height)
    return counts, host[start_of_own:].view(scores.dtype) if true is None else None


def _lists(selection: Selection | None) -> list[Array | None]:
    """Return the arrays of a selection, as the kernel takes them."""
    if selection is None:
        return [None, None, None]
    indptr, indices, lists, _ = selection_arrays(selection)
    return [indptr, indices, lists]


def _candidates(tasks: Tasks, width: int) -> tuple[int, list[Array | None]]:
    """Return how many columns are compared with all tasks, and the arrays of candidates."""
    candidates = tasks.candidates
    if candidates is None or not candidates.shared:
        return width, _lists(candidates)
    first = tasks.first_column
    start, stop = np.searchsorted(candidates.indices, [first, first + width])
    return int(stop - start), [None, candidates.indices[start:stop], None]


def _tiling(
    tasks: Tasks, columns: int, strides: tuple[int, int]
) -> tuple[tuple[int, int], dict[str, int]]:
    """Return the programs down and across, and the options of the kernel for their tiles."""
    from . import count_kernels as kernels

    by_columns = strides[0] < strides[1]
    tile_tasks = kernels.ROWS if by_columns else _count_tile_tasks(tasks, columns)
    tile_columns = kernels.TILE // tile_tasks
    down = _ceil_div(len(tasks.targets), tile_tasks)
    tiles = _ceil_div(columns, tile_columns)
    # A program takes several tiles where there would be more programs than are needed.
    programs_across = max(1, kernels.PROGRAMS // max(1, down))
    tiles_of_program = max(1, _ceil_div(tiles, programs_across))
    across = max(1, _ceil_div(tiles, tiles_of_program))
    tile = {
        "TASKS": tile_tasks,
        "COLUMNS": tile_columns,
        "FEW": max(1, tile_columns // kernels.TIMES_AS_FEW),
        "BY_COLUMNS": by_columns,
    }
    return (down, across), tile


def _count_tile_tasks(tasks: Tasks, columns: int) -> int:
    """Return how many tasks a tile has: its narrow rows fill it, its wide rows are mostly equal."""
    from . import count_kernels as kernels

    row_columns = _power_of_two_from(max(1, min(kernels.TILE, columns)))
    n_rows = min(kernels.MOST_ROWS, kernels.TILE // row_columns)
    if tasks.rows is None or n_rows >= kernels.MOST_TASKS:
        return n_rows
    height = len(tasks.targets)
    repeats = int(np.count_nonzero(tasks.rows[1:] == tasks.rows[:-1]))
    tasks_of_row = _power_of_two_from(height // max(1, height - repeats))
    return max(n_rows, min(kernels.MOST_TASKS, tasks_of_row))


def _ceil_div(number: int, divisor: int) -> int:
    """Return how many parts of at most `divisor` a number has."""
    return -(-number // divisor)


def _aligned(size: int) -> int:
    """Return the least multiple of `ALIGNMENT` that is not below a size."""
    return _ceil_div(size, ALIGNMENT) * ALIGNMENT


def _power_of_two_from(number: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


# -- scores on a device --------------------------------------------------------------------------


class DeviceScores:
    """A score matrix on a device: a tensor in any layout, which is read in place.

    It begins at row `top` and column `left` of a larger one. A backend, "triton" or "torch", counts
    it, on the stream that makes the scores. Nothing here waits for the device: results are tensors
    that it has yet to compute. No index is out of range; the caller sees to that.
    """

    def __init__(
        self, tensor: Tensor, backend: str, stream: DeviceStream, top: int = 0, left: int = 0
    ) -> None:
        self.top = top
        self.left = left
        self.tensor = tensor
        self.shape: tuple[int, int] = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.backend = backend
        self.stream = stream
        self._bits = view_bits(tensor)  # Signed: torch indexes few unsigned integers.

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Tensor:
        """Return a new tensor on the device, whose values are not set."""
        return self.tensor.new_empty(shape, dtype=dtype)

    def zeros(self, *shape: int) -> Tensor:
        """Return counts of 0: a new tensor of int64."""
        return self.empty(shape, sys.modules["torch"].int64).zero_()

    def arange(self, start: int, stop: int) -> Tensor:
        """Return the integers from `start` to `stop` - 1, int64."""
        torch = sys.modules["torch"]
        return torch.arange(start, stop, dtype=torch.int64, device=self.tensor.device)

    def upload(self, array: Array, dtype: Any = None) -> Tensor:
        """Copy integers to the device, or the bits of numbers of another dtype of torch."""
        bits = np.array(array).view(f"i{array.itemsize}")  # a copy, as the array may be read-only
        host_tensor = sys.modules["torch"].from_numpy(bits)
        if dtype is not None:
            host_tensor = host_tensor.view(dtype)
        return self.stream.upload(host_tensor, self.empty(host_tensor.shape, host_tensor.dtype))

    def upload_together(self, *arrays: Array | None) -> list[Tensor | None]:
        """Copy arrays to the device at once, each as signed integers; None stays."""
        torch = sys.modules["torch"]
        starts = [0]
        for array in arrays:
            size = 0 if array is None else array.nbytes
            starts.append(starts[-1] + _aligned(size))
        host = self.stream.host_memory(starts[-1])
        for start, array in zip(starts, arrays, strict=False):
            if array is not None:
                memory = host.numpy()[start : start + array.nbytes]
                memory.view(array.dtype).reshape(array.shape)[:] = array
        whole = self.stream.upload(host, self.empty((starts[-1],), torch.uint8))
        parts: list[Tensor | None] = []
        for start, array in zip(starts, arrays, strict=False):
            part = None
            if array is not None:
                part = whole[start : start + array.nbytes].view(integer_dtype(array.itemsize))
            parts.append(part)
        return parts

    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the scores of pairs of a row and a column: (n,), of two int64 tensors (n,)."""
        return self._bits[rows, columns].view(self.dtype)

    def block(self, rows: IntArray, columns: slice | Tensor) -> Tensor:
        """Return the scores of some rows, perhaps with repeats, and columns: a matrix."""
        if len(rows) and (rows[1:] - rows[:-1] == 1).all():  # usually every task has the next row
            block = self._bits[int(rows[0]) : int(rows[-1]) + 1][:, columns]
        elif isinstance(columns, slice):
            block = self._bits[:, columns].index_select(0, self.upload(rows))
        else:
            block = self._bits[self.upload(rows)[:, None], columns]
        return block.view(self.dtype)

    def compare(self, rows: IntArray, true_scores: Tensor, columns: Tensor | None) -> Tensor:
        """Compare columns with the true score of each task, by operations of torch.

        Return how many scores are above the true score, equal to it, and NaN: shape (3, tasks). The
        rows ascend, a true score may be NaN, and columns (None: all) are without repeats.
        """
        torch = sys.modules["torch"]
        true_keys = true_score_keys(true_scores)[:, None]
        counts = self.zeros(3, len(rows))
        width = self.shape[1] if columns is None else len(columns)
        scores_of_tile = max(1, TILE_BYTES // self.dtype.itemsize)
        widest = math.isqrt(scores_of_tile)  # A tile of many columns is a square.
        tile_height = max(1, scores_of_tile // max(1, min(width, widest)))
        tile_width = max(1, scores_of_tile // tile_height)
        for top in range(0, len(rows), tile_height):
            tasks = slice(top, min(top + tile_height, len(rows)))
            for left in range(0, width, tile_width):
                span = slice(left, min(left + tile_width, width))
                tile = self.block(rows[tasks], span if columns is None else columns[span])
                keys, nan = comparison_keys(tile)
                flags = (keys > true_keys[tasks], keys == true_keys[tasks], nan)
                counts[:, tasks] += torch.stack([flag.sum(1, dtype=torch.int32) for flag in flags])
        return counts


def integer_dtype(itemsize: int) -> Any:
    """Return torch's dtype of signed integers of so many bytes."""
    torch = sys.modules["torch"]
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[itemsize]


def view_bits(scores: Tensor) -> Tensor:
    """View scores as signed integers of the same size."""
    return scores.view(integer_dtype(scores.element_size()))


def comparison_keys(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return the keys of scores, and which of them are NaN.

    The key of a NaN is below all others; 0.0 and -0.0 have one key.
    """
    torch = sys.modules["torch"]
    bits = view_bits(scores)
    least = torch.iinfo(bits.dtype).min
    if scores.dtype.is_floating_point:
        keys = (least - bits).where(bits < 0, bits)  # the sign bit alone, of -0.0, becomes 0
        nan = scores.isnan()
        return keys.masked_fill_(nan, least), nan
    nan = bits != bits  # none is
    if torch.iinfo(scores.dtype).min == 0:
        return bits ^ least, nan  # unsigned integers, in the order of signed ones
    return bits, nan


def true_score_keys(true_scores: Tensor) -> Tensor:
    """Return the keys of true scores; that of a NaN is above all, so that no score is equal."""
    keys, nan = comparison_keys(true_scores)
    return keys.masked_fill(nan, sys.modules["torch"].iinfo(keys.dtype).max)
