"""Test adjusted published numbers: every form, and invalid arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.refusals import refused


def test_the_formulas() -> None:
    """Two tasks, N = 3: everything by hand."""
    adjusted = tr.adjust("mr", 1.5, candidates=3, tasks=2)
    assert (adjusted.metric, adjusted.value, adjusted.expectation) == ("mr", 1.5, 2.0)
    assert adjusted.variance == pytest.approx(1 / 3)
    assert (adjusted.ratio, adjusted.index) == (0.75, 0.5)
    assert adjusted.z == pytest.approx(-0.5 * math.sqrt(3))
    assert adjusted.probability_of_z == pytest.approx(0.19323811538561636, rel=1e-12)
    assert adjusted.tasks == 2
    assert str(adjusted) == (
        "mr 1.5 over 2 tasks; chance 2 +- 0.57735: ratio 0.750000, index 0.500000, z -0.866025"
    )


@given(
    counts=st.lists(st.integers(2, 60), min_size=1, max_size=6),
    data=st.data(),
    metric=st.sampled_from(
        ["mr", "mrr", "hits@3", "gmr", "hmr", "imr", "igmr", "median", "imedian"]
        + [f"power_mean:{p}" for p in ("1", "-1", "0", "2", "-0.5", "inf", "-inf")]
    ),
)
def test_it_is_what_a_report_says(counts: list[int], data: st.DataObject, metric: str) -> None:
    """The value of a report alone gives its adjusted values."""
    n = len(counts)
    above = [data.draw(st.integers(0, size - 1)) for size in counts]
    weights = None
    if metric in ("mr", "mrr", "hits@3", "hmr"):
        weights = data.draw(st.none() | st.just(np.arange(1.0, 1 + n)))
    ranks = tr.Ranks(above, [1] * n, counts, weights=weights)
    report = tr.report(ranks)
    adjusted = tr.adjust(metric, report[metric], candidates=counts, tasks=n, weights=weights)
    assert adjusted.tasks == n
    assert (adjusted.expectation, adjusted.variance) == report.chance(metric)
    for name in ("ratio", "index", "z"):
        expected = report[f"{name}.{metric}"]
        assert getattr(adjusted, name) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


def test_degenerate_chance_gives_nan() -> None:
    single = tr.adjust("mr", 1, candidates=1, tasks=5)
    assert (single.expectation, single.variance, single.ratio) == (1.0, 0.0, 1.0)
    sure = tr.adjust("hits@10", 1.0, candidates=[8, 10])
    for adjusted in (single, sure):
        assert all(map(math.isnan, (adjusted.index, adjusted.z, adjusted.probability_of_z)))


WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("mrr 31.6", {}, ValueError, "value"),
    ("hits@10 300", {}, ValueError, "value"),
    ("mr 0.5", {}, ValueError, "value"),
    ("mr nan", {}, ValueError, "value"),
    ("mmr 2", {}, KeyError, "'mmr'"),
    ("tail.mr 2", {}, KeyError, "'tail.mr'"),
    ("amri 0.5", {}, KeyError, "'amri'"),
    ("std 2", {}, KeyError, "'std'"),
    ("median 5", {"candidates": [5, 6], "weights": [1, 2], "tasks": None}, KeyError, "median"),
    ("mr 2", {"tasks": None}, ValueError, "tasks"),
    ("mr 2", {"candidates": [4, 5, 6]}, ValueError, "tasks"),
    ("mr 2", {"candidates": [4, 5], "tasks": None, "weights": [1.0]}, ValueError, "weights"),
]


@pytest.mark.parametrize(("line", "change", "error", "argument"), WRONG)
def test_what_is_refused(
    line: str, change: dict[str, Any], error: type[Exception], argument: str
) -> None:
    metric, number = line.split()
    keywords = {"candidates": 40943, "tasks": 6268, "value": float(number)} | change
    refused(error, argument, tr.adjust, metric, **keywords)


def test_a_percentage_is_named() -> None:
    with pytest.raises(ValueError, match=r"to 1, got 31\.6; as a percentage it is 0\.316"):
        tr.adjust("mrr", 31.6, candidates=40943, tasks=6268)
