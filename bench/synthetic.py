"""Synthetic scores: one pool of uniform float32 that every case cuts its matrices from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "FULL",
    "QUICK",
    "Pool",
    "Shape",
    "Sizes",
    "draw_filter",
    "draw_targets",
    "draw_triples",
    "draw_vectors",
    "memory_left",
]

Shape = tuple[int, int]
BLOCK = 1 << 22  # scores drawn, cast or copied at once by a thread


@dataclass(frozen=True)
class Sizes:
    """Shapes (rows, columns) of the matrices, and how often to run each contestant."""

    many: Shape  # a test set against the entities of a knowledge graph
    few: Shape  # a batch against a very large vocabulary
    tall: Shape
    square: Shape
    wide: Shape
    wider: Shape
    row: Shape
    shared: Shape  # rows that several tasks read
    sorted: Shape  # what peers sort
    negatives: Shape  # sampled candidates of each task
    vectors: Shape  # queries and entities, compared without a matrix of scores
    aligned: Shape  # entities of two knowledge graphs
    triples: int  # of a knowledge graph
    sweep: int  # scores in all, of matrices from tall to wide
    file: Shape
    mapped: tuple[Shape, ...]  # files whose ranking is watched for memory: as many tasks in each
    per_row: tuple[int, ...]  # filtered candidates of each task
    blocks: tuple[int, ...]  # columns of a block of candidates
    samples: int  # of peers that have no formula
    rounds: int
    budget: float  # seconds after which a slow contestant sits out
    starts: int  # interpreters started for each import
    quick: bool = False

    @property
    def pool(self) -> int:
        """Scores in the largest matrix."""
        return max(math.prod(s) for s in (self.many, self.few, self.wider, self.tall))


FULL = Sizes(
    many=(20_000, 15_000),
    few=(100, 10_000_000),
    tall=(1_000_000, 100),
    square=(10_000, 10_000),
    wide=(10, 10_000_000),
    wider=(10, 100_000_000),
    row=(1, 100_000_000),
    shared=(2_000, 15_000),
    sorted=(1_000, 15_000),
    negatives=(200_000, 500),
    vectors=(4_096, 40_943),
    aligned=(15_000, 15_000),
    triples=2_000_000,
    sweep=100_000_000,
    file=(25_000, 10_000),
    mapped=((25_000, 10_000), (25_000, 40_000)),
    per_row=(10, 30, 100, 300, 1_000, 3_000, 7_500),
    blocks=(100, 1_000, 5_000, 15_000),
    samples=1_000,
    rounds=15,
    budget=8.0,
    starts=40,
)
QUICK = Sizes(
    many=(4_000, 15_000),
    few=(100, 600_000),
    tall=(600_000, 100),
    square=(7_500, 7_500),
    wide=(10, 6_000_000),
    wider=(4, 15_000_000),
    row=(1, 60_000_000),
    shared=(2_000, 15_000),
    sorted=(100, 15_000),
    negatives=(20_000, 500),
    vectors=(96, 2_000),
    aligned=(400, 500),
    triples=50_000,
    sweep=10_000_000,
    file=(5_000, 10_000),
    mapped=((5_000, 10_000),),
    per_row=(30, 300, 3_000),
    blocks=(100, 15_000),
    samples=200,
    rounds=7,
    budget=0.6,
    starts=10,
    quick=True,
)


class Pool:
    """A flat array of uniform scores in [0, 1), drawn as far as a case needs it.

    Matrices are views of its start, so that 4 GB serve every shape; a cast makes a new array,
    which its case drops at its end.
    """

    def __init__(self, size: int, threads: int, seed: int = 2024) -> None:
        self._flat: NDArray[np.float32] = np.empty(size, np.float32)
        self._drawn = 0
        self._threads = threads
        self._seed = seed

    def _each(self, starts: Iterable[int], do: Any) -> None:
        with ThreadPoolExecutor(self._threads) as threads:
            for _ in threads.map(do, starts):
                pass

    def matrix(self, shape: Shape) -> NDArray[np.float32]:
        """The pool's first scores as a float32 matrix in C order (a view)."""
        size = math.prod(shape)

        def draw(start: int) -> None:
            block = self._flat[start : start + BLOCK]
            np.random.default_rng((self._seed, start)).random(dtype=np.float32, out=block)

        if self._drawn < size:
            starts = range(self._drawn, size, BLOCK)
            self._each(starts, draw)
            self._drawn = min(starts[-1] + BLOCK, len(self._flat))
        return self._flat[:size].reshape(shape)

    def cast(self, shape: Shape, dtype: DTypeLike) -> NDArray[Any]:
        """The same matrix in another dtype; for integers spread over the dtype's range."""
        source = self.matrix(shape).reshape(-1)
        flat: NDArray[Any] = np.empty(source.size, dtype)
        spread = np.iinfo(flat.dtype) if np.issubdtype(flat.dtype, np.integer) else None

        def convert(start: int) -> None:
            block = source[start : start + BLOCK]
            if spread is not None:
                block = block * (float(spread.max) - spread.min) + spread.min
            flat[start : start + BLOCK] = block.astype(flat.dtype)

        self._each(range(0, source.size, BLOCK), convert)
        return flat.reshape(shape)

    def fortran(self, shape: Shape) -> NDArray[np.float32]:
        """The same matrix in Fortran order, copied tile by tile."""
        source = self.matrix(shape)
        turned: NDArray[np.float32] = np.empty(shape[::-1], np.float32)
        tile = 512

        def turn(start: int) -> None:
            for at in range(0, shape[1], tile):
                part = source[start : start + tile, at : at + tile]
                turned[at : at + tile, start : start + tile] = part.T

        self._each(range(0, shape[0], tile), turn)
        return turned.T


