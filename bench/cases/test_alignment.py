"""Both directions of an alignment, from embeddings, against the dense way and one direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Pair, Results, Team
from harness.synthetic import Sizes
from peers import prepare_peers
from peers.alignment import DENSE, AlignmentProblem

DIM = 300  # about that of OpenEA's models
K = 10
NOISE = 4.0  # times a random vector is added on the right: about half of the pairs have rank 1
ARGSORT = "numpy, matrix and argsort"
GOALS = {None: 10.0, K: 6.0}  # over argsort, without CSLS and with it
ALIGNED = 10_500, (19_388, 19_572)  # test pairs of DBP15k's zh-en, and the entities of its graphs
DIRECTIONS_GOAL = 1.5  # times one direction: no pair is scored in which neither side asks
MEMORY = 4e9  # bytes: a matrix of similarities and its copies
ROUNDING = 1e-3  # share of the candidates by which rounding may move a rank


def make_problem(sizes: Sizes, threads: int, k: int | None) -> AlignmentProblem:
    """Return embeddings whose right side is the left one with noise, as far as both have rows."""
    n1, n2 = sizes.alignment
    pairs = min(n1, n2)
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((n, DIM), dtype=np.float32) for n in (n1, n2))
    right[:pairs] = left[:pairs] + np.float32(NOISE) * right[:pairs]
    return AlignmentProblem(left, right, pairs, threads, k)


@pytest.mark.parametrize("peer", DENSE, ids=["argsort", "greater"])
@pytest.mark.parametrize("k", [None, K])
def test_alignment(
    k: int | None,
    peer: str,
    compare: Compare,
    results: Results,
    sizes: Sizes,
    team: Team,
    require_memory: Callable[[float], None],
) -> None:
    """From embeddings to metrics, with all entities as candidates."""
    if not sizes.quick:
        require_memory(MEMORY)
    problem = make_problem(sizes, team.threads, k)
    pairs = np.arange(problem.pairs)[:, None].repeat(2, axis=1)
    task = tr.alignment.Task(pairs, left=len(problem.left), right=len(problem.right))
    peers = prepare_peers({peer: DENSE[peer]}, problem, results)

    def evaluate(csls: int | None = k) -> tr.Report:
        embeddings = problem.left, problem.right
        return task.evaluate_embeddings(*embeddings, csls=csls, threads=team.argument)

    def rank_left_to_right() -> tr.Ranks:
        ids = pairs[:, 0]
        embeddings = problem.left, problem.right
        return tr.rank_embeddings(
            *embeddings, ids, rows=ids, similarity="cosine", threads=team.argument
        )

    contestants: dict[str, Callable[[], Any]] = {"truerank": evaluate, **peers}
    contestants["truerank, left to right alone"] = rank_left_to_right
    goal = None if sizes.quick or peer != ARGSORT else GOALS[k]
    ratios = [Pair("truerank", name, goal=goal) for name in peers]
    ratios.append(Pair("truerank", "truerank, left to right alone", "cost"))
    csls = "" if k is None else f", CSLS {k}"
    times = compare(
        f"alignment, both directions{csls}, {team}",
        contestants,
        ratios,
        nbytes=problem.work,
        unit="G/s",
        rounds=max(3, sizes.rounds // 5),
        agree=False,
    )
    report = times["truerank"].result
    tolerance = 2 + ROUNDING * len(problem.left)
    for name in peers:
        for side, above in zip(report.sides[1:], times[name].result, strict=True):
            ranks = report.ranks[np.asarray(report.ranks.side.values == side)]
            assert np.abs(ranks.above - above).max() <= tolerance, (name, side)


def test_pairs_among_all(compare: Compare, sizes: Sizes, team: Team) -> None:
    """Both directions of pairs that are half of the entities, all of which are candidates."""
    count, shape = ALIGNED
    if sizes.quick:
        count = count // 50
        shape = (shape[0] // 50, shape[1] // 50)
    rng = np.random.default_rng(1)
    sides = [rng.standard_normal((n, DIM), dtype=np.float32) for n in shape]
    pairs = np.stack([rng.permutation(n)[:count] for n in shape], axis=1)
    task = tr.alignment.Task(pairs, left=shape[0], right=shape[1])

    def rank_left_to_right() -> tr.Ranks:
        return tr.rank_embeddings(
            *sides, pairs[:, 1], rows=pairs[:, 0], similarity="dot", threads=team.argument
        )

    def evaluate() -> tr.Report:
        return task.evaluate_embeddings(*sides, similarity="dot", threads=team.argument)

    goal = None if sizes.quick else DIRECTIONS_GOAL
    times = compare(
        f"alignment, {count} pairs among {shape[0]} x {shape[1]}, {team}",
        {"both directions": evaluate, "left to right alone": rank_left_to_right},
        [Pair("both directions", "left to right alone", "cost", goal)],
        rounds=max(3, sizes.rounds // 3),
        agree=False,
    )
    ranks = times["both directions"].result.ranks
    one = times["left to right alone"].result
    both = ranks[np.asarray(ranks.side.values == times["both directions"].result.sides[1])]
    np.testing.assert_array_equal(both.above, one.above)
    np.testing.assert_array_equal(both.tied, one.tied)
