"""The metrics of 20,000 ranks, against PyKEEN's evaluator."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Pair, Results
from peers.torch_pykeen import METRIC_NAMES

TASKS = 20_000


def draw_ranks() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Draw the ranks of a fair model, with up to 5,000 distinct numbers of candidates."""
    generator = np.random.default_rng(3)
    candidates = generator.integers(10_001, 15_001, TASKS)
    ranks = np.exp(generator.uniform(0, np.log(candidates)))
    return np.minimum(np.ceil(ranks).astype(np.int64), candidates), candidates


@pytest.fixture
def pykeen(results: Results) -> Any:
    """PyKEEN's module of evaluators."""
    module = pytest.importorskip("pykeen.evaluation.rank_based_evaluator")
    results.facts["pykeen"] = version("pykeen")
    return module


def values_of(ranks: Any, candidates: Any, keys: list[str]) -> dict[str, float]:
    """Return the values of keys, computed anew: nothing is cached from an earlier call."""
    return tr.report(tr.Ranks(ranks - 1, np.ones_like(ranks), candidates)).to_dict(keys)


def test_all_metrics(compare: Compare, results: Results, pykeen: Any) -> None:
    """All 31 metrics that PyKEEN computes by default, of the realistic ranks."""
    ranks, candidates = draw_ranks()
    metrics = pykeen.RankBasedEvaluator().metrics
    pack = pykeen.RankPack("both", "realistic", ranks.astype(np.float64), candidates, None)
    times = compare(
        f"{len(METRIC_NAMES)} metrics of {TASKS:,} ranks",
        {
            "truerank": lambda: values_of(ranks, candidates, list(METRIC_NAMES)),
            "PyKEEN": lambda: pykeen.RankBasedMetricResults.from_ranks(metrics, [pack]),
            "truerank, without those of gmr": lambda: values_of(
                ranks,
                candidates,
                [key for key in METRIC_NAMES if key not in ("index.gmr", "z.gmr")],
            ),
        },
        [
            Pair("truerank", "PyKEEN", "cost"),
            Pair("truerank, without those of gmr", "PyKEEN", "cost"),
        ],
        agree=False,
    )
    ours = times["truerank"].result
    theirs = {key.metric: value for key, value in times["PyKEEN"].result.data.items()}
    our_keys = {name: key for key, name in METRIC_NAMES.items()}  # of several keys, the last
    for name, key in our_keys.items():
        sign = -1 if key in ("z.mr", "z.gmr") else 1
        # PyKEEN subtracts two nearly equal moments: at this size its variance of gmr has 5 digits.
        tolerance = 1e-5 if key == "z.gmr" else 1e-9
        assert sign * ours[key] == pytest.approx(theirs[name], rel=tolerance), key
    error = abs(ours["z.gmr"] + theirs[METRIC_NAMES["z.gmr"]]) / abs(ours["z.gmr"])
    results.add_remark(
        f"PyKEEN's z of gmr is off by {error:.1e} (relative): it subtracts two moments"
    )
