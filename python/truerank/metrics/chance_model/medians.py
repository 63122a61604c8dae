"""The chance model of the median rank and of its inverse, from the law of how many ranks are <= x.

The median exceeds x if fewer than half of the ranks are <= x. Its moments are sums of such
probabilities over x, which Gauss rules shorten.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..kinds import UnknownKeyError
from .closed_forms import mean_rank, reciprocal_rank
from .order import Order, frequencies, saddle, smooth_edges
from .sums import BRIEF, FULL, Density, Pieces, integer_nodes, nodes, pieces, stand_ins, widening
from .task_groups import Moments, Tasks, model

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from .order import ComplexArray

_CUT = 40.0  # tails below e^-40 are left out


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
    _check_equal(tasks, "median")
    return mean_rank(tasks, 0) if tasks.count == 1 else _moments(tasks, inverse=False)


@model
def inverse_median(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of 1 / median rank, with the median of `median`.

    Raises
    ------
    UnknownKeyError
        If weights differ, since the weighted median has no chance model.

    Notes
    -----
    For an even number of tasks of which half have an N some ten orders of magnitude above the
    others, the two middle ranks have no common scale, and rounding may lose a third of the mean.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> [round(x, 12) for x in inverse_median(compress([2, 2]))]
    [0.708333333333, 0.032986111111]
    """
    _check_equal(tasks, "imedian")
    return reciprocal_rank(tasks, 0) if tasks.count == 1 else _moments(tasks, inverse=True)


def _check_equal(tasks: Tasks, name: str) -> None:
    if not tasks.equal:
        raise UnknownKeyError(f"{name}: the weighted median has no chance model")


def _moments(tasks: Tasks, inverse: bool) -> Moments:
    """Moments of g(M), with g(q) = q - Z or 1/q - 1/Z, where the pivot Z is the law's middle.

    For an odd number of tasks, with F(x) = P(M <= x),

        E g(M) = sum over x >= Z of (1 - F(x)) (g(x + 1) - g(x)) - sum over x < Z of F(x) (...),

    and the same for g^2. For an even number, F is the mean of the laws of the two middle ranks, and
    a correction for their gap is added.
    """
    order = Order(tasks)
    pivot = order.pivot
    usual = max(0.0, min(order.exponent(np.array([max(pivot - 1, 1), pivot])).tolist()))
    if pivot == 1:
        usual = float(order.exponent(np.array([1]))[0])
    # where one rank has nearly all the probability, the rest of it decides the variance
    cut = _CUT + 2 * usual
    # the inverse is up to 1 where the median is small
    low = order.first(cut + (2 * math.log(pivot) if inverse else 0.0))
    high = order.last(cut)
    if high < low:
        return (1 / pivot if inverse else float(pivot)), 0.0
    smooth = smooth_edges(order, low, high, octaves=inverse)
    x, w, _ = nodes(pieces(smooth, order.tasks.sizes))
    tail = order.tails(x) * w
    sign = np.where(x >= pivot, 1.0, -1.0)
    first, second = _steps(x, float(pivot), inverse)
    mean = float((sign * tail * first).sum())
    square = float((sign * tail * second).sum())
    size = float((tail * np.abs(second)).sum())
    if tasks.count % 2 == 0:
        down, down_square = gap_sums(order, low, high, inverse)
        mean, square = mean - down, square - down_square
    variance = square - mean**2
    # the variance of a nearly certain median is rounding, and becomes 0
    return (1 / pivot if inverse else pivot) + mean, variance if variance > 1e-15 * size else 0.0


def _steps(x: FloatArray, pivot: float, inverse: bool) -> tuple[FloatArray, FloatArray]:
    """g(x + 1) - g(x), and the same of g^2."""
    if not inverse:
        return np.ones_like(x), 2 * (x - pivot) + 1
    here, there = (pivot - x) / (x * pivot), (pivot - x - 1) / ((x + 1) * pivot)
    step = -1 / (x * (x + 1))
    return step, step * (here + there)


# -- the gap between the two middle ranks ----------------------------------------------------------
# For an even number of tasks the median is (a + b) / 2, and g of it differs from the mean of g(a)
# and g(b) by a sum over all pairs x <= y that may enclose the gap.


