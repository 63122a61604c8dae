"""Test crossed units and fixed strata: plain variances, resamples, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank import Ranks, compare
from truerank.inference import interval
from truerank.inference.sampling_design import Crossed, Strata, StudentTest, crossed_names

pytestmark = pytest.mark.python_only

BOTH = ("query", "target")


def models(n: int = 400, seed: int = 0, spread: float = 0.7) -> tuple[Ranks, Ranks]:
    """Two models whose ranks depend on the query and on the target."""
    rng = np.random.default_rng(seed)
    query, target = rng.integers(0, n // 4, n), rng.integers(0, n // 8, n)
    hard = rng.normal(1.5, spread, n)[query] + rng.normal(0, spread, n)[target]
    labels = {"queries": query, "targets": target, "relation": query % 5}
    a, b = (
        Ranks(
            np.exp(np.maximum(hard + rng.normal(move, 1, n), 0)).astype(int),
            np.ones(n, int),
            10_000,
            **labels,
        )
        for move in (0.0, 0.2)
    )
    return a, b


@st.composite
def labelled(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The influences of tasks, and two kinds of labels."""
    n = draw(st.integers(4, 15))
    moved = draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n))
    codes = [draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)) for _ in range(2)]
    first, second = (np.unique(x, return_inverse=True)[1].reshape(-1) for x in codes)
    return np.array(moved), first, second


def plain_variance(moved: np.ndarray, labels: list[object]) -> float:
    """The sum over units of squared sums, times units / (units - 1)."""
    sums = [sum(m for m, own in zip(moved, labels, strict=True) if own == u) for u in set(labels)]
    return len(sums) / (len(sums) - 1) * sum(x * x for x in sums) if len(sums) > 1 else math.nan


# -- units of two kinds ----------------------------------------------------------------------------


@given(labelled())
@settings(max_examples=100)
def test_the_two_way_error_is_that_of_its_definition(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    moved, first, second = problem
    found, degrees = Crossed(first, second, BOTH).error(moved)
    units = min(first.max(), second.max()) + 1
    if units < 2:
        assert math.isnan(found)
        return
    centred = moved - moved.mean()
    one, two = (plain_variance(centred, x.tolist()) for x in (first, second))
    both = plain_variance(centred, [*zip(first.tolist(), second.tolist(), strict=True)])
    assert found**2 == pytest.approx(max(one + two - both, one, two), abs=1e-9)
    effective = [len(x) ** 2 / np.square(np.bincount(x)).sum() for x in (first, second)]
    assert degrees == pytest.approx(max(1, min(effective) - 1))


@pytest.mark.parametrize("metric", ["mrr", "mr", "index.mrr"])
def test_an_interval_of_means(metric: str) -> None:
    a, _ = models()
    found = interval(a, metric, by=BOTH)
    values = 1 / a.realistic if "mrr" in metric else a.realistic
    moved = (values - values.mean()) / 400
    codes = (np.unique(x.codes, return_inverse=True)[1] for x in (a.queries, a.targets))
    error, degrees = Crossed(*codes, BOTH).error(moved)
    if metric == "index.mrr":  # index = (mrr - chance) / (1 - chance)
        error /= 1 - (1 / np.arange(1, 10_001)).mean()
    reach = scipy.stats.t.ppf(0.975, degrees) * error
    low = max(1, found.value - reach) if metric == "mr" else found.value - reach
    assert (found.low, found.high) == pytest.approx((low, found.value + reach))
    assert (found.method, found.by, found.resamples) == ("t", "query x target", 0)
    queries, targets = (len(np.unique(x.codes)) for x in (a.queries, a.targets))
    assert found.units == min(queries, targets)
    first = f"two-way clusters: {queries} queries and {targets} targets; the error counts both"
    assert found.notes[0] == first
    assert "queries x targets" in str(found)


def test_both_kinds_of_units_widen_an_interval() -> None:
    a, _ = models(2000)
    both, query, target, task = (interval(a, by=by) for by in (BOTH, "query", "target", "task"))
    widths = [x.high - x.low for x in (both, target, task)]
    assert widths == sorted(widths, reverse=True)
    assert both.high - both.low > query.high - query.low
    swapped = interval(a, by=("target", "query"))
    assert (swapped.low, swapped.high) == pytest.approx((both.low, both.high))


def test_single_tasks_in_both_kinds_are_plain() -> None:
    """Where no label repeats, the error is that of single tasks."""
    a, b = (x.with_labels(queries=range(400), targets=range(400)) for x in models())
    found = compare(a, b, by=BOTH)
    t = scipy.stats.ttest_rel(1 / a.realistic, 1 / b.realistic)
    assert found.p_value == pytest.approx(t.pvalue)
    bounds = t.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high))


