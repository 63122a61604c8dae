"""`compare` against enumeration of all sign flips, and against each other."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from inference.test_influences import drawn
from inference.test_intervals import of_ranks
from support.examples import examples
from support.metric_keys import keys_where
from support.refusals import refusal
from truerank.inference import Comparison, Comparisons, compare, correct_pvalues
from truerank.inference.comparing import verdicts
from truerank.metrics.averages import arithmetic

RATIOS = ("gmr", "igmr", "hmr", "imr", "ratio.gmr", "power_mean:2", "power_mean:-0.5")
DIFFERENCES = ("mr", "mrr", "hits@3", "index.mr", "ratio.mrr", "z.hits@3", "macro.mrr")


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
    if key.startswith("macro."):
        return {"groups": "relation"}
    return {}


def permutations(f: np.ndarray[Any, Any]) -> float:
    """The p-value of scipy's permutation test of paired samples, over all swaps."""
    options = {"permutation_type": "samples", "n_resamples": np.inf}
    found = scipy.stats.permutation_test((f,), lambda x, axis: x.sum(axis), **options)
    return float(found.pvalue)


def t_of(f: np.ndarray[Any, Any]) -> float:
    """The p-value of t with degrees of freedom from the influences; 0 where it says nothing."""
    d = f - f.mean()
    if len(f) < 2 or not d.any():
        return 0.0
    degrees = np.clip((d**2).sum() ** 2 / (d**4).sum() - 1, 1, len(f) - 1)
    return float(2 * scipy.stats.t.sf(abs(f.mean()) / scipy.stats.sem(f), degrees))


@examples(30)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=10))
def test_p_is_that_of_the_permutation_test(pairs: list[tuple[int, int]]) -> None:
    one, two = (np.array(x, float) for x in zip(*pairs, strict=True))
    a = of_ranks(one.astype(int))
    b = of_ranks(two.astype(int))
    found = compare(a, b, metric="mrr")
    assert found.p_value == pytest.approx(permutations(1 / one - 1 / two))
    assert found.method == "exact sign flips"
    found = compare(a, b, metric="mr")
    assert found.p_value == pytest.approx(permutations(one - two))
    assert found.method == "exact sign flips"


@examples(40)
@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 300))
def test_p_of_hits_is_that_of_mcnemars_exact_test(wins: int, losses: int, ties: int) -> None:
    one = [1] * (wins + 1) + [5] * losses + [1] * ties
    two = [5] * wins + [1] * losses + [1] * (ties + 1)
    found = compare(of_ranks(one, 10), of_ranks(two, 10), metric="hits@1")
    expected = 1.0
    if wins + losses:
        expected = float(scipy.stats.binomtest(wins, wins + losses).pvalue)
    assert found.p_value == pytest.approx(expected, rel=1e-9)
    assert (found.wins, found.ties, found.losses) == (wins, ties + 1, losses)
    assert found.method == ("exact McNemar" if wins + losses > 30 else "exact sign flips")


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(5, 0, 2.0**-4), (7, 1, 18 / 2**8), (13, 0, 2.0**-12), (30, 0, 2.0**-29), (60, 0, 2.0**-59)],
)
@pytest.mark.parametrize("key", ["hits@1", "mrr", "mr"])
def test_no_p_is_smaller_than_sign_flips_can_tell(
    wins: int, losses: int, p: float, key: str
) -> None:
    one = np.array([1] * wins + [2] * losses)
    found = compare(of_ranks(one), of_ranks(3 - one), metric=key)
    assert found.p_value == pytest.approx(p, rel=1e-9)
    unlike = np.where(one == 1, np.arange(2, 2 + len(one)), 1)  # no two differences are equal
    if key != "hits@1":
        assert compare(of_ranks(one), of_ranks(unlike), metric=key).p_value >= 2.0 ** (1 - len(one))


