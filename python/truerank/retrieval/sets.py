"""Right answers and known ones, read from qrels and splits in any form, as ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays.row_keys import are_among, distinct, look_up, row_keys, sorted_with_order
from ..errors import InputTypeError, InputValueError, warn_user
from ..inputs.checks import is_integer, is_number, is_sparse
from ..naming import format_count
from ..records.columns import is_column, read_elements
from ..records.id_tables import IdTable, encode_columns, find_elements
from ..records.lists import Judgements, read_judgements
from ..records.splits import name_splits, warn_of_strangers
from ..records.vocabularies import Vocabulary
from ..tasks.side import codes_of_answers

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..records.splits import FindingParts


def read_judged(title: str, value: Any, columns: Any, order: Any) -> Judgements:
    """Read qrels.

    Parameters
    ----------
    title : str
        The argument, for messages.
    value : object
        As `read_judgements` takes it.
    columns : mapping or None
        As `read_judgements` takes it.
    order : object
        The entities, as `Vocabulary.read` takes them.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything else, and for gains that are NaN or infinite.
    """
    judged = read_judgements(title, value, columns)
    if judged.shape is not None:
        _, width = judged.shape
        size = Vocabulary.read("entities", order).size
        if width > size:
            expected = f"a matrix with a column for each of the {size} entities"
            raise InputValueError(title, expected=expected, got=f"{width} columns")
    return judged


def is_one_split(known: Mapping[Any, Any]) -> bool:
    """Return whether known right answers are those of one split, and not splits by their names.

    Raises
    ------
    InputTypeError
        For a mapping that has both.

    Examples
    --------
    >>> is_one_split({"q1": ["a", "b"]}), is_one_split({"train": {"q1": ["a", "b"]}})
    (True, False)
    """
    kinds = set()
    for value in known.values():
        if isinstance(value, Sized) and not is_sparse(value) and not len(value):
            continue  # Without members it could be anything.
        kinds.add(_are_items(value))
    if len(kinds) > 1:
        expected = 'splits by their names, known={"train": {query: [items]}, ...}, or one split, '
        expected += "known={query: [items], ...}"
        raise InputTypeError("known", expected=expected, got="a mapping that has both")
    if not kinds:  # There are no pairs at all.
        return not all(isinstance(name, str) for name in known)
    return True in kinds


def _are_items(value: Any) -> bool:
    """Return whether this is what one query has, items or their grades, and no split."""
    if isinstance(value, Mapping):
        return is_number(next(iter(value.values())))
    has_fields = getattr(getattr(value, "dtype", None), "names", None)
    if isinstance(value, Iterator) or has_fields or not is_column(value):
        return False
    first = next(iter(value))
    return not isinstance(first, (Mapping, tuple)) and not is_column(first)


@dataclass(frozen=True)
class AnswerSets:
    """Right answers and known ones as ids.

    Attributes
    ----------
    queries, entities : Vocabulary
    pairs : ndarray of int64, shape (n, 2)
        The right answers (query, entity), distinct and in lexicographic order.
    gains : ndarray of float64, shape (n,), or None
        Above 0.
    known : dict of str to (ndarray of int64, ndarray of int64), shapes (m,)
        The queries and the entities of the rows of each known split, with queries of the
        vocabulary only.
    n_queries : int
        The number of queries that the qrels have, with right answers or without.
    have_order : bool
        Whether queries are in the order of rows: a given one, or 0, 1, 2, ..., or one alone.
    names_alone : bool
        Whether entities have names and a number, but no order: the first of the ids are those that
        the qrels name, and any other name may stand for one of the others.
    sources : tuple of str
        The files of qrels and known right answers, and their forms; columns that were left out.
    findings : tuple of (str, int, str)
        Of each known split of which some rows do not meet the task, or have low grades.
    """

    queries: Vocabulary
    entities: Vocabulary
    pairs: IntArray
    gains: FloatArray | None
    known: dict[str, tuple[IntArray, IntArray]]
    n_queries: int
    have_order: bool = True
    names_alone: bool = False
    sources: tuple[str, ...] = ()
    findings: tuple[FindingParts, ...] = ()

    def select(self, where: Any) -> AnswerSets:
        """Return some of the right answers, in this order."""
        gains = None if self.gains is None else self.gains[where]
        queries, entities = self.pairs.T
        return replace(self, pairs=_as_pairs(queries[where], entities[where]), gains=gains)

    def name(self, i: int) -> str:
        """Name a right answer, for messages."""
        query, entity = self.pairs[i].tolist()
        return f"{self.entities.label_of(entity)!r} of query {self.queries.label_of(query)!r}"


def read_answer_sets(
    qrels: Any,
    known: Any,
    entities: Any,
    queries: Any,
    split: str,
    exclude: str | None = None,
    *,
    columns: Any = None,
) -> AnswerSets:
    """Read the right answers and the known ones; with `exclude` each query itself is known.

    Raises
    ------
    TypeError, ValueError, OSError
        As `read_judged` and `encode_columns` do; for a pair with several gains, and where
        no query is an entity of the task, if queries are left out.
    """
    splits = _name_known_splits(qrels, known, split, exclude)
    tested = read_judged("qrels", qrels, columns, entities)
    # Rows do not name queries without an answer.
    all_queries = tested if tested.asked is None else tested.asked
    query_columns = [(all_queries, "query"), (tested, "query")]
    query_ids, (ids_of_queries, tasks) = _encode_queries(tested, queries, query_columns)
    asked = distinct(ids_of_queries)
    n_queries = query_ids.size if tested.asked is None and queries is not None else len(asked)

    judged = {
        name: read_judged(title, value, columns, entities)
        for name, (title, value) in splits.items()
    }
    known_tables = {
        name: _among_queries(table, query_ids, None if queries is not None else asked)
        for name, table in judged.items()
    }
    tables = [tested, *known_tables.values()]
    documents = [(table, "document") for table in tables]
    names_alone = is_integer(entities) and any(map(_has_names, documents))
    if names_alone:
        # Lists may name the queries themselves.
        others = [] if exclude is None else query_columns[:1]
        entity_ids, ids = _encode_names_alone(entities, documents, others)
    else:
        entity_ids, ids = encode_columns("entities", entities, documents)
    known_pairs = {
        name: (table.ids["query"], ids_of_split)
        for (name, table), ids_of_split in zip(known_tables.items(), ids[1:], strict=True)
    }
    findings: list[FindingParts] = []
    for name, table in judged.items():
        warn_of_strangers(name, len(table), len(known_tables[name]) > 0)
        findings += _count_strangers(name, len(table), len(known_tables[name]))
        findings += _count_low_grades(name, table)
    if exclude is not None:
        known_pairs[exclude] = _queries_themselves(query_ids, asked, entity_ids)
        findings += _count_strangers(exclude, len(asked), len(known_pairs[exclude][0]))
    sets = AnswerSets(
        queries=query_ids,
        entities=entity_ids,
        pairs=_as_pairs(tasks, ids[0]),
        gains=None if tested.relevance is None else tested.relevance.astype(np.float64),
        known=known_pairs,
        n_queries=n_queries,
        have_order=queries is not None or query_ids.has_numbers or n_queries == 1,
        names_alone=names_alone,
        sources=tuple(table.source for table in tables if table.source),
        findings=tuple(findings),
    )
    return _distinct_answers(sets)


def _encode_queries(
    tested: Judgements, queries: Any, columns: Sequence[tuple[IdTable, str]]
) -> tuple[Vocabulary, list[IntArray]]:
    """Return the vocabulary of queries, the given one or what the qrels say of it, and their ids.

    Integers are what they are, whatever their size, unless they are exactly 0, 1, 2, ...
    """
    order = queries
    if tested.shape is not None:
        if queries is None:
            order = tested.shape[0]
        else:
            _check_height(tested, Vocabulary.read("queries", queries))
    elif queries is None and "query" in tested.names:
        order = tested.names["query"].listed()  # The qrels name all queries.
    elif queries is None:
        ints = [table.ids[role] for table, role in columns]
        keys = distinct(ints[0])
        if not np.array_equal(keys, np.arange(len(keys))) or not len(keys):
            return Vocabulary(0, None, "queries"), ints
        order = len(keys)
    return encode_columns("queries", order, columns)


def _among_queries(
    judged: Judgements, queries: Vocabulary, of_qrels: IntArray | None
) -> Judgements:
    """Return the rows of a known split whose queries are those of the task, with their ids.

    `of_qrels` are the queries of the qrels where the vocabulary is made of these alone, so that
    nobody gave an order.
    """
    if of_qrels is None:
        _check_height(judged, queries)
    ids = judged.ids["query"]
    if not len(ids):
        return judged
    if "query" in judged.names:
        names = judged.names["query"].listed()
        ids = queries.find(judged.title, names, is_text=judged.kind == "text")[ids]
    elif of_qrels is not None and queries.words is not None:
        expected = "labels of queries, as qrels have, whose order nobody gave"
        got = f"{judged.entry('query', 0)!r} in {judged.where('query', 0)}"
        raise InputValueError(judged.title, expected=expected, got=got)
    elif queries.size and queries.names is None and ids.min() < 0:
        raise InputValueError(judged.title, expected="query ids from 0 on", got=ids.min())
    elif judged.kind != "positions":
        ids = find_elements(queries, judged, "query", ids)
    is_known = (ids >= 0) & (ids < queries.size)
    if of_qrels is not None and not queries.size:  # Its ints are what they are.
        is_known = are_among(ids, of_qrels)
    table = replace(judged, ids={**judged.ids, "query": ids})
    return table if is_known.all() else table.select(is_known)


def _count_low_grades(name: str, known: Judgements) -> list[FindingParts]:
    """Return a finding for a known split of which some rows are no right answers, if any are."""
    if known.relevance is None or known.shape is not None:  # A matrix stores any values.
        return []
    low = int(np.count_nonzero(known.relevance <= 0))
    if not low:
        return []
    text = f"{low:,} of {len(known):,} rows have a grade of 0 or less: known, too"
    return [(name, low, text)]


def _as_pairs(queries: IntArray, entities: IntArray) -> IntArray:
    """Return two columns as an array of pairs, shape (n, 2), column by column in memory."""
    return np.stack([queries, entities]).T


def _name_known_splits(
    qrels: Any, known: Any, split: str, exclude: str | None
) -> dict[str, tuple[str, Any]]:
    """Return the known splits by name, each with what messages call it."""
    if isinstance(known, Mapping) and is_one_split(known):
        splits = name_splits(split, qrels, None)
        splits["known_0"] = ("known", known)
    else:
        splits = name_splits(split, qrels, known)
    if exclude is not None and exclude in splits:
        expected = f"no split of the name {exclude!r} beside exclude={exclude!r}"
        raise InputValueError("known", expected=expected)
    del splits[split]  # The qrels themselves are read apart.
    return splits


def _queries_themselves(
    queries: Vocabulary, asked: IntArray, entities: Vocabulary
) -> tuple[IntArray, IntArray]:
    """Return queries beside the entity of their name, or of their number where none have names."""
    have_names = queries.names is not None
    if have_names != (entities.names is not None):
        expected = "None, or queries and entities that both have names, or are both numbered; "
        expected += "queries= and entities= give them names"
        raise InputValueError("exclude", expected=expected, got="'self'")
    elements: Any = asked
    if queries.names is not None:
        elements = read_elements("exclude", [queries.names[i] for i in asked.tolist()], "labels")
    ids = entities.find("exclude", elements)
    is_entity = ids >= 0
    if not is_entity.any():
        problem = "no query is an entity of the task; their names may be written unlike"
        raise InputValueError("exclude", problem)
    return asked[is_entity], ids[is_entity]


def _count_strangers(name: str, size: int, number: int) -> list[FindingParts]:
    """Return a finding for a split of which some rows have no query of the task."""
    if number == size:
        return []
    return [(name, number, f"{number:,} of {size:,} rows have a query of the task")]


def _has_names(column: tuple[IdTable, str]) -> bool:
    """Whether a column has names, and not integers."""
    table, role = column
    return role in table.names and len(table) > 0


def _encode_names_alone(
    entities: Any,
    columns: Sequence[tuple[IdTable, str]],
    others: Sequence[tuple[IdTable, str]],
) -> tuple[Vocabulary, list[IntArray]]:
    """Return the number of entities, with the names of all columns, and the ids of the first.

    Raises
    ------
    InputTypeError
        For integers beside names.
    InputValueError
        For more names than there are entities.
    """
    size = Vocabulary.read("entities", entities).size
    names: dict[str, None] = {}
    for table, role in (*columns, *others):
        if role in table.names:
            names.update(dict.fromkeys(table.names[role].listed()))
        elif len(table):
            with_names, _ = next(filter(_has_names, columns))
            expected = f"names that are str, as {with_names.title} has "
            expected += f"(entities={size} gives no positions)"
            got = f"{table.entry(role, 0)!r} in {table.where(role, 0)}"
            raise InputTypeError(table.title, expected=expected, got=got)
    check_number_of_names(size, len(names))
    words = tuple(names)
    ids = []
    for table, role in columns:
        column = table.ids[role]
        if role in table.names:
            column = _core.codes_among(table.names[role].listed(), words)[column]
        ids.append(column)
    return Vocabulary(size, words), ids


def check_number_of_names(size: int, names: int) -> None:
    """Refuse more names than there are entities."""
    if names > size:
        expected = f"at least {names:,}, as so many names occur"
        raise InputValueError("entities", expected=expected, got=size)


def _check_height(judged: Judgements, queries: Vocabulary) -> None:
    """Refuse a matrix that has more rows than there are queries."""
    if judged.shape is not None and judged.shape[0] > queries.size:
        rows, _ = judged.shape
        expected = f"a matrix with a row for each of the {queries.size} queries"
        got = f"{rows} rows (queries={rows} says that there are so many)"
        raise InputValueError(judged.title, expected=expected, got=got)


def _distinct_answers(sets: AnswerSets) -> AnswerSets:
    """Put pairs in order, and leave out repeats and gains that are not above 0."""
    ascending, order = sorted_with_order(row_keys(list(sets.pairs.T)))
    is_repeat = np.zeros(len(order), dtype=bool)
    np.equal(ascending[1:], ascending[:-1], out=is_repeat[1:])
    repeats = count_repeats(int(is_repeat.sum()), "qrels")
    sets = replace(sets, findings=(*sets.findings, *repeats))
    if sets.gains is None:
        return sets.select(order[~is_repeat])
    gains = sets.gains[order]
    is_other = is_repeat[1:] & (gains[1:] != gains[:-1])
    if is_other.any():
        i = int(is_other.argmax())
        got = f"{gains[i]} and {gains[i + 1]} for {sets.name(order[i])}"
        raise InputValueError("qrels", expected="one gain for each pair", got=got)
    return sets.select(order[~is_repeat & (gains > 0)])


def count_repeats(number: int, argument: str) -> list[FindingParts]:
    """Return a finding for entries that a query has again, if there are any."""
    if not number:
        return []
    entries = format_count(number, f"entry of {argument} repeats", f"entries of {argument} repeat")
    return [("duplicates", number, f"{entries} another of the same query: counted once")]


def without_leaks(sets: AnswerSets, rule: str) -> tuple[AnswerSets, int]:
    """Keep, drop or refuse leaks, right answers that a known split has, too; return their number.

    A warning or an error names the first of them, and the findings of the sets mention them.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [0, 2]])
    >>> vocabulary = Vocabulary(3, None)
    >>> sets = AnswerSets(vocabulary, vocabulary, pairs, None, {"train": pairs[1:].T}, 1)
    >>> sets, leaked = without_leaks(sets, "drop")
    >>> sets.pairs, leaked
    (array([[0, 1]]), 1)
    """
    size = sets.entities.size
    is_leak = np.zeros(len(sets.pairs), dtype=bool)
    if sets.known:
        queries, entities = sets.pairs.T
        test_queries = distinct(queries)
        # A code stands for a pair of query and entity. Known pairs of other queries have none.
        codes = codes_of_answers(test_queries, [(queries.__getitem__, entities)], size)
        for queries, entities in sets.known.values():
            known_codes = codes_of_answers(test_queries, [(queries.__getitem__, entities)], size)
            _, positions = look_up(codes, known_codes)
            is_leak[positions] = True
    leaked = np.flatnonzero(is_leak)
    if len(leaked):
        first = sets.name(leaked[0])
        text = f"{len(leaked):,} right answers are in a known split, too (the first: {first})"
        if rule == "raise":
            raise InputValueError("qrels", text)
        if rule == "keep":
            advice = 'leaks="drop" leaves them out'
            warn_user(f"qrels: {text}; they are ranked like the others ({advice})")
        outcome = "dropped" if rule == "drop" else "kept"
        finding = ("leaks", len(leaked), f"{text}, {outcome}")
        sets = replace(sets, findings=(*sets.findings, finding))
    if rule == "drop":
        sets = sets.select(~is_leak)
    if not len(sets.pairs):
        got = "leaks alone, which were dropped" if len(leaked) else "none"
        raise InputValueError("qrels", expected="at least one right answer", got=got)
    return sets, len(leaked)
