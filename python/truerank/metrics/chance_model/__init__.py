"""The chance model: mean and variance of every metric where all ranks are equally likely.

The rank of a task with N candidates is uniform on 1..N, tasks are independent, and N and the
weight may differ from task to task. Every model takes tasks (made by `compress`) and the metric's
parameter, and returns two floats: (nan, nan) without tasks, and exactly (1, 0) where every task has
a single candidate. Results are float64 and deterministic, without simulation.

`means` derives what chance gives a mean of f(r) from f, and has the closed forms of the papers;
`transforms` and `order_statistics` have what takes quadrature. docs/chance.md derives all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...naming import names_when_used

if TYPE_CHECKING:
    from .means import discount_moments_within as discount_moments_within
    from .means import hit_moments as hit_moments
    from .means import hits as hits
    from .means import mean_model as mean_model
    from .means import moments_from as moments_from
    from .means import rank_moments as rank_moments
    from .means import reciprocal_moments_within as reciprocal_moments_within
    from .means import sampled_hit_moments as sampled_hit_moments
    from .order_statistics import inverse_median as inverse_median
    from .order_statistics import median as median
    from .tasks import Tasks as Tasks
    from .tasks import compress as compress
    from .transforms import geometric as geometric
    from .transforms import harmonic as harmonic
    from .transforms import inverse_geometric as inverse_geometric
    from .transforms import inverse_mean as inverse_mean
    from .transforms import power_mean as power_mean
else:  # A type checker that read this would accept any name.
    _, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            ".means": (
                "discount_moments_within",
                "hit_moments",
                "hits",
                "mean_model",
                "moments_from",
                "rank_moments",
                "reciprocal_moments_within",
                "sampled_hit_moments",
            ),
            ".order_statistics": ("inverse_median", "median"),
            ".tasks": ("Tasks", "compress"),
            ".transforms": (
                "geometric",
                "harmonic",
                "inverse_geometric",
                "inverse_mean",
                "power_mean",
            ),
        },
    )
