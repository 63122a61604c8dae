"""Scores of vectors on a device, made there by Triton where they are counted, and never stored.

Kernels take panels: some vectors side by side, in the dtype of the scores, normalised for cosine. A
panel takes 16 MB at most, and so does what it is made of.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._core import Scores
from ..arrays.row_keys import codes_of
from ..stores.on_device import DeviceStore, DeviceStream
from .score_sources import ScoreSource

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from .score_sources import Tensor

    _Vectors = tuple[Tensor, Tensor, Tensor]  # with their bias and means
    # vectors side by side, components[k, i] of vector i, with their squares, bias and means
    _Panel = tuple[Tensor, Tensor, Tensor, Tensor]

PANEL_BYTES = 16 << 20
# Queries and entities of a program's tile, and its warps: so few that no register is spilled, also
# for "poincare", which is computed in float64.
TILE = (16, 128)
SMALL_TILE = (16, 32)
WARPS = 4
VECTORS = 256  # whose squares a program sums up


class VectorScores(ScoreSource):
    """The scores of queries and entities on a device.

    Parameters
    ----------
    queries, entities : Tensor, shape (q, d) and (n, d), or (q, d / 2, 2) and (n, d / 2, 2)
        Real numbers, or the parts of complex ones, as `in_parts` gives them.
        float16, bfloat16, float32 or float64, with any strides, on one device.
    similarity : str
        As in `rank_embeddings`.
    stream : DeviceStream
    bias : ndarray, shape (n,), optional
    means : (ndarray, ndarray), shape (q,) and (n,), optional
        Those of CSLS. Like the bias, in the dtype of the scores.

    Notes
    -----
    Scores have the bits of `_core.score_embeddings`, on devices for which `scores_right` says so.
    """

    backend = "triton"

    def __init__(
        self,
        queries: Tensor,
        entities: Tensor,
        similarity: str,
        stream: DeviceStream,
        bias: npt.NDArray[Any] | None = None,
        means: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None,
    ) -> None:
        torch = sys.modules["torch"]
        self.dtype = (
            torch.float64 if torch.float64 in (queries.dtype, entities.dtype) else torch.float32
        )
        self.shape = (len(queries), len(entities))
        self.like = entities
        self.stream = stream
        self._similarity = similarity
        query_means = None
        entity_means = None
        with stream.current():
            if bias is not None:
                bias = self.upload(bias, self.dtype)
            if means is not None:
                query_means = self.upload(means[0], self.dtype)
                entity_means = self.upload(means[1], self.dtype)
        self._queries: _Vectors = (queries, None, query_means)
        self._entities: _Vectors = (entities, bias, entity_means)

    def scored(self, rows: IntArray, columns: IntArray | None) -> npt.NDArray[Any]:
        """Return in the host's memory all scores of some rows, or each row's at its column."""
        with self.stream.current():
            if columns is not None:
                return self.to_host(self.pairs(self.upload(rows), self.upload(columns)))[0]
            scores = np.empty((len(rows), self.shape[1]), f"f{self.dtype.itemsize}")
            for some, part in self.tiles(len(rows), None):
                scores[some, part] = self.to_host(self.block(rows[some], part))[0]
        return scores

    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        out = self.empty((1, len(rows)), self.dtype)
        for some, queries in self._panels(self._queries, rows):
            entities = self._panel(self._entities, columns[some])
            self._launch("store_scores", queries, entities, out[:, some], PAIRED=True)
        return out[0]

    def block(self, rows: IntArray, columns: slice | Tensor) -> Tensor:
        if isinstance(columns, slice):
            columns = self.arange(columns.start, columns.stop)
        out = self.empty((len(rows), len(columns)), self.dtype)
        for some, queries in self._panels(self._queries, self.upload(rows)):
            for others, entities in self._panels(self._entities, columns):
                self._launch("store_scores", queries, entities, out[some, others], PAIRED=False)
        return out

    def scan(self, rows: IntArray, true_scores: Tensor, columns: Tensor | None) -> Tensor:
        codes = codes_of(rows)
        first_tasks = self.upload(np.append(codes.first(), len(rows)))
        if columns is None:
            columns = self.arange(0, self.shape[1])
        counts = self.zeros(3, len(rows))
        for some, queries in self._panels(self._queries, self.upload(codes.distinct)):
            first_of_queries = first_tasks[some.start :]
            for _, entities in self._panels(self._entities, columns):
                self._launch(
                    "count_scores", queries, entities, counts, first_of_queries, true_scores
                )
        return counts

    def _panels(self, vectors: _Vectors, numbers: Tensor) -> Iterator[tuple[slice, _Panel]]:
        """Yield some places at a time, and the panel of the vectors that have these numbers."""
        most = max(1, PANEL_BYTES // (math.prod(self.like.shape[1:]) * self.dtype.itemsize))
        for start in range(0, len(numbers), most):
            some = slice(start, min(start + most, len(numbers)))
            yield some, self._panel(vectors, numbers[some])

    def _panel(self, vectors: _Vectors, numbers: Tensor) -> _Panel:
        """Return the panel of the vectors that have these numbers."""
        from .scoring_kernels import sum_squares

        all_vectors, bias, means = vectors
        taken = all_vectors[numbers].flatten(1)
        if bias is not None:
            bias = bias[numbers]
        if means is not None:
            means = means[numbers]
        components = self.empty(taken.shape[::-1], self.dtype).copy_(taken.T)
        squares = None
        if self._similarity in ("cosine", "poincare"):
            depth, size = components.shape
            squares = self.empty((size,), sys.modules["torch"].float64)
            programs = -(-size // VECTORS)
            sum_squares[programs,](
                components,
                squares,
                size,
                depth,
                NORMALISE=self._similarity == "cosine",
                VECTORS=VECTORS,
                enable_fp_fusion=False,
            )
        return components, squares, bias, means

    def _launch(
        self,
        kernel: str,
        queries: _Panel,
        entities: _Panel,
        out: Tensor,
        *tasks: Tensor,
        **mode: bool,
    ) -> None:
        """Let a kernel make the scores of two panels: of all pairs or, if paired, in one row."""
        from . import scoring_kernels

        left, left_squares, _, left_means = queries
        right, right_squares, bias, right_means = entities
        rows = left.shape[1]
        depth, columns = right.shape
        height, width = SMALL_TILE if self._similarity == "poincare" else TILE
        if mode.get("PAIRED"):
            rows = 1
            height = 1
        programs = -(-rows // height) * -(-columns // width)
        getattr(scoring_kernels, kernel)[programs,](
            left,
            right,
            left_squares,
            right_squares,
            bias,
            left_means,
            right_means,
            *tasks,
            out,
            rows,
            columns,
            depth,
            out.stride(0),
            SIMILARITY=self._similarity,
            QUERIES=height,
            ENTITIES=width,
            num_warps=WARPS,
            enable_fp_fusion=False,
            **mode,
        )


@lru_cache(maxsize=256)
def scores_right(device: Any, similarity: str, dtype: str) -> bool:
    """Whether a device scores a small problem with the bits of the core, and counts it right.

    It is tried once for each similarity and dtype. Some of the products are subnormal numbers.

    Parameters
    ----------
    device : torch.device
    similarity : str
    dtype : {"float32", "float64"}
        That of the scores.
    """
    torch = sys.modules["torch"]
    stream = DeviceStream(device)
    rows = np.arange(48)
    vectors = np.random.default_rng(0).normal(0, 0.1, (48, 18))
    vectors[:8] *= 2.0 ** {"float32": -65, "float64": -520}[dtype]
    vectors = vectors.astype(dtype)
    view = _core.Scores(vectors, dtype, False)
    expected = _core.score_embeddings(_core.Embeddings(view, view, similarity), None, None, 1)
    true = expected.diagonal()[:, None]
    try:
        with torch.inference_mode(), stream.current(), np.errstate(all="ignore"):
            tensor = torch.from_numpy(vectors).to(device)
            source = VectorScores(tensor, tensor, similarity, stream)
            scores = source.scored(rows, None)
            numbers = source.arange(0, 48)
            counts = source.to_host(source.scan(rows, source.pairs(numbers, numbers), None))[0]
    except Exception:  # of any compiler or driver: the host can score
        return False
    right = np.stack([expected > true, expected == true, expected != expected]).sum(2)
    return bool(scores.tobytes() == expected.tobytes() and (counts == right).all())


def in_parts(vectors: Tensor, layout: str | None) -> Tensor:
    """Return the parts of complex vectors as (n, d, 2), and real vectors as they are; no copy."""
    if vectors.is_complex():
        return sys.modules["torch"].view_as_real(vectors)
    if layout == "halves":
        return vectors.unflatten(1, (2, -1)).transpose(1, 2)
    return vectors


def tensor_on(device: Any, vectors: Scores | DeviceStore) -> Tensor:
    """Return vectors as a tensor on a device, without a copy if they are there."""
    torch = sys.modules["torch"]
    dtype = getattr(torch, vectors.dtype)
    if isinstance(vectors, DeviceStore):
        return vectors.array.resolve_conj().resolve_neg().view(dtype).to(device)
    array = vectors.array.astype(vectors.array.dtype.newbyteorder("="))
    if dtype.is_complex:
        return torch.from_numpy(array).to(device)
    return torch.from_numpy(array.view(f"i{array.itemsize}")).view(dtype).to(device)
