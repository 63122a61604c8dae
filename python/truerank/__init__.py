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

import sys as _sys
import typing as _typing

from ._core import __version__
from .counting.ranking import rank
from .inputs.naming import ModuleAlias as _AlsoNamed
from .inputs.naming import lazy_names as _front_door

if _typing.TYPE_CHECKING:
    from . import alignment, compat, link_prediction, plot
    from .comparison import compare, pvalue
    from .counting.counter import RankCounter
    from .counting.row_blocks import rank_blocks
    from .counting.sampled import rank_against
    from .counting.tiles import Progress
    from .embeddings.scoring import TopK, rank_embeddings, score_embeddings, topk_embeddings
    from .inputs.errors import InputError, InputTypeError, InputValueError
    from .inputs.selection import csr_from_padded
    from .metrics import chance
    from .metrics.published import adjust
    from .ranks.container import Ranks, concatenate, load
    from .ranks.protocol import Protocol
    from .reporting import Report, report, table
    from .stores import Store, open_scores
    from .tasks.evaluate_scores import evaluate

__all__ = [
    "InputError",
    "InputTypeError",
    "InputValueError",
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

# Where each public name is defined. What a first count does not need is imported when it is first
# used; `rank` is there at once, for the child of a process that forks during an import may hang.
_MODULES = {
    "InputError": "inputs.errors",
    "InputTypeError": "inputs.errors",
    "InputValueError": "inputs.errors",
    "Progress": "counting.tiles",
    "Protocol": "ranks.protocol",
    "RankCounter": "counting.counter",
    "Ranks": "ranks.container",
    "Report": "reporting",
    "Store": "stores",
    "TopK": "embeddings.scoring",
    "adjust": "metrics.published",
    "alignment": "alignment",
    "chance": "metrics",
    "compare": "comparison",
    "compat": "compat",
    "concatenate": "ranks.container",
    "csr_from_padded": "inputs.selection",
    "demo": "cli.demo",
    "evaluate": "tasks.evaluate_scores",
    "link_prediction": "link_prediction",
    "load": "ranks.container",
    "open_scores": "stores",
    "plot": "plot",
    "pvalue": "comparison",
    "rank_against": "counting.sampled",
    "rank_blocks": "counting.row_blocks",
    "rank_embeddings": "embeddings.scoring",
    "report": "reporting",
    "score_embeddings": "embeddings.scoring",
    "table": "reporting",
    "topk_embeddings": "embeddings.scoring",
}
if not _typing.TYPE_CHECKING:  # a checker would take any name for one that is there
    __getattr__, __dir__ = _front_door(__name__, _MODULES, __all__)
_sys.meta_path.append(_AlsoNamed("truerank.demo", "truerank.cli.demo"))