def test_p_of_many_units_is_that_of_monte_carlo() -> None:
    rng = np.random.default_rng(0)
    for law in (rng.normal(0.1, 1, 60), rng.standard_cauchy(60), rng.pareto(1.2, 60) - 1.5):
        law = np.round(law * 1000).astype(int)
        even = np.full(60, 10**6)
        found = compare(of_ranks(even + law, 10**7), of_ranks(even, 10**7), metric="mr").p_value
        sums = np.abs(rng.choice([-1, 1], (60_000, 60)) @ law)
        flips = np.mean(sums >= abs(law.sum()))
        assert found == pytest.approx(max(flips, t_of(law)), rel=0.06, abs=0.002)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 6, 10, 24, 60]),
    st.sampled_from(RATIOS + DIFFERENCES),
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
        assert not found.value_b or found.notes[-1].startswith("no bounds: each unit has the same")
        return
    assert (found.p_value > 1 - level) == (found.low <= equal <= found.high)
    slack = 1e-9 * (1 + abs(found.estimate))
    assert found.low - slack <= found.estimate <= found.high + slack
    back = compare(other, ranks, metric=key, level=level, by=by, **options_of(key))
    assert back.p_value == pytest.approx(found.p_value, rel=1e-6)
    assert (back.wins, back.losses) == (found.losses, found.wins)
    if found.effect == "difference":
        assert (-back.high, -back.low) == pytest.approx((found.low, found.high), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("pair", [("hmr", "mrr"), ("imr", "mr"), ("igmr", "gmr")])
def test_functions_of_a_mean_have_its_p(pair: tuple[str, str]) -> None:
    one = drawn(4, 60)
    p = [compare(one, moved(one, 9), metric=key).p_value for key in pair]
    assert p[0] == pytest.approx(p[1])


@pytest.mark.parametrize(("key", "least"), [("mrr", 0), ("gmr", 2)])
def test_size_under_exchangeable_models(key: str, least: int) -> None:
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(200):
        both = np.exp(rng.normal(3, 1.2, 60)[:, None] + rng.normal(0, 0.8, (60, 2))).astype(int) + 1
        found = compare(of_ranks(both[:, 0], 10**6), of_ranks(both[:, 1], 10**6), metric=key)
        rejected += found.p_value <= 0.05
    assert least <= rejected <= 20  # t finds less where few units carry mrr


def test_models_without_any_difference() -> None:
    ranks = of_ranks([1, 5, 9] * 20)
    unseen = 1 - 0.025 ** (1 / 60)
    for key in ("mrr", "hits@1", "amri", "index.mrr"):
        found = compare(ranks, ranks, metric=key)
        assert (found.p_value, found.estimate, found.ties) == (1.0, 0.0, 60)
        assert not any(note.startswith("no bounds") for note in found.notes)
        assert found.high == -found.low
        least, most = (tr.report(of_ranks([x]))[key] for x in (1, 1000))
        assert found.high == pytest.approx(unseen * abs(most - least))
    for key in ("mr", "gmr", "hmr", "imr", "ratio.mr", "z.mr"):
        found = compare(ranks, ranks, metric=key)
        equal = 0.0 if found.effect == "difference" else 1.0
        assert (found.p_value, found.estimate, found.ties) == (1.0, equal, 60)
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert found.notes[-1].startswith(f"no bounds: each unit has the same {found.effect}")
        assert "[nan, nan]" in str(found)


@pytest.mark.parametrize("units", [6, 13, 60])
def test_models_that_differ_alike_in_every_unit(units: int) -> None:
    a = of_ranks([1] * units, 100)
    b = of_ranks([2] * units, 100)
    found = compare(a, b, metric="mrr")
    unseen = 1 - 0.025 ** (1 / units)
    assert found.p_value == 2.0 ** (1 - units)
    assert found.high == pytest.approx(0.5 + unseen * (0.99 - 0.5))
    assert found.low == pytest.approx(max(0, 0.5 - unseen * 1.49), abs=1e-300)
    assert found.low > 0  # as p is below 0.05
    back = compare(b, a, metric="mrr")
    assert (back.low, back.high) == (-found.high, -found.low)
    assert math.isnan(compare(a, b, metric="mr").low)


def test_five_units_refuse_nothing() -> None:
    a = of_ranks([1, 1, 2, 1, 1], 100)
    b = of_ranks([7, 9, 9, 8, 50], 100)
    for key, ends in (("mrr", 0.99), ("mr", 99), ("hits@5", 1)):
        found = compare(a, b, metric=key)
        assert found.p_value == pytest.approx(max(0.0625, found.p_value))
        assert (found.low, found.high) == pytest.approx((-ends, ends))
    found = compare(a, b, metric="gmr")
    assert (found.low, found.high) == pytest.approx((1 / 100, 100))
    assert compare(a, b, metric="mrr", level=0.9).low > 0


def test_the_interval_of_mean_ranks_is_the_union_of_two() -> None:
    rng = np.random.default_rng(1)
    one, two = np.exp(rng.normal(3, 1.5, (2, 40))).astype(int) + 1
    f = (one - two).astype(float)
    found = compare(of_ranks(one, 10**6), of_ranks(two, 10**6), metric="mr")
    d = f - f.mean()
    degrees = (d**2).sum() ** 2 / (d**4).sum() - 1
    t = scipy.stats.t.interval(0.95, degrees, f.mean(), scipy.stats.sem(f))
    assert (found.low, found.high) == pytest.approx(t, rel=1e-6)  # wider than that of sign flips
    assert found.p_value == pytest.approx(t_of(f))
    same = compare(of_ranks(one, 10**6), of_ranks(two, 10**6), metric="amri")
    assert same.p_value == pytest.approx(found.p_value, rel=1e-6)


def test_all_numbers_are_on_the_scale_that_the_effect_names() -> None:
    a = drawn(0, 60)
    b = moved(drawn(0, 60), 1)
    for key in (*RATIOS, "mrr", "mr", "hits@3"):
        found = compare(a, b, metric=key)
        one, two = (tr.report(x)[key] for x in (a, b))
        if key in RATIOS:
            expected = one / two
            assert found.effect == "ratio"
        else:
            expected = one - two
            assert found.effect == "difference"
        assert found.estimate == pytest.approx(expected)
        assert found.low <= found.estimate <= found.high
        assert found.to_dict()["estimate"] == found.estimate
    runs = compare([a, b], [b, a], metric="gmr")
    assert (runs.effect, runs.estimate) == ("difference", pytest.approx(0, abs=1e-9))


def test_decimals_and_methods_in_print() -> None:
    """A bound at the end of the range, or next to the estimate, has no rounding in print."""
    a = of_ranks([1] * 40, 11)
    b = of_ranks([11] * 39 + [10], 11)
    for key in ("mr", "mrr", "hits@1", "amri"):
        numbers = re.findall(r"-?\d+\.(\d+)", str(compare(a, b, metric=key)).split("(")[0])
        assert len(numbers) >= 5
        assert max(map(len, numbers)) <= 7
    a = drawn(0, 300)
    b = moved(drawn(0, 300), 1, most=20)
    found = compare(a, b, metric="mrr")
    assert "(t, 150 units)" in str(found)
    assert "(exact McNemar, 300 tasks)" in str(compare(a, b, metric="hits@10", by="task"))
    table = compare({"a": a, "b": b}, metric=["mrr", "hits@10"], by="task").table()
    assert "Tested by t and exact McNemar, over 300 tasks." in table.notes
    assert table["method"] == ["t", "exact McNemar"]
    assert "(two-level t, " in str(compare([a, b], [b, a]))


def test_reports_repeats_and_mappings() -> None:
    a = drawn(0, 40)
    b = moved(a, 1)
    c = moved(a, 2)
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
        ("median", "compare mrr, hits@k or gmr, or look at the interval of median of each"),
        ("z.imedian", "z.imedian is no mean over units, nor a function of one"),
        ("tail.std", "tail.std is no mean over units"),
        ("expected.variance", "is no mean over units"),
        ("mad", "is no mean over units"),
        ("power_mean:inf", "is no mean over units"),
        ("macro.median", "is no mean over units"),
        ("macro.gmr", "compare gmr, or macro.mrr and macro.hits@k"),
        ("macro.hmr", "compare hmr, or macro.mrr"),
        ("index.gmr", "compare gmr, by its ratio"),
    ],
)
def test_metrics_that_cannot_be_compared(key: str, words: str) -> None:
    a = drawn(0)
    refusal(tr.InputValueError, words, compare, a, moved(a, 1), metric=key, **options_of(key))


