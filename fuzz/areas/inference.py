"""`inference`: intervals, paired tests, many questions, power and estimates by definition."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from truerank.inference import (
    CorrectedPValues,
    correct_pvalues,
    effect_sizes,
    equivalence,
    estimate_full_ranking,
    friedman,
    interval,
    max_t,
    pvalue,
)
from truerank.inference.intervals import METHODS
from truerank.inputs.errors import InputError

LINEAR = ("mr", "mrr", "hits@1", "hits@3", "index.mrr", "index.mr", "index.hits@3")
SMOOTH = ("gmr", "std", "z.mrr", "ratio.mr", "power_mean:2", "hmr", "imr")
OTHERS = ("median", "imedian", "mad", "variance", "power_mean:inf", "count")
KEYS = st.sampled_from([*LINEAR, *SMOOTH, *OTHERS])
LEVELS = st.sampled_from([0.5, 0.9, 0.95, 0.99])
UNITS = st.sampled_from(["auto", None, "task", "query", "target", "relation", ("query", "target")])
# Other metrics have no ends, or some that depend on the candidates.
RANGES = {"mrr": (0.0, 1.0), "hits": (0.0, 1.0)}


def quietly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function; a warning is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*arguments, **options)


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result, or None for an error that says what is wrong; any other error is a finding."""
    try:
        return quietly(function, *arguments, **options)
    except (InputError, KeyError) as error:
        if len(str(error)) < 12:
            raise
    except ValueError as error:
        if not str(error).startswith("cannot compare: "):
            raise
    return None


