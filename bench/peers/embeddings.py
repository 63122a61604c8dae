"""Scores of vectors: matrix products and distances, by what users take for them.

None of these counts anything, but for the one that says so: a matrix of scores is where they end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers import Counts, Peer, Peers
from peers.numpy_scipy import numpy_by_row

__all__ = [
    "EXACT",
    "SCORING",
    "SLOW",
    "EmbeddingProblem",
    "check_scores",
    "check_top_k",
    "top_k_peers",
]

Array = NDArray[Any]

BATCH = 256  # queries whose scores are counted, or sorted, before the next are made
PAIRS = 2_000  # that are computed again in float64
CLOSE = 1e-4  # of the largest score; float32 sums of a thousand products are better than that


class EmbeddingProblem(NamedTuple):
    """Queries and entities, how to compare them, and with how many threads."""

    queries: Array
    entities: Array
    targets: NDArray[np.int64]
    threads: int

    @property
    def work(self) -> int:
        """Coordinates of all pairs: what a dot product takes a multiply-add for."""
        return len(self.queries) * self.entities.size

    def first(self, queries: int) -> EmbeddingProblem:
        """The same of some queries."""
        return self._replace(queries=self.queries[:queries], targets=self.targets[:queries])


def _complex(rows: Array) -> Array:
    return np.asarray(rows[..., ::2] + 1j * rows[..., 1::2])


def _hyperbolic(q: Array, e: Array) -> Array:
    q2, e2, apart = ((x**2).sum(-1) for x in (q, e, q - e))
    return np.asarray(-(np.arccosh(1 + 2 * apart / ((1 - q2) * (1 - e2))) ** 2))


# The definitions, of rows side by side; in float64 they are what every contestant is held against.
EXACT: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda q, e: (q * e).sum(-1),
    "cosine": lambda q, e: (q * e).sum(-1) / np.sqrt((q**2).sum(-1) * (e**2).sum(-1)),
    "l1": lambda q, e: -np.abs(q - e).sum(-1),
    "l2": lambda q, e: -np.sqrt(((q - e) ** 2).sum(-1)),
    "sql2": lambda q, e: -((q - e) ** 2).sum(-1),
    "complex_l1": lambda q, e: -np.abs(_complex(q - e)).sum(-1),
    "poincare": _hyperbolic,
}


def check_scores(
    said: Array, vectors: EmbeddingProblem, similarity: str, tells: str = "scores"
) -> None:
    """Hold some scores of a matrix against the definition in float64; distances have no sign."""
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, np.array(said.shape)[:, None], (2, PAIRS))
    pairs = vectors.queries[rows], vectors.entities[columns]
    exact = EXACT[similarity](*(part.astype(np.float64) for part in pairs))
    require_memory = CLOSE * float(np.abs(exact).max())
    found = said[rows, columns] * (-1 if tells == "distances" else 1)
    np.testing.assert_allclose(found, exact, rtol=0, atol=require_memory, err_msg=similarity)


def check_top_k(said: NDArray[np.int64], vectors: EmbeddingProblem) -> None:
    """Hold the best candidates of some queries, by dot, against a sort of float64 scores."""
    queries = vectors.queries[:PAIRS:20].astype(np.float64)
    scores = queries @ vectors.entities.astype(np.float64).T
    best = -np.sort(-scores, axis=1)[:, : said.shape[1]]
    found = np.take_along_axis(scores, said[:PAIRS:20], axis=1)
    require_memory = CLOSE * float(np.abs(best).max())
    np.testing.assert_allclose(found, best, rtol=0, atol=require_memory)


# -- numpy and scipy -------------------------------------------------------------------------------


def _limit(threads: int) -> Callable[[], Any]:
    """What makes numpy's matrix product take that many threads, for a while."""
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")
    return lambda: blas.limit(limits=threads)


def _matrix(vectors: EmbeddingProblem) -> Array:
    """Room for all scores, made and touched before the clock starts."""
    return np.zeros((len(vectors.queries), len(vectors.entities)), vectors.entities.dtype)


def _product(vectors: EmbeddingProblem) -> Callable[[], Array]:
    """The scores alone, into a matrix that is there already."""
    limited, scores = _limit(vectors.threads), _matrix(vectors)

    def multiply() -> Array:
        with limited():
            return np.matmul(vectors.queries, vectors.entities.T, out=scores)

    return multiply


