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

from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack
from uuid import uuid4

import numpy as np

from .._core import Fault, Selection
from ..arrays.row_keys import codes_of
from ..counting.driver import SourceCounts, TileJob, count_source
from ..counting.job import Job, prepare_job, sha256_of
from ..counting.partial_counts import PartialCounts, TrueScores
from ..counting.sources import source_of
from ..embeddings.vectors import Embeddings, VectorSource
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_scores, named_dtype, widen_bfloat16
from ..inputs.progress_listeners import reporter
from ..inputs.rules import EmbeddingOptions, RuleOptions, read_rules, with_options
from ..inputs.selection import indptr_of, selection_arrays
from ..naming import import_extra
from ..stores import Tile, read_scores, shape_of
from ..stores.store import groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..counting.sources import CoreScores, Source
    from ..devices.score_sources import PartOfTasks
    from ..inputs.progress_listeners import Listener
    from ..inputs.rules import Layout, Rules, Similarity
    from ..ranks.container import Ranks

    Array = npt.NDArray[Any]

da: Any = import_extra("dask.array", "truerank.adapters.dask", extra="dask")
dask: Any = import_extra("dask", "truerank.adapters.dask")

__all__ = ["rank", "rank_embeddings"]

FAN_IN = 8  # One task of Dask adds up the counts of so many chunks.


# -- on workers ------------------------------------------------------------------------------------


class Reader(NamedTuple):
    """How workers open chunks: as scores, or as vectors that are scored as they are counted.

    Attributes
    ----------
    dtype : str
        Of the scores.
    raw : str or dtype, optional
        What raw 16-bit numbers are, as the caller says.
    threads : int
    similarity : str, optional
        None: the chunks are scores.
    layout : {"interleaved", "halves"}, optional
        Of real vectors, with a similarity of complex ones.
    """

    dtype: str
    raw: Any
    threads: int
    similarity: Similarity | None = None
    layout: Layout | None = None

    def opened(self, arrays: Sequence[Any], tile: Tile) -> Source:
        """Return the scores of a chunk, which must be what the Dask array says."""
        shape = tile.height, tile.width
        source: Source
        if self.similarity is None:
            scores = read_scores(arrays[0], self.raw)
            source = source_of(scores)
            shape_got = shape_of(scores)
        else:
            bias = arrays[2] if len(arrays) == 3 else None
            pairs = Embeddings(
                arrays[0], arrays[1], self.similarity, bias, self.raw, layout=self.layout
            )
            source = VectorSource(pairs, self.threads)
            shape_got = pairs.task_shape
        expected = f"a chunk of {self.dtype} {shape}, as the dask array says"
        got = f"{source.dtype} {shape_got}"
        if source.dtype != self.dtype:
            raise InputTypeError("scores", expected=expected, got=got)
        if shape_got != shape:
            raise InputValueError("scores", expected=expected, got=got)
        return source


class Entries(NamedTuple):
    """The entries of a selection in one chunk: the list and the column of each.

    Examples
    --------
    >>> Entries(np.array([0, 0, 2], np.int32), np.array([5, 7, 6]), np.arange(3)).all().indptr
    array([0, 2, 2, 3])
    """

    owners: npt.NDArray[np.int32]
    columns: npt.NDArray[Any]  # They are int32 or int64, and numbered in the whole matrix.
    list_of_tasks: IntArray

    def all(self) -> Selection:
        """Return them as the core takes them."""
        indptr = indptr_of(np.bincount(self.owners, minlength=self.list_of_tasks.max() + 1))
        return Selection(indptr, self.columns, self.list_of_tasks, False)


class Chunk(NamedTuple):
    """What the worker of a chunk is sent: its tasks, and its entries of their selections."""

    # It has neither selections nor the numbers of the tasks, so that little is sent.
    tile_job: TileJob
    filter: Entries | None = None
    candidates: Entries | None = None

    def job(self) -> Job:
        """Return the job of the chunk, with selections."""
        filter = self.filter and self.filter.all()
        candidates = self.candidates and self.candidates.all()
        return replace(self.tile_job.job, filter=filter, candidates=candidates)


