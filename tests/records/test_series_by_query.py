"""A Series of pandas by query: its index has the names, as the columns of a frame have."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only
QRELS = {1: {10: 1}, 2: {30: 2, 20: 0}}
SCORES = {1: {20: 3, 10: 9}, 2: {30: 7, 20: 7}}  # as integer ids they would be 3, 9 and 7, 7


def as_series(by_query: dict[Any, dict[Any, Any]]) -> dict[Any, Any]:
    return {query: pd.Series(named) for query, named in by_query.items()}


def test_grades_and_scores_are_by_the_index() -> None:
    """By place these were the ids 3 and 9, an MRR of 0, and 7 twice, which asked for duplicates."""
    task = Task(as_series(QRELS))
    assert task.answers.labels["targets"].values.tolist() == [10, 30]
    assert task.gains is not None
    assert task.gains.tolist() == [1, 2]
    assert task.evaluate_lists(as_series(SCORES))["mrr"] == 0.875
    assert task.evaluate_lists(SCORES)["mrr"] == 0.875
    words = {"q": pd.Series([0.5, 2], index=["b", "a"]), "p": pd.Series([1], index=["c"])}
    assert Task({"q": ["a"], "p": ["c"]}).evaluate_lists(words)["mrr"] == 1.0


def test_series_of_other_doors() -> None:
    known = {"train": {"u": pd.Series([5, 1], index=["b", "c"])}}
    for each in (known, known["train"]):
        task = Task({"u": ["a"]}, entities=["a", "b", "c", "d"], known=each)
        assert task.evaluate_scores([[0.1, 0.5, 0.9, 0.0]])["mrr"] == 1.0
    links = tr.link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b"], sides=["tail"])
    lists = {("a", "r"): pd.Series([1, 2], index=["a", "b"])}
    assert links.evaluate_lists(tail=lists)["mrr"] == 1.0


LOG = pd.DataFrame(
    {"user": ["u", "u", "v"], "movie": [5, 6, 5], "score": [1, 2, 1]}, index=[3, 4, 9]
)


def test_columns_of_a_table_by_query_have_names_or_are_refused() -> None:
    """The index of a group of rows has the numbers of these, unless it has a name."""
    task = Task({"u": [6], "v": [5]})
    named = {user: rows.set_index("movie")["score"] for user, rows in LOG.groupby("user")}
    assert task.evaluate_lists(named)["mrr"] == 1.0
    wide = pd.DataFrame([[1, 2], [3, 0]], index=["u", "v"], columns=[5, 6])
    assert task.evaluate_lists({user: wide.loc[user] for user in "uv"})["mrr"] == 1.0
    for column in ("movie", "score"):
        lists = {user: rows[column] for user, rows in LOG.groupby("user")}
        words = (
            f"^ids: .*Series whose index has the names.* got 'u': Series '{column}' with index 3"
        )
        refusal(TypeError, words, task.evaluate_lists, lists)
        refusal(TypeError, "^qrels: .*Series", Task, lists)


class Keyed:
    """What has keys, and is no mapping of Python."""

    def keys(self) -> list[str]:
        return ["a"]

    def __getitem__(self, key: str) -> int:
        return 1

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Any:
        return iter(self.keys())


@pytest.mark.parametrize(
    "value",
    [
        pd.Series(["a", "b"]),  # whose index is 0, 1
        pd.Series([0.5, 0.7]),
        pd.Series([0.5, 0.7], index=["a", "a"]),
        Keyed(),
    ],
    ids=["names", "scores", "twice", "keys"],
)
def test_what_names_nothing_is_refused(value: Any) -> None:
    words = "a Series whose index has the names, each once, of its numbers, got 'q': "
    refusal(TypeError, words, Task, {"q": value})
    refusal(TypeError, words, Task({"q": ["a"]}).evaluate_lists, {"q": value})


def test_series_have_numbers() -> None:
    text = {"q": pd.Series(["x", "y"], index=["a", "b"])}
    refusal(TypeError, "grades that are finite numbers", Task, text)
    refusal(TypeError, "expected numbers as scores", Task({"q": ["a"]}).evaluate_lists, text)
    empty = {"q": pd.Series([1], index=["a"]), "p": pd.Series(dtype=float)}
    assert Task(empty).without_answers == 1
