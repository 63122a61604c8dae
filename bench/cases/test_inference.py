"""Intervals and comparisons of many tasks, in closed form, against resampling by scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness import Compare, Pair
from harness.synthetic import Sizes
from truerank import Ranks, compare
from truerank.inference import interval

# Resamples that scipy holds at once: the fastest number for it.
BATCH = 3


def draw_models(tasks: int) -> tuple[Ranks, Ranks]:
    """Draw the ranks of two fair models: log-normal, with 5,000 distinct numbers of candidates."""
    rng = np.random.default_rng(0)
    candidates = rng.integers(10_000, 15_000, tasks)
    common = rng.normal(2.5, 2.0, tasks)
    ones = np.ones(tasks, dtype=np.int64)

    def model() -> Ranks:
        above = np.floor(np.exp(common + rng.normal(0, 1, tasks))).astype(np.int64)
        return Ranks(np.minimum(above, candidates - 1), ones, candidates)

    return model(), model()


def scipy_bootstrap(ranks: Ranks, resamples: int) -> Any:
    """Return percentiles of the mean reciprocal rank of resampled tasks."""
    return stats.bootstrap(
        (1 / ranks.realistic,),
        np.mean,
        n_resamples=resamples,
        batch=BATCH,
        vectorized=True,
        method="percentile",
        random_state=np.random.default_rng(1),
    ).confidence_interval


def scipy_permutation(a: Ranks, b: Ranks, resamples: int) -> float:
    """Return the p-value of the mean difference of reciprocal ranks, signs flipped at random."""
    found = stats.permutation_test(
        (1 / a.realistic - 1 / b.realistic,),
        lambda apart, axis: apart.mean(axis=axis),
        permutation_type="samples",
        n_resamples=resamples,
        batch=100,
        vectorized=True,
        random_state=np.random.default_rng(1),
    )
    return float(found.pvalue)


def test_interval(compare: Compare, sizes: Sizes) -> None:
    """An interval in closed form against percentiles of resamples."""
    tasks, resamples = (4_000, 2_000) if sizes.quick else (20_000, 10_000)
    ranks = draw_models(tasks)[0]
    contestants = {
        "truerank": lambda: interval(ranks, "mrr"),
        "scipy's bootstrap": lambda: scipy_bootstrap(ranks, resamples),
        "scipy's t": lambda: stats.t.interval(
            0.95, tasks - 1, (1 / ranks.realistic).mean(), stats.sem(1 / ranks.realistic)
        ),
    }
    pairs = [Pair("truerank", "scipy's bootstrap"), Pair("truerank", "scipy's t")]
    name = f"mrr: {tasks:,} tasks, {resamples:,} resamples"
    times = compare(name, contestants, pairs, rounds=3, budget=30.0, agree=False)
    ours = times["truerank"].result
    theirs = times["scipy's bootstrap"].result
    width = ours.high - ours.low
    assert abs(ours.low - theirs.low) <= 0.1 * width
    assert abs(ours.high - theirs.high) <= 0.1 * width


def test_comparison(compare: Compare, sizes: Sizes) -> None:
    """A comparison in closed form against flipped signs."""
    tasks, resamples = (4_000, 2_000) if sizes.quick else (20_000, 9_999)
    a, b = draw_models(tasks)
    contestants = {
        "truerank": lambda: compare_models(a, b).p_value,
        "scipy's permutations": lambda: scipy_permutation(a, b, resamples),
    }
    pairs = [Pair("truerank", "scipy's permutations")]
    name = f"mrr, two models: {tasks:,} tasks, {resamples:,} resamples"
    times = compare(name, contestants, pairs, rounds=3, budget=30.0, agree=False)
    ours, theirs = (times[name].result for name in contestants)
    assert ours == pytest.approx(theirs, abs=0.03)


def compare_models(a: Ranks, b: Ranks) -> Any:
    """Compare two models; the fixture `compare` has the other meaning of the word."""
    return compare(a, b, metric="mrr")


def test_many_tasks(compare: Compare, sizes: Sizes) -> None:
    """A million tasks: both against the metric alone."""
    tasks = 100_000 if sizes.quick else 1_000_000
    a, b = draw_models(tasks)
    contestants = {
        "interval": lambda: interval(a, "mrr"),
        "compare": lambda: compare_models(a, b),
        "mean of 1 / r by numpy": lambda: (1 / a.realistic).mean(),
    }
    pairs = [Pair(name, "mean of 1 / r by numpy") for name in ("interval", "compare")]
    compare(f"mrr: {tasks:,} tasks", contestants, pairs, rounds=3, budget=30.0, agree=False)
