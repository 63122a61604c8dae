"""How sure a metric is: intervals over tasks or groups of tasks, by drawing these units again.

A resample is told by how often it holds each unit, so that statistics of thousands of resamples are
products of matrices of such counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.checks import choice, confidence, integer_at_least
from ..inputs.errors import InputValueError
from ..inputs.naming import public
from .functionals import normal_quantile
from .units import units_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..metrics import Key
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .functionals import Functional

CHUNK = 1 << 16  # counts held at once: 0.5 MB stay in a cache, and are not mapped anew each time
MAX_LOST_SHARE = 0.01  # the share of resamples without a value that may be left out
RELATIVE_SLACK = 1e-12  # relative difference below which two values of a statistic are one, rounded
ABSOLUTE_SLACK = 1e-15  # what is left of a value of 0
METHODS = ("bootstrap", "bca", "percentile", "normal")


@public("truerank.comparison")
class Interval(NamedTuple):
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    low, value, high : float
    level : float
        The share of such intervals that should hold the value of the population.
    method : str
        "bca", "percentile" or "normal": what the bounds come from. "percentile" where BCa was asked
        for and is undefined.
    resamples : int
        0 for "normal".
    units : int
        How many tasks or groups were resampled.
    seed : int
    key : str
        Of the metric.
    by : str
        What the units are: "tasks" or "groups".

    Examples
    --------
    >>> print(Interval(0.25, 0.3, 0.35, 0.95, "bca", 10_000, 400, 0, "mrr"))
    mrr 0.3 [0.25, 0.35] (95 %, bca, 10,000 resamples of 400 tasks)
    """

    low: float
    value: float
    high: float
    level: float
    method: str
    resamples: int
    units: int
    seed: int
    key: str = ""
    by: str = "tasks"

    def __str__(self) -> str:
        drawn = f"{self.resamples:,} resamples of " if self.resamples else ""
        shown = f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"
        how = f"{100 * self.level:g} %, {self.method}, {drawn}{self.units:,} {self.by}"
        return f"{self.key} {shown} ({how})".lstrip()


