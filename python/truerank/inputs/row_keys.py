"""Single keys for rows of integers, by which equal rows, queries and answers are found quickly."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from .arrays import IntArray

_LARGEST_KEY = (1 << 63) - 1


def row_keys(columns: Sequence[IntArray]) -> IntArray:
    """Return one integer for each row: equal for equal rows, and in the order of the rows.

    Parameters
    ----------
    columns : sequence of ndarray of int64, shape (n,)
        At least one; rows are ordered by the first column, then by the second, and so on.

    Returns
    -------
    ndarray of int64, shape (n,)
        The keys, which can only be compared with keys of the same call.

    Examples
    --------
    >>> row_keys([np.array([1, 0, 1]), np.array([5, 7, 7])]).argsort()
    array([1, 0, 2])
    """
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1  # all keys are below it
    for column in columns:
        low, span = _range_of(column)
        if size * span > _LARGEST_KEY:  # dense codes are the smallest
            keys = np.unique(keys, return_inverse=True)[1]
            size = int(keys.max()) + 1
        if size * span > _LARGEST_KEY:
            column = np.unique(column, return_inverse=True)[1]
            low = 0
            span = int(column.max()) + 1
        keys *= span
        keys += column
        keys -= low
        size *= span
    return keys


def _range_of(column: IntArray) -> tuple[int, int]:
    """Return the least value of a column, and how many integers there are from it to the largest.

    Examples
    --------
    >>> _range_of(np.array([7, 5, 7]))
    (5, 3)
    """
    if not len(column):
        return 0, 1
    low = int(column.min())
    return low, int(column.max()) - low + 1


def distinct(values: IntArray) -> IntArray:
    """Return the distinct values in ascending order.

    Examples
    --------
    >>> distinct(np.array([5, 2, 5]))
    array([2, 5])
    """
    # numpy's unique took three to ten times as long for millions of integers (it hashes them)
    ordered = np.sort(values, kind="stable")
    is_new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def first_rows(keys: IntArray) -> IntArray:
    """Return the first position of each distinct key, in the order of the keys.

    Examples
    --------
    >>> first_rows(np.array([5, 2, 5]))
    array([1, 0])
    """
    return np.unique(keys, return_index=True)[1]


def distinct_rows(columns: Sequence[IntArray]) -> list[IntArray]:
    """Return the distinct rows in lexicographic order, as columns.

    Examples
    --------
    >>> distinct_rows([np.array([1, 0, 1]), np.array([5, 7, 5])])
    [array([0, 1]), array([7, 5])]
    """
    ranges = [_range_of(column) for column in columns]
    if prod(span for _, span in ranges) > _LARGEST_KEY:
        first = first_rows(row_keys(columns))
        return [column[first] for column in columns]
    # to sort keys and decode them is quicker than to gather rows from anywhere in memory
    keys = distinct(row_keys(columns))
    decoded = []
    for low, span in reversed(ranges):
        rest = keys // span  # several times as quick as divmod
        decoded.append(keys - rest * span + low)
        keys = rest
    return decoded[::-1]


def look_up(ordered: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Find which of many values are among a few sorted, distinct values.

    Returns
    -------
    where : ndarray of int64
        The positions of these values, ascending.
    positions : ndarray of int64
        The position in `ordered` of each of them.

    Examples
    --------
    >>> look_up(np.array([2, 5]), np.array([5, 4, 2, 5]))
    (array([0, 2, 3]), array([1, 0, 1]))
    """
    # Most values are not among the few: a hash table rules them out at a lower cost.
    size = 1 << max(10, (8 * len(ordered)).bit_length())
    table = np.zeros(size, dtype=bool)
    table[_hash_slots(ordered, size)] = True
    where = np.flatnonzero(table[_hash_slots(values, size)])
    probable = values[where]
    order = np.argsort(probable, kind="stable")  # sorted searches find what they need in the cache
    positions = np.empty(len(probable), dtype=np.int64)
    positions[order] = np.searchsorted(ordered[:-1], probable[order])
    hit = ordered[positions] == probable
    return where[hit], positions[hit]


def are_among(ascending: IntArray, values: IntArray) -> npt.NDArray[np.bool_]:
    """Return for each value whether it is among ascending ones.

    Examples
    --------
    >>> are_among(np.array([2, 5]), np.array([5, 3, 9]))
    array([ True, False, False])
    """
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    places = np.searchsorted(ascending, values)
    places[places == len(ascending)] = 0
    found: npt.NDArray[np.bool_] = ascending[places] == values
    return found


def _hash_slots(values: IntArray, size: int) -> IntArray:
    """Return a slot of a hash table for each value; the size of the table is a power of two."""
    mixed = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed >>= np.uint64(64 - (size - 1).bit_length())
    return mixed.view(np.int64)
