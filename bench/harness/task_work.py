"""Work around counts at any size: tasks, lists, names, groups, filters, ties, tasks of one row.

A function of a size draws the data, and returns what is timed. Sizes are numbers of rows, names,
groups or tasks, as `GROWING` says.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

import truerank as tr

__all__ = ["BASELINES", "GROWING", "Interactions", "OneList", "Queries", "hub"]

Work = Callable[[], Any]
Array = NDArray[Any]
Columns = tuple[Array, Array]
COLUMNS = 20_000  # Many tasks read one row of so many candidates.
KEYS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri")


class Growing(NamedTuple):
    """Work that should take time in proportion to its size."""

    of: str  # The size counts these.
    make: Callable[[int], Work]
    largest: int  # A full run goes up to this size, from an eighth of it.


def draw_ranks(tasks: int, candidates: int = 40_943, **labels: Any) -> tr.Ranks:
    """Draw ranks, a few of which are large, and ties of up to two."""
    rng = np.random.default_rng(5)
    above = (rng.pareto(0.5, tasks) * 5).astype(np.int64) % (candidates - 2)
    return tr.Ranks(above, rng.integers(1, 3, tasks), candidates, **labels)


def names_of(number: int) -> list[str]:
    """Return names as those of documents, shuffled, in memory, too."""
    names = [f"D{i}" for i in range(number)]
    random.Random(6).shuffle(names)
    return names


# -- tasks -----------------------------------------------------------------------------------------


class Interactions:
    """Items of users as columns, of which a tenth is tested; two test items for each user."""

    def __init__(self, tested: int) -> None:
        rng = np.random.default_rng(4)
        self.users, self.items = max(1, tested // 2), max(2, tested // 10)
        self.test: Columns = rng.integers(0, self.users, tested), self._items(rng, tested)
        known = 10 * tested
        self.known: Columns = rng.integers(0, self.users, known), self._items(rng, known)

    def _items(self, rng: np.random.Generator, number: int) -> Array:
        return rng.integers(0, self.items, number)

    def task(self) -> tr.retrieval.Task:
        """Make the task, from which leaks are left out."""
        known = {"train": self.known}
        return tr.retrieval.Task(self.test, entities=self.items, known=known, leaks="drop")

    def matrix(self) -> scipy.sparse.csr_array:
        """Make a CSR matrix of what is known."""
        ones = np.ones(len(self.known[0]), dtype=np.int8)
        shape = self.users, self.items
        return scipy.sparse.coo_array((ones, self.known), shape=shape).tocsr()


class Facts:
    """Triples of integers, of which a fifth is tested."""

    def __init__(self, tested: int) -> None:
        self.entities = 5 * tested // 3
        bounds = self.entities, 800, self.entities
        rows = np.random.default_rng(5).integers(0, bounds, (5 * tested, 3))
        self.test, self.known = np.split(rows, [tested])

    def task(self) -> tr.link_prediction.Task:
        """Make the task of both sides."""
        return tr.link_prediction.Task(self.test, {"train": self.known}, entities=self.entities)


def named_task(names: int) -> Work:
    """Make a task of some queries, and so many names of documents from a list."""
    documents = names_of(names)
    chosen = np.random.default_rng(8).integers(0, names, 7_000)
    qrels = {f"q{i}": {documents[j]: 1} for i, j in enumerate(chosen.tolist())}
    return lambda: tr.retrieval.Task(qrels, entities=documents)


def listed(pairs: int) -> Work:
    """Evaluate lists in dictionaries, from the task on: a hundred documents for each query."""
    per_query, documents = 100, 1_000_000
    rng = np.random.default_rng(9)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for i in range(max(1, pairs // per_query)):
        ids = np.unique(rng.integers(0, documents, per_query)).tolist()
        scores = rng.random(len(ids)).tolist()
        names = [f"D{j}" for j in ids]
        run[f"q{i}"] = dict(zip(names, scores, strict=True))
        qrels[f"q{i}"] = {names[0]: 1, names[-1]: 1}

    def evaluate() -> tr.Report:
        return tr.retrieval.Task(qrels, entities=documents).evaluate_lists(run)

    return evaluate


# -- ranks and reports -----------------------------------------------------------------------------


def grouped(groups: int) -> tr.Report:
    """Return a report with so many groups of three tasks."""
    tasks = 3 * groups
    codes = np.random.default_rng(10).permutation(tasks) % groups
    ranks = draw_ranks(tasks, side=(np.arange(tasks) % 2, ("head", "tail")))
    return tr.report(ranks, by=(codes, tuple(f"group {i}" for i in range(groups))))


def group_json(groups: int) -> Work:
    """Write the JSON of a report with groups, compactly, with the keys of its text."""
    report = grouped(groups)
    return lambda: report.to_json(KEYS, indent=None)


def group_text(groups: int) -> Work:
    """Write the text of a report with groups."""
    report = grouped(groups)
    return lambda: report.to_text(KEYS)


def joined_slices(names: int, slices: int = 1_000) -> Work:
    """Join slices of ranks whose queries have so many names."""
    codes = np.random.default_rng(11).integers(0, names, max(slices, names))
    ranks = draw_ranks(len(codes), queries=(codes, tuple(names_of(names))))
    ends = np.linspace(0, len(ranks), slices + 1).astype(int).tolist()
    parts = [ranks[start:end] for start, end in itertools.pairwise(ends)]
    return lambda: tr.concatenate(parts)


def labels_of_names(tasks: int) -> Work:
    """Label ranks by a name for each task, and report them by name."""
    names = names_of(tasks)
    ranks = draw_ranks(tasks)
    return lambda: tr.report(ranks.with_labels(queries=names), by="query")["macro.mrr"]


def ties(tasks: int) -> Work:
    """Report what is expected over ties that may be long."""
    rng = np.random.default_rng(12)
    ranks = tr.Ranks(rng.integers(0, 1_000, tasks), rng.integers(1, 30_000, tasks), 40_943)
    keys = ["expected.mrr", "expected.hits@10", "expected.ndcg@10", "pessimistic.mr"]
    return lambda: tr.report(ranks).to_dict(keys)


def filters(entries: int) -> Work:
    """Count tasks with a filter of so many unsorted entries with repeats."""
    rng = np.random.default_rng(13)
    tasks = 1_000
    scores = rng.random((tasks, 2_000), dtype=np.float32)
    indptr = np.linspace(0, entries, tasks + 1).astype(np.int64)
    chosen = indptr, rng.integers(0, 2_000, entries)
    targets = rng.integers(0, 2_000, tasks)
    return lambda: tr.rank(scores, targets, filter=chosen)


# -- tasks of one row ------------------------------------------------------------------------------


def one_row(tasks: int) -> Work:
    """Count tasks that read one row of scores."""
    rng = np.random.default_rng(14)
    scores = rng.random((1, COLUMNS), dtype=np.float32)
    targets = rng.integers(0, COLUMNS, tasks)
    rows = np.zeros(tasks, np.int64)
    return lambda: tr.rank(scores, targets, rows=rows)


class Queries:
    """Queries among entities, each with many right answers; one thread."""

    def __init__(self, queries: int, answers: int, entities: int, dim: int) -> None:
        rng = np.random.default_rng(8)
        self.queries = rng.standard_normal((queries, dim), dtype=np.float32)
        self.entities = rng.standard_normal((entities, dim), dtype=np.float32)
        self.targets = rng.integers(0, entities, queries * answers)
        self.options = {"rows": np.repeat(np.arange(queries), answers), "threads": 1}

    def of_vectors(self) -> tr.Ranks:
        """Count from the vectors."""
        return tr.rank_embeddings(self.queries, self.entities, self.targets, **self.options)

    def of_scores(self) -> tr.Ranks:
        """Score, then count."""
        scores = tr.score_embeddings(self.queries, self.entities, threads=1)
        return tr.rank(scores, self.targets, **self.options)


class OneList:
    """One list of all candidates, a quarter of which are its targets and its filter."""

    def __init__(self, entries: int) -> None:
        rng = np.random.default_rng(9)
        self.ids = rng.permutation(entries)[None]
        self.scores = rng.random((1, entries), dtype=np.float32)
        self.targets = rng.permutation(entries)[: entries // 4]
        rows = np.zeros(len(self.targets), np.int64)
        shared = np.array([0, len(rows)]), np.sort(self.targets), rows
        self.options: dict[str, Any] = {"rows": rows, "filter": shared}

    def of_lists(self) -> tr.Ranks:
        """Count in the list."""
        options = self.options | {"candidates": self.ids.shape[1]}
        return tr.rank_lists(self.ids, self.scores, self.targets, **options)

    def of_scores(self) -> tr.Ranks:
        """Count in a row of the same scores."""
        row = np.empty_like(self.scores)
        row[0, self.ids[0]] = self.scores[0]
        return tr.rank(row, self.targets, **self.options)


def hub(facts: int, *, drawn: bool = True) -> Work:
    """Make a task of one query, a tenth of whose facts is tested, with drawn candidates or all."""
    triples = np.zeros((facts, 3), np.int64)
    triples[:, 2] = np.random.default_rng(10).permutation(2 * facts)[:facts]
    test, train = np.split(triples, [facts // 10])
    candidates = tr.link_prediction.Sampled(50) if drawn else None
    options: dict[str, Any] = {"sides": ("tail",), "candidates": candidates}
    return partial(tr.link_prediction.Task, test, {"train": train}, entities=2 * facts, **options)


# -- what the machine itself takes -----------------------------------------------------------------


def sort(size: int) -> Work:
    """Sort integers of 40 bits by numpy."""
    values = np.random.default_rng(18).integers(0, 1 << 40, size)
    return lambda: np.sort(values)


def gather(size: int) -> Work:
    """Read integers in an order without pattern, by numpy."""
    order = np.random.default_rng(19).permutation(size)
    values = np.arange(size)
    return lambda: values[order]


BASELINES = {
    "numpy, sort": Growing("integers", sort, 4_000_000),
    "numpy, gather": Growing("integers", gather, 4_000_000),
}
GROWING = {
    "retrieval.Task, columns": Growing("test rows", lambda n: Interactions(n).task, 400_000),
    "link_prediction.Task, integers": Growing("test rows", lambda n: Facts(n).task, 500_000),
    "retrieval.Task, names in a list": Growing("names", named_task, 1_000_000),
    "Task and lists in dictionaries": Growing("pairs", listed, 400_000),
    "labels by name, and their report": Growing("tasks", labels_of_names, 800_000),
    "concatenate, 1,000 slices": Growing("names", joined_slices, 800_000),
    "to_json, compact": Growing("groups", group_json, 100_000),
    "to_text": Growing("groups", group_text, 100_000),
    "report of ties": Growing("tasks", ties, 800_000),
    "rank, a filter with repeats": Growing("entries", filters, 8_000_000),
    "rank, tasks of one row": Growing("tasks", one_row, 800_000),
    "rank_embeddings, tasks of one row": Growing(
        "tasks", lambda n: Queries(1, n, COLUMNS, 8).of_vectors, 200_000
    ),
    "rank_lists, tasks of one list": Growing("entries", lambda n: OneList(n).of_lists, 400_000),
    "Sampled, tasks of one query": Growing("facts", hub, 80_000),
}
