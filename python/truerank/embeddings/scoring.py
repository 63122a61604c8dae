"""Embeddings: vectors and targets in, Ranks out; the scores of all pairs are never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..counting.job import NO_TARGETS
from ..counting.lists import TopK
from ..inputs.checks import check_size, positive_integer
from ..inputs.rules import EmbeddingOptions, Rules, SimilarityOptions, read_rules, with_options
from ..naming import public
from .vectors import Embeddings, listener_of, watching

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from ..counting.job import Job
    from ..inputs.progress_listeners import Watch
    from ..inputs.rules import Layout, Similarity
    from ..ranks.container import Ranks
    from .vectors import CSLS


@public("truerank")
@with_options(EmbeddingOptions)
def rank_embeddings(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    similarity: Similarity = "dot",
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[EmbeddingOptions],
) -> Ranks:
    """Score every query with every entity; count the candidates above the true one or tied with it.

    The result is that of `rank` for the matrix (queries, entities) from `score_embeddings`, bit for
    bit. But scores are counted where they are made, in registers and caches, and never stored.

    Parameters
    ----------
    queries : array_like, shape (q, d) or (d,), or path
        float16, bfloat16, float32 or float64, in any layout, as `rank` takes scores: slices,
        read-only arrays, torch tensors, memory maps, a column of lists of one length, or the path
        of a file: `.npy`, `.fvecs`, `.bvecs`, `.fbin`, `.f16bin`, `.u8bin`, `.i8bin`, `.bin` of
        DiskANN, also with `.crop_nb_1000` behind it, or ``FILE.hdf5:NAME``. Or int8, uint8 or bool,
        queries and entities alike: quantised vectors, taken as numbers. With "complex_l1" also
        complex64 and complex128. A single vector, (d,) or (1, d), is the query of all tasks unless
        `rows` are given. Where a model makes its query of a head and a relation, give the vector
        that it compares with the tails: head * relation for DistMult, head + relation for TransE.

        With "maxsim" a pair ``(vectors, indptr)``: the tokens of all queries, one after the other,
        of shape (tokens, d); and q + 1 integers, or the path of a `.npy` file of them, so that
        query i has the tokens ``vectors[indptr[i]:indptr[i + 1]]``. A list x of arrays, one for
        each query, becomes ``np.concatenate(x), np.cumsum([0, *map(len, x)])``.

        Tensors on a device are copied to the host, and ranked there; with "maxsim" they are
        refused. Scores made on a device are counted there, by `rank`.
    entities : array_like, shape (n, d), or path
        The candidates, in the same forms; with "maxsim" a pair of n lists. A file or a memory map
        is read in place, however large it is; if another process truncates it meanwhile, this
        process is killed.
    targets : array_like of int, shape (tasks,), or int
        The entity that is each task's true candidate; one integer for all tasks.
    similarity : str
        "dot", "cosine", "l1", "l2", "sql2", "complex_l1", "poincare", "inverse_l1", "inverse_l2" or
        "maxsim": how a query and an entity are scored; see Notes.
    layout : {"interleaved", "halves"}, optional
        How real vectors hold complex numbers. "interleaved": real and imaginary parts in turn, as
        in ``.view(np.float32)`` of a complex64 array. "halves": all real parts, then all imaginary
        parts, as in RotatE's and DGL-KE's checkpoints. Required with "complex_l1" unless all
        vectors are complex, and refused with anything else.
    bias : array_like of float, shape (n,), optional
        Added to the scores of each entity as the last step, as in ConvE (Dettmers et al. 2018). A
        wider dtype is rounded to that of the scores. Not with "maxsim".
    csls : CSLS, optional
        Means from `truerank.alignment.csls_means`: a score s becomes 2 s - (m + n), where m is the
        mean of the query and n that of the entity. The sum is rounded once, the result once more.
        Not with "maxsim".
    rows : array_like of int, shape (tasks,), optional
        The query of each task, in any order and with repeats. Default: task i is query i; a single
        query is that of all tasks.
    filter : selection, optional
        Entities to leave out, per task, in the forms of `rank`. The target is never left out.
    candidates : selection, or array_like of int, optional
        The only entities to let in, per task or one array for all. The target must be among them.
    nan : {"raise", "worst", "omit"}
        The rule for scores that are NaN, as in `rank`.
    dtype : str or dtype, optional
        What raw 16-bit vectors are, or those of `.f16bin` and `.bin` ("bfloat16"), beside which
        wider ones may stand; and bytes in `.bin` ("int8", "uint8"). Or the dtype that all vectors
        are expected to have. None is converted.
    checkpoint : path-like, optional
        As in `rank`. Pairs are then counted in tiles of at most 1 GB of scores.
    threads, audit
        As in `rank`.
    progress : callable or bool, optional
        True: a bar of tqdm. A callable is called with a `Progress` on this thread, at most ten
        times a second; what it raises ends the call. The last one says what bounds spared.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task; ``protocol.similarity`` is the similarity,
        ``protocol.dtype`` the dtype of the scores.

    Raises
    ------
    TypeError
        For vectors of another dtype, quantised vectors beside others, indices that are not
        integers, and lists of vectors in another form than ``(vectors, indptr)``, or without
        "maxsim".
    ValueError
        For shapes that do not fit, vectors of length 0, odd lengths with complex_l1, a `layout`
        that is missing or not needed, an unknown similarity, an indptr that does not fit, a query
        or an entity without tokens, indices out of range, a target that is not among its
        candidates, a NaN that the rule forbids (the error names the first query as a row, and its
        entity as a column), and files that are damaged or too short.
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
                  2019), in vectors of complex numbers, or of real numbers in a `layout`
    poincare      -arcosh(1 + 2 |q - e|^2 / ((1 - |q|^2) (1 - |e|^2)))^2, as in MuRP (Balazevic et
                  al. 2019) with curvature 1; NaN unless both are inside of the unit ball
    inverse_l1    1 / (1 + d), with the distance d of l1: between 0 and 1
    inverse_l2    1 / (1 + d), with the distance d of l2
    maxsim        the sum, over the tokens of the query, of the greatest dot with a token of the
                  entity: late interaction, as in ColBERT (Khattab and Zaharia 2020)
    ============  ==================================================================================

    Scores are float64 if queries or entities are float64 or quantised, else float32; narrower
    vectors are widened exactly. **The score of a pair depends only on its two vectors, and has the
    same bits on every machine**, for any number of threads and any instruction set, so that equal
    vectors tie exactly. ComplEx's score is the dot of the real vectors, in either layout. The page
    "Embeddings: ranks and the top k" has the rounding of each similarity, and what overflows.

    Vectors of floats that differ under sql2 may tie under l2, never the other way round; likewise
    under l1 and inverse_l1, and under l2 and inverse_l2.

    An infinite component can make a score NaN (inf - inf, 0 inf), even of equal vectors; then the
    rule `nan` applies.

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
    rules = read_rules(options, EmbeddingOptions, rank_embeddings)
    embeddings = Embeddings(
        queries, entities, similarity, bias, rules.dtype, csls, layout=rules.layout
    )
    with watching(rules.progress, embeddings.nbytes) as watch:
        job = embeddings.job(targets, rows, filter, candidates, rules)
        counts = embeddings.counts(job, checkpoint=checkpoint, watch=watch)
        return counts.ranks(job, embeddings)


