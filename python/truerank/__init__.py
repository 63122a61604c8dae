"""truerank: the rank of the true candidate among all candidates, counted exactly and fast.

`rank` counts, `report` turns counts into metrics, `evaluate` does both. The counts themselves are
`Ranks`: they are sliced, joined, saved, and answer every later question without the scores:
`compare` tests two models, `pvalue` one against chance, `table` sets several side by side. `chance`
is what every metric is adjusted by, and `adjust` does it to published numbers.

Scores may lie in files (`open_scores`), or come in pieces: blocks of candidates (`RankCounter`),
of rows (`rank_blocks`), sampled negatives (`rank_against`); or they are never made at all, for
vectors are enough (`rank_embeddings`). `link_prediction` goes from triples to the whole report,
`alignment` from pairs. `plot` draws reports, and `compat` says what other toolkits make of scores.
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
    from . import alignment, compat, link_prediction, plot
    from .blocks import rank_blocks
    from .comparison import compare, pvalue
    from .counters import RankCounter
    from .embeddings import TopK, rank_embeddings, score_embeddings, topk_embeddings
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
    "TopK",
    "__version__",
    "adjust",
    "alignment",
    "chance",
    "compare",
    "compat",
    "concatenate",
    "csr_from_padded",
    "evaluate",
    "link_prediction",
    "load",
    "open_scores",
    "plot",
    "pvalue",
    "rank",
    "rank_against",
    "rank_blocks",
    "rank_embeddings",
    "report",
    "score_embeddings",
    "table",
    "topk_embeddings",
]

# What an evaluation loop does not need is imported when it is asked for.
_LATER = {
    "Progress": "streaming",
    "RankCounter": "counters",
    "Store": "stores",
    "TopK": "embeddings",
    "adjust": "published",
    "compare": "comparison",
    "load": "storage",
    "open_scores": "stores",
    "pvalue": "comparison",
    "rank_against": "sampled",
    "rank_blocks": "blocks",
    "rank_embeddings": "embeddings",
    "score_embeddings": "embeddings",
    "table": "reporting.tables",
    "topk_embeddings": "embeddings",
}
_PACKAGES = ("alignment", "compat", "link_prediction", "plot")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
