"""Similarities of the entities of two graphs, of embeddings or in a matrix, a part at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ...embeddings.scoring import CurrentMatches, TopK, topk_open_embeddings
from ...embeddings.vectors import Embeddings
from ...errors import InputValueError
from ...inputs.checks import check_shape, choice, is_integer
from ...inputs.progress_listeners import Progress, as_listener
from ...inputs.rules import PLAIN, Rules
from ...stores import in_one_array, read_scores
from ...stores.store import Tile
from ..aligned_pairs import BACKWARD, FORWARD
from ..both_directions import TransposedStore
from ..local_scaling import read_floats, refuse_nan, scale, wide_dtype, widened

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...arrays.types import IntArray
    from ...embeddings.watching import Watch
    from ...stores import Store

    Array = npt.NDArray[Any]

DEFAULT_SIMILARITY = "cosine"

_BLOCK_CELLS = 1 << 22  # So many scores are in memory at a time.
_MAX_EXACT_INTEGER = 1 << 53  # Integers up to here are exact in float64.


class Similarities:
    """The scores of the left and right entities that take part, in either direction.

    Ids count all entities of a side, even if only some take part. By the rule, a NaN is an error or
    no candidate.

    Attributes
    ----------
    scores : Embeddings or Store
        Embeddings, whose scores are computed when they are needed, or a matrix; scaled by CSLS.
    dtype : dtype
        The dtype of the scores: float32 or float64.
    left_ids, right_ids : ndarray of int64
        The entities that take part, ascending.
    names : VectorNames
        How messages name the sides.
    """

    def __init__(self, scores: Store | Embeddings, rules: Rules, passes: int) -> None:
        self.scores = scores
        self.rules = rules
        self.names = FORWARD
        self.dtype = wide_dtype(scores.dtype)
        self.left_ids, self.right_ids = map(np.arange, scores.shape)
        self.progress = PassProgress(rules.progress, self.bytes_of(scores.shape[0]), passes)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of entities of each side."""
        return self.scores.shape

    def swapped(self) -> Similarities:
        """Return the other direction, with right entities as queries."""
        other = copy(self)
        other.left_ids = self.right_ids
        other.right_ids = self.left_ids
        other.names = BACKWARD if self.names is FORWARD else FORWARD
        if isinstance(self.scores, Embeddings):
            other.scores = self.scores.turned(other.names)
        else:
            other.scores = TransposedStore(self.scores)
        return other

    def restrict(self, left_ids: IntArray, right_ids: IntArray, csls: Any) -> Similarities:
        """Let only some entities take part, and use CSLS with a number or means."""
        self.left_ids = left_ids
        self.right_ids = right_ids
        bytes_for_means = 0
        if is_integer(csls):
            if not len(left_ids) or not len(right_ids):
                return self  # Without entities there is no mean, and no pair either.
            bytes_for_means = self.bytes_of(self.shape[0])
        among = (left_ids, right_ids)
        with self.progress.watching(bytes_for_means) as watch:
            self.scores = scale(self.scores, csls, among, self.rules, watch=watch)
        return self

    def bytes_of(self, rows: int) -> int:
        """Return the bytes of the scores of a number of left entities."""
        return rows * self.shape[1] * self.dtype.itemsize

    def blocks(self, rows: IntArray) -> Iterator[tuple[slice, Array]]:
        """Yield the scores of some left entities in blocks, each with its place in `rows`.

        Raises
        ------
        ValueError
            For a NaN if the rule is "raise".
        """
        height = max(1, _BLOCK_CELLS // max(1, self.shape[1]))
        for start in range(0, len(rows), height):
            some = rows[start : start + height]
            block = self.block(some)
            if self.rules.nan == "raise":
                refuse_nan(block, some, self.right_ids, self.names)
            yield slice(start, start + len(some)), block
            self.progress.add(self.bytes_of(len(some)))

    def block(self, rows: IntArray) -> Array:
        """Return the scores of some left entities and all right ones that take part."""
        if isinstance(self.scores, Embeddings):
            return self.scores.score(rows, None, self.rules.num_threads)[:, self.right_ids]
        width = self.shape[1]
        if len(rows) and len(self.right_ids) == width and (np.diff(rows) == 1).all():
            # A tile is copied quicker than single scores.
            return read_floats(self.scores, Tile(int(rows[0]), 0, len(rows), width), "map")
        scores = self.scores.take(rows[:, None], self.right_ids)
        return scores if scores.dtype == self.dtype else widened(scores, self.scores.dtype)

    def top_k(
        self, k: int, rows: IntArray | None = None, current: CurrentMatches | None = None
    ) -> TopK:
        """Return the k best right entities of some left ones (default: all that take part).

        With the current matches of all right entities, only those that prefer the left entity to
        theirs: of equal scores, the lower left id.
        """
        if rows is None:
            rows = self.left_ids
        if isinstance(self.scores, Embeddings):
            candidates = self.right_ids if len(self.right_ids) < self.shape[1] else None
            with self.progress.watching(self.bytes_of(len(rows))) as watch:
                return topk_open_embeddings(
                    self.scores,
                    k,
                    self.rules,
                    rows=rows,
                    candidates=candidates,
                    current_matches=current,
                    watch=watch,
                )
        best = _empty_top_k(len(rows), k, self.dtype)
        for where, block in self.blocks(rows):
            if current is not None:
                current_scores = current.scores[self.right_ids]
                is_lower = rows[where, None] < current.queries[self.right_ids]
                accepts = (block > current_scores) | ((block == current_scores) & is_lower)
                block[~accepts] = np.nan
            top = top_k_of_rows(block, self.right_ids, k)
            best.ids[where] = top.ids
            best.scores[where] = top.scores
        return best


class PassProgress:
    """Tells a listener how many bytes of scores have been made or read, over some passes.

    There may be more passes than were expected; then the total grows.
    """

    def __init__(
        self, progress: bool | Callable[[Progress], object] | None, size: int, passes: int
    ) -> None:
        self._listener = as_listener(progress)
        self._start = time.monotonic()
        self._size_of_pass = max(1, size)
        self._done = 0
        self._total = passes * size
        self.add(0)

    def add(self, size: int) -> None:
        """Report so many bytes more."""
        self._done += size
        self._tell(self._done)

    @contextmanager
    def watching(self, size: int) -> Iterator[Watch]:
        """Give a watch for a block of code that makes so many bytes."""
        yield lambda done, total: self._tell(self._done + size * done // total)
        self.add(size)

    def finish(self) -> None:
        """Report that no more scores are needed."""
        self._tell_listener(self._done, self._done)

    def _tell(self, done: int) -> None:
        while done > self._total:
            self._total += self._size_of_pass
        if done < self._total:  # `finish` alone tells what may be the end.
            self._tell_listener(done, self._total)

    def _tell_listener(self, done: int, total: int) -> None:
        if self._listener is not None:
            self._listener(Progress(done, total, time.monotonic() - self._start))


def top_k_of_rows(scores: Array, columns: IntArray, k: int) -> TopK:
    """Return the k best of every row, best first; ties go by the lower id; NaN are left out.

    Parameters
    ----------
    scores : ndarray of float32 or float64, shape (rows, n)
    columns : ndarray of int64, shape (n,)
        The ids of the columns, ascending.
    k : int

    Returns
    -------
    TopK
        With -1 and NaN where there are fewer.

    Examples
    --------
    >>> top_k_of_rows(np.array([[0.5, 0.9, 0.5, np.nan]]), np.arange(4), 2).ids
    array([[1, 0]])
    """
    height, width = scores.shape
    best = _empty_top_k(height, k, scores.dtype)
    good = ~np.isnan(scores)
    if k < width:  # Only what is as good as the k-th best is sorted.
        kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
        good &= (scores >= kth) | np.isnan(kth)
    row, column = np.nonzero(good)
    value = scores[row, column]
    # The sort is stable, so that ties stay in the order of columns.
    order = np.lexsort((-value, row))
    row = row[order]
    place_in_row = np.arange(len(row)) - np.searchsorted(row, np.arange(height))[row]
    kept = place_in_row < k
    best_of_row = order[kept]
    best.ids[row[kept], place_in_row[kept]] = columns[column[best_of_row]]
    best.scores[row[kept], place_in_row[kept]] = value[best_of_row]
    return best


def _empty_top_k(height: int, k: int, dtype: Any) -> TopK:
    return TopK(np.full((height, k), -1, np.int64), np.full((height, k), np.nan, dtype))


def open_similarities(
    left: Any,
    right: Any,
    similarity: str = DEFAULT_SIMILARITY,
    rules: Rules = PLAIN,
    passes: int = 1,
) -> Similarities:
    """Check embeddings, or a matrix if `right` is None; files are mapped while it is in use.

    All entities take part, without CSLS; progress is told of so many passes over all scores.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.alignment.infer` does.

    Examples
    --------
    >>> open_similarities([[0.5, 0.7], [0.2, 0.9]], None).top_k(1).ids
    array([[1],
           [1]])
    """
    choice("nan", rules.nan, ("raise", "omit"))
    if right is not None:
        pairs = Embeddings(
            left, right, similarity, None, rules.dtype, names=FORWARD, layout=rules.layout
        )
        if pairs.single_row:
            raise InputValueError("left", expected=FORWARD.shape, got="a single vector")
        return Similarities(pairs.on_host(), rules, passes)
    if similarity != DEFAULT_SIMILARITY:
        raise InputValueError("similarity", expected="none beside a matrix", got=repr(similarity))
    if rules.layout is not None:
        raise InputValueError("layout", expected="none beside a matrix", got=repr(rules.layout))
    matrix = in_one_array(read_scores(left, rules.dtype, "left"))
    check_shape("left", matrix.array.shape, 2, "a matrix (left, right)")
    if matrix.dtype in ("int64", "uint64") and matrix.array.size:
        least = int(matrix.array.min())
        most = int(matrix.array.max())
        if max(-least, most) > _MAX_EXACT_INTEGER:
            raise InputValueError("left", expected="integers up to 2**53", got=f"{least} to {most}")
    store: Any = read_scores(matrix, None, "left", tiled=True)
    return Similarities(store, rules, passes)
