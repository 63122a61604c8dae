"""The values of keys, adjusted for chance, of the tasks of a sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import metrics
from ..errors import UnknownKeyError
from .keys import NO_ADJUSTMENT, Key
from .metric_table import ADJUSTMENTS

if TYPE_CHECKING:
    from .averages import Sample
    from .chance_model import Tasks


def moments(key: Key, candidates: Any, weights: Any = None) -> tuple[float, float]:
    """Return the mean and variance under chance of a key's metric; nan without a weight above 0."""
    return moments_of_tasks(key, metrics.chance_model.compress(candidates, weights))


def moments_of_tasks(key: Key, tasks: Tasks) -> tuple[float, float]:
    """Return what `moments` returns, of tasks that are counted already."""
    model = key.row.chance
    if model is None:
        raise UnknownKeyError(repr(str(key)), f"{key.metric} has no chance model")
    return model(tasks, key.parameter)


def compute(key: Key, sample: Sample, memo: dict[Any, Any] | None = None) -> float:
    """Compute the value of a key from the ranks of its side and kind; nan without tasks.

    Parameters
    ----------
    key : Key
        Its side and kind have been applied already: the sample holds those ranks.
    sample : Sample
    memo : dict, optional
        Where the mean and variance under chance are kept for other kinds and adjustments of the
        same tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics.keys import parse
    >>> from truerank.metrics.averages import Sample
    >>> compute(parse("hits@3"), Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.5
    """
    metric = key.row
    measured = metric.inverse(metric.mean(metric.transform, sample, key.parameter))
    if key.adjustment == NO_ADJUSTMENT:
        return measured
    if memo is None:
        memo = {}
    mean, variance = kept_moments(memo, key, sample)
    return adjusted(key, measured, mean, variance)


def adjusted(key: Key, measured: float, mean: float, variance: float) -> float:
    """Adjust a value as a key says, with the mean and variance under chance.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> adjusted(parse("amri"), 1.5, 2.0, 1 / 3)
    0.5
    """
    if math.isnan(measured):
        return math.nan
    optimum = key.row.optimum
    return float(ADJUSTMENTS[key.adjustment](measured, mean, variance, optimum))


def kept_moments(memo: dict[Any, Any], key: Key, sample: Sample) -> tuple[float, float]:
    """Return mean and variance under chance of a key's metric, computed once for each side.

    Parameters
    ----------
    memo : dict
        Where results are kept: the memo of the Ranks that the sample is taken from, with the
        weights in force.
    key : Key
        Its kind and adjustment do not matter.
    sample : Sample
        The tasks of its side.
    """
    place = "chance", key.of_tasks
    if place not in memo:
        memo[place] = moments(key, sample.candidates, sample.weights)
    kept: tuple[float, float] = memo[place]
    return kept
