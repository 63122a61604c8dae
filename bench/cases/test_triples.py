"""From triples to tasks and reports: queries, targets, filters and labels of both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair
from harness.synthetic import Sizes, draw_embeddings, draw_triples
from peers.embeddings import EmbeddingProblem

RELATIONS = 500
SIDES = {"head": (2, 0), "tail": (0, 2)}  # columns of a triple: in the query, and the target
DIM = 64

Answers = dict[tuple[int, int], set[int]]
MakeTask = Callable[[], tr.link_prediction.Task]


def answers_of(known: NDArray[np.int64]) -> dict[str, Answers]:
    """Return the filter as evaluation scripts build it: each query's set of answers, by side."""
    answers: dict[str, Answers] = {side: defaultdict(set) for side in SIDES}
    for head, relation, tail in known.tolist():
        answers["head"][tail, relation].add(head)
        answers["tail"][head, relation].add(tail)
    return answers


def test_task(compare: Compare, sizes: Sizes) -> None:
    """From triples to a task, against dictionaries of sets and a sort; a tenth is tested."""
    entities = sizes.triples // 20
    triples = draw_triples(sizes.triples, entities, RELATIONS)
    test, train = np.split(triples, [sizes.triples // 10])
    times = compare(
        f"{sizes.triples:,} triples to tasks of both sides",
        {
            "truerank, Task": lambda: tr.link_prediction.Task(
                test, {"train": train}, entities=entities
            ),
            "Python, dictionaries of sets": lambda: answers_of(triples),
            "numpy, argsort of a column": lambda: np.argsort(triples[:, 0]),
        },
        [
            Pair("truerank, Task", "Python, dictionaries of sets"),
            Pair("truerank, Task", "numpy, argsort of a column", "cost", 5.0),
        ],
        rounds=3,
        agree=False,
    )
    task = times["truerank, Task"].result
    answers = times["Python, dictionaries of sets"].result
    for side, (known, target) in SIDES.items():
        tasks = task.sides[side]
        np.testing.assert_array_equal(tasks.targets, test[:, target])
        indptr, indices = tasks.filter[:2]
        for k in range(0, len(test), max(1, len(test) // 500)):
            query = tasks.rows[k]
            expected = answers[side][test[k, known], test[k, 1]]
            assert set(indices[indptr[query] : indptr[query + 1]].tolist()) == expected


def task_of_a_quarter(sizes: Sizes) -> tuple[tr.link_prediction.Task, MakeTask]:
    """Return a task, a quarter of whose triples is tested, and what makes it.

    It has two sides: a million tasks in a full run.
    """
    entities = sizes.triples // 20
    triples = draw_triples(sizes.triples, entities, RELATIONS)
    test, train = np.split(triples, [sizes.triples // 4])

    def make() -> tr.link_prediction.Task:
        return tr.link_prediction.Task(test, {"train": train}, entities=entities)

    return make(), make


def test_parts(compare: Compare, sizes: Sizes) -> None:
    """Parts of a task against making it."""
    task, make = task_of_a_quarter(sizes)
    tasks = sum(len(side) for side in task.sides.values())
    times = compare(
        f"parts of {tasks:,} tasks",
        {
            "one of four": lambda: task[0::4],
            "one of a thousand": lambda: task[0::1000],
            "the whole, made": make,
        },
        [
            Pair("one of four", "the whole, made", "cost", 0.2),
            Pair("one of a thousand", "the whole, made", "cost", 0.05),
        ],
        rounds=3,
        agree=False,
    )
    assert len(times["one of four"].result) == -(-len(task) // 4)


def test_joined_parts(compare: Compare, sizes: Sizes) -> None:
    """Ranks of four parts, joined to those of the whole, against their report."""
    task, _ = task_of_a_quarter(sizes)
    whole = rank_at_random(task)
    counted = [rank_at_random(task[p::4]) for p in range(4)]
    times = compare(
        f"ranks of {len(whole):,} tasks, joined from four parts",
        {
            "concatenate": lambda: tr.concatenate(counted),
            "report": lambda: tr.report(whole)["mrr"],
        },
        [Pair("concatenate", "report", "cost")],
        rounds=3,
        agree=False,
    )
    assert times["concatenate"].result == whole


def rank_at_random(task: tr.link_prediction.Task) -> tr.Ranks:
    """Give ranks of both sides that a hash of each task decides, in place of a model."""
    ranks = []
    for side in task.sides.values():
        above = (side.labels["unit"].codes * 7919 + side.targets) % 1000
        counts = tr.Ranks(above, np.ones_like(above), side.n_candidates)
        ranks.append(counts.with_labels(**side.labels))
    return tr.concatenate(ranks)._with(origins=(task.origin,))  # as those of `evaluate` have


def test_evaluate_embeddings(compare: Compare, sizes: Sizes, threads: int) -> None:
    """From triples and embeddings to a report, against the counting in it alone."""
    entities = sizes.triples // 100
    triples = draw_triples(sizes.triples // 10, entities, RELATIONS)
    test, train = np.split(triples, [min(10_000, len(triples) // 10)])
    task = tr.link_prediction.Task(test, {"train": train}, entities=entities)
    queries, embeddings = draw_embeddings((len(test), entities), DIM)
    problem = EmbeddingProblem(queries, embeddings, test[:, 2], threads)
    # The rows of a query have one vector.
    tail, head = queries[task.tail.rows], queries[task.head.rows]

    def evaluate() -> tr.Report:
        report = task.evaluate_embeddings(tail, head=head, entities=embeddings, similarity="l1")
        report.to_dict(["mrr", "hits@10", "amri", "head.mrr", "tail.mrr"])
        return report

    def count() -> list[tr.Ranks]:
        return [
            tr.rank_embeddings(queries, embeddings, test[:, column], similarity="l1")
            for column in (0, 2)
        ]

    times = compare(
        f"{len(test):,} test triples, {entities:,} entities, d = {DIM}, l1",
        {"truerank, filtered report": evaluate, "truerank, counts alone": count},
        [Pair("truerank, filtered report", "truerank, counts alone", "cost")],
        nbytes=2 * problem.work,
        unit="G/s",
        rounds=3,
        agree=False,
    )
    assert len(times["truerank, filtered report"].result.ranks) == 2 * len(test)
