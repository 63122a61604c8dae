"""Entity alignment: find for each entity of one graph its counterpart in the other.

`Task` ranks in both directions, and `infer` finds pairs. Other functions read data sets.
"""

from ..embeddings.vectors import CSLS
from .local_scaling import csls_means
from .matching import infer
from .readers import AlignmentData, read_dbp15k, read_openea
from .task import Task

__all__ = [
    "CSLS",
    "AlignmentData",
    "Task",
    "csls_means",
    "infer",
    "read_dbp15k",
    "read_openea",
]
