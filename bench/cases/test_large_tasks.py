"""Tasks of millions of integers: how long they take to make beside a sort, and how that grows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair, Team
from harness.growth import fit_exponent, geometric_sizes
from harness.synthetic import Pool, Sizes, draw_targets
from harness.table import Results, exponent_row

Columns = tuple[NDArray[np.int64], NDArray[np.int64]]
RELATIONS = 800
LINEAR: tuple[float, float] | None = (0, 1.1)  # goal for the exponents
ROUNDS = 3


class Interactions:
    """Items of users as columns, of which a tenth is tested; two test items for each user."""

    def __init__(self, tested: int) -> None:
        rng = np.random.default_rng(4)
        users = max(1, tested // 2)
        self.users = users
        self.items = max(2, tested // 10)
        self.test: Columns = rng.integers(0, users, tested), rng.integers(0, self.items, tested)
        known = 10 * tested
        self.known: Columns = rng.integers(0, users, known), rng.integers(0, self.items, known)

    def task(self) -> tr.retrieval.Task:
        """Make the task, from which leaks are left out."""
        return tr.retrieval.Task(
            self.test, entities=self.items, known={"train": self.known}, leaks="drop"
        )

    def matrix(self) -> scipy.sparse.csr_array:
        """Make a CSR matrix of what is known."""
        ones = np.ones(len(self.known[0]), dtype=np.int8)
        shape = self.users, self.items
        return scipy.sparse.coo_array((ones, self.known), shape=shape).tocsr()


class Facts:
    """Triples of integers, of which a fifth is tested."""

    def __init__(self, tested: int) -> None:
        rng = np.random.default_rng(5)
        self.entities = 5 * tested // 3
        bounds = self.entities, RELATIONS, self.entities
        self.test = rng.integers(0, bounds, (tested, 3))
        self.known = rng.integers(0, bounds, (4 * tested, 3))

    def task(self) -> tr.link_prediction.Task:
        """Make the task of both sides."""
        return tr.link_prediction.Task(self.test, {"train": self.known}, entities=self.entities)

    def sort(self) -> NDArray[np.int64]:
        """Sort as many integers as there are triples."""
        return np.argsort(np.concatenate([self.test, self.known])[:, 0])


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


def test_facts(compare: Compare, sizes: Sizes) -> None:
    """Integers to tasks of both sides."""
    data = Facts(3 * sizes.triples // 2)
    times = compare(
        f"{len(data.test):,} test and {len(data.known):,} known triples to tasks",
        {"truerank, Task": data.task, "numpy, argsort of a column": data.sort},
        [Pair("truerank, Task", "numpy, argsort of a column", "cost", 5.0)],
        rounds=ROUNDS,
        agree=False,
    )
    assert len(times["truerank, Task"].result) == len(data.test)


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


@pytest.mark.parametrize("kind", [Interactions, Facts])
def test_making_tasks_is_linear(
    kind: type[Interactions | Facts], compare: Compare, results: Results, sizes: Sizes
) -> None:
    """Time against the number of facts, all sizes in turn."""
    all_sizes = geometric_sizes(sizes.triples / 32, sizes.triples / 2, 4)
    contestants = {f"{size:,} test rows": kind(size).task for size in all_sizes}
    case = f"growth of tasks of {kind.__name__.lower()} from {all_sizes[0]:,}"
    times = compare(case, contestants, [], rounds=ROUNDS, agree=False)
    seconds = [times[contestant].best for contestant in contestants]
    law = fit_exponent("time in test rows", all_sizes, seconds)
    goal = LINEAR
    if sizes.quick:  # caches serve small tasks
        goal = None
    results.rows.append(exponent_row(case, "truerank, Task", law, goal))
