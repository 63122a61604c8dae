"""The report of ranks: every metric by its key, pooled, by side, by group, and over groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import inference, metrics, reporting, tables
from ..errors import InputValueError, UnknownKeyError
from ..inputs.array_likes import several, unique_keys
from ..inputs.checks import choice, flag, instance, integer, positive_integer
from ..metrics.keys import ALL_SIDES, GROUPS, MACRO, Key, check_chance, parse, quote
from ..metrics.values import Rankings
from ..naming import printable, public
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes, task_weights_by, weighted_ranks
from ..ranks.labels import LABEL_WORDS
from ..tables import AsTable

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from ..inference import Interval, Intervals
    from ..inputs.rules import AnswerOrder
    from ..metrics.answers import Answers
    from ..metrics.contributions import Contributions
    from ..metrics.keys import Grammar
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from ..tables import Table
    from ..tables.as_table import Names

UNITS = ("task", "query")


NO_GROUPS = "this report has no groups"


@public("truerank")
class Report(Mapping[str, float], AsTable):
    """The metrics of ranks, computed when they are asked for; `truerank.report` makes it.

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

    In a report of `truerank.retrieval`, where a query may have several right answers, values are
    means over queries, by the keys `[macro.][kind.]metric[@k][:p]`. Kinds are the expectation over
    ties (no word, or ``expected``), ``optimistic`` and ``pessimistic``. For lists, auc and gauc are
    a KeyError unless the Task was given `candidates`. The page "Metrics of several right answers
    per query" defines the metrics.

    Parameters
    ----------
    ranks, seed, by, weights, unit
        As of `truerank.report`.

    Attributes
    ----------
    ranks : Ranks
        In retrieval, ``ranks.answers`` says how many right answers the query of each task has.
    protocol : Protocol
        How the ranks were counted; in retrieval, also how answers count: ``gain``, ``misses``,
        ``relevance_level`` and ``answerless``.
    seed : int
    unit : str
        "task", or "query" where queries count once, each with all its right answers.
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

    Notes
    -----
    Ties: the kind says which position of a tie counts. Every order of a tie is equally likely, and
    all values of the kind "expected" are means over these orders, in closed form (McSherry, Najork:
    Computing information retrieval performance measures efficiently in the presence of tied scores,
    2008). Among metrics of tasks only means have them: mr, mrr, hits@k, ndcg@k and
    sampled_hits@k:n, adjusted or not. For gmr, medians and the like the kind "expected" is a
    KeyError. A NaN that is ranked last (``nan="worst"``) has the last rank; right answers with NaN
    share the last places.

    Examples
    --------
    >>> from truerank import Ranks
    >>> measured = Report(Ranks([0, 3], [1, 2], 10, side=["head", "tail"]), by="side")
    >>> measured["mrr"], measured["tail.optimistic.hits@4"], measured["macro.mrr"]
    (0.6111111111111112, 1.0, 0.6111111111111112)
    >>> measured.groups["tail"]["mr"]
    4.5
    >>> of_queries = Report(Ranks([0, 3, 1], [1, 1, 2], 10, queries=["a", "a", "b"]), unit="query")
    >>> of_queries["recall@2"], of_queries.per_query("recall@2").tolist()
    (0.5, [0.5, 0.5])
    >>> of_queries["optimistic.mrr"], of_queries["pessimistic.mrr"]
    (0.75, 0.6666666666666666)
    """

    ranks: Ranks
    by: str | None = None
    group_labels: IntArray | None = None  # the group of each task, in the order of `groups`
    _labels: Sequence[Hashable] = ()
    task_findings: Sequence[reporting.Finding] = ()  # what a task found in lists, or in rows

    def __init__(
        self,
        ranks: Ranks | Report,
        *,
        seed: int = 0,
        by: LabelsLike | None = None,
        weights: str | Sequence[float] | FloatArray | None = None,
        unit: str | None = None,
    ) -> None:
        self.seed = integer("seed", seed, least=0)
        if unit is not None:
            choice("unit", unit, UNITS)
        elif not isinstance(ranks, Ranks):
            unit = getattr(ranks, "unit", "task")
        else:  # Ranks of several answers without weights are of queries.
            unit = "query" if ranks.answers is not None and ranks.weights is None else "task"
        self.weighting = ""
        if unit == "query":
            answers = metrics.answers.read_answers(ranks, weights, by)
            self.ranks = answers.ranks
            self.model = Rankings(answers.ranks, self.seed, answers)
        else:
            self.ranks = weighted_ranks("ranks", ranks)
            if self.ranks.protocol.candidates is None:  # Adjusted ranks depend on them.
                expected = "'query', as the Task of these lists does not name their candidates"
                raise InputValueError("unit", expected=expected, got="'task'")
            weighted = self.ranks
            if isinstance(weights, str):
                self.weighting = f"each {LABEL_WORDS.get(weights, weights)} counts once"
                weights = task_weights_by(weighted, weights)
            elif weights is not None or weighted.weights is not None:
                self.weighting = "weighted"
            if weights is not None:
                weighted = weighted.with_weights(weights)
            self.model = Rankings(weighted, self.seed)
        # By the text of a key, since a Key cannot be pickled.
        self._values: dict[str, float] = {}
        self._values_of_groups: dict[str, FloatArray] = {}
        if by is not None:
            self.group_labels, self._labels = group_codes(self.ranks, by)
            self._group_of_unit = self.model.labels(self.group_labels, "by")
            self._zeros_by_group = metrics.answers.zeros_by_group(self.ranks, by)
            if self.model.answers is not None and self.model.answers.zeros:
                of_zeros = np.repeat(self.group_labels, self._zeros_by_group)
                self._group_of_unit[len(self.queries) :] = of_zeros
            word_for_labels = "group" if unit == "query" else "label"
            self.by = by if isinstance(by, str) else word_for_labels

    # -- what was measured -------------------------------------------------------------------------

    @property
    def protocol(self) -> Protocol:
        """How the ranks were counted."""
        return self.ranks.protocol

    @property
    def unit(self) -> str:
        """What counts once: "task", or "query" with all its right answers."""
        return self.model.grammar.unit

    @property
    def sides(self) -> tuple[str, ...]:
        """ "both" and the named sides that have tasks; only "both" where there are no tasks."""
        return self.model.sides

    @property
    def weights(self) -> FloatArray | None:
        """The weights in force: float64, shape (n,), read-only; None where all tasks count once.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, queries=[7, 7]), weights="query").weights
        array([0.5, 0.5])
        """
        return self.model.ranks.weights

    @cached_property
    def summary(self) -> reporting.Summary:
        """The numbers of tasks and ties, and how much the ties matter.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 2], 10)).summary.largest_tie
        2
        """
        return reporting.summary.summarize(self)

    def tasks(self, side: str = ALL_SIDES) -> int:
        """Return the number of tasks of a side; in retrieval, of queries.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        self.model.check_side(side, side)
        return self.model.side_counts[side]

    # -- values ------------------------------------------------------------------------------------

    @property
    def grammar(self) -> Grammar:
        """What keys are made of, and which of them are listed and shown."""
        return self.model.grammar

    def read_key(self, key: str) -> Key:
        """Read a key; an unknown one is a KeyError."""
        return parse(key, self.model.grammar)

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
        return self._value(parse(key, self.model.grammar))

    def _value(self, key: Key) -> float:
        """Return the value of a key, which is computed once."""
        text = key.text
        if text not in self._values:
            if key.macro:
                values = self._value_by_group(key)
                values = values[~np.isnan(values)]
                self._values[text] = float(values.mean()) if len(values) else math.nan
            else:
                self._values[text] = self.model.value(key)
        return self._values[text]

    def __iter__(self) -> Iterator[str]:
        grammar = self.grammar
        kinds = grammar.listed_kinds
        if self.unit == "task" and not reporting.summary.kinds_differ(self):
            kinds = (grammar.default_kind,)
        parts = itertools.product(self.sides, kinds, grammar.listed)
        keys = list(itertools.starmap(grammar.compose, parts))
        if self.by is not None:
            for side, metric in itertools.product(self.sides, grammar.listed):
                if self.read_key(metric).adjustment != "z":
                    keys.append(f"{MACRO}.{grammar.compose(side, grammar.default_kind, metric)}")
        return iter(keys)

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
            content = reporting.report_table.json_content(self, keys, ())
            of_other = reporting.report_table.json_content(other, keys, ())
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
            For an unknown key, a macro average, and a metric whose mean and variance under chance
            are not both computed, such as all of queries.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 2], [1, 1], 3)).chance("mr")
        (2.0, 0.3333333333333333)
        """
        key = self.read_key(metric)
        if key.macro:
            raise UnknownKeyError(repr(metric), "a macro average has no chance model of its own")
        check_chance(key)
        return self.model.chance(key)

    # -- units -------------------------------------------------------------------------------------

    def contributions(self, key: str, unit: LabelsLike | None = "unit") -> Contributions:
        """Return what each unit adds to the two sums whose ratio is a value: tops and bases.

        Parameters
        ----------
        key : str
            The key of a metric that is a function of a mean over units; neither a macro average nor
            z.
        unit : str, labels or None
            The units, as in `interval`.

        Raises
        ------
        KeyError
            For any other key, such as that of a median.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> sums = report(Ranks([0, 3, 1], [1, 1, 1], 10)).contributions("mrr")
        >>> sums.tops, sums.bases
        (array([1.  , 0.25, 0.5 ]), array([1., 1., 1.]))
        """
        codes, _ = metrics.contributions.unit_codes(self.ranks, unit)
        return metrics.contributions.contributions(self.model, self.read_key(key), codes)

    @overload
    def interval(
        self, metric: str, *, unit: LabelsLike | None = ..., level: float = ..., seed: int = ...
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
        unit, level, seed
            As in `truerank.inference.interval`. In retrieval, units are queries, or a label that
            all right answers of a query share.

        Returns
        -------
        Interval, or Intervals for several keys

        Raises
        ------
        KeyError
            For an unknown key.
        ValueError
            For a level outside of (0, 1), labels that do not fit the tasks, a macro average and z.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> interval = report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval("mrr")
        >>> interval.low <= interval.value <= interval.high
        True
        >>> list(report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval(["mrr", "hits@1"]))
        ['mrr', 'hits@1']
        """
        names = unique_keys(metric, "metric")
        for name in names:
            self.read_key(name)  # All are read before the first is computed.
        options: Any = {"unit": unit, "level": level, "seed": seed}
        intervals = {name: inference.interval(self, name, **options) for name in names}
        return intervals[metric] if isinstance(metric, str) else inference.Intervals(intervals)

    def audit(self, *names: str) -> reporting.Findings:
        """List what makes the numbers suspect; an empty list says that nothing was found.

        The checks of ranks find misses of lists, ranks that are worse than random ones, as if the
        order were forgotten, ties that move a metric, NaN and inf, rows of a query that differ,
        tasks with hardly any candidates, no filter, sampled candidates, and candidates that only
        the test has. NaN, infinite scores and rows that differ are known only of ranks that were
        counted with `audit=True`. The audit also prints how the ranks were counted.

        A report of retrieval checks ties, NaN and infinite scores, and sampled candidates; queries
        that lack right answers which were ranked with them; and queries of one name in several
        tasks that were joined. In lists by name it finds queries without a list, lists of queries
        without right answers, and "known in lists": entries that are known, and so left out.

        Parameters
        ----------
        *names : str
            The checks. Default: all.

        Returns
        -------
        Findings
            A list of Finding; each has a name, a count and a message.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> for finding in report(Ranks([0], [10], 10)).audit("ties", "few candidates"):
        ...     print(finding)
        ties: ties move hits@1 by up to 1 from 0: optimistic 1, realistic 0, pessimistic 0, expected 0.1; say which is reported
        few candidates: 1 of 1 task (100 %) have at most 10 candidates: hits@10 cannot miss
        """  # noqa: E501
        return reporting.audit.audit_report(self, unique_keys(names, "names"))

    # -- groups ------------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> Mapping[Hashable, Report]:
        """The report of each group by its label; empty without groups."""
        return metrics.contributions.Groups(self._labels, self.group_labels, self._part)

    def _part(self, tasks: IntArray) -> Report:
        """Return the report of some tasks, which are weighted and drawn as in the whole."""
        group = Report.__new__(Report)
        group.seed = self.seed
        group.weighting = self.weighting
        group.model = self.model.part(tasks, self._zeros_by_group[tasks])
        group.ranks = group.model.ranks
        group._values = {}
        group._values_of_groups = {}
        return group

    def _value_by_group(self, key: Key) -> FloatArray:
        """Return the value of a key in each group, nan where there is none; computed once."""
        of_group = replace(key, macro=False)
        text = of_group.text
        if text not in self._values_of_groups:
            if self.by is None:
                raise UnknownKeyError(repr(str(key)), NO_GROUPS, remedies=[GROUPS])
            self._values_of_groups[text] = metrics.contributions.value_by_group(
                self.model, of_group, self._group_of_unit, len(self._labels)
            )
        return self._values_of_groups[text]

    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """Return the number of tasks of a side in each group; in retrieval, of queries.

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
        if self.by is None:
            raise UnknownKeyError(repr("group_tasks"), NO_GROUPS, remedies=[GROUPS])
        self.model.check_side(side, side)
        codes = self.model.side_labels(side, self._group_of_unit)
        sizes = np.bincount(codes, minlength=len(self._labels)).tolist()
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
        return dict(zip(self._labels, self._value_by_group(parsed).tolist(), strict=True))

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
    def _answered(self) -> Answers:
        """The queries and their answers; an AttributeError for a report of tasks."""
        if self.model.answers is None:
            raise AttributeError(
                "this report is of tasks with one right answer each; report(ranks, unit='query') "
                "is of queries"
            )
        return self.model.answers

    @property
    def queries(self) -> list[Hashable]:
        """The label of each query that has an answer, in the order of `per_query`.

        Where several Tasks that were joined have queries of one label, it is (task, label), and
        tasks count from 0; of data sets with names it is (name, label). A report of tasks has
        neither this nor the members below.
        """
        return self._answered.queries

    @property
    def answers(self) -> IntArray:
        """The number of right answers of each query."""
        return self._answered.right_numbers

    @property
    def candidates(self) -> IntArray:
        """The number of candidates of each query; 0: it was not given."""
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
            Any key without "macro.". The mean of these values is ``report[key]``.

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
        order : {"expected", "optimistic", "pessimistic"}
            What is made of ties.

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
        choice("order", order, self.grammar.words["kind"])
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
        values_of_queries = (dict(zip(keys, row, strict=True)) for row in rows)
        return dict(zip(self.queries, values_of_queries, strict=True))

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

    def to_json(
        self, metrics: Names = None, *, indent: int | None = 2, interval: bool = False
    ) -> str:
        """Return values, summary, protocol, findings and groups as JSON; nan becomes null.

        It is for other programs; `ranks.save` keeps what `truerank.load` reads back.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys; the default keys if not given. Groups have those that are not macro averages,
            by default of one kind: realistic ranks, or the expectation over ties.
        indent : int, optional
            The number of spaces for each level; None writes one line.
        interval : bool
            Whether "intervals" has those of the keys, or of the metrics that tables show, as
            `interval` gives them; and "groups" those of each group.

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
        keys = columns = list(self) if metrics is None else unique_keys(metrics)
        if metrics is None:  # One kind of rank is enough for many groups.
            default = self.grammar.default_kind
            columns = [key for key in keys if self.read_key(key).kind == default]
        content = reporting.report_table.json_content(self, keys, columns)
        if flag("interval", interval):
            few = self.grammar.few if metrics is None else keys
            reporting.report_table.add_json_intervals(content, self, few)
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
            The columns, or "all". Default: mr, mrr, hits@1, hits@3, hits@10 and amri; in retrieval
            mrr, map, ndcg@10 and recall@10. If a key names a side, a kind or a macro average, as
            ``tail.mrr``, all tasks have one row, and each group another one.
        sides : str or iterable of str, optional
            The rows. Default: all sides.
        kinds : {"auto", "all"} or names of kinds
            The rows of each side. "auto": realistic ranks, and other kinds where they move a value
            by more than one in its last printed digit; programs (CSV, pandas, JSON) read all kinds
            where any task ties. Groups and macro averages have only realistic ranks. "all":
            optimistic, realistic, pessimistic and expected, whatever they print, with a dash where
            a metric is no mean and has no expected value. By name also "random". In retrieval the
            default is "expected", and "all" adds "optimistic" and "pessimistic".
        digits : int
            The decimals of shares and reciprocal ranks; mean ranks and percentages have two fewer.
            Default: 3.
        percent : bool
            Whether hits@k, and other shares, are printed as percentages.
        interval : bool
            Whether the confidence interval of each value stands behind it, in brackets; for
            programs it has columns of its own: ``mrr low``, ``mrr high``. Groups have the intervals
            of their own tasks; macro averages and z have none.
        level, unit
            The level of the intervals, and the units that were drawn, as in `interval`.
        notes : bool, optional
            Whether the lines above and below are written. Default: not in LaTeX and CSV.

        Raises
        ------
        KeyError
            For an unknown metric, side or kind.
        ValueError
            For sides or kinds beside a key that names one.

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
        options: dict[str, Any] = {"sides": sides, "kinds": kinds, "percent": percent}
        options |= {"interval": interval, "level": level, "unit": unit, "digits": digits}
        table = reporting.report_table.table_of_report(self, metrics, **options)
        return table.table(notes=notes)

    def __repr__(self) -> str:
        return printable(f"Report({', '.join(reporting.summary.repr_words(self))})")


