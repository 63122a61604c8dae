"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`report_base` has the attributes of every report, and `any_report` adds the forms in which it is
written. `reports` (made from ranks) and `json_report` (read back from JSON) build on these two.
"""

from __future__ import annotations

from .repeats import Repeats, report
from .reports import Report
from .summary import Summary
from .tables import table
from .validity import Finding

__all__ = ["Finding", "Repeats", "Report", "Summary", "report", "table"]
