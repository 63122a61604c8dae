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
from hypothesis import assume, example, given
from hypothesis import strategies as st

import truerank as tr
from oracles import metrics as oracle
from support.examples import examples, some
from support.interruptions import allocating_at_most
from support.refusals import refusal, refused
from truerank import chance
from truerank.metrics import METRICS
from truerank.metrics.keys import Key, parse

# those of medians have tests of their own
MODELS = [name for name, row in METRICS.items() if row.chance and "median" not in name]
# those of reference_values.json
RECORDED = ("mr", "mrr", "hits", "imr", "hmr", "gmr", "igmr", "median", "imedian")
POWERS = (-4, -3, -0.5, -0.05, 0.05, 0.5, 0.99, 1.01, 2, 10)
NAMED_POWERS = (-math.inf, -1, 0, 1, math.inf)
CASES = [("hits", k) for k in (1, 2, 5)]
CASES += [
    (name, parse(name + example).parameter)
    for name in MODELS
    if name not in ("hits", "power_mean")
    for example in METRICS[name].examples
]
CASES += [("power_mean", p) for p in POWERS + NAMED_POWERS]


def model(
    metric: str, parameter: float, candidates: Any, weights: Any = None
) -> tuple[float, float]:
    return chance(str(Key(metric, parameter)), candidates, weights)


def values(metric: str, parameter: Any, ranks: Any, weights: Any, sizes: list[int]) -> Any:
    """The metric of each row of ranks; weights sum to 1."""

    def mean(terms: Any) -> Any:
        return (terms * weights).sum(axis=1)

    if metric == "sampled_hits" or metric in oracle.PLAIN_FUNCTIONS:
        columns = zip(sizes, ranks.astype(np.int64).T, strict=True)
        terms = [values_of_ranks(metric, parameter, size)[ranks] for size, ranks in columns]
        return mean(np.stack(terms, axis=1))
    if math.isinf(parameter):
        return ranks.max(axis=1) if parameter > 0 else ranks.min(axis=1)
    formulas: dict[str, Callable[[], Any]] = {
        "imr": lambda: 1 / mean(ranks),
        "hmr": lambda: 1 / mean(1 / ranks),
        "gmr": lambda: np.exp(mean(np.log(ranks))),
        "igmr": lambda: np.exp(-mean(np.log(ranks))),
        "power_mean": lambda: mean(ranks**parameter) ** (1 / parameter),
        "median": lambda: np.median(ranks, axis=1),
        "imedian": lambda: 1 / np.median(ranks, axis=1),
    }
    if (metric, parameter) == ("power_mean", 0):
        metric = "gmr"
    return formulas[metric]()


@cache
def values_of_ranks(metric: str, parameter: Any, size: int) -> Any:
    """f of each rank from 1 to the number of candidates, by its definition; that of 0 is nan."""
    of_ranks = [math.nan]
    for rank in map(Fraction, range(1, size + 1)):
        if metric == "sampled_hits":
            of_ranks.append(float(oracle.sampled_hit(rank, size, parameter)))
        else:
            of_ranks.append(float(oracle.value_at(metric, rank, Fraction(parameter))))
    return np.array(of_ranks)


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
    if "median" in metric:
        slack = Fraction("1e-13")
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


@pytest.mark.sweep
@pytest.mark.parametrize(("metric", "parameter"), CASES)
@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ([600, 200], None),
        ([300, 300], [1, 1e-3]),
        ([400, 300], [1e-200, 1]),
        ([60, 50, 40], None),
        ([3, 2000], None),  # many beside few: nodes, path and series of the transform are needed
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
    """However many tasks differ, their nodes are never in memory all at once."""
    rng = np.random.default_rng(1)
    tasks = rng.integers(1, 15_000, 8_000), rng.random(8_000)
    for metric in ("imr", "gmr"):
        with allocating_at_most(24e6):
            chance(metric, *tasks)


# -- the ends --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "parameter"), CASES)
def test_degenerate(metric: str, parameter: float) -> None:
    assert all(map(math.isnan, model(metric, parameter, [])))
    for ones in ([[1]], [[1, 1, 1], [0.1, 0.2, 0.4]], [([1], [2**62])]):
        assert model(metric, parameter, *ones) == (1.0, 0.0)
    # one task, alone or beside one with weight 0
    alone = model(metric, parameter, [7])
    assert model(metric, parameter, [7, 9], [1, 0]) == alone
    assert_near(alone, brute(metric, parameter, [7]), 1e-13)


@pytest.mark.parametrize("p", [0.049, -0.049, 10.5, -11, 1e9])
def test_power_means_without_a_model(p: float) -> None:
    refusal(KeyError, "has no chance model", model, "power_mean", p, [3, 4])


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
    countless = [BIG, 3], [2**61, 2**61]
    refused(ValueError, "multiplicities", model, "power_mean", math.inf, countless)
    # 2 / (u + v) of uniform u, v has mean 4 log 2
    assert model("imr", 0, [BIG, BIG])[0] * BIG == pytest.approx(4 * math.log(2))
    # 2 / (1 + 1 / r) = 2 - 2 / (r + 1)
    mean, variance = model("hmr", 0, [BIG, 1])
    assert mean == pytest.approx(2, rel=1e-15)
    assert variance == pytest.approx(4 * (math.pi**2 / 6 - 1) / BIG, rel=1e-13)
    # a task with weight 0 does not count
    for name in ("imr", "hmr", "gmr", "igmr"):
        nearly = model(name, 0, [BIG, BIG], [1, 1e-300])
        assert nearly == pytest.approx(model(name, 0, [BIG]), rel=1e-12)
    # a product of powers of uniform variables
    mean, variance = model("gmr", 0, [BIG] * 4)
    assert mean / BIG == pytest.approx((4 / 5) ** 4, rel=1e-12)
    assert variance / BIG**2 == pytest.approx((2 / 3) ** 4 - (4 / 5) ** 8, rel=1e-12)


