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
    """Whether lists in ascending order hold columns: a binary search for each column."""
    zeros_of_columns = column * 0
    low = begin + zeros_of_columns
    high = end + zeros_of_columns
    longest_range = tl.max(end - begin)
    while longest_range > 0:  # Each round halves all ranges, until each column has a place.
        middle = (low + high) // 2
        is_open = low < high
        is_below = tl.load(indices + middle, mask=is_open, other=0) < column
        low = tl.where(is_open & is_below, middle + 1, low)
        high = tl.where(is_open & ~is_below, middle, high)
        longest_range = longest_range // 2
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
    row_starts, true, task, is_task, indptr, indices, begin, end, first_column, width, n_columns,
    column_stride, first_tile, end_tile, is_whole, axis: tl.constexpr, COLUMNS: tl.constexpr,
    IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Count candidates, as if nothing were filtered: above, tied, NaN and all, the target too."""
    across = tl.expand_dims(tl.arange(0, COLUMNS), 1 - axis)
    above = tl.zeros((task + across).shape, tl.int32)
    tied = above  # Sums are new values: these four are not changed in place.
    nan = above
    candidates = above
    for tile in range(first_tile, end_tile):
        place = begin + tile * COLUMNS + across
        column, inside = _columns(indices, end, place, first_column, width)
        is_full = (indptr is None) & is_whole & ((tile + 1) * COLUMNS <= n_columns)
        pointer = row_starts + column * column_stride
        score = _read(pointer, inside & is_task, is_full, IS_BFLOAT16)
        above += ((score > true) & inside).to(tl.int32)
        tied += ((score == true) & inside).to(tl.int32)
        nan += ((score != score) & inside).to(tl.int32)
        if indptr is not None:
            candidates += inside.to(tl.int32)
    n_candidates = _count(candidates, axis)
    if indptr is None:  # All tasks have the columns of these tiles.
        first_place = tl.minimum(first_tile * COLUMNS, n_columns)
        n_candidates += tl.minimum(end_tile * COLUMNS, n_columns) - first_place
    return _count(above, axis), _count(tied, axis), _count(nan, axis), n_candidates


@triton.jit
def _take_out_filtered(
    above, tied, nan, candidates, row_starts, true, task, is_task, target, filter_indptr,
    filter_indices, filter_lists, indices, begin, end, first_column, width, column_stride,
    axis: tl.constexpr, FEW: tl.constexpr, IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Return the counts without the candidates that are filtered, but for the target."""
    few = tl.expand_dims(tl.arange(0, FEW), 1 - axis)
    filter_begin, filter_end = _list_of(filter_indptr, filter_lists, task)
    zeros_of_tasks = task * 0
    candidates_begin = zeros_of_tasks + begin
    candidates_end = zeros_of_tasks + end
    tiles = tl.cdiv(tl.max(filter_end - filter_begin), FEW)
    for tile in range(tl.program_id(1), tiles, tl.num_programs(1)):
        place = filter_begin + tile * FEW + few
        column, inside = _columns(filter_indices, filter_end, place, first_column, width)
        inside &= is_task & (column != target)
        if indices is not None:
            inside &= _holds(indices, candidates_begin, candidates_end, column + first_column)
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
@triton.jit(do_not_specialize=["tasks", "width", "first_column", "n_columns"])
def count_tasks(
    scores, true_scores, order, rows, targets,
    filter_indptr, filter_indices, filter_lists, indptr, indices, lists,
    counts, own_scores, tasks, width, first_column, n_columns, row_stride, column_stride,
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
    - indptr: all tasks have the `n_columns` indices
    - indices: these are all columns, of which there are as many
    - lists: task i has list i
    """
    axis: tl.constexpr = 0 if BY_COLUMNS else 1
    position = tl.expand_dims(tl.program_id(0) * TASKS + tl.arange(0, TASKS), axis)
    is_task = position < tasks
    task = tl.minimum(position, tasks - 1)
    if order is not None:
        task = tl.load(order + task)
    counts += tl.program_id(1).to(tl.int64) * 5 * tasks + task
    row = position.to(tl.int64) if rows is None else tl.load(rows + task)
    row_starts = scores + row * row_stride
    target = tl.load(targets + task) - first_column
    is_own = is_task & (target >= 0) & (target < width)
    own_place = row_starts + target * column_stride
    true = _true_scores(true_scores, own_scores, own_place, task, is_task, is_own)
    true = _comparable(true, IS_BFLOAT16)

    begin = 0
    end = n_columns
    tiles = tl.cdiv(n_columns, COLUMNS)
    if indptr is not None:
        begin, end = _list_of(indptr, lists, task)
        tiles = tl.cdiv(tl.max(end - begin), COLUMNS)
    tiles_of_program = tl.cdiv(tiles, tl.num_programs(1))
    first_tile = tl.program_id(1).to(tl.int64) * tiles_of_program
    end_tile = tl.minimum(first_tile + tiles_of_program, tiles)
    above, tied, nan, candidates = _count_compared(
        row_starts, true, task, is_task, indptr, indices, begin, end, first_column, width,
        n_columns, column_stride, first_tile, end_tile, (tl.program_id(0) + 1) * TASKS <= tasks,
        axis, COLUMNS, IS_BFLOAT16,
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