class _Effort(NamedTuple):
    """The extent of sums: frequencies, their period in standard deviations, e-folds of the gap."""

    frequencies: int
    period: float
    folds: float
    density: Density
    octaves: int  # how many octaves of far sizes one rule represents


_EXACT = _Effort(20, 13.0, 38.0, FULL, 1)
# for many tasks, where the gap is a small part of the variance
_BRIEF = _Effort(14, 11.0, 28.0, BRIEF, 2)
_ROUGH = _Effort(14, 11.0, 24.0, BRIEF, 3)  # for so many sizes that some are merged
_WIDE = 150  # sizes are merged if x passes more than this
_MASS = 0.05  # merging may change log J at one x or y by so much
_LEAST = 11.0  # the fewest e-folds
_MANY = 3.5  # there are many tasks if the standard deviation of B(x) is larger
_STEPS = 32  # steps of x per standard deviation of the median, if there are very many sizes
_NODES = 1500  # the most nodes of x
_BATCH = 32  # sizes that begin within one batch of x
_FEW = 24  # up to so many sizes are all multiplied one by one
_CHEBYSHEV = 16  # nodes of an interpolation
_OFTEN = 1000  # powers lose digits if a size has more tasks
_CELLS = 1 << 15  # complex numbers in memory at once


def gap_sums(order: Order, low: int, high: int, inverse: bool) -> tuple[float, float]:
    """The mean of (g(a) + g(b)) / 2 - g((a + b) / 2), and the same of g^2.

    J(x, y) = P(a <= x, b > y) is the probability that exactly half of the ranks are <= x and the
    others > y. The mean is the sum over x of J(x, x) h(x + 1/2) / 2 plus the sum over all y > x of
    J(x, y) h((x + y + 1) / 2), where h(u) = g(u + 1/2) - 2 g(u) + g(u - 1/2).

    If few ranks vary at the median and more than 150 sizes matter, some sizes are merged, with
    errors near 1e-6 of the sums. For the mean of the inverse of a median with a gap such as
    12,000..10^15, the error is in units of 1/12,000.
    """
    pivot = float(order.pivot)
    order, effort, x, weight = _outer_nodes(order, low, high, inverse)
    first = second = 0.0
    for batch in _batches(order, x):
        for at, w, (y, joint) in zip(
            x[batch], weight[batch], _joint(order, x[batch], effort), strict=True
        ):
            down, down_square = _second_differences((at + y + 1) / 2, pivot, inverse)
            first += float(w * (joint * down).sum())
            second += float(w * (joint * down_square).sum())
    return first, second


def _outer_nodes(
    order: Order, low: int, high: int, inverse: bool
) -> tuple[Order, _Effort, FloatArray, FloatArray]:
    mean, variance = (float(m[0]) for m in order.moments(np.array([order.pivot])))
    sigma = math.sqrt(variance)
    certain = float(order.certain(np.array([low]))[0])
    if sigma < _MANY or order.centre - certain < _MANY**2:
        smooth = smooth_edges(order, low, high, octaves=inverse)
        passed = np.searchsorted(order.tasks.sizes, [low, high])
        if passed[1] - passed[0] <= _WIDE:
            return (order, _EXACT, *integer_nodes(pieces(smooth, order.tasks.sizes)))
        low, high = order.first(_ROUGH.folds), order.last(_ROUGH.folds)
        order = order.merge_sizes(_MASS)
        smooth = smooth_edges(order, low, high, octaves=inverse)
        return (order, _ROUGH, *integer_nodes(pieces(smooth, order.tasks.sizes), BRIEF))
    # the gap is a share of sigma^-2 of the variance, and of sigma^-4 of the mean of the inverse
    folds = min(_BRIEF.folds, max(_LEAST, _BRIEF.folds + 8 - 4 * math.log(2 * sigma)))
    effort = _BRIEF._replace(folds=folds, octaves=2 if folds > 20 else 3)
    low, high = order.first(folds), order.last(folds)
    smooth = smooth_edges(order, low, high, octaves=inverse)
    x, weight = integer_nodes(pieces(smooth, order.tasks.sizes), BRIEF)
    if len(x) <= _NODES:
        return order, effort, x, weight
    # equal steps sum a bell of this width to all digits, and the errors of so many kinks cancel
    rise = (mean - float(order.certain(np.array([order.pivot]))[0])) / order.pivot
    steps = max(4.0, _STEPS * min(1.0, (16 / sigma) ** 2))
    step = max(1, int(sigma / rise / steps))
    x = np.arange(low, high + 1, step).astype(np.float64)
    return order, effort, x, np.full(len(x), float(step))


