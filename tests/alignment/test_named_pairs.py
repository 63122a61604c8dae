"""Pairs are read by the names of their columns by a task of alignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.named_columns import NAMED, UNNAMED
from support.refusals import refusal
from truerank.alignment import Task

pytestmark = pytest.mark.python_only
TEST = [[0, 3, 1, 2], [1, 2, 4, 0]]
TRAIN = [[4, 5], [3, 3]]
SCORES = np.random.default_rng(7).random((6, 5), dtype=np.float32)


def ranks_of(test: Any, train: Any, **options: Any) -> Any:
    task = Task(test, left=6, right=5, known={"train": train}, **options)
    return task.evaluate_scores(SCORES).ranks


RANKS = ranks_of(UNNAMED["rows"](TEST), UNNAMED["rows"](TRAIN))


@pytest.mark.parametrize("kind", NAMED)
@examples(5)
@given(data=st.data())
def test_any_order_of_named_columns_gives_the_same_ranks(kind: str, data: Any) -> None:
    """Pairs of a frame right, left were read as their opposites."""
    tables = []
    for columns in (TEST, TRAIN):
        order = data.draw(st.permutations(range(2)))
        names = [("left", "right")[j] for j in order]
        tables.append(NAMED[kind](names, [columns[j] for j in order]))
    assert ranks_of(*tables) == RANKS


@pytest.mark.parametrize("kind", NAMED)
def test_columns_are_found_as_columns_says(kind: str) -> None:
    tables = []
    for pairs in (TEST, TRAIN):
        similarities = np.linspace(0, 1, len(pairs[0])).tolist()
        tables.append(NAMED[kind](["sim", "wien", "vienna"], [similarities, *pairs[::-1]]))
    for columns in ({"left": "vienna", "right": "wien"}, {"left": 2, "right": 1}):
        assert ranks_of(*tables, columns=columns) == RANKS
        task = Task(tables[0], left=6, right=5, columns=columns)
        assert "left out of test: sim" in map(str, task.audit)
    words = r'^test: expected columns left, right, .* columns=\{"left": .*, got columns \'sim\''
    refusal(ValueError, words, Task, tables[0], left=6, right=5)


@pytest.mark.parametrize("kind", UNNAMED)
def test_what_has_no_names_is_in_the_order_of_the_roles(kind: str) -> None:
    tables = UNNAMED[kind](TEST), UNNAMED[kind](TRAIN)
    if kind == "frame of numbers":
        refusal(
            ValueError, "^test: expected columns with names, or columns= with", ranks_of, *tables
        )
    else:
        assert ranks_of(*tables) == RANKS


def test_two_columns_of_two_are_columns() -> None:
    for two in (([0, 1], [2, 3]), (np.array([0, 1]), np.array([2, 3])), ((0, 1), (2, 3))):
        assert Task(two, left=4, right=4).pairs.tolist() == [[0, 2], [1, 3]]
    for wrong in ([np.array([0, 1]), np.array([2, 3])], [(np.array([0, 1]), np.array([2, 3]))]):
        words = (
            r"rows \[\(left, right\), \.\.\.\] as a list of tuples or an array of ints, or a tuple"
        )
        refusal(TypeError, words, Task, wrong, left=4, right=4)


def test_known_pairs_that_share_no_entity_are_in_the_audit() -> None:
    task = Task(UNNAMED["rows"](TEST), left=6, right=5, known={"train": [(4, 3), (0, 3)]})
    assert "train: 1 of 2 pairs share a query with test" in map(str, task.audit)