@public("truerank")
def score_embeddings(
    queries: Any,
    entities: Any,
    targets: Any = None,
    *,
    similarity: Similarity = "dot",
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    dtype: Any = None,
    layout: Layout | None = None,
    threads: int | None = None,
) -> npt.NDArray[Any]:
    """Return the scores that `rank_embeddings` counts, bit for bit, as an array.

    Parameters
    ----------
    queries, entities, similarity, bias, csls, dtype, layout, threads
        As in `rank_embeddings`.
    targets : array_like of int, shape (tasks,), or int, optional
        The entity of each task whose score with the task's query is returned. Default: the scores
        of all entities are returned.
    rows : array_like of int, shape (tasks,), optional
        The query of each task. Default: task i is query i; a single query is that of all tasks.

    Returns
    -------
    ndarray of float32 or float64, shape (tasks, n) or (tasks,)
        With `targets`, the score of each task; else a row of scores for each task.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does. A score that is NaN is not an error.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1]], np.float32)
    >>> score_embeddings([[1.0, 2.0], [3.0, 4.0]], entities)
    array([[2., 1., 3.],
           [4., 3., 7.]])
    >>> score_embeddings([[1.0, 2.0], [3.0, 4.0]], entities, [2, 0, 1], rows=[0, 1, 1])
    array([3., 4., 3.])
    """
    embeddings = Embeddings(queries, entities, similarity, bias, dtype, csls, layout=layout)
    rules = Rules(threads=threads)
    columns = NO_TARGETS if targets is None else targets
    job = embeddings.job(columns, rows, filter=None, candidates=None, rules=rules)
    scored_targets = None if targets is None else job.targets
    return embeddings.score(job.rows, scored_targets, rules.num_threads)


