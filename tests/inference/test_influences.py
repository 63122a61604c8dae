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
    FEW_CARRIERS,
    _quantile,
    count_carriers,
    degrees_of_freedom,
    influences_of,
    influences_of_sums,
    notes_on_carriers,
    standard_error,
)
from truerank.inference.units import (
    FEW_UNITS,
    LARGE_SHARE,
    notes_on_units,
    units_of,
)
from truerank.metrics.keys import parse

SMOOTH = (
    "mr",
    "mrr",
    "hits@3",
    "hmr",
    "imr",
    "gmr",
    "igmr",
    "std",
    "variance",
    "power_mean:2",
    "power_mean:-0.5",
    "power_mean:0",
    "index.mr",
    "ratio.mrr",
    "index.hits@3",
)


def drawn(seed: int, n: int = 24, weighted: bool = False, **labels: Any) -> tr.Ranks:
    """Ranks with sides, relations, ties, unlike candidates, and units of two tasks."""
    rng = np.random.default_rng(seed)
    candidates = rng.integers(20, 60, n)
    above = rng.integers(0, candidates - 3)
    tied = rng.integers(1, 4, n)
    weights = None
    if weighted:
        weights = rng.choice([0.0, 0.5, 1.0, 2.0], n)
    side = ["tail", "head"] * (n // 2)
    relation = rng.integers(0, 3, n)
    made = tr.Ranks(above, tied, candidates, side=side, relation=relation, weights=weights)
    return made.with_labels(unit=np.arange(n) // 2, **labels)


def weights_of(ranks: tr.Ranks) -> np.ndarray[Any, Any]:
    return np.ones(len(ranks)) if ranks.weights is None else ranks.weights


def numerical(ranks: tr.Ranks, key: str) -> np.ndarray[Any, Any]:
    """The derivative of a report's value by the weight of each unit, by differences."""
    weights = weights_of(ranks)
    unit = ranks.unit.codes
    slopes = []
    step = 1e-5
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
    ranks = drawn(1, weighted=weighted)
    key = kind + name
    if kind == "tail.":
        ranks = ranks[ranks.side == "tail"]
    units = units_of(ranks, key)
    found = influences_of(units)
    assert found is not None
    assert found.value == pytest.approx(tr.report(ranks)[key], rel=1e-13)
    expected = numerical(ranks, key)
    counted = np.unique(ranks.unit.codes[weights_of(ranks) > 0])
    np.testing.assert_allclose(found.on_value_scale(), expected[counted], rtol=2e-5, atol=1e-7)
    assert found.tops.sum() == pytest.approx(found.inner)
    assert found.shares.sum() == pytest.approx(1)
    assert found.moved.sum() == pytest.approx(0, abs=1e-9 * np.abs(found.moved).max())


@pytest.mark.parametrize("name", ["mrr", "hits@3", "gmr", "std"])
def test_macro_averages_have_fixed_groups(name: str) -> None:
    ranks = drawn(2, 60)
    key = f"macro.{name}"
    units = units_of(ranks, key, groups="relation")
    found = influences_of(units)
    assert found is not None
    assert found.value == pytest.approx(tr.report(ranks, by="relation")[key], rel=1e-12)
    plain = found.tops - found.value * found.shares  # without the correction for small groups
    unit = ranks.unit.codes
    weights = np.ones(60)
    step = 1e-5
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
    values = np.array(list(tr.report(ranks, by="relation").group_values("mrr").values()))
    assert found is not None
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))


def test_macro_averages_allow_for_the_sizes_of_groups_alone() -> None:
    ranks = drawn(4, 40, weighted=True)
    found = influences_of(units_of(ranks, "macro.mrr", groups="relation"))
    assert found is not None
    assert found.shares.max() > 1.5 * found.shares.min()
    units = len(found.moved)
    assert found.error**2 == pytest.approx((found.moved**2).sum() * units / (units - 1))


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
    assert degrees_of_freedom(np.array([1e3, -1e3] + [1e-6] * 50)) == pytest.approx(1)
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


def test_notes_say_the_design_in_one_clause() -> None:
    ranks = tr.Ranks(np.zeros(300, int), np.ones(300, int), 90)
    assert notes_on_units(units_of(ranks, "mr")) == ()
    assert notes_on_units(units_of(ranks[:FEW_UNITS], "mrr")) == ()
    assert notes_on_units(units_of(ranks[: FEW_UNITS - 1], "mrr")) == ("few units: 4 tasks",)
    for key in ("mr", "gmr", "hits@10", "median", "power_mean:2"):
        assert notes_on_units(units_of(ranks[:FEW_UNITS], key)) == ()