def _batches(order: Order, x: FloatArray) -> Iterator[slice]:
    first = 0
    while first < len(x):
        stop = np.searchsorted(order.sizes, x[first], side="right") + _BATCH
        end = len(x) if stop >= len(order.sizes) else int(np.searchsorted(x, order.sizes[stop]))
        end = max(min(end, first + 64), first + 1)
        yield slice(first, end)
        first = end


def _joint(order: Order, x: FloatArray, effort: _Effort) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield for each x the nodes y >= x, and J(x, y) times their weights (half at y = x)."""
    start = int(np.searchsorted(order.sizes, x[0], side="right"))
    sizes, counts = stand_ins(order.sizes[start:], order.counts[start:])
    p, q = np.minimum(x[:, None] / sizes, 1.0), np.maximum(sizes - x[:, None], 0.0) / sizes
    certain = order.certain(x)
    total = float(order.tasks.count) - float(order._certain_counts[start])
    centre = order.centre - order._certain_counts[start]
    inside = np.clip(centre, certain - order._certain_counts[start] + 0.5, total - 0.5)
    s, sigma = saddle(p, q, counts, inside)
    hits = p * np.exp(s)[:, None]
    rate = np.maximum((counts / sizes * (q > 0) / (q + hits)).sum(1), 1e-300)
    most = np.maximum(order.top - x, 0.0)  # sizes above 2**53 round x up
    reach = _reach(x, sizes, counts, hits, rate, most, effort.folds)
    # sizes far beyond all y contribute smoothly, and fewer sizes can represent them
    stop = int(np.searchsorted(order.sizes, (x + 1.5 * reach).max(), side="right"))
    if len(order.sizes) - start <= _FEW:
        stop = len(order.sizes)
    far, far_counts = stand_ins(order.sizes[stop:], order.counts[stop:], effort.octaves)
    near, near_counts = order.sizes[start:stop], order.counts[start:stop]
    points = effort.density.gauss[0][1]
    width = np.minimum(1 / rate, 2 * x)
    cuts = [
        pieces(widening(start, first, min(int(end), order.top - start), points), order.tasks.sizes)
        for start, first, end in zip(
            [min(int(at), order.top) for at in x.tolist()], width, reach, strict=True
        )
    ]
    owners = np.repeat(np.arange(len(x)), [len(cut.starts) for cut in cuts])
    joined = Pieces(*(np.concatenate(part) for part in zip(*cuts, strict=True)))
    y, weight, piece = nodes(joined, effort.density)
    ends = np.searchsorted(owners[piece], np.arange(len(x) + 1))
    for i, at in enumerate(x.tolist()):
        own = slice(ends[i], ends[i + 1])
        # y = x counts half
        ys, weights = np.append(y[own], at), np.append(weight[own], -0.5)
        (theta,), period = frequencies(total, sigma[i : i + 1], effort.period, effort.frequencies)
        above = near > at
        log = _log_far(far, far_counts, at, ys - at, s[i] + 1j * theta)
        log += _log_near(near[above], near_counts[above], at, ys, s[i], theta)
        log -= (order.centre - certain[i]) * (s[i] + 1j * theta)
        yield ys, np.exp(log).real.sum(1) * (2 / period) * weights


def _reach(
    x: FloatArray,
    sizes: FloatArray,
    counts: FloatArray,
    hits: FloatArray,
    rate: FloatArray,
    most: FloatArray,
    folds: float,
) -> FloatArray:
    """The distance y - x after which J has fallen by at least that many e-folds on this line.

    J falls as exp(-rate (y - x)) at first, faster with every rank that is not reached, and slower
    with every size that is passed.
    """
    left = sizes - x[:, None]
    low, high = np.minimum(np.floor(0.2 * folds / rate) + 1, most), most.copy()
    for _ in range(12):
        middle = np.ceil(np.sqrt(low * high))
        miss = np.clip(left - middle[:, None], 0.0, None) / sizes
        with np.errstate(divide="ignore"):
            logs = np.log(np.clip(left, 0.0, None) / sizes + hits) - np.log(miss + hits)
        enough = (logs * counts).sum(1) >= folds
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _log_near(
    sizes: FloatArray, counts: FloatArray, x: float, y: FloatArray, s: float, theta: FloatArray
) -> ComplexArray:
    """Log of the product of (miss + hit z)^count, one by one; shape (y, frequencies)."""
    grown = x / sizes * math.expm1(s)
    level = float(counts @ np.log1p(grown))
    hit = x / sizes * math.exp(s) / (1 + grown)
    miss = np.maximum(sizes[:, None] - y, 0.0) / (sizes * (1 + grown))[:, None]
    turned: ComplexArray = hit[:, None] * np.exp(1j * theta)
    product = np.ones((len(y), len(theta)), dtype=np.complex128)
    step = max(1, _CELLS // product.size)
    for count in np.unique(counts[counts <= _OFTEN]).tolist():
        alike = np.flatnonzero(counts == count)
        power = np.ones_like(product)
        for first in range(0, len(alike), step):
            some = alike[first : first + step]
            power *= (miss[some, :, None] + turned[some, None, :]).prod(0)
        _multiply(product, power, int(count))
    with np.errstate(divide="ignore"):
        log = np.asarray(np.log(product) + level, dtype=np.complex128)
    back: ComplexArray = np.expm1(1j * theta)
    for k in np.flatnonzero(counts > _OFTEN).tolist():
        lost = np.minimum(y - x, sizes[k] - x) / (sizes[k] * (1 + grown[k]))
        log += counts[k] * _log1p(hit[k] * back - lost[:, None])
    return log


def _multiply(product: ComplexArray, base: ComplexArray, power: int) -> None:
    """Multiply by base^power in place, by squaring, which is faster than logarithms."""
    while True:
        if power & 1:
            product *= base
        power >>= 1
        if not power:
            return
        base *= base


def _log1p(z: ComplexArray) -> ComplexArray:
    """Log of 1 + z; NumPy's loses small digits, which many tasks make large again."""
    log = np.empty_like(z)
    square = z.real * (2 + z.real) + z.imag**2  # |1 + z|^2 - 1
    with np.errstate(divide="ignore"):
        log.real = 0.5 * np.log1p(np.maximum(square, -1.0))
    log.imag = np.arctan2(z.imag, 1 + z.real)
    return log


