"""Rows and lists say whose they are: by their place, or by keys, in any order."""

from __future__ import annotations

import warnings
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
