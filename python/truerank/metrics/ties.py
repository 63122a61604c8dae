"""Functions f of ranks that metrics average, and the means of f over the positions of a tie.

A tie holds the m positions a, a + 1, ..., a + m - 1, all equally likely. The closed forms of the
mean of f over them cancel nothing: differences of digamma or lgamma lose 8 digits at a = 1e9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays.types import FloatArray, IntArray

_POSITIONS = 1 << 16  # So many positions of ties are added at once.

# It is k of hits@k and its like, p of power_mean:p, a pair of k and n of sampled_hits@k:n, or 0
# where there is none.
Parameter = Any


class RankFunction(NamedTuple):
    """f of ranks, and its mean over ties.

    Attributes
    ----------
    of_ranks : callable
        f(r) of float64 ranks, from the ranks, the numbers of candidates N (int64) and the metric's
        parameter. Most functions do not depend on N.
    over_tie : callable, optional
        The mean of f over each tie, computed from the first positions a (float64), the numbers of
        positions m (int64), N and the parameter. Without it f is added position by position.
    of_middle : callable, optional
        What stands for f at the middles of ties, computed from these ranks, m, N and the parameter,
        if it hangs on m, too.
    """

    of_ranks: Callable[[FloatArray, IntArray, Parameter], FloatArray]
    over_tie: Callable[[FloatArray, IntArray, IntArray, Parameter], FloatArray] | None = None
    of_middle: Callable[[FloatArray, IntArray, IntArray, Parameter], FloatArray] | None = None


def mean_over_tie(
    f: RankFunction, first: FloatArray, tied: IntArray, candidates: IntArray, parameter: Parameter
) -> FloatArray:
    """The mean of f over each tie.

    Examples
    --------
    >>> mean_over_tie(RECIPROCAL, np.array([1.0]), np.array([2]), np.array([9]), 0)
    array([0.75])
    """
    if f.over_tie is not None:
        return f.over_tie(first, tied, candidates, parameter)
    total = np.zeros(len(first))
    (open_ties,) = np.nonzero(tied > 0)
    begin = 0
    while open_ties.size:  # Each pass adds a block of positions of all ties that reach so far.
        steps = np.arange(begin, begin + max(_POSITIONS // open_ties.size, 1))
        positions = first[open_ties, None] + steps
        inside = steps < tied[open_ties, None]
        sizes = np.broadcast_to(candidates[open_ties, None], positions.shape)
        positions = np.where(inside, positions, first[open_ties, None])
        values = f.of_ranks(positions, sizes, parameter)
        total[open_ties] += np.where(inside, values, 0.0).sum(axis=1)
        begin = int(steps[-1]) + 1
        open_ties = open_ties[tied[open_ties] > begin]
    return total / tied


def up_to_cutoff(f: RankFunction) -> RankFunction:
    """Return f of ranks up to the parameter k, and 0 of those beyond; f itself where k is 0.

    Examples
    --------
    >>> up_to_cutoff(RECIPROCAL).of_ranks(np.array([1.0, 2.0, 3.0]), np.full(3, 9), 2)
    array([1. , 0.5, 0. ])
    """

    def of_ranks(ranks: FloatArray, candidates: IntArray, k: Parameter) -> FloatArray:
        values = f.of_ranks(ranks, candidates, k)
        if not k:
            return values
        return np.where(ranks <= min(k, 2**63), values, 0.0)  # No rank is beyond 2**63.

    def over_tie(
        first: FloatArray, tied: IntArray, candidates: IntArray, k: Parameter
    ) -> FloatArray:
        if not k:
            return mean_over_tie(f, first, tied, candidates, k)
        shares = hit_share(first, tied, k)
        within = np.maximum(np.rint(shares * tied), 1).astype(np.int64)
        return shares * mean_over_tie(f, first, within, candidates, k)

    return RankFunction(of_ranks, over_tie)


def mean_rank(first: FloatArray, tied: IntArray) -> FloatArray:
    """The mean of r over ties, a + (m - 1) / 2, which is the realistic rank.

    Examples
    --------
    >>> mean_rank(np.array([3.0]), np.array([2]))
    array([3.5])
    """
    return first + (tied - 1) / 2


def hit_share(first: FloatArray, tied: IntArray, k: Parameter) -> FloatArray:
    """The share of positions r <= k in ties, clip(k - a + 1, 0, m) / m; a is `first`, m is `tied`.

    Examples
    --------
    >>> hit_share(np.array([3.0]), np.array([4]), 5)
    array([0.75])
    """
    shares: FloatArray = np.clip(min(k, 2.0**63) - first + 1, 0, tied) / tied
    return shares


def mean_log(first: FloatArray, tied: IntArray) -> FloatArray:
    """The mean of log r over ties.

    Examples
    --------
    >>> mean_log(np.array([1.0]), np.array([3])) == np.log(6) / 3
    array([ True])
    """
    return _mean_over(lambda x, _: np.log(x), _log_sum, 32, first, tied)


def mean_power(first: FloatArray, tied: IntArray, p: Parameter) -> FloatArray:
    """The mean of r^p over ties, for p = -1 and p = -2, so that the first term is the greatest.

    Examples
    --------
    >>> mean_power(np.array([1.0]), np.array([2]), -1.0)
    array([0.75])
    """
    means = _mean_over(
        lambda x, first: np.power(x / first, p),
        lambda low, high, first: power_sum(low, high, p, first),
        int(32 + 8 * abs(p)),  # From here on the terms that the closed form lacks are below 1e-16.
        first,
        tied,
    )
    return means * np.power(first, p)


def _mean_over(
    function: Callable[[FloatArray, FloatArray], FloatArray],
    closed_sum: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    start: int,
    begin: FloatArray,
    tied: IntArray,
) -> FloatArray:
    """The mean of a function over the positions of ties, which begin at `begin`.

    `closed_sum` gives the sums from position `start` on, between edges half a position outside.
    Both take the first position of the tie, too.
    """
    means = function(begin, begin)  # They are correct where nothing ties.
    (ties,) = np.nonzero(tied > 1)
    if not ties.size:
        return means
    end = begin[ties] + (tied[ties] - 1)
    # Equal ties are computed once.
    pairs = codes_of(_as_integers(begin[ties]), _as_integers(end))
    index = pairs.first()
    first = begin[ties][index]
    last = end[index]
    last_single = np.minimum(last, start - 1)  # Positions up to it are added one by one.
    total = np.zeros(first.shape)
    for step in range(int((last_single - first).max()) + 1):
        within = first + step <= last_single
        total[within] += function(first[within] + step, first[within])
    rest = last > last_single
    low = np.maximum(first, last_single + 1)[rest]
    total[rest] += closed_sum(low - 0.5, last[rest] + 0.5, first[rest])
    means[ties] = total[pairs.codes] / tied[ties]
    return means


def _as_integers(positions: FloatArray) -> IntArray:
    """Return positions, which are whole, as unlike integers, the largest of which may wrap."""
    return positions.astype(np.uint64).view(np.int64)


# Euler and Maclaurin's formula about midpoints: the sum of f over positions is its integral between
# the edges and, times these, the differences there of its 1st, 3rd, 5th and 7th derivative.
_MIDPOINT = ((1, -1 / 24), (3, 7 / 5760), (5, -31 / 967680), (7, 127 / 154828800))


def _log_sum(low: FloatArray, high: FloatArray, _: FloatArray) -> FloatArray:
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
    """The sum of (r / scale)^p over the positions between edges half a position outside them.

    Examples
    --------
    >>> power_sum(99.5, np.array([102.5]), np.array([2.0])), 100**2 + 101**2 + 102**2
    (array([30605.]), 30605)
    """
    # (high^q - low^q) / q is computed from the larger end, so that nothing overflows.
    q = p + 1
    ratio = np.log1p((high - low) / low)
    larger = np.where(q > 0, high, low)
    steepness = np.maximum(np.abs(q), 2.0**-500)  # For q = 0 the ratio is the integral of 1 / x.
    relative = -np.expm1(-steepness * ratio) / steepness
    total: FloatArray = np.power(larger / scale, p) * larger * relative
    for order, coefficient in _MIDPOINT:
        # The derivative is d^order x^p = factor x^(p - order).
        factor = math.prod(p - i for i in range(order))
        difference = np.power(high / scale, p) / high**order
        difference -= np.power(low / scale, p) / low**order
        total += coefficient * factor * difference
    return total


IDENTITY = RankFunction(lambda r, N, _: r, lambda a, m, N, _: mean_rank(a, m))
RECIPROCAL = RankFunction(lambda r, N, _: 1.0 / r, lambda a, m, N, _: mean_power(a, m, -1.0))
LOG = RankFunction(lambda r, N, _: np.log(r))
HIT = RankFunction(
    lambda r, N, k: (r <= min(k, 2**63)).astype(np.float64),  # No rank is beyond 2**63.
    lambda a, m, N, k: hit_share(a, m, k),
)
DISCOUNT = RankFunction(lambda r, N, _: 1.0 / np.log2(1.0 + r))
POWER = RankFunction(lambda r, N, p: np.power(r, p))

# -- hits among drawn negatives --------------------------------------------------------------------

# In expectation over all draws, without drawing any: a task has N - 1 negatives; n of them are
# drawn, each set of n with the same probability, or all where there are no more. How many of those
# above the true candidate are drawn is hypergeometric. A cutoff is k and n.

_LISTED = 256  # All positions of a tie are asked, if it has up to so many.
_FLAT = 2.0**45
_FEW_FACTORS = 2.0**20
MOST = 2**62  # No number of candidates is much larger, while a key may have any digits.


class Draws(NamedTuple):
    """Draws without replacement from items of which some are marked; float64 of one shape.

    Attributes
    ----------
    marked, total, drawn : ndarray of float64, shape (n,)
        The marked items, all items, and how many are drawn.
    """

    marked: FloatArray
    total: FloatArray
    drawn: FloatArray

    def shares(self, most: float) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield numbers of marked items that are drawn, and how likely they are, up to `most`.

        Each step has a number for each draw, from the least on that is possible; the share of one
        that is not, or is above `most`, is 0.
        """
        unmarked = self.total - self.marked
        count = np.maximum(self.drawn - unmarked, 0)
        logs = _log_falling(unmarked, self.drawn - count) - _log_falling(self.total, self.drawn)
        logs += _log_falling(self.marked, count)
        logs += _log_falling(self.drawn, count) - _log_falling(count, count)
        last = np.minimum(np.minimum(self.marked, self.drawn), most)
        for _ in range(int((last - count).max(initial=-1)) + 1):
            yield count, np.where(count <= most, np.exp(np.minimum(logs, 0.0)), 0.0)
            more = np.maximum(self.marked - count, 0) * np.maximum(self.drawn - count, 0)
            with np.errstate(divide="ignore"):  # There may be no more, and log 0 is right then.
                logs = logs + np.log(more / ((count + 1) * (unmarked - self.drawn + count + 1)))
            count = count + 1

    def at_most(self, most: float | FloatArray) -> FloatArray:
        """Return how likely it is that at most so many marked items are drawn.

        Examples
        --------
        >>> Draws(np.array([1.0]), np.array([4.0]), np.array([2.0])).at_most(0)
        array([0.5])
        """
        chances = np.zeros(len(self.marked))
        for count, shares in self.shares(float(np.max(most, initial=0))):
            chances += np.where(count <= most, shares, 0.0)
        is_certain = np.minimum(self.drawn, self.marked) <= most
        return np.where(is_certain, 1.0, np.minimum(chances, 1.0))


