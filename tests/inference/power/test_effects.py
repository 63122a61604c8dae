"""Test effect sizes against plain definitions and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from truerank import Ranks, report
from truerank.inference import effect_sizes
from truerank.inference.power.effects import Shares, cliffs_delta, paired_d, superiority

pytestmark = pytest.mark.python_only


def models(n: int = 60, seed: int = 0, **labels: object) -> tuple[Ranks, Ranks]:
    rng = np.random.default_rng(seed)
    logs = rng.normal(1, 1, n) + rng.normal(0, 0.7, (2, n)) + np.array([[0.0], [0.3]])
    labels = {"targets": np.arange(n), **labels}
    a, b = (Ranks(np.exp(x).astype(int), np.ones(n, int), 1000, **labels) for x in logs)
    return a, b


@st.composite
def values(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Shares]:
    """Codes of two models with ties, weights, and units."""
    n = draw(st.integers(2, 12))
    first, second, unit = (
        np.array(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))) for _ in range(3)
    )
    some = st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)
    weights = np.array(draw(some)) if draw(st.booleans()) else np.ones(n)
    present, unit = np.unique(unit, return_inverse=True)
    return first, second, Shares(weights / weights.sum(), unit.reshape(-1), len(present))


def dominance(first: np.ndarray, second: np.ndarray, shares: np.ndarray) -> float:
    """Cliff's delta by its definition, over all pairs."""
    pairs = np.sign(first[:, None] - second[None, :])
    return float(shares @ pairs @ shares)


def jackknife_free_error(values: np.ndarray, tasks: Shares) -> float:
    """The cluster-robust error of sums over units, in plain loops."""
    sums = [sum(values[tasks.unit == u]) for u in range(tasks.units)]
    return math.sqrt(tasks.units * np.var(sums, ddof=1)) if tasks.units > 1 else math.nan


@given(values())
@settings(max_examples=150)
def test_cliffs_delta_is_its_definition(
    problem: tuple[np.ndarray, np.ndarray, Shares],
) -> None:
    first, second, tasks = problem
    found = cliffs_delta(first, second, tasks, 0.95)
    delta = dominance(first, second, tasks.shares)
    assert found.value == pytest.approx(delta, abs=1e-12)
    if tasks.units < 2:
        assert math.isnan(found.low)
        return
    assert -1 - 1e-12 <= found.low <= delta + 1e-12
    assert delta - 1e-12 <= found.high <= 1 + 1e-12
    assert found.low < found.high
    # the derivative by the share of each task, numerically
    moved = []
    for i in range(len(first)):
        more = tasks.shares.copy()
        more[i] += 1e-6
        moved.append((dominance(first, second, more / more.sum()) - delta) / 1e-6)
    error = jackknife_free_error(tasks.shares * np.array(moved), tasks) / 2
    p, t = (1 + delta) / 2, scipy.stats.t.ppf(0.975, tasks.units - 1)
    if error > 1e-6 and 0 < p < 1:  # the ends are where |p - x| = t root(x (1 - x) / n)
        n = p * (1 - p) / error**2
        for bound in (found.low, found.high):
            x = (1 + bound) / 2
            assert abs(p - x) == pytest.approx(t * math.sqrt(max(0, x * (1 - x)) / n), abs=1e-4)


def test_cliffs_delta_is_that_of_mann_and_whitney() -> None:
    a, b = models(200)
    found = effect_sizes(a, b, metric="mrr")
    peer = scipy.stats.mannwhitneyu(1 / a.realistic, 1 / b.realistic)
    assert found.cliffs_delta.value == pytest.approx(2 * peer.statistic / 200**2 - 1)


def test_many_tasks_are_no_matrix() -> None:
    """Half a million tasks: a matrix of their pairs would have 250 GB."""
    n = 500_000
    rng = np.random.default_rng(0)
    tasks = Shares(np.full(n, 1 / n), np.arange(n), n)
    found = cliffs_delta(rng.integers(0, n, n), rng.integers(0, n, n), tasks, 0.95)
    assert abs(found.value) < 0.01


