"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`reports` has the Report, whether computed from ranks or read from JSON (both in `sources`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import names_when_used

if TYPE_CHECKING:
    from .audit import Findings as Findings
    from .reports import Report as Report
    from .summaries import Finding as Finding
    from .summaries import Summary as Summary
    from .tables import Repeats as Repeats
    from .tables import report as report
    from .tables import table as table
else:  # or a type checker would accept any name
    __all__, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            ".audit": ("Findings",),
            ".reports": ("Report",),
            ".summaries": ("Finding", "Summary"),
            ".tables": ("Repeats", "report", "table"),
        },
    )
