"""What a notebook shows: errors by the user's own lines, results as tables, a bar as a widget."""

from __future__ import annotations

import html
import linecache
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import InputValueError, link_prediction, retrieval

pytestmark = pytest.mark.python_only

FIRST = "import numpy as np\nimport truerank as tr"
# A cell with a mistake, the lines of it that are shown with their numbers, and the message.
MISTAKES: dict[str, tuple[str, list[tuple[int, str]], str]] = {
    "an argument": (
        "scores = np.eye(3)\ntr.evaluate(\n    scores, [0, 1]\n)",
        [(2, "tr.evaluate(")],
        "truerank.errors.InputValueError: targets: expected 3 integers, one for each row, "
        "or one for all, got shape (2,)",
    ),
    "a key": (
        "tr.evaluate(np.eye(3), 0)['mmr']",
        [(1, "tr.evaluate(np.eye(3), 0)['mmr']")],
        "truerank.errors.UnknownKeyError: 'mmr': no metric 'mmr'; did you mean mr or zmr or mrr?",
    ),
    "a callable of the user": (
        "task = tr.link_prediction.Task([(0, 0, 1)], entities=3, sides=['tail'])\n"
        "def score(queries):\n    return tr.rank(np.eye(4), 9)\n\ntask.evaluate(score)",
        [(5, "task.evaluate(score)"), (3, "return tr.rank(np.eye(4), 9)")],
        "truerank.errors.InputValueError: targets: expected integers from 0 to 3 (4 candidates), "
        "got 9 for task 0",
    ),
    "a missing file": (
        "tr.link_prediction.Task('no.tsv')",
        [(1, "tr.link_prediction.Task('no.tsv')")],
        "FileNotFoundError: [Errno 2] No such file or directory: 'no.tsv'",
    ),
    "no file of a pattern": (
        "tr.evaluate('no-*.npy', 0)",
        [(1, "tr.evaluate('no-*.npy', 0)")],
        "FileNotFoundError: [Errno 2] no file matches the pattern: 'no-*.npy'",
    ),
    "a missing folder": (
        "tr.report(tr.Ranks([0], [1], 3)).save('/no/report.md')",
        [(1, "tr.report(tr.Ranks([0], [1], 3)).save('/no/report.md')")],
        "FileNotFoundError: [Errno 2] No such file or directory: '/no/report.md'",
    ),
}


def raised(cell: str, monkeypatch: pytest.MonkeyPatch) -> Exception:
    """Run a cell as IPython does, and return its error, which IPython puts into `sys`."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(FIRST, names)
    linecache.cache["<cell>"] = (len(cell), None, cell.splitlines(True), "<cell>")
    with pytest.raises(Exception) as caught:  # noqa: PT011
        exec(compile(cell, "<cell>", "exec"), names)
    error: Exception = caught.value
    error = error.with_traceback(caught.tb.tb_next)  # without the line above
    monkeypatch.setattr(sys, "last_value", error, raising=False)
    return error


def shown(error: Exception) -> list[str]:
    """Return the lines that IPython gets when it asks the error."""
    render: Callable[[], list[str]] = error._render_traceback_  # type: ignore[attr-defined]
    return render()


def expected_lines(name: str) -> list[str]:
    _, places, message = MISTAKES[name]
    lines = ["Traceback (most recent call last):"]
    for i, (number, source) in enumerate(places):
        function = "score" if i else "<module>"
        lines += [f"  Cell, line {number}, in {function}", f"    {source}"]
    return [*lines, message]


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_is_shown_by_the_users_own_lines(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    error = raised(MISTAKES[name][0], monkeypatch)
    assert shown(error) == expected_lines(name)
    again = pickle.loads(pickle.dumps(error))  # as it comes from another process
    monkeypatch.setattr(sys, "last_value", again)
    lines = shown(again)  # Some libraries teach pickle to keep the lines between these.
    assert [lines[0], lines[-1]] == [expected_lines(name)[0], expected_lines(name)[-1]]


def test_a_file_of_the_user_is_named() -> None:
    with pytest.raises(InputValueError) as caught:
        tr.evaluate(np.eye(3), [0, 9, 1])
    number = caught.tb.tb_lineno
    assert shown(caught.value)[1:3] == [
        f'  File "{__file__}", line {number}, in test_a_file_of_the_user_is_named',
        "    tr.evaluate(np.eye(3), [0, 9, 1])",
    ]


def test_what_was_never_raised_is_shown_too() -> None:
    error = InputValueError("x", "is wrong")
    error.add_note("since it is a test")
    assert shown(error)[1:] == ["truerank.errors.InputValueError: x: is wrong", error.__notes__[0]]


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


def test_errors_in_a_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    monkeypatch.chdir(tmp_path)
    found = outputs(*(cell for cell, _, _ in MISTAKES.values()))
    for name, (error,) in zip(MISTAKES, found, strict=True):
        assert error.traceback == expected_lines(name)


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
