"""Rows of one query: whether their bits are the same, in memory and in stores.

A model that scores the same query twice may return other bits the second time, as batches and the
order of sums differ. Such rows are never merged; this module finds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import distinct, search_sorted
from ..errors import warn_user
from ..stores import Store

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..embeddings.vectors import Embeddings
    from ..ranks.container import Ranks

    Flags = npt.NDArray[np.bool_]

# Rows of so many bytes are compared at a time, because they stay in a cache.
_CHUNK_BYTES = 4 << 20
_TILE_BYTES = 64 << 20
# Scores of rows that differ by rounding alone are nearer than this share of their size, in bfloat16
# too.
_ROUNDING = 0.01
# So many pairs of rows of a store are looked at: each takes a page of a file, or two.
LOOKED_AT = 100


def with_mismatched(ranks: Ranks, mismatched: Flags) -> Ranks:
    """Return audited ranks whose audit counts the mismatched rows of tasks."""
    assert ranks.audit is not None
    audit = ranks.audit._replace(mismatched=mismatched.astype(np.int64))
    return ranks._with({"audit": np.array(audit)})


def mismatched_rows(array: npt.NDArray[Any], rows: IntArray, others: IntArray) -> Flags:
    """Return for pairs of rows of a matrix whether they differ in any bit.

    NaNs with the same bits are equal; 0.0 and -0.0 are not. At most a few MB are copied at a time,
    whatever the layout.

    Parameters
    ----------
    array : ndarray, shape (height, width)
        The matrix, of any dtype of 1, 2, 4, 8 or 16 bytes.
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
    mismatched = np.zeros(len(rows), dtype=np.bool_)
    pairs = np.flatnonzero(rows != others)
    bits = f"u{min(array.dtype.itemsize, 8)}"
    step = max(1, _CHUNK_BYTES // max(1, array.shape[1] * array.dtype.itemsize))
    for start in range(0, len(pairs), step):
        chunk = pairs[start : start + step]
        row = np.ascontiguousarray(array[rows[chunk]]).view(bits)
        other = np.ascontiguousarray(array[others[chunk]]).view(bits)
        mismatched[chunk] = (row != other).any(axis=1)
    return mismatched


def mismatched_vectors(
    name: str, embeddings: Embeddings, rows: IntArray, others: IntArray, targets: IntArray
) -> Flags:
    """Return the same for vectors of queries, and warn if rounding cannot be why they differ.

    Then they may be those of another side, or in another order than the test.

    Parameters
    ----------
    name : str
        The argument of the queries, for the warning.
    embeddings : Embeddings
    rows, others : ndarray of int64, shape (n,)
        The rows of each pair.
    targets : ndarray of int64, shape (n,)
        The entity that both are scored with.
    """
    mismatched = mismatched_rows(embeddings.query_array, rows, others)
    if mismatched.any():
        columns = targets[mismatched]
        one = embeddings.score(rows[mismatched], columns, 1)
        other = embeddings.score(others[mismatched], columns, 1)
        number = f"{len(distinct(rows[mismatched])):,} of {embeddings.shape[0]:,} rows"
        warn_of_other_scores(name, number, one, other)
    return mismatched


def warn_of_other_scores(
    name: str, number: str, one: npt.NDArray[Any], other: npt.NDArray[Any]
) -> None:
    """Warn if scores of rows, and of the first row of their query, differ by more than rounding."""
    with np.errstate(all="ignore"):
        are_odd = np.abs(one - other).sum() > _ROUNDING * np.abs(one).sum()
    if are_odd:
        text = f"in {number} a query has other scores than in its first row: are they rows of "
        warn_user(f"{name}: {text}this side, in the order of the test?")


def look_at_stored_rows(
    name: str, store: Store, rows: IntArray, others: IntArray, targets: IntArray
) -> None:
    """Warn as `mismatched_vectors` does, by few scores of a store that is read in place."""
    pairs = np.flatnonzero(rows != others)[:LOOKED_AT]
    if len(pairs) and store.in_place and store.carrier.kind == "f":
        one = store.take(rows[pairs], targets[pairs])
        other = store.take(others[pairs], targets[pairs])
        number = f"{np.count_nonzero(one != other):,} of {len(pairs):,} rows that were compared"
        warn_of_other_scores(name, number, one, other)


def mismatched_stored_rows(store: Store, rows: IntArray, others: IntArray, io: str) -> Flags:
    """Return the same for pairs of rows of a store, and read each row once.

    Rows are compared by 128 bits of their BLAKE2b hash, so that no row stays in memory.

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

    is_compared = rows != others
    mismatched = np.zeros(len(rows), dtype=np.bool_)
    row_ids = distinct(np.concatenate([rows[is_compared], others[is_compared]]))
    if not len(row_ids):
        return mismatched
    hashes = [blake2b(digest_size=16) for _ in range(len(row_ids))]
    for tile in store.tiles(_TILE_BYTES):
        first, last = np.searchsorted(row_ids, [tile.top, tile.top + tile.height])
        if first == last:
            continue
        with store.block(tile, io) as table:
            bits = table.view(f"u{store.itemsize}")
            for i in range(first, last):
                hashes[i].update(bits[row_ids[i] - tile.top].tobytes())
            del table, bits  # Without these names the file can be unmapped.
    joined = b"".join(each.digest() for each in hashes)
    digests = np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)
    of_rows = digests[search_sorted(row_ids, rows[is_compared])]
    of_others = digests[search_sorted(row_ids, others[is_compared])]
    mismatched[is_compared] = (of_rows != of_others).any(axis=1)
    return mismatched
