"""Queries with several right answers, as what the numbers of a report come from."""

from __future__ import annotations

from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inference.units import UNIT, TaskLabels, Units, group_of_tasks, unit_codes
from ..inputs.arrays import read_only
from ..inputs.checks import choice
from ..inputs.errors import InputValueError
from ..inputs.row_keys import codes_of
from ..inputs.words import LISTED
from ..metrics.keys import ALL_SIDES, MACRO, Key, Sides
from ..metrics.kinds import EXPECTED_KIND, Sample, take
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes
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
from ..tables.cells import format_count
from .answers import GAINS, LEVELS
from .graded_answers import ANSWERLESS, GradedAnswers
from .metrics import ORDER_KINDS, read_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from .lists import ListUse

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
        "relevance_level": (float, NoneType),
        "answerless": (str, NoneType),
    },
)


class Rules(NamedTuple):
    """How the answers of queries count: as the protocol of their ranks says, where it does.

    Attributes
    ----------
    gain : str
        What becomes of gains.
    misses : str
        What answers count for that their lists miss.
    relevance_level : float
        From which gain on an answer is right; 0: all that have one are.
    answerless : str
        What becomes of queries without a right answer: "omit" or "zero".
    """

    gain: str = GAINS[0]
    misses: str = "zero"
    relevance_level: float = 0.0
    answerless: str = ANSWERLESS[0]

    @classmethod
    def of(cls, protocol: Protocol) -> Rules:
        """Return the rules of a protocol.

        Examples
        --------
        >>> Rules.of(Ranks([0], [1], 10).with_protocol(gain="binary").protocol)
        Rules(gain='binary', misses='zero', relevance_level=0.0, answerless='omit')
        """
        said = {name: getattr(protocol, name) for name in cls._fields}
        return cls(**{name: rule for name, rule in said.items() if rule is not None})

    def fields(self) -> dict[str, Any]:
        """Return the rules as fields of a protocol, which does not name the usual ones."""
        return {
            name: None if rule == DEFAULT_RULES[place] else rule
            for place, (name, rule) in enumerate(self._asdict().items())
        }


DEFAULT_RULES = Rules()


