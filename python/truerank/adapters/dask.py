"""Ranks on many machines: counts the chunks of a Dask array of scores or vectors on their workers.

`rank` is `truerank.rank` for a matrix of scores in chunks of rows, of columns, or of both.
`rank_embeddings` is `truerank.rank_embeddings` for entities in chunks. Both give the same integers
as these functions, bit for bit, for any chunks, workers and scheduler. They use the scheduler that
Dask would use: that of the current `distributed.Client`, or the one that `dask.config` names.

**Two passes.** First, every chunk that holds a true candidate gives its true scores, one number for
each task, and only these are gathered. Then a `RankCounter` counts each chunk on its worker, where
the chunk is dropped again, and the counters of the same rows are merged in a tree.

**Chunks are read twice.** Chunks that hold a true candidate are read, or computed, once in each
pass. If that is expensive and the workers have enough memory, call ``array = array.persist()``
first. A chunk that differs the second time is an error.

**Threads.** Each task of Dask counts with one thread unless `threads` says otherwise, because Dask
runs as many tasks at once as its workers have threads.

**Failures.** Tasks have no side effects. If a worker dies, Dask repeats its tasks on other workers,
and the integers are the same.
"""

from __future__ import annotations

from copy import copy
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import InputTypeError, InputValueError, RankCounter, Ranks, concatenate, open_scores
from .. import rank as rank_scores
from ..counting.job import prepare_job
from ..embeddings.vectors import Embeddings
from ..inputs.array_likes import widen_bfloat16
from ..inputs.progress_listeners import reporter
from ..inputs.rules import PLAIN
from ..tasks.side import lists_of_tasks
from . import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..stores import Store

    Array = npt.NDArray[Any]

da: Any = import_extra("dask.array", "truerank.adapters.dask", extra="dask")
dask: Any = import_extra("dask", "truerank.adapters.dask")

__all__ = ["rank", "rank_embeddings"]

# A job and `Embeddings` are not public: a job has the lists of a filter apart, in whatever form it
# was given; `Embeddings` have scores that are made while they are counted, which bounds spare.

FAN_IN = 8  # One task of Dask merges the counters of so many chunks.
UNCHECKED: dict[str, Any] = {"dtype": None, "progress": None}  # They are checked where they count.
NAN = 3  # The row of the counts of NaN in `RankCounter.counts`.


# -- on workers ------------------------------------------------------------------------------------


def open_chunk(
    *arrays: Any,
    shape: tuple[int, int],
    dtype: str,
    raw_dtype: Any,
    similarity: str | None = None,
    layout: Any = None,
) -> Store:
    """Open a chunk of scores, which must have the `shape` and `dtype` that the Dask array says.

    Without a similarity the arrays are the scores; else they are queries, entities, and a bias or
    None, whose scores are made as they are counted. `raw_dtype` says what 16-bit numbers are.
    """
    store: Store
    if similarity is None:
        (scores,) = arrays
        store = open_scores(scores, dtype=raw_dtype)
    else:
        queries, entities, bias = arrays
        store = Embeddings(queries, entities, similarity, bias, raw_dtype, layout=layout)
    expected = f"a chunk of {dtype} {shape}, as the dask array says"
    got = f"{store.dtype} {store.shape}"
    if store.dtype != dtype:
        raise InputTypeError("scores", expected=expected, got=got)
    if store.shape != shape:
        raise InputValueError("scores", expected=expected, got=got)
    return store


def take_scores(opened: Callable[..., Store], rows: Array, columns: Array, *arrays: Any) -> Array:
    """Return the scores of pairs of a chunk."""
    return opened(*arrays).take(rows, columns)


def count_chunk(
    opened: Callable[..., Store], counter: RankCounter, start: int, *arrays: Any
) -> RankCounter:
    """Count a chunk by a copy of a counter, which is that of other chunks, too."""
    counter = copy(counter)
    counter.update(opened(*arrays), start=start)
    return counter


def merge_counters(*counters: RankCounter) -> RankCounter:
    """Merge counters of the same tasks into a new one."""
    return reduce(RankCounter.merge, counters[1:], copy(counters[0]))


