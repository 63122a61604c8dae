"""Small problems counted by hand: known mistakes, by number, and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from oracles.counting import Refused, count, count_large
from support.error_kinds import is_of_kind
from support.problems import csr

pytestmark = pytest.mark.smoke

INF = np.inf
NAN = np.nan
RULES = ("raise", "worst", "omit")


def counts(ranks: tr.Ranks) -> list[tuple[int, int, int]]:
    """(above, tied, candidates) of every task."""
    return list(
        zip(ranks.above.tolist(), ranks.tied.tolist(), ranks.candidates.tolist(), strict=True)
    )


def rank_row(row: Any, target: int, *, filter: Any = None, **rules: Any) -> tuple[int, int, int]:
    """Return the counts of one task on one row of float32, after a check with the definition."""
    scores = np.array(row, np.float32)
    selection = None if filter is None else csr([filter])
    (got,) = counts(tr.rank(scores, target, filter=selection, **rules))
    lists = None if filter is None else [filter]
    for oracle in (count, count_large):
        expected = oracle(scores, target, filter=lists, **rules)
        assert got == (expected.above[0], expected.tied[0], expected.candidates[0])
    return got


# --- 1: NaN true score


def test_case_1_nan_truth_is_refused() -> None:
    scores = np.array([[NAN, 0.1, 0.2, 0.3]])
    for rule in ("raise", "omit"):
        with pytest.raises(ValueError, match=r"row 0\b.*column 0\b") as error:
            tr.rank(scores, [0], nan=rule)
        assert is_of_kind(error.value, ValueError)


@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_case_1_nan_truth_is_never_better_than_last(order: str) -> None:
    assert rank_row([NAN, 0.1, 0.2, 0.3], 0, nan="worst", order=order) == (3, 1, 4)
    # NaN never ties with NaN.
    assert rank_row([NAN, NAN, 0.2, NAN], 0, nan="worst", order=order) == (3, 1, 4)
    assert rank_row([NAN, NAN, NAN, NAN], 2, nan="worst", order=order) == (3, 1, 4)
    assert rank_row([NAN, NAN, 0.2, 0.3], 0, nan="worst", order=order, filter=[1, 2]) == (1, 1, 2)
    assert rank_row([NAN], 0, nan="worst", order=order) == (0, 1, 1)


# --- 2: a true score of -inf, and a filter


@pytest.mark.parametrize("rule", RULES)
def test_case_2_minus_infinity_truth_with_filter(rule: str) -> None:
    ranks = tr.rank(np.array([[-INF, 3, 2, 1, 0]]), [0], filter=csr([[1, 2]]), nan=rule)
    assert counts(ranks) == [(2, 1, 3)]
    assert ranks.optimistic.tolist() == ranks.pessimistic.tolist() == [3]
    assert ranks.realistic.tolist() == [3.0]
    assert ranks.random(0).tolist() == [3]


def test_case_2_filtered_scores_are_not_minus_infinity() -> None:
    # A filter that writes a sentinel makes the filtered scores tie with the true score.
    assert rank_row([-INF, -INF, 3, 2], 0, filter=[2, 3]) == (0, 2, 2)
    assert rank_row([INF, INF, 3, 2], 0, filter=[2, 3], order="ascending") == (0, 2, 2)


# --- 3: +inf candidates


def test_case_3_infinite_candidates_count() -> None:
    assert rank_row([2, INF, INF, 1], 0) == (2, 1, 4)
    assert rank_row([2, -INF, -INF, 1], 0, order="ascending") == (3, 1, 4)
    assert rank_row([INF, INF, INF, 1], 0) == (0, 3, 4)
    assert rank_row([-INF, -INF, 0], 1) == (1, 2, 3)


# --- 4: no tolerance


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_4_no_tolerance(dtype: type) -> None:
    scores = np.array([[-1000, -999.95, -999.93, -999.92]], dtype)
    assert counts(tr.rank(scores, [0])) == [(3, 1, 4)]


# --- 5: repeated filter entry


def test_case_5_repeated_filter_entry() -> None:
    assert rank_row([5, 9, 1], 0, filter=[1, 1]) == (0, 1, 2)
    assert rank_row([5, 9, 1], 0, filter=[1] * 100) == (0, 1, 2)
    assert rank_row([5, 9, 1], 0, filter=[2, 1, 2, 1]) == (0, 1, 1)


# --- 6: a filtered candidate that ties


def test_case_6_filtered_tie() -> None:
    assert rank_row([5, 5, 1], 0, filter=[1]) == (0, 1, 2)
    assert rank_row([5, 5, 1, 5], 0, filter=[1]) == (0, 2, 3)
    assert rank_row([0.0, -0.0, 1], 0, filter=[1]) == (1, 1, 2)


# --- 7: edges


def test_case_7_filter_with_target_everything_single_candidate() -> None:
    assert rank_row([5, 9, 1], 0, filter=[0]) == (1, 1, 3)
    assert rank_row([5, 9, 1], 0, filter=[0, 0, 1]) == (0, 1, 2)
    assert rank_row([5, 9, 1], 0, filter=[0, 1, 2]) == (0, 1, 1)
    assert rank_row([5, 9, 1], 0, filter=[2, 1, 0] * 5) == (0, 1, 1)
    assert rank_row([5], 0) == (0, 1, 1)
    assert rank_row([5], 0, filter=[0]) == (0, 1, 1)
    assert counts(tr.rank(np.array([[7, 9.0]]), [0], candidates=[0])) == [(0, 1, 1)]


def test_case_7_k_larger_than_candidates() -> None:
    report = tr.report(tr.rank(np.array([[5.0, 9.0, 1.0]]), [2]))
    assert report["hits@3"] == report["hits@10"] == report["hits@1000"] == 1.0
    assert report["hits@2"] == 0.0


@pytest.mark.parametrize("shape", [(0, 5), (0, 0), (5, 0), (5, 3)])
@pytest.mark.parametrize("filter", [None, csr([]), [], (*csr([[0], [1]]), np.zeros(0, int))])
@pytest.mark.parametrize("audit", [False, True])
def test_case_7_no_tasks(shape: tuple[int, int], filter: Any, audit: bool) -> None:
    if shape[1] == 0 and isinstance(filter, tuple) and len(filter) == 3:
        filter = (*csr([[], []]), np.zeros(0, int))
    none = np.empty(0, np.int64)
    for targets in (none, [], 0) if shape[1] else (none, []):
        ranks = tr.rank(np.zeros(shape), targets, rows=none, filter=filter, audit=audit)
        assert len(ranks) == 0
        assert counts(ranks) == []
        assert (ranks.audit is not None) == audit
    if shape[0] == 0:
        assert len(tr.rank(np.zeros(shape), none)) == 0
        assert len(tr.rank(np.zeros(shape), none, candidates=none)) == 0


def test_case_7_rows_without_columns_cost_no_memory() -> None:
    """An empty array has as many rows as it likes: 10**12 targets would take 8 TB."""
    scores = np.empty((10**12, 0))
    for kept in (scores, tr.open_scores(scores)):
        with pytest.raises(tr.InputValueError, match=r"targets: expected .* .0 columns"):
            tr.rank(kept, 0)


def test_case_7_no_tasks_on_one_row() -> None:
    assert len(tr.rank(np.zeros(5), np.empty(0, np.int64))) == 0


# --- 8: constant scores


@pytest.mark.parametrize("n", [1, 2, 3, 10, 255, 256, 257, 1000])
@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_case_8_constant_scores(n: int, order: str) -> None:
    ranks = tr.rank(np.full((3, n), 0.25, np.float16), [0, n // 2, n - 1], order=order)
    assert ranks.optimistic.tolist() == [1] * 3
    assert ranks.pessimistic.tolist() == [n] * 3
    assert ranks.realistic.tolist() == [(n + 1) / 2] * 3


# --- 9: big magnitudes


@pytest.mark.parametrize(
    ("dtype", "big"),
    [(np.float16, 4096), (np.float32, 2e7), (np.float32, 2.0**24), (np.float64, 2.0**53)],
)
def test_case_9_big_magnitudes(dtype: type, big: float) -> None:
    true_score = np.array(big, dtype)
    up, down = (
        np.nextafter(true_score, np.array(INF, dtype)),
        np.nextafter(true_score, np.array(0, dtype)),
    )
    scores = np.array([[true_score, up, true_score, down, down, down, true_score]], dtype)
    assert len(np.unique(scores)) == 3
    assert counts(tr.rank(scores, [0])) == [(1, 3, 7)]
    assert counts(tr.rank(scores, [0], order="ascending")) == [(3, 3, 7)]
    assert counts(tr.rank(-scores, [0])) == [(3, 3, 7)]
    assert counts(tr.rank(-scores, [1])) == [(6, 1, 7)]


@pytest.mark.parametrize("top", [2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1])
def test_case_9_integers_past_the_doubles(top: int) -> None:
    near = top - 1 if top > 0 else top + 1
    scores = np.array([[top, near, top, near, near]], np.int64)
    above, below = (0, 2) if top > near else (3, 0)
    assert counts(tr.rank(scores, [0])) == [(above, 2, 5)]
    assert counts(tr.rank(scores, [1])) == [(below, 3, 5)]


def test_case_9_unsigned_integers_are_not_signed() -> None:
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64):
        top = np.iinfo(dtype).max
        half = top // 2
        scores = np.array([[0, half, half + 1, top, half]], dtype)
        assert counts(tr.rank(scores, [1])) == [(2, 2, 5)]
        assert counts(tr.rank(scores, [2])) == [(1, 1, 5)]
        assert counts(tr.rank(scores, [3])) == [(0, 1, 5)]
        assert counts(tr.rank(scores, [0], order="ascending")) == [(0, 1, 5)]


# --- 10: exact realistic ranks


def test_case_10_realistic_rank_past_float32() -> None:
    n = 2**24 + 2
    ranks = tr.rank(np.broadcast_to(np.int8(3), (1, n)), [n - 1])
    assert counts(ranks) == [(0, n, n)]
    assert ranks.realistic.tolist() == [8388609.5]  # float32 would say 8388610.0


def test_case_10_realistic_rank_past_int32() -> None:
    n = 2**31 + 2
    ranks = tr.Ranks([0, n], [n, 2 * n - 1], [n, 3 * n])
    assert ranks.pessimistic.tolist() == [n, 3 * n - 1]
    assert ranks.realistic.tolist() == [(n + 1) / 2, 2.0 * n]


# --- 11: invariance (threads, block sizes and instruction sets have tests of their own)


def test_case_11_permuting_candidates() -> None:
    rng = np.random.default_rng(11)
    scores = rng.integers(-3, 4, (20, 501)).astype(np.float32)
    targets = rng.integers(0, 501, 20)
    filters = [rng.integers(0, 501, 9) for _ in range(20)]
    chosen = [np.append(rng.integers(0, 501, 300), t) for t in targets]
    expected = tr.rank(scores, targets, filter=filters, candidates=chosen, audit=True)
    for _ in range(5):
        new = rng.permutation(501)  # column c moves to new[c]
        moved = np.empty_like(scores)
        moved[:, new] = scores
        ranks = tr.rank(
            moved,
            new[targets],
            filter=[rng.permutation(new[f]) for f in filters],
            candidates=[rng.permutation(new[c]) for c in chosen],
            audit=True,
        )
        assert ranks == expected


def test_case_11_permuting_tasks() -> None:
    rng = np.random.default_rng(12)
    scores = rng.integers(-3, 4, (7, 300)).astype(np.int8)
    rows, targets = rng.integers(0, 7, 200), rng.integers(0, 300, 200)
    filters = [rng.integers(0, 300, 5) for _ in range(200)]
    expected = tr.rank(scores, targets, rows=rows, filter=filters)
    order = rng.permutation(200)
    ranks = tr.rank(scores, targets[order], rows=rows[order], filter=[filters[i] for i in order])
    assert ranks == expected[order]


# --- 12 is test_errors.py and test_selections.py


# --- beyond the numbered cases


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_zeros_are_equal(dtype: type) -> None:
    scores = np.array([[0.0, -0.0, 1, -1, -0.0]], dtype)
    for order in ("descending", "ascending"):
        for target in (0, 1, 4):
            assert counts(tr.rank(scores, [target], order=order)) == [(1, 3, 5)]


def test_order() -> None:
    assert rank_row([3, 1, 2], 2) == (1, 1, 3)
    assert rank_row([3, 1, 2], 0, order="ascending") == (2, 1, 3)
    assert rank_row([3, 1, 2], 1, order="ascending") == (0, 1, 3)


def test_lowest_integer_cannot_be_negated() -> None:
    scores = np.array([[-128, 127, -127, -128]], np.int8)
    assert counts(tr.rank(scores, [0], order="ascending")) == [(0, 2, 4)]
    assert counts(tr.rank(scores, [1], order="ascending")) == [(3, 1, 4)]


def test_nan_candidates() -> None:
    row = [2, NAN, 3, 2, NAN, 1]
    assert rank_row(row, 0, nan="worst") == (1, 2, 6)
    assert rank_row(row, 0, nan="omit") == (1, 2, 4)
    assert rank_row(row, 0, nan="worst", order="ascending") == (1, 2, 6)
    assert rank_row(row, 0, nan="omit", order="ascending") == (1, 2, 4)
    assert rank_row([-INF, NAN, NAN], 0, nan="worst") == (0, 1, 3)
    assert rank_row([-INF, NAN, NAN], 0, nan="omit") == (0, 1, 1)


def test_filtered_nan_does_not_matter() -> None:
    row = [2, NAN, 3, 2, NAN, 1]
    for rule in RULES:
        assert rank_row(row, 0, nan=rule, filter=[1, 4]) == (1, 2, 4)
        assert rank_row(row, 0, nan=rule, filter=[4, 1, 1, 4, 4]) == (1, 2, 4)
        assert rank_row(row, 0, nan=rule, filter=[1, 4, 2, 0]) == (0, 2, 3)
    assert rank_row(row, 0, nan="worst", filter=[1]) == (1, 2, 5)
    assert rank_row(row, 0, nan="omit", filter=[1]) == (1, 2, 4)
    with pytest.raises(ValueError, match=r"row 0\b.*column 4\b"):
        tr.rank(np.array(row), 0, filter=csr([[1]]))


def test_nan_truth_in_the_filter_still_matters() -> None:
    scores = np.array([[NAN, 1.0, 2.0]])
    for rule in ("raise", "omit"):
        with pytest.raises(ValueError, match=r"row 0\b.*column 0\b"):
            tr.rank(scores, [0], filter=csr([[0, 1]]), nan=rule)
    ranks = tr.rank(scores, [0], filter=csr([[0, 1]]), nan="worst")
    assert counts(ranks) == [(1, 1, 2)]


@pytest.mark.parametrize("rule", RULES)
def test_nan_outside_the_candidates_does_not_matter(rule: str) -> None:
    scores = np.array([[NAN, 1.0, 2.0, NAN], [5.0, NAN, 7.0, 6.0]])
    ranks = tr.rank(scores, [1, 2], candidates=csr([[1, 2, 2], [3, 0, 2]]), nan=rule)
    assert counts(ranks) == [(1, 1, 2), (0, 1, 3)]
    ranks = tr.rank(scores, [2], rows=[0], candidates=np.array([2, 1]), nan=rule)
    assert counts(ranks) == [(0, 1, 2)]
    ranks = tr.rank(scores, [3], rows=[1], candidates=[3, 1, 2], filter=[[1]], nan=rule)
    assert counts(ranks) == [(1, 1, 2)]


@pytest.mark.parametrize("rule", RULES)
def test_nan_in_unread_rows_does_not_matter(rule: str) -> None:
    scores = np.array([[NAN, NAN], [1.0, 2.0], [NAN, 1.0]])
    assert counts(tr.rank(scores, [0, 1], rows=[1, 1], nan=rule)) == [(1, 1, 2), (0, 1, 2)]


def test_the_first_nan_by_row_then_column() -> None:
    scores = np.zeros((4, 6))
    scores[3, 0] = scores[2, 5] = scores[2, 4] = NAN
    with pytest.raises(ValueError, match=r"row 2\b.*column 4\b"):
        tr.rank(scores, 0)
    # Task order does not matter, nor which task of the row sees the NaN.
    filters = csr([[], [4], [5]])
    with pytest.raises(ValueError, match=r"row 2\b.*column 4\b"):
        tr.rank(scores, [1, 1, 1], rows=[3, 2, 2], filter=filters)
    with pytest.raises(ValueError, match=r"row 2\b.*column 5\b"):
        tr.rank(scores, [1, 1], rows=[3, 2], filter=csr([[], [4]]))
    with pytest.raises(ValueError, match=r"row 3\b.*column 0\b"):
        tr.rank(scores, [1, 1], rows=[3, 2], filter=csr([[], [4, 5]]))
    # Under omit only NaN true scores count: (3, 0) and (2, 5) and (2, 4), not in this order.
    with pytest.raises(ValueError, match=r"row 2\b.*column 4\b"):
        tr.rank(scores, [0, 5, 4, 1], rows=[3, 2, 2, 0], nan="omit")
    with pytest.raises(ValueError, match=r"row 2\b.*column 5\b"):
        tr.rank(scores, [0, 5, 3, 1], rows=[3, 2, 2, 0], nan="omit")


def test_rows() -> None:
    scores = np.array([[1, 2, 3], [6, 5, 4], [7, 9, 8]])
    ranks = tr.rank(scores, [0, 0, 1, 2, 0], rows=[2, 0, 0, 2, 2])
    assert counts(ranks) == [(2, 1, 3), (2, 1, 3), (1, 1, 3), (1, 1, 3), (2, 1, 3)]
    assert counts(tr.rank(scores, 1, rows=[1, 1, 0])) == [(1, 1, 3)] * 3
    assert counts(tr.rank(scores, 1)) == [(1, 1, 3), (1, 1, 3), (0, 1, 3)]


def test_lists_are_shared_by_tasks_of_one_row_and_of_several() -> None:
    scores = np.array([[1, 2, 3, 4], [4, 3, 2, 1]], np.float32)
    lists = (*csr([[3, 2, 3], [0], []]), np.array([0, 2, 0, 1]))
    ranks = tr.rank(scores, [0, 0, 0, 3], rows=[0, 0, 1, 1], filter=lists)
    assert counts(ranks) == [(1, 1, 2), (3, 1, 4), (0, 1, 2), (2, 1, 3)]
    lists = (*csr([[3, 2, 0, 3], [3]]), np.array([0, 0, 0, 1]))
    ranks = tr.rank(scores, [0, 2, 0, 3], rows=[0, 0, 1, 1], candidates=lists)
    assert counts(ranks) == [(2, 1, 3), (1, 1, 3), (0, 1, 3), (0, 1, 1)]


def test_filter_within_candidates() -> None:
    scores = np.array([[1, 2, 3, 4, 5]], np.float32)
    # 4 is filtered without being a candidate, 3 is both, the target is both.
    ranks = tr.rank(scores, [0], candidates=csr([[0, 1, 3]]), filter=csr([[4, 3, 0]]))
    assert counts(ranks) == [(1, 1, 2)]
    assert counts(tr.rank(scores, [0], candidates=[0, 1, 3], filter=[[4, 3, 0]])) == [(1, 1, 2)]


def test_audit() -> None:
    scores = np.array([[1, INF, NAN, INF, -INF, NAN], [2, 1, 2, 2, 0, -1], [NAN] * 6])
    ranks = tr.rank(scores, 0, nan="worst", audit=True)
    assert [x.tolist() for x in ranks.audit[:3]] == [[2, 0, 6], [3, 0, 0], [2, 3, 0]]
    assert [x.tolist() for x in (ranks.audit.nan, ranks.audit.inf, ranks.audit.at_best)] == [
        [2, 0, 6],
        [3, 0, 0],
        [2, 3, 0],
    ]
    assert ranks.audit.differing.tolist() == [0, 0, 0]  # nothing was scored twice
    ranks = tr.rank(scores[:2], 0, nan="omit", audit=True, order="ascending")
    assert [x.tolist() for x in ranks.audit[:3]] == [[2, 0], [3, 0], [1, 1]]
    assert counts(ranks) == [(1, 1, 4), (3, 3, 6)]
    # The best score is the row's: leaving it out leaves nobody there.
    ranks = tr.rank(scores[:2], 0, filter=[[1, 3, 2], [0, 2]], nan="worst", audit=True)
    assert [x.tolist() for x in ranks.audit[:3]] == [[1, 0], [1, 0], [0, 2]]
    # With candidates it is the best of them.
    ranks = tr.rank(scores[:2], 0, candidates=[0, 4, 1], filter=[[1], []], audit=True)
    assert [x.tolist() for x in ranks.audit[:3]] == [[0, 0], [1, 0], [0, 1]]
    ranks = tr.rank(scores[:2], 0, candidates=[0, 4], audit=True)
    assert [x.tolist() for x in ranks.audit[:3]] == [[0, 0], [1, 0], [1, 1]]


def test_audit_of_integers() -> None:
    ranks = tr.rank(np.array([[7, 7, -8], [1, 2, 3]], np.int8), 0, audit=True)
    assert [x.tolist() for x in ranks.audit[:3]] == [[0, 0], [0, 0], [2, 1]]


def test_protocol() -> None:
    scores = np.array([[1.0, 2.0, 3.0]], np.float32)
    plain = tr.rank(scores, [0]).protocol
    assert (plain.filter, plain.candidates, plain.sampled) == ((), "all", False)
    assert (plain.nan, plain.order) == ("raise", "descending")
    assert plain.dtype == "float32"
    other = tr.rank(
        scores, [0], filter=csr([[1]]), candidates=[0, 1], nan="omit", order="ascending"
    ).protocol
    assert (other.filter, other.candidates) == (("unnamed",), "selection")
    assert (other.nan, other.order) == ("omit", "ascending")
    assert tr.rank(scores, [0], order="ascending").protocol.fingerprint == plain.fingerprint


def test_ranks_are_fresh_and_read_only() -> None:
    ranks = tr.rank(np.array([[1.0, 2.0]]), [0], audit=True)
    assert ranks.audit is not None
    for array in (ranks.above, ranks.tied, ranks.candidates, *ranks.audit):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_oracles_agree_on_refusals() -> None:
    scores = np.array([[1, NAN, 2], [NAN, 1, 1]])
    for oracle in (count, count_large):
        with pytest.raises(Refused) as refused:
            oracle(scores, [0, 1])
        assert refused.value.nan == (0, 1)
        with pytest.raises(Refused) as refused:
            oracle(scores, [0, 0], nan="omit")
        assert refused.value.nan == (1, 0)
