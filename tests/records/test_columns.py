"""Columns are found by the names of their door's table; whatever has columns is read by them."""

from __future__ import annotations

from functools import partial
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
)
from truerank.records.id_tables import read_columns

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "inputs.md"
pytestmark = pytest.mark.python_only


def test_further_columns_are_kept_in_their_order_where_there_may_be_such():
    names = ["time", "tail", "head", "relation", "place"]
    form = find_columns("x", names, 5, FACTS, has_further=True)
    assert form.places == {"head": 2, "relation": 3, "tail": 1, "3": 0, "4": 4}
    assert form.further == ("time", "place")
    in_order = find_columns("x", None, 5, FACTS, has_further=True)
    assert in_order.places == {"head": 0, "relation": 1, "tail": 2, "3": 3, "4": 4}


def test_the_page_prints_the_table_of_names():
    lines = ["| input | role: its other names |", "| --- | --- |"]
    for door in DOORS:
        every_name = [name for names in door.roles.values() for name in names]
        assert len(set(every_name)) == len(every_name), door.kind  # None has two meanings.
        cells = []
        for role, names in door.roles.items():
            others = ", ".join(f"`{name}`" for name in sorted(names - {role}))
            cells.append(f"{role}: {others}" if others else role)
        lines.append(f"| {door.kind} | {'; '.join(cells)} |")
    assert "\n".join(lines) in PAGE.read_text()


@pytest.mark.parametrize("number", ["score", "rank"])
def test_a_log_is_judgements_and_lists(number):
    """Each reads its own number, and leaves the other's out; further columns are refused."""
    names = [number, "document", "relevance", "query"]
    judged = find_columns("qrels", names, 4, JUDGEMENTS)
    assert judged.places == {"query": 3, "document": 1, "relevance": 2}
    assert judged.left_out == (number,)
    listed = find_columns("ids", names, 4, LISTS)
    assert listed.places == {"query": 3, "document": 1, number: 0}
    assert listed.left_out == ("relevance",)
    for door in (JUDGEMENTS, LISTS):
        refused(ValueError, "x", partial(find_columns, "x", [*names, "time"], 5, door))
    # Only the exact name of a number says that it is the log's own.
    refused(
        ValueError, "x", partial(find_columns, "x", ["query", "document", "rank"], 3, JUDGEMENTS)
    )


FRAME = pd.DataFrame({"tail": [5, 6], "head": ["a", "b"]})


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (FRAME.set_index(pd.Index([7, 3])), ["tail", "head"]),
        (FRAME.set_axis([1, 0], axis=1), [1, 0]),  # Numbers in another order are names.
        (FRAME.set_axis([0, 1], axis=1), None),
        ((range(5, 7), np.array(["a", "b"], object)), None),
    ],
)
def test_tables_have_columns_with_names_or_with_numbers(table, names):
    numbers = {"left": 0, "right": 1}
    columns, names_of_columns = read_columns("test", table, PAIRS, None if names else numbers)
    assert names_of_columns == names
    assert [list(column) for column in columns] == [[5, 6], ["a", "b"]]


# -- what is refused -------------------------------------------------------------------------------

NO_NAMES = [
    (FACTS, ["u", "v", "r"]),  # no head, no tail
    (FACTS, ["head", "tail", "weight"]),
    (FACTS, ["h", "r", "t", "y"]),  # a label of WN11, which decides what is true
    (FACTS, ["head", "h", "relation", "tail"]),  # two heads
    (FACTS, ["Head", "Relation", "Tail"]),
    (PAIRS, ["left", "right", "similarity"]),
    (JUDGEMENTS, ["query", "relevance"]),
    (JUDGEMENTS, ["user", "item", "timestamp"]),  # It may decide which split a row is of.
    (LISTS, ["query", "document", "score", "tag"]),
    (FACTS, None),  # Two columns, in no order of three roles.
]
# What columns= says of three columns, and what is wrong with it whatever these are called.
NO_OPTIONS = [
    (["u", "r", "v"], TypeError),  # a sequence reads as its opposite
    ({"u": "head", "r": "relation", "v": "tail"}, TypeError),
    ({"head": "u", "relation": "r"}, ValueError),
    ({"head": "u", "relation": "u", "tail": "v"}, ValueError),
    ({"head": True, "relation": 1, "tail": 2}, TypeError),
    ({"head": 0.0, "relation": 1, "tail": 2}, TypeError),
]
NOT_THERE = [
    (["u", "r", "v"], {"head": "u", "relation": "r", "tail": "w"}),
    (["u", "r", "v"], {"head": 0, "relation": 1, "tail": 3}),
    (["u", "r", "v"], {"head": 0, "relation": 1, "tail": -1}),
    (["u", "r", "u"], {"head": "u", "relation": "r", "tail": 0}),
    (["u", "r", "v"], {"head": "u", "relation": "r", "tail": 0}),
    (None, {"head": "u", "relation": "r", "tail": "v"}),
]
NO_TABLES = [
    (([5, 6], [1]), PAIRS, ValueError),
    ((), PAIRS, ValueError),
    (((5, 6), 1), PAIRS, TypeError),
    (("ab", "cd"), PAIRS, TypeError),
    ((np.zeros((2, 2)), [1, 2]), PAIRS, TypeError),
    (np.zeros((3, 0), int), PAIRS, TypeError),  # They would be read as no rows at all.
    ([(), ()], PAIRS, TypeError),
    ([], LISTS, TypeError),
]
REFUSALS = [
    (partial(find_columns, "x", names, len(names or "12"), door), ValueError, "x")
    for door, names in NO_NAMES
]
REFUSALS += [(partial(check_columns, each, FACTS), error, "columns") for each, error in NO_OPTIONS]
REFUSALS += [
    (partial(find_columns, "x", names, 3, FACTS, columns), ValueError, "x")
    for names, columns in NOT_THERE
]
REFUSALS += [
    (partial(read_columns, "test", value, door), error, "test") for value, door, error in NO_TABLES
]


@pytest.mark.parametrize(("call", "error", "argument"), REFUSALS)
def test_refusals(call, error, argument):
    refused(error, argument, call)
