"""Small problems counted by hand; any that hypothesis makes, and large ones, by the definition."""

from __future__ import annotations

import pickle
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
from support.problems import (
    DTYPES,
    FLOATS,
    FORMS,
    KINDS,
    LAYOUTS,
    Array,
    as_dtype,
    csr,
    dtype_keyword,
    index_lists,
    pool,
    pool_without_nan,
)
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


def test_protocol() -> None:
    scores = np.array([[1.0, 2.0, 3.0]], np.float32)
    plain = tr.rank(scores, [0]).protocol
    assert (plain.filter, plain.candidates, plain.sampled) == ((), "all", False)
    assert (plain.nan, plain.order, plain.dtype) == ("raise", "descending", "float32")
    rules: dict[str, Any] = {"nan": "omit", "order": "ascending"}
    other = tr.rank(scores, [0], filter=csr([[1]]), candidates=[0, 1], **rules).protocol
    assert (other.filter, other.candidates) == (("unnamed",), "selection")
    assert (other.nan, other.order) == ("omit", "ascending")
    assert tr.rank(scores, [0], order="ascending").protocol.fingerprint == plain.fingerprint


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


# --- problems larger than the core's blocks, counters and thresholds


def few(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...], *, nan: bool = False
) -> Array:
    """Return a matrix of a few critical values of the dtype."""
    values = pool(dtype) if nan else pool_without_nan(dtype)
    picked: Array = rng.choice(values, 6)[rng.integers(0, 6, shape)]
    return picked


def distinct(rng: np.random.Generator, dtype: str, shape: tuple[int, int]) -> Array:
    """Return a matrix of random values of the dtype, without NaN."""
    size = as_dtype(dtype).itemsize
    height, width = shape
    scores = rng.integers(0, 256, (height, width * size), np.uint8).view(as_dtype(dtype))
    if dtype in FLOATS:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            scores[np.isnan(scores)] = 1
    return scores


@pytest.mark.parametrize("where", [0, 4096, 65535])
@pytest.mark.parametrize("dtype", list(FLOATS))
def test_one_nan_wherever_it_is(where: int, dtype: str) -> None:
    scores = np.ones((3, 66_000), as_dtype(dtype))
    scores[1, where] = scores[1, -1] = scores[2, 0] = np.nan
    nans = [[where, 65_999], [0], []]
    for rule in ("raise", "omit"):
        check(scores, [5, 6, 7], rows=[1, 1, 2], nan=rule)
        check(scores, 5, rows=[1, 2, 0], filter=nans, nan=rule, audit=True)
        check(scores, 5, rows=[2, 1, 1], filter=[[0], nans[0], [where]], nan=rule)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "int16", "float32"])
def test_counters_do_not_overflow(dtype: str) -> None:
    n = 2_200_000  # more than 65,536 for each of 32 lanes
    scores = np.ones((1, n), as_dtype(dtype))
    for order, last in (("descending", 0), ("ascending", 2)):
        scores[0, -1] = last  # worse than all others: n - 1 above, in every lane of every vector
        targets = [n - 1, 0, n - 2, 1_000_000]
        for tasks in (1, 2, 4):
            rules: dict[str, Any] = {"rows": [0] * tasks, "order": order, "audit": True}
            check(scores, targets[:tasks], threads=1, **rules)


