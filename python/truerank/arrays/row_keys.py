"""Integers by which equal rows, queries and answers are found: keys of rows, codes, and look-ups.

numpy's own `unique` and `isin` took three to twenty times as long for millions of integers, which
they hash or sort at random; what they are used for elsewhere is done here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core

if TYPE_CHECKING:
    import numpy.typing as npt

    from . import IntArray

_LARGEST_KEY = (1 << 63) - 1
_SMALL = 1 << 10  # A table of so many entries costs no more than a call.
_BLOCK = 1 << 15  # What is made of so many values at a time stays in the cache.


class Codes(NamedTuple):
    """Integers by their places, `codes` of shape (n,), among the `distinct` ones, which ascend."""

    distinct: IntArray
    codes: IntArray

    def first(self) -> IntArray:
        """Return the first position of each distinct value."""
        first = np.empty(len(self.distinct), dtype=np.int64)
        # Of values that are assigned to one place, the last one stays.
        first[self.codes[::-1]] = np.arange(len(self.codes) - 1, -1, -1)
        return first

    def counts(self) -> IntArray:
        """Return how often each distinct value occurs."""
        return np.bincount(self.codes, minlength=len(self.distinct))


class Occurrences(NamedTuple):
    """How often (`numbers`) each of the `distinct` integers occurs, which ascend."""

    distinct: IntArray
    numbers: IntArray

    def of(self, ids: IntArray) -> IntArray:
        """Return how often each of some integers occurs, 0 for others."""
        numbers = np.zeros(len(ids), dtype=np.int64)
        where, positions = look_up(self.distinct, ids)
        numbers[where] = self.numbers[positions]
        return numbers


def factorize(*columns: IntArray) -> Codes:
    """Return the place of each integer, or of each row of several columns, among the distinct ones.

    Rows are ordered by the first column, then by the second, and so on; their distinct values are
    keys of `row_keys`.

    >>> factorize(np.array([5, 2, 5]))
    Codes(distinct=array([2, 5]), codes=array([1, 0, 1]))
    """
    values = row_keys(columns) if len(columns) > 1 else columns[0]
    low, span = _core.range_of(values)
    if span <= 2 * len(values) + _SMALL:  # A table has the code of each value that may occur.
        places = values - low if low else values
        is_present = np.zeros(span, dtype=bool)
        is_present[places] = True
        code_of_place = np.cumsum(is_present, dtype=np.int64)
        code_of_place -= 1
        distinct_values = np.flatnonzero(is_present)
        distinct_values += low
        return Codes(distinct_values, code_of_place[places])
    ordered, order = sorted_with_order(values)
    is_new = are_new(ordered)
    distinct_values = ordered[is_new]
    codes_in_order = np.cumsum(is_new, out=ordered)  # The sorted values are not needed any more.
    codes_in_order -= 1
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = codes_in_order
    return Codes(distinct_values, codes)


class RowKeys:
    """Integers that are equal for equal rows and in the order of the rows, made for some at a time.

    Rows are ordered by the first of the columns, at least one, then by the second, and so on.

    >>> keys = RowKeys([np.array([1, 0, 1]), np.array([5, 7, 7])])
    >>> keys.of(slice(0, 2)), keys.of(np.array([2]))
    (array([3, 2]), array([5]))
    """

    def __init__(self, columns: Sequence[IntArray]) -> None:
        self._columns = columns
        self.ranges = list(map(_core.range_of, columns))
        rows_of_ranges = math.prod(span for _, span in self.ranges)
        self._coded: IntArray | None = None
        if rows_of_ranges > _LARGEST_KEY:
            self._coded = _coded_rows(columns, self.ranges)

    @property
    def are_plain(self) -> bool:
        """Whether keys are places in a table of all rows that the ranges of columns allow."""
        return self._coded is None

    def all(self) -> IntArray:
        """Return the keys of all rows, which can only be compared with keys of the same object."""
        first_block, *blocks = cut_blocks(len(self._columns[0]))
        if not blocks:
            return self.of(first_block)
        keys = np.empty(len(self._columns[0]), dtype=np.int64)
        for block in (first_block, *blocks):
            keys[block] = self.of(block)
        return keys

    def of(self, rows: slice | IntArray) -> IntArray:
        """Return the keys of some rows, in a new array."""
        if self._coded is not None:
            return np.array(self._coded[rows])
        first_low, _ = self.ranges[0]
        keys = np.subtract(self._columns[0][rows], first_low, dtype=np.int64)
        for column, (low, span) in zip(self._columns[1:], self.ranges[1:], strict=True):
            _extend_keys(keys, column[rows], low, span)
        return keys


def row_keys(columns: Sequence[IntArray]) -> IntArray:
    """Return the keys of all rows, which can only be compared with keys of the same call."""
    return RowKeys(columns).all()


def _extend_keys(keys: IntArray, column: IntArray, low: int, span: int) -> None:
    """Make keys those of one column more, whose values are from `low` to `low + span` - 1."""
    keys *= span
    keys += column
    if low:
        keys -= low


def _coded_rows(columns: Sequence[IntArray], ranges: Sequence[tuple[int, int]]) -> IntArray:
    """Return keys of rows whose columns have large ranges: of their codes, which are small."""
    low, bound = ranges[0]  # All keys are below the bound.
    if bound > _LARGEST_KEY:
        keys = factorize(columns[0]).codes
        bound = len(keys)
    else:
        keys = np.subtract(columns[0], low, dtype=np.int64)
    for column, (low, span) in zip(columns[1:], ranges[1:], strict=True):
        if bound * span > _LARGEST_KEY:
            distinct_keys, keys = factorize(keys)
            bound = len(distinct_keys)
        if bound * span > _LARGEST_KEY:  # The column is coded, too.
            distinct_values, column = factorize(column)
            low, span = 0, len(distinct_values)
        _extend_keys(keys, column, low, span)
        bound *= span
    return keys


def first_equals(values: IntArray) -> IntArray:
    """Return for each integer the first position of one that is equal."""
    return _core.IntegerTable(values, len(values)).find(values)


def sorted_with_order(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the values in ascending order, and where each was; equal ones stay in their order."""
    low, span = _core.range_of(values)
    bits = max(len(values) - 1, 0).bit_length()
    if len(values) <= _SMALL or bits > 31:
        order = np.argsort(values, kind="stable")
        return values[order], order
    # A value and its position in one integer are sorted ten times as quickly.
    shifted = np.subtract(values, low, dtype=np.int64)
    if span <= _LARGEST_KEY >> bits:
        return _sort_packed(shifted, bits, low)
    # Positions have room beside the lower bits, by which values are sorted, and then by the others.
    lower_bits = 63 - bits
    _, by_lower = _sort_packed(shifted & ((1 << lower_bits) - 1), bits)
    upper = (shifted.view(np.uint64) >> np.uint64(lower_bits)).view(np.int64)
    _, by_upper = _sort_packed(upper[by_lower], bits)
    order = by_lower[by_upper]
    return values[order], order


