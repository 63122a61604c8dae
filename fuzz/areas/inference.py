"""`inference`: intervals, comparisons, runs, corrections and power by what they promise."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from truerank.inference import correct_pvalues, interval, pvalue
from truerank.inputs.errors import InputError

LINEAR = ("mr", "mrr", "hits@1", "hits@3", "index.mrr", "index.mr", "index.hits@3")
SMOOTH = ("gmr", "std", "z.mrr", "ratio.mr", "power_mean:2", "hmr", "imr", "median", "imedian")
OTHERS = ("mad", "power_mean:inf", "count")
KEYS = st.sampled_from([*LINEAR, *SMOOTH, *OTHERS])
LEVELS = st.sampled_from([0.5, 0.9, 0.95, 0.99])
UNITS = st.sampled_from(["unit", None, "task", "query", "target", "relation"])
RANGES = {"mrr": (0.0, 1.0), "hits": (0.0, 1.0)}


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result, or None for an error that says what is wrong; any other error is a finding."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return function(*arguments, **options)
    except (InputError, KeyError) as error:
        if len(str(error)) < 12:
            raise
    return None


@st.composite
def columns(draw: st.DrawFn, most: int = 40, least: int = 0) -> dict[str, Any]:
    """Draw the counts, labels and weights of tasks; units may have several tasks."""
    n = draw(st.integers(least, min(6, most)) | st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
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
        "unit": np.arange(n) // draw(st.sampled_from([1, 2])),
    }
    weights = None
    if draw(st.booleans()):
        weights = rng.choice([0.0, 0.25, 1.0, 1.0, 3.0], n)
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
    """A result is written as text and as JSON, with its notes."""
    text = str(found)
    assert all(note and not note.endswith(".") and "\n" not in note for note in found.notes), found
    back = json.loads(json.dumps(found.to_dict()))
    assert back["notes"] == list(found.notes)
    assert all(note in text for note in found.notes), text


def agree(one: float, two: float, relative: float = 1e-9) -> bool:
    """Whether two numbers are equal but for rounding, or both nan."""
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    return one == two or abs(one - two) <= relative * (1 + max(abs(one), abs(two)))


@check(
    columns(),
    KEYS,
    st.sampled_from(["realistic", "optimistic", "expected"]),
    LEVELS,
    UNITS,
    inputs=80,
)
def bounds(of: dict[str, Any], name: str, kind: str, level: float, by: Any) -> None:
    """Bounds hold the value, are ordered, and in the range of the metric."""
    ranks, key = made(of), f"{kind}.{name}"
    found = outcome(interval, ranks, key, level=level, by=by)
    assert found is not None, "the default applies to all"
    check_result(found)
    value = tr.report(ranks)[key]
    assert agree(found.value, value), (found, value)
    if math.isnan(found.low) or math.isnan(found.high):
        few = found.units < 2 or math.isnan(value) or name == "count"
        assert few or "." in name or name == "std", found
        return
    low, high = RANGES.get(name.split("@")[0], (-math.inf, math.inf))
    assert low - 1e-12 <= found.low <= found.high <= high + 1e-12, found
    if found.method != "bootstrap":
        slack = 1e-9 * (1 + abs(value))
        assert found.low - slack <= value <= found.high + slack, found


@check(columns(least=2), KEYS, UNITS, st.integers(0, 2**32 - 1), inputs=40)
def interval_invariance(of: dict[str, Any], name: str, by: Any, seed: int) -> None:
    """Names of units, the scale of weights and the order of tasks change nothing."""
    order = np.random.default_rng(seed).permutation(len(of["above"]))
    found = outcome(interval, made(of), name, by=by)
    renamed = {**of, "queries": of["queries"] * 7 + 3, "unit": of["unit"] * 5 + 1}
    for other in (made(renamed, scale=0.25), made(of, order)):
        again = outcome(interval, other, name, by=by)
        assert again[5:8] == found[5:8], (found, again)
        if found.method != "bootstrap":
            assert all(agree(x, y, 1e-8) for x, y in zip(again[1:4], found[1:4], strict=True))


@check(pairs(12), st.sampled_from(["mr", "mrr", "index.mr"]), LEVELS, UNITS, inputs=60)
def sign_flips(
    models: tuple[dict[str, Any], dict[str, Any]], name: str, level: float, by: Any
) -> None:
    """p of few units is the share of all ways to swap them."""
    a, b = map(made, models)
    found = outcome(tr.compare, a, b, metric=name, level=level, by=by)
    check_result(found)
    if math.isnan(found.p_value) or models[0]["candidates"].max() > 1000:
        return
    weights = models[0]["weights"]
    counted = np.ones(len(a), bool) if weights is None else weights > 0
    label = {"query": "queries", "target": "targets"}.get(found.by, found.by)
    codes = np.arange(len(a)) if label == "task" else models[0][label]
    place = np.unique(codes[counted], return_inverse=True)[1]
    where = np.zeros(len(a), int)
    where[counted] = place
    values = []
    for way in itertools.product([False, True], repeat=found.units):
        swapped = np.array(way)[where]
        first, second = (
            {**one, "above": np.where(swapped, two["above"], one["above"])}
            for one, two in (models, models[::-1])
        )
        values.append(tr.report(made(first))[name] - tr.report(made(second))[name])
    slack = 1e-9 * (abs(values[0]) + abs(found.value_a) * 1e-3)
    beyond = sum(abs(value) >= abs(values[0]) - slack for value in values)
    assert abs(found.p_value - beyond / len(values)) < 1e-12, (found, beyond, len(values))


@check(pairs(), KEYS, LEVELS, UNITS, inputs=80)
def comparisons(
    models: tuple[dict[str, Any], dict[str, Any]], name: str, level: float, by: Any
) -> None:
    """p and interval agree about no difference; swapped models have the opposite one."""
    a, b = map(made, models)
    found = outcome(tr.compare, a, b, metric=name, by=by, level=level)
    back = outcome(tr.compare, b, a, metric=name, by=by, level=level)
    assert (found is None) == (back is None) == (name in OTHERS)
    if found is None:
        return
    check_result(found)
    assert agree(found.difference, -back.difference)
    assert (found.wins, found.ties, found.losses) == (back.losses, back.ties, back.wins)
    assert agree(found.p_value, back.p_value, 1e-6), (found, back)
    if math.isnan(found.low):
        return
    equal = 0 if found.effect == "difference" else 1
    rejected = found.p_value <= round(1 - level, 12)
    assert rejected == (not found.low <= equal <= found.high), found
    assert found.low <= found.high, found


@check(st.lists(pairs(10), min_size=1, max_size=1), st.integers(2, 4), KEYS, UNITS, inputs=30)
def several_runs(
    drawn: list[tuple[dict[str, Any], dict[str, Any]]], runs: int, name: str, by: Any
) -> None:
    """Runs of two models have the means of their values, and a p that fits the interval."""
    (models,) = drawn
    rows = [[made(one)] * (runs - 1) + [made(two)] for one, two in (models, models[::-1])]
    found = outcome(tr.compare, *rows, metric=name, by=by)
    assert (found is None) == (name in OTHERS)
    if found is None or math.isnan(found.difference):
        return
    check_result(found)
    values = [np.mean([tr.report(run)[name] for run in row]) for row in rows]
    assert agree(found.value_a, values[0])
    assert agree(found.value_b, values[1])
    if not math.isnan(found.p_value + found.low) and found.low < found.high:
        assert (found.p_value > 0.05) == (found.low <= 0 <= found.high), found


@check(st.lists(st.floats(0, 1) | st.just(math.nan), min_size=1, max_size=12), inputs=40)
def corrections(p: Sequence[float]) -> None:
    """Corrected p-values are at least p, at most 1 and ordered as p is; nan stays nan."""
    table = correct_pvalues(p, methods=["bonferroni", "holm", "bh", "by"])
    for method in ("bonferroni", "holm", "bh", "by"):
        rows = [*zip(table["p"], table[method], strict=True)]
        known = sorted(row for row in rows if not math.isnan(row[0]))
        assert sum(math.isnan(found) for _, found in rows) == len(rows) - len(known)
        assert all(given <= found <= 1 for given, found in known), known
        assert all(x[1] <= y[1] for x, y in itertools.pairwise(known)), known


@check(pairs(), KEYS, UNITS, st.floats(1e-3, 10), inputs=40)
def power(
    models: tuple[dict[str, Any], dict[str, Any]], name: str, by: Any, difference: float
) -> None:
    """A larger difference is found more often, and needs fewer units."""
    for given in ((made(models[0]),), tuple(map(made, models))):
        found = outcome(tr.detectable, *given, metric=name, by=by, difference=difference)
        if found is None:
            continue
        check_result(found)
        more = outcome(tr.detectable, *given, metric=name, by=by, difference=2 * difference)
        if more is not None and found.asked_power is not None:
            assert found.asked_power <= more.asked_power + 1e-9
            assert found.required_units >= more.required_units


BAD: dict[str, Sequence[Any]] = {
    "metric": ["", "mrrr", "hits@0", 3, None, [], "macro.mrr", "z.gmr", "left.mrr"],
    "level": [0, 1, -1, 2, math.nan, "high", None],
    "by": ["nothing", [1, 2], 3, np.zeros((2, 2)), object()],
    "draw_seed": [-1, 0.5, "seed", None, True],
}


@check(columns(), st.sampled_from(sorted(BAD)), st.data(), inputs=60)
def hostile_arguments(of: dict[str, Any], name: str, data: st.DataObject) -> None:
    """An argument that makes no sense is an error that says so."""
    value, ranks = data.draw(st.sampled_from(BAD[name])), made(of)
    for function, given in ((interval, (ranks,)), (tr.compare, (ranks, ranks))):
        outcome(function, *given, **{name: value})
    outcome(pvalue, ranks, value if name == "metric" else "mr")


FAULTS = [
    Fault(
        "half of a p-value",
        "python/truerank/inference/sign_flips.py",
        "return min(1.0, float(tails.mean()))",
        "return min(1.0, float(tails.mean()) / 2)",
    ),
]
