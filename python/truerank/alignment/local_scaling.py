"""Local scaling (CSLS): scores less what they are on average with the nearest of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..counting.job import fault_error
from ..embeddings.vectors import CSLS, OpenEmbeddings, checked_means, open_embeddings
from ..inputs.checks import NAN_RULES, choice, is_integer, positive_integer, thread_count
from ..inputs.errors import InputTypeError, InputValueError, spelled
from ..inputs.naming import public
from ..inputs.scores import widen_bfloat16
from ..stores.store import FileBlock, Store, Tile, block_array
from .two_graphs import FORWARD, GRAPHS, as_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray

    Block = npt.NDArray[Any] | FileBlock

TILE_BYTES = 16 << 20  # several arrays of a tile's size are in memory
FLOATS = ("float16", "bfloat16", "float32", "float64")


@public("truerank.alignment")
def csls_means(
    left: Any,
    right: Any,
    k: int = 10,
    *,
    similarity: str = "cosine",
    candidates: Any = None,
    nan: str = "raise",
    dtype: Any = None,
    block: int | None = None,
    threads: int | None = None,
) -> CSLS:
    """Give the mean score of every entity with its k best of the other side.

    With r_left(x) the mean of the k highest s(x, .) over the right entities, and r_right(y) that of
    the k highest s(., y) over the left ones, cross-domain similarity local scaling (Conneau et al.
    2018) is 2 s(x, y) - r_left(x) - r_right(y): what is near to everybody, a hub, comes further
    away. `rank_embeddings`, `score_embeddings`, `topk_embeddings` and everything of this package
    that scores vectors takes the result as ``csls=``.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        Vectors, as `rank_embeddings` takes queries.
    right : array_like, shape (n2, d), or path
        Vectors, as it takes entities.
    k : int
        How many; where there are fewer, the mean is of all.
    similarity : str
        s, as in `rank_embeddings`.
    candidates : (left ids, right ids), optional
        Who takes part: the nearest of a left entity are sought among these right ones, and the
        other way round. Default: all. Either may be None, too.
    nan : {"raise", "worst", "omit"}
        "raise": a score that is NaN is an error. Else it is left out; the mean of nothing is 0.
    dtype, block, threads
        As in `rank_embeddings`.

    Returns
    -------
    CSLS
        ``queries`` (n1,), ``entities`` (n2,), of the dtype of the scores; NaN for who takes no
        part.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does, and for a `k` below 1 and candidates that are no ids.

    Notes
    -----
    Exact, in one pass over all pairs, both sides from the same scores, which are never stored: the
    k highest of each entity are. The scores are added from the highest on in float64, and the mean
    is rounded once; it is the same for every number of threads and instruction set. Memory goes as
    4 k bytes for each entity, of float64 as 8 k, and as much again while it is counted.

    OpenEA's code takes the k highest as ``-np.partition(-s, k + 1)[:, :k]``, which are k of the
    k + 1 highest, in no order: which one is missing is for numpy to say, and changes with its
    version and the processor. Its means lie between that of the 1st to k-th and that of the 2nd to
    (k + 1)-th, and cannot be had again otherwise than by that call on the whole matrix.

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
    pairs = open_embeddings(left, right, similarity, None, dtype, roles=FORWARD)
    given = {"candidates": candidates, "nan": nan, "block": block, "threads": threads}
    return means_of_vectors(pairs, k, **given)


def means_of_vectors(
    pairs: OpenEmbeddings,
    k: int,
    *,
    candidates: Any = None,
    nan: str = "raise",
    block: int | None = None,
    threads: int | None = None,
) -> CSLS:
    """Give the means of vectors that are open, as `csls_means` does."""
    choice("nan", nan, NAN_RULES)
    most, size = (
        positive_integer("k", k),
        positive_integer("block", block) if block is not None else 0,
    )
    team = thread_count(threads)
    given = (None, None) if candidates is None else candidates
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputTypeError("candidates", expected="a pair (left ids, right ids)")
    lefts, rights = (
        as_ids("candidates", ids, size, f"{side} ids")
        for side, ids, size in zip(GRAPHS, given, pairs.shape, strict=True)
    )
    if min(len(lefts), len(rights)) == 0:
        raise InputValueError("candidates", expected="at least one entity on each side", got="none")
    *means, fault = _core.mean_topk(
        _core.Grid(pairs.core_embeddings, lefts, rights), most, nan, size, team
    )
    if fault:
        raise fault_error(fault, nan, lefts, pairs.roles.nouns)
    found = [np.full(n, np.nan, pairs.dtype) for n in pairs.shape]
    for array, ids, mean in zip(found, (lefts, rights), means, strict=True):
        array[ids] = mean
    return CSLS(found[0], found[1], k)


def check_csls(csls: object) -> int | CSLS | None:
    """Check a number of neighbours, or means made before; None is no scaling."""
    if csls is None or isinstance(csls, CSLS):
        return csls
    if not is_integer(csls):
        raise InputTypeError(
            "csls", expected="a number of neighbours, or a CSLS", got=type(csls).__name__
        )
    if csls < 1:
        raise InputValueError("csls", expected="at least 1 neighbour", got=csls)
    return int(csls)


