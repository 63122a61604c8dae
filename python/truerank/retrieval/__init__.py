"""Retrieval and recommendation: queries with several right answers, ranked among all candidates.

`Task` reads qrels, what is known and the groups of queries, and evaluates embeddings, scores
and lists. `report` turns the ranks of all right answers into the metrics of information retrieval,
for each query and in the mean: recall, precision and success at k, the reciprocal rank of the first
right answer, average precision, R-precision, and discounted cumulative gain. Ties are exact.
"""

from ..tasks.candidates import Sampled

# It is imported at once, so that the function hides its module.
from .report import RetrievalReport, report
from .task import Task

__all__ = ["RetrievalReport", "Sampled", "Task", "report"]
