"""Metrics adjusted for chance, and the chance model: each rank uniform on 1..N, tasks independent.

Adjustments are about a metric that is a mean of f(r), so its expectation is the mean of E f(r) over
the tasks, under the same weights. Both sums run over the tasks' differences, which keeps a scorer
that ties everything at exactly 0 and a perfect one at exactly 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from .base import Metric, Sample, mean, value

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray

Adjustment = Callable[[Metric, Sample, int], float]

# E f(r) per task from its candidates N and the cutoff k: mean rank (N + 1) / 2
EXPECTATIONS: dict[str, Callable[[IntArray, int], FloatArray]] = {
    "mr": lambda candidates, k: (candidates.astype(float) + 1) / 2,
}


def ratio(metric: Metric, sample: Sample, k: int = 0) -> float:
    """Compute value / expectation; for the mean rank 2 sum w r / sum w (N + 1), known as AMR.

    Notes
    -----
    Berrendorf et al., "On the Ambiguity of Rank-Based Evaluation of Entity Alignment or Link
    Prediction Methods" (2020). 1 is chance. nan where there are no tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics import METRICS
    >>> ratio(METRICS["mr"], Sample(np.array([1.0, 2.0]), np.array([3, 3])))
    0.75
    """
    return _quotient(value(metric, sample, k), mean(expected(metric, sample, k), sample.weights))


def index(metric: Metric, sample: Sample, k: int = 0) -> float:
    """Compute (value - expectation) / (optimum - expectation): 1 is perfect, 0 is chance.

    For the mean rank 1 - 2 sum w (r - 1) / sum w (N - 1), known as AMRI.

    Notes
    -----
    Berrendorf et al. (2020), whose equation 8 loses the "1 -" in one printing. nan where there are
    no tasks, and where no task has a second candidate (chance is then perfect).

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics import METRICS
    >>> index(METRICS["mr"], Sample(np.array([1.0, 2.0]), np.array([3, 3])))
    0.5
    """
    chance = expected(metric, sample, k)
    gained = metric.transform(sample.ranks, k) - chance
    return _quotient(mean(gained, sample.weights), mean(metric.optimum - chance, sample.weights))


def expected(metric: Metric, sample: Sample, k: int = 0) -> FloatArray:
    """Give E f(r) of every task under chance; float64, shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics import METRICS
    >>> expected(METRICS["mr"], Sample(np.array([1.0, 2.0]), np.array([3, 9])))
    array([2., 5.])
    """
    return EXPECTATIONS[metric.name](sample.candidates, k)


def _quotient(above: float, below: float) -> float:
    return above / below + 0.0 if below else math.nan  # 0.0: no minus zero


def _none(metric: Metric, sample: Sample, k: int = 0) -> float:
    return value(metric, sample, k)


# None: in the grammar, but not in this version
ADJUSTMENTS: dict[str, Adjustment | None] = {
    "none": _none,
    "ratio": ratio,
    "index": index,
    "z": None,
}
