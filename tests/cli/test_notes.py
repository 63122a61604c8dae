"""Notes of intervals and comparisons: every format shows them, and JSON has them as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

import truerank as tr
from truerank.cli import output
from truerank.cli.output import FORMATS, comparison_sheet, metrics_sheet
from truerank.inference.comparisons import count_notes, gather_notes

pytestmark = pytest.mark.python_only

NOTE = "few units: 2 queries; the interval is conservative & <wide>"
SHOWN = {
    "table": NOTE,
    "markdown": "- few units: 2 queries; the interval is conservative & &lt;wide>",
    "latex": r"\par{\footnotesize few units: 2 queries; the interval is conservative \& "
    r"\textless{}wide\textgreater{}\par}",
    "html": "<p>few units: 2 queries; the interval is conservative &amp; &lt;wide&gt;</p>",
}


def interval_sheet() -> output.Sheet:
    """Make the sheet of two metrics, one of whose intervals has a note."""
    report = tr.report(tr.Ranks([0, 3, 1], [1, 1, 1], 10))
    intervals = {key: report.interval(key) for key in ("mrr", "mr")}
    intervals = {key: found._replace(notes=()) for key, found in intervals.items()}
    intervals["mr"] = intervals["mr"]._replace(notes=(NOTE,))
    return metrics_sheet(report, list(intervals), intervals)


def pair_sheet() -> output.Sheet:
    """Make the sheet of a comparison with a note."""
    models = {"a": tr.Ranks([0, 1], [1, 1], 10), "b": tr.Ranks([3, 1], [1, 1], 10)}
    (pair,) = tr.compare(models)
    return comparison_sheet([pair._replace(notes=(NOTE,))])


@pytest.mark.parametrize("style", SHOWN)
def test_every_format_shows_the_notes(style: str) -> None:
    assert SHOWN[style].replace("few", "mr: few", 1) in FORMATS[style](interval_sheet())
    assert SHOWN[style] in FORMATS[style](pair_sheet())


def test_every_format_is_tested() -> None:
    assert set(FORMATS) == {*SHOWN, "json", "csv", "spreadsheet"}


def test_json_has_notes_as_data() -> None:
    assert json.loads(FORMATS["json"](interval_sheet()))["intervals"]["mr"]["notes"] == [NOTE]
    assert json.loads(FORMATS["json"](pair_sheet()))["comparisons"][0]["notes"] == [NOTE]


@pytest.mark.parametrize("style", ["csv", "spreadsheet"])
def test_csv_has_no_place_for_notes(style: str, capsys: Any) -> None:
    text = FORMATS[style](pair_sheet())
    assert "few units" not in text
    assert capsys.readouterr().err == f"{NOTE}\n"


def test_notes_of_several_results() -> None:
    found = {"a": ("x: 1", "y: 2"), "b": ("x: 1",), "c": ("x: 1", "y: 2")}
    assert gather_notes(found) == ["x: 1", "a, c: y: 2"]
    assert gather_notes({}) == gather_notes({"a": ()}) == []
    assert count_notes([*found.values(), ()], "group") == [
        "x in 3 of 4 groups",
        "y in 2 of 4 groups",
    ]
    assert count_notes([()], "group") == []
