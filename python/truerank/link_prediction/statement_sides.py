"""The sides of statements with qualifiers: heads, tails, relations, and values of qualifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..inputs.errors import InputValueError
from ..ranks.labels import Labels
from ..tasks.row_keys import distinct, first_rows, row_keys
from ..tasks.side_tasks import SideTasks
from .candidate_sets import CandidateSet, candidates_of
from .known_answers import FILTER_FORMS, SideFacts
from .triple_audit import known_triples
from .triple_sides import CATEGORIES, Traits, degree_buckets, make_side, traits_of
from .triples import QUALIFIER

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .triples import TripleSplits


def make_statement_side(
    side: str,
    splits: TripleSplits,
    kept: IntArray,
    keys: tuple[int, ...],
    filters: Sequence[str],
    candidates: CandidateSet,
    traits: Traits,
) -> SideTasks:
    """Make the tasks of one side of statements, as `make_side` does of triples."""
    if candidates.split is not None and side != "relation":
        candidates = candidates._replace(chosen=_entities_of_split(splits, candidates.split))
    if side == QUALIFIER:
        return _make_qualifier_side(splits, kept, keys, filters, candidates, traits)
    tasks = make_side(side, splits, kept, keys, filters, candidates, traits)
    sizes = Labels(splits.beside.sets.sizes[splits.triples[kept, 3]])
    return replace(tasks, labels={**tasks.labels, "qualifiers": sizes})


def _entities_of_split(splits: TripleSplits, name: str) -> IntArray:
    """Return the entities of a known split: heads, tails and values."""
    statements = known_triples(splits, name)
    values = known_triples(
        splits._replace(triples=splits.beside.pairs, sizes=splits.beside.sizes), name
    )
    return distinct(np.concatenate([statements[:, 0], statements[:, 2], values[:, 1]]))


def _make_qualifier_side(
    splits: TripleSplits,
    kept: IntArray,
    keys: tuple[int, ...],
    filters: Sequence[str],
    candidates: CandidateSet,
    traits: Traits,
) -> SideTasks:
    """Make the tasks that predict the values of the qualifiers of the kept test statements.

    They are the "tail" of facts (head, relation of the qualifier, value), whose further columns are
    the relation and the tail of the statement, and the set of its other qualifiers.
    """
    flat = splits.beside
    statement, codes = flat.statement, flat.codes.tolist()
    given = next(iter(flat.sizes.values()))
    pairs = first_rows(row_keys([statement[:given], flat.codes[:given]]))
    ranked = np.sort(pairs[np.isin(statement[pairs], kept)])
    if not len(ranked):
        raise InputValueError("sides", "the test has no qualifiers to predict")
    others = np.zeros(len(codes), dtype=np.int64)
    for start, stop in zip(flat.indptr[:-1].tolist(), flat.indptr[1:].tolist(), strict=True):
        for i in range(start, stop):
            others[i] = flat.sets.number([c for c in codes[start:stop] if c != codes[i]])
    triples = splits.triples[statement]
    columns = (triples[:, 0], *flat.pairs.T, triples[:, 1], triples[:, 2], others)
    own_keys = (5,) if keys else ()
    facts = SideFacts(np.stack(columns, axis=1), ranked, (0, 3, 4, 1), 2, own_keys)
    made = facts.queries(own_keys)
    first, *more = filters
    lists = {name: FILTER_FORMS[name].lists(facts, made) for name in filters}
    rows, relations = statement[ranked], flat.pairs[ranked, 0]
    view = splits._replace(triples=facts.facts, sizes=flat.sizes)
    # the degree of a value is that of an entity: the number of known triples that have it
    test = np.stack([triples[ranked, 0], triples[ranked, 1], made.targets], axis=1)
    known = splits.triples[next(iter(splits.sizes.values())) :, :3]
    own_traits = traits_of(np.concatenate([test, known]), len(test))
    counts = flat.sets.sizes[splits.triples[rows, 3]]
    return SideTasks(
        side=QUALIFIER,
        queries=made.queries,
        rows=made.rows,
        targets=made.targets,
        columns=splits.entities.size,
        filter=lists[first],
        candidates=candidates_of(QUALIFIER, candidates, made, ranked, view),
        labels={
            "relation": Labels(relations, splits.relations.names),
            "queries": Labels(made.rows),
            "targets": Labels(made.targets),
            "unit": Labels(rows),
            "category": Labels(traits.category[rows], CATEGORIES),
            "head_degree": Labels(traits.degrees["head"][rows]),
            "tail_degree": Labels(traits.degrees["tail"][rows]),
            "degree": degree_buckets(own_traits.degrees["tail"], own_traits.largest),
            "qualifiers": Labels(counts),
        },
        given=ranked,
        height=given,
        names=splits.entities.names,
        other_filters={name: lists[name] for name in more},
    )
