"""Lists in files and in memory: their order, and what names of queries and documents meet."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.retrieval import Task

# -- orders ----------------------------------------------------------------------------------------

# In each list the best, of the lowest distance, comes first; ranks say so, too.
ROWS = [(f"q{i}", f"d{i + j}", j + 1, (j + 1) / 8) for i in range(4) for j in range(3)]
QUERY, DOCUMENT, RANK, SCORE = map(list, zip(*ROWS, strict=True))
FALLING = [-score for score in SCORE]


def lists_of(form: str, folder: Path, columns: dict[str, Any]) -> Any:
    """Return lists in a form, with some columns in the place of theirs."""
    columns = {"query": QUERY, "document": DOCUMENT, "rank": RANK, "score": SCORE} | columns
    if form == "pandas":
        return pd.DataFrame(columns)
    rows = list(zip(*columns.values(), strict=True))
    path = folder / "run"
    if form == "run":
        path.write_text("".join(f"{q} Q0 {d} {rank} {score} tag\n" for q, d, rank, score in rows))
    else:
        path.write_text("\n".join("\t".join(map(str, row)) for row in (tuple(columns), *rows)))
    return path


SCORES_RISE = "scores rise in 4 lists, 12 entries"
RANKS_RISE = "ranks rise with the scores in 4 of 4 queries"


@pytest.mark.python_only
@pytest.mark.parametrize(
    ("form", "columns", "words"),
    [
        ("run", {"rank": [1] * 12}, SCORES_RISE),
        ("run", {}, RANKS_RISE),
        ("header", {}, RANKS_RISE),
        ("pandas", {"rank": np.array(RANK, object)}, RANKS_RISE),
        ("pandas", {"rank": [1] * 12, "score": FALLING}, ""),
        ("pandas", {"rank": ["x"] * 12, "score": FALLING}, ""),
        ("header", {"score": FALLING}, ""),
        ("run", {"rank": ["x"] * 12, "score": FALLING}, ""),
        ("run", {"score": [5] * 12}, ""),
    ],
)
def test_two_orders_that_contradict_each_other(
    tmp_path: Path, form: str, columns: dict[str, Any], words: str
) -> None:
    """Distances are no scores, unless the order is named; each order is taken in silence."""
    task = Task({f"q{i}": [f"d{i}"] for i in range(4)}, entities=9)
    lists = lists_of(form, tmp_path, columns)
    if not words:
        assert task.evaluate_lists(lists)["mrr"] > 1 / 3
        return
    both = "order='ascending' says that lower .* order='descending' that the best is last"
    refusal(ValueError, f"^ids: .*{words}.*: {both}", task.evaluate_lists, lists)
    assert task.evaluate_lists(lists, order="ascending")["mrr"] == 1
    assert task.evaluate_lists(lists, order="descending")["mrr"] == pytest.approx(1 / 3)


@pytest.mark.python_only
def test_ranks_that_rise_with_scores_are_refused_at_any_size() -> None:
    few = pd.DataFrame({"query": ["q", "q"], "document": ["d", "e"], "rank": [1, 2]})
    task = Task({"q": ["d"]}, entities=9)
    words = "ranks rise with the scores"
    refusal(ValueError, words, task.evaluate_lists, few.assign(score=[0.1, 0.3]))


# -- what is left over -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "listed", "words"),
    [
        ("abcdef", "agh", r"5 of 6 queries with right answers have no list \('b', 'c', 'd'"),
        ("a", "", r"1 of 1 queries with right answers have no list \('a'\)"),
        ("ab", "abc", ""),
    ],
)
def test_queries_without_lists_warn_and_unused_lists_are_found(
    asked: str, listed: str, words: str
) -> None:
    task = Task({query: ["x"] for query in asked}, entities=9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        findings = task.evaluate_lists({query: ["x"] for query in listed}).audit()
    assert [bool(re.search(words, str(each.message))) for each in caught] == [True] * bool(words)
    counts = {finding.name: finding.count for finding in findings}
    assert counts.get("missing lists", 0) == len(set(asked) - set(listed))
    assert counts.get("unused lists", 0) == len(set(listed) - set(asked))


@pytest.mark.python_only
@pytest.mark.parametrize("name", ["q3 ", "Q3", "\tq3"])
def test_names_that_look_alike_are_named(name: str) -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(5)}
    lists = {f"q{i}": ["a"] for i in range(5) if i != 3} | {name: ["a"]}
    task = Task(qrels, entities=["a", "b"])
    words = "1 of 5 .*'q3'.* differ only in blanks or case: '.*' for 'q3'"
    with pytest.warns(UserWarning, match=words):
        report = task.evaluate_lists(lists)
    assert report["mrr"] == 0.8
    assert repr(name) in report.audit("unused lists")[0].message


@pytest.mark.python_only
def test_names_of_documents_that_are_written_otherwise_warn() -> None:
    """Not an error: a very bad model lists no right answer either."""
    task = Task({"u": ["D7"], "v": ["D8"]}, entities=100)
    words = "ids: no right answer is in any list: right answers are 'D7', .* lists have 'd7'"
    with pytest.warns(UserWarning, match=words):
        assert task.evaluate_lists({"u": ["d7"], "v": ["d8"]})["mrr"] == 0
    task.evaluate_lists({"u": ["D8"], "v": []})
    task.evaluate_lists({"u": [], "v": []})
    Task({"u": ["a"]}, entities=["a", "b"]).evaluate_lists({"u": ["b"]})


def test_lists_of_a_model_that_did_not_leave_out_what_is_known() -> None:
    """Their places close up, and too few are left: recall@10 is that of the rest of the list."""
    scores = np.random.default_rng(0).normal(size=(20, 200))
    best = np.argsort(-scores, axis=1)
    users = np.arange(20).repeat(6)
    train = {"train": (users, best[:, :6].ravel())}
    task = Task((users, best[:, 6:18:2].ravel()), entities=200, queries=20, known=train)
    right = task.evaluate_lists(tr.TopK(best[:, 6:16], None))
    wrong = task.evaluate_lists(tr.TopK(best[:, :10], None))
    (finding,) = wrong.audit("known in lists")
    assert finding.message == "60 % of what lists name is known, and not counted"
    assert right.audit("known in lists") == []
    assert wrong["recall@10"] < right["recall@10"]
    assert task.evaluate_lists(tr.TopK(best, None))["recall@10"] == right["recall@10"]
    assert "; the longest has 10 candidates\n" in str(right)
    assert "; the longest has 4 candidates\n" in str(wrong)
