"""The two graphs of an alignment: checks for ids of one graph, and for pairs of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..embeddings.vectors import QUERIES, Roles
from ..inputs.arrays import index_array, read_only
from ..inputs.errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


GRAPHS = ("left", "right")  # the columns of a pair
DIRECTIONS = ("left_to_right", "right_to_left")  # from the graph of queries to the other


def _make_roles(queries: str, entities: str, pair: str) -> Roles:
    nouns = QUERIES.nouns._replace(
        score=f"the score of {pair}", true_score=f"the true score, of {pair},"
    )
    return Roles(queries, entities, f"as {queries} has", "a matrix (entities, d)", nouns)


# How messages name embeddings if queries are left entities, and if they are right ones.
FORWARD = _make_roles("left", "right", "left {row} and right {column}")
BACKWARD = _make_roles("right", "left", "left {column} and right {row}")


def as_ids(name: str, value: Any, size: int, noun: str = "ids") -> IntArray:
    """Check ids of one graph, and return them ascending and distinct; None stands for all.

    Parameters
    ----------
    name : str
        The argument.
    value : array_like of int, shape (n,), or None
    size : int
        The number of entities of the graph.
    noun : str
        The noun for them in messages.

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
        raise InputValueError(name, expected=f"a 1-D array of {noun}", got=f"shape {ids.shape}")
    wrong = _core.first_outside(ids, size)
    if wrong >= 0:
        raise InputValueError(name, expected=f"{noun} from 0 to {size - 1}", got=ids[wrong])
    return np.unique(ids)


def as_pairs(name: str, value: Any, expected: str = "shape (n, 2)") -> IntArray:
    """Check pairs of integers, and return them as read-only int64.

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
    """Check a pair of values for the left and the right graph; None stands for (None, None).

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
