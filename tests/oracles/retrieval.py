"""Metrics of queries with several right answers by their definitions: over every order of the ties.

A ranking is a list of gains, 0 for wrong candidates. Its values are fractions, but for those with
logarithms, which are floats.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

Value = Fraction | float


def rankings(scores: Sequence[float], gains: Sequence[int]) -> Iterator[list[int]]:
    """Yield the gains in every order that the scores allow, the best score first."""
    ties = [
        [g for s, g in zip(scores, gains, strict=True) if s == score]
        for score in sorted(set(scores), reverse=True)
    ]
    for orders in itertools.product(*map(itertools.permutations, ties)):
        yield [gain for tie in orders for gain in tie]


def value(metric: str, ranking: Sequence[int]) -> Value:
    """Return the value of a metric, such as "map" or "ndcg@3", for one ranking."""
    name, _, parameter = metric.partition("@")
    if not parameter:
        name, _, parameter = metric.partition(":")
    hits = [place for place, gain in enumerate(ranking, 1) if gain]
    if name == "rbp":
        p = Fraction(parameter)
        return (1 - p) * sum(p ** (place - 1) for place in hits)
    if name in ("auc", "gauc", "sampled_hits"):
        return value_of_wrong(name, parameter, ranking)
    if name == "mr":
        return Fraction(hits[0])
    k = len(ranking)
    if parameter:
        k = int(parameter)
    elif name == "map_at_r":
        k = len(hits)
    within = [place for place in hits if place <= k]
    shares = {
        "recall": (len(within), len(hits)),
        "precision": (len(within), k),
        "f1": (2 * len(within), k + len(hits)),
        "success": (bool(within), 1),
        "r_precision": (sum(place <= len(hits) for place in hits), len(hits)),
        "mrr": (bool(within), min(within, default=1)),
    }
    if name in shares:
        return Fraction(*shares[name])
    if name in ("map", "map_min", "map_at_r"):
        precisions = [Fraction(i, place) for i, place in enumerate(within, 1)]
        most = len(hits)
        if name == "map_min":
            most = min(k, most)
        return sum(precisions, Fraction(0)) / most
    if name == "err":
        stops = [Fraction(gain, max(1 + gain for gain in ranking)) for gain in ranking]
        comes = [math.prod(1 - stop for stop in stops[:i]) for i in range(len(stops))]
        read = zip(comes[:k], stops, strict=False)
        return sum(stop * chance / place for place, (chance, stop) in enumerate(read, 1))
    if name not in ("dcg", "ndcg"):
        raise ValueError(name)
    total = gained(ranking, k)
    if name == "dcg":
        return total
    return total / gained(sorted(ranking, reverse=True), k)


def value_of_wrong(name: str, parameter: str, ranking: Sequence[int]) -> Fraction:
    """Return the value of a metric that is about the candidates that are no right answers."""
    hits = [place for place, gain in enumerate(ranking, 1) if gain]
    wrong = [place for place, gain in enumerate(ranking, 1) if not gain]
    if name == "sampled_hits":  # All sets of n that may be drawn are tried.
        k, n = map(int, parameter.split(":"))
        draws = list(itertools.combinations(wrong, min(n, len(wrong))))
        few = [sum(place < hits[0] for place in drawn) < k for drawn in draws]
        return Fraction(sum(few), len(draws))
    if not wrong:  # There is no pair.
        return math.nan
    out_of_order = sum(place - i for i, place in enumerate(hits, 1))
    return 1 - Fraction(out_of_order, len(hits) * len(wrong))


def gained(ranking: Sequence[int], k: int) -> float:
    """Return the discounted cumulative gain of the first k."""
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(ranking[:k], 1))


def mean_of(values: Sequence[Value]) -> float:
    """Return the mean of values of orders that are equally likely."""
    if all(isinstance(each, Fraction) for each in values):
        return float(sum(values, Fraction(0)) / len(values))
    return math.fsum(map(float, values)) / len(values)


def values_by_order(metric: str, scores: Sequence[float], gains: Sequence[int]) -> dict[str, float]:
    """Return the value of a metric over the orders of the ties, and over those of all candidates.

    "optimistic" and "pessimistic" are the best and the worst of all orders: nothing is sorted.
    """
    found = [value(metric, ranking) for ranking in rankings(scores, gains)]
    anyhow = [value(metric, ranking) for ranking in rankings([0] * len(gains), gains)]
    best, worst = (min, max) if metric == "mr" else (max, min)
    return {
        "expected": mean_of(found),
        "optimistic": float(best(found)),
        "pessimistic": float(worst(found)),
        "chance": mean_of(anyhow),
        "optimum": float(best(anyhow)),
    }


# -- sums over one tie, term by term ---------------------------------------------------------------


def first_reciprocal(above: int, tied: int, right: int, within: int) -> float:
    """Return the mean of 1 / (above + I) over the places I <= within of the first right answer."""
    with localcontext(prec=40):
        chance = Decimal(right) / tied
        total = Decimal(0)
        for i in range(1, min(within, tied - right + 1) + 1):
            total += chance / (above + i)
            chance *= Decimal(tied - i - right + 1) / max(tied - i, 1)
        return float(total)


def hit_chance(tied: int, right: int, within: int) -> float:
    """Return the probability of a right answer among the first places of a tie."""
    return float(1 - Fraction(math.comb(tied - right, within), math.comb(tied, within)))


def sums(above: int, places: int) -> tuple[float, float]:
    """Return the sums of 1 / p and 1 / log2(p + 1) over places p."""
    places_of_tie = range(above + 1, above + places + 1)
    with localcontext(prec=40):
        reciprocals = sum((1 / Decimal(p) for p in places_of_tie), Decimal(0))
    return float(reciprocals), math.fsum(1 / math.log2(p + 1) for p in places_of_tie)