def report_task(ranks: Ranks, findings: Iterable[reporting.Finding], **options: Any) -> Report:
    """Report ranks of a task, which found something in lists or in rows; the audit says it, too."""
    report = Report(ranks, **options)
    report.task_findings = tuple(findings)
    return report


@public("truerank")
def report(
    ranks: Ranks | Report,
    *,
    seed: int = 0,
    by: LabelsLike | None = None,
    weights: str | Sequence[float] | FloatArray | None = None,
    unit: str | None = None,
) -> Report:
    """Return the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks or Report
        A Report stands for its ranks, with the weights of the report.
    seed : int
        The seed of the kind "random". All tasks are drawn at once, so that sides and groups agree
        with the whole.
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task, or for each unit (pair,
        triple) in its order, whose tasks have it then. All answers of a query are of one group.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks; finite, >= 0, not all 0. Only their ratios matter.
        By name: every query, relation or target of a side counts once, or every value of another
        label that `ranks.labels` has.
    unit : {"task", "query"}, optional
        What counts once: each task, or each query with all its right answers, none of them
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
        and if labels or weights do not fit the tasks. With ``unit="query"``, for ranks without
        labels of queries or with weights, and for counts that cannot come from one ranking of a
        query's candidates: of right answers that are filtered or given twice, or of several models.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    >>> import truerank as tr
    >>> ranks = tr.rank([[0.9, 0.1, 0.8, 0.8]], [0, 2], rows=[0, 0]).with_labels(queries=["q", "q"])
    >>> of_queries = report(ranks, unit="query")
    >>> of_queries["map"], of_queries["optimistic.map"], of_queries["pessimistic.map"]
    (0.9166666666666666, 1.0, 0.8333333333333333)

    Several runs of a model are a list of reports, whose mean and deviation `truerank.table` prints:

    >>> runs = [report(Ranks([0], [1], 10)), report(Ranks([3], [1], 10))]
    >>> sum(run["mr"] for run in runs) / len(runs)
    2.5
    """
    return Report(ranks, seed=seed, by=by, weights=weights, unit=unit)
