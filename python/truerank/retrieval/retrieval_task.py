"""The task of retrieval and recommendation, made from qrels; reports of it, and of any ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import numpy as np

from ..embeddings.scoring import TopK
from ..inputs.candidate_lists import as_lists
from ..inputs.checks import choice, flag, is_integer
from ..inputs.errors import InputTypeError, InputValueError, warn_user
from ..inputs.naming import public
from ..inputs.row_keys import are_among, distinct, distinct_rows, look_up, row_keys
from ..inputs.rules import BatchOptions, ListOptions, with_options
from ..inputs.selection import indptr_of
from ..inputs.words import LISTED
from ..ranks.container import Ranks
from ..ranks.labels import GAIN, GAIN_RULE, WITHOUT_ANSWERS, Labels, as_labels
from ..ranks.protocol import Protocol
from ..splits.column_ids import Column, encode_columns
from ..splits.elements import read_elements
from ..splits.grades import (
    count_without_answers,
    first_task_counts,
    gain_labels,
    gains_of,
    with_judged,
)
from ..splits.split_audit import check_rules
from ..splits.split_columns import SplitReader, name_splits
from ..splits.vocabularies import Vocabulary
from ..tasks.keyed_candidates import KeyedLists, name_of_sets, read_keyed_lists
from ..tasks.one_sided_task import OneSidedTask
from ..tasks.sampling import check_among, check_sample, draw_candidates
from ..tasks.side_tasks import Sampled, SideTasks
from .answer_lists import is_list_of_lists, lists_in_order, lists_of_ids, read_lists
from .answer_report import RetrievalReport
from .answer_ties import GAINS, counted_gains, read_gains
from .answered_queries import check_misses
from .qrels import FORM, is_one_split, read_judged

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.labels import LabelsLike
    from ..splits.named_lists import NamedLists
    from ..splits.vocabularies import Names


SIDE = "answers"
ALL = "all"


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
    judged : ndarray of int64, shape (j, 2)
        Distinct pairs of a gain of 0.
    names_alone : bool
        Whether entities have names and a number, but no order: the first of the ids are those that
        the qrels name, and any other name may stand for one of the others.
    """

    queries: Vocabulary
    entities: Vocabulary
    pairs: IntArray
    gains: FloatArray | None
    known: dict[str, IntArray]
    asked: int
    judged: IntArray = np.zeros((0, 2), np.int64)
    names_alone: bool = False

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
    names_alone = is_integer(entities) and any(map(has_names, columns))
    if names_alone:
        entity_ids = read_names_alone(entities, columns)
        targets, *others = [column.values for column in columns]
    else:
        entity_ids, (targets, *others) = encode_columns("entities", entities, columns)
    known_pairs = {
        name: np.stack([rows[name], ids], axis=1) for name, ids in zip(rows, others, strict=True)
    }
    pairs = np.stack([tasks, targets], axis=1)
    number = len(distinct(asked))
    sets = AnswerSets(query_ids, entity_ids, pairs, tested.gains, known_pairs, number)
    return _distinct_answers(sets._replace(names_alone=names_alone))


def has_names(column: Column) -> bool:
    """Whether a column has names, and not integers."""
    return column.label_index is not None and len(column.values) > 0


def read_names_alone(entities: Any, columns: Sequence[Column]) -> Vocabulary:
    """Return the number of entities, of which columns name some, with these names.

    Raises
    ------
    InputTypeError
        For integers beside names.
    InputValueError
        For more names than there are entities.
    """
    size = Vocabulary.read("entities", entities).size
    names: dict[str, None] = {}
    for column in columns:
        if len(column.values) and column.label_index is None:
            named = next(filter(has_names, columns)).split
            expected = f"names that are str, as {named} has (entities={size} gives no positions)"
            got = f"{column.entry(0)!r} in {column.where(0)}"
            raise InputTypeError(column.split, expected=expected, got=got)
        if column.label_index is not None:
            names.update(dict.fromkeys(column.label_index.codes))
    check_number_of_names(size, len(names))
    return Vocabulary(size, tuple(names))


