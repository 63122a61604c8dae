"""The functions that rank Dask arrays: scores or entities in chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.base import compute_as_if_collection
from dask.blockwise import BlockwiseDep, blockwise
from dask.callbacks import Callback
from dask.highlevelgraph import HighLevelGraph

from ..._core import Fault
from ...counting.job import prepare_job
from ...counting.partial_counts import PartialCounts, TrueScores
from ...embeddings.vectors import Embeddings
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...inputs.progress_listeners import Progress, as_listener
from ...inputs.rules import EmbeddingOptions, RuleOptions, read_rules, with_options
from ...inputs.scores import as_scores, widen_bfloat16
from ...stores import shape_of
from .row_chunks import ChunkGrid, RowChunk, grid_of, row_chunks_of
from .workers import (
    ChunkCounts,
    CountingOptions,
    RowChunkTasks,
    add_up,
    count_chunk,
    count_vector_chunk,
    score_true_pairs,
    take_true_scores,
    true_score_dtype,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...counting.job import Job
    from ...inputs.words import Similarity
    from ...ranks.container import Ranks


@contextmanager
def watched_steps(progress: bool | Callable[[Progress], object] | None) -> Iterator[None]:
    """Report the steps of all graphs that are computed within a block of code to `progress`.

    Schedulers of `dask.distributed` tell nobody here, but their dashboard.

    Examples
    --------
    >>> import dask.array as da
    >>> reports = []
    >>> with watched_steps(reports.append):
    ...     found = da.ones(6, chunks=2).sum().compute(scheduler="sync")
    >>> reports[0].done, reports[-1].done == reports[-1].total, reports[-1].unit
    (0, True, 'steps')
    """
    listener = as_listener(progress)
    if listener is None:
        yield
        return
    start, done = time.monotonic(), 0

    def report(total: int) -> None:
        listener(Progress(done, total, time.monotonic() - start, unit="steps"))

    def begin(graph: Any, state: Any) -> None:
        report(done + _steps_left(state))

    def step(key: Any, result: Any, graph: Any, state: Any, worker: Any) -> None:
        nonlocal done
        done += 1
        left = _steps_left(state)
        if left:  # the last report says that all is over, not a pass
            report(done + left)

    with Callback(start_state=begin, posttask=step):
        yield
    report(done)


def _steps_left(state: Any) -> int:
    return sum(len(state[name]) for name in ("ready", "waiting", "running"))


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
    job.check_targets()
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
    partial_counts = PartialCounts.zeros(len(scores), job.rules)
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


@public("truerank.adapters.dask")
@with_options(RuleOptions)
def rank(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Unpack[RuleOptions],
) -> Ranks:
    """Count, for every task, the candidates above the true one, chunk by chunk.

    The result is that of `truerank.rank` for the whole matrix, bit for bit, for any chunks. True
    scores are gathered first. Then each chunk is compared with them on its worker, and the counts
    are added up.

    Parameters
    ----------
    scores : dask.array.Array, shape (rows, columns) or (columns,)
        In chunks of any known sizes in both directions. The dtypes are those of `truerank.rank`.
        Chunks that hold a true candidate are computed twice, unless the array is persisted.
    targets : array_like of int, shape (tasks,), or int
        The column of each task's true candidate. A Dask array is computed.
    rows, filter, candidates, order, nan, dtype, audit
        As in `truerank.rank`. Each chunk is sent only its own entries of a selection, 8 or 12 bytes
        each. A chunk is not computed if no task reads its rows or if it has no candidates.
    threads : int, optional
        The number of threads of each Dask task. Default: one, because Dask runs as many tasks at
        once as its workers have threads.
    progress : callable or bool, optional
        Called with a `Progress`, in steps of Dask's graphs, by its local schedulers; True: a bar of
        tqdm or rich. The dashboard of `dask.distributed` shows its own.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task, int64.

    Raises
    ------
    TypeError
        If `scores` is not a Dask array, if a chunk has another dtype than the array says, and as
        `truerank.rank`.
    ValueError
        As `truerank.rank`, for chunks of unknown sizes, and if a true score changes when its chunk
        is computed again. Of several NaN, the error names the first one in the whole matrix.

    Notes
    -----
    A chunk may be a tensor of torch, also on a device of its worker, where it is counted: the array
    then says a dtype of NumPy (that of ml_dtypes for bfloat16), and nothing but what makes the
    tensor may come before this function.

    For each task, ``above``, ``tied`` and ``candidates`` are sums of integers over the chunks of
    its row, so the order of the chunks does not matter. The true candidate is not part of these
    sums and is counted once, at the end.

    Examples
    --------
    >>> import dask.array as da
    >>> scores = da.from_array([[0.1, 0.9, 0.5, 0.5], [0.7, 0.2, 0.2, 0.3]], chunks=(1, 2))
    >>> ranks = rank(scores, [2, 1])
    >>> ranks.optimistic, ranks.pessimistic
    (array([2, 3]), array([3, 4]))
    """
    check_dask_array("scores", scores, "truerank.rank")
    rules = read_rules(options)
    matrix = as_scores(placeholder(scores), rules.dtype)
    job = prepare_job(scores.shape, targets, rows, filter, candidates, rules)
    if scores.ndim == 1:
        scores = scores[None, :]
    raw = None if rules.dtype is None else matrix.dtype
    counting = CountingOptions(matrix.dtype, raw, job.rules, job.threads or 1)
    inputs = ChunkedInputs(
        arrays=[(scores, "ij")],
        axes="ij",
        first=partial(take_true_scores, options=counting),
        second=partial(count_chunk, options=counting),
        true_score_dtype=true_score_dtype(matrix.array.dtype, matrix.dtype),
    )
    with watched_steps(rules.progress):
        return count_in_two_passes(inputs, grid_of(*scores.chunks), job, counting)


@public("truerank.adapters.dask")
@with_options(EmbeddingOptions)
def rank_embeddings(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    similarity: Similarity = "dot",
    bias: Any = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Unpack[EmbeddingOptions],
) -> Ranks:
    """Score every query with every entity on the worker of the entity, and count the ranks.

    The result is that of `truerank.rank_embeddings` for all entities, bit for bit, for any chunks,
    because the score of a pair depends only on its two vectors. The true pairs are scored first, on
    the workers of the true entities. Then the scores of each chunk of entities are compared with
    them where they are made, in registers and caches, and never stored.

    Parameters
    ----------
    queries : array_like or dask.array.Array, shape (q, d) or (d,)
        As in `truerank.rank_embeddings`. Every chunk of queries is compared with every chunk of
        entities, which is read again each time, so few large chunks are best. Other arrays and
        paths are read here and make one chunk.
    entities : dask.array.Array, shape (n, d)
        In chunks of any known sizes; chunks along d are joined first. Chunks that hold a true
        entity are computed twice, unless the array is persisted.
    targets : array_like of int, shape (tasks,), or int
        The entity that is each task's true candidate. A Dask array is computed.
    similarity : str
        As in `truerank.rank_embeddings`; without CSLS.
    bias : array_like or dask.array.Array, shape (n,), optional
        Added to the scores of each entity. Each chunk of entities is sent only its own values.
    rows, filter, candidates, nan, dtype, audit
        As in `truerank.rank_embeddings`. Each chunk is sent only its own entries of a selection.
    threads : int, optional
        The number of threads of each Dask task. Default: one.
    progress : callable or bool, optional
        As in `rank`.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task; the protocol names the similarity.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.rank_embeddings`, and as `rank` for arrays that are not Dask arrays, and for
        chunks.

    Examples
    --------
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [2, 2]], np.float32)
    >>> queries = np.array([[1, 0.5], [2, 1]], np.float32)
    >>> chunks = da.from_array(entities, chunks=(3, 2))
    >>> ranks = rank_embeddings(queries, chunks, [2, 3], similarity="l1")
    >>> ranks.optimistic, ranks.pessimistic
    (array([1, 1]), array([2, 2]))
    """
    check_dask_array("entities", entities, "truerank.rank_embeddings")
    lazy_queries, lazy_bias = isinstance(queries, da.Array), isinstance(bias, da.Array)
    if lazy_queries:
        check_dask_array("queries", queries, "")
    if lazy_bias:
        check_dask_array("bias", bias, "")
    queries_seen = placeholder(queries) if lazy_queries else queries
    bias_seen = placeholder(bias) if lazy_bias else bias
    rules = read_rules(options, EmbeddingOptions)
    dtype = rules.dtype
    pairs = Embeddings(queries_seen, placeholder(entities), similarity, bias_seen, dtype)
    tasks = (targets, rows, filter, candidates, rules, pairs.roles.nouns)
    job = prepare_job(shape_of(pairs), *tasks)
    if not lazy_queries:
        queries = _one_chunk(pairs)
    if bias is not None and not lazy_bias:
        bias = da.from_array(pairs.bias, chunks=(entities.chunks[0],), name=False)
    if queries.ndim == 1:
        queries = queries[None, :]
    queries, entities = queries.rechunk({1: -1}), entities.rechunk({1: -1})
    if bias is not None:
        bias = compute_chunks_once(bias.rechunk((entities.chunks[0],)))
    counting = CountingOptions(pairs.dtype, dtype, job.rules, job.threads or 1, similarity)
    inputs = ChunkedInputs(
        arrays=[
            (compute_chunks_once(queries), "ik"),
            (entities, "jk"),
            (bias, None if bias is None else "j"),
        ],
        axes="ijk",
        first=partial(score_true_pairs, options=counting),
        second=partial(count_vector_chunk, options=counting),
        true_score_dtype=np.dtype(pairs.dtype),
    )
    grid = grid_of(queries.chunks[0], entities.chunks[0])
    with watched_steps(rules.progress):
        ranks = count_in_two_passes(inputs, grid, job, counting)
    return ranks.with_protocol(similarity=similarity)


def _one_chunk(pairs: Embeddings) -> Any:
    """Copy queries into one chunk, because they may be in a file that the workers do not have."""
    array, kind = pairs.queries.array, pairs.queries.dtype
    # in the precision of scoring: the dtype of a Dask array cannot say that bytes are bfloat16
    plain = widen_bfloat16(array) if kind == "bfloat16" else np.array(array)
    return da.from_array(plain, chunks=-1, name=False)


def check_dask_array(name: str, value: Any, instead: str) -> Any:
    """Check that an argument is a Dask array whose chunks have known sizes.

    Parameters
    ----------
    name : str
        The argument.
    value : object
    instead : str
        The function to call for other arrays.

    Raises
    ------
    TypeError
        For anything but a Dask array.
    ValueError
        For unknown sizes.

    Examples
    --------
    >>> check_dask_array("scores", [[0.5]], "truerank.rank")
    Traceback (most recent call last):
    truerank.InputTypeError: scores: expected a dask array, got list; truerank.rank takes it
    """
    if not isinstance(value, da.Array):
        raise InputTypeError(
            name, expected="a dask array", got=f"{type(value).__name__}; {instead} takes it"
        )
    if np.isnan(value.shape).any():
        raise InputValueError(
            name,
            expected="chunks of known sizes",
            got=f"shape {value.shape}; compute_chunk_sizes() computes them",
        )
    return value


def placeholder(array: Any) -> npt.NDArray[Any]:
    """Make an array of the same shape and dtype that takes no memory, for checks.

    Examples
    --------
    >>> placeholder(da.zeros((10**6, 10**6))).shape
    (1000000, 1000000)
    """
    return np.broadcast_to(np.empty((), array.dtype), array.shape)


def compute_chunks_once(array: Any) -> Any:
    """Return an array whose chunks are computed once, not by each task that needs them.

    Dask may fuse the task that makes a chunk into the tasks that use it, even if there are many of
    them. It does not do so in a graph of single tasks.
    """
    (array,) = dask.optimize(array)
    return da.Array(dict(array.dask), array.name, array.chunks, meta=array._meta)
