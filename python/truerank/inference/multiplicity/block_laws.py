"""Laws under chance of ranks within blocks: chi-squared, F, the studentised range, the exact law.

A block (a data set) ranks k models. Under the null hypothesis every order of a block's ranks is
equally likely, and blocks are independent.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..distributions import beta_cdf

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray

CELLS = 1 << 20  # the exact law is computed where no block takes more steps than this
ALL_CELLS = 1 << 22  # and all blocks together no more than this
MOST_MODELS = 8  # 9 have 362,880 orders
PANEL_NODES = 16  # of the quadrature, in each panel of width 1
REACH = 9.0  # beyond it the normal density is below 1e-18


def chi_squared_tail(x: float, degrees: int) -> float:
    """The probability that chi-squared with so many degrees of freedom is at least x.

    Examples
    --------
    >>> round(chi_squared_tail(3.841458820694124, 1), 12)
    0.05
    """
    if x <= 0:
        return 1.0
    if math.isinf(x):
        return 0.0
    half, odd = x / 2, degrees % 2
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    for i in range(odd, degrees // 2 + odd):
        power = i - odd / 2
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(total, 1.0)


def f_tail(x: float, above: float, below: float) -> float:
    """The probability that F is at least x, with the degrees of freedom of its two variances.

    Examples
    --------
    >>> round(f_tail(1.0, 5, 5), 12)
    0.5
    """
    if x <= 0:
        return 1.0
    return 0.0 if math.isinf(x) else beta_cdf(below / (below + above * x), below / 2, above / 2)


def studentized_range_tail(q: float, number: int) -> float:
    """The probability that the range of independent standard normals is at least q.

    It is the studentised range with infinite degrees of freedom: the integral over the largest
    value z of number * phi(z) * (Phi(z)^(number - 1) - (Phi(z) - Phi(z - q))^(number - 1)), where
    nothing cancels.

    Examples
    --------
    >>> round(studentized_range_tail(3.633160, 4), 6)  # 5 % in published tables
    0.05
    """
    if q <= 0:
        return 1.0
    if math.isinf(q):
        return 0.0
    z, weights = _panels(math.ceil(max(REACH, q / 2 + REACH)))
    up_to, beyond = _normal_cdf(z), _normal_cdf(z - q)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    with np.errstate(divide="ignore"):
        outside = -np.expm1((number - 1) * np.log1p(-beyond / up_to))
    return min(1.0, float((weights * number * density * up_to ** (number - 1) * outside).sum()))


@cache
def studentized_range_quantile(probability: float, number: int) -> float:
    """The value that the range of so many standard normals exceeds with a probability.

    Divided by the root of 2, it is the q of Nemenyi's critical difference in Demšar (2006).

    Examples
    --------
    >>> [round(studentized_range_quantile(0.05, k) / 2**0.5, 3) for k in (2, 5, 10)]
    [1.96, 2.728, 3.164]
    """
    low, high = 0.0, 1.0
    while studentized_range_tail(high, number) > probability:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if studentized_range_tail(middle, number) > probability:
            low = middle
        else:
            high = middle
    return high


class RankSumLaw(NamedTuple):
    """The exact law of the sums of ranks of k models over blocks, whatever the model.

    Attributes
    ----------
    squares : ndarray of int64, shape (m,)
        Ascending: the possible sums over models of (twice the sum of ranks)^2.
    square_tails : ndarray of float64, shape (m,)
        The probability of each or a larger one.
    ranges : ndarray of int64, shape (l,)
        Ascending: twice the largest minus the smallest sum of ranks.
    range_tails : ndarray of float64, shape (l,)
    """

    squares: IntArray
    square_tails: FloatArray
    ranges: IntArray
    range_tails: FloatArray

    def square_tail(self, square: int) -> float:
        """The probability that the sum of squares is at least so large."""
        return _tail_from(self.squares, self.square_tails, square)

    def range_tail(self, size: int) -> float:
        """The probability that the range is at least so large."""
        return _tail_from(self.ranges, self.range_tails, size)


def rank_sum_law(doubled: IntArray) -> RankSumLaw | None:
    """Enumerate all orders of the ranks of each block; None where there are too many.

    The models are exchangeable, so that the sums after some blocks are kept in ascending order.

    Parameters
    ----------
    doubled : ndarray of int64, shape (blocks, k)
        Twice the ranks of each block, equal ones sharing their mean rank.

    Examples
    --------
    >>> law = rank_sum_law(np.array([[2, 4, 6], [2, 4, 6]]))
    >>> round(law.range_tail(8), 6)  # both blocks agree on the first and the last
    0.166667
    """
    k = doubled.shape[1]
    base = int(doubled.max(axis=1).sum()) + 1
    if base ** (k - 1) >= 1 << 62 or k > MOST_MODELS:
        return None
    states, shares = np.sort(doubled[:1], axis=1), np.ones(1)
    powers = base ** np.arange(k - 1)
    steps = 0
    for row in doubled[1:]:
        orders = np.array(sorted(set(permutations(row.tolist()))))
        steps += len(states) * len(orders)
        if len(states) * len(orders) > CELLS or steps > ALL_CELLS:
            return None
        sums = np.sort((states[:, None] + orders[None]).reshape(-1, k), axis=1)
        _, first, place = np.unique(sums[:, 1:] @ powers, return_index=True, return_inverse=True)
        states = sums[first]
        shares = np.bincount(place, weights=np.repeat(shares, len(orders))) / len(orders)
    squares = (states * states).sum(axis=1)
    ranges = states[:, -1] - states[:, 0]
    return RankSumLaw(*_tails(squares, shares), *_tails(ranges, shares))


def _tails(values: IntArray, shares: FloatArray) -> tuple[IntArray, FloatArray]:
    """The distinct values, ascending, and the probability of each or a larger one."""
    distinct, place = np.unique(values, return_inverse=True)
    tails: FloatArray = np.bincount(place, weights=shares).astype(np.float64)
    return distinct, np.cumsum(tails[::-1])[::-1]


def _tail_from(values: IntArray, tails: FloatArray, least: int) -> float:
    place = int(np.searchsorted(values, least))
    return min(1.0, float(tails[place])) if place < len(values) else 0.0


@cache
def _panels(end: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of a quadrature from -REACH to an end."""
    nodes, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    starts = np.arange(-int(REACH), end)[:, None]
    return (starts + (nodes + 1) / 2).ravel(), np.tile(weights / 2, len(starts))


def _normal_cdf(z: FloatArray) -> FloatArray:
    found: FloatArray = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in z.tolist()])
    return found
