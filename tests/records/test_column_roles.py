"""Columns are found by the names of their door's table, and by nothing else."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path

import pytest

from support.name_tables import table_of_names
from truerank.errors import InputTypeError, InputValueError
from truerank.records.column_roles import (
    DOORS,
    FACTS,
    JUDGEMENTS,
    LISTS,
    PAIRS,
    check_columns,
    find_roles,
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
        found = find_roles("x", [names[j] for j in order], len(names), door)
        assert found.places == {roles[j]: order.index(j) for j in range(len(names))}
        assert list(found.places) == roles


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
        find_roles("x", names, len(names), door)


def test_columns_that_columns_does_not_name_are_left_out():
    said = check_columns({"query": "user", "document": 2}, JUDGEMENTS)
    found = find_roles("x", ["user", "at", "item"], 3, JUDGEMENTS, said)
    assert (found.places, found.left_out) == ({"query": 0, "document": 2}, ("at",))


def test_without_names_columns_have_the_order_of_the_roles():
    assert find_roles("x", None, 3, FACTS).places == {"head": 0, "relation": 1, "tail": 2}
    assert find_roles("x", None, 5, FACTS, may_have_further=True).further == (3, 4)
    for width in (2, 4):
        with pytest.raises(InputValueError, match=f"got {width} columns"):
            find_roles("x", None, width, FACTS)


def test_further_columns_are_kept_in_their_order_where_there_may_be_such():
    names = ["time", "tail", "head", "relation", "place"]
    found = find_roles("x", names, 5, FACTS, may_have_further=True)
    assert found.places == {"head": 2, "relation": 3, "tail": 1}
    assert (found.further, found.left_out) == ((0, 4), ())


def test_the_user_may_say_which_columns_are_meant():
    columns = check_columns({"head": "u", "relation": "r", "tail": 1}, FACTS)
    found = find_roles("x", ["u", "v", "r", "w"], 4, FACTS, columns)
    assert found.places == {"head": 0, "relation": 2, "tail": 1}
    assert found.left_out == ("w",)
    further = find_roles("x", ["u", "v", "r", "w"], 4, FACTS, columns, may_have_further=True)
    assert further.further == (3,)
    numbers = check_columns({"left": 1, "right": 0}, PAIRS)
    assert find_roles("x", None, 2, PAIRS, numbers).places == {"left": 1, "right": 0}


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
        find_roles("x", names, 3, FACTS, columns)


def test_no_name_has_two_meanings_at_one_door():
    for door in DOORS:
        names = [name for words in door.roles.values() for name in words]
        assert len(set(names)) == len(names), door.kind


def test_the_page_prints_the_table():
    assert table_of_names() in PAGE.read_text()
