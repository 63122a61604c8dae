"""Thresholds in place of targets, for the scores of vectors, which are never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..counting.partial_counts import PartialCounts
from ..counting.score_thresholds import ThresholdCounts, ThresholdJob, prepare_thresholds
from ..inputs.checks import positive_integer
from ..inputs.naming import public
from ..inputs.selection import selection_of_tasks
from .device_embeddings import open_in_place
from .vectors import OpenEmbeddings
from .watching import watching

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..inputs.progress_listeners import Progress
    from ..inputs.words import NanRule, Similarity
    from .vectors import CSLS
    from .watching import Watch

# With more thresholds than this, the scores of a query are stored: with AVX-512, for dot and l1 at
# lengths of 64 and 256, both ways take the same time with 24 to 30.
MANY = 24
TILE_BYTES = 16 << 20


@public("truerank")
def count_above(
    queries: Any,
    entities: Any,
    thresholds: Any,
    *,
    similarity: Similarity = "dot",
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    nan: NanRule = "raise",
    dtype: Any = None,
    block: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> ThresholdCounts:
    """Score every query with every entity; count the entities above thresholds, or equal to them.

    It is what `rank_embeddings` counts, with thresholds instead of the scores of true entities, as
    fast and of the same bits: for a threshold a and the scores S of a task's candidates, ``above``
    = #{b in S : b > a}, ``tied`` = #{b in S : b == a} and ``candidates`` = #S. There is no true
    candidate, so that ``tied`` and ``candidates`` may be 0 and a filter leaves out all that it
    lists.

    Parameters
    ----------
    queries, entities, similarity, bias, csls, dtype, block, threads
        As in `rank_embeddings`.
    thresholds : number, or array_like of numbers, shape (tasks,) or (tasks, m)
        Scores, not distances: with "l1" the entities within a distance r of a query are those above
        or equal to the threshold -r. One for all tasks, one for each, or m for each, in any order
        and with repeats. Infinities are allowed. Each is compared as the number that it is, without
        rounding to the dtype of the scores (see `count_scores_above`).
    rows : array_like of int, shape (tasks,), optional
        The query of each task, in any order and with repeats. Default: task i is query i; if there
        is a single query, it is that of all tasks.
    filter : selection, optional
        Entities to leave out, per task, in the forms of `rank`.
    candidates : selection, or array_like of int, optional
        The only entities to let in, per task or one array for all.
    nan : {"raise", "worst", "omit"}
        The rule for a candidate whose score is NaN. "raise": an error. "worst": a candidate that is
        never above and never tied. "omit": not a candidate.
    progress : callable or bool, optional
        As in `rank_embeddings`; certified bounds decide pairs here, too.

    Returns
    -------
    ThresholdCounts
        ``above``, ``tied`` and ``candidates``, int64, of the shape of the thresholds.

    Raises
    ------
    TypeError
        As `rank_embeddings`, and for thresholds that are not real numbers.
    ValueError
        As `rank_embeddings`, and for thresholds whose number does not fit or that are NaN (the
        error names the place).
    OSError
        For files that are missing or cannot be read.

    See Also
    --------
    count_scores_above : The same for a matrix of scores.

    Notes
    -----
    Several thresholds of a query are counted while its scores are in registers: each takes a
    comparison for each entity, and no further scoring. Where a query has many, so that comparisons
    would take longer than scores, the scores of some queries at a time are made and then counted in
    one pass, in tiles of 16 MB, or of one query if that is more. Vectors on a device are counted
    where `rank_embeddings` counts them.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [2, 2]], np.float32)
    >>> queries = np.array([[1, 0.5], [2, 1]], np.float32)
    >>> counts = tr.count_above(queries, entities, -1.5, similarity="l1")
    >>> counts.above + counts.tied  # entities within 1.5 of each query
    array([3, 2])
    >>> tr.count_above(queries, entities, [[0, 1, 2], [1, 2, 3]]).above
    array([[4, 2, 1],
           [3, 2, 1]])
    """
    embeddings = open_in_place(queries, entities, similarity, bias, dtype, csls)
    size = positive_integer("block", block) if block is not None else 0
    asked = prepare_thresholds(
        embeddings.shape,
        embeddings.is_single_query,
        embeddings.dtype,
        thresholds,
        rows=rows,
        filter=filter,
        candidates=candidates,
        nan=nan,
        raw_dtype=dtype,
        threads=threads,
        nouns=embeddings.roles.nouns,
    )
    with watching(progress, embeddings.nbytes) as watch:
        if isinstance(embeddings, OpenEmbeddings) and not size and _are_many(asked):
            found = _count_tiles(embeddings, asked, watch)
        else:
            found = embeddings.count_against(asked, size, watch)
    return asked.counts(found)


def _are_many(asked: ThresholdJob) -> bool:
    """Whether comparing all scores with all thresholds takes longer than to store the scores."""
    several = asked.shape[1] if len(asked.shape) == 2 else 1
    is_of_all = asked.job.candidates is None  # else scores of others would be made in vain
    return is_of_all and several > MANY


def _count_tiles(
    embeddings: OpenEmbeddings, asked: ThresholdJob, watch: Watch | None
) -> PartialCounts:
    """Score some queries at a time, and count all thresholds of each in one pass."""
    job, pairs = asked.job, embeddings.core_embeddings
    query_rows, rows = np.unique(job.all_rows, return_inverse=True)
    order = np.argsort(rows, kind="stable")
    total = PartialCounts(len(rows), job.rules)
    row_bytes = embeddings.shape[1] * np.dtype(embeddings.dtype).itemsize
    height = max(1, TILE_BYTES // max(1, row_bytes))
    for top in range(0, len(query_rows), height):
        if watch is not None:
            watch(top, len(query_rows))
        first, last = np.searchsorted(rows, [top, top + height], sorter=order)
        where = order[first:last]
        scores = _core.score_embeddings(pairs, query_rows[top : top + height], None, job.threads)
        filter = job.filter and selection_of_tasks(job.filter, where)
        tasks = _core.Tasks(rows[where] - top, job.targets[where], filter)
        tile = _core.Scores(scores, embeddings.dtype, False)
        given = (asked.values.scores[where], 0, job.rules, job.threads)
        counted = _core.partial_counts(tile, tasks, *given)
        del scores, tile  # freed before the next ones are made
        if fault := counted.fault:
            row = int(query_rows[top + fault.row])
            raise job.error_of(_core.Fault(fault.kind, fault.task, row, fault.column))
        total.add(counted.arrays, where)
    return total
