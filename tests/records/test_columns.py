"""Columns are found by the names of their door's table; whatever has columns is read by them."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.refusals import refused
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
        (FACTS, ["Head", "Relation", "Tail"]),
        (FACTS, ["head:token", "relation:token", "tail:token"]),
        (PAIRS, ["left", "right", "similarity"]),
        (JUDGEMENTS, ["query", "relevance"]),
        (JUDGEMENTS, ["user_id", "item_id", "rating"]),
        (JUDGEMENTS, ["user", "item", "timestamp"]),  # It may decide which split a row is of.
        (LISTS, ["query", "document", "item", "score"]),
        (LISTS, ["query", "document", "score", "tag"]),
        (FACTS, None),  # Two columns, in no order of three roles.
    ],
)
def test_other_names_are_refused(door, names):
    refused(ValueError, "x", find_columns, "x", names, len(names or "12"), door)


def test_further_columns_are_kept_in_their_order_where_there_may_be_such():
    names = ["time", "tail", "head", "relation", "place"]
    form = find_columns("x", names, 5, FACTS, has_further=True)
    assert form.places == {"head": 2, "relation": 3, "tail": 1, "3": 0, "4": 4}
    assert form.further == ["time", "place"]
    in_order = find_columns("x", None, 5, FACTS, has_further=True)
    assert in_order.places == {"head": 0, "relation": 1, "tail": 2, "3": 3, "4": 4}


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        (["u", "r", "v"], TypeError),  # a sequence reads as its opposite
        ({"u": "head", "r": "relation", "v": "tail"}, TypeError),
        ({"head": "u", "relation": "r"}, ValueError),
        ({"head": "u", "relation": "u", "tail": "v"}, ValueError),
        ({"head": True, "relation": 1, "tail": 2}, TypeError),
        ({"head": 0.0, "relation": 1, "tail": 2}, TypeError),
    ],
)
def test_the_option_is_a_name_or_a_number_for_each_role(columns, error):
    refused(error, "columns", check_columns, columns, FACTS)


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
    refused(ValueError, "x", find_columns, "x", names, 3, FACTS, columns)


def test_the_page_prints_the_table_of_names():
    lines = ["| door | role: its other names |", "| --- | --- |"]
    for door in DOORS:
        every_name = [name for names in door.roles.values() for name in names]
        assert len(set(every_name)) == len(every_name), door.kind  # None has two meanings.
        cells = []
        for role, names in door.roles.items():
            others = ", ".join(f"`{name}`" for name in sorted(names - {role}))
            cells.append(f"{role}: {others}" if others else role)
        lines.append(f"| {door.kind} | {'; '.join(cells)} |")
    assert "\n".join(lines) in PAGE.read_text()


FRAME = pd.DataFrame({"tail": [5, 6], "head": ["a", "b"]})


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (FRAME.set_index(pd.Index([7, 3])), ["tail", "head"]),
        (FRAME.to_records(index=False), ["tail", "head"]),
        (FRAME.set_axis([1, 0], axis=1), [1, 0]),  # Numbers in another order are names.
        (FRAME.set_axis([0, 1], axis=1), None),
        (([5, 6], ["a", "b"]), None),
        ((range(5, 7), np.array(["a", "b"], object)), None),
    ],
)
def test_tables_have_columns_with_names_or_with_numbers(table, names):
    numbers = {"left": 0, "right": 1}
    columns, names_of_columns = read_columns("test", table, PAIRS, None if names else numbers)
    assert names_of_columns == names
    assert [list(column) for column in columns] == [[5, 6], ["a", "b"]]


@pytest.mark.parametrize(
    ("value", "door", "error"),
    [
        (([5, 6], [1]), PAIRS, ValueError),
        ((), PAIRS, ValueError),
        (((5, 6), 1), PAIRS, TypeError),
        ((5, 6), PAIRS, TypeError),
        (("ab", "cd"), PAIRS, TypeError),
        ((np.zeros((2, 2)), [1, 2]), PAIRS, TypeError),
        (np.zeros((0, 0), int), PAIRS, TypeError),  # They would be read as no rows at all.
        (np.zeros((3, 0), int), PAIRS, TypeError),
        ([(), ()], PAIRS, TypeError),
        ([(5, "a")], LISTS, TypeError),
        (np.zeros((2, 2)), LISTS, TypeError),
        ([], LISTS, TypeError),
    ],
)
def test_what_is_no_table_is_refused(value, door, error):
    refused(error, "test", read_columns, "test", value, door)
