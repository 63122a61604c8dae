"""Both directions counted from vectors, with and without CSLS, against the slow twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from oracles import alignment as oracle
from oracles import embeddings
from strategies.alignments import NAN_RULES, alignments, any_vectors
from support.alignment_runs import (
    LEFT,
    RIGHT,
    SIMILARITIES,
    check,
    outcome,
    same,
    task_of,
)
from truerank.alignment import both_directions, csls_means


@pytest.mark.smoke
@given(st.data(), st.sampled_from(embeddings.EXACT))
@settings(max_examples=100)
def test_vectors(data: st.DataObject, similarity: str) -> None:
    """The counts are those of the dense matrix of the same similarity.

    Both directions are counted at once, or one after the other.
    """
    drawn = data.draw(alignments(most=data.draw(st.sampled_from([7, 7, 7, 70]))))
    left, right = data.draw(any_vectors(drawn.sizes, nan=data.draw(st.booleans())))
    k = data.draw(st.one_of(st.none(), st.integers(1, 9)))
    rules = {"nan": data.draw(st.sampled_from(NAN_RULES)), "audit": data.draw(st.booleans())}
    with pytest.MonkeyPatch.context() as patch:
        for at_once in (True, False):
            patch.setattr(both_directions, "_joint_count_is_cheaper", lambda *_, at=at_once: at)
            got = outcome(
                lambda: drawn.task().evaluate_embeddings(
                    *(left, right),
                    similarity=similarity,
                    csls=k,
                    block=data.draw(st.sampled_from([None, 1, 3, 64])),
                    threads=data.draw(st.sampled_from([1, 2, 3])),
                    **rules,
                )
            )
            check(drawn, got, embeddings.score(left, right, similarity), k, **rules)
    if isinstance(got, tr.Report):
        named = similarity if k is None else f"{similarity}, csls {k}"
        assert got.protocol.similarity == named


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
