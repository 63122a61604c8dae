"""The law under chance of how many ranks are <= x: of medians, extremes and hits.

B(x), the number of ranks <= x, is a sum of independent events of probability min(x / N, 1). Its law
is inverted along a circle through the saddle point, where the integrand is a bump of known width.
So a few dozen frequencies suffice, and a tail of 1e-5000 keeps its digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputValueError, UnknownKeyError
from .chance_model import Moments, Tasks, model, run_nodes, stand_ins

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from .chance_model import AnyArray


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
    return _median(tasks, "median")


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
    return _median(tasks, "imedian")


def _median(tasks: Tasks, name: str) -> Moments:
    if (tasks.weights != tasks.weights[0]).any():
        raise UnknownKeyError(name, "the weighted median has no chance model")
    is_inverse = name == "imedian"
    return order_moments(tasks, (tasks.count + 1) / 2, inverse=is_inverse)


# -- sums of independent events --------------------------------------------------------------------

_FREQUENCIES = 24  # So many frequencies on the half circle give a bump of any width to 1e-13.
_PERIOD = 14.0  # There is no weight further off than so many standard deviations.
_CELLS = 1 << 16  # So many numbers, times a few, are in memory at once.
_NEAR = -60.0  # Above this log probability the wrapped tail of the other side counts.


def invert(
    size: FloatArray,
    numbers: FloatArray,
    x: FloatArray,
    y: FloatArray,
    centre: FloatArray,
    *,
    point: bool = False,
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Invert the generating polynomial of how many ranks are <= x, while no others are <= y.

    It is G(z), the product of (P(r > y) + P(r <= x) z)^number.

    Parameters
    ----------
    size, numbers : ndarray of float64, shape (d,)
        The candidates, and how many tasks have as many; numbers are not necessarily integers, since
        a rule may represent many tasks.
    x, y, centre : ndarray of float64, shape (q,)
        Problems, with x <= y, and where each law is cut.
    point : bool
        Whether the term of z^centre is wanted. Else x = y, and it is the sum of the terms before
        the centre or after it, with half of the term at the centre if that is a whole number.

    Returns
    -------
    logs : ndarray of float64, shape (q,)
        The logarithm of the smaller tail, or of the point.
    upper : ndarray of bool, shape (q,)
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
    >>> two, one = np.array([2.0]), np.array([1.0])
    >>> logs, upper = invert(two, np.array([4.0]), one, one, np.array([2.5]))
    >>> np.exp(logs).round(12), upper  # of four ranks in 1..2 at least three are 1: 5 of 16
    (array([0.3125]), array([ True]))
    """
    x = x[:, None]
    y = y[:, None]
    hit = np.minimum(x / size, 1.0)
    miss = np.maximum(size - y, 0.0) / size
    lost = (np.minimum(y, size) - np.minimum(x, size)) / size
    s, sigma = _saddle(hit, miss, numbers, centre)
    tilted = hit * np.exp(s)[:, None]
    share = tilted / (tilted + miss)
    rest = miss / (tilted + miss)
    grown = hit * np.expm1(s)[:, None] - lost
    logs = np.where(np.abs(grown) < 0.5, np.log1p(np.maximum(grown, -0.5)), np.log(tilted + miss))
    exponent = logs @ numbers - s * centre
    # It is even, so that no frequency is its own mirror.
    every = 2 * math.ceil((float(numbers.sum()) + 1 - 1e-6) / 2)
    count = min(every // 2, _FREQUENCIES)
    period = np.full(len(s), float(every))
    if 2 * count < every:
        period = np.maximum(_PERIOD * sigma, 2.0 * count)
    factor = np.zeros(len(s))
    step = max(1, _CELLS // share.size)
    with np.errstate(divide="ignore"):  # Where log 0 is -inf, the function is 0.
        for first in range(0, count, step):
            k = np.arange(first, min(first + step, count))[:, None]
            t = (k + 0.5) * 2 * math.pi / period
            half = np.sin(t / 2)[:, :, None] ** 2
            modulus = 0.5 * np.log1p(-4 * share * rest * half) @ numbers
            turn = np.arctan2(share * np.sin(t)[:, :, None], 1 - 2 * share * half) @ numbers
            terms = np.exp(modulus + 1j * (turn - t * centre))
            w = s + 1j * t
            if not point:
                terms *= np.where(centre % 1, 0.5, 0.5 * np.cosh(w / 2)) / np.sinh(w / 2)
            factor += terms.real.sum(axis=0)
    factor *= 2 / period
    upper = (s >= 0) | point
    if not point:
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
    which are those of the events if these are all alike, and stay inside a bracket.
    """
    counts = np.where((miss > 0) & (hit > 0), numbers, 0.0)
    total = np.maximum(counts.sum(axis=1), 1.0)
    goal = np.clip(centre - np.where(miss > 0, 0.0, numbers).sum(axis=1), 0.01, total - 0.01)
    target = np.log(goal) - np.log(total - goal)
    s = np.zeros(len(centre))
    # No odds are beyond 2^63, and no numbers beyond 2^53.
    low = s - 200.0
    high = s + 200.0
    for _ in range(80):
        tilted = hit * np.exp(s)[:, None]
        share = tilted / (tilted + miss)
        mean = (share * counts).sum(axis=1)
        variance = np.maximum((share * (1 - share) * counts).sum(axis=1), 1e-300)
        off = mean - goal
        done = (np.abs(off) <= 0.02 * np.sqrt(np.maximum(variance, 0.01))) | (high - low < 1e-12)
        done |= ~counts.any(axis=1)
        if done.all():
            break
        high = np.where(off > 0, s, high)
        low = np.where(off > 0, low, s)
        mean = np.clip(mean, 1e-300, total * (1 - 1e-16))
        slope = variance * total / (mean * (total - mean))
        moved = s + (target - np.log(mean / (total - mean))) / slope
        inside = (moved > low) & (moved < high)
        s = np.where(done, s, np.where(inside, moved, (low + high) / 2))
    return s, np.sqrt(variance)


class _Counts:
    """B(x) of tasks by their distinct sizes; weights make no difference."""

    def __init__(self, tasks: Tasks) -> None:
        if tasks.count >= 2**53:
            raise InputValueError(
                "multiplicities",
                expected="fewer than 2**53 tasks for the chance model of medians and extremes",
                got=tasks.count,
            )
        self.sizes, first = np.unique(tasks.sizes, return_index=True)
        self.numbers = np.add.reduceat(tasks.multiplicities, first).astype(np.float64)
        self._certain = np.append(0.0, np.cumsum(self.numbers))
        # It is the slope of the mean of B(x).
        self._slope = np.cumsum((self.numbers / self.sizes)[::-1])[::-1]
        self._far: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}

    def first_with_mean(self, means: FloatArray, top: int) -> IntArray:
        """The first x in 1..top at which B(x) has at least such a mean."""
        at_sizes = self._certain[1:] + self.sizes * np.append(self._slope[1:], 0.0)
        i = np.minimum(np.searchsorted(at_sizes, means), len(at_sizes) - 1)
        x = np.ceil((means - self._certain[i]) / self._slope[i])
        ranks: IntArray = np.clip(x, 1, 2.0**63 - 1024).astype(np.int64)
        return np.minimum(ranks, top)

    def split(
        self, first: float, last: float, centre: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """The sizes above `first`, few for those above `last`, how many tasks they have, and the
        centre without the other tasks, whose ranks are certainly <= `first`.
        """
        start, stop = np.searchsorted(self.sizes, [first, last], side="right").tolist()
        start = min(start, len(self.sizes) - 1)  # A node may be rounded up to the last size.
        stop = _BATCH * math.ceil(stop / _BATCH)  # Rounded up, few distinct stops are needed.
        if stop not in self._far:
            ones = np.ones(len(self.sizes[stop:]))
            self._far[stop] = stand_ins(self.sizes[stop:], ones, self.numbers[stop:])
        far, _, many = self._far[stop]
        sizes = np.append(self.sizes[start:stop].astype(np.float64), far)
        numbers = np.append(self.numbers[start:stop], many)
        return sizes, numbers, centre - float(self._certain[start])

    def tails(self, x: FloatArray, centre: float, *, upper: bool) -> FloatArray:
        """P(B(x) > centre), or < centre, plus half of P(B(x) = centre); x ascends."""
        parts = []
        for i in range(0, len(x), _BATCH):
            at = x[i : i + _BATCH]
            size, number, middle = self.split(at[0], at[-1], centre)
            logs, is_upper = invert(size, number, at, at, np.full(len(at), middle))
            tail = np.exp(logs)
            parts.append(np.where(is_upper == upper, tail, 1 - tail))
        return np.concatenate(parts)

    def joint(self, x: float, centre: float, top: int) -> tuple[FloatArray, FloatArray]:
        """Nodes y >= x, and P(B(x) = B(y) = centre) times their weights (half at y = x)."""
        size, number, middle = self.split(x, x, centre)
        hit = np.minimum(x / size, 1)
        above = np.maximum(size - x, 0)
        s, _ = _saddle(hit[None], (above / size)[None], number, np.array([middle]))
        tilted = hit * np.exp(s)

        def logs(steps: FloatArray) -> FloatArray:
            """Estimate the logarithms of the terms at y = x + steps, up to a constant."""
            factors: FloatArray = np.log(np.maximum(above - steps[:, None], 0) / size + tilted)
            return factors @ number

        y = np.array([x])
        weights = np.array([0.5])
        if x < top:
            steps, weights_of_steps = _falling_nodes(logs, top - x, x, self.sizes - x)
            y = np.append(y, x + steps)
            weights = np.append(weights, weights_of_steps)
        size, number, middle = self.split(x, float(y[-1]), centre)
        starts = np.full(len(y), x, dtype=np.float64)
        centres = np.full(len(y), middle, dtype=np.float64)
        joint, _ = invert(size, number, starts, y, centres, point=True)
        return y, np.exp(joint) * weights


def _falling_nodes(
    logs: Callable[[FloatArray], FloatArray],
    last: float,
    scale: float,
    kinks: AnyArray,
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for a sum over 1..last of terms that fall, given by their logarithms.

    They double their distance; at first it is at most the scale. A sum whose `last` is no whole
    number continues those of whole numbers smoothly.
    """
    powers = np.ldexp(1.0, np.arange(63))
    ahead = powers[powers <= last]
    levels = logs(ahead)
    fall = np.maximum(levels[:1], -1e300) - levels
    most = float(ahead[fall > _FALL].min(initial=last))
    width = float(ahead[fall > 1].min(initial=min(last, scale)))
    edges = 1 + width * (powers[1:] - 1)
    edges = np.concatenate([[1.0], edges[edges < most], [most + 1]])
    kinks = kinks[(kinks > 1) & (kinks <= most)]
    if len(kinks) > _KINKS:
        kinks = kinks[:0]
    return run_nodes(edges, kinks)


# -- moments of order statistics -------------------------------------------------------------------

_BATCH = 48  # So many x are inverted at once.
_FALL = 36.0  # The gap between the middle two is followed until it has fallen by so many e-folds.
_KINKS = 48  # Sums over y are cut at up to so many sizes.
_ALL = 2000  # Up to so many x with few kinks are all summed.
_NODES = 500  # The gap between the middle two is computed at up to so many other x.
# Runs end so many standard deviations from the middle.
_RUNS = np.arange(64) * (np.arange(64) + 5.0) / 6


def order_moments(tasks: Tasks, k: float, *, inverse: bool = False) -> Moments:
    """Mean and variance of the k-th least rank, or of its inverse; weights make no difference.

    Where k is half of an odd number, it is the mean of the two ranks next to k.

    Notes
    -----
    With g(q) = q - Z or 1/q - 1/Z for a pivot Z in the middle of the law, and F(x) = P(M <= x),

        E g(M) = sum over x >= Z of (1 - F(x)) (g(x + 1) - g(x)) - sum over x < Z of F(x) (...),

    and the same for g^2. For two ranks a <= b, F is the mean of their laws, and a correction for
    their gap is subtracted. Sums are taken in runs of x from Z on, until they are negligible.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> [round(x, 12) for x in order_moments(compress([2, 2]), 1)]  # 1 in three cases of four
    [1.25, 0.1875]
    """
    counts = _Counts(tasks)
    centre = k - 0.5
    top = int(counts.sizes[np.argmax(np.cumsum(counts.numbers) > centre)]) - 1
    if top < 1:
        return 1.0, 0.0
    pivot = int(counts.first_with_mean(np.array([centre]), top)[0])
    share = np.minimum(pivot / counts.sizes, 1)
    spread = max(math.sqrt(counts.numbers @ (share * (1 - share))), 0.5)
    kinks = np.append(counts.sizes, 2 ** np.arange(3, 63)) if inverse else counts.sizes
    nodes = []
    sums = np.zeros(2)
    size = 0.0  # It is the size of the parts of the second sum.
    for side, last in ((-1, 1), (1, top + 1)):
        ends = counts.first_with_mean(centre + side * spread * _RUNS, top)
        ends[0] = pivot
        for start, end in itertools.pairwise(np.append(ends, last).tolist()):
            if start == end:
                continue
            x, w = run_nodes(np.array([min(start, end), max(start, end)]), kinks)
            steps = _steps(x, float(pivot), inverse)
            tail = side * w * counts.tails(x, centre, upper=side < 0)
            part = steps @ tail
            nodes.append((x, w))
            sums = sums + part
            size += abs(float(part[1]))
            if (np.abs(part) <= 1e-18 * np.abs(sums)).all():
                break
    if k != int(k):
        x, w = np.concatenate(nodes, axis=1)
        x, w = _nodes_of_gap(counts, x, w, pivot, spread)
        sums = sums - _gap(counts, centre, top, x, w, float(pivot), inverse)
    mean = float(sums[0])
    mean += 1 / pivot if inverse else pivot
    variance = float(sums[1] - sums[0] ** 2)
    if not variance > 1e-15 * size:  # The variance of a nearly certain rank is rounding.
        variance = 0.0
    return mean, variance


def _nodes_of_gap(
    counts: _Counts, x: FloatArray, w: FloatArray, pivot: int, spread: float
) -> tuple[FloatArray, FloatArray]:
    """Nodes for the sum over x of the gap: those of the runs, or fewer in equal steps."""
    low = int(x.min())
    high = int(x.max())
    kinks = int(((counts.sizes > low) & (counts.sizes < high)).sum())
    most = _ALL if 0 < kinks <= _KINKS else _ALL // 8
    if high - low <= most:  # Every x is summed.
        step = 1
    elif kinks > _KINKS and len(x) > _NODES:  # Equal steps sum a bell of this width to all digits.
        slope = float(counts.numbers @ ((counts.sizes > pivot) / counts.sizes))
        step = max(1, int(spread / slope / 8))
    else:
        return x, w
    x = np.arange(low, high + 1, step, dtype=np.float64)
    return x, np.full(len(x), float(step))


def _steps(x: FloatArray, pivot: float, inverse: bool) -> FloatArray:
    """g(x + 1) - g(x), and the same of g^2."""
    if not inverse:
        return np.stack([np.ones_like(x), 2 * (x - pivot) + 1])
    g = (pivot - x) / (x * pivot)
    following = (pivot - x - 1) / ((x + 1) * pivot)
    step = -1 / (x * (x + 1))
    return np.stack([step, step * (g + following)])


def _gap(
    counts: _Counts,
    centre: float,
    top: int,
    nodes: FloatArray,
    weights: FloatArray,
    pivot: float,
    inverse: bool,
) -> FloatArray:
    """The mean of (g(a) + g(b)) / 2 - g((a + b) / 2), and the same of g^2.

    J(x, y) = P(a <= x, b > y) is the probability that exactly as many ranks as the centre are <= x
    and the others > y. The mean is the sum over x of J(x, x) h(x + 1/2) / 2 plus that over all y >
    x of J(x, y) h((x + y + 1) / 2), where h(u) = g(u + 1/2) - 2 g(u) + g(u - 1/2).
    """
    total = np.zeros(2)
    for x, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        y, joint = counts.joint(x, centre, top)
        u = (x + y + 1) / 2
        if inverse:
            bend = 0.5 / (u * (u - 0.5) * (u + 0.5))
            after = -0.5 / (u * (u + 0.5))
            before = 0.5 / (u * (u - 0.5))
            bend_of_square = 2 * (pivot - u) / (u * pivot) * bend + after**2 + before**2
        else:
            bend = np.zeros_like(u)
            bend_of_square = np.full_like(u, 0.5)
        total += weight * (np.stack([bend, bend_of_square]) @ joint)
    return total
