"""Rows of integers as single keys: what makes equal rows, queries and answers quick to find."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_LARGEST_KEY = (1 << 63) - 1
_CACHED_SEARCH = 1 << 15  # so many integers are quick to search in any order


def row_keys(columns: Sequence[IntArray]) -> IntArray:
    """Give one integer for each row: equal for equal rows, and in the order of the rows.

    Parameters
    ----------
    columns : sequence of ndarray of int64, shape (n,)
        The first decides the order before the second, and so on; at least one.

    Returns
    -------
    ndarray of int64, shape (n,)
        Comparable only with keys of the same call.

    Examples
    --------
    >>> row_keys([np.array([1, 0, 1]), np.array([5, 7, 7])]).argsort()
    array([1, 0, 2])
    """
    keys, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        span = high - low + 1
        if size * span > _LARGEST_KEY:  # dense codes take the least room there is
            keys = dense_codes(keys)
            size = int(keys.max()) + 1
        if size * span > _LARGEST_KEY:
            column, low = dense_codes(column), 0
            span = int(column.max()) + 1
        keys *= span
        keys += column
        keys -= low
        size *= span
    return keys


def dense_codes(values: IntArray) -> IntArray:
    """Give for each value how many distinct ones are below it.

    Examples
    --------
    >>> dense_codes(np.array([50, -3, 50, 7]))
    array([2, 0, 2, 1])
    """
    order = np.argsort(values, kind="stable")
    codes = np.zeros(len(values), dtype=np.int64)
    codes[order] = np.cumsum(_starts_run(values[order])) - 1
    return codes


def distinct(values: IntArray) -> IntArray:
    """Give the distinct values in ascending order.

    Examples
    --------
    >>> distinct(np.array([5, 2, 5]))
    array([2, 5])
    """
    # numpy's unique is ten times slower for millions of integers (it hashes them)
    ordered = np.sort(values, kind="stable")
    return ordered[_starts_run(ordered)]


def first_rows(keys: IntArray) -> IntArray:
    """Give where each distinct key stands first, in the order of the keys.

    Examples
    --------
    >>> first_rows(np.array([5, 2, 5]))
    array([1, 0])
    """
    order = np.argsort(keys, kind="stable")
    return order[_starts_run(keys[order])]


def distinct_rows(columns: Sequence[IntArray]) -> list[IntArray]:
    """Give the distinct rows in their order, as columns.

    Examples
    --------
    >>> distinct_rows([np.array([1, 0, 1]), np.array([5, 7, 5])])
    [array([0, 1]), array([7, 5])]
    """
    bounds = [
        (int(column.min()), int(column.max())) if len(column) else (0, 0) for column in columns
    ]
    spans = [high - low + 1 for low, high in bounds]
    if prod(spans) > _LARGEST_KEY:
        first = first_rows(row_keys(columns))
        return [column[first] for column in columns]
    # sorting keys and taking them apart is quicker than to gather rows that lie anywhere
    keys = distinct(row_keys(columns))
    taken = []
    for (low, _), span in zip(reversed(bounds), reversed(spans), strict=True):
        rest = keys // span  # several times as quick as divmod
        taken.append(keys - rest * span + low)
        keys = rest
    return taken[::-1]


def look_up(ordered: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Find those of many values that are among a few ordered, distinct ones.

    Returns
    -------
    where : ndarray of int64
        The positions of such values, ascending.
    which : ndarray of int64
        The position of each in `ordered`.

    Examples
    --------
    >>> look_up(np.array([2, 5]), np.array([5, 4, 2, 5]))
    (array([0, 2, 3]), array([1, 0, 1]))
    """
    if not len(ordered) or not len(values):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # Most of many values are not among a few: a table of remainders tells so at less cost.
    size = 1 << max(10, (8 * len(ordered)).bit_length())
    table = np.zeros(size, dtype=bool)
    table[_hash_slots(ordered, size)] = True
    where = np.flatnonzero(table[_hash_slots(values, size)])
    sought = values[where]
    if len(ordered) <= _CACHED_SEARCH:
        which = np.searchsorted(ordered, sought)
    else:  # searches in order find what they need in the cache
        order = np.argsort(sought, kind="stable")
        which = np.empty(len(sought), dtype=np.int64)
        which[order] = np.searchsorted(ordered, sought[order])
    which = np.minimum(which, len(ordered) - 1)
    hit = ordered[which] == sought
    return where[hit], which[hit]


def _hash_slots(values: IntArray, size: int) -> IntArray:
    """Give a place in a table of a power of two for each value, equal for equal values."""
    mixed = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed >>= np.uint64(64 - (size - 1).bit_length())
    return mixed.view(np.int64)


def _starts_run(ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Tell which of ordered values differ from the one before."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new
