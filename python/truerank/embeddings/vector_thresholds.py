"""Thresholds in place of targets: of scores, and of vectors whose scores are never stored."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Unpack

from .. import _core
from ..counting.driver import count_source
from ..counting.score_thresholds import (
    ThresholdCounts,
    ThresholdJob,
    count_scores_above,
    prepare_thresholds,
)
from ..counting.sources import OpenTile
from ..errors import InputValueError
from ..inputs.rules import ThresholdOptions, read_rules, with_options
from ..naming import public
from ..stores.store import cut_tiles
from .vectors import Embeddings, VectorSource
from .watching import reporter_to, watching

if TYPE_CHECKING:
    from ..inputs.words import Similarity
    from ..stores import Tile
    from .vectors import CSLS

# The scores of a query are stored if there are more thresholds. With AVX-512, for dot and l1 at
# lengths of 64 and 256, both ways take the same time with 24 to 30.
MANY = 24
TILE_BYTES = 16 << 20


@public("truerank")
@with_options(ThresholdOptions)
def count_above(
    queries: Any,
    entities: Any,
    thresholds: Any = ...,
    *,
    similarity: Similarity | None = None,
    bias: Any = None,
    csls: CSLS | None = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    block: int | None = None,
    **options: Unpack[ThresholdOptions],
) -> ThresholdCounts:
    """Count, for every task, the candidates above each of its thresholds, and those equal to it.

    ``count_above(queries, entities, thresholds)`` counts the scores of vectors, which are never
    stored, and ``count_above(scores, thresholds)`` a matrix of scores; entities may also be None
    then. For a threshold a and the scores S of a task's candidates, ``above`` = #{b in S : b > a},
    ``tied`` = #{b in S : b == a} and ``candidates`` = #S. It is what `rank_embeddings` and `rank`
    count, with thresholds instead of true scores: there is no true candidate, so that ``tied`` and
    ``candidates`` may be 0 and a filter leaves out all that it lists.

    Parameters
    ----------
    queries : array_like, shape (q, d) or (d,), or path; or scores
        Vectors as in `rank_embeddings`; or scores as in `rank`, also from files and on a device.
    entities : array_like, shape (n, d), or path; or None
        Vectors of the candidates. None: `queries` are scores.
    thresholds : number, or array_like of numbers, shape (tasks,) or (tasks, m)
        Scores, not distances: with "l1" the entities within a distance r of a query are those above
        or equal to the threshold -r. One for all tasks, one for each, or m for each, in any order
        and with repeats. Infinities are allowed. They need not be of the dtype of the scores: each
        is compared as the number that it is, without rounding (see Notes).
    similarity, layout, bias, csls, block
        As in `rank_embeddings`, "dot" by default; only for vectors.
    rows : array_like of int, shape (tasks,), optional
        The query, or row of scores, of each task, in any order and with repeats. Default: task i
        has number i; if there is a single query or row, it is that of all tasks.
    filter : selection, optional
        Candidates to leave out, per task, in the forms of `rank`.
    candidates : selection, or array_like of int, optional
        The only candidates to let in, per task or one array for all.
    order : {"descending", "ascending"}
        "ascending", only for scores: lower ones are better: ``above`` = #{b in S : b < a}.
    nan : {"raise", "worst", "omit"}
        The rule for a NaN in S. "raise": an error. "worst": a candidate that is never above and
        never tied. "omit": not a candidate.
    dtype, threads, progress
        As in `rank_embeddings` and `rank`.

    Returns
    -------
    ThresholdCounts
        ``above``, ``tied`` and ``candidates``, int64, of the shape of the thresholds.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` and `rank` do, and for thresholds that are not real numbers, whose
        number does not fit or that are NaN (the error names the place).

    Notes
    -----
    A float64 threshold of 0.1 is not equal to a float32 score of 0.1, which is a little greater.
    Where scores cannot have the value of a threshold, they are compared with the greatest value
    below it that they can have: just as many are above either, and ``tied`` is 0.

    Several thresholds of a task are counted in one pass over its scores. Where a query has many,
    its scores are made first, in tiles of 16 MB, or of one query if that is more.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> entities = np.array([[0, 1], [1, 0], [1, 1], [2, 2]], np.float32)
    >>> queries = np.array([[1, 0.5], [2, 1]], np.float32)
    >>> counts = tr.count_above(queries, entities, -1.5, similarity="l1")
    >>> counts.above + counts.tied  # entities within 1.5 of each query
    array([3, 2])
    >>> scores = [[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]]
    >>> counts = tr.count_above(scores, [[0.5, 0.0], [0.2, 1.0]])
    >>> counts.above, counts.tied
    (array([[1, 3],
           [1, 0]]), array([[1, 0],
           [2, 0]]))
    """
    rules = read_rules(options, ThresholdOptions)
    tasks: dict[str, Any] = {"rows": rows, "filter": filter, "candidates": candidates}
    if thresholds is ... or entities is None:
        only_vectors = {"similarity": similarity, "bias": bias, "csls": csls, "block": block}
        only_vectors["layout"] = rules.layout
        for name, value in only_vectors.items():
            if value is not None:
                raise InputValueError(name, expected="none for scores, which are made already")
        if thresholds is ...:  # It came as the second argument.
            thresholds = entities
        return count_scores_above(queries, thresholds, rules, **tasks)
    if rules.order != "descending":
        expected = "'descending' for vectors, whose similarities are higher for what is nearer"
        raise InputValueError("order", expected=expected, got=repr(rules.order))
    if similarity is None:
        similarity = "dot"
    embeddings = Embeddings(
        queries,
        entities,
        similarity,
        bias,
        rules.dtype,
        csls,
        layout=rules.layout,
    )
    prepared = prepare_thresholds(
        embeddings.task_shape,
        embeddings.dtype,
        thresholds,
        rules=rules,
        score_names=embeddings.names.score_names,
        **tasks,
    )
    job = prepared.job
    with watching(rules.progress, embeddings.nbytes) as watch:
        if block is None and not embeddings.on_device and _are_many(prepared, embeddings):
            source = StoredTiles(embeddings, rules.num_threads, in_tiles=True)
            report_progress = reporter_to(watch, source.nbytes)
            counts, _ = count_source(source, job, prepared.scores, report_progress=report_progress)
        else:
            counts, _ = embeddings.counts(job, prepared.scores, block=block, watch=watch)
        return prepared.counts(counts)


def _are_many(prepared: ThresholdJob, embeddings: Embeddings) -> bool:
    """Whether there are so many thresholds that it is faster to store the scores for them.

    It is not where scores of others than the candidates, or of other queries, would be made for
    nothing.
    """
    if len(prepared.shape) == 1 or prepared.job.candidates is not None:
        return False
    tasks, thresholds_of_task = prepared.shape
    return thresholds_of_task > MANY and tasks >= embeddings.shape[0]


class StoredTiles(VectorSource):
    """Vectors as a source whose scores are made and stored tile by tile, since many share them."""

    def tiles(self) -> list[Tile]:
        """As in `Source`."""
        return cut_tiles(self.shape, self.itemsize, TILE_BYTES)

    def opened(self, tile: Tile) -> AbstractContextManager[OpenTile]:
        """Return the scores of a tile."""
        vectors = self.embeddings.core(tile)
        scores = _core.score_embeddings(vectors, None, None, self.threads)
        return nullcontext(OpenTile(_core.Scores(scores, self.dtype, False)))
