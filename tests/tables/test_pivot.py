"""Test what is made of rows of values: which rows are read, and where the best is sought."""

from __future__ import annotations

import json

from truerank import Table
from truerank.tables import Column
from truerank.tables.pivot import Around, Row, label_column, pivot

MRR = Column("mrr", decimals=3)
MR = Column("mr", decimals=1)
AXES = ("side", "kind")


def row(side: str, kind: str, mrr: float, mr: float) -> Row:
    return Row({"side": side, "kind": kind}, 5, [mrr, mr])


KINDS = [
    row("both", "low", 0.5001, 7.0),
    row("both", "plain", 0.5, 7.0),
    row("tail", "plain", 0.25, 9.0),
    row("tail", "high", 0.25, 9.06),
    row("head", "low", 0.75, 2.0),
]


def of_kinds(rows: list[Row]) -> Table:
    labels = [label_column(rows, name, plain="plain" if name == "kind" else None) for name in AXES]
    return pivot(rows, labels, [MRR, MR], plain_kind="plain")


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


def test_the_best_is_that_of_a_group_and_kind() -> None:
    rows = []
    for group, kind, model, n in [
        ("x", "", "a", 1.0),
        ("x", "", "b", 2.0),
        ("y", "", "a", 9.0),
        ("z", "", "a", 3.0),
        ("z", "", "b", 3.0),
        ("z", "low", "b", 1.0),
    ]:
        labels = {"group": group, "kind": kind, "model": model}
        rows.append(Row(labels, 1, [n]))
    table = pivot(rows, [Column("group"), Column("model")], [Column("n", better="higher")])
    assert table.grid(notes=False).best == {(1, 2), (3, 2), (4, 2)}
    assert "* the best of its column among comparable rows" in table.to_text()


def test_a_value_has_columns_for_its_parts() -> None:
    around = [Around(0.25, 0.75, 0.125, is_significant=True)]
    rows = [Row({"model": "a"}, 3, [0.5], around), Row({"model": "b"}, 1, [0.5])]
    model = [Column("model")]
    runs = Column("runs", only="data")
    both = pivot(rows, model, [MRR], number=runs, parts=["std", "interval"])
    assert json.loads(both.to_json())["rows"][0] == {
        "model": "a",
        "runs": 3,
        "mrr": 0.5,
        "mrr low": 0.25,
        "mrr high": 0.75,
        "mrr std": 0.125,
    }
    assert both.to_text().split("\n")[1:] == ["a      0.500 [0.250, 0.750]\u2020", "b      0.500"]
    deviations = pivot(rows, model, [MRR], parts=["std"])
    assert deviations.to_text().split("\n")[1] == "a      0.500 \u00b1 0.125\u2020"
    assert deviations.to_csv().split("\n")[2] == "b,0.5,"
