"""The means of functions of ranks over the positions of a tie, and over all ranks.

A tie holds the m positions a, a + 1, ..., a + m - 1, all equally likely. The closed forms of the
mean of f over them cancel nothing: differences of digamma or lgamma lose 8 digits at a = 1e9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..arrays.row_keys import factorize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays import FloatArray, IntArray

_POSITIONS = 1 << 16  # So many positions of ties are added at once.
MOST = 2**62  # No rank and no number of candidates is beyond it; a cutoff has any number of digits.

# It is k of hits@k and its like, p of power_mean:p, a pair of k and n of sampled_hits@k:n, or 0
# where there is none.
Parameter = Any
# f of float64 ranks, from these, the numbers of candidates N (int64) and the parameter.
RankFunction: TypeAlias = "Callable[[FloatArray, IntArray, Parameter], FloatArray]"
# A mean of f over ties, from the first positions a (float64), the numbers of positions m (int64),
# N and the parameter.
TieFunction: TypeAlias = "Callable[[FloatArray, IntArray, IntArray, Parameter], FloatArray]"


def mean_over_positions(
    f: RankFunction, first: FloatArray, tied: IntArray, candidates: IntArray, parameter: Parameter
) -> FloatArray:
    """The mean of f over each tie, whose positions are added one by one."""
    total = np.zeros(len(first))
    (open_ties,) = np.nonzero(tied > 0)
    begin = 0
    while open_ties.size:  # Each pass adds a block of positions of all ties that reach so far.
        steps = np.arange(begin, begin + max(_POSITIONS // open_ties.size, 1))
        positions = first[open_ties, None] + steps
        inside = steps < tied[open_ties, None]
        sizes = np.broadcast_to(candidates[open_ties, None], positions.shape)
        positions = np.where(inside, positions, first[open_ties, None])
        values = f(positions, sizes, parameter)
        total[open_ties] += np.where(inside, values, 0.0).sum(axis=1)
        begin = int(steps[-1]) + 1
        open_ties = open_ties[tied[open_ties] > begin]
    return total / tied


def mean_rank(first: FloatArray, tied: IntArray) -> FloatArray:
    """The mean of r over ties, a + (m - 1) / 2, which is the realistic rank."""
    return first + (tied - 1) / 2


def hit_share(first: FloatArray, tied: IntArray, k: Parameter) -> FloatArray:
    """The share of positions r <= k in ties of m from a = `first` on: clip(k - a + 1, 0, m) / m."""
    shares: FloatArray = np.clip(min(k, MOST) - first + 1, 0, tied) / tied
    return shares


def mean_log(first: FloatArray, tied: IntArray) -> FloatArray:
    """The mean of log r over ties."""
    return _average_terms(first, tied, 0.0)


def mean_power(first: FloatArray, tied: IntArray, p: float) -> FloatArray:
    """The mean of r^p over ties, for p = -1 and p = -2, so that the first term is the greatest."""
    return _average_terms(first, tied, p) * np.power(first, p)


def _average_terms(begin: FloatArray, tied: IntArray, p: float) -> FloatArray:
    """The mean of `_term` over the positions of ties, so that p = 0 stands for the logarithm."""
    means = _term(begin, begin, p)  # They are correct where nothing ties.
    (ties,) = np.nonzero(tied > 1)
    if not ties.size:
        return means
    first = begin[ties]
    last = first + (tied[ties] - 1)
    sums = np.zeros(len(ties))
    table = _near_sums(p)
    (near,) = np.nonzero(first < len(table))
    rows = first[near].astype(np.int64)
    columns = np.minimum(last[near], len(table) - 1).astype(np.int64)
    sums[near] = table[rows, columns]

    # Beyond the table the terms that the closed form lacks are below 1e-16.
    (far,) = np.nonzero(last >= len(table))
    if far.size:
        pairs = factorize(_as_integers(first[far]), _as_integers(last[far]))
        distinct = far[pairs.first()]  # Equal ties are computed once.
        low = np.maximum(first[distinct], len(table)) - 0.5
        high = last[distinct] + 0.5
        far_sums = power_sum(low, high, p, first[distinct]) if p else _log_sum(low, high)
        sums[far] += far_sums[pairs.codes]
    means[ties] = sums / tied[ties]
    return means


def _term(positions: FloatArray, first: FloatArray, p: float) -> FloatArray:
    """(r / a)^p of positions r of ties that begin at a; log r where p is 0."""
    terms: FloatArray = np.power(positions / first, p) if p else np.log(positions)
    return terms


@cache
def _near_sums(p: float) -> FloatArray:
    """The sums of `_term` from the position of a row to that of a column, added one by one."""
    positions = np.arange(1.0, 32 + 8 * abs(p))
    first = positions[:, None]
    terms = np.where(positions < first, 0.0, _term(positions, first, p))
    return np.pad(np.cumsum(terms, axis=1), [(1, 0), (1, 0)])


def _as_integers(positions: FloatArray) -> IntArray:
    """Return positions, which are whole, as unlike integers, the largest of which may wrap."""
    return positions.astype(np.uint64).view(np.int64)


# Euler and Maclaurin's formula about midpoints: the sum of f over positions is its integral between
# the edges and, times these, the differences there of its 1st, 3rd, 5th and 7th derivative.
_MIDPOINT = ((1, -1 / 24), (3, 7 / 5760), (5, -31 / 967680), (7, 127 / 154828800))


def _log_sum(low: FloatArray, high: FloatArray) -> FloatArray:
    width = high - low
    total = width * np.log(low) + high * np.log1p(width / low) - width
    for order, coefficient in _MIDPOINT:
        # The derivative is d^order log x = factor / x^order.
        factor = math.prod(-i for i in range(1, order))
        total += coefficient * factor * (1 / high**order - 1 / low**order)
    return total


def power_sum(
    low: FloatArray | float,
    high: FloatArray,
    p: FloatArray | float,
    scale: FloatArray | float = 1.0,
) -> FloatArray:
    """The sum of (r / scale)^p over the positions r from low + 1/2 to high - 1/2.

    >>> power_sum(99.5, np.array([102.5]), np.array([2.0])), 100**2 + 101**2 + 102**2
    (array([30605.]), 30605)
    """
    # The integral, (high^q - low^q) / q, is end^q (1 - (low / high)^|q|) / |q| of the end with the
    # larger power, so that nothing overflows; and log(high / low) for q = 0.
    q = p + 1
    end = np.where(q > 0, high, low)
    log_ratio = np.log1p((high - low) / low)
    abs_q = np.maximum(np.abs(q), 2.0**-500)
    total: FloatArray = np.power(end / scale, p) * end * (-np.expm1(-abs_q * log_ratio) / abs_q)
    for order, coefficient in _MIDPOINT:
        # The derivative is d^order x^p = factor x^(p - order).
        factor = math.prod(p - i for i in range(order))
        difference = np.power(high / scale, p) / high**order
        difference -= np.power(low / scale, p) / low**order
        total += coefficient * factor * difference
    return total


# -- hits among drawn negatives --------------------------------------------------------------------

# In expectation over all draws, without drawing any: a task has N - 1 negatives; n of them are
# drawn, each set of n with the same probability, or all where there are no more. How many of those
# above the true candidate are drawn is hypergeometric. A cutoff is k and n.

_LISTED = 256  # All positions of a tie are asked, if it has up to so many.
_FAR = 2.0**45
_FEW_FACTORS = 2.0**20


def shares_of_draws(
    marked: FloatArray, total: FloatArray, drawn: FloatArray, most: float
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield how many of the items drawn without replacement are marked, and how likely that is.

    Each item, all of float64 and shape (n,), is a distribution, a hypergeometric one. First comes
    the least count that each allows, then one more at a time; a count that is impossible, or above
    `most`, has the probability 0. Logarithms are kept, as the first one may be too small a float.
    """
    unmarked = total - marked
    count = np.maximum(drawn - unmarked, 0)
    logs = _log_falling(unmarked, drawn - count) - _log_falling(total, drawn)
    logs += _log_falling(marked, count)
    logs += _log_falling(drawn, count) - _log_falling(count, count)
    last = np.minimum(np.minimum(marked, drawn), most)
    for _ in range(int((last - count).max(initial=-1)) + 1):
        yield count, np.where(count <= most, np.exp(np.minimum(logs, 0.0)), 0.0)
        # P(count + 1) / P(count)
        numerator = np.maximum(marked - count, 0) * np.maximum(drawn - count, 0)
        denominator = (count + 1) * (unmarked - drawn + count + 1)
        with np.errstate(divide="ignore"):  # There may be no more, and log 0 is right then.
            logs = logs + np.log(numerator / denominator)
        count = count + 1


