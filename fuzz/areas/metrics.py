"""`metrics`: values, moments under chance and p-values by definition."""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from oracles import metrics as oracle
from truerank.inference import pvalue
from truerank.metrics import METRICS
from truerank.metrics.chance_model import tails

PLACES = ("optimistic", "realistic", "pessimistic")
KINDS = (*PLACES, "expected")
SPREADS = [name for name, row in METRICS.items() if not row.chance]
MEANS = ("mr", "mrr", "hits")
POWERS = ("-inf", "-20", "-4", "-1.5", "-1", "-0.5", "-0.05", "0", "0.05", "0.5", "1", "2", "3.7")
POWERS = (*POWERS, "10", "30", "inf")  # type: ignore[assignment]
SIDES = ("head", "tail", "relation")

MODELLED_POWERS = st.sampled_from(POWERS).filter(lambda p: -4 <= float(p) <= 10 or "inf" in p)
MODELLED = st.one_of(
    st.sampled_from([name for name, row in METRICS.items() if row.chance and not row.parameter]),
    st.integers(1, 6).map("hits@{}".format),
    MODELLED_POWERS.map("power_mean:{}".format),
)
NAMES = st.one_of(
    MODELLED, st.sampled_from(SPREADS), st.sampled_from(POWERS).map("power_mean:{}".format)
)
# Dyadic weights, so that the sums of equal ones are equal.
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 3.0])
UNITS = st.sampled_from([1.0, 0.125, 2.0**-1000, 2.0**1000])


@dataclass
class Drawn:
    """Counts of tasks, with their weights and sides."""

    above: list[int]
    tied: list[int]
    candidates: list[int]
    weights: list[float] | None
    sides: list[str] | None = None

    def ranks(self) -> tr.Ranks:
        counts = self.above, self.tied, self.candidates
        side = None if self.sides is None else self.sides or None
        return tr.Ranks(*counts, weights=self.weights, side=side)

    def of_side(self, side: str) -> Drawn:
        """Return the tasks of a side; "both" are all but relations."""
        if self.sides is None:
            return self
        chosen = [s == side or (side == "both" and s != "relation") for s in self.sides]
        columns = (self.above, self.tied, self.candidates, self.weights)
        return Drawn(
            *(None if x is None else [*itertools.compress(x, chosen)] for x in columns)  # type: ignore[arg-type]
        )

    @property
    def shares(self) -> list[Fraction]:
        return [Fraction(w) for w in self.weights or [1] * len(self.above)]

    @property
    def empty(self) -> bool:
        """Whether nothing counts."""
        return not any(self.shares)

    def value(self, name: str, kind: str) -> oracle.Number:
        if kind == "expected":
            mixture = oracle.all_positions(self.above, self.tied, self.shares)
            if name == "count":
                return Fraction(len(self.above))
            return oracle.exact(name, *mixture)
        return oracle.exact(name, oracle.positions(self.above, self.tied, kind), self.shares)


@st.composite
def tasks(
    draw: st.DrawFn, *, most: int, tie: int, ranks: int, weights: Any = WEIGHTS, least: int = 0
) -> Drawn:
    n = draw(st.integers(least, most))
    number = st.integers(0, ranks) | st.integers(0, 3)
    above = draw(st.lists(number, min_size=n, max_size=n))
    tied = draw(st.lists(st.integers(1, 3) | st.integers(1, tie), min_size=n, max_size=n))
    more = draw(st.lists(number, min_size=n, max_size=n))
    given = draw(st.none() | st.lists(weights, min_size=n, max_size=n).filter(lambda w: any(w)))
    if given is not None:
        unit = draw(UNITS)
        given = [w * unit for w in given]
    candidates = [a + t + m for a, t, m in zip(above, tied, more, strict=True)]
    sides = draw(st.none() | st.lists(st.sampled_from(SIDES), min_size=n, max_size=n))
    return Drawn(above, tied, candidates, given, sides)


def sides_of(drawn: Drawn) -> list[str]:
    """Return the sides that keys may name."""
    if not drawn.sides:
        return ["both"]
    return [*(["both"] if {*drawn.sides} != {"relation"} else []), *sorted({*drawn.sides})]


def near(found: float, expected: oracle.Number, rel: float, floor: float = 0.0) -> bool:
    """Whether a value is right up to an error relative to it, or to another number."""
    with localcontext() as context:
        context.prec = oracle.DIGITS
        exact = oracle.decimal(expected)
        return math.isfinite(found) and (
            abs(Decimal(found) - exact) <= Decimal(rel) * abs(exact) + Decimal(floor)
        )


def key_of(side: str, kind: str, adjustment: str, name: str) -> str:
    words = [side, kind, adjustment, name]
    return ".".join(w for w in words if w not in ("both", "realistic", "none"))


