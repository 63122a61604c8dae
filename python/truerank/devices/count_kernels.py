"""Triton's kernel for scores that are stored: it reads every score once, and stores none.

Scores are compared in their own dtype; 16-bit floats as float32, which has all of them.
"""

# Triton's compiler reads types at run time, and mypy does not know Triton.
# mypy: ignore-errors

import triton
import triton.language as tl

PROGRAMS = 4096  # enough for every device to be busy, and for even shares
TILE = 2048  # scores that a program compares at a time
TIMES_AS_FEW = 16  # columns of selections at a time
MOST_TASKS = 8  # that read one row at a time
MOST_ROWS = 64  # narrow ones, read at a time; of more, registers would be spilled
ROWS = 64  # read at a time, where neighbours in a column lie together


@triton.jit
def _comparable(scores, IS_BFLOAT16: tl.constexpr):
    """Return scores in a dtype that devices compare; bfloat16 comes as its bits."""
    if IS_BFLOAT16:
        scores = (scores.to(tl.int32) << 16).to(tl.float32, bitcast=True)
    elif scores.dtype.is_fp16():
        scores = scores.to(tl.float32)
    return scores


@triton.jit
def _true_scores(true_scores, own_scores, own_place, task, is_task, is_own):
    """Load the true scores, or else those of the targets, which one program keeps."""
    if true_scores is not None:
        true = tl.load(true_scores + task)
    else:
        true = tl.load(own_place, mask=is_own, other=0)
        if tl.program_id(1) == 0:
            tl.store(own_scores + task, true, mask=is_task)
    return true


@triton.jit
def _list_of(indptr, lists, task):
    """Return where the list of each task begins and ends (default of lists: list i of task i)."""
    number = task
    if lists is not None:
        number = tl.load(lists + task)
    return tl.load(indptr + number), tl.load(indptr + number + 1)


@triton.jit
def _columns(indices, end, place, first_column, width):
    """Return the columns at places of lists (default: these), and which are to be read."""
    inside = place < end
    column = place
    if indices is not None:
        number = tl.load(indices + place, mask=inside, other=0)
        column = number.to(tl.int64) - first_column
        inside &= (column >= 0) & (column < width)
    return column, inside


@triton.jit
def _holds(indices, begin, end, column):
    """Whether lists in ascending order hold columns: a binary search for each."""
    low = begin + column * 0
    high = end + column * 0
    size = tl.max(end - begin)
    while size > 0:
        middle = (low + high) // 2
        is_open = low < high
        is_below = tl.load(indices + middle, mask=is_open, other=0) < column
        low = tl.where(is_open & is_below, middle + 1, low)
        high = tl.where(is_open & ~is_below, middle, high)
        size = size // 2
    return (low < end) & (tl.load(indices + low, mask=low < end, other=0) == column)


@triton.jit
def _count(flags, axis: tl.constexpr):
    """Return how many flags of each task are set, or the sums of its counts."""
    return tl.expand_dims(tl.sum(flags.to(tl.int32), axis), axis)


@triton.jit
def _read(place, inside, is_whole, IS_BFLOAT16: tl.constexpr):
    """Load scores; without a mask if all are inside, so that a thread reads several at once."""
    if is_whole:
        scores = tl.load(place)
    else:
        scores = tl.load(place, mask=inside, other=0)
    return _comparable(scores, IS_BFLOAT16)


