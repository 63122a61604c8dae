"""Tails of sums of integers to nearly all digits: of the ranks, and of terms on small lattices.

The law of the sum of the ranks, each uniform on 1..N, is computed by inclusion and exclusion in
integers for few tasks, and for many by inversion along a line through the saddle point, as the
Poisson-binomial law is. Laws on small lattices, from few candidates or from weights that are small
integers, are computed by Fourier transforms.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .saddlepoints import lugannani_rice
from .task_groups import Law, Tail, Tasks, log_of_rest

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from .order import ComplexArray

_TERMS = 4096  # the most terms of inclusion and exclusion
_POWER = 64  # the most tasks of inclusion and exclusion
_WORK = 1 << 23  # the most frequencies times sizes of an inversion
_CELLS = 1 << 16  # frequencies times sizes in memory at once
_PERIOD = 18.0  # the period of an inversion, in standard deviations
_CLEAR = 10.0  # standard deviations above the mean beyond which there is no weight
_DECAY = 41.0  # e-folds until the characteristic function counts as 0
_NEAR = -60.0  # log probability above which the wrapped tail of the other side counts


def sum_at_most(tasks: Tasks, total: int) -> Tail:
    """P(sum of the ranks <= total), whatever their weights.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> math.exp(sum_at_most(compress([3, 4, 5]), 10).log).__round__(12)  # 56 of 60
    0.933333333333
    """
    return _tail(tasks, total - tasks.count)


def sum_at_least(tasks: Tasks, total: int) -> Tail:
    """P(sum of the ranks >= total); r and N + 1 - r have one law.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> math.exp(sum_at_least(compress([3, 4, 5]), 11).log).__round__(12)  # 4 of 60
    0.066666666667
    """
    return _tail(tasks, _largest(tasks) + tasks.count - total)


def _largest(tasks: Tasks) -> int:
    """The sum of N - 1 over the tasks, in integers of any size."""
    pairs = zip(tasks.sizes.tolist(), tasks.multiplicities.tolist(), strict=True)
    return sum((size - 1) * count for size, count in pairs)


def _tail(tasks: Tasks, slack: int) -> Tail:
    """P(V <= slack), where V is the sum of independent numbers uniform on 0..N-1."""
    largest = _largest(tasks)
    if slack < 0:
        return Tail(-math.inf, "exact", 0.0)
    if slack >= largest:
        return Tail(0.0, "exact", 0.0)
    if tasks.count <= _POWER and math.prod((tasks.multiplicities + 1).tolist()) <= _TERMS:
        return Tail(_inclusion_exclusion(tasks, slack), "exact", 1e-14)
    law = _RankSumLaw(tasks)
    if 2 * slack + 1 <= largest:
        return law.tail(slack)
    other = law.tail(largest - slack - 1)
    part = math.exp(other.log)
    return Tail(math.log1p(-part), other.method, other.error * part / (1 - part))


def _inclusion_exclusion(tasks: Tasks, slack: int) -> float:
    """Log of the probability: the sum over sets A of (-1)^|A| C(slack - sum of N in A + n, n)."""
    signed = {0: 1}
    for size, count in zip(tasks.sizes.tolist(), tasks.multiplicities.tolist(), strict=True):
        following: dict[int, int] = {}
        for shift, factor in signed.items():
            for k in range(min(count, (slack - shift) // size) + 1):
                at = shift + k * size
                following[at] = following.get(at, 0) + factor * (-1) ** k * math.comb(count, k)
        signed = following
    n = tasks.count
    ways = sum(factor * math.comb(slack - shift + n, n) for shift, factor in signed.items())
    pairs = zip(tasks.sizes.tolist(), tasks.multiplicities.tolist(), strict=True)
    total = math.prod(size**count for size, count in pairs)
    if 2 * ways > total:
        return math.log1p(-((total - ways) / total))
    return math.log(ways / total) if ways / total > 1e-300 else math.log(ways) - math.log(total)


class _RankSumLaw:
    """The generating function of V on lines exp(-w): E exp(-w V), w = s + i t."""

    def __init__(self, tasks: Tasks) -> None:
        self.sizes = tasks.sizes.astype(np.float64)
        self.counts = tasks.multiplicities.astype(np.float64)
        self.largest = float(_largest(tasks))

    def moments(self, s: float) -> tuple[float, float]:
        """Mean and variance of V under the weight exp(-s V)."""
        size, a = self.sizes, self.sizes * s
        large = np.clip(a, 0.1, 700.0)
        near = (size - 1) / 2 - s * (size**2 - 1) / 12
        near_variance = (size - 1) * (size + 1) / 12 * (1 - s**2 * (size**2 + 1) / 20)
        one = max(s, 0.1 / float(size[-1]))
        mean = 1 / np.expm1(one) - size / np.expm1(large)
        variance = (np.sinh(one / 2) ** -2 - (size / np.sinh(large / 2)) ** 2) / 4
        mean, variance = np.where(a < 0.1, near, mean), np.where(a < 0.1, near_variance, variance)
        return float((self.counts * mean).sum()), float((self.counts * variance).sum())

    def saddle(self, centre: float, precision: float = 0.01) -> tuple[float, float]:
        """The s >= 0 at which the mean is the centre, nearly, and the standard deviation there.

        `precision` is in standard deviations. The method is Newton's on log(1 + 1 / mean), which
        is s itself for a geometric law.
        """
        n = float(self.counts.sum())
        s, low, high = 0.0, 0.0, math.inf
        mean, variance = self.moments(s)
        for _ in range(200):
            off = mean - centre
            if abs(off) <= precision * math.sqrt(variance):
                break
            low, high = (s, high) if off > 0 else (low, s)
            away = math.log1p(n / centre) - math.log1p(n / mean)
            moved = s + away * mean * (1 + mean / n) / variance
            if not low < moved < high:
                moved = (low + high) / 2 if high < math.inf else 2 * s
            s = moved
            mean, variance = self.moments(s)
        return s, math.sqrt(variance)

    def log(self, s: float) -> float:
        """Log of E exp(-s V)."""
        size, a = self.sizes, self.sizes * s
        near = _log_sinhc(a / 2) - _log_sinhc(np.array([s / 2])) - s * (size - 1) / 2
        one = -math.expm1(-max(s, 1 / float(size[-1])))
        far = np.log(-np.expm1(-np.maximum(a, 1.0)) / (size * one))
        return float((self.counts * np.where(a < 1, near, far)).sum())

    def tail(self, slack: int) -> Tail:
        """P(V <= slack), for a slack below the mean."""
        centre = slack + 0.5
        s, sigma = self.saddle(centre)
        exponent = self.log(s) + s * centre
        whole = 2 * math.ceil((self.largest + 1) / 2)
        mean, variance = self.moments(0.0)
        # one period above the tail there is no weight, or all probability, which is subtracted then
        clear = min(mean + _CLEAR * math.sqrt(variance), self.largest) - slack
        end = self.end(s, sigma)
        period = max(_PERIOD * sigma, min(_DECAY / max(s, 1e-300), clear))
        if end >= math.pi:
            period = max(math.ceil(period / 2) * 2.0, 64.0)
        period = min(period, float(whole))
        count = math.ceil(min(end, math.pi) * period / (2 * math.pi))
        if count * len(self.sizes) > _WORK:
            return self.approximate(centre)
        total, step = 0.0, max(1, _CELLS // len(self.sizes))
        for first in range(0, count, step):
            k = np.arange(first, min(first + step, count))
            w = np.asarray(s + 1j * (k + 0.5) * (2 * math.pi / period), dtype=np.complex128)
            total += float((np.exp(self.ratio(w, s, centre)) / np.sinh(w / 2)).real.sum())
        value = total / period
        if period >= clear and exponent > _NEAR:
            back = math.exp(-min(s * period, 700.0))
            value += math.exp(-exponent) * back / (1 + back)
        error = 1e-14 + 4e-16 * (float(self.counts.max()) + abs(exponent)) * 10
        return Tail(min(0.0, exponent + math.log(value)), "exact", error)

    def ratio(self, w: ComplexArray, s: float, centre: float) -> ComplexArray:
        """Log of exp(w centre) E exp(-w V), divided by its value at s."""
        each = np.expm1(-np.multiply.outer(w, self.sizes))
        each /= np.expm1(-w)[:, None] * self.sizes
        found: ComplexArray = np.log(each) @ self.counts - self.log(s) + (w - s) * centre
        return found

    def end(self, s: float, sigma: float) -> float:
        """The frequency after which the function is 0 to all digits; pi or more if none."""
        theta = np.geomspace(min(1 / sigma, 1.0), math.pi, 80)
        grown = np.minimum(self.sizes * s, 700.0)
        wide = np.log1p(np.exp(-grown)) - np.log(np.maximum(-np.expm1(-grown), 1e-300))
        narrow = 1.0 if s == 0 else -math.expm1(-s)
        if s == 0:
            wide = np.log(2 / self.sizes)
        fall = 0.5 * np.log(
            (0.0 if s == 0 else 1.0) + 4 * math.exp(-s) * np.sin(theta / 2) ** 2 / narrow**2
        )
        logs = np.minimum(wide - fall[:, None], 0.0) @ self.counts
        enough = np.flatnonzero(logs < -_DECAY)
        return float(theta[enough[0]]) if len(enough) else math.inf

    def approximate(self, centre: float) -> Tail:
        """The saddle point approximation for lattices."""
        s, _ = self.saddle(centre, 1e-9)
        exponent, variance = self.log(s) + s * centre, self.moments(s)[1]
        third, fourth = self.higher(s)
        log, error = lugannani_rice(exponent, s, variance, third, fourth, lattice=True)
        return Tail(log, "saddlepoint", error)

    def higher(self, s: float) -> tuple[float, float]:
        """Third and fourth cumulants of -V under the weight exp(-s V), by differences."""
        step = 0.01 / math.sqrt(self.moments(s)[1])
        below, here, above = (self.moments(s + k * step)[1] for k in (-1, 0, 1))
        return (above - below) / (2 * step), (above - 2 * here + below) / step**2


def _log_sinhc(x: FloatArray) -> FloatArray:
    """log(sinh(x) / x) for x >= 0, to all digits, also near 0."""
    square = np.minimum(x, 1.0) ** 2
    series = np.ones_like(x)
    for k in range(10, 1, -1):
        series = 1 + series * square / (2 * k * (2 * k + 1))
    large = np.maximum(x, 1.0)
    far = large + np.log1p(-np.exp(-2 * large)) - np.log(2 * large)
    found: FloatArray = np.where(x < 1, np.log1p(series * square / 6), far)
    return found


# -- small lattices --------------------------------------------------------------------------------
# The observed sum itself has a probability above 0, half of which smooth approximations lose. Here
# the whole law is computed by Fourier transforms, tilted so that the observed sum is in its middle
# and far tails keep their digits.

_SPAN = 1 << 21  # the largest span of the sum
_LATTICE_WORK = 1 << 24  # the most span times distinct pairs of candidates and weight
_DENOMINATOR = 1000  # the largest denominator of the ratio of two weights
_ERROR = 1e-12


def lattice_tail(tasks: Tasks, law: Law, observed: float) -> Tail | None:
    """P(sum of w f(r) >= observed) for a law in integers; None if it is too large.

    Parameters
    ----------
    tasks : Tasks
    law : Law
    observed : float
        The observed sum, with a relative error of at most 1e-9.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> tasks = compress([2, 2, 2], [1, 1, 2])  # (r + r' + 2 r'') / 4
    >>> ranks = Law(lambda r: -r, whole=lambda r: -r)
    >>> round(math.exp(lattice_tail(tasks, ranks, -5 / 4).log), 12)  # r'' is 1, one other at most 2
    0.375
    """
    whole, units = law.whole, _units(tasks.weights)
    if whole is None or units is None:
        return None
    factors, unit = units
    ends = np.stack([whole(np.ones_like(tasks.sizes)), whole(tasks.sizes)])
    counts, least = tasks.multiplicities.tolist(), ends.min(axis=0)
    steps = (ends.max(axis=0) - least).tolist()
    # in Python's integers, which do not wrap
    span = sum(w * s * n for w, s, n in zip(factors, steps, counts, strict=True))
    length = 1 << max(span, 1).bit_length()
    if not 0 < span <= _SPAN or length * len(counts) > _LATTICE_WORK:
        return None
    base = sum(w * v * n for w, v, n in zip(factors, least.tolist(), counts, strict=True))
    target = observed * law.scale / unit
    goal = math.ceil(target - 1e-9 * (1 + abs(target))) - base
    if goal <= 0:
        return Tail(0.0, "exact", 0.0)
    if goal > span:
        return Tail(-math.inf, "exact", 0.0)
    laws: list[FloatArray] = []
    for factor, size, lowest in zip(factors, tasks.sizes.tolist(), least.tolist(), strict=True):
        ranks, shares = law.outcomes(size)
        found = np.bincount(factor * (whole(ranks) - lowest), shares)
        laws.append(found.astype(np.float64, copy=False))
    upper = goal > sum(
        count * float(law @ np.arange(len(law))) for law, count in zip(laws, counts, strict=True)
    )
    if not upper:  # the other tail, mirrored
        laws, goal = [law[::-1] for law in laws], span - goal + 1
        if goal > span:
            return Tail(0.0, "exact", 0.0)
    log = _upper_tail(laws, counts, goal, length)
    return Tail(min(log, 0.0) if upper else log_of_rest(log), "exact", _ERROR)


def _units(weights: FloatArray) -> tuple[list[int], float] | None:
    """The weights as small integers times a unit; None if they are not."""
    from fractions import Fraction  # seldom needed, and not free to import

    least = float(weights.min())
    ratios = weights / least
    if float(ratios.max()) > _SPAN:
        return None
    common = 1
    for ratio in np.unique(ratios).tolist():
        common = math.lcm(common, Fraction(ratio).limit_denominator(_DENOMINATOR).denominator)
        if common > _SPAN:
            return None
    factors = np.rint(ratios * common)
    if (np.abs(ratios * common - factors) > 1e-11 * factors).any():
        return None
    return factors.astype(np.int64).tolist(), least / common


def _upper_tail(laws: list[FloatArray], counts: list[int], goal: int, length: int) -> float:
    """Log of P(sum >= goal), for a goal above the mean, inverted under the weight exp(t sum)."""
    t = _saddle(laws, counts, goal)
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    level = 0.0
    for law, count in zip(laws, counts, strict=True):
        top = len(law) - 1
        tilted = law * np.exp(t * (np.arange(len(law)) - top))
        total = float(tilted.sum())
        level += count * (math.log(total) + t * top)
        product *= np.fft.rfft(tilted / total, length) ** count
    tail = np.fft.irfft(product, length)[goal:]
    share = float((tail * np.exp(-t * np.arange(len(tail)))).sum())
    return level - t * goal + math.log(max(share, 1e-300))


def _saddle(laws: list[FloatArray], counts: list[int], goal: int) -> float:
    """The t >= 0, up to a limit, at which the mean of the tilted sum is nearly the goal."""

    def mean(t: float) -> float:
        total = 0.0
        for law, count in zip(laws, counts, strict=True):
            values = np.arange(len(law))
            tilted = law * np.exp(t * (values - values[-1]))
            total += count * float(tilted @ values) / float(tilted.sum())
        return total

    low, high = 0.0, 1e-6
    while mean(high) < goal and high < 40:
        low, high = high, 4 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < goal else (low, middle)
    return low
