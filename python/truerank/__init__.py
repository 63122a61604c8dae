"""truerank: the rank of the true candidate among all candidates, counted exactly and fast.

`rank` counts, `report` turns counts into metrics, `evaluate` does both. The counts themselves are
`Ranks`: they are sliced, joined, saved, and answer every later question without the scores:
`compare` tests two models, `pvalue` one against chance, `table` sets several side by side. `chance`
is what every metric is adjusted by, and `adjust` does it to published numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import __version__
from .counting import rank
from .evaluation import evaluate
from .metrics import chance
from .protocol import Protocol
from .ranks import Ranks, concatenate
from .reporting import Report, report
from .selection import csr_from_padded
from .storage import load

if TYPE_CHECKING:
    from .comparison import compare, pvalue
    from .published import adjust
    from .reporting.tables import table

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

# What an evaluation loop does not need is imported when it is asked for.
_LATER = {
    "adjust": "published",
    "compare": "comparison",
    "pvalue": "comparison",
    "table": "reporting.tables",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
