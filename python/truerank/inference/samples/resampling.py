"""Resamples of units, and the bounds that follow from the values of a statistic in them.

A resample is represented by how often it holds each unit, so that statistics of thousands of
resamples are products with a matrix of such counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from ...inputs.progress_listeners import Progress, as_listener
from ..distributions import normal_cdf, normal_quantile
from ..proportions import tail_of

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray
    from .functionals import BoundedFunctional

_WATCH: ContextVar[ResampleWatch | None] = ContextVar("truerank_resamples", default=None)

_REPORTS = 100  # at most, to a listener in a pass

CHUNK = 1 << 16  # counts in memory at once: 0.5 MB stay in a cache, and are not mapped each time
MAX_LOST_SHARE = 0.01  # up to this share of the resamples may have no value and be left out
# Values of a statistic that differ by less than this are equal but for rounding.
RELATIVE_SLACK = 1e-12
ABSOLUTE_SLACK = 1e-15  # near 0


def draw_resamples(units: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Draw resamples: each takes as many units as there are, uniformly and with replacement.

    Parameters
    ----------
    units : int
        The number of units, >= 1.
    resamples : int
        The number of resamples.
    seed : int
        Passed to `numpy.random.default_rng`, whose integers are the same on every machine with one
        version of NumPy.

    Yields
    ------
    ndarray of int64, shape (m, units)
        How often each of m resamples holds each unit; a row sums to `units`. A chunk holds about
        `CHUNK` numbers, and all chunks together have `resamples` rows.

    Examples
    --------
    >>> [chunk.sum(axis=1) for chunk in draw_resamples(3, 2, seed=0)]
    [array([3, 3])]
    """
    rng = np.random.default_rng(seed)
    for rows in _chunk_rows(units, resamples):
        chosen = rng.integers(0, units, (rows, units))
        chosen += np.arange(0, rows * units, units)[:, None]
        yield np.bincount(chosen.reshape(-1), minlength=rows * units).reshape(rows, units)


