"""Scores of vectors on a device, made there by Triton where they are counted, and never stored.

Kernels take panels: some vectors side by side, in the dtype of the scores, normalised for cosine. A
panel takes 16 MB at most, and so does what it is made of.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .scans import part_of, width_of
from .source import ScoreSource, TaskRows

if TYPE_CHECKING:
    from .source import Columns, Tensor

PANEL_BYTES = 16 << 20


class Blocks(NamedTuple):
    """The numbers of vectors and pairs in a program of a kernel, and of its tiles; powers of 2."""

    queries: int = 64
    entities: int = 128  # less than 1024, which counts of a tile's row stay below
    pairs: int = 256
    turns: int = 16
    warps: int = 8


BLOCKS = Blocks()


class _Panel(NamedTuple):
    """Vectors side by side, and what belongs to them; components[k, i] is that of vector i."""

    components: Tensor
    squares: Tensor | None
    bias: Tensor | None
    means: Tensor | None

    @property
    def size(self) -> int:
        return int(self.components.shape[1])


class VectorScores(ScoreSource):
    """The scores of queries and entities on a device.

    Parameters
    ----------
    queries, entities : Tensor, shape (q, d) and (n, d)
        float16, bfloat16, float32 or float64, with any strides, on one device.
    similarity : str
        As in `rank_embeddings`.
    bias : Tensor, shape (n,), optional
    means : (Tensor, Tensor), shape (q,) and (n,), optional
        Those of CSLS. Like the bias, in the dtype of the scores.

    Notes
    -----
    Scores have the bits of `_core.score_embeddings`, on devices for which `distrust` finds nothing.
    """

    way = "triton"

    def __init__(
        self,
        queries: Tensor,
        entities: Tensor,
        similarity: str,
        bias: Tensor | None = None,
        means: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        torch = sys.modules["torch"]
        wide = torch.float64 in (queries.dtype, entities.dtype)
        self.shape = (len(queries), len(entities))
        self.dtype, self.device = "float64" if wide else "float32", entities.device
        self.queries, self.entities, self.similarity = queries, entities, similarity
        self.bias, self.means = bias, means
        self._torch_dtype = torch.float64 if wide else torch.float32

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Tensor:
        return self.entities.new_empty(shape, dtype=dtype)

    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        from .scoring_kernels import score_pairs

        out = self.empty((len(rows),), self._torch_dtype)
        for some in _cut(len(rows), self._panel_size):
            part = out[some]
            queries, entities = self._queries(rows[some]), self._entities(columns[some])
            options = {"SIMILARITY": self.similarity, "PAIRS": BLOCKS.pairs}
            score_pairs[(_programs(len(part), BLOCKS.pairs),)](
                *_vectors(queries, entities),
                part,
                len(part),
                len(queries.components),
                queries.components.stride(0),
                entities.components.stride(0),
                **options,
                enable_fp_fusion=False,
            )
        return out

    def block(self, rows: TaskRows, columns: Columns) -> Tensor:
        from .scoring_kernels import score_tiles

        count = width_of(columns)
        out = self.empty((len(rows.host), count), self._torch_dtype)
        for some in _cut(len(rows.host), self._panel_size):
            queries = self._queries(rows.device[some])
            for others in _cut(count, self._panel_size):
                entities, part = (
                    self._entities(part_of(columns, others)),
                    out[some, others],
                )
                tiles = _programs(queries.size, BLOCKS.queries) * _programs(
                    entities.size, BLOCKS.entities
                )
                score_tiles[(tiles,)](
                    *_vectors(queries, entities),
                    part,
                    *self._sizes(queries, entities),
                    part.stride(0),
                    **self._options(),
                )
        return out

    def scan(self, rows: TaskRows, true_scores: Tensor, columns: Columns) -> Tensor:
        from .scoring_kernels import count_tiles

        torch = sys.modules["torch"]
        counts = self.empty((3, len(rows.host)), torch.int64).zero_()
        distinct, first = np.unique(rows.host, return_index=True)
        query_rows = self.upload(distinct)
        ends = self.upload(np.append(first, len(rows.host)))
        count = width_of(columns)
        for some in _cut(len(distinct), self._panel_size):
            queries, first_tasks = self._queries(query_rows[some]), ends[some.start :]
            for others in _cut(count, self._panel_size):
                entities = self._entities(part_of(columns, others))
                programs = _programs(queries.size, BLOCKS.queries) * _programs(
                    entities.size, BLOCKS.entities * BLOCKS.turns
                )
                count_tiles[(programs,)](
                    *_vectors(queries, entities),
                    first_tasks,
                    true_scores,
                    *counts,
                    *self._sizes(queries, entities),
                    BLOCKS.turns,
                    **self._options(),
                )
        return counts

    def _sizes(self, queries: _Panel, entities: _Panel) -> tuple[int, ...]:
        depth, stride = len(queries.components), queries.components.stride(0)
        return queries.size, entities.size, depth, stride, entities.components.stride(0)

    def _options(self) -> dict[str, Any]:
        return {
            "SIMILARITY": self.similarity,
            "QUERIES": BLOCKS.queries,
            "ENTITIES": BLOCKS.entities,
            "num_warps": BLOCKS.warps,
            "enable_fp_fusion": False,
        }

    @property
    def _panel_size(self) -> int:
        """How many vectors a panel has at most."""
        return max(1, PANEL_BYTES // int(self.entities.shape[1] * self._torch_dtype.itemsize))

    def _queries(self, which: Tensor) -> _Panel:
        means = None if self.means is None else self.means[0][which]
        return self._panel(self.queries[which], None, means)

    def _entities(self, which: Columns) -> _Panel:
        bias = None if self.bias is None else self.bias[which]
        means = None if self.means is None else self.means[1][which]
        return self._panel(self.entities[which], bias, means)

    def _panel(self, vectors: Tensor, bias: Tensor | None, means: Tensor | None) -> _Panel:
        from .scoring_kernels import sum_squares

        size, depth = vectors.shape
        components = self.empty((depth, size), self._torch_dtype)
        components.copy_(vectors.T)
        squares = None
        if self.similarity in ("cosine", "poincare"):
            squares = self.empty((size,), sys.modules["torch"].float64)
            options = {"NORMALISE": self.similarity == "cosine", "VECTORS": BLOCKS.pairs}
            sum_squares[(_programs(size, BLOCKS.pairs),)](
                components,
                squares,
                size,
                depth,
                components.stride(0),
                **options,
                enable_fp_fusion=False,
            )
        return _Panel(components, squares, bias, means)


def _vectors(queries: _Panel, entities: _Panel) -> tuple[Any, ...]:
    """Return the arguments of kernels that score."""
    squares = queries.squares, entities.squares
    means = queries.means, entities.means
    return queries.components, entities.components, *squares, entities.bias, *means


def _cut(size: int, most: int) -> Iterator[slice]:
    for start in range(0, size, most):
        yield slice(start, min(start + most, size))


def _programs(size: int, block: int) -> int:
    return -(-size // block)


# -- one check of a device before it is used -------------------------------------------------------


@lru_cache(maxsize=256)
def distrust(device: Any, similarity: str, dtype: str) -> str:
    """Return the reason why a device cannot score vectors by Triton; empty if it can.

    Some thousands of pairs are scored there, once for each similarity and dtype, and counted. Every
    bit has to be that of the core.

    Parameters
    ----------
    device : torch.device
    similarity : str
    dtype : {"float32", "float64"}
        That of the scores.
    """
    try:
        with sys.modules["torch"].inference_mode(), np.errstate(all="ignore"):
            return _difference(device, similarity, dtype)
    except Exception as error:  # of any compiler or driver: the host can score
        return f"{type(error).__name__}: {error}"


def _difference(device: Any, similarity: str, dtype: str) -> str:
    """Say what differs from the core, for pairs with subnormal products, infinities and ties."""
    torch = sys.modules["torch"]
    rng = np.random.default_rng(0)
    queries, entities = (rng.normal(0, 0.1, (size, 18)) for size in (40, 72))
    for vectors in (queries, entities):
        vectors[:8] *= 2.0 ** {"float32": -65, "float64": -520}[dtype]
        vectors[8, ::5], vectors[9, 3] = np.inf, np.nan
    entities[10:14] = queries[10:14]
    arrays = [x.astype(dtype) for x in (queries, entities)]
    q, e = (torch.empty(x.shape, dtype=getattr(torch, dtype), device=device) for x in arrays)
    for tensor, array in zip((q, e), arrays, strict=True):
        tensor.copy_(torch.from_numpy(array))
    source = VectorScores(q, e, similarity)
    left, right = (_core.Scores(x, dtype, False) for x in arrays)
    core = _core.Embeddings(left, right, similarity)
    expected = _core.score_embeddings(core, None, None, 1)
    height, width = expected.shape
    rows = TaskRows(np.arange(height), source.arange(0, height))
    found = source.block(rows, slice(0, width)).to("cpu").numpy()
    bits = f"u{expected.itemsize}"
    is_same = (found.view(bits) == expected.view(bits)) | (np.isnan(found) & np.isnan(expected))
    if not is_same.all():
        return f"scores of {similarity} in {dtype}"
    true = source.pairs(rows.device, rows.device)
    counted = source.scan(rows, true, slice(0, width)).to("cpu").numpy()
    diagonal = expected.diagonal()[:, None]
    counts = (expected > diagonal, expected == diagonal, np.isnan(expected))
    is_right = (counted == np.stack([x.sum(axis=1) for x in counts])).all()
    return "" if is_right else f"counts of {similarity} in {dtype}"
