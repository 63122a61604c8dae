"""Entity alignment: find for each entity of one graph its counterpart in the other.

`Task` ranks in both directions, and `infer` finds pairs. Other functions read and split data sets.
"""

from ..embeddings.vectors import CSLS
from .aligned_pairs import PairAudit
from .datasets.graphs import AlignmentData, Graph, five_folds, split_pairs
from .datasets.readers import read_dbp15k, read_openea, read_pairs
from .local_scaling import csls_means
from .matching import infer
from .task import Task

__all__ = [
    "CSLS",
    "AlignmentData",
    "Graph",
    "PairAudit",
    "Task",
    "csls_means",
    "five_folds",
    "infer",
    "read_dbp15k",
    "read_openea",
    "read_pairs",
    "split_pairs",
]
