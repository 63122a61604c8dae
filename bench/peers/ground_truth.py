"""Exact nearest neighbours by squared distance, as builders of vector indexes compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peers import Peer, Peers
from peers.embeddings import EmbeddingProblem, blas_limit

__all__ = ["count_wrong", "neighbour_peers"]

Array = NDArray[Any]
Neighbours = Callable[[], NDArray[np.int64]]  # Its call returns the ids of each query.

BLOCK = 8_192  # entities whose distances are made at once; memory for 1,000 queries is 33 MB
# Of the squares of the lengths: float32 that expands the square of a difference errs by less.
TOLERANCE = 1e-6


def count_wrong(
    found: Mapping[str, NDArray[np.int64]], problem: EmbeddingProblem
) -> dict[str, int]:
    """Return how many ids of each contestant are wrong: k or more entities are nearer, in float64.

    Its ids must be distinct, and their distances those of the k nearest. Float32 may round, so that
    these are about as small; whole numbers have exact distances.
    """
    wrong = dict.fromkeys(found, 0)
    queries, entities = (rows.astype(np.float64) for rows in problem[:2])
    squares = np.einsum("ij,ij->i", entities, entities)
    for row, query in enumerate(queries):
        distances = squares - 2 * (entities @ query)  # and the query's own square
        for name, ids in found.items():
            k = ids.shape[1]
            assert len(np.unique(ids[row])) == k, name
            nearest = np.sort(np.partition(distances, k - 1)[:k])
            actual = np.sort(distances[ids[row]])
            wrong[name] += np.count_nonzero(actual > nearest[-1])
            tolerance = 0.0
            if problem.entities.dtype.kind == "f":
                tolerance = TOLERANCE * (query @ query + squares[ids[row]].max())
            assert (actual - nearest).max() <= tolerance, name
    return wrong


def _numpy(k: int) -> Callable[[EmbeddingProblem], Neighbours]:
    """Squares by a float32 product, block by block; what is nearer than the k-th so far is kept."""

    def prepare(problem: EmbeddingProblem) -> Neighbours:
        limit = blas_limit(problem.threads)

        def neighbours() -> NDArray[np.int64]:
            queries = problem.queries.astype(np.float32)
            nearest = np.full((len(queries), k), np.inf, np.float32)
            ids = np.full((len(queries), k), -1)
            with limit():
                for start in range(0, len(problem.entities), BLOCK):
                    entities = problem.entities[start : start + BLOCK].astype(np.float32)
                    distances = queries @ entities.T
                    distances *= -2
                    distances += np.einsum("ij,ij->i", entities, entities)
                    nearest, ids = _merge(nearest, ids, distances, start)
            return np.take_along_axis(ids, np.argsort(nearest, axis=1), axis=1)

        return neighbours

    return prepare


def _merge(nearest: Array, ids: Array, distances: Array, start: int) -> tuple[Array, Array]:
    """Return the k nearest of those so far and of a block of entities, in any order."""
    k = nearest.shape[1]
    rows, columns = np.nonzero(distances < nearest.max(axis=1, keepdims=True))
    counts = np.bincount(rows, minlength=len(nearest))
    places = k + np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    both = np.full((len(nearest), k + counts.max()), np.inf, np.float32)
    both_ids = np.full(both.shape, -1)
    both[:, :k] = nearest
    both_ids[:, :k] = ids
    both[rows, places] = distances[rows, columns]
    both_ids[rows, places] = start + columns
    chosen = np.argpartition(both, k - 1, axis=1)[:, :k]
    return np.take_along_axis(both, chosen, axis=1), np.take_along_axis(both_ids, chosen, axis=1)


def _faiss(make: Callable[[Any, int], Any], k: int) -> Callable[[EmbeddingProblem], Neighbours]:
    """An index that scores every vector; its vectors are added before the clock starts."""

    def prepare(problem: EmbeddingProblem) -> Neighbours:
        import faiss

        queries, entities = (rows.astype(np.float32) for rows in problem[:2])
        index = make(faiss, entities.shape[1])
        index.train(entities[:1])
        index.add(entities)

        def neighbours() -> NDArray[np.int64]:
            faiss.omp_set_num_threads(problem.threads)
            return np.asarray(index.search(queries, k)[1])

        return neighbours

    return prepare


def _faiss_bytes(faiss: Any, dim: int) -> Any:
    return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit_direct, faiss.METRIC_L2)


def _usearch(k: int) -> Callable[[EmbeddingProblem], Neighbours]:
    """Its exact search; unless told that bytes are numbers, it takes them for bits."""

    def prepare(problem: EmbeddingProblem) -> Neighbours:
        from usearch.index import MetricKind, search

        dtype = {"uint8": "u8", "float32": "f32"}[problem.entities.dtype.name]

        def neighbours() -> NDArray[np.int64]:
            matches = search(
                problem.entities,
                problem.queries,
                k,
                MetricKind.L2sq,
                exact=True,
                threads=problem.threads,
                dtype=dtype,
            )
            return matches.keys.astype(np.int64)

        return neighbours

    return prepare


def neighbour_peers(dtype: str, k: int) -> tuple[Peers, Peers]:
    """Return the peers that find the k nearest of a dtype, and those that get fewer queries."""
    peers = {
        "faiss, flat index": Peer(("faiss",), _faiss(lambda faiss, d: faiss.IndexFlatL2(d), k)),
        "numpy, product in blocks": Peer(("threadpoolctl",), _numpy(k)),
    }
    slow = {"usearch, exact": Peer(("usearch",), _usearch(k))}
    if dtype == "uint8":
        slow["faiss, flat index of bytes"] = Peer(("faiss",), _faiss(_faiss_bytes, k))
    return peers, slow
