"""The tasks of one side of link prediction, with their labels: degrees, categories of relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..ranks.labels import Labels
from ..tasks.row_keys import distinct_rows, look_up
from ..tasks.side_tasks import SideTasks
from .candidate_sets import CandidateSet, candidates_of
from .known_answers import FILTER_FORMS, SideFacts
from .triples import SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .triples import TripleSplits

CATEGORIES = ("1-1", "1-n", "n-1", "n-n")


class Traits(NamedTuple):
    """Numbers for each evaluated triple, from which the labels of tasks are made.

    Attributes
    ----------
    degrees : dict of str to ndarray of int64, shape (n,)
        For "head" and "tail", the number of distinct triples of the known splits with this entity
        as head or tail; for "relation", with this relation.
    category : ndarray of int64, shape (n,)
        The category of the relation, as a position in `CATEGORIES`.
    largest : int
        The largest number of triples of any entity or relation of the known splits.
    """

    degrees: dict[str, IntArray]
    category: IntArray
    largest: int


def traits_of(triples: IntArray, given: int) -> Traits:
    """Count degrees, and classify relations by one head or many, one tail or many.

    A relation has one head if it has fewer than 1.5 heads on average over its distinct
    (relation, tail) pairs, else n; the same holds for tails over its (head, relation) pairs. A
    category names heads first: "1-n" has many tails per head. (Bordes et al., "Translating
    embeddings for modeling multi-relational data", 2013, section 4.3: over all triples of a data
    set, an average below 1.5 is 1, others are MANY.)

    Memory grows with the number of triples, whatever their ids.

    Parameters
    ----------
    triples : ndarray of int64, shape (n, 3+)
        The triples of all splits; the first `given` belong to the evaluated one. Qualifiers do not
        count.
    given : int
        The number of evaluated triples.

    Returns
    -------
    Traits

    Examples
    --------
    >>> traits = traits_of(np.array([[0, 0, 1], [0, 0, 2], [0, 0, 2]]), 1)
    >>> traits.degrees["head"], traits.degrees["tail"], CATEGORIES[traits.category[0]]
    (array([1]), array([0]), '1-n')
    """
    order = (1, 0, 2)
    known, heads, tails = distinct_rows([triples[given:, column] for column in order])
    # a triple whose head is its tail counts once
    degree = IdCounts.of(np.concatenate([heads, tails[tails != heads]]))
    frequency = IdCounts.of(known)
    relation, heads, tails = distinct_rows([triples[:, column] for column in order])
    relations = triples[:given, 1]
    sizes, with_heads, with_tails = (
        IdCounts.of(found).at(relations)
        for found in (relation, *(distinct_rows([relation, ends])[0] for ends in (heads, tails)))
    )
    many_heads = 2 * sizes >= 3 * with_tails
    many_tails = 2 * sizes >= 3 * with_heads
    return Traits(
        degrees={
            "head": degree.at(triples[:given, 0]),
            "relation": frequency.at(relations),
            "tail": degree.at(triples[:given, 2]),
        },
        category=2 * many_heads + many_tails,
        largest=max(degree.largest, frequency.largest),
    )


class IdCounts(NamedTuple):
    """How often each id occurs; `ids` are ascending, and all others occur 0 times.

    Examples
    --------
    >>> IdCounts.of(np.array([7, 5, 7])).at(np.array([6, 7]))
    array([0, 2])
    """

    ids: IntArray
    counts: IntArray

    @classmethod
    def of(cls, occurrences: IntArray) -> IdCounts:
        """Count ids, in memory for the occurrences: there may be ids that are much larger."""
        if occurrences.max(initial=0) > 8 * len(occurrences):
            return cls(*np.unique(occurrences, return_counts=True))
        counts = np.bincount(occurrences)
        ids = np.flatnonzero(counts)
        return cls(ids, counts[ids])

    @property
    def largest(self) -> int:
        """The number of occurrences of the most frequent id; 0 without ids."""
        return int(self.counts.max(initial=0))

    def at(self, ids: IntArray) -> IntArray:
        """Return how often each of some ids occurs."""
        found = np.zeros(len(ids), dtype=np.int64)
        where, positions = look_up(self.ids, ids)
        found[where] = self.counts[positions]
        return found


def degree_buckets(numbers: IntArray, largest: int) -> Labels:
    """Label numbers by buckets: 0, 1, 2 to 3, 4 to 7 and so on.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n,)
        The numbers, which are not negative.
    largest : int
        A number in the last bucket.

    Examples
    --------
    >>> degree_buckets(np.array([0, 5, 1]), 5)
    Labels(3 labels: 0 1, 1 1, 4-7 1)
    """
    _, exponent = np.frexp(numbers.astype(np.float64))  # a number's length in bits
    names = ["0", "1"][: largest + 1]
    names += [f"{1 << i}-{(2 << i) - 1}" for i in range(1, largest.bit_length())]
    return Labels(exponent.astype(np.int64), tuple(names))


def make_side(
    side: str,
    splits: TripleSplits,
    kept: IntArray,
    keys: tuple[int, ...],
    filters: Sequence[str],
    candidates: CandidateSet,
    traits: Traits,
) -> SideTasks:
    """Make the tasks of one side.

    Parameters
    ----------
    side : {"head", "tail", "relation"}
        The side to predict.
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    kept : ndarray of int64, shape (n,)
        The triples of the evaluated split that are ranked.
    keys : tuple of int
        The columns of qualifiers that are part of a query.
    filters : sequence of str
        The rules by which known answers are left out: words of `FILTER_FORMS`.
    candidates : CandidateSet
        The candidate set.
    traits : Traits
        The numbers from which labels are made.

    Returns
    -------
    SideTasks
    """
    height = next(iter(splits.sizes.values()))
    vocabulary = splits.relations if side == "relation" else splits.entities
    facts = SideFacts(splits.triples, kept, *SIDES[side], keys, splits.times)
    made = facts.queries(keys)
    first, *others = filters
    lists = {name: FILTER_FORMS[name].lists(facts, made) for name in filters}
    labels = {
        "relation": Labels(splits.triples[kept, 1], splits.relations.names),
        "queries": Labels(made.rows),
        "targets": Labels(made.targets),
        "category": Labels(traits.category[kept], CATEGORIES),
        "head_degree": Labels(traits.degrees["head"][kept]),
        "tail_degree": Labels(traits.degrees["tail"][kept]),
        "degree": degree_buckets(traits.degrees[side][kept], traits.largest),
    }
    if splits.times is not None:
        column = splits.times.columns[0]
        labels["time"] = Labels(splits.triples[kept, column], splits.qualifiers[column - 3])
    return SideTasks(
        side=side,
        queries=made.queries,
        rows=made.rows,
        targets=made.targets,
        columns=vocabulary.size,
        filter=lists[first],
        candidates=candidates_of(side, candidates, made, kept, splits),
        labels=labels,
        given=kept,
        height=height,
        names=vocabulary.names,
        candidate_kind="relations" if side == "relation" else "entities",
        other_filters={name: lists[name] for name in others},
    )