def _log_far(
    sizes: FloatArray, counts: FloatArray, x: float, t: FloatArray, w: ComplexArray
) -> ComplexArray:
    """The same as `_log_near` for sizes far above all y = x + t, by interpolation in t."""
    if not len(sizes):
        return np.zeros((len(t), len(w)), dtype=np.complex128)
    top = float(t.max())
    at = t
    if len(t) > _CHEBYSHEV:
        at = top / 2 * (1 - np.cos(np.pi * (np.arange(_CHEBYSHEV) + 0.5) / _CHEBYSHEV))
    lost = at[:, None, None] / sizes
    grown = np.asarray(x / sizes * np.expm1(w)[:, None] - lost, dtype=np.complex128)
    log: ComplexArray = (_log1p(grown) * counts).sum(2)
    if at is not t:
        log = _lagrange(at, t) @ log
    return log


def _lagrange(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """The matrix of barycentric interpolation from Chebyshev nodes."""
    k = np.arange(len(nodes))
    weight = (-1.0) ** k * np.sin(np.pi * (k + 0.5) / len(nodes))
    away = at[:, None] - nodes
    exact = away == 0
    ratio = weight / np.where(exact, 1.0, away)
    ratio = np.where(exact.any(1)[:, None], exact, ratio)
    matrix: FloatArray = ratio / ratio.sum(1)[:, None]
    return matrix


def _second_differences(
    u: FloatArray, pivot: float, inverse: bool
) -> tuple[FloatArray, FloatArray]:
    """h of g, and h of g^2, at u; with the sign with which they are subtracted."""
    if not inverse:
        return np.zeros_like(u), np.full_like(u, 0.5)
    bend = 0.5 / (u * (u - 0.5) * (u + 0.5))
    after, before = -0.5 / (u * (u + 0.5)), 0.5 / (u * (u - 0.5))
    return bend, 2 * (pivot - u) / (u * pivot) * bend + after**2 + before**2
