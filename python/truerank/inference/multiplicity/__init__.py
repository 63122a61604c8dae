"""Many questions at once: corrected p-values, joint permutation tests, many models on many data."""

from __future__ import annotations

from .data_sets import Friedman, friedman
from .joint_permutation import JointComparison, JointComparisons, max_t
from .pvalue_table import CorrectedPValues, correct_pvalues

__all__ = [
    "CorrectedPValues",
    "Friedman",
    "JointComparison",
    "JointComparisons",
    "correct_pvalues",
    "friedman",
    "max_t",
]
