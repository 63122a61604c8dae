"""Found pairs: `score_pairs` against its definition, what it takes, and what it refuses."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oracles import found_pairs as oracle
from support.examples import examples
from support.outcomes import quietly
from support.refusals import T, V, refusal
from truerank.alignment import PairScores, Task, infer

pytestmark = pytest.mark.python_only

NUMBERS = ("found", "right", "correct", "precision", "recall", "f1")
SCORES = [-math.inf, -0.0, 0.0, 0.1, 0.1, 0.5, 1.0, math.inf]


near = partial(pytest.approx, abs=1e-7)


def numbers_of(scores: PairScores | None) -> dict[str, float]:
    assert scores is not None
    return {name: getattr(scores, name) for name in NUMBERS}


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Draw pairs of few entities, so that several counterparts, repeats and leaks are frequent."""
    n_left, n_right = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    pair = st.tuples(st.integers(0, n_left - 1), st.integers(0, n_right - 1))
    test = draw(st.lists(pair, min_size=1, max_size=8))
    known = draw(st.lists(pair, max_size=6))
    found = draw(st.lists(pair, max_size=12))
    scores = draw(st.none() | st.lists(st.sampled_from(SCORES), min_size=len(found), max_size=99))
    free = sorted(set(range(n_left)) - {left for left, _ in test + known})
    exclusive = draw(
        st.none() | st.lists(st.sampled_from(free), unique=True) if free else st.none()
    )
    return {
        "sizes": (n_left, n_right),
        "test": test,
        "known": known,
        "found": found,
        "scores": scores if scores is None else scores[: len(found)],
        "exclusive": exclusive,
        "names": draw(st.booleans()),
    }


def check(problem: dict[str, Any]) -> None:
    """Hold the scores of drawn pairs, by ids or by names, against the definition."""
    left, right = problem["sizes"]
    test, known, found = problem["test"], problem["known"], problem["found"]
    entities: dict[str, Any] = {"left": left, "right": right}
    given_pairs = {"test": test, "known": known, "found": found}
    exclusive = problem["exclusive"]
    if problem["names"]:
        entities = {x: [f"{x} {i}" for i in range(n)] for x, n in entities.items()}
        for name, pairs in given_pairs.items():
            given_pairs[name] = [(entities["left"][i], entities["right"][j]) for i, j in pairs]
        exclusive = exclusive and [entities["left"][i] for i in exclusive]
    splits = {"train": given_pairs["known"]} if known else None
    task = quietly(Task, given_pairs["test"], known=splits, exclusive=exclusive, **entities)
    scores = problem["scores"]
    result = task.score_pairs(given_pairs["found"], scores=scores)
    expected = oracle.score_pairs(found, test, scores, known)
    np.testing.assert_equal(numbers_of(result), {name: expected[name] for name in NUMBERS})
    best_f1 = None if result.best is None else result.best.f1
    assert (result.threshold, best_f1) == (expected["threshold"], expected["best_f1"])
    curve = None if result.curve is None else list(result.curve.rows)
    np.testing.assert_array_equal(np.array(curve), np.array(expected["curve"]))
    if exclusive is None:
        assert result.exclusive is result.matchable is None
    else:
        both = oracle.score_exclusive(found, test, known, set(problem["exclusive"]))
        for part, numbers in zip((result.exclusive, result.matchable), both, strict=True):
            np.testing.assert_equal(numbers_of(part), numbers)
    assert len(result.table()) == 1 + (curve is not None) + 2 * (exclusive is not None)


@given(problems())
@examples(250)
def test_numbers_are_those_of_the_definition(problem: dict[str, Any]) -> None:
    check(problem)


def test_what_infer_returns_has_positions_whatever_the_labels_are() -> None:
    vectors = np.eye(3)
    task = Task([(20, 7), (30, 8)], left=[10, 20, 30], right=[9, 7, 8])
    found = task.score_pairs(infer(vectors, vectors[[0, 1, 2]] + 0.01))
    assert (found.found, found.correct, found.threshold) == (3, 2, pytest.approx(1, abs=1e-3))
    pairs, scores = infer(vectors, vectors + 0.01)
    refusal(
        V, "^found: expected labels of left, as 10, got 0", task.score_pairs, pairs, scores=scores
    )
    assert task.score_pairs([(20, 7)]).precision == 1
    refusal(T, "^scores: expected None", task.score_pairs, (pairs, scores), scores=scores)


