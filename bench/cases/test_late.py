"""From lists of vectors to counts, by sums of maxima: against numpy and torch."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Pair, Results
from harness.comparing import counts_of
from harness.synthetic import Sizes
from peers import prepare_peers
from peers.late_interaction import LISTS, ListProblem

DOCUMENTS = 2_000
QUERIES, TOKENS = 64, 32
LENGTHS = 100, 181  # of documents
DIM = 128
NOISE = 4.0  # of queries' tokens, whose true tokens have length 1: about half of the ranks are 1
NEAR = 2  # other last bits may exchange so many near ties


def draw_lists(sizes: Sizes, near: bool, threads: int) -> ListProblem:
    """Draw documents of unit vectors around topics; queries are noisy tokens of their targets."""
    rng = np.random.default_rng(0)
    documents = DOCUMENTS // 20 if sizes.quick else DOCUMENTS
    indptr = np.append(0, np.cumsum(rng.integers(*LENGTHS, documents)))
    vectors = rng.standard_normal((indptr[-1], DIM), np.float32)
    if near:
        topics = rng.standard_normal((20, DIM), np.float32)
        vectors += np.repeat(topics[rng.integers(20, size=documents)], np.diff(indptr), axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    targets = rng.integers(documents, size=QUERIES)
    tokens = rng.standard_normal((QUERIES * TOKENS, DIM), np.float32)
    if near:
        places = rng.integers(np.diff(indptr)[targets][:, None], size=(QUERIES, TOKENS))
        tokens *= np.float32(NOISE / DIM**0.5)
        tokens += vectors[(indptr[targets][:, None] + places).ravel()]
    queries = tokens, np.arange(0, len(tokens) + 1, TOKENS)
    return ListProblem(queries, (vectors, indptr), targets, threads)


@pytest.mark.parametrize("targets", ["near their queries", "random"])
def test_late_interaction(
    targets: str, compare: Compare, results: Results, sizes: Sizes, threads: int
) -> None:
    """Ranks of targets by maxsim: of vectors as after training, and of any."""
    problem = draw_lists(sizes, targets != "random", threads)
    contestants = prepare_peers(LISTS, problem, results)
    documents = len(problem.documents[1]) - 1
    times = compare(
        f"{QUERIES} queries of {TOKENS} tokens, {documents:,} documents, targets {targets}",
        {
            "truerank": lambda: tr.rank_embeddings(
                problem.queries,
                problem.documents,
                problem.targets,
                similarity="maxsim",
                threads=threads,
            ),
            **contestants,
        },
        [Pair("truerank", name) for name in contestants],
        nbytes=problem.work,
        unit="G/s",
        rounds=5,
        agree=False,
    )
    ranks = times["truerank"].result
    scores = tr.score_embeddings(problem.queries, problem.documents, similarity="maxsim")
    true_scores = scores[np.arange(QUERIES), problem.targets][:, None]
    assert ((scores > true_scores).sum(1) == ranks.above).all()
    for name in contestants:
        if LISTS[name].returns == "counts":  # their scores have other last bits
            assert np.abs(counts_of(times[name].result)[0] - ranks.above).max() <= NEAR
