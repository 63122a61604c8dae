"""Thresholds in place of targets: how many scores of each task are above or equal to each.

A threshold that no score can equal is replaced by the greatest number below it that a score can
have: just as many scores are above either of them, and none is equal to the threshold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from ..inputs.arithmetic import default_arithmetic
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.progress_listeners import as_listener, reporter
from ..inputs.scores import FLOATS, Form, as_scores, widen_bfloat16
from ..stores import owned, read_scores, shape_of
from .job import SCORES, Job, ScoreNouns, prepare_job_without_targets
from .tiles import count_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..inputs.rules import Rules

    Flags = npt.NDArray[np.bool_]


_FORM = Form("a number, one for each task, or a matrix (tasks, m)", (0, 1, 2))


class ThresholdValues(NamedTuple):
    """Thresholds, each as a number that scores can have.

    Attributes
    ----------
    scores : ndarray, shape (n,)
        As the core takes scores of the dtype: the greatest number that is no greater than the
        threshold, or the least of all if there is none.
    exact : ndarray of bool, shape (n,)
        Whether it is equal to the threshold.
    lowest : ndarray of bool, shape (n,)
        Whether the threshold is below all numbers that scores can have.
    """

    scores: npt.NDArray[Any]
    exact: Flags
    lowest: Flags


def read_thresholds(value: Any, dtype: Any = None) -> npt.NDArray[Any]:
    """Check thresholds and return them without rounding: float64, int64, uint64 or Python numbers.

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
        For anything but real numbers.
    ValueError
        For more dimensions, lists of unlike lengths, and a NaN.

    Examples
    --------
    >>> read_thresholds([0.25, 0.5]).dtype, read_thresholds([1, 0.5]).dtype
    (dtype('float64'), dtype('O'))
    """
    if isinstance(value, (bool, int, float, list, tuple, range)):
        array = _of_python(value)
    else:
        raw = np.dtype(np.void) if getattr(value, "dtype", None) is None else value.dtype
        is_raw = isinstance(raw, np.dtype) and raw.name.startswith("void")
        array = _widened(value, dtype if is_raw else None)
    with_nan = np.argwhere(array != array)
    if len(with_nan):
        task, *position = with_nan[0].tolist() or [0]
        place = f"task {task}" + (f", position {position[0]}" if position else "")
        got = f"NaN for {place}" if array.ndim else "NaN"
        raise InputValueError("thresholds", expected="numbers", got=got)
    return array


def _widened(value: Any, dtype: Any) -> npt.NDArray[Any]:
    scores = as_scores(value, dtype, "thresholds", _FORM)
    if scores.dtype == "bfloat16":
        return widen_bfloat16(scores.array).astype(np.float64)
    if scores.dtype in FLOATS:
        return scores.array.astype(np.float64)
    return scores.array.astype(np.uint64 if scores.dtype == "uint64" else np.int64)


def _of_python(value: Any) -> npt.NDArray[Any]:
    try:
        objects = np.array(value, dtype=object)
    except ValueError as error:
        raise InputValueError("thresholds", expected=_FORM.shape, got=error) from None
    if objects.ndim not in _FORM.dimensions:
        raise InputValueError("thresholds", expected=_FORM.shape, got=f"shape {objects.shape}")
    numbers = [x.item() if isinstance(x, (np.generic, np.ndarray)) else x for x in objects.flat]
    kinds = {type(x) for x in numbers}
    if other := kinds - {int, float}:
        if list in other or tuple in other:
            raise InputValueError(
                "thresholds", expected=_FORM.shape, got="lists of unlike lengths or depths"
            )
        kind_name = min(kind.__name__ for kind in other)
        raise InputTypeError("thresholds", expected="real numbers", got=kind_name)
    exact = np.empty(len(numbers), np.float64 if kinds <= {float} else object)
    exact[:] = numbers
    return exact.reshape(objects.shape)


@default_arithmetic()
def representable(thresholds: npt.NDArray[Any], dtype: str) -> ThresholdValues:
    """Find the numbers of a dtype that compare with its scores as thresholds do.

    Parameters
    ----------
    thresholds : ndarray, shape (n,)
        As `read_thresholds` gives them.
    dtype : str
        The dtype of the scores.

    Examples
    --------
    >>> representable(np.array([0.5, 0.1, -1e300]), "float32")[:2]
    (array([0.5       , 0.09999999,       -inf], dtype=float32), array([ True, False, False]))
    >>> representable(np.array([2.5, -300.0]), "int8").scores
    array([   2, -128], dtype=int8)
    """
    if dtype not in FLOATS:
        return _integers_below(thresholds, np.dtype(dtype))
    narrow, exact = _floats_below(
        thresholds, np.dtype(np.float32 if dtype == "bfloat16" else dtype)
    )
    if dtype == "bfloat16":
        narrow, is_same = _bfloat16_below(narrow)
        exact &= is_same
    return ThresholdValues(narrow, exact, np.zeros(len(exact), np.bool_))


def _floats_below(
    thresholds: npt.NDArray[Any], dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], Flags]:
    """Return the greatest numbers of a float that are no greater, and which are equal."""
    # numpy compares doubles exactly, and Python all numbers; doubles hold all other floats
    is_double = thresholds.dtype == np.float64
    exact = thresholds if is_double else thresholds.astype(object)
    doubles = exact if is_double else np.array([_nearest_double(x) for x in exact], np.float64)
    with np.errstate(all="ignore"):
        nearest = doubles.astype(dtype)
        below = np.nextafter(nearest, np.array(-np.inf, dtype))
    wide = nearest.astype(np.float64).astype(exact.dtype)
    is_greater, is_equal = (wide > exact).astype(np.bool_), (wide == exact).astype(np.bool_)
    return np.where(is_greater, below, nearest), is_equal


def _nearest_double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _bfloat16_below(floats: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.uint16], Flags]:
    """Return the bits of the greatest bfloat16 numbers that are no greater, and which are equal."""
    bits = floats.view(np.uint32)
    exact = (bits & np.uint32(0xFFFF)) == 0
    # The upper half is nearer to zero; of a negative number, the next one is further from it.
    upper = (bits >> np.uint32(16)) + (~exact & (floats < 0))
    return upper.astype(np.uint16), exact


def _integers_below(thresholds: npt.NDArray[Any], dtype: np.dtype[Any]) -> ThresholdValues:
    """Return the greatest integers of a dtype that are no greater, and how they compare."""
    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    if thresholds.dtype.kind in "iu":
        own = np.iinfo(thresholds.dtype)
        inside = np.clip(thresholds, max(least, int(own.min)), min(most, int(own.max)))
        lowest = (inside > thresholds) if least > own.min else np.zeros(len(inside), np.bool_)
        return ThresholdValues(inside.astype(dtype), inside == thresholds, lowest)
    scores = np.empty(len(thresholds), dtype)
    exact, lowest = np.zeros((2, len(thresholds)), np.bool_)
    for i, number in enumerate(thresholds.tolist()):
        floor = most if number > most else least if number < least else math.floor(number)
        scores[i], exact[i], lowest[i] = floor, floor == number, number < least
    return ThresholdValues(scores, exact, lowest)


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


def count_scores(
    scores: Any,
    thresholds: Any,
    rules: Rules,
    **tasks: Any,
) -> ThresholdCounts:
    """Count scores in memory, in files or on a device, as `count_above` does.

    `given` are the rows and selections that `prepare_thresholds` takes.
    """
    listener = as_listener(rules.progress)
    matrix = read_scores(scores, rules.dtype, tiled=listener is not None)
    with owned(matrix, scores):
        shape = shape_of(matrix)
        asked = prepare_thresholds(shape, matrix.dtype, thresholds, rules=rules, **tasks)
        job, numbers = asked.job, asked.values.scores
        if isinstance(matrix, Scores):
            return asked.counts(job.counts_of(matrix, numbers))
        counts, _ = count_store(matrix, job, reporter(listener, matrix.nbytes), numbers)
        return asked.counts(counts)


class ThresholdJob(NamedTuple):
    """What is to be counted, after all checks: one task of the job for each threshold."""

    job: Job
    values: ThresholdValues
    shape: tuple[int, ...]  # of the counts

    def counts(self, arrays: Mapping[str, IntArray]) -> ThresholdCounts:
        """Return the counts for thresholds, given those for the numbers that stand for them."""
        above, tied, size, nan = (arrays[x] for x in ("above", "tied", "candidates", "nan"))
        _, exact, lowest = self.values
        above = above + np.where(lowest, tied, 0)
        tied = np.where(exact, tied, 0)
        if self.job.rules.ascending:
            above = size - nan - above - tied
        size = size - nan if self.job.rules.nan == "omit" else size
        return ThresholdCounts(*(x.reshape(self.shape) for x in (above, tied, size)))


def prepare_thresholds(
    shape: tuple[int, ...],
    dtype: str,
    thresholds: Any,
    *,
    rows: Any,
    filter: Any,
    candidates: Any,
    rules: Rules,
    nouns: ScoreNouns = SCORES,
) -> ThresholdJob:
    """Check the arguments of `count_above` for scores of a given shape and dtype."""
    numbers = read_thresholds(thresholds, rules.dtype)
    alone = len(numbers) if numbers.ndim else 1  # tasks of a single row
    job = prepare_job_without_targets(shape, rows, filter, candidates, rules, nouns, alone)
    tasks = len(job.targets)
    if numbers.ndim and len(numbers) != tasks:
        each = "row" if rows is not None else nouns.row
        expected = f"{tasks} thresholds, one for each {each}, or a matrix of {tasks} rows of them"
        raise InputValueError("thresholds", expected=expected, got=f"shape {numbers.shape}")
    if not numbers.ndim:
        numbers = np.full(tasks, numbers, numbers.dtype)
    if numbers.ndim == 2:
        owners = np.repeat(np.arange(tasks), numbers.shape[1])
        job = job.part(owners, job.all_rows[owners])
    return ThresholdJob(job, representable(numbers.ravel(), dtype), numbers.shape)
