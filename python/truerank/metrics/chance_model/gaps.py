"""What the gap between the two middle ranks takes from the moments of their mean.

For an even number of tasks the median is (a + b) / 2, and g of it differs from the mean of g(a) and
g(b) by a sum over all x <= y between which the gap may lie.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .order import Order, smooth_edges
from .pieces import BRIEF, FULL, Density, Pieces, integer_nodes, nodes, pieces, stand_ins
from .poisson_binomial import saddle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...arrays import FloatArray, IntArray
    from .poisson_binomial import ComplexArray


class _Effort(NamedTuple):
    """How far sums go: frequencies, their period in standard deviations, e-folds of the gap."""

    frequencies: int
    period: float
    folds: float
    density: Density


_EXACT = _Effort(20, 13.0, 38.0, FULL)
_BRIEF = _Effort(
    14, 11.0, 28.0, BRIEF
)  # of many tasks, where the gap is a small part of the variance
_MANY = 3.5  # standard deviation of B(x) from which on there are many tasks
_STEPS = 32  # x per standard deviation of the median, where sizes are too many to heed
_NODES = 1500  # of x at most
_BATCH = 32  # sizes that begin within one batch of x
_FEW = 24  # sizes that are all taken one by one
_CHEBYSHEV = 16


def gap_sums(order: Order, low: int, high: int, inverse: bool) -> tuple[float, float]:
    """The mean of (g(a) + g(b)) / 2 - g((a + b) / 2), and the same of g^2.

    With J(x, y) = P(a <= x, b > y), the probability that exactly half of the ranks are <= x and the
    others > y, it is the sum over x of J(x, x) h(x + 1/2) / 2 and, over all y > x, of
    J(x, y) h((x + y + 1) / 2), where h(u) = g(u + 1/2) - 2 g(u) + g(u - 1/2).
    """
    effort, x, weight = _outer(order, low, high, inverse)
    first = second = 0.0
    for batch in _batches(order, x):
        for at, w, (y, joint) in zip(
            x[batch], weight[batch], _joint(order, x[batch], effort), strict=True
        ):
            down, down_square = _bends((at + y + 1) / 2, float(order.pivot), inverse)
            first += float(w * (joint * down).sum())
            second += float(w * (joint * down_square).sum())
    return first, second


def _outer(
    order: Order, low: int, high: int, inverse: bool
) -> tuple[_Effort, FloatArray, FloatArray]:
    mean, variance = (float(m[0]) for m in order.moments(np.array([order.pivot])))
    sigma = math.sqrt(variance)
    sizes = order.tasks.sizes
    certain = float(order.certain(np.array([low]))[0])
    if sigma < _MANY or order.centre - certain < _MANY**2:
        smooth = smooth_edges(order, low, high, octaves=inverse)
        return (_EXACT, *integer_nodes(pieces(smooth, sizes)))
    low, high = order.first(_BRIEF.folds), order.last(_BRIEF.folds)
    smooth = smooth_edges(order, low, high, octaves=inverse)
    x, weight = integer_nodes(pieces(smooth, sizes), BRIEF)
    if len(x) <= _NODES:
        return _BRIEF, x, weight
    # a bell of this width is summed by equal steps to all digits, and so many kinks cancel
    rise = (mean - float(order.certain(np.array([order.pivot]))[0])) / order.pivot
    step = max(1, int(sigma / rise / _STEPS))
    x = np.arange(low, high + 1, step).astype(np.float64)
    return _BRIEF, x, np.full(len(x), float(step))


def _batches(order: Order, x: FloatArray) -> Iterator[slice]:
    first = 0
    while first < len(x):
        stop = np.searchsorted(order.sizes, x[first], side="right") + _BATCH
        end = len(x) if stop >= len(order.sizes) else int(np.searchsorted(x, order.sizes[stop]))
        end = max(min(end, first + 64), first + 1)
        yield slice(first, end)
        first = end


def _joint(order: Order, x: FloatArray, effort: _Effort) -> Iterator[tuple[FloatArray, FloatArray]]:
    """For each x nodes y >= x and J(x, y) times their weights (half at y = x)."""
    start = int(np.searchsorted(order.sizes, x[0], side="right"))
    sizes, counts = stand_ins(order.sizes[start:], order.counts[start:])
    p, q = np.minimum(x[:, None] / sizes, 1.0), np.maximum(sizes - x[:, None], 0.0) / sizes
    certain = order.certain(x)
    total = float(order.tasks.count) - float(order._sure[start])
    centre = order.centre - order._sure[start]
    inside = np.clip(centre, certain - order._sure[start] + 0.5, total - 0.5)
    s, sigma = saddle(p, q, counts, inside)
    hits = p * np.exp(s)[:, None]
    rate = np.maximum((counts / sizes * (q > 0) / (q + hits)).sum(1), 1e-300)
    reach = _reach(x, sizes, counts, hits, rate, order.top - x, effort.folds)
    # sizes far enough beyond all y have a smooth share in it, and others may stand for them
    stop = int(np.searchsorted(order.sizes, (x + 1.5 * reach).max(), side="right"))
    if len(order.sizes) - start <= _FEW:
        stop = len(order.sizes)
    far, far_counts = stand_ins(order.sizes[stop:], order.counts[stop:])
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
        # half of y = x
        ys, weights = np.append(y[own], at), np.append(weight[own], -0.5)
        theta, period = _frequencies(total, float(sigma[i]), effort)
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
    """How far y - x has to go until J has fallen by that many e-folds (at least, on this line).

    It falls by exp(-rate (y - x)) at first, faster with every rank that is not reached, slower with
    every size that has been passed.
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


