"""The metrics of queries with several right answers, each for ties in random order, and their keys.

A key is `[macro.][kind.][adjustment.]metric[@k][:p]`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .answer_ties import (
    BEYOND,
    Ties,
    discount_sums,
    first_reciprocals,
    hit_chances,
    reciprocal_sums,
)
from .keys import NO_ADJUSTMENT, Field, Grammar, Key, fail
from .kinds import EXPECTED_KIND
from .metric_table import METRICS, Row
from .sampled_hits import DrawnCutoff, Draws

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray

ORDER_KINDS = (EXPECTED_KIND, "optimistic", "pessimistic")  # The default comes first.
# A value is compared with them. They are no kinds of values themselves.
LEVELS = ("chance", "optimum")


@dataclass(frozen=True, kw_only=True)
class AnswerMetric(Row):
    """A row of the table of metrics.

    Attributes
    ----------
    of_queries : callable
        The value of each query, shape (q,), from its ties and the cutoff k or the parameter p.
    source : str
        Where the definition comes from.
    by_answers : bool
        Whether means weight each query with its number of right answers.
    of_gains : bool
        Whether it is about all answers with a gain, whatever the level from which on one is right.
    """

    of_queries: Callable[[Ties, Any], FloatArray]
    source: str
    by_answers: bool = False
    of_gains: bool = False
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
    first = ties.starts  # A query's first tie decides, for the others are below a right answer.
    return hit_chances(ties.size[first], ties.right[first], _places_within(ties, k)[first])


def _sampled_hits(ties: Ties, cutoff: DrawnCutoff) -> FloatArray:
    """How likely fewer than k of n drawn other candidates are above a query's first right answer.

    Let i of those above its tie be drawn, and T of the w that tie: one of its r right answers is
    among the first k - i places of T + r in random order.
    """
    first = ties.starts
    others = (ties.candidates - ties.answers).astype(np.float64)
    drawn = np.minimum(others, min(cutoff.negatives, BEYOND))
    right = ties.right[first]
    wrong = (ties.size[first] - right).astype(np.float64)
    of_above = Draws(np.minimum(ties.above[first], others), others, drawn)
    found = np.zeros(len(first))
    for count, shares in of_above.shares(min(cutoff.k, BEYOND) - 1):
        left = np.clip(drawn - count, 0, others - of_above.marked)
        of_tie = Draws(wrong, np.maximum(others - of_above.marked, wrong), left)
        room = (min(cutoff.k, BEYOND) - count).astype(np.int64)
        for tied, tied_shares in of_tie.shares(np.inf):
            chances = hit_chances(tied.astype(np.int64) + right, right, np.maximum(room, 0))
            found += shares * tied_shares * chances
    found[ties.above[first] == BEYOND] = 0.0  # These lists miss all right answers.
    return np.minimum(found, 1.0)


def _reciprocal_rank(ties: Ties, k: int) -> FloatArray:
    first = ties.starts
    within = _places_within(ties, k)[first]
    return first_reciprocals(ties.above[first], ties.size[first], ties.right[first], within)


def _average_precision(ties: Ties, k: int | IntArray) -> FloatArray:
    """The sum over places of P(right) E(right answers up to here | right) / place, over R.

    At place i of a tie that is r / t times B + 1 + (i - 1) (r - 1) / (t - 1), over a + i, with B
    right answers in the ties above.
    """
    within = _places_within(ties, k)
    others = (ties.right - 1) / np.maximum(ties.size - 1, 1)
    reciprocals = reciprocal_sums(ties.above, within)
    sums = others * (within - (ties.above + 1) * reciprocals)
    sums += (ties.right_above() + 1) * reciprocals
    return ties.sum_by_query(sums * (ties.right / ties.size)) / ties.answers


def _capped_precision(ties: Ties, k: int) -> FloatArray:
    return _average_precision(ties, k) * (ties.answers / np.minimum(ties.answers, k))


def _precision_at_r(ties: Ties, k: int) -> FloatArray:
    return _average_precision(ties, ties.for_ties(ties.answers))


def _f1(ties: Ties, k: int) -> FloatArray:
    return 2 * _hits(ties, k) / (k + ties.answers)


def _discounted_gain(ties: Ties, k: int) -> FloatArray:
    """The expected sum of gain / log2(place + 1) over the first k places, of each query."""
    within = _places_within(ties, k)
    return ties.sum_by_query(ties.gain * (discount_sums(ties.above, within) / ties.size))


def _rank_biased_precision(ties: Ties, p: float) -> FloatArray:
    """The sum of (1 - p) p^(place - 1) over right answers: that over a tie is p^a (1 - p^t)."""
    if not 0 < p < 1:
        fail(f"rbp:{p}", "p, the probability that a reader goes on, must be above 0 and below 1")
    weights = p**ties.above * -np.expm1(ties.size * np.log(p))
    return ties.sum_by_query(weights * (ties.right / ties.size))


def _expected_reciprocal_rank(ties: Ties, k: int) -> FloatArray:
    """The sum over answers of P(a reader comes to it and stops there) / place.

    A reader stops at an answer with the probability gain / (1 + the highest gain of all).
    """
    if (ties.size > 1).any():
        fail("err", "no closed form over ties: take optimistic.err@k and pessimistic.err@k")
    stops = np.minimum(ties.gain / (1 + ties.most), np.nextafter(1, 0))
    log_goes_on = np.log1p(-stops)
    log_comes = np.cumsum(log_goes_on) - log_goes_on
    comes = np.exp(log_comes - ties.for_ties(log_comes[ties.starts]))
    return ties.sum_by_query((ties.above < k) * comes * stops / (ties.above + 1))


def _pairs_in_order(ties: Ties, k: int) -> FloatArray:
    """The share of pairs of a right answer and another candidate in order; a tie counts half.

    1 where there are no others. Pairs are counted twice, as integers: the share is exact.
    """
    others = ties.candidates - ties.answers
    most = ties.for_ties(others)  # All pairs with an answer that a list misses count as wrong.
    wrong = 2 * np.minimum(ties.above - ties.right_above(), most) + ties.size - ties.right
    pairs = 2 * ties.answers * np.maximum(others, 1)
    shares: FloatArray = ties.sum_by_query(ties.right * np.minimum(wrong, 2 * most)) / pairs
    return 1 - shares


_EXAMPLES = {"": ("",), "@k": ("@1", "@7"), "[@k]": ("", "@7"), ":p": (":0.8", ":.25")}
_EXAMPLES["@k:n"] = ("@1:3", "@3:20")
_TREC = "trec_eval"
_RECBOLE = "RecBole, sentence-transformers, PyTorch Geometric"
_MUSGRAVE = "Musgrave, Belongie, Lim, A Metric Learning Reality Check (2020)"
_CHAPELLE = "Chapelle et al., Expected reciprocal rank for graded relevance (2009)"
_MOFFAT = "Moffat, Zobel, Rank-biased precision for measurement of retrieval effectiveness (2008)"
_PYG = "PyTorch Geometric"
_HANLEY = "Hanley, McNeil, The meaning and use of the area under a ROC curve (1982)"
_ZHOU = "Zhou et al., Deep Interest Network for Click-Through Rate Prediction (2018); RecBole"
_ZHU = METRICS["sampled_hits"].source
_ROWS: tuple[tuple[str, str, str, Callable[[Ties, Any], FloatArray], str], ...] = (
    ("MRR", "[@k]", "mean reciprocal rank", _reciprocal_rank, _TREC),
    ("MAP", "[@k]", "mean average precision", _average_precision, _TREC),
    ("MAP-min", "@k", "mean average precision over min(k, R)", _capped_precision, _RECBOLE),
    ("MAP-at-R", "", "mean average precision at R", _precision_at_r, _MUSGRAVE),
    ("R-Precision", "", "precision at R", _r_precision, _TREC),
    ("nDCG", "[@k]", "normalised discounted cumulative gain", _discounted_gain, _TREC),
    ("DCG", "[@k]", "discounted cumulative gain", _discounted_gain, _TREC),
    ("ERR", "@k", "expected reciprocal rank", _expected_reciprocal_rank, _CHAPELLE),
    ("RBP", ":p", "rank-biased precision", _rank_biased_precision, _MOFFAT),
    ("Recall", "@k", "recall at k", _recall, _TREC),
    ("Precision", "@k", "precision at k", lambda ties, k: _hits(ties, k) / k, _TREC),
    ("F1", "@k", "harmonic mean of precision and recall at k", _f1, _PYG),
    ("Success", "@k", "success at k", _success, _TREC),
    ("Sampled-Hits", "@k:n", "hits at k among n drawn negatives", _sampled_hits, _ZHU),
    ("AUC", "", "area under the ROC curve", _pairs_in_order, _HANLEY),
    ("GAUC", "", "area under the ROC curve, by right answers", _pairs_in_order, _ZHOU),
)


# These metrics are about all gains, and not about right answers alone.
_OF_GAINS = {"nDCG", "DCG", "ERR"}


def _metric(
    title: str,
    parameter: str,
    description: str,
    of_queries: Callable[[Ties, Any], FloatArray],
    source: str,
) -> AnswerMetric:
    """Return the metric of a row; its name is its title in small letters."""
    return AnswerMetric(
        name=title.lower().replace("-", "_"),
        title=title,
        description=description,
        parameter=parameter,
        examples=_EXAMPLES[parameter],
        of_queries=of_queries,
        source=source,
        by_answers=title == "GAUC",
        of_gains=title in _OF_GAINS,
    )


ANSWER_METRICS = {metric.name: metric for metric in itertools.starmap(_metric, _ROWS)}

_NO_RANK = "a query has several right answers, and so no rank; reports of ranks have mr"

ANSWER_KEYS = Grammar(
    ANSWER_METRICS,
    fields=(
        Field("kind", default=EXPECTED_KIND, words=ORDER_KINDS),
        Field("adjustment", default=NO_ADJUSTMENT, words=("index", "ratio", *LEVELS, "none")),
    ),
    metric_form="metric[@k][:p]",
    # trec_eval, pytrec_eval and ranx use these names.
    synonyms={
        "recip_rank": (NO_ADJUSTMENT, "mrr"),
        "map_cut": (NO_ADJUSTMENT, "map"),
        "ndcg_cut": (NO_ADJUSTMENT, "ndcg"),
        "rprec": (NO_ADJUSTMENT, "r_precision"),
        "hit_rate": (NO_ADJUSTMENT, "success"),
        # ir_measures and papers use these names.
        "rr": (NO_ADJUSTMENT, "mrr"),
        "mean_reciprocal_rank": (NO_ADJUSTMENT, "mrr"),
        "ap": (NO_ADJUSTMENT, "map"),
        "p": (NO_ADJUSTMENT, "precision"),
        "r": (NO_ADJUSTMENT, "recall"),
        "h": (NO_ADJUSTMENT, "success"),
        # RecBole, PyTorch Geometric and pytorch-metric-learning use these names.
        "hr": (NO_ADJUSTMENT, "success"),
        "hit": (NO_ADJUSTMENT, "success"),
        "hit_ratio": (NO_ADJUSTMENT, "success"),
        "mean_average_precision_at_r": (NO_ADJUSTMENT, "map_at_r"),
    },
    refused={
        "hits": "did you mean success@k? In ranx hits are a number, not a share",
        "mr": _NO_RANK,
        "mean_rank": _NO_RANK,
        "sampled_recall": "did you mean sampled_hits@k:n?",
    },
    numbered=re.compile(r"(.+?)_(?:at_)?(\d+)"),
    listed=(
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
    ),
    few=("mrr", "map", "ndcg@10", "recall@10"),
    listed_kinds=(*ORDER_KINDS, "chance", "index"),
    tie_kinds=ORDER_KINDS,
    rows=("kind", "adjustment"),
    row_kinds=(*ORDER_KINDS, *LEVELS, "ratio", "index"),
)


class AnswerKey(Key):
    """A parsed key of a report on several right answers; `parameter` is k or p, or 0."""

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
    if not isinstance(key, str):
        return ANSWER_KEYS.parse(key, AnswerKey)  # type: ignore[unreachable]  # a KeyError
    return _read_key(key)


@lru_cache(4096)
def _read_key(key: str) -> AnswerKey:
    parsed = ANSWER_KEYS.parse(key, AnswerKey)
    if parsed.kind != EXPECTED_KIND and parsed.adjustment in LEVELS:
        fail(key, f"{parsed.adjustment} has no kind, as it orders all candidates anew")
    return parsed
