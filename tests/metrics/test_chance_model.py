"""The chance model against exact values, all outcomes and sums; published numbers, adjusted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import truerank as tr
from oracles import metrics as oracle
from support.examples import examples, some
from support.interruptions import allocating_at_most
from support.metric_keys import keys_of, keys_where
from support.refusals import refusal, refused
from truerank import chance
from truerank.metrics import METRICS
from truerank.metrics.chance_model import MOST_RANKS
from truerank.metrics.keys import RANK_KEYS, Key, parse

MODELS = [name for name, row in METRICS.items() if "z" in row.adjustments]
# those of reference_values.json
RECORDED = ("mr", "mrr", "hits", "gmr", "igmr")
RECORDED_BUT_REFUSED = ("imr", "hmr", "median", "imedian")
CASES = [("hits", k) for k in (1, 2, 5)]
CASES += [
    (name, parse(name + example).parameter)
    for name in MODELS
    if name != "hits"
    for example in METRICS[name].examples
]
REFUSED = keys_where(lambda metric: "z" not in metric.adjustments)


def model(
    metric: str, parameter: float, candidates: Any, weights: Any = None
) -> tuple[float, float]:
    return chance(str(Key(metric, parameter, grammar=RANK_KEYS)), candidates, weights)


def values(metric: str, parameter: Any, ranks: Any, weights: Any, sizes: list[int]) -> Any:
    """The metric of each row of ranks; weights sum to 1."""

    def mean(terms: Any) -> Any:
        return (terms * weights).sum(axis=1)

    if metric in oracle.PLAIN_FUNCTIONS:
        columns = zip(sizes, ranks.astype(np.int64).T, strict=True)
        terms = [values_of_ranks(metric, parameter, size)[ranks] for size, ranks in columns]
        return mean(np.stack(terms, axis=1))
    formulas: dict[str, Callable[[], Any]] = {
        "gmr": lambda: np.exp(mean(np.log(ranks))),
        "igmr": lambda: np.exp(-mean(np.log(ranks))),
    }
    return formulas[metric]()


@cache
def values_of_ranks(metric: str, parameter: Any, size: int) -> Any:
    """f of each rank from 1 to the number of candidates, by its definition; that of 0 is nan."""
    ranks = map(Fraction, range(1, size + 1))
    of_ranks = (float(oracle.value_at(metric, rank, Fraction(parameter))) for rank in ranks)
    return np.array([math.nan, *of_ranks])


def brute(
    metric: str, parameter: float, sizes: list[int], weights: Any = None
) -> tuple[float, float]:
    """Mean and variance over all outcomes."""
    if weights is None:
        weights = np.ones(len(sizes))
    weights = np.array(weights)
    grid = np.meshgrid(*(np.arange(1.0, n + 1) for n in sizes), indexing="ij")
    outcomes = np.stack([axis.ravel() for axis in grid], axis=1)
    result = values(metric, parameter, outcomes, weights / weights.sum(), sizes)
    mean = math.fsum(result.tolist()) / len(result)
    return mean, math.fsum(((result - mean) ** 2).tolist()) / len(result)


def assert_near(
    result: tuple[float, float], exact: tuple[float, float], rel: float, what: Any = ""
) -> None:
    assert result[0] == pytest.approx(exact[0], rel=rel, abs=0), what
    # values are rounded, which an exact variance shows
    eps = 1e-14 * exact[0]
    seen = eps * math.sqrt(exact[1]) + eps**2
    assert result[1] == pytest.approx(exact[1], rel=rel, abs=seen), what


# -- exact values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", RECORDED)
def test_reference_values(metric: str, data: Path) -> None:
    """All records, which have 25 digits, agree to 1e-12, and variances to 1e-10."""
    records = json.loads((data / "reference_values.json").read_text(encoding="utf-8"))
    chosen = [record for record in records if record["metric"] == metric]
    assert len(chosen) >= 35
    slack = Fraction("1e-12")
    for record in some(chosen):
        sizes = record["candidates"]
        if isinstance(sizes, dict):
            sizes = ([int(n) for n in sizes], list(sizes.values()))
        result = model(metric, record.get("k") or 0, sizes, record.get("weights"))
        assert set(map(type, result)) == {float}
        mean = Fraction(record["mean"])
        variance = Fraction(record["variance"])
        assert abs(Fraction(result[0]) - mean) <= slack * mean, record
        assert abs(Fraction(result[1]) - variance) <= 100 * slack * variance, record


@pytest.mark.parametrize("metric", RECORDED_BUT_REFUSED)
def test_reference_values_of_metrics_without_a_model(metric: str, data: Path) -> None:
    records = json.loads((data / "reference_values.json").read_text(encoding="utf-8"))
    chosen = [record for record in records if record["metric"] == metric]
    assert len(chosen) >= 35
    for record in some(chosen):
        sizes = [int(n) for n in record["candidates"]]
        refusal(KeyError, f"{metric} is not a mean over tasks", chance, metric, sizes)


@pytest.mark.parametrize("key", REFUSED)
def test_chance_that_is_not_computed_is_refused_where_the_key_is_read(key: str) -> None:
    """By every door, in one sentence that names the page which draws it."""
    words = "docs/chance.md draws in five lines"
    report = tr.report(tr.Ranks([0, 3], [1, 1], 9, side=["head", "tail"]), by=["a", "b"])
    assert math.isfinite(report[key])
    refusal(KeyError, words, chance, key, [9, 9])
    refusal(KeyError, words, tr.adjust, key, 1.0, candidates=9, tasks=2)
    refusal(KeyError, words, report.chance, f"tail.{key}")
    row = METRICS[parse(key).metric]
    for adjustment in ("ratio", "index", "z"):
        written = f"{adjustment}.{key}"
        if adjustment in row.adjustments:
            assert math.isfinite(report[written])
            continue
        for call in (parse, report.__getitem__, report.interval, report.group_values):
            assert written in refusal(KeyError, words, call, written)
        refusal(KeyError, words, report.table, [written])
        refusal(KeyError, words, tr.plot.groups, report, written)
        refusal(KeyError, words, tr.compare, report, report, metric=written)


# -- all outcomes ----------------------------------------------------------------------------------

WEIGHTS = st.one_of(st.floats(0.01, 10), st.sampled_from([1.0, 1e-3, 1e-12, 1e-300, 0.0]))


@given(
    st.sampled_from(CASES),
    st.lists(st.tuples(st.integers(1, 9), WEIGHTS), min_size=1, max_size=4),
    st.none() | st.floats(1e-3, 1e3),
)
@examples(150)
def test_all_outcomes(
    case: tuple[str, float], drawn: list[tuple[int, float]], unit: float | None
) -> None:
    """Without weights, or with weights in any unit."""
    sizes = [n for n, _ in drawn]
    if unit is None:
        assert_near(model(*case, sizes), brute(*case, sizes), 1e-12)
        return
    weights = [w * unit for _, w in drawn]
    weighted = [(n, w) for n, w in zip(sizes, weights, strict=True) if w > 0]
    assume(weighted)
    exact = brute(*case, *map(list, zip(*weighted, strict=True)))
    assert_near(model(*case, sizes, weights), exact, 1e-12)


@pytest.mark.parametrize("metric", MODELS)
@given(st.integers(1, 3000), st.integers(1, 3), st.data())
def test_all_outcomes_of_a_task_of_any_size(
    metric: str, size: int, other: int, data: st.DataObject
) -> None:
    """Beside a small task, and for any parameter: a form may be right for small numbers alone."""
    parameter = parse(data.draw(keys_of([metric]))).parameter
    sizes = [size, other]
    assert_near(model(metric, parameter, sizes), brute(metric, parameter, sizes), 2e-12)


@pytest.mark.sweep
@pytest.mark.parametrize(("metric", "parameter"), CASES)
@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ([600, 200], None),
        ([300, 300], [1, 1e-3]),
        ([400, 300], [1e-200, 1]),
        ([60, 50, 40], None),
        ([3, 2000], None),
    ],
)
def test_all_outcomes_of_larger_problems(
    metric: str, parameter: float, sizes: list[int], weights: list[float] | None
) -> None:
    result = model(metric, parameter, sizes, weights)
    assert_near(result, brute(metric, parameter, sizes, weights), 2e-12)


# -- equivalences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "parameter"), CASES)
def test_forms_of_the_same_tasks(metric: str, parameter: float) -> None:
    """Forms that mean the same: an array or multiplicities; no, equal or also zero weights."""
    sizes = [3, 7, 200, 3]
    numbers = [2, 1, 5, 1]
    plain = model(metric, parameter, np.repeat(sizes, numbers))
    assert model(metric, parameter, (sizes, numbers)) == plain
    assert model(metric, parameter, (sizes, numbers), [5.0] * 4) == plain
    with_weightless = ([3, 7, 200, 3, 9], [2, 1, 5, 1, 4])
    assert model(metric, parameter, with_weightless, [1.0] * 4 + [0.0]) == plain
    split = model(metric, parameter, (sizes, numbers), [1, 1 + 1e-15, 1, 1 - 1e-15])
    assert split == pytest.approx(plain, rel=1e-12)


def test_memory_stays_flat() -> None:
    """However many candidates there are, their ranks are never in memory all at once."""
    for metric in ("gmr", "ndcg@4000000"):
        with allocating_at_most(4e6):
            chance(metric, ([4_000_000, 3], [200, 1]))


@pytest.mark.parametrize("size", [2**14 - 1, 2**14, 2**14 + 1, 40_000])
def test_sums_of_blocks(size: int) -> None:
    """Sizes about the end of a block of ranks, against sums of all ranks at once."""
    sizes = np.array([size, 2, size + 1, 2**15, 1])
    numbers = np.array([1, 500, 300, 1, 1])
    weights = np.array([1.0, 0.5, 2.0, 1.0, 3.0])
    weights /= weights @ numbers
    ranks = [np.arange(1.0, n + 1) for n in sizes]
    discounts = [1 / np.log2(1 + r) for r in ranks]
    mean = (numbers * weights) @ [f.mean() for f in discounts]
    variance = (numbers * weights**2) @ [f.var() for f in discounts]
    result = chance("ndcg@100000", (sizes, numbers), weights)
    assert result == pytest.approx((mean, variance), rel=1e-12)
    for name, sign in (("gmr", 1), ("igmr", -1)):
        away = [np.expm1(sign * w * np.log(r)) for w, r in zip(weights, ranks, strict=True)]
        log_mean = numbers @ [math.log1p(y.mean()) for y in away]
        log_ratio = numbers @ [math.log1p(y.var() / (1 + y.mean()) ** 2) for y in away]
        variance = math.exp(2 * log_mean) * math.expm1(log_ratio)
        result = chance(name, (sizes, numbers), weights)
        assert result == pytest.approx((math.exp(log_mean), variance), rel=4e-12)


@pytest.mark.parametrize("tasks", [2, 30, 34, 99, 100, 101, 1000])
def test_products_of_few_tasks_and_of_many(tasks: int) -> None:
    """Up to 100 shares of the weight have powers themselves, smaller ones cumulants."""
    logs = np.log(np.arange(1.0, 301))
    for name, power in (("gmr", 1 / tasks), ("igmr", -1 / tasks)):
        away = np.expm1(power * (logs - logs.mean()))
        ratio = math.expm1(tasks * math.log1p(away.var() / (1 + away.mean()) ** 2))
        mean, variance = chance(name, ([300], [tasks]))
        assert mean == pytest.approx(
            (1 + away.mean()) ** tasks * math.exp(tasks * power * logs.mean())
        )
        assert variance / mean**2 == pytest.approx(ratio, rel=4e-12)


def test_too_many_ranks_to_add_up() -> None:
    """Closed forms have no limit; a cutoff within it has none, either."""
    beyond = [MOST_RANKS + 1, 5]
    words = "candidates: expected at most 2,147,483,648 of a task, .*, got 2,147,483,649"
    refusal(ValueError, words, chance, f"ndcg@{10**12}", beyond)
    refusal(ValueError, words, chance, "gmr", (beyond, [200, 1]))
    assert chance("ndcg@10", beyond) == pytest.approx(chance("ndcg@10", [2**31, 5]), rel=1e-9)
    for metric in ("mr", "mrr", "hits@10", "gmr", "igmr"):
        assert chance(metric, [2**52, 5])[1] > 0


# -- the ends --------------------------------------------------------------------------------------


def test_what_is_certain_is_so_but_for_no_rounding() -> None:
    sizes = np.arange(5, 45)
    for key in ("hits@50", "sampled_hits@5:4"):
        for seed in range(5):
            weights = np.random.default_rng(seed).random(40)
            ranks = tr.Ranks(sizes - 1, np.ones(40, int), sizes, weights=weights)
            report = tr.report(ranks)
            assert report[f"ratio.{key}"] == pytest.approx(1, rel=1e-15)
            assert math.isnan(report[f"index.{key}"])
    assert chance("hits@50", sizes, weights) == (1.0, 0.0)


@pytest.mark.parametrize(("metric", "parameter"), CASES)
def test_degenerate(metric: str, parameter: float) -> None:
    assert all(map(math.isnan, model(metric, parameter, [])))
    for ones in ([[1]], [[1, 1, 1], [0.1, 0.2, 0.4]], [([1], [2**62])]):
        assert model(metric, parameter, *ones) == (1.0, 0.0)
    # one task, alone or beside one with weight 0
    alone = model(metric, parameter, [7])
    assert model(metric, parameter, [7, 9], [1, 0]) == alone
    assert_near(alone, brute(metric, parameter, [7]), 1e-13)


BIG = 2**62
EXTREMES = {
    "two huge": (([BIG], [2]), None),
    "huge and one": ([BIG, 1], None),
    "billions": ([10**9] * 3, None),
    "all weights apart": ([5, 7, 9, 10**6], [1e-300, 1e300, 1, 1e-12]),
    "the most candidates": (([2**63 - 1], [2]), None),
    "the most beside others": ([2**63 - 1, 2**63 - 2, 2**63 - 1024, 1, 40], [1, 2, 3, 4, 5]),
}


@given(st.sampled_from(list(EXTREMES)), st.sampled_from(CASES))
def test_extremes_are_finite(name: str, case: tuple[str, float]) -> None:
    """There is no overflow, no warning (warnings are errors) and no wrong sign."""
    metric, parameter = case
    mean, variance = model(metric, parameter, *EXTREMES[name])
    assert 0 < mean < math.inf
    assert 0 <= variance < math.inf
    bounded = METRICS[metric].increasing
    if bounded:
        assert mean <= 1
    else:
        assert 1 <= mean <= 2**63


def test_extremes_by_hand() -> None:
    """Check closed forms for huge N."""
    # a task of hardly any weight does not count
    for name in ("gmr", "igmr"):
        nearly = model(name, 0, [10**6, 10**6], [1, 1e-300])
        assert nearly == pytest.approx(model(name, 0, [10**6]), rel=1e-12)
    # a product of powers of uniform variables
    mean, variance = model("gmr", 0, [BIG] * 4)
    assert mean / BIG == pytest.approx((4 / 5) ** 4, rel=1e-12)
    assert variance / BIG**2 == pytest.approx((2 / 3) ** 4 - (4 / 5) ** 8, rel=1e-12)


# -- published numbers, adjusted -------------------------------------------------------------------


def test_the_formulas() -> None:
    """Two tasks, N = 3: everything by hand. Nothing varies where N = 1."""
    adjusted = tr.adjust("mr", 1.5, candidates=3, tasks=2)
    assert (adjusted.metric, adjusted.value, adjusted.expectation) == ("mr", 1.5, 2.0)
    assert adjusted.variance == pytest.approx(1 / 3)
    assert (adjusted.ratio, adjusted.index) == (0.75, 0.5)
    assert adjusted.z == pytest.approx(-0.5 * math.sqrt(3))
    assert adjusted.tasks == 2
    assert str(adjusted) == (
        "mr 1.5 over 2 tasks; chance 2 +- 0.57735: ratio 0.750000, index 0.500000, z -0.866025"
    )
    sure = tr.adjust("mr", 1, candidates=1, tasks=5)
    assert all(map(math.isnan, (sure.index, sure.z)))


@given(
    counts=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    data=st.data(),
    metric=st.sampled_from(["mr", "mrr", "mrr@2", "hits@3", "ndcg@3", "gmr", "igmr"]),
)
def test_it_is_what_a_report_says(counts: list[int], data: st.DataObject, metric: str) -> None:
    """The value of a report alone gives its adjusted values."""
    n = len(counts)
    above = [data.draw(st.integers(0, size - 1)) for size in counts]
    weights = data.draw(st.none() | st.just(np.arange(1.0, 1 + n)))
    ranks = tr.Ranks(above, [1] * n, counts, weights=weights)
    report = tr.report(ranks)
    adjusted = tr.adjust(metric, report[metric], candidates=counts, tasks=n, weights=weights)
    assert adjusted.tasks == n
    assert (adjusted.expectation, adjusted.variance) == report.chance(metric)
    for name in ("ratio", "index", "z"):
        expected = report[f"{name}.{metric}"]
        assert getattr(adjusted, name) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("mrr 31.6", {}, ValueError, "value"),
    ("hits@10 300", {}, ValueError, "value"),
    ("mr 0.5", {}, ValueError, "value"),
    ("mr nan", {}, ValueError, "value"),
    ("mmr 2", {}, KeyError, "'mmr'"),
    ("tail.mr 2", {}, KeyError, "'tail.mr'"),
    ("amri 0.5", {}, KeyError, "'amri'"),
    ("std 2", {}, KeyError, "'std'"),
    ("median 5", {}, KeyError, "'median'"),
    ("mr 2", {"tasks": None}, ValueError, "tasks"),
    ("mr 2", {"candidates": [4, 5, 6]}, ValueError, "tasks"),
    ("mr 2", {"candidates": [4, 5], "tasks": None, "weights": [1.0]}, ValueError, "weights"),
]


@pytest.mark.parametrize(("line", "change", "error", "argument"), WRONG)
def test_what_is_not_adjusted(
    line: str, change: dict[str, Any], error: type[Exception], argument: str
) -> None:
    metric, number = line.split()
    keywords = {"candidates": 40943, "tasks": 6268, "value": float(number)} | change
    refused(error, argument, tr.adjust, metric, **keywords)


def test_a_percentage_is_named() -> None:
    with pytest.raises(ValueError, match=r"to 1, got 31\.6; as a percentage it is 0\.316"):
        tr.adjust("mrr", 31.6, candidates=40943, tasks=6268)
