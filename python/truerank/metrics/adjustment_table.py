"""The table of adjustments: functions of a value and its expectation, variance and optimum."""

from __future__ import annotations

import math
from collections.abc import Callable

# Arguments: value, expectation and variance under chance, optimum.
Adjustment = Callable[[float, float, float, float], float]


def none(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Return the value itself."""
    return value


def ratio(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Compute value / expectation: 1 is chance.

    For the mean rank it is 2 sum w r / sum w (N + 1), known as AMR.

    Notes
    -----
    The source is Berrendorf et al., "On the Ambiguity of Rank-Based Evaluation of Entity Alignment
    or Link Prediction Methods" (2020). The ratio is nan where there are no tasks.

    Examples
    --------
    >>> ratio(1.5, 2.0, 0.1, 1.0)
    0.75
    """
    return _quotient(value, expectation)


def index(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Compute (value - expectation) / (optimum - expectation): 1 is perfect, 0 is chance.

    For the mean rank it is 1 - 2 sum w (r - 1) / sum w (N - 1), known as AMRI.

    Notes
    -----
    The source is Berrendorf et al. (2020), whose equation 8 loses the "1 -" in one printing; for
    the other metrics it is Hoyt et al., "A Unified Framework for Rank-based Evaluation Metrics"
    (2022). The index is nan where there are no tasks, and where chance is perfect: no task has a
    second candidate, or k of hits@k reaches all of them.

    Examples
    --------
    >>> index(1.5, 2.0, 0.1, 1.0)
    0.5
    """
    return _quotient(value - expectation, optimum - expectation)


def z(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Compute (value - expectation) / sqrt(variance): standard deviations from chance.

    The sign is that of the formula: below 0 is better where less is better.

    Notes
    -----
    The source is Hoyt et al. (2022). z is nan where there are no tasks, and where the variance is
    0: no task has a second candidate, or k of hits@k reaches all of them. A single task has a z as
    any other number of tasks has.

    Examples
    --------
    >>> z(1.5, 2.0, 0.0625, 1.0)
    -2.0
    """
    return _quotient(value - expectation, math.sqrt(variance) if variance >= 0 else math.nan)


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator + 0.0 if denominator else math.nan  # + 0.0: no minus zero


ADJUSTMENTS: dict[str, Adjustment] = {"none": none, "ratio": ratio, "index": index, "z": z}
