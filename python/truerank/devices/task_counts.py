"""Partial counts of tasks on devices: what the core counts in memory, with the same integers.

One kernel reads the scores where they are, after one upload of what it is told of the tasks, and
before one download of their counts: in at most 256 MB beside the scores and the selections.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Selection
from ..inputs.array_likes import tensor_array
from ..inputs.selection import Tasks, selection_arrays
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
MOST_KERNEL_TASKS = 1 << 21  # counted by one kernel, which takes some 50 bytes for each


# -- what counts: a kernel of Triton, else the host -----------------------------------------------


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
    if not isinstance(store, DeviceStore) or store.array.is_neg():
        return None
    if backend_of(store.array) == "host":
        return None
    return [DeviceScores(store.array, store.stream, top, left)]


def backend_of(tensor: Tensor) -> str:
    """Return what counts the numbers of a tensor: "triton" or "host", which counts a copy of them.

    That is what TRUERANK_DEVICE chooses. Triton's kernel must count a small problem right on the
    device.
    """
    choice = chosen_backend()
    if choice == "host":
        return choice
    if find_spec("triton") is None:
        if choice == "triton":
            raise ImportError("TRUERANK_DEVICE=triton needs the package triton")
        return "host"
    # an interpreted kernel takes seconds for what a device does in no time
    interprets = tensor.is_cpu and os.environ.get("TRITON_INTERPRET") == "1"
    if (choice == "triton" and interprets) or counts_right(tensor.device, tensor.dtype):
        return "triton"
    return "host"


@lru_cache(maxsize=256)
def counts_right(device: Any, dtype: Any) -> bool:
    """Whether a device counts a small problem right: its kernel may not be compiled, or wrongly.

    It is tried once for each device and dtype. Whatever goes wrong there, the host can count.
    """
    torch = sys.modules["torch"]
    try:
        with torch.no_grad():
            scores = torch.tensor([[3, 1, 2, 2], [5, 5, 9, 7]], device="cpu").to(dtype).to(device)
            matrix = DeviceScores(scores, DeviceStream(device))
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

    That waits only for the work that the stream was given before.
    """
    all_tasks = slice(0, len(tasks.targets))
    for scores in parts:
        tasks_of_part: slice | IntArray = all_tasks
        if len(parts) > 1:
            tasks_of_part = _find_tasks(tasks, scores.top, scores.top + scores.shape[0])
        with scores.stream.current():
            for numbers_at_once in _split(tasks_of_part):
                is_all = isinstance(numbers_at_once, slice) and numbers_at_once == all_tasks
                if is_all and not scores.top and not scores.left:
                    tasks_at_once = tasks
                else:
                    rows = tasks.all_rows[numbers_at_once] - scores.top
                    tasks_at_once = tasks.part(numbers_at_once, rows, scores.left)
                counts, true_scores = begin_kernel(scores, tasks_at_once)
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


def _split(numbers: slice | IntArray) -> Iterator[slice | IntArray]:
    """Yield the numbers that one kernel counts at a time; an empty part where there are none."""
    if isinstance(numbers, slice):
        for first in range(numbers.start, max(numbers.stop, numbers.start + 1), MOST_KERNEL_TASKS):
            yield slice(first, min(first + MOST_KERNEL_TASKS, numbers.stop))
    else:
        for first in range(0, max(1, len(numbers)), MOST_KERNEL_TASKS):
            yield numbers[first : first + MOST_KERNEL_TASKS]


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

    It begins at row `top` and column `left` of a larger one, and is made on a stream. Nothing here
    waits for the device: results are tensors that it has yet to compute.
    """

    def __init__(self, tensor: Tensor, stream: DeviceStream, top: int = 0, left: int = 0) -> None:
        self.top = top
        self.left = left
        self.tensor = tensor
        self.shape: tuple[int, int] = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.stream = stream

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Tensor:
        """Return a new tensor on the device, whose values are not set."""
        return self.tensor.new_empty(shape, dtype=dtype)

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


def integer_dtype(itemsize: int) -> Any:
    """Return torch's dtype of signed integers of so many bytes."""
    torch = sys.modules["torch"]
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[itemsize]


def view_bits(scores: Tensor) -> Tensor:
    """View scores as signed integers of the same size."""
    return scores.view(integer_dtype(scores.element_size()))
