"""Entity alignment: find for each entity of one graph its counterpart in the other.

`read_folder` reads a data set, `Task` ranks in both directions, `infer` finds pairs, and
`neighbours` says why a model errs.
"""

from ..embeddings.vectors import CSLS
from .folders import Graphs, read_folder
from .found_pairs import PairScores
from .matching import csls_means, infer
from .neighbours import Neighbours, neighbours
from .task import Task

__all__ = [
    "CSLS",
    "Graphs",
    "Neighbours",
    "PairScores",
    "Task",
    "csls_means",
    "infer",
    "neighbours",
    "read_folder",
]
