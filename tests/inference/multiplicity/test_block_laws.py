"""Test laws of ranks against scipy, published tables and enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.inference.multiplicity import block_laws
from truerank.inference.multiplicity.block_laws import (
    chi_squared_tail,
    f_tail,
    rank_sum_law,
    studentized_range_quantile,
    studentized_range_tail,
)

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 99, 1000])
def test_chi_squared_is_scipys(degrees: int) -> None:
    for x in (1e-9, 0.1, 1.0, 5.0, 30.0, 400.0, 1100.0):
        peer = scipy.stats.chi2.sf(x, degrees)
        assert chi_squared_tail(x, degrees) == pytest.approx(peer, rel=1e-11, abs=1e-300)
    assert chi_squared_tail(0, degrees) == 1
    assert chi_squared_tail(math.inf, degrees) == 0


@pytest.mark.parametrize(("above", "below"), [(1, 1), (2, 18), (3, 39), (9, 9), (19, 380)])
def test_f_is_scipys(above: int, below: int) -> None:
    for x in (1e-9, 0.1, 1.0, 5.0, 30.0):
        assert f_tail(x, above, below) == pytest.approx(
            scipy.stats.f.sf(x, above, below), rel=1e-10
        )
    assert f_tail(0, above, below) == 1
    assert f_tail(math.inf, above, below) == 0


@pytest.mark.parametrize("number", [2, 3, 5, 10, 50])
def test_studentized_range_is_scipys(number: int) -> None:
    for q in (0.01, 0.5, 1.0, 2.0, 3.5, 5.0, 6.0):
        peer = scipy.stats.studentized_range.sf(q, number, np.inf)
        assert studentized_range_tail(q, number) == pytest.approx(peer, rel=1e-10)
    assert studentized_range_tail(0, number) == 1
    assert studentized_range_tail(math.inf, number) == 0


def test_studentized_range_far_out() -> None:
    """The range of two normals is that of a normal; scipy loses all digits there."""
    for q in (0.3, 8.0, 20.0, 50.0):
        expected = math.erfc(q / 2)
        assert studentized_range_tail(q, 2) == pytest.approx(expected, rel=1e-12)
    for number in (3, 10):  # one of the pairs decides
        pairs = number * (number - 1) / 2
        assert studentized_range_tail(20.0, number) == pytest.approx(
            pairs * math.erfc(10), rel=1e-9
        )


# Demšar (2006), table 5 (a): the quantiles divided by the root of 2, for 2 to 10 models.
TABLE = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("alpha", TABLE)
def test_quantiles_are_those_of_demsars_table(alpha: float) -> None:
    for number, expected in enumerate(TABLE[alpha], 2):
        found = studentized_range_quantile(alpha, number)
        assert found / math.sqrt(2) == pytest.approx(expected, abs=0.0015)
        assert studentized_range_tail(found, number) == pytest.approx(alpha, rel=1e-10)


def enumerated(rows: list[list[int]]) -> tuple[Counter[int], Counter[int], int]:
    """The sums of squares and the ranges of all orders of all rows."""
    squares, ranges = Counter[int](), Counter[int]()
    for orders in itertools.product(*(itertools.permutations(row) for row in rows)):
        sums = [sum(column) for column in zip(*orders, strict=True)]
        squares[sum(x * x for x in sums)] += 1
        ranges[max(sums) - min(sums)] += 1
    return squares, ranges, squares.total()


def doubled(values: tuple[int, ...]) -> list[int]:
    return [int(2 * x) for x in scipy.stats.rankdata(values)]


@given(
    st.integers(2, 4).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=2, max_size=3
        )
    )
)
@settings(max_examples=25)
def test_the_exact_law_is_every_order(values: list[tuple[int, ...]]) -> None:
    rows = [doubled(row) for row in values]
    law = rank_sum_law(np.array(rows))
    assert law is not None
    squares, ranges, total = enumerated(rows)
    for counted, known, tail in (
        (squares, law.squares, law.square_tail),
        (ranges, law.ranges, law.range_tail),
    ):
        assert set(counted) == set(known.tolist())
        for value in counted:
            share = Fraction(sum(n for x, n in counted.items() if x >= value), total)
            assert tail(value) == pytest.approx(float(share), rel=1e-12)
            assert tail(value - 1) >= tail(value)
    assert law.square_tail(max(squares) + 1) == law.range_tail(max(ranges) + 1) == 0


def test_published_exact_values() -> None:
    """Friedman (1937), table of the exact law: n = 4 and k = 3, n = 3 and k = 4."""
    for n, k, statistic, expected in ((4, 3, 6.5, 0.042), (4, 3, 8.0, 0.0046), (3, 4, 7.4, 0.033)):
        law = rank_sum_law(np.tile(2 * np.arange(1, k + 1), (n, 1)))
        assert law is not None
        square = statistic * n * k * (k + 1) / 12 * 4 + k * (n * (k + 1)) ** 2
        assert law.square_tail(round(square)) == pytest.approx(expected, abs=6e-4)


def test_the_exact_law_is_left_out_where_it_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert rank_sum_law(np.tile(2 * np.arange(1, 10), (2, 1))) is None  # nine models
    ranks = np.tile(2 * np.arange(1, 5), (6, 1))
    assert rank_sum_law(ranks) is not None
    monkeypatch.setattr(block_laws, "ALL_CELLS", 1000)
    assert rank_sum_law(ranks) is None
    monkeypatch.undo()
    monkeypatch.setattr(block_laws, "CELLS", 1000)
    assert rank_sum_law(ranks) is None
