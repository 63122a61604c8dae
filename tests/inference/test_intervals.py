"""Test intervals: resamples are metrics of resampled ranks, and bounds follow their definitions."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.metric_keys import keys_where
from truerank import Ranks, report
from truerank.inference.intervals import Interval, interval
from truerank.inference.samples.functionals import (
    ResampledFunctional,
    SumFunctional,
    standard_error,
)
from truerank.inference.samples.median_functionals import MedianFunctional
from truerank.inference.samples.resampling import (
    bca_bounds,
    draw_resamples,
    draw_swaps,
    is_exhaustible,
    percentile_bounds,
)
from truerank.inference.samples.units import units_of
from truerank.metrics import METRICS, UnknownKeyError, adjusted, chance, parse

pytestmark = pytest.mark.python_only

ADDITIVE = keys_where(lambda metric: metric.single)
HELD = keys_where(lambda metric: metric.chance and not metric.single and not metric.parameter)
POWERS = ("power_mean:2", "power_mean:-0.5", "power_mean:0", "power_mean:inf", "power_mean:900")
UNADJUSTED = (*ADDITIVE, *HELD, *POWERS, "std", "variance", "mad", "count")
KINDS = ("realistic", "optimistic", "pessimistic", "expected")
# the chance models of hmr and imr are integrals, so each example tests only a few keys
ADJUSTED = [f"{a}.{m}" for a in ("ratio", "index", "z") for m in (*ADDITIVE, "gmr", "median")]
KEYS = [*UNADJUSTED, *ADJUSTED, "z.hmr", "index.imr", "ratio.imedian"]


@st.composite
def labelled(draw: st.DrawFn, largest: int = 9, weighted: bool | None = None) -> Ranks:
    """Ranks of 1 to 9 tasks with ties, unequal candidates, queries, sides and perhaps weights."""
    n = draw(st.integers(1, largest))
    numbers = st.lists(st.integers(0, 6), min_size=n, max_size=n)
    above, more, below = (np.array(draw(numbers)) for _ in range(3))
    if draw(st.booleans()):
        more[:] = 0
    weights = None
    if draw(st.booleans()) if weighted is None else weighted:
        some = st.sampled_from([0.0, 0.25, 1 / 3, 0.7, 1.0, 3.0])
        weights = draw(st.lists(some, min_size=n, max_size=n).filter(any))
    queries = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    sides = draw(st.lists(st.sampled_from(["head", "tail"]), min_size=n, max_size=n))
    return Ranks(
        above, more + 1, above + more + 1 + below, weights=weights, queries=queries, side=sides
    )


def twin(ranks: Ranks, key: str, side: str, tasks: np.ndarray) -> float:
    """The metric of resampled tasks, from the public report of the resampled ranks."""
    parsed = parse(key)
    again = ranks[tasks].with_labels(side=None)
    if not len(again) or (again.weights is not None and not again.weights.any()):
        return math.nan if parsed.metric != "count" else float(len(again))
    plain = str(parsed._replace(adjustment="none", side="both"))
    name = str(parsed._replace(adjustment="none", side="both", kind="realistic"))
    if parsed.adjustment == "none":
        return report(again)[plain]
    if name in ADDITIVE:
        value = report(again)[str(parsed._replace(side="both"))]
        held = np.ones(len(ranks), bool) if side == "both" else ranks.side.values == side
        positive = held if ranks.weights is None else held & (ranks.weights > 0)
        return value * math.sqrt(positive.sum() / len(again)) if parsed.adjustment == "z" else value
    own = np.ones(len(ranks), bool) if side == "both" else ranks.side.values == side
    moments = chance(
        name, ranks.candidates[own], None if ranks.weights is None else ranks.weights[own]
    )
    return adjusted(parsed, report(again)[plain], *moments)


@given(labelled(), st.sampled_from(KEYS), st.sampled_from(KINDS), st.data())
@settings(max_examples=400)
def test_resamples_are_the_metric_of_resampled_ranks(
    ranks: Ranks, name: str, kind: str, data: st.DataObject
) -> None:
    side = data.draw(st.sampled_from(["both", *sorted(set(ranks.side.values.tolist()))]))
    by = data.draw(st.sampled_from([None, "query"]))
    key = f"{side}.{kind}.{name}"
    held = np.ones(len(ranks), bool) if side == "both" else ranks.side.values == side
    weights = None if ranks.weights is None else ranks.weights[held]
    assume(weights is None or weights.any())
    unequal = weights is not None and len(set(weights[weights > 0].tolist())) > 1
    assume(not (unequal and "median" in name and name not in HELD))
    chosen = units_of(ranks, key, by=by)
    moving, every = chosen.functional(), np.ones(chosen.number, dtype=np.int64)

    def value(counts: np.ndarray) -> float:
        return twin(ranks, key, side, np.repeat(chosen.tasks, counts[chosen.unit]))

    def close(found: np.ndarray, counts: np.ndarray) -> None:
        wanted = np.array([value(row) for row in counts])
        wanted[~np.isfinite(wanted)] = math.nan
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)

    counts = next(draw_resamples(chosen.number, 6, seed=data.draw(st.integers(0, 99))))
    close(moving.of_counts(counts), counts)
    measured = report(ranks)[key]
    assert chosen.value() == pytest.approx(measured, nan_ok=True, rel=1e-12)
    assert moving.of_counts(every[None])[0] == pytest.approx(
        measured if math.isfinite(measured) else math.nan, nan_ok=True, rel=1e-9, abs=1e-9
    )
    without = moving.leave_one_out()
    # without a unit, half of the weight is decided within rounding: three times 1/3 is 1 there
    rounds = (
        isinstance(moving, MedianFunctional) and weights is not None and (weights * 4 % 1).any()
    )
    if without is not None and chosen.number > 1 and not rounds:
        close(without, every - np.eye(chosen.number, dtype=np.int64))
    if isinstance(moving, SumFunctional) and math.isfinite(measured):
        check_influence(moving)


def check_influence(moving: SumFunctional) -> None:
    """Check the derivative with respect to each multiplicity against differences."""
    eye, step = np.eye(moving.units), 1e-5
    with_more, with_less = moving.of_counts(1 + step * eye), moving.of_counts(1 - step * eye)
    slopes = (with_more - with_less) / (2 * step)
    found = moving.influence()
    settled = np.isfinite(found) & np.isfinite(slopes)
    # the root of a variance near 0 has no usable derivative
    if moving.of_counts(np.ones((1, moving.units)))[0] > 1e-3:
        np.testing.assert_allclose(found[settled], slopes[settled], rtol=1e-4, atol=1e-5)


def test_each_metric_has_its_functional() -> None:
    """The test above covers three classes; check which metric uses which."""
    ranks = Ranks([0, 3, 1], [1, 2, 1], 9)
    ways = {
        "mrr": SumFunctional,
        "z.mr": SumFunctional,
        "std": SumFunctional,
        "median": MedianFunctional,
        "expected.mad": MedianFunctional,
    }
    ways |= {
        "power_mean:3": SumFunctional,
        "power_mean:900": ResampledFunctional,
        "power_mean:-inf": ResampledFunctional,
    }
    for key, kind in ways.items():
        assert isinstance(units_of(ranks, key, by=None).functional(), kind)
    long_ties = Ranks([0, 0], [100, 1], 100)
    assert isinstance(
        units_of(long_ties, "expected.median", by=None).functional(), ResampledFunctional
    )


@pytest.mark.parametrize("key", ["median", "mad", "expected.median"])
@pytest.mark.parametrize("weighted", [False, True])
def test_medians_of_many_tasks(key: str, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    n = 600
    weights = rng.choice([0.1, 0.2, 0.3, 1 / 3], n) if weighted else None
    ranks = Ranks(rng.geometric(0.05, n), rng.integers(1, 4, n), 10_000, weights=weights)
    moving = units_of(ranks, key, by=None).functional()
    counts = next(draw_resamples(n, 40, seed=1))
    slow = [report(ranks[np.repeat(np.arange(n), row)])[key] for row in counts]
    np.testing.assert_allclose(moving.of_counts(counts), slow, rtol=1e-14)
    some = np.arange(0, n, 37)
    slow = [report(ranks[np.delete(np.arange(n), i)])[key] for i in some]
    np.testing.assert_allclose(moving.leave_one_out()[some], slow, rtol=1e-14)


# -- drawing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("units", "resamples"), [(1, 3), (7, 100), (20_000, 30), (300_000, 2)])
def test_draws_are_those_of_the_generator(units: int, resamples: int) -> None:
    chunks = list(draw_resamples(units, resamples, seed=5))
    rng = np.random.default_rng(5)
    for chunk in chunks:
        drawn = rng.integers(0, units, chunk.shape)
        for row, held in zip(drawn, chunk, strict=True):
            np.testing.assert_array_equal(np.bincount(row, minlength=units), held)
    assert sum(len(chunk) for chunk in chunks) == resamples


def test_all_swaps_of_few_units() -> None:
    (ways,) = draw_swaps(4, 16, seed=0)
    assert len({tuple(row) for row in ways.tolist()}) == 16
    assert not ways[0].any()
    thrown = np.concatenate(list(draw_swaps(13, 5000, seed=0)))
    assert thrown.shape == (5000, 13)
    assert abs(thrown.mean() - 0.5) < 0.01
    assert is_exhaustible(4, 16)
    assert not is_exhaustible(4, 15)
    assert not is_exhaustible(100, 10**40)


def test_no_array_of_resamples_by_tasks() -> None:
    rng = np.random.default_rng(0)
    ranks = Ranks(rng.geometric(0.01, 20_000), np.ones(20_000, int), 10_000)
    for key in ("index.mrr", "median"):
        tracemalloc.start()
        interval(ranks, key, resamples=500)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 30e6  # 500 x 20,000 counts of 8 bytes would be 80 MB


# -- bounds ----------------------------------------------------------------------------------------


def test_bca_is_its_definition() -> None:
    rng = np.random.default_rng(1)
    values = rng.exponential(size=30)
    replicates = np.sort(values[rng.integers(0, 30, (999, 30))].mean(axis=1))
    jackknife = (values.sum() - values) / 29
    low, high = bca_bounds(replicates, values.mean(), jackknife, 0.9)
    norm = scipy.stats.norm
    z0 = norm.ppf((replicates < values.mean()).mean())
    d = jackknife.mean() - jackknife
    a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    shares = [norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in norm.ppf([0.05, 0.95])]
    assert [low, high] == pytest.approx(np.quantile(replicates, shares))


def test_bca_agrees_with_scipy() -> None:
    rng = np.random.default_rng(2)
    ranks = Ranks(rng.geometric(0.05, 200), np.ones(200, int), 1000)
    found = interval(ranks, "mrr", method="bca", resamples=20_000, seed=1)
    values = 1 / ranks.realistic
    peer = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, random_state=np.random.default_rng(3), batch=500
    ).confidence_interval
    width = peer.high - peer.low
    assert found.method == "bca"
    assert abs(found.low - peer.low) < 0.03 * width
    assert abs(found.high - peer.high) < 0.03 * width


def test_percentiles_leave_out_resamples_without_a_value() -> None:
    values = np.arange(1001.0)
    values[:10] = math.nan
    assert percentile_bounds(values, 0.5) == pytest.approx((257.5, 752.5))
    values[:11] = math.nan
    assert all(math.isnan(bound) for bound in percentile_bounds(values, 0.5))


def test_normal_is_the_mean_and_its_standard_error() -> None:
    ranks = Ranks([0, 0, 1, 3, 7, 2, 40, 1], [1, 2, 1, 1, 1, 1, 1, 1], 100)
    values = 1 / ranks.realistic
    error = values.std(ddof=1) / math.sqrt(len(values))
    found = interval(ranks, "mrr", method="normal", level=0.9)
    reach = scipy.stats.norm.ppf(0.95) * error
    assert (found.low, found.high) == pytest.approx((values.mean() - reach, values.mean() + reach))
    gmr = interval(ranks, "gmr", method="normal", level=0.9)
    logs = np.log(ranks.realistic)
    error = gmr.value * logs.std(ddof=1) / math.sqrt(len(logs))
    assert gmr.high - gmr.value == pytest.approx(scipy.stats.norm.ppf(0.95) * error, rel=1e-8)
    assert (found.method, found.resamples, found.units) == ("normal", 0, 8)


def test_normal_is_robust_to_clusters() -> None:
    rng = np.random.default_rng(4)
    query = rng.integers(0, 9, 60)
    weights = rng.random(60)
    ranks = Ranks(rng.geometric(0.1, 60), np.ones(60, int), 500, queries=query, weights=weights)
    found = interval(ranks, "mr", method="normal", by="query")
    residual = weights * (ranks.realistic - found.value) / weights.sum()
    scores = np.array([residual[query == q].sum() for q in range(9)])
    error = math.sqrt((scores**2).sum() * 9 / 8)
    assert found.high - found.value == pytest.approx(scipy.stats.norm.ppf(0.975) * error)
    assert standard_error(scores) == pytest.approx(error)
    assert (found.units, found.by) == (9, "query")


def test_normal_interval_of_the_median() -> None:
    """Woodruff's interval has the order statistics at n / 2 -+ 1.96 sqrt(n) / 2."""
    ranks = Ranks(np.arange(1000), np.ones(1000, int), 5000)
    found = interval(ranks, "median", method="normal")
    reach = 1.96 * math.sqrt(1000) / 2
    assert found.value == 500.5
    assert found.low == pytest.approx(500 - reach, abs=1.5)
    assert found.high == pytest.approx(500 + reach, abs=1.5)
    inverse = interval(ranks, "imedian", method="normal")
    assert (inverse.low, inverse.high) == pytest.approx((1 / found.high, 1 / found.low))


