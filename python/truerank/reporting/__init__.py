"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`reports` has the Report, whether computed from ranks (`counted`) or read from JSON (`report_json`).
"""

from __future__ import annotations

from .audit import Finding, Findings
from .counted import Summary
from .reports import Report
from .tables import Repeats, report, table

__all__ = ["Finding", "Findings", "Repeats", "Report", "Summary", "report", "table"]
