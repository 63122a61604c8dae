"""RankCounter: any blocks give the counts of `rank` for the whole matrix."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import tasks_of
from strategies.count_problems import problems
from support.examples import examples
from support.interruptions import interrupted
from support.outcomes import Problem, assert_outcome, attempt, defined, quietly
from support.problems import (
    FAITHFUL,
    KINDS,
    LAYOUTS,
    Array,
    as_dtype,
    dtype_keyword,
    pool,
    pool_without_nan,
)
from support.refusals import T, V, refusal, refused
from truerank.counting import partial_counts
from truerank.counting.job import Job

SCORES = np.array([[0.1, 0.9, 0.5, 0.5], [0.7, 0.2, 0.2, 0.3]])
TARGETS = np.array([2, 1])
TRUE = SCORES[[0, 1], TARGETS]


def counter(**keywords: Any) -> tr.RankCounter:
    return tr.RankCounter(TRUE, TARGETS, **{"candidates": 4, **keywords})


def fed(*columns: Any, **keywords: Any) -> tr.RankCounter:
    """Return a counter of some columns."""
    one = counter(**keywords)
    for some in columns:
        one.update(SCORES[:, some], columns=some)
    return one


def sums(*counters: tr.RankCounter) -> tr.Ranks:
    """Return the ranks of the sum of counts."""
    return counters[0].ranks(sum(one.counts() for one in counters))


def assert_equal(got: tr.Ranks, expected: tr.Ranks) -> None:
    assert got == expected
    assert got.protocol == expected.protocol


def saved(one: tr.RankCounter) -> tr.RankCounter:
    with tempfile.TemporaryDirectory() as folder:
        one.save(Path(folder, "counter.npz"))
        return tr.RankCounter.load(Path(folder, "counter.npz"))


# What may be done to a counter after a block.
AFTER_A_BLOCK: list[Callable[[tr.RankCounter], tr.RankCounter]] = [
    lambda one: one,
    lambda one: pickle.loads(pickle.dumps(one)),  # type: ignore[no-any-return]
    saved,
]


def feed(one: tr.RankCounter, scores: Array, columns: Array, data: st.DataObject) -> None:
    """Hand over columns, with the number of the first where that will do, or of each."""
    layout = LAYOUTS[data.draw(st.sampled_from(FAITHFUL))]
    block = layout(np.atleast_2d(scores)[:, columns])
    if scores.ndim == 1:
        block = block[0]
    where: dict[str, Any] = {"columns": columns}
    if columns.size and (np.diff(columns) == 1).all() and data.draw(st.booleans()):
        where = {"start": int(columns[0])}
    one.update(block, **where)


def draw_ranks(problem: Problem, data: st.DataObject) -> tr.Ranks | Exception:
    """Count a problem by counters of blocks, or return the error of a NaN."""
    scores = problem.scores
    width = scores.shape[-1]
    _, keywords = problem.call()
    targets, rows = tasks_of(scores, problem.targets, keywords.get("rows"))
    names = ("order", "nan", "dtype", "filter", "threads", "audit")
    options = {name: keywords[name] for name in names if name in keywords}
    if scores.ndim == 2 and ("rows" in keywords or len(scores) == 1):
        options["rows"] = rows  # A counter is told, too, where all tasks read a single row.
    true_scores = np.atleast_2d(scores)[rows, targets]
    order = np.arange(width)
    if data.draw(st.booleans()):
        order = np.random.default_rng(data.draw(st.integers(0, 2**32))).permutation(width)
    blocks = np.split(order, sorted(data.draw(st.lists(st.integers(0, width), max_size=4))))
    number = data.draw(st.integers(1, 3))
    make = partial(tr.RankCounter, true_scores, targets, candidates=width, **options)
    try:
        counters = [make() for _ in range(number)]
    except ValueError as error:
        return error
    for columns in data.draw(st.permutations(blocks)):
        place = data.draw(st.integers(0, number - 1))
        before = pickle.dumps(counters[place])
        try:
            feed(counters[place], scores, columns, data)
        except ValueError as error:
            assert pickle.dumps(counters[place]) == before, "a refused block changes the counter"
            return error
        counters[place] = data.draw(st.sampled_from(AFTER_A_BLOCK))(counters[place])
    return merged(data.draw(st.permutations(counters)), is_audited=keywords["audit"])


def merged(counters: list[tr.RankCounter], *, is_audited: bool) -> tr.Ranks:
    """Merge counters into the first of them; the others stay as they are."""
    first, *others = counters
    pickles = list(map(pickle.dumps, others))
    summed = None
    if not is_audited:
        summed = first.ranks(sum(one.counts() for one in counters))
    for other in others:
        first.merge(other)
    assert pickles == list(map(pickle.dumps, others)), "a merge changes the other counter"
    ranks = first.ranks()
    assert summed is None or summed == ranks
    return ranks


@given(problems(nan=True, errors=False), st.data())
@examples(100)
def test_blocks_count_what_the_whole_does(problem: Problem, data: st.DataObject) -> None:
    """Blocks come in any order to any number of counters, which are saved, pickled and merged."""
    keywords = {k: v for k, v in problem.keywords.items() if not k.startswith("candidates")}
    expected = defined(Problem(problem.scores, problem.targets, keywords))
    assert_outcome(draw_ranks(problem, data), expected, audit=keywords["audit"])


def as_numbers(scores: Array) -> Array:
    """Return scores as numbers that numpy compares."""
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        return scores if scores.dtype.kind in "iu" else scores.astype(np.float64)


@given(st.data())
@examples(200)
def test_what_is_saved_loads(data: st.DataObject) -> None:
    """Also beside true scores that are NaN, and of columns that are contiguous, as in a model's
    scores that were turned: many rows of them are counted side by side.
    """
    kind = data.draw(st.sampled_from(KINDS) | st.sampled_from(["float16", "bfloat16"]))
    nan = data.draw(st.sampled_from(["worst", "worst", "omit"]))
    values = pool(kind)
    numbers = pool_without_nan(kind)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    tasks = data.draw(st.sampled_from([5, 32, 70]))
    width = data.draw(st.integers(1, 40))
    scores = values[rng.integers(0, len(values), (tasks, width))]
    pool_of_true = values if nan == "worst" else numbers
    true_scores = pool_of_true[rng.integers(0, len(pool_of_true), tasks)]
    options: dict[str, Any] = {
        "order": data.draw(st.sampled_from(["descending", "ascending"])),
        "audit": data.draw(st.booleans()),
        "dtype": dtype_keyword(kind),
        "nan": nan,
    }
    one = tr.RankCounter(true_scores, **options)
    layout = LAYOUTS[data.draw(st.just("Fortran") | st.sampled_from(FAITHFUL))]
    for block in np.split(scores, [data.draw(st.integers(0, width))], axis=1):
        one.update(layout(block))
        one = saved(one)
    if "bfloat16" in kind:  # Raw bytes may be.
        true_scores, scores = (x.view(as_dtype("bfloat16")) for x in (true_scores, scores))
    true, others = as_numbers(true_scores)[:, None], as_numbers(scores)
    counts, _ = one._total
    assert counts["above"].tolist() == (others > true).sum(axis=1).tolist()
    assert counts["tied"].tolist() == (others == true).sum(axis=1).tolist()
    assert counts["nan"].tolist() == (others != others).sum(axis=1).tolist()


def test_nothing_is_above_a_nan_or_tied_with_it() -> None:
    true_scores = np.array([0, np.nan, np.nan, 1] * 8, np.float16)
    block = np.tile(np.array([[0, 1], [np.nan, 2], [1, 1], [1, np.nan]], np.float16), (8, 1))
    for layout in (np.ascontiguousarray, np.asfortranarray):
        one = tr.RankCounter(true_scores, nan="worst")
        one.update(layout(block))
        above, tied, candidates, nans, *_ = saved(one).counts()
        assert above[:4].tolist() == [1, 0, 0, 0]
        assert tied[:4].tolist() == [1, 0, 0, 1]
        assert candidates[:4].tolist() == [2, 2, 2, 2]
        assert nans[:4].tolist() == [0, 1, 0, 1]


def test_a_model_that_scores_a_pair_twice_is_told_of() -> None:
    one = counter(audit=True)
    one.update(np.where(SCORES == 0.2, 0.25, SCORES))
    with pytest.warns(UserWarning, match=r"1 of 2 true candidates .* first task 1"):
        ranks = one.ranks()
    (told,) = [finding for finding in tr.report(ranks).audit() if finding.name == "rescored"]
    assert told.count == 1


def test_numbers_of_any_kind(tmp_path: Path) -> None:
    one = tr.RankCounter(np.zeros(1), [0], candidates=200)
    one.update(np.zeros((1, 50)), start=np.int8(100))  # whose columns do not wrap
    refused(V, "block", one.update, np.zeros((1, 50)), start=np.int8(100))
    zeros = tr.RankCounter([0.0, np.nan], nan="worst")
    zeros.merge(tr.RankCounter([-0.0, -np.nan], nan="worst"))
    options: dict[str, Any] = {"threads": np.int64(2), "audit": np.bool_(True)}
    given = counter(**options, nan=np.str_("omit"))
    given.save(tmp_path / "counter.npz")
    assert repr(tr.RankCounter.load(tmp_path / "counter.npz")) == repr(given)


def test_the_filter_is_the_counters_own() -> None:
    indices = np.array([1, 3, 0])
    one = counter(filter=(np.array([0, 2, 3]), indices))
    one.update(SCORES[:, :2], start=0)
    indices[:] = 2
    one.update(SCORES[:, 2:], start=2)
    assert_equal(one.ranks(), tr.rank(SCORES, TARGETS, filter=[[1, 3], [0]]))


@pytest.mark.parametrize("method", ["update", "merge"])
def test_a_call_that_is_interrupted_has_counted_all_or_nothing(method: str) -> None:
    """A repeated call is refused if the first one was completed, and is counted if not."""
    expected = tr.rank(SCORES, TARGETS, audit=True)
    for stop in range(1, 1000):
        one = counter(audit=True)
        other = counter(audit=True)
        one.update(SCORES[:, :1], start=0)
        other.update(SCORES[:, 1:], start=1)
        calls = {
            "update": lambda one=one: one.update(SCORES[:, 1:], start=1),
            "merge": lambda one=one, other=other: one.merge(other),
        }
        if not interrupted(calls[method], stop, ("counter.py", "driver.py", "partial_counts.py")):
            break
        try:
            calls[method]()
        except ValueError as error:
            if "column 1" not in str(error):
                raise
        assert_equal(one.ranks(), expected)
    assert 20 < stop < 999


# -- what is refused -------------------------------------------------------------------------------


NARROW = SCORES.astype("f4")
PART = SCORES[:, 2:]
WITH_NAN = np.array([0.1, np.nan, 0.3])
FORM = (np.array([0, 1, 1]), np.array([3]), np.array([0, 1]))
against = partial(tr.rank_against, TRUE)
# Of a counter of two of four columns: the error, the argument that it names, and the call.
REFUSED: list[tuple[Any, str, Callable[[tr.RankCounter], object]]] = [
    (T, "start", lambda one: one.update(PART)),
    *[(V, "start", lambda one, i=i: one.update(PART, start=i)) for i in (3, -1, 2**63 - 1)],
    *[(V, "block", lambda one, i=i: one.update(PART, start=i)) for i in (0, 1)],
    *[(V, "columns", lambda one, x=x: one.update(PART, columns=x)) for x in ([2, 4], [2], [2, 2])],
    (V, "block", lambda one: one.update(PART, columns=[2, 1])),
    (V, "columns", lambda one: one.update(PART, start=2, columns=[2, 3])),
    (T, "block", lambda one: one.update(NARROW[:, 2:], start=2)),
    (V, "block", lambda one: one.update(SCORES[None, :, 2:], start=2)),
    (V, "block", lambda _: counter(rows=[0, 2]).update(SCORES)),
    (V, "block", lambda _: tr.RankCounter(TRUE).update(TRUE)),
    (V, "block", lambda _: tr.RankCounter([0.5]).update([0.1, 0.7, 0.9])),
    (V, "block", lambda _: tr.RankCounter([0.5]).update([[0.1], [0.7], [0.9]])),
    (V, "block", lambda _: tr.RankCounter([0.5, 0.2]).update([[0.1], [0.7], [0.9]])),
    (V, "start", lambda _: tr.RankCounter(TRUE).update(SCORES, start=0)),
    (T, "others", lambda _: against(NARROW)),
    (V, "others", lambda _: against(np.ones((3, 1)))),
    (V, "true_scores", lambda _: tr.rank_against(SCORES, SCORES)),
    (V, "others", lambda _: against(([0, 1, 2], SCORES))),
    (V, "others", lambda _: against(([0, 1, 3], SCORES[0]))),
    (V, "others", lambda _: against(([0, 5, 4], SCORES[0]))),
    (T, "others", lambda _: against(([0, 1, 4], NARROW[0]))),
    (T, "others", lambda _: against(NARROW[:1])),
    (T, "candidates", lambda _: counter(candidates=None)),
    (V, "candidates", lambda _: tr.RankCounter(TRUE, candidates=4)),
    (V, "targets", lambda _: counter(candidates=2)),
    (V, "targets", lambda _: tr.RankCounter(TRUE, [1], candidates=4)),
    (V, "rows", lambda _: counter(rows=[-1, 0])),
    (V, "filter", lambda _: tr.RankCounter(TRUE, filter=[[], []])),
    (V, "other", lambda one: one.merge(one)),
    (V, "other", lambda one: one.merge(fed([1, 2]))),
    (V, "other", lambda one: one.merge(counter(order="ascending"))),
    (V, "other", lambda one: one.merge(counter(candidates=5))),
    (V, "other", lambda one: one.merge(counter(filter=[[0], []]))),
    (V, "other", lambda _: counter(filter=FORM[:2]).merge(counter(filter=FORM))),
    (V, "other", lambda one: one.merge(tr.RankCounter(TRUE, [2, 2], candidates=4))),
    (V, "other", lambda one: one.merge(tr.RankCounter(-TRUE, TARGETS, candidates=4))),
    (V, "other", lambda one: one.merge(tr.RankCounter(NARROW[0, :2], [2, 1], candidates=4))),
    (V, "counts", lambda one: one.ranks(one.counts()[:, :1])),
    (T, "counts", lambda one: one.ranks(one.counts() * 1.0)),
    (V, "counts", lambda one: one.ranks(one.counts())),
    (V, "counts", lambda one: sums(one, fed([2, 3], filter=[[0], []]))),
    (V, "counts", lambda one: sums(one, fed([2, 3], nan="omit"))),
    (V, "audit", lambda _: counter(audit=True).counts()),
]


@pytest.mark.parametrize(("kind", "argument", "call"), REFUSED)
def test_what_is_refused(kind: Any, argument: str, call: Any) -> None:
    one = fed([0, 1])
    before = pickle.dumps(one)
    refused(kind, argument, call, one)
    assert pickle.dumps(one) == before


@pytest.mark.parametrize("true_scores", [[0.5], [0.5, 0.2], [0.5, 0.2, 0.8]])
def test_negatives_of_all_tasks_are_one_row_that_rows_name(true_scores: list[float]) -> None:
    """What the message of numbers in one dimension says has the right counts."""
    block = np.array([0.1, 0.7, 0.9])
    words = r"block: expected \(tasks, k\), a row for each; or \(1, k\) with rows=\[0, "
    refusal(ValueError, words, tr.RankCounter(true_scores).update, block)
    one = tr.RankCounter(true_scores, rows=[0] * len(true_scores))
    one.update(block[None])
    assert one.ranks().above.tolist() == [(block > x).sum() for x in true_scores]
    with_rows = tr.RankCounter(true_scores[:1], rows=[1])
    with_rows.update(block[:, None])  # One task may read any row of several.
    assert with_rows.ranks().above.tolist() == [int(block[1] > true_scores[0])]


def test_a_nan_is_named_by_its_place() -> None:
    for nan, problem in (
        ("raise", "is NaN"),
        ("omit", "is NaN, and the true score cannot be omitted"),
    ):
        words = f"task 1 {problem}; nan='worst' "
        refusal(ValueError, words, tr.RankCounter, [0.5, np.nan], nan=nan)
        refusal(ValueError, words, tr.rank_against, [0.5, np.nan], SCORES, nan=nan)
    lists = ([0, 1, 3], WITH_NAN)
    refusal(ValueError, "position 1, of task 1, is NaN", against, lists)
    refusal(ValueError, "the score at position 1 is NaN", against, WITH_NAN[None])
    wrong = np.where(np.arange(8).reshape(2, 4) == 7, np.nan, SCORES)[:, [3, 2]]
    words = r"NaN.*row 1, column 0 \(column 3\)|row 1, column 0 \(column 3\).*NaN"
    refusal(ValueError, words, counter().update, wrong, columns=[3, 2])
    # Two tasks of one row and list: each leaves its own target out, and the first its NaN with it.
    shared = np.where(np.isin(np.arange(6), [2, 4]), np.nan, np.zeros((1, 6)))
    one = tr.RankCounter([1.0, 1.0], [2, 0], candidates=6, rows=[0, 0])
    refusal(ValueError, r"row 0, column 2 is NaN", one.update, shared)


# -- sampled negatives -----------------------------------------------------------------------------


def some_scores(rng: np.random.Generator, dtype: str) -> Array:
    scores = rng.integers(-2, 3, (6, 9)).astype(as_dtype(dtype))
    if scores.dtype.kind not in "iu":
        special = rng.random(scores.shape) < rng.choice([0, 0.1])
        scores[special] = rng.choice([np.nan, np.inf, -np.inf, -0.0], special.sum())
    return scores


DTYPES = st.sampled_from(["float16", "float32", ">f4", "float64", "bfloat16", "int8", "uint8"])
ORDERS = st.sampled_from(["descending", "ascending"])


@given(
    st.integers(0, 2**32),
    DTYPES,
    ORDERS,
    st.sampled_from(["raise", "worst", "omit"]),
    st.booleans(),
)
@examples(100)
def test_sampled_negatives_are_counted_as_given(
    seed: int, dtype: str, order: str, nan: str, audit: bool
) -> None:
    """What `rank` counts with the true scores as one more column.

    Of matrices, of a list for each task, and of one list for all, which is sorted.
    """
    rng = np.random.default_rng(seed)
    scores = some_scores(rng, dtype)
    rules: dict[str, Any] = {"order": order, "nan": nan, "audit": audit}
    true_scores = rng.permuted(scores, axis=1)[:, 0]
    lengths = rng.integers(0, 10, 6)
    ragged = np.concatenate([row[:n] for row, n in zip(scores, lengths, strict=True)])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    for_all = scores[0, : lengths[0]]
    forms = [
        (true_scores, scores, scores, [9] * 6),
        (true_scores, (indptr, ragged), scores, lengths),
        (true_scores, for_all[None], scores[[0] * 6], [len(for_all)] * 6),
        (true_scores[:, None], for_all[None], scores[[0] * 6], [len(for_all)] * 6),
    ]
    for true, others, matrix, sizes in forms:
        beside = np.concatenate([true_scores[:, None], matrix], axis=1)
        allowed = [list(range(n + 1)) for n in sizes]
        expected = attempt(tr.rank, beside, 0, candidates=allowed, **rules)
        got = attempt(tr.rank_against, true, others, **rules)
        if isinstance(expected, Exception):
            assert "is NaN" in str(expected)
            assert "is NaN" in str(got)
            continue
        assert got.protocol.sampled
        assert_equal(got.with_protocol(sampled=False, candidates="selection"), expected)


def test_a_long_list_for_all_is_read_from_a_file_and_not_compared_pair_by_pair(
    tmp_path: Path,
) -> None:
    """A million of both would be 10^12 pairs."""
    scores = np.random.default_rng(3).permutation(1_000_000)
    np.save(tmp_path / "others.npy", scores[None])
    ranks = tr.rank_against(scores, tmp_path / "others.npy", order="descending")
    assert (ranks.above == 999_999 - scores).all()
    assert (ranks.tied == 2).all()


@given(st.integers(0, 2**32), DTYPES, ORDERS)
def test_the_block_has_no_say_in_the_truth(seed: int, dtype: str, order: str) -> None:
    """Whatever the target's column holds, the given true score counts, and once."""
    rng = np.random.default_rng(seed)
    scores = some_scores(rng, dtype)
    rules = {"order": order, "nan": "worst", "audit": True}
    rows = np.arange(6)
    targets = rng.integers(0, 9, 6)
    true_scores = scores[rows, targets]
    others = scores.copy()
    others[rows, targets] = rng.permutation(true_scores)
    one = tr.RankCounter(true_scores, targets, candidates=9, **rules)
    for block in np.split(rng.permutation(9), [3, 3, 7]):
        one.update(others[:, block], columns=block)
    theirs = others[rows, targets]
    differing = (theirs != true_scores) & ((theirs == theirs) | (true_scores == true_scores))
    assert (one.differing == differing).all()
    ranks = quietly(one.ranks)
    expected = tr.rank(scores, targets, **rules)
    for name in ("above", "tied", "candidates"):
        np.testing.assert_array_equal(getattr(ranks, name), getattr(expected, name))
    assert ranks.audit is not None
    assert expected.audit is not None
    assert (ranks.audit.differing == differing).all()
    np.testing.assert_array_equal(ranks.audit[:3], expected.audit[:3])


