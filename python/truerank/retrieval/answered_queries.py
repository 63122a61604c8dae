"""Queries with several right answers, as what the numbers of a report come from."""

from __future__ import annotations

from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inference.units import UNIT, TaskLabels, Units, group_of_tasks, unit_codes
from ..inputs.arrays import read_only
from ..inputs.checks import choice
from ..inputs.errors import InputValueError
from ..inputs.words import LISTED
from ..metrics.keys import ALL_SIDES, MACRO, Key, Sides
from ..metrics.kinds import EXPECTED_KIND, Sample
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes
from ..ranks.labels import MISSES_RULE, RIGHT_ANSWERS, WITHOUT_ANSWERS
from ..reporting.audit import findings
from ..reporting.summaries import (
    Counted,
    Finding,
    Measured,
    ReportForm,
    Summary,
    misses_differ,
    summary_of,
)
from ..splits.elements import first_names
from ..splits.grades import count_without_answers
from ..tables.cells import format_count
from .answer_metrics import ORDER_KINDS, read_key
from .answer_ties import LEVELS, RankedAnswers, rule_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from ..splits.list_use import ListUse

DEFAULT_METRICS = (
    "mrr",
    "mrr@10",
    "map",
    "r_precision",
    "ndcg",
    "ndcg@10",
    "recall@10",
    "recall@100",
    "precision@10",
    "success@10",
)
FEW_METRICS = ("mrr", "map", "ndcg@10", "recall@10")
LISTED_KINDS = (*ORDER_KINDS, "chance", "index")  # of the keys that a report lists
CHECKS = ("constant", "nan", "inf", "saturated", "sampled")
FEW = 0.1  # the share of candidates up to which lists are short
# What becomes of right answers that their lists miss, in the words of a table.
MISSES = {"zero": "count as 0", "bounds": "have bounds", "expected": "count by their mean"}


def column_of(key: Key) -> Key:
    """Return the key of the column that a key is in: the metric and its parameter alone.

    Examples
    --------
    >>> str(column_of(read_key("macro.optimistic.index.ndcg@10")))
    'ndcg@10'
    """
    return key.alone


def column_name(key: str) -> str:
    """Return the metric[@k][:p] of a key, as it is written there.

    Examples
    --------
    >>> column_name("macro.index.rbp:0.8")
    'rbp:0.8'
    """
    before, colon, parameter = key.partition(":")
    return before.rpartition(".")[2] + colon + parameter


def key_of_row(key: Key, side: str, kind: str) -> Key:
    """Return the key of a cell from that of its column: a row has a kind, or an adjustment.

    Examples
    --------
    >>> [str(key_of_row(read_key("map"), "both", kind)) for kind in ("pessimistic", "chance")]
    ['pessimistic.map', 'chance.map']
    """
    if kind in ORDER_KINDS:
        return key._replace(kind=kind)
    return key._replace(adjustment=kind)


ANSWER_REPORTS = ReportForm(
    read_key=read_key,
    column_of=column_of,
    column_name=column_name,
    column_form="metric[@k]",
    key_of_row=key_of_row,
    few=FEW_METRICS,
    usual=DEFAULT_METRICS,
    kinds=ORDER_KINDS + LEVELS + ("ratio", "index"),
    tie_kinds=ORDER_KINDS,
    default_kind=EXPECTED_KIND,
    labels=("kind",),
    tasks="queries",
    json_kind="truerank.retrieval",
    facts={
        "queries": (int, NoneType),
        "without_answers": (int, NoneType),
        "misses": (str,),
        "answers": (int, NoneType),
        "missed": (float, NoneType),
    },
)


