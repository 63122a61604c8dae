"""Bootstrap intervals: 10,000 resamples of 20,000 tasks, against scipy and PyKEEN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness import Compare, Pair, time_in_turn
from harness.synthetic import Sizes
from harness.table import Results, make_rows
from truerank import Ranks
from truerank.inference.intervals import interval
from truerank.inference.samples.functionals import Functional
from truerank.inference.samples.units import units_of

# Resamples that scipy holds at once: the fastest number for it, and what our chunks hold.
BATCH = 3
CLUSTER_BATCH = 20  # of queries, which are fewer
ROUNDS = 2
# PyKEEN resamples one by one, so that a fiftieth of the resamples tells the time of all.
SHARE = 50

PYKEEN = {
    "mrr": "inverse_harmonic_mean_rank",
    "index.mrr": "adjusted_inverse_harmonic_mean_rank",
    "median": "median_rank",
}


def draw_ranks(tasks: int) -> Ranks:
    """Draw the ranks of a fair model: log-normal, with 5,000 distinct numbers of candidates."""
    rng = np.random.default_rng(0)
    candidates = rng.integers(10_000, 15_000, tasks)
    above = np.floor(np.exp(rng.normal(2.5, 2.2, tasks))).astype(np.int64)
    return Ranks(np.minimum(above, candidates - 1), np.ones(tasks, dtype=np.int64), candidates)


def draw_queries(tasks: int) -> NDArray[np.int64]:
    """Draw the query of each task: sizes of a Pareto law of shape 1.1, at most 500."""
    sizes = np.minimum(np.random.default_rng(2).random(tasks) ** (-1 / 1.1), 500).astype(np.int64)
    return np.repeat(np.arange(tasks), sizes)[:tasks]


def scipy_bootstrap_of_queries(ranks: Ranks, resamples: int, method: str) -> Any:
    """Return scipy's interval of mrr over whole queries, as a ratio of sums, vectorised."""
    stats = pytest.importorskip("scipy.stats")
    query = ranks.queries.values
    data = np.bincount(query, weights=1 / ranks.realistic), np.bincount(query)

    def mean_of_tasks(sums: Any, sizes: Any, axis: int = -1) -> Any:
        return sums.sum(axis=axis) / sizes.sum(axis=axis)

    return stats.bootstrap(
        data,
        mean_of_tasks,
        n_resamples=resamples,
        batch=CLUSTER_BATCH,
        vectorized=True,
        paired=True,
        method=method,
        random_state=np.random.default_rng(1),
    ).confidence_interval


def scipy_bootstrap(ranks: Ranks, key: str, resamples: int, method: str) -> Any:
    """Return the interval of `scipy.stats.bootstrap`, vectorised and in batches."""
    stats = pytest.importorskip("scipy.stats")
    values = ranks.realistic
    data: tuple[Any, ...] = (values if key == "median" else 1 / values,)
    statistic: Any = np.median if key == "median" else np.mean
    if key == "index.mrr":
        harmonic = np.cumsum(1 / np.arange(1, ranks.candidates.max() + 1))
        data += (harmonic[ranks.candidates - 1] / ranks.candidates,)

        def statistic(f: Any, e: Any, axis: int = -1) -> Any:
            return (f - e).mean(axis=axis) / (1 - e).mean(axis=axis)

    with warnings.catch_warnings():  # scipy's BCa is undefined where no single rank moves a median
        warnings.simplefilter("ignore")
        bootstrap = stats.bootstrap(
            data,
            statistic,
            n_resamples=resamples,
            batch=BATCH,
            vectorized=True,
            paired=len(data) > 1,
            method=method,
            random_state=np.random.default_rng(1),
        )
    return bootstrap.confidence_interval


def pykeen_bootstrap(ranks: Ranks, key: str, resamples: int) -> tuple[float, float]:
    """Return percentiles of PyKEEN's resampled metric, of one side and one kind of rank."""
    evaluator = pytest.importorskip("pykeen.evaluation.rank_based_evaluator")
    resolver = pytest.importorskip("pykeen.metrics.ranking").rank_based_metric_resolver
    metric = resolver.make(PYKEEN[key])
    pack = evaluator.RankPack("tail", "realistic", ranks.realistic, ranks.candidates, None)
    values: list[float] = []
    for seed in range(resamples):
        metrics = evaluator.RankBasedMetricResults.from_ranks(
            metrics=[metric], rank_and_candidates=[pack.resample(seed=seed)]
        )
        values += metrics.to_flat_dict().values()
    low, high = np.percentile(values, [2.5, 97.5]).tolist()
    return low, high


