"""Lists with misses are counted as sets and loops count them, errors included."""

from __future__ import annotations

import itertools
import pickle
import signal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import lists as oracle
from strategies.count_problems import no_mask
from support.examples import examples
from support.hostile_members import rewrite
from support.interruptions import refusing_to_wait
from support.outcomes import attempt
from support.problems import csr, shared_lists
from support.refusals import refusal, refused
from truerank import _core

Array = Any
ORDERS = ("descending", "ascending")
DTYPES = ("float16", "float32", "float64", "int8", "uint64", ">f4")
VALUES = (0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan, np.nan)


class Problem(NamedTuple):
    """A call, in plain lists."""

    ids: list[list[int]]
    scores: list[list[Any]] | None
    dtype: str
    targets: list[int]
    keywords: dict[str, Any]
    form: str
    index: type = np.int64


@st.composite
def problems(draw: st.DrawFn, *, errors: bool) -> Problem:
    n = draw(st.integers(1, 9))
    lists = draw(st.integers(0, 5))
    id_range = st.integers(-3, n) if errors else st.integers(0, n - 1)
    one_list = st.lists(id_range, max_size=n + errors, unique=not errors)
    ids = [draw(one_list) for _ in range(lists)]
    dtype = draw(st.sampled_from(DTYPES))
    value: st.SearchStrategy[Any] = st.sampled_from((0, 1, 2, 3))
    if np.dtype(dtype).kind == "f":
        value = st.sampled_from(VALUES)
    scores = None
    if draw(st.sampled_from([True, True, False])):
        scores = [draw(st.lists(value, min_size=len(x), max_size=len(x))) for x in ids]
    keywords: dict[str, Any] = {"candidates": n}
    tasks = lists
    if draw(st.booleans()):
        if lists:
            tasks = draw(st.integers(0, 8))
        keywords["rows"] = draw(
            st.lists(st.integers(0, max(0, lists - 1)), min_size=tasks, max_size=tasks)
        )
    targets = draw(st.lists(st.integers(0, n - 1), min_size=tasks, max_size=tasks))
    if draw(st.booleans()):
        of_task = st.lists(st.integers(0, n - 1), max_size=40).map(lambda x: no_mask(x, n))
        if draw(st.booleans()):  # few filters, which tasks of a list share
            of_task = st.sampled_from(draw(st.lists(of_task, min_size=1, max_size=2)))
        keywords["filter"] = draw(st.lists(of_task, min_size=tasks, max_size=tasks))
    keywords["order"] = draw(st.sampled_from(ORDERS))
    if scores is not None and draw(st.booleans()):  # the best is first, or last
        falls = draw(st.booleans())
        scores = [sorted(one, reverse=falls) for one in scores]
    keywords["nan"] = draw(st.sampled_from(("raise", "worst", "worst", "omit")))
    form = draw(st.sampled_from(("padded", "ragged", "lists", "arrays")))
    if any(-1 in one for one in ids):
        form = "ragged"  # a pad is no error
    index = draw(st.sampled_from((np.int64, np.int32)))
    return Problem(ids, scores, dtype, targets, keywords, form, index)


def in_form(problem: Problem, lists: list[list[Any]], pad: Any, dtype: Any) -> Any:
    """Return the ids or the scores of a problem in its form."""
    arrays = [np.array(one, dtype) for one in lists]
    if problem.form == "padded":  # each row has a pad at least
        matrix = np.full((len(lists), max(map(len, lists), default=0) + 1), pad, dtype)
        for row, one in zip(matrix, arrays, strict=True):
            row[: len(one)] = one
        return matrix
    if problem.form == "ragged":
        return csr(problem.ids)[0], np.concatenate([np.empty(0, dtype), *arrays])
    if problem.form == "lists" and problem.dtype == "float64":
        return lists
    return arrays


