"""Distributions that intervals and tests need: normal, beta, Student's t, and its noncentral form.

All functions are of single numbers. They are correct to about 1e-12, also far out in a tail, for
parameters up to a million.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray

HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2
TINY = 1e-300  # stands for 0 as a denominator of a continued fraction
EPSILON = 2.0**-53
MAX_STEPS = 1_000_000  # of a continued fraction; some roots of the larger parameter are enough
SMALLEST_LOG = -745.0  # e to this power is 0 in float64
NODES = 128  # of the quadrature, in each of its parts


def normal_cdf(z: float) -> float:
    """The share of the standard normal distribution that lies below z.

    Examples
    --------
    >>> normal_cdf(0.0)
    0.5
    """
    return math.erfc(-z / math.sqrt(2)) / 2


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution, for a probability between 0 and 1.

    Examples
    --------
    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(probability)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The share of the beta distribution that lies below x: the regularised incomplete beta.

    Parameters
    ----------
    x : float
        Below 0 and above 1 the share is 0 and 1.
    a, b : float
        The parameters, above 0.

    Examples
    --------
    >>> round(beta_cdf(0.5, 2, 3), 12)
    0.6875
    """
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    return _beta_tails(x, 1 - x, a, b)[0]


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The number below which lies a share of the beta distribution, from 0 to 1.

    The bounds of Clopper and Pearson for k successes in n trials are
    ``beta_quantile(alpha / 2, k, n - k + 1)`` and ``beta_quantile(1 - alpha / 2, k + 1, n - k)``.

    Examples
    --------
    >>> round(beta_quantile(0.6875, 2, 3), 12)
    0.5
    """
    if not 0 < probability < 1:
        return 0.0 if probability <= 0 else 1.0
    middle = a / (a + b)
    below, above = _beta_tails(middle, b / (a + b), a, b)
    if probability <= below:
        return _lower_quantile(probability, a, b, middle)
    if 1 - probability <= above:
        return 1 - _lower_quantile(1 - probability, b, a, b / (a + b))
    return middle  # between the two lies rounding alone


def t_cdf(t: float, degrees: float) -> float:
    """The share of Student's t distribution that lies below t.

    Parameters
    ----------
    t : float
    degrees : float
        Degrees of freedom, above 0; inf gives the normal distribution.

    Examples
    --------
    >>> round(t_cdf(1.0, 1), 12)
    0.75
    """
    if math.isinf(degrees):
        return normal_cdf(t)
    squared = t * t
    if math.isinf(squared):
        return float(t > 0)
    outside = _beta_tails(
        degrees / (degrees + squared), squared / (degrees + squared), degrees / 2, 0.5
    )[0]
    return 1 - outside / 2 if t > 0 else outside / 2


def t_quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t distribution, for a probability between 0 and 1.

    Examples
    --------
    >>> round(t_quantile(0.975, 9), 6)
    2.262157
    """
    if math.isinf(degrees):
        return normal_quantile(probability)
    if probability == 0.5:
        return 0.0
    tail = min(probability, 1 - probability)
    inside = beta_quantile(1 - 2 * tail, 0.5, degrees / 2)  # t^2 / (degrees + t^2)
    if inside < 0.5:
        size = math.sqrt(degrees * inside / (1 - inside))
    else:
        outside = beta_quantile(2 * tail, degrees / 2, 0.5)
        size = math.sqrt(degrees * (1 - outside) / outside) if outside else math.inf
    if 0 < size * size < math.inf:  # a step of Newton in the tail restores the digits lost at 1
        total = degrees + size * size
        x, y = degrees / total, size * size / total
        beyond = _beta_tails(x, y, degrees / 2, 0.5)[0] / 2
        size *= 1 + (beyond - tail) / math.exp(_log_power(x, y, degrees / 2, 0.5))
    return size if probability > 0.5 else -size


