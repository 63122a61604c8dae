"""Rows that belong to one query: whether they have the same bits, in memory and in stores.

A model that is asked the same question twice may answer it twice, with other bits: other batches,
other order of sums. Such rows are never merged; here they are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..stores import Store
from ..stores.store import block_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Scores
    from ..inputs.arrays import IntArray

    Flags = npt.NDArray[np.bool_]

_CHUNK_BYTES = 4 << 20  # of rows compared at a time: they stay in a cache
_TILE_BYTES = 64 << 20


def first_tasks(queries: IntArray) -> IntArray:
    """Give, for every task, the first task of the same query.

    Parameters
    ----------
    queries : ndarray of int64, shape (n,)
        The query of each task, from 0 on.

    Examples
    --------
    >>> first_tasks(np.array([3, 0, 3, 3, 0]))
    array([0, 1, 0, 0, 1])
    """
    if not len(queries):
        return np.zeros(0, dtype=np.int64)
    first = np.zeros(int(queries.max()) + 1, dtype=np.int64)
    # of repeated indices the last one stays: backwards, the first task
    first[queries[::-1]] = np.arange(len(queries) - 1, -1, -1)
    return first[queries]


def merge_rows(
    vectors: npt.NDArray[Any], queries: IntArray, given: IntArray
) -> tuple[IntArray, Flags]:
    """Let tasks of one query read one row, where theirs has the same bits.

    Parameters
    ----------
    vectors : ndarray, shape (height, d)
        A row for each task, and perhaps others.
    queries : ndarray of int64, shape (n,)
        The query of each task.
    given : ndarray of int64, shape (n,)
        The row of each task.

    Returns
    -------
    rows : ndarray of int64, shape (n,)
        The row of the first task of the same query where that is the same, else the task's own.
    unlike : ndarray of bool, shape (n,)
        Which tasks have another row than the first task of the same query.

    Examples
    --------
    >>> vectors = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5]])
    >>> merge_rows(vectors, np.array([0, 0, 0]), np.arange(3))
    (array([0, 0, 2]), array([False, False,  True]))
    """
    firsts = given[first_tasks(queries)]
    unlike = mismatched_rows(vectors, given, firsts)
    return np.where(unlike, given, firsts), unlike


def mismatched_score_rows(
    scores: Scores | Store, queries: IntArray, given: IntArray, io: str | None
) -> Flags:
    """Tell which tasks have another row of scores than the first task of the same query."""
    firsts = given[first_tasks(queries)]
    if isinstance(scores, Store):
        return mismatched_stored_rows(scores, given, firsts, io or scores.io)
    return mismatched_rows(scores.array, given, firsts)


def mismatched_rows(array: npt.NDArray[Any], rows: IntArray, others: IntArray) -> Flags:
    """Tell for pairs of rows of a matrix whether they differ in a bit.

    NaNs with the same bits are the same, 0.0 and -0.0 are not. No more than a few MB are copied at
    a time, whatever the layout.

    Parameters
    ----------
    array : ndarray, shape (height, width)
        Of any dtype of 1, 2, 4 or 8 bytes.
    rows, others : ndarray of int64, shape (n,)
        The rows of each pair.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]])
    >>> mismatched_rows(rows, np.array([0, 1, 2]), np.array([0, 0, 0]))
    array([False,  True, False])
    """
    unlike = np.zeros(len(rows), dtype=np.bool_)
    pairs = np.flatnonzero(rows != others)
    bits = array.view(f"u{array.dtype.itemsize}")
    step = max(1, _CHUNK_BYTES // max(1, array.shape[1] * array.dtype.itemsize))
    for start in range(0, len(pairs), step):
        some = pairs[start : start + step]
        unlike[some] = (bits[rows[some]] != bits[others[some]]).any(axis=1)
    return unlike


def mismatched_stored_rows(store: Store, rows: IntArray, others: IntArray, io: str) -> Flags:
    """Tell the same of the rows of a store, each of which is read once.

    Rows are held beside each other by 128 bits of their BLAKE2b, so that none of them is kept.

    Parameters
    ----------
    store : Store
        The matrix.
    rows, others : ndarray of int64, shape (n,)
        The rows of each pair.
    io : {"map", "read"}
        As in `rank`.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> from truerank.stores import open_scores
    >>> store = open_scores(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]]))
    >>> mismatched_stored_rows(store, np.array([0, 1, 2]), np.array([0, 0, 0]), "map")
    array([False,  True, False])
    """
    from hashlib import blake2b

    compared = rows != others
    wanted = np.unique(np.concatenate([rows[compared], others[compared]]))
    hashes = [blake2b(digest_size=16) for _ in range(len(wanted))]
    for tile in store.tiles(_TILE_BYTES) if len(wanted) else ():
        first, last = np.searchsorted(wanted, [tile.top, tile.top + tile.height])
        if first == last:
            continue
        with store.block(tile, io) as block:
            table = block_array(block, store)
            bits = table.view(f"u{store.itemsize}")
            for i in range(first, last):
                hashes[i].update(bits[wanted[i] - tile.top].tobytes())
            del table, bits, block  # so that a map can go
    digests = np.frombuffer(b"".join(h.digest() for h in hashes), dtype=np.uint64).reshape(-1, 2)
    unlike = np.zeros(len(rows), dtype=np.bool_)
    one, two = (digests[np.searchsorted(wanted, side[compared])] for side in (rows, others))
    unlike[compared] = (one != two).any(axis=1)
    return unlike
