"""The ties of each query that hold right answers under each kind of order, and their values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import checked_weights, read_only
from ..inputs.checks import choice
from ..inputs.errors import InputValueError
from ..inputs.row_keys import row_keys
from ..inputs.words import LISTED
from ..ranks.grouping import group_codes
from ..ranks.labels import GAIN_RULE, JUDGED
from ..splits.grades import gains_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..metrics.keys import Key
    from ..ranks.container import Ranks
    from ..splits.grades import LabelsByName

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
    most: float

    def of_queries(self, first: int, stop: int) -> Ties:
        """Return the ties of the queries from `first` up to `stop`, without a copy of them."""
        starts = self.starts[first:stop]
        ties = slice(starts[0], self.starts[stop] if stop < len(self.starts) else None)
        places = self.above[ties], self.size[ties], self.right[ties]
        sizes = self.answers[first:stop], self.candidates[first:stop]
        of_all = self.judged[:, ties], self.most
        return Ties(*places, self.gain[ties], starts - starts[0], *sizes, *of_all)

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
        gain = np.ones(len(ranks)) if gains is None else gains
        level = _levels(gain)
        missed = np.zeros(len(ranks), np.bool_) if ranks.listed is None else ~ranks.listed
        tied, candidates = ranks.tied, ranks.candidates
        last = candidates - 1  # the place of a NaN that is ranked last
        if ranks.protocol.candidates == LISTED:  # and what the list of a query misses, all of it
            misses_of_query = np.bincount(self.codes, missed).astype(np.int64)[self.codes]
            last = last - missed
            tied = np.where(missed, misses_of_query, tied)
            candidates = candidates - missed + misses_of_query
        beyond = missed & (misses == "zero")
        order = np.argsort(row_keys([self.codes, beyond * 1, ranks.above, level]), kind="stable")
        columns = (self.codes, np.where(beyond, BEYOND, ranks.above), tied, level)
        self._query, self._above, self._tied, self._level = (column[order] for column in columns)
        self._gain, self._stays_tied = gain[order], missed[order] & (misses == "expected")
        is_first = np.diff(self._query, prepend=-1) != 0
        self._starts = np.flatnonzero(is_first)
        self._ties = np.flatnonzero(is_first | (np.diff(self._above, prepend=-1) != 0))
        self._right = np.diff(self._ties, append=len(order))  # of each tie
        self._place = np.arange(len(order)) - np.repeat(self._ties, self._right)  # within the tie
        self.highest = float(gain.max(initial=0))
        self.first = order[self._starts]
        self.answers = np.diff(self._starts, append=len(order))
        self.candidates = candidates[self.first]
        labels = ranks.labels
        self._judged = [labels[name].codes[order] for name in JUDGED if name in labels]
        self._held: dict[str, Ties] = {}
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
            size = self.candidates
            gain, starts = np.add.reduceat(self._gain, self._starts), np.arange(len(size))
            columns = np.zeros_like(size), size, self.answers
            judged = self._judged_under(order, self._starts, size)
            return Ties(*columns, gain, starts, self.answers, self.candidates, judged, self.highest)
        above, gain = self._above, self._gain
        alone = np.full(len(above), order != "expected")  # in a tie of their own
        if order == "optimum":
            above = np.arange(len(above)) - np.repeat(self._starts, self.answers)
            gain = gain[np.argsort(row_keys([self._query, self._level]), kind="stable")]
        elif order == "optimistic":
            alone &= ~self._stays_tied
            above = above + alone * self._place
        elif order == "pessimistic":
            alone &= ~self._stays_tied
            right = np.repeat(self._right, self._right)
            above = above + alone * (self._tied - right + self._place)
            gain = gain[np.arange(len(right)) + right - 1 - 2 * self._place]  # backwards
        size = np.where(alone, 1, self._tied)
        alone[self._ties] = True
        (ties,) = np.nonzero(alone)
        size = size[ties]
        columns = above[ties], size, np.diff(ties, append=len(alone))
        starts = np.searchsorted(ties, self._starts)
        gain = np.add.reduceat(gain, ties)
        judged = self._judged_under(order, ties, size)
        return Ties(*columns, gain, starts, self.answers, self.candidates, judged, self.highest)

    def _judged_under(self, order: str, tasks: IntArray, size: IntArray) -> IntArray:
        """What `Ties.judged` is under an order, for ties that begin with some tasks."""
        if not self._judged:
            return np.zeros((3, 0), np.int64)
        above, tied, every = (column[tasks] for column in self._judged)
        if order in ("chance", "optimum"):
            above, tied = np.zeros_like(every), every * (order == "chance")
        elif order == "pessimistic":
            above = above + tied * (size == 1)
        return np.stack([above, tied * (size > 1), every])

    def values(self, key: Key, order: str) -> FloatArray:
        """The values of a metric for each query, under an order."""
        place = key.alone, order
        if place not in self._values:
            metric, k = key.row, key.parameter
            if metric.mark != ":":
                k = int(min(k or BEYOND, BEYOND))
            if order not in self._held:
                self._held[order] = self.ties(order)
            ties = self._held[order]
            values = np.empty(len(self.queries))
            for start in range(0, len(values), _CHUNK):
                chunk = slice(start, min(start + _CHUNK, len(values)))
                values[chunk] = metric.of_queries(ties.of_queries(chunk.start, chunk.stop), k)
            if key.metric == "ndcg":
                values /= self.values(key._replace(metric="dcg"), "optimum")
            self._values[place] = read_only(values)
        return self._values[place]

    def sums(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """What each query adds to the two sums whose ratio is a value.

        They are the value of the query and 1; for a ratio that of chance in place of 1; for an
        index how far the query and its optimum are above chance.
        """
        is_level = key.adjustment in LEVELS
        tops = self.values(key, key.adjustment if is_level else key.kind)
        bases = np.ones_like(tops)
        if key.adjustment in ("ratio", "index"):
            bases = chance = self.values(key, "chance")
        if key.adjustment == "index":
            bases = self.values(key, "optimum") - chance
            # where no order is better than another, what is left is rounding
            tops, bases = (np.where(bases <= 1e-14, 0.0, x) for x in (tops - chance, bases))
        weights = self._weights(key)
        return weights * tops, weights * bases

    def ends(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """What each query adds to the first of these sums at least, and at most."""
        most = self.values(key, "optimum")
        least = self.values(key, "chance") if key.adjustment == "index" else np.zeros_like(most)
        weights = self._weights(key)
        return weights * -least, weights * (most - least)

    def _weights(self, key: Key) -> IntArray | int:
        """What queries count in means: 0 where no candidate is wrong, if answers are counted."""
        return self.answers * (self.candidates > self.answers) if key.row.by_answers else 1

    def of_queries(self, codes: IntArray) -> IntArray:
        """Return the label of each query from those of its right answers, which are the same."""
        own: IntArray = codes[self.first]
        unlike = codes != own[self.codes]
        if unlike.any():
            query = self.queries[self.codes[int(unlike.argmax())]]
            got = f"several for query {query!r}"
            raise InputValueError("by", expected="one group for each query", got=got)
        return own

    def _check(self, candidates: IntArray, last: IntArray, nan: str) -> None:
        """Check that the counts of each query come from one ranking, and place its worst NaN."""
        above, tied = self._above, self._tied
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
            counts = zip(
                above[i - 1 : i + 1], tied[i - 1 : i + 1], candidates[i - 1 :], strict=False
            )
            got = " beside ".join(f"{a} above and {t} tied of {n}" for a, t, n in counts)
            expected = "one ranking of each query, each right answer once and none of them filtered"
            got = f"{got} (query {self.queries[self._query[i]]!r})"
            raise InputValueError("ranks", expected=expected, got=got)


def _levels(gains: FloatArray) -> IntArray:
    """Return integers from 0 on in the opposite order of some positive gains, small if they are."""
    most = gains.max(initial=0)
    if most < 1 << 16 and (gains == gains.astype(np.int64)).all():  # grades, as nearly always
        levels: IntArray = (most - gains).astype(np.int64)
    else:
        levels = np.unique(-gains, return_inverse=True)[1]
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


def counted_gains(labels_by_name: LabelsByName, gain: str | None = None) -> FloatArray | None:
    """Return what right answers with these labels count for; None: all the same.

    Parameters
    ----------
    labels_by_name : mapping of str to Labels
    gain : {"linear", "exponential", "binary"}, optional
        What becomes of gains. Default: what the label "gain_rule" says, or linear.

    Raises
    ------
    ValueError
        For labels that are no gains, and for several rules.

    Examples
    --------
    >>> from truerank.ranks.labels import Labels
    >>> rule = Labels([0, 0], ("exponential",))
    >>> counted_gains({"gain": Labels([1, 3]), "gain_rule": rule})
    array([1., 7.])
    """
    gains = gains_of(labels_by_name)
    rules = labels_by_name.get(GAIN_RULE)
    if gain is None:
        present: list[Any] = [GAINS[0]]
        if rules is not None and len(rules):
            present = [rule for rule, tasks in rules.counts().items() if tasks]
        if len(present) > 1:
            some = ", ".join(map(str, present))
            raise InputValueError("gain", f"the ranks have several ({some}): say which")
        gain = choice("gain", present[0], GAINS)
    if gains is None:
        return None
    return read_gains(gains, len(gains), gain)
