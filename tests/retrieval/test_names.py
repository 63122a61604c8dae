"""What names queries and entities of retrieval: one rule, whatever they are handed over in."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.outcomes import quietly
from support.refusals import refusal
from truerank.retrieval import Sampled, Task

KEYS = ("mrr", "map", "ndcg", "auc", "chance.mrr", "index.map")
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
    rows = [
        f"{q} 0 {name} {grade}" for q, judged in qrels.items() for name, grade in judged.items()
    ]
    path.write_text("\n".join(rows))
    return path


def text_of_run(lists: dict[Any, list[Any]], path: Path) -> Path:
    rows = [
        f"{query} Q0 {name} 1 {-place} t"
        for query, listed in lists.items()
        for place, name in enumerate(listed)
    ]
    path.write_text("\n".join(rows))
    return path


def values_of(task: Task, lists: Any) -> Any:
    """Return values and the sizes of candidate sets, up to the rounding of sums in any order."""
    report = quietly(task.evaluate_lists, lists, order="descending")
    sizes = sorted(report.ranks.candidates.tolist())
    return [round(report[key], 9) for key in KEYS], sizes


def are_of_other_queries(lists: Lists, right: set[tuple[int, int]]) -> bool:
    """Whether no list that has entries is of a query that has a right answer."""
    answered = {q for q, _ in right}
    listed = {q for q, each in lists.items() if each}
    return len(listed) > 0 and answered.isdisjoint(listed)


def columns_of(grades: Any) -> tuple[list[Any], ...]:
    """Return the query, the entity and the gain of each judgement."""
    rows = [(q, e, gain) for q, judged in grades.items() for e, gain in judged.items()]
    return tuple(map(list, zip(*rows, strict=True)))


def right_pairs(grades: Grades) -> set[tuple[int, int]]:
    """Return the queries and entities that have a gain."""
    return {(q, e) for q, judged in grades.items() for e, gain in judged.items() if gain}


def lists_in(form: str, lists: Any, folder: Path) -> Any:
    """Return lists as a task takes them: a file, what was read of one, or a dictionary."""
    if form == "run":
        return text_of_run(lists, folder / "run")
    if form == "read":
        return tr.read_run(text_of_run(lists, folder / "run"))
    return lists


@given(problems(), st.sampled_from(["dict", "run", "read", "columns"]), st.booleans())
def test_every_way_to_name_things_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    problem: tuple[Grades, Lists, Grades],
    form: str,
    in_text: bool,
) -> None:
    """Labels that are str or int, positions, and names without an order of entities."""
    qrels, lists, known = problem
    folder = tmp_path_factory.getbasetemp()
    options: dict[str, Any] = {"leaks": "drop"}

    def task_of(query: Any, entity: Any, entities: Any, queries: Any) -> tuple[Task, Any]:
        of_qrels: Any = renamed(qrels, query, entity)
        of_lists: Any = renamed(lists, query, entity)
        if in_text:
            of_qrels = text_of_qrels(of_qrels, folder / "qrels")
        elif form == "columns":
            of_qrels = columns_of(of_qrels)
        given_known = {"train": renamed(known, query, entity)}
        facts = {"entities": entities, "queries": queries, "known": given_known}
        facts["candidates"] = "all"
        return quietly(Task, of_qrels, **facts, **options), lists_in(form, of_lists, folder)

    known_pairs = {(q, e) for q, judged in known.items() for e in judged}
    if right_pairs(qrels) <= known_pairs:
        return
    asked = {q for q, judged in qrels.items() if judged or not (in_text or form == "columns")}
    if known_pairs and asked.isdisjoint(q for q, _ in known_pairs):
        return  # which is refused where queries have names
    if are_of_other_queries(lists, right_pairs(qrels) - known_pairs):  # Leaks are dropped.
        return  # which is refused
    words = [f"d{i}" for i in range(8)]
    queries = [f"q{i}" for i in range(4)]
    named = words.__getitem__
    of_str = values_of(*task_of(queries.__getitem__, named, words, queries))
    assert values_of(*task_of(queries.__getitem__, named, 8, None)) == of_str
    assert values_of(*task_of(str, str, 8, list("0123"))) == of_str
    assert values_of(*task_of(str, str, list("01234567"), None)) == of_str
    lists_are_text = form in ("run", "read")
    ints = [9, 7, 5, 3, 1, -1, -3, -5]
    ids = [30, 20, 10, 0]
    if not in_text and not lists_are_text:
        assert values_of(*task_of(int, int, 8, None)) == of_str
    assert values_of(*task_of(ids.__getitem__, ints.__getitem__, ints, ids)) == of_str


@pytest.mark.python_only
def test_a_perfect_recommender_is_perfect_or_refused() -> None:
    items = ["1", "2", "3", "4", "5"]
    test = {1: [2], 2: [3], 3: [4]}
    lists = {1: [2, 5, 1], 2: [3, 1, 2], 3: [4, 2, 1]}
    words = r"qrels: .* as '1' .*give str\(\.\.\.\) for labels, or entities=5 .*got 2 in column 1"
    refusal(TypeError, words, Task, test, entities=items)
    assert Task(test, entities=[1, 2, 3, 4, 5]).evaluate_lists(lists)["mrr"] == 1
    named = {str(user): list(map(str, listed)) for user, listed in lists.items()}
    task = Task({user: listed[:1] for user, listed in named.items()}, entities=items)
    assert task.evaluate_lists(named)["mrr"] == 1
    refusal(TypeError, r"ids: .*queries, as '1' .*str\(\.\.\.\)", task.evaluate_lists, lists)
    for_users = {user: lists[int(user)] for user in named}
    refusal(TypeError, r"ids: .*entities, as '1' .*str\(\.\.\.\)", task.evaluate_lists, for_users)


@pytest.mark.python_only
def test_ints_are_positions_beside_labels_that_are_no_numbers() -> None:
    task = Task({"u": ["b"]}, entities=["a", "b", "c"])
    assert task.evaluate_lists({"u": [0, 1]})["mrr"] == 0.5
    assert task.evaluate_lists({0: [0, 1]})["mrr"] == 0.5
    named = Task({"u": ["b"], "v": ["a"]}, entities=["a", "b", "c"])
    words = "ids: expected labels of queries, as 'u', whose order nobody gave, got 0"
    refusal(TypeError, words, named.evaluate_lists, {0: ["b"], 1: ["a"]})
    ordered = Task({"u": ["b"], "v": ["a"]}, entities=["a", "b", "c"], queries=["v", "u"])
    assert ordered.evaluate_lists({1: ["b"], 0: ["a"]})["mrr"] == 1
    assert ordered.evaluate_lists(tr.TopK([[0], [1]], None))["mrr"] == 1
    of_ints = Task({1: [20]}, entities=[10, 20, 30], queries=[1])
    assert of_ints.evaluate_lists({1: [10, 20]})["mrr"] == 0.5
    assert of_ints.evaluate_lists({1: {10: 0.5, 20: 0.5}})["mrr"] == 0.75
    assert of_ints.evaluate_lists({1: np.array([10, 20])})["mrr"] == 0.5
    assert of_ints.evaluate_lists(tr.TopK(np.array([[0, 1]]), None))["mrr"] == 0.5
    assert of_ints.evaluate_lists(tr.TopK([[0, 1]], [[0.5, 0.5]]))["mrr"] == 0.75
    assert of_ints.evaluate_lists(tr.TopK(np.array([[0, 1, -1]]), None))["mrr"] == 0.5
    words = "ids: 1 at position 0 is none of the 3 entities, as 10"
    refusal(ValueError, words, of_ints.evaluate_lists, {1: [1]})


# -- names and a number ----------------------------------------------------------------------------


@pytest.mark.python_only
def test_names_beside_a_number_have_no_columns() -> None:
    task = Task(
        {"u": ["7"]}, entities=100, known={"train": {"u": ["9"]}, "pool": {"v": ["7", "8"]}}
    )
    found = task.evaluate_lists({"u": ["9", "1", "7"]})
    assert (task.entities, found["mrr"], found.candidates.tolist()) == (None, 0.5, [99])
    assert found.protocol.candidates is None  # nobody said that lists order all of them
    assert found.ranks.targets is not None
    assert found.ranks.targets.values.tolist() == ["7"]
    words = "entities=100 beside names in qrels says nothing of columns"
    top = tr.TopK(np.array([[0]]), np.array([[1.0]]))
    for argument, call, given_value in [
        ("scores", task.evaluate_scores, np.ones((1, 100))),
        ("scorer", task.evaluate, lambda _: np.ones((1, 100))),
        ("ids", task.evaluate_lists, top),
    ]:
        refusal(ValueError, f"^{argument}: {words}", call, given_value)
    vectors = np.ones((100, 2))
    refusal(ValueError, f"^queries: {words}", task.evaluate_embeddings, vectors[:1], vectors)
    words = "ids: expected names that are str, as qrels have .* got 7 at position 0"
    refusal(TypeError, words, task.evaluate_lists, {"u": [7]})
    assert task.evaluate_lists({"u": np.array(["1", "7"])})["mrr"] == 0.5


@pytest.mark.python_only
def test_names_of_documents_that_are_written_otherwise_warn() -> None:
    """Not an error: a very bad model lists no right answer either."""
    task = Task({"u": ["D7"], "v": ["D8"]}, entities=100)
    words = "ids: no right answer is in any list: right answers are 'D7', .* lists have 'd7'"
    with pytest.warns(UserWarning, match=words):
        assert task.evaluate_lists({"u": ["d7"], "v": ["d8"]})["mrr"] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task.evaluate_lists({"u": ["D8"], "v": []})
        task.evaluate_lists({"u": [], "v": []})
        Task({"u": ["a"]}, entities=["a", "b"]).evaluate_lists({"u": ["b"]})


@pytest.mark.python_only
def test_names_and_ints_in_one_task_and_too_many_names_are_refused(tmp_path: Path) -> None:
    words = "expected names that are str, as qrels has .* got 3 in column 1 of row 0"
    refusal(TypeError, f"known: {words}", Task, {"u": ["7"]}, entities=9, known={"u": [3]})
    of_ints = Task({"u": [7]}, entities=9)
    words = "ids: expected ids of entities from 0 to 8, each an int, .* got '7'"
    refusal(TypeError, words, of_ints.evaluate_lists, {"u": ["7"]})
    run = text_of_run({"u": [7]}, tmp_path / "run")
    words = r"ids: .* no names in text .*entities=range\(9\)"
    refusal(TypeError, words, of_ints.evaluate_lists, run)
    assert Task({"u": [7]}, entities=range(9)).evaluate_lists(run)["mrr"] == 1
    task = Task({"u": ["7"]}, entities=3)
    words = "entities: expected at least 4, as so many names occur, got 3"
    refusal(ValueError, words, task.evaluate_lists, {"u": ["1", "2", "3"]})
    assert quietly(task.evaluate_lists, {"u": ["1", "2"]})["mrr"] == 0
    refusal(ValueError, words, Task, {"u": list("abcd")}, entities=3)
    words = "candidates: expected all, or a known split, .* got a"
    for candidates in (["7"], Sampled(1)):
        refusal(ValueError, words, Task, {"u": ["7"]}, entities=3, candidates=candidates)


# -- names of lists and judgements -----------------------------------------------------------------


@pytest.mark.python_only
def test_names_that_are_ints_are_written_in_digits(tmp_path: Path) -> None:
    tr.write_run(tmp_path / "run", {7: [12, 3]})
    assert dict(tr.read_run(tmp_path / "run")) == {"7": {"12": 2, "3": 1}}
    tr.write_run(tmp_path / "run", tr.TopK([[1, 0]], None), queries=[4], entities=[30, 40])
    assert dict(tr.read_run(tmp_path / "run")) == {"4": {"40": 2, "30": 1}}


# -- what is left over -----------------------------------------------------------------------------


@given(st.sets(st.integers(0, 9), min_size=1), st.sets(st.integers(0, 12)))
def test_queries_without_lists_warn_and_unused_lists_are_found(
    asked: set[int], listed: set[int]
) -> None:
    qrels = {f"q{i}": {"a": 1} for i in sorted(asked)}
    lists = {f"q{i}": ["a"] for i in sorted(listed)}
    missing = sorted(asked - listed)
    unused = sorted(listed - asked)
    if listed and not asked & listed:
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        findings = {f.name: f for f in Task(qrels, entities=9).evaluate_lists(lists).audit()}
    texts = [str(each.message) for each in caught]
    assert len(texts) == (len(missing) > 0)
    if missing:
        number = f"{len(missing)} of {len(asked)} queries with right answers have no list"
        first = ", ".join(f"'q{i}'" for i in missing[:3])
        assert f"{number} ({first}" in texts[0]
    expected = {"missing lists": len(missing), "unused lists": len(unused)}
    found = {name: findings[name].count for name in expected if name in findings}
    assert found == {name: n for name, n in expected.items() if n}


@pytest.mark.python_only
@pytest.mark.parametrize("name", ["q3 ", "Q3", "\tq3"])
def test_names_that_look_alike_are_named(name: str) -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(5)}
    lists = {f"q{i}": ["a"] for i in range(5) if i != 3} | {name: ["a"]}
    task = Task(qrels, entities=["a", "b"])
    with pytest.warns(
        UserWarning, match="1 of 5 .*'q3'.* differ only in blanks or case: '.*' for 'q3'"
    ):
        found = task.evaluate_lists(lists)
    assert found["mrr"] == 0.8
    assert [finding.name for finding in found.audit()][-2:] == ["missing lists", "unused lists"]
    assert repr(name) in found.audit("unused lists")[0].message
