"""Tails of the laws of hits@k and of the median under chance."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .order import Order, frequencies, invert, saddle
from .sums import nodes, pieces, stand_ins, widening
from .task_groups import Tail, Tasks, log_of_rest

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from .order import ComplexArray

_ROUNDING = 4e-16
_PERIOD = 14.0  # in standard deviations
_LOST = 1e-3  # with a larger error a difference of probabilities is not used
_FEW = 256  # up to so many tasks are multiplied one by one


def at_least(hit: FloatArray, miss: FloatArray, counts: FloatArray, number: int) -> Tail:
    """P(at least `number` independent events happen).

    Parameters
    ----------
    hit, miss : ndarray of float64, shape (d,)
        The probabilities of the events of each group, and 1 minus these.
    counts : ndarray of float64, shape (d,)
        The number of events in each group.
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
    return Tail(log_of_rest(log), "exact", error)


def hits_at_least(tasks: Tasks, k: float, number: int) -> Tail:
    """P(at least `number` ranks are <= k).

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(hits_at_least(compress([3, 4, 5]), 2, 3).log), 12)  # 2/3 2/4 2/5
    0.133333333333
    """
    hit, miss, counts = _hit_shares(tasks, k)
    return at_least(hit, miss, counts, number)


def hits_at_most(tasks: Tasks, k: float, number: int) -> Tail:
    """P(at most `number` ranks are <= k).

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(hits_at_most(compress([3, 4, 5]), 2, 0).log), 12)  # 1/3 2/4 3/5
    0.1
    """
    hit, miss, counts = _hit_shares(tasks, k)
    return at_least(miss, hit, counts, tasks.count - number)


def _hit_shares(tasks: Tasks, k: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The probabilities of a rank <= k and of one beyond, and how many tasks have these."""
    size, cutoff = tasks.sizes.astype(np.float64), float(k)
    hit, miss = np.minimum(cutoff / size, 1.0), np.maximum(size - cutoff, 0.0) / size
    return hit, miss, tasks.multiplicities.astype(np.float64)


def median_at_least(tasks: Tasks, twice: int) -> Tail:
    """P(2 * median >= twice).

    Notes
    -----
    An even number of tasks of unlike N has 1 - P(2 * median < twice). Where that is too small for
    its digits, p lies between the probabilities that the lower and that the upper one of the middle
    two ranks is so bad.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(median_at_least(compress([2, 2]), 4).log), 12)  # both 2
    0.25
    """
    count, half = tasks.count, tasks.count // 2
    if count % 2:
        return hits_at_most(tasks, (twice + 1) // 2 - 1, half)
    if len(tasks.sizes) == 1:  # r and N + 1 - r have one law
        return median_at_most(tasks, 2 * (int(tasks.sizes[0]) + 1) - twice)
    other = median_at_most(tasks, twice - 1)
    p = -math.expm1(other.log)
    if p > 0 and (error := (other.error + 4e-16) * (1 - p) / p) < _LOST:
        return Tail(math.log(p), other.method, error)
    low = hits_at_most(tasks, (twice + 1) // 2 - 1, half - 1).log
    high = hits_at_most(tasks, (twice + 1) // 2 - 1, half).log
    ratio = math.exp(low - high) if high > -math.inf else 0.0
    return Tail(high + math.log((1 + ratio) / 2), "bounds", (1 - ratio) / (1 + ratio))


def median_at_most(tasks: Tasks, twice: int) -> Tail:
    """P(2 * median <= twice); the median of an even number of ranks is the mean of the middle two.

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
    # for the middle two, a <= b: both are <= x, or a <= x and b is not too far above
    both = hits_at_least(tasks, x, half + 1)
    if both.log == 0:
        return both
    rest = _straddling_sum(Order(tasks), twice, -first.log)
    log = float(np.logaddexp(both.log, first.log + math.log(rest))) if rest > 0 else both.log
    # with logarithms, sizes that are orders of magnitude apart may lose as many digits
    spread = _ROUNDING * float(tasks.sizes[-1]) / float(tasks.sizes[0]) if count > _FEW else 0.0
    return Tail(min(log, 0.0), "exact", first.error + both.error + 1e-13 + min(spread, 1e-2))


