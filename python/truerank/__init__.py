"""truerank: the rank of the true candidate among all candidates, counted exactly and fast.

`rank` counts, `report` turns counts into metrics, `evaluate` does both. The counts themselves are
`Ranks`: they are sliced, joined, saved, and answer every later question without the scores:
`compare` tests two models, `pvalue` one against chance, `table` sets several side by side. `chance`
is what every metric is adjusted by, and `adjust` does it to published numbers.
"""

from __future__ import annotations

from ._core import __version__
from .comparison.paired import compare
from .counting import rank
from .evaluation import evaluate
from .metrics import chance
from .protocol import Protocol
from .published import adjust
from .ranks import Ranks, concatenate
from .reporting.reports import Report, report
from .reporting.tables import table
from .selection import csr_from_padded
from .significance import pvalue
from .storage import load

__all__ = [
    "Protocol",
    "Ranks",
    "Report",
    "__version__",
    "adjust",
    "chance",
    "compare",
    "concatenate",
    "csr_from_padded",
    "evaluate",
    "load",
    "pvalue",
    "rank",
    "report",
    "table",
]
