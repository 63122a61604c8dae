"""Test comparisons and intervals over several runs: seeds, which share tasks, and folds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from truerank import Ranks, Report, report
from truerank.inference import compare
from truerank.inference.repeated_runs import TwoLevelTest, crossed_test, interval_over_runs
from truerank.inference.samples.units import mean_functional

pytestmark = pytest.mark.python_only


def runs_of(
    rng: np.random.Generator, runs: int, tasks: int, *, between: float = 0.2, own: float = 0.3
) -> list[Ranks]:
    """Runs of one model over the same tasks, with effects of tasks, of runs, and of both."""
    hard = np.random.default_rng(0).normal(2.5, 1, tasks) + own * rng.standard_normal(tasks)
    found = []
    for _ in range(runs):
        logs = hard + between * rng.standard_normal() + 0.6 * rng.standard_normal(tasks)
        above = np.minimum(np.exp(np.maximum(logs, 0)), 900).astype(int)
        found.append(Ranks(above, np.ones(tasks, int), 1000, queries=range(tasks)))
    return found


def plain_error(models: list[np.ndarray]) -> tuple[float, float]:
    """Standard error and degrees of freedom from a table of values, runs by tasks, per model."""
    tasks = models[0].shape[1]
    apart = models[0].mean(axis=0) - (models[1].mean(axis=0) if len(models) > 1 else 0)
    of_units = apart.var(ddof=1) / tasks
    of_runs = [m.mean(axis=1).var(ddof=1) / len(m) for m in models]
    both = 0.0
    for m in models:
        rest = m - m.mean(axis=0) - m.mean(axis=1, keepdims=True) + m.mean()
        both += (rest**2).sum() / (len(m) - 1) / (tasks - 1) / tasks / len(m)
    total = max(sum(of_runs) + of_units - both, sum(of_runs), of_units)
    freedom = sum(v**2 / (len(m) - 1) for v, m in zip(of_runs, models, strict=True))
    return math.sqrt(total), total**2 / (freedom + of_units**2 / (tasks - 1))


@pytest.mark.parametrize("between", [0.0, 0.5])
@pytest.mark.parametrize(("of_a", "of_b"), [(2, 2), (3, 5)])
def test_the_error_is_that_of_a_table(of_a: int, of_b: int, between: float) -> None:
    rng = np.random.default_rng(3)
    a, b = (runs_of(rng, k, 40, between=between) for k in (of_a, of_b))
    tables = [np.array([1 / x.realistic for x in runs]) for runs in (a, b)]
    error, degrees = plain_error(tables)
    found = compare(a, b, resamples=9)
    apart = tables[0].mean() - tables[1].mean()
    assert found.difference == pytest.approx(apart)
    peer = scipy.stats.t(degrees, apart, error)
    assert (found.low, found.high) == pytest.approx(peer.interval(0.95))
    assert found.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(apart) / error, degrees))
    assert (found.method, found.runs_a, found.runs_b) == ("two-level t", of_a, of_b)
    assert found.wins + found.ties + found.losses == 40
    alone = interval_over_runs(a, "mrr")
    error, degrees = plain_error(tables[:1])
    peer = scipy.stats.t(degrees, tables[0].mean(), error)
    assert (alone.low, alone.high) == pytest.approx(np.clip(peer.interval(0.95), 0.001, 1))


def test_more_noise_of_runs_widens_the_interval() -> None:
    rng = np.random.default_rng(5)
    widths = []
    for between in (0.0, 1.0):
        a, b = (runs_of(rng, 6, 200, between=between) for _ in range(2))
        found = compare(a, b)
        widths.append(found.high - found.low)
    assert widths[1] > 2 * widths[0]


@pytest.mark.parametrize(("runs", "between"), [(2, 0.3), (3, 0.3), (5, 0.3), (5, 0.02), (10, 0.1)])
def test_models_that_differ_by_chance_are_rarely_told_apart(runs: int, between: float) -> None:
    """Runs, tasks and both have effects; the best seed of either model may look better."""
    rng = np.random.default_rng(runs)
    rejected = 0
    for _ in range(300):
        means = []
        task = rng.standard_normal(100)
        for _ in range(2):
            own = task + 0.5 * rng.standard_normal(100)
            noise = rng.standard_normal((runs, 100)) + between * rng.standard_normal((runs, 1))
            means.append([mean_functional(row) for row in own + noise])
        rejected += crossed_test(means, 99, 0).p_value() <= 0.05
    assert rejected <= 28  # 15 expected; 28 has a probability of 0.1 %


def test_medians_are_resampled() -> None:
    rng = np.random.default_rng(8)
    a, b = (runs_of(rng, 3, 80) for _ in range(2))
    found = compare(a, b, metric="median", resamples=500)
    assert found.low < found.difference < found.high
    assert compare(a, b, metric="macro.mr", by="query").p_value == pytest.approx(
        compare(a, b, metric="mr", by="query").p_value
    )


def test_reports_and_repeats_are_runs() -> None:
    rng = np.random.default_rng(4)
    a, b = (runs_of(rng, 3, 30) for _ in range(2))
    found = compare(a, b)
    reports = [[report(x) for x in runs] for runs in (a, b)]
    assert compare(*reports) == found
    repeats = [report(x) for x in reports]
    assert compare(*repeats) == found
    several = compare({"x": repeats[0], "y": b, "z": tuple(a)})
    assert several[0]._replace(name_a="a", name_b="b", p_holm=None).p_value == found.p_value
    assert several[1].difference == 0
    assert "few runs: 3 of a, 3 of b; p and interval are approximate" in found.notes
    assert "few runs: 3 of x, 3 of y; p and interval are approximate" in several[0].notes
    assert "(two-level t, 3 runs of a and 3 of b, 30 tasks);" in str(found)
    assert repeats[0].interval("mrr", seed=3).value == repeats[0]["mrr"]


def test_five_runs_are_not_few() -> None:
    rng = np.random.default_rng(4)
    a, b = (runs_of(rng, 5, 40) for _ in range(2))
    assert not any("few" in note for note in compare(a, b).notes)
    assert not any("few" in note for note in interval_over_runs(a).notes)


def test_folds_are_compared_fold_by_fold() -> None:
    rng = np.random.default_rng(6)
    sizes = (30, 25, 28)
    a, b = ([runs_of(rng, 1, n)[0] for n in sizes] for _ in range(2))
    found = compare(a, b)
    apart = [report(x)["mrr"] - report(y)["mrr"] for x, y in zip(a, b, strict=True)]
    peer = scipy.stats.ttest_1samp(apart, 0)
    assert found.difference == pytest.approx(np.mean(apart))
    assert found.units == sum(sizes)
    if np.var(apart, ddof=1) / 3 > 2e-3:
        assert found.p_value == pytest.approx(peer.pvalue)
    assert "few runs: 3 of each; p and interval are approximate" in found.notes
    assert any(note.startswith("folds: what 3 folds share") for note in found.notes)
    with pytest.raises(ValueError, match=r"^b: expected 3 runs, one for each fold of a, got 2"):
        compare(a, b[:2])
    with pytest.raises(ValueError, match="cannot compare: tasks: 30 against 25"):
        compare(a, b[1:] + b[:1])


def test_folds_and_seeds_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    seeds = runs_of(rng, 5, 30)
    folds = [x.with_labels(queries=np.arange(30) + 30 * i) for i, x in enumerate(seeds)]
    one, two = interval_over_runs(seeds), interval_over_runs(folds)
    assert one.method == "two-level t over 5 crossed runs"
    assert two.method == "two-level t over 5 nested runs"
    assert (one.units, two.units, one.value) == (30, 150, two.value)
    assert one.high - one.low > two.high - two.low  # a hard task is hard in every run
    assert interval_over_runs(seeds, design="nested")[:3] == two[:3]
    with pytest.raises(ValueError, match=r"^design: the runs have unlike tasks"):
        interval_over_runs(folds, design="crossed")
    bare = [x.with_labels(queries=None) for x in seeds]
    assert interval_over_runs(bare).notes == ("paired by position only",)
    assert interval_over_runs(bare, design="crossed").notes == ()


def test_runs_that_cannot_be_compared() -> None:
    rng = np.random.default_rng(1)
    a, b = (runs_of(rng, 3, 30) for _ in range(2))
    with pytest.raises(ValueError, match=r"^a: expected at least two runs, got 1"):
        compare(a[:1], b)
    with pytest.raises(TypeError, match=r"^b: expected several runs, as the other model has"):
        compare(a, b[0])
    with pytest.raises(TypeError, match=r"^b\[1\]: expected Ranks or a Report, got int"):
        compare(a, [b[0], 3])
    with pytest.raises(ValueError, match="method: several runs are compared by one method"):
        compare(a, b, method="wilcoxon")
    with pytest.raises(ValueError, match=r"^runs: expected at least two, got 1"):
        report([report(a[0])]).interval("mrr")
    back = Report.from_json(report(a[0]).to_json())
    with pytest.raises(ValueError, match=r"^reports\[1\]: this report was read from JSON"):
        report([report(a[0]), back]).interval("mrr")


def test_equal_runs_and_one_unit() -> None:
    one = Ranks([4], [1], 9)
    found = compare([one, one], [one, one])
    assert math.isnan(found.low)
    assert found.p_value == 1
    same = Ranks([4, 2, 0], [1, 1, 1], 9)
    found = compare([same, same], [same, same])
    assert (found.low, found.high, found.p_value) == (0, 0, 1)
    assert math.isnan(TwoLevelTest(1.0, 0.0, 3).p_value())