def take_true_scores(*blocks: Any, reader: Reader) -> Array:
    """Return the scores of pairs of a chunk; those of bfloat16 as raw numbers.

    Behind the arrays of the chunk stand its place, and the rows and columns of the pairs in it.
    """
    tile, rows, columns = blocks[-1]
    scores = reader.opened(blocks[:-1], tile).score_pairs(rows, columns)
    return TrueScores(np.array(scores), reader.dtype).scores.view(named_dtype(reader.dtype)[1])


def count_chunk(*blocks: Any, reader: Reader) -> SourceCounts:
    """Count a chunk; a tensor on a device is counted there."""
    chunk: Chunk = blocks[-1]
    tile_job = chunk.tile_job
    source = reader.opened(blocks[:-1], tile_job.tile)
    left = tile_job.tile.left
    counted = count_source(source, chunk.job(), tile_job.true_scores, first_column=left)
    return tile_job.placed(counted)


def add_up(parts: Sequence[SourceCounts], rules: Rules) -> SourceCounts:
    """Add up the counts of several chunks of the same tasks; keep the first fault of all.

    Examples
    --------
    >>> rules = read_rules({})
    >>> counts = PartialCounts.zeros(2, rules).arrays
    >>> faults = [None, Fault("nan", 0, 3, 8), Fault("nan", 0, 3, 5)]
    >>> add_up([SourceCounts(counts, fault) for fault in faults], rules).fault.column
    5
    """
    total = PartialCounts.zeros(len(parts[0].arrays["above"]), rules)
    for part in parts:
        total.add(part.arrays)
    faults = [part.fault for part in parts if part.fault is not None]
    return SourceCounts(total.arrays, min(faults, key=_place_of, default=None))


def _place_of(fault: Fault) -> tuple[int, int]:
    return fault.row, fault.column


# -- in the calling process ------------------------------------------------------------------------


def cut_selection(selection: Selection | None, tasks: int, lefts: IntArray) -> dict[int, Entries]:
    """Cut the lists of tasks where chunks of columns begin: each entry is in one chunk."""
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
    firsts = (indptr[used] - indptr_of(sizes)[:-1])[owners]
    columns = indices[firsts + np.arange(len(firsts))]
    if lefts[-1] < 2**31:
        columns = columns.astype(np.int32, copy=False)
    else:
        columns = columns.astype(np.int64, copy=False)
    entries = {}
    for j, positions in groups_of(places_in(columns, lefts)):
        entries[j] = Entries(owners[positions], columns[positions], list_of_tasks)
    return entries


def places_in(numbers: IntArray, starts: IntArray) -> IntArray:
    """Return the chunk that holds each row or column.

    A chunk of length 0 begins where the next one does, and is skipped.
    """
    return np.searchsorted(starts, numbers, side="right") - 1


class ChunkSource:
    """The chunks of Dask arrays as a source: its tiles are the chunks.

    Parameters
    ----------
    arrays : list of (dask.array.Array, str)
        What workers read, with the axes of each: "i" numbers chunks of rows, "j" those of columns,
        and there is one chunk along "k".
    sizes : (tuple of int, tuple of int)
        The number of rows of each chunk of rows, and of columns of each chunk of columns.
    reader : Reader
    """

    is_whole = False
    in_place = True
    device = ""

    def __init__(
        self,
        arrays: list[tuple[Any, str]],
        sizes: tuple[tuple[int, ...], tuple[int, ...]],
        reader: Reader,
    ) -> None:
        self.arrays = arrays
        self.reader = reader
        heights, widths = sizes
        self.tops = indptr_of(heights)
        self.lefts = indptr_of(widths)
        self.shape = int(self.tops[-1]), int(self.lefts[-1])
        self.dtype = reader.dtype
        self.carrier = named_dtype(reader.dtype)[1]
        self.itemsize = self.carrier.itemsize
        self.nbytes = self.shape[0] * self.shape[1] * self.itemsize

    def score_pairs(self, rows: IntArray, columns: IntArray) -> Array:
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

    def begin_on_device(self, tasks: PartOfTasks, true_scores: Array | None) -> None:
        """Return None: workers count chunks where these are."""

    def tiles(self) -> list[Tile]:
        """Return the chunks that are not empty, row by row."""
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

    def has_whole_rows(self, tile: Tile) -> bool:
        """Return False: true scores are gathered first."""
        return False

    def opened(self, tile: Tile) -> AbstractContextManager[CoreScores]:
        """Compute a chunk, and open it in this process."""
        numbers = dict(zip("ij", self.chunk_at(tile), strict=True), k=0)
        blocks = []
        for array, axes in self.arrays:
            blocks.append(array.blocks[tuple(numbers[axis] for axis in axes)])
        source = self.reader.opened(dask.compute(*blocks), tile)
        return source.opened(tile._replace(top=0, left=0))

    def facts(self) -> dict[str, str]:
        """Return a digest of the names of the arrays, which stand for what they are made of."""
        return {"scores": sha256_of(*(array.name for array, _ in self.arrays))}

    def count_on_workers(self, jobs: Sequence[TileJob]) -> Iterator[SourceCounts]:
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
            plain = first._replace(
                tasks=slice(None), job=replace(first.job, filter=None, candidates=None)
            )
            for job in band:
                i, j = self.chunk_at(job.tile)
                if j in let_in or not let_in:
                    of_chunk = plain._replace(tile=job.tile)
                    sent[i, j] = Chunk(of_chunk, left_out.get(j), let_in.get(j))
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
            partial(function, reader=self.reader),
            name,
            axes_of_result,
            *arguments,
            numblocks={array.name: array.numblocks for array in arrays},
        )
        graph = dask.highlevelgraph.HighLevelGraph.from_collections(name, layer, arrays)
        return graph, keys