def means_of_store(
    store: Store,
    k: int,
    candidates: tuple[IntArray, IntArray] | None,
    *,
    nan: str,
    io: str,
    read: Callable[[int], object] = lambda size: None,
) -> CSLS:
    """Give the mean similarity of every row to its k nearest columns, and of every column.

    Parameters
    ----------
    store : Store
        The similarities, floats.
    k : int
        How many nearest; of all candidates, where they are fewer.
    candidates : (rows, columns), or None
        Among which the nearest are, ascending; others have no mean but NaN. None: all.
    nan : {"raise", "worst", "omit"}
        "raise": a NaN of two candidates is an error. Else it is near nobody.
    io : {"map", "read"}
        As in `rank`.
    read : callable, optional
        Told the bytes of every tile that has been read.

    Returns
    -------
    CSLS
        Means added best first in float64, and rounded to the dtype of the scores.

    Raises
    ------
    TypeError
        For scores that are no floats.
    ValueError
        For a NaN that the rule forbids.

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
        down = _ids_in_range(rows, tile.top, tile.height)
        right = _ids_in_range(columns, tile.left, tile.width)
        if len(down) and len(right):
            scores = read_floats(store, tile, io)
            if (len(down), len(right)) != scores.shape:
                scores = scores[np.ix_(down - tile.top, right - tile.left)]
            missing = np.isnan(scores)
            if missing.any():
                if nan == "raise":
                    i, j = np.argwhere(missing)[0]
                    raise InputValueError(
                        "scores",
                        (
                            f"a score at row {down[i]}, column {right[j]} is NaN, which "
                            f"{spelled('nan', nan)} does not allow"
                        ),
                    )
                scores[missing] = -np.inf  # the last of all, and not counted
            of_rows.add(down, scores, missing)
            of_columns.add(right, scores.T, missing.T)
        read(tile.height * tile.width * store.itemsize)
    return CSLS(of_rows.means(rows), of_columns.means(columns), k)


def mean_of_top(best: npt.NDArray[Any], counts: IntArray) -> FloatArray:
    """Give the mean of so many scores of each row, which stand first, best first; 0 of none.

    Examples
    --------
    >>> mean_of_top(np.array([[0.5, 0.25], [0.5, np.nan]]), np.array([2, 1]))
    array([0.375, 0.5  ])
    """
    total = np.zeros(len(best))
    with np.errstate(all="ignore"):  # infinities, and what comes of them
        for i, column in enumerate(best.T):
            total += np.where(i < counts, column, 0)
        return total / np.maximum(counts, 1)


def subtract_means(
    scores: npt.NDArray[Any], of_rows: npt.NDArray[Any], of_columns: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Make similarities s to 2 s - (r + c), in place, with the means r and c of rows and columns.

    All is in the dtype of the scores, float32 or float64: the doubling is exact, the sum of the
    means is rounded once, the difference once.
    """
    with np.errstate(all="ignore"):  # infinities, and what comes of them
        scores *= 2
        scores -= of_rows + of_columns
    return scores


def _ids_in_range(ids: IntArray, start: int, size: int) -> IntArray:
    first, last = np.searchsorted(ids, [start, start + size])
    return ids[first:last]


class _TopScores:
    """The k highest scores of each entity so far, in no order, and how many there were."""

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
        """The mean of each of some entities; NaN for others."""
        best = -np.sort(-self._best[ids], axis=1)
        seen = np.minimum(self._seen[ids], best.shape[1])
        found = np.full(len(self._best), np.nan, best.dtype)
        with np.errstate(all="ignore"):
            found[ids] = mean_of_top(best, seen)
        return found


class StoreView(Store):
    """A store that looks at another one, which somebody else closes."""

    def __init__(self, store: Store, shape: tuple[int, int], dtype: str, carrier: Any) -> None:
        super().__init__(shape, dtype, carrier, store.files)
        self.source = store
        self.in_place, self.shards, self.io = store.in_place, store.shards, store.io

    def check(self) -> None:
        self.source.check()

    def state(self) -> list[Any]:
        return [type(self).__name__, self.source.state()]

    def close(self) -> None:
        """Do nothing: the source is not ours."""


class ScaledStore(StoreView):
    """Similarities s scaled by CSLS, tile by tile: 2 s(x, y) - (r(x) + r(y)).

    Parameters
    ----------
    store : Store
        The similarities, floats.
    csls : CSLS
        The means of rows (`queries`) and columns (`entities`); those of a wider dtype are rounded
        to that of the scores.

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
        top, left, height, width, _ = tile
        rows, columns = self._rows[top : top + height], self._columns[left : left + width]
        yield subtract_means(read_floats(self.source, tile, io), rows[:, None], columns)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        scores = _widened(self.source.take(rows, columns), self.source.dtype, self.carrier)
        return subtract_means(scores, self._rows[rows], self._columns[columns])


def scaled_dtype(store: Store) -> np.dtype[Any]:
    """Give the dtype of scores by CSLS: float32 for narrower ones.

    Raises
    ------
    TypeError
        For scores that are no floats.
    """
    if store.dtype not in FLOATS:
        raise InputTypeError("scores", expected="floats with csls", got=f"dtype {store.dtype}")
    return np.dtype(np.float64 if store.dtype == "float64" else np.float32)


def read_floats(store: Store, tile: Tile, io: str) -> npt.NDArray[Any]:
    """Give a tile of a store as an array of its own, float32 or float64."""
    with store.block(tile, io) as block:
        return _widened(block_array(block, store), store.dtype, scaled_dtype(store))


def _widened(array: npt.NDArray[Any], dtype: str, wide: np.dtype[Any]) -> npt.NDArray[Any]:
    plain = widen_bfloat16(array) if dtype == "bfloat16" else array
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return plain.astype(wide)
