"""How likely chance is to rank at least so well: tails of hits@k and of the median."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from .gaps import widening
from .order import Order
from .pieces import nodes, pieces, stand_ins
from .poisson_binomial import FREQUENCIES, invert, saddle
from .rank_sums import Tail
from .tasks import Tasks

if TYPE_CHECKING:
    from ...arrays import FloatArray

_ROUNDING = 4e-16
_FOLDS = 42.0


def at_least(hit: FloatArray, miss: FloatArray, counts: FloatArray, number: int) -> Tail:
    """P(at least so many independent events happen).

    Parameters
    ----------
    hit, miss : ndarray of float64, shape (d,)
        Probabilities of the events of each group, and 1 minus those.
    counts : ndarray of float64, shape (d,)
        How many events each group has.
    number : int

    Examples
    --------
    >>> half = np.array([0.5])
    >>> round(math.exp(at_least(half, half, np.array([4.0]), 3).log), 12)  # 5 of 16
    0.3125
    """
    possible = hit > 0
    number -= int(counts[miss == 0].sum())
    open_ = possible & (miss > 0)
    total = int(counts[open_].sum())
    if number <= 0:
        return Tail(0.0, "exact", 0.0)
    if number > total:
        return Tail(-math.inf, "exact", 0.0)
    law = invert(
        hit[None, open_], miss[None, open_], counts[open_], np.array([number - 0.5]), "above"
    )
    log = float(law.exponent[0]) + math.log(float(law.factor[0]))
    error = _ROUNDING * (50 + abs(log) + math.sqrt(total) * 5)
    if law.upper[0]:
        return Tail(min(log, 0.0), "exact", error)
    part = min(math.exp(log), 1.0)
    return Tail(math.log1p(-part) if part < 1 else -math.inf, "exact", error)


def hits_at_least(tasks: Tasks, k: float, number: int) -> Tail:
    """P(at least so many ranks are <= k).

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(hits_at_least(compress([3, 4, 5]), 2, 3).log), 12)  # 2/3 2/4 2/5
    0.133333333333
    """
    size = tasks.sizes.astype(np.float64)
    cutoff = float(k)
    return at_least(
        np.minimum(cutoff / size, 1.0),
        np.maximum(size - cutoff, 0.0) / size,
        tasks.multiplicities.astype(np.float64),
        number,
    )


def median_at_most(tasks: Tasks, twice: int) -> Tail:
    """P(2 * median <= an integer), the median of an even number the mean of the middle two.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(median_at_most(compress([2, 2]), 3).log), 12)  # not both 2
    0.75
    """
    count, half = tasks.count, tasks.count // 2
    x = twice // 2
    first = hits_at_least(tasks, x, half + count % 2) if x >= 1 else Tail(-math.inf, "exact", 0.0)
    if count % 2 or x < 1:
        return first
    order = Order(tasks)
    # a <= x, but b so far above that the sum is too large
    over = _too_far(order, twice)
    if over == 0.0:
        return first
    scale = math.exp(first.log)
    if scale < 1e-290:
        ratio = _too_far(order, twice, -first.log)
        left = 1 - ratio
    else:
        left = 1 - over / scale
    if left <= 0:
        return Tail(hits_at_least(tasks, x, half + 1).log, "exact", math.inf)
    error = (first.error + 1e-14) / left
    return Tail(min(first.log + math.log(left), 0.0), "exact", error)


def _too_far(order: Order, twice: int, raised: float = 0.0) -> float:
    """Sum over x of P(a = x, b > twice - x) times exp(raised), a and b the two middle ranks.

    With J(x, y) = P(a <= x, b > y), the coefficient of z^(n/2) in the product of p(x) z + q(y), it
    is J(x, y) - J(x - 1, y); that difference is taken inside the product, where it does not cancel.
    """
    sizes = order.tasks.sizes
    top = twice // 2
    least = max(1, twice - order.top)
    if least > top:
        return 0.0
    mean, _ = order.moments(np.array([top]))
    centre = max(order.centre, 1.0)
    rate = max(float(mean[0] - order.certain(np.array([top]))[0]), 1e-300) / top
    width = min(1 / rate, top / centre)
    edges = widening(0, width, top - least, 12)
    kinks = np.unique(np.concatenate([top - sizes[::-1], sizes - (twice - top)]))
    total = 0.0
    for low, high in itertools.pairwise(edges.tolist()):
        steps, weight, _ = nodes(pieces(np.array([low, high]), kinks))
        part = 0.0
        for i in range(0, len(steps), 64):
            at = top - steps[i : i + 64]
            part += float(_differences(order, at, twice - at, raised) @ weight[i : i + 64])
        total += part
        if part <= 1e-19 * total:
            break
    return total


def _differences(order: Order, x: FloatArray, y: FloatArray, raised: float) -> FloatArray:
    """P(a = x, b > y) of the middle ranks a and b."""
    start = int(np.searchsorted(order.tasks.sizes, x.min() - 1, side="right"))
    stop = max(int(np.searchsorted(order.tasks.sizes, y.max(), side="right")), start)
    far, far_counts = stand_ins(order.sizes[stop:], order.counts[stop:])
    size = np.concatenate([order.sizes[start:stop], far])
    counts = np.concatenate([order.counts[start:stop], far_counts])
    at, to = x[:, None], y[:, None]
    hit, miss = np.minimum(at / size, 1.0), np.maximum(size - to, 0.0) / size
    drop = (at <= size) / size
    total = float(counts.sum())
    centre = np.full(len(x), order.centre - float(order.certain(x.min() - 1)))
    sure = order.certain(y) - float(order.certain(x.min() - 1))
    s, sigma = saddle(hit, miss, counts, np.clip(centre, sure + 0.5, total - 0.5))
    grown = hit * np.exp(s)[:, None]
    level = (np.log(grown + miss) * counts).sum(1) - s * centre
    whole = 2 * math.ceil((total + 1 - 1e-9) / 2)
    if whole <= 2 * FREQUENCIES:
        period, frequencies = np.full(len(x), float(whole)), whole // 2
    else:
        period, frequencies = np.maximum(14 * sigma, 2.0 * FREQUENCIES), FREQUENCIES
    found = np.zeros(len(x))
    for k in range(frequencies):
        theta = (k + 0.5) * 2 * math.pi / period
        z = np.exp(1j * theta)[:, None]
        factor = (grown * z + miss) / (grown + miss)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = (np.log(factor) * counts).sum(1) - 1j * theta * centre
            step = drop * np.exp(s)[:, None] * z / ((grown + miss) * factor)
            kept = (np.log1p(-step) * counts).sum(1)
        # a task that is certain to be <= x, but not <= x - 1, leaves nothing
        some = kept.real > -40
        taken = np.where(some, -np.expm1(np.where(some, kept, 0.0)), 1.0)
        found += (np.exp(logs) * taken).real
    result: FloatArray = np.exp(level + raised) * np.maximum(found * 2 / period, 0.0)
    return result
