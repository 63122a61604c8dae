"""Queries with several right answers: what each adds to a metric, from the places of its answers.

Ranks say how answers count: by their gains, and by the rules in their protocol.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import metrics
from ..arrays.row_keys import codes_of, row_keys
from ..errors import InputValueError
from ..inputs.array_likes import checked_weights, read_only
from ..inputs.checks import choice
from ..inputs.rules import LISTED
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes
from . import answer_metrics
from .answer_metrics import BEYOND, Ties, hit_chances
from .averages import Sample
from .keys import ALL_SIDES, Key, fail
from .values import Sides, compute

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..ranks.protocol import Protocol
    from .contributions import Contributions

# These rules say how answers count; the first of each is the usual one.
GAINS = ("linear", "exponential", "binary")  # what becomes of gains
MISSES = ("zero", "bounds", "expected")  # what right answers count for that their lists miss
ANSWERLESS = ("omit", "zero")  # what becomes of queries without a right answer
_CHUNK = 1 << 15  # The ties of so many queries stay in the cache.
_MOST_EXPONENT = 1000  # The sum of many exponential gains is finite up to here, too.


class AnsweredQueries:
    """The answers of queries by grade, and what each query adds to the value of a key.

    Parameters
    ----------
    ranks : Ranks
        A task for each answer with a gain above 0, with labels of queries.
    highest : float, optional
        The highest gain, where that of all queries is above those of these.

    Attributes
    ----------
    unit : str
    ranks : Ranks
        With the number of right answers of the query of each task, and without the rules that are
        as usual.
    gains : ndarray of float64, shape (n,), or None
        What the answers count for; None: all the same.
    is_right : ndarray of bool, shape (n,)
        Whether their gains reach the relevance level.
    graded, right : RankedAnswers
        All answers with a gain, and those that are right.
    queries : list
        The label of each query that has an answer with a gain.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    without_answers : int
        The number of queries that have no right answer.
    zeros : int or None
        How many queries without any answer count as 0, beside those without a right one; None: all
        queries without a right answer are left out.

    Raises
    ------
    ValueError
        For counts that cannot come from one ranking of each query, for gains and rules that are
        none, and for a relevance level that no gain reaches.
    """

    unit = "query"

    def __init__(self, ranks: Ranks, highest: float | None = None) -> None:
        protocol = ranks.protocol
        gain = protocol.gain or GAINS[0]
        misses = protocol.misses or MISSES[0]
        answerless = protocol.answerless or ANSWERLESS[0]
        level = protocol.relevance_level or 0.0
        choice("gain", gain, GAINS)
        choice("answerless", answerless, ANSWERLESS)
        check_misses(misses, protocol)
        self.gains = counted_gains(ranks.gains, gain)
        gains = np.ones(len(ranks)) if ranks.gains is None else ranks.gains
        self.is_right = gains >= level
        self.graded = RankedAnswers(ranks, self.gains, misses)
        if highest is not None:
            self.graded.highest = highest
        self.queries = self.graded.queries
        self.candidates = self.graded.candidates
        self.right = self.graded
        self.answers = self.graded.answers
        # It has the positions of queries with a right answer; None stands for all.
        self._has_right: IntArray | None = None
        if not self.is_right.all():
            self.right = RankedAnswers(ranks[self.is_right], None, misses)
            self._has_right = self.graded.codes[self.is_right][self.right.first]
            self.answers = read_only(self._spread(self.right.answers, self._has_right))
        unanswered = 0 if ranks.without_answers is None else int(ranks.without_answers.sum())
        none_right = len(self.queries) - len(self.right.queries)
        self.without_answers = unanswered + none_right
        self.zeros = unanswered if answerless == "zero" else None
        # Queries that have answers, none of which is right, count as 0, too.
        self.zeros_in_all = 0 if self.zeros is None else self.without_answers
        rules: dict[str, Any] = {
            # Without gains there is nothing for this rule to decide, and likewise below.
            "gain": None if ranks.gains is None or gain == GAINS[0] else gain,
            "misses": None if ranks.listed is None or misses == MISSES[0] else misses,
            "relevance_level": level or None,
            "answerless": None if answerless == ANSWERLESS[0] else answerless,
        }
        if any(getattr(protocol, name) != rule for name, rule in rules.items()):
            ranks = ranks._with(protocol=dataclasses.replace(protocol, **rules))
        answers = read_only(self.graded.answers)
        self.ranks = ranks._with({"answers": answers[self.graded.codes]})

    def with_ranks(self, ranks: Ranks) -> AnsweredQueries:
        """Return some of the answers, or all in another order, which have these ranks."""
        # err@k stops by the highest of all gains, not by that of this part.
        return AnsweredQueries(ranks, self.graded.highest)

    def part(self, tasks: IntArray) -> AnsweredQueries:
        """Return some of the answers, of which no query is without any."""
        ranks = self.ranks[tasks]
        return self.with_ranks(ranks._with({"without_answers": np.zeros(len(ranks), np.int64)}))

    @property
    def sides(self) -> Sides:
        """The number of queries, which have no sides."""
        return Sides({ALL_SIDES: len(self.right.queries) + self.zeros_in_all})

    @property
    def paired_rules(self) -> dict[str, Any]:
        """How right answers count, which is equal in two models that are compared."""
        return {"gains": self.gains, "queries without answers": self.zeros}

    # -- values ------------------------------------------------------------------------------------

    def value(self, key: Key) -> float:
        """Return the mean over queries, or the median."""
        if key.row.mean is not None:
            return compute(key, self.first_places(key))
        tops, bases = self.sums(key)
        return float(quotients(tops.sum(), bases.sum() + self._zeros(key)))

    def per_query(self, key: Key) -> FloatArray:
        """Return the value of a key for each query: float64, shape (q,)."""
        return quotients(*self.sums(key))

    def values_within(self, key: Key, codes: IntArray, groups: int) -> FloatArray:
        """Return the value of a key in each group of queries, by the group of each query."""
        if key.row.mean is not None:
            places = self.first_places(key).ranks
            return metrics.contributions.medians_within(places, self.with_right(codes), groups)
        tops, bases = self.sums(key)
        return quotients(np.bincount(codes, tops, groups), np.bincount(codes, bases, groups))

    def sizes_within(self, side: str, codes: IntArray, groups: int) -> IntArray:
        """Return the number of queries in each group, by the group of each query."""
        self.sides.check(side, side)
        if self.zeros is None:
            codes = codes[self.answers > 0]
        return np.bincount(codes, minlength=groups)

    def codes_of_units(self, codes: IntArray, argument: str) -> IntArray:
        """Return the label of each query, from those of its answers, which are the same."""
        return self.graded.of_queries(codes, argument)

    def sums(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """Return what each query adds to the two sums whose ratio is a value.

        It adds its value and 1, times its weight. A query without a right answer adds nothing, or 0
        to the first and 1 to the second.
        """
        draws = key.metric == "sampled_hits"  # of the other candidates
        if (draws or key.row.is_of_pairs) and self.ranks.protocol.candidates is None:
            why = "of lists it depends on what there was to order, which "
            why += "retrieval.Task(..., candidates=...) says: {query: [...]}, as impressions, "
            why += '"listed", or "all" where lists are complete'
            fail(str(key), why)
        answers, places = self._answers_of(key)
        weights = answers.weights(key)
        tops = weights * answers.values(key, key.kind)
        base_of_others = float(self._counts_zeros(key))
        return self._spread(tops, places), self._spread(weights, places, base_of_others)

    def contributions(self, key: Key, codes: IntArray) -> Contributions:
        """Return what the queries of each unit add to a metric.

        Examples
        --------
        >>> from truerank.metrics.keys import parse
        >>> ranks = Ranks([0, 3, 1], [1, 1, 1], 10, queries=[7, 7, 8])
        >>> AnsweredQueries(ranks).contributions(parse("map", "query"), np.array([0, 0, 1])).tops
        array([0.75, 0.5 ])
        """
        codes = self.graded.of_queries(codes, "unit")
        answers, places = self._answers_of(key)
        best = answers.values(key, "optimum")
        worst = np.zeros_like(best)
        if not key.row.increasing:
            worst += answers.candidates - answers.answers + 1
        weights = answers.weights(key)
        tops, bases = self.sums(key)
        least, most = (self._spread(weights * end, places) for end in (worst, best))
        columns = [tops, bases, least, most]
        has_weight = bases > 0  # The mean is over these queries alone.
        if not has_weight.all():
            columns = [column[has_weight] for column in columns]
            codes = codes_of(codes[has_weight]).codes
        zeros = self._zeros(key)
        if zeros:  # Each of these queries is a unit of its own.
            added = np.array([0, 1, 0, 0])[:, None].repeat(zeros, axis=1)
            columns = [np.append(*pair) for pair in zip(columns, added, strict=True)]
            codes = np.append(codes, int(codes.max(initial=-1)) + 1 + np.arange(zeros))
        tops, bases, least, most = columns
        # Infinite places have no differences.
        merits = tops if key.row.increasing else np.maximum(-tops, -1e300)
        with np.errstate(all="ignore"):
            ends = sorted(float(end.sum() / bases.sum()) for end in (least, most))
            tops = metrics.contributions.sums_by_unit(codes, tops)
            bases = metrics.contributions.sums_by_unit(codes, bases)
            mean = float(tops.sum() / bases.sum())
        if not math.isfinite(mean):  # Of mr, where a list misses all right answers.
            mean = math.nan
        return metrics.contributions.Contributions(
            key, mean, mean, tops, bases, merits, (ends[0], ends[1])
        )

    def first_places(self, key: Key) -> Sample:
        """Return the place of the first right answer of each query that has one."""
        return Sample(self.right.values(key, key.kind), self.right.candidates)

    def with_right(self, codes: IntArray) -> IntArray:
        """Return the labels of the queries that have a right answer, from those of all."""
        return codes if self._has_right is None else codes[self._has_right]

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
        """Whether queries without answers move a value: they have no pairs, and no first place."""
        has_zeros = bool(key.row.increasing) and not key.row.is_of_pairs
        return self.zeros is not None and has_zeros

    def _zeros(self, key: Key) -> int:
        """Return how many queries without any answer count as 0."""
        return self.zeros or 0 if self._counts_zeros(key) else 0

    def success_at(self, cutoffs: Sequence[int], order: str) -> FloatArray:
        """Return success@k for many k under an order of ties."""
        ties = self.right.ties(order)
        first = [column[ties.starts] for column in (ties.above, ties.size, ties.right)]
        return self._success(cutoffs, *first)

    def success_by_chance(self, cutoffs: Sequence[int]) -> FloatArray:
        """Return success@k for many k where all candidates of each query are one tie."""
        candidates = self.right.candidates
        return self._success(cutoffs, np.zeros_like(candidates), candidates, self.right.answers)

    def _success(self, cutoffs: Sequence[int], *first: IntArray) -> FloatArray:
        """Return success@k from the first tie of each query: what is above, its size, its answers.

        Queries whose first ties are alike are computed once.
        """
        codes = codes_of(*first)
        counts = codes.counts()
        where = codes.first()
        above, size, right = (column[where] for column in first)
        hits = [counts @ hit_chances(size, right, np.clip(k - above, 0, size)) for k in cutoffs]
        shares: FloatArray = np.array(hits) / (counts.sum() + self.zeros_in_all)
        return shares


def quotients(tops: Any, bases: Any) -> FloatArray:
    """Divide sums; nan where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: FloatArray = np.divide(tops, bases)
    return ratios


