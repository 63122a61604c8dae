"""Facts are read by the names of their columns; what has no role is refused, or in the audit."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.refusals import refusal
from truerank.link_prediction import Task
from truerank.records.columns import FACTS

pytestmark = pytest.mark.python_only
Columns = Sequence[Sequence[Any]]


def _frame(names: Sequence[str], columns: Columns) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(dict(zip(names, columns, strict=True)))


def _filtered_frame(names: Sequence[str], columns: Columns) -> Any:
    """Return a frame whose index is that of rows of a larger one."""
    frame = _frame(names, [[*column, column[0]] for column in columns])
    return frame.iloc[::-1].iloc[1:].iloc[::-1].set_axis(range(7, 7 + len(columns[0])))


def _frame_of_polars(names: Sequence[str], columns: Columns) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(dict(zip(names, columns, strict=True)))


def _table_of_arrow(names: Sequence[str], columns: Columns) -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.table(dict(zip(names, map(list, columns), strict=True)))


def _structured(names: Sequence[str], columns: Columns) -> Any:
    arrays = list(map(np.array, columns))
    kinds = [(name, array.dtype) for name, array in zip(names, arrays, strict=True)]
    return np.array(list(zip(*columns, strict=True)), kinds)


def _numbered(columns: Columns) -> list[str]:
    return [f"column {j}" for j in range(len(columns))]


NAMED: dict[str, Callable[[Sequence[str], Columns], Any]] = {
    "frame": _frame,
    "filtered frame": _filtered_frame,
    "frame of polars": _frame_of_polars,
    "table of arrow": _table_of_arrow,
    "structured array": _structured,
}
UNNAMED: dict[str, Callable[[Columns], Any]] = {
    "rows": lambda columns: list(zip(*columns, strict=True)),
    "columns": tuple,
    "columns of arrays": lambda columns: tuple(map(np.array, columns)),
    "columns of a frame": lambda columns: tuple(
        column for _, column in _filtered_frame(_numbered(columns), columns).items()
    ),
    "frame of numbers": lambda columns: _frame(_numbered(columns), columns).set_axis(
        range(len(columns)), axis=1
    ),
}


ENTITIES = ["a", "b", "c", "d", "e"]
TEST = [["a", "b", "d", "a"], ["in", "by", "in", "by"], ["b", "c", "a", "e"]]
TRAIN = [["a", "c", "b"], ["in", "in", "by"], ["c", "b", "a"]]
ROLES = list(FACTS.roles)
SCORES = np.random.default_rng(5).random((2, 4, 5), dtype=np.float32)
NAMES = [["h", "r", "t"], ROLES]


def ranks_of(test: Any, train: Any, **options: Any) -> Any:
    task = Task(test, {"train": train}, entities=ENTITIES, relations=["by", "in"], **options)
    return task.evaluate_scores(SCORES[0], head=SCORES[1]).ranks


RANKS = ranks_of(UNNAMED["rows"](TEST), UNNAMED["rows"](TRAIN))


def in_order(order: list[int], columns: list[Any]) -> list[Any]:
    return [columns[j] for j in order]


def left_out(task: Task) -> list[str]:
    """Return the columns of each split that are not read."""
    lines = map(str, task.audit)
    return [line.removeprefix("left out of ") for line in lines if line.startswith("left out of ")]


@pytest.mark.parametrize("kind", NAMED)
@examples(10)
@given(data=st.data())
def test_any_order_of_named_columns_gives_the_same_ranks(kind: str, data: Any) -> None:
    """The splits may have other names and another order each."""
    tables = []
    for columns in (TEST, TRAIN):
        order = data.draw(st.permutations(range(3)))
        names = data.draw(st.sampled_from(NAMES))
        tables.append(NAMED[kind](in_order(order, names), in_order(order, columns)))
    assert ranks_of(*tables) == RANKS


@pytest.mark.parametrize("kind", NAMED)
@examples(10)
@given(order=st.permutations(range(4)), named=st.booleans())
def test_columns_are_found_as_columns_says(kind: str, order: list[int], named: bool) -> None:
    """The fourth column, a weight, is left out of both splits, and the audit says so."""
    names = in_order(order, ["u", "v", "w", "weight"])
    tables = []
    for columns in (TEST, TRAIN):
        weights = np.linspace(0, 1, len(columns[0])).tolist()
        tables.append(NAMED[kind](names, in_order(order, [*columns, weights])))
    columns: dict[str, Any] = dict(zip(ROLES, ["u", "v", "w"], strict=True))
    if not named:
        columns = {role: order.index(j) for j, role in enumerate(ROLES)}
    assert ranks_of(*tables, columns=columns) == RANKS
    task = Task(tables[0], {"train": tables[1]}, columns=columns)
    assert left_out(task) == ["test: weight", 'known["train"]: weight']


@pytest.mark.parametrize("kind", UNNAMED)
@examples(5)
@given(order=st.permutations(range(4)))
def test_what_has_no_names_is_in_the_order_of_the_roles(kind: str, order: list[int]) -> None:
    tables = UNNAMED[kind](TEST), UNNAMED[kind](TRAIN)
    if kind == "frame of numbers":
        refusal(
            ValueError, "^test: expected columns with names, or columns= with", ranks_of, *tables
        )
    else:
        assert ranks_of(*tables) == RANKS
    wider = [[*TEST, ["x", "y", "x", "y"]], [*TRAIN, ["x", "y", "x"]]]
    columns = {role: order.index(j) for j, role in enumerate(ROLES)}
    tables = [UNNAMED[kind](in_order(order, each)) for each in wider]
    assert ranks_of(*tables, columns=columns) == RANKS


WEIGHTS = [0.5, 0.25, 0.5, 1.0]
FURTHER = "keys= says what others are, and columns="


@pytest.mark.parametrize(
    ("names", "further"),
    [
        (["h", "r", "t", "y"], [1, -1, 1, -1]),  # WN11's labels of true and false
        (["h", "r", "t", "year"], ["1990", "1991", "1990", "1990"]),
    ],
)
def test_a_further_column_is_read_only_where_that_is_said(
    names: list[str], further: list[Any], tmp_path: Path
) -> None:
    rows = list(zip(*TEST, further, strict=True))
    path = tmp_path / "test.txt"
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    frame = NAMED["frame"](names, [*TEST, further])
    for test in (rows, frame, path, tuple(zip(*rows, strict=True))):
        words = (
            rf"^test: (.*test.txt: )?expected 3 columns .head, relation, tail.; {FURTHER}.* got "
        )
        message = refusal(ValueError, words, Task, test, entities=ENTITIES)
        assert f"as {str(further[0])!r} and" in message or f"as {further[0]!r} and" in message
        assert Task(test, entities=ENTITIES, keys=[3]).tail.queries.shape[1] == 3
        said = Task(test, entities=ENTITIES, columns=dict(zip(ROLES, range(3), strict=True)))
        assert said.test.shape == (4, 3)
    assert "got 'y'" in refusal(ValueError, FURTHER, Task, frame) or names[3] == "year"


def test_a_weight_is_no_qualifier() -> None:
    test = list(zip(*TEST, WEIGHTS, strict=True))
    refusal(TypeError, "columns= with head, relation, tail alone, got 0.5 in row 0", Task, test)
    columns = {"head": 0, "relation": 1, "tail": 2}
    assert left_out(Task(test, columns=columns)) == ["test: column 3"]


def test_a_column_of_one_value_is_left_out_of_all_splits() -> None:
    """ICEWS18's quadruples have a fifth column of zeros."""
    days = [[24, 24, 48, 72], [0, 24, 24]]
    test, train = (
        list(zip(*c, d, [0] * len(d), strict=True))
        for c, d in zip((TEST, TRAIN), days, strict=True)
    )
    task = Task(test, {"train": train}, columns=dict(zip(ROLES, range(3), strict=True)))
    assert left_out(task) == ["test: column 3, column 4", 'known["train"]: column 3, column 4']
    same = [(*row[:3], row[4]) for row in test], {"train": [(*row[:3], row[4]) for row in train]}
    task = Task(same[0], {"train": same[1]["train"]})
    assert left_out(task) == ["all splits: column 3, which has one value"]
    assert task.test.shape == (4, 3)
    test[0] = (*test[0][:4], 1)
    refusal(ValueError, r"^test: .* got column 3, as 24 and", Task, test, {"train": train})


