"""Means of the nearest of a matrix of similarities, which CSLS takes off; block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..embeddings.vectors import CSLS
from ..inputs.errors import InputValueError
from .views import floats_of, scaled_dtype

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..stores.base import Store

TILE_BYTES = 16 << 20  # several arrays of a tile's size are in memory


def means_of(
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
    >>> means_of(store, 2, None, nan="raise", io="map")[:2]
    (array([0.75 , 0.625]), array([0.375, 0.875, 0.25 ]))
    """
    dtype = scaled_dtype(store)
    height, width = store.shape
    rows, columns = candidates or (np.arange(height), np.arange(width))
    of_rows = _Nearest(height, min(k, len(columns)), dtype)
    of_columns = _Nearest(width, min(k, len(rows)), dtype)
    for tile in store.tiles(TILE_BYTES):
        down = _within(rows, tile.top, tile.height)
        right = _within(columns, tile.left, tile.width)
        if len(down) and len(right):
            scores = floats_of(store, tile, io)
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
                            f'nan="{nan}" does not allow'
                        ),
                    )
                scores[missing] = -np.inf  # the last of all, and not counted
            of_rows.add(down, scores, missing)
            of_columns.add(right, scores.T, missing.T)
        read(tile.height * tile.width * store.itemsize)
    return CSLS(of_rows.means(rows), of_columns.means(columns), k)


def _within(ids: IntArray, start: int, size: int) -> IntArray:
    first, last = np.searchsorted(ids, [start, start + size])
    return ids[first:last]


class _Nearest:
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
        total = np.zeros(len(ids))
        found = np.full(len(self._best), np.nan, best.dtype)
        with np.errstate(all="ignore"):  # infinities, and what comes of them
            for i, column in enumerate(best.T):
                total += np.where(i < seen, column, 0)
            found[ids] = total / np.maximum(seen, 1)
        return found