class RankedAnswers:
    """The right answers of some queries, sorted by query, place and falling gain.

    Parameters
    ----------
    ranks : Ranks
        A task for each right answer, with labels of queries; no right answer is filtered.
    gains : ndarray of float64, shape (n,), or None
        Their gains, above 0. None: all are 1.
    misses : {"zero", "bounds", "expected"}
        Which places a right answer gets that its list misses: none; those that the list leaves,
        first or last in an order that puts ties so; or all of these, equally likely, in any order.

    Attributes
    ----------
    queries : list
        The label of each query: ids ascend, names are in the order of their vocabulary.
    codes : ndarray of int64, shape (n,)
        The query of each task, as a position in `queries`.
    first : ndarray of int64, shape (q,)
        A task of each query.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    highest : float
        The highest gain; for a group of queries that of all groups.

    Raises
    ------
    ValueError
        For counts that cannot come from one ranking of each query.
    """

    def __init__(self, ranks: Ranks, gains: FloatArray | None, misses: str) -> None:
        self.codes, self.queries = group_codes(ranks, "queries")
        gain = np.ones(len(ranks)) if gains is None else gains
        level = _levels(gain)
        missed = np.zeros(len(ranks), np.bool_) if ranks.listed is None else ~ranks.listed
        tied = ranks.tied
        candidates = ranks.candidates
        last = candidates - 1  # A NaN that is ranked last has this place.
        # All that the list of a query misses comes last, too.
        if ranks.protocol.candidates == LISTED:
            misses_of_query = np.bincount(self.codes, missed).astype(np.int64)[self.codes]
            last = last - missed
            tied = np.where(missed, misses_of_query, tied)
            candidates = candidates - missed + misses_of_query
        is_beyond = missed & (misses == "zero")
        above = np.where(is_beyond, BEYOND, ranks.above)

        columns = [self.codes, is_beyond.astype(np.int64), ranks.above, level]
        order = np.argsort(row_keys(columns), kind="stable")
        self._query = self.codes[order]
        self._above = above[order]
        self._tied = tied[order]
        self._level = level[order]
        self._gain = gain[order]
        self._stays_tied = missed[order] & (misses == "expected")
        is_first = np.diff(self._query, prepend=-1) != 0
        self._starts = np.flatnonzero(is_first)
        self._ties = np.flatnonzero(is_first | (np.diff(self._above, prepend=-1) != 0))
        right_of_tie = np.diff(self._ties, append=len(order))
        # It counts the right answers in each answer's tie.
        self._right = np.repeat(right_of_tie, right_of_tie)
        # It is each answer's place among them.
        self._place = np.arange(len(order)) - np.repeat(self._ties, right_of_tie)
        self.highest = float(gain.max(initial=0))
        self.first = order[self._starts]
        self.answers = read_only(np.diff(self._starts, append=len(order)))
        self.candidates = read_only(candidates[self.first])
        self._ties_by_order: dict[str, Ties] = {}
        self._values: dict[tuple[Key, str], FloatArray] = {}
        self._check(candidates[order], last[order], ranks.protocol.nan)

    def ties(self, order: str) -> Ties:
        """Return the ties under an order.

        Parameters
        ----------
        order : {"expected", "optimistic", "pessimistic", "optimum"}
            The ties as they are; right answers first, those of the highest gains before others;
            right answers last, those of the lowest gains before others; the best order of all.
        """
        if order not in self._ties_by_order:
            self._ties_by_order[order] = self._ties_under(order)
        return self._ties_by_order[order]

    def _ties_under(self, order: str) -> Ties:
        number = len(self._above)
        above = self._above
        tied = self._tied
        gain = self._gain
        first = self._ties  # They are the positions of each tie's first answer.
        # Some of the answers that lists miss stay tied with others; all else is a tie of its own.
        is_alone = ~self._stays_tied
        if order == "expected":
            is_alone = np.zeros(number, np.bool_)
        elif order == "optimum":
            is_alone = np.ones(number, np.bool_)
            above = np.arange(number) - np.repeat(self._starts, self.answers)
            gain = gain[np.argsort(row_keys([self._query, self._level]), kind="stable")]
        elif order == "optimistic":
            above = above + is_alone * self._place
        else:
            above = above + is_alone * (tied - self._right + self._place)
            # Within a tie the gains are taken backwards.
            gain = gain[np.arange(number) + self._right - 1 - 2 * self._place]
        begins = is_alone.copy()
        begins[first] = True
        ties = np.flatnonzero(begins)
        size = np.where(is_alone, 1, tied)[ties]
        return Ties(
            above=above[ties],
            size=size,
            right=np.diff(ties, append=number),
            gain=np.add.reduceat(gain, ties),
            starts=np.searchsorted(ties, self._starts),
            answers=self.answers,
            candidates=self.candidates,
            most=self.highest,
        )

    def values(self, key: Key, order: str) -> FloatArray:
        """Return the value of a metric for each query under an order; each is computed once."""
        metric_and_order = key.alone, order
        if metric_and_order not in self._values:
            self._values[metric_and_order] = read_only(self._compute(key, order))
        return self._values[metric_and_order]

    def _compute(self, key: Key, order: str) -> FloatArray:
        metric = key.row
        parameter = key.parameter
        # The parameter is a cutoff, and 0 where there is none.
        if metric.parameter.strip("[]") in ("", "@k"):
            parameter = int(min(parameter or BEYOND, BEYOND))
        values_of = getattr(answer_metrics, metric.of_queries)
        ties = self.ties(order)
        number = len(self.queries)
        values = np.empty(number)
        for start in range(0, number, _CHUNK):
            stop = min(start + _CHUNK, number)
            values[start:stop] = values_of(ties.of_queries(start, stop), parameter)
        if key.metric == "ndcg":
            values /= self.values(dataclasses.replace(key, metric="dcg"), "optimum")
        return values

    def weights(self, key: Key) -> FloatArray:
        """What queries count in means: 0 in those over pairs, where no candidate is wrong."""
        if not key.row.is_of_pairs:
            return np.ones(len(self.queries))
        has_pairs = (self.candidates > self.answers).astype(np.float64)
        return has_pairs * self.candidates if key.row.by_candidates else has_pairs

    def of_queries(self, codes: IntArray, argument: str = "by") -> IntArray:
        """Return the label of each query from those of its right answers, which are the same."""
        of_query: IntArray = codes[self.first]
        unlike = codes != of_query[self.codes]
        if unlike.any():
            query = self.queries[self.codes[int(unlike.argmax())]]
            got = f"several for query {query!r}"
            raise InputValueError(argument, expected="one label for each query", got=got)
        return of_query

    def _check(self, candidates: IntArray, last: IntArray, nan: str) -> None:
        """Check that the counts of each query come from one ranking, and place its worst NaN."""
        above = self._above
        tied = self._tied
        # Such a NaN counts as tied with no other, while several share the last places.
        if nan == "worst":
            bottom = (above == last) & (self._right > tied)
            above[bottom] -= self._right[bottom] - 1
            tied[bottom] = self._right[bottom]
        gap = np.diff(above)
        fits = np.where(gap == 0, tied[1:] == tied[:-1], gap >= tied[:-1])
        fits &= candidates[1:] == candidates[:-1]
        wrong = self._place >= tied
        wrong[1:] |= ~fits & (self._query[1:] == self._query[:-1])
        if wrong.any():
            i = int(wrong.argmax())
            two = [f"{above[j]} above and {tied[j]} tied of {candidates[j]}" for j in (i - 1, i)]
            expected = "one ranking of each query, each right answer once and none of them filtered"
            got = f"{' beside '.join(two)} (query {self.queries[self._query[i]]!r})"
            raise InputValueError("ranks", expected=expected, got=got)


