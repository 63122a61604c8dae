"""Reports on queries with several right answers, from any ranks: of queries, means and groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import codes_of
from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.checks import choice, positive_integer, several, unique_keys
from ..inputs.words import AnswerOrder
from ..metrics.answer_metrics import LEVELS, ORDER_KINDS
from ..metrics.answer_ties import hit_chances
from ..metrics.answers import GAINS, checked_gains
from ..metrics.keys import quote
from ..naming import printable, public
from ..ranks.container import Ranks
from ..reporting.base_report import BaseReport
from ..tables.cells import format_count, percent
from .answered_queries import (
    ANSWER_REPORTS,
    ANSWERLESS,
    FEW_METRICS,
    MISSES,
    AnsweredQueries,
    Rules,
    check_level,
    check_misses,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..ranks.labels import LabelsLike
    from ..reporting.audit import Graded
    from ..reporting.columns import Names
    from .lists import ListUse


@public("truerank.retrieval")
class RetrievalReport(BaseReport):
    """The metrics of queries with several right answers, by key; made by `report` or a `Task`.

    A key is ``[macro.][kind.][adjustment.]metric[@k][:p]``.

    - metric: ``mrr`` (of the first right answer), ``map``, ``ndcg``, ``dcg``, each also with a
      cutoff, as ``map@10``; ``recall@k``, ``precision@k``, ``success@k``, ``f1@k``, ``map_min@k``,
      ``sampled_hits@k:n``; ``r_precision``, ``map_at_r``; ``rbp:p``; ``auc``, ``gauc``; ``err@k``,
      where answers do not tie or in the other two kinds.
      Other names are read, too: ``RR@10``, ``AP@10``, ``P@5``, ``R@100``, ``H@10``.
    - kind: the expectation over all orders of the ties, exactly (no word, or ``expected``);
      ``optimistic``: within a tie right answers come first, those of the highest gains before
      others; ``pessimistic``: they come last, those of the lowest gains before others.
    - adjustment: ``chance``, the expectation under a random order of all candidates; ``optimum``,
      the value of the best order; ``ratio``, value / chance; ``index``, (value - chance) /
      (optimum - chance), which is 0 at chance and 1 at best.
    - ``macro``: the mean over groups of queries.

    A value is the mean over queries; that of ``gauc`` weights each with its number of right
    answers, and leaves out those without another candidate, as RecBole does. ``ratio`` and
    ``index`` are made of such means. As a mapping, a report lists its default keys, but it has
    every key.

    Attributes
    ----------
    ranks : Ranks
        A task for each right answer; ``ranks.answers`` says how many its query has. Where one has
        several, `truerank.report` and `truerank.compare` refuse ranks; `compare` takes the reports.
    weights : None
        Every query counts once.
    gains : ndarray of float64, shape (n,), or None
        What a right answer counts for in dcg and ndcg; None: 1 for all.
    queries : list
        The label of each query, in the order of `per_query`.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    without_answers : int
        The number of queries that have no right answer: they are left out, or count as 0.
    relevance_level : float
        From which gain on an answer is right; 0: all that have one are.
    answerless : str
        What becomes of queries without a right answer, "omit" or "zero".
    misses : str
        What right answers count for that their lists miss, as `report` takes it.
    list_use : ListUse or None
        Of lists by name, the queries that have none, and those whose list was not used.

    Notes
    -----
    For a query with R right answers: recall@k = hits among the first k / R; precision@k = hits / k,
    even if there are fewer than k candidates; r_precision = precision@R; success@k = 1 if there is
    a hit; sampled_hits@k:n = the share of draws of n candidates that are no right answers of which
    fewer than k are above the first right one; mrr = 1 / place of the first hit; map = the mean
    over right answers of the precision at their places (those beyond k add 0 to map@k, and R
    divides all the same); dcg = the sum of gain / log2(place + 1); ndcg = dcg / that of the best
    order (Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, 2002). These are
    the definitions of trec_eval.

    Those of others: map_min@k divides by min(k, R) (RecBole, sentence-transformers, PyTorch
    Geometric); map_at_r = map@R (Musgrave, Belongie, Lim: A metric learning reality check, 2020);
    rbp:p = (1 - p) times the sum of p^(place - 1) over right answers
    (Moffat, Zobel: Rank-biased precision, 2008); err@k = the sum over the first k of P / place,
    where a reader who goes down the list stops at an answer with the probability gain / (1 + the
    highest of all gains) and P is that of its end there: with exponential gains that of Chapelle et
    al. (Expected reciprocal rank for graded relevance, 2009); f1@k = 2 hits / (k + R)
    (PyTorch Geometric); auc = the
    share of pairs of a right answer and a candidate that is none whose order is right, half of
    those that tie, 1 without such pairs (Hanley, McNeil: The meaning and use of the area under a
    ROC curve, 1982).

    With a relevance level answers of lower gains are not right: dcg, ndcg and err
    keep all gains, as trec_eval does with ``-l``, and are means over all queries with a gain.

    Ties: every order of a tie is equally likely, and all values of the kind "expected" are means
    over these orders, in closed form (McSherry, Najork: Computing information retrieval performance
    measures efficiently in the presence of tied scores, 2008). The mean of ndcg is that of dcg over
    the best dcg, which ties do not change. Right answers whose NaN is ranked last
    (``nan="worst"``) share the last places.

    There is no ``z``: metrics of one query depend on its right answers together, and their variance
    under chance is not computed.

    Examples
    --------
    >>> import truerank as tr
    >>> found = tr.retrieval.report(tr.Ranks([0, 3, 1], [1, 1, 2], 10, queries=["a", "a", "b"]))
    >>> found["recall@2"], found.per_query("recall@2").tolist()
    (0.5, [0.5, 0.5])
    >>> found["optimistic.mrr"], found["pessimistic.mrr"]
    (0.75, 0.6666666666666666)
    """

    form = ANSWER_REPORTS
    few = form.few
    usual = form.usual
    read_key = staticmethod(form.read_key)

    def __init__(self) -> None:
        makers = "truerank.retrieval.report(ranks) or a Task's evaluate methods"
        raise InputTypeError("RetrievalReport", f"made by {makers}, not by its class")

    @property
    def _answered(self) -> AnsweredQueries:
        answered: AnsweredQueries = self._source  # type: ignore[assignment]
        return answered

    @property
    def gains(self) -> FloatArray | None:
        """What each right answer counts for in dcg and ndcg; None: 1 for all."""
        return self._answered.gains

    @property
    def queries(self) -> list[Hashable]:
        """The label of each query, in the order of `per_query`."""
        return self._answered.queries

    @property
    def answers(self) -> IntArray:
        """The number of right answers of each query."""
        return self._answered.answers

    @property
    def candidates(self) -> IntArray:
        """The number of candidates of each query."""
        return self._answered.candidates

    @property
    def without_answers(self) -> int:
        """How many queries have no right answer: they are left out, or count as 0."""
        number: int = self._source.facts["without_answers"]
        return number

    @property
    def relevance_level(self) -> float:
        """From which gain on an answer is right; 0: all that have one are."""
        return self._answered.rules.relevance_level

    @property
    def answerless(self) -> str:
        """What becomes of queries without a right answer: "omit" or "zero"."""
        return self._answered.rules.answerless

    @property
    def misses(self) -> str:
        """What right answers count for that their lists miss."""
        return self._answered.rules.misses

    @property
    def list_use(self) -> ListUse | None:
        """Of lists by name, the queries that have none, and those whose list was not used."""
        return self._answered.list_use

    def _tell_lists(self, use: ListUse | None, longest: int | None, names: int, known: int) -> None:
        """Tell which lists were used, the longest, and how many of the names are known."""
        self._answered.list_use = use
        self._answered.longest_list = longest
        self._answered.names_in_lists = names
        self._answered.known_in_lists = known

    def _find(self, names: Sequence[str]) -> list[Graded]:
        return self._answered.find(names)

    # -- values ------------------------------------------------------------------------------------

    def per_query(self, key: str) -> FloatArray:
        """Return the value of each query, in the order of `queries`: float64, shape (q,).

        Parameters
        ----------
        key : str
            Any key without "macro.". The mean of these values is ``report[key]``, but for
            ``index`` and ``ratio``, which divide means there and the values of each query here: nan
            where a query has no other value than that of chance.

        Raises
        ------
        KeyError
            For an unknown key, and a macro average.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> tr.retrieval.report(ranks).per_query("map").tolist()
        [0.75, 0.5]
        """
        parsed = self.read_key(key)
        if parsed.macro:
            raise UnknownKeyError(quote(key), "an average over groups has no value per query")
        return self._answered.per_query(parsed)

    def success_at(self, cutoffs: Iterable[int], order: AnswerOrder = "expected") -> FloatArray:
        """Return success@k for many k, which is the CMC curve of identification.

        Parameters
        ----------
        cutoffs : iterable of int, length m
        order : {"expected", "optimistic", "pessimistic", "chance", "optimum"}
            What is made of ties, or which order all candidates have.

        Returns
        -------
        ndarray of float64, shape (m,)
            The mean over queries at each k; `truerank.plot.hits_curve` draws it.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 2], 10, queries=["a", "a", "b"])
        >>> tr.retrieval.report(ranks).success_at(range(1, 4)).tolist()
        [0.5, 0.75, 1.0]
        """
        choice("order", order, ORDER_KINDS + LEVELS)
        ks = [positive_integer("cutoffs", k) for k in several("cutoffs", cutoffs, "integers")]
        ties = self._answered.right.ties(order)
        first = [column[ties.starts] for column in (ties.above, ties.size, ties.right)]
        # Queries whose first ties are alike are computed once.
        codes = codes_of(*first)
        counts = codes.counts()
        where = codes.first()
        above, size, right = (column[where] for column in first)
        hits = [counts @ hit_chances(size, right, np.clip(k - above, 0, size)) for k in ks]
        shares: FloatArray = np.array(hits) / (counts.sum() + self._answered.zeros_in_all)
        return shares

    def by_query(self, metrics: Names = None) -> dict[Hashable, dict[str, float]]:
        """Return the values of each query by key, as pytrec_eval and ranx have them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            Keys without "macro."; "mrr", "map", "ndcg@10" and "recall@10" if not given.

        Returns
        -------
        dict of query to dict of str to float
            In the order of `queries`; the values are those of `per_query`.

        Raises
        ------
        KeyError
            For an unknown key, and a macro average.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=["q1", "q1", "q2"])
        >>> tr.retrieval.report(ranks).by_query(["map", "success@1"])
        {'q1': {'map': 0.75, 'success@1': 1.0}, 'q2': {'map': 0.5, 'success@1': 0.0}}
        """
        if metrics is None:
            metrics = self.few
        keys = unique_keys(metrics)
        values = np.array([self.per_query(key) for key in keys])
        rows = values.reshape(len(keys), len(self.queries)).T.tolist()
        by_query = {}
        for query, row in zip(self.queries, rows, strict=True):
            by_query[query] = dict(zip(keys, row, strict=True))
        return by_query

    # -- lines -------------------------------------------------------------------------------------

    def _lines(self) -> list[str]:
        summary = self._source.summary
        if not summary.tasks:
            return [self._sizes()]
        low = summary.candidates_min
        high = summary.candidates_max
        among = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        tied = f"{summary.tied_tasks:,} of them tied"
        lines = [f"{self._sizes()}, {tied}, among {among} candidates"]
        missed = self._source.facts["missed"]
        if missed is not None:
            share = f"{percent(missed)} of the right answers"
            line = f"{share} are missed by their lists and {MISSES[self.misses]}"
            longest = self._source.facts["longest"]
            if longest is not None:  # No metric counts further, whatever its cutoff.
                line += f"; the longest has {format_count(longest, 'candidate')}"
            lines.append(line)
        if self.without_answers:
            number = format_count(self.without_answers, "query", "queries")
            counted = "counted as 0" if self.answerless == "zero" else "left out"
            lines.append(f"{number} without a right answer {counted}")
        if self.relevance_level:
            lines.append(f"answers are right from a gain of {self.relevance_level:g} on")
        return lines

    def _sizes(self) -> str:
        queries = format_count(self.tasks(), "query", "queries")
        answers = self._source.facts["answers"]
        return f"{queries} with {format_count(answers, 'right answer')}"

    def __repr__(self) -> str:
        words = [self._sizes()]
        words += [f"{metric} {self[metric]:.4g}" for metric in FEW_METRICS if metric in self]
        return printable(f"RetrievalReport({', '.join(words)})")


@public("truerank.retrieval")
def report(
    ranks: Ranks,
    gains: npt.ArrayLike | None = None,
    *,
    queries: LabelsLike | None = None,
    gain: str | None = None,
    by: LabelsLike | None = None,
    misses: str | None = None,
    relevance_level: float | None = None,
    answerless: str | None = None,
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
        the ranks say, as those of a `Task` do, whose `gains` are the
        grades of the judgements; 1 where they say nothing.
    queries : labels, optional
        The query of each task. Default: those of the ranks.
    gain : {"linear", "exponential", "binary"}, optional
        What becomes of gains g: g (as in trec_eval), 2^g - 1 (Burges et al.: Learning to rank using
        gradient descent, 2005; g is at most 1000), 1. Default: that of the `Task` that made the
        ranks, or linear.
    by : str or labels, optional
        Groups of queries: the name of a label of the ranks, or labels of the tasks.
    misses : {"zero", "bounds", "expected"}, optional
        What a right answer counts for that its list misses, in ranks of lists. "zero": it adds
        nothing to any metric, as in trec_eval and ranx. Else all places that the list leaves are
        equally likely; the kinds optimistic and pessimistic have the first and the last of them
        ("bounds": what all scores would give lies between), or concern what is listed alone
        ("expected"). Default: that of the report whose ranks they are, or "zero".
    relevance_level : float, optional
        From which gain on, before `gain`, an answer is right. Others have their gains in dcg, ndcg
        and err, and are wrong answers for all other metrics. Default: that of the
        `Task` that made the ranks, or all that have a gain.
    answerless : {"omit", "zero"}, optional
        What becomes of queries without a right answer, as far as the ranks know them: they are left
        out of the means of the metrics of right answers, or count as 0 in all, as in trec_eval.
        Default: that of the `Task` that made the ranks, or "omit".

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
        the ranks, ranks of tasks with several rules of `gain` or `misses`, and counts that cannot
        come from one ranking of a query's candidates: unlike numbers of candidates, ties that
        overlap or hold more right answers than places. Those come from right answers that are
        filtered or given twice, and of ranks of several models. For a level that no gain reaches,
        and groups where queries without any answer, which have none, count as 0.

    Examples
    --------
    >>> import truerank as tr
    >>> scores = [[0.9, 0.1, 0.8, 0.8]]
    >>> ranks = tr.rank(scores, [0, 2], rows=[0, 0])
    >>> found = report(ranks, [1, 3], queries=["q", "q"])
    >>> found["map"], found["optimistic.map"], found["pessimistic.map"]
    (0.9166666666666666, 1.0, 0.8333333333333333)

    Grades travel with judgements:

    >>> task = tr.retrieval.Task({"q": {"d1": 1, "d2": 3}}, entities=10)
    >>> round(report(task.evaluate_lists({"q": ["d1", "d2"]}).ranks)["ndcg"], 3)
    0.797
    """
    if not isinstance(ranks, Ranks):
        raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
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
    if relevance_level is not None:
        check_level(relevance_level, ranks.gains)
    given: dict[str, Any] = {"gain": gain, "misses": misses, "answerless": answerless}
    given["relevance_level"] = relevance_level
    said = {name: rule for name, rule in given.items() if rule is not None}
    rules = Rules.of(ranks.protocol)._replace(**said)
    choice("gain", rules.gain, GAINS)
    choice("answerless", rules.answerless, ANSWERLESS)
    check_misses(rules.misses, protocol)
    fields = rules.fields()
    if ranks.gains is None:
        # Without gains there is nothing for this rule to decide, and likewise below.
        fields["gain"] = None
    if ranks.listed is None:
        fields["misses"] = None
    ranks = ranks.with_protocol(**fields)
    return RetrievalReport._of(AnsweredQueries(ranks, by, rules))


def _with_gains(ranks: Ranks, gains: npt.ArrayLike) -> Ranks:
    """Return ranks with gains; refuse others than those that they carry."""
    given = checked_gains(gains, len(ranks))
    carried = ranks.gains
    if carried is None:
        return ranks._with({"gains": given})
    unlike = given != carried
    if unlike.any():
        i = int(unlike.argmax())
        expected = f"those of the ranks ({carried[i]:g} at position {i}), or None"
        raise InputValueError("gains", expected=expected, got=f"{given[i]:g}")
    return ranks
