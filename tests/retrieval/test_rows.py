"""Whose a row is: by the keys 0 to n - 1, by the Task's `queries`, or by `row_queries`."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import truerank as tr
from support.refusals import refusal
from truerank.retrieval import Task

WIDE = 3
BOB_AND_ANN = np.array([[1.0, 9, 1], [1, 1, 9]])  # bob likes 1, ann likes 2
NAMED_USERS = {"ann": [2], "bob": [1]}
INTS = {7: [2], 3: [1]}


def doors(task: Task, scores: Any, **options: Any) -> list[float]:
    """Return the MRR by a matrix, by vectors and by the places of candidates."""
    top = tr.TopK(np.argsort(-scores, axis=1, kind="stable"), None)
    reports = [
        task.evaluate_scores(scores, **options),
        task.evaluate_embeddings(scores, np.eye(WIDE), **options),
        task.evaluate_lists(top, **options),
    ]
    return [report["mrr"] for report in reports]


ROWS_SAY_WHOSE: list[tuple[Any, dict[str, Any], Any]] = [
    (NAMED_USERS, {}, pd.DataFrame({"user": ["bob", "ann"]})),
    (NAMED_USERS, {"queries": ["bob", "ann"]}, None),
    (NAMED_USERS, {"queries": ["ann", "eve", "bob"]}, ["bob", "ann"]),
    (NAMED_USERS, {"queries": ["ann", "eve", "bob"]}, np.array([2, 0])),
    (INTS, {}, np.array([3, 7], np.int32)),
    ({np.int64(7): [2], np.int64(3): [1]}, {}, (3, 7)),
    ({10**18: [2], -5: [1]}, {}, [-5, 10**18]),
    (pd.DataFrame({"user": [7, 3], "item": [2, 1]}), {}, [3, 7]),
    (INTS, {"queries": [3, 7]}, None),
    ({1: [2], 0: [1]}, {}, None),
    (sparse.csr_array(np.array([[0, 1, 0], [0, 0, 1]])), {}, None),
    (sparse.csr_array(np.array([[0, 0, 1], [0, 1, 0]])), {}, [1, 0]),
]


@pytest.mark.parametrize(("qrels", "options", "row_queries"), ROWS_SAY_WHOSE)
def test_rows_say_whose_they_are(qrels: Any, options: Any, row_queries: Any) -> None:
    task = Task(qrels, entities=WIDE, **options)
    assert doors(task, BOB_AND_ANN, row_queries=row_queries) == [1, 1, 1]


def test_rows_of_all_users_are_a_file_for_any_test() -> None:
    """Rows of others are counted in the audit, and nothing is warned of."""
    everybody = np.vstack([[5.0, 5, 5], BOB_AND_ANN, [0, 0, 1]])
    for qrels, users in ((NAMED_USERS, ["eve", "bob", "ann", "zoe"]), (INTS, [0, 3, 7, 9])):
        task = Task(qrels, entities=WIDE)
        assert doors(task, everybody, row_queries=users) == [1, 1, 1]
        (finding,) = task.evaluate_scores(everybody, row_queries=users).audit("unused rows")
        assert finding.message == "2 rows of queries without right answers"
        part = task[1:].evaluate_scores(everybody, row_queries=users)
        assert part["mrr"] == 1
        assert not part.audit("unused rows")
    frame = pd.DataFrame(everybody, ["eve", "bob", "ann", "zoe"])
    task = Task(NAMED_USERS, entities=WIDE)
    assert task.evaluate_scores(frame, row_queries=frame.index)["mrr"] == 1
    assert doors(Task({"bob": [1]}, entities=WIDE), BOB_AND_ANN[:1]) == [1, 1, 1]  # the only row


def test_names_of_queries_and_documents_go_with_a_matrix_of_all() -> None:
    names = ["query-id", "corpus-id", "score"]
    qrels = pd.DataFrame([("q2", "d1", 1), ("q1", "d2", 2)], columns=names)
    task = Task(qrels, entities=["d0", "d1", "d2"])
    frame = pd.DataFrame(BOB_AND_ANN, ["q2", "q1"], ["d0", "d1", "d2"])
    assert task.evaluate_scores(frame, row_queries=["q2", "q1"])["mrr"] == 1
    words = r"scores: expected rows in the order of row_queries, got 'q2' at position 0"
    refusal(ValueError, words, task.evaluate_scores, frame, row_queries=["q1", "q2"])


@pytest.mark.python_only
def test_int_keys_are_labels_and_take_memory_by_their_number() -> None:
    large = 10**8
    tracemalloc.start()
    known = {"train": {large: [0], 4: [1], large + 7: [2]}}
    qrels = {large: [1], large + 1: [2]}
    task = Task(qrels, entities=WIDE, known=known)
    report = task.evaluate_lists({large: [2, 0, 1], large + 1: [2, 1], 5: [0]})
    asked = []

    def model(queries: Any) -> Any:
        asked.extend(queries[:, 0].tolist())
        return BOB_AND_ANN[: len(queries)]

    assert report["mrr"] == 0.75
    assert task.evaluate(model)["mrr"] == 1
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    assert asked == list(report.queries) == [large, large + 1]
    assert report.audit("unused lists")[0].count == 1
    candidates = {large: [0, 1], large + 1: [1, 2]}
    among = Task(qrels, entities=WIDE, candidates=candidates)
    assert among.evaluate(model).candidates.tolist() == [2, 2]
    themselves = Task({2: [1], 1: [0]}, entities=WIDE, exclude="self")
    assert themselves.answers.filter[1].tolist() == [1, 2]
    parts = [Task({key: [1], key + 1: [2]}, entities=WIDE)[:1] for key in (-7, 2**62)]
    ranks = [part.evaluate(model).ranks for part in parts]
    assert tr.concatenate(ranks, repeats="refuse").queries.values.tolist() == [-7, 2**62]