@public("truerank.comparison")
def interval(
    ranks: Ranks,
    key: str | Key = "mrr",
    *,
    level: float = 0.95,
    method: str = "bootstrap",
    by: LabelsLike | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    weights: str | npt.ArrayLike | None = None,
    draw_seed: int = 0,
) -> Interval:
    """Give the confidence interval of a metric: where it may lie had other tasks been drawn.

    Parameters
    ----------
    ranks : Ranks
    key : str or Key
        Any key of a report. `macro.X` needs `by`, and its units are the groups.
    level : float
        Between 0 and 1.
    method : {"bootstrap", "bca", "percentile", "normal"}
        "bootstrap" and "bca": bias-corrected and accelerated percentiles of the resamples (Efron
        1987); the plain ones where BCa is undefined, which `Interval.method` says. "percentile":
        the plain ones. "normal": the delta method, without resampling: value -+ quantile times
        standard error, with the factor u / (u - 1) of u units; for the median Woodruff's interval.
    by : str or labels, optional
        Resample whole groups of tasks: "query", "relation" ("group"), "target", "side", any name
        that `ranks.labels` has, or labels of the tasks. The ranks of one query are not independent:
        an interval over tasks is then too narrow. For "normal" the error is the cluster-robust one.
    seed : int
        Of the resampling. The same resamples on every machine with one version of NumPy; bounds may
        differ in the last digit, as sums do.
    resamples : int
    weights : array_like of float, shape (n,), or str, optional
        In place of the weights of the ranks; "query", "relation", ... as in a report.
    draw_seed : int
        Of the kind "random".

    Returns
    -------
    Interval
        The bounds are nan where the metric is, for a single unit, and where more than 1 % of the
        resamples have no value (fewer are left out). A metric that no resample moves has its value
        as both bounds.

    Raises
    ------
    KeyError
        For an unknown key, and `macro.X` without `by`.
    ValueError
        For an unknown method, label or level; for "normal" where the delta method does not apply:
        mad, power_mean:inf and -inf, and medians of long ties of the kind "expected".
    TypeError
        For an argument of another type.

    Notes
    -----
    The tasks (or groups) are taken as drawn independently from a population of them; tasks of
    weight 0 are not among them. A resample's value is the metric of the resampled Ranks. What
    chance expects of it moves along where it is a mean over tasks: for the adjusted mr, mrr and
    hits@k expectation, optimum and variance are those of the tasks in the resample, since their
    numbers of candidates are drawn with them. z grows with the root of the number of tasks; a
    resample of groups that has m tasks in place of n has its z multiplied by sqrt(n / m), so that
    the interval is one of z at n tasks. For all other metrics (gmr, hmr, imr, igmr, medians, power
    means) chance is not a sum over tasks: its mean and variance are held at those of all tasks, and
    the interval is that of the unadjusted metric, adjusted. For `macro.X` the value within each
    group is held, and groups without one are left out.

    Coverage is nominal for means over a thousand independent units, less so for medians (ranks are
    discrete), heavy tails (the mean rank) and few groups.

    B. Efron: Better Bootstrap Confidence Intervals. Journal of the American Statistical Association
    82 (1987).

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([0, 0, 1, 3, 7, 2, 0, 1], [1] * 8, 100)
    >>> found = interval(ranks, "hits@1", seed=1)
    >>> found.low, found.value, found.high
    (0.125, 0.375, 0.75)
    """
    level, resamples = confidence(level), integer_at_least("resamples", resamples, 1)
    seed, draw_seed = integer_at_least("seed", seed), integer_at_least("draw_seed", draw_seed)
    method = choice("method", method, METHODS)
    chosen = units_of(ranks, key, by=by, weights=weights, draw_seed=draw_seed)
    value = chosen.value()
    moving = chosen.functional() if chosen.number else None
    units = 0 if moving is None else moving.units
    bounds = (math.nan, math.nan)
    used = {"bootstrap": "bca"}.get(method, method)
    if moving is not None and method == "normal":
        found = moving.normal_bounds(level)
        if found is None:
            problem = f"the delta method does not apply to {str(chosen.key)!r}; take 'bootstrap'"
            raise InputValueError("method", problem)
        bounds = found
    elif moving is not None and units > 1 and not math.isnan(value):
        used, bounds = _bootstrap_bounds(moving, used, level, resamples, seed)
    low, high = (value if abs(x - value) <= rounding_slack(value) else x for x in bounds)
    if math.isnan(value) or units < 2:
        low = high = math.nan
    drawn = 0 if method == "normal" else resamples
    what = "tasks" if by is None else "groups"
    return Interval(low, value, high, level, used, drawn, units, seed, str(chosen.key), what)


def _bootstrap_bounds(
    moving: Functional, method: str, level: float, resamples: int, seed: int
) -> tuple[str, tuple[float, float]]:
    """The method that could be used, and the bounds."""
    chunks = [moving.of_counts(counts) for counts in draw_resamples(moving.units, resamples, seed)]
    replicates = np.concatenate(chunks)
    jackknife = moving.leave_one_out() if method == "bca" else None
    if jackknife is not None:
        value = float(moving.of_counts(np.ones((1, moving.units), dtype=np.int64))[0])
        bounds = bca_bounds(replicates, value, jackknife, level)
        if bounds is not None:
            return "bca", bounds
    return "percentile", percentile_bounds(replicates, level)


# -- drawing units again, and the bounds that replicates of a statistic give -----------------------


