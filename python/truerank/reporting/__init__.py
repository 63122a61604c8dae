"""Reports of ranks: the Report and its groups, several runs, tables of them, and the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import audit as audit
    from . import report_table as report_table
    from . import reports as reports
    from . import summary as summary
    from .audit import Finding as Finding
    from .audit import Findings as Findings
    from .model_table import overlap as overlap
    from .model_table import table as table
    from .reports import Report as Report
    from .reports import report as report
    from .summary import Summary as Summary
else:  # A type checker that saw `__getattr__` would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            ".audit": ("Finding", "Findings"),
            ".model_table": ("overlap", "table"),
            ".report_table": (),
            ".reports": ("Report", "report"),
            ".summary": ("Summary",),
        },
    )
