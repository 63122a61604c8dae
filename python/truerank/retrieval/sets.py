"""Right answers and known ones, read from qrels and splits in any form, as ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import are_among, are_new, distinct, row_keys, sorted_with_order
from ..counting.lists import PAD
from ..errors import InputTypeError, InputValueError, Option, warn_user
from ..inputs.checks import is_number, is_sparse
from ..naming import format_count
from ..ranks.container import check_number
from ..records.columns import Column, at_position, read_column
from ..records.id_tables import align_columns, is_column
from ..records.lists import Judgements, read_judgements
from ..records.splits import (
    SplitTables,
    find_leaks,
    list_left_out,
    name_splits,
    warn_about_strangers,
)
from ..records.vocabularies import MAX_IDS, Vocabulary, align, describe_joined

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from ..records.splits import FindingParts

_MOST_NUMBERS = MAX_IDS // 2  # Without a number of entities, integers from here on are names.
ANY_INTEGERS = Vocabulary(0, None, "queries", has_order=False)  # They are names, of any size.


def is_one_split(known: Mapping[Any, Any]) -> bool:
    """Return whether known right answers are those of one split, and not splits by their names.

    Examples
    --------
    >>> is_one_split({"q1": ["a", "b"]}), is_one_split({"train": {"q1": ["a", "b"]}})
    (True, False)
    """
    are_items = []
    for value in known.values():
        if isinstance(value, Sized) and not is_sparse(value) and not len(value):
            continue  # Without members it could be anything.
        are_items.append(_are_items(value))
    if not are_items:  # There are no pairs at all; splits have names.
        return not all(isinstance(name, str) for name in known)
    if any(are_items) and not all(are_items):
        expected = 'splits by their names, known={"train": {query: [items]}, ...}, or one split, '
        expected += "known={query: [items], ...}"
        raise InputTypeError("known", expected=expected, got="a mapping that has both")
    return all(are_items)


def _are_items(value: Any) -> bool:
    """Return whether this is what one query has, items or their grades, and no split."""
    if isinstance(value, Mapping):
        return is_number(next(iter(value.values())))
    has_fields = getattr(getattr(value, "dtype", None), "names", None)
    if isinstance(value, Iterator) or has_fields or not is_column(value):
        return False
    first = next(iter(value))
    return not isinstance(first, (Mapping, tuple)) and not is_column(first)


def read_answers(
    qrels: Any,
    known: Any,
    entities: Any,
    queries: Any,
    split: str,
    exclude: str | None = None,
    *,
    columns: Any = None,
) -> tuple[SplitTables, FloatArray | None, IntArray]:
    """Read the right answers and the known ones; with `exclude` each query itself is known.

    Returned are the splits, with the columns query and entity, of which the evaluated one has
    distinct right answers in lexicographic order, and others the rows of queries of the task; the
    gains of right answers, float64 above 0, or None; and the ids of the queries that the qrels
    name, without right answers, too: these are the test's, whatever numbers the rows of scores.
    """
    tables = {
        name: read_judgements(title, value, columns)
        for name, (title, value) in _name_splits(qrels, known, split).items()
    }
    tested = tables[split]
    findings = list_left_out(tables.values())
    given_entities = Vocabulary(MAX_IDS, None, has_order=False, has_size=False)
    if entities is not None:
        given_entities = Vocabulary.read("entities", entities)
    for table in tables.values():
        _check_matrix(table, "document", given_entities, "column")
    # Rows do not name queries without an answer.
    all_queries = tested.columns["query"] if tested.asked is None else tested.asked
    query_names = _read_queries(tested, all_queries, queries)
    query_ids = {split: align_columns([tested], ["query"], query_names)["query"][0]}
    asked = distinct(align(tested.title, all_queries, query_names, partial(tested.where, "query")))
    n_more = 0 if queries is None else query_names.size - len(asked)
    if n_more:  # They have rows of scores, and are not of the test.
        text = f"{n_more:,} of {query_names.size:,} queries are in no judgement: not counted"
        findings.append(("queries", n_more, text))
    for name, table in list(tables.items())[1:]:  # The evaluated split comes first.
        if queries is not None or isinstance(all_queries.labels, range):  # as in a matrix
            _check_matrix(table, "query", query_names, "row")
        findings += query_names.find_other_spellings(
            table.title, table.columns["query"].listed, is_text=bool(table.path)
        )
        tables[name], query_ids[name] = _select_queries(table, query_names, asked)
        warn_about_strangers(name, len(table), len(query_ids[name]) > 0)
        findings += _count_strangers(name, len(table), len(query_ids[name]))
        findings += _count_low_grades(name, table)
    entity_names = _read_entities(given_entities, tables, [all_queries] if exclude else [])
    entity_ids = {}
    for name, table in tables.items():
        tables[name], query_ids[name], entity_ids[name] = _select_documents(
            table, query_ids[name], entity_names
        )
    if exclude is not None:
        query_ids[exclude], entity_ids[exclude] = _pair_queries(query_names, asked, entity_names)
        findings += _count_strangers(exclude, len(asked), len(query_ids[exclude]))
    vocabularies = {"query": query_names, "entity": entity_names}
    pairs = query_ids[split], entity_ids[split]
    right_rows, gains, repeats = _distinct_answers(tables[split], pairs, vocabularies)
    query_ids[split] = query_ids[split][right_rows]
    entity_ids[split] = entity_ids[split][right_rows]
    ids = {"query": [*query_ids.values()], "entity": [*entity_ids.values()]}
    sources = [table.source for table in tables.values() if table.source]
    splits = SplitTables.join(
        query_ids, ids, vocabularies, findings + repeats, sources, tested.without_rows()
    )
    return splits, gains, asked


def _read_queries(tested: Judgements, column: Column, queries: Any) -> Vocabulary:
    """Return the vocabulary of queries, the given one or what the column of all of them says.

    Integers are what they are, whatever their size, unless they are exactly 0, 1, 2, ...
    """
    if queries is not None:
        vocabulary = Vocabulary.read("queries", queries)
        _check_matrix(tested, "query", vocabulary, "row")
        return vocabulary
    if isinstance(column.labels, range):  # The qrels are a matrix.
        return Vocabulary.read("queries", len(column.labels))
    if column.labels is not None:  # The qrels name all queries.
        return replace(Vocabulary.infer("queries", column.listed), has_order=False)
    keys = distinct(column.ids)
    if len(keys) and np.array_equal(keys, np.arange(len(keys))):
        return Vocabulary(len(keys), None, "queries")
    return ANY_INTEGERS


def _select_queries(
    table: Judgements, queries: Vocabulary, asked: IntArray
) -> tuple[Judgements, IntArray]:
    """Return the rows of a known split whose queries are those of the task, and their queries."""
    column = table.columns["query"]
    where = partial(table.where, "query")
    ids = align(table.title, column, queries, where, needs_all=False)
    if column.labels is None and queries.has_numbers and column.ids.min(initial=0) < 0:
        raise InputValueError(table.title, expected="query ids from 0 on", got=column.ids.min())
    is_of_task = (ids >= 0) & (ids < queries.size)
    if queries == ANY_INTEGERS:
        is_of_task = are_among(ids, asked)
    if is_of_task.all():
        return table, ids
    return table.select(is_of_task), ids[is_of_task]


def _select_documents(
    table: Judgements, query_ids: IntArray, entities: Vocabulary
) -> tuple[Judgements, IntArray, IntArray]:
    """Return the rows whose documents are entities, and the ids of their queries and documents.

    Others are refused, with their number, unless their grade is 0 or less: these change nothing.
    """
    column = table.columns["document"]
    where = partial(table.where, "document")
    ids = align(table.title, column, entities, where, needs_all=False)
    is_entity = ids >= 0
    if is_entity.all():
        return table, query_ids, ids
    is_refused = ~is_entity
    if table.relevance is not None:
        is_refused &= table.relevance > 0
    if entities.has_size:
        where = partial(table.where_and_how_often, int(is_refused.sum()), "document")
    entities.refuse_strangers(table.title, column, np.where(is_refused, ids, 0), where)
    return table.select(is_entity), query_ids[is_entity], ids[is_entity]


def _read_entities(
    given: Vocabulary, tables: Mapping[str, Judgements], queries: Sequence[Column]
) -> Vocabulary:
    """Return the given entities or, where only their number was given, the names without order.

    Without a number, integers of any size may be names, too, but for -1, which pads lists. Lists
    may name the queries themselves, where these are left out.
    """
    if given.names is not None:
        return given
    documents = [table.columns["document"] for table in tables.values()]
    columns = [*documents, *queries]
    if not any(len(column) and column.has_labels for column in documents):
        ints = [column.ids for column in columns if not column.has_labels]
        if given.has_size or all(((x >= PAD) & (x < _MOST_NUMBERS)).all() for x in ints):
            return given
        distinct_ints = distinct(np.concatenate(ints))
        return replace(given, names=tuple(distinct_ints[distinct_ints != PAD].tolist()))
    names = dict.fromkeys(chain.from_iterable(column.listed for column in columns))
    vocabulary = Vocabulary.infer("entities", tuple(names))
    _check_name_count(given.size, len(names))
    return replace(vocabulary, size=given.size, has_order=False, has_size=given.has_size)


def _check_matrix(table: Judgements, role: str, vocabulary: Vocabulary, noun: str) -> None:
    """Refuse a matrix that has not a row for each query, or a column for each entity.

    It may be the transpose, or have been made without `shape=`, as large as its entries ask for.
    """
    positions = table.columns[role].labels
    if not isinstance(positions, range):
        return
    check_number(vocabulary.has_size, vocabulary.of, "the meaning of columns in a sparse matrix")
    if len(positions) != vocabulary.size:
        expected = f"a matrix with a {noun} for each of the {vocabulary.size} {vocabulary.of}"
        got = format_count(len(positions), noun)
        raise InputValueError(table.title, expected=expected, got=got)


def _count_low_grades(name: str, known: Judgements) -> list[FindingParts]:
    """Return a finding for a known split of which some rows are no right answers, if any are."""
    is_matrix = isinstance(known.columns["query"].labels, range)
    if known.relevance is None or is_matrix:  # A matrix stores any values.
        return []
    low = int(np.count_nonzero(known.relevance <= 0))
    if not low:
        return []
    text = f"{low:,} of {len(known):,} rows have a grade of 0 or less: known, too"
    return [(name, low, text)]


def _name_splits(qrels: Any, known: Any, split: str) -> dict[str, tuple[str, Any]]:
    """Return all splits by name, each with what messages call it; the qrels come first."""
    is_one = isinstance(known, Mapping) and is_one_split(known)
    splits = name_splits(split, qrels, None if is_one else known)
    if is_one:
        splits["known_0"] = ("known", known)  # as the first of a list, which has no names either
    splits[split] = ("qrels", qrels)  # Messages call the first one by its argument.
    return splits


def _pair_queries(
    queries: Vocabulary, asked: IntArray, entities: Vocabulary
) -> tuple[IntArray, IntArray]:
    """Return queries beside the entity of their name, or of their number where none have names.

    Labels that are their own positions are numbers, too, and so are those that are any integers.
    """
    named = [each for each in (queries, entities) if each.names is not None]
    are_numbers = all(
        each.holds_ints and (not each.has_order or each.names == tuple(range(each.size)))
        for each in named
    )
    if len(named) == 1 and not are_numbers:
        expected = "None, or queries and entities that both have names, or are both numbered"
        raise InputValueError("exclude", expected=expected, got="'self'")
    names = queries.list_labels(asked)
    ids = align("exclude", names, entities, needs_all=False)
    is_entity = ids >= 0
    if not is_entity.any():
        problem = "no query is an entity of the task; their names may differ in spelling"
        raise InputValueError("exclude", problem)
    return asked[is_entity], ids[is_entity]


def _count_strangers(name: str, size: int, number: int) -> list[FindingParts]:
    """Return a finding for a split of which some rows have no query of the task."""
    if number == size:
        return []
    return [(name, number, f"{number:,} of {size:,} rows have a query of the task")]


def number_names(title: str, names: Any, entities: Vocabulary, *, is_text: bool) -> IntArray:
    """Return the ids of names in lists; those that qrels do not have come after the others."""
    column = read_column(title, names, entities.kind_of_elements, is_text=is_text)
    ids = align(title, column, entities, needs_all=False).copy()
    names_of_qrels = entities.names or ()
    if entities.words:
        _refuse_joined("qrels", names_of_qrels, names)
        _refuse_joined(title, names, names_of_qrels)
    else:
        padding = np.where(column.ids == PAD, PAD, 0)
        entities.refuse_strangers(title, column, padding, at_position)
    first_new = len(names_of_qrels) or _MOST_NUMBERS
    is_new = (ids < 0) | (ids >= first_new)
    new = int(np.count_nonzero(is_new))
    _check_name_count(entities.size, first_new + new)
    ids[is_new] = first_new + np.arange(new)
    return ids


def _check_name_count(size: int, names: int) -> None:
    """Refuse more names than there are entities."""
    if names > size:
        expected = f"at least {names:,}, as so many names occur"
        raise InputValueError("entities", expected=expected, got=size)


def _refuse_joined(argument: str, names: Sequence[Any], others: Sequence[Any]) -> None:
    """Refuse the first name that is none of the others, but several of them with ; or , between."""
    joined = [name for name in names if ";" in name or "," in name]
    known = set(others if joined else ())  # Few names are.
    for name in joined:
        joined_ids = "" if name in known else describe_joined(name, known.issuperset)
        if joined_ids:
            expected = "one id in each cell, or labels of all entities, if it is one"
            raise InputValueError(argument, expected=expected, got=f"{name!r}{joined_ids}")


def _distinct_answers(
    tested: Judgements, pairs: Sequence[IntArray], vocabularies: Mapping[str, Vocabulary]
) -> tuple[IntArray, FloatArray | None, list[FindingParts]]:
    """Return the rows of right answers in lexicographic order, without repeats and low gains.

    `pairs` are the ids of queries and those of entities.
    """
    ascending, order = sorted_with_order(row_keys(pairs))
    is_repeat = ~are_new(ascending)
    repeats = count_repeats(int(is_repeat.sum()), "qrels")
    if tested.relevance is None:
        return order[~is_repeat], None, repeats
    gains = tested.relevance[order].astype(np.float64)
    has_other_gain = is_repeat[1:] & (gains[1:] != gains[:-1])
    if has_other_gain.any():
        i = int(has_other_gain.argmax())
        query_id, entity_id = (int(ids[order[i]]) for ids in pairs)
        query = vocabularies["query"].label_of(query_id)
        entity = vocabularies["entity"].label_of(entity_id)
        n_unlike = len(distinct(ascending[1:][has_other_gain]))
        got = f"{gains[i]} and {gains[i + 1]} for {entity!r} of query {query!r}; of "
        got += f"{np.count_nonzero(~is_repeat):,} pairs {n_unlike:,} have several"
        raise InputValueError("qrels", expected="one gain for each pair", got=got)
    is_right = ~is_repeat & (gains > 0)
    return order[is_right], gains[is_right], repeats


def count_repeats(number: int, argument: str) -> list[FindingParts]:
    """Return a finding for entries that a query has again, if there are any."""
    if not number:
        return []
    entries = format_count(number, f"entry of {argument} repeats", f"entries of {argument} repeat")
    return [("duplicates", number, f"{entries} another of the same query: counted once")]


def find_right_answers(
    splits: SplitTables, rule: str, exclude: str | None = None
) -> tuple[IntArray, int, list[FindingParts]]:
    """Keep, drop or refuse leaks, right answers that a known split has, too.

    Right answers in the split of `exclude` are not leaks, and are always dropped: a query does not
    answer itself. Return the rows of the answers that are ranked, how many leak, and findings.
    """
    if len(splits.sizes) == 1 and splits.tested:  # No other split has anything.
        return np.arange(splits.tested), 0, []
    _, leaks = find_leaks(splits, list(splits.columns.values()))
    is_itself = np.zeros(splits.tested, dtype=bool)
    if exclude in leaks:
        is_itself = leaks.pop(exclude)
    is_leak = np.zeros(splits.tested, dtype=bool)
    for is_in_split in leaks.values():
        is_leak |= is_in_split & ~is_itself
    findings: list[FindingParts] = []
    number = int(np.count_nonzero(is_itself))
    if number:
        words = format_count(number, "right answer is its query", "right answers are their queries")
        findings.append((str(exclude), number, f"{words}: left out"))
    leaked = np.flatnonzero(is_leak)
    if len(leaked):
        query, entity = splits.labels_of(leaked[:1])[0]
        first = f"{entity!r} of query {query!r}"
        text = f"{len(leaked):,} of {splits.tested:,} right answers are in a known split, too (the "
        text += f"first: {first})"
        if rule == "raise":
            raise InputValueError("qrels", text)
        if rule == "keep":
            way = Option("leaks", effect="says what becomes of these")
            ways = [way] if len(leaked) < splits.tested else []  # One rule would leave nothing.
            warn_user("qrels", f"{text}; they are ranked like the others", ways)
        outcome = "dropped" if rule == "drop" else "kept"
        findings.append(("leaks", len(leaked), f"{text}, {outcome}"))
    is_dropped = is_itself | is_leak if rule == "drop" else is_itself
    ranked = np.flatnonzero(~is_dropped)
    if not len(ranked):
        got = "only leaks, which were dropped" if len(leaked) else "none"
        raise InputValueError("qrels", expected="at least one right answer", got=got)
    return ranked, len(leaked), findings
