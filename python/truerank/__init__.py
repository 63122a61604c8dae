"""truerank: the rank of the true candidate among all candidates, counted exactly and fast.

`rank` counts, `report` turns counts into metrics, and `evaluate` does both. The counts are `Ranks`:
they can be sliced, joined and saved, and they answer every later question without the scores.
`compare` tests two models against each other, `detectable` says how small a difference a test set
can show, `pvalue` tests one model against chance, and `table` shows several side by side. `chance`
gives the chance level by which metrics are adjusted, and `adjust` adjusts published numbers.

Scores may be in files (`open_scores`), or come in blocks of candidates (`RankCounter`), in blocks
of rows (`rank_blocks`), as sampled negatives (`rank_against`) or as lists of the best candidates,
which may miss the target (`rank_lists`). `rank_embeddings` needs only vectors and stores no scores.
`link_prediction` makes a report from triples, `alignment` from pairs of entities, `retrieval` from
queries with several right answers. `plot` draws reports, and `compat` computes the numbers of other
toolkits.
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

if _typing.TYPE_CHECKING:
    from . import (
        adapters,
        alignment,
        compat,
        inference,
        link_prediction,
        metrics,
        page,
        plot,
        retrieval,
    )
    from ._core import __version__
    from .counting.counter import RankCounter
    from .counting.lists import rank_lists
    from .counting.ranking import rank
    from .counting.row_blocks import rank_blocks
    from .counting.sampled import rank_against
    from .embeddings.scoring import TopK, rank_embeddings, score_embeddings, topk_embeddings
    from .embeddings.vector_thresholds import count_above
    from .inference import compare, detectable, pvalue
    from .inputs.errors import InputError, InputTypeError, InputValueError
    from .inputs.progress_listeners import Progress
    from .metrics import chance
    from .metrics.published import adjust
    from .ranks import Protocol, Ranks, concatenate, load
    from .reporting import Report, report, table
    from .retrieval.trec_runs import write_run
    from .splits.judgements import Qrels
    from .splits.list_files import read_json_lists, read_qrels, read_run
    from .splits.named_lists import NamedLists
    from .stores import open_scores
    from .tables import Table
    from .tasks.score_evaluation import evaluate

__all__ = [
    "InputError",
    "InputTypeError",
    "InputValueError",
    "NamedLists",
    "Progress",
    "Protocol",
    "Qrels",
    "RankCounter",
    "Ranks",
    "Report",
    "Table",
    "TopK",
    "__version__",
    "adapters",
    "adjust",
    "alignment",
    "chance",
    "compare",
    "compat",
    "concatenate",
    "count_above",
    "detectable",
    "evaluate",
    "inference",
    "link_prediction",
    "load",
    "metrics",
    "open_scores",
    "page",
    "plot",
    "pvalue",
    "rank",
    "rank_against",
    "rank_blocks",
    "rank_embeddings",
    "rank_lists",
    "read_json_lists",
    "read_qrels",
    "read_run",
    "report",
    "retrieval",
    "score_embeddings",
    "table",
    "topk_embeddings",
    "write_run",
]

# The names that each module defines; a name is imported when it is first used. Other public names
# are modules.
_NAMES = {
    "_core": ("__version__",),
    "counting.counter": ("RankCounter",),
    "counting.lists": ("rank_lists",),
    "counting.ranking": ("rank",),
    "counting.row_blocks": ("rank_blocks",),
    "counting.sampled": ("rank_against",),
    "embeddings.scoring": ("TopK", "rank_embeddings", "score_embeddings", "topk_embeddings"),
    "embeddings.vector_thresholds": ("count_above",),
    "inference": ("compare", "detectable", "pvalue"),
    "inputs.errors": ("InputError", "InputTypeError", "InputValueError"),
    "inputs.progress_listeners": ("Progress",),
    "metrics": ("chance",),
    "metrics.published": ("adjust",),
    "ranks": ("Protocol", "Ranks", "concatenate", "load"),
    "reporting": ("Report", "report", "table"),
    "retrieval.trec_runs": ("write_run",),
    "stores": ("open_scores",),
    "tables": ("Table",),
    "tasks.score_evaluation": ("evaluate",),
    "splits.judgements": ("Qrels",),
    "splits.list_files": ("read_json_lists", "read_qrels", "read_run"),
    "splits.named_lists": ("NamedLists",),
}
if not _typing.TYPE_CHECKING:  # or a type checker would accept any name
    _modules = {name: module for module, names in _NAMES.items() for name in names}

    def __getattr__(name):
        if name in _modules:
            value = getattr(_import_module(f"{__name__}.{_modules[name]}"), name)
        elif name in __all__:
            value = _import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted(__all__)

    # These are imported at once: if a process forks during an import, its child may hang. numpy
    # comes first, since the extension makes an ImportError of a Ctrl-C while it imports numpy.
    import numpy as _numpy  # noqa: F401

    from ._core import __version__
    from .counting.ranking import rank
