"""Candidate sets against their definition: types, train, explicit ones, samples."""

from __future__ import annotations

import warnings
from collections import Counter
from hashlib import blake2b
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from support.refusals import refusal
from truerank.link_prediction import Sampled, Task
from truerank.tasks import sampling

pytestmark = pytest.mark.python_only

SIDES = ("head", "tail")
ENTITIES = 8


def task_of(*args: Any, **keywords: Any) -> Task:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Task(*args, **keywords)


def lists_of(tasks: Any) -> list[list[int]]:
    """Return the candidates of every task."""
    indptr, indices, *lists = tasks.candidates  # type: ignore[misc]
    which = lists[0] if lists else np.arange(len(tasks))
    return [indices[indptr[i] : indptr[i + 1]].tolist() for i in which.tolist()]


ROW = st.tuples(
    st.integers(0, ENTITIES - 1), st.integers(0, 1), st.integers(0, ENTITIES - 1), st.integers(0, 1)
)
SPLITS = st.tuples(st.lists(ROW, min_size=1, max_size=8), st.lists(ROW, max_size=25))


def expected_sides(test: Any, train: Any, keys: Any) -> dict[str, oracle.Side]:
    chosen = range(len(test))
    return {s: oracle.side(s, test, {"train": train}, chosen, keys) for s in SIDES}


@given(SPLITS)
def test_typed(splits: Any) -> None:
    test, train = splits
    known = {"train": np.array(train, np.int64).reshape(-1, 4)}
    task = task_of(np.array(test), known, entities=ENTITIES, relations=3, candidates="typed")
    assert (task.protocol.candidates, task.protocol.sampled) == ("typed", False)
    for side, expected in expected_sides(test, train, (3,)).items():
        assert lists_of(task.sides[side]) == [sorted(types) for types in expected.typed]
        indptr, _, lists = task.sides[side].candidates
        assert len(indptr) == 4  # lists belong to relations
        assert lists.tolist() == [row[1] for row in test]


def check_sample(drawn: list[int], target: int, allowed: set[int], negatives: int) -> None:
    """A sample has the requested number of distinct negatives, or all allowed, and the target."""
    assert drawn == sorted(set(drawn))
    assert target in drawn
    assert set(drawn) - {target} <= allowed
    assert len(drawn) == min(negatives, len(allowed)) + 1


@given(
    SPLITS,
    st.integers(1, ENTITIES + 1),
    st.booleans(),
    st.sampled_from([None, ()]),
    st.sampled_from([1, 5, 1 << 21]),
)
def test_samples(splits: Any, negatives: int, typed: bool, keys: Any, at_once: int) -> None:
    test, train = splits
    known = {"train": np.array(train, np.int64).reshape(-1, 4)}
    how = {"entities": ENTITIES, "relations": 3, "keys": keys}
    sampled = Sampled(negatives, typed, seed=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "_NUMBERS_AT_ONCE", at_once)
        task = task_of(np.array(test), known, candidates=sampled, **how)
        alone = task_of(np.array(test), known, candidates=sampled, sides=("tail",), **how)
    kind = "typed" if typed else "uniform"
    assert task.protocol.candidates == f"{kind}-{negatives} seed 3"
    assert task.protocol.sampled
    for side, expected in expected_sides(test, train, (3,) if keys is None else ()).items():
        rows = zip(
            lists_of(task.sides[side]), expected.targets, expected.answers, expected.typed,
            strict=True,
        )  # fmt: skip
        for drawn, target, answers, types in rows:
            pool = types if typed else set(range(ENTITIES))
            check_sample(drawn, target, pool - answers, negatives)
    # one seed gives the same sample for one side or both
    for again, first in zip(alone.tail.candidates, task.tail.candidates, strict=True):
        assert np.array_equal(again, first)


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("negatives", [1, 3, 5])
def test_samples_are_uniform(negatives: int, typed: bool) -> None:
    """All sets of negatives are equally likely: chi-squared is within 5 standard deviations."""
    tails = [0, 1, 2, 4, 5, 7, 8, 9]
    train = np.array([[0, 0, tail] for tail in (1, 5)] + [[3, 0, tail] for tail in tails])
    test = np.array([[0, 0, 8]] * 6000)
    how: dict[str, Any] = {"entities": 10, "relations": 1, "sides": ("tail",)}
    task = task_of(test, {"train": train}, candidates=Sampled(negatives, typed), **how)
    allowed = {0, 2, 4, 7, 9} if typed else {0, 2, 3, 4, 6, 7, 9}
    drawn = Counter(tuple(c for c in each if c != 8) for each in lists_of(task.tail))
    sets = list(combinations(sorted(allowed), negatives))
    assert set(drawn) == set(sets)
    mean = 6000 / len(sets)
    statistic = sum((drawn[each] - mean) ** 2 / mean for each in sets)
    freedom = len(sets) - 1
    assert statistic <= freedom + 5 * (2 * freedom) ** 0.5


