"""Test tails that are summed over all outcomes against plain sums in fractions."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.metrics.chance_model import compress
from truerank.metrics.chance_model.few_outcomes import counted_tail
from truerank.metrics.chance_model.rank_sums import lattice_tail
from truerank.metrics.chance_model.task_groups import Law

pytestmark = pytest.mark.python_only

RANKS = Law(lambda r: -r, whole=lambda r: -r)
LOGS = Law(lambda r: -np.log(r))


def hits(k: int) -> Law:
    return Law(lambda r: (r <= k).astype(float), cutoff=k, whole=lambda r: (r <= k).astype(int))


def hits_law(tasks: Any, k: int) -> list[tuple[float, Fraction]]:
    """Each sum of weights of hits, and its probability."""
    events = [
        (weight, min(Fraction(k, size), Fraction(1)))
        for size, weight, count in zip(*(part.tolist() for part in tasks[:3]), strict=True)
        for _ in range(count)
    ]
    return [
        (
            math.fsum(weight for (weight, _), one in zip(events, bits, strict=True) if one),
            math.prod((q if one else 1 - q) for (_, q), one in zip(events, bits, strict=True)),
        )
        for bits in itertools.product((0, 1), repeat=len(events))
    ]


def log(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator) if x else -math.inf


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 3, 7, 10**6, 2**62, 2**63 - 1]), st.floats(1e-300, 1e300)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 5),
    st.sampled_from([1, 2, 7, 2**63]),
    st.data(),
)
def test_hits_of_any_weights(
    drawn: list[tuple[int, float]], repeated: int, k: int, data: st.DataObject
) -> None:
    drawn = [*drawn, *[drawn[0]] * repeated]
    tasks = compress([size for size, _ in drawn], [weight for _, weight in drawn])
    law = hits_law(tasks, k)
    observed = data.draw(st.sampled_from(law))[0]
    exact = sum((p for value, p in law if value >= observed * (1 - 1e-14)), Fraction(0))
    found = counted_tail(tasks, hits(k), observed)
    assert found is not None
    assert found.log == pytest.approx(log(exact), rel=1e-13, abs=1e-13)
    assert found.error < 1e-11


@pytest.mark.parametrize("law", [RANKS, LOGS], ids=["ranks", "logs"])
@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ([7, 7, 7, 7, 7], [1, 1, 1, 2, 2]),
        ([2] * 9 + [3] * 3, [1] * 12),
        ([40, 50, 60], [1, 2, 3]),
        ([300, 300], [1, 1]),
        ([5000, 1, 1], [1, 2, 3]),
    ],
)
def test_every_tail(law: Law, sizes: list[int], weights: list[float]) -> None:
    tasks = compress(sizes, weights)
    sums = np.zeros(1)
    for size, weight in zip(sizes, np.divide(weights, sum(weights)), strict=True):
        sums = np.add.outer(sums, weight * law.f(np.arange(1.0, size + 1))).ravel()
    sums.sort()
    for observed in sums[:: max(1, len(sums) // 25)].tolist():
        exact = np.count_nonzero(sums >= observed - 1e-12 * abs(observed)) / len(sums)
        found = counted_tail(tasks, law, observed)
        assert found is not None
        assert math.exp(found.log) == pytest.approx(exact, rel=1e-11)


def test_halves_of_unlike_tasks() -> None:
    """Where weights are powers of 2, the sum is a number whose binary digits are the hits."""
    sizes, weights = [2] * 36, [2.0**i for i in range(36)]
    for number in (0, 1, 12345, 2**35, 2**36 - 1):
        found = counted_tail(compress(sizes, weights), hits(1), number / (2**36 - 1))
        assert found is not None
        assert math.exp(found.log) == pytest.approx(1 - number / 2**36, rel=1e-11)
    assert counted_tail(compress([2] * 37, [*weights, 3.0]), hits(1), 0.5) is None


def test_far_beyond_the_smallest_float() -> None:
    tasks = compress([2**63 - 1] * 36, [1 + math.sqrt(i) for i in range(36)])
    found = counted_tail(tasks, hits(1), 1.0)
    assert found is not None
    assert found.log == pytest.approx(-36 * 63 * math.log(2), rel=1e-14)


@pytest.mark.parametrize("tail", [counted_tail, lattice_tail])
def test_hits_need_no_memory_for_candidates(tail: Any, sanitized: bool) -> None:
    """A task has two outcomes: with 10**12 candidates as with 10."""
    sizes = np.array([10, 10**12, 10**12, 2**63 - 1])
    tracemalloc.start()
    found = tail(compress(sizes, [1, 2, 3, 4]), hits(10), 0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # the task of 10 candidates always hits; to reach 5 of 10, 4 suffices, or 2 + 3
    q, last = Fraction(10, 10**12), Fraction(10, 2**63 - 1)
    exact = last + (1 - last) * q * q
    assert math.exp(found.log) == pytest.approx(float(exact), rel=1e-11)
    assert sanitized or peak < 1e7


@pytest.mark.parametrize("law", [RANKS, LOGS, hits(3)], ids=["ranks", "logs", "hits"])
@pytest.mark.parametrize(
    ("sizes", "multiplicities", "weights"),
    [
        ([2**62 + 1, 3], [1, 1], [4, 1]),  # 4 * 2**62 is 0 in 64 bits
        ([2**63 - 1], [2**62], [1]),
        ([2**63 - 1, 5], [2, 2], [1, 3]),
        ([4], [2**62], [1]),
        ([4, 4], [2**40, 2**41], [1, 3]),
    ],
)
def test_too_many_outcomes_are_left_to_others(
    law: Law, sizes: list[int], multiplicities: list[int], weights: list[float]
) -> None:
    tasks = compress((sizes, multiplicities), weights)
    if law.cutoff and tasks.count < 9:
        assert counted_tail(tasks, law, 0.9) is not None
    else:
        observed = -30.0 if law is LOGS else -2.5  # below the mean of most ranks
        assert counted_tail(tasks, law, observed) is None
        assert lattice_tail(tasks, law, observed) is None
