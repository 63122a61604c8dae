"""Judged documents that the corpus lacks; queries that are their own answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.problems import as_dtype
from support.refusals import proposed_columns, refusal_message
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only


def frame(rows: list[list[Any]], names: str) -> Any:
    return pd.DataFrame(rows, columns=names.split())


# -- judged documents that the corpus lacks --------------------------------------------------------


JUDGED = frame(
    [["q1", "a", 1], ["q1", "x", 0], ["q2", "y", 2], ["q3", "z", 1], ["q4", "w", 0]],
    "query document relevance",
)


def test_documents_that_the_corpus_lacks_are_counted() -> None:
    corpus = ["a", "b"]
    message = refusal_message(Task, JUDGED, entities=corpus)
    assert message == (
        "qrels: expected labels of entities, as 'a', or ids from 0 to 1, got 'y' in column 1 of "
        "row 2; 2 of 5 rows have others"
    )
    lists = {"q1": ["b", "a"], "q2": ["a"], "q3": ["b"]}
    rest = Task(JUDGED[JUDGED.document.isin(corpus)], entities=corpus)
    assert rest.evaluate_lists({"q1": ["b", "a"]})["mrr"] == 0.5
    assert Task(JUDGED, entities=9).evaluate_lists(lists)["mrr"] == 0.5 / 3
    known = {"train": {"q1": ["y"]}}
    message = refusal_message(Task, {"q1": ["a"]}, entities=corpus, known=known)
    assert message.endswith("; 1 of 1 rows have others")


@pytest.mark.parametrize("entities", [["a", "b"], {"b": 1, "a": 0}])
def test_rows_of_grade_0_may_name_any_document(entities: Any) -> None:
    qrels = JUDGED.assign(relevance=[1, 0, 0, -1, 0])
    task = Task(qrels, entities=entities)
    twin = Task(JUDGED.assign(document="a", relevance=[1, 1, 0, 0, 0]), entities=entities)
    assert task.evaluate_lists({"q1": ["b", "a"]}).ranks == (
        twin.evaluate_lists({"q1": ["b", "a"]}).ranks
    )
    assert (task.without_answers, len(task.answers)) == (3, 1)
    known = {"train": {"q1": {"x": 0, "b": 0}}}
    task = Task({"q1": ["a"]}, entities=entities, known=known)
    assert task.evaluate_lists({"q1": ["b", "a"]})["mrr"] == 1.0


WHAT_IT_IS = "columns= says what it is"


@pytest.mark.parametrize("names", ["h rel tail score", "h rel tail rank"])
def test_numbers_of_lists_by_key_are_named_or_refused(names: str) -> None:
    task = tr.link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b", "x"], sides=["tail"])
    rows: list[list[Any]] = [["a", "r", "x", 2], ["a", "r", "b", 1]]
    lists = frame(rows, names.replace("h", "source", 1))
    order = "ascending" if "score" in names else "descending"
    message = refusal_message(task.evaluate_lists, tail=lists)
    assert list(proposed_columns(message)) == ["head", "relation", "tail"]
    columns = {"head": "source", "relation": "rel", "tail": "tail"}
    message = refusal_message(task.evaluate_lists, tail=lists, columns=columns)
    number = names.split()[-1]
    assert message.endswith(f"without column '{number}', got one that is left out; {WHAT_IT_IS}")
    named = {**columns, number: number}
    assert task.evaluate_lists(tail=lists, columns=named, order=order)["mrr"] == 1.0
    in_order = lists.iloc[:, :3]
    assert task.evaluate_lists(tail=in_order, columns=columns)["mrr"] == 0.5


def test_numbers_of_lists_in_alignment_are_named_or_refused() -> None:
    task = tr.alignment.Task([("a", "A")], left=["a"], right=["A", "B"])
    lists = frame([["a", "B", 0.1], ["a", "A", 0.9]], "source right score")
    columns = {"left": "source", "right": "right"}
    of_sides = {"left_to_right": lists, "right_to_left": lists[1:]}
    message = refusal_message(task.evaluate_lists, **of_sides, columns=columns)
    assert message.endswith(f"without column 'score', got one that is left out; {WHAT_IT_IS}")
    named = {**columns, "score": "score"}
    assert task.evaluate_lists(**of_sides, columns=named)["mrr"] == 1.0


def test_scores_of_facts_may_be_left_out() -> None:
    """A confidence is no part of a fact."""
    facts = frame([["a", "r", "b", 0.9], ["b", "r", "a", 0.5]], "source r t score")
    columns = {"head": "source", "relation": "r", "tail": "t"}
    task = tr.link_prediction.Task(facts, {}, columns=columns)
    assert any(finding.name == "left out of test" for finding in task.audit)


# -- queries that are their own answers ------------------------------------------------------------


LABELS = np.array([0, 0, 1, 1])
VECTORS = np.array([[2.0, 0], [0, 1], [1.5, 0], [0, 3]])


def test_a_query_is_no_answer_of_itself() -> None:
    same = {i: np.flatnonzero(label == LABELS) for i, label in enumerate(LABELS)}
    others = {i: columns[columns != i] for i, columns in same.items()}
    task = Task(same, entities=4, exclude="self")
    report = task.evaluate_embeddings(VECTORS, VECTORS)
    assert report["success@1"] == 0.0
    assert task.leaked == 0
    assert list(map(str, task.audit)) == ["self: 4 right answers are their queries: left out"]
    twin = Task(others, entities=4, exclude="self")
    assert not twin.audit
    assert report.ranks == twin.evaluate_embeddings(VECTORS, VECTORS).ranks
    assert Task(same, entities=4, exclude="self", leaks="raise").leaked == 0


def test_a_query_that_is_its_only_answer_has_none() -> None:
    qrels = {"a": {"a": 1}, "b": {"b": 2, "c": 1}, "c": {}}
    task = Task(qrels, entities=["a", "b", "c"], exclude="self")
    assert task.without_answers == 2
    assert task.evaluate_lists({"b": ["c"]})["mrr"] == 1.0
    message = refusal_message(Task, {"a": ["a"]}, entities=["a", "b"], exclude="self")
    assert message == "qrels: expected at least one right answer, got none"


def test_leaks_of_other_splits_stay_leaks() -> None:
    qrels = {0: [0, 1], 1: [1, 2]}
    options: dict[str, Any] = {"entities": 3, "known": {"train": {0: [0, 1]}}, "exclude": "self"}
    with pytest.warns(UserWarning, match="1 of 4 right answers are in a known split"):
        task = Task(qrels, **options)
    assert task.leaked == 1
    assert len(task.answers) == 2
    assert len(Task(qrels, leaks="drop", **options).answers) == 1


# -- queries that are candidates of themselves -----------------------------------------------------


def found_self(report: tr.Report) -> list[str]:
    return [finding.message for finding in report.audit("self")]


def neighbours(n: int, size: int = 16) -> tuple[Any, Any]:
    """Draw vectors of classes, and for each the others of its class."""
    rng = np.random.default_rng(0)
    classes = np.arange(n) % 20
    vectors = rng.normal(size=(20, size))[classes] + rng.normal(size=(n, size))
    return vectors, [
        np.flatnonzero((classes == c) & (np.arange(n) != i)) for i, c in enumerate(classes)
    ]


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("names", [None, "d{}"])
def test_vectors_that_are_ranked_against_themselves_are_a_finding(
    similarity: Any, names: str | None
) -> None:
    vectors, answers = neighbours(300)
    labels: Any = list(range(300)) if names is None else [names.format(i) for i in range(300)]
    qrels = {labels[i]: [labels[j] for j in others.tolist()] for i, others in enumerate(answers)}
    options: Any = {"entities": 300} if names is None else {"entities": labels, "queries": labels}
    words = "300 of 300 queries have the vector of one of their candidates"
    task = Task(qrels, **options)
    given = {"similarity": similarity}
    report = task.evaluate_embeddings(vectors, vectors, **given)
    assert found_self(report) == [words]
    left_out = Task(qrels, exclude="self", **options)
    assert found_self(left_out.evaluate_embeddings(vectors, vectors, **given)) == []
    top = tr.topk_embeddings(vectors, vectors, 10, similarity="l2")
    [message] = found_self(task.evaluate_lists(top))
    assert message == "300 of 300 lists that hold their query have it first"
    by_name = {labels[i]: [labels[j] for j in row] for i, row in enumerate(top.ids.tolist())}
    assert found_self(task.evaluate_lists(by_name)) == [message]
    assert found_self(Task(qrels).evaluate_lists(by_name)) == [message]
    assert found_self(left_out.evaluate_lists(by_name)) == []
    scored = {q: {x: float(-i) for i, x in enumerate(row)} for q, row in by_name.items()}
    in_any_order = {q: dict(sorted(row.items(), key=str)) for q, row in scored.items()}
    assert found_self(task.evaluate_lists(in_any_order)) == [message]
    distances = {q: {x: -score for x, score in row.items()} for q, row in in_any_order.items()}
    assert found_self(task.evaluate_lists(distances, order="ascending")) == [message]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "bool"])
def test_queries_in_their_own_gallery_are_a_finding(dtype: str) -> None:
    """Whatever they are called; with themselves among the right answers all stand first."""
    vectors, others = neighbours(300)
    gallery = (vectors * 20).astype(as_dtype(dtype)) if dtype != "bool" else vectors > 0
    some = np.random.default_rng(1).permutation(300)[:100]
    labels = {f"q{i}": np.append(others[i], i) for i in some}
    entities: Any = [f"e{i}" for i in range(300)]
    qrels = {q: [entities[i] for i in ids] for q, ids in labels.items()}
    words = ["100 of 100 queries have the vector of one of their candidates"]
    task = Task(qrels, entities=entities, queries=list(qrels))
    report = task.evaluate_embeddings(gallery[some], gallery, similarity="l2")
    assert found_self(report) == words
    assert report["success@1"] == 1 or dtype == "bool"
    noise = np.random.default_rng(2).normal(size=(100, 16)).astype(np.float32)
    near = task.evaluate_embeddings(gallery[some] + noise, gallery.astype(np.float32))
    assert found_self(near) == []
    assert found_self(task[::4].evaluate_embeddings(gallery[some[::4]], gallery)) == [
        "25 of 25 queries have the vector of one of their candidates"
    ]
    known = {"itself": {q: [entities[int(q[1:])]] for q in qrels}}
    qrels = {q: [entities[i] for i in others[int(q[1:])]] for q in qrels}
    left_out = Task(qrels, entities=entities, queries=list(qrels), known=known)
    found = found_self(left_out.evaluate_embeddings(gallery[some], gallery))
    assert found == [] or dtype == "bool"  # Others have the same 16 bits.
    kept = Task(qrels, entities=entities, queries=list(qrels))
    assert found_self(kept.evaluate_embeddings(gallery[some], gallery)) == words
    half = gallery[some].copy()
    half[:50] = 7
    [message] = found_self(kept.evaluate_embeddings(half, gallery))
    assert message.startswith("50 of 100 queries")


def test_vectors_that_are_no_numbers_are_nobodys() -> None:
    """Nor do zeros of either sign differ."""
    entities = np.array([[np.nan, 1], [np.inf, 1], [0.0, 1], [2, 1]])
    task = Task({0: [3], 1: [3], 2: [3]}, entities=4)
    queries = np.array([[np.nan, 1], [3, 1], [-0.0, 1]])
    report = task.evaluate_embeddings(queries, entities, nan="worst", similarity="l2")
    assert found_self(report) == ["1 of 3 queries have the vector of one of their candidates"]


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("names", [False, True])
def test_a_square_matrix_whose_rows_have_themselves_first_is_a_finding(
    layout: Any, names: bool, tmp_path: Path
) -> None:
    vectors, others = neighbours(300)
    scores = layout(tr.score_embeddings(vectors, vectors, similarity="cosine"))
    entities: Any = [f"e{i}" for i in range(300)] if names else range(300)
    queries: Any = [f"q{i}" for i in range(300)] if names else range(300)
    options: Any = {"entities": list(entities), "queries": list(queries)}

    def task_of(answers: Any, **more: Any) -> Task:
        qrels = {
            query: [entities[i] for i in ids] for query, ids in zip(queries, answers, strict=True)
        }
        return Task(qrels, **options, **more)

    words = "queries that were looked at have the entity of their name, number or row first"
    task = task_of(others)
    report = task.evaluate_scores(scores)
    assert found_self(report) == [f"300 of 300 {words}"]
    np.save(tmp_path / "scores.npy", scores)
    assert found_self(task.evaluate_scores(tmp_path / "scores.npy")) == found_self(report)
    assert found_self(task.evaluate_scores(-scores, order="ascending")) == found_self(report)
    assert found_self(task[1::3].evaluate_scores(scores)) == [f"100 of 100 {words}"]
    labels = [np.append(ids, i) for i, ids in enumerate(others)]
    of_labels = task_of(labels).evaluate_scores(scores)
    assert of_labels["success@1"] == 1
    assert found_self(of_labels) == found_self(report)
    # Of half or more; and the map is what it is without them.
    some = scores.copy()
    some[:100, 299] = 2
    assert found_self(task.evaluate_scores(some)) == [f"200 of 300 {words}"]
    some[:200, 299] = 2
    assert found_self(task.evaluate_scores(some)) == []
    without = scores - 9 * np.eye(300)
    assert found_self(task.evaluate_scores(without)) == []
    assert report["map"] < task.evaluate_scores(without)["map"]
    # The pair of a query is its only right answer; constants and noise say nothing.
    assert found_self(task_of(np.arange(300)[:, None]).evaluate_scores(scores)) == []
    assert found_self(task.evaluate_scores(np.ones((300, 300)))) == []
    assert found_self(task.evaluate_scores(np.random.default_rng(0).random((300, 300)))) == []
    if not names:
        assert found_self(task_of(others, exclude="self").evaluate_scores(scores)) == []


def test_of_many_rows_some_are_read_again() -> None:
    scores = np.eye(2500, dtype=np.float32)
    task = Task({i: [i - 1] for i in range(1, 2500)} | {0: [1]}, entities=2500, queries=2500)
    [message] = found_self(task.evaluate_scores(scores))
    assert message.startswith("834 of 834 queries that were looked at")


def test_equal_numbers_or_names_alone_are_no_finding() -> None:
    """Users and items are both numbered from 0; vectors and lists say that they are others."""
    rng = np.random.default_rng(0)
    qrels = {user: rng.choice(100, 3, replace=False).tolist() for user in range(100)}
    users, items = rng.normal(size=(2, 100, 8))
    for entities in (100, range(100)):
        task = Task(qrels, entities=entities, queries=100)
        assert not found_self(task.evaluate_embeddings(users, items))
        top = tr.topk_embeddings(users, items, 50)
        holding = (top.ids == np.arange(100)[:, None]).any(axis=1)
        assert holding.sum() > 30  # Half of the lists have the item of the user's number.
        assert not found_self(task.evaluate_lists(top))
        assert not found_self(task.evaluate_lists(dict(enumerate(top.ids.tolist()))))
        padded = np.column_stack([top.ids[:, 20:29], np.full(100, -1)])
        assert not found_self(task.evaluate_lists(tr.TopK(padded, None)))
    named = Task({f"u{u}": [f"i{i}" for i in x] for u, x in qrels.items()})
    assert not found_self(named.evaluate_lists({f"u{u}": [f"i{u}"] for u in range(100)}))
    mixed = Task(
        {f"u{u}": x for u, x in qrels.items()}, entities=100, queries=[f"u{u}" for u in qrels]
    )
    assert not found_self(mixed.evaluate_embeddings(users, items))
    assert found_self(mixed.evaluate_embeddings(users, users))  # whatever they are called


def test_half_of_the_lists_that_hold_their_query_make_a_finding() -> None:
    qrels = {q: ["x"] for q in "abcd"}
    for first, lists in ((2, ["ax", "bx", "xc", "xd"]), (1, ["ax", "xb", "x", "x"])):
        runs = {q: list(row) for q, row in zip("abcd", lists, strict=True)}
        [message] = found_self(Task(qrels).evaluate_lists(runs))
        assert message.startswith(f"{first} of {2 * first} lists that hold their query have it fi")
    fewer = {"a": ["a", "x"], "b": ["x", "b"], "c": ["x", "c"], "d": ["x"]}
    assert not found_self(Task(qrels).evaluate_lists(fewer))
