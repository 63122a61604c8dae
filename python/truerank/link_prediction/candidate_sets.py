"""Candidate sets: the entities (or relations) among which the answer of a task is ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import distinct_rows
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import is_iterable
from ..inputs.selection import indptr_of, indptr_of_pair
from ..records.vocabularies import Vocabulary
from ..tasks.keyed_candidates import KeyedLists, name_of_sets, read_keyed_lists
from ..tasks.sampling import Sampled, check_among, check_sample, draw_candidates
from ..tasks.side import TaskLists
from .triples import SIDES

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..tasks.side import Side
    from .triples import TripleSplits

# Any other str is the name of a known split.
ALL = "all"
TYPED = "typed"
_EXPECTED = (
    'one of all, train, typed, another known split, by its name in known={"train": ...}, an array '
    "of entities, a list for each test triple as (indptr, indices), a mapping of relations or of "
    "sides to these, or Sampled"
)


class CandidateSet(NamedTuple):
    """A checked candidate set, with its name in the protocol.

    Attributes
    ----------
    name : str
    pool : str, ndarray of int64, or KeyedLists
        What candidates are, or are drawn from: all, those that occur in that position of that
        relation ("typed"), those of a known split by its name, ids, or ids for each relation or
        for each row of the test.
    by_row : bool
        Whether lists are those of rows of the test.
    sampled : Sampled or None
        How candidates are drawn.
    by_side : dict of str to CandidateSet, or None
        Those of each side, where they are not the same.
    """

    name: str
    pool: str | IntArray | KeyedLists = ALL
    by_row: bool = False
    sampled: Sampled | None = None
    by_side: dict[str, CandidateSet] | None = None

    @property
    def are_sampled(self) -> bool:
        """Whether candidates were drawn."""
        return self.sampled is not None


def as_candidates(value: Any, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Check the argument `candidates`.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, relations that are
        none, a sample without negatives, or both typed and among a split, "typed" or a list of
        entities for the side "relation", a mapping that lacks a side, and another number of lists
        than test triples.
    """
    if _is_by_side(value, sides, splits):
        return _read_sides(value, sides, splits)
    are_listed = value is not None and not isinstance(value, (str, Sampled))
    if are_listed and len(sides) > 1 and "relation" in sides:
        problem = "a list is of entities or of relations; give a mapping of sides to lists"
        raise InputValueError("candidates", problem)
    return _read_set(value, sides, splits)


def _is_by_side(value: Any, sides: Sequence[str], splits: TripleSplits) -> bool:
    """Whether these are candidates by side, and not by relation."""
    if not isinstance(value, Mapping) or not value:
        return False
    if not all(key in SIDES for key in value):
        return False
    if any(isinstance(candidates, Mapping) for candidates in value.values()):
        return True
    relations = set(splits.relations.names or ())
    if all(key in relations for key in value):
        keys = ", ".join(map(repr, value))
        problem = f"{keys} may be sides or relations of that name"
        remedy = 'give {"tail": {relation: [...]}, ...} for lists by relation'
        raise InputValueError("candidates", f"{problem}: {remedy}")
    return True


def _read_sides(
    value: Mapping[str, Any], sides: Sequence[str], splits: TripleSplits
) -> CandidateSet:
    """Read the candidates of each side."""
    if value.keys() != set(sides):
        expected = f"those of {', '.join(sides)}, the sides of the task"
        raise InputValueError("candidates", expected=expected, got=", ".join(value))
    by_side = {}
    for side in sides:
        if isinstance(value[side], Sampled):
            expected = "lists, relations with their lists, or the name of a set for each side"
            raise InputTypeError("candidates", expected=expected, got=f"Sampled for {side!r}")
        by_side[side] = _read_set(value[side], [side], splits)
    parts = list(by_side.values())
    if all(part.name == parts[0].name for part in parts):
        name = parts[0].name
    elif any(isinstance(part.pool, str) for part in parts):
        name = ", ".join(f"{side} {part.name}" for side, part in by_side.items())
    else:
        name = name_of_sets([_one_set_if_all_are(part.pool) for part in parts])
    return CandidateSet(name, by_side=by_side)


