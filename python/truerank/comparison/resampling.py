"""Confidence intervals of a metric, from resampling its tasks or groups of tasks (the units).

A resample is represented by how often it holds each unit, so that statistics of thousands of
resamples are products with a matrix of such counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.checks import choice, confidence, integer_at_least, resample_count
from ..inputs.errors import InputValueError
from ..inputs.naming import printable, public
from .distributions import normal_cdf, normal_quantile
from .units import AUTO, TASK, describe_units, units_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..metrics import Key
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .functionals import Functional

CHUNK = 1 << 16  # counts in memory at once: 0.5 MB stay in a cache, and are not mapped each time
MAX_LOST_SHARE = 0.01  # up to this share of the resamples may have no value and be left out
# Values of a statistic that differ by less than this are equal but for rounding.
RELATIVE_SLACK = 1e-12
ABSOLUTE_SLACK = 1e-15  # near 0
METHODS = ("bootstrap", "bca", "percentile", "normal")


@public("truerank.comparison")
class Interval(NamedTuple):
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    low, value, high : float
    level : float
        The share of such intervals that should contain the value of the population.
    method : str
        How the bounds were computed: "bca", "percentile" (also where BCa is undefined) or "normal".
    resamples : int
        0 for "normal".
    units : int
        How many tasks or groups were resampled.
    seed : int
    key : str
        The key of the metric.
    by : str
        What a unit is: "task", "query", "pair", "relation", another label, or "group" for labels
        without a name.
    largest : int
        The number of tasks in the largest unit.
    notes : tuple of str
        What limits the trust in the bounds; each is a plain clause with its figures.

    Examples
    --------
    >>> print(Interval(0.25, 0.3, 0.35, 0.95, "bca", 10_000, 400, 0, "mrr"))
    mrr 0.3 [0.25, 0.35] (95 %, bca, 10,000 resamples of 400 tasks)
    >>> print(Interval(0.25, 0.3, 0.35, 0.95, "normal", 0, 40, 0, "mrr", "query", 27))
    mrr 0.3 [0.25, 0.35] (95 %, normal, 40 queries, the largest of 27 tasks)
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
    by: str = TASK
    largest: int = 1
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        resamples = f"{self.resamples:,} resamples of " if self.resamples else ""
        bounds = f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"
        how = f"{100 * self.level:g} %, {self.method}, {resamples}{self.describe_units()}"
        lines = [f"{self.key} {bounds} ({how})".lstrip(), *self.notes]
        return "\n".join(map(printable, lines))

    def describe_units(self) -> str:
        """Write the number of units, and the size of the largest where it has several tasks.

        Examples
        --------
        >>> Interval(0.25, 0.3, 0.35, 0.95, "bca", 99, 40, 0, "mrr", "query", 27).describe_units()
        '40 queries, the largest of 27 tasks'
        """
        return describe_units(self.units, self.by, self.largest)


@public("truerank.comparison")
def interval(
    ranks: Ranks,
    key: str | Key = "mrr",
    *,
    level: float = 0.95,
    method: str = "bootstrap",
    by: LabelsLike | None = AUTO,
    seed: int = 0,
    resamples: int = 10_000,
    weights: str | npt.ArrayLike | None = None,
    draw_seed: int = 0,
) -> Interval:
    """Compute the confidence interval of a metric over other tasks of the same population.

    Parameters
    ----------
    ranks : Ranks
    key : str or Key
        Any key of a report. `macro.X` needs `by`, and its units are the groups.
    level : float
        Between 0 and 1.
    method : {"bootstrap", "bca", "percentile", "normal"}
        "bootstrap" and "bca": bias-corrected and accelerated percentiles of the resamples (Efron
        1987), or plain percentiles where BCa is undefined; `Interval.method` says which.
        "percentile": plain percentiles. "normal": the delta method, without resampling: the value
        plus and minus the quantile times the standard error, with the factor u / (u - 1) for u
        units; for the median Woodruff's interval.
    by : str, labels or None
        The units, which are resampled as a whole. "auto": pairs where the label "pair" repeats
        (both directions of an alignment rank one pair), else queries where they repeat, else single
        tasks: the ranks of one query are not independent, so that an interval over tasks is too
        narrow. "task" or None: single tasks. "query", "relation" ("group"), "target", "side", any
        name that `ranks.labels` has, or labels of the tasks. For "normal" the error is
        cluster-robust.
    seed : int
        The seed of the resampling. The resamples are the same on every machine with one version of
        NumPy; bounds may differ in the last digit, as sums do.
    resamples : int
    weights : array_like of float, shape (n,), or str, optional
        Used instead of the weights of the ranks; "query", "relation", ... as in a report.
    draw_seed : int
        The seed of the kind "random".

    Returns
    -------
    Interval
        The bounds are nan where the metric is nan, for a single unit, and where more than 1 % of
        the resamples have no value (fewer are left out). If no resample changes the metric, both
        bounds are its value.

    Raises
    ------
    KeyError
        For an unknown key, and `macro.X` without `by`.
    ValueError
        For an unknown method or label, an invalid level, and for "normal" where the delta method
        does not apply: mad, power_mean:inf and -inf, and medians of long ties of the kind
        "expected".
    TypeError
        For an argument of another type.

    Notes
    -----
    The tasks (or groups) are taken as drawn independently from a population; tasks of weight 0 are
    left out. The value of a resample is the metric of the resampled Ranks. For the adjusted mr, mrr
    and hits@k, which are means over tasks, the expectation, optimum and variance are those of the
    tasks in the resample, since their numbers of candidates are drawn with them. z grows with the
    root of the number of tasks: for a resample of groups that has m tasks instead of n, z is
    multiplied by sqrt(n / m), so that the interval is one of z for n tasks. For all other metrics
    (gmr, hmr, imr, igmr, medians, power means) the moments under chance are not sums over tasks:
    mean and variance stay those of all tasks, and the interval is that of the unadjusted metric,
    adjusted. For `macro.X` the value within each group is fixed, and groups without a value are
    left out.

    Coverage is nominal for means over a thousand independent units, and lower for medians (ranks
    are discrete), for heavy tails (the mean rank) and for few groups.

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
    level, resamples = confidence(level), resample_count(resamples)
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
    done = 0 if method == "normal" else resamples
    name, by_unit, largest = str(chosen.key), chosen.by, chosen.largest
    return Interval(low, value, high, level, used, done, units, seed, name, by_unit, largest)


def _bootstrap_bounds(
    moving: Functional, method: str, level: float, resamples: int, seed: int
) -> tuple[str, tuple[float, float]]:
    """The method that was used and its bounds; "percentile" where BCa is undefined."""
    chunks = [moving.of_counts(counts) for counts in draw_resamples(moving.units, resamples, seed)]
    replicates = np.concatenate(chunks)
    jackknife = moving.leave_one_out() if method == "bca" else None
    if jackknife is not None:
        value = float(moving.of_counts(np.ones((1, moving.units), dtype=np.int64))[0])
        bounds = bca_bounds(replicates, value, jackknife, level)
        if bounds is not None:
            return "bca", bounds
    return "percentile", percentile_bounds(replicates, level)


# -- resamples of units, and bounds from the replicates of a statistic -----------------------------


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
    for start in range(0, resamples, most):
        yield min(most, resamples - start)
