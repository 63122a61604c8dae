"""Metrics of the full ranking, estimated from ranks among sampled negatives."""

from __future__ import annotations

from .estimated_metrics import EstimatedMetric, FullRankingEstimate
from .estimates import estimate_full_ranking

__all__ = ["EstimatedMetric", "FullRankingEstimate", "estimate_full_ranking"]
