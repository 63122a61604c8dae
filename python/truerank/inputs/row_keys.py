"""Integers by which equal rows, queries and answers are found: keys of rows, codes, and look-ups.

numpy's own `unique` and `isin` took three to twenty times as long for millions of integers, which
they hash or sort at random; what they are used for elsewhere is done here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from .arrays import IntArray

_LARGEST_KEY = (1 << 63) - 1
_SMALL = 1 << 10  # entries of a table that cost no more than a call
_BLOCK = 1 << 17  # values at a time, so that what is made of them stays in the cache


class Codes(NamedTuple):
    """Integers by their place among the distinct ones.

    Attributes
    ----------
    distinct : ndarray of int64, shape (k,)
        The distinct values, ascending.
    codes : ndarray of int64, shape (n,)
        The position in `distinct` of each value.
    """

    distinct: IntArray
    codes: IntArray

    def first(self) -> IntArray:
        """Return the first position of each distinct value.

        Examples
        --------
        >>> codes_of(np.array([5, 2, 5])).first()
        array([1, 0])
        """
        first = np.empty(len(self.distinct), dtype=np.int64)
        # of values that are assigned to one place, the last one stays
        first[self.codes[::-1]] = np.arange(len(self.codes) - 1, -1, -1)
        return first

    def counts(self) -> IntArray:
        """Return how often each distinct value occurs.

        Examples
        --------
        >>> codes_of(np.array([5, 2, 5])).counts()
        array([1, 2])
        """
        return np.bincount(self.codes, minlength=len(self.distinct))


class Occurrences(NamedTuple):
    """How often each of some integers occurs.

    Attributes
    ----------
    distinct : ndarray of int64, shape (k,)
        The distinct values, ascending.
    numbers : ndarray of int64, shape (k,)
        How often each of them occurs.
    """

    distinct: IntArray
    numbers: IntArray

    def of(self, ids: IntArray) -> IntArray:
        """Return how often each of some integers occurs, 0 for others.

        Examples
        --------
        >>> occurrences_of(np.array([2, 7, 2])).of(np.array([7, 2, 5]))
        array([1, 2, 0])
        """
        where, positions = look_up(self.distinct, ids)
        numbers = np.zeros(len(ids), dtype=np.int64)
        numbers[where] = self.numbers[positions]
        return numbers


def codes_of(*columns: IntArray) -> Codes:
    """Return the place of each integer, or of each row of several columns, among the distinct ones.

    Parameters
    ----------
    *columns : ndarray of int64, shape (n,)
        Rows are ordered by the first column, then by the second, and so on.

    Returns
    -------
    Codes
        Of several columns, the distinct values are keys of `row_keys`.

    Examples
    --------
    >>> codes_of(np.array([5, 2, 5]))
    Codes(distinct=array([2, 5]), codes=array([1, 0, 1]))
    >>> codes_of(np.array([1, 0, 1]), np.array([5, 7, 5])).codes
    array([1, 0, 1])
    """
    values = columns[0]
    if len(columns) > 1:
        values = row_keys(columns)
    low, span = _range_of(values)
    if span <= 2 * len(values) + _SMALL:
        is_present = np.zeros(span, dtype=bool)
        places = _without_low(values, low)
        is_present[places] = True
        distinct_values = np.flatnonzero(is_present)
        code_of_place = np.cumsum(is_present, dtype=np.int64)
        code_of_place -= 1
        distinct_values += low
        return Codes(distinct_values, code_of_place[places])
    ordered, order = sorted_with_order(values)
    is_new = _are_new(ordered)
    distinct_values = ordered[is_new]
    numbers = np.cumsum(is_new, out=ordered)
    numbers -= 1
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = numbers
    return Codes(distinct_values, codes)


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
    low, size = _range_of(columns[0])
    if size > _LARGEST_KEY:
        keys = codes_of(columns[0]).codes
        size = len(keys)
    else:
        keys = np.subtract(columns[0], low, dtype=np.int64)  # all are below the size
    for column in columns[1:]:
        low, span = _range_of(column)
        if size * span > _LARGEST_KEY:  # dense codes are the smallest
            keys = codes_of(keys).codes
            size = int(keys.max()) + 1
        if size * span > _LARGEST_KEY:
            column = codes_of(column).codes
            low = 0
            span = int(column.max()) + 1
        keys *= span
        keys += column
        if low:
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


def first_equals(values: IntArray) -> IntArray:
    """Return for each integer the first position of one that is equal.

    Examples
    --------
    >>> first_equals(np.array([3, 0, 3, 3, 0]))
    array([0, 1, 0, 0, 1])
    """
    found = codes_of(values)
    return found.first()[found.codes]


def sorted_with_order(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the values in ascending order, and where each was; equal ones stay in their order.

    Examples
    --------
    >>> sorted_with_order(np.array([5, 2, 5]))
    (array([2, 5, 5]), array([1, 0, 2]))
    """
    low, span = _range_of(values)
    bits = max(len(values) - 1, 0).bit_length()
    if len(values) <= _SMALL or span > _LARGEST_KEY >> bits:
        order = np.argsort(values, kind="stable")
        return values[order], order
    # a value and its position in one integer are sorted ten times as quickly
    ordered = np.subtract(values, low, dtype=np.int64)
    ordered <<= bits
    ordered |= np.arange(len(values))
    ordered.sort()
    order = ordered & ((1 << bits) - 1)
    ordered >>= bits
    ordered += low
    return ordered, order