def _straddling_sum(order: Order, twice: int, raised: float) -> float:
    """Sum over x <= c = twice // 2 of P(a = x, c < b <= twice - x), times exp(raised)."""
    sizes = order.tasks.sizes
    top = twice // 2
    mean, _ = order.moments(np.array([top]))
    rate = max(float(mean[0] - order.certain(np.array([top]))[0]), 1e-300) / top
    width = min(1 / rate, top / max(order.centre, 1.0))
    edges = widening(0, width / 2, top - 1, 12, growth=0.4)
    kinks = np.unique(np.concatenate([top - sizes[::-1], sizes - (twice - top)]))
    total = 0.0
    for low, high in itertools.pairwise(edges.tolist()):
        steps, weight, _ = nodes(pieces(np.array([low, high]), kinks))
        part = 0.0
        for i in range(0, len(steps), 64):
            at = np.maximum(top - steps[i : i + 64], 1.0)
            terms = _differences(order, at, float(top), twice - at, raised)
            part += float(terms @ weight[i : i + 64])
        total += part
        # the terms that are left have a < c - high, which bounds them
        if total > 0 and high < top:
            left = hits_at_least(order.tasks, top - high, order.tasks.count // 2).log
            if left + raised < math.log(total) - 40:
                break
    return total


def _differences(order: Order, x: FloatArray, c: float, y: FloatArray, raised: float) -> FloatArray:
    """P(a = x, c < b <= y) of the middle ranks a and b, times exp(raised).

    With J(x, y) = P(a <= x, b > y), the coefficient of z^(n/2) in the product of A = p(x) z + q(y),
    it is J(x, c) - J(x - 1, c) - J(x, y) + J(x - 1, y). These are nearly equal, so the differences
    are computed inside: B is A at y, d = p(x) - p(x - 1), e = q(c) - q(y), and

        prod A - prod (A - d z) - prod B + prod (B - d z) = prod A [(1 - S) (1 - R) + S R (T - 1)]

    with the products R of 1 - d z / A, S of 1 - e / A, and T of 1 - d z e / (B (A - d z)).
    """
    known = order.tasks.sizes
    start = int(np.searchsorted(known, x.min() - 1, side="right"))
    stop = max(int(np.searchsorted(known, y.max(), side="right")), start)
    few = order.tasks.count <= _FEW
    far, far_counts = order.sizes[stop:], order.counts[stop:]
    if not few:
        far, far_counts = stand_ins(far, far_counts)
    size = np.concatenate([order.sizes[start:stop], far])
    counts = np.concatenate([order.counts[start:stop], far_counts])
    at, to = x[:, None], y[:, None]
    hit, miss = np.minimum(at / size, 1.0), np.maximum(size - c, 0.0) / size + 0 * at
    drop = (at <= size) / size
    before, beyond = np.where(at <= size, (at - 1) / size, 1.0), np.maximum(size - to, 0.0) / size
    less = np.clip(np.minimum(to, size) - c, 0.0, None) / size
    total = float(counts.sum())
    removed = float(order.certain(x.min() - 1))
    centre = np.full(len(x), order.centre - removed)
    sure = float(order.certain(np.array([c]))[0]) - removed
    s, sigma = saddle(hit, miss, counts, np.clip(centre, sure + 0.5, total - 0.5))
    scale = np.exp(s)[:, None]
    whole = hit * scale + miss
    level = (np.log(whole) * counts).sum(1) - s * centre
    theta, period = frequencies(total, sigma, _PERIOD)
    z = scale * np.exp(1j * theta)
    parts = _Factors(hit, miss, before, beyond, drop, less, whole)
    terms = _one_by_one(parts, counts, z) if few else _by_logs(parts, counts, z)
    found = (terms * np.exp(-1j * theta * centre[:, None])).real.sum(1) * 2 / period
    result: FloatArray = np.exp(level + raised) * np.maximum(found, 0.0)
    return result


class _Factors(NamedTuple):
    """For each task p(x), q(c), p(x - 1), q(y), the differences d and e, and A at the saddle."""

    hit: FloatArray
    miss: FloatArray
    before: FloatArray
    beyond: FloatArray
    drop: FloatArray
    less: FloatArray
    whole: FloatArray


def _one_by_one(parts: _Factors, counts: FloatArray, z: ComplexArray) -> ComplexArray:
    """The difference of the four products over their size at the saddle point, task by task.

    The loop updates the product of B - d z over the tasks so far, its differences from the products
    of A - d z and of B, and the difference of all four. Nothing cancels.
    """
    least = np.ones_like(z)
    from_d, from_e, all_four = np.zeros_like(z), np.zeros_like(z), np.zeros_like(z)
    for j, count in enumerate(counts.tolist()):
        hit, miss, before, beyond, drop, less, whole = (part[:, j, None] for part in parts)
        both, d, e = (hit * z + miss) / whole, drop * z / whole, less / whole
        only_d, only_e = (before * z + miss) / whole, (hit * z + beyond) / whole
        last = (before * z + beyond) / whole
        for _ in range(int(count)):
            all_four = both * all_four - d * from_d - e * from_e
            from_d, from_e = only_d * from_d - e * least, only_e * from_e - d * least
            least = least * last
    return all_four


def _by_logs(parts: _Factors, counts: FloatArray, z: ComplexArray) -> ComplexArray:
    """The same as `_one_by_one`, computed by logarithms for many tasks."""
    hit, miss, before, beyond, drop, less, whole = parts
    found = np.empty_like(z)
    for k in range(z.shape[1]):
        at = z[:, k, None]
        a, left = hit * at + miss, before * at + miss
        none = left == 0  # p(x - 1) = q(c) = 0: R is 0, and T does not matter
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = (np.log(a / whole) * counts).sum(1)
            each = -drop * at / np.where(none, 1.0, left) * (less / (hit * at + beyond))
            bracket = _four_products(
                _log_product(-drop * at / a, counts),
                _log_product(-less / a, counts),
                _log_product(np.where(none, 0.0, each), counts),
            )
        found[:, k] = np.exp(logs) * bracket
    return found


def _four_products(r: ComplexArray, s: ComplexArray, t: ComplexArray) -> ComplexArray:
    """(1 - S) (1 - R) + S R (T - 1) = 1 - R - S + S R T from logs, by the more accurate form."""
    fine = (np.expm1(s) * np.expm1(r), np.exp(s + r) * np.expm1(t))
    plain = (np.ones_like(r), -np.exp(r), -np.exp(s), np.exp(s + r + t))
    sizes = [np.max(np.abs(parts), axis=0) for parts in (fine, plain)]
    return np.where(sizes[0] < sizes[1], sum(fine), sum(plain))


def _log_product(terms: ComplexArray, counts: FloatArray) -> ComplexArray:
    """Log of the product of 1 + terms; a large negative number where the product is 0.

    NumPy's log1p of complex numbers is only as accurate as the log of 1 + terms.
    """
    x, y = terms.real, terms.imag
    near = 0.5 * np.log1p(np.maximum(x * (2 + x) + y * y, -0.9))
    with np.errstate(divide="ignore"):
        size = np.where(np.abs(terms) < 0.5, near, np.log(np.hypot(1 + x, y)))
    found = np.empty(len(terms), dtype=np.complex128)
    found.real = np.maximum((size * counts).sum(1), -700.0)
    found.imag = (np.arctan2(y, 1 + x) * counts).sum(1)
    return found
