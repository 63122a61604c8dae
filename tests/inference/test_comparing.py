"""`compare` against scipy, and against three more units where few carry the difference."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from inference.test_intervals import of_ranks
from metrics.test_contributions import drawn
from support.examples import examples
from support.refusals import refusal, refused
from truerank.inference import Comparisons, compare, interval
from truerank.inference.comparing import corrected
from truerank.inference.intervals import differences, note_on, paired_test
from truerank.metrics.contributions import mean_and_influences

DIFFERENCES = ("mr", "mrr", "hits@3", "index.mr", "ratio.mrr")


def moved(ranks: tr.Ranks, seed: int, most: int = 4) -> tr.Ranks:
    """Another model over the same tasks."""
    rng = np.random.default_rng(seed)
    above = np.clip(
        ranks.above + rng.integers(-most, most + 1, len(ranks)), 0, ranks.candidates - 4
    )
    labels = dict(ranks.labels)
    return tr.Ranks(above, ranks.tied, ranks.candidates, weights=ranks.weights, labels=labels)


def paired_by_definition(
    x: np.ndarray[Any, Any], level: float, most: float
) -> tuple[float, float, float, bool]:
    """The p-value and interval of the mean of differences, and whether three more units count.

    These have the mean 0 and the mean square M^2. `most` is how far two values may be apart.
    """
    n = len(x)
    square = np.square(x - x.mean())
    carriers = square.sum() ** 2 / np.square(square).sum() if np.ptp(x) > 1e-12 else 0.0
    k = np.count_nonzero(x)
    size = np.abs(x).max()
    more = 0
    if carriers < min(30, n / 4):
        more = 3
        if k < n and most < math.inf:
            size = max(size, most * min(1, 3 / max(k, 1)))
        elif k < n:
            size *= max(1, 20 / max(k, 1))
    total = n + more
    mean = x.sum() / total
    squares = ((x - mean) ** 2).sum() + more * (size**2 + mean**2)
    error = math.sqrt(squares / (total - 1) / total)
    if not error:
        return 1.0, math.nan, math.nan, True
    low, high = scipy.stats.t.interval(level, total - 1, mean, error)
    p_value = 2 * scipy.stats.t.sf(abs(mean) / error, total - 1)
    return p_value, max(low, -most), min(high, most), more > 0


VALUES = {
    "mr": float,
    "mrr": lambda r: 1 / r,
    "hits@10": lambda r: float(r <= 10),
    "gmr": math.log,
    "index.mr": lambda r: 1 - (r - 1) / 499.5,
    "ndcg@10": lambda r: 1 / math.log2(1 + r) if r <= 10 else 0.0,
}


@pytest.mark.parametrize("key", VALUES)
@examples(25)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 300),
    st.floats(0, 1),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.sampled_from([0.9, 0.95]),
)
def test_a_comparison_by_definition(
    key: str, seed: int, n: int, share: float, spread: float, level: float
) -> None:
    """Of n units of which a share may differ; scipy's paired t where enough carry it."""
    rng = np.random.default_rng(seed)
    a, b = np.exp(rng.normal(2, 1, n) + spread * rng.normal(0, 1, (2, n))).clip(1, 999).astype(int)
    b = np.where(rng.random(n) < share, b, a)
    result = compare(of_ranks(a), of_ranks(b), key, level=level)
    one, two = (np.array([VALUES[key](r) for r in ranks.tolist()]) for ranks in (a, b))
    most = 1.0 if key in ("mrr", "hits@10", "ndcg@10") else math.inf
    p_value, low, high, is_few = paired_by_definition(one - two, level, most)
    if key == "index.mr":  # It is between -1 and 1, and its mean rank has no end.
        low, high = np.clip([low, high], -2, 2)
    assert result.method == "t"
    assert result.p_value == pytest.approx(p_value, rel=1e-9)
    if key == "gmr":
        low, high = np.exp([low, high])
        assert result.estimate == pytest.approx(result.value_a / result.value_b)
    else:
        assert result.estimate == pytest.approx(result.value_a - result.value_b)
    assert (result.low, result.high) == pytest.approx((low, high), rel=1e-9, abs=1e-12, nan_ok=True)
    is_noted = any(note.startswith(("few units carry it", "no int")) for note in result.notes)
    assert is_noted == is_few
    if not is_few:
        expected = scipy.stats.ttest_rel(one, two)
        assert result.p_value == pytest.approx(expected.pvalue, rel=1e-12)


