"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`reports` has the Report, whether computed from ranks or read from JSON (both in `sources`).
"""

from __future__ import annotations

from .audit import Findings
from .reports import Report
from .summaries import Finding, Summary
from .tables import Repeats, report, table

__all__ = ["Finding", "Findings", "Repeats", "Report", "Summary", "report", "table"]
