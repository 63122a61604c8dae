"""Queries with several right answers, as what the numbers of a report come from."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of
from ..errors import InputValueError
from ..inputs.array_likes import read_only
from ..inputs.checks import choice, number
from ..inputs.words import LISTED
from ..metrics.answer_metrics import LEVELS, ORDER_KINDS, read_key
from ..metrics.answers import GAINS, RankedAnswers, counted_gains
from ..metrics.contributions import Contributions, sums_by_unit
from ..metrics.keys import ALL_SIDES, MACRO, NO_ADJUSTMENT, Key, Sides, increasing
from ..metrics.kinds import EXPECTED_KIND
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes
from ..records.elements import first_names
from ..reporting.audit import Finding, Graded, grade, graded_findings, most_moved
from ..reporting.summaries import (
    Counted,
    ReportForm,
    Source,
    Summary,
    misses_differ,
    summary_of,
)
from ..tables.cells import format_count, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
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
LISTED_KINDS = (*ORDER_KINDS, "chance", "index")  # A report lists keys of these kinds.
CHECKS = ("constant", "nan", "inf", "saturated", "sampled")
MUCH_KNOWN = 0.25  # Of lists, as where a model did not leave out what is known.
FEW = 0.1  # Lists are short up to this share of the candidates.
ANSWERLESS = ("omit", "zero")  # This is what becomes of queries without a right answer.
# Tables say in these words what becomes of right answers that their lists miss.
MISSES = {"zero": "count as 0", "bounds": "have bounds", "expected": "count by their mean"}


def column_of(key: Key) -> Key:
    """Return the key of the column that a key is in: the metric and its parameter alone.

    Examples
    --------
    >>> str(column_of(read_key("macro.optimistic.index.ndcg@10")))
    'ndcg@10'
    """
    return key.alone


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


class AnsweredQueries(Source):
    """The answers of queries by grade, and their groups; values of all queries.

    Parameters
    ----------
    ranks : Ranks
        A task for each answer with a gain above 0, with labels of queries.
    by : str or labels, optional
        Groups of queries.
    rules : Rules

    Attributes
    ----------
    rules : Rules
    gains : ndarray of float64, shape (n,), or None
        What the answers count for; None: all the same.
    is_right : ndarray of bool, shape (n,)
        Whether their gains reach the level of the rules.
    graded, right : RankedAnswers
        All answers with a gain, and those that are right.
    queries : list
        The label of each query that has an answer with a gain.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    zeros : int or None
        How many queries without any answer count as 0, beside those without a right one; None: all
        queries without a right answer are left out.
    list_use : ListUse or None
    longest_list : int or None
        Of lists without given candidates.
    names_in_lists, known_in_lists : int
        How many entries the lists have, and how many of them are known.
    """

    form = ANSWER_REPORTS
    read_key = staticmethod(read_key)

    def __init__(
        self, ranks: Ranks, by: LabelsLike | None = None, rules: Rules = DEFAULT_RULES
    ) -> None:
        check_misses(rules.misses, ranks.protocol)
        self.rules = rules
        self.gains = counted_gains(ranks.gains, rules.gain)
        self.list_use: ListUse | None = None
        self.longest_list: int | None = None
        self.names_in_lists = 0
        self.known_in_lists = 0
        self.is_right = right_answers(ranks, rules.relevance_level)
        self.graded = RankedAnswers(ranks, self.gains, rules.misses)
        self.queries = self.graded.queries
        self.candidates = self.graded.candidates
        self.right = self.graded
        # It has the positions of queries with a right answer; None stands for all.
        self._has_right = None
        self.answers = self.graded.answers
        if not self.is_right.all():
            self.right = RankedAnswers(ranks[self.is_right], None, rules.misses)
            self._has_right = self.graded.codes[self.is_right][self.right.first]
            self.answers = read_only(self._spread(self.right.answers, self._has_right))
        in_all = read_only(self.graded.answers)
        self.ranks = ranks._with({"answers": in_all[self.graded.codes]})
        self.tasks = self.ranks
        self.protocol = ranks.protocol
        self.seed = 0
        self.weighting = ""
        self.zeros = count_without_answers(ranks) if rules.answerless == "zero" else None
        # Queries that have answers, none of which is right, count as 0, too.
        none_right = len(self.queries) - len(self.right.queries)
        self.zeros_in_all = 0 if self.zeros is None else self.zeros + none_right
        self.sides = Sides({ALL_SIDES: len(self.right.queries) + self.zeros_in_all})
        self.by = None
        self.group_names = []
        self.group_of_query: IntArray | None = None
        if by is not None:
            if self.zeros:
                queries = format_count(self.zeros, "query", "queries")
                problem = f"{queries} without an answer have no group"
                remedy = 'answerless="omit" leaves them out'
                raise InputValueError("by", f"{problem}; {remedy}")
            self.by = by if isinstance(by, str) else "group"
            codes, self.group_names = group_codes(ranks, by)
            self.group_of_query = self.graded.of_queries(codes)

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
            return float(values.mean()) if len(values) else math.nan
        top, base = self.sums(key)
        return float(_quotients(top.sum(), base.sum() + self._zeros(key)))

    def column(self, key: Key) -> list[float]:
        """Return the value of a key in each group."""
        self.require_groups(key)
        top, base = self.sums(key)
        values: list[float] = _quotients(self._by_group(top), self._by_group(base)).tolist()
        return values

    def per_query(self, key: Key) -> FloatArray:
        """Return the value of a key for each query: float64, shape (q,)."""
        return _quotients(*self.sums(key))

    def sums(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """Return what each query adds to the two sums whose ratio is a value.

        See `RankedAnswers.sums`. A query without a right answer adds nothing, or 0 to the first and
        1 to the second.
        """
        answers, places = self._answers_of(key)
        top, base = answers.sums(key)
        base_of_others = float(self._counts_zeros(key))
        return self._spread(top, places), self._spread(base, places, base_of_others)

    def _answers_of(self, key: Key) -> tuple[RankedAnswers, IntArray | None]:
        """Return the answers that a metric is about, and the positions of their queries, or all."""
        if key.row.of_gains:
            return self.graded, None
        return self.right, self._has_right

    def _spread(
        self, values: npt.NDArray[Any], places: IntArray | None, others: float = 0
    ) -> npt.NDArray[Any]:
        """Return values of all queries, from those of some."""
        if places is None:
            return values
        spread = np.full(len(self.queries), others, values.dtype)
        spread[places] = values
        return spread

    def _counts_zeros(self, key: Key) -> bool:
        """Whether queries without answers move a value: a ratio to chance has nothing to add."""
        is_value = key.adjustment == NO_ADJUSTMENT or key.adjustment in LEVELS
        return self.zeros is not None and is_value and not key.row.by_answers

    def _zeros(self, key: Key) -> int:
        """Return how many queries without any answer count as 0."""
        return self.zeros or 0 if self._counts_zeros(key) else 0

    def _by_group(self, values: npt.NDArray[Any]) -> FloatArray:
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
        counts = self.answers > 0 if self.zeros is None else np.ones(len(self.queries))
        numbers: list[int] = self._by_group(counts).astype(int).tolist()
        return numbers

    def of_group(self, place: int) -> AnsweredQueries:
        """Return the queries of one group."""
        group_of_query: Any = self.group_of_query
        (chosen,) = np.nonzero(group_of_query[self.graded.codes] == place)
        none = np.zeros(len(chosen), np.int64)  # No query without answers has a group.
        return self._with_ranks(self.ranks[chosen]._with({"without_answers": none}))

    def _with_ranks(self, ranks: Ranks) -> AnsweredQueries:
        """Return some of the answers, which have these ranks."""
        answered = AnsweredQueries(ranks, rules=self.rules)
        # err@k stops by the highest of all gains, not by that of this part.
        answered.graded.highest = self.graded.highest
        return answered

    @cached_property
    def summary(self) -> Summary:  # type: ignore[override]
        """The numbers of right answers and of ties; what no list names is in no tie."""
        summary = summary_of(self.ranks[self.is_right])
        if len(self.candidates):  # A list counts here with all that it misses.
            fewest = int(self.candidates.min())
            most = int(self.candidates.max())
            summary = summary._replace(candidates_min=fewest, candidates_max=most)
        return summary

    @cached_property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The numbers of queries and right answers, what lists miss, and the longest list."""
        missed = None
        longest = None
        answers = int(np.count_nonzero(self.is_right))
        if self.ranks.listed is not None and answers:
            missed = float(1 - self.ranks.listed[self.is_right].mean())
            longest = None if self.ranks.lengths is None else int(self.ranks.lengths.max())
        below_level = len(self.queries) - len(self.right.queries)
        return {
            "queries": self.sides.counts[ALL_SIDES],
            "without_answers": count_without_answers(self.ranks) + below_level,
            "misses": self.rules.misses,
            "answers": answers,
            "missed": missed,
            "longest": longest,
            "relevance_level": self.rules.relevance_level,
            "answerless": self.rules.answerless,
        }

    def find(self, names: Sequence[str]) -> list[Graded]:
        """List what makes the numbers suspect, by some checks or by all."""
        checks = [check for check in CHECKS if not names or check in names]
        graded: list[Graded] = []
        tied = self.summary.tied_tasks
        if tied and (not names or "ties" in names):
            moved, words = self._moved_by_ties()
            graded += grade([("ties", moved, tied, words)])
        if checks:
            graded += graded_findings(Counted(self.ranks.with_labels(side=None), 0), checks)
        lists = _left_over(self.list_use)
        lists += _short_lists(self.longest_list, self.summary.candidates_min)
        share = self.known_in_lists / max(self.names_in_lists, 1)
        if share > MUCH_KNOWN:
            message = f"{percent(share)} of what lists name is known, and not counted"
            lists.append(Finding("known in lists", self.known_in_lists, message))
        for finding in lists:
            if not names or finding.name in names:
                graded.append((finding.count, finding))
        return graded

    def _moved_by_ties(self) -> tuple[float, str]:
        """Find the metric that ties move most; misses are no ties, and count as 0."""
        counted = self
        over = ""
        if misses_differ(self.facts):
            counted = AnsweredQueries(self.ranks, rules=self.rules._replace(misses="zero"))
            over = " where misses count as 0"
        metrics = [
            {kind: f"{kind}.{metric}".removeprefix(f"{EXPECTED_KIND}.") for kind in ORDER_KINDS}
            for metric in FEW_METRICS
        ]
        return most_moved(metrics, EXPECTED_KIND, lambda key: counted.value(read_key(key)), over)

    # -- what inference takes ----------------------------------------------------------------------

    @property
    def group_codes(self) -> IntArray | None:  # type: ignore[override]
        """The group of each right answer."""
        return None if self.group_of_query is None else self.group_of_query[self.graded.codes]

    @property
    def paired_rules(self) -> Mapping[str, Any]:
        """How right answers count, which is equal in two models that are compared."""
        return {"gains": self.gains, "queries without answers": self.zeros}

    @property
    def model(self) -> AnsweredQueries:
        """The queries and their units, as inference takes them."""
        return self

    def with_ranks(self, ranks: Ranks) -> AnsweredQueries:
        """Return the same right answers in another order, with these ranks."""
        return self._with_ranks(ranks)

    def contributions(self, key: Key, codes: IntArray) -> Contributions:
        """Return what the queries of each unit add to a metric.

        Examples
        --------
        >>> ranks = Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> AnsweredQueries(ranks).contributions(read_key("map"), np.array([0, 0, 1])).tops
        array([0.75, 0.5 ])
        """
        codes = self.graded.of_queries(codes, "unit")
        answers, places = self._answers_of(key)
        columns = [*self.sums(key), *(self._spread(end, places) for end in answers.ends(key))]
        # The mean is over these queries alone.
        if places is not None and not self._counts_zeros(key):
            columns = [column[places] for column in columns]
            codes = codes_of(codes[places]).codes
        zeros = self._zeros(key)
        if zeros:  # Each of these queries is a unit of its own.
            added = np.array([0, 1, 0, 0])[:, None].repeat(zeros, axis=1)
            columns = [np.append(*pair) for pair in zip(columns, added, strict=True)]
            codes = np.append(codes, int(codes.max(initial=-1)) + 1 + np.arange(zeros))
        tops, bases, least, most = columns
        merits = tops if increasing(key) else -tops
        with np.errstate(all="ignore"):
            ends = sorted(float(end.sum() / bases.sum()) for end in (least, most))
            tops = sums_by_unit(codes, tops)
            bases = sums_by_unit(codes, bases)
            mean = float(tops.sum() / bases.sum())
        return Contributions(key, mean, mean, tops, bases, merits, (ends[0], ends[1]))


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
    gains = np.ones(len(ranks)) if ranks.gains is None else ranks.gains
    return gains >= level


