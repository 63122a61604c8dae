"""Runs and judgements of tables and columns are those of mappings; no other form is taken."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.outcomes import quietly
from support.refusals import refusal
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


class Column(Sequence):  # type: ignore[type-arg]
    """A column of a data set of Hugging Face: a sequence that is no list."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    def __len__(self) -> int:
        return len(self.values)


class DataSet:
    """A data set of Hugging Face, as far as it is read."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns
        self.column_names = list(columns)

    def __getitem__(self, name: str) -> Column:
        return Column(self.columns[name])

    def to_pandas(self) -> Any:
        return pytest.importorskip("pandas").DataFrame(self.columns)


def columns_of(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


def frame_of(library: str) -> Callable[[dict[str, list[Any]]], Any]:
    def make(columns: dict[str, list[Any]]) -> Any:
        return pytest.importorskip(library).DataFrame(columns)

    return make


def pyarrow_table(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def structured(columns: dict[str, list[Any]]) -> Any:
    arrays = {name: np.array(values) for name, values in columns.items()}
    table = np.empty(len(arrays[next(iter(arrays))]), [(n, a.dtype) for n, a in arrays.items()])
    for name, values in arrays.items():
        table[name] = values
    return table


TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": frame_of("pandas"),
    "polars": frame_of("polars"),
    "pyarrow": pyarrow_table,
    "structured": structured,
}
HEADINGS = [
    ("query", "document", "score"),
    ("query-id", "corpus-id", "score"),
    ("user", "item", "score"),
]


@pytest.mark.parametrize("names", HEADINGS)
@pytest.mark.parametrize("table", TABLES)
def test_long_forms_of_runs_and_qrels(table: str, names: tuple[str, ...]) -> None:
    """Columns are found by their names, in any order."""
    entries = columns_of(ENTRIES, names)
    mixed = {name: entries[name] for name in reversed(names)}
    lists = lists_of(TABLES[table](mixed))
    assert {query: dict(listed) for query, listed in lists.items()} == RUN
    qrels = qrels_of(TABLES[table](columns_of(JUDGED, names)))
    rows = zip(qrels.queries, qrels.documents, qrels.relevance.tolist(), strict=True)
    assert list(rows) == JUDGED
    task = tr.retrieval.Task(TABLES[table](columns_of(JUDGED, names)), entities=DOCUMENTS)
    report = task.evaluate_lists(TABLES[table](mixed))
    assert report.per_query("mrr").tolist() == [0.5, 1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_are_said_or_asked_for(library: str) -> None:
    frame = frame_of(library)(columns_of(ENTRIES, ["a", "b", "c"]))
    said = {"query": "a", "document": "b"}
    assert lists_of(frame, columns={**said, "score": "c"})["q1"] == RUN["q1"]
    assert lists_of(frame, columns={"score": 2, "document": 1, "query": 0})["q1"]["d7"]
    in_order = lists_of(frame, columns=said)
    assert list(in_order["q1"]) == ["d7", "d3"]
    assert in_order.scores is None
    judged = frame_of(library)(columns_of(JUDGED, ["a", "b", "c"]))
    of_grades = {**said, "relevance": "c"}
    assert qrels_of(judged, columns=of_grades).relevance.tolist() == [1, 0, 2]
    facts: dict[str, Any] = {"entities": DOCUMENTS, "known": judged, "columns": of_grades}
    task = quietly(tr.retrieval.Task, judged, **facts)
    assert task.leaked == len(task.answers) == 2
    report = task.evaluate_lists(frame, columns={**said, "score": "c"})
    assert report["mrr"] == 0.75
    both = frame_of(library)(columns_of(ENTRIES, ["query", "query_id", "item"]))
    refusal(ValueError, "'query', 'query_id', 'item'", lists_of, both)


@pytest.mark.parametrize("table", TABLES)
def test_other_columns_are_left_out_where_the_user_says_which_are_meant(table: str) -> None:
    mixed = columns_of([(*row, "text") for row in JUDGED], ["qid", "docno", "label", "title"])
    said: dict[str, Any] = {"query": "qid", "document": "docno"}
    grades = said | {"relevance": "label"}
    task = tr.retrieval.Task(TABLES[table](mixed), entities=DOCUMENTS, columns=grades)
    listed = columns_of([(*row, 7) for row in ENTRIES], ["qid", "docno", "score", "iteration"])
    report = task.evaluate_lists(TABLES[table](listed), columns=said | {"score": "score"})
    assert "qrels (left out: columns title)" in str(report.audit())
    assert "ids (left out: columns iteration)" in str(report.audit())
    assert report["mrr"] == 0.75


def test_ranks_stand_for_scores() -> None:
    rows = [("q1", "d3", 2), ("q1", "d7", 1)]
    lists = lists_of(structured(columns_of(rows, ["query", "document", "rank"])))
    assert list(lists["q1"]) == ["d7", "d3"]
    assert lists.scores is None
    names = {"query": ["q", "q"], "item": ["a", "b"]}
    with pytest.raises(tr.InputValueError, match="the rank 1 twice"):
        lists_of(structured(names | {"rank": [1, 1]}))
    with pytest.raises(tr.InputTypeError, match="integers as ranks"):
        lists_of(structured(names | {"rank": [1.5, 2]}))


ROW = namedtuple("ROW", ["query_id", "doc_id", "relevance"])
NO_FORMS: dict[str, Any] = {
    "rows": ENTRIES,
    "one named tuple": ROW(*zip(*ENTRIES, strict=True)),
    "an iterator": iter(ENTRIES),
    "a data set": DataSet(columns_of(ENTRIES, HEADINGS[0])),
    "nothing": None,
}


@pytest.mark.parametrize("form", NO_FORMS)
def test_other_forms_are_refused_and_the_message_shows_those_that_are_taken(form: str) -> None:
    """A matrix of labels (n, 2), too, whose columns were once read as query and document."""
    value = NO_FORMS[form]
    of_qrels = (
        r"expected a path, a table with named columns, \{query: \{document: grade\}\}, \{query"
    )
    of_lists = (
        r"expected a path, .* TopK\(ids, scores\); dict\(zip\(queries, lists\)\) makes lists a "
    )
    way_out = r".*\.to_pandas\(\) is one" if form == "a data set" else ""
    task = tr.retrieval.Task({"q1": ["d3"]}, entities=DOCUMENTS, queries=["q1"])
    refusal(TypeError, f"^qrels: {of_qrels}{way_out}", tr.retrieval.Task, value, entities=9)
    known: dict[str, Any] = {"known": {"train": value}, "entities": 9}
    if value is not None:
        refusal(TypeError, of_qrels, tr.retrieval.Task, {"q1": ["d3"]}, **known)
    refusal(TypeError, f"^ids: {of_lists}{way_out}", task.evaluate_lists, value)
    refusal(TypeError, f"^top: {of_lists}{way_out}", tr.write_run, "run.txt", value)


@pytest.mark.parametrize(
    "listed",
    [
        [("d7", 2.5), ("d3", 1.5)],
        [["d7", 2.5]],
        [{"corpus_id": "d7", "score": 2.5}],
        {"d7", "d3"},
        "d7",
        7,
        {"d7": "high"},
        {"d7": True},
    ],
)
def test_what_a_query_has_is_ids_or_scores_of_ids(listed: Any) -> None:
    refusal(TypeError, r"^lists: expected .*(\{id: score\}|numbers as)", lists_of, {"q": listed})


@pytest.mark.parametrize(
    "relevance", [[float("inf"), 1, 1], [float("nan"), 1, 1], ["1", "+1", "0"]]
)
def test_relevance_is_a_finite_number(relevance: list[Any]) -> None:
    columns = {"query": ["q"] * 3, "document": list("abc"), "relevance": relevance}
    with pytest.raises((tr.InputValueError, tr.InputTypeError), match="that are finite numbers"):
        qrels_of(structured(columns))
    for numbers in ([1.0, 0.0, -2.0], [1, 0.1, 0.01]):
        columns["relevance"] = numbers
        assert qrels_of(structured(columns)).relevance.tolist() == numbers


def test_scores_keep_their_dtype() -> None:
    names = {"query": ["q", "q"], "item": ["a", "b"]}
    frame = structured(names | {"score": np.array([0.5, 0.25], np.float32)})
    assert lists_of(frame).scores.dtype == np.float32
    with pytest.raises(tr.InputTypeError, match="numbers as scores"):
        lists_of(structured(names | {"score": ["high", "low"]}))
