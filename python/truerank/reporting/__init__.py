"""Reports of ranks: the Report and its groups, tables of several, renderings, and the audit.

`reports` holds the class, from the most general to the most special of its bases: `printed` (how it
is written), `grouped` (groups and macro averages), `assessed` (chance, intervals, the audit).
"""

from __future__ import annotations

from .reports import Report, report

__all__ = ["Report", "report"]