# -- in the calling process ------------------------------------------------------------------------


class Chunks:
    """Chunks of scores, or of the vectors that make them.

    `arrays[i][j]` has the delayed arrays of a chunk, and the chunk `heights[i]` rows and
    `widths[j]` columns. Its options are those of `open_chunk`, which takes all this.
    """

    def __init__(
        self,
        arrays: list[list[tuple[Any, ...]]],
        heights: tuple[int, ...],
        widths: tuple[int, ...],
        **options: Any,
    ) -> None:
        self.arrays = arrays
        self.heights = heights
        self.widths = widths
        self.tops = np.cumsum([0, *heights])
        self.lefts = np.cumsum([0, *widths])
        self.options = options

    def call(self, function: Callable[..., Any], i: int, j: int, *arguments: Any) -> Any:
        """Return the delayed call of a function with what opens a chunk, and its arrays."""
        shape = self.heights[i], self.widths[j]
        open_this = partial(open_chunk, shape=shape, **self.options)
        return dask.delayed(function)(open_this, *arguments, *self.arrays[i][j])

    def take(self, rows: Array, columns: Array) -> Array:
        """Return the scores of pairs, from the chunks that hold some, on their workers."""
        calls = []
        pairs_of_calls = []
        for i, pairs_of_rows in groups_by_chunk(rows, self.tops):
            for j, places in groups_by_chunk(columns[pairs_of_rows], self.lefts):
                pairs = pairs_of_rows[places]
                place_in_chunk = rows[pairs] - self.tops[i], columns[pairs] - self.lefts[j]
                calls.append(self.call(take_scores, i, j, *place_in_chunk))
                pairs_of_calls.append(pairs)
        scores = np.concatenate(dask.compute(*calls))
        in_order: Array = scores[np.argsort(np.concatenate(pairs_of_calls))]
        return in_order

    def count(
        self, job: Any, true_scores: Array, rules: dict[str, Any]
    ) -> tuple[Array, tuple[RankCounter, ...]]:
        """Return the tasks of each chunk of rows, one after the other, and the counter of each.

        A chunk that no task reads is not computed.
        """
        rows = job.all_rows
        merge = dask.delayed(merge_counters)
        tasks_of_chunks = []
        totals = []
        for i, tasks in groups_by_chunk(rows, self.tops):
            empty_counter = RankCounter(
                true_scores[tasks],
                job.targets[tasks],
                candidates=int(self.lefts[-1]),
                filter=pick_lists(job.filter, tasks),
                rows=rows[tasks] - self.tops[i],
                **rules,
            )
            counter = dask.delayed(empty_counter, traverse=False)
            counters = []
            for j, left in enumerate(self.lefts[:-1]):
                counters.append(self.call(count_chunk, i, j, counter, left))
            while len(counters) > 1:  # They are merged in a tree.
                starts = range(0, len(counters), FAN_IN)
                counters = [merge(*counters[start : start + FAN_IN]) for start in starts]
            totals += counters
            tasks_of_chunks.append(tasks)
        return np.concatenate(tasks_of_chunks), dask.compute(*totals)


def groups_by_chunk(numbers: Array, starts: Array) -> list[tuple[int, Array]]:
    """Return each chunk that holds some of the rows or columns, and their positions."""
    # A chunk of length 0 begins where the next one does, and holds none.
    chunks = np.searchsorted(starts, numbers, side="right") - 1
    order = np.argsort(chunks, kind="stable")
    held, first = np.unique(chunks[order], return_index=True)  # by numpy: few values
    return list(zip(held.tolist(), np.split(order, first[1:]), strict=True))


def pick_lists(filter: Any, tasks: Array) -> Any:
    """Return the lists of some tasks of a job, without those of others, as a filter."""
    if filter is None:
        return None
    lists = np.arange(len(filter.indptr) - 1) if filter.lists is None else filter.lists
    return lists_of_tasks((filter.indptr, filter.indices, lists), tasks)


