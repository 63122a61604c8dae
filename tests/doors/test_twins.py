"""The legitimate twin of each refusal and warning about the order of scores is taken.

Each has its number, and warnings are errors. What is refused stands with the tests of its room.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import retrieval
from truerank.link_prediction import Task

INF = np.inf
RNG = np.random.default_rng(0)
TRUE = np.arange(40)
MODEL = RNG.normal(size=(40, 60))
MODEL[TRUE, TRUE] += 9  # Perfect.
RANKS = np.argsort(np.argsort(-MODEL, 1), 1)
UP = {"order": "ascending"}
DOWN = {"order": "descending"}


def tails(test: Any, known: Any = (), entities: Any = 20, **options: Any) -> Task:
    return Task(test, known or {}, entities=entities, sides=["tail"], **options)


def queries(right: Any, entities: Any = 9, **options: Any) -> Any:
    return retrieval.Task(right, entities=entities, **options)


# -- orders ----------------------------------------------------------------------------------------

LAST = {q: {q: 0.1, 7: 0.5, 8: 0.9} for q in range(4)}  # Scores that rise: distances, best first.
PLACES = {q: {7: 3, 8: 2, q: 1} if q % 2 else {7: 2, 8: 3, q: 1} for q in range(4)}
TOP = tr.TopK([[7, 8, q] for q in range(4)], [[0.1, 0.5, 0.9]] * 4)

# Lists of queries whose right answer has their number; how they are read; and the mrr.
LISTS: dict[str, tuple[Any, dict[str, str], float]] = {
    "a TopK whose best is last": (TOP, DOWN, 1.0),
    "lists of two": ({q: {7: 0.1, q: 0.5} for q in range(4)}, {}, 1.0),
    "three lists": ({q: LAST[q] for q in range(3)}, {}, 0.3333),
    "one of many lists falls": (LAST | {3: {3: 0.9, 7: 0.5, 8: 0.1}}, {}, 0.5),
    "all scores are equal": ({q: {q: 1.0, 7: 1.0, 8: 1.0} for q in range(4)}, {}, 0.6111),
    "points of lists, best first": ({q: {q: 3, 7: 2, 8: 1} for q in range(4)}, {}, 1.0),
    "places of two entries": ({q: {7: 1, q: 2} for q in range(4)}, {}, 1.0),
    "places of three lists": ({q: PLACES[q] for q in range(3)}, {}, 0.3333),
    "one of many lists has no places": (PLACES | {3: {7: 2, 8: 4, 3: 3}}, {}, 0.375),
    "half a place": ({q: {7: 2.5, 8: 1, q: 3} for q in range(4)}, {}, 1.0),
    "JSON's keys beside str": ({"1": ["1"]}, {}, 1.0),
}


@pytest.mark.parametrize("name", LISTS)
def test_orders_of_lists(name: str) -> None:
    lists, options, mrr = LISTS[name]
    right = {q: [q] for q in (lists if isinstance(lists, dict) else range(4))}
    assert round(queries(right).evaluate_lists(lists, **options)["mrr"], 4) == mrr


MASKED = np.where(RNG.random(MODEL.shape) < 0.15, MODEL, -INF)  # a user's own negatives
MASKED[TRUE, TRUE] = MODEL[TRUE, TRUE]
MATRICES: dict[str, tuple[Any, dict[str, str]]] = {
    "ranks": (RANKS, UP),
    "Borda's points": (60 - RANKS, DOWN),
    "integers that repeat": ((9 * MODEL).astype(int), {}),
    "ranks as floats": (60.0 - RANKS, {}),
    "few columns": ([[2, 0, 1], [0, 2, 1]], {}),
    "one's own negatives": (MASKED, {}),
}


@pytest.mark.parametrize("name", MATRICES)
def test_orders_of_matrices(name: str) -> None:
    scores, options = MATRICES[name]
    report = tr.evaluate(scores, TRUE[: len(scores)], **options)
    assert report["mrr"] == 1
    assert not report.audit("worse than chance")
    test = [(i, 0, i) for i in range(len(scores))]
    task = tails(test, entities=len(scores[0]), candidates="all")
    assert task.evaluate_scores(np.asarray(scores), **options)["mrr"] == 1


def test_borda_in_shards(tmp_path: Path) -> None:
    for number, shard in enumerate(np.split(60 - RANKS, 3, axis=1)):
        np.save(tmp_path / f"points-{number}.npy", shard)
    with tr.open_scores(tmp_path / "points-*.npy", axis=1) as store:
        assert tr.evaluate(store, TRUE, order="descending")["mrr"] == 1
