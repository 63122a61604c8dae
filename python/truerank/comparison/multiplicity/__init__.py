"""Many questions at once: corrected p-values, joint permutation tests, many models on many data."""

from __future__ import annotations

from .pvalue_table import CorrectedPValues, correct_pvalues

__all__ = ["CorrectedPValues", "correct_pvalues"]