def outcome(problem: Problem, **more: Any) -> list[oracle.Counted] | Exception:
    """Return what the package counts, or the error that it raises."""
    ids = in_form(problem, problem.ids, -1, problem.index)
    scores = None
    if problem.scores is not None:
        pad = np.nan if np.dtype(problem.dtype).kind == "f" else 7
        scores = in_form(problem, problem.scores, pad, problem.dtype)
    keywords = {"order": "descending", **problem.keywords, **more}
    if problem.form in ("ragged", "padded") and "filter" in keywords:
        keywords["filter"] = shared_lists(keywords["filter"])
    ranks = attempt(tr.rank_lists, ids, scores, problem.targets, **keywords)
    if isinstance(ranks, Exception):
        return ranks
    columns = (ranks.above, ranks.tied, ranks.candidates, ranks.listed)
    return [oracle.Counted(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


@pytest.mark.smoke
@given(
    st.sampled_from([True, False, False]).flatmap(lambda errors: problems(errors=errors)),
    st.integers(1, 4),
)
@examples(250)
def test_counts_and_errors_are_those_of_sets_and_loops(problem: Problem, threads: int) -> None:
    scores = problem.scores
    if scores is not None:
        scores = [np.array(one, problem.dtype).tolist() for one in scores]
    found = outcome(problem, threads=threads)
    expected: Any
    try:
        expected = oracle.count(problem.ids, scores, problem.targets, **problem.keywords)
    except oracle.Refused as refused:
        expected = refused
    if isinstance(expected, oracle.Refused):
        assert isinstance(found, tr.InputError)
        assert all(word in str(found) for word in expected.names)
    elif isinstance(found, Exception):
        raise found
    else:
        assert found == expected


def test_long_lists_and_long_filters() -> None:
    """Lists of many chunks, beside filters that are searched and filters that are read."""
    rng = np.random.default_rng(5)
    n = 30_000
    ids = [rng.permutation(n)[:k].tolist() for k in (20_000, 3, 0, 2_000, 30_000)]
    scores = [rng.integers(0, 50, len(one)).tolist() for one in ids]
    rows = rng.integers(0, 5, 40).tolist()
    targets = rng.integers(0, n, 40).tolist()
    filter = [rng.integers(0, n, size).tolist() for size in rng.integers(0, 3_000, 40)]
    given = {"candidates": n, "rows": rows, "filter": filter}
    for values in (scores, None):
        expected = oracle.count(ids, values, targets, **given)
        found = outcome(Problem(ids, values, "float64", targets, given, "lists"), threads=2)
        assert found == expected


@pytest.mark.threads
@pytest.mark.parametrize("candidates", [12_000, 90_000])  # fewer than entries, and more
def test_many_lists_are_counted_alike_by_any_number_of_threads(candidates: int) -> None:
    """Ids are found in a table of all, or by hashing; scores are in order, or are not."""
    rng = np.random.default_rng(7)
    lists, width = 8, 10_000
    ids = np.array([rng.choice(candidates, width, replace=False) for _ in range(lists)])
    rows = np.repeat(np.arange(lists), 6)
    targets = rng.integers(0, candidates, len(rows))
    targets[::2] = ids[rows[::2], rng.integers(0, width, len(rows[::2]))]
    filter = rng.integers(0, candidates, (len(rows), 5)).tolist()
    given: dict[str, Any] = {"rows": rows, "candidates": candidates, "filter": filter}
    levels = rng.integers(0, 5_000, (lists, width)).astype(np.float32)
    for scores, order in itertools.product((levels, -np.sort(-levels), None), ORDERS):
        given["order"] = order
        values = None if scores is None else scores.tolist()
        expected = oracle.count(ids.tolist(), values, targets.tolist(), **given)
        for threads in (1, 2, 5):
            ranks = tr.rank_lists(ids, scores, targets, threads=threads, **given)
            columns = (ranks.above, ranks.tied, ranks.candidates, ranks.listed)
            rows_of_ranks = zip(*(column.tolist() for column in columns), strict=True)
            assert [oracle.Counted(*row) for row in rows_of_ranks] == expected
    ids[[3, 6], 30] = ids[[3, 6], 20]
    for threads in (1, 2, 5):
        words = "in list 3, at positions 20 and 30"
        refusal(ValueError, words, tr.rank_lists, ids, None, targets, threads=threads, **given)


def test_a_fall_from_list_to_list_is_none_within_a_list() -> None:
    ranks = tr.rank_lists([[0, 1], [0, 1]], [[2, 3], [1, 0]], [0, 0], candidates=2)
    assert ranks.above.tolist() == [1, 0]


def test_bfloat16_is_what_dtype_says() -> None:
    bits = np.array([[0x3F80, 0x4000, 0xBF80]], np.uint16)  # 1, 2, -1
    ranks = tr.rank_lists([[0, 1, 2]], [bits[0]], [0], candidates=4, dtype="bfloat16")
    assert (ranks.above.tolist(), ranks.protocol.dtype) == ([1], "bfloat16")
    falling_bits = np.sort(bits)[:, ::-1]  # of -1, 2, 1
    ranks = tr.rank_lists([[0, 1, 2]], [falling_bits[0]], [0], candidates=4, dtype="bfloat16")
    assert ranks.above.tolist() == [2]


def test_pads_of_unsigned_ids_are_what_minus_one_becomes() -> None:
    """Not of so few bits that an entity may have the greatest number: then it is an id."""
    ids = np.array([[3, 1, -1], [0, -1, -1]])
    scores = np.array([[0.5, 0.25, 7], [0.5, 7, 7]])
    expected = tr.rank_lists(ids, scores, [1, 2], candidates=300)
    for dtype in (np.uint32, np.uint64, ">u4"):
        assert tr.rank_lists(ids.astype(dtype), scores, [1, 2], candidates=300) == expected
    top = tr.TopK(ids.astype(np.uint64), scores)
    task = tr.retrieval.Task({0: [1], 1: [2]}, entities=300)
    of_signed = task.evaluate_lists(tr.TopK(ids, scores))
    assert task.evaluate_lists(top).ranks == of_signed.ranks
    narrow = tr.rank_lists(np.array([[3, 255]], np.uint8), None, [255], candidates=300)
    assert narrow.above.tolist() == [1]
    wrong = np.array([[2**64 - 2, 2**64 - 1]], np.uint64)
    refused(ValueError, "ids", tr.rank_lists, wrong, None, [0], candidates=300)


WRONG: list[tuple[Any, str, dict[str, Any]]] = [
    (TypeError, "ids", {"ids": np.zeros((1, 2))}),
    (ValueError, "ids", {"ids": ([0, 2, 1, 2], [1, 2])}),
    (ValueError, "ids", {"ids": ([1, 2], [0, 2])}),
    (ValueError, "ids", {"ids": np.array([[-1, 2]])}),
    (ValueError, "ids", {"ids": np.array([[3, -1, 2, -1]])}),
    (TypeError, "scores", {"ids": ([0, 1], [1]), "scores": ([0.5], [0, 1])}),
    (ValueError, "scores", {"scores": []}),
    (ValueError, "scores", {"ids": np.array([[0, 1]]), "scores": np.ones(2)}),
    (ValueError, "scores", {"ids": ([0, 1], [1]), "scores": ([0, 1, 1], [1.0])}),
    (TypeError, "scores", {"scores": [["a", "b"]]}),
    (ValueError, "targets", {"targets": [5]}),
    (ValueError, "targets", {"targets": [1, 2]}),
    (ValueError, "rows", {"rows": [1]}),
    (ValueError, "filter", {"filter": [[7]]}),
]


@pytest.mark.parametrize(("kind", "argument", "call"), WRONG)
def test_errors_name_what_is_wrong(kind: Any, argument: str, call: dict[str, Any]) -> None:
    arguments = {"ids": [[3, 1]], "scores": None, "targets": [3], "candidates": 5}
    refused(kind, argument, tr.rank_lists, **{**arguments, **call})


RISING: list[list[float]] = [[0.1, 0.5, 0.9]] * 4
RISE = "scores rise in {} of {} list"
PLACES = "{}, each a permutation of {} to its length"
BITS = np.array([0x3F80, 0x4000, 0x4040], np.uint16)
# What the error says of scores that rise, or are places in the order in which they were shown.
REFUSED: list[tuple[str, list[Any]]] = [
    (RISE.format(4, 4), RISING),
    (RISE.format(4, 4), [[0.1, 0.5, 0.5], *RISING[1:]]),
    (RISE.format(4, 5), [*RISING, [1, 2]]),  # Two entries are no list by themselves.
    (RISE.format(4, 7), [*RISING, [0.5, 0.5], [7], []]),
    (RISE.format(1, 1), [list(range(12))]),
    (RISE.format("1,000", "1,000"), [np.arange(6, dtype=np.uint8)] * 1000),
    (RISE.format(4, 4), [BITS] * 4),
    (
        "rise in 80 of 80 lists, 240 entries, and fall at 1 of 160 steps",
        [[1, 3, 2.5], *[[1, 2, 3.5]] * 79],
    ),
    (
        "rise in 19 of 20 lists, 60 entries, and fall at 0 of 38 steps",
        [[1, 1, 1], *[[1, 2, 3.5]] * 19],
    ),
    (
        "rise in 10 of 11 lists, 30 entries, and fall at 1 of 21 steps",
        [[2, 1], *[[1, 2, 3.5]] * 10],
    ),
    (PLACES.format("4 lists", 1), [[2, 3, 1], [3, 1, 2]] * 2),
    (PLACES.format("3 lists", 0), [[2.0, 0.0, 1.0, 3.0]] * 3),
    (PLACES.format("4 lists", 1), [[7], [2, 3, 1], [0.5, 0.5], *[[3, 2, 1]] * 3, []]),
    (PLACES.format("1 list", 0), [np.arange(12, dtype=np.uint8) * 5 % 12]),
    (PLACES.format("4 lists", "0 to its length - 1 or 1"), [[2, 3, 1], [2, 0, 1]] * 2),
]


@pytest.mark.parametrize(("words", "scores"), REFUSED)
def test_lists_whose_order_may_be_another_are_refused(words: str, scores: list[Any]) -> None:
    """The option is named, and what it says is taken."""
    ids = [list(range(len(each))) for each in scores]
    options: dict[str, Any] = {"candidates": 20, "dtype": "bfloat16" if scores[0] is BITS else None}
    arguments = ids, scores, [0] * len(ids)
    words = f"^scores: .*{words}.*; order= says whether higher or lower scores are better$"
    refusal(ValueError, words, tr.rank_lists, *arguments, **options)
    scores_of_first = np.asarray(scores[0], float)
    for order, sign in (("ascending", 1), ("descending", -1)):
        ranks = tr.rank_lists(*arguments, order=order, **options)
        assert ranks.above[0] == (sign * scores_of_first < sign * scores_of_first[0]).sum()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer on this system")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_check_of_lists_can_be_interrupted(threads: int) -> None:
    lists = 200_000
    width = 50
    ids = np.tile(np.arange(width, dtype=np.int32), lists)
    selection = _core.Selection(np.arange(lists + 1) * width, ids)
    none = np.zeros(0, np.int64)

    def check_again_and_again() -> None:
        for _ in range(1000):
            _core.find_listed(selection, width, none, none, None, threads)

    with pytest.raises(TimeoutError), refusing_to_wait(0.001):
        check_again_and_again()
    assert _core.find_listed(selection, width, none, none, None, threads)[0] is None


def test_misses_travel_with_ranks(tmp_path: Path) -> None:
    path = tmp_path / "ranks.npz"
    ranks = tr.rank_lists([[4, 7], [1, 2]], None, [7, 3], candidates=10)
    ranks.save(path)
    for same in (tr.load(path), pickle.loads(pickle.dumps(ranks)), ranks.with_weights(None)):
        assert same == ranks
        assert same.listed is not None
        assert same.listed.tolist() == [True, False]
        assert not same.listed.flags.writeable
    assert ranks.protocol.lists == "order alone"
    assert ranks != tr.Ranks(ranks.above, ranks.tied, ranks.candidates, protocol=ranks.protocol)
    for listed in ([1, 0], [True]):
        rewrite(path, listed=np.array(listed))
        refusal(ValueError, "listed: ", tr.load, path)


def test_ranks_that_are_not_from_lists_have_no_misses_when_joined() -> None:
    full = tr.Ranks([0], [1], 10)
    lists = tr.rank_lists([[4, 7], [1, 2]], None, [7, 3], candidates=10)
    joined = tr.concatenate([lists, full.with_protocol(version=tr.__version__)])
    assert joined.listed is not None
    assert joined.listed.tolist() == [True, False, True]
    assert joined.protocol.lists == "mixed"
    assert tr.concatenate([full, full]).listed is None
