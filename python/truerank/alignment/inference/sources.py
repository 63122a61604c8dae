"""Where similarities come from: vectors of two sides, or a matrix; asked for a block at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...embeddings.scoring import TopK, score_embeddings, topk_accepting, topk_embeddings
from ...embeddings.vectors import CSLS
from ...inputs.errors import InputValueError
from ...inputs.scores import widened
from ..wording import in_words_of_sides

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import IntArray

_CELLS = 1 << 22  # scores that are in memory at a time
_NARROW = ("float16", "bfloat16", "float32", "int8", "int16", "uint8", "uint16")


class Source(ABC):
    """The scores of left entities and right ones, of those that take part, in either direction.

    Ids are those of all entities of a side, also where only some take part. NaN are an error or
    no candidates, by the rule.

    Attributes
    ----------
    shape : tuple of int
        How many entities the sides have.
    dtype : dtype
        Of the scores: float32 or float64.
    left_ids, right_ids : ndarray of int64
        Those that take part, ascending.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    left_ids: IntArray
    right_ids: IntArray
    nan: str
    csls: CSLS | None
    names: tuple[str, str] = ("left", "right")  # what the sides are called in messages

    @abstractmethod
    def plain(self, rows: IntArray) -> npt.NDArray[Any]:
        """Give the similarities of some left entities and all right ones, before CSLS."""

    @abstractmethod
    def swapped(self) -> Source:
        """Give the other direction: right entities ask."""

    def scores(self, rows: IntArray) -> npt.NDArray[Any]:
        """Give the scores of some left entities and the right ones that take part.

        Raises
        ------
        ValueError
            For a NaN, where the rule is "raise".
        """
        block, columns = self.plain(rows), self.right_ids
        if len(columns) < self.shape[1]:
            block = block[:, columns]
        if self.csls is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                means = self.csls.queries[rows, None] + self.csls.entities[columns]
                block = block + block - means
        if self.nan == "raise" and np.isnan(block).any():
            row, column = np.argwhere(np.isnan(block))[0]
            found = (rows[row], columns[column])
            left, right = found if self.names[0] == "left" else found[::-1]
            raise InputValueError(
                "scores",
                (
                    f'the score of left {left} and right {right} is NaN, which nan="raise" '
                    "does not allow"
                ),
            )
        return block

    def blocks(self, rows: IntArray) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Give the scores of some left entities in turn, and where each block begins."""
        height = max(1, _CELLS // max(1, self.shape[1]))
        for start in range(0, len(rows), height):
            yield start, self.scores(rows[start : start + height])

    def best(self, k: int, rows: IntArray | None = None) -> TopK:
        """Give the k best right entities of some left ones (default: of all that take part)."""
        rows = self.left_ids if rows is None else rows
        ids, scores = _nothing(len(rows), k, self.dtype)
        for start, block in self.blocks(rows):
            end = start + len(block)
            ids[start:end], scores[start:end] = best_of_rows(block, self.right_ids, k)
        return TopK(ids, scores)

    def accepting(self, k: int, rows: IntArray, held: npt.NDArray[Any], holders: IntArray) -> TopK:
        """Give the k best right entities that would take the left one for what they hold.

        Parameters
        ----------
        k : int
        rows : ndarray of int64
            Left entities.
        held : ndarray, shape (right entities,)
            The score that each right entity holds; -inf where it is free.
        holders : ndarray of int64, shape (right entities,)
            Whose that is; a number above all ids where it is free. Of equal scores the lower left
            id is taken.
        """
        ids, scores = _nothing(len(rows), k, self.dtype)
        least, whose = held[self.right_ids], holders[self.right_ids]
        for start, block in self.blocks(rows):
            end = start + len(block)
            lower = rows[start:end, None] < whose
            taken = (block > least) | ((block == least) & lower)
            block = np.where(taken, block, block.dtype.type(np.nan))
            ids[start:end], scores[start:end] = best_of_rows(block, self.right_ids, k)
        return TopK(ids, scores)


class MatrixSource(Source):
    """Scores of a matrix in memory."""

    def __init__(self, matrix: npt.NDArray[Any], kind: str, nan: str, ids: Any) -> None:
        self.matrix, self.kind, self.nan = matrix, kind, nan
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.dtype = np.dtype(np.float32 if kind in _NARROW else np.float64)
        self.left_ids, self.right_ids = ids
        self.csls = None

    def plain(self, rows: IntArray) -> npt.NDArray[Any]:
        """As in `Source`."""
        block = self.matrix[rows]
        if self.kind == "bfloat16":
            return widened(block)
        with np.errstate(invalid="ignore"):  # signalling NaN
            return block.astype(self.dtype)

    def swapped(self) -> MatrixSource:
        """As in `Source`."""
        other = MatrixSource(self.matrix.T, self.kind, self.nan, (self.right_ids, self.left_ids))
        other.names = self.names[::-1]
        other.csls = None if self.csls is None else self.csls.swapped()
        return other

    def means(self, k: int) -> CSLS:
        """Give what CSLS takes off, as `csls_means` does of vectors."""
        return CSLS(_means(self, k), _means(self.swapped(), k), k)


class VectorSource(Source):
    """Scores of vectors, made where they are needed."""

    def __init__(
        self, vectors: tuple[Any, Any], shape: tuple[int, int], dtype: str, nan: str, ids: Any,
        keywords: dict[str, Any],
    ) -> None:  # fmt: skip
        self.vectors, self.shape, self.nan, self.keywords = vectors, shape, nan, keywords
        self.dtype = np.dtype(dtype)
        self.left_ids, self.right_ids = ids
        self.csls = None

    def plain(self, rows: IntArray) -> npt.NDArray[Any]:
        """As in `Source`."""
        with self.words():
            return score_embeddings(*self.vectors, rows=rows, **self.keywords)

    def swapped(self) -> VectorSource:
        """As in `Source`."""
        other = VectorSource(
            self.vectors[::-1],
            self.shape[::-1],
            self.dtype.name,
            self.nan,
            (self.right_ids, self.left_ids),
            self.keywords,
        )
        other.names = self.names[::-1]
        other.csls = None if self.csls is None else self.csls.swapped()
        return other

    def best(self, k: int, rows: IntArray | None = None) -> TopK:
        """As in `Source`."""
        rows = self.left_ids if rows is None else rows
        with self.words():
            return topk_embeddings(*self.vectors, k, rows=rows, **self._given())

    def accepting(self, k: int, rows: IntArray, held: npt.NDArray[Any], holders: IntArray) -> TopK:
        """As in `Source`."""
        with self.words():
            return topk_accepting(
                *self.vectors, k, rows=rows, held=held, holders=holders, **self._given()
            )

    def words(self) -> Any:
        """Let errors speak of left and right."""
        return in_words_of_sides(*self.names)

    def _given(self) -> dict[str, Any]:
        given = {**self.keywords, "csls": self.csls, "nan": self.nan}
        if len(self.right_ids) < self.shape[1]:
            given["candidates"] = self.right_ids
        return given


def best_of_rows(
    scores: npt.NDArray[Any], columns: IntArray, k: int
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Give the k best of every row, best first; of equal ones the lower ids; NaN are none.

    Parameters
    ----------
    scores : ndarray of float32 or float64, shape (rows, n)
    columns : ndarray of int64, shape (n,)
        The ids of the columns, ascending.
    k : int

    Returns
    -------
    ids, scores : ndarray, shape (rows, k)
        -1 and NaN where there are fewer.

    Examples
    --------
    >>> best_of_rows(np.array([[0.5, 0.9, 0.5, np.nan]]), np.arange(4), 2)
    (array([[1, 0]]), array([[0.9, 0.5]]))
    """
    height, width = scores.shape
    ids, found = _nothing(height, k, scores.dtype)
    good = ~np.isnan(scores)
    if k < width:  # whatever is as good as the k-th best is sorted, nothing else
        kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
        good &= (scores >= kth) | np.isnan(kth)
    row, column = np.nonzero(good)
    value = scores[row, column]
    order = np.lexsort((-value, row))  # stable: equal ones stay in the order of columns
    row, column, value = row[order], column[order], value[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(height))[row]
    kept = place < k
    ids[row[kept], place[kept]] = columns[column[kept]]
    found[row[kept], place[kept]] = value[kept]
    return ids, found


def _nothing(height: int, k: int, dtype: Any) -> tuple[IntArray, npt.NDArray[Any]]:
    return np.full((height, k), -1, np.int64), np.full((height, k), np.nan, dtype)


def _means(source: Source, k: int) -> npt.NDArray[Any]:
    """The mean of the k best of each left entity, added best first in float64; NaN for others."""
    best = source.best(min(k, max(1, len(source.right_ids))))
    count = (best.ids >= 0).sum(axis=1)
    total = np.zeros(len(best.ids))
    with np.errstate(invalid="ignore"):
        for column, there in zip(best.scores.T, best.ids.T >= 0, strict=True):
            total = np.where(there, total + column, total)
        found = np.full(source.shape[0], np.nan, source.dtype)
        found[source.left_ids] = total / np.maximum(1, count)
    return found
