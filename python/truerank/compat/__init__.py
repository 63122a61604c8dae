"""The conventions of other toolkits: reproduces, explains and corrects their numbers.

Toolkits differ in how they treat ties, filtered candidates, NaN and rounding. `PRESETS` has a row
for each toolkit. `report` evaluates scores as one toolkit does, and shows step by step how its
number departs from the exact one. `table` shows the numbers of several toolkits for the same
scores. `report_against` and `table_against` do the same for sampled negatives, and `report_lists`
counts misses of lists as others do.
"""

from .evaluation import (
    report,
    report_against,
    report_lists,
    table,
    table_against,
    table_lists,
)
from .interpreter import Figure
from .presets import LIST_PRESETS, PRESETS, Convention, ListPreset, Metric, Preset, describe, preset
from .reports import CompatReport, CompatTable, Step

__all__ = [
    "LIST_PRESETS",
    "PRESETS",
    "CompatReport",
    "CompatTable",
    "Convention",
    "Figure",
    "ListPreset",
    "Metric",
    "Preset",
    "Step",
    "describe",
    "preset",
    "report",
    "report_against",
    "report_lists",
    "table",
    "table_against",
    "table_lists",
]