@triton.jit
def _count_compared(
    row_starts, true, task, is_task, indptr, indices, begin, end, first_column, width, listed,
    column_stride, first, last, is_whole, axis: tl.constexpr, COLUMNS: tl.constexpr,
    IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Count candidates, as if nothing were filtered: above, tied, NaN and all, the target too."""
    across = tl.expand_dims(tl.arange(0, COLUMNS), 1 - axis)
    above = tl.zeros((task + across).shape, tl.int32)
    tied = above
    nan = above
    candidates = above
    for turn in range(first, last):
        place = begin + turn * COLUMNS + across
        column, inside = _columns(indices, end, place, first_column, width)
        is_full = (indptr is None) & is_whole & ((turn + 1) * COLUMNS <= listed)
        place = row_starts + column * column_stride
        score = _read(place, inside & is_task, is_full, IS_BFLOAT16)
        above += ((score > true) & inside).to(tl.int32)
        tied += ((score == true) & inside).to(tl.int32)
        nan += ((score != score) & inside).to(tl.int32)
        if indptr is not None:
            candidates += inside.to(tl.int32)
    n_candidates = _count(candidates, axis)
    if indptr is None:
        n_candidates += tl.minimum(last * COLUMNS, listed) - tl.minimum(first * COLUMNS, listed)
    return _count(above, axis), _count(tied, axis), _count(nan, axis), n_candidates


@triton.jit
def _take_out_filtered(
    above, tied, nan, candidates, row_starts, true, task, is_task, target, filter_indptr,
    filter_indices, filter_lists, indices, begin, end, first_column, width, column_stride,
    axis: tl.constexpr, FEW: tl.constexpr, IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Return the counts without the candidates that are filtered, but for the target."""
    few = tl.expand_dims(tl.arange(0, FEW), 1 - axis)
    first, last = _list_of(filter_indptr, filter_lists, task)
    tiles = tl.cdiv(tl.max(last - first), FEW)
    for turn in range(tl.program_id(1), tiles, tl.num_programs(1)):
        place = first + turn * FEW + few
        column, inside = _columns(filter_indices, last, place, first_column, width)
        inside &= is_task & (column != target)
        if indices is not None:
            inside &= _holds(indices, task * 0 + begin, task * 0 + end, column + first_column)
        score = _read(row_starts + column * column_stride, inside, False, IS_BFLOAT16)
        above -= _count((score > true) & inside, axis)
        tied -= _count((score == true) & inside, axis)
        nan -= _count((score != score) & inside, axis)
        candidates -= _count(inside, axis)
    return above, tied, nan, candidates


@triton.jit
def _store_counts(
    counts, above, tied, nan, candidates, own, true, tasks, is_task, is_own
):  # fmt: skip
    """Store the counts of tasks, out of which their own scores are taken."""
    differs = is_own & (own != true) & ((own == own) | (true == true))  # NaN equals NaN
    tl.store(counts, above - ((own > true) & is_own).to(tl.int64), is_task)
    tl.store(counts + tasks, tied - ((own == true) & is_own).to(tl.int64), is_task)
    tl.store(counts + 2 * tasks, nan - ((own != own) & is_own).to(tl.int64), is_task)
    tl.store(counts + 3 * tasks, candidates - is_own.to(tl.int64), is_task)
    tl.store(counts + 4 * tasks, differs.to(tl.int64), is_task)


# Of the sizes only the strides are looked at when a kernel is compiled: else it would be compiled
# again for other tasks.
@triton.jit(do_not_specialize=["tasks", "width", "first_column", "listed"])
def count_tasks(
    scores, true_scores, order, rows, targets,
    filter_indptr, filter_indices, filter_lists, indptr, indices, lists,
    counts, own_scores, tasks, width, first_column, listed, row_stride, column_stride,
    TASKS: tl.constexpr, COLUMNS: tl.constexpr, FEW: tl.constexpr, BY_COLUMNS: tl.constexpr,
    IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Count for some tasks in some of the columns, or of their candidates.

    What is filtered and the target are compared with the others, and then taken out again.

    Neighbours in the last axis of a tile are read by neighbouring threads: columns or, where those
    of a column lie together, rows.

    The scores are a part of a matrix, `width` columns from `first_column` on; targets and
    selections have the numbers of the matrix. Each list of candidates ascends. `counts` is int64,
    of shape (programs across, 5, tasks), see `task_counts.NAMES`. These pointers may be None:

    - true_scores: they are those of the targets, which go to `own_scores`
    - order: the tasks are in the order of their rows
    - rows: task i reads row i
    - indptr: all tasks have the `listed` indices
    - indices: these are all columns, of which there are as many
    - lists: task i has list i
    """
    axis: tl.constexpr = 0 if BY_COLUMNS else 1
    place = tl.expand_dims(tl.program_id(0) * TASKS + tl.arange(0, TASKS), axis)
    is_task = place < tasks
    task = tl.minimum(place, tasks - 1)
    if order is not None:
        task = tl.load(order + task)
    counts += tl.program_id(1).to(tl.int64) * 5 * tasks + task
    row = place.to(tl.int64) if rows is None else tl.load(rows + task)
    row_starts = scores + row * row_stride
    target = tl.load(targets + task) - first_column
    is_own = is_task & (target >= 0) & (target < width)
    own_place = row_starts + target * column_stride
    true = _true_scores(true_scores, own_scores, own_place, task, is_task, is_own)
    true = _comparable(true, IS_BFLOAT16)

    begin = 0
    end = listed
    tiles = tl.cdiv(listed, COLUMNS)
    if indptr is not None:
        begin, end = _list_of(indptr, lists, task)
        tiles = tl.cdiv(tl.max(end - begin), COLUMNS)
    turns = tl.cdiv(tiles, tl.num_programs(1))
    first = tl.program_id(1).to(tl.int64) * turns
    last = tl.minimum(first + turns, tiles)
    above, tied, nan, candidates = _count_compared(
        row_starts, true, task, is_task, indptr, indices, begin, end, first_column, width, listed,
        column_stride, first, last, (tl.program_id(0) + 1) * TASKS <= tasks, axis, COLUMNS,
        IS_BFLOAT16,
    )  # fmt: skip
    # What follows takes few columns at a time, so that it needs few registers.
    if filter_indices is not None:
        above, tied, nan, candidates = _take_out_filtered(
            above, tied, nan, candidates, row_starts, true, task, is_task, target, filter_indptr,
            filter_indices, filter_lists, indices, begin, end, first_column, width, column_stride,
            axis, FEW, IS_BFLOAT16,
        )  # fmt: skip
    own = true
    if true_scores is not None:
        own = _comparable(tl.load(own_place, mask=is_own, other=0), IS_BFLOAT16)
    is_own &= tl.program_id(1) == 0  # so that it is taken out once
    _store_counts(counts, above, tied, nan, candidates, own, true, tasks, is_task, is_own)
