"""The tasks of one side of link prediction, with their labels: degrees, categories of relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..ranks.labels import Labels
from ..tasks.row_keys import distinct_rows
from ..tasks.side_tasks import SideTasks, make_queries
from .candidate_sets import CandidateSet, candidates_of
from .triples import SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .triples import TripleSplits

CATEGORIES = ("1-1", "1-n", "n-1", "n-n")


class Traits(NamedTuple):
    """Numbers per entity and per relation, from which the labels of tasks are made.

    Attributes
    ----------
    degree : ndarray of int64, shape (entities,)
        The number of distinct triples of the known splits with an entity as head or tail.
    frequency : ndarray of int64, shape (relations,)
        The number of distinct triples of the known splits with a relation.
    category : ndarray of int64, shape (relations,)
        The category of each relation, as a position in `CATEGORIES`.
    """

    degree: IntArray
    frequency: IntArray
    category: IntArray


def traits_of(triples: IntArray, given: int, entities: int, relations: int) -> Traits:
    """Count degrees, and classify relations by one head or many, one tail or many.

    A relation has one head if it has fewer than 1.5 heads on average over its distinct
    (relation, tail) pairs, else n; the same holds for tails over its (head, relation) pairs. A
    category names heads first: "1-n" has many tails per head. (Bordes et al., "Translating
    embeddings for modeling multi-relational data", 2013, section 4.3: over all triples of a data
    set, an average below 1.5 is 1, others are MANY.)

    Parameters
    ----------
    triples : ndarray of int64, shape (n, 3+)
        The triples of all splits; the first `given` belong to the evaluated one. Qualifiers do not
        count.
    given, entities, relations : int
        The numbers of evaluated triples, entities and relations.

    Returns
    -------
    Traits

    Examples
    --------
    >>> triples = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 2]])
    >>> traits = traits_of(triples, 1, 3, 1)
    >>> traits.degree, CATEGORIES[traits.category[0]]
    (array([1, 0, 1]), '1-n')
    """
    order = (1, 0, 2)
    known, heads, tails = distinct_rows([triples[given:, column] for column in order])
    # a triple whose head is its tail counts once; there may be many more entities than triples
    degree = np.bincount(np.concatenate([heads, tails[tails != heads]]), minlength=entities)
    frequency = np.bincount(known, minlength=relations)
    both = [
        np.concatenate([ids, triples[:given, column]])
        for ids, column in zip((known, heads, tails), order, strict=True)
    ]
    relation, heads, tails = distinct_rows(both)
    sizes = np.bincount(relation, minlength=relations)
    with_heads, with_tails = (
        np.bincount(distinct_rows([relation, ends])[0], minlength=relations)
        for ends in (heads, tails)
    )
    many_heads = 2 * sizes >= 3 * with_tails
    many_tails = 2 * sizes >= 3 * with_heads
    return Traits(degree, frequency, 2 * many_heads + many_tails)


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
    keys: Sequence[int],
    filtered: bool,
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
    keys : sequence of int
        The columns of qualifiers that are part of a query.
    filtered : bool
        Whether known answers are left out.
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
    columns, answer_column = SIDES[side]
    made = make_queries(splits.triples, kept, (*columns, *keys), answer_column)
    heads, relations, tails = (splits.triples[kept, column] for column in range(3))
    number = traits.frequency if side == "relation" else traits.degree
    largest = int(max(traits.frequency.max(initial=0), traits.degree.max(initial=0)))
    return SideTasks(
        side=side,
        queries=made.queries,
        rows=made.rows,
        targets=made.targets,
        columns=vocabulary.size,
        filter=made.answers if filtered else None,
        candidates=candidates_of(side, candidates, made, relations, splits),
        labels={
            "group": Labels(relations, splits.relations.names),
            "queries": Labels(made.rows),
            "targets": Labels(made.targets),
            "category": Labels(traits.category[relations], CATEGORIES),
            "head_degree": Labels(traits.degree[heads]),
            "tail_degree": Labels(traits.degree[tails]),
            "degree": degree_buckets(number[made.targets], largest),
        },
        given=kept,
        height=height,
        names=vocabulary.names,
    )
