"""Published numbers: how they are read, and that numbers of real ranks never contradict."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank.metrics.published_checks import Printed, contradictions, read_printed


def printed(**numbers: str) -> dict[str, Printed]:
    """Read numbers by metric; hits_10 stands for hits@10."""
    return {k.replace("hits_", "hits@"): read_printed(k, text) for k, text in numbers.items()}


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("58%", 0.58, 0.01),
        (" 58.10 % ", 0.581, 0.0001),
        ("0.358", 0.358, 0.001),
        (".358", 0.358, 0.001),
        ("7000", 7000, 1),
        ("7e3", 7000, 1000),
        ("1.5E-2", 0.015, 0.001),
        ("-0.02", -0.02, 0.01),
        ("46.", 46, 1),
    ],
)
def test_numbers_as_they_are_printed(text: str, value: float, unit: float) -> None:
    found = read_printed("value", text)
    assert found.value == value
    assert found.unit == pytest.approx(unit, rel=1e-12)
    assert found.text == text.strip()
    as_share = read_printed("value", "46.5", percent=True)
    assert as_share == Printed(0.465, as_share.unit, "46.5%")
    assert math.isclose(as_share.unit, 0.001)


@pytest.mark.parametrize("text", ["", "%", ".", "nan", "inf", "1,234", "0.3 0.4", "5%%", "x"])
def test_others_are_refused(text: str) -> None:
    with pytest.raises(tr.InputValueError, match=r"value: expected a number, as 0\.358 or 35\.8%"):
        read_printed("value", text)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 5)), min_size=1, max_size=40),
    st.integers(1, 5),
    st.booleans(),
)
def test_real_ranks_never_contradict(
    counts: list[tuple[int, int]], digits: int, is_cut: bool
) -> None:
    """Of any ranks with ties, of either rounding, and of any kind of rank."""
    above, tied = np.array(counts).T
    report = tr.report(tr.Ranks(above, tied, 65))
    scale = 10**digits
    for kind in ("realistic", "optimistic", "pessimistic"):
        numbers = {}
        for metric in ("mr", "mrr", "hits@1", "hits@3", "hits@10", "hits@50"):
            value = report[f"{kind}.{metric}"] * scale
            whole = math.floor(value) if is_cut else round(value)
            numbers[metric] = read_printed(metric, f"{whole / scale:.{digits}f}")
        assert contradictions(numbers, 65, len(counts)) == []
        assert contradictions(numbers) == []


@pytest.mark.parametrize(
    ("numbers", "candidates", "tasks", "words"),
    [
        ({"hits_1": "0.5", "hits_10": "31%"}, None, None, "hits@1 0.5 is above hits@10 31%"),
        # hits@1 <= mrr, and hits@10 / 10 <= mrr
        ({"hits_1": "0.31", "mrr": "0.20"}, None, None, "mrr 0.20 is below 0.3, the least that"),
        ({"hits_10": "0.90", "mrr": "0.05"}, None, None, "mrr 0.05 is below 0.089, the least"),
        # at most hits@1 and the second places
        (
            {"hits_1": "0.100", "hits_10": "0.500", "mrr": "0.6"},
            None,
            None,
            "mrr 0.6 is above 0.4152, the most that hits@1 0.100, hits@10 0.500 allow",
        ),
        ({"mr": "2.0", "mrr": "0.20"}, None, None, "mr 2.0 is below 4.762, the least that mrr"),
        ({"mr": "5.0", "hits_10": "0.40"}, None, None, "mr 5.0 is below 6.605, the least that"),
        ({"mr": "90", "mrr": "0.50"}, 100, None, "mr 90 is above 52, the most that mrr 0.50"),
        ({"mr": "90", "hits_10": "0.50"}, 100, None, "mr 90 is above 55.9, the most that hits@10"),
        ({"hits_1": "0.3333"}, None, 20, "hits@1 0.3333 is no share of 20 tasks (6 are 0.3, 7"),
    ],
)
def test_contradictions(
    numbers: dict[str, str], candidates: int | None, tasks: int | None, words: str
) -> None:
    found = contradictions(printed(**numbers), candidates, tasks)
    assert len(found) == 1
    assert found[0].startswith(words)


def test_other_metrics_are_not_looked_at() -> None:
    assert contradictions({"gmr": read_printed("gmr", "3")}, 10, 10) == []


@pytest.mark.parametrize(
    ("numbers", "candidates", "tasks"),
    [
        ({"hits_1": "0.50003", "hits_10": "0.50000"}, None, None),
        ({"hits_1": "0.50003", "mrr": "0.50000"}, None, None),
        ({"hits_1": "0.50000", "mrr": "0.83336"}, None, None),
        ({"mr": "1.99994", "mrr": "0.50000"}, None, None),
        ({"mr": "51.00102", "mrr": "0.50000"}, 100, None),
        ({"hits_1": "0.30004"}, None, 20),
    ],
)
def test_the_last_digit_counts(
    numbers: dict[str, str], candidates: int | None, tasks: int | None
) -> None:
    """A contradiction of 0.00001 is found."""
    assert len(contradictions(printed(**numbers), candidates, tasks)) == 1


def test_rounding_of_sums_is_no_contradiction() -> None:
    """0.8 - 0.1 is above 0.6 + 0.1 in floating point."""
    assert contradictions(printed(hits_1="0.8", hits_10="0.6")) == []
