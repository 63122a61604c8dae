"""What retrieval refuses: a call, the type of its error, and the argument that it names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import truerank as tr
from support.example_ranks import query_report as report
from support.refusals import refusal, refused
from truerank.retrieval import Sampled, Task

pytestmark = pytest.mark.python_only

Call = Callable[[], object]
ITEMS = ["a", "b", "c", "d", "e"]


def make(qrels: Any, **options: Any) -> Call:
    """Return a call that makes a task, among five items unless it says otherwise."""
    return partial(Task, qrels, **{"entities": ITEMS, **options})


# -- tasks -----------------------------------------------------------------------------------------

U = {"u": ["a"]}
BD = {"u": ["b", "d"]}
AMONG = {"known": {"train": {"u": ["a", "c"]}}}
MATRIX = sparse.csr_array(np.array([[0, 1], [0, 0], [1, 0]]))

TASKS: list[tuple[Call, type[Exception], str]] = [
    # qrels
    (make({}), ValueError, "qrels"),
    (make({"q": ["z"]}), ValueError, "qrels"),
    (make((["q", "q"], ["a", "a"], [1, 2])), ValueError, "qrels"),
    (make({0: [2]}, entities=2), ValueError, "qrels"),
    (make({"w": ["a"]}, queries=["u"]), ValueError, "qrels"),
    (make(U, known=AMONG["known"], leaks="raise"), ValueError, "qrels"),
    (make({"u": ["c"]}, **AMONG, leaks="drop"), ValueError, "qrels"),
    (make(sparse.csr_array(MATRIX.T), entities=2), ValueError, "qrels"),
    # what they are among
    (make(MATRIX, entities=None), ValueError, "entities"),
    (make({"u": list("abcd")}, entities=3), ValueError, "entities"),
    (make(BD, **AMONG, candidates="test"), ValueError, "candidates"),
    (make(BD, candidates=["a", "c"]), ValueError, "candidates"),
    (make(BD, **AMONG, candidates=Sampled(3, among="train")), ValueError, "candidates"),
    (make(BD, candidates=Sampled(3, typed=True)), ValueError, "candidates"),
    (make(U, entities=3, candidates=["a"]), ValueError, "candidates"),
    # known splits, and groups
    (make({0: [0]}, known=(np.array([-1]), np.array([0]))), ValueError, "known"),
    (make(U, known={0: [1]}), TypeError, "known"),
    (make(U, known={"u": [3]}, entities=9), TypeError, "known"),
    (make(U, known=MATRIX[:1], entities=2, queries=["u"]), TypeError, "known"),
    (make(U, known={"self": {"u": ["b"]}}, exclude="self"), ValueError, "known"),
    (make(U, groups={}), ValueError, "groups"),
    (make({"u": ["a"], "v": ["b"]}, groups=["x", "y"]), ValueError, "groups"),
    # what is left out, and levels
    (make({0: ["a"]}, exclude="self"), ValueError, "exclude"),
    (make({"z": ["b"]}, exclude="self"), ValueError, "exclude"),
    (make(U, exclude="others"), ValueError, "exclude"),
    *[(make(U, relevance_level=x), ValueError, "relevance_level") for x in (0, -1, np.inf, np.nan)],
    (make({"q": {"a": 2, "b": 1}}, relevance_level=3), ValueError, "relevance_level"),
    (make(U, relevance_level=2), ValueError, "relevance_level"),
]

# -- scores and lists ------------------------------------------------------------------------------

UV = Task({"u": ["b"], "v": ["a"]}, entities=ITEMS, queries=["u", "v"])
UNORDERED = Task({"u": ["b"], "v": ["a"]}, entities=ITEMS)
INTS = Task({7: [2], 3: [1]}, entities=3)
OF_INTS = Task({1: [20]}, entities=[10, 20, 30], queries=[1])
NAMED = Task({"u": ["7"]}, entities=3)  # Names, and a number that says nothing of columns.
SHOWN = Task({"u": ["a"], "17": []}, entities=ITEMS, candidates={"u": ["a", "b"], "17": ["b"]})
TWO = np.ones((2, 5))


def lists(task: Task, ids: Any) -> Call:
    return partial(task.evaluate_lists, ids)


def rows(task: Task, row_queries: Any, columns: int = 5) -> Call:
    return partial(task.evaluate_scores, TWO[:, :columns], row_queries=row_queries)


EVALUATIONS: list[tuple[Call, type[Exception], str]] = [
    (lists(UV, {"u": {"z": 0.5}}), ValueError, "ids"),
    (lists(UV, {"u": ["a", "a"]}), ValueError, "ids"),
    (lists(UV, tr.TopK([[0]], None)), ValueError, "ids"),
    (lists(UNORDERED, {0: ["b"], 1: ["a"]}), TypeError, "ids"),
    (lists(OF_INTS, {1: [1]}), ValueError, "ids"),
    (lists(NAMED, {"u": [7]}), TypeError, "ids"),
    (lists(NAMED, {"u": ["1", "2", "3"]}), ValueError, "entities"),
    (lists(INTS, {7: ["7"]}), TypeError, "ids"),
    (lists(SHOWN, {"u": [0, 2, 1]}), ValueError, "ids"),
    # whose a row is
    (partial(UV.evaluate_scores, [[1, 2]]), ValueError, "scores"),
    (rows(Task({1: [2], 2: [1]}, entities=3), None, 3), ValueError, "scores"),
    (lists(UNORDERED, tr.TopK([[1], [2]], None)), ValueError, "ids"),
    (partial(UNORDERED.evaluate_embeddings, np.eye(2), np.ones((5, 2))), ValueError, "queries"),
    (rows(UNORDERED, ["u"]), ValueError, "row_queries"),
    (rows(INTS, [3, 3, 7], 3), ValueError, "row_queries"),
    (rows(UNORDERED, [0, 1]), TypeError, "row_queries"),
    (rows(INTS, {3: 0, 7: 1}, 3), TypeError, "row_queries"),
    (rows(INTS, {3, 7}, 3), TypeError, "row_queries"),
    (rows(INTS, iter([3, 7]), 3), TypeError, "row_queries"),
    (
        rows(Task({3: [1]}, entities=5, queries=[3, 7]), np.array([[0], [1]])),
        ValueError,
        "row_queries",
    ),
    # names have no columns
    (partial(NAMED.evaluate_scores, np.ones((1, 3))), ValueError, "scores"),
    (lists(NAMED, tr.TopK([[0]], [[1.0]])), ValueError, "ids"),
    (partial(NAMED.evaluate_embeddings, np.eye(1), np.ones((3, 1))), ValueError, "queries"),
]

# -- reports ---------------------------------------------------------------------------------------

THREE = tr.Ranks([0, 3, 1, 9], [1, 1, 1, 1], 10, queries=["a", "a", "b", "c"])
GROUPED = report(THREE, by=["x", "x", "y", "y"])
GRADED = report(THREE, [1, 2, 1, 1])
MISSED = tr.Ranks([0, 3], [1, 1], 10, queries=["a", "b"], listed=[True, False])
PAIR = tr.Ranks([0, 1], [1, 1], 2, queries=[0, 0])
LEVELLED = Task({"q": {"a": 1}, "r": {"a": 0}}, entities=ITEMS, groups={"q": "x"})
LEVELLED_RANKS = LEVELLED.evaluate_lists({"q": ["a"]}).ranks
FILTERED = {"filter": ("test",), "split": "test"}


def ranks(above: Any, tied: Any, candidates: Any, queries: Any, **options: Any) -> Call:
    return lambda: report(tr.Ranks(above, tied, candidates, queries=queries, **options))


def joined(**rules: Any) -> Call:
    """Return a call that joins ranks whose protocols have unlike values of a rule."""
    ((name, values),) = rules.items()
    parts = [PAIR.with_protocol(**{name: value}) for value in values]
    return partial(tr.concatenate, parts, repeats="keep")


REPORTS: list[tuple[Call, type[Exception], str]] = [
    (partial(GROUPED.per_query, "macro.mrr"), KeyError, "'macro.mrr'"),
    (partial(report, LEVELLED_RANKS, by="group", answerless="zero"), ValueError, "by"),
    (partial(GROUPED.to_text, "optimistic.map", kinds="all"), ValueError, "kinds"),
    # comparisons
    (partial(tr.compare, GRADED, report(THREE[:3], [1, 2, 1]), metric="map"), ValueError, "b"),
    (partial(tr.compare, GRADED, THREE), TypeError, "b"),
    (partial(tr.inference.interval, [GROUPED, GROUPED], "macro.map"), ValueError, "metric"),
    (partial(GROUPED.interval, "macro.map"), ValueError, "metric"),
    (partial(tr.table, {"a": GRADED, "b": report(THREE)}, ["map"]), ValueError, "reports"),
    # ranks that are no ranking of each query
    (partial(report, tr.Ranks([], [], [])), ValueError, "ranks"),
    (ranks([0], [1], 2, [0], weights=[2]), ValueError, "ranks"),
    (ranks([0, 0], [1, 1], 2, [5, 5]), ValueError, "ranks"),
    (ranks([0], [1], 2, [0], protocol=tr.Protocol(**FILTERED)), ValueError, "ranks"),
    (partial(tr.report, GROUPED.ranks, unit="task"), ValueError, "ranks"),
    (partial(tr.report, [0], unit="query"), TypeError, "ranks"),
    (partial(tr.report, PAIR, unit="pair"), ValueError, "unit"),
    (partial(tr.report, PAIR, unit="query", weights=[2, 2]), ValueError, "weights"),
    # gains and rules
    (partial(report, PAIR, [1, np.nan]), ValueError, "gains"),
    (partial(report, PAIR, [1, 0], gain="binary"), ValueError, "gains"),
    (partial(report, PAIR, [1e308, 1e308]), ValueError, "gains"),
    (partial(report, PAIR, [1, 1001], gain="exponential"), ValueError, "gains"),
    (partial(report, PAIR, [1, 1], gain="quadratic"), ValueError, "gain"),
    (partial(report, MISSED, misses="nothing"), ValueError, "misses"),
    (partial(report, MISSED, candidates="listed", misses="expected"), ValueError, "misses"),
    (partial(report, MISSED, candidates="listed", misses="bounds"), ValueError, "misses"),
    (partial(report, MISSED, misses="none"), ValueError, "misses"),
    (partial(report, PAIR, answerless="nan"), ValueError, "answerless"),
    (partial(PAIR.with_protocol, relevance_level=3), ValueError, "relevance_level"),
    (joined(gain=["binary", "exponential"]), ValueError, "parts"),
    (joined(relevance_level=[0.5, 1]), ValueError, "parts"),
]


@pytest.mark.parametrize(("call", "error", "argument"), TASKS + EVALUATIONS + REPORTS)
def test_refusals(call: Call, error: type[Exception], argument: str) -> None:
    refused(error, argument, call)


# -- ways out --------------------------------------------------------------------------------------

KNOWN = {"u": ["b"], "t": {"u": ["c"]}}
DIGITS = Task({"1": ["2"]}, entities=["1", "2"])
QUERIES = r"\('u', 'v'\); row_queries=.* each row; Task\(\.\.\., queries=names\) names them in"
WAYS_OUT: list[tuple[Call, type[Exception], str]] = [
    (make(U, known=KNOWN), TypeError, r'^known: .*known=\{"train": \{query: \[items\]\}'),
    (make({1: [2]}, entities=["1", "2"]), TypeError, "^qrels: .*an int could be a position, "),
    (make(U, candidates={"u": ["a"], "17": []}), ValueError, r"candidates: .*\(in qrels also"),
    (make(MATRIX, entities=2, queries=2), ValueError, r"^qrels: .*got 3 rows$"),
    (make({0: [1]}, exclude="self"), ValueError, "^exclude: .*that both have names"),
    (rows(UNORDERED, None), ValueError, f"^scores: .*{QUERIES}"),
    (rows(SHOWN, None), ValueError, "^scores: .*; row_queries=queries has the query of each row"),
    (rows(INTS, ["3", "7"], 3), TypeError, "^row_queries: expected integers, as no "),
    (lists(DIGITS, {1: ["2"]}), TypeError, "^ids: .* as '1', whose order is not"),
    (partial(tr.compare, GRADED, report(THREE), metric="map"), ValueError, "^b: .*allow_unlike=Tr"),
    (partial(tr.compare, GROUPED, GROUPED, metric="median"), ValueError, "^metric: .*mr or hits@k"),
]


@pytest.mark.parametrize(("call", "error", "words"), WAYS_OUT)
def test_messages_name_the_ways_out(call: Call, error: type[Exception], words: str) -> None:
    refusal(error, words, call)


@pytest.mark.parametrize(
    ("line", "task", "words"),
    [
        ("w Q0 b 1 1 t", UV, "labels of queries, as 'u', .* got 'w' at position 0"),
        ("u Q0 z 1 1 t", UV, "labels of entities, as 'a', .* got 'z' at"),
        ("7 Q0 2 1 1 t", INTS, "no names in text, got '2'$"),
    ],
)
def test_names_in_files_are_those_of_the_task(
    tmp_path: Path, line: str, task: Task, words: str
) -> None:
    (tmp_path / "run").write_text(line)
    refusal(
        (ValueError, TypeError), f"^ids: .*run: .*{words}", task.evaluate_lists, tmp_path / "run"
    )
