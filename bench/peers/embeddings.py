"""Scores of embeddings: matrix products and distances, as users compute them.

Except for the one whose name says so, none of these counts: they end with a matrix of scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers import Counts, Peer, Peers
from peers.numpy_scipy import numpy_by_row

__all__ = ["EXACT", "SCORING", "SLOW", "EmbeddingProblem"]
__all__ += ["blas_limit", "check_scores", "check_top_k", "top_k_peers"]

Array = NDArray[Any]

BATCH = 256  # queries whose scores are counted, or sorted, before the next are made
CHECKED_PAIRS = 2_000  # pairs that are computed again in float64
TOLERANCE = 1e-4  # of the largest score; float32 sums of a thousand products are better than that


class EmbeddingProblem(NamedTuple):
    """Queries and entities, a target for each query, and the number of threads."""

    queries: Array
    entities: Array
    targets: NDArray[np.int64]
    threads: int

    @property
    def work(self) -> int:
        """Coordinates of all pairs; a dot product takes a multiply-add for each."""
        return len(self.queries) * self.entities.size

    def first(self, queries: int) -> EmbeddingProblem:
        """Return the problem of the first queries alone."""
        return self._replace(queries=self.queries[:queries], targets=self.targets[:queries])


def _complex(rows: Array) -> Array:
    return np.asarray(rows[..., ::2] + 1j * rows[..., 1::2])


def _hyperbolic(q: Array, e: Array) -> Array:
    q2, e2, distance2 = ((x**2).sum(-1) for x in (q, e, q - e))
    return np.asarray(-(np.arccosh(1 + 2 * distance2 / ((1 - q2) * (1 - e2))) ** 2))


# The definitions, for arrays of rows; every contestant is compared with them in float64.
EXACT: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda q, e: (q * e).sum(-1),
    "cosine": lambda q, e: (q * e).sum(-1) / np.sqrt((q**2).sum(-1) * (e**2).sum(-1)),
    "l1": lambda q, e: -np.abs(q - e).sum(-1),
    "l2": lambda q, e: -np.sqrt(((q - e) ** 2).sum(-1)),
    "sql2": lambda q, e: -((q - e) ** 2).sum(-1),
    "complex_l1": lambda q, e: -np.abs(_complex(q - e)).sum(-1),
    "poincare": _hyperbolic,
}


def scored_by(similarity: Any) -> dict[str, Any]:
    """Return the options of a similarity; complex numbers have their parts in turn."""
    layout = "interleaved" if similarity == "complex_l1" else None
    return {"similarity": similarity, "layout": layout}


def check_scores(
    result: Array, problem: EmbeddingProblem, similarity: str, returns: str = "scores"
) -> None:
    """Compare some scores of a matrix with the definition in float64; distances are negated."""
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, np.array(result.shape)[:, None], (2, CHECKED_PAIRS))
    pairs = problem.queries[rows], problem.entities[columns]
    exact = EXACT[similarity](*(vectors.astype(np.float64) for vectors in pairs))
    tolerance = TOLERANCE * float(np.abs(exact).max())
    scores = result[rows, columns]
    if returns == "distances":
        scores = -scores
    np.testing.assert_allclose(scores, exact, rtol=0, atol=tolerance, err_msg=similarity)


def check_top_k(result: NDArray[np.int64], problem: EmbeddingProblem) -> None:
    """Compare the top k of some queries, by dot, with a sort of float64 scores."""
    queries = problem.queries[:CHECKED_PAIRS:20].astype(np.float64)
    scores = queries @ problem.entities.astype(np.float64).T
    expected = -np.sort(-scores, axis=1)[:, : result.shape[1]]
    actual = np.take_along_axis(scores, result[:CHECKED_PAIRS:20], axis=1)
    tolerance = TOLERANCE * float(np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


# -- numpy and scipy -------------------------------------------------------------------------------


def blas_limit(threads: int) -> Callable[[], Any]:
    """Return a function whose context limits numpy's matrix product to that many threads."""
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")
    return lambda: blas.limit(limits=threads)


def _matrix(problem: EmbeddingProblem) -> Array:
    """A matrix for all scores, allocated and touched before the clock starts."""
    return np.zeros((len(problem.queries), len(problem.entities)), problem.entities.dtype)