# -- medians ---------------------------------------------------------------------------------------

MEDIANS = ("median", "imedian")


@examples(30)
@given(st.lists(st.integers(1, 16), min_size=2, max_size=4), st.sampled_from(MEDIANS))
@example([1, 16], "imedian")  # the last interval of nodes was too long: off by 1e-10
def test_medians_of_all_outcomes(sizes: list[int], name: str) -> None:
    assert_near(chance(name, sizes), brute(name, 0, sizes), 1e-11)


@pytest.mark.parametrize("name", MEDIANS)
def test_degenerate_and_weighted(name: str) -> None:
    assert all(math.isnan(x) for x in chance(name, []))
    assert chance(name, [1, 1, 1, 1]) == chance(name, [1, 1, 1, 9]) == (1.0, 0.0)
    assert chance(name, [5, 5, 5], [2.0, 2.0, 0.0]) == chance(name, [5, 5])
    assert chance("median", [9]) == pytest.approx((5.0, 80 / 12), rel=1e-14)
    refused(KeyError, name, chance, name, [5, 5], [1.0, 2.0])
    refused(ValueError, "multiplicities", chance, name, ([1, 2**62], [2**61, 2**61]))


@pytest.mark.parametrize("size", [10**6, 2**53 + 1, 2**63 - 1])
def test_huge_sizes_approach_the_beta_law(size: int) -> None:
    for n in (2, 3, 4, 5, 100, 101, 1000, 1001):
        mean, variance = chance("median", ([size], [n]))
        k = n // 2
        exact = 1 / (4 * (n + 2))
        if n % 2 == 0:  # the mean of the two middle order statistics
            exact = (k * (k + 1) + k * k) / (2 * (n + 1) ** 2 * (n + 2))
        assert mean == pytest.approx((size + 1) / 2, rel=1e-12)
        # the continuous law's, and the grid's share, which is below 1 / size of it
        assert variance == pytest.approx(exact * float(size) ** 2, rel=1e-11 + 8 * n / size)
    for n in (3, 5, 101, 1001):
        inverse, _ = chance("imedian", ([size], [n]))
        assert inverse * size == pytest.approx(
            2 * n / (n - 1), rel=1e-11 + 40 * math.log(size) / size
        )


def test_sizes_beyond_exact_floats() -> None:
    sizes = [10169835676036493, 544083678943799, 13929350670477825, 13006295060769423]
    mean, variance = chance("median", sizes)
    # the same in units of 2^33, where the grid's share is below 1e-5
    less = chance("median", [n >> 33 for n in sizes])
    assert mean == pytest.approx(less[0] * 2.0**33, rel=1e-5)
    assert variance == pytest.approx(less[1] * 4.0**33, rel=1e-5)
    drawn = np.random.default_rng(1).integers(1, 2**62, 4)
    assert all(x > 0 for x in chance("imedian", drawn))


def test_a_nearly_certain_rank_keeps_its_variance() -> None:
    """The greatest of 150 ranks up to 10 is 10 but for 1e-7."""
    below = [Fraction(x, 10) ** 150 for x in range(11)]
    law = {x: below[x] - below[x - 1] for x in range(1, 11)}
    mean = sum((x * p for x, p in law.items()), Fraction(0))
    variance = sum(((x - mean) ** 2 * p for x, p in law.items()), Fraction(0))
    result = chance("power_mean:inf", ([10], [150]))
    assert result == pytest.approx((float(mean), float(variance)), rel=1e-8)


# -- published numbers, adjusted -------------------------------------------------------------------


def test_the_formulas() -> None:
    """Two tasks, N = 3: everything by hand. Nothing varies where N = 1."""
    adjusted = tr.adjust("mr", 1.5, candidates=3, tasks=2)
    assert (adjusted.metric, adjusted.value, adjusted.expectation) == ("mr", 1.5, 2.0)
    assert adjusted.variance == pytest.approx(1 / 3)
    assert (adjusted.ratio, adjusted.index) == (0.75, 0.5)
    assert adjusted.z == pytest.approx(-0.5 * math.sqrt(3))
    assert adjusted.probability_of_z == pytest.approx(0.19323811538561636, rel=1e-12)
    assert adjusted.tasks == 2
    assert str(adjusted) == (
        "mr 1.5 over 2 tasks; chance 2 +- 0.57735: ratio 0.750000, index 0.500000, z -0.866025"
    )
    sure = tr.adjust("mr", 1, candidates=1, tasks=5)
    assert all(map(math.isnan, (sure.index, sure.z, sure.probability_of_z)))


@given(
    counts=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    data=st.data(),
    metric=st.sampled_from(
        ["mr", "mrr", "hits@3", "gmr", "hmr", "imr", "igmr", "median", "imedian"]
        + [f"power_mean:{p}" for p in ("1", "-1", "0", "2", "-0.5", "inf", "-inf")]
    ),
)
def test_it_is_what_a_report_says(counts: list[int], data: st.DataObject, metric: str) -> None:
    """The value of a report alone gives its adjusted values."""
    n = len(counts)
    above = [data.draw(st.integers(0, size - 1)) for size in counts]
    weights = None
    if metric in ("mr", "mrr", "hits@3", "hmr"):
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
    ("median 5", {"candidates": [5, 6], "weights": [1, 2], "tasks": None}, KeyError, "median"),
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
