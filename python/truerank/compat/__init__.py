"""The conventions of other toolkits: reproduces, explains and corrects their numbers.

Toolkits differ in how they treat ties, filtered candidates, NaN and rounding. `PRESETS` has a row
for each toolkit. `report` evaluates scores as one toolkit does, and shows step by step how its
number departs from the exact one. `table` shows the numbers of several toolkits for the same
scores.
"""

from .interpreter import Convention
from .reports import (
    PRESETS,
    CompatReport,
    CompatTable,
    Metric,
    Preset,
    Step,
    describe,
    report,
    table,
)

__all__ = [
    "PRESETS",
    "CompatReport",
    "CompatTable",
    "Convention",
    "Metric",
    "Preset",
    "Step",
    "describe",
    "report",
    "table",
]
