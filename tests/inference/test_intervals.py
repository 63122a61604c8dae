"""Intervals against scipy, order statistics, enumeration and small simulations."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

import truerank as tr
from inference.test_influences import SMOOTH, drawn
from support.examples import examples
from truerank.inference import interval
from truerank.inference.influences import influences_of_sums
from truerank.inference.intervals import bounds_of


def of_ranks(ranks: Any, candidates: int = 1000, **labels: Any) -> tr.Ranks:
    ranks = np.asarray(ranks)
    return tr.Ranks(ranks - 1, np.ones(len(ranks), int), candidates, **labels)


def test_mean_rank_is_the_t_interval_of_a_mean() -> None:
    values = np.random.default_rng(0).integers(1, 500, 400)
    found = interval(of_ranks(values), "mr")
    d = values - values.mean()
    degrees = (d**2).sum() ** 2 / (d**4).sum() - 1
    low, high = scipy.stats.t.interval(0.95, degrees, values.mean(), scipy.stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.method, found.units, found.by) == ("t", 400, "task")


def test_a_large_unit_widens_the_interval_by_what_the_mean_takes_from_it() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(1, 9, 60)
    weights = np.array([25.0] + [1.0] * 59)
    ranks = of_ranks(values, weights=weights)
    shares = weights / weights.sum()
    left = 1 - 2 * shares + (shares**2).sum()

    moved = shares * (values - shares @ values)
    degrees = (moved**2).sum() ** 2 / (moved**4).sum() - 1
    reach = scipy.stats.t.ppf(0.975, max(degrees, 1)) * math.sqrt((moved**2 / left).sum())
    found = interval(ranks, "mr")
    assert found.high == pytest.approx(shares @ values + reach)

    hits = values <= 4
    share = shares @ hits
    moved = shares * (hits - share)
    trials = share * (1 - share) / ((moved**2 / left).sum() * 59 / 60)
    counted = trials * share
    missed = trials * (1 - share)
    expected = scipy.stats.beta.ppf(0.025, counted, missed + 1)
    found = interval(ranks, "hits@4")
    assert (found.method, found.low) == ("clopper-pearson", pytest.approx(expected))


def test_medians_allow_for_a_large_unit() -> None:
    values = np.arange(1, 102)
    weights = np.ones(101)
    weights[50] = 43.0
    wide = interval(of_ranks(values, weights=weights), "median")
    plain = interval(of_ranks(values), "median")
    assert wide.value == plain.value == 51
    assert wide.high - wide.low > 2 * (plain.high - plain.low)  # 1.3 times without it


@pytest.mark.parametrize(
    ("key", "base", "back"),
    [
        ("hmr", "mrr", lambda x: 1 / x),
        ("imr", "mr", lambda x: 1 / x),
        ("igmr", "gmr", lambda x: 1 / x),
        ("imedian", "median", lambda x: 1 / x),
        ("std", "variance", math.sqrt),
        ("power_mean:0", "gmr", float),
        ("power_mean:-1", "hmr", float),
    ],
)
def test_functions_of_a_metric_have_its_bounds(key: str, base: str, back: Any) -> None:
    ranks = drawn(5, 200)
    one = interval(ranks, key)
    two = interval(ranks, base)
    assert sorted(map(back, (two.low, two.high))) == pytest.approx([one.low, one.high], rel=1e-9)


@pytest.mark.parametrize("adjustment", ["ratio", "index", "z"])
@pytest.mark.parametrize("name", ["mr", "mrr", "hits@3", "gmr", "median"])
def test_adjusted_metrics_of_equal_candidates_are_those_of_the_metric(
    name: str, adjustment: str
) -> None:
    rng = np.random.default_rng(1)
    ranks = of_ranks(rng.integers(1, 40, 150), 50)
    one = interval(ranks, f"{adjustment}.{name}")
    two = interval(ranks, name)
    mean, variance = tr.chance(name, ranks.candidates)

    def back(x: float) -> float:
        rules = {
            "ratio": x / mean,
            "index": (x - mean) / (1 - mean),
            "z": (x - mean) / math.sqrt(variance),
        }
        return rules[adjustment]

    expected = sorted(map(back, (two.low, two.high)))
    if adjustment == "index" and name == "hits@3":
        assert expected == pytest.approx([one.low, one.high], abs=2e-3)
    else:
        assert expected == pytest.approx([one.low, one.high], rel=1e-6)


@given(st.integers(1, 60), st.integers(0, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_few_hits_are_bounded_as_by_clopper_and_pearson(n: int, hits: int, level: float) -> None:
    hits = min(hits, n)
    if n < 2:
        n = 2
    found = interval(of_ranks([1] * hits + [5] * (n - hits), 10), "hits@1", level=level)
    exact = scipy.stats.binomtest(hits, n).proportion_ci(level, "exact")
    if min(hits, n - hits) < 10:
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_many_hits_are_bounded_as_by_wilson() -> None:
    found = interval(of_ranks([1] * 4000 + [5] * 6000, 10), "hits@1")
    wilson = scipy.stats.binomtest(4000, 10_000).proportion_ci(0.95, "wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), abs=1e-5)
    assert found.method == "wilson"


@given(st.lists(st.integers(1, 300), min_size=2, max_size=60), st.sampled_from([0.9, 0.95, 0.99]))
@example([9, 9, 9, 10, 10, 10], 0.9)  # whose bounds are ranks, not the exponential of a logarithm
def test_medians_lie_between_order_statistics(ranks: list[int], level: float) -> None:
    found = interval(of_ranks(ranks), "median", level=level)
    ordered = np.sort(ranks)
    n = len(ranks)
    assert found.low <= np.median(ranks) <= found.high
    assert found.method == "order"
    # the coverage of the bounds is that of a binomial law, up to its normal approximation
    below = int((ordered < found.low).sum())
    above = int((ordered > found.high).sum())
    outside = scipy.stats.binom.cdf(below - 1, n, 0.5) + scipy.stats.binom.cdf(above - 1, n, 0.5)
    assert outside <= 1 - level + 0.02


def test_medians_of_distinct_ranks_have_the_classical_places() -> None:
    found = interval(of_ranks(np.arange(1, 101)), "median")
    assert (found.low, found.high) == pytest.approx((40, 61))


def test_medians_of_ties_count_positions() -> None:
    one = tr.Ranks(np.zeros(40, int), np.full(40, 11), 100)
    found = interval(one, "expected.median")
    assert (found.value, found.low, found.high) == pytest.approx((6, 6, 7), abs=2)


def test_macro_medians_take_groups_as_drawn() -> None:
    ranks = drawn(0, 60)
    found = interval(ranks, "macro.median", groups="relation")
    values = np.array(list(tr.report(ranks, by="relation").group_values("median").values()))
    assert (found.units, found.by) == (3, "group")
    assert found.value == pytest.approx(values.mean())


@pytest.mark.parametrize("key", ["mad", "power_mean:inf"])
def test_what_has_no_influences_is_resampled(key: str) -> None:
    ranks = drawn(0, 80)
    found = interval(ranks, key, seed=3)
    assert found == interval(ranks, key, seed=3)
    assert found.method == "bootstrap"
    assert found.low <= found.high
    assert found.value == tr.report(ranks)[key]


def test_resamples_of_very_many_units_are_fewer_units() -> None:
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(3, 1, 8000)).astype(int) + 1
    whole, half = (interval(of_ranks(x, 10**5), "mad") for x in (values, values[:2000]))
    assert (half.high - half.low) / (whole.high - whole.low) == pytest.approx(2, rel=0.3)


@pytest.mark.parametrize("key", ["mr", "mrr", "hits@1", "index.mrr"])
def test_without_variation_the_unseen_is_allowed_for(key: str) -> None:
    found = interval(of_ranks([1] * 50, 100), key)
    share = 1 - 0.025 ** (1 / 50)
    worst = tr.report(of_ranks([100] * 50, 100))[key]
    ends = sorted([found.value, found.value + share * (worst - found.value)])
    assert [found.low, found.high] == pytest.approx(ends)


RANGES = {  # of f, in the order of ranks, with 1,000 candidates
    "mrr": (lambda r: 1 / r, float),
    "hits@3": (lambda r: (r <= 3).astype(float), float),
    "gmr": (np.log, math.exp),
    "igmr": (np.log, lambda mean: math.exp(-mean)),
    "hmr": (lambda r: 1 / r, lambda mean: 1 / mean),
    "power_mean:0.5": (np.sqrt, np.square),
}


@pytest.mark.parametrize("key", RANGES)
@given(
    st.lists(st.sampled_from([1, 2, 2, 3, 9, 400, 1000]), min_size=2, max_size=60), st.booleans()
)
def test_means_with_a_range_reach_as_far_as_unseen_units_allow(
    key: str, ranks: list[int], weighted: bool
) -> None:
    f, back = RANGES[key]
    weights = np.ones(len(ranks))
    if weighted:
        weights = np.random.default_rng(len(ranks)).random(len(ranks)) + 0.1
    found = interval(of_ranks(ranks, weights=weights), key)
    shares = weights / weights.sum()
    mean = shares @ f(np.array(ranks, float))
    unseen = 1 - 0.025 ** (shares @ shares)  # of 1 / sum of squares effective units
    reached = [back(mean + unseen * (f(np.array([end]))[0] - mean)) for end in (1.0, 1000.0)]
    slack = 1e-9 * max(reached)
    assert found.low <= min(reached) + slack
    assert found.high >= max(reached) - slack
    ends = sorted([found.low, found.high])
    if "unseen" in found.method:
        assert any(end == pytest.approx(x) for end, x in itertools.product(ends, reached))


def test_a_kind_that_was_not_drawn_is_allowed_for() -> None:
    """All of a nearly perfect model's ranks are 1 or 2 in a sample; one in 60 may be far behind."""
    found = interval(of_ranks([1, 2] * 25, 5000), "gmr")
    assert found.method == "t, unseen"
    assert found.high == pytest.approx(
        math.exp(math.log(2) / 2 + (1 - 0.025 ** (1 / 50)) * (math.log(5000) - math.log(2) / 2))
    )
    # mean ranks have no range that says anything
    assert interval(of_ranks([1, 2] * 25, 5000), "mr").high < 2
    ranks = of_ranks([1, 2] * 25, 5000, relation=np.arange(50) // 25)
    assert interval(ranks, "macro.gmr", groups="relation").method == "t"
    assert interval(ranks, "macro.mrr", groups="relation").method == "t"


def test_mean_ranks_that_few_tasks_carry_say_so_whatever_their_number() -> None:
    ranks = np.ones(20_000, int)
    ranks[:7] = 900
    found = interval(of_ranks(ranks), "mr")
    assert found.notes == ("mr hangs on few tasks: 7 of 20,000 carry it",)
    assert interval(of_ranks(np.arange(1, 100)), "amri").notes == ()
    assert interval(of_ranks(ranks), "gmr").notes == ()
    even = of_ranks(np.ones(20_000, int))
    assert found.notes[0] in tr.compare(of_ranks(ranks), even, metric="mr").notes


@examples(25)
@given(
    st.sampled_from([*SMOOTH, "median", "mad", "z.mr", "index.gmr"]),
    st.sampled_from(["", "expected.", "pessimistic.", "tail."]),
)
def test_bounds_hold_the_value_and_stay_in_range(name: str, kind: str) -> None:
    ranks = drawn(7, 30, weighted=True)
    found = interval(ranks, kind + name)
    assert found.low <= found.value <= found.high or found.method == "bootstrap"
    best = tr.Ranks(np.zeros(30, int), np.ones(30, int), ranks.candidates, weights=ranks.weights)
    worst = tr.Ranks(
        ranks.candidates - 1, np.ones(30, int), ranks.candidates, weights=ranks.weights
    )
    if name not in ("std", "variance", "mad") and kind != "tail.":
        ends = sorted(tr.report(x)[name] for x in (best, worst))
        slack = 1e-9 * max(map(abs, ends))
        assert ends[0] - slack <= found.low
        assert found.high <= ends[1] + slack


def test_weights_and_their_scale() -> None:
    ranks = drawn(3, 40, weighted=True)
    one = interval(ranks, "mrr")
    plain = ranks.with_weights(None)
    some = np.asarray(ranks.weights) > 0
    assert interval(plain, "mrr", weights=ranks.weights) == one
    for other in (ranks.with_weights(np.asarray(ranks.weights) * 1e300), ranks[some]):
        assert interval(other, "mrr")[1:4] == pytest.approx(one[1:4])


def test_single_units_and_no_tasks_have_no_bounds() -> None:
    for ranks in (of_ranks([3]), tr.Ranks(np.zeros(0, int), np.zeros(0, int), 9)):
        found = interval(ranks, "mrr")
        assert (found.method, math.isnan(found.low)) == ("none", True)
    assert interval(of_ranks([3]), "mrr").notes == ("not enough to say: 1 task",)
    assert found.notes == ()
    assert interval(of_ranks([3]), "count").value == 1


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"metric": "mrrr"}, KeyError),
        ({"metric": "macro.mrr"}, KeyError),
        ({"level": 1.0}, ValueError),
        ({"by": "nothing"}, ValueError),
        ({"seed": -1}, ValueError),
        ({"weights": [-1.0] * 24}, ValueError),
        ({"ranks": [1, 2]}, TypeError),
    ],
)
def test_bad_arguments(change: dict[str, Any], error: type[Exception]) -> None:
    given_arguments: dict[str, Any] = {"ranks": drawn(0), "metric": "mrr"} | change
    with pytest.raises(error) as raised:
        interval(given_arguments.pop("ranks"), given_arguments.pop("metric"), **given_arguments)
    words = {"mrrr", "macro.mrr"} | set(change)
    assert any(word in str(raised.value) for word in words)


