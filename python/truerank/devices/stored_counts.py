"""Counts of scores that are stored on a device: one upload, one kernel, one download."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.selection import selection_arrays
from .score_sources import bits_of
from .unchecked import begin_check

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Selection
    from .score_sources import PartOfTasks, ScoreSource, Tensor

FIELDS = 6  # those of `task_counts.NAMES`, and the first column whose score is a forbidden NaN


class _Tiling(NamedTuple):
    """How the kernel cuts the tasks and the columns among its programs."""

    by_columns: bool
    tasks: int
    columns: int
    down: int
    across: int


def begin_stored(
    scores: ScoreSource, tasks: PartOfTasks, true_scores: npt.NDArray[Any] | None
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
    listed, let_in = _candidates(tasks, width)
    faults = None if tasks.is_checked else np.zeros(2, np.int64)
    arrays = [true_scores, order, tasks.rows, tasks.targets, *_lists(tasks.filter), *let_in, faults]
    true, order, rows, *given, faults = scores.upload_together(*arrays)
    if faults is not None:
        given = begin_check(tasks, width, given, faults)
    tensor = scores.like
    is_bfloat16 = scores.dtype == torch.bfloat16
    if is_bfloat16:
        tensor = bits_of(tensor)
    elif true is not None:
        true = true.view(scores.dtype)
    tiling = _tiling(tasks, listed, tensor.stride())
    counts_size = tiling.across * FIELDS * height * 8
    own_size = 0 if true_scores is not None else height * tensor.element_size()
    out = scores.empty((counts_size + own_size,), torch.uint8)
    own = None
    if true_scores is None:
        own = out[counts_size:].view(tensor.dtype)
    if height:
        kernels.count_tasks[tiling.down, tiling.across](
            tensor,
            true,
            order,
            rows,
            *given,
            faults,
            out[:counts_size].view(torch.int64),
            own,
            height,
            width,
            tasks.first_column,
            listed,
            *tensor.stride(),
            TASKS=tiling.tasks,
            COLUMNS=tiling.columns,
            FEW=max(1, tiling.columns // kernels.TIMES_AS_FEW),
            BY_COLUMNS=tiling.by_columns,
            FIND_NAN=tasks.forbids_nan,
            IS_BFLOAT16=is_bfloat16,
            enable_fp_fusion=False,
        )
    host = scores.stream.copy_to_host(out)
    counts = host[:counts_size].view(torch.int64).view(tiling.across, FIELDS, height)
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


def _tiling(tasks: PartOfTasks, columns: int, strides: tuple[int, int]) -> _Tiling:
    """Cut the tasks and the columns."""
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
    return _Tiling(by_columns, tile_tasks, tile_columns, down, across)


def _power_of_two_from(number: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()
