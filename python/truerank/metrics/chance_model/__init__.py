"""The chance model: mean and variance of every metric where all ranks are equally likely.

The rank of a task with N candidates is uniform on 1..N, tasks are independent, and N and the
weight may differ from task to task. Every model takes tasks (made by `compress`) and the metric's
parameter, and returns two floats: (nan, nan) without tasks, and exactly (1, 0) where every task has
a single candidate. Results are float64 and deterministic, without simulation; the cost grows with
the number of distinct pairs of N and weight, not with that of tasks.
"""

from __future__ import annotations

from .closed_forms import (
    geometric,
    greatest,
    hit_moments,
    hits,
    inverse_geometric,
    least,
    mean_rank,
    rank_moments,
    reciprocal_moments,
    reciprocal_rank,
)
from .medians import inverse_median, median
from .powers import harmonic, inverse_mean, power_mean
from .task_groups import Tasks, compress

__all__ = [
    "Tasks",
    "compress",
    "geometric",
    "greatest",
    "harmonic",
    "hit_moments",
    "hits",
    "inverse_geometric",
    "inverse_mean",
    "inverse_median",
    "least",
    "mean_rank",
    "median",
    "power_mean",
    "rank_moments",
    "reciprocal_moments",
    "reciprocal_rank",
]
