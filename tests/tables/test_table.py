"""A table holds the same cells in every form, whatever they are, and marks what it is told to."""

from __future__ import annotations

import csv
import inspect
import io
import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.html_reader import Page
from support.refusals import refused
from truerank.naming import printable
from truerank.tables import Column, Table
from truerank.tables.forms import write_json
from truerank.tables.table import cell

TRICKY = st.text("ab|_&%<>#$~^{}\\*`[]\"'= +-@,\n\r\t\x1b\u2028\u2191", max_size=6)
CELLS = TRICKY | st.floats() | st.integers(-(10**12), 10**12) | st.none()


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 4))
    names = draw(st.lists(TRICKY, min_size=width, max_size=width, unique=True))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=4))
    return Table(names, rows, notes=draw(st.lists(TRICKY, max_size=2)))


def texts(table: Table) -> list[list[str]]:
    """The heading and the cells as people read them, before they are escaped for a form."""
    heading = [printable(column.name) for column in table.columns]
    rows = [heading]
    rows += [[printable(cell(value, 4)) for value in row] for row in table.rows]
    return rows


# -- forms for programs ----------------------------------------------------------------------------


@given(tables())
def test_csv_holds_the_cells(table: Table) -> None:
    lines = list(csv.reader(io.StringIO(table.to_csv(), newline="")))
    rows = [line or [""] for line in lines]
    heading = rows.pop(0)
    assert heading == [column.name for column in table.columns]
    assert len(rows) == len(table)
    for read, row in zip(rows, table.rows, strict=True):
        for text, value in zip(read, row, strict=True):
            if isinstance(value, float):
                assert float(text) == pytest.approx(value, rel=0, abs=0, nan_ok=True)
            else:
                expected = "" if value is None else str(value)
                assert text == expected


@given(tables())
def test_no_text_of_a_spreadsheet_is_a_formula(table: Table) -> None:
    read = csv.reader(io.StringIO(table.to_csv(spreadsheet=True), newline=""))
    for text in (text for line in read for text in line):
        is_number = re.fullmatch(r"[-+]([\d.]+(e[-+]?\d+)?|inf)", text)
        assert is_number or not text.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@given(tables())
def test_json_holds_the_cells(table: Table) -> None:
    content = json.loads(table.to_json(), parse_constant=pytest.fail)
    assert content["columns"] == [column.name for column in table.columns]
    assert content["notes"] == list(table.notes)
    for read, row in zip(content["rows"], table.rows, strict=True):
        for value, given_value in zip(read.values(), row, strict=True):
            if isinstance(given_value, float) and not math.isfinite(given_value):
                given_value = None if math.isnan(given_value) else str(given_value)
            assert value == given_value


def test_a_frame_has_numbers() -> None:
    pandas = pytest.importorskip("pandas", reason="for DataFrames")
    table = Table(["model", "mrr", "n"], [["a", 0.5, 3], ["b", None, 4]])
    frame = table.to_pandas()
    expected = pandas.DataFrame({"model": ["a", "b"], "mrr": [0.5, math.nan], "n": [3, 4]})
    pandas.testing.assert_frame_equal(frame, expected)


# -- forms for people ------------------------------------------------------------------------------


@given(tables())
def test_markdown_holds_the_cells(table: Table) -> None:
    grid = table.to_markdown(notes=False).split("\n")
    assert len(grid) == len(table) + 2
    lines = [line for i, line in enumerate(grid) if i != 1]
    for line, row in zip(lines, texts(table), strict=True):
        cells = re.findall(r"((?:\\.|[^|\\])*)\|", line)[1:]  # no backslash escapes the pipe
        plain = [re.sub(r"\\(.)", r"\1", text.strip(" ")) for text in cells]
        read = [text.replace("&lt;", "<").replace("&amp;", "&") for text in plain]
        assert read == [" ".join(text.split()) for text in row]


LATEX = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"$\uparrow$": "\u2191",
    "$-$": "-",
    **{f"\\{c}": c for c in "{}$&#%_"},
}