class AnsweredQueries(Measured):
    """The right answers of queries, in groups; the parameters are those of `RetrievalReport`.

    Attributes
    ----------
    gains : ndarray of float64, shape (n,), or None
    misses : str
    ranked : RankedAnswers
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    list_use : ListUse or None
    longest_list : int or None
        Of lists without given candidates.
    """

    form = ANSWER_REPORTS
    read_key = staticmethod(read_key)

    def __init__(
        self,
        ranks: Ranks,
        gains: FloatArray | None = None,
        by: LabelsLike | None = None,
        misses: str | None = None,
    ) -> None:
        if misses is None:
            misses = rule_of(ranks.labels, MISSES_RULE, "misses", tuple(MISSES))
        check_misses(misses, ranks.protocol)
        self.gains = gains
        self.misses = misses
        self.list_use: ListUse | None = None
        self.longest_list: int | None = None
        self.ranked = RankedAnswers(ranks, gains, misses)
        self.answers = read_only(self.ranked.answers)
        self.candidates = read_only(self.ranked.candidates)
        labels: dict[str, Any] = {RIGHT_ANSWERS: self.answers[self.ranked.codes]}
        labels[MISSES_RULE] = None
        if misses != "zero" and ranks.listed is not None:
            labels[MISSES_RULE] = misses
        self.ranks = ranks.with_labels(**labels)
        self.tasks = self.ranks
        self.protocol = ranks.protocol
        self.seed = 0
        self.weighting = ""
        self.sides = Sides({ALL_SIDES: len(self.ranked.queries)})
        self.by = None
        self.group_names = []
        self.group_of_query: IntArray | None = None
        if by is not None:
            self.by = "group"
            if isinstance(by, str):
                self.by = by
            codes, self.group_names = group_codes(ranks, by)
            self.group_of_query = self.ranked.of_queries(codes)

    @property
    def kinds_differ(self) -> bool:
        """Whether orders of ties differ, or misses have bounds."""
        return self.summary.tied_tasks > 0 or misses_differ(self.facts)

    # -- values ------------------------------------------------------------------------------------

    def value(self, key: Key) -> float:
        """Return the mean over queries, or that over the groups that have a value."""
        if key.macro:
            values = np.array(self.column(key))
            values = values[~np.isnan(values)]
            if len(values):
                return float(values.mean())
            return float("nan")
        top, base = self.ranked.sums(key)
        return float(_quotients(top.sum(), base.sum()))

    def column(self, key: Key) -> list[float]:
        """Return the value of a key in each group."""
        self.require_groups(key)
        top, base = self.ranked.sums(key)
        values: list[float] = _quotients(self._by_group(top), self._by_group(base)).tolist()
        return values

    def per_query(self, key: Key) -> FloatArray:
        """Return the value of a key for each query: float64, shape (q,)."""
        return _quotients(*self.ranked.sums(key))

    def _by_group(self, values: FloatArray | None = None) -> FloatArray | IntArray:
        """Return the sums of values of queries over each group, or the numbers of queries."""
        group: Any = self.group_of_query
        return np.bincount(group, values, len(self.group_names))

    @cached_property
    def keys(self) -> list[str]:  # type: ignore[override]
        """The usual keys of every kind, and the means over groups of those of no kind."""
        found = []
        for kind in LISTED_KINDS:
            for metric in DEFAULT_METRICS:
                found.append(f"{kind}.{metric}".removeprefix(f"{EXPECTED_KIND}."))
        if self.by is not None:
            found += [f"{MACRO}.{metric}" for metric in DEFAULT_METRICS]
        return found

    def group_tasks(self, side: str) -> list[int]:
        """Return the number of queries in each group."""
        self.require_groups("group_tasks")
        numbers: list[int] = self._by_group().tolist()
        return numbers

    def of_group(self, place: int) -> AnsweredQueries:
        """Return the queries of one group."""
        group_of_query: Any = self.group_of_query
        (chosen,) = np.nonzero(group_of_query[self.ranked.codes] == place)
        ranks = self.ranks[chosen].with_labels(**{WITHOUT_ANSWERS: None})  # they have no group
        return self._with_ranks(ranks, chosen)

    def _with_ranks(self, ranks: Ranks, places: IntArray) -> AnsweredQueries:
        """Return some of the right answers, by their places, with these ranks."""
        gains = self.gains
        if gains is not None:
            gains = gains[places]
        answered = AnsweredQueries(ranks, gains, misses=self.misses)
        answered.ranked.highest = self.ranked.highest  # of all gains, by which err@k stops
        return answered

    @cached_property
    def summary(self) -> Summary:  # type: ignore[override]
        """The numbers of right answers and of ties; what no list names is in no tie."""
        summary = summary_of(self.ranks)
        if len(self.candidates):  # of a list with all that it misses
            fewest = int(self.candidates.min())
            most = int(self.candidates.max())
            summary = summary._replace(candidates_min=fewest, candidates_max=most)
        return summary

    @cached_property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The numbers of queries and right answers, and what is missed."""
        missed = None
        if self.ranks.listed is not None and len(self.ranks):
            missed = float(1 - self.ranks.listed.mean())
        return {
            "queries": len(self.ranked.queries),
            "without_answers": count_without_answers(self.ranks.labels),
            "misses": self.misses,
            "answers": len(self.ranks),
            "missed": missed,
        }

    def find(self, names: Sequence[str]) -> list[Finding]:
        """List what makes the numbers suspect, by some checks or by all."""
        checks = [check for check in CHECKS if not names or check in names]
        found: list[Finding] = []
        if checks:
            found += findings(Counted(self.ranks.with_labels(side=None), 0), checks)
        lists = _left_over(self.list_use)
        lists += _short_lists(self.longest_list, self.summary.candidates_min)
        found += [finding for finding in lists if not names or finding.name in names]
        return found

    # -- what inference takes ----------------------------------------------------------------------

    def labels(self) -> TaskLabels:
        """Return what the right answers are, their groups, and how they count."""
        groups = None
        if self.group_of_query is not None:
            groups = self.group_of_query[self.ranked.codes]
        return TaskLabels(self.ranks, groups, {"gains": self.gains, "misses": self.misses})

    def in_order(self, ranks: Ranks, order: IntArray | None = None) -> AnsweredQueries:
        """Return the same right answers in another order, with these ranks."""
        if order is None:  # a side, or a weight, is nothing to queries
            return self
        return self._with_ranks(ranks, order)

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
        >>> ranks = Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> AnsweredQueries(ranks).units(read_key("map")).unit
        array([0, 1])
        """
        codes, unit_name = unit_codes(self.ranks, by)
        if groups is None:
            groups = self.labels().groups
        unit = self.ranked.of_queries(codes)
        macro = group_of_tasks(self.ranks, key, by, groups)
        if macro is not None:
            macro = self.ranked.of_queries(macro)
        tops, bases = self.ranked.sums(key)
        sample = Sample(tops, self.candidates)
        number = int(unit.max()) + 1
        return Units(key, sample, bases, unit, number, unit_name, macro, self.ranked.ends(key))


def _quotients(top: Any, base: Any) -> FloatArray:
    """Divide sums; nan where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients: FloatArray = np.divide(top, base)
    return quotients


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
    if longest is None or not candidates or longest > FEW * candidates:
        return []
    names = format_count(longest, "candidate")
    message = (
        f"no list has more than {names} of {candidates:,}, among which chance, index and auc are; "
        'if lists order a few that were chosen, candidates can be those of each query, or "listed"'
    )
    return [Finding("short lists", longest / candidates, FEW, message)]
