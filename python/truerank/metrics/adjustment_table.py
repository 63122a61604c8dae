"""The table of adjustments for chance: a value beside its expectation, variance and optimum."""

from __future__ import annotations

import math
from collections.abc import Callable

# of value, expectation and variance under chance, and optimum
Adjustment = Callable[[float, float, float, float], float]


def none(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Give the value itself."""
    return value


def ratio(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Compute value / expectation: 1 is chance. For the mean rank 2 sum w r / sum w (N + 1), AMR.

    Notes
    -----
    Berrendorf et al., "On the Ambiguity of Rank-Based Evaluation of Entity Alignment or Link
    Prediction Methods" (2020). nan where there are no tasks.

    Examples
    --------
    >>> ratio(1.5, 2.0, 0.1, 1.0)
    0.75
    """
    return _quotient(value, expectation)


def index(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Compute (value - expectation) / (optimum - expectation): 1 is perfect, 0 is chance.

    For the mean rank 1 - 2 sum w (r - 1) / sum w (N - 1), known as AMRI.

    Notes
    -----
    Berrendorf et al. (2020), whose equation 8 loses the "1 -" in one printing; for the other
    metrics Hoyt et al., "A Unified Framework for Rank-based Evaluation Metrics" (2022). nan where
    there are no tasks, and where chance is perfect: no task has a second candidate, or k of hits@k
    reaches all of them.

    Examples
    --------
    >>> index(1.5, 2.0, 0.1, 1.0)
    0.5
    """
    return _quotient(value - expectation, optimum - expectation)


def z(value: float, expectation: float, variance: float, optimum: float) -> float:
    """Compute (value - expectation) / sqrt(variance): standard deviations from chance.

    The sign is the formula's: below 0 is better where less is better.

    Notes
    -----
    Hoyt et al. (2022). nan where there are no tasks, and where chance leaves nothing open
    (variance 0): no task has a second candidate, or k of hits@k reaches all of them. One task has
    a z like any other number of them.

    Examples
    --------
    >>> z(1.5, 2.0, 0.0625, 1.0)
    -2.0
    """
    return _quotient(value - expectation, math.sqrt(variance) if variance >= 0 else math.nan)


def _quotient(above: float, below: float) -> float:
    return above / below + 0.0 if below else math.nan  # 0.0: no minus zero


ADJUSTMENTS: dict[str, Adjustment] = {"none": none, "ratio": ratio, "index": index, "z": z}
