"""Thresholds in place of targets: how many scores of each task are above or equal to each.

A threshold that no score can equal is replaced by the greatest number below it that a score can
have: just as many scores are above either of them, and none is equal to the threshold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.arithmetic import default_arithmetic
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import check_length, check_size
from ..inputs.progress_listeners import as_listener, reporter
from ..inputs.scores import FLOATS, Form, as_scores, check_dimensions, widen_bfloat16
from ..naming import public
from ..stores import owned, read_scores, shape_of
from .driver import count_source
from .job import SCORES, Job, ScoreNames, prepare_job
from .sources import source_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..inputs.rules import Rules

    Flags = npt.NDArray[np.bool_]


_FORM = Form("a number, one for each task, or a matrix (tasks, m)", (0, 1, 2))
# Integers from here on are above every finite score, and below an infinite one.
_HUGE = int(np.finfo(np.float64).max) + 1


def read_thresholds(value: Any, dtype: Any = None) -> npt.NDArray[Any]:
    """Check thresholds and return them without rounding: float64, integers or Python numbers.

    Parameters
    ----------
    value : number or array_like of numbers, up to two dimensions
        An array or tensor of a dtype that scores can have, or Python numbers, also of both kinds
        and of any size.
    dtype : str or dtype, optional
        What raw 16-bit thresholds are.

    Raises
    ------
    TypeError
        For anything but real numbers, also for lists of unlike lengths.
    ValueError
        For more dimensions, and for a NaN.

    Examples
    --------
    >>> read_thresholds([0.25, 0.5]).dtype, read_thresholds([1, 0.5]).dtype
    (dtype('float64'), dtype('O'))
    """
    if isinstance(value, (bool, int, float, list, tuple, range)):
        check_length("thresholds", value)
        array = np.array(value, dtype=object)
        numbers = [x.item() if isinstance(x, np.generic) else x for x in array.flat]
        kinds = {type(x).__name__ for x in numbers}
        others = kinds - {"int", "float"}
        if others:
            raise InputTypeError("thresholds", expected="real numbers", got=min(others))
        check_dimensions(array.shape, "thresholds", _FORM)
        array.flat[:] = [_clipped(x) for x in numbers]
        if "int" not in kinds:
            array = array.astype(np.float64)
    else:
        raw_dtype = dtype if getattr(value, "dtype", None) == "V2" else None
        scores = as_scores(value, raw_dtype, "thresholds", _FORM)
        check_size("thresholds", scores.array.size)
        array = widen_bfloat16(scores.array) if scores.dtype == "bfloat16" else scores.array
        if scores.dtype in FLOATS:
            array = array.astype(np.float64)
    with_nan = np.argwhere(array != array)
    if len(with_nan):
        raise InputValueError("thresholds", f"expected numbers, got NaN at {with_nan[0].tolist()}")
    return array


def _clipped(number: int | float) -> int | float:
    """Return a number; an integer that is far beyond all finite scores becomes a nearer one."""
    if isinstance(number, int):
        return min(max(number, -_HUGE), _HUGE)
    return number


@default_arithmetic()
def representable(
    thresholds: npt.NDArray[Any], dtype: str
) -> tuple[npt.NDArray[Any], Flags, Flags]:
    """Find the numbers of a dtype that compare with its scores as thresholds do.

    Parameters
    ----------
    thresholds : ndarray, shape (n,)
        As `read_thresholds` gives them.
    dtype : str
        The dtype of the scores.

    Returns
    -------
    scores : ndarray, shape (n,)
        As the core takes scores: the greatest number that is no greater than the threshold, or the
        least of all if there is none.
    is_greater, is_equal : ndarray of bool, shape (n,)
        How it compares with the threshold.

    Examples
    --------
    >>> representable(np.array([0.5, 0.1, -1e300]), "float32")[::2]
    (array([0.5       , 0.09999999,       -inf], dtype=float32), array([ True, False, False]))
    >>> representable(np.array([2.5, -300.0]), "int8")[:2]
    (array([   2, -128], dtype=int8), array([False,  True]))
    """
    # numpy compares doubles exactly, and Python all numbers; doubles hold all other floats.
    if dtype in FLOATS:
        exact = thresholds if thresholds.dtype == np.float64 else thresholds.astype(object)
        carrier = np.dtype(np.float32) if dtype == "bfloat16" else np.dtype(dtype)
        with np.errstate(all="ignore"):
            values = exact.astype(np.float64).astype(carrier)
            below = np.nextafter(values, carrier.type(-np.inf))
        is_greater = values.astype(np.float64).astype(exact.dtype) > exact
        values = np.where(is_greater.astype(np.bool_), below, values)
        scores = values
        if dtype == "bfloat16":
            bits = values.view(np.uint32)
            # The upper half is nearer to zero; of a negative number, the next one is below it.
            is_cut = (bits & np.uint32(0xFFFF)) != 0
            scores = ((bits >> np.uint32(16)) + (is_cut & (values < 0))).astype(np.uint16)
            values = widen_bfloat16(scores)
        values = values.astype(np.float64).astype(exact.dtype)
    else:
        exact = thresholds.astype(object)
        limits = np.iinfo(dtype)
        values = np.floor(np.clip(exact, limits.min, limits.max))
        scores = values.astype(dtype)
    return scores, (values > exact).astype(np.bool_), (values == exact).astype(np.bool_)


@public("truerank.counting.score_thresholds")
class ThresholdCounts(NamedTuple):
    """The candidates above each threshold, equal to it, and in all.

    Attributes
    ----------
    above, tied, candidates : ndarray of int64, shape (tasks,) or (tasks, m)
        The shape is that of the thresholds; a single one for all tasks gives (tasks,). What is
        neither above nor tied is below or, with ``nan="worst"``, NaN.
    """

    above: IntArray
    tied: IntArray
    candidates: IntArray


def count_scores_above(scores: Any, thresholds: Any, rules: Rules, **tasks: Any) -> ThresholdCounts:
    """Count scores in memory, in files or on a device, as `count_above` does.

    `tasks` are the rows and selections that `prepare_thresholds` takes.
    """
    listener = as_listener(rules.progress)
    matrix = read_scores(scores, rules.dtype, tiled=listener is not None)
    with owned(matrix, scores):
        shape = shape_of(matrix)
        asked = prepare_thresholds(shape, matrix.dtype, thresholds, rules=rules, **tasks)
        source = source_of(matrix)
        report_progress = reporter(listener, source.nbytes)
        counts, _ = count_source(source, asked.job, asked.scores, report_progress=report_progress)
        return asked.counts(counts)


class ThresholdJob(NamedTuple):
    """What is to be counted, after all checks: one task of the job for each threshold."""

    job: Job
    # The next three are what `representable` returns.
    scores: npt.NDArray[Any]
    is_greater: Flags
    is_equal: Flags
    shape: tuple[int, ...]  # The counts have this shape.

    def counts(self, arrays: Mapping[str, IntArray]) -> ThresholdCounts:
        """Return the counts for thresholds, given those for the numbers that stand for them."""
        tied = np.where(self.is_equal, arrays["tied"], 0)
        above = arrays["above"] + np.where(self.is_greater, arrays["tied"], 0)
        candidates = arrays["candidates"]
        numbers = candidates - arrays["nan"]
        if self.job.rules.is_ascending:
            above = numbers - above - tied
        if self.job.rules.nan == "omit":
            candidates = numbers
        return ThresholdCounts(
            above.reshape(self.shape), tied.reshape(self.shape), candidates.reshape(self.shape)
        )


def prepare_thresholds(
    shape: tuple[int, ...],
    dtype: str,
    thresholds: Any,
    *,
    rows: Any,
    filter: Any,
    candidates: Any,
    rules: Rules,
    score_names: ScoreNames = SCORES,
) -> ThresholdJob:
    """Check the arguments of `count_above` for scores of a given shape and dtype."""
    numbers = read_thresholds(thresholds, rules.dtype)
    tasks_of_row = len(numbers) if numbers.ndim else 1
    job = prepare_job(
        shape, ..., rows, filter, candidates, rules, score_names=score_names, tasks=tasks_of_row
    )
    tasks = len(job.targets)
    if not numbers.ndim:
        numbers = np.full(tasks, numbers, numbers.dtype)
    if len(numbers) != tasks:
        each = score_names.row if rows is None else "row"
        expected = f"{tasks} thresholds, one for each {each}, or a matrix of {tasks} rows of them"
        raise InputValueError("thresholds", expected=expected, got=f"shape {numbers.shape}")
    if numbers.ndim == 2:
        owners = np.repeat(np.arange(tasks), numbers.shape[1])
        job = job.part(owners, job.all_rows[owners])
    return ThresholdJob(job, *representable(numbers.ravel(), dtype), numbers.shape)
