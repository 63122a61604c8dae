"""A Series as the value of a query: its index has the names, or it is refused."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from support.refusals import refusal
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only

QRELS = {"u": {"a": 1, "b": 0}, "v": {"b": 1}}


def scored(numbers: list[float], names: Any, **options: Any) -> pd.Series:
    return pd.Series(numbers, pd.Index(names, **options))


def test_the_index_of_scores_has_the_names() -> None:
    lists = {"u": scored([0.1, 0.9], ["b", "a"]), "v": scored([0.9, 0.1], ["a", "b"])}
    plain = {query: series.to_dict() for query, series in lists.items()}
    assert Task(QRELS).evaluate_lists(lists)["mrr"] == 0.75
    assert Task(QRELS).evaluate_lists(plain)["mrr"] == 0.75


def test_whole_numbers_are_scores_and_no_ids() -> None:
    """They were ids, and the index was ignored: 0 for 1."""
    counts = {"u": scored([30, 20], [7, 3]), "v": scored([9, 4], [3, 7])}
    assert Task({"u": {7: 1}, "v": {3: 1}}).evaluate_lists(counts)["mrr"] == 1


def test_the_index_of_grades_has_the_names() -> None:
    qrels = {query: pd.Series(grades) for query, grades in QRELS.items()}
    lists = {"u": ["b", "a"], "v": ["b"]}
    assert Task(qrels).evaluate_lists(lists)["mrr"] == Task(QRELS).evaluate_lists(lists)["mrr"]


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (pd.Series(["a", "b"]), "got 'u': Series None with index 0, 1$"),
        (pd.Series([0.9, 0.1]), "got 'u': Series None with index 0, 1$"),
        (scored([0.9, 0.1], ["a", "a"]), "got 'u': Series None with index 'a', 'a'$"),
        (pd.Series([7, 8], [4, 5], name="document"), "Series 'document' with index 4, 5$"),
        (pd.DataFrame({"a": [1]}), "got 'u': DataFrame$"),
    ],
)
def test_others_are_refused_at_both_doors(value: Any, got: str) -> None:
    refusal(TypeError, got, Task(QRELS).evaluate_lists, {"u": value})
    refusal(TypeError, got, Task, {"u": value})
