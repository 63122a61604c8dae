"""The law of how many ranks are <= x: where the median lies, and the tails of its law.

The law is inverted along a circle through the saddle point, where the integrand is a bump of known
width. So a few dozen frequencies suffice, and a tail of 1e-5000 keeps its digits.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from ...inputs.errors import InputValueError
from .sums import stand_ins
from .task_groups import Tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray

    ComplexArray: TypeAlias = npt.NDArray[np.complex128]

Kind: TypeAlias = Literal["above", "half", "point"]

FREQUENCIES = 36  # on the half circle; they give a bump of any width to 1e-16
_PERIOD = 18.0  # in standard deviations; there is no weight further off
_NEAR = -60.0  # log probability above which the wrapped tail of the other side counts


class Inversion(NamedTuple):
    """Probabilities of the smaller tail, exp(exponent) * factor.

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
) -> Inversion:
    """Invert the generating polynomial G(z), the product of (miss + hit z)^multiplicity.

    Parameters
    ----------
    hit, miss : ndarray of float64, shape (x, d) or broadcastable
        Probabilities of x problems, each with d groups of events.
    multiplicities : ndarray of float64, shape (d,)
        Not necessarily integers, since a rule may represent many groups.
    centre : ndarray of float64, shape (x,)
        Where the law is cut.
    kind : {"above", "half", "point"}
        "above": P(B > centre) or P(B < centre), for a half-integer centre. "half": the same plus
        half of P(B = centre), for an integer centre. "point": P(B = centre).
    sure : ndarray of float64, shape (x,), or float
        The number of events that are certain (hit 1 or miss 0) in each problem.
    lost : ndarray of float64, shape (x, d), or float
        1 - hit - miss. Where it is not 0, G is not a law, but all its terms are positive.

    Returns
    -------
    Inversion

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

    theta, period = frequencies(total, sigma, _PERIOD)
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
    return Inversion(exponent, np.maximum(factor, 0.0), upper)


def frequencies(
    total: float, sigma: FloatArray, width: float, most: int = FREQUENCIES
) -> tuple[FloatArray, FloatArray]:
    """Return the frequencies of an inversion, shape (x, m), and their periods, shape (x,).

    Parameters
    ----------
    total : float
        The number of events; if they are few, the period contains them all, and m is half of it.
    sigma : ndarray of float64, shape (x,)
        Standard deviations.
    width : float
        The period in standard deviations, where there are many events.
    most : int
        The greatest m.
    """
    everything = 2 * math.ceil(
        (total + 1 - 1e-9) / 2
    )  # even, so that no frequency is its own mirror
    if everything <= 2 * most:
        period, count = np.full(len(sigma), float(everything)), everything // 2
    else:
        period, count = np.maximum(width * sigma, 2.0 * most), most
    theta: FloatArray = (np.arange(count) + 0.5) * (2 * math.pi / period)[:, None]
    return theta, period


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
    with np.errstate(divide="ignore"):  # log 0 = -inf: the function is and stays 0 there
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
    """The s at which the tilted mean is nearly the centre, and the standard deviation there.

    An inversion is correct along any line; the saddle point only keeps the integrand from
    cancelling. So a few steps of Newton's method suffice. They work on the log odds of the mean,
    which are those of the events if these are all alike, and stay inside the bracket given by the
    smallest and the largest odds.
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


# -- the ranks <= x --------------------------------------------------------------------------------

_GROUP = 32  # sizes that begin or end within one batch of x
_CELLS = 1 << 16  # x times sizes in memory at once
_MOST = 2**53  # there must be fewer tasks
_MERGED = 256  # the most sizes of a merged group
_GRID = 24  # narrower groups are not merged, since it matters there that ranks are integers


