"""Complex queries: every hard answer is ranked without all other answers of its query."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..arrays.row_keys import are_among, distinct, search_sorted
from ..errors import InputTypeError, InputValueError
from ..inputs.frames import Axis
from ..naming import public
from ..ranks.labels import Labels, as_labels
from ..ranks.protocol import Protocol
from ..records.text import is_path
from ..records.vocabularies import Vocabulary
from ..reporting import Report, report
from ..tasks.keyed_candidates import name_of_sets
from ..tasks.one_sided_task import OneSidedTask
from ..tasks.sampling import check_among
from ..tasks.side_tasks import SideTasks, make_queries
from .query_answers import (
    QueryAnswers,
    answers_by_query,
    check_queries,
    check_structures,
    read_queries,
)

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..ranks.container import Ranks
    from ..records.vocabularies import Names

SIDE = "answers"
STRUCTURE = "structure"  # It is the name of the label.


@public("truerank.link_prediction")
class ComplexQueries(OneSidedTask[Report]):
    """Complex query answering: rank the hard answers of each query among all entities.

    The easy answers of a query follow from the known facts, the hard ones do not. Every hard answer
    is a task, from whose candidates all other answers of the query, easy and hard, are left out.
    The answers of a query count as much as one: a metric is its mean over the hard answers of a
    query, then over the queries of a structure; "macro.mrr" is its mean over structures.

    Parameters
    ----------
    queries : path, QueryAnswers, or sequence
        The path of a file that `read_queries` reads, or what it returns. Or the queries: anything
        hashable, as labels, ids or nested tuples of them, all different. They tell queries apart,
        and mean nothing else.
    easy, hard : mapping, or sequence
        The answers of each query, as labels or ids of entities: a mapping of queries to lists or
        sets (a query that it lacks has none, and other queries are ignored), or a sequence with a
        list or set for each query. Repeats count once. ``easy=None``: no query has easy answers.
    structures : sequence of str, or str
        The structure of each query, as "2p" or "pni"; one str if it is that of all.
    entities : int, sequence of str or of int, or mapping of these to int
        The number of entities, or their labels in the order of the columns of scores, or a mapping
        to these columns.
    candidates : array of entities, optional
        The only entities to rank among, as ids or labels: those of the graph of inference, where
        the columns of scores are more. All hard answers must be among them. Their name in the
        protocol has their number and a digest, as "selection of 40 (3f2a91c0)". Default: all.
    split : str
        The name of the evaluated split.

    Attributes
    ----------
    sides : dict of str to SideTasks
        The one side, also as `answers`.
    protocol : Protocol
    queries : tuple
        The queries, in the order of rows of scores.
    structures : tuple of str
        Their structures.
    entities : tuple of str, tuple of int, or None
        The labels of the ids.
    without_hard : int
        The number of queries without hard answers, which are left out of all means.

    Raises
    ------
    TypeError, ValueError
        For other forms, unknown labels, ids out of range, queries that occur twice, an answer that
        is both easy and hard, and no hard answers at all; messages name the query.
    OSError
        For a file that is missing or damaged.

    Notes
    -----
    Every task has the labels "structure", "queries" (the query, if all are str, else its position),
    "targets", and "unit" (the position of the query). The protocol is that of Query2box, BetaE and
    those who followed (Ren and Leskovec, "Beta embeddings for multi-hop logical reasoning", 2020,
    appendix); their rank of tied scores is one of those between the optimistic and the pessimistic
    one.

    Examples
    --------
    >>> task = ComplexQueries(
    ...     ["q", "r"],
    ...     easy={"q": ["a"]},
    ...     hard={"q": ["b", "c"], "r": ["d"]},
    ...     structures=["2p", "2i"],
    ...     entities=["a", "b", "c", "d", "e"],
    ... )
    >>> report = task.evaluate_scores([[9.0, 3.0, 1.0, 2.0, 0.0], [1.0, 2.0, 4.0, 3.0, 0.0]])
    >>> report.groups["2p"]["mrr"], report.groups["2i"]["mrr"], report["macro.mrr"]
    (0.75, 0.5, 0.625)
    """

    queries: tuple[Hashable, ...]
    structures: tuple[str, ...]
    entities: Names
    without_hard: int

    def __init__(
        self,
        queries: Any,
        easy: Any = None,
        hard: Any = None,
        *,
        structures: Any = None,
        entities: Any,
        candidates: Any = None,
        split: str = "test",
    ) -> None:
        given = _read_arguments(queries, easy, hard, structures)
        self.queries = check_queries(given.queries)
        self.structures = check_structures(given.structures, len(self.queries))
        if entities is None:  # Those that occur would be too few.
            expected = "the number of entities, or their labels"
            raise InputTypeError("entities", expected=expected, got="None")
        vocabulary = Vocabulary.read("entities", entities)
        easy_keys = _answer_keys("easy", given.easy, self.queries, vocabulary)
        hard_keys = _answer_keys("hard", given.hard, self.queries, vocabulary)
        if not len(hard_keys):
            raise InputValueError("hard", expected="at least one hard answer", got="none")
        self.entities = vocabulary.names
        side = self._make_side(easy_keys, hard_keys, vocabulary)
        self.without_hard = len(self.queries) - len(side.queries)
        name = "all"
        if candidates is not None:
            chosen = vocabulary.set_of("candidates", candidates)
            check_among(chosen, side.targets, vocabulary, "hard answers")
            side = replace(side, candidates=chosen)
            name = name_of_sets([chosen])
        protocol = Protocol(filter=("easy", "hard"), candidates=name, split=split)
        words = tuple(map(repr, self.queries))
        facts = [(side.test_rows, words), (side.targets, vocabulary.names)]
        super().__init__({SIDE: side}, protocol, facts=facts)

    def _make_side(self, easy: IntArray, hard: IntArray, vocabulary: Vocabulary) -> SideTasks:
        """Make the tasks from keys of queries and answers, ascending and distinct."""
        size = vocabulary.size
        both = easy[are_among(easy, hard)]
        if len(both):
            query, entity = divmod(int(both[0]), size)
            first = f"{vocabulary.label_of(entity)!r} of query {self.queries[query]!r}"
            raise InputValueError("hard", f"{len(both)} answers are easy, too, first {first}")
        answers = distinct(np.concatenate([easy, hard]))
        facts = np.stack(np.divmod(answers, size), axis=1)
        queries = make_queries(facts, search_sorted(answers, hard), (0,), 1)
        query_of_task = hard // size
        names = None
        if all(isinstance(query, str) for query in self.queries):
            names = tuple(map(str, self.queries))
        structures = as_labels(STRUCTURE, self.structures, len(self.queries))
        return SideTasks(
            SIDE,
            queries=queries.queries[:, 0],
            rows=queries.rows,
            targets=queries.targets,
            columns=size,
            filter=queries.answers,
            labels={
                "queries": Labels(query_of_task, names),
                "targets": vocabulary.labels(queries.targets),
                STRUCTURE: structures[query_of_task],
            },
            test_rows=query_of_task,
            height=len(self.queries),
            names=vocabulary.names,
            row_axis=Axis(names, "task.queries"),
        )

    def __repr__(self) -> str:
        side = self.answers
        queries = f"{len(side.queries):,} queries"
        if self.without_hard:
            queries += f", {self.without_hard:,} without"
        structures = f"{len(set(self.structures)):,} structures"
        tasks = f"{len(side):,} hard answers of {queries}, {structures}"
        return f"ComplexQueries({tasks}; {self.protocol})"

    def _report(self, ranks: Ranks) -> Report:
        """Let every query count once, and group them by structure."""
        rows = self.answers.rows
        weights = 1 / np.bincount(rows)[rows]
        return report(ranks.with_weights(weights), by=STRUCTURE)


def _read_arguments(queries: Any, easy: Any, hard: Any, structures: Any) -> QueryAnswers:
    """Return the first arguments, unchecked, or those of a file or of what was read of one."""
    if not is_path(queries) and not isinstance(queries, QueryAnswers):
        if hard is None:
            raise InputTypeError("hard", expected="the hard answers of each query", got="None")
        return QueryAnswers(queries, easy, hard, structures)
    for name, value in {"easy": easy, "hard": hard, "structures": structures}.items():
        if value is not None:
            expected = "None, as the first argument has them"
            raise InputTypeError(name, expected=expected, got=type(value).__name__)
    if is_path(queries):
        return read_queries(queries)
    return cast("QueryAnswers", queries)


def _answer_keys(
    argument: str, value: Any, queries: Sequence[Hashable], vocabulary: Vocabulary
) -> IntArray:
    """Return query times entities plus answer for all answers, ascending and distinct."""
    lists = answers_by_query(argument, value, queries)
    query_of_answer = np.repeat(np.arange(len(queries)), list(map(len, lists)))
    answers = list(chain.from_iterable(lists))
    ids = vocabulary.ids_of(
        argument, answers, lambda i: f"for query {queries[query_of_answer[i]]!r}"
    )
    return distinct(query_of_answer * vocabulary.size + ids)
