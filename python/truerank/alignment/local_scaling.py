"""Local scaling (CSLS): scores minus their means over the most similar entities of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..counting.job import fault_error
from ..embeddings.device_embeddings import open_in_place
from ..embeddings.scoring import topk_open_embeddings
from ..embeddings.vectors import CSLS, PairedVectors, checked_means
from ..embeddings.watching import listener_of, watch_of_pass, watching
from ..inputs.arithmetic import default_arithmetic
from ..inputs.checks import is_integer, positive_integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.rules import PLAIN, CountOptions, Rules, read_rules, with_options
from ..inputs.scores import widen_bfloat16
from ..stores.store import FileBlock, Store, Tile, block_array
from .two_graphs import BACKWARD, FORWARD, GRAPHS, as_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..embeddings.watching import Watch
    from ..inputs.arrays import FloatArray, IntArray
    from ..inputs.words import Similarity

    Block = npt.NDArray[Any] | FileBlock

TILE_BYTES = 16 << 20  # several arrays of a tile's size are in memory
OMIT = Rules(nan="omit")
FLOATS = ("float16", "bfloat16", "float32", "float64")


@public("truerank.alignment")
@with_options(CountOptions)
def csls_means(
    left: Any,
    right: Any,
    k: int = 10,
    *,
    similarity: Similarity = "cosine",
    candidates: Any = None,
    block: int | None = None,
    **options: Unpack[CountOptions],
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
    dtype, block, threads, progress
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
    rules = read_rules(options, CountOptions)
    pairs = open_in_place(left, right, similarity, None, rules.dtype, roles=FORWARD)
    with watching(rules.progress, pairs.nbytes) as watch:
        return means_of_vectors(pairs, k, rules, candidates=candidates, block=block, watch=watch)


def means_of_vectors(
    pairs: PairedVectors,
    k: int,
    rules: Rules,
    *,
    candidates: Any = None,
    block: int | None = None,
    watch: Watch | None = None,
) -> CSLS:
    """Return the means of open embeddings, as `csls_means` does."""
    top_k, size = (
        positive_integer("k", k),
        positive_integer("block", block) if block is not None else 0,
    )
    ids_of_sides = (None, None) if candidates is None else candidates
    if not isinstance(ids_of_sides, (tuple, list)) or len(ids_of_sides) != 2:
        raise InputTypeError("candidates", expected="a pair (left ids, right ids)")
    lefts, rights = (
        as_ids("candidates", ids, size, f"{side} ids")
        for side, ids, size in zip(GRAPHS, ids_of_sides, pairs.shape, strict=True)
    )
    if min(len(lefts), len(rights)) == 0:
        raise InputValueError("candidates", expected="at least one entity on each side", got="none")
    if pairs.on_device:
        backward = pairs.swapped(BACKWARD)
        first = PLAIN if rules.nan == "raise" else OMIT
        means = [
            _means_of_direction(pairs, lefts, rights, top_k, first, watch_of_pass(watch, 0, 2)),
            _means_of_direction(backward, rights, lefts, top_k, OMIT, watch_of_pass(watch, 1, 2)),
        ]
    else:
        grid = _core.Grid(pairs.on_host().core_embeddings, lefts, rights)
        options = (size, rules.num_threads, listener_of(watch))
        *means, fault = _core.mean_topk(grid, top_k, rules.nan, *options)
        if fault:
            raise fault_error(fault, rules.nan, lefts, pairs.roles.nouns)
    means_of_sides = [np.full(n, np.nan, pairs.dtype) for n in pairs.shape]
    for array, ids, mean in zip(means_of_sides, (lefts, rights), means, strict=True):
        array[ids] = mean
    return CSLS(means_of_sides[0], means_of_sides[1], k)


def _means_of_direction(
    pairs: PairedVectors,
    queries: IntArray,
    entities: IntArray,
    k: int,
    rules: Rules,
    watch: Watch | None,
) -> npt.NDArray[Any]:
    """Return the means of queries over entities, by the top k of each query."""
    candidates = entities if len(entities) < pairs.shape[1] else None
    tasks: dict[str, Any] = {"rows": queries, "candidates": candidates}
    best = topk_open_embeddings(pairs, min(k, len(entities)), rules, **tasks, watch=watch)
    with np.errstate(over="ignore"):
        return mean_of_top(best.scores, (best.ids >= 0).sum(axis=1)).astype(pairs.dtype)


def check_csls(csls: object) -> int | CSLS | None:
    """Check a number of neighbours, or means; None means no scaling."""
    if csls is None or isinstance(csls, CSLS):
        return csls
    if not is_integer(csls):
        raise InputTypeError(
            "csls", expected="a number of neighbours, or a CSLS", got=type(csls).__name__
        )
    if csls < 1:
        raise InputValueError("csls", expected="at least 1 neighbour", got=csls)
    return int(csls)


@default_arithmetic()
def means_of_store(
    store: Store,
    k: int,
    candidates: tuple[IntArray, IntArray] | None,
    *,
    nan: str,
    io: str,
    on_read: Callable[[int], object] = lambda size: None,
) -> CSLS:
    """Return the mean of the k highest similarities of every row, and of every column.

    Parameters
    ----------
    store : Store
        The similarities, floats.
    k : int
        The number of similarities in a mean; all candidates if there are fewer.
    candidates : (rows, columns), or None
        The rows and columns that take part, ascending; the means of others are NaN. None: all.
    nan : {"raise", "worst", "omit"}
        "raise": a NaN of two candidates is an error. Else it is left out.
    io : {"map", "read"}
        As in `rank`.
    on_read : callable, optional
        Called with the number of bytes of every tile that has been read.

    Returns
    -------
    CSLS
        The means; scores are added from the highest on in float64, and the mean is rounded to their
        dtype.

    Raises
    ------
    TypeError
        For scores that are no floats.
    ValueError
        For a NaN if the rule is "raise".

    Examples
    --------
    >>> from truerank.stores import open_scores
    >>> store = open_scores(np.array([[0.5, 1.0, 0.0], [0.25, 0.75, 0.5]]))
    >>> means_of_store(store, 2, None, nan="raise", io="map")[:2]
    (array([0.75 , 0.625]), array([0.375, 0.875, 0.25 ]))
    """
    dtype = scaled_dtype(store)
    height, width = store.shape
    rows, columns = candidates or (np.arange(height), np.arange(width))
    of_rows = _TopScores(height, min(k, len(columns)), dtype)
    of_columns = _TopScores(width, min(k, len(rows)), dtype)
    for tile in store.tiles(TILE_BYTES):
        row_ids = _ids_in_range(rows, tile.top, tile.height)
        column_ids = _ids_in_range(columns, tile.left, tile.width)
        if len(row_ids) and len(column_ids):
            scores = read_floats(store, tile, io)
            if (len(row_ids), len(column_ids)) != scores.shape:
                scores = scores[np.ix_(row_ids - tile.top, column_ids - tile.left)]
            missing = np.isnan(scores)
            if missing.any():
                if nan == "raise":
                    i, j = np.argwhere(missing)[0]
                    raise InputValueError(
                        "scores",
                        (
                            f"a score at row {row_ids[i]}, column {column_ids[j]} is NaN, which "
                            f'nan="{nan}" does not allow'
                        ),
                    )
                scores[missing] = -np.inf  # sorts last, and is not counted
            of_rows.add(row_ids, scores, missing)
            of_columns.add(column_ids, scores.T, missing.T)
        on_read(tile.height * tile.width * store.itemsize)
    return CSLS(of_rows.means(rows), of_columns.means(columns), k)


def mean_of_top(best: npt.NDArray[Any], counts: IntArray) -> FloatArray:
    """Return the mean of the first `counts` scores of each row, best first; 0 if there are none.

    Examples
    --------
    >>> mean_of_top(np.array([[0.5, 0.25], [0.5, np.nan]]), np.array([2, 1]))
    array([0.375, 0.5  ])
    """
    total = np.zeros(len(best))
    with np.errstate(all="ignore"):  # infinities, and sums with them
        for i, column in enumerate(best.T):
            total += np.where(i < counts, column, 0)
        return total / np.maximum(counts, 1)


@default_arithmetic()
def subtract_means(
    scores: npt.NDArray[Any], of_rows: npt.NDArray[Any], of_columns: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Turn similarities s into 2 s - (r + c), in place, with the means r and c of rows and columns.

    It computes in the dtype of the scores, float32 or float64: the doubling is exact, the sum of
    the means is rounded once, and so is the difference.
    """
    with np.errstate(all="ignore"):  # infinities, and sums with them
        scores *= 2
        scores -= of_rows + of_columns
    return scores


