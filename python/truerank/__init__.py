"""truerank: the rank of the true candidate among all candidates, counted exactly and fast.

`rank` counts, `report` turns counts into metrics, `evaluate` does both. The counts themselves are
`Ranks`: they are sliced, joined, saved, and answer every later question without the scores:
`compare` tests two models, `pvalue` one against chance, `table` sets several side by side. `chance`
is what every metric is adjusted by, and `adjust` does it to published numbers.

Scores may lie in files (`open_scores`), or come in pieces: blocks of candidates (`RankCounter`),
of rows (`rank_blocks`), sampled negatives (`rank_against`).
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

if TYPE_CHECKING:
    from .blocks import rank_blocks
    from .comparison import compare, pvalue
    from .counters import RankCounter
    from .published import adjust
    from .reporting.tables import table
    from .sampled import rank_against
    from .storage import load
    from .stores import Store, open_scores
    from .streaming import Progress

__all__ = [
    "Progress",
    "Protocol",
    "RankCounter",
    "Ranks",
    "Report",
    "Store",
    "__version__",
    "adjust",
    "chance",
    "compare",
    "concatenate",
    "csr_from_padded",
    "evaluate",
    "load",
    "open_scores",
    "pvalue",
    "rank",
    "rank_against",
    "rank_blocks",
    "report",
    "table",
]

# What an evaluation loop does not need is imported when it is asked for.
_LATER = {
    "Progress": "streaming",
    "RankCounter": "counters",
    "Store": "stores",
    "adjust": "published",
    "compare": "comparison",
    "load": "storage",
    "open_scores": "stores",
    "pvalue": "comparison",
    "rank_against": "sampled",
    "rank_blocks": "blocks",
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
