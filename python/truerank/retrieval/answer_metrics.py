"""The table of metrics of queries with several right answers, each for ties in random order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..metrics.metric_table import Row
from .tie_sums import discount_sums, first_reciprocals, hit_chances, offset_sums, reciprocal_sums

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from .answer_ties import Ties

    Cutoff = int | IntArray  # k: one for all queries, or one for each

EVERYWHERE = 1 << 62  # a cutoff beyond every place


@dataclass(frozen=True, kw_only=True)
class AnswerMetric(Row):
    """A row of the table of metrics; more is better for all of them.

    Attributes
    ----------
    of_queries : callable
        The value of each query, shape (q,), from its ties and the cutoff k.
    per_optimum : bool
        Whether the value is divided by that of the best order, query by query.
    """

    of_queries: Callable[[Ties, int], FloatArray]
    per_optimum: bool = False
    parameter: str = "[@k]"
    examples: tuple[str, ...] = ("", "@7")
    increasing: bool | None = True


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


_CUT: Any = {"parameter": "@k", "examples": ("@1", "@7")}
_ROWS = (
    AnswerMetric(
        name="mrr", title="MRR", description="mean reciprocal rank", of_queries=_reciprocal_rank
    ),
    AnswerMetric(
        name="map", title="MAP", description="mean average precision", of_queries=_average_precision
    ),
    AnswerMetric(
        name="r_precision",
        title="R-Precision",
        description="precision at R",
        of_queries=_r_precision,
        parameter="",
        examples=("",),
    ),
    AnswerMetric(
        name="ndcg",
        title="nDCG",
        description="normalised discounted cumulative gain",
        of_queries=_gain_of_places,
        per_optimum=True,
    ),
    AnswerMetric(
        name="dcg",
        title="DCG",
        description="discounted cumulative gain",
        of_queries=_gain_of_places,
    ),
    AnswerMetric(
        name="recall", title="Recall", description="recall at k", of_queries=_recall, **_CUT
    ),
    AnswerMetric(
        name="precision",
        title="Precision",
        description="precision at k",
        of_queries=_precision,
        **_CUT,
    ),
    AnswerMetric(
        name="success", title="Success", description="success at k", of_queries=_success, **_CUT
    ),
)
ANSWER_METRICS = {row.name: row for row in _ROWS}
