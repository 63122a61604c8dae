"""Candidate sets: the entities (or relations) among which the answer of a task is ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.candidate_lists import as_lists
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.row_keys import distinct_rows
from ..inputs.selection import indptr_of
from ..splits.vocabularies import digest
from ..tasks.keyed_candidates import KeyedLists, name_of_sets, read_keyed_lists
from ..tasks.sampling import check_among, check_sample, draw_candidates
from ..tasks.side_tasks import Sampled
from .triples import QUALIFIER, SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..tasks.side_tasks import SideQueries
    from .known_answers import SideFacts
    from .triples import TripleSplits

    Lists = tuple[IntArray, IntArray]  # indptr and indices, a list for each triple

ALL, TYPED = "all", "typed"  # any other str is the name of a known split
_EXPECTED = (
    'one of all, train, typed, another known split, by its name in known={"train": ...}, an array '
    "of entities, a mapping of relations or of sides to these, Sampled or Negatives"
)


@public("truerank.link_prediction")
class Negatives(NamedTuple):
    """Negatives of every test triple: the only candidates beside its answer.

    Attributes
    ----------
    tail, head, relation : array of int, (indptr, values), or list of lists
        For each predicted side, the ids of the negatives of every test triple as it was given: an
        array of shape (n, k), in which -1 fills short rows, or lists of any lengths as `rank_lists`
        takes them. They are sets: a repeated negative counts once, and so does the answer, in the
        list or not.

    Notes
    -----
    The protocol names them as sampled, by their number for each triple and a digest, as in
    "given 20 negatives (3f2a91c0)". Known answers among them are filtered, unless `Task` has
    ``known=None`` or ``filters=("none",)``.

    Examples
    --------
    >>> from truerank.link_prediction import Task
    >>> negatives = Negatives(tail=[[2, 3], [0, 3]])
    >>> task = Task([[0, 0, 1], [1, 0, 2]], entities=4, candidates=negatives, sides=("tail",))
    >>> task.tail.candidates
    (array([0, 3, 6]), array([1, 2, 3, 0, 2, 3]), array([0, 1]))
    >>> task.protocol.candidates
    'given 2 negatives (6bd2be96)'
    """

    tail: Any = None
    head: Any = None
    relation: Any = None


class CandidateSet(NamedTuple):
    """A checked candidate set, with its name in the protocol.

    Attributes
    ----------
    name : str
    pool : str, ndarray of int64, or KeyedLists
        What candidates are, or are drawn from: all, those that occur in that position of that
        relation ("typed"), those of a known split by its name, ids, or ids for each relation.
    sampled : Sampled or None
        How candidates are drawn.
    negatives : dict of str to (indptr, indices), or None
        Those of every test triple by side, with its answer.
    by_side : dict of str to CandidateSet, or None
        Those of each side, where they are not the same.
    """

    name: str
    pool: str | IntArray | KeyedLists = ALL
    sampled: Sampled | None = None
    negatives: dict[str, Lists] | None = None
    by_side: dict[str, CandidateSet] | None = None

    @property
    def are_sampled(self) -> bool:
        """Whether candidates were drawn, here or by those who gave them."""
        parts = [] if self.by_side is None else self.by_side.values()
        is_drawn = self.sampled is not None or self.negatives is not None
        return is_drawn or any(part.are_sampled for part in parts)


def as_candidates(value: Any, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Check the argument `candidates`.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, relations that are
        none, a sample without negatives, or both typed and among a split, "typed" or a list of
        entities for the side "relation", a mapping that lacks a side, and negatives that are not
        those of the sides and triples of the task.
    """
    if isinstance(value, Negatives):
        return _read_negatives(value, sides, splits)
    if _is_by_side(value, splits):
        return _read_sides(value, sides, splits)
    is_set = not (value is None or isinstance(value, (str, Sampled)))
    if is_set and "relation" in sides and len(sides) > 1:
        problem = "a list is of entities or of relations; give a mapping of the sides to lists"
        raise InputValueError("candidates", problem)
    return _read_set(value, sides, splits)


def _is_by_side(value: Any, splits: TripleSplits) -> bool:
    """Whether these are candidates by side, and not by relation."""
    words = (*SIDES, QUALIFIER)
    if not isinstance(value, Mapping) or not value or not all(key in words for key in value):
        return False
    relations = set(splits.relations.names or ())
    has_mappings = any(isinstance(each, Mapping) for each in value.values())
    if not has_mappings and all(key in relations for key in value):
        keys = ", ".join(map(repr, value))
        problem = f"{keys} may be sides or relations of that name"
        way = 'give {"tail": {relation: [...]}, ...} for lists by relation'
        raise InputValueError("candidates", f"{problem}: {way}")
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
        if isinstance(value[side], (Negatives, Sampled)):
            kind = type(value[side]).__name__
            expected = "lists, relations with their lists, or the name of a set for each side"
            raise InputTypeError("candidates", expected=expected, got=f"{kind} for {side!r}")
        by_side[side] = _read_set(value[side], [side], splits)
    parts = list(by_side.values())
    if all(part.name == parts[0].name for part in parts[1:]):
        return CandidateSet(parts[0].name, by_side=by_side)
    named = [part for part in parts if isinstance(part.pool, str)]
    if named:
        names = [f"{side} {part.name}" for side, part in by_side.items()]
        return CandidateSet(", ".join(names), by_side=by_side)
    return CandidateSet(name_of_sets([_as_one(part.pool) for part in parts]), by_side=by_side)


