"""Keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("error")]
SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]])
TARGETS = [1, 0]
QRELS: Any = {"q": {"a": 1, "b": 2}, "p": {"b": 1}}


def search(**options: Any) -> tr.retrieval.Task:
    return tr.retrieval.Task(QRELS, entities=["a", "b", "c", "d"], queries=["q", "p"], **options)


def test_a_group_in_a_key_is_told_where_values_of_groups_are() -> None:
    scores = np.array([[0.5, 0.4, 0.1, 0.0], [0.1, 0.5, 0.2, 0.2]])
    report = search(groups=["heavy", "light"]).evaluate_scores(scores)
    refusal(KeyError, "group_values", report.__getitem__, "heavy.ndcg@10")
    assert report.group_values("ndcg@10")["light"] == 1
    of_tasks = tr.report(tr.rank(SCORES, TARGETS), by=["heavy", "light"])
    refusal(KeyError, "group_values", of_tasks.__getitem__, "heavy.mrr")
    assert of_tasks["mrr"] == 1


def test_err_does_not_propose_what_has_no_value_either() -> None:
    ties = search().evaluate_scores(np.array([[0.5, 0.5, 0.5, 0.1], [0.1, 0.2, 0.2, 0.2]]))
    refusal(KeyError, "take optimistic.err@k", ties.__getitem__, "err@1")
    assert ties["pessimistic.err@1"] <= ties["optimistic.err@1"]
    lists = {"q": ["c"], "p": ["c", "b"]}
    expected = search().evaluate_lists(lists, misses="expected")
    words = (
        r"no closed form over right answers that lists miss \(2 of 3\).*; misses= says what these"
    )
    for key in ("err@1", "optimistic.err@1"):
        message = refusal(KeyError, words, expected.__getitem__, key)
        assert "take optimistic" not in message
    bounds = search().evaluate_lists(lists, misses="bounds")
    assert bounds["pessimistic.err@1"] <= bounds["optimistic.err@1"]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("err@1", "reports of truerank.retrieval have err"),
        ("optimistic.err@1", "reports of truerank.retrieval have err"),
        ("gauc", "reports of truerank.retrieval have gauc"),
        ("mean_recip_rank", "did you mean mean_reciprocal_rank"),
        ("mean_ranks", "did you mean mean_rank"),
        ("hitts@10", "did you mean hits@k"),
        ("ndgc@10", "did you mean ndcg@k"),
    ],
)
def test_near_names_are_proposed(key: str, near: str) -> None:
    report = tr.report(tr.rank(SCORES, TARGETS))
    refusal(KeyError, near, report.__getitem__, key)


@pytest.mark.parametrize(
    "key",
    ["bpref", "tail.bpref@10", "IPrec@0.1", "iprec_at_recall_0.10", "gmap", "nERR8@10", "pr_auc"],
)
def test_no_metric_stands_for_another_one_of_other_tools(key: str) -> None:
    words = "a metric of other tools; known are m"
    of_queries = search().evaluate_lists({"q": ["c"], "p": ["c", "b"]})
    for report in (of_queries, tr.report(tr.rank(SCORES, TARGETS))):
        assert "did you mean" not in refusal(KeyError, words, report.__getitem__, key)
