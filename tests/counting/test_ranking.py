"""Small problems counted by hand, and any that hypothesis makes, by the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import count
from strategies.count_problems import Problem, problems
from support.examples import examples
from support.outcomes import check
from support.problems import KINDS, LAYOUTS, csr, dtype_keyword, pool, pool_without_nan
from support.refusals import refusal

INF = np.inf
NAN = np.nan


def counts(ranks: tr.Ranks) -> list[tuple[int, int, int]]:
    """(above, tied, candidates) of every task."""
    return list(
        zip(ranks.above.tolist(), ranks.tied.tolist(), ranks.candidates.tolist(), strict=True)
    )


def rank_row(row: Any, target: int, *, filter: Any = None, **rules: Any) -> tuple[int, int, int]:
    """Return the counts of one task on one row of float32, after a check with the definition."""
    scores = np.array(row, np.float32)
    selection = None
    lists = None
    if filter is not None:
        selection = csr([filter])
        lists = [filter]
    (got,) = counts(tr.rank(scores, target, filter=selection, **rules))
    expected = count(scores, target, filter=lists, **rules)
    assert got == (expected.above[0], expected.tied[0], expected.candidates[0])
    return got


LAST = {"nan": "worst"}
UP = {"order": "ascending"}
ROW = [2, NAN, 3, 2, NAN, 1]
# Mistakes by number, where they have one: the row, the target, filter and rules, the counts.
CASES: dict[str, list[tuple[list[float], int, dict[str, Any], tuple[int, int, int]]]] = {
    "1: a NaN truth is never better than last, and ties with no NaN": [
        ([NAN, NAN, 0.2, NAN], 0, LAST, (3, 1, 4)),
        ([NAN, NAN, 0.2, 0.3], 0, {**LAST, **UP, "filter": [1, 2]}, (1, 1, 2)),
    ],
    "2: filtered scores are not -inf": [
        ([-INF, -INF, 3, 2], 0, {"filter": [2, 3]}, (0, 2, 2)),
        ([INF, INF, 3, 2], 0, {**UP, "filter": [2, 3]}, (0, 2, 2)),
    ],
    "3: infinite candidates count": [
        ([2, INF, INF, 1], 0, {}, (2, 1, 4)),
        ([-INF, -INF, 0], 1, {}, (1, 2, 3)),
    ],
    "4: no tolerance": [([-1000, -999.95, -999.93, -999.92], 0, {}, (3, 1, 4))],
    "5: repeated filter entries": [([5, 9, 1], 0, {"filter": [2, 1, 2, 1]}, (0, 1, 1))],
    "6: a filtered candidate that ties": [
        ([5, 5, 1, 5], 0, {"filter": [1]}, (0, 2, 3)),
        ([0.0, -0.0, 1], 0, {"filter": [1]}, (1, 1, 2)),
    ],
    "7: the target in the filter, everything in it, one candidate": [
        ([5, 9, 1], 0, {"filter": [0, 0, 1]}, (0, 1, 2)),
        ([5], 0, {"filter": [0]}, (0, 1, 1)),
    ],
    "8: constant scores": [([0.25] * 257, 9, {}, (0, 257, 257))],
    "9: neighbours of big magnitudes": [([2**24, 2**24 + 2, 2**24, 2**24 - 1], 0, {}, (1, 2, 4))],
    "orders": [([3, 1, 2], 0, UP, (2, 1, 3)), ([3, 1, 2], 2, {}, (1, 1, 3))],
    "NaN among the candidates, and filtered": [
        (ROW, 0, LAST, (1, 2, 6)),
        (ROW, 0, {**UP, "nan": "omit"}, (1, 2, 4)),
        (ROW, 0, {"filter": [4, 1, 1, 4, 4]}, (1, 2, 4)),
        ([-INF, NAN, NAN], 0, LAST, (0, 1, 3)),
    ],
    "a NaN truth that the filter lists": [
        ([NAN, 2, 1], 0, {**LAST, "filter": [0]}, (2, 1, 3)),
        (ROW, 1, {**LAST, "filter": [0, 1, 4]}, (3, 1, 4)),
        (ROW, 1, {**LAST, **UP, "filter": [0, 1, 2, 3, 4, 5]}, (0, 1, 1)),
    ],
}


@pytest.mark.smoke
@pytest.mark.parametrize("name", CASES)
def test_counts_by_hand(name: str) -> None:
    for row, target, rules, expected in CASES[name]:
        assert rank_row(row, target, **rules) == expected


@pytest.mark.smoke
def test_case_7_no_tasks() -> None:
    none = np.empty(0, np.int64)
    indptr, indices = csr([[], []])
    for shape in ((0, 5), (0, 0), (5, 0), (5, 3)):
        for filter in (None, csr([]), [], (indptr, indices, none)):
            assert counts(tr.rank(np.zeros(shape), none, rows=none, filter=filter)) == []


@pytest.mark.smoke
def test_case_7_rows_without_columns_cost_no_memory() -> None:
    """An empty array has as many rows as it likes: 10**12 targets would take 8 TB."""
    scores = np.empty((10**12, 0))
    for kept in (scores, tr.open_scores(scores)):
        refusal(tr.InputValueError, r"targets: ", tr.rank, kept, 0)


# --- any problem


@pytest.mark.smoke
@given(st.booleans().flatmap(lambda errors: problems(nan=True, errors=errors)))
@examples(250)
def test_rank_counts_and_refuses_as_the_definition_does(problem: Problem) -> None:
    event(problem.keywords["nan"])
    check(problem.scores, problem.targets, **problem.keywords)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_every_pair_of_values(kind: str, order: str) -> None:
    """Each critical value of each dtype is the true score among all of them."""
    rules: dict[str, Any] = {"order": order, "dtype": dtype_keyword(kind), "audit": True}
    for layout in ("C", "byte-swapped", "unaligned"):
        for values in (pool(kind), pool_without_nan(kind)):
            scores = LAYOUTS[layout](values[np.newaxis])
            targets = list(range(len(values)))
            for rule in ("raise", "worst"):
                check(scores, targets, rows=[0] * len(targets), nan=rule, **rules)
