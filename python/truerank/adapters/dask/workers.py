"""The functions that run on workers: true scores of a chunk, counts of a chunk, and their sums.

Nothing here needs Dask. All functions are pure, so that the results of a lost worker can be
computed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import _core
from ..._core import Scores
from ...counting.job import Job
from ...counting.partial_counts import PartialCounts, TrueScores
from ...counting.tiles import begin_count
from ...embeddings.vectors import Embeddings
from ...stores import Store, read_scores, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ...inputs.arrays import IntArray
    from .row_chunks import ChunkInputs, SelectionLists, TrueScorePlaces


class CountingOptions(NamedTuple):
    """The options for reading and counting chunks."""

    dtype: str  # of the scores
    raw_dtype: Any  # the dtype of raw bytes, as the caller gives it, or None
    rules: _core.Rules
    threads: int
    similarity: str = ""


class RowChunkTasks(NamedTuple):
    """The inputs that all chunks of one chunk of rows share: its tasks and their true scores."""

    first_row: int  # in the whole matrix
    rows: IntArray
    targets: IntArray
    true_scores: npt.NDArray[Any]
    filter: SelectionLists | None
    candidates: SelectionLists | None


class ChunkCounts(NamedTuple):
    """The partial counts of the tasks of a chunk of rows, and the first NaN that is forbidden."""

    counts: dict[str, IntArray]
    fault: tuple[int, int] | None  # row and column in the whole matrix


def take_true_scores(
    block: Any, places: TrueScorePlaces, *, options: CountingOptions
) -> npt.NDArray[Any]:
    """Return the true scores in a chunk of scores, in native byte order."""
    scores = _checked_scores(block, places.shape, options)
    if isinstance(scores, Store):
        taken = scores.take(places.rows, places.columns)
    else:
        taken = scores.array[places.rows, places.columns]
    array = TrueScores(np.array(taken), scores.dtype).scores
    return array.view(true_score_dtype(array.dtype, scores.dtype))


def true_score_dtype(like: np.dtype[Any], dtype: str) -> np.dtype[Any]:
    """Return the dtype in which true scores are gathered; that of bfloat16 is of raw numbers.

    Examples
    --------
    >>> true_score_dtype(np.dtype(">f4"), "float32"), true_score_dtype(np.dtype("V2"), "bfloat16")
    (dtype('float32'), dtype('uint16'))
    """
    return np.dtype(np.uint16) if dtype == "bfloat16" else like.newbyteorder("=")


def score_true_pairs(
    queries: Any, entities: Any, bias: Any, places: TrueScorePlaces, *, options: CountingOptions
) -> npt.NDArray[Any]:
    """Score the true pairs whose query and entity are in two chunks of vectors."""
    pairs = Embeddings(queries, entities, options.similarity, bias, options.raw_dtype)
    _check(pairs.dtype, pairs.shape, places.shape, options)
    return _core.score_embeddings(pairs.core(), places.rows, places.columns, options.threads)


def count_chunk(
    block: Any, row_tasks: RowChunkTasks, inputs: ChunkInputs, *, options: CountingOptions
) -> ChunkCounts:
    """Count a chunk of scores; a tensor on a device is counted there."""
    scores, job = _checked_scores(block, inputs.shape, options), _job_of(row_tasks, inputs, options)
    counting, _ = begin_count(scores, job, row_tasks.true_scores, inputs.first_column)
    return _in_whole(*counting(), row_tasks, inputs)


def count_vector_chunk(
    queries: Any,
    entities: Any,
    bias: Any,
    row_tasks: RowChunkTasks,
    inputs: ChunkInputs,
    *,
    options: CountingOptions,
) -> ChunkCounts:
    """Count the scores of a chunk of queries and a chunk of entities, as they are made."""
    pairs = Embeddings(queries, entities, options.similarity, bias, options.raw_dtype)
    _check(pairs.dtype, pairs.shape, inputs.shape, options)
    job, true_scores = _job_of(row_tasks, inputs, options), row_tasks.true_scores
    counted = job.counted(pairs.core(), true_scores, inputs.first_column)
    return _in_whole(counted.arrays, counted.fault, row_tasks, inputs)


def add_up(chunks: Sequence[ChunkCounts], *, options: CountingOptions) -> ChunkCounts:
    """Add up the counts of several chunks of one chunk of rows.

    Examples
    --------
    >>> options = CountingOptions("float32", None, _core.Rules(False, "raise", False), 1)
    >>> counts = {name: np.array([1, 2]) for name in PartialCounts.zeros(2, options.rules).arrays}
    >>> chunks = [ChunkCounts(counts, fault) for fault in (None, (3, 8), (3, 5))]
    >>> sums = add_up(chunks, options=options)
    >>> sums.counts["above"], sums.fault
    (array([3, 6]), (3, 5))
    """
    totals = PartialCounts.zeros(len(chunks[0].counts["above"]), options.rules)
    for found in chunks:
        totals.add(found.counts)
    return ChunkCounts(totals.arrays, min((f.fault for f in chunks if f.fault), default=None))


def _job_of(row_tasks: RowChunkTasks, inputs: ChunkInputs, options: CountingOptions) -> Job:
    """Return the job of a chunk; its filter and candidates number columns of the whole matrix."""
    filter = row_tasks.filter and row_tasks.filter.selection(inputs.filter)
    candidates = row_tasks.candidates and row_tasks.candidates.selection(inputs.candidates)
    tasks = row_tasks.rows, row_tasks.targets, filter, candidates
    return Job(*tasks, options.rules, options.threads)


def _in_whole(
    counts: dict[str, IntArray],
    fault: _core.Fault | None,
    row_tasks: RowChunkTasks,
    inputs: ChunkInputs,
) -> ChunkCounts:
    """Number the row and the column of a fault in the whole matrix."""
    if fault is None:
        return ChunkCounts(counts, None)
    return ChunkCounts(
        counts, (row_tasks.first_row + fault.row, inputs.first_column + fault.column)
    )


def _checked_scores(block: Any, shape: tuple[int, int], options: CountingOptions) -> Scores | Store:
    scores = read_scores(block, options.raw_dtype)
    _check(scores.dtype, shape_of(scores), shape, options)
    return scores


def _check(
    dtype: str, got: tuple[int, ...], shape: tuple[int, int], options: CountingOptions
) -> None:
    """Check that a chunk has the dtype and shape that the Dask array says."""
    for expected, given in ((options.dtype, dtype), (shape, got)):
        if given != expected:
            raise (TypeError if given is dtype else ValueError)(
                f"scores: expected a chunk of {expected}, as the dask array says, got {given}"
            )
