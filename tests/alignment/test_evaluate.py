"""`evaluate` in one call, evaluation by callables, and the report of an alignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from oracles.alignment import Array
from support.alignment_runs import KNOWN, LEFT, PAIRS, RIGHT, SIMILARITIES, same, task_of
from support.refusals import refusal
from truerank.alignment import Task, evaluate


@pytest.mark.parametrize("batch_size", [None, 1, 2])
def test_callables(batch_size: int | None) -> None:
    shapes = []

    def forward(queries: Array) -> Array:
        shapes.append(queries.shape)
        return SIMILARITIES[queries[:, 0]]

    def backward(queries: Array) -> Array:
        assert queries.dtype == np.int64
        return SIMILARITIES.T[queries[:, 0]]

    task = task_of(candidates="unaligned")
    found = task.evaluate(left_to_right=forward, right_to_left=backward, batch_size=batch_size)
    assert same(found, task.evaluate_scores(SIMILARITIES))
    assert sum(shape[0] for shape in shapes) == 3
    assert {shape[1] for shape in shapes} == {1}
    refusal(TypeError, "^right_to_left: expected .* the side", task.evaluate, left_to_right=forward)


@pytest.mark.parametrize("how", [{}, {"candidates": "unaligned"}, {"csls": 2}, {"audit": True}])
def test_one_call(how: dict[str, Any]) -> None:
    made = {name: value for name, value in how.items() if name == "candidates"}
    rest = {name: value for name, value in how.items() if name != "candidates"}
    task = task_of(**made)
    expected = task.evaluate_embeddings(LEFT, RIGHT, **rest)
    found = evaluate(LEFT, RIGHT, PAIRS, known=KNOWN, **how)
    assert found == expected
    assert found.protocol == expected.protocol
    of_scores = evaluate(SIMILARITIES, None, PAIRS, known=KNOWN, **how)
    assert of_scores == task.evaluate_scores(SIMILARITIES, **rest)
    assert same(of_scores, expected)
    turned = evaluate(-SIMILARITIES, None, PAIRS, known=KNOWN, order="ascending", **made)
    assert same(turned, task.evaluate_scores(SIMILARITIES))


def test_warnings_of_one_call_name_its_caller() -> None:
    with pytest.warns(UserWarning, match=r"^test: 1 \(0 2\) pairs repeat an earlier one") as caught:
        evaluate(LEFT, RIGHT, [*PAIRS, PAIRS[0]])
    assert caught[0].filename == __file__

    vectors = np.eye(4)  # for both graphs, so that every entity is most similar to itself
    with pytest.warns(UserWarning, match="left and right are the same vectors"):
        evaluate(vectors, vectors, [(0, 1)])


def test_the_report() -> None:
    report = task_of().evaluate_embeddings(LEFT, RIGHT, similarity="l1")
    assert report.sides == ("both", "left_to_right", "right_to_left")
    assert report.tasks("left_to_right") == report.tasks("right_to_left") == 3
    ranks = report.ranks
    assert (ranks.protocol.similarity, ranks.protocol.candidates) == ("l1", "all")
    assert (ranks.protocol.filter, ranks.protocol.split) == (("train", "test"), "test")
    assert ranks.queries.values.tolist() == [0, 1, 2, 2, 0, 1]
    assert ranks.targets.values.tolist() == [2, 0, 1, 0, 1, 2]
    assert report["both.mr"] == (report["left_to_right.mr"] + report["right_to_left.mr"]) / 2
    of_matrix = task_of().evaluate_scores(SIMILARITIES)
    assert of_matrix.protocol.similarity is None
    assert task_of().evaluate_scores(SIMILARITIES, csls=3).protocol.similarity == "csls 3"
    assert tr.compare(ranks, of_matrix, allow_unlike=True).pairing == "query and target ids"


def test_labels_are_names_where_both_graphs_have_them() -> None:
    left, right = ["a", "b", "c", "d"], {"v": 0, "w": 1, "x": 2, "y": 3, "z": 4}
    pairs = [("a", "x"), ("b", "v"), ("c", "w")]
    task = Task(pairs, left=left, right=right)
    ranks = task.evaluate_scores(SIMILARITIES).ranks
    assert ranks.queries.values.tolist() == ["a", "b", "c", "x", "v", "w"]
    assert ranks.targets.values.tolist() == ["x", "v", "w", "a", "b", "c"]
    half = Task([("a", 2), ("b", 0), ("c", 1)], left=left, right=5)
    assert half.evaluate_scores(SIMILARITIES).ranks.queries.values.tolist() == [0, 1, 2, 2, 0, 1]