def _levels(gains: FloatArray) -> IntArray:
    """Return integers from 0 on in the opposite order of some positive gains, small if they are."""
    most = gains.max(initial=0)
    # Gains are nearly always small whole grades.
    if most < 1 << 16 and (gains == gains.astype(np.int64)).all():
        levels: IntArray = (most - gains).astype(np.int64)
    else:
        levels = np.unique(-gains, return_inverse=True)[1]  # by numpy: floats
    return levels


def checked_gains(gains: object, length: int, most: float = math.inf) -> FloatArray:
    """Check the gains of right answers, which are above 0.

    Examples
    --------
    >>> checked_gains([1, 3], 2)
    array([1., 3.])
    """
    array = checked_weights(gains, length=length, name="gains", each="right answer")
    wrong = (array <= 0) | (array > most)
    if wrong.any():
        i = int(wrong.argmax())
        expected = "numbers above 0"
        if most < math.inf:
            expected += f", at most {most} as 2^g counts"
        raise InputValueError("gains", expected=expected, got=f"{array[i]} at position {i}")
    return array


def counted_gains(gains: FloatArray | None, gain: str) -> FloatArray | None:
    """Check the gains of right answers, and return what they count for; None: all the same.

    Examples
    --------
    >>> counted_gains(np.array([1.0, 3.0]), "exponential")
    array([1., 7.])
    """
    if gains is None:
        return None
    is_exponent = gain == "exponential"
    array = checked_gains(gains, len(gains), _MOST_EXPONENT if is_exponent else math.inf)
    if gain == "binary":
        return None
    counted = read_only(2.0**array - 1) if is_exponent else array
    with np.errstate(over="ignore"):
        total = counted.sum()
    if not np.isfinite(total):
        got = f"up to {array.max()}"
        raise InputValueError("gains", expected="numbers whose sum is finite", got=got)
    return counted


def check_misses(misses: str, protocol: Protocol) -> None:
    """Check what right answers count for that their lists miss."""
    choice("misses", misses, MISSES)
    if misses != "zero" and protocol.candidates == LISTED:
        expected = f'"zero", as the candidates are {LISTED}: there are no others to be tied with'
        raise InputValueError("misses", expected=expected, got=repr(misses))