def count_without_answers(ranks: Ranks) -> int:
    """Return how many queries had no right answer when the ranks were made.

    Examples
    --------
    >>> count_without_answers(Ranks([0, 3], [1, 1], 10))
    0
    """
    return 0 if ranks.without_answers is None else int(ranks.without_answers.sum())


def check_level(level: object, gains: FloatArray | None) -> float:
    """Check a relevance level: a finite number above 0, which one of the gains reaches.

    Examples
    --------
    >>> check_level(2, np.array([1.0, 3.0]))
    2.0
    """
    value = number("relevance_level", level)
    if not 0 < value < math.inf:
        expected = "a finite number above 0"
        raise InputValueError("relevance_level", expected=expected, got=f"{value:g}")
    highest = 1.0 if gains is None else gains.max(initial=0)
    # An empty part has no gains to compare with.
    if highest < value and (gains is None or len(gains)):
        expected = f"a level that a gain reaches, the highest of which is {highest:g}"
        raise InputValueError("relevance_level", expected=expected, got=f"{value:g}")
    return value


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
        found.append(Finding("missing lists", n, message))
    if use is not None and use.unused:
        n = len(use.unused)
        lists = format_count(n, "list")
        message = f"{lists} of queries without right answers, as {first_names(use.unused)}"
        found.append(Finding("unused lists", n, message))
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
    return [Finding("short lists", longest, message)]
