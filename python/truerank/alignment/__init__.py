"""Entity alignment: find for each entity of one graph its counterpart in the other.

`Task` ranks in both directions, and `infer` finds pairs.
"""

from ..embeddings.vectors import CSLS
from .local_scaling import csls_means
from .matching import infer
from .task import Task

__all__ = ["CSLS", "Task", "csls_means", "infer"]
