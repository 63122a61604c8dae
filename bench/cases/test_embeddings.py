"""Vectors to counts, with no matrix of scores, against what makes the scores alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import truerank as tr
from baselines.compiled import PeakFMA
from harness import Compare, Pair, Results, Team, Times
from harness.synthetic import Sizes, draw_embeddings, draw_filter, draw_targets
from peers import CHECKS, Counts, prepare_peers
from peers.embeddings import SCORING, SLOW, EmbeddingProblem, check_scores, check_top_k, top_k_peers

DIMS = (64, 256, 1024)
DIM = 256  # where one is enough
GOALS = {
    "numpy, matrix product": 1.0,  # which makes the scores and counts nothing
    "torch.cdist, by differences": 15.0,
    "torch.cdist, p=1": 15.0,
    "scipy, cityblock": 50.0,
}
UNIT = "G/s"  # coordinates of pairs: a multiply-add each, where the similarity is dot
SOME = 8  # queries whose counts are taken again, from their scores
BEST = 10
PEAK_ROUNDS = 1_500  # a tenth of a second or less
ROOM = 6e9  # bytes of memory: matrices of scores of three peers


def problem(sizes: Sizes, dim: int, threads: int) -> EmbeddingProblem:
    """Random vectors, and a target for each query."""
    queries, entities = draw_embeddings(sizes.embeddings, dim)
    return EmbeddingProblem(queries, entities, draw_targets(sizes.embeddings), threads)


def rounds_of(sizes: Sizes, dim: int) -> int:
    """Fewer of what takes seconds."""
    return max(3, sizes.rounds // (2 if dim < DIM else 3 if dim == DIM else 5))


def few(sizes: Sizes, dim: int) -> int:
    """Queries that slow peers get: about a second of work with one thread."""
    return min(sizes.embeddings[0] // 8, 16_384 // dim)


def counted(ranks: tr.Ranks) -> Counts:
    """What they count, without the candidates."""
    return ranks.above, ranks.tied


def goal(name: str, sizes: Sizes) -> float | None:
    """The goals are for the full size: small ones are mostly overhead."""
    return None if sizes.quick else GOALS.get(name)


def check_counts(ranks: tr.Ranks, vectors: EmbeddingProblem, similarity: str) -> None:
    """Counts of some queries are those of their scores, exactly; the scores are right."""
    some = vectors.first(SOME)
    scores = tr.score_embeddings(some.queries, some.entities, similarity=similarity)
    check_scores(scores, some, similarity)
    true = scores[np.arange(SOME), some.targets][:, None]
    CHECKS["counts"](counted(ranks[:SOME]), (scores > true).sum(1), (scores == true).sum(1))


class Contestant(NamedTuple):
    """What is timed, how much work a call of it is, and how its answer is checked."""

    call: Callable[[], Any]
    work: int
    check: Callable[[Any], None] = lambda said: None


def scorers(
    similarity: str, vectors: EmbeddingProblem, sizes: Sizes, results: Results
) -> dict[str, Contestant]:
    """The peers that are here; slow ones get fewer queries, and say so in their names."""
    fewer = vectors.first(few(sizes, vectors.entities.shape[1]))
    found = {}
    for table, given in ((SCORING, vectors), (SLOW, fewer)):
        peers = table.get(similarity, {})
        for name, call in prepare_peers(peers, given, results).items():
            tells = peers[name].tells
            check = partial(check_scores, vectors=given, similarity=similarity, tells=tells)
            title = name if given is vectors else f"{name}, {len(given.queries)} queries"
            told = tells in ("scores", "distances")
            found[title] = Contestant(call, given.work, *[check] * told)
    return found


def contest(
    compare: Compare,
    title: str,
    contestants: Mapping[str, Contestant],
    pairs: Sequence[Pair],
    rounds: int,
) -> dict[str, Times]:
    """Time them in turn, and check all of their answers."""
    found = compare(
        title,
        {name: contestant.call for name, contestant in contestants.items()},
        pairs,
        nbytes={name: contestant.work for name, contestant in contestants.items()},
        unit=UNIT,
        rounds=rounds,
        agree=False,
    )
    for name, contestant in contestants.items():
        contestant.check(found[name].result)
    return found


def ours(vectors: EmbeddingProblem, similarity: str, threads: int | None) -> Contestant:
    """truerank, counting included."""
    rank = partial(tr.rank_embeddings, similarity=similarity, threads=threads)
    return Contestant(
        lambda: rank(vectors.queries, vectors.entities, vectors.targets),
        vectors.work,
        partial(check_counts, vectors=vectors, similarity=similarity),
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
    """Counting included, against peers that only make the scores, and against the peak."""
    if sizes.quick and dim == DIMS[-1]:
        pytest.skip("only in full mode")
    require_memory(0 if sizes.quick else ROOM)
    vectors = problem(sizes, dim, team.threads)
    peers = scorers(similarity, vectors, sizes, results)
    pairs = [Pair("truerank", name, goal=goal(name, sizes)) for name in peers]
    if peak is not None:
        roof = f"peak multiply-adds, {peak.isa}"
        peers[roof] = Contestant(*peak.contestant("float32", team.threads, PEAK_ROUNDS))
        pairs.append(Pair("truerank", roof))
    contest(
        compare,
        f"{similarity}, d = {dim}, {team}",
        {"truerank": ours(vectors, similarity, team.argument), **peers},
        pairs,
        rounds_of(sizes, dim),
    )


@pytest.mark.parametrize("similarity", ["cosine", "sql2", "complex_l1", "poincare"])
def test_further_similarities(
    similarity: str, compare: Compare, results: Results, sizes: Sizes, threads: int
) -> None:
    """The others against dot, and against peers where there are any."""
    vectors = problem(sizes, DIM, threads)
    peers = scorers(similarity, vectors, sizes, results)
    contest(
        compare,
        f"{similarity}, d = {DIM}",
        {
            "truerank": ours(vectors, similarity, None),
            **peers,
            "truerank, dot": ours(vectors, "dot", None),
        },
        [
            *(Pair("truerank", name) for name in peers),
            Pair("truerank", "truerank, dot", "cost"),
        ],
        rounds_of(sizes, DIM),
    )


def test_float64(
    compare: Compare,
    results: Results,
    sizes: Sizes,
    threads: int,
    require_memory: Callable[[float], None],
) -> None:
    """float64 vectors against numpy's product of them."""
    require_memory(0 if sizes.quick else ROOM)
    vectors = problem(sizes, DIM, threads)
    wide = vectors._replace(
        queries=vectors.queries.astype(np.float64), entities=vectors.entities.astype(np.float64)
    )
    peers = scorers("dot", wide, sizes, results)
    contest(
        compare,
        f"dot, d = {DIM}, float64",
        {"truerank": ours(wide, "dot", None), **peers},
        [Pair("truerank", name) for name in peers],
        rounds_of(sizes, DIM),
    )