def test_one_task_of_a_thousand_is_no_difference_of_medians() -> None:
    ranks = np.array([3] * 500 + [40] * 501)
    a = of_ranks(ranks)
    ranks[500] = 3
    b = of_ranks(ranks)
    assert tr.report(a)["median"] != tr.report(b)["median"]
    refusal(tr.InputValueError, "no mean over units", compare, a, b, metric="median")
    for key in ("mrr", "hits@10", "gmr", "mr", "imr", "hmr"):
        assert compare(a, b, metric=key).p_value == 1.0


COMPARABLE = keys_where(lambda row: row.single is not None or row.mean is arithmetic)
COMPARABLE += ("power_mean:2", "power_mean:-0.5", "index.mr", "ratio.mrr", "z.hits@3", "ratio.gmr")
COMPARABLE += ("expected.mrr", "expected.gmr", "tail.mrr", "pessimistic.hits@1", "macro.mrr")


def results_of_all_swaps(a: tr.Ranks, b: tr.Ranks) -> Iterator[tuple[tr.Report, tr.Report]]:
    """The reports of two models for each way to swap their results, unit by unit."""
    assert a.unit is not None
    units = int(a.unit.codes.max()) + 1
    for swaps in itertools.product((False, True), repeat=units):
        swapped = np.array(swaps)[a.unit.codes]
        models = []
        for one, two in ((a, b), (b, a)):
            above = np.where(swapped, two.above, one.above)
            tied = np.where(swapped, two.tied, one.tied)
            labels = {"side": a.side, "relation": a.relation, "weights": a.weights}
            models.append(tr.report(tr.Ranks(above, tied, a.candidates, **labels), by="relation"))
        yield models[0], models[1]


