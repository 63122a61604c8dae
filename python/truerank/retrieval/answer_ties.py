"""The ties of each query that hold right answers, and what they become under each kind of order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..ranks.grouping import group_codes
from ..tasks.row_keys import row_keys

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.container import Ranks


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
    before : ndarray of int64, shape (m,)
        The right answers of the query in the ties above.
    gain : ndarray of float64, shape (m,)
        The sum of the gains of the right answers in the tie.
    starts : ndarray of int64, shape (q,)
        The first tie of each query.
    answers : ndarray of int64, shape (q,)
        The right answers of each query, at least 1.
    """

    above: IntArray
    size: IntArray
    right: IntArray
    before: IntArray
    gain: FloatArray
    starts: IntArray
    answers: IntArray

    def of_queries(self, first: int, stop: int) -> Ties:
        """Return the ties of the queries from `first` up to `stop`, without a copy of them."""
        begin = int(self.starts[first])
        end = int(self.starts[stop]) if stop < len(self.starts) else len(self.above)
        return Ties(
            self.above[begin:end],
            self.size[begin:end],
            self.right[begin:end],
            self.before[begin:end],
            self.gain[begin:end],
            self.starts[first:stop] - begin,
            self.answers[first:stop],
        )

    def for_ties(self, values: IntArray) -> IntArray:
        """Return for each tie the value of its query."""
        return np.repeat(values, np.diff(self.starts, append=len(self.above)))

    def sum_by_query(self, values: FloatArray) -> FloatArray:
        """Return for each query the sum of the values of its ties."""
        sums: FloatArray = np.add.reduceat(values, self.starts)
        return sums


