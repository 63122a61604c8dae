"""Hits at k among drawn negatives, in expectation over all draws, without drawing any.

A task has N - 1 negatives; n of them are drawn, each set of n with the same probability, or all
where there are no more. How many of those above the true candidate are drawn is hypergeometric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .ties import RankFunction, mean_log, mean_over_tie

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays.types import FloatArray, IntArray

_LISTED = 256  # All positions of a tie are asked, if it has up to so many.
_FLAT = 2.0**45
_FEW_FACTORS = 2.0**20
MOST = 2**62  # No number of candidates is much larger, while a key may have any digits.


class DrawnCutoff(NamedTuple):
    """The k of hits at k, and how many negatives are drawn; written as "10:50".

    Examples
    --------
    >>> str(DrawnCutoff(10, 50))
    '10:50'
    """

    k: int
    negatives: int

    def __str__(self) -> str:
        return f"{self.k}:{self.negatives}"


def read_drawn_cutoff(text: str) -> DrawnCutoff:
    """Read what follows "@" in `sampled_hits@k:n`.

    Examples
    --------
    >>> read_drawn_cutoff("10:050")
    DrawnCutoff(k=10, negatives=50)
    """
    k, negatives = map(int, text.split(":"))
    return DrawnCutoff(k, negatives)


class Draws(NamedTuple):
    """Draws without replacement from items of which some are marked; float64 of one shape.

    Attributes
    ----------
    marked, total, drawn : ndarray of float64, shape (n,)
        The marked items, all items, and how many are drawn. `marked` may be a fraction: what is
        asked of it is a polynomial.
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
        count = np.ceil(np.maximum(self.drawn - unmarked, 0))
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
        found = np.zeros(len(self.marked))
        for count, shares in self.shares(float(np.max(most, initial=0))):
            found += np.where(count <= most, shares, 0.0)
        is_certain = np.minimum(self.drawn, self.marked) <= most
        return np.where(is_certain, 1.0, np.minimum(found, 1.0))


def _log_falling(x: FloatArray, factors: FloatArray) -> FloatArray:
    """The logarithm of x (x - 1) ... with so many factors, the last of which is at least 1."""
    numbers: Any = factors  # They are whole numbers in float64.
    found: FloatArray = factors * mean_log(x - factors + 1, numbers)
    # Beyond this size neighbours are the same float: two terms of the series in factors / x are
    # enough.
    is_flat = (x > _FLAT) & (factors < _FEW_FACTORS)
    if is_flat.any():
        flat = factors * np.log(np.maximum(x, 1)) - factors * (factors - 1) / (2 * np.maximum(x, 1))
        found = np.where(is_flat, flat, found)
    return found


def _draws_of(above: FloatArray, candidates: IntArray, cutoff: DrawnCutoff) -> Draws:
    """Draws of negatives, of which those above are marked."""
    negatives = candidates.astype(np.float64) - 1
    drawn = np.minimum(negatives, min(cutoff.negatives, MOST))
    return Draws(np.minimum(above, negatives), negatives, drawn)


def hit_share(ranks: FloatArray, candidates: IntArray, cutoff: DrawnCutoff) -> FloatArray:
    """How likely a true candidate of this rank is among the first k of it and the drawn negatives.

    Fewer than k of the r - 1 negatives above it are drawn: with N - 1 negatives in all the sum over
    i < k of C(r - 1, i) C(N - r, n - i) / C(N - 1, n).

    Examples
    --------
    >>> hit_share(np.array([1.0, 3.0]), np.array([5, 5]), DrawnCutoff(1, 2)).round(12)
    array([1.        , 0.16666667])
    """
    positions, sizes = np.broadcast_arrays(ranks, candidates)
    shape = positions.shape
    draws = _draws_of(positions.ravel() - 1, sizes.ravel(), cutoff)
    return draws.at_most(min(cutoff.k, MOST) - 1).reshape(shape)


def mean_hit_share(
    first: FloatArray, tied: IntArray, candidates: IntArray, cutoff: DrawnCutoff
) -> FloatArray:
    """The mean of `hit_share` over the positions of ties, in closed form where they are many.

    Let i of the negatives above be drawn, and T of the t = m - 1 that tie, of the K others, by the
    d other draws. The true one is any of the T + 1, so that it is a hit with the probability
    min(k - i, T + 1) / (T + 1); and the mean of 1 / (T + 1) over T > c is (K + 1) / ((d + 1) m)
    times the probability that T + 1 > c + 1, drawn d + 1 times of K + 1, m of them tied.

    Examples
    --------
    >>> mean_hit_share(np.array([1.0]), np.array([5]), np.array([5]), DrawnCutoff(1, 3)).round(12)
    array([0.25])
    """
    found = np.empty(len(first))
    are_many = tied > _LISTED
    few = ~are_many
    plain = RankFunction(hit_share)
    found[few] = mean_over_tie(plain, first[few], tied[few], candidates[few], cutoff)
    above = _draws_of(first[are_many] - 1, candidates[are_many], cutoff)
    in_tie = tied[are_many].astype(np.float64)
    # They are the tie and what is below it, without the true one.
    others = above.total - above.marked
    k = min(cutoff.k, MOST)
    total = np.zeros(len(in_tie))
    for count, shares in above.shares(k - 1):
        left = np.clip(above.drawn - count, 0, others)
        room = k - count
        fits = Draws(in_tie - 1, others, left).at_most(room - 1)
        overflows = 1 - Draws(in_tie, others + 1, left + 1).at_most(room)
        total += shares * (fits + room * (others + 1) / ((left + 1) * in_tie) * overflows)
    found[are_many] = np.minimum(total, 1.0)
    return found


def middle_hit_share(
    middle: FloatArray, tied: IntArray, candidates: IntArray, cutoff: DrawnCutoff
) -> FloatArray:
    """How likely the middle of the true candidate's tie with drawn negatives is among the first k.

    Let i of the negatives above be drawn, and T of those that tie: i + 1 + T / 2 is at most k.

    Examples
    --------
    >>> middle_hit_share(np.array([1.5]), np.array([2]), np.array([3]), DrawnCutoff(1, 1))
    array([0.5])
    """
    first = middle - (tied - 1) / 2
    found = hit_share(first, candidates, cutoff)  # It is correct where nothing ties.
    ties = tied > 1
    above = _draws_of(first[ties] - 1, candidates[ties], cutoff)
    others = above.total - above.marked
    k = min(cutoff.k, MOST)
    total = np.zeros(int(np.count_nonzero(ties)))
    for count, shares in above.shares(k - 1):
        left = np.clip(above.drawn - count, 0, others)
        others_in_tie = tied[ties].astype(np.float64) - 1
        total += shares * Draws(others_in_tie, others, left).at_most(2 * (k - 1 - count))
    found[ties] = np.minimum(total, 1.0)
    return found


SAMPLED_HIT = RankFunction(hit_share, mean_hit_share, middle_hit_share)