@pytest.mark.parametrize(("units", "seed"), [(2, 0), (3, 1), (5, 2), (6, 3), (7, 4), (10, 5)])
def test_p_is_the_share_of_all_swaps_that_differ_as_much(units: int, seed: int) -> None:
    a = drawn(seed, 2 * units, weighted=seed % 2 == 1)
    b = moved(a, seed, most=3)
    if seed == 2:  # units that do not differ
        b = tr.concatenate([a[:4].with_weights(None), b[4:].with_weights(None)], repeats="keep")
        a = a.with_weights(None)
        b = b.with_labels(unit=a.unit.codes)
    apart = np.unique(a.unit.codes[(a.above != b.above) | (a.tied != b.tied)])
    effects: dict[str, list[float]] = {key: [] for key in COMPARABLE}
    ratios = {key: compare(a, b, metric=key, **options_of(key)).effect for key in COMPARABLE}
    for one, two in results_of_all_swaps(a, b):
        for key, found in effects.items():
            values = (one[key], two[key])
            if ratios[key] == "ratio":
                found.append(abs(math.log(values[0] / values[1])))
            else:
                found.append(abs(values[0] - values[1]))
    for key, sizes in effects.items():
        found = compare(a, b, metric=key, **options_of(key))
        slack = 1e-9 * (1e-3 + max(sizes))
        expected = float(np.mean(np.array(sizes) >= sizes[0] - slack))
        assert found.p_value >= 2.0 ** (1 - len(apart))
        assert found.p_value == pytest.approx(expected, rel=1e-9), key


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda a: compare(a, a[:3]), ValueError, "tasks: 24 against 3"),
        (lambda a: compare(a, a.with_weights(np.arange(24.0))), ValueError, "weights"),
        (lambda a: compare({"a": a}), ValueError, "at least two"),
        (lambda a: compare({"a": a, "b": a}, a), TypeError, "nothing beside a mapping"),
        (lambda a: compare({"a": a, "b": a}, "mrr"), TypeError, "metric is a keyword there"),
        (lambda a: compare(a, [1]), (TypeError, ValueError), "b"),
        (lambda a: compare([a], [a]), ValueError, "at least two runs"),
        (lambda a: compare([a, a], a), TypeError, "several runs"),
        (lambda a: compare(a), TypeError, "as there is no b, got Ranks"),
        (
            lambda a: compare([a, a]),
            TypeError,
            "a: expected a mapping of names to Ranks or Reports",
        ),
        (lambda a: compare(a, a, metric=[]), ValueError, "at least one key"),
    ],
)
def test_bad_arguments(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error) as raised:
        make(drawn(0))
    assert words in str(raised.value)


