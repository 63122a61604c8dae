"""Counts under any convention, in plain NumPy over blocks of tasks: slow and easy to check.

If a convention differs from the exact definition only in ties, arithmetic or unused rules for NaN,
its numbers are derived from the counts of `rank`. A tolerance, a transform, or another score for
filtered candidates changes the counts themselves, so that the scores are needed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from ..inputs.arithmetic import default_arithmetic
from ..inputs.errors import InputTypeError
from ..inputs.scores import widen_bfloat16
from ..inputs.selection import selection_of_tasks
from .conventions import EXACT, FILTERS, NAN_HANDLING, PLACES, TRANSFORMS, Convention

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Selection
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from .conventions import Flags, Values

BLOCK_ENTRIES = 1 << 20  # scores in a block: its temporary arrays take some megabytes


class ConventionCounts(NamedTuple):
    """Per task: candidates above, candidates tied (the true one included), and all candidates.

    `unsettled` are those whose order with the true one is open, by the rounding of a transform or a
    NaN; they are neither above nor tied.
    """

    above: IntArray
    tied: IntArray
    candidates: IntArray
    unsettled: IntArray


class TaskBlock(NamedTuple):
    """The float scores of some tasks: all candidates and the true one; higher is better.

    Attributes
    ----------
    values : ndarray of float, shape (tasks, columns)
    true_scores : ndarray of float, shape (tasks, 1)
    others : ndarray of bool, shape (tasks, columns)
        The candidates other than the true one, including filtered ones.
    filtered : ndarray of bool, shape (tasks, columns)
    is_true : ndarray of bool, shape (tasks, columns)
        Where the true candidate is; nowhere for sampled scores.
    has_filter : bool
        Whether there is a filter.
    """

    values: Values
    true_scores: Values
    others: Flags
    filtered: Flags
    is_true: Flags
    has_filter: bool


@default_arithmetic()
def as_floats(scores: Scores, order: str) -> Values:
    """Convert scores to floats that compare in the same way, negated if lower ones are better.

    Raises
    ------
    TypeError
        For integers of 64 bits, which floats cannot represent.

    Examples
    --------
    >>> from truerank.inputs.scores import as_scores
    >>> as_floats(as_scores(np.array([1, 2], np.int8)), "ascending")
    array([-1., -2.], dtype=float32)
    """
    array = scores.array
    if scores.dtype == "bfloat16":
        array = widen_bfloat16(array)
    elif scores.dtype == "float16" and array.dtype.kind != "f":
        array = array.view(np.dtype(np.float16).newbyteorder(array.dtype.byteorder))
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        raise InputTypeError(
            "scores", expected="floats, or integers of up to 32 bits", got=array.dtype
        )
    wide = np.result_type(array.dtype.newbyteorder("="), np.float32)
    floats: Values = array.astype(wide, copy=False)
    return -floats if order == "ascending" else floats


@default_arithmetic()
def count_block(block: TaskBlock, convention: Convention) -> ConventionCounts:
    """Count one block under one convention.

    Examples
    --------
    >>> values = np.array([[5.0, 5.0, 7.0]])
    >>> is_true = np.array([[True, False, False]])
    >>> block = TaskBlock(values, values[:, :1], ~is_true, np.zeros((1, 3), bool), is_true, False)
    >>> count_block(block, EXACT)
    ConventionCounts(above=array([1]), tied=array([2]), candidates=array([3]), unsettled=array([0]))
    """
    bounds = TRANSFORMS[convention.transform].bounds
    (low, high), (true_low, true_high) = bounds(block.values), bounds(block.true_scores)
    others, filtered = block.others, block.filtered
    if convention.itself != "no":
        others = others | block.is_true
        if convention.itself == "always" or block.has_filter:
            filtered = filtered | block.is_true
    score = FILTERS[convention.filter].score
    if score is None:
        others = others & ~filtered
    else:
        low = np.where(filtered, score(low, true_low), low)
        high = np.where(filtered, score(high, true_high), high)
    if convention.nan == "-inf":
        low, high, true_low, true_high = (
            np.where(np.isnan(values), -np.inf, values)
            for values in (low, high, true_low, true_high)
        )

    above, equal = low > true_high, (low == true_high) & (high == true_low)
    equal |= (block.values == block.true_scores) & ~filtered  # one score has one transform
    if convention.tolerant:
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(low - true_low)
            allowed = convention.atol + np.abs(convention.rtol * true_low)
        equal |= np.isfinite(distance) & (distance <= allowed)
        above &= ~equal
    rule, true_is_nan = NAN_HANDLING[convention.nan], np.isnan(block.true_scores)
    nan = np.isnan(low) | (np.isnan(block.values) & ~filtered)  # also if it became a number
    above |= rule.above(nan, true_is_nan)
    equal |= rule.equal(nan, true_is_nan)
    unsettled = (high >= true_low) & ~above & ~equal
    before = PLACES[convention.rank].before
    if before is not None:
        above, equal = _ordered_ties(above, equal, block.is_true, before)
    if rule.open:
        broken = true_is_nan | (nan & others).any(axis=1, keepdims=True)
        above, equal, unsettled = above & ~broken, equal & ~broken, unsettled | broken

    itself = np.ones(len(low), np.int64)
    if convention.nan == "compared, itself too":
        itself -= true_is_nan[:, 0]
    candidates = others.sum(axis=1) + 1
    if convention.candidates == "finite":
        candidates = (np.isfinite(low) & others).sum(axis=1) + np.isfinite(true_low)[:, 0]
    return ConventionCounts(
        (above & others).sum(axis=1),
        (equal & others).sum(axis=1) + itself,
        candidates,
        (unsettled & others).sum(axis=1),
    )


def _ordered_ties(
    above: Flags, equal: Flags, is_true: Flags, before: Callable[[Flags], Flags]
) -> tuple[Flags, Flags]:
    """Break the ties of tasks whose true candidate has a column: those before it are above it."""
    lower = ~np.logical_or.accumulate(is_true, axis=1)
    in_columns = is_true.any(axis=1, keepdims=True)
    return above | (equal & before(lower) & in_columns), equal & ~in_columns


def counts_of_ranks(ranks: Ranks) -> ConventionCounts:
    """Return the exact counts, in which every comparison is settled."""
    return ConventionCounts(
        ranks.above, ranks.tied, ranks.candidates, np.zeros(len(ranks), dtype=np.int64)
    )


def needs_scores(convention: Convention, nonfinite: int, tied: bool = True) -> bool:
    """Whether a convention needs the scores again, because the exact counts do not suffice.

    `nonfinite` is the number of scores of candidates that are NaN or infinite, `tied` whether any
    true score is tied with another.

    Examples
    --------
    >>> needs_scores(Convention(nan="compared", rank="optimistic"), nonfinite=0)
    False
    >>> needs_scores(Convention(rank="lowest column"), nonfinite=0)
    True
    """
    same = ("transform", "rtol", "atol", "filter", "itself")
    if any(getattr(convention, name) != getattr(EXACT, name) for name in same):
        return True
    if tied and PLACES[convention.rank].before is not None:
        return True
    return nonfinite > 0 and (convention.nan, convention.candidates) != (
        EXACT.nan,
        EXACT.candidates,
    )


def task_slices(tasks: int, columns: int) -> Iterator[slice]:
    """Split tasks into slices with at most `BLOCK_ENTRIES` scores each.

    Examples
    --------
    >>> list(task_slices(3, BLOCK_ENTRIES // 2))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    step = max(1, BLOCK_ENTRIES // max(columns, 1))
    for start in range(0, tasks, step):
        yield slice(start, min(start + step, tasks))


def selection_mask(selection: Selection | None, where: slice, columns: int, default: bool) -> Flags:
    """Convert the selection of some tasks to flags; without a selection, all are `default`."""
    found: npt.NDArray[np.bool_] = np.full((where.stop - where.start, columns), default)
    if selection is None:
        return found
    found[:] = False
    if selection.shared:
        found[:, selection.indices] = True
        return found
    part = selection_of_tasks(selection, where)
    lists: Any = range(len(found)) if part.lists is None else part.lists
    for i, one in enumerate(lists):
        found[i, part.indices[part.indptr[one] : part.indptr[one + 1]]] = True
    return found
