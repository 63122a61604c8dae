"""Mean and variance under chance of every metric, against PyKEEN's of the same metrics."""

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


class Peer(NamedTuple):
    """PyKEEN's class of a metric, its parameters, and whether it has a formula."""

    name: str
    parameters: dict[str, int]
    closed: bool


# truerank's key of each
PEERS = {
    "mr": Peer("ArithmeticMeanRank", {}, True),
    "mrr": Peer("InverseHarmonicMeanRank", {}, True),
    "hits@10": Peer("HitsAtK", {"k": 10}, True),
    "gmr": Peer("GeometricMeanRank", {}, True),
    "igmr": Peer("InverseGeometricMeanRank", {}, False),
    "imr": Peer("InverseArithmeticMeanRank", {}, False),
    "hmr": Peer("HarmonicMeanRank", {}, False),
    "median": Peer("MedianRank", {}, False),
    "imedian": Peer("InverseMedianRank", {}, False),
}
ALL_BUT_MEDIANS = [key for key in PEERS if "median" not in key]


def draw_candidates() -> Any:
    """20,000 tasks with 5,000 distinct numbers of candidates up to 15,000."""
    generator = np.random.default_rng(3)
    sizes = generator.choice(LARGEST, DISTINCT, replace=False) + 1
    rest = generator.choice(sizes, TASKS - DISTINCT)
    return generator.permutation(np.concatenate([sizes, rest]))


@pytest.fixture
def ranking(results: Results) -> Any:
    """PyKEEN's metrics; without PyKEEN the table says so."""
    try:
        from pykeen.metrics import ranking
        from pykeen.version import get_version
    except ImportError:
        results.add_remark("PyKEEN is not installed: no ratios against its chance model")
        pytest.skip("PyKEEN is not installed")
    results.facts["pykeen"] = get_version()
    return ranking


@pytest.mark.parametrize("key", PEERS)
def test_chance_of_one_metric(
    key: str, compare: Compare, results: Results, sizes: Sizes, ranking: Any
) -> None:
    """Expectation and variance; what PyKEEN has no formula for it estimates from samples."""
    candidates = draw_candidates()
    peer = PEERS[key]
    metric = getattr(ranking, peer.name)(**peer.parameters)
    theirs = "PyKEEN" if peer.closed else f"PyKEEN, {sizes.samples:,} samples"
    options: dict[str, Any] = {} if peer.closed else {"num_samples": sizes.samples}

    def moments() -> Moments:
        given = {"num_candidates": candidates, **options}
        if options:
            given["generator"] = np.random.default_rng(0)
        return metric.expected_value(**given), metric.variance(**given)

    found = compare(
        f"chance of {key}",
        {"truerank": lambda: tr.chance(key, candidates), theirs: moments},
        [Pair("truerank", theirs, "cost")],
        agree=False,
        rounds=None if peer.closed else 1 if sizes.quick else 3,
    )
    mine, (mean, variance) = found["truerank"].result, found[theirs].result
    if peer.closed:
        assert mean == pytest.approx(mine[0], rel=1e-9)
        # one of PyKEEN's is a difference of nearly equal moments
        assert variance == pytest.approx(mine[1], rel=1e-3)
    else:
        assert abs(mean - mine[0]) < 6 * math.sqrt(mine[1] / sizes.samples)
    results.add_remark(
        f"{theirs}, {key}: mean off by {abs(mean / mine[0] - 1):.0e}, "
        f"variance by {abs(variance / mine[1] - 1):.0e} of the exact ones"
    )


def test_chance_of_all_metrics(compare: Compare, sizes: Sizes) -> None:
    """All but the medians, with equal weights and with as many weights as tasks."""
    candidates = draw_candidates()
    weights = np.random.default_rng(5).random(TASKS) + 0.1

    def all_of(weights: Any) -> list[Moments]:
        return [tr.chance(key, candidates, weights) for key in ALL_BUT_MEDIANS]

    compare(
        f"chance of {len(ALL_BUT_MEDIANS)} metrics",
        {
            "truerank": lambda: all_of(None),
            "truerank, 20,000 weights": lambda: all_of(weights),
            "truerank, medians": lambda: [
                tr.chance(key, candidates) for key in PEERS if "median" in key
            ],
        },
        [
            Pair("truerank, 20,000 weights", "truerank", "cost"),
            Pair("truerank, medians", "truerank", "cost"),
        ],
        agree=False,
        rounds=2 if sizes.quick else 5,
    )