def test_further_columns_of_all_splits_have_one_order() -> None:
    years, places = [1, 2, 3, 4], [5, 6, 7, 8]
    test = NAMED["frame"]([*ROLES, "year", "place"], [*TEST, years, places])
    train = NAMED["frame"]([*ROLES, "place", "year"], [*TEST, places, years])
    words = r'^known\["train"\]: expected further columns year, place, as .* got place, year'
    refusal(ValueError, words, Task, test, {"train": train}, keys=[3, 4])
    assert Task(test, {"train": test[:0]}, keys=[3]).test.shape == (4, 5)


def test_a_row_has_members_that_are_scalars() -> None:
    a, b, c = (np.array([0, 1]), np.array([0, 0]), np.array([1, 2]))
    words = r"^test: expected a path, a table .*, rows \[\(head, relation, tail\), \.\.\.\] as a l"
    by_role = dict(zip(ROLES, (a, b, c), strict=True))
    labels = np.array(UNNAMED["rows"](TEST))
    for wrong in (
        [a, b, c],
        [(a, b, c)],
        [([0, 1], [0, 0], [1, 2])],
        [[0, 0, 1], [1, 0, 2]],
        by_role,
        [by_role],
        [namedtuple("Row", ROLES)(0, 0, 1)],
        labels,
        labels.astype(object),
    ):
        refusal(TypeError, words, Task, wrong)
    assert Task((a, b, c)).test.tolist() == [[0, 0, 1], [1, 0, 2]]
    refusal(
        ValueError, "a tuple is columns, a list of tuples is rows, got 2", Task, ((0, 1), (2, 3))
    )
    refusal(TypeError, "a tuple is columns, a list is rows, got 0 among them", Task, (0, 1, 2))
    refusal(ValueError, "of one length.* got lengths 2, 2, 1", Task, ([0, 1], [0, 1], [0]))


def test_three_columns_of_length_three_are_columns() -> None:
    test = (np.array([0, 1, 2]), np.array([0, 0, 0]), np.array([1, 2, 0]))
    task = Task(test, entities=3, sides=["tail"])
    assert task.tail.targets.tolist() == [1, 2, 0]


def test_known_triples_that_share_no_query_are_in_the_audit() -> None:
    """Splits of inductive facts are disjoint by design."""
    train = [("x", "in", "y"), ("a", "in", "z"), ("b", "by", "e")]
    audit = Task(UNNAMED["rows"](TEST), {"train": train, "valid": TRAIN_ROWS[:0]}).audit
    (finding,) = (each for each in audit if "share a query" in each.message)
    assert str(finding) == "train: 2 of 3 triples share a query with test"
    assert finding.count == 2
    inductive = Task(UNNAMED["rows"](TEST), {"graph": [("x", "in", "y")]}).audit
    assert "graph: 0 of 1 triples share a query with test" in map(str, inductive)


TRAIN_ROWS = UNNAMED["rows"](TRAIN)
