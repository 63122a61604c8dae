"""Counting against what users rank with today, all on the same matrix."""

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
# PyKEEN has one value of adjusted hits for all k, and z of another sign: test_report.py has them.
DIFFERENT = ("index.hits", "z.")
# Bytes for each score that the largest peer of a family takes.
MEMORY = {"numpy": 2, "torch": 12, "sorting": 40}


def pairs_of(peers: Peers, contestants: Contestants) -> list[Pair]:
    """Return truerank against every peer; with one thread too, against those with one thread."""
    pairs = []
    for name in contestants:
        if name in peers:
            pairs.append(Pair("truerank", name, goal=GOALS.get(name)))
            if ONE in contestants and "torch" not in peers[name].packages:
                pairs.append(Pair(ONE, name))
    return pairs


def check(peers: Peers, times: dict[str, Times], problem: Problem, ours: str = "counts") -> None:
    """Check every result by the counts of plain numpy; `ours` says what truerank returned."""
    above, tied = numpy_by_row(problem.scores, problem.targets)
    for name, recorded in times.items():
        result = recorded.result
        if isinstance(result, tr.Ranks):
            result = result.above, result.tied
        returns = ours
        if name in peers:
            returns = peers[name].returns
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
    """numpy, torch and PyKEEN, which count; argsort, searchsorted and rankdata, which sort."""
    shape_of_torch = sizes.shared if sizes.quick else sizes.many
    tables: dict[str, tuple[Peers, Shape]] = {
        "numpy": (numpy_scipy.COUNTING, sizes.many),
        "torch": (torch_pykeen.COUNTING, shape_of_torch),
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


def test_mrr_of_scores(
    compare: Compare,
    results: Results,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    require_memory: Callable[[float], None],
) -> None:
    """From a matrix to its mean reciprocal rank, against torchmetrics and ranx."""
    shape = sizes.sorted
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    require_memory(80 * scores.size)
    problem = Problem(scores, targets, threads)
    contestants = {
        "truerank": lambda: tr.evaluate(scores, targets, threads=threads)["mrr"],
        **prepare_peers(retrieval.MRR, problem, results),
    }
    times = compare(
        f"{shape[0]:,} x {shape[1]:,} to mrr",
        contestants,
        pairs_of(retrieval.MRR, contestants),
        nbytes=scores.nbytes,
        agree=False,
    )
    check(retrieval.MRR, times, problem, ours="mrr")


def test_report_of_scores(
    compare: Compare, results: Results, pool: Pool, sizes: Sizes, threads: int
) -> None:
    """From a matrix to 31 metrics of three kinds of rank, against PyKEEN's evaluator."""
    shape = sizes.many
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    peers = prepare_peers(torch_pykeen.EVALUATORS, Problem(scores, targets, threads), results)
    if not peers:
        pytest.skip("PyKEEN is not installed")
    keys = [
        f"{kind}.{key}"
        for kind in ("optimistic", "realistic", "pessimistic")
        for key in METRIC_NAMES
    ]
    times = compare(
        f"{shape[0]:,} x {shape[1]:,} to {len(keys)} metrics",
        {"truerank": lambda: tr.evaluate(scores, targets, threads=threads).to_dict(keys), **peers},
        [Pair("truerank", name) for name in peers],
        nbytes=scores.nbytes,
        agree=False,
    )
    ours = times["truerank"].result
    for name in peers:
        theirs = times[name].result
        for key in keys:
            kind, metric = key.split(".", 1)
            if not metric.startswith(DIFFERENT):
                value = theirs[f"tail.{kind}.{METRIC_NAMES[metric]}"]
                assert value == pytest.approx(ours[key], rel=1e-3), key


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