class AnsweredQueries(Measured):
    """The answers of queries, in groups; the parameters are those of `RetrievalReport`.

    Attributes
    ----------
    gains : ndarray of float64, shape (n,), or None
    rules : Rules
    is_right : ndarray of bool, shape (n,)
    ranked : GradedAnswers
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
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        check_misses(rules.misses, ranks.protocol)
        self.gains = gains
        self.rules = rules
        self.list_use: ListUse | None = None
        self.longest_list: int | None = None
        self.is_right = right_answers(ranks, rules.relevance_level)
        zeros = count_without_answers(ranks) if rules.answerless == "zero" else None
        self.ranked = GradedAnswers(ranks, gains, rules.misses, self.is_right, zeros)
        self.answers = read_only(self.ranked.answers)
        self.candidates = read_only(self.ranked.candidates)
        in_all = read_only(self.ranked.graded.answers)
        self.ranks = ranks._with({"answers": in_all[self.ranked.codes]})
        self.tasks = self.ranks
        self.protocol = ranks.protocol
        self.seed = 0
        self.weighting = ""
        number = len(self.ranked.right.queries) + self.ranked.zeros_in_all
        self.sides = Sides({ALL_SIDES: number})
        self.by = None
        self.group_names = []
        self.group_of_query: IntArray | None = None
        if by is not None:
            if zeros:
                queries = format_count(zeros, "query", "queries")
                problem = f"{queries} without an answer have no group"
                remedy = 'answerless="omit" leaves them out'
                raise InputValueError("by", f"{problem}; {remedy}")
            self.by = by if isinstance(by, str) else "group"
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
        whole = base.sum() + self._zeros(key)
        return float(_quotients(top.sum(), whole))

    def column(self, key: Key) -> list[float]:
        """Return the value of a key in each group."""
        self.require_groups(key)
        top, base = self.ranked.sums(key)
        values: list[float] = _quotients(self._by_group(top), self._by_group(base)).tolist()
        return values

    def per_query(self, key: Key) -> FloatArray:
        """Return the value of a key for each query: float64, shape (q,)."""
        return _quotients(*self.ranked.sums(key))

    def _zeros(self, key: Key) -> int:
        """Return how many queries without any answer count as 0."""
        if self.ranked.zeros is None or not self.ranked.counts_zeros(key):
            return 0
        return self.ranked.zeros

    def _by_group(self, values: FloatArray) -> FloatArray:
        """Return the sums of values of queries over each group."""
        group: Any = self.group_of_query
        sums: FloatArray = np.bincount(group, values, len(self.group_names)).astype(np.float64)
        return sums

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
        counts = np.ones(len(self.ranked.queries))
        if self.ranked.zeros is None:  # those without a right answer are left out
            counts = (self.answers > 0).astype(np.float64)
        numbers: list[int] = self._by_group(counts).astype(int).tolist()
        return numbers

    def of_group(self, place: int) -> AnsweredQueries:
        """Return the queries of one group."""
        group_of_query: Any = self.group_of_query
        (chosen,) = np.nonzero(group_of_query[self.ranked.codes] == place)
        none = np.zeros(len(chosen), np.int64)  # of the queries without answers has a group
        ranks = self.ranks[chosen]._with({"without_answers": none})
        return self._with_ranks(ranks, chosen)

    def _with_ranks(self, ranks: Ranks, places: IntArray) -> AnsweredQueries:
        """Return some of the right answers, by their places, with these ranks."""
        gains = self.gains
        if gains is not None:
            gains = gains[places]
        answered = AnsweredQueries(ranks, gains, rules=self.rules)
        answered.ranked.highest = self.ranked.highest  # of all gains, by which err@k stops
        return answered

    @cached_property
    def summary(self) -> Summary:  # type: ignore[override]
        """The numbers of right answers and of ties; what no list names is in no tie."""
        right = self.ranks
        if not self.is_right.all():
            right = right[self.is_right]
        summary = summary_of(right)
        if len(self.candidates):  # of a list with all that it misses
            fewest = int(self.candidates.min())
            most = int(self.candidates.max())
            summary = summary._replace(candidates_min=fewest, candidates_max=most)
        return summary

    @cached_property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The numbers of queries and right answers, and what is missed."""
        missed = None
        answers = int(np.count_nonzero(self.is_right))
        if self.ranks.listed is not None and answers:
            missed = float(1 - self.ranks.listed[self.is_right].mean())
        below_level = len(self.ranked.queries) - len(self.ranked.right.queries)
        return {
            "queries": self.sides.counts[ALL_SIDES],
            "without_answers": count_without_answers(self.ranks) + below_level,
            "misses": self.rules.misses,
            "answers": answers,
            "missed": missed,
            "relevance_level": self.rules.relevance_level,
            "answerless": self.rules.answerless,
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
        groups = None if self.group_of_query is None else self.group_of_query[self.ranked.codes]
        rules = {"gains": self.gains, "queries without answers": self.ranked.zeros}
        return TaskLabels(self.ranks, groups, rules)

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
        ends = self.ranked.ends(key)
        sample = Sample(tops, self.candidates)
        counted = self.ranked.counted(key)
        if counted is not None:
            sample = take(sample, counted)
            bases = bases[counted]
            ends = ends[0][counted], ends[1][counted]
            unit = codes_of(unit[counted]).codes
            if macro is not None:
                macro = codes_of(macro[counted]).codes
        number = int(unit.max(initial=-1)) + 1
        zeros = self._zeros(key)
        if zeros:  # each is a unit of its own
            nothing = np.zeros(zeros)
            sample = Sample(np.append(tops, nothing), np.append(self.candidates, nothing + 1))
            bases = np.append(bases, nothing + 1)
            unit = np.append(unit, number + np.arange(zeros))
            number += zeros
            ends = np.append(ends[0], nothing), np.append(ends[1], nothing)
        return Units(key, sample, bases, unit, number, unit_name, macro, ends)


def _quotients(top: Any, base: Any) -> FloatArray:
    """Divide sums; nan where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients: FloatArray = np.divide(top, base)
    return quotients


def right_answers(ranks: Ranks, level: float) -> npt.NDArray[np.bool_]:
    """Return which answers are right: those whose gain is at least the level.

    Examples
    --------
    >>> right_answers(Ranks([0, 3], [1, 1], 10), 2.0)
    array([False, False])
    """
    gains = ranks.gains
    if gains is None:
        gains = np.ones(len(ranks))
    return gains >= level


def count_without_answers(ranks: Ranks) -> int:
    """Return how many queries had no right answer when the ranks were made.

    Examples
    --------
    >>> count_without_answers(Ranks([0, 3], [1, 1], 10))
    0
    """
    if ranks.without_answers is None:
        return 0
    return int(ranks.without_answers.sum())


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