def _sort_packed(ordered: IntArray, bits: int, low: int = 0) -> tuple[IntArray, IntArray]:
    """Sort values in place, with as many bits for their positions; return them from `low` on."""
    ordered <<= bits
    ordered |= np.arange(len(ordered))
    ordered.sort()
    order = ordered & ((1 << bits) - 1)
    ordered >>= bits
    ordered += low
    return ordered, order


def distinct(values: IntArray) -> IntArray:
    """Return the distinct values in ascending order."""
    low, span = _core.range_of(values)
    if span > 8 * len(values):
        return distinct_in_place(np.array(values, dtype=np.int64))
    is_present = np.zeros(span, dtype=bool)
    is_present[values - low if low else values] = True
    distinct_values = np.flatnonzero(is_present)
    distinct_values += low
    return distinct_values


def distinct_in_place(values: IntArray) -> IntArray:
    """Sort the values, and return the distinct ones; it may be the same array."""
    values.sort()
    is_new = are_new(values)
    if is_new.all():
        return values
    return values[is_new]


def are_new(values: IntArray) -> npt.NDArray[np.bool_]:
    """Return for each value whether it is not the one before it; the first one is new."""
    is_new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return is_new


def count_values(*parts: IntArray) -> Occurrences:
    """Count how often each integer occurs, in one array or in several."""
    ranges = [_core.range_of(values) for values in parts if len(values)] or [(0, 0)]
    low = min(first for first, _ in ranges)
    end = max(first + width for first, width in ranges)
    span = end - low
    if span <= 2 * sum(map(len, parts)) + _SMALL:
        numbers = np.zeros(span, dtype=np.int64)
        for values in parts:
            numbers += np.bincount(values - low if low else values, minlength=span)
        places = np.flatnonzero(numbers)
        return Occurrences(places + low, numbers[places])
    ordered = np.concatenate(parts)
    ordered.sort()
    starts = np.flatnonzero(are_new(ordered))
    return Occurrences(ordered[starts], np.diff(starts, append=len(ordered)))


def distinct_rows(columns: Sequence[IntArray]) -> list[IntArray]:
    """Return the distinct rows in lexicographic order, as columns."""
    rows = RowKeys(columns)
    keys = rows.all()
    if not rows.are_plain:
        first = factorize(keys).first()
        return [column[first] for column in columns]
    # To sort keys and decode them is quicker than to gather rows from anywhere in memory.
    # The key of a row of two is (first - low_1) * span_2 + second - low_2, and so on.
    keys = distinct_in_place(keys)
    others = [np.empty(len(keys), np.int64) for _ in rows.ranges[1:]]
    first_low, _ = rows.ranges[0]
    for block in cut_blocks(len(keys)):
        quotients = keys[block]
        for column, (low, span) in zip(reversed(others), reversed(rows.ranges), strict=False):
            keys_before = quotients
            quotients = keys_before // span  # This is several times as quick as a remainder.
            np.subtract(keys_before, quotients * span - low, out=column[block])
        np.add(quotients, first_low, out=keys[block])
    return [keys, *others]


