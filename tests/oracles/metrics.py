"""Metrics by their definitions, slowly.

Ranks and weights are fractions, and so are all values that can be; logarithms, roots and real
powers have 60 decimal digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from truerank import Ranks
from truerank.metrics import METRICS
from truerank.metrics.keys import parse

Number = Fraction | Decimal
DIGITS = 60
MAD_SCALE = Fraction("1.482602218505602")

# A metric that is a mean of f(r) has this f of the rank and the parameter: a Fraction or, with
# logarithms and roots, a Decimal.
PLAIN_FUNCTIONS: dict[str, Callable[[Fraction, Fraction], Number]] = {
    "mr": lambda r, _: r,
    "mrr": lambda r, k: 1 / r * Fraction(not k or r <= k),
    "hits": lambda r, k: Fraction(r <= k),
    "ndcg": lambda r, k: decimal(Fraction(r <= k)) * Decimal(2).ln() / decimal(1 + r).ln(),
}


def exact(
    name: str, ranks: Sequence[Fraction], weights: Sequence[Fraction], sizes: Sequence[int] = ()
) -> Number:
    """Return the value of a metric, such as "mrr", "hits@3" or "power_mean:0.5".

    A mean of f(r) has its f in `PLAIN_FUNCTIONS`, another metric its formula here.

    A metric that has no formula here is computed from the f and g of its row, rank by rank, with
    the numbers of candidates.
    """
    if name.startswith("sampled_hits"):
        cutoff = parse(name).parameter
        shares = [sampled_hit(r, n, cutoff) for r, n in zip(ranks, sizes, strict=True)]
        return mean(shares, weights)
    name, _, p = name.partition(":")
    if name == "power_mean":
        return power_mean(float(p), ranks, weights)
    name, _, k = name.partition("@")
    if name in PLAIN_FUNCTIONS:
        parameter = Fraction(p or k or 0)
        return mean([value_at(name, r, parameter) for r in ranks], weights)

    def mean_of(values: Sequence[Fraction]) -> Fraction:
        return Fraction(mean(values, weights))

    def variance() -> Fraction:
        centre = mean_of(ranks)
        return mean_of([(r - centre) ** 2 for r in ranks])

    def deviation() -> Fraction:
        centre = middle(ranks, weights)
        return MAD_SCALE * middle([abs(r - centre) for r in ranks], weights)

    formulas: dict[str, Callable[[], Number]] = {
        "imr": lambda: 1 / mean_of(ranks),
        "hmr": lambda: 1 / mean_of([1 / r for r in ranks]),
        "gmr": lambda: power_mean(0, ranks, weights),
        "igmr": lambda: 1 / decimal(power_mean(0, ranks, weights)),
        "median": lambda: middle(ranks, weights),
        "imedian": lambda: 1 / middle(ranks, weights),
        "variance": variance,
        "std": lambda: decimal(variance()).sqrt(),
        "mad": deviation,
        "count": lambda: Fraction(len(ranks)),
    }
    if name not in formulas:
        row = METRICS[name]
        parameter = float(p or k or 0)
        f = row.of_rank
        each = [
            f(np.array([float(r)]), np.array([n]), parameter)
            for r, n in zip(ranks, sizes, strict=True)
        ]
        return Fraction(row.inverse(float(mean_of([Fraction(float(value[0])) for value in each]))))
    with localcontext(prec=DIGITS):
        return formulas[name]()


def value_at(name: str, rank: Fraction, parameter: Fraction) -> Number:
    """Return f of one rank, for a metric that is a mean of f(r)."""
    with localcontext(prec=DIGITS):
        return PLAIN_FUNCTIONS[name](rank, parameter)


def sampled_hit(rank: Fraction, size: int, cutoff: tuple[int, int]) -> Fraction:
    """Return how likely fewer than k of the negatives above are among n drawn ones."""
    k, negatives = cutoff
    return drawn_middle(int(rank) - 1, 1, size, (k, negatives))


def drawn_middle(above: int, tied: int, size: int, cutoff: tuple[int, int]) -> Fraction:
    """Return how likely the middle of a tie is among the first k beside n drawn negatives.

    All numbers of drawn negatives that are above, in the tie and below are listed.
    """
    k, negatives = cutoff
    drawn = min(negatives, size - 1)
    ways = 0
    for i in range(min(drawn, above, k - 1) + 1):  # With k and more above it is never among them.
        for j in range(min(drawn - i, tied - 1) + 1):
            if 2 * (i + 1) + j <= 2 * k:
                below = math.comb(size - above - tied, drawn - i - j)
                ways += math.comb(above, i) * math.comb(tied - 1, j) * below
    return Fraction(ways, math.comb(size - 1, drawn))


def mean(values: Sequence[Number], weights: Sequence[Fraction]) -> Number:
    """Return the weighted mean; a Decimal if one of the values is."""
    total = sum(weights)
    if any(isinstance(value, Decimal) for value in values):
        with localcontext(prec=DIGITS):
            pairs = zip(weights, values, strict=True)
            return sum((decimal(w / total) * decimal(v) for w, v in pairs), Decimal(0))
    fractions = zip(weights, map(Fraction, values), strict=True)
    return sum((w * v for w, v in fractions), Fraction(0)) / total


def of_kind(kind: str, name: str, ranks: Ranks) -> Number:
    """Return the value of a metric for a kind of rank but random ones; there must be tasks.

    Expected are all positions of every tie, each with its share of the weight of its task.
    """
    positions: dict[str, Callable[[int, int], list[Fraction]]] = {
        "optimistic": lambda a, t: [Fraction(a + 1)],
        "realistic": lambda a, t: [Fraction(2 * a + 1 + t, 2)],
        "pessimistic": lambda a, t: [Fraction(a + t)],
        "expected": lambda a, t: [Fraction(a + 1 + i) for i in range(t)],
    }
    weights = ranks.weights
    if weights is None:
        weights = np.ones(len(ranks))
    columns = [x.tolist() for x in (ranks.above, ranks.tied, weights, ranks.candidates)]
    if kind == "realistic" and name.startswith("sampled_hits"):
        cutoff = parse(name).parameter
        shares = [drawn_middle(a, t, n, cutoff) for a, t, _, n in zip(*columns, strict=True)]
        return mean(shares, list(map(Fraction, columns[2])))
    rows = []
    for above, tied, weight, size in zip(*columns, strict=True):
        places = positions[kind](above, tied)
        rows += [(place, Fraction(weight) / len(places), size) for place in places]
    return exact(name, *zip(*rows, strict=True))


def decimal(x: Number) -> Decimal:
    if isinstance(x, Decimal):
        return x
    return Decimal(x.numerator) / x.denominator


@lru_cache(1 << 12)
def logarithm(x: Fraction) -> Decimal:
    with localcontext(prec=DIGITS):
        return decimal(x).ln()


@lru_cache(1 << 12)
def real_power(x: Fraction, p: float) -> Decimal:
    with localcontext(prec=DIGITS):
        return decimal(x) ** Decimal(p)


def power_mean(p: float, ranks: Sequence[Fraction], weights: Sequence[Fraction]) -> Number:
    pairs = [(r, w) for r, w in zip(ranks, weights, strict=True) if w]
    if p == math.inf:
        return max(r for r, _ in pairs)
    if p == -math.inf:
        return min(r for r, _ in pairs)
    total = sum(w for _, w in pairs)
    with localcontext(prec=DIGITS):
        if p == 0:
            return sum((decimal(w / total) * logarithm(r) for r, w in pairs), Decimal(0)).exp()
        mean = sum((decimal(w / total) * real_power(r, p) for r, w in pairs), Decimal(0))
        return mean ** (1 / Decimal(p))


def middle(ranks: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    """The smallest rank that reaches half the weight; at exactly half the mean with the next."""
    pairs = sorted((r, w) for r, w in zip(ranks, weights, strict=True) if w)
    sums = list(itertools.accumulate(w for _, w in pairs))
    i = next(i for i, total in enumerate(sums) if 2 * total >= sums[-1])
    return (pairs[i][0] + pairs[i + (2 * sums[i] == sums[-1])][0]) / 2
