"""`truerank evaluate`: groups, weights, intervals and findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import SCORES, TARGETS, Files, Run, start

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


def labelled() -> tr.Ranks:
    """Count four tasks of two sides, three queries and two relations."""
    return tr.rank(SCORES, TARGETS).with_labels(
        side=["head", "tail", "head", "tail"],
        relation=["likes", "knows", "likes", "likes"],
        queries=[0, 1, 0, 2],
        targets=TARGETS,
    )


@pytest.fixture
def saved(folder: Path) -> Path:
    """Save ranks with labels, and write labels and weights to files."""
    labelled().save(folder / "ranks.npz")
    np.save(folder / "names.npy", np.array(["a", "b", "b", "b"]))
    np.save(folder / "masses.npy", np.array([1.0, 0.0, 2.0, 1.0]))
    return folder


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("--by relation", {"by": "relation"}),
        ("--by side", {"by": "side"}),
        ("--by names.npy", {"by": ["a", "b", "b", "b"]}),
        ("--weights query", {"weights": "query"}),
        ("--weights masses.npy", {"weights": [1.0, 0.0, 2.0, 1.0]}),
        ("--weights target --by query", {"weights": "target", "by": "query"}),
        ("--seed 3", {"seed": 3}),
    ],
)
def test_groups_and_weights_equal_those_of_the_report(
    run: Run, files: Files, saved: Path, line: str, keywords: dict[str, Any]
) -> None:
    report = tr.report(labelled(), **keywords)
    keys = ["mrr", "random.mr", "tail.amri", *(["macro.mrr"] if "by" in keywords else [])]
    command = ["evaluate", *files(f"ranks.npz {line}")]
    assert run(*command, "--format", "csv") == (0, report.to_csv(), "")
    chosen = run(*command, "--metrics", ",".join(keys), "--format", "json")
    assert (chosen.code, chosen.err) == (0, "")
    assert json.loads(chosen.out)["metrics"] == {key: report[key] for key in keys}


def test_a_table_of_groups(run: Run, files: Files, saved: Path) -> None:
    code, out, err = run("evaluate", *files("ranks.npz --by relation"))
    assert (code, err) == (0, "")
    assert "By relation: 2 groups" in out
    report = tr.report(labelled(), by="relation")
    table = [line.split() for line in out.splitlines()]
    for name, value in (
        ("micro", report["mrr"]),
        ("macro", report["macro.mrr"]),
        ("likes", report.groups["likes"]["mrr"]),
    ):
        (row,) = (row for row in table if row[:1] == [name])
        assert float(row[3]) == pytest.approx(value, rel=1e-5)
    line = [*files("ranks.npz --by relation"), "--metrics", "mrr,macro.mrr,hits@1"]
    table = [row.split() for row in run("evaluate", *line).out.splitlines()]
    assert ["by", "relation", "tasks", "mrr", "hits@1"] in table
    assert ["knows", "1", f"{report.groups['knows']['mrr']:.6g}", "0"] in table
    csv = run("evaluate", *line, "--format", "csv").out.splitlines()
    assert csv[0] == "group,key,value"
    assert f"likes,mrr,{report.groups['likes']['mrr']!r}" in csv
    assert f",macro.mrr,{report['macro.mrr']!r}" in csv


@pytest.mark.parametrize("by", [None, "query"])
def test_intervals(run: Run, files: Files, saved: Path, by: str | None) -> None:
    line = [*files("ranks.npz"), *(["--by", by] if by else []), "--metrics", "mrr,hits@3"]
    report = tr.report(labelled(), by=by)
    found = report.interval("mrr")
    summary, _, table = run("evaluate", *line, "--interval").out.partition("\n\n")
    assert "Intervals of mrr: 95 %, t, 4 tasks." in summary
    note = "few units: 4 tasks"
    assert note in run("evaluate", *line, "--interval").out
    table = table.splitlines()
    assert table[0].split() == ["key", "value", "low", "high"]
    values = [f"{value:.6g}" for value in (found.value, found.low, found.high)]
    assert table[1].split() == ["mrr", *values]
    stored = json.loads(run("evaluate", *line, "--interval", "--format", "json").out)
    assert stored["intervals"]["mrr"]["low"] == found.low
    assert stored["intervals"]["mrr"]["units"] == 4
    assert stored["intervals"]["mrr"]["notes"] == [note]


def test_missing_bounds_are_explained(run: Run, files: Files, folder: Path) -> None:
    np.save(folder / "one.npy", np.array([2]))
    out = run("evaluate", *files("scores.npy 0 --rows one.npy --interval --metrics mr,mrr")).out
    assert "Intervals of mr, mrr: 95 %, none, 1 task." in out
    assert "No bounds of mr, mrr: fewer than 2 units, or no value." in out
    np.save(folder / "zero.npy", np.array([0]))
    line = "scores.npy 0 --candidates zero.npy --interval --metrics mr,amri"
    out = run("evaluate", *files(line)).out
    assert "amri: fewer than 2 units, or no value." in out


@pytest.mark.parametrize("style", ["table", "markdown", "latex", "html", "csv", "json"])
def test_findings(run: Run, files: Files, style: str) -> None:
    line = ["evaluate", *files("scores.npy targets.npy --audit"), "--format", style]
    findings = tr.evaluate(SCORES, TARGETS, audit=True).audit()
    assert findings
    messages = list(map(str, findings))
    code, out, err = run(*line)
    assert code == 0
    if style == "json":
        assert [found["name"] for found in json.loads(out)["findings"]] == [
            f.name for f in findings
        ]
    elif style == "csv":  # a CSV has no place for them
        assert out == tr.evaluate(SCORES, TARGETS).to_csv()
        named = 'ranks.with_protocol(split="test")', "--split test"
        assert err.splitlines() == [message.replace(*named) for message in messages]
    else:
        assert all(found.name in out for found in findings)
        assert findings[0].name not in run(*line[:-3], "--format", style).out
    assert not any(found.name == "unaudited" for found in findings)


def test_no_findings(run: Run, tmp_path: Path) -> None:
    ranks = tr.Ranks([0, 5], [1, 1], 1000, audit=([0, 0], [0, 0], [1, 1]))
    ranks.with_protocol(split="valid").save(tmp_path / "ranks.npz")
    code, out, err = run("evaluate", tmp_path / "ranks.npz", "--audit")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "Nothing was found that makes these numbers suspect."


def test_any_name_of_a_side_can_be_printed(tmp_path: Path) -> None:
    ranks = tr.rank(SCORES, TARGETS).with_labels(side="\u043b\u0435\u0432")
    ranks.save(tmp_path / "ranks.npz")
    code, out, err = start("evaluate", tmp_path / "ranks.npz", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert r"\u043b\u0435\u0432" in out


def test_sides_that_are_not_names_end_with_one(run: Run, folder: Path) -> None:
    tr.rank(SCORES, TARGETS).with_labels(side=[0, 1, 0, 1]).save(folder / "ranks.npz")
    code, out, err = run("evaluate", folder / "ranks.npz")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ranks: expected names of sides")
