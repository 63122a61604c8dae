"""Expectation and variance of every metric under chance, against PyKEEN's."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Pair, Results
from harness.synthetic import Sizes

TASKS, DISTINCT, LARGEST = 20_000, 5_000, 15_000
Moments = tuple[float, float]


class PyKEENMetric(NamedTuple):
    """PyKEEN's class of a metric, its parameters, and whether it has closed forms."""

    name: str
    parameters: dict[str, int]
    closed: bool


# By truerank's keys.
METRICS = {
    "mr": PyKEENMetric("ArithmeticMeanRank", {}, True),
    "mrr": PyKEENMetric("InverseHarmonicMeanRank", {}, True),
    "hits@10": PyKEENMetric("HitsAtK", {"k": 10}, True),
    "gmr": PyKEENMetric("GeometricMeanRank", {}, True),
    "igmr": PyKEENMetric("InverseGeometricMeanRank", {}, False),
    "imr": PyKEENMetric("InverseArithmeticMeanRank", {}, False),
    "hmr": PyKEENMetric("HarmonicMeanRank", {}, False),
    "median": PyKEENMetric("MedianRank", {}, False),
    "imedian": PyKEENMetric("InverseMedianRank", {}, False),
}
ALL_BUT_MEDIANS = [key for key in METRICS if "median" not in key]


def draw_candidates() -> Any:
    """Draw the numbers of candidates of 20,000 tasks: 5,000 distinct ones up to 15,000."""
    generator = np.random.default_rng(3)
    sizes = generator.choice(LARGEST, DISTINCT, replace=False) + 1
    rest = generator.choice(sizes, TASKS - DISTINCT)
    return generator.permutation(np.concatenate([sizes, rest]))


@pytest.fixture
def ranking(results: Results) -> Any:
    """PyKEEN's module of metrics; without PyKEEN, a remark."""
    try:
        from pykeen.metrics import ranking
        from pykeen.version import get_version
    except ImportError:
        results.add_remark("PyKEEN is not installed: no ratios against its chance model")
        pytest.skip("PyKEEN is not installed")
    results.facts["pykeen"] = get_version()
    return ranking


@pytest.mark.parametrize("key", METRICS)
def test_chance_of_one_metric(
    key: str, compare: Compare, results: Results, sizes: Sizes, ranking: Any
) -> None:
    """Expectation and variance; PyKEEN samples where it has no closed form."""
    candidates = draw_candidates()
    pykeen_metric = METRICS[key]
    metric = getattr(ranking, pykeen_metric.name)(**pykeen_metric.parameters)
    theirs = "PyKEEN" if pykeen_metric.closed else f"PyKEEN, {sizes.samples:,} samples"
    options: dict[str, Any] = {} if pykeen_metric.closed else {"num_samples": sizes.samples}

    def moments() -> Moments:
        arguments = {"num_candidates": candidates, **options}
        if options:
            arguments["generator"] = np.random.default_rng(0)
        return metric.expected_value(**arguments), metric.variance(**arguments)

    times = compare(
        f"chance of {key}",
        {"truerank": lambda: tr.chance(key, candidates), theirs: moments},
        [Pair("truerank", theirs, "cost")],
        agree=False,
        rounds=None if pykeen_metric.closed else 1 if sizes.quick else 3,
    )
    exact, (mean, variance) = times["truerank"].result, times[theirs].result
    if pykeen_metric.closed:
        assert mean == pytest.approx(exact[0], rel=1e-9)
        # One of PyKEEN's variances is a difference of nearly equal moments.
        assert variance == pytest.approx(exact[1], rel=1e-3)
    else:
        assert abs(mean - exact[0]) < 6 * math.sqrt(exact[1] / sizes.samples)
    results.add_remark(
        f"{theirs}, {key}: mean off by {abs(mean / exact[0] - 1):.0e}, "
        f"variance by {abs(variance / exact[1] - 1):.0e} of the exact ones"
    )


def test_chance_of_all_metrics(compare: Compare, sizes: Sizes) -> None:
    """All metrics but the medians, with equal weights and with a weight for each task."""
    candidates = draw_candidates()
    weights = np.random.default_rng(5).random(TASKS) + 0.1

    def all_moments(weights: Any) -> list[Moments]:
        return [tr.chance(key, candidates, weights) for key in ALL_BUT_MEDIANS]

    compare(
        f"chance of {len(ALL_BUT_MEDIANS)} metrics",
        {
            "truerank": lambda: all_moments(None),
            "truerank, 20,000 weights": lambda: all_moments(weights),
            "truerank, medians": lambda: [
                tr.chance(key, candidates) for key in METRICS if "median" in key
            ],
        },
        [
            Pair("truerank, 20,000 weights", "truerank", "cost"),
            Pair("truerank, medians", "truerank", "cost"),
        ],
        agree=False,
        rounds=2 if sizes.quick else 5,
    )