@pytest.mark.parametrize(
    ("key", "plain"), [("hits@10", "ah@10"), ("mrr", "amrr"), ("hits@1", "ratio.hits@1")]
)
def test_an_adjusted_metric_has_the_p_of_its_plain_one(key: str, plain: str) -> None:
    """Where all tasks have as many candidates, whether few units carry the difference or many."""
    for n, losses in ((500, 0), (500, 5), (60, 30)):
        a = of_ranks([1] * n)
        b = of_ranks([20] * losses + [1] * (n - losses))
        one, two = (compare(a, b, name) for name in (key, plain))
        assert two.p_value == pytest.approx(one.p_value, rel=1e-9)
        assert one.notes == tuple(note.replace(plain, key) for note in two.notes)


def test_metrics_of_one_answer_have_one_p() -> None:
    """A miss costs precision@10 as much of its range as success@10 of its own."""
    qrels = {query: {0: 1} for query in range(300)}
    task = tr.retrieval.Task(qrels, entities=20)
    base = {query: {0: 2.0, 1: 1.0} for query in range(300)}
    new = base | {query: {1: 1.0} for query in range(7)}
    reports = [task.evaluate_lists(lists) for lists in (new, base)]
    keys = ["success@10", "precision@10", "recall@10", "map", "ndcg", "dcg"]
    pairs = compare(*reports, metric=keys)
    assert {round(pair.p_value, 12) for pair in pairs} == {round(pairs[0].p_value, 12)}
    assert 0.001 < pairs[0].p_value < 0.05
    for pair in pairs:
        assert pair.notes == ("few units carry it: " + pair.notes[0].partition(": ")[2],)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([4, 6, 10, 24, 60, 100]),
    st.sampled_from((*DIFFERENCES, "gmr")),
    st.sampled_from([0.8, 0.95, 0.99]),
    st.sampled_from(["unit", "task", "relation"]),
    st.booleans(),
)
def test_p_and_interval_never_contradict_each_other(
    seed: int, n: int, key: str, level: float, unit: str, weighted: bool
) -> None:
    ranks = drawn(seed, n)
    if weighted:
        ranks = ranks.with_weights(np.random.default_rng(seed).random(n))
    other = moved(ranks, seed, most=1 + seed % 6)
    result = compare(ranks, other, metric=key, level=level, unit=unit)
    equal = 0.0 if result.effect == "difference" else 1.0
    back = compare(other, ranks, metric=key, level=level, unit=unit)
    assert back.p_value == pytest.approx(result.p_value, rel=1e-6)
    assert (back.wins, back.losses) == (result.losses, result.wins)
    if math.isnan(result.low):
        assert result.notes[-1].startswith("no interval: no ")
        assert key in ("mr", "gmr", "index.mr")
        return
    slack = 1e-9 * (1 + abs(result.estimate))
    assert result.low - slack <= result.estimate <= result.high + slack
    if abs(result.p_value - (1 - level)) > 1e-9:
        assert (result.p_value > 1 - level) == (result.low - slack <= equal <= result.high + slack)
    if result.effect == "difference":
        assert (-back.high, -back.low) == pytest.approx(
            (result.low, result.high), rel=1e-5, abs=1e-9
        )


