"""Mean and variance under chance of means over tasks: the numbers of the papers.

The rank of a task with N candidates is uniform on 1..N, and tasks are independent. Each function
is a formula; docs/chance.md derives them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ties import mean_power
from .means import sum_over_tasks
from .tasks import Moments, Tasks, model

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray


@model
def mean_rank(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of mr: sum w (N + 1) / 2 and sum w^2 (N^2 - 1) / 12.

    Notes
    -----
    "A Unified Framework for Rank-based Evaluation Metrics" (2022) prints 1 / n for the 1 / n^2 of
    the variance (equation 7).

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean_rank(compress([3, 5]))
    (2.5, 0.6666666666666666)
    """
    return sum_over_tasks(tasks, *rank_moments(tasks.sizes))


@model
def reciprocal_rank(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of mrr: sum w H / N and sum w^2 (H2 / N - (H / N)^2).

    H and H2 are the sums of 1/r and of 1/r^2 over r = 1..N.

    Notes
    -----
    "A Unified Framework" (2022), equations 10 to 13, has the continuous log(N) / (N - 1) for H / N
    and a variance without the square, which is negative.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> reciprocal_rank(compress([2]))
    (0.75, 0.0625)
    """
    return sum_over_tasks(tasks, *reciprocal_moments(tasks.sizes))


@model
def hits(tasks: Tasks, parameter: float) -> Moments:
    """Mean and variance of hits@k: sum w q and sum w^2 q (1 - q) with q = min(k / N, 1).

    The result is exactly (1, 0) where k >= all N.

    Notes
    -----
    "A Unified Framework" (2022), equations 16 and 18, prints k (N - k) / N for the variance.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> hits(compress([10, 20]), 5)
    (0.375, 0.109375)
    """
    return sum_over_tasks(tasks, *hit_moments(tasks.sizes, parameter))


def rank_moments(sizes: IntArray, parameter: float = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r for each number of candidates; float64, shape (d,) both.

    Examples
    --------
    >>> rank_moments(np.array([3, 5]))
    (array([2., 3.]), array([0.66666667, 2.        ]))
    """
    n = sizes.astype(np.float64)
    return (n + 1) / 2, (n - 1) * (n + 1) / 12


def reciprocal_moments(sizes: IntArray, parameter: float = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of 1 / r for each number of candidates.

    Examples
    --------
    >>> reciprocal_moments(np.array([1, 2]))
    (array([1.  , 0.75]), array([0.    , 0.0625]))
    """
    first = np.ones(sizes.shape)
    mean = mean_power(first, sizes, -1.0)
    return mean, mean_power(first, sizes, -2.0) - mean**2


def hit_moments(sizes: IntArray, parameter: float) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r <= k for each number of candidates.

    Examples
    --------
    >>> hit_moments(np.array([10, 3]), 5)
    (array([0.5, 1. ]), array([0.25, 0.  ]))
    """
    n = sizes.astype(np.float64)
    # no rank is beyond 2**63, while a cutoff may have any number of digits
    k = float(min(parameter, 2**63))
    q = np.minimum(k / n, 1)
    return q, q * np.maximum(n - k, 0) / n
