"""The conventions of other toolkits: reproduces, explains and corrects their numbers.

Toolkits differ in how they treat ties, filtered candidates, NaN and rounding. `PRESETS` has a row
for each toolkit. `report` evaluates scores as one toolkit does, and shows step by step how its
number departs from the exact one. `table` shows the numbers of several toolkits for the same
scores. `report_against` and `table_against` do the same for sampled negatives, and `report_lists`
counts misses of lists as others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import lazy_names

if TYPE_CHECKING:
    from .conventions import EXACT, Convention
    from .evaluation import report, report_against, table, table_against
    from .figures import Figure
    from .list_presets import LIST_PRESETS, ListPreset, report_lists, table_lists
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

# Names that are imported when they are first used, with their modules.
_MODULES = {
    "CompatReport": "results",
    "CompatTable": "results",
    "Convention": "conventions",
    "EXACT": "conventions",
    "Figure": "figures",
    "LIST_PRESETS": "list_presets",
    "ListPreset": "list_presets",
    "Metric": "presets",
    "PRESETS": "presets",
    "Preset": "presets",
    "Step": "results",
    "describe": "presets",
    "preset": "presets",
    "report": "evaluation",
    "report_against": "evaluation",
    "report_lists": "list_presets",
    "table": "evaluation",
    "table_against": "evaluation",
    "table_lists": "list_presets",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES, __all__)
