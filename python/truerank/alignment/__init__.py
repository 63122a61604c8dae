"""Entity alignment: find for each entity of one graph its counterpart in the other.

`Task` ranks in both directions, and `infer` finds pairs. `most_similar`, `hubness` and `by_degree`
show where a model fails, `dangling` finds entities without a counterpart.
Other functions read and split data sets.
"""

from ..embeddings.vectors import CSLS
from .aligned_pairs import PairAudit
from .analyses import DanglingCurve, MostSimilar, by_degree, dangling, hubness, most_similar
from .datasets.graphs import AlignmentData, Graph, degrees, five_folds, split_pairs
from .datasets.readers import read_dbp15k, read_openea, read_pairs
from .local_scaling import csls_means
from .matching.alignments import Agreement, Alignment, infer
from .task import Task

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
    "five_folds",
    "hubness",
    "infer",
    "most_similar",
    "read_dbp15k",
    "read_openea",
    "read_pairs",
    "split_pairs",
]
