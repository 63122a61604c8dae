"""Test what is made of rows of values: which rows are read, and where the best is sought."""

from __future__ import annotations

import json
from typing import Any

from truerank import Table
from truerank.tables import Column
from truerank.tables.pivot import Lines, label_column, pivot

MRR = Column("mrr", decimals=3)
MR = Column("mr", decimals=1)
AXES = ("side", "kind")
KINDS = [
    {"side": "both", "kind": "low", "mrr": 0.5001, "mr": 7.0},
    {"side": "both", "kind": "plain", "mrr": 0.5, "mr": 7.0},
    {"side": "tail", "kind": "plain", "mrr": 0.25, "mr": 9.0},
    {"side": "tail", "kind": "high", "mrr": 0.25, "mr": 9.06},
    {"side": "head", "kind": "low", "mrr": 0.75, "mr": 2.0},
]


def lines_of(rows: list[dict[str, Any]]) -> Lines:
    lines = Lines()
    for row in rows:
        lines.add(row)
    return lines


def of_kinds(rows: list[dict[str, Any]]) -> Table:
    lines = lines_of(rows)
    labels = [label_column(lines, name, plain="plain" if name == "kind" else None) for name in AXES]
    return pivot(lines, labels, [MRR, MR], plain_kind="plain")


def test_kinds_appear_where_they_print_otherwise() -> None:
    table = of_kinds(KINDS)
    assert table.to_text().split("\n") == [
        "side  kind     mrr   mr",
        "both  plain  0.500  7.0",
        "tail  plain  0.250  9.0",
        "tail  high   0.250  9.1",
        "head  low    0.750  2.0",  # which has no row of the plain kind
    ]
    assert of_kinds(KINDS[:4]).to_text("mrr").split("\n") == [
        "side    mrr",
        "both  0.500",
        "tail  0.250",
    ]
    assert table.to_text("mrr", digits=4).split("\n")[1] == "both  low    0.5001"
    assert table.to_latex("mrr").count("\\\\\n") == 4
    assert table.to_csv("mrr").count("\n") == 6  # programs read all


def test_labels_that_go_without_saying_are_for_programs() -> None:
    assert of_kinds(KINDS[1:3]).to_text("mrr") == "side    mrr\nboth  0.500\ntail  0.250"
    assert of_kinds(KINDS[1:2]).to_text() == "  mrr   mr\n0.500  7.0"
    assert of_kinds(KINDS[4:]).to_text() == "kind    mrr   mr\nlow   0.750  2.0"
    assert of_kinds(KINDS[1:2]).to_csv() == "side,kind,mrr,mr\nboth,plain,0.5,7.0\n"


def test_the_best_is_that_of_a_part_and_kind() -> None:
    lines = Lines()
    for part, kind, model, n in [
        (0, "", "a", 1.0),
        (0, "", "b", 2.0),
        (1, "", "a", 9.0),
        (2, "", "a", 3.0),
        (2, "", "b", 3.0),
        (2, "low", "b", 1.0),
    ]:
        lines.add({"part": part, "group": "x", "kind": kind, "model": model, "n": n})
    labels = [Column("group"), Column("model")]
    table = pivot(lines, labels, [Column("n", better="higher")], significant=[(1, "n"), (2, "n")])
    grid = table.grid(notes=False)
    assert grid.best == {(1, 2), (3, 2), (4, 2)}
    assert grid.significant == {(1, 2), (2, 2)}
    assert "* the best of its column among comparable rows" in table.to_text()


def test_a_value_has_columns_for_its_parts() -> None:
    model = [Column("model")]
    rows: list[dict[str, Any]] = [
        {"model": "a", "runs": 3, "mrr": 0.5, "mrr std": 0.125},
        {"model": "b", "runs": 1, "mrr": 0.5, "mrr std": None},
    ]
    deviations = pivot(lines_of(rows), model, [MRR], significant=[(0, "mrr")])
    assert deviations.to_text().split("\n")[1] == "a      0.500 \u00b1 0.125\u2020"
    assert deviations.to_csv().split("\n")[2] == "b,0.5,"
    rows[0] |= {"mrr low": 0.25, "mrr high": 0.75}
    rows[1] |= {"mrr low": None, "mrr high": None}
    runs = Column("runs", only="data")
    both = pivot(lines_of(rows), model, [MRR], number=runs, significant=[(0, "mrr")])
    assert json.loads(both.to_json())["rows"][0] == {
        "model": "a",
        "runs": 3,
        "mrr": 0.5,
        "mrr low": 0.25,
        "mrr high": 0.75,
        "mrr std": 0.125,
    }
    assert both.to_text().split("\n")[1:] == ["a      0.500 [0.250, 0.750]\u2020", "b      0.500"]


def test_columns_are_lines_of_the_same_labels() -> None:
    lines = lines_of(KINDS[:1])
    lines.add_columns({"side": "tail", "kind": "plain"}, {"mrr": [0.5, 0.25], "mr": [2.0, 4.0]})
    assert lines["side"] == ["both", "tail", "tail"]
    assert lines["mr"] == [7.0, 2.0, 4.0]
    assert pivot(lines, [Column("side")], [MRR])["mrr"] == [0.5001, 0.5, 0.25]
