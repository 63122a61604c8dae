"""The sides of a task of link prediction, with their labels: degrees, categories of relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays.row_keys import DistinctRows, Occurrences, occurrences_of
from ..ranks.labels import Labels, labels_of_codes
from ..records.vocabularies import Vocabulary
from ..tasks.side import Side, TaskLists, make_side
from .candidate_sets import CandidateSet, candidates_of

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
# The roles that make the queries of a side; the side has the name of the role of its answers.
QUERY_ROLES: dict[str, tuple[str, ...]] = {
    "head": ("relation", "tail"),
    "tail": ("head", "relation"),
    "relation": ("head", "tail"),
}
CATEGORIES = ("1-1", "1-n", "n-1", "n-n")


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
    kept: IntArray,
    keys: Sequence[int],
    filter: str,
    candidates: CandidateSet,
    *,
    is_asked: npt.NDArray[np.bool_],
) -> dict[str, Side]:
    """Make the tasks of some sides.

    Parameters
    ----------
    sides : sequence of {"head", "tail", "relation"}
        The sides to predict.
    splits : TripleSplits
        The evaluated split, which comes first, and the known ones.
    kept : ndarray of int64, shape (n,)
        The triples of the evaluated split that are ranked.
    keys : sequence of int
        The further columns that are part of a query.
    filter : str
        The rule by which known answers are left out: a word of `FILTERS`.
    candidates : CandidateSet
        The candidate set.
    is_asked : ndarray of bool
        The triples of all splits that share a query of the task are marked in it.
    """
    facts = dict(zip(vocabularies_by_role(splits), splits.triples.T, strict=True))
    of_entities, of_relations = _count_known(splits)
    relations = facts["relation"][kept]
    labels_of_triples = {
        "relation": splits.relations.labels(relations),
        "category": labels_of_codes(_categories(splits.triples, relations), CATEGORIES),
        "head_degree": labels_of_codes(of_entities.of(facts["head"][kept])),
        "tail_degree": labels_of_codes(of_entities.of(facts["tail"][kept])),
    }
    del of_entities
    made = {}
    for name, (*query, answer) in roles_by_side(sides, keys).items():
        size = splits.vocabulary_of(name).size
        side = make_side(
            name, facts, kept, query=query, answer=answer, n_candidates=size, is_asked=is_asked
        )
        known_answers: TaskLists | None = side.filter
        if filter == NONE:
            known_answers = None
        elif filter != QUERY:
            agreeing = QUERY_ROLES[name]
            if filter == FACT:
                agreeing = tuple(role for role in facts if role != name)
            known_answers = make_side(
                name, facts, kept, query=agreeing, answer=answer, n_candidates=size
            ).filter
        degrees = of_relations.of(side.targets)
        if name != "relation":
            degrees = labels_of_triples[f"{name}_degree"].codes
        labels = labels_of_triples | {
            "queries": labels_of_codes(side.rows),
            "targets": labels_of_codes(side.targets),
            "degree": degree_buckets(degrees),
        }
        candidates_of_side = candidates_of(candidates, side, splits)
        made[name] = replace(
            side, filter=known_answers, candidates=candidates_of_side, labels=labels
        )
    return made


def roles_by_side(sides: Iterable[str], keys: Sequence[int]) -> dict[str, tuple[str, ...]]:
    """Return the roles of each side: of its queries, with their further columns, and its answers.

    Examples
    --------
    >>> roles_by_side(["tail"], [4])
    {'tail': ('head', 'relation', '4', 'tail')}
    """
    return {side: (*QUERY_ROLES[side], *map(str, keys), side) for side in sides}


def vocabularies_by_role(splits: TripleSplits) -> dict[str, Vocabulary]:
    """Return what elements of each column name; further columns have their numbers as roles."""
    names = {"head": splits.entities, "relation": splits.relations, "tail": splits.entities}
    for number, labels in enumerate(splits.qualifiers, 3):
        names[str(number)] = Vocabulary(0, labels)
    return names
