"""Several runs: the two-level t against its definition, written plainly, and in simulation."""

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
from support.refusals import refusal
from truerank.inference import compare
from truerank.inference.runs import (
    TwoLevelT,
    crossed_runs,
    influences_of_run,
    interval_over_runs,
    nested_runs,
    notes_on_runs,
)
from truerank.inference.units import units_of

RUNS = st.integers(2, 5)
FOLDS = st.lists(st.integers(1, 9), min_size=2, max_size=5)  # numbers of units


def drawn_runs(seed: int, runs: int, units: int) -> np.ndarray[Any, Any]:
    """Ranks of runs of one model: what is in the unit, in the run, and in both."""
    rng = np.random.default_rng(seed)
    scales = rng.choice([0.0, 0.3, 1.0], 3)
    logs = 3 + scales[0] * rng.normal(size=units) + scales[1] * rng.normal(size=(runs, 1))
    logs = logs + scales[2] * rng.normal(size=(runs, units))
    return np.exp(logs).clip(1, 900).astype(np.int64)


def crossed_by_definition(models: list[np.ndarray[Any, Any]]) -> tuple[float, float, float]:
    """The estimate, its error and the degrees of freedom, of means of ranks (runs, units)."""
    units = models[0].shape[1]
    estimate = models[0].mean()
    over_runs = models[0].mean(axis=0)
    if len(models) > 1:
        estimate -= models[1].mean()
        over_runs = over_runs - models[1].mean(axis=0)
    of_runs = 0.0
    shared = 0.0
    parts = []
    for ranks in models:
        runs = len(ranks)
        variance = np.var(ranks.mean(axis=1), ddof=1) / runs
        of_runs += variance
        parts.append((variance, runs - 1))
        both = ranks - ranks.mean(axis=1)[:, None] - ranks.mean(axis=0) + ranks.mean()
        shared += (both**2).sum() / ((runs - 1) * (units - 1)) / (runs * units)
    d = over_runs - over_runs.mean()
    of_units = np.var(over_runs, ddof=1) / units
    freedom = 1.0
    if d.any():
        freedom = min(max((d**2).sum() ** 2 / (d**4).sum() - 1, 1.0), units - 1)
    parts.append((of_units, freedom))
    total = max(of_runs + of_units - shared, of_runs, of_units)
    spread = sum(variance**2 / degrees for variance, degrees in parts)
    degrees = math.inf
    if spread:
        degrees = total**2 / spread
    return estimate, math.sqrt(total), degrees


def influences(ranks: np.ndarray[Any, Any]) -> list[Any]:
    return [influences_of_run(units_of(of_ranks(run), "mr"), 0.95) for run in ranks]


@given(st.integers(0, 2**32 - 1), RUNS, RUNS, st.integers(2, 9), st.booleans())
def test_crossed_runs_by_definition(
    seed: int, first: int, second: int, units: int, single: bool
) -> None:
    models = [drawn_runs(seed, first, units), drawn_runs(seed + 1, second, units)]
    if single:
        models = models[:1]
    found = crossed_runs([influences(model) for model in models])
    estimate, error, degrees = crossed_by_definition(models)
    assert found.estimate == pytest.approx(estimate, abs=1e-9)
    assert found.error == pytest.approx(error, rel=1e-6, abs=1e-6)
    if error > 1e-3:
        assert found.degrees == pytest.approx(degrees, rel=1e-5)


@given(
    st.integers(0, 2**32 - 1), st.lists(st.integers(1, 9), min_size=2, max_size=5), st.booleans()
)
def test_folds_by_definition(seed: int, sizes: list[int], single: bool) -> None:
    one = [drawn_runs(seed + i, 1, n)[0] for i, n in enumerate(sizes)]
    two = [drawn_runs(seed + 9 + i, 1, n)[0] for i, n in enumerate(sizes)]
    models = [[influences(fold[None])[0] for fold in model] for model in (one, two)]
    apart = [a - b for a, b in zip(one, two, strict=True)]
    if single:
        models = models[:1]
        apart = one
    found = nested_runs(models)
    means = np.array([fold.mean() for fold in apart])
    assert found.estimate == pytest.approx(means.mean(), abs=1e-9)
    assert found.degrees == len(sizes) - 1
    of_folds = means.var(ddof=1) / len(sizes)
    of_units = of_folds
    if min(sizes) > 1:
        of_units = sum(fold.var(ddof=1) / len(fold) for fold in apart) / len(sizes) ** 2
    assert found.error == pytest.approx(math.sqrt(max(of_folds, of_units)), rel=1e-6, abs=1e-6)


