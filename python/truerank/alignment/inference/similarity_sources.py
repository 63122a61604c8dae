"""Sources of similarities: embeddings of two graphs, or a matrix, computed block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..._core import Scores
from ...embeddings.scoring import CurrentMatches, TopK, score_open_embeddings, topk_open_embeddings
from ...embeddings.vectors import CSLS, OpenEmbeddings, checked_means, open_embeddings
from ...inputs.checks import check_shape, choice, forbidden_nan
from ...inputs.errors import InputValueError
from ...inputs.rules import PLAIN, Rules
from ...stores import in_one_array, read_scores
from ...stores.mapped import ArrayStore
from ..local_scaling import (
    PassProgress,
    check_csls,
    means_of_store,
    means_of_vectors,
    subtract_means,
    wide_dtype,
    widened,
)
from ..two_graphs import BACKWARD, FORWARD, as_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import IntArray

    Array = npt.NDArray[Any]

MATCHING_NAN_RULES = ("raise", "omit")
DEFAULT_SIMILARITY = "cosine"  # the default of functions

_BLOCK_CELLS = 1 << 22  # the number of scores in memory at a time
_MAX_EXACT_INTEGER = 1 << 53  # integers up to here are exact in float64


class SimilaritySource(ABC):
    """The scores of the left and right entities that take part, in either direction.

    Ids count all entities of a side, even if only some take part. By the rule, a NaN is an error or
    no candidate.

    Attributes
    ----------
    shape : tuple of int
        The number of entities of each side.
    dtype : dtype
        The dtype of the scores: float32 or float64.
    left_ids, right_ids : ndarray of int64
        The entities that take part, ascending.
    csls : CSLS or None
        The means that the scores are scaled by.
    roles : Roles
        How messages name the sides.
    """

    csls: CSLS | None = None

    def __init__(
        self, shape: tuple[int, int], dtype: np.dtype[Any], rules: Rules, passes: int
    ) -> None:
        self.shape, self.dtype, self.rules, self.roles = shape, dtype, rules, FORWARD
        self.left_ids, self.right_ids = (np.arange(size) for size in shape)
        self.progress = PassProgress(rules.progress, self.bytes_of(shape[0]), passes)

    @abstractmethod
    def scores(self, rows: IntArray) -> Array:
        """Return the scores of some left entities and all right ones that take part."""

    @abstractmethod
    def means(self, k: int) -> CSLS:
        """Return the means that CSLS subtracts, over the entities that take part."""

    def swapped(self) -> Self:
        """Return the other direction, with right entities as queries."""
        other = copy(self)
        other.shape = self.shape[::-1]
        other.left_ids, other.right_ids = self.right_ids, self.left_ids
        other.csls = self.csls and self.csls.swapped()
        other.roles = BACKWARD if self.roles is FORWARD else FORWARD
        return other

    def restrict(self, left_ids: Any, right_ids: Any, csls: Any) -> Self:
        """Let only some entities take part (None: all), and use CSLS with a number or means."""
        scaling = check_csls(csls)
        self.left_ids = as_ids("left_ids", left_ids, self.shape[0])
        self.right_ids = as_ids("right_ids", right_ids, self.shape[1])
        if isinstance(scaling, int):  # without entities there is no mean, and no pair either
            scaling = self.means(scaling) if len(self.left_ids) and len(self.right_ids) else None
        if scaling is not None:
            means = checked_means(scaling, self.shape, self.dtype, self.roles[:2])
            self.csls = CSLS(*means, scaling.k)
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
            block = self.scores(some)
            if self.rules.nan == "raise" and np.isnan(block).any():
                row, column = np.argwhere(np.isnan(block))[0]
                ids = {"row": some[row], "column": self.right_ids[column]}
                raise forbidden_nan("scores", self.roles.nouns.score.format(**ids), "raise")
            yield slice(start, start + len(some)), block
            self.progress.add(self.bytes_of(len(some)))

    def top_k(
        self, k: int, rows: IntArray | None = None, current: CurrentMatches | None = None
    ) -> TopK:
        """Return the k best right entities of some left ones (default: all that take part).

        With the current matches of all right entities, only those that prefer the left entity to
        theirs: of equal scores, the lower left id.
        """
        rows = self.left_ids if rows is None else rows
        best = _empty_top_k(len(rows), k, self.dtype)
        for where, block in self.blocks(rows):
            if current is not None:
                held, holders = (array[self.right_ids] for array in current)
                is_lower = rows[where, None] < holders
                accepts = (block > held) | ((block == held) & is_lower)
                block = np.where(accepts, block, self.dtype.type(np.nan))
            best.ids[where], best.scores[where] = top_k_of_rows(block, self.right_ids, k)
        return best


class MatrixSource(SimilaritySource):
    """The scores of a matrix in memory, or in a file that is mapped while it is in use."""

    def __init__(self, matrix: Scores, rules: Rules, passes: int) -> None:
        self.matrix, self.kind = matrix.array, matrix.dtype
        height, width = self.matrix.shape
        super().__init__((height, width), wide_dtype(self.kind), rules, passes)

    def scores(self, rows: IntArray) -> Array:
        """As in `SimilaritySource`."""
        block, columns = widened(self.matrix[rows], self.kind), self.right_ids
        if len(columns) < self.shape[1]:
            block = block[:, columns]
        if self.csls is None:
            return block
        return subtract_means(block, self.csls.queries[rows, None], self.csls.entities[columns])

    def means(self, k: int) -> CSLS:
        """As in `SimilaritySource`."""
        store = ArrayStore(Scores(self.matrix, self.kind, not self.matrix.dtype.isnative))
        ids, nouns = (self.left_ids, self.right_ids), self.roles.nouns
        options: dict[str, Any] = {"nan": self.rules.nan, "io": "map", "nouns": nouns}
        return means_of_store(store, k, ids, **options, on_read=self.progress.add)

    def swapped(self) -> Self:
        """As in `SimilaritySource`."""
        other = super().swapped()
        other.matrix = self.matrix.T
        return other


class VectorSource(SimilaritySource):
    """The scores of embeddings, computed when they are needed."""

    def __init__(self, pairs: OpenEmbeddings, rules: Rules, passes: int) -> None:
        self.pairs = pairs
        super().__init__(pairs.shape, np.dtype(pairs.dtype), rules, passes)

    def scores(self, rows: IntArray) -> Array:
        """As in `SimilaritySource`."""
        pairs = self.pairs.with_csls(self.csls)
        return score_open_embeddings(pairs, None, rows, self.rules)[:, self.right_ids]

    def means(self, k: int) -> CSLS:
        """As in `SimilaritySource`."""
        ids = (self.left_ids, self.right_ids)
        with self.progress.watching(self.bytes_of(self.shape[0])) as watch:
            return means_of_vectors(self.pairs, k, self.rules, candidates=ids, watch=watch)

    def swapped(self) -> Self:
        """As in `SimilaritySource`."""
        other = super().swapped()
        other.pairs = self.pairs.swapped(other.roles)
        return other

    def top_k(
        self, k: int, rows: IntArray | None = None, current: CurrentMatches | None = None
    ) -> TopK:
        """As in `SimilaritySource`."""
        rows = self.left_ids if rows is None else rows
        tasks: dict[str, Any] = {"rows": rows, "current_matches": current}
        if len(self.right_ids) < self.shape[1]:
            tasks["candidates"] = self.right_ids
        pairs = self.pairs.with_csls(self.csls)
        with self.progress.watching(self.bytes_of(len(rows))) as watch:
            return topk_open_embeddings(pairs, k, self.rules, **tasks, watch=watch)


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
    if k < width:  # sort only what is as good as the k-th best
        kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
        good &= (scores >= kth) | np.isnan(kth)
    row, column = np.nonzero(good)
    value = scores[row, column]
    order = np.lexsort((-value, row))  # stable: ties stay in the order of columns
    row, column, value = row[order], column[order], value[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(height))[row]
    kept = place < k
    best.ids[row[kept], place[kept]] = columns[column[kept]]
    best.scores[row[kept], place[kept]] = value[kept]
    return best


def _empty_top_k(height: int, k: int, dtype: Any) -> TopK:
    return TopK(np.full((height, k), -1, np.int64), np.full((height, k), np.nan, dtype))


def open_source(
    left: Any,
    right: Any,
    similarity: str = DEFAULT_SIMILARITY,
    rules: Rules = PLAIN,
    passes: int = 1,
) -> SimilaritySource:
    """Check embeddings, or a matrix if `right` is None; files are mapped while it is in use.

    All entities take part, without CSLS; progress is told of so many passes over all scores.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.alignment.infer` does.

    Examples
    --------
    >>> open_source([[0.5, 0.7], [0.2, 0.9]], None).top_k(1).ids
    array([[1],
           [1]])
    """
    choice("nan", rules.nan, MATCHING_NAN_RULES)
    if right is not None:
        pairs = open_embeddings(left, right, similarity, None, rules.dtype, roles=FORWARD)
        if pairs.is_single_query:
            raise InputValueError("left", expected=FORWARD.shape, got="a single vector")
        return VectorSource(pairs, rules, passes)
    if similarity != DEFAULT_SIMILARITY:
        raise InputValueError("similarity", expected="none beside a matrix", got=repr(similarity))
    matrix = in_one_array(read_scores(left, rules.dtype, "left"))
    check_shape("left", matrix.array.shape, 2, "a matrix (left, right)")
    if matrix.dtype in ("int64", "uint64") and matrix.array.size:
        least, most = int(matrix.array.min()), int(matrix.array.max())
        if max(-least, most) > _MAX_EXACT_INTEGER:
            raise InputValueError("left", expected="integers up to 2**53", got=f"{least} to {most}")
    return MatrixSource(matrix, rules, passes)
