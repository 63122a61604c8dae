"""Remedies that would be wrong are not named; what came is said, with options about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from truerank import InputError, InputWarning, alignment, rank, write_run
from truerank.link_prediction import Task
from truerank.retrieval import Task as Search

pytestmark = pytest.mark.python_only

HEADER = ("head", "relation", "tail")
FACTS = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a"), ("a", "s", "c")]
OTHERS = ("src", "rel", "dst")
LISTS = [("q", "a", 0.9), ("q", "b", 0.5), ("p", "b", 0.8), ("p", "c", 0.1)]
OF_TWO_MODELS = [*LISTS, ("q", "b", 7.0), ("q", "c", 3.0), ("p", "a", 5.0), ("p", "b", 2.0)]
NAMES = ["query", "document", "score"]


def write(name: str, rows: Any) -> str:
    Path(name).write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    return name


def facts_of(test: Any, train: Any, **options: Any) -> Task:
    return Task(write("test.tsv", test), {"train": write("train.tsv", train)}, **options)


def evaluate(lists: Any) -> Any:
    return Search({"q": ["a"], "p": ["b"]}).evaluate_lists(pd.DataFrame(lists, columns=NAMES))


def leave_out_gains() -> Any:
    gains = pd.DataFrame([("q", "a", 0), ("q", "b", 1)], columns=["query", "document", "gain"])
    return Search(gains, columns={"query": "query", "document": "document"})


def evaluate_judgements(name: str, rows: Any) -> Any:
    """The file of the judgements is that of the lists, too."""
    return Search(write(name, rows)).evaluate_lists(name)


def leave_out_scores() -> Any:
    """A log has what was clicked, and the scores of the model that showed it."""
    log = pd.DataFrame([("q", "a", -1.5), ("p", "b", 2.5)], columns=NAMES)
    return Search(log, columns={"query": "query", "document": "document"})


def task_of_facts() -> Task:
    return Task(FACTS, {}, entities=["a", "b", "c"], relations=["r", "s"], sides=["tail"])


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "a header in the test alone": (
        lambda: facts_of([HEADER, *FACTS], FACTS),
        "it names the columns; .* all files have a header, or none has, and .*train.tsv has none",
    ),
    "a header in the known facts alone": (
        lambda: facts_of(FACTS, [HEADER, *FACTS]),
        "train.*it names the columns; .* and test.tsv has none",
    ),
    "a header of other names in the test alone": (
        lambda: facts_of([OTHERS, *FACTS], FACTS),
        "its fields occur nowhere else; .* and .*train.tsv has none",
    ),
    "names of digits, of which the list lacks one": (
        lambda: facts_of([("0", "r", "1")], [], entities=["7", "0", "2"]),
        "expected labels of entities, as '7', got '1'",
    ),
    "ids beyond the labels": (
        lambda: facts_of([("0", "r", "9")], [], entities=["a", "b", "c"]),
        "expected labels of entities, as 'a', or ids from 0 to 2, got '0'",
    ),
    "two lists of each query": (
        lambda: evaluate(OF_TWO_MODELS),
        "has 'b' twice, with 0.5 and 7.0; 2 of 2 lists .*; rows of a query stand apart, as of",
    ),
    "a name that the model lacks, without known facts": (
        lambda: Task(write("test.tsv", [*FACTS, ("a", "r", "q")]), {}, entities=["a", "b", "c"]),
        "expected labels of entities, as 'a', or ids from 0 to 2, got 'q' in column 2 of line 5$",
    ),
    "ids of documents in a file": (
        lambda: Search(write("qrels.txt", [("q", 0, "1", 1)]), entities=["a", "b"]),
        "expected labels of entities, as 'a', .* got '1' in column 1; 1 of 1 rows have others$",
    ),
    "other names of the columns of rows": (
        lambda: task_of_facts().evaluate_scores(
            tail=np.zeros((4, 3)), row_queries={"tail": pd.DataFrame(FACTS).iloc[:, :2]}
        ),
        "row_queries: tail: expected columns with names, got a frame whose columns are numbered$",
    ),
    "other names of the columns of a run that is written": (
        lambda: write_run(
            "run.txt", pd.DataFrame([("q", "a", 0.5)], columns=["qid", "doc", "sim"])
        ),
        "top: expected columns query, .*, got columns 'qid', 'doc', 'sim'$",
    ),
    "empty names as padding": (
        lambda: Search({"q": ["a"]}).evaluate_lists({"q": ["", "a", ""]}),
        "the list of 'q' has '' twice; 1 of 1 list .*; lists are of unlike lengths, without pad",
    ),
    "judgements in the place of lists": (
        lambda: evaluate_judgements("qrels.txt", [("q", 0, "a", 1), ("q", 0, "b", 0)]),
        "this is the file of the right answers: expected another one$",
    ),
    "judgements with names in the place of lists": (
        lambda: evaluate_judgements("qrels.tsv", [(*NAMES[:2], "relevance"), ("q", "a", 1)]),
        "this is the file of the right answers: expected another one$",
    ),
    "a column of gains": (leave_out_gains, "without column 'gain', got one left out, with the val"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_remedy_that_would_be_wrong_is_not_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, words = CASES[name]
    with pytest.raises(InputError, match=words) as refused:
        call()
    assert refused.value.remedies == ()


def evaluate_ranks(ranks: list[int], **columns: list[str]) -> Any:
    """Each of three lists has these ranks."""
    rows = [(query, f"d{i}", rank) for query in "qpo" for i, rank in enumerate(ranks)]
    table = pd.DataFrame(rows, columns=["query", "document", "rank"]).assign(**columns)
    names = dict(zip(["query", "document", "rank"], table.columns[:3], strict=True))
    return Search({"q": ["d0"]}).evaluate_lists(table, columns=names)


def leave_out_positions() -> Any:
    rows = [(query, f"d{(i + k) % 7}", k) for i, query in enumerate("qpon") for k in range(1, 5)]
    table = pd.DataFrame(rows, columns=["query", "document", "position"])
    columns = {"query": "query", "document": "document"}
    return Search({"q": ["d0"]}).evaluate_lists(table, columns=columns)


# What came, with counts, and the options that are about it.
SAID: dict[str, tuple[Callable[[], Any], str, list[str]]] = {
    "judgements of subtopics": (
        lambda: Search(write("ndeval.txt", [("q", i, f"d{i % 3}", i % 2) for i in range(4)])),
        "of 4 rows it has 4 values, the third 3; columns= says which are meant$",
        ["columns"],
    ),
    "few subtopics": (
        lambda: Search(write("ndeval.txt", [("q", i % 2, f"d{i % 3}", i // 3) for i in range(5)])),
        "twice for 'q', as 0 and as 1; expected one grade .*, and 2 of 3 have more .* 2 values, as",
        [],
    ),
    "a pair that is judged twice in memory": (
        lambda: Search((["q", "q", "p"], ["a", "a", "b"], [1, 2, 1])),
        "expected one gain for each pair, got 1.0 and 2.0 for 'a' of .*; of 2 pairs 1 have several",
        [],
    ),
    "tabs in .csv": (
        lambda: Search(write("qrels.csv", [(*NAMES[:2], "relevance"), ("q", "a", 1)])),
        "expected tabs between columns, in .csv commas, .*, got tabs in 'query.tdocument.trelev",
        [],
    ),
    "tabs in .csv of facts": (
        lambda: Task(write("test.csv", FACTS), {}),
        "line 1: expected tabs between columns, in .csv commas, .*, got tabs in 'a.tr.tb'",
        [],
    ),
    "ints beside names": (
        lambda: Search({"q": ["a"]}).evaluate_lists({"q": [1, 2]}),
        r"as 'a', whose order is not .*, got 1 .* \(all 2 are int\); Task\(..., entities=names\)",
        ["entities"],
    ),
    "ints beside names of digits": (  # They would be refused with an order, too.
        lambda: Search({"q": ["1"]}).evaluate_lists({"q": [1, 2]}),
        r"as '1', whose order is not given, got 1 at position 0 \(all 2 are int\)$",
        [],
    ),
    "equal ranks": (
        lambda: evaluate_ranks([1, 1, 2]),
        "'q' has the rank 1 twice; in 3 of 3 lists ranks are equal; columns= says which are meant$",
        ["columns"],
    ),
    "equal ranks beside a column of one value": (
        lambda: evaluate_ranks([1, 1, 2], phase=["test"] * 9),
        "'q' has the rank 1 twice; in 3 of 3 lists ranks are equal; columns= says which are meant$",
        ["columns"],
    ),
    "places that are left out": (
        leave_out_positions,
        "in order by it, and no score is read; columns= says which are meant$",
        ["columns"],
    ),
    "triples of OpenKE with their kinds": (
        lambda: Task(write("test2id_all.txt", [(1,), (0, 0, 1, 0)]), {}, entities=2, relations=1),
        r"line 2: expected 3 columns \(head, tail, relation\) below a line .*, got '0.t0.t1.t0'$",
        [],
    ),
    "a tuple of candidates": (
        lambda: rank(np.eye(3), [0, 1, 2], candidates=(0, 1)),
        r"candidates: expected a 1-D indptr, as a tuple is \(indptr, indices\), got shape \(\)$",
        [],
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_came_is_said_and_the_options_that_are_about_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, words, options = SAID[name]
    with pytest.raises(InputError, match=words) as refused:
        call()
    assert [option.name for option in refused.value.remedies] == options
    assert all(option.value in (None, ...) for option in refused.value.remedies)


def test_relations_alone_that_are_digits_are_no_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "as those in the facts are all numbers, such as '0', got none; .*relations=names"
    with pytest.raises(InputError, match=words) as refused:
        Task(write("test.tsv", [("a", "0", "b"), ("b", "1", "a")]), {})
    assert [option.name for option in refused.value.remedies] == ["relations"]


def test_a_further_column_may_be_anything() -> None:
    weighted = [(*fact, f"0.{i}5") for i, fact in enumerate(FACTS)]
    with pytest.raises(InputError, match="expected 3 columns") as refused:
        Task(weighted, {})
    assert [option.name for option in refused.value.remedies] == ["columns", "keys"]


def test_zeros_may_be_a_document_or_padding() -> None:
    lists = {"q": [2, 0, 0, 1], "p": [0, 2, 0, 1]}
    for listed in (lists, {"q": [1, 2, 0, 0], "p": [1, 2, 0, 0]}):
        with pytest.raises(InputError, match=r"the list of 'q' has 0 twice; .*; duplicates= says"):
            Search({"q": [0], "p": [1]}).evaluate_lists(listed)
    report = Search({"q": [0], "p": [1]}).evaluate_lists(lists, duplicates="first")
    assert report["mrr"] == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_pairs_that_are_all_known_name_no_split() -> None:
    """A known split of an alignment cannot have the name of the evaluated one."""
    pairs = [("a", "x"), ("b", "y")]
    with pytest.warns(InputWarning, match=r"\(all are in train\); they are ranked") as caught:
        alignment.Task(pairs, left=["a", "b"], right=["x", "y"], known={"train": pairs})
    assert [option for each in caught for option in each.message.remedies] == []


def test_short_files_have_headers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line was a fact, and an entity of its own."""
    monkeypatch.chdir(tmp_path)
    path = write("test.tsv", [OTHERS, ("a", "r", "b"), ("b", "r", "c")])
    with pytest.raises(InputError, match=r"its fields occur nowhere else.*header=True says that"):
        Task(path, {})
    columns = dict(zip(HEADER, OTHERS, strict=True))
    assert len(Task(path, {}, header=True, columns=columns).test) == 2
    pairs = write("pairs.tsv", [("left", "right"), ("a", "b")])
    with pytest.raises(InputError, match=r"it names the columns.*header=True"):
        alignment.Task(pairs, left=["a"], right=["b"])
