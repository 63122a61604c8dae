"""Both directions of an alignment, counted from the same scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..counting.job import prepare
from ..embeddings.scoring import explain_pair, rank_embeddings, scored_by
from ..embeddings.vectors import opened
from ..inputs.checks import positive
from .ids import DIRECTIONS, GRAPHS, as_ids
from .wording import in_words_of_sides

if TYPE_CHECKING:
    from ..counting.job import Job
    from ..embeddings.vectors import CSLS
    from ..ranks.container import Ranks
    from ..tasks.task import SideTasks

_FORWARD, _BACKWARD = GRAPHS, GRAPHS[::-1]  # who asks, and who is found

# So many pairs of one entity are counted beside each other, and so many known answers to a task
# taken out again; where there are more, each direction is better counted by itself.
_BESIDE, _KNOWN = 8, 32


def rank_both(
    left: Any,
    right: Any,
    sides: Mapping[str, SideTasks],
    *,
    similarity: str = "cosine",
    csls: CSLS | None = None,
    nan: str = "raise",
    dtype: Any = None,
    block: int | None = None,
    threads: int | None = None,
    audit: bool = False,
) -> tuple[Ranks, Ranks]:
    """Rank left against right and right against left, each score being made once.

    Both sides have the same pairs in the same order, and on each the candidates are one array or
    None, among which the other side's queries are. The result is `rank_embeddings` of each side,
    bit for bit: a score is the same in both directions.

    Parameters
    ----------
    left, right : array_like, shape (n1, d) and (n2, d), or paths
        As queries and entities of `rank_embeddings`.
    sides : mapping of str to SideTasks
        "left_to_right" and "right_to_left".
    similarity, csls, nan, dtype, block, threads, audit
        As in `rank_embeddings`. With `audit` each direction is counted by itself.

    Returns
    -------
    tuple of Ranks
        Left to right, and right to left; without labels.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does.
    """
    forward, backward = (sides[direction] for direction in DIRECTIONS)
    rules = {"similarity": similarity, "nan": nan, "dtype": dtype, "block": block}
    if audit or not _pays_off(forward, backward):
        mirrored = None if csls is None else csls.swapped()
        rules |= {"threads": threads, "audit": audit}
        with in_words_of_sides(*_FORWARD):
            there = _rank_one(left, right, forward, csls=csls, **rules)
        with in_words_of_sides(*_BACKWARD):
            return there, _rank_one(right, left, backward, csls=mirrored, **rules)
    size = positive("block", block) if block is not None else 0
    with (
        in_words_of_sides(*_FORWARD),
        opened(left, right, similarity, None, dtype, csls) as pairs,
    ):
        shapes = pairs.shape, pairs.shape[::-1]
        both = ((forward, shapes[0]), (backward, shapes[1]))
        jobs = [job_of(side, shape, nan=nan, threads=threads) for side, shape in both]
        lefts = as_ids("candidates", backward.candidates, pairs.shape[0])
        rights = as_ids("candidates", forward.candidates, pairs.shape[1])
        # the left entity of every pair, and the right one
        asked = _core.Tasks(jobs[1].targets, jobs[0].targets, jobs[0].filter)
        counted = _core.rank_grid(
            _core.Grid(pairs.given, lefts, rights),
            asked,
            jobs[1].filter,
            nan,
            size,
            jobs[0].threads,
        )
    results = []
    for job, asking, found in zip(jobs, (_FORWARD, _BACKWARD), counted, strict=True):
        if fault := found.fault:
            with in_words_of_sides(*asking):
                raise explain_pair(fault, nan, job.targets)
        ranks = job.ranks(found.arrays, pairs.dtype, pairs.files)
        results.append(scored_by(ranks, similarity, csls))
    return results[0], results[1]


def _pays_off(forward: SideTasks, backward: SideTasks) -> bool:
    """Whether to score all candidates of both sides once is less than all queries of each."""
    asked = [len(side.queries) for side in (forward, backward)]
    among = [
        side.columns if side.candidates is None else len(side.candidates)
        for side in (forward, backward)
    ]
    if asked[0] * among[0] + asked[1] * among[1] < among[0] * among[1]:
        return False
    if any(np.bincount(side.targets).max(initial=0) > _BESIDE for side in (forward, backward)):
        return False
    if backward.filter is None:
        return True
    known = np.diff(backward.filter[0])[backward.rows]
    return int(known.sum()) <= _KNOWN * len(backward)


def job_of(
    side: SideTasks,
    shape: tuple[int, ...],
    *,
    order: str = "descending",
    nan: str,
    threads: int | None,
    audit: bool = False,
) -> Job:
    """Check what is to be counted for one direction, in scores whose rows are all who may ask."""
    without, candidates = side.selections()
    rows = side.queries[side.rows, 0]
    given = (side.targets, rows, without, candidates, order, nan, threads, audit)
    return prepare(shape, False, *given)


def _rank_one(queries: Any, entities: Any, side: SideTasks, **rules: Any) -> Ranks:
    without, candidates = side.selections()
    rows = side.queries[side.rows, 0]
    return rank_embeddings(
        *(queries, entities, side.targets),
        rows=rows,
        filter=without,
        candidates=candidates,
        **rules,
    )
