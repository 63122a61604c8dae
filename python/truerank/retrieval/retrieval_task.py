"""The task of retrieval and recommendation, made from qrels, and the ways to evaluate it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from ..inputs.checks import choice
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.rules import ListOptions, with_options
from ..ranks.protocol import Protocol
from ..tasks.split_audit import check_rules
from ..tasks.task import OneSidedTask
from ..tasks.vocabularies import Vocabulary
from .answer_lists import lists_in_order, lists_of_ids, read_lists
from .answer_report import GAINS, RetrievalReport, read_gains
from .answer_sets import SIDE, make_side, read_answer_sets, read_candidates, without_leaks

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks


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
        gzipped if its name ends in .gz. Integers are ids, str are labels. A gain of 0, and in Qrels
        a relevance below 0 as well, is no right answer. A query without a right answer is left out
        of all means, and counted in `without_answers`.
    entities : int, sequence of str, or mapping of str to int
        How many entities, documents or items there are, or their labels in the order of the columns
        of scores, or a mapping to these columns. All are candidates, unless `candidates` are given.
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
    candidates : None, "all", name of a known split, array of entities, or Sampled
        The entities among which the right answers of each query are ranked: all of them (None or
        "all"), those that a known split has, those listed (ids or labels), or all right answers of
        the query and some drawn ones, as in ``Sampled(100, seed=0)``, which are neither known nor
        right; they are drawn from all, or with ``among="train"`` from those of a known split.
        Metrics of sampled candidates are too good and cannot be compared with those of all.

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

    gains: FloatArray | None
    queries: tuple[str, ...] | None
    entities: tuple[str, ...] | None
    without_answers: int
    leaked: int

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
    ) -> None:
        rule = check_rules(leaks=leaks)["leaks"]
        choice("gain", gain, GAINS)
        if entities is None:  # those that are judged would be too few
            expected = "the number of entities, or their labels"
            raise InputTypeError("entities", expected=expected, got="None")
        sets = read_answer_sets(qrels, known, entities, queries, split)
        sets, self.leaked = without_leaks(sets, rule)
        name, chosen, sampled = read_candidates(candidates, sets)
        side = make_side(sets, groups, chosen, sampled)
        self.gains = read_gains(sets.gains, len(side), gain)
        self.queries, self.entities = sets.queries.names, sets.entities.names
        self.without_answers = sets.asked - len(side.queries)
        self._has_groups, self._all_queries_known = groups is not None, queries is not None
        if groups is not None and not isinstance(groups, Mapping):
            self._check_rows("groups")
        drawn, known = sampled is not None, tuple(sets.known)
        protocol = Protocol(filter=known, split=split, candidates=name, sampled=drawn)
        super().__init__({SIDE: side}, protocol)

    @with_options(ListOptions)
    def evaluate_lists(
        self, ids: Any, scores: Any = None, **options: Unpack[ListOptions]
    ) -> RetrievalReport:
        """Evaluate lists of the best entities, which may miss right answers.

        A right answer that its list misses is tied with all entities that the list does not have
        and that are not known: the bounds of the report are those over all orders of what is not
        listed, and its expectations are means over them.

        Parameters
        ----------
        ids : mapping, NamedLists, path, TopK, or lists as `truerank.rank_lists` takes them
            ``{query: {entity: score}}``, or ``{query: [entities]}`` in order alone, by labels or
            ids. A query without a list has an empty one; lists of queries that `qrels` does not
            have are not used, unless the task was made with `queries`, where they are an error.
            `NamedLists`, or the path of a file that `truerank.read_run` reads, or, if it ends in
            .json or .jsonl (or these with .gz), `truerank.read_json_lists`. Or a list for each
            query, in the order of their ids: what `truerank.topk_embeddings` returns, a matrix
            (queries, width) padded with -1, ``(values, indptr)``, or a list of lists of ids or
            labels.
        scores : array_like, (values, indptr), list of lists, or None
            Their scores, of the same form; None: they are by name, or the order says all.
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
            If less than half of the queries with right answers have a list.

        Examples
        --------
        >>> from truerank.retrieval import Task
        >>> task = Task({"u": ["b", "d"]}, entities=["a", "b", "c", "d"])
        >>> report = task.evaluate_lists({"u": {"a": 0.9, "b": 0.8}})
        >>> report["map"], report["optimistic.map"], report["pessimistic.map"]
        (0.5416666666666666, 0.5833333333333333, 0.5)
        """
        side = self.answers
        entities, named = Vocabulary(side.columns, side.names), read_lists("ids", ids)
        if named is None:
            self._check_rows("ids")
            ids, scores = lists_of_ids(ids, scores, entities)
        elif scores is not None:
            raise InputTypeError("scores", expected="None, as the lists have names")
        else:
            queries, asked = Vocabulary(side.height, self.queries, "queries"), side.queries[:, 0]
            ids, scores = lists_in_order(named, queries, entities, asked, self._all_queries_known)
        return super().evaluate_lists(ids, scores, **options)

    def _check_rows(self, name: str) -> None:
        """Refuse rows where queries have names, and nobody said whose row is the first."""
        if not self._all_queries_known and self.queries is not None and len(self.queries) > 1:
            some = ", ".join(map(repr, self.queries[:2]))
            problem = f"rows do not say whose they are, and queries have names ({some}, ...)"
            way = "give Task(..., queries=...) the names in the order of the rows"
            raise InputValueError(name, f"{problem}: {way}")

    def _report(self, ranks: Ranks) -> RetrievalReport:
        return RetrievalReport(
            ranks.with_labels(side=None),
            self.gains,
            by="group" if self._has_groups else None,
            without_answers=self.without_answers,
        )

    def __repr__(self) -> str:
        side = self.answers
        return (
            f"Task({len(side):,} right answers of {len(side.queries):,} queries among "
            f"{side.columns:,} entities; {self.protocol})"
        )
