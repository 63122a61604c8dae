"""What is around counts: the time of tasks, lists, names, groups and filters, and how it grows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Pair, Team
from harness.growth import fit_exponent, geometric_sizes
from harness.synthetic import Pool, Sizes, draw_targets
from harness.table import Results, exponent_row
from harness.task_work import BASELINES, GROWING, Interactions, OneList, Queries, hub

AT_MOST = (0.0, 1.1)  # goal for the exponent of time in size
SIZES = 4
ROUNDS = 3
QUICK = 20  # times smaller, where fixed costs are part of the time


@pytest.mark.parametrize("name", GROWING | BASELINES)
def test_work_is_linear(name: str, compare: Compare, results: Results, sizes: Sizes) -> None:
    """Time against size; all sizes take turns."""
    growing = (GROWING | BASELINES)[name]
    largest = growing.largest
    if sizes.quick:
        largest //= QUICK
    tried = geometric_sizes(largest / 8, largest, SIZES)
    works = {f"{size:,} {growing.of}": growing.make(size) for size in tried}
    times = compare(
        name,
        works,
        [],
        rounds=3,
        budget=sizes.budget / 4,
        show=False,
        agree=False,
    )
    seconds = [times[label].best for label in works]
    law = fit_exponent(f"time in {growing.of}", tried, seconds)
    goal: tuple[float, float] | None = AT_MOST
    contestant = "truerank"
    if name in BASELINES:
        contestant = "numpy"
    if sizes.quick or name in BASELINES:
        goal = None
    results.rows.append(exponent_row(f"{name}, {tried[0]:,} to {largest:,}", contestant, law, goal))


def test_interactions(compare: Compare, sizes: Sizes) -> None:
    """Integers as columns to a task of recommendation."""
    data = Interactions(sizes.triples // 2)
    times = compare(
        f"{len(data.test[0]):,} test and {len(data.known[0]):,} known items of users to a task",
        {"truerank, Task": data.task, "scipy, CSR of the known": data.matrix},
        [Pair("truerank, Task", "scipy, CSR of the known", "cost", 3.5)],
        rounds=ROUNDS,
        agree=False,
    )
    task = times["truerank, Task"].result
    assert len(task.answers) <= len(data.test[0])


def test_filter_in_any_order(compare: Compare, pool: Pool, sizes: Sizes, team: Team) -> None:
    """Entries of a filter that are out of order and repeated, against sorted and distinct ones."""
    shape = sizes.shared
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    rng = np.random.default_rng(6)
    each = shape[1] // 5
    entries = rng.integers(0, shape[1], (shape[0], each))
    indptr = np.arange(shape[0] + 1) * each
    lists = [np.unique(row) for row in entries]
    clean = np.cumsum([0, *map(len, lists)]), np.concatenate(lists)
    unsorted = indptr, entries.ravel()
    compare(
        f"filter of {entries.size:,} entries in any order, with repeats, {team}",
        {
            "in any order": partial(
                tr.rank, scores, targets, filter=unsorted, threads=team.argument
            ),
            "sorted, distinct": partial(
                tr.rank, scores, targets, filter=clean, threads=team.argument
            ),
        },
        [Pair("in any order", "sorted, distinct", "cost")],
    )


@pytest.mark.parametrize(
    ("queries", "answers", "entities", "dim"), [(50, 2_000, 100_000, 64), (1, 200_000, 200_000, 8)]
)
def test_queries_with_many_answers(
    queries: int, answers: int, entities: int, dim: int, compare: Compare
) -> None:
    """Vectors to counts, against a matrix of scores and its counts; one thread."""
    data = Queries(queries, answers, entities, dim)
    compare(
        f"{queries} queries x {answers:,} answers, {entities:,} entities, d={dim}, 1 thread",
        {"rank_embeddings": data.of_vectors, "scores, rank": data.of_scores},
        [Pair("rank_embeddings", "scores, rank", "cost", 1.0)],
        rounds=ROUNDS,
    )


def test_one_list(compare: Compare) -> None:
    """One list with a filter that its tasks share, against a row of scores."""
    data = OneList(40_000)
    compare(
        "one list of 40,000, 10,000 tasks with one filter",
        {"rank_lists": data.of_lists, "rank, one row": data.of_scores},
        [Pair("rank_lists", "rank, one row", "cost", 5.0)],
        rounds=ROUNDS,
    )


def test_drawn_of_a_hub(compare: Compare) -> None:
    """Fifty drawn candidates for each of 8,000 facts of one query, against all candidates."""
    compare(
        "8,000 test and 72,000 known facts of one query to a task",
        {
            "50 drawn candidates": hub(80_000),
            "all candidates": hub(80_000, drawn=False),
        },
        [Pair("50 drawn candidates", "all candidates", "cost")],
        rounds=ROUNDS,
        agree=False,
    )
