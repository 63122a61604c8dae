"""How many of many independent events happen: tails of the Poisson-binomial law, far ones too.

The law is inverted along a circle through the saddle point, where the integrand is a bump of known
width, so that a few dozen frequencies do, and a tail of 1e-5000 keeps its digits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray

    ComplexArray: TypeAlias = npt.NDArray[np.complex128]

Kind: TypeAlias = Literal["above", "half", "point"]

FREQUENCIES = 36  # on the half circle; a bump of any width is settled to 1e-16
_PERIOD = 18.0  # in standard deviations: what lies further off has no weight
_NEAR = -60.0  # log probability above which the wrapped tail of the other side counts


class Inverted(NamedTuple):
    """Probabilities of the smaller tail, as exp(exponent) * factor.

    Attributes
    ----------
    exponent, factor : ndarray of float64, shape (x,)
    upper : ndarray of bool, shape (x,)
        Whether the tail is the upper one (True for a point).
    """

    exponent: FloatArray
    factor: FloatArray
    upper: npt.NDArray[np.bool_]


def invert(
    hit: FloatArray,
    miss: FloatArray,
    multiplicities: FloatArray,
    centre: FloatArray,
    kind: Kind,
    sure: FloatArray | float = 0.0,
    lost: FloatArray | float = 0.0,
) -> Inverted:
    """Invert the generating polynomial G(z), the product of (miss + hit z)^multiplicity.

    Parameters
    ----------
    hit, miss : ndarray of float64, shape (x, d) or broadcastable
        Probabilities, x problems with d groups of events each.
    multiplicities : ndarray of float64, shape (d,)
        Not necessarily integers: a rule may stand for many groups.
    centre : ndarray of float64, shape (x,)
        Where the law is cut.
    kind : {"above", "half", "point"}
        "above": P(B > centre) or P(B < centre), centre a half integer. "half": the same with half
        of P(B = centre) added, an integer. "point": P(B = centre).
    sure : ndarray of float64, shape (x,), or float
        How many events are certain (hit 1 or miss 0) in each problem.
    lost : ndarray of float64, shape (x, d), or float
        1 - hit - miss, where that is not 0; G is then no law, but all its terms are positive.

    Returns
    -------
    Inverted

    Notes
    -----
    With w = s + i t on the line through the saddle point s, K'(s) = centre of K = log G(e^w),

        P = 1/(2 pi) integral over |t| < pi of exp(K(w) - w centre) k(w) dt,

    k = 1/(2 sinh(w/2)), 1/(2 tanh(w/2)) or 1 (Daniels, "Tail probability approximations", 1987,
    has the kernels). The midpoint rule of period 2 pi / L is exact but for the law L further on and
    back; of those the one back is the certain tail, a geometric series, and is added.

    Examples
    --------
    >>> half = np.array([[0.5]])
    >>> found = invert(half, half, np.array([4.0]), np.array([2.5]), "above")
    >>> (np.exp(found.exponent) * found.factor).round(12), found.upper  # 5 of 16
    (array([0.3125]), array([ True]))
    """
    total = float(multiplicities.sum())
    inner = np.clip(centre, np.asarray(sure) + 0.5, total - 0.5)
    s, sigma = saddle(hit, miss, multiplicities, inner)
    hits = hit * np.exp(s)[:, None]
    share = hits / (hits + miss)
    rest = miss / (hits + miss)
    grown = hit * np.expm1(s)[:, None] - lost
    logs = np.where(np.abs(grown) < 0.5, np.log1p(np.maximum(grown, -0.5)), np.log(hits + miss))
    exponent = (logs * multiplicities).sum(1) - s * centre

    all_of_them = 2 * math.ceil((total + 1 - 1e-9) / 2)  # even: then no frequency is its own mirror
    if all_of_them <= 2 * FREQUENCIES:
        period, count = np.full(len(s), float(all_of_them)), all_of_them // 2
    else:
        period, count = np.maximum(_PERIOD * sigma, 2.0 * FREQUENCIES), FREQUENCIES
    theta = (np.arange(count) + 0.5) * (2 * math.pi / period)[:, None]
    w = s[:, None] + 1j * theta
    log_ratio = _log_ratio(share, rest, multiplicities, theta) - 1j * theta * centre[:, None]
    factor = _real_sum(np.exp(log_ratio) * _kernel(kind, w)) * 2 / period
    upper = np.ones(len(s), dtype=np.bool_)
    if kind != "point":
        upper = s >= 0
        factor = np.where(upper, factor, -factor)
        back = np.exp(-np.minimum(np.abs(s) * period, 700.0))
        wrapped = np.exp(-np.maximum(exponent, _NEAR)) * back / (1 + back)
        factor += np.where(exponent > _NEAR, wrapped, 0.0)
    return Inverted(exponent, np.maximum(factor, 0.0), upper)


def _real_sum(terms: ComplexArray) -> FloatArray:
    total: FloatArray = terms.real.sum(1)
    return total


def _kernel(kind: Kind, w: ComplexArray) -> ComplexArray:
    if kind == "point":
        return np.ones_like(w)
    curve = np.sinh if kind == "above" else np.tanh
    return np.asarray(0.5 / curve(w / 2), dtype=np.complex128)


def _log_ratio(
    share: FloatArray, rest: FloatArray, multiplicities: FloatArray, theta: FloatArray
) -> ComplexArray:
    """Log of the characteristic function of the tilted law; complex, shape (x, frequencies)."""
    total = np.empty(theta.shape, dtype=np.complex128)
    cross = -4 * share * rest
    with np.errstate(divide="ignore"):  # log 0 = -inf: the function is 0 there, and stays it
        for k in range(theta.shape[1]):
            t = theta[:, k, None]
            half = np.sin(t / 2) ** 2
            size = 0.5 * np.log1p(cross * half)
            # rest + share e^it = 1 - share (1 - e^it)
            turn = np.arctan2(share * np.sin(t), 1 - 2 * share * half)
            total[:, k].real = (size * multiplicities).sum(1)
            total[:, k].imag = (turn * multiplicities).sum(1)
    return total


def saddle(
    hit: FloatArray, miss: FloatArray, multiplicities: FloatArray, centre: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where the tilted mean is the centre, nearly, and the standard deviation there.

    Any line is right; the saddle point only keeps the integrand from cancelling. So a few steps
    of Newton's method on the log odds of the mean do, which are those of the events where these
    are all alike. It is kept inside the bracket that the least and the greatest odds make.
    """
    open_ = miss > 0
    counts = np.where(open_, multiplicities, 0.0)
    total = counts.sum(1)
    some = total > 0
    total = np.maximum(total, 1.0)
    goal = np.clip(centre - np.where(open_, 0.0, multiplicities).sum(1), 0.01, total - 0.01)
    target = np.log(goal) - np.log(total - goal)
    odds = np.log(hit) - np.log(np.where(open_, miss, 1.0))
    low = target - np.where(open_, odds, -np.inf).max(1) - 1e-9
    high = target - np.where(open_, odds, np.inf).min(1) + 1e-9
    low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    s, sigma = np.clip(0.0, low, high), np.ones(len(centre))
    for _ in range(80):
        hits = hit * np.exp(s)[:, None]
        share = hits / (hits + miss)
        mean = (share * counts).sum(1)
        variance = (share * (miss / (hits + miss)) * counts).sum(1)
        sigma = np.sqrt(variance)
        off = mean - goal
        done = (np.abs(off) <= 0.02 * np.maximum(sigma, 0.1)) | ~some
        if done.all():
            break
        high, low = np.where(off > 0, s, high), np.where(off > 0, low, s)
        left = np.maximum(total - mean, 1e-300)
        slope = np.maximum(variance * total / np.maximum(mean * left, 1e-300), 1e-300)
        moved = s + (target - np.log(np.maximum(mean, 1e-300)) + np.log(left)) / slope
        inside = (moved > low) & (moved < high)
        s = np.where(done, s, np.where(inside, moved, (low + high) / 2))
    return s, sigma
