"""Rows and lists say whose they are: by their place, or by keys, in any order."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Task

TRIPLES = [(1, 0, 0), (0, 0, 1), (0, 0, 1)]
NAMED = [("b", "r", "a"), ("a", "r", "b")]


def two(**options: Any) -> Task:
    """Make a task of two queries: (0, 0) has the tail 1, (1, 0) has 0."""
    return Task(TRIPLES[:2], {}, entities=2, sides=["tail"], **options)


FIRST = [(0, 0), (1, 0)]
KEYS: list[Any] = [
    FIRST,
    np.array(FIRST),
    ([0, 1], [0, 0]),
    pd.DataFrame({"relation": [0, 0], "head": [0, 1]}),
    two().tail.queries,
]


@pytest.mark.parametrize("keys", KEYS)
def test_rows_belong_to_keys_in_any_container(keys: Any) -> None:
    scores = np.array([[1.0, 9.0], [9.0, 1.0]])
    task = two()
    assert task.evaluate_scores(scores[::-1])["mrr"] == 1
    assert task.evaluate_scores(scores, row_queries={"tail": keys})["mrr"] == 1
    top = tr.TopK(np.array([[1, 0], [0, 1]]), None)
    assert task.evaluate_lists(top, row_queries={"tail": keys})["mrr"] == 1
    ways = {"entities": np.eye(2), "row_queries": {"tail": keys}}
    assert task.evaluate_embeddings(scores, **ways)["mrr"] == 1


def test_rows_of_other_queries_are_counted_and_not_used() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = Task(NAMED, {}, entities=["a", "b"], relations=["r"], sides=["tail"])
        keys = [("a", "r"), ("c", "r"), ("b", "r")]
        scores = [[1, 9], [7, 7], [9, 1]]
        report = task.evaluate_scores(scores, row_queries={"tail": keys})
        part = task[1:].evaluate_scores(scores, row_queries={"tail": keys})
    assert report["mrr"] == part["mrr"] == 1
    (finding,) = report.audit("unused rows")
    assert (finding.count, finding.message[:5]) == (1, "1 row")


@pytest.mark.parametrize(("time", "other"), [(2014, 2015), ("May", "June")])
def test_keys_have_the_further_columns_behind(time: Any, other: Any) -> None:
    facts = [("a", "r", "b", time), ("a", "r", "a", other)]
    task = Task(facts, {}, keys=(3,), entities=["a", "b"], relations=["r"], sides=["tail"])
    keys = [("a", "r", other), ("a", "r", time)]
    assert task.evaluate_scores([[9, 1], [1, 9]], row_queries={"tail": keys})["mrr"] == 1


PERMUTED = Task([(1, 0, 0), (0, 0, 1)], {}, entities=[1, 0], relations=1, sides=["tail"])
LISTS: list[Any] = [
    {("b", "r"): ["a"], ("a", "r"): ["b", "a"]},
    {("b", "r"): {"a": 0.5}, ("a", "r"): {"a": 0.1, "b": 0.9}},
    pd.DataFrame({"t": ["b", "a", "a"], "h": ["a", "b", "a"], "r": ["r"] * 3}),
    pd.DataFrame(
        {"head": list("aab"), "relation": ["r"] * 3, "tail": list("aba"), "score": [0.1, 0.9, 0.5]}
    ),
    "a\tr\ta\t0.1\nb\tr\ta\t0.5\na\tr\tb\t0.9\n",
    "tail\tscore\thead\trelation\na\t0.1\ta\tr\na\t0.5\tb\tr\nb\t0.9\ta\tr\n",
]


def named(**options: Any) -> Task:
    return Task(NAMED, {}, entities=["a", "b", "c"], relations=["r"], sides=["tail"], **options)


@pytest.mark.parametrize("lists", LISTS)
def test_lists_say_whose_they_are(lists: Any, tmp_path: Path) -> None:
    if isinstance(lists, str):
        (tmp_path / "lists.tsv").write_text(lists)
        lists = tmp_path / "lists.tsv"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = named().evaluate_lists(lists)
        joined = tr.concatenate([named()[i::2].evaluate_lists(lists).ranks for i in (1, 0)])
    assert report["mrr"] == 1
    assert report.ranks.listed.all()
    assert joined.above.tolist() == report.ranks.above.tolist()
    assert not report.audit("unused lists")


def test_heads_given_as_tails_are_no_lists_of_heads() -> None:
    lists = {(0, 0): [1], (1, 0): [0], (2, 0): [2]}
    task = Task([(0, 0, 1), (1, 0, 0), (2, 0, 2)], {}, entities=5, relations=1)
    words = r"^head: 2 of 3 queries with right answers have no list"
    with pytest.warns(UserWarning, match=words):
        assert task.evaluate_lists(lists, head=lists)["tail.mrr"] == 1


def alignment() -> tr.alignment.Task:
    return tr.alignment.Task([("b", "x"), ("a", "y")], left=["a", "b"], right=["x", "y", "z"])


@pytest.mark.parametrize(
    ("right", "left"),
    [
        ({"b": ["x"], "a": ["y", "z"]}, {"y": {"a": 0.5, "b": 0.25}, "x": {"b": 1.0}}),
        (pd.DataFrame({"right": ["y", "x"], "left": ["a", "b"]}), {"x": ["b"], "y": ["a"]}),
        (tr.TopK(np.array([[1, 2], [0, -1]]), None), tr.TopK(np.array([[1], [0], [0]]), None)),
    ],
)
def test_lists_of_an_alignment(right: Any, left: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = alignment().evaluate_lists(right, left)
        part = alignment()[1:].evaluate_lists(right, left)
    assert report["mrr"] == part["mrr"] == 1
    assert report.ranks.listed.all()


ALIGNMENT_REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    ([["x"], ["y"]], {}, TypeError, r"left_to_right: expected \{left: \{right: score\}\}, or "),
    ({"a": ["y"], "b": ["x"]}, None, TypeError, "right_to_left: expected lists for the side"),
    ({"x": ["b"]}, {"x": ["b"], "y": ["a"]}, ValueError, "left_to_right: no query in common"),
    (tr.TopK(np.array([[1]]), None), {}, ValueError, "expected 2 lists, one for each left entity"),
]


@pytest.mark.parametrize(("right", "left", "kind", "words"), ALIGNMENT_REFUSED)
@pytest.mark.filterwarnings("ignore:right_to_left")
def test_lists_of_an_alignment_that_are_refused(
    right: Any, left: Any, kind: Any, words: str
) -> None:
    refusal(kind, words, alignment().evaluate_lists, right, left)


def test_a_part_takes_lists_of_other_parts() -> None:
    lists = {("a", "r"): ["b"]}
    assert len(named()[[]].evaluate_lists(lists).ranks) == 0
    assert len(alignment()[[]].evaluate_lists({"b": ["x"]}, {"x": ["b"]}).ranks) == 0
    with pytest.warns(UserWarning, match="^tail: 1 of 1 queries with right answers have no list"):
        report = named()[:1].evaluate_lists(lists)
    assert not report.audit("unused lists")


LISTS_REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ([["b"], ["a"]], {}, TypeError, r"tail: expected \{\(head, relation\): \{tail: score\}\}, or "),
    ({"a": ["b"]}, {}, TypeError, r"tail: expected .*, got the key 'a'"),
    ({("a", "r", "b"): ["b"]}, {}, TypeError, r"got the key \('a', 'r', 'b'\)"),
    ({("a", "r"): ["b", "b"]}, {}, ValueError, r"the list of \('a', 'r'\) has 'b' twice"),
    ({("c", "r"): ["b"]}, {}, ValueError, "no query in common: those of the task are"),
    ({("a", "r"): ["d"], ("b", "r"): []}, {}, ValueError, "'d' .* none of the 3 entities"),
    (
        {("a", "r"): ["b"], ("b", "r"): ["a"]},
        {"row_queries": {"tail": [("a", "r"), ("b", "r")]}},
        TypeError,
        "row_queries: expected keys of sides whose lists are a TopK",
    ),
    (pd.DataFrame({"head": ["a"], "tail": ["b"]}), {}, ValueError, "columns head, relation, tail"),
]


@pytest.mark.parametrize(("lists", "options", "kind", "words"), LISTS_REFUSED)
def test_lists_that_do_not_say_whose_they_are_are_refused(
    lists: Any, options: Any, kind: Any, words: str
) -> None:
    refusal(kind, words, named().evaluate_lists, lists, **options)


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ({"tail": [(0, 0)]}, ValueError, r"row_queries: tail: 1 of 2 queries of the task have no row"),
    ({"tail": [*FIRST, (0, 0)]}, ValueError, r"row_queries: tail: .*got \(0, 0\) in several rows"),
    ({"tail": [[0, 0], [1, 0]]}, TypeError, r"row_queries: tail: expected rows \[\(head, relation"),
    ({"tail": [(0, 0, 1)] * 2}, ValueError, r"row_queries: tail: expected 2 columns"),
    ({"tail": [("a", 0), ("b", 0)]}, TypeError, "row_queries: tail: .*entities=2 gives no labels"),
    ({"head": FIRST}, TypeError, r"row_queries: expected \{\"tail\": keys\}, by sides"),
    (FIRST, TypeError, r"row_queries: expected \{\"tail\": keys\}, by sides"),
    (
        {"tail": [*FIRST, (7, 0)]},
        ValueError,
        r"tail: .*\(3, 2\), a row for each key of row_queries",
    ),
]


@pytest.mark.parametrize(("row_queries", "kind", "words"), REFUSED)
def test_keys_that_do_not_fit_are_refused(row_queries: Any, kind: Any, words: str) -> None:
    scores = [[1, 9], [9, 1]]
    refusal(kind, words, two().evaluate_scores, scores, row_queries=row_queries)


def test_the_former_unique_is_refused_with_what_replaces_it() -> None:
    words = "unique: unexpected keyword argument; known are tail, head, relation, row_queries"
    refusal(TypeError, words, two().evaluate_scores, [[9, 1], [1, 9]], unique=True)


INF = np.inf
ANSWERS = [(0, 0, 1), (0, 0, 2)]


@pytest.mark.parametrize("mask", [-INF, -1e9, np.nan])
@pytest.mark.parametrize("as_store", [np.array, tr.open_scores])
def test_known_answers_may_be_masked_in_each_row(mask: float, as_store: Any) -> None:
    task = Task(ANSWERS, {}, entities=3, sides=["tail"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = as_store(np.array([[0, 2, mask], [0, mask, 2]]))
        assert task.evaluate_scores(scores)["mrr"] == 1


@pytest.mark.parametrize("candidates", [None, [0, 1, 2, 3], {0: [0, 1, 2, 3]}])
def test_rows_of_a_query_that_differ_elsewhere_are_warned_of(candidates: Any) -> None:
    task = Task(ANSWERS, {}, entities=9, sides=["tail"], candidates=candidates)
    scores = np.zeros((2, 9))
    scores[:, 1:3] = 2
    scores[1, 0] = 1
    with pytest.warns(UserWarning, match=r"^tail: in 1 of 1 rows that were compared a query has"):
        task.evaluate_scores(scores)
    scores[1] = scores[0]
    scores[1, 5] = -INF  # own negatives
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert task.evaluate_scores(scores)["mrr"] == 1


def test_positions_are_no_keys_where_ints_are_labels() -> None:
    scores = [[1, 9], [9, 1]]
    keys = {"tail": PERMUTED.tail.queries}
    refusal(
        ValueError,
        "these are positions, as task.tail.queries",
        PERMUTED.evaluate_scores,
        scores,
        row_queries=keys,
    )
    of_labels = {"tail": [(0, 0), (1, 0)]}
    assert PERMUTED.evaluate_scores([[9, 1], [1, 9]], row_queries=of_labels)["mrr"] == 1
