"""The right answers of a task as ids: distinct, checked against what is known, with a filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError, warn_user
from ..ranks.labels import Labels, as_labels
from ..tasks.row_keys import distinct, look_up, row_keys
from ..tasks.sampling import check_among, check_sample, draw_candidates
from ..tasks.side_tasks import Sampled, SideTasks
from ..tasks.split_columns import SplitReader, name_splits
from ..tasks.vocabularies import Column, Vocabulary, encode_columns, selection_name
from .qrels import FORM, is_one_split, read_judged

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

    def select(self, where: Any) -> AnswerSets:
        """Return some of the right answers, in this order."""
        gains = None if self.gains is None else self.gains[where]
        return self._replace(pairs=self.pairs[where], gains=gains)

    def name(self, i: int) -> str:
        """Name a right answer, for messages."""
        query, entity = self.pairs[i].tolist()
        return f"{self.entities.label_of(entity)!r} of query {self.queries.label_of(query)!r}"


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
    query_ids, (asked, tasks) = encode_columns("queries", query_names, columns)
    rows, columns = {}, [tested.entities]
    for name, (title, value) in list(named.items())[1:]:
        judged = read_judged(title, value, reader)
        codes = _rows_of(judged.queries, query_ids, queries is None)
        stays = (codes >= 0) & (codes < query_ids.size)
        if judged.gains is not None:
            stays &= judged.gains > 0
        rows[name] = codes[stays]
        columns.append(judged.entities._replace(values=judged.entities.values[stays]))
    entity_ids, (targets, *others) = encode_columns("entities", entities, columns)
    known_pairs = {
        name: np.stack([rows[name], ids], axis=1) for name, ids in zip(rows, others, strict=True)
    }
    pairs = np.stack([tasks, targets], axis=1)
    sets = AnswerSets(query_ids, entity_ids, pairs, tested.gains, known_pairs, len(distinct(asked)))
    return _distinct_answers(sets)


def _rows_of(column: Column, queries: Vocabulary, of_qrels: bool) -> IntArray:
    """Return the ids of known queries, -1 or above all others for those without one."""
    codes, index = column.values, column.label_index
    if of_qrels and (index is None) != (queries.names is None) and len(codes):
        kinds = ("ids", "labels") if index is None else ("labels", "ids")
        raise InputValueError(column.split, f"{kinds[0]} of queries, where qrels have {kinds[1]}")
    if index is not None:
        return queries.codes_of(tuple(index.codes))[codes]
    if codes.min(initial=0) < 0:
        raise InputValueError(column.split, expected="query ids from 0 on", got=codes.min())
    return codes


def _distinct_answers(sets: AnswerSets) -> AnswerSets:
    """Put pairs in order, and leave out repeats and gains that are not above 0."""
    keys = row_keys([*sets.pairs.T])
    order = np.argsort(keys, kind="stable")
    sets, is_repeat = sets.select(order), np.diff(keys[order], prepend=-1) == 0
    stays = ~is_repeat
    if sets.gains is not None:
        is_other = is_repeat & (np.diff(sets.gains, prepend=0) != 0)
        if is_other.any():
            i = int(is_other.argmax())
            got = f"{sets.gains[i - 1]} and {sets.gains[i]} for {sets.name(i)}"
            raise InputValueError("qrels", expected="one gain for each pair", got=got)
        stays &= sets.gains > 0
    return sets.select(stays)


def without_leaks(sets: AnswerSets, rule: str) -> tuple[AnswerSets, int]:
    """Keep, drop or refuse right answers that a known split has, too; return their number.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [0, 2]])
    >>> vocabulary = Vocabulary(3, None)
    >>> sets = AnswerSets(vocabulary, vocabulary, pairs, None, {"train": pairs[1:]}, 1)
    >>> sets, leaked = without_leaks(sets, "drop")
    >>> sets.pairs, leaked
    (array([[0, 1]]), 1)
    """
    everything = np.concatenate([sets.pairs, *sets.known.values()])
    keys, n = row_keys([*everything.T]), len(sets.pairs)
    leaked = look_up(distinct(keys[n:]), keys[:n])[0]
    if len(leaked) and rule != "drop":
        first = f"the first: {sets.name(leaked[0])}"
        text = f"{len(leaked):,} right answers are in a known split, too ({first})"
        if rule == "raise":
            raise InputValueError("qrels", text)
        drop = 'leaks="drop"'
        warn_user(f"qrels: {text}; they are ranked like the others ({drop} leaves them out)")
    if rule == "drop":
        sets = sets.select(np.delete(np.arange(n), leaked))
    if not len(sets.pairs):
        got = "none" if not len(leaked) else "leaks alone, which were dropped"
        raise InputValueError("qrels", expected="at least one right answer", got=got)
    return sets, len(leaked)


def read_candidates(value: Any, sets: AnswerSets) -> tuple[str, IntArray | None, Sampled | None]:
    """Return the name of candidates, the entities that they are of if not all, and the sample.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, a typed sample, and
        right answers that are not among the candidates.
    """
    sampled = value if isinstance(value, Sampled) else None
    if sampled is not None:
        check_sample(sampled)
        if sampled.typed:
            raise InputValueError("candidates", "queries have no types, from which to draw")
        value = sampled.among
    if value is None or (isinstance(value, str) and value == "all"):
        return "all" if sampled is None else sampled.name, None, sampled
    if isinstance(value, str):
        if value not in sets.known:
            known = f"the known splits ({', '.join(sets.known) or 'none'})"
            raise InputValueError("candidates", expected=f"all, or one of {known}", got=repr(value))
        chosen, name = distinct(sets.known[value][:, 1]), value
    else:
        chosen = distinct(sets.entities.ids_of("candidates", value))
        name = selection_name(chosen)
    check_among(chosen, sets.pairs[:, 1], sets.entities, "right answers")
    return name if sampled is None else sampled.name, chosen, sampled


def make_side(
    sets: AnswerSets, groups: Any, chosen: IntArray | None = None, sampled: Sampled | None = None
) -> SideTasks:
    """Make the tasks: one for each right answer, which is never in the filter of its query."""
    query, target = (np.ascontiguousarray(column) for column in sets.pairs.T)
    is_first = np.diff(query, prepend=-1) != 0
    queries, rows, size = query[is_first], np.cumsum(is_first) - 1, sets.entities.size
    right = rows * size + target
    known = np.concatenate([np.zeros((0, 2), dtype=np.int64), *sets.known.values()])
    where, known_rows = look_up(queries, known[:, 0])
    others = distinct(known_rows * size + known[where, 1])
    others = np.delete(others, look_up(right, others)[0])

    def lists(keys: IntArray) -> tuple[IntArray, IntArray]:
        indptr = np.searchsorted(keys, np.arange(len(queries) + 1) * size)
        return indptr.astype(np.int64), keys % size

    candidates: Any = chosen
    if sampled is not None:
        pool = np.arange(size) if chosen is None else chosen
        every, rng = np.arange(len(queries)), np.random.default_rng(sampled.seed)
        answers, pools = lists(np.sort(np.append(right, others))), (np.array([0, len(pool)]), pool)
        drawn = draw_candidates(
            answers, every, (*pools, 0 * every), (rows, target), sampled.negatives, rng
        )
        candidates = (*drawn, rows)
    labels = {"queries": Labels(query, sets.queries.names)}
    labels["targets"] = Labels(target, sets.entities.names)
    if groups is not None:
        labels["group"] = _read_groups(groups, sets.queries, queries)[rows]
    return SideTasks(
        side=SIDE,
        queries=queries.reshape(-1, 1),
        rows=rows,
        targets=target,
        columns=size,
        filter=lists(others) if sets.known else None,
        candidates=candidates,
        labels=labels,
        test_rows=query,
        height=sets.queries.size,
        names=sets.entities.names,
    )


def _read_groups(groups: Any, queries: Vocabulary, asked: IntArray) -> Labels:
    """Read the groups of some queries: labels of all in their order, or a mapping of queries."""
    if not isinstance(groups, Mapping):
        return as_labels("groups", groups, queries.size)[asked]
    names = list(map(queries.label_of, asked.tolist()))
    missing = [name for name in names if name not in groups]
    if missing:
        expected = "a group for every query with a right answer"
        raise InputValueError("groups", expected=expected, got=f"none for {missing[0]!r}")
    return as_labels("groups", [groups[name] for name in names], len(names))
