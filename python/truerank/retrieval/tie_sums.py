"""Sums over the places of a tie, in closed form: a tie of a million costs no more than one of ten.

A tie holds the places a + 1, ..., a + t of a ranking. All sums are accurate to some units in the
last place: nothing that cancels is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..metrics.ties import mean_log, mean_power
from ..tasks.row_keys import row_keys

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray

DIRECT_TERMS = 8  # sums of up to so many places are added term by term
_TABLE = 1 << 16  # the places whose discounts are summed once; later ones by an integral
_NODES = 24  # of Gauss and Legendre: exact to 1e-15 for 1 / log x up to 1e19 times the first x
_SERIES_FROM = 1024
_DIRECT_STEPS = 64
_MOST_GROWTH = 3.0  # exp of it times r is how much the recurrence upwards may enlarge an error
_SMALL = 1e-17


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
    return _over_distinct(lambda a, i: 1 / (a + i), _reciprocals, above, places)


def offset_sums(above: IntArray, places: IntArray) -> FloatArray:
    """The sums of (i - 1) / (a + i) over i = 1, ..., m.

    They are m - (a + 1) times the sums of 1 / (a + i), which would cancel where a is far above m.

    Examples
    --------
    >>> offset_sums(np.array([0, 1]), np.array([2, 3])).tolist() == [0.5, 1 / 3 + 2 / 4]
    True
    """
    return _over_distinct(lambda a, i: (i - 1) / (a + i), _offsets, above, places)


def discount_sums(above: IntArray, places: IntArray) -> FloatArray:
    """The sums of 1 / log2(p + 1) over the places p = a + 1, ..., a + m.

    Examples
    --------
    >>> discount_sums(np.array([0, 2]), np.array([1, 1])).tolist()
    [1.0, 0.5]
    """
    return _over_distinct(lambda a, i: 1.0 / np.log2(a + i + 1), _discounts, above, places)


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
    Few terms are added one by one. For whole ties, with T = a + t, E of r follows from E of r - 1:
    E_r = r / ((r - 1) (t - r + 1)) ((T - r + 2) E_{r - 1} - 1), with E_1 the mean of 1 / (a + i).
    Upwards this loses digits where a r is far above t; there it is solved downwards, from an r so
    large that the error of the start has vanished. For a = 0 it is the sum of 1 / i from r to t,
    times r / (t - r + 1).

    Examples
    --------
    >>> a, t, r, m = np.array([[0, 0], [3, 3], [2, 2], [3, 1]])
    >>> first_reciprocals(a, t, r, m).round(3).tolist()  # (2 + 1 / 2) / 3 and 2 / 3
    [0.833, 0.667]
    """
    last = tied - right + 1
    counted = np.clip(within, 0, last)
    # one right answer needs no more than a sum, and an untied one no more than a quotient
    values = reciprocal_sums(above, np.where(right == tied, np.minimum(counted, 1), counted))
    values /= np.where(right == tied, 1, tied)
    (several,) = np.nonzero((right > 1) & (right < tied) & (counted > 0))
    if len(several):
        columns = [array[several] for array in (above, tied, right, counted)]
        _, first, inverse = np.unique(row_keys(columns), return_index=True, return_inverse=True)
        means = _first_of_several(*(column[first] for column in columns))
        values[several] = means[inverse.reshape(-1)]
    return values


def hit_chances(tied: IntArray, right: IntArray, within: IntArray) -> FloatArray:
    """The probabilities that one of r right answers is among the first m places of a tie of t.

    They are 1 - C(t - r, m) / C(t, m), added factor by factor, or from means of logarithms.

    Examples
    --------
    >>> hit_chances(np.array([4, 4]), np.array([1, 2]), np.array([1, 3])).tolist()
    [0.25, 1.0]
    """
    m = np.minimum(within, tied)
    chances = (m > tied - right).astype(np.float64)
    (open_,) = np.nonzero((m > 0) & (m <= tied - right))
    if not len(open_):
        return chances
    t = tied[open_].astype(np.float64)
    # C(t - r, m) / C(t, m) is the same with r and m exchanged: the fewer are multiplied
    few, many = (np.sort([right[open_], m[open_]], axis=0)).astype(np.float64)
    shares = np.zeros(len(t))
    direct = few <= _DIRECT_STEPS
    for j in range(int(few[direct].max(initial=0))):
        here = direct & (j < few)
        shares[here] += (1 - shares[here]) * (many[here] / (t[here] - j))
    rest = ~direct
    if rest.any():
        t, many, few = t[rest], many[rest], few[rest]
        terms = few.astype(np.int64)
        logs = few * (mean_log(t - many - few + 1, terms) - mean_log(t - few + 1, terms))
        shares[rest] = -np.expm1(logs)
    chances[open_] = shares
    return chances


def _over_distinct(
    term: Callable[[FloatArray, int], FloatArray],
    closed_sum: Callable[[FloatArray, FloatArray], FloatArray],
    above: IntArray,
    places: IntArray,
) -> FloatArray:
    """The sums of a term over places; few terms are added, and equal ties are summed once."""
    sums = term(above.astype(np.float64), 1)
    sums[places <= 0] = 0
    (ties,) = np.nonzero(places > 1)
    if not len(ties):
        return sums
    keys = row_keys([above[ties], places[ties]])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    a, m = (column[ties[first]].astype(np.float64) for column in (above, places))
    totals = term(a, 1)
    long = m > DIRECT_TERMS
    totals[long] = closed_sum(a[long], m[long])
    for i in range(2, DIRECT_TERMS + 1):
        here = ~long & (m >= i)
        totals[here] += term(a[here], i)
    sums[ties] = totals[inverse.reshape(-1)]
    return sums