def draw_swaps(units: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Draw swaps: 0 or 1 for every unit, equally likely; yield int8 arrays of shape (m, units).

    Where there are no more than `resamples` possible rows, each of them comes once instead:
    2**units rows in all, of which the first is all 0.

    Examples
    --------
    >>> [chunk.tolist() for chunk in draw_swaps(2, 10, seed=0)]
    [[[0, 0], [1, 0], [0, 1], [1, 1]]]
    """
    if is_exhaustible(units, resamples):
        start = 0
        for rows in _chunk_rows(units, 2**units):
            ways = np.arange(start, start + rows)[:, None]
            yield (ways >> np.arange(units) & 1).astype(np.int8)
            start += rows
        return
    rng = np.random.default_rng(seed)
    for rows in _chunk_rows(units, resamples):
        bits = np.frombuffer(rng.bytes(rows * -(-units // 8)), dtype=np.uint8).reshape(rows, -1)
        yield np.unpackbits(bits, axis=1, count=units).view(np.int8)


def draw_weights(units: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Draw weights of units: independent exponential numbers, of which only the ratios matter.

    Divided by their sums, rows are uniform over all weights that add up to 1.

    Yields
    ------
    ndarray of float64, shape (m, units)
        A chunk holds about `CHUNK` numbers, and all chunks together have `resamples` rows.

    Examples
    --------
    >>> [chunk.shape for chunk in draw_weights(3, 2, seed=0)]
    [(2, 3)]
    """
    rng = np.random.default_rng(seed)
    for rows in _chunk_rows(units, resamples):
        yield rng.standard_exponential((rows, units))


def is_exhaustible(units: int, resamples: int) -> bool:
    """Whether so many units can be swapped in no more ways than there are resamples.

    Examples
    --------
    >>> is_exhaustible(13, 10_000), is_exhaustible(14, 10_000)
    (True, False)
    """
    return units < 63 and 2**units <= resamples


def percentile_bounds(replicates: FloatArray, level: float) -> tuple[float, float]:
    """The quantiles that leave (1 - level) / 2 of the replicates out on either side.

    They are nan where more than `MAX_LOST_SHARE` of the replicates are nan; fewer are left out.

    Examples
    --------
    >>> percentile_bounds(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    return _quantiles(replicates, (1 - level) / 2, (1 + level) / 2)


def bca_bounds(
    replicates: FloatArray, value: float, jackknife: FloatArray, level: float
) -> tuple[float, float] | None:
    """The bias-corrected and accelerated percentile bounds of Efron (1987).

    The bias correction z0 is the normal quantile of the share of replicates below the value; those
    equal to it count half (many may be, since ranks are integers). The acceleration is
    sum d^3 / (6 (sum d^2)^1.5), where d is the mean of the jackknife minus each of its values.

    Parameters
    ----------
    replicates : ndarray of float64, shape (resamples,)
    value : float
        The statistic of all units.
    jackknife : ndarray of float64, shape (units,)
        The statistic without each unit in turn.
    level : float

    Returns
    -------
    (float, float) or None
        None where the bounds are undefined: the jackknife has a nan or is constant, or all
        replicates lie on one side of the value.

    Notes
    -----
    B. Efron: Better Bootstrap Confidence Intervals. Journal of the American Statistical Association
    82 (1987).

    Examples
    --------
    >>> low, high = bca_bounds(np.arange(101.0), 50.0, np.array([1.0, 2.0, 3.0]), 0.9)
    >>> round(low, 6), round(high, 6)
    (5.0, 95.0)
    """
    known = replicates[~np.isnan(replicates)]
    if not known.size or not np.isfinite(jackknife).all():
        return None
    slack = rounding_slack(value)
    share = np.mean(known < value - slack) / 2 + np.mean(known <= value + slack) / 2
    away = jackknife.mean() - jackknife
    largest = np.abs(away).max(initial=0.0)
    if not 0 < share < 1 or largest <= slack:
        return None
    away /= largest  # so that nothing underflows
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    bias = normal_quantile(float(share))
    ends = []
    for probability in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal_quantile(probability)
        if acceleration * z >= 1:
            return None
        ends.append(normal_cdf(bias + z / (1 - acceleration * z)))
    return _quantiles(replicates, *ends)


def studentised_bounds(
    pivots: FloatArray, middle: float, error: float, level: float
) -> tuple[float, float]:
    """The value minus the quantiles of the pivots of resamples, times the standard error.

    Parameters
    ----------
    pivots : ndarray of float64, shape (resamples,)
        The distance of each resample from the value, in standard errors of its own; may be inf.
    middle, error : float
        The value, and its standard error.
    level : float

    Notes
    -----
    The bootstrap-t interval. B. Efron, R. J. Tibshirani: An Introduction to the Bootstrap (1993),
    chapter 12.

    Examples
    --------
    >>> studentised_bounds(np.array([-3.0, -1.0, 0.0, 1.0, 2.0]), 10.0, 1.0, 0.9)
    (8.0, 13.0)
    """
    lost = np.isnan(pivots)
    if not len(pivots) or lost.mean() > MAX_LOST_SHARE:
        return math.nan, math.nan
    known = pivots[~lost]
    # these quantiles are pivots themselves, since there is nothing between a number and inf
    last = float(np.quantile(known, (1 + level) / 2, method="higher"))
    first = float(np.quantile(known, (1 - level) / 2, method="lower"))
    return middle - last * error, middle - first * error


def bounded_bounds(
    moving: BoundedFunctional, level: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Bounds of a metric whose unseen units may lie anywhere between the ends of the ranks.

    Units get random weights, uniform over all that add up to 1, together with one more unit of mean
    size at an end of the range: the worst for the lower bound, the best for the upper one. The
    bounds are quantiles of such weighted values. A value at an end has a bound on the other side
    only, which leaves out all of 1 - level.

    Parameters
    ----------
    moving : BoundedFunctional
        Its `span` is not None.
    level : float
    resamples : int
        The number of draws of weights.
    seed : int

    Notes
    -----
    N. Gaffke: Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable. Mathematical Methods of Statistics 14 (2005); E. Learned-Miller, P. S.
    Thomas: A New Confidence Bound for the Mean of a Bounded Random Variable (2019). For proportions
    of independent units these are the bounds of Clopper and Pearson, and for medians those of order
    statistics. No case is known in which independent units of equal size are covered less often
    than the level says; with Pareto-sized clusters coverage falls below it.
    """
    span, middle = moving.span(), moving.middle()
    assert span is not None
    slack = rounding_slack(max(abs(x) for x in span))
    lowest, highest = middle <= span[0] + slack, middle >= span[1] - slack
    outside = tail_of(level, not (lowest or highest))
    drawn = [
        moving.at_ends(weights[:, :-1], weights[:, -1])
        for weights in draw_weights(moving.units + 1, resamples, seed)
    ]
    low, high = (np.concatenate(end) for end in zip(*drawn, strict=True))
    return (
        span[0] if lowest else float(np.quantile(low, outside)),
        span[1] if highest else float(np.quantile(high, 1 - outside)),
    )


def rounding_slack(value: float) -> float:
    """How much a number may differ from a value and still be equal to it but for rounding.

    Examples
    --------
    >>> rounding_slack(100.0) < 1e-9
    True
    """
    return RELATIVE_SLACK * abs(value) + ABSOLUTE_SLACK


def _quantiles(replicates: FloatArray, low: float, high: float) -> tuple[float, float]:
    lost = np.isnan(replicates)
    if not lost.size or lost.mean() > MAX_LOST_SHARE:
        return math.nan, math.nan
    first, last = np.quantile(replicates[~lost] if lost.any() else replicates, [low, high]).tolist()
    return first, last


def _chunk_rows(units: int, resamples: int) -> Iterator[int]:
    """The number of rows of each chunk, which depends on the arguments alone, as the draws do."""
    most = max(CHUNK // units, 1)
    watch = _WATCH.get()
    if watch is not None:
        watch.begin(resamples)
    for start in range(0, resamples, most):
        rows = min(most, resamples - start)
        yield rows
        if watch is not None:  # back here when the chunk was used
            watch.add(rows)


class ResampleWatch:
    """Tells a listener how many resamples are done, of all passes over the units that are known.

    Each question is expected to take one pass; further ones are added to the total as they begin.
    """

    def __init__(self, listener: Callable[[Progress], object], questions: int) -> None:
        self._listener, self._questions = listener, questions
        self._start = time.monotonic()
        self._done = self._total = self._passes = self._told = 0

    def begin(self, resamples: int) -> None:
        """Note that a pass over the units begins."""
        self._passes += 1
        waiting = max(self._questions - self._passes, 0)
        self._total = max(self._total, self._done + resamples * (1 + waiting))
        self._report()

    def add(self, rows: int) -> None:
        """Note that some more resamples are done."""
        self._done += rows
        is_worth_it = self._done - self._told >= self._total / _REPORTS
        if is_worth_it and self._done < self._total:  # the last report says that all is over
            self._report()

    def end(self) -> None:
        """Report that all is done, if there was anything to do."""
        if self._passes:
            self._total = self._done
            self._report()

    def _report(self) -> None:
        self._told = self._done
        seconds = time.monotonic() - self._start
        self._listener(Progress(self._done, self._total, seconds, unit="resamples"))


@contextmanager
def watched_resamples(
    progress: bool | Callable[[Progress], object] | None, questions: int = 1
) -> Iterator[None]:
    """Report all resamples that are drawn within a block of code to `progress`.

    Parameters
    ----------
    progress : callable, bool or None
        As in `truerank.rank`. None leaves it to an outer block, if there is one.
    questions : int
        How many intervals or tests the block is expected to compute, at least.

    Examples
    --------
    >>> with watched_resamples(lambda progress: print(progress.done, progress.total)):
    ...     drawn = list(draw_swaps(100, 1000, seed=0))
    0 1000
    655 1000
    1000 1000
    """
    listener = as_listener(progress)
    if listener is None:
        yield
        return
    watch = ResampleWatch(listener, questions)
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)
    watch.end()