@given(tables())
def test_latex_holds_the_cells(table: Table) -> None:
    lines = table.to_latex().split("\n")
    body = [line for line in lines[2:-2] if line != "\\midrule"]
    pattern = "|".join(map(re.escape, sorted(LATEX, key=len, reverse=True)))
    for line, row in zip(body, texts(table), strict=True):
        assert line.endswith(r" \\")
        cells = re.split(r"(?<!\\)&", line.removesuffix(r"\\").removeprefix("{}"))
        read = [re.sub(pattern, lambda result: LATEX[result[0]], text).strip(" ") for text in cells]
        assert read == [" ".join(text.split()) for text in row]


@given(tables())
def test_html_holds_the_cells(table: Table) -> None:
    text = table.to_html(notes=False)
    assert text.count('<th scope="col"') == len(table.columns)
    assert text.count('<th scope="row"') == len(table)
    cells = Page(f"<!DOCTYPE html>\n{text}").cells
    assert cells == [text for row in texts(table) for text in row]


@given(tables())
def test_text_has_a_line_for_each_row(table: Table) -> None:
    lines = table.to_text(notes=False).split("\n")
    assert len(lines) == len(table) + 1
    for line, row in zip(lines, texts(table), strict=True):
        assert line.replace(" ", "") == "".join(row).replace(" ", "")


# -- what a paper shows ----------------------------------------------------------------------------

COLUMNS = [
    Column("model"),
    Column(
        "mrr", "MRR \u2191", decimals=3, better="higher", behind=[(0.01,), (math.nan,), (None,)]
    ),
    Column("mrr std", hidden=True),
    Column("mr", "MR \u2193", decimals=1, better="lower"),
    Column("hits@10", "Hits@10", decimals=1, unit="%"),
    Column("seed", hidden=True, shown=[7, 8, 9]),
    Column("range", "Range", shown=[(0.25, 0.5), (1.0, 1.0), None]),
]
ROWS = [
    ["A", 0.46, 0.01, 2500.0, 0.5, 1, 0.375],
    ["B", 0.4600001, math.nan, 357.25, 0.314, 2, 1.0],
    ["C", None, None, math.nan, 1.0, 3, None],
]
TABLE = Table(COLUMNS, ROWS, notes=["few units"])
TABLE.before = ("x",)


def test_a_table_as_a_paper_prints_it() -> None:
    assert str(TABLE) == (
        "x\n\n"
        "model           MRR \u2191     MR \u2193  Hits@10 (%)        Range\n"
        "A      0.460 \u00b1 0.010*  2500.0          50.0  0.25 to 0.5\n"
        "B      0.460*           357.2*         31.4  1\n"
        "C                       nan           100.0\n\n"
        "* the best of its column\nfew units"
    )


def test_programs_read_what_was_given() -> None:
    assert TABLE.to_csv().split("\n")[:2] == [
        "model,mrr,mrr std,mr,hits@10,seed,range",
        "A,0.46,0.01,2500.0,0.5,1,0.375",
    ]
    assert TABLE["mr"][:2] == [2500.0, 357.25]
    table = Table({"a": np.array([0.5, 2.0], np.float32), "n": np.arange(2)})
    assert json.loads(table.to_json())["rows"] == [{"a": 0.5, "n": 0}, {"a": 2.0, "n": 1}]
    assert write_json({"a": [0.5, math.nan, -math.inf], "b": [math.inf, 1], "c": (0.5,)}, None) == (
        '{"a": [0.5, null, "-inf"], "b": ["inf", 1], "c": [0.5]}'
    )


def test_digits_and_notes_are_options() -> None:
    lines = TABLE.to_text(digits=2, notes=False).split("\n")
    assert lines[1].split() == ["A", "0.46", "±", "0.01*", "2500", "50", "0.25", "to", "0.5"]
    assert Table(["x"], [[1 / 3]], digits=2).to_markdown().endswith("| 0.333 |")
    assert TABLE.to_latex("mr", digits=4).count("2500.00 ") == 1
    for form in ("latex", "csv", "text", "markdown", "html"):
        write = getattr(TABLE, f"to_{form}")
        assert ("few units" in write()) == (form not in ("latex", "csv"))
        assert "few units" in write(notes=True)
        assert "few units" not in write(notes=False)
    assert TABLE.to_latex(notes=True).startswith("% x\n\\begin{tabular}{lrrrr}")