def test_seeds_differ_and_sides_too() -> None:
    rows = np.array([[i, 0, 99 - i] for i in range(30)])
    how: dict[str, Any] = {"entities": 100, "relations": 1}
    first = Task(rows, candidates=Sampled(20, seed=0), **how)
    other = Task(rows, candidates=Sampled(20, seed=1), **how)
    assert lists_of(first.tail) != lists_of(other.tail)
    assert lists_of(first.tail) != lists_of(first.head)
    assert lists_of(first.tail)[0] != lists_of(first.tail)[1]
    assert first.tail.candidates[1].dtype == np.int32


def test_known_answers_are_never_drawn_though_nothing_is_filtered() -> None:
    task = Task([(0, 0, 1), (0, 0, 2)], entities=5, sides=("tail",), candidates=Sampled(9))
    assert task.tail.filter is None
    assert lists_of(task.tail) == [[0, 1, 3, 4], [0, 2, 3, 4]]


def test_relations_are_sampled_too() -> None:
    test, train = [(0, 0, 1), (1, 2, 0)], [(0, 1, 1), (0, 4, 1)]
    task = Task(test, [train], relations=6, sides=("relation",), candidates=Sampled(2))
    for drawn, target, allowed in zip(
        lists_of(task.relation), [0, 2], [{2, 3, 5}, {0, 1, 3, 4, 5}], strict=True
    ):
        check_sample(drawn, target, allowed, 2)


def test_train() -> None:
    test, train = [("a", "r", "b"), ("c", "r", "a")], [("a", "r", "b"), ("b", "q", "d")]
    words = "1 answers of the side head are not among the candidates, first 'c'"
    refusal(ValueError, words, task_of, test, {"train": train}, candidates="train")
    task = task_of(test, {"train": train}, candidates="train", unseen="drop")
    assert task.entities == ("a", "b", "c", "d")
    assert task.tail.candidates.tolist() == task.head.candidates.tolist() == [0, 1, 3]
    assert task.tail.test_rows.tolist() == [0]
    relation = task_of(test, {"train": train}, candidates="train", sides=("relation",))
    assert relation.relation.candidates.tolist() == [0, 1]
    valid = [("c", "s", "c")]
    more = {"valid": valid, "train": train, "other": valid}
    task = task_of(test, more, candidates="train", unseen="drop")
    assert task.tail.candidates.tolist() == [0, 1, 3]
    assert task.tail.test_rows.tolist() == [0]
    for known in ([train], train, {"valid": train}, {}):
        with pytest.raises(ValueError, match=r"^candidates: .*known=\{.train.: .*got 'train'"):
            task_of(test, known, candidates="train")
    with pytest.raises(ValueError, match=r"got 'train'; the known splits: known_0$"):
        task_of(test, train, candidates="train", split="train")


@given(SPLITS, st.integers(1, ENTITIES), st.booleans(), st.sampled_from(["tail", "relation"]))
def test_inductive(splits: Any, negatives: int, complete: bool, side: str) -> None:
    """Candidates are those of the graph on which a model infers, all of them or a sample."""
    test, graph = splits
    graph = graph + test if complete else graph
    others = [(4, 2, 5, 0)]  # the graph of training has other entities
    known = {
        name: np.array(rows, np.int64).reshape(-1, 4)
        for name, rows in (("train", others), ("inference", graph))
    }
    columns = (1,) if side == "relation" else (0, 2)
    among = {row[column] for row in graph for column in columns}
    expected = oracle.side(
        side, test, {"train": others, "inference": graph}, range(len(test)), (3,)
    )
    how: dict[str, Any] = {"entities": ENTITIES, "relations": 3, "sides": (side,)}
    for candidates in ("inference", Sampled(negatives, among="inference")):
        if not among.issuperset(expected.targets):
            with pytest.raises(ValueError, match=rf"answers of the side {side} are not among"):
                task_of(np.array(test), known, candidates=candidates, **how)
            continue
        task = task_of(np.array(test), known, candidates=candidates, **how)
        if candidates == "inference":
            assert task.sides[side].candidates.tolist() == sorted(among)
            assert (task.protocol.candidates, task.protocol.sampled) == ("inference", False)
            continue
        assert task.protocol.candidates == f"uniform-{negatives} of inference seed 0"
        assert task.protocol.sampled
        drawn = zip(lists_of(task.sides[side]), expected.targets, expected.answers, strict=True)
        for sample, target, answers in drawn:
            check_sample(sample, target, among - answers, negatives)


