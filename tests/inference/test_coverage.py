"""How often intervals cover what they estimate, by enumeration and by samples of drawn laws."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import truerank as tr
from inference.test_intervals import of_ranks
from support.environment import ROOT
from support.example_ranks import query_report
from truerank.inference import interval
from truerank.inference.intervals import paired_test, wilson
from truerank.metrics.contributions import mean_and_influences

pytestmark = pytest.mark.python_only


def of_one_size(n: int, differing: float, losing: float) -> list[float]:
    """Percent of samples whose interval covers, is too high, too low, and excludes 0.

    Of n units some differ, and of these some lose 1 and others win 1: all samples are enumerated.
    """
    truth = differing * (1 - 2 * losing)
    of_differing = scipy.stats.binom(n, differing)
    chances = np.zeros(4)
    for k in range(int(of_differing.ppf(1e-9)), int(of_differing.ppf(1 - 1e-9)) + 1):
        for lost in range(k + 1):
            chance = of_differing.pmf(k) * scipy.stats.binom.pmf(lost, k, losing)
            if chance < 1e-9:
                continue
            apart = np.zeros(n)
            apart[:k] = 1
            apart[:lost] = -1
            _, low, high, _ = paired_test(apart, np.ones(n), 0.95, most=1.0)
            seen = [low <= truth <= high, low > truth, high < truth, not low <= 0 <= high]
            chances += chance * np.array(seen)
    return (100 * chances).tolist()


@pytest.mark.parametrize(
    ("n", "differing", "losing", "percent"),
    [
        (500, 0.038, 0.95, [95.52, 3.41, 1.08, 99.18]),
        (500, 0.006, 1.0, [99.97, 0.0, 0.03, 8.33]),
        (250, 0.03, 1.0, [97.70, 1.90, 0.40, 76.27]),
        (60, 0.1, 0.95, [97.18, 2.03, 0.79, 42.77]),
        (1000, 0.01, 0.8, [97.02, 2.48, 0.50, 36.10]),
        (500, 0.021, 1.0, [94.60, 4.87, 0.53, 95.13]),
        (500, 0.02, 0.5, [97.81, 1.09, 1.09, 2.19]),
    ],
)
def test_differences_of_one_size_are_covered(
    n: int, differing: float, losing: float, percent: list[float]
) -> None:
    """Sign flips of the units that differ covered 49.5 % of the first law."""
    assert of_one_size(n, differing, losing) == pytest.approx(percent, abs=0.1)


Sizes = Callable[[Any, int], Any]
GRADED: dict[str, Sizes] = {
    "beta": lambda rng, n: rng.beta(1.5, 4, n),
    "log-normal": lambda rng, n: rng.lognormal(-3.5, 1.5, n).clip(max=1),
}


@pytest.mark.parametrize(
    ("sizes", "n", "differing", "losing", "percent"),
    [
        ("beta", 1000, 0.01, 1.0, 99.6),
        ("log-normal", 1000, 0.03, 1.0, 90.8),
        ("beta", 500, 0.1, 0.5, 97.4),
    ],
)
def test_differences_of_many_sizes_are_covered(
    sizes: str, n: int, differing: float, losing: float, percent: float
) -> None:
    rng = np.random.default_rng(0)
    truth = differing * (1 - 2 * losing) * GRADED[sizes](rng, 10**6).mean()
    samples = 1500
    covered = 0
    for k in rng.binomial(n, differing, samples).tolist():
        apart = np.zeros(n)
        apart[:k] = GRADED[sizes](rng, k) * np.where(rng.random(k) < losing, -1, 1)
        _, low, high, _ = paired_test(apart, np.ones(n), 0.95, most=1.0)
        covered += low <= truth <= high
    error = 100 * np.sqrt(percent / 100 * (1 - percent / 100) / samples)
    assert abs(100 * covered / samples - percent) < 4 * error


# -- ends of one run -------------------------------------------------------------------------------


def top_queries(rng: Any, n: int = 250) -> tr.Report:
    """Queries of 1 to 5 right answers, all of which stand first among 1,000 documents."""
    numbers = rng.integers(1, 6, n)
    places = np.concatenate([np.arange(number) for number in numbers])
    queries = np.repeat(np.arange(n), numbers)
    return query_report(tr.Ranks(places, np.ones(len(places), int), 1000, queries=queries))


def unlike_candidates(seed: int = 4) -> Any:
    drawn = np.exp(np.random.default_rng(seed).uniform(np.log(20), np.log(2000), 1000))
    return drawn.astype(int)


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        ("precision@10", 0.2837, 0.3195),
        ("dcg", 1.973, 2.147),
        ("rbp:0.8", 0.4422, 0.4845),
        ("recall@1", 0.4211, 0.4943),
    ],
)
def test_ends_are_not_cut_to_the_best_of_these_queries(key: str, low: float, high: float) -> None:
    found = top_queries(np.random.default_rng(3)).interval(key)
    assert (found.low, found.high) == pytest.approx((low, high), rel=2e-4)
    report = top_queries(np.random.default_rng(3))
    values = report.per_query(key)
    ends = scipy.stats.t.interval(0.95, 249, values.mean(), scipy.stats.sem(values))
    assert (found.low, found.high) == pytest.approx(ends, rel=1e-12)


@pytest.mark.parametrize(
    ("key", "is_first", "low", "high"),
    [
        ("mr", False, 425.1, 488.8),
        ("ratio.hits@10", True, 8.987, 10.440),
        ("ratio.gmr", True, 0.01131, 0.01331),
        ("amr", True, 0.004064, 0.004671),
    ],
)
def test_ends_are_not_cut_to_the_best_of_these_tasks(
    key: str, is_first: bool, low: float, high: float
) -> None:
    candidates = unlike_candidates()
    ranks = of_ranks(np.ones(1000, int) if is_first else candidates, candidates)
    found = interval(ranks, key)
    assert found.method == "t"
    assert (found.low, found.high) == pytest.approx((low, high), rel=4e-4)


UNITS_PAGE = ROOT / "docs" / "units.md"
STUDY = ROOT / "bench" / "studies" / "calibration.md"


@pytest.mark.skipif(not UNITS_PAGE.is_file(), reason="no pages beside these tests")
def test_the_page_has_the_worst_that_was_measured_without_a_note() -> None:
    """Of each law that is named: of the sizes of which at least 1 % of samples have no note."""
    cells = r"(mr|ratio\.mr) \| ([0-9,]+) \| (?:[0-9.]+ % \| )?([0-9.]+) % \| ([0-9.]+) % \|$"
    worst: dict[str, tuple[float, list[str]]] = {}
    text = STUDY.read_text(encoding="utf-8")
    for law, *row in re.findall(rf"^\| (Pareto .*|1 % .*) \| {cells}", text, re.MULTILINE):
        if float(row[2]) >= 1:
            worst[law] = min((float(row[3]), row), worst.get(law, (100.0, [])))
    text = UNITS_PAGE.read_text(encoding="utf-8")
    named = re.findall(rf"^\| [^|]+ \| {cells}", text, re.MULTILINE)
    assert len(named) == 3
    assert sorted(map(list, named)) == sorted(row for _, row in worst.values())


def test_wilson_needs_its_cap_where_weights_differ() -> None:
    """Without it 70 % of samples of 250 units cover, where one in a hundred is hit."""
    rng = np.random.default_rng(0)
    covered = np.zeros(2)
    for _ in range(400):
        weights = rng.lognormal(0, 1.5, 250)
        hits = rng.random(250) < 0.01
        share, influences = mean_and_influences(hits * weights, weights)
        cap = weights.sum() ** 2 / np.square(weights).sum()
        for place, most in enumerate((cap, np.inf)):
            low, high = wilson(share, influences, 0.95, most)
            covered[place] += low <= 0.01 <= high
    assert covered[0] >= 0.93 * 400
    assert covered[1] <= 0.8 * 400
    # What it costs: both tasks are hit in 24 of 250 triples, and one of two in all others.
    ranks = np.where(np.arange(500) % 2, 1, 20)
    ranks[:48] = 1
    found = interval(of_ranks(ranks, unit=np.arange(500) // 2), "hits@10")
    assert (found.low, found.high) == pytest.approx((0.504, 0.591), abs=5e-4)
    shares = np.where(np.arange(250) < 24, 1, 0.5)
    bounds = wilson(shares.mean(), (shares - shares.mean()) / 250, 0.95, np.inf)
    assert bounds == pytest.approx((0.530, 0.566), abs=5e-4)


def test_trials_are_no_more_than_the_weights_of_tasks_allow() -> None:
    """299 hits of weight 1 and a miss of weight .01."""
    ranks = of_ranks([1] * 299 + [5], weights=[1.0] * 299 + [0.01])
    assert interval(ranks, "hits@1").low == pytest.approx(0.9873, abs=5e-5)


@pytest.mark.parametrize("key", ["power_mean:inf", "power_mean:-inf", "power_mean:12"])
def test_extreme_power_means_have_no_interval(key: str) -> None:
    words = "hangs on the few largest or smallest ranks, and has no interval"
    with pytest.raises(tr.InputError, match=words):
        interval(of_ranks([1, 2, 3] * 100), key)