def _normalised(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _cosines(vectors: EmbeddingProblem) -> Callable[[], Array]:
    """Each row divided by its norm, then their product."""
    limited, scores = _limit(vectors.threads), _matrix(vectors)

    def multiply() -> Array:
        with limited():
            normal = _normalised(vectors.queries), _normalised(vectors.entities).T
            return np.matmul(*normal, out=scores)

    return multiply


def _counted(vectors: EmbeddingProblem) -> Callable[[], Counts]:
    """Product and counts, a batch of queries after the other: what users write by hand."""
    limited = _limit(vectors.threads)
    scores = _matrix(vectors.first(BATCH))

    def counts() -> Counts:
        above, tied = np.empty((2, len(vectors.queries)), np.int64)
        with limited():
            for start in range(0, len(vectors.queries), BATCH):
                part = slice(start, start + BATCH)
                queries = vectors.queries[part]
                made = np.matmul(queries, vectors.entities.T, out=scores[: len(queries)])
                above[part], tied[part] = numpy_by_row(made, vectors.targets[part])
        return above, tied

    return counts


def _cdist(metric: str) -> Callable[[EmbeddingProblem], Callable[[], Array]]:
    """scipy's distances: float64, whatever it is given, and one thread."""

    def make(vectors: EmbeddingProblem) -> Callable[[], Array]:
        from scipy.spatial.distance import cdist

        return lambda: np.asarray(cdist(vectors.queries, vectors.entities, metric))

    return make


def _partitioned(k: int) -> Callable[[EmbeddingProblem], Callable[[], NDArray[np.int64]]]:
    """Product, argpartition, and a sort of the k that are left."""

    def make(vectors: EmbeddingProblem) -> Callable[[], NDArray[np.int64]]:
        limited = _limit(vectors.threads)

        def best() -> NDArray[np.int64]:
            found = np.empty((len(vectors.queries), k), np.int64)
            with limited():
                for start in range(0, len(vectors.queries), BATCH):
                    part = slice(start, start + BATCH)
                    scores = -(vectors.queries[part] @ vectors.entities.T)
                    ids = np.argpartition(scores, k - 1, axis=1)[:, :k]
                    order = np.argsort(np.take_along_axis(scores, ids, axis=1), axis=1)
                    found[part] = np.take_along_axis(ids, order, axis=1)
            return found

        return best

    return make


# -- torch -----------------------------------------------------------------------------------------


def _tensors(vectors: EmbeddingProblem) -> tuple[Any, Any]:
    """Queries and entities as torch sees them; torch takes our number of threads."""
    import torch

    torch.set_num_threads(vectors.threads)
    return torch.from_numpy(vectors.queries), torch.from_numpy(vectors.entities)


Expression = Callable[[Any, Any], Any]


def _in_torch(expression: Expression) -> Callable[[EmbeddingProblem], Callable[[], Array]]:
    def make(vectors: EmbeddingProblem) -> Callable[[], Array]:
        queries, entities = _tensors(vectors)
        return lambda: np.asarray(expression(queries, entities).numpy())

    return make


def _torch_product(vectors: EmbeddingProblem) -> Callable[[], Array]:
    import torch

    queries, entities = _tensors(vectors)
    scores = torch.from_numpy(_matrix(vectors))
    return lambda: np.asarray(torch.mm(queries, entities.T, out=scores).numpy())


def _distances(**options: Any) -> Expression:
    def distances(queries: Any, entities: Any) -> Any:
        import torch

        return torch.cdist(queries, entities, **options)

    return distances


def _moduli(queries: Any, entities: Any) -> Any:
    """RotatE's: the sum of the moduli of complex differences, query by query to spare memory."""
    import torch

    wide, narrow = (
        torch.view_as_complex(rows.view(len(rows), -1, 2)) for rows in (queries, entities)
    )
    norm = torch.linalg.vector_norm
    return torch.stack([norm(query - narrow, ord=1, dim=1) for query in wide])


def _torch_best(k: int) -> Callable[[EmbeddingProblem], Callable[[], NDArray[np.int64]]]:
    def make(vectors: EmbeddingProblem) -> Callable[[], NDArray[np.int64]]:
        import torch

        queries, entities = _tensors(vectors)

        def best() -> NDArray[np.int64]:
            found = np.empty((len(queries), k), np.int64)
            for start in range(0, len(queries), BATCH):
                part = slice(start, start + BATCH)
                found[part] = torch.mm(queries[part], entities.T).topk(k, dim=1).indices.numpy()
            return found

        return best

    return make


_BLAS, _TORCH, _SCIPY = ("threadpoolctl",), ("torch",), ("scipy",)

# All scores, by similarity, as fast as it goes.
SCORING: dict[str, Peers] = {
    "dot": {
        "numpy, matrix product": Peer(_BLAS, _product, "scores"),
        "numpy, product, > and ==": Peer(_BLAS, _counted, "counts of other scores"),
        "torch, matrix product": Peer(_TORCH, _torch_product, "scores"),
    },
    "cosine": {"numpy, normalised product": Peer(_BLAS, _cosines, "scores")},
    "l2": {
        "torch.cdist, by a product": Peer(
            _TORCH, _in_torch(_distances(compute_mode="use_mm_for_euclid_dist")), "distances"
        )
    },
}
# The same of fewer queries: a minute is enough.
SLOW: dict[str, Peers] = {
    "l1": {
        "torch.cdist, p=1": Peer(_TORCH, _in_torch(_distances(p=1.0)), "distances"),
        "scipy, cityblock": Peer(_SCIPY, _cdist("cityblock"), "distances"),
    },
    "l2": {
        "torch.cdist, by differences": Peer(
            _TORCH,
            _in_torch(_distances(compute_mode="donot_use_mm_for_euclid_dist")),
            "distances",
        ),
        "scipy, euclidean": Peer(_SCIPY, _cdist("euclidean"), "distances"),
    },
    "sql2": {"scipy, sqeuclidean": Peer(_SCIPY, _cdist("sqeuclidean"), "distances")},
    "complex_l1": {"torch, moduli": Peer(_TORCH, _in_torch(_moduli), "distances")},
}


def top_k_peers(k: int) -> Peers:
    """The k best candidates by dot."""
    return {
        "numpy, product, argpartition": Peer(_BLAS, _partitioned(k), "best"),
        "torch, product, topk": Peer(_TORCH, _torch_best(k), "best"),
    }