@check(tasks(most=6, tie=120, ranks=60), NAMES, st.sampled_from(KINDS), st.data(), inputs=100)
def values(drawn: Drawn, name: str, kind: str, data: Any) -> None:
    side = data.draw(st.sampled_from(sides_of(drawn)))
    chosen = drawn.of_side(side)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tr.report(drawn.ranks())[key_of(side, kind, "none", name)]
    if chosen.empty:
        assert math.isnan(found) or name == "count", found
        return
    expected = chosen.value(name, kind)
    loose = name.startswith("power_mean") or name in ("std", "variance", "gmr", "igmr")
    scale = max(chosen.candidates) ** 2 * 1e-14 if name == "variance" else 0.0
    if name == "std":  # a root of rounding
        scale = 1e-7 * max(chosen.candidates) if not expected else 0.0
    assert near(found, expected, 1e-11 if loose else 1e-13, scale), (found, float(expected))


# -- chance ----------------------------------------------------------------------------------------


@st.composite
def sizes_and_weights(draw: st.DrawFn, most: int = 200) -> tuple[list[int], list[float] | None]:
    """Draw numbers of candidates with few outcomes in all, and weights."""
    sizes: list[int] = []
    for size in draw(st.lists(st.integers(1, 9) | st.integers(1, 3), min_size=1, max_size=6)):
        if math.prod(sizes) * size <= most:
            sizes.append(size)
    one = st.lists(WEIGHTS, min_size=len(sizes), max_size=len(sizes)).filter(any)
    weights = draw(st.none() | one)
    unit = draw(UNITS)
    return sizes, None if weights is None else [w * unit for w in weights]


def as_fractions(weights: Sequence[float] | None, n: int) -> list[Fraction]:
    return [Fraction(w) for w in weights] if weights is not None else [Fraction(1)] * n


def counted(sizes: list[int], weights: list[float] | None) -> tuple[list[int], list[Fraction]]:
    """Return the tasks with a weight."""
    pairs = [(n, w) for n, w in zip(sizes, as_fractions(weights, len(sizes)), strict=True) if w]
    return [n for n, _ in pairs], [w / max(w for _, w in pairs) for _, w in pairs]


def modelled(name: str, weights: list[Fraction]) -> bool:
    """Whether a metric has a chance model for these weights."""
    return not ("median" in name and len({*weights}) > 1)


@check(sizes_and_weights(), MODELLED, st.booleans(), inputs=60)
def moments(drawn: tuple[list[int], list[float] | None], name: str, pooled: bool) -> None:
    sizes, weights = drawn
    given: Any = sizes
    if pooled and weights is None:
        given = sorted({*sizes}), [sizes.count(n) for n in sorted({*sizes})]
    sizes, shares = counted(sizes, weights)
    if not modelled(name, shares):
        return
    mean, variance = tr.chance(name, given, weights)
    exact = oracle.moments(name, sizes, shares)
    assert near(mean, exact[0], 1e-12), (mean, float(exact[0]))
    seen = 1e-14 * float(exact[0])
    floor = seen * math.sqrt(exact[1]) + seen**2
    assert near(variance, exact[1], 1e-10, floor), (variance, float(exact[1]))


@check(
    st.lists(st.tuples(st.integers(1, 300), WEIGHTS), min_size=1, max_size=9),
    st.sampled_from(["mr", "mrr", "hits@1", "hits@7", "hits@300"]),
    UNITS,
    inputs=30,
)
def moments_of_sums(drawn: list[tuple[int, float]], name: str, unit: float) -> None:
    """Means over tasks have the sums of the moments of single tasks."""
    sizes, weights = [n for n, _ in drawn], [w * unit for _, w in drawn]
    if not any(weights):
        return
    mean, variance = tr.chance(name, sizes, weights)
    sizes, shares = counted(sizes, weights)
    each = [oracle.single_moments(name, n) for n in sizes]
    total = sum(shares)
    expected = sum(w * m for w, (m, _) in zip(shares, each, strict=True)) / total
    spread = sum(w * w * v for w, (_, v) in zip(shares, each, strict=True)) / total**2
    assert near(mean, Fraction(expected), 1e-13), (mean, float(expected))
    assert near(variance, Fraction(spread), 1e-12, 1e-16), (variance, float(spread))


@st.composite
def placed(draw: st.DrawFn, most: int = 200) -> Drawn:
    """Draw few outcomes in all, and ranks, with ties, among the candidates."""
    sizes, weights = draw(sizes_and_weights(most))
    above = [draw(st.integers(0, n - 1)) for n in sizes]
    tied = [draw(st.just(1) | st.integers(1, n - a)) for n, a in zip(sizes, above, strict=True)]
    return Drawn(above, tied, sizes, weights)