def test_the_metric_is_the_third_argument() -> None:
    a, b = of_ranks([1, 2, 3] * 10, 50), of_ranks([1, 3, 4] * 10, 50)
    assert compare(a, b, "hits@3") == compare(a, b, metric="hits@3") != compare(a, b)
    several = compare({"a": a, "b": b}, None, ["mr", "mrr"])
    assert list(compare(a, b, ["mr", "mrr"])) == list(several)


def test_unlike_tasks_are_refused_or_noted() -> None:
    a = of_ranks([1, 2, 3] * 10, 50)
    b = of_ranks([1, 2, 3] * 10, 51)
    refusal(ValueError, "candidates: 30 of 30 tasks differ", compare, a, b)
    found = compare(a, b, allow_unlike=True)
    assert any(note.startswith("unlike candidates") for note in found.notes)
    assert found.pairing == "position"


# -- corrections -------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_by_definition(p: list[float]) -> None:
    table = correct_pvalues(p, methods=["bonferroni", "holm", "bh"])
    m = len(p)
    ordered = sorted(range(m), key=lambda i: p[i])
    holm = np.maximum.accumulate([p[i] * (m - j) for j, i in enumerate(ordered)])
    assert table["bonferroni"] == pytest.approx([min(1, x * m) for x in p])
    assert [table["holm"][i] for i in ordered] == pytest.approx([min(1, x) for x in holm])
    assert table["bh"] == pytest.approx(list(scipy.stats.false_discovery_control(p)))


def test_results_are_corrected_and_nan_is_not_counted() -> None:
    found = compare(drawn(0), moved(drawn(0), 1))
    table = correct_pvalues({"one": found, "none": np.nan, "two": 0.5}, methods=["bonferroni"])
    assert table["bonferroni"] == pytest.approx([min(1, 2 * found.p_value), np.nan, 1], nan_ok=True)
    assert table["question"] == ["one", "none", "two"]
    for bad, error in ((2.0, ValueError), ("p", TypeError), (None, TypeError)):
        refusal(error, "p_values", correct_pvalues, {"x": bad})
    refusal(ValueError, "methods", correct_pvalues, [0.5], methods=["tukey"])
    refusal(ValueError, "several p-values", correct_pvalues, [])


# -- many pairs without intervals ------------------------------------------------------------------


@given(st.integers(0, 999), st.lists(st.integers(0, 3), min_size=2, max_size=4), st.booleans())
@examples(25)
def test_verdicts_are_those_of_comparisons(
    seed_of_tasks: int, seeds: list[int], has_runs: bool
) -> None:
    ranks = drawn(seed_of_tasks)
    models: dict[str, Any] = {}
    for i, seed in enumerate(seeds):
        model = moved(ranks, seed)
        if seed == 3:  # the same tasks in another order, and labels that say which they are
            queries = np.arange(len(ranks))
            model = model.with_labels(queries=queries)[queries[::-1]]
        models[str(i)] = tr.report(model)
    if has_runs:
        models["runs"] = models["0"], tr.report(moved(ranks, 9))
        models = {"runs": models["runs"], "again": models["runs"]} | models
        del models["0"]
    metrics = ["mrr", "hits@3", "mr", "gmr"]
    several = set()
    if has_runs:
        several = {"runs", "again"}
    pairs = [
        (one, two)
        for i, one in enumerate(models)
        for two in list(models)[i + 1 :]
        if (one in several) == (two in several)
    ]
    options: dict[str, Any] = {"by": "unit", "level": 0.95, "allow_unlike": True}
    found = verdicts(models, pairs, metrics, **options)
    expected: list[Comparison] = []
    for one, two in pairs:
        both = {one: models[one], two: models[two]}
        expected += compare(both, metric=metrics, **options)
    assert [verdict.p_holm for verdict in found] == [None] * len(expected)
    for verdict, comparison in zip(found, expected, strict=True):
        for name in ("metric", "name_a", "name_b", "p_value", "method", "notes"):
            np.testing.assert_equal(getattr(verdict, name), getattr(comparison, name))
