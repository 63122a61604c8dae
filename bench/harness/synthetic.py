"""Synthetic data: the pool of scores that cases cut their matrices from, and what goes with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "FULL",
    "QUICK",
    "Pool",
    "Shape",
    "Sizes",
    "draw_embeddings",
    "draw_filter",
    "draw_targets",
    "draw_triples",
]

Shape = tuple[int, int]
CHUNK = 1 << 22  # A thread draws or casts so many scores at once.


@dataclass(frozen=True)
class Sizes:
    """Shapes (rows, columns) of the matrices, and how often to run each contestant."""

    many: Shape = (20_000, 15_000)  # It is a test set against the entities of a knowledge graph.
    medium: Shape = (200_000, 2_000)  # Its rows have two pages.
    narrow: Shape = (1_000_000, 300)  # Its rows are shorter than a page.
    few: Shape = (100, 10_000_000)  # It is a batch against a very large vocabulary.
    tall: Shape = (1_000_000, 100)
    square: Shape = (10_000, 10_000)
    wide: Shape = (10, 10_000_000)
    wider: Shape = (10, 100_000_000)
    row: Shape = (1, 100_000_000)
    shared: Shape = (2_000, 15_000)  # Several tasks read each row.
    sorted: Shape = (1_000, 15_000)  # It is small enough for peers that sort.
    negatives: Shape = (200_000, 500)  # They are sampled candidates of each task.
    embeddings: Shape = (4_096, 40_943)  # They are queries and entities.
    alignment: Shape = (15_000, 15_000)  # They are the entities of two knowledge graphs.
    lists: Shape = (1_000, 1_000)  # They are queries and the documents that each of them lists.
    triples: int = 2_000_000  # They are those of a knowledge graph.
    sweep: int = 100_000_000  # Each matrix has so many scores, from a tall one to a wide one.
    file: Shape = (25_000, 10_000)
    rounds: int = 15
    budget: float = 8.0  # After so many seconds a slow contestant is no longer run.
    import_rounds: int = 40  # So many interpreters are started for each import.
    quick: bool = False

    @property
    def pool(self) -> int:
        """The number of scores in the largest matrix."""
        return max(math.prod(s) for s in (self.many, self.medium, self.few, self.wider, self.tall))


FULL = Sizes()
QUICK = Sizes(
    many=(4_000, 15_000),
    medium=(30_000, 2_000),
    narrow=(200_000, 300),
    few=(100, 600_000),
    tall=(600_000, 100),
    square=(7_500, 7_500),
    wide=(10, 6_000_000),
    wider=(4, 15_000_000),
    row=(1, 60_000_000),
    shared=(2_000, 15_000),
    sorted=(100, 15_000),
    negatives=(20_000, 500),
    embeddings=(96, 2_000),
    alignment=(400, 500),
    lists=(100, 200),
    triples=50_000,
    sweep=10_000_000,
    file=(5_000, 10_000),
    rounds=7,
    budget=0.6,
    import_rounds=10,
    quick=True,
)


class Pool:
    """A flat array of uniform float32 scores in [0, 1), drawn as far as a case needs them.

    Matrices are views of its start, so that 4 GB serve every shape. A cast makes a new array, which
    is freed at the end of its case.
    """

    def __init__(self, size: int, threads: int, seed: int = 2024) -> None:
        self._flat: NDArray[np.float32] = np.empty(size, np.float32)
        self._drawn = 0
        self._threads = threads
        self._seed = seed

    def _run(self, function: Callable[[int], None], starts: Iterable[int]) -> None:
        """Call the function with every start, in several threads."""
        with ThreadPoolExecutor(self._threads) as threads:
            for _ in threads.map(function, starts):
                pass

    def matrix(self, shape: Shape) -> NDArray[np.float32]:
        """Return the pool's first scores as a float32 matrix in C order (a view)."""
        size = math.prod(shape)

        def draw(start: int) -> None:
            chunk = self._flat[start : start + CHUNK]
            np.random.default_rng((self._seed, start)).random(dtype=np.float32, out=chunk)

        if self._drawn < size:
            starts = range(self._drawn, size, CHUNK)
            self._run(draw, starts)
            self._drawn = min(starts[-1] + CHUNK, len(self._flat))
        return self._flat[:size].reshape(shape)

    def cast(self, shape: Shape, dtype: DTypeLike) -> NDArray[Any]:
        """Return the same matrix in another dtype; integers are spread over the dtype's range."""
        source = self.matrix(shape).reshape(-1)
        flat: NDArray[Any] = np.empty(source.size, dtype)
        limits = None
        if np.issubdtype(flat.dtype, np.integer):
            limits = np.iinfo(flat.dtype)

        def convert(start: int) -> None:
            chunk = source[start : start + CHUNK]
            if limits is not None:
                chunk = chunk * (float(limits.max) - limits.min) + limits.min
            flat[start : start + CHUNK] = chunk.astype(flat.dtype)

        self._run(convert, range(0, source.size, CHUNK))
        return flat.reshape(shape)

    def fortran(self, shape: Shape) -> NDArray[np.float32]:
        """Return the same matrix in Fortran order, copied square by square for the caches."""
        source = self.matrix(shape)
        transposed: NDArray[np.float32] = np.empty(shape[::-1], np.float32)
        side = 512

        def transpose(start: int) -> None:
            for at in range(0, shape[1], side):
                square = source[start : start + side, at : at + side]
                transposed[at : at + side, start : start + side] = square.T

        self._run(transpose, range(0, shape[0], side))
        return transposed.T


