"""Intervals and comparisons of many tasks, against the same by scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness import Compare, Pair
from harness.synthetic import Sizes
from truerank import Ranks, compare
from truerank.inference import interval


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


def test_interval(compare: Compare, sizes: Sizes) -> None:
    """An interval of the mean reciprocal rank, against scipy's t."""
    tasks = 4_000 if sizes.quick else 20_000
    ranks = draw_models(tasks)[0]

    def by_scipy() -> Any:
        values = 1 / ranks.realistic
        return stats.t.interval(0.95, tasks - 1, values.mean(), stats.sem(values))

    contestants = {"truerank": lambda: interval(ranks, "mrr"), "scipy's t": by_scipy}
    pairs = [Pair("truerank", "scipy's t", "cost")]
    times = compare(f"interval of mrr, {tasks:,} tasks", contestants, pairs, agree=False)
    ours = times["truerank"].result
    assert (ours.low, ours.high) == pytest.approx(times["scipy's t"].result)


def test_comparison(compare: Compare, sizes: Sizes) -> None:
    """A comparison of two models, against scipy's paired t."""
    tasks = 4_000 if sizes.quick else 20_000
    a, b = draw_models(tasks)
    contestants = {
        "truerank": lambda: compare_models(a, b).p_value,
        "scipy's t": lambda: stats.ttest_rel(1 / a.realistic, 1 / b.realistic).pvalue,
    }
    pairs = [Pair("truerank", "scipy's t", "cost")]
    times = compare(f"mrr of two models, {tasks:,} tasks", contestants, pairs, agree=False)
    assert times["truerank"].result == pytest.approx(times["scipy's t"].result)


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