def widening(start: int, width: float, reach: int, points: int, growth: float = 1.0) -> IntArray:
    """Edges of ever wider stretches, from start to start + reach + 1.

    Examples
    --------
    >>> widening(0, 10.0, 99, 12)
    array([  0,  12,  34,  78, 100])
    """
    edges, end = [start], start + reach + 1
    while True:
        edge = edges[-1] + max(points, int(growth * (edges[-1] - start) + width))
        if edge >= end:
            return np.array([*edges, end], dtype=np.int64)
        edges.append(edge)


def _frequencies(total: float, sigma: float, effort: _Effort) -> tuple[FloatArray, float]:
    everything = 2 * math.ceil((total + 1) / 2)
    if everything <= 2 * effort.frequencies:
        period, count = float(everything), everything // 2
    else:
        period, count = max(effort.period * sigma, 2.0 * effort.frequencies), effort.frequencies
    theta = np.asarray((np.arange(count) + 0.5) * (2 * math.pi / period), dtype=np.float64)
    return theta, period


def _log_near(
    sizes: FloatArray, counts: FloatArray, x: float, y: FloatArray, s: float, theta: FloatArray
) -> ComplexArray:
    """Log of the product of (miss + hit z)^count one by one; shape (y, frequencies)."""
    z = np.exp(1j * theta)
    scale = math.exp(s)
    product = np.ones((len(y), len(theta)), dtype=np.complex128)
    log = np.zeros((len(y), len(theta)), dtype=np.complex128)
    level = 0.0
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        hit, miss = x / size * scale, (size - x) / size
        level += count * math.log(hit + miss)
        factor = (hit * z) / (hit + miss) + (np.maximum(size - y, 0.0) / size / (hit + miss))[
            :, None
        ]
        if count == 1:
            product *= factor
        else:
            with np.errstate(divide="ignore"):
                log += count * np.log(factor)
    with np.errstate(divide="ignore"):
        return np.log(product) + log + level


def _log_far(
    sizes: FloatArray, counts: FloatArray, x: float, t: FloatArray, w: ComplexArray
) -> ComplexArray:
    """The same of sizes far above all y = x + t, by interpolation in t."""
    if not len(sizes):
        return np.zeros((len(t), len(w)), dtype=np.complex128)
    top = float(t.max())
    at = t
    if len(t) > _CHEBYSHEV:
        at = top / 2 * (1 - np.cos(np.pi * (np.arange(_CHEBYSHEV) + 0.5) / _CHEBYSHEV))
    lost = at[:, None, None] / sizes
    log: ComplexArray = (np.log1p(x / sizes * np.expm1(w)[:, None] - lost) * counts).sum(2)
    if at is not t:
        log = _lagrange(at, t) @ log
    return log


def _lagrange(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """Matrix of the interpolation from Chebyshev nodes, barycentric."""
    k = np.arange(len(nodes))
    weight = (-1.0) ** k * np.sin(np.pi * (k + 0.5) / len(nodes))
    away = at[:, None] - nodes
    exact = away == 0
    ratio = weight / np.where(exact, 1.0, away)
    ratio = np.where(exact.any(1)[:, None], exact, ratio)
    matrix: FloatArray = ratio / ratio.sum(1)[:, None]
    return matrix


def _bends(u: FloatArray, pivot: float, inverse: bool) -> tuple[FloatArray, FloatArray]:
    """h of g, and of g^2, at u; the sign such that they are to be taken off."""
    if not inverse:
        return np.zeros_like(u), np.full_like(u, 0.5)
    bend = 0.5 / (u * (u - 0.5) * (u + 0.5))
    after, before = -0.5 / (u * (u + 0.5)), 0.5 / (u * (u - 0.5))
    return bend, 2 * (pivot - u) / (u * pivot) * bend + after**2 + before**2
