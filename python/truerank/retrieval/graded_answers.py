"""The answers of queries by grade: right ones, all that have a gain, and all that are judged."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..inputs.errors import UnknownKeyError
from ..inputs.row_keys import codes_of
from ..metrics.keys import NO_ADJUSTMENT
from ..ranks.container import Ranks
from ..ranks.judged import JudgedPlaces
from ..ranks.labels import Labels
from .answers import LEVELS, RankedAnswers

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..metrics.keys import Key

ANSWERLESS = ("omit", "zero")  # what becomes of queries without a right answer


class _Chosen(NamedTuple):
    """The answers that a metric is about, and their queries as positions among all; None: all."""

    answers: RankedAnswers
    places: IntArray | None = None


class GradedAnswers:
    """All answers with a gain, of which those from a level on are right; values of all queries.

    Parameters
    ----------
    ranks : Ranks
        A task for each answer with a gain above 0, with labels of queries.
    gains : ndarray of float64, shape (n,), or None
        What they count for. None: all are 1.
    misses : {"zero", "bounds", "expected"}
        As `RankedAnswers` takes it.
    is_right : ndarray of bool, shape (n,), or None
        Which of them are right; None: all.
    zeros : int or None
        How many queries without any answer count as 0, beside those without a right one; None: all
        queries without a right answer are left out.

    Attributes
    ----------
    queries : list
        The label of each query that has an answer with a gain.
    codes : ndarray of int64, shape (n,)
        The query of each task, as a position in `queries`.
    answers, candidates : ndarray of int64, shape (q,)
        The numbers of right answers and of candidates of each query.
    zeros : int or None
    """

    def __init__(
        self,
        ranks: Ranks,
        gains: FloatArray | None,
        misses: str,
        is_right: npt.NDArray[np.bool_] | None = None,
        zeros: int | None = None,
    ) -> None:
        self._ranks = ranks
        self._misses = misses
        self.zeros = zeros
        self.graded = RankedAnswers(ranks, gains, misses)
        self.queries = self.graded.queries
        self.codes = self.graded.codes
        self.candidates = self.graded.candidates
        self.right = self.graded
        self._places: IntArray | None = None
        self.answers = self.graded.answers
        if is_right is not None and not is_right.all():
            (tasks,) = np.nonzero(is_right)
            self.right = RankedAnswers(_right_among(ranks, is_right), None, misses)
            self._places = self.codes[tasks[self.right.first]]
            self.answers = np.zeros_like(self.graded.answers)
            self.answers[self._places] = self.right.answers

    @cached_property
    def judged(self) -> RankedAnswers:
        """All judged documents as if each were a right answer."""
        ranks = self._ranks
        if ranks.judged is None:
            advice = "it needs documents judged with a gain of 0, and Task(..., judged=True)"
            raise UnknownKeyError("'judged'", advice)
        query, places = ranks.judged.documents(self.graded.first)
        above, tied, is_listed = places
        added = {
            "above": above,
            "tied": tied,
            "candidates": self.candidates[query],
            "listed": is_listed.astype(np.bool_),
        }
        if ranks.lengths is not None:
            added["lengths"] = ranks.lengths[self.graded.first][query]
        arrays = {}
        for name, values in added.items():
            own = getattr(ranks, name)
            if own is not None:
                arrays[name] = np.append(own, values)
        labels = {"queries": Labels(np.append(self.codes, query))}
        return RankedAnswers(Ranks._of(arrays, labels, ranks.protocol), None, self._misses)

    @property
    def highest(self) -> float:
        """The highest gain; for a group of queries that of all groups."""
        return self.graded.highest

    @highest.setter
    def highest(self, gain: float) -> None:
        self.graded.highest = gain

    @property
    def zeros_in_all(self) -> int:
        """How many queries count as 0, since they have no right answer."""
        if self.zeros is None:
            return 0
        return self.zeros + len(self.queries) - len(self.right.queries)

    def _choose(self, key: Key) -> _Chosen:
        """Return the answers that the metric of a key is about."""
        if key.row.about == "gains":
            return _Chosen(self.graded)
        if key.row.about == "judged":
            return _Chosen(self.judged)
        return _Chosen(self.right, self._places)

    def _of_all(self, values: FloatArray, places: IntArray | None, others: float) -> FloatArray:
        """Return values of all queries, from those of some."""
        if places is None:
            return values
        spread = np.full(len(self.queries), others)
        spread[places] = values
        return spread

    def sums(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """What each query adds to the two sums whose ratio is a value; see `RankedAnswers.sums`.

        A query without a right answer adds nothing, or 0 to the first and 1 to the second.
        """
        answers, places = self._choose(key)
        tops, bases = answers.sums(key)
        base_of_others = float(self.zeros is not None and self.counts_zeros(key))
        return self._of_all(tops, places, 0.0), self._of_all(bases, places, base_of_others)

    def counted(self, key: Key) -> IntArray | None:
        """Return the queries of which a mean is, as positions; None: all."""
        _, places = self._choose(key)
        if self.zeros is not None and self.counts_zeros(key):
            return None
        return places

    def counts_zeros(self, key: Key) -> bool:
        """Whether queries without answers move a value: a ratio to chance has nothing to add."""
        is_value = key.adjustment == NO_ADJUSTMENT or key.adjustment in LEVELS
        return is_value and not key.row.by_answers

    def ends(self, key: Key) -> tuple[FloatArray, FloatArray]:
        """What each query adds to the first of these sums at least, and at most."""
        answers, places = self._choose(key)
        least, most = answers.ends(key)
        return self._of_all(least, places, 0.0), self._of_all(most, places, 0.0)

    def of_queries(self, codes: IntArray) -> IntArray:
        """Return the label of each query from those of its answers, which are the same."""
        return self.graded.of_queries(codes)


def _right_among(ranks: Ranks, is_right: npt.NDArray[np.bool_]) -> Ranks:
    """Return the right answers; what has a lower grade is judged not to be right."""
    if ranks.judged is None:  # nothing is known of a gain of 0
        return ranks[is_right]
    return with_judged(ranks, is_right)


def with_judged(ranks: Ranks, is_right: npt.NDArray[np.bool_]) -> Ranks:
    """Return the ranks of right answers, with where the other judged documents are.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([1, 0, 1], [2, 1, 2], 4, queries=["q"] * 3)
    >>> with_judged(ranks, np.array([True, False, False])).judged.places
    array([[0, 1],
           [1, 2],
           [1, 1]])
    """
    query = cast("Labels", ranks.queries).codes
    listed = ranks.listed
    if listed is None:
        listed = np.ones(len(ranks), np.bool_)
    places = np.stack([ranks.above, ranks.tied, listed])[:, ~is_right]
    query_of_document = query[~is_right]
    if ranks.judged is not None:  # and those that were no tasks
        first = codes_of(query).first()
        of_query, more = ranks.judged.documents(first)
        query_of_document = np.append(query_of_document, query[first[of_query]])
        places = np.append(places, more, axis=1)
    judged = JudgedPlaces.of_queries(query[is_right], query_of_document, places)
    return ranks[is_right]._with(judged=judged)
