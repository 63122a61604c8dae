"""Test saddle points and inversions: against the normal law, and convolutions on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from truerank.metrics.chance_model import compress
from truerank.metrics.chance_model.saddlepoints import (
    Cumulants,
    log_normal_tail,
    lugannani_rice,
)

pytestmark = pytest.mark.python_only


def test_log_normal_tail() -> None:
    special = pytest.importorskip("scipy.special")
    for z in (-40.0, -8.0, -1.0, 0.0, 0.5, 4.99, 5.01, 12.0, 40.0, 1e4, 1e150):
        assert log_normal_tail(z) == pytest.approx(float(special.log_ndtr(-z)), rel=1e-14)
    assert log_normal_tail(math.inf) == -math.inf
    assert log_normal_tail(-math.inf) == 0
    assert math.isnan(log_normal_tail(math.nan))
    assert log_normal_tail(40.0) / math.log(10) == pytest.approx(-349.4371, rel=1e-6)


def test_saddle_points_of_the_normal_law_are_exact() -> None:
    for z in (0.0, 1e-9, 1e-4, 0.1, 3.0, 40.0):
        log_p, error = lugannani_rice(-z * z / 2, z, 1.0, 0.0, 0.0)
        assert log_p == pytest.approx(log_normal_tail(z), rel=1e-12)
        assert error < 1e-9


def on_a_grid(
    sizes: list[int], f: Callable[[Any], Any], steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return points, and P(mean of f > point) for each, by convolution on a grid."""
    counts = [sizes.count(size) for size in sorted({*sizes})]
    values = [f(np.arange(1.0, size + 1)) / len(sizes) for size in sorted({*sizes})]
    low, high = (
        sum(float(end(v)) * count for v, count in zip(values, counts, strict=True))
        for end in (np.min, np.max)
    )
    step = (high - low) / steps
    points = 2 * steps
    transform = np.ones(points // 2 + 1, complex)
    for v, count in zip(values, counts, strict=True):
        # spread over two grid points, which keeps the mean
        at = (v - v.min()) / step
        first = np.floor(at).astype(int)
        mass = np.bincount(first, 1 - at + first, points)
        mass += np.bincount(first + 1, at - first, points)
        transform *= np.fft.rfft(mass / len(v)) ** count
    tail = np.fft.irfft(transform, points)[::-1].cumsum()[::-1]
    return low + (np.arange(points) - 0.5) * step, tail


MEANS = {"mrr": lambda r: 1 / r, "gmr": lambda r: -np.log(r), "square": lambda r: -(r**2.0)}


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("sizes", [[30] * 60, [*range(10, 90)], [500] * 40])
def test_saddle_points_against_grids(sizes: list[int], name: str) -> None:
    law = Cumulants(compress(sizes), MEANS[name])
    x, tail = on_a_grid(sizes, MEANS[name], 40_000)
    for p in (0.9, 0.5, 0.1, 1e-3, 1e-6):
        i = int(np.argmin(abs(tail - p)))
        log_p, error = law.log_tail(float(x[i]))
        assert abs(log_p - math.log(tail[i])) < error + 0.003


@pytest.mark.parametrize("name", MEANS)
def test_inversions_against_grids(name: str) -> None:
    """Check inversions, also where one more first place is a step that a saddle point misses."""
    sizes = [5000] * 200
    law = Cumulants(compress(sizes), MEANS[name])
    x, tail = on_a_grid(sizes, MEANS[name], 1 << 21)
    for p in (0.999, 0.9, 0.5, 0.1, 1e-3, 1e-6):
        i = int(np.argmin(abs(tail - p)))
        found = law.invert_tail(float(x[i]))
        assert found is not None
        assert math.exp(found[0]) == pytest.approx(float(tail[i]), rel=2e-3)
        assert found[1] < 1e-6


def test_saddle_points_at_the_ends() -> None:
    tasks = compress([30] * 20)
    cumulants = Cumulants(tasks, lambda r: 1 / r)
    assert cumulants.log_tail(1.0) == (pytest.approx(-20 * math.log(30)), 0)
    assert cumulants.log_tail(1 / 30) == (0, 0)
