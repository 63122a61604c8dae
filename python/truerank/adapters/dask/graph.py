"""The task graphs of both passes, and the ranks from their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.base import compute_as_if_collection
from dask.blockwise import BlockwiseDep, blockwise
from dask.highlevelgraph import HighLevelGraph

from ..._core import Fault
from ...counting.partial_counts import PartialCounts, TrueScores
from ...inputs.errors import InputValueError
from .row_chunks import ChunkGrid, RowChunk, row_chunks_of
from .workers import ChunkCounts, CountingOptions, RowChunkTasks, add_up

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...counting.job import Job
    from ...ranks.container import Ranks

# Values for some chunks, by the numbers of a chunk in both directions.
PerChunkValues = Mapping[tuple[int, ...], Any]

# The number of partial counts that one task adds up.
FAN_IN = 8


class ChunkedInputs(NamedTuple):
    """Dask arrays, and the functions that take their chunks in both passes."""

    # With the axes of each: "i" numbers chunks of rows, "j" chunks of columns; None: not an array.
    arrays: Sequence[tuple[Any, str | None]]
    axes: str  # all axes, "i" and "j" first; there is one chunk along each other axis
    first: Callable[..., npt.NDArray[Any]]  # returns the true scores of a chunk
    second: Callable[..., ChunkCounts]  # counts a chunk
    true_score_dtype: np.dtype[Any]  # of the true scores


class PerChunk(BlockwiseDep):
    """An argument for each chunk, which is sent with the task that needs it."""

    produces_tasks = False

    def __init__(self, grid: ChunkGrid, values: PerChunkValues) -> None:
        self.numblocks = grid.numblocks
        self.values = values

    def __getitem__(self, chunk: tuple[int, ...]) -> Any:
        return self.values.get(chunk)


def count_in_two_passes(
    inputs: ChunkedInputs, grid: ChunkGrid, job: Job, options: CountingOptions
) -> Ranks:
    """Count in two passes: true scores first, then what each chunk holds above them.

    Parameters
    ----------
    inputs : Inputs
    grid : Chunking
        The chunks of rows and columns of the scores.
    job : Job
    how : How

    Raises
    ------
    ValueError
        For a target that is not a candidate, for the first NaN that the rule forbids, and for a
        true score that changed in the second pass.
    """
    if job.candidates is not None:
        absent = job.candidates.first_task_without(job.targets)
        if absent >= 0:
            raise job.error_of(Fault("target", absent, -1, -1))
    row_chunks = list(row_chunks_of(job, grid))
    scores = _true_scores(inputs, grid, row_chunks, len(job.targets))
    sums = _count_chunks(inputs, grid, row_chunks, options, scores)
    true_scores = TrueScores(scores, options.dtype)
    refused = [found.fault for found in sums if found.fault]
    if true_scores.first_nan(job.rules.nan) >= 0:
        rows = np.arange(len(scores)) if job.rows is None else job.rows
        refused += zip(
            rows[true_scores.nan].tolist(), job.targets[true_scores.nan].tolist(), strict=True
        )
    if refused:
        fault = Fault("nan" if job.rules.nan == "raise" else "nan_true_score", -1, *min(refused))
        raise job.error_of(fault)
    partial_counts = PartialCounts(len(scores), job.rules)
    for row_chunk, found in zip(row_chunks, sums, strict=True):
        partial_counts.add(found.counts, row_chunk.tasks)
    differing = partial_counts.arrays["differing"]
    if differing.any():
        raise InputValueError(
            "scores",
            (
                f"the true score of task {differing.argmax()} changed when its chunk was "
                "computed again; persist() keeps chunks that differ each time"
            ),
        )
    return job.ranks(partial_counts.final_counts(true_scores), options.dtype)


def _true_scores(
    inputs: ChunkedInputs, grid: ChunkGrid, row_chunks: list[RowChunk], tasks: int
) -> npt.NDArray[Any]:
    """Gather the true score of each task."""
    places: PerChunkValues = {
        (s.number, chunk): place for s in row_chunks for chunk, place in s.true_score_places.items()
    }
    true_scores = _blockwise("take", inputs.first, inputs, grid, (PerChunk(grid, places), "ij"))
    scores = np.empty(tasks, inputs.true_score_dtype)
    found = _compute(true_scores.dask, [_key(true_scores, inputs, *chunk) for chunk in places])
    tasks_of_chunks = (
        s.tasks[place.tasks] for s in row_chunks for place in s.true_score_places.values()
    )
    for where, values in zip(tasks_of_chunks, found, strict=True):
        scores[where] = values
    return scores


def _count_chunks(
    inputs: ChunkedInputs,
    grid: ChunkGrid,
    row_chunks: list[RowChunk],
    options: CountingOptions,
    scores: npt.NDArray[Any],
) -> Sequence[ChunkCounts]:
    """Count every chunk, and add up the counts of each chunk of rows in a tree."""
    row_tasks = _TaskLayer("known")
    for s in row_chunks:
        of_row_chunk = RowChunkTasks(
            *(int(grid.row_starts[s.number]), s.rows, s.targets, scores[s.tasks]),
            s.filter,
            s.candidates,
        )
        row_tasks.tasks[row_tasks.name, s.number] = (partial(RowChunkTasks, *of_row_chunk),)
    chunk_inputs: PerChunkValues = {
        (s.number, chunk): part for s in row_chunks for chunk, part in s.chunk_inputs.items()
    }
    counts = _blockwise(
        *("count", inputs.second, inputs, grid),
        *((row_tasks.array(grid), "i"), (PerChunk(grid, chunk_inputs), "ij")),
    )
    sums, totals = _TaskLayer("sum"), []
    for s in row_chunks:
        level = [_key(counts, inputs, s.number, chunk) for chunk in s.chunk_inputs]
        while len(level) > 1 or level[0][0] != sums.name:
            groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            level = [(sums.name, len(sums.tasks) + i) for i in range(len(groups))]
            adding = [(partial(add_up, options=options), group) for group in groups]
            sums.tasks.update(zip(level, adding, strict=True))
        totals += level
    return _compute(sums.graph(counts), totals)


class _TaskLayer:
    """Dask tasks under a unique name."""

    def __init__(self, what: str) -> None:
        self.name = f"truerank-{what}-{uuid4().hex}"
        self.tasks: dict[tuple[Any, ...], Any] = {}

    def graph(self, *dependencies: Any) -> Any:
        return HighLevelGraph.from_collections(self.name, self.tasks, dependencies=dependencies)

    def array(self, grid: ChunkGrid) -> Any:
        """Make the tasks an array with a chunk for each chunk of rows."""
        return _objects(self.graph(), self.name, grid.numblocks[:1])


def _blockwise(
    what: str,
    function: Callable[..., Any],
    inputs: ChunkedInputs,
    grid: ChunkGrid,
    *more: tuple[Any, str],
) -> Any:
    """Call a function for each chunk, in the same task that reads the chunk if possible."""
    name = _TaskLayer(what).name
    pairs = (*inputs.arrays, *more)
    arrays = [array for array, _ in pairs if isinstance(array, da.Array)]
    arguments = [item for array, axes in pairs for item in (getattr(array, "name", array), axes)]
    layer = blockwise(
        *(function, name, inputs.axes, *arguments),
        numblocks={array.name: array.numblocks for array in arrays},
    )
    graph = HighLevelGraph.from_collections(name, layer, dependencies=arrays)
    numblocks = (*grid.numblocks, *(1 for _ in inputs.axes[2:]))
    return _objects(graph, name, numblocks)


def _objects(graph: Any, name: str, numblocks: tuple[int, ...]) -> Any:
    chunks = tuple((1,) * count for count in numblocks)
    return da.Array(graph, name, chunks, dtype=object, meta=np.empty((0,) * len(chunks), object))


def _key(array: Any, inputs: ChunkedInputs, *chunk: int) -> tuple[Any, ...]:
    return (array.name, *chunk, *(0 for _ in inputs.axes[2:]))


def _compute(graph: Any, keys: list[tuple[Any, ...]]) -> Sequence[Any]:
    """Compute tasks with the scheduler that Dask uses for arrays."""
    found: Sequence[Any] = compute_as_if_collection(da.Array, graph, keys) if keys else ()
    return found
