"""Candidate sets: the entities (or relations) among which the answer of a task is ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.selection import indptr_of
from ..tasks.row_keys import distinct, distinct_rows
from ..tasks.side_tasks import Sampled
from ..tasks.vocabularies import digest, read_ids
from .given_negatives import Negatives, candidates_of_negatives, read_negatives
from .sampling import Pool, sample
from .triple_audit import TRAIN, known_triples
from .triples import QUALIFIER, SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..tasks.query_rows import Flags
    from ..tasks.side_tasks import SideQueries
    from ..tasks.vocabularies import Vocabulary
    from .triples import TripleSplits

ALL, TYPED = "all", "typed"  # any other str is the name of a known split
# side -> the column of its answers in facts whose relation is column 1; values are like tails
_ANSWERS = {side: column for side, (_, column) in SIDES.items()} | {QUALIFIER: 2}
_EXPECTED = (
    "one of all, train, typed, another known split, an array of entities, Sampled or Negatives"
)


class CandidateSet(NamedTuple):
    """A checked candidate set, with its name in the protocol."""

    name: str
    sampled: Sampled | None = None
    chosen: IntArray | None = None
    negatives: dict[str, tuple[IntArray, IntArray]] | None = None
    split: str | None = None  # whose entities or relations are the candidates

    @property
    def is_sampled(self) -> bool:
        """Whether they are a part of all candidates, drawn by chance."""
        return self.sampled is not None or self.negatives is not None


def as_candidates(value: Any, sides: Sequence[str], splits: TripleSplits) -> CandidateSet:
    """Check the argument `candidates`.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, a sample without
        negatives, or both typed and among a split, and "typed" or a list of entities for the side
        "relation".
    """
    if value is None:
        return CandidateSet(ALL)
    if isinstance(value, str):
        _check_typed(value == TYPED, sides)
        if value in (ALL, TYPED):
            return CandidateSet(value)
        _check_split(value, splits)
        return CandidateSet(value, split=value)
    if isinstance(value, Sampled):
        negatives, seed = (
            integer(
                "candidates",
                getattr(value, field),
                least=least,
                expected=f"an integer as {field}",
                range=f"{field} >= {least}",
            )
            for field, least in (("negatives", 1), ("seed", 0))
        )
        if not isinstance(value.typed, (bool, np.bool_)):
            raise InputTypeError(
                "candidates", expected="a bool as typed", got=type(value.typed).__name__
            )
        checked = Sampled(negatives, bool(value.typed), seed, value.among)
        _check_typed(checked.typed, sides)
        if value.among is not None:
            if checked.typed:
                raise InputValueError("candidates", "a sample is typed or among a split, not both")
            _check_split(value.among, splits)
        return CandidateSet(checked.name, checked, split=value.among)
    if isinstance(value, Negatives):
        name, lists = read_negatives(value, sides, splits)
        return CandidateSet(name, negatives=lists)
    if value is Sampled or isinstance(value, (int, np.integer)):
        number = 100 if value is Sampled or isinstance(value, bool) else value
        got = "the class Sampled" if value is Sampled else str(value)
        got += f"; for sampled ones give Sampled({number})"
        raise InputTypeError("candidates", expected=_EXPECTED, got=got)
    if "relation" in sides and len(sides) > 1:
        problem = "a list is of entities or of relations; expected a task of its own for relations"
        raise InputValueError("candidates", problem)
    vocabulary = splits.relations if "relation" in sides else splits.entities
    chosen = read_ids("candidates", value, vocabulary, "the triples hold no labels")
    return CandidateSet(f"selection of {len(chosen)} ({digest(chosen)})", chosen=chosen)


def _check_typed(typed: bool, sides: Sequence[str]) -> None:
    if typed and "relation" in sides:
        raise InputValueError("candidates", "types are those of entities; relations have none")


def _check_split(name: Any, splits: TripleSplits) -> None:
    """Check that a known split has this name."""
    if not isinstance(name, str):
        expected = "the name of a known split as among"
        raise InputTypeError("candidates", expected=expected, got=type(name).__name__)
    if name not in splits.known:
        known = ", ".join(splits.known) or "none"
        if name == TRAIN:
            way = 'needs a known split of that name, as in known={"train": ...}'
            raise InputValueError("candidates", f'"train" {way}, got {known}')
        got = f"{name!r}; the known splits: {known}"
        raise InputValueError("candidates", expected=_EXPECTED, got=got)


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
    kept : ndarray of int64, shape (n,)
        The triple of each task.
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
    vocabulary = splits.relations if side == "relation" else splits.entities
    relations = splits.triples[kept, 1]
    if candidates.name == ALL:
        return None
    if candidates.negatives is not None:
        return candidates_of_negatives(candidates.negatives[side], kept, queries.targets)
    if candidates.name == TYPED:
        types = types_of(splits.triples, _ANSWERS[side], splits.relations.size)
        return (types.indptr, types.indices, relations)
    chosen = candidates.chosen
    if chosen is None and candidates.split is not None:
        chosen = _entities_of(candidates.split, side, splits)
    if chosen is not None:
        among = np.zeros(vocabulary.size, dtype=bool)
        among[chosen] = True
        _check_targets(side, queries.targets, among, candidates, vocabulary)
    if candidates.sampled is None:
        return chosen
    pool = Pool(vocabulary.size)
    if candidates.sampled.typed:
        pool = types_of(splits.triples, _ANSWERS[side], splits.relations.size)
        pool = pool._replace(size=vocabulary.size, lists=relations)
    if chosen is not None:
        one_list = np.array([0, len(chosen)]), chosen, np.zeros(len(relations), dtype=np.int64)
        pool = Pool(vocabulary.size, *one_list)
        queries = queries._replace(answers=_answers_among(queries.answers, among))
    # the sample of a side does not depend on the other sides of the task
    rng = np.random.default_rng([candidates.sampled.seed, list(_ANSWERS).index(side)])
    return sample(queries, pool, candidates.sampled.negatives, rng)


def _entities_of(split: str, side: str, splits: TripleSplits) -> IntArray:
    """Return the distinct entities (or relations) of a known split, ascending."""
    known = known_triples(splits, split)
    return distinct(known[:, 1] if side == "relation" else known[:, [0, 2]].reshape(-1))


def _answers_among(answers: tuple[IntArray, IntArray], among: Flags) -> tuple[IntArray, IntArray]:
    """Return the answers of each query that are among some columns."""
    indptr, indices = answers
    kept = among[indices]
    return indptr_of(kept)[indptr], indices[kept]


def _check_targets(
    side: str, targets: IntArray, among: Flags, candidates: CandidateSet, vocabulary: Vocabulary
) -> None:
    missing = ~among[targets]
    if missing.any():
        first = vocabulary.label_of(int(targets[missing.argmax()]))
        drop = 'unseen="drop"'
        hint = f"; {drop} leaves such triples out" if candidates.split == TRAIN else ""
        raise InputValueError(
            "candidates",
            f"{np.count_nonzero(missing)} answers of the side {side} are not among the "
            f"candidates, first {first!r}{hint}",
        )


def types_of(triples: IntArray, column: int, relations: int) -> Pool:
    """List the entities that occur in one position of each relation.

    Examples
    --------
    >>> types_of(np.array([[0, 1, 5], [0, 1, 3], [2, 1, 5]]), 2, 2)[1:3]
    (array([0, 0, 2]), array([3, 5]))
    """
    relation, entities = distinct_rows([triples[:, 1], triples[:, column]])
    indptr = indptr_of(np.bincount(relation, minlength=relations))
    return Pool(0, indptr, entities)