def _reciprocals(a: FloatArray, m: FloatArray) -> FloatArray:
    return m * mean_power(a + 1, m.astype(np.int64), -1.0)


def _offsets(a: FloatArray, m: FloatArray) -> FloatArray:
    """With x = m / (a + 1/2) this is (a + 1/2) (x - log1p(x)) - log1p(x) / 2, and corrections."""
    sums = m - (a + 1) * _reciprocals(a, m)
    far = (a > 16 * m) & (a >= _SERIES_FROM)
    low = a[far] + 0.5
    high = low + m[far]
    x = m[far] / low
    s = x / (2 + x)  # log1p(x) = 2 (s + s^3 / 3 + s^5 / 5 + ...) and x = 2 s / (1 - s)
    tail = sum(s ** (odd - 2) / odd for odd in (15, 13, 11, 9, 7, 5, 3))
    difference = 2 * s * s * (1 / (1 - s) - tail)
    corrections = (high**-2.0 - low**-2.0) / 24 - 7 / 960 * (high**-4.0 - low**-4.0)
    sums[far] = low * difference - (x - difference) / 2 - (low + 0.5) * corrections
    return sums


@cache
def _discount_table() -> tuple[FloatArray, FloatArray, FloatArray]:
    """The sums of the discounts of the first places, and the nodes and weights of an integral."""
    discounts = 1 / np.log2(np.arange(2.0, _TABLE + 2))
    table = np.concatenate([[0.0], np.cumsum(discounts.astype(np.longdouble)).astype(np.float64)])
    return (table, *np.polynomial.legendre.leggauss(_NODES))


def _discounts(a: FloatArray, m: FloatArray) -> FloatArray:
    table, nodes, weights = _discount_table()
    first, last = (np.minimum(end, _TABLE).astype(np.int64) for end in (a, a + m))
    sums = table[last] - table[first]
    far = a + m > _TABLE
    # x from p + 1/2 of the first place p beyond the table to p + 3/2 of the last, as low exp(v)
    low = np.maximum(a[far], _TABLE) + 1.5
    high = (a + m)[far] + 1.5
    half = np.log1p((high - low) / low) / 2
    start = np.log(low)
    integral = np.zeros(len(low))
    for node, weight in zip(nodes, weights, strict=True):
        v = half * (1 + node)
        integral += weight * np.exp(v) / (start + v)
    slopes = 1 / (high * np.log(high) ** 2) - 1 / (low * start**2)
    sums[far] += np.log(2) * (low * half * integral + slopes / 24)
    return sums


# -- the first of several right answers ------------------------------------------------------------


def _first_of_several(a: IntArray, t: IntArray, r: IntArray, m: IntArray) -> FloatArray:
    """`first_reciprocals` of distinct ties, each by the way that takes the fewest steps."""
    values = np.zeros(len(a))
    direct_steps = np.minimum(m, 45 * t / r + 10)  # P(I > i) <= exp(-i r / t)
    whole = m > t - r
    long = direct_steps > _DIRECT_STEPS
    from_top = whole & (a == 0)
    upwards = whole & ~from_top & long & (r < direct_steps) & (a * (r / t) <= _MOST_GROWTH)
    steps = np.ceil(45 / np.log1p(np.maximum(a, 1) / t))
    downwards = whole & ~from_top & long & (a * (r / t) > _MOST_GROWTH) & (steps < direct_steps)
    values[from_top] = (r / (t - r + 1) * reciprocal_sums(r - 1, t - r + 1))[from_top]
    values[upwards] = _solve_upwards(a[upwards], t[upwards], r[upwards])
    values[downwards] = _solve_downwards(a[downwards], t[downwards], r[downwards], steps[downwards])
    direct = ~(from_top | upwards | downwards)
    values[direct] = _add_terms(a[direct], t[direct], r[direct], m[direct])
    return values


def _solve_upwards(a: IntArray, t: IntArray, r: IntArray) -> FloatArray:
    values: FloatArray = reciprocal_sums(a, t) / t
    for j in range(2, int(r.max(initial=1)) + 1):
        (here,) = np.nonzero(r >= j)
        rest = t[here] - (j - 1)
        values[here] = j / ((j - 1) * rest) * ((a[here] + rest + 1) * values[here] - 1)
    return values


def _solve_downwards(a: IntArray, t: IntArray, r: IntArray, steps: FloatArray) -> FloatArray:
    start = np.minimum(t, r + steps.astype(np.int64))
    # exact where start is t; elsewhere the reciprocal of the mean place, which is near enough
    values: FloatArray = 1 / (a + (t + 1) / (start + 1))
    for step in range(int((start - r).max(initial=0))):
        (here,) = np.nonzero(start - step > r)
        j = start[here] - step
        rest = t[here] - (j - 1)
        values[here] = (1 + values[here] * ((j - 1) / j) * rest) / (a[here] + rest + 1)
    return values


def _add_terms(a: IntArray, t: IntArray, r: IntArray, m: IntArray) -> FloatArray:
    totals = np.zeros(len(a))
    chance: FloatArray = r / t  # that the first right answer is at place i
    here: IntArray = np.arange(len(a))
    i = 0
    while len(here):
        i += 1
        totals[here] += chance / (a + i)
        # P(I > i) is (t - i) / r times the chance of place i + 1
        chance = chance * (t - i - r + 1) / np.maximum(t - i, 1)
        on = (i < m) & (chance * (t - i) > _SMALL * r * totals[here] * (a + i))
        here, chance = here[on], chance[on]
        a, t, r, m = (array[on] for array in (a, t, r, m))
    return totals