def share_of_few(
    marked: FloatArray, total: FloatArray, drawn: FloatArray, most: float | FloatArray
) -> FloatArray:
    """Return how likely it is that at most so many marked items are drawn.

    >>> share_of_few(np.array([1.0]), np.array([4.0]), np.array([2.0]), 0)
    array([0.5])
    """
    chances = np.zeros(len(marked))
    for count, shares in shares_of_draws(marked, total, drawn, float(np.max(most, initial=0))):
        chances += np.where(count <= most, shares, 0.0)
    is_certain = np.minimum(drawn, marked) <= most
    return np.where(is_certain, 1.0, np.minimum(chances, 1.0))


def _log_falling(x: FloatArray, factors: FloatArray) -> FloatArray:
    """The logarithm of x (x - 1) ... with so many factors, the last of which is at least 1."""
    count: Any = factors  # whole numbers, in float64
    sums: FloatArray = factors * mean_log(x - factors + 1, count)
    # Far out, where half a position is soon lost, two terms of the series in factors / x are right.
    is_far = (x > _FAR) & (factors < _FEW_FACTORS)
    if is_far.any():
        base = np.maximum(x, 1)
        series = factors * np.log(base) - factors * (factors - 1) / (2 * base)
        sums = np.where(is_far, series, sums)
    return sums