def _log_falling(x: FloatArray, factors: FloatArray) -> FloatArray:
    """The logarithm of x (x - 1) ... with so many factors, the last of which is at least 1."""
    numbers: Any = factors  # They are whole numbers in float64.
    logs: FloatArray = factors * mean_log(x - factors + 1, numbers)
    # Beyond this size neighbours are the same float: two terms of the series in factors / x are
    # enough.
    is_flat = (x > _FLAT) & (factors < _FEW_FACTORS)
    if is_flat.any():
        flat = factors * np.log(np.maximum(x, 1)) - factors * (factors - 1) / (2 * np.maximum(x, 1))
        logs = np.where(is_flat, flat, logs)
    return logs


def _draws_of(above: FloatArray, candidates: IntArray, cutoff: tuple[int, int]) -> Draws:
    """Draws of negatives, of which those above are marked."""
    negatives = candidates.astype(np.float64) - 1
    drawn = np.minimum(negatives, min(cutoff[1], MOST))
    return Draws(np.minimum(above, negatives), negatives, drawn)


def drawn_hit_share(ranks: FloatArray, candidates: IntArray, cutoff: tuple[int, int]) -> FloatArray:
    """How likely a true candidate of this rank is among the first k of it and the drawn negatives.

    Fewer than k of the r - 1 negatives above it are drawn: with N - 1 negatives in all the sum over
    i < k of C(r - 1, i) C(N - r, n - i) / C(N - 1, n).

    Examples
    --------
    >>> drawn_hit_share(np.array([1.0, 3.0]), np.array([5, 5]), (1, 2)).round(12)
    array([1.        , 0.16666667])
    """
    draws = _draws_of(ranks.ravel() - 1, candidates.ravel(), cutoff)
    return draws.at_most(min(cutoff[0], MOST) - 1).reshape(ranks.shape)


