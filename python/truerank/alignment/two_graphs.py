"""The two graphs of an alignment: checks for ids of one graph, and for pairs of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..embeddings.vectors import QUERIES, Roles
from ..inputs.arrays import index_array, read_only
from ..inputs.errors import InputTypeError, InputValueError
from ..tasks.vocabularies import Vocabulary, read_ids

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


def check_ids(name: str, ids: IntArray, size: int, nouns: str, place: str) -> None:
    """Refuse ids of anything that is not among `size`, by the first place that has one.

    Examples
    --------
    >>> check_ids("pairs", np.array([0, 7]), 3, "left ids", "in pair")
    Traceback (most recent call last):
    truerank.InputValueError: pairs: expected left ids from 0 to 2, got 7 in pair 1
    """
    wrong = _core.first_outside(np.ascontiguousarray(ids), size)
    if wrong >= 0:
        expected = f"{nouns} from 0 to {size - 1}"
        raise InputValueError(name, expected=expected, got=f"{ids[wrong]} {place} {wrong}")


def as_ids(name: str, value: Any, size: int) -> IntArray:
    """Check ids of one graph, and return them ascending and distinct; None stands for all.

    Parameters
    ----------
    name : str
        The argument.
    value : array_like of int, shape (n,), or None
    size : int
        The number of entities of the graph.

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
    return read_ids(name, value, Vocabulary(size, None), "entities have no names here")


def as_rows(name: str, value: Any, least: int, most: int, expected: str) -> IntArray:
    """Check rows of integers with a number of columns, and return them as new, read-only int64.

    Examples
    --------
    >>> as_rows("triples", [(0, 3, 1)], 3, 9, "shape (n, 3) or wider")
    array([[0, 3, 1]])
    """
    rows = index_array(name, value)
    if rows.shape == (0,):
        rows = rows.reshape(0, least)
    if rows.ndim != 2 or not least <= rows.shape[1] <= most:
        raise InputValueError(name, expected=expected, got=f"shape {rows.shape}")
    return read_only(rows)


def as_pairs(
    name: str, value: Any, sizes: Iterable[int] = (), expected: str = "shape (n, 2)"
) -> IntArray:
    """Check pairs of a left and a right id, and return them as new, read-only int64.

    Examples
    --------
    >>> as_pairs("pairs", [(0, 3)])
    array([[0, 3]])
    """
    pairs = as_rows(name, value, 2, 2, expected)
    for graph, column, size in zip(GRAPHS, pairs.T, sizes, strict=False):
        check_ids(name, column, size, f"{graph} ids", "in pair")
    return pairs


def as_ids_of_both(value: Any, sizes: Iterable[int]) -> tuple[IntArray, IntArray]:
    """Check ids of both graphs; None stands for all of a graph, or of both.

    Examples
    --------
    >>> as_ids_of_both(([1, 0], None), (2, 3))
    (array([0, 1]), array([0, 1, 2]))
    """
    pair = (None, None) if value is None else value
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        got = type(pair).__name__
        raise InputTypeError("candidates", expected="(left_ids, right_ids)", got=got)
    left, right = sizes
    return as_ids("candidates[0]", pair[0], left), as_ids("candidates[1]", pair[1], right)
