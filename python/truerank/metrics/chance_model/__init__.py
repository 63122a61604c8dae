"""The chance model: mean and variance of every metric where all ranks are equally likely.

The rank of a task with N candidates is uniform on 1..N, tasks are independent, and N and the
weight may differ from task to task. Every model takes tasks (made by `compress`) and the metric's
parameter, and returns two floats: (nan, nan) without tasks, and exactly (1, 0) where every task has
a single candidate. Results are float64 and deterministic, without simulation.

`means` derives what chance gives a mean of f(r) from f, and `closed_forms` has the numbers of the
papers; `transforms` and `order_statistics` have what takes quadrature, `tails` p-values.
docs/chance.md derives all of them.
"""

from __future__ import annotations

from .closed_forms import (
    hit_moments,
    hits,
    mean_rank,
    rank_moments,
    reciprocal_moments,
    reciprocal_rank,
)
from .means import mean_model, moments_from, up_to_cutoff
from .order_statistics import inverse_median, median
from .tasks import Tasks, compress
from .transforms import (
    geometric,
    greatest,
    harmonic,
    inverse_geometric,
    inverse_mean,
    least,
    power_mean,
)

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
    "mean_model",
    "mean_rank",
    "median",
    "moments_from",
    "power_mean",
    "rank_moments",
    "reciprocal_moments",
    "reciprocal_rank",
    "up_to_cutoff",
]
