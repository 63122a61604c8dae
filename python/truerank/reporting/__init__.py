"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`report_facts` has what can be read of every report, `report_forms` how it is written; on these two
stand `reports` (of ranks) and `recalled` (read back from JSON).
"""

from __future__ import annotations

from .repeats import Repeats, report
from .reports import Report
from .summary import Summary
from .tables import Table, table
from .validity import Finding

__all__ = ["Finding", "Repeats", "Report", "Summary", "Table", "report", "table"]
