"""Candidate sets: the entities (or relations) among which the answer of a task is ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import distinct_rows
from ..errors import InputTypeError, InputValueError
from ..inputs.candidate_lists import as_lists
from ..inputs.selection import indptr_of
from ..naming import public
from ..tasks.keyed_candidates import KeyedLists, digest_of_ids, name_of_sets, read_keyed_lists
from ..tasks.sampling import check_among, check_sample, draw_candidates
from ..tasks.side_tasks import Sampled
from .triples import SIDES

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..tasks.side_tasks import SideQueries
    from .triples import TripleSplits

    Lists = tuple[IntArray, IntArray]  # These are indptr and indices, a list for each triple.

# Any other str is the name of a known split.
ALL = "all"
TYPED = "typed"
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
    ``known=None`` or ``filter="none"``.

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
        if self.by_side is not None:
            return any(part.are_sampled for part in self.by_side.values())
        return self.sampled is not None or self.negatives is not None


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
        if isinstance(value[side], (Negatives, Sampled)):
            kind = type(value[side]).__name__
            expected = "lists, relations with their lists, or the name of a set for each side"
            raise InputTypeError("candidates", expected=expected, got=f"{kind} for {side!r}")
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
    if isinstance(value, Mapping):
        if "relation" in sides:
            problem = "lists by relation are of entities; relations are no candidates by relation"
            raise InputValueError("candidates", problem)
        lists = read_keyed_lists(value, splits.relations, splits.entities)
        return CandidateSet(name_of_sets([_one_set_if_all_are(lists)]), lists)
    vocabulary = splits.vocabulary_of(sides[0])
    chosen = vocabulary.set_of("candidates", value)
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
    return CandidateSet(sampled.name, pool, sampled)


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


def _read_negatives(value: Negatives, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Read the negatives of each side, and add the answers."""
    given = {side: rows for side, rows in value._asdict().items() if rows is not None}
    if given.keys() != set(sides):
        expected = f"Negatives of {', '.join(sides)}, the sides of the task"
        raise InputValueError("candidates", expected=expected, got=", ".join(given) or "none")
    tested = splits.triples[: splits.tested]
    negatives: dict[str, Lists] = {}
    arrays: list[IntArray] = []
    lengths: list[IntArray] = []
    for side, rows in given.items():
        name = f"candidates: {side}"
        lists = as_lists(rows, None, name=name)
        counts = np.diff(lists.indptr)
        ids = lists.ids.astype(np.int64)
        if len(counts) != len(tested):
            expected = f"{len(tested)} lists, one for each test triple"
            raise InputValueError(name, expected=expected, got=len(counts))
        size = splits.vocabulary_of(side).size
        outside = ids[(ids < 0) | (ids >= size)]
        if len(outside):
            raise InputValueError(name, expected=f"ids from 0 to {size - 1}", got=outside[0])
        negatives[side] = _add_answers(counts, ids, tested[:, SIDES[side].answer])
        arrays.extend([lists.indptr, ids])
        lengths.append(counts)
    least = min(int(counts.min()) for counts in lengths)
    most = max(int(counts.max()) for counts in lengths)
    number = str(most) if least == most else f"{least} to {most}"
    return CandidateSet(f"given {number} negatives ({digest_of_ids(*arrays)})", negatives=negatives)


def _add_answers(counts: IntArray, ids: IntArray, answers: IntArray) -> Lists:
    """Return lists of some lengths with the answer of each, ascending and distinct."""
    numbers = np.arange(len(answers))
    list_of_entry = np.append(np.repeat(numbers, counts), numbers)
    list_of_entry, entries = distinct_rows([list_of_entry, np.append(ids, answers)])
    return indptr_of(np.bincount(list_of_entry, minlength=len(answers))), entries


def candidates_of(
    side: str,
    candidates: CandidateSet,
    queries: SideQueries,
    kept: IntArray,
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
    kept : ndarray of int64
        The triples of the evaluated split that are ranked.
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
    if candidates.negatives is not None:
        indptr, indices = candidates.negatives[side]
        return indptr, indices, kept
    pool = _read_pool(side, candidates.pool, queries, kept, splits)
    if candidates.sampled is None:
        return pool
    if pool is None:
        pool = np.arange(splits.vocabulary_of(side).size)
    if not isinstance(pool, tuple):  # All tasks draw from the same list.
        pool = (np.array([0, len(pool)]), pool, np.zeros(len(kept), dtype=np.int64))
    # The sample of a side does not depend on the other sides of the task.
    rng = np.random.default_rng([candidates.sampled.seed, list(SIDES).index(side)])
    right = (np.arange(len(kept)), queries.targets)
    number = candidates.sampled.negatives
    return draw_candidates(queries.answers, queries.rows, pool, right, number, rng)


def _read_pool(
    side: str,
    pool: str | IntArray | KeyedLists,
    queries: SideQueries,
    kept: IntArray,
    splits: TripleSplits,
) -> Any:
    """Return what is ranked or drawn from: None (all), ids, or lists with the list of each task."""
    if isinstance(pool, KeyedLists):
        relations = splits.triples[kept, 1]
        pool.check(relations, queries.targets, splits.relations, splits.entities)
        if pool.one_set is not None:
            return pool.one_set
        return pool.lists_of(relations)
    if isinstance(pool, str):
        if pool == ALL:
            return None
        if pool == TYPED:  # Each relation has a list.
            answers = splits.triples[:, SIDES[side].answer]
            relation, entities = distinct_rows([splits.triples[:, 1], answers])
            indptr = indptr_of(np.bincount(relation, minlength=splits.relations.size))
            return indptr, entities, splits.triples[kept, 1]
        pool = splits.ids_of(side, pool)
    check_among(pool, queries.targets, splits.vocabulary_of(side), f"answers of the side {side}")
    return pool