@public("truerank")
@with_options(SimilarityOptions)
def topk_embeddings(
    queries: Any,
    entities: Any,
    k: int,
    *,
    similarity: Similarity = "dot",
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Unpack[SimilarityOptions],
) -> TopK:
    """Return the k most similar candidates of every task, in order, without storing other scores.

    Parameters
    ----------
    queries, entities, similarity, bias, csls, dtype, layout, threads
        As in `rank_embeddings`.
    k : int
        The number of candidates to return, at least 1.
    rows : array_like of int, shape (tasks,), optional
        The query of each task. Default: one task for each query.
    filter : selection, optional
        Entities to leave out, per task. As there are no targets, all of them are left out.
    candidates : selection, or array_like of int, optional
        The only entities to let in, per task or one array for all.
    nan : {"raise", "worst", "omit"}
        The rule for candidates whose score is NaN. "raise": an error. "worst": they come last.
        "omit": they are not candidates.
    progress : callable or bool, optional
        As in `rank_embeddings`.

    Returns
    -------
    TopK
        ``ids`` and ``scores``, (tasks, k). Candidates with equal scores are in the order of their
        ids, lowest first (-0.0 equals 0.0), and so are those with NaN. If a task has fewer than k
        candidates, the rest is -1 and NaN.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does, and if `k` is below 1.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [0, 1]], np.float32)
    >>> top = topk_embeddings(np.array([[1, 2]], np.float32), entities, 3)
    >>> top.ids, top.scores
    (array([[2, 0, 3]]), array([[3., 2., 2.]], dtype=float32))
    >>> topk_embeddings(np.array([[1, 2]], np.float32), entities, 3, filter=[[0, 2]]).ids
    array([[ 3,  1, -1]])
    """
    rules = read_rules(options, SimilarityOptions, topk_embeddings)
    embeddings = Embeddings(
        queries, entities, similarity, bias, rules.dtype, csls, layout=rules.layout
    )
    with watching(rules.progress, embeddings.nbytes) as watch:
        job = embeddings.job(NO_TARGETS, rows, filter, candidates, rules)
        return search_topk(embeddings, job, k, watch)


def search_topk(embeddings: Embeddings, job: Job, k: int, watch: Watch | None = None) -> TopK:
    """Return the k most similar candidates for each task of a job, as `topk_embeddings` does."""
    length = positive_integer("k", k)
    check_size("k", length * len(job.all_rows))
    width = min(length, max(1, embeddings.shape[1]))
    ids, scores, fault = _core.topk_embeddings(
        embeddings.core(),
        _core.Tasks(job.rows, None, job.filter, job.candidates),
        width,
        job.rules.nan,
        embeddings.entities_at_a_time,
        job.rules.num_threads,
        listener_of(watch),
    )
    if fault:
        raise job.make_error(fault)
    if width < length:
        padding = ((0, 0), (0, length - width))
        ids = np.pad(ids, padding, constant_values=-1)
        scores = np.pad(scores, padding, constant_values=np.nan)
    return TopK(ids, scores)
