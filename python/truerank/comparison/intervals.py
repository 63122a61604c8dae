"""How sure a metric is: bootstrap and delta-method intervals over tasks or groups of tasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..ranks.container import Ranks
from .resampling import bca_bounds, draws, percentile_bounds, rounding
from .units import units_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..metrics import Key
    from ..ranks.labels import LabelsLike
    from .functionals import Functional

METHODS = ("bootstrap", "bca", "percentile", "normal")


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
    >>> ranks = Ranks([0, 0, 1, 3, 7, 2, 0, 1], [1] * 8, 100)
    >>> found = interval(ranks, "hits@1", seed=1)
    >>> found.low, found.value, found.high
    (0.125, 0.375, 0.75)
    """
    level, resamples = checked_level(level), checked_count("resamples", resamples, 1)
    seed, draw_seed = checked_count("seed", seed), checked_count("draw_seed", draw_seed)
    if method not in METHODS:
        raise InputValueError("method", expected=f"one of {', '.join(METHODS)}", got=repr(method))
    chosen = units_of(ranks, key, by=by, weights=weights, draw_seed=draw_seed)
    value = chosen.value()
    moving = chosen.functional() if chosen.number else None
    units = 0 if moving is None else moving.units
    bounds = (math.nan, math.nan)
    used = {"bootstrap": "bca"}.get(method, method)
    if moving is not None and method == "normal":
        found = moving.normal_bounds(level)
        if found is None:
            raise InputValueError(
                "method",
                f"the delta method does not apply to {str(chosen.key)!r}; take 'bootstrap'",
            )
        bounds = found
    elif moving is not None and units > 1 and not math.isnan(value):
        used, bounds = _bootstrap(moving, used, level, resamples, seed)
    low, high = (value if abs(x - value) <= rounding(value) else x for x in bounds)
    if math.isnan(value) or units < 2:
        low = high = math.nan
    drawn = 0 if method == "normal" else resamples
    what = "tasks" if by is None else "groups"
    return Interval(low, value, high, level, used, drawn, units, seed, str(chosen.key), what)


def _bootstrap(
    moving: Functional, method: str, level: float, resamples: int, seed: int
) -> tuple[str, tuple[float, float]]:
    """The method that could be used, and the bounds."""
    chunks = [moving.of_counts(counts) for counts in draws(moving.units, resamples, seed)]
    replicates = np.concatenate(chunks)
    jackknife = moving.leave_one_out() if method == "bca" else None
    if jackknife is not None:
        value = float(moving.of_counts(np.ones((1, moving.units), dtype=np.int64))[0])
        bounds = bca_bounds(replicates, value, jackknife, level)
        if bounds is not None:
            return "bca", bounds
    return "percentile", percentile_bounds(replicates, level)


def checked_count(name: str, value: object, least: int = 0) -> int:
    """Check an integer that is not below `least`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise InputTypeError(name, expected=f"an integer >= {least}", got=type(value).__name__)
    if value < least:
        raise InputValueError(name, expected=f"an integer >= {least}", got=value)
    return int(value)


def checked_level(level: object) -> float:
    """Check a confidence level."""
    if not isinstance(level, (int, float, np.floating)) or isinstance(level, bool):
        raise InputTypeError("level", expected="a number between 0 and 1", got=type(level).__name__)
    if not 0 < level < 1 or (1 + level) / 2 == 1:
        raise InputValueError("level", expected="a number between 0 and 1", got=level)
    return float(level)