@pytest.mark.parametrize("by", [{"by": BOTH}, {"by": "query", "strata": "relation"}])
def test_every_metric_has_an_interval(by: dict[str, object]) -> None:
    a, b = models()
    for metric, method in (
        ("hits@10", "wilson"),
        ("median", "woodruff"),
        ("gmr", "t"),
        ("z.mr", "t"),
        ("std", "t"),
        ("mad", "percentile"),
    ):
        found = interval(a, metric, resamples=99, **by)
        assert (found.method, found.low < found.value < found.high) == (method, True)
        pair = compare(a, b, metric=metric, resamples=99, **by)
        assert pair.method == ("bootstrap" if metric in ("median", "mad") else "t")
        assert pair.low <= pair.difference <= pair.high
        assert 0 < pair.p_value <= 1


def test_resamples_of_both_kinds() -> None:
    """A task occurs as often as its query times as often as its target."""
    first, second = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 0, 2])
    drawn = np.concatenate([*Crossed(first, second, BOTH).draw(4000, 3)])
    assert drawn.shape == (4000, 5)
    assert drawn.mean(axis=0) == pytest.approx(np.ones(5), abs=0.1)
    assert drawn[:, 0].var() == pytest.approx((1 + 2 / 3) ** 2 - 1, rel=0.2)
    again = np.concatenate([*Crossed(first, second, BOTH).draw(4000, 3)])
    assert (again == drawn).all()


def test_a_hub_counts_once() -> None:
    """One target with half of the tasks is a note, and few degrees of freedom."""
    rng = np.random.default_rng(0)
    target = np.r_[np.zeros(200, int), np.arange(1, 201)]
    a = Ranks(rng.integers(0, 50, 400), np.ones(400, int), 100, queries=range(400), targets=target)
    found = interval(a, by=BOTH)
    assert "clusters: the largest of 201 targets holds 50 % of the tasks" in found.notes
    assert found.high - found.low > 1.3 * (interval(a).high - interval(a).low)
    assert found.largest == 200


def test_tuples_of_names_and_labels_of_two_tasks() -> None:
    two = Ranks([0, 3], [1, 1], 10, queries=[1, 2], targets=[3, 3])
    assert crossed_names(("x", "y"), two) is None
    assert crossed_names(BOTH, two) == BOTH
    assert compare(two, two, by=("x", "y")).by == "group"
    assert crossed_names("query", two) is None
    assert crossed_names(([0, 1], ["x", "y"]), two) is None  # codes and vocabulary


# -- strata ----------------------------------------------------------------------------------------


def plain_strata(moved: np.ndarray, strata: np.ndarray) -> float:
    variance = 0.0
    for stratum in set(strata.tolist()):
        own = moved[strata == stratum]
        variance += len(own) * own.var(ddof=1)
    return math.sqrt(variance)


@given(labelled())
@settings(max_examples=100)
def test_the_error_within_strata_is_that_of_its_definition(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    moved, strata, _ = problem
    design = Strata(strata, "relation", "task", 1)
    numbers = np.bincount(strata)
    pooled = strata.copy()
    alone = numbers[strata] == 1
    pooled[alone] = 99 if alone.sum() > 1 else numbers.argmax()
    found, degrees = design.error(moved)
    assert found == pytest.approx(plain_strata(moved, pooled))
    assert degrees == len(moved) - len(set(pooled.tolist()))


def test_resamples_keep_the_number_of_units_of_each_stratum() -> None:
    strata = np.array([0, 1, 0, 2, 1, 0, 3])  # the last two are pooled
    drawn = np.concatenate([*Strata(strata, "relation", "task", 1).draw(3000, 1)])
    assert drawn.shape == (3000, 7)
    for codes, number in (([0], 3), ([1], 2), ([2, 3], 2)):
        assert (drawn[:, np.isin(strata, codes)].sum(axis=1) == number).all()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(7), abs=0.1)


def test_strata_leave_out_what_lies_between_them() -> None:
    """Where relations differ much, most of the variance is between them."""
    rng = np.random.default_rng(0)
    group = np.arange(1000) % 10
    above = rng.poisson(2.0**group)
    a = Ranks(above, np.ones(1000, int), 10_000, relation=group)
    plain, fixed = interval(a, "gmr"), interval(a, "gmr", strata="relation")
    assert fixed.high - fixed.low < 0.4 * (plain.high - plain.low)
    assert fixed.notes == ("strata: 10 relations, each with its number of units",)
    percentile = interval(a, "gmr", strata="relation", method="percentile", resamples=2000)
    assert (percentile.low, percentile.high) == pytest.approx((fixed.low, fixed.high), rel=0.02)
    b = Ranks(rng.poisson(2.0**group * 1.05), np.ones(1000, int), 10_000, relation=group)
    t, bootstrap = (
        compare(a, b, metric="gmr", strata="relation", method=method, resamples=999)
        for method in (None, "bootstrap")
    )
    assert (t.method, bootstrap.method) == ("t", "bootstrap")
    assert (t.low, t.high) == pytest.approx((bootstrap.low, bootstrap.high), abs=0.05)


