"""Candidates of every kind: samples, train, lists by their names; what refuses them; retrieval."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import truerank as tr
from strategies.triples import lists_of
from support.refusals import T, V, refusal
from truerank import alignment, retrieval
from truerank.link_prediction import Sampled, Task

# of duplicates and leaks
pytestmark = pytest.mark.filterwarnings("ignore:test. :UserWarning")

ENTITIES = 6
NAMES = tuple(f"entity {i}" for i in range(ENTITIES))
WORDS = ("relation 0", "relation 1")
TEST = [(NAMES[0], WORDS[0], NAMES[1]), (NAMES[2], WORDS[1], NAMES[0])]
LABELLED: dict[str, Any] = {"entities": NAMES, "relations": WORDS}


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
    one, other = (Task(rows, candidates=Sampled(20, seed=i), entities=100) for i in (0, 1))
    lists = lists_of(one.tail.candidates)
    assert lists[0] != lists[1]
    assert lists != lists_of(one.head.candidates)
    assert lists != lists_of(other.tail.candidates)
    alone = Task(rows, candidates=Sampled(20), entities=100, sides=["tail"])
    assert lists_of(alone.tail.candidates) == lists
    assert one.tail.candidates[1].dtype == np.int32


@pytest.mark.parametrize(
    ("sampled", "name"),
    [
        (Sampled(3, seed=5), "uniform-3 seed 5"),
        (Sampled(3, typed=True), "typed-3 seed 0"),
        (Sampled(3, among="inference"), "uniform-3 of inference seed 0"),
    ],
)
def test_samples_are_named(sampled: Sampled, name: str) -> None:
    known = {"train": [(i, 0, i) for i in range(4, 9)], "inference": [(0, 0, 1), (2, 0, 3)]}
    task = Task([(0, 0, 1)], known, entities=9, candidates=sampled)
    assert (task.protocol.candidates, task.protocol.sampled) == (name, True)


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
    labelled = [("a", "r", "b"), ("b", "r", "c")]
    indptr = np.array([0, 4, 6])
    ids = np.array([3, 4, 3, 1, 0, 2])
    for candidates, rows, entities in (
        ((indptr.tolist(), ids.tolist()), test, 5),
        ({"tail": (indptr, ["abcde"[i] for i in ids])}, labelled, list("abcde")),
    ):
        task = Task(rows, entities=entities, sides=("tail",), candidates=candidates)
        assert lists_of(task.tail.candidates) == [[1, 3, 4], [0, 2]]
        assert task.protocol.candidates == "selection of 2 lists, 5 in all (3505aafb)"
        assert not task.protocol.sampled
    both = Task(test, entities=5, candidates={"tail": (indptr, ids), "head": "all"})
    assert lists_of(both.tail.candidates) == [[1, 3, 4], [0, 2]]
    alike = Task(test, entities=5, sides=("tail",), candidates=([0, 3, 6], [1, 2, 4] * 2))
    assert alike.tail.candidates.tolist() == [1, 2, 4]


def test_labels_and_ids_name_the_same_candidates() -> None:
    """The same sets have the same name in every form."""
    by_name = {WORDS[1]: [NAMES[3], NAMES[0]] * 2, WORDS[0]: [NAMES[1], NAMES[0]]}
    by_id = {0: {0, 1}, 1: {0, 3}}
    by_side = {"tail": {i: np.array(sorted(each)) for i, each in by_id.items()}}
    protocols = set()
    for candidates in (by_name, by_id, by_side):
        task = Task(TEST, {}, candidates=candidates, sides=["tail"], **LABELLED)
        protocols.add(task.protocol)
        assert list(map(list, task.tail.candidates)) == [[0, 2, 4], [0, 1, 0, 3], [0, 1]]
    (protocol,) = protocols
    assert not protocol.sampled
    assert "selection of" in protocol.candidates


FACT = [("a", "r", "b")]
OF_TRAIN: dict[str, Any] = {"known": {"train": FACT}}
IDS: dict[str, Any] = {"test": [(0, 0, 1)], "entities": 4, "sides": ("tail",)}
NAMED: dict[str, Any] = {"test": TEST, **LABELLED}
# Each by the type of the error, and with further arguments of the task.
REFUSED: list[tuple[type[Exception], Any, dict[str, Any]]] = [
    (V, Sampled(among="graph"), OF_TRAIN),
    (V, Sampled(9, True, 0, "train"), OF_TRAIN),
    (V, Sampled(seed=-1), {}),
    (V, Sampled(typed=True), {"sides": ("relation", "tail")}),
    (V, "typed", {"sides": ("relation",)}),
    (V, [0], {"sides": ("relation", "tail")}),
    (V, [], {}),
    (V, ["a", "x"], {}),
    (V, np.array([[0]]), {}),
    (V, ([0, 1, 2], [1, 1]), IDS),
    (V, ([0, 3], [1, 1]), IDS),
    (V, ([0, 2], [1, 5]), IDS),
    (V, {"tail": ([0, 1], ["x"]), "head": []}, {}),
    (V, "train", {"known": FACT}),
    (V, "train", {"known": {"valid": FACT}}),
    (V, "train", {"known": {}}),
    (V, {WORDS[0]: [0, 1]}, NAMED),
    (V, {0: [NAMES[0]], 1: [NAMES[1], "x"]}, NAMED),
    (T, {0: [0, 1], 1: "abc"}, NAMED),
    (V, {0: [0, 1], 1: [0]}, NAMED),
    (V, {"tail": [0]}, NAMED),
    (T, {"tail": [0], "head": Sampled(3)}, NAMED),
    (V, "listed", NAMED),
]


@pytest.mark.parametrize(("kind", "candidates", "options"), REFUSED)
def test_wrong_candidates(kind: type[Exception], candidates: Any, options: dict[str, Any]) -> None:
    arguments = {"test": FACT, "candidates": candidates, **options}
    refusal(kind, "^candidates: ", Task, **arguments)


def test_sides_and_relations_of_one_name() -> None:
    options: Any = {"entities": 2, "relations": ["head", "tail"], "sides": ["tail"]}
    test = [(0, "tail", 1)]
    words = "'tail' may be sides or relations"
    refusal(ValueError, words, Task, test, {}, candidates={"tail": [1]}, **options)
    task = Task(test, {}, candidates={"tail": {"tail": [1]}}, **options)
    assert task.tail.candidates.tolist() == [1]


@pytest.mark.parametrize("word", ["all", "listed"])
def test_no_split_has_the_name_of_candidates(word: str) -> None:
    for kind, options in (
        (Task, {"test": [(0, 0, 1)], "known": {word: [(0, 0, 0)]}}),
        (retrieval.Task, {"qrels": {0: [1]}, "entities": 3, "known": {word: {0: [2]}}}),
        (retrieval.Task, {"qrels": {0: [1]}, "entities": 3, "split": word}),
        (alignment.Task, {"pairs": [(0, 0)], "left": 2, "right": 2, "known": {word: [(1, 1)]}}),
    ):
        refusal(ValueError, f"another name of a split.* got '{word}'", kind, **options)


def test_listed_candidates_and_what_they_miss() -> None:
    run = {"u": {1: 0.9, 2: 0.8, 3: 0.7, 5: 0.1}}
    for candidates in ({"u": [1, 2, 3, 5]}, "listed"):
        task = retrieval.Task({"u": [5]}, entities=1000, candidates=candidates)
        report = task.evaluate_lists(run)
        assert (report["auc"], report["mrr"]) == (0, 0.25)
        assert len(report.audit()) == 0
    missed = retrieval.Task({"u": [7, 8, 1]}, entities=1000, candidates="listed")
    report = missed.evaluate_lists(run)
    assert report.candidates.tolist() == [6]  # the list, and what it misses
    assert (report["recall@10"], report["map"]) == pytest.approx((1 / 3, 1 / 3))
    alone_task = retrieval.Task({"u": [7]}, entities=1000, candidates="listed")
    with pytest.warns(UserWarning, match="no right answer is in any list"):
        alone = alone_task.evaluate_lists(run)
    assert (alone["success@10"], alone["mrr"], alone["auc"]) == (0, 0, 0)
    words = "^ranks: .* 1 that are not in theirs"
    refusal(ValueError, words, tr.report, alone.ranks, unit="task")
    assert tr.report(alone.ranks) == alone
    refusal(ValueError, "^a: .* 1 that are not in theirs", tr.compare, alone.ranks, alone.ranks)
    scores = np.zeros((1, 1000))
    for evaluate, arguments in (
        (missed.evaluate_scores, [scores]),
        (missed.evaluate_embeddings, [scores, scores]),
        (missed.evaluate, [lambda queries: scores]),
    ):
        refusal(ValueError, "only lists can be evaluated", evaluate, *arguments)


def test_samples_of_answers_are_all_used() -> None:
    """Of many entities, draws of two answers are nearly always unlike."""
    task = retrieval.Task({0: [1, 2, 3]}, entities=10**6, candidates=Sampled(100, per="answer"))
    assert len(task.answers.candidates[1]) == 303
    assert task.protocol.candidates == "uniform-100 per answer seed 0"
    task = retrieval.Task({0: [1, 2], 1: [3]}, entities=9, candidates=Sampled(20))
    assert lists_of(task.answers.candidates)[0] == list(range(9))
    in_link_prediction = Task([(0, 0, 1)], {}, entities=9, candidates=Sampled(3, per="answer"))
    plain = Task([(0, 0, 1)], {}, entities=9, candidates=Sampled(3))
    assert in_link_prediction.protocol == plain.protocol
    of_users = {"entities": 9, "candidates": Sampled(3, per="user")}
    refusal(ValueError, "candidates: expected per", retrieval.Task, {0: [1]}, **of_users)
    for_query = Sampled(3, per="query")
    refusal(ValueError, "candidates: ", Task, [(0, 0, 1)], candidates=for_query)


def test_the_first_entity_is_refused_in_lists_like_any_other() -> None:
    task = Task([(1, 0, 2)], entities=5, sides=["tail"], candidates=[1, 2, 3])
    for stranger in (0, 4):
        with pytest.raises(tr.InputValueError, match="candidates of the query"):
            task.evaluate_lists(tail={(1, 0): [2, stranger]})
