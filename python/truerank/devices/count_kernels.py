"""Triton's kernel for counting: it reads every score once, and stores none.

Scores are compared in their own dtype; 16-bit floats as float32, which has all of them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import triton
import triton.language as tl

from .scans import width_of

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .source import Columns, ScoreSource, TaskRows, Tensor

PROGRAMS = 4096  # enough for every device to be busy, and for even shares
BLOCK = 2048  # scores that a program compares at a time
MOST_TURNS = 1023  # of a program: so many scores above fit 10 bits
# Rows that a program reads at once where neighbours in a column lie together, not those in a row.
ROWS_AT_ONCE = 64
# A program reads a row for so many of its tasks at once. If there are more, other programs read it
# at the same time, from the device's cache.
TASKS_AT_ONCE = (1, 2, 4, 8)
_TIED = tl.constexpr(1 << 10)  # what a tied score adds to a count, beside 1 for one above


@triton.jit
def _comparable(scores, DTYPE: tl.constexpr):
    """Return scores in a dtype that devices compare; bfloat16 comes as its bits."""
    if DTYPE == "bfloat16":
        found = (scores.to(tl.int32) << 16).to(tl.float32, bitcast=True)
    elif DTYPE == "float16":
        found = scores.to(tl.float32)
    else:
        found = scores
    return found


@triton.jit
def _compared(score, true, HAS_NAN: tl.constexpr):
    """Return 1 for each score above the true one and 1024 for each tied one; and 1 for each NaN."""
    score = score[:, None, :]
    compared = tl.where(score > true, 1, tl.where(score == true, _TIED, 0))
    nan = tl.where(score != score, 1, 0) if HAS_NAN else tl.zeros(score.shape, tl.int32)
    return compared, nan


# Of the sizes only the strides are looked at when a kernel is compiled: else it would be compiled
# again for other tasks.
@triton.jit(do_not_specialize=["groups", "tasks", "width", "share"])
def count_kernel(
    scores, true_scores, columns, group_rows, group_tasks, counts,
    groups, tasks, width, share, row_stride, column_stride,
    ROWS: tl.constexpr, TASKS: tl.constexpr, COLUMNS: tl.constexpr,
    GATHERED: tl.constexpr, HAS_NAN: tl.constexpr, DTYPE: tl.constexpr,
):  # fmt: skip
    """Count `share` columns for ROWS groups of at most TASKS tasks; -1 stands for no task.

    What is counted in share s for task t is stored at counts[s, :, t]: above, tied and NaN.
    """
    group = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at_group = tl.minimum(group, groups - 1)  # a row beyond the last takes that; it is not stored
    row = tl.load(group_rows + at_group)
    task = tl.load(group_tasks + at_group[:, None] * TASKS + tl.arange(0, TASKS)[None, :])
    true = _comparable(tl.load(true_scores + tl.maximum(task, 0)), DTYPE)[:, :, None]
    above_and_tied = tl.zeros((ROWS, TASKS, COLUMNS), tl.int32)
    nan = tl.zeros((ROWS, 1, COLUMNS), tl.int32)
    begin = tl.multiple_of(tl.program_id(1).to(tl.int64) * share, COLUMNS)
    size = tl.minimum(width - begin, share).to(tl.int32)
    across = tl.arange(0, COLUMNS)[None, :]
    row_starts = scores + (row * row_stride)[:, None]
    whole = size - size % COLUMNS
    for start in range(0, whole, COLUMNS):
        column = begin + (start + across)
        if GATHERED:
            column = tl.load(columns + column)
        score = _comparable(tl.load(row_starts + column * column_stride), DTYPE)
        more, more_nan = _compared(score, true, HAS_NAN)
        above_and_tied += more
        nan += more_nan
    is_column = whole + across < size
    column = begin + (whole + across)
    if GATHERED:
        column = tl.load(columns + column, mask=is_column, other=0)
    here = is_column & (at_group >= 0)[:, None]
    score = tl.load(row_starts + column * column_stride, mask=here, other=0)
    more, more_nan = _compared(_comparable(score, DTYPE), true, HAS_NAN)
    here = here[:, None, :]
    above_and_tied += tl.where(here, more, 0)
    nan += tl.where(here, more_nan, 0)
    place = counts + tl.program_id(1).to(tl.int64) * 3 * tasks + task
    is_task = (task >= 0) & (group < groups)[:, None]
    tl.store(place, tl.sum(above_and_tied & (_TIED - 1), 2), mask=is_task)
    tl.store(place + tasks, tl.sum(above_and_tied >> 10, 2), mask=is_task)
    nans = tl.sum(nan, 2) + tl.zeros((ROWS, TASKS), tl.int32)
    tl.store(place + 2 * tasks, nans, mask=is_task)


def scan_tensor(
    source: ScoreSource, tensor: Tensor, rows: TaskRows, true_scores: Tensor, columns: Columns
) -> Tensor:
    """Compare columns of a tensor with true scores, as `ScoreSource.scan` does; some of each."""
    torch = sys.modules["torch"]
    floating = tensor.dtype.is_floating_point
    if tensor.dtype == torch.bfloat16:
        tensor, true_scores = tensor.view(torch.int16), true_scores.view(torch.int16)
    tasks, width = len(rows.host), width_of(columns)
    if isinstance(columns, slice):
        tensor, gathered = tensor[:, columns], rows.device  # which is not read
    else:
        gathered = columns
    by_columns = tensor.stride(0) < tensor.stride(1) and isinstance(columns, slice)
    launches = [
        (size, source.upload(group_rows), source.upload(group_tasks))
        for size, group_rows, group_tasks in _groups(rows.host, by_columns)
    ]
    most_groups = max(len(group_rows) for _, group_rows, _ in launches)
    at_once = ROWS_AT_ONCE if by_columns else 1
    block = max(1, BLOCK // at_once)
    # Each program has as many columns as the others, in whole blocks; for groups of more tasks it
    # takes as many more turns.
    blocks = -(-width // block)
    turns = -(-blocks // min(blocks, max(1, PROGRAMS // -(-most_groups // at_once))))
    share = min(turns, MOST_TURNS // launches[-1][0]) * block
    shares = -(-width // share)
    counts = source.empty((shares, 3, tasks), torch.int32)
    for size, group_rows, group_tasks in launches:
        grid = (-(-len(group_rows) // at_once), shares)
        count_kernel[grid](
            *(tensor, true_scores, gathered, group_rows, group_tasks, counts),
            *(len(group_rows), tasks, width, share, *tensor.stride()),
            ROWS=at_once,
            TASKS=size,
            COLUMNS=block // size,
            GATHERED=not isinstance(columns, slice),
            HAS_NAN=floating,
            DTYPE=source.dtype,
        )
    return counts.sum(0, dtype=torch.int64)


def _groups(rows: IntArray, single: bool) -> list[tuple[int, IntArray, IntArray]]:
    """Group tasks that read the same row, at most as many as are read at once.

    Returns
    -------
    list of (int, ndarray, ndarray)
        For each size of groups: the row of each group, and its tasks, -1 where there are fewer.
    """
    if single:
        return [(1, rows, np.arange(len(rows)))]
    largest = TASKS_AT_ONCE[-1]
    _, starts, sizes = np.unique(rows, return_index=True, return_counts=True)
    pieces = -(-sizes // largest)
    number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.repeat(starts, pieces) + number * largest
    sizes = np.minimum(np.repeat(sizes, pieces) - number * largest, largest)
    found = []
    for least, size in zip((0, *TASKS_AT_ONCE), TASKS_AT_ONCE, strict=False):
        some = np.flatnonzero((sizes > least) & (sizes <= size))
        if len(some):
            places = np.arange(size)
            tasks = np.where(places < sizes[some, None], starts[some, None] + places, -1)
            found.append((size, rows[starts[some]], tasks.reshape(-1)))
    return found
