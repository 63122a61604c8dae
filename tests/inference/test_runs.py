"""Several runs: Welch over runs and the paired error over units, plainly, and in simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from inference.test_intervals import of_ranks
from support.examples import examples
from truerank.inference import compare, interval

Array = np.ndarray[Any, Any]


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


@pytest.mark.parametrize("key", ["mr", "gmr", "hmr", "std", "hits@10", "index.mrr"])
def test_intervals_of_runs_lie_about_their_mean(key: str) -> None:
    runs = seeds(4, np.random.default_rng(1))
    reports = list(map(tr.report, runs))
    result = tr.inference.interval(reports, key)
    assert result.value == pytest.approx(np.mean([run[key] for run in reports]))
    assert result.low < result.value < result.high
    assert result.notes == ("few units: 50 tasks",)
    if key == "mr":
        estimate, error, degrees = by_definition([np.array([run.realistic for run in runs])])
        low, high = scipy.stats.t.interval(0.95, degrees, estimate, error)
        assert (result.low, result.high) == pytest.approx((max(low, 1), high))
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
    twice = compare([a, a, a], [b, b, b], "mr")
    assert twice.p_value == pytest.approx(compare(a, b, "mr").p_value)
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
    assert (result.method, result.units, result.notes) == (
        "t of folds",
        120,
        ("paired by position only",),
    )
    assert "(t of folds, 3 folds, 120 tasks)" in str(result)
    of_one = tr.inference.interval(list(map(tr.report, folds)), "mr")
    ends = scipy.stats.t.interval(0.95, 2, np.mean(values[0]), scipy.stats.sem(values[0]))
    assert (of_one.low, of_one.high) == pytest.approx(ends)
    assert of_one.units == 120
