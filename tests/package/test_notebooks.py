"""What a notebook shows: results as tables, a bar as a widget."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

import truerank as tr
from truerank import link_prediction, retrieval

pytestmark = pytest.mark.python_only

FIRST = "import numpy as np\nimport truerank as tr"
HOSTILE = "<b>a & 'b'</b>"


def rows_of(text: str) -> list[list[str]]:
    """Return the texts of the cells of HTML tables."""
    rows = []
    for row in text.split("<tr>")[1:]:
        rows.append([html.unescape(cell) for cell in re.findall("<t[hd] [^>]*>(.*?)</t", row)])
    return rows


def test_a_task_is_shown_as_tables() -> None:
    facts = [(HOSTILE, "r", "b"), ("b", "r", "c"), ("b", "r", HOSTILE)]
    known = {"train": [(HOSTILE, "r", "c")]}
    task = link_prediction.Task(facts, known, entities=[HOSTILE, "b", "c"], split=HOSTILE)
    text = task._repr_html_()
    heading, head, tail, *findings = rows_of(text)
    assert heading == ["side", "tasks", "queries", "columns of scores"]
    assert [head, tail] == [["head", "3", "3", "3"], ["tail", "3", "2", "3"]]
    assert findings[0] == ["finding", "count", "message"]
    assert [row[0] for row in findings[1:]] == [finding.name for finding in task.audit]
    assert f"<p>{html.escape(str(task.protocol))}</p>" in text
    assert "<b>" not in text
    assert rows_of(task[:1]._repr_html_())[1] == ["head", "1", "1", "3"]


def test_a_task_without_findings_is_one_table() -> None:
    task = retrieval.Task({"q": ["d1", "d2"]}, entities=[f"d{i}" for i in range(1234)])
    assert len(task.audit) == 0
    assert rows_of(task._repr_html_())[1:] == [["answers", "2", "1", "1,234"]]


def test_ranks_are_shown_as_a_table() -> None:
    labels: dict[str, Any] = {"side": [HOSTILE, "tail", "tail"], "relation": [1, 2, 3]}
    protocol = tr.Protocol(split=HOSTILE)
    listed = [True, False, True]
    options: dict[str, Any] = {"weights": [1, 2, 1], "listed": listed, "protocol": protocol}
    ranks = tr.Ranks([0, 4, 1], [1, 6, 2], [10, 10, 2000], **labels, **options)
    text = ranks._repr_html_()
    assert rows_of(text) == [
        ["ranks", "value"],
        ["tasks", "3"],
        ["tied", "1"],
        ["candidates", "10 to 2,000"],
        ["sides", f"{HOSTILE} 1 + tail 2"],
        ["with", "weights, relation"],
        ["misses", "1"],
        ["protocol", str(protocol)],
    ]
    assert "<b>" not in text
    assert rows_of(tr.Ranks([], [], 3)._repr_html_())[1] == ["tasks", "0"]


# -- in a notebook ---------------------------------------------------------------------------------


def outputs(*cells: str) -> list[list[Any]]:
    """Run a notebook, and return what each of its cells shows."""
    nbclient = pytest.importorskip("nbclient", reason="runs notebooks")
    pytest.importorskip("ipykernel", reason="runs cells")
    nbformat = pytest.importorskip("nbformat")
    made = [nbformat.v4.new_code_cell(cell) for cell in (FIRST, *cells)]
    notebook = nbformat.v4.new_notebook(cells=made)
    nbclient.NotebookClient(notebook, timeout=300, allow_errors=True).execute()
    return [list(cell.outputs) for cell in notebook.cells[1:]]


@pytest.mark.parametrize("has_widgets", [True, False])
def test_a_bar_in_a_notebook(has_widgets: bool) -> None:
    """It is a widget, or without ipywidgets a text; nothing else is said."""
    pytest.importorskip("nbclient")
    pytest.importorskip("tqdm")
    pytest.importorskip("ipywidgets")
    first = "pass" if has_widgets else "import sys\nsys.modules['ipywidgets'] = None"
    calls = ["tr.rank(np.eye(9), 0, progress=True)"] * 2
    _, *found = outputs(first, *calls)
    for *bar, result in found:
        assert "<table>" in result.data["text/html"]
        if has_widgets:
            assert [set(each.data) for each in bar] == [
                {"text/plain", "application/vnd.jupyter.widget-view+json"}
            ]
            continue
        texts = "".join(each.text for each in bar if each.name == "stderr").split("\r")
        assert len(texts) > 1
        assert {text.partition(":")[0] for text in texts} == {"", "truerank"}