def prepare_functional(ranks: Ranks, key: str) -> Functional:
    """Return what an interval prepares before it draws resamples."""
    return units_of(ranks, key, by=None).functional()


@pytest.mark.parametrize("key", ["mrr", "index.mrr", "median"])
def test_bootstrap(key: str, benchmark: Any, results: Results, sizes: Sizes) -> None:
    """BCa and percentiles, each against scipy's; percentiles against PyKEEN's resampling too."""
    pytest.importorskip("scipy.stats")
    tasks, resamples = (4_000, 2_000) if sizes.quick else (20_000, 10_000)
    ranks = draw_ranks(tasks)
    contestants = {
        f"truerank, {method}": lambda method=method: interval(
            ranks, key, method=method, resamples=resamples
        )
        for method in ("auto", "bca", "percentile", "normal")
    }
    contestants["truerank, before it draws"] = lambda: prepare_functional(ranks, key)
    for method in ("BCa", "percentile"):
        contestants[f"scipy, {method}"] = lambda method=method: scipy_bootstrap(
            ranks, key, resamples, method
        )
    pairs = [
        Pair("truerank, auto", "scipy, BCa"),  # scipy has no method like the default
        Pair("truerank, bca", "scipy, BCa"),
        Pair("truerank, percentile", "scipy, percentile"),
    ]
    try:
        import pykeen  # noqa: F401
    except ImportError:
        results.add_remark("PyKEEN is not installed: no ratio against its resampling")
    else:
        share = f"PyKEEN, one side and kind ({resamples // SHARE} resamples, scaled)"
        contestants[share] = lambda: pykeen_bootstrap(ranks, key, resamples // SHARE)
        pairs.append(Pair("truerank, percentile", share))
    rounds = 1 if sizes.quick else ROUNDS
    times = time_in_turn(contestants, rounds, budget=30.0, benchmark=benchmark)
    for name, recorded in times.items():
        if name.startswith("PyKEEN"):
            recorded.seconds = [SHARE * seconds for seconds in recorded.seconds]
    ours, theirs = times["truerank, percentile"].result, times["scipy, percentile"].result
    width = ours.high - ours.low
    assert abs(ours.low - theirs.low) <= 0.1 * width
    assert abs(ours.high - theirs.high) <= 0.1 * width
    rows = make_rows(f"{key}: {resamples:,} resamples of {tasks:,} tasks", times, pairs, {})
    results.rows += rows
    for row in rows:
        if row.ratio is not None:
            benchmark.extra_info[f"{row.contestant} / {row.baseline}"] = row.ratio


def test_bootstrap_of_queries(compare: Compare, sizes: Sizes) -> None:
    """Whole queries of unequal sizes, each against scipy's bootstrap of their sums and sizes."""
    pytest.importorskip("scipy.stats")
    tasks, resamples = (4_000, 2_000) if sizes.quick else (20_000, 10_000)
    ranks = draw_ranks(tasks).with_labels(queries=draw_queries(tasks))
    contestants = {
        f"truerank, {method}": lambda method=method: interval(
            ranks, "mrr", method=method, by="query", resamples=resamples
        )
        for method in ("auto", "bca", "percentile", "normal")
    }
    for method in ("BCa", "percentile"):
        contestants[f"scipy, {method}"] = lambda method=method: scipy_bootstrap_of_queries(
            ranks, resamples, method
        )
    pairs = [
        Pair("truerank, auto", "scipy, BCa"),  # scipy has no method like the default
        Pair("truerank, bca", "scipy, BCa"),
        Pair("truerank, percentile", "scipy, percentile"),
    ]
    queries = len(np.unique(ranks.queries.values))
    name = f"mrr: {resamples:,} resamples of {queries:,} queries of {tasks:,} tasks"
    rounds = 1 if sizes.quick else ROUNDS
    times = compare(name, contestants, pairs, rounds=rounds, budget=30.0, agree=False)
    for pair in pairs[1:]:
        one, two = times[pair.subject].result, times[pair.baseline].result
        width = one.high - one.low
        assert abs(one.low - two.low) <= 0.1 * width
        assert abs(one.high - two.high) <= 0.1 * width
