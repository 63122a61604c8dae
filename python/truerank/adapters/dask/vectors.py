"""rank_embeddings: entities in chunks of a Dask array."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

from ...counting.job import prepare
from ...embeddings.scoring import scored_by
from ...embeddings.vectors import pairs_of, read_vectors
from ...inputs.errors import InputValueError
from ...inputs.scores import widened
from .arrays import checked_array, computed_once, stand_in
from .graph import Inputs, counted
from .stripes import grid_of
from .workers import How, count_pairs, take_pairs

if TYPE_CHECKING:
    from ...embeddings.vectors import Pairs
    from ...ranks.container import Ranks


def rank_embeddings(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    similarity: str = "dot",
    bias: Any = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    nan: str = "raise",
    dtype: Any = None,
    threads: int | None = None,
    audit: bool = False,
) -> Ranks:
    """Score every query with every entity where the entity is, and count; nothing is stored.

    It is `truerank.rank_embeddings` of all entities, bit for bit, whatever the chunks are: the
    score of a pair is a function of its two vectors alone. The scores of the true pairs are made
    first, where the true entities are; then each chunk of entities is counted against them. Scores
    exist in tiles of 16 MB, or of 256 entities where that is more, which are forgotten as soon as
    they are counted.

    Parameters
    ----------
    queries : array_like or dask.array.Array, shape (q, d) or (d,)
        As in `truerank.rank_embeddings`. Every chunk of queries meets every chunk of entities,
        which is read again for each of them: few large chunks are best. What is no Dask array, or
        a path, is read here and is one chunk.
    entities : dask.array.Array, shape (n, d)
        In chunks of any known sizes; if d is cut, chunks are joined along it first. Chunks that
        hold a true entity are computed once more, unless the array is persisted.
    targets : array_like of int, shape (tasks,), or int
        The entity that is each task's true candidate. A Dask array is computed.
    similarity : str
        As in `truerank.rank_embeddings`; without CSLS.
    bias : array_like or dask.array.Array, shape (n,), optional
        Added to the scores of each entity. Each chunk of entities is sent its own part.
    rows, filter, candidates, nan, dtype, audit
        As in `truerank.rank_embeddings`. Of selections, each chunk is sent its own entries. All
        pairs of a chunk are scored if it has a candidate of any of its tasks.
    threads : int, optional
        The threads with which each task of Dask counts; one by default.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task; the protocol names the similarity.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.rank_embeddings`, and as `rank` for what is no Dask array and for chunks.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [2, 2]], np.float32)
    >>> queries = np.array([[1, 0.5], [2, 1]], np.float32)
    >>> chunks = da.from_array(entities, chunks=(3, 2))
    >>> ranks = rank_embeddings(queries, chunks, [2, 3], similarity="l1")
    >>> ranks.optimistic, ranks.pessimistic
    (array([1, 1]), array([2, 2]))
    """
    checked_array("entities", entities, "truerank.rank_embeddings")
    lazy_queries, lazy_bias = isinstance(queries, da.Array), isinstance(bias, da.Array)
    if lazy_queries:
        checked_array("queries", queries, "")
    seen = stand_in(queries) if lazy_queries else queries
    added = None if lazy_bias else bias
    pairs = pairs_of(seen, stand_in(entities), similarity, added, dtype)
    given = (targets, rows, filter, candidates, "descending", nan, threads, audit)
    job = prepare(pairs.shape, pairs.single, *given, pairs.sides.nouns)
    if not lazy_queries:
        queries = _one_chunk(pairs)
    if lazy_bias:
        bias = _checked_bias(bias, pairs.shape[1], dtype)
    elif bias is not None:
        bias = da.from_array(pairs.bias, chunks=(entities.chunks[0],), name=False)
    if queries.ndim == 1:
        queries = queries[None, :]
    queries, entities = queries.rechunk({1: -1}), entities.rechunk({1: -1})
    if bias is not None:
        bias = computed_once(bias.rechunk((entities.chunks[0],)))
    how = How(pairs.dtype, dtype, job.rules, job.threads or 1, similarity)
    inputs = Inputs(
        arrays=[
            (computed_once(queries), "ik"),
            (entities, "jk"),
            (bias, None if bias is None else "j"),
        ],
        axes="ijk",
        first=partial(take_pairs, how=how),
        second=partial(count_pairs, how=how),
        carrier=np.dtype(pairs.dtype),
    )
    grid = grid_of(queries.chunks[0], entities.chunks[0])
    return scored_by(counted(inputs, grid, job, how), similarity)


def _one_chunk(pairs: Pairs) -> Any:
    """Copy queries, which may be in a file that the workers do not have."""
    array, kind = pairs.queries.array, pairs.queries.dtype
    # exactly as wide as they are scored; nobody can tell raw bytes from a Dask array's dtype
    plain = widened(array) if kind == "bfloat16" else np.array(array)
    return da.from_array(plain, chunks=-1, name=False)


def _checked_bias(bias: Any, entities: int, dtype: Any) -> Any:
    """Check what can be told of a bias that is not computed yet."""
    checked_array("bias", bias, "")
    read_vectors("bias", stand_in(bias), dtype, "bias")
    if len(bias) != entities:
        raise InputValueError(
            "bias", expected=f"{entities} numbers, one for each entity", got=f"shape {bias.shape}"
        )
    return bias
