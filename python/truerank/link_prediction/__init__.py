"""Link prediction: rank the true head, tail or relation of each triple among all candidates.

`Task` reads the triples of all splits, audits them, and makes the queries, the filter, the
candidates and the labels of the tasks; its methods evaluate scores of any kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from ..tasks.candidates import Sampled as Sampled
    from .task import Task as Task
    from .task import Triples as Triples
    from .task import read_triples as read_triples
else:  # A type checker that read this would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(
        __name__, {"..tasks.candidates": ("Sampled",), ".task": ("Task", "Triples", "read_triples")}
    )