def _normalise(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _product(problem: EmbeddingProblem, made: Callable[[Array], Array] = np.asarray) -> Any:
    """The scores alone, into a matrix that is already allocated; of rows as they are made."""
    limit = blas_limit(problem.threads)
    scores = _matrix(problem)

    def multiply() -> Array:
        with limit():
            return np.matmul(made(problem.queries), made(problem.entities).T, out=scores)

    return multiply


def _cosines(problem: EmbeddingProblem) -> Any:
    """Each row divided by its norm, then their product."""
    return _product(problem, _normalise)


def _product_counts(problem: EmbeddingProblem) -> Callable[[], Counts]:
    """Product and counts, one batch of queries after the other, as users write them by hand."""
    limit = blas_limit(problem.threads)
    scores = _matrix(problem.first(BATCH))

    def counts() -> Counts:
        above, tied = np.empty((2, len(problem.queries)), np.int64)
        with limit():
            for start in range(0, len(problem.queries), BATCH):
                rows = slice(start, start + BATCH)
                queries = problem.queries[rows]
                batch = np.matmul(queries, problem.entities.T, out=scores[: len(queries)])
                above[rows], tied[rows] = numpy_by_row(batch, problem.targets[rows])
        return above, tied

    return counts


def _cdist(metric: str) -> Callable[[EmbeddingProblem], Callable[[], Array]]:
    """scipy's distances: float64 for any dtype of the input, and one thread."""

    def prepare(problem: EmbeddingProblem) -> Callable[[], Array]:
        from scipy.spatial.distance import cdist

        return lambda: np.asarray(cdist(problem.queries, problem.entities, metric))

    return prepare


def _argpartition(k: int) -> Callable[[EmbeddingProblem], Callable[[], NDArray[np.int64]]]:
    """Product, argpartition, and a sort of the k that are left."""

    def prepare(problem: EmbeddingProblem) -> Callable[[], NDArray[np.int64]]:
        limit = blas_limit(problem.threads)

        def top_k() -> NDArray[np.int64]:
            columns = np.empty((len(problem.queries), k), np.int64)
            with limit():
                for start in range(0, len(problem.queries), BATCH):
                    rows = slice(start, start + BATCH)
                    scores = -(problem.queries[rows] @ problem.entities.T)
                    ids = np.argpartition(scores, k - 1, axis=1)[:, :k]
                    order = np.argsort(np.take_along_axis(scores, ids, axis=1), axis=1)
                    columns[rows] = np.take_along_axis(ids, order, axis=1)
            return columns

        return top_k

    return prepare


# -- torch -----------------------------------------------------------------------------------------


def _tensors(problem: EmbeddingProblem) -> tuple[Any, Any]:
    """Return queries and entities as tensors; set the number of torch's threads."""
    import torch

    torch.set_num_threads(problem.threads)
    return torch.from_numpy(problem.queries), torch.from_numpy(problem.entities)


Expression = Callable[[Any, Any], Any]  # of queries and entities


def _in_torch(expression: Expression) -> Callable[[EmbeddingProblem], Callable[[], Array]]:
    def prepare(problem: EmbeddingProblem) -> Callable[[], Array]:
        queries, entities = _tensors(problem)
        return lambda: np.asarray(expression(queries, entities).numpy())

    return prepare


def _torch_product(problem: EmbeddingProblem) -> Callable[[], Array]:
    import torch

    queries, entities = _tensors(problem)
    scores = torch.from_numpy(_matrix(problem))
    return lambda: np.asarray(torch.mm(queries, entities.T, out=scores).numpy())


def _distances(**options: Any) -> Expression:
    def distances(queries: Any, entities: Any) -> Any:
        import torch

        return torch.cdist(queries, entities, **options)

    return distances


def _moduli(queries: Any, entities: Any) -> Any:
    """The sum of the moduli of complex differences, as in RotatE, query by query to save memory."""
    import torch

    queries, entities = (
        torch.view_as_complex(rows.view(len(rows), -1, 2)) for rows in (queries, entities)
    )
    norm = torch.linalg.vector_norm
    return torch.stack([norm(query - entities, ord=1, dim=1) for query in queries])


def _torch_topk(k: int) -> Callable[[EmbeddingProblem], Callable[[], NDArray[np.int64]]]:
    def prepare(problem: EmbeddingProblem) -> Callable[[], NDArray[np.int64]]:
        import torch

        queries, entities = _tensors(problem)

        def top_k() -> NDArray[np.int64]:
            columns = np.empty((len(queries), k), np.int64)
            for start in range(0, len(queries), BATCH):
                rows = slice(start, start + BATCH)
                columns[rows] = torch.mm(queries[rows], entities.T).topk(k, dim=1).indices.numpy()
            return columns

        return top_k

    return prepare


def _torch_product_counts(problem: EmbeddingProblem) -> Callable[[], Counts]:
    """Product and counts in torch, one batch of queries after the other."""
    import torch

    queries, entities = _tensors(problem)
    targets = torch.from_numpy(problem.targets)

    def counts() -> Counts:
        above, tied = np.empty((2, len(queries)), np.int64)
        for start in range(0, len(queries), BATCH):
            rows = slice(start, start + BATCH)
            scores = torch.mm(queries[rows], entities.T)
            true = scores.gather(1, targets[rows, None])
            above[rows] = (scores > true).sum(1).numpy()
            tied[rows] = (scores == true).sum(1).numpy()
        return above, tied

    return counts


# -- faiss -----------------------------------------------------------------------------------------


def _faiss_flat(k: int) -> Callable[[EmbeddingProblem], Callable[[], Any]]:
    """The flat index, which is exact; its vectors are added before the clock starts."""

    def prepare(problem: EmbeddingProblem) -> Callable[[], NDArray[np.int64]]:
        import faiss

        index = faiss.IndexFlat(problem.entities.shape[1], faiss.METRIC_INNER_PRODUCT)
        index.add(np.ascontiguousarray(problem.entities))

        def top_k() -> NDArray[np.int64]:
            faiss.omp_set_num_threads(problem.threads)
            return np.asarray(index.search(problem.queries, k)[1])

        return top_k

    return prepare


def _faiss_distances(problem: EmbeddingProblem) -> Callable[[], Array]:
    """All distances of L1."""
    import faiss

    def distances() -> Array:
        faiss.omp_set_num_threads(problem.threads)
        return np.asarray(
            faiss.pairwise_distances(problem.queries, problem.entities, faiss.METRIC_L1)
        )

    return distances


_BLAS = ("threadpoolctl",)
_TORCH = ("torch",)
_SCIPY = ("scipy",)
_FAISS = ("faiss",)

# Peers that score all queries, by similarity.
SCORING: dict[str, Peers] = {
    "dot": {
        "numpy, matrix product": Peer(_BLAS, _product, "scores"),
        "numpy, product, > and ==": Peer(_BLAS, _product_counts, "counts of other scores"),
        "torch, matrix product": Peer(_TORCH, _torch_product, "scores"),
        "torch, product, > and ==": Peer(_TORCH, _torch_product_counts, "counts of other scores"),
    },
    "cosine": {"numpy, normalised product": Peer(_BLAS, _cosines, "scores")},
    "l2": {
        "torch.cdist, by a product": Peer(
            _TORCH, _in_torch(_distances(compute_mode="use_mm_for_euclid_dist")), "distances"
        )
    },
}
# Peers that would take minutes, and get fewer queries.
SLOW: dict[str, Peers] = {
    "l1": {
        "torch.cdist, p=1": Peer(_TORCH, _in_torch(_distances(p=1.0)), "distances"),
        "scipy, cityblock": Peer(_SCIPY, _cdist("cityblock"), "distances"),
        "faiss, L1": Peer(_FAISS, _faiss_distances, "distances"),
    },
    "l2": {
        "torch.cdist, by differences": Peer(
            _TORCH, _in_torch(_distances(compute_mode="donot_use_mm_for_euclid_dist")), "distances"
        ),
        "scipy, euclidean": Peer(_SCIPY, _cdist("euclidean"), "distances"),
    },
    "sql2": {"scipy, sqeuclidean": Peer(_SCIPY, _cdist("sqeuclidean"), "distances")},
    "complex_l1": {"torch, moduli": Peer(_TORCH, _in_torch(_moduli), "distances")},
}


def top_k_peers(k: int) -> Peers:
    """Return the peers that find the top k, by dot."""
    return {
        "numpy, product, argpartition": Peer(_BLAS, _argpartition(k), "top k"),
        "torch, product, topk": Peer(_TORCH, _torch_topk(k), "top k"),
        "faiss, flat index": Peer(_FAISS, _faiss_flat(k), "top k"),
    }
