"""Counting vectors on a device by bounds: most pairs are decided by products of half precision.

What these leave open is scored by the chain of multiply-adds that defines its score, so that counts
are the same. The bounds, and their proof, are in `docs/contributing/device-bounds.md`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..arrays.row_keys import codes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays.types import IntArray
    from .score_sources import Tensor
    from .vector_scores import Panel, Vectors, VectorScores

# The tile of plain products, warps, stages and words are those of a prototype, tried on an H100.
TILE = (128, 128)
SMALL_TILE = (128, 64)  # where values have offsets or queries many tasks: no register is spilled
WARPS = 4
STAGES = 3
OPEN_TILE = (1, 256)  # rows and words of 32 candidates, whose open pairs a program scores
VECTORS = 64  # whose levels a program makes
MOST_VECTORS = 1 << 15  # of a panel, so that the bits of all pairs of two take 128 MB at most
MOST_REPEATED = 3  # tasks of a query, on average, for each of which it has a row
TRIAL = (128, 1024)  # tasks and candidates of which the share of open pairs is found: one panel
DEPTHS = range(16, 4097)  # of vectors for which there are bounds
ADDENDS = 4  # that a tensor unit adds at a time: the fewest of any whose sums were studied
# Which share of a vector's norm its residue is, typically: others reach farther than they need.
RESIDUE = 0.45 * 2.0**-11
# The similarities of which there are bounds. The value of one is the product times a slope; that of
# a distance is less by both squares, and "l2" is its root.
DISTANCES = ("sql2", "l2")
BOUNDED = ("dot", "cosine", *DISTANCES)


@dataclass(frozen=True)
class Levels:
    """Vectors by rows, padded, with their levels; and a step, and reach and offset of each.

    See `make_levels` in `scoring_kernels.py`.
    """

    components: Tensor
    levels: Tensor
    step: Tensor
    reaches: Tensor
    offsets: Tensor | None
    bias: Tensor | None
    means: Tensor | None


class _Tasks(NamedTuple):
    """Tasks of rows: row i has those from first[i] to first[i + 1], one if there are no layers."""

    first: Tensor
    true_scores: Tensor
    has_layers: bool


def has_bounds(source: VectorScores) -> bool:
    """Whether there are bounds for scores of vectors, and they may be used."""
    _, bias, means = source.entities
    is_distance = source.similarity in DISTANCES
    return (
        source.similarity in BOUNDED
        and _core.bounds() != "off"
        and source.dtype.itemsize == 4
        and source.depth in DEPTHS
        and (bias is None) + (means is None) >= (2 if is_distance else 1)
    )


class BoundedScan:
    """Counts of vectors on a device, by the scores of those pairs alone that bounds leave open.

    Parameters
    ----------
    source : VectorScores
        For which `has_bounds` says so.
    most_repeated : int
        A query with more tasks than this, on average, is compared with all of them at once; else it
        is repeated for each.
    """

    def __init__(self, source: VectorScores, most_repeated: int = MOST_REPEATED) -> None:
        self._source = source
        self._most_repeated = most_repeated
        self._is_distance = source.similarity in DISTANCES
        self._slope = 2 if self._is_distance else 1
        if source.entities[2] is not None:  # means are taken off twice the score
            self._slope *= 2

    def counts(self, rows: IntArray, true_scores: Tensor, columns: Tensor) -> Tensor:
        """Count as `ScoreSource.scan` does."""
        source = self._source
        codes = codes_of(rows)
        numbers = rows
        starts = np.arange(len(rows) + 1)
        has_layers = len(rows) > self._most_repeated * len(codes.distinct)
        if has_layers:
            numbers = codes.distinct
            starts = np.append(codes.first(), len(rows))
        first = source.upload(starts)
        counts = source.zeros(3, len(rows))
        entity_step = self._step(source.entities, columns)
        for some, queries in self._panels(source.queries, source.upload(numbers)):
            tasks = _Tasks(first[some.start :], true_scores, has_layers)
            for _, entities in self._panels(source.entities, columns, entity_step):
                words = self._bound(queries, entities, tasks, counts)
                self._score_open(queries, entities, tasks, counts, words)
        return counts

    def share_open(self, rows: IntArray, true_scores: Tensor, columns: Tensor) -> float:
        """Wait for the device, and return what share of some pairs of a scan bounds leave open."""
        source = self._source
        tasks = source.upload(_spread(len(rows), TRIAL[0]))
        places = source.upload(_spread(len(columns), TRIAL[1]))
        _, queries = next(self._panels(source.queries, source.upload(rows)[tasks]))
        _, entities = next(self._panels(source.entities, columns[places]))
        one_each = _Tasks(source.arange(0, len(tasks) + 1), true_scores[tasks], False)
        words = self._bound(queries, entities, one_each, source.zeros(3, len(tasks)))
        bits = (words[..., None] >> source.arange(0, 32)) & 1
        return float(bits.sum()) / max(1, len(queries.levels) * len(entities.levels))

    def _step(self, vectors: Vectors, numbers: Tensor) -> Tensor:
        """Return a power of two, so that most vectors have a greatest level of 2^8 or more."""
        torch = sys.modules["torch"]
        some = numbers[self._source.upload(_spread(len(numbers), TRIAL[1]))]
        _, panel = next(self._source.panels(vectors, some))
        largest = panel[0].abs().amax(0).nan_to_num(nan=0, posinf=0).median()
        exponent = largest.clamp(2.0**-32, 2.0**48).reshape(1).view(torch.int32) & 0x7F800000
        return exponent.view(torch.float32) * 2.0**-8

    def _panels(
        self, vectors: Vectors, numbers: Tensor, step: Tensor | None = None
    ) -> Iterator[tuple[slice, Levels]]:
        """Yield some places at a time, and the levels of the vectors that have these numbers."""
        if step is None:
            step = self._step(vectors, numbers)
        for some, panel in self._source.panels(vectors, numbers, MOST_VECTORS):
            yield some, self._levels(panel, step, vectors is self._source.queries)

    def _levels(self, panel: Panel, step: Tensor, is_query: bool) -> Levels:
        from . import scoring_kernels as kernels

        source = self._source
        torch = sys.modules["torch"]
        components, _, bias, means = panel
        depth, size = components.shape
        padded = -(-depth // kernels.STEP) * kernels.STEP
        by_rows = source.empty((size, padded), torch.float32)
        levels = source.empty((size, padded), torch.float16)
        reaches = source.empty((size,), torch.float32)
        squares = source.empty((size,), torch.float32)
        share = error_of_products(depth) + error_of_chain(depth) + 2.0**-20
        kernels.make_levels[-(-size // VECTORS),](
            components,
            step,
            by_rows,
            levels,
            reaches,
            squares,
            size,
            depth,
            padded,
            share,
            RESIDUE + share,
            IS_QUERY=is_query,
            STEP=kernels.STEP,
            VECTORS=VECTORS,
            enable_fp_fusion=False,
        )
        offsets = -squares if self._is_distance else bias
        if means is not None:
            offsets = -means
        if offsets is not None:  # infinite ones leave all pairs open
            offsets = offsets.masked_fill(offsets.abs() > 2.0**100, float("inf"))
        return Levels(by_rows, levels, step, reaches, offsets, bias, means)

    def _bound(self, queries: Levels, entities: Levels, tasks: _Tasks, counts: Tensor) -> Tensor:
        """Count the pairs that are certainly above; return the bits of open ones, by rows."""
        from . import scoring_kernels as kernels

        rows = len(queries.levels)
        columns, padded = entities.levels.shape
        is_plain = entities.offsets is None and not tasks.has_layers
        height, width = TILE if is_plain else SMALL_TILE
        across = -(-columns // width) * width // 32
        words = self._source.empty((rows, across), sys.modules["torch"].int32)
        share_of_offsets = 2.0**-21
        if self._is_distance:
            share_of_offsets += 2 * error_of_chain(self._source.depth + 3)
        thresholds = thresholds_of(tasks.true_scores, self._source.similarity)
        kernels.bound_scores[-(-rows // height) * -(-columns // width),](
            queries.levels,
            entities.levels,
            queries.step,
            entities.step,
            queries.reaches,
            entities.reaches,
            queries.offsets,
            entities.offsets,
            tasks.first,
            *thresholds,
            counts,
            words,
            rows,
            columns,
            padded,
            across,
            self._slope,
            share_of_offsets,
            HAS_LAYERS=tasks.has_layers,
            ROWS=height,
            COLUMNS=width,
            STEP=kernels.STEP,
            num_warps=WARPS,
            num_stages=STAGES,
            enable_fp_fusion=False,
        )
        return words

    def _score_open(
        self, queries: Levels, entities: Levels, tasks: _Tasks, counts: Tensor, words: Tensor
    ) -> None:
        from . import scoring_kernels as kernels

        rows, across = words.shape
        height, width = OPEN_TILE
        kernels.score_open_pairs[-(-rows // height), -(-across // width)](
            queries.components,
            entities.components,
            entities.bias,
            queries.means,
            entities.means,
            tasks.first,
            tasks.true_scores,
            counts,
            words,
            rows,
            self._source.depth,
            queries.components.shape[1],
            across,
            counts.shape[1],
            SIMILARITY=self._source.similarity,
            ROWS=height,
            WORDS=width,
            num_warps=WARPS,
            enable_fp_fusion=False,
        )


def _spread(size: int, most: int) -> IntArray:
    """Return some places among as many, at equal distances."""
    return np.linspace(0, size - 1, min(size, most)).astype(np.int64)


def thresholds_of(true_scores: Tensor, similarity: str) -> tuple[Tensor, Tensor | None]:
    """Return the values that true scores are compared as, and how far off these may be.

    A distance is greater than r if its square is greater than that of r by 2^-20 of it.
    """
    if similarity != "l2":
        return true_scores, None
    wide = true_scores.double()
    squares = (wide * wide).clamp(max=2.0**126)
    thresholds = (-squares).masked_fill(wide > 0, float("inf"))
    return thresholds.float(), (squares * 2.0**-20).float()


def error_of_products(depth: int) -> float:
    """Return what share of all magnitudes a tensor unit's sum of products is wrong by at most."""
    share = (depth + 2 * -(-depth // ADDENDS)) * 2.0**-23
    return share / (1 - share)


def error_of_chain(roundings: int) -> float:
    """Return what share of all magnitudes a chain in float32 is wrong by at most."""
    share = roundings * 2.0**-24
    return share / (1 - share)


def adversaries() -> tuple[Any, Any]:
    """Return levels whose sums of products lose as much as an aligning unit can lose.

    A large product beside which many small ones fall off, at all places of the last bit that a unit
    may have; sums that grow by each; large products of both signs with small ones between.
    """
    rng = np.random.default_rng(0)
    depth = 1024
    rows = []
    for exponent, factor in product(range(8, 14), (1, 2)):
        small = np.full(depth, (2 - 2.0**-10) * 2.0**-exponent)
        for places in ([0], [depth - 1], [0, depth - 1], [3, 500]):
            left = small.copy()
            right = small * factor
            left[places] = 1
            right[places] = 1
            rows.append((left, right))
            right = right.copy()
            right[places[-1]] = -1
            rows.append((left, right))
        rows.append((-small, small))
    for _ in range(20):
        some = rng.standard_normal(depth) * 2.0 ** rng.integers(-6, 7, depth)
        rows.append((some, np.abs(some)))
    left, right = (np.stack(side) * 2.0**7 for side in zip(*rows, strict=True))
    return left.astype(np.float16), right.astype(np.float16)


@lru_cache(maxsize=64)
def products_hold(device: Any) -> bool:
    """Whether a device sums the products of adversaries within the error that bounds have for it.

    Parameters
    ----------
    device : torch.device
    """
    from . import scoring_kernels as kernels

    torch = sys.modules["torch"]
    left, right = adversaries()
    rows, depth = left.shape
    height, width = TILE
    out = torch.empty((rows, rows), dtype=torch.float32, device=device)
    kernels.store_products[-(-rows // height) * -(-rows // width),](
        torch.from_numpy(left).to(device),
        torch.from_numpy(right).to(device),
        out,
        rows,
        rows,
        depth,
        ROWS=height,
        COLUMNS=width,
        STEP=kernels.STEP,
        num_warps=WARPS,
        num_stages=STAGES,
        enable_fp_fusion=False,
    )
    exact = left.astype(np.float64) @ right.astype(np.float64).T
    magnitudes = np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64)).T
    errors = np.abs(out.cpu().numpy() - exact)
    return bool((errors <= error_of_products(depth) * magnitudes).all())
