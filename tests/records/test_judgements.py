"""Runs and judgements of frames, data sets, rows and pairs are those of the same dicts."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.outcomes import quietly
from support.refusals import refusal
from truerank.records.named_lists import lists_of_rows

RUN = {"q1": {"d7": 2.5, "d3": 1.5}, "q2": {"d3": 0.5}}
ENTRIES = [("q2", "d3", 0.5), ("q1", "d7", 2.5), ("q1", "d3", 1.5)]
JUDGED = [("q1", "d3", 1), ("q1", "d9", 0), ("q2", "d3", 2)]
DOCUMENTS = ["d3", "d7", "d9"]


class Qrel(NamedTuple):
    """As ir_datasets has them."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


SCORES = st.floats() | st.floats().map(np.float64) | st.integers(-(2**60), 2**60) | st.booleans()
LISTED = st.dictionaries(st.sampled_from(["d3", "d7", "", "\u00e9"]), st.floats(), max_size=4)
MIXED = st.dictionaries(st.sampled_from(["d3", 7, np.str_("d9"), None]), SCORES, max_size=3)


@given(
    st.dictionaries(st.sampled_from(["q1", "q2", ""]), LISTED, max_size=3)
    | st.dictionaries(st.sampled_from(["q1", "q2", 3]), LISTED | MIXED, max_size=3)
)
def test_dictionaries_are_joined_as_one_by_one(lists: dict[Any, dict[Any, Any]]) -> None:
    """Also what is refused."""
    problem = None
    try:
        expected = lists_of_rows("lists", lists.items())
    except tr.InputError as error:
        problem = error
    if problem is not None:
        with pytest.raises(type(problem)) as refused:
            tr.NamedLists.of(lists)
        assert str(refused.value) == str(problem)
        return
    found = tr.NamedLists.of(lists)
    assert (found.queries, found.names) == (expected.queries, expected.names)
    for name in ("indptr", "ids", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), strict=True)
    assert dict(found).keys() == lists.keys()


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


