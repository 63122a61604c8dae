"""Metrics of ranks: the table, the kinds of rank, the adjustments for chance, and the keys."""

from __future__ import annotations

from ..inputs.errors import UnknownKeyError
from .keys import Key, parse
from .kinds import KINDS, Sample, sample_of
from .metric_table import ADJUSTMENTS, METRICS, Metric
from .published import Adjusted, Bounds
from .values import adjusted, chance, compute, moments

__all__ = [
    "ADJUSTMENTS",
    "KINDS",
    "METRICS",
    "Adjusted",
    "Bounds",
    "Key",
    "Metric",
    "Sample",
    "UnknownKeyError",
    "adjusted",
    "chance",
    "compute",
    "moments",
    "parse",
    "sample_of",
]
