"""The chance model of metrics that are means of a function of the rank: closed forms."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from .sums import harmonic, harmonic_squares
from .task_groups import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray

Moments: TypeAlias = tuple[float, float]


class Model(Protocol):
    """What a row of the table of metrics refers to.

    Takes tasks and the metric's parameter (k of hits@k, p of power_mean:p), and gives mean and
    variance of the metric under chance: (nan, nan) without tasks, and exactly (1, 0) where every
    task has a single candidate.
    """

    def __call__(self, tasks: Tasks, parameter: float = 0) -> Moments: ...


def model(moments: Callable[[Tasks, float], Moments]) -> Model:
    """Settle what is the same for all metrics: no task gives nan, one candidate each (1, 0)."""

    @functools.wraps(moments)
    def settled(tasks: Tasks, parameter: float = 0) -> Moments:
        if not len(tasks.sizes):
            return math.nan, math.nan
        if tasks.sizes[-1] == 1:
            return 1.0, 0.0
        return moments(tasks, parameter)

    return settled


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
    return sums(tasks, *rank_moments(tasks.sizes))


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
    return sums(tasks, *reciprocal_moments(tasks.sizes))


@model
def hits(tasks: Tasks, parameter: float) -> Moments:
    """Mean and variance of hits@k: sum w q and sum w^2 q (1 - q) with q = min(k / N, 1).

    Exactly (1, 0) where k >= all N.

    Notes
    -----
    "A Unified Framework" (2022), equations 16 and 18, prints k (N - k) / N for the variance.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> hits(compress([10, 20]), 5)
    (0.375, 0.109375)
    """
    if parameter >= tasks.sizes[-1]:
        return 1.0, 0.0
    return sums(tasks, *hit_moments(tasks.sizes, parameter))


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
    mean = harmonic(sizes) / sizes
    return mean, harmonic_squares(sizes) / sizes - mean**2


def hit_moments(sizes: IntArray, parameter: float) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r <= k for each number of candidates.

    Examples
    --------
    >>> hit_moments(np.array([10, 3]), 5)
    (array([0.5, 1. ]), array([0.25, 0.  ]))
    """
    # beyond 2**63 lies no rank, and a cutoff may have any number of digits
    n, k = sizes.astype(np.float64), float(min(parameter, 2**63))
    q = np.minimum(k / n, 1)
    return q, q * np.maximum(n - k, 0) / n


def sums(tasks: Tasks, mean: FloatArray, variance: FloatArray) -> Moments:
    """Mean and variance of the weighted mean, from those of each task.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> sums(compress([3, 5]), np.array([2.0, 3.0]), np.array([1.0, 1.0]))
    (2.5, 0.5)
    """
    shares = tasks.weights * tasks.multiplicities
    return float((shares * mean).sum()), float((shares * (tasks.weights * variance)).sum())
