"""Counts of vectors with bounds and without: clustered vectors, and hostile ones.

Bounds pay where targets are among the most similar, as after training; `studies/bounds.py` measures
trained vectors. On hostile ones they must cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import pytest

import truerank as tr
from baselines.compiled import PeakFMA
from harness import Compare, Pair, Team
from harness.comparing import assert_same_counts
from harness.interpreters import Interpreter
from harness.synthetic import Shape, Sizes
from harness.vectors import HOSTILE, VectorProblem, draw_clustered
from peers import Counts

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


@lru_cache(maxsize=1)
def draw(name: str, similarity: str, shape: Shape, dim: int) -> VectorProblem:
    """Return clustered vectors, or the hostile ones of that name."""
    if name == "clustered":
        return draw_clustered(shape, dim, similarity)
    return HOSTILE[name](shape, similarity)


def count(name: str, similarity: str, shape: Shape, dim: int, threads: int | None) -> Counts:
    """Count in the process that runs this."""
    given = draw(name, similarity, shape, dim)
    ranks = tr.rank_embeddings(
        *(given.queries, given.entities, given.targets), similarity=similarity, threads=threads
    )
    return ranks.above, ranks.tied


@pytest.fixture(scope="module")
def pythons() -> Iterator[dict[str, Interpreter]]:
    """Two processes, for the choice is read when truerank is imported."""
    both = {"bounds": Interpreter(), "no bounds": Interpreter(TRUERANK_BOUNDS="off")}
    yield both
    for python in both.values():
        python.close()


@pytest.mark.parametrize("dim", [64, 256])
@pytest.mark.parametrize("similarity", ["l1", "dot", "complex_l1"])
def test_clustered(
    similarity: str,
    dim: int,
    compare: Compare,
    sizes: Sizes,
    team: Team,
    pythons: dict[str, Interpreter],
    peak: PeakFMA | None,
) -> None:
    """Vectors in clusters, with bounds against without, and against the peak of arithmetic."""
    arguments = "clustered", similarity, sizes.embeddings, dim, team.argument
    contestants: dict[str, Callable[[], Any]] = {
        name: partial(python.call, count, *arguments) for name, python in pythons.items()
    }
    of_peak, of_off = (None, None) if sizes.quick else GOALS[similarity, dim]
    pairs = [Pair("bounds", "no bounds", goal=of_off)]
    queries, entities = sizes.embeddings
    nbytes = dict.fromkeys(contestants, queries * entities * dim)
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
        memory=False,
    )
    assert_same_counts({name: times[name] for name in contestants})


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("similarity", ["l1", "dot", "complex_l1"])
def test_hostile(
    similarity: str,
    name: str,
    compare: Compare,
    sizes: Sizes,
    pythons: dict[str, Interpreter],
) -> None:
    """Vectors that bounds cannot decide."""
    shape = sizes.embeddings if sizes.quick else HOSTILE_SHAPE
    arguments = name, similarity, shape, 0, 1
    compare(
        f"hostile, {similarity}, {name}",
        {key: partial(python.call, count, *arguments) for key, python in pythons.items()},
        [Pair("bounds", "no bounds", goal=None if sizes.quick else HOSTILE_GOAL)],
        memory=False,
    )
