"""The task of retrieval and recommendation, made from qrels and evaluated in four ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import reporting
from ..arrays.row_keys import are_among, digest_rows, distinct, distinct_rows, factorize
from ..counting.driver import count_scores
from ..counting.lists import CandidateLists, TopK
from ..embeddings.vectors import Embeddings
from ..errors import InputTypeError, InputValueError, Option, warn_user
from ..inputs.array_likes import Axis, as_floats, by_position
from ..inputs.checks import choice
from ..inputs.rules import (
    LISTED,
    PLAIN,
    BatchOptions,
    EmbeddingOptions,
    ListOptions,
    RuleOptions,
    read_rules,
)
from ..inputs.selection import lengths_to_indptr
from ..metrics.answers import GAINS, MISSES, check_misses, counted_gains
from ..naming import format_count, public
from ..ranks.container import GIVES_NUMBER, check_level, check_number
from ..ranks.labels import Labels, as_labels, labels_of_codes
from ..ranks.protocol import Protocol
from ..records.columns import first_names
from ..records.lists import Lists
from ..records.splits import check_rules
from ..records.vocabularies import align
from ..tasks import described_by
from ..tasks.candidates import (
    ALL,
    CandidateSet,
    Sampled,
    check_sample,
    draw_candidates,
    read_candidate_set,
)
from ..tasks.side import Side, are_candidates, make_job, make_side
from ..tasks.task import RowOrder
from ..tasks.task import Task as SidedTask
from .sets import ANY_INTEGERS, count_repeats, find_right_answers, number_names, read_answers

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from ..inputs.rules import IoMode, Rules, Similarity
    from ..ranks.container import Ranks
    from ..records.columns import Names as ListedNames
    from ..records.splits import SplitTables
    from ..records.vocabularies import Names, Vocabulary
    from ..reporting import Report
    from ..stores import Store
    from ..tasks.side import TaskLists


SIDE = "answers"
_READ_AGAIN = 1000  # rows, or fewer than twice as many, to see whether queries stand first in them
_IN_ORDER = Option("entities", ..., "names them in their order", call="Task(..., entities=names)")
_ORDER_OF_QUERIES = Option(
    "queries", ..., "names them in the order of the rows", call="Task(..., queries=names)"
)


@public("truerank.retrieval")
class Task(SidedTask):
    """Retrieval or recommendation: rank all right answers of each query among all candidates.

    Every right answer is a task; the other right answers of its query stay among the candidates.
    Known answers, such as the training items of a user, are left out.

    Parameters
    ----------
    qrels : path, table, mapping, tuple of columns, or sparse matrix
        The right answers of each query: the path of a file that `truerank.read_qrels` reads, or
        what it returned; a frame of pandas or polars, a table of pyarrow or a structured array,
        whose columns are named query (query-id, user), document (corpus-id, item) and, perhaps,
        relevance (score); ``{query: {entity: gain}}`` or ``{query: [entities]}``; columns
        ``(queries, entities)`` or ``(queries, entities, gains)`` as a tuple; a sparse matrix of
        scipy, with a row for each query, a column for each entity, and gains as its stored values
        (made with ``shape=``, as its last ones may be empty). `entities` and `queries` decide what
        a str and an int name, in any container. A gain of 0 or less is no right answer. All
        queries that `qrels` names are the test's, in any form, and every row of a matrix. One
        without a right answer is left out of all means, and counted in `without_answers`;
        ``ranks.with_protocol(answerless="zero")`` counts it as 0.
    entities : int, sequence of str or int, or mapping of these to int, optional
        How many entities, documents or items there are, or their labels in the order of the columns
        of scores, or a mapping to these columns. All are candidates, unless `candidates` are given.
        Beside labels that are str, an int is a column, and refused where a label is written like
        one. Labels that are int are named by ints, and in text by digits. Beside a number, ints are
        columns; or all of qrels, known and lists have names that are str (digits in text, too), and
        only lists by name can be evaluated. These need no entities, unless what depends on their
        number is asked for: auc, gauc, sampled_hits, `misses`, the rank of an answer that is not
        listed.
    queries : int, sequence of str, or mapping of str to int, optional
        The same for queries, which are the rows of scores, of embeddings and of a `TopK`. Default:
        those that `qrels` has, whose keys are labels, str or any int; if these are exactly 0 to n -
        1, they are the rows, else rows need `row_queries`. Those that `qrels` lacks only have rows.
    known : dict of str to split, list of splits, one split, or None
        What other splits have, each in any form of `qrels`: it is left out of the candidates of its
        query, whatever its grade (`audit` counts grades of 0 and less). Rows of other queries are
        ignored, and named in `audit`.
    groups : labels or mapping, optional
        The group of each query, of all in the order of their ids (which the index of a Series must
        have), or by query.
    gain : {"linear", "exponential", "binary"}
        What becomes of gains g in dcg and ndcg: g, 2^g - 1, or 1.
    split : str
        The name of the evaluated split.
    leaks : {"keep", "drop", "raise"}
        What to do with right answers that a known split has, too. "keep" ranks them, never leaves
        them out, and warns.
    candidates : None, "all", "listed", name of a known split, array of entities, mapping, Sampled
        The entities among which the right answers of each query are ranked: all (None or "all");
        those of a known split; those of an array (ids or labels); those of each query by a mapping
        ``{query: entities}``, its right answers among them; or all right answers of the query and
        some drawn entities that are neither known nor right, as `Sampled` says. "listed", only for
        lists: what the list of each query has, and the right answer; one that its list misses
        counts as 0. Lists do not say what there was to order: auc, gauc and sampled_hits of lists
        need `candidates`, the impressions of each query, or "all" where lists are complete. The
        page "Candidates: all, some, sampled, listed" has more.
    relevance_level : float, optional
        The gain from which on an answer is right, as ``-l`` of trec_eval; dcg, ndcg and err keep
        all gains. Default: all gains above 0 are right.
    exclude : {None, "self"}
        "self": the entity with the name of a query, or with its number where neither have names (or
        labels are their own positions), is neither a candidate nor a right answer of it, as where a
        corpus holds the queries (ArguAna, Quora), or labels make the qrels. It is a known split of
        that name.
    columns : mapping of str to (str or int), optional
        The name or number of the column of each role in qrels and known, ``{"query": "who",
        "document": 2}``, and perhaps "relevance", for what has columns. A column called relevance
        is never left out; the audit names others that are. Default: by their names, or in this
        order where they have none. Fractions under BEIR's name for grades, "score", are refused
        without it. Unless it names a relevance, it may not leave out a column named rel, grade,
        label, rating or gain of up to 20 numbers, several within a query or a 0: cut the table if
        all are right. Others like it, and words, are warned of.

    Attributes
    ----------
    sides : dict of str to Side
        The one side, also as `answers`.
    protocol : Protocol
    gains : ndarray of float64, shape (n,), or None
        The gain of each right answer; None: 1 for all.
    queries, entities : tuple of str, or None
        The labels of the ids; None: ids are positions, or queries the ints that `qrels` has.
    without_answers : int
        The number of queries that have no right answer.
    leaked : int
        The number of right answers that a known split has, too.
    audit : Findings
        One for each known split with rows that do not meet the task, or have a grade of 0 or less,
        with their number; one for queries in no judgement; and one for `leaked`, with the first of
        them.

    Raises
    ------
    TypeError, ValueError
        For another form, unknown labels, ids out of range, gains that are NaN or
        infinite, a pair with several gains, and no right answers at all.
    OSError
        For files that are missing or damaged.

    Warns
    -----
    UserWarning
        For leaks that are kept, columns like grades that are left out, and a known split of 100
        rows and more that has no query of the task: it filters nothing.

    Notes
    -----
    Every task has the labels "queries", "targets" and "unit" (a number of the query, which all its
    answers share), and "group" if there are groups. `Report` says which metrics there are, and what
    they make of ties.

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

    answers: Side
    queries: Names
    entities: Names
    leaked: int
    _row_noun = "query (a task can be given those without an answer, too)"

    def __init__(
        self,
        qrels: Any,
        *,
        entities: Any = None,
        queries: Any = None,
        known: Any = None,
        groups: Any = None,
        gain: str = "linear",
        split: str = "test",
        leaks: str = "keep",
        candidates: Any = None,
        relevance_level: float | None = None,
        exclude: str | None = None,
        columns: Any = None,
    ) -> None:
        rules = check_rules(leaks=leaks)
        choice("gain", gain, GAINS)
        if exclude is not None:
            choice("exclude", exclude, ("self",))
        splits, gains, asked = read_answers(
            qrels, known, entities, queries, split, exclude, columns=columns
        )
        right_rows, self.leaked, findings = find_right_answers(splits, rules["leaks"], exclude)
        # Gains that cannot be counted are refused now, not at the first metric.
        counted_gains(gains, gain)
        level = 0.0 if relevance_level is None else check_level(relevance_level, gains)
        candidate_set = read_query_candidates(candidates, splits)
        findings += count_repeats(candidate_set.repeated, "candidates")
        query_names = splits.vocabularies["query"]
        entity_names = splits.vocabularies["entity"]
        self.queries = query_names.names
        self.entities = entity_names.names if entity_names.has_order else None
        self._all_queries_known = queries is not None
        self._rows_have_order = query_names.has_order or len(asked) == 1
        side = make_answers(splits, right_rows, gains, asked, groups, candidate_set)
        known_pairs = [list(splits.rows[splits.bounds[name]].T) for name in splits.known]
        protocol = Protocol(
            filter=tuple(splits.known),
            split=split,
            candidates=None if candidates is None else candidate_set.name,
            sampled=candidate_set.sampled is not None,
            files=splits.sources,
            gain=None if gain == GAINS[0] else gain,
            relevance_level=level or None,
            highest_grade=None if side.gains is None else side.gains.max(),
        )
        super().__init__(
            {SIDE: side},
            roles={SIDE: ("query", "entity")},
            splits=splits,
            protocol=protocol,
            facts=zip(splits.rows[right_rows].T, (self.queries, entity_names.names), strict=True),
            known=", ".join(map(digest_rows, known_pairs)) or "none",
            test_rows=distinct(side.units),
            height=query_names.size or len(asked),
            findings=[*splits.findings, *findings],
        )
        self._row_axis = Axis(self.queries, "task.queries")
        self._report_options = {"by": None if groups is None else "group", "unit": "query"}

    @property
    def gains(self) -> FloatArray | None:
        """The gain of each right answer in dcg and ndcg: shape (n,); None: 1 for all.

        Examples
        --------
        >>> Task({"u": {"b": 1, "d": 3}}, entities=["a", "b", "c", "d"], gain="exponential").gains
        array([1., 7.])
        """
        gains = self.answers.gains
        if gains is None:
            return None
        return counted_gains(gains, self.protocol.gain or GAINS[0])

    @property
    def without_answers(self) -> int:
        """The number of queries that have no right answer.

        Examples
        --------
        >>> Task({"u": ["b"], "v": []}, entities=["a", "b"]).without_answers
        1
        """
        answers = self.answers
        assert answers.without_answers is not None
        number = int(answers.without_answers.sum())
        level = self.protocol.relevance_level
        if level and answers.gains is not None:
            with_right = distinct(answers.rows[answers.gains >= level])
            number += len(answers.query_ids) - len(with_right)
        return number

    @described_by(SidedTask._rank_callables, BatchOptions)
    def evaluate(self, scorer: Callable[[Any], Any], **options: Unpack[BatchOptions]) -> Report:
        """Evaluate a model by a callable that scores batches of queries.

        Parameters
        ----------
        scorer : callable
            f(queries) -> scores: queries (b, ...) int64, rows of ``answers.queries``, each once and
            in order; scores (b, entities), numpy or a torch CPU tensor.

        Examples
        --------
        >>> import numpy as np
        >>> scores = np.array([[3.0, 2.0, 9.0], [1.0, 0.5, 0.7]])
        >>> Task({0: [0, 1], 1: [2]}, entities=3).evaluate(lambda q: scores[q[:, 0]])["recall@2"]
        0.75
        """
        rules = read_rules(options, BatchOptions, Task.evaluate)
        self._check_scores("scorer")
        return self._rank_callables({SIDE: scorer}, rules, options, "scorer")

    @described_by(SidedTask._rank_vectors, EmbeddingOptions)
    def evaluate_embeddings(
        self,
        queries: Any,
        entities: Any,
        *,
        row_queries: Any = None,
        similarity: Similarity = "dot",
        bias: Any = None,
        **options: Unpack[EmbeddingOptions],
    ) -> Report:
        """Evaluate embeddings of queries against those of entities; scores are never stored.

        Parameters
        ----------
        queries : array_like, shape (queries, d), or path
            A vector for each query, whose rows are as in `evaluate_scores`. With the similarity
            "maxsim" ``(vectors, indptr)``, a list of vectors for each, as
            `truerank.rank_embeddings` takes them.
        entities : array_like, shape (entities, d), or path
            A vector for each entity, or a list for each as for `queries`. The index of a frame must
            be the labels in their order.
        row_queries, similarity, bias : optional
            As in `evaluate_scores` and `truerank.rank_embeddings`.

        Examples
        --------
        >>> import numpy as np
        >>> vectors = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
        >>> Task({0: [0, 1]}, entities=3).evaluate_embeddings(vectors[2:], vectors)["map"]
        0.5833333333333334
        """
        rules = read_rules(options, EmbeddingOptions, Task.evaluate_embeddings)
        self._check_scores("queries")
        keys = None if row_queries is None else {SIDE: row_queries}
        return self._rank_vectors(
            {SIDE: queries},
            {"entities": entities},
            rules,
            similarity=similarity,
            bias=bias,
            row_queries=keys,
            title="queries",
        )

    @described_by(SidedTask._rank_scores, RuleOptions)
    def evaluate_scores(
        self,
        scores: Any,
        *,
        row_queries: Any = None,
        io: IoMode | None = None,
        **options: Unpack[RuleOptions],
    ) -> Report:
        """Evaluate a matrix of scores, in memory or in files.

        Parameters
        ----------
        scores : array_like, shape (queries, entities), or files
            A row for each query, in the order of the Task's `queries` or of the keys 0 to n - 1, or
            of `row_queries`. The index and columns of a frame must be the labels in their order.
        row_queries : keys, optional
            The query of each row, in any order, by the labels that `qrels` or `queries` have. Each
            query with right answers has one row; rows of others are counted in the audit. Or
            ``task.answers``: rows are in the order of ``task.answers.queries``.

        Examples
        --------
        >>> task = Task({0: {0: 3, 1: 1}}, entities=3)
        >>> task.evaluate_scores([[0.2, 0.9, 0.5]]).to_dict(["mrr", "recall@1"])
        {'mrr': 1.0, 'recall@1': 0.5}
        >>> task = Task({"ann": [2], "bob": [0]}, entities=3)
        >>> matrix = [[9, 1, 1], [1, 1, 9], [1, 9, 1]]  # of all users
        >>> task.evaluate_scores(matrix, row_queries=["bob", "ann", "eve"])["mrr"]
        1.0
        """
        rules = read_rules(options, RuleOptions, Task.evaluate_scores)
        self._check_scores("scores")
        keys = None if row_queries is None else {SIDE: row_queries}
        return self._rank_scores({SIDE: scores}, rules, io, row_queries=keys, title="scores")

    @described_by(SidedTask._rank_lists, ListOptions)
    def evaluate_lists(
        self,
        ids: Any,
        *,
        row_queries: Any = None,
        columns: Any = None,
        duplicates: str = "raise",
        misses: str = "zero",
        **options: Unpack[ListOptions],
    ) -> Report:
        """Evaluate lists of the top entities, which may miss right answers.

        ``report.ranks.listed`` says which right answers are in the list of their query, and
        `misses` says what the others count: nothing, as in trec_eval and ranx, or the mean over all
        places that the list leaves.

        Parameters
        ----------
        ids : path, table, mapping, or TopK
            The path of a file that `truerank.read_run` reads, or what it returned;
            ``protocol.files`` of the report names its form. A frame of pandas or polars, a table of
            pyarrow or a structured array, whose columns are named query (query-id, user), document
            (corpus-id, item) and, perhaps, score or rank; ``{query: {entity: score}}``, or
            ``{query: [entities]}``, the best first; by labels or ids, as `qrels` name them: none is
            converted. A query without a list has an empty one; lists of queries that `qrels` does
            not have are not used, unless the task was made with `queries`, where they are an error.
            Or a `TopK`, as `truerank.topk_embeddings` returns it: positions, and rows as in
            `evaluate_scores`. A warning says if no list has any right answer, unless lists have
            names and `entities` has all of these.
        row_queries : keys, optional
            The query of each row of a `TopK`, as in `evaluate_scores`.
        misses : {"zero", "bounds", "expected"}
            "zero": nothing; its place is infinite. "bounds": the mean over the places that the list
            leaves, with the first and the last as bounds. "expected": that mean, without these
            bounds. Both need the number of entities.

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
        rules = read_rules(options, ListOptions, Task.evaluate_lists)
        has_number = self.names["entity"].has_size or self.answers.candidates is not None
        check_misses(misses, self.protocol, has_number)
        fields = {} if misses == MISSES[0] else {"misses": misses}
        reading = {"columns": columns, "duplicates": duplicates}
        if isinstance(ids, TopK):
            self._check_columns("ids")
        keys = None if row_queries is None else {SIDE: row_queries}
        return self._rank_lists(
            {SIDE: ids}, rules, reading, row_queries=keys, title="ids", **fields
        )

    def _list_findings(
        self, ranks: Ranks, lists: CandidateLists, rows: IntArray, given: Lists | CandidateLists
    ) -> list[reporting.Finding]:
        """Count the entries of lists that are known, and lists whose first entry is their query.

        Warn if no right answer is in any list, unless all names are labels of the task.
        """
        entities, targets = self.names["entity"], self.answers.targets
        are_labels = entities.has_order and entities.words  # Integers may number anything.
        if len(lists.ids) and not are_labels and not are_among(targets, lists.ids).any():
            right, title = entities.label_of(int(targets[0])), "ids"
            if isinstance(given, Mapping):
                listed = given.names[0]
                title += f": {given.path}" if given.path else ""
            else:
                listed = entities.label_of(int(lists.ids[0]))
            two = f"right answers are {right!r}, ..., lists have {listed!r}, ..."
            warn_user(title, f"no right answer is in any list: {two}")
        findings = self._find_self_lists(given, rows, ranks.protocol.order)
        lengths = np.diff(lists.indptr)
        counted_lengths: Any = ranks.lengths  # They are without what is known; -1: no list.
        n_known = np.zeros_like(lengths)
        n_known[rows] = lengths[rows] - counted_lengths.clip(0)  # Tasks share lists.
        known = int(n_known.sum())
        if known:
            words = f"lists hold {format_count(known, 'known entry')}: left out"
            findings.append(reporting.Finding("known in lists", known, words))
        return findings

    def _find_self_lists(
        self, lists: Lists | CandidateLists, rows: IntArray, order: str
    ) -> list[reporting.Finding]:
        """Count the lists that have their query first, if half of those that hold it do."""
        if "self" in self.protocol.filter or not len(lists.ids):
            return []
        scores: Any = lists.scores
        lengths = np.diff(lists.indptr)
        has_entries = lengths > 0
        begins = lists.indptr[:-1][has_entries]
        first = begins
        if scores is not None:
            places = scores if isinstance(lists, Mapping) else as_floats(scores)
            find_best = (np.fmin if order == "ascending" else np.fmax).reduceat
            best = find_best(places, begins)
            (first,) = np.nonzero(places == np.repeat(best, lengths[has_entries]))
        n_first = np.diff(np.searchsorted(first, lists.indptr))  # several if the best are tied
        own_ids = np.full(len(lengths), -1)
        if isinstance(lists, Mapping):  # Ids number the names here, of which few are looked at.
            list_of_first = np.repeat(np.arange(len(lengths)), n_first)
            pairs = zip(lists.ids[first].tolist(), list_of_first.tolist(), strict=True)
            if not any(lists.names[name] == lists.queries[query] for name, query in pairs):
                return []
            number_of_name = {name: number for number, name in enumerate(lists.names)}
            own_ids[:] = [number_of_name.get(query, -1) for query in lists.queries]
        else:
            own_ids[rows] = self._own_ids()[self.answers.rows]
        number = int(np.count_nonzero(lists.ids[first] == np.repeat(own_ids, n_first)))
        if not number:
            return []
        n_own = int(np.count_nonzero(lists.ids == np.repeat(own_ids, lengths)))
        words = f"{number:,} of {format_count(n_own, 'list')} that hold their query have it first"
        return [reporting.Finding("self", number, words)] if 2 * number >= n_own else []

    def _data_findings(self, data: Store, rows: IntArray, rules: Rules) -> list[reporting.Finding]:
        """Count the queries that are candidates of themselves, unless they are left out.

        Of vectors, a query is the candidate with its vector. In a square matrix it may be that of
        its name, its number or its row: then that stands first, alone, for half or more of those
        with other answers, too. Of many some are looked at, as their rows are read again.
        """
        side = self.answers
        tasks = factorize(side.rows).first()  # one of each query
        if "self" in self.protocol.filter:
            return []
        if isinstance(data, Embeddings):
            own_ids = data.equal_entities()[rows[tasks]]
            number = int(np.count_nonzero(self._are_candidates(tasks, own_ids)))
            words = "have the vector of one of their candidates"
        elif data.shape[0] == data.shape[1]:
            own_ids = self._own_ids()
            own_ids = np.where(own_ids < 0, rows[tasks], own_ids)
            has_others = np.bincount(side.rows, side.targets != own_ids[side.rows]) > 0
            (asked,) = np.nonzero(has_others & self._are_candidates(tasks, own_ids))
            tasks = tasks[asked[:: 1 + len(asked) // _READ_AGAIN]]
            job = make_job(side, rows[tasks], rules, tasks)
            counts = count_scores(data, replace(job, targets=own_ids[side.rows[tasks]])).arrays
            number = int(np.count_nonzero((counts["above"] == 0) & (counts["tied"] == 1)))
            number = number if 2 * number >= len(tasks) else 0
            words = "that were looked at have the entity of their name, number or row first"
        else:
            return []
        text = f"{number:,} of {format_count(len(tasks), 'query')} {words}"
        return [reporting.Finding("self", number, text)] if number else []

    def _are_candidates(self, tasks: IntArray, ids: IntArray) -> Any:
        """Return whether each entity, if it is one, is a candidate of the task in its place."""
        job = make_job(self.answers, self.answers.rows, PLAIN)
        return (ids >= 0) & are_candidates(job, tasks, ids)

    def _own_ids(self) -> IntArray:
        """Return for each query the entity that has its name, or its number; -1: none has."""
        queries, entities = self.names["query"], self.names["entity"]
        names = queries.list_labels(self.answers.query_ids[:, 0])
        if bool(queries.words) != bool(entities.words):
            return np.full(len(names), -1)
        return align("exclude", names, entities, needs_all=False)

    def _order_by_place(self, side: str, argument: str) -> RowOrder:
        """Return the order of queries, which is known if they were given, or are 0, 1, 2, ..."""
        if not self._rows_have_order:
            keys = first_names(self.names["query"].list_labels(self.answers.query_ids[:3, 0]))
            problem = f"rows do not name their queries, which are not 0, 1, 2, ... ({keys})"
            of_each = Option(
                "row_queries", ..., "has the query of each row", call="row_queries=queries"
            )
            raise InputValueError(argument, problem, remedies=[of_each, _ORDER_OF_QUERIES])
        return super()._order_by_place(side, argument)

    def _find_listed_ids(self, side: str, named: Lists, title: str, names: ListedNames) -> IntArray:
        """Return the ids of names, of which some may be new where entities have no order."""
        entities = self.names["entity"]
        are_any_integers = entities.holds_ints and not entities.has_order
        if named.path and names and (are_any_integers or entities.has_numbers):
            expected = "ids of entities, as qrels of ints have, and no names in text"
            raise InputTypeError(title, expected=expected, got=repr(names[0]))
        if entities.has_order:
            return super()._find_listed_ids(side, named, title, names)
        return number_names(title, names, entities, is_text=bool(named.path))

    def _check_scores(self, argument: str) -> None:
        """Refuse scores where only lists can be evaluated."""
        if self.protocol.candidates == LISTED:
            problem = f'the candidates are "{LISTED}": only lists can be evaluated'
            raise InputValueError(argument, problem)
        self._check_columns(argument)

    def _check_columns(self, argument: str) -> None:
        """Refuse a column for each entity where entities have no number, or names without order."""
        entities = self.names["entity"]
        what = "the meaning of columns"
        check_number(entities.has_size, argument, what, remedies=_ways_to_columns(entities))
        if not entities.has_order:
            problem = f"a number of entities ({entities.size}) beside names in qrels says nothing "
            problem += "about columns: only lists by name can be evaluated"
            raise InputValueError(argument, problem, remedies=[_IN_ORDER])

    def __repr__(self) -> str:
        side = self.answers
        answers = format_count(len(side), "right answer")
        queries = format_count(len(side.query_ids), "query")
        has_number = self.names["entity"].has_size
        among = f" among {side.n_candidates:,} entities" if has_number else ""
        return f"Task({answers} of {queries}{among}; {self.protocol})"


def _ways_to_columns(entities: Vocabulary) -> Sequence[Option]:
    """Return the way out where entities have no columns: their number, or all their names."""
    return GIVES_NUMBER if entities.names is None else [_IN_ORDER]


def read_query_candidates(value: Any, splits: SplitTables) -> CandidateSet:
    """Read the argument `candidates`; a set is refused where not all entities have names."""
    entities = splits.vocabularies["entity"]
    if not entities.has_order and value is not None and not isinstance(value, str):
        expected = "no list or sample, as not all entities have names"
        got = "a sample" if isinstance(value, Sampled) else "a list of them"
        ways = _ways_to_columns(entities)
        raise InputValueError("candidates", "", expected, got, remedies=ways)
    forms = ", or {query: [entities]}"
    if isinstance(value, Sampled) and check_sample(value, "query").typed:
        raise InputValueError("candidates", "queries have no types, from which to draw")
    words = ALL, LISTED, *splits.known
    return read_candidate_set(value, "query", words, splits.vocabularies["query"], entities, forms)


def make_answers(
    splits: SplitTables,
    ranked: IntArray,
    gains: FloatArray | None,
    asked: IntArray,
    groups: Any,
    candidates: CandidateSet,
) -> Side:
    """Make the tasks: one for each right answer, which is never in the filter of its query."""
    query_names = splits.vocabularies["query"]
    entity_names = splits.vocabularies["entity"]
    side, _ = make_side(
        SIDE,
        splits.columns,
        ranked,
        query=["query"],
        answer="entity",
        n_candidates=entity_names.size,
        has_filter=bool(splits.known) or candidates.sampled is not None,
    )
    query_ids = side.query_ids[:, 0]
    query_of_task = query_ids[side.rows]
    # Integers that are not counted may be any: units are then numbers in this task.
    units = side.rows if query_names == ANY_INTEGERS else query_of_task
    labels = {
        "queries": query_names.labels(query_of_task),
        "targets": entity_names.labels(side.targets),
        "unit": labels_of_codes(units),
    }
    without_answers = np.zeros_like(side.targets)
    # One task alone carries the number, so that parts add up.
    without_answers[0] = len(asked) - len(query_ids)
    without_answers_by_group = None
    if groups is not None:
        others = asked[~are_among(asked, query_ids)]
        all_groups = _read_groups(groups, query_names, query_ids, others)
        labels["group"] = all_groups[side.rows]
        codes = factorize(np.append(labels["group"].codes, all_groups.codes[len(query_ids) :]))
        first = codes.first()[codes.codes[len(side) :]]  # behind all tasks if none is of the group
        without_answers_by_group = np.bincount(first, minlength=len(side))[: len(side)]
    filter = _without_right(side) if splits.known else None  # Only what other splits know.
    return replace(
        side,
        units=units,
        filter=filter,
        candidates=_answer_candidates(candidates, side, splits),
        gains=None if gains is None else gains[ranked],
        labels=labels,
        without_answers=without_answers,
        without_answers_by_group=without_answers_by_group,
    )


def _answer_candidates(candidates: CandidateSet, side: Side, splits: SplitTables) -> Any:
    """Return the candidates of tasks, in the form that `Side` takes, drawn or as they were named.

    The filter of the side still has all known answers.
    """
    chosen = candidates
    if candidates.word is not None and candidates.word in splits.known:
        rows = splits.bounds[candidates.word]
        chosen = CandidateSet(distinct(splits.columns["entity"][rows]))
    pool: Any = None  # all, or listed
    if chosen.word is None:
        queries = side.query_ids[side.rows, 0]
        entity_names = splits.vocabularies["entity"]
        pool = chosen.of_tasks(queries, side.targets, entity_names, "right answers")
    sampled = candidates.sampled
    if sampled is None:
        return pool
    n_queries = len(side.query_ids)
    queries = np.arange(n_queries)
    right = side.rows, side.targets
    if sampled.per == "answer":  # Each answer has a draw of its own.
        queries = side.rows
        right = np.arange(len(side)), side.targets
    rng = np.random.default_rng(sampled.seed)
    indptr, indices = draw_candidates(side, pool, queries, right, sampled.negatives, rng)
    if sampled.per == "answer":  # The draws for all answers of a query are joined.
        query_of_index = np.repeat(queries, np.diff(indptr))
        query_of_index, indices = distinct_rows([query_of_index, indices])
        indptr = lengths_to_indptr(np.bincount(query_of_index, minlength=n_queries))
    return indptr, indices, side.rows


def _without_right(side: Side) -> TaskLists:
    """Return the filter without the right answers of each query; list i is that of query i.

    All right answers are known, each of them once, and lists ascend.
    """
    assert side.filter is not None
    indptr, indices, lists = side.filter
    size = side.n_candidates
    lengths = np.diff(indptr)
    entries = np.repeat(np.arange(len(lengths)) * size, lengths)
    entries += indices  # They ascend, so that each right answer is found by a search.
    places = np.searchsorted(entries, side.rows * size + side.targets)
    del entries
    lengths -= np.bincount(side.rows, minlength=len(lengths))
    return lengths_to_indptr(lengths), np.delete(indices, places), lists


def _read_groups(groups: Any, queries: Vocabulary, ids: IntArray, others: IntArray) -> Labels:
    """Read the groups of some queries: labels of all in their order, or a mapping of queries.

    Behind them are those of the other queries, without a right answer, that a mapping has.
    """
    if not isinstance(groups, Mapping):
        if not queries.has_order and len(ids) + len(others) > 1:
            expected = "{query: group}, as this task does not have its queries in an order"
            raise InputValueError("groups", expected=expected, got=type(groups).__name__)
        in_order = by_position("groups", groups, Axis(queries.names, "queries"))
        return as_labels("groups", in_order, queries.size)[np.append(ids, others)]
    names = queries.list_labels(ids)
    missing = [name for name in names if name not in groups]
    if missing:
        expected = "a group for every query with a right answer"
        raise InputValueError("groups", expected=expected, got=f"none for {missing[0]!r}")
    names += [name for name in queries.list_labels(others) if name in groups]
    return as_labels("groups", [groups[name] for name in names], len(names))
