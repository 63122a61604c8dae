"""The table of metrics of queries with several right answers, each for ties in random order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .tie_sums import (
    discount_sums,
    first_reciprocals,
    hit_chances,
    offset_sums,
    reciprocal_sums,
)

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from .answer_ties import Ties

    Cutoff = int | IntArray  # k: one for all queries, or one for each

EVERYWHERE = 1 << 62  # a cutoff beyond every place


class AnswerMetric(NamedTuple):
    """A row of the table of metrics.

    Attributes
    ----------
    title : str
        What tables print, the literature's name.
    of_queries : callable
        The value of each query, shape (q,), from its ties and the cutoff k.
    cutoff : {"needed", "possible", "none"}
        Whether the metric has a cutoff, as ``@k``.
    per_optimum : bool
        Whether the value is divided by that of the best order, query by query.
    """

    title: str
    of_queries: Callable[[Ties, int], FloatArray]
    cutoff: str = "possible"
    per_optimum: bool = False


def _places_within(ties: Ties, k: Cutoff) -> IntArray:
    """How many places of each tie are among the first k."""
    cut = k if isinstance(k, int) else ties.for_ties(k)
    return np.clip(cut - ties.above, 0, ties.size)


def expected_hits(ties: Ties, k: Cutoff) -> FloatArray:
    """The expected number of right answers among the first k, of each query: the sum of r m / t.

    Of the t places of a tie m are among the first k, each with a right answer with probability
    r / t.
    """
    return ties.sum_by_query(ties.right * (_places_within(ties, k) / ties.size))


def _recall(ties: Ties, k: int) -> FloatArray:
    return expected_hits(ties, k) / ties.answers


def _precision(ties: Ties, k: int) -> FloatArray:
    return expected_hits(ties, k) / k


def _r_precision(ties: Ties, k: int) -> FloatArray:
    return expected_hits(ties, ties.answers) / ties.answers


def _success(ties: Ties, k: int) -> FloatArray:
    first = ties.starts  # a query's first tie decides: the others are below a right answer
    within = _places_within(ties, k)[first]
    return hit_chances(ties.size[first], ties.right[first], within)


def _reciprocal_rank(ties: Ties, k: int) -> FloatArray:
    within = _places_within(ties, k)
    columns = (ties.above, ties.size, ties.right, within)
    return first_reciprocals(*(column[ties.starts] for column in columns))


def _average_precision(ties: Ties, k: int) -> FloatArray:
    """The sum over places of P(right) E(right answers up to here | right) / place, over R.

    At place i of a tie that is r / t times B + 1 + (i - 1) (r - 1) / (t - 1), over a + i.
    """
    within = _places_within(ties, k)
    others = (ties.right - 1) / np.maximum(ties.size - 1, 1)
    sums = (ties.before + 1) * reciprocal_sums(ties.above, within)
    sums += others * offset_sums(ties.above, within)
    sums *= ties.right / ties.size
    return ties.sum_by_query(sums) / ties.answers


def _gain_of_places(ties: Ties, k: int) -> FloatArray:
    within = _places_within(ties, k)
    return ties.sum_by_query(ties.gain * (discount_sums(ties.above, within) / ties.size))


ANSWER_METRICS = {
    "mrr": AnswerMetric("MRR", _reciprocal_rank),
    "map": AnswerMetric("MAP", _average_precision),
    "r_precision": AnswerMetric("R-Precision", _r_precision, "none"),
    "ndcg": AnswerMetric("nDCG", _gain_of_places, per_optimum=True),
    "dcg": AnswerMetric("DCG", _gain_of_places),
    "recall": AnswerMetric("Recall", _recall, "needed"),
    "precision": AnswerMetric("Precision", _precision, "needed"),
    "success": AnswerMetric("Success", _success, "needed"),
}
