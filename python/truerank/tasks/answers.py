"""Queries and their known answers: what each task asks, and what a filter leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .row_keys import first_rows, look_up, row_keys

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


class Asked(NamedTuple):
    """The distinct queries of some rows, which of them each asks, and all known answers.

    Attributes
    ----------
    queries : ndarray of int64, shape (m, c)
        In lexicographic order.
    rows : ndarray of int64, shape (n,)
        The query of each row.
    targets : ndarray of int64, shape (n,)
        Its answer.
    answers : (indptr, indices)
        The known answers of each query, ascending and distinct; the targets are among them.
    """

    queries: IntArray
    rows: IntArray
    targets: IntArray
    answers: tuple[IntArray, IntArray]


def ask(facts: IntArray, chosen: IntArray, given: Sequence[int], asked_for: int) -> Asked:
    """Make the queries of one side.

    Parameters
    ----------
    facts : ndarray of int64, shape (n, c)
        All that is known: triples, or pairs.
    chosen : ndarray of int64
        Which of them are asked.
    given : sequence of int
        The columns that make a query.
    asked_for : int
        The column of the answers.

    Returns
    -------
    Asked

    Examples
    --------
    >>> triples = np.array([[0, 0, 1], [0, 0, 2], [3, 0, 1]])
    >>> asked = ask(triples, np.array([1]), (0, 1), 2)
    >>> asked.queries, asked.answers
    (array([[0, 0]]), (array([0, 2]), array([1, 2])))
    """
    every = row_keys([facts[:, column] for column in given])
    ordered, first, rows = np.unique(every[chosen], return_index=True, return_inverse=True)
    where, which = look_up(ordered, every)
    known = facts[where, asked_for]
    once = first_rows(row_keys([which, known]))
    counts = np.bincount(which[once], minlength=len(ordered))
    indptr = np.zeros(len(ordered) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    return Asked(
        np.stack([facts[chosen[first], column] for column in given], axis=1),
        rows.reshape(-1).astype(np.int64),
        facts[chosen, asked_for],
        (indptr, known[once]),
    )
