"""Runs and judgements of tables and columns are those of mappings; no other form is taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from support.outcomes import quietly
from support.refusals import refusal, refused
from truerank.records.lists import read_judgements, read_lists

RUN = {"q1": {"d7": 2.5, "d3": 1.5}, "q2": {"d3": 0.5}}
ENTRIES = [("q2", "d3", 0.5), ("q1", "d7", 2.5), ("q1", "d3", 1.5)]
JUDGED = [("q1", "d3", 1), ("q1", "d9", 0), ("q2", "d3", 2)]
DOCUMENTS = ["d3", "d7", "d9"]
lists_of = partial(read_lists, "lists")
qrels_of = partial(read_judgements, "qrels")
SCORES = st.floats() | st.floats().map(np.float64) | st.integers(-(2**60), 2**60) | st.booleans()
LISTED = st.dictionaries(st.sampled_from(["d3", "d7", "", "\u00e9"]), st.floats(), max_size=4)
MIXED = st.dictionaries(st.sampled_from(["d3", 7, np.str_("d9"), None]), SCORES, max_size=3)


@given(
    st.dictionaries(st.sampled_from(["q1", "q2", ""]), LISTED, max_size=3)
    | st.dictionaries(st.sampled_from(["q1", "q2", 3]), LISTED | MIXED, max_size=3)
)
def test_a_mapping_is_read_as_it_is_or_refused(lists: dict[Any, dict[Any, Any]]) -> None:
    """Names are all str or all int, scores are numbers that an array holds as they are."""
    names = [name for listed in lists.values() for name in listed]
    scores = [score for listed in lists.values() for score in listed.values()]
    kinds = [{isinstance(name, str) for name in group} for group in (lists, names)]
    are_names = all(len(kind) < 2 for kind in kinds) and None not in names
    array = np.array(scores)
    are_numbers = not any(isinstance(score, (bool, np.bool_)) for score in scores)
    is_rounded = any(a != b and b == b for a, b in zip(array.tolist(), scores, strict=True))
    if not are_names or not are_numbers or is_rounded:
        refusal(tr.InputError, "^lists: ", lists_of, lists)
        return
    found = lists_of(lists)
    assert list(found) == list(lists)
    for query, listed in lists.items():
        assert list(found[query]) == list(listed)
        np.testing.assert_array_equal(list(found[query].values()), list(listed.values()))


def structured(columns: dict[str, list[Any]]) -> Any:
    return np.rec.fromarrays(list(map(np.array, columns.values())), names=list(columns))


def test_columns_are_said_and_others_are_left_out() -> None:
    names = {"query": "qid", "document": "docno"}
    entries = [(*row, 7) for row in ENTRIES]
    frame = pd.DataFrame(entries, columns=["qid", "docno", "score", "iteration"])
    assert lists_of(frame, columns={"score": 2, "document": 1, "query": 0})["q1"] == RUN["q1"]
    in_order = lists_of(frame.drop(columns="score"), columns=names)
    assert list(in_order["q1"]) == ["d7", "d3"]
    assert in_order.scores is None
    rows = [(*row, "text") for row in JUDGED]
    judged = pd.DataFrame(rows, columns=["qid", "docno", "label", "title"])
    grades = names | {"relevance": "label"}
    facts: dict[str, Any] = {"entities": DOCUMENTS, "known": judged, "columns": grades}
    task = quietly(tr.retrieval.Task, judged, **facts)
    assert task.leaked == len(task.answers) == 2
    report = task.evaluate_lists(frame, columns=names | {"score": "score"})
    assert "qrels (left out: columns title)" in str(report.audit())
    assert "ids (left out: columns iteration)" in str(report.audit())
    assert report["mrr"] == 0.75


def test_scores_keep_their_dtype() -> None:
    scores = np.array([0.5, 0.25], np.float32)
    table = structured({"query": ["q", "q"], "item": ["a", "b"], "score": scores})
    assert lists_of(table).scores.dtype == np.float32


# -- grades ----------------------------------------------------------------------------------------

FIVE = ["a", "b", "c", "d", "e"]
GRADES = st.lists(
    st.sampled_from([1, 3, 0.1, 0.01, 0, -1, -0.5, 1e-9, 2.0]), min_size=5, max_size=5
)


@given(GRADES.filter(lambda grades: max(grades) > 0 and 0 in grades))
@examples(40)
def test_every_door_takes_the_same_grades(
    tmp_path_factory: pytest.TempPathFactory, grades: list[float]
) -> None:
    """Finite numbers, of which those above 0 are of right answers."""
    path = tmp_path_factory.getbasetemp() / "qrels.txt"
    path.write_text("".join(f"q 0 {d} {g!r}\n" for d, g in zip(FIVE, grades, strict=True)))
    columns = {"query": ["q"] * 5, "document": FIVE, "relevance": grades}
    mapping = {"q": dict(zip(FIVE, grades, strict=True))}
    lists = {"q": dict(zip(FIVE, [0.5, 0.4, 0.3, 0.2, 0.1], strict=True))}
    values = []
    for qrels in (mapping, tuple(columns.values()), structured(columns), path, tr.read_qrels(path)):
        report = tr.retrieval.Task(qrels, entities=FIVE).evaluate_lists(lists)
        values.append([report[key] for key in ("ndcg", "map", "recall@2", "dcg")])
    assert all(each == values[0] for each in values)
    discounts = 1 / np.log2(np.arange(2, 7))
    assert values[0][3] == pytest.approx(float(np.maximum(grades, 0) @ discounts))


@pytest.mark.parametrize(("level", "mrr"), [(None, 1), (0.1, 0.5), (0.5, 1 / 3)])
def test_a_level_may_be_a_fraction(level: float | None, mrr: float) -> None:
    qrels = {"q": {"a": 0.01, "b": 0.1, "c": 1}}
    task = tr.retrieval.Task(qrels, entities=FIVE, relevance_level=level)
    assert task.evaluate_lists({"q": ["a", "b", "c"]})["mrr"] == pytest.approx(mrr)


# -- refusals --------------------------------------------------------------------------------------


def ranked(ranks: list[float]) -> Any:
    return structured({"query": ["q", "q"], "item": ["a", "b"], "rank": ranks})


def graded(grade: Any) -> Any:
    return ["q", "q"], ["a", "b"], [1, grade]


TASK = tr.retrieval.Task({"q1": ["d3"]}, entities=DOCUMENTS, queries=["q1"])
DATA_SET = SimpleNamespace(to_pandas=lambda: None, column_names=["query", "document"])
NO_LISTS: list[Any] = [[("d7", 2.5)], [["d7", 2.5]], {"d7"}, "d7", 7, {"d7": "high"}]
NO_GRADES: list[Any] = ["1", "one", None, 1j, np.datetime64(1, "D")]
NOT_FINITE = [np.inf, np.nan, 1 << 70]  # or larger than integers of numpy

REFUSALS: list[tuple[Callable[[], object], Any, str]] = [
    (partial(tr.write_run, "run.txt", ENTRIES), TypeError, "top"),
    *[(partial(lists_of, {"q": listed}), TypeError, "lists") for listed in NO_LISTS],
    (partial(lists_of, ranked([1, 1])), ValueError, "lists"),
    (partial(lists_of, ranked([1.5, 2])), TypeError, "lists"),
    *[(partial(qrels_of, graded(grade)), TypeError, "qrels") for grade in NO_GRADES],
    *[(partial(qrels_of, graded(grade)), ValueError, "qrels") for grade in NOT_FINITE],
]


@pytest.mark.parametrize(("call", "error", "argument"), REFUSALS)
def test_refusals(call: Callable[[], object], error: Any, argument: str) -> None:
    refused(error, argument, call)


@pytest.mark.parametrize(
    ("call", "form", "way"),
    [
        (partial(tr.retrieval.Task, entities=9), ENTRIES, r"{query: {document: grade}}, "),
        (TASK.evaluate_lists, ENTRIES, "{query: [ids, the best first]}, or TopK(ids, scores), got"),
        (TASK.evaluate_lists, DATA_SET, "a table with named columns, "),  # of Hugging Face
    ],
)
def test_the_way_out_of_other_forms_is_shown(call: Any, form: Any, way: str) -> None:
    refusal(TypeError, re.escape(way), call, form)
