"""The side of a task of retrieval: a ranking for each right answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import distinct, distinct_rows
from ..errors import InputValueError
from ..inputs.checks import Axis, by_position
from ..inputs.rules import LISTED
from ..inputs.selection import indptr_of
from ..ranks.labels import Labels, as_labels, labels_of_codes
from ..records.vocabularies import Vocabulary
from ..tasks.candidates import (
    KeyedLists,
    Sampled,
    check_among,
    check_sample,
    draw_candidates,
    name_of_sets,
    read_keyed_lists,
)
from ..tasks.side import Side, TaskLists, make_side
from .sets import AnswerSets

if TYPE_CHECKING:
    from ..arrays.types import IntArray

ALL = "all"


class ChosenCandidates(NamedTuple):
    """Checked candidates of a task.

    Attributes
    ----------
    name : str
        What the protocol calls them.
    pool : ndarray of int64, KeyedLists, or None
        What they are, for all queries or for each, or what they are drawn from; None: all.
    sampled : Sampled or None
        How they are drawn.
    """

    name: str
    pool: IntArray | KeyedLists | None = None
    sampled: Sampled | None = None


def read_candidates(value: Any, sets: AnswerSets) -> ChosenCandidates:
    """Read the argument `candidates`.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, a typed sample,
        queries without a list, and right answers that are not among the candidates.
    """
    if isinstance(value, Sampled):
        return _read_sample(value, sets)
    if value is None:
        return ChosenCandidates(ALL)
    if isinstance(value, str):
        if value == LISTED:
            return ChosenCandidates(LISTED)
        return ChosenCandidates(value, _read_named_pool(value, sets))
    if sets.names_alone:
        _refuse_without_names("a list of them")
    if isinstance(value, Mapping):
        lists = read_keyed_lists(value, sets.queries, sets.entities)
        queries, answers = np.ascontiguousarray(sets.pairs.T)
        lists.check(queries, answers, sets.queries, sets.entities)
        pool: Any = lists if lists.one_set is None else lists.one_set
        return ChosenCandidates(name_of_sets([pool]), pool)
    pool = sets.entities.set_of("candidates", value, ", or {query: [entities]}")
    name = name_of_sets([pool])
    check_among(pool, sets.pairs[:, 1], sets.entities, "right answers")
    return ChosenCandidates(name, pool)


def _read_sample(value: Sampled, sets: AnswerSets) -> ChosenCandidates:
    """Check a sample, and read what it is drawn from."""
    sampled: Sampled = check_sample(value, "query")
    if sampled.typed:
        raise InputValueError("candidates", "queries have no types, from which to draw")
    if sets.names_alone:
        _refuse_without_names("a sample")
    pool = None if sampled.among is None else _read_named_pool(sampled.among, sets)
    return ChosenCandidates(sampled.name, pool, sampled)


def _read_named_pool(name: str, sets: AnswerSets) -> IntArray | None:
    """Return the entities of a known split; None: all."""
    if name == ALL:
        return None
    if name not in sets.known:
        known = f"the known splits ({', '.join(sets.known) or 'none'})"
        expected = f"{ALL}, {LISTED}, or one of {known}"
        raise InputValueError("candidates", expected=expected, got=repr(name))
    pool = distinct(sets.known[name][1])
    check_among(pool, sets.pairs[:, 1], sets.entities, "right answers")
    return pool


def _refuse_without_names(got: str) -> None:
    expected = "all, or a known split, as not all entities have names"
    raise InputValueError("candidates", expected=expected, got=got)


def draw_for_queries(
    candidates: ChosenCandidates,
    known: tuple[IntArray, IntArray],
    right: tuple[IntArray, IntArray],
    size: int,
) -> tuple[IntArray, IntArray]:
    """Draw the candidates of each query, its right answers among them.

    Parameters
    ----------
    candidates : ChosenCandidates
        With a sample.
    known : (indptr, indices)
        For each query what is never drawn.
    right : (rows, targets)
        The query of each right answer, and the answer.
    size : int
        The number of entities.

    Returns
    -------
    indptr, indices : ndarray
    """
    sampled = candidates.sampled
    assert sampled is not None
    columns: Any = np.arange(size) if candidates.pool is None else candidates.pool
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


def make_answers(sets: AnswerSets, groups: Any, candidates: ChosenCandidates) -> Side:
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
    among: Any = candidates.pool
    if isinstance(among, KeyedLists):
        among = among.lists_of(queries)._replace(lists=side.rows)
    if candidates.sampled is not None:
        assert side.filter is not None
        known = side.filter.indptr, side.filter.indices
        lists = draw_for_queries(candidates, known, (side.rows, side.targets), size)
        among = TaskLists(*lists, side.rows)
    query = queries[side.rows]
    labels = {
        "queries": sets.queries.labels(query),
        "targets": sets.entities.labels(side.targets),
        "unit": labels_of_codes(query),
    }
    if groups is not None:
        labels["group"] = _read_groups(groups, sets.queries, queries)[side.rows]
    without_answers = np.zeros(len(side), np.int64)
    # One task alone carries the number, so that parts add up.
    without_answers[0] = sets.asked - len(queries)
    known_alone = None
    if sets.known:
        assert side.filter is not None
        known_alone = _without_right(side, side.filter)
    return replace(
        side,
        units=query,
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
    numbers -= np.bincount(side.rows, minlength=len(numbers))
    return TaskLists(indptr_of(numbers), np.delete(indices, places), lists)


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