def test_chosen_columns_keep_their_marks() -> None:
    chosen = TABLE.table(["mr", "mrr"], notes=False)
    assert [column.name for column in chosen.columns] == ["model", "mr", "mrr", "mrr std"]
    for form in ("to_text", "to_markdown", "to_latex", "to_html"):
        assert getattr(chosen, form)() == getattr(TABLE, form)(["mr", "mrr"], notes=False)
    assert chosen.to_text().split("\n")[1] == "A      2500.0   0.460 \u00b1 0.010*"
    assert TABLE.to_csv("seed") == "model,seed\nA,1\nB,2\nC,3\n"


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


def test_names_are_at_the_left_and_wide_characters_take_two_cells() -> None:
    table = Table(["a", "b", "p"], [["1", "22", "0.5"], ["333", "4", "0.25"]], notes=["note\x1b"])
    table.names = 2
    table.before = ("x", "y")
    lines = ["x", "y", "", "a    b      p", "1    22  0.5", "333  4   0.25", "", "note\\x1b"]
    assert table.to_text().split("\n") == lines
    wide = Table(["模型", "mr"], [["e\u0301te\u0301", "1"]])
    assert wide.to_text() == "模型  mr\ne\u0301te\u0301    1"


# -- cells that need no escape, or another one than their characters -------------------------------

MARKDOWN: dict[Any, str] = {
    "&lt;b&#62;": "&amp;lt;b&amp;#62;",
    "a & b": "a & b",
    "power_mean": "power_mean",
    "__a__b": "\\_\\_a\\_\\_b",
    0.0: "0",
    -0.25: "-0.25",
    123456.0: "123456",
    99999.6: "100000",
    1e20: "1e+20",
    -math.inf: "-inf",
}
LATEX_CELLS = {
    "-0.08 to -0.05": "$-$0.08 to $-$0.05",
    "TransE-2": "TransE-2",
    "-1e-05": "$-$1e-05",
    "(-3)": "($-$3)",
    "-inf": "$-$inf",
    "-x": "-x",
    "2020-01-02": "2020-01-02",
    "--5": "--5",
    "0.5 \u00b1 0.1": "0.5 $\\pm$ 0.1",
    "[a]": "{}[a]",
}


def test_cells_are_escaped_where_they_must_be() -> None:
    for value, text in MARKDOWN.items():
        assert Table(["x"], [[value]]).to_markdown().endswith(f"\n| {text} |"), value
    for value, text in LATEX_CELLS.items():
        assert f"\\midrule\n{text} \\\\\n" in Table(["x"], [[value]]).to_latex(), value


# -- what is refused, and help ---------------------------------------------------------------------

REPORT = tr.report(tr.Ranks([0, 3, 1, 0], [1] * 4, 9))
REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: Table(["a", "a"]), ValueError, "columns"),
    (lambda: Table(["a", "b"], [[1]]), ValueError, "rows"),
    (lambda: Table({"a": [1], "b": []}), ValueError, "columns"),
    (lambda: Table([Column("a", better="more")]), ValueError, "better"),  # type: ignore[arg-type]
    (lambda: Table({"a": [1]}, [[1]]), TypeError, "rows"),
    (lambda: Table(["a"], digits=-1), ValueError, "digits"),
    (lambda: TABLE["MRR"], KeyError, "name"),
    (lambda: TABLE.to_text("amri"), KeyError, "metrics"),
    (lambda: TABLE.to_latex(digit=2), TypeError, "digit"),
    (lambda: REPORT.to_html(digit=2), TypeError, "digit"),
]


@pytest.mark.parametrize(("call", "error", "argument"), REFUSALS)
def test_refusals(call: Callable[[], object], error: type[Exception], argument: str) -> None:
    refused(error, argument, call)


def test_help_lists_the_options_of_a_form() -> None:
    options = {"sides", "kinds", "percent", "interval", "level"}
    for write in (tr.Report.to_text, tr.Report.save):
        described = re.findall(r"^(\w+)(?: :|, unit$)", inspect.getdoc(write) or "", re.MULTILINE)
        assert options | {"metrics", "digits", "notes"} <= set(described)
        assert options <= set(inspect.signature(write).parameters)