def test_bootstrap_of_a_share_is_binomial() -> None:
    """The resampled number of hits is binomial, so its quantiles are known."""
    ranks = Ranks([0] * 30 + [50] * 70, np.ones(100, int), 100)
    found = interval(ranks, "hits@1", method="percentile", resamples=40_000, seed=8)
    low, high = scipy.stats.binom.ppf([0.025, 0.975], 100, 0.3) / 100
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.0101)


# -- units and weights -----------------------------------------------------------------------------


def test_groups_of_one_task_are_tasks() -> None:
    rng = np.random.default_rng(5)
    ranks = Ranks(rng.geometric(0.1, 50), np.ones(50, int), 100)
    for method in ("auto", "normal"):
        alone = interval(ranks, "amri", by=np.arange(50), method=method, resamples=500)
        assert alone[:4] == interval(ranks, "amri", method=method, resamples=500)[:4]
        assert alone.by == "group"


def test_ranks_of_one_query_are_not_independent() -> None:
    rng = np.random.default_rng(6)
    query = np.repeat(np.arange(40), 25)
    above = rng.geometric(0.05, 40)[query]
    ranks = Ranks(above, np.ones(1000, int), 1000, queries=query)
    for method in ("bca", "normal"):
        tasks, queries = (
            interval(ranks, "mrr", by=by, method=method, resamples=2000) for by in (None, "auto")
        )
        ratio = (queries.high - queries.low) / (tasks.high - tasks.low)
        assert ratio == pytest.approx(5, rel=0.15)  # the root of 25


