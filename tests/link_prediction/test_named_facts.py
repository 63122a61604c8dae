"""Facts are read by the names of their columns; what has no role is refused, or in the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.refusals import refusal
from truerank.link_prediction import Task
from truerank.records.columns import FACTS

pytestmark = pytest.mark.python_only
Columns = Sequence[Sequence[Any]]


def _frame(names: Sequence[str], columns: Columns) -> Any:
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def _filtered_frame(names: Sequence[str], columns: Columns) -> Any:
    """Return a frame whose index is that of rows of a larger one."""
    frame = _frame(names, [[*column, column[0]] for column in columns])
    return frame.iloc[::-1].iloc[1:].iloc[::-1].set_axis(range(7, 7 + len(columns[0])))


def _rows(names: Sequence[str], columns: Columns) -> Any:
    return list(zip(*columns, strict=True))


ENTITIES = ["a", "b", "c", "d", "e"]
TEST = [["a", "b", "d", "a"], ["in", "by", "in", "by"], ["b", "c", "a", "e"]]
TRAIN = [["a", "c", "b"], ["in", "in", "by"], ["c", "b", "a"]]
ROLES = list(FACTS.roles)
FIRST_THREE = {role: place for place, role in enumerate(ROLES)}
SCORES = np.random.default_rng(5).random((2, 4, 5), dtype=np.float32)


def ranks_of(test: Any, train: Any, **options: Any) -> Any:
    task = Task(test, {"train": train}, entities=ENTITIES, relations=["by", "in"], **options)
    return task.evaluate_scores(SCORES[0], head=SCORES[1]).ranks


RANKS = ranks_of(_rows(ROLES, TEST), _rows(ROLES, TRAIN))


def in_order(order: list[int], columns: list[Any]) -> list[Any]:
    return [columns[j] for j in order]


def left_out(task: Task) -> list[str]:
    """Return the columns of each split that are not read."""
    lines = map(str, task.audit)
    return [line.removeprefix("left out of ") for line in lines if line.startswith("left out of ")]


def test_each_split_has_names_and_an_order_of_its_own() -> None:
    test = _filtered_frame(["t", "h", "r"], in_order([2, 0, 1], TEST))
    train = _frame(["relation", "tail", "head"], in_order([1, 2, 0], TRAIN))
    assert ranks_of(test, train) == RANKS


@pytest.mark.parametrize("make", [_frame, _filtered_frame, _rows])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 0, 1]])
def test_columns_are_found_as_columns_says(make: Callable[..., Any], order: list[int]) -> None:
    """The fourth column, a weight, is left out of both splits, and the audit says so."""
    names = in_order(order, ["u", "v", "w", "weight"])
    tables = []
    for columns in (TEST, TRAIN):
        weights = np.linspace(0, 1, len(columns[0])).tolist()
        tables.append(make(names, in_order(order, [*columns, weights])))
    of_roles: list[dict[str, Any]] = [{role: order.index(j) for role, j in FIRST_THREE.items()}]
    if make is not _rows:
        of_roles.append(dict(zip(ROLES, ["u", "v", "w"], strict=True)))
    for columns in of_roles:
        assert ranks_of(*tables, columns=columns) == RANKS
        task = Task(tables[0], {"train": tables[1]}, columns=columns)
        name = f"column {order.index(3)}" if make is _rows else "weight"
        assert left_out(task) == [f"test: {name}", f'known["train"]: {name}']


def test_columns_of_frames_without_names_need_numbers() -> None:
    tables = [_frame(ROLES, columns).set_axis([0, 1, 2], axis=1) for columns in (TEST, TRAIN)]
    refusal(ValueError, "^test: expected columns with names, or columns= with", ranks_of, *tables)
    assert ranks_of(*tables, columns=FIRST_THREE) == RANKS
    of_frames = [tuple(table[j] for j in range(3)) for table in tables]
    assert ranks_of(*of_frames) == RANKS


@pytest.mark.parametrize(
    ("name", "further"),
    [
        ("y", [1, -1, 1, -1]),  # WN11's labels of true and false
        ("year", ["1990", "1991", "1990", "1990"]),
    ],
)
def test_a_further_column_is_read_only_where_that_is_said(
    name: str, further: list[Any], tmp_path: Path
) -> None:
    rows = list(zip(*TEST, further, strict=True))
    path = tmp_path / "test.txt"
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    frame = _frame(["h", "r", "t", name], [*TEST, further])
    for test in (rows, frame, path, (*TEST, further)):
        words = "^test: .*; keys= says what others are, and columns="
        refusal(ValueError, words, Task, test, entities=ENTITIES)
        assert Task(test, entities=ENTITIES, keys=[3]).tail.queries.shape[1] == 3
        assert Task(test, entities=ENTITIES, columns=FIRST_THREE).test.shape == (4, 3)


def test_a_weight_is_no_qualifier() -> None:
    test = list(zip(*TEST, [0.5, 0.25, 0.5, 1.0], strict=True))
    refusal(TypeError, "columns= with head, relation, tail alone, got 0.5 in row 0", Task, test)


def test_a_column_of_one_value_is_left_out_of_all_splits() -> None:
    """ICEWS18's quadruples have a fifth column of zeros."""
    test = list(zip(*TEST, [0] * 4, strict=True))
    train = list(zip(*TRAIN, [0] * 3, strict=True))
    task = Task(test, {"train": train})
    assert left_out(task) == ["all splits: column 3, which has one value"]
    assert task.test.shape == (4, 3)
    days = [(*row, day) for row, day in zip(test, (24, 24, 48, 72), strict=True)]
    of_days = [(*row, day) for row, day in zip(train, (0, 24, 24), strict=True)]
    task = Task(days, {"train": of_days}, columns=FIRST_THREE)
    assert left_out(task) == ["test: column 3, column 4", 'known["train"]: column 3, column 4']
    refusal(ValueError, r"^test: .* got column 4, as 24 and", Task, days, {"train": of_days})


