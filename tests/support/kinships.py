"""The four published models of Kinships: their scores, and the known answers of every query."""

from __future__ import annotations

MODELS = ("transe", "rotate", "complex", "tucker")
SPLITS = ("train", "valid", "test")
HITS = (1, 3, 5, 10)
# The names of the published figures.
KINDS = ("optimistic", "realistic", "pessimistic")
EXACT = {  # ours, theirs: of whole numbers in float64
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    "hmr": "harmonic_mean_rank",
    "imr": "inverse_arithmetic_mean_rank",
    "median": "median_rank",
    "imedian": "inverse_median_rank",
    "std": "standard_deviation",
    "variance": "variance",
    "mad": "median_absolute_deviation",
    "count": "count",
    **{f"hits@{k}": f"hits_at_{k}" for k in HITS},
    **{f"ah@{k}": f"adjusted_hits_at_{k}" for k in HITS},
}
SINGLE = {  # partly computed in float32: the sum of logarithms, the expected mean rank
    "gmr": "geometric_mean_rank",
    "igmr": "inverse_geometric_mean_rank",
    "amr": "adjusted_arithmetic_mean_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
}
STAND_IN = {"amrr": "adjusted_inverse_harmonic_mean_rank"}
NAMES = {**EXACT, **SINGLE}
