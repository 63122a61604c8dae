"""Checks of the counts of ranked tasks, of their weights, and of an index into them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_array, checked_weights, index_array, integers
from ..inputs.checks import check_length, check_shape, is_iterable, number
from ..naming import public

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray

COUNTS = ("above", "tied", "candidates")
# Tasks may have these beside counts and labels. Those that do not say theirs have these values
# where they are joined with others that do.
DEFAULTS = {"listed": True, "gains": 1.0, "without_answers": 0}
MOST_CANDIDATES = 1 << 52  # Every rank, and half of one, is then a float64.


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


def checked_counts(above: object, tied: object, candidates: Any) -> dict[str, IntArray]:
    """Check the three counts of every task against one another; return them as int64, by name.

    Examples
    --------
    >>> checked_counts([3], [2], 10)
    {'above': array([3]), 'tied': array([2]), 'candidates': array([10])}
    """
    above = _counts("above", above, None, 0)
    n = len(above)
    tied = _counts("tied", tied, n, 1)  # The true candidate ties with itself.
    if not isinstance(candidates, list | tuple | range) and np.ndim(candidates) == 0:
        one = as_array(candidates, "candidates").reshape(1)
        candidates = np.repeat(integers("candidates", one), n)
    candidates = _counts("candidates", candidates, n, 1)
    if (candidates > MOST_CANDIDATES).any():
        i = int((candidates > MOST_CANDIDATES).argmax())
        expected = "at most 2**52, up to which every rank is a float64"
        raise InputValueError(
            "candidates", expected=expected, got=f"{candidates[i]} at position {i}"
        )
    wrong = tied > candidates - above  # A sum could overflow.
    if wrong.any():
        i = int(wrong.argmax())
        got = f"{candidates[i]} for above {above[i]} and tied {tied[i]} at position {i}"
        raise InputValueError("candidates", expected=">= above + tied", got=got)
    return {"above": above, "tied": tied, "candidates": candidates}


def checked_audit(value: object, length: int) -> IntArray:
    """Check the counts of an audit, three to five arrays; return them as one, a row for each.

    Examples
    --------
    >>> checked_audit([[0, 0], [0, 2], [1, 1]], 2).tolist()
    [[0, 0], [0, 2], [1, 1], [0, 0], [0, 0]]
    """
    check_length("audit", value)
    parts: list[Any] = list(value) if is_iterable(value) else []
    if not 3 <= len(parts) <= len(Audit._fields):
        raise InputTypeError("audit", expected="an Audit or three arrays", got=type(value).__name__)
    audit = np.zeros((len(Audit._fields), length), np.int64)
    for row, name, counts in zip(audit, Audit._fields, parts, strict=False):
        if counts is not None or name not in Audit._field_defaults:
            row[:] = _counts(f"audit.{name}", counts, length, 0)
        if row.sum(dtype=np.float64) >= 2**63:  # A report adds them up.
            raise InputValueError(f"audit.{name}", expected="integers whose sum is below 2**63")
    return audit


def checked_listed(value: object, length: int) -> npt.NDArray[np.bool_]:
    """Check which tasks have their target in their list.

    Examples
    --------
    >>> checked_listed([True, False], 2)
    array([ True, False])
    """
    array = as_array(value, "listed", "booleans")
    if array.dtype != np.bool_ and array.size:
        raise InputTypeError("listed", expected="booleans", got=f"dtype {array.dtype}")
    check_shape("listed", array.shape, (length,), f"{length} booleans, one for each task")
    return array.astype(bool)


def checked_answers(arrays: Mapping[str, Any], length: int) -> dict[str, npt.NDArray[Any]]:
    """Check what queries say of their tasks: gains, right answers, and queries without any.

    Examples
    --------
    >>> checked_answers({"gains": [3, 1], "answers": [2, 2]}, 2)
    {'gains': array([3., 1.]), 'answers': array([2, 2])}
    """
    checked: dict[str, npt.NDArray[Any]] = {}
    for name, values in arrays.items():
        if name == "gains":
            checked[name] = checked_weights(values, length=length, name=name)
        else:
            checked[name] = _counts(name, values, length, int(name == "answers"))
    return checked


def check_level(level: object, gains: FloatArray | None) -> float:
    """Check a relevance level: a finite number above 0, which one of the gains reaches.

    Examples
    --------
    >>> check_level(2, np.array([1.0, 3.0]))
    2.0
    """
    value = number("relevance_level", level)
    if not 0 < value < math.inf:
        expected = "a finite number above 0"
        raise InputValueError("relevance_level", expected=expected, got=f"{value:g}")
    highest = 1.0 if gains is None else gains.max(initial=0)
    # An empty part has no gains to compare with.
    if highest < value and (gains is None or len(gains)):
        expected = f"a level that a gain reaches, the highest of which is {highest:g}"
        raise InputValueError("relevance_level", expected=expected, got=f"{value:g}")
    return value


def ties_of(tied: IntArray, listed: npt.NDArray[np.bool_] | None) -> IntArray:
    """Return how many candidates tie with each true one, itself included: 1 for a miss.

    A target that its list misses is bounded by all that is not listed, which are no ties.

    Examples
    --------
    >>> ties_of(np.array([1, 90, 3]), np.array([True, False, True])).tolist()
    [1, 1, 3]
    """
    if listed is None:
        return tied
    return np.where(listed, tied, 1)


def nonzero_weights(value: object, length: int) -> FloatArray:
    """Check the weights of tasks, not all of which may be 0, as `checked_weights` does."""
    array = checked_weights(value, length=length)
    if length and not array.any():
        raise InputValueError("weights", expected="at least one above 0", got="only 0")
    return array


def checked_index(index: object) -> slice | npt.NDArray[Any]:
    """Check an index of tasks, and return it as a slice, a mask or an array of positions."""
    if isinstance(index, slice):
        return index
    if isinstance(index, str):
        raise InputTypeError("index", f"ranks have no metrics: truerank.report(ranks)[{index!r}]")
    array = as_array(index, "index", "a slice, mask, integers or an int")
    if isinstance(index, tuple) or array.ndim > 1:
        got = "a tuple" if isinstance(index, tuple) else f"shape {array.shape}"
        raise InputTypeError("index", expected="a slice, mask, integers or an int", got=got)
    if array.dtype == np.bool_ and array.ndim:
        return array
    return index_array("index", index).reshape(-1)


def _counts(name: str, value: object, length: int | None, least: int) -> IntArray:
    array = integers(name, value, length=length)
    wrong = array < least
    if wrong.any():
        got = f"{array[wrong][0]} at position {wrong.argmax()}"
        raise InputValueError(name, expected=f"integers >= {least}", got=got)
    return array