def test_one_stratum_is_none() -> None:
    a, b = models()
    found = compare(a, b, by="task", strata=["all"] * 400)
    t = scipy.stats.ttest_rel(1 / a.realistic, 1 / b.realistic)
    assert found.p_value == pytest.approx(t.pvalue)


def test_strata_of_single_units_are_noted() -> None:
    a, _ = models(60)
    strata = np.r_[np.zeros(57, int), 1, 2, 3]
    found = interval(a, by="task", strata=strata)
    assert found.notes[0].endswith("each with its number of units; 3 with a single unit are pooled")


# -- coverage --------------------------------------------------------------------------------------


def test_the_two_way_interval_covers() -> None:
    """Queries and targets both shift the ranks; intervals by one of them are too narrow."""
    covered = dict.fromkeys(["both", "query"], 0)
    law = scipy.stats.norm(1.5, math.sqrt(2 * 0.7**2 + 1))
    shares = np.diff(law.cdf(np.log(np.arange(2, 10_000))), prepend=0.0)  # of ranks 2, 3, ...
    true = float((shares / np.arange(2, 10_000)).sum())
    for seed in range(200):
        a, _ = models(800, seed)
        for name, by in (("both", BOTH), ("query", "query")):
            found = interval(a, by=by, resamples=99, method="auto" if name == "both" else "normal")
            covered[name] += found.low <= true <= found.high
    assert covered["both"] >= 182  # 95 % of 200 less 2.6 standard errors
    assert covered["query"] < 175


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": ("query", "queries")}, ValueError, "by: expected two names of different labels"),
        ({"by": ("query", "pair")}, ValueError, "by: expected labels, one for each task"),
        ({"by": BOTH, "strata": "relation"}, ValueError, "strata: they need units of one kind"),
        (
            {"by": "target", "strata": "relation"},
            ValueError,
            "strata: expected labels that are the same in all tasks of a target, got ",
        ),
        (
            {"by": "query", "strata": "pair"},
            ValueError,
            "strata: expected labels, one for each task",
        ),
        ({"by": BOTH, "method": "bca"}, ValueError, "method: expected 'auto' or 'percentile'"),
        ({"by": BOTH, "metric": "macro.mrr"}, KeyError, "name them with by"),
        (
            {"by": "query", "metric": "macro.mrr", "strata": "relation"},
            ValueError,
            "strata: 'macro.mrr' is a mean over groups",
        ),
    ],
)
def test_errors_say_what_was_expected(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    a, b = models()
    with pytest.raises(error) as caught:
        interval(a, **options)
    assert message in str(caught.value)
    if "metric" not in options and "method" not in options:
        with pytest.raises(error) as caught:
            compare(a, b, **options)
        assert message in str(caught.value)


@pytest.mark.parametrize("method", ["permutation", "wilcoxon", "mcnemar"])
def test_tests_of_units_of_one_kind_are_refused(method: str) -> None:
    a, b = models()
    with pytest.raises(ValueError, match="method: expected 'bootstrap', or none"):
        compare(a, b, metric="hits@3", by=BOTH, method=method)


def test_several_runs_have_units_of_one_kind() -> None:
    a, b = models()
    for options in ({"by": BOTH}, {"strata": "relation"}):
        with pytest.raises(ValueError, match="several runs are compared over units of one kind"):
            compare([a, b], [b, a], **options)


def test_nothing_to_tell() -> None:
    empty = Ranks([], [], [], queries=[], targets=[])
    assert math.isnan(interval(empty, by=BOTH).low)
    assert math.isnan(compare(empty, empty, by=BOTH).p_value)
    one = Ranks([0, 3], [1, 1], 10, queries=[1, 2], targets=[3, 3])
    assert math.isnan(interval(one, by=BOTH).low)
    assert math.isnan(compare(one, one, by=BOTH).p_value)
    a, _ = models()
    same = compare(a, a, by=BOTH)
    assert (same.p_value, same.low, same.high) == (1, 0, 0)


def test_t_tests() -> None:
    test = StudentTest(1.5, 0.5, 8)
    assert test.p_value() == pytest.approx(2 * scipy.stats.t.sf(3, 8))
    low, high = test.interval(0.95)
    assert test.p_value(low) == pytest.approx(0.05)
    assert test.p_value(high) == pytest.approx(0.05)
    assert test.one_sided(0.0, above=True) == pytest.approx(scipy.stats.t.sf(3, 8))
    assert test.one_sided(0.0, above=False) == pytest.approx(scipy.stats.t.cdf(3, 8))
    exact = StudentTest(1.0, 0.0, 8)
    assert (exact.p_value(), exact.p_value(1.0)) == (0, 1)
