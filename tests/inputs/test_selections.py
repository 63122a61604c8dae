"""Filters and candidates: every form means the same sets, and errors name bad ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import count
from support.interruptions import allocating_at_most
from support.problems import assert_same, refuse
from support.refusals import refusal
from truerank.inputs.selection import parsed_selection

SCORES = np.arange(20, dtype=np.float32).reshape(4, 5)
FOUR = [0, 1, 2, 3]
INDPTR = np.arange(5)
INDICES = np.arange(4)
ENDS = [[0, 1, 2, 3], [0, 1, 2, 3, 4, 4], [0, 2, 1, 3, 4], [0, 1, 2, 3, 5], [0, 1, 2, 3, 2**33]]
ENDS += [[-1, 1, 2, 3, 4], [0, -1, 2, 3, 4], []]
USES = [[0, 1, 1, bad] for bad in (-1, 4, 2**32, -(2**63))] + [[0, 1, 1], np.zeros((4, 1), int)]
# Selections of four tasks and five columns that are none, with the kind of the error.
VALUES: list[Any] = [(np.array(ends, np.int64), INDICES) for ends in ENDS]
VALUES += [(INDPTR, INDICES, np.array(uses)) for uses in USES]
VALUES += [(INDPTR, INDICES[:, np.newaxis]), (INDPTR[np.newaxis], INDICES)]
VALUES += [[[0], [1], [2]], [[0], [1], [2], [3], [4]], [[[0]], [[1]], [[2]], [[3]]]]
VALUES += [np.ones(shape, bool) for shape in ((5, 4), (4,), (4, 5, 1), ())]
VALUES += [scipy.sparse.coo_array(np.ones(shape)) for shape in ((4, 6), (3, 5))]
TYPES: list[Any] = [(INDPTR, INDICES, np.zeros(4, kind)) for kind in (float, bool)]
TYPES += [(INDPTR, INDICES.astype(kind)) for kind in (float, bool, object)]
TYPES += [[[kind(i)] for i in range(4)] for kind in (float, bool, str)]
TYPES += [(INDPTR.astype(float), INDICES), [np.zeros(1)] * 4, [{0}, [1], (2,), {"a"}], object()]
EITHER: list[Any] = [(INDPTR,), (INDPTR, INDICES, FOUR, FOUR), ()]
OF_A_FILTER: list[tuple[Any, Any]] = [
    (np.ones(5, bool), ValueError),
    (np.eye(4, 5, dtype=int), TypeError),
    ([{0}, [1], (2,), 3], ValueError),
    ([{0}, [1], (2,), None], TypeError),
    ({0: [0], 1: [1], 2: [2], 3: [3]}, TypeError),
    ({1, 2}, TypeError),
    (np.array([1, 2, 3, 4]), tr.InputError),
    (3, tr.InputError),
]
REFUSED = [("filter", *each) for each in OF_A_FILTER]
for name in ("filter", "candidates"):
    REFUSED += [(name, selection, ValueError) for selection in VALUES]
    REFUSED += [(name, selection, TypeError) for selection in TYPES]
    REFUSED += [(name, selection, tr.InputError) for selection in EITHER]


@pytest.mark.parametrize(("name", "selection", "kind"), REFUSED)
def test_what_is_no_selection(name: str, selection: Any, kind: Any) -> None:
    refusal(kind, f"^{name}: ", tr.rank, SCORES, FOUR, **{name: selection})


def test_candidates_that_are_all_columns() -> None:
    expected = count(SCORES, FOUR)
    for candidates in (np.ones(5, bool), range(5), np.arange(5)[::-1]):
        assert_same(tr.rank(SCORES, FOUR, candidates=candidates), expected)


def test_masks_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="masks of torch")
    table = torch.zeros((4, 5), dtype=torch.bool)
    table[0, 1] = table[3, 0] = True
    expected = count(SCORES, FOUR, filter=[[1], [], [], [0]])
    assert_same(tr.rank(SCORES, FOUR, filter=table), expected)
    assert_same(tr.rank(torch.tensor(SCORES), FOUR, filter=table.T.contiguous().T), expected)


def test_large_masks_are_not_copied() -> None:
    """Beside a mask stand its indices, and some rows at a time."""
    table = np.zeros((2000, 50_000), bool)  # 100 MB
    table[:, ::1000] = True
    with allocating_at_most(table.nbytes // 20):
        found = parsed_selection("filter", table, *table.shape)
    assert len(found.indices) == 2000 * 50


PLAIN_LISTS = st.lists(st.integers(0, 6), max_size=5)


@given(value=st.lists(PLAIN_LISTS, min_size=2, max_size=3).map(tuple), tasks=st.integers(1, 4))
@example(value=([0, 1, 2], [2, 3]), tasks=2)
@example(value=([0, 1, 2], [2, 3], [0, 1, 1]), tasks=3)
def test_tuples_of_plain_lists(value: tuple[list[int], ...], tasks: int) -> None:
    """They might be (indptr, indices), or a list for each task."""
    scores = np.arange(7.0 * tasks).reshape(tasks, 7)
    refusal(tr.InputTypeError, "filter: ", tr.rank, scores, [6] * tasks, filter=value)


def test_target_outside_a_large_selection() -> None:
    scores = np.zeros((2, 100_000), np.int8)
    columns = np.arange(0, 100_000, 2)
    tr.rank(scores, [99_998, 0], candidates=columns)
    refuse(ValueError, "candidates", scores, [99_998, 1], candidates=columns)
    refuse(ValueError, "candidates", scores, [0, 99_999], candidates=columns[::-1])
