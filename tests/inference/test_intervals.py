"""Intervals, of one model and of several runs, against scipy and plain resampling."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, example, given
from hypothesis import strategies as st

import truerank as tr
from metrics.test_contributions import SMOOTH, drawn
from support.examples import examples
from truerank.inference import compare, interval
from truerank.metrics.keys import parse

Array = np.ndarray[Any, Any]


def of_ranks(ranks: Any, candidates: int = 1000, **labels: Any) -> tr.Ranks:
    ranks = np.asarray(ranks)
    return tr.Ranks(ranks - 1, np.ones(len(ranks), int), candidates, **labels)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    ("key", "f", "back"),
    [
        ("mr", float, float),
        ("mrr", lambda r: 1 / r, float),
        ("gmr", np.log, math.exp),
        ("igmr", np.log, lambda x: math.exp(-x)),
        ("hmr", lambda r: 1 / r, lambda x: 1 / x),
        ("imr", float, lambda x: 1 / x),
        ("power_mean:2", np.square, math.sqrt),
        ("power_mean:0", np.log, math.exp),
        ("ndcg@10", lambda r: np.where(r <= 10, 1 / np.log2(1 + r), 0.0), float),
    ],
)
def test_means_have_the_t_interval_of_scipy_on_their_scale(
    key: str, f: Any, back: Any, level: float
) -> None:
    ranks = np.random.default_rng(0).integers(1, 500, 400)
    values = np.array([f(r) for r in ranks.astype(float)])
    result = interval(of_ranks(ranks), key, level=level)
    ends = scipy.stats.t.interval(level, 399, values.mean(), scipy.stats.sem(values))
    assert (result.low, result.high) == pytest.approx(sorted(map(back, ends)), rel=1e-12)
    assert (result.method, result.units, result.unit) == ("t", 400, "task")


@pytest.mark.parametrize("weights", ["relation", [1.0, 2.0]])
def test_queries_have_no_weights(weights: Any) -> None:
    """They count once each: weights would be left out."""
    ranks = tr.Ranks([0, 3], [1, 1], 10, queries=[0, 1], relation=[4, 5])
    queries = tr.report(ranks, unit="query")
    for runs in (queries, [queries, queries]):
        with pytest.raises(tr.InputError, match=r"^weights: expected no weights, as every query"):
            interval(runs, "map", weights=weights)


def test_spreads_have_even_bounds_about_their_logarithm() -> None:
    ranks = np.random.default_rng(0).integers(1, 500, 400)
    result = interval(of_ranks(ranks), "variance")
    squares = (ranks - ranks.mean()) ** 2
    error = scipy.stats.sem(squares) / squares.mean()
    ends = scipy.stats.t.interval(0.95, 399, math.log(squares.mean()), error)
    assert (result.low, result.high) == pytest.approx(np.exp(ends))
    std = interval(of_ranks(ranks), "std")
    assert (std.low, std.high) == pytest.approx(np.sqrt([result.low, result.high]))


def test_weights_and_clusters_are_in_the_error() -> None:
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 9, 60)
    weights = rng.random(60)
    unit = np.arange(60) // 3
    shares = np.bincount(unit, weights) / weights.sum()
    mean = weights @ ranks / weights.sum()
    moved = np.bincount(unit, weights * ranks) / weights.sum() - mean * shares
    error = math.sqrt(20 / 19 * (moved**2).sum())
    result = interval(of_ranks(ranks, weights=weights), "mr", unit=unit)
    ends = scipy.stats.t.interval(0.95, 19, mean, error)
    assert (result.low, result.high) == pytest.approx(ends)
    result = interval(of_ranks(ranks, weights=weights), "hits@4", unit=unit)
    hits = ranks <= 4
    share = weights @ hits / weights.sum()
    moved = np.bincount(unit, weights * hits) / weights.sum() - share * shares
    trials = share * (1 - share) / (moved**2).sum()
    z2 = scipy.stats.norm.ppf(0.975) ** 2 / trials
    reach = math.sqrt(share * (1 - share) * z2 + z2**2 / 4) / (1 + z2)
    assert result.high == pytest.approx((share + z2 / 2) / (1 + z2) + reach)
    one = interval(of_ranks(ranks, weights=weights * 1e300), "mr", unit=unit)
    for two in (
        interval(of_ranks(ranks, weights=weights), "mr", unit=unit),
        interval(of_ranks(ranks), "mr", unit=unit, weights=weights),
    ):
        assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high))


@given(st.integers(2, 60), st.integers(0, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_hits_have_the_interval_of_wilson(n: int, hits: int, level: float) -> None:
    hits = min(hits, n)
    ranks = of_ranks([1] * hits + [5] * (n - hits), 10)
    result = interval(ranks, "hits@1", level=level)
    wilson = scipy.stats.binomtest(hits, n).proportion_ci(level, "wilson")
    assert (result.low, result.high) == pytest.approx((wilson.low, wilson.high), abs=1e-9)
    assert result.method == "wilson"
    index = interval(ranks, "index.hits@1", level=level)
    ends = [(end - 0.1) / 0.9 for end in (wilson.low, wilson.high)]
    assert (index.low, index.high) == pytest.approx(ends, abs=1e-9)


def test_hits_of_two_tasks_a_unit_are_trials_of_units() -> None:
    hits = interval(of_ranks([1, 5] * 20, unit=np.arange(40) // 2), "hits@1")
    wilson = scipy.stats.binomtest(10, 20).proportion_ci(0.95, "wilson")
    assert (hits.low, hits.high) == pytest.approx((wilson.low, wilson.high))


@given(st.integers(2, 40), st.sampled_from([1, 19]), st.sampled_from(["index", "ratio"]))
def test_hits_that_are_all_or_none_are_so_but_for_rounding(
    n: int, rank: int, adjustment: str
) -> None:
    result = interval(of_ranks([rank] * n, 37), f"{adjustment}.hits@3")
    chance = 3 / 37
    wilson = scipy.stats.binomtest(n * (rank == 1), n).proportion_ci(0.95, "wilson")
    expected = [end / chance for end in (wilson.low, wilson.high)]
    if adjustment == "index":
        expected = [(end - chance) / (1 - chance) for end in (wilson.low, wilson.high)]
    assert (result.low, result.high) == pytest.approx(expected, abs=1e-9)


# What is 1 or 0 where the only right answer of a query is the first of few, or none of them.
SHARES = ["success@1", "recall@1", "r_precision", "precision@1", "f1@1", "ndcg@1", "map@1"]


def of_queries(hits: int, n: int, answers: int = 1) -> tr.Report:
    """A report of n queries that find all their answers at the top, or, after the hits, none."""
    lists = {i: list(range(answers)) if i < hits else [9] for i in range(n)}
    task = tr.retrieval.Task({query: list(range(answers)) for query in lists}, entities=10)
    return task.evaluate_lists(lists)


@pytest.mark.filterwarnings("ignore:ids. no right answer is in any list:UserWarning")
@given(st.integers(2, 60), st.integers(0, 60), st.sampled_from(SHARES), st.floats(0.8, 0.99))
@examples(40)
def test_values_that_are_all_0_or_1_have_the_interval_of_wilson(
    n: int, hits: int, key: str, level: float
) -> None:
    """Of recall@1, too, which is success@1 where each query has one right answer."""
    hits = min(hits, n)
    report = of_queries(hits, n)
    wilson = scipy.stats.binomtest(hits, n).proportion_ci(level, "wilson")
    ends = pytest.approx((wilson.low, wilson.high), abs=1e-9)
    result = report.interval(key, level=level)
    assert (result.low, result.high) == ends
    assert (result.value, result.method) == (report[key], "wilson")
    # A table has the same bounds, and a group has its own.
    table = tr.table(report, [key], interval=True, level=level).to_dict()
    bounds = [table[f"{key} {end}"][0] for end in ("low", "high")]
    assert bounds == [result.low, result.high]
    half = tr.report(report.ranks, by=np.arange(n) % 2).groups[0]
    assert half.interval(key, level=level) == of_queries((hits + 1) // 2, (n + 1) // 2).interval(
        key, level=level
    )


def test_what_is_perfect_in_all_queries_has_an_interval() -> None:
    """No query loses more than 1, so that at worst each is all or nothing."""
    wilson = scipy.stats.binomtest(60, 60).proportion_ci(0.95, "wilson")
    report = of_queries(60, 60, answers=3)
    for key in ("map", "mrr", "ndcg", "ndcg@10", "recall@3", "r_precision", "map_at_r"):
        result = report.interval(key)
        assert (result.value, result.method) == (1, "wilson")
        assert (result.low, result.high) == pytest.approx((wilson.low, 1), abs=1e-12)
        assert result.notes == ("few units: 60 queries",)
    perfect = of_ranks([1] * 60)
    for key in ("mrr", "ndcg@10", "sampled_hits@10:50", "expected.mrr"):
        assert interval(perfect, key).low == pytest.approx(wilson.low, abs=1e-12)
    assert interval(perfect, "hmr").high == pytest.approx(1 / wilson.low)


def test_what_is_not_0_or_1_in_all_units_has_the_interval_of_t() -> None:
    some = of_queries(50, 60, answers=2)  # Of two answers the first is half of them.
    assert some.interval("recall@1").method == "t"
    assert some.interval("recall@2").method == "wilson"
    # A unit may lose more than 1, have two values, or weigh more than others; runs vary.
    perfect = of_ranks([1] * 60)
    for key in ("mr", "gmr", "imr", "index.mrr", "ratio.mrr", "std"):
        assert interval(perfect, key).method == "none"
    pairs = of_ranks([1, 1, 1, 900] * 15, 1000, unit=np.arange(60) // 2)
    assert interval(pairs, "ndcg@10").method == "t"
    assert interval(of_ranks([1, 900] * 30), "ndcg@10").method == "wilson"
    assert interval(of_ranks([1, 900] * 30), "ndcg@10", weights=np.arange(60) + 1.0).method == "t"
    assert interval(of_ranks([1, 900] * 30), "mrr").method == "t"
    assert interval([some, some], "recall@2").method == "t of runs and units"
    assert compare(some, of_queries(20, 60, answers=2), "recall@2").method == "t"


def test_shares_of_few_queries_are_covered() -> None:
    """Of 60 queries that find their answer with a probability of .97: t covered 85 %."""
    rng = np.random.default_rng(0)
    covered: dict[str, int] = {"wilson": 0, "t": 0}
    bounds: dict[int, Any] = {}
    for hits in rng.binomial(60, 0.97, 1000).tolist():
        if hits not in bounds:
            found = of_queries(hits, 60).interval("recall@1")
            values = np.arange(60) < hits
            reach = scipy.stats.t.ppf(0.975, 59) * scipy.stats.sem(values)
            ends = values.mean() - reach, values.mean() + reach
            bounds[hits] = {"wilson": (found.low, found.high), "t": ends}
        for method, (low, high) in bounds[hits].items():
            covered[method] += low <= 0.97 <= high
    assert covered["wilson"] >= 950
    assert covered["t"] <= 880


@pytest.mark.parametrize("adjustment", ["ratio", "index"])
@pytest.mark.parametrize("name", ["mr", "mrr", "hits@3", "gmr"])
def test_adjusted_metrics_of_equal_candidates_are_those_of_the_metric(
    name: str, adjustment: str
) -> None:
    rng = np.random.default_rng(1)
    ranks = of_ranks(rng.integers(1, 40, 150), 50)
    one = interval(ranks, f"{adjustment}.{name}")
    two = interval(ranks, name)
    mean, _ = tr.chance(name, ranks.candidates)

    def back(x: float) -> float:
        return {"ratio": x / mean, "index": (x - mean) / (1 - mean)}[adjustment]

    expected = sorted(map(back, (two.low, two.high)))
    assert expected == pytest.approx([one.low, one.high], rel=1e-6)


@pytest.mark.parametrize("key", ["median", "mad", "imedian"])
def test_what_is_no_mean_has_the_percentiles_of_resamples(key: str) -> None:
    ranks = drawn(0, 80)
    result = interval(ranks, key, seed=3)
    assert result == interval(ranks, key, seed=3)
    assert (result.method, result.units) == ("bootstrap", 40)
    assert result.value == tr.report(ranks)[key]
    rng = np.random.default_rng(7)
    values = []
    for _ in range(400):  # copies, where the package takes weights
        tasks = (2 * rng.integers(40, size=40)[:, None] + [0, 1]).ravel()
        values.append(tr.report(ranks[tasks].with_labels(unit=None))[key])
    low, high = np.quantile(values, [0.025, 0.975])
    width = max(np.std(values), 1e-9)
    assert abs(result.low - low) < width
    assert abs(result.high - high) < width


@examples(25)
@given(
    st.sampled_from([*SMOOTH, "median", "index.gmr"]),
    st.sampled_from(["", "expected.", "pessimistic.", "tail."]),
)
@example("sampled_hits@3:9", "")  # in whose ties the middle is drawn
def test_bounds_hold_the_value_and_stay_in_range(name: str, kind: str) -> None:
    assume(kind != "expected." or parse(name).row.has_expectation)
    ranks = drawn(7, 30, weighted=True)
    result = interval(ranks, kind + name)
    slack = 1e-12 * abs(result.value)
    is_held = result.low - slack <= result.value <= result.high + slack
    assert is_held or result.method == "bootstrap"
    least, most = range_of(name)
    assert least <= result.low
    assert result.high <= most


def range_of(name: str) -> tuple[float, float]:
    """The least and the greatest value of a metric, whatever the tasks are."""
    key = parse(name)
    if key.adjustment == "index":
        return (-1 if key.metric == "mr" else -math.inf), 1
    if key.adjustment == "ratio" or key.metric in ("std", "variance"):
        return 0, math.inf
    is_rank = key.metric in ("mr", "gmr", "hmr", "median", "power_mean")
    return (1, math.inf) if is_rank else (0, 1)


def test_ends_are_cut_to_the_range_before_they_are_inverted() -> None:
    result = interval(of_ranks([1] + [900] * 9), "hmr")
    assert result.low < result.value < result.high == math.inf
    assert interval(of_ranks([1, 1, 1, 4]), "mr").low == 1


def test_units_that_are_alike_or_alone_have_no_interval() -> None:
    for key in ("mr", "mrr", "index.mrr", "gmr", "std", "median", "mad"):
        alike = interval(of_ranks([7] * 50, 100), key)
        assert (alike.method, alike.notes) == ("none", ("no interval: all 50 tasks are alike",))
        assert math.isnan(alike.low)
    certain = interval(of_ranks([1, 2, 3], 3), "index.hits@5")  # Chance hits, too.
    assert math.isnan(certain.value)
    assert certain.notes == ()
    for key in ("mrr", "hits@1", "median"):
        for ranks, notes in ((of_ranks([3]), ("no interval: 1 task",)), (of_ranks([3])[:0], ())):
            alone = interval(ranks, key)
            assert (alone.method, math.isnan(alone.low), alone.notes) == ("none", True, notes)
    alone = interval([of_ranks([3]), of_ranks([4])], "mr")  # Runs vary, but units may, too.
    assert math.isnan(alone.low)
    assert alone.notes == ("no interval: 1 task",)


def test_a_result_has_one_note_at_most_with_the_key_that_was_asked() -> None:
    rng = np.random.default_rng(0)
    few = of_ranks(rng.integers(1, 99, 199))
    many = of_ranks(rng.integers(1, 99, 200))
    assert interval(few, "mr").notes == interval(few, "median").notes == ("few units: 199 tasks",)
    assert interval(many, "mr").notes == interval(many, "median").notes == ()
    ranks = np.ones(20_000, int)
    ranks[:7] = 900
    note = "few units carry it: amri rests on about 7 of 20,000 tasks"
    assert interval(of_ranks(ranks), "amri").notes == (note,)
    assert interval(of_ranks(ranks), "hits@1").notes == ()
    # Units of unlike weight, or of several tasks, are no trials that are alike.
    hits = of_ranks(ranks, weights=1 + np.arange(20_000) % 2)
    assert interval(hits, "hits@1").notes == (
        "few units carry it: hits@1 rests on about 5 of 20,000 tasks",
    )
    pairs = of_ranks(ranks, unit=np.arange(20_000) // 2)
    assert interval(pairs, "hits@1").notes[0].startswith("few units carry it: hits@1 rests on ")
    report = tr.report(of_ranks(ranks, side="tail"))
    words = (
        "Few units carry it: tail.MR rests on about 7 of 20,000 tasks."  # as the column is called
    )
    notes = report.table(["mr", "amri", "hits@1"], interval=True).notes
    assert [line for line in notes if "Few units" in line] == [words]
    names = ["amri", "Mean_Rank", "AH@3", "tail.optimistic.amri"]
    assert [each.metric for each in report.interval(names).values()] == names
    assert str(report.interval("AH@3")).startswith("AH@3 ")


def seeds(number: int, rng: Any, shift: float = 0.0) -> list[tr.Ranks]:
    """Runs of a model: effects of tasks, of runs, and of both."""
    base = rng.normal(3, 1, 50)
    rows = [base + shift + rng.normal(0, 0.2) + rng.normal(0, 0.5, 50) for _ in range(number)]
    return [of_ranks(np.exp(row).clip(0, 900).astype(int) + 1) for row in rows]


def by_definition(models: list[Array]) -> tuple[float, float, float]:
    """The estimate, its error and the degrees of freedom, of values (runs, units)."""
    means = [values.mean(axis=0) for values in models]
    apart = means[0] - (means[1] if len(models) > 1 else 0)
    parts = [(scipy.stats.sem(apart) ** 2, len(apart) - 1)]
    for values in models:
        if len(values) > 1:
            parts.append((scipy.stats.sem(values.mean(axis=1)) ** 2, len(values) - 1))
    total = sum(variance for variance, _ in parts)
    degrees = total**2 / sum(variance**2 / of_part for variance, of_part in parts)
    return apart.mean(), math.sqrt(total), degrees


@examples(30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 5))
def test_comparisons_of_runs_by_definition(seed: int, runs_a: int, runs_b: int) -> None:
    rng = np.random.default_rng(seed)
    a = seeds(runs_a, rng)
    b = seeds(runs_b, rng, shift=0.2)
    for key, power in (("mr", 1), ("mrr", -1)):
        result = compare(a, b, metric=key)
        values = [np.array([run.realistic**power for run in model]) for model in (a, b)]
        estimate, error, degrees = by_definition(values)
        assert result.estimate == pytest.approx(estimate)
        low, high = scipy.stats.t.interval(0.95, degrees, estimate, error)
        assert (result.low, result.high) == pytest.approx((low, high))
        assert result.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(estimate) / error, degrees))
        assert (result.runs_a, result.runs_b) == (runs_a, runs_b)
        assert result.method == "t of runs and units"
        assert (result.p_value > 0.05) == (result.low <= 0 <= result.high)
        better = power * (values[1].mean(axis=0) - values[0].mean(axis=0))
        assert (result.wins, result.losses) == ((better > 1e-12).sum(), (better < -1e-12).sum())


@pytest.mark.parametrize("key", ["mr", "gmr", "hmr", "std", "hits@10", "index.mrr"])
def test_intervals_of_runs_lie_about_their_mean(key: str) -> None:
    runs = seeds(4, np.random.default_rng(1))
    reports = list(map(tr.report, runs))
    result = tr.inference.interval(reports, key)
    # It is the metric of the mean over runs, within whose interval it is.
    scale, back = {
        "gmr": (np.log, np.exp),
        "hmr": (np.reciprocal, np.reciprocal),
        "std": (np.log, np.exp),
    }.get(key, (np.positive, np.positive))
    values = [run[key] for run in reports]
    assert result.value == pytest.approx(back(np.mean(scale(values))))
    if key in ("gmr", "mr"):
        twins = compare(reports, reports, key)
        assert twins.value_a == twins.value_b == result.value
    assert result.low < result.value < result.high
    assert result.notes == ("few units: 50 tasks", "few runs: 4")
    if key in ("mr", "hits@10"):
        ranks = np.array([run.realistic for run in runs])
        values = ranks if key == "mr" else (ranks <= 10).astype(float)
        estimate, error, degrees = by_definition([values])
        low, high = scipy.stats.t.interval(0.95, degrees, estimate, error)
        assert (result.low, result.high) == pytest.approx((max(low, key == "mr"), high))
    if key == "gmr":
        logs = np.log([run.realistic for run in runs])
        estimate, error, degrees = by_definition([logs])
        ends = scipy.stats.t.interval(0.95, degrees, estimate, error)
        assert (result.low, result.high) == pytest.approx(np.exp(ends))


def test_runs_in_another_order_are_of_the_same_tasks() -> None:
    """Tasks are matched by what they are, of several runs as of single ones."""
    rng = np.random.default_rng(0)
    labels = {"queries": np.arange(50), "unit": np.arange(50) // 2, "relation": np.arange(50) % 4}
    runs = [tr.Ranks(run.above, run.tied, run.candidates, **labels) for run in seeds(4, rng)]
    mixed = runs[:1] + [run[rng.permutation(50)] for run in runs[1:]]
    one, two = (interval(x, "mr") for x in (runs, mixed))
    assert two.units == one.units == 25
    assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-12)
    one = compare(runs[:2], runs[2:])
    two = compare(mixed[:2], mixed[2:])
    assert two.p_value == pytest.approx(one.p_value, rel=1e-9)
    assert (two.units, two.wins, two.losses) == (one.units, one.wins, one.losses)


def test_equal_runs() -> None:
    a, b = seeds(1, np.random.default_rng(0)) + seeds(1, np.random.default_rng(1))
    same = compare([a, a], [a, a], "mr")
    assert (same.p_value, same.estimate) == (1.0, 0.0)
    assert same.notes[-1] == "no interval: no task differs"
    # .1 three times has a mean that is not .1.
    alike = compare([of_ranks([10] * 50)] * 3, [of_ranks([2] * 50)] * 3)
    assert math.isnan(alike.p_value)
    # Without noise of runs it is the paired t test.
    twice = compare([a, a, a], [b, b, b], "gmr")
    assert twice.p_value == pytest.approx(compare(a, b, "gmr").p_value)
    assert compare([a], [b]) == compare(a, b)
    assert "one run each" in str(compare(a, b))


def test_folds_have_the_paired_t_over_their_values() -> None:
    rng = np.random.default_rng(0)
    folds = [of_ranks(rng.integers(1, 50, n)) for n in (30, 40, 50)]
    others = [of_ranks(rng.integers(1, 60, len(fold))) for fold in folds]
    result = compare(folds, others, metric="mr")
    values = [[tr.report(fold)["mr"] for fold in model] for model in (folds, others)]
    expected = scipy.stats.ttest_rel(*values)
    assert result.p_value == pytest.approx(expected.pvalue)
    bounds = expected.confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((bounds.low, bounds.high))
    assert (result.method, result.units, result.unit) == ("t of folds", 3, "fold")
    assert result.notes == ("paired by position only", "few units: 3 folds")
    assert "(t of folds, 3 folds)" in str(result)
    of_one = tr.inference.interval(list(map(tr.report, folds)), "mr")
    ends = scipy.stats.t.interval(0.95, 2, np.mean(values[0]), scipy.stats.sem(values[0]))
    assert (of_one.low, of_one.high) == pytest.approx(ends)
    assert (of_one.units, of_one.notes) == (3, ("few units: 3 folds",))
    perfect = [of_ranks([1] * n) for n in (30, 40, 50)]
    assert interval(perfect, "hits@1").notes == ("no interval: all 3 folds are alike",)
    assert compare(perfect, perfect, "hits@1").notes[-1] == "no interval: no fold differs"


def test_few_runs_are_said() -> None:
    """Intervals of two runs held the mean of all in 84 to 95 %, and no note said so."""
    rng = np.random.default_rng(0)
    base = rng.normal(3, 0.3, 300)
    runs = [of_ranks(np.exp(base + rng.normal(0, 0.2, 300)).astype(int) + 1) for _ in range(12)]
    for number, notes in ((2, ("few runs: 2",)), (4, ("few runs: 4",)), (5, ()), (1, ())):
        assert interval(runs[:number], "mrr").notes == notes
        assert compare(runs[:number], runs[6 : 6 + number]).notes[1:] == notes
    # Of the side that has fewer.
    assert compare(runs[:2], runs[2:]).notes[1:] == ("few runs: 2",)
    assert compare(runs[:7], runs[7:10]).notes[1:] == ("few runs: 3",)
    few = [run[:50] for run in runs[:2]]
    assert interval(few, "mrr").notes == ("few units: 50 tasks", "few runs: 2")
    assert interval(few[:1] * 2, "hits@10").notes[-1] == "few runs: 2"
    # In tables, and those of comparisons, once.
    reports = list(map(tr.report, runs))
    models = {"A": reports[:2], "B": reports[2:4]}
    tables = tr.table(models, ["mrr", "gmr"], interval=True), compare(models, metric=["mrr", "gmr"])
    for table in tables:
        assert len(re.findall("few runs: 2", table.to_text(), re.IGNORECASE)) == 1
    assert "ew runs" not in tr.table({"A": reports[:2]}, ["mrr"]).to_text()  # It has no interval.


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compare a-*.npz b-*.npz --metrics mrr", "few runs: 2"),
        ("evaluate a-*.npz b-*.npz --metrics mrr --interval", "Few runs: 2 (b-*)."),
        ("compare a-*.npz c-*.npz --metrics mrr", ""),
    ],
)
def test_few_runs_are_said_at_the_terminal(
    line: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("click")
    from support.cli_files import run_here

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    base = rng.normal(3, 0.3, 300)
    for name, number in (("a", 5), ("b", 2), ("c", 5)):
        for seed in range(number):
            logs = base + rng.normal(0, 0.2, 300)
            run = of_ranks(np.exp(logs).astype(int) + 1, queries=np.arange(300))
            run.with_labels(targets=np.arange(300)).save(f"{name}-{seed}.npz")
    code, out, _ = run_here(capsys, *line.split())
    assert code == 0
    assert ("ew runs" in out) == bool(words)
    assert words in out


# -- units of the user's own in retrieval ----------------------------------------------------------


def in_two_languages(seed: int, n: int = 100) -> tr.Report:
    """Return queries in two languages, which are about as hard; the unit is one query in both."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(2, 1.2, n)
    names = [f"q{i}" for i in range(n)]
    parts = []
    for language in ("de", "en"):
        above = np.exp(np.clip(hard + 0.3 * rng.normal(size=n), 0, 7)).astype(int)
        queries = [f"{language}/{name}" for name in names]
        ranks = tr.Ranks(above, np.ones(n, int), 2000, queries=queries, unit=names)
        parts.append(ranks.with_labels(language=language))
    return tr.report(tr.concatenate(parts), unit="query", by="language")


