"""Test detectable differences: plain formulas, and the power of the tests that they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import truerank as tr
from truerank import Ranks, compare, detectable, report
from truerank.inference.power.smallest_difference import CORRELATION

pytestmark = pytest.mark.python_only


def models(n: int = 300, seed: int = 0, **labels: object) -> tuple[Ranks, Ranks]:
    """Two models whose ranks share a part."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(1, 1, n) + rng.normal(0, 0.7, (2, n))
    labels = {"targets": np.arange(n), **labels}
    a, b = (Ranks(np.exp(x).astype(int), np.ones(n, int), 1000, **labels) for x in logs)
    return a, b


def plain(errors: float, units: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """The difference at which SciPy's noncentral t reaches the power."""
    critical = scipy.stats.t.ppf(1 - alpha / 2, units - 1)

    def missing(shift: float) -> float:
        law = scipy.stats.nct(units - 1, shift)
        return float(law.sf(critical) + law.cdf(-critical)) - power

    return errors * scipy.optimize.brentq(missing, 0.5, 6)


def test_single_tasks_are_the_paired_t_test() -> None:
    a, b = models()
    found = detectable(a, b, metric="mrr", difference=0.02)
    apart = 1 / a.realistic - 1 / b.realistic
    error = apart.std(ddof=1) / math.sqrt(300)
    assert found.standard_error == pytest.approx(error)
    assert found.difference == pytest.approx(plain(error, 300))
    assert found.correlation == pytest.approx(np.corrcoef(1 / a.realistic, 1 / b.realistic)[0, 1])
    law = scipy.stats.nct(299, 0.02 / error)
    critical = scipy.stats.t.ppf(0.975, 299)
    assert found.asked_power == pytest.approx(law.sf(critical) + law.cdf(-critical), abs=1e-6)
    assert (found.units, found.by, found.largest, found.tasks) == (300, "task", 1, 300)
    assert not found.assumed
    again = detectable(a, b, difference=-0.02)
    assert again == found


def test_one_model_and_a_correlation() -> None:
    a, b = models()
    pair = detectable(a, b)
    values = np.stack([1 / a.realistic, 1 / b.realistic])
    for correlation in (-1.0, 0.0, 0.9, pair.correlation):
        found = detectable(a, correlation=correlation)
        error = values[0].std(ddof=1) / math.sqrt(300) * math.sqrt(2 * (1 - correlation))
        assert found.standard_error == pytest.approx(error)
        assert found.assumed
    alone = detectable(a)
    assert (alone.correlation, alone.assumed) == (CORRELATION, True)
    assert alone.standard_error == pytest.approx(values[0].std(ddof=1) / math.sqrt(300))


def test_required_tasks_are_those_with_the_power() -> None:
    a, b = models()
    found = detectable(a, b, metric="gmr", difference=0.4)
    assert found.required_units is not None
    # as many tasks, with the same spread
    scale = math.sqrt(found.units / found.required_units)
    assert plain(found.standard_error * scale, found.required_units) <= 0.4
    fewer = found.required_units - 1
    scale = math.sqrt(found.units / fewer)
    assert plain(found.standard_error * scale, fewer) > 0.4
    back = detectable(a, b, metric="gmr", difference=found.difference)
    assert back.asked_power == pytest.approx(0.8)
    assert back.required_units in (found.units, found.units + 1)  # at the edge, by rounding


def test_clusters_count() -> None:
    query = np.arange(300) // 3
    a, b = models(queries=query)
    found = detectable(a, b, metric="mr", difference=1.0)
    sums = np.bincount(query, weights=a.realistic - b.realistic)
    error = sums.std(ddof=1) * math.sqrt(100) / 300
    assert (found.by, found.units, found.largest) == ("query", 100, 3)
    assert found.standard_error == pytest.approx(error)
    assert found.required_tasks == 3 * found.required_units
    assert detectable(a, b, metric="mr", by="task").units == 300
    twice = [tr.concatenate([x, x]) for x in (a.with_labels(queries=range(300)), b)]
    doubled = detectable(*[x.with_labels(queries=list(range(300)) * 2) for x in twice])
    assert doubled.standard_error == pytest.approx(
        detectable(a, b, by="task").standard_error
    )  # copies of tasks add nothing


@pytest.mark.parametrize(
    "metric", ["index.mrr", "z.mr", "hits@3", "gmr", "std", "power_mean:2", "expected.mrr"]
)
def test_errors_are_those_of_resamples(metric: str) -> None:
    a, b = models(400)
    found = detectable(a, b, metric=metric)
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(300):
        tasks = rng.integers(0, 400, 400)
        drawn.append(report(a[tasks])[metric] - report(b[tasks])[metric])
    assert found.standard_error == pytest.approx(np.std(drawn), rel=0.2)
    assert not any("resamples" in note for note in found.notes)


def test_medians_take_resamples() -> None:
    rng = np.random.default_rng(0)
    a, b = (
        Ranks(rng.integers(0, 900, 400), np.ones(400, int), 1000, targets=range(400))
        for _ in range(2)
    )
    found = detectable(a, b, metric="median")
    tasks = rng.integers(0, 400, (2000, 400))
    medians = [np.median(x.realistic[tasks], axis=1) for x in (a, b)]
    assert found.standard_error == pytest.approx(np.std(medians[0] - medians[1]), rel=0.1)
    assert found.correlation == pytest.approx(np.corrcoef(*medians)[0, 1], abs=0.1)
    assert found.notes == ("the standard error is that of 2,000 resamples",)
    alone = detectable(a, metric="median").standard_error
    assert alone == pytest.approx(np.std(medians[0]), rel=0.1)


def test_macro_averages_have_groups_as_units() -> None:
    a, b = models(relation=np.arange(300) % 30)
    found = detectable(a, b, metric="macro.mr", by="relation")
    means = (a.realistic - b.realistic).reshape(10, 30).mean(axis=0)
    assert found.standard_error == pytest.approx(means.std(ddof=1) / math.sqrt(30))
    assert (found.units, found.by) == (30, "relation")


def test_weights_and_sides_count() -> None:
    a, b = models(side=["head", "tail"] * 150)
    weights = np.arange(300.0) % 5
    a, b = a.with_weights(weights), b.with_weights(weights)
    found = detectable(report(a), report(b), metric="tail.mrr")
    chosen = np.flatnonzero((np.arange(300) % 2 == 1) & (weights > 0))
    plain_pair = detectable(a[chosen], b[chosen], metric="mrr")
    assert found.standard_error == pytest.approx(plain_pair.standard_error)
    assert found.tasks == len(chosen)


@pytest.mark.parametrize(("shift", "metric"), [(0.25, "mrr"), (0.3, "gmr")])
def test_compare_has_the_power(shift: float, metric: str) -> None:
    """Of many samples of the required size, `compare` finds the difference in four of five."""

    def draw(n: int, rng: np.random.Generator) -> list[Ranks]:
        query = np.arange(n) // 2
        logs = rng.normal(1.5, 1, n)[query] + rng.normal(0, 0.5, (2, n))
        logs[1] += shift + rng.normal(0, 0.4, n)[query]
        return [
            Ranks(np.exp(x.clip(0)).astype(int), np.ones(n, int), 10**6, queries=query)
            for x in logs
        ]

    population = draw(40_000, np.random.default_rng(0))
    true = report(population[0])[metric] - report(population[1])[metric]
    n = detectable(*population, metric=metric, difference=true).required_tasks
    assert n is not None
    assert n < 600
    found = [
        compare(*draw(n, np.random.default_rng(i)), metric=metric, by="query", resamples=199)
        for i in range(1, 151)
    ]
    power = np.mean([pair.p_value <= 0.05 for pair in found])
    assert 0.70 <= power <= 0.90  # three standard errors are 0.10


# -- what it says ----------------------------------------------------------------------------------


def test_text_and_dictionary() -> None:
    a, b = models(queries=np.arange(300) // 2)
    found = detectable(a, b, difference=0.01)
    first, second = str(found).splitlines()
    assert first.startswith(f"mrr: a difference of {found.difference:.4g} is found with a power of")
    assert "(two-sided test at 5 %, 150 queries, the largest of 2 tasks;" in first
    assert first.endswith("measured)")
    assert f"80 % needs {found.required_units:,} queries, about {found.required_tasks:,}" in second
    assert str(detectable(a)).endswith("correlation 0.50 assumed)")
    assert set(found.to_dict()) == set(type(found)._fields)
    assert found.to_dict()["notes"] == []


def test_few_units_are_noted() -> None:
    a, b = models(5)
    found = detectable(a, b, difference=1.0)
    assert [note.partition(":")[0] for note in found.notes][:2] == ["few units", "floor reached"]
    assert "p cannot be below 0.0625 with 32 ways to swap 5 units" in found.notes[1]
    assert found.required_units == 6  # a permutation test of fewer cannot reject at 5 %
    assert compare(a[:5], b[:5]).p_value >= 0.0625
    assert not any("few" in note or "floor" in note for note in detectable(*models(20)).notes)


def test_clusters_and_heavy_tails_are_noted() -> None:
    query = np.r_[np.zeros(100, int), np.arange(1, 201)]
    a, b = models(queries=query)
    notes = detectable(a, b).notes
    assert "clusters: the largest of 201 queries holds 33.3 % of the tasks" in notes
    above = np.ones(300, int)
    above[:3] = 10**6
    far, near = (
        Ranks(x, np.ones(300, int), 10**7, targets=np.arange(300))
        for x in (above, np.arange(300) % 3)
    )
    (note,) = detectable(far, near, metric="mr").notes
    assert note == "heavy tail: 3 of 300 tasks carry the variance; the power is uncertain"
    a, b = models()
    (note,) = detectable(a, b, difference=0.2).notes  # so few tasks would be enough
    assert note.startswith("heavy tail: ")


def test_nothing_to_tell() -> None:
    a, b = models(1)
    for found in (detectable(a, b), detectable(Ranks([], [], []), difference=1.0)):
        assert math.isnan(found.difference)
        assert found.required_units is None
        assert "nan" in str(found)
    a, _ = models(50)
    same = detectable(a, a, difference=0.1)
    assert same.standard_error == 0
    assert math.isnan(same.difference)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": 5}, ValueError, "alpha: expected a number between 0 and 1, got 5"),
        ({"alpha": 0.0}, ValueError, "alpha: expected a number between 0 and 1"),
        ({"alpha": "x"}, TypeError, "alpha: expected a number between 0 and 1, got str"),
        ({"power": 0.05}, ValueError, r"power: expected a number between 0.05 (alpha) and 1"),
        ({"power": 1.0}, ValueError, "power: expected a number between"),
        ({"power": math.nan}, ValueError, "power: expected a number between"),
        ({"correlation": 1.0}, ValueError, "correlation: expected a number from -1 to below 1"),
        ({"correlation": math.nan}, ValueError, "correlation: expected a number from -1"),
        ({"difference": 0}, ValueError, "difference: expected a finite number other than 0"),
        ({"difference": math.inf}, ValueError, "difference: expected a finite number other"),
        ({"difference": 1e-300}, ValueError, "difference: it is so small"),
        ({"metric": "count"}, ValueError, "metric: count is the number of tasks"),
        ({"metric": "macro.mrr"}, KeyError, "name them with by"),
        ({"by": "relation"}, ValueError, "by: these ranks have no labels"),
    ],
)
def test_errors_say_what_was_expected(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    a, _ = models(30)
    with pytest.raises(error) as caught:
        detectable(a, **options)
    assert message in str(caught.value)


def test_models_must_have_the_same_tasks() -> None:
    a, b = models(30)
    with pytest.raises(ValueError, match="correlation: it is measured from a and b"):
        detectable(a, b, correlation=0.4)
    with pytest.raises(ValueError, match="tasks: 30 against 29"):
        detectable(a, b[1:])
    other = Ranks(b.above, b.tied, 2000, targets=range(30))
    with pytest.raises(ValueError, match="candidates"):
        detectable(a, other)
    assert detectable(a, other, allow_unlike=True).notes[0].startswith("unlike candidates")
    with pytest.raises(TypeError, match="a: expected Ranks or a Report, got int"):
        detectable(1)