def test_counters_do_not_overflow_with_many_tasks_or_fortran_order() -> None:
    scores = np.zeros((3, 100_000), np.int8)
    scores[:, 5] = -1
    for layout in ("C", "Fortran", "one row for all"):
        laid = LAYOUTS[layout](scores)
        check(laid, [5, 6] * 20, rows=[2] * 40, audit=True)
        check(laid, 5, audit=True)
    # Columns are counted side by side where many rows are read, and no audit is asked for.
    scores = np.zeros((128, 300), np.int8)
    scores[:, 5] = -1
    check(LAYOUTS["Fortran"](scores), 5)
    nans = np.full((1, 1_000_000), np.nan, np.float16)
    check(nans, 70_000, nan="worst", audit=True)
    nans[0, 0] = 1
    check(nans, 0, nan="omit", audit=True)
    check(nans, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_an_audit_of_long_rows(dtype: str, order: str) -> None:
    """The best score comes in the first of the pieces that are read, in the last, or in several."""
    rng = np.random.default_rng(8)
    scores = np.sort(rng.integers(1, 100, (5, 40_011))).astype(as_dtype(dtype))
    scores[1] = scores[1, ::-1].copy()
    scores[2:] = rng.permutation(scores[2:], axis=1)
    if dtype in FLOATS:
        scores[[2, 3, 3, 3], [40_010, 0, 20_000, 40_000]] = [INF, -INF, INF, -INF]
        scores[:, rng.integers(0, 40_011, 50)] = NAN
        scores[4] = NAN
    rules: dict[str, Any] = {"order": order, "nan": "worst", "audit": True}
    check(scores, [7, 0, 40_010, 40_000, 5], **rules)
    # Several tasks, true scores that are equal, and what is filtered: it is read again.
    filtered = [[0, 40_010], [0, 20_000, 40_010], [40_010], [0, 40_000]]
    check(scores, [7, 8, 9, 9], rows=[0, 1, 3, 3], filter=filtered, **rules)


BLOCK = 5_462  # So many tasks have 128 KB of counts.


@pytest.mark.parametrize("audit", [False, True])
def test_counts_of_many_tasks_lie_in_one_block(audit: bool) -> None:
    """They are what the definition says, and whoever copies one array copies no other."""
    rng = np.random.default_rng(5)
    scores = rng.integers(-3, 4, (BLOCK, 3)).astype(np.float32)
    scores[::7, 1] = INF
    scores[scores == 3] = NAN
    targets = rng.integers(0, 3, BLOCK)
    true = scores[np.arange(BLOCK), targets]
    nans = np.isnan(scores).sum(axis=1)
    above = np.where(np.isnan(true), 2, (scores > true[:, None]).sum(axis=1))
    tied = np.maximum((scores == true[:, None]).sum(axis=1), 1)
    for tasks in (BLOCK - 1, BLOCK):
        ranks = tr.rank(scores[:tasks], targets[:tasks], nan="worst", audit=audit)
        assert (ranks.above.base is None) == (tasks < BLOCK)
        assert np.array_equal(ranks.above, above[:tasks])
        assert np.array_equal(ranks.tied, tied[:tasks])
        assert (ranks.candidates == 3).all()
        for counted in (ranks.above, ranks.tied, ranks.candidates):
            assert (counted.dtype, counted.shape) == (np.int64, (tasks,))
            assert counted.flags.c_contiguous
            assert counted.flags.aligned
            assert not counted.flags.writeable
            assert len(pickle.dumps(counted)) < 8 * tasks + 1000
        if audit:
            best = np.fmax.reduce(scores[:tasks], axis=1, keepdims=True)
            assert np.array_equal(ranks.audit.nan, nans[:tasks])
            assert np.array_equal(ranks.audit.inf, np.isinf(scores[:tasks]).sum(axis=1))
            assert np.array_equal(ranks.audit.at_best, (scores[:tasks] == best).sum(axis=1))
        assert pickle.loads(pickle.dumps(ranks)) == ranks


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("order", "sign"), [("descending", 1), ("ascending", -1)])
def test_masked_targets_are_found_among_many_tasks(order: Any, sign: int, dtype: str) -> None:
    """They are looked for in parts of 16,384 tasks, and of tasks that are last."""
    scores = np.ones((70_000, 2), dtype)
    scores[::2, 0] = 0  # The true score is last of every other task, and ties in the others.
    scores[5:9, 1] = -INF  # Beside a true score, the worst one masks nothing,
    scores[9, 0] = INF  # nor does the best one.
    places = [0, 1, 16_383, 16_384, 40_001, 69_999]
    scores[places, 0] = -INF
    masked = tr.rank(sign * scores, 0, order=order).masked
    assert masked is not None
    assert np.flatnonzero(masked).tolist() == places
    scores[places, 0] = -1
    assert tr.rank(sign * scores, 0, order=order).masked is None
    scores[69_999, 0] = -INF
    masked = tr.rank(sign * scores, 0, order=order).masked
    assert masked is not None
    assert np.flatnonzero(masked).tolist() == [69_999]


