"""Both directions of an alignment, from vectors, against the dense way and against one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Pair, Results, Team
from harness.synthetic import Sizes
from peers import prepare_peers
from peers.alignment import AlignmentProblem, dense

DIM = 300  # OpenEA's, more or less
K = 10
NOISE = 4.0  # of a right vector, beside its left one: about half of the pairs are nearest
GOALS = {None: 10.0, K: 6.0}  # against argsort, without CSLS and with it
ROOM = 4e9  # bytes of memory: a matrix of similarities and its copies
APART = 1e-3  # of the candidates, by which rounding may move a rank


def problem(sizes: Sizes, threads: int, k: int | None) -> AlignmentProblem:
    """Right vectors are noisy left ones, as far as there are as many."""
    n1, n2 = sizes.alignment
    pairs = min(n1, n2)
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((n, DIM), dtype=np.float32) for n in (n1, n2))
    right[:pairs] = left[:pairs] + np.float32(NOISE) * right[:pairs]
    return AlignmentProblem(left, right, pairs, threads, k)


@pytest.mark.parametrize("k", [None, K])
def test_alignment(
    k: int | None,
    compare: Compare,
    results: Results,
    sizes: Sizes,
    team: Team,
    require_memory: Callable[[float], None],
) -> None:
    """Vectors to metrics, all entities as candidates."""
    require_memory(0 if sizes.quick else ROOM)
    given = problem(sizes, team.threads, k)
    pairs = np.arange(given.pairs)[:, None].repeat(2, axis=1)
    peers = prepare_peers(dense, given, results)

    def evaluate(csls: int | None = k) -> tr.Report:
        vectors = given.left, given.right
        return tr.alignment.evaluate(*vectors, pairs, csls=csls, threads=team.argument)

    def one_way() -> tr.Ranks:
        ids = pairs[:, 0]
        vectors = given.left, given.right
        return tr.rank_embeddings(
            *vectors, ids, rows=ids, similarity="cosine", threads=team.argument
        )

    ways: dict[str, Callable[[], Any]] = {"truerank": evaluate, **peers}
    ways["truerank, left to right alone"] = one_way
    goals = [None if sizes.quick else GOALS[k], None]
    found = compare(
        f"alignment, both directions{'' if k is None else f', CSLS {k}'}, {team}",
        ways,
        [
            *(Pair("truerank", name, goal=goal) for name, goal in zip(peers, goals, strict=False)),
            Pair("truerank", "truerank, left to right alone", "cost"),
        ],
        nbytes=given.work,
        unit="G/s",
        rounds=max(3, sizes.rounds // 5),
        agree=False,
    )
    report = found["truerank"].result
    for name in peers:
        for side, above in zip(report.sides[1:], found[name].result, strict=True):
            ranks = report.ranks[np.asarray(report.ranks.side.values == side)]
            assert np.abs(ranks.above - above).max() <= 2 + APART * len(given.left), (name, side)
