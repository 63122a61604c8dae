"""The sides of a task of link prediction, with their labels: degrees, categories of relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import DistinctRows, Occurrences, occurrences_of
from ..ranks.labels import Labels, labels_of_codes
from ..tasks.side_tasks import SideQueries, SideTasks, make_queries
from .candidate_sets import CandidateSet, candidates_of
from .triples import SIDES

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from .triples import TripleSplits

# What facts of known splits leave out: those of the same query, those that agree in head, relation
# and tail, those that agree in all columns, or none.
QUERY = "query"
TRIPLE = "triple"
FACT = "fact"
NONE = "none"
FILTERS = (QUERY, TRIPLE, FACT, NONE)
CATEGORIES = ("1-1", "1-n", "n-1", "n-n")
# Files and messages list the labels of tasks in this order.
LABELS = (
    "relation",
    "queries",
    "targets",
    "unit",
    "category",
    "head_degree",
    "tail_degree",
    "degree",
)


def _count_known(splits: TripleSplits) -> tuple[Occurrences, Occurrences]:
    """Count in how many distinct triples of the known splits entities and relations occur.

    Further columns do not count, and memory grows with the number of triples, whatever their ids.
    """
    known = splits.triples[splits.tested :]
    rows = DistinctRows([known[:, 1], known[:, 0], known[:, 2]])
    of_relations = rows.count_prefixes(3)
    heads = rows.column(1)
    tails = rows.column(2)
    del rows  # There may be millions of rows.
    tails = tails[tails != heads]  # A triple whose head is its tail counts once.
    return occurrences_of(heads, tails), of_relations


def _categories(triples: IntArray, relations: IntArray) -> IntArray:
    """Classify relations by one head or many, one tail or many, as positions in `CATEGORIES`.

    A relation has one head if it has fewer than 1.5 heads on average over its distinct
    (relation, tail) pairs, else n; the same holds for tails over its (head, relation) pairs. A
    category names heads first: "1-n" has many tails per head. (Bordes et al., "Translating
    embeddings for modeling multi-relational data", 2013, section 4.3: over all triples of a data
    set, an average below 1.5 is 1, others are MANY.)
    """
    heads, known, tails = triples[:, 0], triples[:, 1], triples[:, 2]
    rows = DistinctRows([known, heads, tails])
    sizes = rows.count_prefixes(3).of(relations)
    of_heads = rows.count_prefixes(2).of(relations)
    del rows
    of_tails = DistinctRows([known, tails]).count_prefixes(2).of(relations)
    return 2 * (2 * sizes >= 3 * of_tails) + (2 * sizes >= 3 * of_heads)


def degree_buckets(numbers: IntArray) -> Labels:
    """Label numbers, which are not negative, by buckets: 0, 1, 2 to 3, 4 to 7 and so on.

    Examples
    --------
    >>> degree_buckets(np.array([0, 5, 1]))
    Labels(3 labels: 0 1, 1 1, 4-7 1)
    """
    _, exponent = np.frexp(numbers.astype(np.float64))  # The exponent is a number's length in bits.
    largest = int(exponent.max(initial=0))
    names = ["0", "1"]
    names.extend(f"{1 << i}-{(2 << i) - 1}" for i in range(1, largest))
    return labels_of_codes(exponent.astype(np.int64), tuple(names[: largest + 1]))


def make_sides(
    sides: Sequence[str],
    splits: TripleSplits,
    *,
    kept: IntArray,
    keys: tuple[int, ...],
    filter: str,
    candidates: CandidateSet,
    is_asked: npt.NDArray[np.bool_],
) -> dict[str, SideTasks]:
    """Make the tasks of some sides.

    Parameters
    ----------
    sides : sequence of {"head", "tail", "relation"}
        The sides to predict.
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    kept : ndarray of int64, shape (n,)
        The triples of the evaluated split that are ranked.
    keys : tuple of int
        The further columns that are part of a query.
    filter : str
        The rule by which known answers are left out: a word of `FILTERS`.
    candidates : CandidateSet
        The candidate set.
    is_asked : ndarray of bool
        The triples of all splits that share a query of the task are marked in it.
    """
    of_entities, of_relations = _count_known(splits)
    labels = _labels_of_triples(splits, kept, of_entities)
    del of_entities
    made = {}
    for side in sides:
        query, answer = SIDES[side]
        queries = make_queries(splits.triples, kept, query + keys, answer, is_asked)
        vocabulary = splits.vocabulary_of(side)
        made[side] = SideTasks(
            side,
            queries=queries.queries,
            rows=queries.rows,
            targets=queries.targets,
            columns=vocabulary.size,
            filter=_make_filter(filter, side, queries, splits.triples, kept),
            candidates=candidates_of(side, candidates, queries, kept, splits),
            labels=_labels_of_side(side, queries, of_relations, labels),
            test_rows=kept,
            height=splits.tested,
            names=vocabulary.names,
            candidate_kind=vocabulary.of,
        )
    return made


def _make_filter(
    name: str, side: str, queries: SideQueries, triples: IntArray, kept: IntArray
) -> Any:
    """Make the filter that a word of `FILTERS` stands for, as `SideTasks` takes it."""
    if name == NONE:
        return None
    if name == QUERY:
        return queries.answers
    agreeing, answer = SIDES[side]
    if name == FACT:
        agreeing = tuple(j for j in range(triples.shape[1]) if j != answer)
    known = make_queries(triples, kept, agreeing, answer)
    return *known.answers, known.rows


def _labels_of_triples(
    splits: TripleSplits, kept: IntArray, of_entities: Occurrences
) -> dict[str, Labels]:
    """Make the labels that the tasks of all sides have, one for each triple that is ranked."""
    triples = splits.triples
    relations = triples[kept, 1]
    categories = _categories(triples, relations)
    labels = {
        "relation": splits.relations.labels(relations),
        "unit": labels_of_codes(kept),
        "category": labels_of_codes(categories, CATEGORIES),
        "head_degree": labels_of_codes(of_entities.of(triples[kept, 0])),
        "tail_degree": labels_of_codes(of_entities.of(triples[kept, 2])),
    }
    return labels


def _labels_of_side(
    side: str, queries: SideQueries, of_relations: Occurrences, of_triples: Mapping[str, Labels]
) -> dict[str, Labels]:
    """Add the labels of the tasks of one side to those of their triples."""
    labels = dict(of_triples)
    labels["queries"] = labels_of_codes(queries.rows)
    labels["targets"] = labels_of_codes(queries.targets)
    if side == "relation":
        degrees = of_relations.of(queries.targets)
    else:
        degrees = labels[f"{side}_degree"].codes
    labels["degree"] = degree_buckets(degrees)
    return {name: labels[name] for name in LABELS if name in labels}
