"""Late interaction: the sums of maxima of token scores, as users compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers import Counts, Peer, Peers
from peers.embeddings import blas_limit

__all__ = ["LISTS", "ListProblem", "numpy_scores"]

Array = NDArray[Any]

BATCH = 20  # documents whose products are made at a time, into one block of memory
NUMPY_BATCH = 10  # of padded documents: half of the time of 20 for their maxima


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

    def batches(self, size: int = BATCH) -> list[tuple[int, int]]:
        """The first document of each batch, and the one after its last."""
        count = len(self.documents[1]) - 1
        return [(start, min(start + size, count)) for start in range(0, count, size)]

    def padded_batches(self, size: int = BATCH) -> list[tuple[Array, Array]]:
        """The documents of each batch, all of about one length, and the rows of their tokens.

        Rows are padded with the first token of their document: no maximum is another by it, and
        nothing has to be masked.
        """
        indptr = self.documents[1]
        lengths = np.diff(indptr)
        order = np.argsort(lengths, kind="stable")
        batches = []
        for start, stop in self.batches(size):
            ids = order[start:stop]
            places = np.arange(lengths[ids[-1]])
            batches.append((ids, indptr[ids, None] + places * (places < lengths[ids, None])))
        return batches


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
    limit = blas_limit(problem.threads)
    tokens, (vectors, indptr) = problem.queries[0], problem.documents
    longest = max(indptr[stop] - indptr[start] for start, stop in problem.batches())
    buffer = np.zeros(len(tokens) * longest, np.float32)

    def score() -> Array:
        scores = np.zeros((len(problem.queries[1]) - 1, len(indptr) - 1), np.float32)
        with limit():
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


def _numpy_padded_counts(problem: ListProblem) -> Callable[[], Counts]:
    """The same in numpy: rows are tokens of documents, so that maxima are of whole vectors."""
    limit = blas_limit(problem.threads)
    tokens, query_indptr = problem.queries
    vectors, indptr = problem.documents
    batches = [
        (np.ascontiguousarray(vectors[rows.T.ravel()]), ids)
        for ids, rows in problem.padded_batches(NUMPY_BATCH)
    ]
    buffer = np.zeros((max(len(padded) for padded, _ in batches), len(tokens)), np.float32)

    def counts() -> Counts:
        scores = np.zeros((len(query_indptr) - 1, len(indptr) - 1), np.float32)
        with limit():
            for padded, ids in batches:
                products = buffer[: len(padded)]
                np.matmul(padded, tokens.T, out=products)
                maxima = products.reshape(-1, len(ids), len(tokens)).max(axis=0)
                scores[:, ids] = maxima.reshape(len(ids), len(scores), -1).sum(axis=2).T
        return count(scores, problem.targets)

    return counts


def _torch_counts(problem: ListProblem) -> Callable[[], Counts]:
    """One product of a batch of padded documents, and the maxima of each."""
    import torch

    torch.set_num_threads(problem.threads)
    tokens, query_indptr = problem.queries
    queries = torch.from_numpy(tokens)
    vectors, indptr = problem.documents
    batches = [
        (torch.from_numpy(vectors[rows.ravel()]).T, ids) for ids, rows in problem.padded_batches()
    ]
    buffer = torch.zeros(len(tokens) * max(padded.shape[1] for padded, _ in batches))

    def counts() -> Counts:
        scores = np.zeros((len(query_indptr) - 1, len(indptr) - 1), np.float32)
        with torch.inference_mode():
            for padded, ids in batches:
                products = buffer[: len(tokens) * padded.shape[1]].view(len(tokens), -1)
                torch.mm(queries, padded, out=products)
                maxima = products.view(len(tokens), len(ids), -1).amax(2)
                sums = maxima.view(len(scores), -1, len(ids)).sum(1)
                scores[:, ids] = sums.numpy()
        return count(scores, problem.targets)

    return counts


LISTS: Peers = {
    "numpy, products alone": Peer(("threadpoolctl",), _products, "nothing"),
    "numpy, products, reduceat": Peer(("threadpoolctl",), _numpy_counts),
    "numpy, padded by length, max": Peer(("threadpoolctl",), _numpy_padded_counts),
    "torch, padded by length, amax": Peer(("torch",), _torch_counts),
}
