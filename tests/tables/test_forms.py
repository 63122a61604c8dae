"""Tables in columns of plain text: names at the left, the points of numbers below each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import Table

pytestmark = pytest.mark.python_only


def test_points_stand_below_each_other() -> None:
    rows = [
        ["mr", "7,010.25", "0.5 ± 0.01"],
        ["mrr", "0.5", "12"],
        ["z", "-3", "nan"],
        ["p", "1.5e-08", ""],
        ["interval", "0.25 to 0.5", "<= 0.01"],
    ]
    assert Table(["metric", "a", "of b"], rows).to_text().split("\n") == [
        "metric                  a          of b",
        "mr        7,010.25           0.5 ± 0.01",
        "mrr           0.5           12",
        "z            -3            nan",
        "p             1.5e-08",
        "interval      0.25 to 0.5       <= 0.01",
    ]


@given(st.lists(st.floats(-1e5, 1e5).map("{:.6g}".format), min_size=1, max_size=6))
def test_plain_numbers_keep_their_digits(cells: list[str]) -> None:
    table = Table(["", "value", "end"], [["", cell, "|"] for cell in cells])
    _, *lines = table.to_text().split("\n")
    assert [line.removesuffix("|").strip() for line in lines] == cells
    assert len({len(line) for line in lines}) == 1
    assert len({len(line.rstrip(" |").partition(".")[0].partition("e")[0]) for line in lines}) == 1


def test_wide_characters_take_two_cells() -> None:
    found = Table(["模型", "mr"], [["e\u0301te\u0301", "1"]]).to_text()
    assert found == "模型  mr\ne\u0301te\u0301    1"


def test_names_are_at_the_left() -> None:
    text = Table(["a", "b", "p"], [["1", "22", "0.5"], ["333", "4", "0.25"]], names=2).to_text()
    assert text == "a    b      p\n1    22  0.5\n333  4   0.25"


def test_lines_table_and_notes_are_apart() -> None:
    table = Table(["metric", "value"], [["mr", 4.5]], before=["x", "y"], notes=["note\x1b"])
    assert table.to_text() == "x\ny\n\nmetric  value\nmr        4.5\n\nnote\\x1b"
    assert table.to_text(notes=False) == "metric  value\nmr        4.5"