def count_prefixes(columns: Sequence[IntArray]) -> list[Occurrences]:
    """Count with how many rows of one further column, of two, ... each value of the first occurs.

    >>> ones = np.ones(3, np.int64)
    >>> pairs, rows = count_prefixes([np.array([5, 7, 5]), ones, np.arange(3)])
    >>> pairs.numbers, rows.numbers
    (array([1, 1]), array([2, 1]))
    """
    rows = RowKeys(columns)
    low, first_span = rows.ranges[0]
    if not rows.are_plain or first_span > 2 * len(columns[0]) + _SMALL:
        lengths = range(2, len(columns) + 1)
        return [count_values(distinct_rows(columns[:length])[0]) for length in lengths]
    spans = [span for _, span in rows.ranges]
    keys = rows.all()
    if math.prod(spans) < 1 << 31:
        keys = keys.astype(np.int32)  # These are sorted in little more than half of the time.
    keys = distinct_in_place(keys)
    counts = []
    for length in range(len(columns), 1, -1):
        # The keys of rows that begin with one value lie side by side.
        starts = np.arange(first_span + 1, dtype=keys.dtype) * math.prod(spans[1:length])
        numbers = np.diff(np.searchsorted(keys, starts))
        places = np.flatnonzero(numbers)
        counts.append(Occurrences(places + low, numbers[places]))
        if length > 2:  # The keys of rows without their last column are these.
            keys = keys // spans[length - 1]
            keys = keys[are_new(keys)]
    return list(reversed(counts))


def look_up(among: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Find which of many values are among others: where they are, ascending, and where in these.

    Of others that are repeated it is the first place.

    >>> look_up(np.array([2, 5]), np.array([5, 4, 2, 5]))
    (array([0, 2, 3]), array([1, 0, 1]))
    """
    return _core.IntegerTable(among, len(values)).look_up(values)


def cut_blocks(number: int) -> list[slice]:
    """Cut a number of values into blocks that stay in the cache; none at all are one block."""
    if number <= _BLOCK:
        return [slice(0, number)]
    starts = range(0, number, _BLOCK)
    return [slice(start, min(start + _BLOCK, number)) for start in starts]


def digest_rows(columns: Sequence[IntArray]) -> str:
    """Return 16 hex digits that say which rows these are, and how often, in whatever order.

    >>> one, two = np.array([5, 7, 7]), np.array([1, 2, 3])
    >>> digest_rows([one, two]) == digest_rows([one[::-1], two[::-1]])
    True
    """
    total = 0
    for block in cut_blocks(len(columns[0])):
        total += int(hash_rows([column[block] for column in columns]).sum())
    return f"{total % (1 << 64):016x}"


def hash_rows(columns: Sequence[IntArray]) -> npt.NDArray[np.uint64]:
    """Return a hash of 64 bits of each row; a sum of hashes tells sets of rows, but for chance."""
    factors = _odd_factors(len(columns))
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column, factor in zip(columns, factors, strict=True):
        hashes += column.view(np.uint64) * factor
    for factor in factors[:2]:  # Every bit comes to depend on all: xor of a shift, and a product.
        hashes ^= hashes >> np.uint64(32)
        hashes *= factor
    return hashes


@cache
def _odd_factors(count: int) -> npt.NDArray[np.uint64]:
    """Return drawn odd numbers, which are the same in every call."""
    return np.uint64(1) | np.random.default_rng(0).integers(1 << 63, size=count, dtype=np.uint64)


def are_among(values: IntArray, others: IntArray) -> npt.NDArray[np.bool_]:
    """Return for each value whether it is among others, which may be repeated and in any order."""
    return _core.IntegerTable(others, len(values)).contains(values)


def without(values: IntArray, others: IntArray) -> IntArray:
    """Return the values that are not among others, in their order."""
    return values[~are_among(values, others)]


def match_rows(
    rows: IntArray, others: IntArray
) -> tuple[IntArray, npt.NDArray[np.bool_], int | None]:
    """Return where each row is among others (or -1), which of these are rows, and a repeated row.

    The rows are distinct, the others need not be.

    >>> match_rows(np.array([[0, 5], [3, 1]]), np.array([[3, 1], [7, 7]]))
    (array([-1,  0]), array([ True, False]), None)
    """
    n_rows = len(rows)
    both = row_keys([np.concatenate(pair) for pair in zip(rows.T, others.T, strict=True)])
    positions, found_rows = look_up(both[:n_rows], both[n_rows:])
    places = np.full(n_rows, -1)
    places[found_rows] = positions
    is_used = np.zeros(len(others), np.bool_)
    is_used[positions] = True
    times = np.bincount(found_rows, minlength=1)
    repeated = int(times.argmax()) if times.max() > 1 else None
    return places, is_used, repeated
