"""Late interaction: the sums of maxima of token scores, as users compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers import Counts, Peer, Peers

__all__ = ["LISTS", "ListProblem", "numpy_scores"]

Array = NDArray[Any]

BATCH = 20  # documents whose products are made at a time, into one block of memory


class ListProblem(NamedTuple):
    """Lists of vectors: all end to end, and where each begins; queries have equal lengths."""

    queries: tuple[Array, NDArray[np.int64]]
    documents: tuple[Array, NDArray[np.int64]]
    targets: NDArray[np.int64]
    threads: int

    @property
    def work(self) -> int:
        """Coordinates of all pairs of tokens."""
        return len(self.queries[0]) * self.documents[0].size

    def batches(self) -> list[tuple[int, int]]:
        """The first document of each batch, and the one after its last."""
        count = len(self.documents[1]) - 1
        return [(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]


def count(scores: Array, targets: NDArray[np.int64]) -> Counts:
    """Count what is above each target, and what is tied with it."""
    true_scores = scores[np.arange(len(targets)), targets][:, None]
    return (scores > true_scores).sum(1), (scores == true_scores).sum(1)


def _products(problem: ListProblem) -> Callable[[], Array]:
    """The products of tokens alone."""
    return _numpy(problem, lambda products, starts: None)


def numpy_scores(problem: ListProblem) -> Callable[[], Array]:
    """Products, the maximum of each document, and the sum of each query, by `reduceat`."""
    query_starts = problem.queries[1][:-1]

    def add_maxima(products: Array, starts: Array) -> Array:
        return np.add.reduceat(np.maximum.reduceat(products, starts, axis=1), query_starts)

    return _numpy(problem, add_maxima)


def _numpy(problem: ListProblem, reduce: Callable[[Array, Array], Any]) -> Callable[[], Array]:
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")
    tokens, (vectors, indptr) = problem.queries[0], problem.documents
    longest = max(indptr[stop] - indptr[start] for start, stop in problem.batches())
    buffer = np.zeros(len(tokens) * longest, np.float32)

    def score() -> Array:
        scores = np.zeros((len(problem.queries[1]) - 1, len(indptr) - 1), np.float32)
        with blas.limit(limits=problem.threads):
            for start, stop in problem.batches():
                rows = vectors[indptr[start] : indptr[stop]]
                products = buffer[: len(tokens) * len(rows)].reshape(len(tokens), -1)
                np.matmul(tokens, rows.T, out=products)
                reduced = reduce(products, indptr[start:stop] - indptr[start])
                if reduced is not None:
                    scores[:, start:stop] = reduced
        return scores

    return score


def _numpy_counts(problem: ListProblem) -> Callable[[], Counts]:
    score = numpy_scores(problem)
    return lambda: count(score(), problem.targets)


def _torch_counts(problem: ListProblem) -> Callable[[], Counts]:
    """One product of a batch of documents of about one length, and the maxima of each.

    They are padded before, with their first token: no maximum is another by it, and nothing has to
    be masked.
    """
    import torch

    torch.set_num_threads(problem.threads)
    tokens, query_indptr = problem.queries
    queries = torch.from_numpy(tokens)
    vectors, indptr = problem.documents
    lengths = np.diff(indptr)
    order = np.argsort(lengths, kind="stable")
    batches = []
    for start, stop in problem.batches():
        ids = order[start:stop]
        places = np.arange(lengths[ids[-1]])
        rows = indptr[ids, None] + np.where(places < lengths[ids, None], places, 0)
        batches.append((torch.from_numpy(vectors[rows.ravel()]).T, len(ids)))
    buffer = torch.zeros(len(tokens) * max(padded.shape[1] for padded, _ in batches))

    def counts() -> Counts:
        scores = np.zeros((len(query_indptr) - 1, len(lengths)), np.float32)
        with torch.inference_mode():
            done = 0
            for padded, size in batches:
                products = buffer[: len(tokens) * padded.shape[1]].view(len(tokens), -1)
                torch.mm(queries, padded, out=products)
                maxima = products.view(len(tokens), size, -1).amax(2)
                sums = maxima.view(len(scores), -1, size).sum(1)
                scores[:, order[done : done + size]] = sums.numpy()
                done += size
        return count(scores, problem.targets)

    return counts


LISTS: Peers = {
    "numpy, products alone": Peer(("threadpoolctl",), _products, "nothing"),
    "numpy, products, reduceat": Peer(("threadpoolctl",), _numpy_counts),
    "torch, padded by length, amax": Peer(("torch",), _torch_counts),
}