def test_further_columns_of_all_splits_have_one_order() -> None:
    years, places = [1, 2, 3, 4], [5, 6, 7, 8]
    test = _frame([*ROLES, "year", "place"], [*TEST, years, places])
    train = _frame([*ROLES, "place", "year"], [*TEST, places, years])
    refusal(ValueError, r'^known\["train"\]: ', Task, test, {"train": train}, keys=[3, 4])
    assert Task(test, {"train": test[:0]}, keys=[3]).test.shape == (4, 5)


def test_a_row_has_members_that_are_scalars() -> None:
    columns = (np.array([0, 1]), np.array([0, 0]), np.array([1, 2]))
    labels = np.array(_rows(ROLES, TEST))
    for wrong in (
        [columns],
        [([0, 1], [0, 0], [1, 2])],
        dict(zip(ROLES, columns, strict=True)),
        labels,
    ):
        refusal(TypeError, r"^test: .*, rows \[\(head, relation, tail\), ", Task, wrong)
    assert Task(columns).test.tolist() == [[0, 0, 1], [1, 0, 2]]
    words = "a tuple is columns, a list of tuples is rows, got 2"
    refusal(ValueError, words, Task, ((0, 1), (2, 3)))
    refusal(TypeError, "a tuple is columns, a list is rows, got 0 among them", Task, (0, 1, 2))


def test_known_triples_that_share_no_query_are_in_the_audit() -> None:
    """Splits of inductive facts are disjoint by design."""
    train = [("x", "in", "y"), ("a", "in", "z"), ("b", "by", "e")]
    audit = Task(_rows(ROLES, TEST), {"train": train, "valid": []}).audit
    (finding,) = (each for each in audit if "share a query" in each.message)
    assert str(finding) == "train: 2 of 3 triples share a query with test"
    assert finding.count == 2
    inductive = Task(_rows(ROLES, TEST), {"graph": [("x", "in", "y")]}).audit
    assert "graph: 0 of 1 triples share a query with test" in map(str, inductive)
