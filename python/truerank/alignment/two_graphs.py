"""The two graphs of an alignment: ids of entities of one, and pairs of both, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..embeddings.vectors import QUERIES, Roles
from ..inputs.arrays import index_array, read_only
from ..inputs.checks import first_outside
from ..inputs.errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


GRAPHS = ("left", "right")  # the columns of a pair
DIRECTIONS = ("left_to_right", "right_to_left")  # who asks, and who is asked for


def _make_roles(asking: str, found: str, pair: str) -> Roles:
    nouns = QUERIES.nouns._replace(
        score=f"the score of {pair}", true_score=f"the true score, of {pair},"
    )
    return Roles(asking, found, f"as {asking} has", "a matrix (entities, d)", nouns)


# What messages call vectors where left entities ask, and where right ones do.
FORWARD = _make_roles("left", "right", "left {row} and right {column}")
BACKWARD = _make_roles("right", "left", "left {column} and right {row}")


def as_ids(name: str, value: Any, size: int, what: str = "ids") -> IntArray:
    """Check ids of one side; None is all of them. Ascending, each once.

    Parameters
    ----------
    name : str
        The argument.
    value : array_like of int, shape (n,), or None
    size : int
        How many entities the side has.
    what : str
        What they are called in messages.

    Raises
    ------
    TypeError, ValueError
        For anything else, and ids out of range.

    Examples
    --------
    >>> as_ids("left_ids", [3, 1, 3], 4)
    array([1, 3])
    """
    if value is None:
        return np.arange(size)
    ids = index_array(name, value)
    if ids.ndim != 1:
        raise InputValueError(name, expected=f"a 1-D array of {what}", got=f"shape {ids.shape}")
    wrong = first_outside(ids, size)
    if wrong >= 0:
        raise InputValueError(name, expected=f"{what} from 0 to {size - 1}", got=ids[wrong])
    return np.unique(ids)


def as_pairs(name: str, value: Any, expected: str = "shape (n, 2)") -> IntArray:
    """Check pairs of integers, and give them as read-only int64.

    Examples
    --------
    >>> as_pairs("pairs", [(0, 3)])
    array([[0, 3]])
    """
    try:
        array = np.asarray(value)
    except ValueError as error:  # a ragged list
        raise InputValueError(name, expected=expected, got=error) from None
    if array.size == 0 and array.ndim == 1:
        array = np.zeros((0, 2), dtype=np.int64)
    pairs = index_array(name, array)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputValueError(name, expected=expected, got=f"shape {pairs.shape}")
    return read_only(pairs)


def check_two(name: str, value: Any) -> tuple[Any, Any]:
    """Check a pair, the first of the left and the second of the right side; None is two of them.

    Examples
    --------
    >>> check_two("candidates", ([0, 1], None))
    ([0, 1], None)
    """
    if value is None:
        return None, None
    if not isinstance(value, (tuple, list)):
        raise InputTypeError(name, expected="(left_ids, right_ids)", got=type(value).__name__)
    if len(value) != 2:
        raise InputValueError(name, expected="(left_ids, right_ids)", got=f"{len(value)} members")
    return value[0], value[1]
