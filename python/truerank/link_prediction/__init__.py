"""Link prediction: rank the true head, tail or relation of each triple among all candidates.

`Task` reads the triples of all splits, audits them, and makes the queries, the filter, the
candidates and the labels of the tasks; its methods evaluate scores of any kind.
`read_predictions` reads what AnyBURL and PyClause predict.
"""

from ..splits.split_audit import SplitFinding
from ..tasks.side_tasks import Sampled
from .candidate_sets import Negatives
from .complex_queries import ComplexQueries
from .listed_predictions import Predictions, read_predictions
from .query_answers import QueryAnswers, read_queries, write_queries
from .statements import Statements, read_statements
from .task import Task
from .triple_audit import TaskAudit, TimeAudit
from .triples import Triples, read_triples

__all__ = [
    "ComplexQueries",
    "Negatives",
    "Predictions",
    "QueryAnswers",
    "Sampled",
    "SplitFinding",
    "Statements",
    "Task",
    "TaskAudit",
    "TimeAudit",
    "Triples",
    "read_predictions",
    "read_queries",
    "read_statements",
    "read_triples",
    "write_queries",
]
