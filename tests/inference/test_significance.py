"""Test p-values: exact values, every outcome, plain convolutions, and the far tail."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inference.test_intervals import of_ranks
from metrics.chance_model.test_moments import log, middle_laws
from support.example_ranks import any_ranks
from support.examples import examples
from support.metric_keys import keys_where
from support.refusals import refusal
from truerank import Ranks, Report, report
from truerank.inference import pvalue
from truerank.metrics import METRICS, UnknownKeyError
from truerank.metrics.chance_model import compress
from truerank.metrics.chance_model.order_statistics import median_tail
from truerank.metrics.chance_model.tails import tail

ALTERNATIVES = ("better", "worse", "two-sided")
EXACT = ("hits@1", "hits@3", "mr", "imr", "median", "imedian")
RISING = ("mrr", "hmr", "gmr", "igmr", "power_mean:2", "power_mean:-0.5")
EXTREMES = ("power_mean:inf", "power_mean:-inf")
ALL_KEYS = EXACT + RISING + EXTREMES
RANKED = keys_where(lambda metric: metric.increasing is not None)
# A function of the rank and of the number of candidates has p-values where these are alike alone.
OF_LIKE_SIZES = "sampled_hits"


def tasks_of(candidates: Any) -> Any:
    if isinstance(candidates, dict):
        return compress(([int(n) for n in candidates], list(candidates.values())))
    return compress(candidates)


def sum_at_most(tasks: Any, total: int) -> Any:
    """P(the sum of the ranks is at most a total)."""
    return tail(METRICS["mr"], 0, tasks, total / tasks.count)


def hits_at_least(tasks: Any, k: int, hits: int) -> Any:
    return tail(METRICS["hits"], k, tasks, hits / tasks.count)


def test_reference_values(data: Path) -> None:
    records = json.loads((data / "reference_values.json").read_text())
    mine = [record for record in records if record["metric"] == "pvalue"]
    assert len(mine) >= 13
    for record in mine:
        tasks = tasks_of(record["candidates"])
        if record["of"] == "hits":
            found = {"p_ge": hits_at_least(tasks, record["k"], record["observed_count"])}
        else:
            total = record["observed_sum"]
            # r and N + 1 - r have the same law
            mirrored = int((tasks.sizes + 1) @ tasks.multiplicities) - total
            found = {"p_ge": sum_at_most(tasks, mirrored), "p_le": sum_at_most(tasks, total)}
        for name, one in found.items():
            assert one.method == "exact"
            assert math.exp(one.log) == pytest.approx(float(record[name]), rel=1e-11, abs=0)


# -- every outcome ---------------------------------------------------------------------------------


def share_as_good(
    ranks: list[int], sizes: list[int], key: str, alternative: str, weights: Any
) -> float:
    """The share of all outcomes whose value is at least as good, or as bad; both count equals."""
    observed = report(of_ranks(ranks, sizes, weights=weights))[key]
    outcomes = np.array(list(itertools.product(*(range(1, size + 1) for size in sizes))))
    all_weights = None
    if weights is not None:
        all_weights = np.tile(weights, len(outcomes))
    every = of_ranks(outcomes.ravel(), np.tile(sizes, len(outcomes)), weights=all_weights)
    by = np.repeat(np.arange(len(outcomes)), len(sizes))
    values = np.array(list(report(every, by=by).group_values(key).values()))
    sign = 1 if METRICS[key.partition("@")[0].partition(":")[0]].increasing else -1
    above = sign * (values - observed)
    slack = 1e-12 * abs(observed)
    better = float((above >= -slack).mean())
    worse = float((above <= slack).mean())
    return {"better": better, "worse": worse, "two-sided": min(1.0, 2 * min(better, worse))}[
        alternative
    ]


@examples(120)
@given(st.data(), st.sampled_from(ALTERNATIVES), st.booleans())
def test_all_outcomes(data: st.DataObject, alternative: str, weighted: bool) -> None:
    """Every metric that is better or worse has the right p-value, where all outcomes are few."""
    few = st.lists(st.integers(1, 5), min_size=1, max_size=4)
    sizes = data.draw(few | st.sampled_from([[30], [2, 27], [12, 12, 3]]))
    weights = None
    keys = RANKED
    if weighted:
        weights = np.arange(1.0, len(sizes) + 1)
        keys = ("mr", "mrr", "gmr", "hits@2")
    key = data.draw(st.sampled_from(keys))
    if key.startswith(OF_LIKE_SIZES):
        sizes = [min(sizes[0], 12)] * len(sizes)
    ranks = [data.draw(st.integers(1, size)) for size in sizes]
    found = pvalue(of_ranks(ranks, sizes, weights=weights), key, alternative=alternative)
    assert found.alternative == alternative
    assert weighted or found.method == "exact"
    expected = share_as_good(ranks, sizes, key, alternative, weights)
    assert found.p == pytest.approx(expected, rel=1e-9)
    assert found.log10_p == pytest.approx(math.log10(found.p), abs=1e-12)


@pytest.mark.sweep
@pytest.mark.parametrize("key", RANKED)
def test_every_rank_of_few_tasks(key: str) -> None:
    if METRICS[key.partition("@")[0].partition(":")[0]].single is None:
        alike = report(of_ranks([3, 3], [8, 8]))[key]
        assert alike == pytest.approx(3) or alike == pytest.approx(1 / 3)
    unlike = itertools.product([1, 2], [1, 9, 14, 27])
    cases = [([rank], [8]) for rank in range(1, 9)]
    sizes_of_two = [2, 27]
    if key.startswith(OF_LIKE_SIZES):
        sizes_of_two = [27, 27]
    cases += [(list(ranks), sizes_of_two) for ranks in unlike]
    for ranks, sizes in cases:
        for alternative in ("better", "worse"):
            found = pvalue(of_ranks(ranks, sizes), key, alternative=alternative)
            expected = share_as_good(ranks, sizes, key, alternative, None)
            assert found.p == pytest.approx(expected, rel=1e-9), (ranks, alternative)


# -- sums of ranks ---------------------------------------------------------------------------------


def ways(sizes: list[int]) -> list[int]:
    """How many outcomes have each sum of ranks - 1."""
    found = [1]
    for size in sizes:
        sums = list(itertools.accumulate(found + [0] * (size - 1)))
        found = [one - other for one, other in zip(sums, [0] * size + sums, strict=False)]
    return found


MANY = [
    [10] * 20,
    [2] * 150,
    list(range(2, 40)),
    [2] * 60 + [300],
    [1] * 9 + [3] * 50,
    [40, 50, 60] * 10,
]


@pytest.mark.parametrize("sizes", MANY, ids=lambda sizes: f"{len(sizes)} up to {max(sizes)}")
def test_sums_of_ranks(sizes: list[int]) -> None:
    """All digits, however far out."""
    tasks = compress(sizes)
    law = ways(sizes)
    below = list(itertools.accumulate(law))
    total = sum(law)
    for slack in range(0, len(law) - 1, max(1, len(law) // 40)):
        exact = Fraction(below[slack], total)
        found = sum_at_most(tasks, slack + len(sizes))
        assert found.method == "exact"
        assert found.log == pytest.approx(log(exact), rel=1e-13, abs=1e-11)


def test_reciprocal_ranks_of_many_sizes() -> None:
    """A single first place decides."""
    rng = np.random.default_rng(3)
    sizes = rng.choice(np.arange(1000, 15_000), 200, replace=False)
    drawn = (1 / (rng.integers(0, sizes, (20_000, 200)) + 1)).mean(axis=1)
    for share in (0.1, 0.5, 0.9, 0.99):
        found = tail(METRICS["mrr"], 0, compress(sizes), np.quantile(drawn, 1 - share))
        error = math.sqrt(share * (1 - share) / len(drawn))
        assert found.method != "exact"
        assert math.exp(found.log) == pytest.approx(share, abs=4 * error)


def test_sums_of_few_huge_sizes() -> None:
    n = 10**9
    half = sum_at_most(compress([n] * 3), 3 * (n + 1) // 2)
    assert math.exp(half.log) == pytest.approx(0.5, rel=1e-8)
    assert sum_at_most(compress([2**62] * 1000), 1000).log == pytest.approx(
        -1000 * math.log(2**62), rel=1e-13
    )
    assert sum_at_most(compress([5, 5]), 10).log == 0


# -- hits, medians ---------------------------------------------------------------------------------


def test_hits_far_out() -> None:
    """All 3,000 tasks have a hit of probability 1/20, so that p = 20**-3000."""
    for hits in (3000, 2999, 2500, 1000, 400):
        exact = sum((math.comb(3000, j) * 19 ** (3000 - j) for j in range(hits, 3001)), 0)
        found = hits_at_least(compress(([20], [3000])), 1, hits)
        assert found.log == pytest.approx(log(Fraction(exact, 20**3000)), rel=1e-13)
    measured = pvalue(Ranks([0] * 3000, [1] * 3000, 20), "hits@1")
    assert measured.p == 0
    assert measured.log10_p == pytest.approx(-3000 * math.log10(20), rel=1e-14)


def test_hits_beyond_all_candidates() -> None:
    assert pvalue(of_ranks([3, 5], [5, 5]), "hits@5")[:3] == (1.0, 0.0, "exact")
    assert pvalue(of_ranks([3, 5], [5, 5]), f"hits@{10**30}").p == 1
    mixed = pvalue(of_ranks([1, 2, 1, 9], [2, 2, 20, 20]), "hits@2")
    assert mixed.p == pytest.approx(1 - 0.9**2)


@pytest.mark.parametrize(
    "sizes",
    [list(range(1, 80, 2)), [60] * 50, [1] * 10 + [90] * 12, [3, 90] * 20, list(range(5, 60))],
)
def test_medians(sizes: list[int]) -> None:
    """Check against P(a <= x, b > y) of the two middle ranks, from a positive recursion."""
    half = len(sizes) // 2
    top = max(sizes)
    law, joint = middle_laws(sizes)
    for twice in range(2, 2 * top + 1):
        c = twice // 2
        exact = law[half + len(sizes) % 2 :, c].sum()
        if len(sizes) % 2 == 0:
            u = np.arange(max(1, twice - top), c + 1)
            exact -= (joint[half][u, twice - u] - joint[half][u - 1, twice - u]).sum()
        found = tail(METRICS["median"], 0, compress(sizes), twice / 2).log
        assert math.exp(found) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("size", [10**6, 10**9, 2**62])
def test_medians_far_out(size: int) -> None:
    """t (t - 1) / 2 pairs of ranks have a sum of at most t, if t <= N."""
    rel = 1e-8 if size < 2**60 else 1e-6
    for t in (2, 3, 1000, 10**6):
        exact = log(Fraction(t * (t - 1) // 2, size**2))
        assert median_tail(compress([size] * 2), t) == pytest.approx(exact, rel=rel)
        # the other rank has a size of its own, and any of its first t - 1 positions is as likely
        unlike = log(Fraction(t * (t - 1) // 2, size * 10**6))
        found = median_tail(compress([size, 10**6]), t)
        assert found == pytest.approx(unlike, rel=rel)


# -- far tails -----------------------------------------------------------------------------------


def test_steps_are_convolved() -> None:
    above = np.arange(999, 1199)
    above[0] = 0
    found = pvalue(Ranks(above, [1] * 200, 5000), "mrr")
    assert found.method == "convolution"
    # there is a first place with probability 1 - (1 - 1/5000)^200 = 0.039, and one suffices
    assert found.p == pytest.approx(0.0372, abs=5e-4)


# -- the function ----------------------------------------------------------------------------------


def test_adjusted_keys_and_inverses_share() -> None:
    rng = np.random.default_rng(6)
    measured = of_ranks(rng.integers(1, 40, 50), 100, side=["head", "tail"] * 25)
    for keys in (
        ("mr", "imr", "amr", "amri", "zmr", "index.imr", "power_mean:1"),
        ("mrr", "hmr", "amrr", "z.hmr", "power_mean:-1"),
        ("gmr", "igmr", "power_mean:0"),
        ("median", "imedian"),
        ("hits@10", "ah@10", "zh@10"),
        ("tail.optimistic.mr", "tail.pessimistic.imr"),
    ):
        found = [pvalue(measured, key) for key in keys]
        assert len({each.log10_p for each in found}) == 1
    tail = pvalue(measured, "tail.mrr")
    assert tail == pvalue(measured[1::2], "mrr")
    assert tail.z == pytest.approx(report(measured)["tail.z.mrr"])


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        (["macro.mrr"], UnknownKeyError, "a mean over groups has no p-value"),
        (["std"], UnknownKeyError, "neither better nor worse"),
        (["nowhere.mrr"], UnknownKeyError, "no side 'nowhere'"),
        (["median"], UnknownKeyError, "weighted median"),
        (["mr", "less"], ValueError, "alternative: expected one of better, worse, two-sided"),
    ],
)
def test_what_is_refused(asked: list[str], error: type[Exception], message: str) -> None:
    options = dict(zip(("metric", "alternative"), asked, strict=False))
    refusal(error, message, pvalue, of_ranks([1, 2], 5, weights=[1, 2]), **options)


def test_a_report_stands_for_its_ranks_and_weights() -> None:
    ranks = of_ranks([1, 2, 5], 9)
    assert pvalue(report(ranks), "hits@2") == pvalue(ranks, "hits@2")
    weights = [1.0, 2.0, 3.0]
    weighted = ranks.with_weights(weights)
    assert pvalue(report(ranks, weights=weights), "mr") == pvalue(weighted, "mr")
    with pytest.raises(ValueError, match="ranks: this report was read from JSON"):
        pvalue(Report.from_json(report(ranks).to_json()))


def test_degenerate() -> None:
    for key in ALL_KEYS:
        nothing = pvalue(Ranks([], [], []), key)
        assert math.isnan(nothing.p)
        assert math.isnan(nothing.log10_p)
        assert nothing.method == "none"
        assert math.isnan(nothing.accuracy)
        alone = pvalue(Ranks([0, 0], [1, 1], 1), key)
        assert alone[:4] == (1, 0, "exact", 0)
        assert math.isnan(alone.z)


def test_ties() -> None:
    tied = Ranks([0, 2], [2, 2], 10)  # realistic 1.5 and 3.5, a sum of 5
    assert pvalue(tied, "mr").p == pytest.approx(10 / 100)
    assert pvalue(tied, "expected.mr").p == pvalue(tied, "mr").p
    # one half of a hit counts as one
    assert pvalue(tied, "expected.hits@1").p == pytest.approx(0.19)
    half = Ranks([0, 2], [2, 1], 10)  # a sum of 4.5: no rank is a half
    assert pvalue(half, "mr").p == pytest.approx(6 / 100)
    assert pvalue(half, "random.mr", seed=1).p == pvalue(half, "random.mr", seed=1).p


# The least values of mrr lie closer together than the digits of their distance from 1.
@example(Ranks([20_921_105] * 3, [1] * 3, [20_921_107] + [20_921_106] * 2), "optimistic", "mrr")
@examples(25)
@given(
    any_ranks(),
    st.sampled_from(["optimistic", "realistic", "pessimistic", "expected", "random"]),
    st.sampled_from(["mr", "mrr", "hits@2", "gmr", "median", "power_mean:2", *EXTREMES]),
)
def test_all_ranks_have_one(ranks: Ranks, kind: str, name: str) -> None:
    ranks = ranks.with_labels(side=None)
    if name == "median":
        ranks = ranks.with_weights(None)
    found = pvalue(ranks, f"{kind}.{name}")
    if not len(ranks):
        assert math.isnan(found.p)
        return
    assert 0 <= found.p <= 1
    assert found.log10_p <= 0
    assert math.isfinite(found.log10_p)


# -- laws with jumps -------------------------------------------------------------------------------


def shares_of_halves(
    ranks: list[int], size: int, f: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float]:
    """The shares of all outcomes of four tasks with a sum of f that is at least, and at most."""
    values = f(np.arange(1.0, size + 1))
    pairs = np.sort(np.add.outer(values, values).ravel())
    observed = math.fsum(f(np.array(ranks, float)).tolist())
    slack = 1e-12 * abs(observed)
    at_least = len(pairs) - np.searchsorted(pairs, observed - slack - pairs)
    at_most = np.searchsorted(pairs, observed + slack - pairs, side="right")
    return float(at_least.sum()) / size**4, float(at_most.sum()) / size**4


@pytest.mark.sweep
@pytest.mark.parametrize("ranks", [[17, 20, 20, 15], [5, 2, 700, 700], [28, 21, 6, 16]])
@pytest.mark.parametrize("key", ["gmr", "mrr", "power_mean:2.5", "power_mean:-0.5"])
def test_four_tasks(key: str, ranks: list[int]) -> None:
    size = 1000
    f: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "gmr": lambda r: -np.log(r),
        "mrr": lambda r: 1 / r,
        "power_mean:2.5": lambda r: -((r / size) ** 2.5),
        "power_mean:-0.5": lambda r: r**-0.5,
    }
    exact = shares_of_halves(ranks, size, f[key])
    for alternative, p in zip(("better", "worse"), exact, strict=True):
        found = pvalue(of_ranks(ranks, size), key, alternative=alternative)
        assert found.p == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("tasks", [12, 60, 200])
def test_two_irrational_weights(tasks: int) -> None:
    """Many outcomes are equal, half of which a grid may lose."""
    half = tasks // 2
    size = 10
    weights = [1.0] * half + [math.pi] * half
    ranks = np.array([1 + 7 * i % (size - 2) for i in range(tasks)])
    law = np.array(ways([size] * half), float) / float(size) ** half  # of sums of ranks - 1
    sums = np.arange(len(law))[:, None] + math.pi * np.arange(len(law))
    observed = (ranks[:half] - 1).sum() + math.pi * (ranks[half:] - 1).sum()
    exact = float((np.outer(law, law) * (sums <= observed + 1e-9)).sum())
    found = pvalue(of_ranks(ranks, size, weights=weights), "mr")
    assert found.p == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("key", ["mr", "hits@3", "median", "gmr", "mrr", *EXTREMES])
def test_the_worst_values_have_finite_logarithms(key: str) -> None:
    """The last rank of 60 tasks, which has the probability 1000**-60."""
    found = pvalue(of_ranks([1000] * 60, 1000), key, alternative="worse")
    if key in ("mr", "gmr", "mrr", EXTREMES[1]):
        assert found.log10_p == pytest.approx(-180, rel=1e-9)
    elif key == "hits@3":
        assert found.log10_p == pytest.approx(60 * math.log10(0.997), rel=1e-9)
    elif key == "median":  # at least 31 of the ranks are the last
        exact = sum(math.comb(60, k) * 999 ** (60 - k) for k in range(31, 61))
        assert found.log10_p == pytest.approx(math.log10(exact) - 180, rel=1e-3)
    else:
        assert found.p == pytest.approx(1 - 0.999**60)
    assert pvalue(of_ranks([1000] * 60, 1000), key).p == pytest.approx(1)


# -- notes and words -------------------------------------------------------------------------------


def test_few_outcomes_are_noted() -> None:
    few = of_ranks([1, 1], [4, 5])
    assert pvalue(few, "mrr").notes == ("few outcomes: 2 tasks; no value has a p-value below 0.05",)
    assert "below 0.1" in pvalue(few, "mrr", alternative="two-sided").notes[0]
    assert pvalue(few, "mrr", alternative="worse").notes == ()
    assert pvalue(of_ranks([1, 1], [400, 500]), "mrr").notes == ()


# -- laws with steps -------------------------------------------------------------------------------


def test_many_tasks_with_steps() -> None:
    """There are more outcomes than can be counted; values come from a convolution in integers."""
    above = np.array([1] * 30 + [2, 3, 4, 5, 6, 7, 8] * 10) - 1
    ranks = Ranks(above, [1] * 100, 8)
    for weights, key, p in (
        ([1] * 50 + [2] * 50, "mr", 0.12627422),
        ([1, 2, 3, 7] * 25, "mr", 0.01121302),
        ([1, 2, 3, 7] * 25, "hits@2", 0.00831086),
    ):
        assert pvalue(ranks.with_weights(weights), key).p == pytest.approx(p, rel=1e-6)
    i = np.arange(100)
    assert pvalue(Ranks(7 * i % 5, [1] * 100, 5), "mrr").p == pytest.approx(0.49390201, rel=1e-7)
    found = pvalue(Ranks(7 * i % 8, [1] * 100, 8), "power_mean:2")
    assert (found.p, found.method) == (pytest.approx(0.59398721, rel=1e-7), "exact")


def test_the_best_hits_under_weights() -> None:
    found = pvalue(Ranks([1] * 20, [1] * 20, 10, weights=range(1, 21)), "hits@5")
    assert found.p == pytest.approx(0.5**20, rel=1e-9)
    weights = np.linspace(1, 2, 60) ** math.pi  # no multiples of anything
    best = pvalue(Ranks([1] * 60, [1] * 60, 10, weights=weights), "hits@5")
    assert best.log10_p == pytest.approx(60 * math.log10(0.5), rel=1e-12)
    found = pvalue(Ranks([0] * 60, [1] * 60, 999, weights=weights), "mrr")
    assert found.log10_p == pytest.approx(-60 * math.log10(999), rel=1e-12)


@pytest.mark.parametrize("size", [3 * 10**8, 10**12, 2**52])
def test_weighted_hits_among_many_candidates(size: int) -> None:
    """A task has two outcomes, however many candidates it has."""
    for tasks in (6, 60):
        weights = 1.0 + np.arange(tasks)
        best = Ranks([0] * tasks, [1] * tasks, size, weights=weights)
        found = pvalue(best, "hits@10")
        assert found.log10_p == pytest.approx(tasks * math.log10(10 / size), rel=1e-11)
        last = Ranks([10] * (tasks - 1) + [0], [1] * tasks, size, weights=weights)
        alone = pvalue(last, "hits@10")  # a hit of that task, or two others that weigh as much
        assert alone.p == pytest.approx(10 / size, rel=1e-5)
        assert {found.method, alone.method} == {"exact"}


@examples(10)
@given(st.sampled_from(ALL_KEYS), st.sampled_from([2**52 - 1, 2**52]))
def test_the_most_candidates(key: str, size: int) -> None:
    for tasks in (1, 2, 12):
        found = pvalue(Ranks([0] * tasks, [1] * tasks, size), key)
        assert -16 * tasks <= found.log10_p < -13


@given(
    st.sampled_from(["mr", "mrr", "gmr", "hits@10", "power_mean:2", "power_mean:-4"]),
    st.sampled_from([2, 50]),
)
def test_tasks_of_negligible_weight_are_not_observed(key: str, tasks: int) -> None:
    """One task has all of the weight, and the others make no difference, hit or miss."""
    weights = [1.7e308] + [5e-324] * (tasks - 1)
    best = 0.01 if key == "hits@10" else 0.001
    for above, p in ((999, 1.0), (0, best)):
        for others in (0, 999):
            ranks = Ranks([above] + [others] * (tasks - 1), [1] * tasks, 1000, weights=weights)
            assert pvalue(ranks, key).p == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize("spread", [1e-14, 1e-200])
def test_tasks_of_little_weight_do_not_matter(spread: float) -> None:
    """A value that is the best but for rounding is reached without them."""
    weights = [1.0] * 20 + (spread * (1 + np.sqrt(np.arange(30)))).tolist()
    ranks = Ranks([0] * 20 + [9] * 30, [1] * 50, 10, weights=weights)
    assert pvalue(ranks, "hits@1").log10_p == pytest.approx(-20, rel=1e-9)


@pytest.mark.parametrize(("power", "share"), [("-inf", 1 / 3), ("inf", 1.0), ("1", 2 / 3)])
def test_extreme_ranks_of_one_tied_task(power: str, share: float) -> None:
    """Over the orders of its tie the least rank is 1 and the greatest 3; the mean has no say."""
    for ranks in (Ranks([0], [3], [3]), Ranks([0, 0], [3, 1], [3, 1], weights=[0.25, 0])):
        found = pvalue(ranks, f"expected.power_mean:{power}")
        assert found.p == pytest.approx(share, rel=1e-12)
        assert found.method == "exact"
