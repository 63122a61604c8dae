"""Test which method and which units an interval takes by itself, and what it notes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from truerank import Ranks, report
from truerank.inference.intervals import interval
from truerank.inference.proportions import clopper_pearson, wilson
from truerank.inference.samples.units import default_unit, plural, units_of
from truerank.metrics import METRICS

pytestmark = pytest.mark.python_only

LAST = 14_505
MONOTONE = [
    name + metric.examples[0] for name, metric in METRICS.items() if metric.increasing is not None
]


def log_uniform(rng: np.random.Generator, n: int, last: int = LAST) -> np.ndarray:
    return np.floor(np.exp(rng.random(n) * math.log(last + 1))).astype(int) - 1


def alone(above: object, last: int = LAST) -> Ranks:
    above = np.asarray(above, dtype=int)
    return Ranks(above, np.ones(len(above), int), last)


def hubs(queries: int = 2000, largest: int = 300) -> Ranks:
    """Half of the tasks are in few queries, whose ranks are alike, as in FB15k-237."""
    rng = np.random.default_rng(0)
    sizes = np.minimum((1 / rng.random(queries)).astype(int), largest)
    query = np.repeat(np.arange(queries), sizes)
    common, own = log_uniform(rng, queries)[query], log_uniform(rng, len(query))
    above = np.where(rng.random(len(query)) < 0.7, common, own)
    return Ranks(above, np.ones(len(above), int), LAST, queries=query)


@pytest.mark.parametrize("key", ["mrr", "hits@10", "gmr", "median"])
def test_queries_that_repeat_are_the_units(key: str) -> None:
    ranks = hubs()
    found = interval(ranks, key, resamples=500)
    assert found == interval(ranks, key, by="query", resamples=500)
    assert (found.by, found.units, found.largest) == ("query", 2000, 300)
    assert ", the largest of 300 tasks)" in str(found)
    tasks = interval(ranks, key, by="task", resamples=500)
    assert tasks == interval(ranks, key, by=None, resamples=500)
    assert (tasks.by, tasks.units, tasks.largest) == ("task", len(ranks), 1)
    assert found.high - found.low > 2 * (tasks.high - tasks.low)


def test_units_are_those_drawn_then_queries_then_tasks() -> None:
    queries, unit, side = [0, 1, 1, 0, 2, 3], [5, 6, 7, 5, 6, 7], ["left"] * 3 + ["right"] * 3
    ranks = Ranks([0, 1, 2, 3, 4, 5], np.ones(6, int), 9, queries=queries, side=side)
    assert default_unit(ranks) == "query"  # 0 on the left is not 0 on the right
    assert default_unit(ranks[3:]) == "task"
    both = ranks.with_labels(unit=unit)
    assert default_unit(both) == "unit"
    assert interval(both, "mrr", resamples=9).units == 3
    # on one side the units differ, and a query repeats
    assert interval(both, "left.mrr", resamples=9)[9:11] == ("query", 2)
    assert interval(both, "right.mrr", resamples=9)[9:11] == ("task", 1)
    assert interval(both, "mrr", by="unit", resamples=9).by == "unit"
    assert interval(both, "mrr", by="queries", resamples=9).by == "query"
    assert interval(both, "mrr", by=[1, 1, 2, 2, 3, 3], resamples=9).by == "group"
    assert plural("relation") == "relations"
    assert report(both).interval("mrr", resamples=9) == interval(both, "mrr", resamples=9)


@pytest.mark.parametrize("method", ["bca", "percentile", "normal"])
def test_other_methods_say_that_their_width_is_zero(method: str) -> None:
    found = interval(alone([50] * 30), "hits@10", method=method, resamples=99)
    assert found.low == found.high == 0
    assert found.notes == (
        "zero width: the 30 tasks are alike, and do not show how much others differ",
    )


def test_no_hit_is_no_proof() -> None:
    """Thirty tasks without a hit say no more than that less than a tenth are hits."""
    found = interval(alone([50] * 30), "hits@10")
    assert (found.low, found.method, found.resamples) == (0, "clopper-pearson", 0)
    assert found.high == pytest.approx(1 - 0.05 ** (1 / 30))
    assert found.notes == (
        "zero width avoided: the 30 tasks are alike; the bounds allow for others",
    )
    assert str(found).split("\n")[1] == found.notes[0]
    all_hit = interval(alone([3] * 30), "hits@10")
    assert (all_hit.low, all_hit.high) == pytest.approx((1 - found.high, 1))
    clustered = interval(alone([50] * 60), "hits@10", by=np.repeat(np.arange(30), 2))
    assert (clustered.low, clustered.method) == (0, "bounded")
    assert clustered.high == pytest.approx(found.high, rel=0.1)


@pytest.mark.parametrize("key", MONOTONE)
@pytest.mark.parametrize("above", [0, 7, LAST - 1])
def test_alike_tasks_have_intervals_with_a_width(key: str, above: int) -> None:
    found = interval(alone([above] * 40), key, resamples=500)
    if key not in ("median", "imedian"):  # whole ranks, most of which are this one
        assert found.low < found.high
    assert found.low <= found.value <= found.high
    assert found.notes[0].startswith("zero width")
    ends = sorted(report(alone([x]))[key] for x in (0, LAST - 1))
    assert ends[0] <= found.low
    assert found.high <= ends[1]


@pytest.mark.parametrize("key", ["mrr", "hits@3", "mr", "median", "gmr", "std", "count"])
def test_what_cannot_vary_has_no_note(key: str) -> None:
    found = interval(alone([0] * 40, 1), key, resamples=99)
    assert found.low == found.value == found.high
    if key != "std":
        assert found.notes == ()
    assert interval(alone([5] * 40, 10), "hits@10").notes == ()


def test_shares_of_independent_tasks() -> None:
    ranks = alone([0] * 30 + [50] * 70)
    found = interval(ranks, "hits@10")
    assert (found.method, found.notes) == ("wilson", ())
    assert (found.low, found.high) == pytest.approx(wilson(0.3, 100, 1.959964))
    few = interval(ranks[21:], "hits@10")
    assert (few.low, few.high) == pytest.approx(clopper_pearson(9, 79, 0.95))
    assert few.notes == ("few hits: 9 of 79 tasks; the bounds are exact, and conservative",)
    index = interval(ranks, "index.hits@10")
    chance = 10 / LAST
    assert index.method == "wilson"
    assert index.low == pytest.approx((found.low - chance) / (1 - chance))
    fractional = Ranks([0] * 50, [20] * 50, 100)
    assert interval(fractional, "expected.hits@10", resamples=99).method == "bounded"


def test_shares_of_clusters_have_a_design_effect() -> None:
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(50), 6)
    above = np.where(rng.random(50) < 0.4, 0, 99)[query]
    ranks = Ranks(above, np.ones(300, int), LAST, queries=query)
    found = interval(ranks, "hits@10")
    share = found.value
    expected = wilson(share, 50 * 49 / 50, scipy.stats.t.ppf(0.975, 49))
    assert found.method == "wilson"
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-6)
    alike = np.tile([0, 0, 99, 99, 99, 99], 50)  # a third of each query
    even = interval(
        Ranks(alike, np.ones(300, int), LAST, queries=query), "hits@10", method="wilson"
    )
    expected = wilson(1 / 3, 300, scipy.stats.t.ppf(0.975, 49))
    assert (even.low, even.high) == pytest.approx(expected)


def test_methods_by_metric() -> None:
    ranks = alone(np.random.default_rng(2).geometric(0.2, 400), 500)
    for key, method in {
        "mrr": "studentised",
        "mr": "studentised",
        "z.mr": "studentised",
        "std": "studentised",
        "median": "order",
        "imedian": "order",
        "hits@3": "wilson",
        "mad": "percentile",
    }.items():
        assert interval(ranks, key, resamples=99).method == method
    query = np.repeat(np.arange(100), 4)
    for key, method in {"median": "woodruff", "hits@3": "wilson", "mrr": "studentised"}.items():
        assert interval(ranks, key, by=query, resamples=99).method == method
    assert interval(ranks[:12], "mrr", resamples=99).method == "bounded"


@pytest.mark.parametrize(
    ("key", "method", "to_what"),
    [
        ("median", "studentised", "means over tasks and functions of these"),
        ("std", "bounded", "metrics that are better the better each rank"),
        ("mrr", "wilson", "hits@k of whole ranks"),
        ("mrr", "clopper-pearson", "hits@k of whole ranks of single tasks that weigh alike"),
        ("mr", "order", "medians of whole ranks of single tasks that weigh alike"),
        ("mr", "woodruff", "medians"),
    ],
)
def test_methods_that_do_not_apply(key: str, method: str, to_what: str) -> None:
    with pytest.raises(ValueError, match=f"does not apply to '{key}' here, but to {to_what}; take"):
        interval(alone([0, 3, 5]), key, method=method)
    for key, method in (("hits@1", "clopper-pearson"), ("median", "order")):
        with pytest.raises(ValueError, match="of single tasks that weigh alike"):
            interval(alone([0, 3, 5]), key, method=method, by=["a", "a", "b"])


def test_notes_name_their_figures() -> None:
    rng = np.random.default_rng(3)
    few = interval(alone(log_uniform(rng, 12)), "mrr", resamples=99)
    assert few.notes[0] == "few units: 12 tasks; the interval is conservative"
    heavy = alone([*rng.geometric(0.3, 997), 9000, 9100, 9200], 10_000)
    found = interval(heavy, "mr", resamples=99)
    assert found.notes == (
        "heavy tail: 3 of 1,000 tasks carry the variance; the interval is conservative",
    )
    found = interval(heavy, "mr", method="normal")
    assert found.notes == (
        "heavy tail: 3 of 1,000 tasks carry the variance; the interval may be too narrow",
    )
    assert interval(heavy, "mrr", resamples=99).notes == ()
    query = np.r_[np.zeros(310, int), np.repeat(np.arange(1, 70), 10)]
    found = interval(Ranks(log_uniform(rng, 1000), [1] * 1000, LAST, queries=query), "gmr")
    held = "clusters: the largest of 70 queries holds 31 % of the tasks"
    assert found.notes[0] == f"{held}; the interval may be too narrow"
    whole = interval(alone(np.repeat([0, 1, 2], [40, 30, 30])), "median")
    assert whole.notes == (
        "whole ranks: 30 % of the tasks have the median; the interval covers about 100 %",
    )
    (note,) = interval(alone(log_uniform(rng, 50)), "mad", resamples=99).notes
    assert note == "approximate: no interval of mad is known to cover as often as it says"


def test_one_unit_shows_nothing() -> None:
    for ranks in (alone([3]), alone([])):
        found = interval(ranks, "mrr")
        assert (found.method, found.resamples, found.notes) == ("auto", 0, ())
        assert math.isnan(found.low)
    units = units_of(alone([]), "mrr", by="auto")
    assert (units.by, units.largest) == ("task", 0)
