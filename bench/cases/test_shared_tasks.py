"""Many tasks of one query, one row or one list: what is done once for them, and how that grows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair
from harness.growth import fit_exponent, geometric_sizes
from harness.table import Results, exponent_row

ROUNDS = 5
LINEAR = (0, 1.1)  # goal for the exponents


class Queries:
    """Queries among entities, each with many right answers."""

    def __init__(self, queries: int, answers: int, entities: int, dim: int) -> None:
        rng = np.random.default_rng(8)
        self.queries = rng.standard_normal((queries, dim), dtype=np.float32)
        self.entities = rng.standard_normal((entities, dim), dtype=np.float32)
        self.rows = np.repeat(np.arange(queries), answers)
        self.targets = rng.integers(0, entities, queries * answers)

    def of_vectors(self) -> tr.Ranks:
        """Count from the vectors."""
        vectors = self.queries, self.entities
        return tr.rank_embeddings(
            *vectors, self.targets, rows=self.rows, similarity="dot", threads=1
        )

    def of_scores(self) -> tr.Ranks:
        """Score, then count."""
        scores = tr.score_embeddings(self.queries, self.entities, similarity="dot", threads=1)
        return tr.rank(scores, self.targets, rows=self.rows, threads=1)


class OneList:
    """One list of all candidates, a quarter of which are its targets and its filter."""

    def __init__(self, entries: int) -> None:
        rng = np.random.default_rng(9)
        self.ids = rng.permutation(entries)[None]
        self.scores = rng.random((1, entries), dtype=np.float32)
        self.targets = rng.permutation(entries)[: entries // 4]
        self.rows = np.zeros(len(self.targets), np.int64)
        indptr = np.array([0, len(self.targets)])
        self.filter = indptr, np.sort(self.targets), self.rows

    def of_lists(self) -> tr.Ranks:
        """Count in the list."""
        keywords: dict[str, Any] = {"rows": self.rows, "filter": self.filter}
        size = self.ids.shape[1]
        return tr.rank_lists(self.ids, self.scores, self.targets, candidates=size, **keywords)

    def of_scores(self) -> tr.Ranks:
        """Count in a row of the same scores."""
        row = np.empty_like(self.scores)
        row[0, self.ids[0]] = self.scores[0]
        return tr.rank(row, self.targets, rows=self.rows, filter=self.filter)


def hub(facts: int, *, drawn: bool) -> Callable[[], tr.link_prediction.Task]:
    """Return what makes a task of one query, a tenth of whose facts is tested."""
    tails: NDArray[np.int64] = np.random.default_rng(10).permutation(2 * facts)[:facts]
    triples = np.stack([np.zeros_like(tails), np.zeros_like(tails), tails], axis=1)
    test, train = np.split(triples, [facts // 10])
    candidates = None
    if drawn:
        candidates = tr.link_prediction.Sampled(50)
    keywords: dict[str, Any] = {"sides": ("tail",), "candidates": candidates}
    return partial(tr.link_prediction.Task, test, {"train": train}, entities=2 * facts, **keywords)


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
            "50 drawn candidates": hub(80_000, drawn=True),
            "all candidates": hub(80_000, drawn=False),
        },
        [Pair("50 drawn candidates", "all candidates", "cost")],
        rounds=ROUNDS,
        agree=False,
    )


@pytest.mark.parametrize(
    ("kind", "make", "largest"),
    [
        ("right answers of one query", lambda n: Queries(1, n, n, 8).of_vectors, 400_000),
        ("entries of one list", lambda n: OneList(n).of_lists, 400_000),
        ("facts of one query, drawn", partial(hub, drawn=True), 80_000),
    ],
)
def test_shared_work_is_linear(
    kind: str, make: Callable[[int], Any], largest: int, compare: Compare, results: Results
) -> None:
    """Time against size, all sizes in turn."""
    all_sizes = geometric_sizes(largest / 16, largest, 4)
    contestants = {f"{size:,}": make(size) for size in all_sizes}
    case = f"growth with {kind} from {all_sizes[0]:,}"
    times = compare(case, contestants, [], rounds=ROUNDS, agree=False)
    seconds = [times[contestant].best for contestant in contestants]
    law = fit_exponent("time in size", all_sizes, seconds)
    results.rows.append(exponent_row(case, "truerank", law, LINEAR))
