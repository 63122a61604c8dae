"""The side of a task of retrieval: a ranking for each right answer, and for judged documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.frames import Axis, by_position
from ..inputs.row_keys import are_among, distinct_in_place, look_up
from ..ranks.labels import Labels, as_labels
from ..splits.vocabularies import Vocabulary
from ..tasks.keyed_candidates import KeyedLists
from ..tasks.side_tasks import SideTasks
from .candidates import ChosenCandidates, draw_for_queries
from .sets import AnswerSets, PairCodes

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

SIDE = "answers"


def make_side(sets: AnswerSets, groups: Any, candidates: ChosenCandidates) -> SideTasks:
    """Make the tasks: one for each right answer, which is never in the filter of its query.

    One for each judged document that is a candidate of a query with right answers follows.
    """
    size = sets.entities.size
    codes, right = sets.codes()
    queries = codes.queries
    targets = np.ascontiguousarray(sets.pairs[:, 1])
    rows = right // size
    known = _known_alone(codes, sets, right)
    among: Any = candidates.pool
    if isinstance(among, KeyedLists):
        indptr, indices, _ = among.lists_of(queries)
        among = indptr, indices
    judged = _judged_candidates(codes, sets, known, among)
    if candidates.sampled is not None:  # which has no judged documents
        never_drawn = codes.lists(np.sort(np.append(right, known)))
        among = draw_for_queries(candidates, never_drawn, (rows, targets), size)
    rows = np.append(rows, judged // size)
    targets = np.append(targets, judged % size)
    if isinstance(among, tuple):
        indptr, indices = among
        among = indptr, indices, rows
    query = queries[rows]

    labels = {"queries": sets.queries.labels(query), "targets": sets.entities.labels(targets)}
    without_answers = np.zeros(len(rows), np.int64)
    without_answers[0] = sets.asked - len(queries)  # with one task, so that parts add up
    arrays: dict[str, Any] = {"without_answers": without_answers}
    if sets.gains is not None:
        arrays["gains"] = np.append(sets.gains, np.zeros(len(judged)))
    if groups is not None:
        labels["group"] = _read_groups(groups, sets.queries, queries)[rows]

    filter = codes.lists(known) if sets.known else None
    names = None if sets.names_alone else sets.entities.names
    return SideTasks(
        side=SIDE,
        queries=queries.reshape(-1, 1),
        rows=rows,
        targets=targets,
        columns=size,
        filter=filter,
        candidates=among,
        labels=labels,
        arrays=arrays,
        test_rows=query,
        height=sets.queries.size,
        names=names,
        row_axis=Axis(sets.queries.names, "task.queries"),
    )


def _known_alone(codes: PairCodes, sets: AnswerSets, right: IntArray) -> IntArray:
    """Return the codes of what known splits have and the test does not, ascending."""
    known = np.zeros(0, dtype=np.int64)
    if sets.known:
        encoded = [codes.encode(*columns) for columns in sets.known.values()]
        known = distinct_in_place(np.concatenate(encoded))
    leaked, _ = look_up(right, known)
    if not len(leaked):
        return known
    return np.delete(known, leaked)


def _judged_candidates(codes: PairCodes, sets: AnswerSets, known: IntArray, among: Any) -> IntArray:
    """Return the codes of judged documents that are candidates: not known, and let in.

    `among` are the candidates of all queries, or (indptr, indices) of each; None: all.
    """
    judged = codes.encode(*sets.judged.T)
    judged = judged[~are_among(judged, known)]
    if among is None:
        return judged
    if isinstance(among, tuple):
        indptr, indices = among
        listed = np.repeat(np.arange(len(codes.queries)), np.diff(indptr)) * codes.size + indices
        return judged[are_among(judged, listed)]
    return judged[are_among(judged % codes.size, among)]


def _read_groups(groups: Any, queries: Vocabulary, asked: IntArray) -> Labels:
    """Read the groups of some queries: labels of all in their order, or a mapping of queries."""
    if not isinstance(groups, Mapping):
        in_order = by_position("groups", groups, Axis(queries.names, "queries"))
        return as_labels("groups", in_order, queries.size)[asked]
    names = list(map(queries.label_of, asked.tolist()))
    missing = [name for name in names if name not in groups]
    if missing:
        expected = "a group for every query with a right answer"
        raise InputValueError("groups", expected=expected, got=f"none for {missing[0]!r}")
    return as_labels("groups", [groups[name] for name in names], len(names))
