"""Triton's kernel for scores that are stored: it reads every score once, and stores none.

Scores are compared in their own dtype; 16-bit floats as float32, which has all of them.
"""

# Triton's compiler reads types at run time, and mypy does not know Triton.
# mypy: ignore-errors

import triton
import triton.language as tl

PROGRAMS = 4096  # enough for every device to be busy, and for even shares
TILE = 2048  # scores that a program compares at a time
MOST_TASKS = 8  # that read one row at a time
ROWS = 64  # read at a time, where neighbours in a column lie together


@triton.jit
def _comparable(scores, IS_BFLOAT16: tl.constexpr):
    """Return scores in a dtype that devices compare; bfloat16 comes as its bits."""
    if IS_BFLOAT16:
        scores = (scores.to(tl.int32) << 16).to(tl.float32, bitcast=True)
    elif scores.dtype.is_fp16():
        scores = scores.to(tl.float32)
    return scores


# Of the sizes only the strides are looked at when a kernel is compiled: else it would be compiled
# again for other tasks.
@triton.jit(do_not_specialize=["tasks", "width", "turns"])
def count_stored(
    scores, true_scores, rows, columns, counts, tasks, width, turns, row_stride, column_stride,
    TASKS: tl.constexpr, COLUMNS: tl.constexpr, BY_COLUMNS: tl.constexpr,
    IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Count some columns (default: all), `turns` tiles of them, for tasks of rows (default: i).

    Neighbours in the last axis of a tile are read by neighbouring threads: columns or, where those
    of a column lie together, rows.
    """
    task = tl.program_id(0) * TASKS + tl.arange(0, TASKS)
    across = tl.arange(0, COLUMNS)
    task = task[None, :] if BY_COLUMNS else task[:, None]
    across = across[:, None] if BY_COLUMNS else across[None, :]
    at = tl.minimum(task, tasks - 1)
    true = _comparable(tl.load(true_scores + at), IS_BFLOAT16)
    row = task.to(tl.int64) if rows is None else tl.load(rows + at)
    row_starts = scores + row * row_stride
    above = tl.zeros((task + across).shape, tl.int32)
    tied = above
    nan = above
    is_whole = (tl.program_id(0) + 1) * TASKS <= tasks
    begin = tl.program_id(1).to(tl.int64) * turns * COLUMNS
    for turn in range(turns):
        start = begin + turn * COLUMNS
        column = start + across
        inside = column < width
        if columns is not None:
            column = tl.load(columns + column, mask=inside, other=0)
        place = row_starts + column * column_stride
        if is_whole & (start + COLUMNS <= width):
            score = tl.load(place)
        else:
            score = tl.load(place, mask=inside & (task < tasks), other=0)
        score = _comparable(score, IS_BFLOAT16)
        above += ((score > true) & inside).to(tl.int32)
        tied += ((score == true) & inside).to(tl.int32)
        nan += ((score != score) & inside).to(tl.int32)
    axis: tl.constexpr = 0 if BY_COLUMNS else 1
    place = counts + tl.reshape(task, (TASKS,))
    is_task = tl.reshape(task < tasks, (TASKS,))
    tl.atomic_add(place, tl.sum(above, axis).to(tl.int64), is_task, sem="relaxed")
    tl.atomic_add(place + tasks, tl.sum(tied, axis).to(tl.int64), is_task, sem="relaxed")
    tl.atomic_add(place + 2 * tasks, tl.sum(nan, axis).to(tl.int64), is_task, sem="relaxed")