def draw_targets(shape: Shape, tasks: int | None = None, seed: int = 7) -> NDArray[np.int64]:
    """A target column for each task; one task for each row where `tasks` is not given."""
    count = shape[0] if tasks is None else tasks
    return np.random.default_rng(seed).integers(0, shape[1], count, dtype=np.int64)


def draw_filter(
    shape: Shape, entries: int, dtype: DTypeLike, seed: int = 11
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """`entries` distinct sorted columns for each row, as `(indptr, indices)`."""
    stride = shape[1] // entries
    offsets = np.random.default_rng(seed).integers(0, stride, (shape[0], entries))
    columns = np.arange(entries) * stride + offsets
    indptr = np.arange(shape[0] + 1, dtype=np.int64) * entries
    return indptr, columns.reshape(-1).astype(dtype)


def draw_vectors(
    shape: Shape, dim: int, seed: int = 5
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Queries and entities, normal and float32, all of them inside of the unit ball."""
    rng = np.random.default_rng(seed)
    scale = np.float32(0.5 / math.sqrt(dim))
    queries, entities = (rng.standard_normal((n, dim), dtype=np.float32) * scale for n in shape)
    return queries, entities


def draw_triples(count: int, entities: int, relations: int, seed: int = 3) -> NDArray[np.int64]:
    """Distinct triples (head, relation, tail) in random order; few entities are in many of them.

    The share of the k-th entity, or relation, falls with a power of k. That of FB15k-237's size
    has degrees about like those of FB15k-237: 43 in the mean, some thousands at most.
    """
    rng = np.random.default_rng(seed)

    def skewed(size: int, power: float) -> NDArray[np.int64]:
        shares = np.cumsum((np.arange(size) + 5.0) ** -power)
        drawn = np.searchsorted(shares, rng.random(count + count // 2) * shares[-1])
        return np.asarray(rng.permutation(size)[drawn], np.int64)

    found = np.empty((0, 3), np.int64)
    while len(found) < count:
        columns = skewed(entities, 0.6), skewed(relations, 1.0), skewed(entities, 0.95)
        keys = (columns[0] * relations + columns[1]) * entities + columns[2]
        keys = np.unique(np.concatenate([_keys_of(found, entities, relations), keys]))
        found = np.stack(
            [keys // entities // relations, keys // entities % relations, keys % entities], axis=1
        )
    return found[rng.permutation(len(found))[:count]]


def _keys_of(triples: NDArray[np.int64], entities: int, relations: int) -> NDArray[np.int64]:
    head, relation, tail = triples.T
    return (head * relations + relation) * entities + tail


def memory_left() -> int | None:
    """Bytes of memory to be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024
