"""Entity alignment: find for each entity of one graph its counterpart in the other.

`evaluate` ranks in both directions in one call, and `Task` does the same for many models; `infer`
finds pairs. `most_similar`, `hubness` and `by_degree` show where a model fails, `dangling` finds
entities without a counterpart. Other functions read and split data sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import lazy_names

if TYPE_CHECKING:
    from ..embeddings.vectors import CSLS
    from .aligned_pairs import PairAudit

    # mypy takes most_similar for defined twice, in a circle of imports
    from .analyses import MostSimilar, by_degree, hubness, most_similar  # type: ignore[no-redef]
    from .datasets.graphs import AlignmentData, Graph, degrees
    from .datasets.random_splits import five_folds, split_pairs
    from .datasets.readers import read_dbp15k, read_openea, read_pairs
    from .inference.dangling_entities import DanglingCurve, dangling
    from .inference.matching import Agreement, Alignment, infer
    from .local_scaling import csls_means
    from .pair_task import Task, evaluate

__all__ = [
    "CSLS",
    "Agreement",
    "Alignment",
    "AlignmentData",
    "DanglingCurve",
    "Graph",
    "MostSimilar",
    "PairAudit",
    "Task",
    "by_degree",
    "csls_means",
    "dangling",
    "degrees",
    "evaluate",
    "five_folds",
    "hubness",
    "infer",
    "most_similar",
    "read_dbp15k",
    "read_openea",
    "read_pairs",
    "split_pairs",
]

# The public names by module; each is imported when it is first used.
_MODULES: dict[str, tuple[str, ...]] = {
    "aligned_pairs": ("PairAudit",),
    "analyses": ("MostSimilar", "by_degree", "hubness", "most_similar"),
    "datasets.graphs": ("AlignmentData", "Graph", "degrees"),
    "datasets.random_splits": ("five_folds", "split_pairs"),
    "datasets.readers": ("read_dbp15k", "read_openea", "read_pairs"),
    "inference.dangling_entities": ("DanglingCurve", "dangling"),
    "inference.matching": ("Agreement", "Alignment", "infer"),
    "local_scaling": ("CSLS", "csls_means"),
    "pair_task": ("Task", "evaluate"),
}
_LATER = {name: module for module, names in _MODULES.items() for name in names}
if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    __getattr__, __dir__ = lazy_names(__name__, _LATER, __all__)
