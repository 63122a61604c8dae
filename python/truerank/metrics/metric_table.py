"""The table of metrics: each is g(mean(f(r))) over the ranks r of the tasks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..inputs.naming import public
from . import averages, chance_model, ties

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from .chance_model import Tasks
    from .kinds import Sample
    from .ties import Parameter, RankFunction

    SingleModel: TypeAlias = Callable[[IntArray, Parameter], tuple[FloatArray, FloatArray]]


@public("truerank.metrics")
class Metric(NamedTuple):
    """A row of the table of metrics, g(mean(f(r))).

    Attributes
    ----------
    name : str
        The word of keys.
    title : str
        What tables print, the literature's name; empty where it has none, and the key is printed.
    transform : RankFunction
        f, of ranks and of ties.
    mean : callable
        The mean of f over a sample with its weights.
    inverse : callable
        g, of the mean.
    increasing : bool or None
        Whether higher is better; None where neither higher nor lower is better.
    chance : callable or None
        Returns mean and variance of the metric under the chance model; None where there is none.
    single : callable or None
        For a metric that is itself a mean of f(r): returns the mean and the variance of f(r) under
        chance for numbers of candidates, as arrays of their shape. They add up over tasks.
    optimum : float
        The value where every rank is 1.
    parameter : str
        The mark before the parameter: "@" for a cutoff, ":" for a power, "" without a parameter.
    """

    name: str
    title: str
    transform: RankFunction
    mean: Callable[[RankFunction, Sample, Parameter], float]
    inverse: Callable[[float], float]
    increasing: bool | None
    chance: Callable[[Tasks, Parameter], tuple[float, float]] | None = None
    single: SingleModel | None = None
    optimum: float = 1.0
    parameter: str = ""


def metric_value(metric: Metric, sample: Sample, parameter: Parameter = 0) -> float:
    """Compute a metric; nan where there are no tasks, or none with a weight above 0.

    Parameters
    ----------
    metric : Metric
    sample : Sample
    parameter : float
        The cutoff k or the power p, for a metric that has one.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics import Sample
    >>> metric_value(METRICS["mrr"], Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.625
    """
    return metric.inverse(metric.mean(metric.transform, sample, parameter))


def _identity(x: float) -> float:
    return x


def _inverse(x: float) -> float:
    return 1.0 / x


def _exp_minus(x: float) -> float:
    return math.exp(-x)


_I, _R, _L, _H, _P = ties.IDENTITY, ties.RECIPROCAL, ties.LOG, ties.HIT, ties.POWER
_mean, _median, _power = averages.arithmetic, averages.median, averages.power
_c = chance_model

METRICS: dict[str, Metric] = {
    row.name: row
    for row in (
        #      name  title  f   mean   g   higher is better, chance: of all, of one task
        Metric("mr", "MR", _I, _mean, _identity, False, _c.mean_rank, _c.rank_moments),
        Metric("mrr", "MRR", _R, _mean, _identity, True, _c.reciprocal_rank, _c.reciprocal_moments),
        Metric("hits", "Hits", _H, _mean, _identity, True, _c.hits, _c.hit_moments, parameter="@"),
        Metric("hmr", "HMR", _R, _mean, _inverse, False, _c.harmonic),
        Metric("imr", "IMR", _I, _mean, _inverse, True, _c.inverse_mean),
        Metric("gmr", "GMR", _L, _mean, math.exp, False, _c.geometric),
        Metric("igmr", "IGMR", _L, _mean, _exp_minus, True, _c.inverse_geometric),
        Metric("median", "", _I, _median, _identity, False, _c.median),
        Metric("imedian", "", _I, _median, _inverse, True, _c.inverse_median),
        Metric("power_mean", "", _P, _power, _identity, False, _c.power_mean, parameter=":"),
        Metric("std", "", _I, averages.variance, math.sqrt, None, optimum=0.0),
        Metric("variance", "", _I, averages.variance, _identity, None, optimum=0.0),
        Metric("mad", "", _I, averages.deviation, _identity, None, optimum=0.0),
        Metric("count", "", _I, averages.count, _identity, None),
    )
}