def _ids_in_range(ids: IntArray, start: int, size: int) -> IntArray:
    first, last = np.searchsorted(ids, [start, start + size])
    return ids[first:last]


class _TopScores:
    """The k highest scores of each entity so far, in no order, and the number of scores seen."""

    def __init__(self, entities: int, k: int, dtype: np.dtype[Any]) -> None:
        self._best = np.full((entities, k), -np.inf, dtype)
        self._seen = np.zeros(entities, np.int64)

    def add(self, ids: IntArray, scores: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> None:
        """Add the scores of some entities, a row for each."""
        k = self._best.shape[1]
        if scores.shape[1] > k:
            scores = np.partition(scores, scores.shape[1] - k, axis=1)[:, -k:]
        both = np.concatenate([self._best[ids], scores], axis=1)
        self._best[ids] = np.partition(both, both.shape[1] - k, axis=1)[:, -k:]
        self._seen[ids] += missing.shape[1] - np.count_nonzero(missing, axis=1)

    def means(self, ids: IntArray) -> npt.NDArray[Any]:
        """Return the means of some entities; others have NaN."""
        best = -np.sort(-self._best[ids], axis=1)
        seen = np.minimum(self._seen[ids], best.shape[1])
        result = np.full(len(self._best), np.nan, best.dtype)
        with np.errstate(all="ignore"):
            result[ids] = mean_of_top(best, seen)
        return result


class StoreView(Store):
    """A view of another store, which its owner closes."""

    def __init__(self, store: Store, shape: tuple[int, int], dtype: str, carrier: Any) -> None:
        super().__init__(shape, dtype, carrier, store.files)
        self.source = store
        self.in_place, self.io = store.in_place, store.io

    def check(self) -> None:
        self.source.check()

    def state(self) -> list[Any]:
        return [type(self).__name__, self.source.state()]

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
        dtype = scaled_dtype(store)
        super().__init__(store, store.shape, dtype.name, dtype)
        self.in_place = False
        self._rows, self._columns = checked_means(csls, store.shape, dtype.name)

    def tiles(self, max_bytes: int) -> Sequence[Tile]:
        return self.source.tiles(max_bytes)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        top, left, height, width = tile
        rows, columns = self._rows[top : top + height], self._columns[left : left + width]
        yield subtract_means(read_floats(self.source, tile, io), rows[:, None], columns)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        scores = _widened(self.source.take(rows, columns), self.source.dtype, self.carrier)
        return subtract_means(scores, self._rows[rows], self._columns[columns])


def scaled_dtype(store: Store) -> np.dtype[Any]:
    """Return the dtype of scores scaled by CSLS: float32 for narrower dtypes.

    Raises
    ------
    TypeError
        For scores that are no floats.
    """
    if store.dtype not in FLOATS:
        raise InputTypeError("scores", expected="floats with csls", got=f"dtype {store.dtype}")
    return np.dtype(np.float64 if store.dtype == "float64" else np.float32)


def read_floats(store: Store, tile: Tile, io: str) -> npt.NDArray[Any]:
    """Return a tile of a store as a new array, float32 or float64."""
    with store.block(tile, io) as block:
        return _widened(block_array(block, store), store.dtype, scaled_dtype(store))


@default_arithmetic()
def _widened(array: npt.NDArray[Any], dtype: str, wide: np.dtype[Any]) -> npt.NDArray[Any]:
    plain = widen_bfloat16(array) if dtype == "bfloat16" else array
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return plain.astype(wide)