def test_layouts(compare: Compare, sizes: Sizes, threads: int) -> None:
    """Narrow, strided and mapped entities, a bias, a filter, 10 tasks for each query: by dot."""
    vectors = problem(sizes, DIM, threads)
    queries, entities, targets, _ = vectors
    rank = partial(tr.rank_embeddings, queries)
    bias = np.zeros(len(entities), np.float32)
    strided = np.concatenate([entities, entities], axis=1)[:, :DIM]
    lists = draw_filter(sizes.embeddings, 50, np.int64)
    rows, more = np.repeat(np.arange(len(queries)), 10), np.repeat(targets, 10)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "entities.npy")
        np.save(path, entities)
        ways: dict[str, Callable[[], tr.Ranks]] = {
            "float32": lambda: rank(entities, targets),
            "strided": lambda: rank(strided, targets),
            "a file, mapped": lambda: rank(path, targets),
            "bias of zeros": lambda: rank(entities, targets, bias=bias),
            "blocks of 1,000": lambda: rank(entities, targets, block=1_000),
            "filter of 50 per task": lambda: rank(entities, targets, filter=lists),
            "10 tasks for each query": lambda: rank(entities, more, rows=rows),
        }
        narrow = narrowed(entities)
        ways |= {name: partial(rank, array, targets) for name, array in narrow.items()}
        found = compare(
            f"dot, d = {DIM}, ways to hand over",
            ways,
            [Pair(name, "float32", "cost") for name in ways if name != "float32"],
            nbytes=vectors.work,
            unit=UNIT,
            rounds=rounds_of(sizes, DIM),
            agree=False,
            memory=False,  # pages of the file would count
        )
    above, tied = counted(found["float32"].result)
    for name in ("strided", "a file, mapped", "bias of zeros", "blocks of 1,000"):
        CHECKS["counts"](counted(found[name].result), above, tied)
    many = found["10 tasks for each query"].result
    CHECKS["counts"](counted(many[::10]), above, tied)
    for name, array in narrow.items():
        again = rank(array.astype(np.float32), targets)
        CHECKS["counts"](counted(found[name].result), *counted(again))
    assert (found["filter of 50 per task"].result.above <= above).all()


def narrowed(entities: Any) -> dict[str, Any]:
    """The same entities in two bytes each; bfloat16 where ml_dtypes is there."""
    found = {"float16": entities.astype(np.float16)}
    try:
        import ml_dtypes
    except ImportError:
        return found
    return found | {"bfloat16": entities.astype(ml_dtypes.bfloat16)}


def test_top_k(compare: Compare, results: Results, sizes: Sizes, threads: int) -> None:
    """The ten best candidates of each query, by dot."""
    vectors = problem(sizes, DIM, threads)
    peers = prepare_peers(top_k_peers(BEST), vectors, results)
    found = compare(
        f"the {BEST} best by dot, d = {DIM}",
        {
            "truerank": lambda: tr.topk_embeddings(vectors.queries, vectors.entities, BEST),
            **peers,
        },
        [Pair("truerank", name) for name in peers],
        nbytes=vectors.work,
        unit=UNIT,
        rounds=rounds_of(sizes, DIM),
        agree=False,
    )
    check_top_k(found["truerank"].result.ids, vectors)
    for name in peers:
        check_top_k(found[name].result, vectors)