class Order:
    """B(x) = the number of ranks <= x, a sum of independent events of probability min(x / N, 1).

    Attributes
    ----------
    tasks : Tasks
    centre : float
        Half the number of tasks: the median is <= x if B(x) is above it, and half of the time if
        B(x) is equal to it (for one of the two middle ranks, taken at random).
    pivot : int
        The first x at which the mean of B(x) reaches the centre.
    top : int
        The last x that the median may exceed; 0 where it is always 1.

    Raises
    ------
    ValueError
        For 2**53 tasks and more, whose number is not an exact float.
    """

    def __init__(self, tasks: Tasks) -> None:
        if tasks.count >= _MOST:
            raise InputValueError(
                "multiplicities",
                expected="fewer than 2**53 tasks in all for the chance model of a median",
                got=tasks.count,
            )
        self.tasks = tasks
        self.centre = tasks.count / 2
        self._set_sizes(tasks.sizes.astype(np.float64), tasks.multiplicities.astype(np.float64))

    def _set_sizes(self, size: FloatArray, count: FloatArray) -> None:
        self.sizes, self.counts = size, count
        self._certain_counts = np.concatenate([[0.0], np.cumsum(count)])
        self._inverse = np.concatenate([np.cumsum((count / size)[::-1])[::-1], [0.0]])
        self._square = np.concatenate([np.cumsum((count / size**2)[::-1])[::-1], [0.0]])
        # the first size at which more than half of the ranks are certain to be <= x
        self.top = int(self.tasks.sizes[np.argmax(self._certain_counts[1:] > self.centre)]) - 1
        self.pivot = self._bisect(1, self.top + 1, lambda x: self.moments(x)[0] >= self.centre)

    def certain(self, x: IntArray | FloatArray) -> FloatArray:
        """The number of ranks that are certainly <= x."""
        found: FloatArray = self._certain_counts[np.searchsorted(self.tasks.sizes, x, side="right")]
        return found

    def moments(self, x: IntArray | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of B(x)."""
        i = np.searchsorted(self.tasks.sizes, x, side="right")
        at = np.asarray(x, dtype=np.float64)
        open_ = at * self._inverse[i]
        return self._certain_counts[i] + open_, np.maximum(open_ - at**2 * self._square[i], 0.0)

    def merge_sizes(self, mass: float) -> Order:
        """Merge sizes that are close together, which changes few tasks by little.

        Each group of sizes becomes two sizes with the same number of tasks and the same sums of 1/N
        and of 1/N^2. A group extends from N to N' if the mean number of ranks > N of its tasks in
        (N, N'] is at most `mass`.
        """
        sizes, counts = self.sizes, self.counts
        merged: list[tuple[float, float]] = []
        first = 0
        while first < len(sizes):
            last = first + _MERGED
            beyond = np.cumsum(counts[first:last] * (1 - sizes[first] / sizes[first:last]))
            end = first + max(1, int(np.searchsorted(beyond, mass, side="right")))
            number = counts[first:end]
            total = float(number.sum())
            if end - first < 3 or sizes[end - 1] - sizes[first] < _GRID:
                merged += zip(sizes[first:end].tolist(), number.tolist(), strict=True)
            else:
                u = sizes[first] / sizes[first:end]
                centre = float(number @ u) / total
                spread = math.sqrt(float(number @ (u - centre) ** 2) / total)
                small = float(total // 2)
                ratio = math.sqrt(small / (total - small))
                merged.append((sizes[first] / (centre + spread / ratio), small))
                merged.append((sizes[first] / (centre - spread * ratio), total - small))
            first = end
        size, count = (np.array(part) for part in zip(*merged, strict=True))
        whole = np.minimum(np.ceil(size), 2.0**63 - 1024).astype(np.int64)
        thin = copy.copy(self)
        thin.tasks = self.tasks._replace(sizes=whole)
        thin._set_sizes(size, count)
        return thin

    def exponent(self, x: IntArray) -> FloatArray:
        """A lower bound of -log of the smaller tail of B(x) at the centre; 0 in the middle.

        It is the larger of Hoeffding's bound (1956: no law with this mean is wider than the
        binomial) and Bennett's (1962), which uses the variance.
        """
        sure = self.certain(x)
        mean, variance = self.moments(x)
        n = self.tasks.count - sure
        c = np.clip((self.centre - sure) / n, 0.0, 1.0)
        p = np.clip((mean - sure) / n, 1e-300, 1 - 1e-16)
        with np.errstate(divide="ignore", invalid="ignore"):
            hoeffding = n * (
                np.where(c > 0, c * np.log(c / p), 0.0)
                + np.where(c < 1, (1 - c) * np.log((1 - c) / (1 - p)), 0.0)
            )
        spread = np.maximum(variance, 1e-300)
        u = np.abs(self.centre - mean) / spread
        bennett = spread * ((1 + u) * np.log1p(u) - u)
        bound: FloatArray = np.maximum(np.maximum(hoeffding, bennett), 0.0)
        return bound

    def first(self, exponent: float) -> int:
        """The first x whose lower tail may exceed exp(-exponent)."""
        return self._bisect(1, self.pivot, lambda x: self.exponent(x) < exponent)

    def last(self, exponent: float) -> int:
        """The last x whose upper tail may exceed exp(-exponent); below the pivot if none may."""
        return self._bisect(self.pivot, self.top + 1, lambda x: ~(self.exponent(x) < exponent)) - 1

    def _bisect(
        self, low: int, high: int, holds: Callable[[IntArray], npt.NDArray[np.bool_]]
    ) -> int:
        """The first integer in low..high at which a monotone condition holds (high if none)."""
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(np.array([middle]))[0] else (middle + 1, high)
        return low

    def tails(self, x: FloatArray) -> FloatArray:
        """P(M <= x) for x below the pivot, and P(M > x) from the pivot on.

        M is the median, or one of the two middle ranks at random. x ascends; its values need not be
        integers, but no size may lie between a node and the integers that it represents.
        """
        found = [np.zeros(0)]
        kind: Kind = "half" if self.tasks.count % 2 == 0 else "above"
        ends = np.searchsorted(self.tasks.sizes, x[-1:], side="right")[0]
        beyond = stand_ins(self.sizes[ends:], self.counts[ends:])
        first = 0
        while first < len(x):
            start = int(np.searchsorted(self.tasks.sizes, x[first], side="right"))
            stop = min(start + _GROUP, int(ends))
            end = len(x) if stop == ends else int(np.searchsorted(x, self.sizes[stop]))
            later = stand_ins(self.sizes[stop:ends], self.counts[stop:ends])
            size = np.concatenate([self.sizes[start:stop], later[0], beyond[0]])
            count = np.concatenate([self.counts[start:stop], later[1], beyond[1]])
            end = min(max(end, first + 1), first + max(1, _CELLS // len(size)))
            at = x[first:end, None]
            law = invert(
                np.minimum(at / size, 1.0),
                np.maximum(size - at, 0.0) / size,
                count,
                np.full(end - first, self.centre - self._certain_counts[start]),
                kind,
                sure=self.certain(x[first:end]) - self._certain_counts[start],
            )
            tail = np.exp(law.exponent) * law.factor
            found.append(np.where(law.upper == (at[:, 0] < self.pivot), tail, 1 - tail))
            first = end
        return np.concatenate(found)


def smooth_edges(order: Order, low: int, high: int, *, octaves: bool) -> IntArray:
    """Edges from low to high + 1 between which the tails change little, apart from kinks at sizes.

    The steps are one standard deviation by the bound of the exponent. With octaves there are also
    edges where x has doubled, for functions such as 1 / x.
    """
    steps = np.arange(1.0, math.sqrt(2 * 1e4))
    edges = {low, high + 1}
    if low < order.pivot <= high:
        edges.add(order.pivot)
    for k in steps.tolist():
        left, right = order.first(k * k / 2), order.last(k * k / 2) + 1
        edges |= {e for e in (left, right) if low < e <= high}
        if left <= low and right > high:
            break
    if octaves:
        edges |= {2**k for k in range(3, 63) if low < 2**k <= high}
    return np.array(sorted(edges), dtype=np.int64)
