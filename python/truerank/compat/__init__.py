"""The conventions of other toolkits: reproduces, explains and corrects their numbers.

Toolkits differ in how they treat ties, filtered candidates, NaN and rounding. `PRESETS` has a row
for each toolkit. `report` evaluates scores as one toolkit does, and shows step by step how its
number departs from the exact one. `table` shows the numbers of several toolkits for the same
scores. `report_against` and `table_against` do the same for sampled negatives, and `report_lists`
counts misses of lists as others do.
"""

from .conventions import EXACT, Convention
from .evaluation import report, report_against, table, table_against
from .figures import Figure
from .list_presets import LIST_PRESETS, ListPreset, ListTable, report_lists, table_lists
from .presets import PRESETS, Metric, Preset, describe, preset
from .results import CompatReport, CompatTable, Step

__all__ = [
    "EXACT",
    "LIST_PRESETS",
    "PRESETS",
    "CompatReport",
    "CompatTable",
    "Convention",
    "Figure",
    "ListPreset",
    "ListTable",
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
