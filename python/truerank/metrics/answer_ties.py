"""Ties that hold right answers, and sums over their places in closed form.

A tie holds the places a + 1, ..., a + t of a ranking; one of a million costs no more than one of
ten. All sums are accurate to some units in the last place: nothing that cancels is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import codes_of
from .ties import mean_power

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray

BEYOND = 1 << 62  # This place is behind all others, and as a cutoff it leaves out none of them.
# The discounts of so many places are summed once, those of later places by an integral.
_TABLE = 1 << 12
# So many nodes of Gauss and Legendre are exact to 1e-15 for 1 / log x up to 1e19 times the first x.
_NODES = 24
_MOST_GROWTH = 3.0  # exp of it times r is how much the recurrence may enlarge an error.
_SMALL = 1e-17


@dataclass(frozen=True)
class Ties:
    """Ties that hold right answers, query by query and best first, in a ranking of all candidates.

    Every order of a tie is equally likely. A tie of right answers alone has no order that matters.

    Attributes
    ----------
    above : ndarray of int64, shape (m,)
        The candidates above the tie.
    size : ndarray of int64, shape (m,)
        The candidates in the tie.
    right : ndarray of int64, shape (m,)
        The right answers among them, at least 1.
    gain : ndarray of float64, shape (m,)
        The sum of the gains of the right answers in the tie.
    starts : ndarray of int64, shape (q,)
        The first tie of each query.
    answers, candidates : ndarray of int64, shape (q,)
        The right answers of each query, at least 1, and its candidates, these among them.
    most : float
        The highest gain of all right answers of all queries.
    """

    above: IntArray
    size: IntArray
    right: IntArray
    gain: FloatArray
    starts: IntArray
    answers: IntArray
    candidates: IntArray
    most: float

    def of_queries(self, first: int, stop: int) -> Ties:
        """Return the ties of the queries from `first` up to `stop`, without a copy of them."""
        starts = self.starts[first:stop]
        end = self.starts[stop] if stop < len(self.starts) else len(self.above)
        ties = slice(starts[0], end)
        return Ties(
            above=self.above[ties],
            size=self.size[ties],
            right=self.right[ties],
            gain=self.gain[ties],
            starts=starts - starts[0],
            answers=self.answers[first:stop],
            candidates=self.candidates[first:stop],
            most=self.most,
        )

    def for_ties(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return for each tie the value of its query."""
        return np.repeat(values, np.diff(self.starts, append=len(self.above)))

    def right_above(self) -> IntArray:
        """Return for each tie the number of right answers in the ties above it."""
        before = np.cumsum(self.right) - self.right
        above: IntArray = before - self.for_ties(before[self.starts])
        return above

    def sum_by_query(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return for each query the sum of the values of its ties."""
        sums: FloatArray = np.add.reduceat(values, self.starts)
        return sums


def reciprocal_sums(above: IntArray, places: IntArray) -> FloatArray:
    """The sums of 1 / (a + i) over i = 1, ..., m; 0 where m is 0.

    Parameters
    ----------
    above : ndarray of int64, shape (n,)
        The places a before the first.
    places : ndarray of int64, shape (n,)
        The numbers m of places.

    Examples
    --------
    >>> reciprocal_sums(np.array([0, 1, 9]), np.array([2, 1, 0])).tolist()
    [1.5, 0.5, 0.0]
    """
    sums: FloatArray = (places > 0) / (above + 1.0)
    return _computed_once(
        sums, places > 1, lambda a, n: n * mean_power(a + 1.0, n, -1.0), above, places
    )


def discount_sums(above: IntArray, places: IntArray) -> FloatArray:
    """The sums of 1 / log2(p + 1) over the places p = a + 1, ..., a + m.

    Examples
    --------
    >>> discount_sums(np.array([0, 2]), np.array([1, 1])).tolist()
    [1.0, 0.5]
    """
    sums: FloatArray = (places > 0) / np.log2(above + 2.0)
    return _computed_once(sums, places > 1, _sum_discounts, above, places)


def first_reciprocals(
    above: IntArray, tied: IntArray, right: IntArray, within: IntArray
) -> FloatArray:
    """The expectations of 1 / (a + I), where I is the first of r right answers in a tie of t.

    I is i with the probability C(t - i, r - 1) / C(t, r). Only I <= m count, so that m = k - a
    gives the reciprocal rank at a cutoff k.

    Parameters
    ----------
    above, tied, right, within : ndarray of int64, shape (n,)
        a >= 0, t >= r >= 1, and m >= 0.

    Notes
    -----
    A whole tie has a mirror: E(a, t, r) = r / (a + 1) E(r - 1, a + t - r + 1, a + 1). So let r be
    at most a + 1. With T = a + t, E of r follows from E of r - 1, whose E_1 is the mean of
    1 / (a + i): E_r = r / ((r - 1) (t - r + 1)) ((T - r + 2) E_{r - 1} - 1). This loses digits
    where a r is far above t; there the places of the mirror are added one by one, and those of the
    tie itself where a cutoff leaves a part of it.

    Examples
    --------
    >>> a, t, r, m = np.array([[0, 0], [3, 3], [2, 2], [3, 1]])
    >>> first_reciprocals(a, t, r, m).round(3).tolist()  # (2 + 1 / 2) / 3 and 2 / 3
    [0.833, 0.667]
    """
    values: FloatArray = (within > 0) / (above + 1.0)
    mixed = (right < tied) & (within > 0)
    return _computed_once(values, mixed, _first_of_mixed, above, tied, right, within)


def hit_chances(tied: IntArray, right: IntArray, within: IntArray) -> FloatArray:
    """The probabilities that one of r right answers is among the first m places of a tie of t.

    They are 1 - C(t - r, m) / C(t, m), added factor by factor.

    Examples
    --------
    >>> hit_chances(np.array([4, 4]), np.array([1, 2]), np.array([1, 3])).tolist()
    [0.25, 1.0]
    """
    # The probability is the same with r and m exchanged, so the fewer are multiplied.
    few, many = np.sort([right, np.minimum(within, tied)], axis=0)
    chances = np.zeros(len(tied))
    left = np.flatnonzero(few)  # These ties still have factors to add.
    j = 0
    while len(left):
        chances[left] += (1 - chances[left]) * np.minimum(many[left] / (tied[left] - j), 1)
        j += 1
        left = left[(few[left] > j) & (chances[left] < 1 - 1e-15)]
    return chances


def _computed_once(
    values: FloatArray,
    where: npt.NDArray[np.bool_],
    function: Callable[..., FloatArray],
    *columns: IntArray,
) -> FloatArray:
    """Put what a function makes of columns into values at some places; it sees equal rows once."""
    (places,) = np.nonzero(where)
    if len(places):
        chosen = [column[places] for column in columns]
        codes = codes_of(*chosen)
        first = codes.first()
        values[places] = function(*(column[first] for column in chosen))[codes.codes]
    return values


@cache
def _discount_table() -> tuple[FloatArray, FloatArray, FloatArray]:
    """The sums of the discounts of the first places, and the nodes and weights of an integral."""
    discounts = np.append(0, 1 / np.log2(np.arange(2.0, _TABLE + 2)))
    table = np.cumsum(discounts.astype(np.longdouble)).astype(np.float64)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return table, nodes, weights


def _sum_discounts(above: IntArray, places: IntArray) -> FloatArray:
    table, nodes, weights = _discount_table()
    last = above + places
    sums: FloatArray = table[np.minimum(last, _TABLE)] - table[np.minimum(above, _TABLE)]
    far = last > _TABLE
    # x goes from p + 1/2 of the first place p beyond the table to p + 3/2 of the last. It is
    # written as low exp(v).
    low = np.maximum(above[far], _TABLE) + 1.5
    high = last[far] + 1.5
    start = np.log(low)
    half = np.log1p((high - low) / low) / 2
    v = half * (1 + nodes[:, None])
    integrals = low * half * (weights @ (np.exp(v) / (start + v)))
    slopes = 1 / (high * np.log(high) ** 2) - 1 / (low * start**2)
    sums[far] += np.log(2) * (integrals + slopes / 24)
    return sums


def _first_of_mixed(a: IntArray, t: IntArray, r: IntArray, m: IntArray) -> FloatArray:
    """`first_reciprocals` of distinct ties, in which not all are right answers."""
    is_whole = m > t - r
    itself = np.stack([a, t, r])
    mirror = np.stack([r - 1, a + t - r + 1, a + 1])
    # Of the two these are the one with fewer right answers, and the one with more.
    few = np.where(is_whole & (r > a + 1), mirror, itself)
    many = np.where(is_whole & (r <= a + 1), mirror, itself)
    values = np.empty(len(a))
    recurs = (r == 1) | (is_whole & (few[0] * (few[2] / few[1]) <= _MOST_GROWTH))
    cut = np.where(is_whole, few[1], np.minimum(m, t))[recurs]
    values[recurs] = _recur(few[:, recurs], cut) * (r / few[2])[recurs]
    values[~recurs] = _add_terms(many[:, ~recurs], m[~recurs]) * (r / many[2])[~recurs]
    return values


def _recur(tie: IntArray, m: IntArray) -> FloatArray:
    """`first_reciprocals` by the recurrence from one right answer to the next."""
    a, t, r = tie
    values: FloatArray = reciprocal_sums(a, m) / t
    for j in range(2, int(r.max(initial=1)) + 1):
        (left,) = np.nonzero(r >= j)
        rest = t[left] - (j - 1)
        values[left] = j / ((j - 1) * rest) * ((a[left] + rest + 1) * values[left] - 1)
    return values


def _add_terms(tie: IntArray, m: IntArray) -> FloatArray:
    """`first_reciprocals` place by place, until what is left is too small to be seen."""
    a, t, r = tie
    totals = np.zeros(len(a))
    chance: FloatArray = r / t  # It is the chance that the first right answer is at place i.
    left: IntArray = np.arange(len(a))  # They are the ties that have such places.
    i = 0
    while len(left):
        i += 1
        totals[left] += chance / (a + i)
        # P(I > i) is (t - i) / r times the chance of place i + 1
        chance = chance * (t - i - r + 1) / np.maximum(t - i, 1)
        goes_on = (i < m) & (chance * (t - i) > _SMALL * r * totals[left] * (a + i))
        left = left[goes_on]
        chance = chance[goes_on]
        a, t, r, m = (array[goes_on] for array in (a, t, r, m))
    return totals