def test_explicit_sets() -> None:
    test = [("a", "r", "b"), ("c", "r", "a")]
    task = Task(test, candidates=["c", "b", "a", "c"], entities=["a", "b", "c", "d"])
    assert task.tail.candidates.tolist() == task.head.candidates.tolist() == [0, 1, 2]
    digest = blake2b(np.array([0, 1, 2], "<i8").tobytes(), digest_size=4).hexdigest()
    assert task.protocol.candidates == f"selection of 3 ({digest})"
    fewer = Task(test, candidates=["b", "a", "c"], entities=["a", "b", "c", "d"])
    other = Task(test, candidates=["a", "b", "c", "d"], entities=["a", "b", "c", "d"])
    assert fewer.protocol.fingerprint == task.protocol.fingerprint != other.protocol.fingerprint
    ids = Task(test, candidates=np.array([2, 0, 1], np.uint8))
    assert ids.tail.candidates.tolist() == [0, 1, 2]
    relation = Task(test, candidates=["r"], sides=("relation",))
    assert relation.relation.candidates.tolist() == [0]
    assert Task(test, candidates="all").tail.candidates is None
    ranks = task.evaluate_scores(np.eye(4)[:2], np.eye(4)[:2]).ranks
    assert ranks is not None
    assert ranks.candidates.tolist() == [3] * 4


TEST = [("a", "r", "b")]
ERRORS: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
    (
        ValueError,
        r"^candidates: expected one of all, train, typed, another known split, .* an array.*"
        r"got 'types'; the known splits: none$",
        "types",
        {},
    ),
    (
        ValueError,
        r"got 'graph'; the known splits: valid$",
        Sampled(among="graph"),
        {"known": {"valid": [("a", "r", "b")]}},
    ),
    (ValueError, "known split by its name, got", Sampled(among=3), {}),  # type: ignore[arg-type]
    (
        ValueError,
        r"^candidates: expected a sample that is typed, or among a known split by its name, got",
        Sampled(typed=True, among="valid"),
        {"known": {"valid": [("a", "r", "b")]}},
    ),
    (ValueError, r"^candidates: expected .*, got 'train'; the known splits: none$", "train", {}),
    (TypeError, r"^candidates: expected labels .*, got 40", 40, {}),
    (TypeError, "candidates: typed: expected a bool, got str", Sampled(typed="no"), {}),  # type: ignore[arg-type]
    (ValueError, r"^candidates: types are those of entities", "typed", {"sides": ("relation",)}),
    (ValueError, "^candidates: .* entities", Sampled(typed=True), {"sides": ("relation", "tail")}),
    (ValueError, "^candidates: a list is .* or of relations", [0], {"sides": ("relation", "tail")}),
    (ValueError, "^candidates: 1 .* side head are not among the candidates, first 'a'$", ["b"], {}),
    (ValueError, r"^candidates: 1 answers of the side head", [], {}),
    (ValueError, "^candidates: .* got 'x' at position 1", ["a", "x"], {}),
    (ValueError, "^candidates: .* got 2 at position 1", [0, 2], {}),
    (ValueError, "^candidates: .* got -1 at position 0", [-1], {}),
    (TypeError, r"^candidates: expected integers, got dtype float64", [0.5], {}),
    (ValueError, r"^candidates: expected a 1-D array, got shape \(1, 1\)", [[0]], {}),
    (TypeError, r"^candidates: expected negatives >= 1", Sampled(0.5), {}),  # type: ignore[arg-type]
    (ValueError, r"^candidates: expected seed >= 0, got -1", Sampled(seed=-1), {}),
    (TypeError, r"^candidates: expected seed >= 0", Sampled(seed=None), {}),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("kind", "words", "candidates", "how"), ERRORS)
def test_errors(kind: type[Exception], words: str, candidates: Any, how: dict[str, Any]) -> None:
    refusal(kind, words, Task, TEST, candidates=candidates, **how)


def test_labels_need_names() -> None:
    refusal(ValueError, "^candidates: .* from 0 to 1, got 'a'", Task, [(0, 0, 1)], candidates=["a"])