def test_p_and_bounds_of_the_two_level_t() -> None:
    test = TwoLevelT(1.5, 0.5, 4.0, np.zeros(2))
    assert test.p_value() == pytest.approx(2 * scipy.stats.t.sf(3, 4))
    assert test.bounds(0.9) == pytest.approx(scipy.stats.t.interval(0.9, 4, 1.5, 0.5))
    assert TwoLevelT(0.0, 0.0, 3.0, np.zeros(2)).p_value() == 1.0
    assert math.isnan(TwoLevelT(1.0, 0.0, 3.0, np.zeros(2)).p_value())
    assert TwoLevelT(1.0, 0.0, 3.0, np.zeros(2)).bounds(0.95) == (1.0, 1.0)


def test_intervals_over_runs_are_those_of_the_two_level_t() -> None:
    runs = seeds(4, np.random.default_rng(1))
    found = tr.report(list(map(tr.report, runs))).interval("mr")
    ranks = np.array([run.realistic for run in runs])
    estimate, error, degrees = crossed_by_definition([ranks])
    low, high = scipy.stats.t.interval(0.95, degrees, estimate, error)
    assert found.value == pytest.approx(estimate)
    assert (found.low, found.high) == pytest.approx((max(low, 1), high))
    assert found.notes[0] == "few runs: 4 of one model"


def test_comparisons_of_runs_are_those_of_the_two_level_t() -> None:
    rng = np.random.default_rng(4)
    first = seeds(4, rng)
    second = seeds(3, rng, shift=0.2)
    found = compare(first, second, metric="mr")
    ranks = [np.array([run.realistic for run in model]) for model in (first, second)]
    estimate, error, degrees = crossed_by_definition(ranks)
    assert found.estimate == pytest.approx(estimate)
    low, high = scipy.stats.t.interval(0.95, degrees, estimate, error)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(estimate) / error, degrees))
    assert (found.runs_a, found.runs_b, found.method) == (4, 3, "two-level t")


def test_runs_in_another_order_are_crossed() -> None:
    """Tasks are matched by what they are, of several runs as of single ones."""
    rng = np.random.default_rng(0)
    labels = {"queries": np.arange(50), "unit": np.arange(50) // 2, "relation": np.arange(50) % 4}
    runs = [tr.Ranks(run.above, run.tied, run.candidates, **labels) for run in seeds(4, rng)]
    mixed = runs[:1] + [run[rng.permutation(50)] for run in runs[1:]]
    for key, options in (("mr", {}), ("macro.mrr", {"groups": "relation"})):
        one, two = (interval_over_runs(x, key, **options) for x in (runs, mixed))
        assert two.units == one.units == 25
        assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-12)
    one = compare(runs[:2], runs[2:])
    two = compare(mixed[:2], mixed[2:])
    assert two.p_value == pytest.approx(one.p_value, rel=1e-9)
    assert (two.units, two.wins, two.losses) == (one.units, one.wins, one.losses)
    assert not any(note.startswith("folds") for note in two.notes)


def test_notes() -> None:
    assert notes_on_runs({"a": 5, "b": 6}) == ()
    assert notes_on_runs({"a": 4, "b": 6}) == ("few runs: 4 of a, 6 of b",)
    assert notes_on_runs({"a": 9}, 9)[0].startswith("folds: what 9 folds share")


def seeds(number: int, rng: Any, shift: float = 0.0) -> list[tr.Ranks]:
    """Runs of a model: effects of tasks, of runs, and of both."""
    base = rng.normal(3, 1, 50)
    rows = [base + shift + rng.normal(0, 0.2) + rng.normal(0, 0.5, 50) for _ in range(number)]
    return [of_ranks(np.exp(row).clip(0, 900).astype(int) + 1) for row in rows]


def test_several_runs_reject_about_as_often_as_they_should() -> None:
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(100):
        both = seeds(6, rng)
        found = compare(both[:3], both[3:], metric="mrr")
        rejected += found.p_value <= 0.05
        assert (found.p_value > 0.05) == (found.low <= 0 <= found.high)
    assert rejected <= 11


def test_folds_have_tasks_of_their_own() -> None:
    rng = np.random.default_rng(0)
    folds = [of_ranks(rng.integers(1, 50, n)) for n in (30, 40, 50)]
    others = [of_ranks(np.minimum(fold.realistic.astype(int) + 3, 60)) for fold in folds]
    found = compare(folds, others, metric="mr")
    assert found.estimate == pytest.approx(-3)
    assert any(note.startswith("folds: ") for note in found.notes)
    assert tr.report(list(map(tr.report, folds))).interval("mr").units == 120
    refusal(ValueError, "one for each fold", compare, folds, others[:2])