def raise_first_nan(chunks: Chunks, job: Any, nan: Any, has_nan: npt.NDArray[np.bool_]) -> None:
    """Raise the error of the first NaN of the matrix, which `rank` finds in the row that has it."""
    row = job.all_rows[has_nan].min()
    tasks = np.flatnonzero(job.all_rows == row)
    columns = np.arange(chunks.lefts[-1])
    scores = chunks.take(np.full(len(columns), row), columns)
    rank_scores(
        np.broadcast_to(scores, (row + 1, len(columns))),  # The error names the row.
        job.targets[tasks],
        rows=job.all_rows[tasks],
        filter=pick_lists(job.filter, tasks),
        nan=nan,
        dtype=chunks.options["dtype"],
    )
    raise changed_scores()  # There is no NaN any more.


def changed_scores() -> InputValueError:
    """Return the error for chunks that are others when they are computed again."""
    return InputValueError("scores", "some changed when a chunk was computed again")


def rank_chunks(chunks: Chunks, job: Any, options: dict[str, Any]) -> Ranks:
    """Gather the true scores, count what is above them in each chunk, and add the counts up.

    The first NaN of the matrix that the rule forbids is an error, and so are scores that change.
    """
    if job.candidates is not None:
        raise InputTypeError("candidates", expected="none, or a filter that leaves out others")
    dtype = chunks.options["dtype"]
    nan = options.get("nan", "raise")
    rules = {"order": "descending", **options, "dtype": dtype, "progress": None}
    rules["threads"] = options.get("threads") or 1
    # All NaN are counted where one is an error, so that the first one of the matrix can be named.
    counting_rules = rules | {"nan": "worst" if nan == "raise" else nan}
    report_progress = reporter(options.get("progress"), 2, "passes")
    report_progress(0)
    if not len(job.targets):
        report_progress(2)
        no_scores = np.zeros((1, 0), "uint16" if dtype == "bfloat16" else dtype)
        no_lists = pick_lists(job.filter, job.targets)
        return rank_scores(no_scores, [], rows=[], filter=no_lists, **rules)
    true_scores = chunks.take(job.all_rows, job.targets)
    has_nan = np.isnan(widen_bfloat16(true_scores) if dtype == "bfloat16" else true_scores)
    if nan == "omit" and has_nan.any():
        raise_first_nan(chunks, job, nan, has_nan)
    report_progress(1)
    tasks, counters = chunks.count(job, true_scores, counting_rules)
    if any(counter.differing.any() for counter in counters):
        raise changed_scores()
    order = np.argsort(tasks)
    ranks = concatenate([counter.ranks() for counter in counters])[order]
    if nan == "raise":
        if ranks.audit is not None:
            numbers = ranks.audit.nan
        else:
            numbers = np.concatenate([counter.counts()[NAN] for counter in counters])[order]
        has_nan |= numbers > 0
        if has_nan.any():
            raise_first_nan(chunks, job, nan, has_nan)
    report_progress(2)
    return ranks.with_protocol(nan=nan)


