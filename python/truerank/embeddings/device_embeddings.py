"""Embeddings on a device: scored and counted there, with the bits and the integers of the core."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..counting.device_counting import check_nan, first_row, tasks_of
from ..counting.partial_counts import PartialCounts, TrueScores
from ..devices.source import TaskRows
from ..devices.task_counts import count_tasks
from ..devices.top_scores import top_scores
from ..devices.vector_scores import VectorScores, distrust
from ..devices.ways import way_of
from ..inputs.arrays import counts_as_on_device, dense_tensor, is_tensor
from ..inputs.checks import choice
from ..inputs.scores import as_scores, check_dimensions
from ..stores.on_device import DeviceStream, copy_to_device
from .vectors import (
    CSLS,
    QUERIES,
    SIMILARITIES,
    OpenEmbeddings,
    PairedVectors,
    Roles,
    TopKJob,
    Vectors,
    check_lengths,
    form_of,
    open_embeddings,
    read_vectors,
    rounded_bias,
    score_dtype,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..counting.job import Job
    from ..counting.score_thresholds import ThresholdJob
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from .watching import Watch

    Tensor = Any  # of torch, which has no types here

TILE_SCORES = 1 << 21  # made at a time, of scores that are copied to the host
TILE_COLUMNS = 1 << 13


class DeviceVectors(NamedTuple):
    """Vectors on a device that were checked; functions that take vectors take these as well."""

    tensor: Tensor
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all vectors, or of the single one."""
        return tuple(self.tensor.shape)

    def on_host(self) -> Vectors:
        """Copy the vectors to the host's memory."""
        return Vectors(as_scores(self.tensor), device=str(self.tensor.device))