def mean_drawn_hit_share(
    first: FloatArray, tied: IntArray, candidates: IntArray, cutoff: tuple[int, int]
) -> FloatArray:
    """The mean of `drawn_hit_share` over the positions of ties, in closed form where they are many.

    Let i of the negatives above be drawn, and T of the t = m - 1 that tie, of the K others, by the
    d other draws. The true one is any of the T + 1, so that it is a hit with the probability
    min(k - i, T + 1) / (T + 1); and the mean of 1 / (T + 1) over T > c is (K + 1) / ((d + 1) m)
    times the probability that T + 1 > c + 1, drawn d + 1 times of K + 1, m of them tied.

    Examples
    --------
    >>> mean_drawn_hit_share(np.array([1.0]), np.array([5]), np.array([5]), (1, 3)).round(12)
    array([0.25])
    """
    means = np.empty(len(first))
    are_many = tied > _LISTED
    few = ~are_many
    plain = RankFunction(drawn_hit_share)
    means[few] = mean_over_tie(plain, first[few], tied[few], candidates[few], cutoff)
    above = _draws_of(first[are_many] - 1, candidates[are_many], cutoff)
    in_tie = tied[are_many].astype(np.float64)
    # They are the tie and what is below it, without the true one.
    others = above.total - above.marked
    k = min(cutoff[0], MOST)
    total = np.zeros(len(in_tie))
    for count, shares in above.shares(k - 1):
        left = np.clip(above.drawn - count, 0, others)
        room = k - count
        fits = Draws(in_tie - 1, others, left).at_most(room - 1)
        overflows = 1 - Draws(in_tie, others + 1, left + 1).at_most(room)
        total += shares * (fits + room * (others + 1) / ((left + 1) * in_tie) * overflows)
    means[are_many] = np.minimum(total, 1.0)
    return means


