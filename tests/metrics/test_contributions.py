"""What units add, against slow twins: the derivative of the value by the weight of each unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import truerank as tr
from truerank.metrics.contributions import (
    contributions,
    is_mean,
    mean_and_influences,
    unit_codes,
)
from truerank.metrics.keys import parse
from truerank.metrics.values import Rankings

SMOOTH = ["mr", "mrr", "hits@3", "ndcg@5", "sampled_hits@3:9", "hmr", "imr", "gmr", "igmr"]
SMOOTH += ["std", "variance", "power_mean:2", "power_mean:-0.5", "power_mean:0"]
SMOOTH += ["index.mr", "ratio.mrr", "index.hits@3", "index.gmr"]


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
    if name == "index.gmr" and weighted:
        return  # Its chance hangs on the weights, too, and is taken as it is.
    assume(kind != "expected." or parse(name).row.has_expectation)
    ranks = drawn(1, weighted=weighted)
    key = kind + name
    if kind == "tail.":
        ranks = ranks[ranks.side == "tail"]
    sums = contributions(Rankings(ranks), parse(key), unit_codes(ranks, "unit")[0])
    _, influences = mean_and_influences(sums.tops, sums.bases)
    assert sums.value == pytest.approx(tr.report(ranks)[key], rel=1e-13)
    step = 1e-5 * (1 + abs(sums.mean))
    slope = (sums.metric_at(sums.mean + step) - sums.metric_at(sums.mean - step)) / (2 * step)
    counted = np.unique(ranks.unit.codes[weights_of(ranks) > 0])
    if name != "index.gmr":
        slopes = numerical(ranks, key)[counted]
        np.testing.assert_allclose(influences * slope, slopes, rtol=1e-4, atol=1e-7)
    assert sums.metric_at(sums.mean) == pytest.approx(sums.value, rel=1e-12)
    assert sums.tops.sum() / sums.bases.sum() == pytest.approx(sums.mean)
    assert influences.sum() == pytest.approx(0, abs=1e-9 * np.abs(influences).max())


@pytest.mark.parametrize("key", ["mad", "median", "power_mean:inf", "power_mean:-11", "count"])
def test_metrics_without_influences(key: str) -> None:
    assert not is_mean(parse(key))


def test_units_are_the_label_that_tasks_write() -> None:
    ranks = drawn(0)
    for unit, name, number in (
        ("unit", "unit", 12),
        (None, "task", 24),
        ("task", "task", 24),
        ("relation", "relation", 3),
        (np.arange(24) // 8, "group", 3),
    ):
        codes, word = unit_codes(ranks, unit)
        sums = contributions(Rankings(ranks), parse("mrr"), codes)
        assert (word, len(sums.tops), len(sums.bases)) == (name, number, number)
    assert unit_codes(ranks.with_labels(unit=None), "unit")[1] == "task"
    random = parse("random.mrr")
    models = Rankings(ranks, 3), tr.report(ranks, seed=3).model
    one, two = (contributions(model, random, codes).tops.tolist() for model in models)
    assert one == two
