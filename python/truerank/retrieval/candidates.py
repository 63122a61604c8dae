"""The candidates of queries: all entities, some, those of a list for each query, or a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.row_keys import distinct, distinct_rows
from ..inputs.selection import indptr_of
from ..inputs.words import LISTED
from ..tasks.keyed_candidates import KeyedLists, name_of_sets, read_keyed_lists
from ..tasks.sampling import check_among, check_sample, draw_candidates
from ..tasks.side_tasks import Sampled

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .sets import AnswerSets

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
        pool: Any = lists.one_set
        if pool is None:
            pool = lists
        return ChosenCandidates(name_of_sets([pool]), pool)
    pool = sets.entities.set_of("candidates", value)
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
    columns: Any = candidates.pool
    if columns is None:
        columns = np.arange(size)
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