def test_few_units_have_intervals() -> None:
    """They had none where five and fewer differ, or all that differ do so by the same."""
    none = compare(of_ranks([1] * 500), of_ranks([1] * 500), "hits@1")
    assert (none.p_value, round(none.low, 4), round(none.high, 4)) == (1.0, -0.0068, 0.0068)
    assert none.notes[1:] == ("few units carry it: none of 500 tasks differs",)
    five = compare(of_ranks([9] * 5 + [1] * 495), of_ranks([1] * 500), "hits@1")
    assert (round(five.low, 4), round(five.high, 4)) == (-0.021, 0.0011)
    assert round(five.p_value, 3) == 0.077
    assert five.notes[1:] == ("few units carry it: hits@1 rests on about 5 of 500 tasks",)
    lost = compare(of_ranks([9] * 12 + [1] * 108), of_ranks([1] * 120), "hits@1")
    assert lost.low < lost.high < 0
    assert lost.notes[1:] == (
        "few units: 120 tasks",
        "few units carry it: hits@1 rests on about 15 of 120 tasks",
    )
    alike = compare(of_ranks([1] * 40), of_ranks([2] * 40), "mrr")
    assert 0 < alike.low < 0.5 < alike.high <= 1
    assert alike.notes[-1] == "few units carry it: all 40 tasks differ by the same amount"
    two = compare(of_ranks([1, 1]), of_ranks([1, 2]), "mrr")
    assert -1 <= two.low < two.estimate < two.high <= 1
    one = compare(of_ranks([1]), of_ranks([2]), "mrr")
    assert math.isnan(one.low)
    assert one.notes[-1] == "no interval: 1 task"


def test_bounds_are_cut_to_the_range_of_the_metric_and_not_past_the_estimate() -> None:
    pair = compare(of_ranks([1, 1, 1]), of_ranks([900, 900, 900]), "hits@1")
    assert (pair.estimate, pair.high) == (1, 1)
    pair = compare(of_ranks([1] * 3, 900), of_ranks([900] * 3, 900), "amri")
    assert pair.estimate == pytest.approx(2)
    assert pair.high == 2
    pair = compare(of_ranks([1] * 3, 900), of_ranks([900] * 3, 900), "mr")
    assert pair.low < pair.estimate == -899 < pair.high


def test_decimals_and_methods_in_print() -> None:
    """A bound at the end of the range, or next to the estimate, has no rounding in print."""
    a = of_ranks([1] * 40, 11)
    b = of_ranks([11] * 39 + [10], 11)
    for key in ("mr", "mrr", "amri"):
        numbers = re.findall(r"-?\d+\.(\d+)", str(compare(a, b, metric=key)).split("(")[0])
        assert len(numbers) >= 5
        assert max(map(len, numbers)) <= 7
    a = drawn(0, 300)
    b = moved(drawn(0, 300), 1, most=20)
    assert "(t, 150 units, one run each)" in str(compare(a, b, metric="mrr"))
    assert "few units: 150 units" in compare(a, b, metric="mrr").notes
    reports = []
    for lists in ({q: [q, 9] for q in range(8)}, {q: [9, q] for q in range(8)}):
        shown = {q: [q, 9] if q else [q] for q in range(8)}
        task = tr.retrieval.Task({q: [q] for q in shown}, entities=10, candidates=shown)
        reports.append(task.evaluate_lists(lists | {0: [0]}))
    notes = compare(*reports, metric=["auc", "mrr", "gauc"]).table().notes
    assert "over 7 queries (auc, gauc) and 8 queries (mrr), one run each" in notes[0]
    assert "(t of runs and units, 2 runs of a and 2 of b, " in str(compare([a, b], [b, a]))


def test_reports_repeats_and_mappings() -> None:
    a = drawn(0, 40)
    b = moved(a, 1)
    c = moved(a, 2)
    assert compare(tr.report(a), tr.report(b)) == compare(a, b)
    many = compare({"a": a, "b": b, "c": c}, metric=["mrr", "gmr"])
    assert isinstance(many, Comparisons)
    assert [pair.metric for pair in many] == ["mrr"] * 3 + ["gmr"] * 3
    p = [pair.p_value for pair in many]
    order = np.argsort(p)
    holm = np.minimum(np.maximum.accumulate(np.sort(p) * np.arange(6, 0, -1)), 1)
    assert [many[int(i)].p_holm for i in order] == pytest.approx(list(holm))
    assert many.table()["p_holm"][0] == many[0].p_holm
    assert "difference or ratio" in many.to_text()
    unknown = corrected([many[0], replace(many[1], p_value=math.nan)])
    assert [pair.p_holm for pair in unknown] == pytest.approx([p[0], math.nan], nan_ok=True)


