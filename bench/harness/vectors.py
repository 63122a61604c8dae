"""Synthetic vectors for bounds: clustered ones, as training makes them, and hostile ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.synthetic import Shape, draw_targets

__all__ = ["HOSTILE", "VectorProblem", "draw_clustered"]

Array = NDArray[Any]
CLUSTERS = 200
# This is how far entities spread around their cluster, over how far the clusters spread.
SPREAD = 0.3
# This is how far a query is from its target, over how far the entities spread.
NOISE = 0.5


class VectorProblem(NamedTuple):
    """Arguments of `truerank.rank_embeddings`."""

    similarity: str
    queries: Array
    entities: Array
    targets: Array

    @property
    def work(self) -> int:
        """Coordinates of all pairs."""
        return len(self.queries) * self.entities.size


def draw_clustered(shape: Shape, dim: int, similarity: str, seed: int = 5) -> VectorProblem:
    """Draw entities in clusters, and queries near their targets: few candidates are about as near.

    That is what training does to vectors; of independent ones, a target lies in the bulk.
    """
    rng = np.random.default_rng(seed)

    def normal(rows: int) -> Array:
        return rng.standard_normal((rows, dim), dtype=np.float32)

    centres = normal(CLUSTERS)
    spread = np.float32(SPREAD)
    entities = centres[rng.integers(0, CLUSTERS, shape[1])] + spread * normal(shape[1])
    targets = draw_targets(shape)
    queries = entities[targets] + np.float32(NOISE) * spread * normal(shape[0])
    return VectorProblem(similarity, queries, entities, targets)


# -- hostile vectors: what a bound may not know, or cannot decide ----------------------------------

Pair = tuple[Array, Array]


def _giant(queries: Array, entities: Array) -> Pair:
    scale = np.ones(queries.shape[1], np.float32)
    scale[0] = 1e4
    return queries * scale, entities * scale


def _denormal(queries: Array, entities: Array) -> Pair:
    return queries * np.float32(1e-39), entities * np.float32(1e-39)


def _equal(queries: Array, entities: Array) -> Pair:
    return np.ones_like(queries), np.ones_like(entities)


def _few_values(queries: Array, entities: Array) -> Pair:
    return np.sign(np.trunc(queries)), np.sign(np.trunc(entities))


def _spread_norms(queries: Array, entities: Array) -> Pair:
    rng = np.random.default_rng(1)
    scales = [10 ** rng.uniform(-3, 3, (len(rows), 1)) for rows in (queries, entities)]
    return queries * scales[0].astype(np.float32), entities * scales[1].astype(np.float32)


def _three_decades(queries: Array, entities: Array) -> Pair:
    rng = np.random.default_rng(1)
    scales = 10 ** rng.uniform(-1.5, 1.5, (len(entities), 1))
    return queries, entities * scales.astype(np.float32)


def _zero_queries(share: float) -> Callable[[Array, Array], Pair]:
    def change(queries: Array, entities: Array) -> Pair:
        chosen = np.random.default_rng(1).permutation(len(queries))
        changed = queries.copy()
        changed[chosen[: round(share * len(queries))]] = 0
        return changed, entities

    return change


def _equal_entities(queries: Array, entities: Array) -> Pair:
    chosen = np.random.default_rng(1).permutation(len(entities))[: len(entities) // 20]
    changed = entities.copy()
    changed[chosen] = entities[chosen[0]]
    return queries, changed


def _twice(queries: Array, entities: Array) -> Pair:
    return queries, np.repeat(entities[: (len(entities) + 1) // 2], 2, axis=0)[: len(entities)]


def _half(queries: Array, entities: Array) -> Pair:
    return queries.astype(np.float16), entities.astype(np.float16)


def _normal(
    dim: int, change: Callable[[Array, Array], Pair] = lambda queries, entities: (queries, entities)
) -> Callable[[Shape, str], VectorProblem]:
    """Return a function that draws normal vectors and random targets, and changes the vectors."""

    def draw(shape: Shape, similarity: str) -> VectorProblem:
        rng = np.random.default_rng(5)
        pair = change(*(rng.standard_normal((n, dim), dtype=np.float32) for n in shape))
        return VectorProblem(similarity, *pair, draw_targets(shape))

    return draw


HOSTILE: dict[str, Callable[[Shape, str], VectorProblem]] = {
    "random vectors and targets, d = 64": _normal(64),
    "random vectors and targets, d = 256": _normal(256),
    "random vectors and targets, d = 4": _normal(4),
    "random vectors and targets, d = 8": _normal(8),
    "one giant component": _normal(64, _giant),
    "denormals": _normal(64, _denormal),
    "all vectors equal": _normal(64, _equal),
    "components -1, 0 and 1": _normal(64, _few_values),
    "norms from 1e-3 to 1e3": _normal(64, _spread_norms),
    "norms over three decades": _normal(64, _three_decades),
    "1.5 % of the queries zero": _normal(256, _zero_queries(0.015)),
    "5 % of the queries zero": _normal(256, _zero_queries(0.05)),
    "5 % of the entities equal": _normal(256, _equal_entities),
    "every entity twice": _normal(256, _twice),
    "half precision": _normal(256, _half),
}
