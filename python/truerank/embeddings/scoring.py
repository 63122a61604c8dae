"""Embeddings: vectors and targets in, Ranks out; the scores of all pairs are never stored."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..counting.job import fault_error, prepare_job
from ..inputs.checks import NAN_RULES, choice, positive_integer, thread_count
from ..inputs.naming import public
from ..inputs.selection import as_selection
from ..ranks.container import Ranks
from .vectors import CSLS, OpenEmbeddings, open_embeddings

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..ranks.protocol import Protocol


@public("truerank")
class TopK(NamedTuple):
    """The best candidates of every task, best first.

    Attributes
    ----------
    ids : ndarray of int64, shape (tasks, k)
        Entities; -1 where a task has fewer than k candidates.
    scores : ndarray of float32 or float64, shape (tasks, k)
        Their scores; NaN where there is no candidate.
    """

    ids: IntArray
    scores: npt.NDArray[Any]


@public("truerank")
def rank_embeddings(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    similarity: str = "dot",
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    nan: str = "raise",
    dtype: Any = None,
    block: int | None = None,
    threads: int | None = None,
    audit: bool = False,
) -> Ranks:
    """Score every query with every entity, and count the candidates above and at the true one.

    It is `rank` of the matrix (queries, entities) that `score_embeddings` gives, bit for bit, but
    scores are counted where they are made, in registers and caches, and never stored.

    Parameters
    ----------
    queries : array_like, shape (q, d) or (d,), or path
        float16, bfloat16, float32 or float64, in any layout, as `rank` takes scores: slices,
        read-only arrays, torch CPU tensors, memory maps, the path of a `.npy` file. Of a single
        vector is every task. For models whose query is made of a head and a relation, the vector
        that is compared with the tails: head * relation for DistMult, head + relation for TransE.
    entities : array_like, shape (n, d), or path
        The candidates, likewise. A `.npy` file and a memory map are read where they are, however
        large. Their size is checked before; a file that another process cuts off meanwhile kills
        this one.
    targets : array_like of int, shape (tasks,), or int
        The entity that is each task's true candidate; one integer for all tasks.
    similarity : str
        "dot", "cosine", "l1", "l2", "sql2", "complex_l1", "poincare", "inverse_l1" or "inverse_l2":
        how a query and an entity are scored; see Notes.
    bias : array_like of float, shape (n,), optional
        Added to the scores of each entity, last of all, as in ConvE (Dettmers et al. 2018); rounded
        to the dtype of the scores where it is of a wider one.
    csls : CSLS, optional
        Means that `truerank.alignment.csls_means` gives: a score s becomes 2 s - (m + n), with
        the means m of the query and n of the entity, whose sum is rounded once, and so is the rest.
    rows : array_like of int, shape (tasks,), optional
        The query of each task, in any order, as often as wanted. Default: task i is query i.
    filter : selection, optional
        Entities to leave out, per task, in the forms of `rank`. The target is never left out.
    candidates : selection, or array_like of int, optional
        The only entities to let in, per task or one array for all. The target must be among them.
    nan : {"raise", "worst", "omit"}
        The rule for scores that are NaN, as in `rank`. Those of entities that are no candidates of
        a task are ignored.
    dtype : str or dtype, optional
        What raw 16-bit vectors are, as "bfloat16"; vectors of other dtypes stay what they are. Or
        "float32" or "float64", where all are expected to be that. It never converts.
    block : int, optional
        How many entities a thread scores before it turns to other queries, for tests and
        measurements; it changes no count.
    threads : int, optional
        As in `rank`.
    audit : bool
        Also count, per task, the candidates that are NaN or infinite, and those at the best score;
        they are in ``Ranks.audit``.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task; ``protocol.similarity`` is the similarity,
        ``protocol.dtype`` the dtype of the scores.

    Raises
    ------
    TypeError
        For vectors that are no floats, and indices that are no integers.
    ValueError
        For shapes that do not fit, no numbers in a vector, odd lengths with complex_l1, an unknown
        similarity, indices out of range, a target that is not among its candidates, a NaN that the
        rule forbids (with its first query and entity), and files that are damaged or too short.
    OSError
        For files that are missing or cannot be read.

    Notes
    -----
    With q and e the vectors of a query and an entity, and sums over k from the first to the last:

    ============  ==================================================================================
    dot           sum of q[k] e[k]
    cosine        dot of q / |q|_2 and e / |e|_2; 0 where one of them is 0
    l1            -(sum of |q[k] - e[k]|), as in TransE (Bordes et al. 2013)
    l2            -sqrt(sum of (q[k] - e[k])^2)
    sql2          -(sum of (q[k] - e[k])^2)
    complex_l1    -(sum of |q[j] - e[j]|, moduli of complex numbers), as in RotatE (Sun et al.
                  2019); vectors have real and imaginary parts in turn, as a complex64 array has
                  in ``.view(np.float32)`` and a torch tensor in ``view_as_real(x).flatten(-2)``
    poincare      -arcosh(1 + 2 |q - e|^2 / ((1 - |q|^2) (1 - |e|^2)))^2, as in MuRP (Balazevic et
                  al. 2019) with curvature 1; NaN unless both are inside of the unit ball
    inverse_l1    1 / (1 + d), with the distance d of l1: between 0 and 1
    inverse_l2    1 / (1 + d), with the distance d of l2
    ============  ==================================================================================

    Scores are float64 if queries or entities are, else float32; narrower vectors are widened
    exactly. **The score of a pair is a function of its two vectors alone, and has the same bits on
    every machine**, for any block, number of threads and instruction set: one accumulator runs
    along k, in order, by fused multiply-adds with one rounding each (dot: s = fma(q[k], e[k], s);
    sql2: t = q[k] - e[k], s = fma(t, t, s); l1: s = s + |q[k] - e[k]|; complex_l1: u and v the
    differences of both parts, s = s + sqrt(fma(u, u, v v))). So equal vectors tie exactly, and
    copies of an entity score alike. Cosine divides each vector once, in float64, by the root of the
    sum of its squares, which are rounded and added in order in float64, and rounds to the dtype of
    the scores. poincare takes |q - e|^2 from sql2 and the squares of |q| and |e| from cosine, and
    goes on in float64 by arithmetic and square roots alone; the result is rounded once.

    l2 and sql2 rank alike, but for ties: the root brings unlike sums together, so what is apart
    under sql2 may be tied under l2. Never the other way round. So do l1 and inverse_l1, l2 and
    inverse_l2: 1 + d and the quotient are rounded once each, and what is apart may become a tie.

    Infinities are ordinary numbers: what comes of them is what IEEE 754 says. An infinite part can
    make a NaN (inf - inf, 0 inf), also where both vectors are the same one, and `nan` then says
    what holds. A sum beyond the largest float32 is infinite, and ties with others like it.

    References
    ----------
    - Bordes, Usunier, Garcia-Duran, Weston, Yakhnenko: Translating embeddings for modeling
      multi-relational data. NIPS 2013.
    - Dettmers, Minervini, Stenetorp, Riedel: Convolutional 2D knowledge graph embeddings. AAAI
      2018.
    - Sun, Deng, Nie, Tang: RotatE: knowledge graph embedding by relational rotation in complex
      space. ICLR 2019.
    - Balazevic, Allen, Hospedales: Multi-relational Poincare graph embeddings. NeurIPS 2019.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [2, 2]], np.float32)
    >>> queries = np.array([[1, 0.5], [2, 1]], np.float32)
    >>> ranks = rank_embeddings(queries, entities, [2, 3], similarity="l1")
    >>> ranks.optimistic, ranks.pessimistic
    (array([1, 1]), array([2, 2]))
    >>> rank_embeddings(queries, entities, [2, 3], filter=[[3], []]).optimistic
    array([1, 1])
    """
    return rank_open_embeddings(
        open_embeddings(queries, entities, similarity, bias, dtype, csls),
        targets,
        rows=rows,
        filter=filter,
        candidates=candidates,
        nan=nan,
        block=block,
        threads=threads,
        audit=audit,
    )


def rank_open_embeddings(
    embeddings: OpenEmbeddings,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    nan: str = "raise",
    block: int | None = None,
    threads: int | None = None,
    audit: bool = False,
) -> Ranks:
    """Rank vectors that are open, as `rank_embeddings` does."""
    size = positive_integer("block", block) if block is not None else 0
    arguments = (targets, rows, filter, candidates, "descending", nan, threads, audit)
    job = prepare_job(
        embeddings.shape, embeddings.is_single_query, *arguments, embeddings.roles.nouns
    )
    counted = _core.rank_embeddings(
        embeddings.core_embeddings, job.tasks(), job.rules, size, job.threads
    )
    if fault := counted.fault:
        raise job.error_of(fault)
    return with_similarity(
        job.ranks(counted.arrays, embeddings.dtype, embeddings.files), embeddings.measure
    )


@public("truerank")
def score_embeddings(
    queries: Any,
    entities: Any,
    targets: Any = None,
    *,
    similarity: str = "dot",
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    dtype: Any = None,
    threads: int | None = None,
) -> npt.NDArray[Any]:
    """Return scores as an array: those that `rank_embeddings` counts, bit for bit.

    Parameters
    ----------
    queries, entities, similarity, bias, csls, dtype, threads
        As in `rank_embeddings`.
    targets : array_like of int, shape (tasks,), or int, optional
        An entity for each task, of which the score with the task's query is wanted. Default: the
        scores of all entities.
    rows : array_like of int, shape (tasks,), optional
        The query of each task. Default: task i is query i.

    Returns
    -------
    ndarray of float32 or float64, shape (tasks, n) or (tasks,)
        With `targets` the scores of the pairs, else a row for each task.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does. A score that is NaN is no error.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1]], np.float32)
    >>> score_embeddings([[1.0, 2.0], [3.0, 4.0]], entities)
    array([[2., 1., 3.],
           [4., 3., 7.]])
    >>> score_embeddings([[1.0, 2.0], [3.0, 4.0]], entities, [2, 0, 1], rows=[0, 1, 1])
    array([3., 4., 3.])
    """
    embeddings = open_embeddings(queries, entities, similarity, bias, dtype, csls)
    return score_open_embeddings(embeddings, targets, rows, threads)


def score_open_embeddings(
    embeddings: OpenEmbeddings, targets: Any, rows: Any, threads: int | None
) -> npt.NDArray[Any]:
    """Score vectors that are open, as `score_embeddings` does."""
    num_threads = thread_count(threads)
    if targets is None:
        return _core.score_embeddings(
            embeddings.core_embeddings, embeddings.rows(rows), None, num_threads
        )
    arguments = (targets, rows, None, None, "descending", "worst", None, False)
    job = prepare_job(
        embeddings.shape, embeddings.is_single_query, *arguments, embeddings.roles.nouns
    )
    return _core.score_embeddings(embeddings.core_embeddings, job.rows, job.targets, num_threads)


@public("truerank")
def topk_embeddings(
    queries: Any,
    entities: Any,
    k: int,
    *,
    similarity: str = "dot",
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    nan: str = "raise",
    dtype: Any = None,
    block: int | None = None,
    threads: int | None = None,
) -> TopK:
    """Return the k best candidates of every task, best first, without storing the other scores.

    Parameters
    ----------
    queries, entities, similarity, bias, csls, dtype, block, threads
        As in `rank_embeddings`.
    k : int
        How many, at least 1.
    rows : array_like of int, shape (tasks,), optional
        The query of each task. Default: one task for each query.
    filter : selection, optional
        Entities to leave out, per task; there is no target that would stay.
    candidates : selection, or array_like of int, optional
        The only entities to let in, per task or one array for all.
    nan : {"raise", "worst", "omit"}
        The rule for candidates whose score is NaN. "raise": an error. "worst": they come last.
        "omit": they are none.

    Returns
    -------
    TopK
        ``ids`` and ``scores``, (tasks, k). Equal scores are in the order of ids, lowest first (-0.0
        equals 0.0), and so are NaN. Where a task has fewer than k candidates, the rest is -1 and
        NaN.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does, and for a `k` below 1.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [0, 1]], np.float32)
    >>> best = topk_embeddings(np.array([[1, 2]], np.float32), entities, 3)
    >>> best.ids, best.scores
    (array([[2, 0, 3]]), array([[3., 2., 2.]], dtype=float32))
    >>> topk_embeddings(np.array([[1, 2]], np.float32), entities, 3, filter=[[0, 2]]).ids
    array([[ 3,  1, -1]])
    """
    embeddings = open_embeddings(queries, entities, similarity, bias, dtype, csls)
    arguments = {"rows": rows, "filter": filter, "candidates": candidates}
    return topk_open_embeddings(embeddings, k, **arguments, nan=nan, block=block, threads=threads)


class CurrentMatches(NamedTuple):
    """What entities hold already: they accept queries of a higher score, or an equal and lower id.

    Attributes
    ----------
    held : ndarray of float, shape (n,)
        The score that each entity holds; -inf for a free one.
    holders : ndarray of int64, shape (n,)
        The query that it holds; for a free one a number beyond them.
    """

    scores: npt.NDArray[Any]
    queries: IntArray


def topk_open_embeddings(
    embeddings: OpenEmbeddings,
    k: int,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    nan: str = "raise",
    block: int | None = None,
    threads: int | None = None,
    current: CurrentMatches | None = None,
) -> TopK:
    """Return the k best candidates of vectors that are open, as `topk_embeddings` does.

    Parameters
    ----------
    pairs : Pairs
    k, rows, filter, candidates, nan, block, threads
        As in `topk_embeddings`.
    current : CurrentMatches, optional
        Only entities that would leave what they hold for the query are candidates. A NaN is not
        asked whether it is accepted.

    Examples
    --------
    >>> queries, entities = np.array([[1.0], [2.0]]), np.array([[1.0], [3.0], [2.0]])
    >>> current = CurrentMatches(np.array([2.0, 3.0, -np.inf]), np.array([1, 0, 2]))
    >>> embeddings = open_embeddings(queries, entities, "dot", None, None)
    >>> topk_open_embeddings(embeddings, 2, current=current).ids
    array([[ 2, -1],
           [ 1,  2]])
    """
    length = positive_integer("k", k)
    size = positive_integer("block", block) if block is not None else 0
    num_threads = thread_count(threads)
    choice("nan", nan, NAN_RULES)
    height, columns = embeddings.shape
    query_rows = embeddings.rows(rows)
    tasks = height if query_rows is None else len(query_rows)
    filter_selection = as_selection("filter", filter, tasks, columns, num_threads)
    candidate_selection = as_selection("candidates", candidates, tasks, columns, num_threads)
    width = min(length, max(1, columns))
    core_tasks = _core.Tasks(query_rows, None, filter_selection, candidate_selection)
    matches = None
    if current is not None:
        match_scores, match_queries = current
        matches = (
            match_scores.astype(embeddings.dtype, order="C"),
            match_queries.astype(np.int64, order="C"),
        )
    ids, scores, fault = _core.topk_embeddings(
        embeddings.core_embeddings, core_tasks, width, nan, matches, size, num_threads
    )
    if fault:
        raise fault_error(fault, nan, ids, embeddings.roles.nouns)
    if width < length:
        padding = ((0, 0), (0, length - width))
        ids = np.pad(ids, padding, constant_values=-1)
        scores = np.pad(scores, padding, constant_values=np.nan)
    return TopK(ids, scores)


def with_similarity(ranks: Ranks, measure: str) -> Ranks:
    """Name what made the scores in the protocol of ranks."""
    protocol = _named_protocol(measure, ranks.protocol)
    return Ranks._trusted(
        ranks.above, ranks.tied, ranks.candidates, audit=ranks.audit, protocol=protocol
    )


@lru_cache(maxsize=64)
def _named_protocol(similarity: str, protocol: Protocol) -> Protocol:
    """Kept, since a small count takes less time than this."""
    return replace(protocol, similarity=similarity)
