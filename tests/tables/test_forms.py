"""Tables in columns of plain text: names at the left, the points of numbers below each other."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.tables import Table
from truerank.tables.cells import number
from truerank.tables.forms import TextGrid, aligned_columns, text_table

pytestmark = pytest.mark.python_only


def test_points_stand_below_each_other() -> None:
    rows = [
        ["mr", "7,010.25", "0.5 ± 0.01"],
        ["mrr", "0.5", "12"],
        ["z", "-3", "nan"],
        ["p", "1.5e-08", ""],
        ["interval", "0.25 to 0.5", "<= 0.01"],
    ]
    assert text_table(TextGrid(["metric", "a", "of b"], rows)).split("\n") == [
        "metric                  a          of b",
        "mr        7,010.25           0.5 ± 0.01",
        "mrr           0.5           12",
        "z            -3            nan",
        "p             1.5e-08",
        "interval      0.25 to 0.5       <= 0.01",
    ]


@given(st.lists(st.floats(-1e5, 1e5).map(lambda x: number(x, 6)), min_size=1, max_size=6))
def test_plain_numbers_keep_their_digits(cells: list[str]) -> None:
    (_, *found) = aligned_columns(TextGrid(["", "value"], [["", cell] for cell in cells]))
    assert [row[1].strip() for row in found] == cells
    assert len({len(row[1]) for row in found}) == 1
    whole = [len(row[1].partition(".")[0].partition("e")[0].rstrip()) for row in found]
    assert len(set(whole)) == 1


@given(st.lists(st.text(max_size=5), min_size=2, max_size=2), st.text(max_size=5))
def test_any_text_is_one_line_per_row(row: list[str], heading: str) -> None:
    assert len(text_table(TextGrid([heading, "x"], [row])).split("\n")) == 2


def test_wide_characters_take_two_cells() -> None:
    heading, row = aligned_columns(TextGrid(["模型", "mr"], [["e\u0301te\u0301", "1"]]))
    assert heading == ["模型", "mr"]
    assert row == ["e\u0301te\u0301 ", " 1"]
    assert unicodedata.east_asian_width("模") == "W"


def test_names_are_at_the_left() -> None:
    rows = [["1", "22", "0.5"], ["333", "4", "0.25"]]
    text = text_table(TextGrid(["a", "b", "p"], rows, names=2))
    assert text == "a    b      p\n1    22  0.5\n333  4   0.25"


def test_lines_tables_and_notes_are_apart() -> None:
    found = Table(["metric", "value"], [["mr", 4.5]])
    table = "metric  value\nmr        4.5"
    several = Table([], before=["x", "y"], notes=["note\x1b"], below=[found, found])
    assert several.to_text() == f"x\ny\n\n{table}\n\n{table}\n\nnote\\x1b"
    assert found.to_text() == table
    assert Table([], notes=["few"]).to_text() == "few"
