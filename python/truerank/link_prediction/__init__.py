"""Link prediction: triples in, one ranking for each head, tail or relation asked for.

`Task` reads the triples of all splits, audits them, and makes the queries, the filter, the
candidates and the labels of the tasks; its methods evaluate scores of any kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs.naming import front_door
from ..tasks.split_audit import Finding
from .candidate_sets import Sampled
from .triple_audit import TaskAudit
from .triple_task import Task
from .triples import Triples, read_triples

if TYPE_CHECKING:
    from .errors import error_cases

__all__ = ["Finding", "Sampled", "Task", "TaskAudit", "Triples", "error_cases", "read_triples"]

# It is needed after an evaluation, if at all.
__getattr__, __dir__ = front_door(__name__, {"error_cases": "errors"}, __all__)