def test_shares_have_intervals_by_wilson_over_the_right_numbers_of_trials() -> None:
    task = Task([(i, i) for i in range(9)], left=20, right=20)
    result = task.score_pairs([(0, 0), (1, 1), (2, 3), (12, 3)])
    for trials, ends in ((4, result.precision_interval), (9, result.recall_interval)):
        expected = scipy.stats.binomtest(2, trials).proportion_ci(method="wilson")
        np.testing.assert_allclose(ends, (expected.low, expected.high), rtol=1e-9)
    nothing = task.score_pairs([])
    assert (nothing.found, nothing.recall) == (0, 0)
    assert math.isnan(nothing.precision)
    assert math.isnan(nothing.precision_interval[0])


def test_a_part_asks_for_its_own_pairs() -> None:
    task = Task([(0, 0), (1, 1), (2, 2), (2, 3)], left=4, right=4)
    found = [(0, 0), (1, 1), (2, 2), (2, 3), (3, 0)]
    assert numbers_of(task[[2]].score_pairs(found)) == {
        **numbers_of(
            Task([(2, 2)], left=4, right=4, known=[(0, 0), (1, 1), (2, 3)]).score_pairs(found)
        )
    }
    assert task[:3][[2]].score_pairs(found).correct == 1


def test_pairs_of_a_file_are_read_as_those_of_the_task(tmp_path: Path) -> None:
    task = Task([("a", "x"), ("b", "y")], left=["a", "b", "c"], right=["x", "y"])
    file = tmp_path / "found"
    file.write_text("a\tx\nc\ty\n")
    assert task.score_pairs(file).precision == 0.5
    file.write_text("a\tx\nd\ty\n")
    assert "'d' in column 0 of line 2" in refusal(V, "^found", task.score_pairs, file)
    openea = tmp_path / "alignment_results_12"
    openea.write_text("0\t0\n")
    refusal(V, "nothing in it says which", task.score_pairs, openea)


@pytest.mark.parametrize(
    ("kind", "scores"),
    [(V, [0.5]), (V, [0.5, math.nan]), (T, ["a", "b"]), (V, [[0.5, 0.25]]), (T, [True, False])],
)
def test_scores_that_are_refused(kind: Any, scores: Any) -> None:
    task = Task([(0, 0), (1, 1)], left=2, right=2)
    refusal(kind, "^scores: ", task.score_pairs, [(0, 0), (1, 1)], scores=scores)


def test_an_entity_of_a_pair_has_a_counterpart() -> None:
    message = "^exclusive: expected entities without a counterpart, got 2 of 3 that have one$"
    options: dict[str, Any] = {"left": 4, "right": 2, "known": {"train": [(1, 1)]}}
    refusal(V, message, Task, [(0, 0)], exclusive=[0, 1, 2], **options)
    refusal(V, "^exclusive", Task, [(0, 0)], exclusive=[4], **options)
    refusal(T, "^exclusive", Task, [(0, 0)], exclusive=np.arange(4) > 1, **options)
    refusal(V, "^exclusive", Task, [(0, 0)], exclusive=np.array([0, 0, 1, 1]), **options)
    task = Task([(0, 0)], exclusive=[3, 2, 2], **options)
    assert task.exclusive is not None
    assert task.exclusive.tolist() == [2, 3]


def test_the_table_says_all() -> None:
    task = Task([(0, 0), (1, 1)], left=4, right=3, exclusive=[2, 3])
    table = task.score_pairs([(0, 0), (1, 2), (2, 1)], scores=[0.9, 0.8, 0.4]).table()
    third, half = ((0.0614919, 0.7923404), (0.0945312, 0.9054688))
    one = (0.2065493, 1.0)
    assert table.rows == (
        ("pairs", 3, 2, 1, 1 / 3, 1 / 2, 2 / 5, near(third), near(half)),
        ("pairs from 0.9 on", 1, 2, 1, 1.0, 1 / 2, 2 / 3, near(one), near(half)),
        ("left entities in no pair", 1, 2, 1, 1.0, 1 / 2, 2 / 3, near(one), near(half)),
        ("left entities in a pair", 3, 2, 1, 1 / 3, 1 / 2, 2 / 5, near(third), near(half)),
    )
