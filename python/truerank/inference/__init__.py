"""How certain a number is: intervals, paired tests of models, and p-values under chance."""

from __future__ import annotations

from .full_ranking import EstimatedMetric, FullRankingEstimate, estimate_full_ranking
from .intervals import Interval, interval
from .margins import MarginTest, equivalence, noninferiority
from .multiplicity import (
    CorrectedPValues,
    Friedman,
    JointComparison,
    JointComparisons,
    correct_pvalues,
    friedman,
    max_t,
)
from .paired import compare
from .paired_models.comparisons import Comparison, Comparisons
from .power import Detectable, EffectSize, EffectSizes, detectable, effect_sizes
from .significance import PValue, pvalue

__all__ = [
    "Comparison",
    "Comparisons",
    "CorrectedPValues",
    "Detectable",
    "EffectSize",
    "EffectSizes",
    "EstimatedMetric",
    "Friedman",
    "FullRankingEstimate",
    "Interval",
    "JointComparison",
    "JointComparisons",
    "MarginTest",
    "PValue",
    "compare",
    "correct_pvalues",
    "detectable",
    "effect_sizes",
    "equivalence",
    "estimate_full_ranking",
    "friedman",
    "interval",
    "max_t",
    "noninferiority",
    "pvalue",
]
