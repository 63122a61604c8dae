"""Many questions at once: corrected p-values, joint permutation tests, many models on many data."""

from __future__ import annotations

from .joint_permutation import JointComparison, JointComparisons, max_t
from .pvalue_table import CorrectedPValues, correct_pvalues

__all__ = [
    "CorrectedPValues",
    "JointComparison",
    "JointComparisons",
    "correct_pvalues",
    "max_t",
]