@st.composite
def columns(draw: st.DrawFn, most: int = 40, least: int = 0) -> dict[str, Any]:
    """Draw the counts, labels and weights of tasks; queries may have several tasks."""
    n = draw(st.integers(least, min(6, most)) | st.integers(least, most))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    size = draw(st.sampled_from([1, 2, 10, 1000, 2**24]))
    law = draw(st.sampled_from(["uniform", "log-uniform", "first", "last", "one bad"]))
    sizes = np.full(n, size) if draw(st.booleans()) else rng.integers(1, size, n, endpoint=True)
    ranks = np.ones(n, np.int64)
    if law == "uniform":
        ranks = rng.integers(1, sizes, endpoint=True)
    elif law == "log-uniform":
        ranks = np.exp(rng.random(n) * np.log(sizes)).astype(np.int64)
    elif law == "last":
        ranks = sizes.astype(np.int64)
    elif law == "one bad" and n:
        ranks[-1] = sizes[-1]
    tied = np.ones(n, np.int64)
    if draw(st.booleans()):
        tied = rng.integers(1, np.minimum(sizes - ranks + 1, 3), endpoint=True)
    labels = {
        "queries": np.sort(rng.integers(0, max(n * draw(st.sampled_from([1, 3])) // 2, 1), n)),
        "targets": rng.integers(0, max(n // 3, 1), n),
        "relation": rng.integers(0, 3, n),
    }
    weights = None
    if draw(st.booleans()):
        weights = (
            rng.choice([0.0, 0.25, 1.0, 1.0, 3.0], n) if draw(st.booleans()) else np.full(n, 2.0)
        )
        weights[:1] = 1.0
    counts = {"above": ranks - 1, "tied": tied, "candidates": sizes}
    return {**counts, **labels, "weights": weights}


def made(of: dict[str, Any], order: Any = None, scale: float = 1.0) -> tr.Ranks:
    """Make Ranks of columns, of tasks in another order, with weights times a number."""
    chosen = {k: v if v is None or order is None else v[order] for k, v in of.items()}
    if chosen["weights"] is not None:
        chosen["weights"] = chosen["weights"] * scale
    return tr.Ranks(**chosen)


@st.composite
def pairs(draw: st.DrawFn, most: int = 40, least: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw two models over the same tasks: unlike ones, nearly or quite the same ones."""
    one = draw(columns(most, least))
    n = len(one["above"])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    above = rng.integers(0, one["candidates"] - one["tied"], endpoint=True)
    how = draw(st.sampled_from(["unlike", "near", "same", "shifted"]))
    if how == "near":
        above = np.where(rng.random(n) < 0.2, above, one["above"])
    elif how == "same":
        above = one["above"]
    elif how == "shifted":
        above = np.minimum(one["above"] + 1, one["candidates"] - one["tied"])
    return one, {**one, "above": above}


def check_result(found: Any) -> None:
    """A result is written as text and as JSON; what is not a number is explained by notes or n."""
    text = str(found)
    assert text, found
    assert all(note and not note.endswith(".") and "\n" not in note for note in found.notes), found
    back = json.loads(json.dumps(found.to_dict()))
    assert back["notes"] == list(found.notes)
    assert all(note in text for note in found.notes), text


def agree(one: float, two: float, relative: float = 1e-9) -> bool:
    """Whether two numbers are equal but for rounding, or both nan."""
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    return one == two or abs(one - two) <= relative * (1 + max(abs(one), abs(two)))


# -- intervals -------------------------------------------------------------------------------------


@check(
    columns(),
    KEYS,
    st.sampled_from(["realistic", "optimistic", "expected"]),
    st.sampled_from([*METHODS, *["auto"] * 6]),
    LEVELS,
    UNITS,
    st.sampled_from([None, None, "relation"]),
    inputs=80,
)
def bounds(
    of: dict[str, Any], name: str, kind: str, method: str, level: float, by: Any, strata: Any
) -> None:
    """Bounds are ordered, in the range of the metric, and of no width only where a note says so."""
    ranks = made(of)
    key = f"{kind}.{name}"
    options = {"level": level, "method": method, "by": by, "strata": strata, "resamples": 199}
    found = outcome(interval, ranks, key, **options)
    if found is None:
        assert method != "auto" or strata is not None, "the default applies to all"
        return
    check_result(found)
    value = tr.report(ranks)[key]
    assert agree(found.value, value), (found, value)
    if math.isnan(found.low) or math.isnan(found.high):
        assert math.isnan(found.low + found.high), found
        few = found.units < 2 or math.isnan(value)
        assert few or found.notes or name.startswith(("z.", "index.", "ratio.")), found
        return
    low, high = RANGES.get(name.split("@")[0], (-math.inf, math.inf))
    assert low <= found.low <= found.high <= high, found
    if name in ("mr", "gmr", "median", "hmr"):
        most = float(of["candidates"].max())
        assert 1 - 1e-9 <= found.low <= found.high <= most * (1 + 1e-9), found
    if found.method in ("normal", "t", "wilson", "clopper-pearson", "order", "bounded", "woodruff"):
        slack = 1e-9 * (1 + abs(value))
        assert found.low - slack <= value <= found.high + slack, found
    if found.low == found.high and not found.notes and name != "count":
        last = made({**of, "above": of["candidates"] - 1, "tied": np.ones_like(of["tied"])})
        first = made({**of, "above": np.zeros_like(of["above"]), "tied": np.ones_like(of["tied"])})
        alike = agree(tr.report(first)[key], tr.report(last)[key])
        assert alike or method != "auto", found


def ranks_that_count(of: dict[str, Any]) -> Any:
    """Which tasks have a weight above 0."""
    n = len(of["above"])
    return np.ones(n, bool) if of["weights"] is None else of["weights"] > 0


@check(
    columns(least=2),
    KEYS,
    st.sampled_from(["auto", "clopper-pearson", "order", "woodruff", "normal", "wilson"]),
    st.sampled_from(["auto", "task", "query"]),
    st.integers(0, 2**32 - 1),
    inputs=40,
)
def interval_invariance(of: dict[str, Any], name: str, method: str, by: str, seed: int) -> None:
    """Names of queries and the scale of weights change nothing, nor does the order of tasks.

    Resamples depend on the order of units; methods without resamples do not.
    """
    rng = np.random.default_rng(seed)
    options = {"method": method, "by": by, "resamples": 99}
    found = outcome(interval, made(of), name, **options)
    renamed = {**of, "queries": of["queries"] * 7 + 3}
    scaled = outcome(interval, made(renamed, scale=0.25), name, **options)
    assert (found is None) == (scaled is None)
    if found is None:
        return
    for one, two in zip(found[:3], scaled[:3], strict=True):
        assert agree(one, two), (found, scaled)
    assert found.notes == scaled.notes
    other = interval(made(of, rng.permutation(len(of["above"]))), name, **options)
    assert agree(found.value, other.value)
    assert (found.units, found.largest, found.by) == (other.units, other.largest, other.by)
    assert found.method == other.method, (found, other)
    if not found.resamples:
        assert agree(found.low, other.low, 1e-8), (found, other)
        assert agree(found.high, other.high, 1e-8), (found, other)


def binomial_tail(n: int, least: int, p: Fraction) -> Fraction:
    """The probability of at least so many successes."""
    terms = (math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, n + 1))
    return sum(terms, Fraction(0))


@check(st.integers(2, 40), st.data(), st.sampled_from([0.5, 0.9, 0.99]), inputs=40)
def exact_shares(n: int, data: Any, level: float) -> None:
    """Clopper's and Pearson's bounds are where the binomial tails are what the level leaves out."""
    hits = data.draw(st.integers(0, n))
    above = [0] * hits + [5] * (n - hits)
    found = interval(tr.Ranks(above, [1] * n, 10), "hits@1", method="clopper-pearson", level=level)
    outside = (1 - level) / (2 if 0 < hits < n else 1)
    if hits:
        assert agree(float(binomial_tail(n, hits, Fraction(found.low))), outside, 1e-8), found
    else:
        assert found.low == 0
    if hits < n:
        rest = 1 - binomial_tail(n, hits + 1, Fraction(found.high))
        assert agree(float(rest), outside, 1e-8), found
    else:
        assert found.high == 1


@check(st.lists(st.integers(1, 30), min_size=2, max_size=40), LEVELS, inputs=40)
def order_bounds(ranks: list[int], level: float) -> None:
    """The exact bounds of a median leave out order statistics that fair coins may leave out."""
    n, ordered = len(ranks), sorted(ranks)
    place = 0
    while 2 * sum(math.comb(n, k) for k in range(place + 1)) <= (1 - Fraction(level)) * 2**n:
        place += 1
    found = interval(
        tr.Ranks(np.array(ranks) - 1, [1] * n, 30), "median", method="order", level=level
    )
    expected = (ordered[place - 1], ordered[-place]) if place else (1, 30)
    assert (found.low, found.high) == expected, (found, place)


# -- two models ------------------------------------------------------------------------------------


@check(pairs(12), st.sampled_from(LINEAR), LEVELS, UNITS, inputs=60)
def swaps(models: tuple[dict[str, Any], dict[str, Any]], name: str, level: float, by: Any) -> None:
    """p is the share of all swaps of units, and the interval holds 0 exactly if p is larger."""
    a, b = map(made, models)
    found = outcome(tr.compare, a, b, metric=name, level=level, by=by, resamples=4096)
    if found is None:
        assert not ranks_that_count(models[0]).any(), "an error for good input"
        return
    check_result(found)
    if math.isnan(found.p_value) or found.units < 1:
        return
    assert found.wins + found.ties + found.losses == ranks_that_count(models[0]).sum()
    if not math.isnan(found.low):
        assert found.low <= found.high, found
        slack = 1e-9 * (1 + abs(found.difference))
        assert found.low - slack <= found.difference <= found.high + slack, found
        if found.basis == "swaps" and not any("width" in note for note in found.notes):
            rejected = found.p_value <= round(1 - level, 12)
            assert rejected == (not found.low <= 0 <= found.high), found
    elif found.units > 1:
        assert found.notes, found
    if found.basis != "swaps" or models[0]["candidates"].max() > 1000:
        return  # what counts as rounding beyond
    values = [swap_differences(models, name, found.by, way) for way in ways_of(found.units)]
    slack = 1e-9 * (abs(values[0]) + abs(found.value_a) * 1e-3)
    beyond = sum(abs(value) >= abs(values[0]) - slack for value in values)
    assert abs(found.p_value - beyond / len(values)) < 1e-12, (found, beyond, len(values))


def ways_of(units: int) -> list[tuple[bool, ...]]:
    return list(itertools.product([False, True], repeat=units))


def swap_differences(
    models: tuple[dict[str, Any], dict[str, Any]], name: str, by: str, way: Sequence[bool]
) -> float:
    """The difference after the models are swapped in some units, by a report of both."""
    one, two = models
    label = {"task": None, "query": "queries", "target": "targets", "relation": "relation"}[by]
    counted = ranks_that_count(one)
    codes = np.arange(len(counted)) if label is None else one[label]
    present = np.unique(codes[counted])
    place = np.clip(np.searchsorted(present, codes), 0, len(present) - 1)
    swapped = np.array(way)[place]
    first = {**one, "above": np.where(swapped, two["above"], one["above"])}
    second = {**two, "above": np.where(swapped, one["above"], two["above"])}
    return float(tr.report(made(first))[name] - tr.report(made(second))[name])


@check(
    pairs(),
    KEYS,
    st.sampled_from(["permutation", "bootstrap", "wilcoxon", "mcnemar", None, None]),
    LEVELS,
    UNITS,
    st.sampled_from([None, None, "relation"]),
    inputs=60,
)
def comparisons(
    models: tuple[dict[str, Any], dict[str, Any]],
    name: str,
    method: Any,
    level: float,
    by: Any,
    strata: Any,
) -> None:
    """What any method says is ordered and written; swapped models have the opposite difference."""
    a, b = map(made, models)
    options = {"method": method, "by": by, "level": level, "strata": strata, "resamples": 99}
    found = outcome(tr.compare, a, b, metric=name, **options)
    back = outcome(tr.compare, b, a, metric=name, **options)
    assert (found is None) == (back is None)
    if found is None:
        return
    check_result(found)
    assert agree(found.difference, -back.difference)
    assert (found.wins, found.ties, found.losses) == (back.losses, back.ties, back.wins)
    assert agree(found.p_value, back.p_value), (found, back)
    assert math.isnan(found.p_value) or 0 <= found.p_value <= 1
    if math.isnan(found.low) or math.isnan(found.high):
        assert found.units < 2 or math.isnan(found.difference) or found.notes, found
        return
    assert found.low <= found.high, found
    if found.low == found.high:
        assert any("width" in note for note in found.notes), found


@check(st.lists(st.integers(-4, 4), min_size=1, max_size=10), inputs=60)
def signed_ranks(apart: list[int]) -> None:
    """Wilcoxon's p-value is the share of signs whose sum of ranks is as far from the middle."""
    n = len(apart)
    a = tr.Ranks(10 + np.array(apart), [1] * n, 30)
    b = tr.Ranks(np.full(n, 10), [1] * n, 30)
    found = tr.compare(a, b, metric="mr", method="wilcoxon", by=None)
    sizes = [abs(x) for x in apart if x]
    doubled = [sum(y < x for y in sizes) * 2 + sum(y == x for y in sizes) + 1 for x in sizes]
    whole = sum(doubled)
    away = abs(
        2 * sum(d for d, x in zip(doubled, filter(None, apart), strict=True) if x > 0) - whole
    )
    ways = list(itertools.product([0, 1], repeat=len(sizes)))
    beyond = sum(
        abs(2 * sum(d for d, up in zip(doubled, way, strict=True) if up) - whole) >= away
        for way in ways
    )
    assert abs(found.p_value - beyond / len(ways)) < 1e-12, (found, beyond)


@check(
    st.lists(st.sampled_from([(0, 0), (0, 5), (5, 0), (5, 5)]), min_size=1, max_size=60), inputs=40
)
def fair_coins(hits: list[tuple[int, int]]) -> None:
    """McNemar's p-value is that of a fair coin."""
    n = len(hits)
    a, b = (tr.Ranks([pair[i] for pair in hits], [1] * n, 10) for i in range(2))
    found = tr.compare(a, b, metric="hits@1", method="mcnemar", by=None)
    wins, losses = hits.count((0, 5)), hits.count((5, 0))
    tail = binomial_tail(wins + losses, max(wins, losses), Fraction(1, 2))
    assert abs(found.p_value - min(Fraction(1), 2 * tail)) < 1e-12, found


@check(
    st.lists(pairs(10), min_size=1, max_size=1),
    st.integers(1, 4),
    st.integers(1, 4),
    KEYS,
    st.sampled_from(["auto", None, "query", ("query", "target")]),
    st.booleans(),
    inputs=30,
)
def several_runs(
    drawn: list[tuple[dict[str, Any], dict[str, Any]]],
    first: int,
    second: int,
    name: str,
    by: Any,
    same: bool,
) -> None:
    """Several runs of two models: the difference is that of the means, or an error names why."""
    one, two = drawn[0]
    rng = np.random.default_rng(first * 5 + second)

    def run(of: dict[str, Any]) -> tr.Ranks:
        most = of["candidates"] - of["tied"]
        moved = (
            of["above"] if same else np.minimum(of["above"] + rng.integers(0, 3, len(most)), most)
        )
        return made({**of, "above": moved})

    a, b = [run(one) for _ in range(first)], [run(two) for _ in range(second)]
    found = outcome(tr.compare, a, b, metric=name, by=by, resamples=49)
    if found is None:
        return
    assert min(first, second) > 1
    check_result(found)
    means = [np.mean([tr.report(x)[name] for x in runs]) for runs in (a, b)]
    assert agree(found.difference, float(means[0] - means[1]), 1e-8), found
    assert math.isnan(found.p_value) or 0 <= found.p_value <= 1, found
    if math.isnan(found.low):
        assert found.units < 2 or math.isnan(found.difference) or found.notes, found
    else:
        assert found.low <= found.high, found
        if found.low == found.high:
            assert any("width" in note for note in found.notes), found


# -- many questions --------------------------------------------------------------------------------


PVALUES = st.lists(st.sampled_from([0.0, 1.0, 0.05, math.nan]) | st.floats(0, 1), max_size=12)


@check(PVALUES, inputs=60)
def corrections(values: list[float]) -> None:
    """The corrections by their definitions; nan counts for nothing."""
    methods = ("bonferroni", "holm", "hochberg", "bh", "by")
    found = outcome(correct_pvalues, values, methods=methods)
    if found is None:
        assert not values
        return
    assert isinstance(found, CorrectedPValues)
    known = [p for p in values if not math.isnan(p)]
    m = len(known)
    harmonic = sum(1 / i for i in range(1, m + 1))
    ordered = sorted(known)
    for i, p in enumerate(values, 1):
        row = found[str(i)]
        if math.isnan(p):
            assert all(math.isnan(row[name]) for name in ("p", *methods)), row
            continue
        down = max((m - j) * q for j, q in enumerate(ordered) if q <= p)
        up = min((m - j) * q for j, q in enumerate(ordered) if q >= p)
        rate = min(m / (j + 1) * q for j, q in enumerate(ordered) if q >= p)
        expected = [p * m, down, up, rate, rate * harmonic]
        for name, x in zip(methods, expected, strict=True):
            assert agree(row[name], min(x, 1.0), 1e-12), (name, row, x)


@check(
    pairs(8),
    st.lists(st.sampled_from(["mr", "mrr", "hits@3", "gmr", "median"]), max_size=3, unique=True),
    st.sampled_from([None, "relation", "query"]),
    st.sampled_from(["auto", "task", "query"]),
    inputs=30,
)
def joint(
    models: tuple[dict[str, Any], dict[str, Any]], names: list[str], groups: Any, by: Any
) -> None:
    """Single p-values are those of `compare`; corrected ones are not beyond Bonferroni's."""
    a, b = map(made, models)
    found = outcome(max_t, a, b, metrics=names, groups=groups, by=by, resamples=256)
    if found is None:
        assert not names or not ranks_that_count(models[0]).any()
        return
    json.dumps(found.to_dict())
    assert str(found)
    count = sum(not math.isnan(row.p_value) for row in found)
    for row in found:
        if math.isnan(row.p_value):
            assert math.isnan(row.p_max_t)
            continue
        assert 0 <= row.p_value <= row.p_max_t <= 1, row
        assert row.p_max_t <= min(1.0, row.p_value * count) + 1e-12 or row.p_value == 0, row
        # a difference of 1 / r and 1 / (r + 1) may be rounding to one and not to the other
        if groups is None and models[0]["candidates"].max() <= 1000:
            alone = tr.compare(a, b, metric=row.metric, by=by, resamples=256)
            assert agree(row.p_value, alone.p_value, 1e-12), (row, alone)


@check(st.integers(2, 4), st.integers(2, 4), st.data(), inputs=30)
def blocks(models: int, data_sets: int, data: Any) -> None:
    """Friedman's exact p-value is the share of all orders within blocks."""
    row = st.lists(st.integers(0, 4), min_size=models, max_size=models)
    rows = data.draw(st.lists(row, min_size=data_sets, max_size=data_sets))
    results = {f"set {i}": {f"m{j}": x for j, x in enumerate(r)} for i, r in enumerate(rows)}
    found = quietly(friedman, results)
    json.dumps(found.to_dict())
    assert str(found)
    if math.factorial(models) ** (data_sets - 1) > 600 or math.isnan(found.p_value):
        return

    def ranks(values: Sequence[int]) -> list[int]:
        return [2 * sum(y > x for y in values) + values.count(x) + 1 for x in values]  # type: ignore[attr-defined]

    def spread(doubled: Sequence[Sequence[int]]) -> int:
        sums = [sum(column) for column in zip(*doubled, strict=True)]
        return models * sum(s * s for s in sums) - sum(sums) ** 2

    drawn = [ranks(r) for r in rows]
    ways = [[drawn[0]], *([*itertools.permutations(r)] for r in drawn[1:])]
    all_ways = list(itertools.product(*ways))
    beyond = sum(spread(way) >= spread(drawn) for way in all_ways)
    assert agree(found.p_value, beyond / len(all_ways), 1e-9), (found.p_value, beyond, rows)


# -- sizes of effects, power, full rankings --------------------------------------------------------


@check(pairs(), st.sampled_from(["mr", "mrr", "hits@3", "median"]), UNITS, LEVELS, inputs=40)
def effects(
    models: tuple[dict[str, Any], dict[str, Any]], name: str, by: Any, level: float
) -> None:
    """Cliff's delta and superiority over all pairs of tasks, one by one."""
    a, b = map(made, models)
    found = outcome(effect_sizes, a, b, metric=name, by=by, level=level)
    if found is None:
        return
    check_result(found)
    keep = ranks_that_count(models[0])
    if not keep.any():
        assert math.isnan(found.cliffs_delta.value)
        return
    weights = np.ones(len(keep)) if models[0]["weights"] is None else models[0]["weights"]
    shares = [Fraction(float(w)) for w in weights[keep]]
    first, second = ((2 * x.above + x.tied)[keep].tolist() for x in (a, b))
    if name.startswith("hits"):
        first, second = ([int(r > 5) for r in x] for x in (first, second))

    def sign(x: int, y: int) -> int:
        return (x < y) - (x > y)

    whole = sum(shares, Fraction(0))
    pairs_of = itertools.product(zip(shares, first, strict=True), zip(shares, second, strict=True))
    delta = sum((v * w * sign(x, y) for (v, x), (w, y) in pairs_of), Fraction(0)) / whole**2
    better = sum(
        (w * sign(x, y) for w, x, y in zip(shares, first, second, strict=True)), Fraction(0)
    )
    assert agree(found.cliffs_delta.value, float(delta)), (found, delta)
    assert agree(found.superiority.value, float((1 + better / whole) / 2)), found
    for effect, least in ((found.cliffs_delta, -1), (found.superiority, 0)):
        if math.isnan(effect.low):
            assert found.units < 2, found
            continue
        assert least - 1e-12 <= effect.low <= effect.value + 1e-9, found
        assert effect.value - 1e-9 <= effect.high <= 1 + 1e-12, found
        assert effect.low < effect.high, found


@check(
    pairs(),
    KEYS,
    st.booleans(),
    st.sampled_from([0.001, 0.05, 0.5]),
    st.sampled_from([0.6, 0.8, 0.999]),
    st.none() | st.sampled_from([0.3, 1e-3, 1e-9, 1e6]),
    UNITS,
    inputs=40,
)
def detected(
    models: tuple[dict[str, Any], dict[str, Any]],
    name: str,
    alone: bool,
    alpha: float,
    power: float,
    asked: Any,
    by: Any,
) -> None:
    """What is detectable is found with that power, and more units find what fewer cannot."""
    a, b = map(made, models)
    options = {"metric": name, "alpha": alpha, "power": power, "by": by, "difference": asked}
    found = outcome(tr.detectable, a, None if alone else b, **options)
    if found is None:
        return
    check_result(found)
    if math.isnan(found.difference):
        return
    assert found.difference > 0, found
    if asked is not None and math.isfinite(found.difference):
        assert (found.asked_power >= power - 1e-6) == (
            found.asked >= found.difference * (1 - 1e-6)
        ) or abs(found.asked / found.difference - 1) < 1e-5, found
        if found.required_units > found.units:
            enough = 2.0 ** (1 - found.units) <= alpha
            assert not enough or found.asked_power < power + 1e-6, found


@check(
    columns(10, 1),
    st.sampled_from([1, 2, 10]),
    st.sampled_from(["any", "decreasing"]),
    LEVELS,
    st.sampled_from(["auto", "task", "query", None]),
    st.booleans(),
    inputs=10,
)
def full_rankings(
    of: dict[str, Any], factor: int, shape: str, level: float, by: Any, replacement: bool
) -> None:
    """The mean rank by its formula; all bounds in range, or a note, or an error that says why."""
    of = {**of, "candidates": np.minimum(of["candidates"], 60)}
    of["tied"] = np.minimum(of["tied"], of["candidates"])
    of["above"] = np.minimum(of["above"], of["candidates"] - of["tied"])
    ranks = made(of).with_protocol(sampled=True)
    sizes = of["candidates"] * factor
    keys = ["mr", "expected.mrr", "expected.hits@3", "optimistic.median", "pessimistic.gmr"]
    options = {"shape": shape, "level": level, "by": by, "replacement": replacement}
    found = outcome(estimate_full_ranking, ranks, sizes, keys, **options)
    if found is None:
        assert (of["candidates"] < 2).any(), "an error for good input"
        return
    json.dumps(found.to_dict())
    assert str(found)
    keep = ranks_that_count(of)
    if not keep.any():
        return
    weights = (np.ones(len(keep)) if of["weights"] is None else of["weights"])[keep]
    above = (of["above"] + (of["tied"] - 1) / 2)[keep]
    each = 1 + above * (sizes[keep] - 1) / (of["candidates"][keep] - 1)
    mean = float(np.average(each, weights=weights))
    assert agree(found["mr"].value, mean), (found["mr"], mean)
    for key in keys:
        low, high = found[key].low, found[key].high
        if math.isnan(low) or math.isnan(high):
            continue
        least, most = (0, 1) if "hits" in key or "mrr" in key else (1, float(sizes.max()))
        assert least - 1e-9 <= low <= high <= most * (1 + 1e-9), (key, found[key])


# -- hostile arguments -----------------------------------------------------------------------------


HOSTILE: dict[str, list[Any]] = {
    "level": [
        0,
        1,
        -1,
        2,
        math.nan,
        math.inf,
        1e-300,
        1e-9,
        1 - 1e-9,
        1 - 2**-53,
        "0.9",
        None,
        True,
    ],
    "resamples": [0, 1, 2, 3, -1, 1.5, 2**70, "many", None, True, math.nan],
    "seed": [-1, 2**64, 2**200, 1.5, None, "x"],
    "draw_seed": [-1, 2**64, 2**200, 1.5, None, "x"],
    "method": ["", "best", None, 3, "t", "two-level t"],
    "by": ["", "nothing", 3, [], [1], ("query", "query"), ("query", "nothing"), ("query",), {}],
    "strata": ["", "nothing", 3, [], "query", "relation", "task", ("query", "target")],
    "metric": [
        "",
        "macro.mrr",
        "count",
        "head.mrr",
        "relation.mr",
        3,
        None,
        "std",
        "power_mean:-20",
    ],
    "alpha": [0, 1, -1, math.nan, 1e-300, 1e-18, 1 - 1e-16, "x", None],
    "power": [0, 1, -1, math.nan, 1e-300, 0.05, 1 - 1e-16, 1 - 2**-53, "x", None],
    "difference": [0, -1, math.nan, math.inf, 1e-300, 1e300, 5e-324, "x"],
    "correlation": [-1, 1, 2, math.nan, 1 - 1e-16, "x"],
    "margin": [0, -1, 1e-300, 0.1, 1e300, math.nan, math.inf, "x", None],
    "tolerance": [0, -1, math.nan, math.inf, 1e-300, 1e300, "x", None],
    "shape": ["", None, "increasing"],
    "alternative": ["", None, "less"],
    "allow_unlike": [1, None],
    "groups": ["", "nothing", 3, [], "relation", "query"],
    "metrics": [[], "mrr", ["mrr", "mrr"], ["macro.mrr"], 3, None, ["count"]],
    "candidates": [0, -1, 1, 2**62, 2**63, 2**70, 1.5, math.nan, [], None, "x"],
}
CALLS: dict[str, tuple[Callable[..., Any], int, tuple[str, ...]]] = {
    "interval": (
        interval,
        1,
        ("level", "resamples", "seed", "draw_seed", "method", "by", "strata"),
    ),
    "compare": (
        tr.compare,
        2,
        ("level", "resamples", "seed", "draw_seed", "method", "by", "strata", "metric"),
    ),
    "detectable": (
        tr.detectable,
        2,
        ("alpha", "power", "difference", "correlation", "by", "metric", "draw_seed"),
    ),
    "effect_sizes": (effect_sizes, 2, ("level", "by", "metric", "draw_seed", "allow_unlike")),
    "equivalence": (equivalence, 2, ("margin", "alpha", "metric", "by", "resamples", "seed")),
    "max_t": (max_t, 2, ("resamples", "seed", "by", "groups", "metrics", "draw_seed")),
    "pvalue": (pvalue, 1, ("metric", "alternative", "seed")),
    "estimate_full_ranking": (
        estimate_full_ranking,
        1,
        ("candidates", "level", "tolerance", "shape", "by", "draw_seed"),
    ),
}


@check(pairs(25, 0), st.sampled_from(sorted(CALLS)), st.data(), inputs=120)
def hostile(models: tuple[dict[str, Any], dict[str, Any]], name: str, data: Any) -> None:
    """Hostile arguments give a result, or an error that names one of them; never a warning."""
    function, many, options = CALLS[name]
    chosen = data.draw(st.lists(st.sampled_from(options), min_size=1, max_size=2, unique=True))
    given = {option: data.draw(st.sampled_from(HOSTILE[option])) for option in chosen}
    if "resamples" in options:
        given.setdefault("resamples", 99)
    ranks = [made(model) for model in models]
    if name == "equivalence":
        given.setdefault("margin", 0.1)
    if name == "estimate_full_ranking":
        if len(ranks[0]) and ranks[0].candidates.max() > 10:
            return  # it takes minutes for very many candidates
        ranks[0] = ranks[0].with_protocol(sampled=True)
        given.setdefault("candidates", 100)
    if data.draw(st.integers(0, 9)) == 0:
        ranks[1] = ranks[1][1:]
    found = outcome(function, *ranks[:many], **given)
    if found is not None:
        assert str(found)
        assert json.dumps(found.to_dict())


FAULTS = [
    Fault(
        "bounds of half of the level",
        "python/truerank/comparison/proportions.py",
        "return (1 - level) / 2 if two_sided else 1 - level",
        "return (1 - level) if two_sided else 1 - level",
    ),
    Fault(
        "an interval of one swap too few",
        "python/truerank/comparison/paired_models/paired_tests.py",
        "return float(self.lows[needed - 1]), float(self.highs[draws - needed])",
        "return float(self.lows[needed]), float(self.highs[draws - needed])",
    ),
    Fault(
        "ties that count as a difference",
        "python/truerank/comparison/paired_models/paired_tests.py",
        "doubled = np.repeat(2 * starts + sizes + 1, sizes)",
        "doubled = np.repeat(2 * starts + sizes, sizes)",
    ),
    Fault(
        "a mean rank that counts the target",
        "python/truerank/comparison/full_ranking/estimates.py",
        "sizes = _checked_sizes(ranks, candidates, options.replacement)",
        "sizes = _checked_sizes(ranks, candidates, options.replacement) + 1",
    ),
]