def test_one_query_in_two_languages_is_one_unit() -> None:
    """Counted as two, 100 queries covered .83: the label unit of the user's was not read."""
    population = np.mean([in_two_languages(10**6 + i, 2000)["mrr"] for i in range(10)])
    covered = {"query": 0, "unit": 0}
    for seed in range(300):
        report = in_two_languages(seed)
        for unit in covered:
            result = report.interval("mrr", unit=unit)
            covered[unit] += result.low <= population <= result.high
    assert covered["unit"] >= 270
    assert covered["query"] <= 265
    assert report.interval("mrr") == result
    assert (result.method, result.units, result.unit) == ("t", 100, "unit")
    # By scipy: the mean of both languages is the value of a unit.
    values = report.per_query("mrr").reshape(2, -1).mean(axis=0)
    ends = scipy.stats.t.interval(0.95, 99, values.mean(), scipy.stats.sem(values))
    assert (result.low, result.high) == pytest.approx(ends, rel=1e-12)


def test_resamples_groups_folds_and_comparisons_have_these_units() -> None:
    report = in_two_languages(0)
    assert report.interval("median").units == 100
    assert report.interval("median") != report.interval("median", unit="query")
    assert report.groups["de"].interval("mrr").unit == "unit"
    assert [group.interval("mrr").units for group in report.groups.values()] == [100, 100]
    other = in_two_languages(1)
    assert interval([report, other], "mrr").units == 100
    folds = [report, tr.report(other.ranks.with_labels(queries=range(200)), unit="query")]
    assert (interval(folds, "mrr").method, interval(folds, "mrr").units) == ("t of folds", 2)
    pair = compare(report, other, "mrr")
    assert (pair.units, pair.unit, pair.wins + pair.ties + pair.losses) == (100, "unit", 100)
    assert compare(report, other, "mrr", unit="query").units == 200
    assert report.contributions("mrr").bases.tolist() == [2.0] * 100
    # A Task's own units are its queries, whatever number they have, and so are single tasks.
    task = tr.retrieval.Task({"x": ["a", "b"], "y": ["b"]}, entities=["a", "b", "c"])
    of_task = task.evaluate_lists({"x": ["a", "c", "b"], "y": ["c", "b"]})
    for unit in ("unit", "query", "task", None):
        result = of_task.interval("map", unit=unit)
        assert (result.units, result.unit) == (2, "query")
    with_units = tr.report(of_task.ranks.with_labels(unit=["s"] * 3))
    assert (with_units.interval("map").units, with_units.interval("map").unit) == (1, "unit")
    torn = tr.report(of_task.ranks.with_labels(unit=["s", "t", "t"]))
    with pytest.raises(tr.InputError, match=r"^unit: expected one label for each query"):
        torn.interval("map")


def test_a_note_knows_only_losses_that_were_drawn() -> None:
    """As the page on recall says: one of 1,000 queries finds nothing, and few lose one of ten."""
    rng = np.random.default_rng(0)
    n = 1000
    are_covered = []
    n_samples = 300
    queries = np.repeat(np.arange(n), 10)
    for _ in range(n_samples):
        above = np.tile(np.arange(10), (n, 1))
        above[rng.random(n) < 0.05, 9] = 50
        finds_nothing = rng.random(n) < 0.001
        above[finds_nothing] += 50
        ranks = tr.Ranks(above.ravel(), np.ones(10 * n, int), 1000, queries=queries)
        result = tr.report(ranks, unit="query").interval("recall@10")
        if not result.notes:
            assert not finds_nothing.any()
            are_covered.append(result.low <= 0.999 * 0.995 <= result.high)
    assert 0.3 < len(are_covered) / n_samples < 0.45
    assert 0.6 < np.mean(are_covered) < 0.76
