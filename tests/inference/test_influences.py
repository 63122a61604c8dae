"""Influences against slow twins: the derivative of the value by the weight of each unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank.inference.influences import (
    degrees_of_freedom,
    influences_of,
    influences_of_sums,
    standard_error,
)
from truerank.inference.units import notes_on_units, units_of

SMOOTH = (
    *("mr", "mrr", "hits@3", "hmr", "imr", "gmr", "igmr", "std", "variance"),
    *("power_mean:2", "power_mean:-0.5", "power_mean:0", "index.mr", "ratio.mrr", "index.hits@3"),
)


def drawn(seed: int, n: int = 24, weighted: bool = False, **labels: Any) -> tr.Ranks:
    """Ranks with sides, relations, ties, unlike candidates, and units of two tasks."""
    rng = np.random.default_rng(seed)
    candidates = rng.integers(20, 60, n)
    above, tied = rng.integers(0, candidates - 3), rng.integers(1, 4, n)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n) if weighted else None
    side = ["tail", "head"] * (n // 2)
    relation = rng.integers(0, 3, n)
    made = tr.Ranks(above, tied, candidates, side=side, relation=relation, weights=weights)
    return made.with_labels(unit=np.arange(n) // 2, **labels)


def numerical(ranks: tr.Ranks, key: str) -> np.ndarray[Any, Any]:
    """The derivative of a report's value by the weight of each unit, by differences."""
    weights = np.ones(len(ranks)) if ranks.weights is None else ranks.weights
    unit = ranks.unit.codes
    slopes, step = [], 1e-5
    for u in range(int(unit.max()) + 1):
        ends = [
            tr.report(ranks, weights=weights * np.where(unit == u, 1 + x, 1.0))[key]
            for x in (step, -step)
        ]
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return np.array(slopes)


@given(
    st.sampled_from(SMOOTH), st.sampled_from(["", "expected.", "tail.", "random."]), st.booleans()
)
def test_influences_are_derivatives(name: str, kind: str, weighted: bool) -> None:
    ranks, key = drawn(1, weighted=weighted), kind + name
    if kind == "tail.":
        ranks = ranks[ranks.side == "tail"]
    units = units_of(ranks, key)
    found = influences_of(units)
    assert found is not None
    assert found.value == pytest.approx(tr.report(ranks)[key], rel=1e-13)
    expected = numerical(ranks, key)
    weights = np.ones(len(ranks)) if ranks.weights is None else ranks.weights
    counted = np.unique(ranks.unit.codes[weights > 0])
    np.testing.assert_allclose(found.on_value_scale(), expected[counted], rtol=2e-5, atol=1e-7)
    assert found.tops.sum() == pytest.approx(found.inner)
    assert found.shares.sum() == pytest.approx(1)
    assert found.moved.sum() == pytest.approx(0, abs=1e-9 * np.abs(found.moved).max())


@pytest.mark.parametrize("name", ["mrr", "hits@3", "gmr", "std"])
def test_macro_averages_have_fixed_groups(name: str) -> None:
    ranks, key = drawn(2, 60), f"macro.{name}"
    units = units_of(ranks, key, groups="relation")
    found = influences_of(units)
    assert found is not None
    assert found.value == pytest.approx(tr.report(ranks, by="relation")[key], rel=1e-12)
    plain = found.tops - found.value * found.shares  # without the correction for small groups
    unit, weights, step = ranks.unit.codes, np.ones(60), 1e-5
    for u in range(30):
        ends = [
            tr.report(ranks, by="relation", weights=weights * np.where(unit == u, 1 + x, 1))[key]
            for x in (step, -step)
        ]
        within = (ends[0] - ends[1]) / (2 * step)
        groups = np.unique(ranks.relation.codes, return_inverse=True)[1]
        values = tr.report(ranks, by="relation").group_values(name)
        shares = np.bincount(groups[unit == u], minlength=3) / np.bincount(groups)
        level = (
            sum((values[g] - found.value) * s for g, s in zip(range(3), shares, strict=True)) / 3
        )
        assert plain[u] - level == pytest.approx(within, rel=1e-4, abs=1e-7)


def test_groups_of_one_unit_are_drawn() -> None:
    ranks = drawn(3, 40)
    units = units_of(ranks, "macro.mrr", by="relation")
    found = influences_of(units)
    values = np.array([*tr.report(ranks, by="relation").group_values("mrr").values()])
    assert found is not None
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))


def test_median_moves_with_the_share_below_it() -> None:
    rng = np.random.default_rng(0)
    ranks = tr.Ranks(np.exp(rng.normal(8, 1, 4000)).astype(int), np.ones(4000, int), 10**6)
    found = influences_of(units_of(ranks, "median"))
    assert found is not None
    # the error of the logarithm of a median of a log-normal law
    assert found.error == pytest.approx(math.sqrt(math.pi / 2 / 4000), rel=0.1)
    assert found.value == tr.report(ranks)["median"]


@pytest.mark.parametrize("key", ["mad", "power_mean:inf", "power_mean:-inf", "count"])
def test_metrics_without_influences(key: str) -> None:
    assert influences_of(units_of(drawn(0), key)) is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_a_ratio_of_sums_of_any_numbers(values: list[float]) -> None:
    found = influences_of_sums(np.array(values), np.ones(len(values)))
    assert found.value == pytest.approx(np.mean(values))
    assert found.error == pytest.approx(
        np.std(values, ddof=1) / math.sqrt(len(values)), abs=1e-9 * (1 + np.abs(values).max())
    )


def test_degrees_of_freedom_count_the_units_that_carry_the_variance() -> None:
    assert degrees_of_freedom(np.array([1.0, -1.0] * 10)) == 19
    assert degrees_of_freedom(np.array([1e3, -1e3, *[1e-6] * 50])) == pytest.approx(1)
    assert degrees_of_freedom(np.zeros(5)) == 1
    assert math.isnan(standard_error(np.zeros(1)))


def test_units_are_the_label_that_tasks_write() -> None:
    ranks = drawn(0)
    assert units_of(ranks, "mrr").by == "unit"
    assert units_of(ranks, "mrr").number == 12
    assert units_of(ranks.with_labels(unit=None), "mrr").by == "task"
    for by, name, number in ((None, "task", 24), ("task", "task", 24), ("relation", "relation", 3)):
        found = units_of(ranks, "mrr", by=by)
        assert (found.by, found.number) == (name, number)
    assert units_of(ranks, "mrr", by=np.arange(24) // 8).number == 3


def test_notes_hang_on_design_and_weights_alone() -> None:
    ranks = tr.Ranks(np.zeros(100, int), np.ones(100, int), 90)
    assert notes_on_units(units_of(ranks, "mr")) == ()
    assert notes_on_units(units_of(ranks[:29], "mrr")) == ("few units: 29 tasks",)
    heavy = ranks.with_weights([30.0, *[1.0] * 99])
    note = "large unit: one task has 23.3 % of the weight"
    assert notes_on_units(units_of(heavy, "mrr")) == (note,)
    many = tr.Ranks(np.zeros(100, int), np.ones(100, int), 10_001)
    note = "few tasks decide: one rank of 10,001 moves the mean rank by 100"
    for key in ("mr", "imr", "index.mr", "std", "power_mean:2"):
        assert notes_on_units(units_of(many, key)) == (note,)
    assert notes_on_units(units_of(many, "gmr")) == ()
