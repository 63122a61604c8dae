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
PLACES = 1024  # of arrays that a program checks
SORTED_TOGETHER = 64  # entries of a list that are compared with as many
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
def _columns(indices, begin, end, place, first_column, width, MAY_REPEAT: tl.constexpr):
    """Return the columns at places of lists (default: these themselves), and which are to be read.

    Of equal ones that follow each other, which there are only if they MAY_REPEAT, it is the first.
    """
    inside = place < end
    column = place
    if indices is not None:
        number = tl.load(indices + place, mask=inside, other=0)
        if MAY_REPEAT:
            has_before = inside & (place > begin)
            inside &= number != tl.load(indices + place - 1, mask=has_before, other=-1)
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
    IS_BFLOAT16: tl.constexpr, MAY_REPEAT: tl.constexpr,
):  # fmt: skip
    """Count candidates, as if nothing were filtered: above, tied, NaN and all, the target too."""
    across = tl.expand_dims(tl.arange(0, COLUMNS), 1 - axis)
    above = tl.zeros((task + across).shape, tl.int32)
    tied = above
    nan = above
    candidates = above
    for turn in range(first, last):
        place = begin + turn * COLUMNS + across
        column, inside = _columns(indices, begin, end, place, first_column, width, MAY_REPEAT)
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
    axis: tl.constexpr, FEW: tl.constexpr, IS_BFLOAT16: tl.constexpr, MAY_REPEAT: tl.constexpr,
):  # fmt: skip
    """Return the counts without the candidates that are filtered, but for the target."""
    few = tl.expand_dims(tl.arange(0, FEW), 1 - axis)
    first, last = _list_of(filter_indptr, filter_lists, task)
    tiles = tl.cdiv(tl.max(last - first), FEW)
    for turn in range(tl.program_id(1), tiles, tl.num_programs(1)):
        place = first + turn * FEW + few
        column, inside = _columns(
            filter_indices, first, last, place, first_column, width, MAY_REPEAT
        )
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
def _first_nan(
    row_starts, task, is_task, target, filter_indptr, filter_indices, filter_lists,
    indices, begin, end, first_column, width, column_stride, first, last, axis: tl.constexpr,
    FEW: tl.constexpr, IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Return the first column of each task whose score is NaN and that is not filtered."""
    few = tl.expand_dims(tl.arange(0, FEW), 1 - axis)
    first_nan = tl.zeros(is_task.shape, tl.int64) + width
    if filter_indices is not None:
        out_begin, out_end = _list_of(filter_indptr, filter_lists, task)
    for turn in range(first, last):
        place = begin + turn * FEW + few
        column, inside = _columns(indices, begin, end, place, first_column, width, False)
        inside &= is_task
        score = _read(row_starts + column * column_stride, inside, False, IS_BFLOAT16)
        is_bad = (score != score) & inside & (column != target)
        if filter_indices is not None:
            is_bad &= ~_holds(filter_indices, out_begin, out_end, column + first_column)
        first_here = tl.min(tl.where(is_bad, column, width), axis)
        first_nan = tl.minimum(first_nan, tl.expand_dims(first_here, axis))
    return first_nan


@triton.jit
def _count_outside(values, length, bound, place):
    """Return how many of some integers, those at some places, are not from 0 to a bound - 1."""
    value = tl.load(values + place, mask=place < length, other=0)
    return tl.sum(((value < 0) | (value >= bound)).to(tl.int64))


@triton.jit
def _check_lists(indptr, indices, lists, faults, length, entries, tasks, width, place):
    """Look for faults of the lists at some places, and of the entries and the tasks at these."""
    is_list = place < length
    begin = tl.load(indptr + place, mask=is_list, other=0)
    end = tl.load(indptr + place + 1, mask=is_list, other=0)
    is_wrong = (begin > end) | ((place == 0) & (begin != 0))
    is_wrong |= (place == length - 1) & (end != entries)
    wrong = tl.sum(is_wrong.to(tl.int64)) + _count_outside(indices, entries, width, place)
    if lists is not None:
        wrong += _count_outside(lists, tasks, length, place)
    tl.atomic_add(faults, wrong)
    # Entries rise but where a list begins: as many fall in all as do there.
    has_before = (place > 0) & (place < entries)
    before = tl.load(indices + place - 1, mask=has_before, other=-1)
    falls = has_before & (tl.load(indices + place, mask=has_before, other=0) <= before)
    has_before = (begin > 0) & (begin < end) & (end <= entries)
    before = tl.load(indices + begin - 1, mask=has_before, other=-1)
    may_fall = has_before & (tl.load(indices + begin, mask=has_before, other=0) <= before)
    tl.atomic_add(faults + 1, tl.sum(falls.to(tl.int64) - may_fall.to(tl.int64)))


_LENGTHS = ["tasks", "width", "filter_length", "filter_entries", "length", "entries"]


@triton.jit(do_not_specialize=_LENGTHS)
def check_tasks(
    targets, filter_indptr, filter_indices, filter_lists, indptr, indices, lists, faults,
    tasks, width, filter_length, filter_entries, length, entries, PLACES: tl.constexpr,
):  # fmt: skip
    """Check targets and selections that nobody has checked, as `count_tasks` takes them.

    Parameters
    ----------
    targets, filter_indptr, ..., lists : pointers, optional
        What is to be checked.
    faults : pointer of int64, shape (2,)
        To the first, the number of faults is added; to the second, how many entries of lists are
        not above the one before, if there are no faults.
    filter_length, length : int
        How many lists there are.
    """
    place = tl.program_id(0).to(tl.int64) * PLACES + tl.arange(0, PLACES)
    if targets is not None:
        tl.atomic_add(faults, _count_outside(targets, tasks, width, place))
    if filter_indices is not None:
        _check_lists(
            filter_indptr, filter_indices, filter_lists, faults, filter_length, filter_entries,
            tasks, width, place,
        )  # fmt: skip
    if indices is not None:
        _check_lists(indptr, indices, lists, faults, length, entries, tasks, width, place)


@triton.jit(do_not_specialize=["length"])
def sort_lists(indptr, indices, ordered, faults, length, FEW: tl.constexpr):
    """Copy lists; in ascending order, with repeats, if `check_tasks` found any that are not.

    Parameters
    ----------
    ordered : pointer
        To memory like that of the indices.
    faults : pointer of int64, shape (2,)
        What `check_tasks` found. Nothing is read if it found faults.
    length : int
        How many lists there are.
    """
    if tl.load(faults) != 0:
        return
    is_sorted = tl.load(faults + 1) == 0
    few = tl.arange(0, FEW)
    for number in range(tl.program_id(0), length, tl.num_programs(0)):
        begin = tl.load(indptr + number)
        end = tl.load(indptr + number + 1)
        tiles = tl.cdiv(end - begin, FEW)
        for turn in range(0, tiles):
            place = begin + turn * FEW + few
            entry = tl.load(indices + place, mask=place < end, other=0)
            to = place
            if not is_sorted:
                to = tl.zeros_like(place) + begin
                for other_turn in range(0, tiles):
                    across = begin + other_turn * FEW + few
                    other = tl.load(indices + across, mask=across < end, other=0)
                    is_before = (other[None, :] == entry[:, None]) & (
                        across[None, :] < place[:, None]
                    )
                    is_before |= other[None, :] < entry[:, None]
                    to += tl.sum((is_before & (across < end)[None, :]).to(tl.int32), 1)
            tl.store(ordered + to, entry, mask=place < end)


@triton.jit
def _has_faults(faults):
    """Whether `check_tasks` found any, if it was asked; out of order is none."""
    has_faults = False
    if faults is not None:
        has_faults = tl.load(faults) != 0
    return has_faults


@triton.jit
def _lack(faults, indices, begin, end, column):
    """Whether candidates, without indices all, lack a column: 1, or else 0, also unless asked."""
    lack = column * 0
    if faults is not None and indices is not None:
        lack = 1 - _holds(indices, lack + begin, lack + end, column).to(tl.int64)
    return lack


@triton.jit
def _store_counts(
    counts, above, tied, nan, candidates, first_nan, own, true, lack, tasks, is_task, is_own
):  # fmt: skip
    """Store the counts of tasks, out of which their own scores are taken."""
    differs = is_own & (own != true) & ((own == own) | (true == true))  # NaN equals NaN
    tl.store(counts, above - ((own > true) & is_own).to(tl.int64), is_task)
    tl.store(counts + tasks, tied - ((own == true) & is_own).to(tl.int64), is_task)
    tl.store(counts + 2 * tasks, nan - ((own != own) & is_own).to(tl.int64), is_task)
    tl.store(counts + 3 * tasks, candidates - is_own.to(tl.int64), is_task)
    tl.store(counts + 4 * tasks, differs.to(tl.int64) - 2 * lack, is_task)
    tl.store(counts + 5 * tasks, first_nan, is_task)


# Of the sizes only the strides are looked at when a kernel is compiled: else it would be compiled
# again for other tasks.
@triton.jit(do_not_specialize=["tasks", "width", "first_column", "listed"])
def count_tasks(
    scores, true_scores, order, rows, targets,
    filter_indptr, filter_indices, filter_lists, indptr, indices, lists, faults,
    counts, own_scores, tasks, width, first_column, listed, row_stride, column_stride,
    TASKS: tl.constexpr, COLUMNS: tl.constexpr, FEW: tl.constexpr, BY_COLUMNS: tl.constexpr,
    FIND_NAN: tl.constexpr, IS_BFLOAT16: tl.constexpr,
):  # fmt: skip
    """Count for some tasks in some of the columns, or of their candidates.

    What is filtered and the target are compared with the others, and then taken out again.

    Neighbours in the last axis of a tile are read by neighbouring threads: columns or, where those
    of a column lie together, rows.

    Parameters
    ----------
    scores : pointer
        A part of a matrix, `width` columns from `first_column` on; targets and selections have the
        numbers of the matrix.
    true_scores : pointer, optional
        Default: the scores of the targets, which go to `own_scores`.
    order : pointer, optional
        The tasks in the order of their rows. Default: they are.
    rows : pointer, optional
        Default: task i reads row i.
    indptr, indices, lists : pointers, optional
        The candidates, each list in ascending order. Without an indptr all tasks have the `listed`
        indices; without indices, all columns, of which there are as many.
    faults : pointer of int64, shape (2,), optional
        What `check_tasks` found. Nothing is counted if it found faults. Lists may have repeats.
    counts : pointer of int64, shape (programs across, 6, tasks)
        See `task_counts.NAMES`; and the first column whose score is a forbidden NaN, which is
        looked for with FIND_NAN, or else `width`. With faults, also if a target is not among its
        candidates, `differing` is below 0.
    """
    axis: tl.constexpr = 0 if BY_COLUMNS else 1
    place = tl.expand_dims(tl.program_id(0) * TASKS + tl.arange(0, TASKS), axis)
    is_task = place < tasks
    task = tl.minimum(place, tasks - 1)
    if order is not None:
        task = tl.load(order + task)
    counts += tl.program_id(1).to(tl.int64) * 6 * tasks + task
    if _has_faults(faults):
        tl.store(counts + 4 * tasks, (task * 0 - 1).to(tl.int64), is_task)
        return
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
        IS_BFLOAT16, faults is not None,
    )  # fmt: skip
    # What follows takes few columns at a time, so that it needs few registers.
    first_nan = tl.zeros(task.shape, tl.int64) + width
    if FIND_NAN:
        if tl.max(nan) > 0:  # which is an error, so that nobody minds a second reading
            first_nan = _first_nan(
                row_starts, task, is_task, target, filter_indptr, filter_indices, filter_lists,
                indices, begin, end, first_column, width, column_stride,
                first * (COLUMNS // FEW), last * (COLUMNS // FEW), axis, FEW, IS_BFLOAT16,
            )  # fmt: skip
        if true_scores is None:
            first_nan = tl.where(true != true, tl.minimum(first_nan, target), first_nan)
    if filter_indices is not None:
        above, tied, nan, candidates = _take_out_filtered(
            above, tied, nan, candidates, row_starts, true, task, is_task, target, filter_indptr,
            filter_indices, filter_lists, indices, begin, end, first_column, width, column_stride,
            axis, FEW, IS_BFLOAT16, faults is not None,
        )  # fmt: skip
    own = _comparable(tl.load(own_place, mask=is_own, other=0), IS_BFLOAT16)
    is_own &= tl.program_id(1) == 0  # so that it is taken out once
    lack = _lack(faults, indices, begin, end, target + first_column)
    _store_counts(
        counts, above, tied, nan, candidates, first_nan, own, true, lack, tasks, is_task, is_own
    )  # fmt: skip