@pytest.mark.parametrize("key", ["mrr", "index.mrr", "z.mr", "gmr", "median", "std"])
def test_tasks_without_weight_are_left_out(key: str) -> None:
    rng = np.random.default_rng(7)
    weights = rng.integers(0, 2, 80).astype(float)
    ranks = Ranks(rng.geometric(0.1, 80), np.ones(80, int), rng.integers(100, 200, 80))
    ranks = Ranks(np.minimum(ranks.above, 90), ranks.tied, ranks.candidates)
    some = interval(ranks, key, weights=weights, resamples=300)
    assert some[:-4] == pytest.approx(interval(ranks[weights > 0], key, resamples=300)[:-4])


def test_weights_by_name() -> None:
    ranks = Ranks([0, 3, 1, 8], [1, 1, 1, 1], 20, queries=[4, 4, 9, 9], side="tail")
    assert interval(ranks, "mrr", weights="query", resamples=99).value == pytest.approx(
        report(ranks, weights="query")["mrr"]
    )


def test_macro_averages_resample_the_groups() -> None:
    groups = ["a", "a", "b", "c", "c", "c"]
    ranks = Ranks([0, 3, 1, 8, 0, 2], np.ones(6, int), [9, 9, 9, 9, 9, 4], relation=groups)
    for key in ("macro.mrr", "macro.index.mr", "macro.gmr", "macro.index.median"):
        found = interval(ranks, key, by="relation", method="normal")
        within = list(report(ranks, by="relation").group_values(key[6:]).values())
        assert found.value == pytest.approx(report(ranks, by="relation")[key])
        error = np.std(within, ddof=1) / math.sqrt(3)
        assert found.high - found.value == pytest.approx(1.959964 * error, rel=1e-6)
        drawn = interval(ranks, key, by="relation", method="bca", resamples=200)
        assert drawn.units == 3
        assert min(within) <= drawn.low <= drawn.high <= max(within)
    with pytest.raises(UnknownKeyError, match="name them with by"):
        interval(ranks, "macro.mrr")


