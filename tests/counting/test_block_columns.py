"""Sets of columns against Python's sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.counting.block_columns import ColumnSet, column_range, columns_of

pytestmark = pytest.mark.python_only

SETS = st.sets(st.integers(0, 40))


def runs(columns: set[int]) -> ColumnSet:
    return columns_of(np.array(sorted(columns), np.int64))


def members(columns: ColumnSet) -> set[int]:
    pairs = zip(columns.starts.tolist(), columns.stops.tolist(), strict=True)
    return {column for start, stop in pairs for column in range(start, stop)}


def same(one: ColumnSet, other: ColumnSet) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@given(SETS, SETS)
def test_union_difference_and_what_is_common(a: set[int], b: set[int]) -> None:
    assert members(runs(a)) == a
    assert runs(a).size == len(a)
    assert runs(a).first_common(runs(b)) == min(a & b, default=-1)
    assert same(runs(a) | runs(b - a), runs(a | b))
    assert same(runs(a | b) - runs(b), runs(a - b))
    assert same(runs(a).missing(50), runs(set(range(50)) - a))


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_stretch(start: int, stop: int) -> None:
    assert same(column_range(start, stop), runs(set(range(start, stop))))


def test_blocks_side_by_side_are_one_run() -> None:
    seen = column_range(0, 0)
    for start in (20, 0, 10, 30):
        seen |= column_range(start, start + 10)
    assert same(seen, column_range(0, 40))
