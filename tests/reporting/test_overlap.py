"""Which models solve which tasks: `overlap` against sets of tasks, for every protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import found_pairs as oracle
from support.examples import examples
from support.refusals import T, V, refusal
from truerank import Ranks, overlap

pytestmark = pytest.mark.python_only


@given(st.integers(1, 4), st.integers(1, 20), st.integers(0, 2**32), st.sampled_from([1, 3]))
@examples(100)
def test_numbers_are_those_of_sets_of_tasks(models: int, n: int, seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    queries = rng.permutation(n)
    ranks = {}
    hits = {}
    for i in range(models):
        above = rng.integers(0, 5, n)
        order = rng.permutation(n)  # Tasks are matched by what they are.
        ranks[f"m{i}"] = Ranks(above[order], np.ones(n, int), 9, queries=queries[order])
        hits[f"m{i}"] = (above < k).tolist()
    table = overlap(ranks, f"hits@{k}")
    sets = {name: number for name, number, _ in table.rows}
    assert {name: n for name, n in sets.items() if n} == dict(+oracle.overlap(hits))
    assert [name for name, _, _ in table.rows[-2:]] == ["none", "any"]
    numbers = [number for _, number, _ in table.rows[:-2]]
    assert numbers == sorted(numbers, reverse=True)
    assert sum(share for _, _, share in table.rows[:-1]) == pytest.approx(1)


def test_every_protocol() -> None:
    scores = np.array([[3.0, 2, 1], [1, 2, 3], [3, 2, 1]])
    tasks: dict[str, Any] = {
        "pairs": tr.alignment.Task([(0, 0), (1, 1), (2, 2)], left=3, right=3),
        "triples": tr.link_prediction.Task([(0, 0, 0), (1, 0, 1), (2, 0, 2)], {}, sides=["tail"]),
        "queries": tr.retrieval.Task(([0, 1, 2], [0, 1, 2]), entities=3),
    }
    for name, task in tasks.items():
        metric = "success@1" if name == "queries" else "hits@1"
        reports = {"A": task.evaluate_scores(scores), "B": task.evaluate_scores(scores[:, ::-1])}
        table = overlap(reports, metric)
        units = "queries" if name == "queries" else "tasks"
        assert sum(table[units][:-1]) == (6 if name == "pairs" else 3)
        turned = overlap({"B": reports["B"], "A": reports["A"]}, metric)
        assert turned.rows[-2:] == table.rows[-2:]


def test_what_is_refused() -> None:
    a, b = Ranks([0, 1], [1, 1], 9), Ranks([0, 1], [2, 1], 9)
    refusal(
        V,
        "^metric: expected values 0 and 1, got 1 of 2 tasks with others in B$",
        overlap,
        {"A": a, "B": b},
        "expected.hits@1",
    )
    refusal(V, "^metric", overlap, {"A": a, "B": b}, "mrr")
    refusal(KeyError, "hits", overlap, {"A": a}, "hit")
    refusal(V, "^B: cannot be put beside A: tasks: 2 against 1", overlap, {"A": a, "B": a[:1]})
    refusal(V, "^reports", overlap, {})
    refusal(V, "^reports", overlap, {"A": [a, a]})
    refusal(T, "^reports", overlap, a)
    refusal(T, "^A: expected Ranks or a Report", overlap, {"A": 3})
