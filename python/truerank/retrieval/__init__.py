"""Retrieval and recommendation: queries with several right answers, ranked among all candidates.

`Task` reads qrels, what is known and the groups of queries, and evaluates embeddings, scores
and lists. Its reports have the metrics of information retrieval, for each query and in the mean:
recall, precision and success at k, the reciprocal rank of the first right answer, average
precision, R-precision, and discounted cumulative gain. Ties are exact.
"""

from ..tasks.candidates import Sampled
from .task import Task

__all__ = ["Sampled", "Task"]
