"""The most similar entities of the other graph, found without a matrix of all similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.arithmetic import default_arithmetic
from ...inputs.checks import choice, is_integer, positive_integer
from ...inputs.errors import InputValueError
from ..inference.similarity_sources import PassReport, ScoringOptions, open_source
from ..two_graphs import DIRECTIONS, GRAPHS, as_ids, check_two

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ...inputs.arrays import IntArray
    from ...inputs.progress_listeners import Progress

_PLAIN = ScoringOptions()


class SearchScope(NamedTuple):
    """The direction of a search, its queries and its candidates.

    Attributes
    ----------
    direction : {"left_to_right", "right_to_left"}
        From the graph of the queries to that of the candidates.
    queries : array_like of int, optional
        The query entities, as a set. Default: the candidates of their own graph.
    candidates : (left_ids, right_ids), optional
        The entities that take part; None stands for all of a graph, or of both.
    """

    direction: str
    queries: Any = None
    candidates: Any = None


class MostSimilar(NamedTuple):
    """The most similar entities of every query, best first.

    Attributes
    ----------
    queries : ndarray of int64, shape (tasks,)
        The query entities, ascending.
    targets : ndarray of int64, shape (m,)
        The candidates, ascending.
    ids : ndarray of int64, shape (tasks, k)
        The most similar candidates; equal similarities go by the lower id; -1 if there are no more.
    similarities : ndarray of float32 or float64, shape (tasks, k)
        Their similarities; NaN if there are no more.
    measure : str
        The name of the similarity: "cosine", or "cosine, csls 10"; "scores" for a matrix.
    """

    queries: IntArray
    targets: IntArray
    ids: IntArray
    similarities: npt.NDArray[Any]
    measure: str


@default_arithmetic()
def find_most_similar(
    left: Any,
    right: Any,
    k: int,
    scope: SearchScope,
    scoring: ScoringOptions = _PLAIN,
    progress: bool | Callable[[Progress], object] | None = None,
) -> MostSimilar:
    """Find the k most similar entities of the other graph.

    Parameters
    ----------
    left, right : array_like, shapes (n1, d) and (n2, d), or paths
        The embeddings, as `rank_embeddings` takes them; no matrix of similarities is made. Or
        `left` is such a matrix, (n1, n2), in memory or as the path of one .npy file, and `right` is
        None.
    k : int
        The number of entities to find, at least 1; all candidates if there are fewer.
    scope : SearchScope
    scoring : ScoringOptions
        If its `csls` is a number of neighbours, the means are over the candidates. Means from
        ``csls_means(left, right)`` serve both directions.
    progress : callable or bool, optional
        As in `infer`.

    Returns
    -------
    Nearest

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer` does; for no query, no candidate, and, if `csls` is a number, queries that are
        not candidates and so have no mean.

    Examples
    --------
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> found = find_most_similar(left, right, 2, SearchScope("left_to_right"))
    >>> found.ids
    array([[0, 1],
           [1, 2]])
    >>> found.similarities
    array([[1. , 0.6],
           [0.8, 0.8]])
    """
    direction, queries, candidates = scope
    choice("direction", direction, DIRECTIONS)
    top_k = positive_integer("k", k)
    report = PassReport(progress, 1, is_integer(scoring.csls))
    ids_of_sides = check_two("candidates", candidates)
    source = open_source(left, right, scoring, *ids_of_sides, report.of_source)
    for graph, ids in zip(GRAPHS, (source.left_ids, source.right_ids), strict=True):
        if not len(ids):
            raise InputValueError("candidates", expected=f"at least one {graph} entity", got="none")
    source = source if direction == "left_to_right" else source.swapped()
    query_ids = source.left_ids if queries is None else as_ids("queries", queries, source.shape[0])
    if not len(query_ids):
        raise InputValueError("queries", expected="at least one entity that asks", got="none")
    means_of_candidates = isinstance(scoring.csls, (int, np.integer))
    unscaled = np.setdiff1d(query_ids, source.left_ids) if means_of_candidates else query_ids[:0]
    if len(unscaled):
        raise InputValueError(
            "queries",
            expected=f"entities of candidates, for csls={scoring.csls} has means of these alone",
            got=unscaled[0],
        )
    ids, similarities = source.top_k(min(top_k, len(source.right_ids)), query_ids)
    report.finish()
    measure: str = "scores" if right is None else scoring.similarity
    if source.csls is not None:
        measure += f", csls {source.csls.k}"
    return MostSimilar(query_ids, source.right_ids, ids, similarities, measure)
