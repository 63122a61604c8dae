"""How certain a number is: intervals, paired tests of models, and p-values under chance."""

from __future__ import annotations

from .comparing import compare
from .comparisons import Comparison, Comparisons
from .corrections import correct_pvalues
from .detectable_differences import Detectable, detectable
from .intervals import Interval, Intervals, interval
from .significance import PValue, pvalue

__all__ = [
    "Comparison",
    "Comparisons",
    "Detectable",
    "Interval",
    "Intervals",
    "PValue",
    "compare",
    "correct_pvalues",
    "detectable",
    "interval",
    "pvalue",
]
