"""`truerank adjust`: tables of published numbers, percentages, contradictions, two shares."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import truerank as tr
from support.cli_files import Run
from truerank.cli.published_tables import read_table

TABLE = """\
Model,Paper,MRR,MR,H@1 (%),Hits @10
TransE,"Bordes, 2013",0.294,357,-,46.5%
RotatE,2019,0.338,177,24.1,0.533
"""
FILTERED = {"dataset": "fb15k237", "filtered": True}
LINE = ["adjust", "--table", "published.csv", "--dataset", "fb15k237", "--filtered"]


@pytest.fixture(autouse=True)
def published() -> None:
    Path("published.csv").write_text(TABLE)


def test_a_table_of_published_numbers(run: Run) -> None:
    code, out, err = run(*LINE, "--format", "csv")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    cells = {(row["Model"], row["metric"].split()[0]): row for row in rows}
    values = {
        ("TransE", "MRR"): ("mrr", "0.294", 0.294),
        ("TransE", "MR"): ("mr", "357", 357.0),
        ("TransE", "Hits@10"): ("hits@10", "46.5%", 0.465),
        ("RotatE", "MRR"): ("mrr", "0.338", 0.338),
        ("RotatE", "MR"): ("mr", "177", 177.0),
        ("RotatE", "Hits@1"): ("hits@1", "24.1%", 0.241),
        ("RotatE", "Hits@10"): ("hits@10", "0.533", 0.533),
    }
    assert list(cells) == list(values)
    for place, (metric, text, value) in values.items():
        expected = tr.adjust(metric, value, **FILTERED)
        for name in ("ratio", "index", "z"):
            assert cells[place][name] == repr(getattr(expected, name))
        assert cells[place]["chance"] == repr(expected.expectation)
        assert cells[place]["published"] == text
    assert rows[0]["Paper"] == "Bordes, 2013"


def test_the_data_are_said(run: Run) -> None:
    words = "FB15k-237, test, both sides, filtered: 40,932 tasks among 10,178 to 14,541 candidates."
    assert run(*LINE).out.startswith(f"{words}\n\n")
    line = "adjust hits@10 46.5% --dataset fb15k237 --filtered"
    code, out, _ = run(*line.split())
    assert code == 0
    assert out.startswith(f"{words}\n\n")
    assert re.search("published +0.465", out)
    out = run("adjust", "mr", "7", "--candidates", "100", "--tasks", "20", "--no-notes").out
    assert "20 tasks among 100" not in out
    content = json.loads(run(*LINE, "--json").out)
    assert content[0]["names"] == {"Model": "TransE", "Paper": "Bordes, 2013"}
    assert content[0]["dataset"] == "fb15k237"
    assert content[1]["metrics"]["hits@10"]["value"] == 0.533
    assert [row["contradictions"] for row in content] == [[], []]


def test_rows_of_several_data_sets(run: Run) -> None:
    Path("several.tsv").write_text(
        "model\tdata set\tfiltered\tcandidates\ttasks\thits@10\n"
        "a\tWN18RR\tyes\t\t\t0.5\n"
        "a\tWN18RR\tno\t\t\t0.5\n"
        "a\t\t\t100\t20\t0.5\n"
    )
    code, out, err = run("adjust", "--table", "several.tsv", "--format", "csv")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["data"].partition(":")[0] for row in rows] == [
        "WN18RR, test, both sides, filtered",
        "WN18RR, test, both sides, unfiltered",
        "20 tasks among 100 candidates",
    ]
    expected = [
        tr.adjust("hits@10", 0.5, dataset="wn18rr", filtered=True),
        tr.adjust("hits@10", 0.5, dataset="wn18rr"),
        tr.adjust("hits@10", 0.5, candidates=100, tasks=20),
    ]
    assert [row["index"] for row in rows] == [repr(found.index) for found in expected]


def test_contradictions_are_told(run: Run) -> None:
    Path("wrong.csv").write_text("m,mrr,hits@1,mr\nA,0.20,0.31,3\nB,0.35,0.31,300\n")
    line = "adjust --table wrong.csv --candidates 1000 --tasks 500"
    code, out, _ = run(*line.split())
    told = [
        "wrong.csv: line 2: A mrr 0.20 is below 0.3007, the least that hits@1 0.31 allows",
        "wrong.csv: line 2: A mr 3 is below 4.762, the least that mrr 0.20 allows",
    ]
    assert (code, out[out.rindex("\n\n") :].splitlines()[2:]) == (1, told)
    code, _, err = run(*line.split(), "--format", "csv")
    assert (code, err.splitlines()) == (1, told)
    assert json.loads(run(*line.split(), "--json").out)[1]["contradictions"] == []


def test_percentages_are_told_as_they_are_printed(run: Run) -> None:
    Path("wrong.csv").write_text("m,MRR (%),Hits@10 (%)\nA,0.294,46.1\nB,30.10,46.0\n")
    code, out, _ = run("adjust", "--table", "wrong.csv", "--dataset", "wn18rr")
    told = "line 2: A mrr 0.294% is below 4.601%, the least that hits@10 46.1% allows"
    assert (code, told in out) == (1, True)
    assert "MRR ↑ has from 4 to 5 decimals as shares, and" in out


def test_a_metric_is_read_without_its_sign(run: Run) -> None:
    Path("signs.csv").write_text("model,Hits10,h_1,H 3\nA,0.5,0.1,0.3\n")
    out = run("adjust", "--table", "signs.csv", "--dataset", "wn18rr", "--format", "csv").out
    metrics = [row["metric"].split()[0] for row in csv.DictReader(io.StringIO(out))]
    assert metrics == ["Hits@10", "Hits@1", "Hits@3"]


@pytest.mark.parametrize(
    ("title", "metric", "value"),
    [
        ("Hits@10 \N{UPWARDS ARROW}", "Hits@10", 0.5),
        ("MR (\N{DOWNWARDS ARROW})", "MR", 0.5),
        ("Hits@10 (%) \N{UPWARDS ARROW}", "Hits@10", 0.005),
        ("MRR%", "MRR", 0.005),
        ("Hits@1 in %", "Hits@1", 0.005),
        ("Hits@10 (pct)", "Hits@10", 0.005),
        ("hits_at_10 percent", "Hits@10", 0.005),
        ("MRR [in per cent]", "MRR", 0.005),
    ],
)
def test_arrows_and_words_of_per_cent_are_read(
    run: Run, title: str, metric: str, value: float
) -> None:
    Path("signs.csv").write_text(f"model,{title}\na,0.5\n", encoding="utf-8")
    (row,) = read_table("--table", "signs.csv", {})
    ((found, number),) = row.numbers.items()
    assert (tr.metrics.parse(found).title, number.value) == (metric, value)


NOT_READ = {
    "MRR filtered": "write 'MRR' if it is a metric",
    "Mean rank (raw)": "write 'MR' if it is a metric",
    "Hits@10 (%) filtered": "write 'Hits@10 (%)' if it is a metric",
    "AMRI": "it is adjusted already",
    "Recall@10": "reports of truerank.retrieval have recall",
}


@pytest.mark.parametrize(("title", "hint"), NOT_READ.items())
def test_a_column_that_may_be_a_metric_is_told(run: Run, title: str, hint: str) -> None:
    line = ["adjust", "--table", "near.csv", "--dataset", "wn18rr"]
    note = f"column '{title}' is taken as a name of the row; {hint}."
    Path("near.csv").write_text(f"model,year,MRR,{title}\na,2013,0.3,0.4\nb,2019,0.3,-\n")
    code, out, _ = run(*line)
    assert (code, out.splitlines()[-1]) == (0, note)
    Path("near.csv").write_text(f"model,year,MRR,{title}\na,2013,0.3,0.4\nb,2019,0.3,no\n")
    assert "is taken as" not in run(*line).out


def test_percentages_that_may_be_shares_are_told(run: Run) -> None:
    line = ["adjust", "--table", "shares.csv", "--dataset", "wn18rr"]
    Path("shares.csv").write_text("model,MRR,H@1 (%),Hits@10 (%)\na,0.3,0.4,0.501\nb,0.3,0.5,1.2\n")
    code, out, _ = run(*line, "--digits", "4")
    told = "all values of 'H@1 (%)' are at most 1: are they shares?"
    assert (code, [line for line in out.splitlines() if "are they" in line]) == (1, [told])


def test_a_row_of_no_data_set_is_told_once(run: Run) -> None:
    Path("some.csv").write_text("model,dataset,MRR,MR\nA,wn18rr,0.3,300\nB,,0.3,300\n")
    code, out, err = run("adjust", "--table", "some.csv", "--format", "csv")
    told = "some.csv: line 3: B candidates: expected them, or the name of a dataset, got neither"
    assert (code, err.splitlines(), len(out.splitlines())) == (1, [told], 5)


def test_what_is_impossible_is_told_beside_the_rest(run: Run) -> None:
    lines = [
        "model,data set,tasks,filtered,MR,MRR,Hits@10",
        "A,wn18rr,,yes,45000,0.3,0.5",
        "B,wn18rr,,yes,3000,about 0.3,0.505",
        "C,nosuch,,yes,300,0.3,0.5",
        "D,wn18rr,,perhaps,300,0.3,0.5",
        "E,wn18rr,,yes,3000,0.312,0.505",
    ]
    Path("several.csv").write_text("\n".join(lines))
    faults = [
        "several.csv: line 2: A mr 45000: expected mr from 1 to 40928, got 45000",
        "several.csv: line 3: B MRR: expected a number, as 0.358 or 35.8%, got 'about 0.3'",
        "several.csv: line 4: C dataset: no data set 'nosuch'; known are nations, ",
        "several.csv: line 5: D filtered: expected one of yes, true, 1, no, false, 0, got ",
    ]
    code, out, err = run("adjust", "--table", "several.csv", "--format", "csv")
    assert code == 1
    pairs = zip(err.splitlines(), faults, strict=True)
    assert all(line.startswith(fault) for line, fault in pairs)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert "".join(row["model"] for row in rows) == "AAABBCCCDDDEEE"
    told = {(row["model"], row["published"]): row["index"] for row in rows}
    known = {"dataset": "wn18rr", "filtered": True}
    assert told["A", "0.3"] == repr(tr.adjust("mrr", 0.3, **known).index)
    assert told["E", "3000"] == repr(tr.adjust("mr", 3000, **known).index)
    assert {name for name, index in told.items() if index == ""} == {
        ("A", "45000"),
        *((model, number) for model in "CD" for number in ("300", "0.3", "0.5")),
    }
    code, out, err = run("adjust", "--table", "several.csv")
    assert (code, err) == (1, "")
    assert all(fault in out for fault in faults)
    content = json.loads(run("adjust", "--table", "several.csv", "--json").out)
    assert [len(row["faults"]) for row in content] == [1, 1, 1, 1, 0]
    assert list(content[0]["metrics"]) == ["mrr", "hits@10"]


def test_digits_that_a_spreadsheet_left_out(run: Run) -> None:
    Path("wrong.csv").write_text("m,mrr,hits@1\nA,0.3,0.354\nB,0.354,0.35\n")
    line = "adjust --table wrong.csv --candidates 1000 --tasks 500"
    notes = run(*line.split()).out.splitlines()[-2:]
    assert notes == [
        "MRR ↑ has from 1 to 3 decimals, and each number is taken as it is written; --digits 3 "
        "says that all have so many.",
        "Hits@1 ↑ has from 2 to 3 decimals, and each number is taken as it is written; --digits 3 "
        "says that all have so many.",
    ]
    said = run(*line.split(), "--digits", "3").out
    assert "A mrr 0.3 is below 0.353" in said
    assert "decimals" not in said


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("adjust", 2, "Missing argument 'METRIC'"),
        ("adjust mrr", 2, "Missing argument 'VALUE'"),
        ("adjust mrr x --tasks 3", 1, "VALUE: expected a number, as 0.358 or 35.8%, got 'x'"),
        ("adjust mrr 31 --candidates 9 --tasks 3", 1, "as a percentage it is 0.31"),
        ("adjust hits@9 105% --candidates 9 --tasks 3", 1, "expected 0 to 100 %, got 105 %"),
        (
            "adjust --table over.csv --dataset wn18rr",
            1,
            "a H@9 (%): expected 0 to 100 %, got 105 %",
        ),
        ("adjust mrr 0.3 --table published.csv", 2, "METRIC, VALUE cannot apply to --table"),
        ("adjust --table published.csv", 1, "2: TransE Bordes, 2013 candidates: expected them"),
        ("adjust --table empty.csv", 1, "empty.csv: expected a line of names, and rows"),
        ("adjust --table names.csv", 1, "names.csv: expected a column of a metric"),
        ("adjust --table twice.csv", 1, "expected columns that differ, got 'MRR' and 'mrr'"),
        ("adjust --table ragged.csv", 1, "ragged.csv: line 3: expected 2 columns"),
        ("adjust --table bad.csv --dataset wn18rr", 1, "bad.csv: line 2: a MRR: expected a number"),
        ("adjust --table much.csv --dataset wn18rr", 1, "line 2: a hits@10 46.5: expected"),
        ("adjust --table facts.csv --dataset wn18rr", 1, "line 2: a filtered: expected one of"),
    ],
)
def test_wrong_lines(run: Run, line: str, code: int, message: str) -> None:
    Path("empty.csv").write_text("model,mrr\n")
    Path("names.csv").write_text("model,paper\na,b\n")
    Path("ragged.csv").write_text("model,mrr\na,0.3\nb\n")
    Path("bad.csv").write_text("model,MRR\na,about 0.3\n")
    Path("much.csv").write_text("model,hits@10\na,46.5\n")
    Path("over.csv").write_text("model,H@9 (%)\na,105\n")
    Path("twice.csv").write_text("model,MRR,mrr\na,0.1,0.2\n")
    Path("facts.csv").write_text("model,hits@10,filtered\na,0.5,perhaps\n")
    run(*line.split()).refuses(code, message)
