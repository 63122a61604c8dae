"""`compare` against scipy and enumeration of all swaps of the units."""

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
from truerank.inference.intervals import (
    differences,
    flip_probability,
    note_on,
    paired_test,
    signed_sums,
)
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


def permutations(f: np.ndarray[Any, Any]) -> float:
    """The p-value of scipy's permutation test of paired samples, over all swaps.

    Sums are rounded: scipy takes those that are equal for unlike where they are much less than f.
    """
    options = {"permutation_type": "samples", "n_resamples": np.inf}
    result = scipy.stats.permutation_test((f,), lambda x, axis: x.sum(axis).round(11), **options)
    return float(result.pvalue)


@examples(30)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=10))
def test_p_is_that_of_the_permutation_test(pairs: list[tuple[int, int]]) -> None:
    one, two = (np.array(x, float) for x in zip(*pairs, strict=True))
    for key, apart in (("mr", one - two), ("mrr", 1 / one - 1 / two)):
        result = compare(of_ranks(one.astype(int)), of_ranks(two.astype(int)), metric=key)
        assert result.p_value == pytest.approx(permutations(apart))
        assert result.method == "exact sign flips"


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
@given(st.integers(0, 2**32 - 1), st.integers(40, 300), st.sampled_from([0.9, 0.95]))
def test_more_than_thirty_differences_are_scipys_paired_t(
    key: str, seed: int, n: int, level: float
) -> None:
    rng = np.random.default_rng(seed)
    a, b = np.exp(rng.normal(3, 1.5, (2, n)) + rng.normal(0, 1, n)).clip(1, 999).astype(int)
    result = compare(of_ranks(a), of_ranks(b), key, level=level)
    one, two = (np.array([VALUES[key](r) for r in ranks.tolist()]) for ranks in (a, b))
    if np.count_nonzero(one - two) <= 30:
        assert result.method == "exact sign flips"
        return
    expected = scipy.stats.ttest_rel(one, two)
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-12)
    assert result.method == "t"
    ends = expected.confidence_interval(level)
    if key == "gmr":
        assert (result.low, result.high) == pytest.approx(np.exp(ends), rel=1e-9)
        assert result.estimate == pytest.approx(result.value_a / result.value_b)
    else:
        assert (result.low, result.high) == pytest.approx(tuple(ends), rel=1e-9, abs=1e-12)
        assert result.estimate == pytest.approx(result.value_a - result.value_b)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(5, 0, 2.0**-4), (7, 1, 18 / 2**8), (13, 0, 2.0**-12), (30, 0, 2.0**-29), (60, 0, 2.0**-59)],
)
@pytest.mark.parametrize("key", ["hits@1", "mrr", "mr"])
def test_no_p_is_smaller_than_sign_flips_can_tell(
    wins: int, losses: int, p: float, key: str
) -> None:
    one = np.array([1] * wins + [2] * losses)
    result = compare(of_ranks(one), of_ranks(3 - one), metric=key)
    assert result.p_value == pytest.approx(p, rel=1e-9)
    assert math.isnan(result.low) == (losses == 0)
    assert (result.wins, result.losses) == (wins, losses)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 6, 10, 24, 60, 100]),
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
        assert result.notes[-1].startswith("no interval: ")
        return
    slack = 1e-9 * (1 + abs(result.estimate))
    assert result.low - slack <= result.estimate <= result.high + slack
    if abs(result.p_value - (1 - level)) > 1e-9:
        assert (result.p_value > 1 - level) == (result.low - slack <= equal <= result.high + slack)
    if result.effect == "difference":
        assert (-back.high, -back.low) == pytest.approx(
            (result.low, result.high), rel=1e-5, abs=1e-9
        )


def test_five_units_refuse_nothing() -> None:
    a = of_ranks([1, 1, 2, 1, 1], 100)
    b = of_ranks([7, 9, 9, 8, 50], 100)
    for key in ("mrr", "mr", "gmr"):  # The whole range of a metric would be no interval.
        result = compare(a, b, metric=key)
        assert result.p_value == pytest.approx(max(0.0625, result.p_value))
        assert math.isnan(result.low)
        assert math.isnan(result.high)
        assert result.notes[-1] == "no interval: 5 of 5 tasks differ, too few to tell"
    assert compare(a, b, metric="mrr", level=0.9).low > 0
    one = compare(of_ranks([1] * 20), of_ranks([1] * 19 + [2]), metric="mrr")
    assert one.notes[-1] == "no interval: 1 of 20 tasks differs, too few to tell"


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
    assert compare(a, b, metric="mrr").notes[-1] == "few units: 150 units"
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
        assert pair.notes[-1] == "no interval: no task differs"
    for units in (6, 13, 60):
        pair = compare(of_ranks([1] * units, 100), of_ranks([2] * units, 100), metric="gmr")
        assert (pair.p_value, math.isnan(pair.low)) == (2.0 ** (1 - units), True)
        note = f"no interval: the {units} tasks that differ have one difference"
        assert pair.notes[-1] == note


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


def cumulated(steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The probabilities of flipped sums of at most 0, 1, ... of whole sizes, by convolution."""
    law = np.zeros(int(steps.sum()) + 1)
    law[0] = 1.0
    for step in steps.tolist():
        moved = np.zeros_like(law)
        moved[step:] = law[: len(law) - step]
        law = (law + moved) / 2
    return np.cumsum(law)


@examples(20)
@given(st.integers(0, 2**32 - 1), st.integers(24, 30))
def test_halves_are_whole_laws(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    apart = rng.integers(1, 500, n) * rng.choice([-1, 1, 1], n)
    law = cumulated(np.abs(apart))
    smaller = int(np.abs(apart)[apart * np.sign(apart.sum()) < 0].sum())
    expected = 1.0 if apart.sum() == 0 else 2 * law[smaller]
    assert flip_probability(*signed_sums(apart / 7)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("apart", "p"),
    [
        ([0.1, 0.2, -0.3], 1.0),
        ([0.3, 0.1, 0.1, 0.1, -0.3], 20 / 32),
        ([1.0, 1.0 + 1e-7, -1.0], 0.75),
        ([1.0, 1.0 + 1e-10, -1.0], 1.0),
        ([1.0, 1.0, 1e-8], 0.25),
        ([1.0, 1.0, 1e-10], 0.5),
    ],
)
def test_equal_sums_count_within_a_billionth_of_the_total(apart: list[float], p: float) -> None:
    assert flip_probability(*signed_sums(np.array(apart))) == p


def test_units_that_weigh_unlike_have_t_on_influences() -> None:
    rng = np.random.default_rng(0)
    bases = rng.random(80) + 0.1
    apart = bases * rng.normal(0.2, 1, 80)
    mean = apart.sum() / bases.sum()
    d = (apart - mean * bases) / bases.sum()
    t = mean / math.sqrt(80 / 79 * (d**2).sum())
    p_value, *_ = paired_test(apart, bases, 0.95)
    assert p_value == pytest.approx(2 * scipy.stats.t.sf(abs(t), 79), rel=1e-12)


def test_only_units_that_differ_are_shifted() -> None:
    apart = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 2.5, -1.0])
    _, *alone, _ = paired_test(apart, np.ones(7), 0.95)
    _, *among, _ = paired_test(np.append(apart, np.zeros(21)), np.ones(28), 0.95)
    assert among == pytest.approx(np.array(alone) / 4)
    _, low, high, _ = paired_test(apart[:5], np.ones(5), 0.95)
    assert math.isnan(low)
    assert math.isnan(high)


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
    assert len(note_on("hits@1", "task", ones, few, is_share=True)) == notes