def draw_targets(shape: Shape, tasks: int | None = None, seed: int = 7) -> NDArray[np.int64]:
    """Draw a target column for each task; one task for each row where `tasks` is not given."""
    if tasks is None:
        tasks = shape[0]
    return np.random.default_rng(seed).integers(0, shape[1], tasks, dtype=np.int64)


def draw_filter(
    shape: Shape, entries: int, dtype: DTypeLike, seed: int = 11
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Draw `entries` distinct sorted columns for each row, as `(indptr, indices)`."""
    stride = shape[1] // entries
    offsets = np.random.default_rng(seed).integers(0, stride, (shape[0], entries))
    columns = np.arange(entries) * stride + offsets
    indptr = np.arange(shape[0] + 1, dtype=np.int64) * entries
    return indptr, columns.reshape(-1).astype(dtype)


def draw_embeddings(
    shape: Shape, dim: int, seed: int = 5
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Draw queries and entities, normal and float32, all of them inside the unit ball."""
    rng = np.random.default_rng(seed)
    scale = np.float32(0.5 / math.sqrt(dim))
    queries, entities = (rng.standard_normal((n, dim), dtype=np.float32) * scale for n in shape)
    return queries, entities


def draw_triples(count: int, entities: int, relations: int, seed: int = 3) -> NDArray[np.int64]:
    """Draw distinct triples (head, relation, tail) in random order; few entities are in many.

    The share of the k-th entity, or relation, falls with a power of k. A graph of FB15k-237's size
    has about the degrees of FB15k-237: a mean of 43, and some thousands at most.
    """
    rng = np.random.default_rng(seed)

    def skewed(size: int, power: float) -> NDArray[np.int64]:
        shares = np.cumsum((np.arange(size) + 5.0) ** -power)
        ids = np.searchsorted(shares, rng.random(count + count // 2) * shares[-1])
        return np.asarray(rng.permutation(size)[ids], np.int64)

    triples = np.empty((0, 3), np.int64)
    while len(triples) < count:
        columns = skewed(entities, 0.6), skewed(relations, 1.0), skewed(entities, 0.95)
        keys = (columns[0] * relations + columns[1]) * entities + columns[2]
        before = (triples[:, 0] * relations + triples[:, 1]) * entities + triples[:, 2]
        keys = np.unique(np.concatenate([before, keys]))
        triples = np.stack(
            [keys // entities // relations, keys // entities % relations, keys % entities], axis=1
        )
    return triples[rng.permutation(len(triples))[:count]]
