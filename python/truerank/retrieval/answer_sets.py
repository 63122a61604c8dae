"""The right answers of a task as ids: distinct, checked against what is known, with a filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..ranks.labels import Labels, as_labels
from ..tasks.row_keys import distinct, look_up, row_keys
from ..tasks.sampling import check_sample, draw_candidates
from ..tasks.side_tasks import Sampled, SideTasks, make_queries
from ..tasks.split_columns import SplitReader, name_splits
from ..tasks.vocabularies import Vocabulary, encode_columns, read_ids, selection_name
from .qrels import FORM, JudgedPairs, is_one_split, read_judged

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray

SIDE = "answers"


class AnswerSets(NamedTuple):
    """Right answers and known ones as ids.

    Attributes
    ----------
    queries, entities : Vocabulary
    pairs : ndarray of int64, shape (n, 2)
        The right answers (query, entity), distinct and in lexicographic order.
    gains : ndarray of float64, shape (n,), or None
        Above 0.
    known : dict of str to ndarray of int64, shape (m, 2)
        The right answers of each known split, with queries of the vocabulary only.
    asked : int
        The number of queries that the qrels have, with right answers or without.
    """

    queries: Vocabulary
    entities: Vocabulary
    pairs: IntArray
    gains: FloatArray | None
    known: dict[str, IntArray]
    asked: int


def read_answer_sets(qrels: Any, known: Any, entities: Any, queries: Any, split: str) -> AnswerSets:
    """Read the right answers and the known ones.

    Raises
    ------
    TypeError, ValueError, OSError
        As `read_judged` and `encode_columns` do; for a pair with several gains.
    """
    is_one = isinstance(known, Mapping) and is_one_split(known)
    named = name_splits(split, qrels, None if is_one else known)
    if is_one:
        named["known_0"] = ("known", known)
    reader = SplitReader(FORM)
    tested = read_judged("qrels", qrels, reader)
    # without a vocabulary of queries, those of the qrels are all
    labels = tuple(reader.index(0).codes)
    query_names = labels or None if queries is None and tested.asked.label_index else queries
    columns = [tested.asked, tested.queries]
    query_ids, (asked, tasks) = encode_columns("queries", "query", query_names, columns)
    others = {}
    for name, (title, value) in list(named.items())[1:]:
        others[name] = _with_a_row(read_judged(title, value, reader), query_ids, queries is None)
    entity_columns = [tested.entities, *(each.entities for each in others.values())]
    entity_ids, targets = encode_columns("entities", "entity", entities, entity_columns)
    pairs, gains = _distinct_answers(tested, tasks, targets[0], query_ids, entity_ids)
    known_pairs = {}
    for (name, each), entity in zip(others.items(), targets[1:], strict=True):
        is_right = slice(None) if each.gains is None else each.gains > 0
        known_pairs[name] = np.stack([each.queries.values[is_right], entity[is_right]], axis=1)
    return AnswerSets(query_ids, entity_ids, pairs, gains, known_pairs, len(distinct(asked)))


def _with_a_row(known: JudgedPairs, queries: Vocabulary, of_qrels: bool) -> JudgedPairs:
    """Leave out the pairs of queries without a row, and give the others the ids of theirs."""
    column, codes = known.queries, known.queries.values
    named = column.label_index is not None
    if of_qrels and named != (queries.names is not None) and len(codes):
        kinds = ("labels", "ids") if named else ("ids", "labels")
        raise InputValueError(column.split, f"{kinds[0]} of queries, where qrels have {kinds[1]}")
    if column.label_index is not None:
        codes = queries.codes_of(tuple(column.label_index.codes))[codes]
    elif codes.min(initial=0) < 0:
        raise InputValueError(column.split, expected="query ids from 0 on", got=codes.min())
    stays = (codes >= 0) & (codes < queries.size)
    return JudgedPairs(
        column._replace(values=codes[stays]),
        known.entities._replace(values=known.entities.values[stays]),
        None if known.gains is None else known.gains[stays],
        column,
    )


def _distinct_answers(
    tested: JudgedPairs,
    queries: IntArray,
    entities: IntArray,
    of_queries: Vocabulary,
    of_entities: Vocabulary,
) -> tuple[IntArray, FloatArray | None]:
    """Return the distinct right answers in order, and their gains."""
    pairs, gains = np.stack([queries, entities], axis=1), tested.gains
    keys = row_keys([queries, entities])
    if not (keys[1:] >= keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys, pairs = keys[order], pairs[order]
        gains = None if gains is None else gains[order]
    is_repeat = keys[1:] == keys[:-1]
    if gains is not None and (is_repeat & (gains[1:] != gains[:-1])).any():
        i = int((is_repeat & (gains[1:] != gains[:-1])).argmax())
        query, entity = pairs[i].tolist()
        got = (
            f"{gains[i]} and {gains[i + 1]} for entity {of_entities.label_of(entity)!r} "
            f"of query {of_queries.label_of(query)!r}"
        )
        raise InputValueError(tested.queries.split, expected="one gain for each pair", got=got)
    stays = np.concatenate([np.ones(min(len(keys), 1), dtype=np.bool_), ~is_repeat])
    if gains is not None:
        stays &= gains > 0
    return pairs[stays], None if gains is None else gains[stays]


def find_known(sets: AnswerSets) -> IntArray:
    """Return the right answers that a known split has, too, as rows of `pairs`.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [0, 2]])
    >>> vocabulary = Vocabulary(3, None)
    >>> find_known(AnswerSets(vocabulary, vocabulary, pairs, None, {"train": pairs[1:]}, 1))
    array([1])
    """
    everything = np.concatenate([sets.pairs, *sets.known.values()])
    keys = row_keys([everything[:, 0], everything[:, 1]])
    n = len(sets.pairs)
    return look_up(distinct(keys[n:]), keys[:n])[0]


def read_candidates(value: Any, sets: AnswerSets) -> tuple[str, IntArray | None, Sampled | None]:
    """Return the name of candidates, the entities that they are of if not all, and the sample.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, a typed sample, and
        right answers that are not among the candidates.
    """
    split = value.among if isinstance(value, Sampled) else value
    chosen, name = None, "all"
    if isinstance(split, str) and split != "all":
        if split not in sets.known:
            known = f"the known splits ({', '.join(sets.known) or 'none'})"
            raise InputValueError("candidates", expected=f"all, or one of {known}", got=repr(split))
        chosen, name = distinct(sets.known[split][:, 1]), split
    elif split is not None and not isinstance(split, str):
        chosen = read_ids("candidates", split, sets.entities, "entities have no labels")
        name = selection_name(chosen)
    if isinstance(value, Sampled):
        check_sample(value)
        name = value.name
        if value.typed:
            raise InputValueError("candidates", "queries have no types, from which to draw")
    if chosen is not None and (missing := ~np.isin(sets.pairs[:, 1], chosen)).any():
        first = sets.entities.label_of(int(sets.pairs[missing.argmax(), 1]))
        are = f"{missing.sum():,} right answers are not among the candidates, first {first!r}"
        raise InputValueError("candidates", are)
    return name, chosen, value if isinstance(value, Sampled) else None


def _draw(sets: AnswerSets, chosen: IntArray | None, sampled: Sampled) -> tuple[IntArray, ...]:
    """Draw candidates for each query: its right answers, and others that are not known."""
    everything = np.concatenate([sets.pairs, *sets.known.values()])
    queries = make_queries(everything, np.arange(len(sets.pairs)), (0,), 1)
    pool = np.arange(sets.entities.size) if chosen is None else chosen
    rows = np.arange(len(queries.queries))
    pools = np.array([0, len(pool)]), pool, np.zeros_like(rows)
    right, rng = (queries.rows, queries.targets), np.random.default_rng(sampled.seed)
    return draw_candidates(queries.answers, rows, pools, right, sampled.negatives, rng)


def make_side(
    sets: AnswerSets, groups: Any, chosen: IntArray | None = None, sampled: Any = None
) -> SideTasks:
    """Make the tasks: one for each right answer, which is never in the filter of its query."""
    query, target = (np.ascontiguousarray(column) for column in sets.pairs.T)
    is_first = np.ones(len(query), dtype=np.bool_)
    is_first[1:] = query[1:] != query[:-1]
    rows = np.cumsum(is_first) - 1
    labels = {"queries": Labels(query, sets.queries.names)}
    labels["targets"] = Labels(target, sets.entities.names)
    of_queries = _read_groups(groups, sets.queries, query[is_first])
    if of_queries is not None:
        labels["group"] = of_queries[rows]
    return SideTasks(
        side=SIDE,
        queries=query[is_first].reshape(-1, 1),
        rows=rows,
        targets=target,
        columns=sets.entities.size,
        filter=_known_others(sets, query[is_first]) if sets.known else None,
        candidates=(*_draw(sets, chosen, sampled), rows) if sampled else chosen,
        labels=labels,
        test_rows=query,
        height=sets.queries.size,
        names=sets.entities.names,
    )


def _known_others(sets: AnswerSets, queries: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each query the known answers that are no right answers of the task."""
    known = np.concatenate(list(sets.known.values()))
    where, rows = look_up(queries, known[:, 0])
    entities, size = known[where, 1], sets.entities.size
    keys = distinct(rows * size + entities)
    positions = np.searchsorted(queries, sets.pairs[:, 0])
    right = look_up(distinct(positions * size + sets.pairs[:, 1]), keys)[0]
    keys = np.delete(keys, right)
    indptr = np.searchsorted(keys, np.arange(len(queries) + 1) * size)
    return indptr.astype(np.int64), keys % size


def _read_groups(groups: Any, queries: Vocabulary, asked: IntArray) -> Labels | None:
    """Read the groups of some queries: labels of all in their order, or a mapping of queries."""
    if groups is None:
        return None
    if not isinstance(groups, Mapping):
        return as_labels("groups", groups, queries.size)[asked]
    names = list(map(queries.label_of, asked.tolist()))
    missing = next((name for name in names if name not in groups), None)
    if missing is not None:
        expected = "a group for every query with a right answer"
        raise InputValueError("groups", expected=expected, got=f"none for {missing!r}")
    return as_labels("groups", [groups[name] for name in names], len(names))
