"""Counts of vectors with bounds and without: clustered vectors, and hostile ones.

Bounds pay where targets are among the most similar, as after training. On hostile vectors they must
cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import truerank as tr
from baselines.compiled import PeakFMA
from harness import Compare, Pair, Team
from harness.comparing import assert_same_counts
from harness.synthetic import Sizes
from harness.vectors import HOSTILE, VectorProblem, draw_clustered
from peers.embeddings import scored_by
from truerank import _core

FASTEST = ""  # levels of this machine
PEAK_ROUNDS = 1_500
HOSTILE_SHAPE = 2_048, 20_000  # a tenth of a second with one thread
# of the peak, and of the rate without bounds
GOALS = {
    ("l1", 64): (1.7, 3.3),
    ("l1", 256): (1.7, 3.3),
    ("dot", 64): (None, 2.0),
    ("dot", 256): (2.4, 2.7),
    ("complex_l1", 64): (None, 2.2),
    ("complex_l1", 256): (None, 2.2),
}
HOSTILE_GOAL = 0.95


def contestants_of(problem: VectorProblem, threads: int | None) -> dict[str, Callable[[], Any]]:
    """Return truerank with bounds and without."""

    def count(levels: str) -> tr.Ranks:
        assert _core.choose_bounds(levels)
        return tr.rank_embeddings(
            *(problem.queries, problem.entities, problem.targets),
            **scored_by(problem.similarity),
            threads=threads,
        )

    return {"bounds": lambda: count(FASTEST), "no bounds": lambda: count("off")}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    levels = _core.bounds()
    yield
    _core.choose_bounds(levels)


@pytest.mark.parametrize("dim", [64, 256])
@pytest.mark.parametrize("similarity", ["l1", "dot", "complex_l1"])
def test_clustered(
    similarity: str,
    dim: int,
    compare: Compare,
    sizes: Sizes,
    team: Team,
    peak: PeakFMA | None,
) -> None:
    """Vectors in clusters, with bounds against without, and against the peak of arithmetic."""
    problem = draw_clustered(sizes.embeddings, dim, similarity)
    contestants = contestants_of(problem, team.argument)
    of_peak, of_off = GOALS[similarity, dim]
    if sizes.quick:
        of_peak = of_off = None
    pairs = [Pair("bounds", "no bounds", goal=of_off)]
    nbytes = dict.fromkeys(contestants, problem.work)
    roofline: dict[str, Callable[[], Any]] = {}
    if peak is not None:
        name = f"peak multiply-adds, {peak.isa}"
        roofline[name], nbytes[name] = peak.contestant("float32", team.threads, PEAK_ROUNDS)
        pairs.append(Pair("bounds", name, goal=of_peak))
    times = compare(
        f"clustered, {similarity}, d = {dim}, {team}",
        contestants | roofline,
        pairs,
        nbytes=nbytes,
        unit="G/s",
        rounds=max(3, sizes.rounds // 3),
        agree=False,  # the peak counts nothing
    )
    assert_same_counts({name: times[name] for name in contestants})


@pytest.mark.parametrize("k", [None, 10])
def test_both_directions(k: int | None, compare: Compare, sizes: Sizes, team: Team) -> None:
    """An alignment, with bounds against without; with k, the means of CSLS come first."""
    problem = draw_clustered(sizes.embeddings, 256, "dot")
    targets, rows = np.unique(problem.targets, return_index=True)
    pairs = np.stack([rows, targets], axis=1)
    left, right = len(problem.queries), len(problem.entities)
    task = tr.alignment.Task(pairs, left=left, right=right)

    def evaluate(levels: str) -> tr.Ranks:
        assert _core.choose_bounds(levels)
        vectors = problem.queries, problem.entities
        options = {"similarity": "dot", "csls": k, "threads": team.argument}
        return task.evaluate_embeddings(*vectors, **options).ranks

    csls = "" if k is None else f", CSLS {k}"
    compare(
        f"clustered, both directions{csls}, {team}",
        {"bounds": lambda: evaluate(FASTEST), "no bounds": lambda: evaluate("off")},
        [Pair("bounds", "no bounds")],
        rounds=max(3, sizes.rounds // 3),
    )


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("similarity", ["l1", "dot", "complex_l1"])
def test_hostile(
    similarity: str,
    name: str,
    compare: Compare,
    sizes: Sizes,
) -> None:
    """Vectors that bounds cannot decide."""
    shape = HOSTILE_SHAPE
    goal: float | None = HOSTILE_GOAL
    if sizes.quick:
        shape = sizes.embeddings
        goal = None
    compare(
        f"hostile, {similarity}, {name}",
        contestants_of(HOSTILE[name](shape, similarity), 1),
        [Pair("bounds", "no bounds", goal=goal)],
    )
