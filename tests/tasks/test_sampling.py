"""Candidates that are drawn, beside a plain loop over the tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.triples import lists_of
from support.problems import csr
from truerank import link_prediction, retrieval
from truerank.tasks import candidates


def draw_plainly(
    known: Any, rows: Any, pools: Any, right: Any, negatives: int, seed: int
) -> list[list[int]]:
    """Draw as `draw_candidates` does; find what a number stands for in a list of what is left."""
    rng = np.random.default_rng(seed)
    starts, columns, lists = pools
    left = []
    for row, which in zip(rows, lists, strict=True):
        pool = columns[starts[which] : starts[which + 1]].tolist()
        never = set(known[1][known[0][row] : known[0][row + 1]].tolist())
        left.append([column for column in pool if column not in never])
    allowed = np.array([len(columns) for columns in left], np.int64)
    most = min(negatives, int(allowed.max(initial=0)))
    drawn: list[list[int]] = []
    for batch in candidates.batches_of(np.full(len(rows), most), candidates.NUMBERS_AT_ONCE):
        numbers = candidates._draw(allowed[batch], most, rng).tolist()
        for task in range(batch.start, batch.stop):
            mine = min(most, int(allowed[task]))
            drawn.append([left[task][number] for number in numbers[:mine]])
            numbers = numbers[mine:]
    for task, column in zip(*right, strict=True):
        drawn[task] = sorted([*drawn[task], int(column)])
    return drawn


@given(st.data())
def test_what_is_drawn(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))
    some = st.lists(st.integers(0, size - 1), unique=True).map(sorted)
    known = data.draw(st.lists(some, min_size=1, max_size=4))
    pool_lists = data.draw(st.lists(some, min_size=1, max_size=3))
    pool_of_query = data.draw(
        st.lists(st.integers(0, len(pool_lists) - 1), min_size=len(known), max_size=len(known))
    )
    rows = np.array(data.draw(st.lists(st.integers(0, len(known) - 1), max_size=8)), np.int64)
    answered = [task for task, row in enumerate(rows) if known[row]]
    answers = [data.draw(st.sampled_from(known[rows[task]])) for task in answered]
    known_lists = csr(known)
    indptr, columns = csr(pool_lists)
    pools = indptr, columns, np.array(pool_of_query, np.int64)[rows]
    right = np.array(answered, np.int64), np.array(answers, np.int64)
    negatives = data.draw(st.integers(1, 12))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "NUMBERS_AT_ONCE", data.draw(st.sampled_from([1, 10, 1000])))
        expected = draw_plainly(known_lists, rows, pools, right, negatives, 5)
        rng = np.random.default_rng(5)
        indptr, indices = candidates.draw_candidates(
            known_lists, rows, pools, right, negatives, rng
        )
    assert [part.tolist() for part in np.split(indices, indptr[1:-1])][: len(rows)] == expected


@given(st.lists(st.integers(0, 40)), st.lists(st.integers(-3, 60)), st.sampled_from([1, 1000]))
def test_counts_at_most(ascending: list[int], values: list[int], apart: int) -> None:
    """By a table of what lies close together, and by search of what lies far apart."""
    ordered = np.sort(np.array(ascending, dtype=np.int64)) * apart
    asked = np.array(values, dtype=np.int64) * apart
    found = candidates._count_at_most(ordered, asked)
    assert np.array_equal(found, np.searchsorted(ordered, asked, side="right"))


def test_a_sample_of_more_than_there_are_has_all() -> None:
    facts = [(0, 0, 1), (2, 0, 3)]
    drawn = link_prediction.Sampled
    task = link_prediction.Task(facts, {}, entities=9, candidates=drawn(20), sides=["tail"])
    assert lists_of(task.tail.candidates) == [list(range(9))] * 2
    found = retrieval.Task({0: [1, 2], 1: [3]}, entities=9, candidates=drawn(20))
    assert set(lists_of(found.answers.candidates)[0]) == set(range(9))
