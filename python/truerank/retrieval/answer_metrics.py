"""The metrics of queries with several right answers, each for ties in random order, and their keys.

A key is `[macro.][kind.][adjustment.]metric[@k]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..metrics.keys import NO_ADJUSTMENT, Field, Grammar, Key, fail
from ..metrics.kinds import EXPECTED_KIND
from ..metrics.metric_table import Row
from .tie_sums import discount_sums, first_reciprocals, hit_chances, reciprocal_sums

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from .answer_ties import Ties

ORDER_KINDS = (EXPECTED_KIND, "optimistic", "pessimistic")  # the default first
LEVELS = ("chance", "optimum")  # what a value is compared with; they are no kinds, but have none


@dataclass(frozen=True, kw_only=True)
class AnswerMetric(Row):
    """A row of the table of metrics; more is better for all of them.

    Attributes
    ----------
    of_queries : callable
        The value of each query, shape (q,), from its ties and the cutoff k.
    """

    of_queries: Callable[[Ties, int], FloatArray]
    increasing: bool | None = True


def _places_within(ties: Ties, k: int | IntArray) -> IntArray:
    """How many places of each tie are among the first k."""
    return np.clip(k - ties.above, 0, ties.size)


def _hits(ties: Ties, k: int | IntArray) -> FloatArray:
    """The expected number of right answers among the first k, of each query: the sum of r m / t.

    Of the t places of a tie m are among the first k, each with a right answer with probability
    r / t.
    """
    return ties.sum_by_query(ties.right * (_places_within(ties, k) / ties.size))


def _recall(ties: Ties, k: int | IntArray) -> FloatArray:
    return _hits(ties, k) / ties.answers


def _r_precision(ties: Ties, k: int) -> FloatArray:
    return _recall(ties, ties.for_ties(ties.answers))


def _success(ties: Ties, k: int) -> FloatArray:
    first = ties.starts  # a query's first tie decides: the others are below a right answer
    return hit_chances(ties.size[first], ties.right[first], _places_within(ties, k)[first])


def _reciprocal_rank(ties: Ties, k: int) -> FloatArray:
    columns = (ties.above, ties.size, ties.right, _places_within(ties, k))
    return first_reciprocals(*(column[ties.starts] for column in columns))


def _average_precision(ties: Ties, k: int) -> FloatArray:
    """The sum over places of P(right) E(right answers up to here | right) / place, over R.

    At place i of a tie that is r / t times B + 1 + (i - 1) (r - 1) / (t - 1), over a + i, with B
    right answers in the ties above.
    """
    within = _places_within(ties, k)
    before = np.cumsum(ties.right) - ties.right
    before -= ties.for_ties(before[ties.starts])
    others = (ties.right - 1) / np.maximum(ties.size - 1, 1)
    reciprocals = reciprocal_sums(ties.above, within)
    sums = (before + 1) * reciprocals + others * (within - (ties.above + 1) * reciprocals)
    return ties.sum_by_query(sums * (ties.right / ties.size)) / ties.answers


def _discounted_gain(ties: Ties, k: int) -> FloatArray:
    """The expected sum of gain / log2(place + 1) over the first k places, of each query."""
    within = _places_within(ties, k)
    return ties.sum_by_query(ties.gain * (discount_sums(ties.above, within) / ties.size))


_EXAMPLES = {"": ("",), "@k": ("@1", "@7"), "[@k]": ("", "@7")}
ANSWER_METRICS = {
    title.lower().replace("-", "_"): AnswerMetric(
        name=title.lower().replace("-", "_"),
        title=title,
        description=description,
        parameter=parameter,
        examples=_EXAMPLES[parameter],
        of_queries=of_queries,
    )
    for title, parameter, description, of_queries in (
        ("MRR", "[@k]", "mean reciprocal rank", _reciprocal_rank),
        ("MAP", "[@k]", "mean average precision", _average_precision),
        ("R-Precision", "", "precision at R", _r_precision),
        ("nDCG", "[@k]", "normalised discounted cumulative gain", _discounted_gain),
        ("DCG", "[@k]", "discounted cumulative gain", _discounted_gain),
        ("Recall", "@k", "recall at k", _recall),
        ("Precision", "@k", "precision at k", lambda ties, k: _hits(ties, k) / k),
        ("Success", "@k", "success at k", _success),
    )
}

ANSWER_KEYS = Grammar(
    ANSWER_METRICS,
    fields=(
        Field("kind", default=EXPECTED_KIND, words=ORDER_KINDS),
        Field("adjustment", default=NO_ADJUSTMENT, words=("index", "ratio", *LEVELS, "none")),
    ),
    metric_form="metric[@k]",
    # the names of trec_eval, pytrec_eval and ranx
    synonyms={
        "recip_rank": (NO_ADJUSTMENT, "mrr"),
        "map_cut": (NO_ADJUSTMENT, "map"),
        "ndcg_cut": (NO_ADJUSTMENT, "ndcg"),
        "rprec": (NO_ADJUSTMENT, "r_precision"),
        "p": (NO_ADJUSTMENT, "precision"),
        "r": (NO_ADJUSTMENT, "recall"),
        "hit_rate": (NO_ADJUSTMENT, "success"),
    },
    refused={"hits": "did you mean success@k? In ranx hits are a number, not a share"},
    numbered=re.compile(r"(.+?)_(?:at_)?(\d+)"),
)


class AnswerKey(Key):
    """A parsed key of a report on several right answers; `parameter` is the cutoff k, or 0."""

    @property
    def grammar(self) -> Grammar:
        """The grammar that the key is of."""
        return ANSWER_KEYS


def read_key(key: str) -> AnswerKey:
    """Read a key.

    Raises
    ------
    KeyError
        For an unknown key; the message says why, and which names are similar.

    Examples
    --------
    >>> parsed = read_key("macro.expected.NDCG_cut_10")
    >>> str(parsed), parsed.title
    ('macro.ndcg@10', 'macro.nDCG@10')
    """
    parsed = ANSWER_KEYS.parse(key, AnswerKey)
    if parsed.kind != EXPECTED_KIND and parsed.adjustment in LEVELS:
        fail(key, f"{parsed.adjustment} has no kind, as it orders all candidates anew")
    return parsed
