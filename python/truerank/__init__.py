"""truerank: the rank of the true candidate among all candidates, counted exactly and fast.

`rank` counts, `report` turns counts into metrics, `evaluate` does both. The counts themselves are
`Ranks`: they are sliced, joined, saved, and answer every later question without the scores.
"""

from __future__ import annotations

from ._core import __version__
from .counting import rank
from .evaluation import evaluate
from .protocol import Protocol
from .ranks import Ranks, concatenate
from .reporting import Report, report
from .selection import csr_from_padded
from .storage import load

__all__ = [
    "Protocol",
    "Ranks",
    "Report",
    "__version__",
    "concatenate",
    "csr_from_padded",
    "evaluate",
    "load",
    "rank",
    "report",
]