def drawn_hit_share(ranks: FloatArray, candidates: IntArray, cutoff: tuple[int, int]) -> FloatArray:
    """How likely a true candidate of this rank is among the first k of it and the drawn negatives.

    Fewer than k of the r - 1 negatives above it are drawn: with N - 1 negatives in all the sum over
    i < k of C(r - 1, i) C(N - r, n - i) / C(N - 1, n).
    """
    k, drawn = _bounded(cutoff)
    negatives = candidates.ravel().astype(np.float64) - 1
    above = np.minimum(ranks.ravel() - 1, negatives)
    shares = share_of_few(above, negatives, np.minimum(negatives, drawn), k - 1)
    return shares.reshape(ranks.shape)


def mean_drawn_hit_share(
    first: FloatArray, tied: IntArray, candidates: IntArray, cutoff: tuple[int, int]
) -> FloatArray:
    """The mean of `drawn_hit_share` over the positions of ties, in closed form where they are many.

    Where some of the negatives above are drawn, c places of k are left, and d draws from the K
    others: the tie of m and what is below it. T of the tie's m - 1 negatives are drawn, and the
    true candidate is at each of T + 1 places alike: a hit for T < c, else with probability
    c / (T + 1). As C(m - 1, T) / (T + 1) is C(m, T + 1) / m, the mean of 1 / (T + 1) over T >= c
    is (K + 1) / ((d + 1) m) P(S > c): S = T + 1 of the m are drawn by d + 1 draws from K + 1.
    """
    means = np.empty(len(first))
    are_many = tied > _LISTED
    few = ~are_many
    means[few] = mean_over_positions(
        drawn_hit_share, first[few], tied[few], candidates[few], cutoff
    )
    m = tied[are_many].astype(np.float64)
    not_above = _not_above(first[are_many], candidates[are_many])  # K
    chances = np.zeros(len(m))
    for c, shares, d in _draws_above(first[are_many], candidates[are_many], cutoff):
        is_certain = share_of_few(m - 1, not_above, d, c - 1)  # P(T < c)
        is_open = 1 - share_of_few(m, not_above + 1, d + 1, c)  # P(S > c)
        chances += shares * (is_certain + c * (not_above + 1) / ((d + 1) * m) * is_open)
    means[are_many] = np.minimum(chances, 1.0)
    return means


