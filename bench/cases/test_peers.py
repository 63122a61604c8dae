"""Counting against what users rank with today, all on the same matrix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import truerank as tr
from baselines.compiled import ReadPass
from harness import Compare, Contestants, Pair, Results, Times
from harness.synthetic import Pool, Shape, Sizes, draw_targets
from peers import CHECKS, Peers, Problem, numpy_scipy, prepare_peers, torch_pykeen
from peers.numpy_scipy import numpy_by_row

ONE = "truerank, 1 thread"
GOALS = {"numpy, > and ==": 10.0}
# Bytes for each score that the largest peer of a family takes.
MEMORY = {"numpy": 2, "torch": 12, "sorting": 40}


def pairs_of(peers: Peers, contestants: Contestants) -> list[Pair]:
    """Return truerank against every peer; with one thread too, against those with one thread."""
    pairs = []
    for name in contestants:
        if name in peers:
            pairs.append(Pair("truerank", name, goal=GOALS.get(name)))
            if ONE in contestants and not {"torch", "numba"} & set(peers[name].packages):
                pairs.append(Pair(ONE, name))
    return pairs


def check(peers: Peers, times: dict[str, Times], problem: Problem) -> None:
    """Check every result by the counts of plain numpy."""
    above, tied = numpy_by_row(problem.scores, problem.targets)
    for name, recorded in times.items():
        result = recorded.result
        if isinstance(result, tr.Ranks):
            result = result.above, result.tied
        returns = peers[name].returns if name in peers else "counts"
        CHECKS[returns](result, above, tied)


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
    """numpy, numba, torch and PyKEEN count; argsort, searchsorted and rankdata sort."""
    tables: dict[str, tuple[Peers, Shape]] = {
        "numpy": (numpy_scipy.COUNTING, sizes.many),
        "torch": (torch_pykeen.COUNTING, sizes.shared),
        "sorting": (numpy_scipy.SORTING, sizes.sorted),
    }
    peers, shape = tables[family]
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    require_memory(MEMORY[family] * scores.size)
    problem = Problem(scores, targets, threads)
    contestants = {
        "truerank": lambda: tr.rank(scores, targets, threads=threads),
        ONE: lambda: tr.rank(scores, targets, threads=1),
        **prepare_peers(peers, problem, results),
    }
    times = compare(
        f"{shape[0]:,} x {shape[1]:,} against {family}",
        contestants,
        pairs_of(peers, contestants),
        nbytes=scores.nbytes,
        agree=False,
    )
    check(peers, times, problem)


def test_bars(
    compare: Compare,
    results: Results,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    read_pass: ReadPass,
    require_memory: Callable[[float], None],
) -> None:
    """The fastest of each family in one run, for the picture of README: the files of `results`."""
    scores = pool.matrix(sizes.many)
    targets = draw_targets(sizes.many)
    require_memory(MEMORY["numpy"] * scores.size)
    every = {**numpy_scipy.COUNTING, **torch_pykeen.COUNTING}
    peers = {name: every[name] for name in every if name != "torch, > and =="}
    problem = Problem(scores, targets, threads)
    contestants = {
        "truerank": lambda: tr.rank(scores, targets, threads=threads),
        "read pass": read_pass.contestant(scores, threads),
        **prepare_peers(peers, problem, results),
    }
    times = compare(
        f"{scores.shape[0]:,} x {scores.shape[1]:,}, bars",
        contestants,
        [Pair("truerank", name) for name in contestants if name != "truerank"],
        nbytes=scores.nbytes,
        agree=False,
    )
    check(peers, {name: t for name, t in times.items() if name != "read pass"}, problem)


def test_sampled_negatives(
    compare: Compare,
    results: Results,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    require_memory: Callable[[float], None],
) -> None:
    """Each true score against its own sampled candidates, as OGB evaluates."""
    shape = sizes.negatives
    scores = pool.matrix(shape)
    require_memory(MEMORY["torch"] * scores.size)
    true_scores = scores[:, -1].copy()  # drawn like the negatives, one of which it equals
    problem = Problem(scores, draw_targets(shape), threads, true_scores)
    table = {**torch_pykeen.NEGATIVES, **numpy_scipy.NEGATIVES}
    contestants = {
        "truerank": lambda: tr.rank_against(true_scores, scores, threads=threads),
        ONE: lambda: tr.rank_against(true_scores, scores, threads=1),
        **prepare_peers(table, problem, results),
    }
    compare(
        f"{shape[0]:,} true scores against {shape[1]:,} negatives each",
        contestants,
        pairs_of(table, contestants),
        nbytes=scores.nbytes,
    )
