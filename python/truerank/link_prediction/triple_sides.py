"""The tasks of one side, made of triples, and their labels: degrees, categories of relations."""

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
    """Numbers per entity and relation, from which the labels of tasks are made.

    Attributes
    ----------
    degree : ndarray of int64, shape (entities,)
        The distinct triples of the known splits in which an entity stands, as head or tail.
    frequency : ndarray of int64, shape (relations,)
        The distinct triples of the known splits that a relation has.
    category : ndarray of int64, shape (relations,)
        Positions in `CATEGORIES`.
    """

    degree: IntArray
    frequency: IntArray
    category: IntArray


def traits_of(triples: IntArray, given: int, entities: int, relations: int) -> Traits:
    """Count degrees, and say which relations have one head or many, one tail or many.

    A relation has one head where it has fewer than 1.5 heads on average over its distinct
    (relation, tail) pairs, else n; one tail likewise over its (head, relation) pairs. The first
    word of a category is of the heads, the second of the tails: "1-n" has many tails per head.
    (Bordes et al., "Translating embeddings for modeling multi-relational data", 2013, section 4.3:
    over all triples of a data set, an average below 1.5 is 1, others are MANY.)

    Parameters
    ----------
    triples : ndarray of int64, shape (n, 3+)
        Of all splits; the evaluated one's are the first `given`. Qualifiers do not count.
    given, entities, relations : int
        How many there are.

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
    # a triple whose head is its tail counts once; entities may be many more than triples
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
    """Sort numbers into 0, 1, 2 to 3, 4 to 7 and so on.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n,)
        Not negative.
    largest : int
        The names go up to its bucket.

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
        What is asked for.
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    kept : ndarray of int64, shape (n,)
        Which triples of the evaluated split are ranked.
    keys : sequence of int
        The further columns that are part of a query.
    filtered : bool
        Whether known answers are left out.
    candidates : CandidateSet
        The candidate set.
    traits : Traits
        What the labels are made of.

    Returns
    -------
    SideTasks
    """
    given = next(iter(splits.sizes.values()))
    vocabulary = splits.relations if side == "relation" else splits.entities
    columns, asked_for = SIDES[side]
    asked = make_queries(splits.triples, kept, (*columns, *keys), asked_for)
    heads, relations, tails = (splits.triples[kept, column] for column in range(3))
    number = traits.frequency if side == "relation" else traits.degree
    largest = int(max(traits.frequency.max(initial=0), traits.degree.max(initial=0)))
    return SideTasks(
        side=side,
        queries=asked.queries,
        rows=asked.rows,
        targets=asked.targets,
        columns=vocabulary.size,
        filter=asked.answers if filtered else None,
        candidates=candidates_of(side, candidates, asked, relations, splits),
        labels={
            "group": Labels(relations, splits.relations.names),
            "queries": Labels(asked.rows),
            "targets": Labels(asked.targets),
            "category": Labels(traits.category[relations], CATEGORIES),
            "head_degree": Labels(traits.degree[heads]),
            "tail_degree": Labels(traits.degree[tails]),
            "degree": degree_buckets(number[asked.targets], largest),
        },
        given=kept,
        height=given,
        names=vocabulary.names,
    )
