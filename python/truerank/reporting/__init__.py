"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`report_facts` has what can be read of every report, `report_forms` how it is written; on these two
stand `reports` (of ranks) and `recalled` (read back from JSON).
"""

from __future__ import annotations

from .repeats import report
from .reports import Report

__all__ = ["Report", "report"]
