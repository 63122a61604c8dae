"""Triples to tasks: queries, targets, filters and labels of both sides."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair
from harness.synthetic import Sizes, draw_embeddings, draw_triples
from peers.embeddings import EmbeddingProblem

RELATIONS = 500
SIDES = {"head": (2, 0), "tail": (0, 2)}  # the column that is given, the one that is asked for
DIM = 64

Answers = dict[tuple[int, int], set[int]]


def dictionaries(known: NDArray[np.int64]) -> dict[str, Answers]:
    """The filter as evaluation scripts build it: a set of answers for each query of each side."""
    found: dict[str, Answers] = {side: defaultdict(set) for side in SIDES}
    for head, relation, tail in known.tolist():
        found["head"][tail, relation].add(head)
        found["tail"][head, relation].add(tail)
    return found


def test_task(compare: Compare, sizes: Sizes) -> None:
    """A tenth of the triples is the test split."""
    entities = sizes.triples // 20
    triples = draw_triples(sizes.triples, entities, RELATIONS)
    test, train = np.split(triples, [sizes.triples // 10])
    found = compare(
        f"{sizes.triples:,} triples to tasks of both sides",
        {
            "truerank, Task": lambda: tr.link_prediction.Task(
                test, {"train": train}, entities=entities
            ),
            "Python, dictionaries of sets": lambda: dictionaries(triples),
        },
        [Pair("truerank, Task", "Python, dictionaries of sets")],
        rounds=3,
        agree=False,
    )
    task = found["truerank, Task"].result
    answers = found["Python, dictionaries of sets"].result
    for side, (given, asked) in SIDES.items():
        made = task.sides[side]
        np.testing.assert_array_equal(made.targets, test[:, asked])
        indptr, indices = made.filter
        for k in range(0, len(test), max(1, len(test) // 500)):
            query = made.rows[k]
            expected = answers[side][test[k, given], test[k, 1]]
            assert set(indices[indptr[query] : indptr[query + 1]].tolist()) == expected


def test_evaluate_embeddings(compare: Compare, sizes: Sizes, threads: int) -> None:
    """Triples and vectors to a report, against the counting in it."""
    entities = sizes.triples // 100
    triples = draw_triples(sizes.triples // 10, entities, RELATIONS)
    test, train = np.split(triples, [min(10_000, len(triples) // 10)])
    task = tr.link_prediction.Task(test, {"train": train}, entities=entities)
    queries, vectors = draw_embeddings((len(test), entities), DIM)
    problem = EmbeddingProblem(queries, vectors, test[:, 2], threads)

    def both() -> tr.Report:
        report = task.evaluate_embeddings(queries, queries, vectors, similarity="l1")
        report.to_dict(["mrr", "hits@10", "amri", "head.mrr", "tail.mrr"])
        return report

    def count() -> list[tr.Ranks]:
        return [
            tr.rank_embeddings(queries, vectors, test[:, column], similarity="l1")
            for column in (0, 2)
        ]

    found = compare(
        f"{len(test):,} test triples, {entities:,} entities, d = {DIM}, l1",
        {"truerank, filtered report": both, "truerank, counts alone": count},
        [Pair("truerank, filtered report", "truerank, counts alone", "cost")],
        nbytes=2 * problem.work,
        unit="G/s",
        rounds=3,
        agree=False,
    )
    assert len(found["truerank, filtered report"].result.ranks) == 2 * len(test)
