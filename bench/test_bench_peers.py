"""Counting against what its users rank with today, all on the same matrix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import truerank as tr
from harness import Compare, Contestants, Pair, Times
from peers import CHECKS, Peers, Problem, by_numpy, by_retrieval, by_torch, ready
from peers.by_numpy import numpy_by_row
from synthetic import Pool, Shape, Sizes, draw_targets
from table import Board
from test_bench_report import SAME

ONE = "truerank, 1 thread"
GOALS = {"numpy, > and ==": 10.0, "PyKEEN's style": 80.0}
# PyKEEN keeps one value for all k of the former and turns the z: test_bench_report.py has them
UNLIKE = ("ah@", "z")
# bytes for each score that the hungriest of them takes
ROOM = {"numpy": 2, "torch": 12, "sorting": 40}


def pairs_of(peers: Peers, contestants: Contestants) -> list[Pair]:
    """truerank against every peer that is here; with one thread, too, against those without."""
    found = []
    for name in contestants:
        if name in peers:
            found.append(Pair("truerank", name, goal=GOALS.get(name)))
            if ONE in contestants and "torch" not in peers[name].needs:
                found.append(Pair(ONE, name))
    return found


def check(peers: Peers, found: dict[str, Times], problem: Problem, own: str = "counts") -> None:
    """Hold every contestant against the counts of plain numpy, in the terms that it tells."""
    above, tied = numpy_by_row(problem.scores, problem.targets)
    for name, taken in found.items():
        said = taken.result
        said = (said.above, said.tied) if isinstance(said, tr.Ranks) else said
        CHECKS[peers[name].tells if name in peers else own](said, above, tied)


@pytest.mark.parametrize("family", ["numpy", "torch", "sorting"])
def test_counting_peers(
    family: str,
    compare: Compare,
    board: Board,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    room: Callable[[float], None],
) -> None:
    """numpy, torch and PyKEEN count; argsort, searchsorted and scipy's rankdata sort."""
    tables: dict[str, tuple[Peers, Shape]] = {
        "numpy": (by_numpy.COUNTING, sizes.many),
        "torch": (by_torch.COUNTING, sizes.shared if sizes.quick else sizes.many),
        "sorting": (by_numpy.SORTING, sizes.sorted),
    }
    peers, shape = tables[family]
    scores, targets = pool.matrix(shape), draw_targets(shape)
    room(ROOM[family] * scores.size)
    problem = Problem(scores, targets, threads)
    contestants = {
        "truerank": lambda: tr.rank(scores, targets, threads=threads),
        ONE: lambda: tr.rank(scores, targets, threads=1),
        **ready(peers, problem, board),
    }
    found = compare(
        f"{shape[0]:,} x {shape[1]:,} against {family}",
        contestants,
        pairs_of(peers, contestants),
        nbytes=scores.nbytes,
        agree=False,
    )
    check(peers, found, problem)


def test_mrr_of_scores(
    compare: Compare,
    board: Board,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    room: Callable[[float], None],
) -> None:
    """From a matrix to its mean reciprocal rank: torchmetrics and ranx."""
    shape = sizes.sorted
    scores, targets = pool.matrix(shape), draw_targets(shape)
    room(80 * scores.size)
    problem = Problem(scores, targets, threads)
    contestants = {
        "truerank": lambda: tr.evaluate(scores, targets, threads=threads)["mrr"],
        **ready(by_retrieval.MRR, problem, board),
    }
    found = compare(
        f"{shape[0]:,} x {shape[1]:,} to mrr",
        contestants,
        pairs_of(by_retrieval.MRR, contestants),
        nbytes=scores.nbytes,
        agree=False,
    )
    check(by_retrieval.MRR, found, problem, own="mrr")


def test_report_of_scores(
    compare: Compare, board: Board, pool: Pool, sizes: Sizes, threads: int
) -> None:
    """From a matrix to 31 metrics of three kinds of rank: PyKEEN's evaluator."""
    shape = sizes.many
    scores, targets = pool.matrix(shape), draw_targets(shape)
    peers = ready(by_torch.EVALUATORS, Problem(scores, targets, threads), board)
    if not peers:
        pytest.skip("PyKEEN is not installed")
    keys = [f"{kind}.{key}" for kind in ("optimistic", "realistic", "pessimistic") for key in SAME]
    found = compare(
        f"{shape[0]:,} x {shape[1]:,} to {len(keys)} metrics",
        {
            "truerank": lambda: tr.evaluate(scores, targets, threads=threads).to_dict(keys),
            **peers,
        },
        [Pair("truerank", name) for name in peers],
        nbytes=scores.nbytes,
        agree=False,
    )
    ours = found["truerank"].result
    for name in peers:
        theirs = found[name].result
        for key in keys:
            kind, mine = key.split(".", 1)
            if not mine.startswith(UNLIKE):
                said = theirs[f"tail.{kind}.{SAME[mine]}"]
                assert said == pytest.approx(ours[key], rel=1e-3), key


def test_sampled_negatives(
    compare: Compare,
    board: Board,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    room: Callable[[float], None],
) -> None:
    """Each truth against its own sampled candidates, as OGB evaluates."""
    shape = sizes.negatives
    scores = pool.matrix(shape)
    room(ROOM["torch"] * scores.size)
    true = scores[:, -1].copy()  # one more of the same kind, whose own row holds it as well
    problem = Problem(scores, draw_targets(shape), threads, true)
    table = {**by_torch.NEGATIVES, **by_numpy.NEGATIVES}
    contestants = {
        "truerank": lambda: tr.rank_against(true, scores, threads=threads),
        ONE: lambda: tr.rank_against(true, scores, threads=1),
        **ready(table, problem, board),
    }
    compare(
        f"{shape[0]:,} truths against {shape[1]:,} negatives each",
        contestants,
        pairs_of(table, contestants),
        nbytes=scores.nbytes,
    )