@check(
    placed(), MODELLED, st.sampled_from(KINDS), st.sampled_from(["ratio", "index", "z"]), inputs=60
)
def adjusted(drawn: Drawn, name: str, kind: str, adjustment: str) -> None:
    sizes, shares = counted(drawn.candidates, drawn.weights)
    if not modelled(name, shares):
        return
    found = tr.report(drawn.ranks())[key_of("both", kind, adjustment, name)]
    value = oracle.decimal(drawn.value(name, kind))
    mean, variance = map(oracle.decimal, oracle.moments(name, sizes, shares))
    with localcontext() as context:
        context.prec = oracle.DIGITS
        if variance < Decimal("1e-40"):  # chance is perfect
            assert math.isnan(found) or adjustment == "ratio", found
            return
        if adjustment == "ratio":
            expected, error = value / mean, abs(value / mean)
        else:
            by = 1 - mean if adjustment == "index" else variance.sqrt()
            expected, error = (value - mean) / by, (abs(value) + abs(mean)) / abs(by)
    assert near(found, expected, 1e-10, 1e-12 * float(error)), (found, float(expected))


# -- p-values --------------------------------------------------------------------------------------


LAWS = st.sampled_from(["mr", "imr", "median", "hits@2"]) | MODELLED


ALTERNATIVES = st.sampled_from(["better", "better", "worse", "two-sided"])


@check(placed(100), LAWS, st.sampled_from(KINDS), ALTERNATIVES, st.booleans(), inputs=100)
def pvalues(drawn: Drawn, name: str, kind: str, alternative: str, listed: bool) -> None:
    """The share of the outcomes that are as good, or as bad, listed by the package or not."""
    sizes, shares = counted(drawn.candidates, drawn.weights)
    if not modelled(name, shares):
        return
    nothing = {} if listed else {"_listed": lambda rows, most: None}
    with mock.patch.multiple(tails, **nothing) if nothing else contextlib.nullcontext():
        found = pvalue(drawn.ranks(), f"{kind}.{name}", alternative=alternative)
    assert found.method == "exact" or not listed
    exact = oracle.tail_share(name, drawn.value(name, kind), sizes, shares, alternative)
    if found.method != "exact":
        assert 0 <= found.p <= 1
        return
    assert near(found.p, exact, 1e-11), (found, float(exact))
    assert not exact or abs(found.log10_p - math.log10(exact)) < 1e-11


@check(
    st.lists(st.integers(1, 12) | st.integers(1, 100_000), min_size=1, max_size=14),
    st.integers(1, 4),
    st.data(),
    inputs=30,
)
def hits_of_many(sizes: list[int], k: int, data: Any) -> None:
    """The law of the number of hits, from its recursion in fractions."""
    ranks = [data.draw(st.integers(1, n) | st.integers(1, min(n, k))) for n in sizes]
    found = pvalue(tr.Ranks(np.array(ranks) - 1, [1] * len(ranks), sizes), f"hits@{k}")
    chances = [Fraction(min(k, n), n) for n in sizes]
    law = oracle.law_of_sum([{1: p, 0: 1 - p} for p in chances])
    least = sum(r <= k for r in ranks)
    exact = sum((p for hits, p in law.items() if hits >= least), Fraction(0))
    assert found.method == "exact"
    assert near(found.p, exact, 1e-11), (found, float(exact))


@check(
    st.lists(st.tuples(st.integers(1, 14), st.integers(0, 3)), min_size=1, max_size=9),
    st.sampled_from(["mr", "hits@3"]),
    st.data(),
    inputs=30,
)
def weighted_sums(drawn: list[tuple[int, int]], name: str, data: Any) -> None:
    """The law of a weighted sum, in fractions; small whole weights make it exact."""
    sizes, weights = [n for n, _ in drawn], [w for _, w in drawn]
    if not any(weights):
        return
    ranks = [data.draw(st.integers(1, n)) for n in sizes]
    found = pvalue(tr.Ranks(np.array(ranks) - 1, [1] * len(ranks), sizes, weights=weights), name)
    if found.method != "exact":
        return
    sign = -1 if name == "mr" else 1

    def of(rank: int, weight: int) -> int:
        return sign * weight * (rank if name == "mr" else rank <= 3)

    laws = []
    for n, w in drawn:
        law: dict[int, Fraction] = {}
        for r in range(1, n + 1):
            law[of(r, w)] = law.get(of(r, w), Fraction(0)) + Fraction(1, n)
        laws.append(law)
    least = sum(of(r, w) for r, w in zip(ranks, weights, strict=True))
    exact = sum((p for value, p in oracle.law_of_sum(laws).items() if value >= least), Fraction(0))
    assert near(found.p, exact, 1e-10), (found, float(exact))


FAULTS = [
    Fault(
        "a wrong weight",
        "python/truerank/metrics/chance_model/moments.py",
        "float((shares * (tasks.weights * variance)).sum())",
        "float((shares * variance).sum())",
    ),
    Fault(
        "a wrong rule for ties",
        "python/truerank/metrics/chance_model/tails.py",
        "self._sign = -1.0 if rising != worse else 1.0",
        "self._sign = -1.0 if rising == worse else 1.0",
    ),
]