@pytest.mark.parametrize("key", ["mrr", "hits@10", "gmr", "median"])
def test_coverage_of_clusters_and_of_tasks(key: str) -> None:
    rng = np.random.default_rng(11)
    truth = tr.report(of_ranks(np.exp(rng.normal(3, 1.5, 400_000)).astype(int) + 1, 10**6))[key]
    covered = 0
    for _ in range(120):
        values = rng.normal(0, math.sqrt(0.6), (100, 1)) + rng.normal(0, math.sqrt(0.4), (100, 2))
        ranks = of_ranks(np.exp(3 + 1.5 * values.ravel()).astype(int) + 1, 10**6)
        found = interval(ranks.with_labels(unit=np.repeat(np.arange(100), 2)), key)
        covered += found.low <= truth <= found.high
    assert 107 <= covered <= 120


# The test triples of WN18RR by relation, and shares of them that a model may find.
SIZES = np.array([56, 1074, 172, 1251, 122, 253, 24, 26, 3, 114, 39])
FOUND = np.array([0.6, 0.95, 0.1, 0.06, 0.26, 0.1, 0.04, 0.1, 1.0, 0.1, 0.95])


def by_relation(found: Any, seed: int) -> tr.Ranks:
    """Ranks 1 and 1000, so that about these shares of the triples of each relation are found."""
    relation = np.repeat(np.arange(len(SIZES)), SIZES)
    hits = np.random.default_rng(seed).random(len(relation)) < np.asarray(found)[relation]
    return of_ranks(np.where(hits, 1, 1000), relation=relation)


