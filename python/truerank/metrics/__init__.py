"""Metrics of ranks: the table, the kinds of rank, the adjustments for chance, and the keys."""

from __future__ import annotations

import math
from collections.abc import Callable

from .adjustments import ADJUSTMENTS, chance, kept_moments, moments
from .base import METRICS, Metric, Sample, value
from .keys import NO_ADJUSTMENT, Key, UnknownKeyError, parse
from .kinds import KINDS, sample_of

__all__ = [
    "ADJUSTMENTS",
    "KINDS",
    "METRICS",
    "Key",
    "Metric",
    "Sample",
    "UnknownKeyError",
    "adjusted",
    "chance",
    "compute",
    "kept_moments",
    "moments",
    "parse",
    "sample_of",
]


def compute(
    key: Key, sample: Sample, chance_moments: Callable[[], tuple[float, float]] | None = None
) -> float:
    """Compute what a key asks of the ranks of its side and kind.

    Parameters
    ----------
    key : Key
        Its side and kind have been applied already: the sample holds those ranks.
    sample : Sample
    chance_moments : callable, optional
        Gives mean and variance of the metric under chance, where somebody keeps them; called only
        for an adjusted key.

    Returns
    -------
    float
        nan where there are no tasks.

    Examples
    --------
    >>> import numpy as np
    >>> compute(parse("hits@3"), Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.5
    """
    measured = value(METRICS[key.metric], sample, key.parameter)
    if key.adjustment == NO_ADJUSTMENT:
        return measured
    if chance_moments is None:
        return adjusted(key, measured, *moments(key, sample.candidates, sample.weights))
    return adjusted(key, measured, *chance_moments())


def adjusted(key: Key, value: float, mean: float, variance: float) -> float:
    """Adjust a value as a key asks, from mean and variance under chance.

    Examples
    --------
    >>> adjusted(parse("amri"), 1.5, 2.0, 1 / 3)
    0.5
    """
    if math.isnan(value):
        return math.nan
    return ADJUSTMENTS[key.adjustment](value, mean, variance, METRICS[key.metric].optimum)