@pytest.mark.threads
@pytest.mark.parametrize("audit", [False, True])
def test_several_threads_update_one_counter(audit: bool) -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 9, (40, 3000)).astype(np.int16)
    targets = rng.integers(0, 3000, 40)
    one = tr.RankCounter(scores[np.arange(40), targets], targets, candidates=3000, audit=audit)
    starts = rng.permutation(np.arange(0, 3000, 100)).tolist()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda s: one.update(scores[:, s : s + 100], start=s), starts))
    assert_equal(one.ranks(), tr.rank(scores, targets, audit=audit))


@pytest.mark.threads
def test_two_threads_at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No block is lost that another thread adds meanwhile, and none is counted twice."""
    one = fed([0])
    count = Job.count
    add_counts = partial_counts.add_counts
    other = Thread(target=one.update, args=[SCORES[:, 1:2]], kwargs={"start": 1})

    def add_beside_another(*arguments: Any) -> None:
        monkeypatch.setattr(partial_counts, "add_counts", add_counts)
        other.start()
        other.join(0.2)  # It has to wait for this one.
        add_counts(*arguments)

    def count_beside_another(*arguments: Any) -> Any:
        monkeypatch.setattr(Job, "count", count)
        counts = count(*arguments)
        one.update(SCORES[:, 3:], start=3)
        return counts

    monkeypatch.setattr(partial_counts, "add_counts", add_beside_another)
    monkeypatch.setattr(Job, "count", count_beside_another)
    one.update(SCORES[:, 2:3], start=2)
    other.join()
    assert_equal(one.ranks(), tr.rank(SCORES, TARGETS))
    one = fed([0])
    monkeypatch.setattr(Job, "count", count_beside_another)
    refusal(V, "^block: column 3 has been counted", one.update, SCORES[:, 3:], start=3)


def test_missing_columns_are_named() -> None:
    one = fed([3, 0])
    refusal(V, r"column 1 has not been counted \(2 of 4 columns are missing\)", one.ranks)
    assert repr(one) == "RankCounter(2 tasks, float64, 2 of 4 columns)"


def test_what_is_summed() -> None:
    whole = fed(range(4))
    counts = whole.counts()
    assert counts.dtype == np.int64
    assert counts[:6].tolist() == [[1, 2], [1, 1], [3, 3], [0, 0], [0, 0], [4, 4]]
    assert whole.ranks(counts) == whole.ranks()
    counts[:] = 0  # the array is the caller's
    assert whole.ranks(whole.counts()) == whole.ranks()
    wrong = counter()
    wrong.update(np.where(SCORES == 0.2, 0.25, SCORES))
    with pytest.warns(UserWarning, match="true_scores: 1 of 2 .* first task 1"):
        sums(counter(), wrong)
    # Indices of a filter may be of 32 bits in one process and of 64 in another.
    lists = [(np.array([0, 2, 3]), np.array([1, 3, 0], dtype)) for dtype in (np.int32, np.int64)]
    parts = [fed(some, filter=filter) for some, filter in zip(([0, 1], [2, 3]), lists, strict=True)]
    assert sums(*parts) == fed(range(4), filter=lists[0]).ranks()


def test_sampled_blocks_add_up() -> None:
    one = tr.RankCounter(TRUE)
    other = tr.RankCounter(TRUE)
    one.update(SCORES[:, :1])
    other.update(SCORES[:, 1:])
    other.update(SCORES[:, 1:])
    expected = tr.rank_against(TRUE, SCORES[:, [0, 1, 2, 3, 1, 2, 3]])
    assert sums(one, other) == expected
    assert_equal(one.merge(other).ranks(), expected)
    assert repr(one) == "RankCounter(2 tasks, float64, sampled)"


def test_sums_as_tensors() -> None:
    torch = pytest.importorskip("torch", reason="tensors of torch")
    whole = fed(range(4))
    assert whole.ranks(torch.from_numpy(whole.counts())) == whole.ranks()
