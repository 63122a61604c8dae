"""`compare` and `detectable` against enumeration of all sign flips, and against each other."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from inference.test_influences import drawn
from inference.test_intervals import of_ranks
from support.refusals import refusal
from truerank.inference import Comparison, Comparisons, compare, correct_pvalues, detectable
from truerank.inference.runs import crossed_runs, influences_of_run
from truerank.inference.units import units_of

RATIOS = ("gmr", "igmr", "hmr", "imr", "median", "imedian", "std", "variance", "power_mean:2")
DIFFERENCES = ("mr", "mrr", "hits@3", "index.mr", "ratio.mrr", "z.hits@3", "macro.mrr", "macro.gmr")


def moved(ranks: tr.Ranks, seed: int, most: int = 4) -> tr.Ranks:
    """Another model over the same tasks."""
    rng = np.random.default_rng(seed)
    above = np.clip(
        ranks.above + rng.integers(-most, most + 1, len(ranks)), 0, ranks.candidates - 4
    )
    made = tr.Ranks(
        *(above, ranks.tied, ranks.candidates),
        side=ranks.side,
        relation=ranks.relation,
        weights=ranks.weights,
    )
    return made.with_labels(unit=ranks.unit)


def options_of(key: str) -> dict[str, Any]:
    return {"groups": "relation"} if key.startswith("macro.") else {}


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=10))
def test_p_is_the_share_of_all_sign_flips(pairs: list[tuple[int, int]]) -> None:
    one, two = (np.array(x, float) for x in zip(*pairs, strict=True))
    for key, f in (("mr", one - two), ("mrr", 1 / one - 1 / two)):
        found = compare(of_ranks(one.astype(int)), of_ranks(two.astype(int)), metric=key)
        signs = np.array([*itertools.product([1, -1], repeat=len(f))])
        sums = np.abs(signs @ f)
        assert found.p_value == pytest.approx(np.mean(sums >= abs(f.sum()) - 1e-12))


@settings(max_examples=40)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 30))
def test_p_of_hits_is_the_mid_p_of_mcnemar(wins: int, losses: int, ties: int) -> None:
    one = [1] * wins + [5] * losses + [1] * ties
    two = [5] * wins + [1] * losses + [1] * ties
    found = compare(of_ranks(one, 10), of_ranks(two, 10), metric="hits@1")
    n, k = wins + losses, max(wins, losses)
    law = scipy.stats.binom(n, 0.5)
    expected = 1.0 if wins == losses else 2 * (law.sf(k) + law.pmf(k) / 2)
    exact = n <= 12
    assert found.p_value == pytest.approx(expected, abs=1e-9 if exact else 0.01)
    assert (found.wins, found.ties, found.losses) == (wins, ties, losses)


def test_p_of_many_units_is_that_of_monte_carlo() -> None:
    rng = np.random.default_rng(0)
    for law in (rng.normal(0.1, 1, 60), rng.standard_cauchy(60), rng.pareto(1.2, 60) - 1.5):
        law = np.round(law * 1000).astype(int)
        even = np.full(60, 10**6)
        found = compare(of_ranks(even + law, 10**7), of_ranks(even, 10**7), metric="mr").p_value
        sums = np.abs(rng.choice([-1, 1], (60_000, 60)) @ law)
        assert found == pytest.approx(np.mean(sums >= abs(law.sum())), rel=0.06, abs=0.002)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 6, 10, 24, 60]),
    st.sampled_from([*RATIOS, *DIFFERENCES]),
    st.sampled_from([0.8, 0.95, 0.99]),
    st.sampled_from(["unit", "task", "relation"]),
    st.booleans(),
)
def test_p_and_interval_never_contradict_each_other(
    seed: int, n: int, key: str, level: float, by: str, weighted: bool
) -> None:
    ranks = drawn(seed, n)
    if weighted:
        ranks = ranks.with_weights(np.random.default_rng(seed).random(n))
    other = moved(ranks, seed, most=1 + seed % 6)
    found = compare(ranks, other, metric=key, level=level, by=by, **options_of(key))
    equal = 0.0 if found.effect == "difference" else 1.0
    if math.isnan(found.low):
        assert not found.value_b or found.units < 1
        return
    assert (found.p_value > 1 - level) == (found.low <= equal <= found.high)
    slack = 1e-9 * (1 + abs(found.estimate))
    assert found.low - slack <= found.estimate <= found.high + slack
    back = compare(other, ranks, metric=key, level=level, by=by, **options_of(key))
    assert back.p_value == pytest.approx(found.p_value, rel=1e-6)
    assert (back.wins, back.losses) == (found.losses, found.wins)
    if found.effect == "difference":
        assert (-back.high, -back.low) == pytest.approx((found.low, found.high), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("pair", [("hmr", "mrr"), ("imr", "mr"), ("std", "variance")])
def test_functions_of_a_mean_have_its_p(pair: tuple[str, str]) -> None:
    one = drawn(4, 60)
    p = [compare(one, moved(one, 9), metric=key).p_value for key in pair]
    assert p[0] == pytest.approx(p[1])


@pytest.mark.parametrize("key", ["mrr", "gmr", "median"])
def test_size_under_exchangeable_models(key: str) -> None:
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(100):
        both = np.exp(rng.normal(3, 1.2, 60)[:, None] + rng.normal(0, 0.8, (60, 2))).astype(int) + 1
        found = compare(of_ranks(both[:, 0], 10**6), of_ranks(both[:, 1], 10**6), metric=key)
        rejected += found.p_value <= 0.05
    # the whole numbers of ranks hide steps of a median, so that its test is conservative
    assert (0 if key == "median" else 1) <= rejected <= 12


def test_models_without_any_difference() -> None:
    ranks = of_ranks([1, 5, 9] * 20)
    for key in ("mrr", "hits@1", "gmr", "std", "median"):
        found = compare(ranks, ranks, metric=key)
        assert (found.p_value, found.difference, found.ties) == (1.0, 0.0, 60)
        equal = 0 if found.effect == "difference" else 1
        assert found.low <= equal <= found.high
    hits = compare(ranks, ranks, metric="hits@1")
    assert hits.high == -hits.low == pytest.approx(1 - 0.025 ** (1 / 60))


def test_reports_repeats_and_mappings() -> None:
    a = drawn(0, 40)
    b, c = moved(a, 1), moved(a, 2)
    assert compare(tr.report(a), tr.report(b)) == compare(a, b)
    assert compare(tr.report(a, by="relation"), b, metric="macro.mrr") == compare(
        a, b, metric="macro.mrr", groups="relation"
    )
    many = compare({"a": a, "b": b, "c": c}, metric=["mrr", "gmr"])
    assert isinstance(many, Comparisons)
    assert len(many) == 6
    p = [pair.p_value for pair in many]
    order = np.argsort(p)
    holm = np.minimum(np.maximum.accumulate(np.sort(p) * np.arange(6, 0, -1)), 1)
    assert [many[int(i)].p_holm for i in order] == pytest.approx(list(holm))
    assert many.table()["p_holm"][0] == many[0].p_holm
    assert "difference or ratio" in many.to_text()


def test_units_by_other_labels() -> None:
    a = drawn(0, 40)
    b = moved(a, 1)
    assert compare(a, b).units == 20
    assert compare(a, b, by="task").units == 40
    assert compare(a, b, by=np.arange(40) // 10).units == 4
    assert compare(a, b, by="relation").by == "relation"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("count", "count is the number of tasks"),
        ("mad", "scipy.stats.bootstrap"),
        ("power_mean:inf", "docs/how-to/compare.md"),
        ("index.gmr", "compare gmr, by its ratio"),
        ("z.median", "compare median"),
    ],
)
def test_metrics_that_cannot_be_compared(key: str, words: str) -> None:
    a = drawn(0)
    for function in (compare, detectable):
        refusal(tr.InputValueError, words, function, a, moved(a, 1), metric=key)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda a: compare(a, a[:3]), ValueError, "tasks: 24 against 3"),
        (lambda a: compare(a, a.with_weights(np.arange(24.0))), ValueError, "weights"),
        (lambda a: compare({"a": a}), ValueError, "at least two"),
        (lambda a: compare({"a": a, "b": a}, a), TypeError, "nothing beside a mapping"),
        (lambda a: compare(a, [1]), (TypeError, ValueError), "b"),
        (lambda a: compare([a], [a]), ValueError, "at least two runs"),
        (lambda a: compare([a, a], a), TypeError, "several runs"),
        (lambda a: compare(a, a, metric=[]), ValueError, "at least one key"),
        (lambda a: detectable(a, power=0.01), ValueError, "power"),
        (lambda a: detectable(a, a, correlation=0.5), ValueError, "correlation"),
        (lambda a: detectable(a, difference=0), ValueError, "difference"),
    ],
)
def test_bad_arguments(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error) as raised:
        make(drawn(0))
    assert words in str(raised.value)


def test_unlike_tasks_are_refused_or_noted() -> None:
    a, b = of_ranks([1, 2, 3] * 10, 50), of_ranks([1, 2, 3] * 10, 51)
    refusal(ValueError, "candidates: 30 of 30 tasks differ", compare, a, b)
    found = compare(a, b, allow_unlike=True)
    assert any(note.startswith("unlike candidates") for note in found.notes)
    assert found.pairing == "position"


# -- several runs ----------------------------------------------------------------------------------


def seeds(number: int, rng: Any, shift: float = 0.0) -> list[tr.Ranks]:
    """Runs of a model: effects of tasks, of runs, and of both."""
    own = rng.normal(3, 1, 50)
    rows = [own + shift + rng.normal(0, 0.2) + rng.normal(0, 0.5, 50) for _ in range(number)]
    return [of_ranks(np.exp(row).clip(0, 900).astype(int) + 1) for row in rows]


def test_two_levels_of_runs_by_definition() -> None:
    runs = seeds(4, np.random.default_rng(1))
    found = tr.report(list(map(tr.report, runs))).interval("mr")
    test = crossed_runs([[influences_of_run(units_of(run, "mr"), 0.95) for run in runs]])
    values = np.array([run.realistic for run in runs], float)
    k, u = values.shape
    of_runs = values.mean(1).var(ddof=1) / k
    of_units = values.mean(0).var(ddof=1) / u
    apart = values - values.mean(1, keepdims=True) - values.mean(0) + values.mean()
    shared = (apart**2).sum() / (u - 1) / u / (k - 1) / k
    total = max(of_runs + of_units - shared, of_runs, of_units)
    assert found.value == pytest.approx(values.mean())
    assert test.error == pytest.approx(math.sqrt(total))
    low, high = scipy.stats.t.interval(0.95, test.degrees, test.estimate, test.error)
    assert (max(low, 1), high) == pytest.approx((found.low, found.high))
    assert found.notes[0] == "few runs: 4 of one model"


def test_several_runs_reject_about_as_often_as_they_should() -> None:
    rng, rejected = np.random.default_rng(3), 0
    for _ in range(100):
        both = seeds(6, rng)
        found = compare(both[:3], both[3:], metric="mrr")
        rejected += found.p_value <= 0.05
        assert (found.p_value > 0.05) == (found.low <= 0 <= found.high)
    assert rejected <= 11


def test_folds_have_tasks_of_their_own() -> None:
    rng = np.random.default_rng(0)
    folds = [of_ranks(rng.integers(1, 50, n)) for n in (30, 40, 50)]
    others = [of_ranks(np.minimum(fold.realistic.astype(int) + 3, 60)) for fold in folds]
    found = compare(folds, others, metric="mr")
    assert found.difference == pytest.approx(-3)
    assert any(note.startswith("folds: ") for note in found.notes)
    assert tr.report(list(map(tr.report, folds))).interval("mr").units == 120
    refusal(ValueError, "one for each fold", compare, folds, others[:2])


# -- corrections and power -------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_by_definition(p: list[float]) -> None:
    table = correct_pvalues(p, methods=["bonferroni", "holm", "bh", "by"])
    m = len(p)
    ordered = sorted(range(m), key=lambda i: p[i])
    holm = np.maximum.accumulate([p[i] * (m - j) for j, i in enumerate(ordered)])
    assert table["bonferroni"] == pytest.approx([min(1, x * m) for x in p])
    assert [table["holm"][i] for i in ordered] == pytest.approx([min(1, x) for x in holm])
    assert table["bh"] == pytest.approx([*scipy.stats.false_discovery_control(p)])
    assert all(x <= y + 1e-12 for x, y in zip(table["bh"], table["by"], strict=True))


def test_results_are_corrected_and_nan_is_not_counted() -> None:
    found = compare(drawn(0), moved(drawn(0), 1))
    table = correct_pvalues({"one": found, "none": np.nan, "two": 0.5}, methods=["bonferroni"])
    assert table["bonferroni"] == pytest.approx([min(1, 2 * found.p_value), np.nan, 1], nan_ok=True)
    assert table["question"] == ["one", "none", "two"]
    for bad, error in ((2.0, ValueError), ("p", TypeError), (None, TypeError)):
        refusal(error, "p_values", correct_pvalues, {"x": bad})
    refusal(ValueError, "methods", correct_pvalues, [0.5], methods=["tukey"])
    refusal(ValueError, "several p-values", correct_pvalues, [])


def test_what_is_detectable_is_found_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)

    def two(shift: float) -> tuple[tr.Ranks, tr.Ranks]:
        base = rng.normal(50, 10, 80)
        rows = (base + shift + rng.normal(0, 8, 80), base + rng.normal(0, 8, 80))
        first, second = (of_ranks(row.clip(1, 999).astype(int)) for row in rows)
        return first, second

    asked = detectable(*two(0), metric="mr").difference
    found = [compare(*two(asked), metric="mr").p_value <= 0.05 for _ in range(80)]
    assert 0.68 <= np.mean(found) <= 0.92


def test_power_grows_with_the_units() -> None:
    found = detectable(drawn(1, 200), metric="mrr", difference=0.03)
    assert found.asked_power is not None
    assert found.required_units is not None
    assert found.asked_power < 0.8 < 1
    assert found.required_units > found.units
    assert found.required_tasks == 2 * found.required_units
    assert str(found).count("\n") >= 1
    assert isinstance(compare(drawn(1), moved(drawn(1), 2)), Comparison)
