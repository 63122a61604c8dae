"""From embeddings to counts, without a matrix of scores, against peers that only score."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401  # so that numpy knows bfloat16
import numpy as np
import pytest

import truerank as tr
from baselines.compiled import PeakFMA
from harness import Compare, Pair, Results, Team, Times
from harness.comparing import counts_of
from harness.synthetic import Sizes, draw_embeddings, draw_filter, draw_targets
from peers import CHECKS, Peers, prepare_peers
from peers.embeddings import (
    SCORING,
    SLOW,
    EmbeddingProblem,
    check_scores,
    check_top_k,
    scored_by,
    top_k_peers,
)

DIMS = (64, 256, 1024)
DIM = 256  # in cases of one dimension
GOALS = {
    "numpy, matrix product": 1.0,  # it only scores
    "torch.cdist, by differences": 15.0,
    "torch.cdist, p=1": 15.0,
    "scipy, cityblock": 50.0,
}
UNIT = "G/s"  # 10^9 coordinates of pairs: a multiply-add each, where the similarity is dot
CHECKED = 8  # queries that are counted again, from their scores
FEW_QUERIES = (1, 2, 4, 8)
FEW = 1_000_000, 128  # entities and dimensions for few queries; in quick mode, a fiftieth
# Queries, entities and dimensions of a small retriever of texts.
RETRIEVER = 1_000, 100_000, 384
NOISE = 4.0  # times a random vector is added to a target: about half of the ranks are 1
COUNTED = "numpy, product, > and =="
PEAK_ROUNDS = 1_500  # a tenth of a second or less
MEMORY = 6e9  # bytes: matrices of scores of three peers


def make_problem(sizes: Sizes, dim: int, threads: int) -> EmbeddingProblem:
    """Return random embeddings, and a target for each query."""
    queries, entities = draw_embeddings(sizes.embeddings, dim)
    return EmbeddingProblem(queries, entities, draw_targets(sizes.embeddings), threads)


def rounds_of(sizes: Sizes, dim: int) -> int:
    """Return the rounds of a case: fewer where a call takes seconds."""
    if dim < DIM:
        return max(3, sizes.rounds // 2)
    if dim == DIM:
        return max(3, sizes.rounds // 3)
    return max(3, sizes.rounds // 5)


def queries_of_slow_peers(sizes: Sizes, dim: int) -> int:
    """Return how many queries slow peers get: about a second of work with one thread."""
    return min(sizes.embeddings[0] // 8, 16_384 // dim)


def goal(name: str, sizes: Sizes) -> float | None:
    """Return the goal against a peer; none in quick mode, whose sizes are mostly overhead."""
    if sizes.quick:
        return None
    return GOALS.get(name)


def check_counts(ranks: tr.Ranks, problem: EmbeddingProblem, similarity: str) -> None:
    """Compare the counts of some queries with those of their scores, and check the scores."""
    sample = problem.first(CHECKED)
    scores = tr.score_embeddings(sample.queries, sample.entities, **scored_by(similarity))
    check_scores(scores, sample, similarity)
    true_scores = scores[np.arange(CHECKED), sample.targets][:, None]
    above = (scores > true_scores).sum(1)
    tied = (scores == true_scores).sum(1)
    CHECKS["counts"](counts_of(ranks[:CHECKED]), above, tied)


class Contestant(NamedTuple):
    """A function to time, the work that a call of it does, and a check of its result."""

    call: Callable[[], Any]
    work: int
    check: Callable[[Any], None] = lambda result: None


def scoring_peers(
    similarity: str, problem: EmbeddingProblem, sizes: Sizes, results: Results
) -> dict[str, Contestant]:
    """Return the peers that can run; the names of slow ones say how many queries they get."""
    small = problem.first(queries_of_slow_peers(sizes, problem.entities.shape[1]))
    contestants = {}
    for table, current in ((SCORING, problem), (SLOW, small)):
        peers = table.get(similarity, {})
        for name, call in prepare_peers(peers, current, results).items():
            returns = peers[name].returns
            check = partial(check_scores, problem=current, similarity=similarity, returns=returns)
            title = name
            if current is not problem:
                title += f", {len(current.queries)} queries"
            check_of = [check] if returns in ("scores", "distances") else []
            contestants[title] = Contestant(call, current.work, *check_of)
    return contestants


def compare_and_check(
    compare: Compare,
    title: str,
    contestants: Mapping[str, Contestant],
    pairs: Sequence[Pair],
    rounds: int,
) -> dict[str, Times]:
    """Time contestants in turn, and check all their results."""
    times = compare(
        title,
        {name: contestant.call for name, contestant in contestants.items()},
        pairs,
        nbytes={name: contestant.work for name, contestant in contestants.items()},
        unit=UNIT,
        rounds=rounds,
        agree=False,
    )
    for name, contestant in contestants.items():
        contestant.check(times[name].result)
    return times


def ours(problem: EmbeddingProblem, similarity: str, threads: int | None) -> Contestant:
    """Return truerank as a contestant, counting included."""
    rank = partial(tr.rank_embeddings, **scored_by(similarity), threads=threads)
    return Contestant(
        lambda: rank(problem.queries, problem.entities, problem.targets),
        problem.work,
        partial(check_counts, problem=problem, similarity=similarity),
    )


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("similarity", ["dot", "l2", "l1"])
def test_similarity(
    similarity: str,
    dim: int,
    compare: Compare,
    results: Results,
    sizes: Sizes,
    team: Team,
    peak: PeakFMA | None,
    require_memory: Callable[[float], None],
) -> None:
    """Counting included, against peers that only score, and against the peak of arithmetic."""
    if sizes.quick and dim == DIMS[-1]:
        pytest.skip("only in full mode")
    if not sizes.quick:
        require_memory(MEMORY)
    problem = make_problem(sizes, dim, team.threads)
    peers = scoring_peers(similarity, problem, sizes, results)
    pairs = [Pair("truerank", name, goal=goal(name, sizes)) for name in peers]
    if peak is not None:
        roofline = f"peak multiply-adds, {peak.isa}"
        peers[roofline] = Contestant(*peak.contestant("float32", team.threads, PEAK_ROUNDS))
        pairs.append(Pair("truerank", roofline))
    compare_and_check(
        compare,
        f"{similarity}, d = {dim}, {team}",
        {"truerank": ours(problem, similarity, team.argument), **peers},
        pairs,
        rounds_of(sizes, dim),
    )


@pytest.mark.parametrize("similarity", ["cosine", "sql2", "complex_l1", "poincare", "float64"])
def test_further_similarities(
    similarity: str,
    compare: Compare,
    results: Results,
    sizes: Sizes,
    threads: int,
    require_memory: Callable[[float], None],
) -> None:
    """Other similarities, and float64, against dot, and against peers where there are any."""
    problem = given = make_problem(sizes, DIM, threads)
    title = f"{similarity}, d = {DIM}"
    if similarity == "float64":
        if not sizes.quick:
            require_memory(MEMORY)
        wide = (array.astype(np.float64) for array in problem[:2])
        similarity = "dot"
        title = f"dot, d = {DIM}, float64"
        given = EmbeddingProblem(*wide, *problem[2:])
    peers = scoring_peers(similarity, given, sizes, results)
    pairs = [Pair("truerank", name) for name in peers]
    pairs.append(Pair("truerank", "truerank, dot", "cost"))
    compare_and_check(
        compare,
        title,
        {
            "truerank": ours(given, similarity, None),
            **peers,
            "truerank, dot": ours(problem, "dot", None),
        },
        pairs,
        rounds_of(sizes, DIM),
    )


def test_layouts(compare: Compare, sizes: Sizes, threads: int) -> None:
    """Entities of 16 bits, strided or mapped, a bias, a filter, 10 tasks for each query: by dot."""
    problem = make_problem(sizes, DIM, threads)
    queries, entities, targets, _ = problem
    rank = partial(tr.rank_embeddings, queries)
    bias = np.zeros(len(entities), np.float32)
    strided = np.concatenate([entities, entities], axis=1)[:, :DIM]
    selection = draw_filter(sizes.embeddings, 50, np.int64)
    rows = np.repeat(np.arange(len(queries)), 10)
    repeated = np.repeat(targets, 10)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "entities.npy")
        np.save(path, entities)
        contestants: dict[str, Callable[[], tr.Ranks]] = {
            "float32": lambda: rank(entities, targets),
            "strided": lambda: rank(strided, targets),
            "a file, mapped": lambda: rank(path, targets),
            "bias of zeros": lambda: rank(entities, targets, bias=bias),
            "filter of 50 per task": lambda: rank(entities, targets, filter=selection),
            "10 tasks for each query": lambda: rank(entities, repeated, rows=rows),
        }
        two_bytes = {name: entities.astype(name) for name in ("float16", "bfloat16")}
        contestants |= {name: partial(rank, array, targets) for name, array in two_bytes.items()}
        times = compare(
            f"dot, d = {DIM}, layouts of the input",
            contestants,
            [Pair(name, "float32", "cost") for name in contestants if name != "float32"],
            nbytes=problem.work,
            unit=UNIT,
            rounds=rounds_of(sizes, DIM),
            agree=False,
            memory=False,  # the pages of the file would count
        )
    above, tied = counts_of(times["float32"].result)
    for name in ("strided", "a file, mapped", "bias of zeros"):
        CHECKS["counts"](counts_of(times[name].result), above, tied)
    ten = times["10 tasks for each query"].result
    CHECKS["counts"](counts_of(ten[::10]), above, tied)
    for name, array in two_bytes.items():
        expected = rank(array.astype(np.float32), targets)
        CHECKS["counts"](counts_of(times[name].result), *counts_of(expected))
    assert (times["filter of 50 per task"].result.above <= above).all()


@pytest.mark.parametrize("queries", FEW_QUERIES)
def test_few_queries(
    queries: int,
    compare: Compare,
    results: Results,
    sizes: Sizes,
    require_memory: Callable[[float], None],
) -> None:
    """Counts and the top ten of few queries, with one thread: most of the time goes to reading."""
    entities, dim = FEW
    goal_of_all: float | None = 1.0
    if sizes.quick:
        entities //= 50
        goal_of_all = None
    else:
        require_memory(MEMORY)
    shape = (queries, entities)
    problem = EmbeddingProblem(*draw_embeddings(shape, dim), draw_targets(shape), 1)
    names = "numpy, matrix product", "faiss, flat index"
    table = {**SCORING["dot"], **top_k_peers(10)}
    peers = {name: table[name] for name in names}
    contestants: dict[str, Callable[[], Any]] = prepare_peers(peers, problem, results)
    vectors = problem.queries, problem.entities
    ours = {
        "truerank, counts": lambda: tr.rank_embeddings(*vectors, problem.targets, threads=1),
        "truerank, top 10": lambda: tr.topk_embeddings(*vectors, 10, threads=1),
    }
    word = "query" if queries == 1 else "queries"
    times = compare(
        f"{queries} {word} by dot, d = {dim}, 1 thread",
        {**ours, **contestants},
        [Pair(name, peer, goal=goal_of_all) for name in ours for peer in contestants],
        nbytes=problem.work,
        unit=UNIT,
        agree=False,
    )
    check_top_k(times["truerank, top 10"].result.ids, problem)


@pytest.mark.parametrize("targets", ["near their queries", "random"])
def test_targets_and_top_ten(
    targets: str, compare: Compare, results: Results, sizes: Sizes, threads: int
) -> None:
    """Ranks of targets, and the top ten, by dot: of vectors as after training, and of any."""
    queries, entities, dim = RETRIEVER
    if sizes.quick:
        entities //= 50
    shape = (queries, entities)
    problem = EmbeddingProblem(*draw_embeddings(shape, dim), draw_targets(shape), threads)
    if targets != "random":
        near = problem.entities[problem.targets] + np.float32(NOISE) * problem.queries
        problem = problem._replace(queries=near)
    names = ("numpy, matrix product", COUNTED)
    peers: Peers = {**{name: SCORING["dot"][name] for name in names}, **top_k_peers(10)}
    contestants = prepare_peers(peers, problem, results)
    vectors = problem.queries, problem.entities
    times = compare(
        f"{queries:,} x {entities:,} by dot, d = {dim}, targets {targets}",
        {
            "truerank, ranks": lambda: tr.rank_embeddings(
                *vectors, problem.targets, similarity="dot", threads=threads
            ),
            "truerank, top 10": lambda: tr.topk_embeddings(
                *vectors, 10, similarity="dot", threads=threads
            ),
            **contestants,
        },
        [
            *(Pair("truerank, ranks", name) for name in contestants),
            *(Pair("truerank, top 10", name) for name in top_k_peers(10) if name in contestants),
        ],
        nbytes=problem.work,
        unit=UNIT,
        rounds=rounds_of(sizes, dim),
        agree=False,
    )
    ranks = times["truerank, ranks"].result
    check_counts(ranks, problem, "dot")
    if COUNTED in contestants:  # whose scores have other last bits
        assert np.abs(times[COUNTED].result[0] - ranks.above).max() <= 2
    check_top_k(times["truerank, top 10"].result.ids, problem)
    for name in top_k_peers(10):
        if name in contestants:
            check_top_k(times[name].result, problem)
