"""Candidate sets against their definition: types, train, explicit ones, samples."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from strategies.triples import lists_of
from support.refusals import refusal
from truerank.link_prediction import Sampled, Task

# of duplicates and leaks
pytestmark = pytest.mark.filterwarnings("ignore:test. :UserWarning")


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("negatives", [1, 3, 5])
def test_samples_are_uniform(negatives: int, typed: bool) -> None:
    """All sets of negatives are equally likely: chi-squared is within 5 standard deviations."""
    tails = [0, 1, 2, 4, 5, 7, 8, 9]
    train = np.array([[0, 0, tail] for tail in (1, 5)] + [[3, 0, tail] for tail in tails])
    test = np.array([[0, 0, 8]] * 6000)
    options: dict[str, Any] = {"entities": 10, "relations": 1, "sides": ("tail",)}
    task = Task(test, {"train": train}, candidates=Sampled(negatives, typed), **options)
    allowed = {0, 2, 4, 7, 9} if typed else {0, 2, 3, 4, 6, 7, 9}
    drawn = Counter(tuple(c for c in each if c != 8) for each in lists_of(task.tail.candidates))
    sets = list(combinations(sorted(allowed), negatives))
    assert set(drawn) == set(sets)
    mean = 6000 / len(sets)
    statistic = sum((drawn[each] - mean) ** 2 / mean for each in sets)
    freedom = len(sets) - 1
    assert statistic <= freedom + 5 * (2 * freedom) ** 0.5


def test_seeds_differ_and_sides_too() -> None:
    rows = np.array([[i, 0, 99 - i] for i in range(30)])
    options: dict[str, Any] = {"entities": 100, "relations": 1}
    first = Task(rows, candidates=Sampled(20, seed=0), **options)
    other = Task(rows, candidates=Sampled(20, seed=1), **options)
    assert lists_of(first.tail.candidates) != lists_of(other.tail.candidates)
    assert lists_of(first.tail.candidates) != lists_of(first.head.candidates)
    assert lists_of(first.tail.candidates)[0] != lists_of(first.tail.candidates)[1]
    assert first.tail.candidates[1].dtype == np.int32


def test_samples_are_named() -> None:
    known = {
        "train": [(i, 0, i) for i in range(4, 9)],
        "inference": [(0, 0, 1), (2, 0, 3), (4, 0, 5)],
    }
    for sampled, name in (
        (Sampled(3, seed=5), "uniform-3 seed 5"),
        (Sampled(3, typed=True), "typed-3 seed 0"),
        (Sampled(3, among="inference"), "uniform-3 of inference seed 0"),
    ):
        task = Task([(0, 0, 1)], known, entities=9, candidates=sampled)
        assert (task.protocol.candidates, task.protocol.sampled) == (name, True)
        alone = Task([(0, 0, 1)], known, entities=9, candidates=sampled, sides=["tail"])
        assert lists_of(alone.tail.candidates) == lists_of(
            task.tail.candidates
        )  # for one side, or both


def test_train() -> None:
    test = [("a", "r", "b"), ("c", "r", "a")]
    train = [("a", "r", "b"), ("b", "q", "d")]
    words = "1 answers of the side head are not among the candidates, first 'c'"
    refusal(ValueError, words, Task, test, {"train": train}, candidates="train")
    task = Task(test, {"train": train}, candidates="train", unseen="drop")
    assert (task.entities, task.protocol.candidates) == (("a", "b", "c", "d"), "train")
    assert task.tail.candidates.tolist() == task.head.candidates.tolist() == [0, 1, 3]
    options: dict[str, Any] = {"candidates": "train", "unseen": "drop", "sides": ["relation"]}
    assert Task(test, {"train": train}, **options).relation.candidates.tolist() == [0, 1]


def test_a_list_for_each_test_triple() -> None:
    """By ids and by labels they are the same; repeats count once, and a name has their digest."""
    test = [(0, 0, 1), (1, 0, 2)]
    names = list("abcde")
    labelled = [("a", "r", "b"), ("b", "r", "c")]
    indptr = np.array([0, 4, 6])
    ids = np.array([3, 4, 3, 1, 0, 2])
    for candidates, rows, entities in (
        ({"tail": (indptr, ids)}, test, 5),
        ((indptr.tolist(), ids.tolist()), test, 5),
        ({"tail": (indptr, [names[i] for i in ids])}, labelled, names),
    ):
        task = Task(rows, entities=entities, sides=("tail",), candidates=candidates)
        assert lists_of(task.tail.candidates) == [[1, 3, 4], [0, 2]]
        assert task.protocol.candidates == "selection of 2 lists, 5 in all (3505aafb)"
        assert not task.protocol.sampled
    both = Task(test, entities=5, candidates={"tail": (indptr, ids), "head": "all"})
    assert lists_of(both.tail.candidates) == [[1, 3, 4], [0, 2]]
    dropped = test[:1] * 2 + test[1:]
    lists = np.array([0, 1, 5, 7]), np.array([1, *ids])
    task = Task(dropped, entities=5, sides=("tail",), candidates=lists, duplicates="drop")
    assert lists_of(task.tail.candidates) == [[1], [0, 2]]
    alike = Task(test, entities=5, sides=("tail",), candidates=([0, 3, 6], [1, 2, 4] * 2))
    assert alike.tail.candidates.tolist() == [1, 2, 4]


TEST = [("a", "r", "b")]
OF_TRAIN: dict[str, Any] = {"known": {"train": TEST}}
IDS: dict[str, Any] = {"test": [(0, 0, 1)], "entities": 4, "sides": ("tail",)}
T = TypeError
V = ValueError
# Each by the type of the error, and with further arguments of the task.
ERRORS: list[tuple[type[Exception], Any, dict[str, Any]]] = [
    (V, "types", {}),
    (V, Sampled(among="graph"), OF_TRAIN),
    (V, Sampled(among=3), {}),  # type: ignore[arg-type]
    (V, Sampled(9, True, 0, "train"), OF_TRAIN),
    (T, 40, {}),
    (T, Sampled(typed="no"), {}),  # type: ignore[arg-type]
    (T, Sampled(0.5), {}),  # type: ignore[arg-type]
    (V, Sampled(seed=-1), {}),
    (V, Sampled(typed=True), {"sides": ("relation", "tail")}),
    (V, "typed", {"sides": ("relation",)}),
    (V, [0], {"sides": ("relation", "tail")}),
    (V, ["b"], {}),
    (V, [], {}),
    (V, ["a", "x"], {}),
    (V, [-1], {}),
    (T, [[1]], {}),
    (V, np.array([[0]]), {}),
    (V, ([0, 1], [1]), {}),
    (V, ([0, 1, 2], [1, 1]), IDS),
    (V, ([], [], []), IDS),
    (V, ([0, 3], [1, 1]), IDS),
    (V, ([0, 1], [2]), IDS),
    (V, ([0, 2], [1, 5]), IDS),
    (V, ([0, 2], [1, -1]), IDS),
    (T, {"tail": ([0, 1], [0.5])}, IDS),
    (V, {"tail": ([0, 1], ["x"]), "head": []}, {}),
    (V, "train", {"known": TEST}),
    (V, "train", {"known": {"valid": TEST}}),
    (V, "train", {"known": {}}),
]


@pytest.mark.parametrize(("kind", "candidates", "options"), ERRORS)
def test_errors(kind: type[Exception], candidates: Any, options: dict[str, Any]) -> None:
    refusal(kind, "^candidates: ", Task, **{"test": TEST, "candidates": candidates, **options})
