"""The side of a task of retrieval: a ranking for each right answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import distinct, distinct_rows
from ..errors import InputValueError
from ..inputs.checks import Axis, by_position
from ..inputs.rules import LISTED
from ..inputs.selection import indptr_of
from ..ranks.labels import Labels, as_labels, labels_of_codes
from ..tasks.candidates import (
    ALL,
    CandidateSet,
    Sampled,
    candidates_of_tasks,
    draw_candidates,
    read_candidate_set,
)
from ..tasks.side import Side, TaskLists, make_side
from .sets import AnswerSets

if TYPE_CHECKING:
    from ..arrays.types import IntArray


def read_candidates(value: Any, sets: AnswerSets) -> CandidateSet:
    """Read the argument `candidates`.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, a typed sample, and
        lists or samples where not all entities have names.
    """
    if sets.names_alone and value is not None and not isinstance(value, str):
        expected = "all, or a known split, as not all entities have names"
        got = "a sample" if isinstance(value, Sampled) else "a list of them"
        raise InputValueError("candidates", expected=expected, got=got)
    forms = ", or {query: [entities]}"
    candidates = read_candidate_set(value, "query", sets.queries, sets.entities, forms)
    pool = candidates.pool
    if isinstance(pool, str):
        if candidates.sampled is not None and candidates.sampled.typed:
            raise InputValueError("candidates", "queries have no types, from which to draw")
        if pool not in sets.known and pool not in (ALL, LISTED):
            known = f"the known splits ({', '.join(sets.known) or 'none'})"
            expected = f"{ALL}, {LISTED}, or one of {known}"
            raise InputValueError("candidates", expected=expected, got=repr(pool))
    return candidates


def draw_for_queries(
    sampled: Sampled,
    columns: IntArray,
    known: tuple[IntArray, IntArray],
    right: tuple[IntArray, IntArray],
) -> tuple[IntArray, IntArray]:
    """Draw the candidates of each query, its right answers among them.

    Parameters
    ----------
    sampled : Sampled
    columns : ndarray of int64
        What is drawn from.
    known : (indptr, indices)
        For each query what is never drawn.
    right : (rows, targets)
        The query of each right answer, and the answer.

    Returns
    -------
    indptr, indices : ndarray
    """
    rng = np.random.default_rng(sampled.seed)
    number = len(known[0]) - 1
    rows, targets = right
    drawn_for = rows if sampled.per == "answer" else np.arange(number)
    pools = np.array([0, len(columns)]), columns, np.zeros_like(drawn_for)
    if sampled.per is None:
        return draw_candidates(known, drawn_for, pools, right, sampled.negatives, rng)
    answers = np.arange(len(drawn_for)), targets
    indptr, drawn = draw_candidates(known, drawn_for, pools, answers, sampled.negatives, rng)
    queries, indices = distinct_rows([np.repeat(drawn_for, np.diff(indptr)), drawn])
    return indptr_of(np.bincount(queries, minlength=number)), indices


SIDE = "answers"


def make_answers(sets: AnswerSets, groups: Any, candidates: CandidateSet) -> Side:
    """Make the tasks: one for each right answer, which is never in the filter of its query."""
    size = sets.entities.size
    facts = {"query": sets.pairs[:, 0], "entity": sets.pairs[:, 1]}
    known_splits = [{"query": query, "entity": entity} for query, entity in sets.known.values()]
    side = make_side(
        SIDE,
        facts,
        np.arange(len(sets.pairs)),
        query=["query"],
        answer="entity",
        n_candidates=size,
        known=known_splits,
        has_filter=bool(sets.known) or candidates.sampled is not None,
    )
    queries = side.query_ids[:, 0]
    query = queries[side.rows]
    among: Any = candidates.pool
    if isinstance(among, str):
        among = distinct(sets.known[among][1]) if among in sets.known else None
    if among is not None:
        among = candidates_of_tasks(among, query, side.targets, sets.entities, "right answers")
    if candidates.sampled is not None:
        assert side.filter is not None
        columns = np.arange(size) if among is None else among
        known = side.filter.indptr, side.filter.indices
        right = side.rows, side.targets
        among = TaskLists(*draw_for_queries(candidates.sampled, columns, known, right), side.rows)
    units = query if sets.queries.size else side.rows  # Keys may be any integers.
    labels = {
        "queries": sets.queries.labels(query),
        "targets": sets.entities.labels(side.targets),
        "unit": labels_of_codes(units),
    }
    if groups is not None:
        labels["group"] = _read_groups(groups, sets, queries)[side.rows]
    without_answers = np.zeros(len(side), np.int64)
    # One task alone carries the number, so that parts add up.
    without_answers[0] = sets.n_queries - len(queries)
    known_alone = None
    if sets.known:
        assert side.filter is not None
        known_alone = _without_right(side, side.filter)
    return replace(
        side,
        units=units,
        filter=known_alone,
        candidates=among,
        gains=sets.gains,
        labels=labels,
        without_answers=without_answers,
    )


def _without_right(side: Side, known: TaskLists) -> TaskLists:
    """Return what is known without the right answers of a side, which are among it."""
    indptr, indices, lists = known
    size = side.n_candidates
    numbers = np.diff(indptr)
    codes = np.repeat(np.arange(len(numbers)) * size, numbers)
    codes += indices  # They ascend, and a query has each of its right answers once.
    places = np.searchsorted(codes, side.rows * size + side.targets)
    del codes
    numbers -= np.bincount(side.rows, minlength=len(numbers))
    return TaskLists(indptr_of(numbers), np.delete(indices, places), lists)


def _read_groups(groups: Any, sets: AnswerSets, ids: IntArray) -> Labels:
    """Read the groups of some queries: labels of all in their order, or a mapping of queries."""
    queries = sets.queries
    if not isinstance(groups, Mapping):
        if not sets.have_order:
            problem = "groups in a sequence do not say whose they are"
            advice = "give {query: group}, or Task(..., queries=...) the queries in their order"
            raise InputValueError("groups", f"{problem}: {advice}")
        in_order = by_position("groups", groups, Axis(queries.names, "queries"))
        return as_labels("groups", in_order, queries.size)[ids]
    names = list(map(queries.label_of, ids.tolist()))
    missing = [name for name in names if name not in groups]
    if missing:
        expected = "a group for every query with a right answer"
        raise InputValueError("groups", expected=expected, got=f"none for {missing[0]!r}")
    return as_labels("groups", [groups[name] for name in names], len(names))
