"""Columns are found by the names of their door's table; whatever has columns is read by them."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truerank.errors import InputTypeError, InputValueError
from truerank.records.columns import (
    DOORS,
    FACTS,
    JUDGEMENTS,
    LISTS,
    PAIRS,
    check_columns,
    find_columns,
    read_columns,
)

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "inputs.md"
pytestmark = pytest.mark.python_only


@pytest.mark.parametrize(
    ("door", "names"),
    [
        (FACTS, ["h", "r", "t"]),
        (FACTS, ["head", "relation", "tail"]),
        (PAIRS, ["left", "right"]),
        (JUDGEMENTS, ["query-id", "corpus-id", "score"]),
        (JUDGEMENTS, ["user", "item", "score"]),
        (JUDGEMENTS, ["query", "document", "relevance"]),
        (LISTS, ["query-id", "corpus-id", "score", "rank"]),
    ],
)
def test_names_are_read_wherever_they_stand(door, names):
    roles = list(door.roles)[: len(names)]
    for order in permutations(range(len(names))):
        places = find_columns("x", [names[j] for j in order], len(names), door).places
        assert places == {roles[j]: order.index(j) for j in range(len(names))}
        assert list(places) == roles


@pytest.mark.parametrize(
    ("door", "names"),
    [
        (FACTS, ["u", "v", "r"]),  # no head, no tail
        (FACTS, ["head", "tail", "weight"]),
        (FACTS, ["h", "r", "t", "y"]),  # a label of WN11, which decides what is true
        (FACTS, ["head", "h", "relation", "tail"]),  # two heads
        (FACTS, ["subject", "predicate", "object"]),
        (FACTS, ["Head", "Relation", "Tail"]),
        (FACTS, ["head:token", "relation:token", "tail:token"]),
        (LISTS, ["query_id", "corpus_id", "score"]),
        (FACTS, ["id", "head", "relation", "tail"]),
        (PAIRS, ["source", "target"]),
        (PAIRS, ["left", "right", "similarity"]),
        (JUDGEMENTS, ["user", "item", "stars"]),
        (JUDGEMENTS, ["query", "relevance"]),
        (JUDGEMENTS, ["user_id", "item_id", "rating"]),
        (JUDGEMENTS, ["user", "item", "timestamp"]),  # It may decide which split a row is of.
        (LISTS, ["query", "document", "item", "score"]),
        (LISTS, ["qid", "docno", "score"]),
        (LISTS, ["query", "document", "score", "tag"]),
    ],
)
def test_other_names_are_refused(door, names):
    with pytest.raises(InputValueError, match=re.escape("columns={")):
        find_columns("x", names, len(names), door)


def test_columns_that_columns_does_not_name_are_left_out():
    said = check_columns({"query": "user", "document": 2}, JUDGEMENTS)
    form = find_columns("x", ["user", "at", "item"], 3, JUDGEMENTS, said)
    assert (form.places, form.left_out) == ({"query": 0, "document": 2}, ("at",))


def test_without_names_columns_have_the_order_of_the_roles():
    places = {"head": 0, "relation": 1, "tail": 2}
    assert find_columns("x", None, 3, FACTS).places == places
    further = find_columns("x", None, 5, FACTS, has_further=True)
    assert further.places == {**places, "3": 3, "4": 4}
    for width in (2, 4):
        with pytest.raises(InputValueError, match=f"got {width} columns"):
            find_columns("x", None, width, FACTS)


def test_further_columns_are_kept_in_their_order_where_there_may_be_such():
    names = ["time", "tail", "head", "relation", "place"]
    form = find_columns("x", names, 5, FACTS, has_further=True)
    assert form.places == {"head": 2, "relation": 3, "tail": 1, "3": 0, "4": 4}
    assert form.further == ["time", "place"]


def test_the_user_may_say_which_columns_are_meant():
    columns = check_columns({"head": "u", "relation": "r", "tail": 1}, FACTS)
    names = ["u", "v", "r", "w"]
    form = find_columns("x", names, 4, FACTS, columns)
    assert form.places == {"head": 0, "relation": 2, "tail": 1}
    assert form.left_out == ("w",)
    form = find_columns("x", names, 4, FACTS, columns, has_further=True)
    assert form.places == {"head": 0, "relation": 2, "tail": 1, "3": 3}
    assert form.left_out == ()
    numbers = check_columns({"left": 1, "right": 0}, PAIRS)
    assert find_columns("x", None, 2, PAIRS, numbers).places == {"left": 1, "right": 0}


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        (["u", "r", "v"], InputTypeError),  # a sequence reads as its opposite
        ({"u": "head", "r": "relation", "v": "tail"}, InputTypeError),
        ({"head": "u", "relation": "r"}, InputValueError),
        ({"head": "u", "relation": "u", "tail": "v"}, InputValueError),
        ({"head": True, "relation": 1, "tail": 2}, InputTypeError),
        ({"head": 0.0, "relation": 1, "tail": 2}, InputTypeError),
    ],
)
def test_the_option_is_a_name_or_a_number_for_each_role(columns, error):
    with pytest.raises(error, match="columns: expected a name or a number for each role"):
        check_columns(columns, FACTS)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["u", "r", "v"], {"head": "u", "relation": "r", "tail": "w"}),
        (["u", "r", "v"], {"head": 0, "relation": 1, "tail": 3}),
        (["u", "r", "v"], {"head": 0, "relation": 1, "tail": -1}),
        (["u", "r", "u"], {"head": "u", "relation": "r", "tail": 0}),
        (["u", "r", "v"], {"head": "u", "relation": "r", "tail": 0}),
        (None, {"head": "u", "relation": "r", "tail": "v"}),
    ],
)
def test_what_the_user_says_must_be_there(names, columns):
    with pytest.raises(InputValueError, match="columns="):
        find_columns("x", names, 3, FACTS, columns)


def test_no_name_has_two_meanings_at_one_door():
    for door in DOORS:
        names = [name for words in door.roles.values() for name in words]
        assert len(set(names)) == len(names), door.kind


def table_of_names() -> str:
    """Return a row for each door: its roles with their names."""
    lines = ["| door | role: its other names |", "| --- | --- |"]
    for door in DOORS:
        cells = [_listed(role, names) for role, names in door.roles.items()]
        lines.append(f"| {door.kind} | {'; '.join(cells)} |")
    return "\n".join(lines)


def _listed(role: str, names: frozenset[str]) -> str:
    words = [f"`{name}`" for name in sorted(names - {role})]
    return f"{role}: {', '.join(words)}" if words else role


def test_the_page_prints_the_table():
    assert table_of_names() in PAGE.read_text()


COLUMNS = {"tail": [5, 6], "head": ["a", "b"]}
FRAME = pd.DataFrame(COLUMNS)


def frame_of_polars():
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def table_of_arrow():
    return pytest.importorskip("pyarrow").table(COLUMNS)


MAKERS = {
    "frame": lambda: FRAME,
    "frame with an index": lambda: FRAME.set_index(pd.Index([7, 3])),
    "polars": frame_of_polars,
    "arrow": table_of_arrow,
    "structured array": lambda: np.array([(5, "a"), (6, "b")], [("tail", int), ("head", "U1")]),
    "records": lambda: FRAME.to_records(index=False),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_tables_have_columns_with_names(kind):
    columns, names = read_columns("test", MAKERS[kind](), PAIRS)
    assert names == ["tail", "head"]
    assert [list(column) for column in columns] == [[5, 6], ["a", "b"]]


@pytest.mark.parametrize(
    "value",
    [
        ([5, 6], ["a", "b"]),
        (np.array([5, 6]), pd.Series(["a", "b"])),
        (range(5, 7), np.array(["a", "b"], object)),
        FRAME.set_axis([0, 1], axis=1),
    ],
)
def test_tuples_and_numbered_columns_have_no_names(value):
    columns, names = read_columns("test", value, PAIRS, {"left": 0, "right": 1})
    assert names is None
    assert [list(column) for column in columns] == [[5, 6], ["a", "b"]]


def test_numbers_in_another_order_are_names():
    _, names = read_columns("test", FRAME.set_axis([1, 0], axis=1), PAIRS)
    assert names == [1, 0]


@pytest.mark.parametrize("value", [[(5, "a")], [[5, "a"]], np.zeros((2, 2)), [], "path", {}, 3])
def test_rows_arrays_and_paths_are_no_tables(value):
    with pytest.raises(InputTypeError, match="lists: expected a path, a table with named columns"):
        read_columns("lists", value, LISTS)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (([5, 6], [1]), InputValueError),
        (((5, 6), 1), InputTypeError),
        ((5, 6), InputTypeError),
        (("ab", "cd"), InputTypeError),
        ((np.zeros((2, 2)), [1, 2]), InputTypeError),
        ((), InputValueError),
    ],
)
def test_what_is_no_table_is_refused(value, error):
    with pytest.raises(error, match="test: expected"):
        read_columns("test", value, PAIRS)


@pytest.mark.parametrize("value", [np.zeros((3, 0), int), np.zeros((0, 0), int), [(), ()]])
def test_rows_without_columns_are_refused(value):
    """They would be read as no rows at all."""
    with pytest.raises(InputTypeError, match=r"test: expected a path, .*, got"):
        read_columns("test", value, PAIRS)