@given(values())
@settings(max_examples=100)
def test_superiority_is_wins_and_half_of_the_ties(
    problem: tuple[np.ndarray, np.ndarray, Shares],
) -> None:
    first, second, tasks = problem
    found = superiority(first, second, tasks, 0.9)
    share = sum(
        w * (1.0 if x > y else 0.5 if x == y else 0.0)
        for x, y, w in zip(first, second, tasks.shares, strict=True)
    )
    assert found.value == pytest.approx(share)
    if tasks.units > 1:
        assert 0 <= found.low < found.high <= 1
        assert found.low - 1e-12 <= share <= found.high + 1e-12


def test_paired_d_is_the_t_statistic_of_a_single_task() -> None:
    a, b = models()
    found = effect_sizes(a, b, metric="mrr")
    t = scipy.stats.ttest_rel(1 / a.realistic, 1 / b.realistic).statistic
    assert found.uncorrected_d == pytest.approx(t / math.sqrt(60))
    half = 59 / 2
    correction = math.gamma(half) / (math.gamma(half - 0.5) * math.sqrt(half))
    assert found.paired_d.value == pytest.approx(correction * found.uncorrected_d)
    assert correction == pytest.approx(1 - 3 / (4 * 59 - 1), abs=1e-4)  # Hedges' approximation
    assert found.difference == pytest.approx(report(a)["mrr"] - report(b)["mrr"])


def test_the_error_of_d_is_that_of_resamples() -> None:
    a, b = models(500)
    found = effect_sizes(a, b, metric="gmr")
    apart = np.log(b.realistic) - np.log(a.realistic)
    drawn = apart[np.random.default_rng(0).integers(0, 500, (2000, 500))]
    d = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1)
    width = found.paired_d.high - found.paired_d.low
    assert width == pytest.approx(2 * 1.965 * d.std(), rel=0.06)


def test_weights_are_repeats() -> None:
    """d and the shares of a task that counts three times are those of three copies."""
    first, second = np.array([3, 1, 2, 5]), np.array([0, 2, 1, 1])
    weights = np.array([1, 3, 2, 1])
    weighted = Shares(weights / 7, np.arange(4), 4)
    copies = np.repeat(np.arange(4), weights)
    repeated = Shares(np.full(7, 1 / 7), copies, 4)
    for size in (cliffs_delta, superiority):
        one = size(first, second, weighted, 0.95)
        assert one == pytest.approx(size(first[copies], second[copies], repeated, 0.95))
    apart = (first - second).astype(float)
    scale = math.sqrt(7 / 6 / (4 / 3))  # the variance is that of tasks, of which there are more
    d = paired_d(apart, weighted, 0.95)[0] / scale
    assert d == pytest.approx(paired_d(apart[copies], repeated, 0.95)[0])


@pytest.mark.parametrize(
    "metric", ["mrr", "mr", "hits@3", "gmr", "median", "index.mr", "z.mr", "power_mean:2", "igmr"]
)
def test_a_better_model_has_positive_effects(metric: str) -> None:
    a, b = models(200)
    found = effect_sizes(a, b, metric=metric)
    assert found.paired_d.value > 0
    assert found.cliffs_delta.value > 0
    assert found.superiority.value > 0.5
    back = effect_sizes(b, a, metric=metric)
    assert back.paired_d.value == pytest.approx(-found.paired_d.value)
    assert back.superiority.value == pytest.approx(1 - found.superiority.value)
    assert back.cliffs_delta.low == pytest.approx(-found.cliffs_delta.high)
    noted = any("those of the ranks" in note for note in found.notes)
    assert noted == (metric in ("median", "power_mean:2"))


@pytest.mark.parametrize("metric", ["macro.mr", "macro.index.mr", "macro.mrr", "macro.imr"])
def test_macro_averages_compare_groups(metric: str) -> None:
    a, b = models(300, relation=np.arange(300) % 30)
    found = effect_sizes(a, b, metric=metric, by="relation")
    values = [
        np.array([*report(x, by="relation").group_values(metric[6:]).values()]) for x in (a, b)
    ]
    apart = values[1] - values[0] if metric == "macro.mr" else values[0] - values[1]
    better = np.where(np.abs(apart) < 1e-12, 0.5, apart > 0)
    assert (found.units, found.by) == (30, "relation")
    assert found.superiority.value == pytest.approx(better.mean())


