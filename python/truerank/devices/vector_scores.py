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

from .. import _core, devices
from .._core import Scores
from ..arrays.row_keys import codes_of
from ..stores.on_device import DeviceStore, DeviceStream
from .score_sources import ScoreSource, keys_of
from .task_counts import SelectedColumns, copied_selection

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Selection
    from ..arrays.types import IntArray
    from .score_sources import Tensor

    Vectors = tuple[Tensor, Tensor, Tensor]  # with their bias and means
    # vectors side by side, components[k, i] of vector i, with their squares, bias and means
    Panel = tuple[Tensor, Tensor, Tensor, Tensor]

PANEL_BYTES = 16 << 20
# Queries and entities of a program's tile, and its warps: so few that no register is spilled, also
# for "poincare", which is computed in float64.
TILE = (16, 128)
SMALL_TILE = (16, 32)
WARPS = 4
VECTORS = 256  # whose squares a program sums up
# Bounds are tried from so many pairs on, and used if they leave at most so large a share open. A
# pair that is scored alone was seen to take as long as thirty that are scored in tiles.
LEAST_PAIRS = 1 << 25
MOST_OPEN = 1 / 64
# For the top k, so many are sorted at a time: keys, masks and the sort take up to 80 bytes each.
SORTED_SCORES = 1 << 18
SORTED_COLUMNS = 1 << 12
_NOBODY = np.iinfo(np.int64).min  # the key where there is no candidate, below all others


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
        self.depth = math.prod(entities.shape[1:])
        self.stream = stream
        self.similarity = similarity
        query_means = None
        entity_means = None
        with stream.current():
            if bias is not None:
                bias = self.upload(bias, self.dtype)
            if means is not None:
                query_means = self.upload(means[0], self.dtype)
                entity_means = self.upload(means[1], self.dtype)
        self.queries: Vectors = (queries, None, query_means)
        self.entities: Vectors = (entities, bias, entity_means)

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
        for some, queries in self.panels(self.queries, rows):
            entities = self.panel(self.entities, columns[some])
            self._launch("store_scores", queries, entities, out[:, some], PAIRED=True)
        return out[0]

    def block(self, rows: IntArray, columns: slice | Tensor) -> Tensor:
        if isinstance(columns, slice):
            columns = self.arange(columns.start, columns.stop)
        out = self.empty((len(rows), len(columns)), self.dtype)
        for some, queries in self.panels(self.queries, self.upload(rows)):
            for others, entities in self.panels(self.entities, columns):
                self._launch("store_scores", queries, entities, out[some, others], PAIRED=False)
        return out

    def scan(self, rows: IntArray, true_scores: Tensor, columns: Tensor | None) -> Tensor:
        if columns is None:
            columns = self.arange(0, self.shape[1])
        if (
            len(rows) * len(columns) >= LEAST_PAIRS
            and devices.has_bounds(self)
            and bounds_right(self.like.device, self.similarity)
        ):
            # Bounds save time where they leave few pairs open.
            bounded = devices.BoundedScan(self)
            if bounded.share_open(rows, true_scores, columns) <= MOST_OPEN:
                self.backend = "triton with bounds"
                return bounded.counts(rows, true_scores, columns)
        return self.scan_all(rows, true_scores, columns)

    def scan_all(self, rows: IntArray, true_scores: Tensor, columns: Tensor) -> Tensor:
        """Count as `scan` does, by the scores of all pairs."""
        codes = codes_of(rows)
        first_tasks = self.upload(np.append(codes.first(), len(rows)))
        counts = self.zeros(3, len(rows))
        for some, queries in self.panels(self.queries, self.upload(codes.distinct)):
            first_of_queries = first_tasks[some.start :]
            for _, entities in self.panels(self.entities, columns):
                self._launch(
                    "count_scores", queries, entities, counts, first_of_queries, true_scores
                )
        return counts

    def panels(
        self, vectors: Vectors, numbers: Tensor, most: int = sys.maxsize
    ) -> Iterator[tuple[slice, Panel]]:
        """Yield at most so many places at a time, and the panel of the vectors of these numbers."""
        most = max(1, min(most, PANEL_BYTES // (self.depth * self.dtype.itemsize)))
        for start in range(0, len(numbers), most):
            some = slice(start, min(start + most, len(numbers)))
            yield some, self.panel(vectors, numbers[some])

    def panel(self, vectors: Vectors, numbers: Tensor) -> Panel:
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
        if self.similarity in ("cosine", "poincare"):
            depth, size = components.shape
            squares = self.empty((size,), sys.modules["torch"].float64)
            programs = -(-size // VECTORS)
            sum_squares[programs,](
                components,
                squares,
                size,
                depth,
                NORMALISE=self.similarity == "cosine",
                VECTORS=VECTORS,
                enable_fp_fusion=False,
            )
        return components, squares, bias, means

    def _launch(
        self,
        kernel: str,
        queries: Panel,
        entities: Panel,
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
        height, width = SMALL_TILE if self.similarity == "poincare" else TILE
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
            SIMILARITY=self.similarity,
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


@lru_cache(maxsize=256)
def bounds_right(device: Any, similarity: str) -> bool:
    """Whether a device sums products as bounds suppose, and counts a small problem by them right.

    It is tried once for each similarity. True scores are those of some pairs, and their neighbours.

    Parameters
    ----------
    device : torch.device
    similarity : str
    """
    torch = sys.modules["torch"]
    stream = DeviceStream(device)
    rng = np.random.default_rng(1)
    vectors = rng.normal(0, 1, (20, 20)).astype(np.float32)
    vectors[::5] = vectors[1::5]
    vectors[3::5] = np.array([[0], [2.0**60], [2.0**-60], [np.nan]])
    rows = np.repeat(np.arange(20), 2)
    try:
        with torch.inference_mode(), stream.current(), np.errstate(all="ignore"):
            tensor = torch.from_numpy(vectors).to(device)
            source = VectorScores(tensor, tensor, similarity, stream)
            columns = source.arange(0, 20)
            pairs = source.upload(rows), source.upload(rng.integers(0, 20, len(rows)))
            true = source.to_host(source.pairs(*pairs))[0]
            true[::3] = np.nextafter(true[::3], np.float32(np.inf))
            true[1::3] = np.nextafter(true[1::3], np.float32(-np.inf))
            right = devices.products_hold(device)
            for most_repeated in (1, 2):
                scan = devices.BoundedScan(source, most_repeated)
                thresholds = source.upload(true, torch.float32)
                counts = scan.counts(rows, thresholds, columns)
                expected = source.scan_all(rows, thresholds, columns)
                right = right and bool((counts == expected).all())
    except Exception:  # of any compiler or driver: all pairs can be scored
        return False
    return right


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


def top_scores(
    source: ScoreSource,
    rows: IntArray,
    filter: Selection | None,
    candidates: Selection | None,
    k: int,
    nan: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the top k of each task; equal scores are in the order of their ids, and so are NaN.

    Parameters
    ----------
    source : ScoreSource
        Of float32 or float64.
    rows : ndarray of int64, shape (tasks,)
        The row of each task.
    filter, candidates : Selection, optional
        Sorted, as `as_selection` gives them.
    k : int
        At most the number of columns, or 1.
    nan : {"raise", "worst", "omit"}
        "worst": NaN come last. Else they are not listed.

    Returns
    -------
    ids : Tensor of int64, shape (tasks, k)
        Highest first; -1 where there are fewer candidates.
    scores : Tensor, shape (tasks, k)
        NaN where there are fewer.
    with_nan : Tensor of bool, shape (tasks,)
        Which tasks have candidates whose score is NaN.
    """
    torch = sys.modules["torch"]
    left_out = copied_selection(filter, source)
    let_in = copied_selection(candidates, source)
    columns = source.arange(0, source.shape[1])
    if let_in is not None and let_in.shared:
        columns = let_in.columns_within(0, source.shape[1])
        let_in = None
    parts = columns.split(SORTED_COLUMNS) if len(columns) else []
    all_ids = source.zeros(len(rows), k)
    scores = source.empty((len(rows), k), source.dtype).fill_(float("nan"))
    with_nan = source.zeros(len(rows)).bool()
    # Under "worst" a NaN is below all scores, and listed.
    key_of_nan = _NOBODY + 1 if nan == "worst" else _NOBODY
    height = max(1, SORTED_SCORES // (k + min(SORTED_COLUMNS, len(columns))))
    for first in range(0, len(rows), height):
        tasks = np.arange(first, min(first + height, len(rows)))
        some = slice(first, first + len(tasks))
        keys = source.zeros(len(tasks), k).fill_(_NOBODY)
        ids = source.zeros(len(tasks), k).fill_(-1)
        for part in parts:
            is_out = _are_out(source, tasks, part, left_out, let_in)
            keys_of_part, is_nan = keys_of(source.block(rows[some], part))
            is_nan &= ~is_out
            with_nan[some] |= is_nan.any(1)
            keys_of_part = keys_of_part.to(torch.int64).masked_fill(is_nan, key_of_nan)
            keys = torch.cat([keys, keys_of_part.masked_fill(is_out, _NOBODY)], 1)
            keys, order = torch.sort(keys, dim=1, descending=True, stable=True)
            ids = torch.cat([ids, part.expand(len(tasks), -1)], 1).gather(1, order)[:, :k]
            keys = keys[:, :k]
        ids = ids.masked_fill(keys == _NOBODY, -1)
        all_ids[some] = ids
        if len(columns):
            pair_rows = source.upload(rows[some]).repeat_interleave(k)
            scores_of_ids = source.pairs(pair_rows, ids.clamp(min=0).view(-1))
            scores[some] = scores_of_ids.view(-1, k).masked_fill(ids < 0, float("nan"))
    return all_ids, scores, with_nan


def _are_out(
    source: ScoreSource,
    tasks: IntArray,
    columns: Tensor,
    left_out: SelectedColumns | None,
    let_in: SelectedColumns | None,
) -> Tensor:
    """Return which columns are no candidates of some tasks: bool, shape (tasks, columns)."""
    owners = source.arange(0, len(tasks)).repeat_interleave(len(columns))
    repeated = columns.repeat(len(tasks))
    out = source.zeros(len(owners)).bool()
    if let_in is not None:
        out |= ~let_in.hold(tasks, owners, repeated)
    if left_out is not None:
        out |= left_out.hold(tasks, owners, repeated)
    return out.view(len(tasks), -1)
