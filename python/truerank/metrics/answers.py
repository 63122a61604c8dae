"""Queries with several right answers: what each is worth under a key, from the places of these.

Ranks say how answers count: by their gains, and by the rules in their protocol.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import factorize, row_keys, sorted_with_order
from ..errors import InputValueError, Option, warn_user
from ..inputs.array_likes import checked_weights, read_only
from ..inputs.checks import choice, instance
from ..inputs.rules import LISTED
from ..naming import format_count
from ..ranks.container import Ranks, check_number
from ..ranks.grouping import group_codes
from ..ranks.protocol import HITS
from .answer_metrics import ANSWER_KEYS, BEYOND, ORDER_KINDS, Ties, hit_chances
from .keys import Key, fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from ..ranks.protocol import Protocol

# These rules say how answers count; the first of each is the usual one.
GAINS = ("linear", "exponential", "binary")  # what becomes of gains
MISSES = ("zero", "bounds", "expected")  # what right answers count for that their lists miss
ANSWERLESS = ("omit", "zero")  # what becomes of queries without a right answer
_CHUNK = 1 << 15  # The ties of so many queries stay in the cache.
_MOST_EXPONENT = 1000  # The sum of many exponential gains is finite up to here, too.


class Answers:
    """The answers of queries that have a gain, sorted by query, place and falling gain.

    The ranks have a task for each answer with a gain above 0, with labels of queries; no right
    answer is filtered. Refused are counts that cannot come from one ranking of each query, gains
    and rules that are none, and a relevance level that no gain reaches. The attributes:

    - ranks: with the numbers of answers that were ranked with each query, `answers` and `as_good`,
      which are of these answers where the ranks do not say them; without rules that are as usual
    - gains, shape (n,): what the answers count for; None: all the same
    - highest: what the highest grade of all queries counts for, of which these may be a part
    - queries: the label of each; ids ascend, names are in the order of their vocabulary
    - codes, shape (n,): the query of each task, as a position in `queries`
    - first, shape (q,): a task of each query
    - numbers, candidates, shape (q,): of these answers, and of candidates
    - is_right, shape (n,): whether the gains reach the relevance level
    - right: the Answers that are right, with equal gains; these themselves where all are
    - places_with_right, shape (r,) or a slice: where the queries are that have a right answer
    - counted, without_answers: how many queries count, and have no right answer
    - zeros: how many queries without any answer count as 0, beside those without a right one; None:
      all queries without a right answer are left out
    """

    grammar = ANSWER_KEYS

    def __init__(self, ranks: Ranks) -> None:
        protocol = ranks.protocol
        gain = protocol.gain or GAINS[0]
        misses = protocol.misses or MISSES[0]
        answerless = protocol.answerless or ANSWERLESS[0]
        choice("gain", gain, GAINS)
        choice("answerless", answerless, ANSWERLESS)
        check_misses(misses, protocol, ranks.candidates.all())
        self.gains = counted_gains(ranks.gains, gain)
        gains = np.ones(len(ranks)) if self.gains is None else self.gains
        self.highest = float(gains.max(initial=0))
        if protocol.highest_grade is not None:  # These ranks may be a part.
            highest = counted_gains(np.array([protocol.highest_grade]), gain)
            self.highest = max(self.highest, 1.0 if highest is None else float(highest[0]))
        self.codes, self.queries = group_codes(ranks, "queries")
        self._sort(ranks, gains, misses)
        self._ties_by_order: dict[str, Ties] = {}
        self._values: dict[Any, FloatArray] = {}
        if ranks.answers is None:
            # The answers of each one's query, and those of it that have at least its gain.
            counts = {"answers": self.numbers[self.codes]}
            if ranks.gains is not None:
                grades = factorize(self.codes, falling_order(ranks.gains))  # of each query
                as_good = np.cumsum(grades.counts())[grades.codes]
                counts["as_good"] = as_good - self._bounds_of_queries[self.codes]
            ranks = ranks._with(counts)
        self.is_right = np.ones(len(ranks), np.bool_)
        if ranks.gains is not None:
            self.is_right = ranks.gains >= (protocol.relevance_level or 0.0)
        self.right = self
        self.places_with_right: IntArray | slice = slice(len(self.queries))
        if not self.is_right.all():
            equal = dataclasses.replace(protocol, gain="binary", relevance_level=None)
            self.right = Answers(ranks[self.is_right]._with(protocol=equal))
            self.places_with_right = self.codes[self.is_right][self.right.first]
        without_any = 0 if ranks.without_answers is None else int(ranks.without_answers.sum())
        self.without_answers = without_any + len(self.queries) - len(self.right.queries)
        self.zeros = None
        self.counted: int = len(self.right.queries)
        if answerless == "zero":  # Queries that have answers, none of which is right, are 0, too.
            self.zeros = without_any
            self.counted += self.without_answers
        self.ranks: Ranks = _without_usual_rules(ranks)
        if protocol.lists == HITS:
            keys = (f"recall@{protocol.depth}",)
            rows: Any = {"few": keys, "listed": keys, "listed_kinds": ORDER_KINDS[:1]}
            self.grammar = dataclasses.replace(ANSWER_KEYS, **rows)

    def _sort(self, ranks: Ranks, gains: FloatArray, misses: str) -> None:
        """Sort the answers, and check that the counts of each query come from one ranking."""
        is_missed = np.zeros(len(ranks), np.bool_) if ranks.listed is None else ~ranks.listed
        is_beyond = is_missed & (misses == "zero")
        gain_order = falling_order(gains)
        columns = [self.codes, is_beyond.astype(np.int64), ranks.above, gain_order]
        _, order = sorted_with_order(row_keys(columns))
        tied, candidates, last_places = self._count_with_missed(ranks, is_missed)
        candidates = candidates[order]
        self._query = self.codes[order]
        self._above = np.where(is_beyond, BEYOND, ranks.above)[order]
        self._tied = tied[order]
        self._gain = gains[order]
        self._gain_order = gain_order[order]
        self._stays_tied = is_missed[order] & (misses == "expected")
        # The answers of each query, and of each tie, follow each other.
        begins = np.ones(len(order) + 1, np.bool_)
        np.not_equal(self._query[1:], self._query[:-1], out=begins[1:-1])
        self._bounds_of_queries = np.flatnonzero(begins)
        begins[1:-1] |= self._above[1:] != self._above[:-1]
        self._bounds_of_ties = np.flatnonzero(begins)
        sizes = np.diff(self._bounds_of_ties)
        self._right_in_tie = np.repeat(sizes, sizes)
        self._place_in_tie = np.arange(len(order)) - np.repeat(self._bounds_of_ties[:-1], sizes)
        self.first = order[self._bounds_of_queries[:-1]]
        self.numbers = read_only(np.diff(self._bounds_of_queries))
        self.candidates = read_only(candidates[self._bounds_of_queries[:-1]])
        if ranks.protocol.nan == "worst":
            # Each NaN was counted in the last place, tied with no other: those of a query tie.
            is_nan = (self._above == last_places[order]) & (self._right_in_tie > self._tied)
            self._above[is_nan] -= self._right_in_tie[is_nan] - 1
            self._tied[is_nan] = self._right_in_tie[is_nan]
        self._check_rankings(candidates)

    def _count_with_missed(self, ranks: Ranks, is_missed: Any) -> tuple[IntArray, ...]:
        """Return how many tie with each answer, the candidates, and the last place of its list.

        Answers that a list misses tie with each other alone where the candidates are those of
        lists, which they join then, and where nobody said how many candidates there are.
        """
        candidates = ranks.candidates
        are_listed = ranks.protocol.candidates == LISTED
        is_number_given = ranks.tied.all()  # Else `tied` is 0 for each missed answer, and no other.
        if is_number_given and not are_listed:
            return ranks.tied, candidates, candidates - 1
        missed_of_query = np.bincount(self.codes, is_missed).astype(np.int64)[self.codes]
        tied = np.where(is_missed, missed_of_query, ranks.tied)
        if not are_listed:
            return tied, candidates, candidates - 1
        sizes_of_lists = candidates - is_missed  # A missed answer was ranked with the list.
        return tied, sizes_of_lists + missed_of_query, sizes_of_lists - 1

    def _check_rankings(self, candidates: IntArray) -> None:
        """Check that the counts of each query come from one ranking, of so many candidates."""
        above = self._above
        tied = self._tied
        is_same_query = self._query[1:] == self._query[:-1]
        # Neighbours are in one tie, or the next one begins behind it.
        gap = np.diff(above)
        agrees = np.where(gap == 0, tied[1:] == tied[:-1], gap >= tied[:-1])
        agrees &= candidates[1:] == candidates[:-1]
        is_wrong = self._place_in_tie >= tied
        is_wrong[1:] |= is_same_query & ~agrees
        if is_wrong.any():
            i = int(is_wrong.argmax())
            two = [f"{above[j]} above and {tied[j]} tied of {candidates[j]}" for j in (i - 1, i)]
            expected = "one ranking of each query, with each right answer once and unfiltered"
            got = f"{' beside '.join(two)} (query {self.queries[self._query[i]]!r})"
            raise InputValueError("ranks", expected=expected, got=got)

    def describe_lack(self, *, ignores_cuts: bool = False) -> tuple[int, str]:
        """Count the queries that lack answers which were ranked with them, and say it.

        A query that lacks its answers below some gain, and no other, was cut: somebody chose so.
        """
        ranked: Any = self.ranks.answers
        if ignores_cuts and self.ranks.as_good is not None:
            ranked = self.ranks.as_good
        ranked_of_query = np.zeros_like(self.numbers)
        np.maximum.at(ranked_of_query, self.codes, ranked)
        number = int(np.count_nonzero(ranked_of_query > self.numbers))
        verb, whom = ("lacks", "it") if number == 1 else ("lack", "them")
        share = f"{number:,} of {format_count(len(self.numbers), 'query')}"
        return number, f"{share} {verb} right answers that were ranked with {whom}"

    # -- queries -----------------------------------------------------------------------------------

    @property
    def right_numbers(self) -> IntArray:
        """The number of right answers of each query: int64, shape (q,), read-only."""
        numbers = np.zeros(len(self.queries), np.int64)
        numbers[self.places_with_right] = self.right.numbers
        return read_only(numbers)

    def labels(self, labels: IntArray, argument: str) -> IntArray:
        """Return the label of each query from those of its answers, which are the same.

        Behind them stands -1 for each query without any answer that counts as 0.
        """
        labels_of_queries: IntArray = labels[self.first]
        unlike = labels != labels_of_queries[self.codes]
        if unlike.any():
            query = self.queries[self.codes[int(unlike.argmax())]]
            got = f"several for query {query!r}"
            raise InputValueError(argument, expected="one label for each query", got=got)
        return np.append(labels_of_queries, np.full(self.zeros or 0, -1))

    # -- values ------------------------------------------------------------------------------------

    def unit_values(self, key: Key) -> tuple[FloatArray, FloatArray | None]:
        """Return what each query that counts adds, and the weights; None: all count once.

        These are the queries at `places`, and behind them those without any answer that count as 0.
        """
        metric = key.row
        only_key = self.grammar.few[0]
        if self.ranks.protocol.lists == HITS and key.text != only_key:
            fail(str(key), f"lists of an index have only {only_key}: they have no order")
        are_named = self.ranks.protocol.candidates is not None and self.candidates.all()
        if metric.needs_candidates and not are_named:
            why = "it depends on the candidates, which lists do not name"
            fail(str(key), why, [Option("candidates", effect="says among what lists were made")])
        answers = self if metric.of_gains else self.right
        values = answers.values(key, key.kind)
        if self._counts_zeros(key):  # All queries have a place then, and those behind them.
            places = slice(None) if metric.of_gains else self.places_with_right
            all_values = np.zeros(len(self.queries) + (self.zeros or 0))
            all_values[: len(self.queries)][places] = values
            values = all_values
        return values, answers.weights(key)

    def value_labels(self, key: Key, labels: IntArray) -> IntArray:
        """Return the label of each of `unit_values`; that of a query without any answer is -1."""
        return labels[self.places(key)]

    def best_value(self, key: Key) -> float:
        """Return the greatest value that the answers of a query, and the cutoff, allow."""
        answers = self if key.row.of_gains else self.right
        return float(np.fmax.reduce(answers.values(key, "optimum"), initial=0.0))

    def places(self, key: Key) -> IntArray | slice:
        """Return where the queries of `unit_values` are among all, of which `labels` has labels."""
        if self._counts_zeros(key):
            return slice(None)
        return slice(len(self.queries)) if key.row.of_gains else self.places_with_right

    def per_query(self, key: Key) -> FloatArray:
        """Return the value of a key for each query, nan where it does not count."""
        values, weights = self.unit_values(key)
        if weights is not None:
            values = np.where(weights > 0, values, np.nan)
        all_values = np.full(len(self.queries), np.nan)
        all_values[self.places(key)] = values[: len(self.queries)]  # Others have no answer at all.
        return all_values

    def _counts_zeros(self, key: Key) -> bool:
        """Whether queries without answers move a value: they have no pairs, and no first place."""
        return self.zeros is not None and bool(key.row.increasing) and not key.row.of_pairs

    def values(self, key: Key, order: str) -> FloatArray:
        """Return the value of each query of these answers under an order of ties; read-only."""
        values = self._values_under(key, order)
        if key.row.is_relative:
            return values / self._values_under(key, "optimum")
        return values

    def _values_under(self, key: Key, order: str) -> FloatArray:
        """Compute the values of a metric once, before they are divided by the best."""
        compute: Any = key.row.of_answers
        parameter = key.parameter
        if isinstance(parameter, int):  # It is a cutoff, or 0 where there is none.
            parameter = min(parameter or BEYOND, BEYOND)
        memo_key = compute, parameter, order
        if memo_key in self._values:
            return self._values[memo_key]
        ties = self.ties(order)
        if key.row.needs_order and ((ties.size > 1) & (ties.above < BEYOND)).any():
            bounds = "optimistic.err@k and pessimistic.err@k"
            if self._stays_tied.any():
                missed = f"{np.count_nonzero(self._stays_tied):,} of {len(self._stays_tied):,}"
                why = f"no closed form over right answers that lists miss ({missed}), which tie; "
                why += f"its bounds have one, {bounds} where misses have bounds, too"
                fail(str(key), why, [Option("misses", effect="says what these count")])
            fail(str(key), f"no closed form over ties: take {bounds}")
        number = len(self.queries)
        values = np.empty(number)
        for start in range(0, number, _CHUNK):
            stop = min(start + _CHUNK, number)
            values[start:stop] = compute(ties.of_queries(start, stop), parameter)
        self._values[memo_key] = read_only(values)
        return values

    def weights(self, key: Key) -> FloatArray | None:
        """What queries count in means: 0 in those over pairs, where no candidate is wrong."""
        if not key.row.of_pairs:
            return None
        has_pairs = (self.candidates > self.numbers).astype(np.float64)
        return has_pairs * self.candidates if key.row.by_candidates else has_pairs

    def ties(self, order: str) -> Ties:
        """Return the ties under an order, of the right answers: their best order is the "optimum".

        "expected" leaves the ties as they are; "optimistic" puts right answers first, those of the
        highest gains before others; "pessimistic" puts them last, those of the lowest gains first.
        """
        if order in self._ties_by_order:
            return self._ties_by_order[order]
        above, gain, is_alone = self._place_answers(order)
        begins = np.append(is_alone, True)
        begins[self._bounds_of_ties] = True
        bounds = np.flatnonzero(begins)  # where each tie begins, and the end
        ties = bounds[:-1]
        self._ties_by_order[order] = Ties(
            above=above[ties],
            size=np.where(is_alone, 1, self._tied)[ties],
            right=np.diff(bounds),
            gain=np.add.reduceat(gain, ties),
            indptr=np.searchsorted(bounds, self._bounds_of_queries),
            answers=self.numbers,
            candidates=self.candidates,
            most=self.highest,
        )
        return self._ties_by_order[order]

    def _place_answers(self, order: str) -> tuple[IntArray, FloatArray, npt.NDArray[np.bool_]]:
        """Return the candidates above each answer, its gain, and whether it is a tie of its own.

        In a tie of 5 with 2 right answers, these stand at its places 0 and 1 under the optimistic
        order, and at 3 and 4 under the pessimistic one, the highest gain last.
        """
        positions = np.arange(len(self._above))
        if order == "expected":
            return self._above, self._gain, np.zeros(len(positions), np.bool_)
        if order == "optimum":
            above = positions - np.repeat(self._bounds_of_queries[:-1], self.numbers)
            _, by_gain = sorted_with_order(row_keys([self._query, self._gain_order]))
            return above, self._gain[by_gain], np.ones(len(positions), np.bool_)
        above = self._above + self._place_in_tie
        gain = self._gain
        if order == "pessimistic":
            above = above + (self._tied - self._right_in_tie)
            # Within a tie the gains are taken backwards.
            first_of_tie = positions - self._place_in_tie
            last_of_tie = first_of_tie + self._right_in_tie - 1
            gain = gain[last_of_tie - self._place_in_tie]
        is_alone = ~self._stays_tied  # Some answers that lists miss stay tied under each order.
        return np.where(is_alone, above, self._above), gain, is_alone

    def success_at(self, cutoffs: Sequence[int], order: str) -> FloatArray:
        """Return success@k for many k under an order of ties."""
        ties = self.right.ties(order)
        first = [column[ties.indptr[:-1]] for column in (ties.above, ties.size, ties.right)]
        return self._success(cutoffs, *first)

    def success_by_chance(self, cutoffs: Sequence[int]) -> FloatArray:
        """Return success@k for many k where all candidates of each query are one tie."""
        candidates = self.right.candidates
        return self._success(cutoffs, np.zeros_like(candidates), candidates, self.right.numbers)

    def _success(self, cutoffs: Sequence[int], *first: IntArray) -> FloatArray:
        """Return success@k from the first tie of each query: what is above, its size, its answers.

        Queries whose first ties are alike are computed once.
        """
        ties = factorize(*first)
        counts = ties.counts()
        first_queries = ties.first()
        above, size, right = (column[first_queries] for column in first)
        hits = [counts @ hit_chances(size, right, np.clip(k - above, 0, size)) for k in cutoffs]
        shares: FloatArray = np.array(hits) / self.counted
        return shares


def read_answers(ranks: Any, weights: object, by: Any = None) -> Answers:
    """Check that ranks, or those of a report, are of queries with several right answers.

    Refused are weights, ranks without queries or filtered by their own answers; and where queries
    have groups, those without an answer that count as 0 and are in none of these.
    """
    ranks = getattr(ranks, "ranks", ranks)
    instance("ranks", ranks, Ranks, "Ranks or a Report")
    for name, each in (("ranks", ranks.weights), ("weights", weights)):
        if each is not None:
            raise InputValueError(name, expected="no weights, as every query counts once")
    if ranks.queries is None:
        raise InputValueError("ranks", expected="labels of queries", got="none")
    protocol = ranks.protocol
    if protocol.split is not None and protocol.split in protocol.filter:
        expected = "ranks without filtered right answers"
        raise InputValueError("ranks", expected=expected, got=f"ones filtered by {protocol.split}")
    answers = Answers(ranks)
    n_incomplete, problem = answers.describe_lack(ignores_cuts=True)
    if n_incomplete:
        warn_user("ranks", problem)
    n_apart = (answers.zeros or 0) - int(zeros_by_group(ranks, by).sum())
    if by is not None and n_apart > 0:
        queries = format_count(answers.zeros or 0, "query")
        problem = f"{queries} without a right answer count as 0, and of {n_apart:,} no group is "
        problem += "known that right answers have (a Task's groups are of all queries)"
        raise InputValueError("by", problem)
    return answers


def zeros_by_group(ranks: Ranks, by: Any) -> IntArray:
    """Return at the first task of each group how many known queries of it have no answer."""
    numbers = ranks.without_answers_by_group
    if numbers is None or not isinstance(by, str) or by != "group":
        return np.zeros(len(ranks), np.int64)
    return numbers


def _without_usual_rules(ranks: Ranks) -> Ranks:
    """Return ranks whose protocol lacks the rules that are usual, or have nothing to decide."""
    protocol = ranks.protocol
    usual = {
        "gain": GAINS[0],
        "misses": MISSES[0],
        "answerless": ANSWERLESS[0],
        "relevance_level": 0,
    }
    needless = {name for name, rule in usual.items() if getattr(protocol, name) == rule}
    if ranks.gains is None:
        needless.add("gain")
    if ranks.listed is None:
        needless.add("misses")
    if all(getattr(protocol, name) is None for name in needless):
        return ranks
    fields: dict[str, Any] = dict.fromkeys(needless)
    return ranks._with(protocol=dataclasses.replace(protocol, **fields))


def falling_order(gains: FloatArray) -> IntArray:
    """Return integers in the opposite order of gains, equal where these are."""
    most = gains.max(initial=0)
    if most < 1 << 16 and (gains == gains.astype(np.int64)).all():  # They are usual grades.
        order: IntArray = (most - gains).astype(np.int64)
        return order
    return np.unique(-gains, return_inverse=True)[1]  # by numpy: floats


def counted_gains(gains: FloatArray | None, gain: str) -> FloatArray | None:
    """Check the gains of right answers, and return what they count for; None: all the same.

    >>> counted_gains(np.array([1.0, 3.0]), "exponential")
    array([1., 7.])
    """
    if gains is None:
        return None
    is_exponent = gain == "exponential"
    most = _MOST_EXPONENT if is_exponent else math.inf
    array = checked_weights(gains, length=len(gains), name="gains", each="right answer")
    is_wrong = (array <= 0) | (array > most)
    if is_wrong.any():
        i = int(is_wrong.argmax())
        expected = "numbers above 0"
        if is_exponent:
            expected += f", at most {most} as 2^g counts"
        raise InputValueError("gains", expected=expected, got=f"{array[i]} at position {i}")
    if gain == "binary":
        return None
    counted = read_only(2.0**array - 1) if is_exponent else array
    with np.errstate(over="ignore"):
        total = counted.sum()
    if not np.isfinite(total):
        got = f"up to {array.max()}"
        raise InputValueError("gains", expected="numbers whose sum is finite", got=got)
    return counted


def check_misses(misses: str, protocol: Protocol, has_number: object) -> None:
    """Check what right answers count for that their lists miss, of so many candidates or not."""
    choice("misses", misses, MISSES)
    if misses != "zero" and protocol.candidates == LISTED:
        expected = f"none, as the candidates are {LISTED}: no other candidates tie with a miss"
        raise InputValueError("misses", expected=expected, got=repr(misses))
    check_number(has_number or misses == MISSES[0], "misses", f"what {misses!r} counts")
