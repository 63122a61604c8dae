"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`report_base` has the attributes of every report, and `any_report` adds the forms in which it is
written. `reports` (made from ranks) and `json_report` (read back from JSON) build on these two.
"""

from __future__ import annotations

from .audit import Finding, Findings, Summary
from .repeats import Repeats, report
from .reports import Report
from .tables import table

__all__ = ["Finding", "Findings", "Repeats", "Report", "Summary", "report", "table"]
