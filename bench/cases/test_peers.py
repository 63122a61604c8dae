"""Counting against what its users rank with today, all on the same matrix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import truerank as tr
from harness import Compare, Contestants, Pair, Results, Times
from harness.synthetic import Pool, Shape, Sizes, draw_targets
from peers import CHECKS, Peers, Problem, numpy_scipy, prepare_peers, retrieval, torch_pykeen
from peers.numpy_scipy import numpy_by_row
from peers.torch_pykeen import METRIC_NAMES

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
    results: Results,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    require_memory: Callable[[float], None],
) -> None:
    """numpy, torch and PyKEEN count; argsort, searchsorted and scipy's rankdata sort."""
    tables: dict[str, tuple[Peers, Shape]] = {
        "numpy": (numpy_scipy.COUNTING, sizes.many),
        "torch": (torch_pykeen.COUNTING, sizes.shared if sizes.quick else sizes.many),
        "sorting": (numpy_scipy.SORTING, sizes.sorted),
    }
    peers, shape = tables[family]
    scores, targets = pool.matrix(shape), draw_targets(shape)
    require_memory(ROOM[family] * scores.size)
    problem = Problem(scores, targets, threads)
    contestants = {
        "truerank": lambda: tr.rank(scores, targets, threads=threads),
        ONE: lambda: tr.rank(scores, targets, threads=1),
        **prepare_peers(peers, problem, results),
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
    results: Results,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    require_memory: Callable[[float], None],
) -> None:
    """From a matrix to its mean reciprocal rank: torchmetrics and ranx."""
    shape = sizes.sorted
    scores, targets = pool.matrix(shape), draw_targets(shape)
    require_memory(80 * scores.size)
    problem = Problem(scores, targets, threads)
    contestants = {
        "truerank": lambda: tr.evaluate(scores, targets, threads=threads)["mrr"],
        **prepare_peers(retrieval.MRR, problem, results),
    }
    found = compare(
        f"{shape[0]:,} x {shape[1]:,} to mrr",
        contestants,
        pairs_of(retrieval.MRR, contestants),
        nbytes=scores.nbytes,
        agree=False,
    )
    check(retrieval.MRR, found, problem, own="mrr")


def test_report_of_scores(
    compare: Compare, results: Results, pool: Pool, sizes: Sizes, threads: int
) -> None:
    """From a matrix to 31 metrics of three kinds of rank: PyKEEN's evaluator."""
    shape = sizes.many
    scores, targets = pool.matrix(shape), draw_targets(shape)
    peers = prepare_peers(torch_pykeen.EVALUATORS, Problem(scores, targets, threads), results)
    if not peers:
        pytest.skip("PyKEEN is not installed")
    keys = [
        f"{kind}.{key}"
        for kind in ("optimistic", "realistic", "pessimistic")
        for key in METRIC_NAMES
    ]
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
                said = theirs[f"tail.{kind}.{METRIC_NAMES[mine]}"]
                assert said == pytest.approx(ours[key], rel=1e-3), key


def test_sampled_negatives(
    compare: Compare,
    results: Results,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    require_memory: Callable[[float], None],
) -> None:
    """Each truth against its own sampled candidates, as OGB evaluates."""
    shape = sizes.negatives
    scores = pool.matrix(shape)
    require_memory(ROOM["torch"] * scores.size)
    true = scores[:, -1].copy()  # one more of the same kind, whose own row holds it as well
    problem = Problem(scores, draw_targets(shape), threads, true)
    table = {**torch_pykeen.NEGATIVES, **numpy_scipy.NEGATIVES}
    contestants = {
        "truerank": lambda: tr.rank_against(true, scores, threads=threads),
        ONE: lambda: tr.rank_against(true, scores, threads=1),
        **prepare_peers(table, problem, results),
    }
    compare(
        f"{shape[0]:,} truths against {shape[1]:,} negatives each",
        contestants,
        pairs_of(table, contestants),
        nbytes=scores.nbytes,
    )
