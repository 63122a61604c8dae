"""Test every form of a report: text, tables, JSON, pandas."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.example_ranks import any_ranks
from support.refusals import refusal
from truerank import Protocol, Ranks, Report, Table, compare, report, table

METRICS = (
    *("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10"),
    *("hmr", "gmr", "median", "amr", "amri", "amrr", "ah@10", "zmrr"),
)


# -- text ------------------------------------------------------------------------------------------


FIRST = "5 test tasks (head 3, tail 2), 9 to 12 candidates, filtered by train + valid."


def test_tasks_that_tie_have_a_row_for_each_kind(sided: Ranks) -> None:
    measured = report(sided)
    assert measured.to_text(["mr", "hits@2"], sides=["both", "tail"]).split("\n")[:10] == [
        FIRST,
        "",
        "side  kind         tasks  MR \u2193  Hits@2 \u2191",
        "both  optimistic       5   2.8     0.600",
        "both  realistic        5   3.1     0.400",
        "both  pessimistic      5   3.4     0.400",
        "both  expected         5   3.1     0.450",
        "tail  optimistic       2   1.5     1.000",
        "tail  realistic        2   2.2     0.500",
        "tail  pessimistic      2   3.0     0.500",
    ]
    assert "\nTies move " in measured.to_text()
    assert measured.to_latex(["mr"], sides="tail", kinds="realistic", notes=True).startswith(
        f"% {FIRST}\n\\begin{{tabular}}{{rr}}\n\\toprule\ntasks & MR $\\downarrow$ \\\\\n"
        "\\midrule\n2 & 2.2 \\\\\n\\bottomrule\n\\end{tabular}\n\\par{\\footnotesize Ties move "
    )


TEXT = """\
5 tasks (head 3, tail 2), 9 candidates, unfiltered, no ties.

