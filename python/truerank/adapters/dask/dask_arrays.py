"""The functions that rank Dask arrays: scores or entities in chunks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import dask
import dask.array as da
import numpy as np

from ...counting.job import prepare_job
from ...embeddings.scoring import with_similarity
from ...embeddings.vectors import open_embeddings, read_vectors
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...inputs.rules import EmbeddingOptions, RuleOptions, read_rules, with_options
from ...inputs.scores import as_scores, widen_bfloat16
from .graph import ChunkedInputs, count_in_two_passes
from .row_chunks import grid_of
from .scheduler_steps import watched_steps
from .workers import (
    CountingOptions,
    count_chunk,
    count_vector_chunk,
    score_true_pairs,
    take_true_scores,
    true_score_dtype,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...embeddings.vectors import OpenEmbeddings
    from ...inputs.words import Similarity
    from ...ranks.container import Ranks


@public("truerank.adapters.dask")
@with_options(RuleOptions)
def rank(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Unpack[RuleOptions],
) -> Ranks:
    """Count, for every task, the candidates above the true one, chunk by chunk.

    The result is that of `truerank.rank` for the whole matrix, bit for bit, for any chunks. True
    scores are gathered first. Then each chunk is compared with them on its worker, and the counts
    are added up.

    Parameters
    ----------
    scores : dask.array.Array, shape (rows, columns) or (columns,)
        In chunks of any known sizes in both directions. The dtypes are those of `truerank.rank`.
        Chunks that hold a true candidate are computed twice, unless the array is persisted.
    targets : array_like of int, shape (tasks,), or int
        The column of each task's true candidate. A Dask array is computed.
    rows, filter, candidates, order, nan, dtype, audit
        As in `truerank.rank`. Each chunk is sent only its own entries of a selection, 8 or 12 bytes
        each. A chunk is not computed if no task reads its rows or if it has no candidates.
    threads : int, optional
        The number of threads of each Dask task. Default: one, because Dask runs as many tasks at
        once as its workers have threads.
    progress : callable or bool, optional
        Called with a `Progress`, in steps of Dask's graphs, by its local schedulers; True: a bar of
        tqdm or rich. The dashboard of `dask.distributed` shows its own.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task, int64.

    Raises
    ------
    TypeError
        If `scores` is not a Dask array, if a chunk has another dtype than the array says, and as
        `truerank.rank`.
    ValueError
        As `truerank.rank`, for chunks of unknown sizes, and if a true score changes when its chunk
        is computed again. Of several NaN, the error names the first one in the whole matrix.

    Notes
    -----
    A chunk may be a tensor of torch, also on a device of its worker, where it is counted: the array
    then says a dtype of NumPy (that of ml_dtypes for bfloat16), and nothing but what makes the
    tensor may come before this function.

    For each task, ``above``, ``tied`` and ``candidates`` are sums of integers over the chunks of
    its row, so the order of the chunks does not matter. The true candidate is not part of these
    sums and is counted once, at the end.

    Examples
    --------
    >>> import dask.array as da
    >>> scores = da.from_array([[0.1, 0.9, 0.5, 0.5], [0.7, 0.2, 0.2, 0.3]], chunks=(1, 2))
    >>> ranks = rank(scores, [2, 1])
    >>> ranks.optimistic, ranks.pessimistic
    (array([2, 3]), array([3, 4]))
    """
    check_dask_array("scores", scores, "truerank.rank")
    rules = read_rules(options)
    matrix = as_scores(placeholder(scores), rules.dtype)
    single = scores.ndim == 1
    if single:
        scores = scores[None, :]
    job = prepare_job(scores.shape, single, targets, rows, filter, candidates, rules)
    raw = None if rules.dtype is None else matrix.dtype
    counting = CountingOptions(matrix.dtype, raw, job.rules, job.threads or 1)
    inputs = ChunkedInputs(
        arrays=[(scores, "ij")],
        axes="ij",
        first=partial(take_true_scores, options=counting),
        second=partial(count_chunk, options=counting),
        true_score_dtype=true_score_dtype(matrix.array.dtype, matrix.dtype),
    )
    with watched_steps(rules.progress):
        return count_in_two_passes(inputs, grid_of(*scores.chunks), job, counting)


@public("truerank.adapters.dask")
@with_options(EmbeddingOptions)
def rank_embeddings(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    similarity: Similarity = "dot",
    bias: Any = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Unpack[EmbeddingOptions],
) -> Ranks:
    """Score every query with every entity on the worker of the entity, and count the ranks.

    The result is that of `truerank.rank_embeddings` for all entities, bit for bit, for any chunks,
    because the score of a pair depends only on its two vectors. The true pairs are scored first, on
    the workers of the true entities. Then the scores of each chunk of entities are compared with
    them where they are made, in registers and caches, and never stored.

    Parameters
    ----------
    queries : array_like or dask.array.Array, shape (q, d) or (d,)
        As in `truerank.rank_embeddings`. Every chunk of queries is compared with every chunk of
        entities, which is read again each time, so few large chunks are best. Other arrays and
        paths are read here and make one chunk.
    entities : dask.array.Array, shape (n, d)
        In chunks of any known sizes; chunks along d are joined first. Chunks that hold a true
        entity are computed twice, unless the array is persisted.
    targets : array_like of int, shape (tasks,), or int
        The entity that is each task's true candidate. A Dask array is computed.
    similarity : str
        As in `truerank.rank_embeddings`; without CSLS.
    bias : array_like or dask.array.Array, shape (n,), optional
        Added to the scores of each entity. Each chunk of entities is sent only its own values.
    rows, filter, candidates, nan, dtype, audit
        As in `truerank.rank_embeddings`. Each chunk is sent only its own entries of a selection.
    threads : int, optional
        The number of threads of each Dask task. Default: one.
    progress : callable or bool, optional
        As in `rank`.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task; the protocol names the similarity.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.rank_embeddings`, and as `rank` for arrays that are not Dask arrays, and for
        chunks.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [2, 2]], np.float32)
    >>> queries = np.array([[1, 0.5], [2, 1]], np.float32)
    >>> chunks = da.from_array(entities, chunks=(3, 2))
    >>> ranks = rank_embeddings(queries, chunks, [2, 3], similarity="l1")
    >>> ranks.optimistic, ranks.pessimistic
    (array([1, 1]), array([2, 2]))
    """
    check_dask_array("entities", entities, "truerank.rank_embeddings")
    lazy_queries, lazy_bias = isinstance(queries, da.Array), isinstance(bias, da.Array)
    if lazy_queries:
        check_dask_array("queries", queries, "")
    queries_seen = placeholder(queries) if lazy_queries else queries
    bias_seen = None if lazy_bias else bias
    rules = read_rules(options, EmbeddingOptions)
    dtype = rules.dtype
    pairs = open_embeddings(queries_seen, placeholder(entities), similarity, bias_seen, dtype)
    tasks = (targets, rows, filter, candidates, rules, pairs.roles.nouns)
    job = prepare_job(pairs.shape, pairs.is_single_query, *tasks)
    if not lazy_queries:
        queries = _one_chunk(pairs)
    if lazy_bias:
        bias = _check_bias(bias, pairs.shape[1], dtype)
    elif bias is not None:
        bias = da.from_array(pairs.bias, chunks=(entities.chunks[0],), name=False)
    if queries.ndim == 1:
        queries = queries[None, :]
    queries, entities = queries.rechunk({1: -1}), entities.rechunk({1: -1})
    if bias is not None:
        bias = compute_chunks_once(bias.rechunk((entities.chunks[0],)))
    counting = CountingOptions(pairs.dtype, dtype, job.rules, job.threads or 1, similarity)
    inputs = ChunkedInputs(
        arrays=[
            (compute_chunks_once(queries), "ik"),
            (entities, "jk"),
            (bias, None if bias is None else "j"),
        ],
        axes="ijk",
        first=partial(score_true_pairs, options=counting),
        second=partial(count_vector_chunk, options=counting),
        true_score_dtype=np.dtype(pairs.dtype),
    )
    grid = grid_of(queries.chunks[0], entities.chunks[0])
    with watched_steps(rules.progress):
        ranks = count_in_two_passes(inputs, grid, job, counting)
    return with_similarity(ranks, similarity)


def _one_chunk(pairs: OpenEmbeddings) -> Any:
    """Copy queries into one chunk, because they may be in a file that the workers do not have."""
    array, kind = pairs.queries.array, pairs.queries.dtype
    # in the precision of scoring: the dtype of a Dask array cannot say that bytes are bfloat16
    plain = widen_bfloat16(array) if kind == "bfloat16" else np.array(array)
    return da.from_array(plain, chunks=-1, name=False)


def _check_bias(bias: Any, entities: int, dtype: Any) -> Any:
    """Check the dtype and shape of a bias that is not computed yet."""
    check_dask_array("bias", bias, "")
    read_vectors("bias", placeholder(bias), dtype, "bias")
    if len(bias) != entities:
        raise InputValueError(
            "bias", expected=f"{entities} numbers, one for each entity", got=f"shape {bias.shape}"
        )
    return bias


def check_dask_array(name: str, value: Any, instead: str) -> Any:
    """Check that an argument is a Dask array whose chunks have known sizes.

    Parameters
    ----------
    name : str
        The argument.
    value : object
    instead : str
        The function to call for other arrays.

    Raises
    ------
    TypeError
        For anything but a Dask array.
    ValueError
        For unknown sizes.

    Examples
    --------
    >>> check_dask_array("scores", [[0.5]], "truerank.rank")
    Traceback (most recent call last):
    truerank.InputTypeError: scores: expected a dask array, got list; truerank.rank takes it
    """
    if not isinstance(value, da.Array):
        raise InputTypeError(
            name, expected="a dask array", got=f"{type(value).__name__}; {instead} takes it"
        )
    if np.isnan(value.shape).any():
        raise InputValueError(
            name,
            expected="chunks of known sizes",
            got=f"shape {value.shape}; compute_chunk_sizes() computes them",
        )
    return value


def placeholder(array: Any) -> npt.NDArray[Any]:
    """Make an array of the same shape and dtype that takes no memory, for checks.

    Examples
    --------
    >>> placeholder(da.zeros((10**6, 10**6))).shape
    (1000000, 1000000)
    """
    return np.broadcast_to(np.empty((), array.dtype), array.shape)


def compute_chunks_once(array: Any) -> Any:
    """Return an array whose chunks are computed once, not by each task that needs them.

    Dask may fuse the task that makes a chunk into the tasks that use it, even if there are many of
    them. It does not do so in a graph of single tasks.
    """
    (array,) = dask.optimize(array)
    return da.Array(dict(array.dask), array.name, array.chunks, meta=array._meta)
