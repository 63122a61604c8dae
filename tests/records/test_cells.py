"""Tuples that may be rows or columns; cells that join ids; rows of labels; ways out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.refusals import refusal_message
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only
DOCUMENTS = ["d1", "d2"]


def frame(rows: list[list[Any]], names: str) -> Any:
    return pd.DataFrame(rows, columns=names.split())


# -- tuples that may be rows or columns ------------------------------------------------------------


SQUARE = ((0, 0, 1), (2, 1, 3), (1, 0, 2))


def test_as_many_tuples_as_they_have_places_are_refused() -> None:
    facts = tr.link_prediction.Task
    message = refusal_message(facts, [(0, 0, 1)], {"train": SQUARE})
    assert message == (
        'known["train"]: expected rows as a list of tuples, columns as a tuple of lists, or a '
        "table, got 3 tuples of 3, which may be rows or columns"
    )
    assert refusal_message(facts, SQUARE, {}).startswith("test: expected rows as a list")
    assert facts(list(SQUARE), {}).test.tolist() == list(map(list, SQUARE))
    columns = tuple(map(list, zip(*SQUARE, strict=True)))
    assert facts(columns, {}).test.tolist() == list(map(list, SQUARE))
    names = tuple(tuple(map("abcd".__getitem__, row)) for row in SQUARE)
    refusal_message(facts, names, {})
    refusal_message(tr.alignment.Task, ((0, 1), (2, 3)), left=4, right=4)
    assert len(tr.alignment.Task([(0, 1), (2, 3)], left=4, right=4).pairs) == 2
    qrels = (("q", "p"), ("a", "b"))
    refusal_message(Task, qrels, entities=["a", "b", "q", "p"])
    as_rows = pd.DataFrame(qrels, columns=["query", "document"])
    assert len(Task(as_rows, entities=["a", "b", "q", "p"])) == 2
    assert len(Task(tuple(map(list, qrels)), entities=["a", "b"])) == 2
    task = facts([(0, 0, 1), (2, 1, 3)], {}, entities=4, sides=["tail"])
    scores = np.eye(2, 4)
    refusal_message(task.evaluate_scores, scores, row_queries={"tail": ((0, 0), (2, 1))})


@pytest.mark.parametrize("number", [1, 2, 4, 5])
def test_columns_of_any_other_length_are_tuples(number: int) -> None:
    rows = [*SQUARE, (3, 0, 1), (3, 1, 0)][:number]
    columns = tuple(zip(*rows, strict=True))
    assert tr.link_prediction.Task(columns, {}).test.tolist() == list(map(list, rows))


def test_lists_are_columns_whatever_their_length() -> None:
    columns = list("qpr"), list("abc"), [2, 0, 1]
    gains = Task(columns, entities=list("abc")).gains
    assert gains is not None
    assert gains.tolist() == [2, 1]
    arrays = tuple(map(np.array, zip(*SQUARE, strict=True)))
    assert len(tr.link_prediction.Task(arrays, {})) == 3


# -- cells that join ids ---------------------------------------------------------------------------


CELLS: dict[str, list[str]] = {"q1": ["1"], "q2": ["34;78"], "q3": ["5, 6"]}
OF_CELLS = {"q1": ["1"], "q2": ["34", "78"], "q3": ["5", "6"]}


def joined_cells(form: str, folder: Path) -> Any:
    rows = [[query, cell] for query, cells in CELLS.items() for cell in cells]
    table = frame(rows, "query document")
    table.to_csv(folder / "cells.csv", index=False)
    return {"mapping": CELLS, "frame": table, "csv": folder / "cells.csv"}[form]


@pytest.mark.parametrize("form", ["mapping", "frame", "csv"])
@pytest.mark.parametrize("are_named", [True, False])
def test_a_cell_of_several_ids_is_refused(form: str, are_named: bool, tmp_path: Path) -> None:
    """Where documents are a number, lists say which ids there are."""
    names = [str(i) for i in range(100)]
    qrels = joined_cells(form, tmp_path)
    options: Any = {"entities": names if are_named else 100}
    if are_named:
        message = refusal_message(Task, qrels, **options)
    else:
        message = refusal_message(Task(qrels, **options).evaluate_lists, OF_CELLS)
    assert "'34;78'" in message
    assert "(2 that are known, joined: a row has one)" in message
    assert Task(OF_CELLS, **options).evaluate_lists(OF_CELLS)["mrr"] == 1.0


def test_cells_of_several_ids_are_refused_in_lists_and_facts(tmp_path: Path) -> None:
    task = Task({"q1": ["a"], "q2": ["b"]}, entities=9)
    joined = " (2 that are known, joined: a row has one)"
    message = refusal_message(task.evaluate_lists, {"q1": ["a,b"], "q2": ["b"]})
    assert message.startswith("ids: expected one id in each cell, or labels of all entities")
    assert message.endswith(f"'a,b'{joined}")
    facts = [("a", "r", "b;c")]
    assert joined in refusal_message(tr.link_prediction.Task, facts, {}, entities=list("abc"))
    path = joined_cells("csv", tmp_path)
    assert joined in refusal_message(Task, path, entities=range(100))


@pytest.mark.parametrize("separator", [",", ";", ", "])
def test_ids_may_have_commas(separator: str) -> None:
    joined = f"a{separator}b"
    qrels = {"q": [joined], "p": ["c"]}
    lists = {"q": ["a", "b", joined], "p": ["c"]}
    for entities in (9, ["a", "b", "c", joined]):
        report = Task(qrels, entities=entities).evaluate_lists(lists)
        assert report["mrr"] == (1 / 3 + 1) / 2
        assert not report.audit()
    others = {"q": ["a", "d"], "p": ["c"]}  # One of the parts is no id.
    assert Task(qrels, entities=9).evaluate_lists(others)["mrr"] == 0.5
    parts = {"q": ["a", "b"], "p": ["c"]}
    assert Task(qrels, entities=["a", "b", "c", joined]).evaluate_lists(parts)["mrr"] == 0.5


def test_blanks_between_ids_are_a_finding() -> None:
    lists = {"q": ["sea", "lion"], "p": ["c"]}
    report = Task({"q": ["sea lion"], "p": ["c"]}, entities=9).evaluate_lists(lists)
    assert list(map(str, report.audit())) == [
        "names: 1 of the first 2 right answers differ from listed names only in blanks, "
        "Unicode form or leading zeros: 'sea', 'lion' for 'sea lion'"
    ]
    both = {"q": ["sea", "lion", "sea lion"], "p": ["c"]}
    assert not Task({"q": ["sea lion"], "p": ["c"]}, entities=9).evaluate_lists(both).audit()
    assert not Task({"q": ["sea cow"], "p": ["c"]}, entities=9).evaluate_lists(lists).audit()


# -- rows of labels --------------------------------------------------------------------------------


ROWS = {0: [0, 0, 1], 1: [0, 1, 0]}
SCORES = [[1, 2, 9.0], [1, 9, 3.0]]


def test_rows_of_labels_are_no_lists_of_documents() -> None:
    rows = ROWS
    message = refusal_message(Task, rows, entities=3)
    assert "expected a list of ids, or {id: grade}, for each key, got lists of 3" in message
    qrels = {key: dict(enumerate(row)) for key, row in rows.items()}
    assert Task(qrels, entities=3).evaluate_scores(SCORES)["mrr"] == 1.0
    known = {query: np.array(row) for query, row in rows.items()}
    assert refusal_message(Task, {0: [2]}, entities=3, known=known).startswith("known: ")
    assert refusal_message(Task, {0: [2]}, entities=3, known={"train": known}).startswith("known[")
    assert refusal_message(Task, {0: [2]}, entities=3, candidates={0: [0, 1, 1]}).startswith(
        "candidates: expected indices, or a mask of bool"
    )


@pytest.mark.parametrize(
    "clicks",
    [
        {0: [2, 2, 0], 1: [1, 1]},  # repeats, of unlike lengths
        {0: [2, 1, 0], 1: [0, 1, 2]},  # one length, and no repeats
        {0: [2, 7, 7], 1: [0, 1, 2]},  # repeats of ids that are no labels of so few columns
        {0: ["c", "a", "a"], 1: ["a", "b", "c"]},
    ],
)
def test_lists_of_documents_may_repeat(clicks: Any) -> None:
    task = Task(clicks, entities=8 if clicks[0][0] == 2 else ["a", "b", "c"])
    assert len(task.answers) == len({(query, x) for query in clicks for x in clicks[query]})


# -- ways out --------------------------------------------------------------------------------------


def test_an_index_is_refused() -> None:
    x = np.array([[0, 1], [1, 2]])
    assert refusal_message(Task, x, entities=3).endswith("got ndarray of shape (2, 2)")
    assert len(Task(tuple(x.T), entities=3)) == 2
    assert refusal_message(Task, {0: [1]}, entities=3, known=x).endswith("ndarray of shape (2, 2)")


def test_a_right_answer_that_is_no_candidate_is_refused() -> None:
    candidates: list[Any] = [{"q": ["d2"]}, ["d2"]]
    for each in candidates:
        message = refusal_message(Task, {"q": ["d1"]}, entities=DOCUMENTS, candidates=each)
        assert "not among" in message
        assert "'d1'" in message