def test_counters_do_not_overflow_with_five_low_true_scores() -> None:
    # So much of a row is counted at once; with the narrowest vectors it is more than 16 bits count.
    # True scores are not among the first, by which the way to count is chosen.
    scores = np.random.default_rng(8).random((1, 1_000_000))
    scores[0, -5:] = np.arange(1, 6) / 1e5
    check(scores, range(999_995, 1_000_000), rows=[0] * 5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_every_pattern_of_sixteen_bits(dtype: str, order: str) -> None:
    bits = np.random.default_rng(3).permutation(65536).astype(np.uint16)
    scores = bits.view(as_dtype(dtype))[np.newaxis]
    targets = list(range(0, 65536, 64))
    rows = [0] * len(targets)
    check(scores, targets, rows=rows, order=order, nan="worst", audit=True)
    check(scores, targets, rows=rows, order=order)
    # One task per row takes another path through the code than a thousand tasks on one row.
    for target in targets[::20]:
        check(scores, target, nan="worst", order=order)


WIDTHS = (0, 37, 74, 111, 148, 185, 222, 259, 296, 1000, 4095, 4096, 4097, 16_384, 16_385)
WIDTHS += (65_535, 65_537, 200_000, 1_200_000)
TASKS = (1, 2, 3, 4, 7, 8, 10, 15, 16, 17, 33, 64, 100, 700, 5000)


def anything(seed: int) -> tuple[Array, list[int], dict[str, Any]]:
    """The dtype, layout, size, tasks, selections and rules are all drawn."""
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(DTYPES))
    width = int(rng.choice(WIDTHS)) + int(rng.integers(1, 4))
    height = min(int(rng.choice([1, 2, 5, 40, 300, 700, 300_000])), max(2, 400_000 // width))
    nan = bool(rng.integers(0, 2))
    if rng.integers(0, 2):
        scores = few(rng, dtype, (height, width), nan=nan)
    else:
        scores = distinct(rng, dtype, (height, width))
        if nan and dtype in FLOATS:
            scores[rng.integers(0, height, 9), rng.integers(0, width, 9)] = np.nan
    scores = LAYOUTS[str(rng.choice(list(LAYOUTS)))](scores)

    tasks = int(rng.choice(np.concatenate([[height], TASKS])))
    tasks = min(tasks, max(20, 4_000_000 // width))
    targets = rng.integers(0, width, tasks).tolist()
    keywords: dict[str, Any] = {"rows": rng.integers(0, rng.choice([1, 2, height]), tasks) % height}
    forms = [form for form in FORMS if form != "csr int16"]  # too narrow for these columns
    selected = tasks * width < 1_000_000 and rng.integers(0, 3) > 0
    if selected and rng.integers(0, 2):
        most = 50
        if tasks < 100:
            most = int(rng.choice([0, 3, 50, width, 3 * width]))
        lists = index_lists(rng, int(rng.integers(1, 9)), width, most)
        keywords["filter"] = [lists[k] for k in rng.integers(0, len(lists), tasks)]
        keywords["filter_form"] = str(rng.choice(forms))
    kind = rng.integers(0, 4) if selected else 2
    if kind == 0:  # one list for all
        chosen = rng.integers(0, width, int(rng.choice([0, 3, 50, width]))).tolist()
        chosen += set(targets)  # each once: the slow definition reads the list for every task
        keywords["candidates"] = [chosen] * tasks
        keywords["candidates_form"] = str(rng.choice(["shared int64", "shared list"]))
    elif kind == 1:  # lists of tasks
        lists = index_lists(rng, 5, width, int(rng.choice([3, 50, width])))
        used = rng.integers(0, 5, tasks)
        with_targets = [lists[k] + targets[i : i + 1] for i, k in enumerate(used)]
        # One that could be a mask of integers is refused: it gets an entry more.
        keywords["candidates"] = [
            columns + columns[-1:] * (len(columns) == width and max(columns) < 2)
            for columns in with_targets
        ]
        keywords["candidates_form"] = str(rng.choice(forms))
    keywords["order"] = str(rng.choice(["descending", "ascending"]))
    keywords["nan"] = str(rng.choice(["raise", "worst", "worst", "omit"]))
    keywords["audit"] = bool(rng.integers(0, 2))
    keywords["threads"] = [1, 2, 3, None][rng.integers(0, 4)]
    return scores, targets, keywords


@given(st.integers(0, 2**32))
@examples(240)
def test_anything(seed: int) -> None:
    scores, targets, keywords = anything(seed)
    try:
        check(scores, targets, **keywords)
    except AssertionError as error:
        error.add_note(f"{scores.shape} {scores.strides} {scores.dtype}")
        raise


@pytest.mark.parametrize("columns", ["side by side", "far apart"])
@pytest.mark.parametrize("rows", [[0, 1, 2], [2]])
def test_rows_farther_apart_than_32_bits_count(
    rows: list[int], columns: str, sanitized: bool
) -> None:
    """Nearly all of the memory is never written to."""
    if sanitized:
        pytest.skip("a sanitizer has no 6 GB to give")
    try:
        if columns == "far apart":
            scores = np.zeros((2, 3, 2**30), np.int8)[:, :, 0].T
        else:
            scores = np.zeros((3, 2**30), np.int8)[:, :2]
    except MemoryError:
        pytest.skip("the system does not promise 6 GB")
    scores[:] = [[2, 2], [7, 7], [3, 5]]
    lists: list[dict[str, Any]] = [{}, {"filter": [[1]] * len(rows)}, {"candidates": [0, 1]}]
    lists.append({"audit": True})
    for options, above in zip(lists, (1, 0, 1, 1), strict=True):
        ranks = tr.rank(scores, [0] * len(rows), rows=rows, **options)
        assert ranks.above.tolist() == [0, 0, above][-len(rows) :]
        assert ranks.tied[-1] == 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("candidates", [[1, 2], [[1, 2]] * 3])
def test_the_first_task_whose_target_is_no_candidate_is_named(
    candidates: Any, threads: int
) -> None:
    """The first of the tasks, whatever rows these read."""
    options = {"rows": [2, 0, 1], "candidates": candidates, "threads": threads}
    refusal(ValueError, "target 0 of task 0", tr.rank, np.ones((3, 5)), [0, 0, 0], **options)


def test_more_columns_than_32_bits_count(sanitized: bool) -> None:
    if sanitized:
        pytest.skip("a sanitizer has no 4 GB to give")
    n = 2**32 + 5
    try:
        scores = np.zeros((1, n), np.int8)  # never written to, so that it takes no memory
    except MemoryError:
        pytest.skip("the system does not promise 4 GB")
    ranks = tr.rank(scores, [n - 1], filter=[[2**32 + 1, 0]])
    assert (ranks.above.tolist(), ranks.tied.tolist()) == ([0], [n - 2])
    assert ranks.candidates.tolist() == [n - 2]
