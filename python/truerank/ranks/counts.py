"""Checks of the counts of ranked tasks, of their weights, and of an index into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import checked_weights, integers, read_only
from ..inputs.checks import check_shape
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray

COUNTS = ("above", "tied", "candidates")


@public("truerank.ranks")
class Audit(NamedTuple):
    """What a count with `audit=True` found in each task: read-only int64 arrays of shape (n,).

    Attributes
    ----------
    nan, inf : ndarray
        The number of candidates whose score is NaN, or infinite.
    at_best : ndarray
        The number of candidates that share the best score of the task.
    differing : ndarray
        The number of blocks in which the true candidate had another score than its true score (see
        `RankCounter`); 0 if all scores were counted at once.
    mismatched : ndarray
        1 if this was checked and the task's row of scores or vectors differs in a bit from the
        first one of the same query; else 0.
    """

    nan: IntArray
    inf: IntArray
    at_best: IntArray
    differing: IntArray = None  # type: ignore[assignment]  # Ranks replace it by zeros, as the next
    mismatched: IntArray = None  # type: ignore[assignment]


def checked_counts(
    above: object, tied: object, candidates: object, *, copy: bool = True
) -> tuple[IntArray, IntArray, IntArray]:
    """Check the three counts of every task against one another; return them as read-only int64.

    Examples
    --------
    >>> checked_counts([3], [2], 10)
    (array([3]), array([2]), array([10]))
    """
    above = integers("above", above, copy=copy)
    n = len(above)
    tied = integers("tied", tied, length=n, copy=copy)
    shared: Any = candidates
    if not isinstance(shared, (list, tuple)) and np.ndim(shared) == 0:
        candidates = np.repeat(integers("candidates", np.reshape(shared, 1)), n)
    candidates = integers("candidates", candidates, length=n, copy=copy)
    _refuse_where("above", above, above < 0, ">= 0")
    _refuse_where("tied", tied, tied < 1, ">= 1, because the true candidate ties with itself")
    _refuse_where("candidates", candidates, candidates < 1, ">= 1")
    wrong = tied > candidates - above  # a sum could overflow
    if wrong.any():
        i = int(wrong.argmax())
        found = f"{candidates[i]} candidates for above {above[i]} and tied {tied[i]}"
        expected, got = ">= above + tied", f"{found} at position {i}"
        raise InputValueError("candidates", expected=expected, got=got)
    return above, tied, candidates


def checked_audit(value: object, length: int, *, copy: bool = True) -> Audit:
    """Check the counts of an audit: three to five arrays of integers >= 0, one for each task.

    Examples
    --------
    >>> checked_audit([[0], [0], [1]], 1).differing
    array([0])
    """
    if not isinstance(value, (tuple, list)) or not 3 <= len(value) <= len(Audit._fields):
        raise InputTypeError("audit", expected="an Audit or three arrays", got=type(value).__name__)
    arrays = []
    for name, counts in zip(Audit._fields, value, strict=False):
        if counts is None and name in Audit._field_defaults:
            counts = np.zeros(length, dtype=np.int64)
        array = integers(f"audit.{name}", counts, length=length, copy=copy)
        _refuse_where(f"audit.{name}", array, array < 0, ">= 0")
        if array.sum(dtype=np.float64) >= 2**63:  # a report adds them up
            problem = "expected integers whose sum is below 2**63"
            raise InputValueError(f"audit.{name}", problem)
        arrays.append(array)
    return complete_audit(Audit(*arrays))


def checked_listed(value: object, length: int, *, copy: bool = True) -> npt.NDArray[np.bool_]:
    """Check which tasks have their target in their list; return it as a read-only array.

    Examples
    --------
    >>> checked_listed([True, False], 2)
    array([ True, False])
    """
    array = np.asarray(value)
    if array.size == 0 and isinstance(value, list | tuple):
        array = array.astype(bool)
    if array.dtype != np.bool_:
        raise InputTypeError("listed", expected="booleans", got=f"dtype {array.dtype}")
    check_shape("listed", array.shape, (length,), f"{length} booleans, one for each task")
    return read_only(array.copy() if copy else array)


def joined_listed(
    parts: list[tuple[npt.NDArray[np.bool_] | None, int]],
) -> npt.NDArray[np.bool_] | None:
    """Join what is known of several tasks; parts that are not from lists have no misses.

    Examples
    --------
    >>> joined_listed([(np.array([False]), 1), (None, 2)])
    array([False,  True,  True])
    """
    if all(listed is None for listed, _ in parts):
        return None
    return np.concatenate([np.ones(n, bool) if one is None else one for one, n in parts])


def complete_audit(audit: Audit) -> Audit:
    """Make the arrays read-only, and replace those that were not counted by zeros.

    Examples
    --------
    >>> complete_audit(Audit(np.zeros(2), np.zeros(2), np.ones(2))).mismatched
    array([0, 0])
    """
    fields: tuple[IntArray | None, ...] = audit
    n = len(audit.nan)
    arrays = [np.zeros(n, dtype=np.int64) if array is None else array for array in fields]
    for array in arrays:
        array.setflags(write=False)
    return Audit(*arrays)


def _refuse_where(name: str, array: IntArray, wrong: npt.NDArray[np.bool_], expected: str) -> None:
    if wrong.any():
        i = int(wrong.argmax())
        raise InputValueError(name, expected=f"integers {expected}; got {array[i]} at position {i}")


def nonzero_weights(value: object, length: int) -> FloatArray:
    """Check the weights of tasks, not all of which may be 0, as `checked_weights` does."""
    array = checked_weights(value, length=length)
    if length and not array.any():
        raise InputValueError("weights", expected="at least one above 0", got="only 0")
    return array


def checked_index(index: object, n: int) -> npt.NDArray[Any]:
    """Check an index of tasks, and return it as a mask or as an array of positions."""
    if isinstance(index, (bool, np.bool_, str, bytes, tuple, float)) or index is None:
        raise InputTypeError(
            "index", expected="a slice, mask, integers or an int", got=type(index).__name__
        )
    try:
        array = np.asarray(index)
    except ValueError:  # lists of unlike lengths
        raise InputTypeError("index", expected="integers or booleans", got="nested lists") from None
    if array.size == 0 and isinstance(index, list):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise InputTypeError("index", expected="integers or booleans", got=f"dtype {array.dtype}")
    if array.ndim > 1:
        raise IndexError(f"index: expected one dimension, got shape {array.shape}")
    if array.dtype.kind == "b":
        if array.shape != (n,):
            raise IndexError(f"index: expected a mask of {n} booleans, got shape {array.shape}")
        return array
    array = array.reshape(-1)
    wrong = (array < -n) | (array >= n) if array.dtype.kind == "i" else array >= n
    if wrong.any():
        raise IndexError(f"index: {array[wrong.argmax()]} is out of range for {n} tasks")
    return array