@dataclass(frozen=True)
class DeviceEmbeddings(PairedVectors):
    """Queries and entities on a device, opened and checked, and how a pair of them is scored.

    A score is made when it is counted; the calls below wait for the device once.
    """

    stream: DeviceStream = field(kw_only=True)
    on_device = True

    @property
    def shape(self) -> tuple[int, int]:
        """As in `PairedVectors`."""
        return len(self.queries), len(self.entities)

    @property
    def length(self) -> int:
        """As in `PairedVectors`."""
        return int(self.entities.shape[1])

    def on_host(self) -> OpenEmbeddings:
        """Copy all vectors to the host's memory."""
        with self.stream.current():
            vectors = as_scores(self.queries), as_scores(self.entities)
        fields = (*vectors, self.similarity, self.bias, self.dtype, self.is_single_query, ())
        return OpenEmbeddings(*fields, self.csls, self.roles, self.device)

    def _source(self) -> VectorScores:
        """Copy the bias and the means to the device; to be called on the stream."""
        dtype = getattr(sys.modules["torch"], self.dtype)

        def there(numbers: npt.NDArray[Any]) -> Tensor:
            plain = sys.modules["torch"].from_numpy(numbers.copy())
            copy = self.entities.new_empty(numbers.shape, dtype=dtype)
            return copy_to_device(plain, copy)

        bias = None if self.bias is None else there(self.bias)
        means = None if self.csls is None else (there(self.csls[0]), there(self.csls[1]))
        return VectorScores(self.queries, self.entities, self.similarity, bias, means)

    def count(self, job: Job, block: int, watch: Watch | None = None) -> Ranks:
        """As in `PairedVectors`; the size of blocks is fixed, and nothing is told meanwhile."""
        if job.candidates is not None:
            absent = job.candidates.first_task_without(job.targets)
            if absent >= 0:
                raise job.error_of(_core.Fault("target", absent, -1, -1))
        with self.stream.current():
            pending = count_tasks(self._source(), self.stream, tasks_of(job), None, job.rules)
        counted = PartialCounts.of(pending.arrays(), job.rules)
        true = TrueScores(pending.true_scores(), self.dtype)

        def count_row(row: int, tasks: _core.Tasks, _: npt.NDArray[Any]) -> _core.Counts:
            one_query = self._query_on_host(row).core_embeddings
            return _core.rank_embeddings(one_query, tasks, job.rules, 0, job.threads)

        check_nan(job, counted, true, count_row)
        return job.ranks(counted.final_counts(true), self.dtype, device=self.way)

    def count_against(
        self, asked: ThresholdJob, block: int, watch: Watch | None = None
    ) -> PartialCounts:
        """As in `PairedVectors`; the size of blocks is fixed, and nothing is told meanwhile."""
        job, true = asked.job, TrueScores(asked.values.scores, self.dtype)
        with self.stream.current():
            plain = sys.modules["torch"].from_numpy(true.scores.copy())
            there = copy_to_device(plain, self.entities.new_empty(plain.shape, dtype=plain.dtype))
            pending = count_tasks(self._source(), self.stream, tasks_of(job), there, job.rules)
        counted = PartialCounts.of(pending.arrays(), job.rules)

        def count_row(row: int, tasks: _core.Tasks, scores: npt.NDArray[Any]) -> _core.Counts:
            one_query = self._query_on_host(row).core_embeddings
            options = (0, job.rules, 0, job.threads)
            return _core.partial_embedding_counts(one_query, tasks, scores, *options)

        check_nan(job, counted, true, count_row)
        return counted

    def _query_on_host(self, row: int) -> OpenEmbeddings:
        """Copy one query and all entities to the host's memory."""
        csls = self.csls and CSLS(self.csls.queries[row : row + 1], *self.csls[1:])
        return replace(self, queries=self.queries[row : row + 1], csls=csls).on_host()

    def score(
        self, rows: IntArray | None, targets: IntArray | None, threads: int
    ) -> npt.NDArray[Any]:
        """As in `PairedVectors`."""
        rows = np.arange(self.shape[0]) if rows is None else rows
        with self.stream.current():
            source = self._source()
            if targets is not None:
                pairs = source.pairs(source.upload(rows), source.upload(targets))
                return self._to_host(pairs)
            scores = np.empty((len(rows), self.shape[1]), self.dtype)
            height = max(1, TILE_SCORES // min(TILE_COLUMNS, max(1, self.shape[1])))
            for top in range(0, len(rows), height):
                some = rows[top : top + height]
                task_rows = TaskRows(some, source.upload(some))
                for left in range(0, self.shape[1], TILE_COLUMNS):
                    right = min(left + TILE_COLUMNS, self.shape[1])
                    tile = source.block(task_rows, slice(left, right))
                    scores[top : top + height, left:right] = self._to_host(tile)
        return scores

    def _to_host(self, tensor: Tensor) -> npt.NDArray[Any]:
        copy = self.stream.copy_to_host(tensor)
        self.stream.wait()
        found: npt.NDArray[Any] = copy.numpy()
        return found

    def top_k(
        self, job: TopKJob, watch: Watch | None = None
    ) -> tuple[IntArray, npt.NDArray[Any], _core.Fault | None]:
        """As in `PairedVectors`; with current matches, on the host."""
        if job.current_matches is not None:
            return self.on_host().top_k(job, watch)
        query_rows = np.arange(self.shape[0]) if job.rows is None else job.rows
        with self.stream.current():
            lists = job.filter, job.candidates
            best = top_scores(self._source(), query_rows, *lists, job.k, job.nan)
            ids, scores, with_nan = (self.stream.copy_to_host(x) for x in best)
            self.stream.wait()
        fault, flags = None, with_nan.numpy()
        if job.nan == "raise" and flags.any():
            row, of_row = first_row(query_rows, flags)
            *_, found = self._query_on_host(row).top_k(job.of_one_query(of_row))
            assert found is not None
            fault = _core.Fault(found.kind, int(of_row[found.task]), row, found.column)
        return ids.numpy(), scores.numpy(), fault


def read_in_place(
    name: str, value: Any, dtype: Any, role: str = "entities", roles: Roles = QUERIES
) -> Vectors | DeviceVectors:
    """View vectors where they are, as `read_vectors` does in the host's memory.

    Tensors on a device that scores vectors stay there; others are copied to the host.
    """
    if isinstance(value, (Vectors, DeviceVectors)):
        return value
    if not (is_tensor(value) and counts_as_on_device(value)):
        return read_vectors(name, value, dtype, role, roles)
    form = form_of(role, roles)
    torch = sys.modules["torch"]
    plain = dense_tensor(value, name)
    empty = torch.empty((0,) * form.dimensions[-1], dtype=plain.dtype, device="cpu")
    found = as_scores(empty, dtype, name, form).dtype
    check_dimensions(tuple(plain.shape), name, form)
    dtype_found = getattr(torch, found)
    tensor = plain if plain.dtype == dtype_found else plain.view(dtype_found)  # raw 16-bit floats
    wide = torch.float64 if found == "float64" else torch.float32
    if way_of(tensor.new_empty((0,), dtype=wide)) != "triton":
        return read_vectors(name, value, dtype, role, roles)
    return DeviceVectors(tensor, found)


def open_in_place(
    queries: Any,
    entities: Any,
    similarity: str,
    bias: Any,
    dtype: Any,
    csls: CSLS | None = None,
    roles: Roles = QUERIES,
) -> OpenEmbeddings | DeviceEmbeddings:
    """Check queries, entities and bias, as `open_embeddings` does, and leave them where they are.

    If the entities are on a device that has been seen to score vectors with the bits of the core,
    the queries are copied there. Otherwise all are copied to the host's memory.
    """
    choice("similarity", similarity, SIMILARITIES)
    left = read_in_place(roles.queries, queries, dtype, "queries", roles)
    right = read_in_place(roles.entities, entities, dtype)
    if isinstance(right, DeviceVectors):
        shape = left.shape if len(left.shape) == 2 else (1, *left.shape)
        check_lengths(shape, right.shape, similarity, roles)
        dtype_name = score_dtype(left.dtype, right.dtype)
        stream = DeviceStream(right.tensor.device)
        with stream.current():
            trusted = not distrust(right.tensor.device, similarity, dtype_name)
        if trusted:
            numbers = None
            if bias is not None:
                given = read_vectors("bias", bias, dtype, "bias").scores
                numbers = rounded_bias(given, right.shape[0], dtype_name)
            with stream.current():
                moved = _moved(left, right.tensor).view(shape)
            fields = (moved, right.tensor, similarity, numbers, dtype_name, len(left.shape) == 1)
            device = str(right.tensor.device)
            embeddings = DeviceEmbeddings(*fields, roles=roles, device=device, stream=stream)
            return embeddings.with_csls(csls)
        right = right.on_host()
    if isinstance(left, DeviceVectors):
        left = left.on_host()
    return open_embeddings(left, right, similarity, bias, dtype, csls, roles)


def _moved(vectors: Vectors | DeviceVectors, like: Tensor) -> Tensor:
    """Copy vectors to the device of a tensor, unless they are there."""
    if isinstance(vectors, DeviceVectors):
        return vectors.tensor.to(like.device)
    torch, scores = sys.modules["torch"], vectors.scores
    array = scores.array.astype(scores.array.dtype.newbyteorder("="))
    raw = array.view(np.int16) if array.dtype.itemsize == 2 else array
    plain = torch.from_numpy(raw).view(getattr(torch, scores.dtype))
    return like.new_empty(plain.shape, dtype=plain.dtype).copy_(plain)