def check_number_of_names(size: int, names: int) -> None:
    """Refuse more names than there are entities."""
    if names > size:
        expected = f"at least {names:,}, as so many names occur"
        raise InputValueError("entities", expected=expected, got=size)


def _rows_of(column: Column, queries: Vocabulary, of_qrels: bool) -> IntArray:
    """Return the ids of known queries, -1 for those that are not in the task."""
    codes, index = column.values, column.label_index
    if not len(codes):
        return codes
    if index is not None:
        names = tuple(index.codes)
        return queries.find(column.split, names, is_text=column.is_text)[codes]
    if of_qrels and queries.words is not None:
        expected = "labels of queries, as qrels have, whose order nobody gave"
        got = f"{column.entry(0)!r} in {column.where(0)}"
        raise InputValueError(column.split, expected=expected, got=got)
    if queries.names is None and codes.min() < 0:
        raise InputValueError(column.split, expected="query ids from 0 on", got=codes.min())
    return queries.find(column.split, codes, where=column.where)


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
        is_right = sets.gains > 0
        sets = sets._replace(judged=sets.pairs[stays & ~is_right])
        stays &= is_right
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


class ChosenCandidates(NamedTuple):
    """Checked candidates of a task.

    Attributes
    ----------
    name : str
        What the protocol calls them.
    pool : ndarray of int64, KeyedLists, or None
        What they are, for all queries or for each, or what they are drawn from; None: all.
    sampled : Sampled or None
        How they are drawn.
    """

    name: str
    pool: IntArray | KeyedLists | None = None
    sampled: Sampled | None = None


def read_candidates(value: Any, sets: AnswerSets) -> ChosenCandidates:
    """Read the argument `candidates`.

    Raises
    ------
    TypeError, ValueError
        For a name that no known split has, ids out of range, unknown labels, a typed sample,
        queries without a list, and right answers that are not among the candidates.
    """
    sampled = value if isinstance(value, Sampled) else None
    if sampled is not None:
        sampled = check_sample(sampled, "query")
        assert sampled is not None
        if sampled.typed:
            raise InputValueError("candidates", "queries have no types, from which to draw")
        value = sampled.among
    if isinstance(value, str) and value == LISTED and sampled is None:
        return ChosenCandidates(LISTED)
    if sets.names_alone and (sampled is not None or not (value is None or isinstance(value, str))):
        expected = "all, or a known split, as not all entities have names"
        got = "a list of them" if sampled is None else "a sample"
        raise InputValueError("candidates", expected=expected, got=got)
    name = ALL if sampled is None else sampled.name
    if value is None or (isinstance(value, str) and value == ALL):
        return ChosenCandidates(name, None, sampled)
    if isinstance(value, Mapping):
        lists = read_keyed_lists(value, sets.queries, sets.entities)
        queries, answers = np.ascontiguousarray(sets.pairs.T)
        lists.check(queries, answers, sets.queries, sets.entities)
        pool: Any = lists.one_set
        pool = lists if pool is None else pool
        return ChosenCandidates(name_of_sets([pool]), pool)
    if isinstance(value, str):
        if value not in sets.known:
            known = f"the known splits ({', '.join(sets.known) or 'none'})"
            expected = f"{ALL}, {LISTED}, or one of {known}"
            raise InputValueError("candidates", expected=expected, got=repr(value))
        chosen, name = distinct(sets.known[value][:, 1]), value if sampled is None else name
    else:
        chosen = sets.entities.set_of("candidates", value)
        name = name_of_sets([chosen])
    check_among(chosen, sets.pairs[:, 1], sets.entities, "right answers")
    return ChosenCandidates(name, chosen, sampled)


