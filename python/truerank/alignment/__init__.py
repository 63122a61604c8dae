"""Entity alignment: find for each entity of one graph its counterpart in the other.

`evaluate` ranks in both directions in one call, and `Task` does the same for many models; `infer`
finds pairs. `similarity_profile`, `hubness`, `by_degree` and `overlap` show where a model fails,
`dangling` finds entities without a counterpart, and the functions `plot_...` draw these results.
Other functions read, split, describe and write data sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import lazy_names

if TYPE_CHECKING:
    from ..embeddings.vectors import CSLS
    from .aligned_pairs import PairAudit
    from .analyses.buckets import by_degree
    from .analyses.hubs import Hubness, HubnessTable, compare_hubness, hubness
    from .analyses.overlaps import Overlap, overlap
    from .analyses.plots import (
        plot_by_degree,
        plot_dangling,
        plot_hubness,
        plot_overlap,
        plot_similarity_profile,
    )
    from .analyses.similarities import SimilarityProfile, similarity_profile
    from .datasets.data_statistics import DataStatistics, describe
    from .datasets.exporting import write_openea
    from .datasets.graphs import AlignmentData, Graph, degrees
    from .datasets.random_splits import five_folds, split_pairs
    from .datasets.readers import read_dbp15k, read_openea, read_pairs
    from .inference.dangling_entities import DanglingCurve, dangling
    from .inference.inferred_pairs import Agreement, Alignment
    from .inference.matching import infer
    from .local_scaling import csls_means
    from .one_call import evaluate
    from .pair_task import Task

__all__ = [
    "CSLS",
    "Agreement",
    "Alignment",
    "AlignmentData",
    "DanglingCurve",
    "DataStatistics",
    "Graph",
    "Hubness",
    "HubnessTable",
    "Overlap",
    "PairAudit",
    "SimilarityProfile",
    "Task",
    "by_degree",
    "compare_hubness",
    "csls_means",
    "dangling",
    "degrees",
    "describe",
    "evaluate",
    "five_folds",
    "hubness",
    "infer",
    "overlap",
    "plot_by_degree",
    "plot_dangling",
    "plot_hubness",
    "plot_overlap",
    "plot_similarity_profile",
    "read_dbp15k",
    "read_openea",
    "read_pairs",
    "similarity_profile",
    "split_pairs",
    "write_openea",
]

# The public names by module; each is imported when it is first used.
_MODULES: dict[str, tuple[str, ...]] = {
    "aligned_pairs": ("PairAudit",),
    "analyses.buckets": ("by_degree",),
    "analyses.hubs": ("Hubness", "HubnessTable", "compare_hubness", "hubness"),
    "analyses.overlaps": ("Overlap", "overlap"),
    "analyses.plots": (
        "plot_by_degree",
        "plot_dangling",
        "plot_hubness",
        "plot_overlap",
        "plot_similarity_profile",
    ),
    "analyses.similarities": ("SimilarityProfile", "similarity_profile"),
    "datasets.data_statistics": ("DataStatistics", "describe"),
    "datasets.exporting": ("write_openea",),
    "datasets.graphs": ("AlignmentData", "Graph", "degrees"),
    "datasets.random_splits": ("five_folds", "split_pairs"),
    "datasets.readers": ("read_dbp15k", "read_openea", "read_pairs"),
    "inference.dangling_entities": ("DanglingCurve", "dangling"),
    "inference.inferred_pairs": ("Agreement", "Alignment"),
    "inference.matching": ("infer",),
    "local_scaling": ("CSLS", "csls_means"),
    "one_call": ("evaluate",),
    "pair_task": ("Task",),
}
_LATER = {name: module for module, names in _MODULES.items() for name in names}
if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    __getattr__, __dir__ = lazy_names(__name__, _LATER, __all__)
