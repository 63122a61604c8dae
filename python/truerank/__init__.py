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

from .inputs.naming import lazy_names as _lazy_names

if _typing.TYPE_CHECKING:
    from . import alignment, compat, link_prediction, plot, retrieval
    from ._core import __version__
    from .counting.counter import RankCounter
    from .counting.lists import rank_lists
    from .counting.ranking import rank
    from .counting.row_blocks import rank_blocks
    from .counting.sampled import rank_against
    from .counting.score_thresholds import ThresholdCounts
    from .embeddings.scoring import TopK, rank_embeddings, score_embeddings, topk_embeddings
    from .embeddings.vector_thresholds import count_above
    from .inference import compare, detectable, pvalue
    from .inputs.errors import InputError, InputTypeError, InputValueError
    from .inputs.progress_listeners import BoundedPairs, Progress
    from .inputs.selection import csr_from_padded
    from .metrics import chance
    from .metrics.published import adjust
    from .ranks.container import Ranks, load
    from .ranks.joining import concatenate
    from .ranks.protocol import Protocol
    from .reporting import Report, report, table
    from .stores import Store, open_scores
    from .tables import Table
    from .tasks.evaluate_scores import evaluate
    from .tasks.list_files import read_json_lists, read_qrels, read_run
    from .tasks.named_lists import NamedLists, Qrels
    from .tasks.run_writer import write_run

__all__ = [
    "BoundedPairs",
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
    "Store",
    "Table",
    "ThresholdCounts",
    "TopK",
    "__version__",
    "adjust",
    "alignment",
    "chance",
    "compare",
    "compat",
    "concatenate",
    "count_above",
    "csr_from_padded",
    "detectable",
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

# Where each public name is defined. A name that a first count does not need is imported when it is
# first used.
_MODULES = {
    "InputError": "inputs.errors",
    "InputTypeError": "inputs.errors",
    "InputValueError": "inputs.errors",
    "BoundedPairs": "inputs.progress_listeners",
    "NamedLists": "tasks.named_lists",
    "Progress": "inputs.progress_listeners",
    "Protocol": "ranks.protocol",
    "RankCounter": "counting.counter",
    "Qrels": "tasks.named_lists",
    "Ranks": "ranks.container",
    "Report": "reporting",
    "Store": "stores",
    "Table": "tables",
    "ThresholdCounts": "counting.score_thresholds",
    "TopK": "embeddings.scoring",
    "__version__": "_core",
    "adjust": "metrics.published",
    "alignment": "alignment",
    "chance": "metrics",
    "compare": "inference",
    "compat": "compat",
    "concatenate": "ranks.joining",
    "count_above": "embeddings.vector_thresholds",
    "csr_from_padded": "inputs.selection",
    "detectable": "inference",
    "evaluate": "tasks.evaluate_scores",
    "link_prediction": "link_prediction",
    "load": "ranks.container",
    "open_scores": "stores",
    "plot": "plot",
    "pvalue": "inference",
    "rank": "counting.ranking",
    "rank_against": "counting.sampled",
    "rank_blocks": "counting.row_blocks",
    "rank_embeddings": "embeddings.scoring",
    "rank_lists": "counting.lists",
    "read_json_lists": "tasks.list_files",
    "read_qrels": "tasks.list_files",
    "read_run": "tasks.list_files",
    "report": "reporting",
    "retrieval": "retrieval",
    "score_embeddings": "embeddings.scoring",
    "table": "reporting",
    "topk_embeddings": "embeddings.scoring",
    "write_run": "tasks.run_writer",
}
if not _typing.TYPE_CHECKING:  # or a type checker would accept any name
    __getattr__, __dir__ = _lazy_names(__name__, _MODULES, __all__)
    # These are imported at once: if a process forks during an import, its child may hang.
    for _name in ("__version__", "rank"):
        __getattr__(_name)