def middle_drawn_hit_share(
    middle: FloatArray, tied: IntArray, candidates: IntArray, cutoff: tuple[int, int]
) -> FloatArray:
    """How likely the middle of the true candidate's tie with drawn negatives is among the first k.

    Let i of the negatives above be drawn, and T of those that tie: i + 1 + T / 2 is at most k.

    Examples
    --------
    >>> middle_drawn_hit_share(np.array([1.5]), np.array([2]), np.array([3]), (1, 1))
    array([0.5])
    """
    first = middle - (tied - 1) / 2
    chances = drawn_hit_share(first, candidates, cutoff)  # It is correct where nothing ties.
    ties = tied > 1
    above = _draws_of(first[ties] - 1, candidates[ties], cutoff)
    others = above.total - above.marked
    k = min(cutoff[0], MOST)
    total = np.zeros(int(np.count_nonzero(ties)))
    for count, shares in above.shares(k - 1):
        left = np.clip(above.drawn - count, 0, others)
        others_in_tie = tied[ties].astype(np.float64) - 1
        total += shares * Draws(others_in_tie, others, left).at_most(2 * (k - 1 - count))
    chances[ties] = np.minimum(total, 1.0)
    return chances


SAMPLED_HIT = RankFunction(drawn_hit_share, mean_drawn_hit_share, middle_drawn_hit_share)
