"""Queries and their known answers: what each task asks, and what a filter leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .rows import first_rows, look_up, row_keys

if TYPE_CHECKING:
    from ..arrays import IntArray

# side -> (the columns that are given, the one that is asked for); its order is that of the tasks
SIDES = {"head": ((1, 2), 0), "tail": ((0, 1), 2), "relation": ((0, 2), 1)}


class Asked(NamedTuple):
    """The distinct queries of some triples, which of them each asks, and all known answers.

    Attributes
    ----------
    queries : ndarray of int64, shape (m, c)
        In lexicographic order.
    rows : ndarray of int64, shape (n,)
        The query of each triple.
    targets : ndarray of int64, shape (n,)
        Its answer.
    answers : (indptr, indices)
        The known answers of each query, ascending and distinct; the targets are among them.
    """

    queries: IntArray
    rows: IntArray
    targets: IntArray
    answers: tuple[IntArray, IntArray]


def ask(triples: IntArray, chosen: IntArray, side: str, keys: Sequence[int]) -> Asked:
    """Make the queries of one side.

    Parameters
    ----------
    triples : ndarray of int64, shape (n, 3+)
        All that is known.
    chosen : ndarray of int64
        Which of them are asked.
    side : {"head", "tail", "relation"}
        What is asked for.
    keys : sequence of int
        The further columns that are part of a query.

    Returns
    -------
    Asked

    Examples
    --------
    >>> triples = np.array([[0, 0, 1], [0, 0, 2], [3, 0, 1]])
    >>> asked = ask(triples, np.array([1]), "tail", ())
    >>> asked.queries, asked.answers
    (array([[0, 0]]), (array([0, 2]), array([1, 2])))
    """
    given, asked_for = SIDES[side]
    key_columns = [*given, *keys]
    every = row_keys([triples[:, column] for column in key_columns])
    ordered, first, rows = np.unique(every[chosen], return_index=True, return_inverse=True)
    where, which = look_up(ordered, every)
    known = triples[where, asked_for]
    once = first_rows(row_keys([which, known]))
    counts = np.bincount(which[once], minlength=len(ordered))
    indptr = np.zeros(len(ordered) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    return Asked(
        np.stack([triples[chosen[first], column] for column in key_columns], axis=1),
        rows.reshape(-1).astype(np.int64),
        triples[chosen, asked_for],
        (indptr, known[once]),
    )