@pytest.mark.parametrize("key", ["mr", "imr", "index.mr", "std", "variance", "power_mean:1"])
def test_mean_ranks_say_that_few_units_carry_them(key: str) -> None:
    parsed = parse(key)
    even = np.array([1.0, -1.0] * (FEW_CARRIERS // 2))
    assert count_carriers(even) == FEW_CARRIERS
    assert notes_on_carriers(parsed, even, "task") == ()
    note = f"{parsed} hangs on few triples: {FEW_CARRIERS - 2} of {FEW_CARRIERS - 2} carry it"
    assert notes_on_carriers(parsed, even[2:], "triple") == (note,)
    # however many units there are
    far = np.concatenate([np.full(7, 1e3), np.full(9993, -7e3 / 9993)])
    note = f"{parsed} hangs on few units: 7 of 10,000 carry it"
    assert notes_on_carriers(parsed, far, "unit") == (note,)
    assert notes_on_carriers(parsed, np.zeros(9), "task") == ()  # nothing varies
    for other in ("gmr", "mrr", "hits@10", "median", "power_mean:0.5"):
        assert notes_on_carriers(parse(other), far, "unit") == ()


def test_notes_say_that_one_unit_is_large() -> None:
    weights = np.full(300, (1 - LARGE_SHARE) / 299)
    weights[0] = LARGE_SHARE - 1e-9
    ranks = tr.Ranks(np.zeros(300, int), np.ones(300, int), 90, weights=weights)
    assert notes_on_units(units_of(ranks, "mrr")) == ()
    weights[0] = 0.4 / 0.6 * weights[1:].sum()
    heavy = ranks.with_weights(weights)
    note = "large unit: one task has 40 % of the weight"
    assert notes_on_units(units_of(heavy, "mrr")) == (note,)
    both = ranks.with_weights([2.0, 1.0, 1.0] + [0.0] * 297)
    note = "few units: 3 tasks, one with 50 % of the weight"
    assert notes_on_units(units_of(both, "mr")) == (note,)
    # units of equal weight have a large share each, but none is larger than the others
    assert notes_on_units(units_of(ranks[1:6].with_weights(None), "mrr")) == ()


@given(st.integers(2, 40), st.sampled_from(["mr", "mrr", "median"]), st.integers(0, 2**32 - 1))
def test_notes_do_not_hang_on_ranks(n: int, key: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.pareto(1, n) + 0.1
    unit = rng.integers(0, 9, n)
    notes = set()
    for above in (np.zeros(n, int), rng.integers(0, 900, n), rng.geometric(0.01, n) % 900):
        ranks = tr.Ranks(above, np.ones(n, int), 900, weights=weights)
        notes.add(notes_on_units(units_of(ranks.with_labels(unit=unit), key)))
    assert len(notes) == 1
    assert len(notes.pop()) <= 1


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=20), st.integers(0, 2**32 - 1))
def test_standard_errors_allow_for_what_the_mean_takes(weights: list[float], seed: int) -> None:
    shares = np.array(weights) / sum(weights)
    values = np.random.default_rng(seed).normal(size=len(shares))
    moved = shares * (values - shares @ values)
    # the slow twin: the matrix that takes the mean off, and the variances that it leaves
    residual = np.eye(len(shares)) - np.outer(np.ones(len(shares)), shares)
    left = np.diag(residual @ residual.T)
    expected = math.sqrt((moved**2 / left).sum())
    assert standard_error(moved, shares) == pytest.approx(expected, rel=1e-6)
    # without bias for units that vary alike: the variance of their mean is the sum of shares^2
    variances = shares**2 * left
    assert (variances / left).sum() == pytest.approx((shares**2).sum())


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=20))
def test_standard_errors_of_equal_shares_are_those_of_a_mean(values: list[float]) -> None:
    shares = np.full(len(values), 1 / len(values))
    moved = shares * (np.array(values) - np.mean(values))
    expected = np.std(values, ddof=1) / math.sqrt(len(values))
    for found in (standard_error(moved, shares), standard_error(moved)):
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("units", "largest", "is_large"),
    [(20, 0.155, True), (20, 0.145, False), (6, 0.21, True), (6, 0.195, False)],
)
def test_a_unit_is_large_by_its_share_of_the_weight(
    units: int, largest: float, is_large: bool
) -> None:
    """A share of 15 %, and a fifth more than that of even units."""
    weights = np.full(units, (1 - largest) / (units - 1))
    weights[0] = largest
    ranks = tr.Ranks([0] * units, [1] * units, 10, weights=weights)
    assert bool(notes_on_units(units_of(ranks, "mrr"))) == is_large


@pytest.mark.parametrize(("more", "rank"), [(-5e-12, 8), (5e-13, 8), (5e-12, 9)])
def test_a_quantile_allows_for_rounding_alone(more: float, rank: int) -> None:
    units = units_of(tr.Ranks(np.arange(10), np.ones(10, int), 10), "median")
    assert _quantile(units.sample, units.weights, 0.8 + more) == rank
