"""Local scaling (CSLS): scores minus their means over the most similar entities of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..arrays.arithmetic import default_arithmetic
from ..counting.job import fault_error
from ..embeddings.scoring import topk_open_embeddings
from ..embeddings.vectors import CSLS, Embeddings, VectorNames, rounded_means
from ..embeddings.watching import listener_of, watch_of_part, watching
from ..errors import InputValueError
from ..inputs.checks import forbidden_nan, positive_integer
from ..inputs.rules import Rules, SimilarityOptions, read_rules, with_options
from ..inputs.scores import widen_bfloat16
from ..naming import public
from ..stores.store import Store, Tile, block_array
from .aligned_pairs import BACKWARD, FORWARD, as_ids_of_both

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..embeddings.watching import Watch
    from ..inputs.words import Similarity

    Array = npt.NDArray[Any]

TILE_BYTES = 16 << 20  # Several arrays of a tile's size are in memory.


@public("truerank.alignment")
@with_options(SimilarityOptions)
def csls_means(
    left: Any,
    right: Any,
    k: int = 10,
    *,
    similarity: Similarity = "cosine",
    candidates: Any = None,
    block: int | None = None,
    **options: Unpack[SimilarityOptions],
) -> CSLS:
    """Return the mean score of every entity with its k most similar entities of the other side.

    Let r_left(x) be the mean of the k highest s(x, .) over the right entities, and r_right(y) that
    of the k highest s(., y) over the left ones. Cross-domain similarity local scaling (Conneau et
    al. 2018) is 2 s(x, y) - r_left(x) - r_right(y), which lowers the scores of hubs: entities that
    are similar to many others. `rank_embeddings`, `score_embeddings`, `topk_embeddings` and all
    functions of this package that score embeddings take the result as ``csls=``.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        The embeddings, as `rank_embeddings` takes queries.
    right : array_like, shape (n2, d), or path
        The embeddings, as `rank_embeddings` takes entities.
    k : int
        The number of highest scores in a mean; all if there are fewer.
    similarity : str
        The similarity s, as in `rank_embeddings`.
    candidates : (left ids, right ids), optional
        The entities that take part: means are over these entities of the other side. Default: all.
        Either of the two may be None as well.
    nan : {"raise", "worst", "omit"}
        "raise": a score that is NaN is an error. Else it is left out; the mean of no scores is 0.
    dtype, layout, block, threads, progress
        As in `rank_embeddings`.

    Returns
    -------
    CSLS
        ``queries`` (n1,) and ``entities`` (n2,), in the dtype of the scores; NaN for entities that
        take no part.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does, and for `k` below 1 and for candidates that are no ids.

    Notes
    -----
    The means are exact. One pass over all pairs gives both sides from the same scores; only the k
    highest of each entity are stored. The scores are added from the highest on in float64, and the
    mean is rounded once, so it is the same for every number of threads and instruction set. Each
    entity takes 4 k bytes (8 k for float64), and as much again during the count.

    A k above the number of candidates is no error: an entity may have fewer than k scores in any
    case, under ``nan="omit"``, and small splits should need no k of their own. Slices of sorted
    scores, which other code takes, do the same.

    OpenEA's code takes the k highest as ``-np.partition(-s, k + 1)[:, :k]``. These are k of the
    k + 1 highest scores, and which one is missing depends on the version of numpy and on the
    processor. Its means lie between that of the 1st to k-th score and that of the 2nd to
    (k + 1)-th; only the same call on the whole matrix reproduces them.

    References
    ----------
    - Conneau, Lample, Ranzato, Denoyer, Jegou: Word translation without parallel data. ICLR 2018.

    Examples
    --------
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> csls_means(left, right, 1)
    CSLS(queries=array([1., 1.]), entities=array([1., 1., 1.]), k=1)
    >>> csls_means(left, right, 2).queries
    array([1. , 0.5])
    """
    rules = read_rules(options, SimilarityOptions)
    block_size = 0 if block is None else positive_integer("block", block)
    pairs = Embeddings(
        left, right, similarity, None, rules.dtype, names=FORWARD, layout=rules.layout
    )
    among = as_ids_of_both(candidates, pairs.shape)
    with watching(rules.progress, pairs.nbytes) as watch:
        return means_of_vectors(pairs, positive_integer("k", k), among, rules, block_size, watch)


def means_of_vectors(
    pairs: Embeddings,
    k: int,
    among: tuple[IntArray, IntArray],
    rules: Rules,
    block: int = 0,
    watch: Watch | None = None,
) -> CSLS:
    """Return the means of open embeddings over some entities of each side, as `csls_means` does."""
    left_ids, right_ids = among
    if not len(left_ids) or not len(right_ids):
        raise InputValueError("candidates", expected="at least one entity on each side", got="none")
    if pairs.on_device:
        means = _means_on_device(pairs, k, among, rules, watch)
        return _means_of_all(means, among, pairs.shape, pairs.dtype, k)
    grid = _core.Grid(pairs.core(), left_ids, right_ids)
    left_means, right_means, fault = _core.mean_topk(
        grid, k, rules.nan, block, rules.num_threads, listener_of(watch)
    )
    if fault is not None:
        raise fault_error(fault, rules.nan, left_ids, pairs.names.score_names)
    return _means_of_all((left_means, right_means), among, pairs.shape, pairs.dtype, k)


def _means_on_device(
    pairs: Embeddings,
    k: int,
    among: tuple[IntArray, IntArray],
    rules: Rules,
    watch: Watch | None,
) -> list[Array]:
    """Return the means of the entities that take part, with a pass over all scores a side."""
    if rules.nan != "raise":
        rules = replace(rules, nan="omit")  # What is no score is in no mean.
    left_ids, right_ids = among
    passes = ((pairs, left_ids, right_ids), (pairs.turned(BACKWARD), right_ids, left_ids))
    sizes = [pairs.nbytes] * len(passes)
    means: list[Array] = []
    for i, (vectors, ids, others) in enumerate(passes):
        candidates = others if len(others) < vectors.shape[1] else None
        best = topk_open_embeddings(
            vectors,
            min(k, len(others)),
            rules,
            rows=ids,
            candidates=candidates,
            watch=watch_of_part(watch, sizes, i),
        )
        means.append(mean_of_top(best.scores))
    return means


def _means_of_all(
    means: Sequence[Array], among: Sequence[IntArray], shape: Sequence[int], dtype: Any, k: int
) -> CSLS:
    """Return the means of all entities in a dtype; NaN for those that take no part."""
    means_of_sides = [np.full(size, np.nan, dtype) for size in shape]
    with np.errstate(over="ignore"):
        for means_of_side, ids, known_means in zip(means_of_sides, among, means, strict=True):
            means_of_side[ids] = known_means
    left_means, right_means = means_of_sides
    return CSLS(left_means, right_means, k)


def scale(
    scores: Store | Embeddings,
    csls: int | CSLS | None,
    among: tuple[IntArray, IntArray] | None,
    rules: Rules,
    io: str | None = None,
    watch: Watch | None = None,
) -> Store | Embeddings:
    """Scale embeddings or a matrix by means, or by a number of neighbours among some entities."""
    if csls is None:
        return scores
    means: Any = csls
    if not isinstance(csls, CSLS):
        k = positive_integer("csls", csls)
        ids = among or (np.arange(scores.shape[0]), np.arange(scores.shape[1]))
        if isinstance(scores, Embeddings):
            means = means_of_vectors(scores, k, ids, rules, watch=watch)
        else:
            means = means_of_store(scores, k, ids, rules.nan, io, watch)
    if isinstance(scores, Embeddings):
        return scores.with_csls(means)
    return ScaledStore(scores, means)


@default_arithmetic()
def means_of_store(
    store: Store,
    k: int,
    among: tuple[IntArray, IntArray],
    nan: str = "raise",
    io: str | None = None,
    watch: Watch | None = None,
) -> CSLS:
    """Return the mean of the k highest similarities of every row, and of every column.

    Parameters
    ----------
    store : Store
        The similarities.
    k : int
        The number of similarities in a mean; all candidates if there are fewer.
    among : (rows, columns)
        The rows and columns that take part, ascending; the means of others are NaN.
    nan : {"raise", "worst", "omit"}
        "raise": a NaN of two candidates is an error. Else it is left out.
    io : {"map", "read"}, optional
        As in `rank`.
    watch : callable, optional
        Told how many bytes are done, of how many, after every tile.

    Returns
    -------
    CSLS
        The means, float32 or float64; scores are added from the highest on in float64.

    Raises
    ------
    ValueError
        For a NaN if the rule is "raise".

    Examples
    --------
    >>> from truerank.stores import open_scores
    >>> store = open_scores(np.array([[0.5, 1.0, 0.0], [0.25, 0.75, 0.5]]))
    >>> means_of_store(store, 2, (np.arange(2), np.arange(3)))[:2]
    (array([0.75 , 0.625]), array([0.375, 0.875, 0.25 ]))
    """
    if io is None:
        io = store.io
    dtype = wide_dtype(store.dtype)
    rows, columns = among
    # These are the negatives of the k highest scores of each row and column so far, and NaN for
    # none.
    lowest_of_rows = np.full((len(rows), min(k, len(columns))), np.nan, dtype)
    lowest_of_columns = np.full((len(columns), min(k, len(rows))), np.nan, dtype)
    done = 0
    for tile in store.tiles(TILE_BYTES):
        row_places = _places_within(rows, tile.top, tile.height)
        column_places = _places_within(columns, tile.left, tile.width)
        tile_rows = rows[row_places]
        tile_columns = columns[column_places]
        if len(tile_rows) and len(tile_columns):
            scores = read_floats(store, tile, io)
            if scores.shape != (len(tile_rows), len(tile_columns)):
                scores = scores[np.ix_(tile_rows - tile.top, tile_columns - tile.left)]
            if nan == "raise":
                refuse_nan(scores, tile_rows, tile_columns, FORWARD)
            np.negative(scores, out=scores)
            _keep_lowest(lowest_of_rows[row_places], scores)
            _keep_lowest(lowest_of_columns[column_places], scores.T)
        done += tile.height * tile.width * store.itemsize
        if watch is not None:
            watch(done, store.nbytes)
    means = [
        mean_of_top(-np.sort(lowest, axis=1)) for lowest in (lowest_of_rows, lowest_of_columns)
    ]
    return _means_of_all(means, among, store.shape, dtype, k)


def _places_within(ids: IntArray, start: int, size: int) -> slice:
    """Return where ascending ids have those from `start` on, `size` numbers long."""
    first, end = np.searchsorted(ids, [start, start + size])
    return slice(first, end)


def _keep_lowest(lowest: Array, numbers: Array) -> None:
    """Put into each row the lowest of its own numbers and of further ones; NaN are the highest."""
    size = lowest.shape[1]
    both = np.concatenate([lowest, numbers], axis=1)
    lowest[:] = np.partition(both, size - 1, axis=1)[:, :size]


def refuse_nan(scores: Array, rows: IntArray, columns: IntArray, names: VectorNames) -> None:
    """Refuse a NaN among the scores of some rows and columns."""
    if np.isnan(scores).any():
        i, j = np.argwhere(np.isnan(scores))[0]
        score = names.score_names.score.format(row=rows[i], column=columns[j])
        raise forbidden_nan("scores", score, "raise")


def mean_of_top(best: Array) -> FloatArray:
    """Return the mean of each row, whose scores are best first and then NaN; 0 if there are none.

    Examples
    --------
    >>> mean_of_top(np.array([[0.5, 0.25], [0.5, np.nan]]))
    array([0.375, 0.5  ])
    """
    # Infinities and sums with them are allowed.
    with np.errstate(all="ignore"):
        # Numbers are added in order, from 0.0 on, as in the core: no sum is -0.0.
        total: FloatArray = np.nancumsum(best, axis=1, dtype=np.float64)[:, -1] + 0.0
    total /= np.maximum(np.count_nonzero(~np.isnan(best), axis=1), 1)
    return total


@default_arithmetic()
def subtract_means(scores: Array, of_rows: Array, of_columns: Array) -> Array:
    """Turn similarities s into 2 s - (r + c), in place, with the means r and c of rows and columns.

    It computes in the dtype of the scores, float32 or float64: the doubling is exact, the sum of
    the means is rounded once, and so is the difference.
    """
    # Infinities and sums with them are allowed.
    with np.errstate(all="ignore"):
        scores *= 2
        scores -= of_rows + of_columns
    return scores


class StoreView(Store):
    """A view of another store, which its owner closes."""

    def __init__(self, store: Store, shape: tuple[int, int], dtype: str, carrier: Any) -> None:
        super().__init__(shape, dtype, carrier, store.files)
        self.source = store
        self.in_place = store.in_place
        self.io = store.io

    def close(self) -> None:
        """Do nothing: the owner closes the source."""


class ScaledStore(StoreView):
    """Similarities s scaled by CSLS, tile by tile: 2 s(x, y) - (r(x) + r(y)).

    Parameters
    ----------
    store : Store
        The similarities, floats.
    csls : CSLS
        The means of rows (`queries`) and columns (`entities`); they are rounded to the dtype of the
        scores if theirs is wider.

    Examples
    --------
    >>> from truerank.embeddings.vectors import CSLS
    >>> from truerank.stores import open_scores
    >>> store = open_scores(np.array([[0.5, 1.0]]))
    >>> ScaledStore(store, CSLS(np.array([0.75]), np.array([0.5, 1.0]), 2)).take([0, 0], [0, 1])
    array([-0.25,  0.25])
    """

    def __init__(self, store: Store, csls: CSLS) -> None:
        dtype = wide_dtype(store.dtype)
        super().__init__(store, store.shape, dtype.name, dtype)
        self.in_place = False
        self.measure = f"csls {csls.k}"
        means = rounded_means(csls, store.shape, dtype.name, ("left", "right"))
        self._row_means = means.queries
        self._column_means = means.entities

    def tiles(self, max_bytes: int) -> Sequence[Tile]:
        return self.source.tiles(min(max_bytes, TILE_BYTES))

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        row_means = self._row_means[tile.top : tile.top + tile.height]
        column_means = self._column_means[tile.left : tile.left + tile.width]
        scores = read_floats(self.source, tile, io)
        yield subtract_means(scores, row_means[:, None], column_means)

    def take(self, rows: IntArray, columns: IntArray) -> Array:
        scores = widened(self.source.take(rows, columns), self.source.dtype)
        return subtract_means(scores, self._row_means[rows], self._column_means[columns])


def wide_dtype(dtype: str) -> np.dtype[Any]:
    """Return the dtype in which scores of another one are scaled: float32, or float64."""
    if dtype == "bfloat16":  # numpy does not know it.
        return np.dtype(np.float32)
    return np.result_type(np.float32, dtype)


def read_floats(store: Store, tile: Tile, io: str) -> Array:
    """Return a tile of a store as a new array, float32 or float64."""
    with store.block(tile, io) as block:
        return widened(block_array(block, store), store.dtype)


@default_arithmetic()
def widened(array: Array, dtype: str) -> Array:
    """Return scores of a named dtype as a new array, float32 or float64."""
    if dtype == "bfloat16":
        array = widen_bfloat16(array)
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        return array.astype(wide_dtype(dtype))
