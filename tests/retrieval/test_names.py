"""What names queries and entities of retrieval, in whatever form; and whose a row is."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import truerank as tr
from support.outcomes import quietly
from support.refusals import refusal
from truerank.retrieval import Task

KEYS = ("mrr", "map", "ndcg", "auc")
Grades = dict[int, dict[int, int]]
Lists = dict[int, list[int]]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Grades, Lists, Grades]:
    """Draw grades, lists and known answers of queries from 0 to 3 and entities from 0 to 7."""
    grades = st.dictionaries(st.integers(0, 7), st.integers(0, 2), max_size=4)
    qrels = draw(st.dictionaries(st.integers(0, 3), grades, min_size=1))
    qrels[next(iter(qrels))] |= {draw(st.integers(0, 7)): 1}
    listed = st.lists(st.integers(0, 7), unique=True, max_size=5)
    lists = {query: draw(listed) for query in qrels}
    known = draw(st.dictionaries(st.integers(0, 3), grades, max_size=2))
    return qrels, lists, known


def renamed(by_query: dict[int, Any], query: Any, entity: Any) -> dict[Any, Any]:
    """Name the queries and the entities of grades or of lists by functions."""
    found: dict[Any, Any] = {}
    for key, value in by_query.items():
        named = [entity(name) for name in value]
        found[query(key)] = named
        if isinstance(value, dict):
            found[query(key)] = dict(zip(named, value.values(), strict=True))
    return found


def text_of_qrels(qrels: dict[Any, dict[Any, int]], path: Path) -> Path:
    rows = [f"{q} 0 {name} {grade}" for q in qrels for name, grade in qrels[q].items()]
    path.write_text("\n".join(rows))
    return path


def text_of_run(lists: dict[Any, list[Any]], path: Path) -> Path:
    rows = [f"{q} Q0 {name} 1 {-i} t" for q in lists for i, name in enumerate(lists[q])]
    path.write_text("\n".join(rows))
    return path


def values_of(task: Task, lists: Any) -> Any:
    """Return values and the sizes of candidate sets, up to the rounding of sums in any order."""
    report = quietly(task.evaluate_lists, lists, order="descending")
    sizes = sorted(report.ranks.candidates.tolist())
    return [round(report[key], 9) for key in KEYS], sizes


@given(problems(), st.booleans(), st.booleans())
def test_every_way_to_name_things_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    problem: tuple[Grades, Lists, Grades],
    qrels_in_text: bool,
    lists_in_text: bool,
) -> None:
    """Labels that are str or int, positions, and names without an order of entities."""
    qrels, lists, known = problem
    folder = tmp_path_factory.getbasetemp()

    def values(query: Any, entity: Any, entities: Any, queries: Any) -> Any:
        of_qrels: Any = renamed(qrels, query, entity)
        of_lists: Any = renamed(lists, query, entity)
        if qrels_in_text:
            of_qrels = text_of_qrels(of_qrels, folder / "qrels")
        if lists_in_text:
            of_lists = text_of_run(of_lists, folder / "run")
        options: dict[str, Any] = {"entities": entities, "queries": queries}
        options |= {"known": {"train": renamed(known, query, entity)}, "candidates": "all"}
        task = quietly(Task, of_qrels, leaks="drop", **options)
        return values_of(task, of_lists)

    words = [f"d{i}" for i in range(8)].__getitem__
    queries = [f"q{i}" for i in range(4)]
    try:
        expected = values(queries.__getitem__, words, list(map(words, range(8))), queries)
    except tr.InputError:
        return  # Nothing is right that is not known, or nothing that is known or listed meets it.
    ints = [9, 7, 5, 3, 1, -1, -3, -5]
    ids = [30, 20, 10, 0]
    ways: list[tuple[Any, Any, Any, Any]] = [
        (queries.__getitem__, words, 8, None),
        (str, str, 8, list("0123")),
        (str, str, list("01234567"), None),
        (ids.__getitem__, ints.__getitem__, ints, ids),
    ]
    if not qrels_in_text and not lists_in_text:
        ways += [(int, int, 8, None), (int, int, list(map(words, range(8))), queries)]
    for way in ways:
        assert values(*way) == expected


@pytest.mark.python_only
def test_ints_are_positions_beside_labels_that_are_no_numbers() -> None:
    of_ints = Task({1: [20]}, entities=[10, 20, 30], queries=[1])
    two = {"u": ["b"], "v": ["a"]}
    ordered = Task(two, entities=["a", "b", "c"], queries=["v", "u"])
    cases: list[tuple[Task, Any, float]] = [
        (ordered, {1: ["b"], 0: ["a"]}, 1),
        (ordered, tr.TopK([[0], [1]], None), 1),
        (of_ints, {1: np.array([10, 20])}, 0.5),
        (of_ints, tr.TopK(np.array([[0, 1, -1]]), None), 0.5),
        (Task({0: [1]}, entities=[1, 2, 0]), tr.TopK(np.array([[0, 1, -1]]), None), 1),
        (Task({"1": ["2"]}, entities=["1", "2", "3"]), {"1": ["1", "2"]}, 0.5),
        (Task({"u": ["7"]}, entities=9), {"u": np.array(["1", "7"])}, 0.5),
    ]
    for task, lists, mrr in cases:
        assert task.evaluate_lists(lists)["mrr"] == mrr


@pytest.mark.python_only
def test_names_beside_a_number() -> None:
    """They are as many as the number says, in no order of columns."""
    known = {"train": {"u": ["9"]}, "pool": {"v": ["7", "8"]}}
    task = Task({"u": ["7"]}, entities=100, known=known)
    found = task.evaluate_lists({"u": ["9", "1", "7"]})
    assert (task.entities, found["mrr"], found.candidates.tolist()) == (None, 0.5, [99])
    assert found.protocol.candidates is None  # nobody said that lists order all of them
    assert found.ranks.targets.values.tolist() == ["7"]  # type: ignore[union-attr]


@pytest.mark.python_only
def test_names_that_are_ints_are_written_in_digits(tmp_path: Path) -> None:
    run = text_of_run({"u": [7]}, tmp_path / "run")
    assert Task({"u": [7]}, entities=range(9)).evaluate_lists(run)["mrr"] == 1
    tr.write_run(run, {7: [12, 3]})
    assert dict(tr.read_run(run)) == {"7": {"12": 2, "3": 1}}
    tr.write_run(run, tr.TopK([[1, 0]], None), queries=[4], entities=[30, 40])
    assert dict(tr.read_run(run)) == {"4": {"40": 2, "30": 1}}


# -- whose a row is -------------------------------------------------------------------------------

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
    qrels = {large: [1], large + 1: [2]}
    asked: list[int] = []

    def model(queries: Any) -> Any:
        asked.extend(queries[:, 0].tolist())
        return BOB_AND_ANN[: len(queries)]

    tracemalloc.start()
    known = {"train": {large: [0], 4: [1], large + 7: [2]}}
    task = Task(qrels, entities=WIDE, known=known)
    report = task.evaluate_lists({large: [2, 0, 1], large + 1: [2, 1], 5: [0]})
    assert report["mrr"] == 0.75
    assert report.audit("unused lists")[0].count == 1
    assert task.evaluate(model)["mrr"] == 1
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    assert asked == list(report.queries) == [large, large + 1]
    among = Task(qrels, entities=WIDE, candidates={large: [0, 1], large + 1: [1, 2]})
    assert among.evaluate(model).candidates.tolist() == [2, 2]
    parts = [Task({key: [1], key + 1: [2]}, entities=WIDE)[:1] for key in (-7, 2**62)]
    ranks = [part.evaluate(model).ranks for part in parts]
    assert tr.concatenate(ranks, repeats="refuse").queries.values.tolist() == [-7, 2**62]