def test_clusters_widen_the_intervals_alone() -> None:
    a, b = models(200, queries=np.arange(200) // 20)
    tasks, queries = (effect_sizes(a, b, by=by) for by in ("task", "auto"))
    assert (queries.units, queries.by, queries.largest) == (10, "query", 20)
    assert queries.uncorrected_d == tasks.uncorrected_d
    assert queries.cliffs_delta.value == tasks.cliffs_delta.value
    assert queries.superiority.value == tasks.superiority.value
    copies = [tr.concatenate([x.with_labels(queries=range(200))] * 5) for x in (a, b)]
    once, five = (
        effect_sizes(*[x.with_labels(queries=[*range(200)] * k) for x in models_])
        for models_, k in (([a, b], 1), (copies, 5))
    )
    assert five.superiority == pytest.approx(once.superiority)
    assert five.cliffs_delta == pytest.approx(once.cliffs_delta)


def test_rounding_makes_no_wins() -> None:
    """Expected values of ties that are equal on paper are ties."""
    a = Ranks([0, 2, 0], [3, 1, 6], 10)
    b = Ranks([0, 2, 0], [3, 1, 6], 10)
    found = effect_sizes(a, b, metric="expected.mrr")
    assert found.superiority.value == 0.5
    assert found.cliffs_delta.value == pytest.approx(0)
    assert math.isnan(found.uncorrected_d)


def test_text_and_dictionary() -> None:
    a, b = models(200, queries=np.arange(200) // 2)
    found = effect_sizes(a, b)
    text = str(found)
    assert text.startswith(f"mrr: difference {found.difference:+.4g}; a over b: paired d ")
    assert f"Cliff's delta {found.cliffs_delta.value:.4g} [" in text
    assert text.endswith("(95 %, 100 queries, the largest of 2 tasks)")
    fields = found.to_dict()
    assert set(fields) == set(type(found)._fields)
    assert set(fields["paired_d"]) == {"value", "low", "high"}
    assert fields["notes"] == []


def test_notes() -> None:
    few = effect_sizes(*models(8))
    assert few.notes[0] == "few units: 8 tasks; the intervals of effect sizes are rough"
    query = np.r_[np.zeros(100, int), np.arange(1, 201)]
    skewed = effect_sizes(*models(300, queries=query))
    assert "clusters: the largest of 201 queries holds 33.3 % of the tasks" in skewed.notes
    above = np.ones(300, int)
    above[:3] = 10**6
    far, near = (
        Ranks(x, np.ones(300, int), 10**7, targets=np.arange(300))
        for x in (above, np.arange(300) % 3)
    )
    assert any("heavy tail" in note for note in effect_sizes(far, near, metric="mr").notes)


def test_nothing_to_tell() -> None:
    for n in (0, 1):
        a = Ranks([0] * n, [1] * n, [9] * n)
        found = effect_sizes(a, a)
        assert math.isnan(found.paired_d.value)
        assert math.isnan(found.cliffs_delta.low)
    assert found.superiority.value == 0.5


def test_two_units_have_no_corrected_d() -> None:
    a, b = Ranks([0, 1], [1, 1], 9), Ranks([2, 4], [1, 1], 9)
    found = effect_sizes(a, b, metric="mr")
    assert found.uncorrected_d == pytest.approx(2.5 * math.sqrt(2))
    assert math.isnan(found.paired_d.value)
    assert found.superiority.low < 1 == found.superiority.high
    assert found.notes[-1].startswith("few units: 2 tasks")


def test_errors() -> None:
    a, b = models(30)
    with pytest.raises(ValueError, match="metric: count is the number of tasks"):
        effect_sizes(a, b, metric="count")
    with pytest.raises(ValueError, match="level: expected a number between 0 and 1"):
        effect_sizes(a, b, level=95)
    with pytest.raises(ValueError, match="tasks: 30 against 29"):
        effect_sizes(a, b[1:])
    with pytest.raises(TypeError, match="b: expected Ranks or a Report, got NoneType"):
        effect_sizes(a, None)
