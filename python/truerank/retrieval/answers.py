"""The ties of each query that hold right answers under each kind of order, and their values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import checked_weights, read_only
from ..inputs.errors import InputValueError
from ..inputs.row_keys import row_keys
from ..inputs.words import LISTED
from ..ranks.grouping import group_codes

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..metrics.keys import Key
    from ..ranks.container import Ranks

LEVELS = ("chance", "optimum")  # what a value is compared with; they are no kinds, but have none
GAINS = ("linear", "exponential", "binary")  # what becomes of gains
BEYOND = 1 << 62  # a place behind all others, and the cutoff that leaves out none of them
_CHUNK = 1 << 15  # queries whose ties are in a cache at a time
_MOST_EXPONENT = 1000  # of exponential gains, so that the sum of many is finite, too


class Ties(NamedTuple):
    """Ties that hold right answers, query by query and best first, in a ranking of all candidates.

    Every order of a tie is equally likely. A tie of right answers alone has no order that matters.

    Attributes
    ----------
    above : ndarray of int64, shape (m,)
        The candidates above the tie.
    size : ndarray of int64, shape (m,)
        The candidates in the tie.
    right : ndarray of int64, shape (m,)
        The right answers among them, at least 1.
    gain : ndarray of float64, shape (m,)
        The sum of the gains of the right answers in the tie.
    starts : ndarray of int64, shape (q,)
        The first tie of each query.
    answers, candidates : ndarray of int64, shape (q,)
        The right answers of each query, at least 1, and its candidates, these among them.
    judged : ndarray of int64, shape (3, m), or (3, 0) where nothing is known of them
        How many documents that are judged not to be right answers are above the tie, in it, and
        among all candidates of its query.
    lengths : ndarray of int64, shape (q,)
        How many candidates the list of each query has; all, where lists are not all there is.
    most : float
        The highest gain of all right answers of all queries.
    """

    above: IntArray
    size: IntArray
    right: IntArray
    gain: FloatArray
    starts: IntArray
    answers: IntArray
    candidates: IntArray
    judged: IntArray
    lengths: IntArray
    most: float

    def of_queries(self, first: int, stop: int) -> Ties:
        """Return the ties of the queries from `first` up to `stop`, without a copy of them."""
        starts = self.starts[first:stop]
        end = self.starts[stop] if stop < len(self.starts) else len(self.above)
        ties = slice(starts[0], end)
        return Ties(
            above=self.above[ties],
            size=self.size[ties],
            right=self.right[ties],
            gain=self.gain[ties],
            starts=starts - starts[0],
            answers=self.answers[first:stop],
            candidates=self.candidates[first:stop],
            judged=self.judged[:, ties],
            lengths=self.lengths[first:stop],
            most=self.most,
        )

    def for_ties(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return for each tie the value of its query."""
        return np.repeat(values, np.diff(self.starts, append=len(self.above)))

    def right_above(self) -> IntArray:
        """Return for each tie the number of right answers in the ties above it."""
        before = np.cumsum(self.right) - self.right
        above: IntArray = before - self.for_ties(before[self.starts])
        return above

    def sum_by_query(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return for each query the sum of the values of its ties."""
        sums: FloatArray = np.add.reduceat(values, self.starts)
        return sums


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
        gain = gains
        if gain is None:
            gain = np.ones(len(ranks))
        level = _levels(gain)
        missed = np.zeros(len(ranks), np.bool_) if ranks.listed is None else ~ranks.listed
        tied = ranks.tied
        candidates = ranks.candidates
        last = candidates - 1  # the place of a NaN that is ranked last
        if ranks.protocol.candidates == LISTED:  # and what the list of a query misses, all of it
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
        self._right = np.diff(self._ties, append=len(order))  # of each tie
        self._place = np.arange(len(order)) - np.repeat(self._ties, self._right)  # within the tie
        self.highest = float(gain.max(initial=0))
        self.first = order[self._starts]
        self.answers = np.diff(self._starts, append=len(order))
        self.candidates = candidates[self.first]
        self._lengths = self.candidates
        if ranks.lengths is not None and misses == "zero":
            self._lengths = ranks.lengths[self.first]
        self._judged: IntArray | None = (
            None if ranks.judged is None else ranks.judged.counts(ranks.above)[:, order]
        )
        self._ties_by_order: dict[str, Ties] = {}
        self._values: dict[tuple[Key, str], FloatArray] = {}
        self._check(candidates[order], last[order], ranks.protocol.nan)

    def ties(self, order: str) -> Ties:
        """Return the ties under an order.

        Parameters
        ----------
        order : {"expected", "optimistic", "pessimistic", "chance", "optimum"}
            The ties as they are; right answers first, those of the highest gains before others;
            right answers last, those of the lowest gains before others; a random order of all
            candidates; the best order of all.
        """
        if order == "chance":
            return self._one_tie_for_each()
        number = len(self._above)
        above = self._above
        gain = self._gain
        # the right answers in a tie of their own; some that lists miss stay tied with others
        if order == "expected":
            alone = np.zeros(number, np.bool_)
        elif order == "optimum":
            alone = np.ones(number, np.bool_)
            above = np.arange(number) - np.repeat(self._starts, self.answers)
            gain = gain[np.argsort(row_keys([self._query, self._level]), kind="stable")]
        elif order == "optimistic":
            alone = ~self._stays_tied
            above = above + alone * self._place
        else:
            alone = ~self._stays_tied
            right = np.repeat(self._right, self._right)
            above = above + alone * (self._tied - right + self._place)
            gain = gain[np.arange(number) + right - 1 - 2 * self._place]  # backwards
        begins = alone.copy()
        begins[self._ties] = True
        ties = np.flatnonzero(begins)
        size = np.where(alone, 1, self._tied)[ties]
        return Ties(
            above=above[ties],
            size=size,
            right=np.diff(ties, append=number),
            gain=np.add.reduceat(gain, ties),
            starts=np.searchsorted(ties, self._starts),
            answers=self.answers,
            candidates=self.candidates,
            judged=self._judged_under(order, ties, size),
            lengths=self._lengths,
            most=self.highest,
        )

    def _one_tie_for_each(self) -> Ties:
        """Return a tie of all candidates for each query."""
        size = self.candidates
        return Ties(
            above=np.zeros_like(size),
            size=size,
            right=self.answers,
            gain=np.add.reduceat(self._gain, self._starts),
            starts=np.arange(len(size)),
            answers=self.answers,
            candidates=self.candidates,
            judged=self._judged_under("chance", self._starts, size),
            lengths=self._lengths,
            most=self.highest,
        )

    def _judged_under(self, order: str, tasks: IntArray, size: IntArray) -> IntArray:
        """What `Ties.judged` is under an order, for ties that begin with some tasks."""
        if self._judged is None:
            return np.zeros((3, 0), np.int64)
        above, tied, in_all = self._judged[:, tasks]
        if order == "chance":
            above = np.zeros_like(in_all)
            tied = in_all
        elif order == "optimum":
            above = np.zeros_like(in_all)
            tied = np.zeros_like(in_all)
        elif order == "pessimistic":
            above = above + tied * (size == 1)
        return np.stack([above, tied * (size > 1), in_all])

    def values(self, key: Key, order: str) -> FloatArray:
        """The values of a metric for each query, under an order."""
        metric_and_order = key.alone, order
        if metric_and_order not in self._values:
            self._values[metric_and_order] = read_only(self._compute(key, order))
        return self._values[metric_and_order]

    def _compute(self, key: Key, order: str) -> FloatArray:
        metric = key.row
        parameter = key.parameter
        if metric.parameter.strip("[]") in ("", "@k"):  # a cutoff, and 0 where there is none
            parameter = int(min(parameter or BEYOND, BEYOND))
        if order not in self._ties_by_order:
            self._ties_by_order[order] = self.ties(order)
        ties = self._ties_by_order[order]
        number = len(self.queries)
        values = np.empty(number)
        for start in range(0, number, _CHUNK):
            stop = min(start + _CHUNK, number)
            values[start:stop] = metric.of_queries(ties.of_queries(start, stop), parameter)
        if key.metric == "ndcg":
            values /= self.values(key._replace(metric="dcg"), "optimum")
        return values

    def sums(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """What each query adds to the two sums whose ratio is a value.

        They are the value of the query and 1; for a ratio that of chance in place of 1; for an
        index how far the query and its optimum are above chance.
        """
        order = key.adjustment if key.adjustment in LEVELS else key.kind
        tops = self.values(key, order)
        if key.adjustment == "ratio":
            bases = self.values(key, "chance")
        elif key.adjustment == "index":
            chance = self.values(key, "chance")
            tops = tops - chance
            bases = self.values(key, "optimum") - chance
            if not key.row.increasing:  # both are below chance
                tops = -tops
                bases = -bases
            # where no order is better than another, what is left is rounding
            is_rounding = bases <= 1e-14
            tops = np.where(is_rounding, 0.0, tops)
            bases = np.where(is_rounding, 0.0, bases)
        else:
            bases = np.ones_like(tops)
        weights = self._weights(key)
        return weights * tops, weights * bases

    def ends(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """What each query adds to the first of these sums at least, and at most."""
        best = self.values(key, "optimum")
        worst = np.zeros_like(best) if key.row.increasing else np.ones_like(best)
        chance = self.values(key, "chance") if key.adjustment == "index" else np.zeros_like(best)
        weights = self._weights(key)
        if key.row.increasing:
            return weights * (worst - chance), weights * (best - chance)
        if key.adjustment == "index":  # which more is better of
            return weights * (chance - worst), weights * (chance - best)
        return weights * best, weights * worst

    def _weights(self, key: Key) -> IntArray | int:
        """What queries count in means: 0 where no candidate is wrong, if answers are counted."""
        if not key.row.by_answers:
            return 1
        return self.answers * (self.candidates > self.answers)

    def of_queries(self, codes: IntArray) -> IntArray:
        """Return the label of each query from those of its right answers, which are the same."""
        of_query: IntArray = codes[self.first]
        unlike = codes != of_query[self.codes]
        if unlike.any():
            query = self.queries[self.codes[int(unlike.argmax())]]
            got = f"several for query {query!r}"
            raise InputValueError("by", expected="one group for each query", got=got)
        return of_query

    def _check(self, candidates: IntArray, last: IntArray, nan: str) -> None:
        """Check that the counts of each query come from one ranking, and place its worst NaN."""
        above = self._above
        tied = self._tied
        if nan == "worst":  # such a NaN counts as tied with no other: several share the last places
            right = np.repeat(self._right, self._right)
            bottom = (above == last) & (right > tied)
            above[bottom] -= right[bottom] - 1
            tied[bottom] = right[bottom]
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
    if most < 1 << 16 and (gains == gains.astype(np.int64)).all():  # grades, as nearly always
        levels: IntArray = (most - gains).astype(np.int64)
    else:
        levels = np.unique(-gains, return_inverse=True)[1]  # by numpy: floats
    return levels


def read_gains(gains: object, length: int, gain: str) -> FloatArray | None:
    """Check the gains of right answers, and return what they count for; None: all the same."""
    if gains is None:
        return None
    if gain == "binary":
        _positive_gains(gains, length)
        return None
    if gain == "linear":
        return linear_gains(gains, length)
    array = _positive_gains(gains, length, _MOST_EXPONENT)
    counted = read_only(2.0**array - 1)
    _refuse_infinite_sum(counted, array)
    return counted


def linear_gains(gains: object, length: int) -> FloatArray:
    """Check the gains of right answers, which count for themselves."""
    array = _positive_gains(gains, length)
    _refuse_infinite_sum(array, array)
    return array


def _positive_gains(gains: object, length: int, most: float = math.inf) -> FloatArray:
    array = checked_weights(gains, length=length, name="gains", each="right answer")
    wrong = (array <= 0) | (array > most)
    if wrong.any():
        i = int(wrong.argmax())
        expected = "numbers above 0"
        if most < math.inf:
            expected += f", at most {most} as 2^g counts"
        raise InputValueError("gains", expected=expected, got=f"{array[i]} at position {i}")
    return array


def _refuse_infinite_sum(counted: FloatArray, gains: FloatArray) -> None:
    with np.errstate(over="ignore"):
        total = counted.sum()
    if not np.isfinite(total):
        got = f"up to {gains.max()}"
        raise InputValueError("gains", expected="numbers whose sum is finite", got=got)


def counted_gains(gains: FloatArray | None, gain: str) -> FloatArray | None:
    """Return what right answers with some grades count for, by a rule; None: all the same.

    Examples
    --------
    >>> counted_gains(np.array([1.0, 3.0]), "exponential")
    array([1., 7.])
    """
    if gains is None:
        return None
    return read_gains(gains, len(gains), gain)
