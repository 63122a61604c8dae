"""Entity alignment as its toolkits do it: all similarities at once, then rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers import Peer, Peers

__all__ = ["AlignmentProblem", "dense"]

Array = NDArray[Any]

BATCH = 256  # rows that are counted at once


class AlignmentProblem(NamedTuple):
    """Vectors of two graphs, whose first `pairs` entities are each other's counterparts."""

    left: Array
    right: Array
    pairs: int
    threads: int
    k: int | None = None  # of CSLS

    @property
    def work(self) -> int:
        """Coordinates of all pairs."""
        return len(self.left) * self.right.size


def _similarities(given: AlignmentProblem) -> Array:
    """All cosines; with CSLS by its formula, the k highest by a partition of the negated matrix."""
    left, right = (
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (given.left, given.right)
    )
    scores = np.matmul(left, right.T)
    if given.k is None:
        return scores
    means = [
        np.mean(-np.partition(-matrix, given.k - 1, axis=1)[:, : given.k], axis=1)
        for matrix in (scores, scores.T)
    ]
    return 2 * scores - (means[0][:, None] + means[1][None, :])


def _by_argsort(matrix: Array, pairs: int) -> Array:
    """Where the right answer stands in each sorted row."""
    return np.array([np.where((-matrix[i]).argsort() == i)[0][0] for i in range(pairs)])


def _by_counts(matrix: Array, pairs: int) -> Array:
    """How many of each row are above the right answer."""
    found = np.empty(pairs, np.int64)
    for start in range(0, pairs, BATCH):
        ids = np.arange(start, min(start + BATCH, pairs))
        rows = np.ascontiguousarray(matrix[ids])
        found[ids] = (rows > rows[ids - start, ids][:, None]).sum(axis=1)
    return found


def _dense(
    count: Callable[[Array, int], Array],
) -> Callable[[AlignmentProblem], Callable[[], tuple[Array, Array]]]:
    def make(given: AlignmentProblem) -> Callable[[], tuple[Array, Array]]:
        from threadpoolctl import ThreadpoolController

        blas = ThreadpoolController().select(user_api="blas")

        def ranks() -> tuple[Array, Array]:
            with blas.limit(limits=given.threads):
                scores = _similarities(given)
            return count(scores, given.pairs), count(scores.T, given.pairs)

        return ranks

    return make


dense: Peers = {
    "numpy, matrix and argsort": Peer(("threadpoolctl",), _dense(_by_argsort), "above"),
    "numpy, matrix and >": Peer(("threadpoolctl",), _dense(_by_counts), "above"),
}
