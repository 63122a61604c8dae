"""The sides of a task of link prediction, with their labels: degrees, categories of relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.row_keys import distinct_rows, first_rows, row_keys
from ..ranks.labels import Labels
from ..tasks.side_tasks import SideTasks
from .candidate_sets import CandidateSet, candidates_of
from .known_answers import SideFacts
from .triples import QUALIFIER, SIDES

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .triples import TripleSplits

CATEGORIES = ("1-1", "1-n", "n-1", "n-n")


class TripleCounts:
    """How often entities and relations occur in triples, from which the labels of tasks are made.

    Parameters
    ----------
    triples : ndarray of int64, shape (n, 3+)
        The triples of all splits; the first `tested` belong to the evaluated one. Qualifiers do not
        count, and memory grows with the number of triples, whatever their ids.
    tested : int
        The number of evaluated triples.

    Examples
    --------
    >>> counts = TripleCounts(np.array([[0, 0, 1], [0, 0, 2], [0, 0, 2]]), 1)
    >>> counts.degrees("entities", np.array([0, 1])), CATEGORIES[counts.category[0]]
    (array([1, 0]), '1-n')
    """

    def __init__(self, triples: IntArray, tested: int) -> None:
        order = (1, 0, 2)
        known, heads, tails = distinct_rows([triples[tested:, column] for column in order])
        # a triple whose head is its tail counts once
        ends = np.concatenate([heads, tails[tails != heads]])
        self._of_kind = {"entities": np.sort(ends), "relations": known}  # ascending
        self.category = _categories(triples, triples[:tested, 1])

    def degrees(self, kind: str, ids: IntArray) -> IntArray:
        """Return how many distinct triples of the known splits have each entity or relation."""
        return _occurrences(self._of_kind[kind], ids)


def _categories(triples: IntArray, relations: IntArray) -> IntArray:
    """Classify relations by one head or many, one tail or many, as positions in `CATEGORIES`.

    A relation has one head if it has fewer than 1.5 heads on average over its distinct
    (relation, tail) pairs, else n; the same holds for tails over its (head, relation) pairs. A
    category names heads first: "1-n" has many tails per head. (Bordes et al., "Translating
    embeddings for modeling multi-relational data", 2013, section 4.3: over all triples of a data
    set, an average below 1.5 is 1, others are MANY.)
    """
    relation, heads, tails = distinct_rows([triples[:, column] for column in (1, 0, 2)])
    sizes = _occurrences(relation, relations)
    with_heads, with_tails = (
        _occurrences(distinct_rows([relation, ends])[0], relations) for ends in (heads, tails)
    )
    return 2 * (2 * sizes >= 3 * with_tails) + (2 * sizes >= 3 * with_heads)


def _occurrences(ascending: IntArray, ids: IntArray) -> IntArray:
    """Return how often each of some ids is among ascending ones."""
    ends = (np.searchsorted(ascending, ids, side) for side in ("right", "left"))
    return np.subtract(*ends)


def degree_buckets(numbers: IntArray) -> Labels:
    """Label numbers, which are not negative, by buckets: 0, 1, 2 to 3, 4 to 7 and so on.

    Examples
    --------
    >>> degree_buckets(np.array([0, 5, 1]))
    Labels(3 labels: 0 1, 1 1, 4-7 1)
    """
    _, exponent = np.frexp(numbers.astype(np.float64))  # a number's length in bits
    largest = int(exponent.max(initial=0))
    names = ["0", "1", *(f"{1 << i}-{(2 << i) - 1}" for i in range(1, largest))]
    return Labels(exponent.astype(np.int64), tuple(names[: largest + 1]))


def make_side(
    side: str,
    splits: TripleSplits,
    kept: IntArray,
    keys: tuple[int, ...],
    filters: Sequence[str],
    candidates: CandidateSet,
    counts: TripleCounts,
) -> SideTasks:
    """Make the tasks of one side, of triples or of statements.

    Parameters
    ----------
    side : {"head", "tail", "relation", "qualifier"}
        The side to predict.
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    kept : ndarray of int64, shape (n,)
        The triples of the evaluated split that are ranked.
    keys : tuple of int
        The columns of qualifiers that are part of a query.
    filters : sequence of str
        The rules by which known answers are left out: words of `FILTERS`.
    candidates : CandidateSet
        The candidate set.
    counts : TripleCounts
        Of the same splits.

    Returns
    -------
    SideTasks
    """
    kind = "relations" if side == "relation" else "entities"
    vocabulary = splits.vocabulary_of(side)
    if side == QUALIFIER:
        facts = _facts_of_values(splits, kept, bool(keys))
        triple = splits.beside.statement[facts.ranked]
        height = int(splits.beside.indptr[splits.tested])
    else:
        facts = SideFacts(splits.triples, kept, *SIDES[side], keys, splits.times)
        triple, height = kept, splits.tested
    queries = facts.queries((*facts.query_columns, *facts.keys))
    lists = {name: facts.filter(name, queries) for name in filters}
    heads, tails = (splits.triples[triple, column] for column in (0, 2))
    labels = {
        "relation": splits.relations.labels(facts.facts[facts.ranked, 1]),
        "queries": Labels(queries.rows),
        "targets": Labels(queries.targets),
        "unit": Labels(triple),
        "category": Labels(counts.category[triple], CATEGORIES),
        "head_degree": Labels(counts.degrees("entities", heads)),
        "tail_degree": Labels(counts.degrees("entities", tails)),
        "degree": degree_buckets(counts.degrees(kind, queries.targets)),
    }
    if splits.beside is not None:
        labels["qualifiers"] = Labels(splits.beside.sets.sizes[splits.triples[triple, 3]])
    if splits.times is not None:
        column = splits.times.columns[0]
        labels["time"] = Labels(splits.triples[kept, column], splits.qualifiers[column - 3])
    return SideTasks(
        side,
        *queries[:3],
        vocabulary.size,
        filter=lists.pop(filters[0]),
        candidates=candidates_of(side, candidates, queries, facts, splits),
        labels=labels,
        test_rows=facts.ranked,
        height=height,
        names=vocabulary.names,
        candidate_kind=kind,
        other_filters=lists,
    )


def _facts_of_values(splits: TripleSplits, kept: IntArray, has_keys: bool) -> SideFacts:
    """Return the values of qualifiers as facts.

    A value is the "tail" of a fact (head, relation of the qualifier, value), whose further columns
    are the relation and the tail of the statement, and the set of its other qualifiers. Ranked are
    those of the kept statements.
    """
    flat = splits.beside
    statement, codes = flat.statement, flat.codes.tolist()
    tested = flat.indptr[splits.tested]
    pairs = first_rows(row_keys([statement[:tested], flat.codes[:tested]]))
    ranked = np.sort(pairs[np.isin(statement[pairs], kept)])
    if not len(ranked):
        raise InputValueError("sides", "the test has no qualifiers to predict")
    others = np.zeros(len(codes), dtype=np.int64)
    for start, stop in zip(flat.indptr[:-1].tolist(), flat.indptr[1:].tolist(), strict=True):
        for i in range(start, stop):
            others[i] = flat.sets.number([c for c in codes[start:stop] if c != codes[i]])
    heads, relations, tails = splits.triples[statement, :3].T
    facts = np.stack([heads, *flat.pairs.T, relations, tails, others], axis=1)
    return SideFacts(facts, ranked, (0, 3, 4, 1), 2, (5,) if has_keys else ())
