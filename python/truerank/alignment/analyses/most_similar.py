"""The nearest entities of the other graph, for whatever looks at them: found in flat memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.checks import choice, positive_integer
from ...inputs.errors import InputValueError
from ..inference.similarity_sources import ScoringOptions, open_source
from ..two_graphs import DIRECTIONS, GRAPHS, as_ids, check_two

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import IntArray

_PLAIN = ScoringOptions()


class SearchScope(NamedTuple):
    """Who asks, and for whom.

    Attributes
    ----------
    direction : {"left_to_right", "right_to_left"}
        Who asks, and whose entities are the candidates.
    queries : array_like of int, optional
        The entities that ask; a set. Default: those of the asking side's `candidates`.
    candidates : (left_ids, right_ids), optional
        The entities that count on either side; None is all of a side, or of both.
    """

    direction: str
    queries: Any = None
    candidates: Any = None


class MostSimilar(NamedTuple):
    """The nearest of every entity that asks, best first.

    Attributes
    ----------
    queries : ndarray of int64, shape (tasks,)
        The entities that ask, ascending.
    targets : ndarray of int64, shape (m,)
        The entities of the other graph that may be found, ascending.
    ids : ndarray of int64, shape (tasks, k)
        Those that are found, of equal similarities the lowest first; -1 where there are no more.
    similarities : ndarray of float32 or float64, shape (tasks, k)
        How similar they are; NaN where there are no more.
    measure : str
        The name of the similarity: "cosine", or "cosine, csls 10"; "scores" of a matrix.
    """

    queries: IntArray
    targets: IntArray
    ids: IntArray
    similarities: npt.NDArray[Any]
    measure: str


def find_most_similar(
    left: Any, right: Any, k: int, asked: SearchScope, how: ScoringOptions = _PLAIN
) -> MostSimilar:
    """Find the k nearest entities of the other graph.

    Parameters
    ----------
    left, right : array_like, shapes (n1, d) and (n2, d), or paths
        Vectors, as `rank_embeddings` takes them: no matrix of similarities is made. Or such a
        matrix, (n1, n2), in memory or as the path of one .npy file, and None.
    k : int
        How many, at least 1; more than there are candidates are as many as there are.
    asked : SearchScope
    how : Scoring
        A number of neighbours as its `csls` is of the candidates; means that were made before by
        ``csls_means(left, right)`` serve whichever direction is asked.

    Returns
    -------
    Nearest

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer` does; for nobody who asks, no candidate, and, with `csls` a number, queries that
        are no candidates, for they have no mean.

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
    direction, queries, candidates = asked
    choice("direction", direction, DIRECTIONS)
    most = positive_integer("k", k)
    source = open_source(left, right, how, *check_two("candidates", candidates))
    for graph, ids in zip(GRAPHS, (source.left_ids, source.right_ids), strict=True):
        if not len(ids):
            raise InputValueError("candidates", expected=f"at least one {graph} entity", got="none")
    source = source if direction == "left_to_right" else source.swapped()
    rows = source.left_ids if queries is None else as_ids("queries", queries, source.shape[0])
    if not len(rows):
        raise InputValueError("queries", expected="at least one entity that asks", got="none")
    made = isinstance(how.csls, (int, np.integer))
    without = np.setdiff1d(rows, source.left_ids) if made else rows[:0]
    if len(without):
        raise InputValueError(
            "queries",
            expected=f"entities of candidates, for csls={how.csls} has means of these alone",
            got=without[0],
        )
    ids, similarities = source.top_k(min(most, len(source.right_ids)), rows)
    measure = "scores" if right is None else how.similarity
    if source.csls is not None:
        measure += f", csls {source.csls.k}"
    return MostSimilar(rows, source.right_ids, ids, similarities, measure)