def noncentral_t_cdf(t: float, degrees: float, shift: float) -> float:
    """The share of the noncentral t distribution that lies below t.

    It is that of (Z + shift) / S with a normal Z and S^2 = chi^2 / degrees, independent of it. The
    power of a t test is the share outside of its critical values, with shift = difference /
    standard error.

    Parameters
    ----------
    t : float
    degrees : float
        At least 1; inf gives the normal distribution about the shift.
    shift : float

    Examples
    --------
    >>> round(noncentral_t_cdf(0.0, 5, 1.0), 12) == round(normal_cdf(-1.0), 12)
    True
    """
    if math.isinf(degrees):
        return normal_cdf(t - shift)
    if t == 0:
        return normal_cdf(-shift)
    width = 1 / math.sqrt(2 * degrees)
    peak = math.sqrt((degrees - 1) / degrees)
    low, high = max(0.0, peak - 14 * width), peak + 14 * width
    # between these sizes of S the normal cdf of t S - shift goes from 0 to 1, or back
    cuts = sorted((shift + z) / t for z in (-9.0, 0.0, 9.0))
    ends = [low, *(min(max(cut, low), high) for cut in cuts), high]
    log_scale = math.log(2.0) - _log_gamma_ratio(degrees / 2)
    nodes, weights = _gauss_legendre()
    total = 0.0
    for start, end in itertools.pairwise(ends):
        if end - start < EPSILON:
            continue
        s = start + (end - start) * nodes
        # degrees / 2 * (log s^2 - s^2 + 1) is small about 1, where its terms would cancel
        away = s * s - 1
        log_square = np.where(s < 0.5, 2 * np.log(s), np.log1p(np.maximum(away, -0.8)))
        log_density = degrees / 2 * (log_square - away) - np.log(s) + log_scale
        share = np.array([normal_cdf(x) for x in (t * s - shift).tolist()])
        total += (end - start) * float((weights * np.exp(log_density) * share).sum())
    return min(1.0, max(0.0, total))


def _beta_tails(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """The shares of the beta distribution below and above x = 1 - y."""
    if x <= 0 or y <= 0:
        return (0.0, 1.0) if x <= 0 else (1.0, 0.0)
    if x * (b + 1) > y * (a + 1):
        above = _beta_tail(y, x, b, a)
        return 1 - above, above
    below = _beta_tail(x, y, a, b)
    return below, 1 - below


def _beta_tail(x: float, y: float, a: float, b: float) -> float:
    """The share below x, for x below the middle: a power times Lentz's continued fraction."""
    d = _reciprocal(1 - (a + b) * x / (a + 1))
    c, found = 1.0, d
    for m in range(1, MAX_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        moved = 1.0
        for term in (even, odd):
            d = _reciprocal(1 + term * d)
            c = 1 + term / c or TINY
            moved *= c * d
        found *= moved
        if abs(moved - 1) <= 4 * EPSILON:
            break
    return min(1.0, math.exp(_log_power(x, y, a, b)) * found / a)


def _log_power(x: float, y: float, a: float, b: float) -> float:
    """The logarithm of x^a y^b / B(a, b), where large terms do not cancel (after C. Loader)."""
    total, away = a + b, x * b - y * a
    powers = 0.0
    for share, size, moved in ((x, a, away), (y, b, -away)):
        near = abs(moved) < 0.5 * size
        powers += size * (
            math.log1p(moved / size) if near else math.log(share) + math.log(total / size)
        )
    rest = _stirling_tail(total) - _stirling_tail(a) - _stirling_tail(b)
    return powers + math.log(a / total * b) / 2 - HALF_LOG_TWO_PI + rest


def _stirling_tail(x: float) -> float:
    """lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2."""
    if x < 10:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - HALF_LOG_TWO_PI
    square, found = 1 / (x * x), 0.0
    for term in (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        found = found * square + term
    return found / x


def _log_gamma_ratio(x: float) -> float:
    """log(gamma(x) e^x / x^x)."""
    return _stirling_tail(x) + HALF_LOG_TWO_PI - math.log(x) / 2


def _reciprocal(x: float) -> float:
    return 1 / (x or TINY)


def _lower_quantile(probability: float, a: float, b: float, middle: float) -> float:
    """The quantile of the beta distribution, below the middle: Newton's steps on both logarithms.

    log F is concave in log x, and nearly linear far below the middle. A step that leaves the
    bracket is replaced by its half.
    """
    target = math.log(probability)
    low, high = SMALLEST_LOG, math.log(middle)
    u = high
    for _ in range(200):
        x = math.exp(u)
        y = 1 - x
        share = _beta_tails(x, y, a, b)[0]
        if share <= 0:
            low, u = u, (u + high) / 2
            continue
        off = math.log(share) - target
        low, high = (low, u) if off > 0 else (u, high)
        slope = math.exp(_log_power(x, y, a, b) - math.log(share)) / y  # d log F / d log x
        after = u - off / slope if slope > 0 else math.nan
        if not low < after < high:
            after = (low + high) / 2
        if abs(after - u) <= 2 * EPSILON or high - low <= 2 * EPSILON * abs(high):
            u = after
            break
        u = after
    return math.exp(u)


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of the quadrature from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes + 1) / 2, weights / 2
