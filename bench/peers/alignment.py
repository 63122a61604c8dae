"""Entity alignment as its toolkits do it: a similarity matrix, then its rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers import Peer, Peers

__all__ = ["DENSE", "AlignmentProblem"]

Array = NDArray[Any]

BATCH = 256  # rows that are counted at once


class AlignmentProblem(NamedTuple):
    """Embeddings of two graphs, whose first `pairs` entities are each other's counterparts."""

    left: Array
    right: Array
    pairs: int
    threads: int
    k: int | None = None  # of CSLS

    @property
    def work(self) -> int:
        """Coordinates of all pairs."""
        return len(self.left) * self.right.size


def _similarities(problem: AlignmentProblem) -> Array:
    """All cosines; with CSLS by its formula, the k highest by a partition of the negated matrix."""
    left, right = (
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (problem.left, problem.right)
    )
    scores = np.matmul(left, right.T)
    if problem.k is None:
        return scores
    means = [
        np.mean(-np.partition(-matrix, problem.k - 1, axis=1)[:, : problem.k], axis=1)
        for matrix in (scores, scores.T)
    ]
    return 2 * scores - (means[0][:, None] + means[1][None, :])


def _count_by_argsort(matrix: Array, pairs: int) -> Array:
    """Return the position of the target in each sorted row."""
    return np.array([np.where((-matrix[i]).argsort() == i)[0][0] for i in range(pairs)])


def _count_greater(matrix: Array, pairs: int) -> Array:
    """Return how many scores of each row are above that of the target."""
    above = np.empty(pairs, np.int64)
    for start in range(0, pairs, BATCH):
        ids = np.arange(start, min(start + BATCH, pairs))
        rows = np.ascontiguousarray(matrix[ids])
        above[ids] = (rows > rows[ids - start, ids][:, None]).sum(axis=1)
    return above


def _dense(
    count: Callable[[Array, int], Array],
) -> Callable[[AlignmentProblem], Callable[[], tuple[Array, Array]]]:
    """Return the `prepare` of a peer that counts in this way, in both directions."""

    def prepare(problem: AlignmentProblem) -> Callable[[], tuple[Array, Array]]:
        from threadpoolctl import ThreadpoolController

        blas = ThreadpoolController().select(user_api="blas")

        def count_both() -> tuple[Array, Array]:
            with blas.limit(limits=problem.threads):
                scores = _similarities(problem)
            return count(scores, problem.pairs), count(scores.T, problem.pairs)

        return count_both

    return prepare


DENSE: Peers = {
    "numpy, matrix and argsort": Peer(("threadpoolctl",), _dense(_count_by_argsort), "above"),
    "numpy, matrix and >": Peer(("threadpoolctl",), _dense(_count_greater), "above"),
}
