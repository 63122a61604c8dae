"""Work around counts at any size: tasks, lists, names, groups, filters, ties, tasks of one row.

A function of a size draws the data, and returns what is timed. Sizes are numbers of rows, names,
groups or tasks, as `GROWING` says.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from harness.synthetic import draw_triples

__all__ = ["BASELINES", "GROWING", "Growing", "Work"]

Work = Callable[[], Any]
Columns = tuple[NDArray[np.int64], NDArray[np.int64]]
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


def names_of(number: int, *, shuffled: bool = True) -> list[str]:
    """Return names as those of documents, in order or shuffled, in memory, too."""
    names = [f"D{i}" for i in range(number)]
    if shuffled:
        random.Random(6).shuffle(names)
    return names


# -- tasks -----------------------------------------------------------------------------------------


def user_columns(known: int, users: int, items: int) -> tuple[Columns, Columns]:
    """Draw what users like: a tenth as much of the test as is known."""
    rng = np.random.default_rng(7)
    rows = np.unique(rng.integers(0, users * items, known + known // 10))
    rng.shuffle(rows)
    columns = rows // items, rows % items
    test = len(rows) // 11
    return (columns[0][:test], columns[1][:test]), (columns[0][test:], columns[1][test:])


def retrieval_task(known: int) -> Work:
    """Make a task of retrieval of columns: a user for 20 known rows."""
    users = max(10, known // 20)
    items = 100_000
    test, train = user_columns(known, users, items)
    task = tr.retrieval.Task
    return lambda: task(test, entities=items, queries=users, known={"train": train})


def triple_task(known: int) -> Work:
    """Make a task of integer arrays, a fifth of whose triples is tested, of both sides."""
    entities = max(100, known // 3)
    triples = draw_triples(known + known // 4, entities, 500)
    test, train = np.split(triples, [known // 4])
    return lambda: tr.link_prediction.Task(test, {"train": train}, entities=entities)


def named_task(names: int, *, shuffled: bool = True) -> Work:
    """Make a task of some queries, and so many names of documents from a list."""
    documents = names_of(names, shuffled=shuffled)
    chosen = np.random.default_rng(8).integers(0, names, 7_000)
    qrels = {f"q{i}": {documents[j]: 1} for i, j in enumerate(chosen.tolist())}
    return lambda: tr.retrieval.Task(qrels, entities=documents)


def listed(pairs: int, per_query: int = 100, documents: int = 1_000_000) -> Work:
    """Evaluate lists in dictionaries, from the task on: a hundred documents for each query."""
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
    keys = ["expected.mrr", "expected.hits@10", "expected.gmr", "pessimistic.mr"]
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


def one_query(tasks: int, dim: int = 8) -> Work:
    """Count tasks of one query among vectors."""
    rng = np.random.default_rng(15)
    query = rng.normal(size=(1, dim)).astype(np.float32)
    entities = rng.normal(size=(COLUMNS, dim)).astype(np.float32)
    targets = rng.integers(0, COLUMNS, tasks)
    rows = np.zeros(tasks, np.int64)
    return lambda: tr.rank_embeddings(query, entities, targets, rows=rows)


def one_list(tasks: int, length: int = 0) -> Work:
    """Count tasks of one list, four candidates long for each, that share a filter."""
    rng = np.random.default_rng(16)
    length = length or 4 * tasks
    candidates = 2 * length
    ids = rng.permutation(candidates)[:length]
    scores = rng.random(length, dtype=np.float32)
    targets = rng.integers(0, candidates, tasks)
    left_out = np.unique(rng.integers(0, candidates, length // 4))
    shared = (np.array([0, len(left_out)]), left_out, np.zeros(tasks, np.int64))
    lists = (ids[None], scores[None])
    rows = np.zeros(tasks, np.int64)
    return lambda: tr.rank_lists(*lists, targets, candidates=candidates, rows=rows, filter=shared)


def hub(known: int) -> Work:
    """Make a task of one query, an eleventh of whose facts is tested, with drawn candidates."""
    tails = np.random.default_rng(17).permutation(2 * known)[: known + known // 10]
    facts = np.zeros((len(tails), 3), np.int64)
    facts[:, 2] = tails
    test, train = np.split(facts, [known // 10])
    sampled = tr.link_prediction.Sampled(50)
    options: dict[str, Any] = {"entities": 2 * known, "sides": ["tail"], "candidates": sampled}
    return lambda: tr.link_prediction.Task(test, {"train": train}, **options)


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
    "retrieval.Task, columns": Growing("known rows", retrieval_task, 4_000_000),
    "link_prediction.Task, integers": Growing("known triples", triple_task, 2_000_000),
    "retrieval.Task, names in a list": Growing("names", named_task, 1_000_000),
    "Task and lists in dictionaries": Growing("pairs", listed, 400_000),
    "labels by name, and their report": Growing("tasks", labels_of_names, 800_000),
    "concatenate, 1,000 slices": Growing("names", joined_slices, 800_000),
    "to_json, compact": Growing("groups", group_json, 100_000),
    "to_text": Growing("groups", group_text, 100_000),
    "report of ties": Growing("tasks", ties, 800_000),
    "rank, a filter with repeats": Growing("entries", filters, 8_000_000),
    "rank, tasks of one row": Growing("tasks", one_row, 800_000),
    "rank_embeddings, tasks of one row": Growing("tasks", one_query, 200_000),
    "rank_lists, tasks of one list": Growing("tasks", one_list, 8_000),
    "Sampled, tasks of one query": Growing("known facts", hub, 80_000),
}
