"""One rule for ids at every door: containers, vocabularies, positions; what names nothing."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.refusals import refusal, refused
from truerank.link_prediction import Task, read_triples

# -- containers, vocabularies and positions --------------------------------------------------------

ORDER = ("a", "b", "c d")


def among(candidates: Any) -> list[int]:
    task = Task(
        [("a", "r", "a")],
        {},
        entities=ORDER,
        relations=["r"],
        sides=["tail"],
        candidates=candidates,
    )
    return task.tail.candidates.tolist()


def in_file(folder: Path, text: str) -> Path:
    path = folder / "facts.txt"
    path.write_text(text)
    return path


def test_containers() -> None:
    columns = pd.DataFrame({"h": ["b", "a"], "r": ["r", "r"], "t": ["a", "c d"]})
    triples = read_triples(columns.astype("category"), entities=ORDER)
    assert triples.ids.tolist() == [[1, 0, 0], [0, 0, 2]]
    for candidates in (
        pd.Categorical(["b", "a"]),
        np.array(["b", "a"]),
        np.array(["b", "a"], dtype=object),
        {"b", "a"},
        (name for name in ("b", "a")),
        range(2),
        np.array([1, 0], dtype=np.uint8),
    ):
        assert among(candidates) == [0, 1]
    ids = pd.DataFrame({"h": [0, 1], "r": [0, 0], "t": pd.array([1, 2], "Int64")})
    assert read_triples(ids).ids.tolist() == [[0, 0, 1], [1, 0, 2]]


@pytest.mark.parametrize(
    ("order", "kind"),
    [
        ([1, "a"], TypeError),
        ([1, 2, 1], ValueError),
        ([True, False], TypeError),
        ([1.0, 2.0], TypeError),
        (["a", "a "], ValueError),
        ({"a", "b"}, TypeError),
        ({7: 0, 9: 2}, ValueError),
        ({7: 0, 9: "1"}, TypeError),
        ([[1], [2]], TypeError),
    ],
)
def test_what_is_no_vocabulary(order: Any, kind: type[Exception]) -> None:
    refused(kind, "entities", read_triples, [(0, 0, 0)], entities=order)


def test_labels_of_python_and_of_text_differ_in_more_than_blanks(tmp_path: Path) -> None:
    """Text names labels of Python whatever blanks they have, if there is one such label."""
    path = in_file(tmp_path, "a\tr\t b\n")
    triples = read_triples(path, entities=["b", "a "])
    assert (triples.ids.tolist(), triples.entities) == ([[1, 0, 0]], ("b", "a "))
    refused(ValueError, "test", Task, [("a", "r", "b")], entities=["b", "a "])
    refused(ValueError, "entities", Task, [("a ", "r", "b")], {"train": str(path)})


def test_labels_that_are_int_stay_int(tmp_path: Path) -> None:
    """In ranks, groups and files, whatever the order of labels."""
    test = [(7, 30, 2), (2, 20, 7)]
    for entities in ((7, 2, 9), {9: 0, 7: 1, 2: 2}):
        task = Task(test, {}, entities=entities, relations=(30, 20), sides=["tail"])
        scores = [[{7: 3.0, 2: 1.0, 9: 2.0}[name] for name in task.entities]] * 2
        task.evaluate_scores(scores).ranks.save(tmp_path / "ranks.npz")
        ranks = tr.load(tmp_path / "ranks.npz")
        assert ranks.optimistic.tolist() == [3, 1]
        assert ranks.relation.values.tolist() == [30, 20]
        assert {20, 30} == set(tr.report(ranks, by="relation").groups)


def test_padded_fields_of_a_public_file(tmp_path: Path) -> None:
    path = in_file(tmp_path, "12   \t0 \t8\t1\n")
    refusal(
        ValueError,
        "entities: expected labels in the order of their ids, .* all numbers",
        Task,
        path,
        {},
        keys=[3],
    )
    options: dict[str, Any] = {"relations": ["0"], "keys": [3], "sides": ["tail"]}
    task = Task(path, {"train": [("12", "0", "7", "1")]}, entities=["12", "7", "8"], **options)
    assert task.tail.filter[1].tolist() == [1, 2]


# -- what users came with, and the line to write ---------------------------------------------------

UUID = uuid.UUID(int=7)
WITH_NONE = pd.DataFrame({"h": ["a", "b"], "r": ["r", "r"], "t": ["b", None]})
NUMBERED = pd.DataFrame({"h": [0, 1], "r": [0, 0], "t": [1, None]}).astype("Int64")
BY_QUERY = pd.DataFrame({"query": list("uuv"), "document": list("abb")}).groupby("query").agg(list)
TRUTH = np.array([[1], [0, 2]], dtype=object)
triples_of_digits = partial(read_triples, entities=["1", "2", "3"])
qrels_of = partial(tr.retrieval.Task, entities=3)
TOP = np.array([[0.9, 0.5], [0.8, 0.1]]), np.array([[0, 2], [1, 0]])  # values, indices


def task_of_facts(facts: Any) -> Task:
    return Task(facts, {}, entities=["a", "b"])


def evaluate_two(lists: Any) -> tr.Report:
    return tr.retrieval.Task({0: [0], 1: [1]}, entities=3).evaluate_lists(lists)


FACTS: list[tuple[Callable[..., Any], Any, str, str]] = [
    (task_of_facts, [("a", "r", None)], "test", "row 0 (missing; pandas reads NA and null as miss"),
    (evaluate_two, {0: [0, None]}, "ids", "got None for 0 (missing; pandas reads NA and null"),
    (read_triples, NUMBERED, "triples", "(pandas makes floats of ints where values are missing)"),
    (task_of_facts, [(UUID, "r", "b")], "test", "in row 0 (of type UUID)"),
    (triples_of_digits, [(2, 0, 2)], "triples", "(an int could be a position, or the label with"),
    (evaluate_two, {"0": [0]}, "ids", "each an int, as queries=2 gives no labels"),
    (evaluate_two, {"0": [0], 1: [1]}, "ids", "(str(...) of each makes labels of all)"),
    (evaluate_two, BY_QUERY.reset_index(), "ids", "(a list of 2, where one id stands)"),
    (qrels_of, BY_QUERY["document"], "qrels", "got Series of shape (2,)"),
    (evaluate_two, TOP, "ids", "or TopK(ids, scores)"),
    (qrels_of, TRUTH, "qrels", "{query: [documents]}, a tuple of columns"),
    (evaluate_two, {0: [object()]}, "ids", "(of type object)"),
]


@pytest.mark.parametrize(("call", "value", "argument", "fact"), FACTS)
def test_what_names_nothing_is_refused_with_a_fact(
    call: Callable[..., Any], value: Any, argument: str, fact: str
) -> None:
    message = refusal(TypeError, re.escape(fact), call, value)
    assert message.startswith(f"{argument}: ")


def test_what_users_make_of_it_is_taken() -> None:
    assert len(task_of_facts(WITH_NONE.dropna()).test) == 1
    assert len(read_triples(NUMBERED.dropna().astype(int)).ids) == 1
    assert qrels_of(BY_QUERY["document"].to_dict()).answers.targets.tolist() == [0, 1, 1]
    assert evaluate_two(tr.TopK(*TOP[::-1]))["mrr"] == 1.0
    rows = np.repeat(np.arange(2), list(map(len, TRUTH)))
    assert len(tr.rank(np.zeros((2, 3)), np.concatenate(TRUTH), rows=rows)) == 3
