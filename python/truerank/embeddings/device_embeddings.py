"""Embeddings on a device: scored and counted there, with the bits and the integers of the core."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..counting.partial_counts import PartialCounts, TrueScores
from ..devices.task_counts import DeviceCounts, Part
from ..devices.top_scores import top_scores
from ..devices.vector_scores import VectorScores, scores_right
from ..devices.ways import way_of
from ..inputs.arrays import counts_as_on_device, dense_tensor, is_tensor
from ..inputs.checks import choice
from ..inputs.scores import as_scores, check_dimensions
from ..stores.on_device import DeviceStream
from .vectors import (
    CSLS,
    QUERIES,
    SIMILARITIES,
    OpenEmbeddings,
    PairedVectors,
    Roles,
    Vectors,
    check_lengths,
    form_of,
    open_embeddings,
    read_vectors,
    rounded_bias,
    score_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ..counting.job import Job
    from ..inputs.arrays import IntArray
    from .vectors import Array, Matches, TopScores
    from .watching import Watch

    Tensor = Any  # of torch, which has no types here


class DeviceVectors(NamedTuple):
    """Vectors on a device that were checked."""

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
    def query_array(self) -> npt.NDArray[Any]:
        """As in `PairedVectors`."""
        with self.stream.current():
            return as_scores(self.queries).array

    def on_host(self) -> OpenEmbeddings:
        """Copy all vectors to the host's memory."""
        with self.stream.current():
            vectors = as_scores(self.queries), as_scores(self.entities)
        fields = (*vectors, self.similarity, self.bias, self.dtype, self.is_single_query, ())
        return OpenEmbeddings(*fields, self.csls, self.roles, self.device)

    def _scores(self) -> VectorScores:
        """Copy the bias and the means to the device."""
        means = self.csls and self.csls[:2]
        with self.stream.current():
            vectors = self.queries, self.entities, self.similarity
            return VectorScores(*vectors, self.stream, self.bias, means)

    def counts(
        self, job: Job, true_scores: Array | None, block: int, watch: Watch | None
    ) -> Mapping[str, IntArray]:
        """As in `PairedVectors`; the size of blocks is fixed, and nothing is told meanwhile.

        The host counts what an audit asks for, and finds a NaN that is forbidden.
        """
        if job.rules.audit:
            return self.on_host().counts(job, true_scores, block, watch)
        if true_scores is None:
            job.check_targets()
        counts = DeviceCounts([Part(0, 0, self._scores())], job.device_tasks(), true_scores)
        counted = PartialCounts(counts.arrays(), job.rules)
        true = TrueScores(counts.true_scores(), self.dtype)
        void = _tasks_of_first_row(job.all_rows, counted.is_void(true))
        if len(void):
            some = job.part(void, job.all_rows[void])
            some_scores = None if true_scores is None else true_scores[void]
            return self.on_host().counts(some, some_scores, block, None)
        return counted.final_counts(true) if true_scores is None else counted.arrays

    def score(
        self, rows: IntArray | None, targets: IntArray | None, threads: int
    ) -> npt.NDArray[Any]:
        """As in `PairedVectors`."""
        rows = np.arange(self.shape[0]) if rows is None else rows
        source = self._scores()
        with self.stream.current():
            if targets is not None:
                return self._to_host(source.pairs(source.upload(rows), source.upload(targets)))[0]
            scores = np.empty((len(rows), self.shape[1]), self.dtype)
            for some, columns in source.tiles(len(rows), None):
                (scores[some, columns],) = self._to_host(source.block(rows[some], columns))
        return scores

    def _to_host(self, *tensors: Tensor) -> list[npt.NDArray[Any]]:
        copies = [self.stream.copy_to_host(tensor) for tensor in tensors]
        self.stream.wait()
        return [copy.numpy() for copy in copies]

    def top_k(
        self, job: Job, k: int, matches: Matches | None, block: int, watch: Watch | None
    ) -> TopScores:
        """As in `PairedVectors`; with current matches, on the host."""
        if matches is not None:
            return self.on_host().top_k(job, k, matches, block, watch)
        rows, nan, source = job.all_rows, job.rules.nan, self._scores()
        with self.stream.current():
            best = top_scores(source, rows, job.filter, job.candidates, k, nan)
            ids, scores, with_nan = self._to_host(*best)
        void = _tasks_of_first_row(rows, with_nan & (nan == "raise"))
        if len(void):
            return self.on_host().top_k(job.part(void, rows[void]), k, None, 0, None)
        return ids, scores, None


def _tasks_of_first_row(rows: IntArray, which: npt.NDArray[np.bool_]) -> IntArray:
    """Return all tasks that read the first row which some of the tasks read; none for none.

    Examples
    --------
    >>> _tasks_of_first_row(np.array([4, 2, 3, 2]), np.array([True, True, False, False]))
    array([1, 3])
    """
    return np.flatnonzero(rows == rows[which].min(initial=np.iinfo(np.int64).max))


def read_in_place(
    name: str, value: Any, dtype: Any, role: str = "entities", roles: Roles = QUERIES
) -> Vectors | DeviceVectors:
    """View vectors where they are, as `read_vectors` does in the host's memory.

    Tensors on a device that scores vectors stay there; others are copied to the host.
    """
    if not (is_tensor(value) and counts_as_on_device(value)):
        return read_vectors(name, value, dtype, role, roles)
    form = form_of(role, roles)
    torch = sys.modules["torch"]
    plain = dense_tensor(value, name)
    empty = torch.empty((0,) * form.dimensions[-1], dtype=plain.dtype, device="cpu")
    kind = as_scores(empty, dtype, name, form).dtype
    check_dimensions(tuple(plain.shape), name, form)
    tensor = plain.resolve_neg().view(getattr(torch, kind))  # which may be raw 16-bit floats
    wide = torch.float64 if kind == "float64" else torch.float32
    if way_of(tensor.new_empty((0,), dtype=wide)) != "triton":
        return read_vectors(name, value, dtype, role, roles)
    return DeviceVectors(tensor, kind)


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
        dtype_name, device = score_dtype(left.dtype, right.dtype), right.tensor.device
        stream = DeviceStream(device)
        with stream.current():
            trusted = scores_right(device, similarity, dtype_name)
        if trusted:
            numbers = None
            if bias is not None:
                numbers_read = read_vectors("bias", bias, dtype, "bias").scores
                numbers = rounded_bias(numbers_read, right.shape[0], dtype_name)
            with stream.current():
                moved = _moved(left, right.tensor).view(shape)
            fields = (moved, right.tensor, similarity, numbers, dtype_name, len(left.shape) == 1)
            embeddings = DeviceEmbeddings(*fields, roles=roles, device=str(device), stream=stream)
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