def test_macro_averages_leave_out_groups_without_a_value() -> None:
    ranks = Ranks([0, 3, 1, 0], [1, 1, 1, 1], [9, 9, 9, 1], relation=["a", "a", "b", "single"])
    found = interval(ranks, "macro.amri", by="relation", resamples=50)
    assert found.value == report(ranks, by="relation")["macro.amri"]
    assert found.units == 2


def test_random_ranks_are_drawn_once() -> None:
    ranks = Ranks([0, 3, 1, 0], [5, 4, 3, 2], 20, side=["head", "tail", "tail", "head"])
    for seed in range(3):
        value = report(ranks, seed=seed)["tail.random.mr"]
        assert interval(ranks, "tail.random.mr", draw_seed=seed, resamples=9).value == value


# -- what comes of nothing -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "bca", "percentile", "normal"])
@pytest.mark.parametrize(
    "key", ["mrr", "index.mrr", "z.mr", "gmr", "z.gmr", "median", "std", "hmr"]
)
def test_degenerate_intervals_are_nan_without_a_warning(method: str, key: str) -> None:
    none = interval(Ranks([], [], []), key, method=method, resamples=20)
    assert none.units == 0
    single = interval(Ranks([3], [1], 9), key, method=method, resamples=20)
    assert single.value == report(Ranks([3], [1], 9))[key]
    for found in (none, single):
        assert math.isnan(found.low)
        assert math.isnan(found.high)
    constant = interval(Ranks([6] * 5, [1] * 5, 9), key, method=method, resamples=20)
    assert constant.low <= constant.value <= constant.high
    assert (constant.low < constant.high) == (method == "auto" and key != "std")
    assert any(note.startswith("zero width") for note in constant.notes)
    alone = interval(Ranks([0] * 5, [1] * 5, 1), key, method=method, resamples=20)
    if key in ("index.mrr", "z.mr", "z.gmr"):
        assert all(math.isnan(x) for x in alone[:3])
    else:
        assert alone.low == alone.value == alone.high