side  tasks  MR \u2193  Hits@2 \u2191
both      5   2.8     0.600
head      3   3.7     0.333
tail      2   1.5     1.000"""


def test_every_form_has_one_kind_where_no_task_ties() -> None:
    side = ["head", "head", "head", "tail", "tail"]
    ranks = Ranks([0, 3, 5, 1, 0], [1] * 5, 9, side=side)
    measured = report(ranks)
    assert measured.to_text(["mr", "hits@2"]) == TEXT
    assert "| Hits@2 \u2191 (%) |" in measured.to_markdown(["mr", "hits@2"], percent=True)
    assert "\nboth & 5 & 2.80 & 0.6000 \\\\\n" in measured.to_latex(["mr", "hits@2"], digits=4)
    assert str(measured) == measured.to_text()
    assert str(measured.table("mr", digits=5)) == measured.to_text("mr", digits=5)
    assert measured._repr_html_().count("<table>") == 1
    tails = report(ranks[3:])
    assert tails.to_text("mr").split("\n")[2:] == ["tasks  MR \u2193", "    2   1.5"]
    assert len(tails.to_text("mr", sides=["both", "tail"]).split("\n")) == 5
    assert "\nkind         tasks  MR \u2193\npessimistic      2  " in tails.to_text(
        "mr", kinds=["pessimistic"]
    )
    assert str(Report.from_json(measured.to_json())) == str(measured)


def test_programs_read_keys(grouped: Report) -> None:
    pytest.importorskip("pandas")
    models = {"a": grouped, "b": grouped}
    several = [table(models), compare(models, metric=["mr", "mrr"])]
    for found in (grouped, *several):
        frame = found.to_pandas()
        names = str({*frame, *frame.stack()})
        written = [found.to_csv(), found.to_json(), names]
        for text in written:
            assert "mrr" in text
            assert not {"\u2191", "\u2193"} & set(text)
            assert "MRR" not in text
        for text in (str(found), found.to_markdown(), found._repr_html_()):
            assert "MRR \u2191" in text


@given(any_ranks(), st.booleans(), st.none() | st.just(["pessimistic"]))
def test_tables_hold_the_values(ranks: Ranks, grouped: bool, kinds: list[str] | None) -> None:
    measured = report(ranks, by=np.arange(len(ranks)) % 2 if grouped else None)
    keys = ["mr", "amri", "hits@2"]
    data = measured.table(keys, kinds=kinds)
    assert measured.to_text(keys, kinds=kinds) == data.to_text()
    for row in data:
        side, kind, tasks, *values = row[-6:]
        average = row[0] if grouped else "micro"
        if average != "group":
            prefix = "macro." * (average == "macro")
            assert tasks == measured.tasks(side)
            expected = [measured[f"{prefix}{side}.{kind}.{key}"] for key in keys]
            assert values == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_lines_say_what_matters(sided: Ranks) -> None:
    plain = Ranks([3], [1], 5)
    assert report(plain).to_text().startswith("1 task, 5 candidates, unfiltered, no ties.\n")
    assert ", weighted." in report(plain.with_weights([2])).to_text()
    assert "| 0 | nan |" in report(plain[:0]).to_markdown(["mr"], kinds=["realistic"])
    assert report(plain[:0]).to_text().startswith("0 tasks, unfiltered.")
    odd = report(Ranks([3], [1], 5, side="a|b", protocol=Protocol(filter="x|y", sampled=True)))
    assert odd.to_markdown().startswith(
        "1 task (a\\|b 1), 5 sampled candidates, filtered by x\\|y, no ties."
    )


COLUMN = r"metrics: expected \[adjustment.\]metric\[@k\]"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": ["tail.mrr"]}, ValueError, COLUMN),
        ({"metrics": ["optimistic.mrr"]}, ValueError, COLUMN),
        ({"metrics": ["macro.mrr"]}, ValueError, COLUMN),
        ({"metrics": ["mmr"]}, KeyError, "no metric 'mmr'"),
        ({"sides": ["left"]}, KeyError, "no side 'left'"),
        ({"sides": 3}, TypeError, "sides: expected several keys"),
        ({"kinds": ["optimist"]}, KeyError, "no such kind of rank; did you mean optimistic"),
    ],
)
def test_wrong_axes(sided: Ranks, options: Any, error: type[Exception], message: str) -> None:
    for write in (report(sided).to_csv, report(sided).table):
        refusal(error, message, write, **options)


# -- groups ----------------------------------------------------------------------------------------


def test_default_keys_have_macro_averages(grouped: Report, sided: Ranks) -> None:
    keys = list(grouped)
    assert keys[: 3 * 3 * 14] == list(report(sided))
    assert keys[3 * 3 * 14 :] == [
        f"macro.{side}{metric}"
        for side in ("", "head.", "tail.")
        for metric in METRICS
        if metric != "zmrr"
    ]
    assert len(grouped) == len(keys) == len(grouped.to_dict())


def test_groups_follow_the_averages(grouped: Report) -> None:
    text = grouped.to_markdown(["mr", "amri", "zmr"], sides=["both"], kinds=["optimistic"])
    lines = text.split("\n\n")[1].splitlines()
    assert lines[0] == "| relation | kind | tasks | MR \u2193 | AMRI \u2191 | zMR \u2193 |"
    assert [row.split(" | ")[0] for row in lines[2:7]] == [
        *("| micro", "| macro", "| likes", "| knows", r"| a\|b & &lt;c>")
    ]
    assert lines[3].startswith("| macro | optimistic | 5 | 3.1 | ")
    assert lines[3].endswith(" |  |")  # z has none
    assert lines[4].startswith("| likes | optimistic | 3 | 2.3 | ")
    assert grouped.to_csv(sides=[]).count("\n") == 1


def test_notes_say_how_groups_are_averaged() -> None:
    ranks = Ranks([0, 3, 0], [1, 1, 1], [1, 10, 1])
    text = report(ranks, by=[5, 6, 7]).to_text(["mr", "amri"])
    assert "\nmacro.amri leaves out 2 groups without a value." in text
    sides = report(ranks.with_labels(side=["head", "tail", "tail"]), by=[5, 6, 7])
    assert sides.macro_left_out("head.mr") == 2


def test_people_see_the_largest_groups() -> None:
    labels = np.repeat(np.arange(100), np.arange(1, 101))
    n = len(labels)
    measured = report(Ranks(np.zeros(n, int), np.ones(n, int), 10), by=labels)
    rows = [row.split(" | ")[0] for row in measured.to_markdown(["mr"]).split("\n")[4:]]
    assert rows == ["| micro", "| macro", *(f"| {i}" for i in range(99, 79, -1)), "| 80 more"]
    assert len(measured.to_csv(["mr"]).splitlines()) == 1 + 2 + 100


def test_csv_of_groups(grouped: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(grouped.to_csv(["mr", "zmr"]))))
    assert list(rows[0]) == ["average", "group", "side", "kind", "tasks", "mr", "zmr"]
    by_row = {(r["average"], r["group"], r["side"], r["kind"]): r for r in rows}
    assert len(by_row) == len(rows) == 3 * 4 + 1 + 3
    row = by_row["micro", "micro", "tail", "expected"]
    averages = by_row["macro", "macro", "both", "realistic"]
    assert float(row["zmr"]) == grouped["tail.expected.zmr"]
    assert float(averages["mr"]) == grouped["macro.mr"]
    asked = grouped.to_csv(["mr"], sides=["tail"], kinds=["optimistic", "realistic"])
    rows = [r for r in csv.DictReader(io.StringIO(asked)) if r["average"] == "group"]
    assert [r["group"] for r in rows] == ["likes", "a|b & <c>"] * 2  # others have no such tasks
    for row in rows:
        assert float(row["mr"]) == grouped.groups[row["group"]][f"tail.{row['kind']}.mr"]
        assert row["tasks"] == "1"


# -- cells -----------------------------------------------------------------------------------------


def test_programs_tell_averages_from_groups_of_the_same_name() -> None:
    measured = report(Ranks([0, 3], [1, 1], 10), by=["micro", "macro"])
    assert [row[:2] for row in measured.table(["mr"])] == [
        *(("micro", "micro"), ("macro", "macro"), ("group", "micro"), ("group", "macro"))
    ]


MARKDOWN: list[tuple[Any, str]] = [
    *(("<img src=x>", "&lt;img src=x>"), ("&lt;b&#62;", "&amp;lt;b&amp;#62;"), ("a & b", "a & b")),
    *((0.0, "0"), (-0.25, "-0.25"), (123456.0, "123456"), (99999.6, "100000")),
    *((1e20, "1e+20"), (math.inf, "inf"), (-math.inf, "-inf"), (1e-9, "1e-09")),
    *(("*a*", "\\*a\\*"), ("`a`", "\\`a\\`"), ("power_mean", "power_mean")),
    *(("_a_", "\\_a\\_"), ("__a__b", "\\_\\_a\\_\\_b"), ("[a](~b~)", "\\[a](\\~b\\~)")),
    *(("a\\|b", "a\\\\\\|b"), ("a\nb", "a\\\\nb")),
]
LATEX = [
    *(("-0.08 to -0.05", "$-$0.08 to $-$0.05"), ("TransE-2", "TransE-2"), ("1e-05", "1e-05")),
    *(("-1e-05", "$-$1e-05"), ("(-3)", "($-$3)"), ("-inf", "$-$inf"), ("-x", "-x")),
    *(("2020-01-02", "2020-01-02"), ("--5", "--5"), ("a -- b", "a -- b")),
    *(("-0.5", "$-$0.5"), ("0.5 \u00b1 0.1", "0.5 $\\pm$ 0.1"), ("100%_#$", "100\\%\\_\\#\\$")),
    ("{x} ~^\\", "\\{x\\} \\textasciitilde{}\\textasciicircum{}\\textbackslash{}"),
    *(("[a]", "{}[a]"), ("a|b <c>", "a\\textbar{}b \\textless{}c\\textgreater{}")),
    ("two\nlines\x00", "two\\textbackslash{}nlines\\textbackslash{}x00"),
]


def test_cells_are_escaped() -> None:
    for text, cell in MARKDOWN:
        assert Table(["x"], [[text]], names=0).to_markdown().endswith(f"\n| {cell} |"), text
    for text, cell in LATEX:
        assert f"\\midrule\n{cell} \\\\\n" in Table(["x"], [[text]], names=0).to_latex(), text
