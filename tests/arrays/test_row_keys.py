"""Codes of integers and of rows, and look-ups, beside numpy's functions of sets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank.arrays.row_keys as rows

BOUND = 2**63
INTEGERS = (
    st.integers(-5, 5)
    | st.integers(-(10**6), 10**6)
    | st.integers(-BOUND, BOUND - 1)
    | st.sampled_from([-BOUND, 0, BOUND - 1])
)
VALUES = st.lists(INTEGERS, max_size=30).map(lambda values: np.array(values, np.int64))
# from few to many distinct ones, near one another or anywhere
RANGES = [(0, 3), (-500, 1_500), (0, 10**6), (-(2**40), 2**40), (-BOUND, BOUND - 1)]


def drawn(seed: int, low: int, high: int, size: int = 5_000) -> np.ndarray:
    """Return integers that no call may write to."""
    rng = np.random.default_rng(seed)
    values = rng.integers(low, high, size, dtype=np.int64, endpoint=True)
    values.flags.writeable = False
    return values


def check_one(values: np.ndarray) -> None:
    """What says something of some values is what numpy says."""
    distinct, first, codes, counts = np.unique(
        values, return_index=True, return_inverse=True, return_counts=True
    )
    found = rows.factorize(values)
    assert np.array_equal(found.distinct, distinct)
    assert np.array_equal(found.codes, codes.reshape(-1))
    assert np.array_equal(found.first(), first)
    assert np.array_equal(rows.first_equals(values), first[codes.reshape(-1)])
    assert np.array_equal(found.counts(), counts)
    assert np.array_equal(rows.distinct(values), distinct)
    occurrences = rows.count_values(values)
    assert np.array_equal(occurrences.distinct, distinct)
    assert np.array_equal(occurrences.numbers, counts)
    ordered, order = rows.sorted_with_order(values)
    assert np.array_equal(order, np.argsort(values, kind="stable"))
    assert np.array_equal(ordered, values[order])


def check_two(values: np.ndarray, others: np.ndarray) -> None:
    """What looks for some values among others is what numpy finds."""
    expected = np.isin(values, others, kind="sort")
    assert np.array_equal(rows.are_among(values, others), expected)
    distinct = np.unique(others)
    where, positions = rows.look_up(distinct, values)
    assert np.array_equal(where, np.flatnonzero(expected))
    assert np.array_equal(distinct[positions], values[where])
    repeated = np.concatenate([others, others])
    where, positions = rows.look_up(repeated, values)  # the first position
    first = np.unique(others, return_index=True)[1]
    assert np.array_equal(where, np.flatnonzero(expected))
    assert np.array_equal(positions, first[np.searchsorted(distinct, values[where])])
    joint = rows.count_values(values, others)
    expected_joint = np.unique(np.concatenate([values, others]), return_counts=True)
    assert np.array_equal(joint.distinct, expected_joint[0])
    assert np.array_equal(joint.numbers, expected_joint[1])
    ascending = np.sort(others)
    counts = np.searchsorted(ascending, values, side="right") - np.searchsorted(ascending, values)
    assert np.array_equal(rows.count_values(others).of(values), counts)
    assert np.array_equal(rows.without(values, others), values[~expected])


@given(VALUES, VALUES)
def test_few_integers(values: np.ndarray, others: np.ndarray) -> None:
    check_one(values)
    check_two(values, others)


@pytest.mark.parametrize(
    ("bounds", "dtype"),
    [*product(RANGES, [np.int64]), *product(RANGES[:3], [np.int32])],  # as of a sparse matrix
)
def test_many_integers(bounds: tuple[int, int], dtype: type) -> None:
    """By a table where they are near one another, else sorted with their places."""
    ranges = RANGES if dtype is np.int64 else RANGES[:3]
    values = drawn(0, *bounds).astype(dtype)
    check_one(values)
    check_one(np.sort(values)[::-1])
    check_one(values[::3])
    for other_bounds in ranges:
        others = np.concatenate([values[50:100], drawn(2, *other_bounds).astype(dtype)])
        check_two(values, others)
        check_two(values[:7], others)
        check_two(values, others[:7])


def distinct_of(columns: list[np.ndarray]) -> np.ndarray:
    """Return the distinct rows in order, as np.unique does, which takes ten times as long."""
    table = np.stack(columns, axis=1)[np.lexsort(columns[::-1])]
    is_new = np.ones(len(table), bool)
    is_new[1:] = (table[1:] != table[:-1]).any(axis=1)
    return table[is_new]


def check_rows(columns: list[np.ndarray]) -> None:
    """Distinct rows, and the keys of rows, are what numpy says."""
    expected = distinct_of(columns)
    assert np.array_equal(np.stack(rows.distinct_rows(columns), axis=1), expected)
    keys = rows.RowKeys(columns)
    chosen = np.arange(len(columns[0]))[::-2]
    assert np.array_equal(keys.of(chosen), rows.row_keys(columns)[chosen])
    assert np.array_equal(keys.of(slice(1, 9)), rows.row_keys(columns)[1:9])
    counted = rows.count_prefixes(columns)
    for length, counts in enumerate(counted, start=2):
        firsts = distinct_of(columns[:length])[:, 0]
        values, numbers = np.unique(firsts, return_counts=True)
        assert np.array_equal(counts.distinct, values)
        assert np.array_equal(counts.numbers, numbers)
    assert len(counted) == len(columns) - 1


@given(st.lists(st.tuples(INTEGERS, INTEGERS, INTEGERS), max_size=20))
def test_distinct_rows(table: list[tuple[int, int, int]]) -> None:
    columns = list(np.array(table, np.int64).reshape(-1, 3).T)
    check_rows(columns)
    order = sorted(set(table))
    codes = rows.factorize(*columns)
    assert codes.codes.tolist() == [order.index(row) for row in table]
    assert [table[i] for i in codes.first()] == order


@pytest.mark.parametrize("bounds", RANGES)
def test_many_distinct_rows(bounds: tuple[int, int]) -> None:
    """Of several blocks."""
    firsts = drawn(7, 0, 2, 100_000)
    seconds, thirds = drawn(8, 0, 5_000, 100_000), drawn(9, *bounds, 100_000)
    check_rows([firsts, seconds, thirds])
    check_rows([seconds - 2_500, thirds])
    check_rows([thirds, seconds])