def test_bca_is_undefined_where_no_task_matters() -> None:
    ranks = Ranks([4, 5, 5, 5, 5, 9], np.ones(6, int), 20)
    assert interval(ranks, "median", method="bca", resamples=50).method == "percentile"
    assert interval(ranks, "mr", method="bca", resamples=50).method == "bca"
    assert interval(ranks, "mr", method="percentile", resamples=50).method == "percentile"


@pytest.mark.parametrize("key", ["mad", "power_mean:inf"])
def test_no_delta_method(key: str) -> None:
    with pytest.raises(ValueError, match="'normal' does not apply to"):
        interval(Ranks([0, 3], [1, 1], 9), key, method="normal")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "jackknife"}, ValueError, "method: expected one of auto, studentised, bounded"),
        ({"level": 1}, ValueError, "level: expected a number between 0 and 1, got 1"),
        ({"level": "95"}, TypeError, "level: expected a number between 0 and 1, got str"),
        ({"resamples": 0}, ValueError, "resamples: expected an integer from 1 to 100000000, got 0"),
        ({"seed": None}, TypeError, "seed: expected an integer >= 0, got NoneType"),
        ({"by": "query"}, ValueError, "by: these ranks have no labels 'queries'"),
        ({"by": [1]}, ValueError, "by: expected 2 labels"),
        ({"weights": [1.0]}, ValueError, "weights: expected 2 numbers"),
        ({"metric": "mmr"}, KeyError, "did you mean"),
        ({"metric": "head.mrr"}, KeyError, "no side 'head' in these ranks, which have both, tail"),
        ({"ranks": [1, 2]}, TypeError, "ranks: expected Ranks or a Report, got list"),
    ],
)
def test_errors_say_what_was_expected(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    given = {"ranks": Ranks([0, 3], [1, 1], 9, side="tail"), "metric": "mrr", **options}
    with pytest.raises(error) as caught:
        interval(**given)
    assert message in str(caught.value)


def test_weighted_medians_have_no_chance_model() -> None:
    ranks = Ranks([0, 3], [1, 1], 9, weights=[1, 2])
    assert interval(ranks, "median", resamples=9).value == 4
    with pytest.raises(UnknownKeyError, match="median"):
        interval(ranks, "index.median")


def test_one_seed_gives_one_interval() -> None:
    ranks = Ranks([0, 3, 8, 1, 20], np.ones(5, int), 50)
    first, second, other = (interval(ranks, "mr", seed=s, resamples=100) for s in (1, 1, 2))
    assert first == second
    assert first[:3] != other[:3]
    text = "mr 7.4 [2, 14] (95 %, bca, 100 resamples of 5 tasks)"
    assert str(Interval(2.0, 7.4, 14.0, 0.95, "bca", 100, 5, 1, "mr")) == text
    assert (
        str(Interval(2.0, 7.4, 14.0, 0.9, "normal", 0, 5, 1))
        == "7.4 [2, 14] (90 %, normal, 5 tasks)"
    )


def test_every_metric_of_the_table_has_an_interval() -> None:
    rng = np.random.default_rng(9)
    ranks = Ranks(rng.geometric(0.1, 40), rng.integers(1, 4, 40), 500)
    for name, metric in METRICS.items():
        key = name + metric.examples[0]
        for prefix in ("", "expected.", "z.") if metric.chance else ("", "expected."):
            found = interval(ranks, prefix + key, resamples=200)
            assert found.low <= found.value <= found.high
            assert found.key == str(parse(prefix + key))


def test_macro_averages_of_a_report_take_its_groups() -> None:
    ranks = Ranks([0, 3, 1, 7, 2, 0], [1] * 6, 10)
    measured = report(ranks, by=["a", "b", "c", "a", "b", "c"])
    found = measured.interval("macro.mrr", resamples=200)
    assert (found.units, found.value) == (3, measured["macro.mrr"])
    assert found == interval(ranks, "macro.mrr", by=["a", "b", "c"] * 2, resamples=200)
    with pytest.raises(KeyError, match="by="):
        report(ranks).interval("macro.mrr")
    weighted = report(ranks, by=["a", "b", "b", "b", "b", "b"], macro_weights="count")
    with pytest.raises(ValueError, match="each group counts by its tasks"):
        weighted.interval("macro.mrr")


@pytest.mark.parametrize(("key", "ends"), [("mr", (1, 9)), ("mrr", (1 / 9, 1))])
def test_normal_bounds_stay_within_the_range(key: str, ends: tuple[float, float]) -> None:
    found = interval(Ranks([8, 0, 0], [1] * 3, 9), key, method="normal", level=0.99)
    assert (found.low, found.high) == pytest.approx(ends)


def test_bounds_that_are_nan_have_a_note() -> None:
    ranks = Ranks([0] * 4, [1] * 4, 9, queries=[0, 1, 1, 1])
    found = interval(ranks, "count")
    assert math.isnan(found.low)
    assert found.notes == ("no bounds: studentised gives none for these 2 queries",)


def test_a_median_of_equal_ranks_has_bounds_within_strata() -> None:
    ranks = Ranks([0] * 6, [1] * 6, 2, relation=[0, 0, 0, 0, 1, 1])
    found = interval(ranks, "median", by="task", strata="relation")
    assert found.low == found.value == 1
    assert found.notes[0].startswith("strata: 2 relations")


def test_a_report_stands_for_its_ranks_and_weights() -> None:
    ranks = Ranks([0, 3, 1, 7], [1, 1, 2, 1], 10)
    weighted = ranks.with_weights([1, 2, 3, 4])
    found = interval(report(ranks, weights=[1, 2, 3, 4]), "mrr", resamples=99)
    assert found == interval(weighted, "mrr", resamples=99)
    assert found != interval(ranks, "mrr", resamples=99)
