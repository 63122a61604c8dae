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
    from .analyses.buckets import by_degree
    from .analyses.hub_tables import HubnessTable, compare_hubness
    from .analyses.hubs import Hubness, hubness
    from .analyses.overlaps import Overlap, overlap
    from .analyses.plots import (
        plot_by_degree,
        plot_dangling,
        plot_hubness,
        plot_overlap,
        plot_similarity_profile,
    )
    from .analyses.similarities import SimilarityProfile, similarity_profile
    from .csls import csls_means
    from .datasets.data import AlignmentData
    from .datasets.dbp15k import read_dbp15k
    from .datasets.exporting import write_openea
    from .datasets.graphs import Graph, degrees
    from .datasets.openea import read_openea
    from .datasets.plain import read_pairs
    from .datasets.splits import five_folds, split_pairs
    from .datasets.statistics import DataStatistics, describe
    from .inference.counterparts import DanglingCurve, dangling
    from .inference.methods import infer
    from .inference.scoring import Agreement, Alignment
    from .one_call import evaluate
    from .pair_task import Task
    from .pairs import PairAudit

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
    "Agreement": "inference.scoring",
    "Alignment": "inference.scoring",
    "AlignmentData": "datasets.data",
    "CSLS": "csls",
    "DanglingCurve": "inference.counterparts",
    "DataStatistics": "datasets.statistics",
    "Graph": "datasets.graphs",
    "Hubness": "analyses.hubs",
    "HubnessTable": "analyses.hub_tables",
    "Overlap": "analyses.overlaps",
    "PairAudit": "pairs",
    "SimilarityProfile": "analyses.similarities",
    "Task": "pair_task",
    "by_degree": "analyses.buckets",
    "compare_hubness": "analyses.hub_tables",
    "csls_means": "csls",
    "dangling": "inference.counterparts",
    "degrees": "datasets.graphs",
    "describe": "datasets.statistics",
    "evaluate": "one_call",
    "five_folds": "datasets.splits",
    "hubness": "analyses.hubs",
    "infer": "inference.methods",
    "overlap": "analyses.overlaps",
    "plot_by_degree": "analyses.plots",
    "plot_dangling": "analyses.plots",
    "plot_hubness": "analyses.plots",
    "plot_overlap": "analyses.plots",
    "plot_similarity_profile": "analyses.plots",
    "read_dbp15k": "datasets.dbp15k",
    "read_openea": "datasets.openea",
    "read_pairs": "datasets.plain",
    "similarity_profile": "analyses.similarities",
    "split_pairs": "datasets.splits",
    "write_openea": "datasets.exporting",
}
__getattr__, __dir__ = front_door(__name__, _LATER, __all__)
