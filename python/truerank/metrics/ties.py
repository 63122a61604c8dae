"""Functions f of ranks that metrics average, and the means of f over the positions of a tie.

A tie holds the m positions a, a + 1, ..., a + m - 1, all equally likely. The closed forms of the
mean of f over them cancel nothing: differences of digamma or lgamma lose 8 digits at a = 1e9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray

Parameter = float  # k of hits@k, p of power_mean:p; 0 where there is none

DIRECT_TERMS = 8  # sums of up to so many positions are added term by term


class RankFunction(NamedTuple):
    """f of ranks, and its mean over ties.

    Attributes
    ----------
    of_ranks : callable
        f(r) of float64 ranks, from the ranks, the numbers of candidates N (int64) and the metric's
        parameter. Most functions do not depend on N.
    over_tie : callable
        The mean of f over each tie, computed from the first positions a (float64), the numbers of
        positions m (int64), N and the parameter.
    """

    of_ranks: Callable[[FloatArray, IntArray, Parameter], FloatArray]
    over_tie: Callable[[FloatArray, IntArray, IntArray, Parameter], FloatArray]


def mean_rank(first: FloatArray, tied: IntArray, _: Parameter = 0) -> FloatArray:
    """The mean of r over ties, a + (m - 1) / 2, which is the realistic rank.

    Examples
    --------
    >>> mean_rank(np.array([3.0]), np.array([2]))
    array([3.5])
    """
    return first + (tied - 1) / 2


def hit_share(first: FloatArray, tied: IntArray, k: Parameter) -> FloatArray:
    """The share of positions r <= k, clip(k - a + 1, 0, m) / m.

    Examples
    --------
    >>> hit_share(np.array([3.0]), np.array([4]), 5)
    array([0.75])
    """
    return np.clip(min(k, 2.0**63) - first + 1, 0, tied) / tied


def mean_log(first: FloatArray, tied: IntArray, _: Parameter = 0) -> FloatArray:
    """The mean of log r over ties, (lgamma(a + m) - lgamma(a)) / m, computed without cancellation.

    With y = a + m and Stirling's c(x) = lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, it is
    log a + ((y - 1/2) log1p(m / a) - m + c(y) - c(a)) / m. Positions below 16 are added term by
    term.

    Examples
    --------
    >>> mean_log(np.array([1.0]), np.array([3])) == np.log(6) / 3
    array([ True])
    """
    return _mean_over(np.log, _log_sum, 16, first, tied, first, tied)


def mean_power(first: FloatArray, tied: IntArray, p: Parameter, scale: float = 1.0) -> FloatArray:
    """The mean of (r / scale)^p over ties, for finite p; p = -1 gives that of 1 / r.

    The sum has a closed form by the Euler-Maclaurin formula about midpoints: the integral of x^p
    from a - 1/2 to a + m - 1/2, minus differences of derivatives. It is used from position
    32 + 8 |p| on, where the terms left out are below 1e-16. Earlier positions are added term by
    term, except those that a steep power makes negligible beside the largest.

    Examples
    --------
    >>> mean_power(np.array([1.0]), np.array([2]), -1.0)
    array([0.75])
    """

    def function(x: FloatArray) -> FloatArray:
        return np.power(x / scale, p)

    def closed_sum(first: FloatArray, tied: FloatArray) -> FloatArray:
        return _power_sum(first, tied, p, scale)

    last = first + (tied - 1)
    reach = np.exp(np.minimum((45 + np.log(tied)) / max(abs(p), 1e-300), 700))
    begin = np.maximum(first, np.floor(last / reach)) if p > 0 else first
    end = np.minimum(last, np.ceil(first * reach)) if p < 0 else last
    start = int(min(32 + 8 * abs(p), 2.0**62))
    return _mean_over(function, closed_sum, start, first, tied, begin, end - begin + 1)


def _mean_over(
    function: Callable[[FloatArray], FloatArray],
    closed_sum: Callable[[FloatArray, FloatArray], FloatArray],
    start: int,
    first: FloatArray,
    tied: IntArray,
    begin: FloatArray,
    size: FloatArray | IntArray,
) -> FloatArray:
    """The mean of a function over ties: its sum over positions `begin`, ..., divided by `tied`.

    `closed_sum` gives the sums from position `start` on.
    """
    means = function(first)  # correct where nothing ties
    (ties,) = np.nonzero(tied > 1)
    if not ties.size:
        return means
    whole = tied[ties].astype(np.float64)
    pairs, inverse = np.unique([begin[ties], size[ties]], axis=1, return_inverse=True)
    a, m = pairs
    last = a + m - 1
    total = np.zeros(a.shape)
    direct = (m <= DIRECT_TERMS) | (a < start)
    # the positions up to here are added term by term, the others by the closed form
    end = np.where(m <= DIRECT_TERMS, last, np.minimum(last, start - 1))
    for step in range(int((end - a)[direct].max(initial=-1)) + 1):
        here = direct & (a + step <= end)
        total[here] += function(a[here] + step)
    rest = (last >= start) & (m > DIRECT_TERMS)
    low = np.maximum(a[rest], start)
    total[rest] += closed_sum(low, last[rest] - low + 1)
    means[ties] = total[inverse.reshape(-1)] / whole
    return means


def _log_sum(first: FloatArray, tied: FloatArray) -> FloatArray:
    end = first + tied
    return (
        tied * np.log(first)
        + (end - 0.5) * np.log1p(tied / first)
        - tied
        + _stirling(end)
        - _stirling(first)
    )


def _stirling(x: FloatArray) -> FloatArray:
    """The tail of Stirling's series; its error is below 1e-18 from x = 16 on."""
    z = 1 / (x * x)
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
    total = np.zeros_like(x)
    for term in reversed(terms):
        total = total * z + term
    return total / x


# Coefficients of the midpoint Euler-Maclaurin formula for the 1st, 3rd, 5th and 7th derivative.
_MIDPOINT = (-1 / 24, 7 / 5760, -31 / 967680, 127 / 154828800)


def _power_sum(first: FloatArray, tied: FloatArray, p: float, scale: float) -> FloatArray:
    low, high = first - 0.5, first + tied - 0.5
    q = p + 1
    # (high^q - low^q) / q from the end that is larger, so that nothing overflows
    ratio = np.log1p(tied / low)
    base = high if q > 0 else low
    shape = -np.expm1(-abs(q) * ratio) / abs(q) if q else ratio
    total = np.power(base / scale, p) * base * shape
    factor = 1.0
    for order, coefficient in zip((1, 3, 5, 7), _MIDPOINT, strict=True):
        for i in range(max(order - 2, 0), order):  # d^order x^p = p (p-1) ... x^(p - order)
            factor *= p - i
        difference = np.power(high / scale, p) / high**order
        difference -= np.power(low / scale, p) / low**order
        total += coefficient * factor * difference
    return total


IDENTITY = RankFunction(lambda r, N, _: r, lambda a, m, N, _: mean_rank(a, m))
RECIPROCAL = RankFunction(lambda r, N, _: 1.0 / r, lambda a, m, N, _: mean_power(a, m, -1.0))
LOG = RankFunction(lambda r, N, _: np.log(r), lambda a, m, N, _: mean_log(a, m))
HIT = RankFunction(
    lambda r, N, k: (r <= min(k, 2**63)).astype(np.float64),  # no rank is beyond 2**63
    lambda a, m, N, k: hit_share(a, m, k),
)
POWER = RankFunction(lambda r, N, p: np.power(r, p), lambda a, m, N, p: mean_power(a, m, p))
