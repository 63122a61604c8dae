"""Mean and variance under chance of products, powers of sums and extremes, by quadrature.

These have no closed form that is quick: they are sums over nodes of the ranks, or integrals of the
Laplace transform of a sum. docs/chance.md derives them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..errors import UnknownKeyError
from .chance_model import (
    ChanceModel,
    Moments,
    Tasks,
    mean_rank,
    model,
    rank_nodes,
    reciprocal_rank,
    stand_ins,
)
from .order_statistics import order_moments

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from .chance_model import AnyArray

    Transform: TypeAlias = Callable[[AnyArray], tuple[AnyArray, AnyArray]]


@model
def geometric(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of gmr, the product of r^w.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = geometric(compress([2, 2]))
    >>> round(mean, 12), round(variance, 12)  # of 1, sqrt(2), sqrt(2), 2
    (1.457106781187, 0.12683982822)
    """
    return _product(tasks, 1.0)


@model
def inverse_geometric(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of igmr, the product of r^-w.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = inverse_geometric(compress([2, 2]))
    >>> round(mean, 12), round(variance, 12)
    (0.728553390593, 0.031709957055)
    """
    return _product(tasks, -1.0)


def _product(tasks: Tasks, sign: float) -> Moments:
    """Mean and variance of the product of r^s, s = sign w, over all tasks.

    The variance is the difference of two nearly equal products of moments. So neither is computed.
    With c = E log r and y = expm1(s (log r - c)),

        log E r^s = s c + log1p(E y),   log E r^2s - 2 log E r^s = log1p(Var y / (1 + E y)^2).
    """
    sizes, weights, numbers = stand_ins(tasks.sizes, tasks.weights, tasks.multiplicities)
    log_mean = log_spread = 0.0
    for part in _parts(len(sizes)):
        nodes, shares = rank_nodes(sizes[part])
        logs = np.log(nodes)
        s = sign * weights[part]
        centre = (shares * logs).sum(axis=1)
        y = np.expm1(s[:, None] * (logs - centre[:, None]))
        mean = (shares * y).sum(axis=1)
        square = (shares * y * y).sum(axis=1)
        log_mean += float(numbers[part] @ (s * centre + np.log1p(mean)))
        log_spread += float(numbers[part] @ np.log1p((square - mean**2) / (1 + mean) ** 2))
    product = math.exp(log_mean)
    return product, product**2 * math.expm1(log_spread)


_BLOCK = 1 << 19  # So many numbers, times a few, are in memory at once.
_ROWS = 1024  # The nodes of so many tasks are in memory at once.
_TERMS = 14  # A power series is summed up to so many terms.
_SMALL = 0.5  # Up to here the error of the power series is below 1e-13.


def _parts(length: int, step: int = _ROWS) -> list[slice]:
    return [slice(first, first + step) for first in range(0, length, step)]


# -- powers of sums --------------------------------------------------------------------------------


@model
def inverse_mean(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of imr, 1 / sum w r.

    Notes
    -----
    The delta method, with 1 / E[mr] and the variance of mr, is off by 1e-4 for some 20,000 tasks.
    This is exact for every number of tasks.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = inverse_mean(compress([2, 2]))  # of 1, 2/3, 2/3, 1/2
    >>> round(mean, 12), round(variance, 12)
    (0.708333333333, 0.032986111111)
    """
    if tasks.count == 1:  # For one task it is 1 / r.
        return reciprocal_rank(tasks, 0)
    return _power(tasks, 1.0, -1.0)


@model
def harmonic(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of hmr, 1 / sum w / r.

    Notes
    -----
    The delta method is useless here: for 3,134 tasks of 40,943 candidates 1 / E[mrr] is 11 % too
    low, and the variance 62 % too high. This is exact for every number of tasks.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = harmonic(compress([2, 2]))  # of 1, 4/3, 4/3, 2
    >>> round(mean, 12), round(variance, 12)
    (1.416666666667, 0.131944444444)
    """
    if tasks.count == 1:  # For one task it is r.
        return mean_rank(tasks, 0)
    return _power(tasks, -1.0, -1.0)


@model
def least(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the least rank; weights above 0 make no difference.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = least(compress([2, 2]))  # 1 in three cases of four
    >>> round(mean, 12), round(variance, 12)
    (1.25, 0.1875)
    """
    return order_moments(tasks, 1)


@model
def greatest(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the greatest rank; weights above 0 make no difference.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = greatest(compress([2, 2]))
    >>> round(mean, 12), round(variance, 12)
    (1.75, 0.1875)
    """
    return order_moments(tasks, tasks.count)


# These powers have a formula of their own.
_SPECIAL_POWERS: dict[float, ChanceModel] = {
    1.0: mean_rank,
    -1.0: harmonic,
    0.0: geometric,
    math.inf: greatest,
    -math.inf: least,
}
_NEAR_ZERO = 0.05  # Errors are small if |p| is not below it.
# Beyond these powers it takes long, for the number of nodes grows with p.
_LEAST = -4.0
_GREATEST = 10.0


def power_mean(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of power_mean:p, (sum w r^p)^(1/p).

    p = 0 is the geometric mean, inf the greatest and -inf the least rank.

    Parameters
    ----------
    tasks : Tasks
    parameter : float
        p is 0, inf, -inf, or in -4 <= p <= -0.05 or 0.05 <= p <= 10.

    Raises
    ------
    UnknownKeyError
        For any other p.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = power_mean(compress([2, 2]), 2)  # of 1, sqrt(2.5), sqrt(2.5), 2
    >>> round(mean, 12), round(variance, 12)
    (1.540569415042, 0.126645877437)
    """
    p = float(parameter)
    if p in _SPECIAL_POWERS:
        return _SPECIAL_POWERS[p](tasks, 0)
    if abs(p) < _NEAR_ZERO or not _LEAST <= p <= _GREATEST:
        raise UnknownKeyError(
            f"power_mean:{p:g}",
            "has no chance model: expected p = 0, inf or -inf, or "
            f"{_LEAST:g} <= p <= {-_NEAR_ZERO:g} or {_NEAR_ZERO:g} <= p <= {_GREATEST:g}",
        )
    return _power_mean(tasks, p)


@model
def _power_mean(tasks: Tasks, p: float) -> Moments:
    if tasks.count == 1:  # For one task it is r.
        return mean_rank(tasks, 0)
    return _power(tasks, p, 1 / p)


def _power(tasks: Tasks, p: float, q: float) -> Moments:
    """Mean and variance of X^q, X = sum w r^p, from the Laplace transform of Y = X / E X.

    With K(u) = log E exp(-u (Y - 1)) and A(q) = E Y^q - 1, E exp(-u Y) - exp(-u) is
    G(u) = exp(-u) expm1(K(u)), and

        A(q) = integral of u^(-q-1) G(u) du / Gamma(-q) over u > 0, for q < 0 (Euler),
        A(q) = Gamma(q + 1) / (2 pi i) times that of G(-z) z^(-q-1) dz, for q > 0 (Hankel),

    along z = c (1 + i sinh x)^2, around the negative axis and through c, near the saddle points of
    q and 2 q. Both are trapezoid rules, in log u and in x. Var Y^q = A(2q) - 2 A(q) - A(q)^2.
    """
    best = float(tasks.sizes[-1]) if p > 0 else 1.0  # The rank of the greatest r^p is best.
    transform, mean = _laplace(tasks, p, best)
    orders = np.array([q, 2 * q])
    path = _euler_path if q < 0 else _hankel_path
    total = np.zeros(2)
    ends = np.full(2, np.inf)
    first = 0
    while (ends > 1e-17 * np.abs(total)).any() or first < 64:
        u, factors = path(np.arange(first, first + 16), q, orders, tasks.count)
        excess, decay = transform(u)
        near_1 = np.abs(excess) < 0.7
        small = np.exp(-u) * np.expm1(np.where(near_1, excess, 0.0))
        terms = (factors * np.where(near_1, small, np.exp(-decay) - np.exp(-u))).real
        total += terms.sum(axis=1)
        ends = np.abs(terms[:, -4:]).max(axis=1)
        first += 16
    if q > 0:
        gammas = [math.gamma(order + 1) for order in orders.tolist()]
    else:
        gammas = [1 / math.gamma(-order) for order in orders.tolist()]
    one, two = (total * gammas).tolist()
    # The unit is the greatest r^p, so that nothing overflows.
    scale = mean**q * best ** (p * q)
    return scale * (1 + one), scale**2 * max(two - 2 * one - one**2, 0.0)


def _euler_path(
    k: IntArray, q: float, orders: FloatArray, count: int
) -> tuple[FloatArray, FloatArray]:
    """The k-th nodes u above 0, and the factors of G there for both orders."""
    h = 1 / (5 + max(0.0, -2 * q - 2))
    v = -(38 + math.log(count)) / (2 - q) + h * k
    return np.exp(v), h * np.exp(-orders[:, None] * v)


def _hankel_path(
    k: IntArray, q: float, orders: FloatArray, count: int
) -> tuple[AnyArray, AnyArray]:
    """The same of the upper half of the path around the negative axis."""
    h = 2 * math.pi / (40 + q + math.sqrt(640 * q))
    root = 1 + 1j * np.sinh(h * k)
    u = -1.5 * q * root**2
    # The node on the axis belongs to both halves of the path.
    slope = 3 * q * h / math.pi * root * np.cosh(h * k) * np.where(k > 0, 1.0, 0.5)
    return u, np.exp(-(orders[:, None] + 1) * np.log(-u)) * slope


def _laplace(tasks: Tasks, p: float, best: float) -> tuple[Transform, float]:
    """The functions K(u) and u - K(u) of X = sum w r^p, and E X in units of best^p."""
    sizes, weights, numbers = stand_ins(tasks.sizes, tasks.weights, tasks.multiplicities, p)
    shares = weights * numbers
    parts = _parts(len(sizes))
    blocks = [_Block(sizes[part], p, best) for part in parts]
    mean = 0.0
    for part, block in zip(parts, blocks, strict=True):
        mean += float(shares[part] @ block.means)

    def transform(u: AnyArray) -> tuple[AnyArray, AnyArray]:
        excess = np.zeros_like(u)
        decay = np.zeros_like(u)
        for part, block in zip(parts, blocks, strict=True):
            for at in _parts(len(u), max(1, _BLOCK // block.powers.size)):
                excess_of_tasks, decay_of_tasks = block(u[at, None] * (weights[part] / mean))
                excess[at] += excess_of_tasks @ numbers[part]
                decay[at] += decay_of_tasks @ numbers[part]
        return excess, decay

    return transform, mean


class _Block:
    """Some tasks of a Laplace transform, with the nodes of their ranks.

    With m = E r^p and z = t (r^p - m), K = log1p(E[exp(-z) - 1 + z]); where t m is large, t m - K
    is computed as -log E exp(-t r^p).
    """

    def __init__(self, sizes: FloatArray, p: float, best: float) -> None:
        nodes, self.shares = rank_nodes(sizes, p)
        self.powers = (nodes / best) ** p
        self.means = (self.shares * self.powers).sum(axis=1)
        away = self.powers - self.means[:, None]
        self.reach = np.abs(away).max(axis=1)
        self.series = np.zeros((len(sizes), _TERMS))
        term = self.shares * away
        for k in range(2, _TERMS):
            term *= away / -k
            self.series[:, k] = -term.sum(axis=1)

    def __call__(self, t: AnyArray) -> tuple[AnyArray, AnyArray]:
        """K and t m - K of each task; t has shape (u, tasks)."""
        whole = t * self.means
        if np.abs(t * self.reach).max() < _SMALL:
            over = np.zeros_like(t)
            for k in range(_TERMS - 1, -1, -1):
                over = over * t + self.series[:, k]
            excess = _log1p(over)
            return excess, whole - excess
        large = np.abs(whole) > 1
        z = np.where(large, 0.0, t)[:, :, None] * (self.powers - self.means[:, None])
        series = z * z * (0.5 - z / 6 * (1 - z / 4 * (1 - z / 5 * (1 - z / 6))))
        over = np.where(np.abs(z) < 0.01, series, np.expm1(-z) + z)
        excess = _log1p(np.einsum("urn,rn->ur", over, self.shares))
        if not large.any():
            return excess, whole - excess
        low = self.powers.min(axis=1)
        terms = np.exp(-t[:, :, None] * (self.powers - low[:, None]))
        direct = t * low - np.log(np.einsum("urn,rn->ur", terms, self.shares))
        return np.where(large, whole - direct, excess), np.where(large, direct, whole - excess)


def _log1p(z: AnyArray) -> AnyArray:
    """Log of 1 + z, at least -1,000 if complex; NumPy's loses small digits of complex numbers.

    Examples
    --------
    >>> complex(_log1p(np.array(-1 + 0j)))
    (-1000+0j)
    >>> complex(_log1p(np.array(-1 + 1e-16j))).real  # not half of the logarithm of a rounding error
    -36.841361487904734
    """
    if not np.iscomplexobj(z):
        return np.log1p(z)
    with np.errstate(all="ignore"):
        near_0 = np.log(np.abs(1 + z))
        elsewhere = 0.5 * np.log1p(z.real * (2 + z.real) + z.imag**2)
    modulus = np.where(near_0 < -0.7, near_0, elsewhere)
    # A product of -inf and an angle of 0 is no number.
    return np.asarray(np.maximum(modulus, -1000.0) + 1j * np.arctan2(z.imag, 1 + z.real))