def columns_of(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


def frame_of(library: str) -> Callable[[dict[str, list[Any]]], Any]:
    def make(columns: dict[str, list[Any]]) -> Any:
        return pytest.importorskip(library).DataFrame(columns)

    return make


def pyarrow_table(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def records(columns: dict[str, list[Any]]) -> Any:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def named_rows(columns: dict[str, list[Any]]) -> Any:
    Row = namedtuple("Row", [name.replace("-", "_") for name in columns])
    return map(Row._make, zip(*columns.values(), strict=True))


TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": frame_of("pandas"),
    "polars": frame_of("polars"),
    "pyarrow": pyarrow_table,
    "Hugging Face": DataSet,
    "records": records,
    "named rows": named_rows,
}
HEADINGS = [
    ("query_id", "doc_id", "score"),
    ("qid", "docno", "score"),
    ("query-id", "corpus-id", "score"),
    ("user", "item", "score"),
]


@pytest.mark.parametrize("names", HEADINGS)
@pytest.mark.parametrize("table", TABLES)
def test_long_forms_of_runs_and_qrels(table: str, names: tuple[str, ...]) -> None:
    """Columns are found by their names, in any order, beside others."""
    entries = columns_of(ENTRIES, names)
    mixed = {names[2]: entries[names[2]], "text": ["x"] * 3, names[1]: entries[names[1]]}
    mixed[names[0]] = entries[names[0]]
    lists = tr.NamedLists.of(TABLES[table](mixed))
    assert {query: dict(listed) for query, listed in lists.items()} == RUN
    qrels = tr.Qrels.of(TABLES[table](columns_of(JUDGED, names)))
    rows = zip(qrels.queries, qrels.documents, qrels.relevance.tolist(), strict=True)
    assert list(rows) == JUDGED
    task = tr.retrieval.Task(TABLES[table](columns_of(JUDGED, names)), entities=DOCUMENTS)
    report = task.evaluate_lists(TABLES[table](mixed))
    assert report.per_query("mrr").tolist() == [0.5, 1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_are_said_or_asked_for(library: str) -> None:
    frame = frame_of(library)(columns_of(ENTRIES, ["a", "b", "c"]))
    said = {"query": "a", "document": "b"}
    assert tr.NamedLists.of(frame, columns={**said, "score": "c"})["q1"] == RUN["q1"]
    assert tr.NamedLists.of(frame, columns={"score": 2, "document": 1, "query": 0})["q1"]["d7"]
    in_order = tr.NamedLists.of(frame, columns=said)
    assert list(in_order["q1"]) == ["d7", "d3"]
    assert in_order.scores is None
    judged = frame_of(library)(columns_of(JUDGED, ["a", "b", "c"]))
    of_grades = {**said, "relevance": "c"}
    assert tr.Qrels.of(judged, columns=of_grades).relevance.tolist() == [1, 0, 2]
    facts: dict[str, Any] = {"entities": DOCUMENTS, "known": judged, "columns": of_grades}
    task = quietly(tr.retrieval.Task, judged, **facts)
    assert task.leaked == len(task.answers) == 2
    report = task.evaluate_lists(frame, columns={**said, "score": "c"})
    assert report["mrr"] == 0.75
    words = r"expected columns query, document, .* columns=\{"
    for read, value in ((tr.NamedLists.of, frame), (tr.Qrels.of, judged)):
        refusal(ValueError, words, read, value)
        of_said = "expected columns 'd' .query., .*, as columns= says"
        refusal(ValueError, of_said, read, value, columns={**said, "query": "d"})
        for columns in (["a", "b"], {"query": "a"}, {"query": "a", "document": "a"}, {"head": 0}):
            refusal((ValueError, TypeError), "^columns: ", read, value, columns=columns)
    refusal(ValueError, words, tr.retrieval.Task, judged, entities=9)
    refusal(ValueError, words, task.evaluate_lists, frame)
    both = frame_of(library)(columns_of(ENTRIES, ["qid", "query_id", "doc_id"]))
    refusal(ValueError, "'qid', 'query_id', 'doc_id'", tr.NamedLists.of, both)


@pytest.mark.parametrize("names", [("user", "item", "stars"), ("what", "user", "n"), "abcd"])
@pytest.mark.parametrize("table", TABLES)
def test_other_columns_are_refused(table: str, names: Sequence[str]) -> None:
    rows = [(*row, 1) for row in JUDGED]
    value = columns_of(rows, names)
    words = r"expected columns query, document, .* columns=\{"
    for call in (tr.NamedLists.of, partial(tr.retrieval.Task, entities=9)):
        refusal(ValueError, words, call, TABLES[table](value))


@pytest.mark.parametrize("table", TABLES)
def test_columns_beside_are_left_out_and_named(table: str) -> None:
    mixed = columns_of([(*row, "text") for row in JUDGED], ["qid", "docno", "label", "title"])
    task = tr.retrieval.Task(TABLES[table](mixed), entities=DOCUMENTS)
    listed = columns_of([(*row, 7) for row in ENTRIES], ["qid", "docno", "score", "iteration"])
    audit = str(task.evaluate_lists(TABLES[table](listed)).audit())
    assert "qrels (left out: columns title)" in audit
    assert "ids (left out: columns iteration)" in audit


def test_times_are_no_gains() -> None:
    frame = records(columns_of(JUDGED, ["user", "item", "timestamp"]))
    assert tr.Qrels.of(frame).relevance.tolist() == [1, 1, 1]


def test_ranks_stand_for_scores() -> None:
    rows = [("q1", "d3", 2), ("q1", "d7", 1)]
    lists = tr.NamedLists.of(records(columns_of(rows, ["qid", "docno", "rank"])))
    assert list(lists["q1"]) == ["d7", "d3"]
    assert lists.scores is None
    with pytest.raises(tr.InputValueError, match="the rank 1 twice"):
        tr.NamedLists.of([{"qid": "q", "docno": name, "rank": 1} for name in "ab"])
    with pytest.raises(tr.InputTypeError, match="integers as ranks"):
        tr.NamedLists.of([{"qid": "q", "docno": "a", "rank": 1.5}])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tuples_of_series(library: str) -> None:
    make = pytest.importorskip(library).Series
    series = [make(list(column)) for column in zip(*ENTRIES, strict=True)]
    assert tr.NamedLists.of(tuple(series))["q1"] == RUN["q1"]
    judged = [make(list(column)) for column in zip(*JUDGED, strict=True)]
    task = tr.retrieval.Task(tuple(judged), entities=DOCUMENTS)
    assert task.evaluate_lists(tuple(series))["mrr"] == 0.75
    assert tr.Qrels.of(tuple(judged[:2])).relevance.tolist() == [1, 1, 1]
    with pytest.raises(tr.InputValueError, match=r"of one length.* got lengths 3, 3, 2"):
        tr.NamedLists.of((*series[:2], series[2][:2]))


def test_rows_of_ir_datasets() -> None:
    """Also from an iterator, as `qrels_iter` gives them."""
    qrels = [Qrel(*row) for row in JUDGED]
    run = (ScoredDoc(*row) for row in ENTRIES)
    report = tr.retrieval.Task(iter(qrels), entities=10).evaluate_lists(run)
    assert report["mrr"] == 0.75
    with pytest.raises(tr.InputTypeError, match=r"rows with the fields .*relevance.* in row 1"):
        tr.Qrels.of([qrels[0], ScoredDoc("q", "d", 1)])


@given(st.dictionaries(st.integers(0, 9), st.floats(-9, 9), min_size=1), st.integers(0, 2))
def test_pairs_and_records_for_each_query(listed: dict[int, float], form: int) -> None:
    """By query, and without queries, whose ints are ids of entities."""
    pairs: list[Any] = list(listed.items())
    if form == 1:
        pairs = [list(pair) for pair in pairs]
    if form == 2:
        pairs = [{"corpus_id": name, "score": score} for name, score in pairs]
    assert tr.NamedLists.of({"q": pairs})["q"] == listed
    (right, *_) = listed
    task = tr.retrieval.Task({0: [right]}, entities=10)
    expected = task.evaluate_lists({0: listed}).ranks
    assert task.evaluate_lists({0: pairs}).ranks == expected
    assert task.evaluate_lists([pairs]).ranks == expected


def test_pairs_are_in_all_lists_or_in_none() -> None:
    task = tr.retrieval.Task({0: [1], 1: [2]}, entities=3)
    assert task.evaluate_lists([[(1, 0.5)], []])["mrr"] == 0.5
    with pytest.raises(tr.InputTypeError, match=r"^ids: expected pairs .* in list 1"):
        task.evaluate_lists([[(1, 0.5)], [2]])
    with pytest.raises(tr.InputTypeError, match=r"^scores: expected None"):
        task.evaluate_lists([[(1, 0.5)], [(2, 0.5)]], [[1.0], [2.0]])
    with pytest.raises(tr.InputValueError, match="'q'"):
        tr.NamedLists.of({"q": [("a", "high")]})


def test_equal_repeats_count_once() -> None:
    rows = [*ENTRIES, ENTRIES[0]]
    frame = records(columns_of(rows, ["qid", "docno", "score"]))
    assert len(tr.NamedLists.of(frame).ids) == 3
    rows[-1] = ("q2", "d3", 0.75)
    frame = records(columns_of(rows, ["qid", "docno", "score"]))
    with pytest.raises(tr.InputValueError, match=r"'q2' has 'd3' twice, with 0.5 and 0.75"):
        tr.NamedLists.of(frame)


def test_ids_have_their_one_rule() -> None:
    """Ints stay ints, strs strs, and what pandas makes of missing values is refused."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user_id": [7, 7, 8], "item_id": [30, 10, 20], "score": [1, 0, 1]})
    task = tr.retrieval.Task(frame, entities=[10, 20, 30], queries=[7, 8])
    assert task.evaluate_scores([[0.1, 0.5, 0.2], [0.3, 0.2, 0.1]])["mrr"] == 0.5
    run = pandas.DataFrame({"user_id": [7, 8], "item_id": [30, 20], "score": [0.5, 0.25]})
    assert task.evaluate_lists(run)["mrr"] == 1
    with pytest.raises(TypeError):
        task.evaluate_lists(run.astype({"item_id": str}))
    missing = frame.assign(item_id=[30, None, 20])
    with pytest.raises(TypeError, match="pandas makes floats"):
        tr.retrieval.Task(missing, entities=[10, 20, 30])
    categorical = frame.astype({"item_id": str}).astype({"item_id": "category"})
    named = tr.retrieval.Task(categorical, entities=["10", "20", "30"], queries=[7, 8])
    assert named.evaluate_scores([[0.1, 0.5, 0.2], [0.3, 0.2, 0.1]])["mrr"] == 0.5


@pytest.mark.parametrize(
    "relevance", [[float("inf"), 1, 1], [float("nan"), 1, 1], ["1", "+1", "0"]]
)
def test_relevance_is_a_finite_number(relevance: list[Any]) -> None:
    columns = {"qid": ["q"] * 3, "docno": list("abc"), "label": relevance}
    with pytest.raises((tr.InputValueError, tr.InputTypeError), match="that are finite numbers"):
        tr.Qrels.of(records(columns))
    for numbers in ([1.0, 0.0, -2.0], [1, 0.1, 0.01]):
        columns["label"] = numbers
        assert tr.Qrels.of(records(columns)).relevance.tolist() == numbers


def test_scores_keep_their_dtype() -> None:
    scores = np.array([0.5, 0.25], np.float32)
    lists = tr.NamedLists.of((np.array(["q", "q"]), np.array(["a", "b"]), scores))
    assert lists.scores.dtype == np.float32
    with pytest.raises(tr.InputTypeError, match="numbers as scores"):
        tr.NamedLists.of((np.array(["q"]), np.array(["a"]), np.array(["high"])))


def test_numbered_frames_could_be_columns_or_lists() -> None:
    frame = pytest.importorskip("pandas").DataFrame([[2, 1], [1, 0]])
    task = tr.retrieval.Task({0: [2], 1: [0]}, entities=3)
    refusal(ValueError, r"ids: .*\.to_numpy\(\) for a list of each", task.evaluate_lists, frame)
    assert task.evaluate_lists(frame.to_numpy())["mrr"] == 0.75
    frame[1] = [0, 1]
    columns = {"query": 1, "document": 0}
    assert task.evaluate_lists(frame, columns=columns).per_query("mrr").tolist() == [1, 0]