def test_the_kind_random_has_one_seed() -> None:
    a = drawn(0, 200)
    b = moved(a, 1)
    one, two = (compare(a, b, "random.mrr", seed=seed) for seed in (0, 3))
    assert one.value_a != two.value_a == tr.report(a, seed=3)["random.mrr"]
    reports = [tr.report(ranks, seed=3) for ranks in (a, b)]
    assert compare(*reports, "random.mrr") == two


def test_keys_are_carried_as_they_were_asked_each_once() -> None:
    a = of_ranks([1, 5, 9] * 20)
    b = moved(a, 1)
    assert str(compare(a, b, "amri")).startswith("amri: a 0.")
    keys = ["MRR", "both.amri", "index.mr", "Mean_Rank"]
    assert compare(a, b, keys).metrics == ["MRR", "both.amri", "Mean_Rank"]
    assert list(compare(a, b, keys)) == list(compare({"a": a, "b": b}, None, keys))
    (pair,) = one = compare({"a": a, "b": b})
    assert pair.p_holm is None  # One comparison is not corrected.
    assert "Holm" not in str(one) + str(pair)


# -- what cannot be tested -------------------------------------------------------------------------


def test_models_without_any_difference() -> None:
    ranks = of_ranks([1, 5, 9] * 20)
    for key in ("mrr", "hits@1", "amri", "mr", "gmr", "ratio.mr"):
        pair = compare(ranks, ranks, metric=key)
        equal = 0.0 if pair.effect == "difference" else 1.0
        assert (pair.p_value, pair.estimate, pair.ties) == (1.0, equal, 60)
        if key in ("mrr", "hits@1"):
            assert pair.high == -pair.low > 0
            assert pair.notes[-1] == "few units carry it: none of 60 tasks differs"
        else:  # Without a range nothing says how far a task may differ.
            assert pair.notes[-1] == "no interval: no task differs"


def test_unlike_tasks_are_noted_if_allowed() -> None:
    a = of_ranks([1, 2, 3] * 10, 50)
    pair = compare(a, of_ranks([1, 2, 3] * 10, 51), allow_unlike=True)
    assert any(note.startswith("unlike candidates") for note in pair.notes)
    assert pair.pairing == "position"


SOME = drawn(0)
SMALL = of_ranks([1, 2, 3] * 10, [50] * 30)
UNLIKE = of_ranks([1, 2, 3] * 10, [50, 60, 70] * 10)
RUNS = [tr.report(drawn(seed), by="relation") for seed in range(3)]
FOLDS = [of_ranks(range(1, n), 50) for n in (30, 40, 50)]
REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: compare(SOME, SOME[:3]), ValueError, "b"),
    (lambda: compare(SOME, SOME.with_weights(np.arange(24.0))), ValueError, "b"),
    (lambda: compare(SMALL, UNLIKE), ValueError, "b"),
    # The index of tasks with unlike candidates weighs them by what chance leaves.
    (lambda: compare(SMALL, UNLIKE, "amri", allow_unlike=True), ValueError, "b"),
    (lambda: compare({"a": SOME}), ValueError, "a"),
    (lambda: compare({"a": SOME, "b": SOME}, SOME), TypeError, "b"),
    (lambda: compare({"a": SOME, "b": SOME}, "mrr"), TypeError, "b"),
    (lambda: compare([], [SOME]), ValueError, "a"),
    (lambda: compare([SOME, SOME], SOME), TypeError, "b"),
    (lambda: compare(SOME, [SOME, SOME]), TypeError, "a"),
    (lambda: compare(SOME), TypeError, "a"),
    (lambda: compare(SOME, SOME, metric=[]), ValueError, "metric"),
    (lambda: compare(FOLDS, FOLDS[:2], metric="mr"), ValueError, "b"),
    (lambda: interval(SOME, "mrrr"), KeyError, "'mrrr'"),
    (lambda: interval(SOME, "mrr", level=1.0), ValueError, "level"),
    (lambda: interval(SOME, "mrr", unit="nothing"), ValueError, "unit"),
    (lambda: interval(SOME, "mrr", weights=[-1.0] * 24), ValueError, "weights"),
    (lambda: interval(RUNS[0], "macro.mrr"), ValueError, "metric"),
    (lambda: RUNS[0].interval("z.mr"), ValueError, "metric"),
    (lambda: interval(SOME, "count"), ValueError, "metric"),
    (lambda: interval(RUNS, "median"), ValueError, "metric"),
    (lambda: interval([SMALL, SMALL.with_weights(np.arange(1.0, 31))], "mr"), ValueError, "runs"),
    (lambda: interval(RUNS, "macro.mrr"), ValueError, "metric"),
]


