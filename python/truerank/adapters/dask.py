"""Ranks on many machines: counts the chunks of a Dask array of scores or vectors on their workers.

`rank` is `truerank.rank` for a matrix of scores in chunks of rows, of columns, or of both.
`rank_embeddings` is `truerank.rank_embeddings` for entities in chunks. Both give the same integers
as these functions, bit for bit, for any chunks, workers and scheduler. They use the scheduler that
Dask would use: that of the current `distributed.Client`, or the one that `dask.config` names.

**Two passes.** First, every chunk that holds a true candidate gives its true scores, one number for
each task, and only these are gathered. Then every chunk is compared with them on its worker, and
gives a few integers for each task, which are added up in a tree. A chunk that is read or made
block by block (`from_zarr`, `from_array`, `map_blocks` and arithmetic on them) exists only within
the task that counts it: it never leaves its worker, which holds one chunk for each of its threads.

**Chunks are read twice.** Chunks that hold a true candidate are read, or computed, once in each
pass. If that is expensive and the workers have enough memory, call ``array = array.persist()``
first; this module itself persists only queries and a bias. A chunk that differs the second time is
an error.

**Threads.** Each task of Dask counts with one thread unless `threads` says otherwise, because Dask
runs as many tasks at once as its workers have threads.

**Failures.** Tasks have no side effects. If a worker dies, Dask repeats its tasks on other workers,
and the integers are the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Unpack
from uuid import uuid4

import numpy as np

from .._core import Scores, Selection
from ..arrays.row_keys import codes_of
from ..counting.driver import Counts, TileJob, count_scores
from ..counting.job import Job, prepare_job
from ..counting.partial_counts import (
    add_counts,
    are_nan,
    final_counts,
    first_forbidden_nan,
    native_scores,
    zero_counts,
)
from ..embeddings.vectors import Embeddings
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_scores, named_dtype, widen_bfloat16
from ..inputs.progress_listeners import reporter
from ..inputs.rules import EmbeddingOptions, RuleOptions, read_rules, with_options
from ..inputs.selection import indptr_of, join_ranges, selection_arrays
from ..naming import import_extra
from ..stores import Store, Tile, read_scores, shape_of
from ..stores.store import ArrayStore, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..inputs.rules import Layout, Rules, Similarity
    from ..ranks.container import Ranks

    Array = npt.NDArray[Any]
    OpenChunk = Callable[[Sequence[Any], Tile], Scores | Store]

da: Any = import_extra("dask.array", "truerank.adapters.dask", extra="dask")
dask: Any = import_extra("dask", "truerank.adapters.dask")

__all__ = ["rank", "rank_embeddings"]

FAN_IN = 8  # One task of Dask adds up the counts of so many chunks.


# -- on workers ------------------------------------------------------------------------------------


def open_chunk(
    arrays: Sequence[Any],
    tile: Tile,
    *,
    dtype: str,
    raw: Any,
    threads: int,
    similarity: Similarity | None = None,
    layout: Layout | None = None,
) -> Scores | Store:
    """Open a chunk, as scores or as vectors that are scored as they are counted.

    Parameters
    ----------
    arrays : sequence of array_like
        Without a similarity the scores; else queries and entities, and perhaps a bias.
    tile : Tile
        The place of the chunk, which it must fill.
    dtype : str
        Of the scores, as the Dask array says.
    raw : str or dtype, optional
        What raw 16-bit numbers are, as the caller says.
    threads, similarity, layout
        As in `truerank.rank_embeddings`.
    """
    shape = tile.height, tile.width
    scores: Scores | Store
    if similarity is None:
        scores = read_scores(arrays[0], raw)
    else:
        bias = arrays[2] if len(arrays) == 3 else None
        pairs = Embeddings(arrays[0], arrays[1], similarity, bias, raw, layout=layout)
        scores = pairs.with_fields(threads=threads)
    expected = f"a chunk of {dtype} {shape}, as the dask array says"
    got = f"{scores.dtype} {shape_of(scores)}"
    if scores.dtype != dtype:
        raise InputTypeError("scores", expected=expected, got=got)
    if shape_of(scores) != shape:
        raise InputValueError("scores", expected=expected, got=got)
    return scores


def take_true_scores(*blocks: Any, open_scores: OpenChunk) -> Array:
    """Return the scores of pairs of a chunk; those of bfloat16 as raw numbers.

    Behind the arrays of the chunk stand its place, and the rows and columns of the pairs in it.
    """
    tile, rows, columns = blocks[-1]
    scores = open_scores(blocks[:-1], tile)
    store = ArrayStore(scores) if isinstance(scores, Scores) else scores
    true_scores = native_scores(np.array(store.take(rows, columns)), store.dtype)
    return true_scores.array.view(named_dtype(store.dtype)[1])


def count_chunk(*blocks: Any, open_scores: OpenChunk) -> Counts:
    """Count a chunk, behind whose arrays its job stands; a tensor on a device is counted there."""
    tile_job: TileJob = blocks[-1]
    scores = open_scores(blocks[:-1], tile_job.tile)
    job = replace(tile_job.job, first_column=tile_job.tile.left)
    return tile_job.placed(count_scores(scores, job))


def add_up(parts: Sequence[Counts], rules: Rules) -> Counts:
    """Add up the counts of several chunks of the same tasks; keep the first fault of all.

    Examples
    --------
    >>> from truerank._core import Fault
    >>> rules = read_rules({})
    >>> counts = zero_counts(2, rules)
    >>> faults = [None, Fault("nan", 0, 3, 8), Fault("nan", 0, 3, 5)]
    >>> add_up([Counts(counts, fault) for fault in faults], rules).fault.column
    5
    """
    total = zero_counts(len(parts[0].arrays["above"]), rules)
    for part in parts:
        add_counts(total, part.arrays, rules)
    faults = [part.fault for part in parts if part.fault is not None]
    first_fault = min(faults, key=lambda fault: (fault.row, fault.column), default=None)
    return Counts(total, first_fault)


# -- in the calling process ------------------------------------------------------------------------


def cut_selection(selection: Selection | None, tasks: int, lefts: IntArray) -> dict[int, Selection]:
    """Cut the lists of tasks where chunks of columns begin: each entry is in one chunk.

    Columns stay numbered in the whole matrix.

    Examples
    --------
    >>> filter = Selection(np.array([0, 2, 3]), np.array([5, 7, 6]), None, False)
    >>> parts = cut_selection(filter, 2, np.array([0, 6]))
    >>> parts[0].indptr, parts[0].indices, parts[1].indptr, parts[1].indices
    (array([0, 1, 1]), array([5], dtype=int32), array([0, 1, 2]), array([7, 6], dtype=int32))
    """
    if selection is None:
        return {}
    indptr, indices, lists, shared = selection_arrays(selection)
    if shared:
        lists = np.zeros(tasks, np.int64)
    elif lists is None:
        lists = np.arange(tasks)
    used, list_of_tasks = codes_of(lists)
    sizes = np.diff(indptr)[used]
    owners = np.repeat(np.arange(len(used), dtype=np.int32), sizes)
    columns = indices[join_ranges(indptr[used], sizes)]
    columns = columns.astype(np.int32 if lefts[-1] < 2**31 else np.int64, copy=False)
    parts = {}
    for j, positions in groups_of(places_in(columns, lefts)):
        ends = indptr_of(np.bincount(owners[positions], minlength=len(used)))
        parts[j] = Selection(ends, columns[positions], list_of_tasks, False)
    return parts


def places_in(numbers: IntArray, starts: IntArray) -> IntArray:
    """Return the chunk that holds each row or column.

    A chunk of length 0 begins where the next one does, and is skipped.
    """
    return np.searchsorted(starts, numbers, side="right") - 1


class ChunkStore(Store):
    """The chunks of Dask arrays as a store: its tiles are the chunks.

    Parameters
    ----------
    arrays : list of (dask.array.Array, str)
        What workers read, with the axes of each: "i" numbers chunks of rows, "j" those of columns,
        and there is one chunk along "k".
    sizes : (tuple of int, tuple of int)
        The number of rows of each chunk of rows, and of columns of each chunk of columns.
    open_scores : callable
        Opens the arrays of a chunk on a worker: `open_chunk` with its options.
    dtype : str
        Of the scores.
    """

    def __init__(
        self,
        arrays: list[tuple[Any, str]],
        sizes: tuple[tuple[int, ...], tuple[int, ...]],
        open_scores: OpenChunk,
        dtype: str,
    ) -> None:
        self.arrays = arrays
        self.open_scores = open_scores
        heights, widths = sizes
        self.tops = indptr_of(heights)
        self.lefts = indptr_of(widths)
        shape = int(self.tops[-1]), int(self.lefts[-1])
        super().__init__(shape, dtype, named_dtype(dtype)[1], ())

    def take(self, rows: IntArray, columns: IntArray) -> Array:
        """Return the scores of pairs, from the chunks that hold some, on their workers."""
        sent = {}
        positions_of_chunks = []
        for i, in_rows in groups_of(places_in(rows, self.tops)):
            for j, in_columns in groups_of(places_in(columns[in_rows], self.lefts)):
                pairs = in_rows[in_columns]
                positions_of_chunks.append(pairs)
                tile = self.tile(i, j)
                sent[i, j] = tile, rows[pairs] - tile.top, columns[pairs] - tile.left
        graph, keys = self.graph(take_true_scores, sent)
        results = dask.base.compute_as_if_collection(da.Array, graph, list(keys.values()))
        scores = np.empty(len(rows), self.carrier)
        for pairs, taken in zip(positions_of_chunks, results, strict=True):
            scores[pairs] = taken
        return scores

    def tiles(self, max_bytes: int) -> list[Tile]:
        """Return the chunks that are not empty, row by row, however large they are."""
        tiles = []
        for i in np.flatnonzero(np.diff(self.tops)).tolist():
            for j in np.flatnonzero(np.diff(self.lefts)).tolist():
                tiles.append(self.tile(i, j))
        return tiles

    def tile(self, i: int, j: int) -> Tile:
        """Return the place of a chunk."""
        top, bottom = self.tops[i : i + 2].tolist()
        left, right = self.lefts[j : j + 2].tolist()
        return Tile(top, left, bottom - top, right - left)

    def chunk_at(self, tile: Tile) -> tuple[int, int]:
        """Return the numbers of a chunk."""
        # A chunk of length 0 begins where the next one does, and is no tile.
        row = np.searchsorted(self.tops, tile.top, side="right")
        column = np.searchsorted(self.lefts, tile.left, side="right")
        return int(row) - 1, int(column) - 1

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        """Compute a chunk, and open it in this process."""
        numbers = dict(zip("ij", self.chunk_at(tile), strict=True), k=0)
        blocks = []
        for array, axes in self.arrays:
            blocks.append(array.blocks[tuple(numbers[axis] for axis in axes)])
        scores = self.open_scores(dask.compute(*blocks), tile)
        store = ArrayStore(scores) if isinstance(scores, Scores) else scores
        with store.block(tile._replace(top=0, left=0), io) as block:
            yield block

    def count_on_workers(self, jobs: Sequence[TileJob]) -> Iterator[Counts]:
        """Count chunks by Dask's scheduler; those of the same rows are added up there.

        Each chunk is sent only its own entries of selections. One that no task reads, or that has
        no candidates, is not computed.
        """
        if not jobs:
            return
        bands = []
        sent = {}
        for _, of_rows in groupby(jobs, key=lambda job: job.tile.top):
            band = list(of_rows)
            first = band[0]
            if not first.has_tasks:
                continue
            bands.append(first)
            left_out = cut_selection(first.job.filter, len(first.job.targets), self.lefts)
            let_in = cut_selection(first.job.candidates, len(first.job.targets), self.lefts)
            for job in band:
                i, j = self.chunk_at(job.tile)
                if j in let_in or not let_in:  # The numbers of tasks are not sent.
                    of_chunk = replace(first.job, filter=left_out.get(j), candidates=let_in.get(j))
                    sent[i, j] = job._replace(tasks=slice(None), job=of_chunk)
        add = partial(add_up, rules=jobs[0].job.rules)
        graph, totals = with_sums(*self.graph(count_chunk, sent), add)
        results = dask.base.compute_as_if_collection(da.Array, graph, totals)
        for first, total in zip(bands, results, strict=True):
            yield total._replace(tasks=first.tasks)

    def graph(
        self, function: Callable[..., Any], sent: Mapping[tuple[int, int], Any]
    ) -> tuple[Any, dict[tuple[int, int], Any]]:
        """Return a graph that calls a function for each chunk, and the keys of the results.

        Dask reads a chunk within the task that uses it, where it can.
        """
        name = f"truerank-{uuid4().hex}"
        # Each array's name is followed by its axes.
        arguments: list[Any] = []
        for array, axes in self.arrays:
            arguments += [array.name, axes]
        numblocks = len(self.tops) - 1, len(self.lefts) - 1
        parts: dict[Any, Any] = dict.fromkeys(np.ndindex(*numblocks))
        parts.update(sent)
        arguments += [dask.blockwise.BlockwiseDepDict(parts, numblocks), "ij"]
        keys: dict[tuple[int, int], Any]
        if len(self.arrays) == 1:
            axes_of_result = "ij"
            keys = {(i, j): (name, i, j) for i, j in sent}
        else:
            # Vectors have one chunk along k.
            axes_of_result = "ijk"
            keys = {(i, j): (name, i, j, 0) for i, j in sent}
        arrays = [array for array, _ in self.arrays]
        layer = dask.blockwise.blockwise(
            partial(function, open_scores=self.open_scores),
            name,
            axes_of_result,
            *arguments,
            numblocks={array.name: array.numblocks for array in arrays},
        )
        graph = dask.highlevelgraph.HighLevelGraph.from_collections(name, layer, arrays)
        return graph, keys


def with_sums(
    graph: Any, keys: Mapping[tuple[int, int], Any], add: Callable[..., Counts]
) -> tuple[Any, list[Any]]:
    """Add a tree of sums over the chunks of the same rows to a graph; return the keys of sums."""
    name = f"truerank-sum-{uuid4().hex}"
    totals = []
    sums: dict[Any, Any] = {}
    for _, chunks in groupby(keys, key=lambda chunk: chunk[0]):
        level = [keys[chunk] for chunk in chunks]
        while len(level) > 1:
            sums_of_level = []
            for first in range(0, len(level), FAN_IN):
                key = name, len(sums)
                sums[key] = add, level[first : first + FAN_IN]
                sums_of_level.append(key)
            level = sums_of_level
        totals += level
    layers = dict(graph.layers) | {name: sums}
    # Sums need counts alone: Dask fuses the reading of a chunk only if no other layer needs it.
    needs = dict(graph.dependencies) | {name: {key[0] for key in keys.values()}}
    return type(graph)(layers, needs), totals


def rank_chunks(
    arrays: list[tuple[Any, str]],
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    dtype: str,
    job: Job,
    **options: Any,
) -> Ranks:
    """Gather the true scores, count what is above them in each chunk, and add the counts up.

    Workers count by one thread for a task of Dask by default. `arrays` and `sizes` are those of
    `ChunkStore`; other options are those of `open_chunk`.

    Raises
    ------
    ValueError
        For a target that is not a candidate, for the first NaN that the rule forbids, and for a
        true score that changed in the second pass.
    """
    rules = replace(job.rules, threads=job.rules.threads or 1, progress=None)
    report_progress = reporter(job.rules.progress, 2, "passes")
    job = replace(job, rules=rules)
    options |= {"dtype": dtype, "raw": rules.dtype, "threads": rules.num_threads}
    store = ChunkStore(arrays, sizes, partial(open_chunk, **options), dtype)
    job.check_targets()
    report_progress(0)
    true = native_scores(store.take(job.all_rows, job.targets), dtype)
    report_progress(1)
    job = replace(job, true_scores=true.array)
    counts = count_scores(store, job, tile_map=store.count_on_workers)
    forbidden_nans: list[tuple[int, int]] = []
    if counts.fault is not None:
        forbidden_nans.append((counts.fault.row, counts.fault.column))
    if first_forbidden_nan(true, rules.nan) >= 0:
        is_nan = are_nan(true)
        rows = job.all_rows[is_nan].tolist()
        columns = job.targets[is_nan].tolist()
        forbidden_nans += zip(rows, columns, strict=True)
    if forbidden_nans:
        row, column = min(forbidden_nans)
        raise job.error_of_true_nan(row, column)
    differing = counts.arrays["differing"]
    if differing.any():
        raise InputValueError(
            "scores",
            f"the true score of task {differing.argmax()} changed when its chunk was "
            "computed again; persist() keeps chunks that differ each time",
        )
    report_progress(2)
    return job.ranks(final_counts(counts.arrays, true, rules), dtype)


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
        As in `truerank.rank`. Each chunk is sent only its own entries of a selection, 4 or 8 bytes
        each. A chunk is not computed if no task reads its rows or if it has no candidates.
    threads : int, optional
        The number of threads of each Dask task. Default: one, because Dask runs as many tasks at
        once as its workers have threads.
    progress : callable or bool, optional
        Called with a `Progress` after each of the two passes; True: a bar of tqdm. Dask's own
        `dask.diagnostics.ProgressBar` and the dashboard of `dask.distributed` show each step.

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
    scores_seen = _seen("scores", scores, "truerank.rank")
    rules = read_rules(options, RuleOptions, rank)
    dtype = as_scores(scores_seen, rules.dtype).dtype
    job = prepare_job(scores.shape, targets, rows, filter, candidates, rules)
    scores = da.atleast_2d(scores)
    return rank_chunks([(scores, "ij")], scores.chunks, dtype, job)


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
        entity are computed twice, unless the array is persisted. A chunk may be a tensor of torch,
        which is copied to the host if it is on a device of its worker.
    targets : array_like of int, shape (tasks,), or int
        The entity that is each task's true candidate. A Dask array is computed.
    similarity : str
        As in `truerank.rank_embeddings`; without CSLS.
    bias : array_like or dask.array.Array, shape (n,), optional
        Added to the scores of each entity. Each chunk of entities is sent only its own values.
    rows, filter, candidates, nan, dtype, layout, audit
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
    entities_seen = _seen("entities", entities, "truerank.rank_embeddings")
    queries_seen = _seen("queries", queries)
    bias_seen = _seen("bias", bias)
    rules = read_rules(options, EmbeddingOptions, rank_embeddings)
    pairs = Embeddings(
        queries_seen, entities_seen, similarity, bias_seen, rules.dtype, layout=rules.layout
    )
    job = pairs.job(targets, rows, filter, candidates, rules)
    # Workers may not have the file, and Dask has no word for bfloat16.
    if queries is queries_seen:
        if pairs.queries.dtype == "bfloat16":
            vectors = widen_bfloat16(pairs.queries.array)
        else:
            vectors = np.array(pairs.queries.array)
        queries = da.from_array(vectors, -1)
    # Without `persist` Dask may make a chunk of queries again in each task that uses it.
    queries = da.atleast_2d(queries).rechunk({1: -1}).persist()
    arrays = [(queries, "ik"), (entities.rechunk({1: -1}), "jk")]
    if bias is not None:
        if bias is bias_seen:
            bias = da.from_array(pairs.bias, -1)
        arrays.append((bias.rechunk(entities.chunks[:1]).persist(), "j"))
    sizes = queries.chunks[0], entities.chunks[0]
    options_of_vectors = {"similarity": similarity, "layout": rules.layout}
    ranks = rank_chunks(arrays, sizes, pairs.dtype, job, **options_of_vectors)
    return ranks.with_protocol(similarity=similarity)


def _seen(name: str, value: Any, instead: str = "") -> Any:
    """Return an array of the shape and dtype of a Dask array that takes no memory, for checks.

    Where another function takes other arrays `instead`, these are refused.

    Examples
    --------
    >>> _seen("scores", da.zeros((10**6, 10**6))).shape
    (1000000, 1000000)
    >>> _seen("scores", [[0.5]], "truerank.rank")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    truerank.errors.InputTypeError: scores: expected a dask array, got list; ...
    """
    if not isinstance(value, da.Array):
        if not instead:
            return value
        got = f"{type(value).__name__}; {instead} takes it"
        raise InputTypeError(name, expected="a dask array", got=got)
    if np.isnan(value.shape).any():
        got = f"shape {value.shape}; compute_chunk_sizes() computes them"
        raise InputValueError(name, expected="chunks of known sizes", got=got)
    return np.broadcast_to(np.empty((), value.dtype), value.shape)
