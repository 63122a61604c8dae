"""Growth of what is around counts: time against size of tasks, lists, names, groups and filters."""

from __future__ import annotations

import pytest

from harness import Compare
from harness.growth import fit_exponent, geometric_sizes
from harness.synthetic import Sizes
from harness.table import Results, exponent_row
from harness.task_work import BASELINES, GROWING

AT_MOST = (0.0, 1.1)  # goal for the exponent of time in size
SIZES = 4
QUICK = 20  # times smaller, where fixed costs are part of the time


@pytest.mark.parametrize("name", GROWING | BASELINES)
def test_work_is_linear(name: str, compare: Compare, results: Results, sizes: Sizes) -> None:
    """Time against size; all sizes take turns."""
    growing = (GROWING | BASELINES)[name]
    largest = growing.largest
    if sizes.quick:
        largest //= QUICK
    tried = geometric_sizes(largest / 8, largest, SIZES)
    works = {f"{size:,} {growing.of}": growing.make(size) for size in tried}
    times = compare(
        name,
        works,
        [],
        rounds=3,
        budget=sizes.budget / 4,
        show=False,
        agree=False,
    )
    seconds = [times[label].best for label in works]
    law = fit_exponent(f"time in {growing.of}", tried, seconds)
    goal: tuple[float, float] | None = AT_MOST
    contestant = "truerank"
    if name in BASELINES:
        contestant = "numpy"
    if sizes.quick or name in BASELINES:
        goal = None
    results.rows.append(exponent_row(f"{name}, {tried[0]:,} to {largest:,}", contestant, law, goal))
