"""How often a sum with random signs is as large as a given one: exactly, or by tilted normals.

Sizes are |d_1|, |d_2|, ..., each with a sign by the toss of a coin. A sum of all of them that is at
least S flips sizes that add up to at most the budget B = (their total - S) / 2. All functions give
the probability of that.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray

    ComplexArray = npt.NDArray[np.complex128]

HALVES = 30  # so many sizes have all signs, by two halves
FEW = 1 << 12  # combinations of the numbers of flips of each size: up to so many are counted
GRID = 1 << 17  # so rather than by halves, and at most so many
STEPS = 20_000_000  # so many additions are made for a sum of whole steps
MOST_DOUBLINGS = 512  # of which none leaves float64
LARGEST = 1 << 12  # so many combinations of the largest sizes stand before the normals
SLACK = 1e-9  # of the total, within which two sums are equal
TILTED_BELOW = 5e-4  # one-sided
ERROR = 0.001  # relative, where nothing is left beyond the frequencies
SPACING = 0.2  # of frequencies, by the spread of the sum
FIRST = 128  # frequencies, from the lowest on; then twice as many and so on
FREQUENCIES = 1 << 14  # at most
WORK = 1_000_000  # numbers of sizes times frequencies
CHUNK = 250_000  # of these in memory at once
NEGLIGIBLE = 1e-6  # what frequencies add, after which no more are looked at
DECADE = 2.3
FREQUENT = 5  # so many equal sizes may make sums lie in lumps
MOST_FREQUENT = 8  # sizes whose lumps are looked for
HARMONICS = 12  # of each
BINS = 1 << 12  # of the rest of very many sizes, by their logarithms
NARROWEST = 1e-4  # beside the largest size: smaller ones are in one bin


class Classes(NamedTuple):
    """Sizes that are equal, gathered.

    Attributes
    ----------
    sizes : ndarray of float64, shape (k,)
        Above 0, in descending order.
    counts : ndarray of int64, shape (k,)
    """

    sizes: FloatArray
    counts: IntArray

    @property
    def number(self) -> int:
        """How many sizes there are, equal ones counted."""
        return int(self.counts.sum())

    @property
    def total(self) -> float:
        """Their sum."""
        return float(self.counts @ self.sizes)

    def up_to(self, limit: float) -> Classes:
        """Those of at most this size."""
        chosen = self.sizes <= limit
        return Classes(self.sizes[chosen], self.counts[chosen])


class Cumulants(NamedTuple):
    """The logarithm of E e^(tilt x), and the mean to the fourth cumulant of the tilted sum."""

    log: float
    mean: float
    variance: float
    third: float
    fourth: float


class Share(NamedTuple):
    """A probability, and the bound of its relative error: 0 where it is exact.

    The error is nan where it is unknown; the probability is not too small then.
    """

    value: float
    error: float = 0.0


def classes_of(sizes: FloatArray, counts: IntArray | None = None) -> Classes:
    """Gather equal sizes; those that are 0 but for rounding are left out.

    Examples
    --------
    >>> classes_of(np.array([1.0, 3.0, 0.0, 1.0 + 1e-15]))
    Classes(sizes=array([3., 1.]), counts=array([1, 2]))
    """
    if counts is None:
        counts = np.ones(len(sizes), np.int64)
    least = 1e-12 * float(sizes.max(initial=0.0))
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > least]
    sizes = sizes[order]
    counts = counts[order]
    if not len(sizes):
        return Classes(sizes, counts)
    starts = np.concatenate([[True], sizes[:-1] - sizes[1:] > least])
    group = np.cumsum(starts) - 1
    return Classes(sizes[starts], np.bincount(group, counts).astype(np.int64))


def share_exactly(classes: Classes, budget: float, most: int = GRID) -> Share | None:
    """Return the share of flips within a budget, by counting; None where there are too many.

    Parameters
    ----------
    classes : Classes
    budget : float
    most : int
        So many combinations of the numbers of flips of each size are tried.

    Examples
    --------
    >>> share_exactly(classes_of(np.array([3.0, 1.0, 1.0])), 1.0).value  # of 8: none, one, another
    0.375
    """
    limit = budget + SLACK * classes.total
    small = classes.up_to(limit)
    never = classes.number - small.number  # a larger one is flipped by none of them
    combinations = _count_combinations(small)
    if not small.number:
        share = 1.0
    elif small.number <= HALVES and combinations > FEW:
        share = share_by_halves(small, limit)
    elif combinations <= most:
        share = share_by_binomials(small, limit)
    else:
        return None
    return Share(math.ldexp(share, -never))


def _count_combinations(classes: Classes) -> float:
    """How many numbers of flips there are of all sizes but the most frequent one."""
    if len(classes.sizes) > GRID.bit_length():
        return math.inf
    numbers: list[int] = sorted((classes.counts + 1).tolist())
    return math.prod(numbers[:-1])


def share_by_halves(classes: Classes, limit: float) -> float:
    """Return the share of all flips that add up to at most a limit, by sums of two halves.

    Examples
    --------
    >>> share_by_halves(Classes(np.array([3.0, 1.0]), np.array([1, 2])), 1.5)
    0.375
    """
    sizes = np.repeat(classes.sizes, classes.counts)
    first = np.sort(subset_sums(sizes[::2]))
    second = np.sort(subset_sums(sizes[1::2]))
    found = int(np.searchsorted(second, limit - first, side="right").sum())
    return math.ldexp(found, -len(sizes))


def subset_sums(sizes: FloatArray) -> FloatArray:
    """Return the sums of all subsets.

    Examples
    --------
    >>> subset_sums(np.array([1.0, 3.0]))
    array([0., 1., 3., 4.])
    """
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums, sums + size])
    return sums


def share_by_binomials(classes: Classes, limit: float) -> float:
    """Return the share of flips within a limit, from how many of each size are flipped.

    The numbers of flips of all sizes but the most frequent one are tried; that of the last is
    binomial.

    Examples
    --------
    >>> share_by_binomials(Classes(np.array([3.0, 1.0]), np.array([1, 2])), 1.5)
    0.375
    """
    frequent = int(classes.counts.argmax())
    sums = np.zeros(1)
    weights = np.ones(1)
    for i, (size, count) in enumerate(zip(classes.sizes, classes.counts.tolist(), strict=True)):
        if i == frequent:
            continue
        sums = np.add.outer(sums, size * np.arange(count + 1)).ravel()
        weights = np.multiply.outer(weights, np.exp(log_binomial(count))).ravel()
        within = sums <= limit
        sums = sums[within]
        weights = weights[within]
    most = int(classes.counts[frequent])
    flips = np.minimum(np.floor((limit - sums) / classes.sizes[frequent]), most).astype(np.int64)
    return float((weights * cumulated_binomial(most)[flips]).sum())


@lru_cache(maxsize=8)
def log_binomial(count: int) -> FloatArray:
    """Return the logarithms of the probabilities of 0, 1, ..., count flips.

    Examples
    --------
    >>> np.exp(log_binomial(2)).round(12)
    array([0.25, 0.5 , 0.25])
    """
    from scipy.special import gammaln

    logs = gammaln(np.arange(1.0, count + 2))  # of the factorials 0!, 1!, ...
    found: FloatArray = logs[-1] - logs - logs[::-1] - count * math.log(2)
    return found


@lru_cache(maxsize=8)
def cumulated_binomial(count: int) -> FloatArray:
    """Return the probabilities of at most 0, 1, ..., count flips.

    Examples
    --------
    >>> cumulated_binomial(2).round(12)
    array([0.25, 0.75, 1.  ])
    """
    return np.cumsum(np.exp(log_binomial(count)))


def step_of(sizes: FloatArray) -> float:
    """Return the largest number of which all sizes are whole multiples; 0 if there is none.

    Examples
    --------
    >>> step_of(np.array([1.5, 0.6, 0.3])), step_of(np.array([1.0, math.pi]))
    (0.3, 0.0)
    """
    largest = float(sizes.max())
    rounding = 1e-9 * largest
    numbers = sizes
    while len(numbers):  # Euclid's algorithm
        step = float(numbers.min())
        if step <= 1e-6 * largest:
            return 0.0
        remainders = np.abs(numbers - step * np.rint(numbers / step))
        numbers = remainders[remainders > rounding]
        if len(numbers):
            numbers = np.append(numbers, step)
    multiples = np.rint(sizes / step)
    step = float(sizes.sum() / multiples.sum())
    fits = np.abs(sizes - step * multiples) <= rounding
    return step if fits.all() else 0.0


def share_by_steps(classes: Classes, budget: float, step: float) -> Share | None:
    """Return the share of flips within a budget of whole steps, by convolution; None if too long.

    Examples
    --------
    >>> share_by_steps(classes_of(np.array([3.0, 1.0, 1.0])), 1.0, 1.0).value
    0.375
    """
    most = round(budget / step)
    small = classes.up_to((most + 0.5) * step)
    never = classes.number - small.number  # a larger one is flipped by none of them
    if (most + 1) * small.number > STEPS:
        return None
    multiples = np.rint(small.sizes / step).astype(np.int64).tolist()
    law = np.zeros(most + 1)  # of the sum of flipped sizes, in steps, times a power of two
    law[0] = 1.0
    following = np.zeros_like(law)
    doublings = 0  # the power
    reach = 1  # so many of the law are not 0
    for multiple, count in zip(multiples, small.counts.tolist(), strict=True):
        for _ in range(count):
            reach = min(reach + multiple, most + 1)
            following[:multiple] = law[:multiple]
            np.add(law[multiple:reach], law[: reach - multiple], out=following[multiple:reach])
            law, following = following, law
            doublings += 1
            if doublings == MOST_DOUBLINGS:
                law *= math.ldexp(1.0, -doublings)
                doublings = 0
    return Share(math.ldexp(float(law.sum()), -never - doublings))


def share_by_normals(classes: Classes, budget: float, step: float = 0.0) -> Share:
    """Return nearly the share of flips within a budget.

    All signs of the largest sizes are tried; the sum of the others is normal but for its third and
    fourth cumulants. Below 5e-4 all signs are tilted first, so that the expected sum is the given
    one (the saddle point), which keeps the relative error small however far out that is. What the
    normals miss is added by integration of the characteristic functions.

    Parameters
    ----------
    classes : Classes
    budget : float
    step : float
        Of which all sizes are whole multiples, or 0: sums are then 2 steps apart, and the sum of
        the others is asked at the middle between two of them.

    Notes
    -----
    J. Robinson: Saddlepoint Approximations for Permutation Tests and Confidence Intervals. Journal
    of the Royal Statistical Society B 44 (1982).
    """
    small = classes.up_to(budget + SLACK * classes.total)
    never = classes.number - small.number
    beyond = small.total - 2 * budget - step
    large, rest = _split(small)
    tilt = 0.0
    found = _normals(large, rest, beyond, tilt)
    if found < TILTED_BELOW:
        tilt = saddle_point(_few(small), beyond)
        found = _normals(large, rest, beyond, tilt)
    missing, left = _missing(large, rest, beyond, tilt, step)
    found = min(found + missing, 1.0)
    if found <= left:  # a bound, which may be far too large
        return Share(math.ldexp(min(max(found, 0.0) + left, 1.0), -never), math.nan)
    return Share(math.ldexp(found, -never), ERROR + left / found)


def _split(classes: Classes) -> tuple[Classes, Classes]:
    """The largest sizes, all of whose signs are tried, and the rest."""
    left = classes.counts.copy()
    combinations = 1
    for i in range(len(left) - 1):
        count = min(int(left[i]), LARGEST // combinations - 1)
        if not count:
            break
        combinations *= count + 1
        left[i] -= count
    taken = classes.counts - left
    large = Classes(classes.sizes[taken > 0], taken[taken > 0])
    rest = Classes(classes.sizes[left > 0], left[left > 0])
    return large, _few(rest)


def _few(classes: Classes) -> Classes:
    """Very many sizes, gathered by their logarithms; the sum of squares in each bin stays."""
    if len(classes.sizes) <= 2 * BINS:
        return classes
    sizes = classes.sizes
    counts = classes.counts
    steps = np.log(sizes[0] / sizes) * (BINS / -math.log(NARROWEST))
    bins = np.minimum(steps, BINS).astype(np.int64)
    numbers = np.bincount(bins, counts)
    squares = np.bincount(bins, counts * np.square(sizes))
    filled = numbers > 0
    return Classes(np.sqrt(squares[filled] / numbers[filled]), numbers[filled].astype(np.int64))


def _missing(
    large: Classes, rest: Classes, beyond: float, tilt: float, step: float
) -> tuple[float, float]:
    """What the mixture of normals misses, and a bound of what is left.

    The characteristic function of the tilted sum is a product of those of its signs. What the
    normals miss is the inverse Fourier transform of its difference from that of the mixture, over
    the frequencies at which this is not small (or, of sums of whole steps, up to half a period).
    """
    all_sizes = Classes(
        np.concatenate([large.sizes, rest.sizes]), np.concatenate([large.counts, rest.counts])
    )
    spread = math.sqrt(_cumulants(all_sizes, tilt).variance)
    width = SPACING / spread
    most = int(min(FREQUENCIES, max(WORK / len(all_sizes.sizes), FIRST)))
    period = math.inf
    if step:
        period = math.pi / (2 * step)
        cells = max(1, math.ceil(period / width))
        if cells <= most:  # the whole period, in equal cells
            most = cells
            width = period / cells
    added = 0.0
    done = 0
    size = min(FIRST, most)
    while True:
        frequencies = width * (np.arange(done, done + size, dtype=np.float64) + 0.5)
        terms = _missing_at(frequencies, large, rest, beyond, tilt, step)
        added += float(terms.real.sum()) * width
        done += size
        end = done * width
        last = float(np.abs(terms[-(size // 4 + 1) :]).mean()) * end
        if done >= most or last < NEGLIGIBLE * width * spread:
            break
        size = min(done, most - done)
    left = 0.0
    if end < period * (1 - 1e-9):  # the rest of the integral, as if it went on for a decade
        left = DECADE * last + _lumps(all_sizes, rest, end, tilt, period)
    scale = math.exp(_cumulants(large, tilt).log + _cumulants(rest, tilt).log - tilt * beyond)
    return scale * added / math.pi, scale * left / math.pi


def _missing_at(
    frequencies: FloatArray,
    large: Classes,
    rest: Classes,
    beyond: float,
    tilt: float,
    step: float,
) -> ComplexArray:
    """What the mixture of normals misses at some frequencies."""
    points = tilt + 1j * frequencies
    of_large = _characteristic(large, frequencies, tilt)
    of_mixture = of_large * _normal_characteristic(rest, frequencies, tilt) / points
    divisors = points
    if step:  # a sum over whole steps in place of an integral
        divisors = np.sinh(points * step) / step
    of_all = of_large * _characteristic(rest, frequencies, tilt) / divisors
    terms: ComplexArray = (of_all - of_mixture) * np.exp(-1j * frequencies * beyond)
    return terms


def _characteristic(classes: Classes, frequencies: FloatArray, tilt: float) -> ComplexArray:
    """E e^(i w x) of the tilted sum: the product of cos(w s) + i tanh(tilt s) sin(w s)."""
    found = np.ones(len(frequencies), np.complex128)
    rows = max(1, CHUNK // max(len(frequencies), 1))
    for start in range(0, len(classes.sizes), rows):
        sizes = classes.sizes[start : start + rows, None]
        counts = classes.counts[start : start + rows, None]
        angles = sizes * frequencies
        factors = np.cos(angles) + 1j * np.tanh(tilt * sizes) * np.sin(angles)
        if (counts > 1).any():
            factors = factors**counts
        found *= np.prod(factors, axis=0)
    return found


def _normal_characteristic(rest: Classes, frequencies: FloatArray, tilt: float) -> ComplexArray:
    """The same of the nearly normal law of the rest."""
    law = _cumulants(rest, tilt)
    power = 1j * frequencies
    terms = law.third * power**3 / 6 + law.fourth * power**4 / 24 + law.third**2 * power**6 / 72
    found: ComplexArray = np.exp(power * law.mean + law.variance * power**2 / 2) * (1 + terms)
    return found


def _lumps(classes: Classes, rest: Classes, start: float, tilt: float, end: float) -> float:
    """A bound of what frequencies beyond `start` add: those at which frequent sizes have peaks."""
    if not (rest.counts >= FREQUENT).any():
        return 0.0
    sizes = classes.sizes
    counts = classes.counts
    left = 1 - np.square(np.tanh(tilt * sizes))
    frequent = rest.sizes[np.argsort(-rest.counts, kind="stable")[:MOST_FREQUENT]]
    frequencies = np.unique(np.outer(math.pi / frequent, np.arange(1, HARMONICS + 1)))
    frequencies = frequencies[(frequencies > start) & (frequencies < end)]
    squares = 1 - left * np.square(np.sin(np.outer(frequencies, sizes)))
    heights = np.exp(np.log(np.maximum(squares, 1e-300)) @ counts / 2)
    spread = math.sqrt(float(counts @ (left * sizes * sizes)))
    return float((heights / frequencies).sum()) * math.sqrt(2 * math.pi) / spread


def _cumulants(classes: Classes, tilt: float) -> Cumulants:
    sizes = classes.sizes
    counts = classes.counts
    tilted = np.tanh(tilt * sizes)
    left = 1 - tilted * tilted
    squares = counts * sizes * sizes
    far = np.abs(tilt * sizes)
    log = float(counts @ (far + np.log1p(np.exp(-2 * far)) - math.log(2)))
    mean = float(counts @ (sizes * tilted))
    variance = float(squares @ left)
    third = -2 * float(squares @ (sizes * tilted * left))
    fourth = float(squares @ (sizes * sizes * left * (6 * tilted * tilted - 2)))
    return Cumulants(log, mean, variance, third, fourth)


def _normals(large: Classes, rest: Classes, beyond: float, tilt: float) -> float:
    """The probability that sums of all signs of the large sizes and of the rest are beyond."""
    sums = np.zeros(1)
    logs = np.zeros(1)
    for size, count in zip(large.sizes, large.counts.tolist(), strict=True):
        sums = np.add.outer(sums, size * (count - 2.0 * np.arange(count + 1))).ravel()
        logs = np.add.outer(logs, log_binomial(count)).ravel()
    law = _cumulants(rest, tilt)
    distances = beyond - sums - law.mean
    return _mixture(distances, logs + law.log - tilt * law.mean, tilt, law)


def _mixture(distances: FloatArray, offset: FloatArray, tilt: float, law: Cumulants) -> float:
    """Add up e^offset E(e^(-tilt x); x > distance), of a law about 0 that is nearly normal.

    With the standardised z = x / sigma its density is the normal one times 1 + r3 / 6 He3(z) +
    r4 / 24 He4(z) + r3^2 / 72 He6(z), of Hermite's polynomials; each term is integrated by parts.
    """
    from scipy.special import log_ndtr

    spread = math.sqrt(law.variance)
    slope = tilt * spread
    z = distances / spread
    skewness = law.third / spread**3
    excess = law.fourth / law.variance**2
    exponent = offset - slope * z - z * z / 2
    edge = np.exp(exponent) / math.sqrt(2 * math.pi)
    weights = {3: skewness / 6, 4: excess / 24, 6: skewness * skewness / 72}
    integral = np.exp(offset + slope * slope / 2 + log_ndtr(-z - slope))
    added = integral.copy()
    before = np.zeros_like(z)
    hermite = np.ones_like(z)  # of order 0, then 1, ...
    for order in range(1, 7):
        integral = hermite * edge - slope * integral
        following = z * hermite - (order - 1) * before
        before = hermite
        hermite = following
        if order in weights:
            added += weights[order] * integral
    return float(added.sum())


def saddle_point(classes: Classes, beyond: float) -> float:
    """Return the tilt of all signs with which the expected sum is the given one.

    Examples
    --------
    >>> round(saddle_point(classes_of(np.ones(10)), 10 * math.tanh(0.3)), 5)
    0.3
    """
    from scipy.optimize import brentq

    sizes = classes.sizes

    def excess(tilt: float) -> float:
        return float(classes.counts @ (sizes * np.tanh(tilt * sizes))) - beyond

    low = 0.0
    high = 1 / float(sizes.max())
    while excess(high) < 0 and high * float(sizes.min()) < 20:
        low = high
        high *= 2
    if excess(high) < 0:
        return high
    return float(brentq(excess, low, high, rtol=1e-6))