def _read_set(value: Any, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Read candidates of some sides whose answers are of one kind, if they are not all."""
    if value is None:
        return CandidateSet(ALL)
    if isinstance(value, Sampled):
        return _read_sample(value, sides, splits)
    if isinstance(value, str):
        _check_name(value, sides, splits)
        return CandidateSet(value, value)
    if isinstance(value, tuple) and value and all(map(_is_list, value)):
        return _read_lists(value, sides, splits)
    if isinstance(value, Mapping):
        if "relation" in sides:
            problem = "lists by relation are of entities; relations are no candidates by relation"
            raise InputValueError("candidates", problem)
        lists = read_keyed_lists(value, splits.relations, splits.entities)
        return CandidateSet(name_of_sets([_one_set_if_all_are(lists)]), lists)
    vocabulary = splits.vocabulary_of(sides[0])
    others = ", or {side: (indptr, indices)} with a list for each test triple"
    chosen = vocabulary.set_of("candidates", value, others)
    return CandidateSet(name_of_sets([chosen]), chosen)


def _read_sample(value: Sampled, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Read how candidates are drawn, and from what."""
    sampled = check_sample(value, "answer")
    if sampled.per is not None:
        problem = 'every task has its own sample: per is "answer" here, or None'
        raise InputValueError("candidates", problem)
    pool = ALL
    if sampled.typed:
        pool = TYPED
    elif sampled.among is not None:
        pool = sampled.among
    _check_name(pool, sides, splits)
    return CandidateSet(sampled.name, pool, sampled=sampled)


def _check_name(name: str, sides: Sequence[str], splits: TripleSplits) -> None:
    """Check that a name is that of a candidate set which the sides have."""
    if name == TYPED and "relation" in sides:
        raise InputValueError("candidates", "types are those of entities; relations have none")
    if name not in (ALL, TYPED) and name not in splits.known:
        known = ", ".join(splits.known) or "none"
        got = f"{name!r}; the known splits: {known}"
        raise InputValueError("candidates", expected=_EXPECTED, got=got)


def _one_set_if_all_are(pool: Any) -> Any:
    """Return the set that all relations have, if lists by relation are the same, or the pool."""
    if isinstance(pool, KeyedLists) and pool.one_set is not None:
        return pool.one_set
    return pool


def _is_list(value: object) -> bool:
    return is_iterable(value) and not isinstance(value, str)


def _read_lists(value: tuple[Any, ...], sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Read a list of candidates for each test triple, as it was given."""
    if len(sides) > 1:
        problem = "a list for each test triple is of one side: give a mapping of sides to lists"
        raise InputValueError("candidates", problem)
    if len(value) != 2:
        got = f"a tuple of {len(value)}"
        raise InputValueError("candidates", expected="(indptr, indices)", got=got)
    ids = splits.vocabulary_of(sides[0]).ids_of("candidates", value[1])
    indptr = indptr_of_pair("candidates", value, len(ids), splits.tested)
    rows = np.arange(splits.tested)
    list_of_entry, indices = distinct_rows([np.repeat(rows, np.diff(indptr)), ids])
    indptr = indptr_of(np.bincount(list_of_entry, minlength=splits.tested))
    lists = KeyedLists(rows, indptr, indices)
    return CandidateSet(name_of_sets([_one_set_if_all_are(lists)]), lists, by_row=True)


def candidates_of(candidates: CandidateSet, side: Side, splits: TripleSplits) -> Any:
    """Make the candidates of one side, in the form that `Side` takes.

    Parameters
    ----------
    candidates : CandidateSet
        The candidate set.
    side : Side
        The side, whose filter has all known answers.
    splits : TripleSplits
        The evaluated split and the known ones.

    Returns
    -------
    None, ndarray, or TaskLists

    Raises
    ------
    ValueError
        If an answer is not among its candidates.
    """
    if candidates.by_side is not None:
        candidates = candidates.by_side[side.name]
    pool = _read_pool(candidates, side, splits)
    if candidates.sampled is None:
        return pool
    if pool is None:
        pool = np.arange(side.n_candidates)
    if not isinstance(pool, TaskLists):  # All tasks draw from the same list.
        pool = TaskLists(np.array([0, len(pool)]), pool, np.zeros(len(side), dtype=np.int64))
    # The sample of a side does not depend on the other sides of the task.
    rng = np.random.default_rng([candidates.sampled.seed, list(SIDES).index(side.name)])
    assert side.filter is not None
    known = side.filter.indptr, side.filter.indices
    tasks = np.arange(len(side))
    right = tasks, side.targets
    number = candidates.sampled.negatives
    indptr, indices = draw_candidates(known, side.rows, pool, right, number, rng)
    return TaskLists(indptr, indices, tasks)


def _read_pool(candidates: CandidateSet, side: Side, splits: TripleSplits) -> Any:
    """Return what is ranked or drawn from: None (all), ids, or lists with the list of each task."""
    pool = candidates.pool
    vocabulary = splits.vocabulary_of(side.name)
    if isinstance(pool, KeyedLists):
        keys, of_keys = splits.triples[side.units, 1], splits.relations
        if candidates.by_row:
            keys, of_keys = side.units, Vocabulary(splits.tested, None, "rows of the test")
        pool.check(keys, side.targets, of_keys, vocabulary)
        if pool.one_set is not None:
            return pool.one_set
        return pool.lists_of(keys)
    if isinstance(pool, str):
        if pool == ALL:
            return None
        if pool == TYPED:  # Each relation has a list.
            _, answer = SIDES[side.name]
            answers = splits.triples[:, answer]
            relation, entities = distinct_rows([splits.triples[:, 1], answers])
            indptr = indptr_of(np.bincount(relation, minlength=splits.relations.size))
            return TaskLists(indptr, entities, splits.triples[side.units, 1])
        pool = splits.ids_of(side.name, pool)
    check_among(pool, side.targets, vocabulary, f"answers of the side {side.name}")
    return pool
