"""Link prediction over statements with qualifiers: heads, tails, relations, and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..inputs.arrays import index_array
from ..inputs.errors import InputValueError
from ..inputs.naming import public
from ..ranks.labels import Labels
from ..tasks.row_keys import distinct, first_rows, row_keys
from ..tasks.side_tasks import SideTasks
from .candidate_sets import CandidateSet, candidates_of
from .known_answers import FILTER_FORMS, SideFacts
from .statements import QualifierSets, read_statement_splits
from .triple_audit import known_triples
from .triple_sides import CATEGORIES, Traits, degree_buckets, make_side, traits_of
from .triple_task import Task
from .triples import QUALIFIER, SIDES, TripleSplits

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


@public("truerank.link_prediction")
class StatementTask(Task):
    """Link prediction over statements: triples with any number of qualifiers, as a set.

    A qualifier is a pair of a relation and a value, an entity. A statement's set of qualifiers is
    one more column of its triple: the number of the set. All that `Task` says holds for such rows;
    in addition, the value of every qualifier can be predicted.

    Parameters
    ----------
    test, known
        Statements in any form that `read_statements` takes; `known` otherwise as in `Task`.
    sides : sequence of {"head", "tail", "relation", "qualifier"}
        What is predicted. "qualifier": the value of each qualifier of each test statement, from its
        head, relation and tail, the relation of the qualifier, and the other qualifiers.
    keys : sequence of int, optional
        Default: the qualifiers are part of every query. (): they are not, as for a model that does
        not read them.
    filters : sequence of {"query", "fact", "triple", "none"}, optional
        Which known answers are left out, as in `Task`. "fact": those of statements with the same
        qualifiers (for a value, with the same other ones). "triple": those of statements with any
        qualifiers.
    entities, relations, candidates, split, duplicates, leaks, unseen
        As in `Task`. Values of qualifiers are entities, and their relations are relations. The
        candidates "train" are all entities of that split, "typed" for a value those of qualifiers
        of that relation. `unseen` is about heads, relations and tails alone.

    Attributes
    ----------
    test : ndarray of int64, shape (n, 4), read-only
        The test statements that are ranked: head, relation, tail, and the number of the set.
    sets : sequence of ndarray of int64, shape (k, 2)
        The distinct sets of qualifiers by their number: pairs of a relation and a value. Those
        without one of the qualifiers of a test statement are among them; ``sets[0]`` is empty.
    sides, protocol, protocols, audit, entities, relations
        As in `Task`; the side "qualifier" also as `qualifier`.

    Raises
    ------
    TypeError, ValueError, OSError
        As `read_statements` and `Task` do; for the side "qualifier" without any qualifier.

    Notes
    -----
    Tasks have the labels of `Task` and "qualifiers", how many their statement has. "relation" is
    that of the qualifier for the side "qualifier", and "unit" the row of the statement for all
    sides. A pair that a statement has twice counts once, and the order of its qualifiers means
    nothing.

    Examples
    --------
    >>> train = [("a", "won", "x", "in", "2001"), ("a", "won", "y", "in", "2002")]
    >>> task = StatementTask(
    ...     [("a", "won", "z", "in", "2001")], {"train": train}, sides=["tail", "qualifier"],
    ...     filters=["fact", "triple"],
    ... )
    >>> task.entities
    ('2001', '2002', 'a', 'x', 'y', 'z')
    >>> scores = [[0.0, 0.1, 0.2, 0.9, 0.8, 0.7]]
    >>> report = task.evaluate_scores(scores, qualifier=scores)
    >>> report["tail.mr"], report.filters["triple"]["tail.mr"]
    (2.0, 1.0)
    """

    _side_names: ClassVar[tuple[str, ...]] = (*SIDES, QUALIFIER)
    sets: QualifierSets

    def _read_splits(
        self,
        splits: Mapping[str, tuple[str, Any]],
        entities: Any,
        relations: Any,
        time: Any = None,
    ) -> TripleSplits:
        if time is not None:
            got = f"{time!r}; a time is the value of a qualifier"
            raise InputValueError("time", expected="None for statements", got=got)
        read = read_statement_splits(splits, entities, relations)
        self.sets = read.beside.sets
        return read

    def _make_side(
        self,
        side: str,
        splits: TripleSplits,
        kept: IntArray,
        keys: tuple[int, ...],
        filters: Sequence[str],
        candidates: CandidateSet,
        traits: Traits,
    ) -> SideTasks:
        if candidates.split is not None and side != "relation":
            entities = _entities_of_split(splits, candidates.split)
            candidates = candidates._replace(chosen=entities)
        if side == QUALIFIER:
            return _make_qualifier_side(splits, kept, keys, filters, candidates, traits)
        made = make_side(side, splits, kept, keys, filters, candidates, traits)
        counts = Labels(self.sets.sizes[splits.triples[kept, 3]])
        return replace(made, labels={**made.labels, "qualifiers": counts})

    @property
    def qualifier(self) -> SideTasks:
        """The tasks that predict values: queries (head, relation, tail, its relation, set)."""
        return self._side_tasks(QUALIFIER)

    def pad_sets(self, numbers: Any, *, pad: int = -1) -> IntArray:
        """Return some sets of qualifiers as an array, as models read them.

        Parameters
        ----------
        numbers : array_like of int, shape (b,)
            The numbers of the sets, such as the last column of queries.
        pad : int
            What fills short sets.

        Returns
        -------
        ndarray of int64, shape (b, k, 2)
            The relation and the value of each qualifier.

        Examples
        --------
        >>> from truerank.link_prediction import StatementTask
        >>> task = StatementTask([("a", "won", "z", "in", "x"), ("a", "won", "y")])
        >>> task.pad_sets(task.tail.queries[:, 2]).tolist()
        [[[-1, -1]], [[0, 1]]]
        """
        found = [self.sets[number] for number in index_array("numbers", numbers).tolist()]
        padded = np.full((len(found), max(map(len, found), default=0), 2), pad, dtype=np.int64)
        for row, pairs in zip(padded, found, strict=True):
            row[: len(pairs)] = pairs
        return padded


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
