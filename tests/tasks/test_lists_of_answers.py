"""Lists of the file that has the right answers, all of which would be right."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import truerank as tr

pytestmark = pytest.mark.python_only

OF_FILE = "this is the file of the right answers: expected another one"
TRIPLES = "a\tr\tb\nb\tr\tc\n"
PAIRS = "a\tx\nb\ty\n"
GRADES = "q1 0 a 1\nq1 0 b 0\nq2 0 b 1\n"
NAMED = "query\tdocument\nq1\ta\nq2\tb\n"
LOG = "query,document,relevance,score\nq1,a,1,.2\nq1,b,0,.9\nq2,b,1,.7\nq2,d,0,.3\n"


def of_triples(path: Any) -> Callable[[Any], tr.Report]:
    return tr.link_prediction.Task(path, {}, entities=list("abc"), sides=["tail"]).evaluate_lists


def of_pairs(path: Any) -> Callable[[Any], tr.Report]:
    task = tr.alignment.Task(path, left=["a", "b"], right=["x", "y"])
    return lambda lists: task.evaluate_lists(lists, {"x": ["a"], "y": ["b"]})


def of_qrels(path: Any) -> Callable[[Any], tr.Report]:
    return tr.retrieval.Task(path, entities=5).evaluate_lists


@pytest.mark.parametrize(
    ("make", "text"),
    [(of_triples, TRIPLES), (of_pairs, PAIRS), (of_qrels, GRADES), (of_qrels, NAMED)],
)
def test_the_file_of_right_answers_is_no_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, text: str
) -> None:
    """By whatever path; where it was read before, too. The file of grades alone is no run."""
    path = tmp_path / "right"
    path.write_text(text)
    os.link(path, tmp_path / "linked")
    (tmp_path / "symbolic").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    evaluate = make(path)
    for name in ("right", "./right", "linked", "symbolic", path):
        with pytest.raises(tr.InputValueError, match=OF_FILE):
            evaluate(name)
    # What has other content, or another place, is another file, whatever it is called.
    (tmp_path / "copy").write_text(text)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "right").write_text(text)
    if text != GRADES:
        assert evaluate("copy")["mrr"] == 1
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert evaluate("right")["mrr"] == 1
        path.write_text(f"{text}\n")
        assert evaluate(path)["mrr"] == 1


def test_answers_and_lists_that_were_read_before_are_of_their_files(tmp_path: Path) -> None:
    path = tmp_path / "right.tsv"
    path.write_text(NAMED)
    for qrels in (path, tr.read_qrels(path)):
        for lists in (path, tr.read_run(path)):
            with pytest.raises(tr.InputValueError, match=OF_FILE):
                of_qrels(qrels)(lists)


@pytest.mark.parametrize("header", ["query,document,relevance,score", "user,item,click,model"])
def test_a_log_has_both(tmp_path: Path, header: str) -> None:
    """Two columns of one file: what is right, and what a model says."""
    path = tmp_path / "log.csv"
    path.write_text(LOG.replace("query,document,relevance,score", header))
    of_task = of_lists = None
    if header[0] == "u":
        of_task = {"query": "user", "document": "item", "relevance": "click"}
        of_lists = {"query": "user", "document": "item", "score": "model"}
    for qrels in (path, tr.read_qrels(path, columns=of_task)):
        columns = of_task if qrels is path else None
        task = tr.retrieval.Task(qrels, entities=5, columns=columns)
        assert task.evaluate_lists(path, columns=of_lists)["mrr"] == 0.75
        assert task.evaluate_lists(tr.read_run(path, columns=of_lists))["mrr"] == 0.75
        grades = {"query": 0, "document": 1, "score": 2}
        with pytest.raises(tr.InputValueError, match="or one with relevance and score") as error:
            task.evaluate_lists(path, columns=grades)
        # The way out names the columns, as above.
        assert [option.name for option in error.value.remedies] == ["columns"]
