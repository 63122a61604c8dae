"""The report of ranks: every metric by its key, pooled, by side, by group, and over groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from .. import inference, metrics, reporting, tables
from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.checks import choice, instance, integer, positive_integer, several, unique_keys
from ..metrics.averages import Sample, sample_of, take
from ..metrics.keys import ALL_SIDES, GRAMMARS, MACRO, Key, Sides, parse, quote, sides_of
from ..metrics.values import compute, kept_moments
from ..naming import format_count, printable, public
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes, task_weights_by, weighted_ranks
from ..ranks.labels import LABEL_WORDS
from ..tables import AsTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..arrays.types import FloatArray, IntArray
    from ..inference import Interval, Intervals
    from ..inputs.rules import AnswerOrder
    from ..metrics.answers import AnsweredQueries
    from ..metrics.contributions import Contributions, RankedTasks
    from ..metrics.keys import Grammar
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from ..tables import Table

    Names = str | Iterable[str] | None
    Weights = str | Sequence[float] | FloatArray

UNITS = ("task", "query")


@public("truerank")
class Report(Mapping[str, float], AsTable):
    """The metrics of ranks, computed when they are asked for.

    `report[key]` reads any key `[macro.][side.][kind.][adjustment.]metric[@k][:p]`. As a mapping it
    iterates over the default keys: the usual metrics of every side that has tasks, of realistic
    ranks and, where tasks tie, of optimistic and pessimistic ones; with `by`, also their means over
    groups.

    Without a side, and for "both", all tasks are pooled except those of the side "relation", which
    ranks few candidates: they are read only by the name of their side. Without tasks a metric is
    nan.

    With `by`, `report.groups[label]` is the Report of the tasks of a group, adjusted with their own
    numbers of candidates, and "macro.X" is the mean of X over the groups. Groups without tasks of
    the side, or whose X is nan, are left out of the mean; `macro_left_out` counts them.

    The ranks of `truerank.retrieval` are of queries with several right answers each. Their values
    are means over queries, by the keys `[macro.][kind.][adjustment.]metric[@k][:p]`; see Notes.

    Parameters
    ----------
    ranks : Ranks or Report
    seed : int
        The seed of the kind "random". All tasks are drawn at once, so that sides and groups agree
        with the whole.
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task. All answers of a query
        are of one group.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks; finite, >= 0, not all 0. Only their ratios matter.
        By name: every query, relation or answer of a side counts once, or every value of a label
        that `ranks.labels` has.
    unit : {"task", "query"}, optional
        What counts once: each task, or each query with all its right answers, of which none was
        filtered. Default: queries for the ranks of `truerank.retrieval`, else tasks.

    Attributes
    ----------
    ranks : Ranks
        Of queries, ``ranks.answers`` says how many right answers the query of each task has.
    protocol : Protocol
        How the ranks were counted; of queries, also how answers count: ``gain``, ``misses``,
        ``relevance_level`` and ``answerless``.
    seed : int
    unit : str
    weighting : str
        How tasks are weighted, in words; empty where all count once.
    by : str or None
        The name of the groups, such as "relation".
    sides : tuple of str
        "both" and the named sides that have tasks; only "both" where there are no tasks.
    groups : mapping of label to Report
        Empty without `by`.
    grammar : Grammar
        What its keys are made of, and which of them tables show.

    Raises
    ------
    TypeError
        If `ranks` is something else, or its sides are ids instead of names.
    ValueError
        If the name of a side cannot be told from the other words of a key, and if labels or weights
        do not fit the tasks. Of queries: for ranks without labels of queries or with weights, and
        for counts that cannot come from one ranking of a query's candidates, as those of right
        answers that are filtered or given twice, and of ranks of several models.

    Notes
    -----
    The metrics of queries: ``mrr`` (of the first right answer), ``map``, ``ndcg``, ``dcg``, each
    also with a cutoff, as ``map@10``; ``recall@k``, ``precision@k``, ``success@k``, ``f1@k``,
    ``map_min@k``, ``sampled_hits@k:n``; ``r_precision``, ``map_at_r``; ``rbp:p``; ``auc``,
    ``gauc``; ``err@k``, where answers do not tie or in the kinds but the expected one. Other names
    are read, too: ``RR@10``, ``AP@10``, ``P@5``, ``R@100``, ``H@10``.

    Their kinds: the expectation over all orders of the ties, exactly (no word, or ``expected``);
    ``optimistic``: within a tie right answers come first, those of the highest gains before others;
    ``pessimistic``: they come last, those of the lowest gains before others. Their adjustments:
    ``chance``, the expectation under a random order of all candidates; ``optimum``, the value of
    the best order; ``ratio``, value / chance; ``index``, (value - chance) / (optimum - chance),
    which is 0 at chance and 1 at best; both are made of means over queries. There is no ``z``:
    metrics of one query depend on its right answers together, and their variance under chance is
    not computed.

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
    (PyTorch Geometric); auc = the share of pairs of a right answer and a candidate that is none
    whose order is right, half of those that tie, 1 without such pairs (Hanley, McNeil: The meaning
    and use of the area under a ROC curve, 1982); gauc weights each query with its number of right
    answers, and leaves out those without another candidate, as RecBole does.

    With a relevance level answers of lower gains are not right: dcg, ndcg and err keep all gains,
    as trec_eval does with ``-l``, and are means over all queries with a gain. Queries without a
    right answer are left out of the means, and counted in `without_answers`; where the protocol has
    ``answerless="zero"`` they count as 0 in all, as in trec_eval.

    Ties: every order of a tie is equally likely, and all values of the kind "expected" are means
    over these orders, in closed form (McSherry, Najork: Computing information retrieval performance
    measures efficiently in the presence of tied scores, 2008). The mean of ndcg is that of dcg over
    the best dcg, which ties do not change. Right answers whose NaN is ranked last
    (``nan="worst"``) share the last places.

    Examples
    --------
    >>> from truerank import Ranks
    >>> measured = Report(Ranks([0, 3], [1, 2], 10, side=["head", "tail"]), by="side")
    >>> measured["mrr"], measured["tail.optimistic.hits@4"], measured["macro.mrr"]
    (0.6111111111111112, 1.0, 0.6111111111111112)
    >>> measured.groups["tail"]["mr"]
    4.5
    >>> found = Report(Ranks([0, 3, 1], [1, 1, 2], 10, queries=["a", "a", "b"]), unit="query")
    >>> found["recall@2"], found.per_query("recall@2").tolist()
    (0.5, [0.5, 0.5])
    >>> found["optimistic.mrr"], found["pessimistic.mrr"]
    (0.75, 0.6666666666666666)
    """

    by: str | None = None
    group_labels: IntArray | None = None  # the group of each task, in the order of `groups`
    _labels: Sequence[Hashable] = ()
    _whole: Report | None = None  # that of which this report is a group
    _positions: IntArray | None = None  # of the tasks of a group in the whole
    _queries: AnsweredQueries | None = None
    _last: tuple[str, str, Sample] | None = None  # the ranks of the last side and kind
    _of_lists: Sequence[reporting.Finding] = ()  # what a task of retrieval found in lists

    def __init__(
        self,
        ranks: Ranks | Report,
        *,
        seed: int = 0,
        by: LabelsLike | None = None,
        weights: Weights | None = None,
        unit: str | None = None,
    ) -> None:
        self.seed = integer("seed", seed, least=0)
        if unit is not None:
            self.unit = choice("unit", unit, UNITS)
        elif isinstance(ranks, Ranks):  # Queries have no weights.
            is_of_tasks = ranks.answers is None or ranks.weights is not None
            self.unit = "task" if is_of_tasks else "query"
        else:
            self.unit = getattr(ranks, "unit", "task")
        self.weighting = ""
        self._values: dict[Key, float] = {}
        if self.unit == "query":
            self._set_queries(_answered_queries(ranks, by, weights))
        else:
            self._tasks = self.ranks = weighted_ranks("ranks", ranks)
            if isinstance(weights, str):
                self.weighting = f"each {LABEL_WORDS.get(weights, weights)} counts once"
                weights = task_weights_by(self.ranks, weights)
            if weights is not None:
                self._tasks = self.ranks.with_weights(weights)
            if self._tasks.weights is not None:
                self.weighting = self.weighting or "weighted"
            self._sides = sides_of(self.ranks)
        if by is not None:
            self.group_labels, self._labels = group_codes(self.ranks, by)
            self.by = by if isinstance(by, str) else "label"
            if self.unit == "query":
                self.by = by if isinstance(by, str) else "group"
                self._group_of_query = self._answered.graded.of_queries(self.group_labels)

    def _set_queries(self, answered: AnsweredQueries) -> None:
        """Set what a report of queries is made of."""
        self._queries = answered
        self._tasks = self.ranks = answered.ranks
        number = len(answered.right.queries) + answered.zeros_in_all
        self._sides = Sides({ALL_SIDES: number})

    # -- what was measured -------------------------------------------------------------------------

    @property
    def protocol(self) -> Protocol:
        """How the ranks were counted."""
        return self.ranks.protocol

    @property
    def sides(self) -> tuple[str, ...]:
        """ "both" and the named sides that have tasks; only "both" where there are no tasks."""
        return self._sides.present

    @property
    def weights(self) -> FloatArray | None:
        """The weights in force: float64, shape (n,), read-only; None where all tasks count once.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, queries=[7, 7]), weights="query").weights
        array([0.5, 0.5])
        """
        return self._tasks.weights

    @cached_property
    def summary(self) -> reporting.Summary:
        """The numbers of tasks and ties, and how much the ties matter.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 2], 10)).summary.largest_tie
        2
        """
        return reporting.summaries.summary_of(self)

    def tasks(self, side: str = ALL_SIDES) -> int:
        """Return the number of tasks of a side; of retrieval that of queries.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        self._sides.check(side, side)
        return self._sides.counts[side]

    # -- values ------------------------------------------------------------------------------------

    @property
    def grammar(self) -> Grammar:
        """What keys are made of, and which of them are listed and shown."""
        return GRAMMARS[self.unit]

    def read_key(self, key: str) -> Key:
        """Read a key; an unknown one is a KeyError."""
        return parse(key, self.unit)

    @overload
    def __getitem__(self, key: str, /) -> float: ...

    @overload
    def __getitem__(self, key: list[str] | tuple[str, ...], /) -> dict[str, float]: ...

    def __getitem__(self, key: str | list[str] | tuple[str, ...], /) -> float | dict[str, float]:
        """Return the value of a key, or of several as a dictionary; an unknown one is a KeyError.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10))[["mrr", "hits@1"]]
        {'mrr': 0.625, 'hits@1': 0.5}
        """
        if isinstance(key, (list, tuple)):
            return {name: self[name] for name in unique_keys(key, "key")}
        return self._value(parse(key, self.unit))

    def _value(self, key: Key) -> float:
        """Return the value of a key, which is computed once."""
        if key not in self._values:
            if key.side not in self._sides.counts:
                self._sides.check(key.side, str(key))
            if key.macro:
                values = self.groups.values_of(key)
                values = values[~np.isnan(values)]
                self._values[key] = float(values.mean()) if len(values) else math.nan
            elif self.unit == "query":
                self._values[key] = self._answered.value(key)
            else:
                sample = self._sample(key.side, key.kind)
                self._values[key] = compute(key, sample, self._tasks._memo)
        return self._values[key]

    def _sample(self, side: str, kind: str) -> Sample:
        """The ranks of one side and kind; the last ones are kept, since keys come in this order."""
        if self._last is None or self._last[:2] != (side, kind):
            if kind == "random" and self._whole is not None:
                sample = take(self._whole.groups.random_ranks, self._positions)
            else:
                sample = sample_of(self._tasks, kind, self.seed)
            mask = self._sides.mask(side)
            if mask is not None:
                sample = take(sample, mask)
            self._last = side, kind, sample
        return self._last[2]

    def __iter__(self) -> Iterator[str]:
        return iter(reporting.summaries.listed_keys(self))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _ipython_key_completions_(self) -> list[str]:
        """List the keys that IPython and notebooks complete within brackets."""
        return list(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report) or self.unit != other.unit:
            return NotImplemented
        keys = list(other)
        try:
            content = reporting.summaries.json_content(self, keys, ())
            of_other = reporting.summaries.json_content(other, keys, ())
        except UnknownKeyError:
            return False
        # As JSON values, nan equals nan.
        return bool(tables.forms.json_value(content) == tables.forms.json_value(of_other))

    def chance(self, metric: str) -> tuple[float, float]:
        """Return mean and variance of a metric under chance, which its adjustments use.

        Parameters
        ----------
        metric : str
            `[side.]metric[@k][:p]`; a kind and an adjustment do not matter.

        Returns
        -------
        mean, variance : float
            The result of `truerank.chance` for the candidates and weights of the side.

        Raises
        ------
        KeyError
            For an unknown key, a macro average, and a metric without a chance model, as those of
            queries are: they have the adjustment ``chance``.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 2], [1, 1], 3)).chance("mr")
        (2.0, 0.3333333333333333)
        """
        key = self.read_key(metric)
        if self.unit == "query":
            raise UnknownKeyError(quote(metric), "its variance under chance is not computed")
        if key.macro:
            raise UnknownKeyError(repr(metric), "a macro average has no chance model of its own")
        self._sides.check(key.side, metric)
        return kept_moments(self._tasks._memo, key, self._sample(key.side, key.kind))

    # -- units -------------------------------------------------------------------------------------

    @property
    def model(self) -> RankedTasks | AnsweredQueries:
        """The tasks or queries, as `truerank.inference` takes them."""
        if self.unit == "query":
            return self._answered
        return metrics.contributions.RankedTasks(self._tasks, self.seed)

    def contributions(self, key: str, unit: LabelsLike | None = "unit") -> Contributions:
        """Return what each unit adds to the two sums whose ratio is a value: tops and bases.

        Parameters
        ----------
        key : str
            Of a metric that is a function of a mean over units; no macro average and no z.
        unit : str, labels or None
            The units, as in `interval`.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> found = report(Ranks([0, 3, 1], [1, 1, 1], 10)).contributions("mrr")
        >>> found.tops, found.bases
        (array([1.  , 0.25, 0.5 ]), array([1., 1., 1.]))
        """
        codes, _ = metrics.contributions.unit_codes(self.ranks, unit)
        return self.model.contributions(self.read_key(key), codes)

    @overload
    def interval(
        self,
        metric: str,
        *,
        unit: LabelsLike | None = ...,
        level: float = ...,
        seed: int = ...,
    ) -> Interval: ...
    @overload
    def interval(
        self,
        metric: list[str] | tuple[str, ...],
        *,
        unit: LabelsLike | None = ...,
        level: float = ...,
        seed: int = ...,
    ) -> Intervals: ...
    def interval(
        self,
        metric: str | list[str] | tuple[str, ...],
        *,
        unit: LabelsLike | None = "unit",
        level: float = 0.95,
        seed: int = 0,
    ) -> Interval | Intervals:
        """Compute the confidence interval of the value of a key, or of several.

        Parameters
        ----------
        metric : str, or list of str
            Not macro averages, whose groups have intervals, and not z.
        unit : str, labels or None
            What was drawn when the test set was made, as in `truerank.inference.interval`: the
            label "unit", or tasks where the ranks have none; or "query", "relation", ... Of
            retrieval queries are drawn, or a label that all right answers of a query share.
        level : float
            How often such intervals cover the true value.
        seed : int
            The seed of the resamples, which only medians, mad and extreme power means need.

        Returns
        -------
        Interval, or Intervals for several keys

        Raises
        ------
        KeyError
            For an unknown key.
        ValueError
            For a level outside of (0, 1), labels that do not fit the tasks, a macro average and z.

        Notes
        -----
        An index or a ratio of retrieval is a ratio of two means: its interval takes into account
        that chance and optimum vary with the queries, too.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> found = report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval("mrr")
        >>> found.low <= found.value <= found.high
        True
        >>> list(report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval(["mrr", "hits@1"]))
        ['mrr', 'hits@1']
        """
        names = [metric] if isinstance(metric, str) else unique_keys(metric, "metric")
        keys = {name: self.read_key(name) for name in names}
        found = {
            name: inference.interval(self, key, unit=unit, level=level, seed=seed)
            for name, key in keys.items()
        }
        return found[metric] if isinstance(metric, str) else inference.Intervals(found)

    def audit(self, *names: str) -> reporting.Findings:
        """List what makes the numbers suspect; an empty list says that nothing was found.

        The checks of ranks find misses of lists, ranks that are worse than random ones, as if the
        order were forgotten, ties that move a metric, constant rows, NaN and inf, saturated scores,
        rows of a query that differ, tasks with hardly any candidates, no filter, sampled
        candidates, candidates of the test alone, and scores that were not looked at. The audit also
        prints how the ranks were counted.

        A report of retrieval checks ties, constant, NaN, infinite and saturated scores, and sampled
        candidates. Of lists by name it finds queries without a list, lists of queries without right
        answers, and "known in lists": more than a quarter of what lists name is known. "short
        lists": without given candidates, the longest list has at most a tenth of all. Chance, index
        and auc are then those of a full ranking, which is wrong where a model ordered a few that
        were chosen for it: `truerank.retrieval.Task` takes these as `candidates`.

        Parameters
        ----------
        *names : str
            The checks. Default: all.

        Returns
        -------
        Findings
            A list of Finding, of which each has a name, a count and a message.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> for finding in report(Ranks([0], [10], 10)).audit("ties", "constant"):
        ...     print(finding)
        ties: ties move hits@1 by up to 1 from 0: optimistic 1, realistic 0, pessimistic 0, expected 0.1; say which is reported
        constant: all candidates have one score in 1 of 1 tasks (100 %)
        """  # noqa: E501
        return reporting.audit.audit_report(self, unique_keys(names, "names"))

    # -- groups ------------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> reporting.summaries.Groups:
        """The report of each group by its label; empty without groups."""
        return reporting.summaries.Groups(self)

    def _group(self, tasks: IntArray) -> Report:
        """Return the report of some tasks, which are weighted and drawn as in the whole."""
        group = Report.__new__(Report)
        group._whole = self
        group._positions = tasks
        group.seed = self.seed
        group.unit = self.unit
        group.weighting = self.weighting
        ranks = self._tasks[tasks]
        if self.unit == "query":  # No query without answers has a group.
            none = np.zeros(len(ranks), np.int64)
            ranks = ranks._with({"without_answers": none})
            group._set_queries(self._answered.with_ranks(ranks))
        else:
            group._tasks = group.ranks = ranks
            group._sides = sides_of(ranks)
            absent = self._sides.counts.keys() - group._sides.counts
            group._sides.counts.update(dict.fromkeys(absent, 0))
        group._values = {}
        return group

    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """Return the number of tasks of a side in each group; of retrieval that of queries.

        Raises
        ------
        KeyError
            For an unknown side, and without groups.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_tasks()
        {'a': 2, 'b': 1}
        """
        sizes = self.groups.sizes(side).tolist()
        return dict(zip(self._labels, sizes, strict=True))

    def group_values(self, key: str) -> dict[Hashable, float]:
        """Return the value of a key for every group at once, as `groups[label][key]` does for one.

        Parameters
        ----------
        key : str
            A key without "macro.".

        Returns
        -------
        dict of label to float
            nan where a group has no tasks of the side.

        Raises
        ------
        KeyError
            For an unknown key, and without groups.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_values("mr")
        {'a': 1.5, 'b': 4.0}
        """
        parsed = self.read_key(key)
        if parsed.macro:
            raise UnknownKeyError(repr(key), "a macro average is not of one group")
        values = self.groups.values_of(parsed).tolist()
        return dict(zip(self._labels, values, strict=True))

    def macro_left_out(self, key: str) -> int:
        """Return how many groups a macro average leaves out: those without a value.

        A group has none where it has no tasks of the side, or where the value is nan.

        Parameters
        ----------
        key : str
            The key, with or without "macro.".

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], [1, 10]), by=["a", "b"]).macro_left_out("macro.amri")
        1
        """
        of_groups = instance("key", key, str).removeprefix(f"{MACRO}.")
        return sum(map(math.isnan, self.group_values(of_groups).values()))

    # -- queries -----------------------------------------------------------------------------------

    @property
    def _answered(self) -> AnsweredQueries:
        """The queries and their answers; an AttributeError for a report of tasks."""
        if self._queries is None:
            raise AttributeError(
                "this report is of tasks with one right answer each; report(ranks, unit='query') "
                "is of queries"
            )
        return self._queries

    @property
    def queries(self) -> list[Hashable]:
        """The label of each query that has an answer, in the order of `per_query`.

        A report of tasks has none; nor the members below.
        """
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
        """How many queries have no right answer."""
        return self._answered.without_answers

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
        >>> tr.report(ranks, unit="query").per_query("map").tolist()
        [0.75, 0.5]
        """
        answered = self._answered
        parsed = self.read_key(key)
        if parsed.macro:
            raise UnknownKeyError(quote(key), "an average over groups has no value per query")
        return answered.per_query(parsed)

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
        >>> tr.report(ranks, unit="query").success_at(range(1, 4)).tolist()
        [0.5, 0.75, 1.0]
        """
        answered = self._answered
        choice("order", order, self.grammar.row_kinds[:5])
        ks = [positive_integer("cutoffs", k) for k in several("cutoffs", cutoffs, "integers")]
        return answered.success_at(ks, order)

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
        >>> tr.report(ranks, unit="query").by_query(["map", "success@1"])
        {'q1': {'map': 0.75, 'success@1': 1.0}, 'q2': {'map': 0.5, 'success@1': 0.0}}
        """
        if metrics is None:
            metrics = self.grammar.few
        keys = unique_keys(metrics)
        values = np.array([self.per_query(key) for key in keys])
        rows = values.reshape(len(keys), len(self.queries)).T.tolist()
        by_query = {}
        for query, row in zip(self.queries, rows, strict=True):
            by_query[query] = dict(zip(keys, row, strict=True))
        return by_query

    # -- forms -------------------------------------------------------------------------------------

    def to_dict(self, metrics: Names = None) -> dict[str, float]:
        """Return the values by key, as loggers need them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys, which are returned as they are written here; by default those that the report
            lists.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10)).to_dict(["mrr", "optimistic.hits@1"])
        {'mrr': 0.625, 'optimistic.hits@1': 0.5}
        """
        keys = list(self) if metrics is None else unique_keys(metrics)
        return {key: self[key] for key in keys}

    def to_json(self, metrics: Names = None, *, indent: int | None = 2) -> str:
        """Return values, summary, protocol, findings and groups as JSON; nan becomes null.

        It is for other programs; `ranks.save` keeps what `truerank.load` reads back.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys; the default keys if not given. Groups have those that are not macro averages,
            by default for one kind only: realistic ranks, and the expectation over ties.
        indent : int, optional
            The number of spaces for each level; None writes one line.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import json
        >>> from truerank import Ranks, report
        >>> json.loads(report(Ranks([0], [1], 10)).to_json(["mrr"]))["metrics"]
        {'mrr': 1.0}
        """
        keys = list(self) if metrics is None else unique_keys(metrics)
        columns = keys
        if metrics is None:  # One kind of rank is enough for many groups.
            default = self.grammar.default_kind
            columns = [key for key in keys if self.read_key(key).kind == default]
        content = reporting.summaries.json_content(self, keys, columns)
        return tables.forms.write_json(content, indent)

    def table(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = "auto",
        percent: bool = False,
        interval: bool = False,
        level: float = 0.95,
        unit: LabelsLike | None = "unit",
        digits: int = 3,
        notes: bool | None = None,
    ) -> Table:
        """Return the table that the report is printed as.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The columns, `[adjustment.]metric[@k][:p]` each, or "all"; of retrieval `metric[@k]`.
            Default: mr, mrr, hits@1, hits@3, hits@10 and amri; mrr, map, ndcg@10 and recall@10.
        sides : str or iterable of str, optional
            The rows. Default: all sides.
        kinds : {"auto", "all"} or names of kinds
            The rows of each side. "auto": realistic ranks, and other kinds where they print
            otherwise; programs (CSV, pandas, JSON) read all kinds where any task ties. Groups and
            macro averages have realistic ranks alone. "all": optimistic, realistic, pessimistic and
            expected, whatever they print. By name also "random". Of retrieval the default is
            "expected", "all" brings "optimistic" and "pessimistic", and by name there are "chance",
            "optimum", "ratio" and "index".
        digits : int
            The decimals of shares and reciprocal ranks; mean ranks and percentages have two fewer.
            Default: 3.
        percent : bool
            Whether hits@k, and other shares, are printed as percentages.
        interval : bool
            Whether the confidence interval of each value stands behind it, in brackets, and in
            columns of their own for programs: ``mrr low``, ``mrr high``. Groups have those of their
            own tasks; macro averages and z have none.
        level, unit
            The level of the intervals, and the units that were drawn, as in `interval`.
        notes : bool, optional
            Whether the lines above and below are written. Default: not in LaTeX and CSV.

        Raises
        ------
        KeyError
            For an unknown metric, side or kind.
        ValueError
            For a metric that names a side or kind, or is a macro average.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> ranks = Ranks([0, 3, 1, 0, 2] * 40, [1] * 200, 9)
        >>> print(report(ranks).table(["mrr", "hits@1"], interval=True))
        200 tasks, 9 candidates, unfiltered, no ties.
        <BLANKLINE>
        tasks                 MRR ↑              Hits@1 ↑
          200  0.617 [0.571, 0.662]  0.400 [0.335, 0.469]
        <BLANKLINE>
        Brackets hold 95 % intervals over 200 tasks.
        """
        made = reporting.report_table.table_of_report(
            self,
            metrics,
            sides=sides,
            kinds=kinds,
            percent=percent,
            interval=interval,
            level=level,
            unit=unit,
            digits=digits,
        )
        return made.table(notes=notes)

    def __repr__(self) -> str:
        return printable(f"Report({', '.join(reporting.summaries.words_of_repr(self))})")


def _answered_queries(
    ranks: Ranks | Report, by: LabelsLike | None, weights: Weights | None
) -> AnsweredQueries:
    """Check the ranks of queries with several right answers, and read their answers."""
    ranks = getattr(ranks, "ranks", ranks)
    if not isinstance(ranks, Ranks):
        raise InputTypeError("ranks", expected="Ranks or a Report", got=type(ranks).__name__)
    for name, each in (("ranks", ranks.weights), ("weights", weights)):
        if each is not None:
            raise InputValueError(name, expected="no weights, as every query counts once")
    if ranks.queries is None:
        expected = "labels of queries; ranks.with_labels(queries=...) has them"
        raise InputValueError("ranks", expected=expected)
    protocol = ranks.protocol
    if protocol.split is not None and protocol.split in protocol.filter:
        expected = "ranks among which no right answer is filtered"
        raise InputValueError("ranks", expected=expected, got=f"ones filtered by {protocol.split}")
    answered = metrics.answers.AnsweredQueries(ranks)
    if by is not None and answered.zeros:
        queries = format_count(answered.zeros, "query", "queries")
        problem = f"{queries} without an answer have no group"
        raise InputValueError("by", f'{problem}; answerless="omit" leaves them out')
    return answered


@public("truerank")
def report(
    ranks: Ranks | Report,
    *,
    seed: int = 0,
    by: LabelsLike | None = None,
    weights: Weights | None = None,
    unit: str | None = None,
) -> Report:
    """Return the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks or Report
        A Report stands for its ranks, with the weights of the report.
    seed : int
        The seed of the kind "random".
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task. See `Report`.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks. By name: every query, relation or answer of a side
        counts once, or every value of a label that `ranks.labels` has.
    unit : {"task", "query"}, optional
        What counts once: each task, or each query with all its right answers, of which none was
        filtered. Default: queries for the ranks of `truerank.retrieval`, else tasks.

    Returns
    -------
    Report

    Raises
    ------
    TypeError
        If `ranks` is something else, its sides are ids instead of names, or the seed is not an int.
    ValueError
        If the name of a side cannot be told from the other words of a key, if the seed is negative,
        and if labels or weights do not fit the tasks. Of queries, as `Report`.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    >>> import truerank as tr
    >>> ranks = tr.rank([[0.9, 0.1, 0.8, 0.8]], [0, 2], rows=[0, 0]).with_labels(queries=["q", "q"])
    >>> found = report(ranks, unit="query")
    >>> found["map"], found["optimistic.map"], found["pessimistic.map"]
    (0.9166666666666666, 1.0, 0.8333333333333333)

    Several runs of a model are a list of reports, whose mean and deviation `truerank.table` prints:

    >>> runs = [report(Ranks([0], [1], 10)), report(Ranks([3], [1], 10))]
    >>> sum(run["mr"] for run in runs) / len(runs)
    2.5
    """
    return Report(ranks, seed=seed, by=by, weights=weights, unit=unit)
