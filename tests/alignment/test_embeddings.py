"""Both directions counted from vectors, with and without CSLS, against the slow twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import alignment as oracle
from oracles import embeddings
from oracles.counting import Refused
from strategies.alignments import NAN_RULES, alignments, vectors
from support.alignment_runs import (
    KNOWN,
    LEFT,
    PAIRS,
    RIGHT,
    SIMILARITIES,
    expected_of,
    outcome,
    same,
    task_of,
)
from support.problems import assert_same
from support.refusals import refusal
from truerank.alignment import Task, csls_means, evaluate


@given(st.data())
def test_vectors(data: st.DataObject) -> None:
    """Embeddings give the counts of the dense matrix of the same similarity."""
    drawn = data.draw(alignments())
    left, right = data.draw(vectors(drawn.sizes))
    if data.draw(st.integers(0, 4)) == 0:
        odd = data.draw(st.sampled_from([np.nan, np.inf]))
        (left if data.draw(st.booleans()) else right)[0, 0] = odd
    similarity = data.draw(st.sampled_from(embeddings.EXACT))
    k = data.draw(st.one_of(st.none(), st.integers(1, 9)))
    nan = data.draw(st.sampled_from(NAN_RULES))
    audit = data.draw(st.booleans())
    scores = embeddings.score(left, right, similarity)
    got = outcome(
        lambda: drawn.task().evaluate_embeddings(
            *(left, right),
            similarity=similarity,
            csls=k,
            nan=nan,
            audit=audit,
            block=data.draw(st.sampled_from([None, 1, 3])),
            threads=data.draw(st.sampled_from([1, 2])),
        )
    )
    expected, _ = expected_of(drawn, scores, k, nan=nan)
    if isinstance(expected, Refused):
        assert isinstance(got, ValueError), f"should have refused: {expected}"
        assert "is NaN" in str(got)
        return
    assert isinstance(got, tr.Report), f"refused without need: {got!r}"
    assert_same(got.ranks, expected, audit=audit)
    # the same matrix in place of the vectors gives the same bits
    again = drawn.task().evaluate_scores(scores, csls=k, nan=nan, audit=audit)
    assert_same(again.ranks, expected, audit=audit)


@pytest.mark.parametrize("k", [None, 2])
def test_vectors_may_lie_in_files(tmp_path: Path, k: int | None) -> None:
    paths = tmp_path / "left.npy", tmp_path / "right.npy"
    for path, array in zip(paths, (LEFT, RIGHT), strict=True):
        np.save(path, array)
    expected = task_of().evaluate_embeddings(LEFT, RIGHT, csls=k)
    found = task_of().evaluate_embeddings(*paths, csls=k)
    assert same(found, expected)
    assert sorted(found.protocol.files) == sorted(map(str, paths))
    maps = [np.load(path, mmap_mode="r") for path in paths]
    assert same(task_of().evaluate_embeddings(*maps, csls=k), expected)
    assert same(evaluate(*paths, PAIRS, known=KNOWN, csls=k), expected)
    assert same(task_of().evaluate_embeddings(LEFT.tolist(), RIGHT.tolist(), csls=k), expected)


@pytest.mark.parametrize("what", ["all", "test", "unaligned", ([0, 1, 2], [0, 1, 2, 4])])
def test_means_made_before(what: Any) -> None:
    """A number of neighbours stands for the means over the candidates of the protocol."""
    task = task_of(candidates=what)
    expected = task.evaluate_embeddings(LEFT, RIGHT, csls=2)
    means = csls_means(LEFT, RIGHT, 2, candidates=task.candidates)
    assert same(task.evaluate_embeddings(LEFT, RIGHT, csls=means), expected)
    for order in "CF":
        stored = np.array(SIMILARITIES, order=order)
        assert same(task.evaluate_scores(stored, csls=means), expected)
        assert same(task.evaluate_scores(stored, csls=np.int64(2)), expected)
    assert expected.protocol.similarity == "cosine, csls 2"


def test_means_of_a_wider_dtype_are_rounded() -> None:
    task = task_of()
    fine = csls_means(LEFT.astype(np.float64), RIGHT.astype(np.float64), 3)
    rounded = fine._replace(
        queries=fine.queries.astype(np.float32), entities=fine.entities.astype(np.float32)
    )
    table = oracle.by_means(SIMILARITIES, rounded.queries, rounded.entities)
    expected = task.evaluate_scores(table)
    for means in (fine, rounded):
        assert same(task.evaluate_scores(SIMILARITIES, csls=means), expected)


def test_means_that_leave_a_candidate_out() -> None:
    left, right = np.eye(3), np.eye(3)[::-1].copy()
    means = csls_means(left, right, 1, candidates=([0, 1], [0, 1, 2]))
    refusal(ValueError, "^scores: the score .* is NaN", evaluate, left, right, [(0, 2)], csls=means)
    task = Task([(0, 2)], left=3, right=3, candidates=([0, 1], [0, 1, 2]))
    assert task.evaluate_embeddings(left, right, csls=means)["mr"] == 1
