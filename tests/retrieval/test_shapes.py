"""One shape has one meaning: what container has the ids makes no difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import truerank as tr
from support.outcomes import quietly
from support.query_reports import query_report as report
from support.refusals import refusal
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only

PERMUTED = Task({0: [1]}, entities=[1, 2, 0])


# -- what each shape is ----------------------------------------------------------------------------


def test_pads_are_of_the_best_alone() -> None:
    top = tr.TopK(np.array([[0, 1, -1]], np.int32), None)
    assert PERMUTED.evaluate_lists(top)["mrr"] == 1
    words = "ids: -1 at position 2 is none of the 3 entities, as 1"
    refusal(ValueError, words, PERMUTED.evaluate_lists, {0: np.array([1, 2, -1])})
    words = "qrels: .* got -1 in column 1 of row 1"
    refusal(ValueError, words, Task, {0: [1, -1]}, entities=3)


def test_splits_and_items_of_queries_are_told_apart_or_refused() -> None:
    words = r'known: expected splits by their names, known=\{"train": \{query: \[items\]\}'
    refusal(TypeError, words, Task, {"q": ["a"]}, entities=9, known={"q": ["b"], "t": {"q": ["c"]}})
    for known, name in (({"q": ["b"]}, "known_0"), ({"q": {"q": ["b"]}}, "q")):
        assert Task({"q": ["a"]}, entities=9, known=known).protocol.filter == (name,)


# -- matrices, and queries without an answer -------------------------------------------------------

MATRIX = np.array([[0, 1], [0, 0], [1, 0]])


def test_queries_in_columns_count_those_without_an_answer() -> None:
    scores = np.array([[0.0, 1], [0, 1], [1, 0]])
    matrix = sparse.csr_array(MATRIX)
    for task in (Task(np.nonzero(MATRIX), entities=2, queries=3), Task(matrix, entities=2)):
        assert task.without_answers == 1
        ranks = task.evaluate_scores(scores).ranks
        assert report(ranks, answerless="zero")["mrr"] == pytest.approx(2 / 3)
    words = r"a row for each query \(queries= says how many there are\)"
    refusal(ValueError, words, task.evaluate_scores, np.zeros((5, 2)))
    assert Task(np.nonzero(MATRIX), entities=2).without_answers == 0
    assert Task(np.nonzero(MATRIX), entities=2, queries=5).without_answers == 3
    labels = ["u", "v", "w"]
    assert Task((["u"], [0]), entities=2, queries=labels).without_answers == 2
    assert Task(matrix, entities=["a", "b"], queries=labels).without_answers == 1


def test_a_matrix_has_positions_and_a_row_for_each_query() -> None:
    matrix = sparse.csr_array(MATRIX)
    task = Task(matrix, entities=[7, 0], queries=[9, 0, 1])
    assert task.answers.targets.tolist() == [1, 0]
    assert task.answers.labels["targets"].values.tolist() == [0, 7]
    words = r"expected a matrix with a row for each of the 2 queries, got 3 rows \(queries=3"
    refusal(ValueError, f"qrels: {words}", Task, matrix, entities=2, queries=2)
    known = Task({2: [1], 7: [1]}, entities=2, known=matrix)
    assert known.answers.filter[1].tolist() == [0]
    words = "expected a matrix with a column for each of the 2 entities, got 3 columns"
    refusal(ValueError, words, Task, sparse.csr_array(MATRIX.T), entities=2)
    refusal(
        TypeError,
        "names that are str",
        Task,
        {"q": ["a"]},
        entities=2,
        queries=["q"],
        known=matrix[:1],
    )


def test_explicit_zeros_are_grades_of_qrels_and_say_nothing_in_known() -> None:
    stored = sparse.csr_array((np.array([1, 0, 2.5]), np.array([0, 1, 2]), np.array([0, 3])))
    task = Task(stored, entities=3)
    assert np.asarray(task.gains).tolist() == [1, 2.5]
    assert len(task.answers) == 2
    known = Task({0: [3]}, entities=4, known=stored)
    assert known.answers.filter[1].tolist() == [0, 1, 2]


# -- names that never meet -------------------------------------------------------------------------


def test_known_answers_of_other_queries_are_counted() -> None:
    known = {"train": {"u": ["b", "c"], "v": ["b"]}, "more": {"v": ["a"]}}
    task = Task({"u": ["a"]}, entities=list("abc"), known=known)
    assert tuple(map(str, task.audit)) == (
        "train: 2 of 3 rows have a query of the task",
        "more: 0 of 1 rows have a query of the task",
    )
    task = Task({"u": ["a"]}, entities=9, known={"U": ["b"]})
    assert tuple(map(str, task.audit)) == ("known_0: 0 of 1 rows have a query of the task",)


def test_queries_that_are_documents() -> None:
    labels = ["a", "b"]
    for queries in (None, ["a"]):
        task = Task({"a": ["b"]}, entities=labels, queries=queries, exclude="self")
        assert task.answers.filter[1].tolist() == [0]
    assert Task({0: ["b"]}, entities=labels, queries=["a"], exclude="self").answers.filter[1] == [0]
    words = "exclude: .*queries= and entities= give them names"
    refusal(ValueError, words, Task, {0: [1]}, entities=labels, exclude="self")
    task = Task({"a": ["b"], "z": ["b"]}, entities=labels, exclude="self")
    assert tuple(map(str, task.audit)) == ("self: 1 of 2 rows have a query of the task",)
    words = "exclude: no query is an entity of the task"
    refusal(ValueError, words, Task, {"z": ["b"]}, entities=labels, exclude="self")


# -- any container of the same ids -----------------------------------------------------------------


def objects(column: list[Any]) -> Any:
    """Return an array of objects."""
    return np.array([*column, None], dtype=object)[:-1]


def of_library(library: str, make: Callable[[Any, list[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda column: make(pytest.importorskip(library), column)


COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "int32 or str_": lambda column: _array(column, np.int32),
    "int64 or str_": lambda column: _array(column, np.int64),
    "object": objects,
    "tensor": of_library("torch", lambda torch, column: torch.tensor(column)),
    "Series": of_library(
        "pandas", lambda pandas, column: pandas.Series(column, range(5, 5 + len(column)))
    ),
    "categorical": of_library(
        "pandas", lambda pandas, column: pandas.Series(column, dtype="category")
    ),
    "polars": of_library("polars", lambda polars, column: polars.Series(column)),
}


def _array(column: list[Any], dtype: Any) -> Any:
    if column and isinstance(column[0], str):
        dtype = np.str_
    return np.array(column, dtype)


# What makes a table of two columns.
TABLES: dict[str, Callable[[Any, Any], Any]] = {
    "columns": lambda queries, items: (queries, items),
    "frame": lambda queries, items: pytest.importorskip("pandas").DataFrame(
        {"item": list(items), "user": list(queries)}
    ),
    "Arrow": lambda queries, items: pytest.importorskip("pyarrow").table(
        {"item": list(items), "user": list(queries)}
    ),
    "polars": lambda queries, items: pytest.importorskip("polars").DataFrame(
        {"item": list(items), "user": list(queries)}
    ),
}
VOCABULARIES: dict[str, tuple[Any, Any]] = {
    "str": (["u", "v", "w"], ["d", "b", "c", "a"]),
    "int": ([30, 10, 20], [3, 1, 2, 0]),
    "count": (3, 4),
}
PAIRS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6, unique=True
)


def named(order: Any, place: int) -> Any:
    """Return what names a position."""
    return place if isinstance(order, int) else order[place]


def outcome(call: Callable[[], Any]) -> Any:
    """Return a result, or None for what is refused."""
    try:
        return quietly(call)
    except tr.InputError:
        return None


@given(PAIRS, PAIRS, st.sampled_from(list(VOCABULARIES)), st.sampled_from(list(COLUMNS)), st.data())
def test_any_container_of_the_same_ids_gives_the_same_or_is_refused(
    right: list[tuple[int, int]],
    known: list[tuple[int, int]],
    vocabulary: str,
    column: str,
    data: st.DataObject,
) -> None:
    """Of qrels, of known answers and of lists."""
    queries, entities = VOCABULARIES[vocabulary]
    table = data.draw(st.sampled_from(list(TABLES)))
    if column == "tensor" and (vocabulary == "str" or table == "Arrow"):
        return  # A tensor holds no str, and pyarrow takes no tensors.
    scores = np.arange(12.0).reshape(3, 4) % 5

    def in_container(pairs: list[tuple[int, int]]) -> Any:
        columns = [
            COLUMNS[column]([named(order, place) for place in places])
            for order, places in zip((queries, entities), zip(*pairs, strict=True), strict=True)
        ]
        return TABLES[table](*columns)

    def task_of(qrels: Any, others: Any) -> Task:
        return Task(qrels, entities=entities, queries=queries, known={"train": others})

    plain = []
    by_query: dict[Any, list[Any]] = {}
    for pairs in (right, known):
        places = zip(*pairs, strict=True)
        asked, items = (
            [named(order, place) for place in each]
            for order, each in zip((queries, entities), places, strict=True)
        )
        plain.append((asked, items))
    for query, item in zip(*plain[1], strict=True):
        by_query.setdefault(query, []).append(item)
    expected = quietly(task_of, *plain)
    of_scores = expected.evaluate_scores(scores).ranks
    for facts in ((in_container(right), plain[1]), (plain[0], in_container(known))):
        found = outcome(lambda facts=facts: task_of(*facts).evaluate_scores(scores).ranks)
        assert found is None or found == of_scores
        assert found is not None or column == "tensor"
    if {query for query, _ in right}.isdisjoint(query for query, _ in known):
        refusal(ValueError, "no query in common", expected.evaluate_lists, by_query)
        return
    of_lists = quietly(expected.evaluate_lists, by_query).ranks
    if table != "columns":  # which are no lists
        listed = outcome(lambda: expected.evaluate_lists(in_container(known)).ranks)
        assert listed in (None, of_lists)
    mapped = {query: COLUMNS[column](row) for query, row in by_query.items()}
    assert quietly(expected.evaluate_lists, mapped).ranks == of_lists
    assert quietly(task_of, plain[0], mapped).evaluate_scores(scores).ranks == of_scores