def _read_set(value: Any, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Read candidates of some sides whose answers are of one kind, if they are not all."""
    sampled, pool = None, value
    if isinstance(value, Sampled):
        sampled = check_sample(value, "answer")
        if sampled.per is not None:
            problem = 'every task has its own sample: per is "answer" here, or None'
            raise InputValueError("candidates", problem)
        pool = TYPED if sampled.typed else sampled.among
    pool = ALL if pool is None else pool
    if isinstance(pool, Mapping):
        if "relation" in sides:
            problem = "lists by relation are of entities; relations are no candidates by relation"
            raise InputValueError("candidates", problem)
        lists = read_keyed_lists(pool, splits.relations, splits.entities)
        return CandidateSet(name_of_sets([_as_one(lists)]), lists)
    if not isinstance(pool, str):
        vocabulary = splits.relations if "relation" in sides else splits.entities
        pool = vocabulary.set_of("candidates", pool)
        return CandidateSet(name_of_sets([pool]), pool)
    if pool == TYPED and "relation" in sides:
        raise InputValueError("candidates", "types are those of entities; relations have none")
    if pool not in (ALL, TYPED, *splits.known):
        got = f"{pool!r}; the known splits: {', '.join(splits.known) or 'none'}"
        raise InputValueError("candidates", expected=_EXPECTED, got=got)
    return CandidateSet(sampled.name if sampled else pool, pool, sampled)


def _as_one(pool: Any) -> Any:
    """Return the set that all relations have, or what it was."""
    if not isinstance(pool, KeyedLists):
        return pool
    one_set = pool.the_one_set()
    return pool if one_set is None else one_set


def _read_negatives(value: Negatives, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Read the negatives of each side, and add the answers."""
    tested = splits.tested
    lists: dict[str, Lists] = {}
    arrays: list[IntArray] = []
    handed = {side: rows for side, rows in value._asdict().items() if rows is not None}
    if handed.keys() != set(sides):
        expected = f"Negatives of {', '.join(sides)}, the sides of the task"
        raise InputValueError("candidates", expected=expected, got=", ".join(handed) or "none")
    for side, rows in handed.items():
        name = f"candidates: {side}"
        listed = as_lists(rows, None, name=name)
        counts, ids = np.diff(listed.indptr), listed.ids.astype(np.int64)
        if len(counts) != tested:
            expected = f"{tested} lists, one for each test triple"
            raise InputValueError(name, expected=expected, got=len(counts))
        size = splits.vocabulary_of(side).size
        if len(wrong := ids[(ids < 0) | (ids >= size)]):
            raise InputValueError(name, expected=f"ids from 0 to {size - 1}", got=wrong[0])
        triples, answers = np.arange(tested), splits.triples[:tested, SIDES[side][1]]
        pairs = np.repeat(triples, counts), ids
        of_triple, both = distinct_rows(list(map(np.append, pairs, (triples, answers))))
        lists[side] = indptr_of(np.bincount(of_triple, minlength=tested)), both
        arrays += [listed.indptr, ids]
    lengths = np.concatenate(list(map(np.diff, arrays[::2])))
    least, most = int(lengths.min()), int(lengths.max())
    number = str(most) if least == most else f"{least} to {most}"
    return CandidateSet(f"given {number} negatives ({digest(*arrays)})", negatives=lists)


def candidates_of(
    side: str,
    candidates: CandidateSet,
    queries: SideQueries,
    facts: SideFacts,
    splits: TripleSplits,
) -> Any:
    """Make the candidates of one side, in the form that `SideTasks` takes.

    Parameters
    ----------
    side : str
        The side, whose answers are ranked.
    candidates : CandidateSet
        The candidate set.
    queries : SideQueries
        The side's queries.
    facts : SideFacts
        The facts of all splits, as the side sees them.
    splits : TripleSplits
        The evaluated split and the known ones.

    Returns
    -------
    None, ndarray, or (indptr, indices[, lists])

    Raises
    ------
    ValueError
        If an answer is not among its candidates.
    """
    if candidates.by_side is not None:
        candidates = candidates.by_side[side]
    pool, sampled, ranked = candidates.pool, candidates.sampled, facts.ranked
    if isinstance(pool, KeyedLists):
        relations = facts.facts[ranked, 1]
        pool.check(relations, queries.targets, splits.relations, splits.entities)
        one_set = pool.the_one_set()
        return pool.lists_of(relations) if one_set is None else one_set
    if candidates.negatives is not None:
        return (*candidates.negatives[side], ranked)
    if isinstance(pool, str) and pool in (ALL, TYPED):
        if sampled is None and pool == ALL:
            return None
        ids = np.arange(splits.vocabulary_of(side).size)
    else:
        ids = splits.ids_of(side, pool) if isinstance(pool, str) else pool
        what = f"answers of the side {side}"
        check_among(ids, queries.targets, splits.vocabulary_of(side), what)
        if sampled is None:
            return ids
    pools = np.array([0, len(ids)]), ids, np.zeros(len(ranked), dtype=np.int64)
    if isinstance(pool, str) and pool == TYPED:
        pairs = [facts.facts[:, 1], facts.facts[:, facts.answer_column]]
        relation, entities = distinct_rows(pairs)
        indptr = indptr_of(np.bincount(relation, minlength=splits.relations.size))
        pools = indptr, entities, facts.facts[ranked, 1]
    if sampled is None:
        return pools
    # the sample of a side does not depend on the other sides of the task
    rng = np.random.default_rng([sampled.seed, (*SIDES, QUALIFIER).index(side)])
    right = np.arange(len(ranked)), queries.targets
    return draw_candidates(queries.answers, queries.rows, pools, right, sampled.negatives, rng)
