"""The metrics of queries with several right answers, from the ties that hold these, and their keys.

Each is the value of every query, shape (q,), from its ties and the cutoff k or the parameter p, in
expectation over all orders of ties; a row of `ANSWER_METRICS` names it. A tie holds the places a +
1, ..., a + t of a ranking; one of a million costs no more than one of ten. All sums are accurate to
some units in the last place: nothing that cancels is subtracted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import factorize
from .keys import ADJUSTED, NO_ADJUSTMENT, TITLES, Grammar, fail
from .metric_table import EXPECTED_KIND, NO_CHANCE, RANKS, ZHU, MetricRow, median
from .ties import mean_power, shares_of_draws

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray

BEYOND = 1 << 62  # This place is behind all others, and as a cutoff it leaves out none of them.
# The discounts of so many places are summed once, those of later places by an integral.
_TABLE = 1 << 12
# So many nodes of Gauss and Legendre are exact to 1e-15 for 1 / log x up to 1e19 times the first x.
_NODES = 24
_MOST_GROWTH = 3.0  # exp of it times r is how much the recurrence may enlarge an error.
_SMALL = 1e-17
_FEW = 1 << 9


@dataclass(frozen=True)
class Ties:
    """Ties that hold right answers, query by query and best first, in a ranking of all candidates.

    Every order of a tie is equally likely. A tie of right answers alone has no order that matters.
    """

    above: IntArray  # (m,): the candidates above each tie
    size: IntArray  # the candidates in it
    right: IntArray  # the right answers among these, at least 1
    gain: FloatArray  # the sum of their gains
    indptr: IntArray  # (q + 1,): query i has the ties indptr[i]:indptr[i + 1], at least one
    answers: IntArray  # (q,): the right answers of each query, at least 1
    candidates: IntArray  # (q,): its candidates, these among them
    most: float  # the highest gain of all right answers of all queries

    def of_queries(self, first: int, stop: int) -> Ties:
        """Return the ties of the queries from `first` up to `stop`, without a copy of them."""
        if stop - first == len(self.answers):
            return self
        indptr = self.indptr[first : stop + 1]
        ties = slice(indptr[0], indptr[-1])
        return Ties(
            above=self.above[ties],
            size=self.size[ties],
            right=self.right[ties],
            gain=self.gain[ties],
            indptr=indptr - indptr[0],
            answers=self.answers[first:stop],
            candidates=self.candidates[first:stop],
            most=self.most,
        )

    def for_ties(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return for each tie the value of its query."""
        return np.repeat(values, np.diff(self.indptr))

    def right_above(self) -> IntArray:
        """Return for each tie the number of right answers in the ties above it."""
        before = np.cumsum(self.right) - self.right
        above: IntArray = before - self.for_ties(before[self.indptr[:-1]])
        return above

    def sum_by_query(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return for each query the sum of the values of its ties."""
        sums: FloatArray = np.add.reduceat(values, self.indptr[:-1])
        return sums


# -- metrics ---------------------------------------------------------------------------------------


def _places_within(ties: Ties, k: int | IntArray) -> IntArray:
    """How many places of each tie are among the first k."""
    return np.minimum(np.maximum(k - ties.above, 0), ties.size)


def _hits(ties: Ties, k: int | IntArray) -> FloatArray:
    """The expected number of right answers among the first k, of each query: the sum of r m / t.

    Of the t places of a tie m are among the first k, each with a right answer with probability
    r / t.
    """
    return ties.sum_by_query(ties.right * (_places_within(ties, k) / ties.size))


def recall(ties: Ties, k: int | IntArray) -> FloatArray:
    """The expected hits among the first k / R, the number of right answers."""
    return _hits(ties, k) / ties.answers


def precision(ties: Ties, k: int) -> FloatArray:
    """The expected hits among the first k / k, even where there are fewer candidates."""
    return _hits(ties, k) / k


def r_precision(ties: Ties, k: int) -> FloatArray:
    """The precision, and the recall, at as many places as there are right answers."""
    return recall(ties, ties.for_ties(ties.answers))


def success(ties: Ties, k: int) -> FloatArray:
    """How likely one of the right answers is among the first k."""
    # A query's first tie decides, for the others are below a right answer.
    first = ties.indptr[:-1]
    return hit_chances(ties.size[first], ties.right[first], _places_within(ties, k)[first])


def sampled_success(ties: Ties, cutoff: tuple[int, int]) -> FloatArray:
    """How likely fewer than k of n drawn other candidates are above a query's first right answer.

    Those that are drawn from above its tie leave it the places up to k. In random order the tie has
    its right answers and the wrong ones that are drawn: a right one has to be in these places.
    """
    k, n = (min(number, BEYOND) for number in cutoff)
    first = ties.indptr[:-1]
    others = (ties.candidates - ties.answers).astype(np.float64)
    drawn = np.minimum(others, n)
    right = ties.right[first]
    wrong = (ties.size[first] - right).astype(np.float64)
    above = np.minimum(ties.above[first], others)
    not_above = others - above
    tied_or_below = np.maximum(not_above, wrong)  # They differ only where a list misses answers.
    chances = np.zeros(len(first))
    for drawn_above, above_shares in shares_of_draws(above, others, drawn, k - 1):
        draws_left = np.clip(drawn - drawn_above, 0, not_above)
        places_left = np.maximum((k - drawn_above).astype(np.int64), 0)
        for drawn_tied, tied_shares in shares_of_draws(wrong, tied_or_below, draws_left, np.inf):
            tie_sizes = drawn_tied.astype(np.int64) + right
            chances += above_shares * tied_shares * hit_chances(tie_sizes, right, places_left)
    chances[ties.above[first] >= BEYOND] = 0.0  # These lists miss all right answers.
    return np.minimum(chances, 1.0)


def reciprocal_rank(ties: Ties, k: int) -> FloatArray:
    """The expectation of 1 / the place of the first right answer, if that is at most k."""
    first = ties.indptr[:-1]
    within = _places_within(ties, k)[first]
    return first_reciprocals(ties.above[first], ties.size[first], ties.right[first], within)


def first_rank(ties: Ties, k: int) -> FloatArray:
    """The expected place of the first right answer; inf where the list misses all of them.

    The first of r right answers in a tie of t is at place (t + 1) / (r + 1) of it in the mean.
    """
    first = ties.indptr[:-1]
    above = ties.above[first]
    places = above + (ties.size[first] + 1) / (ties.right[first] + 1)
    return np.where(above >= BEYOND, np.inf, places)


def average_precision(ties: Ties, k: int | IntArray) -> FloatArray:
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


def capped_precision(ties: Ties, k: int) -> FloatArray:
    """The sum of `average_precision` over min(k, R)."""
    return average_precision(ties, k) * (ties.answers / np.minimum(ties.answers, k))


def precision_at_r(ties: Ties, k: int) -> FloatArray:
    """`average_precision` of as many places as there are right answers."""
    return average_precision(ties, ties.for_ties(ties.answers))


def f1(ties: Ties, k: int) -> FloatArray:
    """The harmonic mean of precision and recall, 2 hits / (k + R)."""
    return 2 * _hits(ties, k) / (k + ties.answers)


def discounted_gain(ties: Ties, k: int) -> FloatArray:
    """The expected sum of gain / log2(place + 1) over the first k places, of each query."""
    within = _places_within(ties, k)
    return ties.sum_by_query(ties.gain * (discount_sums(ties.above, within) / ties.size))


def rank_biased_precision(ties: Ties, p: float) -> FloatArray:
    """The sum of (1 - p) p^(place - 1) over right answers: that over a tie is p^a (1 - p^t)."""
    if not 0 < p < 1:
        fail(f"rbp:{p}", "p, the probability that a reader goes on, must be above 0 and below 1")
    weights = p**ties.above * -np.expm1(ties.size * np.log(p))
    return ties.sum_by_query(weights * (ties.right / ties.size))


def expected_reciprocal_rank(ties: Ties, k: int) -> FloatArray:
    """The sum over the first k of P(a reader comes to the answer and stops there) / place.

    A reader stops at an answer with the probability gain / (1 + the highest gain of all).
    """
    stops = np.minimum(ties.gain / (1 + ties.most), np.nextafter(1, 0))
    log_goes_on = np.log1p(-stops)
    log_comes = np.cumsum(log_goes_on) - log_goes_on
    comes = np.exp(log_comes - ties.for_ties(log_comes[ties.indptr[:-1]]))
    return ties.sum_by_query((ties.above < k) * comes * stops / (ties.above + 1))


def pairs_in_order(ties: Ties, k: int) -> FloatArray:
    """The share of pairs of a right answer and another candidate in order; a tie counts half.

    A query without others has no weight. Pairs are counted twice, as integers: the share is exact.
    """
    others = ties.candidates - ties.answers
    most = ties.for_ties(others)  # All pairs with an answer that a list misses count as wrong.
    wrong = 2 * np.minimum(ties.above - ties.right_above(), most) + ties.size - ties.right
    pairs = 2 * ties.answers * np.maximum(others, 1)
    shares: FloatArray = ties.sum_by_query(ties.right * np.minimum(wrong, 2 * most)) / pairs
    return 1 - shares


# -- sums over the places of ties ------------------------------------------------------------------


def reciprocal_sums(above: IntArray, places: IntArray) -> FloatArray:
    """The sums of 1 / (a + i) over i = 1, ..., m; 0 where m is 0. `above` are a, `places` m."""

    def add_up(above: IntArray, places: IntArray) -> FloatArray:
        return places * mean_power((above + 1).astype(np.float64), places, -1.0)

    sums: FloatArray = (places > 0) / (above + 1.0)
    (several,) = np.nonzero(places > 1)
    sums[several] = _compute_once(add_up, above[several], places[several])
    return sums


def discount_sums(above: IntArray, places: IntArray) -> FloatArray:
    """The sums of 1 / log2(p + 1) over the places p = a + 1, ..., a + m."""
    sums: FloatArray = (places > 0) / np.log2(above + 2.0)
    (several,) = np.nonzero(places > 1)
    if len(several):
        first = above[several]
        last = first + places[several]
        table = _discount_table()
        sums[several] = table[np.minimum(last, _TABLE)] - table[np.minimum(first, _TABLE)]
        (far,) = np.nonzero(last > _TABLE)
        if len(far):
            sums[several[far]] += _sum_far(first[far], last[far])
    return sums


def first_reciprocals(
    above: IntArray, tied: IntArray, right: IntArray, within: IntArray
) -> FloatArray:
    """The expectations of 1 / (a + I), where I is the first of r right answers in a tie of t.

    I is i with the probability C(t - i, r - 1) / C(t, r), for t >= r >= 1. Only I <= m count, so
    that m = k - a gives the reciprocal rank at a cutoff k.

    A whole tie has a mirror: E(a, t, r) = r / (a + 1) E(r - 1, a + t - r + 1, a + 1). So let r be
    at most a + 1. With T = a + t, E of r follows from E of r - 1, whose E_1 is the mean of
    1 / (a + i): E_r = r / ((r - 1) (t - r + 1)) ((T - r + 2) E_{r - 1} - 1). This loses digits
    where a r is far above t; there the places of the mirror are added one by one, and those of the
    tie itself where a cutoff leaves a part of it.
    """
    values: FloatArray = (within > 0) / (above + 1.0)
    (mixed,) = np.nonzero((right < tied) & (within > 0))
    columns = (column[mixed] for column in (above, tied, right, within))
    values[mixed] = _compute_once(_first_of_mixed, *columns)
    return values


def hit_chances(tied: IntArray, right: IntArray, within: IntArray) -> FloatArray:
    """The probabilities that any of r right answers is among the first m places of a tie of t.

    They are 1 - C(t - r, m) / C(t, m), where the quotient of the binomial coefficients is the
    product of 1 - r / (t - j) over j = 0, ..., m - 1.

    >>> hit_chances(np.array([4, 4]), np.array([1, 2]), np.array([1, 3])).tolist()
    [0.25, 1.0]
    """
    # The probability is the same with r and m exchanged, so the fewer are multiplied.
    within = np.minimum(within, tied)
    factors = np.minimum(right, within)
    numerators = np.maximum(right, within)
    chances = np.zeros(len(tied))
    (unfinished,) = np.nonzero(factors)
    j = 0
    while len(unfinished):
        share = np.minimum(numerators[unfinished] / (tied[unfinished] - j), 1)
        chances[unfinished] += (1 - chances[unfinished]) * share
        j += 1
        has_more = (factors[unfinished] > j) & (chances[unfinished] < 1 - 1e-15)
        unfinished = unfinished[has_more]
    return chances


def _compute_once(function: Callable[..., FloatArray], *columns: IntArray) -> FloatArray:
    """Return a function of each row of columns; of many rows it sees equal ones once."""
    if len(columns[0]) <= _FEW:  # Few are computed sooner than equal ones are found.
        return function(*columns)
    codes = factorize(*columns)
    first = codes.first()
    return function(*(column[first] for column in columns))[codes.codes]


@cache
def _discount_table() -> FloatArray:
    """The sums of the discounts of the first places."""
    discounts = np.append(0, 1 / np.log2(np.arange(2.0, _TABLE + 2)))
    sums: FloatArray = np.cumsum(discounts.astype(np.longdouble)).astype(np.float64)
    return sums


@cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    """The nodes and weights of an integral."""
    return np.polynomial.legendre.leggauss(_NODES)


def _sum_far(above: IntArray, last: IntArray) -> FloatArray:
    """The sums of the discounts of places from above + 1 to last that are beyond the table.

    The discount of place p is log(2) f(p + 1), with f(x) = 1 / log x. By Euler and Maclaurin a sum
    of f is its integral from `low` to `high`, half a place before the first x and behind the last
    one, less 1/24 of what f' rises between these. It is taken over v = log(x / low), where it is
    smooth.
    """
    # `@` may round a column by what stands beside it: equal rows, computed once, have equal sums.
    rows = factorize(above, last)
    distinct = rows.first()
    low = np.maximum(above[distinct], _TABLE) + 1.5
    high = last[distinct] + 1.5
    log_low = np.log(low)
    half_width = np.log1p((high - low) / low) / 2  # of the integral over v
    nodes, weights = _legendre()
    v = half_width * (1 + nodes[:, None])
    integrals = low * half_width * (weights @ (np.exp(v) / (log_low + v)))
    # f'(low) - f'(high), as f' is -1 / (x log(x)^2)
    slope_falls = 1 / (high * np.log(high) ** 2) - 1 / (low * log_low**2)
    sums: FloatArray = np.log(2) * (integrals + slope_falls / 24)
    return sums[rows.codes]


def _first_of_mixed(
    above: IntArray, tied: IntArray, right: IntArray, within: IntArray
) -> FloatArray:
    """`first_reciprocals` of distinct ties, in which not all are right answers.

    The recurrence, where it keeps its digits, takes the one of a tie and its mirror with fewer
    right answers, to which few steps lead; else places are added up in the one with more, whose
    first right answer comes soon.
    """
    ties = np.stack([above, tied, right])
    mirrors = np.stack([right - 1, above + tied - right + 1, above + 1])
    has_mirror = within > tied - right  # The cutoff leaves no first right answer out.
    mirror_has_more = right <= above + 1
    fewer = np.where(has_mirror & ~mirror_has_more, mirrors, ties)
    more = np.where(has_mirror & mirror_has_more, mirrors, ties)

    a, t, r = fewer
    keeps_digits = has_mirror & (a * (r / t) <= _MOST_GROWTH)
    recurs = keeps_digits | (right == 1)
    places = np.where(has_mirror, t, np.minimum(within, tied))
    values = np.empty(len(above))
    values[recurs] = _recur(fewer[:, recurs], places[recurs])
    values[~recurs] = _add_terms(more[:, ~recurs], within[~recurs])
    # A tie has r / (a + 1) times the value of its mirror, whose right answers are a + 1.
    values *= right / np.where(recurs, fewer[2], more[2])
    return values


def _recur(ties: IntArray, m: IntArray) -> FloatArray:
    """`first_reciprocals` by the recurrence from one right answer to the next."""
    a, t, r = ties
    values: FloatArray = reciprocal_sums(a, m) / t
    for j in range(2, int(r.max(initial=1)) + 1):
        (unfinished,) = np.nonzero(r >= j)
        rest = t[unfinished] - (j - 1)
        total = a[unfinished] + rest + 1
        values[unfinished] = j / ((j - 1) * rest) * (total * values[unfinished] - 1)
    return values


def _add_terms(ties: IntArray, m: IntArray) -> FloatArray:
    """`first_reciprocals` place by place, until what is left is too small to be seen."""
    a, t, r = ties
    totals = np.zeros(len(a))
    chance: FloatArray = r / t  # P(I = i), that the first right answer is at place i
    unfinished: IntArray = np.arange(len(a))
    i = 0
    while len(unfinished):
        i += 1
        totals[unfinished] += chance / (a + i)
        chance = chance * (t - i - r + 1) / np.maximum(t - i, 1)
        # All that is left is at most P(I > i) / (a + i), and P(I > i) = (t - i) / r P(I = i + 1).
        is_large = chance * (t - i) > _SMALL * r * totals[unfinished] * (a + i)
        goes_on = is_large & (i < m)
        unfinished = unfinished[goes_on]
        chance = chance[goes_on]
        a, t, r, m = (array[goes_on] for array in (a, t, r, m))
    return totals


# -- rows and keys ---------------------------------------------------------------------------------

_EXAMPLES = {"": ("",), "@k": ("@1", "@7"), "[@k]": ("", "@7"), ":p": (":0.8", ":.25")}
_EXAMPLES["@k:n"] = ("@1:3", "@3:20")
_TREC = "trec_eval"
_RECBOLE = "RecBole, sentence-transformers, PyTorch Geometric"
_MUSGRAVE = "Musgrave, Belongie, Lim, A Metric Learning Reality Check (2020)"
_CHAPELLE = "Chapelle et al., Expected reciprocal rank for graded relevance (2009)"
_MOFFAT = "Moffat, Zobel, Rank-biased precision for measurement of retrieval effectiveness (2008)"
_HANLEY = "Hanley, McNeil, The meaning and use of the area under a ROC curve (1982)"
_ZHOU = "Zhou et al., Deep Interest Network for Click-Through Rate Prediction (2018)"
_HODOSH = "Hodosh, Young, Hockenmaier, Framing image description as a ranking task (2013)"


def _row(
    title: str,
    parameter: str,
    description: str,
    of_answers: Callable[[Ties, Any], FloatArray],
    source: str,
    *,
    increasing: bool = True,
    **others: Any,
) -> MetricRow:
    """Make a row, whose name is its title in small letters; `others` are fields of it, too."""
    return MetricRow(
        name=title.lower().replace("-", "_"),
        title=title,
        description=description,
        parameter=parameter,
        examples=_EXAMPLES[parameter],
        increasing=increasing,
        decimals=3 if increasing else 1,
        of_answers=of_answers,
        source=source,
        **others,
    )


_ROWS = (
    _row("MRR", "[@k]", "mean reciprocal rank", reciprocal_rank, _TREC),
    _row("MAP", "[@k]", "mean average precision", average_precision, _TREC),
    _row("MAP-min", "@k", "mean average precision over min(k, R)", capped_precision, _RECBOLE),
    _row("MAP-at-R", "", "mean average precision at R", precision_at_r, _MUSGRAVE),
    _row("R-Precision", "", "precision at R", r_precision, _TREC),
    _row(
        "nDCG",
        "[@k]",
        "normalised discounted cumulative gain",
        discounted_gain,
        _TREC,
        of_gains=True,
        is_relative=True,
    ),
    _row(
        "DCG",
        "[@k]",
        "discounted cumulative gain",
        discounted_gain,
        _TREC,
        ends=(0.0, math.inf),
        of_gains=True,
    ),
    _row(
        "ERR",
        "@k",
        "expected reciprocal rank",
        expected_reciprocal_rank,
        _CHAPELLE,
        of_gains=True,
        needs_order=True,
    ),
    _row("RBP", ":p", "rank-biased precision", rank_biased_precision, _MOFFAT),
    _row("Recall", "@k", "recall at k", recall, _TREC, is_share=True),
    _row("Precision", "@k", "precision at k", precision, _TREC, is_share=True),
    _row("F1", "@k", "harmonic mean of precision and recall at k", f1, "PyTorch Geometric"),
    _row("Success", "@k", "success at k", success, _TREC, is_share=True, is_binary=True),
    _row(
        "Sampled-Hits",
        "@k:n",
        "hits at k among n drawn negatives",
        sampled_success,
        ZHU,
        is_share=True,
    ),
    _row("AUC", "", "area under the ROC curve", pairs_in_order, _HANLEY, of_pairs=True),
    _row(
        "GAUC",
        "",
        "area under the ROC curve, by candidates",
        pairs_in_order,
        _ZHOU,
        of_pairs=True,
        by_candidates=True,
    ),
    _row(
        "MR",
        "",
        "mean rank of the first right answer",
        first_rank,
        _HODOSH,
        increasing=False,
        ends=RANKS,
    ),
    _row(
        "Median",
        "",
        "median rank of the first right answer",
        first_rank,
        _HODOSH,
        increasing=False,
        average=median,
    ),
)
ANSWER_METRICS = {row.name: row for row in _ROWS}
# Other names: in trec_eval, pytrec_eval, ranx, ir_measures and papers, in RecBole, PyTorch
# Geometric and pytorch-metric-learning.
_OTHER_NAMES = {
    "mrr": ("recip_rank", "rr", "mean_reciprocal_rank"),
    "map": ("map_cut", "ap"),
    "map_at_r": ("mean_average_precision_at_r",),
    "ndcg": ("ndcg_cut",),
    "r_precision": ("rprec",),
    "precision": ("p",),
    "recall": ("r",),
    "success": ("hits", "hit_rate", "h", "hr", "hit", "hit_ratio"),
    "mr": ("mean_rank", "meanr"),
    "median": ("median_rank", "medr"),
}
ORDER_KINDS = (EXPECTED_KIND, "optimistic", "pessimistic")  # The default comes first.


def _refuse_words() -> dict[str, str]:
    """Say why words of the keys of tasks are none of queries."""
    words = ("chance", "optimum", *ADJUSTED, *map(str.lower, TITLES.values()))
    names = {"sampled_recall": "sampled_hits@k:n", "mean_average_precision": "map"}
    names |= {"reciprocal_rank": "mrr"}
    meant = {name: f"did you mean {metric}?" for name, metric in names.items()}
    return dict.fromkeys(words, NO_CHANCE) | meant


ANSWER_KEYS = Grammar(
    "query",
    "queries",
    ANSWER_METRICS,
    defaults={"kind": EXPECTED_KIND},
    words={"kind": ORDER_KINDS},
    synonyms={
        name: (NO_ADJUSTMENT, metric) for metric, names in _OTHER_NAMES.items() for name in names
    },
    make_refused=_refuse_words,
    numbered=re.compile(r"(.+?)_(?:at_)?(\d+)"),
    listed=(
        *("mrr", "mrr@10", "map", "r_precision", "ndcg", "ndcg@10"),
        *("recall@10", "recall@100", "precision@10", "success@10"),
    ),
    few=("mrr", "map", "ndcg@10", "recall@10"),
    listed_kinds=ORDER_KINDS,
    tie_kinds=ORDER_KINDS,
    rows=("kind",),
)