def with_sums(
    graph: Any, keys: Mapping[tuple[int, int], Any], add: Callable[..., SourceCounts]
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


def rules_of_workers(rules: Rules) -> Rules:
    """Return the rules that are sent: one thread for a task of Dask by default, and no listener."""
    return replace(rules, threads=rules.threads or 1, progress=None)


def rank_chunks(source: ChunkSource, job: Job, progress: bool | Listener | None) -> Ranks:
    """Gather the true scores, count what is above them in each chunk, and add the counts up.

    Raises
    ------
    ValueError
        For a target that is not a candidate, for the first NaN that the rule forbids, and for a
        true score that changed in the second pass.
    """
    rules = job.rules
    report_progress = reporter(progress, 2, "passes")
    job.check_targets()
    report_progress(0)
    true = TrueScores(source.score_pairs(job.all_rows, job.targets), source.dtype)
    report_progress(1)
    counted = count_source(source, job, true.scores, tile_map=source.count_on_workers)
    forbidden_nans: list[tuple[int, int]] = []
    if counted.fault is not None:
        forbidden_nans.append(_place_of(counted.fault))
    if true.first_nan(rules.nan) >= 0:
        rows = job.all_rows[true.nan].tolist()
        columns = job.targets[true.nan].tolist()
        forbidden_nans += zip(rows, columns, strict=True)
    if forbidden_nans:
        row, column = min(forbidden_nans)
        raise job.error_of_true_nan(row, column)
    counts = PartialCounts(counted.arrays, rules)
    differing = counts.arrays["differing"]
    if differing.any():
        raise InputValueError(
            "scores",
            f"the true score of task {differing.argmax()} changed when its chunk was "
            "computed again; persist() keeps chunks that differ each time",
        )
    report_progress(2)
    return job.ranks(counts.final_counts(true), source.dtype)


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
    on_workers = rules_of_workers(rules)
    reader = Reader(dtype, rules.dtype, on_workers.num_threads)
    source = ChunkSource([(scores, "ij")], scores.chunks, reader)
    return rank_chunks(source, replace(job, rules=on_workers), rules.progress)


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
        which is scored on the device of its worker where `truerank.rank_embeddings` would.
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
            vectors = widen_bfloat16(pairs.query_array)
        else:
            vectors = np.array(pairs.query_array)
        queries = da.from_array(vectors, -1)
    # Without `persist` Dask may make a chunk of queries again in each task that uses it.
    queries = da.atleast_2d(queries).rechunk({1: -1}).persist()
    arrays = [(queries, "ik"), (entities.rechunk({1: -1}), "jk")]
    if bias is not None:
        if bias is bias_seen:
            bias = da.from_array(pairs.bias, -1)
        arrays.append((bias.rechunk(entities.chunks[:1]).persist(), "j"))
    on_workers = rules_of_workers(rules)
    reader = Reader(pairs.dtype, rules.dtype, on_workers.num_threads, similarity, rules.layout)
    source = ChunkSource(arrays, (queries.chunks[0], entities.chunks[0]), reader)
    ranks = rank_chunks(source, replace(job, rules=on_workers), rules.progress)
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
