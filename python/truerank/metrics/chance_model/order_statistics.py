"""The law under chance of how many ranks are <= x: of medians, extremes and hits.

B(x), the number of ranks <= x, is a sum of independent events of probability min(x / N, 1). Its law
is inverted along a circle through the saddle point, where the integrand is a bump of known width.
So a few dozen frequencies suffice, and a tail of 1e-5000 keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ...inputs.errors import InputValueError
from ..kinds import UnknownKeyError
from .nodes import run_nodes, stand_ins
from .tasks import Moments, Tasks, model

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray

    ComplexArray: TypeAlias = npt.NDArray[np.complex128]

Kind: TypeAlias = Literal["above", "half", "point"]


@model
def median(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the median rank; of an even number of tasks the mean of the middle two.

    Raises
    ------
    UnknownKeyError
        If weights differ, since the weighted median has no chance model.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> [round(x, 12) for x in median(compress([3, 5, 2, 7]))]
    [2.319047619048, 0.533922902494]
    """
    if not tasks.equal:
        raise UnknownKeyError("median: the weighted median has no chance model")
    return order_moments(tasks, (tasks.count + 1) / 2)


@model
def inverse_median(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of 1 / median rank, with the median of `median`.

    Raises
    ------
    UnknownKeyError
        If weights differ, since the weighted median has no chance model.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> [round(x, 12) for x in inverse_median(compress([2, 2]))]
    [0.708333333333, 0.032986111111]
    """
    if not tasks.equal:
        raise UnknownKeyError("imedian: the weighted median has no chance model")
    return order_moments(tasks, (tasks.count + 1) / 2, inverse=True)


# -- sums of independent events --------------------------------------------------------------------

_FREQUENCIES = 24  # on the half circle; they give a bump of any width to 1e-13
_PERIOD = 14.0  # in standard deviations; there is no weight further off
_CELLS = 1 << 16  # numbers in memory at once, times a few
_NEAR = -60.0  # log probability above which the wrapped tail of the other side counts


def invert(
    hit: FloatArray,
    miss: FloatArray,
    numbers: FloatArray,
    centre: FloatArray,
    kind: Kind,
    *,
    lost: FloatArray | float = 0.0,
    drop: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Invert the generating polynomial G(z), the product of (miss + hit z)^number.

    Parameters
    ----------
    hit, miss : ndarray of float64, shape (x, d)
        Probabilities of x problems, each with d groups of events.
    numbers : ndarray of float64, shape (d,)
        Not necessarily integers, since a rule may represent many groups.
    centre : ndarray of float64, shape (x,)
        Where the law is cut.
    kind : {"above", "half", "point"}
        "above": P(B > centre) or P(B < centre), for a half-integer centre. "half": the same plus
        half of P(B = centre), for an integer centre. "point": P(B = centre).
    lost : ndarray of float64, shape (x, d), or float
        1 - hit - miss. Where it is not 0, G is not a law, but all its terms are positive.
    drop : pair of ndarray of float64, shape (x, d), optional
        With (e, d) the product of (miss - e + (hit - d) z)^number is subtracted from G.

    Returns
    -------
    logs : ndarray of float64, shape (x,)
        The logarithm of the smaller tail, or of the probability of the point.
    upper : ndarray of bool, shape (x,)
        Whether the tail is the upper one (True for a point).

    Notes
    -----
    With w = s + i t on the line through the saddle point s, K'(s) = centre of K = log G(e^w),

        P = 1/(2 pi) integral over |t| < pi of exp(K(w) - w centre) k(w) dt,

    with the kernels k = 1/(2 sinh(w/2)), 1/(2 tanh(w/2)) or 1 (Daniels, "Tail probability
    approximations", 1987). The midpoint rule of period 2 pi / L is exact except for the law at a
    distance of L above and below. The one below is in the certain tail, where it is a geometric
    series, which is added.

    Examples
    --------
    >>> half = np.array([[0.5]])
    >>> logs, upper = invert(half, half, np.array([4.0]), np.array([2.5]), "above")
    >>> np.exp(logs).round(12), upper  # 5 of 16
    (array([0.3125]), array([ True]))
    """
    total = float(numbers.sum())
    s, sigma = _saddle(hit, miss, numbers, centre)
    tilted = hit * np.exp(s)[:, None]
    share, rest = tilted / (tilted + miss), miss / (tilted + miss)
    grown = hit * np.expm1(s)[:, None] - lost
    logs = np.where(np.abs(grown) < 0.5, np.log1p(np.maximum(grown, -0.5)), np.log(tilted + miss))
    exponent = logs @ numbers - s * centre
    every = 2 * math.ceil((total + 1 - 1e-6) / 2)  # even, so that no frequency is its own mirror
    count = min(every // 2, _FREQUENCIES)
    period = np.maximum(_PERIOD * sigma, 2.0 * count) if 2 * count < every else every + 0 * s
    factor = np.zeros(len(s))
    step = max(1, _CELLS // share.size)
    with np.errstate(divide="ignore"):  # log 0 = -inf: the function is 0 there
        for first in range(0, count, step):
            k = np.arange(first, min(first + step, count))[:, None]
            t = (k + 0.5) * 2 * math.pi / period
            half = np.sin(t / 2)[:, :, None] ** 2
            size = 0.5 * np.log1p(-4 * share * rest * half) @ numbers
            turn = np.arctan2(share * np.sin(t)[:, :, None], 1 - 2 * share * half) @ numbers
            terms = np.exp(size + 1j * (turn - t * centre))
            if kind != "point":
                terms *= 0.5 / (np.sinh if kind == "above" else np.tanh)((s + 1j * t) / 2)
            if drop is not None:
                z: ComplexArray = np.exp(s + 1j * t)[:, :, None]
                ratio: ComplexArray = (drop[0] + drop[1] * z) / (miss + hit * z)
                less = _log1p(-ratio) @ numbers
                terms *= -np.expm1(less)
            factor += terms.real.sum(axis=0)
    factor *= 2 / period
    upper = np.ones(len(s), dtype=np.bool_)
    if kind != "point":
        upper = s >= 0
        factor = np.where(upper, factor, -factor)
        back = np.exp(-np.minimum(np.abs(s) * period, 700.0))
        wrapped = np.exp(-np.maximum(exponent, _NEAR)) * back / (1 + back)
        factor += np.where(exponent > _NEAR, wrapped, 0.0)
    return exponent + np.log(np.maximum(factor, 1e-300)), upper


def _saddle(
    hit: FloatArray, miss: FloatArray, numbers: FloatArray, centre: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The s at which the tilted mean is nearly the centre, and the standard deviation there.

    An inversion is correct along any line; the saddle point only keeps the integrand from
    cancelling. So a few steps of Newton's method suffice. They work on the log odds of the mean,
    which are those of the events if these are all alike, and stay inside the bracket given by the
    smallest and the largest odds.
    """
    open_ = (miss > 0) & (hit > 0)
    counts = np.where(open_, numbers, 0.0)
    total = np.maximum(counts.sum(axis=1), 1.0)
    goal = np.clip(centre - np.where(miss > 0, 0.0, numbers).sum(axis=1), 0.01, total - 0.01)
    target = np.log(goal) - np.log(total - goal)
    odds = np.log(np.where(open_, hit, 1.0)) - np.log(np.where(open_, miss, 1.0))
    some = open_.any(axis=1)
    low = np.where(some, target - np.where(open_, odds, -np.inf).max(axis=1) - 1e-9, 0.0)
    high = np.where(some, target - np.where(open_, odds, np.inf).min(axis=1) + 1e-9, 0.0)
    s, sigma = np.clip(0.0, low, high), np.zeros(len(centre))
    for _ in range(80):
        tilted = hit * np.exp(s)[:, None]
        share = tilted / (tilted + miss)
        mean = (share * counts).sum(axis=1)
        variance = np.maximum((share * (1 - share) * counts).sum(axis=1), 1e-300)
        sigma = np.sqrt(variance)
        off = mean - goal
        done = (np.abs(off) <= 0.02 * np.maximum(sigma, 0.1)) | (high - low < 1e-12)
        if done.all():
            break
        high, low = np.where(off > 0, s, high), np.where(off > 0, low, s)
        mean = np.clip(mean, 1e-300, total * (1 - 1e-16))
        moved = s + (target - np.log(mean / (total - mean))) * mean * (total - mean) / (
            variance * total
        )
        inside = (moved > low) & (moved < high)
        s = np.where(done, s, np.where(inside, moved, (low + high) / 2))
    return s, sigma


def _log1p(z: ComplexArray) -> ComplexArray:
    """Log of 1 + z, at least -1,000; NumPy's loses small digits, which many tasks make large."""
    size = 0.5 * np.log1p(np.maximum(z.real * (2 + z.real) + z.imag**2, -1.0))
    size = np.maximum(size, -1000.0)  # a product of -inf and an angle of 0 is no number
    return np.asarray(size + 1j * np.arctan2(z.imag, 1 + z.real))


# -- moments of order statistics -------------------------------------------------------------------

_CUT = 40.0  # tails below e^-40 are left out
_BATCH = 48  # x that are inverted at once
_MOST = 2**53  # there must be fewer tasks
_ALL = 2000  # up to so many x with few kinks are all summed
_FALL = 36.0  # e-folds of the gap between the middle two
_KINKS = 48  # sums over y are cut at up to so many sizes


def order_moments(tasks: Tasks, k: float, *, inverse: bool = False) -> Moments:
    """Mean and variance of the k-th least rank, or of its inverse; weights make no difference.

    Where k is half of an odd number, it is the mean of the two ranks next to k.

    Notes
    -----
    With g(q) = q - Z or 1/q - 1/Z for a pivot Z in the middle of the law, and F(x) = P(M <= x),

        E g(M) = sum over x >= Z of (1 - F(x)) (g(x + 1) - g(x)) - sum over x < Z of F(x) (...),

    and the same for g^2. For two ranks a <= b, F is the mean of their laws, and a correction for
    their gap is subtracted.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> [round(x, 12) for x in order_moments(compress([2, 2]), 1)]  # 1 in three cases of four
    [1.25, 0.1875]
    """
    order = _Order(tasks, k)
    pivot = order.pivot
    usual = float(order.exponent(np.array([max(pivot - 1, 1), pivot])).min())
    # where one rank has nearly all the probability, the rest of it decides the variance; the
    # inverse is up to 1 where the rank is small
    cuts = (_CUT + 2 * usual + (2 * math.log(pivot) if inverse else 0.0), _CUT + 2 * usual)
    edges = order.edges(*cuts, octaves=inverse)
    if len(edges) < 2:
        return (1 / pivot if inverse else float(pivot)), 0.0
    x, w = run_nodes(edges, tasks.sizes)
    tail = order.tails(x) * w * np.where(x >= pivot, 1.0, -1.0)
    first, second = _steps(x, float(pivot), inverse)
    mean, square = float(tail @ first), float(tail @ second)
    size = float(np.abs(tail) @ np.abs(second))
    if not order.single:
        down, down_square = order.gap(edges, inverse)
        mean, square = mean - down, square - down_square
    variance = square - mean**2
    # the variance of a nearly certain rank is rounding, and becomes 0
    return (1 / pivot if inverse else pivot) + mean, variance if variance > 1e-15 * size else 0.0


def _steps(x: FloatArray, pivot: float, inverse: bool) -> tuple[FloatArray, FloatArray]:
    """g(x + 1) - g(x), and the same of g^2."""
    if not inverse:
        return np.ones_like(x), 2 * (x - pivot) + 1
    here, there = (pivot - x) / (x * pivot), (pivot - x - 1) / ((x + 1) * pivot)
    step = -1 / (x * (x + 1))
    return step, step * (here + there)


class _Order:
    """The k-th least rank M of tasks, or the mean of the two ranks next to k.

    Attributes
    ----------
    single : bool
        Whether k is a whole number.
    centre : float
        M is <= x if B(x) is above it, and half of the time if B(x) is equal to it.
    top, pivot : int
        The last x that M may exceed; the first x at which the mean of B(x) reaches the centre.
    """

    def __init__(self, tasks: Tasks, k: float) -> None:
        if tasks.count >= _MOST:
            raise InputValueError(
                "multiplicities",
                expected="fewer than 2**53 tasks for the chance model of medians and extremes",
                got=tasks.count,
            )
        self.single = k == int(k)
        self.centre = k - 0.5
        self.sizes, first = np.unique(tasks.sizes, return_index=True)
        self.numbers = np.add.reduceat(tasks.multiplicities, first).astype(np.float64)
        self._far: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
        size = self.sizes.astype(np.float64)
        self._certain = np.append(0.0, np.cumsum(self.numbers))
        self._inverse, self._square = (
            np.append(np.cumsum((self.numbers / size**power)[::-1])[::-1], 0.0) for power in (1, 2)
        )
        self.top = int(self.sizes[np.argmax(self._certain[1:] > self.centre)]) - 1
        ends = np.array([1]), np.array([self.top + 1])
        self.pivot = int(_bisect(*ends, lambda x: self.moments(x)[0] >= self.centre)[0])

    def moments(self, x: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of B(x)."""
        i = np.searchsorted(self.sizes, x, side="right")
        open_ = x * self._inverse[i]
        square = x.astype(np.float64) ** 2 * self._square[i]
        return self._certain[i] + open_, np.maximum(open_ - square, 0.0)

    def exponent(self, x: IntArray) -> FloatArray:
        """A lower bound of -log of the smaller tail of B(x), by Bennett (1962)."""
        mean, variance = self.moments(x)
        spread = np.maximum(variance, 1e-300)
        u = np.abs(self.centre - mean) / spread
        bound: FloatArray = spread * ((1 + u) * np.log1p(u) - u)
        return bound

    def edges(self, left: float, right: float, *, octaves: bool) -> IntArray:
        """Edges between which tails change little, from the first to the last x that matters.

        They are one standard deviation apart by the bound of the exponent, up to exponents left
        and right; for functions such as 1 / x there are more, where x has doubled.
        """
        steps = np.arange(1, math.ceil(math.sqrt(2 * left))) ** 2 / 2
        ends = np.append(steps, left), np.append(steps[steps < right], right)
        one, two = (np.ones(len(end), dtype=np.int64) for end in ends)
        first = _bisect(one, one * self.pivot, lambda x: self.exponent(x) < ends[0])
        last = _bisect(
            two * self.pivot, two * (self.top + 1), lambda x: self.exponent(x) >= ends[1]
        )
        powers = 2 ** np.arange(3, 63) if octaves else first
        edges: IntArray = np.unique(np.concatenate([first, last, [self.pivot], powers]))
        inside: IntArray = edges[(edges >= first[-1]) & (edges <= last[-1])]
        return inside

    def shares(self, first: float, last: float) -> tuple[FloatArray, FloatArray, float]:
        """The sizes above `first`, few for those above `last`, how many tasks they have, and M's
        centre without the other tasks, whose ranks are certainly <= `first`.
        """
        start, stop = np.searchsorted(self.sizes, [first, last], side="right").tolist()
        start = min(start, len(self.sizes) - 1)  # a node may be rounded up to the last size
        stop = _BATCH * math.ceil(stop / _BATCH)  # so that few are needed
        if stop not in self._far:
            ones = np.ones(len(self.sizes[stop:]))
            self._far[stop] = stand_ins(self.sizes[stop:], ones, self.numbers[stop:])
        far, _, many = self._far[stop]
        size, number = self.sizes[start:stop].astype(np.float64), self.numbers[start:stop]
        centre = self.centre - float(self._certain[start])
        return np.append(size, far), np.append(number, many), centre

    def tails(self, x: FloatArray) -> FloatArray:
        """P(M <= x) for x below the pivot, and P(M > x) from the pivot on; x ascends."""
        found = []
        for i in range(0, len(x), _BATCH):
            at = x[i : i + _BATCH]
            size, number, centre = self.shares(at[0], at[-1])
            logs, upper = invert(
                np.minimum(at[:, None] / size, 1.0),
                np.maximum(size - at[:, None], 0.0) / size,
                number,
                np.full(len(at), centre),
                "above" if self.single else "half",
            )
            tail = np.exp(logs)
            found.append(np.where(upper == (at < self.pivot), tail, 1 - tail))
        return np.concatenate(found)

    def gap(self, edges: IntArray, inverse: bool) -> tuple[float, float]:
        """The mean of (g(a) + g(b)) / 2 - g((a + b) / 2), and the same of g^2.

        J(x, y) = P(a <= x, b > y) is the probability that exactly k - 1/2 ranks are <= x and the
        others > y. The mean is the sum over x of J(x, x) h(x + 1/2) / 2 plus that over all y > x of
        J(x, y) h((x + y + 1) / 2), where h(u) = g(u + 1/2) - 2 g(u) + g(u - 1/2).
        """
        pivot = np.array([self.pivot])
        mean, variance = (float(m[0]) for m in self.moments(pivot))
        certain = float(self._certain[np.searchsorted(self.sizes, self.pivot, side="right")])
        rate = (mean - certain) / self.pivot
        low, high = int(edges[0]), int(edges[-1])
        kinks = int(((self.sizes > low) & (self.sizes < high)).sum())
        small = high - low <= (_ALL if 0 < kinks < _KINKS else _ALL // 8)
        if small or variance > 12:
            # equal steps sum a bell of this width to all digits, if there are no kinks
            step = 1 if small else max(1, int(math.sqrt(variance) / rate / 8))
            nodes = np.arange(low, high, step).astype(np.float64)
            weights = np.full(len(nodes), float(step))
        else:
            nodes, weights = run_nodes(edges, self.sizes)
        first = second = 0.0
        for x, w in zip(nodes.tolist(), weights.tolist(), strict=True):
            y, joint = self._joint(x)
            down, down_square = _second_differences((x + y + 1) / 2, float(self.pivot), inverse)
            first += w * float(joint @ down)
            second += w * float(joint @ down_square)
        return first, second

    def _joint(self, x: float) -> tuple[FloatArray, FloatArray]:
        """Nodes y >= x, and J(x, y) times their weights (half at y = x)."""
        size, number, centre = self.shares(x, x)
        hit, miss = np.minimum(x / size, 1)[None], (np.maximum(size - x, 0) / size)[None]
        s, _ = _saddle(hit, miss, number, np.array([centre]))
        tilted = hit[0] * np.exp(s)
        # log J falls by so much, at first and after 2, 4, 8, ... steps
        rate = float(number @ (1 / (size * (miss[0] + tilted))))
        ahead = 2.0 ** np.arange(1, 64)
        left = np.maximum(size - x - ahead[:, None], 0.0) / size
        fall = np.log((miss[0] + tilted) / (left + tilted)) @ number
        most = min(np.append(ahead[fall > _FALL], 2.0**63 - 1024)[0], math.ceil(self.top - x))
        width = max(min(2 / rate, x), 1.0)
        cuts = np.concatenate([[0], (2.0 ** np.arange(1, 40) - 1) * width])
        edges = np.append(cuts[cuts < most], max(most, 0.0)).astype(np.int64) + 1
        kinks = np.ceil(self.sizes[(self.sizes > x) & (self.sizes < x + most)] - x)
        kinks = kinks[: _KINKS if len(kinks) <= _KINKS else 0]
        steps, weights = run_nodes(edges, kinks.astype(np.int64))
        y = np.append(x, x + steps)
        size, number, centre = self.shares(x, float(y[-1]))
        hit = np.broadcast_to(np.minimum(x / size, 1), (len(y), len(size)))
        miss = size - y[:, None]
        lost = np.minimum(y[:, None], size) - x
        logs, _ = invert(
            hit,
            np.maximum(miss, 0.0) / size,
            number,
            np.full(len(y), centre),
            "point",
            lost=lost / size,
        )
        return y, np.exp(logs) * np.append(0.5, weights)


def _second_differences(
    u: FloatArray, pivot: float, inverse: bool
) -> tuple[FloatArray, FloatArray]:
    """h of g, and h of g^2, at u; with the sign with which they are subtracted."""
    if not inverse:
        return np.zeros_like(u), np.full_like(u, 0.5)
    bend = 0.5 / (u * (u - 0.5) * (u + 0.5))
    after, before = -0.5 / (u * (u + 0.5)), 0.5 / (u * (u - 0.5))
    return bend, 2 * (pivot - u) / (u * pivot) * bend + after**2 + before**2


def _bisect(
    low: IntArray, high: IntArray, holds: Callable[[IntArray], npt.NDArray[np.bool_]]
) -> IntArray:
    """The first integers in low..high at which a monotone condition holds (high if none)."""
    while (low < high).any():
        middle = low + (high - low) // 2
        yes = holds(middle) | (low >= high)
        low, high = np.where(yes, low, middle + 1), np.where(yes, middle, high)
    return low


# -- tails -----------------------------------------------------------------------------------------


def at_least(hit: FloatArray, miss: FloatArray, numbers: IntArray, k: int) -> float:
    """Log of P(at least k of independent events happen).

    Parameters
    ----------
    hit, miss : ndarray of float64, shape (d,)
        The probabilities of the events of each group, and 1 minus these.
    numbers : ndarray of int64, shape (d,)
        The number of events in each group.
    k : int

    Examples
    --------
    >>> half = np.array([0.5])
    >>> round(math.exp(at_least(half, half, np.array([4]), 3)), 12)  # 5 of 16
    0.3125
    """
    k -= int(numbers[miss == 0].sum())
    open_ = (hit > 0) & (miss > 0)
    if k <= 0:
        return 0.0
    if k > numbers[open_].sum():
        return -math.inf
    each = numbers[open_].astype(np.float64)
    logs, upper = invert(hit[None, open_], miss[None, open_], each, np.array([k - 0.5]), "above")
    log = min(float(logs[0]), 0.0)
    return log if upper[0] else math.log1p(-math.exp(log)) if log < 0 else -math.inf


def median_at_most(tasks: Tasks, twice: int) -> float:
    """Log of P(a + b <= twice) for the two middle ranks a <= b of an even number of tasks.

    Either b <= twice // 2, or b = y is above it and a <= twice - y.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(median_at_most(compress([2, 2]), 3)), 12)  # not both 2
    0.75
    """
    half, c = tasks.count // 2, twice // 2
    if c < 1:
        return -math.inf
    size = tasks.sizes.astype(np.float64)
    both = at_least(
        np.minimum(c / size, 1), np.maximum(size - c, 0) / size, tasks.multiplicities, half + 1
    )

    def terms(j: FloatArray) -> FloatArray:
        y = (c + j)[:, None]
        hit, miss = np.minimum((twice - y) / size, 1.0), np.maximum(size - y + 1, 0.0) / size
        return _dropped(tasks, hit, miss, (np.minimum(1.0, miss * size) / size, np.zeros_like(hit)))

    last = min(twice - c - 1, int(tasks.sizes[-1]) - c)
    kinks = np.concatenate([tasks.sizes + 1 - c, twice - c - tasks.sizes])
    return min(float(np.logaddexp(both, _log_sum(terms, last, kinks, c / half))), 0.0)


def median_at_least(tasks: Tasks, twice: int) -> float:
    """Log of P(a + b >= twice) for the two middle ranks a <= b of an even number of tasks.

    Either a >= twice / 2, or a = x is below it and b >= twice - x.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(median_at_least(compress([2, 2]), 4)), 12)  # both 2
    0.25
    """
    half, c = tasks.count // 2, (twice + 1) // 2
    size = tasks.sizes.astype(np.float64)
    hit = np.minimum((c - 1) / size, 1)
    both = at_least(np.maximum(size - c + 1, 0) / size, hit, tasks.multiplicities, half + 1)

    def terms(j: FloatArray) -> FloatArray:
        x = (c - j)[:, None]
        hit, miss = np.minimum(x / size, 1.0), np.maximum(size - twice + x + 1, 0.0) / size
        return _dropped(tasks, hit, miss, (np.zeros_like(hit), np.clip(size - x + 1, 0, 1) / size))

    kinks = np.concatenate([c - tasks.sizes, tasks.sizes - twice + c + 1])
    return min(float(np.logaddexp(both, _log_sum(terms, c - 1, kinks, c / half))), 0.0)


def _dropped(
    tasks: Tasks, hit: FloatArray, miss: FloatArray, drop: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Logs of the coefficient of z^(n/2) in G(z), less that with `drop`."""
    numbers = tasks.multiplicities.astype(np.float64)
    half = float(tasks.count // 2)
    enough = ((hit > 0) @ numbers >= half) & ((miss > 0) @ numbers >= half)
    possible = enough & (hit + miss > 0).all(axis=1)
    found = np.full(len(hit), -np.inf)
    if possible.any():
        hit, miss = hit[possible], miss[possible]
        centre, less = np.full(len(hit), half), (drop[0][possible], drop[1][possible])
        lost = 1 - hit - miss
        found[possible], _ = invert(hit, miss, numbers, centre, "point", lost=lost, drop=less)
    return found


def _log_sum(
    terms: Callable[[FloatArray], FloatArray], last: int, kinks: IntArray, width: float
) -> float:
    """Log of the sum of exp(terms(j)) over j = 1..last, which fall from about `width` on."""
    total, start = -math.inf, 1
    while start <= last:
        end = min(start + max(12, int(width)), last + 1)
        j, weights = run_nodes(np.array([start, end]), kinks)
        part = float(np.logaddexp.reduce(terms(j) + np.log(weights)))
        total = float(np.logaddexp(total, part))
        if part < total - 36:
            break
        start, width = end, 1.5 * width
    return total