def middle_drawn_hit_share(
    middle: FloatArray, tied: IntArray, candidates: IntArray, cutoff: tuple[int, int]
) -> FloatArray:
    """How likely the middle of the true candidate's tie with drawn negatives is among the first k.

    Let i of the negatives above be drawn, and T of those that tie: i + 1 + T / 2 is at most k.
    """
    first = middle - (tied - 1) / 2
    chances = drawn_hit_share(first, candidates, cutoff)  # It is correct where nothing ties.
    ties = tied > 1
    tied_negatives = tied[ties].astype(np.float64) - 1
    not_above = _not_above(first[ties], candidates[ties])
    total = np.zeros(len(tied_negatives))
    for places, shares, draws in _draws_above(first[ties], candidates[ties], cutoff):
        total += shares * share_of_few(tied_negatives, not_above, draws, 2 * (places - 1))
    chances[ties] = np.minimum(total, 1.0)
    return chances


def _not_above(first: FloatArray, candidates: IntArray) -> FloatArray:
    """The negatives in a tie and below it."""
    negatives = candidates.astype(np.float64) - 1
    return negatives - np.minimum(first - 1, negatives)


def _draws_above(
    first: FloatArray, candidates: IntArray, cutoff: tuple[int, int]
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield what each number of negatives drawn from above ties leaves, if it is below k.

    These are the places left up to k, how likely the number is, and how many draws are left.
    """
    k, most_drawn = _bounded(cutoff)
    negatives = candidates.astype(np.float64) - 1
    drawn = np.minimum(negatives, most_drawn)
    above = np.minimum(first - 1, negatives)
    for drawn_above, shares in shares_of_draws(above, negatives, drawn, k - 1):
        draws_left = np.clip(drawn - drawn_above, 0, negatives - above)
        yield k - drawn_above, shares, draws_left


def _bounded(cutoff: tuple[int, int]) -> tuple[int, int]:
    """The numbers of a cutoff, which a key may write with any number of digits."""
    return min(cutoff[0], MOST), min(cutoff[1], MOST)


# -- all ranks -------------------------------------------------------------------------------------

# The mean and the variance of f, of r uniform on 1..N for each N: float64, shape (d,) both.


def rank_moments(sizes: IntArray, parameter: Parameter = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r, (N + 1) / 2 and (N^2 - 1) / 12.

    "A Unified Framework for Rank-based Evaluation Metrics" (2022) prints 1 / n for the 1 / n^2 of
    the variance of mr (equation 7).
    """
    n = sizes.astype(np.float64)
    return (n + 1) / 2, (n - 1) * (n + 1) / 12


def reciprocal_moments(sizes: IntArray, parameter: Parameter = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of 1 / r, H / N and H2 / N - (H / N)^2.

    H and H2 are the sums of 1/r and of 1/r^2 over r = 1..N. "A Unified Framework" (2022), equations
    10 to 13, has the continuous log(N) / (N - 1) for H / N, and a variance without the square,
    which is negative.
    """
    first = np.ones(sizes.shape)
    mean = mean_power(first, sizes, -1.0)
    return mean, mean_power(first, sizes, -2.0) - mean**2


def hit_moments(sizes: IntArray, k: Parameter) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r <= k, q and q (1 - q) with q = min(k / N, 1).

    "A Unified Framework" (2022), equations 16 and 18, prints k (N - k) / N for the variance.
    """
    n = sizes.astype(np.float64)
    cutoff = float(min(k, MOST))
    q = np.minimum(cutoff / n, 1)
    return q, q * np.maximum(n - cutoff, 0) / n


def drawn_hit_moments(sizes: IntArray, cutoff: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of `drawn_hit_share`.

    Among n drawn negatives the place of the true candidate is uniform, too: the mean is that of
    hits at k among n + 1 candidates. The variance is nan, as nothing here computes it, and 0 where
    a hit is certain.
    """
    k, drawn = _bounded(cutoff)
    mean = np.minimum(k / (np.minimum(sizes - 1.0, drawn) + 1), 1.0)
    return mean, np.where(mean == 1, 0.0, np.nan)
