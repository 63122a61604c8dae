"""Reports on queries with several right answers: metrics of each query, means, groups, tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..inference.intervals import Interval, Intervals, interval
from ..inference.units import UNIT, TaskLabels, Units, group_of_tasks, unit_codes
from ..inputs.arrays import read_only
from ..inputs.checks import choice, unique_keys
from ..inputs.errors import InputValueError, UnknownKeyError
from ..inputs.naming import printable, public
from ..inputs.row_keys import row_keys
from ..inputs.words import LISTED, AnswerOrder
from ..metrics.keys import ALL_SIDES, MACRO, Key, quote
from ..metrics.kinds import EXPECTED_KIND, Sample
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes
from ..ranks.labels import RIGHT_ANSWERS, WITHOUT_ANSWERS
from ..reporting.audit import Findings, findings
from ..reporting.keyed_values import (
    GROUPS_SHOWN,
    Groups,
    KeyedValues,
    Names,
    choose_metrics,
    label_text,
    metric_column,
)
from ..reporting.sources import Counted, Finding
from ..tables import Column, Table
from ..tables.cells import format_count
from ..tables.cells import percent as percentage
from ..tables.forms import write_json
from ..tasks.grades import count_without_answers
from ..tasks.named_lists import first_names
from .answer_metrics import ORDER_KINDS, AnswerKey, read_key, rows_of
from .answer_ties import LEVELS, RankedAnswers
from .tie_sums import hit_chances

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from ..tasks.named_lists import ListUse

JSON_KIND = "truerank.retrieval"
JSON_FORMAT = 1

DEFAULT_METRICS = (
    *("mrr", "mrr@10", "map", "r_precision", "ndcg", "ndcg@10"),
    *("recall@10", "recall@100", "precision@10", "success@10"),
)
_FEW_METRICS = ("mrr", "map", "ndcg@10", "recall@10")
_CHECKS = ("constant", "nan", "inf", "saturated", "sampled")
FEW = 0.1  # the share of candidates up to which lists are short
_COLUMNS = (*ORDER_KINDS, "chance", "index")  # of a table
# What becomes of right answers that their lists miss, in the words of a table.
MISSES = {"zero": "count as 0", "bounds": "have bounds", "expected": "count by their mean"}


@public("truerank.retrieval")
class RetrievalReport(KeyedValues):
    """The metrics of queries with several right answers, by key; made by `report` or a `Task`.

    A key is ``[macro.][kind.][adjustment.]metric[@k][:p]``.

    - metric: ``mrr`` (of the first right answer), ``map``, ``ndcg``, ``dcg``, each also with a
      cutoff, as ``map@10``; ``recall@k``, ``precision@k``, ``success@k``, ``f1@k``, ``map_min@k``,
      ``weighted_recall@k``; ``r_precision``, ``map_at_r``; ``bpref``; ``rbp:p``; ``auc``,
      ``gauc``; ``err@k``, where answers do not tie or in the other two kinds.
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
        A task for each right answer, with the label "retrieval_answers": how many its query has.
        Where one has several, `truerank.report` and `truerank.compare` refuse them, and take
        reports.
    weights : None
        Every query counts once.
    gains : ndarray of float64, shape (n,), or None
        What a right answer counts for in dcg and ndcg; None: 1 for all.
    queries : list
        The label of each query, in the order of `per_query`.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    without_answers : int
        The number of queries that were left out, as they have no right answer.
    misses : str
        What right answers count for that their lists miss, as `report` takes it.
    list_use : ListUse or None
        Of lists by name, the queries that have none, and those whose list was not used.

    Notes
    -----
    For a query with R right answers: recall@k = hits among the first k / R; precision@k = hits / k,
    even if there are fewer than k candidates; r_precision = precision@R; success@k = 1 if there is
    a hit; mrr = 1 / place of the first hit; map = the mean over right answers of the precision at
    their places (those beyond k add 0 to map@k, and R divides all the same); dcg = the sum of
    gain / log2(place + 1); ndcg = dcg / that of the best order (Järvelin, Kekäläinen: Cumulated
    gain-based evaluation of IR techniques, 2002). These are the definitions of trec_eval.

    Those of others: map_min@k divides by min(k, R) (RecBole, sentence-transformers, PyTorch
    Geometric); map_at_r = map@R (Musgrave, Belongie, Lim: A metric learning reality check, 2020);
    bpref = the mean over right answers of 1 - min(n, c) / c, where n of N documents that are judged
    with a gain of 0 are above the answer, and c = min(R, N) (Buckley, Voorhees: Retrieval
    evaluation with incomplete information, 2004; of a `Task` with ``judged=True`` alone); rbp:p =
    (1 - p) times the sum of p^(place - 1) over right answers (Moffat, Zobel: Rank-biased precision,
    2008); err@k = the sum over the first k of P / place, where a reader who goes down the list
    stops at an answer with the probability gain / (1 + the highest of all gains) and P is that of
    its end there: with exponential gains that of Chapelle et al. (Expected reciprocal rank for
    graded relevance, 2009); f1@k = 2 hits / (k + R) and weighted_recall@k = the sum of the gains
    among the first k / that of all (PyTorch Geometric); auc = the share of pairs of a right answer
    and a candidate that is none whose order is right, half of those that tie, 1 without such pairs
    (Hanley, McNeil: The meaning and use of the area under a ROC curve, 1982).

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

    ranks: Ranks
    gains: FloatArray | None
    few, usual, read_key = _FEW_METRICS, DEFAULT_METRICS, staticmethod(read_key)
    weights: None = None
    weighting, seed, sides = "", 0, (ALL_SIDES,)
    queries: list[Hashable]
    answers: IntArray
    candidates: IntArray
    without_answers: int
    misses: str
    list_use: ListUse | None
    longest_list: int | None

    def __init__(
        self,
        ranks: Ranks,
        gains: FloatArray | None = None,
        *,
        by: LabelsLike | None = None,
        misses: str = "zero",
    ) -> None:
        self.gains, self.misses, self.list_use = gains, misses, None
        self.longest_list = None
        check_misses(misses, ranks.protocol)
        self.without_answers = count_without_answers(ranks.labels)
        self._ranked = RankedAnswers(ranks, gains, misses)
        placed = True if ranks.listed is None or misses == "bounds" else ranks.listed
        self._tied = int(np.count_nonzero((ranks.tied > 1) & placed))
        self.queries = self._ranked.queries
        self.answers = read_only(self._ranked.answers)
        self.ranks = ranks.with_labels(**{RIGHT_ANSWERS: self.answers[self._ranked.codes]})
        self.candidates = read_only(self._ranked.candidates)
        self.by = by if by is None or isinstance(by, str) else "group"
        self._group_of_query = np.zeros(0, dtype=np.int64)
        self._groups: list[Hashable] = []
        if by is not None:
            codes, self._groups = group_codes(ranks, by)
            self._group_of_query = self._ranked.of_queries(codes)
        self._group_sizes = np.bincount(self._group_of_query).tolist()

    @property
    def protocol(self) -> Protocol:
        """The protocol by which the ranks were counted."""
        return self.ranks.protocol

    # -- values ------------------------------------------------------------------------------------

    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""
        parsed = read_key(key)
        if parsed.macro and self.by is None:
            raise UnknownKeyError(quote(key), "there are no groups; give by=...")
        means = self._means(parsed)
        if not parsed.macro:
            return float(means[0])
        of_groups = means[1:][~np.isnan(means[1:])]
        return float(of_groups.mean()) if len(of_groups) else float("nan")

    def _means(self, key: AnswerKey) -> FloatArray:
        """The value over all queries, and then that of each group."""
        top, base = (
            np.append(x.sum(), np.bincount(self._group_of_query, x) if self._groups else [])
            for x in self._ranked.sums(key)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            means: FloatArray = top / base
        return means

    def __iter__(self) -> Iterator[str]:
        keys = (f"{column}.{metric}" for column in _COLUMNS for metric in DEFAULT_METRICS)
        return (key.removeprefix(f"{EXPECTED_KIND}.") for key in keys)

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
        parsed = read_key(key)
        if parsed.macro:
            raise UnknownKeyError(quote(key), "an average over groups has no value per query")
        top, base = self._ranked.sums(parsed)
        with np.errstate(divide="ignore", invalid="ignore"):
            values: FloatArray = top / base
        return values

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
        choice("order", order, (*ORDER_KINDS, *LEVELS))
        ties = self._ranked.ties(order)
        rows = [column[ties.starts] for column in (ties.above, ties.size, ties.right)]
        _, where, counts = np.unique(row_keys(rows), return_index=True, return_counts=True)
        above, size, right = (row[where] for row in rows)
        hits = [counts @ hit_chances(size, right, np.clip(k - above, 0, size)) for k in cutoffs]
        shares: FloatArray = np.array(hits) / counts.sum()
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
        keys = unique_keys(_FEW_METRICS if metrics is None else metrics)
        values = np.array([self.per_query(key) for key in keys])
        rows = values.reshape(len(keys), len(self.queries)).T.tolist()
        named = zip(self.queries, rows, strict=True)
        return {query: dict(zip(keys, row, strict=True)) for query, row in named}

    def audit(self, *names: str) -> Findings:
        """List what makes the numbers suspect, by those checks of `Report.audit` that fit.

        They find sampled candidates, queries whose candidates all have one score, and, if scores
        were audited, NaN, infinite and saturated ones. Of lists by name they find queries without a
        list, and lists of other queries than those with right answers. "short lists": of any lists
        without given candidates, the longest has at most a tenth of the candidates. Then chance,
        index and auc are among many that no list could name: right for the best of a full ranking,
        wrong where a model ordered a few that were chosen for it, for which `Task` takes
        `candidates`.

        Parameters
        ----------
        *names : str
            The checks. Default: all.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0], [1], 10, queries=[7]).with_protocol(sampled=True)
        >>> [finding.name for finding in tr.retrieval.report(ranks).audit()]
        ['sampled']
        """
        every = findings(Counted(self.ranks, 0), _CHECKS) + _left_over(self.list_use)
        every += _short_lists(self.longest_list, int(self.candidates.min()))
        chosen = [finding for finding in every if not names or finding.name in names]
        return Findings(chosen, self.protocol, None)

    # -- what inference takes ----------------------------------------------------------------------

    def labels(self) -> TaskLabels:
        """Return what the right answers are, their groups, and how they count."""
        rules = {"gains": self.gains, "misses": self.misses}
        return TaskLabels(self.ranks, self.group_labels, rules)

    def in_order(self, ranks: Ranks, order: IntArray | None = None) -> RetrievalReport:
        """Return the report of the same right answers in another order, with these ranks.

        Examples
        --------
        >>> import truerank as tr
        >>> found = tr.retrieval.report(tr.Ranks([0, 3], [1, 1], 10, queries=[7, 8]))
        >>> order = found.ranks.above.argsort()[::-1]
        >>> found.in_order(found.ranks[order], order).ranks.above
        array([3, 0])
        """
        if order is None:  # a side, or a weight, is nothing to queries
            return self
        gains = None if self.gains is None else self.gains[order]
        report = RetrievalReport(ranks, gains, misses=self.misses)
        report._ranked.highest = self._ranked.highest
        return report

    @property
    def group_labels(self) -> IntArray | None:
        """The group of each right answer, numbered in the order of groups; None without groups."""
        return None if self.by is None else self._group_of_query[self._ranked.codes]

    def units(
        self,
        key: Key,
        *,
        by: LabelsLike | None = UNIT,
        groups: LabelsLike | None = None,
        weights: object = None,
        draw_seed: int | None = None,
    ) -> Units:
        """Return the queries in their units; see `truerank.inference.units.HasUnits`.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> found = tr.retrieval.report(ranks)
        >>> found.units(found.read_key("map")).unit
        array([0, 1])
        """
        codes, unit_name = unit_codes(self.ranks, by)
        if groups is None:
            groups = self.group_labels
        unit = self._ranked.of_queries(codes)
        macro = group_of_tasks(self.ranks, key, by, groups)
        if macro is not None:
            macro = self._ranked.of_queries(macro)
        tops, bases = self._ranked.sums(key)
        sample = Sample(tops, self.candidates)
        number = int(unit.max()) + 1
        return Units(key, sample, bases, unit, number, unit_name, macro, self._ranked.ends(key))

    @overload
    def interval(
        self, metric: str, *, by: LabelsLike | None = ..., level: float = ...
    ) -> Interval: ...

    @overload
    def interval(
        self,
        metric: list[str] | tuple[str, ...],
        *,
        by: LabelsLike | None = ...,
        level: float = ...,
    ) -> Intervals: ...

    def interval(
        self,
        metric: str | list[str] | tuple[str, ...],
        *,
        by: LabelsLike | None = "query",
        level: float = 0.95,
    ) -> Interval | Intervals:
        """Compute the confidence interval of the value of a key, or of several.

        Parameters
        ----------
        metric : str, or list of str
            For "macro.X" the groups are those of the report.
        by : str, labels or None
            What was drawn when the test set was made: queries, or a label of the ranks (labels of
            its tasks, too) that all right answers of a query share.
        level : float
            How often such intervals cover the true value.

        Returns
        -------
        Interval, or Intervals for several keys

        Raises
        ------
        KeyError
            For an unknown key.
        ValueError
            For a level outside of (0, 1), and labels that do not fit the tasks.

        Notes
        -----
        A query moves a mean by its distance from it. An index and a ratio are ratios of two means,
        whose interval knows that chance and optimum vary with the queries, too.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1, 5], [1] * 4, 10, queries=["a", "a", "b", "c"])
        >>> print(tr.retrieval.report(ranks).interval("map"))
        map 0.472 [0.000, 1.000] (95 %, t, 3 queries)
        few units: 3 queries
        """
        if not isinstance(metric, (list, tuple)):
            return interval(self, metric, by=by, level=level)
        names = unique_keys(metric, "metric")
        return Intervals({name: self.interval(name, by=by, level=level) for name in names})

    # -- groups ------------------------------------------------------------------------------------

    @property
    def groups(self) -> Mapping[Hashable, RetrievalReport]:
        """A report on the queries of each group, made when it is asked for; none without groups.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8], relation=["x", "x", "y"])
        >>> tr.retrieval.report(ranks, by="relation").groups["x"]["map"]
        0.75
        """
        return Groups(self._groups, self._of_group)

    def _of_group(self, place: int) -> RetrievalReport:
        chosen = self._group_of_query[self._ranked.codes] == place
        gains = None if self.gains is None else self.gains[chosen]
        ranks = self.ranks[chosen].with_labels(**{WITHOUT_ANSWERS: None})  # they have no group
        group = RetrievalReport(ranks, gains, misses=self.misses)
        group._ranked.highest = self._ranked.highest  # of all gains, by which err@k stops
        return group

    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """Return the number of queries of each group, as `Report` has tasks; none without groups.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8], relation=["x", "x", "y"])
        >>> tr.retrieval.report(ranks, by="relation").group_tasks()
        {'x': 1, 'y': 1}
        """
        return dict(zip(self._groups, self._group_sizes, strict=True))

    def group_values(self, key: str) -> dict[Hashable, float]:
        """Return the value of a key for every group of queries; empty without groups.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8], relation=["x", "x", "y"])
        >>> tr.retrieval.report(ranks, by="relation").group_values("map")
        {'x': 0.75, 'y': 0.5}
        """
        return dict(zip(self._groups, self._means(read_key(key))[1:].tolist(), strict=True))

    # -- tables ------------------------------------------------------------------------------------

    def to_json(self, metrics: Names = None, *, indent: int | None = 2) -> str:
        """Return values, sizes, protocol and groups as a JSON object; nan becomes null.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys. Default: those that the report lists.
        indent : int or None
            The blanks of each level; None writes one line.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import json, truerank as tr
        >>> ranks = tr.Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> json.loads(tr.retrieval.report(ranks).to_json(["map"]))["metrics"]
        {'map': 0.625}
        """
        values = self.to_dict(metrics)
        groups = None
        if self.by is not None:
            keys = [key for key in values if not read_key(key).macro]
            groups = {
                "by": self.by,
                "labels": list(map(label_text, self._groups)),
                "queries": self._group_sizes,
                "metrics": {key: list(self.group_values(key).values()) for key in keys},
            }
        content = {
            "kind": JSON_KIND,
            "format": JSON_FORMAT,
            "metrics": values,
            "queries": len(self.queries),
            "without_answers": self.without_answers,
            "misses": self.misses,
            "answers": len(self.ranks),
            "protocol": dataclasses.asdict(self.protocol),
            "fingerprint": self.protocol.fingerprint,
            "groups": groups,
        }
        return write_json(content, indent)

    def table(
        self, metrics: Names = None, *, kinds: Names = None, percent: bool = False, **options: Any
    ) -> Table:
        """Return a row for each kind of order; with groups, the macro average and the groups.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The columns, `metric[@k]` each, or "all". Default: mrr, map, ndcg@10 and recall@10.
        kinds : str or iterable of str, optional
            The rows: "expected", "optimistic", "pessimistic", "chance" and "index". Default:
            expected; without groups, where right answers tie, optimistic and pessimistic, too.
        digits, percent, notes
            As of `Report.table`.
        """
        chosen = rows_of(choose_metrics(metrics, _FEW_METRICS, DEFAULT_METRICS))
        if kinds is None:
            kinds = ORDER_KINDS if not self.by and self._tied else EXPECTED_KIND
        rows_of_kind = unique_keys(kinds, "kinds")
        labels = ["micro", *([MACRO] if self.by else []), *map(label_text, self._groups)]
        sizes = [len(self.queries), *([len(self.queries)] if self.by else []), *self._group_sizes]
        rows: list[list[Any]] = []
        for kind in rows_of_kind:
            means = np.stack([self._means(read_key(f"{kind}.{metric}")) for metric in chosen], 1)
            if self.by:
                macro = [self[f"{MACRO}.{kind}.{metric}"] for metric in chosen]
                means = np.insert(means, 1, macro, axis=0)
            rows += [
                [label, kind, size, *values]
                for label, size, values in zip(labels, sizes, means.tolist(), strict=True)
            ]
        columns = [
            Column("group", self.by or "", only=None if self.by else "data"),
            Column("kind", only=None if len(rows_of_kind) > 1 else "data"),
            Column("queries"),
            *(metric_column(metric, read_key(metric), percent=percent) for metric in chosen),
        ]
        table = Table(columns, rows, names=2, before=self._lines(), most=GROUPS_SHOWN)
        return table.table(**options)

    def _lines(self) -> list[str]:
        if not len(self.ranks):  # of an empty part
            return [self._sizes()]
        low, high = int(self.candidates.min()), int(self.candidates.max())
        among = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        lines = [f"{self._sizes()}, {self._tied:,} of them tied, among {among} candidates"]
        if self.ranks.listed is not None:
            missed = f"{percentage(float(1 - self.ranks.listed.mean()))} of the right answers"
            lines.append(f"{missed} are missed by their lists and {MISSES[self.misses]}")
        if self.without_answers:
            left_out = format_count(self.without_answers, "query", "queries")
            lines.append(f"{left_out} without a right answer left out")
        return lines

    def _sizes(self) -> str:
        queries = format_count(len(self.queries), "query", "queries")
        return f"{queries} with {format_count(len(self.ranks), 'right answer')}"

    def __repr__(self) -> str:
        values = (f"{metric} {self[metric]:.4g}" for metric in _FEW_METRICS)
        return printable(f"RetrievalReport({self._sizes()}, {', '.join(values)})")


def check_misses(misses: str, protocol: Protocol) -> None:
    """Check what right answers count for that their lists miss."""
    choice("misses", misses, tuple(MISSES))
    if misses != "zero" and protocol.candidates == LISTED:
        expected = f'"zero", as the candidates are {LISTED}: there are no others to be tied with'
        raise InputValueError("misses", expected=expected, got=repr(misses))


def _left_over(use: ListUse | None) -> list[Finding]:
    """Find queries without a list, and lists that were not used."""
    found = []
    if use is not None and use.missing:
        n = len(use.missing)
        queries = format_count(n, "query", "queries")
        message = f"{queries} with right answers without a list, as {first_names(use.missing)}"
        found.append(Finding("missing lists", float(n), 0.0, message))
    if use is not None and use.unused:
        n = len(use.unused)
        lists = format_count(n, "list")
        message = f"{lists} of queries without right answers, as {first_names(use.unused)}"
        found.append(Finding("unused lists", float(n), 0.0, message))
    return found


def _short_lists(longest: int | None, candidates: int) -> list[Finding]:
    """Find that no list has more than a few of many candidates."""
    if longest is None or longest > FEW * candidates:
        return []
    names = format_count(longest, "candidate")
    message = (
        f"no list has more than {names} of {candidates:,}, among which chance, index and auc are; "
        'if lists order a few that were chosen, Task takes candidates={query: [...]} or "listed"'
    )
    return [Finding("short lists", longest / candidates, FEW, message)]