def distinct(values: IntArray) -> IntArray:
    """Return the distinct values in ascending order.

    Examples
    --------
    >>> distinct(np.array([5, 2, 5]))
    array([2, 5])
    """
    low, span = _range_of(values)
    if span > 8 * len(values):
        return _distinct_in_place(np.array(values, dtype=np.int64))
    is_present = np.zeros(span, dtype=bool)
    is_present[_without_low(values, low)] = True
    found = np.flatnonzero(is_present)
    found += low
    return found


def _distinct_in_place(values: IntArray) -> IntArray:
    values.sort()
    return values[_are_new(values)]


def _are_new(ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Return for each of ascending values whether it is not the one before it."""
    are_new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=are_new[1:])
    return are_new


def occurrences_of(values: IntArray) -> Occurrences:
    """Count how often each integer occurs.

    Examples
    --------
    >>> occurrences_of(np.array([5, 2, 5]))
    Occurrences(distinct=array([2, 5]), numbers=array([1, 2]))
    """
    low, span = _range_of(values)
    if span <= 2 * len(values) + _SMALL:
        numbers = np.bincount(_without_low(values, low), minlength=span)
        found = np.flatnonzero(numbers)
        return Occurrences(found + low, numbers[found])
    ordered = np.sort(values)
    starts = np.flatnonzero(_are_new(ordered))
    return Occurrences(ordered[starts], np.diff(starts, append=len(ordered)))


def first_rows(keys: IntArray) -> IntArray:
    """Return the first position of each distinct key, in the order of the keys.

    Examples
    --------
    >>> first_rows(np.array([5, 2, 5]))
    array([1, 0])
    """
    return codes_of(keys).first()


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
    keys = _distinct_in_place(row_keys(columns))
    decoded = [np.empty(len(keys), dtype=np.int64) for _ in columns]
    for block in _blocks(len(keys)):
        rest = keys[block]
        for column, (low, span) in zip(decoded[:0:-1], ranges[:0:-1], strict=True):
            quotients = rest // span  # several times as quick as divmod
            part = column[block]
            np.multiply(quotients, -span, out=part)
            part += rest
            part += low
            rest = quotients
        np.add(rest, ranges[0][0], out=decoded[0][block])
    return decoded


def count_distinct_rows(columns: Sequence[IntArray]) -> Occurrences:
    """Count the distinct rows that each value of the first column has.

    Examples
    --------
    >>> count_distinct_rows([np.array([4, 4, 6, 4]), np.array([5, 7, 5, 7])])
    Occurrences(distinct=array([4, 6]), numbers=array([2, 1]))
    """
    ranges = [_range_of(column) for column in columns]
    size = prod(span for _, span in ranges[1:])
    if size * ranges[0][1] > _LARGEST_KEY:
        return occurrences_of(distinct_rows(columns)[0])
    keys = _distinct_in_place(row_keys(columns))
    keys //= size
    keys += ranges[0][0]
    return occurrences_of(keys)


def look_up(ordered: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Find which of many values are among sorted, distinct values.

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
    low, span = _range_of(ordered)
    if span <= len(ordered) + len(values):
        return _look_up_in_table(ordered, values, low, span)
    # Most values are not among the few: a hash table rules them out at a lower cost.
    size = 1 << max(10, (8 * len(ordered)).bit_length())
    is_used = np.zeros(size, dtype=bool)
    is_used[_hash_slots(ordered, size)] = True
    probable = []
    for block in _blocks(len(values)):
        found = np.flatnonzero(is_used[_hash_slots(values[block], size)])
        found += block.start
        probable.append(found)
    where = np.concatenate(probable)
    wanted = values[where]
    positions = search_sorted(ordered[:-1], wanted)
    is_hit = ordered[positions] == wanted
    return where[is_hit], positions[is_hit]


def _look_up_in_table(
    ordered: IntArray, values: IntArray, low: int, span: int
) -> tuple[IntArray, IntArray]:
    table = np.full(span + 1, -1)
    table[ordered - low] = np.arange(len(ordered))
    where = []
    positions = []
    for block in _blocks(len(values)):
        position = table[_places_in_table(values[block], low, span)]
        found = np.flatnonzero(position >= 0)
        positions.append(position[found])
        found += block.start
        where.append(found)
    return np.concatenate(where), np.concatenate(positions)


def _blocks(number: int) -> Iterator[slice]:
    """Cut a number of values into blocks; none at all are one block."""
    for start in range(0, max(number, 1), _BLOCK):
        yield slice(start, min(start + _BLOCK, number))


def search_sorted(ascending: IntArray, values: IntArray) -> IntArray:
    """Return how many of ascending values are below each of many others, in any order.

    Examples
    --------
    >>> search_sorted(np.array([2, 5, 5]), np.array([9, 5, 2]))
    array([3, 1, 0])
    """
    if len(values) <= _SMALL:
        return np.searchsorted(ascending, values)
    ordered, order = sorted_with_order(values)  # sorted searches find what they need in the cache
    positions = np.empty(len(values), dtype=np.int64)
    positions[order] = np.searchsorted(ascending, ordered)
    return positions


def are_among(values: IntArray, others: IntArray) -> npt.NDArray[np.bool_]:
    """Return for each value whether it is among others, which may be repeated and in any order.

    Examples
    --------
    >>> are_among(np.array([5, 3, 9]), np.array([5, 2, 5]))
    array([ True, False, False])
    """
    low, span = _range_of(others)
    if not len(others):
        return np.zeros(len(values), dtype=bool)
    if span <= 8 * (len(others) + len(values)):
        is_present = np.zeros(span + 1, dtype=bool)
        is_present[_without_low(others, low)] = True
        found = np.empty(len(values), dtype=bool)
        for block in _blocks(len(values)):
            found[block] = is_present[_places_in_table(values[block], low, span)]
        return found
    found = np.zeros(len(values), dtype=bool)
    found[look_up(distinct(others), values)[0]] = True
    return found


def without(values: IntArray, others: IntArray) -> IntArray:
    """Return the values that are not among others, in their order.

    Examples
    --------
    >>> without(np.array([5, 3, 9]), np.array([5, 2]))
    array([3, 9])
    """
    return values[~are_among(values, others)]


def _without_low(values: IntArray, low: int) -> IntArray:
    """Return the place of each value in a table from `low` on."""
    if low == 0:
        return values
    return values - low


def _places_in_table(values: IntArray, low: int, span: int) -> IntArray:
    """Return the place of each value in a table from `low` on; `span` for all that are outside."""
    least, width = _range_of(values)
    if low <= least and least + width <= low + span:
        return _without_low(values, low)
    # a difference that overflows is right modulo 2^64, and so outside
    places = np.subtract(values, low, dtype=np.int64).view(np.uint64)
    np.minimum(places, np.uint64(span), out=places)
    return places.view(np.int64)


def _hash_slots(values: IntArray, size: int) -> IntArray:
    """Return a slot of a hash table for each value; the size of the table is a power of two."""
    mixed = values.astype(np.int64, copy=False).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed >>= np.uint64(64 - (size - 1).bit_length())
    return mixed.view(np.int64)