class RankedAnswers:
    """The right answers of some queries, sorted by query and place.

    Parameters
    ----------
    ranks : Ranks
        A task for each right answer, with labels of queries; no right answer is filtered.
    gains : ndarray of float64, shape (n,), or None
        Their gains, above 0. None: all are 1.

    Attributes
    ----------
    queries : list
        The label of each query: ids ascend, names are in the order of their vocabulary.
    first : ndarray of int64, shape (q,)
        A task of each query.
    codes : ndarray of int64, shape (n,)
        The query of each task, as a position in `queries`.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.

    Raises
    ------
    ValueError
        For counts that cannot come from one ranking of each query.
    """

    def __init__(self, ranks: Ranks, gains: FloatArray | None) -> None:
        self.codes, self.queries = group_codes(ranks, "queries")
        self._is_graded = gains is not None and bool((gains != gains[0]).any())
        columns = [self.codes, ranks.above]
        if gains is not None and self._is_graded:
            columns.append(_levels(gains))
        order = _stable_order(row_keys(columns))
        query, self._above, self._tied = (
            array if order is None else array[order]
            for array in (self.codes, ranks.above, ranks.tied)
        )
        self._gain = np.ones(len(ranks)) if gains is None else gains
        if order is not None:
            self._gain = self._gain[order]
        is_first = _run_starts(query)
        self._query, self._starts = query, np.flatnonzero(is_first)
        self._is_tie_start = is_first | _run_starts(self._above)
        self.answers = np.diff(self._starts, append=len(query))
        self.first = self._starts if order is None else order[self._starts]
        self.candidates = ranks.candidates[self.first]
        self._check(ranks)

    def ties(self, order: str) -> Ties:
        """Return the ties under an order: one of `ORDERS`."""
        return ORDERS[order](self)

    def _expected(self) -> Ties:
        starts = np.flatnonzero(self._is_tie_start)
        right = np.diff(starts, append=len(self._query))
        return self._ties(
            self._above[starts],
            self._tied[starts],
            right,
            np.add.reduceat(self._gain, starts),
            np.searchsorted(starts, self._starts),
        )

    def _best_first(self) -> Ties:
        ties = self._expected()
        if self._is_graded:
            place = np.arange(len(self._query)) - np.repeat(self._tie_begins(ties), ties.right)
            return self._single(np.repeat(ties.above, ties.right) + place, self._gain)
        return ties._replace(size=ties.right)

    def _best_last(self) -> Ties:
        ties = self._expected()
        ends = ties.above + ties.size - ties.right
        if self._is_graded:
            begins = np.repeat(self._tie_begins(ties), ties.right)
            place = np.arange(len(self._query)) - begins
            from_last = begins + np.repeat(ties.right, ties.right) - 1 - place
            return self._single(np.repeat(ends, ties.right) + place, self._gain[from_last])
        return ties._replace(above=ends, size=ties.right)

    def _chance(self) -> Ties:
        return self._one_tie(self.candidates)

    def _ideal(self) -> Ties:
        if not self._is_graded:
            return self._one_tie(self.answers)
        order = _stable_order(row_keys([self._query, _levels(self._gain)]))
        place = np.arange(len(self._query)) - np.repeat(self._starts, self.answers)
        return self._single(place, self._gain if order is None else self._gain[order])

    def _one_tie(self, size: IntArray) -> Ties:
        gain = np.add.reduceat(self._gain, self._starts)
        zeros = np.zeros(len(self.answers), dtype=np.int64)
        return self._ties(zeros, size, self.answers, gain, np.arange(len(self.answers)))

    def _single(self, above: IntArray, gain: FloatArray) -> Ties:
        ones = np.ones(len(above), dtype=np.int64)
        return self._ties(above, ones, ones, gain, self._starts)

    def _ties(
        self, above: IntArray, size: IntArray, right: IntArray, gain: FloatArray, starts: IntArray
    ) -> Ties:
        ties = Ties(above, size, right, right, gain, starts, self.answers)
        before = np.cumsum(right) - right
        return ties._replace(before=before - ties.for_ties(before[starts]))

    @staticmethod
    def _tie_begins(ties: Ties) -> IntArray:
        """The position of the first right answer of each tie."""
        return np.cumsum(ties.right) - ties.right

    def _check(self, ranks: Ranks) -> None:
        """Check that the counts of each query come from one ranking, and place its worst NaN."""
        wrong = ranks.candidates != self.candidates[self.codes]
        if wrong.any():
            task = int(wrong.argmax())
            counts = sorted({int(ranks.candidates[task]), int(self.candidates[self.codes[task]])})
            raise self._error(int(self.codes[task]), f"{counts[0]} and {counts[1]} candidates")
        starts = np.flatnonzero(self._is_tie_start)
        right = np.diff(starts, append=len(self._query))
        size, above = self._tied[starts], self._above[starts]
        # a NaN that is ranked last counts as tied with no other: several share the last places
        bottom = (above == self.candidates[self._query[starts]] - 1) & (right > size)
        if ranks.protocol.nan == "worst" and bottom.any():
            self._above, self._tied = self._above.copy(), self._tied.copy()
            spread = np.repeat(bottom, right)
            self._above[spread] -= np.repeat(right, right)[spread] - 1
            self._tied[spread] = np.repeat(right, right)[spread]
            size, above = self._tied[starts], self._above[starts]
        same_query = self._query[starts][1:] == self._query[starts][:-1]
        unlike = self._tied != np.repeat(size, right)
        if unlike.any():
            place = int(unlike.argmax())
            got = f"ties of unlike sizes below {self._above[place]} candidates"
            raise self._error(int(self._query[place]), got)
        too_many = right > size
        if too_many.any():
            tie = int(too_many.argmax())
            got = f"{right[tie]} right answers in {size[tie]} places below {above[tie]} candidates"
            raise self._error(int(self._query[starts[tie]]), got)
        overlap = same_query & (above[1:] < above[:-1] + size[:-1])
        if overlap.any():
            tie = int(overlap.argmax())
            got = f"ties that overlap, below {above[tie]} and {above[tie + 1]} candidates"
            raise self._error(int(self._query[starts[tie]]), got)

    def _error(self, query: int, got: str) -> InputValueError:
        expected = "one ranking of each query, each right answer once and none of them filtered"
        return InputValueError(
            "ranks", expected=expected, got=f"{got} (query {self.queries[query]!r})"
        )


# What the ties become: as they are, right answers first (the highest gains first), right answers
# last (the highest gains last), a random order of all candidates, the best order of all.
ORDERS: dict[str, Callable[[RankedAnswers], Ties]] = {
    "expected": RankedAnswers._expected,
    "optimistic": RankedAnswers._best_first,
    "pessimistic": RankedAnswers._best_last,
    "chance": RankedAnswers._chance,
    "optimum": RankedAnswers._ideal,
}


def _levels(gains: FloatArray) -> IntArray:
    """Return small integers in the opposite order of some positive gains."""
    whole = gains.astype(np.int64) if gains.max() < 1 << 16 else np.zeros(0, dtype=np.int64)
    if len(whole) and (whole == gains).all():  # grades, as nearly always
        return -whole
    # the bits of positive floats are in the order of the floats
    return np.unique(-np.ascontiguousarray(gains).view(np.int64), return_inverse=True)[1]


def _stable_order(keys: IntArray) -> IntArray | None:
    """Return the order that sorts keys, or None where they are sorted."""
    if (keys[1:] >= keys[:-1]).all():
        return None
    return np.argsort(keys, kind="stable")


def _run_starts(values: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    starts = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return starts