def make_side(
    sets: AnswerSets, groups: Any, candidates: ChosenCandidates, gain: str = GAINS[0]
) -> SideTasks:
    """Make the tasks: one for each right answer, which is never in the filter of its query.

    One for each judged document that is a candidate of a query with right answers follows.
    """
    query, target = (np.ascontiguousarray(column) for column in sets.pairs.T)
    is_first = np.diff(query, prepend=-1) != 0
    queries, rows, size = query[is_first], np.cumsum(is_first) - 1, sets.entities.size
    right = rows * size + target
    known = np.concatenate([np.zeros((0, 2), dtype=np.int64), *sets.known.values()])
    where, known_rows = look_up(queries, known[:, 0])
    others = distinct(known_rows * size + known[where, 1])
    others = np.delete(others, look_up(right, others)[0])
    where, judged_rows = look_up(queries, sets.judged[:, 0])
    judged = judged_rows * size + sets.judged[where, 1]
    judged = judged[~np.isin(judged, others)]
    pool = candidates.pool
    if isinstance(pool, KeyedLists):
        of_queries = pool.lists_of(queries)
        listed = np.repeat(np.arange(len(queries)), np.diff(of_queries[0])) * size + of_queries[1]
        judged = judged[are_among(listed, judged)]
    elif pool is not None:
        judged = judged[np.isin(judged % size, pool)]

    def lists(keys: IntArray) -> tuple[IntArray, IntArray]:
        indptr = np.searchsorted(keys, np.arange(len(queries) + 1) * size)
        return indptr.astype(np.int64), keys % size

    among: Any = pool
    if candidates.sampled is not None:
        answers = lists(np.sort(np.append(right, others)))
        drawn = _draw_for_queries(candidates, answers, (rows, target), size)
        among = (*drawn, rows)
    rows, target = np.append(rows, judged // size), np.append(target, judged % size)
    if isinstance(pool, KeyedLists):
        among = (*of_queries[:2], rows)
    query = queries[rows]
    labels = {"queries": sets.queries.labels(query)}
    labels["targets"] = sets.entities.labels(target)
    if sets.gains is not None:
        labels[GAIN] = gain_labels(np.append(sets.gains, np.zeros(len(judged))))
        if gain != GAINS[0]:
            labels[GAIN_RULE] = as_labels(GAIN_RULE, gain, len(rows))
    labels[WITHOUT_ANSWERS] = first_task_counts(sets.asked - len(queries), len(rows))
    if groups is not None:
        labels["group"] = _read_groups(groups, sets.queries, queries)[rows]
    return SideTasks(
        side=SIDE,
        queries=queries.reshape(-1, 1),
        rows=rows,
        targets=target,
        columns=size,
        filter=lists(others) if sets.known else None,
        candidates=among,
        labels=labels,
        test_rows=query,
        height=sets.queries.size,
        names=None if sets.names_alone else sets.entities.names,
    )


def _draw_for_queries(
    candidates: ChosenCandidates,
    known: tuple[IntArray, IntArray],
    right: tuple[IntArray, IntArray],
    size: int,
) -> tuple[IntArray, IntArray]:
    """Draw the candidates of each query, its right answers among them.

    Parameters
    ----------
    candidates : ChosenCandidates
    known : (indptr, indices)
        For each query what is never drawn.
    right : (rows, targets)
        The query of each right answer, and the answer.
    size : int
        The number of entities.

    Returns
    -------
    indptr, indices : ndarray
    """
    sampled, pool = candidates.sampled, candidates.pool
    assert sampled is not None
    columns: Any = np.arange(size) if pool is None else pool
    rng, number = np.random.default_rng(sampled.seed), len(known[0]) - 1
    drawn_for = np.arange(number)
    if sampled.per == "answer":
        drawn_for = right[0]
    pools = np.array([0, len(columns)]), columns, np.zeros_like(drawn_for)
    if sampled.per is None:
        return draw_candidates(known, drawn_for, pools, right, sampled.negatives, rng)
    answers = np.arange(len(drawn_for)), right[1]
    indptr, drawn = draw_candidates(known, drawn_for, pools, answers, sampled.negatives, rng)
    queries, indices = distinct_rows([np.repeat(drawn_for, np.diff(indptr)), drawn])
    return indptr_of(np.bincount(queries, minlength=number)), indices


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


@public("truerank.retrieval")
class Task(OneSidedTask[RetrievalReport]):
    """Retrieval or recommendation: rank all right answers of each query among all candidates.

    Every right answer is a task; the other right answers of its query stay among the candidates.
    What is known, as the training items of a user, is left out.

    Parameters
    ----------
    qrels : mapping, array, list of tuples, tuple of columns, or path
        The right answers of each query: ``{query: {entity: gain}}``, ``{query: [entities]}``, rows
        ``(query, entity)`` or ``(query, entity, gain)`` as a list of tuples or an array of int,
        columns ``(queries, entities)`` or ``(queries, entities, gains)`` as a tuple of arrays,
        `Qrels`, or the path of a .npy file of rows or of text that `truerank.read_qrels` reads,
        gzipped if its name ends in .gz. What a str and an int name is decided by `entities` and
        `queries`; arrays may be Series and categoricals. A gain of 0, and in Qrels
        a relevance below 0 as well, is no right answer. A query without a right answer is left out
        of all means, and counted in `without_answers`.
    entities : int, sequence of str or int, or mapping of these to int
        How many entities, documents or items there are, or their labels in the order of the columns
        of scores, or a mapping to these columns. All are candidates, unless `candidates` are given.
        Beside labels that are str, an int is a column, and refused where a label is written like
        one. Labels that are int are named by ints, and in text by digits. Beside a number, ints are
        columns; or else all of qrels, known and lists have names that are str, digits in text too:
        what no list names then needs no name, and only lists by name can be evaluated.
    queries : int, sequence of str, or mapping of str to int, optional
        The same for queries, and the rows of scores or of embeddings. Default: labels in the order
        in which `qrels` first has them, or ids from 0 to the largest. Rows and lists without names
        are refused where queries have labels and `queries` does not say their order.
    known : dict of str to split, list of splits, one split, or None
        Right answers of other splits, each in any form of `qrels`: they are left out of the
        candidates of their query. Those of queries without a row are ignored.
    groups : labels or mapping, optional
        The group of each query, of all in the order of their ids, or by query.
    gain : {"linear", "exponential", "binary"}
        What becomes of gains g in dcg and ndcg: g, 2^g - 1, or 1.
    split : str
        The name of the evaluated split.
    leaks : {"keep", "drop", "raise"}
        What to do with right answers that a known split has, too. "keep" ranks them, does not leave
        them out anywhere, and warns.
    candidates : None, "all", "listed", name of a known split, array of entities, mapping, Sampled
        The entities among which the right answers of each query are ranked: all of them (None or
        "all"), those that a known split has, those of an array (ids or labels), those of each query
        by a mapping ``{query: entities}``, its right answers among them, or all right answers of
        the query and some drawn ones, as in ``Sampled(100, seed=0)``, which are neither known nor
        right; they are drawn from all, or with ``among="train"`` from those of a known split,
        and with ``per="answer"`` for each right answer, not for a query once. "listed": what the
        list of each query has, and the right answer, for lists alone; one that its list misses
        counts as 0.
        Metrics of sampled candidates are too good and cannot be compared with those of all.
    judged : bool
        Whether documents that `qrels` judge with a gain of 0 are ranked, too, as ``bpref`` needs.
        They are tasks of the side after all right answers, and none of the ranks of a report.

    Attributes
    ----------
    sides : dict of str to SideTasks
        The one side, also as `answers`.
    protocol : Protocol
    gains : ndarray of float64, shape (n,), or None
        What the right answers count for; None: 1 for all.
    queries, entities : tuple of str, or None
        The labels of the ids.
    without_answers : int
        The number of queries of `qrels` that have no right answer.
    leaked : int
        The number of right answers that a known split has, too.

    Raises
    ------
    TypeError, ValueError
        For another form, unknown labels, ids out of range, gains that are NaN, infinite or
        negative, a pair with several gains, and no right answers at all.
    OSError
        For files that are missing or damaged.

    Warns
    -----
    UserWarning
        For leaks that are kept.

    Notes
    -----
    Every task has the labels "queries", "targets" and "unit" (the id of the query, which all its
    answers share), and "group" if there are groups. The metrics, their formulas and what they make
    of ties are those of `RetrievalReport`.

    Examples
    --------
    >>> items = ["a", "b", "c", "d"]
    >>> task = Task({"u": ["b", "d"], "v": ["a"]}, entities=items, queries=["u", "v"])
    >>> report = task.evaluate_scores([[0.1, 0.9, 0.8, 0.7], [0.5, 0.5, 0.1, 0.0]])
    >>> report.per_query("recall@2").tolist(), report.per_query("mrr").tolist()
    ([0.5, 1.0], [1.0, 0.75])

    Items of the training data are left out.

    >>> task = Task({"u": ["b", "d"]}, entities=items, known={"train": {"u": ["c"]}})
    >>> task.evaluate_scores([[0.1, 0.9, 0.8, 0.7]])["recall@2"]
    1.0
    """

    queries: Names
    entities: Names
    leaked: int
    _asked_by_whole: IntArray | None = None  # of a part: the queries of the whole task

    def __init__(
        self,
        qrels: Any,
        *,
        entities: Any,
        queries: Any = None,
        known: Any = None,
        groups: Any = None,
        gain: str = "linear",
        split: str = "test",
        leaks: str = "keep",
        candidates: Any = None,
        judged: bool = False,
    ) -> None:
        rule = check_rules(leaks=leaks)["leaks"]
        choice("gain", gain, GAINS)
        if entities is None:  # those that are judged would be too few
            expected = "the number of entities, or their labels"
            raise InputTypeError("entities", expected=expected, got="None")
        sets = read_answer_sets(qrels, known, entities, queries, split)
        sets, self.leaked = without_leaks(sets, rule)
        chosen = read_candidates(candidates, sets)
        is_drawn = chosen.sampled is not None
        if not flag("judged", judged):
            sets = sets._replace(judged=sets.judged[:0])
        elif is_drawn:
            raise InputValueError("judged", "sampled candidates have no judged documents")
        read_gains(sets.gains, len(sets.pairs), gain)  # gains that cannot be counted are errors now
        side = make_side(sets, groups, chosen, gain)
        self._has_judged = len(side) > len(sets.pairs)
        self.queries, self.entities = sets.queries.names, side.names
        self._query_names = Vocabulary(side.height, self.queries, "queries")
        self._named = sets.entities if sets.names_alone else None
        self._has_groups, self._all_queries_known = groups is not None, queries is not None
        if groups is not None and not isinstance(groups, Mapping):
            self._check_order_of_queries("groups")
        known = tuple(sets.known)
        protocol = Protocol(filter=known, split=split, candidates=chosen.name, sampled=is_drawn)
        super().__init__({SIDE: side}, protocol)

    @property
    def gains(self) -> FloatArray | None:
        """What the right answers count for in dcg and ndcg: shape (n,); None: 1 for all.

        Examples
        --------
        >>> Task({"u": {"b": 1, "d": 3}}, entities=["a", "b", "c", "d"], gain="exponential").gains
        array([1., 7.])
        """
        labels = self.answers.labels
        is_right = self._is_right()
        given = {name: labels[name][is_right] for name in (GAIN, GAIN_RULE) if name in labels}
        return counted_gains(given)

    @property
    def without_answers(self) -> int:
        """The number of queries that have no right answer.

        Examples
        --------
        >>> Task({"u": ["b"], "v": []}, entities=["a", "b"]).without_answers
        1
        """
        return count_without_answers(self.answers.labels)

    def _is_right(self) -> npt.NDArray[np.bool_]:
        """Return which tasks are right answers, and not other judged documents."""
        gains = gains_of(self.answers.labels)
        if gains is None:
            return np.ones(len(self.answers), np.bool_)
        return gains > 0

    @with_options(ListOptions)
    def evaluate_lists(
        self, ids: Any, scores: Any = None, *, misses: str = "zero", **options: Unpack[ListOptions]
    ) -> RetrievalReport:
        """Evaluate lists of the best entities, which may miss right answers.

        A right answer that its list misses adds nothing, as in trec_eval and ranx, or its place is
        any of those that the list leaves: `misses` says which.

        Parameters
        ----------
        ids : mapping, NamedLists, path, TopK, or lists as `truerank.rank_lists` takes them
            ``{query: {entity: score}}``, or ``{query: [entities]}`` in order alone, by labels or
            ids, as `qrels` name them: none is converted. A query without a list has an empty one;
            lists of queries that `qrels` does not have are not used, unless the task was made with
            `queries`, where they are an error.
            `NamedLists`, or the path of a file that `truerank.read_run` reads, or, if it ends in
            .json or .jsonl (or these with .gz), `truerank.read_json_lists`. Or a list for each
            query, in the order of their ids: what `truerank.topk_embeddings` returns, a matrix
            (queries, width) padded with -1, ``(indptr, values)``, or a list of lists of ids or
            labels.
        scores : array_like, (indptr, values), list of lists, or None
            Their scores, of the same form; None: they are by name, or the order says all.
        misses : {"zero", "bounds", "expected"}
            What a right answer counts for that its list misses, as in `report`: nothing, or the
            mean over all places that the list leaves, whose first and last are bounds, or not.
        order, nan, dtype, threads, progress : optional
            As in `truerank.rank_lists`.

        Returns
        -------
        RetrievalReport
            ``report.ranks.listed`` says which right answers are in the list of their query.

        Raises
        ------
        TypeError, ValueError
            As `truerank.rank_lists` does, for another number of lists, for unknown labels, and
            where no query with right answers has a list.

        Warns
        -----
        UserWarning
            If queries with right answers have no list: it names the first three, and lists of other
            queries whose names differ from theirs only in blanks or case. The audit of the report
            has both, too.

        Examples
        --------
        >>> from truerank.retrieval import Task
        >>> task = Task({"u": ["b", "d"]}, entities=["a", "b", "c", "d"])
        >>> task.evaluate_lists({"u": {"a": 0.9, "b": 0.8}})["map"]
        0.25
        >>> report = task.evaluate_lists({"u": {"a": 0.9, "b": 0.8}}, misses="bounds")
        >>> report["map"], report["optimistic.map"], report["pessimistic.map"]
        (0.5416666666666666, 0.5833333333333333, 0.5)
        """
        check_misses(misses, self.protocol)
        named = read_lists("ids", ids)
        use = None
        if named is None:
            if not is_list_of_lists(ids):
                self._check_columns_of("ids")
            self._check_order_of_queries("ids")
            ids, scores = lists_of_ids(ids, scores, self._ids_of_names)
        elif scores is not None:
            raise InputTypeError("scores", expected="None, as the lists have names")
        else:
            self._check_queries(named)
            queries = self._query_names
            asked, is_strict = self.answers.queries[:, 0], self._all_queries_known
            elsewhere = np.zeros(0, np.int64)
            if self._asked_by_whole is not None:
                elsewhere = np.setdiff1d(self._asked_by_whole, asked)
            ordered = lists_in_order(
                named,
                queries,
                self._queries_of_rows(),
                asked,
                is_strict,
                self._ids_of_names,
                elsewhere,
            )
            ids, scores, use = ordered
        if isinstance(ids, TopK) and scores is None:
            ids, scores = ids
        lists = as_lists(ids, scores, options.get("dtype"), "ids")
        opened: Any = lists, None  # open lists have their scores
        report = super()._evaluate_lists({SIDE: TopK(*opened)}, "ids", **options)
        if use is not None:
            use.warn("ids")
        if misses != "zero":
            report = self._report(report.ranks, misses)
        longest = None
        if self.protocol.candidates == ALL:
            longest = int(np.diff(lists.indptr).max(initial=0))
        report._tell_lists(use, longest)
        return report

    def _queries_of_rows(self) -> IntArray:
        """Return the query of each row that is handed over without names."""
        if self._asked_by_whole is None:
            return np.arange(self.answers.height)
        queries = np.empty(self.answers.height, np.int64)
        queries[self.answers.test_rows] = self.answers.labels["unit"].codes
        return queries

    def _count_joined(self, side: SideTasks) -> int:
        return int(np.count_nonzero(self._is_right()))

    def _become_part(self, source: Self, positions: IntArray) -> None:
        if self._asked_by_whole is None:
            self._asked_by_whole = source.answers.queries[:, 0]

    def _check_queries(self, lists: NamedLists) -> None:
        """Refuse positions of queries whose order nobody gave."""
        are_ints = len(lists) > 0 and not isinstance(lists.queries[0], str)
        queries = self._query_names
        if are_ints and queries.words is not None:
            queries.ids_of("ids", lists.queries[:1])
            self._check_order_of_queries("ids")

    def _ids_of_names(self, names: Any, is_text: bool) -> IntArray:
        """Return the ids of distinct names, any of which may be new where names are alone."""
        entities = self._named
        if entities is None:
            entities = Vocabulary(self.answers.columns, self.entities)
            if is_text and entities.names is None and len(names):
                ways = f"give qrels of str, or entities=range({entities.size}), whose digits are"
                expected = f"ids of entities, as qrels have, and no names in text ({ways} names)"
                raise InputTypeError("ids", expected=expected, got=repr(names[0]))
            return entities.ids_of("ids", names, is_text=is_text)
        elements = read_elements("ids", names, "names that are str, as qrels have")
        if isinstance(elements, np.ndarray):
            if not len(elements):
                return elements
            expected = f"names that are str, as qrels have (entities={entities.size} gives no ids)"
            raise InputTypeError("ids", expected=expected, got=f"{elements[0]} at position 0")
        ids = entities.codes_of(elements)
        known, is_new = len(entities.names or ()), ids < 0
        new = int(np.count_nonzero(is_new))
        ids[is_new] = known + np.arange(new)
        check_number_of_names(entities.size, known + new)
        return ids

    def _evaluate(
        self, scorers: Mapping[str, Any], name: str = "", **options: Unpack[BatchOptions]
    ) -> RetrievalReport:
        self._check_lists_are_not_needed(name)
        self._check_columns_of(name)
        return super()._evaluate(scorers, name, **options)

    def _check_rows(self, name: str) -> None:
        """Refuse columns where entities have no order, and rows where queries have none."""
        self._check_lists_are_not_needed(name)
        self._check_columns_of(name)
        self._check_order_of_queries(name)

    def _check_lists_are_not_needed(self, name: str) -> None:
        """Refuse anything but lists where the candidates are those of lists."""
        if self.protocol.candidates == LISTED:
            problem = f'the candidates are those "{LISTED}", so that only lists can be evaluated'
            raise InputValueError(name, problem)

    def _check_columns_of(self, name: str) -> None:
        """Refuse columns of entities of which only names and their number are known."""
        if self._named is not None:
            size = self._named.size
            problem = f"entities={size} beside names in qrels says nothing of columns, so that"
            problem += " only lists by name can be evaluated"
            ways = f"give Task(..., entities=...) the names in their order, or range({size})"
            raise InputValueError(name, f"{problem}; {ways} if they are its digits")

    def _check_order_of_queries(self, name: str) -> None:
        """Refuse rows where queries have names, and nobody said whose row is the first."""
        if not self._all_queries_known and self.queries is not None and len(self.queries) > 1:
            some = ", ".join(map(repr, self.queries[:2]))
            problem = f"rows do not say whose they are, and queries have names ({some}, ...)"
            way = "give Task(..., queries=...) the names in the order of the rows"
            raise InputValueError(name, f"{problem}: {way}")

    def _report(self, ranks: Ranks, misses: str = "zero") -> RetrievalReport:
        ranks = ranks.with_labels(side=None)
        gains = gains_of(ranks.labels)
        if self._has_judged and gains is not None:
            ranks = with_judged(ranks, gains > 0)
        by = "group" if self._has_groups else None
        return report(ranks, by=by, misses=misses)

    def __repr__(self) -> str:
        side = self.answers
        right = self._count_joined(side)
        return (
            f"Task({right:,} right answers of {len(side.queries):,} queries among "
            f"{side.columns:,} entities; {self.protocol})"
        )


@public("truerank.retrieval")
def report(
    ranks: Ranks,
    gains: npt.ArrayLike | None = None,
    *,
    queries: LabelsLike | None = None,
    gain: str | None = None,
    by: LabelsLike | None = None,
    misses: str = "zero",
) -> RetrievalReport:
    """Report the metrics of queries with several right answers, from the ranks of the answers.

    Parameters
    ----------
    ranks : Ranks
        A task for each right answer of each query: its place among all candidates of the query, of
        which the other right answers are not left out. Only answers that are wrong for certain, as
        items of the training data, may be filtered.
    gains : array_like of float, shape (n,), optional
        What each right answer counts for in dcg and ndcg: above 0, with a finite sum. Default: what
        the ranks say, as those of a `Task` and of `NamedLists.rank` do, whose label "gain" has the
        grades of the judgements; 1 where they say nothing.
    queries : labels, optional
        The query of each task. Default: those of the ranks.
    gain : {"linear", "exponential", "binary"}, optional
        What becomes of gains g: g (as in trec_eval), 2^g - 1 (Burges et al.: Learning to rank using
        gradient descent, 2005; g is at most 1000), 1. Default: that of the `Task` that made the
        ranks, or linear.
    by : str or labels, optional
        Groups of queries: the name of a label of the ranks, or labels of the tasks.
    misses : {"zero", "bounds", "expected"}
        What a right answer counts for that its list misses, in ranks of lists. "zero": it adds
        nothing to any metric, as in trec_eval and ranx. Else all places that the list leaves are
        equally likely; the kinds optimistic and pessimistic have the first and the last of them
        ("bounds": what all scores would give lies between), or concern what is listed alone
        ("expected").

    Returns
    -------
    RetrievalReport

    Raises
    ------
    TypeError
        For anything but Ranks, and gains that are not numbers.
    ValueError
        For no tasks, ranks without labels of queries or with weights, gains that are NaN, infinite,
        0 or less, have no finite sum or are exponential and above 1000, or are others than those of
        the ranks, ranks of tasks with several rules of `gain`, and counts that cannot come
        from one ranking of a query's candidates: unlike numbers of candidates, ties that overlap or
        hold more right answers than places. Those come from right answers that are filtered or
        given twice, and of ranks of several models.

    Examples
    --------
    >>> import truerank as tr
    >>> scores = [[0.9, 0.1, 0.8, 0.8]]
    >>> ranks = tr.rank(scores, [0, 2], rows=[0, 0])
    >>> found = report(ranks, [1, 3], queries=["q", "q"])
    >>> found["map"], found["optimistic.map"], found["pessimistic.map"]
    (0.9166666666666666, 1.0, 0.8333333333333333)

    Grades travel with judgements:

    >>> lists = tr.NamedLists(("q",), ("d1", "d2"), np.array([0, 2]), np.array([0, 1]), None)
    >>> round(report(lists.rank({"q": {"d1": 1, "d2": 3}}, candidates=10))["ndcg"], 3)
    0.797
    """
    if not isinstance(ranks, Ranks):
        raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
    if gain is not None:
        choice("gain", gain, GAINS)
    if ranks.weights is not None:
        raise InputValueError("ranks", expected="no weights, as every query counts once")
    if queries is not None:
        ranks = ranks.with_labels(queries=queries)
    if ranks.queries is None:
        raise InputValueError("ranks", expected="labels of queries; give queries=...")
    protocol = ranks.protocol
    if protocol.split is not None and protocol.split in protocol.filter:
        expected = "ranks among which no right answer is filtered"
        raise InputValueError("ranks", expected=expected, got=f"ones filtered by {protocol.split}")
    if gains is not None:
        ranks = _with_gains(ranks, gains)
    counted = counted_gains(ranks.labels, gain)
    if gain is not None and GAIN in ranks.labels:
        rule = None if gain == GAINS[0] else gain
        ranks = ranks.with_labels(**{GAIN_RULE: rule})
    return RetrievalReport(ranks, counted, by=by, misses=misses)


def _with_gains(ranks: Ranks, gains: npt.ArrayLike) -> Ranks:
    """Label ranks with gains; refuse others than those that they carry."""
    read_gains(gains, len(ranks), GAINS[0])
    array, carried = np.asarray(gains, np.float64), gains_of(ranks.labels)
    if carried is None:
        return ranks.with_labels(**{GAIN: gain_labels(array)})
    unlike = array != carried
    if unlike.any():
        i = int(unlike.argmax())
        expected = f"those of the ranks ({carried[i]:g} at position {i}), or None"
        raise InputValueError("gains", expected=expected, got=f"{array[i]:g}")
    return ranks