def rank(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Any,
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
    rows, filter, order, nan, dtype, audit
        As in `truerank.rank`. Each chunk is sent the lists of its own rows, 4 or 8 bytes an entry.
        A chunk whose rows no task reads is not computed.
    candidates : None
        Candidates are refused: rank ``scores[:, candidates]``, or leave the others out by a filter.
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
        If `scores` is not a Dask array, if a chunk has another dtype than the array says, for
        candidates, and as `truerank.rank`.
    ValueError
        As `truerank.rank`, for chunks of unknown sizes, and if a true score changes when its chunk
        is computed again. The error names the first NaN of the whole matrix.

    Notes
    -----
    A chunk may be a tensor of torch, also on a device of its worker, where it is counted: the array
    then says a dtype of NumPy (that of ml_dtypes for bfloat16), and only what makes the tensor may
    come before this function.

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
    placeholder = _make_placeholder("scores", scores, "truerank.rank")
    RankCounter([], **options | UNCHECKED)  # It checks the options.
    raw = options.get("dtype")
    dtype = open_scores(placeholder, dtype=raw).dtype
    job = prepare_job(scores.shape, targets, rows=rows, filter=filter, candidates=candidates)
    scores = da.atleast_2d(scores)
    arrays = [[(block,) for block in blocks] for blocks in scores.to_delayed()]
    return rank_chunks(Chunks(arrays, *scores.chunks, dtype=dtype, raw_dtype=raw), job, options)


def rank_embeddings(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    similarity: str = "dot",
    bias: Any = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    layout: Any = None,
    **options: Any,
) -> Ranks:
    """Score every query with every entity on the worker of the entity, and count the ranks.

    The result is that of `truerank.rank_embeddings` for all entities, bit for bit, for any chunks,
    because the score of a pair depends only on its two vectors. The true pairs are scored first, on
    the workers of the true entities. Then the scores of each chunk of entities are compared with
    them where they are made, in registers and caches, and never stored.

    Parameters
    ----------
    queries : array_like or dask.array.Array, shape (q, d) or (d,)
        As in `truerank.rank_embeddings`. All queries are read here, and sent to every worker.
    entities : dask.array.Array, shape (n, d)
        In chunks of any known sizes; chunks along d are joined first. Chunks that hold a true
        entity are computed twice, unless the array is persisted. A chunk may be a tensor of torch,
        which is copied to the host if it is on a device of its worker.
    targets : array_like of int, shape (tasks,), or int
        The entity that is each task's true candidate. A Dask array is computed.
    similarity : str
        As in `truerank.rank_embeddings`, but for "maxsim"; without CSLS.
    bias : array_like or dask.array.Array, shape (n,), optional
        Added to the scores of each entity. Each chunk of entities is sent only its own values.
    rows, filter, nan, dtype, layout, audit
        As in `truerank.rank_embeddings`. Every worker is sent all lists.
    candidates : None
        As in `rank`.
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
    if similarity == "maxsim":
        expected = "the similarity of two vectors: a chunk has no lists of them"
        raise InputValueError("similarity", expected=expected, got=repr(similarity))
    placeholder = _make_placeholder("entities", entities, "truerank.rank_embeddings")
    if "order" in options:
        raise InputTypeError("order", expected="none: higher similarities are better")
    RankCounter([], **options | UNCHECKED)  # It checks the options.
    # Chunks of unknown sizes are refused before any is computed.
    for name, value in (("queries", queries), ("bias", bias)):
        if isinstance(value, da.Array):
            _make_placeholder(name, value)
    queries, bias = dask.compute(queries, bias, traverse=False)
    raw = options.get("dtype")
    embeddings = Embeddings(queries, placeholder, similarity, bias, raw, layout=layout)
    job = embeddings.job(targets, rows, filter, candidates, PLAIN)
    # Workers may not have a file, and numpy has no word for bfloat16.
    vectors = embeddings.queries.array
    if embeddings.queries.dtype == "bfloat16":
        vectors = widen_bfloat16(vectors)
    vectors = dask.delayed(vectors, traverse=False)
    widths = entities.chunks[0]  # Entities are columns of scores.
    biases: list[Any] = [None] * len(widths)
    if embeddings.bias is not None:
        biases = np.split(embeddings.bias, np.cumsum(widths)[:-1])
    entity_blocks = entities.rechunk({1: -1}).to_delayed().ravel()
    arrays = []
    for block, bias_of_block in zip(entity_blocks, biases, strict=True):
        arrays.append((vectors, block, bias_of_block))
    scoring = {"similarity": similarity, "layout": layout}
    if embeddings.entities.array.itemsize != 2:  # A name of queries' bits is of no use.
        raw = None
    scoring |= {"dtype": embeddings.dtype, "raw_dtype": raw}
    chunks = Chunks([arrays], embeddings.shape[:1], widths, **scoring)
    return rank_chunks(chunks, job, options).with_protocol(similarity=similarity)


def _make_placeholder(name: str, value: Any, instead: str = "") -> Any:
    """Return an array of the shape and dtype of a Dask array that takes no memory, for checks.

    Any other is refused, as another function takes it `instead`.
    """
    if not isinstance(value, da.Array):
        got = f"{type(value).__name__}; {instead} takes it"
        raise InputTypeError(name, expected="a dask array", got=got)
    if np.isnan(value.shape).any():
        raise InputValueError(name, expected="chunks of known sizes", got=f"shape {value.shape}")
    return np.broadcast_to(np.empty((), value.dtype), value.shape)