def test_few_unlike_relations_say_little_about_others_but_more_about_a_difference() -> None:
    a = by_relation(FOUND, 1)
    b = by_relation(np.clip(FOUND + 0.02, 0, 1), 2)
    one = interval(a, "mrr", by="relation")
    assert one.high - one.low > 0.9
    difference = tr.compare(a, b, metric="mrr", by="relation")
    assert difference.high - difference.low < 0.2
    assert one.notes == ("not enough to say: one relation has 39.9 % of the weight",)
    assert "large unit: one relation has 39.9 % of the weight" in difference.notes


def test_narrower_intervals_of_few_unlike_relations_would_not_cover() -> None:
    rng = np.random.default_rng(3)
    reach = float(scipy.stats.t.ppf(0.975, len(SIZES) - 1))
    covered = narrower = 0
    for _ in range(1000):
        found = rng.choice(FOUND, len(SIZES))
        sizes = rng.permutation(SIZES).astype(float)
        sums = influences_of_sums(sizes * found, sizes, ends=(0.0, 1.0))
        low, high, _ = bounds_of(sums, 0.95)
        covered += low <= FOUND.mean() <= high
        narrower += abs(sums.value - FOUND.mean()) <= reach * sums.error
    assert covered > 840
    assert narrower < 740


def test_a_macro_average_of_equal_medians_stays_in_range() -> None:
    ranks = of_ranks([5] * 30, 100, relation=np.arange(30) // 10)
    found = interval(ranks, "macro.median", groups="relation")
    assert (found.value, found.method) == (5, "unseen")
    assert 1 <= found.low <= 5 <= found.high <= 100
    # a spread is 0 for the first ranks and for the last, so that these are not its ends
    ranks = of_ranks(np.random.default_rng(0).integers(1, 90, 30), relation=np.arange(30) // 10)
    found = interval(ranks, "macro.mad", groups="relation")
    assert found.low < found.value < found.high


def test_ten_hits_are_ten_however_their_share_is_rounded() -> None:
    for hits, method in ((9, "clopper-pearson"), (10, "wilson"), (11, "wilson")):
        for tasks in range(40, 200, 7):
            ranks = of_ranks([1] * hits + [7] * (tasks - hits))
            for key in ("hits@3", "ratio.hits@3", "index.hits@3"):
                assert interval(ranks, key).method == method, (key, tasks)


@pytest.mark.parametrize("form", ["to_latex", "to_csv"])
def test_forms_for_papers_have_no_notes_unless_asked(form: str) -> None:
    found = tr.report(of_ranks([1, 7, 3])).interval(["mrr", "mr"])
    assert "not enough to say: 3 tasks" in found.to_text()
    assert found.to_text().count("not enough to say") == 1
    assert "not enough to say" not in getattr(found, form)()
    assert "not enough to say: 3 tasks" in getattr(found, form)(notes=True)


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(1, 1000), min_size=n, max_size=n)] * 2)
    ),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_not_enough_to_say_is_decided_by_the_design(
    ranks: tuple[list[int], list[int]], level: float
) -> None:
    notes = {interval(of_ranks(some), "hits@10", level=level).notes for some in ranks}
    assert len(notes) == 1
    n = len(ranks[0])
    low = scipy.stats.beta.ppf((1 - level) / 2, n / 2, n / 2 + 1)  # of n trials, half of them hits
    says = str(notes.pop()).startswith("('not enough to say: ")
    assert says == (1 - 2 * low >= 0.8)