def draw_resamples(units: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Resample units: draw as many as there are, uniformly and with replacement, many times.

    Parameters
    ----------
    units : int
        Their number, >= 1.
    resamples : int
        How often all of them are drawn.
    seed : int
        Given to `numpy.random.default_rng`. Its integers are the same on every machine with one
        version of NumPy, and so are the resamples.

    Yields
    ------
    ndarray of int64, shape (m, units)
        How often each of m resamples holds each unit; a row sums to `units`. Chunks hold about
        `CHUNK` numbers, and there are `resamples` rows in all.

    Examples
    --------
    >>> [chunk.sum(axis=1) for chunk in draw_resamples(3, 2, seed=0)]
    [array([3, 3])]
    """
    rng = np.random.default_rng(seed)
    for rows in _chunk_rows(units, resamples):
        drawn = rng.integers(0, units, (rows, units))
        drawn += np.arange(0, rows * units, units)[:, None]
        yield np.bincount(drawn.reshape(-1), minlength=rows * units).reshape(rows, units)


def draw_swaps(units: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Throw a fair coin for every unit, many times: 0 or 1, int8 arrays of shape (m, units).

    Where there are no more than `resamples` ways for the coins to fall, every way comes once
    instead: 2**units rows in all, the first of them all 0.

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


def is_exhaustible(units: int, resamples: int) -> bool:
    """Whether coins of so many units fall in no more ways than there are resamples.

    Examples
    --------
    >>> is_exhaustible(13, 10_000), is_exhaustible(14, 10_000)
    (True, False)
    """
    return units < 63 and 2**units <= resamples


def percentile_bounds(replicates: FloatArray, level: float) -> tuple[float, float]:
    """The quantiles that leave (1 - level) / 2 of the replicates out on either side.

    nan where more than `MAX_LOST_SHARE` of the replicates are nan; fewer are left out.

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

    The bias correction z0 is the normal quantile of the share of replicates below the value, those
    equal to it counted half (ranks are integers, so that many may be). The acceleration is
    sum d^3 / (6 (sum d^2)^1.5), d the mean of the jackknife minus each of its values.

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
        None where they are undefined: the jackknife has a nan or is constant, or all replicates
        lie on one side of the value.

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
    kept = replicates[~np.isnan(replicates)]
    if not kept.size or not np.isfinite(jackknife).all():
        return None
    slack = rounding_slack(value)
    share = np.mean(kept < value - slack) / 2 + np.mean(kept <= value + slack) / 2
    away = jackknife.mean() - jackknife
    largest = np.abs(away).max(initial=0.0)
    if not 0 < share < 1 or largest <= slack:
        return None
    away /= largest  # nothing underflows
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    bias = normal_quantile(float(share))
    ends = []
    for probability in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal_quantile(probability)
        if acceleration * z >= 1:
            return None
        ends.append(normal_cdf(bias + z / (1 - acceleration * z)))
    return _quantiles(replicates, *ends)


def rounding_slack(value: float) -> float:
    """How far from a value another may be and still be the same, but for rounding.

    Examples
    --------
    >>> rounding_slack(100.0) < 1e-9
    True
    """
    return RELATIVE_SLACK * abs(value) + ABSOLUTE_SLACK


def normal_cdf(z: float) -> float:
    """The share of the standard normal distribution that lies below z.

    Examples
    --------
    >>> normal_cdf(0.0)
    0.5
    """
    return math.erfc(-z / math.sqrt(2)) / 2


def _quantiles(replicates: FloatArray, low: float, high: float) -> tuple[float, float]:
    lost = np.isnan(replicates)
    if not lost.size or lost.mean() > MAX_LOST_SHARE:
        return math.nan, math.nan
    first, last = np.quantile(replicates[~lost] if lost.any() else replicates, [low, high]).tolist()
    return first, last


def _chunk_rows(units: int, resamples: int) -> Iterator[int]:
    """The rows of each chunk; they depend on nothing but the arguments, as the draws do."""
    most = max(CHUNK // units, 1)
    for start in range(0, resamples, most):
        yield min(most, resamples - start)
