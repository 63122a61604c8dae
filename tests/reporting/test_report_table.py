"""Test what a report is printed as: rows of sides, kinds, means and groups, and a line above."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.example_ranks import any_ranks
from truerank import Ranks, Report, report

KINDS = ("optimistic", "realistic", "pessimistic", "expected")

# -- sides and kinds -------------------------------------------------------------------------------

FIRST = "5 test tasks (head 3, tail 2), 9 to 12 candidates, filtered by train + valid, "
FIRST += "1 task is tied."


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
    assert measured.to_latex(["mr"], sides="tail", kinds="realistic", notes=True).startswith(
        f"% {FIRST}\n\\begin{{tabular}}{{rr}}\n\\toprule\ntasks & MR $\\downarrow$ \\\\\n"
        "\\midrule\n2 & 2.2 \\\\\n\\bottomrule\n\\end{tabular}\n\\par{\\footnotesize Ties move "
    )
    assert "random" in measured.to_text(kinds=["random"])


def test_every_form_has_one_kind_where_no_task_ties() -> None:
    ranks = Ranks([0, 3, 5, 1, 0], [1] * 5, 9, side=["head"] * 3 + ["tail"] * 2)
    measured = report(ranks)
    assert measured.to_text(["mr", "hits@2"]).split("\n") == [
        "5 tasks (head 3, tail 2), 9 candidates, unfiltered, no ties.",
        "",
        "side  tasks  MR \u2193  Hits@2 \u2191",
        "both      5   2.8     0.600",
        "head      3   3.7     0.333",
        "tail      2   1.5     1.000",
    ]
    assert "| Hits@2 \u2191 (%) |" in measured.to_markdown(["mr", "hits@2"], percent=True)
    assert "\nboth & 5 & 2.80 & 0.6000 \\\\\n" in measured.to_latex(["mr", "hits@2"], digits=4)
    tails = report(ranks[3:])
    assert tails.to_text("mr").split("\n")[2:] == ["tasks  MR \u2193", "    2   1.5"]
    assert "\npessimistic      2  " in tails.to_text("mr", kinds=["pessimistic"])


def test_programs_read_all_kinds_of_the_whole_and_one_of_groups() -> None:
    measured = report(Ranks([0, 3, 1], [1, 2, 1], 10), by=["a", "b", "a"])
    for kinds, of_groups in (("auto", ["realistic"]), ("all", KINDS)):
        rows = [line.split(",") for line in measured.to_csv(["mr"], kinds=kinds).splitlines()[1:]]
        assert [row[3] for row in rows if row[0] == "micro"] == list(KINDS)
        assert [row[3] for row in rows if row[0] == "macro"] == list(of_groups)
        assert list(dict.fromkeys(row[3] for row in rows if row[0] == "group")) == list(of_groups)


@given(any_ranks(), st.integers(0, 6))
def test_kinds_appear_where_they_move_a_printed_digit(ranks: Ranks, digits: int) -> None:
    measured = report(ranks)
    side = measured.sides[0]
    keys = ["mr", "hits@2"]
    options: dict[str, Any] = {"sides": side, "digits": digits, "notes": False}
    printed = {}
    for kind in KINDS:
        text = measured.to_text(keys, kinds=[kind], **options)
        printed[kind] = text.split("\n")[-1].split()[-2:]
    shown = []
    for kind in KINDS:
        moves = []
        for key, decimals in (("mr", max(0, digits - 2)), ("hits@2", digits)):
            value, default = (measured[f"{side}.{each}.{key}"] for each in (kind, "realistic"))
            moves.append(abs(value - default) > 10.0**-decimals * (1 + 1e-9))
        if kind == "realistic" or any(moves):
            shown.append(printed[kind])
    lines = [line.split() for line in measured.to_text(keys, **options).split("\n")[1:]]
    assert [line[-2:] for line in lines] == shown
    every = measured.to_text(keys, kinds="all", **options).split("\n")[1:]
    assert [line.split()[-2:] for line in every] == list(printed.values())


def test_a_dash_stands_where_there_is_no_expected_value() -> None:
    """Such a row is shown where another value moves, and programs read an empty cell."""
    measured = report(Ranks([0, 3, 1], [1, 2, 1], 10), by=["a", "b", "a"])
    keys = ["mr", "gmr", "median", "count"]
    every = measured.table(keys, kinds="all", interval=True)
    is_expected = [kind == "expected" for kind in every["kind"]]
    for key in ("gmr", "median"):
        assert [value is None for value in every[key]] == is_expected
    assert None not in every["mr"] + every["count"]
    assert every.to_text().count(" - ") == 8  # in two columns, of all, macro and two groups
    assert "expected" not in report(measured.ranks).to_text(["gmr"], notes=False)
    sided = report(
        Ranks([0, 0, 3], [1, 1, 1], [1, 10, 10], side=["tail", "tail", "head"]), by=[0, 1, 1]
    )
    assert "leaves out" not in sided.to_text(["zmr", "gmr"])  # z of the first group is nan
    assert "leaves out" not in sided.to_text(["gmr"], sides=["head"], kinds=["expected"])
    few = report(Ranks([0], [2], 10)).table(["hits@1", "gmr"])
    assert few.to_text(notes=False).split("\n")[-1].split() == ["expected", "1", "0.500", "-"]
    assert few.to_csv().split("\n")[-2] == "both,expected,1,0.5,"


def test_a_value_that_ties_move_across_a_rounding_has_one_row() -> None:
    """The mean rank is 2.0500 to 2.0510, and prints as 2.0 or 2.1."""
    tied = np.ones(1000, np.int64)
    tied[0] = 2
    measured = report(Ranks([1] * 950 + [2] * 50, tied, 100))
    for digits, lines in ((3, 2), (5, 2), (6, 4)):
        assert len(measured.to_text(["mr"], notes=False, digits=digits).split("\n")) == lines


# -- values, intervals, groups ---------------------------------------------------------------------


@given(any_ranks(), st.booleans(), st.none() | st.just(["pessimistic"]))
def test_tables_hold_the_values(ranks: Ranks, grouped: bool, kinds: list[str] | None) -> None:
    by = np.arange(len(ranks)) % 2 if grouped else None
    measured = report(ranks, by=by)
    keys = ["mr", "amri", "hits@2", "zmr"]
    groups = {str(label): part for label, part in measured.groups.items()}
    sides: dict[Any, set[str]] = {}
    for row in measured.table(keys, sides=measured.sides, kinds=kinds):
        average, group = row[:-7] or ("micro", "micro")
        side, kind, tasks = row[-7:-4]
        part = measured
        near = {"rel": 0, "abs": 0}
        if average == "group":
            part = groups[group]
            near = {"rel": 1e-9, "abs": 1e-12}
        prefix = {"macro": "macro."}.get(average, "")
        assert tasks == part.tasks(side)
        values = tuple(part[f"{prefix}{side}.{kind}.{key}"] for key in keys[:3])
        assert row[-4:-1] == pytest.approx(values, **near, nan_ok=True)
        if average == "macro":  # z grows with the number of tasks
            assert row[-1] is None
        else:
            assert row[-1] == pytest.approx(part[f"{side}.{kind}.zmr"], **near, nan_ok=True)
        sides.setdefault((average, group), set()).add(side)
    averages = [("micro", "micro"), ("macro", "macro")][: 1 + grouped]
    assert list(sides)[: len(averages)] == averages
    assert set(sides) == set(averages) | {("group", name) for name in groups}
    for name, part in groups.items():  # which have no rows of sides without tasks
        assert sides["group", name] == {side for side in measured.sides if part.tasks(side)}


def test_intervals_stand_behind_the_values(grouped: Report) -> None:
    made = grouped.table(["mr", "hits@2", "zmr"], interval=True, level=0.8, unit=None, kinds="all")
    names = [column.name for column in made.columns]
    groups = {str(label): part for label, part in grouped.groups.items()}
    for row in made:
        cells = dict(zip(names, row, strict=True))
        part = groups.get(cells["group"], grouped)
        assert cells["zmr low"] is None
        for key in ("mr", "hits@2"):
            ends = (cells[f"{key} low"], cells[f"{key} high"])
            full = f"{cells['side']}.{cells['kind']}.{key}"
            if cells["average"] == "macro" or math.isnan(part[full]):
                assert ends == (None, None)
            else:
                interval = part.interval(full, level=0.8, unit=None)
                assert ends == pytest.approx((interval.low, interval.high), rel=1e-9, nan_ok=True)
    sizes = [grouped.tasks(side) for side in ("both", "head", "tail")]
    words = "{} tasks (both), or {} tasks (head), or {} tasks (tail)".format(*sizes)
    assert f"Brackets hold 80 % intervals over {words}." in made.notes
    assert any(note.startswith("Few units: ") for note in made.notes)
    assert "Few units" not in grouped.to_latex(interval=True)
    assert "Few units" in grouped.to_latex(interval=True, notes=True)
    labels = np.array([0, 0, 1, 1, 2])
    by_label = grouped.table(["mr"], interval=True, unit=labels, sides="both")
    assert any("over 3 groups" in note for note in by_label.notes)


def test_groups_follow_the_averages(grouped: Report) -> None:
    text = grouped.to_markdown(["mr", "zmr"], sides=["both"], kinds=["optimistic"])
    lines = text.split("\n\n")[1].splitlines()
    assert lines[0] == "| relation | kind | tasks | MR \u2193 | zMR \u2193 |"
    names = ["micro", "macro", "likes", "knows", r"a\|b & &lt;c>"]
    assert [row.split(" | ")[0] for row in lines[2:7]] == [f"| {name}" for name in names]
    assert lines[3] == "| macro | optimistic | 5 | 3.1 | - |"  # z has none
    assert lines[4].startswith("| likes | optimistic | 3 | 2.3 | ")
    assert grouped.to_csv(sides=[]).count("\n") == 1


def test_a_terminal_and_a_notebook_show_the_largest_groups_and_files_all(tmp_path: Path) -> None:
    names = [f"g{i}" for i in range(100)]
    labels = np.repeat(names, np.arange(1, 101))
    n = len(labels)
    measured = report(Ranks(np.arange(n) % 9, np.ones(n, int), 10), by=labels)
    table = measured.table(["mr"], interval=True, notes=False)
    for result in (measured, table):
        for text in (str(result), result._repr_html_()):
            assert re.findall(r"\bg[0-9]+", text) == names[:79:-1]
            assert "80 more rows in JSON" in text
    forms = {".txt": "to_text", ".md": "to_markdown", ".tex": "to_latex", ".html": "to_html"}
    for ending, form in {**forms, ".csv": "to_csv"}.items():
        measured.save(tmp_path / f"report{ending}")
        saved = (tmp_path / f"report{ending}").read_text(encoding="utf-8")
        for text in (getattr(measured, form)(), getattr(table, form)(), saved):
            of_groups = [name for name in re.findall(r"\bg[0-9]+", text) if name in names]
            assert of_groups == names[::-1]
            assert "more" not in text
    # Of all but one task alone, and the macro average, intervals are there, too.
    assert len(re.findall(r"\[[0-9.]+, [0-9.]+\]", table.to_text())) == 1 + 99