def test_what_is_not_enough_to_say_leaves_nearly_everything_open() -> None:
    rng = np.random.default_rng(0)
    for n, is_said in ((2, True), (5, True), (6, False), (40, False)):
        ranks = [of_ranks(np.where(rng.permutation(n) < n / 2, 1, 900)) for _ in range(5)]
        found = [interval(some, "mrr") for some in ranks]
        assert {bool(one.notes) for one in found} == {is_said}
        assert (np.mean([one.high - one.low for one in found]) > 0.8) == (n < 7)
    assert interval(of_ranks([1, 5, 9, 2]), "mr").notes == ("not enough to say: 4 tasks",)
    note = "mr hangs on few tasks: 5 of 8 carry it"
    assert interval(of_ranks(range(1, 9)), "mr").notes == (note,)


def test_rows_of_batches_as_units_are_said() -> None:
    """A loop over batches of 30, whose last one has 10 triples."""
    rng = np.random.default_rng(0)
    rows = np.tile(np.arange(100), 2)
    labels: dict[str, Any] = {"side": np.repeat(["tail", "head"], 100), "queries": rows // 2}
    labels["targets"] = 100 - rows
    right = of_ranks(rng.integers(1, 500, 200), unit=rows, **labels)
    batches = right.with_labels(unit=rows % 30)
    note = (
        "repeated units: they begin with 0 again after 30 tasks of head: is unit the row in the "
        "whole test?"
    )
    assert interval(batches, "mrr").notes == interval(batches, "tail.mrr").notes == (note,)
    assert note in tr.compare(batches, of_ranks(rng.integers(1, 9, 200), **batches.labels)).notes
    runs = tr.concatenate([right, right], repeats="keep")
    clusters = right.with_labels(unit=rows // 4)
    words = batches.with_labels(unit=[f"fold {row % 30}" for row in rows])
    others = [batches.with_labels(queries=None), batches.with_labels(side="answers")]
    for ranks in (right, runs, clusters, words, *others):
        assert interval(ranks, "mrr").notes == ()
    task = tr.link_prediction.Task([(i, 0, i + 1) for i in range(100)], entities=101)
    score = np.random.default_rng(0).random((100, 101))
    parts = [task[p::3].evaluate_scores(head=score[p::3], tail=score[p::3]).ranks for p in range(3)]
    assert interval(tr.concatenate(parts), "mrr").notes == ()


def test_sides_without_units_are_said() -> None:
    """The tail and the head of a triple are alike: two tasks that tell less than two triples."""
    rng = np.random.default_rng(0)
    side = np.repeat(["tail", "head"], 400)
    values = np.tile(rng.integers(1, 500, 400), 2)
    bare = of_ranks(values, side=side, relation=np.tile(["likes", "knows"], 400))
    units = bare.with_labels(unit=np.tile(np.arange(400), 2))
    note = "no units: the sides of a triple count as independent, as no label unit joins them"
    found = interval(bare, "mrr")
    assert found.notes == (note,)
    right = interval(units, "mrr")
    assert right.notes == ()
    assert right.high - right.low > 1.4 * (found.high - found.low)
    assert str(tr.report(bare).table(["mrr"], interval=True)).endswith(f"\nN{note[1:]}.")
    better = of_ranks(np.maximum(values - 3, 1), side=side)
    assert note in tr.compare(bare.with_labels(relation=None), better).notes
    for said in (
        interval(bare, "tail.mrr"),
        interval(bare, "mrr", by="task"),
        interval(bare, "mrr", by="relation"),
        interval(of_ranks(values, side=["tail"] * 800), "mrr"),
    ):
        assert note not in said.notes
    assert interval(bare[:5], "mrr").notes == ("not enough to say: 5 tasks",)
