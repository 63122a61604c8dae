"""Entity alignment: vectors of two graphs in, and which entity of the one is which of the other.

`evaluate` ranks in both directions in one call, `Task` does so for many models; `infer` finds
pairs. `similarity_profile`, `hubness`, `by_degree` and `overlap` say why a model errs, `dangling`
tells who has no counterpart, and `plot_...` draws each. Data sets are read, split, described and
written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import front_door

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
    from .inference.counterparts import DanglingCurve, dangling
    from .inference.found_pairs import Agreement, Alignment
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

# What is imported when it is asked for.
_LATER = {
    "Agreement": "inference.found_pairs",
    "Alignment": "inference.found_pairs",
    "AlignmentData": "datasets.graphs",
    "CSLS": "local_scaling",
    "DanglingCurve": "inference.counterparts",
    "DataStatistics": "datasets.data_statistics",
    "Graph": "datasets.graphs",
    "Hubness": "analyses.hubs",
    "HubnessTable": "analyses.hubs",
    "Overlap": "analyses.overlaps",
    "PairAudit": "aligned_pairs",
    "SimilarityProfile": "analyses.similarities",
    "Task": "pair_task",
    "by_degree": "analyses.buckets",
    "compare_hubness": "analyses.hubs",
    "csls_means": "local_scaling",
    "dangling": "inference.counterparts",
    "degrees": "datasets.graphs",
    "describe": "datasets.data_statistics",
    "evaluate": "one_call",
    "five_folds": "datasets.random_splits",
    "hubness": "analyses.hubs",
    "infer": "inference.matching",
    "overlap": "analyses.overlaps",
    "plot_by_degree": "analyses.plots",
    "plot_dangling": "analyses.plots",
    "plot_hubness": "analyses.plots",
    "plot_overlap": "analyses.plots",
    "plot_similarity_profile": "analyses.plots",
    "read_dbp15k": "datasets.readers",
    "read_openea": "datasets.readers",
    "read_pairs": "datasets.readers",
    "similarity_profile": "analyses.similarities",
    "split_pairs": "datasets.random_splits",
    "write_openea": "datasets.exporting",
}
if not TYPE_CHECKING:  # a checker would take any name for one that is there
    __getattr__, __dir__ = front_door(__name__, _LATER, __all__)