@pytest.mark.parametrize(("call", "error", "argument"), REFUSALS)
def test_refusals(call: Callable[[], object], error: type[Exception], argument: str) -> None:
    refused(error, argument, call)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("count", "count is the number of tasks"),
        ("hmr", "hmr is not a mean over units; compare mrr$"),
        ("igmr", "compare gmr$"),
        ("median", "compare mrr, mr or hits@k$"),
        ("z.mr", "z.mr differs where mr does; compare mr$"),
        ("tail.std", "tail.std is not a mean over units"),
        ("macro.median", "scipy.stats.ttest_rel over the groups' values"),
        ("index.gmr", "compare gmr$"),
        ("ratio.igmr", "compare gmr$"),
    ],
)
def test_metrics_that_cannot_be_compared(key: str, words: str) -> None:
    refusal(tr.InputValueError, words, compare, SOME, moved(SOME, 1), metric=key)


# -- what comparisons are made of ------------------------------------------------------------------


def test_units_that_weigh_unlike_have_t_on_influences() -> None:
    rng = np.random.default_rng(0)
    bases = rng.random(80) + 0.1
    apart = bases * rng.normal(0.2, 1, 80)
    mean = apart.sum() / bases.sum()
    d = (apart - mean * bases) / bases.sum()
    t = mean / math.sqrt(80 / 79 * (d**2).sum())
    p_value, *_ = paired_test(apart, bases, 0.95, most=math.inf)
    assert p_value == pytest.approx(2 * scipy.stats.t.sf(abs(t), 79), rel=1e-12)


def test_a_heavy_unit_that_was_not_seen_may_differ() -> None:
    """Of 500 units five lose by a tenth; one of weight 20 might lose all."""
    apart = np.where(np.arange(500) < 5, -0.1, 0.0)
    bases = np.ones(500)
    _, low, _, is_few = paired_test(apart, bases, 0.95, most=1.0)
    bases[-1] = 20
    _, low_of_heavy, _, _ = paired_test(apart, bases, 0.95, most=20.0)
    assert is_few
    assert low_of_heavy < 10 * low < 0


def test_rounding_is_no_difference() -> None:
    one = np.array([0.1 + 0.2, 1.0, 1e9 + 1e-5])
    two = np.array([0.3, 1.0 + 1e-15, 1e9])
    assert not differences(one, two).any()
    assert differences(np.array([1.0]), np.array([1.0 + 1e-9])).all()


def test_what_is_rounding_is_no_influence() -> None:
    assert not mean_and_influences(np.full(7, 0.1), np.ones(7))[1].any()
    weights = np.array([0.1, 0.2, 0.7])
    assert not mean_and_influences(0.3 * weights, weights)[1].any()


@pytest.mark.parametrize(("carriers", "notes"), [(29, 1), (30, 0)])
def test_thirty_units_carry_a_result(carriers: int, notes: int) -> None:
    ones = np.ones(1000)
    few = np.where(np.arange(1000) < carriers, 1.0, 0.0)
    assert len(note_on("mr", "task", few, ones)) == notes
    assert len(note_on("hits@1", "task", ones, few, by_weights_alone=True)) == notes
    assert note_on("hits@1", "task", few, ones, by_weights_alone=True) == ()
